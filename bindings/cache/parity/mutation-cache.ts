/**
 * Keeps what updates of this program returned until the store has caught up, and gives the newer of
 * the two, so that a program reads what it has written. client-go: tools/cache/mutation_cache.go.
 *
 * The kept objects are bounded in number and time, so that this is never guaranteed to know of a
 * write. Versions are compared as decimal numbers, which an API server's are.
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
import {
  type DeletedFinalStateUnknown,
  isTombstone,
  type KubeObject,
  metaNamespaceKeyFunc,
} from '../rest/keys.ts';
import { compareResourceVersion, isComparableResourceVersion } from '../rest/resource-version.ts';
import type { Indexer } from '../store/store.ts';
import type { Store } from '../store/store-types.ts';

/** Of a {@link MutationCache}. */
export interface MutationCacheOptions<T extends object, I extends string> {
  /** For `byIndex`; most often the store itself. */
  indexer?: Pick<Indexer<T, I>, 'indexKeys' | 'getByKey' | 'getIndexers'> | undefined;
  /** How long a write is kept, in milliseconds. Default 5 minutes. */
  ttl?: number | undefined;
  /**
   * Give written objects also while the store does not have them. Default false, as "not there yet"
   * and "deleted meanwhile" look the same: an object that was deleted right after the write is
   * given until `ttl` is over, unless `onDelete` says so.
   */
  includeAdds?: boolean | undefined;
  /**
   * How many writes are kept; the one used longest ago goes first, from 256 on with a 256th of
   * them. Default 100.
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

/**
 * Stands for a deleted object, so that a write that was overtaken by its deletion is not taken for
 * new.
 */
class Tombstone {
  readonly metadata: { readonly uid: string | undefined; readonly resourceVersion: string };

  constructor(uid: string | undefined, resourceVersion: string) {
    this.metadata = { uid, resourceVersion };
  }
}

/**
 * The newer of a store's object and what this program has written.
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
   * The newer of the store's object and the kept write.
   *
   * @throws CapstanError INVALID_ARGUMENT when their versions cannot be compared
   */
  getByKey(key: string): T | undefined {
    const stored = this.#store.getByKey(key);
    if (stored !== undefined) return this.#newer(key, stored);
    // client-go forgets the write here, so that a second call no longer finds it.
    return this.#includeAdds ? objectOf(this.#written.get(key)) : undefined;
  }

  /**
   * The newer ones of the objects that the store lists under an index value; with `includeAdds`
   * also kept writes under it that the store does not list there.
   *
   * @throws CapstanError UNKNOWN_INDEX, also where there is no indexer; INVALID_ARGUMENT as
   *   `getByKey`
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
   * Keeps what a write returned, unless something newer is kept, or the object is known to be
   * deleted.
   *
   * @throws CapstanError INVALID_ARGUMENT for an object without a name or with a version that is no
   *   decimal number
   */
  mutation(object: T): void {
    const key = metaNamespaceKeyFunc(object);
    const version = versionOf(object);
    const kept = this.#written.get(key);
    if (kept !== undefined) {
      const order = compare(version, versionOf(kept));
      if (order < 0) return;
      // Without uids it may be another object of that name: the version alone decides.
      if (kept instanceof Tombstone && (order === 0 || (uidOf(kept) ?? object) === uidOf(object)))
        return;
    }
    this.#written.set(key, object, this.#ttl);
  }

  /**
   * The store has this object now: a kept write that is not newer is let go. For an informer's
   * `onAdd` and `onUpdate`.
   */
  onAddOrUpdate(object: T): void {
    const key = metaNamespaceKeyFunc(object);
    const kept = this.#written.get(key);
    if (kept !== undefined && compare(versionOf(object), versionOf(kept)) >= 0)
      this.#written.delete(key);
  }

  /**
   * The store no longer has this object: a kept write of it is let go, and one that comes late is
   * not kept. Of a tombstone without an object nothing can be told. For an informer's `onDelete`.
   */
  onDelete(object: T | DeletedFinalStateUnknown<T>): void {
    const deleted = isTombstone(object) ? object.obj : object;
    if (deleted === undefined) return;
    const key = metaNamespaceKeyFunc(deleted);
    const version = versionOf(deleted);
    const kept = this.#written.get(key);
    // Versions grow over all objects of a resource, so a deletion that is newer than a write came
    // after it.
    if (
      kept !== undefined &&
      compare(version, versionOf(kept)) < 0 &&
      uidOf(kept) !== uidOf(deleted)
    )
      return;
    this.#written.set(key, new Tombstone(uidOf(deleted), version), this.#ttl);
  }

  /** A write, or a deletion, that the store has caught up with is let go. */
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

/** "" and "0" stand for no version, which is older than any. */
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
