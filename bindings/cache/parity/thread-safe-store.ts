/**
 * ThreadSafeStore: an indexed store whose caller passes the keys. An `Indexer` of entries, each a
 * key and an object. client-go: tools/cache/thread_safe_store.go (there is only one thread here).
 */
import { CapstanError } from '../../base/errors.ts';
import { pathIndexFunc } from '../../base/json-path.ts';
import type { KubeObject } from '../../base/object.ts';
import { type IndexFunc, type IndexSpec, requireIndexSpec } from '../../base/resource.ts';
import { DeletedFinalStateUnknown } from '../rest/keys.ts';
import { Indexer } from '../store/store.ts';
import { applyEach } from '../store/store-types.ts';

/**
 * One change of a transaction. `Add` is the same as `Update`; `Delete` needs no object. client-go:
 * ThreadSafeStoreTransaction.
 */
export type KeyedTransaction<T> =
  | { readonly type: 'Add' | 'Update'; readonly key: string; readonly object: T }
  | { readonly type: 'Delete'; readonly key: string; readonly object?: T };

/**
 * An entry of the Indexer. It has the metadata of its object, from which the store takes its
 * version.
 */
interface Entry<T> {
  readonly key: string;
  readonly object: T;
  readonly metadata: KubeObject['metadata'];
}

/**
 * An indexed store by keys of the caller. client-go: ThreadSafeStore.
 *
 * @example
 * const store = new ThreadSafeStore<V1Pod, 'byNode'>({ byNode: 'spec.nodeName' });
 * store.add('first', pod);
 * store.byIndex('byNode', 'node-1');
 */
export class ThreadSafeStore<T extends object = KubeObject, I extends string = string> {
  readonly #entries: Indexer<Entry<T>, string>;
  readonly #specs = new Map<string, IndexSpec<T>>();

  constructor(indexers: Record<I, IndexSpec<T>> = {} as Record<I, IndexSpec<T>>) {
    this.#entries = new Indexer<Entry<T>, string>((entry) => entry.key);
    this.addIndexers(indexers);
  }

  add(key: string, object: T): void {
    this.#entries.add(entry(key, object));
  }

  /** The same as `add`. */
  update(key: string, object: T): void {
    this.add(key, object);
  }

  /** Removes the object of a key, if there is one. The store's version stays. */
  delete(key: string): void {
    this.#entries.delete(new DeletedFinalStateUnknown<Entry<T>>(key, undefined));
  }

  /** As `delete`, and sets the store's version to that of the object. */
  deleteWithObject(key: string, object: T): void {
    this.#entries.delete(entry(key, object));
  }

  get(key: string): T | undefined {
    return this.#entries.getByKey(key)?.object;
  }

  /** In no particular order. */
  list(): T[] {
    return objectsOf(this.#entries.list());
  }

  /** In no particular order. */
  listKeys(): string[] {
    return this.#entries.listKeys();
  }

  /** Replaces all objects. */
  replace(objects: ReadonlyMap<string, T>, resourceVersion: string): void {
    this.#entries.replace(
      Array.from(objects, ([key, object]) => entry(key, object)),
      resourceVersion,
    );
  }

  /**
   * The objects that share an index value with this one, each once.
   *
   * @throws CapstanError UNKNOWN_INDEX
   */
  index(name: I, object: T): T[] {
    return objectsOf(this.#entries.index(name, entry('', object)));
  }

  /**
   * The objects under an index value.
   *
   * @throws CapstanError UNKNOWN_INDEX
   */
  byIndex(name: I, value: string): T[] {
    return objectsOf(this.#entries.byIndex(name, value));
  }

  /**
   * The keys under an index value, sorted by code unit.
   *
   * @throws CapstanError UNKNOWN_INDEX
   */
  indexKeys(name: I, value: string): string[] {
    return this.#entries.indexKeys(name, value);
  }

  /** All values of an index that have an object; [] for an unknown index. */
  listIndexFuncValues(name: string): string[] {
    return this.#entries.listIndexFuncValues(name);
  }

  /**
   * Adds indices, also over stored objects.
   *
   * @throws CapstanError INDEX_EXISTS for a name that exists; then none is added
   */
  addIndexers(more: Record<string, IndexSpec<T>>): void {
    const specs = Object.entries(more);
    const functions = specs.map(([name, spec]): [string, IndexFunc<Entry<T>>] => {
      requireIndexSpec(name, spec);
      const valuesOf = typeof spec === 'string' ? pathIndexFunc(spec) : spec;
      return [name, ({ object }) => valuesOf(object)];
    });
    this.#entries.addIndexers(Object.fromEntries(functions));
    for (const [name, spec] of specs) this.#specs.set(name, spec);
  }

  /** The indices as they were given. */
  getIndexers(): Record<string, IndexSpec<T>> {
    return Object.fromEntries(this.#specs);
  }

  /** Sets the resourceVersion; no object changed. */
  bookmark(resourceVersion: string): void {
    this.#entries.bookmark(resourceVersion);
  }

  /** The resourceVersion of the last change or bookmark. */
  lastStoreSyncResourceVersion(): string {
    return this.#entries.lastStoreSyncResourceVersion();
  }

  /** Does nothing: only a FIFO has a resync. */
  resync(): void {}

  /**
   * Makes several changes in their order; those that fail are left out.
   *
   * @throws TransactionError when some failed
   */
  transaction(...changes: readonly KeyedTransaction<T>[]): void {
    applyEach(changes, (change) => {
      if (change.type === 'Add' || change.type === 'Update') this.update(change.key, change.object);
      else if (change.type !== 'Delete')
        throw new CapstanError('INVALID_ARGUMENT', `"type" expected 'Add', 'Update' or 'Delete'`);
      else if (change.object === undefined) this.delete(change.key);
      else this.deleteWithObject(change.key, change.object);
    });
  }
}

function entry<T extends object>(key: string, object: T): Entry<T> {
  return { key, object, metadata: (object as KubeObject).metadata };
}

function objectsOf<T>(entries: readonly Entry<T>[]): T[] {
  return entries.map(({ object }) => object);
}
