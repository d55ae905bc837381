/**
 * One measurement of memory.ts, in a process of its own, as a JSON line:
 *
 *     node --expose-gc bench/cache/memory-load.ts --peer P --pods same|varied --live N --port PORT
 *       --settle SECONDS
 *
 * PORT is that of bench/cache/pods-server.ts with N such Pods. First the Pods are listed, varied
 * ones with two indices; then the server ends the watch with 410, and the same Pods are listed
 * again. `empty` is a process that does nothing; the server of `empty-informer` has no Pods.
 */

import { flagsOrExit } from '../measure/flags.ts';
import { peakBytes, resetPeak, restingBytes } from '../measure/process-memory.ts';
import { type CacheMemory, MEMORY_PEERS, type MemoryPeer } from './peers.ts';
import { keyOf } from './pod-bytes.ts';
import { podsInformer } from './pods-informer.ts';
import { appOf, PODS_A_DEPLOYMENT, variedKeyOf, variedPodText } from './varied-pods.ts';

const { peer, pods, live, port, settle } = flagsOrExit('cache/memory-load.ts', {
  peer: MEMORY_PEERS,
  pods: ['same', 'varied'],
  live: 100_000,
  port: 18_080,
  settle: 20,
});
const url = `http://127.0.0.1:${port}`;
const isVaried = pods === 'varied';
const key = isVaried ? variedKeyOf : keyOf;
const INDICES = { byApp: 'metadata.labels.app', byNode: 'spec.nodeName' };

interface Pod {
  metadata: { managedFields?: unknown };
}

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
    if (!has(key(i))) throw new Error(`${key(i)} is not in the cache`);
}

async function emptyInformer(): Promise<CacheMemory> {
  const { informer, synced } = await podsInformer<object>(url, isVaried ? INDICES : {});
  resetPeak();
  void informer.run();
  await synced();
  const listPeak = peakBytes();
  return { peer, live, listed: await restingBytes(settle), listPeak };
}

async function ours(): Promise<CacheMemory> {
  const { informer, synced } = await podsInformer<Pod>(url, isVaried ? INDICES : {});
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
  check((of) => indexer.getByKey(of) !== undefined, indexer.listKeys().length);
  if (isVaried) {
    const ofApp = indexer.byIndex('byApp' as never, appOf(0)).length;
    const expected = Math.min(live, PODS_A_DEPLOYMENT);
    if (ofApp !== expected) throw new Error(`an app has ${ofApp} Pods, expected ${expected}`);
    for (let i = 0; i < live; i += 997) {
      const pod = JSON.parse(variedPodText(i, i + 1)) as Pod;
      delete pod.metadata.managedFields;
      if (JSON.stringify(indexer.getByKey(key(i))) !== JSON.stringify(pod))
        throw new Error(`${key(i)} is not as the server has it`);
    }
  }
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
  check((of) => cache.objects.has(of), cache.objects.size);
  return { peer, live, listed, listPeak };
}

async function empty(): Promise<CacheMemory> {
  const listed = await restingBytes(settle);
  return { peer, live, listed, listPeak: peakBytes() };
}

const measure = { capstan: ours, map: parsed, 'empty-informer': emptyInformer, empty }[
  peer as MemoryPeer
];
const memory = await measure();
console.log(JSON.stringify(memory));
process.exit(0);
