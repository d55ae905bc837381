/** The factory of shared informers. */
import {
  type DeletedFinalStateUnknown,
  defineResource,
  type InformerSelection,
  type KubeObject,
  newSharedInformerFactory,
  type SharedInformerFactory,
  type TransportRequest,
} from 'capstan/cache';
import { afterEach, describe, expect, test } from 'vitest';
import { FakeClock } from '../../../bindings/base/clock.ts';
import { answer, LiveServer } from '../../helpers/cache/live-server.ts';
import { setUp as setUpInformer } from '../../helpers/cache/recording-handlers.ts';
import { Replies } from '../../helpers/cache/scripted-server.ts';
import { collectErrors } from '../../helpers/reported-errors.ts';
import { type ConfigMap, ConfigMaps } from '../../helpers/resources.ts';

const reported = collectErrors();
const Nodes = defineResource<KubeObject>()({
  group: '',
  version: 'v1',
  kind: 'Node',
  plural: 'nodes',
  namespaced: false,
});
const Secrets = defineResource<KubeObject>()({
  group: '',
  version: 'v1',
  kind: 'Secret',
  plural: 'secrets',
  namespaced: true,
});
const invalid = expect.objectContaining({ code: 'INVALID_ARGUMENT' });

let factory: SharedInformerFactory | undefined;
afterEach(() => factory?.shutdown());

function setUp(options: Parameters<typeof newSharedInformerFactory>[1] = {}) {
  const clock = new FakeClock();
  const server = new LiveServer();
  const made = newSharedInformerFactory(server, {
    clock,
    random: () => 0,
    watchList: false,
    ...options,
  });
  factory = made;
  return { clock, server, factory: made };
}

/** Answers each list with one object `n/a`. */
function lists(server: LiveServer, data: Record<string, string>): void {
  server.intercept = ({ path, query }) => {
    if (query?.watch) return undefined;
    const kind = path.endsWith('secrets') ? 'SecretList' : 'ConfigMapList';
    const items = [{ metadata: { name: 'a', namespace: 'n', resourceVersion: '1' }, data }];
    return answer(
      200,
      JSON.stringify({ kind, apiVersion: 'v1', metadata: { resourceVersion: '1' }, items }),
    );
  };
}

const pathOf = ({ path, query }: TransportRequest): string =>
  `${query?.watch ? 'watch' : 'list'} ${path}`;

