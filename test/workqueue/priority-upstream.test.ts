/**
 * The counterpart of each test of controller-runtime's pkg/controller/priorityqueue
 * (priorityqueue_test.go), under its name, and of the relevant one of pkg/internal/metrics. The
 * assertions are the same; goroutines are async functions here, and time is a FakeClock.
 */
import {
  type AddOptions,
  FakeClock,
  ItemExponentialFailureRateLimiter,
  type PriorityQueue,
  PrometheusProvider,
} from 'capstan/workqueue';
import { afterEach, describe, expect, test } from 'vitest';
import { parseText } from '../helpers/prometheus-text.ts';
import { settle, track } from '../helpers/promise-state.ts';
import { Random, testSeed } from '../helpers/random.ts';
import { implementations } from '../helpers/workqueue/implementations.ts';
import { PriorityProvider } from './recording-priority-metrics.ts';

const seed = testSeed();
console.log(`test/workqueue/priority-upstream.test.ts: CAPSTAN_SEED=${seed}`);

describe.each(implementations)('priorityqueue_test, $name', (make) => {
  const open: PriorityQueue[] = [];
  afterEach(() => {
    for (const queue of open.splice(0)) queue.dispose();
  });

  function newQueue() {
    const metrics = new PriorityProvider();
    const clock = new FakeClock();
    const limiter = make.within(() => new ItemExponentialFailureRateLimiter(5, 1_000_000));
    const queue = make.priority(limiter, { name: 'test', metricsProvider: metrics, clock });
    open.push(queue);
    const depth = () => Object.fromEntries(metrics.depth);
    const told = () => ({
      depth: depth(),
      adds: metrics.values.adds,
      retries: metrics.values.retries,
    });
    /** The key and priority that a get returns at once. */
    const get = async (): Promise<[string | undefined, number]> => {
      const { item, priority } = await queue.getWithPriority();
      return [item, priority];
    };
    return { queue, metrics, clock, limiter, depth, told, get };
  }

  test('returns an item', async () => {
    const { queue, get, told } = newQueue();
    queue.addWithOpts({}, 'foo');
    expect(await get()).toEqual(['foo', 0]);
    expect(told()).toEqual({ depth: { 0: 0 }, adds: 1, retries: 0 });
  });

  test('returns items in order', async () => {
    const { queue, get, told } = newQueue();
    queue.addWithOpts({}, 'foo');
    queue.addWithOpts({}, 'bar');
    expect(await get()).toEqual(['foo', 0]);
    expect(await get()).toEqual(['bar', 0]);
    expect(told()).toEqual({ depth: { 0: 0 }, adds: 2, retries: 0 });
  });

  test("doesn't return an item that is currently locked", async () => {
    const { queue, get, told } = newQueue();
    queue.addWithOpts({}, 'foo');
    expect(await get()).toEqual(['foo', 0]);
    queue.addWithOpts({}, 'foo');
    queue.addWithOpts({}, 'bar');
    expect(await get()).toEqual(['bar', 0]);
    expect(told()).toEqual({ depth: { 0: 1 }, adds: 3, retries: 0 });
  });

  test('returns an item as soon as its unlocked', async () => {
    const { queue, get, told } = newQueue();
    queue.addWithOpts({}, 'foo');
    expect(await get()).toEqual(['foo', 0]);
    queue.addWithOpts({}, 'foo');
    queue.addWithOpts({}, 'bar');
    expect(await get()).toEqual(['bar', 0]);
    queue.addWithOpts({}, 'baz');
    queue.done('foo');
    expect(await get()).toEqual(['foo', 0]);
    expect(told()).toEqual({ depth: { 0: 1 }, adds: 4, retries: 0 });
  });

  test('de-duplicates items', () => {
    const { queue, told } = newQueue();
    queue.addWithOpts({}, 'foo');
    queue.addWithOpts({}, 'foo');
    expect(queue.len()).toBe(1);
    expect(queue.snapshot().keys).toMatchObject([{ item: 'foo', state: 'ready' }]);
    expect(told()).toEqual({ depth: { 0: 1 }, adds: 1, retries: 0 });
  });

  test('enqueues a locked item', async () => {
    const { queue, get, told } = newQueue();
    queue.addWithOpts({}, 'foo');
    expect(queue.len()).toBe(1);
    expect(await get()).toEqual(['foo', 0]);
    queue.addWithOpts({}, 'foo');
    expect(queue.len()).toBe(1);
    queue.done('foo');
    expect(await get()).toEqual(['foo', 0]);
    expect(told()).toEqual({ depth: { 0: 0 }, adds: 2, retries: 0 });
  });

  test('retains the highest priority', async () => {
    const { queue, get, told } = newQueue();
    queue.addWithOpts({ priority: 1 }, 'foo');
    queue.addWithOpts({ priority: 2 }, 'foo');
    expect(await get()).toEqual(['foo', 2]);
    expect(queue.len()).toBe(0);
    expect(told()).toEqual({ depth: { 1: 0, 2: 0 }, adds: 1, retries: 0 });
  });

  test('will not decrease the priority', async () => {
    const { queue, get, told } = newQueue();
    queue.addWithOpts({ priority: 2 }, 'foo');
    queue.addWithOpts({ priority: 1 }, 'foo');
    expect(await get()).toEqual(['foo', 2]);
    expect(queue.len()).toBe(0);
    expect(told()).toEqual({ depth: { 2: 0 }, adds: 1, retries: 0 });
  });

  test('gets pushed to the front if the priority increases', async () => {
    const { queue, get, told } = newQueue();
    for (const key of ['foo', 'bar', 'baz']) queue.addWithOpts({}, key);
    queue.addWithOpts({ priority: 1 }, 'baz');
    expect(await get()).toEqual(['baz', 1]);
    expect(queue.len()).toBe(2);
    expect(told()).toEqual({ depth: { 0: 2, 1: 0 }, adds: 3, retries: 0 });
  });

  test('retains the lowest after duration', async () => {
    const { queue, get, depth, metrics } = newQueue();
    queue.addWithOpts({ after: 0 }, 'foo');
    queue.addWithOpts({ after: 3_600_000 }, 'foo');
    expect(await get()).toEqual(['foo', 0]);
    expect(queue.len()).toBe(0);
    expect([depth(), metrics.values.adds]).toEqual([{ 0: 0 }, 1]);
  });

  test("doesn't include non-ready items in Len()", () => {
    const { queue, depth } = newQueue();
    queue.addWithOpts({ after: 60_000 }, 'foo');
    queue.addWithOpts({}, 'baz');
    queue.addWithOpts({ after: 60_000 }, 'bar');
    queue.addWithOpts({}, 'bal');
    expect(queue.len()).toBe(2);
    expect(depth()).toEqual({ 0: 2 });
  });

  test('Get from priority queue might get stuck when the priority queue is shut down', async () => {
    const { queue } = newQueue();
    queue.add('baz');
    queue.shutDown();
    queue.addWithOpts({ after: 1_000 }, 'foo');
    for (let i = 0; i < 2; i++)
      expect(await queue.getWithPriority()).toEqual({
        item: undefined,
        priority: 0,
        shutdown: true,
      });
  });

  test('returns many items', async () => {
    const { queue, clock } = newQueue();
    const random = new Random(seed);
    for (let round = 0; round < 20; round++) {
      for (let i = 0; i < 1_000; i++) {
        const n = random.int(100);
        queue.addWithOpts(n < 10 ? { after: n } : { priority: n }, `foo${i}`);
      }
      const worker = async () => {
        for (let i = 0; i < 10; i++) {
          const { item } = await queue.getWithPriority();
          queue.done(item as string);
        }
      };
      const workers = Promise.all(Array.from({ length: 100 }, worker));
      await settle();
      clock.step(10);
      await workers;
    }
    expect(queue.len()).toBe(0);
  });

  test('updates metrics correctly for an item that gets initially added with after…', async () => {
    const { queue, depth } = newQueue();
    queue.addWithOpts({ after: 3_600_000 }, 'foo');
    expect([queue.len(), depth()]).toEqual([0, {}]);
    queue.addWithOpts({}, 'foo');
    expect([queue.len(), depth()]).toEqual([1, { 0: 1 }]);
    expect(await queue.get()).toEqual({ item: 'foo', shutdown: false });
    expect([queue.len(), depth()]).toEqual([0, { 0: 0 }]);
  });

  test('updates metrics correctly when an item with after is re-added…', async () => {
    const { queue, get, depth } = newQueue();
    queue.addWithOpts({ after: 3_600_000, priority: 0 }, 'foo');
    expect([queue.len(), depth()]).toEqual([0, {}]);
    queue.addWithOpts({ priority: 1 }, 'foo');
    expect([queue.len(), depth()]).toEqual([1, { 1: 1 }]);
    expect(await get()).toEqual(['foo', 1]);
    expect([queue.len(), depth()]).toEqual([0, { 1: 0 }]);
  });

  test('follows FIFO order in the new priority queue when item priority changes', async () => {
    const { queue, get } = newQueue();
    queue.addWithOpts({ priority: 0 }, 'foo');
    queue.addWithOpts({ priority: 1 }, 'bar');
    queue.addWithOpts({ priority: 1 }, 'foo');
    expect(queue.len()).toBe(2);
    expect(await get()).toEqual(['bar', 1]);
    expect(queue.len()).toBe(1);
    expect(await get()).toEqual(['foo', 1]);
    expect(queue.len()).toBe(0);
  });

  test('TestFuzzPriorityQueue: never twice, highest priority, no depth below 0', async () => {
    const { queue, clock, metrics } = newQueue();
    const random = new Random(seed + 1);
    const inQueue = new Map<string, number>();
    const handedOut = new Set<string>();
    const produce = async () => {
      for (let i = 0; i < 1_000; i++) {
        const item = `item-${random.int(2_000)}`;
        const priority = random.chance(0.5) ? random.int(2 ** 32) - 2 ** 31 : undefined;
        const after = random.chance(0.3) ? random.int(100) : undefined;
        inQueue.set(item, Math.max(inQueue.get(item) ?? Number.NEGATIVE_INFINITY, priority ?? 0));
        queue.addWithOpts(
          { ...(after !== undefined && { after }), ...(priority !== undefined && { priority }) },
          item,
        );
        if (random.chance(0.1)) await Promise.resolve();
      }
    };
    let taken = 0;
    const consume = async () => {
      for (;;) {
        const got = await queue.getWithPriority();
        if (got.shutdown) return;
        expect(handedOut.has(got.item)).toBe(false);
        handedOut.add(got.item);
        expect(got.priority, `${got.item}, seed ${seed}`).toBe(expected.get(got.item));
        taken++;
        await Promise.resolve();
        expect(metrics.lowest).toBe(0);
        handedOut.delete(got.item);
        queue.done(got.item);
      }
    };
    // The priority of a hand-out is that of its moment: it is recorded when the depth is reported,
    // before the get resumes.
    const expected = new Map<string, number>();
    const next = queue.take.bind(queue);
    queue.take = () => {
      const item = next();
      if (item !== undefined) {
        expected.set(item, inQueue.get(item) as number);
        inQueue.delete(item);
      }
      return item;
    };
    const consumers = Promise.all(Array.from({ length: 100 }, consume));
    await Promise.all(Array.from({ length: 10 }, produce));
    await clock.run(100);
    expect(inQueue.size).toBe(0);
    queue.shutDown();
    await consumers;
    expect(taken).toBeGreaterThan(2_000);
  });

  test.each([-1_000, 0, 1_000])(
    'TestHighPriorityItemsAreReturnedBeforeLowPriorityItemMultipleTimes (after %d ms)',
    async (after) => {
      const { queue, clock, get, told } = newQueue();
      const levels: [string, number][] = [
        ['high', 10],
        ['upperMiddle', 5],
        ['middle', 0],
        ['lowMiddle', -5],
        ['low', -10],
      ];
      for (let i = 0; i < 1_000; i++)
        for (const [name, priority] of levels)
          queue.addWithOpts({ priority, after }, `${name}-${i}`);
      if (after > 0) clock.step(after);
      for (const [name, priority] of levels)
        for (let i = 0; i < 1_000; i++) expect(await get()).toEqual([`${name}-${i}`, priority]);
      expect(told()).toEqual({
        depth: { '-10': 0, '-5': 0, 0: 0, 5: 0, 10: 0 },
        adds: 5_000,
        retries: after > 0 ? 5_000 : 0,
      });
    },
  );

  test('TestItemIsOnlyReturnedAfterAfterHasPassed', async () => {
    const { queue, clock, told } = newQueue();
    const got = track(queue.getWithPriority());
    queue.addWithOpts({ after: 1_000 }, 'foo');
    await settle();
    clock.step(999);
    await settle();
    expect(got.state).toBe('pending');
    clock.step(1);
    await settle();
    expect(got.value?.item).toBe('foo');
    expect(told()).toEqual({ depth: { 0: 0 }, adds: 1, retries: 1 });
  });

  test('TestHighPriorityItemThatBecameReadyIsReturnedBeforeLowPriorityItem', async () => {
    const { queue, clock, get, told } = newQueue();
    queue.addWithOpts({ after: 0, priority: -100 }, 'foo');
    queue.addWithOpts({ after: 1_000, priority: 0 }, 'prio');
    clock.step(1_000);
    expect(await get()).toEqual(['prio', 0]);
    expect(told()).toEqual({ depth: { '-100': 1, 0: 0 }, adds: 2, retries: 1 });
  });

  test('TestItemIsReturnedAsSoonAsPossible', async () => {
    const { queue, told } = newQueue();
    const got = track(queue.getWithPriority());
    await settle();
    queue.addWithOpts({}, 'foo');
    await settle();
    expect(got.value?.item).toBe('foo');
    expect(told()).toEqual({ depth: { 0: 0 }, adds: 1, retries: 0 });
  });

  test('TestWaitingItemIsReturnedRightAfterReadWithoutAfter', async () => {
    const { queue, told } = newQueue();
    const got = track(queue.getWithPriority());
    queue.addWithOpts({ after: 60_000 }, 'foo');
    await settle();
    expect(got.state).toBe('pending');
    queue.addWithOpts({}, 'foo');
    await settle();
    expect(got.value?.item).toBe('foo');
    expect(told()).toEqual({ depth: { 0: 0 }, adds: 1, retries: 1 });
  });

  test('TestMultipleItemsWithAfterAreReturnedInCorrectOrder', async () => {
    const { queue, clock, told } = newQueue();
    const [first, second] = [track(queue.getWithPriority()), track(queue.getWithPriority())];
    queue.addWithOpts({ after: 1_000 }, 'foo');
    queue.addWithOpts({ after: 200 }, 'bar');
    await settle();
    expect(first.state).toBe('pending');
    clock.step(1_000);
    await settle();
    expect([first.value?.item, second.value?.item]).toEqual(['bar', 'foo']);
    expect(told()).toEqual({ depth: { 0: 0 }, adds: 2, retries: 2 });
  });

  test('TestGetFromPriorityQueueIsUnblockedOnShutdown', async () => {
    const { queue } = newQueue();
    const got = track(queue.getWithPriority());
    await settle();
    expect(got.state).toBe('pending');
    queue.shutDown();
    await settle();
    expect(got.value).toEqual({ item: undefined, priority: 0, shutdown: true });
  });

  test('TestItemsAreInludedInLenAndMetricsOnceTheyAreReady', async () => {
    const { queue, clock, depth } = newQueue();
    for (let round = 0; round < 2; round++) {
      queue.addWithOpts({ after: 500 }, 'foo');
      queue.addWithOpts({}, 'baz');
      queue.addWithOpts({ after: 500 }, 'bar');
      queue.addWithOpts({}, 'bal');
      expect([queue.len(), depth()]).toEqual([2, { 0: 2 }]);
      clock.step(1_000);
      expect([queue.len(), depth()]).toEqual([4, { 0: 4 }]);
      for (let i = 0; i < 4; i++) queue.done((await queue.get()).item as string);
      expect([queue.len(), depth()]).toEqual([0, { 0: 0 }]);
    }
  });

  test('TestMetricsAreUpdatedForItemWhoseRequeueAfterExpired…', async () => {
    const { queue, clock, depth, metrics } = newQueue();
    queue.addWithOpts({ after: 50 }, 'foo');
    clock.step(50);
    expect([queue.len(), depth()]).toEqual([1, { 0: 1 }]);
    queue.addWithOpts({}, 'foo');
    expect([queue.len(), depth()]).toEqual([1, { 0: 1 }]);
    expect(await queue.get()).toEqual({ item: 'foo', shutdown: false });
    expect([queue.len(), depth(), metrics.values.adds]).toEqual([0, { 0: 0 }, 1]);
  });

  test('TestWhenAddingMultipleItemsWithRatelimitTrueTheyDontAffectEachOther', async () => {
    const { queue, clock, limiter, told } = newQueue();
    const [first, second] = [track(queue.getWithPriority()), track(queue.getWithPriority())];
    for (let i = 0; i < 7; i++) limiter.when('bar'); // the next one is 640 ms
    queue.addWithOpts({ rateLimited: true }, 'foo', 'bar');
    await settle();
    expect(first.state).toBe('pending');
    clock.step(5);
    await settle();
    expect([first.value?.item, second.state]).toEqual(['foo', 'pending']);
    clock.step(635);
    await settle();
    expect(second.value?.item).toBe('bar');
    expect(told()).toEqual({ depth: { 0: 0 }, adds: 2, retries: 2 });
  });

  test('TestPriorityQueueDoesNotDeadlockOnShutdownWhileHandingOutItems', async () => {
    const random = new Random(seed + 2);
    for (let round = 0; round < 50; round++) {
      const queue = make.priority();
      const work = async () => {
        for (;;) {
          const options: AddOptions = { priority: random.int(100) };
          queue.addWithOpts(options, String(random.int(1_000)));
          if ((await queue.getWithPriority()).shutdown) return;
        }
      };
      const workers = Promise.all(Array.from({ length: 20 }, work));
      for (let turn = 0; turn < random.int(60); turn++) await Promise.resolve();
      queue.shutDown();
      await workers;
      queue.dispose();
    }
  });

  test('same priority many adds does not trigger cardinality limit', () => {
    const metricsProvider = new PrometheusProvider({ flavor: 'controller-runtime' });
    const queue = make.priority(undefined, {
      name: 'test',
      metricsProvider,
      clock: new FakeClock(),
    });
    open.push(queue);
    const depth = () =>
      parseText(metricsProvider.text())
        .get('workqueue_depth')
        ?.samples.map(({ labels, value }) => [labels.priority, value]);
    for (let i = 0; i < 50; i++) queue.addWithOpts({ priority: 7 }, `key-${i}`);
    expect(depth()).toEqual([
      ['0', 0],
      ['7', 50],
    ]);
    for (let i = 0; i < 25; i++) queue.addWithOpts({ priority: i }, `other-${i}`);
    expect(depth()).toHaveLength(25);
    queue.addWithOpts({ priority: -1 }, 'one more');
    expect(depth()).toEqual([['exceeded_cardinality_limit', 76]]);
  });
});
