/** The option `ranges` of an informer: what it drops, counts, gives to handlers and refuses. */
import { fnv1a64, type HashRange, ListWatch, SharedIndexInformer } from 'capstan/cache';
import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../../bindings/base/clock.ts';
import { Coverage } from '../../../bindings/cache/reflector/coverage.ts';
import { HashRanges } from '../../../bindings/cache/rest/hash-ranges.ts';
import { LiveServer } from '../../helpers/cache/live-server.ts';
import { setUp, teller } from '../../helpers/cache/recording-handlers.ts';
import { type ShardGate, ShardingTransport } from '../../helpers/cache/sharding-transport.ts';
import { expectError } from '../../helpers/expect-error.ts';
import { collectErrors } from '../../helpers/reported-errors.ts';
import { type ConfigMap, ConfigMaps, Namespaces } from '../../helpers/resources.ts';

const reported = collectErrors();
const ALL: HashRange[] = [{ from: 0n, to: 2n ** 64n }];
const only = (text: string): HashRange[] => [{ from: fnv1a64(text), to: fnv1a64(text) + 1n }];

/** An event of a namespace, which the server sends as it is. */
const event = (type: string, namespace: string, resourceVersion: number, more = ''): string =>
  `{"type":"${type}","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":` +
  `{"name":"n${resourceVersion}","namespace":"${namespace}",` +
  `"resourceVersion":"${resourceVersion}"${more}}}}\n`;

