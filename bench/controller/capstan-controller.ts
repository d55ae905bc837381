/**
 * CPU and wall time per update event of our controller, run by a manager, measured as
 * peers/client-node/controller.mjs does it:
 *
 *     node bench/controller/capstan-controller.ts URL EVENTS [READER [WARMUP]]
 *
 * READER says what a reconcile reads of its object, and how (controller-readers.ts). WARMUP events
 * come before those that are measured.
 */
import { defineResource, type KubeObject } from 'capstan/cache';
import { httpTransport } from 'capstan/client-node';
import { newControllerManagedBy, type Reconcile } from 'capstan/controller';
import { newManager } from 'capstan/manager';
import type { Figure } from '../measure/figures.ts';
import { watchArguments } from '../measure/watch-arguments.ts';
import { LastVersions } from '../peers/last-versions.mjs';
import { controllerWork, READERS, type Reader } from './controller-readers.ts';

interface Pod extends KubeObject {
  spec: { nodeName: string };
}

const { url, events, warmUp, choice: reader } = watchArguments('reader', READERS);
const Pods = defineResource<Pod>()({
  group: '',
  version: 'v1',
  kind: 'Pod',
  plural: 'pods',
  namespaced: true,
});

const manager = newManager({ transport: httpTransport(url), cache: { watchList: false } });
const work = controllerWork(reader, warmUp > 0);
const stop = new AbortController();
const versions = new LastVersions(events, warmUp);

function reconciled(pod: Pod | undefined, readsSpec: boolean): void {
  if (pod === undefined) throw new Error('a Pod is not in the cache');
  const { name, resourceVersion } = pod.metadata ?? {};
  const node = readsSpec ? pod.spec.nodeName : undefined;
  const measured = versions.reconciled(String(name), String(resourceVersion), node);
  if (measured === undefined) return;
  const figure: Figure = { peer: 'capstan', work, n: events, ...measured };
  console.log(JSON.stringify(figure));
  stop.abort();
}

const reconciles: Record<Reader, Reconcile<Pod>> = {
  name: (request, { get }) => reconciled(get(request), false),
  spec: (request, { get }) => reconciled(get(request), true),
  client: async (request) => reconciled(await manager.client.get(Pods, request), true),
};
newControllerManagedBy(manager).for(Pods).complete(reconciles[reader]);
await manager.start({ signal: stop.signal });
