/**
 * Tracks a client's writes to one resource until the cache has them.
 *
 * Invariants: a write is kept as long as the cache could return an older state of the object; then
 * it is forgotten. The number of writes is bounded.
 *
 * A cache has a write if it has that version of the object or a newer one, or if it has applied any
 * newer version: events of a resource arrive in the order of their versions, so an object that is
 * still missing then is deleted, or not selected by this cache. Versions are compared as decimal
 * numbers. If a server's are not, the cache must have exactly the written version. It may never see
 * that one, if others wrote soon after, so a reader waits for a while only and then asks the server
 * for the current version.
 */
import {
  compareResourceVersion,
  isComparableResourceVersion,
} from '../cache/rest/resource-version.ts';

/** The members that identify a state of an object. */
export interface WrittenObject {
  readonly metadata?: {
    readonly name?: string;
    readonly namespace?: string;
    readonly uid?: string;
    readonly resourceVersion?: string;
    readonly deletionTimestamp?: string;
    readonly deletionGracePeriodSeconds?: number;
    readonly finalizers?: readonly string[];
  };
  readonly spec?: unknown;
}

/** What is read of a cache. */
export interface CacheView {
  object(key: string): WrittenObject | undefined;
  /** The last version that the cache has applied; "" before the first. */
  progress(): string;
}

/** A write that a cache may not have yet. */
export interface OwnWrite {
  readonly namespace: string;
  readonly key: string;
  /**
   * The version after the write. For a deletion, a version that the object had; for `lost`, a
   * version after the deletion. Undefined if the server did not answer a version: a deletion of an
   * object that the cache did not have, a binding, an eviction. The cache may then be before or
   * after the write, and a reader must ask the server: see `resolve`.
   */
  readonly version: string | undefined;
  readonly uid: string | undefined;
  /**
   * `deleting`: deleted, but finalizers may hold it. `lost`: deleted, and the server was not asked
   * whether there is a new object of that name.
   */
  readonly state: 'there' | 'deleting' | 'gone' | 'lost';
  /**
   * Whether the cache will have the object: not if its selectors exclude it or the server has said
   * that it is gone.
   */
  expected: boolean;
  /** A reader has waited in vain. The next reader does not wait. */
  late: boolean;
  /** It is unknown whether the cache will have the object: a reader must ask the server. */
  unsure?: boolean | undefined;
  /** For a deletion at a version that cannot be compared: the cache has had the object. */
  shown?: boolean;
}

/** The writes that a cache does not have yet. */
export interface Missing {
  readonly all: OwnWrite[];
  /** The writes that a read must wait for now. The cache may need others meanwhile. */
  readonly now: OwnWrite[];
  /** The writes of `now` that need a request to the server. */
  readonly unknown: OwnWrite[];
}

/**
 * The most writes that are kept per resource. Beyond it the cache must pass the newest of the
 * oldest writes.
 */
const MOST = 4096;

export class OwnWrites {
  /** The newest write of each object, in the order of writing. */
  readonly #byKey = new Map<string, OwnWrite>();
  /** A write without an object that stands for all writes that were too many to keep. */
  #floor: OwnWrite | undefined;
  #sweepAt = 64;
  readonly #most: number;

  constructor(most = MOST) {
    this.#most = most;
  }

  isEmpty(): boolean {
    return this.#byKey.size === 0 && this.#floor === undefined;
  }

  /** Whether a read of an object may have to wait. */
  touches(key: string): boolean {
    return this.#floor !== undefined || this.#byKey.has(key);
  }

  size(): number {
    return this.#byKey.size + (this.#floor === undefined ? 0 : 1);
  }

