/**
 * createOrUpdate and createOrPatch. controller-runtime:
 * pkg/controller/controllerutil/controllerutil_test.go CreateOrUpdate, CreateOrPatch.
 */
import {
  type Client,
  createOrPatch,
  createOrUpdate,
  defaultRetry,
  isConflict,
  isNotFound,
  newClient,
  retryOnConflict,
} from 'capstan/client';
import { describe, expect, test } from 'vitest';
import { cached, lines, live } from '../helpers/client/clients.ts';
import { at, ConfigMaps, configMap, Namespaces, Widgets, widget } from '../helpers/resources.ts';

describe.each([
  ['createOrUpdate', createOrUpdate],
  ['createOrPatch', createOrPatch],
] as const)('%s', (_, bring) => {
  test('creates a missing object with its names', async () => {
    const { client } = await live();
    const { result, object } = await bring(client, ConfigMaps, at('a'), (draft) => {
      expect(draft).toEqual({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { namespace: 'default', name: 'a' },
      });
      draft.data = { page: '1' };
    });
    expect(result).toBe('created');
    expect(object).toEqual(await client.get(ConfigMaps, at('a')));
    expect((await bring(client, Namespaces, { name: 'team' }, () => undefined)).result).toBe(
      'created',
    );
  });

  test('changes an existing object only if something differs', async () => {
    const { client, requests } = await live();
    await client.create(ConfigMaps, configMap('a', { page: '1' }));
    const turn = (page: string) =>
      bring(client, ConfigMaps, at('a'), async (draft) => {
        draft.data = { page };
      });
    expect(await turn('2')).toMatchObject({ result: 'updated', object: { data: { page: '2' } } });
    const before = requests.length;
    expect(await turn('2')).toMatchObject({ result: 'unchanged', object: { data: { page: '2' } } });
    expect(requests).toHaveLength(before + 1);
  });

  // Story: ports of Go's `if annotations == nil` wrote at each reconcile, and each time reported an
  // update.
  test('treats empty metadata as absent, and removes emptied metadata', async () => {
    const { client, requests } = await live();
    await client.create(ConfigMaps, configMap('a'));
    requests.length = 0;
    const nothing = { labels: {}, annotations: {}, finalizers: [], ownerReferences: [] };
    const turn = (metadata: object) =>
      bring(client, ConfigMaps, at('a'), (draft) => void Object.assign(draft.metadata, metadata));
    expect(await turn(nothing)).toMatchObject({ result: 'unchanged' });
    expect(requests.map(({ method }) => method)).toEqual(['GET']);
    expect(await turn({ ...nothing, labels: { app: 'a' } })).toMatchObject({ result: 'updated' });
    const { result, object } = await turn(nothing);
    expect([result, 'labels' in object.metadata]).toEqual(['updated', false]);
  });

  test("is unchanged if the server's result is; a dry run reports what would be", async () => {
    const { client } = await live();
    await client.create(ConfigMaps, configMap('a', { page: '1' }));
    const turn = (change: object, options = {}) =>
      bring(client, ConfigMaps, at('a'), (draft) => void Object.assign(draft, change), options);
    // The server prunes unknown members.
    expect((await turn({ nope: [] })).result).toBe('unchanged');
    const change = { data: { page: '2' } };
    expect((await turn(change, { dryRun: true })).result).toBe('updated');
    expect((await turn(change)).result).toBe('updated');
  });

  // Items of a list have no kind, and answers to writes do: a listed object was never unchanged.
  test('is unchanged for a listed object, and updated by a client without answers', async () => {
    const { client, transport } = await cached();
    await newClient({ transport }).create(ConfigMaps, configMap('a', { page: '1' }));
    const turn = (of: Client, change: object) =>
      bring(of, ConfigMaps, at('a'), (draft) => void Object.assign(draft, change));
    expect((await turn(client, { nope: [] })).result).toBe('unchanged');
    const silent = async () => undefined as never;
    const mock = Object.assign(Object.create(client) as Client, {
      ...{ get: client.get.bind(client), update: silent, patch: silent },
    });
    expect((await turn(mock, { data: { page: '2' } })).result).toBe('updated');
  });

  // If the function returned a new object without a status, a patch removed the status, and without
  // a resourceVersion an update overwrote changes since the read.
  test('keeps status and resourceVersion if the function returns a new object', async () => {
    const { client, requests } = await live();
    await client.create(Widgets, widget('a', { size: 1 }));
    const status = { type: 'merge', body: { status: { ready: true } } } as const;
    await client.status().patch(Widgets, at('a'), status);
    const { object } = await bring(client, Widgets, at('a'), () => widget('a', { size: 2 }));
    expect(object).toMatchObject({ spec: { size: 2 }, status: { ready: true } });
    expect(await client.get(Widgets, at('a'))).toMatchObject({ status: { ready: true } });
    expect(requests.filter(({ path }) => path.endsWith('/status'))).toHaveLength(1);
    if (bring === createOrPatch) return;
    const faster = bring(client, Widgets, at('a'), async () => {
      await client.patch(Widgets, at('a'), { type: 'merge', body: { spec: { size: 3 } } });
      return widget('a', { size: 4 });
    });
    expect(isConflict(await faster.catch((error: unknown) => error))).toBe(true);
  });

  test('accepts another object from the function', async () => {
    const { client } = await live();
    const { object } = await bring(client, ConfigMaps, at('a'), (draft) => ({
      ...draft,
      data: { page: '1' },
    }));
    expect(object.data).toEqual({ page: '1' });
  });

  test.each(['is not there', 'is there'])(
    'rejects another name for an object that %s, writing nothing',
    async (where) => {
      const { client, requests } = await live();
      if (where === 'is there') await client.create(ConfigMaps, configMap('a'));
      requests.length = 0;
      const attempts: Promise<unknown>[] = [
        bring(client, ConfigMaps, at('a'), (draft) => {
          draft.metadata.name = 'b';
        }),
        bring(client, ConfigMaps, at('a'), (draft) => {
          draft.metadata.namespace = 'other';
        }),
      ];
      for (const attempt of attempts)
        await expect(attempt).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
      const wrong = new Error('no');
      const failing = bring(client, ConfigMaps, at('a'), () => {
        throw wrong;
      });
      await expect(failing).rejects.toBe(wrong);
      expect(lines(requests)).toEqual(Array(3).fill('GET /api/v1/namespaces/default/configmaps/a'));
    },
  );

  test('rejects at once if the object cannot be read', async () => {
    const { client, server, requests } = await live();
    server.inject({ verb: 'get', do: 'status', status: 403, reason: 'Forbidden' });
    const attempt = bring(client, ConfigMaps, at('a'), () => {
      throw new Error('not called');
    });
    await expect(attempt).rejects.toMatchObject({ reason: 'Forbidden' });
    expect(requests).toHaveLength(1);
  });

  test('never changes a cached object', async () => {
    const { client } = await cached();
    await client.create(ConfigMaps, configMap('a', { page: '1' }));
    const shared = await client.get(ConfigMaps, at('a'));
    await bring(client, ConfigMaps, at('a'), (draft) => {
      draft.data = { ...draft.data, more: '2' };
    });
    expect(shared.data).toEqual({ page: '1' });
    expect((await client.get(ConfigMaps, at('a'))).data).toEqual({ page: '1', more: '2' });
  });

  test('passes options to the write', async () => {
    const { client, requests } = await live();
    await bring(client, ConfigMaps, at('a'), () => undefined, { dryRun: true, fieldOwner: 'me' });
    expect(lines(requests).at(-1)).toBe(
      'POST /api/v1/namespaces/default/configmaps?dryRun=All&fieldManager=me',
    );
  });
});

