/**
 * Index functions of an informer that throw: the object stays in the cache and is counted as not
 * indexed, and the function is called again.
 */
import { defineResource, InformerPrometheusProvider } from 'capstan/cache';
import { describe, expect, test } from 'vitest';
import { setUp } from '../../helpers/cache/recording-handlers.ts';
import { collectErrors } from '../../helpers/reported-errors.ts';
import { type ConfigMap, ConfigMaps } from '../../helpers/resources.ts';

const reported = collectErrors();

/** An informer with an index by site, whose function throws for the names in `failing`. */
async function running(options: Parameters<typeof setUp>[0] = {}) {
  const failing = new Set<string>();
  let calls = 0;
  const bySite = ({ metadata }: ConfigMap): string[] => {
    calls++;
    if (failing.has(metadata.name)) throw new Error('mine');
    return [metadata.labels?.site ?? ''];
  };
  const resource = defineResource<ConfigMap>()({ ...ConfigMaps, indexers: { bySite } });
  const metricsProvider = new InformerPrometheusProvider();
  const all = { name: 'mine', metricsProvider, ...options };
  const { clock, server, informer } = setUp({ ...all, resource: resource as never });
  const indexer = informer.getIndexer();
  void informer.run();
  await clock.settle();
  return {
    ...{ clock, server, informer, failing },
    calls: () => calls,
    found: (site: string) =>
      indexer
        .byIndex('bySite' as never, site)
        .map(({ metadata }) => metadata.name)
        .sort(),
    notIndexed: () => {
      const [, metric] = /not_indexed\{[^}]*\} (\d+)/.exec(metricsProvider.text()) ?? [];
      const { notIndexed } = informer.status();
      expect(metric).toBe(String(notIndexed));
      return notIndexed;
    },
  };
}

// The object had no index value until it changed or the watch was lost: a lookup by index missed it
// for hours, although the function worked again at once.
describe.each([
  ['bytes', {}],
  ['objects', { keep: 'objects' }],
  ['a queue of deltas', { fifo: 'delta' }],
] as const)('an index function that throws, cache of %s', (_, options) => {
  test('is called again with the next change of any object, after a second', async () => {
    const { clock, server, failing, found, notIndexed, informer } = await running(options);
    failing.add('a');
    server.put('a', { labels: { site: 'web' } });
    await clock.settle();
    expect([found('web'), notIndexed(), informer.status().objects]).toEqual([[], 1, 1]);
    expect(reported.map(({ what }) => what)).toEqual([
      'index function "bySite" on default/a: it is asked again',
    ]);
    failing.clear();
    server.put('b', { labels: { site: 'other' } });
    await clock.settle();
    expect([found('web'), notIndexed()]).toEqual([[], 1]);
    await clock.run(1_000);
    server.put('b', { labels: { site: 'other' } });
    await clock.settle();
    expect([found('web'), found('other'), notIndexed()]).toEqual([['a'], ['b'], 0]);
  });

  test('is called again at each resync, also without handlers', async () => {
    const { clock, server, failing, found, notIndexed } = await running({
      ...options,
      resyncPeriod: 30_000,
    });
    failing.add('a');
    server.put('a', { labels: { site: 'web' } });
    await clock.run(31_000);
    expect([found('web'), notIndexed()]).toEqual([[], 1]);
    failing.clear();
    await clock.run(30_000);
    expect([found('web'), notIndexed()]).toEqual([['a'], 0]);
  });

  test('is called again by a list and by a change of the object', async () => {
    const { clock, server, failing, found, notIndexed } = await running(options);
    for (const name of ['a', 'b', 'c']) failing.add(name);
    for (const name of ['a', 'b', 'c']) server.put(name, { labels: { site: 'web' } });
    await clock.settle();
    expect(notIndexed()).toBe(3);
    failing.delete('a');
    server.put('a', { labels: { site: 'web' } });
    server.remove('b');
    await clock.settle();
    expect([found('web'), notIndexed()]).toEqual([['a'], 1]);
    failing.clear();
    let refused = 0;
    server.intercept = ({ query }) => {
      if (query?.watch !== 'true' || refused++ > 0) return undefined;
      return { status: 410, headers: new Headers(), body: gone() };
    };
    server.closeWatches();
    await clock.run(30_000);
    expect([found('web'), notIndexed(), refused > 1]).toEqual([['a', 'c'], 0, true]);
  });

  test('that always fails is called less and less often', async () => {
    const { clock, server, failing, calls, notIndexed } = await running(options);
    failing.add('a');
    server.put('a');
    server.put('b');
    const asked: number[] = [];
    for (let second = 0; second < 300; second++) {
      const before = calls();
      server.put('b');
      await clock.run(1_000);
      if (calls() > before + 1) asked.push(second);
    }
    expect(asked.length).toBeLessThan(12);
    expect(asked.length).toBeGreaterThan(5);
    expect(notIndexed()).toBe(1);
  });

  test('that returns an invalid value or a promise counts as failed', async () => {
    const answers = [() => undefined, () => 'web', () => [5], () => Promise.reject(new Error('x'))];
    for (const answer of answers) {
      const resource = defineResource<ConfigMap>()({
        ...ConfigMaps,
        indexers: { rubbish: answer as never },
      });
      const { clock, server, informer } = setUp({ ...options, resource: resource as never });
      void informer.run();
      await clock.settle();
      server.put('a');
      await clock.settle();
      expect(informer.status()).toMatchObject({ objects: 1, notIndexed: 1 });
      expect(reported.splice(0)).toMatchObject([{ error: { code: 'INVALID_ARGUMENT' } }]);
      await informer.stop();
    }
  });
});

