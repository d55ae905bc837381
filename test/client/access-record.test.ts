/** What a record of requests says: attributes as an API server sees them, names, places, owners. */
import { newSharedInformerFactory } from 'capstan/cache';
import {
  type AccessEntry,
  AccessRecord,
  accessOf,
  EventRecorder,
  newClient,
  recordAccess,
  setControllerReference,
} from 'capstan/client';
import { ConfigMap, Pod } from 'capstan/kinds';
import { type FakeTransportOptions, fakeTransport } from 'capstan/testing';
import { describe, expect, onTestFinished, test } from 'vitest';

const CORE = { group: '' };

// The verbs, resources, namespaces and names are those of RequestInfo in apiserver's
// pkg/endpoints/request/requestinfo_test.go, for the same requests.
describe('accessOf()', () => {
  test.each<[string, object]>([
    ['GET /api/v1/namespaces', { verb: 'list', ...CORE, resource: 'namespaces' }],
    [
      'GET /api/v1/namespaces/other',
      { verb: 'get', ...CORE, resource: 'namespaces', namespace: 'other', name: 'other' },
    ],
    [
      'PUT /api/v1/namespaces/other/finalize',
      {
        verb: 'update',
        ...CORE,
        resource: 'namespaces',
        subresource: 'finalize',
        namespace: 'other',
        name: 'other',
      },
    ],
    [
      'GET /api/v1/namespaces/other/pods',
      { verb: 'list', ...CORE, resource: 'pods', namespace: 'other' },
    ],
    [
      'HEAD /api/v1/namespaces/other/pods/foo',
      { verb: 'get', ...CORE, resource: 'pods', namespace: 'other', name: 'foo' },
    ],
    ['GET /api/v1/pods?watch=true', { verb: 'watch', ...CORE, resource: 'pods' }],
    ['GET /api/v1/pods?watch=false', { verb: 'list', ...CORE, resource: 'pods' }],
    ['GET /api/v1/watch/pods', { verb: 'watch', ...CORE, resource: 'pods' }],
    [
      'GET /api/v1/namespaces/other/pods?fieldSelector=metadata.name%3Dfoo&watch=1',
      { verb: 'watch', ...CORE, resource: 'pods', namespace: 'other', name: 'foo' },
    ],
    [
      'GET /api/v1/namespaces/other/pods?fieldSelector=metadata.name!%3Dfoo',
      { verb: 'list', ...CORE, resource: 'pods', namespace: 'other' },
    ],
    [
      'DELETE /api/v1/namespaces/other/pods',
      { verb: 'deletecollection', ...CORE, resource: 'pods', namespace: 'other' },
    ],
    [
      'POST /api/v1/namespaces/other/pods/foo/eviction',
      {
        verb: 'create',
        ...CORE,
        resource: 'pods',
        subresource: 'eviction',
        namespace: 'other',
        name: 'foo',
      },
    ],
    [
      'PATCH /apis/example.com/v1/namespaces/a/widgets/b/status',
      {
        verb: 'patch',
        group: 'example.com',
        resource: 'widgets',
        subresource: 'status',
        namespace: 'a',
        name: 'b',
      },
    ],
    ['GET /apis/apps/v1/deployments', { verb: 'list', group: 'apps', resource: 'deployments' }],
    ['GET /apis/apps/v1', { verb: 'get', path: '/apis/apps/v1' }],
    ['GET /version', { verb: 'get', path: '/version' }],
    ['POST /logs/x?y=1', { verb: 'post', path: '/logs/x' }],
    ['GET /api/v1/pods/%', { verb: 'get', ...CORE, resource: 'pods', name: '%' }],
  ])('%s', (line, expected) => {
    const [method = '', path = ''] = line.split(' ');
    expect(accessOf({ method, path })).toEqual(expected);
    const [plain = '', query] = path.split('?');
    const parts = Object.fromEntries(new URLSearchParams(query));
    expect(accessOf({ method, path: plain, query: parts })).toEqual(expected);
  });
});

function recorded(options?: FakeTransportOptions) {
  const record = new AccessRecord();
  const transport = recordAccess(fakeTransport(options), record);
  onTestFinished(() => transport.close?.());
  const of = (verb: string, resource: string): AccessEntry | undefined =>
    record.entries().find((entry) => entry.verb === verb && entry.resource === resource);
  return { record, transport, client: newClient({ transport }), of };
}

const at = (name: string, namespace = 'default') => ({ namespace, name });
const CALLER = /^reconcile \(.*\/access-record\.test\.ts:\d+\)$/;

