/**
 * One run of pauses.ts on one cache, in a process of its own, as a JSON line:
 *
 *     node --expose-gc bench/cache/pauses-load.ts --peer P --seconds S --live N --rate R --port N
 *
 * PORT is that of bench/cache/pods-server.ts with N Pods. They are listed; then R random updates a
 * second come, and a handler reads name and resourceVersion. The first seconds do not count,
 * because code is compiled and the heap grows.
 */
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { observeLoop, pause } from '../measure/event-loop.ts';
import { flagsOrExit } from '../measure/flags.ts';
import { ParsedCache, type Pod } from './parsed-cache.ts';
import { type CachePauses, PAUSES_PEERS, type PausesPeer } from './peers.ts';
import { frameText, randomUpdates } from './pod-bytes.ts';
import { podsInformer } from './pods-informer.ts';

const { peer, seconds, live, rate, port } = flagsOrExit('cache/pauses-load.ts', {
  peer: PAUSES_PEERS,
  seconds: 60,
  live: 100_000,
  rate: 10_000,
  port: 18_080,
});
const url = `http://127.0.0.1:${port}`;
const WARM_UP_MS = 3_000;

let events = 0;
/** The number of characters that were read, so that the engine cannot optimise the reading away. */
let read = 0;

function onUpdate({ metadata }: Pod): void {
  events++;
  read += metadata.name.length + metadata.resourceVersion.length;
}

async function ours(): Promise<void> {
  const { informer, synced } = await podsInformer<Pod>(url);
  informer.addEventHandler({ onUpdate: (_, now) => onUpdate(now) });
  void informer.run();
  await synced();
}

async function parsed(): Promise<void> {
  const cache = new ParsedCache();
  await cache.list(url);
  await cache.watch(url, onUpdate);
}

/** Counts events by their bytes. */
async function nullReader(): Promise<void> {
  const frame = frameText(randomUpdates(live)()).length;
  const [response] = (await once(get(`${url}/api/v1/pods?watch=true`), 'response')) as [
    IncomingMessage,
  ];
  let bytes = 0;
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    events = Math.round(bytes / frame);
    read = bytes;
  });
}

/** Makes the server send updates. The watch may still be opening. */
async function startUpdates(): Promise<void> {
  for (;;) {
    const { watches } = (await (await fetch(`${url}/counts`)).json()) as { watches: number };
    if (watches > 0) break;
    await pause(20);
  }
  await fetch(`${url}/start?rate=${rate}`);
}

const connect = { capstan: ours, map: parsed, 'null-reader': nullReader }[peer as PausesPeer];
await connect();
await startUpdates();
await pause(WARM_UP_MS);
globalThis.gc?.();
await pause(200);
const before = events;
const loop = await observeLoop(() => pause(seconds * 1000));
const pauses: CachePauses = { peer, events: events - before, ...loop };
if (read === 0) throw new Error('no update was read');
console.log(JSON.stringify(pauses));
process.exit(0);
