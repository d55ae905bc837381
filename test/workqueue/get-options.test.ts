/**
 * What controllers need of a queue: the option `taken` of get(), called when an item is handed out,
 * and the number of waiting items.
 */
import {
  DelayingQueue,
  FakeClock,
  PriorityQueue,
  RateLimitingQueue,
  WorkQueue,
} from 'capstan/workqueue';
import { expect, test } from 'vitest';
import { RecordingProvider } from '../helpers/workqueue/recording-metrics.ts';

const clock = new FakeClock();

test.each([
  ['a work queue', () => new WorkQueue()],
  ['a queue that wraps one', () => new DelayingQueue({ inner: new WorkQueue() })],
  ['a rate limiting queue', () => new RateLimitingQueue(undefined, { clock })],
  ['a priority queue', () => new PriorityQueue(undefined, { clock })],
])('%s reports an item before another can be added', async (_, make) => {
  const queue = make();
  const log: string[] = [];
  const waiting = queue.get({ taken: (item) => log.push(`taken ${item}`) });
  queue.add('a');
  log.push('added again');
  queue.add('a');
  expect(log).toEqual(['taken a', 'added again']);
  expect(await waiting).toEqual({ item: 'a', shutdown: false });
  queue.done('a');
  await queue.get({ taken: (item) => log.push(`taken ${item}`) });
  expect(log.at(-1)).toBe('taken a');
  queue.dispose();
});

// The add() that readied the item threw, and the get() never ended.
test('an error of `taken` rejects its own get(), and nothing else', async () => {
  const queue = new WorkQueue();
  const mine = new Error('mine');
  const failing = queue.get({
    taken: () => {
      throw mine;
    },
  });
  const other = queue.get();
  queue.add('a');
  queue.add('b');
  await expect(failing).rejects.toBe(mine);
  expect(await other).toEqual({ item: 'b', shutdown: false });
  queue.done('a'); // it was handed out
  queue.dispose();
});

test('metrics get the waiting time of each item, whatever `taken` takes or ends', async () => {
  const clock = new FakeClock();
  const metricsProvider = new RecordingProvider();
  const queue = new WorkQueue({ name: 'times', clock, metricsProvider });
  queue.add('slow');
  clock.step(10_000);
  queue.add('fast');
  await queue.get({ taken: () => void queue.tryGet() });
  expect(metricsProvider.values.latency).toEqual([0, 10]);
  queue.add('ready');
  const throwing = { taken: () => void JSON.parse('') };
  await expect(queue.get(throwing)).rejects.toThrow(SyntaxError);
  expect([metricsProvider.values.depth, metricsProvider.values.latency.pop()]).toEqual([0, 0]);
  const last = queue.get({ taken: () => queue.dispose() });
  queue.add('last');
  expect(await last).toEqual({ item: 'last', shutdown: false });
  expect(metricsProvider.values.latency).toEqual([0, 10, 0]);
  expect(clock.timers()).toBe(0);
});

test('getWithPriority calls it too, and a shutdown does not', async () => {
  const queue = new PriorityQueue(undefined, { clock });
  const received: string[] = [];
  const options = { taken: (item: string) => void received.push(item) };
  const waiting = queue.getWithPriority(options);
  queue.addWithOpts({ priority: 7 }, 'a');
  expect(received).toEqual(['a']);
  expect(await waiting).toEqual({ item: 'a', shutdown: false, priority: 7 });
  const last = queue.getWithPriority(options);
  queue.shutDown();
  expect(await last).toEqual({ item: undefined, shutdown: true, priority: 0 });
  expect(received).toEqual(['a']);
  queue.dispose();
});

test('a queue counts items that wait for a delay, also ready ones', () => {
  const queues: DelayingQueue[] = [
    new DelayingQueue({ clock }),
    new RateLimitingQueue(undefined, { inner: new DelayingQueue({ clock }) }),
    new PriorityQueue(undefined, { clock }),
  ];
  for (const queue of queues) {
    for (const item of ['a', 'b', 'c']) queue.addAfter(item, 1000);
    expect(queue.waiting()).toBe(3);
    queue.cancel('a');
    queue.add('b');
    // there an item is ready or waits, never both
    expect(queue.waiting()).toBe(queue instanceof PriorityQueue ? 1 : 2);
    queue.dispose();
    expect(() => queue.waiting()).toThrow(expect.objectContaining({ code: 'DISPOSED' }));
  }
});
