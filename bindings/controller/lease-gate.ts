/**
 * Checks the lease before each reconcile, so that a process that was stalled past the end of its
 * lease begins no further work. It does not stop a reconcile that is already running.
 */

import type { Clock } from '../base/clock.ts';
import { sleep } from '../base/wait.ts';

/**
 * How often an expired lease is checked, in milliseconds. Leases are renewed every two seconds, so
 * this adds no noticeable delay.
 */
const CHECK_MS = 100;

export class LeaseGate {
  readonly #holds: () => boolean;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  #waiting: Promise<void> | undefined;

  /** The signal ends all waits. */
  constructor(holds: () => boolean, clock: Clock, signal: AbortSignal) {
    this.#holds = holds;
    this.#clock = clock;
    this.#signal = signal;
  }

  isOpen(): boolean {
    return this.#holds();
  }

  /** Whether a worker waits for the lease. */
  get isWaiting(): boolean {
    return this.#waiting !== undefined;
  }

  /** Resolves when the lease is valid or the signal fires. All callers share one timer. */
  wait(): Promise<void> {
    this.#waiting ??= this.#wait().finally(() => {
      this.#waiting = undefined;
    });
    return this.#waiting;
  }

  async #wait(): Promise<void> {
    while (!this.#signal.aborted && !this.#holds())
      await sleep(this.#clock, CHECK_MS, this.#signal);
  }
}