test('a concurrent update is a conflict, and a retry succeeds', async () => {
  const { client } = await live();
  await client.create(ConfigMaps, configMap('a', { n: '0' }));
  const count = (inner: Client, interfere: () => Promise<unknown>) =>
    createOrUpdate(inner, ConfigMaps, at('a'), async (draft) => {
      await interfere();
      draft.data = { n: String(Number(draft.data?.n) + 1) };
    });
  let once = true;
  const interfere = async () => {
    if (once)
      await client.patch(ConfigMaps, at('a'), { type: 'merge', body: { data: { n: '10' } } });
    once = false;
  };
  const attempts: unknown[] = [];
  const { object } = await retryOnConflict(defaultRetry, () =>
    count(client, interfere).catch((error: unknown) => {
      attempts.push(error);
      throw error;
    }),
  );
  expect(attempts.map(isConflict)).toEqual([true]);
  expect(object.data).toEqual({ n: '11' });
});

describe('createOrPatch and the status', () => {
  const ready = { ready: true };

  test('patches object and status, each if it changed', async () => {
    const { client, requests } = await live();
    await client.create(Widgets, widget('w', { size: 1 }));
    const bring = (size: number, status: object) =>
      createOrPatch(client, Widgets, at('w'), (draft) => {
        draft.spec = { size };
        draft.status = status;
      });
    expect(await bring(1, ready)).toMatchObject({
      result: 'updatedStatusOnly',
      object: { status: ready },
    });
    expect(await bring(2, ready)).toMatchObject({
      result: 'updated',
      object: { spec: { size: 2 }, status: ready },
    });
    expect(await bring(3, { ready: false })).toMatchObject({
      result: 'updatedStatus',
      object: { spec: { size: 3 }, status: { ready: false } },
    });
    expect((await bring(3, { ready: false })).result).toBe('unchanged');
    const patches = requests.filter(({ method }) => method === 'PATCH');
    expect(
      patches.map(({ path, body }) => [path.endsWith('/status'), JSON.parse(String(body))]),
    ).toEqual([
      [true, { status: ready }],
      [false, { spec: { size: 2 } }],
      [false, { spec: { size: 3 } }],
      [true, { status: { ready: false } }],
    ]);
  });

  test('creates the object without the status', async () => {
    const { client } = await live();
    const { result, object } = await createOrPatch(client, Widgets, at('w'), (draft) => {
      draft.status = ready;
    });
    expect(result).toBe('created');
    expect(object.status).toBeUndefined();
  });
});

