/** Many collectors, one text. */
import { PrometheusProvider, WorkQueue } from 'capstan/workqueue';
import { describe, expect, test } from 'vitest';
import { mergeExpositions } from '../../bindings/manager/exposition-merge.ts';
import { ProcessMetrics } from '../../bindings/manager/process-metrics.ts';
import { parseText } from '../workqueue/prometheus-text.ts';

const counter = (name: string, ...samples: string[]): string =>
  [`# HELP ${name} Help.`, `# TYPE ${name} counter`, ...samples, ''].join('\n');

describe('merged expositions', () => {
  test('have each metric once, with the samples of all', () => {
    const text = mergeExpositions([
      counter('a_total', 'a_total{x="1"} 1') + counter('b_total', 'b_total 2'),
      counter('a_total', 'a_total{x="2"} 3'),
    ]);
    expect(text).toBe(
      `${counter('a_total', 'a_total{x="1"} 1', 'a_total{x="2"} 3')}${counter('b_total', 'b_total 2')}`,
    );
    expect([...parseText(text).keys()]).toEqual(['a_total', 'b_total']);
  });

  test('have a series once: that of the first', () => {
    const odd = 'a_total{x="} 1 \\" # {"}';
    const text = mergeExpositions([
      counter('a_total', `${odd} 1`, 'a_total 5'),
      counter('a_total', `${odd} 2`, 'a_total 6'),
    ]);
    expect(text).toBe(counter('a_total', `${odd} 1`, 'a_total 5'));
  });

  test('have the help of the first', () => {
    const text = mergeExpositions([
      counter('a_total', 'a_total{x="1"} 1'),
      '# HELP a_total Other.\na_total{x="2"} 2\n',
    ]);
    expect(text).toBe(counter('a_total', 'a_total{x="1"} 1', 'a_total{x="2"} 2'));
  });

  test('keep the samples of a histogram together', () => {
    const provider = (name: string) => {
      const metrics = new PrometheusProvider({ flavor: 'controller-runtime' });
      new WorkQueue({ name, metricsProvider: metrics }).add('a');
      return metrics.text();
    };
    const families = parseText(mergeExpositions([provider('one'), provider('two')]));
    expect(families.get('workqueue_queue_duration_seconds')?.samples).toHaveLength(2 * 15);
  });

  // All series of a metric were the arguments of one call: beyond some 120 000 objects with a
  // series each there were no metrics at all, of nothing.
  test('have as many series as there are', () => {
    const text = counter(
      'a_total',
      Array.from({ length: 300_000 }, (_, i) => `a_total{object="${i}"} 1`).join('\n'),
    );
    expect(mergeExpositions([text])).toBe(text);
  });

  test('are nothing where there is nothing, and leave out what has no samples', () => {
    expect(mergeExpositions([])).toBe('');
    expect(mergeExpositions(['', '# HELP a Help.\n# TYPE a counter\n', '# a remark\n'])).toBe('');
  });
});

describe('the metrics of the process', () => {
  test('parse, and have the delay of the event loop while they are sampled', async () => {
    const metrics = new ProcessMetrics();
    expect([...parseText(metrics.text()).keys()]).not.toContain('nodejs_eventloop_lag_p99_seconds');
    metrics.start();
    const sampled = (): number | undefined =>
      parseText(metrics.text()).get('nodejs_eventloop_lag_p99_seconds')?.samples[0]?.value;
    let lag = sampled();
    while (lag === undefined) {
      await new Promise(setImmediate);
      lag = sampled();
    }
    metrics.stop();
    expect(lag).toBeGreaterThanOrEqual(0);
    expect(parseText(metrics.text()).get('nodejs_version_info')?.samples[0]?.labels).toEqual({
      version: process.version,
    });
  });
});
