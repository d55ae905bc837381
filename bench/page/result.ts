/**
 * The result of a run, which the page shows, shares and saves. Figures are nanoseconds per
 * operation, times of the steady load are milliseconds. A ratio is our time over the naive port's,
 * so below 1 we are faster.
 */
import { geometricMean, median } from '../measure/figures.ts';
import type { Item } from './plan.ts';
import { BUCKET_MS, type PagePeerName, type SteadyShape, type SteadySlice } from './protocol.ts';

export interface ResultSpread {
  ns: number;
  min: number;
  max: number;
}

export interface Row extends Item {
  /** The number of rounds; fewer than planned if the run was stopped. */
  rounds: number;
  capstan: ResultSpread;
  naive: ResultSpread;
}

export const PERCENTILES = [0.5, 0.9, 0.99, 0.999, 1] as const;

export interface SteadySide {
  /** Cycles a second that were held. */
  rate: number;
  /** Mean nanoseconds of a cycle: making a key and three calls of the queue. */
  cycleNs: number;
  /** PERCENTILES of the time from when a key is due until it is done. */
  latencies: number[];
  /**
   * The delay of the event loop at the same percentiles: how long a message waits that arrives at a
   * whole millisecond.
   */
  delays: number[];
  /** The longest gap between two turns of the event loop. */
  longest: number;
  stalls: number;
  stalledMs: number;
  /** The longest gap in each bucketMsOf(seconds). */
  pauses: number[];
}

export interface Steady extends Pick<SteadyShape, 'live' | 'rate'> {
  /** Planned seconds for each peer. The `pauses` of a stopped run are of a shorter time. */
  seconds: number;
  capstan: SteadySide;
  naive: SteadySide;
}

export interface Environment {
  /** The package that was measured. */
  version: string;
  coreBytes: number;
  browser: string;
  platform: string;
  /** navigator.hardwareConcurrency */
  threads: number;
  keyTable: 'wasm' | 'js';
  resolutionMs: number;
  isolated: boolean;
  /** Whether the page was in the background for a while, where browsers slow pages down. */
  hidden: boolean;
}

export interface Result {
  /** Milliseconds since 1970. */
  at: number;
  /** The run was stopped, or failed, before everything was measured. */
  stopped: boolean;
  environment: Environment;
  rows: Row[];
  steady: Steady | undefined;
}

function spreadOf(samples: readonly number[]): ResultSpread {
  return { ns: median(samples), min: Math.min(...samples), max: Math.max(...samples) };
}

export function pageRatio(row: Row): number {
  return row.capstan.ns / row.naive.ns;
}

/** Whether the ranges of the two sides overlap: then the ratio may be chance. */
export function overlaps({ capstan, naive }: Row): boolean {
  return capstan.min <= naive.max && naive.min <= capstan.max;
}

/** A geometric mean of ratios, with the means of the lowest and the highest possible ratios. */
export interface Mean {
  ratio: number;
  /** The ratio of our fastest round to the slowest round of the naive port. */
  low: number;
  /** The ratio of our slowest round to the fastest round of the naive port. */
  high: number;
}

export type Outcome = 'win' | 'loss' | 'noise';

/** `noise` if the range of the mean contains 1: either side may be the faster one. */
export function outcomeOfMean({ low, high }: Mean): Outcome {
  if (high < 1) return 'win';
  return low > 1 ? 'loss' : 'noise';
}

function meanOf(rows: readonly Row[]): Mean {
  return {
    ratio: geometricMean(rows.map(pageRatio)),
    low: geometricMean(rows.map(({ capstan, naive }) => capstan.min / naive.max)),
    high: geometricMean(rows.map(({ capstan, naive }) => capstan.max / naive.min)),
  };
}

export interface Verdict {
  /** Rows whose rounds do not overlap. */
  wins: number;
  losses: number;
  /** Rows whose rounds overlap. */
  near: number;
  mean: Mean;
  /** The mean of each work over its numbers of keys, in the order of the rows. */
  works: { work: string; mean: Mean }[];
  best: Row;
  worst: Row;
}

