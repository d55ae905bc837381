/**
 * The loop between the queue and the store of an informer: which events bypass the queue, and that
 * the order of notifications is the same. The tests of informers run over stored and over plain
 * objects, and so check that handlers get the same either way.
 */
import { ListWatch, SharedIndexInformer } from 'capstan/cache';
import { expect, test } from 'vitest';
import { type Clock, FakeClock, systemClock } from '../../../bindings/base/clock.ts';
import { CapstanError } from '../../../bindings/base/errors.ts';
import { setErrorHandler } from '../../../bindings/base/handle-error.ts';
import {
  type DeltaHandler,
  processDeltas,
} from '../../../bindings/cache/informer/process-deltas.ts';
import { ProcessLoop } from '../../../bindings/cache/informer/process-loop.ts';
import { RealFIFO } from '../../../bindings/cache/queue/fifo.ts';
import { ByteStore, type Thing, thing } from '../../helpers/cache/byte-store.ts';
import { answer, Stream } from '../../helpers/cache/live-server.ts';
import { configMapAt, event, listBody, Replies } from '../../helpers/cache/scripted-server.ts';
import { type ConfigMap, ConfigMaps } from '../../helpers/resources.ts';

function world(clock: Clock = systemClock) {
  const { store, frames } = new ByteStore({}, true);
  const stop = new AbortController();
  const told: string[] = [];
  let taken = 0;
  let refused = 0;
  const handler: DeltaHandler<Thing> = {
    onAdd: ({ metadata }, isInInitialList) =>
      told.push(
        `add ${metadata.name} ${metadata.resourceVersion}${isInInitialList ? ' initial' : ''}`,
      ),
    onUpdate: (old, { metadata }) =>
      told.push(
        `update ${metadata.name} ${old.metadata.resourceVersion} ${metadata.resourceVersion}`,
      ),
    onDelete: (object) =>
      told.push(`delete ${'key' in object ? object.key : object.metadata.name}`),
  };
  const popped: string[] = [];
  const loop = new ProcessLoop<Thing>((onDelta) => new RealFIFO<Thing>({ onDelta }), {
    clock,
    signal: stop.signal,
    what: 'a test',
    store,
    handler,
    process: (deltas, isInInitialList) => {
      popped.push(...deltas.map(({ type }) => type));
      processDeltas(handler, store, deltas, isInInitialList);
    },
    onSynced: () => told.push('synced'),
    handlersBehind: () => undefined,
    areHandlersBehind: () => false,
    onProcessed: () => {
      taken++;
    },
    onStoreError: () => {
      refused++;
    },
  });
  /** An object of a watch event: a stored object. */
  const versionOf = (name: string, version: number): Thing => {
    frames.push(
      new TextEncoder().encode(
        `${JSON.stringify({ type: 'MODIFIED', object: thing(name, version) })}\n`,
      ),
    );
    const frame = frames.next();
    if (frame === undefined || !('object' in frame)) throw new Error('no event');
    return frame.object;
  };
  return { loop, store, stop, told, popped, versionOf, taken: () => taken, refused: () => refused };
}

test('an event that finds the queue empty is processed when `update` returns', async () => {
  const { loop, store, told, popped, versionOf, taken } = world();
  loop.replace([thing('a', 1)], '1');
  loop.update(versionOf('a', 2)); // the list is not through: it waits behind it
  expect(told).toEqual([]);
  await loop.idle();
  expect(told).toEqual(['add a 1 initial', 'synced', 'update a 1 2']);
  expect(popped).toEqual(['ReplacedAll', 'Updated']);

  loop.update(versionOf('a', 3));
  loop.add(versionOf('b', 4));
  expect(told.slice(3)).toEqual(['update a 2 3', 'add b 4']);
  expect(store.getByKey('n/a')?.metadata.resourceVersion).toBe('3');
  expect(taken()).toBeGreaterThanOrEqual(4);
  expect(popped).toHaveLength(2);
  await loop.idle();
  expect(popped).toHaveLength(2);
});

test('an event before any list is queued', async () => {
  const { loop, told, popped, versionOf } = world();
  loop.add(versionOf('a', 1));
  expect(told).toEqual([]);
  await loop.idle();
  expect(popped).toEqual(['Added']);
});

