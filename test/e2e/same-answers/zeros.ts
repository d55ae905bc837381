/**
 * Exchanges about zero values: those that Go omits, so that writing them is no change, and those
 * that Go always writes.
 */
import type { JsonObject } from './api.ts';
import type { Exchange } from './exchange.ts';
import {
  configMaps,
  coreEvents,
  deployments,
  events,
  podTemplates,
  quotas,
  type ResourceType,
  secrets,
} from './resources.ts';
import { defaultedContainer, deploymentSpec, template } from './templates.ts';

const type = (prefix: string, kind: string, plural: string): ResourceType => ({
  ...{ prefix, kind, plural },
  apiVersion: prefix.replace(/^\/apis?\//, ''),
});

const limits = type('/api/v1', 'LimitRange', 'limitranges');
const budgets = type('/apis/policy/v1', 'PodDisruptionBudget', 'poddisruptionbudgets');
const slices = type('/apis/discovery.k8s.io/v1', 'EndpointSlice', 'endpointslices');
const roles = type('/apis/rbac.authorization.k8s.io/v1', 'Role', 'roles');
const policies = type('/apis/networking.k8s.io/v1', 'NetworkPolicy', 'networkpolicies');
const webhooks = type(
  '/apis/admissionregistration.k8s.io/v1',
  'ValidatingWebhookConfiguration',
  'validatingwebhookconfigurations',
);
const replicaSets = type('/apis/apps/v1', 'ReplicaSet', 'replicasets');

const selector = { matchLabels: { app: 'a' } };
const sets = { selector, template: template([defaultedContainer('a')]) };
const labels = { app: 'a' };

/** Kinds with members that are not set. */
const BARE: [ResourceType, JsonObject][] = [
  [
    type('/apis/apps/v1', 'StatefulSet', 'statefulsets'),
    {
      spec: {
        ...{
          ...sets,
          replicas: 1,
          serviceName: 'a',
          revisionHistoryLimit: 10,
          podManagementPolicy: 'Parallel',
        },
        updateStrategy: { type: 'OnDelete' },
        persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
      },
    },
  ],
  [replicaSets, { spec: { ...sets, replicas: 0 } }],
  [
    type('/apis/apps/v1', 'DaemonSet', 'daemonsets'),
    {
      metadata: { annotations: { 'deprecated.daemonset.template.generation': '1' } },
      spec: { ...sets, revisionHistoryLimit: 0, updateStrategy: { type: 'OnDelete' } },
    },
  ],
  [
    type('/api/v1', 'ReplicationController', 'replicationcontrollers'),
    { metadata: { labels }, spec: { replicas: 1, selector: labels, template: sets.template } },
  ],
  [
    type('/apis/networking.k8s.io/v1', 'Ingress', 'ingresses'),
    { spec: { defaultBackend: { service: { name: 'a', port: { number: 80 } } } } },
  ],
  [
    type('/apis/networking.k8s.io/v1', 'NetworkPolicy', 'networkpolicies'),
    { spec: { policyTypes: ['Ingress'] } },
  ],
  [type('/apis/apps/v1', 'ControllerRevision', 'controllerrevisions'), { data: {} }],
  [
    podTemplates,
    { template: template([defaultedContainer('a', { livenessProbe: null })], { metadata: null }) },
  ],
  [budgets, { spec: { minAvailable: 0, selector } }],
  [slices, { addressType: 'IPv4' }],
  [limits, {}],
  [quotas, {}],
  [roles, {}],
];

export const zeros: Exchange[] = [
  {
    name: 'an empty list is a new generation each time, where Go tells it from none',
    async run(api) {
      const things = api.of(policies);
      const spec = { podSelector: {}, policyTypes: ['Ingress'] };
      await things.create(things.object('a', { spec: { ...spec, ingress: [] } }));
      for (const more of [
        { ingress: [] },
        { ingress: [] },
        { ingress: null },
        {},
        { podSelector: { matchLabels: {} } },
        { ingress: [{ from: [] }] },
        { ingress: [{ from: [] }] },
        { ingress: [{}] },
      ])
        await things.put('a', things.object('a', { spec: { ...spec, ...(more as JsonObject) } }));
      await things.patch('a', 'merge', { spec: { ingress: [] } });
      await things.patch('a', 'merge', { metadata: { labels: { a: 'b' } } });
      await things.patch('a', 'json', [{ op: 'add', path: '/spec/egress', value: [] }]);
      const hooks = api.everywhere(webhooks);
      const name = `${api.namespace}-a`;
      const webhook = {
        ...{ name: 'a.example.com', sideEffects: 'None', admissionReviewVersions: ['v1'] },
        ...{ failurePolicy: 'Ignore', matchPolicy: 'Exact', timeoutSeconds: 1 },
        ...{ namespaceSelector: {}, objectSelector: {} },
        clientConfig: { url: 'https://127.0.0.1:1/' },
        rules: [
          {
            apiGroups: ['none'],
            apiVersions: ['v1'],
            operations: ['*'],
            resources: ['x'],
            scope: '*',
          },
        ],
      };
      await hooks.create(hooks.object(name, { webhooks: [webhook] }));
      for (const more of [{ matchConditions: [] }, { matchConditions: [] }, {}])
        await hooks.patch(name, 'merge', { webhooks: [{ ...webhook, ...more }] });
    },
  },
  {
    name: 'zero values that Go omits are no change, and have no owner',
    async run(api) {
      const apps = api.of(deployments);
      const { body } = await apps.create(apps.object('a', { spec: deploymentSpec() }));
      const spec = (pod: JsonObject, more: JsonObject = {}): JsonObject => ({
        spec: { template: { spec: pod }, ...more },
      });
      const unset = { name: 'a', workingDir: '', tty: false, command: [], env: [], stdin: false };
      await apps.patch('a/status', 'merge', {
        status: { replicas: 0, readyReplicas: 0, observedGeneration: 0 },
      });
      await apps.patch(
        'a',
        'strategic',
        spec({ hostNetwork: false, containers: [unset] }, { paused: false }),
      );
      await apps.patch(
        'a',
        'merge',
        { spec: { paused: false, minReadySeconds: 0 } },
        { fieldManager: 'other' },
      );
      await apps.patch('a', 'json', [{ op: 'add', path: '/spec/paused', value: false }]);
      await apps.put('a', { ...body, spec: { ...(body.spec as JsonObject), paused: false } });
      await apps.apply('a', 'applier', { spec: { paused: false } });
      await apps.apply('a', 'applier', { spec: { paused: false } });
      await apps.apply('a', 'applier', { spec: { paused: true } });
      await apps.apply('a', 'applier', { spec: { paused: false } });
      await apps.patch(
        'a',
        'strategic',
        spec({ containers: [{ name: 'a', env: [{ name: 'A', value: '' }] }] }),
      );
      await apps.patch('a', 'json', [{ op: 'test', path: '/spec/paused', value: null }]);
    },
  },
  {
    name: 'zero values that Go has a pointer to stay',
    async run(api) {
      const apps = api.of(deployments);
      const pod = {
        automountServiceAccountToken: false,
        terminationGracePeriodSeconds: 0,
        subdomain: '',
        affinity: {},
      };
      const contained = defaultedContainer('a', {
        securityContext: { readOnlyRootFilesystem: false, runAsUser: 0 },
      });
      const spec = deploymentSpec({
        replicas: 0,
        revisionHistoryLimit: 0,
        template: template([contained], pod),
      });
      await apps.create(apps.object('a', { spec }));
      await apps.patch('a/status', 'merge', {
        status: { collisionCount: 0, unavailableReplicas: 0 },
      });
      await apps.patch('a', 'merge', {
        spec: { template: { spec: { setHostnameAsFQDN: false, hostUsers: null } } },
      });
      await apps.patch('a', 'merge', { spec: { replicas: 1 } });
    },
  },
  {
    name: 'members that Go always writes are present without an owner',
    async run(api) {
      for (const [kind, fields] of BARE) {
        const of = api.of(kind);
        const { body } = await of.create(of.object('a', fields));
        await of.put('a', body);
        await of.get('a');
      }
      const core = api.of(coreEvents);
      const involvedObject = { namespace: api.namespace };
      await core.create(
        core.object('a', { involvedObject, type: 'Normal', count: 0, message: '' }),
      );
      await core.list();
      const made = api.of(events);
      const regarding = { kind: 'Pod', namespace: api.namespace, name: 'p' };
      const action = {
        reason: 'R',
        action: 'A',
        type: 'Normal',
        reportingController: 'a.b/c',
        reportingInstance: 'i',
      };
      await made.create(
        made.object('b', {
          ...action,
          eventTime: '2026-01-02T03:04:05.000000Z',
          regarding,
          note: '',
        }),
      );
      await made.get('a');
      await api.of(coreEvents).get('b');
    },
  },
  {
    name: 'a status that is written is filled in to its last condition',
    async run(api) {
      const held = api.of(budgets);
      const condition = { type: 'A', status: 'True', lastTransitionTime: '2026-01-02T03:04:05Z' };
      await held.create(held.object('a', { spec: { minAvailable: 1, selector } }));
      await held.patch('a/status', 'merge', {
        status: { currentHealthy: 1, disruptionsAllowed: 0 },
      });
      await held.patch('a/status', 'merge', { status: null });
      await held.patch('a/status', 'merge', {
        status: { conditions: [{ ...condition, reason: 'R' }] },
      });
      const run = api.of(replicaSets);
      await run.create(run.object('a', { spec: { ...sets, replicas: 0 } }));
      await run.patch('a/status', 'merge', { status: { conditions: [{ type: 'A' }] } });
      await run.apply('a/status', 'one', {
        status: { replicas: 0, conditions: [{ type: 'B', status: 'True' }] },
      });
      await run.apply('a/status', 'one', { status: { readyReplicas: 0 } });
    },
  },
  {
    name: 'empty lists that are always written are null, and owned by their sender',
    async run(api) {
      const ranges = api.of(limits);
      await ranges.create(ranges.object('a', { spec: { limits: [] } }));
      await ranges.patch('a', 'merge', { spec: { limits: [] } });
      await ranges.patch('a', 'merge', { spec: { limits: null } });
      const parts = api.of(slices);
      await parts.create(parts.object('a', { addressType: 'IPv4', endpoints: [], ports: [] }));
      await parts.patch('a', 'merge', {
        ports: [{ port: 80, name: '', protocol: 'TCP', appProtocol: null }],
      });
      await parts.patch('a', 'merge', { endpoints: [{ addresses: ['10.1.2.3'], conditions: {} }] });
      const ruled = api.of(roles);
      await ruled.apply('a', 'one', { rules: [] });
      await ruled.apply('a', 'one', {});
      await ruled.patch('a', 'merge', {
        rules: [{ verbs: ['get'], apiGroups: [''], resources: ['a'], resourceNames: [] }],
      });
    },
  },
  {
    name: 'null in a map is the zero value of its type',
    async run(api) {
      const kept = api.of(secrets);
      await kept.create(
        kept.object('a', { type: 'Opaque', data: { a: null, b: '' }, immutable: false }),
      );
      const maps = api.of(configMaps);
      await maps.create(maps.object('a', { binaryData: { a: null }, data: { b: null } }));
      const counted = api.of(quotas);
      await counted.create(counted.object('a', { spec: { hard: { pods: null } } }));
    },
  },
];
