/** Metrics that a program defines: their text, by a strict reader of it, and refused calls. */
import { MetricsRegistry } from 'capstan/controller';
import { beforeEach, describe, expect, expectTypeOf, test } from 'vitest';
import { expectError } from '../helpers/expect-error.ts';
import { parseText } from '../helpers/prometheus-text.ts';
import { Random, testSeed } from '../helpers/random.ts';
import { collectErrorValues } from '../helpers/reported-errors.ts';

let metrics: MetricsRegistry;
beforeEach(() => {
  metrics = new MetricsRegistry();
});
const reported = collectErrorValues();
const help = 'What is counted.';

/** The samples of all metrics: name and labels → value. */
function samples(): Record<string, number> {
  const all: Record<string, number> = {};
  for (const family of parseText(metrics.text()).values())
    for (const { name, labels, value } of family.samples) {
      const pairs = Object.entries(labels).map(([label, of]) => `${label}=${of}`);
      all[[name, ...pairs].join(' ')] = value;
    }
  return all;
}

test('a registry without metrics has no text', () => {
  expect(metrics.text()).toBe('');
});

test('a counter counts, with labels and without', () => {
  const all = metrics.counter({ name: 'b_total', help });
  const byPlace = metrics.counter({ name: 'a_total', help, labels: ['zone', 'host'] });
  expectTypeOf(byPlace.with)
    .parameter(0)
    .toEqualTypeOf<Readonly<Record<'zone' | 'host', string>>>();
  all.inc();
  all.inc(0.5);
  const north = byPlace.with({ zone: 'north', host: 'a"\\\n' });
  north.inc(2);
  byPlace.with({ host: 'a"\\\n', zone: 'north' }).inc();
  byPlace.with({ zone: 'south', host: '' }).inc(0);
  expect(metrics.text()).toBe(
    [
      '# HELP a_total What is counted.',
      '# TYPE a_total counter',
      'a_total{zone="north",host="a\\"\\\\\\n"} 3',
      'a_total{zone="south",host=""} 0',
      '# HELP b_total What is counted.',
      '# TYPE b_total counter',
      'b_total 1.5',
      '',
    ].join('\n'),
  );
  expect(byPlace.remove({ zone: 'north', host: 'a"\\\n' })).toBe(true);
  expect(byPlace.remove({ zone: 'north', host: 'a"\\\n' })).toBe(false);
  expect(samples()).toEqual({ 'a_total zone=south host=': 0, b_total: 1.5 });
});

test('a metric without labels is there from the start', () => {
  metrics.counter({ name: 'a_total', help: 'two\nlines \\' });
  metrics.gauge({ name: 'b', help });
  metrics.histogram({ name: 'c', help, buckets: [1, 2] });
  expect(samples()).toEqual({
    ...{ a_total: 0, b: 0, 'c_bucket le=1': 0, 'c_bucket le=2': 0, 'c_bucket le=+Inf': 0 },
    ...{ c_sum: 0, c_count: 0 },
  });
  expect(parseText(metrics.text()).get('a_total')?.help).toBe('two\\nlines \\\\');
});

test('a gauge goes up and down, or is read', () => {
  const gauge = metrics.gauge({ name: 'a', help });
  gauge.set(3);
  gauge.inc();
  gauge.dec(5);
  let size = 1;
  metrics.gauge({ name: 'b', help, read: () => size });
  metrics.gauge({
    ...{ name: 'c', help, labels: ['kind'] },
    read: () => [
      [{ kind: 'Pod' }, size],
      [{ kind: 'Node' }, 2],
    ],
  });
  expect(samples()).toEqual({ a: -1, b: 1, 'c kind=Pod': 1, 'c kind=Node': 2 });
  size = 7;
  expect(samples()).toMatchObject({ b: 7, 'c kind=Pod': 7 });
});

const seed = testSeed();
test(`a histogram has each value in its bucket, seed ${seed}`, () => {
  const random = new Random(seed);
  const histogram = metrics.histogram({ name: 'a_seconds', help, labels: ['to'] });
  const values = Array.from({ length: 500 }, () => random.next() * 12);
  for (const value of values) histogram.with({ to: 'a' }).observe(value);
  const all = samples();
  for (const bound of [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10])
    expect(all[`a_seconds_bucket to=a le=${bound}`]).toBe(
      values.filter((value) => value <= bound).length,
    );
  expect(all['a_seconds_count to=a']).toBe(500);
  expect(all['a_seconds_sum to=a']).toBeCloseTo(values.reduce((sum, value) => sum + value, 0));
});

