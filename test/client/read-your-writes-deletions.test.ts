/**
 * Deletions at an unknown resourceVersion: which requests a read sends for them, and that it waits
 * for nothing else.
 */
import { defineResource } from 'capstan/cache';
import { expect, test, vi } from 'vitest';
import { at, ConfigMaps, configMap, Widgets, widget } from '../helpers/resources.ts';
import { behind, settled } from './watch-gate.ts';

const Roles = defineResource<{ metadata: { namespace: string; name: string } }>()({
  ...{
    group: 'rbac.authorization.k8s.io',
    version: 'v1',
    kind: 'Role',
    plural: 'roles',
    namespaced: true,
  },
});

// A cleanup deleted objects of others, and the next list sent one request for each, all at once:
// thousands in flight.
test('a list sends one request for all deletions at no known version', async () => {
  const { client, others, clock, gate, requests } = await behind();
  await others.create(ConfigMaps, configMap('shown'));
  await client.list(ConfigMaps);
  gate.shut();
  const deleted = Array.from({ length: 500 }, (_, i) => `d${i}`);
  for (const name of deleted) await others.create(ConfigMaps, configMap(name));
  for (const name of ['shown', ...deleted]) await client.delete(ConfigMaps, at(name));
  // The client recreated two of them, which a list must have.
  for (const name of ['d0', 'd1']) await client.create(ConfigMaps, configMap(name, { page: '2' }));
  requests.length = 0;
  const listing = client.list(ConfigMaps, { namespace: 'default' });
  await vi.waitFor(() => expect(requests).toHaveLength(3));
  expect(await settled(clock, listing)).toBe(false);
  expect(requests.map(({ query }) => query?.limit ?? query?.fieldSelector).sort()).toEqual([
    '1',
    'metadata.name=d0',
    'metadata.name=d1',
  ]);
  gate.open();
  expect((await listing).items.map(({ metadata, data }) => [metadata.name, data])).toEqual([
    ['d0', { page: '2' }],
    ['d1', { page: '2' }],
  ]);
  expect((await client.list(ConfigMaps)).items).toHaveLength(2);
  expect(requests).toHaveLength(3);
});

/**
 * Others created six objects, which this client has deleted, and create them again; the cache has
 * received `heard` events. The server is ahead of them.
 */
async function recreated(heard: number) {
  const setting = await behind();
  const { client, others, clock, gate, requests } = setting;
  await client.list(ConfigMaps);
  gate.shut();
  const names = Array.from({ length: 6 }, (_, i) => `r${i}`);
  for (const name of names) await others.create(ConfigMaps, configMap(name));
  for (const name of names) {
    await client.delete(ConfigMaps, at(name));
    await others.create(ConfigMaps, configMap(name, { page: '2' }));
  }
  await others.create(Widgets, widget('elsewhere'));
  gate.pass(heard);
  await clock.settle();
  requests.length = 0;
  const asked = () => requests.map(({ query }) => query?.limit ?? query?.fieldSelector).sort();
  return { ...setting, asked, names: names.map((name) => `metadata.name=${name}`) };
}

// It waited for the server's version at that time, which the cache of a quiet kind receives much
// later: each read waited for five seconds.
test('objects that others recreated are listed without a wait', async () => {
  const { client, clock, gate, asked, names } = await recreated(0);
  expect((await client.list(ConfigMaps)).items).toEqual([]);
  expect(asked()).toEqual(['1']);
  gate.open();
  await clock.settle();
  await vi.waitFor(async () =>
    expect((await client.list(ConfigMaps, { readYourWrites: false })).items).toHaveLength(6),
  );
  expect((await client.get(ConfigMaps, at('r0'))).data).toEqual({ page: '2' });
  expect(asked()).toEqual(['1', ...names.slice(0, 1)]);
  const { items } = await client.list(ConfigMaps);
  expect(items.map(({ data }) => data)).toEqual(Array(6).fill({ page: '2' }));
  expect(asked()).toEqual(['1', ...names]);
  expect((await client.list(ConfigMaps)).items).toHaveLength(6);
  expect(asked()).toEqual(['1', ...names]);
});

test('also if it arrives while a list waits for the deletions', async () => {
  const { client, clock, gate, asked, names } = await recreated(6);
  const listing = client.list(ConfigMaps);
  await vi.waitFor(() => expect(asked()).toEqual(['1']));
  expect(await settled(clock, listing)).toBe(false);
  gate.pass(11); // up to the last deletion
  expect((await listing).items.map(({ data }) => data)).toEqual(Array(5).fill({ page: '2' }));
  expect(asked()).toEqual(['1', ...names.slice(0, 5)]);
});

// A Role's name may have a comma: the rest was another field to the server, which rejected it, and
// each list of Roles failed from then on, in all namespaces.
test("a field selector escapes the object's name", async () => {
  const { client, others, gate, requests } = await behind();
  await client.list(Roles);
  gate.shut();
  const names = ['a,b=c', 'a\\', 'a=b'];
  for (const name of names) await others.create(Roles, { metadata: at(name) });
  for (const name of names) await client.delete(Roles, at(name));
  requests.length = 0;
  expect((await client.list(Roles)).items).toEqual([]);
  expect(requests.map(({ query }) => query?.fieldSelector)).toEqual([
    'metadata.name=a\\,b\\=c',
    'metadata.name=a\\\\',
    'metadata.name=a\\=b',
  ]);
});
