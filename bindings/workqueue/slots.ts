/**
 * Batches and slots of a queue: what it does with many items at a time (assembly/slots.ts).
 *
 * - Batches: one call of the core hands out or ends many keys. Strings go in one by one, as the
 *   core reads each where it lies.
 * - Slots: a number that stands for an item, so that no key is hashed or compared. `pin` makes one
 *   that holds until `unpin`; `getSlots` gives one that holds until its `doneSlots`. A slot that
 *   outlived its item is an error STALE_SLOT, until its place has been given to 1024 others.
 * - A queue with an order of the user's, a bound or metrics that are called at each operation
 *   handles items one by one here too; so does a queue that is shut down.
 */
import { CapstanError, invalid, requireInteger } from '../base/errors.ts';
import { handleError } from '../base/handle-error.ts';
import { SLOT_LIMIT, SLOT_NUMBER, STALE } from '../wasm/core.ts';
import type { WorkQueue } from './queue.ts';

/** What slotUnpin answers when it gave the slot back. */
const UNPIN_RELEASED = 1;

export class Slots<T> {
  readonly #queue: WorkQueue<T>;
  // For reasons that never change. A queue that is shut down ends items one by one as well, because
  // each done() may end a drain.
  readonly oneByOne: boolean;
  // The slots of arrays that getBatch() made.
  #batches: WeakMap<object, Int32Array> | undefined;

  constructor(queue: WorkQueue<T>) {
    this.#queue = queue;
    this.oneByOne = queue.order !== undefined || queue.meter !== undefined;
  }

