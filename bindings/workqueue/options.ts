/** The options that all queues share, and the check of them. */
import { type Clock, requireClock } from '../base/clock.ts';
import {
  invalid,
  requireBoolean,
  requireFunction,
  requireInteger,
  requireObject,
  requireString,
} from '../base/errors.ts';
import { type Names, namesOf, requireNames } from '../base/names.ts';
import { ADD_ENDS_WAIT, ADD_KEEPS_BACKOFF } from '../wasm/core.ts';
import type { KeyFunction } from '../wasm/keys.ts';
import type { QueueOrder } from './custom-order.ts';
import type { MetricsProvider } from './metrics.ts';
import type { WorkQueue } from './queue.ts';

/** The options of every queue. */
export interface QueueOptions<T> {
  /** Names the queue in metrics; without a name it has none. */
  name?: string | undefined;
  /** The clock of delays and metrics. Default: the host's monotonic clock. */
  clock?: Clock | undefined;
  /** Makes the metrics of the queue. Default: none. */
  metricsProvider?: MetricsProvider | undefined;
  /**
   * What makes two items the same. Needed unless items are strings; pass `requestKey` for requests.
   */
  key?: KeyFunction<T> | undefined;
  /** The order of ready items. Default: first in, first out. client-go: TypedQueueConfig.Queue. */
  order?: QueueOrder<T> | undefined;
  /** @deprecated The former name of `order`. */
  queue?: QueueOrder<T> | undefined;
  /**
   * The queue to wrap: this one adds delays, limits and failures to it, and its calls go to the
   * inner queue. So a subclass that overrides `add` or `get`, for example, must be the inner queue.
   * While the inner queue is full, an item whose delay has ended is tried again each second. If the
   * class of the inner queue overrides `addAfter`, that method is called for each delay, also for
   * back-offs; then `addKeepsBackoff` cannot tell back-offs from other delays.
   */
  inner?: WorkQueue<T> | undefined;
  /**
   * Keeps when each key was added and handed out, for `snapshot()`. Default: only queues with
   * metrics do, as it costs a look at the clock each time.
   */
  times?: boolean | undefined;
  /**
   * The most keys that may be ready, wait for a delay or be due again after done(), together (one
   * that is ready and waits counts twice). Only a key of which the queue knows nothing is refused:
   * repeated adds and retries of a key in processing are never refused. Default: no bound, as in
   * client-go.
   */
  maxDepth?: number | undefined;
  /**
   * What happens to an item that a full queue refuses: the add throws QUEUE_FULL ('error', the
   * default), or it is dropped. `droppedAdds()` counts the refused adds of both kinds. What becomes
   * due in a queue around this one waits for room either way.
   */
  whenFull?: 'error' | 'drop' | undefined;
  /**
   * An add() ends the wait of the same key: it comes once, now. Default: it comes now and again
   * when the delay ends, as in client-go.
   */
  addEndsWait?: boolean | undefined;
  /**
   * An add() of a key that waits since addRateLimited() has no effect: the key comes when its
   * back-off ends. Default: it comes at once too, as in client-go.
   */
  addKeepsBackoff?: boolean | undefined;
}

export const QUEUE_NAMES = namesOf<QueueOptions<never>>()({
  name: 1,
  clock: 1,
  metricsProvider: 1,
  key: 1,
  order: 1,
  queue: 1,
  inner: 1,
  times: 1,
  maxDepth: 1,
  whenFull: 1,
  addEndsWait: 1,
  addKeepsBackoff: 1,
});

/** What differs between the classes of queues when one is made. */
export interface QueueKind {
  /** The names of its options. */
  readonly names: Names;
  /**
   * Set when keys have priorities. After `everyMs` of waiting a key counts as one of the next
   * higher priority; 0: never.
   */
  readonly levels: { readonly everyMs: number } | undefined;
}

export const PLAIN_QUEUE: QueueKind = { names: QUEUE_NAMES, levels: undefined };

/** The user's order, by either of its names. */
export function orderOf<T>({ order, queue }: QueueOptions<T>): QueueOrder<T> | undefined {
  if (order !== undefined && queue !== undefined)
    throw invalid('queue', 'nothing beside "order", which is its new name', queue);
  return order ?? queue;
}

/**
 * Checks the options, except the class of `inner`, which the queue checks. `rules`: what an add
 * does to a wait (ADD_ENDS_WAIT, ADD_KEEPS_BACKOFF).
 */
export function checkOptions<T>(
  options: QueueOptions<T>,
  names: Names,
): QueueOptions<T> & { rules: number } {
  requireNames('options', options, 'option of a queue', names);
  const { name, clock, metricsProvider, key, inner, whenFull, maxDepth } = options;
  const order = orderOf(options);
  if (name !== undefined) requireString('name', name);
  if (key !== undefined) requireFunction('key', key);
  requireClock('clock', clock);
  if (order !== undefined) {
    requireObject('order', order);
    for (const method of ['touch', 'push', 'len', 'pop'] as const)
      requireFunction(`order.${method}`, order[method]);
  }
  if (inner !== undefined && order !== undefined)
    throw invalid('order', 'no order beside "inner", which has its own', order);
  for (const option of ['times', 'addEndsWait', 'addKeepsBackoff'] as const)
    requireBoolean(option, options[option]);
  if (maxDepth !== undefined) requireInteger('maxDepth', maxDepth, 1);
  if (whenFull !== undefined && whenFull !== 'error' && whenFull !== 'drop')
    throw invalid('whenFull', "'error' or 'drop'", whenFull);
  if (inner !== undefined) requireNoneBeside(inner, options);
  if (metricsProvider !== undefined) requireObject('metricsProvider', metricsProvider);
  const rules =
    (options.addEndsWait ? ADD_ENDS_WAIT : 0) | (options.addKeepsBackoff ? ADD_KEEPS_BACKOFF : 0);
  return { ...options, order, rules };
}

/** These options are those of the wrapped queue. */
function requireNoneBeside<T>(inner: WorkQueue<T>, options: QueueOptions<T>): void {
  for (const option of ['times', 'maxDepth', 'whenFull', 'addEndsWait', 'addKeepsBackoff'] as const)
    if (options[option] !== undefined)
      throw invalid(option, 'no such option beside "inner", which has its own', options[option]);
  // The delays would be in this queue, the adds in that one.
  if (inner?.rules && !('addAfter' in inner))
    throw invalid('inner', 'a DelayingQueue, as it has addEndsWait or addKeepsBackoff', inner);
}
