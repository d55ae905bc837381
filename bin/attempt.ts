/**
 * Wraps errors of other modules and of the file system in a CapstanError that says what was tried
 * and why it failed, with the error as cause.
 */
import { CapstanError } from 'capstan/workqueue';

/** @throws CapstanError INVALID_ARGUMENT for whatever `run` throws */
export async function attempt<T>(what: string, run: () => T | Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (cause) {
    throw new CapstanError('INVALID_ARGUMENT', `${what}: ${thrownText(cause)}`, { cause });
  }
}

/** The message of a thrown value, which need not be an Error. */
export function thrownText(error: unknown): string {
  try {
    return error instanceof Error ? error.message : String(error);
  } catch {
    return 'something that has no text';
  }
}
