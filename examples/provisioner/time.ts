/** Time limits and pauses on an injected clock. */
import type { Clock } from 'capstan/workqueue';

/**
 * Runs `work` with a signal that fires with `signal` or after `ms` milliseconds. Waits for work
 * that ignores the signal.
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
