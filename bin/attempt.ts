/**
 * Gives errors of other modules and of the file system a code, with what was tried, why it failed,
 * and the cause.
 */
import { CapstanError } from 'capstan';

/** @throws CapstanError INVALID_ARGUMENT for whatever `run` throws */
export async function attempt<T>(what: string, run: () => T | Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (cause) {
    throw new CapstanError('INVALID_ARGUMENT', `${what}: ${thrownText(cause)}`, { cause });
  }
}

/** Modules may throw anything. */
export function thrownText(error: unknown): string {
  try {
    return error instanceof Error ? error.message : String(error);
  } catch {
    return 'something that has no text';
  }
}
