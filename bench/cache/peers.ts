/**
 * The peers of the cache's benchmarks, and the figures that a run prints. Each run is a process of
 * its own.
 */
import type { LoopFigures } from '../measure/event-loop.ts';

/** The decoders that decoders.ts makes. */
export const SEAMS = ['bytes', 'json'] as const;
export type SeamName = (typeof SEAMS)[number];

/**
 * The peers of bytes.ts. `parse`: TextDecoder and JSON.parse of the objects alone, which are not
 * kept. `map`: the same into a Map. `capstan`: our informer, from a transport that has the bytes to
 * a handler that counts. `seam-…`: a decoder and a store without reflector, queues and handlers.
 */
export const BYTES_PEERS: readonly string[] = [
  'parse',
  'map',
  'capstan',
  ...SEAMS.map((name) => `seam-${name}`),
];

/**
 * The peers of memory.ts: our informer, parsed-cache.ts, our informer of an empty list, and a
 * process that does nothing.
 */
export const MEMORY_PEERS = ['capstan', 'map', 'empty-informer', 'empty'] as const;
export type MemoryPeer = (typeof MEMORY_PEERS)[number];

/** Bytes. */
export interface CacheMemory {
  peer: string;
  live: number;
  /**
   * After each of the two lists: the resident bytes after collections, and the peak while listing.
   */
  listed: number;
  listPeak: number;
  relisted?: number;
  relistPeak?: number;
}

/** The peers of pauses.ts: our informer, parsed-cache.ts, and a reader that counts bytes. */
export const PAUSES_PEERS = ['capstan', 'map', 'null-reader'] as const;
export type PausesPeer = (typeof PAUSES_PEERS)[number];

export interface CachePauses extends LoopFigures {
  peer: string;
  /** The number of updates that came during the measurement. */
  events: number;
}

/** The compressions of wire.ts. */
export const COMPRESSIONS = ['identity', 'gzip'] as const;

/** The figures of one first list. Bytes are those of the sockets; times are milliseconds. */
export interface WireFigures {
  bytes: number;
  ms: number;
  cpuMs: number;
  serverCpuMs: number;
}

/** The works of turns.ts, each on an informer of many objects. */
export const TURNS = [
  'first-list',
  'late-handler',
  'relist',
  'relist-changed',
  'resync',
  'burst',
  'list-selector',
  'add-index',
] as const;
export type TurnWork = (typeof TURNS)[number];

/** The figures of one work. Times are milliseconds. */
export interface TurnFigures extends LoopFigures {
  work: string;
  /** The longest delay of a timer of 1 ms. */
  late: number;
  /** The most CPU time of the thread between two runs of that timer. */
  turnCpu: number;
  /** From its beginning to the last notification. */
  totalMs: number;
}