// The error suggested to pass the resource of the object, which the program had done.
test('an object with only metadata is not written back, and the error says why', async () => {
  const selections = new Map([[ConfigMaps, { metadataOnly: true }]]);
  const { client, transport } = await cached({ factoryOptions: { selections } });
  await client.create(ConfigMaps, configMap('a', { page: '1' }));
  const read = await client.get(ConfigMaps, at('a'));
  expect(read).toMatchObject({ kind: 'ConfigMap', apiVersion: 'v1' });
  for (const object of [read, { ...read }, structuredClone(read)])
    await expect(client.update(ConfigMaps, object)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('configmaps default/a would lose "data"'),
    });
  // a client without that cache
  const other = newClient({ transport });
  for (const object of [read, { ...read }, structuredClone(read)])
    await expect(other.update(ConfigMaps, object)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message:
        '"object" expected a whole ConfigMap, got metadata alone, as a cache with ' +
        'metadataOnly has it: an update would delete the rest; patch it, or read it with { ' +
        'live: true }',
    });
  const { result, object } = await createOrUpdate(client, ConfigMaps, at('a'), (draft) => {
    draft.data = { ...draft.data, more: '2' };
  });
  expect([result, object.data]).toEqual(['updated', { page: '1', more: '2' }]);
});

test('an object with only metadata is not created; patches of it work', async () => {
  const selections = new Map([[Widgets, { metadataOnly: true }]]);
  const { client, transport } = await cached({ factoryOptions: { selections } });
  const created = await client.create(Widgets, widget('w', { size: 1 }));
  const ready = { type: 'merge', body: { status: { ready: true } } } as const;
  await client.status().patch(Widgets, at('w'), ready);
  const read = await client.get(Widgets, at('w'));
  for (const each of [client, newClient({ transport })]) {
    await expect(each.create(Widgets, read)).rejects.toMatchObject({ code: 'STATUS' });
    await expect(each.status().update(Widgets, read)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  }
  const labels = { seen: 'true' };
  const labelled = { type: 'merge', body: { metadata: { labels } } } as const;
  await client.patch(Widgets, at('w'), labelled);
  expect(await client.get(Widgets, at('w'), { live: true })).toMatchObject({
    metadata: { uid: created.metadata.uid, labels },
    spec: { size: 1 },
    status: { ready: true },
  });
  await client.delete(Widgets, at('w'));
  await expect(client.get(Widgets, at('w'))).rejects.toSatisfy(isNotFound);
});

// Some kinds have no other members.
test('an object of a kind with only metadata is written back', async () => {
  const selections = new Map([[ConfigMaps, { metadataOnly: true }]]);
  const { client } = await cached({ factoryOptions: { selections } });
  await client.create(ConfigMaps, configMap('bare'));
  const bare = await client.get(ConfigMaps, at('bare'), { live: true });
  const labels = { seen: 'true' };
  const object = await client.update(ConfigMaps, {
    ...bare,
    metadata: { ...bare.metadata, labels },
  });
  expect(object.metadata.labels).toEqual(labels);
});
