/** Telling the way a call ends that was told to end from a failure. */

const CODES: readonly unknown[] = ['ABORTED', 'STOPPED'];

/** Whether an error says no more than that a signal fired; also one that was caused by such an error. Go: errors.Is(err, context.Canceled). */
export function isAbort(error: unknown): boolean {
  for (let current = error, depth = 0; current instanceof Error && depth < 8; current = current.cause, depth++) {
    const { name, code, kind } = current as Error & { code?: unknown; kind?: unknown };
    if (name === 'AbortError' || CODES.includes(code) || kind === 'aborted') return true;
  }
  return false;
}

/** Resolves when the signal fires. For signals that end with what waits for them: the listener stays until then. */
export function whenAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}
