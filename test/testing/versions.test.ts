/**
 * A custom resource with several versions: one object under all of them. That a real server does so
 * is for test/e2e/same-answers.
 */
import { defineResource, ListWatch } from 'capstan/cache';
import { fakeClient } from 'capstan/testing';
import { expect, test } from 'vitest';
import { systemClock } from '../../bindings/base/clock.ts';
import {
  APPLY_PATCH,
  type ApiRequests,
  brief,
  soon,
  startApi,
} from '../helpers/server/requests.ts';

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const CRD = `${CRDS}/webs.example.com`;
const path = (version: string): string => `/apis/example.com/${version}/namespaces/default/webs`;
const text = { type: 'string' };

const properties: Record<string, object> = {
  v1: { both: text, one: { ...text, default: 'first' } },
  v2: { both: { ...text, maxLength: 3 }, two: text, deflt: { ...text, default: 'second' } },
};

const version = (name: string, more: object = {}): object => {
  const spec = { type: 'object', properties: properties[name] ?? {} };
  const schema = { openAPIV3Schema: { type: 'object', properties: { spec } } };
  return { name, served: true, storage: name === 'v1', schema, ...more };
};

const definition = (...versions: object[]): object => ({
  metadata: { name: 'webs.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'webs', kind: 'Web' },
    versions,
  },
});

const web = (version: string, name: string, spec: object = {}): object => ({
  ...{ apiVersion: `example.com/${version}`, kind: 'Web', metadata: { name }, spec },
});

async function withWebs(): Promise<ApiRequests> {
  const { api } = await startApi();
  await api.make(CRDS, definition(version('v1'), version('v2')));
  return api;
}

/** The whole of it but for its metadata. */
const shown = (object: object): object => ({ ...object, metadata: undefined });

// An object created as v1 was not found as v2, and a watch of v2 got no event of it.
test('an object is served in every version by its schema, to reads and watches', async () => {
  const api = await withWebs();
  const from = await api.version(path('v2'));
  const watches = await Promise.all(
    ['v1', 'v2'].map((each) => api.watch(path(each), { resourceVersion: from })),
  );
  const made = await api.make(path('v1'), web('v1', 'a', { both: 'x', one: '1' }));
  const { body } = await api.get(`${path('v2')}/a`);
  expect(shown(body)).toEqual({ apiVersion: 'example.com/v2', kind: 'Web', spec: { both: 'x' } });
  expect(body.metadata).toEqual(made.metadata);
  expect((await api.send('POST', path('v2'), { body: web('v2', 'a') })).status).toBe(409);
  // v1 is stored: it knows nothing of `two`, and the answer shows that.
  expect((await api.make(path('v2'), web('v2', 'b', { both: 'y', two: '2' }))).spec).toEqual({
    both: 'y',
  });
  expect(
    (await api.send('POST', path('v2'), { body: web('v2', 'c', { both: 'long' }) })).status,
  ).toBe(422);
  const lists = await Promise.all(
    ['v1', 'v2'].map(async (each) => (await api.get(path(each))).body.items.map(shown)),
  );
  expect(lists).toEqual([
    [web('v1', 'a', { both: 'x', one: '1' }), web('v1', 'b', { both: 'y', one: 'first' })].map(
      shown,
    ),
    [web('v2', 'a', { both: 'x' }), web('v2', 'b', { both: 'y' })].map(shown),
  ]);
  await api.delete(`${path('v2')}/a`);
  for (const [at, watch] of watches.entries()) {
    const events = await watch.take(3);
    expect(events.map(brief)).toEqual(['ADDED a', 'ADDED b', 'DELETED a']);
    expect(events.map(({ object }) => shown(object))).toEqual(
      [0, 1, 0].map((item) => (lists[at] as object[])[item] as object),
    );
  }
});

test('managers keep their version; an update that it cannot express drops them', async () => {
  const api = await withWebs();
  const apply = (each: string, manager: string, spec: object) =>
    api.send('PATCH', `${path(each)}/a`, {
      body: web(each, 'a', spec),
      query: { fieldManager: manager },
      type: APPLY_PATCH,
    });
  const managers = ({ metadata }: { metadata: object }): string[] | undefined =>
    (metadata as { managedFields?: { manager: string; apiVersion: string }[] }).managedFields?.map(
      ({ manager, apiVersion }) => `${manager} ${apiVersion}`,
    );
  await apply('v1', 'x', { both: 'd' });
  expect(managers((await apply('v2', 'y', { both: 'd' })).body)).toEqual([
    'y example.com/v2',
    'x example.com/v1',
  ]);
  const refused = (await apply('v2', 'z', { both: 'd', two: '2' })).body;
  expect([refused.code, refused.message]).toEqual([
    500,
    'failed to convert new object: .spec.two: field not declared in schema',
  ]);
  const { body } = await api.patch(`${path('v2')}/a`, { spec: { both: 'e' } });
  expect(managers(body)).toBeUndefined();
});

