/**
 * The client that sends each call to the server, over real HTTP: each verb, its options on the
 * wire, and its errors.
 */
import { fetchTransport, type LabelSelector, StatusError, TransportError } from 'capstan/cache';
import {
  type Client,
  hasStatusCause,
  isAlreadyExists,
  isConflict,
  isInvalid,
  isNotFound,
  listAll,
  listPages,
  newClient,
  type Patch,
  rawPatch,
} from 'capstan/client';
import { FakeClock } from 'capstan/testing';
import { describe, expect, test } from 'vitest';
import { lines, live } from '../helpers/client/clients.ts';
import {
  at,
  type ConfigMap,
  ConfigMaps,
  configMap,
  Namespaces,
  unnamed,
  Widgets,
  widget,
} from '../helpers/resources.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';
const WIDGETS = '/apis/example.com/v1/namespaces/default/widgets';

describe('create', () => {
  test("sends apiVersion and kind, and returns the server's object", async () => {
    const { client, requests } = await live();
    const created = await client.create(ConfigMaps, configMap('a', { page: '1' }));
    expect(created).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap', data: { page: '1' } });
    expect(created.metadata.uid).toMatch(/-/);
    expect(lines(requests)).toEqual([`POST ${MAPS}`]);
    expect(JSON.parse(String(requests[0]?.body))).toMatchObject({
      apiVersion: 'v1',
      kind: 'ConfigMap',
    });
    expect(requests[0]?.headers?.['content-type']).toBe('application/json');
    expect(await client.get(ConfigMaps, at('a'))).toEqual(created);
  });

  test('creates objects without a namespace, and custom ones', async () => {
    const { client, requests } = await live();
    await client.create(Namespaces, { metadata: { name: 'team' } });
    const created = await client.create(Widgets, widget('w', { size: 1 }));
    expect(created).toMatchObject({
      apiVersion: 'example.com/v1',
      kind: 'Widget',
      spec: { size: 1 },
    });
    expect(lines(requests)).toEqual(['POST /api/v1/namespaces', `POST ${WIDGETS}`]);
  });

  // A program that copies the members of a list's items also copies undefined ones: JSON omits
  // these, and a custom resource was rejected with 400.
  test('fills in an apiVersion and kind that are undefined', async () => {
    const { client } = await live();
    const head = { apiVersion: undefined, kind: undefined };
    const expected = { apiVersion: 'example.com/v1', kind: 'Widget', spec: { size: 1 } };
    expect(await client.create(Widgets, { ...head, ...widget('w', { size: 1 }) })).toMatchObject(
      expected,
    );
    const applied = { ...head, ...widget('v', { size: 1 }) };
    expect(await client.apply(Widgets, applied, { fieldOwner: 'me' })).toMatchObject(expected);
  });

  test('returns a name that the server generates', async () => {
    const { client } = await live();
    const created = await client.create(ConfigMaps, {
      metadata: unnamed({ namespace: 'default', generateName: 'page-' }),
    });
    expect(created.metadata.name).toMatch(/^page-[a-z0-9]{5}$/);
  });

  test('rejects with a typed error for an existing or invalid object', async () => {
    const { client } = await live();
    await client.create(ConfigMaps, configMap('a'));
    const again = await client.create(ConfigMaps, configMap('a')).catch((error: unknown) => error);
    expect(again).toBeInstanceOf(StatusError);
    expect(isAlreadyExists(again)).toBe(true);
    expect(isConflict(again)).toBe(false);
    const wrong = await client
      .create(ConfigMaps, configMap('No_Name'))
      .catch((error: unknown) => error);
    expect(isInvalid(wrong)).toBe(true);
  });

  test('changes nothing in a dry run', async () => {
    const { client, requests } = await live();
    const created = await client.create(ConfigMaps, configMap('a', { page: '1' }), {
      dryRun: true,
    });
    expect(created.data).toEqual({ page: '1' });
    expect(lines(requests)).toEqual([`POST ${MAPS}?dryRun=All`]);
    await expect(client.get(ConfigMaps, at('a'))).rejects.toSatisfy(isNotFound);
  });
});

