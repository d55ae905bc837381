/**
 * What a real kube-apiserver 1.36.3 refuses of built-in kinds outside core, apps and batch, with
 * the reason and the field of each cause; test/e2e/parity asks many more. A controller that wrote
 * Leases of negative durations and bindings of other roles passed its tests here, and failed in a
 * cluster.
 */
import { expect, test } from 'vitest';
import { type ApiObject, startApi } from '../helpers/server/requests.ts';

type Path = string;
const IN = '/namespaces/default';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const NETWORKING = '/apis/networking.k8s.io/v1';
const STORAGE = '/apis/storage.k8s.io/v1';
const FLOW = '/apis/flowcontrol.apiserver.k8s.io/v1';
const ADMISSION = '/apis/admissionregistration.k8s.io/v1';

const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'r' };
const backend = { service: { name: 'web', port: { number: 80 } } };
const scaled = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' };
const webhook = {
  name: 'a.example.com',
  admissionReviewVersions: ['v1'],
  sideEffects: 'None',
  clientConfig: { url: 'https://example.invalid/m' },
};
const csiDriver = { attachRequired: false, podInfoOnMount: true };

/** `Invalid spec.x`: a cause. */
const causesOf = (body: ApiObject): string[] =>
  (
    (body as unknown as { details?: { causes?: { reason: string; field: string }[] } }).details
      ?.causes ?? []
  ).map(({ reason, field }) => `${reason.replace('FieldValue', '')} ${field}`);

