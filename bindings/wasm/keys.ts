/**
 * The seam between items and slots of the core: any string is a key, no two merge, a slot is its
 * key's until it is forgotten. JS has the keys, hashes and compares them, and the core has the
 * buckets (assembly/hosted.ts): the engine reads six characters of a string faster than the core
 * reads them all, and a key is kept once. hashes.ts says what is hashed.
 */

import { CapstanError, invalid, requireFunction, show } from '../base/errors.ts';
import { keepShape } from '../base/keep-shape.ts';
import { hasMore, type Request, requestKey } from '../base/request.ts';
import { type Core, CROWDED, NO_MEMORY, NOTHING, SAME_HASH } from './core.ts';
import {
  ALIKE,
  BY_MAP,
  BY_SAMPLE,
  BY_WHOLE,
  Crowd,
  firstHashing,
  type How,
  sample,
  samplePair,
  whole,
  wholePair,
} from './hashes.ts';

export type KeyFunction<T> = (item: T) => string;

/**
 * The keys of one table of the core: a queue or a limiter. Every answer may also be NO_MEMORY.
 * Whatever a method throws that is no CapstanError is a trap: callers pass it to Core.trapped.
 */
export interface KeyTable<T> {
  /** The slot of an item, or NOTHING. */
  find(item: T): number;
  /** The slot of an item, which gets one if it has none. */
  intern(item: T): number;
  /** queueAddSlot and delayAddSlot of assembly/, by item. */
  add(item: T, now: number): number;
  wait(item: T, at: number, how: number): number;
  /** priorityAddSlot of assembly/, by item. */
  addAt(item: T, priority: number, now: number, after: number, how: number): number;
  /**
   * Whether a slot has this key: a text, or the name of the request that was read last
   * (readRequest).
   */
  isAt(slot: number, text: string): boolean;
  /** The core has given this slot back. */
  released(slot: number): void;
  /**
   * The table has been freed: from now on `gone` takes the place of the core. A key function may
   * dispose of the queue in the middle of a call, so the core is read after the item.
   */
  closed(gone: Exporting): void;
}

type Exporting = Pick<Core, 'exports'>;

export function isRequestKey<T>(key: KeyFunction<T> | undefined): boolean {
  return (key as unknown) === requestKey;
}

/**
 * How the text of an item is found: it is the item where there is no key function. What it throws
 * is a CapstanError.
 */
export function textFunction<T>(key: KeyFunction<T> | undefined): KeyFunction<T> {
  return key === undefined ? (stringItem as KeyFunction<T>) : textOf(key);
}

/**
 * Makes the table of `handle`. Items are strings unless there is a key function. `items`: where the
 * owner keeps the items, by slot.
 */
export function keyTable<T>(
  core: Core,
  handle: number,
  key: KeyFunction<T> | undefined,
  items?: (T | undefined)[],
): KeyTable<T> {
  if (key !== undefined) requireFunction('key', key);
  if (isRequestKey(key)) return new Pairs(core, handle) as unknown as KeyTable<T>;
  const texts = key === undefined ? (items as (string | undefined)[] | undefined) : undefined;
  return new Texts(core, handle, textFunction(key), texts);
}

/** Any item of a queue without a key function. */
function stringItem(item: unknown): string {
  if (typeof item === 'string') return item;
  throw invalid('item', 'a string (for other items pass a "key" function)', item);
}

/**
 * Any item of a limiter without a key function. A controller hands it requests, whatever it was
 * made with. An item with more than the two parts is another kind of item: they alone would merge
 * those of two clusters. What it throws is a CapstanError.
 */
export function limitedItem(item: unknown): string {
  if (typeof item === 'string') return item;
  try {
    readRequest(item as Request);
    if (hasMore(item as Request)) throw invalid('item', 'no member but namespace and name', item);
  } catch (cause) {
    throw new CapstanError(
      'INVALID_ARGUMENT',
      '"item" expected a string or a request { namespace: string, name: string } ' +
        `(for other items pass a "key" function), got ${show(item)}`,
      { cause },
    );
  }
  return joinPair(namespaceOf, nameOf);
}

