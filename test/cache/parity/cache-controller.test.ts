/**
 * The low-level controller and newInformer. Counterparts of client-go's controller_test.go name
 * their upstream test.
 */
import { runInNewContext } from 'node:vm';
import {
  CacheController,
  DeletedFinalStateUnknown,
  type Deltas,
  Indexer,
  ListWatch,
  metaNamespaceKeyFunc,
  type NewInformerOptions,
  newInformer,
  newStore,
  processDeltas,
  processDeltasInBatch,
  RealFIFO,
  type ResourceEventHandler,
  type Store,
  waitForCacheSync,
} from 'capstan/cache';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FakeClock } from '../../../bindings/base/clock.ts';
import { setErrorHandler } from '../../../bindings/base/handle-error.ts';
import { LiveServer, statusBody } from '../../helpers/cache/live-server.ts';
import { Random, testSeed } from '../../helpers/random.ts';
import { type ConfigMap, ConfigMaps } from '../../helpers/resources.ts';

let reported: string[] = [];
let previous: ReturnType<typeof setErrorHandler>;
beforeEach(() => {
  reported = [];
  previous = setErrorHandler((error, what) => reported.push(`${what}: ${error}`));
});
afterEach(() => {
  setErrorHandler(previous);
});

const status: unknown = JSON.parse(statusBody(410, 'Expired'));
const expired = `${JSON.stringify({ type: 'ERROR', object: status })}\n`;

/** Ends the watches; changes until the clock moves are seen only by the next list. */
function cutWatches(server: LiveServer): void {
  server.send(expired);
  server.closeWatches();
}

const keyOf = (object: ConfigMap | DeletedFinalStateUnknown<ConfigMap>): string =>
  object instanceof DeletedFinalStateUnknown ? `(${object.key})` : metaNamespaceKeyFunc(object);

function recorder(told: string[]): Required<ResourceEventHandler<ConfigMap>> {
  return {
    onAdd: (object, isInInitialList) =>
      void told.push(`${isInInitialList ? 'initial ' : ''}add ${keyOf(object)}`),
    onUpdate: (old, now) => void told.push(`update ${keyOf(now)} ${old.data?.v}→${now.data?.v}`),
    onDelete: (object) => void told.push(`delete ${keyOf(object)}`),
  };
}

function setUp(options: Partial<NewInformerOptions<ConfigMap, 'byValue', 'value'>> = {}) {
  const clock = new FakeClock();
  const server = new LiveServer();
  const told: string[] = [];
  const listerWatcher = new ListWatch(server, ConfigMaps);
  const { store, controller } = newInformer({
    listerWatcher,
    handler: recorder(told),
    indexers: { value: 'data.v' },
    clock,
    random: () => 0,
    ...options,
  });
  const abort = new AbortController();
  const run = () => controller.run({ signal: abort.signal });
  return { clock, server, told, listerWatcher, store, controller, abort, run };
}

