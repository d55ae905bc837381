/**
 * Reads after writes if the cache alone cannot tell whether it has caught up: resourceVersions are
 * no decimal numbers, or a tweak restricts the cache by an unknown parameter.
 */
import { newSharedInformerFactory, type Transport, type TransportRequest } from 'capstan/cache';
import { type Client, isNotFound, newClient } from 'capstan/client';
import { FakeClock } from 'capstan/testing';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { setErrorHandler } from '../../bindings/base/handle-error.ts';
import { live, recordedTransport } from '../helpers/client/clients.ts';
import { at, ConfigMaps, configMap } from '../helpers/resources.ts';
import { settled, WatchGate } from './watch-gate.ts';

let reported: string[] = [];
let previous: ReturnType<typeof setErrorHandler>;
beforeEach(() => {
  reported = [];
  previous = setErrorHandler((error) => reported.push((error as Error).message));
});
afterEach(() => {
  setErrorHandler(previous);
});

/** A client whose cache is behind a gate, over a wrapped server. */
async function behind(wrap: (inner: Transport) => Transport, tweak?: (query: Query) => void) {
  const { server, transport: inner, client: others } = await live();
  const { transport, requests } = recordedTransport(inner);
  const clock = new FakeClock();
  const gate = new WatchGate();
  const wrapped = wrap(transport);
  const factory = newSharedInformerFactory(gate.transport(wrapped), {
    clock,
    random: () => 0,
    ...(tweak && { tweakListOptions: tweak }),
  });
  onTestFinished(async () => {
    gate.open();
    await factory.shutdown();
  });
  const client = newClient({ transport: wrapped, cache: factory, clock });
  await client.list(ConfigMaps);
  return { server, client, others, clock, gate, factory, requests };
}
type Query = Record<string, string>;

const pageOf = async (client: Client, name: string): Promise<string | undefined> =>
  (await client.get(ConfigMaps, at(name))).data?.page;

