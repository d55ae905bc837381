/**
 * The counterpart of each test of client-go's util/workqueue (queue_test, delaying_queue_test,
 * default_rate_limiters_test, rate_limiting_queue_test, metrics_test, parallelizer_test), under its
 * name. The assertions are the same; goroutines are async functions here, and time is a FakeClock.
 * BenchmarkQueue and BenchmarkDelayingQueue_AddAfter have theirs in bench/.
 */
import {
  FakeClock,
  ItemExponentialFailureRateLimiter,
  ItemFastSlowRateLimiter,
  MaxOfRateLimiter,
  parallelizeUntil,
  type QueueOrder,
  type RateLimiter,
  RateLimitingQueue,
  WithMaxWaitRateLimiter,
  type WorkQueue,
} from 'capstan/workqueue';
import { describe, expect, test } from 'vitest';
import { isCollected } from '../helpers/garbage-collection.ts';
import { settle, track } from '../helpers/promise-state.ts';
import { implementations } from '../helpers/workqueue/implementations.ts';
import { drain } from '../helpers/workqueue/queue-items.ts';
import { RecordingProvider } from '../helpers/workqueue/recording-metrics.ts';

const shutdowns: readonly [string, (queue: WorkQueue) => Promise<void>][] = [
  ['ShutDown', async (queue) => queue.shutDown()],
  ['ShutDownWithDrain', (queue) => queue.shutDownWithDrain()],
];

