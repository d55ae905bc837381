/** bindings/workqueue/run-until.ts. */
import { FakeClock, runUntil, setErrorHandler, WorkQueue } from 'capstan/workqueue';
import { describe, expect, test } from 'vitest';
import { expectRejection, invalidArgument } from '../helpers/expect-error.ts';
import { settle, track } from '../helpers/promise-state.ts';

function start() {
  const controller = new AbortController();
  return { clock: new FakeClock(), controller, signal: controller.signal };
}

describe('runUntil', () => {
  test('runs at once, and again a period after each end, until the signal fires', async () => {
    const { clock, controller, signal } = start();
    let runs = 0;
    const ended = track(runUntil(() => void runs++, 100, { signal, clock }));
    await settle();
    expect(runs).toBe(1);
    await clock.run(99);
    expect(runs).toBe(1);
    await clock.run(1);
    expect(runs).toBe(2);
    await clock.run(300);
    expect(runs).toBe(5);
    controller.abort();
    await settle();
    expect(ended.state).toBe('fulfilled');
    expect(clock.timers()).toBe(0);
    await clock.run(1_000);
    expect(runs).toBe(5);
  });

  test('the period counts from the end of a run', async () => {
    const { clock, controller, signal } = start();
    let runs = 0;
    let finish = () => {};
    const ended = track(
      runUntil(
        () => {
          runs++;
          return new Promise<void>((resolve) => {
            finish = resolve;
          });
        },
        100,
        { signal, clock },
      ),
    );
    await clock.run(1_000);
    expect(runs).toBe(1);
    finish();
    await clock.run(99);
    expect(runs).toBe(1);
    await clock.run(1);
    expect(runs).toBe(2);
    controller.abort();
    await settle();
    expect(ended.state).toBe('pending'); // the running call is awaited
    finish();
    await settle();
    expect(ended.state).toBe('fulfilled');
  });

  test('a run that throws or rejects is reported, and the next one follows', async () => {
    const { clock, controller, signal } = start();
    const reported: string[] = [];
    const previous = setErrorHandler((error) => reported.push((error as Error).message));
    try {
      let runs = 0;
      const ended = runUntil(
        () => {
          runs++;
          if (runs === 1) throw new Error('thrown');
          return runs === 2 ? Promise.reject(new Error('rejected')) : undefined;
        },
        100,
        { signal, clock },
      );
      await clock.run(250);
      expect(runs).toBe(3);
      expect(reported).toEqual(['thrown', 'rejected']);
      controller.abort();
      await ended;
    } finally {
      setErrorHandler(previous);
    }
  });

  test('a worker that fails on an item is restarted and loses no other', async () => {
    const { clock, controller, signal } = start();
    const previous = setErrorHandler(() => {});
    try {
      const queue = new WorkQueue();
      const seen: string[] = [];
      const worker = async () => {
        for await (const item of queue) {
          queue.done(item);
          if (item === 'bad') throw new Error('bad item');
          seen.push(item);
        }
      };
      const ended = runUntil(worker, 1_000, { signal, clock });
      for (const item of ['a', 'bad', 'b']) queue.add(item);
      await settle();
      expect(seen).toEqual(['a']);
      await clock.run(1_000);
      expect(seen).toEqual(['a', 'b']);
      controller.abort();
      queue.shutDown();
      await ended;
    } finally {
      setErrorHandler(previous);
    }
  });

  test('an abort error of a waiting worker is the end, not a failure', async () => {
    const { clock, controller, signal } = start();
    const reported: unknown[] = [];
    const previous = setErrorHandler((error) => reported.push(error));
    try {
      const queue = new WorkQueue();
      const ended = runUntil(async (own) => void (await queue.get({ signal: own })), 100, {
        signal,
        clock,
      });
      await settle();
      controller.abort();
      await ended;
      expect(reported).toEqual([]);
    } finally {
      setErrorHandler(previous);
    }
  });

  test('a signal that has fired before: nothing runs', async () => {
    let runs = 0;
    await runUntil(() => void runs++, 100, { signal: AbortSignal.abort() });
    expect(runs).toBe(0);
  });

  test.each([
    ['fn', undefined, 100],
    ['periodMs', () => {}, Number.NaN],
    ['periodMs', () => {}, -1],
    ['periodMs', () => {}, '100'],
  ])('a bad "%s" is a typed error that names it', async (name, fn, periodMs) => {
    const call = async () =>
      runUntil(invalidArgument(fn), invalidArgument(periodMs), { signal: AbortSignal.abort() });
    await expectRejection(call(), 'INVALID_ARGUMENT', name);
  });
});
