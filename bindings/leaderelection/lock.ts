/**
 * What candidates know of an election: who holds the lease, by which times. A record is what a lock
 * stores; for a Lease it is the object's spec. Times are kept as the text that came, so that a
 * record that is written back has lost no digit. client-go:
 * tools/leaderelection/resourcelock/interface.go, leaselock.go.
 */
import type { Clock } from '../base/clock.ts';

/**
 * client-go's LeaderElectionRecord. Candidates look at the times only to see that they changed,
 * never at what they say.
 */
export interface LeaderElectionRecord {
  /** Empty: nobody holds it, and everybody may take it at once. */
  readonly holderIdentity: string;
  /** How long the others wait after they last saw the record change. */
  readonly leaseDurationSeconds: number;
  /** RFC 3339 with microseconds; undefined where the Lease has none. */
  readonly acquireTime: string | undefined;
  readonly renewTime: string | undefined;
  /** How often the lease went from one holder to another. */
  readonly leaderTransitions: number;
  /** Of coordinated election; kept while the record is read, and not written by this package. */
  readonly strategy?: string | undefined;
  readonly preferredHolder?: string | undefined;
}

/** `spec` of a Lease, as it is in JSON. */
export interface LeaseSpec {
  holderIdentity?: string | null;
  leaseDurationSeconds?: number | null;
  acquireTime?: string | null;
  renewTime?: string | null;
  leaseTransitions?: number | null;
  strategy?: string | null;
  preferredHolder?: string | null;
}

/** Nobody has been seen yet. */
export const NO_RECORD: LeaderElectionRecord = {
  holderIdentity: '',
  leaseDurationSeconds: 0,
  acquireTime: undefined,
  renewTime: undefined,
  leaderTransitions: 0,
};

/** client-go: LeaseSpecToLeaderElectionRecord. */
export function recordOfSpec(spec: LeaseSpec): LeaderElectionRecord {
  return {
    holderIdentity: spec.holderIdentity ?? '',
    leaseDurationSeconds: spec.leaseDurationSeconds ?? 0,
    acquireTime: spec.acquireTime ?? undefined,
    renewTime: spec.renewTime ?? undefined,
    leaderTransitions: spec.leaseTransitions ?? 0,
    strategy: spec.strategy ?? undefined,
    preferredHolder: spec.preferredHolder ?? undefined,
  };
}

/** client-go: LeaderElectionRecordToLeaseSpec. */
export function specOfRecord(record: LeaderElectionRecord): LeaseSpec {
  const { acquireTime, renewTime, strategy, preferredHolder } = record;
  return {
    holderIdentity: record.holderIdentity,
    leaseDurationSeconds: record.leaseDurationSeconds,
    ...(acquireTime === undefined ? {} : { acquireTime }),
    ...(renewTime === undefined ? {} : { renewTime }),
    leaseTransitions: record.leaderTransitions,
    ...(strategy === undefined || strategy === '' ? {} : { strategy }),
    ...(preferredHolder === undefined || preferredHolder === '' ? {} : { preferredHolder }),
  };
}

/**
 * Compared to the microsecond; client-go compares whole seconds, so that two renewals within one
 * are no change to it.
 */
export function sameRecord(a: LeaderElectionRecord, b: LeaderElectionRecord): boolean {
  return (
    a.holderIdentity === b.holderIdentity &&
    a.leaseDurationSeconds === b.leaseDurationSeconds &&
    a.acquireTime === b.acquireTime &&
    a.renewTime === b.renewTime &&
    a.leaderTransitions === b.leaderTransitions &&
    a.strategy === b.strategy &&
    a.preferredHolder === b.preferredHolder
  );
}

/**
 * Kubernetes' MicroTime: always six digits, always UTC. @param micros microseconds since 1970, an
 * integer
 */
export function formatMicroTime(micros: number): string {
  const rest = ((micros % 1000) + 1000) % 1000;
  return new Date((micros - rest) / 1000)
    .toISOString()
    .replace('Z', `${String(rest).padStart(3, '0')}Z`);
}

/** However long the time of day stands still, for so long the times made from it differ. */
const STANDSTILL_MICROS = 1_000_000;

/**
 * Gives times for records, no two of which are the same in a row: a renewal that changes nothing is
 * none to those who wait for a change. A clock of milliseconds may be asked twice in one, and the
 * time of day may stand.
 */
export class RecordTimes {
  readonly #wallNow: () => number;
  #last = Number.NEGATIVE_INFINITY;

  /** @param wallNow milliseconds since 1970 */
  constructor(wallNow: () => number) {
    this.#wallNow = wallNow;
  }

  next(): string {
    const micros = Math.round(this.#wallNow() * 1000);
    const behind = this.#last - micros;
    this.#last = behind >= 0 && behind < STANDSTILL_MICROS ? this.#last + 1 : micros;
    return formatMicroTime(this.#last);
  }
}

/** Who asks: how long it may take, by which clock, and the signal that ends it. */
export interface LockCall {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /**
   * Milliseconds for the call, with all its repeats. It rejects then, and a write may have been
   * carried out.
   */
  readonly timeout: number;
}

/** An object that events can be about. */
export interface LockReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly namespace?: string; readonly name: string; readonly uid?: string };
}

/**
 * A record that exists once for all candidates and is changed by compare and swap: `update`
 * succeeds only if nobody has changed it since this lock last read or wrote it. Failures of the
 * server reject with StatusError (404, 409), others with whatever they are.
 */
export interface ResourceLock {
  /** Of this candidate; two processes must never have the same. */
  readonly identity: string;
  /** Rejects with a 404 where there is none. */
  get(call: LockCall): Promise<LeaderElectionRecord>;
  create(record: LeaderElectionRecord, call: LockCall): Promise<void>;
  update(record: LeaderElectionRecord, call: LockCall): Promise<void>;
  /** Such as `namespace/name`, for messages. */
  describe(): string;
  /** What events are about. */
  reference(): LockReference;
}
