/**
 * Metrics of several collectors as one text.
 *
 * Story: a registry of prom-client returns its text in a promise. The whole of /metrics was then an
 * error, "text.split is not a function", which did not name the collector.
 */
import type { Collector } from 'capstan/controller';
import { FakeClock, PrometheusProvider, WorkQueue } from 'capstan/workqueue';
import { describe, expect, onTestFinished, test } from 'vitest';
import { collect, mergeExpositions } from '../../bindings/manager/collect-metrics.ts';
import { parseText } from '../helpers/prometheus-text.ts';
import { collectErrorValues } from '../helpers/reported-errors.ts';
import { managerOf, startManager } from './recording-runnables.ts';

const reported = collectErrorValues();

class Register {
  text = () => Promise.reject(new Error('no figures'));
}

async function metricsOf(...collectors: Collector[]) {
  const { manager, clock } = managerOf({ metrics: { bindAddress: '127.0.0.1:0' } });
  for (const collector of collectors) manager.addCollector(collector);
  const { stop, done } = startManager(manager, clock);
  onTestFinished(async () => {
    stop();
    await done;
  });
  await manager.serving();
  const response = await fetch(`${manager.url('metrics')}/metrics`, {
    headers: { connection: 'close' },
  });
  return { status: response.status, text: await response.text() };
}

test('a collector may return a promise', async () => {
  const { status, text } = await metricsOf({
    name: 'prom-client',
    text: async () => '# HELP sites_total Sites.\n# TYPE sites_total counter\nsites_total 3\n',
  });
  expect(status).toBe(200);
  const families = parseText(text);
  expect(families.get('sites_total')?.samples[0]?.value).toBe(3);
  expect(families.get('process_resident_memory_bytes')?.samples).toHaveLength(1);
});

test('all collectors that fail are named in the response and reported', async () => {
  const wrong = { name: 'wrong', text: () => ({}) as string };
  expect(await metricsOf(new Register(), wrong)).toEqual({
    status: 500,
    text: `An error has occurred while serving metrics:

collector 7, an object of class Register: no figures
collector "wrong": "collector.text()" expected a string, got an object
`,
  });
  expect(reported).toMatchObject([{ message: 'no figures' }, { code: 'INVALID_ARGUMENT' }]);
});

test('a collector without a text within ten seconds fails, and no timer is left', async () => {
  const clock = new FakeClock();
  const never = new Promise<string>(() => undefined);
  const all = collect([{ text: () => 'a 1\n' }, { name: 'slow', text: () => never }], clock);
  await clock.run(9_999);
  expect(clock.timers()).toBe(1);
  await clock.run(1);
  expect(await all).toEqual([
    { collectorName: 'collector 1, an object', text: 'a 1\n' },
    { collectorName: 'collector "slow"', error: expect.objectContaining({ code: 'TIMEOUT' }) },
  ]);
  expect(clock.timers()).toBe(0);
});

const counter = (name: string, ...samples: string[]): string =>
  [`# HELP ${name} Help.`, `# TYPE ${name} counter`, ...samples, ''].join('\n');

describe('merged expositions', () => {
  test('have each metric once, with the samples of all', () => {
    const text = mergeExpositions([
      counter('a_total', 'a_total{x="1"} 1') + counter('b_total', 'b_total 2'),
      counter('a_total', 'a_total{x="2"} 3'),
    ]);
    expect(text).toBe(
      counter('a_total', 'a_total{x="1"} 1', 'a_total{x="2"} 3') + counter('b_total', 'b_total 2'),
    );
    expect([...parseText(text).keys()]).toEqual(['a_total', 'b_total']);
  });

  test('have each series once: the first', () => {
    const odd = 'a_total{x="} 1 \\" # {"}';
    const text = mergeExpositions([
      counter('a_total', `${odd} 1`, 'a_total 5'),
      counter('a_total', `${odd} 2`, 'a_total 6'),
    ]);
    expect(text).toBe(counter('a_total', `${odd} 1`, 'a_total 5'));
  });

  test('have the first help text', () => {
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

  // All series of a metric were the arguments of one call: beyond about 120 000 series the whole
  // text failed.
  test('have as many series as there are', () => {
    const text = counter(
      'a_total',
      Array.from({ length: 300_000 }, (_, i) => `a_total{object="${i}"} 1`).join('\n'),
    );
    expect(mergeExpositions([text])).toBe(text);
  });

  test('are empty without texts, and leave out metrics without samples', () => {
    expect(mergeExpositions([])).toBe('');
    expect(mergeExpositions(['', '# HELP a Help.\n# TYPE a counter\n', '# a remark\n'])).toBe('');
  });
});
