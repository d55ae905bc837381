/**
 * The two implementations that each suite runs over. Queues and limiters keep their keys in one of
 * two tables, found by the core or in JS; both must pass every case.
 */
import {
  DelayingQueue,
  PriorityQueue,
  type PriorityQueueOptions,
  type QueueOptions,
  type RateLimiter,
  RateLimitingQueue,
  WorkQueue,
} from 'capstan/workqueue';
import { type KeyMode, setKeyMode } from '../../../bindings/wasm/key-mode.ts';

export interface Implementation {
  readonly name: string;
  queue<T = string>(options?: QueueOptions<T>): WorkQueue<T>;
  delaying<T = string>(options?: QueueOptions<T>): DelayingQueue<T>;
  rateLimiting<T = string>(
    limiter?: RateLimiter<T>,
    options?: QueueOptions<T>,
  ): RateLimitingQueue<T>;
  priority<T = string>(
    limiter?: RateLimiter<T>,
    options?: PriorityQueueOptions<T>,
  ): PriorityQueue<T>;
  /** Runs `make`, which constructs queues or limiters, with this implementation's keys. */
  within<R>(make: () => R): R;
}

function implementation(mode: KeyMode, name: string): Implementation {
  const within = <R>(make: () => R): R => {
    setKeyMode(mode);
    try {
      return make();
    } finally {
      setKeyMode(undefined);
    }
  };
  return {
    name,
    within,
    queue: <T>(options?: QueueOptions<T>) => within(() => new WorkQueue<T>(options)),
    delaying: <T>(options?: QueueOptions<T>) => within(() => new DelayingQueue<T>(options)),
    rateLimiting: <T>(limiter?: RateLimiter<T>, options?: QueueOptions<T>) =>
      within(() => new RateLimitingQueue<T>(limiter, options)),
    priority: <T>(limiter?: RateLimiter<T>, options?: PriorityQueueOptions<T>) =>
      within(() => new PriorityQueue<T>(limiter, options)),
  };
}

export const implementations: readonly Implementation[] = [
  implementation('wasm', 'keys found in Wasm'),
  implementation('js', 'keys found in JS'),
];