function textOf<T>(key: KeyFunction<T>): KeyFunction<T> {
  return (item) => {
    if (item === undefined) throw invalid('item', 'anything but undefined', item);
    let text: unknown;
    try {
      text = key(item);
    } catch (cause) {
      throw new CapstanError(
        'INVALID_ARGUMENT',
        `the "key" function threw for ${show(item)}: expected it to return a string`,
        { cause },
      );
    }
    if (typeof text === 'string') return text;
    throw invalid('key(item)', 'a string', text);
  };
}

// The parts of the request that was read last. Read once: a getter may answer something else the
// second time, or throw.
export let namespaceOf = '';
export let nameOf = '';

export function readRequest(item: Request): void {
  let namespace: unknown;
  let name: unknown;
  try {
    namespace = item.namespace;
    name = item.name;
  } catch (cause) {
    throw new CapstanError(
      'INVALID_ARGUMENT',
      `"item" expected a request { namespace: string, name: string }, got ${show(item)}`,
      { cause },
    );
  }
  if (typeof namespace !== 'string' || typeof name !== 'string') {
    throw new CapstanError(
      'INVALID_ARGUMENT',
      '"item" expected a request { namespace: string, name: string }, ' +
        `got { namespace: ${show(namespace)}, name: ${show(name)} }`,
    );
  }
  namespaceOf = namespace;
  nameOf = name;
}

/** What tables of texts and of requests share. */
abstract class HashedKeys<T> implements KeyTable<T> {
  protected core: Exporting;
  protected readonly handle: number;
  protected how: How = firstHashing();
  /** All keys, once `how` is BY_MAP. */
  protected crowd: Crowd | undefined = this.how === BY_MAP ? new Crowd() : undefined;
  /** The slot of the known key that was added last. */
  #last = 0;
  /**
   * The slot of the next known key, if keys come again in the order of their slots, or one of them
   * again and again; else NOTHING.
   */
  #next = NOTHING;

  constructor(core: Core, handle: number) {
    this.core = core;
    this.handle = handle;
  }

  /** The text of an item, or the name of a request, whose namespace is then `namespaceOf`. */
  protected abstract read(item: T): string;
  protected abstract hash(text: string): number;
  abstract isAt(slot: number, text: string): boolean;
  protected abstract bound(slot: number, text: string): number;
  protected abstract joined(text: string): string;

  abstract released(slot: number): void;
  abstract closed(gone: Exporting): void;
  /** How many slots there have been. */
  protected abstract slots(): number;
  /** The hash of the whole key of a slot in use, else undefined. */
  protected abstract wholeOf(slot: number): number | undefined;
  /** The key of a slot in use as one text, else undefined. */
  protected abstract joinedOf(slot: number): string | undefined;

  find(item: T): number {
    const text = this.read(item);
    const { exports } = this.core;
    if (this.crowd !== undefined) {
      exports.memoryPages(); // throws in a poisoned instance
      return this.crowd.find(this.joined(text)) ?? NOTHING;
    }
    const hash = this.hash(text);
    let slot = exports.keysFindHash(this.handle, hash);
    while (slot >= 0 && !this.isAt(slot, text))
      slot = exports.keysNextHash(this.handle, hash, slot);
    return slot;
  }

  intern(item: T): number {
    const text = this.read(item);
    if (this.how !== BY_MAP) {
      const code = this.core.exports.keysInternHash(this.handle, this.hash(text));
      if (code >= 0) return this.bound(code, text);
      if (code <= SAME_HASH) {
        const slot = slotOfHash(code);
        if (this.isAt(slot, text)) return slot;
      } else if (code === NO_MEMORY) return code;
    }
    return this.#intern(text);
  }

  add(item: T, now: number): number {
    const text = this.read(item);
    const next = this.#next;
    if (next >= 0 && this.isAt(next, text)) {
      this.#met(next);
      return this.core.exports.queueAddSlot(this.handle, next, now);
    }
    return this.#add(text, now);
  }

