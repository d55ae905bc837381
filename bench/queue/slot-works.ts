/**
 * The queue without keys: pinned slots, one at a time and in batches of 256, and batches of items.
 * No peer has slots, so there are only our figures, in ns per key for add, get and done together.
 * Every work checks how many keys came out.
 */
import { WorkQueue } from 'capstan/workqueue';
import { names } from '../peers/naive-ts/workloads.mjs';

const BATCH = 256;

function must(got: number, want: number, work: string): void {
  if (got !== want) throw new Error(`${work}: handed out ${got} keys, expected ${want}`);
}

/**
 * The slots of n pinned keys of a queue. Each is 7919 places after the one before, so that their
 * order looks random.
 */
function pinned(n: number): { queue: WorkQueue; slots: Int32Array } {
  const queue = new WorkQueue();
  const slots = Int32Array.from(names(n).keys, (key) => queue.pin(key));
  const shuffled = slots.map((_, i) => slots[(i * 7919) % n] as number);
  return { queue, slots: shuffled };
}

/**
 * A work for n keys: prepares a queue and returns a function that runs the work once. That returns
 * the number of keys that passed through the queue.
 */
export const slotWorks: Record<string, (n: number) => () => number> = {
  'slot-cycle': (n) => {
    const { queue, slots } = pinned(n);
    const one = new Int32Array(1);
    const handed = new Int32Array(1);
    const rounds = Math.max(n, 1_000_000);
    return () => {
      let seen = 0;
      for (let i = 0, at = 0; i < rounds; i++) {
        one[0] = slots[at] as number;
        if (++at === n) at = 0;
        queue.addSlots(one, 1);
        seen += queue.getSlots(handed);
        queue.doneSlots(handed, 1);
      }
      must(seen, rounds, 'slot-cycle');
      return rounds;
    };
  },

  'slot-batch': (n) => {
    const { queue, slots } = pinned(n);
    const handed = new Int32Array(BATCH);
    const batches = Array.from({ length: Math.floor(n / BATCH) }, (_, i) =>
      slots.subarray(i * BATCH, (i + 1) * BATCH),
    );
    const rounds = Math.ceil(1_000_000 / (batches.length * BATCH));
    return () => {
      let seen = 0;
      for (let round = 0; round < rounds; round++) {
        for (const batch of batches) {
          queue.addSlots(batch, BATCH);
          const count = queue.getSlots(handed);
          queue.doneSlots(handed, count);
          seen += count;
        }
      }
      must(seen, rounds * batches.length * BATCH, 'slot-batch');
      return seen;
    };
  },

  'item-batch': (n) => {
    const queue = new WorkQueue();
    const { namespaces, names: last } = names(n);
    const rounds = Math.max(n, 1_000_000);
    return () => {
      let seen = 0;
      for (let i = 0; i < rounds; i += BATCH) {
        const fresh: string[] = [];
        for (let j = 0; j < BATCH; j++)
          fresh.push(`${namespaces[(i + j) % n]}/${last[(i + j) % n]}`);
        queue.addAll(fresh);
        const batch = queue.getBatch(BATCH);
        queue.doneAll(batch);
        seen += batch.length;
      }
      must(seen, Math.ceil(rounds / BATCH) * BATCH, 'item-batch');
      return seen;
    };
  },
};
