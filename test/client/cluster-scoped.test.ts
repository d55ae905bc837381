/** Objects without a namespace: all verbs use paths without one. */
import { defineResource } from 'capstan/cache';
import { isNotFound } from 'capstan/client';
import { expect, test } from 'vitest';
import { lines, live } from '../helpers/client/clients.ts';
import type { Metadata } from '../helpers/resources.ts';

const Nodes = defineResource<{ metadata: Metadata; spec?: object; status?: object }>()({
  group: '',
  version: 'v1',
  kind: 'Node',
  plural: 'nodes',
  namespaced: false,
});

// For status and delete only namespaced objects had been tested.
test('a node has its status written separately, and is deleted once', async () => {
  const { client, requests } = await live();
  const created = await client.create(Nodes, { metadata: { name: 'n' } });
  const status = { nodeInfo: { kernelVersion: '6' } };
  const changed = { ...created, spec: { providerID: 'p' }, status };
  expect(await client.status().update(Nodes, changed)).toMatchObject({ kind: 'Node', status });
  const read = await client.get(Nodes, { name: 'n' });
  expect(read.status).toMatchObject(status);
  expect(read.spec).not.toHaveProperty('providerID');
  expect(await client.delete(Nodes, { name: 'n' })).toBeUndefined();
  await expect(client.get(Nodes, { name: 'n' })).rejects.toSatisfy(isNotFound);
  await expect(client.delete(Nodes, { name: 'n' })).rejects.toSatisfy(isNotFound);
  expect(lines(requests)).toEqual([
    'POST /api/v1/nodes',
    ...['PUT /api/v1/nodes/n/status', 'GET /api/v1/nodes/n', 'DELETE /api/v1/nodes/n'],
    ...['GET /api/v1/nodes/n', 'DELETE /api/v1/nodes/n'],
  ]);
});