describe('a factory', () => {
  test('has one informer for each resource', async () => {
    const { clock, server, factory } = setUp();
    const first = factory.informerFor(ConfigMaps);
    expect(factory.informerFor(ConfigMaps)).toBe(first);
    expect(factory.forResource(ConfigMaps).informer()).toBe(first);
    expect(factory.informerFor({ ...ConfigMaps })).toBe(first);
    factory.start();
    await clock.settle();
    expect(server.requests.map(pathOf)).toEqual([
      'list /api/v1/configmaps',
      'watch /api/v1/configmaps',
    ]);
  });

  test('has separate informers for other namespaces, selectors and metadataOnly', () => {
    const { factory } = setUp({ namespace: 'a' });
    const selections = [
      {},
      { namespace: 'b' },
      { namespace: '' },
      { labelSelector: 'x' },
      { fieldSelector: 'metadata.name=x' },
      { metadataOnly: true },
    ];
    const informers = selections.map((selection) => factory.informerFor(ConfigMaps, selection));
    expect(new Set(informers).size).toBe(selections.length);
    expect(factory.informerFor(ConfigMaps, { namespace: 'a' })).toBe(informers[0]);
  });

  // Options were found by the definition object: another definition of the resource got a second
  // informer, without them.
  test('treats all definitions of a resource as equal, also in its options', () => {
    const { group, version, kind, plural, namespaced } = ConfigMaps;
    const again = defineResource<ConfigMap>()({ group, version, kind, plural, namespaced });
    const { factory } = setUp({
      selections: new Map([[ConfigMaps, { namespace: 'a', labelSelector: 'app=x' }]]),
      perResource: new Map([[ConfigMaps, { keep: 'objects' as const }]]),
      customResync: new Map([[ConfigMaps, 5000]]),
    });
    const informer = factory.informerFor(again);
    expect(factory.informerFor(ConfigMaps)).toBe(informer);
    expect(factory.informerFor(again, { labelSelector: undefined, namespace: undefined })).toBe(
      informer,
    );
    expect(factory.namespacesOf(again)).toEqual(['a']);
    expect([...factory.informers().keys()]).toEqual(['configmaps/v1 in a with labels app=x']);
  });

  test('has an informer for each namespace, and one for a cluster-scoped resource', async () => {
    const { clock, server, factory } = setUp({
      namespaces: ['a', 'b'],
      selections: new Map([[Secrets, { namespaces: ['c', 'd'], labelSelector: 'x' }]]),
    });
    expect(factory.namespacesOf(ConfigMaps)).toEqual(['a', 'b']);
    expect(factory.namespacesOf(ConfigMaps, { namespace: 'e' })).toEqual(['e']);
    expect(factory.namespacesOf(Secrets)).toEqual(['c', 'd']);
    expect(factory.namespacesOf(Nodes)).toEqual(['']);
    const ask = () => factory.informerFor(ConfigMaps);
    expect(ask).toThrow(invalid);
    expect(ask).toThrow('a namespace, as there is an informer of configmaps for each of a, b');
    expect(() => factory.lister(Secrets)).toThrow('for each of c, d');
    factory.informerFor(ConfigMaps, { namespace: 'b' });
    factory.informerFor(Secrets, { namespace: 'd' });
    factory.informerFor(Nodes);
    expect([...factory.informers().keys()]).toEqual([
      'configmaps/v1 in b',
      'secrets/v1 in d with labels x',
      'nodes/v1',
    ]);
    factory.start();
    await clock.settle();
    const lists = server.requests.map(pathOf).filter((line) => line.startsWith('list'));
    expect(lists).toEqual([
      'list /api/v1/namespaces/b/configmaps',
      'list /api/v1/namespaces/d/secrets',
      'list /api/v1/nodes',
    ]);
  });

  test.each([
    [{ selections: new Map([[ConfigMaps, { namespaces: [] }]]) }],
    [{ namespaces: ['a', 'a'] }],
    [{ namespaces: ['a', ''] }],
    [{ namespaces: 'ab' as unknown as string[] }],
    [{ namespaces: ['a'], namespace: 'a' }],
    [{ selections: new Map([[ConfigMaps, { namespaces: [''] }]]) }],
    [{ selections: new Map([[ConfigMaps, { namespaces: ['a'], namespace: 'b' }]]) }],
    [{ selections: new Map([[Nodes, { namespaces: ['a'] }]]) }],
    [{ selections: new Map([[ConfigMaps, undefined]]) as never }],
    [{ selections: new Map([[undefined, { namespaces: ['a'] }]]) as never }],
  ])('refuses empty, duplicate or contradictory namespaces: %o', (options) => {
    expect(() => setUp(options as Parameters<typeof setUp>[0])).toThrow(invalid);
  });

  test('adds the indices of a second definition to the informer of the first', async () => {
    const { clock, server, factory } = setUp();
    server.put('a', { data: { v: 'x' } });
    factory.informerFor(ConfigMaps);
    factory.start();
    await clock.settle();
    const Named = { ...ConfigMaps, indexers: { byName: 'metadata.name', byValue: 'data.v' } };
    const informer = factory.informerFor<ConfigMap, 'byName' | 'byValue'>(Named);
    expect(informer.getIndexer().byIndex('byName', 'a')).toHaveLength(1);
    expect(informer.getIndexer().indexKeys('byValue', 'x')).toEqual(['default/a']);
    const Other = { ...ConfigMaps, indexers: { byValue: 'data.w' } };
    expect(() => factory.informerFor(Other)).toThrow(
      expect.objectContaining({ code: 'INDEX_EXISTS' }),
    );
  });

  test('restricts namespaced resources to its namespace', async () => {
    const { clock, server, factory } = setUp({ namespace: 'kube-system' });
    factory.informerFor(ConfigMaps);
    factory.informerFor(Nodes);
    factory.start();
    await clock.settle();
    expect(server.requests.map(pathOf).slice(0, 2)).toEqual([
      'list /api/v1/namespaces/kube-system/configmaps',
      'list /api/v1/nodes',
    ]);
  });

  test('starts the informers that were not started yet, at each call of start', async () => {
    const { clock, server, factory } = setUp();
    factory.start();
    const informer = factory.informerFor(ConfigMaps);
    await clock.settle();
    expect(informer.hasStarted()).toBe(false);
    factory.start();
    factory.start();
    await clock.settle();
    expect([informer.hasSynced(), server.requests.length]).toEqual([true, 2]);
    factory.informerFor(ConfigMaps, { namespace: 'a' });
    factory.start();
    await clock.settle();
    expect(server.requests).toHaveLength(4);
    expect(reported).toEqual([]);
  });

  test('does not start an informer that the program has started', async () => {
    const { clock, server, factory } = setUp();
    const informer = factory.informerFor(ConfigMaps);
    void informer.run();
    factory.start();
    await clock.settle();
    expect(server.requests).toHaveLength(2);
    expect(reported).toEqual([]);
    await factory.shutdown();
    expect(informer.isStopped()).toBe(true);
  });

  test('names the informers that have not synced, with the reason of the signal', async () => {
    const { clock, server, factory } = setUp();
    server.intercept = (request) =>
      request.path.endsWith('nodes') ? new Promise(() => undefined) : undefined;
    factory.informerFor(ConfigMaps);
    factory.informerFor(Nodes);
    factory.informerFor(
      { ...ConfigMaps, group: 'example.com', plural: 'things' },
      { namespace: 'a', labelSelector: 'b' },
    );
    expect((await factory.waitForCacheSync()).asError()).toBeUndefined(); // nothing was started
    factory.start();
    factory.informerFor(ConfigMaps, { namespace: 'not started' });
    const stop = new AbortController();
    const waiting = factory.waitForCacheSync({ signal: stop.signal });
    await clock.settle();
    const cause = new Error('too slow');
    stop.abort(cause);
    const result = await waiting;
    expect(Object.fromEntries(result.synced)).toEqual({
      'configmaps/v1': true,
      'nodes/v1': false,
      'things.example.com/v1 in a with labels b': true,
    });
    expect(result.asError()).toMatchObject({ code: 'CACHE_SYNC_TIMEOUT', cause });
    expect(result.asError()?.message).toBe(
      'failed to sync all caches, these have not synced: nodes/v1 (too slow)',
    );
    expect(reported).toEqual([]);
  });

  test('stops all its informers at shutdown, and starts none after it', async () => {
    const { clock, server, factory } = setUp();
    const informer = factory.informerFor(ConfigMaps);
    factory.start();
    const late = factory.informerFor(Nodes, { labelSelector: 'late' });
    await clock.settle();
    await Promise.all([factory.shutdown(), factory.shutdown()]);
    expect([informer.isStopped(), clock.timers()]).toEqual([true, 0]);
    const requests = server.requests.length;
    factory.start();
    await clock.settle();
    expect([late.hasStarted(), late.isStopped(), server.requests.length]).toEqual([
      false,
      true,
      requests,
    ]);
    expect(factory.informerFor(ConfigMaps)).toBe(informer);
    expect(() => factory.informerFor(ConfigMaps, { namespace: 'new' })).toThrow(
      expect.objectContaining({ code: 'STOPPED' }),
    );
  });

  test('waits at shutdown also for informers that were removed', async () => {
    const { clock, factory } = setUp();
    const informer = factory.informerFor(ConfigMaps);
    factory.start();
    await clock.settle();
    const removed = factory.remove(ConfigMaps);
    expect(informer.isStopped()).toBe(false);
    await factory.shutdown();
    expect(informer.isStopped()).toBe(true);
    await removed;
  });

  test('waits at shutdown for informers that the signal has stopped', async () => {
    const { clock, factory } = setUp();
    const informer = factory.informerFor(ConfigMaps);
    const stop = new AbortController();
    factory.start({ signal: stop.signal });
    await clock.settle();
    stop.abort();
    await factory.shutdown();
    expect(informer.isStopped()).toBe(true);
  });

  test('creates a new informer after the old one was removed', async () => {
    const { clock, server, factory } = setUp();
    const first = factory.informerFor(ConfigMaps);
    factory.start();
    await clock.settle();
    expect(await factory.remove(ConfigMaps)).toBe(true);
    expect(await factory.remove(ConfigMaps)).toBe(false);
    expect([first.isStopped(), server.watches.size]).toEqual([true, 1]);
    const second = factory.informerFor(ConfigMaps);
    expect(second).not.toBe(first);
    factory.start();
    await clock.settle();
    expect(second.hasSynced()).toBe(true);
  });

  test('applies tweakListOptions to the query of every request', async () => {
    const { clock, server, factory } = setUp({
      tweakListOptions: (query) => {
        query.labelSelector = 'app=web';
      },
    });
    factory.informerFor(ConfigMaps);
    factory.start();
    await clock.settle();
    expect(server.requests.map(({ query }) => query?.labelSelector)).toEqual([
      'app=web',
      'app=web',
    ]);
  });

  test('passes transform and resyncPeriod to all informers, or that of the resource', async () => {
    const { clock, server, factory } = setUp({
      resyncPeriod: 5_000,
      customResync: new Map([[Nodes, 2_000]]),
      transform: (object) => ({
        ...object,
        metadata: { ...object.metadata, resourceVersion: 'cut' },
      }),
    });
    server.put('a');
    const counts = { configmaps: 0, nodes: 0 };
    const maps = factory.informerFor(ConfigMaps);
    maps.addEventHandler({ onUpdate: () => void counts.configmaps++ });
    const nodes = factory.informerFor(Nodes);
    nodes.addEventHandler({ onUpdate: () => void counts.nodes++ });
    server.intercept = (request) => {
      if (!request.path.endsWith('nodes') || request.query?.watch) return undefined;
      const list = {
        kind: 'NodeList',
        apiVersion: 'v1',
        metadata: { resourceVersion: '1' },
        items: [{ metadata: { name: 'n' } }],
      };
      const body = (async function* () {
        yield new TextEncoder().encode(JSON.stringify(list));
      })();
      return { status: 200, headers: new Headers(), body };
    };
    factory.start();
    await clock.run(10_100);
    expect(counts).toEqual({ configmaps: 2, nodes: 5 });
    expect(maps.getIndexer().getByKey('default/a')?.metadata.resourceVersion).toBe('cut');
  });

  test('applies the options of a resource over those of all resources', async () => {
    const { clock, server, factory } = setUp({
      drop: ['data.seen'],
      perResource: new Map([[Secrets, { drop: ['data.hidden'], transform: undefined }]]),
    });
    lists(server, { seen: 'a', hidden: 'b' });
    const [maps, secrets] = [factory.informerFor(ConfigMaps), factory.informerFor(Secrets)];
    factory.start();
    await clock.settle();
    expect(maps.getIndexer().getByKey('n/a')?.data).toEqual({ hidden: 'b' });
    expect((secrets.getIndexer().getByKey('n/a') as ConfigMap).data).toEqual({ seen: 'a' });
  });

  test('lets one resource keep decoded objects and all others bytes, and the reverse', async () => {
    const { clock, server, factory } = setUp({
      transform: (object) => ({ ...object, cut: true }),
      perResource: new Map([[Secrets, { transform: undefined, maxBytes: 1e6 }]]),
    });
    lists(server, { seen: 'a' });
    const maps = factory.informerFor(ConfigMaps);
    const secrets = factory.informerFor(Secrets);
    factory.start();
    await clock.settle();
    expect(maps.getIndexer().getByKey('n/a')).toMatchObject({ cut: true });
    expect(secrets.getIndexer().getByKey('n/a')).not.toHaveProperty('cut');
    expect([maps.status().bytes.live, secrets.status().bytes.live > 0]).toEqual([0, true]);
  });

  test('is shut down at the end of an await using block', async () => {
    const { clock, factory } = setUp();
    const informer = factory.informerFor(ConfigMaps);
    {
      await using used = factory;
      used.start();
      await clock.settle();
    }
    expect(informer.isStopped()).toBe(true);
  });

  test('refuses invalid options', () => {
    const server = new LiveServer();
    expect(() => newSharedInformerFactory({} as LiveServer)).toThrow(invalid);
    expect(() => newSharedInformerFactory(server, { resyncPeriod: Number.NaN })).toThrow(invalid);
    expect(() => newSharedInformerFactory(server, { customResync: {} as never })).toThrow(invalid);
    expect(() =>
      newSharedInformerFactory(server, { customResync: new Map([[Nodes, Number.NaN]]) }),
    ).toThrow(invalid);
    expect(() => newSharedInformerFactory(server, { perResource: {} as never })).toThrow(invalid);
    // Refused by the first informer only.
    expect(() => newSharedInformerFactory(server, { fifo: 'fast' as never })).toThrow(invalid);
    const dropName = new Map([[Nodes, { drop: ['metadata.name'] }]]);
    expect(() => newSharedInformerFactory(server, { perResource: dropName })).toThrow(invalid);
    const both = new Map([[Nodes, { maxBytes: 1e6 }]]);
    expect(() =>
      newSharedInformerFactory(server, { perResource: both, transform: (object) => object }),
    ).toThrow(invalid);
    const { factory } = setUp();
    expect(() => factory.informerFor(undefined as never)).toThrow(invalid);
    expect(() => factory.informerFor(Nodes, { namespace: 'a' })).toThrow(invalid);
  });
});

