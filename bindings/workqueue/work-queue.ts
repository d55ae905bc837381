/**
 * The work queue: what queue.ts does with one item, and many at a time.
 *
 * - Batches: one call of the core hands out or ends many keys. Strings go in one by one, as the
 *   core reads each where it lies.
 * - Slots: a number that stands for an item, so that no key is hashed or compared. `pin` makes one
 *   that holds until `unpin`; `getSlots` gives one that holds until its `doneSlots`. A slot that
 *   outlived its item is an error STALE_SLOT, until its place has been given to 1024 others.
 * - A queue with an order of its own, a bound or metrics that hear of each operation takes one at a
 *   time here too, as does one that is shut down.
 */

import { requireInteger } from '../base/errors.ts';
import { handleError } from '../base/handle-error.ts';
import { keepShape } from '../base/keep-shape.ts';
import { requireNames } from '../base/names.ts';
import { DONE_KEPT, NOTHING, SLOT_FLAG, SLOT_LIMIT, SLOT_NUMBER, STALE } from '../wasm/core.ts';
import type { QueueOptions } from './options.ts';
import { BaseQueue } from './queue.ts';
import { checkItems, checkSlots, stale, tooManySlots } from './slot-checks.ts';
import {
  type QueuedKey,
  readKeys,
  SNAPSHOT_NAMES,
  type Snapshot,
  type SnapshotOptions,
} from './snapshot.ts';

/**
 * In snapshots of a queue that wraps another, the keys that only wait in the outer one come this
 * far behind those of the inner one.
 */
const OWN_KEYS = 2 ** 32;
/** What slotUnpin answers when it gave the slot back. */
const UNPIN_RELEASED = 1;

/**
 * A de-duplicating queue for workers that must not process a key twice at once.
 *
 * client-go: `workqueue.TypedInterface`. Items are strings unless `key` is given; any string is a
 * key. Errors (CapstanError): INVALID_ARGUMENT, OUT_OF_MEMORY (nothing was changed), DISPOSED,
 * POISONED, ABORTED (get with a signal), STALE_SLOT, TOO_MANY_SLOTS, QUEUE_FULL (with `maxDepth`).
 *
 * @example
 * const queue = new WorkQueue();
 * queue.add('default/web');
 * for await (const key of queue) {
 *   try {
 *     console.log(key);
 *   } finally {
 *     queue.done(key);
 *     queue.shutDown();
 *   }
 * }
 */
export class WorkQueue<T = string> extends BaseQueue<T> {
  // for reasons that never change; a shutdown is another one, as each done may wake who waits for
  // the end
  readonly #oneByOne: boolean;
  readonly #plain: boolean; // a slot is the core's business alone, at any time
  readonly #ownFrom: number; // where its own keys begin in snapshots
  readonly #batches = new WeakMap<object, Int32Array>(); // the slots of arrays that getBatch() made

  constructor(options: QueueOptions<T> = {}) {
    super(options);
    this.#oneByOne = this.order !== undefined || this.meter?.perOperation === true;
    this.#plain =
      !this.#oneByOne &&
      !this.hasLevels &&
      !this.timed &&
      this.inner === undefined &&
      this.bound === undefined;
    this.#ownFrom = this.inner === undefined ? 0 : this.inner.#ownFrom + OWN_KEYS;
    keepShape(new.target, WorkQueue, () => new WorkQueue());
  }

  /** Adds the items in turn. When one is refused, those before it have been added. */
  addAll(items: Iterable<T>): void {
    checkItems(items);
    for (const item of items) this.add(item);
  }

  /**
   * Up to `max` items that are ready, in their order; empty when none is. Hand them back with
   * doneAll() (fastest with this very array) or done().
   *
   * @example
   * const queue = new WorkQueue();
   * queue.addAll(['a', 'b', 'c']);
   * const batch = queue.getBatch(256);
   * queue.doneAll(batch);
   */
  getBatch(max: number): T[] {
    requireInteger('max', max, 1);
    if (this.inner !== undefined) {
      this.checkAlive();
      return this.inner.getBatch(max);
    }
    const items: T[] = [];
    if (this.#oneByOne || this.items.length > SLOT_LIMIT) {
      this.#takeEach(max, (slot) => items.push(this.items[slot] as T));
      return items;
    }
    const slots = new Int32Array(Math.min(max, this.len()));
    const count = this.#take(slots);
    for (let i = 0; i < count; i++) items.push(this.items[(slots[i] as number) & SLOT_NUMBER] as T);
    this.#batches.set(items, slots.subarray(0, count));
    return items;
  }

