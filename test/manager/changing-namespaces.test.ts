/**
 * A manager whose cache gets and loses namespaces while it runs: only a new namespace is listed, a
 * removed one is forgotten without a deletion, and no reconcile takes objects for deleted that are
 * not listed yet or not known any more.
 */
import { DeletedFinalStateUnknown, newSharedInformerFactory } from 'capstan/cache';
import { newClient, setControllerReference } from 'capstan/client';
import { createController, newControllerManagedBy } from 'capstan/controller';
import { newManager } from 'capstan/manager';
import { FakeClock, fakeTransport } from 'capstan/testing';
import type { Request } from 'capstan/workqueue';
import { expect, onTestFinished, test } from 'vitest';
import { expectError } from '../helpers/expect-error.ts';
import { Random, testSeed } from '../helpers/random.ts';
import { collectErrors } from '../helpers/reported-errors.ts';
import {
  at,
  ConfigMaps,
  configMap,
  type Metadata,
  type Widget,
  Widgets,
  widget,
} from '../helpers/resources.ts';
import { runManager } from './run-manager.ts';

const reported = collectErrors();
const seed = testSeed();

const keyOf = ({ namespace, name }: Request): string => `${namespace}/${name}`;
const nameOf = ({ metadata: { namespace, name } }: { metadata: Metadata }): string =>
  `${namespace}/${name}`;
const isList = ({ query }: { query?: Record<string, string> | undefined }): boolean =>
  query?.watch !== 'true';

function cluster(namespaces: readonly string[]) {
  const clock = new FakeClock();
  const transport = fakeTransport({ clock, resources: [Widgets] });
  const lists: string[] = [];
  const watches: string[] = [];
  const line = {
    ...transport,
    request: (request: Parameters<typeof transport.request>[0]) => {
      if (request.method === 'GET' && /\/(widgets|configmaps)$/.test(request.path))
        (isList(request) ? lists : watches).push(request.path);
      return transport.request(request);
    },
  };
  const manager = newManager({ transport: line, clock, cache: { namespaces } });
  const start = (): Promise<void> => runManager(manager, clock);
  const others = newClient({ transport });
  const put = async (namespace: string, ...names: string[]): Promise<void> => {
    for (const name of names) await others.create(Widgets, widget(name, {}, { namespace }));
  };
  return { clock, transport, manager, start, others, put, lists, watches };
}

test('a new namespace is listed alone, and one that is removed tells no deletion', async () => {
  const { clock, manager, start, put, lists, watches, others } = cluster(['a']);
  const done: string[] = [];
  const deleted: string[] = [];
  newControllerManagedBy(manager)
    .for(Widgets)
    .owns(ConfigMaps)
    .named('changing')
    .complete((request, { get }) => {
      done.push(`${keyOf(request)} ${get(request) === undefined ? 'gone' : 'there'}`);
    });
  for (const namespace of ['a', 'b']) await put(namespace, 'x', 'y');
  await start();
  expect(done.splice(0).sort()).toEqual(['a/x there', 'a/y there']);
  lists.length = 0;
  watches.length = 0;
  expect(manager.cache.hasSyncedIn('b')).toBe(false);
  await manager.cache.setNamespaces(['a', 'b']);
  expect(manager.cache.hasSyncedIn('b')).toBe(false);
  await clock.settle();
  expect(manager.cache.hasSyncedIn('b')).toBe(true);
  expect([...new Set(lists.splice(0))].sort()).toEqual([
    '/api/v1/namespaces/b/configmaps',
    '/apis/example.com/v1/namespaces/b/widgets',
  ]);
  expect(watches.filter((path) => !path.includes('/namespaces/b/'))).toEqual([]);
  expect(done.splice(0).sort()).toEqual(['b/x there', 'b/y there']);
  expect((await manager.client.list(Widgets)).items.map(nameOf).sort()).toEqual([
    'a/x',
    'a/y',
    'b/x',
    'b/y',
  ]);
  manager.cache.informerFor(Widgets, { namespace: 'b' }).addEventHandler({
    onDelete: (gone) =>
      void deleted.push(gone instanceof DeletedFinalStateUnknown ? gone.key : nameOf(gone)),
  });
  await clock.settle();
  await manager.cache.setNamespaces(['a']);
  await clock.settle();
  await others.delete(Widgets, at('x', 'b'));
  await put('a', 'z');
  await clock.settle();
  expect([done.splice(0), deleted]).toEqual([['a/z there'], []]);
  expect([...manager.cache.informers().keys()].sort()).toEqual([
    'configmaps/v1 in a',
    'widgets.example.com/v1 in a',
  ]);
  const left = await manager.client.list(Widgets);
  expect(left.items.map(nameOf).sort()).toEqual(['a/x', 'a/y', 'a/z']);
  // not cached any more, so the server is asked
  expect(nameOf(await manager.client.get(Widgets, at('y', 'b')))).toBe('b/y');
  // it comes back, as an initial list
  await manager.cache.setNamespaces(['b', 'a']);
  await clock.settle();
  expect(done).toEqual(['b/y there']);
  const { sources } = manager.report().controllers[0] ?? {};
  expect(sources?.map(({ name }) => name).sort()).toEqual([
    'for Widget in a',
    'for Widget in b',
    'owns ConfigMap in a',
    'owns ConfigMap in b',
  ]);
  expect(reported).toEqual([]);
});

