/**
 * The seam between items and slots of the core. Two implementations keep the same promise (any
 * string is a key, no two merge, a slot is its key's until it is forgotten):
 *
 * - Wasm: the core hashes the strings itself through the engine's string functions and keeps the
 *   keys;
 * - JS: buckets.ts has them and the core sees slots only.
 *
 * key-mode.ts says which one a table has.
 */

import { CapstanError, invalid, requireFunction, show } from '../base/errors.ts';
import { keepShape } from '../base/keep-shape.ts';
import { hasMore, type Request, requestKey } from '../base/request.ts';
import { ALIKE, Buckets, BY_SAMPLE, joinHashes, REACH, sample, whole } from './buckets.ts';
import { type Core, NO_MEMORY, NOTHING } from './core.ts';
import { hashesInWasm } from './key-mode.ts';

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
  /** queueAdd and delayAdd of assembly/, by item. */
  add(item: T, now: number): number;
  wait(item: T, at: number, how: number): number;
  /** priorityAdd of assembly/, by item. */
  addAt(item: T, priority: number, now: number, after: number, how: number): number;
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
  const wasm = hashesInWasm(core);
  if (isRequestKey(key)) {
    const table = wasm ? new WasmPairs(core, handle) : new JsPairs(core, handle);
    return table as unknown as KeyTable<T>;
  }
  const text = textFunction(key);
  if (wasm) return new WasmTexts(core, handle, text);
  const texts = key === undefined ? (items as (string | undefined)[] | undefined) : undefined;
  return new JsTexts(core, handle, text, texts);
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

class WasmTexts<T> implements KeyTable<T> {
  #core: Exporting;
  readonly #handle: number;
  readonly #text: KeyFunction<T>;

  constructor(core: Core, handle: number, text: KeyFunction<T>) {
    this.#core = core;
    this.#handle = handle;
    this.#text = text;
    keepShape(new.target, WasmTexts, () => new WasmTexts(core, handle, text));
  }

  add(item: T, now: number): number {
    const text = this.#text(item);
    return this.#core.exports.queueAdd(this.#handle, text, now);
  }

  wait(item: T, at: number, how: number): number {
    const text = this.#text(item);
    return this.#core.exports.delayAdd(this.#handle, text, at, how);
  }

  addAt(item: T, priority: number, now: number, after: number, how: number): number {
    const text = this.#text(item);
    return this.#core.exports.priorityAdd(this.#handle, text, priority, now, after, how);
  }

  find(item: T): number {
    const text = this.#text(item);
    return this.#core.exports.keysFind(this.#handle, text);
  }

  intern(item: T): number {
    const text = this.#text(item);
    return this.#core.exports.keysIntern(this.#handle, text);
  }

  released(): void {}

  closed(gone: Exporting): void {
    this.#core = gone;
  }
}

class WasmPairs implements KeyTable<Request> {
  #core: Exporting;
  readonly #handle: number;

  constructor(core: Core, handle: number) {
    this.#core = core;
    this.#handle = handle;
    keepShape(new.target, WasmPairs, () => new WasmPairs(core, handle));
  }

  add(item: Request, now: number): number {
    readRequest(item);
    return this.#core.exports.queueAddPair(this.#handle, namespaceOf, nameOf, now);
  }

  wait(item: Request, at: number, how: number): number {
    readRequest(item);
    return this.#core.exports.delayAddPair(this.#handle, namespaceOf, nameOf, at, how);
  }

  addAt(item: Request, priority: number, now: number, after: number, how: number): number {
    readRequest(item);
    return this.#core.exports.priorityAddPair(
      this.#handle,
      namespaceOf,
      nameOf,
      priority,
      now,
      after,
      how,
    );
  }

  find(item: Request): number {
    readRequest(item);
    return this.#core.exports.keysFindPair(this.#handle, namespaceOf, nameOf);
  }

  intern(item: Request): number {
    readRequest(item);
    return this.#core.exports.keysInternPair(this.#handle, namespaceOf, nameOf);
  }

  released(): void {}

  closed(gone: Exporting): void {
    this.#core = gone;
  }
}

/**
 * Slots found by a text in JS. Invariant: an item has a slot here exactly while the core's record
 * is in use.
 */
