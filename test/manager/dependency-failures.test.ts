/**
 * User-supplied parts of a manager that fail: its logger, and reports of its runnables. It still
 * runs and stops everything.
 */
import { CapstanError } from 'capstan/workqueue';
import { expect, test } from 'vitest';
import { collectErrorValues } from '../helpers/reported-errors.ts';
import { managerOf, recordedRunnable, startManager } from './recording-runnables.ts';

const reported = collectErrorValues();

const broken = (): never => {
  throw new Error('broken');
};

// The stop began with a log line. If the logger threw (its destination was closed by then), nothing
// was stopped: runnables went on, servers listened, the lease was renewed, although `start` had
// rejected. The failure of a runnable was not reported either.
test('a logger that throws prevents neither start nor stop of a manager', async () => {
  const log: string[] = [];
  const { manager, clock } = managerOf({
    logger: { debug: broken, info: broken, warn: broken, error: broken },
    metrics: { bindAddress: '127.0.0.1:0' },
  });
  manager.add(recordedRunnable(log, 'worker'));
  const failing = Promise.withResolvers<void>();
  manager.add({ name: 'failing', start: () => failing.promise });
  const { done } = startManager(manager, clock);
  await manager.elected();
  failing.reject(new Error('the runnable failed'));
  await expect(done).rejects.toThrow('the runnable failed');
  expect(log).toEqual(['worker starts', 'worker is stopped', 'worker ends']);
  await expect(fetch(`${manager.url('metrics')}/metrics`)).rejects.toThrow();
  expect(clock.timers()).toBe(0);
  expect(reported.map((error) => (error as Error).message)).toContain('the runnable failed');
});

// One runnable whose report threw made the whole report fail, and with it the live page. Later it
// still did if the error was INVALID_ARGUMENT, as of a controller whose rate limiter refuses its
// requests.
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
  manager.add({ ...recordedRunnable([], 'mute'), report });
  const { stop, done } = startManager(manager, clock);
  await manager.elected();
  expect(manager.report()).toMatchObject({ controllers: [], runnables: expect.any(Array) });
  expect(reported).toMatchObject([{ message: 'broken' }]);
  expect(() => manager.report({ limit: -1 })).toThrow(/"limit" expected an integer/);
  stop();
  await done;
});

test('a runnable that was never started gets discard once, and its error is reported', async () => {
  const { manager, clock } = managerOf();
  const discarded: string[] = [];
  manager.add({ ...recordedRunnable([], 'one'), discard: () => void discarded.push('one') });
  manager.add({
    ...recordedRunnable([], 'two'),
    discard: () => {
      discarded.push('two');
      broken();
    },
  });
  const { stop, done } = startManager(manager, clock);
  stop();
  await done;
  expect(discarded).toEqual(['one', 'two']);
  expect(reported).toMatchObject([{ message: 'broken' }]);
});

test('discard is awaited for at most the grace period, and its rejection is reported', async () => {
  const { manager, clock } = managerOf({ gracefulShutdownTimeout: 1000 });
  const given = Promise.withResolvers<void>();
  manager.add({ ...recordedRunnable([], 'one'), discard: () => given.promise });
  manager.add({ ...recordedRunnable([], 'two'), discard: async () => broken() });
  manager.add({ ...recordedRunnable([], 'three'), discard: () => new Promise(() => undefined) });
  const { stop, done } = startManager(manager, clock);
  stop();
  await clock.settle();
  given.resolve();
  const end = expect(done).rejects.toThrow('not ended within the grace period of 1000 ms: three (');
  await clock.run(1000);
  await end;
  expect(reported).toMatchObject([{ message: 'broken' }]);
});

test('a running runnable gets no discard: it ends by its signal', async () => {
  const { manager, clock } = managerOf();
  const discarded: string[] = [];
  manager.add({ ...recordedRunnable([], 'one'), discard: () => void discarded.push('one') });
  const { stop, done } = startManager(manager, clock);
  await manager.elected();
  stop();
  await done;
  expect(discarded).toEqual([]);
});
