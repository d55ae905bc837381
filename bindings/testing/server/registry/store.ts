/**
 * The objects of one resource, their history of events, and the watchers. Invariants:
 * - a stored object is never mutated; its JSON text is made once, when it is stored;
 * - all versions come from one counter of the server and only grow; events are in order of their
 *   versions;
 * - the history has every event with a version above `oldest`, so that a watch from there and a
 *   list at any such version are exact;
 * - watchers are notified in the same turn in which an event is stored: a client that lists and
 *   then watches from the list's version receives every later event once.
 */
import { type JsonObject, memberObject, writeJson } from '../json.ts';

/**
 * The version counter of a server. It begins at 1, as etcd's revision does, since resourceVersion 0
 * has a meaning of its own.
 */
export class VersionCounter {
  current = 1;
  readonly #listeners = new Set<(current: number) => void>();

  next(): number {
    this.current++;
    for (const listener of this.#listeners) listener(this.current);
    return this.current;
  }

  /** Calls the listener with each new version. Returns the function that removes it. */
  onNext(listener: (current: number) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}

/**
 * A stored object. `key` is `namespace/name`, or the name of a cluster-scoped object, which gives
 * etcd's order of keys.
 */
export interface Stored {
  readonly key: string;
  readonly version: number;
  readonly object: JsonObject;
  readonly json: string;
}

export interface StoreEvent {
  readonly version: number;
  readonly key: string;
  /** The object before; undefined at a create. */
  readonly old: Stored | undefined;
  /** The object after; undefined at a removal. */
  readonly now: Stored | undefined;
}

export interface Watcher {
  event(event: StoreEvent): void;
  /** The resource is no longer served. */
  closed(): void;
}

export const metadataOf = (object: JsonObject): JsonObject => memberObject(object, 'metadata');

export const storeKey = (namespace: string, name: string): string =>
  namespace === '' ? name : `${namespace}/${name}`;

/** Sets `metadata.resourceVersion`; the members keep their order. */
export function withVersion(object: JsonObject, version: number): JsonObject {
  return { ...object, metadata: { ...metadataOf(object), resourceVersion: String(version) } };
}

export class ResourceStore {
  readonly #versions: VersionCounter;
  readonly #historySize: number;
  readonly #objects = new Map<string, Stored>();
  readonly #watchers = new Set<Watcher>();
  /** A ring buffer once it is full: `#first` is the index of the oldest event. */
  readonly #history: StoreEvent[] = [];
  #first = 0;
  #oldest = 0;
  /** The keys in order; created when a list needs them. */
  #sorted: string[] | undefined = [];

  constructor(versions: VersionCounter, historySize: number) {
    this.#versions = versions;
    this.#historySize = historySize;
    // Nothing was dropped yet, so the history covers all versions, also those before the first
    // write.
    this.#oldest = 0;
  }

  get(key: string): Stored | undefined {
    return this.#objects.get(key);
  }

  get size(): number {
    return this.#objects.size;
  }

  /** The current version of the server. */
  get current(): number {
    return this.#versions.current;
  }

  /**
   * The version up to which events were dropped. A watch from this version or a later one is exact.
   */
  get oldest(): number {
    return this.#oldest;
  }

  /** Stores a new state of the object under the next version, and notifies the watchers. */
  put(key: string, object: JsonObject): Stored {
    const version = this.#versions.next();
    const complete = withVersion(object, version);
    const stored: Stored = { key, version, object: complete, json: writeJson(complete) };
    const old = this.#objects.get(key);
    if (old === undefined) this.#sorted = undefined;
    this.#objects.set(key, stored);
    this.#record({ version, key, old, now: stored });
    return stored;
  }

  /**
   * Removes the object under the next version. Returns its last state with that version, as in the
   * DELETED event.
   */
  remove(key: string): Stored | undefined {
    const old = this.#objects.get(key);
    if (old === undefined) return undefined;
    const version = this.#versions.next();
    this.#objects.delete(key);
    this.#sorted = undefined;
    this.#record({ version, key, old, now: undefined });
    const object = withVersion(old.object, version);
    return { key, version, object, json: writeJson(object) };
  }

  /** The events after a version, in order. The caller checks that it is not below `oldest`. */
  *eventsAfter(version: number): Generator<StoreEvent> {
    for (let at = this.#after(version); at < this.#history.length; at++) yield this.#event(at);
  }

  /**
   * The objects at a version, in order of their keys, from the key `from` on, of one namespace if
   * it is given. Undoes the later events, so the cost grows with their number, and no snapshot is
   * held for clients that never request the next page.
   */
  asOf(version: number, namespace: string, from: string): Stored[] {
    const undone = new Map<string, Stored | undefined>();
    for (let at = this.#history.length - 1, least = this.#after(version); at >= least; at--) {
      const event = this.#event(at);
      undone.set(event.key, event.old);
    }
    let keys = this.#keys();
    if (undone.size > 0) {
      keys = keys.filter((key) => !undone.has(key));
      for (const [key, stored] of undone) if (stored !== undefined) keys.push(key);
      keys.sort(compareKeys);
    }
    const prefix = namespace === '' ? '' : `${namespace}/`;
    const found: Stored[] = [];
    for (let at = lowerBound(keys, from > prefix ? from : prefix); at < keys.length; at++) {
      const key = keys[at]!;
      if (!key.startsWith(prefix)) break;
      const stored = undone.get(key) ?? this.#objects.get(key);
      if (stored !== undefined) found.push(stored);
    }
    return found;
  }

  watch(watcher: Watcher): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  /**
   * The version with exactly `events` events between it and `version`; fewer if the history is
   * shorter.
   */
  before(version: number, events: number): number {
    const at = this.#after(version) - events - 1;
    return at < 0 ? this.#oldest : this.#event(at).version;
  }

  /** Ends all watches. */
  close(): void {
    for (const watcher of [...this.#watchers]) watcher.closed();
  }

  /**
   * Replaces every object by what `read` returns for it, in the same version. No event is sent:
   * watches end, and clients list again.
   */
  reread(read: (object: JsonObject) => JsonObject): void {
    this.close();
    for (const [key, { version, object }] of this.#objects) {
      const now = read(object);
      this.#objects.set(key, { key, version, object: now, json: writeJson(now) });
    }
    this.expire(this.#versions.current);
  }

  /** Drops all events: a watch from a version up to `version` is answered with 410. */
  expire(version: number): void {
    this.#history.length = 0;
    this.#first = 0;
    this.#oldest = version;
  }

  #record(event: StoreEvent): void {
    if (this.#historySize === 0) {
      this.#oldest = event.version;
    } else if (this.#history.length < this.#historySize) {
      this.#history.push(event);
    } else {
      this.#oldest = this.#history[this.#first]!.version;
      this.#history[this.#first] = event;
      this.#first = (this.#first + 1) % this.#historySize;
    }
    for (const watcher of this.#watchers) watcher.event(event);
  }

  #event(at: number): StoreEvent {
    return this.#history[(this.#first + at) % this.#history.length]!;
  }

  /** The index of the first event after a version. */
  #after(version: number): number {
    let low = 0;
    let high = this.#history.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#event(middle).version <= version) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #keys(): string[] {
    this.#sorted ??= [...this.#objects.keys()].sort(compareKeys);
    return this.#sorted;
  }
}

const compareKeys = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function lowerBound(keys: readonly string[], from: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (keys[middle]! < from) low = middle + 1;
    else high = middle;
  }
  return low;
}