class JsTexts<T> implements KeyTable<T> {
  #core: Exporting;
  readonly #handle: number;
  readonly #text: KeyFunction<T>;
  readonly #buckets = new Buckets();
  /** By slot, as long as it is in use; the owner's items where those are the texts. */
  readonly #texts: (string | undefined)[];

  constructor(
    core: Core,
    handle: number,
    text: KeyFunction<T>,
    items: (string | undefined)[] | undefined,
  ) {
    this.#core = core;
    this.#handle = handle;
    this.#text = text;
    this.#texts = items ?? [];
    keepShape(new.target, JsTexts, () => new JsTexts(core, handle, text, undefined));
  }

  /**
   * An unknown key needs no call of the core. One is made all the same, so that a poisoned instance
   * throws.
   */
  find(item: T): number {
    const text = this.#text(item);
    const slot = this.#slotOf(text, this.#hash(text));
    if (slot === NOTHING) this.#core.exports.memoryPages();
    return slot;
  }

  intern(item: T): number {
    const text = this.#text(item);
    const hash = this.#hash(text);
    const known = this.#slotOf(text, hash);
    if (known !== NOTHING) return known;
    return this.#bind(this.#core.exports.keysSlotNew(this.#handle), text, hash);
  }

  add(item: T, now: number): number {
    const text = this.#text(item);
    const hash = this.#hash(text);
    const known = this.#slotOf(text, hash);
    if (known !== NOTHING) return this.#core.exports.queueAddSlot(this.#handle, known, now);
    return this.#bind(this.#core.exports.queueAddNew(this.#handle, now), text, hash);
  }

  wait(item: T, at: number, how: number): number {
    const text = this.#text(item);
    const hash = this.#hash(text);
    const known = this.#slotOf(text, hash);
    if (known !== NOTHING) return this.#core.exports.delayAddSlot(this.#handle, known, at, how);
    return this.#bind(this.#core.exports.delayAddNew(this.#handle, at, how), text, hash);
  }

  addAt(item: T, priority: number, now: number, after: number, how: number): number {
    const slot = this.intern(item);
    if (slot < 0) return slot;
    return addAtSlot(this, this.#core, this.#handle, slot, priority, now, after, how);
  }

  #hash(text: string): number {
    return this.#buckets.how === BY_SAMPLE ? sample(text) : whole(text);
  }

  #slotOf(text: string, hash: number): number {
    const { entries, mask } = this.#buckets;
    const texts = this.#texts;
    let alike = 0;
    let i = hash & mask;
    for (let step = 0; step < REACH; step++) {
      const entry = entries[i] as number;
      if (entry === 0) break;
      if (((entry ^ hash) & ~mask) === 0) {
        const slot = (entry & mask) - 1;
        if (texts[slot] === text) return slot;
        alike++;
      }
      i = (i + 1) & mask;
    }
    if (alike >= ALIKE) this.#buckets.isCrowded = true;
    return this.#buckets.crowd?.find(text) ?? NOTHING;
  }

  #bind(slot: number, text: string, hash: number): number {
    if (slot < 0) return slot;
    this.#texts[slot] = text;
    if (this.#buckets.isCrowded || !this.#buckets.put(hash, slot)) this.#bindCrowded(slot);
    return slot;
  }

  #bindCrowded(slot: number): void {
    const textOf = (of: number): string => this.#texts[of] as string;
    this.#buckets.putCrowded(slot, (of) => whole(textOf(of)), textOf);
  }

  released(slot: number): void {
    this.#buckets.remove(slot);
    this.#texts[slot] = undefined;
  }

  closed(gone: Exporting): void {
    this.#core = gone;
    this.#texts.length = 0;
  }
}

function addAtSlot(
  table: { released(slot: number): void },
  { exports }: Exporting,
  handle: number,
  slot: number,
  priority: number,
  now: number,
  after: number,
  how: number,
): number {
  const code = exports.priorityAddSlot(handle, slot, priority, now, after, how);
  // a slot that was taken for an add that found no memory
  if (code === NO_MEMORY && exports.queueState(handle, slot) === 0) {
    exports.keysRelease(handle, slot);
    table.released(slot);
  }
  return code;
}