export function pageVerdict(rows: readonly Row[]): Verdict | undefined {
  const sorted = rows.toSorted((a, b) => pageRatio(a) - pageRatio(b));
  const [best, worst] = [sorted[0], sorted.at(-1)];
  if (best === undefined || worst === undefined) return undefined;
  const clear = rows.filter((row) => !overlaps(row));
  const wins = clear.filter((row) => pageRatio(row) < 1).length;
  return {
    wins,
    losses: clear.length - wins,
    near: rows.length - clear.length,
    mean: meanOf(rows),
    works: [...Map.groupBy(rows, ({ work }) => work)].map(([work, ofWork]) => ({
      work,
      mean: meanOf(ofWork),
    })),
    best,
    worst,
  };
}

/** The values at PERCENTILES, by nearest rank; 0 if there are no values. */
export function percentiles(values: readonly number[]): number[] {
  const sorted = Float64Array.from(values).sort();
  return PERCENTILES.map((share) => sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0);
}

/** The most bars of a chart: more would look the same and make the link longer. */
export const MOST_BUCKETS = 1_000;

/** How many buckets of the worker are joined into one bar; more than one only in a long run. */
const groupOf = (seconds: number): number => Math.ceil((seconds * 1000) / BUCKET_MS / MOST_BUCKETS);
/** Width of a bar in a run of this many seconds, in milliseconds. */
export const bucketMsOf = (seconds: number): number => BUCKET_MS * groupOf(seconds);

/** Joins neighbours and keeps the longest pause of each group. */
function thin(pauses: readonly number[], group: number): number[] {
  if (group <= 1) return [...pauses];
  return Array.from({ length: Math.ceil(pauses.length / group) }, (_, i) =>
    Math.max(...pauses.slice(i * group, (i + 1) * group)),
  );
}

/** Gathers the slices of one peer under the steady load. */
export class SteadyTally {
  readonly #waits: number[] = [];
  readonly #latencies: number[] = [];
  readonly #pauses: number[] = [];
  #longest = 0;
  #stalls = 0;
  #stalledMs = 0;
  #busyMs = 0;
  #cycles = 0;
  #ms = 0;
  readonly #group: number;

  /** @param seconds planned for the peer */
  constructor(seconds: number) {
    this.#group = groupOf(seconds);
  }

  /** The time that was measured so far, in milliseconds. */
  get ms(): number {
    return this.#ms;
  }

  add(slice: SteadySlice): void {
    this.#ms += slice.spanMs;
    this.#waits.push(...slice.waits);
    this.#latencies.push(...slice.latencies);
    this.#pauses.push(...slice.pauses);
    this.#longest = Math.max(this.#longest, slice.longest);
    this.#stalls += slice.stalls;
    this.#stalledMs += slice.stalledMs;
    this.#busyMs += slice.busyMs;
    this.#cycles += slice.cycles;
  }

  side(): SteadySide {
    return {
      rate: this.#ms > 0 ? (this.#cycles * 1000) / this.#ms : 0,
      cycleNs: this.#cycles > 0 ? (this.#busyMs * 1e6) / this.#cycles : 0,
      latencies: percentiles(this.#latencies),
      delays: percentiles(this.#waits),
      longest: this.#longest,
      stalls: this.#stalls,
      stalledMs: this.#stalledMs,
      pauses: thin(this.#pauses, this.#group),
    };
  }
}

/** The samples of one row while it is measured. */
export type Samples = Record<PagePeerName, number[]>;

export function rowOf(item: Item, samples: Samples): Row | undefined {
  const rounds = Math.min(samples.capstan.length, samples.naive.length);
  if (rounds === 0) return undefined;
  return { ...item, rounds, capstan: spreadOf(samples.capstan), naive: spreadOf(samples.naive) };
}
