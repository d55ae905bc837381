/**
 * Namespaces, from the first ones to their end. They were nowhere to be read until a test had made
 * them, lost their finalizers to a patch, and were gone before a controller could see them end.
 */
import { FakeClock, fakeTransport } from 'capstan/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  ApiRequests,
  CONFIG_MAPS,
  configMapBody,
  POD_SPEC,
  startApi,
} from '../helpers/server/requests.ts';

const NAMESPACES = '/api/v1/namespaces';
const A = `${NAMESPACES}/a`;
const IN_A = `${A}/configmaps`;
const CONTROLLER_COMES = 5000;

async function withNamespace(more: object = {}): Promise<{ api: ApiRequests; clock: FakeClock }> {
  const clock = new FakeClock();
  const { api } = await startApi({ clock });
  await api.make(NAMESPACES, { metadata: { name: 'a' }, ...more });
  return { api, clock };
}

test('those of a cluster are there, and three of them may not be deleted', async () => {
  const { api } = await startApi();
  const { items } = (await api.get(NAMESPACES)).body;
  const names = ['default', 'kube-node-lease', 'kube-public', 'kube-system'];
  expect(items.map(({ metadata }) => metadata.name)).toEqual(names);
  expect((await api.get(`${NAMESPACES}/default`)).body).toMatchObject({
    kind: 'Namespace',
    metadata: { labels: { 'kubernetes.io/metadata.name': 'default' } },
    spec: { finalizers: ['kubernetes'] },
    status: { phase: 'Active' },
  });
  for (const name of ['default', 'kube-public', 'kube-system']) {
    const refused = await api.delete(`${NAMESPACES}/${name}`);
    expect(refused).toMatchObject({ status: 403, body: { reason: 'Forbidden' } });
  }
  expect((await api.delete(`${NAMESPACES}/kube-node-lease`)).status).toBe(200);
  const again = await api.send('POST', NAMESPACES, { body: { metadata: { name: 'default' } } });
  expect(again.status).toBe(409);
  // They are no reason to ask for others.
  await api.make(`${NAMESPACES}/any/configmaps`, configMapBody('a'));
});

test('one keeps its own finalizers whatever is written to it, but by finalize', async () => {
  const { api } = await withNamespace({ spec: { finalizers: ['example.com/x'] } });
  const finalizers = ['example.com/x', 'kubernetes'];
  for (const spec of [{ finalizers: [] }, { finalizers: null }, null])
    expect((await api.patch(A, { spec })).body.spec).toEqual({ finalizers });
  expect((await api.put(A, { metadata: { name: 'a' } })).body.spec).toEqual({ finalizers });
  const body = { metadata: { name: 'a' }, spec: { finalizers: ['example.com/y'] } };
  expect((await api.put(`${A}/finalize`, body)).body.spec).toEqual(body.spec);
  const wrong = { ...body, spec: { finalizers: ['bad'] } };
  expect((await api.put(`${A}/finalize`, wrong)).body.details.causes?.[0]?.field).toBe(
    'spec.finalizers[0]',
  );
  const created = { metadata: { name: 'b' }, spec: { finalizers: ['bad'] } };
  expect((await api.send('POST', NAMESPACES, { body: created })).status).toBe(422);
});