  /** @param cache undefined if there is none for the resource yet */
  add(write: Omit<OwnWrite, 'late'>, cache: CacheView | undefined): void {
    const { key } = write;
    const before = this.#byKey.get(key);
    const entry = before === undefined ? { ...write, late: false } : both(before, write);
    this.#byKey.delete(key);
    if (cache !== undefined && stateIn(cache, entry) === 'caught up') return;
    this.#byKey.set(key, entry);
    if (cache === undefined) this.#bound();
    else if (this.#byKey.size >= this.#sweepAt) this.#sweep(cache);
  }

  /** The writes that a read of one object must wait for. Forgets those that the cache has. */
  missing(cache: CacheView, key: string): Missing {
    return this.stillMissing(cache, [this.#floor, this.#byKey.get(key)]);
  }

  /** The writes that a read of a namespace must wait for; "" for all namespaces. */
  missingIn(cache: CacheView, namespace: string): Missing {
    const entries = [...this.#byKey.values()].filter(
      (entry) => namespace === '' || entry.namespace === namespace,
    );
    return this.stillMissing(cache, [this.#floor, ...entries]);
  }

  /**
   * Applies the server's answer for an object that was waited for in vain; `undefined` if it does
   * not exist. An older state than the write comes from a server that was restored from a backup:
   * then nothing is waited for (unless the server has reached that version again, which is not
   * noticed). If others have deleted the object, the cache may still have to show, and delete, the
   * state before the write.
   */
  learn(writes: readonly OwnWrite[], object: WrittenObject | undefined): void {
    const { uid, resourceVersion } = object?.metadata ?? {};
    for (const write of writes) {
      if (write.key === '') continue;
      if (object === undefined) write.expected = write.unsure = false;
      else if (
        write.state === 'there' ? isOlder(resourceVersion, write.version) : uid === write.uid
      )
        this.forget(write);
    }
  }

  /**
   * Applies the server's answer for an object that was changed or deleted at an unknown version.
   *
   * @param now the object or `undefined`, and the version of that answer
   * @param state `lost`: the server was not asked for this name
   * @returns what must be waited for instead
   */
  resolve(
    write: OwnWrite,
    now: { object: WrittenObject | undefined; version: string | undefined },
    state: 'there' | 'lost' = 'there',
  ): OwnWrite {
    const { uid, resourceVersion } = now.object?.metadata ?? {};
    const known: OwnWrite = {
      ...write,
      uid: state === 'lost' ? write.uid : uid,
      version: resourceVersion || now.version || ANY_VERSION,
      state,
      expected: now.object !== undefined,
      late: false,
      unsure: false,
    };
    if (this.#byKey.get(write.key) === write) this.#byKey.set(write.key, known);
    return known;
  }

  forget(write: OwnWrite): void {
    if (this.#floor === write) this.#floor = undefined;
    else if (this.#byKey.get(write.key) === write) this.#byKey.delete(write.key);
  }

  /** The writes of these that are still missing. */
  stillMissing(cache: CacheView, writes: readonly (OwnWrite | undefined)[]): Missing {
    const missing: Missing = { all: [], now: [], unknown: [] };
    for (const write of writes) {
      if (write === undefined) continue;
      const state = stateIn(cache, write);
      if (state === 'caught up') this.forget(write);
      else missing.all.push(write);
      if (state === 'stale' || state === 'unknown') missing.now.push(write);
      if (state === 'unknown') missing.unknown.push(write);
    }
    return missing;
  }

  /** The map is cleaned when it has doubled, because the writes may never be read. */
  #sweep(cache: CacheView): void {
    this.stillMissing(cache, [...this.#byKey.values()]);
    this.#bound();
    this.#sweepAt = Math.max(64, this.#byKey.size * 2);
  }

  #bound(): void {
    for (const [key, write] of this.#byKey) {
      if (this.#byKey.size <= this.#most) return;
      this.#byKey.delete(key);
      if (!isOlder(this.#floor?.version, write.version)) continue;
      this.#floor = { ...write, key: '', uid: undefined, state: 'there', expected: true };
    }
  }
}

/**
 * Combines two writes to one name. They may have run at the same time and been answered in either
 * order: a deleted object stays deleted, and the newest version counts; of two objects the newer
 * one.
 */
function both(before: OwnWrite, write: Omit<OwnWrite, 'late'>): OwnWrite {
  const older = write.version !== undefined && isOlder(write.version, before.version);
  if (write.uid === undefined || write.uid !== before.uid) {
    // With a deletion at an unknown version neither write is known to be newer: a reader asks the
    // server, and no object counts as gone.
    const kept = older || before.version === undefined ? before : { ...write, late: false };
    if (kept.version !== undefined && kept.state !== 'lost') return kept;
    return before.state === write.state ? kept : { ...kept, version: undefined, state: 'there' };
  }
  const newest = older || write.version === undefined ? before : write;
  const states = [before.state, write.state];
  const state =
    (['lost', 'gone', 'deleting'] as const).find((each) => states.includes(each)) ?? 'there';
  // A write that changed nothing has the version that was there, which needs no more waiting.
  const isNew = newest !== before && (write.version !== before.version || state !== before.state);
  return { ...newest, state, late: before.late && !isNew };
}

type State = 'caught up' | 'stale' | 'early' | 'unknown';

/** Whether a read has to wait for this write now. */
export function isMissing(cache: CacheView, write: OwnWrite): boolean {
  return stateIn(cache, write) === 'stale';
}

/**
 * Whether this is a deletion at an unknown version and the cache shows nothing newer. Then the
 * object need not be requested: at any version after the deletion it did not exist.
 */
export function isLost(cache: CacheView, { key, uid, version, state }: OwnWrite): boolean {
  if (version !== undefined || state !== 'gone') return false;
  const shown = cache.object(key)?.metadata;
  return shown === undefined || shown.uid === uid;
}

/**
 * `stale`: the cache has an older state. `early`: not now, but perhaps after more events.
 * `unknown`: only the server can tell.
 */
function stateIn(cache: CacheView, write: OwnWrite): State {
  const state = isOpaque(write) ? opaqueState(cache, write) : comparedState(cache, write);
  return state === 'stale' && write.unsure ? 'unknown' : state;
}

/** The server's answer has no version, so any version counts. */
const ANY_VERSION = '0';

/** Whether the version can only be compared for equality. */
export function isOpaque({ version }: OwnWrite): boolean {
  return version !== undefined && version !== ANY_VERSION && !isComparableResourceVersion(version);
}

function opaqueState(cache: CacheView, write: OwnWrite): State {
  const metadata = cache.object(write.key)?.metadata;
  if (write.state === 'there') {
    if (metadata?.resourceVersion === write.version || cache.progress() === write.version)
      return 'caught up';
    return metadata === undefined && !write.expected ? 'early' : 'stale';
  }
  if (metadata === undefined) return write.shown ? 'caught up' : 'early';
  if (metadata.uid !== write.uid) return 'unknown'; // before or after the deletion
  write.shown = true;
  return write.state === 'deleting' && metadata.deletionTimestamp ? 'caught up' : 'stale';
}

function comparedState(cache: CacheView, write: OwnWrite): State {
  if (write.version === undefined) return 'unknown';
  const past = !isOlder(cache.progress(), write.version);
  // the usual case, which needs no look-up of the object
  if (past && write.state === 'there') return 'caught up';
  const metadata = cache.object(write.key)?.metadata;
  if (write.state === 'there') {
    if (metadata !== undefined && !isOlder(metadata.resourceVersion, write.version))
      return 'caught up';
    return metadata === undefined && !write.expected ? 'early' : 'stale';
  }
  if (past && write.state === 'lost') return 'caught up';
  if (metadata === undefined) return past ? 'caught up' : 'early';
  // An object with the name of a lost one may be from before the deletion or from after it.
  if (write.state === 'lost') return metadata.uid === write.uid ? 'stale' : 'unknown';
  // An object of this name with another uid was created after the deletion, unless it is older than
  // the deleted one.
  if (metadata.uid !== write.uid)
    return isOlder(metadata.resourceVersion, write.version) ? 'stale' : 'caught up';
  const marked =
    metadata.deletionTimestamp !== undefined && !isOlder(metadata.resourceVersion, write.version);
  return write.state === 'deleting' && marked ? 'caught up' : 'stale';
}

/** Whether `a` is known to be older than `b`. An undefined version is older than any known one. */
function isOlder(a: string | undefined, b: string | undefined): boolean {
  if (!isComparableResourceVersion(b)) return false;
  return !isComparableResourceVersion(a) || compareResourceVersion(a, b) < 0;
}

/** Whether an object is completely deleted: it is marked, and no finalizer holds it. */
export function isFullyDeleted({ metadata, spec }: WrittenObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds, finalizers } = metadata ?? {};
  if (!deletionTimestamp || (deletionGracePeriodSeconds ?? 0) > 0 || (finalizers?.length ?? 0) > 0)
    return false;
  // the finalizers of a Namespace
  const held = (spec as { finalizers?: unknown } | null | undefined)?.finalizers;
  return !Array.isArray(held) || held.length === 0;
}
