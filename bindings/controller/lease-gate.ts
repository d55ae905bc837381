/**
 * Nothing that only the leader does begins without a lease that is valid at this moment. The lease
 * is asked before each reconcile, so that a process that was stalled beyond its end stops by
 * itself; that does not fence off a reconcile that is running by then.
 */

import type { Clock } from '../base/clock.ts';
import { sleep } from '../base/wait.ts';

/**
 * How often a lost lease is looked at again. A lease is renewed each two seconds: nobody waits for
 * this.
 */
const LOOK_AGAIN_MS = 100;

export class LeaseGate {
  readonly #holds: () => boolean;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  #waiting: Promise<void> | undefined;

  /** The signal ends the waits. */
  constructor(holds: () => boolean, clock: Clock, signal: AbortSignal) {
    this.#holds = holds;
    this.#clock = clock;
    this.#signal = signal;
  }

  isOpen(): boolean {
    return this.#holds();
  }

  /** Whether somebody waits for the lease. */
  get isWaiting(): boolean {
    return this.#waiting !== undefined;
  }

  /** Resolves when the lease is valid, or when the signal fires: one timer for all who wait. */
  wait(): Promise<void> {
    this.#waiting ??= this.#wait().finally(() => {
      this.#waiting = undefined;
    });
    return this.#waiting;
  }

  async #wait(): Promise<void> {
    while (!this.#signal.aborted && !this.#holds())
      await sleep(this.#clock, LOOK_AGAIN_MS, this.#signal);
  }
}
