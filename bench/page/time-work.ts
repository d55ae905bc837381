/**
 * One work of bench/peers/naive-ts/workloads.mjs on one peer, a round at a call. Runs in a worker.
 *
 * A round is as much work for small n as for large n, as in bench/queue/time-works.ts: a round
 * lasts long against the clock's resolution. Every work checks its own result and throws if it is
 * wrong.
 */

import { naive } from '../peers/naive-ts/naive.mjs';
import { names, type Peer, workloads } from '../peers/naive-ts/workloads.mjs';
import { capstan, release } from '../queue/capstan-peer.ts';
import type { PagePeerName } from './protocol.ts';

/** A round of a small n repeats the work until it has made about this many operations. */
const OPERATIONS = 1_000_000;

export const peers: Record<PagePeerName, Peer> = { capstan, naive };

export interface Round {
  /** Nanoseconds per operation. */
  ns: number;
  operations: number;
}

/** Prepares the data and returns the function that runs a round. */
export function prepareWork(peerName: PagePeerName, work: string, n: number): () => Round {
  const workload = workloads[work];
  if (workload === undefined)
    throw new RangeError(`work expected one of ${Object.keys(workloads).join(', ')}; got ${work}`);
  const peer = peers[peerName];
  const data = names(n);
  const times = Math.ceil(300_000 / n);
  return () => {
    release(); // outside the timing: the naive queues of the last round are garbage already
    const start = performance.now();
    let operations = 0;
    for (let k = 0; k < times && operations < OPERATIONS; k++)
      operations += workload(peer, n, data);
    return { ns: ((performance.now() - start) * 1e6) / operations, operations };
  };
}
