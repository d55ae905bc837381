/**
 * What has to be there before it is used. A test in a namespace that nobody had created was green
 * here and met 404 in a cluster.
 */
import { expect, test } from 'vitest';
import { CONFIG_MAPS, configMap, start, WIDGETS, widget } from '../helpers/server/requests.ts';

const NAMESPACES = '/api/v1/namespaces';
const inNamespace = (name: string) => `${NAMESPACES}/${name}/configmaps`;

test('until a Namespace is created, nothing has to be there', async () => {
  const { api } = await start();
  await api.make(inNamespace('any'), configMap('a'));
  expect((await api.get(WIDGETS)).status).toBe(200);
});

test('from then on namespaces have to be there, and kinds before they are read', async () => {
  const { api } = await start();
  await api.make(NAMESPACES, { metadata: { name: 'team' } });
  await api.make(inNamespace('team'), configMap('a'));
  await api.make(CONFIG_MAPS, configMap('a')); // default is there in each cluster
  const other = await api.send('POST', inNamespace('other'), { body: configMap('a') });
  expect(other).toMatchObject({
    status: 404,
    body: { reason: 'NotFound', details: { name: 'other', kind: 'namespaces' } },
  });
  expect((await api.get(WIDGETS)).status).toBe(404);
  await api.make(WIDGETS, widget('a'));
  expect((await api.get(WIDGETS)).status).toBe(200);
});

test('a strict server takes kinds that a definition tells of alone', async () => {
  const { api } = await start({ strict: true });
  expect((await api.send('POST', WIDGETS, { body: widget('a') })).status).toBe(404);
  expect((await api.send('POST', inNamespace('x'), { body: configMap('a') })).status).toBe(404);
  await api.make(CONFIG_MAPS, configMap('a'));
});

test('a server that is not strict asks for nothing, whatever was created', async () => {
  const { api } = await start({ strict: false });
  await api.make(NAMESPACES, { metadata: { name: 'team' } });
  await api.make(inNamespace('other'), configMap('a'));
  expect((await api.get(WIDGETS)).status).toBe(200);
});
