/** The metrics that a manager gives of its own process. */
import { expect, test } from 'vitest';
import { ProcessMetrics } from '../../bindings/manager/process-metrics.ts';
import { parseText } from '../helpers/prometheus-text.ts';

test('includes the event-loop delay only while it is sampled', async () => {
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
  metrics.close();
  expect(lag).toBeGreaterThanOrEqual(0);
  expect(parseText(metrics.text()).get('nodejs_version_info')?.samples[0]?.labels).toEqual({
    version: process.version,
  });
});
