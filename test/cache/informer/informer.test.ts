import {
  ListWatch,
  metaNamespaceKeyFunc,
  type ResourceEventHandler,
  SharedIndexInformer,
  waitForCacheSync,
} from 'capstan/cache';
import { describe, expect, test } from 'vitest';
import { type Clock, FakeClock, macrotask } from '../../../bindings/base/clock.ts';
import { answer, LiveServer, statusBody } from '../../helpers/cache/live-server.ts';
import { nameOrTombstone, setUp, teller } from '../../helpers/cache/recording-handlers.ts';
import { Random, testSeed } from '../../helpers/random.ts';
import { collectErrors, notExpired } from '../../helpers/reported-errors.ts';
import { type ConfigMap, ConfigMaps } from '../../helpers/resources.ts';

const reported = collectErrors();

/** Each reading of this clock takes a millisecond, so that batches are long on any machine. */
class CostlyClock extends FakeClock {
  override now(): number {
    this.step(1);
    return super.now();
  }
}

describe('handlers', () => {
  test('that throw or reject do not affect others, and lose only that notification', async () => {
    const { clock, server, informer } = setUp();
    const good: string[] = [];
    const throwing: string[] = [];
    const rejecting: string[] = [];
    informer.addEventHandler({
      onAdd(object) {
        throwing.push(nameOrTombstone(object));
        throw new Error('thrown');
      },
    });
    informer.addEventHandler({
      async onAdd(object) {
        rejecting.push(nameOrTombstone(object));
        throw new Error('rejected');
      },
    });
    informer.addEventHandler(teller(good));
    void informer.run();
    server.put('a');
    await clock.settle();
    server.put('b');
    await clock.settle();
    expect(good).toEqual(['+a', 'b']);
    expect(throwing).toEqual(['a', 'b']);
    expect(rejecting).toEqual(['a', 'b']);
    expect(reported.length).toBe(4);
    expect(reported[0]?.what).toBe('informer handler');
    await informer.stop();
  });

  test('that are slow get one notification at a time, and do not delay others', async () => {
    const { clock, server, informer } = setUp();
    const seen: string[] = [];
    const fast: string[] = [];
    const waiting: (() => void)[] = [];
    informer.addEventHandler({
      onAdd(object) {
        seen.push(nameOrTombstone(object));
        return new Promise<void>((resolve) => waiting.push(resolve)) as unknown as undefined;
      },
    });
    informer.addEventHandler(teller(fast));
    void informer.run();
    for (const name of ['a', 'b', 'c']) server.put(name);
    await clock.settle();
    expect(fast).toEqual(['+a', '+b', '+c']);
    expect(seen).toEqual(['a']);
    for (const want of [
      ['a', 'b'],
      ['a', 'b', 'c'],
      ['a', 'b', 'c'],
    ]) {
      waiting.shift()?.();
      await clock.settle();
      expect(seen).toEqual(want);
    }
    await informer.stop();
  });

  test('see the store after the change that they are notified of', async () => {
    const { clock, server, informer } = setUp();
    const store = informer.getIndexer();
    const values: (string[] | boolean)[] = [];
    informer.addEventHandler({
      onAdd: () => void values.push(store.indexKeys('byValue', 'one')),
      onUpdate: () => void values.push(store.indexKeys('byValue', 'two')),
      onDelete: (object) =>
        void values.push(store.getByKey(metaNamespaceKeyFunc(object)) === undefined),
    });
    void informer.run();
    await clock.settle();
    server.put('a', { data: { v: 'one' } });
    await clock.settle();
    server.put('a', { data: { v: 'two' } });
    await clock.settle();
    server.remove('a');
    await clock.settle();
    expect(values).toEqual([['default/a'], ['default/a'], true]);
    await informer.stop();
  });

  test('are called as methods of their object', async () => {
    class Counter {
      #count = 0;
      onAdd(): void {
        this.#count++;
      }
      count(): number {
        return this.#count;
      }
    }
    const { clock, server, informer } = setUp();
    const counter = new Counter();
    informer.addEventHandler(counter);
    void informer.run();
    server.put('a');
    await clock.settle();
    expect(counter.count()).toBe(1);
    expect(reported).toEqual([]);
    await informer.stop();
  });

  test('get nothing more once they are removed, not even waiting notifications', async () => {
    const { clock, server, informer } = setUp();
    const seen: string[] = [];
    const registration = informer.addEventHandler({
      onAdd(object) {
        seen.push(nameOrTombstone(object));
        informer.removeEventHandler(registration);
      },
    });
    void informer.run();
    for (const name of ['a', 'b', 'c']) server.put(name);
    await clock.settle();
    server.put('d');
    await clock.settle();
    expect(seen).toEqual(['a']);
    informer.removeEventHandler(registration);
    setUp().informer.removeEventHandler(registration);
    await informer.stop();
  });

  test('may be one object added twice, with two registrations', async () => {
    const { clock, server, informer } = setUp();
    const seen: string[] = [];
    const handler = teller(seen);
    const first = informer.addEventHandler(handler);
    informer.addEventHandler(handler);
    void informer.run();
    server.put('a');
    await clock.settle();
    informer.removeEventHandler(first);
    server.put('b');
    await clock.settle();
    expect(seen).toEqual(['+a', '+a', 'b']);
    await informer.stop();
  });

  test('get the changed parts of an update', async () => {
    const { clock, server, informer } = setUp();
    const changes: boolean[][] = [];
    informer.addEventHandler({
      onUpdate: (_old, _now, change) => void changes.push([change.spec, change.labels]),
    });
    void informer.run();
    server.put('a', { spec: { x: 1 } });
    await clock.settle();
    server.put('a', { spec: { x: 1 } });
    server.put('a', { spec: { x: 2 } });
    server.put('a', { spec: { x: 2 }, labels: { l: '1' } });
    await clock.settle();
    expect(changes).toEqual([
      [false, false],
      [true, false],
      [false, true],
    ]);
    await informer.stop();
  });

  test('added at any moment get the cached objects, then every later delta once', async () => {
    const seed = testSeed();
    console.log(`late handlers: CAPSTAN_SEED=${seed}`);
    const random = new Random(seed);
    const { clock, server, informer } = setUp();
    const copies: { objects: Map<string, string | undefined>; initial: boolean; size: number }[] =
      [];
    const addHandler = (): void => {
      const objects = new Map<string, string | undefined>();
      const copy = { objects, initial: true, size: informer.getIndexer().list().length };
      copies.push(copy);
      informer.addEventHandler({
        onAdd(object, isInInitialList) {
          if (!isInInitialList) copy.initial = false;
          expect(isInInitialList).toBe(copy.initial);
          expect(objects.has(object.metadata.name)).toBe(false);
          objects.set(object.metadata.name, object.metadata.resourceVersion);
        },
        onUpdate(old, now) {
          copy.initial = false;
          expect(objects.get(now.metadata.name)).toBe(old.metadata.resourceVersion);
          objects.set(now.metadata.name, now.metadata.resourceVersion);
        },
        onDelete(object) {
          copy.initial = false;
          const name = 'key' in object ? object.key.slice('default/'.length) : object.metadata.name;
          expect(objects.delete(name)).toBe(true);
        },
      });
    };
    void informer.run();
    await clock.settle();
    for (let round = 0; round < 400; round++) {
      const names = server.names();
      if (names.length > 0 && random.chance(0.3)) server.remove(random.pick(names));
      else server.put(`o${random.int(30)}`);
      if (random.chance(0.1)) addHandler();
      if (random.chance(0.1)) await Promise.resolve();
      if (random.chance(0.1)) await clock.settle();
      if (random.chance(0.02)) {
        server.closeWatches(); // what happens until the next watch is only in the next list
        server.intercept = (_, n) => {
          server.intercept = undefined;
          return n > 0 ? answer(410, statusBody(410, 'Expired')) : undefined;
        };
        await clock.run(70_000);
      }
    }
    await clock.run(70_000);
    expect(notExpired(reported)).toEqual([]);
    const content = new Map(
      informer
        .getIndexer()
        .list()
        .map(({ metadata }) => [metadata.name, metadata.resourceVersion]),
    );
    expect([...content.keys()].sort()).toEqual(server.names().sort());
    expect(copies.length).toBeGreaterThan(10);
    for (const { objects } of copies) expect(objects).toEqual(content);
    await informer.stop();
  });

  test('that are invalid are refused', async () => {
    const { informer } = setUp();
    const invalid = expect.objectContaining({ code: 'INVALID_ARGUMENT' });
    for (const bad of [undefined, null, 7, { onAdd: 7 }]) {
      expect(() => informer.addEventHandler(bad as ResourceEventHandler<ConfigMap>)).toThrow(
        invalid,
      );
    }
    expect(() => informer.addEventHandler({}, { resyncPeriod: Number.NaN })).toThrow(invalid);
    const source = new ListWatch(new LiveServer(), ConfigMaps);
    expect(() => new SharedIndexInformer(source, { backoff: null as never })).toThrow(invalid);
    expect(() => informer.removeEventHandler({} as never)).toThrow(invalid);
  });
});

