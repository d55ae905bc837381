/**
 * Zero values, stored as Go stores them. A kube-apiserver drops `paused: false`, and sets a count
 * of 0 in a status that was never written. This server kept `paused: false`: a controller that
 * compared it found no difference here, and on a cluster wrote it again at each reconcile.
 * test/e2e/same-answers compares the two servers.
 */
import { defineResource, type Transport } from 'capstan/cache';
import { createOrUpdate, newClient } from 'capstan/client';
import { fakeClient } from 'capstan/testing';
import { describe, expect, test } from 'vitest';
import {
  type ApiObject,
  JSON_PATCH,
  MERGE_PATCH,
  POD_SPEC,
  startApi,
} from '../helpers/server/requests.ts';

const IN = 'namespaces/default';
const DEPLOYMENTS = `/apis/apps/v1/${IN}/deployments`;
const APPLY = 'application/apply-patch+yaml';

interface DeploymentObject {
  apiVersion: 'apps/v1';
  kind: 'Deployment';
  metadata: { name: string; namespace?: string; generation?: number; resourceVersion?: string };
  spec?: Record<string, unknown>;
  status?: Record<string, unknown>;
}
const Deployment = defineResource<DeploymentObject>()({
  ...{ group: 'apps', version: 'v1', kind: 'Deployment', plural: 'deployments', namespaced: true },
});

const labels = { app: 'a' };
const template = (pod: object = {}) => ({
  metadata: { labels },
  spec: { containers: [{ name: 'a', image: 'i' }], ...pod },
});
const deployment = (spec: object = {}): DeploymentObject => ({
  ...{ apiVersion: 'apps/v1', kind: 'Deployment' },
  metadata: { name: 'a', namespace: 'default' },
  spec: { replicas: 1, selector: { matchLabels: labels }, template: template(), ...spec },
});
const version = ({ metadata: { resourceVersion, generation } }: ApiObject) => [
  resourceVersion,
  generation,
];
const owned = (body: ApiObject): object[] =>
  ((body.metadata as { managedFields?: { fieldsV1: object }[] }).managedFields ?? []).map(
    ({ fieldsV1 }) => fieldsV1,
  );

describe('zero values that Go leaves out', () => {
  test.for([
    [
      'a status of zeros',
      '/status',
      MERGE_PATCH,
      { status: { replicas: 0, readyReplicas: 0, observedGeneration: 0 } },
    ],
    ['a flag', '', MERGE_PATCH, { spec: { paused: false, minReadySeconds: 0 } }],
    ['a flag, added', '', JSON_PATCH, [{ op: 'add', path: '/spec/paused', value: false }]],
    [
      'a member of a Pod',
      '',
      MERGE_PATCH,
      { spec: { template: { spec: { hostNetwork: false, subdomain: '' } } } },
    ],
    [
      'a member of an item',
      '',
      MERGE_PATCH,
      { spec: { template: template({ containers: [{ name: 'a', image: 'i', tty: false }] }) } },
    ],
    [
      'an applied flag',
      '',
      APPLY,
      { apiVersion: 'apps/v1', kind: 'Deployment', spec: { paused: false } },
    ],
  ] as const)('are no change: %s', async ([, subresource, type, body]) => {
    const { api } = await startApi();
    const made = await api.make(DEPLOYMENTS, deployment());
    if (type === APPLY)
      await api.send('PATCH', `${DEPLOYMENTS}/a`, { body, type, query: { fieldManager: 'm' } });
    const before = (await api.get(`${DEPLOYMENTS}/a`)).body;
    const query = { fieldManager: 'm' };
    const { status, body: after } = await api.send('PATCH', `${DEPLOYMENTS}/a${subresource}`, {
      body,
      type,
      query,
    });
    expect(status).toBe(200);
    expect(version(after)).toEqual(version(before));
    expect(after.spec).toEqual(made.spec);
    expect(after.status).toEqual({});
  });

  test('are not written again by a createOrUpdate that sets them each time', async () => {
    const { server } = await startApi();
    let written = 0;
    const inner = server.transport();
    const transport: Transport = {
      request(request) {
        if (request.method === 'PUT') written++;
        return inner.request(request);
      },
    };
    const client = newClient({ transport });
    const write = () =>
      createOrUpdate(client, Deployment, { namespace: 'default', name: 'a' }, (draft) => ({
        ...deployment(),
        ...draft,
        spec: { ...(draft.spec ?? deployment().spec), paused: false },
      }));
    const results: unknown[] = [];
    for (let i = 0; i < 3; i++) results.push(await write());
    expect(results.map((result) => (result as { result?: string }).result ?? result)).toEqual([
      'created',
      'unchanged',
      'unchanged',
    ]);
    expect(written).toBe(0);
  });

  test('stay where Go has a pointer to them', async () => {
    const { api } = await startApi();
    const pod = {
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 0,
      securityContext: {},
    };
    const { spec } = await api.make(
      DEPLOYMENTS,
      deployment({ replicas: 0, template: template(pod) }),
    );
    expect(spec).toMatchObject({ replicas: 0, template: { spec: pod } });
  });

  test('stay in a map, where null is one', async () => {
    const { api } = await startApi();
    const made = await api.make(`/api/v1/${IN}/secrets`, {
      metadata: { name: 'a' },
      data: { a: null, b: '' },
    });
    expect(made.data).toEqual({ a: '', b: '' });
    const hard = { pods: null };
    const quota = await api.make(`/api/v1/${IN}/resourcequotas`, {
      metadata: { name: 'a' },
      spec: { hard },
    });
    expect(quota.spec).toEqual({ hard: { pods: '0' } });
  });
});

