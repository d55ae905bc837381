/**
 * The indexed store: objects by key, and keys by index value. A change is computed whole (key,
 * index values) before anything is touched, so that a key or index function that throws leaves the
 * store as it was. client-go: tools/cache/index.go, tools/cache/thread_safe_store.go.
 *
 * Keys, index values and the sets of slots under them live in the core, in an instance of the
 * store's own that goes when the store goes. The objects themselves stand in an array by slot, or,
 * those that a decoder of this store has left as bytes, in the core too.
 */

import { invalid, requireString } from '../../base/errors.ts';
import { NO_MEMORY } from '../../generated/abi.ts';
import { CacheCore } from '../../wasm/cache-core.ts';
import { hashesInWasm } from '../../wasm/key-mode.ts';
import { type TextTable, textTable } from '../../wasm/text-table.ts';
import { ByteDecoder, type ByteDecoderOptions } from '../bytes/decoder.ts';
import { noteSlot, toObject } from '../bytes/lazy.ts';
import type { StoredObject } from '../bytes/stored-object.ts';
import { StoredObjects } from '../bytes/stored-objects.ts';
import type { ExpectedKind } from '../decode/decoder.ts';
import {
  DeletedFinalStateUnknown,
  deletionHandlingMetaNamespaceKeyFunc,
  type KubeObject,
  resourceVersionOf,
} from '../rest/keys.ts';
import type { IndexSpec } from '../rest/resource.ts';
import { Column, type Held } from './column.ts';
import { Indices, type Values } from './indices.ts';
import { applyTransaction, type Transaction } from './store-types.ts';

/**
 * A store with indices, filled by an informer or by hand. What it hands out is what it was given:
 * read-only by agreement, and each list a new array.
 *
 * Key and index functions are called once per change. An index function may give a value twice or
 * none at all; one that throws is a programmer's error, which the caller of `add` gets.
 *
 * @example
 * const pods = new Indexer<V1Pod, 'byNode'>(undefined, { byNode: 'spec.nodeName' });
 * pods.add(pod);
 * pods.byIndex('byNode', 'node-1');
 */
export class Indexer<T extends object = KubeObject, I extends string = string> {
  readonly #keyFunc: (object: T | DeletedFinalStateUnknown<T>) => string;
  readonly #core = new CacheCore();
  /** The exports while they can be trusted; the core replaces its own after a trap. */
  readonly #x = this.#core.exports;
  readonly #table: number;
  readonly #slots: TextTable;
  readonly #column: Column<T>;
  /** The column's, at hand. */
  readonly #objects: readonly (T | undefined)[];
  readonly #keys: readonly (string | undefined)[];
  readonly #indices: Indices<T>;
  /**
   * The slot that getByKey found last, and whether it was the next of the one before: see there.
   */
  #last = -1;
  #inOrder = false;
  /** @internal What the last `exchange` changed, as bits (change.ts), where it compared bytes. */
  exchanged: number | undefined;
  /** Text, or the object that brought it. */
  #resourceVersion: string | T = '';
  /**
   * @internal The keys of objects for which an index function has thrown, where that is no error of
   * the change's: in the order in which they were last asked.
   */
  protected readonly unindexed: Set<string> = new Set();

