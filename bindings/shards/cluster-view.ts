/**
 * What one replica knows of the Leases and the map, and for how long it has seen each Lease not
 * change. Reads and events may be late, repeated or out of order: older versions are ignored.
 */
import type { ShardMap } from './shard-map.ts';

/** What a replica says of itself in its Lease. */
export interface MemberState {
  /** The epoch of the newest map that it follows; 0 before the first. */
  readonly epoch: number;
  /** The slots whose objects it has. */
  readonly warm: readonly number[];
  /**
   * The slots that it may still run although that map gives them to another replica, to nobody, or
   * is about to. A slot that it does not name here, and that the map does not leave with it, is let
   * go.
   */
  readonly holding: readonly number[];
  /** It wants to end and to hand over its slots first. */
  readonly leaving: boolean;
  /** The number of objects in each slot of `warm`, in that order; may be empty. */
  readonly weights: readonly number[];
}

/** A Lease, as it was read. */
export interface LeaseView {
  /** Of the object. */
  readonly name: string;
  readonly uid: string;
  /** The resourceVersion as a number. */
  readonly version: number;
  /** Empty: released by its holder, or taken over by the coordinator. */
  readonly holder: string;
  /** In milliseconds. */
  readonly duration: number;
  /** `undefined` for a Lease that is no replica's. */
  readonly state: MemberState | undefined;
  /** The object itself, for the writer. */
  readonly raw?: unknown;
}

/** The map object, as it was read. */
export interface MapView {
  readonly uid: string;
  readonly version: number;
  /** As `mapOfData` says. */
  readonly map: ShardMap | 'newer' | undefined;
  readonly raw?: unknown;
}

interface Known {
  lease: LeaseView | undefined;
  /** The resourceVersion up to which this is known. */
  version: number;
  /** The local time at which it was first seen so. */
  since: number;
  /** It had been released before it was deleted. */
  wasReleased: boolean;
}

/** How long an absent Lease is remembered, in milliseconds: longer than any lease lasts. */
const REMEMBERED_MS = 300_000;

export class ClusterView {
  readonly #leases = new Map<string, Known>();
  /** The local time at which the Leases were surely up to date last. */
  #freshAt = Number.NEGATIVE_INFINITY;
  /** The local time at which the newest whole list of Leases was asked for. */
  listedAt = Number.NEGATIVE_INFINITY;
  /** The longest pause between two such times that counts as watching; longer ones start anew. */
  readonly #longestGap: number;
  /** Grows with each change. */
  revision = 0;
  mapObject: MapView | undefined;
  /** The resourceVersion up to which `mapObject` is known; 0 before the first read. */
  mapVersion = 0;
  /** The newest good map that was seen. */
  map: ShardMap | undefined;
  #mapSeenVersion = 0;

  constructor(longestGap: number) {
    this.#longestGap = longestGap;
  }

  get freshAt(): number {
    return this.#freshAt;
  }

  lease(name: string): LeaseView | undefined {
    return this.#leases.get(name)?.lease;
  }

  /** Of all names that were ever seen and are not forgotten, also of Leases that are gone. */
  names(): Iterable<string> {
    return this.#leases.keys();
  }

  /** How long this process has seen the Lease not change, or be absent. */
  age(name: string, now: number): number {
    const known = this.#leases.get(name);
    return known === undefined ? 0 : now - known.since;
  }

  isAbsent(name: string): boolean {
    const known = this.#leases.get(name);
    return known !== undefined && known.lease === undefined;
  }

  /** Whether a Lease was released or taken over: its replica has ended for certain. */
  isDead(name: string): boolean {
    const known = this.#leases.get(name);
    return known?.lease === undefined ? (known?.wasReleased ?? false) : known.lease.holder === '';
  }

  /** Remembers that a Lease is expected and was not seen. */
  expect(name: string, now: number): void {
    if (!this.#leases.has(name))
      this.#leases.set(name, { lease: undefined, version: 0, since: now, wasReleased: false });
  }

  forget(name: string): void {
    this.#leases.delete(name);
  }

  /** One Lease was read, or written by this process, or an event has told of it. */
  sawLease(lease: LeaseView, now: number): void {
    this.#know(lease.name, lease, lease.version, now);
  }

  /** @param version of the deletion, or of a list without it */
  sawNoLease(name: string, version: number, now: number): void {
    const known = this.#leases.get(name);
    if (known?.lease !== undefined) this.#know(name, undefined, version, now);
  }

  /**
   * A whole list of the replicas' Leases.
   *
   * @param sentAt the local time at which it was asked for
   */
  sawLeases(
    leases: readonly LeaseView[],
    version: number,
    keep: string,
    sentAt: number,
    now: number,
  ): void {
    this.listedAt = Math.max(this.listedAt, sentAt);
    const listed = new Set(leases.map(({ name }) => name));
    for (const lease of leases) this.sawLease(lease, now);
    for (const [name, known] of this.#leases) {
      if (listed.has(name) || name === keep) continue;
      this.sawNoLease(name, version, now);
      if (known.lease === undefined && now - known.since > REMEMBERED_MS) this.#leases.delete(name);
    }
  }

  /**
   * The Leases are up to date as of `at`. After a pause nobody's age counts: replicas could not
   * renew while the API server was away, or this process was stopped.
   */
  isFresh(at: number, now: number): void {
    if (at <= this.#freshAt) return;
    if (at - this.#freshAt > this.#longestGap)
      for (const known of this.#leases.values()) known.since = now;
    this.#freshAt = at;
  }

  /** @param object `undefined` if it does not exist as of `version` */
  sawMap(object: MapView | undefined, version: number): void {
    if (version <= this.mapVersion) return;
    if (object?.version !== this.mapObject?.version) this.revision++;
    this.mapVersion = version;
    this.mapObject = object;
    const map = object?.map;
    if (map === undefined || map === 'newer' || version <= this.#mapSeenVersion) return;
    this.#mapSeenVersion = version;
    if (map.epoch > (this.map?.epoch ?? 0)) this.map = map;
  }

  #know(name: string, lease: LeaseView | undefined, version: number, now: number): void {
    const known = this.#leases.get(name);
    if (known !== undefined && version <= known.version) return;
    this.revision++;
    const wasReleased = known?.lease?.holder === '';
    this.#leases.set(name, { lease, version, since: now, wasReleased });
  }
}