/** The same for requests: neither string is joined. */
class JsPairs implements KeyTable<Request> {
  #core: Exporting;
  readonly #handle: number;
  readonly #buckets = new Buckets();
  // by slot; copies, as a caller may change its object
  readonly #namespaces: string[] = [];
  readonly #names: string[] = [];

  constructor(core: Core, handle: number) {
    this.#core = core;
    this.#handle = handle;
    keepShape(new.target, JsPairs, () => new JsPairs(core, handle));
  }

  find(item: Request): number {
    readRequest(item);
    const slot = this.#slotOf(namespaceOf, nameOf, this.#hash(namespaceOf, nameOf));
    if (slot === NOTHING) this.#core.exports.memoryPages();
    return slot;
  }

  intern(item: Request): number {
    readRequest(item);
    const namespace = namespaceOf;
    const name = nameOf;
    const hash = this.#hash(namespace, name);
    const known = this.#slotOf(namespace, name, hash);
    if (known !== NOTHING) return known;
    return this.#bind(this.#core.exports.keysSlotNew(this.#handle), namespace, name, hash);
  }

  add(item: Request, now: number): number {
    readRequest(item);
    const namespace = namespaceOf;
    const name = nameOf;
    const hash = this.#hash(namespace, name);
    const known = this.#slotOf(namespace, name, hash);
    if (known !== NOTHING) return this.#core.exports.queueAddSlot(this.#handle, known, now);
    return this.#bind(this.#core.exports.queueAddNew(this.#handle, now), namespace, name, hash);
  }

  wait(item: Request, at: number, how: number): number {
    readRequest(item);
    const namespace = namespaceOf;
    const name = nameOf;
    const hash = this.#hash(namespace, name);
    const known = this.#slotOf(namespace, name, hash);
    if (known !== NOTHING) return this.#core.exports.delayAddSlot(this.#handle, known, at, how);
    const slot = this.#core.exports.delayAddNew(this.#handle, at, how);
    return this.#bind(slot, namespace, name, hash);
  }

  addAt(item: Request, priority: number, now: number, after: number, how: number): number {
    const slot = this.intern(item);
    if (slot < 0) return slot;
    return addAtSlot(this, this.#core, this.#handle, slot, priority, now, after, how);
  }

  #hash(namespace: string, name: string): number {
    if (this.#buckets.how === BY_SAMPLE) return joinHashes(sample(namespace), sample(name));
    return joinHashes(whole(namespace), whole(name));
  }

  #slotOf(namespace: string, name: string, hash: number): number {
    const { entries, mask } = this.#buckets;
    const names = this.#names;
    let alike = 0;
    let i = hash & mask;
    for (let step = 0; step < REACH; step++) {
      const entry = entries[i] as number;
      if (entry === 0) break;
      if (((entry ^ hash) & ~mask) === 0) {
        const slot = (entry & mask) - 1;
        if (names[slot] === name && this.#namespaces[slot] === namespace) return slot;
        alike++;
      }
      i = (i + 1) & mask;
    }
    if (alike >= ALIKE) this.#buckets.isCrowded = true;
    return this.#buckets.crowd?.find(joinPair(namespace, name)) ?? NOTHING;
  }

  #bind(slot: number, namespace: string, name: string, hash: number): number {
    if (slot < 0) return slot;
    this.#namespaces[slot] = namespace;
    this.#names[slot] = name;
    if (this.#buckets.isCrowded || !this.#buckets.put(hash, slot)) this.#bindCrowded(slot);
    return slot;
  }

  #bindCrowded(slot: number): void {
    const namespace = (of: number): string => this.#namespaces[of] as string;
    const name = (of: number): string => this.#names[of] as string;
    this.#buckets.putCrowded(
      slot,
      (of) => joinHashes(whole(namespace(of)), whole(name(of))),
      (of) => joinPair(namespace(of), name(of)),
    );
  }

  released(slot: number): void {
    this.#buckets.remove(slot);
    this.#namespaces[slot] = '';
    this.#names[slot] = '';
  }

  closed(gone: Exporting): void {
    this.#core = gone;
    this.#namespaces.length = 0;
    this.#names.length = 0;
  }
}

/** The length keeps `('a', 'b/c')` and `('a/b', 'c')` apart. */
function joinPair(namespace: string, name: string): string {
  return `${namespace.length}/${namespace}/${name}`;
}
