/**
 * Checks of arguments that several files of this folder take. Duck-typed: signals and clocks may
 * come from another realm.
 */
import { CapstanError, invalid } from '../errors.ts';

/** The error of a signal that is none, or undefined. */
export function signalProblem(signal: AbortSignal | undefined): CapstanError | undefined {
  if (signal === undefined) return undefined;
  if (
    typeof signal === 'object' &&
    typeof signal?.aborted === 'boolean' &&
    typeof signal.addEventListener === 'function' &&
    typeof signal.removeEventListener === 'function'
  ) {
    return undefined;
  }
  return invalid('signal', 'an AbortSignal', signal);
}

export function aborted(call: string, signal: AbortSignal): CapstanError {
  return new CapstanError('ABORTED', `${call} was ended by its signal`, { cause: signal.reason });
}
