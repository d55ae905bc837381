/**
 * MutationCache: a program reads its own writes. Counterparts of client-go's mutation_cache_test.go
 * name their upstream test.
 */
import {
  compareResourceVersion,
  DeletedFinalStateUnknown,
  ExplicitKey,
  Indexer,
  type KubeObject,
  MutationCache,
  type MutationCacheOptions,
} from 'capstan/cache';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { FakeClock } from '../../../bindings/base/clock.ts';
import { setErrorHandler } from '../../../bindings/base/handle-error.ts';
import { LRUExpire } from '../../../bindings/base/lru-expire.ts';

interface Pod extends KubeObject {
  metadata: { name: string; uid?: string; resourceVersion?: string };
  node?: string;
}

const pod = (resourceVersion: string, uid = 'uid-1', node = 'n1', name = 'pod'): Pod => ({
  metadata: { name, uid, resourceVersion },
  node,
});

function setUp(options: MutationCacheOptions<Pod, string> = {}) {
  const clock = new FakeClock();
  const store = new Indexer<Pod>(undefined, { byNode: 'node' });
  return {
    clock,
    store,
    cache: new MutationCache<Pod>(store, { indexer: store, clock, ...options }),
  };
}

describe('a mutation cache', () => {
  test('gives the newer of the store and the write, compared as numbers', () => {
    const { store, cache } = setUp();
    store.add(pod('9'));
    cache.mutation(pod('10'));
    expect(cache.getByKey('pod')).toEqual(pod('10'));
    store.update(pod('11'));
    expect(cache.getByKey('pod')).toEqual(pod('11'));
    store.update(pod('9'));
    expect(cache.getByKey('pod'), 'a write is let go once the store has caught up').toEqual(
      pod('9'),
    );
  });

  test('keeps the newest of several writes', () => {
    const { store, cache } = setUp();
    store.add(pod('1'));
    cache.mutation(pod('3'));
    cache.mutation(pod('2'));
    expect(cache.getByKey('pod')).toEqual(pod('3'));
    cache.mutation(pod('3', 'uid-1', 'n2'));
    expect(cache.getByKey('pod')?.node).toBe('n2');
  });

  test.each([
    ['the same version', '2', '1'],
    ['a newer version', '3', '1'],
    ['an older version', '1', '2'],
  ])('gets %s of the store (TestMutationCacheOnAddOrUpdate)', (_, told, found) => {
    const { store, cache } = setUp();
    cache.mutation(pod('2'));
    cache.onAddOrUpdate(pod(told));
    store.add(pod('1')); // older than the write in any case: shows which of the two is left
    expect(cache.getByKey('pod')).toEqual(pod(found));
  });

  test.each([
    ['an older version of the same object', 'uid-1', '1', false],
    ['a newer version of another object', 'uid-2', '4', false],
    ['an older version of another object', 'uid-2', '1', true],
    ['the same version, from a cache that keeps no uids', '', '3', false],
  ])('gets a deletion: %s (TestMutationCacheOnDelete)', (_, uid, version, there) => {
    const { store, cache } = setUp({ includeAdds: true });
    store.add(pod('2'));
    cache.mutation(pod('3'));
    store.delete(pod(version, uid));
    cache.onDelete(new DeletedFinalStateUnknown('pod', pod(version, uid)));
    expect(cache.getByKey('pod')).toEqual(there ? pod('3') : undefined);
  });

  // TestMutationCacheUpdateConcurrentDelete
  test('drops a write that is older than the deletion of its object', () => {
    const { store, cache } = setUp({ includeAdds: true });
    store.add(pod('1'));
    store.update(pod('2'));
    store.delete(pod('2'));
    cache.onAddOrUpdate(pod('2'));
    cache.onDelete(pod('2'));
    cache.mutation(pod('2'));
    expect(cache.getByKey('pod')).toBeUndefined();
    cache.mutation(pod('3')); // another write of the same object, still older than its end
    expect(cache.getByKey('pod')).toBeUndefined();
    expect(cache.byIndex('byNode', 'n1')).toEqual([]);
    cache.mutation(pod('4', 'uid-2')); // a new object of that name
    expect(cache.getByKey('pod')).toEqual(pod('4', 'uid-2'));
  });

  // TestMutationCacheUpdateConcurrentRecreate
  test('gives the recreated object, not the late write', () => {
    const { store, cache } = setUp({ includeAdds: true });
    const again = pod('3', 'uid-2');
    store.add(again);
    cache.onAddOrUpdate(pod('2'));
    cache.onDelete(pod('2'));
    cache.onAddOrUpdate(again);
    cache.mutation(pod('2'));
    expect(cache.getByKey('pod')).toBe(again);
    expect(cache.byIndex('byNode', 'n1')).toEqual([again]);
  });

  // Two objects without a uid were treated as one, so the write of a recreated object was never
  // returned.
  test('gives a write after a deletion if objects have no uid', () => {
    const { cache } = setUp({ includeAdds: true });
    const bare = (version: string): Pod => ({
      metadata: { name: 'pod', resourceVersion: version },
    });
    cache.onDelete(bare('10'));
    cache.mutation(bare('10'));
    cache.mutation(bare('9'));
    expect(cache.getByKey('pod')).toBeUndefined();
    cache.mutation(bare('20'));
    expect(cache.getByKey('pod')).toEqual(bare('20'));
  });

  // TestMutationCacheOnDeleteClearsStaleMutation
  test('drops a write whose object was deleted', () => {
    const { cache } = setUp({ includeAdds: true });
    cache.mutation(pod('2'));
    expect(cache.byIndex('byNode', 'n1')).toEqual([pod('2')]);
    cache.onDelete(pod('1'));
    expect(cache.byIndex('byNode', 'n1')).toEqual([]);
    cache.onDelete(new DeletedFinalStateUnknown<Pod>('pod', undefined));
  });

  // client-go's GetByKey drops such a write at its first read, because it compares it with itself.
  test('gives a write that the store does not have yet only with includeAdds', () => {
    const without = setUp().cache;
    without.mutation(pod('2'));
    expect([without.getByKey('pod'), without.byIndex('byNode', 'n1')]).toEqual([undefined, []]);
    const { cache } = setUp({ includeAdds: true });
    cache.mutation(pod('2'));
    expect([cache.getByKey('pod'), cache.getByKey('pod')]).toEqual([pod('2'), pod('2')]);
    expect(cache.byIndex('byNode', 'other')).toEqual([]);
  });

  test('finds a write under its new index value, but not one that is older than the store', () => {
    const { store, cache } = setUp({ includeAdds: true });
    store.add(pod('1'));
    cache.mutation(pod('2', 'uid-1', 'n2'));
    expect(cache.byIndex('byNode', 'n2').map(({ node }) => node)).toEqual(['n2']);
    store.update(pod('3'));
    expect(cache.byIndex('byNode', 'n2')).toEqual([]);
    expect(cache.byIndex('byNode', 'n1')).toEqual([pod('3')]);
  });

  test('keeps a write for ttl, and at most maxCacheSize writes', () => {
    const { clock, store, cache } = setUp({ ttl: 100, maxCacheSize: 2 });
    for (const name of ['a', 'b', 'c']) store.add(pod('1', 'u', 'n1', name));
    const versions = (): (string | undefined)[] =>
      ['a', 'b', 'c'].map((name) => cache.getByKey(name)?.metadata.resourceVersion);
    for (const name of ['a', 'b']) cache.mutation(pod('2', 'u', 'n1', name));
    cache.getByKey('a');
    cache.mutation(pod('2', 'u', 'n1', 'c'));
    expect(versions(), 'the one used longest ago is gone').toEqual(['2', '1', '2']);
    clock.step(100);
    expect(versions()).toEqual(['2', '1', '2']);
    clock.step(1);
    expect(versions()).toEqual(['1', '1', '1']);
  });

  test('gives an object that is written and stored under one value once', () => {
    const { store, cache } = setUp({ includeAdds: true });
    store.addIndexers({ byUid: 'metadata.uid' });
    store.add(pod('1'));
    cache.mutation(pod('2'));
    expect(cache.byIndex('byNode', 'n1')).toEqual([pod('2')]);
    cache.onDelete(pod('3', 'uid-3', 'n1', 'gone'));
    cache.onDelete(new ExplicitKey('another') as never);
    expect(cache.byIndex('byUid', 'uid-3')).toEqual([]);
  });

  test('finds writes by an index function, also beside a key without an object', () => {
    const indexer: MutationCacheOptions<Pod, string>['indexer'] = {
      indexKeys: () => ['expired'],
      getByKey: () => undefined,
      getIndexers: () => ({ byNode: ({ node = '' }) => [node] }),
    };
    const { cache } = setUp({ includeAdds: true, indexer });
    expect(cache.byIndex('byNode', 'n1')).toEqual([]);
    cache.mutation(pod('2'));
    expect(cache.byIndex('byNode', 'n1')).toEqual([pod('2')]);
  });

  test('reports an index function that throws, and does not find the write by it', () => {
    const { store, cache } = setUp({ includeAdds: true });
    store.addIndexers({
      broken: () => {
        throw new Error('no value');
      },
    });
    const reported: string[] = [];
    const previous = setErrorHandler((_, what) => reported.push(what));
    cache.mutation(pod('2'));
    expect(cache.byIndex('broken', 'x')).toEqual([]);
    setErrorHandler(previous);
    expect(reported).toEqual(['index function "broken"']);
  });

  test('treats an object without a version as older than any other', () => {
    const { store, cache } = setUp();
    const invalid = expect.objectContaining({ code: 'INVALID_ARGUMENT' });
    store.add({ metadata: { name: 'pod' } });
    cache.mutation({ metadata: { name: 'pod', resourceVersion: '0' }, node: 'x' });
    expect(cache.getByKey('pod')?.node, 'neither has one').toBeUndefined();
    cache.mutation(pod('1'));
    expect(cache.getByKey('pod')).toEqual(pod('1'));
    store.update(pod('5'));
    cache.onDelete({ metadata: { name: 'pod', uid: 'uid-0' } });
    expect(cache.getByKey('pod'), 'a deletion without a version').toEqual(pod('5'));
    cache.onDelete({ metadata: { name: 'pod', uid: 'uid-0' } });
    cache.mutation(pod('6'));
    expect(cache.getByKey('pod')).toEqual(pod('6'));
    const anything = new MutationCache<Pod>({ getByKey: () => ({}) as Pod });
    anything.mutation(pod('1'));
    expect(
      anything.getByKey('pod'),
      'a store by keys of its own may have objects without metadata',
    ).toEqual(pod('1'));
    const { cache: empty } = setUp();
    for (const version of ['1a', '07', 7]) {
      const named = expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        message: expect.stringMatching(/resourceVersion/),
      });
      expect(() => empty.mutation(pod(version as string))).toThrow(named);
      expect(() => empty.onDelete(pod(version as string))).toThrow(named);
    }
    expect(() => new MutationCache(store, { maxCacheSize: 0 })).toThrow(invalid);
    expect(() => new MutationCache({} as never)).toThrow(invalid);
    expect(() => new MutationCache(undefined as never)).toThrow(invalid);
    expect(() => new MutationCache(store).byIndex('byNode', 'n1')).toThrow(/without an indexer/);
  });
});

