import { Indexer, ListWatch, Reflector, TransportError } from 'capstan/cache';
import { describe, expect, test } from 'vitest';
import { Backoff } from '../../../bindings/base/backoff.ts';
import { FakeClock } from '../../../bindings/base/clock.ts';
import { answer, LiveServer, statusBody } from '../../helpers/cache/live-server.ts';
import {
  bookmark,
  configMapAt,
  event,
  listBody,
  Replies,
  type Reply,
  stream,
} from '../../helpers/cache/scripted-server.ts';
import { collectErrorValues } from '../../helpers/reported-errors.ts';
import { type ConfigMap, ConfigMaps } from '../../helpers/resources.ts';
import { reflect } from './run-reflector.ts';

const added = (name: string): string => event('ADDED', configMapAt(name, '2'));

const reported = collectErrorValues();

function setUp(options: { random?: () => number; watchList?: boolean } = {}) {
  const clock = new FakeClock();
  const server = new LiveServer();
  const store = new Indexer<ConfigMap>();
  const errors: unknown[] = [];
  const reflector = new Reflector(new ListWatch(server, ConfigMaps), store, {
    clock,
    random: options.random ?? (() => 0),
    watchList: options.watchList,
    watchErrorHandler: (error) => errors.push(error),
  });
  const stop = new AbortController();
  const start = (): Promise<void> => reflector.run({ signal: stop.signal });
  return { clock, server, store, reflector, errors, stop, start };
}

describe('the back-off', () => {
  test('doubles from 0.8 s to 30 s, jittered up to twice as long', () => {
    const clock = new FakeClock();
    const least = new Backoff(clock, () => 0);
    expect([1, 2, 3, 4, 5, 6, 7, 8].map(() => least.next())).toEqual([
      800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000,
    ]);
    const most = new Backoff(clock, () => 0.5);
    expect([1, 2].map(() => most.next())).toEqual([1200, 2400]);
  });

  test('is reset two minutes after its last delay ended', () => {
    const clock = new FakeClock();
    const backoff = new Backoff(clock, () => 0);
    for (let i = 0; i < 10; i++) backoff.next();
    clock.step(30_000 + 120_000);
    expect(backoff.next()).toBe(30_000);
    clock.step(30_000 + 120_001);
    expect(backoff.next()).toBe(800);
  });
});