describe.each(implementations)('queue_test, $name', (make) => {
  test.each(shutdowns)(
    'TestBasic (%s): 50 producers, 10 consumers, and nothing after the shutdown',
    async (_name, shutDown) => {
      const queue = make.queue();
      const handled: string[] = [];
      const running = new Set<string>();
      const consume = async () => {
        for (;;) {
          const got = await queue.get();
          if (got.shutdown) return;
          expect(got.item).not.toBe('added after shutdown');
          expect(running.has(got.item)).toBe(false);
          running.add(got.item);
          await settle();
          handled.push(got.item);
          running.delete(got.item);
          queue.done(got.item);
        }
      };
      const produce = async (producer: number) => {
        for (let i = 0; i < 50; i++) {
          queue.add(String(producer));
          await Promise.resolve();
        }
      };
      const consumers = Promise.all(Array.from({ length: 10 }, consume));
      await Promise.all(Array.from({ length: 50 }, (_, producer) => produce(producer)));
      await shutDown(queue);
      queue.add('added after shutdown');
      await consumers;
      expect(queue.len()).toBe(0);
      expect(new Set(handled).size).toBe(50);
    },
  );

  test.each(shutdowns)(
    'TestAddWhileProcessing (%s): workers add what they process, and the queue still drains',
    async (_name, shutDown) => {
      const queue = make.queue();
      // upstream re-adds until the shutdown ends it; counted here, so that the test is bounded
      let left = 500;
      const consume = async () => {
        for (let got = await queue.get(); !got.shutdown; got = await queue.get()) {
          if (left-- > 0) queue.add(got.item);
          await Promise.resolve();
          queue.done(got.item);
        }
      };
      for (let producer = 0; producer < 50; producer++) queue.add(String(producer));
      const consumers = Promise.all(Array.from({ length: 10 }, consume));
      await settle();
      await shutDown(queue);
      await consumers;
      expect(queue.len()).toBe(0);
    },
  );

  test('TestLen: unique queued items only', () => {
    const queue = make.queue();
    const lengths = ['foo', 'bar', 'foo'].map((key) => {
      queue.add(key);
      return queue.len();
    });
    expect(lengths).toEqual([1, 2, 2]);
  });

  test('TestReinsert: added while processed, it comes back exactly once', () => {
    const queue = make.queue();
    queue.add('foo');
    expect(queue.tryGet()).toBe('foo');
    queue.add('foo');
    queue.done('foo');
    expect(queue.tryGet()).toBe('foo');
    queue.done('foo');
    expect(queue.len()).toBe(0);
  });

  class TouchedOrder implements QueueOrder<string> {
    readonly items: string[] = [];
    touched = 0;
    touch(): void {
      this.touched++;
    }
    push(item: string): void {
      this.items.push(item);
    }
    len(): number {
      return this.items.length;
    }
    pop(): string {
      return this.items.shift() as string;
    }
  }

  test('TestCollapse: two adds give one get, and Touch is called', () => {
    const order = new TouchedOrder();
    const queue = make.queue({ order });
    queue.add('bar');
    queue.add('bar');
    expect(queue.len()).toBe(1);
    expect(order.touched).toBe(1);
    expect(queue.tryGet()).toBe('bar');
    queue.done('bar');
    expect(queue.len()).toBe(0);
  });

  test('TestCollapseWhileProcessing: two adds while processing give one more', async () => {
    const order = new TouchedOrder();
    const queue = make.queue({ order });
    queue.add('foo');
    expect(queue.tryGet()).toBe('foo');
    queue.add('foo');
    queue.add('foo');
    const second = track(queue.get());
    await settle();
    expect(second.state).toBe('pending');
    expect(order.touched).toBe(0);
    queue.done('foo');
    await settle();
    expect(second.value?.item).toBe('foo');
    queue.done('foo');
    expect(queue.len()).toBe(0);
  });

  function twoProcessed() {
    const queue = make.queue();
    queue.add('foo');
    queue.add('bar');
    queue.tryGet();
    queue.tryGet();
    return queue;
  }

  test('TestQueueDrainageUsingShutDownWithDrain: blocks until every Done', async () => {
    const queue = twoProcessed();
    const drained = track(queue.shutDownWithDrain());
    queue.add('baz');
    queue.done('foo');
    await settle();
    expect(drained.state).toBe('pending');
    queue.done('bar');
    await settle();
    expect(drained.state).toBe('fulfilled');
    expect(queue.len()).toBe(0);
  });

  test('TestNoQueueDrainageUsingShutDown: returns with items that are not done', () => {
    const queue = twoProcessed();
    queue.shutDown();
    expect(queue.shuttingDown()).toBe(true);
  });

  test('TestForceQueueShutdownUsingShutDown: ends a drain that blocks', async () => {
    const queue = twoProcessed();
    const drained = track(queue.shutDownWithDrain());
    await settle();
    expect(drained.state).toBe('pending');
    queue.shutDown();
    await settle();
    expect(drained.state).toBe('fulfilled');
  });

  test('TestQueueDrainageUsingShutDownWithDrainWithDirtyItem: comes back once', async () => {
    const queue = make.queue();
    queue.add('foo');
    expect((await queue.get()).item).toBe('foo');
    queue.add('foo');
    const drained = queue.shutDownWithDrain();
    queue.done('foo');
    expect(await queue.get()).toEqual({ item: 'foo', shutdown: false });
    queue.done('foo');
    expect((await queue.get()).shutdown).toBe(true);
    await drained;
  });

  test('TestGarbageCollection: an item that is done is collectable', async () => {
    const queue = make.queue<{ buffer: Uint8Array }>({ key: () => 'the only one' });
    const ref = (() => {
      const item = { buffer: new Uint8Array(1024) };
      queue.add(item);
      queue.done(queue.tryGet() as typeof item);
      return new WeakRef(item);
    })();
    expect(await isCollected(ref)).toBe(true);
    expect(queue.len()).toBe(0);
  });
});

