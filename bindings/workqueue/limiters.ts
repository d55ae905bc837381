/**
 * Rate limiters: client-go util/workqueue/default_rate_limiters.go. A limiter says how long an item
 * waits before it is tried again. Those that count the failures of each item are in
 * item-limiters.ts.
 */
import { type Clock, requireClock, systemClock } from '../base/clock.ts';
import {
  CapstanError,
  invalid,
  requireFunction,
  requireInteger,
  requireNumber,
} from '../base/errors.ts';
import { namesOf, requireNames } from '../base/names.ts';
import { requestKey } from '../base/request.ts';
import { TokenBucket } from '../base/token-bucket.ts';
import type { KeyFunction } from '../wasm/keys.ts';

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
   * What makes two items the same. Needed unless items are strings or requests, which have no
   * members but namespace and name. Requests cost half as much with `requestKey`: without it their
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

export const LIMITER_NAMES = namesOf<LimiterOptions<never>>()({ clock: 1, key: 1, forgetAfter: 1 });

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
    if (options !== undefined)
      requireNames('options', options, 'option of a limiter', LIMITER_NAMES);
    requireClock('clock', options?.clock);
    this.#bucket = new TokenBucket(qps / 1000, burst, options?.clock ?? systemClock);
  }

  when(_item: T): number {
    return this.#bucket.reserve();
  }

  forget(_item: T): void {}

  numRequeues(_item: T): number {
    return 0;
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

  constructor(...limiters: RateLimiter<T>[]) {
    for (const [i, limiter] of limiters.entries()) checkLimiter(`limiters[${i}]`, limiter);
    this.#limiters = limiters;
  }

  when(item: T): number {
    let longest = 0;
    for (const limiter of this.#limiters) longest = Math.max(longest, limiter.when(item));
    return longest;
  }

  forget(item: T): void {
    for (const limiter of this.#limiters) limiter.forget(item);
  }

  /** @internal See {@link requireSameKeys}. */
  get keyless(): boolean {
    return this.#limiters.some(isKeyless);
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

  constructor(limiter: RateLimiter<T>, maxDelay: number) {
    checkLimiter('limiter', limiter);
    requireNumber('maxDelay', maxDelay);
    this.#limiter = limiter;
    this.#maxDelay = maxDelay;
  }

  when(item: T): number {
    return Math.min(this.#limiter.when(item), this.#maxDelay);
  }

  forget(item: T): void {
    this.#limiter.forget(item);
  }

  /** @internal See {@link requireSameKeys}. */
  get keyless(): boolean {
    return isKeyless(this.#limiter);
  }

  numRequeues(item: T): number {
    return this.#limiter.numRequeues(item);
  }
}

function isKeyless<T>(limiter: RateLimiter<T>): boolean {
  return (limiter as { keyless?: unknown }).keyless === true;
}

/**
 * Throws CapstanError INVALID_ARGUMENT if the queue has a `key` and the limiter, one of this
 * package, has none: it would refuse the first item that fails. Requests need no `key`.
 */
export function requireSameKeys<T>(limiter: RateLimiter<T>, key: KeyFunction<T> | undefined): void {
  if (key === undefined || (key as unknown) === requestKey || !isKeyless(limiter)) return;
  throw new CapstanError(
    'INVALID_ARGUMENT',
    '"limiter" expected the same key function as the queue, and has none: pass { key } to it too',
  );
}

export function checkLimiter<T>(name: string, limiter: RateLimiter<T>): void {
  for (const method of ['when', 'forget', 'numRequeues'] as const)
    requireFunction(`${name}.${method}`, limiter?.[method]);
}