describe('what Go always writes', () => {
  const spec = { replicas: 1, selector: { matchLabels: labels }, template: template() };
  test.for([
    [`apps/v1/${IN}/statefulsets`, { spec }, { status: { replicas: 0, availableReplicas: 0 } }],
    [`apps/v1/${IN}/replicasets`, { spec }, { status: { replicas: 0 } }],
    [
      `policy/v1/${IN}/poddisruptionbudgets`,
      {},
      {
        spec: {},
        status: { currentHealthy: 0, desiredHealthy: 0, disruptionsAllowed: 0, expectedPods: 0 },
      },
    ],
    ['rbac.authorization.k8s.io/v1/clusterroles', {}, { rules: null }],
    [
      `discovery.k8s.io/v1/${IN}/endpointslices`,
      { addressType: 'IPv4' },
      { endpoints: null, ports: null },
    ],
    [`apps/v1/${IN}/controllerrevisions`, { data: {} }, { data: {}, revision: 0 }],
    [
      'storage.k8s.io/v1/volumeattachments',
      { spec: { attacher: 'a', nodeName: 'n', source: { persistentVolumeName: 'pv' } } },
      { status: { attached: false } },
    ],
    [
      `batch/v1/${IN}/cronjobs`,
      {
        spec: {
          schedule: '* * * * *',
          jobTemplate: { spec: { template: { spec: { ...POD_SPEC, restartPolicy: 'Never' } } } },
        },
      },
      {
        spec: {
          jobTemplate: {
            metadata: {},
            spec: { template: { metadata: {}, spec: { containers: [{ resources: {} }] } } },
          },
        },
      },
    ],
  ] as const)('is there where nobody has set it: %s', async ([path, fields, expected]) => {
    const { api } = await startApi();
    const made = await api.make(`/apis/${path}`, { metadata: { name: 'a' }, ...fields });
    expect(made).toMatchObject(expected);
    const again = await api.put(`/apis/${path}/a`, made);
    expect(version(again.body)).toEqual(version(made));
  });

  test('is there in an event, under both of its names', async () => {
    const { api } = await startApi();
    const made = await api.make(`/api/v1/${IN}/events`, {
      metadata: { name: 'a' },
      involvedObject: { namespace: 'default' },
      count: 0,
      message: '',
    });
    const times = { firstTimestamp: null, lastTimestamp: null, eventTime: null };
    expect(made).toMatchObject({
      ...times,
      involvedObject: {},
      source: {},
      reportingComponent: '',
      reportingInstance: '',
    });
    expect(made).not.toHaveProperty('count');
    expect(made).not.toHaveProperty('message');
    await api.make(`/apis/events.k8s.io/v1/${IN}/events`, {
      ...{ metadata: { name: 'b' }, note: 'n', type: 'Normal', action: 'a', reason: 'r' },
      ...{ eventTime: '2026-01-02T03:04:05.000006Z' },
      ...{ reportingController: 'example.com/c', reportingInstance: 'i' },
    });
    const { body } = await api.get(`/api/v1/${IN}/events/b`);
    expect(body).toMatchObject({
      ...{ firstTimestamp: null, lastTimestamp: null, involvedObject: {}, source: {} },
      ...{ message: 'n', reportingComponent: 'example.com/c', reportingInstance: 'i' },
    });
  });

  test('have no owner, but an empty list belongs to its sender and is not returned', async () => {
    const { api } = await startApi();
    const ROLES = `/apis/rbac.authorization.k8s.io/v1/${IN}/roles`;
    expect(owned(await api.make(ROLES, { metadata: { name: 'a' } }))).toEqual([]);
    const sent = await api.make(ROLES, { metadata: { name: 'b' }, rules: [] });
    expect(owned(sent)).toEqual([{ 'f:rules': {} }]);
    expect(sent.rules).toBeNull();
  });

  test('is there in a condition, also of a status that was taken away', async () => {
    const { api } = await startApi();
    const PDBS = `/apis/policy/v1/${IN}/poddisruptionbudgets`;
    await api.make(PDBS, { metadata: { name: 'a' } });
    const time = '2026-01-02T03:04:05Z';
    const conditions = [{ type: 'A', status: 'True', reason: 'R', lastTransitionTime: time }];
    const { body } = await api.patch(`${PDBS}/a/status`, { status: { conditions } });
    expect(body.status).toMatchObject({ conditions: [{ message: '' }] });
    expect((await api.patch(`${PDBS}/a/status`, { status: null })).body.status).toEqual({
      ...{ currentHealthy: 0, desiredHealthy: 0, disruptionsAllowed: 0, expectedPods: 0 },
    });
  });
});

describe('objects that are there from the beginning', () => {
  test('have the members of a real server’s, so that writing them back is no change', async () => {
    const client = fakeClient({ objects: [deployment({ paused: false })] });
    const seeded = await client.get(Deployment, { namespace: 'default', name: 'a' });
    expect(seeded.spec).not.toHaveProperty('paused');
    expect(seeded.status).toEqual({});
    const written = await client.update(Deployment, seeded);
    expect(written.metadata.resourceVersion).toBe(seeded.metadata.resourceVersion);
  });

  test('are refused where a field is of another type', () => {
    expect(() => fakeClient({ objects: [deployment({ replicas: 'many' })] })).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        message: expect.stringContaining('objects[0]: json: cannot'),
      }),
    );
  });
});

// It came back as 0, where a cluster has the port itself.
test('a Service has no target port of 0 where none was said', async () => {
  const { api } = await startApi();
  const made = await api.make(`/api/v1/${IN}/services`, {
    metadata: { name: 'a' },
    spec: { ports: [{ port: 80 }] },
  });
  expect((made.spec as { ports: object[] }).ports).toEqual([
    { port: 80, targetPort: 80, protocol: 'TCP' },
  ]);
});