describe('hasSynced', () => {
  test('is true with the first list; of a handler, once it has got all of it', async () => {
    const { clock, server, informer } = setUp();
    const waiting: (() => void)[] = [];
    const slow = informer.addEventHandler({
      onAdd: () => new Promise<void>((resolve) => waiting.push(resolve)) as unknown as undefined,
    });
    const fast = informer.addEventHandler({});
    server.put('a');
    server.put('b');
    const states = () => [informer.hasSynced(), fast.hasSynced(), slow.hasSynced()];
    expect(states()).toEqual([false, false, false]);
    void informer.run();
    await clock.settle();
    expect(states()).toEqual([true, true, false]);
    const late = informer.addEventHandler({});
    expect(late.hasSynced()).toBe(false);
    await clock.settle();
    expect(late.hasSynced()).toBe(true);
    waiting.shift()?.();
    await clock.settle();
    expect(slow.hasSynced()).toBe(false);
    waiting.shift()?.();
    await clock.settle();
    expect(slow.hasSynced()).toBe(true);
    await informer.stop();
    expect(states()).toEqual([true, true, true]);
  });

  test('is true also for an empty list, and with a handler that always throws', async () => {
    const { clock, server, informer } = setUp();
    const throwing = informer.addEventHandler({
      onAdd: () => {
        throw new Error('no');
      },
    });
    const empty = setUp();
    const registration = empty.informer.addEventHandler({});
    server.put('a');
    void informer.run();
    void empty.informer.run();
    await clock.settle();
    await empty.clock.settle();
    expect(throwing.hasSynced()).toBe(true);
    expect(registration.hasSynced()).toBe(true);
    await informer.stop();
    await empty.informer.stop();
  });

  test('stays false while lists fail', async () => {
    const { clock, server, informer } = setUp();
    server.intercept = () => answer(500, statusBody(500, 'InternalError'));
    void informer.run();
    await clock.run(100_000);
    expect(informer.hasSynced()).toBe(false);
    await informer.stop();
  });
});

