/**
 * One run of pauses.ts on one queue, in a process of its own, as a JSON line:
 *
 *     node --expose-gc bench/queue/pauses-load.ts --peer P --items K --seconds S --live N --rate R
 *
 * The queue holds N keys that are ready. Then, R times a second: a key that is not in it is added,
 * the oldest is handed out and done. A timer of a millisecond makes all cycles that are due, so
 * that after a pause the load catches up, as if events had come meanwhile.
 */
import { type LoopFigures, observeLoop, pause, TICK_MS } from '../measure/event-loop.ts';
import { flagsOrExit } from '../measure/flags.ts';
import { ITEMS, type ItemKind, itemsOf, PEERS, type PeerName, queueOf } from './load-peers.ts';

export interface Pauses extends LoopFigures {
  peer: string;
  cycles: number;
}

const { peer, items, seconds, live, rate } = flagsOrExit('queue/pauses-load.ts', {
  peer: PEERS,
  items: ITEMS,
  seconds: 60,
  live: 1_000_000,
  rate: 200_000,
});

// so that a key is not in the queue when its turn comes again
const count = live + Math.ceil(live / 4);
const item = itemsOf(items as ItemKind, count);
const queue = queueOf(peer as PeerName, items as ItemKind, live);
for (let i = 0; i < live; i++) queue?.add(item(i));

let next = live % count;
function cycle(): void {
  if (queue === undefined) return;
  queue.add(item(next));
  next = next + 1 === count ? 0 : next + 1;
  const got = queue.tryGet();
  if (got === undefined) throw new Error('nothing was handed out though keys were ready');
  queue.done(got);
}

for (let i = 0; i < rate; i++) cycle(); // a warm-up: code is compiled, and tables grow
globalThis.gc?.();
await pause(200);

let cycles = 0;
const loop = await observeLoop(async () => {
  const start = performance.now();
  const end = start + seconds * 1000;
  while (performance.now() < end) {
    const due = Math.floor(((performance.now() - start) * rate) / 1000);
    for (; cycles < due; cycles++) cycle();
    await pause(TICK_MS);
  }
});

if (queue !== undefined && queue.len() !== live)
  throw new Error(`${queue.len()} keys are left, expected ${live}`);
const pauses: Pauses = { peer, cycles, ...loop };
console.log(JSON.stringify(pauses));
