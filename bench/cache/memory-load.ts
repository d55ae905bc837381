/**
 * One measurement of memory.ts, in a process of its own, as a JSON line:
 *
 *     node --expose-gc bench/cache/memory-load.ts --peer P --live N --port PORT --settle SECONDS
 *
 * PORT is that of bench/cache/pods-server.ts with N Pods. First the Pods are listed; then the
 * server ends the watch with 410, and the same Pods are listed again. `empty` is a process that
 * does nothing.
 */

import { flagsOrExit } from '../measure/flags.ts';
import { peakBytes, resetPeak, restingBytes } from '../measure/process-memory.ts';
import { type CacheMemory, MEMORY_PEERS, type MemoryPeer } from './peers.ts';
import { keyOf } from './pod-bytes.ts';
import { podsInformer } from './pods-informer.ts';

const { peer, live, port, settle } = flagsOrExit('cache/memory-load.ts', {
  peer: MEMORY_PEERS,
  live: 100_000,
  port: 18_080,
  settle: 20,
});
const url = `http://127.0.0.1:${port}`;

interface Counts {
  version: number;
  lists: number;
}

async function until(ready: () => boolean): Promise<void> {
  while (!ready()) await new Promise((resolve) => setTimeout(resolve, 20));
}

function check(has: (key: string) => boolean, count: number): void {
  if (count !== live) throw new Error(`${count} Pods are in the cache, expected ${live}`);
  for (let i = 0; i < live; i += 997)
    if (!has(keyOf(i))) throw new Error(`${keyOf(i)} is not in the cache`);
}

async function ours(): Promise<CacheMemory> {
  const { informer, synced } = await podsInformer<object>(url);
  resetPeak();
  void informer.run();
  await synced();
  const listPeak = peakBytes();
  const listed = await restingBytes(settle);

  resetPeak();
  const { version } = (await (await fetch(`${url}/expire`)).json()) as Counts;
  await until(() => informer.lastSyncResourceVersion() === String(version));
  await until(() => informer.getIndexer().lastStoreSyncResourceVersion() === String(version));
  const relistPeak = peakBytes();
  const relisted = await restingBytes(settle);
  const indexer = informer.getIndexer();
  check((key) => indexer.getByKey(key) !== undefined, indexer.listKeys().length);
  const { lists } = (await (await fetch(`${url}/counts`)).json()) as Counts;
  if (lists !== 2) throw new Error(`the server has answered ${lists} lists, expected 2`);
  return { peer, live, listed, listPeak, relisted, relistPeak };
}

async function parsed(): Promise<CacheMemory> {
  const { ParsedCache } = await import('./parsed-cache.ts');
  const cache = new ParsedCache();
  resetPeak();
  await cache.list(url);
  const listPeak = peakBytes();
  const listed = await restingBytes(settle);
  check((key) => cache.objects.has(key), cache.objects.size);
  return { peer, live, listed, listPeak };
}

async function empty(): Promise<CacheMemory> {
  const listed = await restingBytes(settle);
  return { peer, live, listed, listPeak: peakBytes() };
}

const measure = { capstan: ours, map: parsed, empty }[peer as MemoryPeer];
const memory = await measure();
console.log(JSON.stringify(memory));
process.exit(0);