test('a request waits for the objects of its namespace, and is dropped without it', async () => {
  const { clock, manager, start, put, transport, others } = cluster([]);
  const done: string[] = [];
  const aborted: unknown[] = [];
  let hold = false;
  const controller = createController({
    manager,
    for: Widgets,
    owns: [ConfigMaps],
    name: 'waiting',
    reconcile: async (request, { get, signal }) => {
      done.push(`${keyOf(request)} ${get(request) === undefined ? 'gone' : 'there'}`);
      if (!hold) return { requeueAfter: 1000 };
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
      try {
        get(request);
      } catch (error) {
        aborted.push((error as { code?: string }).code);
      }
      throw signal.reason;
    },
  });
  await put('a', 'x');
  const owner = await others.get(Widgets, at('x', 'a'));
  const child = setControllerReference(owner, configMap('child', {}, { namespace: 'a' }), Widgets);
  await others.create(ConfigMaps, child);
  await start();
  expect([done, controller.report().state]).toEqual([[], 'running']);
  const path = '/namespaces/a/widgets';
  const takeBack = transport.inject({ do: 'delay', ms: 3000, verb: 'list', path });
  await manager.cache.setNamespaces(['a']);
  await clock.run(1000);
  // the ConfigMap's event asks for a/x, which is not listed
  expect([done, controller.report().queue.waiting]).toEqual([[], 1]);
  takeBack();
  await clock.run(5000);
  expect(new Set(done.splice(0))).toEqual(new Set(['a/x there']));
  await manager.cache.setNamespaces([]);
  await clock.run(5000); // the requeueAfter comes
  expect([done, controller.report().keys]).toEqual([[], []]);
  await manager.cache.setNamespaces(['a']);
  hold = true;
  await clock.settle();
  expect(done.splice(0)).toEqual(['a/x there']);
  await manager.cache.setNamespaces([]);
  await clock.run(5000);
  expect(aborted).toEqual(['NAMESPACE_REMOVED']);
  expect([done, controller.report().keys, controller.report().totals]).toMatchObject([
    [],
    [],
    { error: 0, aborted: 1 },
  ]);
  expect(reported).toEqual([]);
});