test.for<[what: string, path: Path, object: object, causes: string[]]>([
  [
    'a Lease of a negative duration',
    `/apis/coordination.k8s.io/v1${IN}/leases`,
    { spec: { leaseDurationSeconds: 0, leaseTransitions: -1 } },
    ['Invalid spec.leaseDurationSeconds', 'Invalid spec.leaseTransitions'],
  ],
  [
    'a rule without verbs, for all and for nothing',
    `${RBAC}${IN}/roles`,
    { rules: [{}, { nonResourceURLs: ['/x'], resources: ['pods'], verbs: ['get'] }] },
    [
      ...['Required rules[0].verbs', 'Required rules[0].apiGroups', 'Required rules[0].resources'],
      ...['Invalid rules[1].nonResourceURLs', 'Invalid rules[1].nonResourceURLs'],
    ],
  ],
  [
    'an aggregation of nothing',
    `${RBAC}/clusterroles`,
    { aggregationRule: {} },
    ['Required aggregationRule.clusterRoleSelectors'],
  ],
  [
    'a binding to what is no role',
    `${RBAC}${IN}/rolebindings`,
    { roleRef: { kind: 'Rule' }, subjects: [{ kind: 'Robot' }] },
    [
      ...['NotSupported roleRef.kind', 'Required roleRef.name'],
      ...['Required subjects[0].name', 'NotSupported subjects[0].kind'],
    ],
  ],
  [
    'a budget of both limits',
    `/apis/policy/v1${IN}/poddisruptionbudgets`,
    { spec: { minAvailable: -1, maxUnavailable: '101%' } },
    ['Invalid spec', 'Invalid spec.minAvailable', 'Invalid spec.maxUnavailable'],
  ],
  [
    'an autoscaler of more at least than at most',
    `/apis/autoscaling/v2${IN}/horizontalpodautoscalers`,
    {
      spec: {
        scaleTargetRef: { ...scaled, apiVersion: 'v1' },
        minReplicas: 3,
        maxReplicas: 2,
        metrics: [{ type: 'Resource', resource: { name: 'cpu', target: {} } }, { type: 'Pods' }],
      },
    },
    [
      ...['Invalid spec.maxReplicas', 'Invalid spec.scaleTargetRef.apiVersion'],
      'Required spec.metrics[0].resource.target.type',
      'Invalid spec.metrics[0].resource.target.type',
      'Required spec.metrics[0].resource.target.averageUtilization',
      'Required spec.metrics[1].pods',
    ],
  ],
  [
    'an Ingress of paths and hosts that are none',
    `${NETWORKING}${IN}/ingresses`,
    {
      spec: {
        rules: [
          { host: '10.0.0.1', http: { paths: [{ path: 'a', pathType: 'Prefix', backend }] } },
          { host: '*', http: { paths: [{ backend: {} }] } },
        ],
        tls: [{ hosts: ['A'], secretName: 'a_b' }],
      },
    },
    [
      ...['Invalid spec.rules[0].host', 'Invalid spec.rules[0].http.paths[0].path'],
      ...['Invalid spec.rules[1].host', 'Required spec.rules[1].http.paths[0].pathType'],
      ...['Invalid spec.tls[0].hosts[0]', 'Invalid spec.tls[0].secretName'],
    ],
  ],
  [
    'a NetworkPolicy of ranges that are none',
    `${NETWORKING}${IN}/networkpolicies`,
    {
      spec: {
        podSelector: {},
        ingress: [
          {
            from: [{ ipBlock: { cidr: '10.0.0.0/8', except: ['11.0.0.0/16', 'x'] } }, {}],
            ports: [{ port: 90, endPort: 80 }, { port: 'a_b' }],
          },
        ],
      },
    },
    [
      'Invalid spec.ingress[0].ports[0].endPort',
      'Invalid spec.ingress[0].ports[1].port',
      'Invalid spec.ingress[0].from[0].ipBlock.except[0]',
      'Invalid spec.ingress[0].from[0].ipBlock.except[1]',
      'Required spec.ingress[0].from[1]',
    ],
  ],
  [
    'an IngressClass without a domain',
    `${NETWORKING}/ingressclasses`,
    { spec: { controller: 'x', parameters: { kind: 'K', name: 'n', scope: 'Namespace' } } },
    ['Invalid spec.controller', 'Required spec.parameters.namespace'],
  ],
  [
    'an EndpointSlice of addresses of another family',
    `/apis/discovery.k8s.io/v1${IN}/endpointslices`,
    { addressType: 'IPv4', endpoints: [{ addresses: ['::1', '127.0.0.1', 'x'] }, {}] },
    [
      'Invalid endpoints[0].addresses',
      'Invalid endpoints[0].addresses[0]',
      'Invalid endpoints[0].addresses[1]',
      'Invalid endpoints[0].addresses[2]',
      'Required endpoints[1].addresses',
    ],
  ],
  [
    'a StorageClass of modes that are none',
    `${STORAGE}/storageclasses`,
    { volumeBindingMode: 'Later', reclaimPolicy: 'Recycle' },
    ['Required provisioner', 'NotSupported reclaimPolicy', 'NotSupported volumeBindingMode'],
  ],
  [
    'a CSIDriver of two tokens for one audience',
    `${STORAGE}/csidrivers`,
    {
      spec: {
        ...csiDriver,
        tokenRequests: [{ audience: 'a', expirationSeconds: 1 }, { audience: 'a' }],
      },
    },
    ['Invalid spec.tokenRequests[0].expirationSeconds', 'Duplicate spec.tokenRequests[1].audience'],
  ],
  [
    'a VolumeAttachment of nothing',
    `${STORAGE}/volumeattachments`,
    { spec: { attacher: 'A_b', nodeName: 'n', source: {} } },
    ['Invalid spec.attacher', 'Required spec.source'],
  ],
  [
    'a PriorityClass above the highest',
    '/apis/scheduling.k8s.io/v1/priorityclasses',
    { value: 1_000_000_001, preemptionPolicy: 'Often' },
    ['Forbidden value', 'NotSupported preemptionPolicy'],
  ],
  [
    'a RuntimeClass without a handler',
    '/apis/node.k8s.io/v1/runtimeclasses',
    { overhead: { podFixed: { cpu: '-1', x: '1' } } },
    [
      ...['Required handler', 'Invalid overhead.limits[cpu]'],
      ...['Invalid overhead.limits[x]', 'Invalid overhead.limits[x]'],
    ],
  ],
  [
    'a FlowSchema for nobody',
    `${FLOW}/flowschemas`,
    { spec: { matchingPrecedence: 10_001, rules: [{}] } },
    [
      'Invalid spec.matchingPrecedence',
      'Required spec.priorityLevelConfiguration.name',
      ...['Required spec.rules[0].subjects', 'Required spec.rules[0]'],
    ],
  ],
  [
    'a priority level of a larger hand than queues',
    `${FLOW}/prioritylevelconfigurations`,
    {
      spec: {
        type: 'Limited',
        limited: { limitResponse: { type: 'Queue', queuing: { queues: 2, handSize: 3 } } },
      },
    },
    ['Invalid spec.limited.limitResponse.queuing.handSize'],
  ],
  [
    'webhooks of one name, by http',
    `${ADMISSION}/validatingwebhookconfigurations`,
    {
      webhooks: [
        { ...webhook, clientConfig: { url: 'http://example.invalid' }, rules: [{}] },
        { ...webhook, sideEffects: 'Some', admissionReviewVersions: ['v2'] },
      ],
    },
    [
      ...['Required webhooks[0].rules[0].operations', 'Required webhooks[0].rules[0].apiGroups'],
      ...['Required webhooks[0].rules[0].apiVersions', 'Required webhooks[0].rules[0].resources'],
      'Invalid webhooks[0].clientConfig.url',
      'NotSupported webhooks[1].sideEffects',
      'Invalid webhooks[1].admissionReviewVersions',
      'Duplicate webhooks[1].name',
    ],
  ],
  [
    'a request for a certificate that is none',
    '/apis/certificates.k8s.io/v1/certificatesigningrequests',
    { spec: { request: 'AAAA', signerName: 'x', usages: ['client auth', 'client auth', 'x'] } },
    [
      ...['Invalid spec.request', 'NotSupported spec.usages[2]', 'Duplicate spec.usages[1]'],
      'Invalid spec.signerName',
    ],
  ],
  [
    'a claim for a device of no class',
    `/apis/resource.k8s.io/v1${IN}/resourceclaims`,
    { spec: { devices: { requests: [{ name: 'r', exactly: {} }, { name: 'r' }] } } },
    [
      'Required spec.devices.requests[0].exactly.deviceClassName',
      'Required spec.devices.requests[1]',
      'Duplicate spec.devices.requests[1]',
    ],
  ],
  [
    'an Event without a time',
    `/apis/events.k8s.io/v1${IN}/events`,
    { regarding: { kind: 'Pod', namespace: 'other', name: 'a' }, type: 'Odd' },
    ['Invalid involvedObject.namespace', 'Required eventTime', 'Invalid type'],
  ],
  [
    'an APIService of another name',
    '/apis/apiregistration.k8s.io/v1/apiservices',
    { spec: { group: 'example.com', version: 'v1', service: { namespace: 'n' } } },
    [
      'Invalid metadata.name',
      ...['Invalid spec.groupPriorityMinimum', 'Invalid spec.versionPriority'],
      'Required spec.service.name',
    ],
  ],
])('is refused: %s', async ([, path, object, causes]) => {
  const { api } = await startApi();
  const { status, body } = await api.send('POST', path, {
    body: { metadata: { name: 'a' }, ...object },
  });
  expect([status, causesOf(body)]).toEqual([422, causes]);
});

