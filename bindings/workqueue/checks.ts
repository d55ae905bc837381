/** Checks of arguments, and an error, that several files of this folder share. */
import { CapstanError } from '../base/errors.ts';
import { type Names, requireNames } from '../base/names.ts';

/** What is wrong with the options of a call that rejects, or undefined. */
export function problemOf(options: object | undefined, call: string, names: Names): unknown {
  if (options === undefined) return undefined;
  try {
    requireNames('options', options, `option of ${call}`, names);
  } catch (error) {
    return error;
  }
  return undefined;
}

export function aborted(call: string, signal: AbortSignal): CapstanError {
  return new CapstanError('ABORTED', `${call} was ended by its signal`, { cause: signal.reason });
}
