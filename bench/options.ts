/**
 * The command line of the benchmarks: [--work NAME] [--n N] [--json]. Any other argument is an
 * error with the usage, so that a misspelt filter does not measure everything.
 */
import { parseArgs } from 'node:util';

export interface Options {
  work: string | undefined;
  n: number | undefined;
  json: boolean;
}

/** @throws Error with a message for the user */
export function readOptions(args: readonly string[], works: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      work: { type: 'string' },
      n: { type: 'string' },
      json: { type: 'boolean', default: false },
    },
  });
  if (values.work !== undefined && !works.includes(values.work)) {
    throw new Error(
      `--work expected one of ${works.join(', ')}; got ${JSON.stringify(values.work)}`,
    );
  }
  const n = values.n === undefined ? undefined : Number(values.n);
  if (n !== undefined && !(Number.isSafeInteger(n) && n > 0)) {
    throw new Error(`--n expected a whole number above 0, got ${JSON.stringify(values.n)}`);
  }
  return { work: values.work, n, json: values.json };
}

export const USAGE = `usage: npm run bench -- [--work NAME] [--n N] [--json]
  --work NAME  one work only
  --n N        this many keys, objects or events instead of the usual sizes
  --json       a JSON object a line for each figure: {"peer", "work", "n", "ns", ...}`;
