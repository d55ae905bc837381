/**
 * The reflector's one back-off, which serves new lists and repeated watches alike.
 * client-go: tools/cache/reflector.go, constants above NewReflectorWithOptions.
 */
import type { Clock } from './clock.ts';
import { invalid } from './errors.ts';
import { handleError } from './handle-error.ts';
import { namesOf } from './names.ts';

/** What of the back-off is to be different; all times are milliseconds. */
export interface BackoffOptions {
  /** The first delay, at least 1. Default 800. */
  initialMs?: number | undefined;
  /** What a delay is multiplied by for the next, at least 1. Default 2. */
  factor?: number | undefined;
  /** The longest, without jitter. Default 30 000. */
  capMs?: number | undefined;
  /** Each delay d is random in [d, (1 + jitter) d). Default 1. */
  jitter?: number | undefined;
}

export const BACKOFF_NAMES = namesOf<BackoffOptions>()({
  initialMs: 1,
  factor: 1,
  capMs: 1,
  jitter: 1,
});

/**
 * A user's `random`, which would end what waits by it: what it throws, and what is no number in [0,
 * 1), is reported, and 0.5 taken in its place.
 */
export function guardRandom(random: () => number): () => number {
  return () => {
    try {
      const value: unknown = random();
      if (typeof value === 'number' && value >= 0 && value < 1) return value;
      throw invalid('random()', 'a number in [0, 1)', value);
    } catch (error) {
      handleError(error, 'option random');
      return 0.5;
    }
  };
}

/** "If we don't backoff for 2min, assume API server is healthy and we reset the backoff." */
const RESET_MS = 120_000;

export class Backoff {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #options: Required<BackoffOptions>;
  #base: number;
  /** When the last delay was over. */
  #lastEnd = Number.NEGATIVE_INFINITY;

  /** @throws CapstanError INVALID_ARGUMENT */
  constructor(clock: Clock, random: () => number, options: BackoffOptions = {}) {
    const { initialMs = 800, factor = 2, capMs = 30_000, jitter = 1 } = options;
    this.#options = { initialMs, factor, capMs, jitter };
    // Less than that would be no back-off at all.
    const least = { initialMs: 1, factor: 1, capMs: 1, jitter: 0 };
    for (const name of ['initialMs', 'factor', 'capMs', 'jitter'] as const) {
      const value: unknown = this.#options[name];
      if (
        typeof value !== 'number' ||
        !(value >= least[name]) ||
        value === Number.POSITIVE_INFINITY
      )
        throw invalid(`backoff.${name}`, `a finite number >= ${least[name]}`, value);
    }
    this.#clock = clock;
    this.#random = random;
    this.#base = initialMs;
  }

  /** The next delay in milliseconds. */
  next(): number {
    const { initialMs, factor, capMs, jitter } = this.#options;
    const now = this.#clock.now();
    if (now - this.#lastEnd > RESET_MS) this.#base = initialMs;
    const delay = this.#base * (1 + this.#random() * jitter);
    this.#base = Math.min(this.#base * factor, capMs);
    this.#lastEnd = now + delay;
    return delay;
  }
}
