/**
 * The indexed store: objects by key, and keys by index value. A change is computed whole (key, index values) before
 * anything is touched, so that a key or index function that throws leaves the store as it was.
 * client-go: tools/cache/index.go, tools/cache/thread_safe_store.go.
 *
 * Keys, index values and the sets of slots under them live in the core, in an instance of the store's own that goes when
 * the store goes. The objects themselves stand in an array by slot, or, those that a decoder of this store has left as bytes, in the core too.
 */
import { Core } from '../core.ts';
import { invalid } from '../errors.ts';
import { keyText } from '../key-text.ts';
import { hashesInWasm, type KeyTable, keyTable } from '../keys.ts';
import { ByteDecoder, type ByteDecoderOptions } from './bytes/decoder.ts';
import { versionOf } from './bytes/lazy.ts';
import type { Version } from './bytes/version.ts';
import { Versions } from './bytes/versions.ts';
import type { ExpectedKind } from './decoder.ts';
import { Indices, type Values } from './indices.ts';
import { DeletedFinalStateUnknown, deletionHandlingMetaNamespaceKeyFunc, type KubeObject } from './keys.ts';
import type { IndexSpec } from './resource.ts';
import { applyTransaction, type Transaction } from './store-types.ts';

/** The name of the index that every informer has: objects by namespace, "" for those without one. */
export const namespaceIndex = 'namespace';

/** client-go: tools/cache/index.go MetaNamespaceIndexFunc. */
export function metaNamespaceIndexFunc(object: object): string[] {
  return [(object as KubeObject).metadata?.namespace ?? ''];
}

/**
 * A store with indices, filled by an informer or by hand. What it hands out is what it was given: read-only by agreement,
 * and each list a new array.
 *
 * Key and index functions are called once per change. An index function may give a value twice or none at all; one that
 * throws is a programmer's error, which the caller of `add` gets.
 *
 * @example
 * const pods = new Indexer<V1Pod, 'byNode'>(undefined, { byNode: 'spec.nodeName' });
 * pods.add(pod);
 * pods.byIndex('byNode', 'node-1');
 */
export class Indexer<T extends object = KubeObject, I extends string = string> {
  readonly #keyFunc: (object: T | DeletedFinalStateUnknown<T>) => string;
  readonly #core = new Core();
  /** The exports while they can be trusted; the core replaces its own after a trap. */
  readonly #x = this.#core.x;
  readonly #table: number;
  readonly #slots: KeyTable<string>;
  /** Both by slot; `undefined` where the slot is free, or has a version. */
  readonly #objects: (T | undefined)[] = [];
  readonly #keys: (string | undefined)[] = [];
  readonly #versions: Versions | undefined;
  /** All slots in use are below it. */
  #end = 0;
  readonly #indices: Indices<T>;
  /** The slot that getByKey found last, and whether it was the next of the one before: see there. */
  #last = -1;
  #inOrder = false;
  /** Text, or the object that brought it. */
  #resourceVersion: string | T = '';

