/**
 * bindings/workqueue/metrics.ts and prometheus.ts: client-go's seven metrics, by calls and by text.
 */
import {
  FakeClock,
  type MetricsProvider,
  PrometheusProvider,
  setErrorHandler,
} from 'capstan/workqueue';
import { describe, expect, test } from 'vitest';
import { expectError, invalidArgument } from '../helpers/expect-error.ts';
import { parseText } from '../helpers/prometheus-text.ts';
import { implementations } from '../helpers/workqueue/implementations.ts';
import { drain } from '../helpers/workqueue/queue-items.ts';
import { RecordingProvider } from '../helpers/workqueue/recording-metrics.ts';

describe.each(implementations)("a user's provider, $name", (make) => {
  function start() {
    const clock = new FakeClock();
    const provider = new RecordingProvider();
    return {
      clock,
      provider,
      queue: make.rateLimiting(undefined, { name: 'websites', clock, metricsProvider: provider }),
    };
  }

  test('gets delayed adds when they are due, and each addAfter as a retry', () => {
    const { clock, provider, queue } = start();
    queue.addAfter('a', 50);
    queue.addAfter('a', 70);
    queue.addAfter('b', 0);
    queue.addRateLimited('c');
    expect(provider.values).toMatchObject({ retries: 4, adds: 1, depth: 1 });
    clock.step(50);
    expect(provider.values).toMatchObject({ adds: 3, depth: 3 });
    clock.step(10);
    drain(queue);
    expect(provider.values.depth).toBe(0);
    expect(provider.values.latency).toEqual([0.06, 0.01, 0.01]);
  });

  test('gets no adds after shutDown', () => {
    const { clock, provider, queue } = start();
    queue.addAfter('a', 50);
    queue.shutDown();
    queue.add('b');
    queue.addAfter('c', 0);
    clock.step(1_000);
    expect(provider.values).toMatchObject({ retries: 1, adds: 0, depth: 0 });
  });

  test('unfinished work is the sum, the longest the maximum, and both return to 0', () => {
    const { clock, provider, queue } = start();
    queue.add('a');
    queue.tryGet();
    clock.step(1_000);
    queue.add('b');
    queue.tryGet();
    clock.step(1_000);
    expect(provider.values).toMatchObject({ unfinished: 3, longest: 2 });
    queue.done('a');
    clock.step(500);
    expect(provider.values).toMatchObject({ unfinished: 1.5, longest: 1.5 });
    queue.done('b');
    clock.step(500);
    expect(provider.values).toMatchObject({ unfinished: 0, longest: 0 });
    expect(clock.timers()).toBe(0);
  });

  // Two gets waited, and a metric of the first key handed out added a second one: the second key
  // went to the first get as well, and the first key was lost in processing.
  test.each(['rateLimiting', 'priority'] as const)(
    'a metric that adds, or ends the queue, during a hand-out loses no key (%s)',
    async (kind) => {
      for (const act of ['add', 'shutDown'] as const) {
        const provider = new RecordingProvider();
        let calls = 0;
        provider.newLatencyMetric = () => ({
          observe: () => {
            if (calls++ > 0) return;
            if (act === 'add') queue.add('b');
            else queue.shutDown();
          },
        });
        const queue = make[kind]<string>(undefined, {
          name: 'q',
          metricsProvider: provider,
          clock: new FakeClock(),
        });
        const gets = [queue.get(), queue.get(), queue.get()];
        queue.add('a');
        if (act === 'add') queue.add('c');
        const got = (await Promise.all(gets)).map(({ item }) => item);
        expect(got).toEqual(act === 'add' ? ['a', 'b', 'c'] : ['a', undefined, undefined]);
      }
    },
  );

  test('without a name there are no metrics', () => {
    const provider = new RecordingProvider();
    const queue = make.queue({ metricsProvider: provider, clock: new FakeClock() });
    queue.add('a');
    drain(queue);
    expect(provider.names).toEqual(new Set());
  });

  test('a provider that throws is reported and does not affect the queue', () => {
    const reported: unknown[] = [];
    const previous = setErrorHandler((error) => reported.push(error));
    try {
      const provider = new RecordingProvider();
      provider.newAddsMetric = () => ({
        inc: () => {
          throw new Error('full');
        },
      });
      const queue = make.queue({ name: 'q', metricsProvider: provider, clock: new FakeClock() });
      queue.add('a');
      expect(drain(queue)).toEqual(['a']);
      expect(reported).toHaveLength(1);
    } finally {
      setErrorHandler(previous);
    }
  });

  test('a provider whose every metric rejects is reported for each call', async () => {
    // Story: only thrown errors were caught, and a provider of async functions ended the process.
    const reported: unknown[] = [];
    const previous = setErrorHandler((_, what) => reported.push(what));
    const away = () => Promise.reject(new Error('the backend is away'));
    const metric = () => ({ inc: away, dec: away, set: away, observe: away });
    try {
      const clock = new FakeClock();
      const provider: MetricsProvider = {
        newDepthMetric: metric,
        newAddsMetric: metric,
        newLatencyMetric: metric,
        newWorkDurationMetric: metric,
        newUnfinishedWorkSecondsMetric: metric,
        newLongestRunningProcessorSecondsMetric: metric,
        newRetriesMetric: metric,
      };
      const queue = make.queue({ name: 'q', metricsProvider: provider, clock });
      queue.add('a');
      const { item } = await queue.get();
      clock.step(500);
      queue.done(item as string);
      await clock.settle();
      // Adds, depth up and down, latency, work; unfinished and longest at the tick.
      expect(reported).toEqual(Array(7).fill('metrics provider'));
    } finally {
      setErrorHandler(previous);
    }
  });

  test.each([
    [
      'throws',
      () => () => {
        throw new Error('no registry');
      },
    ],
    ['is async', () => () => Promise.reject(new Error('no registry'))],
    ['gives nothing', () => () => undefined],
  ])('a provider whose every method %s is reported, and the queue works', async (_, bad) => {
    // Story: an async provider's rejections had no receiver and ended the process, and one that
    // throws ended the program that makes a queue.
    const reported: unknown[] = [];
    const previous = setErrorHandler((_, what) => reported.push(what));
    const all = new Proxy({}, { get: bad, has: (_, name) => typeof name === 'string' });
    try {
      const clock = new FakeClock();
      const queue = make.queue({ name: 'q', metricsProvider: all as MetricsProvider, clock });
      expect(new Set(reported.splice(0))).toEqual(new Set(['metrics provider']));
      queue.add('a');
      expect(drain(queue)).toEqual(['a']);
      await clock.settle();
      expect(reported).toEqual([]);
    } finally {
      setErrorHandler(previous);
    }
  });

  test('a provider that lacks a method is a typed error that names it', () => {
    const provider: Partial<MetricsProvider> = new RecordingProvider();
    provider.newRetriesMetric = undefined;
    expectError(
      () => make.queue({ name: 'q', metricsProvider: invalidArgument(provider) }),
      'INVALID_ARGUMENT',
      /newRetriesMetric/,
    );
  });
});

