/**
 * The FIFOs under random operations, compared with a Map that applies every change at once.
 * Invariants:
 * - when the queue is empty, the store that its consumer fills equals the Map;
 * - a RealFIFO gives every change, in order; a DeltaFIFO gives the changes of each object in order;
 * - what is initial comes first, and hasSynced, once true, stays true;
 * - no delta is lost to a pop that was aborted or came too late, and none is given twice.
 */
import { DeltaFIFO, newStore, RealFIFO, type Store } from 'capstan/cache';
import { describe, expect, test } from 'vitest';
import { macrotask } from '../../../bindings/base/clock.ts';
import type { Delta, Deltas } from '../../../bindings/cache/queue/deltas.ts';
import type { Queue } from '../../../bindings/cache/queue/queue.ts';
import { DeletedFinalStateUnknown } from '../../../bindings/cache/rest/keys.ts';
import { Random, testSeed } from '../../helpers/random.ts';
import { codeOf, deltaText, type Item, item, nameOf } from './fifo-helpers.ts';

const keyOf = (of: Item | DeletedFinalStateUnknown<Item>): string =>
  of instanceof DeletedFinalStateUnknown ? of.key : of.name;

const kinds: [string, (store: Store<Item>) => Queue<Item>][] = [
  ['RealFIFO', () => new RealFIFO<Item>({ keyFunction: nameOf })],
  [
    'RealFIFO without atomic events',
    (store) =>
      new RealFIFO<Item>({ keyFunction: nameOf, atomicEvents: false, knownObjects: store }),
  ],
  ['DeltaFIFO', (store) => new DeltaFIFO<Item>({ keyFunction: nameOf, knownObjects: store })],
];

function apply(store: Store<Item>, delta: Delta<Item>): void {
  if (delta.type === 'ReplacedAll') store.replace(delta.objects, delta.resourceVersion);
  else if (delta.type === 'Deleted') store.delete(delta.object);
  else if (delta.type !== 'SyncAll' && delta.type !== 'Bookmark') store.update(delta.object);
}

const contentOf = (items: Iterable<Item>): string[] =>
  Array.from(items, ({ name, val }) => `${name}@${val}`).sort();

/**
 * A random operation of a producer, on a queue and on the Map. Returns the deltas that a RealFIFO
 * must give, if they follow from the call alone.
 */
function produce(
  random: Random,
  queue: Queue<Item>,
  truth: Map<string, Item>,
  version: number,
): string | undefined {
  const one = item(`k${random.int(6)}`, version);
  switch (random.int(12)) {
    case 0: {
      const list = Array.from({ length: random.int(6) }, (_, i) => item(`k${i}`, version));
      truth.clear();
      for (const each of list) truth.set(each.name, each);
      queue.replace(list, String(version));
      return undefined;
    }
    case 1:
      queue.resync();
      return undefined;
    case 2:
    case 3:
    case 4:
      truth.delete(one.name);
      queue.delete(one);
      return `Deleted ${one.name}@${version}`;
    case 5:
    case 6:
      truth.set(one.name, one);
      queue.add(one);
      return `Added ${one.name}@${version}`;
    default:
      truth.set(one.name, one);
      queue.update(one);
      return `Updated ${one.name}@${version}`;
  }
}

describe.each(kinds)('%s', (kind, make) => {
  test('brings the store of its consumer to the final state, with changes in order', async () => {
    const seed = testSeed();
    console.log(`${kind}: CAPSTAN_SEED=${seed}`);
    const random = new Random(seed);
    for (let round = 0; round < 60; round++) {
      const store = newStore<Item>(keyOf);
      const truth = new Map<string, Item>();
      const queue = make(store);
      const wanted: string[] = [];
      const given: string[] = [];
      const last = new Map<string, number>();
      let initialOver = false;
      const take = (deltas: Deltas<Item>, isInInitialList: boolean): void => {
        expect(isInInitialList && initialOver).toBe(false);
        initialOver ||= !isInInitialList;
        for (const delta of deltas) {
          if (delta.type === 'Added' || delta.type === 'Updated' || delta.type === 'Deleted') {
            const { object } = delta;
            if (!(object instanceof DeletedFinalStateUnknown)) {
              given.push(deltaText(delta));
              expect(object.val).toBeGreaterThan(last.get(object.name) ?? 0);
              last.set(object.name, object.val);
            }
          }
          apply(store, delta);
        }
      };
      const consume = async (): Promise<void> => {
        if (queue.len() === 0) return;
        if (queue instanceof RealFIFO && random.chance(0.3)) await queue.popBatch(take, take);
        else if (random.chance(0.5)) queue.tryPop(take);
        else await queue.pop(take);
      };
      let synced = false;
      for (let version = 1; version < 60; version++) {
        const change = produce(random, queue, truth, version);
        if (change !== undefined) wanted.push(change);
        while (random.chance(0.4)) await consume();
        expect(synced && !queue.hasSynced()).toBe(false);
        synced = queue.hasSynced();
      }
      while (queue.len() > 0) await consume();
      expect(contentOf(store.list()), `round ${round}`).toEqual(contentOf(truth.values()));
      expect(queue.hasSynced()).toBe(true);
      if (queue instanceof RealFIFO) expect(given).toEqual(wanted);
    }
  });

  test('gives each delta to one of several consumers', async () => {
    const seed = testSeed();
    console.log(`${kind}, consumers: CAPSTAN_SEED=${seed}`);
    const random = new Random(seed);
    const queue = make(newStore<Item>(keyOf));
    const added: number[] = [];
    const given: number[] = [];
    const controllers: AbortController[] = [];
    const ends: Promise<unknown>[] = [];
    const take = (deltas: Deltas<Item>): void => {
      for (const delta of deltas) if (delta.type === 'Added') given.push(delta.object.val);
    };
    for (let i = 0; i < 500; i++) {
      if (random.chance(0.6)) {
        added.push(i);
        queue.add(item(`k${i}`, i));
      } else {
        queue.tryPop(take);
      }
      if (random.chance(0.5)) {
        const controller = new AbortController();
        controllers.push(controller);
        ends.push(codeOf(queue.pop(take, { signal: controller.signal })));
      }
      if (random.chance(0.3)) controllers[random.int(controllers.length)]?.abort();
      if (random.chance(0.3)) await Promise.resolve();
      if (random.chance(0.05)) await macrotask();
    }
    queue.close();
    while (queue.len() > 0) await queue.pop(take);
    const codes = new Set(await Promise.all(ends));
    for (const code of codes) expect(['ABORTED', 'FIFO_CLOSED', 'no error']).toContain(code);
    expect(given).toEqual(added);
  });
});