describe.each(implementations)('delaying_queue_test, $name', (make) => {
  function start() {
    const clock = new FakeClock(1_700_000_000_000);
    return { clock, queue: make.delaying({ clock }) };
  }

  test('TestSimpleQueue: nothing before its time, one after, and not again', () => {
    const { clock, queue } = start();
    queue.addAfter('foo', 50);
    expect(queue.len()).toBe(0);
    clock.step(60);
    expect(drain(queue)).toEqual(['foo']);
    clock.step(10_000);
    expect(queue.len()).toBe(0);
  });

  test('TestDeduping: a later time is ignored, an earlier one wins, and it fires once', () => {
    const { clock, queue } = start();
    queue.addAfter('foo', 50);
    queue.addAfter('foo', 70);
    clock.step(60);
    expect(drain(queue)).toEqual(['foo']);
    clock.step(20);
    expect(queue.len()).toBe(0);
    queue.addAfter('foo', 50);
    queue.addAfter('foo', 30);
    clock.step(40);
    expect(drain(queue)).toEqual(['foo']);
    clock.step(20);
    expect(queue.len()).toBe(0);
  });

  test('TestAddTwoFireEarly: in the order of their times across later inserts', () => {
    const { clock, queue } = start();
    queue.addAfter('foo', 1_000);
    queue.addAfter('bar', 50);
    queue.addAfter('baz', 2_000);
    clock.step(60);
    expect(drain(queue)).toEqual(['bar']);
    queue.addAfter('qux', 2_000);
    clock.step(1_000);
    expect(drain(queue)).toEqual(['foo']);
    clock.step(2_000);
    expect(drain(queue)).toEqual(['baz', 'qux']);
  });

  test('TestCopyShifting: three delays put in backwards come out sorted after one jump', () => {
    const { clock, queue } = start();
    queue.addAfter('foo', 1_000);
    queue.addAfter('bar', 500);
    queue.addAfter('baz', 250);
    clock.step(2_000);
    expect(drain(queue)).toEqual(['baz', 'bar', 'foo']);
  });
});

describe.each(implementations)('default_rate_limiters_test, $name', ({ within }) => {
  const when = (limiter: RateLimiter, item: string, count: number) =>
    Array.from({ length: count }, () => limiter.when(item));

  test('TestItemExponentialFailureRateLimiter: 1, 2, 4, 8, 16 ms, Forget resets', () => {
    const limiter = within(() => new ItemExponentialFailureRateLimiter(1, 1_000));
    expect(when(limiter, 'one', 5)).toEqual([1, 2, 4, 8, 16]);
    expect(limiter.numRequeues('one')).toBe(5);
    expect(when(limiter, 'two', 2)).toEqual([1, 2]);
    expect(limiter.numRequeues('two')).toBe(2);
    limiter.forget('one');
    expect(limiter.numRequeues('one')).toBe(0);
    expect(limiter.when('one')).toBe(1);
  });

  test.each([
    ['1000 s', 1_000_000],
    ['1000 h', 3_600_000_000],
  ])(
    'TestItemExponentialFailureRateLimiterOverFlow: a thousand failures stay at %s',
    (_name, max) => {
      const limiter = within(() => new ItemExponentialFailureRateLimiter(1, max));
      expect(Math.max(...when(limiter, 'one', 1_000))).toBe(max);
      expect(limiter.when('one')).toBe(max);
      const minute = within(() => new ItemExponentialFailureRateLimiter(60_000, max));
      expect(when(minute, 'two', 1_000).at(-1)).toBe(max);
    },
  );

  test('TestItemFastSlowRateLimiter: three times fast, then slow', () => {
    const limiter = within(() => new ItemFastSlowRateLimiter(5, 10_000, 3));
    expect(when(limiter, 'one', 5)).toEqual([5, 5, 5, 10_000, 10_000]);
    expect(limiter.numRequeues('one')).toBe(5);
    expect(when(limiter, 'two', 2)).toEqual([5, 5]);
    limiter.forget('one');
    expect(limiter.numRequeues('one')).toBe(0);
    expect(limiter.when('one')).toBe(5);
  });

  test('TestMaxOfRateLimiter: the longest of its limiters, and Forget reaches all', () => {
    const limiter = within(
      () =>
        new MaxOfRateLimiter(
          new ItemFastSlowRateLimiter(5, 3_000, 3),
          new ItemExponentialFailureRateLimiter(1, 1_000),
        ),
    );
    expect(when(limiter, 'one', 5)).toEqual([5, 5, 5, 3_000, 3_000]);
    expect(limiter.numRequeues('one')).toBe(5);
    expect(when(limiter, 'two', 2)).toEqual([5, 5]);
    expect(limiter.numRequeues('two')).toBe(2);
    limiter.forget('one');
    expect(limiter.numRequeues('one')).toBe(0);
    expect(limiter.when('one')).toBe(5);
  });

  test('TestWithMaxWaitRateLimiter: no delay above the maximum', () => {
    const limiter = new WithMaxWaitRateLimiter(
      within(() => new ItemExponentialFailureRateLimiter(1, 1_000_000)),
      1_000,
    );
    expect(Math.max(...when(limiter, 'one', 1_000))).toBe(1_000);
  });
});

