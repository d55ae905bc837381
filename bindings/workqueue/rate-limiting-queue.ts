/**
 * The public work queue whose delays come from a limiter: client-go
 * util/workqueue/rate_limiting_queue.go.
 */
import { hasCode, invalid } from '../base/errors.ts';
import { handleError, reportRejection } from '../base/handle-error.ts';
import { keepShape } from '../base/keep-shape.ts';
import { WAIT_IS_BACKOFF } from '../wasm/core.ts';
import { DelayingQueue } from './delaying-queue.ts';
import {
  checkLimiter,
  controllerItemLimiter,
  type RateLimiter,
  requireSameKeys,
  withLimitForAll,
} from './limiters.ts';
import type { QueueOptions } from './options.ts';
import type { QueuedKey } from './snapshot.ts';

/**
 * A delaying queue with `addRateLimited`. client-go: `workqueue.TypedRateLimitingInterface`.
 *
 * The limiter defaults to `defaultControllerRateLimiter`. A limiter that is passed in must know the
 * same keys: give it the queue's `key` when items are not strings.
 *
 * @example
 * const queue = new RateLimitingQueue(new ItemExponentialFailureRateLimiter(5, 1_000_000));
 * queue.addRateLimited('default/web'); // after 5 ms, then 10, 20, …
 * queue.forget('default/web'); // it worked: the next failure starts at 5 ms
 */
export class RateLimitingQueue<T = string> extends DelayingQueue<T> {
  /** @internal */
  readonly limiter: RateLimiter<T>;
  readonly #ownLimiter: { dispose(): void } | undefined; // disposed of with the queue

  constructor(limiter?: RateLimiter<T>, options: QueueOptions<T> = {}) {
    if (limiter !== undefined) checkLimiter('limiter', limiter);
    super(options);
    const { keyFunction: key, clock, hasLevels } = this;
    try {
      if (limiter !== undefined) {
        requireSameKeys(limiter, key);
        this.limiter = limiter;
      } else {
        const perItem = controllerItemLimiter({ key, clock });
        this.#ownLimiter = perItem;
        this.limiter = hasLevels ? perItem : withLimitForAll(perItem, { clock });
      }
    } catch (error) {
      this.giveUp(); // its caller has no queue to dispose of, and memory is short
      throw error;
    }
    keepShape(new.target, RateLimitingQueue, () => new RateLimitingQueue());
  }

  /** Adds the item when the limiter says so: each call counts as one failure of the item. */
  addRateLimited(item: T): void {
    this.checkAlive(); // before the failure is counted
    const ms = this.limiter.when(item);
    if (typeof ms !== 'number' || Number.isNaN(ms))
      throw invalid('limiter.when()', 'a number of milliseconds', ms);
    this.delay(item, ms, WAIT_IS_BACKOFF);
  }

  /**
   * Forgets the failures of an item, which has succeeded or will not be tried again. It does not
   * end the processing: done() does.
   */
  forget(item: T): void {
    this.checkAlive();
    reportRejection(this.limiter.forget(item), 'rate limiter');
  }

  /** How often the item has been added by addRateLimited() since it was forgotten. */
  numRequeues(item: T): number {
    this.checkAlive();
    const times: unknown = this.limiter.numRequeues(item);
    if (typeof times !== 'number' || Number.isNaN(times))
      throw invalid('limiter.numRequeues()', 'a number', times);
    return times;
  }

  /** @internal */
  protected override describe(key: QueuedKey<T>): void {
    try {
      key.failures = this.numRequeues(key.item);
    } catch (error) {
      if (hasCode(error, 'POISONED') || hasCode(error, 'DISPOSED')) throw error;
      handleError(error, 'rate limiter'); // the caller sees the rest of the queue
    }
  }

  override dispose(): void {
    super.dispose();
    this.#ownLimiter?.dispose();
  }
}
