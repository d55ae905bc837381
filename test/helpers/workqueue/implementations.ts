/**
 * The implementations that each suite runs over: queues and limiters find their keys in three ways,
 * and change from one to the next; all must pass every case.
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
import { HASHINGS, type Hashing, setHashing } from '../../../bindings/wasm/hashes.ts';

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

function implementation(hashing: Hashing): Implementation {
  const within = <R>(make: () => R): R => {
    setHashing(hashing);
    try {
      return make();
    } finally {
      setHashing(undefined);
    }
  };
  return {
    name: `keys found by ${hashing}`,
    within,
    queue: <T>(options?: QueueOptions<T>) => within(() => new WorkQueue<T>(options)),
    delaying: <T>(options?: QueueOptions<T>) => within(() => new DelayingQueue<T>(options)),
    rateLimiting: <T>(limiter?: RateLimiter<T>, options?: QueueOptions<T>) =>
      within(() => new RateLimitingQueue<T>(limiter, options)),
    priority: <T>(limiter?: RateLimiter<T>, options?: PriorityQueueOptions<T>) =>
      within(() => new PriorityQueue<T>(limiter, options)),
  };
}

export const implementations: readonly Implementation[] = HASHINGS.map(implementation);