  #add(text: string, now: number): number {
    const { exports } = this.core;
    if (this.how !== BY_MAP) {
      const code = exports.queueAddHash(this.handle, this.hash(text), now);
      if (code >= 0) return this.bound(code, text);
      if (code <= SAME_HASH) {
        const slot = slotOfHash(code);
        if (this.isAt(slot, text)) {
          this.#met(slot);
          return isDone(code) ? NOTHING : exports.queueAddSlot(this.handle, slot, now);
        }
      } else if (code === NO_MEMORY) return code;
    }
    const slot = this.#intern(text);
    return slot < 0 ? slot : exports.queueAddSlot(this.handle, slot, now);
  }

  /** An add has found a known key. */
  #met(slot: number): void {
    const step = slot - this.#last;
    this.#last = slot;
    this.#next = step >= -1 && step <= 1 ? slot + step : NOTHING;
  }

  wait(item: T, at: number, how: number): number {
    const text = this.read(item);
    const { exports } = this.core;
    if (this.how !== BY_MAP) {
      const code = exports.delayAddHash(this.handle, this.hash(text), at, how);
      if (code >= 0) return this.bound(code, text);
      if (code <= SAME_HASH) {
        const slot = slotOfHash(code);
        if (this.isAt(slot, text)) return exports.delayAddSlot(this.handle, slot, at, how);
      } else if (code === NO_MEMORY) return code;
    }
    const slot = this.#intern(text);
    if (slot < 0) return slot;
    return this.#settled(slot, exports.delayAddSlot(this.handle, slot, at, how));
  }

  addAt(item: T, priority: number, now: number, after: number, how: number): number {
    const slot = this.intern(item);
    if (slot < 0) return slot;
    const { exports } = this.core;
    const code = exports.priorityAddSlot(this.handle, slot, priority, now, after, how);
    return this.#settled(slot, code);
  }

  #intern(text: string): number {
    const { exports } = this.core;
    while (this.crowd === undefined) {
      const hash = this.hash(text);
      let alike = 0;
      let slot = exports.keysFindHash(this.handle, hash);
      for (; slot >= 0; alike++) {
        if (this.isAt(slot, text)) return slot;
        slot = exports.keysNextHash(this.handle, hash, slot);
      }
      if (alike < ALIKE) {
        slot = exports.keysNewHash(this.handle, hash);
        if (slot !== CROWDED) return slot < 0 ? slot : this.bound(slot, text);
      }
      this.#hashOtherwise();
    }
    const joined = this.joined(text);
    const known = this.crowd.find(joined);
    if (known !== undefined) return known;
    const slot = exports.keysSlotNew(this.handle);
    if (slot < 0) return slot;
    this.crowd.set(joined, slot);
    return this.bound(slot, text);
  }

  /** Changes the hash of the table, or takes a Map. */
  #hashOtherwise(): void {
    if (this.how === BY_SAMPLE) {
      this.how = BY_WHOLE;
      if (this.#rehash()) return;
    }
    this.how = BY_MAP;
    this.core.exports.keysDropHashes(this.handle);
    const crowd = new Crowd();
    for (let slot = 0; slot < this.slots(); slot++) {
      const text = this.joinedOf(slot);
      if (text !== undefined) crowd.set(text, slot);
    }
    this.crowd = crowd;
  }

  #rehash(): boolean {
    const { exports } = this.core;
    exports.keysDropHashes(this.handle);
    for (let slot = 0; slot < this.slots(); slot++) {
      const hash = this.wholeOf(slot);
      if (hash !== undefined && !exports.keysSetHash(this.handle, slot, hash)) return false;
    }
    return true;
  }

  /** The code of a call. A slot that was taken for one that found no memory is given back. */
  #settled(slot: number, code: number): number {
    const { exports } = this.core;
    if (code === NO_MEMORY && exports.queueState(this.handle, slot) === 0) {
      exports.keysRelease(this.handle, slot);
      this.released(slot);
    }
    return code;
  }
}