describe.each(['real', 'delta'] as const)('newInformer with the FIFO "%s"', (fifo) => {
  // `run` resolved while a call of the handler was running, so the process ended in the middle of
  // it.
  test.each([
    ['as long as the handler takes', Number.POSITIVE_INFINITY],
    ['no longer than it may', 5000],
    ['not at all', 0],
  ])('waits at its end for promises of the handler: %s', async (_, shutdownTimeout) => {
    const hold = Promise.withResolvers<void>();
    const { clock, server, abort, run } = setUp({
      fifo,
      shutdownTimeout,
      handler: { onAdd: () => hold.promise },
    });
    server.put('a');
    let ended = false;
    const running = run().then(() => {
      ended = true;
    });
    await clock.settle();
    abort.abort();
    await clock.settle();
    expect(ended).toBe(shutdownTimeout === 0);
    await clock.run(5000);
    expect(ended).toBe(shutdownTimeout !== Number.POSITIVE_INFINITY);
    hold.resolve();
    await running;
    expect(reported).toEqual(
      shutdownTimeout === 5000
        ? [expect.stringContaining('1 calls of the handler have not ended 5000 ms after the end')]
        : [],
    );
    reported.length = 0;
  });

  test('fills its store and then calls the handler (ExampleNewInformer)', async () => {
    const { clock, server, told, store, controller, abort, run } = setUp({
      fifo,
      handler: {
        onAdd: (object) => expect(store.get(object)).toEqual(object),
        onUpdate: (_, now, change) => {
          expect(store.byIndex('value', '2')).toEqual([now]);
          expect([change.spec, change.metadata]).toEqual([false, false]);
          told.push('update');
        },
        onDelete: (object) => expect(store.getByKey(keyOf(object))).toBeUndefined(),
      },
    });
    server.put('a', { data: { v: '1' } });
    expect([controller.hasSynced(), controller.lastSyncResourceVersion()]).toEqual([false, '']);
    const running = run();
    await clock.settle();
    expect(await waitForCacheSync({ clock }, controller)).toBe(true);
    expect([controller.hasSynced(), controller.lastSyncResourceVersion()]).toEqual([true, '1']);
    server.put('a', { data: { v: '2' } });
    server.put('b');
    await clock.settle();
    server.remove('b');
    await clock.settle();
    expect(told).toEqual(['update']);
    expect(store.listKeys()).toEqual(['default/a']);
    expect(controller.lastSyncResourceVersion()).toBe('4');
    abort.abort();
    await running;
    expect([clock.timers(), reported]).toEqual([0, []]);
  });

  // Staged objects wait in the core until they are stored; replaced ones must be freed.
  test('keeps only the bytes of its stored objects', async () => {
    const { clock, server, store, run, abort } = setUp({ fifo });
    const value = 'x'.repeat(1000);
    server.put('a', { data: { v: value } });
    const running = run();
    await clock.settle();
    const once = store.bytes().live;
    expect(once).toBeGreaterThan(1000);
    for (let i = 0; i < 50; i++) {
      server.put('a', { data: { v: value } });
      if (i % 5 === 0) await clock.settle();
    }
    await clock.settle();
    expect(store.bytes().live).toBeLessThan(2 * once);
    server.remove('a');
    await clock.settle();
    expect(store.bytes().live).toBeLessThan(once);
    abort.abort();
    await running;
  });

  test('notifies of everything again after each resync period', async () => {
    const { clock, server, told, run, abort } = setUp({ fifo, resyncPeriod: 1000 });
    server.put('a', { data: { v: '1' } });
    const running = run();
    await clock.settle();
    told.length = 0;
    await clock.run(2000);
    expect(told).toEqual(['update default/a 1→1', 'update default/a 1→1']);
    abort.abort();
    await running;
  });

  // TestResetWatch
  test('gives deletions for objects that a new list lacks', async () => {
    const { clock, server, told, run, abort } = setUp({ fifo });
    server.put('a', { data: { v: '1' } });
    server.put('gone');
    const running = run();
    await clock.settle();
    expect(told.splice(0).sort()).toEqual(['initial add default/a', 'initial add default/gone']);
    cutWatches(server);
    server.put('a', { data: { v: '2' } });
    server.put('b');
    server.remove('gone');
    await clock.run(2000);
    expect(told.sort()).toEqual(['add default/b', 'delete (default/gone)', 'update default/a 1→2']);
    abort.abort();
    await running;
  });

  // TestTransformingInformer, TestTransformingInformerRace
  test('stores and notifies the result of its transform', async () => {
    const transform = (object: ConfigMap): ConfigMap => {
      if (object.data?.v?.startsWith('new')) throw new Error('transformed twice');
      if (object.metadata.name === 'bad') throw new Error('cannot be transformed');
      return { ...object, data: { v: `new ${object.data?.v}` } };
    };
    const told: string[] = [];
    const { clock, server, store, run, abort } = setUp({
      fifo,
      transform,
      resyncPeriod: 1000,
      handler: {
        ...recorder(told),
        onAdd: (object) => void told.push(`add ${object.data?.v}`),
        onDelete: (last) => void ('data' in last && told.push(`delete ${last.data?.v}`)),
      },
    });
    server.put('a', { data: { v: '1' } });
    const running = run();
    await clock.run(1000);
    server.put('a', { data: { v: '2' } });
    await clock.settle();
    expect(store.byIndex('value', 'new 2')).toHaveLength(1);
    server.remove('a');
    await clock.settle();
    expect(told).toEqual([
      'add new 1',
      'update default/a new 1→new 1',
      'update default/a new 1→new 2',
      'delete new 2',
    ]);
    expect(store.list()).toEqual([]);
    expect(reported).toEqual([]);
    server.put('bad', { data: { v: 'as it came' } });
    await clock.settle();
    expect(store.getByKey('default/bad')?.data?.v).toBe('as it came');
    expect(reported).toHaveLength(1);
    expect(reported[0]).toContain('default/bad');
    abort.abort();
    await running;
  });

  // client-go lets the panic end the process (TestPanicPropagated); here only that call fails. In
  // Jest, promises of Node's core are from another realm; their rejection was not handled and ended
  // the process.
  test('reports failed handlers and index functions, and goes on', async () => {
    const seen: string[] = [];
    let fails = true;
    const { clock, server, store, run, abort } = setUp({
      fifo,
      indexers: {
        value: ({ data }) => {
          if (data?.v === 'no value' && fails) throw new Error('the index function');
          return [data?.v ?? ''];
        },
      },
      handler: {
        onAdd({ metadata: { name } }) {
          seen.push(name);
          if (name === 'throws') throw new Error('thrown');
          if (name === 'rejects') return Promise.reject(new Error('rejected')) as never;
          if (name === 'foreign')
            return runInNewContext("Promise.reject(new Error('of another realm'))");
        },
      },
    });
    for (const name of ['throws', 'rejects', 'foreign', 'works'])
      server.put(name, { data: { v: 'no value' } });
    const running = run();
    await clock.settle();
    expect(seen.sort()).toEqual(['foreign', 'rejects', 'throws', 'works']);
    expect(store.listKeys()).toHaveLength(4);
    expect(store.listIndexFuncValues('value')).toEqual([]);
    expect(reported.sort()).toEqual([
      'index function "value" on default/throws: it is asked again: Error: the index function',
      'informer handler: Error: of another realm',
      'informer handler: Error: rejected',
      'informer handler: Error: thrown',
    ]);
    fails = false;
    await clock.run(2_000);
    server.put('another');
    await clock.settle();
    expect(store.byIndex('value', 'no value')).toHaveLength(4);
    abort.abort();
    await running;
  });

  // Each object goes from its first to its last value; values between may be missing.
  // TestHammerController, TestUpdate
  test('gives the states of each object in order under churn and cut watches', async () => {
    const seed = testSeed();
    console.log(`newInformer, ${fifo}: CAPSTAN_SEED=${seed}`);
    const random = new Random(seed);
    const content = new Map<string, string>();
    const { clock, server, store, run, abort } = setUp({
      fifo,
      handler: {
        onAdd(object) {
          expect(content.has(keyOf(object))).toBe(false);
          content.set(keyOf(object), object.data?.v ?? '');
        },
        onUpdate(old, now) {
          expect(content.get(keyOf(old))).toBe(old.data?.v);
          expect(Number(now.data?.v)).toBeGreaterThanOrEqual(Number(old.data?.v));
          content.set(keyOf(now), now.data?.v ?? '');
        },
        onDelete(object) {
          const key = object instanceof DeletedFinalStateUnknown ? object.key : keyOf(object);
          expect(content.delete(key)).toBe(true);
        },
      },
    });
    const running = run();
    await clock.settle();
    for (let i = 0; i < 400; i++) {
      const name = `n${random.int(8)}`;
      if (random.int(3) === 0 && server.names().includes(name)) server.remove(name);
      else server.put(name, { data: { v: String(i) } });
      if (random.int(20) === 0) cutWatches(server);
      if (random.int(4) === 0) await clock.run(random.int(3) * 1000);
    }
    await clock.run(60_000);
    const wanted = server.names().map((name) => `default/${name}`);
    expect([...content.keys()].sort()).toEqual(wanted.sort());
    expect(store.list().every((object) => content.get(keyOf(object)) === object.data?.v)).toBe(
      true,
    );
    expect(reported.filter((text) => !text.includes(' 410 Expired'))).toEqual([]);
    abort.abort();
    await running;
  });
});

