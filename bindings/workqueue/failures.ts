/**
 * How often each key has failed. The core knows keys and gives them slots of a table; the counts
 * lie here, by slot.
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
 * - Hashing a key is most of the cost of a look-up, and callers name the same key several times in
 *   a row (when, numRequeues, forget), or many keys in the same order again (when a server is away,
 *   every key fails in the order in which it failed before). So two slots are guessed first: that
 *   of the key that was named last and, for add(), the slot that came after the previous one the
 *   last time. A guess counts only if the keys are equal, so a wrong guess costs one string
 *   comparison, which is immediate for the same string object. If guesses fail, they are made
 *   rarely.
 *
 * Invariant: a key has a slot exactly while the core's record is in use.
 */
import type { Clock } from '../base/clock.ts';
import { invalid } from '../base/errors.ts';
import { type Core, type CoreExports, disposedExports, NOTHING, sharedCore } from '../wasm/core.ts';
import {
  isRequestKey,
  type KeyFunction,
  type KeyTable,
  keyTable,
  limitedItem,
  nameOf,
  namespaceOf,
  readRequest,
  textFunction,
} from '../wasm/keys.ts';
import { giveBack, type Holding, hold } from './core-resources.ts';

const MOST = 0x7fffffff; // counts end here
// The word of a slot: NEW, or FORGOTTEN plus the number of failures.
const NEW = 0; // the slot has just been given out
const FORGOTTEN = 1;
const SPARE = 64;
const SWEEP = 4;
const EXPIRE = 2;
/** A table with more slots than this is freed when no key is live. */
const SMALL = 1024;
/** After so many wrong guesses in a row only one look-up in 32 guesses. */
const PATIENCE = 8;
const RARELY = 31;

const disposed = disposedExports('the limiter');

/** Passes a request that was read to a table, which reads it again. */
const carrier = { namespace: '', name: '' };

export interface FailureOptions<T> {
  key?: KeyFunction<T> | undefined;
  forgetAfter?: number | undefined;
  clock: Clock;
}

export class Failures<T> {
  readonly #core: Core = sharedCore();
  readonly #key: KeyFunction<T> | undefined;
  readonly #text: KeyFunction<T>;
  readonly #pairs: boolean;
  // the exports at construction; if those of the core differ, the instance is poisoned
  #exports: CoreExports = this.#core.exports;
  #holding: Holding;
  #table: KeyTable<unknown>;

  readonly #clock: Clock;
  readonly #forgetAfter: number; // Infinity: never
  #now = 0; // as of the call that is running

  #live = 0; // counts above zero
  #zeros = 0; // forgotten keys that have a slot yet
  #top = 0; // slots from here on were never used
  #hand = 0; // the slot that the sweep looked at last
  // Two for each slot: its word (see NEW), and the slot that failed after this one the last time.
  #words: Int32Array = roomFor(SPARE);
  #ends: Float64Array | undefined; // with forgetAfter, by slot: when its count expires

  // The key that was named last: its name (or text), namespace (of requests) and slot.
  #name: string | undefined;
  #namespace = '';
  #slot = 0;
  #added = 0; // the slot that failed last
  #wrong = 0; // look-ups since the last right guess

