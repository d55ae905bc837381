/**
 * What the page and its workers say to each other. A worker serves one peer and one job, and
 * answers each order with one report, but for the steady load, which sends a slice of figures every
 * tenth of a second until it is done.
 */

export const PAGE_PEERS = ['capstan', 'naive'] as const;
export type PagePeerName = (typeof PAGE_PEERS)[number];

/** How the steady load is shaped. Each millisecond `rate / 1000` keys fall due. */
export interface SteadyShape {
  /** Keys in the queue all the while. */
  live: number;
  /** Keys a second. */
  rate: number;
  /** Measured time of one turn, in milliseconds. */
  ms: number;
  /** Time under load before the measuring begins, in milliseconds. */
  warmUpMs: number;
}

export type Order =
  | { type: 'prepare'; peer: PagePeerName; work: string; n: number }
  | { type: 'round' }
  | { type: 'steady'; peer: PagePeerName; shape: SteadyShape };

/** What only a worker can tell about where it runs. */
export interface WorkerFacts {
  /**
   * Which side hashes keys: the core through the engine's string builtins, or JavaScript.
   */
  keyTable: 'wasm' | 'js';
  /** The smallest step of performance.now() that was seen, in milliseconds. */
  resolutionMs: number;
  /** With cross-origin isolation browsers give finer clocks. */
  isolated: boolean;
}

/** What the steady load saw since the last slice. Times are milliseconds. */
export interface SteadySlice {
  /** The time that the slice covers. */
  spanMs: number;
  /** From the moment a millisecond's keys were due to the moment the event loop came to them. */
  waits: Float64Array;
  /** From the same moment to their last done(). */
  latencies: Float64Array;
  /**
   * The longest gap between two turns of the event loop, for each bucket of BUCKET_MS that is
   * complete.
   */
  pauses: Float64Array;
  /** The longest gap of all, also of the bucket that is not complete. */
  longest: number;
  /** Gaps above STALL_MS: how many, and their time in all. */
  stalls: number;
  stalledMs: number;
  /** Time spent in the queue's calls and the making of keys, and the cycles made in it. */
  busyMs: number;
  cycles: number;
}

export type Report =
  | { type: 'prepared'; facts: WorkerFacts }
  | { type: 'round'; ns: number; operations: number }
  | { type: 'slice'; slice: SteadySlice; warm: boolean }
  | { type: 'steady-done'; facts: WorkerFacts }
  | { type: 'error'; name: string; code: string | undefined; message: string };

/** Width of a bar of the strip chart. */
export const BUCKET_MS = 50;
/**
 * Longer gaps count as stalls: an event loop that turns freely comes round in a few microseconds.
 */
export const STALL_MS = 1;
