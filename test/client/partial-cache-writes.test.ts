/** Writes by caches that have fewer members, fewer objects or older objects than the server. */
import type { FactoryOptions, KubeObject } from 'capstan/cache';
import {
  createOrPatch,
  createOrUpdate,
  defaultRetry,
  finalizer,
  isAlreadyExists,
  isConflict,
  isNotFound,
  mergeFrom,
  newClient,
  newNamespacedClient,
  retryOnConflict,
} from 'capstan/client';
import { describe, expect, test } from 'vitest';
import { cached } from '../helpers/client/clients.ts';
import {
  at,
  type ConfigMap,
  ConfigMaps,
  configMap,
  Widgets,
  widget,
} from '../helpers/resources.ts';

type Full = ConfigMap & { binaryData?: Record<string, string> };
const Maps = ConfigMaps as unknown as Parameters<typeof createOrUpdate<Full>>[1];
const key = at('site');

/** The members that a cache drops, by its options. */
const CACHES: [string, FactoryOptions][] = [
  ['drop', { perResource: new Map([[ConfigMaps, { drop: ['binaryData'] }]]) }],
  ['drop of all', { drop: ['binaryData'] }],
  ['drop, kept as objects', { drop: ['binaryData'], keep: 'objects' }],
  [
    'a transform of one resource',
    {
      perResource: new Map([
        [
          ConfigMaps,
          {
            transform: (object) => {
              delete (object as Full).binaryData;
              return object;
            },
          },
        ],
      ]),
    },
  ],
  [
    'a transform of all',
    { transform: ({ binaryData: _, ...rest }: KubeObject & { binaryData?: unknown }) => rest },
  ],
  ['metadata alone', { selections: new Map([[ConfigMaps, { metadataOnly: true }]]) }],
];

// createOrUpdate set a label on a ConfigMap whose binaryData its cache dropped: the update had
// none, so the server deleted it.
describe.each(CACHES)('a cache with %s', (what, factoryOptions) => {
  const setUp = async () => {
    const setup = await cached({ factoryOptions, fieldOwner: 'me' });
    const other = newClient({ transport: setup.transport });
    await other.create(Maps, { ...configMap('site', { page: '1' }), binaryData: { logo: 'AAAA' } });
    const shown = await setup.client.get(Maps, key);
    expect(shown.binaryData).toBe(undefined);
    const now = (): Promise<Full> => other.get(Maps, key);
    return { ...setup, other, shown, now };
  };
  const label = (map: Full): void => {
    map.metadata.labels = { seen: 'true' };
  };
  const whole = { data: { page: '1' }, binaryData: { logo: 'AAAA' } };

  test.each([createOrUpdate, createOrPatch])('loses nothing to %o', async (call) => {
    const { client, now } = await setUp();
    expect((await call(client, Maps, key, label)).result).toBe('updated');
    expect(await now()).toMatchObject({ ...whole, metadata: { labels: { seen: 'true' } } });
    expect((await call(client, Maps, key, label)).result).toBe('unchanged');
    const team = newNamespacedClient(client, 'default');
    expect((await call(team, Maps, key, label)).result).toBe('unchanged');
  });

  test('lets createOrUpdate remove members that it does not show', async () => {
    const { client, now } = await setUp();
    const { result } = await createOrUpdate(client, Maps, key, (map) => {
      delete map.binaryData;
    });
    expect([result, (await now()).binaryData]).toEqual(['updated', undefined]);
  });

  test('rejects an update of an object it shows, and names what would be lost', async () => {
    const { client, shown, now } = await setUp();
    for (const copy of [shown, { ...shown }, structuredClone(shown)]) {
      const error = await client
        .update(Maps, { ...copy, kind: 'ConfigMap', apiVersion: 'v1' })
        .catch((error: unknown) => error as Error);
      expect(error).toMatchObject({ code: 'INVALID_ARGUMENT' });
      const lost = what === 'metadata alone' ? 'data' : 'binaryData';
      expect((error as Error).message).toContain(`configmaps default/site would lose "${lost}"`);
      expect((error as Error).message).toContain('createOrUpdate');
    }
    expect(await now()).toMatchObject(whole);
  });

  test('rejects an apply of an object it shows, and applies a new one', async () => {
    const { client, shown, now } = await setUp();
    const { managedFields: _, ...metadata } = shown.metadata;
    const given = { ...shown, kind: 'ConfigMap', apiVersion: 'v1', metadata };
    await expect(client.apply(Maps, given, { force: true })).rejects.toThrow('would lose');
    await client.apply(Maps, { metadata: { ...key, labels: { seen: 'true' } } });
    expect(await now()).toMatchObject({ ...whole, metadata: { labels: { seen: 'true' } } });
  });

  test('updates objects that were read live or forUpdate', async () => {
    const { client, now } = await setUp();
    for (const [seen, options] of [
      ['1', { live: true }],
      ['2', { forUpdate: true }],
    ] as const) {
      const map = structuredClone(await client.get(Maps, key, options));
      map.metadata.labels = { seen };
      await client.update(Maps, map);
      expect(await now()).toMatchObject({ ...whole, metadata: { labels: { seen } } });
    }
  });

  test('patches what changed', async () => {
    const { client, shown, now } = await setUp();
    const changed = { ...shown, metadata: { ...shown.metadata, labels: { seen: 'true' } } };
    await client.patch(Maps, key, mergeFrom(shown).to(changed));
    expect(await now()).toMatchObject({ ...whole, metadata: { labels: { seen: 'true' } } });
  });

  test('adds a finalizer', async () => {
    const { client, shown, now } = await setUp();
    const applied = await finalizer(client, Maps, 'example.com/a', shown, {
      apply: (map) => map,
      cleanup: (map) => map,
    });
    expect(applied).toMatchObject(whole);
    expect((await now()).metadata.finalizers).toEqual(['example.com/a']);
  });

  test('leaves an update of another version or a missing object to the server', async () => {
    const { client, other, shown, now } = await setUp();
    await other.patch(Maps, key, { type: 'merge', body: { data: { page: '2' } } });
    const given = { ...shown, kind: 'ConfigMap', apiVersion: 'v1' };
    await expect(client.update(Maps, given)).rejects.toSatisfy(isConflict);
    expect((await now()).binaryData).toEqual(whole.binaryData);
    await other.delete(Maps, key);
    await expect(client.update(Maps, given)).rejects.toSatisfy(isNotFound);
  });
});

