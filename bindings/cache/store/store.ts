/**
 * Indexer, the indexed store: objects by key, and keys by index value. Key and index values are
 * computed before anything changes, so that a key or index function that throws leaves the store as
 * it was. client-go: tools/cache/index.go, tools/cache/thread_safe_store.go.
 *
 * Keys, index values and their sets of slots are in the core; each store has its own instance,
 * which is collected with the store. Objects are in an array by slot or, if a decoder of this store
 * kept them as bytes, in the core.
 */

import { invalid, requireString } from '../../base/errors.ts';
import { namesOf, requireNames, requireSignalOptions } from '../../base/names.ts';
import { type KubeObject, resourceVersionOf } from '../../base/object.ts';
import type { IndexSpec } from '../../base/resource.ts';
import { type LabelSelector, labelMatcher, labelsOf } from '../../base/selectors.ts';
import { type IsOver, inTurns, NEVER_OVER, runSteps, type Steps } from '../../base/wait.ts';
import { NO_MEMORY } from '../../generated/abi.ts';
import { CacheCore } from '../../wasm/cache-core.ts';
import { hashesInWasm } from '../../wasm/key-mode.ts';
import { type TextTable, textTable } from '../../wasm/text-table.ts';
import { ANY } from '../bytes/change.ts';
import { ByteDecoder, type ByteDecoderOptions } from '../bytes/decoder.ts';
import { noteSlot, toObject } from '../bytes/lazy.ts';
import type { StoredObject } from '../bytes/stored-object.ts';
import { StoredObjects } from '../bytes/stored-objects.ts';
import type { ExpectedKind } from '../decode/decoder.ts';
import type { HashRanges } from '../rest/hash-ranges.ts';
import { DeletedFinalStateUnknown, deletionHandlingMetaNamespaceKeyFunc } from '../rest/keys.ts';
import { Column } from './column.ts';
import { Indices, type Values } from './indices.ts';
import { type ReplacedStore, type Replacement, replacement } from './replacement.ts';
import { applyTransaction, type Transaction } from './store-types.ts';

/** Options of {@link Indexer.listAsync}. */
export interface ListAsyncOptions<I extends string = string> {
  /** Only the objects under this value of an index. */
  index?: { name: I; value: string } | undefined;
  /** `app=web,tier in (front,back)`, or a selector object. Default: everything. */
  labelSelector?: string | LabelSelector | undefined;
  /** Ends it with ABORTED. */
  signal?: AbortSignal | undefined;
}

const LIST_ASYNC_NAMES = namesOf<ListAsyncOptions>()({ index: 1, labelSelector: 1, signal: 1 });

/**
 * A store with indices, filled by an informer or by the program. It returns the objects that were
 * added, which are read-only by convention; each list is a new array. client-go:
 * tools/cache/index.go Indexer.
 *
 * Key and index functions are called once for each change. An index function may return duplicates
 * or no value; if it throws, so does `add`, and nothing has changed. (In the store of an informer
 * it is reported instead.)
 *
 * @example
 * const pods = new Indexer<V1Pod, 'byNode'>(undefined, { byNode: 'spec.nodeName' });
 * pods.add(pod);
 * pods.byIndex('byNode', 'node-1');
 */
export class Indexer<T extends object = KubeObject, I extends string = string> {
  readonly #keyFunc: (object: T | DeletedFinalStateUnknown<T>) => string;
  readonly #core = new CacheCore();
  /** The exports before any trap; after a trap the core replaces its own. */
  readonly #x = this.#core.exports;
  readonly #table: number;
  readonly #slots: TextTable;
  readonly #column: Column<T>;
  /** The column's arrays, for faster access. */
  readonly #objects: readonly (T | undefined)[];
  readonly #keys: readonly (string | undefined)[];
  readonly #indices: Indices<T>;
  /** The slot that getByKey found last, and whether it followed the one before: see there. */
  #last = -1;
  #inOrder = false;
  /** @internal The changes of the last `exchange`, as bits (change.ts), if it compared bytes. */
  exchanged: number | undefined;
  /** The version, or the object that has it. */
  #resourceVersion: string | T = '';
  readonly #replaced: ReplacedStore<T>;
  /**
   * @internal The keys of objects for which an index function has thrown, in the order of the last
   *   attempt, if that does not fail the change.
   */
  protected readonly unindexed: Set<string> = new Set();