describe('a server whose resourceVersions are no decimal numbers', () => {
  const out = (text: string): string => text.replace(/("resourceVersion":\s*")(\d+)"/g, '$1v$2"');
  const into = (text: string): string => text.replace(/("resourceVersion":\s*")v(\d+)"/g, '$1$2"');
  const opaque = (inner: Transport): Transport => ({
    async request(request: TransportRequest) {
      const { query, body } = request;
      const version = query?.resourceVersion?.replace(/^v/, '');
      const answer = await inner.request({
        ...request,
        ...(version === undefined ? {} : { query: { ...query, resourceVersion: version } }),
        ...(typeof body === 'string' ? { body: into(body) } : {}),
        transient: false,
      });
      async function* changed(): AsyncGenerator<Uint8Array> {
        const [decoder, encoder] = [new TextDecoder(), new TextEncoder()];
        for await (const chunk of answer.body)
          yield encoder.encode(out(decoder.decode(chunk, { stream: true })));
      }
      return { status: answer.status, headers: answer.headers, body: changed() };
    },
  });

  test('lets a read wait until the cache has that exact version', async () => {
    const { client, clock, gate, requests } = await behind(opaque);
    await client.create(ConfigMaps, configMap('a', { page: 'old' }));
    const first = await client.get(ConfigMaps, at('a'));
    gate.shut();
    await client.update(ConfigMaps, { ...structuredClone(first), data: { page: 'new' } });
    const before = requests.length;
    const reading = pageOf(client, 'a');
    const listing = client.list(ConfigMaps);
    expect([await settled(clock, reading), await settled(clock, listing)]).toEqual([false, false]);
    gate.open();
    expect(await reading).toBe('new');
    expect((await listing).items[0]?.data).toEqual({ page: 'new' });
    expect(requests.length).toBe(before);
    // Deletions of recent writes cannot be recognised there, which is reported once.
    expect(reported).toEqual([expect.stringContaining('no decimal numbers')]);
  });

  test('is read live after a second if the cache never has that version', async () => {
    const { client, others, clock, gate } = await behind(opaque);
    await client.create(ConfigMaps, configMap('a', { page: 'old' }));
    await client.get(ConfigMaps, at('a'));
    gate.shut();
    const merge = (by: Client, page: string) =>
      by.patch(ConfigMaps, at('a'), { type: 'merge', body: { data: { page } } });
    await merge(client, 'mine');
    await merge(others, 'theirs');
    const reading = pageOf(client, 'a');
    await clock.run(1000);
    expect(await reading).toBe('theirs');
    gate.open();
    await clock.settle();
    expect(await pageOf(client, 'a')).toBe('theirs');
    gate.shut();
    await client.delete(ConfigMaps, at('a'));
    const gone = client.get(ConfigMaps, at('a')).catch(isNotFound);
    await clock.run(1000);
    expect(await gone).toBe(true);
  });

  test('lists by an index from the cache, without waiting for the version', async () => {
    const { client, others, clock, gate } = await behind(opaque);
    gate.shut();
    await client.create(ConfigMaps, configMap('a', { page: 'x' }));
    const body = { data: { page: 'y' } };
    await others.patch(ConfigMaps, at('a'), { type: 'merge', body });
    const listing = client.list(ConfigMaps, { index: { name: 'byPage', value: 'y' } });
    await clock.run(1000);
    expect((await listing).items).toEqual([]);
    gate.open();
    await clock.settle();
    const { items } = await client.list(ConfigMaps, { index: { name: 'byPage', value: 'y' } });
    expect(items.length).toBe(1);
  });
});

describe('a cache that a tweak restricts by an unknown parameter', () => {
  /** The parameter `half`, by a label. */
  const halved = (inner: Transport): Transport => ({
    request: (request) => {
      const { half, ...query } = request.query ?? {};
      if (half === undefined) return inner.request(request);
      return inner.request({ ...request, query: { ...query, labelSelector: `half=${half}` } });
    },
  });
  const first = (query: Query): void => {
    query.half = 'a';
  };
  const made = (name: string, half: string) =>
    configMap(name, { page: half }, { labels: { half } });

  test('waits only for objects that it receives', async () => {
    const { client, clock, gate, requests } = await behind(halved, first);
    gate.shut();
    await client.create(ConfigMaps, made('other', 'b'));
    await expect(client.get(ConfigMaps, at('other'))).rejects.toSatisfy(isNotFound);
    const asked = requests.at(-1)?.query;
    expect(asked).toMatchObject({ fieldSelector: 'metadata.name=other', labelSelector: 'half=a' });
    await client.create(ConfigMaps, made('own', 'a'));
    const reading = pageOf(client, 'own');
    expect(await settled(clock, reading)).toBe(false);
    gate.open();
    expect(await reading).toBe('a');
    expect((await client.list(ConfigMaps)).items.map(({ metadata }) => metadata.name)).toEqual([
      'own',
    ]);
  });

  test('lists its restriction also if the server is read instead', async () => {
    const { client, clock, gate } = await behind(halved, first);
    gate.shut();
    for (const name of ['1', '2', '3', '4', '5', '6'])
      await client.create(ConfigMaps, made(name, Number(name) % 2 === 0 ? 'b' : 'a'));
    const listing = client.list(ConfigMaps);
    await clock.run(5000);
    expect((await listing).items.map(({ metadata }) => metadata.name)).toEqual(['1', '3', '5']);
  });

  // A write to another half was reported as deleted at the next list.
  test('reports no deletion that did not happen', async () => {
    const { client, clock, factory, others, gate, server } = await behind(halved, first);
    const deleted: unknown[] = [];
    const informer = factory.informerFor(ConfigMaps);
    informer.addEventHandler({ onDelete: (object) => deleted.push(object) });
    await client.create(ConfigMaps, made('own', 'a'));
    await client.get(ConfigMaps, at('own'));
    gate.shut();
    await client.create(ConfigMaps, made('other', 'b'));
    const body = { data: { seen: 'true' } };
    await client.patch(ConfigMaps, at('other'), { type: 'merge', body });
    await client.create(ConfigMaps, made('last', 'a'));
    server.inject({ verb: 'watch', do: 'status', status: 410, reason: 'Expired' });
    await clock.settle();
    gate.cut();
    await vi.waitFor(async () => {
      await clock.run(800);
      expect(informer.status().relists).toBeGreaterThan(0);
      expect(informer.getIndexer().getByKey('default/last')).toBeDefined();
    });
    expect([deleted, (await others.list(ConfigMaps)).items.length]).toEqual([[], 3]);
    expect(informer.selection()).toMatchObject({ others: { half: 'a' }, isUnknown: true });
  });

  test.each<[string, (query: Query) => void, object]>([
    [
      'restricts watches alone',
      (query) => {
        if (query.watch) query.labelSelector = 'half=a';
      },
      { isUnknown: true },
    ],
    [
      'adds selectors that are known',
      (query) => {
        query.labelSelector = 'half=a';
        query.limit = '7';
      },
      { isUnknown: false, labelSelector: 'half=a', others: {} },
    ],
  ])('is distinguished from one that a tweak %s', async (_, tweak, selection) => {
    const { factory } = await behind(halved, tweak);
    expect(factory.informerFor(ConfigMaps).selection()).toMatchObject(selection);
  });
});
