/**
 * MutationCache: keeps the results of this program's writes until the store has caught up, and
 * returns the newer of the two, so that the program reads its own writes. client-go:
 * tools/cache/mutation_cache.go.
 *
 * The writes are limited in number and time, so a write may be forgotten. Versions are compared as
 * decimal numbers.
 */
import { type Clock, systemClock } from '../../base/clock.ts';
import {
  CapstanError,
  invalid,
  requireFunction,
  requireInteger,
  requireNumber,
} from '../../base/errors.ts';
import { handleError } from '../../base/handle-error.ts';
import { pathIndexFunc } from '../../base/json-path.ts';
import { LRUExpire } from '../../base/lru-expire.ts';
import { namesOf, requireNames } from '../../base/names.ts';
import type { KubeObject } from '../../base/object.ts';
import { type DeletedFinalStateUnknown, isTombstone, metaNamespaceKeyFunc } from '../rest/keys.ts';
import { compareResourceVersion, isComparableResourceVersion } from '../rest/resource-version.ts';
import type { Indexer } from '../store/store.ts';
import type { Store } from '../store/store-types.ts';

/** Options of a {@link MutationCache}. */
export interface MutationCacheOptions<T extends object, I extends string> {
  /** The indexer for `byIndex`; usually the store itself. */
  indexer?: Pick<Indexer<T, I>, 'indexKeys' | 'getByKey' | 'getIndexers'> | undefined;
  /** How long a write is kept, in milliseconds. Default 300 000. */
  ttl?: number | undefined;
  /**
   * Return written objects that the store does not have. Default false, because "not there yet" and
   * "deleted meanwhile" look the same: an object that was deleted right after the write is returned
   * until `ttl` is over, unless `onDelete` is called.
   */
  includeAdds?: boolean | undefined;
  /**
   * The most writes to keep; the least recently used one is evicted, from 256 on together with a
   * 256th of them. Default 100.
   */
  maxCacheSize?: number | undefined;
  clock?: Clock | undefined;
}

const NAMES = namesOf<MutationCacheOptions<never, never>>()({
  indexer: 1,
  ttl: 1,
  includeAdds: 1,
  maxCacheSize: 1,
  clock: 1,
});

/** Stands for a deleted object, so that an older write of it, which arrives late, is not kept. */
class Tombstone {
  readonly metadata: { readonly uid: string | undefined; readonly resourceVersion: string };

  constructor(uid: string | undefined, resourceVersion: string) {
    this.metadata = { uid, resourceVersion };
  }
}

/**
 * Returns the newer of a store's object and this program's write of it. client-go: MutationCache.
 *
 * @example
 * const written = new MutationCache<V1Pod>(informer.getIndexer());
 * informer.addEventHandler({
 *   onAdd: (pod) => written.onAddOrUpdate(pod),
 *   onUpdate: (_, pod) => written.onAddOrUpdate(pod),
 *   onDelete: (pod) => written.onDelete(pod),
 * });
 * written.mutation(pod); // what the server answered to an update
 * written.getByKey('default/web'); // at least as new as that
 */
export class MutationCache<T extends object, I extends string = string> {
  readonly #store: Pick<Store<T>, 'getByKey'>;
  readonly #indexer: MutationCacheOptions<T, I>['indexer'];
  readonly #ttl: number;
  readonly #includeAdds: boolean;
  readonly #written: LRUExpire<T | Tombstone>;

  /** @throws CapstanError INVALID_ARGUMENT */
  constructor(store: Pick<Store<T>, 'getByKey'>, options: MutationCacheOptions<T, I> = {}) {
    requireNames('options', options, 'option of a MutationCache', NAMES);
    const {
      indexer,
      ttl = 300_000,
      includeAdds = false,
      maxCacheSize = 100,
      clock = systemClock,
    } = options;
    requireFunction('store.getByKey', (store as Partial<Store<T>> | undefined)?.getByKey);
    requireNumber('options.ttl', ttl);
    requireInteger('options.maxCacheSize', maxCacheSize, 1);
    this.#store = store;
    this.#indexer = indexer;
    this.#ttl = ttl;
    this.#includeAdds = includeAdds;
    this.#written = new LRUExpire(maxCacheSize, clock);
  }

  /**
   * The newer of the store's object and the written one.
   *
   * @throws CapstanError INVALID_ARGUMENT when their versions cannot be compared
   */
  getByKey(key: string): T | undefined {
    const stored = this.#store.getByKey(key);
    if (stored !== undefined) return this.#newer(key, stored);
    // client-go removes the write here, so that a second call does not find it.
    return this.#includeAdds ? objectOf(this.#written.get(key)) : undefined;
  }

