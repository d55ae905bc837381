/**
 * Objects that must exist before they are used. A test in a namespace that did not exist passed
 * here and got 404 in a cluster.
 */
import { expect, test } from 'vitest';
import {
  CONFIG_MAPS,
  configMapBody,
  startApi,
  WIDGETS,
  widgetBody,
} from '../helpers/server/requests.ts';

const NAMESPACES = '/api/v1/namespaces';
const inNamespace = (name: string) => `${NAMESPACES}/${name}/configmaps`;

test('until a Namespace is created, nothing has to be there', async () => {
  const { api } = await startApi();
  await api.make(inNamespace('any'), configMapBody('a'));
  expect((await api.get(WIDGETS)).status).toBe(200);
});

test('from then on namespaces have to be there, and kinds before they are read', async () => {
  const { api } = await startApi();
  await api.make(NAMESPACES, { metadata: { name: 'team' } });
  await api.make(inNamespace('team'), configMapBody('a'));
  await api.make(CONFIG_MAPS, configMapBody('a')); // default is there in each cluster
  const other = await api.send('POST', inNamespace('other'), { body: configMapBody('a') });
  expect(other).toMatchObject({
    status: 404,
    body: { reason: 'NotFound', details: { name: 'other', kind: 'namespaces' } },
  });
  expect((await api.get(WIDGETS)).status).toBe(404);
  await api.make(WIDGETS, widgetBody('a'));
  expect((await api.get(WIDGETS)).status).toBe(200);
});

test('a strict server takes kinds that a definition tells of alone', async () => {
  const { api } = await startApi({ strict: true });
  expect((await api.send('POST', WIDGETS, { body: widgetBody('a') })).status).toBe(404);
  expect((await api.send('POST', inNamespace('x'), { body: configMapBody('a') })).status).toBe(404);
  await api.make(CONFIG_MAPS, configMapBody('a'));
});

test('a server that is not strict asks for nothing, whatever was created', async () => {
  const { api } = await startApi({ strict: false });
  await api.make(NAMESPACES, { metadata: { name: 'team' } });
  await api.make(inNamespace('other'), configMapBody('a'));
  expect((await api.get(WIDGETS)).status).toBe(200);
});
