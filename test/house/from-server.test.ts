/**
 * The types of objects that came from a server, by the built declarations, as users compile them.
 */
import { describe, expect, it } from 'vitest';
import { typeErrors } from '../helpers/type-errors.ts';

const HEAD = `
import type { V1Deployment, V1Pod } from '@kubernetes/client-node';
import {
  defineResource, type FromServer, type Indexer, list, Lister, type ListWatch,
  type ResourceEventHandler, SharedIndexInformer, type SharedInformerFactory, type Transport, watch,
} from 'capstan/cache';
import {
  type Client, createOrUpdate, finalizer, listAll, mergeFrom, type ObjectKey, objectKey,
  type ObjectList, withInterceptors,
} from 'capstan/client';
import {
  asReconciler, createController, enqueueRequestsFromMapFunc, newControllerManagedBy,
  newPredicateFuncs, owning, requestFor, watching,
} from 'capstan/controller';
import { Deployment, Pod } from 'capstan/kinds';
import { newManager } from 'capstan/manager';
import { RateLimitingQueue, type Request, requestKey } from 'capstan/workqueue';

declare const client: Client;
declare const transport: Transport;
declare const cache: SharedInformerFactory;
declare const listWatch: ListWatch<V1Pod>;
declare function use(...strings: string[]): void;
const key = { namespace: 'default', name: 'web' };
const queue = new RateLimitingQueue<Request>(undefined, { key: requestKey });
const of = ({ metadata }: FromServer<object>) =>
  use(metadata.name, metadata.uid, metadata.resourceVersion);
`;

/** What must compile: a name, a uid and a resourceVersion without "?." and "!". */
const KNOWN = {
  'reads and writes of a client': `
const pod = await client.get(Pod, key);
use(pod.metadata.name, pod.metadata.uid, pod.metadata.resourceVersion);
for (const each of (await client.list(Pod)).items) use(each.metadata.name);
for await (const each of listAll(client, Pod)) of(each);
of(await client.create(Pod, { metadata: { name: 'web' } }));
of(await client.update(Pod, pod));
of(await client.update(Pod, { ...pod, spec: { containers: [] } }));
of(await client.patch(Pod, objectKey(pod), mergeFrom(pod).to({ ...pod, metadata: {} })));
of(await client.apply(Pod, { metadata: { name: 'web' } }, { fieldOwner: 'me' }));
of(await client.status().update(Pod, pod));
of((await createOrUpdate(client, Pod, key, (draft) => { draft.kind = 'Pod'; })).object);
await finalizer(client, Pod, 'example.com/a', pod, { apply: of, cleanup: of });
for (const each of (await list(transport, Pod)).items) of(each);
for await (const { object } of watch(transport, Pod)) of(object);
`,
  'an informer, its indexer and its lister': `
const informer = new SharedIndexInformer(listWatch);
informer.addEventHandler({
  onAdd: (pod) => use(pod.metadata.name),
  onUpdate: (old, now) => use(old.metadata.uid, now.metadata.uid),
  onDelete: (pod) => queue.add(requestFor(pod)),
});
for (const pod of informer.getIndexer().list()) of(pod);
for (const pod of informer.getIndexer().byIndex('namespace', 'default')) of(pod);
const found = informer.getIndexer().getByKey('default/web');
if (found) of(found);
for (const pod of cache.lister(Pod).namespace('default').list()) of(pod);
for await (const { object } of informer.events()) of(object);
informer.addIndexers({ byName: (pod) => [pod.metadata.name] });
export const named = defineResource<V1Pod>()({
  ...Pod, indexers: { byUid: (pod) => [pod.metadata.uid] },
});
`,
  'a controller: handlers, predicates and get': `
const handler = enqueueRequestsFromMapFunc<FromServer<V1Pod>>((pod) => [requestFor(pod)]);
createController({
  transport,
  for: Pod,
  predicates: [{ create: ({ object }) => object.metadata.name !== '' }],
  owns: [owning(Deployment, { predicates: [{ create: ({ object }) => !!object.metadata.uid }] })],
  watches: [watching(Deployment, enqueueRequestsFromMapFunc((one) => [
    { namespace: one.metadata.namespace ?? '', name: one.metadata.name },
  ]))],
  reconcile(request, { get }) {
    const pod = get(request);
    if (pod) use(pod.metadata.name);
    const deployment = get(request, Deployment);
    if (deployment) use(deployment.metadata.uid);
  },
});
const manager = newManager({ transport });
newControllerManagedBy(manager)
  .for(Deployment, { predicates: [newPredicateFuncs((one) => one.metadata.name !== '')] })
  .watches(Pod, handler, { predicates: [{ update: (e) => e.objectNew.metadata.name !== '' }] })
  .watchesMetadata(Pod, enqueueRequestsFromMapFunc((pod) => [requestFor(pod)]))
  .complete(asReconciler(client, { resource: Deployment, reconcile: of }));
`,
  'types that were written before there was FromServer': `
const pod: V1Pod = await client.get(Pod, key);
const pods: ObjectList<V1Pod> = await client.list(Pod);
const all: V1Pod[] = pods.items;
const informer: SharedIndexInformer<V1Pod> = cache.informerFor(Pod);
const handler: ResourceEventHandler<V1Pod> = { onAdd: (one: V1Pod) => all.push(one) };
informer.addEventHandler(handler);
const indexer: Indexer<V1Pod, 'namespace'> = informer.getIndexer();
indexer.add(pod);
informer.getIndexer().add(pod);
const lister: Lister<V1Pod> = informer.lister();
const other: Lister<V1Pod> = new Lister(informer.getIndexer());
createController({
  transport,
  for: Pod,
  predicates: [newPredicateFuncs((one: V1Pod) => one.metadata?.name !== '')],
  watches: [watching(Deployment, enqueueRequestsFromMapFunc((one: V1Deployment) => [
    { namespace: one.metadata?.namespace ?? '', name: one.metadata?.name ?? '' },
  ]))],
  reconcile(request, { get }) {
    const one: V1Pod | undefined = get(request);
    return one ? undefined : {};
  },
});
export const intercepted = withInterceptors(client, {
  get: async <T extends object>(...[inner, resource, at]: [Client, never, ObjectKey]) =>
    (await inner.get<T>(resource, at)) as T,
});
export const found = [lister.get('a'), other.get('b')];
`,
};

const OPTIONS = { types: ['node'], skipLibCheck: true };

describe('an object that came from a server has a name, a uid and a resourceVersion', () => {
  it.each(Object.entries(KNOWN))('in %s', (name, program) => {
    const folder = `known-${name.replace(/\W+/g, '-')}`;
    expect(typeErrors(folder, `${HEAD}${program}`, OPTIONS)).toBe('');
  });

  it('and one that a program makes need not have them', () => {
    const program = `
const made: V1Pod = { metadata: { name: 'web' } };
// @ts-expect-error metadata of a Pod may be missing
use(made.metadata.name);
// @ts-expect-error it has no uid
of(made);
`;
    expect(typeErrors('made-object', `${HEAD}${program}`, OPTIONS)).toBe('');
  });
});
