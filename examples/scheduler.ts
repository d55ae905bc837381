/**
 * The core of a scheduler: it watches the Pods that have not finished, by a field selector, and
 * binds each to a node. For a Pod that succeeds or fails, which no longer matches the selector, the
 * server sends DELETED: its place is free, though the object still exists. From the binding until
 * its watch event the Pod is *assumed* to be on its node, so that no place is used twice. Run it
 * with `node examples/scheduler.ts` after a build.
 */
import type { V1Pod } from '@kubernetes/client-node';
import {
  DeletedFinalStateUnknown,
  defineResource,
  ListWatch,
  metaNamespaceKeyFunc,
  SharedIndexInformer,
  waitForCacheSync,
} from 'capstan/cache';
import { Pod as BuiltInPod } from 'capstan/kinds';
import { ApiServer } from 'capstan/testing';
import { RateLimitingQueue } from 'capstan/workqueue';

const NODES = ['node-a', 'node-b', 'node-c'];
const PLACES = 2; // on each node
const PODS = 12;

const Pod = defineResource<V1Pod>()({ ...BuiltInPod, indexers: { byNode: 'spec.nodeName' } });

// on a cluster: kubeConfigTransport(config) of capstan/client-node
const server = await ApiServer.start();
const transport = server.transport();
const collection = `${server.url}/api/v1/namespaces/default/pods`;

async function send(
  method: string,
  url: string,
  body?: object,
): Promise<V1Pod & { items: V1Pod[] }> {
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  const answer = await fetch(url, {
    method,
    headers: { 'content-type': type },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${method} ${url}: ${await answer.text()}`);
  return (await answer.json()) as V1Pod & { items: V1Pod[] };
}

const bind = (name: string, node: string) =>
  send('POST', `${collection}/${name}/binding`, {
    metadata: { name },
    target: { kind: 'Node', name: node },
  });

const queue = new RateLimitingQueue<string>();
const assumed = new Map<string, string>();
const unschedulable = new Set<string>();

const notOver = 'status.phase!=Succeeded,status.phase!=Failed';
const informer = new SharedIndexInformer(new ListWatch(transport, Pod, { fieldSelector: notOver }));
const cache = informer.getIndexer();
const over: string[] = [];
let most = 0;

function seen(pod: V1Pod): void {
  const key = metaNamespaceKeyFunc(pod);
  if (pod.spec?.nodeName === undefined) queue.add(key);
  else assumed.delete(key); // the watch event of the binding: the cache has it now
}

informer.addEventHandler({
  onAdd: seen,
  onUpdate: (_, pod) => seen(pod),
  onDelete: (gone) => {
    const key = gone instanceof DeletedFinalStateUnknown ? gone.key : metaNamespaceKeyFunc(gone);
    assumed.delete(key);
    over.push(key);
    console.log(`${key} left`);
    for (const waiting of unschedulable) queue.add(waiting); // a place is free
    unschedulable.clear();
    if (over.length === PODS) queue.shutDown(); // a real scheduler runs until its process ends
  },
});

/** Counts the Pods in the cache and the assumed ones. */
function countPods(node: string): number {
  const known = cache.indexKeys('byNode', node);
  return (
    known.length + [...assumed].filter(([key, on]) => on === node && !known.includes(key)).length
  );
}

function schedule(key: string): void {
  const pod = cache.getByKey(key);
  if (pod === undefined || pod.spec?.nodeName !== undefined || assumed.has(key)) return;
  const [node, used] = NODES.map((name) => [name, countPods(name)] as const).sort(
    ([, a], [, b]) => a - b,
  )[0]!;
  if (used >= PLACES) return void unschedulable.add(key);
  assumed.set(key, node);
  most = Math.max(most, used + 1);
  // Not awaited, so that the next Pod is scheduled meanwhile.
  bind(pod.metadata.name, node).then(
    () => {
      queue.forget(key);
      console.log(`${key} bound to ${node}`);
    },
    (error: unknown) => {
      assumed.delete(key);
      queue.addRateLimited(key);
      console.error(`${key} not bound: ${error}`);
    },
  );
}

/** Acts as the kubelets: bound Pods run and soon succeed. */
informer.addEventHandler({
  onUpdate(_, { metadata, spec, status }) {
    if (spec?.nodeName === undefined) return;
    const end = metadata?.name?.endsWith('3') ? 'Failed' : 'Succeeded';
    const phase = status?.phase === 'Running' ? end : 'Running';
    send('PATCH', `${collection}/${metadata?.name}/status`, { status: { phase } }).catch(
      console.error,
    );
  },
});

const running = informer.run();
await waitForCacheSync({}, informer);
const spec = { containers: [{ name: 'work', image: 'registry.example/work:1' }] };
for (let i = 0; i < PODS; i++)
  await send('POST', collection, { metadata: { name: `job-${i}` }, spec });
for await (const key of queue) {
  schedule(key);
  queue.done(key);
}

const { items } = await send('GET', collection);
const phases = items.map(({ status }) => status?.phase);
console.log(
  `${over.length} DELETED events; the server still has ` +
    `${items.length} Pods, the cache ${cache.list().length}`,
);
console.log(
  `phases: ${[...new Set(phases)].sort().join(' ')}; never more ` +
    `than ${most} of ${PLACES} places taken on a node`,
);
await informer.stop();
await running;
await transport.close?.();
await server.stop();