  /**
   * @param keyFunc default {@link deletionHandlingMetaNamespaceKeyFunc}
   * @param indexers functions or paths by index name
   * @param bytes for this package alone: what the objects are that a decoder of this store will
   *   leave as bytes
   */
  constructor(
    keyFunc: (
      object: T | DeletedFinalStateUnknown<T>,
    ) => string = deletionHandlingMetaNamespaceKeyFunc,
    indexers?: Record<I, IndexSpec<T>>,
    bytes?: ExpectedKind,
  ) {
    if (typeof keyFunc !== 'function') throw invalid('keyFunc', 'a function', keyFunc);
    this.#keyFunc = keyFunc;
    this.#table = this.#core.exports.keysNew();
    if (this.#table === 0) throw this.#core.outOfMemory();
    const inWasm = bytes !== undefined || hashesInWasm(this.#core);
    this.#slots = textTable(this.#core, this.#table, inWasm);
    this.#indices = new Indices<T>(this.#core, inWasm, (...failed) => this.indexFailed(...failed));
    const storedObjects =
      bytes === undefined
        ? undefined
        : new StoredObjects(this.#core, this.#table, bytes.shown ?? bytes);
    this.#column = new Column<T>(this.#core, this.#table, storedObjects, (object) =>
      this.#keyOf(toObject(object)),
    );
    this.#objects = this.#column.objects;
    this.#keys = this.#column.keys;
    this.addIndexers(indexers ?? {});
  }

  /** Stores an object under its key, whether or not the key is there. */
  add(object: T): void {
    const stored = this.#column.storedObjectOf(object);
    if (stored !== undefined) this.#meet(stored, object);
    else this.#putObject(toObject(object));
    this.#newest(object);
  }

  /** The same as `add`. */
  update(object: T): void {
    this.add(object);
  }

  /**
   * Removes the object's key; one that is not there: no effect on the content. An object brings the
   * store's resource version with it, a tombstone does not.
   */
  delete(object: T | DeletedFinalStateUnknown<T>): void {
    const tombstone = object instanceof DeletedFinalStateUnknown;
    const stored = tombstone ? undefined : this.#column.storedObjectOf(object);
    if (stored !== undefined) stored.markHandedOut(); // the caller holds it
    const slot = tombstone ? this.#find(object.key) : this.#slotOf(object);
    if (slot >= 0) {
      // A tombstone and a key bring no version, and the object that brought the store's may be the
      // one that goes, with bytes that nobody else needs.
      if (stored === undefined) this.#resourceVersion = this.lastStoreSyncResourceVersion();
      this.#removeSlot(slot);
    } else if (tombstone) this.#column.spare.delete(object.key);
    else this.#column.dropSpare(object);
    if (!tombstone) this.#newest(object);
  }

  /**
   * Makes the list the whole content. Of objects with one key the last wins. On an error nothing
   * has changed, save that indices may not find some objects where the memory ended: until they are
   * put again, or another list.
   * @param noListeners for this package alone: nobody will see the objects
   */
  replace(list: readonly T[], resourceVersion: string, noListeners = false): void {
    requireString('resourceVersion', resourceVersion);
    const objects = Array.from(list); // read once: key and index functions are a user's
    const keys: (string | undefined)[] = [];
    const values: (Values[] | undefined)[] = [];
    objects.forEach((object, i) => {
      if (this.#column.storedObjectOf(object) !== undefined) return;
      const key = this.#keyOf(object);
      keys[i] = key;
      this.unindexed.delete(key);
      values[i] = this.#indices.valuesOf(toObject(object));
    });
    // the object that brought it may go, and the list fail after that
    this.#resourceVersion = this.lastStoreSyncResourceVersion();
    const before = this.#column.hold();
    try {
      this.#keepOnly(objects, keys); // first: what goes leaves room for what comes
      objects.forEach((object, i) => {
        const stored = this.#column.storedObjectOf(object);
        if (stored !== undefined) this.#meet(stored, object, noListeners);
        // Without a key: its stored object has left the core since, as the list named it, then
        // another of its key, and now it again.
        else this.#putObject(toObject(object), keys[i], values[i]);
      });
    } catch (error) {
      this.#restore(before);
      throw error;
    } finally {
      this.#column.letGo(before);
    }
    this.#column.spare.clear();
    this.#resourceVersion = resourceVersion;
  }

  /** The stored object with this object's key. */
  get(object: T): T | undefined {
    return this.#column.at(this.#slotOf(object)) ?? this.#column.spareOf(object);
  }

  getByKey(key: string): T | undefined {
    // Who goes through the keys in the order in which they came, as the first reconcile of
    // everything does, is spared the hash (49 → 11 ns with 100 000 keys). Who does not is not asked
    // twice: comparing with a wrong key costs 20 to 100 ns.
    const next = this.#last + 1;
    let slot = next;
    if (
      !(
        this.#inOrder &&
        typeof key === 'string' &&
        key === this.#keys[next] &&
        this.#core.exports === this.#x
      )
    ) {
      slot = this.#find(key);
      if (slot < 0) return this.#column.spare.get(key);
      this.#inOrder = slot === next;
    }
    this.#last = slot;
    return this.#objects[slot] ?? this.#column.at(slot);
  }

  /**
   * @internal As `getByKey`. Of a name that an object of this store gave (nameOfStored) no key is
   * made and hashed a second time.
   */
  getByName(key: {
    readonly namespace?: string | undefined;
    readonly name: string;
  }): T | undefined {
    const named = this.#column.storedObjects?.objectNamed(key);
    if (named !== undefined) return named as T;
    const { namespace, name } = key;
    const object = this.getByKey(namespace ? `${namespace}/${name}` : name);
    if (object !== undefined) noteSlot(key, this.#last);
    return object;
  }

  /** In no order that means anything. */
  list(): T[] {
    return this.#column.list();
  }

  /** In no order that means anything. */
  listKeys(): string[] {
    return this.#column.listKeys();
  }

  /**
   * The objects that share an index value with this one, each once.
   *
   * @throws CapstanError UNKNOWN_INDEX
   */
  index(name: I, object: T): T[] {
    const { map, valuesOf } = this.#indices.get(name);
    const values = valuesOf(object);
    if (typeof values === 'string') return this.#column.all(map.slots(values));
    const slots = new Set<number>();
    for (const value of values) for (const slot of map.slots(value)) slots.add(slot);
    return this.#column.all(Uint32Array.from(slots));
  }

  /**
   * The objects under an index value.
   *
   * @throws CapstanError UNKNOWN_INDEX
   */
  byIndex(name: I, value: string): T[] {
    return this.#column.all(this.#indices.get(name).map.slots(value));
  }

  /**
   * The keys under an index value, sorted by code unit.
   *
   * @throws CapstanError UNKNOWN_INDEX
   */
  indexKeys(name: I, value: string): string[] {
    const slots = this.#indices.get(name).map.slots(value).slice();
    const keys: string[] = [];
    for (let i = 0; i < slots.length; i++) keys.push(this.#column.keyAt(slots[i] as number));
    return keys.sort();
  }

  /** All values of an index under which there is an object; [] for an index that does not exist. */
  listIndexFuncValues(name: string): string[] {
    return this.#indices.find(name)?.map.values() ?? [];
  }

  /**
   * Adds indices, also over objects that are stored already.
   *
   * @throws CapstanError INDEX_EXISTS for a name that is taken; then none is added
   */
  addIndexers(more: Record<string, IndexSpec<T>>): void {
    this.#indices.add(more, this.#column);
  }

  /** The indices as they were given. */
  getIndexers(): Record<string, IndexSpec<T>> {
    return this.#indices.specs();
  }

  /** The server's version is this one; no object changed. */
  bookmark(resourceVersion: string): void {
    requireString('resourceVersion', resourceVersion);
    this.#resourceVersion = resourceVersion;
  }

  /** The resource version that the last change or bookmark brought. */
  lastStoreSyncResourceVersion(): string {
    const stored = this.#resourceVersion;
    if (typeof stored === 'string') return stored;
    return resourceVersionOf(stored) ?? '';
  }

  /** Nothing: a store has nobody to send its content to again. */
  resync(): void {}

  /** How many objects there are. */
  size(): number {
    return this.#core.exports.keysUsed(this.#table) + this.#column.spare.size;
  }

  /**
   * @internal As `add`; gives the object that was there before. `noListeners`: nobody will see
   *   either of them.
   */
  exchange(object: T, noListeners: boolean): T | undefined {
    const stored = this.#column.storedObjectOf(object);
    if (stored === undefined) {
      this.exchanged = undefined;
      const old = this.get(object);
      this.add(object);
      return old;
    }
    const storedObjects = this.#column.storedObjects as StoredObjects;
    const given = noListeners ? undefined : toObject(object);
    let old = storedObjects.supersede(stored, this.#indices.dependsOn, given) as T | undefined;
    const { metSlot: slot, changes } = storedObjects;
    this.exchanged = storedObjects.superseded ? changes : undefined;
    if (!storedObjects.superseded) {
      if (!noListeners) old = this.#column.last(slot) ?? this.#column.spareOf(object);
      this.#putStored(stored, given ?? object, slot, changes, noListeners);
      if (given !== undefined) storedObjects.handOut(stored, given);
    }
    this.#resourceVersion = object;
    return old;
  }

  /**
   * What a replace by these objects would do, for who has to tell: the object that each of them
   * replaces, and those that it would remove.
   *
   * @internal
   */
  compare(objects: readonly T[]): {
    replaced: (T | undefined)[];
    gone: DeletedFinalStateUnknown<T>[];
  } {
    return this.#column.compare(objects, (object) => this.#slotOf(object));
  }

  /** @internal The decoder whose objects this store keeps as bytes. Made for such a store only. */
  decoder(expected: ExpectedKind, options?: ByteDecoderOptions): ByteDecoder<T> {
    return new ByteDecoder<T>(
      this.#core,
      this.#column.storedObjects as StoredObjects,
      expected,
      options,
    );
  }

  /** @internal Objects that were decoded and not stored by now are no longer kept for it. */
  settle(): void {
    this.#column.storedObjects?.settle();
  }

  /** Bytes of the objects that are kept as bytes, and of the memory they lie in. */
  bytes(): { live: number; total: number } {
    return this.#column.storedObjects?.bytes() ?? { live: 0, total: 0 };
  }

  /**
   * @internal How many of the objects, or of this one of them, had room for their metadata alone.
   */
  metadataOnly(object?: T): number {
    return this.#column.storedObjects?.marked(object) ?? 0;
  }

  /**
   * Makes several changes in their order; those that fail are left out.
   *
   * @throws TransactionError when some failed
   */
  transaction(...changes: readonly Transaction<T>[]): void {
    applyTransaction(this, changes);
  }

  /** What becomes of an index function's error. Here it goes to the caller of the change. */
  protected indexFailed(_index: string, error: unknown, _object: T): readonly string[] {
    throw error;
  }

  /** @internal Asks the index functions of one object again; one that is not there: no effect. */
  protected indexAgain(key: string): void {
    const slot = this.#find(key);
    if (slot < 0) return;
    const values = this.#indices.valuesOf(this.#column.at(slot) as T);
    this.#indices.set(slot, values, () => this.#valuesAt(slot));
  }

  #putObject(object: T, key = this.#keyOf(object), known?: readonly Values[]): void {
    if (known === undefined && this.unindexed.size > 0) this.unindexed.delete(key);
    const values = known ?? this.#indices.valuesOf(object);
    const slot = this.#intern(key);
    const fresh = !this.#column.has(slot);
    try {
      this.#indices.set(slot, values, () => this.#valuesAt(slot));
    } catch (error) {
      if (fresh) this.#release(slot);
      throw error;
    }
    this.#column.putObject(slot, key, object);
  }

  #meet(stored: StoredObject, object: T, noListeners = false): void {
    const storedObjects = this.#column.storedObjects as StoredObjects;
    const slot = storedObjects.meet(stored);
    this.#putStored(stored, object, slot, storedObjects.changes, noListeners);
  }

  /** @param known the slot, and the changes, that `meet` has found */
  #putStored(
    stored: StoredObject,
    object: T,
    known: number,
    changes: number,
    noListeners = false,
  ): void {
    const storedObjects = this.#column.storedObjects as StoredObjects;
    if (this.unindexed.size > 0) this.unindexed.delete(this.#keyOf(toObject(object)));
    const values = this.#indices.valuesOfStored(
      this.#indices.showObjects ? toObject(object) : object,
      changes,
    );
    const slot = known < 0 ? storedObjects.slot(stored, true) : known;
    try {
      storedObjects.ready(slot);
      this.#indices.set(slot, values, () => this.#valuesAt(slot), stored);
    } catch (error) {
      if (known < 0) this.#release(slot);
      throw error;
    }
    this.#column.putStored(slot, stored, changes, noListeners && !this.#indices.showObjects);
  }

  #valuesAt(slot: number): readonly Values[] {
    const object = this.#column.at(slot);
    return object === undefined ? [] : this.#indices.valuesOf(object);
  }

  /**
   * Removes what is not among these; `keys` has those of the objects that are no stored objects.
   */
  #keepOnly(objects: readonly T[], keys: readonly (string | undefined)[]): void {
    const kept: true[] = [];
    objects.forEach((object, i) => {
      const key = keys[i];
      const slot = key === undefined ? this.#slotOf(object) : this.#find(key);
      if (slot >= 0) kept[slot] = true;
    });
    for (const slot of this.#column.slots()) if (kept[slot] === undefined) this.#removeSlot(slot);
  }

  /** The memory ended in the middle of a list: all that came of it goes first. */
  #restore(before: Held<T>): void {
    this.#keepOnly([], []);
    this.#column.restore(before, (object, key) => {
      const stored = this.#column.storedObjectOf(object);
      if (stored === undefined) this.#putObject(object, key);
      else this.#meet(stored, object);
    });
  }

  #removeSlot(slot: number): void {
    if (this.unindexed.size > 0) this.unindexed.delete(this.#column.keyAt(slot));
    this.#indices.clear(slot);
    this.#column.remove(slot);
    this.#release(slot);
  }

  #slotOf(object: T): number {
    const stored = this.#column.storedObjectOf(object);
    return stored === undefined
      ? this.#find(this.#keyOf(object))
      : (this.#column.storedObjects as StoredObjects).slot(stored, false);
  }

  #find(key: string): number {
    // where keys are hashed in JS, those that are known would be answered after a trap too
    if (this.#core.exports !== this.#x) this.#core.exports.memoryPages();
    let slot: number;
    try {
      slot = this.#slots.find(key);
    } catch (cause) {
      throw this.#core.trapped(cause);
    }
    if (slot === NO_MEMORY) throw this.#core.outOfMemory();
    return slot;
  }

  #intern(key: string): number {
    let slot: number;
    try {
      slot = this.#slots.intern(key);
    } catch (cause) {
      throw this.#core.trapped(cause);
    }
    if (slot < 0) throw this.#core.outOfMemory();
    return slot;
  }

  #release(slot: number): void {
    try {
      this.#core.exports.keysRelease(this.#table, slot);
    } catch (cause) {
      throw this.#core.trapped(cause);
    }
    this.#slots.released(slot);
  }

  /** An object brings the store's version with it; a version is decoded when it is asked for. */
  #newest(object: T): void {
    this.#resourceVersion =
      this.#column.storedObjectOf(object) !== undefined
        ? object
        : (resourceVersionOf(object) ?? this.#resourceVersion);
  }

  #keyOf(object: T): string {
    const key = this.#keyFunc(object);
    if (typeof key !== 'string') throw invalid('keyFunc', 'a function that returns strings', key);
    return key;
  }
}
