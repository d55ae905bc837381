/**
 * One work of turns.ts, in a process of its own, as a JSON line:
 *
 *     node --expose-gc bench/cache/turns-load.ts --work W --live N --port PORT
 *
 * PORT is that of bench/cache/pods-server.ts with N Pods. Every work ends when a handler has got
 * every change.
 */
import { defineResource, newSharedInformerFactory, waitForCacheSync } from 'capstan/cache';
import { newClient } from 'capstan/client';
import { httpTransport } from 'capstan/client-node';
import { observeLoop, pause } from '../measure/event-loop.ts';
import { flagsOrExit } from '../measure/flags.ts';
import { TURNS, type TurnFigures, type TurnWork } from './peers.ts';

const { work, live, port } = flagsOrExit('cache/turns-load.ts', {
  work: TURNS,
  live: 100_000,
  port: 18_080,
});
const url = `http://127.0.0.1:${port}`;
const BURST = 10_000;
const RESYNC_MS = 3000;

interface Pod {
  metadata: { namespace: string; name: string; uid: string; resourceVersion: string };
  spec: { nodeName: string };
}

const post = async (path: string): Promise<void> => {
  await (await fetch(`${url}${path}`, { method: 'POST' })).text();
};
const told = { add: 0, update: 0, delete: 0 };
let read = 0;
const look = ({ metadata }: Pod): void => {
  read += metadata.name.length + metadata.resourceVersion.length;
};
const handler = {
  onAdd: (pod: Pod) => {
    told.add++;
    look(pod);
  },
  onUpdate: (_: Pod, pod: Pod) => {
    told.update++;
    look(pod);
  },
  onDelete: () => {
    told.delete++;
  },
};
async function until(ready: () => boolean): Promise<void> {
  while (!ready()) await pause(2);
}

const pods = defineResource<Pod>()({
  group: '',
  version: 'v1',
  kind: 'Pod',
  plural: 'pods',
  namespaced: true,
});
const transport = httpTransport(url);
const factory = newSharedInformerFactory(transport, {
  resyncPeriod: work === 'resync' ? RESYNC_MS : 0,
});
const informer = factory.informerFor(pods);
const client = newClient({ transport, cache: factory });
const lastVersion = (): number => Number(informer.lastSyncResourceVersion());

async function start(): Promise<void> {
  const registration = work === 'late-handler' ? undefined : informer.addEventHandler(handler);
  void informer.run();
  await waitForCacheSync({}, informer);
  await registration?.hasSyncedChecker().done;
}

/** Each work runs after `start`, except the first one, which is `start`. */
const works: Record<TurnWork, () => Promise<void>> = {
  'first-list': start,
  async 'late-handler'() {
    await informer.addEventHandler(handler).hasSyncedChecker().done;
  },
  async relist() {
    const { relists } = informer.status();
    await post('/expire');
    await until(() => informer.status().relists > relists && lastVersion() > live);
    await until(() => Number(informer.getIndexer().lastStoreSyncResourceVersion()) > live);
  },
  async 'relist-changed'() {
    await post('/expire?changed=yes');
    await until(() => told.update >= live);
  },
  async resync() {
    await until(() => told.update >= live);
  },
  async burst() {
    await post(`/start?rate=1000000&count=${BURST}`);
    await until(() => told.update >= BURST);
  },
  async 'list-selector'() {
    const { items } = await client.list(pods, { labelSelector: 'app in (app-7,app-8)' });
    if (items.length !== live / 250) throw new Error(`${items.length} Pods were selected`);
  },
  async 'add-index'() {
    await informer.addIndexersAsync({ byNode: 'spec.nodeName' });
    if (informer.getIndexer().indexKeys('byNode' as never, 'node-7').length !== live / 1000)
      throw new Error('the index is not complete');
  },
};

if (work !== 'first-list') {
  await start();
  await pause(500);
  globalThis.gc?.();
  await pause(200);
}
let late = 0;
let turnCpu = 0;
let [at, cpuAt] = [performance.now(), process.threadCpuUsage()];
const timer = setInterval(() => {
  const [now, used] = [performance.now(), process.threadCpuUsage(cpuAt)];
  late = Math.max(late, now - at - 1);
  turnCpu = Math.max(turnCpu, (used.user + used.system) / 1000);
  [at, cpuAt] = [performance.now(), process.threadCpuUsage()];
}, 1);
let totalMs = 0;
const loop = await observeLoop(async () => {
  await pause(20);
  [late, turnCpu] = [0, 0];
  const begun = performance.now();
  await works[work as TurnWork]();
  totalMs = performance.now() - begun;
  await pause(20);
});
clearInterval(timer);
if (read === 0) throw new Error('no Pod was read');
if (informer.getIndexer().size() !== live)
  throw new Error(`the cache has ${informer.getIndexer().size()} Pods, expected ${live}`);
const figures: TurnFigures = { work, late, turnCpu, totalMs, ...loop };
console.log(JSON.stringify(figures));
process.exit(0);