  /** Ends the processing of the items, as done() does for each. */
  doneAll(items: Iterable<T>): void {
    checkItems(items);
    if (this.inner !== undefined) {
      this.checkAlive();
      this.inner.doneAll(items);
      return;
    }
    const slots = this.#batches.get(items);
    if (
      slots !== undefined &&
      !this.#oneByOne &&
      !this.stopped &&
      this.#isBatch(items as T[], slots)
    ) {
      this.#batches.delete(items);
      if (slots.length > 0) this.#end(slots, slots.length, false);
      return;
    }
    for (const item of items) this.done(item);
  }

  /**
   * A slot that stands for the item until unpin(), whatever becomes of the item: an int32, for
   * addSlots(). The item stays in the queue's memory as long. Pinned again: the same slot, and one
   * unpin() ends it. Where getSlots() throws TOO_MANY_SLOTS, this may too.
   *
   * @example
   * const queue = new WorkQueue();
   * const slots = Int32Array.of(queue.pin('a'), queue.pin('b'));
   * queue.addSlots(slots, 2);
   * const handed = new Int32Array(256);
   * const count = queue.getSlots(handed);
   * for (let i = 0; i < count; i++) console.log(queue.slotItem(handed[i] as number));
   * queue.doneSlots(handed, count);
   */
  pin(item: T): number {
    if (this.inner !== undefined) {
      this.checkAlive();
      return this.inner.pin(item);
    }
    let slot: number;
    let known: boolean;
    let answer: number;
    try {
      slot = this.keys.intern(item);
      if (slot < 0) throw this.core.outOfMemory();
      known = this.core.exports.queueState(this.handle, slot) !== 0;
      answer = slot < SLOT_LIMIT ? this.core.exports.slotPin(this.handle, slot) : NOTHING;
      if (slot >= SLOT_LIMIT && !known) {
        this.core.exports.keysRelease(this.handle, slot);
        this.keys.released(slot);
      }
    } catch (cause) {
      throw this.core.trapped(cause);
    }
    if (slot >= SLOT_LIMIT) throw tooManySlots();
    if (!known) this.items[slot] = item;
    return answer;
  }

  /**
   * Ends what pin() began; the slot is stale from here on, or once the item is no longer in the
   * queue. A slot that is not pinned: STALE_SLOT.
   */
  unpin(slot: number): void {
    if (this.inner !== undefined) {
      this.checkAlive();
      this.inner.unpin(slot);
      return;
    }
    requireInteger('slot', slot, -(2 ** 31));
    const number = slot & SLOT_NUMBER;
    let outcome: number;
    try {
      outcome = this.core.exports.slotUnpin(this.handle, slot);
    } catch (cause) {
      throw this.core.trapped(cause);
    }
    if (outcome === STALE) throw stale(slot);
    if (outcome === UNPIN_RELEASED) this.released(number);
  }

  /** The item that a slot stands for. A stale slot: STALE_SLOT. */
  slotItem(slot: number): T {
    if (this.inner !== undefined) {
      this.checkAlive();
      return this.inner.slotItem(slot);
    }
    requireInteger('slot', slot, -(2 ** 31));
    const number = this.core.exports.slotNumber(this.handle, slot);
    if (number < 0) throw stale(slot);
    return this.items[number] as T;
  }

  /**
   * As add() for the first `count` slots, in one call of the core. A stale one among them:
   * STALE_SLOT, and nothing was added.
   */
  addSlots(slots: Int32Array, count: number): void {
    if (count !== 1 || !this.#plain || this.stopped) {
      this.#addMany(slots, count);
      return;
    }
    checkSlots(slots, 1);
    let code: number;
    try {
      code = this.core.exports.slotAdd(this.handle, slots[0] as number, 0);
    } catch (cause) {
      throw this.core.trapped(cause);
    }
    if (code === STALE) throw stale(slots[0] as number);
    if (code >= 0 && code < SLOT_FLAG && this.gets.size > 0) this.serve();
  }