test('a namespace that is forbidden is named, and the others go on', async () => {
  const { clock, manager, start, put, transport } = cluster(['a']);
  const done: string[] = [];
  newControllerManagedBy(manager)
    .for(Widgets)
    .named('forbidden')
    .complete((request) => void done.push(keyOf(request)));
  await start();
  const takeBack = transport.inject({ do: 'status', status: 403, path: '/namespaces/b/' });
  await manager.cache.setNamespaces(['a', 'b']);
  await put('a', 'x');
  await clock.run(1000);
  expect(done.splice(0)).toEqual(['a/x']);
  expect(manager.cache.hasSyncedIn('b')).toBe(false);
  const synced = await manager.cache.waitForCacheSync({ signal: AbortSignal.abort() });
  expect(String(synced.asError())).toMatch('widgets.example.com/v1 in b');
  const { sources = [] } = manager.report().controllers[0] ?? {};
  const [b] = sources.filter(({ name }) => name === 'for Widget in b');
  expect(b).toMatchObject({ synced: false, informer: 'widgets.example.com/v1 in b' });
  expect(b?.problem).toMatch('403');
  takeBack();
  await put('b', 'y');
  await clock.run(60_000);
  expect([done, manager.cache.hasSyncedIn('b')]).toEqual([['b/y'], true]);
  expect(reported.length).toBeGreaterThan(0);
  for (const { error } of reported) expect(String(error)).toMatch('a Role of the namespace "b"');
  reported.length = 0;
});

test('a factory runs what it has in the new namespace too', async () => {
  const { clock, transport, put } = cluster([]);
  const factory = newSharedInformerFactory(transport, { clock, namespaces: ['a'] });
  onTestFinished(() => factory.shutdown());
  const labelled = { labelSelector: 'page=1' };
  factory.informerFor(Widgets, { namespace: 'a' });
  factory.informerFor(ConfigMaps, { namespace: 'a', ...labelled });
  factory.informerFor(ConfigMaps, { namespace: 'z' });
  factory.start();
  await put('b', 'x');
  await clock.settle();
  await factory.setNamespaces(['b']);
  await clock.settle();
  expect([...factory.informers().keys()].sort()).toEqual([
    'configmaps/v1 in b with labels page=1',
    'configmaps/v1 in z',
    'widgets.example.com/v1 in b',
  ]);
  expect(factory.lister(Widgets, { namespace: 'b' }).list().map(nameOf)).toEqual(['b/x']);
  await factory.remove(ConfigMaps, { namespace: 'b', ...labelled });
  await factory.setNamespaces(['a', 'b', 'z']);
  expect([...factory.informers().keys()].sort()).toEqual([
    'configmaps/v1 in z',
    'widgets.example.com/v1 in a',
    'widgets.example.com/v1 in b',
    'widgets.example.com/v1 in z',
  ]);
  await factory.setNamespaces([]);
  expect([...factory.informers().keys()]).toEqual([]);
  expect(factory.namespaces()).toEqual([]);
  expectError(() => factory.informerFor(Widgets), 'INVALID_ARGUMENT', 'setNamespaces');
});

test('a listener that throws is reported, and the namespaces change for all others', async () => {
  const { clock, manager, start, put } = cluster(['a']);
  const { cache } = manager;
  const done: string[] = [];
  const told: object[] = [];
  for (const fail of [() => Promise.reject(new Error('late')), () => JSON.parse('no')])
    cache.onNamespaces(fail);
  const forget = cache.onNamespaces((change) => {
    told.push(change);
    if (cache.namespaces()?.includes('c')) void cache.setNamespaces(['b']); // in its own call
  });
  newControllerManagedBy(manager)
    .for(Widgets)
    .named('listening')
    .complete((request) => void done.push(keyOf(request)));
  await start();
  for (const namespace of ['a', 'b', 'c']) await put(namespace, 'x');
  await cache.setNamespaces(['b']);
  await clock.settle();
  expect(done.splice(0)).toEqual(['a/x', 'b/x']);
  expect(told.splice(0)).toEqual([{ added: ['b'], removed: ['a'] }]);
  expect(reported.splice(0).map(({ error }) => (error as Error).name)).toEqual([
    'SyntaxError',
    'Error',
  ]);
  await cache.setNamespaces(['b', 'c']);
  await clock.settle();
  expect([cache.namespaces(), told.splice(0)]).toEqual([
    ['b'],
    [
      { added: ['c'], removed: [] },
      { added: [], removed: ['c'] },
    ],
  ]);
  await put('c', 'y');
  await put('b', 'y');
  await clock.settle();
  expect(done).toEqual(['b/y']);
  forget();
  await cache.setNamespaces([]);
  expect(told).toEqual([]);
  reported.length = 0;
});

