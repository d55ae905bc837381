/** A manager over two real API servers: one controller copies objects of the other cluster. */
import { createOrUpdate, newClient, until } from 'capstan/client';
import { enqueueRequestForObject, kindSource, newControllerManagedBy } from 'capstan/controller';
import { ConfigMap, Secret } from 'capstan/kinds';
import { newManager } from 'capstan/manager';
import { type Envtest, startEnvtest } from 'capstan/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';

let home: Envtest;
let east: Envtest;

beforeAll(async () => {
  home = await startEnvtest();
  east = await startEnvtest();
});

afterAll(async () => {
  await home?.stop();
  await east?.stop();
});

test('controllers of both clusters work in one manager', async () => {
  await using transport = home.transport();
  await using remote = east.transport();
  const manager = newManager({ transport, metrics: { bindAddress: '127.0.0.1:0' } });
  const cluster = manager.addCluster({ name: 'east', transport: remote });
  const { cache } = cluster;
  const handler = enqueueRequestForObject();
  const [here, there] = [newClient({ transport }), newClient({ transport: remote })];
  // ConfigMaps of the other cluster become Secrets of this one.
  newControllerManagedBy(manager)
    .for(Secret)
    .watchesRawSource(kindSource({ cache, resource: ConfigMap, handler }))
    .named('copies')
    .complete(async (request) => {
      const [found] = (
        await cluster.client.list(ConfigMap, { namespace: request.namespace })
      ).items.filter(({ metadata }) => metadata.name === request.name);
      if (found?.data?.copied === undefined) return;
      await createOrUpdate(manager.client, Secret, request, (draft) => {
        draft.stringData = { copied: found.data?.copied ?? '' };
      });
    });
  // A controller of the other cluster alone writes there.
  newControllerManagedBy(cluster)
    .for(ConfigMap)
    .named('marks')
    .complete(async (request, { get }) => {
      const found = get(request);
      if (found?.data?.copied === undefined || found.metadata.labels?.marked === 'yes') return;
      const body = { metadata: { labels: { marked: 'yes' } } };
      await cluster.client.patch(ConfigMap, request, { type: 'merge', body });
    });
  const stop = new AbortController();
  const running = manager.start({ signal: stop.signal });
  await manager.elected();
  const key = { namespace: 'default', name: 'shared' };
  await there.create(ConfigMap, { metadata: key, data: { copied: 'a' } });
  const options = { timeout: 30_000 };
  const secret = await until(here, Secret, key, (one) => one?.data !== undefined, options);
  expect(atob(secret?.data?.copied ?? '')).toBe('a');
  const isMarked = (one?: { metadata?: { labels?: Record<string, string> } }) =>
    one?.metadata?.labels?.marked === 'yes';
  await until(there, ConfigMap, key, isMarked, options);
  await expect(here.get(ConfigMap, key)).rejects.toMatchObject({ status: 404 });
  await expect(there.get(Secret, key)).rejects.toMatchObject({ status: 404 });
  expect(manager.report().informers.map(({ key: name }) => name)).toEqual([
    'secrets/v1',
    'east: configmaps/v1',
  ]);
  stop.abort();
  await running;
});