  /**
   * The objects of an index value in the store, each in its newer state; with `includeAdds` also
   * written objects with that value that the store does not have there.
   *
   * @throws CapstanError UNKNOWN_INDEX, also without an indexer; INVALID_ARGUMENT as `getByKey`
   */
  byIndex(name: I, value: string): T[] {
    const indexer = this.#indexer;
    if (indexer === undefined)
      throw new CapstanError('UNKNOWN_INDEX', 'this MutationCache was made without an indexer');
    const keys = indexer.indexKeys(name, value);
    const objects: T[] = [];
    for (const key of keys) {
      const stored = indexer.getByKey(key);
      if (stored !== undefined) objects.push(this.#newer(key, stored));
    }
    if (!this.#includeAdds) return objects;
    const listed = new Set(keys);
    for (const [key, written] of this.#written.unexpired()) {
      if (listed.has(key) || written instanceof Tombstone) continue;
      const stored = indexer.getByKey(key);
      if (stored !== undefined && this.#newer(key, stored) === stored) continue;
      if (this.#valuesOf(name, written).includes(value)) objects.push(written);
    }
    return objects;
  }

  /**
   * Keeps the result of a write, unless a newer one is kept, or the object is known to be deleted.
   *
   * @throws CapstanError INVALID_ARGUMENT for an object without a name or with a version that is
   *   not a decimal number
   */
  mutation(object: T): void {
    const key = metaNamespaceKeyFunc(object);
    const version = versionOf(object);
    const kept = this.#written.get(key);
    if (kept !== undefined) {
      const order = compare(version, versionOf(kept));
      if (order < 0) return;
      // Without a uid it may be another object of that name, so only the version counts.
      if (kept instanceof Tombstone && (order === 0 || (uidOf(kept) ?? object) === uidOf(object)))
        return;
    }
    this.#written.set(key, object, this.#ttl);
  }

  /**
   * Removes a write that is not newer than this object of the store. For `onAdd` and `onUpdate` of
   * an informer.
   */
  onAddOrUpdate(object: T): void {
    const key = metaNamespaceKeyFunc(object);
    const kept = this.#written.get(key);
    if (kept !== undefined && compare(versionOf(object), versionOf(kept)) >= 0)
      this.#written.delete(key);
  }

  /**
   * Removes a write of this deleted object; a late one will not be kept. A tombstone without an
   * object has no effect. For `onDelete` of an informer.
   */
  onDelete(object: T | DeletedFinalStateUnknown<T>): void {
    const deleted = isTombstone(object) ? object.obj : object;
    if (deleted === undefined) return;
    const key = metaNamespaceKeyFunc(deleted);
    const version = versionOf(deleted);
    const kept = this.#written.get(key);
    // Versions grow across all objects of a resource, so a deletion with a newer version came after
    // the write.
    if (
      kept !== undefined &&
      compare(version, versionOf(kept)) < 0 &&
      uidOf(kept) !== uidOf(deleted)
    )
      return;
    this.#written.set(key, new Tombstone(uidOf(deleted), version), this.#ttl);
  }

  /** The newer of the two; removes a write that the store has caught up with. */
  #newer(key: string, stored: T): T {
    const kept = this.#written.get(key);
    if (kept === undefined) return stored;
    if (compare(versionOf(stored), versionOf(kept)) >= 0) {
      this.#written.delete(key);
      return stored;
    }
    return objectOf(kept) ?? stored;
  }

  #valuesOf(name: I, object: T): readonly string[] {
    const spec = this.#indexer?.getIndexers()[name];
    if (spec === undefined) return [];
    try {
      return (typeof spec === 'string' ? pathIndexFunc(spec) : spec)(object);
    } catch (error) {
      handleError(error, `index function ${JSON.stringify(name)}`);
      return [];
    }
  }
}

function objectOf<T extends object>(kept: T | Tombstone | undefined): T | undefined {
  return kept instanceof Tombstone ? undefined : kept;
}

function uidOf(object: object): string | undefined {
  return (object as { metadata?: { uid?: string } }).metadata?.uid;
}

/** "" for no version ("" or "0"), which is older than any. */
function versionOf(object: object): string {
  const version: unknown = (object as KubeObject).metadata?.resourceVersion ?? '';
  if (version === '' || version === '0') return '';
  if (isComparableResourceVersion(version)) return version;
  throw invalid('metadata.resourceVersion', 'decimal digits without leading zero', version);
}

function compare(a: string, b: string): number {
  if (a === '' || b === '') return (a === '' ? 0 : 1) - (b === '' ? 0 : 1);
  return compareResourceVersion(a, b);
}
