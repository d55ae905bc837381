/** Takes items out of a queue. */
import type { Got } from 'capstan/workqueue';
import { expect } from 'vitest';

/** The item of a `get`; fails the test if the queue has shut down. */
export function itemOf<T>(got: Got<T>): T {
  expect(got.shutdown).toBe(false);
  return got.item as T;
}

/** Takes each item that is ready now, and calls `done` for it. */
export function drain<T>(queue: { tryGet(): T | undefined; done(item: T): void }): T[] {
  const items: T[] = [];
  for (let item = queue.tryGet(); item !== undefined; item = queue.tryGet()) {
    items.push(item);
    queue.done(item);
  }
  return items;
}
