/**
 * One term of a leader: its lease, the signal of its work, and the work. The signal fires once:
 * with the caller's signal, when the elector ends the term, or with `endsWithLease` when the lease
 * may have expired.
 */

import type { Clock } from '../base/clock.ts';
import { CapstanError } from '../base/errors.ts';
import { onAbort, sleep } from '../base/wait.ts';

/**
 * How long this process may rely on its own lease, by its own monotonic clock.
 *
 * Other candidates wait a lease duration from when they last saw the record change. The server
 * applied our renewal after we sent it, so no candidate began to wait before `sentAt`, whenever the
 * response arrived. Their clocks may run faster than ours by at most `skewRatio`: a lease duration
 * on their clocks takes at least `duration / skewRatio` on ours. Until then no other candidate can
 * have taken the lease.
 */
export class OwnLease {
  readonly #skewRatio: number;
  #until = Number.NEGATIVE_INFINITY;

  constructor(skewRatio: number) {
    this.#skewRatio = skewRatio;
  }

  /**
   * A write of the lease has succeeded.
   *
   * @param sentAt the time before any request that wrote this record was sent
   */
  renewed(sentAt: number, durationMs: number): void {
    this.#until = sentAt + durationMs / this.#skewRatio;
  }

  /** The lease was released, or another holder was seen. */
  lost(): void {
    this.#until = Number.NEGATIVE_INFINITY;
  }

  /** The time from which on the lease must not be relied on. */
  until(): number {
    return this.#until;
  }

  holds(now: number): boolean {
    return now < this.#until;
  }
}

export class Term {
  readonly #clock: Clock;
  readonly #own: OwnLease;
  readonly #parent: AbortSignal;
  readonly #endsWithLease: boolean;
  readonly #abort = new AbortController();
  readonly #unlisten: () => void;
  #lapse: unknown;
  #working = false;
  #work: Promise<void> = Promise.resolve();

  constructor(
    clock: Clock,
    own: OwnLease,
    { signal, endsWithLease }: { signal: AbortSignal; endsWithLease: boolean },
  ) {
    this.#clock = clock;
    this.#own = own;
    this.#parent = signal;
    this.#endsWithLease = endsWithLease;
    this.#unlisten = onAbort(signal, () => this.#abort.abort(signal.reason));
    if (endsWithLease) this.#awaitLapse();
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Starts the guarded work, which must not reject. */
  guard(work: () => Promise<void>): void {
    this.#working = true;
    this.#work = work().then(() => {
      this.#working = false;
    });
  }

  /** Resolves to true when the guarded work has ended; after `ms` to whether it has. */
  async workEnded(ms: number): Promise<boolean> {
    const ended = new AbortController();
    if (!this.#working) return true;
    void this.#work.then(() => ended.abort());
    await sleep(this.#clock, ms, ended.signal);
    return !this.#working;
  }

  /**
   * Whether the leader must not write any more: the lease has expired, even if no timer has fired
   * yet. If the caller ended the term before that, only the guarded work is bound by it, while it
   * runs.
   */
  endIfLapsed(): boolean {
    if (!this.#endsWithLease || this.#own.holds(this.#clock.now())) return false;
    this.end();
    return this.#working || this.signal.reason !== this.#parent.reason;
  }

  end(): void {
    this.#unlisten();
    this.#clock.clearTimer(this.#lapse);
    this.#abort.abort(new CapstanError('ABORTED', 'this process no longer leads'));
  }

  /** One timer, which is set again when it fires, because each renewal moves the expiry. */
  #awaitLapse(): void {
    if (this.signal.aborted) return;
    const now = this.#clock.now();
    if (!this.#own.holds(now)) {
      this.end();
      return;
    }
    this.#lapse = this.#clock.setTimer(() => this.#awaitLapse(), this.#own.until() - now);
  }
}