  /**
   * @param keyFunc default {@link deletionHandlingMetaNamespaceKeyFunc}
   * @param indexers functions or paths by index name
   * @param bytes internal: the kind of the objects that a decoder of this store keeps as bytes
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
    this.#replaced = {
      column: this.#column,
      keyOf: (object) => this.#keyOf(object),
      find: (key) => this.#find(key),
      putObject: (object, key, values) => this.#putObject(object, key, values),
      putStored: (stored, object, noListeners) => this.#meet(stored, object, noListeners),
      removeSlot: (slot) => this.#removeSlot(slot),
      valuesOf: (key, object) => {
        this.unindexed.delete(key);
        return this.#indices.valuesOf(toObject(object));
      },
      indexGeneration: () => this.#indices.generation,
      indexesUnchanged: () => this.#indices.dependsOn === ANY || this.unindexed.size > 0,
    };
    this.addIndexers(indexers ?? {});
  }

  /** Stores an object under its key; replaces an object that is there. */
  add(object: T): void {
    const stored = this.#column.storedObjectOf(object);
    if (stored !== undefined) this.#meet(stored, object);
    else this.#putObject(toObject(object));
    this.#setVersionOf(object);
  }

  /** The same as `add`. */
  update(object: T): void {
    this.add(object);
  }

  /**
   * Removes the object of this key, if there is one. An object also sets the store's
   * resourceVersion, a tombstone does not.
   */
  delete(object: T | DeletedFinalStateUnknown<T>): void {
    const tombstone = object instanceof DeletedFinalStateUnknown;
    const stored = tombstone ? undefined : this.#column.storedObjectOf(object);
    if (stored !== undefined) stored.markHandedOut(); // the caller holds it
    const slot = tombstone ? this.#find(object.key) : this.#slotOf(object);
    if (slot >= 0) {
      // A tombstone has no version, and the object that has the store's version may be the one that
      // is removed.
      if (stored === undefined) this.#resourceVersion = this.lastStoreSyncResourceVersion();
      this.#removeSlot(slot);
    } else if (tombstone) this.#column.spare.delete(object.key);
    else this.#column.dropSpare(object);
    if (!tombstone) this.#setVersionOf(object);
  }

  /**
   * Replaces all objects. Of objects with one key the last wins. On an error nothing has changed;
   * but after OUT_OF_MEMORY some objects may be missing in indices until they are added again or
   * the next list.
   * @param noListeners internal: no handler gets the objects
   */
  replace(list: readonly T[], resourceVersion: string, noListeners = false): void {
    const result = runSteps(this.replaceInSteps(list, resourceVersion, noListeners, NEVER_OVER));
    runSteps(result.drop(NEVER_OVER));
  }

