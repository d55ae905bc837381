/**
 * The indexed store: objects by key, and keys by index value. A change is computed whole (key, index values) before
 * anything is touched, so that a key or index function that throws leaves the store as it was.
 * client-go: tools/cache/index.go, tools/cache/thread_safe_store.go.
 *
 * Keys, index values and the sets of slots under them live in the core, in an instance of the store's own that goes when
 * the store goes; the objects themselves in an array by slot.
 */
import { Core } from '../core.ts';
import { CapstanError, invalid, show } from '../errors.ts';
import { IndexMap } from '../index-map.ts';
import { type KeyTable, keyTable } from '../keys.ts';
import { pathIndexFunc } from './json-path.ts';
import { DeletedFinalStateUnknown, deletionHandlingMetaNamespaceKeyFunc, type KubeObject } from './keys.ts';
import { type IndexFunc, type IndexSpec, requireIndexSpec } from './resource.ts';
import { applyTransaction, type Transaction } from './store-types.ts';

/** The name of the index that every informer has: objects by namespace, "" for those without one. */
export const namespaceIndex = 'namespace';

/** client-go: tools/cache/index.go MetaNamespaceIndexFunc. */
export function metaNamespaceIndexFunc(object: object): string[] {
  return [(object as KubeObject).metadata?.namespace ?? ''];
}

interface Index<T> {
  readonly spec: IndexSpec<T>;
  readonly valuesOf: IndexFunc<T>;
  readonly map: IndexMap;
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
  readonly #table: number;
  readonly #slots: KeyTable<string>;
  /** Both by slot; `undefined` where the slot is free. */
  readonly #objects: (T | undefined)[] = [];
  readonly #keys: (string | undefined)[] = [];
  readonly #indices = new Map<string, Index<T>>();
  #resourceVersion = '';

