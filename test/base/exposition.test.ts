/** bindings/base/exposition.ts: the text format of Prometheus, version 0.0.4. */
import { expect, test } from 'vitest';
import {
  addHistogram,
  emptyHistogram,
  expositionText,
  histogramSamples,
  labelPairs,
  metricFamily,
  observe,
} from '../../bindings/base/exposition.ts';

test('a histogram has cumulative buckets, with values above all bounds in +Inf', () => {
  const bounds = [0.000_000_01, 1, 10];
  const [one, other] = [emptyHistogram(bounds), emptyHistogram(bounds)];
  for (const value of [0, 1, 5, 20]) observe(bounds, one, value);
  observe(bounds, other, 10);
  addHistogram(one, other);
  const text = (of: readonly number[]): string[] =>
    metricFamily('histogram', 'm', 'Help.', histogramSamples('a="1"', of, one));
  expect(text(bounds)).toEqual([
    '# HELP m Help.',
    '# TYPE m histogram',
    'm_bucket{a="1",le="1e-08"} 1',
    'm_bucket{a="1",le="1"} 2',
    'm_bucket{a="1",le="10"} 4',
    'm_bucket{a="1",le="+Inf"} 5',
    'm_sum{a="1"} 36',
    'm_count{a="1"} 5',
  ]);
  expect(text(bounds.slice(0, 2)).slice(3)).toEqual([
    'm_bucket{a="1",le="1"} 2',
    'm_bucket{a="1",le="+Inf"} 5',
    'm_sum{a="1"} 36',
    'm_count{a="1"} 5',
  ]);
});

test('labels are escaped; a sample without labels has no braces', () => {
  expect(labelPairs({ name: 'a"b\\c\nd', other: '' })).toBe('name="a\\"b\\\\c\\nd",other=""');
  expect(expositionText(metricFamily('gauge', 'm', 'Help.', [['', 0.00001]]))).toBe(
    '# HELP m Help.\n# TYPE m gauge\nm 1e-05\n',
  );
  expect(expositionText(metricFamily('gauge', 'm', 'Help.', []))).toBe('');
});