describe('parts of members', () => {
  const setUp = async (factoryOptions: FactoryOptions, of: object) => {
    const setup = await cached({ factoryOptions, fieldOwner: 'me' });
    const other = newClient({ transport: setup.transport });
    await other.create(Widgets, { ...widget('a'), ...of });
    return { ...setup, other, shown: await setup.client.get(Widgets, at('a')) };
  };
  const annotated = (annotations: Record<string, string>) => ({
    metadata: { ...at('a'), annotations },
  });
  const withSpec = (spec: object) => ({ spec }) as object;

  test('an annotation that a transform removes is not deleted', async () => {
    const { client, shown, other } = await setUp(
      { drop: ['metadata.annotations.large'] },
      annotated({ large: 'x', small: 'y' }),
    );
    expect(shown.metadata.annotations).toEqual({ small: 'y' });
    const changed = { ...shown, metadata: { ...shown.metadata, annotations: { small: 'z' } } };
    await expect(client.update(Widgets, changed)).rejects.toThrow('"metadata.annotations.large"');
    const { metadata } = await other.get(Widgets, at('a'));
    expect(metadata.annotations).toEqual({ large: 'x', small: 'y' });
    // one that is set again is the caller's
    const set = { ...metadata, annotations: { large: 'mine' } };
    await client.update(Widgets, { ...shown, metadata: set });
  });

  test('with all annotations dropped, new ones do not replace them', async () => {
    const { client, shown } = await setUp(
      { drop: ['metadata.annotations'] },
      annotated({ a: 'x' }),
    );
    const changed = { ...shown, metadata: { ...shown.metadata, annotations: { b: 'y' } } };
    await expect(client.update(Widgets, changed)).rejects.toThrow('"metadata.annotations.a"');
  });

  test('a value that a transform changes is not written', async () => {
    const cut = (object: object) => ({ ...object, spec: { color: '<cut>' } }) as never;
    const { client, shown, other } = await setUp({ transform: cut }, withSpec({ color: 'red' }));
    const changed = { ...shown, metadata: { ...shown.metadata, labels: { seen: 'true' } } };
    await expect(client.update(Widgets, changed)).rejects.toThrow('"spec.color"');
    await client.update(Widgets, { ...changed, spec: { color: 'blue' } });
    expect((await other.get(Widgets, at('a'))).spec).toEqual({ color: 'blue' });
  });

  test('a list is compared by element, in a patch too', async () => {
    const parts = [
      { name: 'x', large: 'X' },
      { name: 'y', large: 'Y' },
    ];
    const { client, shown, other } = await setUp(
      { drop: ['spec.parts.large'] },
      withSpec({ parts }),
    );
    const seen = (shown.spec as { parts?: unknown } | undefined)?.parts as object[];
    expect(seen).toEqual([{ name: 'x' }, { name: 'y' }]);
    const given = (next: object[]) => ({ ...shown, spec: { ...shown.spec, parts: next } }) as never;
    for (const next of [
      [...seen, { name: 'z' }],
      [seen[1] as object],
      [{ name: 'x', more: 1 }, seen[1] as object],
    ]) {
      await expect(client.update(Widgets, given(next))).rejects.toThrow('"spec.parts[');
      const patch = mergeFrom(shown).to(given(next));
      await expect(client.patch(Widgets, at('a'), patch)).rejects.toThrow('"spec.parts[');
    }
    await client.update(Widgets, given([...parts, { name: 'z' }]));
    expect((await other.get(Widgets, at('a'))).spec?.parts).toEqual([...parts, { name: 'z' }]);
  });

  test('a list that a transform shortens is not written', async () => {
    const first = (object: KubeObject & { spec?: { parts?: string[] } }) =>
      ({ ...object, spec: { ...object.spec, parts: object.spec?.parts?.slice(0, 1) } }) as never;
    const { client, shown } = await setUp({ transform: first }, withSpec({ parts: ['x', 'y'] }));
    const given = (parts: string[]) => ({ ...shown, spec: { ...shown.spec, parts } });
    await expect(client.update(Widgets, given(['x', 'z']))).rejects.toThrow('"spec.parts"');
    await client.update(Widgets, given(['x', 'y', 'z']));
  });

  test('a dropped status is sent unchanged with an update, and not updated', async () => {
    const { client, shown, other } = await setUp({ drop: ['status'] }, {});
    const ready = { status: { ready: true } };
    await other.status().patch(Widgets, at('a'), { type: 'merge', body: ready });
    const now = await client.get(Widgets, at('a'), { live: true });
    const { status: _, ...rest } = now;
    expect(shown.status).toBe(undefined);
    const labelled = { ...rest, metadata: { ...rest.metadata, labels: { seen: 'true' } } };
    await client.update(Widgets, labelled);
    const { metadata, status } = await other.get(Widgets, at('a'));
    expect(status).toEqual({ ready: true });
    const partly = { ...rest, metadata, status: { size: 2 } };
    await expect(client.status().update(Widgets, partly)).rejects.toThrow('"status.ready"');
    await client.status().patch(Widgets, at('a'), { type: 'merge', body: { status: { size: 2 } } });
    expect((await other.get(Widgets, at('a'))).status).toEqual({ ready: true, size: 2 });
  });

  test('a cache that keeps everything costs no request', async () => {
    const { client, shown, requests } = await setUp({}, withSpec({ parts: ['x'] }));
    requests.length = 0;
    const spec = { parts: ['x', 'y'] };
    const { metadata } = await client.update(Widgets, { ...shown, spec });
    await client.patch(Widgets, at('a'), mergeFrom({ metadata }).to({ metadata, spec } as never));
    expect(requests.map(({ method }) => method)).toEqual(['PUT', 'PATCH']);
  });
});

