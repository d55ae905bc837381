/**
 * What a client has written to one resource and its cache may not show yet. What this file keeps
 * true: as long as a cache could give an older state of an object than the client's own last write,
 * the write is in here; as soon as it cannot, it is forgotten; and however many writes there are,
 * what is kept is bounded.
 *
 * A cache has caught up with a write when it holds that version of the object or a newer one, or
 * when it has taken over anything that is newer: the events of one resource come in the order of
 * their versions, so what is still missing then is gone, or is nothing for this cache. Versions are
 * compared as decimal numbers. Where a server's are not, a cache has caught up when it holds the very
 * version of the write; as that may be one which the cache never shows, because others wrote soon
 * after, a reader waits for it only for a while and then asks the server which version there is.
 */
import {
  compareResourceVersion,
  isComparableResourceVersion,
} from '../cache/rest/resource-version.ts';

/** The parts of an object that tell one state from another. */
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

/** A cache, as far as it is asked here. */
export interface CacheView {
  object(key: string): WrittenObject | undefined;
  /** The version of what it has taken over last; "" before anything. */
  progress(): string;
}

/** A write that a cache may not show yet. */
export interface OwnWrite {
  readonly namespace: string;
  readonly key: string;
  /**
   * Of an object that is there, its version; of one that was deleted, one that it had; of one that
   * is lost, one from after its deletion. Undefined: the server does not say at which version it
   * deleted the object, and the cache did not have it, or at which it bound or evicted one; so
   * whatever the cache has may be from before or after. Who reads it has to ask: see `resolve`.
   */
  readonly version: string | undefined;
  readonly uid: string | undefined;
  /**
   * `deleting`: deleted, though finalizers may still hold it. `lost`: deleted, and nobody was asked
   * whether there is another of its name.
   */
  readonly state: 'there' | 'deleting' | 'gone' | 'lost';
  /**
   * Whether the object is expected in the cache: not where its selectors leave it out, and not
   * where the server has said that it is gone.
   */
  expected: boolean;
  /** A reader has waited for it in vain: the next one does not wait. */
  late: boolean;
  /** It is not known whether the cache gets the object at all: who reads it has to ask. */
  unsure?: boolean | undefined;
  /** Of a deletion at a version that cannot be compared: the cache has shown the object. */
  shown?: boolean;
}

/** Writes that a cache has not caught up with. */
export interface Missing {
  readonly all: OwnWrite[];
  /**
   * Those for which a read has to wait now. While it waits the cache goes on, and others of them
   * may become such.
   */
  readonly now: OwnWrite[];
  /** Those of `now` that take asking the server. */
  readonly unknown: OwnWrite[];
}

/**
 * So many writes to objects of one resource are told apart; beyond, the cache has to come past the
 * newest of the oldest.
 */
const MOST = 4096;

export class OwnWrites {
  /** The newest of each object, in the order in which they were written. */
  readonly #byKey = new Map<string, OwnWrite>();
  /** The write, of no certain object, that stands for those that are too many to be kept. */
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

  /** @param cache undefined: there is none for the resource yet */
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