  constructor({ key, forgetAfter = Number.POSITIVE_INFINITY, clock }: FailureOptions<T>) {
    this.#key = key;
    this.#text = key === undefined ? limitedItem : textFunction(key);
    this.#pairs = isRequestKey(key);
    this.#clock = clock;
    this.#forgetAfter = forgetAfter;
    if (forgetAfter < Number.POSITIVE_INFINITY) this.#ends = new Float64Array(SPARE);
    const handle = this.#core.exports.keysNew();
    if (handle === 0) throw this.#core.outOfMemory();
    this.#holding = { core: this.#core, handle, free: 'keysFree' };
    this.#table = this.#makeTable(handle);
    hold(this, this.#holding);
  }

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
    const slot = this.#intern(item);
    const word = this.#words[2 * slot] as number;
    if (word <= FORGOTTEN) {
      if (word === FORGOTTEN) this.#zeros--;
      else if (slot >= this.#top) this.#top = slot + 1;
      this.#live++;
    }
    const before = word <= FORGOTTEN || this.#isOver(slot) ? 0 : word - FORGOTTEN;
    this.#words[2 * slot] = Math.min(before + FORGOTTEN + 1, MOST);
    return before;
  }

  /** The key that was counted last now waits for `ms`. */
  waits(ms: number): void {
    if (this.#ends !== undefined)
      this.#ends[this.#slot] = this.#now + Math.max(ms, 0) + this.#forgetAfter;
  }

  count(item: T): number {
    // first: a user's clock may read another key
    if (this.#ends !== undefined && this.#live > 0) this.#readClock();
    const name = this.#read(item);
    if (this.#live === 0) return 0;
    const slot = this.#find(name);
    return slot < 0 || this.#isOver(slot)
      ? 0
      : Math.max((this.#words[2 * slot] as number) - FORGOTTEN, 0);
  }

  forget(item: T): void {
    const name = this.#read(item);
    if (this.#live === 0) return;
    const slot = this.#find(name);
    if (slot < 0 || (this.#words[2 * slot] as number) <= FORGOTTEN) return;
    this.#words[2 * slot] = FORGOTTEN;
    this.#live--;
    this.#zeros++;
    if (this.#live === 0 && this.#top > SMALL && this.#clear()) return;
    if (this.#zeros > this.#live + SPARE) this.#sweep(SWEEP);
  }

  dispose(): void {
    if (this.#exports === disposed) return;
    this.#exports = disposed;
    this.#table.closed({ exports: disposed });
    this.#forgetAll();
    giveBack(this, this.#holding);
  }

  #makeTable(handle: number): KeyTable<unknown> {
    const key = this.#pairs ? this.#key : undefined; // texts are read here
    return keyTable(this.#core, handle, key as KeyFunction<unknown> | undefined);
  }

  /** Frees the table. False: there was no memory for a new one, and nothing has changed. */
  #clear(): boolean {
    const handle = this.#core.exports.keysNew();
    if (handle === 0) return false;
    giveBack(this, this.#holding);
    this.#holding = { core: this.#core, handle, free: 'keysFree' };
    this.#table = this.#makeTable(handle);
    hold(this, this.#holding);
    this.#forgetAll();
    return true;
  }

  #forgetAll(): void {
    this.#live = 0;
    this.#zeros = 0;
    this.#top = 0;
    this.#hand = 0;
    this.#words = roomFor(SPARE);
    if (this.#ends !== undefined) this.#ends = new Float64Array(SPARE);
    this.#name = undefined;
    this.#added = 0;
    this.#wrong = 0;
  }

  #readClock(): void {
    const now = this.#clock.now();
    if (typeof now !== 'number' || Number.isNaN(now))
      throw invalid('clock.now()', 'a number of milliseconds', now);
    this.#now = now;
  }

  #isOver(slot: number): boolean {
    return this.#ends !== undefined && this.#now >= (this.#ends[slot] as number);
  }

  /**
   * Looks at the next slots in turn and releases those whose count has expired, and those of
   * forgotten keys while there are too many.
   */
  #sweep(slots: number): void {
    for (let i = 0; i < slots && this.#top > 0; i++) {
      this.#hand = this.#hand + 1 < this.#top ? this.#hand + 1 : 0;
      const slot = this.#hand;
      const word = this.#words[2 * slot] as number;
      if (word > FORGOTTEN && this.#isOver(slot)) {
        this.#release(slot);
        this.#live--;
      } else if (word === FORGOTTEN && this.#zeros > this.#live + SPARE) {
        this.#release(slot);
        this.#zeros--;
      }
    }
  }

  /** Gives a slot back; its key is forgotten. */
  #release(slot: number): void {
    this.#core.exports.keysRelease(this.#holding.handle, slot);
    this.#table.released(slot);
    this.#words[2 * slot] = NEW;
    if (slot === this.#slot) this.#name = undefined;
  }

  /**
   * The name of a request, whose namespace is in namespaceOf, or the text of any other item. Throws
   * where the table cannot be used any more.
   */
  #read(item: T): string {
    if (this.#exports !== this.#core.exports)
      (this.#exports === disposed ? disposed : this.#core.exports).memoryPages();
    if (!this.#pairs) return this.#text(item);
    readRequest(item as never);
    return nameOf;
  }

  /** The slot of the key that was read, or NOTHING. */
  #find(name: string): number {
    if (name === this.#name && (!this.#pairs || namespaceOf === this.#namespace)) return this.#slot;
    const slot = this.#lookUp(name, false);
    if (slot !== NOTHING) this.#recall(name, slot);
    return slot;
  }

  /** The slot of an item, which gets one if it has none. Out of memory: nothing has changed. */
  #intern(item: T): number {
    const name = this.#read(item);
    const before = this.#added;
    let slot = this.#words[2 * before + 1] as number;
    const guesses = this.#wrong < PATIENCE || (this.#wrong & RARELY) === 0;
    if (guesses && this.#table.isAt(slot, name)) this.#wrong = 0;
    else {
      this.#wrong = (this.#wrong + 1) & 0xffff;
      slot = this.#lookUp(name, true);
      if (2 * slot >= this.#words.length) this.#grow(slot);
      this.#words[2 * before + 1] = slot;
    }
    this.#recall(name, slot);
    this.#added = slot;
    return slot;
  }

  #recall(name: string, slot: number): void {
    this.#name = name;
    this.#slot = slot;
    if (this.#pairs) this.#namespace = namespaceOf;
  }

  #lookUp(name: string, add: boolean): number {
    let key: unknown = name;
    if (this.#pairs) {
      carrier.namespace = namespaceOf;
      carrier.name = name;
      key = carrier;
    }
    let slot: number;
    try {
      slot = add ? this.#table.intern(key) : this.#table.find(key);
    } catch (cause) {
      throw this.#core.trapped(cause);
    }
    if (slot < NOTHING) throw this.#core.outOfMemory();
    return slot;
  }

  /** Makes room for a new slot; on an error the slot is released. */
  #grow(slot: number): void {
    try {
      const words = roomFor(2 * slot, this.#words);
      if (this.#ends !== undefined) {
        const ends = new Float64Array(2 * slot);
        ends.set(this.#ends);
        this.#ends = ends;
      }
      this.#words = words;
    } catch {
      this.#release(slot);
      throw this.#core.outOfMemory();
    }
  }
}

/** `words` and room for so many slots. A follower of 0 is as good a guess as none. */
function roomFor(slots: number, words?: Int32Array): Int32Array {
  const larger = new Int32Array(2 * slots);
  if (words !== undefined) larger.set(words);
  return larger;
}
