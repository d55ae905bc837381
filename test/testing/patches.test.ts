import { describe, expect, test } from 'vitest';
import {
  CONFIG_MAPS,
  configMapBody,
  JSON_PATCH,
  MERGE_PATCH,
  STRATEGIC,
  startApi,
  WIDGETS,
  WORKLOAD,
  widgetBody,
} from '../helpers/server/requests.ts';

// Answers of kube-apiserver 1.36. Built-in kinds took it, which hid patches that a real server
// refuses.
describe('a patch that takes the apiVersion away', () => {
  const patches: [type: string, patch: unknown][] = [
    [MERGE_PATCH, { apiVersion: null }],
    [MERGE_PATCH, { apiVersion: '' }],
    [MERGE_PATCH, { kind: null, apiVersion: null }],
    [JSON_PATCH, [{ op: 'remove', path: '/apiVersion' }]],
  ];

  test.each(patches)('is refused for a built-in kind: %s %j', async (type, patch) => {
    const { api } = await startApi();
    await api.make(CONFIG_MAPS, configMapBody('a'));
    expect(await api.patch(`${CONFIG_MAPS}/a`, patch, type)).toMatchObject({
      status: 400,
      body: {
        reason: 'BadRequest',
        message:
          'the name of the object (a based on URL) was undeterminable: name must be provided',
      },
    });
  });

  test.each(patches)('is refused for a custom kind: %s %j', async (type, patch) => {
    const { api } = await startApi();
    await api.make(WIDGETS, widgetBody('a'));
    const { kind } = patch as { kind?: null };
    expect(await api.patch(`${WIDGETS}/a`, patch, type)).toMatchObject(
      kind === null
        ? { status: 422, body: { reason: 'Invalid' } }
        : {
            status: 500,
            body: {
              reason: 'InternalError',
              message:
                "Internal error occurred: Object 'apiVersion' is missing in 'object has no " +
                "apiVersion field'",
            },
          },
    );
  });

  test.each([
    [MERGE_PATCH, { kind: null }],
    [MERGE_PATCH, { kind: '' }],
    [STRATEGIC, { kind: null, apiVersion: null }],
    [JSON_PATCH, [{ op: 'replace', path: '/kind', value: null }]],
  ])(
    'but not the kind alone of a built-in kind, nor a strategic one: %s %j',
    async (type, patch) => {
      const { api } = await startApi();
      await api.make(CONFIG_MAPS, configMapBody('a'));
      expect(await api.patch(`${CONFIG_MAPS}/a`, patch, type)).toMatchObject({
        status: 200,
        body: { kind: 'ConfigMap', apiVersion: 'v1' },
      });
    },
  );
});

