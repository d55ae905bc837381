/**
 * Flags of the measuring scripts: numbers and words, each with its default. A misspelt flag, or a
 * value out of range, is an error that lists the flags.
 */
import { parseArgs } from 'node:util';

/** Numbers are whole and above 0. A list of words: one of them, by default the first. */
export type Flags = Record<string, number | readonly string[]>;
export type Values<F extends Flags> = { [K in keyof F]: F[K] extends number ? number : string };

/** @throws Error with a message for the user */
export function readFlags<const F extends Flags>(args: readonly string[], flags: F): Values<F> {
  const options = Object.fromEntries(
    Object.keys(flags).map((name) => [name, { type: 'string' as const }]),
  );
  const { values } = parseArgs({ args: [...args], options });
  const read: Record<string, number | string> = {};
  for (const [name, known] of Object.entries(flags)) {
    const given = values[name];
    if (typeof known === 'number') {
      const number = given === undefined ? known : Number(given);
      if (!(Number.isSafeInteger(number) && number > 0)) {
        throw new Error(`--${name} expected a whole number above 0, got ${JSON.stringify(given)}`);
      }
      read[name] = number;
    } else {
      const word = (given ?? known[0]) as string;
      if (!known.includes(word)) {
        throw new Error(
          `--${name} expected one of ${known.join(', ')}; got ${JSON.stringify(given)}`,
        );
      }
      read[name] = word;
    }
  }
  return read as Values<F>;
}

/** Reads the process's own flags; on a bad one it prints the usage and ends with 1. */
export function flagsOrExit<const F extends Flags>(script: string, flags: F): Values<F> {
  try {
    return readFlags(process.argv.slice(2), flags);
  } catch (error) {
    const usage = Object.entries(flags).map(([name, known]) =>
      typeof known === 'number'
        ? `[--${name} N (${known})]`
        : `[--${name} ${(known as readonly string[]).join('|')}]`,
    );
    console.error(`${(error as Error).message}\nusage: ${script} ${usage.join(' ')}`);
    process.exit(1);
  }
}
