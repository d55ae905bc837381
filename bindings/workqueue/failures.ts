/**
 * How often each key has failed. The core knows keys and gives them slots (item-slots.ts); the
 * counts lie here, by slot.
 *
 * - A forgotten key keeps its slot for a while, with a count of zero: most keys fail again, and
 *   then need no new slot. While more than SPARE keys plus the live ones are zero, each
 *   forget() looks at SWEEP slots in turn and gives back the zeros among them. So there are never
 *   more slots than 8/3 of the most keys that were ever live at once, and a few; each call costs
 *   O(1).
 * - When the last live key is forgotten, a large table is freed as a whole.
 * - With `forgetAfter`, a key that has not failed for that long after the end of its last delay
 *   counts as forgotten from that moment. There is no timer: time is compared when the key is
 *   looked at, and each add() looks at EXPIRE slots in turn and gives back those whose time is
 *   over. Its slot is gone after half as many calls as there are slots, so there are at most twice
 *   as many slots as keys that fail within their time.
 */
import type { Clock } from '../base/clock.ts';
import { invalid } from '../base/errors.ts';
import { sharedCore } from '../wasm/core.ts';
import type { KeyFunction } from '../wasm/keys.ts';
import { ItemSlots, NEW } from './item-slots.ts';

const MOST = 0x7fffffff; // counts end here
const SPARE = 64;
const SWEEP = 4;
const EXPIRE = 2;
/** A table with more slots than this is freed when no key is live. */
const SMALL = 1024;

export interface FailureOptions<T> {
  key: KeyFunction<T> | undefined;
  forgetAfter: number | undefined;
  clock: Clock;
}

export class Failures<T> {
  readonly #slots: ItemSlots<T>;
  #live = 0; // counts above zero
  #zeros = 0; // forgotten keys that have a slot yet
  #top = 0; // slots from here on were never used
  #hand = 0; // the slot that the sweep looked at last

  readonly #clock: Clock;
  readonly #forgetAfter: number; // Infinity: never
  #now = 0; // as of the call that is running
  // with forgetAfter, by slot: when its count expires
  #ends: Float64Array | undefined;

  constructor({ key, forgetAfter, clock }: FailureOptions<T>) {
    this.keyless = key === undefined;
    this.#slots = new ItemSlots(sharedCore(), key);
    this.#clock = clock;
    this.#forgetAfter = forgetAfter ?? Number.POSITIVE_INFINITY;
    if (this.#forgetAfter < Number.POSITIVE_INFINITY) this.#ends = new Float64Array(SPARE);
  }

  /** Whether it takes only strings and requests. */
  readonly keyless: boolean;

  /** Slots in use: live keys and forgotten ones. */
  get size(): number {
    return this.#live + this.#zeros;
  }

  /** Counts a failure and says how many there were before. Then waits() is to be called. */
  add(item: T): number {
    if (this.#ends !== undefined) {
      this.#readClock();
      this.#sweep(EXPIRE);
    }
    const slot = this.#slots.intern(item);
    const count = this.#slots.value(slot);
    if (count <= 0) {
      this.#begin(slot, count);
      return 0;
    }
    if (this.#ends !== undefined && this.#isOver(slot)) {
      this.#slots.setValue(slot, 1);
      return 0;
    }
    if (count < MOST) this.#slots.setValue(slot, count + 1);
    return count;
  }

  /** The key that was counted last now waits for `ms`. */
  waits(ms: number): void {
    if (this.#ends !== undefined)
      this.#ends[this.#slots.last] = this.#now + Math.max(ms, 0) + this.#forgetAfter;
  }

  count(item: T): number {
    if (this.#live === 0) {
      this.#slots.check(item);
      return 0;
    }
    if (this.#ends !== undefined) this.#readClock();
    const slot = this.#slots.find(item);
    if (slot < 0 || (this.#ends !== undefined && this.#isOver(slot))) return 0;
    return Math.max(this.#slots.value(slot), 0);
  }

  forget(item: T): void {
    if (this.#live === 0) {
      this.#slots.check(item);
      return;
    }
    const slot = this.#slots.find(item);
    if (slot < 0 || this.#slots.value(slot) <= 0) return;
    this.#slots.setValue(slot, 0);
    this.#live--;
    this.#zeros++;
    if (this.#live === 0 && this.#top > SMALL && this.#clear()) return;
    if (this.#zeros > this.#live + SPARE) this.#sweep(SWEEP);
  }

  dispose(): void {
    this.#slots.dispose();
  }

  /** The first failure of a key, or the first one since it was forgotten. */
  #begin(slot: number, count: number): void {
    if (count === NEW) {
      if (this.#ends !== undefined && slot >= this.#ends.length) this.#growEnds(slot);
      this.#slots.remember(slot);
      this.#top = Math.max(this.#top, slot + 1);
    } else this.#zeros--;
    this.#slots.setValue(slot, 1);
    this.#live++;
  }

  #isOver(slot: number): boolean {
    return this.#now >= ((this.#ends as Float64Array)[slot] as number);
  }

  /**
   * Looks at the next slots in turn and releases those whose count has expired, and those of
   * forgotten keys while there are too many.
   */
  #sweep(slots: number): void {
    for (let i = 0; i < slots && this.#top > 0; i++) {
      this.#hand = this.#hand + 1 < this.#top ? this.#hand + 1 : 0;
      const slot = this.#hand;
      const count = this.#slots.value(slot);
      if (count > 0) {
        if (this.#ends === undefined || !this.#isOver(slot)) continue;
        this.#slots.release(slot);
        this.#live--;
      } else if (count === 0 && this.#zeros > this.#live + SPARE) {
        this.#slots.release(slot);
        this.#zeros--;
      }
    }
  }

  #clear(): boolean {
    if (!this.#slots.clear()) return false;
    if (this.#ends !== undefined) this.#ends = new Float64Array(SPARE);
    this.#live = 0;
    this.#zeros = 0;
    this.#top = 0;
    this.#hand = 0;
    return true;
  }

  /** Makes room for the end of a slot that is NEW; on an error the slot is released. */
  #growEnds(slot: number): void {
    try {
      const ends = new Float64Array(2 * slot);
      ends.set(this.#ends as Float64Array);
      this.#ends = ends;
    } catch {
      this.#slots.release(slot);
      throw sharedCore().outOfMemory();
    }
  }

  #readClock(): void {
    const now = this.#clock.now();
    if (typeof now !== 'number' || Number.isNaN(now))
      throw invalid('clock.now()', 'a number of milliseconds', now);
    this.#now = now;
  }
}
