/**
 * What our queues do beyond client-go: cancelled delays, rules for adds, bounds, snapshots and
 * recovery; for any implementation.
 */
import {
  FakeClock,
  ItemExponentialFailureRateLimiter,
  type QueuedKey,
  type QueueOptions,
  setErrorHandler,
  type WorkQueue,
} from 'capstan/workqueue';
import { describe, expect, test } from 'vitest';
import { expectError, expectRejection, invalidArgument } from '../../helpers/expect-error.ts';
import type { Implementation } from '../../helpers/workqueue/implementations.ts';
import { drain } from '../../helpers/workqueue/queue-items.ts';
import { RecordingProvider } from '../../helpers/workqueue/recording-metrics.ts';

export function extensionCases(make: Implementation): void {
  const delaying = (options?: QueueOptions<string>) => {
    const clock = new FakeClock(1_000);
    return { clock, queue: make.delaying({ clock, ...options }) };
  };
  const limited = (options?: QueueOptions<string>) => {
    const clock = new FakeClock(1_000);
    const limiter = make.within(() => new ItemExponentialFailureRateLimiter(100, 10_000));
    return { clock, queue: make.rateLimiting(limiter, { clock, ...options }) };
  };

  describe(`DelayingQueue: a second delay for an item (${make.name})`, () => {
    const twice = (mode: 'earliest' | 'latest' | 'replace', first: number, second: number) => {
      const { clock, queue } = delaying();
      queue.addAfter('a', first);
      queue.addAfter('a', second, { mode });
      const handed: number[] = [];
      for (let ms = 0; ms <= 100; ms += 10) {
        for (const _ of drain(queue)) handed.push(ms);
        clock.step(10);
      }
      expect(clock.timers()).toBe(0);
      return handed;
    };

    test.each([
      ['earliest', 50, 20, [20]],
      ['earliest', 20, 50, [20]],
      ['latest', 50, 20, [50]],
      ['latest', 20, 50, [50]],
      ['replace', 50, 20, [20]],
      ['replace', 20, 50, [50]],
      ['earliest', 50, 0, [0, 50]],
      ['latest', 50, 0, [50]],
      ['replace', 50, -5, [0]],
    ] as const)('%s: %i ms, then %i ms, comes at %j', (mode, first, second, expected) => {
      expect(twice(mode, first, second)).toEqual(expected);
    });

    test('replaced often, an item waits once, and old times use no memory', () => {
      const { clock, queue } = delaying();
      for (let i = 0; i < 50_000; i++) queue.addAfter('a', 10 + (i % 7), { mode: 'replace' });
      queue.addAfter('b', 12);
      clock.step(11 + (49_999 % 7));
      expect(drain(queue).sort()).toEqual(['a', 'b']);
      expect(clock.timers()).toBe(0);
    });

    test('an item whose delay was replaced is ordered by when it was set', () => {
      const { clock, queue } = delaying();
      queue.addAfter('a', 10);
      queue.addAfter('b', 20);
      queue.addAfter('a', 20, { mode: 'latest' });
      clock.step(20);
      expect(drain(queue)).toEqual(['b', 'a']);
    });

    test('an unknown mode is rejected', () => {
      const { queue } = delaying();
      for (const mode of ['soonest', '', null, 1, '__proto__'])
        expectError(
          () => queue.addAfter('a', 5, { mode: invalidArgument(mode) }),
          'INVALID_ARGUMENT',
          /earliest/,
        );
      expectError(() => queue.addAfter('a', 5, invalidArgument(null)), 'INVALID_ARGUMENT');
      expect(queue.cancel('a')).toBe(false);
    });
  });

  describe(`DelayingQueue: a delay replaced by none (${make.name})`, () => {
    // The wait was ended first, and the item was lost when the add failed.
    test('stays when the add fails: the wrapped queue is full, the clock throws', () => {
      const wrapping = delaying({ inner: make.queue({ maxDepth: 1 }) });
      wrapping.queue.add('x');
      wrapping.queue.addAfter('a', 5);
      expectError(() => wrapping.queue.addAfter('a', 0, { mode: 'replace' }), 'QUEUE_FULL');
      expect(drain(wrapping.queue)).toEqual(['x']);
      wrapping.clock.step(5);
      expect(drain(wrapping.queue)).toEqual(['a']);

      const { clock, queue } = delaying({ times: true });
      queue.addAfter('a', 5);
      const now = clock.now.bind(clock);
      clock.now = () => {
        throw new Error('clock');
      };
      expect(() => queue.addAfter('a', 0, { mode: 'replace' })).toThrow('clock');
      clock.now = now;
      clock.step(5);
      expect(drain(queue)).toEqual(['a']);
    });
  });

  describe(`DelayingQueue: cancel (${make.name})`, () => {
    test('removes a delayed add, once, and leaves no timer', () => {
      const { clock, queue } = delaying();
      queue.addAfter('a', 50);
      queue.addAfter('b', 50);
      expect(queue.cancel('a')).toBe(true);
      expect(queue.cancel('a')).toBe(false);
      expect(queue.cancel('never seen')).toBe(false);
      clock.step(100);
      expect(drain(queue)).toEqual(['b']);
      queue.addAfter('c', 50);
      expect(clock.timers()).toBe(1);
      queue.cancel('c');
      expect(clock.timers()).toBe(0); // a process can exit
    });

    test('does not affect ready and processing items', () => {
      const { clock, queue } = delaying();
      queue.add('a');
      queue.addAfter('a', 10);
      expect(queue.cancel('a')).toBe(true);
      clock.step(20);
      expect(queue.tryGet()).toBe('a');
      queue.addAfter('a', 10);
      expect(queue.cancel('a')).toBe(true);
      queue.add('a');
      expect(queue.cancel('a')).toBe(false);
      queue.done('a');
      expect(drain(queue)).toEqual(['a']);
    });

    test('a key that was cancelled and waits again comes at its new time', () => {
      const { clock, queue } = delaying();
      queue.addAfter('a', 10);
      queue.cancel('a');
      queue.addAfter('a', 30);
      clock.step(20);
      expect(queue.len()).toBe(0);
      clock.step(10);
      expect(drain(queue)).toEqual(['a']);
    });

    test('is passed to the wrapped queue', () => {
      const { clock, queue: inner } = delaying();
      const queue = make.rateLimiting(undefined, { inner, clock });
      queue.addAfter('a', 10);
      expect(queue.cancel('a')).toBe(true);
      clock.step(20);
      expect(queue.len()).toBe(0);
      const own = make.delaying({ inner: make.queue(), clock });
      own.addAfter('b', 10);
      expect(own.cancel('b')).toBe(true);
      clock.step(20);
      expect(own.len()).toBe(0);
    });

    test('after shutdown there is nothing to cancel, after dispose it is an error', () => {
      const { queue } = delaying();
      queue.addAfter('a', 10);
      queue.shutDown();
      expect(queue.cancel('a')).toBe(false);
      queue.dispose();
      expectError(() => queue.cancel('a'), 'DISPOSED');
    });
  });

  describe(`Queues: the effect of an add on a wait (${make.name})`, () => {
    test('by default there is none, as in client-go', () => {
      const { clock, queue } = limited();
      queue.addRateLimited('a');
      queue.add('a');
      expect(drain(queue)).toEqual(['a']);
      clock.step(100);
      expect(drain(queue)).toEqual(['a']);
    });

    test('addEndsWait: the item comes once, now', () => {
      const { clock, queue } = limited({ addEndsWait: true });
      queue.addAfter('a', 50);
      queue.add('a');
      queue.add('b');
      queue.addAfter('b', 50);
      queue.add('b'); // it is queued already
      expect(drain(queue)).toEqual(['a', 'b']);
      clock.step(20_000);
      expect(queue.len()).toBe(0);
      expect(clock.timers()).toBe(0);
      queue.addRateLimited('c');
      const slot = Int32Array.of(queue.pin('c'));
      queue.addSlots(slot, 1);
      expect(drain(queue)).toEqual(['c']);
      clock.step(20_000);
      expect(queue.len()).toBe(0);
    });

    test('addKeepsBackoff: an item in back-off comes at the end of that', () => {
      const { clock, queue } = limited({ addKeepsBackoff: true });
      queue.addRateLimited('a');
      queue.addAfter('b', 100);
      queue.addAll(['a', 'b', 'c']);
      const slot = Int32Array.of(queue.pin('a'));
      queue.addSlots(slot, 1);
      expect(drain(queue)).toEqual(['b', 'c']);
      clock.step(100);
      expect(drain(queue)).toEqual(['a', 'b']);
      queue.add('a'); // the back-off is over
      expect(drain(queue)).toEqual(['a']);
      queue.addRateLimited('a');
      queue.cancel('a');
      queue.add('a'); // it was cancelled
      expect(drain(queue)).toEqual(['a']);
    });

    test('a back-off added to a wait applies from then on; the earlier time stays', () => {
      const { clock, queue } = limited({ addKeepsBackoff: true });
      queue.addAfter('a', 10);
      queue.addRateLimited('a'); // 100 ms: the 10 stand
      queue.add('a');
      expect(queue.len()).toBe(0);
      clock.step(10);
      expect(drain(queue)).toEqual(['a']);
    });

    // The order was called for an item that it had never been given.
    test('addKeepsBackoff: an order is not called for an item in back-off', () => {
      const calls: string[] = [];
      const items: string[] = [];
      const order = {
        push: (item: string) => {
          calls.push(`push ${item}`);
          items.push(item);
        },
        touch: (item: string) => void calls.push(`touch ${item}`),
        len: () => items.length,
        pop: () => items.shift() as string,
      };
      const { clock, queue } = limited({ addKeepsBackoff: true, order });
      queue.addRateLimited('a');
      queue.add('a');
      expect(calls).toEqual([]);
      clock.step(100);
      queue.add('a');
      expect(calls).toEqual(['push a', 'touch a']);
    });

    test('an item that is added while it is processed and in back-off comes once', () => {
      const { clock, queue } = limited({ addKeepsBackoff: true });
      queue.add('a');
      expect(queue.tryGet()).toBe('a');
      queue.addRateLimited('a');
      queue.add('a');
      queue.done('a');
      expect(queue.len()).toBe(0);
      clock.step(100);
      expect(drain(queue)).toEqual(['a']);
    });
  });

  describe(`Queues: rules for adds of a wrapped queue (${make.name})`, () => {
    // The options were passed to a wrapped WorkQueue, where they had no effect: the delays are in
    // the queue around it.
    test('are rejected if the queue has no delays', () => {
      for (const rule of [{ addEndsWait: true }, { addKeepsBackoff: true }]) {
        const inner = make.queue(rule);
        expectError(
          () => make.rateLimiting(undefined, { inner }),
          'INVALID_ARGUMENT',
          /"inner" expected a DelayingQueue/,
        );
        inner.add('a'); // it has no delays itself
        expect(drain(inner)).toEqual(['a']);
        expectError(
          () => limited({ inner: make.queue(), ...rule }),
          'INVALID_ARGUMENT',
          /beside "inner"/,
        );
      }
      expect(limited({ inner: make.queue({ addEndsWait: false }) }).queue.len()).toBe(0);
    });

    test('apply to items that wait in it', () => {
      const clock = new FakeClock(1_000);
      const ends = limited({ inner: make.delaying({ clock, addEndsWait: true }) }).queue;
      ends.addAfter('a', 50);
      ends.add('a');
      expect([ends.waiting(), drain(ends)]).toEqual([0, ['a']]);
      const keeps = limited({ inner: make.delaying({ clock, addKeepsBackoff: true }) }).queue;
      keeps.addRateLimited('a');
      keeps.add('a');
      expect([keeps.waiting(), drain(keeps)]).toEqual([1, []]);
      clock.step(100);
      expect(drain(keeps)).toEqual(['a']);
    });
  });

  describe(`Queues with a bound (${make.name})`, () => {
    test('reject a new item with a typed error, and change nothing', () => {
      const { clock, queue } = delaying({ maxDepth: 3 });
      queue.add('a');
      queue.addAfter('b', 10);
      queue.add('c');
      expectError(() => queue.add('d'), 'QUEUE_FULL', /maxDepth/);
      expectError(() => queue.addAfter('d', 10), 'QUEUE_FULL');
      expectError(() => queue.addAll(['a', 'd']), 'QUEUE_FULL');
      expect(queue.droppedAdds()).toBe(3);
      clock.step(10);
      expect(drain(queue)).toEqual(['a', 'c', 'b']);
      queue.add('d');
      expect(drain(queue)).toEqual(['d']);
    });

    test('drop a new item if configured so, and count it', () => {
      const { queue } = delaying({ maxDepth: 2, whenFull: 'drop' });
      queue.addAll(['a', 'b', 'c', 'a', 'd']);
      expect(drain(queue)).toEqual(['a', 'b']);
      expect(queue.droppedAdds()).toBe(2);
    });

    test('never reject known items: repeated adds, retries, delays that end', () => {
      const { clock, queue } = limited({ maxDepth: 2 });
      queue.addAll(['a', 'b']);
      expect(queue.tryGet()).toBe('a');
      queue.add('c');
      queue.add('a');
      queue.addRateLimited('a');
      queue.add('b');
      queue.addAfter('b', 10);
      queue.done('a');
      expect(drain(queue)).toEqual(['b', 'c', 'a']);
      clock.step(100);
      expect(drain(queue)).toEqual(['b', 'a']);
    });

    // Items that became due one by one were removed and added like new ones: rejected, they were
    // lost.
    test('never reject an item that becomes due', () => {
      const { clock, queue } = delaying({
        maxDepth: 2,
        name: 'q',
        metricsProvider: new RecordingProvider(),
      });
      queue.add('a');
      expect(queue.tryGet()).toBe('a');
      queue.addAfter('c', 5);
      queue.addAll(['b', 'a']);
      clock.step(5);
      expect(queue.droppedAdds()).toBe(0);
      queue.done('a');
      expect(drain(queue)).toEqual(['b', 'c', 'a']);
    });

    // The outer queue had removed the item when the inner one rejected it.
    test('that are wrapped: a due item that is rejected waits again', () => {
      const reported: unknown[] = [];
      const previous = setErrorHandler((error) => reported.push(error));
      const { clock, queue } = delaying({ inner: make.queue({ maxDepth: 1 }) });
      queue.add('a');
      queue.addAfter('b', 5);
      clock.step(5);
      setErrorHandler(previous);
      expect(reported).toEqual([expect.objectContaining({ code: 'QUEUE_FULL' })]);
      expect(drain(queue)).toEqual(['a']);
      clock.step(1_000);
      expect(drain(queue)).toEqual(['b']);
    });

    test('invalid options are rejected', () => {
      for (const maxDepth of [0, -1, 1.5, Number.NaN, invalidArgument('9')])
        expectError(() => make.queue({ maxDepth }), 'INVALID_ARGUMENT', /maxDepth/);
      expectError(
        () => make.queue({ maxDepth: 5, whenFull: invalidArgument('wait') }),
        'INVALID_ARGUMENT',
        /whenFull/,
      );
      expectError(() => make.queue({ times: invalidArgument(1) }), 'INVALID_ARGUMENT', /times/);
      expectError(
        () => make.delaying({ inner: make.queue(), maxDepth: 5 }),
        'INVALID_ARGUMENT',
        /inner/,
      );
      expectError(
        () => make.delaying({ inner: make.queue(), addEndsWait: true }),
        'INVALID_ARGUMENT',
        /inner/,
      );
    });
  });

  describe(`Queues: snapshot (${make.name})`, () => {
    const brief = ({ item, state }: QueuedKey<string>) => `${item} ${state}`;

    test('has the state of each key, since when and until when', () => {
      const { clock, queue } = limited({ times: true });
      queue.addAll(['processed', 'again', 'ready']);
      clock.step(5);
      queue.getBatch(2);
      clock.step(7);
      queue.add('again');
      queue.addRateLimited('ready');
      queue.addRateLimited('failing');
      queue.pin('only pinned');
      queue.pin('failing');
      clock.step(1);
      const { keys, next } = queue.snapshot();
      expect(next).toBeUndefined();
      const nothing = {
        waitingMs: undefined,
        queuedMs: undefined,
        processingMs: undefined,
        priority: undefined,
      };
      const plain = { ...nothing, addedAgain: false, pinned: false, failures: 0 };
      expect(keys).toEqual([
        { ...plain, item: 'processed', state: 'processing', processingMs: 8 },
        {
          ...plain,
          item: 'again',
          state: 'processing',
          addedAgain: true,
          processingMs: 8,
          queuedMs: 1,
        },
        { ...plain, item: 'ready', state: 'ready', queuedMs: 13, waitingMs: 99, failures: 1 },
        { ...plain, item: 'failing', state: 'waiting', pinned: true, waitingMs: 99, failures: 1 },
      ]);
    });

    test('omits times without the option', () => {
      const { queue } = delaying();
      queue.add('a');
      expect(queue.snapshot().keys[0]).toMatchObject({
        item: 'a',
        state: 'ready',
        queuedMs: undefined,
      });
    });

    test('comes in pages that have each key once', () => {
      const queue = make.queue();
      const keys = Array.from({ length: 2_500 }, (_, i) => `key-${i}`);
      queue.addAll(keys);
      queue.doneAll(queue.getBatch(300)); // leaves gaps
      const seen: string[] = [];
      let pages = 0;
      for (let after: number | undefined = 0; after !== undefined; pages++) {
        const page: ReturnType<WorkQueue['snapshot']> = queue.snapshot({ after, limit: 100 });
        expect(page.keys.length).toBeLessThanOrEqual(100);
        seen.push(...page.keys.map(({ item }) => item));
        after = page.next;
      }
      expect(seen).toEqual(keys.slice(300));
      expect(pages).toBe(22);
    });

    test('of a queue that wraps another has the items of both', () => {
      const clock = new FakeClock();
      const queue = make.delaying({ inner: make.queue({ clock }), clock });
      queue.add('a');
      queue.addAfter('b', 10);
      queue.addAfter('a', 10);
      const first = queue.snapshot({ limit: 1 });
      expect(first.keys.map(brief)).toEqual(['a ready']);
      const rest = queue.snapshot({ after: first.next });
      expect(rest.keys.map(brief).sort()).toEqual(['a waiting', 'b waiting']);
      expect(rest.next).toBeUndefined();
    });

    // Pages of the middle queue's own keys were requested from the outer one, which has none: all
    // waiting items were missing.
    test('of nested queues has the items of all', () => {
      const clock = new FakeClock();
      const inner = make.delaying({ clock, inner: make.queue() });
      const limiter = make.within(() => new ItemExponentialFailureRateLimiter(100, 10_000));
      const queue = make.rateLimiting(limiter, { clock, inner });
      queue.add('b');
      queue.addAfter('a', 5);
      queue.addRateLimited('c');
      const seen: string[] = [];
      for (let after: number | undefined = 0; after !== undefined; ) {
        const page: ReturnType<WorkQueue['snapshot']> = queue.snapshot({ after, limit: 1 });
        seen.push(...page.keys.map(brief));
        after = page.next;
      }
      expect(seen).toEqual(['b ready', 'a waiting', 'c waiting']);
    });

    test('rejects bad pages', () => {
      const queue = make.queue();
      expectError(() => queue.snapshot({ limit: 0 }), 'INVALID_ARGUMENT', /limit/);
      expectError(() => queue.snapshot({ after: -1 }), 'INVALID_ARGUMENT', /after/);
      expectError(() => queue.snapshot(invalidArgument(null)), 'INVALID_ARGUMENT');
      queue.add('a');
      // Beyond 32 bits it began again: a loop over pages would never have ended.
      for (const after of [10_000, 2 ** 32, Number.MAX_SAFE_INTEGER])
        expect(queue.snapshot({ after })).toEqual({ keys: [], next: undefined });
    });
  });

  describe(`Queues: recover (${make.name})`, () => {
    test('lists all items of a queue, also after its core has trapped', async () => {
      const { queue } = delaying();
      queue.addAll(['a', 'b']);
      queue.tryGet();
      queue.addAfter('c', 10);
      expect(queue.recover().sort()).toEqual(['a', 'b', 'c']);
      const waiting = make.queue().get();
      const core = (queue as unknown as { core: { trapped(cause: unknown): unknown } }).core;
      core.trapped(new WebAssembly.RuntimeError('unreachable'));
      await expectRejection(waiting, 'POISONED');
      expectError(() => queue.add('d'), 'POISONED');
      expect(queue.recover().sort()).toEqual(['a', 'b', 'c']);
      const next = make.queue();
      next.addAll(queue.recover());
      expect(drain(next).sort()).toEqual(['a', 'b', 'c']);
    });

    test('lists the items of the wrapped queue too, and nothing after dispose', () => {
      const clock = new FakeClock();
      const queue = make.delaying({ inner: make.queue(), clock });
      queue.add('a');
      queue.addAfter('b', 5);
      expect(queue.recover().sort()).toEqual(['a', 'b']);
      queue.dispose();
      expectError(() => queue.recover(), 'DISPOSED');
    });
  });
}