describe.each(implementations)('rate_limiting_queue_test, $name', (make) => {
  test('TestRateLimitingQueue: ready at now + When, and Forget resets the next delay', () => {
    const clock = new FakeClock();
    const limiter = make.within(() => new ItemExponentialFailureRateLimiter(1, 1_000));
    const queue = make.rateLimiting(limiter, { clock });
    expect(queue).toBeInstanceOf(RateLimitingQueue);
    queue.addRateLimited('one'); // at 1
    queue.addRateLimited('one'); // would be 2, and the earlier wins
    queue.addRateLimited('two'); // at 1
    expect([queue.numRequeues('one'), queue.numRequeues('two')]).toEqual([2, 1]);
    clock.step(1);
    expect(drain(queue)).toEqual(['one', 'two']);
    queue.addRateLimited('two'); // at 1 + 2
    clock.step(1);
    expect(queue.len()).toBe(0);
    clock.step(1);
    expect(drain(queue)).toEqual(['two']);
    queue.forget('one');
    expect(queue.numRequeues('one')).toBe(0);
    queue.addRateLimited('one');
    clock.step(1);
    expect(drain(queue)).toEqual(['one']);
  });
});

describe.each(implementations)('metrics_test, $name', (make) => {
  test('TestMetrics: exact values on a fake clock', () => {
    const clock = new FakeClock();
    const metricsProvider = new RecordingProvider();
    const queue = make.queue({ name: 'test', clock, metricsProvider });
    const { values } = metricsProvider;
    expect(values).toMatchObject({ adds: 0, depth: 0, latency: [], workDuration: [] });

    queue.add('foo');
    expect(values).toMatchObject({ adds: 1, depth: 1 });
    clock.step(50);
    expect(queue.tryGet()).toBe('foo');
    expect(values).toMatchObject({ depth: 0, latency: [0.05] });

    for (let i = 0; i < 5; i++) queue.add('foo'); // while processing: one more
    expect(values).toMatchObject({ adds: 2, depth: 1 });
    clock.step(25);
    queue.done('foo');
    expect(values).toMatchObject({ workDuration: [0.025], depth: 1 });

    expect(queue.tryGet()).toBe('foo');
    expect(values).toMatchObject({ depth: 0, latency: [0.05, 0.025] });
    clock.step(1_000);
    expect(values).toMatchObject({ unfinished: 1, longest: 1 });
    queue.done('foo');
    expect(values).toMatchObject({ workDuration: [0.025, 1], adds: 2, depth: 0, retries: 0 });
    expect(metricsProvider.lowestDepth).toBe(0);
    expect(metricsProvider.names).toEqual(new Set(['test']));
  });

  test('TestMetricShutdown: no tick after ShutDown', () => {
    const clock = new FakeClock();
    const metricsProvider = new RecordingProvider();
    const queue = make.queue({ name: 'test', clock, metricsProvider });
    queue.add('foo');
    queue.tryGet();
    clock.step(1_000);
    const before = metricsProvider.values.ticks;
    expect(before).toBeGreaterThan(0);
    queue.shutDown();
    expect(clock.timers()).toBe(0);
    clock.step(10_000);
    expect(metricsProvider.values.ticks).toBe(before);
  });
});

describe('parallelizer_test', () => {
  test.each([
    [1_000, 10, undefined],
    [1_000, 10, 1],
    [1_000, 10, 10],
    [1_000, 10, 100],
    [1_000, 10, 999],
    [1_000, 10, 1_000],
    [1_000, 10, 1_001],
    [999, 10, 13],
  ])(
    'TestParallelizeUntil: %i pieces on %i workers in chunks of %s, each exactly once',
    async (pieces, workers, chunkSize) => {
      const seen = new Array<number>(pieces).fill(0);
      await parallelizeUntil(
        workers,
        pieces,
        async (piece) => {
          seen[piece] = (seen[piece] ?? 0) + 1;
          await Promise.resolve();
        },
        { chunkSize },
      );
      expect(seen).toEqual(new Array(pieces).fill(1));
    },
  );
});
