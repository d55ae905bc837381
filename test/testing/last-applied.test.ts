/**
 * From `kubectl apply` to `kubectl apply --server-side`: each of these was a conflict here, and
 * none on a kube-apiserver 1.36.3, whose answers these are.
 */
import { expect, test } from 'vitest';
import { APPLY_PATCH, CONFIG_MAPS, startApi } from '../helpers/server/requests.ts';

const ANNOTATION = 'kubectl.kubernetes.io/last-applied-configuration';
const config = (data: object, more: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'a', ...more },
  data,
});

async function clientApplied() {
  const { api } = await startApi();
  const data = { a: '1', b: '2' };
  const metadata = { annotations: {}, name: 'a', namespace: 'default' };
  const said = `${JSON.stringify({ ...config(data), metadata })}\n`;
  const body = config(data, { annotations: { [ANNOTATION]: said } });
  await api.send('POST', CONFIG_MAPS, {
    body,
    query: { fieldManager: 'kubectl-client-side-apply' },
  });
  const apply = (fieldManager: string, fields: object, query: object = {}) =>
    api.send('PATCH', `${CONFIG_MAPS}/a`, {
      body: config(fields),
      type: APPLY_PATCH,
      query: { fieldManager, ...query },
    });
  return { api, apply };
}

test('what the annotation says is no conflict for kubectl, and it is kept up to date', async () => {
  const { apply } = await clientApplied();
  const { status, body } = await apply('kubectl', { a: '3', b: '2' });
  expect([status, body.data]).toEqual([200, { a: '3', b: '2' }]);
  expect(body.metadata.annotations?.[ANNOTATION]).toBe(
    '{"apiVersion":"v1","data":{"a":"3","b":"2"},"kind":"ConfigMap","metadata":{"name":"a"}}\n',
  );
});

test('later changes by another manager stay conflicts', async () => {
  const { api, apply } = await clientApplied();
  await api.patch(`${CONFIG_MAPS}/a`, { data: { b: '5' } });
  const { status, body } = await apply('kubectl', { a: '3', b: '7' });
  expect(status).toBe(409);
  expect(body.details.causes?.map(({ field }) => field)).toEqual(['.data.b']);
});

test('an annotation that cannot be read takes nothing over, and force mends it', async () => {
  const { api, apply } = await clientApplied();
  await api.patch(`${CONFIG_MAPS}/a`, { metadata: { annotations: { [ANNOTATION]: 'invalid' } } });
  expect((await apply('kubectl', { a: '3', b: '2' })).status).toBe(409);
  const { body } = await api.get(`${CONFIG_MAPS}/a`);
  expect(body.metadata.annotations?.[ANNOTATION]).toBe('invalid');
  const forced = await apply('kubectl', { a: '3', b: '2' }, { force: 'true' });
  expect(forced.body.metadata.annotations?.[ANNOTATION]).toContain('"a":"3"');
});

test('another manager takes nothing over', async () => {
  const { apply } = await clientApplied();
  const { status, body } = await apply('other', { a: '3', b: '2' });
  expect([status, body.reason]).toEqual([409, 'Conflict']);
});