describe('an informer with ranges', () => {
  test.each([{}, { keep: 'objects' as const }, { drop: ['data'] }])(
    'drops and counts objects outside, and goes on from their version (%j)',
    async (options) => {
      const { clock, server, informer } = setUp({ ranges: only('ours'), ...options });
      const told: string[] = [];
      informer.addEventHandler(teller(told));
      server.put('outside');
      const running = informer.run();
      await clock.settle();
      server.send(event('ADDED', 'theirs', 1) + event('ADDED', 'ours', 2));
      server.send(event('DELETED', 'theirs', 3) + event('MODIFIED', 'theirs', 4));
      // An escape in the text, which only the host can hash: "\u006f" is an o.
      server.send(event('ADDED', '\\u006furs', 5) + event('ADDED', '\\u0074heirs', 6));
      await clock.settle();
      expect(told).toEqual(['n2', 'n5']);
      expect(informer.getIndexer().listKeys().sort()).toEqual(['ours/n2', 'ours/n5']);
      expect(informer.lastSyncResourceVersion()).toBe('6');
      expect(informer.status()).toMatchObject({ outsideOfRanges: 5, leftOutBy: 'client' });
      await informer.stop();
      await running;
    },
  );

  test('splits a cluster-scoped kind by name, and asks no server to', async () => {
    const clock = new FakeClock();
    const server = new LiveServer();
    const informer = new SharedIndexInformer(new ListWatch(server, Namespaces), {
      clock,
      ranges: only('ours'),
    });
    server.intercept = ({ query }) => {
      if (query?.watch === 'true') return undefined;
      const items = ['ours', 'theirs'].map((name) => ({ metadata: { name } }));
      const text = JSON.stringify({ kind: 'NamespaceList', metadata: {}, items });
      const body = (async function* () {
        yield new TextEncoder().encode(text);
      })();
      return { status: 200, headers: new Headers(), body };
    };
    void informer.run();
    await clock.settle();
    expect(informer.getIndexer().listKeys()).toEqual(['ours']);
    expect(server.requests.map(({ query }) => query?.shardSelector)).toEqual([
      undefined,
      undefined,
    ]);
    await informer.stop();
  });

  test('without ranges it asks for nothing and has synced; with all it has all', async () => {
    const { clock, server, informer } = setUp({ ranges: [] });
    server.put('a');
    void informer.run();
    await clock.settle();
    expect([informer.hasSynced(), informer.hasRanges()]).toEqual([true, true]);
    expect(server.requests).toEqual([]);
    informer.setRanges(ALL);
    expect(informer.hasRanges()).toBe(false);
    await clock.settle();
    expect(informer.hasRanges()).toBe(true);
    expect(informer.getIndexer().listKeys()).toEqual(['default/a']);
    await informer.stop();
  });

  test.each(['on', 'off'] as ShardGate[])(
    'lists new ranges alone, and drops others without a call (gate %s)',
    async (gate) => {
      const clock = new FakeClock();
      const server = new LiveServer();
      const transport = new ShardingTransport(server, gate);
      const ranges = only('default');
      const informer = new SharedIndexInformer(new ListWatch(transport, ConfigMaps), {
        clock,
        random: () => 0,
        ranges: only('other'),
      });
      const told: string[] = [];
      informer.addEventHandler(teller(told));
      server.put('a');
      void informer.run();
      await clock.settle();
      expect(told).toEqual([]);
      informer.setRanges([...ranges, ...only('other')]);
      await clock.settle();
      expect(told).toEqual(['+a']);
      const [list] = transport.requests.slice(-2).map(({ query }) => query);
      expect(list?.shardSelector).toBe(HashRanges.of('ranges', ranges, ConfigMaps).selector());
      informer.setRanges(only('other'));
      await clock.settle();
      expect(informer.getIndexer().listKeys()).toEqual([]);
      expect(told).toEqual(['+a']);
      server.put('b');
      await clock.settle();
      expect(told).toEqual(['+a']);
      expect(informer.status().leftOutBy).toBe(gate === 'on' ? 'server' : 'client');
      await informer.stop();
    },
  );

  test('a server that refuses the selector is asked without it; one report', async () => {
    const clock = new FakeClock();
    const transport = new ShardingTransport(new LiveServer(), 'refuses');
    const informer = new SharedIndexInformer(new ListWatch(transport, ConfigMaps), {
      clock,
      random: () => 0,
      ranges: only('ours'),
    });
    void informer.run();
    await clock.settle();
    const asked = transport.requests.map(({ query }) => query?.shardSelector !== undefined);
    expect(asked).toEqual([true, false, false]); // the list twice, and the watch
    expect(informer.status().failures.server).toBe(0);
    expect(reported.map(({ error }) => (error as { code?: string }).code)).toEqual([
      'SHARD_SELECTOR',
    ]);
    await informer.stop();
  });

  test('a failed list of new ranges leaves the others as they are, and is repeated', async () => {
    const { clock, server, informer } = setUp({
      ranges: only('ours'),
      watchErrorHandler: () => undefined,
    });
    server.put('a');
    void informer.run();
    await clock.settle();
    let refused = 0;
    server.intercept = ({ query }) => {
      if (query?.watch === 'true' || ++refused > 2) return undefined;
      return { status: 403, headers: new Headers(), body: (async function* () {})() };
    };
    informer.setRanges([...only('ours'), ...only('default')]);
    await clock.settle();
    server.send(event('ADDED', 'ours', 1));
    await clock.settle();
    expect(informer.getIndexer().listKeys()).toEqual(['ours/n1']);
    expect(informer.hasRanges()).toBe(false);
    await clock.run(10_000);
    expect(informer.getIndexer().listKeys().sort()).toEqual(['default/a', 'ours/n1']);
    expect(informer.hasRanges()).toBe(true);
    await informer.stop();
    expect(clock.timers()).toBe(0);
  });

  test('gives no deletion for a write of its own outside of its new ranges', async () => {
    const { clock, server, informer } = setUp({ ranges: ALL });
    const told: string[] = [];
    informer.addEventHandler(teller(told));
    void informer.run();
    await clock.settle();
    const written = (namespace: string): ConfigMap => ({
      metadata: { name: 'w', namespace, resourceVersion: '1' },
    });
    informer.wrote(written('ours'));
    informer.wrote(written('theirs'));
    informer.setRanges(only('ours'));
    await clock.settle();
    server.put('later');
    server.intercept = ({ query }) =>
      query?.watch === 'true' && query.resourceVersion === '0'
        ? { status: 410, headers: new Headers(), body: (async function* () {})() }
        : undefined;
    server.closeWatches();
    await clock.run(5000);
    expect(told.filter((word) => word.includes('theirs'))).toEqual([]);
    await informer.stop();
  });

  test('refuses a tweak that selects shards as well, and other misuse', async () => {
    const server = new LiveServer();
    const tweak = (query: Record<string, string>): void => {
      query.shardSelector = "shardRange(object.metadata.uid,'0x0000000000000000','0x1')";
    };
    const ranges = only('ours');
    const clock = new FakeClock();
    const of = (options: object, resource = ConfigMaps, lists: object = {}) =>
      new SharedIndexInformer(new ListWatch(server, resource, lists), { clock, ...options });
    expectError(() => of({ ranges }, ConfigMaps, { tweak }), 'SHARD_SELECTOR');
    expectError(() => of({ ranges, fifo: 'delta' }), 'INVALID_ARGUMENT');
    expectError(() => of({ ranges: [{ from: 2n, to: 1n }] }), 'INVALID_ARGUMENT');
    expectError(() => of({}).setRanges(ranges), 'INVALID_ARGUMENT');
    expectError(() => of({ ranges }).setRanges([{ from: 0, to: 1 }] as never), 'INVALID_ARGUMENT');

    // One that begins later is found at the request.
    let late = false;
    const informer = of({ ranges, watchErrorHandler: () => undefined }, ConfigMaps, {
      tweak: (query: Record<string, string>) => {
        if (late) tweak(query);
      },
    });
    late = true;
    void informer.run();
    await clock.settle();
    expect(informer.status().lastFailure?.error).toMatchObject({ code: 'SHARD_SELECTOR' });
    expect(server.requests).toEqual([]);
    await informer.stop();
  });
});

test('a relist after new ranges asks for no version older than that of the store', () => {
  const of = (text: string) => HashRanges.of('ranges', only(text), ConfigMaps);
  const coverage = new Coverage(of('a'), () => undefined);
  coverage.beginList('all');
  coverage.listedAll([]);
  coverage.endList();
  coverage.want(of('a').union(of('b')));
  coverage.beginList('missing');
  coverage.listedMissing([], '20');
  coverage.endList();
  expect([coverage.newest('9'), coverage.newest('21')]).toEqual(['20', '21']);
});
