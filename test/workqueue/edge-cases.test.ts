/**
 * User code that misbehaves (getters, clocks, metrics, signals), and its effect on calls that it
 * does not concern. Each test is of a past bug.
 */
import {
  DelayingQueue,
  FakeClock,
  ItemExponentialFailureRateLimiter,
  PriorityQueue,
  PrometheusProvider,
  parallelizeUntil,
  RateLimitingQueue,
  type Request,
  requestKey,
  runUntil,
  WorkQueue,
} from 'capstan/workqueue';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { CacheCore } from '../../bindings/wasm/cache-core.ts';
import { type Core, sharedCore } from '../../bindings/wasm/core.ts';
import { HASHINGS, setHashing } from '../../bindings/wasm/hashes.ts';
import { IndexMap } from '../../bindings/wasm/index-map.ts';
import { expectError } from '../helpers/expect-error.ts';
import { collectErrorValues } from '../helpers/reported-errors.ts';
import { drain } from '../helpers/workqueue/queue-items.ts';
import { RecordingProvider } from '../helpers/workqueue/recording-metrics.ts';
import { PriorityProvider } from './recording-priority-metrics.ts';

const reported = collectErrorValues();
afterEach(() => setHashing(undefined));

function poison(core: Core): void {
  core.trapped(new WebAssembly.RuntimeError('unreachable'));
}

/** What a queue with `inner` answers itself: its end, its own delays, and what calls the rest. */
const OF_OUTER = [
  ...['constructor', 'kind', 'addAll', 'admit', 'next', 'take', 'takeSlot', 'taken', 'serve'],
  ...['finished', 'released', 'shutDown', 'shutDownWithDrain', 'snapshot', 'describe', 'dispose'],
  ...['giveUp', 'isDisposed', 'hasWaiting', 'poisoned', 'checkAlive', 'guarded', 'slotOf'],
  ...['stateOf', 'knows', 'depth', 'now', Symbol.asyncIterator, Symbol.dispose],
];

// Forgotten in FORWARDED, a method would answer for the outer queue, which has no ready items.
test('each method of a queue with inner is the inner one, or listed as its own', () => {
  const outer = new WorkQueue({ inner: new WorkQueue() });
  const own = Reflect.ownKeys(WorkQueue.prototype).filter((name) => !Object.hasOwn(outer, name));
  expect(own.sort(byText)).toEqual([...OF_OUTER].sort(byText));
});

const byText = (a: string | symbol, b: string | symbol): number => (String(a) < String(b) ? -1 : 1);

describe.each(HASHINGS)('items that cannot be read, keys by %s', (hashing) => {
  // An item's error was taken for a trap, and every queue of the process was poisoned.
  test('are a typed error with the cause, and affect no other queue', () => {
    setHashing(hashing);
    const other = new WorkQueue();
    other.add('safe');
    const cause = new Error('getter');
    const requests = new WorkQueue<Request>({ key: requestKey });
    const hostile = {
      namespace: 'a',
      get name(): string {
        throw cause;
      },
    };
    expect(expectError(() => requests.add(hostile), 'INVALID_ARGUMENT').cause).toBe(cause);
    let reads = 0;
    const fickle = {
      namespace: 'a',
      get name(): string {
        return reads++ === 0 ? 'first' : (undefined as unknown as string);
      },
    };
    requests.add(fickle);
    expect(reads).toBe(1);
    const shown = JSON.parse('{"constructor":{"name":{"toString":1,"valueOf":1}}}');
    expectError(() => other.add(shown), 'INVALID_ARGUMENT');
    const timed = new WorkQueue({
      name: 'timed',
      metricsProvider: new PrometheusProvider(),
      clock: {
        ...new FakeClock(),
        now: () => 1n as unknown as number,
        setTimer: () => 0,
        clearTimer: () => {},
      },
    });
    expectError(() => timed.add('a'), 'INVALID_ARGUMENT');
    expect(drain(other)).toEqual(['safe']);
  });

  test('a key function is called once for a new item', () => {
    setHashing(hashing);
    let calls = 0;
    const queue = new WorkQueue<{ id: string }>({
      key: (item) => {
        calls++;
        return item.id;
      },
    });
    queue.add({ id: 'a' });
    expect(calls).toBe(1);
  });
});