const clientGoBounds = [
  '1e-08',
  '1e-07',
  '1e-06',
  // 10e-9 · 10 · 10 · 10 in float64, as prometheus.ExponentialBuckets multiplies
  '9.999999999999999e-06',
  '9.999999999999999e-05',
  '0.001',
  '0.01',
  '0.1',
  '1',
  '10',
];

const names = {
  workqueue_adds_total: 'counter',
  workqueue_depth: 'gauge',
  workqueue_longest_running_processor_seconds: 'gauge',
  workqueue_queue_duration_seconds: 'histogram',
  workqueue_retries_total: 'counter',
  workqueue_unfinished_work_seconds: 'gauge',
  workqueue_work_duration_seconds: 'histogram',
};

describe.each(implementations)('PrometheusProvider, $name', (make) => {
  test('has the seven names and types, the label "name", and component-base\'s buckets', () => {
    const metricsProvider = new PrometheusProvider();
    make.delaying({ name: 'websites', metricsProvider, clock: new FakeClock() });
    const families = parseText(metricsProvider.text());
    expect(Object.fromEntries([...families].map(([name, { type }]) => [name, type]))).toEqual(
      names,
    );
    for (const family of families.values()) {
      expect(family.help).not.toBe('');
      for (const { labels } of family.samples) {
        const { le: _, ...others } = labels;
        expect(others).toEqual({ name: 'websites' });
      }
    }
    const buckets = families
      .get('workqueue_queue_duration_seconds')
      ?.samples.map(({ labels }) => labels.le);
    expect(buckets?.filter((le) => le !== undefined)).toEqual([...clientGoBounds, '+Inf']);
  });

  test('the controller-runtime flavor has its labels and two more buckets', () => {
    const metricsProvider = new PrometheusProvider({ flavor: 'controller-runtime' });
    make.delaying({ name: 'websites', metricsProvider, clock: new FakeClock() });
    const families = parseText(metricsProvider.text());
    expect(new Set(families.keys())).toEqual(new Set(Object.keys(names)));
    for (const [name, family] of families) {
      for (const { labels } of family.samples) {
        const { le: _, ...others } = labels;
        const depth = name === 'workqueue_depth' ? { priority: '' } : {};
        expect(others).toEqual({ name: 'websites', controller: 'websites', ...depth });
      }
    }
    const buckets = families
      .get('workqueue_work_duration_seconds')
      ?.samples.map(({ labels }) => labels.le);
    expect(buckets?.filter((le) => le !== undefined)).toEqual([
      ...clientGoBounds,
      '100',
      '1000',
      '+Inf',
    ]);
  });

  test('has the same values as a provider that is called per operation', () => {
    const clock = new FakeClock();
    const text = new PrometheusProvider();
    const called = new RecordingProvider();
    const queues = [text, called].map((metricsProvider) =>
      make.delaying({ name: 'q', clock, metricsProvider }),
    );
    const [first, second] = queues as [(typeof queues)[0], (typeof queues)[0]];
    const both = (act: (queue: typeof first) => void) => {
      act(first);
      act(second);
    };
    both((queue) => queue.add('a'));
    both((queue) => queue.addAfter('b', 40));
    both((queue) => queue.addAfter('c', 60_000));
    clock.step(50);
    both((queue) => queue.tryGet());
    both((queue) => queue.add('a'));
    clock.step(2_500);
    both((queue) => queue.done('a'));
    both((queue) => queue.tryGet());
    clock.step(500);

    const families = parseText(text.text());
    const value = (name: string) => families.get(`workqueue_${name}`)?.samples[0]?.value;
    expect(value('adds_total')).toBe(called.values.adds);
    expect(value('adds_total')).toBe(3);
    expect(value('depth')).toBe(called.values.depth);
    expect(value('depth')).toBe(1);
    expect(value('retries_total')).toBe(2);
    expect(value('unfinished_work_seconds')).toBeCloseTo(called.values.unfinished ?? -1, 9);
    expect(value('longest_running_processor_seconds')).toBeCloseTo(0.5, 9);
    const sum = (list: readonly number[]) => list.reduce((total, one) => total + one, 0);
    const sample = (family: string, name: string) =>
      families
        .get(`workqueue_${family}`)
        ?.samples.find((one) => one.name === `workqueue_${family}_${name}`)?.value;
    expect(sample('queue_duration_seconds', 'sum')).toBeCloseTo(sum(called.values.latency), 9);
    expect(sample('queue_duration_seconds', 'count')).toBe(called.values.latency.length);
    expect(sample('work_duration_seconds', 'sum')).toBeCloseTo(sum(called.values.workDuration), 9);
    expect(sample('work_duration_seconds', 'count')).toBe(1);
  });

  test('an observation is in the first bucket with a bound not below it', () => {
    const clock = new FakeClock();
    const metricsProvider = new PrometheusProvider();
    const queue = make.queue({ name: 'q', clock, metricsProvider });
    for (const ms of [0, 1, 1_000, 1_001, 20_000]) {
      queue.add('a');
      clock.step(ms);
      drain(queue);
    }
    const samples =
      parseText(metricsProvider.text()).get('workqueue_queue_duration_seconds')?.samples ?? [];
    const below = Object.fromEntries(samples.map(({ labels, value }) => [labels.le, value]));
    expect(below).toMatchObject({ '1e-08': 1, '0.001': 2, '0.1': 2, '1': 3, '10': 4, '+Inf': 5 });
  });

  test('any queue name is a valid label', () => {
    const metricsProvider = new PrometheusProvider();
    const hostile = [
      'a"b',
      'back\\slash',
      'line\nbreak',
      '\\n',
      'é',
      '{}',
      ' ',
      '__proto__',
      'a="1",b="2"',
    ];
    for (const name of hostile)
      make.queue({ name, metricsProvider, clock: new FakeClock() }).add('x');
    const samples = parseText(metricsProvider.text()).get('workqueue_adds_total')?.samples ?? [];
    expect(new Set(samples.map(({ labels }) => labels.name))).toEqual(new Set(hostile));
    expect(samples.every(({ value }) => value === 1)).toBe(true);
  });

  test('two queues of one name are one series', () => {
    const metricsProvider = new PrometheusProvider();
    const clock = new FakeClock();
    for (let i = 0; i < 2; i++) {
      const queue = make.queue({ name: 'q', metricsProvider, clock });
      queue.add('a');
      queue.add(`b${i}`);
      queue.tryGet();
    }
    clock.step(1_000);
    const families = parseText(metricsProvider.text());
    expect(families.get('workqueue_adds_total')?.samples).toHaveLength(1);
    expect(families.get('workqueue_adds_total')?.samples[0]?.value).toBe(4);
    expect(families.get('workqueue_depth')?.samples[0]?.value).toBe(2);
    expect(families.get('workqueue_unfinished_work_seconds')?.samples[0]?.value).toBe(2);
    expect(families.get('workqueue_longest_running_processor_seconds')?.samples[0]?.value).toBe(1);
  });

  test('a queue that wraps another counts its retries under its name', () => {
    const metricsProvider = new PrometheusProvider();
    const clock = new FakeClock();
    const inner = make.queue({ name: 'q', metricsProvider, clock });
    const queue = make.delaying({ name: 'q', metricsProvider, clock, inner });
    queue.addAfter('a', 10);
    clock.step(10);
    const families = parseText(metricsProvider.text());
    expect(families.get('workqueue_retries_total')?.samples[0]?.value).toBe(1);
    expect(families.get('workqueue_adds_total')?.samples[0]?.value).toBe(1);
  });

  // Counters ended with their queue: with two of a name the sum fell, which looks like a restart,
  // and so like work that was never done.
  test('gauges of a disposed queue are removed, its counters stay', () => {
    const metricsProvider = new PrometheusProvider();
    const clock = new FakeClock();
    const value = (name: string) =>
      parseText(metricsProvider.text()).get(`workqueue_${name}`)?.samples.at(-1)?.value;
    const figures = () =>
      [
        'depth',
        'adds_total',
        'queue_duration_seconds',
        'work_duration_seconds',
        'unfinished_work_seconds',
      ].map(value);
    const queue = make.queue({ name: 'q', metricsProvider, clock });
    queue.add('a');
    queue.add('b');
    queue.tryGet();
    queue.done('a');
    queue.shutDown();
    expect(figures()).toEqual([1, 2, 1, 1, 0]);
    queue.dispose();
    expect(figures()).toEqual([undefined, 2, 1, 1, undefined]);
    const next = make.queue({ name: 'q', metricsProvider, clock });
    next.add('a');
    expect(figures()).toEqual([1, 3, 1, 1, 0]);
    next.dispose();
    expect(figures()).toEqual([undefined, 3, 1, 1, undefined]);
  });
});