test('is idle when all deltas have been processed, however many turns that takes', async () => {
  const clock = new FakeClock();
  let steps = (): number => 0;
  const { loop, popped, taken } = world({
    now: () => clock.now() + 5 * steps(),
    setTimer: clock.setTimer.bind(clock),
    clearTimer: clock.clearTimer.bind(clock),
  });
  steps = taken;
  for (let i = 1; i <= 5; i++) loop.add(thing(`a${i}`, i));
  await loop.idle();
  expect(popped).toHaveLength(5);
});

test('no event overtakes a queued deletion, list, bookmark or plain object', async () => {
  const { loop, store, told, popped, versionOf } = world();
  loop.replace([], '1');
  await loop.idle();
  loop.add(versionOf('a', 2));
  loop.delete(versionOf('a', 3));
  loop.add(versionOf('a', 4));
  loop.replace([thing('b', 5)], '6');
  loop.update(versionOf('b', 7));
  loop.bookmark('8');
  loop.add(thing('c', 9));
  loop.update(versionOf('c', 10));
  expect(told).toEqual(['synced', 'add a 2']);
  await loop.idle();
  const rest = [
    'delete a',
    'add a 4',
    'delete n/a',
    'add b 5',
    'update b 5 7',
    'add c 9',
    'update c 9 10',
  ];
  expect(told.slice(2)).toEqual(rest);
  expect(popped).toEqual([
    'ReplacedAll',
    ...['Deleted', 'Added', 'ReplacedAll', 'Updated', 'Bookmark', 'Added', 'Updated'],
  ]);
  expect(store.lastStoreSyncResourceVersion()).toBe('10');
});

test('a delta that the store refuses is reported and leads to a relist', async () => {
  const { loop, store, told, versionOf, refused } = world();
  const errors: unknown[] = [];
  const before = setErrorHandler((error) => errors.push(error));
  try {
    loop.replace([], '1');
    await loop.idle();
    const exchange = store.exchange.bind(store);
    const failure = new CapstanError('OUT_OF_MEMORY', 'no room');
    store.exchange = () => {
      throw failure;
    };
    loop.add(versionOf('a', 2));
    store.exchange = exchange;
    loop.add(versionOf('b', 3));
    // A relist at once lost the other frames of the chunk with the refused one.
    expect(refused()).toBe(0);
    await loop.idle();
    expect(errors).toEqual([failure]);
    expect(refused()).toBe(1);
    expect(told).toEqual(['synced', 'add b 3']);
  } finally {
    setErrorHandler(before);
  }
});

test('after the signal nothing is processed any more', async () => {
  const { loop, store, told, stop, versionOf } = world();
  loop.replace([], '1');
  await loop.idle();
  stop.abort();
  loop.add(versionOf('a', 2));
  await loop.idle();
  expect(told).toEqual(['synced']);
  expect(store.size()).toBe(0);
});

test('a store that has trapped is reported, without an unhandled rejection', async () => {
  // After a trap the last step of the loop also threw, as an unhandled rejection.
  const { loop, store, told, versionOf, refused } = world();
  const errors: unknown[] = [];
  const before = setErrorHandler((error) => errors.push(error));
  try {
    const settle = store.settle.bind(store);
    const failure = new CapstanError('POISONED', 'the core trapped');
    store.settle = () => {
      throw failure;
    };
    loop.replace([], '1');
    await loop.idle();
    expect(errors).toEqual([failure]);
    store.settle = settle;
    loop.add(versionOf('a', 2));
    await loop.idle();
    expect(told).toEqual(['synced', 'add a 2']);
    // A relist would fail too.
    store.exchange = () => {
      throw failure;
    };
    loop.update(versionOf('a', 3));
    await loop.idle();
    expect([errors, refused()]).toEqual([[failure, failure], 0]);
  } finally {
    setErrorHandler(before);
  }
});

/** An informer whose list has `names`, and whose watch sends the events of the test. */
function informer(names: readonly string[], options: { fifo?: 'real' | 'delta' } = {}) {
  const clock = new FakeClock();
  const body = new Stream();
  const server = new Replies(
    () =>
      answer(
        200,
        listBody(
          '5',
          names.map((name) => configMapAt(name, '1')),
        ),
      ),
    ({ signal }) => ({ status: 200, headers: new Headers(), body: body.body(signal) }),
  );
  const made = new SharedIndexInformer(new ListWatch(server, ConfigMaps), {
    clock,
    random: () => 0,
    ...options,
  });
  return { clock, body, made };
}

