/** The queue of a controller, for what cannot be seen from a controller. */
import { expect, test } from 'vitest';
import { requestQueue, wrapQueue } from '../../bindings/controller/request-queue.ts';
import { sharedCore } from '../../bindings/wasm/core.ts';
import { RateLimitingQueue, requestKey } from '../../bindings/workqueue/index.ts';

// Without priorities the default limiter was made separately and never disposed of: 86 pages after
// 300 controllers.
test.each([true, false])(
  'a disposed queue gives back its default limiter too (priorities: %s)',
  (hasPriorities) => {
    const core = sharedCore();
    const lives = (count: number): void => {
      for (let i = 0; i < count; i++) {
        const queue = requestQueue(hasPriorities, undefined, {});
        for (let k = 0; k < 50; k++)
          queue.addWithOpts({ rateLimited: true }, { namespace: 'team', name: `web-${k}` });
        queue.dispose();
      }
    };
    lives(10);
    const pages = core.exports.memoryPages();
    lives(300);
    expect(core.exports.memoryPages()).toBe(pages);
  },
);

test('a queue of requests that has ended is not reported as one without a key', () => {
  const queue = new RateLimitingQueue(undefined, { key: requestKey });
  queue.dispose();
  expect(() => wrapQueue(queue)).toThrow(expect.objectContaining({ code: 'DISPOSED' }));
});
