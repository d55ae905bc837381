/**
 * What a manager is given fails: its logger, reports of what it runs. It still runs and ends
 * everything.
 */
import { CapstanError } from 'capstan/workqueue';
import { expect, test } from 'vitest';
import { hearReports } from '../workqueue/reported.ts';
import { managerOf, recorded, start } from './managers.ts';

const reported = hearReports();

const broken = (): never => {
  throw new Error('broken');
};

// The end began with a line in the log. Where the logger threw (a destination that had been closed
// by then) nothing was stopped: runnables went on, servers listened, the lease was renewed, while
// `start` had rejected. A runnable that failed was never heard of either.
test('a logger that throws keeps a manager neither from starting nor from ending, nor a failure from being told', async () => {
  const log: string[] = [];
  const { manager, clock } = managerOf({
    logger: { debug: broken, info: broken, warn: broken, error: broken },
    metrics: { bindAddress: '127.0.0.1:0' },
  });
  manager.add(recorded(log, 'worker'));
  const failing = Promise.withResolvers<void>();
  manager.add({ name: 'failing', start: () => failing.promise });
  const { done } = start(manager, clock);
  await manager.elected();
  failing.reject(new Error('the runnable failed'));
  await expect(done).rejects.toThrow('the runnable failed');
  expect(log).toEqual(['worker starts', 'worker is stopped', 'worker ends']);
  await expect(fetch(`${manager.url('metrics')}/metrics`)).rejects.toThrow();
  expect(clock.timers()).toBe(0);
  expect(reported.map((error) => (error as Error).message)).toContain('the runnable failed');
});

// One runnable that could not say what it does made the report fail, and with it the live page for
// all the others: whatever it threw, and then still where that was INVALID_ARGUMENT, as of a
// controller whose rate limiter refuses its requests.
test.each([
  ['any error', broken],
  [
    'INVALID_ARGUMENT',
    () => {
      throw new CapstanError('INVALID_ARGUMENT', 'broken');
    },
  ],
])('a runnable whose report throws is left out of it: %s', async (_, report) => {
  const { manager, clock } = managerOf();
  manager.add({ ...recorded([], 'mute'), report });
  const { stop, done } = start(manager, clock);
  await manager.elected();
  expect(manager.report()).toMatchObject({ controllers: [], runnables: expect.any(Array) });
  expect(reported).toMatchObject([{ message: 'broken' }]);
  expect(() => manager.report({ limit: -1 })).toThrow(/"limit" expected an integer/);
  stop();
  await done;
});

test('what was never started is told once that it never will be, and what it throws then is reported', async () => {
  const { manager, clock } = managerOf();
  const discarded: string[] = [];
  manager.add({ ...recorded([], 'one'), discard: () => void discarded.push('one') });
  manager.add({
    ...recorded([], 'two'),
    discard: () => {
      discarded.push('two');
      broken();
    },
  });
  const { stop, done } = start(manager, clock);
  stop();
  await done;
  expect(discarded).toEqual(['one', 'two']);
  expect(reported).toMatchObject([{ message: 'broken' }]);
});

test('a runnable that gives back what it holds is waited for, up to the grace period, and its rejection is reported', async () => {
  const { manager, clock } = managerOf({ gracefulShutdownTimeout: 1000 });
  const given = Promise.withResolvers<void>();
  manager.add({ ...recorded([], 'one'), discard: () => given.promise });
  manager.add({ ...recorded([], 'two'), discard: async () => broken() });
  manager.add({ ...recorded([], 'three'), discard: () => new Promise(() => undefined) });
  const { stop, done } = start(manager, clock);
  stop();
  await clock.settle();
  given.resolve();
  const end = expect(done).rejects.toThrow('not ended within the grace period of 1000 ms: three (');
  await clock.run(1000);
  await end;
  expect(reported).toMatchObject([{ message: 'broken' }]);
});

test('what runs is not told to give back what it holds: it ends by its signal', async () => {
  const { manager, clock } = managerOf();
  const discarded: string[] = [];
  manager.add({ ...recorded([], 'one'), discard: () => void discarded.push('one') });
  const { stop, done } = start(manager, clock);
  await manager.elected();
  stop();
  await done;
  expect(discarded).toEqual([]);
});
