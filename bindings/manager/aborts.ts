/** Waiting for a signal. */

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