describe('delays', () => {
  test('on a poisoned instance are dropped: no timer fires later', () => {
    const clock = new FakeClock();
    const queue = new DelayingQueue({ clock });
    queue.addAfter('a', 5);
    poison(sharedCore());
    expect(clock.timers()).toBe(0);
    clock.step(100);
    expect(reported).toEqual([]);
  });

  test('whose inner queue is disposed of are dropped without an error', () => {
    const clock = new FakeClock();
    const inner = new WorkQueue();
    const queue = new DelayingQueue({ clock, inner });
    queue.addAfter('a', 5);
    inner.dispose();
    expect(clock.timers()).toBe(0);
    clock.step(10);
    expect(reported).toEqual([]);
  });

  test('that end while there is no memory are retried', () => {
    const clock = new FakeClock();
    const inner = new WorkQueue();
    const queue = new DelayingQueue({ clock, inner });
    queue.addAfter('a', 5);
    const core = sharedCore();
    let refusals = 0;
    const add = inner.add.bind(inner);
    inner.add = (item) => {
      if (refusals++ === 0) throw core.outOfMemory();
      add(item);
    };
    clock.step(10);
    expect(inner.len()).toBe(0);
    clock.step(2_000);
    expect(drain(inner)).toEqual(['a']);
    expect(reported).toEqual([expect.objectContaining({ code: 'OUT_OF_MEMORY' })]);
  });
});

describe('a queue around another', () => {
  // With 'drop' a full inner queue reported nothing: a failed item that was due again was lost.
  test.each(['error', 'drop'] as const)(
    'that is full (%s) loses no due item, and counts none as rejected',
    (whenFull) => {
      const clock = new FakeClock();
      const inner = new DelayingQueue({ inner: new WorkQueue({ clock, maxDepth: 1, whenFull }) });
      const queue = new RateLimitingQueue(new ItemExponentialFailureRateLimiter(5, 1000), {
        clock,
        inner,
      });
      for (const item of ['retry', 'second', 'third']) queue.addAfter(item, 5);
      inner.add('other');
      clock.step(5);
      for (let second = 0; second < 60; second++) clock.step(1000);
      expect([queue.waiting(), queue.droppedAdds()]).toEqual([3, 0]);
      // once, not each second for each
      expect(reported).toEqual([expect.objectContaining({ code: 'QUEUE_FULL' })]);
      expect(drain(queue)).toEqual(['other']);
      clock.step(1000);
      expect(drain(queue)).toEqual(['retry']);
      expect(reported).toHaveLength(2);
    },
  );

  test('is not full for items of the inner queue, nor after shutdown', () => {
    const clock = new FakeClock();
    const inner = new WorkQueue({ clock, maxDepth: 1 });
    const queue = new DelayingQueue({ clock, inner });
    for (const item of ['a', 'b']) queue.addAfter(item, 5);
    inner.add('a');
    inner.tryGet();
    inner.add('b');
    inner.shutDown();
    clock.step(5);
    expect(reported).toEqual([]);
  });

  test('that was disposed of rejects everything, although the inner one lives', async () => {
    const inner = new WorkQueue();
    const queue = new DelayingQueue({ inner });
    queue.dispose();
    for (const call of [
      () => queue.add('a'),
      () => queue.len(),
      () => queue.tryGet(),
      () => queue.done('a'),
      () => queue.addAfter('a', 1),
    ]) {
      expectError(call, 'DISPOSED');
    }
    await expect(queue.get()).rejects.toMatchObject({ code: 'DISPOSED' });
  });

  test('has only the retries metric; a plain queue has all others', () => {
    const metricsProvider = new PrometheusProvider();
    const queue = new DelayingQueue({ inner: new WorkQueue(), name: 'outer', metricsProvider });
    expect(metricsProvider.text().match(/^# TYPE \S+/gm)).toEqual([
      '# TYPE workqueue_retries_total',
    ]);
    queue.dispose();
    const plain = new PrometheusProvider();
    new WorkQueue({ name: 'plain', metricsProvider: plain }).add('a');
    expect(plain.text()).not.toContain('retries');
  });

  test('with a metric that throws loses no item', () => {
    const inc = () => {
      throw new Error('metric');
    };
    const metricsProvider = {
      ...new PrometheusProvider(),
      newRetriesMetric: () => ({ inc }),
    } as unknown as PrometheusProvider;
    const queue = new DelayingQueue({ inner: new WorkQueue(), name: 'outer', metricsProvider });
    queue.addAfter('a', 0);
    expect(queue.len()).toBe(1);
    expect(reported).toHaveLength(1);
    expectError(
      () =>
        new DelayingQueue({
          inner: new WorkQueue(),
          name: 'x',
          metricsProvider: {} as PrometheusProvider,
        }),
      'INVALID_ARGUMENT',
    );
  });
});

