/**
 * `capstan/workqueue`: client-go's util/workqueue. No dependencies, no `node:` imports, no await
 * before use.
 */
export { type Clock, FakeClock } from '../base/clock.ts';
export { CapstanError, type ErrorCode } from '../base/errors.ts';
export { type ErrorHandler, handleError, setErrorHandler } from '../base/handle-error.ts';
export { type Request, requestKey } from '../base/request.ts';
export { initCore } from '../wasm/core.ts';
export type { QueueOrder } from './custom-order.ts';
export { DelayingQueue, type DelayMode } from './delaying-queue.ts';
export {
  BucketRateLimiter,
  defaultControllerRateLimiter,
  defaultItemBasedRateLimiter,
  ItemExponentialFailureRateLimiter,
  ItemFastSlowRateLimiter,
  type LimiterOptions,
  MaxOfRateLimiter,
  type RateLimiter,
  WithMaxWaitRateLimiter,
} from './limiters.ts';
export type { Metric, MetricsProvider, PriorityDepth } from './metrics.ts';
export type { QueueOptions } from './options.ts';
export { parallelizeUntil } from './parallelize.ts';
export {
  type AddOptions,
  type GotWithPriority,
  PriorityQueue,
  type PriorityQueueOptions,
} from './priority-queue.ts';
export { PrometheusProvider } from './prometheus.ts';
export { WorkQueue } from './queue.ts';
export { RateLimitingQueue } from './rate-limiting-queue.ts';
export { runUntil } from './run-until.ts';
export type { QueuedKey, Snapshot, SnapshotOptions } from './snapshot.ts';
export type { GetOptions, Got } from './waiting-calls.ts';
