/**
 * A client reads its own writes, however far its cache lags: a gate holds the watch back, and the
 * test looks at a read meanwhile. The server, its versions and its deletions are real HTTP.
 */
import { defineResource, type FactoryOptions, newSharedInformerFactory } from 'capstan/cache';
import { type Client, isNotFound, newClient } from 'capstan/client';
import type { Fault } from 'capstan/testing';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { at, ConfigMaps, configMap, type Widget, Widgets, widget } from '../helpers/resources.ts';
import { behind, settled } from './watch-gate.ts';

const Pods = defineResource<{
  metadata: { namespace: string; name: string };
  spec: { containers: object[]; nodeName?: string };
}>()({
  ...{ group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true },
});

interface Deployment {
  metadata: { namespace: string; name: string };
  spec: { replicas: number; selector: object; template: object };
}
const Deployments = defineResource<Deployment>()({
  ...{ group: 'apps', version: 'v1', kind: 'Deployment', plural: 'deployments', namespaced: true },
});

async function* again(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}

describe('a read after a write', () => {
  test('waits for the created object, and returns it', async () => {
    const { client, clock, gate } = await behind();
    await client.list(ConfigMaps);
    gate.shut();
    const created = await client.create(ConfigMaps, configMap('a', { page: '1' }));
    const getting = client.get(ConfigMaps, at('a'));
    expect(await settled(clock, getting)).toBe(false);
    gate.open();
    expect((await getting).metadata.resourceVersion).toBe(created.metadata.resourceVersion);
    expect(clock.timers()).toBe(0);
  });

  // The server answers these only with success: a read right after them returned the old Pod.
  test('asks for the object after a binding or an eviction', async () => {
    const { client, clock, gate } = await behind();
    const pod = (name: string) => ({
      metadata: { namespace: 'default', name },
      spec: { containers: [{ name: 'c', image: 'i' }] },
    });
    for (const name of ['bound', 'evicted']) await client.create(Pods, pod(name));
    await client.list(Pods);
    gate.shut();
    const about = (kind: string, apiVersion: string, name: string) => ({
      apiVersion,
      kind,
      metadata: { name },
    });
    const target = { kind: 'Node', name: 'node-1' };
    await client
      .subResource('binding')
      .create(Pods, at('bound'), { ...about('Binding', 'v1', 'bound'), target });
    await client
      .subResource('eviction')
      .create(Pods, at('evicted'), about('Eviction', 'policy/v1', 'evicted'));
    const [bound, evicted] = [client.get(Pods, at('bound')), client.get(Pods, at('evicted'))];
    evicted.catch(() => undefined);
    expect([await settled(clock, bound), await settled(clock, evicted)]).toEqual([false, false]);
    gate.open();
    expect((await bound).spec.nodeName).toBe('node-1');
    await expect(evicted).rejects.toSatisfy(isNotFound);
  });

  test.each<[string, (client: Client) => Promise<{ metadata: { resourceVersion?: string } }>]>([
    [
      'update',
      async (client) => client.update(Widgets, widget('w', { size: 2 }, await metadata(client))),
    ],
    [
      'patch',
      (client) => client.patch(Widgets, at('w'), { type: 'merge', body: { spec: { size: 2 } } }),
    ],
    [
      'update of the status',
      async (client) =>
        client
          .status()
          .update(Widgets, { ...widget('w', {}, await metadata(client)), status: { ready: true } }),
    ],
    [
      'patch of the status',
      (client) =>
        client.status().patch(Widgets, at('w'), { type: 'merge', body: { status: { size: 2 } } }),
    ],
    [
      'apply',
      (client) => client.apply(Widgets, widget('w', { color: 'red' }), { fieldOwner: 'me' }),
    ],
    [
      'apply of the status',
      (client) =>
        client
          .status()
          .apply(Widgets, { ...widget('w'), status: { ready: true } }, { fieldOwner: 'me' }),
    ],
  ])('waits for an %s', async (_, write) => {
    const { client, clock, gate } = await behind();
    await client.create(Widgets, widget('w', { size: 1 }));
    await client.get(Widgets, at('w'));
    gate.shut();
    const written = await write(client);
    const [getting, listing] = [client.get(Widgets, at('w')), client.list(Widgets)];
    for (const reading of [getting, listing]) expect(await settled(clock, reading)).toBe(false);
    gate.open();
    for (const { metadata } of [await getting, (await listing).items[0] as Widget])
      expect(metadata.resourceVersion).toBe(written.metadata.resourceVersion);
  });

  test('waits for a replaced scale, in its object', async () => {
    const { client, clock, gate } = await behind();
    const labels = { app: 'x' };
    const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } };
    const created = await client.create(Deployments, {
      metadata: at('d'),
      spec: { replicas: 1, selector: { matchLabels: labels }, template },
    });
    await client.list(Deployments);
    gate.shut();
    const body = {
      ...{ apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: at('d') },
      spec: { replicas: 8 },
    };
    await client.subResource('scale').update(Deployments, created, { body });
    const [getting, listing] = [client.get(Deployments, at('d')), client.list(Deployments)];
    for (const reading of [getting, listing]) expect(await settled(clock, reading)).toBe(false);
    gate.open();
    for (const { spec } of [await getting, (await listing).items[0] as Deployment])
      expect(spec.replicas).toBe(8);
  });

  const metadata = async (client: Client) =>
    (await client.get(Widgets, at('w'), { live: true })).metadata;

  test('waits for a deletion, and for one of many', async () => {
    const { client, clock, gate } = await behind();
    for (const name of ['a', 'b', 'c']) await client.create(ConfigMaps, configMap(name));
    await client.get(ConfigMaps, at('a'));
    gate.shut();
    await client.delete(ConfigMaps, at('a'));
    const getting = client.get(ConfigMaps, at('a')).catch(isNotFound);
    expect(await settled(clock, getting)).toBe(false);
    gate.open();
    expect(await getting).toBe(true);
    const { metadata } = await client.create(ConfigMaps, configMap('a'));
    await client.get(ConfigMaps, at('a'));
    gate.shut();
    await client.delete(ConfigMaps, at('a'), { preconditions: { uid: metadata.uid } });
    const gone = [
      client.get(ConfigMaps, at('a')).catch(isNotFound),
      client.list(ConfigMaps).then(({ items }) => items.length === 2),
    ];
    for (const reading of gone) expect(await settled(clock, reading)).toBe(false);
    gate.open();
    expect(await Promise.all(gone)).toEqual([true, true]);
    gate.shut();
    await client.deleteAllOf(ConfigMaps, { namespace: 'default' });
    const listing = client.list(ConfigMaps);
    expect(await settled(clock, listing)).toBe(false);
    gate.open();
    expect((await listing).items).toEqual([]);
  });

  test('waits until an object with a finalizer is marked as deleted', async () => {
    const { client, clock, gate } = await behind();
    await client.create(Widgets, widget('w', {}, { finalizers: ['example.com/hold'] }));
    await client.get(Widgets, at('w'));
    gate.shut();
    await client.delete(Widgets, at('w'));
    const getting = client.get(Widgets, at('w'));
    expect(await settled(clock, getting)).toBe(false);
    gate.open();
    expect((await getting).metadata.deletionTimestamp).toBeDefined();
    // The last finalizer is removed, and so is the object: the answer still has it.
    gate.shut();
    await client.patch(Widgets, at('w'), {
      type: 'merge',
      body: { metadata: { finalizers: null } },
    });
    const again = client.get(Widgets, at('w')).catch(isNotFound);
    expect(await settled(clock, again)).toBe(false);
    gate.open();
    expect(await again).toBe(true);
  });

  test('waits for the write after a deletion', async () => {
    const { client, clock, gate } = await behind();
    await client.create(ConfigMaps, configMap('a', { page: '1' }));
    await client.get(ConfigMaps, at('a'));
    gate.shut();
    await client.delete(ConfigMaps, at('a'));
    await client.create(ConfigMaps, configMap('a', { page: '2' }));
    const getting = client.get(ConfigMaps, at('a'));
    expect(await settled(clock, getting)).toBe(false);
    gate.open();
    expect((await getting).data).toEqual({ page: '2' });
  });

  test('waits in lists for all writes in the namespace', async () => {
    const { client, clock, gate } = await behind();
    await client.list(ConfigMaps);
    gate.shut();
    await client.create(ConfigMaps, configMap('a'));
    const [all, own, index, other] = [
      client.list(ConfigMaps),
      client.list(ConfigMaps, { namespace: 'default' }),
      client.list(ConfigMaps, { index: { name: 'byPage', value: '1' } }),
      client.list(ConfigMaps, { namespace: 'other' }),
    ];
    expect(await settled(clock, other)).toBe(true);
    for (const waiting of [all, own, index]) expect(await settled(clock, waiting)).toBe(false);
    gate.open();
    expect((await all).items).toHaveLength(1);
    expect((await own).items).toHaveLength(1);
    expect((await index).items).toHaveLength(0);
  });

  // Found by random runs: the object was not in the cache when the list began to wait for another,
  // and was when that had come.
  test('does not list an object that was deleted while the list waited', async () => {
    const { client, clock, gate } = await behind();
    await client.list(ConfigMaps);
    gate.shut();
    await client.create(ConfigMaps, configMap('a'));
    await client.create(ConfigMaps, configMap('deleted'));
    await client.create(ConfigMaps, configMap('b'));
    await client.delete(ConfigMaps, at('deleted'));
    const listing = client.list(ConfigMaps);
    expect(await settled(clock, listing)).toBe(false);
    gate.pass(3);
    expect(await settled(clock, listing)).toBe(false);
    gate.pass(1);
    expect((await listing).items.map(({ metadata }) => metadata.name).sort()).toEqual(['a', 'b']);
  });

  test("waits only for the client's own writes to what it reads", async () => {
    const { client, others, clock, gate } = await behind();
    await client.create(ConfigMaps, configMap('a', { page: '1' }));
    await client.create(Widgets, widget('w'));
    await client.get(ConfigMaps, at('a'));
    await client.get(Widgets, at('w'));
    gate.shut();
    await others.patch(ConfigMaps, at('a'), { type: 'merge', body: { data: { page: '2' } } });
    await client.patch(
      ConfigMaps,
      at('a'),
      { type: 'merge', body: { data: { page: '3' } } },
      { dryRun: true },
    );
    await client.delete(ConfigMaps, at('a'), { dryRun: true });
    await client.deleteAllOf(ConfigMaps, { namespace: 'default', dryRun: true });
    await client.create(ConfigMaps, configMap('b'));
    const getting = client.get(ConfigMaps, at('a'));
    expect(await settled(clock, getting)).toBe(true);
    expect((await getting).data).toEqual({ page: '1' });
    expect(await settled(clock, client.list(Widgets))).toBe(true);
  });

  test('does not wait for writes after it began', async () => {
    const { client, clock, gate } = await behind();
    for (const name of ['a', 'b', 'c']) await client.create(ConfigMaps, configMap(name));
    await client.list(ConfigMaps);
    gate.shut();
    const page = (value: string) => ({ type: 'merge', body: { data: { page: value } } }) as const;
    await client.patch(ConfigMaps, at('a'), page('1'));
    await client.delete(ConfigMaps, at('b'));
    const [getting, listing] = [client.get(ConfigMaps, at('a')), client.list(ConfigMaps)];
    expect([await settled(clock, getting), await settled(clock, listing)]).toEqual([false, false]);
    await client.patch(ConfigMaps, at('a'), page('2'));
    await client.delete(ConfigMaps, at('c'));
    gate.pass(2);
    expect((await getting).data).toEqual({ page: '1' });
    expect((await listing).items).toHaveLength(2);
    gate.open();
  });

  test('does not wait for a failed write', async () => {
    const { client, server, clock, gate } = await behind();
    await client.create(ConfigMaps, configMap('a', { page: '1' }));
    await client.list(ConfigMaps);
    gate.shut();
    for (const verb of ['delete', 'update'] as const)
      server.inject({ verb, do: 'status', status: 403, reason: 'Forbidden' });
    for (const write of [
      () => client.delete(ConfigMaps, at('a')),
      () => client.update(ConfigMaps, configMap('a')),
    ])
      await expect(write()).rejects.toMatchObject({ status: 403 });
    for (const reading of [client.get(ConfigMaps, at('a')), client.list(ConfigMaps)])
      expect(await settled(clock, reading)).toBe(true);
  });

  test('does not wait if the write changed nothing', async () => {
    const { client, clock, gate } = await behind();
    const created = await client.create(ConfigMaps, configMap('a'));
    await client.get(ConfigMaps, at('a'));
    gate.shut();
    await client.update(ConfigMaps, created);
    expect(await settled(clock, client.get(ConfigMaps, at('a')))).toBe(true);
  });

  test('does not wait if disabled, for one read or for all', async () => {
    const { client, clock, gate } = await behind();
    await client.list(ConfigMaps);
    gate.shut();
    await client.create(ConfigMaps, configMap('a'));
    const reading = client.get(ConfigMaps, at('a'), { readYourWrites: false }).catch(isNotFound);
    expect(await settled(clock, reading)).toBe(true);
    expect(await reading).toBe(true);
    const off = await behind({ readYourWrites: false });
    await off.client.list(ConfigMaps);
    off.gate.shut();
    await off.client.create(ConfigMaps, configMap('a'));
    expect((await off.client.list(ConfigMaps)).items).toEqual([]);
    const asked = off.client.list(ConfigMaps, { readYourWrites: true });
    expect(await settled(off.clock, asked)).toBe(false);
    off.gate.open();
    expect((await asked).items).toHaveLength(1);
  });

  test('does not wait for an object that others have deleted', async () => {
    const { client, others, server, clock, gate } = await behind();
    await client.list(ConfigMaps);
    gate.shut();
    await client.create(ConfigMaps, configMap('a'));
    await others.delete(ConfigMaps, at('a'));
    const getting = client.get(ConfigMaps, at('a')).catch(isNotFound);
    expect(await settled(clock, getting)).toBe(false);
    // So that neither event ever comes: the cache relists, and the object is missing.
    server.expireHistory();
    gate.cut();
    expect(await getting).toBe(true);
  });

  test.each<[string, FactoryOptions]>([
    ['labels', { tweakListOptions: (query) => Object.assign(query, { labelSelector: 'app=web' }) }],
    [
      'fields',
      {
        tweakListOptions: (query) => Object.assign(query, { fieldSelector: 'metadata.name=other' }),
      },
    ],
    ['namespace', { namespace: 'elsewhere' }],
  ])(
    'does not wait for an object that the %s of the cache exclude',
    async (what, factoryOptions) => {
      // If others had started the informer, it waited in vain for writes before this client's first
      // read.
      for (const first of ['the read', 'the write']) {
        const { client, clock, factory, gate, requests } = await behind({ factoryOptions });
        if (first === 'the read') await client.list(ConfigMaps);
        factory.informerFor(ConfigMaps);
        factory.start();
        await factory.waitForCacheSync();
        gate.shut();
        await client.create(ConfigMaps, configMap('a', {}, { labels: { app: 'db' } }));
        const before = requests.length;
        const getting = client.get(ConfigMaps, at('a')).catch(isNotFound);
        const listing = client.list(ConfigMaps);
        expect(await settled(clock, getting), first).toBe(true);
        expect(await settled(clock, listing), first).toBe(true);
        expect((await listing).items).toEqual([]);
        // The cache does not have another namespace, and the server is read.
        expect(requests.length - before).toBe(what === 'namespace' ? 1 : 0);
      }
    },
  );

  test('waits until an excluded object has left the cache', async () => {
    const tweakListOptions: FactoryOptions['tweakListOptions'] = (query) =>
      Object.assign(query, { labelSelector: 'app=web' });
    const { client, clock, gate } = await behind({ factoryOptions: { tweakListOptions } });
    await client.create(ConfigMaps, configMap('a', {}, { labels: { app: 'web' } }));
    await client.get(ConfigMaps, at('a'));
    gate.shut();
    await client.patch(ConfigMaps, at('a'), {
      type: 'merge',
      body: { metadata: { labels: { app: 'db' } } },
    });
    const getting = client.get(ConfigMaps, at('a')).catch(isNotFound);
    expect(await settled(clock, getting)).toBe(false);
    gate.open();
    expect(await getting).toBe(true);
  });

  test('counts writes from before the cache, as its list may be stale', async () => {
    const { client, others, clock, gate, transport } = await behind();
    const { items } = await others.list(ConfigMaps);
    expect(items).toEqual([]);
    const request = { method: 'GET', path: '/api/v1/configmaps' };
    const old: Uint8Array[] = [];
    for await (const chunk of (await transport.request(request)).body) old.push(chunk);
    await client.create(ConfigMaps, configMap('a', { page: '1' }));
    const stale = newSharedInformerFactory(
      gate.transport({
        request: async (asked) => {
          const response = await transport.request(asked);
          return asked.query?.watch === 'true'
            ? response
            : { ...response, headers: response.headers, body: again(old) };
        },
      }),
      { watchList: false },
    );
    onTestFinished(() => stale.shutdown());
    const reader = newClient({ transport, cache: stale, clock });
    await reader.create(ConfigMaps, configMap('b'));
    gate.shut();
    const getting = reader.get(ConfigMaps, at('b'));
    expect(await settled(clock, getting)).toBe(false);
    expect(stale.informerFor(ConfigMaps).hasSynced()).toBe(true);
    gate.open();
    expect((await getting).metadata.name).toBe('b');
  });
});

