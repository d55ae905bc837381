/**
 * The reflector's one back-off, which serves new lists and repeated watches alike.
 * client-go: tools/cache/reflector.go, constants above NewReflectorWithOptions.
 */
import type { Clock } from '../clock.ts';

const INITIAL_MS = 800;
const FACTOR = 2;
const CAP_MS = 30_000;
/** "If we don't backoff for 2min, assume API server is healthy and we reset the backoff." */
const RESET_MS = 120_000;

export class Backoff {
  readonly #clock: Clock;
  readonly #random: () => number;
  #base = INITIAL_MS;
  /** When the last delay was over. */
  #lastEnd = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, random: () => number) {
    this.#clock = clock;
    this.#random = random;
  }

  /** The next delay in milliseconds, random in d to 2d (jitter 1.0). d is 0.8 s, doubled each time, 30 s at most. */
  next(): number {
    const now = this.#clock.now();
    if (now - this.#lastEnd > RESET_MS) this.#base = INITIAL_MS;
    const delay = this.#base * (1 + this.#random());
    this.#base = Math.min(this.#base * FACTOR, CAP_MS);
    this.#lastEnd = now + delay;
    return delay;
  }
}
