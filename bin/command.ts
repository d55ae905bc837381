/** What commands share: types of flags, what they print, and the error for wrong arguments. */
import { CapstanError } from 'capstan/workqueue';

/** Flags as `parseArgs` of Node declares them. */
export const text = { type: 'string' } as const;
export const texts = { type: 'string', multiple: true } as const;
export const flag = { type: 'boolean' } as const;

/** What a command prints, and its exit code. */
export interface Printed {
  readonly text: string;
  readonly code: number;
}

/** An error that names the help to read. */
export function usage(what: string, command?: string, cause?: unknown): CapstanError {
  const help = command === undefined ? 'capstan --help' : `capstan ${command} --help`;
  return new CapstanError('INVALID_ARGUMENT', `${what}; see ${help}`, { cause });
}