describe('a cache that does not catch up in time', () => {
  test('costs a request, and only one wait', async () => {
    const { client, clock, gate, requests } = await behind({ readYourWritesTimeout: 100 });
    await client.list(ConfigMaps);
    gate.shut();
    const created = await client.create(
      ConfigMaps,
      configMap('a', { page: '1' }, { labels: { app: 'web' } }),
    );
    const before = requests.length;
    const getting = client.get(ConfigMaps, at('a'));
    await clock.run(99);
    expect(requests).toHaveLength(before);
    await clock.run(1);
    expect(await getting).toEqual(created);
    expect(requests).toHaveLength(before + 1);
    expect(await client.get(ConfigMaps, at('a'))).toEqual(created);
    expect(
      (await client.list(ConfigMaps, { namespace: 'default', labelSelector: 'app=web' })).items,
    ).toEqual([created]);
    expect((await client.list(ConfigMaps, { fieldSelector: 'metadata.name=a' })).items).toEqual([
      created,
    ]);
    expect(requests).toHaveLength(before + 4);
    gate.open();
  });

  // One failing watch held every worker of a controller for five seconds a read, though its
  // informer knew that no event would come; and so did an overloaded server, because the informer
  // reported that it was listing.
  test.each<[string, boolean, Fault]>([
    ['its watch is down', false, { verb: 'watch', do: 'status', status: 500 }],
    ['its list is put off', false, { verb: 'list', do: 'status', status: 429, retryAfter: 16_000 }],
    [
      'its stream is',
      true,
      { verb: 'watch', query: 'sendInitial', do: 'status', status: 429, retryAfter: 16_000 },
    ],
  ])('as %s costs a request at once', async (_, watchList, fault) => {
    const { server, client, clock, factory, requests } = await behind({
      factoryOptions: { watchList },
    });
    await client.list(ConfigMaps);
    server.inject(fault);
    server.expireHistory();
    server.dropConnections();
    const why = 'status' in fault && fault.status === 429 ? 'throttled' : 'server';
    await vi.waitFor(
      () => expect(factory.informerFor(ConfigMaps).status().lastFailure?.class).toBe(why),
      5000,
    );
    expect(factory.informerFor(ConfigMaps).status().state).toBe('waiting');
    const created = await client.create(ConfigMaps, configMap('a'));
    const before = requests.length;
    const getting = client.get(ConfigMaps, at('a'));
    await clock.run(200);
    expect(await getting).toEqual(created);
    expect(requests.slice(before).filter(({ path }) => path.endsWith('/a'))).toHaveLength(1);
    expect(clock.timers()).toBe(0);
  });

  test('is a typed error for a list by an index, which the server does not have', async () => {
    const { client, clock, gate } = await behind({ readYourWritesTimeout: 100 });
    await client.list(ConfigMaps);
    gate.shut();
    const created = await client.create(ConfigMaps, configMap('a', { page: '1' }));
    const list = () => client.list(ConfigMaps, { index: { name: 'byPage', value: '1' } });
    const listing = list().catch((error: unknown) => error);
    await clock.run(100);
    expect(await listing).toMatchObject({ code: 'TIMEOUT' });
    // A write that changed nothing made the next list wait as long again, and a list that did not
    // wait still mentioned the time.
    await client.update(ConfigMaps, created);
    await expect(list()).rejects.toMatchObject({
      code: 'TIMEOUT',
      message: expect.stringContaining(
        'for which one read waits, 100 ms at most, and those after it do not',
      ),
    });
  });

  test('is replaced by the server with the same selectors', async () => {
    const tweakListOptions: FactoryOptions['tweakListOptions'] = (query) =>
      Object.assign(query, { labelSelector: 'app=web' });
    const { client, others, clock, gate } = await behind({
      readYourWritesTimeout: 100,
      factoryOptions: { tweakListOptions },
    });
    await others.create(ConfigMaps, configMap('unseen'));
    await client.create(ConfigMaps, configMap('a', {}, { labels: { app: 'web' } }));
    await client.list(ConfigMaps);
    gate.shut();
    await client.patch(ConfigMaps, at('a'), {
      type: 'merge',
      body: { metadata: { labels: { app: 'db' } } },
    });
    const getting = client.get(ConfigMaps, at('a')).catch(isNotFound);
    const listing = client.list(ConfigMaps);
    await clock.run(100);
    expect(await getting).toBe(true);
    expect((await listing).items).toEqual([]);
  });

  test('ends with the signal', async () => {
    const { client, clock, gate } = await behind();
    await client.list(ConfigMaps);
    gate.shut();
    await client.create(ConfigMaps, configMap('a'));
    const abort = new AbortController();
    const getting = client.get(ConfigMaps, at('a'), { signal: abort.signal });
    await clock.settle();
    abort.abort();
    await expect(getting).rejects.toMatchObject({ code: 'ABORTED' });
    expect(clock.timers()).toBe(0);
  });

  test('because it was stopped, costs a request at once', async () => {
    const { client, clock, gate, factory } = await behind();
    await client.list(ConfigMaps);
    gate.shut();
    const created = await client.create(ConfigMaps, configMap('a'));
    const getting = client.get(ConfigMaps, at('a'));
    await clock.settle();
    await factory.remove(ConfigMaps as never);
    expect(await getting).toEqual(created);
  });

  test('because the server was restored from a backup, is waited for once', async () => {
    const { client, others, clock, gate, requests } = await behind({ readYourWritesTimeout: 100 });
    await client.list(ConfigMaps);
    gate.shut();
    await client.create(ConfigMaps, configMap('a'));
    await others.delete(ConfigMaps, at('a'));
    const getting = client.get(ConfigMaps, at('a')).catch(isNotFound);
    await clock.run(100);
    expect(await getting).toBe(true);
    const before = requests.length;
    await expect(client.get(ConfigMaps, at('a'))).rejects.toSatisfy(isNotFound);
    expect(requests).toHaveLength(before);
  });
});

test('a cache that relists still catches up with the writes', async () => {
  const { client, clock, gate, server, factory } = await behind();
  await client.list(ConfigMaps);
  gate.shut();
  const created = await client.create(ConfigMaps, configMap('a'));
  const getting = client.get(ConfigMaps, at('a'));
  expect(await settled(clock, getting)).toBe(false);
  server.expireHistory();
  server.dropConnections();
  gate.open();
  expect((await getting).metadata.uid).toBe(created.metadata.uid);
  expect(factory.informerFor(ConfigMaps).status().watches).toBeGreaterThan(0);
});
