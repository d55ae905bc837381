/**
 * The seam between items and slots of the core. Two implementations keep the same promise (any
 * string is a key, no two merge, a slot is its key's until it is forgotten):
 *
 * - Wasm: the core hashes the strings itself through the engine's string functions and keeps the
 *   keys;
 * - JS: a Map interns them and the core sees slots only.
 *
 * key-mode.ts says which one a table has.
 */

import { CapstanError, invalid, requireFunction, show } from '../base/errors.ts';
import { hasMore, type Request, requestKey } from '../base/request.ts';
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

/** Makes the table of `handle`. Items are strings unless there is a key function. */
export function keyTable<T>(
  core: Core,
  handle: number,
  key: KeyFunction<T> | undefined,
): KeyTable<T> {
  if (key !== undefined) requireFunction('key', key);
  const wasm = hashesInWasm(core);
  if (isRequestKey(key)) {
    const table = wasm ? new WasmPairs(core, handle) : new JsPairs(core, handle);
    return table as unknown as KeyTable<T>;
  }
  const text = textFunction(key);
  return wasm ? new WasmTexts(core, handle, text) : new JsTexts(core, handle, text);
}

/** Any item of a queue without a key function. */
function stringItem(item: unknown): string {
  if (typeof item === 'string') return item;
  throw invalid('item', 'a string (for other items pass a "key" function)', item);
}

/**
 * Any item of a limiter without a key function. A controller hands it requests, whatever it was
 * made with; the length keeps `('a', 'b/c')` and `('a/b', 'c')` apart. An item with more than the
 * two parts is another kind of item: they alone would merge those of two clusters. What it throws
 * is a CapstanError.
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
  return `${namespaceOf.length}/${namespaceOf}/${nameOf}`;
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
 * A table that finds slots in JS; subclasses say how. Invariant: an item has a slot here exactly
 * while the core's record is in use.
 */
abstract class JsKeys<T> implements KeyTable<T> {
  #core: Exporting;
  readonly #handle: number;

  constructor(core: Core, handle: number) {
    this.#core = core;
    this.#handle = handle;
  }

  protected abstract lookUp(item: T): number;
  /** Remembers the slot of the item that was looked up last. */
  protected abstract bind(slot: number): void;
  protected abstract forgetAll(): void;
  abstract released(slot: number): void;

  closed(gone: Exporting): void {
    this.#core = gone;
    this.forgetAll();
  }

  /**
   * An unknown key needs no call of the core. One is made all the same, so that a poisoned instance
   * throws.
   */
  find(item: T): number {
    const slot = this.lookUp(item);
    if (slot === NOTHING) this.#core.exports.memoryPages();
    return slot;
  }

  intern(item: T): number {
    const known = this.lookUp(item);
    if (known !== NOTHING) return known;
    const slot = this.#core.exports.keysSlotNew(this.#handle);
    if (slot >= 0) this.bind(slot);
    return slot;
  }

  add(item: T, now: number): number {
    const slot = this.intern(item);
    return slot < 0 ? slot : this.#core.exports.queueAddSlot(this.#handle, slot, now);
  }

  wait(item: T, at: number, how: number): number {
    const slot = this.intern(item);
    if (slot < 0) return slot;
    return this.#orGiveBack(slot, this.#core.exports.delayAddSlot(this.#handle, slot, at, how));
  }

  addAt(item: T, priority: number, now: number, after: number, how: number): number {
    const slot = this.intern(item);
    if (slot < 0) return slot;
    return this.#orGiveBack(
      slot,
      this.#core.exports.priorityAddSlot(this.#handle, slot, priority, now, after, how),
    );
  }

  /** A slot that was taken for an add that found no memory. */
  #orGiveBack(slot: number, code: number): number {
    if (code === NO_MEMORY && this.#core.exports.queueState(this.#handle, slot) === 0)
      this.#giveBack(slot);
    return code;
  }

  #giveBack(slot: number): void {
    this.#core.exports.keysRelease(this.#handle, slot);
    this.released(slot);
  }
}

class JsTexts<T> extends JsKeys<T> {
  readonly #text: KeyFunction<T>;
  readonly #slots = new Map<string, number>();
  readonly #texts: string[] = []; // by slot, as long as it is in use
  #last = ''; // looked up last: the key function is called once

  constructor(core: Core, handle: number, text: KeyFunction<T>) {
    super(core, handle);
    this.#text = text;
  }

  protected lookUp(item: T): number {
    this.#last = this.#text(item);
    return this.#slots.get(this.#last) ?? NOTHING;
  }

  protected bind(slot: number): void {
    this.#slots.set(this.#last, slot);
    this.#texts[slot] = this.#last;
  }

  released(slot: number): void {
    this.#slots.delete(this.#texts[slot] as string);
    this.#texts[slot] = '';
  }

  protected forgetAll(): void {
    this.#slots.clear();
    this.#texts.length = 0;
  }
}

/**
 * Name within namespace: neither string is joined, and each keeps the hash that the engine has
 * cached in it.
 */
class JsPairs extends JsKeys<Request> {
  readonly #namespaces = new Map<string, Map<string, number>>();
  // by slot; copies, as a caller may change its object
  readonly #keys: (Request | undefined)[] = [];

  protected lookUp(item: Request): number {
    readRequest(item);
    return this.#namespaces.get(namespaceOf)?.get(nameOf) ?? NOTHING;
  }

  protected bind(slot: number): void {
    let names = this.#namespaces.get(namespaceOf);
    if (names === undefined) {
      names = new Map();
      this.#namespaces.set(namespaceOf, names);
    }
    names.set(nameOf, slot);
    this.#keys[slot] = { namespace: namespaceOf, name: nameOf };
  }

  released(slot: number): void {
    const { namespace, name } = this.#keys[slot] as Request;
    const names = this.#namespaces.get(namespace) as Map<string, number>;
    names.delete(name);
    if (names.size === 0) this.#namespaces.delete(namespace);
    this.#keys[slot] = undefined;
  }

  protected forgetAll(): void {
    this.#namespaces.clear();
    this.#keys.length = 0;
  }
}
