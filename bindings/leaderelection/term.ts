/**
 * One term of a leader: the signal that its work runs under, and that work. The signal fires once:
 * when the caller's does, when the elector ends the term, or, where that is asked for, at the
 * moment from which on the own lease must not be relied upon.
 */

import type { Clock } from '../base/clock.ts';
import { CapstanError } from '../base/errors.ts';
import { sleep } from '../base/wait.ts';

/**
 * How long this process may rely on its own lease, by its own monotonic clock alone.
 *
 * The others wait a lease duration from the moment at which they last saw the record change. The
 * server carried our renewal out at some moment after we first sent it, so that nobody's wait began
 * before `sentAt`, whenever the answer came. Their clocks may run faster than ours by `skewRatio`
 * at most: what takes them the lease duration takes us no less than `duration / skewRatio`. Until
 * then, and not a moment longer, nobody else can have taken the lease.
 */
export class OwnLease {
  readonly #skewRatio: number;
  #until = Number.NEGATIVE_INFINITY;

  constructor(skewRatio: number) {
    this.#skewRatio = skewRatio;
  }

  /**
   * A write that made the lease ours has succeeded. @param sentAt the clock before any request that
   * wrote this very record was sent
   */
  renewed(sentAt: number, durationMs: number): void {
    this.#until = sentAt + durationMs / this.#skewRatio;
  }

  /** It was given away or seen with another. */
  lost(): void {
    this.#until = Number.NEGATIVE_INFINITY;
  }

  /** The moment from which on it must not be relied upon. */
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
  readonly #onParent = (): void => this.#abort.abort(this.#parent.reason);
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
    if (signal.aborted) this.#onParent();
    else signal.addEventListener('abort', this.#onParent, { once: true });
    if (endsWithLease) this.#awaitLapse();
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Begins the guarded work, which never rejects. */
  guard(work: () => Promise<void>): void {
    this.#working = true;
    this.#work = work().then(() => {
      this.#working = false;
    });
  }

  /** Resolves when the guarded work has ended, with true, or after `ms`, with whether it has. */
  async workEnded(ms: number): Promise<boolean> {
    const ended = new AbortController();
    if (!this.#working) return true;
    void this.#work.then(() => ended.abort());
    await sleep(this.#clock, ms, ended.signal);
    return !this.#working;
  }

  /**
   * Whether what was led must change nothing more: the lease has run out, whether a timer could
   * tell so yet or not. Where the caller ended the term in time, the work alone is bound by it, for
   * as long as it goes on.
   */
  endIfLapsed(): boolean {
    if (!this.#endsWithLease || this.#own.holds(this.#clock.now())) return false;
    this.end();
    return this.#working || this.signal.reason !== this.#parent.reason;
  }

  end(): void {
    this.#parent.removeEventListener('abort', this.#onParent);
    this.#clock.clearTimer(this.#lapse);
    this.#abort.abort(new CapstanError('ABORTED', 'this process no longer leads'));
  }

  /** One timer, set anew when it fires: each renewal moves the moment. */
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