describe('a gauge whose read misbehaves', () => {
  test.each<[unknown, string]>([
    ['text', 'a finite number'],
    [Number.NaN, 'a finite number'],
    [Promise.resolve(3), 'a finite number'],
    [[[{}, 3]], 'a finite number'],
  ])('is reported and missing: %j', (value, text) => {
    metrics.gauge({ name: 'a', help, read: () => value as number });
    metrics.gauge({ name: 'b', help });
    expect(samples()).toEqual({ b: 0 });
    expect(String(reported[0])).toContain(text);
  });

  test('with labels of its own, or an error', () => {
    const read = (): never => {
      throw new RangeError('gone');
    };
    metrics.gauge({ name: 'a', help, read });
    metrics.gauge({ name: 'b', help, labels: ['x'], read: () => [[{ y: 'a' } as never, 3]] });
    metrics.gauge({ name: 'c', help, labels: ['x'], read: () => 3 });
    expect(metrics.text()).toBe('');
    expect(reported.map(String)).toEqual([
      expect.stringContaining('gone'),
      expect.stringContaining('labels of b'),
      expect.stringContaining('not iterable'),
    ]);
  });
});

test('a second metric of the same name is the same, or refused', () => {
  const options = { name: 'a_total', help, labels: ['x'] } as const;
  metrics.counter(options).with({ x: 'a' }).inc();
  metrics
    .counter({ ...options })
    .with({ x: 'a' })
    .inc();
  expect(samples()).toEqual({ 'a_total x=a': 2 });
  const refused = (make: () => unknown) => expectError(make, 'INVALID_ARGUMENT', 'exists with');
  refused(() => metrics.gauge(options));
  refused(() => metrics.counter({ ...options, help: 'Another.' }));
  refused(() => metrics.counter({ ...options, labels: ['y'] }));
  metrics.histogram({ name: 'b', help });
  refused(() => metrics.histogram({ name: 'b', help, buckets: [1] }));
});

test('what is wrong is refused, and nothing is counted', () => {
  const refused = (call: () => unknown, text: string) =>
    expectError(call, 'INVALID_ARGUMENT', text);
  const counter = metrics.counter({ name: 'a_total', help });
  refused(() => counter.inc(-1), 'only grows');
  refused(() => counter.inc(Number.NaN), 'a finite number');
  refused(() => (counter as never as { set(value: number): void }).set(1), 'use a gauge');
  refused(() => (counter as never as { dec(): void }).dec(), 'use a gauge');
  const gauge = metrics.gauge({ name: 'b', help });
  refused(() => gauge.set('3' as never), 'a finite number');
  refused(() => gauge.dec(Number.POSITIVE_INFINITY), 'a finite number');
  const read = metrics.gauge({ name: 'c', help, read: () => 1 });
  refused(() => read.set(1), 'leave `read` out');
  refused(() => read.inc(), 'leave `read` out');
  const histogram = metrics.histogram({ name: 'd', help, labels: ['x'], buckets: [1] });
  refused(() => histogram.with({ x: 'a' }).observe(Number.NaN), 'a finite number');
  refused(() => histogram.with({} as never), 'texts for x');
  refused(() => histogram.with({ x: 'a', y: 'b' } as never), 'texts for x');
  refused(() => histogram.with({ x: 3 } as never), 'texts for x');
  refused(() => histogram.with(undefined as never), 'texts for x');
  refused(() => metrics.counter({ name: 'a-b', help }), 'options.name');
  refused(() => metrics.counter({ name: 'e' } as never), 'options.help');
  for (const labels of [['a-b'], ['__a'], ['a', 'a'], [3], 'a'])
    refused(() => metrics.counter({ name: 'e', help, labels: labels as never }), 'options.labels');
  refused(() => metrics.histogram({ name: 'e', help, labels: ['le'] }), 'options.labels');
  for (const buckets of [[], [2, 1], [1, 1], [Number.NaN], [Number.POSITIVE_INFINITY], 3])
    refused(() => metrics.histogram({ name: 'e', help, buckets: buckets as never }), 'buckets');
  refused(() => metrics.gauge({ name: 'e', help, reed: 1 } as never), 'did you mean "read"');
  refused(() => metrics.gauge({ name: 'e', help, read: 1 as never }), 'options.read');
  expect(samples()).toEqual({ a_total: 0, b: 0, c: 1, ...bucketsOf('x=a') });
});

const bucketsOf = (labels: string) => ({
  [`d_bucket ${labels} le=1`]: 0,
  [`d_bucket ${labels} le=+Inf`]: 0,
  [`d_sum ${labels}`]: 0,
  [`d_count ${labels}`]: 0,
});
