/**
 * The seam between items and slots of the core. Two implementations keep the same promise (any string is a key, no two
 * merge, a slot is its key's until it is forgotten):
 *
 * - Wasm: the core hashes the strings itself through the engine's string functions and keeps the keys;
 * - JS: a Map interns them and the core sees slots only. The default where the engine has no string functions (a hash costs
 *   240-300 ns there) and on Bun, where they are slower than its Map.
 */
import { type Core, hasNativeStrings, NO_MEMORY, NOTHING } from './core.ts';
import { CapstanError, invalid, requireFunction, show } from './errors.ts';
import { type Request, requestKey } from './request.ts';

export type KeyFunction<T> = (item: T) => string;

/**
 * The keys of one table of the core: a queue, a limiter, the values of an index. Every answer may also be NO_MEMORY.
 * Whatever a method throws that is no CapstanError is a trap: callers pass it to Core.trapped.
 */
export interface KeyTable<T> {
  /** The slot of an item, or NOTHING. */
  find(item: T): number;
  /** The slot of an item, which gets one if it has none. */
  intern(item: T): number;
  /** queueAdd, delayAdd, limiterFail and limiterCount of assembly/, by item. */
  add(item: T, now: number): number;
  wait(item: T, at: number): number;
  fail(item: T): number;
  count(item: T): number;
  /** limiterForget: the slot given back, or NOTHING. */
  forget(item: T): number;
  /** The core has given this slot back. */
  released(slot: number): void;
}

export type KeyMode = 'wasm' | 'js';

let chosen: KeyMode | undefined;

/** Which implementation new tables use; for tests and benchmarks. `undefined`: the default of the runtime. */
export function setKeyMode(mode: KeyMode | undefined): void {
  chosen = mode;
}

export function keyMode(): KeyMode {
  if (chosen === undefined) chosen = hasNativeStrings() && !('Bun' in globalThis) ? 'wasm' : 'js';
  return chosen;
}

function isRequestKey<T>(key: KeyFunction<T> | undefined): boolean {
  return (key as unknown) === requestKey;
}

/** Makes the table of `handle`. Items are strings unless there is a key function. */
export function keyTable<T>(core: Core, handle: number, key: KeyFunction<T> | undefined): KeyTable<T> {
  if (key !== undefined) requireFunction('key', key);
  if (isRequestKey(key)) {
    const table = keyMode() === 'wasm' ? new WasmPairs(core, handle) : new JsPairs(core, handle);
    return table as unknown as KeyTable<T>;
  }
  const text = key === undefined ? (stringItem as KeyFunction<T>) : textOf(key);
  return keyMode() === 'wasm' ? new WasmTexts(core, handle, text) : new JsTexts(core, handle, text);
}

