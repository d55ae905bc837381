/**
 * Rate limiters: client-go util/workqueue/default_rate_limiters.go. A limiter says how long an item
 * waits before it is tried again.
 *
 * Some count the failures of each item. These are kept until forget(): a caller that never forgets
 * keeps every key that it ever limited, as in client-go, unless it sets `forgetAfter`.
 */
/// <reference lib="esnext.disposable" preserve="true" />
import { type Clock, requireClock, systemClock } from '../base/clock.ts';
import { disposable } from '../base/disposable.ts';
import {
  CapstanError,
  invalid,
  requireFunction,
  requireInteger,
  requireMs,
  requireNumber,
} from '../base/errors.ts';
import { keepShape } from '../base/keep-shape.ts';
import { namesOf, requireNames } from '../base/names.ts';
import { TokenBucket } from '../base/token-bucket.ts';
import { isRequestKey, type KeyFunction } from '../wasm/keys.ts';
import { Failures } from './failures.ts';

/** client-go: `workqueue.TypedRateLimiter`. */
export interface RateLimiter<T = string> {
  /** Milliseconds until the item should be tried again. Each call counts as one failure. */
  when(item: T): number;
  forget(item: T): void;
  /** Failures since the item was forgotten. */
  numRequeues(item: T): number;
}

/** Options of the rate limiters. */
export interface LimiterOptions<T> {
  /** For BucketRateLimiter and `forgetAfter`. Default: the host's monotonic clock. */
  clock?: Clock | undefined;
  /**
   * What makes two items the same. Needed unless items are strings, or requests that have no other
   * members than namespace and name. Requests cost half as much with `requestKey`: without it their
   * parts are joined at each call.
   */
  key?: KeyFunction<T> | undefined;
  /**
   * For the per-item limiters, milliseconds: the failures of an item are forgotten once it has not
   * failed for that long after the end of the last delay that this limiter gave it. Default: never,
   * as in client-go, where a caller that never forgets keeps every key. It needs no timer: each
   * when() also looks at two keys in turn and drops those whose time is over.
   */
  forgetAfter?: number | undefined;
}

const LIMITER_NAMES = namesOf<LimiterOptions<never>>()({ clock: 1, key: 1, forgetAfter: 1 });

function checkOptions<T>(options: LimiterOptions<T> = {}): LimiterOptions<T> & { clock: Clock } {
  requireNames('options', options, 'option of a limiter', LIMITER_NAMES);
  const { key, forgetAfter, clock } = options;
  if (key !== undefined) requireFunction('key', key);
  if (forgetAfter !== undefined) requireMs('forgetAfter', forgetAfter);
  requireClock('clock', clock);
  return { key, forgetAfter, clock: clock ?? systemClock };
}

/**
 * A token bucket for all items together: `qps` per second, bursts of `burst`. client-go:
 * `TypedBucketRateLimiter` over golang.org/x/time/rate with Reserve: tokens may go into debt, and
 * the debt is the delay (for ever, +Infinity, when `qps` or `burst` is 0 and no token will come).
 * It forgets nothing and counts nothing.
 *
 * @example
 * new BucketRateLimiter(10, 100);
 */
export class BucketRateLimiter<T = string> implements RateLimiter<T> {
  readonly #bucket: TokenBucket;

  constructor(qps: number, burst: number, options?: LimiterOptions<T>) {
    if (typeof qps !== 'number' || !(qps >= 0)) throw invalid('qps', 'a number >= 0', qps);
    requireInteger('burst', burst, 0);
    this.#bucket = new TokenBucket(qps / 1000, burst, checkOptions(options).clock);
  }

  when(_item: T): number {
    return this.#bucket.reserve();
  }

  forget(_item: T): void {}

  numRequeues(_item: T): number {
    return 0;
  }
}

/** A limiter that counts the failures of each item. */
abstract class ItemLimiter<T> implements RateLimiter<T> {
  readonly #failures: Failures<T>;
  /** @internal See {@link requireSameKeys}. */
  readonly keyless: boolean;
  declare [Symbol.dispose]: () => void;

  constructor(options: LimiterOptions<T> | undefined) {
    this.#failures = new Failures(checkOptions(options));
    this.keyless = options?.key === undefined;
  }

  /** @internal The delay of an item that has failed so often before. */
  protected abstract delayAfter(failures: number): number;

