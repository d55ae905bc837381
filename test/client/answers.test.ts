/**
 * Answers with a success code that are not the requested object: each is an error, for each verb.
 */
import { defineResource, newSharedInformerFactory, type Transport } from 'capstan/cache';
import { type Client, newClient, newNamespacedClient, withInterceptors } from 'capstan/client';
import { describe, expect, test } from 'vitest';
import {
  at,
  ConfigMaps,
  configMap,
  Namespaces,
  unnamed,
  Widgets,
  widget,
} from '../helpers/resources.ts';

/** A server, or a proxy in front of one, that gives each request the same answer. */
function answering(text: string | object): { transport: Transport; methods: string[] } {
  const methods: string[] = [];
  const body = typeof text === 'string' ? text : JSON.stringify(text);
  return {
    methods,
    transport: {
      request: async ({ method }) => {
        methods.push(method);
        return {
          status: 200,
          headers: { get: () => null },
          body: (async function* () {
            yield new TextEncoder().encode(body);
          })(),
        };
      },
    },
  };
}

const head = { apiVersion: 'v1', kind: 'ConfigMap' };
const right = { ...head, metadata: { namespace: 'default', name: 'a', uid: 'u' } };
const success = { kind: 'Status', apiVersion: 'v1', status: 'Success' };

// A gateway answered 200 with {"kind":"Status","status":"Success"}, and `create` resolved with it
// as if it were the created object.
const WRONG: [string, object][] = [
  ['a Status of success', success],
  ['another kind', { ...right, kind: 'Secret' }],
  ['another version', { ...right, apiVersion: 'v2' }],
  ['another name', { ...right, metadata: { namespace: 'default', name: 'b' } }],
  ['another namespace', { ...right, metadata: { namespace: 'other', name: 'a' } }],
  ['a list', { ...head, kind: 'ConfigMapList', metadata: {}, items: [right] }],
  ['no metadata', head],
  ['metadata that are null', { ...head, metadata: null }],
  ['metadata that are a text', { ...head, metadata: 'a' }],
  ['no name', { ...head, metadata: { namespace: 'default' } }],
  ['a name that is a number', { ...head, metadata: { namespace: 'default', name: 1 } }],
  ['nothing', {}],
];

const key = at('a');
const VERBS: Record<string, (client: Client) => Promise<unknown>> = {
  get: (client) => client.get(ConfigMaps, key, { live: true }),
  create: (client) => client.create(ConfigMaps, configMap('a')),
  update: (client) => client.update(ConfigMaps, configMap('a')),
  patch: (client) => client.patch(ConfigMaps, key, { type: 'merge', body: {} }),
  apply: (client) => client.apply(ConfigMaps, configMap('a')),
  'status.get': (client) => client.status().get(ConfigMaps, key),
  'status.update': (client) => client.status().update(ConfigMaps, configMap('a')),
  'status.patch': (client) => client.status().patch(ConfigMaps, key, { type: 'merge', body: {} }),
  'status.apply': (client) => client.status().apply(ConfigMaps, configMap('a')),
};

const CLIENTS: Record<string, (transport: Transport) => Client> = {
  live: (transport) => newClient({ transport, fieldOwner: 'me' }),
  cached: (transport) =>
    newClient({ transport, fieldOwner: 'me', cache: newSharedInformerFactory(transport) }),
  wrapped: (transport) =>
    withInterceptors(
      newNamespacedClient(newClient({ transport, fieldOwner: 'me' }), 'default'),
      {},
    ),
};

describe.each(Object.entries(CLIENTS))('to a client that is %s', (_, clientOf) => {
  describe.each(Object.entries(VERBS))('%s', (verb, call) => {
    test.each(WRONG)('rejects %s', async (what, answer) => {
      const { transport } = answering(answer);
      const error = await call(clientOf(transport)).catch((error: Error) => error as Error);
      expect(error).toMatchObject({ code: 'DECODE' });
      const path = '/api/v1/namespaces/default/configmaps';
      expect((error as Error).message).toContain(verb === 'create' ? `POST ${path}:` : `${path}/a`);
      expect((error as Error).message).toContain('v1 ConfigMap default/a');
      if (what === 'a Status of success')
        expect((error as Error).message).toContain('a Status "Success"');
      if (!verb.endsWith('get'))
        expect((error as Error).message).toContain('carried out is not known');
    });

    test('accepts the object, also without its kind, as Go does', async () => {
      expect(await call(clientOf(answering(right).transport))).toEqual(right);
      const { metadata } = right;
      expect(await call(clientOf(answering({ metadata }).transport))).toEqual(right);
    });
  });
});

