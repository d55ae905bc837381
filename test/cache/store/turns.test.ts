/**
 * Reads of a store and new indices that take many turns of the event loop. The clock moves whenever
 * it is read, so that each step ends its turn.
 */
import { Lister } from 'capstan/cache';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { macrotask, systemClock } from '../../../bindings/base/clock.ts';
import { ByteStore, type Thing, thing } from '../../helpers/cache/byte-store.ts';
import { expectError, expectRejection } from '../../helpers/expect-error.ts';

beforeEach(() => {
  let now = 0;
  vi.spyOn(systemClock, 'now').mockImplementation(() => (now += 5));
});
afterEach(() => {
  vi.restoreAllMocks();
});

const COUNT = 60;
const stateOf = ({ metadata }: Thing): string => `${metadata.name}@${metadata.resourceVersion}`;

function labelled(name: string, version: number): Thing {
  const made = thing(name, version);
  made.metadata.labels = { app: `a${version % 3}` };
  return made;
}

function filled(keep: 'bytes' | 'objects') {
  const world = new ByteStore({ byApp: 'metadata.labels' });
  const { store } = world;
  const make = (name: string, version: number): Thing => {
    const made = labelled(name, version);
    return keep === 'bytes' ? world.object(made) : made;
  };
  for (let i = 0; i < COUNT; i++) store.add(make(`t${i}`, i));
  return { world, store, make };
}

describe.each(['bytes', 'objects'] as const)('with %s', (keep) => {
  test('listAsync gives the objects of the moment in which it was called', async () => {
    const { store, make, world } = filled(keep);
    const before = store.list().map(stateOf).sort();
    let isDone = false;
    const listing = store.listAsync().finally(() => {
      isDone = true;
    });
    await macrotask();
    store.replace([make('t1', 100), make('new', 101)], '102');
    await macrotask();
    store.add(make('t2', 103));
    expect(isDone).toBe(false);
    const listed = await listing;
    expect(listed.map(stateOf).sort()).toEqual(before);
    expect((await store.listAsync()).map(stateOf).sort()).toEqual(['new@101', 't1@100', 't2@103']);
    // nothing is held any more
    store.replace([], '104');
    store.settle();
    expect(world.store.bytes().live).toBe(0);
  });

  test('by labels and by an index it has what the filtered list has', async () => {
    const { store } = filled(keep);
    const wanted = store
      .list()
      .filter(({ metadata }) => metadata.labels?.app === 'a1')
      .map(stateOf)
      .sort();
    expect(wanted).toHaveLength(COUNT / 3);
    const names = async (listing: Promise<Thing[]>) => (await listing).map(stateOf).sort();
    expect(await names(store.listAsync({ labelSelector: 'app=a1' }))).toEqual(wanted);
    const index = { name: 'byApp', value: 'app=a1' };
    expect(await names(store.listAsync({ index }))).toEqual(wanted);
    expect(await names(store.listAsync({ index, labelSelector: 'app!=a1' }))).toEqual([]);
    const lister = new Lister<Thing>(store);
    expect(await names(lister.listAsync({ labelSelector: 'app=a1' }))).toEqual(wanted);
    expect(await names(lister.namespace('n').listAsync({ labelSelector: 'app=a1' }))).toEqual(
      wanted,
    );
    expect(await names(lister.namespace('other').listAsync())).toEqual([]);
  });

  test('it gives the object that others hold, as list does', async () => {
    const { store } = filled(keep);
    const held = store.getByKey('n/t7');
    expect((await store.listAsync()).find(({ metadata }) => metadata.name === 't7')).toBe(held);
  });

  test('it is refused with a wrong option, and ended by its signal', async () => {
    const { store, world } = filled(keep);
    await expectRejection(
      store.listAsync({ labels: 'a' } as never),
      'INVALID_ARGUMENT',
      'labelSelector',
    );
    await expectRejection(store.listAsync({ labelSelector: '=' }), 'INVALID_ARGUMENT');
    await expectRejection(store.listAsync({ index: { name: 'none', value: '' } }), 'UNKNOWN_INDEX');
    await expectRejection(store.listAsync({ signal: AbortSignal.abort() }), 'ABORTED');
    const controller = new AbortController();
    const listing = store.listAsync({ signal: controller.signal });
    await macrotask();
    controller.abort();
    await expectRejection(listing, 'ABORTED');
    store.replace([], '1');
    store.settle();
    expect(world.store.bytes().live).toBe(0);
  });

  test('iterate gives each object that stays once, also over changes', async () => {
    const { store, make } = filled(keep);
    const seen = new Map<string, number>();
    for (const { metadata } of store.iterate()) {
      seen.set(metadata.name, (seen.get(metadata.name) ?? 0) + 1);
      if (seen.size === 10) {
        store.add(make('t0', 200));
        store.add(make('t50', 201));
        store.delete(make('t55', 202));
        await macrotask();
      }
    }
    for (let i = 0; i < COUNT; i++) if (i !== 55) expect(seen.get(`t${i}`)).toBe(1);
    expect(seen.has('t55')).toBe(false);
    expect([...store.iterate()].map(stateOf).sort()).toEqual(store.list().map(stateOf).sort());
  });

  test('indices that are added in turns follow every change, and are there together', async () => {
    const { store, make } = filled(keep);
    const adding = store.addIndexersAsync({
      path: 'metadata.name',
      own: ({ metadata }) => [metadata.resourceVersion ?? ''],
    });
    await macrotask();
    expect(Object.keys(store.getIndexers())).toEqual(['byApp']);
    store.add(make('t0', 300)); // has been passed already
    store.add(make('t59', 301)); // has not
    store.delete(make('t1', 302));
    store.delete(make('t58', 303));
    store.add(make('new', 304));
    expectError(() => store.byIndex('own', '300'), 'UNKNOWN_INDEX');
    await adding;
    for (const object of store.list()) {
      expect(store.indexKeys('path', object.metadata.name)).toEqual([`n/${object.metadata.name}`]);
      expect(store.byIndex('own', object.metadata.resourceVersion as string)).toEqual([object]);
    }
    expect(store.listIndexFuncValues('path')).toHaveLength(store.size());
    expect(store.listIndexFuncValues('own')).toHaveLength(store.size());
  });

  test('an index that is refused, ended or throws can be added later', async () => {
    const { store, make } = filled(keep);
    const controller = new AbortController();
    const adding = store.addIndexersAsync({ late: 'metadata.name' }, { signal: controller.signal });
    await macrotask();
    expectError(() => store.addIndexers({ late: 'metadata.name' }), 'INDEX_EXISTS');
    await expectRejection(store.addIndexersAsync({ byApp: 'metadata.name' }), 'INDEX_EXISTS');
    controller.abort();
    await expectRejection(adding, 'ABORTED');
    let calls = 0;
    const broken = store.addIndexersAsync({
      late: 'metadata.name',
      broken: () => {
        if (++calls === 30) throw new Error('boom');
        return [];
      },
    });
    await expect(broken).rejects.toThrow('boom');
    expect(Object.keys(store.getIndexers())).toEqual(['byApp']);
    store.add(make('new', 400));
    expect(calls).toBe(30);
    await store.addIndexersAsync({ late: 'metadata.name' });
    expect(store.indexKeys('late', 'new')).toEqual(['n/new']);
  });
});
