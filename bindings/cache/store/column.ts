/**
 * The objects of a store by slot: JavaScript objects, or stored objects (bytes in the core).
 *
 * Invariants: a slot in use has an object or a stored object, never both; a slot below `end` that
 * has neither is free. A key has a slot or is in `spare`, never both.
 */

import { hasCode } from '../../base/errors.ts';
import type { CacheCore } from '../../wasm/cache-core.ts';
import { keyText } from '../../wasm/key-text.ts';
import { storedObjectOf } from '../bytes/lazy.ts';
import type { StoredObject } from '../bytes/stored-object.ts';
import type { StoredObjects } from '../bytes/stored-objects.ts';
import { DeletedFinalStateUnknown } from '../rest/keys.ts';

/** The content of a column, to be restored. */
export interface Held<T> {
  readonly objects: readonly (readonly [string, T])[];
  readonly storedObjects: readonly number[];
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

  /**
   * The object that each object of a list replaces, and tombstones of those that are not in the
   * list.
   */
  compare(
    objects: readonly T[],
    slotOf: (object: T) => number,
  ): { replaced: (T | undefined)[]; gone: DeletedFinalStateUnknown<T>[] } {
    const kept: true[] = [];
    const spare = new Set(this.spare.values());
    const replaced = objects.map((object) => {
      const slot = slotOf(object);
      if (slot < 0) {
        const old = this.spareOf(object);
        if (old !== undefined) spare.delete(old);
        return old;
      }
      kept[slot] = true;
      const stored = this.storedObjectOf(object);
      // An unchanged object of a list is the stored object itself.
      const same = stored !== undefined && this.storedObjects?.at(slot) === stored;
      return same ? object : this.last(slot);
    });
    const missing: DeletedFinalStateUnknown<T>[] = [];
    for (const slot of this.slots()) {
      if (kept[slot] === undefined)
        missing.push(new DeletedFinalStateUnknown(this.keyAt(slot), this.last(slot)));
    }
    for (const [key, object] of this.spare)
      if (spare.has(object)) missing.push(new DeletedFinalStateUnknown(key, object));
    return { replaced, gone: missing };
  }

  /** All objects of the column; they stay readable until `release`. */
  hold(): Held<T> {
    const objects = [...this.spare];
    this.objects.forEach((object, slot) => {
      if (object !== undefined) objects.push([this.keys[slot] as string, object]);
    });
    return { objects, storedObjects: this.storedObjects?.hold(this.end) ?? [] };
  }

  release(held: Held<T>): void {
    this.storedObjects?.letGo(held.storedObjects);
  }

  /**
   * Restores the held objects into a store that has been emptied. They fit before, but the objects
   * that came since may have split the blocks that their index entries need, and halves are not
   * merged again (assembly/memory.ts): an object that finds no block becomes spare.
   *
   * @param put may throw OUT_OF_MEMORY; called without a key for a stored object
   */
  restore(held: Held<T>, put: (object: T, key?: string) => void): void {
    const putBack = (object: T, key?: string): void => {
      try {
        put(object, key);
      } catch (error) {
        if (!hasCode(error, 'OUT_OF_MEMORY')) throw error;
        this.spare.set(key ?? this.#keyOf(object), object);
      }
    };
    for (const [key, object] of held.objects) putBack(object, key);
    const storedObjects = this.storedObjects as StoredObjects;
    for (const id of held.storedObjects)
      putBack(storedObjects.lastObjectOf(storedObjects.held(id)) as T);
  }
}