// createOrUpdate of an object that the cache excludes, because it lacks the label, was answered
// with 409 for ever, without a hint of the selector.
describe('a cache that is restricted by a selector', () => {
  const labels = { app: 'web' };
  const set = (map: ConfigMap): void => {
    map.metadata.labels = labels;
    map.data = { page: '2' };
  };
  const CACHES: [string, FactoryOptions][] = [
    ['by labels', { selections: new Map([[ConfigMaps, { labelSelector: 'app=web' }]]) }],
    [
      'by a field',
      { selections: new Map([[ConfigMaps, { fieldSelector: 'metadata.name!=site' }]]) },
    ],
    [
      'by a query',
      {
        tweakListOptions: (query) => {
          query.labelSelector = 'app=web';
        },
      },
    ],
  ];

  test.each(CACHES)('%s: createOrUpdate finds an excluded object', async (_, factoryOptions) => {
    const { client, transport } = await cached({ factoryOptions });
    const other = newClient({ transport });
    await other.create(ConfigMaps, configMap('site', { page: '1' }));
    await expect(client.get(ConfigMaps, key)).rejects.toSatisfy(isNotFound);
    expect((await createOrUpdate(client, ConfigMaps, key, set)).result).toBe('updated');
    expect((await createOrPatch(client, ConfigMaps, key, set)).result).toBe('unchanged');
    expect((await createOrUpdate(client, ConfigMaps, at('new'), set)).result).toBe('created');
    expect((await createOrUpdate(client, ConfigMaps, at('new'), set)).result).toBe('unchanged');
  });

  test.each(CACHES)('%s: a rejected create says why', async (_, factoryOptions) => {
    const { client, transport } = await cached({ factoryOptions });
    await newClient({ transport }).create(ConfigMaps, configMap('site'));
    await expect(client.get(ConfigMaps, key)).rejects.toSatisfy(isNotFound);
    const error = await client
      .create(ConfigMaps, configMap('site'))
      .catch((error: unknown) => error);
    expect(isAlreadyExists(error)).toBe(true);
    expect((error as Error).message).toMatch(/restricted to, by (labels app=web|fields metadata)/);
    expect((error as Error).message).toContain('{ forUpdate: true }');
  });
});

