/**
 * A short form of bench/controller/start-stop-run.ts: a hundred managers with controllers, sources,
 * election and client, each stopped at a random point. `npm run soak:start-stop` is the long form
 * with a thousand.
 */

import { expect, test } from 'vitest';
import {
  grewTooMuch,
  type StartStopReport,
  startStop,
} from '../../bench/controller/start-stop-run.ts';
import { systemClock } from '../../bindings/base/clock.ts';
import { collectGarbage } from '../helpers/garbage-collection.ts';
import { Random, testSeed } from '../helpers/random.ts';

function run(
  cycles: number,
  meddle: (call: number) => void = () => undefined,
  patience?: number,
): Promise<StartStopReport> {
  const seed = testSeed();
  console.log(`CAPSTAN_SEED=${seed}`);
  const random = new Random(seed);
  let calls = 0;
  return startStop({
    cycles,
    ...(patience !== undefined && { patience }),
    collect: collectGarbage,
    random: () => {
      meddle(calls++);
      return random.next();
    },
  });
}

test('managers that are stopped at random points leave nothing behind and free their memory', {
  timeout: 120_000,
}, async () => {
  const { problems, reconciles, worked, led, failed } = await run(100);
  expect(problems).toEqual([]);
  expect(reconciles).toBeGreaterThan(100);
  for (const count of [worked, led, failed]) expect(count).toBeGreaterThan(0);
});

test('timers that are left are found, and memory that is not given back', {
  timeout: 120_000,
}, async () => {
  const timers: unknown[] = []; // the test runner has timers of its own
  const leak = (call: number): void => {
    if (call < 10) timers.push(systemClock.setTimer(() => undefined, 1e6));
  };
  const { problems } = await run(10, leak, 200);
  for (const timer of timers) systemClock.clearTimer(timer);
  expect(problems).toEqual(['after cycle 10 there is more than before: Timeout']);
  const report = { problems: [], reconciles: 1, worked: 1, led: 1, failed: 1, early: 30e6 };
  expect(grewTooMuch({ ...report, late: 31e6 })).toBe(false);
  expect(grewTooMuch({ ...report, late: 40e6 })).toBe(true);
});
