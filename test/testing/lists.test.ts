import { describe, expect, test } from 'vitest';
import {
  type ApiObject,
  type ApiRequests,
  CONFIG_MAPS,
  configMapBody,
  MERGE_PATCH,
  POD_SPEC,
  startApi,
  WIDGETS,
  widgetBody,
} from '../helpers/server/requests.ts';

const names = (list: ApiObject): string[] => list.items.map((item) => item.metadata.name);

async function fill(api: ApiRequests, path: string, count: number): Promise<void> {
  for (let at = 0; at < count; at++) {
    await api.make(path, {
      apiVersion: 'example.com/v1',
      kind: 'Widget',
      metadata: { name: `w${at}`, labels: { n: String(at) } },
    });
  }
}

test('a list is ordered by namespace and name, at the version of the last write', async () => {
  const { api } = await startApi();
  for (const [namespace, name] of [
    ['b', 'z'],
    ['a-b', 'y'],
    ['a', 'x'],
    ['b', 'a.c'],
    ['b', 'a-c'],
    ['b', 'a'],
  ]) {
    await api.make(`/api/v1/namespaces/${namespace}/configmaps`, configMapBody(name!));
  }
  const last = await api.make('/api/v1/namespaces/b/secrets', { metadata: { name: 's' } });
  const { body } = await api.get('/api/v1/configmaps');
  const keys = body.items.map(({ metadata: { namespace, name } }) => `${namespace}/${name}`);
  expect(keys.filter((key) => !key.startsWith('kube-'))).toEqual(
    // '-' and '.' come before '/': the order of etcd's keys
    ['a-b/y', 'a/x', 'b/a', 'b/a-c', 'b/a.c', 'b/z'],
  );
  expect(body.metadata.resourceVersion).toBe(last.metadata.resourceVersion);
  expect(names((await api.get('/api/v1/namespaces/a/configmaps')).body)).toEqual(['x']);
});

test('items of built-in kinds have no kind, those of custom kinds have one', async () => {
  const { api } = await startApi();
  await api.make(CONFIG_MAPS, configMapBody('a'));
  await api.make(WIDGETS, widgetBody('a'));
  const builtIn = (await api.get(CONFIG_MAPS)).body;
  expect(Object.keys(builtIn)).toEqual(['kind', 'apiVersion', 'metadata', 'items']);
  expect(builtIn.kind).toBe('ConfigMapList');
  expect(Object.keys(builtIn.items[0]!)).toEqual(['metadata']);
  const custom = (await api.get(WIDGETS)).body;
  expect(Object.keys(custom)).toEqual(['apiVersion', 'items', 'kind', 'metadata']);
  expect(custom.kind).toBe('WidgetList');
  expect(custom.items[0]).toMatchObject({ apiVersion: 'example.com/v1', kind: 'Widget' });
});

test('metadata alone can be asked for, singly, in lists and in watches', async () => {
  const { api } = await startApi();
  const made = await api.make(WIDGETS, widgetBody('a', { spec: { x: 1 } }));
  const { metadata } = made;
  const as = (what: string): string =>
    `application/json;as=${what};g=meta.k8s.io;v=v1,application/json`;
  const accept = as('PartialObjectMetadata');
  const partial = { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata };
  expect(
    (await api.send('GET', WIDGETS, { headers: { accept: as('PartialObjectMetadataList') } })).body,
  ).toEqual({
    kind: 'PartialObjectMetadataList',
    apiVersion: 'meta.k8s.io/v1',
    metadata: { resourceVersion: metadata.resourceVersion },
    items: [partial],
  });
  expect((await api.send('GET', `${WIDGETS}/a`, { headers: { accept } })).body).toEqual(partial);
  const watch = await api.watch(WIDGETS, {}, { accept });
  const whole = await api.watch(WIDGETS);
  await api.delete(`${WIDGETS}/a`);
  const [added, gone] = await watch.take(2);
  expect(added).toEqual({ type: 'ADDED', object: partial });
  expect(gone).toMatchObject({
    type: 'DELETED',
    object: { kind: 'PartialObjectMetadata', metadata: { name: 'a' } },
  });
  expect(gone!.object.spec).toBeUndefined();
  expect((await whole.take(2))[1]!.object).toMatchObject({ kind: 'Widget', spec: { x: 1 } });
});

