/** The behaviour of RateLimitingQueue, for any implementation. */
import {
  BucketRateLimiter,
  DelayingQueue,
  type DelayMode,
  FakeClock,
  ItemExponentialFailureRateLimiter,
  MaxOfRateLimiter,
  PriorityQueue,
  type RateLimiter,
  RateLimitingQueue,
  type Request,
  requestKey,
  WithMaxWaitRateLimiter,
} from 'capstan/workqueue';
import { describe, expect, test } from 'vitest';
import { expectError, invalidArgument } from '../../helpers/expect-error.ts';
import type { Implementation } from '../../helpers/workqueue/implementations.ts';
import { drain } from '../../helpers/workqueue/queue-items.ts';

export function rateLimitingQueueCases(make: Implementation): void {
  function start(base = 5, max = 1_000) {
    const clock = new FakeClock();
    const limiter = make.within(() => new ItemExponentialFailureRateLimiter(base, max));
    return { clock, limiter, queue: make.rateLimiting(limiter, { clock }) };
  }

  describe(`RateLimitingQueue (${make.name})`, () => {
    // It failed at the first item whose reconcile failed, within the error path of a worker.
    test('rejects a limiter without a key function if the queue has one', () => {
      const key = ({ id }: { id: number }): string => String(id);
      const [own, without] = make.within(() => [
        new ItemExponentialFailureRateLimiter<{ id: number }>(5, 10, { key }),
        new ItemExponentialFailureRateLimiter<{ id: number }>(5, 10),
      ]) as [RateLimiter<{ id: number }>, RateLimiter<{ id: number }>];
      const mixed = new MaxOfRateLimiter<{ id: number }>(new BucketRateLimiter(1, 1), without);
      for (const limiter of [without, mixed, new WithMaxWaitRateLimiter(mixed, 5)])
        for (const Queue of [RateLimitingQueue, PriorityQueue])
          expectError(() => new Queue(limiter, { key }), 'INVALID_ARGUMENT', /same key function/);
      new RateLimitingQueue(own, { key }).addRateLimited({ id: 1 });
      new RateLimitingQueue(new BucketRateLimiter<{ id: number }>(1, 1), { key });
      const ofRequests = new ItemExponentialFailureRateLimiter<Request>(5, 10);
      new PriorityQueue(ofRequests, { key: requestKey }).addRateLimited({
        namespace: '',
        name: 'a',
      });
    });

    test("adds after the limiter's delay, and forget starts over", () => {
      const { clock, queue } = start();
      for (const delay of [5, 10, 20]) {
        queue.addRateLimited('a');
        clock.step(delay - 0.5);
        expect(queue.len()).toBe(0);
        clock.step(0.5);
        expect(drain(queue)).toEqual(['a']);
      }
      expect(queue.numRequeues('a')).toBe(3);
      queue.forget('a');
      expect(queue.numRequeues('a')).toBe(0);
      queue.addRateLimited('a');
      clock.step(5);
      expect(drain(queue)).toEqual(['a']);
    });

    test('done does not forget, forget does not end a wait', () => {
      const { clock, queue } = start();
      queue.add('a');
      queue.tryGet();
      queue.addRateLimited('a');
      queue.done('a');
      expect(queue.numRequeues('a')).toBe(1);
      queue.forget('a');
      clock.step(5);
      expect(drain(queue)).toEqual(['a']);
    });

    test('the limiter counts after shutdown too, and nothing is added', () => {
      const { clock, queue } = start();
      queue.shutDown();
      queue.addRateLimited('a');
      clock.step(10_000);
      expect(queue.len()).toBe(0);
      expect(queue.numRequeues('a')).toBe(1);
    });

    test('one limiter shared by two queues counts for both', () => {
      const clock = new FakeClock();
      const limiter = make.within(() => new ItemExponentialFailureRateLimiter(5, 1_000));
      const [one, two] = [
        make.rateLimiting(limiter, { clock }),
        make.rateLimiting(limiter, { clock }),
      ];
      one.addRateLimited('a');
      two.addRateLimited('a');
      expect(one.numRequeues('a')).toBe(2);
      one.dispose();
      expect(two.numRequeues('a')).toBe(2);
    });

    test('the default is the controller limiter: 5 ms to 1000 s, 10 a second', () => {
      const clock = new FakeClock();
      const queue = make.rateLimiting(undefined, { clock });
      for (let i = 0; i < 101; i++) queue.addRateLimited(`key-${i}`);
      clock.step(5);
      expect(queue.len()).toBe(100);
      clock.step(94);
      expect(queue.len()).toBe(100);
      clock.step(2);
      expect(queue.len()).toBe(101);
      queue.addRateLimited('key-0');
      expect(queue.numRequeues('key-0')).toBe(2);
    });

    test('the default limiter uses the key function of the queue', () => {
      const clock = new FakeClock();
      const queue = make.rateLimiting<Request>(undefined, { clock, key: requestKey });
      queue.addRateLimited({ namespace: 'a', name: 'b/c' });
      queue.addRateLimited({ namespace: 'a/b', name: 'c' });
      expect(queue.numRequeues({ namespace: 'a', name: 'b/c' })).toBe(1);
      clock.step(5);
      expect(queue.len()).toBe(2);
    });

    test('around another queue, the default limiter uses its key function and clock', () => {
      const clock = new FakeClock();
      const inner = make.queue<Request>({ clock, key: requestKey });
      const queue = make.rateLimiting<Request>(undefined, { inner });
      queue.addRateLimited({ namespace: 'a', name: 'b' });
      expect(queue.numRequeues({ namespace: 'a', name: 'b' })).toBe(1);
      clock.step(5);
      expect(inner.len()).toBe(1);
    });

    // The overridden addAfter() of a wrapped queue was not called; its add() and cancel() were.
    test('around a queue that overrides addAfter, delays and back-offs go through that', () => {
      const calls: string[] = [];
      class Telling extends DelayingQueue {
        override addAfter(item: string, ms: number, options?: { mode?: DelayMode }): void {
          calls.push(`${item} ${ms} ${options?.mode}`);
          super.addAfter(item, ms + 1, options);
        }
      }
      const { clock, limiter } = start();
      const wrapped = make.within(() => new Telling({ clock }));
      const queue = make.rateLimiting(limiter, {
        inner: make.rateLimiting(limiter, { inner: wrapped }),
      });
      queue.addRateLimited('a');
      queue.addAfter('b', 2);
      for (const mode of ['earliest', 'latest', 'replace'] as const)
        queue.addAfter('c', 3, { mode });
      queue.add('d');
      expect(calls).toEqual([
        'a 5 earliest',
        'b 2 earliest',
        'c 3 earliest',
        'c 3 latest',
        'c 3 replace',
      ]);
      expect([queue.waiting(), wrapped.waiting(), drain(queue)]).toEqual([3, 3, ['d']]);
      clock.step(5);
      expect(drain(queue)).toEqual(['b', 'c']);
      clock.step(1);
      expect(drain(queue)).toEqual(['a']);
    });

    test('any object with when, forget and numRequeues is a limiter', () => {
      const calls: string[] = [];
      const limiter: RateLimiter = {
        when: (item) => {
          calls.push(`when ${item}`);
          return 7;
        },
        forget: (item) => void calls.push(`forget ${item}`),
        numRequeues: (item) => {
          calls.push(`numRequeues ${item}`);
          return 42;
        },
      };
      const clock = new FakeClock();
      const queue = make.rateLimiting(limiter, { clock });
      queue.addRateLimited('a');
      queue.forget('b');
      expect(queue.numRequeues('c')).toBe(42);
      expect(calls).toEqual(['when a', 'forget b', 'numRequeues c']);
      clock.step(7);
      expect(drain(queue)).toEqual(['a']);
    });

    test('a limiter that throws or returns no number adds nothing', () => {
      const clock = new FakeClock();
      const problem = new Error('no delay today');
      const throwing: RateLimiter = {
        when: (): number => {
          throw problem;
        },
        forget: () => {},
        numRequeues: () => 0,
      };
      const queue = make.rateLimiting(throwing, { clock });
      expect(() => queue.addRateLimited('a')).toThrow(problem);
      const nan = make.rateLimiting({ ...throwing, when: () => Number.NaN }, { clock });
      expectError(() => nan.addRateLimited('a'), 'INVALID_ARGUMENT', /number/);
      clock.step(1e9);
      expect([queue.len(), nan.len()]).toEqual([0, 0]);
    });

    test.each([
      { limiter: 5 },
      { limiter: {} },
      { limiter: { when: Math.abs } },
      { limiter: { when: Math.abs, forget: Math.abs, numRequeues: 3 } },
    ])('an invalid limiter $limiter is a typed error', ({ limiter }) => {
      expectError(() => make.rateLimiting(invalidArgument(limiter)), 'INVALID_ARGUMENT', /limiter/);
    });

    test('after dispose every call is a typed error', () => {
      const { queue } = start();
      queue.dispose();
      expectError(() => queue.addRateLimited('a'), 'DISPOSED');
    });
  });
}
