/**
 * Bodies as clients in other languages write them, and what a real kube-apiserver 1.36.3 reads. A
 * template that merged labels by writing them twice kept both halves in a cluster, and lost the
 * first one here; a port beyond 32 bits was a 422 here, and a 400 there.
 */
import { expect, test } from 'vitest';
import { startApi } from '../helpers/server/requests.ts';

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';

test('duplicate members are merged with the earlier ones', async () => {
  const { api } = await startApi();
  const body =
    '{"metadata":{"name":"a","labels":{"a":"1","c":"x"},"labels":{"b":"2","c":"y"},"labels":{}},' +
    '"data":{"k":"1"},"data":null}';
  const { status, body: made, header } = await api.send('POST', CONFIG_MAPS, { body });
  expect(status).toBe(201);
  expect(made.metadata.labels).toEqual({ a: '1', b: '2', c: 'y' });
  expect(made.data).toBeUndefined();
  expect(header('warning')).toBe(
    '299 - "duplicate field \\"metadata.labels\\"", 299 - "duplicate field \\"data\\""',
  );
});

test('items of a list that stands twice are merged by their places', async () => {
  const { api } = await startApi();
  const body =
    '{"metadata":{"name":"a"},"spec":{"containers":[{"name":"x","image":"i"},{"name":"gone","image":"i"}],' +
    '"containers":[{"args":["1"]}]}}';
  const { body: made } = await api.send('POST', '/api/v1/namespaces/default/pods', { body });
  expect(made.spec.containers).toEqual([
    expect.objectContaining({ name: 'x', image: 'i', args: ['1'] }),
  ]);
});

test('of a custom object the last member counts', async () => {
  const { api } = await startApi();
  const body =
    '{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"a":1},"spec":{"b":2}}';
  const path = '/apis/example.com/v1/namespaces/default/widgets';
  const { body: made } = await api.send('POST', path, { body });
  expect(made.spec).toEqual({ b: 2 });
});

test.for<[what: string, targetPort: unknown, status: number]>([
  ['an object', {}, 400],
  ['true', true, 400],
  ['a fraction', 1.5, 400],
  ['more than 32 bits', 2_147_483_648, 400],
  ['no port', 65_536, 422],
  ['a name', 'web', 201],
])('a port that is %s', async ([, targetPort, status]) => {
  const { api } = await startApi();
  const body = { metadata: { name: 'a' }, spec: { ports: [{ port: 80, targetPort }] } };
  const path = '/api/v1/namespaces/default/services';
  expect((await api.send('POST', path, { body })).status).toBe(status);
});

test('bytes are base64, or numbers', async () => {
  const { api } = await startApi();
  const make = (k: unknown) =>
    api.send('POST', '/api/v1/namespaces/default/secrets', {
      body: { metadata: { generateName: 's-' }, data: { k } },
    });
  expect((await make([104, 105])).body.data).toEqual({ k: 'aGk=' });
  expect((await make(['x'])).status).toBe(400);
  expect((await make(7)).status).toBe(400);
});
