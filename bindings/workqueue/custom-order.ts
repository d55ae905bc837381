/**
 * The user's order of ready keys (`QueueOptions.order`). What the order throws fails the call that
 * added a key or asked for one, and loses no ready key: keys that the order lost, because it threw
 * in push() or pop(), are kept here and handed out before those of the order.
 */

import { invalid } from '../base/errors.ts';
import { handleError, reportRejection } from '../base/handle-error.ts';
import { NOTHING, STATE_DIRTY, STATE_PROCESSING } from '../wasm/core.ts';
import type { QueueParts } from './core-resources.ts';

const WHAT = 'queue order';

/**
 * The order in which ready keys are handed out: client-go's `Queue`. Each key is in it at most
 * once. `touch` is called for a key that is in it and is added again, with the item that was added;
 * `pop` only when `len()` is above 0, and the item that it returns is handed out. Where `pop`
 * itself ends the get that it is called for (aborts its signal, shuts the queue down), its item is
 * pushed again.
 *
 * If the order throws, no key is lost. What `push` throws in an add, the add throws, and it has no
 * effect; what it throws for a key that is done or due is reported, and the key is handed out
 * before the others. What `touch` throws, the add throws. What `len` and `pop` throw, the get
 * rejects with, also one that waits. If `len()` is 0 although pushed keys were not popped, that is
 * reported, and these keys are handed out. None of the functions may be async.
 */
export interface QueueOrder<T> {
  touch(item: T): void;
  push(item: T): void;
  len(): number;
  pop(): T;
}

export class CustomOrder<T> {
  readonly #order: QueueOrder<T>;
  /** Slots of ready keys that the order lost. */
  readonly #kept = new Set<number>();
  /** How many keys were pushed and not popped. */
  #given = 0;
  /** Calls of `pop` that run: their keys are not lost. */
  #popping = 0;

  constructor(order: QueueOrder<T>) {
    this.#order = order;
  }

  len(): number {
    return this.#len() + this.#kept.size;
  }

  #len(): number {
    const len: unknown = this.#order.len();
    if (typeof len !== 'number' || !(len >= 0)) throw invalid('order.len()', 'a number >= 0', len);
    return len;
  }

  touch(item: T): void {
    reportRejection(this.#order.touch(item), WHAT);
  }

  /** A key is ready. Throws what the order throws; the caller then has the key. */
  push(item: T): void {
    reportRejection(this.#order.push(item), WHAT);
    this.#given++;
  }

  /** The same for a key without a caller: if the order throws, the key is kept here. */
  pushOrKeep(slot: number, item: T): void {
    try {
      this.push(item);
    } catch (error) {
      this.#kept.add(slot);
      handleError(error, `${WHAT}: the key is handed out before the others`);
    }
  }

  /**
   * Hands out the key that the order pops: its slot, or NOTHING when there is none. If the order or
   * a key function ended all gets in `waiting`, the item is pushed again and the answer is NOTHING,
   * because no caller would call done(). If several items have the key, the popped one replaces the
   * stored one in `items`; the order got each by `touch`.
   */
  take(queue: QueueParts<T>, now: number, waiting?: { readonly size: number }): number {
    const { core, handle, keys, items } = queue;
    core.exports.memoryPages(); // throws when disposed of or poisoned, before anything is popped
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
    if (!taken) throw invalid('order.pop()', 'an item that was pushed and not popped since', item);
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

  /** The order is empty: it lost the keys that were pushed and not popped. */
  #keepLost({ core, handle, items }: QueueParts<T>): void {
    if (this.#given <= 0 || this.#popping > 0) return;
    this.#given = 0;
    const before = this.#kept.size;
    for (const slot of items.keys()) {
      const state = items[slot] === undefined ? 0 : core.exports.queueState(handle, slot);
      if ((state & (STATE_DIRTY | STATE_PROCESSING)) === STATE_DIRTY) this.#kept.add(slot);
    }
    const lost = this.#kept.size - before;
    if (lost > 0)
      handleError(invalid('order.len()', `${lost} keys that were pushed and not popped`, 0), WHAT);
  }
}