test.for<[what: string, path: Path, object: object, change: object, causes: string[]]>([
  [
    'the role of a binding',
    `${RBAC}${IN}/rolebindings`,
    { roleRef },
    { roleRef: { name: 'other' } },
    ['Invalid roleRef'],
  ],
  [
    'the provisioner of a StorageClass',
    `${STORAGE}/storageclasses`,
    { provisioner: 'example.com/a' },
    { provisioner: 'example.com/b' },
    ['Invalid provisioner'],
  ],
  [
    'the value of a PriorityClass',
    '/apis/scheduling.k8s.io/v1/priorityclasses',
    { value: 1 },
    { value: 2, preemptionPolicy: 'Never' },
    ['Forbidden value', 'Invalid preemptionPolicy'],
  ],
  [
    'the controller of an IngressClass',
    `${NETWORKING}/ingressclasses`,
    { spec: { controller: 'a.example/a' } },
    { spec: { controller: 'a.example/b' } },
    ['Invalid spec.controller'],
  ],
  [
    'the type of addresses',
    `/apis/discovery.k8s.io/v1${IN}/endpointslices`,
    { addressType: 'IPv4' },
    { addressType: 'IPv6' },
    ['Invalid addressType'],
  ],
  [
    'what a claim asks for',
    `/apis/resource.k8s.io/v1${IN}/resourceclaims`,
    { spec: { devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'c' } }] } } },
    { spec: { devices: { requests: [{ name: 's', exactly: { deviceClassName: 'c' } }] } } },
    ['Invalid spec'],
  ],
  [
    'labels, told of by each check of a Role',
    `${RBAC}${IN}/roles`,
    {},
    { metadata: { labels: { a: 'b c' } } },
    Array.from({ length: 4 }, () => 'Invalid metadata.labels'),
  ],
  [
    'labels, told of by the checks of all kinds',
    `/apis/policy/v1${IN}/poddisruptionbudgets`,
    {},
    { metadata: { labels: { a: 'b c' } } },
    Array.from({ length: 2 }, () => 'Invalid metadata.labels'),
  ],
])('an update cannot change %s', async ([, path, object, change, causes]) => {
  const { api } = await startApi();
  await api.make(path, { metadata: { name: 'a' }, ...object });
  const { status, body } = await api.patch(`${path}/a`, change);
  expect([status, causesOf(body)]).toEqual([422, causes]);
});

test.for<[path: Path, name: string, causes: string[]]>([
  [`/apis/coordination.k8s.io/v1${IN}/leases`, 'A', ['Invalid metadata.name']],
  [`${RBAC}${IN}/roles`, 'A:b', []],
  [`${RBAC}${IN}/roles`, 'a/b', ['Invalid metadata.name']],
  [`/apis/policy/v1${IN}/poddisruptionbudgets`, 'A_b', []],
  [`/apis/apps/v1${IN}/controllerrevisions`, 'A', ['Invalid metadata.name']],
])('%s: the name %s', async ([path, name, causes]) => {
  const { api } = await startApi();
  const fields = path.includes('controllerrevisions') ? { data: {}, revision: 1 } : {};
  const { body } = await api.send('POST', path, { body: { metadata: { name }, ...fields } });
  expect(causesOf(body)).toEqual(causes);
});
