/**
 * The seam between the elector and where its record is stored. A lock does one request at a time
 * and judges nothing: who may take the lease, and when, is the elector's business. client-go:
 * resourcelock.Interface.
 */
import type { Clock } from '../base/clock.ts';
import type { LeaderElectionRecord } from './record.ts';

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
