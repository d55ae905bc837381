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