describe('resource versions', () => {
  test('compare as decimal numbers of any length (TestCompareResourceVersion)', () => {
    const ascending = [
      '1',
      '9',
      '10',
      '11',
      '99',
      '100',
      '9007199254740992',
      '9007199254740993',
      `1${'0'.repeat(40)}`,
    ];
    ascending.forEach((a, i) => {
      ascending.forEach((b, j) => {
        expect(compareResourceVersion(a, b), `${a} and ${b}`).toBe(Math.sign(i - j));
      });
    });
  });

  test('that are invalid are refused on either side', () => {
    for (const bad of [
      '',
      '0',
      '00',
      '01',
      '-1',
      '+1',
      '1.0',
      '1e3',
      ' 1',
      '1\n',
      'a',
      '١',
      '0x1',
      7,
      null,
      undefined,
    ]) {
      expect(() => compareResourceVersion(bad as string, '1'), String(bad)).toThrow(/"a" expected/);
      expect(() => compareResourceVersion('1', bad as string), String(bad)).toThrow(/"b" expected/);
    }
  });
});

test('an LRU with expiry evicts the least recently used entry, and listing is not a use', () => {
  const clock = new FakeClock();
  const lru = new LRUExpire<number>(2, clock);
  lru.set('a', 1, 10);
  lru.set('b', 2, 20);
  expect(lru.unexpired()).toEqual([
    ['a', 1],
    ['b', 2],
  ]);
  lru.set('c', 3, 20);
  expect(lru.get('a')).toBeUndefined();
  expect(lru.get('b')).toBe(2);
  lru.set('c', 4, 5);
  clock.step(6);
  expect(lru.unexpired()).toEqual([['b', 2]]);
  lru.delete('b');
  expect([lru.get('b'), lru.get('c')]).toEqual([undefined, undefined]);
});

// Each write to a full cache of 64 000 entries iterated over all dropped keys, some ten thousand.
test('a full, large LRU with expiry seldom searches for the least recently used entry', () => {
  const [size, writes] = [10_000, 5000];
  const lru = new LRUExpire<number>(size, new FakeClock());
  for (let i = 0; i < size; i++) lru.set(`k${i}`, i, 10);
  const looks = vi.spyOn(Map.prototype, 'keys');
  onTestFinished(() => looks.mockRestore());
  for (let i = size; i < size + writes; i++) lru.set(`k${i}`, i, 10);
  expect(looks.mock.calls.length).toBeLessThan(writes / 30);
  const kept = lru.unexpired();
  expect(kept.length).toBeGreaterThan(size * 0.99);
  expect(kept.length).toBeLessThanOrEqual(size);
  expect(kept.at(-1)).toEqual([`k${size + writes - 1}`, size + writes - 1]);
});
