/**
 * Deletions whose version neither the server said nor the cache knew: what a read asks of the
 * server for them, and that it waits for nothing else.
 */
import { defineResource } from 'capstan/cache';
import { expect, test, vi } from 'vitest';
import { at, ConfigMaps, configMap, Widgets, widget } from '../helpers/client/fixtures.ts';
import { behind, settled } from './gate.ts';

const Roles = defineResource<{ metadata: { namespace: string; name: string } }>()({
  ...{
    group: 'rbac.authorization.k8s.io',
    version: 'v1',
    kind: 'Role',
    plural: 'roles',
    namespaced: true,
  },
});

// A clean-up deleted what others had made, and the next list asked for each of it, all at once:
// thousands of requests in flight.
test('a list asks once, however many deletions are at no known version, and waits for what the cache still shows', async () => {
  const { client, others, clock, gate, requests } = await behind();
  await others.create(ConfigMaps, configMap('shown'));
  await client.list(ConfigMaps);
  gate.shut();
  const deleted = Array.from({ length: 500 }, (_, i) => `d${i}`);
  for (const name of deleted) await others.create(ConfigMaps, configMap(name));
  for (const name of ['shown', ...deleted]) await client.delete(ConfigMaps, at(name));
  // Of two the client made others, which a list has to have.
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
 * Others made six, which this client has deleted, and make them again; the cache has heard of
 * `heard` events. The server is further than they are.
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

// The server's version at the time was waited for, to which the cache of a quiet kind comes much
// later: each read waited for five seconds.
test('what others made under the names is shown without a wait, and asked for once each', async () => {
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

test('also where it comes while a list waits for the cache to lose the deleted ones', async () => {
  const { client, clock, gate, asked, names } = await recreated(6);
  const listing = client.list(ConfigMaps);
  await vi.waitFor(() => expect(asked()).toEqual(['1']));
  expect(await settled(clock, listing)).toBe(false);
  gate.pass(11); // up to the deletion of the last
  expect((await listing).items.map(({ data }) => data)).toEqual(Array(5).fill({ page: '2' }));
  expect(asked()).toEqual(['1', ...names.slice(0, 5)]);
});

// A user who may make a Role may call it so: what came after the comma was another field to the
// server, which refused that, and each list of Roles failed from then on, of all namespaces too.
test('an object is asked for by its name, whatever that has in it', async () => {
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