describe('a reflector', () => {
  test('never gives up, and catches up when the server comes back after hours', async () => {
    const { clock, server, store, stop, start } = setUp();
    server.put('a');
    let kind = 0;
    server.intercept = () => {
      switch (kind++ % 5) {
        case 0:
          throw new TransportError('refused', 'refused');
        case 1:
          return answer(500, statusBody(500, 'InternalError'));
        case 2:
          return answer(403, statusBody(403, 'Forbidden'));
        case 3:
          return answer(200, 'garbage');
        default:
          throw new Error('a transport that throws something else');
      }
    };
    const running = start();
    await clock.run(6 * 3600_000);
    expect(server.requests.length).toBeGreaterThan(6 * 60);
    server.intercept = undefined;
    await clock.run(60_000);
    expect(store.listKeys()).toEqual(['default/a']);
    stop.abort();
    await running;
    expect(clock.timers()).toBe(0);
  });

  test('asks for bookmarks, identity encoding, and a random time of 300 to 600 s', async () => {
    const randoms = [0, 0.5, 0.999];
    const { clock, server, stop, start } = setUp({ random: () => randoms.shift() ?? 0 });
    const running = start();
    for (let i = 0; i < 3; i++) {
      await clock.settle();
      server.put(`a${i}`);
      await clock.settle();
      server.closeWatches();
    }
    await clock.settle();
    const watches = server.requests.filter(({ query }) => query?.watch === 'true').slice(0, 3);
    expect(watches.map(({ query }) => query?.timeoutSeconds)).toEqual(['300', '450', '599']);
    for (const { query, headers } of watches) {
      expect(query?.allowWatchBookmarks).toBe('true');
      expect(headers).toMatchObject({ 'accept-encoding': 'identity' });
    }
    stop.abort();
    await running;
  });

  test('closes a watch that the server does not end, and opens it again', async () => {
    const { clock, server, store, stop, start } = setUp();
    const running = start();
    await clock.settle();
    const dead = [...server.watches];
    server.watches.clear(); // half-open: nothing arrives any more, not even the end
    server.put('a');
    await clock.run(300_000 + 29_000);
    expect(store.list()).toEqual([]);
    await clock.run(1000);
    expect(server.requests.at(-1)?.query).toMatchObject({ watch: 'true', resourceVersion: '0' });
    expect(dead.length).toBe(1);
    stop.abort();
    await running;
  });

  test.each<[string, string]>([
    [
      'an event whose object has no name',
      '{"type":"ADDED","object":{"apiVersion":"v1","kind":"ConfigMap","metadata":{}}}\n',
    ],
    ['an event type that nobody knows', '{"type":"RENAMED","object":{"metadata":{"name":"a"}}}\n'],
    ['bytes that are no JSON', '<html>\n'],
  ])('relists after %s, and loses no event', async (_, text) => {
    const { clock, server, store, errors, stop, start } = setUp();
    server.put('a');
    const running = start();
    await clock.settle();
    server.send(text);
    server.watches.clear();
    server.put('b');
    await clock.run(800);
    expect(store.listKeys().sort()).toEqual(['default/a', 'default/b']);
    expect(errors).toEqual([expect.objectContaining({ code: 'DECODE' })]);
    stop.abort();
    await running;
  });

  test('relists after a list item without a name', async () => {
    const { clock, server, errors, stop, start } = setUp();
    server.intercept = (_, n) =>
      n === 1 ? answer(200, '{"metadata":{"resourceVersion":"1"},"items":[null]}') : undefined;
    const running = start();
    await clock.run(800);
    expect(errors).toEqual([expect.objectContaining({ code: 'DECODE' })]);
    expect(server.requests.length).toBe(3);
    stop.abort();
    await running;
  });

  test('skips, counts and reports an object of another kind', async () => {
    const { clock, server, store, reflector, stop, start } = setUp();
    const running = start();
    await clock.settle();
    server.send(
      '{"type":"ADDED","object":{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","resourceVersion":"9"}}}\n',
    );
    await clock.settle();
    expect(reflector.skippedEvents()).toBe(1);
    expect(reflector.lastSyncResourceVersion()).toBe('0');
    expect(store.list()).toEqual([]);
    expect(reported).toEqual([
      expect.objectContaining({ code: 'DECODE', message: expect.stringContaining('v1 Secret') }),
    ]);
    stop.abort();
    await running;
  });

  test('stops at once in every state, without a timer left', async () => {
    const busy = () => answer(429, statusBody(429, 'TooManyRequests'), { 'retry-after': '3600' });
    let watchList = false;
    const phases: [string, LiveServer['intercept']][] = [
      ['a list without answer', () => new Promise(() => undefined)],
      ['a wait for Retry-After', busy],
      ['a back-off before a list', () => answer(500, statusBody(500, 'InternalError'))],
      [
        'a back-off before a watch',
        (_, n) => (n > 1 ? answer(429, statusBody(429, 'TooManyRequests')) : undefined),
      ],
      ['a watch without answer', (_, n) => (n > 1 ? new Promise(() => undefined) : undefined)],
      ['a quiet watch', undefined],
      ['initial objects without an end', ({ signal }) => stream([added('a')], 'hold', signal)],
    ];
    for (const [phase, intercept] of phases.flatMap((one) => [one, one])) {
      watchList = !watchList;
      const { clock, server, errors, stop, start } = setUp({ watchList });
      server.intercept = intercept;
      const running = start();
      await clock.run(100);
      const before = [...errors];
      stop.abort();
      await running;
      expect(errors, phase).toEqual(before);
      expect(clock.timers(), phase).toBe(0);
      const requests = server.requests.length;
      await clock.run(3600_000);
      expect(server.requests.length, phase).toBe(requests);
    }
  });

  test('waits for a store that is behind without losing the watch', async () => {
    // A reflector that waits for queued deltas waits for a consumer, which may never end.
    const { clock, server, store, stop, start } = setUp();
    let caughtUp = (): void => undefined;
    const behind = (): Promise<void> | undefined =>
      store.size() % 2 === 0 ? undefined : new Promise((resolve) => (caughtUp = resolve));
    Object.assign(store, { behind });
    const running = start();
    await clock.settle();
    server.put('a');
    await clock.settle();
    server.put('b');
    server.put('c');
    await clock.run(200_000); // longer than a server may be silent
    expect(store.listKeys()).toEqual(['default/a']);
    caughtUp();
    await clock.settle();
    expect(store.size()).toBe(3);
    expect(server.requests.length).toBe(2);
    stop.abort();
    await running;
    expect(clock.timers()).toBe(0);
  });

  describe('and its store:', () => {
    /** A store with the required methods only. Each object takes longer than a time slice. */
    function plain(clock: FakeClock, onAdd: (name: string) => void = () => undefined) {
      const seen: string[] = [];
      const note =
        (what: string) =>
        ({ metadata: { name } }: ConfigMap): void => {
          clock.step(5);
          seen.push(`${what} ${name}`);
          if (what === 'add') onAdd(name);
        };
      const replace = (list: readonly ConfigMap[]): void =>
        void seen.push(`replace ${list.length}`);
      return { seen, add: note('add'), update: note('update'), delete: note('delete'), replace };
    }

    // A resyncPeriod that threw in the timer ended the process.
    test('a resyncPeriod or shouldResync that throws does not prevent later resyncs', async () => {
      const clock = new FakeClock();
      const store = { ...plain(clock), resync: () => void times.push(clock.now()) };
      const times: number[] = [];
      let fails = false;
      const failing = <V>(value: V) => {
        if (fails) throw new Error('mine');
        return value;
      };
      const { stop } = await reflect(new LiveServer(), {
        clock,
        store: store as never,
        resyncPeriod: () => failing(1000),
        shouldResync: () => failing(true),
      });
      const before = clock.now();
      await clock.run(1000);
      fails = true;
      await clock.run(1000);
      expect(reported.splice(0)).toHaveLength(2);
      fails = false;
      await clock.run(1000);
      expect(times.map((time) => time - before)).toEqual([1000, 3000]);
      await stop();
    });

    test('a resyncPeriod or shouldResync that is async is refused, and reported', async () => {
      // Story: their rejections had no receiver and ended the process.
      const clock = new FakeClock();
      const resyncs: number[] = [];
      const store = { ...plain(clock), resync: () => void resyncs.push(clock.now()) };
      const away = (): never => Promise.reject(new Error('mine')) as never;
      for (const wrong of [
        { resyncPeriod: 1000, shouldResync: away },
        { resyncPeriod: away, shouldResync: () => true },
      ]) {
        const { stop } = await reflect(new LiveServer(), {
          clock,
          store: store as never,
          ...wrong,
        });
        await clock.run(1500);
        expect(reported.splice(0)).toMatchObject([{ code: 'INVALID_ARGUMENT' }]);
        await stop();
      }
      expect(resyncs).toEqual([]);
    });

    test('resync, bookmark and behind are optional', async () => {
      const clock = new FakeClock();
      const store = plain(clock);
      const server = new LiveServer();
      const { failures, stop } = await reflect(server, {
        clock,
        store: store as never,
        resyncPeriod: 1000,
      });
      server.put('a');
      server.put('a');
      server.remove('a');
      server.send(bookmark('7'));
      await clock.run(3000);
      expect([store.seen, failures, reported]).toEqual([
        ['replace 0', 'add a', 'update a', 'delete a'],
        [],
        [],
      ]);
      await stop();
    });

    test('slow events yield to the event loop, and none is applied after the end', async () => {
      const clock = new FakeClock();
      const stop = new AbortController();
      const store = plain(clock, () => setImmediate(() => stop.abort()));
      const server = new Replies(
        () => answer(200, listBody('1', [])),
        ({ signal }) => stream([added('a') + added('b') + added('c')], 'hold', signal),
      );
      await new Reflector(new ListWatch(server, ConfigMaps), store, { clock }).run({
        signal: stop.signal,
      });
      expect(store.seen).toEqual(['replace 0', 'add a']);
    });

    test('an event that it refuses is reported, and the next one is applied', async () => {
      const clock = new FakeClock();
      const store = plain(clock, (name) => {
        if (name === 'a') throw new Error('not a');
      });
      const server = new LiveServer();
      server.put('z');
      const { reflector, failures, stop } = await reflect(server, { clock, store: store as never });
      server.put('a');
      server.put('b');
      await clock.settle();
      expect([store.seen.at(-1), reflector.lastSyncResourceVersion(), failures]).toEqual([
        'add b',
        '3',
        [],
      ]);
      expect(reported).toEqual([expect.objectContaining({ message: 'not a' })]);
      await stop();
    });
  });

  test('is in state waiting also while a failed watch is repeated', async () => {
    const never: Reply = () => new Promise<never>(() => undefined) as never;
    const lists: Reply = () => answer(200, listBody('1', []));
    const { clock, reflector, stop } = await reflect(
      new Replies(lists, () => answer(429, ''), never),
    );
    await clock.run(800);
    expect(reflector.status().state).toBe('waiting');
    await stop();
  });

  test('with an aborted signal sends no request', async () => {
    const { server, stop, start } = setUp();
    stop.abort();
    await start();
    expect(server.requests).toEqual([]);
  });

  test('refuses to run twice at once, but may run again', async () => {
    const { clock, reflector, stop, start } = setUp();
    const running = start();
    await expect(reflector.run()).rejects.toMatchObject({ code: 'ALREADY_STARTED' });
    stop.abort();
    await running;
    const again = new AbortController();
    const second = reflector.run({ signal: again.signal });
    await clock.settle();
    again.abort();
    await second;
  });

  test('goes on when its error handler throws', async () => {
    const clock = new FakeClock();
    const server = new LiveServer();
    server.intercept = (_, n) =>
      n === 1 ? answer(500, statusBody(500, 'InternalError')) : undefined;
    const store = new Indexer<ConfigMap>();
    const stop = new AbortController();
    const reflector = new Reflector(new ListWatch(server, ConfigMaps), store, {
      clock,
      watchErrorHandler: () => {
        throw new Error('broken handler');
      },
    });
    const running = reflector.run({ signal: stop.signal });
    server.put('a');
    await clock.run(2000);
    expect(store.listKeys()).toEqual(['default/a']);
    expect(reported).toEqual([expect.objectContaining({ message: 'broken handler' })]);
    stop.abort();
    await running;
  });
});

