/**
 * Kinds to resources, as the server tells them. controller-runtime:
 * pkg/client/apiutil/restmapper_test.go.
 */
import {
  Discovery,
  discover,
  groupVersionKindFor,
  isNotFound,
  isObjectNamespaced,
  newClient,
} from 'capstan/client';
import { describe, expect, test } from 'vitest';
import {
  ConfigMaps,
  lines,
  live,
  Namespaces,
  Widgets,
  widget,
} from '../helpers/client/fixtures.ts';

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
/** Of versions, of which the first is stored; those in brackets are not served. */
const definition = (plural: string, kind: string, scope: string, ...versions: string[]) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.example.com` },
  spec: {
    group: 'example.com',
    scope,
    names: { plural, kind, singular: kind.toLowerCase(), listKind: `${kind}List` },
    versions: (versions.length === 0 ? ['v1'] : versions).map((name, i) => ({
      name: name.replace(/[()]/g, ''),
      served: !name.startsWith('('),
      storage: i === 0,
      schema: {
        openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      },
    })),
  },
});

async function define(
  transport: Awaited<ReturnType<typeof live>>['transport'],
  ...definitions: object[]
): Promise<void> {
  for (const body of definitions) {
    const headers = { 'content-type': 'application/json' };
    const response = await transport.request({
      method: 'POST',
      path: DEFINITIONS,
      headers,
      body: JSON.stringify(body),
    });
    expect(response.status).toBe(201);
    for await (const _ of response.body);
  }
}

describe('discovery', () => {
  test('finds the resource of a kind, of the core group, of a built-in one and of a custom one', async () => {
    const { transport } = await live();
    await define(transport, definition('gizmos', 'Gizmo', 'Cluster'));
    const discovery = new Discovery(transport);
    expect(
      await discovery.resourceFor({ group: '', version: 'v1', kind: 'ConfigMap' }),
    ).toMatchObject({
      plural: 'configmaps',
      namespaced: true,
    });
    expect(await discovery.resourceFor({ group: '', kind: 'Namespace' })).toMatchObject({
      plural: 'namespaces',
      namespaced: false,
    });
    expect(await discovery.resourceFor({ group: 'apps', kind: 'Deployment' })).toMatchObject({
      version: 'v1',
      plural: 'deployments',
    });
    expect(await discovery.resourceFor({ group: 'example.com', kind: 'Gizmo' })).toEqual({
      ...{
        group: 'example.com',
        version: 'v1',
        kind: 'Gizmo',
        plural: 'gizmos',
        namespaced: false,
      },
      indexers: {},
    });
  });

  test('asks once for each group and version, also when asked by many at a time', async () => {
    const { transport, requests } = await live();
    const discovery = new Discovery(transport);
    await Promise.all(
      ['Deployment', 'StatefulSet', 'DaemonSet'].map((kind) =>
        discovery.resourceFor({ group: 'apps', kind }),
      ),
    );
    await discovery.resourceFor({ group: 'apps', version: 'v1', kind: 'ReplicaSet' });
    expect(lines(requests)).toEqual(['GET /apis/apps', 'GET /apis/apps/v1']);
  });

  test('of a kind in two versions prefers what the server prefers, and asks once for each', async () => {
    const { transport, requests } = await live();
    await define(transport, definition('gizmos', 'Gizmo', 'Namespaced', 'v1', 'v2'));
    const discovery = new Discovery(transport);
    const versionOf = async (version?: string) => {
      requests.length = 0;
      const kind = { group: 'example.com', kind: 'Gizmo', ...(version && { version }) };
      const found = await discovery.resourceFor(kind);
      return [found.version, ...lines(requests)];
    };
    expect(await versionOf('v1')).toEqual(['v1', 'GET /apis/example.com/v1']);
    const asked = ['GET /apis/example.com', 'GET /apis/example.com/v2'];
    expect(await versionOf()).toEqual(['v2', ...asked]);
    for (const version of ['v1', 'v2', undefined])
      expect(await versionOf(version)).toEqual([version ?? 'v2']);
  });

  test('finds a version that has come, and forgets one that is not served any more, once it asks again', async () => {
    const { client, transport } = await live();
    const first = definition('gizmos', 'Gizmo', 'Namespaced', 'v1');
    await define(transport, first);
    const discovery = new Discovery(transport);
    const gizmo = { group: 'example.com', kind: 'Gizmo' };
    expect((await discovery.resourceFor(gizmo)).version).toBe('v1');
    const Definitions = await discovery.resourceOf<typeof first>(first);
    const redefine = (second: string) => {
      const { spec } = definition('gizmos', 'Gizmo', 'Namespaced', 'v1', second);
      const patch = { type: 'merge', body: { spec } } as const;
      return client.patch(Definitions, { name: 'gizmos.example.com' }, patch);
    };
    await redefine('v2');
    expect(await discovery.resourceFor({ ...gizmo, version: 'v2' })).toMatchObject({
      version: 'v2',
      namespaced: true,
    });
    discovery.invalidate('example.com');
    expect((await discovery.resourceFor(gizmo)).version).toBe('v2');
    await redefine('(v2)');
    expect((await discovery.resourceFor(gizmo)).version).toBe('v2');
    const unknown = { group: 'example.com', version: 'v3', kind: 'Gizmo' };
    await expect(discovery.resourceFor(unknown)).rejects.toSatisfy(isNotFound);
    await expect(discovery.resourceFor({ ...gizmo, version: 'v2' })).rejects.toSatisfy(isNotFound);
    expect((await discovery.resourceFor(gizmo)).version).toBe('v1');
  });

  test('asks again for a kind that it does not have, as its definition may have come', async () => {
    const { transport, requests } = await live();
    await define(transport, definition('gizmos', 'Gizmo', 'Namespaced'));
    const discovery = new Discovery(transport);
    const gadget = { group: 'example.com', version: 'v1', kind: 'Gadget' };
    await expect(discovery.resourceFor(gadget)).rejects.toSatisfy(isNotFound);
    await discovery.resourceFor({ group: 'example.com', kind: 'Gizmo' });
    await define(transport, definition('gadgets', 'Gadget', 'Namespaced'));
    const found = { plural: 'gadgets', namespaced: true };
    expect(await discovery.resourceFor(gadget)).toMatchObject(found);
    const disc = { ...gadget, kind: 'Disc' };
    await define(transport, definition('discs', 'Disc', 'Cluster'));
    expect(await discovery.resourceFor(disc)).toMatchObject({ plural: 'discs', namespaced: false });
    requests.length = 0;
    discovery.invalidate();
    await discovery.resourceFor(gadget);
    expect(lines(requests)).toEqual(['GET /apis/example.com/v1']);
  });

  test('is not found for a kind, a version or a group that the server does not have', async () => {
    const { transport } = await live();
    for (const kind of [
      { group: '', kind: 'Nothing' },
      { group: 'apps', version: 'v9', kind: 'Deployment' },
      { group: 'no.such.group', kind: 'Deployment' },
    ])
      await expect(discover(transport, kind)).rejects.toSatisfy(isNotFound);
  });

  // Whose apiVersion it is, a tenant chose: "../api" went up in the path, over fetch and through
  // proxies, and gave the Secrets of the core group under a group that no list of refused ones has;
  // with "a/b" of v1 what was kept of it was given for v1 of "a/b" too.
  test.each([
    { group: '../api', version: 'v1', kind: 'Secret' },
    { group: '..', kind: 'Secret' },
    { group: 'apps/v1/namespaces/a', kind: 'Secret' },
    { group: '..%2fapi', version: 'v1', kind: 'Secret' },
    { group: 'apps', version: '../../api/v1', kind: 'Secret' },
    { group: '', version: '..', kind: 'Secret' },
  ])(
    'a kind whose group or version would leave its place in the path is refused, and nothing asked: %j',
    async (kind) => {
      const { transport, requests } = await live();
      await expect(discover(transport, kind)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
      expect(requests).toEqual([]);
    },
  );

  test('a group that has a query in it is asked for as it is', async () => {
    const { transport, requests } = await live();
    await expect(discover(transport, { group: 'apps?a=#b', kind: 'Secret' })).rejects.toSatisfy(
      isNotFound,
    );
    expect(lines(requests)).toEqual(['GET /apis/apps%3Fa%3D%23b']);
  });

  // That there is none was kept for each of them, and which they are may be a tenant's word: memory
  // grew with them, and the time of each question. Each was asked for twice, too, once anything was
  // kept.
  test('keeps nothing of groups that the server does not have', async () => {
    const { transport, requests } = await live();
    const discovery = new Discovery(transport);
    await discovery.resourceFor({ group: 'apps', kind: 'Deployment' });
    requests.length = 0;
    for (const version of [undefined, 'v1'])
      for (const group of ['a.example', 'b.example'])
        await expect(
          discovery.resourceFor({ group, kind: 'Gizmo', ...(version && { version }) }),
        ).rejects.toSatisfy(isNotFound);
    expect(lines(requests)).toEqual(
      ['a.example', 'b.example', 'a.example/v1', 'b.example/v1'].map((path) => `GET /apis/${path}`),
    );
    expect(discovery.size).toBe(2);
  });

  test('keeps no failure, and passes it on', async () => {
    const { transport } = await live();
    let failing = true;
    const discovery = new Discovery({
      request: (request) =>
        failing ? Promise.reject(new Error('down')) : transport.request(request),
    });
    const kind = { group: 'apps', kind: 'Deployment' };
    await expect(discovery.resourceFor(kind)).rejects.toThrow('down');
    failing = false;
    expect((await discovery.resourceFor(kind)).plural).toBe('deployments');
  });

  test('goes on for others where the signal of one call has fired', async () => {
    const { transport } = await live();
    const discovery = new Discovery(transport);
    const abort = new AbortController();
    const kind = { group: 'apps', kind: 'Deployment' };
    const first = discovery.resourceFor(kind, { signal: abort.signal });
    const second = discovery.resourceFor(kind);
    abort.abort();
    await expect(first).rejects.toMatchObject({ code: 'ABORTED' });
    expect((await second).plural).toBe('deployments');
  });

  // The second call waited for the first one's request with nothing to end it.
  test('ends with its signal also where it waits for what another call has asked', async () => {
    const { transport } = await live();
    const discovery = new Discovery({
      ...transport,
      request: () => new Promise<never>(() => undefined),
    });
    const abort = new AbortController();
    const kind = { group: 'apps', kind: 'Deployment' };
    void discovery.resourceFor(kind);
    const second = discovery.resourceFor(kind, { signal: abort.signal });
    abort.abort();
    await expect(second).rejects.toMatchObject({ code: 'ABORTED' });
  });

  // A garbage collector or a backup starts from these, and had to be told its kinds.
  test('gives all resources that have the verbs asked for, each in one version and as it is now', async () => {
    const { transport } = await live();
    const discovery = new Discovery(transport);
    const plurals = async (...verbs: string[]) => {
      const { resources, failed } = await discovery.resources({ verbs });
      expect(failed.size).toBe(0);
      return resources.map(({ group, version, plural }) => `${plural}.${version}.${group}`);
    };
    const all = await plurals();
    expect(all).toEqual(
      expect.arrayContaining(['configmaps.v1.', 'deployments.v1.apps', 'namespaces.v1.']),
    );
    expect(new Set(all).size).toBe(all.length);
    expect(all.filter((name) => name.includes('/'))).toEqual([]);
    await define(transport, definition('gizmos', 'Gizmo', 'Cluster'));
    expect((await plurals()).filter((name) => !all.includes(name))).toEqual([
      'gizmos.v1.example.com',
    ]);
    expect(await plurals('list', 'delete')).toContain('gizmos.v1.example.com');
    expect(await plurals('list', 'fly')).toEqual([]);
    const found = (await discovery.resources()).resources.find(({ kind }) => kind === 'Gizmo');
    expect(found).toEqual(await discovery.resourceFor({ group: 'example.com', kind: 'Gizmo' }));
  });

  /** Answers by path; what is not there is an aggregated API that is down. */
  const scripted = (answers: Record<string, object>) => ({
    request: async ({ path }: { path: string }) => {
      const body = answers[path] ?? {
        kind: 'Status',
        status: 'Failure',
        code: 503,
        reason: 'ServiceUnavailable',
      };
      const status = path in answers ? 200 : 503;
      return new Response(JSON.stringify(body), {
        status,
        headers: { 'content-type': 'application/json' },
      });
    },
  });

  test('gives the resources of other groups where one is down, and says which', async () => {
    const version = (name: string) => ({ groupVersion: `g/${name}`, version: name });
    const widget = { name: 'widgets', kind: 'Widget', namespaced: true, verbs: ['get', 'list'] };
    const answers: Record<string, object> = {
      '/apis': {
        groups: [
          { name: 'metrics.example', versions: [version('v1')], preferredVersion: version('v1') },
          {
            name: 'example.com',
            versions: [version('v1'), version('v2')],
            preferredVersion: version('v2'),
          },
        ],
      },
      '/api/v1': { resources: [{ name: 'pods', kind: 'Pod', namespaced: true, verbs: ['list'] }] },
      '/apis/example.com/v1': {
        resources: [
          { ...widget, verbs: ['get', 'list', 'delete'] },
          { ...widget, name: 'relics' }, // of the same kind
        ],
      },
      '/apis/example.com/v2': { resources: [widget, { ...widget, name: 'widgets/status' }] },
    };
    const discovery = new Discovery(scripted(answers) as never);
    const { resources, failed } = await discovery.resources({ verbs: ['list'] });
    const named = resources.map(({ group, version, plural }) => [group, version, plural]);
    expect(named).toEqual([
      ['', 'v1', 'pods'],
      ['example.com', 'v2', 'widgets'],
      ['example.com', 'v1', 'relics'],
    ]);
    expect([...failed]).toEqual([['metrics.example/v1', expect.objectContaining({ status: 503 })]]);
    const { resources: deletable } = await discovery.resources({ verbs: ['delete'] });
    expect(deletable, 'the preferred version counts, whose widgets cannot be deleted').toEqual([]);
    const abort = new AbortController();
    Object.defineProperty(answers, '/api/v1', { get: () => abort.abort() });
    const aborted = discovery.resources({ signal: abort.signal });
    await expect(aborted, 'and not all of them failed').rejects.toMatchObject({ code: 'ABORTED' });
    answers['/apis'] = {};
    await expect(discovery.resources()).rejects.toMatchObject({ code: 'DECODE' });
    delete answers['/apis'];
    await expect(discovery.resources()).rejects.toMatchObject({ status: 503 });
  });

  test('serves a client with objects whose kinds the program does not know', async () => {
    const { transport, client } = await live();
    await client.create(Widgets, widget('w', { size: 1 }));
    const discovery = new Discovery(transport);
    const object = {
      apiVersion: 'example.com/v1',
      kind: 'Widget',
      metadata: { name: 'w', namespace: 'default' },
    };
    const resource = await discovery.resourceOf<typeof object>(object);
    expect(await newClient({ transport }).get(resource, object.metadata)).toMatchObject({
      spec: { size: 1 },
    });
    expect(await discovery.isObjectNamespaced(object)).toBe(true);
    expect(await discovery.isObjectNamespaced({ apiVersion: 'v1', kind: 'Namespace' })).toBe(false);
  });

  test('refuses what names no kind', async () => {
    const { transport } = await live();
    const discovery = new Discovery(transport);
    for (const wrong of [{}, { group: 'apps' }, { group: 1, kind: 'A' }, null])
      await expect(discovery.resourceFor(wrong as never)).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      });
  });
});

test('a kind is told by a resource, or by an object that says it', () => {
  expect(groupVersionKindFor(ConfigMaps)).toEqual({ group: '', version: 'v1', kind: 'ConfigMap' });
  expect(groupVersionKindFor({ apiVersion: 'apps/v1', kind: 'Deployment' })).toEqual({
    group: 'apps',
    version: 'v1',
    kind: 'Deployment',
  });
  expect(groupVersionKindFor({ apiVersion: 'v1', kind: 'Pod' })).toEqual({
    group: '',
    version: 'v1',
    kind: 'Pod',
  });
  for (const wrong of [
    {},
    { kind: 'Pod' },
    { apiVersion: 'a/b/c', kind: 'Pod' },
    { apiVersion: '/v1', kind: 'Pod' },
  ])
    expect(() => groupVersionKindFor(wrong)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    );
  expect(isObjectNamespaced(ConfigMaps)).toBe(true);
  expect(isObjectNamespaced(Namespaces)).toBe(false);
});