  when(item: T): number {
    const delay = this.delayAfter(this.#failures.add(item));
    this.#failures.waits(delay);
    return delay;
  }

  forget(item: T): void {
    this.#failures.forget(item);
  }

  /**
   * Frees the memory of the counts at once; otherwise garbage collection of the limiter does. Later
   * calls throw DISPOSED.
   */
  dispose(): void {
    this.#failures.dispose();
  }

  numRequeues(item: T): number {
    return this.#failures.count(item);
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

  /** @internal */
  protected override delayAfter(failures: number): number {
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

  /** @internal */
  protected override delayAfter(failures: number): number {
    return failures < this.#maxFastAttempts ? this.#fast : this.#slow;
  }
}

/**
 * The longest delay of several limiters; each of them counts the failure. Of none: 0. client-go:
 * `TypedMaxOfRateLimiter`.
 *
 * @example
 * new MaxOfRateLimiter(
 *   new ItemExponentialFailureRateLimiter(5, 1_000_000),
 *   new BucketRateLimiter(10, 100),
 * );
 */
export class MaxOfRateLimiter<T = string> implements RateLimiter<T> {
  readonly #limiters: readonly RateLimiter<T>[];
  /** @internal See {@link requireSameKeys}. */
  readonly keyless: boolean;

  constructor(...limiters: RateLimiter<T>[]) {
    for (const [i, limiter] of limiters.entries()) checkLimiter(`limiters[${i}]`, limiter);
    this.#limiters = limiters;
    this.keyless = limiters.some(isKeyless);
  }

  when(item: T): number {
    let longest = 0;
    for (const limiter of this.#limiters) longest = Math.max(longest, limiter.when(item));
    return longest;
  }

  forget(item: T): void {
    for (const limiter of this.#limiters) limiter.forget(item);
  }

  numRequeues(item: T): number {
    let most = 0;
    for (const limiter of this.#limiters) most = Math.max(most, limiter.numRequeues(item));
    return most;
  }
}

/**
 * Another limiter's delay, at most `maxDelay`. client-go: `TypedWithMaxWaitRateLimiter`.
 *
 * @example
 * new WithMaxWaitRateLimiter(defaultControllerRateLimiter(), 60_000);
 */
export class WithMaxWaitRateLimiter<T = string> implements RateLimiter<T> {
  readonly #limiter: RateLimiter<T>;
  readonly #maxDelay: number;
  /** @internal See {@link requireSameKeys}. */
  readonly keyless: boolean;

  constructor(limiter: RateLimiter<T>, maxDelay: number) {
    checkLimiter('limiter', limiter);
    requireNumber('maxDelay', maxDelay);
    this.#limiter = limiter;
    this.#maxDelay = maxDelay;
    this.keyless = isKeyless(limiter);
  }

  when(item: T): number {
    return Math.min(this.#limiter.when(item), this.#maxDelay);
  }

  forget(item: T): void {
    this.#limiter.forget(item);
  }

  numRequeues(item: T): number {
    return this.#limiter.numRequeues(item);
  }
}

/**
 * client-go's `DefaultTypedControllerRateLimiter`: 5 ms doubling to 1000 s per item, and 10 a
 * second with bursts of 100 for all together.
 */
export function defaultControllerRateLimiter<T = string>(
  options?: LimiterOptions<T>,
): RateLimiter<T> {
  return withLimitForAll(controllerItemLimiter(options), options);
}

/** The part of it that counts failures, and is disposed of. */
export function controllerItemLimiter<T>(
  options?: LimiterOptions<T>,
): ItemExponentialFailureRateLimiter<T> {
  return new ItemExponentialFailureRateLimiter(5, 1_000_000, options);
}

export function withLimitForAll<T>(
  perItem: RateLimiter<T>,
  options?: LimiterOptions<T>,
): RateLimiter<T> {
  return new MaxOfRateLimiter(perItem, new BucketRateLimiter<T>(10, 100, options));
}

/** client-go's `DefaultTypedItemBasedRateLimiter`: 1 ms doubling to 1000 s per item. */
export function defaultItemBasedRateLimiter<T = string>(
  options?: LimiterOptions<T>,
): RateLimiter<T> {
  return new ItemExponentialFailureRateLimiter<T>(1, 1_000_000, options);
}

function isKeyless<T>(limiter: RateLimiter<T>): boolean {
  return (limiter as { keyless?: unknown }).keyless === true;
}

/**
 * Throws CapstanError INVALID_ARGUMENT if the queue has a `key` and the limiter, one of this
 * package, has none: it would refuse the first item that fails. Requests need no `key`.
 */
export function requireSameKeys<T>(limiter: RateLimiter<T>, key: KeyFunction<T> | undefined): void {
  if (key === undefined || isRequestKey(key) || !isKeyless(limiter)) return;
  throw new CapstanError(
    'INVALID_ARGUMENT',
    '"limiter" expected the same key function as the queue, and has none: pass { key } to it too',
  );
}

export function checkLimiter<T>(name: string, limiter: RateLimiter<T>): void {
  for (const method of ['when', 'forget', 'numRequeues'] as const)
    requireFunction(`${name}.${method}`, limiter?.[method]);
}