describe('waitForCacheSync', () => {
  test('resolves with true as soon as all have synced, without time passing', async () => {
    const { server, informer } = setUp();
    const registration = informer.addEventHandler({});
    server.put('a');
    const synced = waitForCacheSync({}, informer, registration);
    void informer.run();
    expect(await synced).toBe(true);
    expect(await waitForCacheSync({})).toBe(true);
    await informer.stop();
  });

  test('resolves with false when the signal fires first, or has fired', async () => {
    const { informer } = setUp();
    const stop = new AbortController();
    const waiting = waitForCacheSync({ signal: stop.signal }, informer);
    stop.abort();
    expect(await waiting).toBe(false);
    expect(await waitForCacheSync({ signal: AbortSignal.abort() }, informer)).toBe(false);
  });

  test('a result that is neither true nor false is refused', async () => {
    for (const result of [Promise.resolve(false), Promise.reject(new Error('late')), 1, undefined])
      await expect(
        waitForCacheSync({}, { hasSynced: () => result as never }),
      ).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
        message: expect.stringContaining('"hasSynced()" expected true or false'),
      });
  });

  test('polls other objects every 100 ms', async () => {
    const clock = new FakeClock();
    let asked = 0;
    const other = { hasSynced: () => ++asked > 3 };
    const waiting = waitForCacheSync({ clock }, other);
    await clock.run(1000);
    expect(await waiting).toBe(true);
    expect(asked).toBe(4);
    await expect(waitForCacheSync({}, {} as typeof other)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });
});

