/** What a manager is given fails: its logger, reports of what it runs. It still runs and ends everything. */
import { expect, test } from 'vitest';
import { hearReports } from '../workqueue/reported.ts';
import { managerOf, recorded, start } from './managers.ts';

const reported = hearReports();

const broken = (): never => {
  throw new Error('broken');
};

// The end began with a line in the log. Where the logger threw (a destination that had been closed by then) nothing was stopped: runnables went on,
// servers listened, the lease was renewed, while `start` had rejected. A runnable that failed was never heard of either.
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

// One runnable that could not say what it does made the report fail, and with it the live page for all the others.
test('a runnable whose report throws is left out of it', async () => {
  const { manager, clock } = managerOf();
  manager.add({ ...recorded([], 'mute'), report: broken });
  const { stop, done } = start(manager, clock);
  await manager.elected();
  expect(manager.report()).toMatchObject({ controllers: [], runnables: expect.any(Array) });
  expect(reported).toMatchObject([{ message: 'broken' }]);
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