  /**
   * @param keyFunc default {@link deletionHandlingMetaNamespaceKeyFunc}
   * @param indexers functions or paths by index name
   * @param bytes @internal what the objects are that a decoder of this store will leave as bytes
   */
  constructor(
    keyFunc: (object: T | DeletedFinalStateUnknown<T>) => string = deletionHandlingMetaNamespaceKeyFunc,
    indexers?: Record<I, IndexSpec<T>>,
    bytes?: ExpectedKind,
  ) {
    if (typeof keyFunc !== 'function') throw invalid('keyFunc', 'a function', keyFunc);
    this.#keyFunc = keyFunc;
    this.#table = this.#core.x.keysNew();
    if (this.#table === 0) throw this.#core.outOfMemory();
    const inWasm = bytes !== undefined || hashesInWasm(this.#core);
    this.#slots = keyTable<string>(this.#core, this.#table, undefined, inWasm);
    this.#indices = new Indices<T>(this.#core, inWasm, (name, error) => this.indexFailed(name, error));
    if (bytes !== undefined) this.#versions = new Versions(this.#core, this.#table, bytes);
    this.addIndexers(indexers ?? {});
  }

  /** Stores an object under its key, whether or not the key is there. */
  add(object: T): void {
    const version = this.#versionOf(object);
    if (version !== undefined) this.#putVersion(version, object);
    else this.#put(this.#keyOf(object), object, this.#indices.valuesOf(object));
    this.#newest(object);
  }

  /** The same as `add`. */
  update(object: T): void {
    this.add(object);
  }

  /**
   * Removes the object's key; one that is not there: no effect on the content. An object brings the store's resource
   * version with it, a tombstone does not.
   */
  delete(object: T | DeletedFinalStateUnknown<T>): void {
    const tombstone = object instanceof DeletedFinalStateUnknown;
    const slot = tombstone ? this.#find(object.key) : this.#slotOf(object);
    if (slot >= 0) this.#removeSlot(slot);
    if (!tombstone) this.#newest(object);
  }

  /** Makes the list the whole content. Of objects with one key the last wins. On an error nothing has changed. */
  replace(list: readonly T[], resourceVersion: string): void {
    const objects = Array.from(list); // read once: key and index functions are a user's
    const keys: (string | undefined)[] = [];
    const values: (Values[] | undefined)[] = [];
    objects.forEach((object, i) => {
      if (this.#versionOf(object) !== undefined) return;
      keys[i] = this.#keyOf(object);
      values[i] = this.#indices.valuesOf(object);
    });
    const before = {
      keys: this.#keys.slice(),
      objects: this.#objects.slice(),
      versions: this.#versions?.hold(this.#end),
    };
    try {
      this.#keepOnly(objects, keys); // first: what goes leaves room for what comes
      objects.forEach((object, i) => {
        const version = this.#versionOf(object);
        if (version === undefined) this.#put(keys[i] as string, object, values[i] as Values[]);
        else this.#putVersion(version, object);
      });
    } catch (error) {
      this.#keepOnly([], []);
      before.objects.forEach((object, slot) => {
        if (object !== undefined) this.#put(before.keys[slot] as string, object, this.#indices.valuesOf(object));
      });
      const versions = this.#versions as Versions;
      for (const id of before.versions ?? []) {
        const version = versions.held(id);
        this.#putVersion(version, versions.objectOf(version) as T);
      }
      throw error;
    } finally {
      if (before.versions !== undefined) this.#versions?.letGo(before.versions);
    }
    this.#resourceVersion = resourceVersion;
  }

  /** The stored object with this object's key. */
  get(object: T): T | undefined {
    return this.#at(this.#slotOf(object));
  }

  getByKey(key: string): T | undefined {
    // Who goes through the keys in the order in which they came, as the first reconcile of everything does, is spared the hash
    // (49 → 11 ns with 100 000 keys). Who does not is not asked twice: comparing with a wrong key costs 20 to 100 ns.
    const next = this.#last + 1;
    let slot = next;
    if (!(this.#inOrder && key === this.#keys[next] && this.#core.x === this.#x)) {
      slot = this.#find(key);
      if (slot < 0) return undefined;
      this.#inOrder = slot === next;
    }
    this.#last = slot;
    const object = this.#objects[slot];
    return object === undefined ? this.#at(slot) : object;
  }

  /** In no order that means anything. */
  list(): T[] {
    const objects: T[] = [];
    for (const [, object] of this.#entries()) objects.push(object);
    return objects;
  }

  /** In no order that means anything. */
  listKeys(): string[] {
    const keys: string[] = [];
    for (let slot = 0; slot < this.#end; slot++) if (this.#has(slot)) keys.push(this.#keyAt(slot));
    return keys;
  }

  /**
   * The objects that share an index value with this one, each once.
   *
   * @throws CapstanError UNKNOWN_INDEX
   */
  index(name: I, object: T): T[] {
    const { map, valuesOf } = this.#indices.get(name);
    const values = valuesOf(object);
    if (typeof values === 'string') return this.#all(map.slots(values));
    const slots = new Set<number>();
    for (const value of values) for (const slot of map.slots(value)) slots.add(slot);
    return this.#all(Uint32Array.from(slots));
  }

  /**
   * The objects under an index value.
   *
   * @throws CapstanError UNKNOWN_INDEX
   */
  byIndex(name: I, value: string): T[] {
    return this.#all(this.#indices.get(name).map.slots(value));
  }

  /**
   * The keys under an index value, sorted by code unit.
   *
   * @throws CapstanError UNKNOWN_INDEX
   */
  indexKeys(name: I, value: string): string[] {
    const slots = this.#indices.get(name).map.slots(value).slice();
    const keys: string[] = [];
    for (let i = 0; i < slots.length; i++) keys.push(this.#keyAt(slots[i] as number));
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
    this.#indices.add(more, () => this.#entries());
  }

  /** The indices as they were given. */
  getIndexers(): Record<string, IndexSpec<T>> {
    return this.#indices.specs();
  }

  /** The server's version is this one; no object changed. */
  bookmark(resourceVersion: string): void {
    this.#resourceVersion = resourceVersion;
  }

  /** The resource version that the last change or bookmark brought. */
  lastStoreSyncResourceVersion(): string {
    const version = this.#resourceVersion;
    if (typeof version === 'string') return version;
    return resourceVersionOf(version) ?? '';
  }

  /** Nothing: a store has nobody to send its content to again. */
  resync(): void {}

  /** How many objects there are. */
  size(): number {
    return this.#core.x.keysUsed(this.#table);
  }

  /**
   * What a replace by these objects would do, for who has to tell: the object that each of them replaces, and those that it would
   * remove.
   *
   * @internal
   */
  compare(objects: readonly T[]): { replaced: (T | undefined)[]; gone: DeletedFinalStateUnknown<T>[] } {
    const kept: true[] = [];
    const replaced = objects.map((object) => {
      const slot = this.#slotOf(object);
      if (slot < 0) return undefined;
      kept[slot] = true;
      return this.#at(slot);
    });
    const gone: DeletedFinalStateUnknown<T>[] = [];
    for (let slot = 0; slot < this.#end; slot++) {
      if (kept[slot] === undefined && this.#has(slot)) {
        gone.push(new DeletedFinalStateUnknown(this.#keyAt(slot), this.#at(slot)));
      }
    }
    return { replaced, gone };
  }

  /**
   * The decoder whose objects this store keeps as bytes. Made for such a store only.
   *
   * @internal
   */
  decoder(expected: ExpectedKind, options?: ByteDecoderOptions): ByteDecoder<T> {
    return new ByteDecoder<T>(this.#core, this.#versions as Versions, expected, options);
  }

  /**
   * Objects that were decoded and not stored by now are no longer kept for it.
   *
   * @internal
   */
  settle(): void {
    this.#versions?.settle();
  }

  /** Bytes of the objects that are kept as bytes, and of the memory they lie in. */
  bytes(): { live: number; total: number } {
    return this.#versions?.bytes() ?? { live: 0, total: 0 };
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
  protected indexFailed(_name: string, error: unknown): readonly string[] {
    throw error;
  }

  /** The version behind an object that a decoder of this store made, as long as its bytes are in the core. */
  #versionOf(object: T): Version | undefined {
    if (this.#versions === undefined) return undefined;
    const version = versionOf(object);
    return version !== undefined && version.owner === this.#versions && version.id >= 0 ? version : undefined;
  }

  #put(key: string, object: T, values: readonly Values[]): void {
    const slot = this.#intern(key);
    const old = this.#at(slot);
    try {
      this.#indices.set(slot, values, () => (old === undefined ? [] : this.#indices.valuesOf(old)));
    } catch (error) {
      if (old === undefined) this.#release(slot);
      throw error;
    }
    if (old !== undefined && this.#objects[slot] === undefined) this.#versions?.remove(slot);
    this.#objects[slot] = object;
    if (this.#keys[slot] === undefined) this.#keys[slot] = key; // else the one that is there has been flattened and lives long by now
    if (slot >= this.#end) this.#end = slot + 1;
  }

  #putVersion(version: Version, object: T): void {
    const versions = this.#versions as Versions;
    const known = versions.slot(version, false);
    const fresh = known < 0;
    const values = this.#indices.valuesOf(object);
    const slot = fresh ? versions.slot(version, true) : known;
    if (slot < 0) throw this.#core.outOfMemory();
    try {
      this.#indices.set(slot, values, () => (fresh ? [] : this.#indices.valuesOf(this.#at(slot) as T)));
      versions.put(slot, version);
    } catch (error) {
      if (fresh) this.#removeSlot(slot);
      throw error;
    }
    if (!fresh) {
      this.#objects[slot] = undefined;
      this.#keys[slot] = undefined;
    }
    if (slot >= this.#end) this.#end = slot + 1;
  }

  /** Removes what is not among these; `keys` has those of the objects that are no versions. */
  #keepOnly(objects: readonly T[], keys: readonly (string | undefined)[]): void {
    const kept: true[] = [];
    objects.forEach((object, i) => {
      const key = keys[i];
      const slot = key === undefined ? this.#slotOf(object) : this.#find(key);
      if (slot >= 0) kept[slot] = true;
    });
    for (let slot = 0; slot < this.#end; slot++) {
      if (kept[slot] === undefined && this.#has(slot)) this.#removeSlot(slot);
    }
  }

  #removeSlot(slot: number): void {
    this.#indices.clear(slot);
    this.#versions?.remove(slot);
    this.#release(slot);
  }

  #slotOf(object: T): number {
    const version = this.#versionOf(object);
    return version === undefined ? this.#find(this.#keyOf(object)) : (this.#versions as Versions).slot(version, false);
  }

  #find(key: string): number {
    try {
      return this.#slots.find(key);
    } catch (cause) {
      throw this.#core.trapped(cause);
    }
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
    this.#objects[slot] = undefined;
    this.#keys[slot] = undefined;
    try {
      this.#core.x.keysRelease(this.#table, slot);
    } catch (cause) {
      throw this.#core.trapped(cause);
    }
    this.#slots.released(slot);
  }

  /** An object brings the store's version with it; a version is decoded when it is asked for. */
  #newest(object: T): void {
    this.#resourceVersion =
      this.#versionOf(object) !== undefined ? object : (resourceVersionOf(object) ?? this.#resourceVersion);
  }

  #keyOf(object: T): string {
    const key = this.#keyFunc(object);
    if (typeof key !== 'string') throw invalid('keyFunc', 'a function that returns strings', key);
    return key;
  }

  #has(slot: number): boolean {
    return this.#objects[slot] !== undefined || (this.#versions?.has(slot) ?? false);
  }

  #at(slot: number): T | undefined {
    const object = this.#objects[slot];
    if (object !== undefined || this.#versions === undefined || slot < 0) return object;
    const version = this.#versions.at(slot);
    return version === undefined ? undefined : (this.#versions.objectOf(version) as T);
  }

  #keyAt(slot: number): string {
    return this.#keys[slot] ?? keyText(this.#core, this.#table, slot);
  }

  *#entries(): Generator<readonly [number, T]> {
    for (let slot = 0; slot < this.#end; slot++) {
      const object = this.#at(slot);
      if (object !== undefined) yield [slot, object];
    }
  }

  #all(slots: Uint32Array): T[] {
    const objects: T[] = [];
    if (this.#versions === undefined) {
      for (let i = 0; i < slots.length; i++) objects.push(this.#objects[slots[i] as number] as T);
    } else {
      for (const slot of slots.slice()) objects.push(this.#at(slot) as T);
    }
    return objects;
  }
}

/** `undefined` for what has no metadata at all. */
function resourceVersionOf(object: object): string | undefined {
  const { metadata } = object as KubeObject;
  return typeof metadata === 'object' && metadata !== null ? (metadata.resourceVersion ?? '') : undefined;
}