describe('PrometheusProvider by hand', () => {
  test('is a MetricsProvider like any other', () => {
    const provider = new PrometheusProvider();
    const depth = provider.newDepthMetric('mine');
    depth.inc();
    depth.inc();
    depth.dec();
    provider.newAddsMetric('mine').inc();
    provider.newRetriesMetric('mine').inc();
    provider.newLatencyMetric('mine').observe(0.5);
    provider.newWorkDurationMetric('mine').observe(50);
    provider.newUnfinishedWorkSecondsMetric('mine').set(1.25);
    provider.newLongestRunningProcessorSecondsMetric('mine').set(3);
    const families = parseText(provider.text());
    const first = (name: string) => families.get(name)?.samples[0]?.value;
    expect(first('workqueue_depth')).toBe(1);
    expect(first('workqueue_adds_total')).toBe(1);
    expect(first('workqueue_retries_total')).toBe(1);
    expect(first('workqueue_unfinished_work_seconds')).toBe(1.25);
    expect(first('workqueue_longest_running_processor_seconds')).toBe(3);
    const work = families.get('workqueue_work_duration_seconds')?.samples ?? [];
    expect(work.map(({ value }) => value)).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 50, 1]);
  });

  test('without a queue the text is empty, and an unknown flavor is a typed error', () => {
    expect(new PrometheusProvider().text()).toBe('');
    expectError(
      () => new PrometheusProvider({ flavor: invalidArgument('prom') }),
      'INVALID_ARGUMENT',
      /flavor/,
    );
    expectError(
      () => new PrometheusProvider(invalidArgument({ flavour: 'client-go' })),
      'INVALID_ARGUMENT',
      /did you mean "flavor"/,
    );
  });
});
