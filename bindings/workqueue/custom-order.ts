/**
 * Handing out by an order of the user's (`QueueOptions.order`). What that order throws is the
 * caller's to see where it has asked for a key or added one; a key that is ready is never lost by
 * it. Those that the order does not have, as it threw when it was given them or when it gave them
 * out, are handed out before its own.
 */

import { invalid } from '../base/errors.ts';
import { handleError, reportRejection } from '../base/handle-error.ts';
import { NOTHING, STATE_DIRTY, STATE_PROCESSING } from '../wasm/core.ts';
import type { KeyTable } from '../wasm/keys.ts';
import type { CoreOfQueue } from './core-resources.ts';

const WHAT = 'queue order';

/**
 * The order in which ready keys are handed out: client-go's `Queue`. Each key is in it at most
 * once. `touch` is called for a key that is in it and is added again, with the item that was added;
 * `pop` only when `len()` is above 0, and what it gives is handed out. Where `pop` itself ends the
 * get that it is called for (aborts its signal, shuts the queue down), its item is pushed again.
 *
 * What it throws costs no key. `push` in an add: the add throws it and has not happened; when a key
 * is done or due, that is reported and the key is handed out before the others. `touch`: the add
 * throws it. `len` and `pop`: the get is rejected, also one that waits; what an order was given
 * and says it has no more is reported and handed out. None of them may be async.
 */
export interface QueueOrder<T> {
  touch(item: T): void;
  push(item: T): void;
  len(): number;
  pop(): T;
}

/** What a queue with an order has. */
export interface Ordered<T> {
  readonly core: CoreOfQueue;
  readonly handle: number;
  readonly keys: KeyTable<T>;
  /** By slot. */
  readonly items: (T | undefined)[];
}

export class CustomOrder<T> {
  readonly #order: QueueOrder<T>;
  /** Slots of ready keys that the order does not have. */
  readonly #kept = new Set<number>();
  /** How many keys it was given and has not given out. */
  #given = 0;
  /** Calls of `pop` that are under way: their keys are not lost. */
  #popping = 0;

  constructor(order: QueueOrder<T>) {
    this.#order = order;
  }

  len(): number {
    return this.#len() + this.#kept.size;
  }

  #len(): number {
    const len: unknown = this.#order.len();
    if (typeof len !== 'number' || !(len >= 0)) throw invalid('queue.len()', 'a number >= 0', len);
    return len;
  }

  touch(item: T): void {
    reportRejection(this.#order.touch(item), WHAT);
  }

  /** A key is ready. Throws what the order throws: then it is for the caller to see to the key. */
  push(item: T): void {
    reportRejection(this.#order.push(item), WHAT);
    this.#given++;
  }

  /** The same for a key that nobody could add again: it is kept where the order throws. */
  pushOrKeep(slot: number, item: T): void {
    try {
      this.push(item);
    } catch (error) {
      this.#kept.add(slot);
      handleError(error, `${WHAT}: the key is handed out before the others`);
    }
  }

  /**
   * Hands out the key that the order pops: its slot, or NOTHING when there is none. Also when the
   * order or a key function has left none of the gets waiting that it is for: then the order has
   * the item back, as nobody would ever be done with it. Of several items with one key it is the
   * order, told of each by `touch`, that says which is handed out: that one takes the key's place
   * in `items`.
   */
  take(queue: Ordered<T>, now: number, waiting?: { readonly size: number }): number {
    const { core, handle, keys, items } = queue;
    try {
      core.exports.memoryPages(); // throws when disposed of or poisoned, before anything is popped
    } catch (cause) {
      throw core.trapped(cause);
    }
    const len = this.#len();
    if (len === 0) this.#keepLost(queue);
    for (const slot of this.#kept) {
      if (waiting?.size === 0) return NOTHING;
      this.#kept.delete(slot);
      if (core.exports.queueTake(handle, slot, now)) return slot;
    }
    if (len === 0) return NOTHING;
    const item = this.#pop();
    let slot: number;
    let taken: boolean;
    try {
      slot = keys.find(item);
      taken = slot >= 0 && (waiting?.size === 0 || core.exports.queueTake(handle, slot, now) !== 0);
    } catch (cause) {
      throw core.trapped(cause);
    }
    if (!taken) throw invalid('queue.pop()', 'an item that was pushed and not popped since', item);
    this.#given--;
    if (waiting?.size !== 0) {
      items[slot] = item;
      return slot;
    }
    this.pushOrKeep(slot, item);
    return NOTHING;
  }

  #pop(): T {
    this.#popping++;
    try {
      const item = this.#order.pop();
      reportRejection(item, WHAT);
      return item;
    } finally {
      this.#popping--;
    }
  }

  /** The order is empty: what it was given and has not given out it has lost. */
  #keepLost({ core, handle, items }: Ordered<T>): void {
    if (this.#given <= 0 || this.#popping > 0) return;
    this.#given = 0;
    const before = this.#kept.size;
    for (const slot of items.keys()) {
      const state = items[slot] === undefined ? 0 : core.exports.queueState(handle, slot);
      if ((state & (STATE_DIRTY | STATE_PROCESSING)) === STATE_DIRTY) this.#kept.add(slot);
    }
    const lost = this.#kept.size - before;
    if (lost > 0)
      handleError(invalid('queue.len()', `${lost} keys that were pushed and not popped`, 0), WHAT);
  }
}
