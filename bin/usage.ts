/** The error for arguments of the command line, which names the help to read. */
import { CapstanError } from 'capstan';

export function usage(what: string, command?: string, cause?: unknown): CapstanError {
  const help = command === undefined ? 'capstan --help' : `capstan ${command} --help`;
  return new CapstanError('INVALID_ARGUMENT', `${what}; see ${help}`, { cause });
}
