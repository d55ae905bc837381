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

/** The name of the index that every informer has: objects by namespace, "" for those without one. */
export const namespaceIndex = 'namespace';

/** client-go: tools/cache/index.go MetaNamespaceIndexFunc. */
export function metaNamespaceIndexFunc(object: object): string[] {
  return [(object as KubeObject).metadata?.namespace ?? ''];
}

/** The values of an object under an index. One, as nearly all have, stands without an array. */
type Values = string | readonly string[];

interface Index<T> {
  readonly spec: IndexSpec<T>;
  readonly valuesOf: (object: T) => Values;
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
  /** The exports while they can be trusted; the core replaces its own after a trap. */
  readonly #x = this.#core.x;
  readonly #table: number;
  readonly #slots: KeyTable<string>;
  /** Both by slot; `undefined` where the slot is free. */
  readonly #objects: (T | undefined)[] = [];
  readonly #keys: (string | undefined)[] = [];
  readonly #indices = new Map<string, Index<T>>();
  /** The same, in their order. */
  readonly #each: Index<T>[] = [];
  /** The slot that getByKey found last, and whether it was the next of the one before: see there. */
  #last = -1;
  #inOrder = false;
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
    this.#resourceVersion = resourceVersionOf(object);
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
    this.#resourceVersion = resourceVersionOf(object);
  }

  /** Makes the list the whole content. Of objects with one key the last wins. On an error nothing has changed. */
  replace(list: readonly T[], resourceVersion: string): void {
    const objects = Array.from(list); // read once: key and index functions are a user's
    const keys: string[] = [];
    const values: Values[][] = [];
    for (const object of objects) {
      keys.push(this.#keyOf(object));
      values.push(this.#valuesOf(object));
    }
    const before = { keys: this.#keys.slice(), objects: this.#objects.slice() };
    try {
      this.#keepOnly(keys); // first: what goes leaves room for what comes
      objects.forEach((object, i) => {
        this.#put(keys[i] as string, object, values[i] as Values[]);
      });
    } catch (error) {
      this.#restore(before.keys, before.objects);
      throw error;
    }
    this.#resourceVersion = resourceVersion;
  }

  /** The stored object with this object's key. */
  get(object: T): T | undefined {
    return this.getByKey(this.#keyOf(object));
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
    return this.#objects[slot];
  }

  /** In no order that means anything. */
  list(): T[] {
    const objects: T[] = [];
    for (const object of this.#objects) if (object !== undefined) objects.push(object);
    return objects;
  }

  /** In no order that means anything. */
  listKeys(): string[] {
    const keys: string[] = [];
    for (const key of this.#keys) if (key !== undefined) keys.push(key);
    return keys;
  }

  /**
   * The objects that share an index value with this one, each once.
   *
   * @throws CapstanError UNKNOWN_INDEX
   */
  index(name: I, object: T): T[] {
    const { map, valuesOf } = this.#index(name);
    const values = valuesOf(object);
    if (typeof values === 'string') return this.#at(map.slots(values));
    const slots = new Set<number>();
    for (const value of values) for (const slot of map.slots(value)) slots.add(slot);
    return this.#at(Uint32Array.from(slots));
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
    const slots = this.#index(name).map.slots(value);
    const keys: string[] = [];
    for (let i = 0; i < slots.length; i++) keys.push(this.#keys[slots[i] as number] as string);
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
        if (of !== undefined) setValues(map, slot, of);
      });
      const index = { spec, valuesOf, map };
      this.#indices.set(name, index);
      this.#each.push(index);
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

  /** What becomes of an index function's error. Here it goes to the caller of the change. */
  protected indexFailed(_name: string, error: unknown): readonly string[] {
    throw error;
  }

  #put(key: string, object: T, values: readonly Values[]): void {
    const slot = this.#intern(key);
    const old = this.#objects[slot];
    const each = this.#each;
    let done = 0;
    try {
      for (; done < each.length; done++) setValues((each[done] as Index<T>).map, slot, values[done] as Values);
    } catch (error) {
      this.#undo(slot, old, done);
      throw error;
    }
    this.#objects[slot] = object;
    if (old === undefined) this.#keys[slot] = key; // else the one that is there has been flattened and lives long by now
  }

  /** The memory ended at an index: the ones before it get back what they had, which needs no more room than there was. */
  #undo(slot: number, old: T | undefined, done: number): void {
    const values = old === undefined ? [] : this.#valuesOf(old);
    this.#each.slice(0, done).forEach(({ map }, i) => {
      setValues(map, slot, values[i] ?? []);
    });
    if (old === undefined) this.#release(slot);
  }

  #keepOnly(keys: readonly string[]): void {
    const kept: true[] = [];
    for (const key of keys) {
      const slot = this.#find(key);
      if (slot >= 0) kept[slot] = true;
    }
    this.#objects.forEach((object, slot) => {
      if (object !== undefined && kept[slot] === undefined) this.#removeSlot(slot);
    });
  }

  /** The memory ended in the middle of a list. What there was before has room: it had it, and all else goes first. */
  #restore(keys: readonly (string | undefined)[], objects: readonly (T | undefined)[]): void {
    this.#keepOnly([]);
    objects.forEach((object, slot) => {
      if (object !== undefined) this.#put(keys[slot] as string, object, this.#valuesOf(object));
    });
  }

  #remove(key: string): void {
    const slot = this.#find(key);
    if (slot >= 0) this.#removeSlot(slot);
  }

  #removeSlot(slot: number): void {
    for (const { map } of this.#each) map.clear(slot);
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
  #valuesOf(object: T): Values[] {
    const all: Values[] = [];
    for (const index of this.#each) all.push(index.valuesOf(object));
    return all;
  }

  #checked(name: string, indexFunc: IndexFunc<T>): (object: T) => Values {
    return (object) => {
      try {
        const values: unknown = indexFunc(object);
        if (Array.isArray(values)) {
          const first: unknown = values.length === 1 ? values[0] : undefined;
          if (typeof first === 'string') return first;
          const list: unknown[] = Array.from(values); // holes become undefined
          if (list.every((value) => typeof value === 'string')) return list;
        }
        throw invalid(`indexers.${name}`, 'a function that returns an array of strings', values);
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

  #at(slots: Uint32Array): T[] {
    const objects: T[] = [];
    for (let i = 0; i < slots.length; i++) objects.push(this.#objects[slots[i] as number] as T);
    return objects;
  }
}

function setValues(map: IndexMap, slot: number, values: Values): void {
  if (typeof values === 'string') map.setOne(slot, values);
  else map.set(slot, values);
}

function resourceVersionOf(object: object): string {
  return (object as KubeObject).metadata?.resourceVersion ?? '';
}