describe('a ListWatch', () => {
  const paths = async (listWatch: ListWatch<ConfigMap>, server: LiveServer) => {
    const caller = { clock: new FakeClock(), signal: new AbortController().signal };
    // The answer is always of v1.
    await listWatch
      .list({ resourceVersion: '', limit: 0, continue: '' }, caller)
      .catch((error) => expect(error).toMatchObject({ code: 'DECODE' }));
    return server.requests.at(-1);
  };

  test('uses the paths of groups, namespaces, and cluster-scoped resources', async () => {
    const server = new LiveServer();
    const of = (group: string, namespaced: boolean) => ({
      ...ConfigMaps,
      group,
      namespaced,
      plural: 'things',
    });
    const path = async (
      ...args: ConstructorParameters<typeof ListWatch<ConfigMap>> extends [unknown, ...infer R]
        ? R
        : never
    ) => (await paths(new ListWatch<ConfigMap>(server, ...args), server))?.path;
    expect(await path(of('', true))).toBe('/api/v1/things');
    expect(await path(of('apps', true), { namespace: 'ns' })).toBe(
      '/apis/apps/v1/namespaces/ns/things',
    );
    expect(await path(of('apps', true), { namespace: 'a b' })).toBe(
      '/apis/apps/v1/namespaces/a%20b/things',
    );
    expect(await path(of('', false), { namespace: '' })).toBe('/api/v1/things');
  });

  test('sends selectors, and requests metadata only with metadataOnly', async () => {
    const server = new LiveServer();
    const options = {
      labelSelector: 'a in (b)',
      fieldSelector: 'metadata.name=x',
      metadataOnly: true,
    };
    const request = await paths(
      new ListWatch<ConfigMap>(server, { ...ConfigMaps }, options),
      server,
    );
    expect(request?.query).toEqual({ labelSelector: 'a in (b)', fieldSelector: 'metadata.name=x' });
    expect(request?.headers?.accept).toBe(
      'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1',
    );
  });

  test('refuses a namespace for a cluster-scoped resource, and invalid arguments', () => {
    const server = new LiveServer();
    const invalid = expect.objectContaining({ code: 'INVALID_ARGUMENT' });
    const nodes = { ...ConfigMaps, namespaced: false };
    expect(() => new ListWatch(server, nodes, { namespace: 'ns' })).toThrow(invalid);
    expect(() => new ListWatch({} as LiveServer, ConfigMaps)).toThrow(invalid);
    expect(() => new ListWatch(server, undefined as unknown as typeof ConfigMaps)).toThrow(invalid);
  });
});