  getBatch(max: number): T[] {
    requireInteger('max', max, 1);
    const items: T[] = [];
    if (this.oneByOne || this.#queue.items.length > SLOT_LIMIT) {
      this.#takeEach(max, (slot) => items.push(this.#queue.items[slot] as T));
      return items;
    }
    const slots = new Int32Array(Math.min(max, this.#queue.len()));
    const count = this.#take(slots);
    for (let i = 0; i < count; i++)
      items.push(this.#queue.items[(slots[i] as number) & SLOT_NUMBER] as T);
    this.#batches ??= new WeakMap();
    this.#batches.set(items, slots.subarray(0, count));
    return items;
  }

  /** doneAll() of an array that getBatch() made. False: each item is to be ended by done(). */
  endBatch(items: Iterable<T>): boolean {
    const slots = this.#batches?.get(items);
    if (
      slots === undefined ||
      this.oneByOne ||
      this.#queue.stopped ||
      !this.#isBatch(items as T[], slots)
    )
      return false;
    this.#batches?.delete(items);
    if (slots.length > 0) this.#end(slots, slots.length, false);
    return true;
  }

  #isBatch(items: readonly T[], slots: Int32Array): boolean {
    if (items.length !== slots.length) return false;
    for (let i = 0; i < slots.length; i++) {
      if (this.#queue.items[(slots[i] as number) & SLOT_NUMBER] !== items[i]) return false;
    }
    return true;
  }

  pin(item: T): number {
    const slot = this.#queue.guarded(() => this.#queue.keys.intern(item));
    if (slot < 0) throw this.#queue.core.outOfMemory();
    const { exports } = this.#queue.core;
    const known = exports.queueState(this.#queue.handle, slot) !== 0;
    if (slot >= SLOT_LIMIT) {
      if (!known) {
        exports.keysRelease(this.#queue.handle, slot);
        this.#queue.keys.released(slot);
      }
      throw tooManySlots();
    }
    const answer = exports.slotPin(this.#queue.handle, slot);
    if (!known) this.#queue.items[slot] = item;
    return answer;
  }

  unpin(slot: number): void {
    requireInteger('slot', slot, -(2 ** 31));
    const outcome = this.#queue.core.exports.slotUnpin(this.#queue.handle, slot);
    if (outcome === STALE) throw stale(slot);
    if (outcome === UNPIN_RELEASED) this.#queue.released(slot & SLOT_NUMBER);
  }

  item(slot: number): T {
    requireInteger('slot', slot, -(2 ** 31));
    const number = this.#queue.core.exports.slotNumber(this.#queue.handle, slot);
    if (number < 0) throw stale(slot);
    return this.#queue.items[number] as T;
  }

  add(slots: Int32Array, count: number): void {
    checkSlots(slots, count);
    if (this.#queue.stopped || count === 0) {
      this.#queue.checkAlive();
      return;
    }
    if (this.oneByOne || this.#queue.bound !== undefined) {
      const items = Array.from(slots.subarray(0, count), (slot) => this.item(slot));
      for (const item of items) this.#queue.add(item);
      return;
    }
    const now = this.#queue.now();
    this.#writeFresh(slots, count);
    const ready = this.#queue.core.exports.slotsAdd(this.#queue.handle, count, now);
    if (ready > 0 && this.#queue.gets.size > 0) this.#queue.serve();
  }

  get(into: Int32Array): number {
    checkSlots(into, into?.length);
    if (this.#queue.items.length > SLOT_LIMIT) throw tooManySlots();
    if (into.length === 0) {
      this.#queue.checkAlive();
      return 0;
    }
    if (!this.oneByOne) return this.#take(into);
    let count = 0;
    this.#takeEach(into.length, (slot) => {
      into[count++] = this.#queue.core.exports.slotIssue(this.#queue.handle, slot);
    });
    return count;
  }

  done(slots: Int32Array, count: number): void {
    checkSlots(slots, count);
    if (count === 0) this.#queue.checkAlive();
    else if (!this.oneByOne && !this.#queue.stopped) this.#end(slots, count, true);
    else {
      this.#writeFresh(slots, count);
      this.#endEach(slots.slice(0, count));
    }
  }

  /** Takes as many ready keys as there is room for. */
  #take(into: Int32Array): number {
    const now = this.#queue.now();
    const most = Math.min(into.length, this.#queue.len());
    if (most === 0) return 0;
    const block = this.#block(most) >>> 2;
    const count = this.#queue.core.exports.slotsGet(this.#queue.handle, most, now);
    into.set(this.#queue.core.ints().subarray(block, block + count));
    return count;
  }

  /**
   * The same one by one. Once one has been handed out its caller must get it: what fails after that
   * is reported.
   */
  #takeEach(most: number, handOut: (slot: number) => void): void {
    for (let count = 0; count < most; ) {
      try {
        const slot = this.#queue.takeSlot();
        if (slot < 0) return;
        const tell = this.#queue.taken();
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

  /**
   * Ends the processing of slots. A stale one: STALE_SLOT, and nothing was done; or, unless
   * `strict`, it is passed over.
   */
  #end(slots: Int32Array, count: number, strict: boolean): void {
    const now = this.#queue.now();
    if (strict) this.#writeFresh(slots, count);
    else this.#write(slots, count);
    const { exports } = this.#queue.core;
    const released = exports.slotsDone(this.#queue.handle, count, now, strict);
    const requeued = exports.slotsRequeued();
    if (released > 0) {
      const start = exports.slotsBlock(0) >>> 2;
      const numbers = this.#queue.core.ints();
      for (let i = start; i < start + released; i++) this.#queue.released(numbers[i] as number);
    }
    if (requeued > 0 && this.#queue.gets.size > 0) this.#queue.serve();
  }

  /** The same one by one, and tells of each; stale ones are passed over. */
  #endEach(slots: Int32Array): void {
    const now = this.#queue.now();
    for (const slot of slots) {
      const outcome = this.#queue.guarded(() =>
        this.#queue.core.exports.slotDone(this.#queue.handle, slot, now),
      );
      if (outcome !== STALE) this.#queue.finished(slot & SLOT_NUMBER, outcome);
    }
  }

  /** Puts slots where the core reads them; at least one. */
  #write(slots: Int32Array, count: number): void {
    const block = this.#block(count) >>> 2;
    const ints = this.#queue.core.ints();
    ints.set(count === slots.length ? slots : slots.subarray(0, count), block);
  }

  /** The same for slots that must all stand for their items; else STALE_SLOT. */
  #writeFresh(slots: Int32Array, count: number): void {
    this.#write(slots, count);
    const fresh = this.#queue.core.exports.slotsFresh(this.#queue.handle, count);
    if (fresh < count) throw stale(slots[fresh] as number);
  }

  /** The address of the block that batches are passed in. */
  #block(count: number): number {
    const block = this.#queue.core.exports.slotsBlock(count);
    if (block === 0) throw this.#queue.core.outOfMemory();
    return block;
  }
}

/** A string is iterable too, and never what was meant. */
export function checkItems(items: Iterable<unknown>): void {
  if (typeof items === 'string' || typeof items?.[Symbol.iterator] !== 'function')
    throw invalid('items', 'an iterable of items', items);
}

export function checkSlots(slots: Int32Array, count: number): void {
  if (
    !(slots instanceof Int32Array) &&
    Object.prototype.toString.call(slots) !== '[object Int32Array]'
  )
    throw invalid('slots', 'an Int32Array', slots);
  if (!Number.isInteger(count) || count < 0 || count > slots.length)
    throw invalid('count', `an integer from 0 to the length of the array (${slots.length})`, count);
}

export function stale(slot: number): CapstanError {
  return new CapstanError(
    'STALE_SLOT',
    `slot ${slot} stands for no item of this queue: expected one from pin() that is not ` +
      'unpinned, or one from getSlots() that is not done; pin the item again',
  );
}

function tooManySlots(): CapstanError {
  return new CapstanError(
    'TOO_MANY_SLOTS',
    `slots can be told apart in queues of up to ${SLOT_LIMIT} keys at once, this one has had ` +
      'more: use items, or several queues',
  );
}