describe('patch', () => {
  test('merges objects, replaces lists and drops what is null', async () => {
    const { api } = await startApi();
    await api.make(
      WIDGETS,
      widgetBody('a', { spec: { keep: 1, list: [1, 2], drop: 'x', deep: { a: 1, b: 2 } } }),
    );
    const { body } = await api.patch(`${WIDGETS}/a`, {
      spec: { list: [3], drop: null, deep: { b: null, c: 3 }, fresh: { n: null, m: 1 } },
    });
    expect(body.spec).toEqual({ keep: 1, list: [3], deep: { a: 1, c: 3 }, fresh: { m: 1 } });
  });

  // The nulls were stored.
  test('drops null members of objects in an added list, but not null items', async () => {
    const { api } = await startApi();
    await api.make(WIDGETS, widgetBody('a', { spec: { list: [1], map: { a: 1 } } }));
    const list = [{ k: null, l: 1 }, null];
    const { body } = await api.patch(`${WIDGETS}/a`, { spec: { list, fresh: list, map: list } });
    // In place of an object the library that the real server uses takes it as it is.
    expect(body.spec).toEqual({ list: [{ l: 1 }, null], fresh: [{ l: 1 }, null], map: list });
  });

  test.for<[what: string, operations: unknown[], spec: unknown]>([
    [
      'adds members and list items',
      [
        { op: 'add', path: '/spec/b', value: 2 },
        { op: 'add', path: '/spec/l/1', value: 'x' },
        { op: 'add', path: '/spec/l/-', value: 'y' },
      ],
      { a: 1, b: 2, l: [1, 'x', 2, 'y'] },
    ],
    [
      'removes',
      [
        { op: 'remove', path: '/spec/l/0' },
        { op: 'remove', path: '/spec/a' },
      ],
      { l: [2] },
    ],
    [
      'replaces',
      [{ op: 'replace', path: '/spec/l/1', value: { n: null } }],
      { a: 1, l: [1, { n: null }] },
    ],
    ['moves', [{ op: 'move', from: '/spec/l/0', path: '/spec/first' }], { a: 1, l: [2], first: 1 }],
    ['copies', [{ op: 'copy', from: '/spec/l', path: '/spec/m' }], { a: 1, l: [1, 2], m: [1, 2] }],
    [
      'tests and goes on',
      [
        { op: 'test', path: '/spec/l', value: [1, 2] },
        { op: 'replace', path: '/spec/a', value: 2 },
      ],
      { a: 2, l: [1, 2] },
    ],
    [
      'unescapes its paths',
      [{ op: 'add', path: '/spec/x~1y~0z', value: 1 }],
      { a: 1, l: [1, 2], 'x/y~z': 1 },
    ],
  ])('by JSON patch %s', async ([, operations, spec]) => {
    const { api } = await startApi();
    await api.make(WIDGETS, widgetBody('a', { spec: { a: 1, l: [1, 2] } }));
    const { status, body } = await api.patch(`${WIDGETS}/a`, operations, JSON_PATCH);
    expect({ status, spec: body.spec }).toEqual({ status: 200, spec });
  });

  test.for<[what: string, type: string, patch: unknown, status: number]>([
    [
      'a failed test',
      JSON_PATCH,
      [
        { op: 'add', path: '/spec/b', value: 1 },
        { op: 'test', path: '/spec/a', value: 2 },
      ],
      422,
    ],
    ['a member that is not there', JSON_PATCH, [{ op: 'remove', path: '/spec/none' }], 422],
    ['an index out of bounds', JSON_PATCH, [{ op: 'add', path: '/spec/l/7', value: 1 }], 422],
    // The library that the real server uses compares bytes, and Go escapes what HTML would read.
    [
      'a test of what Go escapes',
      JSON_PATCH,
      [{ op: 'test', path: '/spec/url', value: 'x?a=1&b' }],
      422,
    ],
    ['a copy of the whole', JSON_PATCH, [{ op: 'copy', from: '', path: '/spec/b' }], 422],
    ['metadata that are none', MERGE_PATCH, { metadata: 'x' }, 422],
    ['labels of numbers', MERGE_PATCH, { metadata: { labels: { a: 1 } } }, 422],
    // They were 400: what a patch leads to is refused as the patch's doing, and not as what was
    // sent.
    ['no kind', MERGE_PATCH, { kind: null }, 422],
    ['another version', MERGE_PATCH, { apiVersion: 'other/v1' }, 422],
    ['another whole', JSON_PATCH, [{ op: 'replace', path: '', value: {} }], 422],
    ['an addition of the whole', JSON_PATCH, [{ op: 'add', path: '', value: {} }], 422],
    ['an operation that is none', JSON_PATCH, [{ op: 'add', path: '/spec/b', value: 1 }, 1], 400],
    ['a path that is no text', JSON_PATCH, [{ op: 'add', path: 1, value: 1 }], 400],
    ['an unknown operation', JSON_PATCH, [{ op: 'increase', path: '/spec/a' }], 422],
    ['a path without a slash', JSON_PATCH, [{ op: 'remove', path: 'spec' }], 422],
    ['an object for a list', JSON_PATCH, { op: 'remove' }, 400],
    ['a list for an object', 'application/merge-patch+json', [1], 400],
    ['no JSON', 'application/merge-patch+json', 'nojson', 400],
    ['a strategic merge patch', 'application/strategic-merge-patch+json', {}, 415],
    ['an apply patch of nobody', 'application/apply-patch+yaml', {}, 422],
    ['another name', 'application/merge-patch+json', { metadata: { name: 'b' } }, 400],
    ['another kind', 'application/merge-patch+json', { kind: 'Other' }, 422],
    ['another uid', 'application/merge-patch+json', { metadata: { uid: 'x' } }, 422],
    [
      'a stale version',
      'application/merge-patch+json',
      { metadata: { resourceVersion: '0000001' } },
      409,
    ],
  ])('with %s is refused and changes nothing', async ([, type, patch, status]) => {
    const { api } = await startApi();
    await api.make(CONFIG_MAPS, configMapBody('x'));
    const made = await api.make(
      WIDGETS,
      widgetBody('a', { spec: { a: 1, l: [1], url: 'x?a=1&b' } }),
    );
    expect((await api.patch(`${WIDGETS}/a`, patch, type)).status).toBe(status);
    expect((await api.get(`${WIDGETS}/a`)).body).toEqual(made);
  });
});

// Go reads no operations and no members from a null; they were 400.
test('a JSON patch or strategic merge patch of null is one of nothing', async () => {
  const { api } = await startApi();
  const made = await api.make(CONFIG_MAPS, configMapBody('a'));
  for (const type of [JSON_PATCH, STRATEGIC])
    expect(await api.patch(`${CONFIG_MAPS}/a`, null, type)).toMatchObject({
      status: 200,
      body: made,
    });
});

// A merge or JSON patch was 400, and so was a strategic one, which the real server takes without
// what it says there.
test('a built-in object keeps its kind and version', async () => {
  const { api } = await startApi();
  const made = await api.make(CONFIG_MAPS, configMapBody('a'));
  const statuses: number[] = [];
  for (const patch of [{ kind: 'Other' }, { kind: 'Pod' }, { apiVersion: 'v9' }])
    for (const type of [MERGE_PATCH, STRATEGIC])
      statuses.push((await api.patch(`${CONFIG_MAPS}/a`, patch, type)).status);
  expect(statuses).toEqual([422, 200, 422, 200, 422, 200]);
  expect((await api.get(`${CONFIG_MAPS}/a`)).body).toEqual(made);
});