describe('other answers', () => {
  const client = (answer: object | string) =>
    newClient({ transport: answering(answer).transport, fieldOwner: 'me' });
  const list = { apiVersion: 'v1', kind: 'ConfigMapList', metadata: {} };
  const elsewhere = { ...right, metadata: { ...right.metadata, namespace: 'other' } };

  test('a generated name must begin with generateName', async () => {
    const made = { ...right, metadata: { ...right.metadata, name: 'a-x7k2p' } };
    const { name: _, ...rest } = right.metadata;
    const metadata = unnamed({ ...rest, generateName: 'a-' });
    expect(await client(made).create(ConfigMaps, { metadata })).toEqual(made);
    await expect(client(right).create(ConfigMaps, { metadata })).rejects.toMatchObject({
      code: 'DECODE',
    });
    // a long generateName is cut to leave five characters
    const long = { ...right, metadata: { ...right.metadata, name: `${'a'.repeat(58)}x7k2p` } };
    const cut = { ...metadata, generateName: `${'a'.repeat(70)}-` };
    expect(await client(long).create(ConfigMaps, { metadata: cut })).toEqual(long);
    await expect(client(success).create(ConfigMaps, { metadata })).rejects.toMatchObject({
      code: 'DECODE',
    });
  });

  // `create` required a name, which a review does not have, and looked for one in the answer.
  test('a review needs no name or metadata, and may be answered without', async () => {
    const review = <T extends object>(kind: string) =>
      defineResource<T>()({
        group: 'authorization.k8s.io',
        version: 'v1',
        kind,
        plural: `${kind.toLowerCase()}s`,
        namespaced: kind.startsWith('Local'),
      });
    const of = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview' };
    const answer = { ...of, metadata: {}, status: { allowed: true } };
    const all = review<{ metadata?: object; spec: object }>('SubjectAccessReview');
    expect(await client(answer).create(all, { spec: { user: 'a' } })).toEqual(answer);
    for (const wrong of [of, { ...answer, kind: 'TokenReview' }, success])
      await expect(client(wrong).create(all, { spec: {} })).rejects.toMatchObject({
        code: 'DECODE',
      });
    const local = { ...answer, kind: 'LocalSubjectAccessReview', metadata: { namespace: 'a' } };
    const inNamespace = review<{ metadata: object }>('LocalSubjectAccessReview');
    const metadata = { namespace: 'a' };
    expect(await client(local).create(inNamespace, { metadata })).toEqual(local);
    await expect(client(local).create(inNamespace, { metadata: {} })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
    await expect(client(right).create(ConfigMaps, { metadata: unnamed(metadata) })).rejects.toThrow(
      'generateName',
    );
  });

  test('an object without a namespace is recognised by its name', async () => {
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'a' } };
    expect(await client(namespace).get(Namespaces, { name: 'a' })).toEqual(namespace);
  });

  test('a deletion may be answered with a Status or the object', async () => {
    await client(success).delete(ConfigMaps, key);
    await client(right).delete(ConfigMaps, key);
    for (const answer of [{}, { ...right, kind: 'Secret' }, list])
      await expect(client(answer).delete(ConfigMaps, key)).rejects.toMatchObject({
        code: 'DECODE',
      });
    const other = { ...right, metadata: { ...right.metadata, name: 'b' } };
    await expect(client(other).delete(ConfigMaps, key)).rejects.toThrow(
      'expected the v1 ConfigMap default/a, got a "v1" "ConfigMap" "default/b"',
    );
  });

  test('a deletion of many may be answered with a Status or their list', async () => {
    const all = { namespace: 'default' };
    await client(success).deleteAllOf(ConfigMaps, all);
    await client({ ...list, items: [right] }).deleteAllOf(ConfigMaps, all);
    for (const answer of [
      right,
      { ...list, items: [null] },
      { ...list, items: [elsewhere] },
      { ...list, kind: 'SecretList' },
    ])
      await expect(client(answer).deleteAllOf(ConfigMaps, all)).rejects.toMatchObject({
        code: 'DECODE',
      });
  });

  test.each<[string, object, boolean]>([
    ['its kind', { ...list, items: [right] }, true],
    ['no kind', { items: [right] }, true],
    ['kind List', { apiVersion: 'v1', kind: 'List', items: [right] }, true],
    ['null items', { ...list, items: null }, true],
    ['null items and no kind', { items: null }, false],
    ['no items', list, false],
    ['items that are no list', { ...list, items: {} }, false],
    ['another kind', { ...list, kind: 'SecretList', items: [] }, false],
    ['another version', { ...list, apiVersion: 'v2', items: [] }, false],
    ['a Status', success, false],
    ['an object', right, false],
    ['a null item', { ...list, items: [right, null] }, false],
    ['an item that is a text', { ...list, items: ['a'] }, false],
    ['an item of another kind', { ...list, items: [{ ...right, kind: 'Secret' }] }, false],
    ['an item without metadata', { ...list, items: [right, head] }, false],
    ['an item without a name', { ...list, items: [{ ...head, metadata: {} }] }, false],
    ['an item whose name is none', { ...list, items: [{ metadata: { name: {} } }] }, false],
    ['an item of another namespace', { ...list, items: [elsewhere] }, false],
    ['metadata that are a text', { ...list, metadata: 'a', items: [] }, false],
    ['a token that is an object', { ...list, metadata: { continue: {} }, items: [] }, false],
  ])('a list with %s', async (_, answer, isTaken) => {
    const listed = client(answer).list(ConfigMaps, { live: true, namespace: 'default' });
    if (isTaken)
      expect((await listed).items).toEqual('items' in answer ? (answer.items ?? []) : []);
    else await expect(listed).rejects.toMatchObject({ code: 'DECODE' });
  });

  test('an item that is not an object is reported with its index', async () => {
    const answer = { ...list, items: [right, null] };
    await expect(client(answer).list(ConfigMaps)).rejects.toThrow('items[1] null');
  });

  test('a list of custom objects may have another kind in its group', async () => {
    const named = (apiVersion: string) => ({ apiVersion, kind: 'WidgetCollection', items: [] });
    expect((await client(named('example.com/v1')).list(Widgets)).items).toEqual([]);
    await expect(client(named('v1')).list(Widgets)).rejects.toMatchObject({ code: 'DECODE' });
  });

  test('a subresource may answer with its own kinds, with Status only to a create', async () => {
    const scale = { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: right.metadata };
    const review = { apiVersion: 'v1', kind: 'Review', status: {} };
    const merge = { type: 'merge', body: {} } as const;
    expect(await client(scale).subResource('scale').get(ConfigMaps, key)).toEqual(scale);
    expect(await client(scale).subResource('scale').patch(ConfigMaps, key, merge)).toEqual(scale);
    expect(await client(review).subResource('review').get(ConfigMaps, key)).toEqual(review);
    expect(await client(review).subResource('review').create(ConfigMaps, key, {})).toEqual(review);
    const sent = { kind: 'Eviction' };
    expect(await client(success).subResource('eviction').create(ConfigMaps, key, sent)).toBe(sent);
    for (const call of [
      () => client(success).subResource('review').get(ConfigMaps, key),
      () => client(success).subResource('scale').patch(ConfigMaps, key, merge),
      () => client(right).subResource('scale').get(ConfigMaps, key),
      () =>
        client({ ...scale, metadata: { name: 'b' } })
          .subResource('scale')
          .get(ConfigMaps, key),
      () => client(review).subResource('eviction').create(ConfigMaps, key, sent),
      () => client(review).subResource('approval').update(ConfigMaps, configMap('a')),
    ])
      await expect(call()).rejects.toMatchObject({ code: 'DECODE' });
  });

  test('a client reports a write to its cache when the answer is known', async () => {
    const { transport } = answering({ ...right, kind: 'Secret' });
    const cache = newSharedInformerFactory(transport);
    const received: object[] = [];
    cache.wrote = (_, object) => received.push(object);
    await expect(
      newClient({ transport, cache }).create(Widgets, widget('a')),
    ).rejects.toMatchObject({ code: 'DECODE' });
    expect(received).toEqual([]);
  });
});