describe('a controller that deletes each object that it gets', () => {
  const names = ['a-hello', 'b-controller', 'c-framework'];

  test('gets each deletion, in a handler (ExampleNewInformer)', async () => {
    const deleted: string[] = [];
    const { clock, server, store, run, abort } = setUp({
      handler: {
        onAdd: ({ metadata }) => server.remove(metadata.name),
        onDelete: (object) => void deleted.push(keyOf(object)),
      },
    });
    const running = run();
    await clock.settle();
    for (const name of names) server.put(name);
    await clock.settle();
    expect([deleted.sort(), store.list()]).toEqual([names.map((name) => `default/${name}`), []]);
    abort.abort();
    await running;
  });

  test('gets each deletion, in the process function (Example)', async () => {
    const clock = new FakeClock();
    const server = new LiveServer();
    const downstream = newStore<ConfigMap>();
    const queue = new RealFIFO<ConfigMap>({ atomicEvents: false, knownObjects: downstream });
    const deleted: string[] = [];
    const controller = new CacheController<ConfigMap, 'byValue'>({
      queue,
      listerWatcher: new ListWatch(server, ConfigMaps),
      clock,
      fullResyncPeriod: 100,
      process(deltas) {
        const newest = deltas.at(-1);
        if (newest?.type === 'Deleted') {
          downstream.delete(newest.object);
          deleted.push(queue.keyOf(newest.object));
        } else if (newest !== undefined && 'object' in newest) {
          downstream.add(newest.object);
          server.remove(newest.object.metadata.name);
        }
      },
    });
    const abort = new AbortController();
    const running = controller.run({ signal: abort.signal });
    await clock.settle();
    for (const name of names) server.put(name);
    await clock.run(1000);
    expect([deleted.sort(), downstream.list()]).toEqual([
      names.map((name) => `default/${name}`),
      [],
    ]);
    abort.abort();
    await running;
  });
});