test('a disposed rate limiting queue counts no failure and frees its limiter', () => {
  const core = sharedCore();
  const fill = () => {
    for (let i = 0; i < 50; i++) {
      const queue = new RateLimitingQueue();
      for (let k = 0; k < 400; k++) queue.addRateLimited(`key-${k}`);
      queue.dispose();
      for (const call of [
        () => queue.addRateLimited('a'),
        () => queue.forget('a'),
        () => queue.numRequeues('a'),
      ])
        expectError(call, 'DISPOSED');
    }
  };
  fill();
  const pages = core.exports.memoryPages();
  for (let round = 0; round < 4; round++) fill();
  expect(core.exports.memoryPages()).toBe(pages);
});

test('a rejected delayed add is no retry', () => {
  const metricsProvider = new PrometheusProvider();
  const queue = new DelayingQueue({ name: 'q', metricsProvider });
  expectError(() => queue.addAfter(5 as unknown as string, 10), 'INVALID_ARGUMENT');
  expect(metricsProvider.text()).toContain('workqueue_retries_total{name="q"} 0');
});

test('a metric that adds the item that is being done loses nothing', () => {
  const provider = new PrometheusProvider();
  const queue: WorkQueue = new WorkQueue({
    name: 'q',
    metricsProvider: {
      newDepthMetric: (name: string) => provider.newDepthMetric(name),
      newAddsMetric: (name: string) => provider.newAddsMetric(name),
      newLatencyMetric: (name: string) => provider.newLatencyMetric(name),
      newWorkDurationMetric: () => ({ observe: () => queue.add('a') }),
      newUnfinishedWorkSecondsMetric: (name: string) =>
        provider.newUnfinishedWorkSecondsMetric(name),
      newLongestRunningProcessorSecondsMetric: (name: string) =>
        provider.newLongestRunningProcessorSecondsMetric(name),
      newRetriesMetric: (name: string) => provider.newRetriesMetric(name),
    },
  });
  queue.add('a');
  queue.done(queue.tryGet() as string);
  expect(queue.tryGet()).toBe('a');
  queue.shutDown();
});

