/**
 * One run of pauses.ts on one queue, in a process of its own, as a JSON line:
 *
 *     node --expose-gc bench/pauses-load.ts --peer P --items K --seconds S --live N --rate R
 *
 * The queue holds N keys that are ready. Then, R times a second: a key that is not in it is added, the oldest is handed out and done. A timer
 * of a millisecond makes up for what is due, so that after a pause the load is caught up with, as with events that came meanwhile.
 */
import { monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks';
import { flagsOrExit } from './flags.ts';
import { ITEMS, type ItemKind, itemsOf, PEERS, type PeerName, queueOf } from './load-peers.ts';

export interface Pauses {
  peer: string;
  cycles: number;
  /** Milliseconds that a timer of 1 ms came late. */
  p50: number;
  p99: number;
  p999: number;
  max: number;
  /** Milliseconds in which the thread stood still for a collection, all, and how many there were. */
  gcMs: number;
  gcCount: number;
  gcMax: number;
  /** Milliseconds of CPU of the whole process, the collector's threads among them. */
  cpuMs: number;
}

const { peer, items, seconds, live, rate } = flagsOrExit('pauses-load.ts', {
  peer: PEERS,
  items: ITEMS,
  seconds: 60,
  live: 1_000_000,
  rate: 200_000,
});
const TICK_MS = 1;

const count = live + Math.ceil(live / 4); // so that a key is not in the queue when its turn comes again
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

let gcMs = 0;
let gcCount = 0;
let gcMax = 0;
const observer = new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) {
    gcMs += duration;
    gcCount++;
    gcMax = Math.max(gcMax, duration);
  }
});

for (let i = 0; i < rate; i++) cycle(); // compiled, and the tables have their size
globalThis.gc?.();
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
await pause(200);

observer.observe({ entryTypes: ['gc'] });
const histogram = monitorEventLoopDelay({ resolution: TICK_MS });
histogram.enable();
const cpu = process.cpuUsage();
const start = performance.now();
const end = start + seconds * 1000;
let cycles = 0;
while (performance.now() < end) {
  const due = Math.floor(((performance.now() - start) * rate) / 1000);
  for (; cycles < due; cycles++) cycle();
  await pause(TICK_MS);
}
histogram.disable();
const used = process.cpuUsage(cpu);
await pause(50); // the observer is told of the last collections
observer.disconnect();

if (queue !== undefined && queue.len() !== live) throw new Error(`${queue.len()} keys are left, expected ${live}`);
const late = (ns: number): number => Math.max(ns / 1e6 - TICK_MS, 0);
const pauses: Pauses = {
  peer,
  cycles,
  p50: late(histogram.percentile(50)),
  p99: late(histogram.percentile(99)),
  p999: late(histogram.percentile(99.9)),
  max: late(histogram.max),
  gcMs,
  gcCount,
  gcMax,
  cpuMs: (used.user + used.system) / 1000,
};
console.log(JSON.stringify(pauses));
