/** Time for one item of work, on the clock that everything else goes by. */
import type { Clock } from 'capstan/workqueue';

/**
 * Runs `work` with a signal that fires when `signal` does, or after `ms` milliseconds. Work that
 * does not heed it is waited for.
 */
export async function withDeadline<R>(
  clock: Clock,
  ms: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<R>,
): Promise<R> {
  const late = new AbortController();
  const timer = clock.setTimer(() => late.abort(new Error(`not done within ${ms} ms`)), ms);
  try {
    return await work(AbortSignal.any([signal, late.signal]));
  } finally {
    clock.clearTimer(timer);
  }
}

/** Resolves after `ms` milliseconds, or as soon as the signal fires. */
export function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clock.clearTimer(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = clock.setTimer(end, ms);
    if (signal.aborted) end();
    else signal.addEventListener('abort', end);
  });
}
