/**
 * The workload of `capstan bench`: which keys are added in which order, which of the adds are
 * delayed, and how long each key is worked on. All of it follows from the options and the seed, so
 * each queue and each round gets the same.
 */
import { CapstanError } from 'capstan/workqueue';

export interface WorkloadOptions {
  /** The number of adds in a round without a pace. */
  readonly adds: number;
  /** Adds per second in a round at a constant pace; undefined: no such rounds. */
  readonly rate: number | undefined;
  /** Seconds of a round at a constant pace. */
  readonly duration: number;
  readonly workers: number;
  /** Milliseconds that a worker holds a key. */
  readonly service: number;
  readonly exponential: boolean;
  /** The share of adds that are delayed, and the longest delay in milliseconds. */
  readonly delayed: number;
  readonly delay: number;
  /** The share of adds that repeat one of the last keys. */
  readonly duplicates: number;
  readonly seed: number;
}

/** The adds of a round. */
export interface Adds {
  readonly count: number;
  /** The two parts of the key of each add. Each add joins them anew, as an event handler does. */
  key(add: number): string;
  /** Milliseconds; 0: at once. */
  readonly delays: Float64Array;
  /** Milliseconds that a worker holds the key that it got with this number. */
  readonly services: Float64Array;
}

/** A repeated add repeats one of this many adds before it. */
const REPEATS = 16;

export function addsOf(keys: readonly string[], count: number, options: WorkloadOptions): Adds {
  const random = randomOf(options.seed);
  const which = new Int32Array(count);
  const delays = new Float64Array(count);
  const services = new Float64Array(count);
  let next = 0;
  for (let i = 0; i < count; i++) {
    const repeats = i > 0 && random() < options.duplicates;
    if (repeats) which[i] = which[i - 1 - Math.floor(random() * Math.min(i, REPEATS))] ?? 0;
    else {
      which[i] = next;
      next = (next + 1) % keys.length;
    }
    // Never 0, which means "at once".
    if (random() < options.delayed) delays[i] = Math.max((1 - random()) * options.delay, 0.001);
    services[i] = options.exponential ? -Math.log(1 - random()) * options.service : options.service;
  }
  const heads = keys.map((key) => key.slice(0, key.lastIndexOf('/') + 1));
  const tails = keys.map((key) => key.slice(key.lastIndexOf('/') + 1));
  const key = (add: number): string => {
    const i = which[add] ?? 0;
    return `${heads[i]}${tails[i]}`;
  };
  return { count, key, delays, services };
}

/**
 * Keys of a pattern: `{i}` is the number of the key, and `{20}` a random number below 20.
 *
 * @throws CapstanError INVALID_ARGUMENT for a pattern without `{i}`, whose keys would be the same
 */
export function generateKeys(count: number, pattern: string, seed: number): string[] {
  if (!pattern.includes('{i}'))
    throw new CapstanError(
      'INVALID_ARGUMENT',
      '--pattern expected {i}, the number of the key, as in "team-{20}/site-{i}", got ' +
        JSON.stringify(pattern),
    );
  const random = randomOf(seed ^ 0x5bd1e995);
  return Array.from({ length: count }, (_, i) =>
    pattern.replace(/\{(i|\d+)\}/g, (_, what: string) =>
      what === 'i' ? String(i) : String(Math.floor(random() * Number(what))),
    ),
  );
}

/** The keys of a file: one a line; empty lines are skipped, and each key is taken once. */
export function keysOfText(text: string, path: string): string[] {
  const keys = [...new Set(text.split(/\r?\n/).filter((line) => line !== ''))];
  if (keys.length > 0) return keys;
  throw new CapstanError(
    'INVALID_ARGUMENT',
    `--keys ${path} expected a key in each line, got no key`,
  );
}

/** Random numbers from 0 to below 1: mulberry32, which is enough for a workload. */
function randomOf(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