describe('update', () => {
  test('replaces the object, and keeps its kind', async () => {
    const { client, requests } = await live();
    const created = await client.create(ConfigMaps, configMap('a', { page: '1' }));
    const updated = await client.update(ConfigMaps, { ...created, data: { page: '2' } });
    expect(updated).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap', data: { page: '2' } });
    expect(lines(requests)[1]).toBe(`PUT ${MAPS}/a`);
    const space = await client.create(Namespaces, { metadata: { name: 'team' } });
    const labelled = await client.update(Namespaces, {
      ...space,
      metadata: { ...space.metadata, labels: { a: 'b' } },
    });
    expect(labelled.metadata.labels).toMatchObject({ a: 'b' });
  });

  test('is a conflict with an old resourceVersion, and NotFound for a missing object', async () => {
    const { client } = await live();
    const created = await client.create(ConfigMaps, configMap('a'));
    await client.update(ConfigMaps, { ...created, data: { page: '1' } });
    await expect(client.update(ConfigMaps, { ...created, data: { page: '2' } })).rejects.toSatisfy(
      isConflict,
    );
    await expect(client.update(ConfigMaps, configMap('b'))).rejects.toSatisfy(isNotFound);
  });
});

describe('patch', () => {
  test('sends JSON patches, merge patches, and raw ones', async () => {
    const { client, requests } = await live();
    await client.create(Widgets, widget('w', { size: 1, color: 'red' }));
    const merged = await client.patch(Widgets, at('w'), {
      type: 'merge',
      body: { spec: { color: null } },
    });
    expect(merged.spec).toEqual({ size: 1 });
    const operations = [{ op: 'replace', path: '/spec/size', value: 2 }] as const;
    expect((await client.patch(Widgets, at('w'), { type: 'json', operations })).spec).toEqual({
      size: 2,
    });
    const raw = await client.patch(Widgets, at('w'), rawPatch('merge', '{"spec":{"size":3}}'));
    expect(raw.spec).toEqual({ size: 3 });
    expect(requests.slice(1).map(({ headers }) => headers?.['content-type'])).toEqual([
      'application/merge-patch+json',
      'application/json-patch+json',
      'application/merge-patch+json',
    ]);
    expect(lines(requests)[1]).toBe(`PATCH ${WIDGETS}/w`);
  });

  // A program's own difference between an answer and an item of a list removed both members.
  test('does not remove kind and apiVersion', async () => {
    const { client } = await live();
    await client.create(ConfigMaps, configMap('a', { page: '1' }));
    const gone = { kind: null, apiVersion: null };
    for (const [page, patch] of [
      ['2', { type: 'merge', body: { ...gone, data: { page: '2' } } }],
      ['3', { type: 'strategic', body: { ...gone, data: { page: '3' } } }],
      [
        '4',
        {
          type: 'json',
          operations: [
            { op: 'remove', path: '/kind' },
            { op: 'replace', path: '/apiVersion', value: null },
            { op: 'replace', path: '/data/page', value: '4' },
          ],
        },
      ],
    ] as [string, Patch][]) {
      const { kind, apiVersion, data } = await client.patch(ConfigMaps, at('a'), patch);
      expect({ kind, apiVersion, data }).toEqual({
        kind: 'ConfigMap',
        apiVersion: 'v1',
        data: { page },
      });
    }
  });

  test('sends a strategic merge patch', async () => {
    const { client, requests } = await live();
    await client
      .patch(ConfigMaps, at('a'), { type: 'strategic', body: { data: { page: '2' } } })
      .catch((error: unknown) => error);
    expect(requests[0]?.headers?.['content-type']).toBe('application/strategic-merge-patch+json');
  });
});

describe('apply', () => {
  test('sends its field owner and force', async () => {
    const { client, requests } = await live();
    const apply = (object: ConfigMap, options: Parameters<Client['apply']>[2]) =>
      client.apply(ConfigMaps, object, options).catch((error: unknown) => error);
    await apply(configMap('a', { page: '1' }), { fieldOwner: 'me' });
    await apply(configMap('a', { page: '1' }), { fieldOwner: 'me', force: true, dryRun: true });
    expect(lines(requests)).toEqual([
      `PATCH ${MAPS}/a?fieldManager=me`,
      `PATCH ${MAPS}/a?dryRun=All&fieldManager=me&force=true`,
    ]);
    expect(requests[0]?.headers?.['content-type']).toBe('application/apply-patch+yaml');
    expect(JSON.parse(String(requests[0]?.body))).toEqual({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      ...configMap('a', { page: '1' }),
    });
  });

  test('is a conflict if another manager owns the field, unless forced', async () => {
    const { client } = await live();
    const page = (value: string) => configMap('a', { page: value });
    expect((await client.apply(ConfigMaps, page('1'), { fieldOwner: 'me' })).data).toEqual({
      page: '1',
    });
    const conflict = await client
      .apply(ConfigMaps, page('2'), { fieldOwner: 'you' })
      .catch((error: unknown) => error);
    expect(isConflict(conflict)).toBe(true);
    expect(hasStatusCause(conflict, 'FieldManagerConflict')).toBe(true);
    expect(
      (await client.apply(ConfigMaps, page('2'), { fieldOwner: 'you', force: true })).data,
    ).toEqual({ page: '2' });
  });

  test('is rejected without a field owner, before it is sent', async () => {
    const { client, requests } = await live();
    await expect(client.apply(ConfigMaps, configMap('a'))).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
    expect(requests).toEqual([]);
  });
});

