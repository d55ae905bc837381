/**
 * One measurement of memory.ts on one queue, in a process of its own, as a JSON line:
 *
 *     node --expose-gc bench/queue/memory-load.ts --peer P --items K --live N
 *
 * Bytes per live key after collections: of the JS heap, and of the Wasm memory and other buffers
 * beside it. Measured three times: when all keys are added and ready; after three times as many
 * have passed through, one in and one out, as in a queue that is used for a while; and when all are
 * handed out and not done.
 */
import { flagsOrExit } from '../measure/flags.ts';
import { wasmBytes } from '../measure/wasm-memory.ts';
import { ITEMS, type ItemKind, itemsOf, PEERS, type PeerName, queueOf } from './load-peers.ts';

export interface Bytes {
  heap: number;
  wasm: number;
}

export interface Memory {
  peer: string;
  items: string;
  live: number;
  ready: Bytes;
  passed: Bytes;
  processing: Bytes;
}

const { peer, items, live } = flagsOrExit('queue/memory-load.ts', {
  peer: PEERS,
  items: ITEMS,
  live: 1_000_000,
});
const collect = globalThis.gc;
if (collect === undefined) throw new Error('expected node --expose-gc');

function used(): Bytes {
  for (let i = 0; i < 4; i++) collect?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return { heap: heapUsed + arrayBuffers, wasm: wasmBytes() };
}

// so that a key is not in the queue when its turn comes again
const count = live + Math.ceil(live / 4);
const item = itemsOf(items as ItemKind, count);
// A few keys pass through first, so that memory that is allocated once does not count.
const warm = queueOf(peer as PeerName, items as ItemKind, 1_000);
for (let i = 0; i < 1_000; i++) warm?.add(item(i));
for (let got = warm?.tryGet(); got !== undefined; got = warm?.tryGet()) warm?.done(got);

const before = used();
const perKey = (): Bytes => {
  const now = used();
  return { heap: (now.heap - before.heap) / live, wasm: (now.wasm - before.wasm) / live };
};
const queue = queueOf(peer as PeerName, items as ItemKind, live);
for (let i = 0; i < live; i++) queue?.add(item(i));
const ready = perKey();
if (queue !== undefined && queue.len() !== live)
  throw new Error(`${queue.len()} keys are ready, expected ${live}`);

for (let i = 0; i < 3 * live; i++) {
  queue?.add(item((live + i) % count));
  const got = queue?.tryGet();
  if (got !== undefined) queue?.done(got);
}
const passed = perKey();

for (let i = 0; i < live; i++) queue?.tryGet();
const processing = perKey();
if (queue !== undefined && queue.len() !== 0)
  throw new Error(`${queue.len()} keys are left, expected none`);
// and that keeps the parts of the items alive until here
if (item(0) === undefined) throw new Error('expected an item');

const memory: Memory = { peer, items, live, ready, passed, processing };
console.log(JSON.stringify(memory));