test('the other events of a chunk with a refused one are notified', async () => {
  // The run was ended in the middle of the chunk, and the later events were dropped: a deletion
  // came as a tombstone, much later.
  const { clock, body, made } = informer(['a', 'old']);
  const told: string[] = [];
  made.addEventHandler({
    onAdd: ({ metadata }) => told.push(`+${metadata.name}`),
    onDelete: (object) =>
      told.push('metadata' in object ? `-${object.metadata.name}` : 'tombstone'),
  });
  const before = setErrorHandler(() => undefined);
  const running = made.run();
  try {
    await clock.settle();
    told.length = 0;
    const store = made.getIndexer();
    const exchange = store.exchange.bind(store);
    store.exchange = () => {
      store.exchange = exchange;
      throw new Error('no room');
    };
    body.send(
      event('MODIFIED', configMapAt('a', '6')) +
        event('DELETED', configMapAt('old', '7')) +
        event('ADDED', configMapAt('b', '8')),
    );
    await clock.settle();
    expect(told).toEqual(['-old', '+b']);
  } finally {
    await made.stop();
    await running;
    setErrorHandler(before);
  }
});

test.each(['real', 'delta'] as const)(
  'an empty list resolves changed(): queue %s',
  async (queue) => {
    // An empty list gives a DeltaFIFO nothing to pop, so a program that waited for the cache waited
    // until its timeout.
    const { clock, made } = informer([], { fifo: queue });
    let changes = 0;
    void made.changed().then(() => changes++);
    const running = made.run();
    await clock.settle();
    expect(changes).toBe(1);
    await made.stop();
    await running;
  },
);

const FLOOD = 30_000;

/**
 * An informer whose server has `events` events, in chunks, each available as soon as the one before
 * was read. Indexing an event takes 0.1 ms on the clock, so the loop yields after 40.
 */
function flooded(chunk: number, fifo: 'real' | 'delta', readMs: number) {
  let spent = 0;
  const clock = new (class extends FakeClock {
    override now(): number {
      return super.now() + spent;
    }
  })();
  let most = 0;
  async function* body(): AsyncGenerator<Uint8Array> {
    for (let i = 0; i < FLOOD; ) {
      let text = '';
      for (let end = i + chunk; i < end; i++)
        text += event(
          i % 50 === 49 ? 'DELETED' : 'MODIFIED',
          configMapAt(`a-${i % 20}`, `${6 + i}`),
        );
      yield new TextEncoder().encode(text);
    }
    await new Promise(() => undefined);
  }
  const server = new Replies(
    () => answer(200, listBody('5', [])),
    () => ({ status: 200, headers: new Headers(), body: body() }),
  );
  const made = new SharedIndexInformer(new ListWatch(server, ConfigMaps), {
    ...{ clock, random: () => 0, fifo },
    transform: (object: ConfigMap) => {
      spent += readMs;
      if (++read % 50 !== 0) indexing++; // deletions are not indexed
      most = Math.max(most, indexing);
      return object;
    },
  });
  let read = 0;
  let indexing = 0;
  made.addIndexers({
    costly: () => {
      spent += 0.1;
      indexing--;
      return [];
    },
  });
  return { clock, made, waiting: () => most };
}

// After a deletion the next events were queued, reader and loop had time slices of 4 ms, and
// reading costs less than processing: 460 000 events waited, so the cache was that far behind.
test.each([
  ['short chunks', 'real', 200, 0],
  ['one chunk', 'real', FLOOD, 0.01],
  ['short chunks', 'delta', 200, 0],
] as const)(
  'a server that always has more events is read no faster than they are processed: %s, queue %s',
  async (_, queue, chunk, readMs) => {
    const { clock, made, waiting } = flooded(chunk, queue, readMs);
    const running = made.run();
    try {
      while (made.lastSyncResourceVersion() !== `${5 + FLOOD}` || made.status().queued > 0)
        await clock.settle();
      expect(waiting()).toBeGreaterThan(1000);
      expect(waiting()).toBeLessThan(5000);
      // The last 50 events of 20 names: the very last deletes one.
      const versions = made
        .getIndexer()
        .list()
        .map(({ metadata }) => metadata.resourceVersion)
        .sort();
      expect(versions).toEqual(Array.from({ length: 19 }, (_, i) => `${5 + FLOOD - 19 + i}`));
    } finally {
      await made.stop();
      await running;
    }
  },
);