describe('whether a resource is served', () => {
  const widgets = { ...ConfigMaps, group: 'e.x', plural: 'widgets', kind: 'Widget' };
  const json = (body: object) => () => answer(200, JSON.stringify(body));
  const lacking = json({
    kind: 'APIResourceList',
    resources: [{ name: 'others', kind: 'Other', namespaced: true }],
  });
  const ask = async (...replies: ConstructorParameters<typeof Replies>) => {
    const server = new Replies(...replies);
    const served = await newSharedInformerFactory(server, { clock: new FakeClock() }).isServed(
      widgets,
    );
    return [
      served,
      server.requests.map(
        ({ path, query }) => `${path}${query?.limit ? ` limit ${query.limit}` : ''}`,
      ),
    ];
  };
  const [discovery, list] = ['/apis/e.x/v1', '/apis/e.x/v1/widgets limit 1'];

  test('is false if discovery lacks it and a list is refused with 404', async () => {
    expect(await ask(lacking, () => answer(404, '404 page not found'))).toEqual([
      false,
      [discovery, list],
    ]);
  });

  test('is true by discovery, or by a list if discovery lacks the resource', async () => {
    const having = json({
      kind: 'APIResourceList',
      resources: [{ name: 'widgets', kind: 'Widget', namespaced: true }],
    });
    expect(await ask(having)).toEqual([true, [discovery]]);
    const empty = json({
      kind: 'WidgetList',
      apiVersion: 'e.x/v1',
      metadata: { resourceVersion: '1' },
      items: [],
    });
    expect(await ask(lacking, empty)).toEqual([true, [discovery, list]]);
  });

  test('is true if it is unknown: an informer will find out', async () => {
    expect((await ask(() => answer(403, '{}')))[0]).toBe(true);
    expect((await ask(() => answer(200, '<html>')))[0]).toBe(true);
    expect((await ask(lacking, () => answer(403, '{}')))[0]).toBe(true);
    expect((await ask(lacking, () => answer(500, 'oh')))[0]).toBe(true);
  });

  test('takes no request if the informer has synced', async () => {
    const { clock, server, factory } = setUp();
    factory.informerFor(ConfigMaps);
    factory.start();
    await clock.settle();
    const asked = server.requests.length;
    expect(await factory.isServed(ConfigMaps)).toBe(true);
    expect(server.requests).toHaveLength(asked);
    await expect(factory.isServed({} as typeof ConfigMaps)).rejects.toThrow(invalid);
  });

  test('is reported under the name of its informer', () => {
    const { factory } = setUp();
    expect(factory.nameOf(ConfigMaps)).toBe('configmaps/v1');
    expect(factory.nameOf(widgets, { namespace: 'a', metadataOnly: true })).toBe(
      'widgets.e.x/v1 in a by their metadata',
    );
  });
});

