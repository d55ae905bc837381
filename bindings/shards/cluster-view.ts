/**
 * What one replica knows of the Leases and the map, and for how long each Lease has not changed.
 * Reads and events may be late, repeated or out of order. Older versions are ignored.
 */
import type { ShardMap } from './shard-map.ts';

/** What a replica acknowledges in an annotation of its Lease. */
export interface MemberState {
  /** The epoch of the newest map that it follows; 0 before the first. */
  readonly epoch: number;
  /** The slots whose objects it has in its caches. */
  readonly warm: readonly number[];
  /**
   * The slots that it may still run although the map of `epoch` moves them away, or does not give
   * them to it. It has let go any other slot that this map moves away or does not give to it.
   */
  readonly holding: readonly number[];
  /** Whether it is handing over its slots, in order to end. */
  readonly leaving: boolean;
  /** The number of objects in each slot of `warm`, in that order; may be empty. */
  readonly weights: readonly number[];
}

/** One version of a Lease. */
export interface LeaseView {
  /** The name of the object: `<id>-<replica>`, or the `id` for the coordinator's. */
  readonly name: string;
  readonly uid: string;
  /** The resourceVersion as a number. */
  readonly version: number;
  /** Empty if its holder has released it, or the coordinator has taken it over. */
  readonly holder: string;
  /** In milliseconds. */
  readonly duration: number;
  /** `undefined` for a Lease that no replica has written, such as the coordinator's. */
  readonly state: MemberState | undefined;
  /** The whole object, which a write is based on. */
  readonly raw?: unknown;
}

/** One version of the map's ConfigMap. */
export interface MapView {
  readonly uid: string;
  readonly version: number;
  /** The result of `mapOfData`. */
  readonly map: ShardMap | 'newer' | undefined;
  readonly raw?: unknown;
}

interface Known {
  lease: LeaseView | undefined;
  /** The resourceVersion as of which this is known. */
  version: number;
  /** The local time at which this version was seen first. */
  since: number;
  /** Whether the version before had no holder. */
  wasReleased: boolean;
}

/** How long an absent Lease is remembered, in milliseconds. */
const REMEMBERED_MS = 300_000;

export class ClusterView {
  readonly #leases = new Map<string, Known>();
  /** The local time as of which the Leases are known to be up to date. */
  #freshAt = Number.NEGATIVE_INFINITY;
  /** The local time at which the newest list of all Leases was sent. */
  listedAt = Number.NEGATIVE_INFINITY;
  /** After a longer pause of `#freshAt`, in milliseconds, the ages of all Leases begin again. */
  readonly #longestGap: number;
  /** Grows with each change. */
  revision = 0;
  mapObject: MapView | undefined;
  /** The resourceVersion as of which `mapObject` is known; 0 before the first read. */
  mapVersion = 0;
  /** The map with the highest epoch that was seen and could be read. */
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

  /** The names of all Leases that are remembered, including absent ones. */
  names(): Iterable<string> {
    return this.#leases.keys();
  }

  /** For how long the Lease has not changed, or has been absent, as this process sees it. */
  age(name: string, now: number): number {
    const known = this.#leases.get(name);
    return known === undefined ? 0 : now - known.since;
  }

  isAbsent(name: string): boolean {
    const known = this.#leases.get(name);
    return known !== undefined && known.lease === undefined;
  }

  /** Whether the Lease was released or taken over. Its replica then runs nothing any more. */
  isDead(name: string): boolean {
    const known = this.#leases.get(name);
    return known?.lease === undefined ? (known?.wasReleased ?? false) : known.lease.holder === '';
  }

  /** Remembers a Lease as absent if it was never seen. */
  expect(name: string, now: number): void {
    if (!this.#leases.has(name))
      this.#leases.set(name, { lease: undefined, version: 0, since: now, wasReleased: false });
  }

  forget(name: string): void {
    this.#leases.delete(name);
  }

  /** Takes a Lease that this process has read, written or got by a watch. */
  sawLease(lease: LeaseView, now: number): void {
    this.#know(lease.name, lease, lease.version, now);
  }

  /** @param version the resourceVersion of the deletion, or of a list without the Lease */
  sawNoLease(name: string, version: number, now: number): void {
    const known = this.#leases.get(name);
    if (known?.lease !== undefined) this.#know(name, undefined, version, now);
  }

  /**
   * Takes a list of all Leases of replicas.
   *
   * @param keep the name of a Lease that such a list never has: the coordinator's
   * @param sentAt the local time at which the list was sent
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
   * Notes that the Leases are up to date as of `at`. After a long pause all ages begin again: while
   * the API server was away, replicas could not renew; or this process was stopped.
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
