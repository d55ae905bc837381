/** bindings/workqueue/parallelize.ts. */
import { parallelizeUntil } from 'capstan/workqueue';
import { describe, expect, test } from 'vitest';
import { expectRejection, invalidArgument } from '../helpers/expect-error.ts';
import { settle, track } from '../helpers/promise-state.ts';

describe('parallelizeUntil', () => {
  test.each([
    [1, 10, 1],
    [3, 100, 1],
    [3, 100, 7],
    [16, 5, 1],
    [4, 9, 100],
    [2, 1, 1],
  ])(
    '%i workers, %i pieces in chunks of %i: every piece once',
    async (workers, pieces, chunkSize) => {
      const seen: number[] = [];
      await parallelizeUntil(workers, pieces, (piece) => void seen.push(piece), { chunkSize });
      expect(seen.sort((a, b) => a - b)).toEqual(Array.from({ length: pieces }, (_, i) => i));
    },
  );

  test('no more than the workers run at once, and all of them run', async () => {
    let running = 0;
    let most = 0;
    const finish: (() => void)[] = [];
    const all = track(
      parallelizeUntil(3, 8, async () => {
        most = Math.max(most, ++running);
        await new Promise<void>((resolve) => finish.push(resolve));
        running--;
      }),
    );
    while (all.state === 'pending') {
      await settle();
      finish.shift()?.();
    }
    expect(all.state).toBe('fulfilled');
    expect(most).toBe(3);
  });

  test('no pieces: nothing runs', async () => {
    let ran = 0;
    await parallelizeUntil(3, 0, () => void ran++);
    expect(ran).toBe(0);
  });

  test('a signal stops further pieces; running ones are awaited', async () => {
    const controller = new AbortController();
    const seen: number[] = [];
    const finish: (() => void)[] = [];
    const all = track(
      parallelizeUntil(
        2,
        100,
        async (piece) => {
          seen.push(piece);
          await new Promise<void>((resolve) => finish.push(resolve));
        },
        { signal: controller.signal },
      ),
    );
    await settle();
    expect(seen).toHaveLength(2);
    controller.abort();
    await settle();
    expect(all.state).toBe('pending');
    for (const one of finish) one();
    await settle();
    expect(all.state).not.toBe('pending');
    expect(seen).toHaveLength(2);
  });

  test('a signal that has fired before: nothing runs', async () => {
    let ran = 0;
    const all = track(parallelizeUntil(3, 10, () => void ran++, { signal: AbortSignal.abort() }));
    await settle();
    expect(all.state).not.toBe('pending');
    expect(ran).toBe(0);
  });

  test.each([
    [
      'thrown',
      () => {
        throw new Error('piece 1');
      },
    ],
    ['rejected', () => Promise.reject(new Error('piece 1'))],
  ])(
    'an error that is %s stops further pieces and rejects after running ones',
    async (_how, fail) => {
      const seen: number[] = [];
      let finish = () => {};
      const all = track(
        parallelizeUntil(2, 100, (piece) => {
          seen.push(piece);
          if (piece === 1) return fail();
          return new Promise<void>((resolve) => {
            finish = resolve;
          });
        }),
      );
      await settle();
      expect(all.state).toBe('pending');
      finish();
      await settle();
      expect(all.state).toBe('rejected');
      expect((all.error as Error).message).toBe('piece 1');
      expect(seen).toEqual([0, 1]);
    },
  );

  test('a chunk size below 1 means 1, as in client-go', async () => {
    const seen: number[] = [];
    await parallelizeUntil(2, 4, (piece) => void seen.push(piece), { chunkSize: -5 });
    expect(seen).toEqual([0, 1, 2, 3]);
  });

  test.each([
    ['workers', 0, 1, () => {}, {}],
    ['workers', Number.NaN, 1, () => {}, {}],
    ['workers', '3', 1, () => {}, {}],
    ['pieces', 1, -1, () => {}, {}],
    ['pieces', 1, 1.5, () => {}, {}],
    ['run', 1, 1, undefined, {}],
    ['chunkSize', 1, 1, () => {}, { chunkSize: 1.5 }],
    ['signal', 1, 1, () => {}, { signal: 5 }],
  ])('a bad "%s" is a typed error that names it', async (name, workers, pieces, run, options) => {
    const call = async () =>
      parallelizeUntil(
        invalidArgument(workers),
        invalidArgument(pieces),
        invalidArgument(run),
        invalidArgument(options),
      );
    await expectRejection(call(), 'INVALID_ARGUMENT', new RegExp(name));
  });
});