test('a signal without removeEventListener is rejected at once', async () => {
  const queue = new WorkQueue();
  const signal = { aborted: false, addEventListener: () => {} } as unknown as AbortSignal;
  await expect(queue.get({ signal })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
});

test('parallelizeUntil stops within a chunk when its signal fires, as client-go', async () => {
  const ran: number[] = [];
  const stop = new AbortController();
  await parallelizeUntil(
    1,
    10,
    (piece) => {
      ran.push(piece);
      if (piece === 1) stop.abort();
    },
    { signal: stop.signal, chunkSize: 5 },
  );
  expect(ran).toEqual([0, 1]);
});

test("runUntil reports a worker's error at the end, unless it is the abort", async () => {
  const stop = new AbortController();
  await runUntil(
    () => {
      stop.abort();
      throw new Error('corrupt');
    },
    1,
    { signal: stop.signal },
  );
  expect(reported).toEqual([new Error('corrupt')]);
});

test('index values are read once, whatever the array returns', () => {
  const index = new IndexMap(new CacheCore());
  const liar = ['a'];
  liar[Symbol.iterator] = function* () {
    for (let i = 0; i < 5_000; i++) yield `value-${i}`;
    return undefined;
  };
  index.set(0, liar);
  expect(index.values()).toHaveLength(5_000);
  index.dispose();
});

describe('FakeClock', () => {
  test('never runs backwards', async () => {
    const clock = new FakeClock();
    const running = clock.run(10);
    clock.step(100);
    await running;
    expect(clock.now()).toBe(100);
  });

  test('lets long promise chains finish before time moves on', async () => {
    const clock = new FakeClock();
    const log: number[] = [];
    clock.setTimer(async () => {
      for (let i = 0; i < 12; i++) await new Promise((resolve) => setImmediate(resolve));
      clock.setTimer(() => log.push(clock.now()), 10);
    }, 10);
    await clock.run(100);
    expect(log).toEqual([20]);
  });

  test('accepts only numbers and functions', () => {
    const clock = new FakeClock(1);
    for (const wrong of ['5', 1n, Number.NaN, -1, Number.POSITIVE_INFINITY]) {
      expectError(() => clock.step(wrong as number), 'INVALID_ARGUMENT');
    }
    expectError(() => clock.setTimer(() => {}, Number.NaN), 'INVALID_ARGUMENT');
    expectError(() => clock.setTimer(5 as unknown as () => void, 0), 'INVALID_ARGUMENT');
  });
});

test('a metric that takes another item does not change getWithPriority', async () => {
  // The core keeps the priority of the item that was handed out last; it was read after the metrics
  // were called.
  const other = new PriorityQueue();
  other.addWithOpts({ priority: 99 }, 'other');
  const metricsProvider = new PriorityProvider();
  metricsProvider.newLatencyMetric = () => ({ observe: () => void other.tryGet() });
  const queue = new PriorityQueue(undefined, {
    name: 'q',
    clock: new FakeClock(),
    metricsProvider,
  });
  queue.addWithOpts({ priority: 5 }, 'a');
  expect(await queue.getWithPriority()).toEqual({ item: 'a', shutdown: false, priority: 5 });
  expect(other.len()).toBe(0);
});

describe('a clock that throws where only the metrics need it', () => {
  function start() {
    const clock = new FakeClock();
    const metricsProvider = new RecordingProvider();
    const queue = new WorkQueue({ name: 'q', clock, metricsProvider });
    queue.add('a');
    // Otherwise the collector would end the queue, with the clock that throws, during another file.
    onTestFinished(() => {
      delete (clock as Partial<FakeClock>).clearTimer;
      queue.dispose();
    });
    return { clock, metricsProvider, queue };
  }
  const fail = (): never => {
    throw new Error('no time');
  };

  // The item was taken by then: get() threw, and the item was lost.
  test('loses no item', async () => {
    const { clock, queue } = start();
    clock.setTimer = fail;
    expect(await queue.get()).toEqual({ item: 'a', shutdown: false });
    expect(reported).toMatchObject([{ message: 'no time' }]);
  });

  // Nothing catches the error of a timer: it ended the process.
  test('is reported from the timer, which continues', () => {
    const { clock, metricsProvider, queue } = start();
    queue.tryGet();
    const now = clock.now.bind(clock);
    let failures = 1;
    clock.now = () => (failures-- > 0 ? fail() : now());
    clock.step(500);
    expect(reported).toMatchObject([{ message: 'no time' }]);
    clock.step(500);
    expect(metricsProvider.values.unfinished).toBe(1);
  });

  // shutDown() ended between the flag and the gets, and a second call had no effect.
  test('does not keep gets from ending at a shutdown', async () => {
    const { clock, queue } = start();
    queue.tryGet();
    const waits = queue.get();
    clock.clearTimer = fail;
    queue.shutDown();
    expect(await waits).toEqual({ item: undefined, shutdown: true });
  });
});

test.each([DelayingQueue, PriorityQueue])(
  'a metric that disposes of the queue while delays fire is no error (%o)',
  (Queue) => {
    // The next delay was read from the disposed queue, and that was reported as an error.
    const clock = new FakeClock();
    const metricsProvider =
      Queue === PriorityQueue ? new PriorityProvider() : new RecordingProvider();
    metricsProvider.newAddsMetric = () => ({ inc: () => void queue.dispose() });
    const options = { clock, name: 'q', metricsProvider };
    const queue =
      Queue === PriorityQueue ? new PriorityQueue(undefined, options) : new DelayingQueue(options);
    queue.addAfter('a', 5);
    queue.addAfter('b', 5);
    clock.step(5);
    expect(reported).toEqual([]);
    expectError(() => queue.add('c'), 'DISPOSED');
  },
);