test('removing a version ends its watches, and the next write migrates an object', async () => {
  const api = await withWebs();
  await api.make(path('v1'), web('v1', 'a', { both: 'x' }));
  const watch = await api.watch(path('v1'), { resourceVersion: await api.version(path('v1')) });
  await api.patch(CRD, { spec: { versions: [version('v1', { served: false }), version('v2')] } });
  expect(await watch.rest()).toEqual({ events: [], error: undefined });
  expect([(await api.get(path('v1'))).status, (await api.get(path('v3'))).status]).toEqual([
    404, 404,
  ]);
  await api.patch(CRD, {
    spec: { versions: [version('v1', { storage: false }), version('v2', { storage: true })] },
  });
  // v1 went with what lay in it.
  const { status, body: refused } = await api.patch(CRD, {
    spec: { versions: [version('v2', { storage: true })] },
  });
  expect([status, refused.details.causes?.map(({ field }) => field)]).toEqual([
    422,
    ['status.storedVersions[0]'],
  ]);
  const { body: before } = await api.get(`${path('v2')}/a`);
  const { body: moved } = await api.put(`${path('v2')}/a`, before);
  expect(moved.metadata.resourceVersion).not.toBe(before.metadata.resourceVersion);
  const { body: again } = await api.put(`${path('v2')}/a`, moved);
  expect(again.metadata.resourceVersion).toBe(moved.metadata.resourceVersion);
  await api.patch(`${CRD}/status`, { status: { storedVersions: ['v2'] } });
  expect(
    (await api.patch(CRD, { spec: { versions: [version('v2', { storage: true })] } })).status,
  ).toBe(200);
});

// When v1 was no longer served, an informer of v1 reported each object as deleted, although all of
// them still existed as v2.
test('an informer loses a resource with its definition, not with one version', async () => {
  const { server, api } = await startApi();
  await api.make(CRDS, definition(version('v1'), version('v2')));
  const v1 = { group: 'example.com', version: 'v1', kind: 'Web', plural: 'webs', namespaced: true };
  const listWatch = new ListWatch(
    server.transport(),
    defineResource<{ metadata: { name: string } }>()(v1),
  );
  const caller = { clock: systemClock, signal: new AbortController().signal };
  const isGone = async () => {
    const refusal = await listWatch
      .list({ resourceVersion: '', limit: 0, continue: '' }, caller)
      .catch((error) => error);
    expect(refusal).toMatchObject({
      status: 404,
      message: expect.stringContaining('page not found'),
    });
    return listWatch.isGone(refusal, caller);
  };
  await api.patch(CRD, { spec: { versions: [version('v1', { served: false }), version('v2')] } });
  await soon(isGone).toBe(false);
  await api.delete(CRD);
  await soon(isGone).toBe(true);
});

test('versions without a definition share their objects and their deletion', async () => {
  const { server, api } = await startApi();
  await api.make(path('v1'), { ...web('v1', 'a'), kind: 'Network' });
  expect((await api.get(path('v2'))).body).toMatchObject({
    kind: 'NetworkList',
    items: [{ kind: 'Network' }],
  });
  const bringBack = server.removeResource({ group: 'example.com', version: 'v1', plural: 'webs' });
  expect((await api.get(path('v1'))).status).toBe(404);
  bringBack();
  expect((await api.get(path('v2'))).body.items).toEqual([]);
});

// The last one was taken without a word, and both versions showed it.
test('an object is not seeded under two versions at once', () => {
  const [v1, v2] = ['v1', 'v2'].map((each) =>
    defineResource<{ metadata: { name: string; namespace: string } }>()({
      ...{ group: 'example.com', version: each, kind: 'Web', plural: 'webs', namespaced: true },
    }),
  );
  const metadata = { name: 'a', namespace: 'default' };
  const objects = ['v1', 'v2'].map((each) => ({
    apiVersion: `example.com/${each}`,
    kind: 'Web',
    metadata,
  }));
  expect(() => fakeClient({ resources: [v1 as never, v2 as never], objects })).toThrow(
    'objects[1]: webs "default/a" already exists',
  );
});

// They stayed as they had been until they were written next, which then counted as a change of
// their spec. What the schema fills in and drops is stored by that write, as on a kube-apiserver
// whose definition changes, and is no other generation.
test('objects older than their definition are served by its schema', async () => {
  const { api } = await startApi();
  await api.make(path('v1'), web('v1', 'a', { both: 'x', stray: 1 }));
  await api.make(CRDS, definition(version('v1'), version('v2')));
  const { body } = await api.get(`${path('v1')}/a`);
  expect(body.spec).toEqual({ both: 'x', one: 'first' });
  const sent = await api.send('PUT', `${path('v1')}/a`, { body });
  const { resourceVersion, generation } = sent.body.metadata;
  expect([sent.body.spec, generation]).toEqual([body.spec, body.metadata.generation]);
  expect(resourceVersion).not.toBe(body.metadata.resourceVersion);
  const again = await api.send('PUT', `${path('v1')}/a`, { body: sent.body });
  expect(again.body.metadata.resourceVersion).toBe(resourceVersion);
});

