/** Telling the way a call ends that was told to end from a failure. */

import { someCause } from '../errors.ts';

const CODES: readonly unknown[] = ['ABORTED', 'STOPPED'];

/**
 * Whether an error says no more than that a signal fired; also one that was caused by such an
 * error. Go: errors.Is(err, context.Canceled).
 */
export function isAbort(error: unknown): boolean {
  return someCause(
    error,
    ({ name, code, kind }) => name === 'AbortError' || CODES.includes(code) || kind === 'aborted',
  );
}

/**
 * Resolves when the signal fires. For signals that end with what waits for them: the listener stays
 * until then.
 */
export function whenAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) =>
    signal.addEventListener('abort', () => resolve(), { once: true }),
  );
}
