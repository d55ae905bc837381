/**
 * Rate limiters that count the failures of each item, and client-go's default limiters, which are
 * made of them. Failures are kept until forget(): a caller that never forgets keeps every key that
 * it ever limited, as in client-go, unless it sets `forgetAfter`.
 */
/// <reference lib="esnext.disposable" preserve="true" />
import { requireClock, systemClock } from '../base/clock.ts';
import { disposable } from '../base/disposable.ts';
import { requireFunction, requireMs, requireNumber } from '../base/errors.ts';
import { keepShape } from '../base/keep-shape.ts';
import { requireNames } from '../base/names.ts';
import { Failures } from './failures.ts';
import {
  BucketRateLimiter,
  LIMITER_NAMES,
  type LimiterOptions,
  MaxOfRateLimiter,
  type RateLimiter,
} from './limiters.ts';

/** Checks the options of a limiter and makes its counts. */
function failures<T>(options: LimiterOptions<T> = {}): Failures<T> {
  requireNames('options', options, 'option of a limiter', LIMITER_NAMES);
  const { key, forgetAfter, clock } = options;
  if (key !== undefined) requireFunction('key', key);
  if (forgetAfter !== undefined) requireMs('forgetAfter', forgetAfter);
  requireClock('clock', clock);
  return new Failures({ key, forgetAfter, clock: clock ?? systemClock });
}

/** A limiter that counts the failures of each item. */
abstract class ItemLimiter<T> implements RateLimiter<T> {
  /** @internal */
  protected readonly failures: Failures<T>;
  declare [Symbol.dispose]: () => void;

  constructor(options: LimiterOptions<T> | undefined) {
    this.failures = failures(options);
  }

  abstract when(item: T): number;

  forget(item: T): void {
    this.failures.forget(item);
  }

  /**
   * Frees the memory of the counts at once; otherwise garbage collection of the limiter does. Later
   * calls throw DISPOSED.
   */
  dispose(): void {
    this.failures.dispose();
  }

  numRequeues(item: T): number {
    return this.failures.count(item);
  }

  /** @internal See {@link requireSameKeys}. */
  get keyless(): boolean {
    return this.failures.keyless;
  }
}

disposable(ItemLimiter.prototype);

/** 2^n for every n that a double can show: `**` cost 12 ns of the 75 that when() took. */
const POWERS = Float64Array.from({ length: 1024 }, (_, n) => 2 ** n);

/**
 * `base · 2^failures` milliseconds, at most `max`. client-go:
 * `TypedItemExponentialFailureRateLimiter`.
 *
 * @example
 * const limiter = new ItemExponentialFailureRateLimiter(5, 1_000_000);
 * limiter.when('a'); // 5
 * limiter.when('a'); // 10
 */
export class ItemExponentialFailureRateLimiter<T = string> extends ItemLimiter<T> {
  readonly #base: number;
  readonly #max: number;

  constructor(base: number, max: number, options?: LimiterOptions<T>) {
    requireNumber('base', base);
    requireNumber('max', max);
    super(options);
    this.#base = base;
    this.#max = max;
    keepShape(
      new.target,
      ItemExponentialFailureRateLimiter,
      () => new ItemExponentialFailureRateLimiter(base, max),
    );
  }

  when(item: T): number {
    const delay = this.#delay(this.failures.add(item));
    this.failures.waits(delay);
    return delay;
  }

  #delay(failures: number): number {
    const power =
      failures < POWERS.length ? (POWERS[failures] as number) : Number.POSITIVE_INFINITY;
    // 0 · Infinity would be NaN
    return Math.min(this.#base === 0 ? 0 : this.#base * power, this.#max);
  }
}

/**
 * `fast` milliseconds for the first `maxFastAttempts` failures, then `slow`. client-go:
 * `TypedItemFastSlowRateLimiter`.
 *
 * @example
 * new ItemFastSlowRateLimiter(5, 10_000, 3);
 */
export class ItemFastSlowRateLimiter<T = string> extends ItemLimiter<T> {
  readonly #fast: number;
  readonly #slow: number;
  readonly #maxFastAttempts: number;

  constructor(fast: number, slow: number, maxFastAttempts: number, options?: LimiterOptions<T>) {
    requireNumber('fast', fast);
    requireNumber('slow', slow);
    requireNumber('maxFastAttempts', maxFastAttempts);
    super(options);
    this.#fast = fast;
    this.#slow = slow;
    this.#maxFastAttempts = maxFastAttempts;
    keepShape(
      new.target,
      ItemFastSlowRateLimiter,
      () => new ItemFastSlowRateLimiter(fast, slow, maxFastAttempts),
    );
  }

  when(item: T): number {
    const delay = this.failures.add(item) < this.#maxFastAttempts ? this.#fast : this.#slow;
    this.failures.waits(delay);
    return delay;
  }
}

/**
 * client-go's `DefaultTypedControllerRateLimiter`: 5 ms doubling to 1000 s per item, and 10 a
 * second with bursts of 100 for all together.
 */
export function defaultControllerRateLimiter<T = string>(
  options?: LimiterOptions<T>,
): RateLimiter<T> {
  return ownedControllerRateLimiter(options).limiter;
}

/** A limiter whose owner disposes of it. */
export interface OwnLimiter<T> {
  readonly limiter: RateLimiter<T>;
  dispose(): void;
}

/** The default limiter for such an owner; `forAll`: with the limit for all items together. */
export function ownedControllerRateLimiter<T>(
  options?: LimiterOptions<T>,
  forAll = true,
): OwnLimiter<T> {
  const perItem = new ItemExponentialFailureRateLimiter<T>(5, 1_000_000, options);
  return {
    limiter: forAll
      ? new MaxOfRateLimiter<T>(perItem, new BucketRateLimiter<T>(10, 100, options))
      : perItem,
    dispose: () => perItem.dispose(),
  };
}

/** client-go's `DefaultTypedItemBasedRateLimiter`: 1 ms doubling to 1000 s per item. */
export function defaultItemBasedRateLimiter<T = string>(
  options?: LimiterOptions<T>,
): RateLimiter<T> {
  return new ItemExponentialFailureRateLimiter<T>(1, 1_000_000, options);
}
