/**
 * ExpirationCache: a store whose objects expire. client-go: tools/cache/expiration_cache.go.
 *
 * An expired object is removed when it is read, alone or in a list, and is never returned.
 * `listKeys` does not check, so it may return keys of expired objects. An expired object that is
 * not read stays in memory.
 */
import { type Clock, systemClock } from '../../base/clock.ts';
import { invalid, requireFunction, requireNumber } from '../../base/errors.ts';
import { namesOf, requireNames } from '../../base/names.ts';
import type { KubeObject } from '../../base/object.ts';
import { DeletedFinalStateUnknown } from '../rest/keys.ts';
import type { Store } from '../store/store-types.ts';
import type { KeyFunc } from './keyed-store.ts';

const NAMES = namesOf<{ clock: Clock }>()({ clock: 1 });

/**
 * An object and the time when it was stored, in milliseconds of the store's clock. client-go:
 * TimestampedEntry.
 */
export interface TimestampedEntry<T> {
  readonly object: T;
  readonly timestamp: number;
}

/** Decides when an entry of an {@link ExpirationCache} has expired. client-go: ExpirationPolicy. */
export interface ExpirationPolicy<T> {
  isExpired(entry: TimestampedEntry<T>): boolean;
}

/** Expires entries that are older than `ttl`. A `ttl` of 0 or less: never. client-go: TTLPolicy. */
export class TTLPolicy<T = unknown> implements ExpirationPolicy<T> {
  readonly #ttl: number;
  readonly #clock: Clock;

  /** @param ttl milliseconds */
  constructor(ttl: number, clock: Clock = systemClock) {
    requireNumber('ttl', ttl);
    this.#ttl = ttl;
    this.#clock = clock;
  }

  isExpired(entry: TimestampedEntry<T>): boolean {
    return this.#ttl > 0 && this.#clock.now() - entry.timestamp > this.#ttl;
  }
}

/** A store whose objects expire by a policy. client-go: ExpirationCache. */
export class ExpirationCache<T extends object> implements Store<T> {
  readonly #keyFunc: KeyFunc<T>;
  readonly #policy: ExpirationPolicy<T>;
  readonly #clock: Clock;
  #entries = new Map<string, TimestampedEntry<T>>();
  #resourceVersion = '';

  /** @throws CapstanError INVALID_ARGUMENT */
  constructor(
    keyFunc: KeyFunc<T>,
    policy: ExpirationPolicy<T>,
    options: { clock?: Clock | undefined } = {},
  ) {
    requireNames('options', options, 'option of an ExpirationCache', NAMES);
    requireFunction('keyFunc', keyFunc);
    requireFunction(
      'policy.isExpired',
      (policy as Partial<ExpirationPolicy<T>> | undefined)?.isExpired,
    );
    this.#keyFunc = keyFunc;
    this.#policy = policy;
    this.#clock = options.clock ?? systemClock;
  }

  /** Stores an object; its age is counted from now. */
  add(object: T): void {
    this.#entries.set(this.#keyOf(object), { object, timestamp: this.#clock.now() });
    this.#setVersionOf(object);
  }

  /** The same as `add`: its age is counted from now again. */
  update(object: T): void {
    this.add(object);
  }

  delete(object: T | DeletedFinalStateUnknown<T>): void {
    this.#entries.delete(this.#keyOf(object));
    if (!(object instanceof DeletedFinalStateUnknown)) this.#setVersionOf(object);
  }

  replace(list: readonly T[], resourceVersion: string): void {
    const timestamp = this.#clock.now();
    this.#entries = new Map(list.map((object) => [this.#keyOf(object), { object, timestamp }]));
    this.#resourceVersion = resourceVersion;
  }

  get(object: T): T | undefined {
    return this.getByKey(this.#keyOf(object));
  }

  getByKey(key: string): T | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    if (!this.#policy.isExpired(entry)) return entry.object;
    this.#entries.delete(key);
    return undefined;
  }

  list(): T[] {
    const objects: T[] = [];
    for (const key of this.#entries.keys()) {
      const object = this.getByKey(key);
      if (object !== undefined) objects.push(object);
    }
    return objects;
  }

  /** May include keys of expired objects. */
  listKeys(): string[] {
    return [...this.#entries.keys()];
  }

  bookmark(resourceVersion: string): void {
    this.#resourceVersion = resourceVersion;
  }

  lastStoreSyncResourceVersion(): string {
    return this.#resourceVersion;
  }

  /** Does nothing: only a FIFO has a resync. */
  resync(): void {}

  #keyOf(object: T | DeletedFinalStateUnknown<T>): string {
    const key = this.#keyFunc(object);
    if (typeof key !== 'string') throw invalid('keyFunc', 'a function that returns strings', key);
    return key;
  }

  #setVersionOf(object: T): void {
    const { metadata } = object as KubeObject;
    if (metadata !== undefined && metadata !== null)
      this.#resourceVersion = metadata.resourceVersion ?? '';
  }
}

/**
 * A store whose objects expire `ttl` milliseconds after they were stored or updated. client-go:
 * NewTTLStore.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const pods = newTTLStore<V1Pod>(deletionHandlingMetaNamespaceKeyFunc, 60_000);
 */
export function newTTLStore<T extends object>(
  keyFunc: KeyFunc<T>,
  ttl: number,
  options: { clock?: Clock | undefined } = {},
): ExpirationCache<T> {
  requireNames('options', options, 'option of newTTLStore()', NAMES);
  const { clock = systemClock } = options;
  return new ExpirationCache<T>(keyFunc, new TTLPolicy<T>(ttl, clock), { clock });
}