/** The slot in a code of SAME_HASH. */
function slotOfHash(code: number): number {
  return (SAME_HASH - code) >>> 1;
}

/** Whether a code of SAME_HASH says that nothing remains to be done. */
function isDone(code: number): boolean {
  return ((SAME_HASH - code) & 1) === 1;
}

/**
 * Invariant: a text is here exactly while the core's record is in use.
 */
class Texts<T> extends HashedKeys<T> {
  readonly #text: KeyFunction<T>;
  /** By slot, as long as it is in use; the owner's items where those are the texts. */
  readonly #texts: (string | undefined)[];
  /** The owner puts them there, and takes them away. */
  readonly #areItems: boolean;

  constructor(
    core: Core,
    handle: number,
    text: KeyFunction<T>,
    items: (string | undefined)[] | undefined,
  ) {
    super(core, handle);
    this.#text = text;
    this.#texts = items ?? [];
    this.#areItems = items !== undefined;
    keepShape(new.target, Texts, () => new Texts(core, handle, text, undefined));
  }

  protected read(item: T): string {
    return this.#text(item);
  }

  protected hash(text: string): number {
    return this.how === BY_SAMPLE ? sample(text) : whole(text);
  }

  isAt(slot: number, text: string): boolean {
    return this.#texts[slot] === text;
  }

  protected bound(slot: number, text: string): number {
    if (!this.#areItems) this.#texts[slot] = text;
    return slot;
  }

  protected joined(text: string): string {
    return text;
  }

  protected slots(): number {
    return this.#texts.length;
  }

  protected wholeOf(slot: number): number | undefined {
    const text = this.#texts[slot];
    return text === undefined ? undefined : whole(text);
  }

  protected joinedOf(slot: number): string | undefined {
    return this.#texts[slot];
  }

  released(slot: number): void {
    if (!this.#areItems) this.#texts[slot] = undefined;
    this.crowd?.delete(slot);
  }

  closed(gone: Exporting): void {
    this.core = gone;
    this.#texts.length = 0;
  }
}

/** The same for requests: neither string is joined. */
class Pairs extends HashedKeys<Request> {
  // by slot, as long as it is in use; copies, as a caller may change its object
  readonly #namespaces: string[] = [];
  readonly #names: (string | undefined)[] = [];

  constructor(core: Core, handle: number) {
    super(core, handle);
    keepShape(new.target, Pairs, () => new Pairs(core, handle));
  }

  protected read(item: Request): string {
    readRequest(item);
    return nameOf;
  }

  protected hash(name: string): number {
    return this.how === BY_SAMPLE ? samplePair(namespaceOf, name) : wholePair(namespaceOf, name);
  }

  isAt(slot: number, name: string): boolean {
    return this.#names[slot] === name && this.#namespaces[slot] === namespaceOf;
  }

  protected bound(slot: number, name: string): number {
    this.#namespaces[slot] = namespaceOf;
    this.#names[slot] = name;
    return slot;
  }

  protected joined(name: string): string {
    return joinPair(namespaceOf, name);
  }

  protected slots(): number {
    return this.#names.length;
  }

  protected wholeOf(slot: number): number | undefined {
    const name = this.#names[slot];
    return name === undefined ? undefined : wholePair(this.#namespaces[slot] as string, name);
  }

  protected joinedOf(slot: number): string | undefined {
    const name = this.#names[slot];
    return name === undefined ? undefined : joinPair(this.#namespaces[slot] as string, name);
  }

  released(slot: number): void {
    this.#namespaces[slot] = '';
    this.#names[slot] = undefined;
    this.crowd?.delete(slot);
  }

  closed(gone: Exporting): void {
    this.core = gone;
    this.#namespaces.length = 0;
    this.#names.length = 0;
  }
}

/** The length keeps `('a', 'b/c')` and `('a/b', 'c')` apart. */
function joinPair(namespace: string, name: string): string {
  return `${namespace.length}/${namespace}/${name}`;
}
