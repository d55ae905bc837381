/** Batches and slots of WorkQueue, for any implementation. */
import {
  FakeClock,
  PrometheusProvider,
  type QueueOrder,
  type Request,
  requestKey,
} from 'capstan/workqueue';
import { describe, expect, test } from 'vitest';
import { SLOT_LIMIT } from '../../../bindings/wasm/core.ts';
import { expectError, invalidArgument } from '../../helpers/expect-error.ts';
import { settle, track } from '../../helpers/promise-state.ts';
import { distinctKeys } from '../../helpers/workqueue/hostile-keys.ts';
import type { Implementation } from '../../helpers/workqueue/implementations.ts';
import { drain } from '../../helpers/workqueue/queue-items.ts';

const numbers = (n: number): string[] => Array.from({ length: n }, (_, i) => `key-${i}`);

export function slotCases(make: Implementation): void {
  describe(`WorkQueue: batches (${make.name})`, () => {
    test('addAll adds in order, once each', () => {
      const queue = make.queue();
      queue.addAll(['b', 'a', 'b', ...distinctKeys]);
      expect(drain(queue)).toEqual([...new Set(['b', 'a', ...distinctKeys])]);
      queue.addAll([]);
      expect(queue.len()).toBe(0);
    });

    test('getBatch hands out up to the given number in order, doneAll ends them', () => {
      const queue = make.queue();
      const keys = numbers(700);
      queue.addAll(keys);
      const first = queue.getBatch(500);
      expect(first).toEqual(keys.slice(0, 500));
      const second = queue.getBatch(500);
      expect(second).toEqual(keys.slice(500));
      expect(queue.getBatch(500)).toEqual([]);
      queue.addAll(keys); // while all of them are being processed
      expect(queue.len()).toBe(0);
      queue.doneAll(first);
      expect(queue.len()).toBe(500);
      queue.doneAll(new Set(second));
      expect(queue.getBatch(1_000)).toEqual(keys);
    });

    test('an array that was changed after getBatch is used as it is', () => {
      const queue = make.queue();
      queue.addAll(['a', 'b', 'c']);
      const batch = queue.getBatch(3);
      queue.addAll(['a', 'b', 'c']);
      batch.pop();
      batch.reverse();
      queue.doneAll(batch);
      expect(queue.getBatch(3)).toEqual(['b', 'a']);
    });

    test("a slot given to another key is not ended by the former key's batch", () => {
      const queue = make.queue();
      queue.addAll(['a', 'b']);
      const batch = queue.getBatch(2);
      queue.done('a');
      queue.done('b');
      queue.addAll(['c', 'd']); // take the slots
      expect(queue.getBatch(2)).toEqual(['c', 'd']);
      queue.addAll(['c', 'd']);
      queue.doneAll(batch);
      expect(queue.len()).toBe(0);
      queue.doneAll(['c', 'd']);
      expect(drain(queue)).toEqual(['c', 'd']);
    });

    test("done of an item whose batch has ended does not end the slot's new item", () => {
      const queue = make.queue();
      queue.add('a');
      expect(queue.tryGet()).toBe('a'); // the queue remembers what it handed out last
      queue.doneAll(['a']);
      const slots = new Int32Array(1);
      queue.add('a');
      queue.tryGet();
      queue.add('b');
      queue.getSlots(slots);
      queue.doneSlots(slots, 1);
      queue.add('c');
      queue.getSlots(slots);
      queue.done('b');
      queue.add('c');
      expect(queue.len()).toBe(0);
      queue.doneSlots(slots, 1);
      expect(drain(queue)).toEqual(['c']);
    });

    test('a waiting get is served by addAll, and by a doneAll that readies a key', async () => {
      const queue = make.queue();
      const [one, two] = [track(queue.get()), track(queue.get())];
      queue.addAll(['a']);
      await settle();
      expect(one.value).toEqual({ item: 'a', shutdown: false });
      queue.add('a');
      queue.doneAll(['a']);
      await settle();
      expect(two.value).toEqual({ item: 'a', shutdown: false });
    });

    test('a drain ends when the last of a batch is done', async () => {
      const queue = make.queue();
      queue.addAll(['a', 'b']);
      const batch = queue.getBatch(2);
      const drained = track(queue.shutDownWithDrain());
      await settle();
      expect(drained.state).toBe('pending');
      queue.doneAll(batch);
      await settle();
      expect(drained.state).toBe('fulfilled');
    });

    test("go through a wrapped queue, a user's order and a user's metrics", () => {
      const counted = { adds: 0, depth: 0, works: 0 };
      const quiet = { inc: () => {}, dec: () => {}, set: () => {}, observe: () => {} };
      const provider = {
        newDepthMetric: () => ({ inc: () => counted.depth++, dec: () => counted.depth-- }),
        newAddsMetric: () => ({ inc: () => counted.adds++ }),
        newLatencyMetric: () => quiet,
        newWorkDurationMetric: () => ({ observe: () => counted.works++ }),
        newUnfinishedWorkSecondsMetric: () => quiet,
        newLongestRunningProcessorSecondsMetric: () => quiet,
        newRetriesMetric: () => quiet,
      };
      const stack: string[] = [];
      const order: QueueOrder<string> = {
        touch: () => {},
        push: (item) => void stack.push(item),
        len: () => stack.length,
        pop: () => stack.pop() as string,
      };
      const inner = make.queue({
        order,
        name: 'counted',
        metricsProvider: provider,
        clock: new FakeClock(),
      });
      const queue = make.delaying({ inner });
      queue.addAll(['a', 'b', 'c']);
      expect(counted).toEqual({ adds: 3, depth: 3, works: 0 });
      const batch = queue.getBatch(2);
      expect(batch).toEqual(['c', 'b']);
      queue.doneAll(batch);
      expect(counted).toEqual({ adds: 3, depth: 1, works: 2 });
      const slots = new Int32Array(8);
      expect(queue.getSlots(slots)).toBe(1);
      expect(queue.slotItem(slots[0] as number)).toBe('a');
      queue.doneSlots(slots, 1);
      expect(counted).toEqual({ adds: 3, depth: 0, works: 3 });
    });

    test('are counted by metrics that read the core', () => {
      const provider = new PrometheusProvider();
      const clock = new FakeClock();
      const queue = make.queue({ name: 'batches', metricsProvider: provider, clock });
      const slots = Int32Array.from(numbers(10), (key) => queue.pin(key));
      queue.addSlots(slots, 10);
      clock.step(100);
      const handed = new Int32Array(10);
      expect(queue.getSlots(handed)).toBe(10);
      clock.step(10);
      queue.doneSlots(handed, 4);
      const text = provider.text();
      expect(text).toMatch(/workqueue_adds_total\{name="batches"\} 10\n/);
      expect(text).toMatch(/workqueue_queue_duration_seconds_sum\{name="batches"\} (1|0\.99)/);
      expect(text).toMatch(/workqueue_work_duration_seconds_count\{name="batches"\} 4\n/);
    });

    test('bad input is rejected, and nothing is lost', () => {
      const queue = make.queue();
      queue.add('a');
      for (const max of [0, -1, 1.5, Number.NaN, invalidArgument('3')])
        expectError(() => queue.getBatch(max), 'INVALID_ARGUMENT');
      expectError(() => queue.addAll(invalidArgument(3)), 'INVALID_ARGUMENT');
      expectError(() => queue.doneAll(invalidArgument(undefined)), 'INVALID_ARGUMENT');
      // it would be eleven items
      expectError(() => queue.addAll('default/web'), 'INVALID_ARGUMENT', /iterable/);
      expectError(() => queue.addAll(['b', invalidArgument(7), 'c']), 'INVALID_ARGUMENT');
      expect(drain(queue)).toEqual(['a', 'b']);
    });
  });

  describe(`WorkQueue: slots (${make.name})`, () => {
    test('a pinned slot adds its item repeatedly, without its key', () => {
      const queue = make.queue();
      const slots = Int32Array.of(queue.pin('a'), queue.pin('b'));
      expect(queue.len()).toBe(0);
      const handed = new Int32Array(4);
      for (let round = 0; round < 3; round++) {
        queue.addSlots(slots, 2);
        queue.addSlots(slots, 1);
        expect(queue.getSlots(handed)).toBe(2);
        expect([...handed.subarray(0, 2)].map((slot) => queue.slotItem(slot))).toEqual(['a', 'b']);
        expect(handed.subarray(0, 2)).toEqual(slots);
        queue.doneSlots(handed, 2);
      }
      expect(queue.getSlots(handed)).toBe(0);
    });

    test('slots and keys of one item are one item', () => {
      const queue = make.queue<Request>({ key: requestKey });
      const slot = Int32Array.of(queue.pin({ namespace: 'a', name: 'b' }));
      queue.add({ namespace: 'a', name: 'b' });
      queue.addSlots(slot, 1);
      expect(queue.len()).toBe(1);
      expect(queue.tryGet()).toEqual({ namespace: 'a', name: 'b' });
      queue.addSlots(slot, 1); // while it is processed
      expect(queue.len()).toBe(0);
      queue.done({ namespace: 'a', name: 'b' });
      expect(queue.len()).toBe(1);
      const handed = new Int32Array(1);
      expect(queue.getSlots(handed)).toBe(1);
      expect(handed).toEqual(slot);
      queue.done({ namespace: 'a', name: 'b' });
      queue.doneSlots(handed, 1); // it is not being processed: no effect
      expect(queue.len()).toBe(0);
    });

    test('pinned twice is one slot, and one unpin ends it', () => {
      const queue = make.queue();
      const slot = queue.pin('a');
      expect(queue.pin('a')).toBe(slot);
      queue.unpin(slot);
      expectError(() => queue.unpin(slot), 'STALE_SLOT', /pin/);
      expectError(() => queue.slotItem(slot), 'STALE_SLOT');
    });

    test('an unpinned slot is stale, also after another key has taken its place', () => {
      const queue = make.queue();
      const slot = queue.pin('a');
      queue.unpin(slot);
      const other = queue.pin('b');
      expect(other).not.toBe(slot);
      const both = Int32Array.of(other, slot);
      expectError(() => queue.addSlots(both, 2), 'STALE_SLOT', String(slot));
      expect(queue.len()).toBe(0); // nothing of it was added
      expectError(() => queue.addSlots(Int32Array.of(slot), 1), 'STALE_SLOT');
      queue.addSlots(both, 1);
      const handed = new Int32Array(2);
      expect(queue.getSlots(handed)).toBe(1);
      expectError(() => queue.doneSlots(both, 2), 'STALE_SLOT');
      queue.add('b');
      expect(queue.len()).toBe(0); // it is still being processed
      queue.doneSlots(both, 1);
      expect(queue.len()).toBe(1);
    });

    test('a slot is stale after each of a thousand reuses of its place', () => {
      const queue = make.queue();
      const old: number[] = [];
      for (let i = 0; i < 1_000; i++) {
        const slot = queue.pin(`key-${i}`);
        queue.unpin(slot);
        old.push(slot);
      }
      expect(new Set(old).size).toBe(1_000);
      queue.pin('last');
      for (const slot of old) expectError(() => queue.slotItem(slot), 'STALE_SLOT');
    });

    test('a slot from getSlots is valid until it is done', () => {
      const queue = make.queue();
      queue.addAll(['a', 'b']);
      const handed = new Int32Array(2);
      queue.getSlots(handed);
      queue.doneSlots(handed, 2);
      expectError(() => queue.doneSlots(handed, 1), 'STALE_SLOT');
      expectError(() => queue.doneSlots(handed, 2), 'STALE_SLOT');
      expectError(() => queue.slotItem(handed[0] as number), 'STALE_SLOT');
    });

    test('unpinned while it is queued, waits or is processed, an item stays there', () => {
      const clock = new FakeClock();
      const queue = make.delaying({ clock });
      for (const where of ['queued', 'waiting', 'processed']) {
        const slot = queue.pin('a');
        if (where === 'waiting') queue.addAfter('a', 10);
        else queue.add('a');
        if (where === 'processed') queue.tryGet();
        queue.unpin(slot);
        if (where === 'processed') queue.add('a');
        if (where === 'processed') queue.done('a');
        clock.step(10);
        expect(drain(queue), where).toEqual(['a']);
        expectError(() => queue.slotItem(slot), 'STALE_SLOT');
      }
    });

    test('slots serve a waiting get, and are dropped after shutdown', async () => {
      const queue = make.queue();
      const slots = Int32Array.of(queue.pin('a'), queue.pin('b'));
      const [one, two, three] = [track(queue.get()), track(queue.get()), track(queue.get())];
      queue.addSlots(slots, 2);
      await settle();
      expect([one.value?.item, two.value?.item, three.state]).toEqual(['a', 'b', 'pending']);
      queue.addSlots(slots, 2);
      queue.doneSlots(slots, 1);
      await settle();
      expect(three.value?.item).toBe('a');
      queue.shutDown();
      queue.doneSlots(slots, 2);
      queue.addSlots(slots, 2);
      expect(drain(queue)).toEqual(['b']);
    });

    test('bad input is rejected', () => {
      const queue = make.queue();
      const slots = Int32Array.of(queue.pin('a'));
      for (const count of [-1, 2, 0.5, Number.NaN, invalidArgument('1')]) {
        expectError(() => queue.addSlots(slots, count), 'INVALID_ARGUMENT');
        expectError(() => queue.doneSlots(slots, count), 'INVALID_ARGUMENT');
      }
      for (const array of [[1], new Uint32Array(1), undefined, null]) {
        expectError(() => queue.addSlots(invalidArgument(array), 1), 'INVALID_ARGUMENT');
        expectError(() => queue.doneSlots(invalidArgument(array), 1), 'INVALID_ARGUMENT');
        expectError(() => queue.getSlots(invalidArgument(array)), 'INVALID_ARGUMENT');
      }
      for (const slot of [-1, -2, -3, 0x7fffffff, 5])
        expectError(() => queue.slotItem(slot), 'STALE_SLOT');
      for (const slot of [invalidArgument('x'), 0.5, Number.NaN])
        expectError(() => queue.slotItem(invalidArgument(slot)), 'INVALID_ARGUMENT', /slot/);
      expectError(() => queue.pin(invalidArgument(7)), 'INVALID_ARGUMENT');
      queue.addSlots(slots, 0);
      expect(queue.getSlots(new Int32Array(0))).toBe(0);
      expect(queue.len()).toBe(0);
      queue.dispose();
      expectError(() => queue.addSlots(slots, 1), 'DISPOSED');
      expectError(() => queue.getSlots(slots), 'DISPOSED');
      expectError(() => queue.doneSlots(slots, 1), 'DISPOSED');
      expectError(() => queue.pin('a'), 'DISPOSED');
      expectError(() => queue.unpin(slots[0] as number), 'DISPOSED');
      expectError(() => queue.getBatch(1), 'DISPOSED');
    });

    test('slots that are not pinned are invalid in another queue', () => {
      const [one, two] = [make.queue(), make.queue()];
      const slot = one.pin('a');
      expectError(() => two.slotItem(slot), 'STALE_SLOT');
    });

    // All generations began at 0: a batch array that had not been filled ended slot 0, and a slot
    // of one queue was valid in the next.
    test('zeros and slots of another queue are stale, but for one in a thousand', () => {
      let taken = 0;
      for (let i = 0; i < 100; i++) {
        const [queue, other] = [make.queue(), make.queue()];
        queue.add('a');
        other.add('b');
        const slots = new Int32Array(1);
        other.getSlots(new Int32Array(1));
        queue.getSlots(slots);
        for (const wrongly of [new Int32Array(1), slots]) {
          try {
            other.doneSlots(wrongly, 1);
            taken++;
            break;
          } catch (error) {
            expect(error).toMatchObject({ code: 'STALE_SLOT' });
          }
        }
        queue.dispose();
        other.dispose();
      }
      expect(taken).toBeLessThan(10);
    });

    test('slots of a bounded queue are counted like items', () => {
      const queue = make.queue({ maxDepth: 1, whenFull: 'drop' });
      const slots = Int32Array.of(queue.pin('a'), queue.pin('b'));
      queue.addSlots(slots, 2);
      expect(queue.droppedAdds()).toBe(1);
      expect(drain(queue)).toEqual(['a']);
    });

    // Numbers above the limit would be read as those of other keys. Documentation said that this
    // ends when there are fewer keys, which it does not.
    test('a queue that once held too many keys for slots has none any more', () => {
      const queue = make.queue();
      const pinned = queue.pin('a');
      const { items } = queue as unknown as { items: unknown[] };
      items.length = SLOT_LIMIT + 1; // as if so many keys were in it
      queue.addAll(['a', 'b']);
      for (const room of [1, 2])
        expectError(() => queue.getSlots(new Int32Array(room)), 'TOO_MANY_SLOTS');
      const batch = queue.getBatch(2);
      expect(batch).toEqual(['a', 'b']);
      queue.doneAll(batch);
      queue.addSlots(Int32Array.of(pinned), 1);
      expect(drain(queue)).toEqual(['a']);
    });
  });
}
