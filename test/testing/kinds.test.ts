/** Habits of built-in kinds that clients meet; that the real server has them is for test/e2e/same-answers. */
import { expect, test } from 'vitest';
import { start } from './client.ts';

// Of built-in kinds only the spec was counted.
test.for([
  ['deployments', '/apis/apps/v1/namespaces/default/deployments', [1, 2, 2, 3]],
  ['endpointslices', '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices', [1, 1, 2, 3]],
  ['daemonsets', '/apis/apps/v1/namespaces/default/daemonsets', [1, 1, 1, 1]],
] as const)('of %s also some of the metadata is a generation', async ([, path, generations]) => {
  const { api } = await start();
  const seen = [(await api.make(path, { metadata: { name: 'a' } })).metadata.generation];
  for (const metadata of [{ annotations: { a: '1' } }, { labels: { a: '1' } }, { annotations: null, labels: null }]) {
    seen.push((await api.patch(`${path}/a`, { metadata })).body.metadata.generation);
  }
  expect(seen).toEqual(generations);
});