describe('a write of this process', () => {
  const made = (name: string): ConfigMap => ({
    metadata: { namespace: 'default', name, resourceVersion: '7', labels: { app: name } },
  });

  test('gives a tombstone in each informer that selects it', async () => {
    const { clock, server, factory } = setUp();
    const told: string[] = [];
    const tell = (by: string, from: typeof ConfigMaps, selection: InformerSelection): void => {
      const onDelete = (gone: unknown): void => {
        const { key, obj } = gone as DeletedFinalStateUnknown<ConfigMap>;
        told.push(`${by} ${key} ${obj?.metadata.resourceVersion} ${obj?.kind}`);
      };
      factory.informerFor(from, selection).addEventHandler({ onDelete });
    };
    tell('all', ConfigMaps, {});
    tell('metadata', ConfigMaps, { metadataOnly: true });
    tell('label', ConfigMaps, { labelSelector: 'app=a' });
    tell('other label', ConfigMaps, { labelSelector: 'app=b' });
    tell('other namespace', ConfigMaps, { namespace: 'other' });
    tell('other resource', Secrets as unknown as typeof ConfigMaps, {});
    for (let i = 0; i < 9; i++) server.put('b'); // version 9
    factory.start();
    factory.wrote(ConfigMaps, made('a'));
    await clock.settle();
    expect(told.sort()).toEqual([
      'all default/a 7 ConfigMap',
      'label default/a 7 ConfigMap',
      'metadata default/a 7 ConfigMap',
    ]);
  });

  test('does not fail if a function of the user throws', async () => {
    const { clock, factory } = setUp({
      tweakListOptions: () => {
        throw new Error('broken');
      },
    });
    factory.informerFor(ConfigMaps);
    factory.start();
    factory.wrote(ConfigMaps, made('a'));
    expect(reported).toContainEqual({
      error: expect.objectContaining({ message: 'broken' }),
      what: 'informer of configmaps/v1, which could not note an object that was written',
    });
    await factory.shutdown();
    await clock.settle();
  });

  test('is ignored by a stopped informer, and is an error without a name', async () => {
    const { factory } = setUp();
    const informer = factory.informerFor(ConfigMaps);
    factory.start();
    expect(() => informer.wrote({} as ConfigMap)).toThrow(invalid);
    await informer.stop();
    informer.wrote(made('a'));
    expect(reported).toEqual([]);
  });
});

