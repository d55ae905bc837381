/**
 * A window in which failures are retried at once: `maxMs` from the first failure. Then it starts
 * again, as it does after a minute without a failure. client-go:
 * tools/cache/retry_with_deadline.go.
 */
import type { Clock } from './clock.ts';

/** client-go: reflector.go watch. */
const RESET_MS = 60_000;

export class RetryWithDeadline {
  readonly #clock: Clock;
  readonly #maxMs: number;
  #first: number | undefined;
  #last = Number.NEGATIVE_INFINITY;

  /** `maxMs` <= 0 never retries. */
  constructor(clock: Clock, maxMs: number) {
    this.#clock = clock;
    this.#maxMs = maxMs;
  }

  /** Whether to retry after a failure that has just happened. */
  again(): boolean {
    const now = this.#clock.now();
    if (this.#first === undefined || now - this.#last >= RESET_MS) this.#first = now;
    this.#last = now;
    if (this.#maxMs <= 0) return false;
    if (now - this.#first <= this.#maxMs) return true;
    this.#first = undefined;
    return false;
  }
}
