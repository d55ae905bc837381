/**
 * Retries after conflicts, on a fake clock. client-go: util/retry/util_test.go, apimachinery:
 * pkg/util/wait/backoff_test.go.
 */
import { StatusError } from 'capstan/cache';
import {
  defaultBackoff,
  defaultRetry,
  isTooManyRequests,
  retryOnConflict,
  retryOnError,
} from 'capstan/client';
import { FakeClock } from 'capstan/testing';
import { describe, expect, test } from 'vitest';

const failure = (status: number, reason: string) =>
  new StatusError(status, { kind: 'Status', reason }, 'test');
const conflict = () => failure(409, 'Conflict');

/** Fails with these errors in turn, and then returns 'done'; records the times of its calls. */
function failing(clock: FakeClock, ...errors: unknown[]) {
  const calls: number[] = [];
  const fn = () => {
    calls.push(clock.now());
    if (errors.length > 0) throw errors.shift();
    return 'done';
  };
  return { fn, calls };
}

async function run<R>(clock: FakeClock, result: Promise<R>): Promise<R | { error: unknown }> {
  const caught = result.catch((error: unknown) => ({ error }));
  await clock.run(10_000);
  return caught;
}

describe('retryOnConflict', () => {
  test("returns the function's result, at once if there is no conflict", async () => {
    const clock = new FakeClock();
    const { fn, calls } = failing(clock);
    expect(await retryOnConflict(defaultRetry, fn, { clock })).toBe('done');
    expect(calls).toEqual([0]);
  });

  test('retries after a conflict, and not after another error', async () => {
    const clock = new FakeClock();
    const again = failing(clock, conflict());
    expect(
      await run(clock, retryOnConflict(defaultRetry, again.fn, { clock, random: () => 0 })),
    ).toBe('done');
    expect(again.calls).toEqual([0, 10]);
    const other = failure(404, 'NotFound');
    const once = failing(clock, other);
    expect(await run(clock, retryOnConflict(defaultRetry, once.fn, { clock }))).toEqual({
      error: other,
    });
    expect(once.calls).toHaveLength(1);
  });

  test('gives up after its steps with the last conflict', async () => {
    const clock = new FakeClock();
    const errors = Array.from({ length: 10 }, conflict);
    const { fn, calls } = failing(clock, ...errors);
    const result = await run(clock, retryOnConflict(defaultRetry, fn, { clock, random: () => 0 }));
    expect(result).toEqual({ error: errors[4] });
    expect((result as { error: unknown }).error).not.toBe(errors[3]);
    expect(calls).toEqual([0, 10, 20, 30, 40]);
  });

  test('waits longer each time by its back-off, with jitter', async () => {
    const clock = new FakeClock();
    const { fn, calls } = failing(clock, ...Array.from({ length: 9 }, conflict));
    await run(clock, retryOnConflict(defaultBackoff, fn, { clock, random: () => 0 }));
    expect(calls).toEqual([0, 10, 60, 310]);
    const jittered = failing(clock, conflict(), conflict());
    const start = clock.now();
    await run(clock, retryOnConflict(defaultBackoff, jittered.fn, { clock, random: () => 0.5 }));
    expect(jittered.calls.map((at) => at - start)).toEqual([0, 10.5, 63]);
  });

  // wait.Backoff drops all steps once a wait would be longer than the cap, and waits once more:
  // verified with Go.
  test.each([
    [50, [0]],
    [500, [0, 10]],
    [5000, [0, 10, 110]],
  ])('with a cap of %i ms calls as often as client-go', async (cap, expected) => {
    const clock = new FakeClock();
    const { fn, calls } = failing(clock, ...Array.from({ length: 9 }, conflict));
    await run(clock, retryOnConflict({ steps: 9, duration: 10, factor: 10, cap }, fn, { clock }));
    expect(calls).toEqual(expected);
  });

  // Taken literally these options meant one wait, and waits of no time: in Go 0 means unset.
  test.each([
    [{ cap: 0, factor: 10 }, [0, 10, 110]],
    [{ factor: 0 }, [0, 10, 20]],
    [{ factor: 0, cap: 5 }, [0, 10, 20]],
  ])('with %j calls as often as client-go', async (zeros, expected) => {
    const clock = new FakeClock();
    const { fn, calls } = failing(clock, ...Array.from({ length: 9 }, conflict));
    await run(clock, retryOnConflict({ steps: 3, duration: 10, ...zeros }, fn, { clock }));
    expect(calls).toEqual(expected);
  });

  test('ends with its signal, before a call, within one, and within a wait', async () => {
    const clock = new FakeClock();
    const { fn, calls } = failing(clock, conflict());
    await expect(
      retryOnConflict(defaultRetry, fn, { clock, signal: AbortSignal.abort() }),
    ).rejects.toMatchObject({
      code: 'ABORTED',
    });
    expect(calls).toEqual([]);
    const waiting = new AbortController();
    const result = retryOnConflict(defaultRetry, fn, { clock, signal: waiting.signal });
    await clock.settle();
    expect(calls).toHaveLength(1);
    waiting.abort();
    await expect(result).rejects.toMatchObject({ code: 'ABORTED' });
    const calling = new AbortController();
    const stuck = retryOnConflict(defaultRetry, () => new Promise<never>(() => undefined), {
      clock,
      signal: calling.signal,
    });
    calling.abort();
    await expect(stuck).rejects.toMatchObject({ code: 'ABORTED' });
    expect(clock.timers()).toBe(0);
  });

  test('rejects an invalid back-off', async () => {
    for (const backoff of [
      undefined,
      { steps: 0, duration: 1 },
      { steps: 1, duration: -1 },
      { steps: 1, duration: 1, jitter: Number.NaN },
    ])
      await expect(retryOnConflict(backoff as never, () => 1)).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      });
  });
});

test('retryOnError retries after the given errors', async () => {
  const clock = new FakeClock();
  const { fn, calls } = failing(clock, failure(429, 'TooManyRequests'), conflict());
  const result = await run(
    clock,
    retryOnError(defaultRetry, isTooManyRequests, fn, { clock, random: () => 0 }),
  );
  expect(result).toMatchObject({ error: { reason: 'Conflict' } });
  expect(calls).toEqual([0, 10]);
});