// The default of the other version, which the object lacks there, counted as a change of its spec.
test('an apply in another version without a change of the spec keeps the generation', async () => {
  const api = await withWebs();
  const made = await api.make(path('v1'), web('v1', 'a', { both: 'x' }));
  const { status, body } = await api.send('PATCH', `${path('v2')}/a`, {
    body: web('v2', 'a', { both: 'x' }),
    type: APPLY_PATCH,
    query: { fieldManager: 'y' },
  });
  expect([status, body.metadata.generation]).toEqual([200, made.metadata.generation]);
});

// It was taken here and refused by every real server, which a test of installCRDs could not see.
test('a definition in a group of Kubernetes needs an approval annotation', async () => {
  const { api } = await startApi();
  const field = 'metadata.annotations[api-approved.kubernetes.io]';
  const why = 'protected groups must have approval annotation "api-approved.kubernetes.io"';
  const see = 'see https://github.com/kubernetes/enhancements/pull/1111';
  const answers = async (group: string, approval?: string): Promise<unknown> => {
    const annotations = approval === undefined ? {} : { 'api-approved.kubernetes.io': approval };
    const body = {
      metadata: { name: `webs.${group}`, annotations },
      spec: {
        group,
        scope: 'Namespaced',
        names: { plural: 'webs', kind: 'Web' },
        versions: [version('v1')],
      },
    };
    const answer = await api.send('POST', `${CRDS}?dryRun=All`, { body });
    return answer.status === 201
      ? 201
      : [answer.status, answer.body.message.split(' is invalid: ')[1]];
  };
  for (const group of ['k8s.io', 'x.k8s.io', 'kubernetes.io', 'x.kubernetes.io'])
    expect(await answers(group)).toEqual([422, `${field}: Required value: ${why}, ${see}`]);
  for (const group of ['example.com', 'xk8s.io', 'k8s.io.example.com'])
    expect(await answers(group)).toBe(201);
  for (const approval of ['unapproved, a trial', 'https://example.com/1'])
    expect(await answers('x.k8s.io', approval)).toBe(201);
  const wanted = `${why} with either a URL or a reason starting with "unapproved", ${see}`;
  expect(await answers('x.k8s.io', 'me')).toEqual([
    422,
    `${field}: Invalid value: "me": ${wanted}`,
  ]);
});

const withLists = (...types: ('set' | 'atomic')[]): object =>
  definition(
    ...types.map((type, at) => {
      const list = { type: 'array', items: text, 'x-kubernetes-list-type': type };
      const map = { type: 'object', additionalProperties: text };
      const labels = { ...map, 'x-kubernetes-map-type': type === 'set' ? 'granular' : 'atomic' };
      const spec = { type: 'object', properties: { list, labels } };
      const schema = { openAPIV3Schema: { type: 'object', properties: { spec } } };
      return { name: `v${at + 1}`, served: true, storage: at === 0, schema };
    }),
  );

/** What each manager owns of the spec. */
const specOwners = (object: object): Record<string, unknown> => {
  const { metadata } = object as {
    metadata: { managedFields: { manager: string; fieldsV1: { 'f:spec'?: object } }[] };
  };
  return Object.fromEntries(
    metadata.managedFields.map(({ manager, fieldsV1 }) => [manager, fieldsV1['f:spec']]),
  );
};

// The entries of all managers were compared by the types of the version of the write: the owner of
// an item of a set lost the list itself when a version with an atomic list replaced it.
test('fields of a manager are compared by the types of the version it wrote in', async () => {
  const { api } = await startApi();
  await api.make(CRDS, withLists('set', 'atomic'));
  await api.make(path('v1'), web('v1', 'a', { list: ['a', 'b'] }));
  const { body } = await api.send('PATCH', `${path('v2')}/a`, {
    body: { spec: { list: ['b', 'c'] } },
    type: 'application/merge-patch+json',
    query: { fieldManager: 'two' },
  });
  expect(specOwners(body)).toEqual({
    unknown: { '.': {}, 'f:list': { '.': {}, 'v:"b"': {} } },
    two: { 'f:list': {} },
  });
});

// A list that became atomic kept an owner for each of its items.
test('the owner of items owns the whole of a list or map that has become atomic', async () => {
  const { api } = await startApi();
  await api.make(CRDS, withLists('set'));
  await api.make(path('v1'), web('v1', 'a', { list: ['a', 'b'], labels: { k: 'v' } }));
  await api.send('PATCH', CRD, {
    body: withLists('atomic'),
    type: 'application/merge-patch+json',
  });
  const { body } = await api.send('PATCH', `${path('v1')}/a`, {
    body: { metadata: { labels: { a: 'b' } } },
    type: 'application/merge-patch+json',
    query: { fieldManager: 'two' },
  });
  expect(specOwners(body).unknown).toEqual({ '.': {}, 'f:labels': {}, 'f:list': {} });
});
