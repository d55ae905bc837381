/**
 * Story: a registry of prom-client gives its text later, and /metrics was then an error for
 * everything, which said "text.split is not a function" and of whom it did not say.
 */
import type { Collector } from 'capstan/controller';
import { FakeClock } from 'capstan/workqueue';
import { expect, onTestFinished, test } from 'vitest';
import { collect } from '../../bindings/manager/collect.ts';
import { parseText } from '../workqueue/prometheus-text.ts';
import { hearReports } from '../workqueue/reported.ts';
import { managerOf, start } from './managers.ts';

const reported = hearReports();

class Register {
  text = () => Promise.reject(new Error('no figures'));
}

async function metricsOf(...collectors: Collector[]) {
  const { manager, clock } = managerOf({ metrics: { bindAddress: '127.0.0.1:0' } });
  for (const collector of collectors) manager.addCollector(collector);
  const { stop, done } = start(manager, clock);
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

test('a text may come later', async () => {
  const { status, text } = await metricsOf({
    name: 'prom-client',
    text: async () => '# HELP sites_total Sites.\n# TYPE sites_total counter\nsites_total 3\n',
  });
  expect(status).toBe(200);
  const families = parseText(text);
  expect(families.get('sites_total')?.samples[0]?.value).toBe(3);
  expect(families.get('process_resident_memory_bytes')?.samples).toHaveLength(1);
});

test('all that fail are named in the answer, and reported', async () => {
  const wrong = { name: 'wrong', text: () => ({}) as string };
  expect(await metricsOf(new Register(), wrong)).toEqual({
    status: 500,
    text: `An error has occurred while serving metrics:

collector 5, an object of class Register: no figures
collector "wrong": "collector.text()" expected a string, got an object
`,
  });
  expect(reported).toMatchObject([{ message: 'no figures' }, { code: 'INVALID_ARGUMENT' }]);
});

test('who gives none within ten seconds fails, and whoever did leaves no timer', async () => {
  const clock = new FakeClock();
  const never = new Promise<string>(() => undefined);
  const all = collect([{ text: () => 'a 1\n' }, { name: 'slow', text: () => never }], clock);
  await clock.run(9_999);
  expect(clock.timers()).toBe(1);
  await clock.run(1);
  expect(await all).toEqual([
    { who: 'collector 1, an object', text: 'a 1\n' },
    { who: 'collector "slow"', error: expect.objectContaining({ code: 'TIMEOUT' }) },
  ]);
  expect(clock.timers()).toBe(0);
});
