/**
 * A manager with rights in some namespaces only: the server refuses lists and watches of others, as
 * for an account with Roles and no ClusterRole. controller-runtime:
 * pkg/cache/multi_namespace_cache.go.
 */
import {
  DeletedFinalStateUnknown,
  defineResource,
  type KubeObject,
  newSharedInformerFactory,
} from 'capstan/cache';
import { newClient, setControllerReference } from 'capstan/client';
import {
  createController,
  enqueueRequestsFromMapFunc,
  newControllerManagedBy,
  newPredicateFuncs,
  timerSource,
} from 'capstan/controller';
import { newManager } from 'capstan/manager';
import { FakeClock, fakeTransport } from 'capstan/testing';
import { type Request, setErrorHandler } from 'capstan/workqueue';
import { describe, expect, onTestFinished, test } from 'vitest';
import { stateOf } from '../../bindings/manager/page/state.ts';
import { findObjects } from '../../bindings/manager/report.ts';
import {
  at,
  type ConfigMap,
  ConfigMaps,
  configMap,
  type Metadata,
  Widgets,
  widget,
} from '../helpers/resources.ts';
import { runManager } from './run-manager.ts';

const Nodes = defineResource<KubeObject & { metadata: Metadata }>()({
  group: '',
  version: 'v1',
  kind: 'Node',
  plural: 'nodes',
  namespaced: false,
});

const inNamespace = (namespace: string) => ({ namespace });
const keyOf = ({ namespace, name }: Request): string => `${namespace}/${name}`;
const nameOf = ({ metadata: { namespace, name } }: { metadata: Metadata }): string =>
  `${namespace}/${name}`;

function cluster() {
  const errors: unknown[] = [];
  setErrorHandler((error) => errors.push(error));
  onTestFinished(() => void setErrorHandler(undefined));
  const clock = new FakeClock();
  const transport = fakeTransport({ clock, resources: [Widgets] });
  const beyond = ['/api/v1/configmaps', '/apis/example.com/v1/widgets', '/namespaces/c/'];
  for (const path of beyond)
    for (const verb of ['list', 'watch'] as const)
      transport.inject({ do: 'status', status: 403, path, verb });
  return { clock, transport, errors, others: newClient({ transport }) };
}

async function started(
  cache: Parameters<typeof newManager>[0]['cache'] = { namespaces: ['a', 'b'] },
) {
  const { clock, transport, errors, others } = cluster();
  const manager = newManager({ transport, clock, cache });
  return {
    ...{ clock, transport, errors, others, manager },
    start: () => runManager(manager, clock),
  };
}

describe('a controller over several namespaces', () => {
  test('reconciles, reads and owns in each of them, and sees nothing else', async () => {
    const { clock, others, manager, start, errors } = await started();
    const done: string[] = [];
    const read: (string | undefined)[] = [];
    newControllerManagedBy(manager)
      .for(Widgets)
      .owns(ConfigMaps)
      .named('several')
      .withOptions({ skipNameValidation: true })
      .complete(async (request, { get, causes }) => {
        for (const { kind, source } of causes) done.push(`${kind} by ${source}: ${keyOf(request)}`);
        const owner = get(request);
        read.push(get({ namespace: 'c', name: request.name })?.metadata.name);
        if (owner === undefined || get(request, ConfigMaps) !== undefined) return;
        const child = configMap(request.name, {}, inNamespace(request.namespace));
        await manager.client.create(ConfigMaps, setControllerReference(owner, child, Widgets));
      });
    for (const namespace of ['a', 'b', 'c'])
      await others.create(Widgets, widget('w', {}, inNamespace(namespace)));
    await start();
    expect(done.splice(0).sort()).toEqual([
      'create by for Widget in a: a/w',
      'create by for Widget in b: b/w',
      'create by owns ConfigMap in a: a/w',
      'create by owns ConfigMap in b: b/w',
    ]);
    await others.delete(ConfigMaps, at('w', 'b'));
    await clock.settle();
    expect(done.splice(0)).toContain('delete by owns ConfigMap in b: b/w');
    expect((await others.list(ConfigMaps, { namespace: 'b' })).items.map(nameOf)).toEqual(['b/w']);
    expect(new Set(read)).toEqual(new Set([undefined]));
    expect(errors).toEqual([]);
  });

  test('may belong to a single controller with its own caches', async () => {
    const { clock, transport, others } = cluster();
    const done: string[] = [];
    const controller = createController({
      ...{ transport, clock, for: Widgets, namespaces: ['a', 'b'] },
      reconcile: (request) => void done.push(keyOf(request)),
    });
    for (const namespace of ['a', 'b', 'c'])
      await others.create(Widgets, widget('w', {}, inNamespace(namespace)));
    const running = controller.run();
    await clock.settle();
    expect(done.sort()).toEqual(['a/w', 'b/w']);
    await controller.stop();
    await running;
  });

  test('watches cluster-scoped objects once, also with reconcileAllOn', async () => {
    const { clock, others, manager, start } = await started();
    const done: string[] = [];
    newControllerManagedBy(manager)
      .for(Widgets)
      .watches(
        Nodes,
        enqueueRequestsFromMapFunc(({ metadata: { name = '' } }) => [{ namespace: '', name }]),
      )
      .reconcileAllOn(
        timerSource({ period: 60_000, clock, requests: [{ namespace: '', name: 'all' }] }),
      )
      .named('all')
      .withOptions({ skipNameValidation: true })
      .complete((request) => void done.push(keyOf(request)));
    for (const namespace of ['a', 'b'])
      await others.create(Widgets, widget('w', {}, inNamespace(namespace)));
    await others.create(Nodes, { metadata: { name: 'n' } });
    await start();
    expect(done.splice(0).sort()).toEqual(['/n', 'a/w', 'b/w']);
    expect([...manager.cache.informers().keys()].sort()).toEqual([
      'nodes/v1',
      'widgets.example.com/v1 in a',
      'widgets.example.com/v1 in b',
    ]);
    await clock.run(60_000);
    expect(done.sort()).toEqual(['a/w', 'b/w']);
  });
});