describe('an informer', () => {
  test('has the namespace index and those of its resource', async () => {
    const { clock, server, informer } = setUp();
    server.put('a', { data: { v: 'x' } });
    void informer.run();
    await clock.settle();
    expect(informer.getIndexer().indexKeys('namespace', 'default')).toEqual(['default/a']);
    expect(informer.getIndexer().indexKeys('byValue', 'x')).toEqual(['default/a']);
    informer.getIndexer().addIndexers({ byName: 'metadata.name' });
    server.put('b');
    await clock.settle();
    expect(informer.getIndexer().listIndexFuncValues('byName').sort()).toEqual(['a', 'b']);
    await informer.stop();
  });

  test('keeps an object whose index function throws, and reports the error', async () => {
    const bad = (object: ConfigMap): string[] => {
      if (object.metadata.name === 'bad') throw new Error('index function');
      return ['x'];
    };
    const { clock, server, informer } = setUp({
      resource: { ...ConfigMaps, indexers: { byValue: bad } } as never,
    });
    server.put('bad');
    server.put('good');
    void informer.run();
    await clock.settle();
    expect(informer.hasSynced()).toBe(true);
    expect(informer.getIndexer().listKeys().sort()).toEqual(['default/bad', 'default/good']);
    expect(informer.getIndexer().indexKeys('byValue', 'x')).toEqual(['default/good']);
    expect(reported).toEqual([
      {
        error: expect.objectContaining({ message: 'index function' }),
        what: 'index function "byValue" on default/bad: it is asked again',
      },
    ]);
    await informer.stop();
  });

  test('runs once', async () => {
    const { informer } = setUp();
    const running = informer.run();
    await expect(informer.run()).rejects.toMatchObject({ code: 'ALREADY_STARTED' });
    await informer.stop();
    await running;
    await expect(informer.run()).rejects.toMatchObject({ code: 'ALREADY_STARTED' });
    expect(() => informer.addEventHandler({})).toThrow(
      expect.objectContaining({ code: 'STOPPED' }),
    );
  });

  test('may be stopped before it runs, and repeatedly', async () => {
    const { server, informer } = setUp();
    expect(informer.isStopped()).toBe(false);
    await informer.stop();
    await informer.stop();
    expect(informer.isStopped()).toBe(true);
    await informer.run();
    expect(server.requests).toEqual([]);
  });

  test('ends with its signal, at any moment, and does not notify handlers after that', async () => {
    for (let turns = 0; turns < 8; turns++) {
      const { clock, server, informer } = setUp();
      const stop = new AbortController();
      let stopped = false;
      informer.addEventHandler({ onAdd: () => expect(stopped).toBe(false) });
      for (let i = 0; i < 50; i++) server.put(`o${i}`);
      const running = informer.run({ signal: stop.signal });
      for (let i = 0; i < turns; i++) await Promise.resolve();
      stop.abort();
      await running;
      stopped = true;
      expect(informer.isStopped()).toBe(true);
      await clock.settle();
      expect(clock.timers()).toBe(0);
    }
    expect(reported).toEqual([]);
  });

  test('may be stopped by one of its handlers', async () => {
    const { server, informer } = setUp();
    const ended: string[] = [];
    informer.addEventHandler({
      onAdd: async () => {
        await informer.stop();
        ended.push('stop');
      },
    });
    server.put('a');
    await informer.run();
    await macrotask();
    expect(ended).toEqual(['stop']);
  });

  test('is stopped at the end of an await using block', async () => {
    const { server, informer } = setUp();
    {
      await using used = informer;
      void used.run();
      await macrotask();
    }
    expect(informer.isStopped()).toBe(true);
    expect(server.requests.length).toBe(2);
  });

  test('processes deltas that come while it yields to the event loop', async () => {
    const event = (name: string): string => {
      const metadata = { namespace: 'default', name, resourceVersion: '1' };
      const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata };
      return `${JSON.stringify({ type: 'ADDED', object })}\n`;
    };
    for (let batch = 1; batch <= 6; batch++) {
      for (let turns = 0; turns < 4; turns++) {
        const { server, informer } = setUp({ clock: new CostlyClock() });
        void informer.run();
        while (server.watches.size === 0) await macrotask();
        server.send(Array.from({ length: batch }, (_, i) => event(`o${i}`)).join(''));
        for (let i = 0; i < turns; i++) await macrotask();
        server.send(event('last'));
        for (let i = 0; i < 20; i++) await macrotask();
        expect(informer.getIndexer().list().length, `${batch} events, ${turns} turns`).toBe(
          batch + 1,
        );
        await informer.stop();
      }
    }
  });

  test('yields to timers and I/O in the middle of a long batch', async () => {
    const { server, informer } = setUp({ clock: new CostlyClock() });
    let told = 0;
    const N = 1000;
    const all = new Promise<void>((resolve) => {
      informer.addEventHandler({ onAdd: () => void (++told === N && resolve()) });
    });
    let turns = 0;
    let counting = true;
    const count = (): void => {
      turns++;
      if (counting) setImmediate(count);
    };
    for (let i = 0; i < N; i++) server.put(`o${i}`);
    void informer.run();
    count();
    await all;
    counting = false;
    expect(turns).toBeGreaterThan(N / 10);
    await informer.stop();
  });

  test('resyncs a handler no more often than once a second', async () => {
    const { clock, server, informer } = setUp({ resyncPeriod: 10 });
    const seen: string[] = [];
    informer.addEventHandler(teller(seen), { resyncPeriod: 1 });
    server.put('a');
    void informer.run();
    await clock.run(3500);
    expect(seen).toEqual(['+a', '~a', '~a', '~a']);
    await informer.stop();
    expect(clock.timers()).toBe(0);
  });

  test('refuses a value that is not a ListWatch, and invalid options', () => {
    const invalid = expect.objectContaining({ code: 'INVALID_ARGUMENT' });
    const listWatch = new ListWatch(new LiveServer(), ConfigMaps);
    expect(() => new SharedIndexInformer({} as typeof listWatch)).toThrow(invalid);
    expect(() => new SharedIndexInformer(listWatch, { resyncPeriod: Number.NaN })).toThrow(invalid);
    expect(
      () => new SharedIndexInformer(listWatch, { random: 7 as unknown as () => number }),
    ).toThrow(invalid);
    // Only informers did not check their clock: an invalid one was a TypeError of `run`.
    expect(() => new SharedIndexInformer(listWatch, { clock: { now: () => 0 } as Clock })).toThrow(
      invalid,
    );
  });

  test('refuses unknown options with a message', () => {
    const invalid = expect.objectContaining({ code: 'INVALID_ARGUMENT' });
    const listWatch = new ListWatch(new LiveServer(), ConfigMaps);
    expect(() => new SharedIndexInformer(listWatch, { fifo: 'fast' as 'real' })).toThrow(invalid);
    expect(new SharedIndexInformer(listWatch, { watchList: false, fifo: 'real' }).hasSynced()).toBe(
      false,
    );
  });
});