test('refuses namespaces that cannot work, and changes nothing', async () => {
  const { manager, transport } = cluster(['a']);
  const { cache } = manager;
  for (const wrong of [['b', 'b'], [''], 'b', [7]])
    expectError(() => cache.setNamespaces(wrong as never), 'INVALID_ARGUMENT', 'each once');
  expect(cache.namespaces()).toEqual(['a']);
  const whole = newSharedInformerFactory(transport);
  expectError(() => whole.setNamespaces(['a']), 'INVALID_ARGUMENT', 'without the option');
  expect(whole.namespaces()).toBeUndefined();
  await cache.shutdown();
  expectError(() => cache.setNamespaces(['b']), 'STOPPED');
});

test(`random changes leave what a model has (CAPSTAN_SEED=${seed})`, async () => {
  const names = ['a', 'b', 'c', 'd'];
  for (let life = 0; life < 12; life++) {
    const what = `CAPSTAN_SEED=${seed}, life ${life}`;
    const random = new Random(seed + life);
    const some = (): string[] => names.filter(() => random.chance(0.5));
    let held = some();
    const { clock, manager, start, others } = cluster(held);
    const objects = new Map<string, number>();
    const seen = new Map<string, number>();
    const deleted = new Set<string>();
    let gone = 0;
    const controller = createController({
      manager,
      for: Widgets,
      name: `random-${life}`,
      maxConcurrentReconciles: 1 + random.int(3),
      debounceMs: random.pick([0, 0, 5]),
      reconcile: async (request, { get, signal }) => {
        const key = keyOf(request);
        const size = get(request)?.spec?.size;
        if (random.chance(0.3))
          await new Promise<void>((resolve) => clock.setTimer(resolve, random.int(30)));
        // taken for deleted, but it is there
        if (size === undefined && objects.has(key) && !deleted.has(key)) gone++;
        if (signal.aborted) throw signal.reason;
        if (size === undefined) seen.delete(key);
        else seen.set(key, size);
        if (random.chance(0.2)) throw new Error('not yet');
        return random.chance(0.2) ? { requeueAfter: random.int(50) } : undefined;
      },
    });
    await start();
    for (let step = 0; step < 60; step++) {
      const key = { namespace: random.pick(names), name: random.pick(['x', 'y', 'z']) };
      const of = keyOf(key);
      const which = random.next();
      if (which < 0.3) {
        held = some();
        void manager.cache.setNamespaces(held);
        for (const known of seen.keys())
          if (!held.includes(known.split('/')[0] ?? '')) seen.delete(known);
      } else if (!objects.has(of)) {
        objects.set(of, step);
        const made = { metadata: key, spec: { size: step } } as Widget;
        await others.create(Widgets, made);
      } else if (which < 0.5) {
        objects.delete(of);
        deleted.add(of);
        await others.delete(Widgets, key);
      } else {
        objects.set(of, step);
        const body = { spec: { size: step } };
        await others.patch(Widgets, key, { type: 'merge', body });
      }
      if (random.chance(0.5)) clock.step(random.int(40));
      if (random.chance(0.5)) await clock.settle();
      else for (let turns = random.int(20); turns > 0; turns--) await Promise.resolve();
    }
    await clock.run(30_000);
    const isHeld = (key: string): boolean => held.includes(key.split('/')[0] ?? '');
    const expected = [...objects].filter(([key]) => isHeld(key)).sort();
    expect(gone, what).toBe(0);
    expect([...seen].filter(([key]) => isHeld(key)).sort(), what).toEqual(expected);
    const listed = await manager.client.list(Widgets);
    const cached = listed.items.map((item) => [nameOf(item), item.spec?.size]).sort();
    expect(cached, what).toEqual(expected);
    expect(controller.report().keys, what).toEqual([]);
    const informers = [...manager.cache.informers().keys()].sort();
    expect(informers, what).toEqual(held.map((name) => `widgets.example.com/v1 in ${name}`));
    for (const namespace of names)
      expect(manager.cache.hasSyncedIn(namespace), what).toBe(held.includes(namespace));
    await controller.stop();
  }
  reported.length = 0;
});
