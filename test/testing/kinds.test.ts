/**
 * Habits of built-in kinds that clients meet; that the real server has them is for
 * test/e2e/same-answers.
 */
import { expect, test } from 'vitest';
import {
  APPLY_PATCH,
  brief,
  CONFIG_MAPS,
  configMapBody,
  POD_SPEC,
  startApi,
  WORKLOAD,
} from '../helpers/server/requests.ts';

test('annotations above 256 KiB in all are refused', async () => {
  const { api } = await startApi();
  const annotations = { a: 'x'.repeat(256 * 1024 - 1) };
  await api.make(CONFIG_MAPS, configMapBody('a', { metadata: { name: 'a', annotations } }));
  const { status, body } = await api.patch(`${CONFIG_MAPS}/a`, {
    metadata: { annotations: { b: '' } },
  });
  expect({ status, message: body.message }).toEqual({
    status: 422,
    message:
      'ConfigMap "a" is invalid: metadata.annotations: Too long: may not be more than 262144 bytes',
  });
});

// Of built-in kinds only the spec was counted.
test.for([
  ['deployments', '/apis/apps/v1/namespaces/default/deployments', [1, 2, 2, 3]],
  ['endpointslices', '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices', [1, 1, 2, 3]],
  ['daemonsets', '/apis/apps/v1/namespaces/default/daemonsets', [1, 1, 1, 1]],
] as const)(
  'of %s also some of the metadata is a generation',
  async ([kind, path, generations]) => {
    const { api } = await startApi();
    const fields = kind === 'endpointslices' ? { addressType: 'IPv4' } : { spec: WORKLOAD };
    const seen = [
      (await api.make(path, { metadata: { name: 'a' }, ...fields })).metadata.generation,
    ];
    for (const metadata of [
      { annotations: { a: '1' } },
      { labels: { a: '1' } },
      { annotations: null, labels: null },
    ]) {
      seen.push((await api.patch(`${path}/a`, { metadata })).body.metadata.generation);
    }
    expect(seen).toEqual(generations);
  },
);

test('the name of a Namespace is a label of it, also one that the server makes', async () => {
  const { api } = await startApi();
  for (const given of [{ name: 'a' }, { generateName: 'b-' }]) {
    const { metadata } = await api.make('/api/v1/namespaces', { metadata: given });
    expect(metadata.labels).toEqual({ 'kubernetes.io/metadata.name': metadata.name });
  }
});

// Discovery has said so all along, and the request deleted every namespace.
test('namespaces are not deleted as a collection', async () => {
  const { api } = await startApi();
  await api.make('/api/v1/namespaces', { metadata: { name: 'a' } });
  expect((await api.delete('/api/v1/namespaces')).status).toBe(405);
  expect((await api.get('/api/v1/namespaces/a')).status).toBe(200);
});

// It was a 400, as if there were a namespace in the path that it does not match.
test('a cluster-scoped object loses the namespace that was sent', async () => {
  const { api } = await startApi();
  const path = '/apis/rbac.authorization.k8s.io/v1/clusterroles';
  const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole' };
  const made = await api.make(path, { ...role, metadata: { name: 'a', namespace: 'n' } });
  const patched = await api.patch(`${path}/a`, { metadata: { namespace: 'n' } });
  const put = await api.put(`${path}/a`, { ...role, metadata: { name: 'a', namespace: 'n' } });
  const body = { ...role, metadata: { name: 'b', namespace: 'n' } };
  const applied = await api.send('PATCH', `${path}/b`, {
    body,
    type: APPLY_PATCH,
    query: { fieldManager: 'one' },
  });
  expect([patched.status, put.status, applied.status]).toEqual([200, 200, 201]);
  for (const { metadata } of [made, patched.body, put.body, applied.body])
    expect(metadata.namespace).toBeUndefined();
  const other = { metadata: { name: 'c', namespace: 'n' } };
  expect(
    (await api.send('POST', '/api/v1/namespaces/default/configmaps', { body: other })).status,
  ).toBe(400);
});

// It was gone without ever having a deletionTimestamp, so that no reconciler met a Pod that ends.
test('a Pod that is deleted is marked first, also by an eviction', async () => {
  const { api } = await startApi();
  const path = '/api/v1/namespaces/default/pods';
  const watch = await api.watch(path, { resourceVersion: await api.version(path) });
  for (const name of ['a', 'b']) await api.make(path, { metadata: { name }, spec: POD_SPEC });
  const marked = {
    generation: 2,
    deletionGracePeriodSeconds: 0,
    deletionTimestamp: expect.any(String),
  };
  const dry = await api.send('DELETE', `${path}/a`, { query: { dryRun: 'All' } });
  expect(dry.body.metadata).toMatchObject(marked);
  expect((await api.delete(`${path}/a`)).body.metadata).toMatchObject(marked);
  await api.send('POST', `${path}/b/eviction`, { body: { metadata: { name: 'b' } } });
  const events = await watch.take(7);
  expect(events.map(brief)).toEqual([
    'ADDED a',
    'ADDED b',
    'MODIFIED a',
    'DELETED a',
    'MODIFIED b', // the condition of the eviction
    'MODIFIED b',
    'DELETED b',
  ]);
  for (const { object } of [...events.slice(2, 4), ...events.slice(5)])
    expect(object.metadata).toMatchObject(marked);
});