test('a client and a cache: counts, names, kinds, and the code that asked', async () => {
  const { record, transport, client, of } = recorded();
  async function reconcile(): Promise<void> {
    for (const name of ['a', 'b']) await client.create(ConfigMap, { metadata: at(name) });
    for (const name of ['a', 'b', 'a']) await client.get(ConfigMap, at(name));
    await client.delete(ConfigMap, at('b'));
    const factory = newSharedInformerFactory(transport);
    const cached = newClient({ transport, cache: factory });
    expect((await cached.list(ConfigMap)).items).toHaveLength(1);
    // A read of the own write needs the watch.
    await cached.update(ConfigMap, { metadata: at('a'), data: { k: 'v' } });
    expect((await cached.get(ConfigMap, at('a'))).data).toEqual({ k: 'v' });
    await factory.shutdown();
  }
  await reconcile();
  const { by, ...get } = of('get', 'configmaps') as AccessEntry;
  expect(get).toEqual({
    verb: 'get',
    group: '',
    resource: 'configmaps',
    namespace: 'default',
    names: ['a', 'b'],
    count: 3,
    refused: 0,
  });
  expect(Object.keys(by)).toEqual([expect.stringMatching(CALLER)]);
  expect(of('create', 'configmaps')).toMatchObject({ kind: 'ConfigMap', names: ['*'], count: 2 });
  expect(Object.keys(of('delete', 'configmaps')?.by ?? {})[0]).toMatch(CALLER);
  for (const verb of ['list', 'watch'])
    expect(of(verb, 'configmaps')).toMatchObject({ names: ['*'], by: { informer: 1 } });
  expect(of('list', 'configmaps')).not.toHaveProperty('namespace');
  expect(
    record
      .text()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toEqual(record.entries());
});

test('many names become any name, and many lines no more lines', () => {
  const record = new AccessRecord();
  const ask = (path: string) => record.asked({ method: 'GET', path });
  for (let i = 0; i < 16; i++) ask(`/api/v1/namespaces/a/pods/p${i}`);
  expect(record.entries()[0]?.names).toHaveLength(16);
  ask('/api/v1/namespaces/a/pods/p16');
  ask('/api/v1/namespaces/a/pods/p1');
  expect(record.entries()).toMatchObject([{ names: ['*'], count: 18 }]);
  for (let i = 0; i < 6000; i++) ask(`/api/v1/namespaces/n${i}/pods/p`);
  expect(record.entries()).toHaveLength(5000);
  expect(Object.values(record.entries()[0]?.by ?? {})).toEqual([18]);
});

test('places are sampled when there are many requests, and their counts are whole', () => {
  const record = new AccessRecord();
  for (let i = 0; i < 640; i++) record.asked({ method: 'GET', path: '/api/v1/pods' });
  const [entry] = record.entries();
  expect(entry?.count).toBe(640);
  expect(Object.values(entry?.by ?? {})).toEqual([640]);
});

test('a refused request is counted as such', async () => {
  const { client, of } = recorded({ authorization: 'RBAC', tokens: undefined, users: {} });
  await expect(client.get(ConfigMap, at('a'))).rejects.toMatchObject({ status: 403 });
  expect(of('get', 'configmaps')).toMatchObject({ count: 1, refused: 1 });
});

test('an owner whose deletion is blocked needs its finalizers', async () => {
  const { record, client } = recorded();
  const owner = await client.create(ConfigMap, { metadata: at('owner') });
  const pod = { metadata: at('p'), spec: { containers: [{ name: 'c', image: 'i' }] } };
  const owned = setControllerReference(owner, pod, ConfigMap);
  await client.create(Pod, owned);
  await client.apply(Pod, owned, { fieldOwner: 'me', force: true });
  const line = record.entries().find(({ subresource }) => subresource === 'finalizers');
  expect(line).toMatchObject({
    verb: 'update',
    group: '',
    kind: 'ConfigMap',
    namespace: 'default',
    names: ['owner'],
    count: 2,
  });
  expect(line).not.toHaveProperty('resource');
  const before = record.entries().length;
  record.asked({ method: 'PUT', path: '/api/v1/pods/a', body: '{"blockOwnerDeletion":true' });
  expect(record.entries()).toHaveLength(before + 1);
});

// A Role of what was asked refused the first apply: the server checks `create` for the new object.
test('an apply or an update that makes its object needs create too', async () => {
  const { client, of } = recorded();
  async function reconcile(): Promise<void> {
    const map = { metadata: at('m') };
    await client.apply(ConfigMap, map, { fieldOwner: 'me' });
    expect(of('create', 'configmaps')).toMatchObject({ names: ['m'], count: 1, refused: 0 });
    await client.apply(ConfigMap, map, { fieldOwner: 'me' });
  }
  await reconcile();
  expect(of('patch', 'configmaps')).toMatchObject({ count: 2 });
  const { count, by } = of('create', 'configmaps') as AccessEntry;
  expect([count, Object.keys(by)]).toEqual([1, [expect.stringMatching(CALLER)]]);
});

test('events and discovery are named by what they are', async () => {
  const { client, of } = recorded();
  const recorder = new EventRecorder({ client, reportingController: 'example.com/test' });
  const object = await client.create(ConfigMap, { metadata: at('a') });
  recorder.event(
    { ...object, apiVersion: 'v1', kind: 'ConfigMap' },
    { reason: 'Made', action: 'Make', note: 'made' },
  );
  await recorder.close();
  expect(of('create', 'events')?.by).toEqual({ 'event recorder': 1 });
});

test('a request is passed on unchanged, and its answer and error too', async () => {
  const record = new AccessRecord();
  const answer = { status: 200, headers: new Headers(), body: (async function* () {})() };
  const request = { method: 'GET', path: '/x', query: { a: '1' } };
  const asked: unknown[] = [];
  const transport = recordAccess(
    {
      host: () => 'there:1',
      request: async (given) => {
        asked.push(given);
        if (asked.length > 1) throw new Error('gone');
        return answer;
      },
    },
    record,
  );
  expect(await transport.request(request)).toBe(answer);
  expect(asked[0]).toBe(request);
  await expect(transport.request(request)).rejects.toThrow('gone');
  expect(transport.host?.()).toBe('there:1');
  expect(record.entries()).toMatchObject([{ verb: 'get', path: '/x', count: 2 }]);
});

test('arguments are checked', () => {
  const record = new AccessRecord();
  expect(() => recordAccess({} as never, record)).toThrow('transport');
  expect(() => recordAccess(fakeTransport(), {} as never)).toThrow('"record" expected');
});
