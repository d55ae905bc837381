/**
 * Column: the objects of a store by slot, as JavaScript objects or as stored objects (bytes in the
 * core).
 *
 * Invariants: a slot in use has an object or a stored object, never both; a slot below `end` that
 * has neither is free. A key has a slot or is in `spare`, never both.
 */

import { hasCode } from '../../base/errors.ts';
import type { IsOver, Steps } from '../../base/wait.ts';
import type { CacheCore } from '../../wasm/cache-core.ts';
import { keyText } from '../../wasm/key-text.ts';
import { storedObjectOf } from '../bytes/lazy.ts';
import type { StoredObject } from '../bytes/stored-object.ts';
import type { StoredObjects } from '../bytes/stored-objects.ts';

/** Objects of a column at one time. */
interface Objects<T> {
  readonly objects: readonly T[];
  /** The numbers of stored objects, each with a reference in the core. */
  readonly numbers: readonly number[];
}

export class Column<T extends object> {
  readonly #core: CacheCore;
  readonly #table: number;
  readonly #keyOf: (object: T) => string;
  readonly storedObjects: StoredObjects | undefined;
  readonly objects: (T | undefined)[] = [];
  /** Keys of the slots with an object; keys of stored objects are in the core only. */
  readonly keys: (string | undefined)[] = [];
  /**
   * Objects by key that got no slot because memory ran out; they are in no index. Only after a
   * failed list, until the next one.
   */
  readonly spare = new Map<string, T>();
  end = 0;

  /** @param table the key table of the store, in `core` */
  constructor(
    core: CacheCore,
    table: number,
    storedObjects: StoredObjects | undefined,
    keyOf: (object: T) => string,
  ) {
    this.#core = core;
    this.#table = table;
    this.#keyOf = keyOf;
    this.storedObjects = storedObjects;
  }

  /**
   * The stored object of an object that a decoder of this store made, while its bytes are in the
   * core.
   */
  storedObjectOf(object: T): StoredObject | undefined {
    if (this.storedObjects === undefined) return undefined;
    const stored = storedObjectOf(object);
    return stored !== undefined && stored.owner === this.storedObjects && stored.id >= 0
      ? stored
      : undefined;
  }

  has(slot: number): boolean {
    return this.objects[slot] !== undefined || (this.storedObjects?.has(slot) ?? false);
  }

  at(slot: number): T | undefined {
    const object = this.objects[slot];
    if (object !== undefined || this.storedObjects === undefined || slot < 0) return object;
    const stored = this.storedObjects.at(slot);
    return stored === undefined ? undefined : (this.storedObjects.objectOf(stored) as T);
  }

  /** As `at`, for an object that will be replaced or removed. */
  last(slot: number): T | undefined {
    const object = this.objects[slot];
    if (object !== undefined || this.storedObjects === undefined || slot < 0) return object;
    const stored = this.storedObjects.at(slot);
    return stored === undefined ? undefined : (this.storedObjects.lastObjectOf(stored) as T);
  }