describe('a lister', () => {
  async function filled() {
    const { clock, server, informer } = setUpInformer();
    server.put('a', { labels: { app: 'web', tier: 'front' } });
    server.put('b', { labels: { app: 'web', tier: 'back' } });
    server.put('c');
    void informer.run();
    await clock.settle();
    return informer;
  }
  const names = (objects: ConfigMap[]): string[] =>
    objects.map(({ metadata }) => metadata.name).sort();

  test('selects by labels: some objects, all, none', async () => {
    const lister = (await filled()).lister();
    expect(names(lister.list())).toEqual(['a', 'b', 'c']);
    expect(names(lister.list({ labelSelector: 'app=web' }))).toEqual(['a', 'b']);
    expect(names(lister.list({ labelSelector: 'tier in (back)' }))).toEqual(['b']);
    expect(names(lister.list({ labelSelector: '!app' }))).toEqual(['c']);
    expect(names(lister.list({ labelSelector: { matchLabels: { app: 'api' } } }))).toEqual([]);
    expect(() => lister.list({ labelSelector: '=' })).toThrow(invalid);
  });

  test('reads one namespace, and one object in it', async () => {
    const informer = await filled();
    const lister = informer.lister();
    expect(names(lister.namespace('default').list({ labelSelector: 'app' }))).toEqual(['a', 'b']);
    expect(names(lister.namespace('other').list())).toEqual([]);
    expect(names(lister.namespace('').list())).toEqual(['a', 'b', 'c']);
    expect(lister.namespace('default').get('a')).toBe(informer.getIndexer().getByKey('default/a'));
    expect(lister.namespace('other').get('a')).toBeUndefined();
    expect(lister.get('default/a')?.metadata.name).toBe('a');
    expect(lister.get('a')).toBeUndefined();
  });
});
