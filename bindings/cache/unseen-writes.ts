/**
 * Objects that this process has written and that a cache has not shown yet. No list tells of an object that came and went since the version
 * before it, and no event comes after it; only who wrote the object knows that it was there.
 *
 * What this file keeps true: such an object is given once, as a tombstone, when a list has taken the cache past its version without it; one that
 * the cache has shown is not given; what is kept is bounded. Versions are compared as decimal numbers; where a server's are not, nothing
 * is kept.
 */
import { DeletedFinalStateUnknown, type KubeObject, metaNamespaceKeyFunc } from './keys.ts';
import type { TransformFunc } from './queue.ts';
import { compareResourceVersion, isComparableResourceVersion } from './resource-version.ts';
import { type Selection, selectionMatcher } from './selection.ts';

/** The cache, as far as it is asked here. */
export interface ShowingStore {
  getByKey(key: string): object | undefined;
  /** The version of what it has taken over last; "" before anything. */
  lastStoreSyncResourceVersion(): string;
}

export interface UnseenWritesOptions<T> {
  /** What the cache is restricted to; asked for at the first write. */
  selection(): Selection;
  /** What objects go through on their way into the cache. */
  transformer: TransformFunc<T>;
  onGone(tombstone: DeletedFinalStateUnknown<T>): void;
  most?: number;
}

interface Unseen {
  readonly version: string;
  /** The object as JSON: whoever wrote it may change what was answered, and nearly none is ever needed. */
  readonly json: string;
}

/** Of so many the oldest is given up: then a missed deletion of it stays missed. */
const MOST = 4096;

export class UnseenWrites<T extends object> {
  readonly #store: ShowingStore;
  readonly #options: UnseenWritesOptions<T>;
  readonly #most: number;
  #belongs: ((object: KubeObject) => boolean) | undefined;
  /** By key, in the order in which they were written. */
  readonly #byKey = new Map<string, Unseen>();
  #sweepAt = 64;
  /** What lies between these two versions was seen in no event; "" before the first list. */
  #gap = { after: '', upTo: '' };

  constructor(store: ShowingStore, options: UnseenWritesOptions<T>) {
    this.#store = store;
    this.#options = options;
    this.#most = options.most ?? MOST;
  }

  size(): number {
    return this.#byKey.size;
  }

  /**
   * @param object as it was written
   * @throws CapstanError INVALID_ARGUMENT for a value without `metadata.name`
   */
  wrote(object: KubeObject): void {
    const key = metaNamespaceKeyFunc(object);
    const { uid, resourceVersion: version } = object.metadata as { uid?: string; resourceVersion?: string };
    this.#belongs ??= selectionMatcher(this.#options.selection());
    if (!isComparableResourceVersion(version) || !this.#belongs(object)) return;
    const shown = this.#store.getByKey(key) as { metadata?: { uid?: string } } | undefined;
    // What is shown is missed when it goes; and what went to make room for this one has a tombstone of its own.
    if (shown !== undefined && shown.metadata?.uid === uid) return;
    if (!this.#isPast(version)) {
      this.#byKey.delete(key);
      this.#byKey.set(key, { version, json: JSON.stringify(object) });
      if (this.#byKey.size >= this.#sweepAt) this.#sweep();
    } else if (shown === undefined && isAfter(version, this.#gap.after) && !isAfter(version, this.#gap.upTo)) {
      this.#tell(key, JSON.stringify(object)); // the answer came after the list
    }
  }

  /**
   * To be called when a list has become the content of the cache.
   *
   * @param before the version that the cache had before
   */
  replaced(before: string): void {
    this.#gap = {
      after: before === this.#gap.upTo ? this.#gap.after : before,
      upTo: this.#store.lastStoreSyncResourceVersion(),
    };
    for (const [key, { version, json }] of this.#byKey) {
      if (!this.#isPast(version)) continue;
      this.#byKey.delete(key);
      if (isAfter(version, before) && this.#store.getByKey(key) === undefined) this.#tell(key, json);
    }
  }

  #tell(key: string, json: string): void {
    const { transformer, onGone } = this.#options;
    onGone(new DeletedFinalStateUnknown(key, transformer(JSON.parse(json) as T)));
  }

  /** What events have taken the cache past was shown. Looked for when the number has doubled. */
  #sweep(): void {
    for (const [key, { version }] of this.#byKey) if (this.#isPast(version)) this.#byKey.delete(key);
    for (const key of this.#byKey.keys()) {
      if (this.#byKey.size <= this.#most) break;
      this.#byKey.delete(key);
    }
    this.#sweepAt = Math.max(64, Math.min(this.#byKey.size * 2, this.#most + 1));
  }

  #isPast(version: string): boolean {
    return !isAfter(version, this.#store.lastStoreSyncResourceVersion());
  }
}

/** Everything comes after what is no version. */
function isAfter(version: string, other: string): boolean {
  return !isComparableResourceVersion(other) || compareResourceVersion(version, other) > 0;
}