test('the live page knows the cache of each namespace', async () => {
  const { others, manager, start } = await started();
  newControllerManagedBy(manager)
    .for(Widgets, { predicates: [newPredicateFuncs(({ metadata }) => metadata.name !== 'no')] })
    .named('page')
    .withOptions({ skipNameValidation: true })
    .complete(() => undefined);
  for (const namespace of ['a', 'b'])
    await others.create(Widgets, widget('no', {}, inNamespace(namespace)));
  await start();
  const verdictOf = (filter: string) => {
    const found = findObjects(manager.cache.informers(), filter, 10);
    return stateOf(manager.report(), { filter, limit: 10 }, found).verdicts[0]?.text;
  };
  for (const namespace of ['a', 'b'])
    expect(verdictOf(`${namespace}/no`)).toContain(
      `It is in the cache of “for Widget in ${namespace}”, but no event ` +
        'has asked for it. Predicates have filtered 1 event',
    );
  expect(verdictOf('a/never')).toContain(
    'It is not in the cache of “for Widget in a” or “for Widget in b”',
  );
});

describe('a client over the caches of several namespaces', () => {
  async function filled() {
    const setup = await started();
    for (const namespace of ['a', 'b', 'c'])
      for (const name of ['x', 'y'])
        await setup.others.create(
          ConfigMaps,
          configMap(name, { page: name }, { namespace, labels: { in: namespace } }),
        );
    await setup.start();
    const watching = setup.manager.client.list(ConfigMaps);
    await setup.clock.settle();
    await watching;
    return setup;
  }

  test('gets and lists from the given namespace, or from all cached ones', async () => {
    const { clock, manager, transport, others } = await filled();
    const { client } = manager;
    const restore = transport.inject({ do: 'refuse' }); // from here on only the caches can be read
    expect(nameOf(await client.get(ConfigMaps, at('x', 'b')))).toBe('b/x');
    await expect(client.get(ConfigMaps, at('z', 'a'))).rejects.toMatchObject({
      code: 'STATUS',
      status: 404,
    });
    const names = async (options?: Parameters<typeof client.list>[1]) =>
      (await client.list(ConfigMaps, options)).items.map(nameOf).sort();
    expect(await names()).toEqual(['a/x', 'a/y', 'b/x', 'b/y']);
    expect(await names({ namespace: 'b' })).toEqual(['b/x', 'b/y']);
    expect(await names({ labelSelector: 'in=b' })).toEqual(['b/x', 'b/y']);
    expect(await names({ index: { name: 'byPage', value: 'y' } })).toEqual(['a/y', 'b/y']);
    const some = await client.list(ConfigMaps, { limit: 3 });
    expect(some.items).toHaveLength(4); // a list from caches is complete
    expect(some.metadata.remainingItemCount).toBe(undefined);
    restore();
    await clock.run(60_000);
    // not cached, so the server is asked
    expect(nameOf(await client.get(ConfigMaps, at('x', 'c')))).toBe('c/x');
    const lists = others.list(ConfigMaps, { namespace: 'c' });
    await expect(lists).rejects.toMatchObject({ status: 403 });
    await expect(client.list(ConfigMaps, { namespace: 'c' })).rejects.toMatchObject({
      status: 403,
    });
    await expect(client.get(ConfigMaps, { name: 'x' })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });

  test('resumes from the version of its oldest cache', async () => {
    const { clock, manager, transport, others } = await filled();
    const before = (await manager.client.list(ConfigMaps, { namespace: 'a' })).metadata
      .resourceVersion;
    const takeBack = transport.inject({ do: 'refuse', path: '/namespaces/a/configmaps' });
    transport.dropConnections();
    await clock.run(2000);
    await others.create(ConfigMaps, configMap('z', {}, inNamespace('b')));
    await clock.settle();
    const { items, metadata } = await manager.client.list(ConfigMaps);
    expect(items.map(nameOf)).toContain('b/z');
    expect(metadata.resourceVersion).toBe(before);
    takeBack();
  });

  test('reads its own writes in each namespace', async () => {
    const { clock, manager, transport } = await filled();
    const { client } = manager;
    const takeBack = transport.inject({
      do: 'stall',
      verb: 'watch',
      path: '/namespaces/a/configmaps',
    });
    transport.dropConnections();
    await clock.run(2000); // the watch of a is open again and has no events
    await client.create(ConfigMaps, configMap('new', {}, inNamespace('a')));
    await client.create(ConfigMaps, configMap('new', {}, inNamespace('b')));
    await clock.settle();
    expect(nameOf(await client.get(ConfigMaps, at('new', 'b')))).toBe('b/new');
    expect((await client.list(ConfigMaps, { namespace: 'b' })).items.map(nameOf)).toContain(
      'b/new',
    );
    let got: string | undefined;
    const getting = client.get(ConfigMaps, at('new', 'a')).then((object) => (got = nameOf(object)));
    await clock.settle();
    expect(got).toBeUndefined(); // its own cache has not shown it
    await clock.run(60_000);
    await getting;
    expect(got).toBe('a/new'); // the server was asked in the end
    const all = client.list(ConfigMaps);
    await clock.run(60_000);
    expect(
      (await all).items
        .map(nameOf)
        .filter((name) => name.endsWith('new'))
        .sort(),
    ).toEqual(['a/new', 'b/new']);
    await client.delete(ConfigMaps, at('new', 'b'));
    await clock.settle();
    await expect(client.get(ConfigMaps, at('new', 'b'))).rejects.toMatchObject({ status: 404 });
    takeBack();
  });

  test('reads that it deleted all in one namespace', async () => {
    const { clock, manager, transport } = await filled();
    const takeBack = transport.inject({
      do: 'stall',
      verb: 'watch',
      path: '/namespaces/b/configmaps',
    });
    transport.dropConnections();
    await clock.run(2000);
    await manager.client.deleteAllOf(ConfigMaps, { namespace: 'b' });
    const left = manager.client.list(ConfigMaps);
    await clock.run(60_000);
    expect((await left).items.map(nameOf).sort()).toEqual(['a/x', 'a/y']);
    takeBack();
  });

  test('reads its writes through another definition of the resource', async () => {
    const { indexers: _, ...plain } = ConfigMaps;
    const Other = defineResource<ConfigMap>()(plain);
    const { clock, transport, others } = cluster();
    const selections = new Map([[ConfigMaps, { namespaces: ['a', 'b'] }]]);
    const cache = newSharedInformerFactory(transport, { clock, namespace: 'a', selections });
    onTestFinished(() => cache.shutdown());
    const client = newClient({ transport, clock, cache });
    await others.create(ConfigMaps, configMap('x', { page: '1' }, inNamespace('a')));
    const before = client.get(ConfigMaps, at('x', 'a'));
    await clock.settle();
    await before;
    const takeBack = transport.inject({ do: 'stall', verb: 'watch', path: '/configmaps' });
    transport.dropConnections();
    await clock.run(2000);
    await client.update(Other, configMap('x', { page: '2' }, inNamespace('a')));
    const reading = client.get(ConfigMaps, at('x', 'a'));
    await clock.run(60_000);
    expect((await reading).data).toEqual({ page: '2' });
    takeBack();
  });

  test('loses nothing of one namespace by faults of another', async () => {
    const { clock, manager, transport, others } = await filled();
    const received: string[] = [];
    for (const namespace of manager.cache.namespacesOf(ConfigMaps))
      manager.cache
        .informerFor(ConfigMaps, { namespace })
        .addEventHandler({ onDelete: (gone) => void received.push(keyFrom(gone)) });
    const takeBack = transport.inject({ do: 'refuse', path: '/namespaces/a/configmaps' });
    transport.dropConnections();
    transport.expireHistory();
    await clock.run(2000);
    takeBack();
    await others.delete(ConfigMaps, at('x', 'a'));
    await others.delete(ConfigMaps, at('y', 'b'));
    await clock.run(60_000);
    expect(received.sort()).toEqual(['a/x', 'b/y']);
    expect((await manager.client.list(ConfigMaps)).items.map(nameOf).sort()).toEqual([
      'a/y',
      'b/x',
    ]);
  });
});

const keyFrom = (gone: { metadata: Metadata } | DeletedFinalStateUnknown<unknown>): string =>
  gone instanceof DeletedFinalStateUnknown ? gone.key : nameOf(gone);