/** Any item of a queue without a key function. */
function stringItem(item: unknown): string {
  if (typeof item === 'string') return item;
  throw invalid('item', 'a string (for other items pass a "key" function)', item);
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

function checkRequest(item: Request): void {
  if (typeof item?.namespace === 'string' && typeof item.name === 'string') return;
  const got =
    typeof item === 'object' && item !== null
      ? `{ namespace: ${show(item.namespace)}, name: ${show(item.name)} }`
      : show(item);
  throw new CapstanError(
    'INVALID_ARGUMENT',
    `"item" expected a request { namespace: string, name: string }, got ${got}`,
  );
}

class WasmTexts<T> implements KeyTable<T> {
  readonly #core: Core;
  readonly #handle: number;
  readonly #text: KeyFunction<T>;

  constructor(core: Core, handle: number, text: KeyFunction<T>) {
    this.#core = core;
    this.#handle = handle;
    this.#text = text;
  }

  add(item: T, now: number): number {
    return this.#core.x.queueAdd(this.#handle, this.#text(item), now);
  }

  wait(item: T, at: number): number {
    return this.#core.x.delayAdd(this.#handle, this.#text(item), at);
  }

  find(item: T): number {
    return this.#core.x.keysFind(this.#handle, this.#text(item));
  }

  intern(item: T): number {
    return this.#core.x.keysIntern(this.#handle, this.#text(item));
  }

  fail(item: T): number {
    return this.#core.x.limiterFail(this.#handle, this.#text(item));
  }

  count(item: T): number {
    return this.#core.x.limiterCount(this.#handle, this.#text(item));
  }

  forget(item: T): number {
    return this.#core.x.limiterForget(this.#handle, this.#text(item));
  }

  released(): void {}
}

class WasmPairs implements KeyTable<Request> {
  readonly #core: Core;
  readonly #handle: number;

  constructor(core: Core, handle: number) {
    this.#core = core;
    this.#handle = handle;
  }

  add(item: Request, now: number): number {
    checkRequest(item);
    return this.#core.x.queueAddPair(this.#handle, item.namespace, item.name, now);
  }

  wait(item: Request, at: number): number {
    checkRequest(item);
    return this.#core.x.delayAddPair(this.#handle, item.namespace, item.name, at);
  }

  find(item: Request): number {
    checkRequest(item);
    return this.#core.x.keysFindPair(this.#handle, item.namespace, item.name);
  }

  intern(item: Request): number {
    checkRequest(item);
    return this.#core.x.keysInternPair(this.#handle, item.namespace, item.name);
  }

  fail(item: Request): number {
    checkRequest(item);
    return this.#core.x.limiterFailPair(this.#handle, item.namespace, item.name);
  }

  count(item: Request): number {
    checkRequest(item);
    return this.#core.x.limiterCountPair(this.#handle, item.namespace, item.name);
  }

  forget(item: Request): number {
    checkRequest(item);
    return this.#core.x.limiterForgetPair(this.#handle, item.namespace, item.name);
  }

  released(): void {}
}

/** A table that finds slots in JS; subclasses say how. Invariant: an item has a slot here exactly while the core's record is in use. */
abstract class JsKeys<T> implements KeyTable<T> {
  readonly #core: Core;
  readonly #handle: number;

  constructor(core: Core, handle: number) {
    this.#core = core;
    this.#handle = handle;
  }

  abstract find(item: T): number;
  protected abstract bind(item: T, slot: number): void;
  abstract released(slot: number): void;

  intern(item: T): number {
    const known = this.find(item);
    if (known !== NOTHING) return known;
    const slot = this.#core.x.keysSlotNew(this.#handle);
    if (slot >= 0) this.bind(item, slot);
    return slot;
  }

  add(item: T, now: number): number {
    const slot = this.intern(item);
    return slot < 0 ? slot : this.#core.x.queueAddSlot(this.#handle, slot, now);
  }

  wait(item: T, at: number): number {
    const slot = this.intern(item);
    if (slot < 0) return slot;
    const code = this.#core.x.delayAddSlot(this.#handle, slot, at);
    if (code === NO_MEMORY && this.#core.x.queueState(this.#handle, slot) === 0) this.#giveBack(slot);
    return code;
  }

  fail(item: T): number {
    const slot = this.intern(item);
    return slot < 0 ? slot : this.#core.x.limiterFailSlot(this.#handle, slot);
  }

  count(item: T): number {
    const slot = this.find(item);
    return slot === NOTHING ? 0 : this.#core.x.limiterCountSlot(this.#handle, slot);
  }

  forget(item: T): number {
    const slot = this.find(item);
    if (slot !== NOTHING) this.#giveBack(slot);
    return slot;
  }

  #giveBack(slot: number): void {
    this.#core.x.keysRelease(this.#handle, slot);
    this.released(slot);
  }
}

class JsTexts<T> extends JsKeys<T> {
  readonly #text: KeyFunction<T>;
  readonly #slots = new Map<string, number>();
  readonly #texts: string[] = []; // by slot, as long as it is in use

  constructor(core: Core, handle: number, text: KeyFunction<T>) {
    super(core, handle);
    this.#text = text;
  }

  find(item: T): number {
    return this.#slots.get(this.#text(item)) ?? NOTHING;
  }

  protected bind(item: T, slot: number): void {
    const text = this.#text(item);
    this.#slots.set(text, slot);
    this.#texts[slot] = text;
  }

  released(slot: number): void {
    this.#slots.delete(this.#texts[slot] as string);
    this.#texts[slot] = '';
  }
}

/** Name within namespace: neither string is joined, and each keeps the hash that the engine has cached in it. */
class JsPairs extends JsKeys<Request> {
  readonly #namespaces = new Map<string, Map<string, number>>();
  readonly #keys: (Request | undefined)[] = []; // by slot; copies, as a caller may change its object

  find(item: Request): number {
    checkRequest(item);
    return this.#namespaces.get(item.namespace)?.get(item.name) ?? NOTHING;
  }

  protected bind(item: Request, slot: number): void {
    let names = this.#namespaces.get(item.namespace);
    if (names === undefined) {
      names = new Map();
      this.#namespaces.set(item.namespace, names);
    }
    names.set(item.name, slot);
    this.#keys[slot] = { namespace: item.namespace, name: item.name };
  }

  released(slot: number): void {
    const { namespace, name } = this.#keys[slot] as Request;
    const names = this.#namespaces.get(namespace) as Map<string, number>;
    names.delete(name);
    if (names.size === 0) this.#namespaces.delete(namespace);
    this.#keys[slot] = undefined;
  }
}
