/**
 * The record of an election and the interface of the locks that store it. client-go:
 * tools/leaderelection/resourcelock/interface.go, leaselock.go.
 *
 * A lock performs one request at a time and decides nothing: who may take the lease, and when, is
 * up to the elector. Times of a record are kept as text, so that a record that is written back
 * loses no digits.
 */

import type { Clock } from '../base/clock.ts';
import { formatMicroTime } from '../base/times.ts';

/**
 * The state of an election. client-go: LeaderElectionRecord. Candidates only check whether the
 * times have changed, and never compare them with a clock.
 */
export interface LeaderElectionRecord {
  /** Empty if nobody holds the lease: any candidate may take it at once. */
  readonly holderIdentity: string;
  /** How long other candidates wait after they last saw the record change, in seconds. */
  readonly leaseDurationSeconds: number;
  /** RFC 3339 with microseconds; undefined if the Lease has none. */
  readonly acquireTime: string | undefined;
  readonly renewTime: string | undefined;
  /** How often the holder has changed. */
  readonly leaderTransitions: number;
  /** Used by coordinated leader election. Kept when read; this package does not set it. */
  readonly strategy?: string | undefined;
  readonly preferredHolder?: string | undefined;
}

/** The `spec` of a Lease in JSON. */
export interface LeaseSpec {
  holderIdentity?: string | null;
  leaseDurationSeconds?: number | null;
  acquireTime?: string | null;
  renewTime?: string | null;
  leaseTransitions?: number | null;
  strategy?: string | null;
  preferredHolder?: string | null;
}

/** The record before any was read. */
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
 * Compares to the microsecond. client-go compares whole seconds, so that it misses the second of
 * two renewals within one second.
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
 * The longest time for which the system clock may stand still while the generated times still
 * differ.
 */
const STANDSTILL_MICROS = 1_000_000;

/**
 * Generates times for records, no two of which are equal in a row: other candidates do not notice a
 * renewal that changes nothing. A clock of milliseconds may return one value twice, and the system
 * clock may be set back.
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

/** The arguments of each call of a lock. */
export interface LockCall {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /**
   * Milliseconds for the call with all its repeats. After it the call rejects, and a write may
   * still take effect.
   */
  readonly timeout: number;
}

/** The object that events of the election are about. */
export interface LockReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly namespace?: string; readonly name: string; readonly uid?: string };
}

/**
 * Stores one record for all candidates and changes it by compare-and-swap: `update` succeeds only
 * if the record was not changed since this lock last read or wrote it. Errors of the server reject
 * with StatusError (404, 409), others with any error. client-go: resourcelock.Interface.
 */
export interface ResourceLock {
  /** The identity of this candidate. Two processes must not share one. */
  readonly identity: string;
  /** Rejects with StatusError 404 if there is no record. */
  get(call: LockCall): Promise<LeaderElectionRecord>;
  create(record: LeaderElectionRecord, call: LockCall): Promise<void>;
  update(record: LeaderElectionRecord, call: LockCall): Promise<void>;
  /** For messages, such as `namespace/name`. */
  describe(): string;
  /** The object that events are about. */
  reference(): LockReference;
}
