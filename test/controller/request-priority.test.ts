/** Priorities of requests, from the handler to the queue and back. */
import {
  type ControllerOptions,
  createController,
  LowPriority,
  type Result,
} from 'capstan/controller';
import { FakeClock, PrometheusProvider, type RateLimiter, type Request } from 'capstan/workqueue';
import { afterEach, expect, test } from 'vitest';
import { FakeCluster, type TestObject } from '../helpers/controller/fake-cluster.ts';
import { Part, TestWidget, testWidget } from '../helpers/controller/resources.ts';
import { parseText } from '../helpers/prometheus-text.ts';
import { collectErrorValues } from '../helpers/reported-errors.ts';

const part = (name: string, owner: string): TestObject => ({
  metadata: {
    name,
    namespace: 'default',
    ownerReferences: [
      { apiVersion: 'example.com/v1', kind: 'Widget', name: owner, uid: 'u', controller: true },
    ],
  },
});

const reported = collectErrorValues();
const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(stops.splice(0).map((stop) => stop()));
});

type Answer = () => Result | undefined;

/**
 * A controller with one worker in virtual time. The request "gate" occupies the worker until `open`
 * is called, so that a queue forms. `answers` are the results of a name's reconciles, in turn.
 */
function setup(
  answers: Record<string, Answer[]> = {},
  options: Partial<ControllerOptions<TestObject>> = {},
) {
  const cluster = new FakeCluster();
  const clock = new FakeClock();
  const calls: string[] = [];
  let gate = Promise.withResolvers<void>();
  const controller = createController<TestObject>({
    transport: cluster,
    for: TestWidget,
    clock,
    ...options,
    async reconcile({ name }: Request) {
      calls.push(name);
      if (name === 'gate') await gate.promise;
      return answers[name]?.shift()?.();
    },
  });
  stops.push(() => {
    gate.resolve();
    return controller.stop();
  });
  /** Opens the gate, returns what is reconciled in order, and closes the gate again. */
  const open = async (ms = 0): Promise<string[]> => {
    calls.length = 0;
    gate.resolve();
    gate = Promise.withResolvers();
    await clock.run(ms);
    return [...calls];
  };
  /** Occupies the worker with the gate. */
  const close = async (): Promise<void> => {
    cluster.put('widgets', testWidget('gate'));
    await clock.settle();
    expect(calls.at(-1)).toBe('gate');
  };
  return { cluster, clock, calls, open, close, start: () => void controller.run() };
}

const fail = (): never => {
  throw new Error('not yet');
};

test('the initial list comes last, owned objects too; changes come first', async () => {
  const { cluster, clock, calls, open, start } = setup({}, { owns: [Part] });
  for (const name of ['gate', 'a', 'b']) cluster.put('widgets', testWidget(name));
  cluster.put('parts', part('p', 'c'));
  start();
  await clock.settle();
  expect(calls).toEqual(['gate']);
  cluster.put('widgets', testWidget('b'));
  cluster.put('parts', part('q', 'd'));
  await clock.settle();
  expect(await open()).toEqual(['b', 'd', 'a', 'c']);
  expect(LowPriority).toBe(-100);
});

test('an update without a new resourceVersion comes last', async () => {
  const { cluster, clock, close, open, start } = setup();
  cluster.put('widgets', testWidget('a'));
  start();
  await clock.settle();
  await close();
  cluster.touch('widgets', 'a');
  await clock.settle();
  cluster.put('widgets', testWidget('b'));
  await clock.settle();
  expect(await open()).toEqual(['b', 'a']);
});

