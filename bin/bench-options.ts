/** The options of `capstan bench`, as parsed from the command line. */
import { CapstanError } from 'capstan/workqueue';
import type { WorkloadOptions } from './bench-workload.ts';
import { text } from './command.ts';
import { nearestWord } from './nearest.ts';

export interface BenchOptions extends WorkloadOptions {
  readonly keys: string | undefined;
  readonly generate: number;
  readonly pattern: string;
  readonly rounds: number;
  readonly peer: string | undefined;
  readonly svg: string | undefined;
  readonly html: string | undefined;
}

export const BENCH_HELP = `Usage: capstan bench [options]

Measures a workload on Capstan's queue, on a naive port of client-go's queue to Map and Set, and on
a queue of yours. It checks that no key is lost and none is handed out twice at once.
The cost of the calls is measured as fast as one thread makes them, with delays in virtual time. The
waits are measured in real time, at the rate of --rate.

  --keys <file>            keys, one in each line
  --generate <n>           or so many generated keys               (default: 10000)
  --pattern <pattern>      {i}: the number of the key; {20}: a random number below 20
                                                                   (default: team-{20}/site-{i})
  --seed <n>               repeats the random choices of a run     (default: a random one, printed)
  --adds <n>               adds of a round for the cost            (default: 200000)
  --rate <n>               adds per second of a round for the waits; max: no such rounds
                                                                   (default: 10000)
  --duration <seconds>     of a round for the waits                (default: 2)
  --workers <n>            keys that are worked on at a time       (default: 16)
  --service <ms>           how long a worker holds a key           (default: 0)
  --distribution <name>    of the service time: constant or exponential
                                                                   (default: constant)
  --duplicates <share>     of adds that repeat one of the last 16, 0 to 1      (default: 0)
  --delayed <share>        of adds that are delayed, 0 to 1        (default: 0)
  --delay <ms>             the longest delay; each is random       (default: 1000)
  --rounds <n>             for each queue, after one to warm up    (default: 5)
  --peer <module>          a queue with the same methods: its default export gets { clock }
  --svg <file>             writes a chart there
  --html <file>            writes a page with the chart and the table there

Example: capstan bench --keys keys.txt --rate 5000 --service 2 --workers 32 --html bench.html
`;

export const BENCH_FLAGS = {
  keys: text,
  generate: text,
  pattern: text,
  seed: text,
  adds: text,
  rate: text,
  duration: text,
  workers: text,
  service: text,
  distribution: text,
  duplicates: text,
  delayed: text,
  delay: text,
  rounds: text,
  peer: text,
  svg: text,
  html: text,
} as const;

const DISTRIBUTIONS = ['constant', 'exponential'];

/** @throws CapstanError INVALID_ARGUMENT for a value that the option does not take */
export function benchOptionsOf(values: Readonly<Record<string, unknown>>): BenchOptions {
  const given = values as Readonly<Record<string, string | undefined>>;
  const whole = (name: string, otherwise: number, min: number, max: number): number =>
    numberOf(name, given[name], otherwise, { min, max, whole: true });
  const number = (name: string, otherwise: number, min: number, max: number): number =>
    numberOf(name, given[name], otherwise, { min, max, whole: false });
  if (given.keys !== undefined && (given.generate ?? given.pattern) !== undefined)
    throw wrong('--keys, or --generate and --pattern, got both');
  const delayed = number('delayed', 0, 0, 1);
  if (delayed === 0 && given.delay !== undefined)
    throw wrong('--delayed with --delay: the share of adds that are delayed, got none');
  return {
    keys: given.keys,
    generate: whole('generate', 10_000, 1, 5_000_000),
    pattern: given.pattern ?? 'team-{20}/site-{i}',
    seed: whole('seed', Math.floor(Math.random() * 2 ** 32), 0, 2 ** 32 - 1),
    adds: whole('adds', 200_000, 1, 50_000_000),
    rate: given.rate === 'max' ? undefined : number('rate', 10_000, 0.1, 10_000_000),
    duration: number('duration', 2, 0.01, 3_600),
    workers: whole('workers', 16, 1, 100_000),
    service: number('service', 0, 0, 3_600_000),
    exponential: distributionOf(given.distribution) === 'exponential',
    duplicates: number('duplicates', 0, 0, 1),
    delayed,
    delay: number('delay', 1_000, 0.001, 3_600_000),
    rounds: whole('rounds', 5, 1, 1_000),
    peer: given.peer,
    svg: given.svg,
    html: given.html,
  };
}

function distributionOf(name = 'constant'): string {
  if (DISTRIBUTIONS.includes(name)) return name;
  const meant = nearestWord(name, DISTRIBUTIONS);
  const hint = meant === undefined ? '' : `: did you mean "${meant}"?`;
  throw wrong(`--distribution constant or exponential, got "${name}"${hint}`);
}

function numberOf(
  name: string,
  given: string | undefined,
  otherwise: number,
  rule: { min: number; max: number; whole: boolean },
): number {
  if (given === undefined) return otherwise;
  const value = given.trim() === '' ? Number.NaN : Number(given);
  const fits = rule.whole ? Number.isSafeInteger(value) : Number.isFinite(value);
  if (fits && value >= rule.min && value <= rule.max) return value;
  const what = rule.whole ? 'a whole number' : 'a number';
  throw wrong(`--${name} as ${what} from ${rule.min} to ${rule.max}, got "${given}"`);
}

function wrong(what: string): CapstanError {
  return new CapstanError('INVALID_ARGUMENT', `bench expected ${what}; see capstan bench --help`);
}
