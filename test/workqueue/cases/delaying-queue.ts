/** The behaviour of DelayingQueue, for any implementation. */
import {
  DelayingQueue,
  FakeClock,
  type QueueOptions,
  RateLimitingQueue,
  type Request,
  requestKey,
  setErrorHandler,
  WorkQueue,
} from 'capstan/workqueue';
import { describe, expect, test } from 'vitest';
import { expectError, expectRejection, invalidArgument } from '../../helpers/expect-error.ts';
import { isCollected } from '../../helpers/garbage-collection.ts';
import { settle, track } from '../../helpers/promise-state.ts';
import { Random, testSeed } from '../../helpers/random.ts';
import { distinctKeys, distinctRequests } from '../../helpers/workqueue/hostile-keys.ts';
import type { Implementation } from '../../helpers/workqueue/implementations.ts';
import { drain } from '../../helpers/workqueue/queue-items.ts';

export function delayingQueueCases(make: Implementation): void {
  function start<T = string>(options?: QueueOptions<T>) {
    const clock = new FakeClock(1_000);
    return { clock, queue: make.delaying<T>({ clock, ...options }) };
  }

  describe(`DelayingQueue: times (${make.name})`, () => {
    test('a delay ends at its exact time, never earlier', () => {
      const { clock, queue } = start();
      queue.addAfter('a', 50);
      clock.step(49.75);
      expect(queue.len()).toBe(0);
      clock.step(0.25);
      expect(drain(queue)).toEqual(['a']);
    });

    test('one jump past several delays hands items out in the order of their times', () => {
      const { clock, queue } = start();
      queue.addAfter('late', 300);
      queue.addAfter('early', 100);
      queue.addAfter('middle', 200.5);
      clock.step(1_000);
      expect(drain(queue)).toEqual(['early', 'middle', 'late']);
    });

    test('delays that end at one moment come out in the order in which they were added', () => {
      const { clock, queue } = start();
      const keys = Array.from({ length: 500 }, (_, i) => `key-${i}`);
      for (const key of keys) queue.addAfter(key, 100);
      clock.step(100);
      expect(drain(queue)).toEqual(keys);
    });

    test('a key that waits again until a former time comes after earlier waits', () => {
      // The heap keeps an outdated entry until it is at the top. A later wait must not take the
      // place of such an entry.
      const { clock, queue } = start();
      queue.addAfter('a', 100);
      queue.addAfter('a', 10);
      // keeps the outdated entry away from the top, where it would be removed
      queue.addAfter('first', 20);
      queue.addAfter('b', 100);
      clock.step(10);
      expect(drain(queue)).toEqual(['a']);
      queue.addAfter('a', 90);
      clock.step(90);
      expect(drain(queue)).toEqual(['first', 'b', 'a']);
    });

    test('an outdated wait of a removed key does not affect the key with its slot', () => {
      const { clock, queue } = start();
      queue.addAfter('a', 100);
      queue.addAfter('a', 10);
      queue.addAfter('first', 20);
      queue.addAfter('b', 100);
      clock.step(10);
      expect(drain(queue)).toEqual(['a']);
      queue.addAfter('c', 90);
      clock.step(90);
      expect(drain(queue)).toEqual(['first', 'b', 'c']);
    });

    test('thousands that end in one jump come out by time, then by add', () => {
      // Many due keys are sorted at once, few are not. The jumps are chosen to take a few, a part
      // below the threshold, a large part, or all; keys are added again earlier and later in
      // between.
      const seed = testSeed();
      console.log(`many delays at once: CAPSTAN_SEED=${seed}`);
      const random = new Random(seed);
      for (let round = 0; round < 30; round++) {
        const { clock, queue } = start();
        const waiting = new Map<string, { at: number; order: number }>();
        let order = 0;
        for (let jump = 0; jump < 4; jump++) {
          for (let i = 0; i < 2_000; i++) {
            const key = `key-${random.int(1_500)}`;
            const ms = 1 + random.int(random.pick([10, 1_000, 100_000]));
            queue.addAfter(key, ms);
            const at = clock.now() + ms;
            if (at < (waiting.get(key)?.at ?? Number.POSITIVE_INFINITY))
              waiting.set(key, { at, order: order++ });
          }
          clock.step(random.pick([1, 300, 20_000, 100_000]));
          const due = [...waiting].filter(([, wait]) => wait.at <= clock.now());
          due.sort(([, a], [, b]) => a.at - b.at || a.order - b.order);
          for (const [key] of due) waiting.delete(key);
          expect(drain(queue), `seed ${seed}, round ${round}`).toEqual(due.map(([key]) => key));
        }
        queue.dispose();
      }
    });

    test('the earlier time wins, whether it comes first or second', () => {
      const { clock, queue } = start();
      queue.addAfter('a', 50);
      queue.addAfter('a', 100);
      queue.addAfter('b', 100);
      queue.addAfter('b', 50);
      clock.step(50);
      expect(drain(queue)).toEqual(['a', 'b']);
      clock.step(10_000);
      expect(queue.len()).toBe(0);
    });

    test.each([[0], [-1], [Number.NEGATIVE_INFINITY], [-0]])(
      'a delay of %s ms adds at once',
      (ms) => {
        const { clock, queue } = start();
        queue.addAfter('a', ms);
        expect(drain(queue)).toEqual(['a']);
        expect(clock.timers()).toBe(0);
      },
    );

    test('a delay ≤ 0 leaves an earlier wait, which fires again', () => {
      const { clock, queue } = start();
      queue.addAfter('a', 50);
      queue.addAfter('a', 0);
      expect(drain(queue)).toEqual(['a']);
      clock.step(50);
      expect(drain(queue)).toEqual(['a']);
    });

    test('a plain add does not end a wait', () => {
      const { clock, queue } = start();
      queue.addAfter('a', 50);
      queue.add('a');
      expect(drain(queue)).toEqual(['a']);
      clock.step(50);
      expect(drain(queue)).toEqual(['a']);
    });

    test('a wait that ends while its key is queued or processed adds it once', () => {
      const { clock, queue } = start();
      queue.addAfter('a', 50);
      queue.add('a');
      clock.step(50);
      expect(queue.len()).toBe(1);
      queue.tryGet();
      queue.addAfter('a', 50);
      clock.step(50);
      expect(queue.len()).toBe(0);
      queue.done('a');
      expect(drain(queue)).toEqual(['a']);
    });

    test('an item that is done while it waits is still handed out', () => {
      const { clock, queue } = start<{ id: string }>({ key: ({ id }) => id });
      queue.add({ id: 'a' });
      const got = queue.tryGet() as { id: string };
      queue.addAfter(got, 50);
      queue.done(got);
      clock.step(50);
      expect(queue.tryGet()).toEqual({ id: 'a' });
    });

    test('the longest delays work: more than 2^31 ms, and for ever', () => {
      const { clock, queue } = start();
      queue.addAfter('month', 2 ** 31 + 5);
      queue.addAfter('never', Number.POSITIVE_INFINITY);
      clock.step(2 ** 31 + 4);
      expect(queue.len()).toBe(0);
      clock.step(1);
      expect(drain(queue)).toEqual(['month']);
      clock.step(1e15);
      expect(queue.len()).toBe(0);
    });

    test('a delayed add serves a waiting get', async () => {
      const { clock, queue } = start();
      const get = track(queue.get());
      queue.addAfter('a', 50);
      await settle();
      expect(get.state).toBe('pending');
      clock.step(50);
      await settle();
      expect(get.value?.item).toBe('a');
    });
  });

  describe(`DelayingQueue: one timer (${make.name})`, () => {
    test('there is one timer while an item waits, and otherwise none', () => {
      const { clock, queue } = start();
      expect(clock.timers()).toBe(0);
      for (let i = 0; i < 100; i++) queue.addAfter(`key-${i}`, 100 - i);
      expect(clock.timers()).toBe(1);
      clock.step(50);
      expect(clock.timers()).toBe(1);
      clock.step(50);
      expect(clock.timers()).toBe(0);
      expect(queue.len()).toBe(100);
    });

    test('it is never set for longer than the heartbeat of 10 s', () => {
      const delays: number[] = [];
      class Recording extends FakeClock {
        override setTimer(run: () => void, ms: number): unknown {
          delays.push(ms);
          return super.setTimer(run, ms);
        }
      }
      const clock = new Recording();
      const queue = make.delaying({ clock });
      queue.addAfter('a', 3_600_000);
      for (let i = 0; i < 360; i++) clock.step(10_000);
      expect(drain(queue)).toEqual(['a']);
      expect(Math.max(...delays)).toBeLessThanOrEqual(10_000);
    });

    test('a clock that stops and jumps (a suspended machine) loses no delay', () => {
      const { clock, queue } = start();
      queue.addAfter('a', 5_000);
      queue.addAfter('b', 20_000);
      clock.step(86_400_000);
      expect(drain(queue)).toEqual(['a', 'b']);
    });

    test('a host timer that fires early does not end the delay early', () => {
      // Hosts round: Node's timers fire up to a millisecond before performance.now() says so.
      let fire = () => {};
      let now = 0;
      const queue = make.delaying({
        clock: {
          now: () => now,
          setTimer: (run) => {
            fire = run;
            return 1;
          },
          clearTimer: () => {},
        },
      });
      queue.addAfter('a', 50);
      now = 49.5;
      fire();
      expect(queue.len()).toBe(0);
      now = 50;
      fire();
      expect(queue.len()).toBe(1);
    });
  });

  describe(`DelayingQueue: shutdown and dispose (${make.name})`, () => {
    test.each(['shutDown', 'shutDownWithDrain'] as const)(
      '%s drops all waiting items and the timer',
      (method) => {
        const { clock, queue } = start();
        queue.addAfter('a', 50);
        void queue[method]();
        expect(clock.timers()).toBe(0);
        queue.addAfter('b', 50);
        queue.addAfter('c', 0);
        clock.step(100_000);
        expect(queue.len()).toBe(0);
        expect(clock.timers()).toBe(0);
      },
    );

    test('dispose drops the timer, and addAfter is a typed error then', async () => {
      const { clock, queue } = start();
      queue.addAfter('a', 50);
      queue.dispose();
      expect(clock.timers()).toBe(0);
      expectError(() => queue.addAfter('b', 50), 'DISPOSED');
      expectError(() => queue.addAfter('b', 0), 'DISPOSED');
      await expectRejection(queue.get(), 'DISPOSED');
    });

    test('a waiting item that was dropped is not kept in memory', async () => {
      const { queue } = start<{ id: string }>({ key: ({ id }) => id });
      const ref = (() => {
        const item = { id: 'a' };
        queue.addAfter(item, 50);
        return new WeakRef(item);
      })();
      queue.shutDown();
      expect(await isCollected(ref)).toBe(true);
      expect(queue.shuttingDown()).toBe(true);
    });

    test('an item that is done after a wait is not kept in memory', async () => {
      const { clock, queue } = start<{ id: string }>({ key: ({ id }) => id });
      const ref = (() => {
        const item = { id: 'a' };
        queue.addAfter(item, 50);
        queue.addAfter(item, 20);
        clock.step(20);
        queue.done(queue.tryGet() as { id: string });
        return new WeakRef(item);
      })();
      expect(await isCollected(ref)).toBe(true);
      expect(queue.len()).toBe(0);
    });
  });

  describe(`DelayingQueue: keys and input (${make.name})`, () => {
    test('hostile strings wait as different keys', () => {
      const { clock, queue } = start();
      for (const key of distinctKeys) queue.addAfter(key, 10);
      clock.step(10);
      expect(drain(queue)).toEqual(distinctKeys);
    });

    test('a waiting key is found again, whatever its length', () => {
      // The data of a wait follows the key in memory: a comparison that reads one word too far
      // finds no key.
      const { clock, queue } = start();
      for (const unit of ['k', '\u6261']) {
        for (let length = 0; length < 80; length++) {
          const key = `${unit.repeat(length)}`;
          queue.addAfter(key, 100);
          queue.addAfter([...key].join(''), 50);
          queue.add([...key].join(''));
          expect(queue.len()).toBe(1);
          clock.step(60);
          expect(drain(queue)).toEqual([key]);
          clock.step(60);
          expect(queue.len()).toBe(0);
        }
      }
    });

    test('hostile requests wait as different keys', () => {
      const { clock, queue } = start<Request>({ key: requestKey });
      for (const request of distinctRequests) queue.addAfter({ ...request }, 10);
      for (const request of distinctRequests) queue.addAfter({ ...request }, 20);
      clock.step(20);
      expect(drain(queue)).toEqual(distinctRequests);
    });

    test.each([[Number.NaN], [undefined], ['5'], [null]])(
      'a delay of %s is a typed error and adds nothing',
      (ms) => {
        const { clock, queue } = start();
        expectError(() => queue.addAfter('a', invalidArgument(ms)), 'INVALID_ARGUMENT', /number/);
        clock.step(100_000);
        expect(queue.len()).toBe(0);
      },
    );

    test('an item of the wrong type is a typed error', () => {
      const { queue } = start();
      expectError(() => queue.addAfter(invalidArgument(5), 50), 'INVALID_ARGUMENT', /string/);
      expectError(() => queue.addAfter(invalidArgument(5), 0), 'INVALID_ARGUMENT', /string/);
    });

    test("with a user's order, delayed items go through it", () => {
      const items: string[] = [];
      const { clock, queue } = start({
        order: {
          touch: () => {},
          push: (item) => items.push(item),
          len: () => items.length,
          pop: () => items.pop() as string,
        },
      });
      queue.addAfter('a', 10);
      queue.addAfter('b', 20);
      queue.addAfter('c', 30);
      clock.step(20);
      expect(queue.len()).toBe(2);
      expect(drain(queue)).toEqual(['b', 'a']);
      clock.step(10);
      expect(drain(queue)).toEqual(['c']);
    });

    test('an order that throws while delays end does not affect other items', () => {
      const items: string[] = [];
      const push = (item: string) => {
        if (item === 'bad') throw new Error('no place');
        items.push(item);
      };
      const { clock, queue } = start({
        order: {
          touch: () => {},
          push,
          len: () => items.length,
          pop: () => items.shift() as string,
        },
      });
      queue.addAfter('bad', 10);
      queue.addAfter('a', 10);
      queue.addAfter('b', 20);
      const reported: unknown[] = [];
      const previous = setErrorHandler((error) => reported.push(error));
      try {
        clock.step(10); // a host timer: nothing could catch an error here
        clock.step(10);
      } finally {
        setErrorHandler(previous);
      }
      expect(reported).toEqual([new Error('no place')]);
      expect(drain(queue)).toEqual(['a', 'b']);
    });

    // Its timers continued until the last delay, ten seconds at a time: a program that had shut its
    // queue down did not exit.
    const ends: Readonly<Record<string, (queue: WorkQueue) => void>> = {
      'shut down': (queue) => queue.shutDown(),
      'shut down with a drain': (queue) => void queue.shutDownWithDrain(),
      'disposed of': (queue) => queue.dispose(),
    };
    for (const [how, end] of Object.entries(ends)) {
      test(`the end of the wrapped queue, ${how} from outside, leaves no timer`, () => {
        const clock = new FakeClock();
        const plain = make.queue({ clock });
        const delaying = make.delaying({ clock });
        for (const [inner, queue] of [
          [plain, make.delaying({ clock, inner: plain })],
          [delaying, make.rateLimiting(undefined, { clock, inner: delaying })],
        ] as const) {
          queue.addAfter('a', 25_000);
          queue.addAfter('b', 50);
          if (queue instanceof RateLimitingQueue) queue.addRateLimited('c');
          expect(clock.timers()).toBe(1);
          end(inner);
          expect(clock.timers()).toBe(0);
          expect(how === 'disposed of' || queue.waiting() === 0).toBe(true);
          queue.dispose();
        }
      });

      test(`the end of two queues around one, ${how} by the first, leaves no timer`, () => {
        const clock = new FakeClock();
        const inner = make.queue({ clock });
        const first = make.delaying({ clock, inner });
        const second = make.rateLimiting(undefined, { clock, inner });
        for (const queue of [first, second]) queue.addAfter('a', 25_000);
        expect(clock.timers()).toBe(2);
        end(first);
        expect(clock.timers()).toBe(0);
        second.addAfter('b', 10);
        expect([clock.timers(), second.waiting()]).toEqual([0, 0]);
      });
    }

    test('a wrapped queue with its own shutdown ends the delays at the next turn', () => {
      let over = false;
      class Own extends WorkQueue {
        override shuttingDown(): boolean {
          return over;
        }
      }
      const clock = new FakeClock();
      const queue = make.delaying({ clock, inner: make.within(() => new Own({ clock })) });
      queue.addAfter('a', 25_000);
      over = true;
      clock.step(10_000);
      expect([clock.timers(), queue.waiting()]).toEqual([0, 0]);
    });

    // Calls go to the inner queue, so an override in the outer one would never run.
    test('a class that overrides what the inner queue answers cannot wrap one', () => {
      class Counting extends DelayingQueue {
        override add(item: string): void {
          super.add(item);
        }
      }
      const inner = make.queue();
      expectError(() => make.within(() => new Counting({ inner })), 'INVALID_ARGUMENT', /add\(\)/);
      expect(make.within(() => new Counting()).len()).toBe(0);
    });

    test('wrapping another queue: both show the same items', async () => {
      const clock = new FakeClock();
      const inner = make.queue();
      const queue = make.delaying({ clock, inner });
      queue.addAfter('a', 50);
      inner.add('b');
      expect(queue.len()).toBe(1);
      clock.step(50);
      expect(inner.len()).toBe(2);
      expect(queue.tryGet()).toBe('b');
      queue.done('b');
      expect(await inner.get()).toEqual({ item: 'a', shutdown: false });
      queue.shutDown();
      expect(inner.shuttingDown()).toBe(true);
    });
  });
}