// retryOnConflict read the same old object from a lagging cache five times, and gave up.
describe('a lagging cache', () => {
  const setUp = async () => {
    const setup = await cached({});
    const { server, client, factory, transport } = setup;
    server.inject({ verb: 'watch', path: '/configmaps', do: 'hang' });
    const other = newClient({ transport });
    const created = await other.create(ConfigMaps, configMap('site', { a: '1' }));
    await client.get(ConfigMaps, key);
    const changed = await other.update(ConfigMaps, { ...created, data: { a: '2' } });
    return { ...setup, factory, other, made: created, changed };
  };
  const add = (map: ConfigMap): ConfigMap => ({ ...map, data: { ...map.data, b: '3' } });
  const noWait = { ...defaultRetry, duration: 0 };

  test.each<[string, (client: Parameters<typeof createOrUpdate>[0]) => Promise<unknown>]>([
    [
      'get and update',
      async (client) => client.update(ConfigMaps, add(await client.get(ConfigMaps, key))),
    ],
    [
      'list and update',
      async (client) => {
        const { items } = await client.list(ConfigMaps, { namespace: 'default' });
        return client.update(ConfigMaps, add(items[0] as ConfigMap));
      },
    ],
    [
      'a patch with a lock',
      async (client) => {
        const map = await client.get(ConfigMaps, key);
        return client.patch(ConfigMaps, key, mergeFrom(map, { optimisticLock: true }).to(add(map)));
      },
    ],
    [
      'createOrUpdate',
      (client) =>
        createOrUpdate(client, ConfigMaps, key, (map) => {
          map.data = { ...map.data, b: '3' };
        }),
    ],
    [
      'a deletion with a precondition',
      async (client) => {
        const { resourceVersion } = (await client.get(ConfigMaps, key)).metadata;
        await client.delete(ConfigMaps, key, { preconditions: { resourceVersion } });
        await client.create(ConfigMaps, configMap('site', { a: '2', b: '3' }));
      },
    ],
  ])('is bypassed after a conflict: %s', async (_, write) => {
    const { client, other } = await setUp();
    let tries = 0;
    await retryOnConflict(noWait, async () => {
      tries++;
      await write(client);
    });
    expect(tries).toBe(2);
    expect((await other.get(ConfigMaps, key)).data).toEqual({ a: '2', b: '3' });
  });

  test('is read again once it has a newer object', async () => {
    const { client, made, requests } = await setUp();
    await expect(client.update(ConfigMaps, made)).rejects.toSatisfy(isConflict);
    requests.length = 0;
    expect((await client.get(ConfigMaps, key)).data).toEqual({ a: '2' });
    expect((await client.get(ConfigMaps, key)).data).toEqual({ a: '2' });
    expect(requests.map(({ method }) => method)).toEqual(['GET', 'GET']);
  });

  test('is not bypassed for other objects', async () => {
    const { client, made, requests } = await setUp();
    await expect(client.update(ConfigMaps, made)).rejects.toSatisfy(isConflict);
    requests.length = 0;
    await expect(client.get(ConfigMaps, at('other'))).rejects.toSatisfy(isNotFound);
    expect(requests).toEqual([]);
  });
});

test('an object missing from the cache is found after AlreadyExists', async () => {
  const { server, client, transport } = await cached({});
  server.inject({ verb: 'watch', path: '/configmaps', do: 'hang' });
  await expect(client.get(ConfigMaps, key)).rejects.toSatisfy(isNotFound);
  await newClient({ transport }).create(ConfigMaps, configMap('site', { a: '1' }));
  await expect(client.get(ConfigMaps, key)).rejects.toSatisfy(isNotFound);
  await expect(client.create(ConfigMaps, configMap('site'))).rejects.toSatisfy(isAlreadyExists);
  expect((await client.get(ConfigMaps, key)).data).toEqual({ a: '1' });
});