// Writes answered with the whole object.
test('metadata alone answers writes too; an unknown form is refused after the write', async () => {
  const { api } = await startApi();
  const as = (what: string) => ({ accept: `application/json;as=${what};g=meta.k8s.io;v=v1` });
  const one = as('PartialObjectMetadata');
  const many = as('PartialObjectMetadataList');
  const path = `${WIDGETS}/a`;
  const made = await api.send('POST', WIDGETS, {
    body: widgetBody('a', { spec: { x: 1 } }),
    headers: one,
  });
  const { metadata } = made.body;
  expect(made).toMatchObject({
    status: 201,
    body: { kind: 'PartialObjectMetadata', metadata: { name: 'a' } },
  });
  for (const [method, body] of [
    ['PUT', { ...widgetBody('a', { spec: { x: 2 } }), metadata }],
    ['PATCH', { spec: { x: 3 } }],
  ] as const) {
    const answer = await api.send(method, path, {
      body,
      headers: one,
      ...(method === 'PATCH' ? { type: MERGE_PATCH } : {}),
    });
    expect(Object.keys(answer.body)).toEqual(['kind', 'apiVersion', 'metadata']);
  }
  const refused = await api.send('PATCH', path, {
    body: { spec: { x: 4 } },
    type: MERGE_PATCH,
    headers: many,
  });
  expect(refused.status).toBe(500);
  expect((await api.get(path)).body.spec).toEqual({ x: 4 });
  expect((await api.send('DELETE', path, { headers: many })).body).toMatchObject({
    kind: 'Status',
    status: 'Success',
  });
});

test('an empty list has a kind and a version to watch from', async () => {
  const { api } = await startApi();
  const { status, body } = await api.get('/apis/example.com/v1/policies');
  expect(status).toBe(200);
  expect(body).toMatchObject({
    kind: 'PolicyList',
    items: [],
    metadata: { resourceVersion: expect.stringMatching(/^[1-9]/) },
  });
});