describe('events', () => {
  test('begin with the cached objects, and end when the informer is stopped', async () => {
    const { clock, server, informer } = setUp();
    server.put('a', { data: { v: '1' } });
    void informer.run();
    await clock.settle();
    const seen: string[] = [];
    const loop = (async () => {
      for await (const { type, object, old } of informer.events()) {
        seen.push(
          `${type} ${object.metadata.name} ` +
            `${object.data?.v}${old === undefined ? '' : ` was ${old.data?.v}`}`,
        );
      }
    })();
    await clock.settle();
    server.put('a', { data: { v: '2' } });
    server.remove('a');
    await clock.settle();
    expect(seen).toEqual(['add a 1', 'update a 2 was 1', 'delete a 2']);
    await informer.stop();
    await loop;
    for await (const _ of informer.events()) throw new Error('nothing comes of a stopped informer');
  });

  test('give the last known object for a missed deletion', async () => {
    const { clock, server, informer } = setUp();
    server.put('a', { data: { v: '1' } });
    const events = informer.events()[Symbol.asyncIterator]();
    void informer.run();
    await events.next();
    server.watches.clear();
    server.remove('a');
    // the watch after the silence
    server.intercept = (_, n) => (n === 4 ? answer(410, statusBody(410, 'Expired')) : undefined);
    await clock.run(340_000);
    expect(await events.next()).toMatchObject({
      done: false,
      value: { type: 'delete', object: { data: { v: '1' } } },
    });
    await informer.stop();
  });

  test('end with their signal or when the loop is left, and then buffer nothing', async () => {
    const { clock, server, informer } = setUp();
    const stop = new AbortController();
    void informer.run();
    const loop = (async () => {
      for await (const _ of informer.events({ signal: stop.signal }))
        throw new Error('nothing is there');
    })();
    await clock.settle();
    stop.abort();
    await loop;
    server.put('a');
    for await (const event of informer.events()) {
      expect(event.type).toBe('add');
      break;
    }
    const iterator = informer.events()[Symbol.asyncIterator]();
    await iterator.return?.();
    server.put('b');
    await clock.settle();
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
    for await (const _ of informer.events({ signal: AbortSignal.abort() }))
      throw new Error('aborted before');
    await informer.stop();
  });
});
