/** Parses the command line of the demo. An unknown flag is an error. */
import { parseArgs } from 'node:util';

export interface DemoOptions {
  objects: number;
  /** The duration of the churn, in seconds. */
  duration: number;
  workers: number;
  server: string | undefined;
  kubeconfig: string | undefined;
  json: boolean;
  seed: number;
}

export const USAGE = `Usage: npm run demo -- [flags]

  --objects N        Websites that exist at a time (2000; on a real server 200)
  --duration S       seconds of churn (15)
  --workers N        concurrent reconciles (16; on a real server 8)
  --server URL       run on this API server instead of the embedded one
  --kubeconfig FILE  run on the cluster of this kubeconfig's current context
  --json             the last line of the output is the summary as JSON
  --help             this text

A run on a real server works in a new namespace, creates the Website CustomResourceDefinition if it
is missing, starts no Pods, and removes what it created. CAPSTAN_SEED repeats a run's choices.
Exit code: 0 verified, 1 not verified, 2 a bad flag, 130 interrupted.`;

export class UsageError extends Error {}

/** `undefined` for `--help`. */
export function parseOptions(
  args: string[],
  env: { CAPSTAN_SEED?: string },
): DemoOptions | undefined {
  const values = parse(args);
  if (values.help) return undefined;
  const { server, kubeconfig } = values;
  if (server !== undefined && kubeconfig !== undefined)
    throw new UsageError('--server and --kubeconfig exclude each other');
  if (server !== undefined && !/^https?:\/\/./.test(server)) {
    throw new UsageError(`--server expected an http or https URL, got ${JSON.stringify(server)}`);
  }
  const real = server !== undefined || kubeconfig !== undefined;
  return {
    objects: number('--objects', values.objects, real ? 200 : 2000, { min: 1, integer: true }),
    duration: number('--duration', values.duration, 15, { min: 0, integer: false }),
    workers: number('--workers', values.workers, real ? 8 : 16, { min: 1, integer: true }),
    server,
    kubeconfig,
    json: values.json ?? false,
    seed: number('CAPSTAN_SEED', env.CAPSTAN_SEED, Math.floor(Math.random() * 2 ** 32), {
      min: 0,
      integer: true,
    }),
  };
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      options: {
        objects: { type: 'string' },
        duration: { type: 'string' },
        workers: { type: 'string' },
        server: { type: 'string' },
        kubeconfig: { type: 'string' },
        json: { type: 'boolean' },
        help: { type: 'boolean' },
      },
    }).values;
  } catch (error) {
    throw new UsageError((error as Error).message, { cause: error });
  }
}

function number(
  name: string,
  text: string | undefined,
  otherwise: number,
  rule: { min: number; integer: boolean },
): number {
  if (text === undefined) return otherwise;
  const value = text.trim() === '' ? Number.NaN : Number(text);
  const fits = rule.integer ? Number.isSafeInteger(value) : Number.isFinite(value);
  if (fits && value >= rule.min) return value;
  const what = rule.integer ? 'an integer' : 'a number';
  throw new UsageError(
    `${name} expected ${what} of ${rule.min} or more, got ${JSON.stringify(text)}`,
  );
}
