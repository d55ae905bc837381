/**
 * CPU and wall time per watch event of our informer, measured as peers/client-node/informer.mjs
 * does it:
 *
 *     node bench/cache/capstan-informer.ts URL EVENTS [HANDLER [WARMUP]]
 *
 * HANDLER is the name of the handler (informer-handlers.ts). WARMUP events come before those that
 * are measured.
 */
import { defineResource, ListWatch, SharedIndexInformer } from 'capstan/cache';
import { httpTransport } from 'capstan/client-node';
import type { Figure } from '../measure/figures.ts';
import { watchArguments } from '../measure/watch-arguments.ts';
import { Stopwatch } from '../peers/stopwatch.mjs';
import { HANDLERS, type Handler, workOf } from './informer-handlers.ts';

interface Pod {
  apiVersion?: string;
  kind?: string;
  metadata: { namespace: string; name: string; resourceVersion: string };
  spec: { nodeName: string };
}

const { url, events, warmUp, choice: handler } = watchArguments('handler', HANDLERS);
const pods = defineResource<Pod>()({
  group: '',
  version: 'v1',
  kind: 'Pod',
  plural: 'pods',
  namespaced: true,
});
const informer = new SharedIndexInformer(new ListWatch(httpTransport(url), pods), {
  watchList: false,
});

/** The number of characters that were read, so that the engine cannot optimise the reading away. */
let read = 0;
const kept = new Map<string, Pod>();
const handlers: Record<Handler, (pod: Pod) => void> = {
  name: ({ metadata }) => {
    read += metadata.name.length + metadata.resourceVersion.length;
  },
  spec: ({ metadata, spec }) => {
    read += metadata.name.length + metadata.resourceVersion.length + spec.nodeName.length;
  },
  map: (pod) => {
    kept.set(`${pod.metadata.namespace}/${pod.metadata.name}`, pod);
    read += 20;
  },
};
const handle = handlers[handler];

const watch = new Stopwatch(events, warmUp);
informer.addEventHandler({
  onUpdate(_, now) {
    watch.tick();
    handle(now);
    if (!watch.isOver) return;
    const measured = watch.read();
    if (read < events * 20)
      throw new Error(`read ${read} characters, expected ${events * 20} at least`);
    const figure: Figure = {
      peer: 'capstan',
      work: workOf(handler, warmUp > 0),
      n: events,
      ...measured,
    };
    console.log(JSON.stringify(figure));
    process.exit(0);
  },
});
await informer.run();