  keyAt(slot: number): string {
    return this.keys[slot] ?? keyText(this.#core, this.#table, slot);
  }

  /**
   * The slots in use. Calls the core even if it has none of the objects, because after a trap every
   * call must throw.
   */
  *slots(): Generator<number> {
    this.#core.exports.memoryPages();
    for (let slot = 0; slot < this.end; slot++) if (this.has(slot)) yield slot;
  }

  /** Slots and objects, without the spare ones. */
  *entries(): Generator<readonly [number, T]> {
    for (const slot of this.slots()) yield [slot, this.at(slot) as T];
  }

  list(): T[] {
    const objects = [...this.spare.values()];
    for (const slot of this.slots()) objects.push(this.at(slot) as T);
    return objects;
  }

  listKeys(): string[] {
    const keys = [...this.spare.keys()];
    for (const slot of this.slots()) keys.push(this.keyAt(slot));
    return keys;
  }

  /** The spare object of an object's key. */
  spareOf(object: T): T | undefined {
    return this.spare.size === 0 ? undefined : this.spare.get(this.#keyOf(object));
  }

  dropSpare(object: T): void {
    if (this.spare.size > 0) this.spare.delete(this.#keyOf(object));
  }

  /** The objects of slots in use. */
  all(slots: Uint32Array): T[] {
    const all: T[] = [];
    if (this.storedObjects === undefined) {
      for (let i = 0; i < slots.length; i++) all.push(this.objects[slots[i] as number] as T);
    } else {
      // a copy, because each object is a call into the core, which may overwrite `slots`
      for (const slot of slots.slice()) all.push(this.at(slot) as T);
    }
    return all;
  }

  /** The objects of some slots, or all, as they are now. */
  #snapshot(slots?: Uint32Array): Objects<T> {
    const objects: T[] = slots === undefined ? [...this.spare.values()] : [];
    const numbers: number[] = [];
    const take = (slot: number): void => {
      const object = this.objects[slot];
      if (object !== undefined) objects.push(object);
      else {
        const id = this.storedObjects?.retain(slot) ?? -1;
        if (id >= 0) numbers.push(id);
      }
    };
    if (slots !== undefined) for (const slot of slots.slice()) take(slot);
    else {
      this.#core.exports.memoryPages(); // see slots()
      for (let slot = 0; slot < this.end; slot++) take(slot);
    }
    return { objects, numbers };
  }

  /**
   * The objects of some slots, or all, as they are at the first step.
   *
   * @param matches selects objects, which it must not keep
   */
  *matching(
    slots: Uint32Array | undefined,
    matches: ((object: T) => boolean) | undefined,
    isOver: IsOver,
  ): Steps<T[]> {
    const { storedObjects } = this;
    const { objects, numbers } = this.#snapshot(slots);
    const found: T[] = [];
    let taken = 0;
    try {
      for (const object of objects) {
        if (matches === undefined || matches(object)) found.push(object);
        if (isOver()) yield;
      }
      while (storedObjects !== undefined && taken < numbers.length) {
        const id = numbers[taken] as number;
        if (matches === undefined || matches(storedObjects.lookAt(id) as T))
          found.push(storedObjects.objectOf(storedObjects.held(id)) as T);
        taken++;
        storedObjects.release(id);
        if (isOver()) yield;
      }
    } finally {
      for (; taken < numbers.length; taken++) storedObjects?.release(numbers[taken] as number);
    }
    return found;
  }

  putObject(slot: number, key: string, object: T): void {
    if (this.objects[slot] === undefined) this.storedObjects?.remove(slot);
    this.objects[slot] = object;
    // otherwise keep the old string, which is flattened and in the old generation
    if (this.keys[slot] === undefined) this.keys[slot] = key;
    this.spare.delete(key);
    if (slot >= this.end) this.end = slot + 1;
  }

  /**
   * @param changes compared with the stored object of the slot
   * @param noListeners no handler gets the decoded object
   */
  putStored(slot: number, stored: StoredObject, changes: number, noListeners: boolean): void {
    this.storedObjects?.put(slot, stored, changes, noListeners);
    if (this.objects[slot] !== undefined) {
      this.objects[slot] = undefined;
      this.keys[slot] = undefined;
    }
    if (this.spare.size > 0) this.spare.delete(this.keyAt(slot));
    if (slot >= this.end) this.end = slot + 1;
  }

  remove(slot: number): void {
    this.storedObjects?.remove(slot);
    this.objects[slot] = undefined;
    this.keys[slot] = undefined;
  }

  /** An object of a slot in use, or the number of its stored object, held until `release`. */
  hold(slot: number): T | number {
    return this.objects[slot] ?? (this.storedObjects as StoredObjects).retain(slot);
  }

  /** The object of a held number, which the caller gets before it is released. */
  lastHeld(number: number): T {
    const storedObjects = this.storedObjects as StoredObjects;
    return storedObjects.lastObjectOf(storedObjects.held(number)) as T;
  }

  release(number: number): void {
    this.storedObjects?.release(number);
  }

  /**
   * Restores an object into a store that does not have its key. It fitted before, but the objects
   * that came since may have split the blocks that its index entries need, and halves are not
   * merged again (assembly/memory.ts): if it finds no block, it becomes spare.
   *
   * @param put may throw OUT_OF_MEMORY
   */
  putBack(object: T, key: string | undefined, put: () => void): void {
    try {
      put();
    } catch (error) {
      if (!hasCode(error, 'OUT_OF_MEMORY')) throw error;
      this.spare.set(key ?? this.#keyOf(object), object);
    }
  }
}