  /** @internal As `replace`, in steps: replacement.ts. */
  *replaceInSteps(
    list: readonly T[],
    resourceVersion: string,
    noListeners: boolean,
    isOver: IsOver,
  ): Steps<Replacement<T>> {
    if (typeof (list as Partial<typeof list> | null)?.[Symbol.iterator] !== 'function')
      throw invalid('list', 'an array of objects', list);
    requireString('resourceVersion', resourceVersion);
    const objects = Array.from(list); // copied, because user functions are called
    // the object that has it may be removed before the list fails
    this.#resourceVersion = this.lastStoreSyncResourceVersion();
    const result = yield* replacement(this.#replaced, objects, noListeners, isOver);
    this.#resourceVersion = resourceVersion;
    return result;
  }

  /** The stored object with this object's key. */
  get(object: T): T | undefined {
    return this.#column.at(this.#slotOf(object)) ?? this.#column.spareOf(object);
  }

  getByKey(key: string): T | undefined {
    // Reads in the order in which keys were added, as in the first reconcile of all objects, need
    // no hash (49 → 11 ns with 100 000 keys). The next key is compared only after such a read:
    // comparing with a wrong key costs 20 to 100 ns.
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
   * @internal As `getByKey`. For a name that came from an object of this store (nameOfStored), no
   *   key is built and hashed.
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

  /**
   * In no particular order. Makes each object in one turn of the event loop: 100 000 take some
   * tenths of a second. `listAsync` and `iterate` take turns.
   */
  list(): T[] {
    return this.#column.list();
  }

  /**
   * As `list`, over several turns of the event loop: the objects that the store has when this is
   * called, in no particular order, all of them, those under an index value, or those whose labels
   * match.
   *
   * @throws CapstanError UNKNOWN_INDEX, INVALID_ARGUMENT for a malformed selector, ABORTED (as
   *   rejections)
   * @example
   * const web = await informer.getIndexer().listAsync({ labelSelector: 'app=web' });
   */
  async listAsync(options: ListAsyncOptions<I> = {}): Promise<T[]> {
    requireNames('options', options, 'option of listAsync()', LIST_ASYNC_NAMES);
    requireSignalOptions({ signal: options.signal }, 'listAsync()');
    const { index, labelSelector = '', signal } = options;
    const isMatch = labelSelector === '' ? undefined : labelMatcher(labelSelector);
    return this.selectAsync(
      index,
      isMatch && ((object: T): boolean => isMatch(labelsOf(object))),
      signal,
    );
  }

  /** @internal As `listAsync`. @param matches selects objects, which it must not keep */
  async selectAsync(
    index: ListAsyncOptions<I>['index'],
    matches: ((object: T) => boolean) | undefined,
    signal: AbortSignal | undefined,
  ): Promise<T[]> {
    const slots = index && this.#indices.get(index.name).map.slots(index.value);
    return inTurns(
      (isOver) => this.#column.matching(slots, matches, isOver),
      'listAsync()',
      signal,
    );
  }

  /**
   * The objects one by one, in no particular order, also over several turns of the event loop: an
   * object that is there all the time comes once, in the state that it has then.
   *
   * @example
   * for (const pod of informer.getIndexer().iterate()) use(pod);
   */
  *iterate(): Generator<T, void, undefined> {
    yield* [...this.#column.spare.values()];
    for (const [, object] of this.#column.entries()) yield object;
  }

  /** In no particular order. */
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

  /** All values of an index that have an object; [] for an unknown index. */
  listIndexFuncValues(name: string): string[] {
    return this.#indices.find(name)?.map.values() ?? [];
  }

  /**
   * Adds indices, also over stored objects: of 100 000 in one turn of the event loop, which takes
   * about a tenth of a second for each index. `addIndexersAsync` takes turns.
   *
   * @throws CapstanError INDEX_EXISTS for a name that exists; then none is added
   */
  addIndexers(more: Record<string, IndexSpec<T>>): void {
    runSteps(this.#indices.add(more, this.#column, NEVER_OVER));
  }

  /**
   * As `addIndexers`, over several turns of the event loop. Until it resolves the indices are not
   * there, but their functions are called for each change of the store.
   *
   * @throws CapstanError INDEX_EXISTS, INVALID_ARGUMENT, ABORTED (as rejections): none is added
   */
  async addIndexersAsync(
    more: Record<string, IndexSpec<T>>,
    options: { signal?: AbortSignal | undefined } = {},
  ): Promise<void> {
    requireSignalOptions(options, 'addIndexersAsync()');
    await inTurns(
      (isOver) => this.#indices.add(more, this.#column, isOver),
      'addIndexersAsync()',
      options.signal,
    );
  }

  /** The indices as they were given. */
  getIndexers(): Record<string, IndexSpec<T>> {
    return this.#indices.specs();
  }

  /** @internal Removes the objects outside of these ranges, in steps. */
  *keepRangesInSteps(kept: HashRanges, isOver: IsOver): Steps {
    // the object that has it may be removed
    this.#resourceVersion = this.lastStoreSyncResourceVersion();
    for (const slot of this.#column.slots()) {
      if (!kept.hasKey(this.#column.keyAt(slot))) this.#removeSlot(slot);
      if (isOver()) yield;
    }
    for (const key of this.#column.spare.keys())
      if (!kept.hasKey(key)) this.#column.spare.delete(key);
  }

  /** Sets the resourceVersion; no object changed. */
  bookmark(resourceVersion: string): void {
    requireString('resourceVersion', resourceVersion);
    this.#resourceVersion = resourceVersion;
  }

  /** The resourceVersion of the last change or bookmark. */
  lastStoreSyncResourceVersion(): string {
    const stored = this.#resourceVersion;
    if (typeof stored === 'string') return stored;
    return resourceVersionOf(stored) ?? '';
  }

  /** Does nothing: only a FIFO has a resync. */
  resync(): void {}

  /** The number of objects. */
  size(): number {
    return this.#core.exports.keysUsed(this.#table) + this.#column.spare.size;
  }

  /**
   * @internal As `add`; returns the object that was there before. `noListeners`: no handler gets
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
   * @internal The decoder whose objects this store keeps as bytes. Only for a store that was made
   *   with `bytes`.
   */
  decoder(expected: ExpectedKind, options?: ByteDecoderOptions): ByteDecoder<T> {
    return new ByteDecoder<T>(
      this.#core,
      this.#column.storedObjects as StoredObjects,
      expected,
      options,
    );
  }

  /** @internal Frees staged objects that were not stored. */
  settle(): void {
    this.#column.storedObjects?.settle();
  }

  /**
   * Bytes of the objects that are kept as bytes (`live`), and of the memory that holds them
   * (`total`).
   */
  bytes(): { live: number; total: number } {
    return this.#column.storedObjects?.bytes() ?? { live: 0, total: 0 };
  }

  /**
   * @internal How many objects have only their metadata (`whenFull: 'metadata'`); with `object`, 1
   *   or 0 for this one.
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

  /** Called if an index function throws. Here the change fails. */
  protected indexFailed(_index: string, error: unknown, _object: T): readonly string[] {
    throw error;
  }

  /** @internal Calls the index functions of an object again, if it is stored. */
  protected reindex(key: string): void {
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

  /** @param known the slot that `meet` found, or -1 */
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
    // with keys hashed in JS, known keys would be found even after a trap, where every call must
    // throw
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

  /** Sets the store's version to that of the object; it is decoded when it is read. */
  #setVersionOf(object: T): void {
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
