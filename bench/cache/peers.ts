/**
 * Who is measured by the benchmarks of the cache, each run in a process of its own, and what a run
 * prints.
 */
import type { LoopFigures } from '../measure/event-loop.ts';

/** The decoders that decoders.ts makes. */
export const SEAMS = ['bytes', 'json'] as const;
export type SeamName = (typeof SEAMS)[number];

/**
 * Who takes updates in. `parse`: TextDecoder and JSON.parse of the objects alone, kept nowhere.
 * `map`: the same into a Map. `capstan`: our informer, from a transport that has the bytes to a
 * handler that counts. `seam-…`: a decoder and a store without reflector, queues and handlers.
 */
export const BYTES_PEERS: readonly string[] = [
  'parse',
  'map',
  'capstan',
  ...SEAMS.map((name) => `seam-${name}`),
];

/**
 * Who holds Pods: our informer, parsed-cache.ts, our informer of an empty list, and a process that
 * does nothing.
 */
export const MEMORY_PEERS = ['capstan', 'map', 'empty-informer', 'empty'] as const;
export type MemoryPeer = (typeof MEMORY_PEERS)[number];

/** Bytes. */
export interface CacheMemory {
  peer: string;
  live: number;
  /** Resident after collections, and the most while listing; of both lists. */
  listed: number;
  listPeak: number;
  relisted?: number;
  relistPeak?: number;
}

/** Who follows a watch: our informer, parsed-cache.ts, and a reader that counts bytes. */
export const PAUSES_PEERS = ['capstan', 'map', 'null-reader'] as const;
export type PausesPeer = (typeof PAUSES_PEERS)[number];

export interface CachePauses extends LoopFigures {
  peer: string;
  /** Updates that came while it was watched. */
  events: number;
}

/** The compressions of wire.ts. */
export const COMPRESSIONS = ['identity', 'gzip'] as const;

/** Of one first list. Bytes are those of the sockets; times are milliseconds. */
export interface WireFigures {
  bytes: number;
  ms: number;
  cpuMs: number;
  serverCpuMs: number;
}

/** The works of turns.ts, each of an informer of many objects. */
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

/** Of one work. Times are milliseconds. */
export interface TurnFigures extends LoopFigures {
  work: string;
  /** The most that a timer of 1 ms came late. */
  late: number;
  /** The most CPU of the thread between two runs of that timer. */
  turnCpu: number;
  /** From its beginning to the last notification. */
  totalMs: number;
}
