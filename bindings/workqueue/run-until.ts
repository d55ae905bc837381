/**
 * The loop around a worker: k8s.io/apimachinery/pkg/util/wait.Until. It ends by its signal only.
 */
import { type Clock, requireClock, systemClock } from '../base/clock.ts';
import { requireFunction, requireMs } from '../base/errors.ts';
import { handleError } from '../base/handle-error.ts';
import { namesOf, requireNames } from '../base/names.ts';
import { sleep } from '../base/wait.ts';

const NAMES = namesOf<{ signal: AbortSignal; clock: Clock }>()({ signal: 1, clock: 1 });

/**
 * Runs `fn` again and again, `periodMs` after it has ended, until the signal fires; resolves then,
 * after the run under way. A run that throws is reported through the error hook (setErrorHandler)
 * and is followed by the next one after the period.
 *
 * @example
 * await runUntil(async (signal) => {
 *   for (;;) {
 *     const { item, shutdown } = await queue.get({ signal });
 *     if (shutdown) return;
 *     await work(item);
 *   }
 * }, 1000, { signal });
 */
export async function runUntil(
  fn: (signal: AbortSignal | undefined) => Promise<void> | void,
  periodMs: number,
  options: { signal?: AbortSignal | undefined; clock?: Clock | undefined } = {},
): Promise<void> {
  requireNames('options', options, 'option of runUntil()', NAMES);
  requireFunction('fn', fn);
  requireMs('periodMs', periodMs);
  const { signal, clock = systemClock } = options;
  requireClock('clock', clock);
  while (!signal?.aborted) {
    try {
      await fn(signal);
    } catch (error) {
      // Ending by its signal is the usual way for a worker that waits with it; anything else is
      // news, also at the end.
      const usual =
        signal?.aborted &&
        (error === signal.reason || (error as { code?: unknown } | null)?.code === 'ABORTED');
      if (!usual) handleError(error, 'worker');
    }
    await sleep(clock, periodMs, signal);
  }
}