  /**
   * Hands out ready keys, as many as the array has room for, as slots that stand for their items
   * until doneSlots(). Answers how many there were. A queue that ever held more than four million
   * keys at once: TOO_MANY_SLOTS, for the rest of its life.
   */
  getSlots(into: Int32Array): number {
    if (!this.#plain || into?.length !== 1 || this.items.length > SLOT_LIMIT)
      return this.#getMany(into);
    checkSlots(into, 1);
    let slot: number;
    try {
      slot = this.core.exports.slotGet(this.handle, 0);
    } catch (cause) {
      throw this.core.trapped(cause);
    }
    if (slot === NOTHING) return 0;
    into[0] = slot;
    return 1;
  }

  /**
   * As done() for the first `count` slots, in one call of the core. A stale one among them:
   * STALE_SLOT, and nothing was done.
   */
  doneSlots(slots: Int32Array, count: number): void {
    if (count !== 1 || !this.#plain || this.stopped) {
      this.#doneMany(slots, count);
      return;
    }
    checkSlots(slots, 1);
    const slot = slots[0] as number;
    let outcome: number;
    try {
      outcome = this.core.exports.slotDone(this.handle, slot, 0);
    } catch (cause) {
      throw this.core.trapped(cause);
    }
    if (outcome === DONE_KEPT) return;
    if (outcome === STALE) throw stale(slot);
    this.finished(slot & SLOT_NUMBER, outcome);
  }

  #addMany(slots: Int32Array, count: number): void {
    checkSlots(slots, count);
    if (this.inner !== undefined) {
      this.checkAlive();
      this.inner.addSlots(slots, count);
      return;
    }
    if (this.stopped || count === 0) {
      this.checkAlive();
      return;
    }
    if (this.#oneByOne || this.bound !== undefined) {
      for (const item of this.#itemsOf(slots, count)) this.add(item);
      return;
    }
    const now = this.now();
    this.#writeFresh(slots, count);
    const ready = this.core.exports.slotsAdd(this.handle, count, now);
    if (ready > 0 && this.gets.size > 0) this.serve();
  }

  #getMany(into: Int32Array): number {
    checkSlots(into, into?.length);
    if (this.inner !== undefined) {
      this.checkAlive();
      return this.inner.getSlots(into);
    }
    if (this.items.length > SLOT_LIMIT) throw tooManySlots();
    if (into.length === 0) {
      this.checkAlive();
      return 0;
    }
    if (!this.#oneByOne) return this.#take(into);
    let count = 0;
    this.#takeEach(into.length, (slot) => {
      into[count++] = this.core.exports.slotIssue(this.handle, slot);
    });
    return count;
  }

  #doneMany(slots: Int32Array, count: number): void {
    checkSlots(slots, count);
    if (this.inner !== undefined) {
      this.checkAlive();
      this.inner.doneSlots(slots, count);
      return;
    }
    if (count === 0) {
      this.checkAlive();
      return;
    }
    if (!this.#oneByOne && !this.stopped) {
      this.#end(slots, count, true);
      return;
    }
    this.#writeFresh(slots, count);
    this.#endEach(slots.slice(0, count));
  }

  /**
   * What is in the queue, a page at a time: `limit` keys (1000), from where the page before ended
   * (`after: page.next`). Keys that come and go between pages may be missed, none is listed twice
   * in one page. Keys that are only pinned are left out. Times need the option `times` or metrics.
   *
   * @example
   * const queue = new WorkQueue({ times: true });
   * for (let page = queue.snapshot(); ; page = queue.snapshot({ after: page.next })) {
   *   for (const { item, state, queuedMs } of page.keys) console.log(item, state, queuedMs);
   *   if (page.next === undefined) break;
   * }
   */
  snapshot(options: SnapshotOptions = {}): Snapshot<T> {
    requireNames('options', options, 'option of snapshot()', SNAPSHOT_NAMES);
    const { after = 0, limit = 1000 } = options;
    requireInteger('after', after, 0);
    requireInteger('limit', limit, 1);
    if (this.inner !== undefined && after < this.#ownFrom) {
      const { keys, next = this.#ownFrom } = this.inner.snapshot(options);
      for (const key of keys) this.describe(key);
      return { keys, next };
    }
    const now = this.clock.now(); // a user's, which may end the queue
    const { keys, next } = readKeys(
      { x: this.core.exports, handle: this.handle, items: this.items, hasLevels: this.hasLevels },
      Math.min(after - this.#ownFrom, OWN_KEYS - 1),
      limit,
      now,
    );
    for (const key of keys) this.describe(key);
    return { keys, next: next === undefined ? undefined : next + this.#ownFrom };
  }

  /** @internal Adds to a key of a snapshot what a subclass knows. */
  protected describe(_key: QueuedKey<T>): void {}

  /** How many adds a queue with `maxDepth` has refused. */
  droppedAdds(): number {
    return this.inner === undefined ? (this.bound?.refused() ?? 0) : this.inner.droppedAdds();
  }

  /** @internal Throws QUEUE_FULL where an add would be refused or dropped. */
  requireRoom(item: T): void {
    this.inner?.requireRoom(item);
    if (!this.stopped) this.bound?.requireRoom(this, item);
  }

  /**
   * All items that the queue holds, in no order: ready, waiting, being processed, pinned. Also, and
   * above all, when the queue is poisoned and refuses every other call: add them to a new queue,
   * and nothing that was queued is lost.
   */
  recover(): T[] {
    if (this.disposed()) this.checkAlive();
    const own = this.items.filter((item) => item !== undefined) as T[];
    return this.inner === undefined ? own : [...this.inner.recover(), ...own];
  }

  /** Puts slots where the core reads them; at least one. */
  #write(slots: Int32Array, count: number): void {
    const block = this.#block(count);
    this.core.ints().set(count === slots.length ? slots : slots.subarray(0, count), block >>> 2);
  }

  /** All of them stand for their items, or STALE_SLOT. */
  #writeFresh(slots: Int32Array, count: number): void {
    try {
      this.#write(slots, count);
      const fresh = this.core.exports.slotsFresh(this.handle, count);
      if (fresh < count) throw stale(slots[fresh] as number);
    } catch (cause) {
      throw this.core.trapped(cause);
    }
  }

  #block(count: number): number {
    const block = this.core.exports.slotsBlock(count);
    if (block === 0) throw this.core.outOfMemory();
    return block;
  }

  /** Takes as many ready keys as there is room for. */
  #take(into: Int32Array): number {
    const now = this.now();
    const most = Math.min(into.length, this.len());
    if (most === 0) return 0;
    const block = this.#block(most);
    const count = this.core.exports.slotsGet(this.handle, most, now);
    into.set(this.core.ints().subarray(block >>> 2, (block >>> 2) + count));
    return count;
  }

  /**
   * The same one by one. Once one has been handed out its caller must get it: what fails after that
   * is reported.
   */
  #takeEach(most: number, handOut: (slot: number) => void): void {
    for (let count = 0; count < most; ) {
      try {
        const slot = this.takeSlot();
        if (slot < 0) return;
        const tell = this.taken();
        handOut(slot);
        count++;
        tell?.();
      } catch (error) {
        if (count === 0) throw error;
        handleError(error, 'a batch that ends early');
        return;
      }
    }
  }

  /** Ends the processing of slots, and tells of each; stale ones are passed over. */
  #endEach(slots: Int32Array): void {
    const now = this.now();
    for (const slot of slots) {
      let outcome: number;
      try {
        outcome = this.core.exports.slotDone(this.handle, slot, now);
      } catch (cause) {
        throw this.core.trapped(cause);
      }
      if (outcome !== STALE) this.finished(slot & SLOT_NUMBER, outcome);
    }
  }

  /**
   * Ends the processing of slots. A stale one: STALE_SLOT, and nothing was done; or, unless
   * `strict`, it is passed over.
   */
  #end(slots: Int32Array, count: number, strict: boolean): void {
    const now = this.now();
    let released: number;
    let requeued: number;
    try {
      if (strict) this.#writeFresh(slots, count);
      else this.#write(slots, count);
      released = this.core.exports.slotsDone(this.handle, count, now, strict);
      requeued = this.core.exports.slotsRequeued();
    } catch (cause) {
      throw this.core.trapped(cause);
    }
    if (released > 0) {
      const start = this.core.exports.slotsBlock(0) >>> 2;
      const numbers = this.core.ints();
      for (let i = start; i < start + released; i++) this.released(numbers[i] as number);
    }
    if (requeued > 0 && this.gets.size > 0) this.serve();
  }

  #isBatch(items: readonly T[], slots: Int32Array): boolean {
    if (items.length !== slots.length) return false;
    for (let i = 0; i < slots.length; i++) {
      if (this.items[(slots[i] as number) & SLOT_NUMBER] !== items[i]) return false;
    }
    return true;
  }

  /** All of them or STALE_SLOT. */
  #itemsOf(slots: Int32Array, count: number): T[] {
    return Array.from(slots.subarray(0, count), (slot) => this.slotItem(slot));
  }
}
