/** The client that reads from caches: which requests it sends, and what its lists select. */
import { defineResource, newSharedInformerFactory, type Resource } from 'capstan/cache';
import {
  type Client,
  createOrUpdate,
  isNotFound,
  type ListOptions,
  newClient,
} from 'capstan/client';
import { FakeClock } from 'capstan/testing';
import { CapstanError, setErrorHandler } from 'capstan/workqueue';
import { describe, expect, onTestFinished, test } from 'vitest';
import { cached, lines } from '../helpers/client/clients.ts';
import {
  at,
  type ConfigMap,
  ConfigMaps,
  configMap,
  Namespaces,
  Widgets,
  widget,
} from '../helpers/resources.ts';

/** Requests other than those of informers and access checks for them. */
const reads = (requests: Parameters<typeof lines>[0]) =>
  requests.filter(
    ({ method, path, query }) =>
      method === 'GET' && path !== '/api/v1' && (query === undefined || /configmaps\/./.test(path)),
  );

const names = (items: readonly { metadata: { name?: string } }[]) =>
  items.map(({ metadata }) => metadata.name).sort();

describe('a cached read', () => {
  test('starts the informer of its resource at first, and then sends no request', async () => {
    const { client, requests, factory } = await cached();
    await client.create(ConfigMaps, configMap('a', { page: '1' }));
    expect(factory.has(ConfigMaps)).toBe(false);
    const got = await client.get(ConfigMaps, at('a'));
    expect(got).toMatchObject({ data: { page: '1' } });
    expect(factory.informerFor(ConfigMaps).hasSynced()).toBe(true);
    expect(factory.has(Widgets)).toBe(false);
    expect(await client.get(ConfigMaps, at('a'))).toBe(got);
    expect((await client.list(ConfigMaps)).items).toEqual([got]);
    expect(reads(requests)).toEqual([]);
  });

  test('returns the shared, read-only object', async () => {
    const { client, factory } = await cached();
    await client.create(ConfigMaps, configMap('a', { page: '1' }));
    const got = await client.get(ConfigMaps, at('a'));
    expect(got).toBe(factory.lister(ConfigMaps).get('default/a'));
    expect(() => {
      got.metadata.labels = {};
    }).toThrow(TypeError);
  });

  test('rejects with NotFound as on the server', async () => {
    const { client, requests } = await cached();
    await client.create(ConfigMaps, configMap('a'));
    const error = await client.get(ConfigMaps, at('b')).catch((failure: unknown) => failure);
    expect(isNotFound(error)).toBe(true);
    const live = await client
      .get(ConfigMaps, at('b'), { live: true })
      .catch((failure: unknown) => failure);
    expect({ metadata: {}, ...(error as { body: object }).body }).toEqual(
      (live as { body: object }).body,
    );
    expect(reads(requests)).toHaveLength(1);
  });

  test('goes to the server for live, a version, and resources that are not cached', async () => {
    const { client, requests, factory } = await cached({ disableFor: [Widgets] });
    await client.create(ConfigMaps, configMap('a'));
    await client.create(Widgets, widget('w'));
    await client.get(ConfigMaps, at('a'), { live: true });
    await client.get(ConfigMaps, at('a'), { resourceVersion: '0' });
    await client.list(ConfigMaps, { live: true, namespace: 'default' });
    await client.get(Widgets, at('w'));
    await client.list(Widgets);
    expect(lines(requests).slice(2)).toEqual([
      'GET /api/v1/namespaces/default/configmaps/a',
      'GET /api/v1/namespaces/default/configmaps/a?resourceVersion=0',
      'GET /api/v1/namespaces/default/configmaps',
      'GET /apis/example.com/v1/namespaces/default/widgets/w',
      'GET /apis/example.com/v1/widgets',
    ]);
    expect(factory.has(ConfigMaps)).toBe(false);
    expect(factory.has(Widgets)).toBe(false);
  });

  test('accepts a reconcile request for a resource without namespaces', async () => {
    const { client } = await cached();
    await client.create(Namespaces, { metadata: { name: 'team' } });
    expect((await client.get(Namespaces, { namespace: '', name: 'team' })).metadata.name).toBe(
      'team',
    );
    expect(
      (await client.get(Namespaces, { namespace: 'ignored', name: 'team' })).metadata.name,
    ).toBe('team');
  });

  test('rejects an invalid key, although the cache has an entry under it', async () => {
    const { client } = await cached();
    await client.create(ConfigMaps, configMap('a'));
    await client.get(ConfigMaps, at('a'));
    for (const key of [
      { name: 'default/a' },
      { name: '' },
      { namespace: 'default', name: '' },
      undefined,
    ])
      await expect(client.get(ConfigMaps, key as never)).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      });
  });

  test('adds the indices of another definition of the resource to its informer', async () => {
    const { client, factory } = await cached();
    await client.create(ConfigMaps, configMap('a', { page: '1', author: 'me' }));
    await client.list(ConfigMaps);
    const ByAuthor = defineResource<ConfigMap>()({
      ...ConfigMaps,
      indexers: { byPage: 'data.page', byAuthor: 'data.author' },
    });
    const found = await client.list(ByAuthor, { index: { name: 'byAuthor', value: 'me' } });
    expect(names(found.items)).toEqual(['a']);
    expect(factory.informerFor(ByAuthor)).toBe(factory.informerFor(ConfigMaps));
  });

  test('uses a new informer if the old one was removed, and ends with the factory', async () => {
    const { client, factory } = await cached();
    await client.create(ConfigMaps, configMap('a'));
    await client.get(ConfigMaps, at('a'));
    await factory.remove(ConfigMaps as never);
    expect((await client.get(ConfigMaps, at('a'))).metadata.name).toBe('a');
    await factory.shutdown();
    await expect(client.get(ConfigMaps, at('a'))).rejects.toMatchObject({ code: 'STOPPED' });
  });

  test('starts no informer where it must not', async () => {
    const { client, factory } = await cached({ readerFailOnMissingInformer: true });
    const missing = { code: 'NOT_CACHED' };
    await expect(client.get(ConfigMaps, at('a'))).rejects.toMatchObject(missing);
    await expect(client.list(ConfigMaps)).rejects.toMatchObject(missing);
    expect(factory.has(ConfigMaps)).toBe(false);
    factory.informerFor(ConfigMaps);
    await expect(client.get(ConfigMaps, at('a'))).rejects.toSatisfy(isNotFound);
    await client.create(ConfigMaps, configMap('a'));
    expect((await client.get(ConfigMaps, at('a'))).metadata.name).toBe('a');
    expect(names((await client.list(ConfigMaps)).items)).toEqual(['a']);
  });

  test('waiting for a cache ends with its signal, the informer, or a time-out', async () => {
    const clock = new FakeClock();
    const { client, server, factory } = await cached({ clock, cacheSyncTimeout: 1000 });
    server.inject({ verb: 'list', do: 'status', status: 500, reason: 'InternalError' });
    server.inject({ verb: 'watch', do: 'status', status: 500, reason: 'InternalError' });
    factory.informerFor(ConfigMaps).setWatchErrorHandler(() => undefined);
    const abort = new AbortController();
    const first = client.get(ConfigMaps, at('a'), { signal: abort.signal });
    await clock.settle();
    // The log of a reconcile that timed out here had only "the call was aborted".
    abort.abort(new CapstanError('TIMEOUT', 'the reconcile has not ended within 10 ms'));
    await expect(first).rejects.toMatchObject({
      code: 'ABORTED',
      message: expect.stringMatching(
        new RegExp(
          '^waiting for the informer of v1 ConfigMap, which last failed with ' +
            '"GET .*500 InternalError.*", was aborted: the reconcile has not ended within 10 ms$',
        ),
      ),
      cause: { code: 'TIMEOUT' },
    });
    const second = client.get(ConfigMaps, at('a')).catch((error: unknown) => error);
    await clock.run(1000);
    expect(await second).toMatchObject({ code: 'CACHE_SYNC_TIMEOUT', cause: { status: 500 } });
    expect(clock.timers()).toBe(0);
    const third = client.get(ConfigMaps, at('a')).catch((error: unknown) => error);
    await clock.settle();
    await factory.shutdown();
    expect(await third).toMatchObject({ code: 'STOPPED' });
  });

  test('of a namespace that the cache does not have goes to the server', async () => {
    const { client, requests } = await cached({ factoryOptions: { namespace: 'default' } });
    await client.create(ConfigMaps, configMap('a'));
    await client.create(ConfigMaps, configMap('b', {}, { namespace: 'other' }));
    expect((await client.get(ConfigMaps, at('a'))).metadata.name).toBe('a');
    expect((await client.get(ConfigMaps, at('b', 'other'))).metadata.name).toBe('b');
    expect(names((await client.list(ConfigMaps, { namespace: 'other' })).items)).toEqual(['b']);
    expect(names((await client.list(ConfigMaps)).items)).toEqual(['a']);
    const unknown = client.get(ConfigMaps, at('none', 'unknown'));
    await expect(unknown).rejects.toSatisfy(isNotFound);
    expect(lines(requests).filter((line) => line.includes('other'))).toEqual([
      'POST /api/v1/namespaces/other/configmaps',
      'GET /api/v1/namespaces/other/configmaps/b',
      'GET /api/v1/namespaces/other/configmaps',
    ]);
  });
});