describe('pages', () => {
  test('follow each other, say what remains, and show the state of the first one', async () => {
    const { api } = await startApi();
    await fill(api, WIDGETS, 7);
    const first = (await api.get(WIDGETS, { limit: '3' })).body;
    expect(names(first)).toEqual(['w0', 'w1', 'w2']);
    expect(first.metadata.remainingItemCount).toBe(4);
    await api.delete(`${WIDGETS}/w3`);
    await api.patch(`${WIDGETS}/w4`, { metadata: { labels: { n: 'changed' } } });
    await api.make(WIDGETS, widgetBody('w55'));
    await api.delete(`${WIDGETS}/w6`);
    await api.make(WIDGETS, widgetBody('w6'));
    const second = (await api.get(WIDGETS, { limit: '3', continue: first.metadata.continue! }))
      .body;
    expect(names(second)).toEqual(['w3', 'w4', 'w5']);
    expect(second.items[1]!.metadata.labels).toEqual({ n: '4' });
    expect(second.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
    const third = (await api.get(WIDGETS, { limit: '3', continue: second.metadata.continue! }))
      .body;
    expect(names(third)).toEqual(['w6']);
    expect(third.items[0]!.metadata.labels).toEqual({ n: '6' });
    expect(third.metadata.continue).toBe('');
  });

  test('hold what the selectors choose, and then do not say what remains', async () => {
    const { api } = await startApi();
    await fill(api, WIDGETS, 6);
    const query = { limit: '2', labelSelector: 'n notin (0,3)' };
    const first = (await api.get(WIDGETS, query)).body;
    expect(names(first)).toEqual(['w1', 'w2']);
    expect(first.metadata.remainingItemCount).toBeUndefined();
    expect(
      names((await api.get(WIDGETS, { ...query, continue: first.metadata.continue! })).body),
    ).toEqual(['w4', 'w5']);
  });

  test('may be followed by an empty one when nothing of what remains matches', async () => {
    const { api } = await startApi();
    await fill(api, WIDGETS, 3);
    const query = { limit: '1', labelSelector: 'n=1' };
    const first = (await api.get(WIDGETS, query)).body;
    expect(names(first)).toEqual(['w1']);
    const second = (await api.get(WIDGETS, { ...query, continue: first.metadata.continue! })).body;
    expect(second).toMatchObject({ items: [], metadata: { continue: '' } });
  });

  test('with an expired version get 410 and a token for an inconsistent continuation', async () => {
    const { api, server } = await startApi();
    await fill(api, WIDGETS, 4);
    const first = (await api.get(WIDGETS, { limit: '2' })).body;
    server.expireHistory();
    const expired = await api.get(WIDGETS, { limit: '2', continue: first.metadata.continue! });
    expect(expired).toMatchObject({ status: 410, body: { reason: 'Expired', code: 410 } });
    expect(expired.body.message).toMatch(
      /^The provided continue parameter is too old to display a consistent list/,
    );
    await api.make(WIDGETS, widgetBody('w22'));
    const rest = (await api.get(WIDGETS, { limit: '2', continue: expired.body.metadata.continue! }))
      .body;
    expect(names(rest)).toEqual(['w2', 'w22']);
    expect(BigInt(rest.metadata.resourceVersion)).toBeGreaterThan(
      BigInt(first.metadata.resourceVersion),
    );
  });

  test('expire when as many events as the history holds have happened', async () => {
    const { api } = await startApi({ historySize: 3 });
    await fill(api, WIDGETS, 4);
    const first = (await api.get(WIDGETS, { limit: '2' })).body;
    const next = { limit: '1', continue: first.metadata.continue! };
    for (let at = 0; at < 3; at++) {
      await api.patch(`${WIDGETS}/w3`, { spec: { at } });
      expect((await api.get(WIDGETS, next)).status).toBe(200);
    }
    await api.patch(`${WIDGETS}/w3`, { spec: { at: 3 } });
    expect((await api.get(WIDGETS, next)).status).toBe(410);
  });

  test.for([
    ['not base64', { continue: '!' }],
    ['not JSON', { continue: 'garbage' }],
    ['of another format', { continue: Buffer.from('{"v":"v0"}').toString('base64url') }],
    [
      'together with a version',
      {
        continue: Buffer.from('{"v":"meta.k8s.io/v1","rv":1,"start":"/a"}').toString('base64url'),
        resourceVersion: '1',
      },
    ],
  ] as const)('with a token that is %s are a bad request', async ([, query]) => {
    const { api } = await startApi();
    await fill(api, WIDGETS, 2);
    expect(await api.get(WIDGETS, query)).toMatchObject({
      status: 400,
      body: { reason: 'BadRequest' },
    });
  });
});

describe('a list at a version', () => {
  test('0: any; another: not older, or exact with a limit or on request', async () => {
    const { api } = await startApi();
    await fill(api, WIDGETS, 2);
    const at = await api.version(WIDGETS);
    await fill(api, '/apis/example.com/v1/namespaces/other/widgets', 1);
    await api.make(WIDGETS, widgetBody('w2'));
    expect(names((await api.get(WIDGETS, { resourceVersion: '0', limit: '1' })).body)).toEqual([
      'w0',
      'w1',
      'w2',
    ]);
    expect(names((await api.get(WIDGETS, { resourceVersion: at })).body)).toEqual([
      'w0',
      'w1',
      'w2',
    ]);
    expect(
      names((await api.get(WIDGETS, { resourceVersion: at, resourceVersionMatch: 'Exact' })).body),
    ).toEqual(['w0', 'w1']);
    const limited = (await api.get(WIDGETS, { resourceVersion: at, limit: '1' })).body;
    expect(limited.metadata).toMatchObject({ resourceVersion: at, remainingItemCount: 1 });
  });

  test('in the future is answered with 504 and Retry-After', async () => {
    const { api } = await startApi({ freshnessTimeout: 0 });
    const answer = await api.get(WIDGETS, { resourceVersion: '1000' });
    expect(answer).toMatchObject({
      status: 504,
      body: { reason: 'Timeout', details: { causes: [{ reason: 'ResourceVersionTooLarge' }] } },
    });
    expect(answer.header('retry-after')).toBe('1');
    expect((await api.get(`${WIDGETS}/a`, { resourceVersion: '1000' })).status).toBe(504);
  });

  test('before the history is answered with 410 when requested exactly', async () => {
    const { api, server } = await startApi();
    await fill(api, WIDGETS, 1);
    const resourceVersion = await api.version(WIDGETS);
    server.expireHistory();
    expect(
      (await api.get(WIDGETS, { resourceVersion, resourceVersionMatch: 'Exact' })).status,
    ).toBe(410);
    expect(
      (await api.get(WIDGETS, { resourceVersion, resourceVersionMatch: 'NotOlderThan' })).status,
    ).toBe(200);
  });

  test.for([
    { resourceVersion: 'x' },
    { limit: 'x' },
    { timeoutSeconds: 'x' },
    { resourceVersionMatch: 'Exact' },
    { resourceVersion: '1', resourceVersionMatch: 'Newest' },
  ])('or with options %o is refused', async (query) => {
    const { api } = await startApi();
    expect(
      (await api.get(WIDGETS, query as unknown as Record<string, string>)).body.reason,
    ).toMatch(/^(BadRequest|Invalid)$/);
  });
});

describe('a label selector', () => {
  test.for<[selector: string, chosen: string[]]>([
    ['', ['a', 'b', 'c', 'd']],
    ['app=x', ['a', 'b']],
    ['app==x', ['a', 'b']],
    ['app = x , tier = web', ['a']],
    ['app!=x', ['c', 'd']],
    ['app', ['a', 'b', 'c']],
    ['!app', ['d']],
    ['! app', ['d']],
    ['app in (x,y),tier', ['a', 'c']],
    ['app in (y , z)', ['c']],
    ['tier notin (web)', ['b', 'c', 'd']],
    ['tier=', ['c']],
    ['tier in ()', ['c']],
    ['tier in (,web)', ['a', 'c']],
    ['example.com/n>1', ['b']],
    ['example.com/n<2,example.com/n>0', ['a']],
    ['in in (notin)', ['d']],
  ])('%j chooses %o', async ([labelSelector, chosen]) => {
    const { api } = await startApi();
    const labels: Record<string, object> = {
      a: { app: 'x', tier: 'web', 'example.com/n': '1' },
      b: { app: 'x', 'example.com/n': '2' },
      c: { app: 'y', tier: '', 'example.com/n': 'no' },
      d: { in: 'notin' },
    };
    for (const [name, own] of Object.entries(labels))
      await api.make(CONFIG_MAPS, { metadata: { name, labels: own } });
    expect(names((await api.get(CONFIG_MAPS, { labelSelector })).body)).toEqual(chosen);
  });

  test.for<[selector: string, message: string]>([
    ['==', "found '==', expected: !, identifier, or 'end of string'"],
    ['a in x', "unable to parse requirement: found 'x' expected: '('"],
    ['a foo x', "unable to parse requirement: found 'foo', expected: in, notin, =, ==, !=, gt, lt"],
    ['a,', "found '', expected: identifier after ','"],
    ['a=b c', "found 'c', expected: ',' or 'end of string'"],
    ['a in (b c)', "unable to parse requirement: found 'c', expected: ',' or ')'"],
    [
      'a>b',
      "unable to parse requirement: values[0]: Invalid value: \"b\": for 'Gt', 'Lt' " +
        'operators, the value must be an integer',
    ],
  ])('%j is a bad request', async ([labelSelector, message]) => {
    const { api } = await startApi();
    for (const watch of ['false', 'true']) {
      expect(await api.get(CONFIG_MAPS, { labelSelector, watch })).toMatchObject({
        status: 400,
        body: { reason: 'BadRequest', message },
      });
    }
  });
});

describe('a field selector', () => {
  test('chooses by name and namespace, and Pods by node and phase', async () => {
    const { api } = await startApi();
    const pods = (namespace: string) => `/api/v1/namespaces/${namespace}/pods`;
    await api.make(pods('a'), { metadata: { name: 'one' }, spec: { ...POD_SPEC, nodeName: 'n1' } });
    await api.make(pods('a'), { metadata: { name: 'two' }, spec: POD_SPEC });
    await api.make(pods('b'), { metadata: { name: 'one' }, spec: { ...POD_SPEC, nodeName: 'n1' } });
    await api.patch(`${pods('b')}/one/status`, { status: { phase: 'Succeeded' } });
    const chosen = async (fieldSelector: string) =>
      (await api.get('/api/v1/pods', { fieldSelector })).body.items.map(
        ({ metadata }) => `${metadata.namespace}/${metadata.name}`,
      );
    expect(await chosen('metadata.name=one')).toEqual(['a/one', 'b/one']);
    expect(await chosen('metadata.namespace==a,metadata.name!=one')).toEqual(['a/two']);
    expect(await chosen('spec.nodeName=n1')).toEqual(['a/one', 'b/one']);
    expect(await chosen('spec.nodeName=')).toEqual(['a/two']);
    // A term of nothing was a 400.
    expect(await chosen('!=,metadata.name=two,=')).toEqual(['a/two']);
    expect(await chosen('status.phase!=Succeeded,status.phase!=Failed')).toEqual([
      'a/one',
      'a/two',
    ]);
  });

  test.for<[path: string, selector: string, message: string]>([
    [
      CONFIG_MAPS,
      'data.x=1',
      '"data.x" is not a known field selector: only "metadata.name", "metadata.namespace"',
    ],
    [WIDGETS, 'spec.x=1', 'field label not supported: spec.x'],
    ['/api/v1/pods', 'spec.foo=1', 'field label not supported: spec.foo'],
    [
      CONFIG_MAPS,
      'metadata.name',
      "invalid selector: 'metadata.name'; can't understand 'metadata.name'",
    ],
  ])('on %s of %j is a bad request', async ([path, fieldSelector, message]) => {
    const { api } = await startApi();
    expect(await api.get(path, { fieldSelector })).toMatchObject({
      status: 400,
      body: { message },
    });
  });
});

// All were deleted, whatever the deletion asked to list.
test('a deletion of a collection deletes what its parameters list', async () => {
  const { api } = await startApi();
  for (const name of ['a', 'b', 'c', 'd']) await api.make(CONFIG_MAPS, configMapBody(name));
  const version = await api.version(CONFIG_MAPS);
  await api.make(CONFIG_MAPS, configMapBody('e'));
  const deletion = async (query: Record<string, string>, body?: object) => {
    const answer = await api.send('DELETE', CONFIG_MAPS, {
      query,
      ...(body === undefined ? {} : { body }),
    });
    return { ...answer, deleted: answer.status === 200 ? names(answer.body) : [] };
  };
  const { deleted: first, body } = await deletion({ limit: '2' });
  expect([first, body.metadata.remainingItemCount]).toEqual([['a', 'b'], 3]);
  expect((await deletion({ limit: '1', continue: body.metadata.continue ?? '' })).deleted).toEqual([
    'c',
  ]);
  // Without a body the version is that of the objects too, as a precondition; with one it is that
  // of the list alone.
  expect((await deletion({ resourceVersion: '0' })).status).toBe(409);
  expect((await deletion({ resourceVersion: version }, {})).deleted).toEqual(['a', 'b', 'c', 'd']);
  expect((await deletion({ resourceVersion: 'x' }, {})).status).toBe(400);
  expect(names((await api.get(CONFIG_MAPS)).body)).toEqual(['e']);
});