test('a request that fails keeps its priority, low or normal', async () => {
  const { cluster, clock, close, open, start } = setup({ low: [fail], normal: [fail] });
  cluster.put('widgets', testWidget('low'));
  start();
  await clock.settle(); // "low" has failed once: it is retried in 5 ms with its low priority
  await close();
  await clock.run(5);
  cluster.put('widgets', testWidget('normal'));
  await clock.settle();
  expect(await open()).toEqual(['normal', 'low']);
  await close();
  await clock.run(5);
  cluster.put('widgets', testWidget('later'));
  await clock.settle();
  expect(await open()).toEqual(['normal', 'later']);
  expect(reported).toHaveLength(2);
});

test('a result sets another priority, with requeueAfter and with requeue', async () => {
  const { cluster, clock, close, open, start } = setup({
    raised: [() => ({ requeueAfter: 10, priority: 7 })],
    raisedToo: [() => ({ requeue: true, priority: 8 })],
    lowered: [() => ({ requeueAfter: 10, priority: -200 })],
    kept: [() => ({ requeueAfter: 10 })],
    keptToo: [() => ({ requeue: true })],
  });
  for (const name of ['lowered', 'kept', 'keptToo', 'raised', 'raisedToo'])
    cluster.put('widgets', testWidget(name));
  start();
  await clock.settle();
  await close();
  await clock.run(10);
  cluster.put('widgets', testWidget('change'));
  await clock.settle();
  expect(await open()).toEqual(['raisedToo', 'raised', 'change', 'keptToo', 'kept', 'lowered']);
});

test('if the rate limiter throws, the request keeps its priority', async () => {
  const limiter: RateLimiter<Request> = {
    when: () => {
      throw new Error('no delay today');
    },
    forget: () => {},
    numRequeues: () => 0,
  };
  const { cluster, clock, close, open, start } = setup({ low: [fail] }, { rateLimiter: limiter });
  cluster.put('widgets', testWidget('low'));
  start();
  await clock.settle();
  await close();
  await clock.run(1_000);
  cluster.put('widgets', testWidget('change'));
  await clock.settle();
  expect(await open()).toEqual(['change', 'low']);
});

test('without the priority queue requests are first in, first out', async () => {
  const names = Array.from({ length: 105 }, (_, i) => `w-${i}`);
  const answers = Object.fromEntries(names.map((name) => [name, [fail]]));
  const { cluster, clock, calls, open, start } = setup(answers, { usePriorityQueue: false });
  for (const name of ['gate', 'a', 'b']) cluster.put('widgets', testWidget(name));
  start();
  await clock.settle();
  cluster.put('widgets', testWidget('c'));
  await clock.settle();
  expect(await open()).toEqual(['a', 'b', 'c']);
  for (const name of names) cluster.put('widgets', testWidget(name));
  await clock.settle();
  calls.length = 0;
  await clock.run(90);
  expect(calls).toHaveLength(100); // the burst of the overall limit
  await clock.run(410);
  expect(calls).toHaveLength(105); // then ten a second
});

test('the metrics have the depth and the longest wait by priority', async () => {
  const metricsProvider = new PrometheusProvider({ flavor: 'controller-runtime' });
  const { cluster, clock, open, start } = setup({}, { metricsProvider, name: 'widgets' });
  for (const name of ['gate', 'a', 'b']) cluster.put('widgets', testWidget(name));
  start();
  await clock.settle();
  await clock.run(2_000);
  cluster.put('widgets', testWidget('c'));
  await clock.run(1_000);
  const samples = (name: string) =>
    parseText(metricsProvider.text())
      .get(`workqueue_${name}`)
      ?.samples.map(({ labels, value }) => [labels, value]);
  const labels = (priority: string) => ({ controller: 'widgets', name: 'widgets', priority });
  expect(samples('depth')).toEqual([
    [labels('-100'), 2],
    [labels('0'), 1],
  ]);
  const longest = samples('longest_wait_seconds') as [object, number][];
  expect(longest.map(([series]) => series)).toEqual([labels('-100'), labels('0')]);
  expect(longest.map(([, seconds]) => Math.floor(seconds))).toEqual([3, 1]);
  expect(await open()).toEqual(['c', 'a', 'b']);
});
