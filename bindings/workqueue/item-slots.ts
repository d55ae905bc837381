/**
 * Items to slots of one table of the core, for callers that name the same item several times in a
 * row (when, numRequeues, forget) or many items in the same order again (when a server is away,
 * every key fails in the order in which it failed before).
 *
 * Hashing a key is most of the cost of a look-up, so two slots are guessed first: that of the key
 * that was named last and, for intern(), the slot that came after the previous one the last time. A
 * guess counts only if the keys are equal, so a wrong guess costs one string comparison, which is
 * immediate for the same string object. If guesses fail, they are made rarely. Invariant: an item
 * has a slot exactly while the core's record is in use.
 */
import { type Core, type CoreExports, disposedExports, NOTHING } from '../wasm/core.ts';
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

/**
 * Texts are kept for slots below this alone, so that they take 1 MB at most; slots above are never
 * guessed as followers.
 */
const REMEMBERED = 1 << 17;
/** After so many wrong guesses in a row only one look-up in 32 guesses. */
const PATIENCE = 8;
const RARELY = 31;
/** Slots that there is room for at first. */
const FIRST = 64;

/** The value of a slot that has just been given out. */
export const NEW = -1;

const disposed = disposedExports('the limiter');

/** Passes a request that was read to a table, which reads it again. */
const carrier = { namespace: '', name: '' };

export class ItemSlots<T> {
  readonly #core: Core;
  readonly #key: KeyFunction<T> | undefined;
  readonly #text: KeyFunction<T>;
  readonly #pairs: boolean;
  // the exports at construction; if those of the core differ, the instance is poisoned
  #exports: CoreExports;
  #holding: Holding;
  #table: KeyTable<unknown>;

  // The key that was named last: its name (or text), namespace (of requests) and slot.
  #name: string | undefined;
  #namespace = '';
  #slot = 0;

  #names: (string | undefined)[] = []; // by slot
  #namespaces: string[] = []; // by slot, for requests
  // By slot, two: the owner's number; the slot that was interned after this one the last time.
  #words = firstWords();
  #interned = 0; // the slot that was interned last
  #wrong = 0; // guesses that failed or were not made since one held

  constructor(core: Core, key: KeyFunction<T> | undefined) {
    this.#core = core;
    this.#key = key;
    this.#text = key === undefined ? limitedItem : textFunction(key);
    this.#pairs = isRequestKey(key);
    const handle = core.exports.keysNew();
    if (handle === 0) throw core.outOfMemory();
    this.#exports = core.exports;
    this.#holding = { core, handle, free: 'keysFree' };
    this.#table = this.#makeTable(handle);
    hold(this, this.#holding);
  }

  /** Throws where find() would. */
  check(item: T): void {
    this.#read(item);
  }

  /** The slot of an item, or NOTHING. */
  find(item: T): number {
    const name = this.#read(item);
    if (name === this.#name && (!this.#pairs || namespaceOf === this.#namespace)) return this.#slot;
    const slot = this.#lookUp(name, false);
    if (slot !== NOTHING) this.#recall(name, slot);
    return slot;
  }

  /** The slot of an item, which gets one if it has none. Out of memory: nothing has changed. */
  intern(item: T): number {
    const name = this.#read(item);
    const before = this.#interned;
    if (this.#wrong < PATIENCE || (this.#wrong & RARELY) === 0) {
      const slot = this.#words[2 * before + 1] as number;
      if (this.#names[slot] === name && (!this.#pairs || this.#namespaces[slot] === namespaceOf)) {
        this.#wrong = 0;
        this.#interned = slot;
        this.#recall(name, slot);
        return slot;
      }
    }
    this.#wrong = (this.#wrong + 1) & 0xffff;
    const slot = this.#lookUp(name, true);
    if (2 * slot >= this.#words.length) this.#grow(slot);
    this.#recall(name, slot);
    this.#interned = slot;
    this.#words[2 * before + 1] = slot;
    return slot;
  }

  /** The owner's number for a slot in use: an int32, NEW at first. */
  value(slot: number): number {
    return this.#words[2 * slot] as number;
  }

  setValue(slot: number, value: number): void {
    this.#words[2 * slot] = value;
  }

  /** Call it for a NEW slot that intern() has just answered: from now on it is guessed. */
  remember(slot: number): void {
    if (slot >= REMEMBERED) return;
    while (this.#names.length <= slot) this.#names.push(undefined);
    this.#names[slot] = this.#name;
    if (!this.#pairs) return;
    while (this.#namespaces.length <= slot) this.#namespaces.push('');
    this.#namespaces[slot] = this.#namespace;
  }

  /** The slot that find() or intern() named last. */
  get last(): number {
    return this.#slot;
  }

  /** Gives a slot back; its key is forgotten. */
  release(slot: number): void {
    this.#core.exports.keysRelease(this.#holding.handle, slot);
    this.#table.released(slot);
    this.#words[2 * slot] = NEW;
    if (slot === this.#slot) this.#name = undefined;
    if (slot < this.#names.length) this.#names[slot] = undefined;
  }

  /**
   * Releases all slots and their memory. False: there was no memory for a new table, and nothing
   * has changed.
   */
  clear(): boolean {
    const handle = this.#core.exports.keysNew();
    if (handle === 0) return false;
    giveBack(this, this.#holding);
    this.#holding = { core: this.#core, handle, free: 'keysFree' };
    this.#table = this.#makeTable(handle);
    hold(this, this.#holding);
    this.#forgetAll();
    return true;
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

  #forgetAll(): void {
    this.#name = undefined;
    this.#names = [];
    this.#namespaces = [];
    this.#words = firstWords();
    this.#interned = 0;
    this.#wrong = 0;
  }

  /**
   * The name of a request, whose namespace is in namespaceOf, or the text of any other item. Throws
   * where the table cannot be used any more.
   */
  #read(item: T): string {
    if (this.#exports !== this.#core.exports) this.#refuse();
    if (!this.#pairs) return this.#text(item);
    readRequest(item as never);
    return nameOf;
  }

  #refuse(): void {
    (this.#exports === disposed ? disposed : this.#core.exports).memoryPages();
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
      this.#words = roomFor(Math.max(this.#words.length, slot + 1), this.#words);
    } catch {
      this.release(slot);
      throw this.#core.outOfMemory();
    }
  }
}

function firstWords(): Int32Array {
  return roomFor(FIRST, new Int32Array(0));
}

/** `words` and room for so many slots. A follower of 0 is as good a guess as none. */
function roomFor(slots: number, words: Int32Array): Int32Array {
  const larger = new Int32Array(2 * slots);
  larger.set(words);
  for (let i = words.length; i < larger.length; i += 2) larger[i] = NEW;
  return larger;
}