async function* gone(): AsyncGenerator<Uint8Array> {
  const status = { kind: 'Status', apiVersion: 'v1', code: 410, reason: 'Expired', message: 'old' };
  yield new TextEncoder().encode(JSON.stringify(status));
}

// In a large cache a failed function was called again for a hundred thousand objects in one turn.
test('failed index functions are retried for a thousand objects at once', async () => {
  const { clock, server, failing, calls, notIndexed, found } = await running();
  for (let i = 0; i < 2_500; i++) {
    failing.add(`n${i}`);
    server.put(`n${i}`, { labels: { site: 'web' } });
  }
  await clock.settle();
  expect(notIndexed()).toBe(2_500);
  failing.clear();
  await clock.run(60_000);
  const left: number[] = [];
  for (let i = 0; i < 3; i++) {
    const before = calls();
    server.put('other');
    await clock.run(100);
    expect(calls() - before).toBeLessThan(1_010);
    left.push(notIndexed());
  }
  expect(left).toEqual([1_500, 500, 0]);
  expect(found('web')).toHaveLength(2_500);
});

test('a handler that throws or rejects is counted, in the status and the metrics', async () => {
  const metricsProvider = new InformerPrometheusProvider();
  const { clock, server, informer } = setUp({ name: 'mine', metricsProvider });
  const told: string[] = [];
  informer.addEventHandler(
    {
      onAdd({ metadata }) {
        if (metadata.name === 'a') throw new Error('thrown');
      },
      onUpdate: () => Promise.reject(new Error('rejected')) as unknown as undefined,
    },
    { name: 'fails' },
  );
  informer.addEventHandler({ onAdd: ({ metadata }) => void told.push(metadata.name) });
  void informer.run();
  await clock.settle();
  for (const name of ['a', 'b', 'b']) server.put(name);
  await clock.settle();
  expect(told).toEqual(['a', 'b']);
  expect(informer.status().handlers.map(({ name, failed }) => [name, failed])).toEqual([
    ['fails', 2],
    ['handler-1', 0],
  ]);
  const lines = metricsProvider.text().split('\n');
  expect(lines.filter((line) => line.includes('handler_failures_total{'))).toEqual([
    expect.stringMatching(/handler="fails"} 2$/),
    expect.stringMatching(/handler="handler-1"} 0$/),
  ]);
  expect(reported.map(({ what }) => what)).toEqual(['informer handler', 'informer handler']);
  await informer.stop();
});
