/**
 * Stores without indices, and UndeltaStore. client-go: tools/cache/store.go NewStore,
 * tools/cache/undelta_store.go.
 */
import { invalid, requireFunction } from '../../base/errors.ts';
import { namesOf, requireNames } from '../../base/names.ts';
import type { TransformFunc } from '../queue/queue.ts';
import {
  type DeletedFinalStateUnknown,
  deletionHandlingMetaNamespaceKeyFunc,
} from '../rest/keys.ts';
import { Indexer } from '../store/store.ts';
import {
  applyTransaction,
  type Store,
  type Transaction,
  type TransactionStore,
} from '../store/store-types.ts';
import { ThreadSafeStore } from './thread-safe-store.ts';

/** Computes the key of an object or a tombstone. client-go: KeyFunc. */
export type KeyFunc<T> = (object: T | DeletedFinalStateUnknown<T>) => string;

/** Options of {@link newStore}. */
export interface StoreOptions<T> {
  /** Changes each object before it is stored. The key is computed before that. */
  transformer?: TransformFunc<T> | undefined;
}

const NAMES = namesOf<StoreOptions<never>>()({ transformer: 1 });

/**
 * A store without indices. client-go: NewStore.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const pods = newStore<V1Pod>();
 * pods.add(pod);
 * pods.getByKey('default/web');
 */
export function newStore<T extends object>(
  keyFunc: KeyFunc<T> = deletionHandlingMetaNamespaceKeyFunc,
  options: StoreOptions<T> = {},
): Store<T> & TransactionStore<T> {
  requireNames('options', options, 'option of newStore()', NAMES);
  const { transformer } = options;
  if (transformer === undefined) return new Indexer<T, never>(keyFunc);
  requireFunction('options.transformer', transformer);
  return new TransformingStore(keyFunc, transformer);
}

class TransformingStore<T extends object> implements Store<T>, TransactionStore<T> {
  readonly #keyFunc: KeyFunc<T>;
  readonly #transformer: TransformFunc<T>;
  readonly #store = new ThreadSafeStore<T, never>();

  constructor(keyFunc: KeyFunc<T>, transformer: TransformFunc<T>) {
    requireFunction('keyFunc', keyFunc);
    this.#keyFunc = keyFunc;
    this.#transformer = transformer;
  }

  add(object: T): void {
    const key = this.#keyOf(object);
    this.#store.add(key, this.#transformer(object));
  }

  update(object: T): void {
    this.add(object);
  }

  delete(object: T | DeletedFinalStateUnknown<T>): void {
    // A tombstone has no metadata, so it does not change the store's version.
    this.#store.deleteWithObject(this.#keyOf(object), object as T);
  }

  replace(list: readonly T[], resourceVersion: string): void {
    const objects = new Map<string, T>();
    for (const object of list) objects.set(this.#keyOf(object), this.#transformer(object));
    this.#store.replace(objects, resourceVersion);
  }

  get(object: T): T | undefined {
    return this.#store.get(this.#keyOf(object));
  }

  getByKey(key: string): T | undefined {
    return this.#store.get(key);
  }

  list(): T[] {
    return this.#store.list();
  }

  listKeys(): string[] {
    return this.#store.listKeys();
  }

  bookmark(resourceVersion: string): void {
    this.#store.bookmark(resourceVersion);
  }

  lastStoreSyncResourceVersion(): string {
    return this.#store.lastStoreSyncResourceVersion();
  }

  resync(): void {}

  transaction(...changes: readonly Transaction<T>[]): void {
    applyTransaction(this, changes);
  }

  #keyOf(object: T | DeletedFinalStateUnknown<T>): string {
    const key = this.#keyFunc(object);
    if (typeof key !== 'string') throw invalid('keyFunc', 'a function that returns strings', key);
    return key;
  }
}

/**
 * A store that passes all its objects to a function after every change, for consumers that need the
 * whole state. client-go: UndeltaStore.
 *
 * @example
 * const store = new UndeltaStore<V1Pod>((all) => use(all));
 * await new Reflector(new ListWatch(transport, Pod), store).run({ signal });
 */
export class UndeltaStore<T extends object> extends Indexer<T, never> {
  readonly #push: (objects: T[]) => void;

  /**
   * @param push called with all objects after each change. Its errors go to the caller of the
   *   change, which stays made.
   * @throws CapstanError INVALID_ARGUMENT
   */
  constructor(push: (objects: T[]) => void, keyFunc?: KeyFunc<T>) {
    requireFunction('push', push);
    super(keyFunc);
    this.#push = push;
  }

  override add(object: T): void {
    super.add(object);
    this.#push(this.list());
  }

  override update(object: T): void {
    this.add(object);
  }

  override delete(object: T | DeletedFinalStateUnknown<T>): void {
    super.delete(object);
    this.#push(this.list());
  }

  override replace(list: readonly T[], resourceVersion: string): void {
    super.replace(list, resourceVersion);
    this.#push(this.list());
  }
}