  /**
   * @param keyFunc default {@link deletionHandlingMetaNamespaceKeyFunc}
   * @param indexers functions or paths by index name
   */
  constructor(
    keyFunc: (object: T | DeletedFinalStateUnknown<T>) => string = deletionHandlingMetaNamespaceKeyFunc,
    indexers?: Record<I, IndexSpec<T>>,
  ) {
    if (typeof keyFunc !== 'function') throw invalid('keyFunc', 'a function', keyFunc);
    this.#keyFunc = keyFunc;
    this.#table = this.#core.x.keysNew();
    if (this.#table === 0) throw this.#core.outOfMemory();
    this.#slots = keyTable<string>(this.#core, this.#table, undefined);
    this.addIndexers(indexers ?? {});
  }

  /** Stores an object under its key, whether or not the key is there. */
  add(object: T): void {
    const key = this.#keyOf(object);
    this.#put(key, object, this.#valuesOf(object));
    this.#resourceVersion = resourceVersionOf(object) ?? this.#resourceVersion;
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
    if (object instanceof DeletedFinalStateUnknown) {
      this.#remove(object.key);
      return;
    }
    this.#remove(this.#keyOf(object));
    this.#resourceVersion = resourceVersionOf(object) ?? this.#resourceVersion;
  }

  /** Makes the list the whole content. Of objects with one key the last wins. */
  replace(list: readonly T[], resourceVersion: string): void {
    const next = new Map<string, { object: T; values: (readonly string[])[] }>();
    for (const object of list) next.set(this.#keyOf(object), { object, values: this.#valuesOf(object) });
    for (const key of this.listKeys()) if (!next.has(key)) this.#remove(key);
    for (const [key, { object, values }] of next) this.#put(key, object, values);
    this.#resourceVersion = resourceVersion;
  }

  /** The stored object with this object's key. */
  get(object: T): T | undefined {
    return this.getByKey(this.#keyOf(object));
  }

  getByKey(key: string): T | undefined {
    const slot = this.#find(key);
    return slot < 0 ? undefined : this.#objects[slot];
  }

  /** In no order that means anything. */
  list(): T[] {
    const objects: T[] = [];
    for (const object of this.#objects) if (object !== undefined) objects.push(object);
    return objects;
  }

  /** In no order that means anything. */
  listKeys(): string[] {
    return this.#keys.filter((key) => key !== undefined);
  }

  /**
   * The objects that share an index value with this one, each once.
   *
   * @throws CapstanError UNKNOWN_INDEX
   */
  index(name: I, object: T): T[] {
    const { map, valuesOf } = this.#index(name);
    const slots = new Set<number>();
    for (const value of valuesOf(object)) for (const slot of map.slots(value)) slots.add(slot);
    return this.#at(slots);
  }

  /**
   * The objects under an index value.
   *
   * @throws CapstanError UNKNOWN_INDEX
   */
  byIndex(name: I, value: string): T[] {
    return this.#at(this.#index(name).map.slots(value));
  }

  /**
   * The keys under an index value, sorted by code unit.
   *
   * @throws CapstanError UNKNOWN_INDEX
   */
  indexKeys(name: I, value: string): string[] {
    const keys: string[] = [];
    for (const slot of this.#index(name).map.slots(value)) {
      const key = this.#keys[slot];
      if (key !== undefined) keys.push(key);
    }
    return keys.sort();
  }

  /** All values of an index under which there is an object; [] for an index that does not exist. */
  listIndexFuncValues(name: string): string[] {
    return this.#indices.get(name)?.map.values() ?? [];
  }

  /**
   * Adds indices, also over objects that are stored already.
   *
   * @throws CapstanError INDEX_EXISTS for a name that is taken; then none is added
   */
  addIndexers(more: Record<string, IndexSpec<T>>): void {
    const added = Object.entries(more).map(([name, spec]) => {
      requireIndexSpec(name, spec);
      if (this.#indices.has(name)) throw new CapstanError('INDEX_EXISTS', `there is an index ${show(name)} already`);
      const valuesOf = this.#checked(name, typeof spec === 'string' ? pathIndexFunc(spec) : spec);
      const values = this.#objects.map((object) => (object === undefined ? undefined : valuesOf(object)));
      return { name, spec, valuesOf, values };
    });
    for (const { name, spec, valuesOf, values } of added) {
      const map = new IndexMap(this.#core);
      values.forEach((of, slot) => {
        if (of !== undefined) map.set(slot, of);
      });
      this.#indices.set(name, { spec, valuesOf, map });
    }
  }

  /** The indices as they were given. */
  getIndexers(): Record<string, IndexSpec<T>> {
    return Object.fromEntries([...this.#indices].map(([name, { spec }]) => [name, spec]));
  }

  /** The server's version is this one; no object changed. */
  bookmark(resourceVersion: string): void {
    this.#resourceVersion = resourceVersion;
  }

  /** The resource version that the last change or bookmark brought. */
  lastStoreSyncResourceVersion(): string {
    return this.#resourceVersion;
  }

  /** Nothing: a store has nobody to send its content to again. */
  resync(): void {}

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

  #put(key: string, object: T, values: readonly (readonly string[])[]): void {
    const slot = this.#intern(key);
    const old = this.#objects[slot];
    let done = 0;
    try {
      for (const { map } of this.#indices.values()) {
        map.set(slot, values[done] ?? []);
        done++;
      }
    } catch (error) {
      this.#undo(slot, old, done);
      throw error;
    }
    this.#objects[slot] = object;
    this.#keys[slot] = key;
  }

  /** The memory ended at an index: the ones before it get back what they had, which needs no more room than there was. */
  #undo(slot: number, old: T | undefined, done: number): void {
    const values = old === undefined ? [] : this.#valuesOf(old);
    [...this.#indices.values()].slice(0, done).forEach(({ map }, i) => {
      map.set(slot, values[i] ?? []);
    });
    if (old === undefined) this.#release(slot);
  }

  #remove(key: string): void {
    const slot = this.#find(key);
    if (slot < 0) return;
    for (const { map } of this.#indices.values()) map.clear(slot);
    this.#release(slot);
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

  #keyOf(object: T): string {
    const key = this.#keyFunc(object);
    if (typeof key !== 'string') throw invalid('keyFunc', 'a function that returns strings', key);
    return key;
  }

  /** In the order of the indices. */
  #valuesOf(object: T): (readonly string[])[] {
    const all: (readonly string[])[] = [];
    for (const { valuesOf } of this.#indices.values()) all.push(valuesOf(object));
    return all;
  }

  #checked(name: string, indexFunc: IndexFunc<T>): IndexFunc<T> {
    return (object) => {
      try {
        const values: unknown = indexFunc(object);
        const list: unknown[] | undefined = Array.isArray(values) ? Array.from(values) : undefined; // holes become undefined
        if (list === undefined || list.some((value) => typeof value !== 'string')) {
          throw invalid(`indexers.${name}`, 'a function that returns an array of strings', values);
        }
        return list as string[];
      } catch (error) {
        return this.indexFailed(name, error);
      }
    };
  }

  #index(name: string): Index<T> {
    const index = this.#indices.get(name);
    if (index !== undefined) return index;
    const names = [...this.#indices.keys()].map(show).join(', ');
    throw new CapstanError(
      'UNKNOWN_INDEX',
      `there is no index ${show(name)}; there ${names === '' ? 'are none' : `is ${names}`}`,
    );
  }

  #at(slots: Iterable<number>): T[] {
    const objects: T[] = [];
    for (const slot of slots) {
      const object = this.#objects[slot];
      if (object !== undefined) objects.push(object);
    }
    return objects;
  }
}

/** `undefined` for what is no object of an API server: it leaves the store's version alone. */
function resourceVersionOf(object: object): string | undefined {
  const { metadata } = object as KubeObject;
  return typeof metadata === 'object' && metadata !== null ? (metadata.resourceVersion ?? '') : undefined;
}
