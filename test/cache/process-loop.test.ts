/**
 * Between the queue and the store of an informer: what goes past the queue, and that nobody can tell by the order. That handlers are told the same either way is
 * shown by the informers' own tests, which run over objects of bytes and over plain ones.
 */
import { expect, test } from 'vitest';
import { RealFIFO } from '../../bindings/cache/fifo.ts';
import { type DeltaHandler, processDeltas } from '../../bindings/cache/process-deltas.ts';
import { ProcessLoop } from '../../bindings/cache/process-loop.ts';
import { systemClock } from '../../bindings/clock.ts';
import { CapstanError } from '../../bindings/errors.ts';
import { setErrorHandler } from '../../bindings/handle-error.ts';
import { ByteStore, type Thing, thing } from './byte-store.ts';

function world() {
  const { store, frames } = new ByteStore({}, true);
  const stop = new AbortController();
  const told: string[] = [];
  let taken = 0;
  let refused = 0;
  const handler: DeltaHandler<Thing> = {
    onAdd: ({ metadata }, isInInitialList) =>
      told.push(`add ${metadata.name} ${metadata.resourceVersion}${isInInitialList ? ' initial' : ''}`),
    onUpdate: (old, { metadata }) =>
      told.push(`update ${metadata.name} ${old.metadata.resourceVersion} ${metadata.resourceVersion}`),
    onDelete: (object) => told.push(`delete ${'key' in object ? object.key : object.metadata.name}`),
  };
  const popped: string[] = [];
  const loop = new ProcessLoop<Thing>((onDelta) => new RealFIFO<Thing>({ onDelta }), {
    clock: systemClock,
    signal: stop.signal,
    what: 'a test',
    store,
    handler,
    process: (deltas, isInInitialList) => {
      popped.push(...deltas.map(({ type }) => type));
      processDeltas(handler, store, deltas, isInInitialList);
    },
    onSynced: () => told.push('synced'),
    onTaken: () => {
      taken++;
    },
    onRefused: () => {
      refused++;
    },
  });
  /** As a watch brings it: a version. */
  const event = (name: string, version: number): Thing => {
    frames.push(new TextEncoder().encode(`${JSON.stringify({ type: 'MODIFIED', object: thing(name, version) })}\n`));
    const frame = frames.next();
    if (frame === undefined || !('object' in frame)) throw new Error('no event');
    return frame.object;
  };
  return { loop, store, stop, told, popped, event, taken: () => taken, refused: () => refused };
}

test('an event that finds the queue empty is in the store, and told, when `update` returns', async () => {
  const { loop, store, told, popped, event, taken } = world();
  loop.replace([thing('a', 1)], '1');
  loop.update(event('a', 2)); // the list is not through: it waits behind it
  expect(told).toEqual([]);
  await loop.idle();
  expect(told).toEqual(['add a 1 initial', 'synced', 'update a 1 2']);
  expect(popped).toEqual(['ReplacedAll', 'Updated']);

  loop.update(event('a', 3));
  loop.add(event('b', 4));
  expect(told.slice(3)).toEqual(['update a 2 3', 'add b 4']);
  expect(store.getByKey('n/a')?.metadata.resourceVersion).toBe('3');
  expect(taken()).toBe(4);
  expect(popped).toHaveLength(2);
  await loop.idle();
  expect(popped).toHaveLength(2);
});

test('nothing overtakes what is queued: a deletion, a list, a bookmark, a plain object', async () => {
  const { loop, store, told, popped, event } = world();
  loop.replace([], '1');
  await loop.idle();
  loop.add(event('a', 2));
  loop.delete(event('a', 3));
  loop.add(event('a', 4));
  loop.replace([thing('b', 5)], '6');
  loop.update(event('b', 7));
  loop.bookmark('8');
  loop.add(thing('c', 9));
  loop.update(event('c', 10));
  expect(told).toEqual(['synced', 'add a 2']);
  await loop.idle();
  const rest = ['delete a', 'add a 4', 'delete n/a', 'add b 5', 'update b 5 7', 'add c 9', 'update c 9 10'];
  expect(told.slice(2)).toEqual(rest);
  expect(popped).toEqual([
    'ReplacedAll',
    ...['Deleted', 'Added', 'ReplacedAll', 'Updated', 'Bookmark', 'Added', 'Updated'],
  ]);
  expect(store.lastStoreSyncResourceVersion()).toBe('10');
});

test('what the store refuses is told and asked for again, and the next event is taken', async () => {
  const { loop, store, told, event, refused } = world();
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
    loop.add(event('a', 2));
    expect(errors).toEqual([failure]);
    expect(refused()).toBe(1);
    store.exchange = exchange;
    loop.add(event('b', 3));
    expect(told).toEqual(['synced', 'add b 3']);
  } finally {
    setErrorHandler(before);
  }
});

test('after the signal nothing is processed any more', async () => {
  const { loop, store, told, stop, event } = world();
  loop.replace([], '1');
  await loop.idle();
  stop.abort();
  loop.add(event('a', 2));
  await loop.idle();
  expect(told).toEqual(['synced']);
  expect(store.size()).toBe(0);
});