describe('one that is deleted', () => {
  test('is terminating, and takes nothing new', async () => {
    const { api } = await withNamespace();
    await api.make(IN_A, configMapBody('old'));
    await api.make(`${A}/pods`, { metadata: { name: 'p' }, spec: POD_SPEC });
    const { status, body } = await api.delete(A);
    expect({ status, phase: body.status }).toEqual({
      status: 200,
      phase: { phase: 'Terminating' },
    });
    expect(body.metadata.deletionTimestamp).toEqual(expect.any(String));
    expect((await api.get(A)).body).toEqual(body);
    expect((await api.delete(A)).body).toEqual(body);

    const posts: [path: string, body: object][] = [
      [IN_A, configMapBody('new')],
      [`${A}/pods/p/eviction`, { metadata: { name: 'p' } }],
      [`${A}/bindings`, { metadata: { name: 'p' }, target: { name: 'n' } }],
      [`${A}/serviceaccounts/s/token`, { spec: {} }],
    ];
    for (const [path, sent] of posts)
      expect(await api.send('POST', path, { body: sent })).toMatchObject({
        status: 403,
        body: {
          reason: 'Forbidden',
          details: { causes: [{ reason: 'NamespaceTerminating', field: 'metadata.namespace' }] },
        },
      });
    expect((await api.patch(`${IN_A}/old`, { data: { k: 'v' } })).status).toBe(200);
  });

  test('is emptied and removed by its controller', async () => {
    const { api, clock } = await withNamespace();
    await api.make(IN_A, configMapBody('x'));
    await api.make(CONFIG_MAPS, configMapBody('x'));
    const watch = await api.watch(NAMESPACES, { resourceVersion: await api.version(NAMESPACES) });
    await api.delete(A);
    clock.step(CONTROLLER_COMES - 1);
    expect((await api.get(`${IN_A}/x`)).status).toBe(200);
    clock.step(1);
    expect((await api.get(`${IN_A}/x`)).status).toBe(404);
    expect((await api.get(A)).status).toBe(404);
    expect((await api.get(`${CONFIG_MAPS}/x`)).status).toBe(200);
    expect((await watch.take(2)).map(({ type }) => type)).toEqual(['MODIFIED', 'DELETED']);
    await api.make(NAMESPACES, { metadata: { name: 'a' } });
  });

  test('waits for objects with finalizers', async () => {
    const { api, clock } = await withNamespace();
    await api.make(IN_A, { metadata: { name: 'x', finalizers: ['example.com/x'] } });
    await api.make(`${A}/pods`, { metadata: { name: 'p' }, spec: { ...POD_SPEC, nodeName: 'n' } });
    await api.delete(A);
    clock.step(CONTROLLER_COMES);
    const { metadata } = (await api.get(`${IN_A}/x`)).body;
    expect(metadata.deletionTimestamp).toEqual(expect.any(String));
    await api.patch(`${IN_A}/x`, { metadata: { finalizers: null } });
    expect((await api.get(A)).status).toBe(200);
    await api.delete(`${A}/pods/p`, { gracePeriodSeconds: 0 });
    expect((await api.get(A)).status).toBe(404);
  });

  test('waits for finalizers of both kinds', async () => {
    const { api, clock } = await withNamespace({
      metadata: { name: 'a', finalizers: ['example.com/x'] },
      spec: { finalizers: ['example.com/y'] },
    });
    await api.delete(A);
    clock.step(CONTROLLER_COMES);
    expect((await api.get(A)).body.spec).toEqual({ finalizers: ['example.com/y'] });
    await api.patch(A, { metadata: { finalizers: null } });
    expect((await api.get(A)).status).toBe(200);
    await api.put(`${A}/finalize`, { metadata: { name: 'a' }, spec: {} });
    expect((await api.get(A)).status).toBe(404);
  });

  test('is another one than a precondition names, or stays as it was in a dry run', async () => {
    const { api } = await withNamespace();
    const before = (await api.get(A)).body;
    const other = await api.delete(A, { preconditions: { uid: 'other' } });
    expect(other).toMatchObject({ status: 409, body: { details: { kind: 'namespaces' } } });
    const dry = await api.delete(A, { dryRun: ['All'] });
    expect(dry.body.status).toEqual({ phase: 'Terminating' });
    expect((await api.get(A)).body).toEqual(before);
  });

  test('leaves no timer behind when the server stops', async () => {
    const clock = new FakeClock();
    const { api, server } = await startApi({ clock });
    await api.make(NAMESPACES, { metadata: { name: 'a' } });
    await api.delete(A);
    expect(clock.timers()).toBeGreaterThan(0);
    await server.stop();
    expect(clock.timers()).toBe(0);
  });
});

// What a unit test puts there is all there is, as in controller-runtime's fake client.
test('a server in the process begins with none, and ends one at once', async () => {
  const clock = new FakeClock();
  const transport = fakeTransport({ clock });
  const api = new ApiRequests(transport);
  onTestFinished(() => api.close());
  expect((await api.get(NAMESPACES)).body.items).toEqual([]);
  for (const name of ['default', 'a']) await api.make(NAMESPACES, { metadata: { name } });
  await api.make(CONFIG_MAPS, configMapBody('x'));
  await api.make(IN_A, { metadata: { name: 'x', finalizers: ['example.com/x'] } });
  await api.delete(`${NAMESPACES}/default`);
  expect((await api.get(`${NAMESPACES}/default`)).status).toBe(404);
  expect((await api.get(CONFIG_MAPS)).body.items).toEqual([]);
  await api.delete(A);
  expect((await api.get(A)).body.status).toEqual({ phase: 'Terminating' });
  await api.patch(`${IN_A}/x`, { metadata: { finalizers: null } });
  expect((await api.get(A)).status).toBe(404);
  expect(clock.timers()).toBe(0);
});