describe('delete', () => {
  test('removes the object, once', async () => {
    const { client } = await live();
    await client.create(ConfigMaps, configMap('a'));
    await client.create(Namespaces, { metadata: { name: 'team' } });
    expect(await client.delete(ConfigMaps, at('a'))).toBeUndefined();
    await expect(client.get(ConfigMaps, at('a'))).rejects.toSatisfy(isNotFound);
    await expect(client.delete(ConfigMaps, at('a'))).rejects.toSatisfy(isNotFound);
  });

  test('sends its options, and rejects if a precondition does not hold', async () => {
    const { client, requests } = await live();
    const created = await client.create(ConfigMaps, configMap('a'));
    await expect(
      client.delete(ConfigMaps, at('a'), { preconditions: { uid: 'other' } }),
    ).rejects.toSatisfy(isConflict);
    await client.delete(ConfigMaps, at('a'), { dryRun: true });
    expect(await client.get(ConfigMaps, at('a'))).toEqual(created);
    await client.delete(ConfigMaps, at('a'), {
      gracePeriodSeconds: 0,
      propagationPolicy: 'Background',
      preconditions: {
        uid: created.metadata.uid,
        resourceVersion: created.metadata.resourceVersion,
      },
    });
    expect(JSON.parse(String(requests.at(-1)?.body))).toEqual({
      kind: 'DeleteOptions',
      apiVersion: 'v1',
      gracePeriodSeconds: 0,
      propagationPolicy: 'Background',
      preconditions: {
        uid: created.metadata.uid,
        resourceVersion: created.metadata.resourceVersion,
      },
    });
    await expect(client.get(ConfigMaps, at('a'))).rejects.toSatisfy(isNotFound);
  });

  test('removes the selected objects of a collection', async () => {
    const { client, requests } = await live();
    for (const name of ['a', 'b', 'c'])
      await client.create(
        ConfigMaps,
        configMap(name, {}, { labels: { tier: name === 'c' ? 'back' : 'front' } }),
      );
    await client.deleteAllOf(ConfigMaps, {
      namespace: 'default',
      labelSelector: 'tier=front',
      dryRun: true,
    });
    expect((await client.list(ConfigMaps)).items).toHaveLength(3);
    await client.deleteAllOf(ConfigMaps, {
      namespace: 'default',
      labelSelector: 'tier=front',
      gracePeriodSeconds: 0,
      propagationPolicy: 'Background',
    });
    expect(JSON.parse(String(requests.at(-1)?.body))).toEqual({
      kind: 'DeleteOptions',
      apiVersion: 'v1',
      gracePeriodSeconds: 0,
      propagationPolicy: 'Background',
    });
    expect((await client.list(ConfigMaps)).items.map(({ metadata }) => metadata.name)).toEqual([
      'c',
    ]);
    expect(lines(requests).at(-2)).toBe(`DELETE ${MAPS}?labelSelector=tier%3Dfront`);
    await expect(client.deleteAllOf(ConfigMaps)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });
});

describe('get', () => {
  test("rejects with NotFound and the object's name", async () => {
    const { client } = await live();
    const error = await client.get(ConfigMaps, at('a')).catch((failure: unknown) => failure);
    expect(error).toMatchObject({ code: 'STATUS', status: 404, reason: 'NotFound' });
  });

  test('accepts a reconcile request for either scope', async () => {
    const { client, requests } = await live();
    await client.create(Namespaces, { metadata: { name: 'team' } });
    await client.get(Namespaces, { namespace: '', name: 'team' });
    await client.get(Namespaces, { namespace: 'ignored', name: 'team' });
    expect(lines(requests).slice(1)).toEqual([
      'GET /api/v1/namespaces/team',
      'GET /api/v1/namespaces/team',
    ]);
  });
});

describe('list', () => {
  // A Deployment's spec.selector was rejected: each program converted it to text.
  test('and deleteAllOf accept a LabelSelector, and reject an invalid one', async () => {
    const { client, requests } = await live();
    const both = (selector: LabelSelector) => {
      const options = { namespace: 'default', labelSelector: selector };
      return [client.list(ConfigMaps, options), client.deleteAllOf(ConfigMaps, options)];
    };
    await Promise.all(both({ matchLabels: { app: 'web' } }));
    expect(lines(requests).sort()).toEqual(
      ['DELETE', 'GET'].map((verb) => `${verb} ${MAPS}?labelSelector=app%3Dweb`),
    );
    const tooLong = { matchLabels: { app: 'x'.repeat(64) } };
    const wrong = [...both({ app: 'web' } as object), ...both(tooLong)];
    for (const each of await Promise.allSettled(wrong))
      expect(each).toMatchObject({ reason: { code: 'INVALID_ARGUMENT' } });
  });

  test('and deleteAllOf refuse selectors that are null', async () => {
    // Story: null stood for no selector, so deleteAllOf with the selector of an object that has
    // none deleted every object of the namespace.
    const { client, requests } = await live();
    for (const wrong of [{ labelSelector: null }, { fieldSelector: null }]) {
      const options = { namespace: 'default', ...wrong } as never;
      for (const call of [
        client.list(ConfigMaps, options),
        client.deleteAllOf(ConfigMaps, options),
      ])
        await expect(call).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    }
    expect(requests).toEqual([]);
  });

  test('returns the objects of its namespace and selectors, each with its kind', async () => {
    const { client } = await live();
    for (const [namespace, name] of [
      ['default', 'a'],
      ['default', 'b'],
      ['other', 'a'],
    ] as const)
      await client.create(ConfigMaps, configMap(name, {}, { namespace, labels: { app: name } }));
    const keys = async (options: Parameters<Client['list']>[1]) =>
      (await client.list(ConfigMaps, options)).items.map(
        ({ metadata }) => `${metadata.namespace}/${metadata.name}`,
      );
    expect(await keys({})).toEqual(['default/a', 'default/b', 'other/a']);
    expect(await keys({ namespace: 'default' })).toEqual(['default/a', 'default/b']);
    expect(await keys({ labelSelector: 'app=a' })).toEqual(['default/a', 'other/a']);
    expect(await keys({ namespace: 'other', labelSelector: 'app=b' })).toEqual([]);
    expect(await keys({ fieldSelector: 'metadata.name=b' })).toEqual(['default/b']);
    const { items, metadata } = await client.list(ConfigMaps);
    expect(items[0]).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap' });
    expect(Number(metadata.resourceVersion)).toBeGreaterThan(0);
  });

  test('returns pages, one at a time or in a loop', async () => {
    const { client } = await live();
    for (const name of ['a', 'b', 'c', 'd', 'e']) await client.create(ConfigMaps, configMap(name));
    const first = await client.list(ConfigMaps, { limit: 2 });
    expect(first.items).toHaveLength(2);
    expect(first.metadata.remainingItemCount).toBe(3);
    const second = await client.list(ConfigMaps, { limit: 2, continue: first.metadata.continue });
    expect(second.items.map(({ metadata }) => metadata.name)).toEqual(['c', 'd']);
    const names: string[] = [];
    for await (const { metadata } of listAll(client, ConfigMaps, { pageSize: 2 }))
      names.push(metadata.name ?? '');
    expect(names).toEqual(['a', 'b', 'c', 'd', 'e']);
    const sizes: number[] = [];
    for await (const { items } of listPages(client, ConfigMaps, {
      namespace: 'default',
      pageSize: 3,
    }))
      sizes.push(items.length);
    expect(sizes).toEqual([3, 2]);
  });

  test('ends a loop over expired pages with an error', async () => {
    const { client, server } = await live();
    for (const name of ['a', 'b', 'c']) await client.create(ConfigMaps, configMap(name));
    const pages = listAll(client, ConfigMaps, { pageSize: 1 });
    expect((await pages.next()).value).toMatchObject({ metadata: { name: 'a' } });
    server.expireHistory();
    await client.create(ConfigMaps, configMap('d'));
    await expect(pages.next()).rejects.toMatchObject({ status: 410, reason: 'Expired' });
  });

  test('has no indices', async () => {
    const { client } = await live();
    const listing = client.list(ConfigMaps, { index: { name: 'byPage', value: '1' } });
    await expect(listing).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });
});

describe('status', () => {
  test('is read and written separately', async () => {
    const { client, requests } = await live();
    const created = await client.create(Widgets, widget('w', { size: 1 }));
    const updated = await client
      .status()
      .update(Widgets, { ...created, spec: { size: 9 }, status: { ready: true } });
    expect(updated).toMatchObject({ kind: 'Widget', spec: { size: 1 }, status: { ready: true } });
    const patched = await client
      .status()
      .patch(Widgets, at('w'), { type: 'merge', body: { status: { size: 1 } } });
    expect(patched.status).toEqual({ ready: true, size: 1 });
    expect((await client.status().get(Widgets, at('w'))).status).toEqual({ ready: true, size: 1 });
    expect(lines(requests).slice(1)).toEqual([
      `PUT ${WIDGETS}/w/status`,
      `PATCH ${WIDGETS}/w/status`,
      `GET ${WIDGETS}/w/status`,
    ]);
    await expect(client.status().update(Widgets, widget('none'))).rejects.toSatisfy(isNotFound);
  });

  test('a body of a subresource is sent in place of the object', async () => {
    const { client, requests } = await live();
    const scale = {
      apiVersion: 'autoscaling/v1',
      kind: 'Scale',
      metadata: { name: 'w' },
      spec: { replicas: 2 },
    };
    await client
      .subResource('scale')
      .update(Widgets, widget('w'), { body: scale })
      .catch((error: unknown) => error);
    expect(lines(requests)).toEqual([`PUT ${WIDGETS}/w/scale`]);
    expect(JSON.parse(String(requests[0]?.body))).toEqual(scale);
  });
});

describe('the default options of a client', () => {
  test('are sent with each write, unless the call has others', async () => {
    const { client, requests } = await live({ fieldOwner: 'me', fieldValidation: 'Strict' });
    await client.create(ConfigMaps, configMap('a'));
    await client.create(ConfigMaps, configMap('b'), {
      fieldOwner: 'you',
      fieldValidation: 'Ignore',
    });
    await client.apply(ConfigMaps, configMap('a')).catch((error: unknown) => error);
    await client.delete(ConfigMaps, at('a'));
    expect(lines(requests)).toEqual([
      `POST ${MAPS}?fieldManager=me&fieldValidation=Strict`,
      `POST ${MAPS}?fieldManager=you&fieldValidation=Ignore`,
      `PATCH ${MAPS}/a?fieldManager=me`,
      `DELETE ${MAPS}/a`,
    ]);
  });
});

test('the client works over fetch, with bodies of deletions', async () => {
  const { server } = await live();
  const client = newClient({ transport: fetchTransport(server.url), fieldOwner: 'me' });
  const created = await client.create(ConfigMaps, configMap('a', { page: '1' }));
  expect((await client.apply(ConfigMaps, configMap('a', { more: '2' }))).data).toEqual({
    page: '1',
    more: '2',
  });
  expect(
    (await client.list(ConfigMaps, { namespace: 'default', labelSelector: '!none' })).items,
  ).toHaveLength(1);
  const stale = { preconditions: { resourceVersion: created.metadata.resourceVersion } };
  await expect(client.delete(ConfigMaps, at('a'), stale)).rejects.toSatisfy(isConflict);
  await client.delete(ConfigMaps, at('a'), { preconditions: { uid: created.metadata.uid } });
  await expect(client.get(ConfigMaps, at('a'))).rejects.toSatisfy(isNotFound);
});

describe('what cannot be sent', () => {
  test.each<[string, (client: Client) => Promise<unknown>]>([
    [
      'an object of another kind',
      (client) => client.create(ConfigMaps, { ...configMap('a'), kind: 'Secret' }),
    ],
    [
      'an object of another version',
      (client) => client.update(ConfigMaps, { ...configMap('a'), apiVersion: 'v2' }),
    ],
    [
      'the status of an object of another kind',
      (client) => client.status().update(Widgets, { ...widget('w'), kind: 'Gadget' }),
    ],
    [
      'an object without a name',
      (client) => client.update(ConfigMaps, { metadata: unnamed({ namespace: 'default' }) }),
    ],
    [
      'a new object without any name',
      (client) => client.create(ConfigMaps, { metadata: unnamed({ namespace: 'default' }) }),
    ],
    [
      'an object without a namespace',
      (client) => client.create(ConfigMaps, { metadata: { name: 'a' } }),
    ],
    ['a key without a namespace', (client) => client.get(ConfigMaps, { name: 'a' })],
    ['a name that is a path', (client) => client.get(ConfigMaps, at('../secrets/s'))],
    ['a name with an escape', (client) => client.get(ConfigMaps, at('a%2fb'))],
    ['half a character', (client) => client.get(ConfigMaps, at('\ud800'))],
    ['a namespace that is a path', (client) => client.list(ConfigMaps, { namespace: 'a/b' })],
    [
      'a subresource that is a path',
      (client) => client.subResource('a/b').get(ConfigMaps, at('a')),
    ],
    [
      'a cycle',
      (client) => client.create(ConfigMaps, Object.assign(configMap('a'), { self: cycle() })),
    ],
    [
      'a patch of no type',
      (client) => client.patch(ConfigMaps, at('a'), { type: 'other' } as never),
    ],
  ])('is rejected with a clear error: %s', async (_, call) => {
    const { client, requests } = await live();
    await expect(call(client)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect(requests).toEqual([]);
  });

  test('wrong options of a client are rejected', () => {
    const transport = { request: () => Promise.reject(new Error('unused')) };
    for (const wrong of [
      {},
      { transport: {} },
      { transport, fieldOwner: '' },
      { transport, fieldValidation: 'Sometimes' },
      { transport, rateLimit: { qps: 0 } },
      { transport, readYourWritesTimeout: -1 },
      { transport, cache: {} },
      { transport, disableFor: [{}] },
      { transport, disableFor: null },
      { transport, disableFor: 'pods' },
      { transport, rateLimit: null },
      { transport, rateLimit: 5 },
      { transport, logger: {} },
    ])
      expect(() => newClient(wrong as never), JSON.stringify(wrong)).toThrow(
        expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
      );
  });
});

function cycle(): object {
  const value: { self?: object } = {};
  value.self = value;
  return value;
}

describe('retries', () => {
  test('a write is repeated after Retry-After, and not otherwise', async () => {
    const clock = new FakeClock();
    const { client, server, requests } = await live({ clock });
    server.inject({ verb: 'create', do: 'status', status: 503, retryAfter: 2000, times: 1 });
    const creating = client.create(ConfigMaps, configMap('a'));
    await clock.run(1999);
    expect(requests).toHaveLength(1);
    await clock.run(1);
    expect((await creating).metadata.name).toBe('a');
    expect(requests).toHaveLength(2);
    server.inject({ verb: 'create', do: 'status', status: 500, times: 1 });
    await expect(client.create(ConfigMaps, configMap('b'))).rejects.toMatchObject({ status: 500 });
    expect(requests).toHaveLength(3);
  });

  test('after a lost connection a read is repeated and a write is not', async () => {
    const clock = new FakeClock();
    const { client, server, requests } = await live({ clock });
    for (const verb of ['create', 'update', 'patch', 'delete'] as const)
      server.inject({ verb, do: 'reset', times: 1 });
    for (const call of [
      () => client.create(ConfigMaps, configMap('a')),
      () => client.update(ConfigMaps, configMap('a')),
      () => client.patch(ConfigMaps, at('a'), { type: 'merge', body: {} }),
      () => client.delete(ConfigMaps, at('a')),
    ])
      await expect(call()).rejects.toBeInstanceOf(TransportError);
    expect(requests).toHaveLength(4);
    server.inject({ verb: 'get', do: 'reset', times: 1 });
    const getting = client.get(ConfigMaps, at('a')).catch((error: unknown) => error);
    await clock.run(1000);
    expect(isNotFound(await getting)).toBe(true);
    expect(requests).toHaveLength(6);
  });

  test('nothing is sent or awaited once the signal has fired', async () => {
    const { client, requests } = await live();
    await expect(
      client.get(ConfigMaps, at('a'), { signal: AbortSignal.abort() }),
    ).rejects.toMatchObject({
      code: 'ABORTED',
    });
    expect(requests).toEqual([]);
  });

  test('a stalled request ends with its signal', async () => {
    const { client, server } = await live();
    server.inject({ verb: 'get', do: 'stall' });
    const abort = new AbortController();
    const getting = client.get(ConfigMaps, at('a'), { signal: abort.signal });
    abort.abort();
    await expect(getting).rejects.toMatchObject({ code: 'ABORTED' });
  });

  test('an answer that is not JSON is a typed error', async () => {
    const { client, server } = await live();
    server.inject({ verb: 'get', do: 'garbage', bytes: '<html>' });
    await expect(client.get(ConfigMaps, at('a'))).rejects.toMatchObject({ code: 'DECODE' });
  });
});
