/**
 * The messages between the page and its workers. A worker serves one peer and one job, and answers
 * each order with one report. During the steady load it also sends a slice of figures every tenth
 * of a second.
 */

export const PAGE_PEERS = ['capstan', 'naive'] as const;
export type PagePeerName = (typeof PAGE_PEERS)[number];

/** The parameters of the steady load. Each millisecond `rate / 1000` keys are due. */
export interface SteadyShape {
  /** The number of keys in the queue at any time. */
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

/** Facts about the environment that only a worker can find. */
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

/** The figures of the steady load since the last slice. Times are milliseconds. */
export interface SteadySlice {
  /** The time that the slice covers. */
  spanMs: number;
  /**
   * For each millisecond: the time from when its keys were due until the event loop handled them.
   */
  waits: Float64Array;
  /** For each millisecond: the time from when its keys were due until the last `done` of them. */
  latencies: Float64Array;
  /**
   * The longest gap between two turns of the event loop, for each bucket of BUCKET_MS that is
   * complete.
   */
  pauses: Float64Array;
  /** The longest gap, including the bucket that is not complete. */
  longest: number;
  /** The number of gaps above STALL_MS, and their total time. */
  stalls: number;
  stalledMs: number;
  /** The time in calls of the queue and in making keys, and the number of cycles in it. */
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
/** Longer gaps count as stalls: a turn of an idle event loop takes a few microseconds. */
export const STALL_MS = 1;