  /** What a read of one object has to wait for; what has been caught up with is forgotten. */
  missing(cache: CacheView, key: string): Missing {
    return this.stillMissing(cache, [this.#floor, this.#byKey.get(key)]);
  }

  /** What a read of a namespace has to wait for; "" is all of them. */
  missingIn(cache: CacheView, namespace: string): Missing {
    const entries = [...this.#byKey.values()].filter(
      (entry) => namespace === '' || entry.namespace === namespace,
    );
    return this.stillMissing(cache, [this.#floor, ...entries]);
  }

  /**
   * What the server itself says of an object that was waited for in vain: `undefined` is that it
   * has none. An older state than the one that was written comes from a server that was restored
   * from a backup, and then there is nothing to wait for (one that has come as far again is not
   * noticed). Of an object that others have deleted the cache may still have to show, and to lose,
   * what was before the write.
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
   * What the server says of an object that was deleted or changed at no known version.
   *
   * @param now the object, `undefined` for none, and the version at which that was so
   * @param state `lost`: it was not asked for by name
   * @returns what is to be waited for in its place
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

  /** Which of these are still waited for. */
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

  /** Nobody may ever read what was written, so that it is looked through when it has doubled. */
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
 * What two writes to one name leave. They may have been under way at once and answered in either
 * order, so that neither is simply the later: an object that was deleted stays so, and of its
 * versions the newest counts; of two objects the newer one does.
 */
function both(before: OwnWrite, write: Omit<OwnWrite, 'late'>): OwnWrite {
  const older = write.version !== undefined && isOlder(write.version, before.version);
  if (write.uid === undefined || write.uid !== before.uid) {
    // Beside a deletion at no known version nothing can be called newer: whoever reads asks the
    // server for all of it, and no object counts as gone.
    const kept = older || before.version === undefined ? before : { ...write, late: false };
    if (kept.version !== undefined && kept.state !== 'lost') return kept;
    return before.state === write.state ? kept : { ...kept, version: undefined, state: 'there' };
  }
  const newest = older || write.version === undefined ? before : write;
  const states = [before.state, write.state];
  const state =
    (['lost', 'gone', 'deleting'] as const).find((each) => states.includes(each)) ?? 'there';
  // What changed nothing is waited for no more than what it found.
  const isNew = newest !== before && (write.version !== before.version || state !== before.state);
  return { ...newest, state, late: before.late && !isNew };
}

type State = 'caught up' | 'stale' | 'early' | 'unknown';

/** Whether a read has to wait for this write now. */
export function isMissing(cache: CacheView, write: OwnWrite): boolean {
  return stateIn(cache, write) === 'stale';
}

/**
 * Whether this is a deletion at no known version, and nothing that the cache shows came after it:
 * then the object need not be asked for, as any version from after the deletion is one at which
 * there was none of its.
 */
export function isLost(cache: CacheView, { key, uid, version, state }: OwnWrite): boolean {
  if (version !== undefined || state !== 'gone') return false;
  const shown = cache.object(key)?.metadata;
  return shown === undefined || shown.uid === uid;
}

/**
 * `stale`: the cache would give an older state. `early`: it would not now, and yet might once it
 * has gone on. `unknown`: it takes asking, and no waiting.
 */
function stateIn(cache: CacheView, write: OwnWrite): State {
  const state = isOpaque(write) ? opaqueState(cache, write) : comparedState(cache, write);
  return state === 'stale' && write.unsure ? 'unknown' : state;
}

/** What the server said has to do, as it told no version. */
const ANY_VERSION = '0';

/** Whether the write has a version that can only be told from others, and not compared. */
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
  if (metadata.uid !== write.uid) return 'unknown'; // from before or from after the deletion
  write.shown = true;
  return write.state === 'deleting' && metadata.deletionTimestamp ? 'caught up' : 'stale';
}

function comparedState(cache: CacheView, write: OwnWrite): State {
  if (write.version === undefined) return 'unknown';
  const past = !isOlder(cache.progress(), write.version);
  // mostly, and the object need not be looked up
  if (past && write.state === 'there') return 'caught up';
  const metadata = cache.object(write.key)?.metadata;
  if (write.state === 'there') {
    if (metadata !== undefined && !isOlder(metadata.resourceVersion, write.version))
      return 'caught up';
    return metadata === undefined && !write.expected ? 'early' : 'stale';
  }
  if (past && write.state === 'lost') return 'caught up';
  if (metadata === undefined) return past ? 'caught up' : 'early';
  // What has the name of one that is lost may be from before it, if the cache is that far behind,
  // as well as from after it.
  if (write.state === 'lost') return metadata.uid === write.uid ? 'stale' : 'unknown';
  // An object of this name with another uid is what came after, unless it is older than the deleted
  // one was.
  if (metadata.uid !== write.uid)
    return isOlder(metadata.resourceVersion, write.version) ? 'stale' : 'caught up';
  const marked =
    metadata.deletionTimestamp !== undefined && !isOlder(metadata.resourceVersion, write.version);
  return write.state === 'deleting' && marked ? 'caught up' : 'stale';
}

/** Whether `a` is known to be older than `b`; nothing is older than anything that is known. */
function isOlder(a: string | undefined, b: string | undefined): boolean {
  if (!isComparableResourceVersion(b)) return false;
  return !isComparableResourceVersion(a) || compareResourceVersion(a, b) < 0;
}

/**
 * Whether a write, a deletion too, left nothing: the object is marked, and nothing holds it any
 * more.
 */
export function isFullyDeleted({ metadata, spec }: WrittenObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds, finalizers } = metadata ?? {};
  if (!deletionTimestamp || (deletionGracePeriodSeconds ?? 0) > 0 || (finalizers?.length ?? 0) > 0)
    return false;
  // what holds a Namespace
  const held = (spec as { finalizers?: unknown } | null | undefined)?.finalizers;
  return !Array.isArray(held) || held.length === 0;
}
