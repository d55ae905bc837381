/**
 * A token bucket, as golang.org/x/time/rate: it begins with `burst` tokens, gets `perMs` more each
 * millisecond, and never has more than `burst`.
 */
import type { Clock } from './clock.ts';

export class TokenBucket {
  readonly #perMs: number;
  readonly #burst: number;
  readonly #clock: Clock;
  #tokens: number;
  #last: number;

  constructor(perMs: number, burst: number, clock: Clock) {
    this.#perMs = perMs;
    this.#burst = burst;
    this.#clock = clock;
    this.#tokens = burst;
    this.#last = clock.now();
  }

  /** Takes a token if there is one. */
  allow(): boolean {
    this.#refill();
    if (this.#tokens < 1) return false;
    this.#tokens--;
    return true;
  }

  /**
   * Takes a token, even if there is none yet. Returns the milliseconds until the taken token
   * exists; +Infinity if it never will.
   */
  reserve(): number {
    if (this.#perMs === Number.POSITIVE_INFINITY) return 0;
    if (this.#burst === 0) return Number.POSITIVE_INFINITY; // nothing can ever be reserved
    this.#refill();
    this.#tokens--;
    return this.#tokens < 0 ? -this.#tokens / this.#perMs : 0;
  }

  #refill(): void {
    const now = this.#clock.now();
    const elapsed = Math.max(now - this.#last, 0);
    this.#last = now;
    this.#tokens = Math.min(this.#tokens + elapsed * this.#perMs, this.#burst);
  }
}