describe('a CacheController', () => {
  interface Parts {
    atomicEvents: boolean;
    batches: boolean;
  }

  function make({ atomicEvents, batches }: Parts) {
    const clock = new FakeClock();
    const server = new LiveServer();
    const store = newStore<ConfigMap>();
    const queue = new RealFIFO<ConfigMap>({
      atomicEvents,
      knownObjects: atomicEvents ? undefined : store,
    });
    const told: string[] = [];
    const note = (what: string, object: ConfigMap | DeletedFinalStateUnknown<ConfigMap>): void => {
      const state = object instanceof DeletedFinalStateUnknown ? object.obj : object;
      if (state === undefined) throw new Error('a tombstone without an object');
      const version = store.get(state)?.metadata.resourceVersion ?? 'none';
      told.push(
        `${what} ${state.metadata.name}@${state.metadata.resourceVersion}, stored ${version}`,
      );
    };
    const handler = {
      onAdd: (object: ConfigMap) => note('add', object),
      onUpdate: (_: ConfigMap, now: ConfigMap) => note('update', now),
      onDelete: (object: ConfigMap | DeletedFinalStateUnknown<ConfigMap>) => note('delete', object),
    };
    const sizes: number[] = [];
    const controller = new CacheController<ConfigMap, 'byValue'>({
      queue,
      listerWatcher: new ListWatch(server, ConfigMaps),
      clock,
      process: (deltas, isInInitialList) => processDeltas(handler, store, deltas, isInInitialList),
      processBatch: batches
        ? (deltas, isInInitialList) => {
            sizes.push(deltas.length);
            processDeltasInBatch(handler, store, deltas, isInInitialList);
          }
        : undefined,
    });
    const abort = new AbortController();
    const running = controller.run({ signal: abort.signal });
    const end = async (): Promise<void> => {
      abort.abort();
      await running;
    };
    return { clock, server, store, queue, told, sizes, controller, end };
  }

  const pod = (name: string, resourceVersion: string): ConfigMap => ({
    metadata: { namespace: 'default', name, resourceVersion },
  });

  test.each<Parts>([
    { atomicEvents: true, batches: false },
    { atomicEvents: true, batches: true },
    { atomicEvents: false, batches: false },
    { atomicEvents: false, batches: true },
  ])(
    'gives the same notifications for a list in one delta or several: %o (TestReplaceEvents)',
    async (parts) => {
      const { clock, queue, store, told, end } = make(parts);
      await clock.settle();
      const replaced = async (initial: ConfigMap[], list: ConfigMap[]): Promise<string[]> => {
        for (const object of initial) queue.add(object);
        await clock.settle();
        told.length = 0;
        queue.replace(list, '9');
        await clock.settle();
        expect(store.list().sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))).toEqual(
          list,
        );
        return told;
      };
      expect(await replaced([], [pod('p1', '1')])).toEqual(['add p1@1, stored 1']);
      expect(await replaced([pod('p1', '1'), pod('p3', '2')], [])).toEqual([
        'delete p1@1, stored none',
        'delete p3@2, stored none',
      ]);
      expect(
        await replaced(
          [pod('p1', '1'), pod('p2', '2'), pod('p3', '3')],
          [pod('p1', '4'), pod('p2', '5'), pod('p4', '6')],
        ),
      ).toEqual([
        'delete p3@3, stored none',
        'update p1@4, stored 4',
        'update p2@5, stored 5',
        'add p4@6, stored 6',
      ]);
      expect(reported).toEqual([]);
      await end();
    },
  );

  test('processes changes of different objects together if it has batches', async () => {
    const { clock, queue, sizes, told, end } = make({ atomicEvents: true, batches: true });
    await clock.settle();
    for (const name of ['a', 'b', 'c', 'a']) queue.add(pod(name, '5'));
    queue.delete(pod('b', '6'));
    await clock.settle();
    expect(sizes).toEqual([3, 2]);
    expect(told).toHaveLength(5);
    await end();
  });

  // TestStoreResourceVersion
  test('sets the version of the store to that of each event', async () => {
    const { clock, server, store, end } = make({ atomicEvents: true, batches: true });
    server.put('a');
    await clock.settle();
    expect(store.lastStoreSyncResourceVersion()).toBe('1');
    server.put('a', { data: { v: '2' } });
    await clock.settle();
    expect(store.lastStoreSyncResourceVersion()).toBe('2');
    server.remove('a');
    await clock.settle();
    expect(store.lastStoreSyncResourceVersion()).toBe('3');
    await end();
  });

  // TestStoreResourceVersionWithNonMetaTransform
  test('sets the version of the store by lists only if objects have no metadata', async () => {
    interface Plain extends Partial<ConfigMap> {
      value?: string | undefined;
    }
    const clock = new FakeClock();
    const server = new LiveServer();
    const keyFunc = (): string => 'the only one';
    const store: Store<Plain> = new Indexer<Plain, never>(keyFunc);
    const told: string[] = [];
    const handler = {
      onAdd: (object: Plain) => told.push(`add ${object.value}`),
      onUpdate: (_: Plain, now: Plain) => told.push(`update ${now.value}`),
      onDelete: () => told.push('delete'),
    };
    const controller = new CacheController<Plain, never>({
      queue: new RealFIFO<Plain>({
        keyFunction: keyFunc,
        transformer: ({ data }) => ({ value: data?.v }),
      }),
      listerWatcher: new ListWatch<Plain>(server, { ...ConfigMaps, indexers: {} }),
      clock,
      random: () => 0,
      process: (deltas, isInInitialList) =>
        processDeltas(handler, store, deltas, isInInitialList, keyFunc),
    });
    const abort = new AbortController();
    const running = controller.run({ signal: abort.signal });
    await clock.settle();
    server.put('a', { data: { v: '1' } });
    await clock.settle();
    expect(store.lastStoreSyncResourceVersion(), 'of the first, empty list').toBe('0');
    cutWatches(server);
    server.put('a', { data: { v: '2' } });
    await clock.run(2000);
    expect(store.lastStoreSyncResourceVersion()).toBe('2');
    expect(told).toEqual(['add 1', 'update 2']);
    abort.abort();
    await running;
  });

  test('reports an error of its function, and goes on with the next deltas', async () => {
    const clock = new FakeClock();
    const server = new LiveServer();
    const queue = new RealFIFO<ConfigMap>();
    const seen: string[] = [];
    const controller = new CacheController<ConfigMap, 'byValue'>({
      queue,
      listerWatcher: new ListWatch(server, ConfigMaps),
      clock,
      async process(deltas: Deltas<ConfigMap>) {
        const types = deltas.map(({ type }) => type).join();
        seen.push(types);
        if (types === 'Added') throw new Error('the function');
      },
    });
    const abort = new AbortController();
    const running = controller.run({ signal: abort.signal });
    await clock.settle();
    queue.add(pod('a', '1'));
    queue.update(pod('a', '2'));
    await clock.settle();
    expect(seen).toEqual(['ReplacedAll', 'Added', 'Updated']);
    expect(reported).toEqual(['controller of v1 ConfigMap: Error: the function']);
    abort.abort();
    await running;
    expect(queue.isClosed()).toBe(true);
  });

  test('runs once, and ends with its signal in any state', async () => {
    const { controller, run, clock, abort } = setUp();
    const running = run();
    await expect(run()).rejects.toMatchObject({ code: 'ALREADY_STARTED' });
    await clock.settle();
    abort.abort();
    await running;
    expect([clock.timers(), controller.hasSynced(), reported]).toEqual([0, true, []]);
    const early = setUp();
    early.abort.abort();
    await early.run();
    expect([early.server.requests.length, early.controller.hasSynced()]).toEqual([0, false]);
  });

  test('refuses invalid options', () => {
    const { listerWatcher } = setUp();
    const queue = new RealFIFO<ConfigMap>();
    const process = (): void => undefined;
    const invalid = expect.objectContaining({ code: 'INVALID_ARGUMENT' });
    const good = { queue, listerWatcher, process };
    for (const bad of [
      { queue: undefined },
      { queue: {} },
      { listerWatcher: {} },
      { process: undefined },
      { processBatch: 1 },
      { shouldResync: true },
      { fullResyncPeriod: Number.NaN },
    ]) {
      expect(
        () => new CacheController<ConfigMap, 'byValue'>({ ...good, ...bad } as typeof good),
      ).toThrow(invalid);
    }
    for (const bad of [
      { handler: 1 },
      { handler: { onAdd: 1 } },
      { transform: 1 },
      { fifo: 'fast' },
      { shutdownTimeout: -1 },
      { indexers: { a: 1 } },
    ]) {
      expect(() => newInformer({ listerWatcher, ...(bad as object) }), JSON.stringify(bad)).toThrow(
        invalid,
      );
    }
  });
});
