/**
 * From kinds to resources, by the server's discovery. controller-runtime:
 * pkg/client/apiutil/restmapper_test.go.
 */
import {
  Discovery,
  discover,
  groupVersionKindFor,
  isNoMatch,
  isNotFound,
  isObjectNamespaced,
  newClient,
} from 'capstan/client';
import { describe, expect, test } from 'vitest';
import { lines, live } from '../helpers/client/clients.ts';
import { ConfigMaps, Namespaces, Widgets, widget } from '../helpers/resources.ts';

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
/** A definition by its versions, the first one stored; those in brackets are not served. */
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
  test('finds the resource of core, built-in and custom kinds', async () => {
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

  test('sends one request per group and version, also for concurrent calls', async () => {
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

  test("prefers the server's preferred version of a kind", async () => {
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

  test('finds a new version, and forgets one that is not served, on the next request', async () => {
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

  test('asks again for an unknown kind, as its definition may exist now', async () => {
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

  test('rejects with NotFound for an unknown kind, version or group', async () => {
    const { transport } = await live();
    for (const kind of [
      { group: '', kind: 'Nothing' },
      { group: 'apps', version: 'v9', kind: 'Deployment' },
      { group: 'no.such.group', kind: 'Deployment' },
    ])
      await expect(discover(transport, kind)).rejects.toSatisfy(isNotFound);
  });

  // A tenant may choose the apiVersion: "../api" moved up in the path, over fetch and through
  // proxies, and returned Secrets of the core group under a group that no deny list has; with "a/b"
  // of v1 the record was returned for v1 of "a/b" too.
  test.each([
    { group: '../api', version: 'v1', kind: 'Secret' },
    { group: '..', kind: 'Secret' },
    { group: 'apps/v1/namespaces/a', kind: 'Secret' },
    { group: '..%2fapi', version: 'v1', kind: 'Secret' },
    { group: 'apps', version: '../../api/v1', kind: 'Secret' },
    { group: '', version: '..', kind: 'Secret' },
  ])('a group or version with a slash is rejected without a request: %j', async (kind) => {
    const { transport, requests } = await live();
    await expect(discover(transport, kind)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect(requests).toEqual([]);
  });

  test('a group with a query in it is escaped', async () => {
    const { transport, requests } = await live();
    await expect(discover(transport, { group: 'apps?a=#b', kind: 'Secret' })).rejects.toSatisfy(
      isNotFound,
    );
    expect(lines(requests)).toEqual(['GET /apis/apps%3Fa%3D%23b']);
  });

  // A record was kept of each unknown group, which a tenant may choose: memory grew, and the time
  // of each call. Each was requested twice once there was any record.
  test('keeps no record of groups that the server does not have', async () => {
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

  test('keeps no failure, and rejects with it', async () => {
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

  test('continues for other callers if the signal of one call fires', async () => {
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

  // The second call waited for the first one's request, and its signal did not end that.
  test('ends with its signal while it waits for the request of another call', async () => {
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

  // A garbage collector or a backup begins with all kinds, and had to be given them.
  test('lists all resources with the given verbs, each in one version', async () => {
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

  /** Answers by path; others are of an aggregated API that is down. */
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

  test('lists the resources of other groups if one is down, and names that', async () => {
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

  test('serves a client with objects of kinds that the program does not know', async () => {
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

  test('rejects an argument without a kind', async () => {
    const { transport } = await live();
    const discovery = new Discovery(transport);
    for (const wrong of [{}, { group: 'apps' }, { group: 1, kind: 'A' }, null])
      await expect(discovery.resourceFor(wrong as never)).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      });
  });
});

describe('the mapper between kinds and resources', () => {
  test('finds a resource by the names that people use', async () => {
    const { transport } = await live();
    await define(transport, definition('gizmos', 'Gizmo', 'Cluster', 'v1', 'v2'));
    const discovery = new Discovery(transport);
    const found = async (name: string) => {
      const { group, version, kind } = await discovery.resourceNamed(name);
      return `${group}/${version} ${kind}`;
    };
    for (const name of ['pods', 'po', 'pod', 'Pod', 'pods.v1'])
      expect(await found(name)).toBe('/v1 Pod');
    for (const name of ['deploy', 'deployments.apps', 'deployment.v1.apps', 'Deployment'])
      expect(await found(name)).toBe('apps/v1 Deployment');
    expect(await found('events')).toBe('/v1 Event');
    expect(await found('events.events.k8s.io')).toBe('events.k8s.io/v1 Event');
    expect(await found('gizmo')).toMatch(/^example.com\/v[12] Gizmo$/);
    expect(await found('gizmos.v2.example.com')).toBe('example.com/v2 Gizmo');
    expect(await found('gizmos.v1.example.com')).toBe('example.com/v1 Gizmo');
  });

  test('finds the kind of a resource', async () => {
    const { transport } = await live();
    const discovery = new Discovery(transport);
    const apps = { group: 'apps', version: 'v1', kind: 'Deployment' };
    expect(await discovery.kindFor({ group: 'apps', plural: 'deployments' })).toEqual(apps);
    expect(await discovery.kindFor({ group: '', version: 'v1', plural: 'pods' })).toEqual({
      ...{ group: '', version: 'v1', kind: 'Pod' },
    });
  });

  test('keeps its answers, and asks again for what they do not have', async () => {
    const { transport, requests } = await live();
    const discovery = new Discovery(transport);
    await discovery.resourceNamed('deploy');
    const asked = requests.length;
    await discovery.resourceNamed('deploy');
    await discovery.kindFor({ group: 'apps', plural: 'deployments' });
    expect(requests).toHaveLength(asked);
    await expect(discovery.resourceNamed('gizmos')).rejects.toSatisfy(isNoMatch);
    await define(transport, definition('gizmos', 'Gizmo', 'Cluster'));
    expect((await discovery.resourceNamed('gizmos')).kind).toBe('Gizmo');
    const kind = await discovery.kindFor({ group: 'example.com', plural: 'gizmos' });
    expect(kind.version).toBe('v1');
  });

  test('isNoMatch tells a kind that is not served from an object that is not there', async () => {
    const { transport } = await live();
    const client = newClient({ transport });
    const discovery = new Discovery(transport);
    const calls: (() => Promise<unknown>)[] = [
      () => discovery.resourceFor({ group: '', kind: 'Nothing' }),
      () => discovery.resourceNamed('nothing'),
      () => discovery.resourceNamed('nothing.v1.apps'),
      () => discovery.kindFor({ group: 'apps', plural: 'nothings' }),
      () => discovery.kindFor({ group: 'none.example.com', version: 'v1', plural: 'nothings' }),
      () => client.list({ ...ConfigMaps, plural: 'nothings' }),
    ];
    for (const call of calls)
      await expect(call()).rejects.toSatisfy((error) => isNoMatch(error) && isNotFound(error));
    const gone = client.get(ConfigMaps, { namespace: 'default', name: 'gone' });
    await expect(gone).rejects.toSatisfy((error) => isNotFound(error) && !isNoMatch(error));
    expect([undefined, new Error('no'), { status: 404 }].some(isNoMatch)).toBe(false);
  });

  test('refuses what is no name', async () => {
    const { transport, requests } = await live();
    const discovery = new Discovery(transport);
    for (const name of ['', 'a/b', '..', 'pods.', 'pods..v1', 3])
      await expect(discovery.resourceNamed(name as string)).rejects.toThrow('such as "pods"');
    for (const resource of [{}, { group: '' }, { group: '', plural: '' }, { plural: 'pods' }])
      await expect(discovery.kindFor(resource as never)).rejects.toThrow('"resource.');
    await expect(
      discovery.kindFor({ group: '../api', version: 'v1', plural: 'secrets' }),
    ).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect(requests).toEqual([]);
  });
});

test('accepts a resource, or an object with apiVersion and kind', () => {
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