describe('a cached list', () => {
  async function filled(): Promise<Client> {
    const { client } = await cached();
    for (const [namespace, name, tier, page] of [
      ['default', 'a', 'front', '1'],
      ['default', 'b', 'back', '1'],
      ['other', 'a', 'front', '2'],
      ['other', 'c', 'back', '1'],
    ] as const)
      await client.create(ConfigMaps, configMap(name, { page }, { namespace, labels: { tier } }));
    await client.create(ConfigMaps, configMap('none', undefined, { labels: { tier: 'none' } }));
    return client;
  }

  test.each<[string, Parameters<Client['list']>[1], string[]]>([
    ['everything', {}, ['default/a', 'default/b', 'default/none', 'other/a', 'other/c']],
    ['a namespace', { namespace: 'other' }, ['other/a', 'other/c']],
    ['labels', { labelSelector: 'tier=front' }, ['default/a', 'other/a']],
    [
      'labels in a namespace',
      { labelSelector: 'tier in (front,none)', namespace: 'default' },
      ['default/a', 'default/none'],
    ],
    ['a name', { fieldSelector: 'metadata.name=a' }, ['default/a', 'other/a']],
    [
      'a name in a namespace',
      { fieldSelector: 'metadata.name=a', namespace: 'other' },
      ['other/a'],
    ],
    [
      'a namespace by field',
      { fieldSelector: 'metadata.namespace==other' },
      ['other/a', 'other/c'],
    ],
    ['an indexed path', { fieldSelector: 'data.page=1' }, ['default/a', 'default/b', 'other/c']],
    [
      'an indexed path in a namespace',
      { fieldSelector: 'data.page=1', namespace: 'default' },
      ['default/a', 'default/b'],
    ],
    ['two fields', { fieldSelector: 'data.page=1,metadata.name=b' }, ['default/b']],
    ['a path without a value', { fieldSelector: 'data.page=' }, ['default/none']],
    ['an index', { index: { name: 'byPage', value: '2' } }, ['other/a']],
    [
      'an index, labels and a namespace',
      { index: { name: 'byPage', value: '1' }, labelSelector: 'tier=back', namespace: 'other' },
      ['other/c'],
    ],
    [
      'labels as objects select them',
      { labelSelector: { matchLabels: { tier: 'front' } } },
      ['default/a', 'other/a'],
    ],
    ['nothing', { labelSelector: 'tier=front', fieldSelector: 'metadata.name=b' }, []],
  ])('selects %s', async (_, options, expected) => {
    const client = await filled();
    const keys = (items: readonly ConfigMap[]) =>
      items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`).sort();
    expect(keys((await client.list(ConfigMaps, options)).items)).toEqual(expected);
  });

  // Go's MatchingFields names an index, and its IndexField takes a function: here that was
  // UNKNOWN_INDEX, with advice that led to an empty list.
  test('accepts the name of an index as a field, after indexed paths', async () => {
    const { client } = await cached();
    const owner = ({ data }: ConfigMap) => (data?.owner === undefined ? [] : [data.owner]);
    const Owned = {
      ...ConfigMaps,
      indexers: { owner, page: 'data.page', 'data.page': () => ['1'] },
    };
    await client.create(Owned, configMap('a', { owner: 'x', page: '1' }));
    await client.create(Owned, configMap('b', { owner: 'x', page: '2' }));
    await client.create(Owned, configMap('c', { owner: '', page: '2' }));
    await client.create(Owned, configMap('d'));
    await client.create(Owned, configMap('e', { owner: 'x' }, { namespace: 'other' }));
    const found = async (fieldSelector: string, options: ListOptions = { namespace: 'default' }) =>
      names((await client.list(Owned, { ...options, fieldSelector })).items);
    expect(await found('owner=x')).toEqual(['a', 'b']);
    expect(await found('owner=x', {})).toEqual(['a', 'b', 'e']);
    expect(await found('owner=x,page=2')).toEqual(['b']);
    expect(await found('page=2,owner=x')).toEqual(['b']);
    expect(await found('data.page=2')).toEqual(['b', 'c']);
    expect(await found('owner=')).toEqual(['c']);
    expect(await found('page=')).toEqual(['d']);
    const failure = await found('toString=x').catch((error: unknown) => error);
    expect(failure).toMatchObject({
      code: 'UNKNOWN_INDEX',
      message: expect.stringContaining('none of that name'),
    });
  });

  test('passes values of an index function unchanged, also without a namespace', async () => {
    const { client } = await cached();
    const values = Object.freeze(['a', 'b', 'c']) as string[];
    type Named = { metadata: { name?: string } };
    const Fixed = { ...Namespaces, indexers: { fixed: (_: Named) => values } };
    await client.create(Fixed, { metadata: { name: 'team' } });
    for (const value of ['a', 'c']) {
      const { items } = await client.list<Named>(Fixed, { fieldSelector: `fixed=${value}` });
      expect(names(items)).toContain('team');
    }
    expect(values).toEqual(['a', 'b', 'c']);
  });

  // The index reported a failing function and had no values; such a list with another term, or
  // live, was rejected.
  test.each([{}, { maxBytes: 2000, whenFull: 'metadata' as const }])(
    'omits an object for which the index function fails, with %o',
    async (factoryOptions) => {
      const before = setErrorHandler(() => undefined);
      onTestFinished(() => void setErrorHandler(before));
      const { client, transport } = await cached({ factoryOptions });
      const failing = (values: unknown) => (map: ConfigMap) =>
        map.data?.owner ? [map.data.owner] : (values as string[]);
      const throws = ({ data }: ConfigMap) => [data!.owner!.trim()];
      const indexers = {
        throws,
        none: failing(undefined),
        text: failing('x'),
        mixed: failing(['x', 1]),
      };
      const Failing = { ...ConfigMaps, indexers };
      const live = newClient({ transport });
      await live.create(Failing, configMap('a', { owner: 'x', filler: 'x'.repeat(2000) }));
      await live.create(Failing, configMap('b'));
      for (const name of Object.keys(indexers) as (keyof typeof indexers)[]) {
        const selections = [
          { index: { name, value: 'x' } },
          { fieldSelector: `${name}=x` },
          { fieldSelector: `throws=x,${name}=x`, namespace: 'default' },
        ];
        for (const options of selections)
          expect(names((await client.list(Failing, options)).items)).toEqual(['a']);
        const b = { fieldSelector: `metadata.name=b,${name}=x`, namespace: 'default' };
        expect((await client.list(Failing, b)).items).toEqual([]);
      }
    },
  );

  // A loop over pages by limit and continue ended after the first one, without an error: a list
  // from a cache was cut to the limit and had no continue token.
  test('is complete, whatever the limit, and has no pages', async () => {
    const client = await filled();
    const { items, metadata } = await client.list(ConfigMaps, { limit: 2 });
    expect(items).toHaveLength(5);
    expect(metadata).toEqual({ resourceVersion: expect.stringMatching(/^[1-9]/) });
    await expect(client.list(ConfigMaps, { continue: 'x' })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });

  test.each<[string, Parameters<Client['list']>[1], string]>([
    ['a path without an index', { fieldSelector: 'data.author=me' }, 'UNKNOWN_INDEX'],
    ['an index that there is not', { index: { name: 'byAuthor', value: 'me' } }, 'UNKNOWN_INDEX'],
    ['an inequality', { fieldSelector: 'metadata.name!=a' }, 'INVALID_ARGUMENT'],
    ['a malformed label selector', { labelSelector: 'a in' }, 'INVALID_ARGUMENT'],
    [
      'labels for a label selector',
      { labelSelector: { app: 'web' } as unknown as string },
      'INVALID_ARGUMENT',
    ],
    ['a limit that is no number', { limit: -1 }, 'INVALID_ARGUMENT'],
  ])('rejects %s', async (_, options, code) => {
    const client = await filled();
    await expect(client.list(ConfigMaps, options)).rejects.toMatchObject({ code });
  });
});

describe('a full cache', () => {
  /** Ten objects, of which most have room only for their metadata. */
  async function full(maxBytes = 4000) {
    const setup = await cached({ factoryOptions: { maxBytes, whenFull: 'metadata' } });
    const live = newClient({ transport: setup.transport });
    for (let i = 0; i < 10; i++) {
      const labels = { part: i < 5 ? 'low' : 'high' };
      await live.create(
        Indexed,
        configMap(`c${i}`, { page: String(i % 2), precious: 'x'.repeat(1000) }, { labels }),
      );
    }
    const informer = setup.factory.informerFor(Indexed);
    await setup.client.get(Indexed, at('c0'));
    const degraded = informer
      .lister()
      .list()
      .filter(({ data }) => data === undefined);
    setup.requests.length = 0;
    return { ...setup, live, informer, degraded };
  }
  const Indexed = {
    ...ConfigMaps,
    indexers: { byPage: 'data.page', page: (map: ConfigMap) => [map.data?.page ?? ''] },
  };
  const isWhole = ({ data }: ConfigMap) => data?.precious?.length === 1000;

  // Such an object looked like a complete one: createOrUpdate wrote it back, and the server's
  // object was emptied.
  test('loses nothing on the server when an object is read, changed and written', async () => {
    const { client, live, degraded } = await full();
    expect(degraded.length).toBeGreaterThan(2);
    expect(degraded.length).toBeLessThan(10);
    for (let i = 0; i < 10; i++) {
      await createOrUpdate(client, Indexed, at(`c${i}`), (map) => {
        map.metadata.annotations = { seen: 'true' };
      });
    }
    const { items } = await live.list(Indexed, { namespace: 'default' });
    expect(items.filter(({ metadata }) => metadata.annotations?.seen === 'true')).toHaveLength(10);
    expect(items.filter(isWhole)).toHaveLength(10);
  });

  test('gives complete objects to its client, and to listers what it has', async () => {
    const { client, informer, requests } = await full();
    const lister = informer.lister();
    for (let i = 0; i < 10; i++) {
      const had = lister.get(`default/c${i}`);
      requests.length = 0;
      const got = await client.get(Indexed, at(`c${i}`));
      expect(isWhole(got)).toBe(true);
      expect(requests).toHaveLength(had?.data === undefined ? 1 : 0);
      if (had?.data !== undefined) expect(got).toBe(had);
    }
    expect(lister.list().filter(isWhole).length).toBeLessThan(10);
    expect(informer.status().metadataOnly).toBeGreaterThan(0);
  });

  test.each<[string, ListOptions, string[]]>([
    ['of everything', {}, ['c0', 'c1', 'c2', 'c3', 'c4', 'c5', 'c6', 'c7', 'c8', 'c9']],
    ['by labels', { labelSelector: 'part=high' }, ['c5', 'c6', 'c7', 'c8', 'c9']],
    ['by name', { namespace: 'default', fieldSelector: 'metadata.name=c9' }, ['c9']],
    ['by an index', { index: { name: 'byPage', value: '1' } }, ['c1', 'c3', 'c5', 'c7', 'c9']],
    [
      'by labels as objects select them',
      { labelSelector: { matchLabels: { part: 'low' } } },
      ['c0', 'c1', 'c2', 'c3', 'c4'],
    ],
    [
      'by a function',
      { index: { name: 'page', value: '0' }, labelSelector: 'part=low' },
      ['c0', 'c2', 'c4'],
    ],
    [
      'by a path',
      { fieldSelector: 'data.page=1,metadata.namespace=default' },
      ['c1', 'c3', 'c5', 'c7', 'c9'],
    ],
    [
      'with a limit',
      { index: { name: 'byPage', value: '1' }, limit: 2 },
      ['c1', 'c3', 'c5', 'c7', 'c9'],
    ],
  ])('lists %s complete, from the server', async (_, options, expected) => {
    const { client, requests } = await full();
    const { items, metadata } = await client.list(Indexed, options);
    expect(names(items)).toEqual(expected);
    expect(items.every(isWhole)).toBe(true);
    expect(metadata.remainingItemCount).toBe(undefined);
    expect(requests).toHaveLength(1);
  });

  test('still rejects an unknown index', async () => {
    const { client, requests } = await full();
    await expect(
      client.list(Indexed, { index: { name: 'nope', value: '1' } }),
    ).rejects.toMatchObject({
      code: 'UNKNOWN_INDEX',
    });
    expect(requests).toEqual([]);
  });

  test('sends no request for a list of complete objects, or while it has room', async () => {
    const { client, informer, degraded, requests } = await full();
    const whole = informer.lister().list().filter(isWhole);
    expect(degraded.length + whole.length).toBe(10);
    const fieldSelector = `metadata.name=${whole[0]?.metadata.name}`;
    expect((await client.list(Indexed, { fieldSelector })).items).toEqual(whole.slice(0, 1));
    expect(requests).toEqual([]);
    const roomy = await full(1e6);
    await roomy.client.list(Indexed);
    await roomy.client.list(Indexed, { index: { name: 'byPage', value: '1' } });
    expect(roomy.degraded).toEqual([]);
    expect(roomy.requests).toEqual([]);
  });

  test('is not bypassed if only metadata was requested', async () => {
    const selections = new Map([[ConfigMaps, { metadataOnly: true }]]);
    const { client, requests } = await cached({ factoryOptions: { selections } });
    await client.create(ConfigMaps, configMap('a', { page: '1' }));
    await client.list(ConfigMaps);
    requests.length = 0;
    expect(await client.get(ConfigMaps, at('a'))).not.toHaveProperty('data');
    expect((await client.list(ConfigMaps)).items[0]).not.toHaveProperty('data');
    expect(requests).toEqual([]);
  });
});

describe('a cache of metadata alone', () => {
  async function filled() {
    const metadataOnly = true;
    const selections = new Map<Resource<never, string>, { metadataOnly: boolean }>([
      [ConfigMaps, { metadataOnly }],
      [Namespaces, { metadataOnly }],
    ]);
    const setup = await cached({ factoryOptions: { selections } });
    for (const [namespace, name, tier] of [
      ['default', 'a', 'front'],
      ['default', 'b', 'back'],
      ['other', 'a', 'back'],
    ] as const)
      await setup.client.create(
        ConfigMaps,
        configMap(name, { page: '1' }, { namespace, labels: { tier } }),
      );
    await setup.client.create(Namespaces, { metadata: { name: 'team' } });
    await setup.client.list(ConfigMaps);
    await setup.client.list(Namespaces);
    setup.requests.length = 0;
    return setup;
  }

  test('returns objects of the requested kind or rejects with NotFound', async () => {
    const { client, requests } = await filled();
    const { kind, apiVersion, metadata, ...rest } = await client.get(ConfigMaps, at('a'));
    expect([kind, apiVersion, rest]).toEqual(['ConfigMap', 'v1', {}]);
    expect(metadata).toMatchObject({ namespace: 'default', name: 'a', labels: { tier: 'front' } });
    expect(metadata.uid).toMatch(/./);
    expect(await client.get(Namespaces, { name: 'team' })).toMatchObject({
      kind: 'Namespace',
      metadata: { name: 'team' },
    });
    await expect(client.get(ConfigMaps, at('none'))).rejects.toSatisfy(isNotFound);
    await expect(client.get(Namespaces, { name: 'none' })).rejects.toSatisfy(isNotFound);
    expect(requests).toEqual([]);
  });

  test.each<[string, ListOptions, string[]]>([
    ['everything', {}, ['default/a', 'default/b', 'other/a']],
    ['nothing', { labelSelector: 'tier=none' }, []],
    ['a namespace', { namespace: 'other' }, ['other/a']],
    ['a name', { fieldSelector: 'metadata.name=a' }, ['default/a', 'other/a']],
    ['labels', { labelSelector: 'tier=back' }, ['default/b', 'other/a']],
    ['labels in a namespace', { labelSelector: 'tier=back', namespace: 'default' }, ['default/b']],
    ['an index', { index: { name: 'byTier', value: 'back' } }, ['default/b', 'other/a']],
    ['the name of an index', { fieldSelector: 'byTier=front' }, ['default/a']],
    [
      'a name and labels in a namespace',
      { namespace: 'default', labelSelector: 'tier=front', fieldSelector: 'metadata.name=a' },
      ['default/a'],
    ],
  ])('of metadata alone selects %s', async (_, options, expected) => {
    const { client, requests } = await filled();
    const byTier = ({ metadata }: ConfigMap) => [metadata.labels?.tier ?? ''];
    const Tiered = { ...ConfigMaps, indexers: { byTier } };
    const { items } = await client.list<ConfigMap>(Tiered, options);
    const keys = items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
    expect(keys.sort()).toEqual(expected);
    expect(items.every((item) => item.kind === 'ConfigMap' && !('data' in item))).toBe(true);
    expect(requests).toEqual([]);
  });
});

test('two clients share the informers of a factory', async () => {
  const { client, transport, factory, requests } = await cached();
  const other = newClient({ transport, cache: factory });
  await client.create(ConfigMaps, configMap('a'));
  await Promise.all([
    client.get(ConfigMaps, at('a')),
    other.list(ConfigMaps),
    client.list(ConfigMaps),
  ]);
  const opened = requests.filter(
    ({ query }) => query?.watch === 'true' || query?.limit !== undefined,
  );
  expect(opened.length).toBeLessThanOrEqual(2);
});

test("a factory of the client's own starts no other informer", async () => {
  const { transport } = await cached();
  const factory = newSharedInformerFactory(transport);
  onTestFinished(() => factory.shutdown());
  const widgets = factory.informerFor(Widgets);
  await newClient({ transport, cache: factory }).list(ConfigMaps);
  expect(widgets.hasStarted()).toBe(false);
});
