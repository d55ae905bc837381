/**
 * One measurement of bytes.ts, in a process of its own, as a JSON line:
 *
 *     node --expose-gc bench/cache/bytes-load.ts --peer P --live N --events E
 *
 * N Pods are in the cache. After a warm-up of 3 E updates, the cache gets E random updates as
 * bytes, in chunks of 64 KiB. The chunks were written before and are read once, so they come from
 * main memory; that costs all peers a part of a microsecond for each update.
 */
import { defineResource, ListWatch, SharedIndexInformer, type Transport } from 'capstan/cache';
import { processDelta } from '../../bindings/cache/informer/process-deltas.ts';
import type { Figure } from '../measure/figures.ts';
import { flagsOrExit } from '../measure/flags.ts';
import { type Seam, seams } from './decoders.ts';
import { ParsedCache, type Pod } from './parsed-cache.ts';
import { BYTES_PEERS, SEAMS, type SeamName } from './peers.ts';
import {
  chunksOf,
  frameText,
  keyOf,
  listTexts,
  podText,
  randomUpdates,
  type Update,
} from './pod-bytes.ts';

const { peer, live, events } = flagsOrExit('cache/bytes-load.ts', {
  peer: BYTES_PEERS,
  live: 100_000,
  events: 40_000,
});
/** The cost of an event falls during the first 150 000: readers.ts. */
const WARM_UP = 3 * events;

interface Times {
  ns: number;
  cpu: number;
}

class Stopwatch {
  #start = 0;
  #cpu = process.cpuUsage();

  start(): void {
    globalThis.gc?.(); // so that garbage of the preparation is not measured
    this.#cpu = process.cpuUsage();
    this.#start = performance.now();
  }

  stop(): Times {
    const ns = ((performance.now() - this.#start) * 1e6) / events;
    const used = process.cpuUsage(this.#cpu);
    return { ns, cpu: ((used.user + used.system) * 1e3) / events };
  }
}

const watch = new Stopwatch();
/** The last version of each Pod, to check the content of the caches. */
const versions = Int32Array.from({ length: live }, (_, i) => i + 1);
const next = randomUpdates(live);

function* updates(count: number): Generator<Update> {
  for (let i = 0; i < count; i++) {
    const update = next();
    versions[update.pod] = update.version;
    yield update;
  }
}

function* frames(count: number): Generator<string> {
  for (const update of updates(count)) yield frameText(update);
}

function check(count: number, find: (key: string) => Pod | undefined): void {
  if (count !== live) throw new Error(`${count} Pods are in the cache, expected ${live}`);
  for (let i = 0; i < live; i += 97) {
    const got = find(keyOf(i))?.metadata.resourceVersion;
    if (got !== String(versions[i]))
      throw new Error(`Pod ${i} has version ${got}, expected ${versions[i]}`);
  }
}

/** Parses the objects alone, at known offsets. */
function parse(keep: boolean): Times {
  const cache = new ParsedCache();
  if (keep) for (let i = 0; i < live; i++) cache.put(JSON.parse(podText(i, i + 1, 0)) as Pod);
  const text = new TextDecoder();
  const objects = (count: number): Uint8Array[] =>
    Array.from(updates(count), ({ pod, version, node }) =>
      Buffer.from(podText(pod, version, node)),
    );
  let read = 0;
  const run = (all: readonly Uint8Array[]): void => {
    for (const bytes of all) {
      const object = JSON.parse(text.decode(bytes)) as Pod;
      if (keep) cache.put(object);
      read += object.metadata.resourceVersion.length;
    }
  };
  run(objects(WARM_UP));
  const timed = objects(events);
  watch.start();
  run(timed);
  const times = watch.stop();
  if (read < events)
    throw new Error(`read ${read} digits of versions, expected ${events} at least`);
  if (keep) check(cache.objects.size, (key) => cache.objects.get(key));
  return times;
}

function listInto({ decoder, store }: Seam): void {
  const page = decoder.page();
  for (const chunk of chunksOf(listTexts(0, live, live))) page.push(chunk);
  const { items, resourceVersion } = page.end();
  const silent = { onAdd() {}, onUpdate() {}, onDelete() {} };
  processDelta(silent, store, { type: 'ReplacedAll', objects: items, resourceVersion }, true);
  page.close();
}

function throughSeam(name: SeamName): Times {
  const seam = seams[name]();
  const { decoder, store } = seam;
  listInto(seam); // a function of its own, so that the list can be collected
  let seen = 0;
  // Without handlers: their cost is in the figures of the informer.
  const handler = { onAdd() {}, onUpdate() {}, onDelete() {}, isIdle: () => true };
  const reader = decoder.frames();
  const run = (chunks: readonly Uint8Array[]): void => {
    for (const chunk of chunks) {
      reader.push(chunk);
      for (let frame = reader.next(); frame !== undefined; frame = reader.next()) {
        if (frame.type !== 'MODIFIED')
          throw new Error(`got a frame of type ${frame.type}, expected MODIFIED`);
        processDelta(handler, store, { type: 'Updated', object: frame.object }, false);
        seen++;
      }
    }
  };
  run([...chunksOf(frames(WARM_UP))]);
  const timed = [...chunksOf(frames(events))];
  seen = 0;
  watch.start();
  run(timed);
  const times = watch.stop();
  if (seen !== events) throw new Error(`${seen} updates were taken in, expected ${events}`);
  check(store.listKeys().length, (key) => store.getByKey(key));
  return times;
}

async function throughInformer(): Promise<Times> {
  const warmUp = [...chunksOf(frames(WARM_UP))];
  const timed = [...chunksOf(frames(events))];
  let warm = (): void => {};
  const warmed = new Promise<void>((resolve) => {
    warm = resolve;
  });
  async function* list(): AsyncGenerator<Uint8Array> {
    yield* chunksOf(listTexts(0, live, live));
  }
  async function* stream(): AsyncGenerator<Uint8Array> {
    yield* warmUp;
    await warmed;
    watch.start();
    yield* timed;
    await new Promise(() => {}); // the watch stays open
  }
  const transport: Transport = {
    request: async ({ query }) => {
      if (query?.sendInitialEvents !== undefined)
        throw new Error('expected watchList: false to be heeded');
      return {
        status: 200,
        headers: new Headers(),
        body: query?.watch === 'true' ? stream() : list(),
      };
    },
  };
  const pods = defineResource<Pod>()({
    group: '',
    version: 'v1',
    kind: 'Pod',
    plural: 'pods',
    namespaced: true,
  });
  const informer = new SharedIndexInformer(new ListWatch(transport, pods), { watchList: false });
  const ended = new Promise<Times>((resolve) => {
    let seen = 0;
    informer.addEventHandler({
      onUpdate() {
        seen++;
        if (seen === WARM_UP) warm();
        else if (seen === WARM_UP + events) resolve(watch.stop());
      },
    });
  });
  void informer.run();
  const times = await ended;
  const indexer = informer.getIndexer();
  check(indexer.listKeys().length, (key) => indexer.getByKey(key));
  return times;
}

function measure(): Times | Promise<Times> {
  if (peer === 'capstan') return throughInformer();
  const seam = SEAMS.find((name) => peer === `seam-${name}`);
  return seam === undefined ? parse(peer === 'map') : throughSeam(seam);
}

const figure: Figure = { peer, work: 'cache-bytes', n: live, ...(await measure()) };
console.log(JSON.stringify(figure));
process.exit(0);
