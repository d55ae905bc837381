/**
 * The store creates the object of an event only when it is needed; until then a placeholder stands
 * for it. Handlers, old states, tombstones, index functions and readers of the cache never get the
 * placeholder, with or without handlers.
 */
import {
  DeletedFinalStateUnknown,
  defineResource,
  ListWatch,
  SharedIndexInformer,
} from 'capstan/cache';
import { newClient } from 'capstan/client';
import { FakeClock, fakeTransport } from 'capstan/testing';
import { setErrorHandler } from 'capstan/workqueue';
import { expect, onTestFinished, test } from 'vitest';
import { at, type ConfigMap, configMap } from '../../helpers/resources.ts';

test.each([
  { watchList: false, fifo: 'real', told: true },
  { watchList: true, fifo: 'real', told: true },
  { watchList: false, fifo: 'delta', told: true },
  { watchList: true, fifo: 'delta', told: true },
  { watchList: false, fifo: 'real', told: false },
  { watchList: true, fifo: 'real', told: false },
] as const)('all that anybody gets is plain objects: %o', async ({ watchList, fifo, told }) => {
  setErrorHandler(() => undefined);
  onTestFinished(() => void setErrorHandler(undefined));
  const seen: [where: string, object: ConfigMap][] = [];
  const see = (where: string, object: ConfigMap): void => void seen.push([where, object]);
  const resource = defineResource<ConfigMap>()({
    ...{ group: '', version: 'v1', kind: 'ConfigMap', plural: 'configmaps', namespaced: true },
    indexers: {
      byFunction: (object: ConfigMap) => {
        see('index', object);
        return [object.data?.page ?? ''];
      },
    },
  });
  const clock = new FakeClock();
  const transport = fakeTransport({ clock });
  const client = newClient({ transport });
  for (const name of ['a', 'b', 'c', 'e'])
    await client.create(resource, configMap(name, { page: '1' }));
  const informer = new SharedIndexInformer(new ListWatch(transport, resource), {
    clock,
    watchList,
    fifo,
  });
  const repeats: boolean[] = [];
  const handler = {
    onAdd: (object: ConfigMap) => see('add', object),
    onUpdate(old: ConfigMap, now: ConfigMap): void {
      see('old', old);
      see('update', now);
      if (now.metadata.name === 'e') repeats.push(old === now);
    },
    onDelete(gone: ConfigMap | DeletedFinalStateUnknown<ConfigMap>): void {
      if (!(gone instanceof DeletedFinalStateUnknown)) see('delete', gone);
      else if (gone.obj !== undefined) see('tombstone', gone.obj);
    },
  };
  if (told) informer.addEventHandler(handler);
  void informer.run();
  await clock.settle();
  await client.patch(resource, at('a'), { type: 'merge', body: { data: { page: '2' } } });
  await client.delete(resource, at('b'));
  await clock.settle();
  // lists and watches
  const restore = transport.inject({ do: 'refuse', path: '/api/v1/configmaps' });
  transport.dropConnections();
  await client.delete(resource, at('c'));
  await client.create(resource, configMap('d', { page: '1' }));
  transport.expireHistory();
  restore();
  await clock.run(60_000);
  informer.addEventHandler(handler); // late
  await clock.settle();
  const indexer = informer.getIndexer();
  for (const object of [...indexer.list(), ...indexer.byIndex('byFunction', '2')])
    see('read', object);
  see('get', indexer.getByKey('default/d') as ConfigMap);
  await informer.stop();

  const wheres = told
    ? ['add', 'delete', 'get', 'index', 'old', 'read', 'tombstone', 'update']
    : ['add', 'get', 'index', 'read'];
  expect([...new Set(seen.map(([where]) => where))].sort()).toEqual(wheres);
  // a list that brings the same bytes brings the same object
  if (fifo === 'real') expect(repeats).toEqual(told ? [true] : []);
  for (const [where, object] of seen) {
    const { apiVersion, kind, metadata, data } = object;
    expect(Object.getPrototypeOf(object), where).toBe(Object.prototype);
    expect(Object.keys(object).sort().join(), where).toMatch(
      /^(apiVersion,data,kind|data),metadata$/,
    ); // items of a list do not say their kind
    expect(JSON.parse(JSON.stringify(object))).toEqual({
      ...(kind && { apiVersion, kind }),
      metadata,
      data,
    });
    expect(metadata.uid).toMatch(/^[0-9a-f-]{36}$/);
  }
});