test('the generation of a Deployment counts its spec alone, a ConfigMap has none', async () => {
  const { api } = await startApi();
  const deployments = '/apis/apps/v1/namespaces/default/deployments';
  await api.make(deployments, { metadata: { name: 'a' }, spec: { ...WORKLOAD, replicas: 1 } });
  const generations: (number | undefined)[] = [];
  for (const patch of [
    { metadata: { labels: { a: 'b' } } },
    { other: 1 },
    { spec: { replicas: 2 } },
    { spec: {} },
  ]) {
    generations.push((await api.patch(`${deployments}/a`, patch)).body.metadata.generation);
  }
  expect(generations).toEqual([1, 1, 2, 2]);
  await api.make(CONFIG_MAPS, configMapBody('a'));
  expect(
    (await api.patch(`${CONFIG_MAPS}/a`, { data: { k: 'v' } })).body.metadata.generation,
  ).toBeUndefined();
});

describe('status', () => {
  test('of a custom resource is written at its own path, and nothing else is', async () => {
    const { api } = await startApi();
    const made = await api.make(WIDGETS, widgetBody('a', { spec: { x: 1 } }));
    const written = await api.put(`${WIDGETS}/a/status`, {
      ...made,
      metadata: { ...made.metadata, labels: { no: '1' } },
      spec: { x: 2 },
      status: { ready: 1 },
    });
    expect(written.status).toBe(200);
    expect(written.body).toMatchObject({
      spec: { x: 1 },
      status: { ready: 1 },
      metadata: { generation: 1 },
    });
    expect(written.body.metadata.labels).toBeUndefined();
    const patched = await api.patch(`${WIDGETS}/a`, { spec: { x: 3 }, status: { ready: 0 } });
    expect(patched.body).toMatchObject({
      spec: { x: 3 },
      status: { ready: 1 },
      metadata: { generation: 2 },
    });
    expect((await api.get(`${WIDGETS}/a/status`)).body).toEqual(patched.body);
    expect((await api.put(`${WIDGETS}/a/status`, made)).status).toBe(409);
  });

  test('exists where the real kind has one, and is a path to nowhere elsewhere', async () => {
    const { api } = await startApi();
    const deployments = '/apis/apps/v1/namespaces/default/deployments';
    await api.make(deployments, {
      metadata: { name: 'a' },
      spec: WORKLOAD,
      status: { replicas: 5 },
    });
    const { body } = await api.patch(`${deployments}/a/status`, { status: { replicas: 1 } });
    expect(body.status).toEqual({ replicas: 1 });
    await api.make(CONFIG_MAPS, configMapBody('a'));
    expect((await api.get(`${CONFIG_MAPS}/a/status`)).status).toBe(404);
  });

  test('is part of the object when its CustomResourceDefinition says so', async () => {
    const { api } = await startApi();
    const schema = {
      openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    };
    const version = { name: 'v1', served: true, storage: true, schema };
    const names = {
      plural: 'gadgets',
      kind: 'GadgetThing',
      listKind: 'Gadgets',
      shortNames: ['gg'],
    };
    const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    await api.make(crds, {
      metadata: { name: 'gadgets.example.com' },
      spec: { group: 'example.com', scope: 'Cluster', names, versions: [version] },
    });
    expect((await api.get(`${crds}/gadgets.example.com`)).body.status).toMatchObject({
      conditions: [{ type: 'NamesAccepted' }, { type: 'Established', status: 'True' }],
    });
    const path = '/apis/example.com/v1/gadgets';
    expect((await api.get(path)).body.kind).toBe('Gadgets');
    const made = await api.make(path, {
      apiVersion: 'example.com/v1',
      kind: 'GadgetThing',
      metadata: { name: 'a' },
      status: { x: 1 },
    });
    expect(made.status).toEqual({ x: 1 });
    expect((await api.get(`${path}/a/status`)).status).toBe(404);
    expect((await api.get('/apis/example.com/v1/namespaces/default/gadgets')).status).toBe(404);
  });
});

// The words of the JSON decoder were said, which a strategic merge does not come through.
test.for([
  [CONFIG_MAPS, { data: { n: 1 } }, 'cannot convert int64 to string'],
  [CONFIG_MAPS, { data: 'x' }, 'cannot restore map from string'],
  [CONFIG_MAPS, { immutable: 'x' }, 'unrecognized type: bool'],
] as const)(
  'a strategic merge that leads to another type at %s: %j',
  async ([path, patch, why]) => {
    const { api } = await startApi();
    await api.make(path, configMapBody('a'));
    const { status, body } = await api.patch(`${path}/a`, patch, STRATEGIC);
    expect([status, body.message]).toEqual([422, expect.stringContaining(why)]);
  },
);
