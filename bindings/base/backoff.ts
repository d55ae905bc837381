/**
 * The back-off of reflectors, for new lists and repeated watches. client-go:
 * tools/cache/reflector.go, constants above NewReflectorWithOptions.
 */
import type { Clock } from './clock.ts';
import { invalid, requireObject } from './errors.ts';
import { handleError } from './handle-error.ts';
import { namesOf } from './names.ts';

/** Options of a back-off, with the names of Go's wait.Backoff. All times are milliseconds. */
export interface BackoffOptions {
  /** The first delay, at least 1. Default 800. */
  duration?: number | undefined;
  /** The factor from one delay to the next, at least 1. Default 2. */
  factor?: number | undefined;
  /** The longest delay without jitter. Default 30 000. */
  cap?: number | undefined;
  /** Each delay d is random in [d, (1 + jitter) d). Default 1. */
  jitter?: number | undefined;
}

export const BACKOFF_NAMES = namesOf<BackoffOptions>()({
  duration: 1,
  factor: 1,
  cap: 1,
  jitter: 1,
});

/**
 * Guards a user's `random`: an error, or a value outside of [0, 1), is reported and 0.5 is used
 * instead, so that the caller's retries go on.
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

/** Delays that grow by a factor up to a cap, with jitter; reset after two minutes without one. */
export class Backoff {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #options: Required<BackoffOptions>;
  #base: number;
  /** The end of the last delay. */
  #lastEnd = Number.NEGATIVE_INFINITY;

  /** @throws CapstanError INVALID_ARGUMENT */
  constructor(clock: Clock, random: () => number, options: BackoffOptions = {}) {
    requireObject('backoff', options);
    const { duration = 800, factor = 2, cap = 30_000, jitter = 1 } = options;
    this.#options = { duration, factor, cap, jitter };
    // With smaller values the delay would be 0 or shrink.
    const least = { duration: 1, factor: 1, cap: 1, jitter: 0 };
    for (const name of ['duration', 'factor', 'cap', 'jitter'] as const) {
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
    this.#base = duration;
  }

  /** The next delay in milliseconds. */
  next(): number {
    const { duration, factor, cap, jitter } = this.#options;
    const now = this.#clock.now();
    if (now - this.#lastEnd > RESET_MS) this.#base = duration;
    const delay = this.#base * (1 + this.#random() * jitter);
    this.#base = Math.min(this.#base * factor, cap);
    this.#lastEnd = now + delay;
    return delay;
  }
}

/** client-go: reflector.go watch. */
const WINDOW_RESET_MS = 60_000;

/**
 * Whether a failed call is repeated: for `maxMs` after the first failure of a series. A failure a
 * minute or more after the last one begins a new series.
 */
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
    if (this.#first === undefined || now - this.#last >= WINDOW_RESET_MS) this.#first = now;
    this.#last = now;
    if (this.#maxMs <= 0) return false;
    if (now - this.#first <= this.#maxMs) return true;
    this.#first = undefined;
    return false;
  }
}
