/**
 * A counterpart for each test of client-go's thread_safe_store_test, index_test, store_test,
 * expiration_cache_test and undelta_store_test that has a meaning here; the upstream test's name
 * stands in the title.
 */
import {
  DeletedFinalStateUnknown,
  deletionHandlingMetaNamespaceKeyFunc,
  ExpirationCache,
  Indexer,
  type KubeObject,
  newStore,
  newTTLStore,
  type Store,
  ThreadSafeStore,
  TransactionError,
  TTLPolicy,
  UndeltaStore,
} from 'capstan/cache';
import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../../bindings/base/clock.ts';

interface Item {
  readonly id: string;
  readonly val: string;
}

const item = (id: string, val: string): Item => ({ id, val });
const idOf = (object: Item | DeletedFinalStateUnknown<Item>): string =>
  object instanceof DeletedFinalStateUnknown ? object.key : object.id;
const invalid = expect.objectContaining({ code: 'INVALID_ARGUMENT' });

function checkStore(store: Store<Item>): void {
  const values = (): string[] =>
    store
      .list()
      .map(({ val }) => val)
      .sort();
  store.add(item('foo', 'bar'));
  expect(store.get(item('foo', ''))).toEqual(item('foo', 'bar'));
  store.update(item('foo', 'baz'));
  expect(store.getByKey('foo')).toEqual(item('foo', 'baz'));
  store.delete(item('foo', ''));
  expect(store.get(item('foo', ''))).toBeUndefined();
  store.add(item('a', 'b'));
  store.add(item('c', 'd'));
  store.add(item('e', 'e'));
  expect(values()).toEqual(['b', 'd', 'e']);
  store.replace([item('foo', 'foo'), item('bar', 'bar')], '7');
  expect(values()).toEqual(['bar', 'foo']);
  expect(store.listKeys().sort()).toEqual(['bar', 'foo']);
  expect(store.lastStoreSyncResourceVersion()).toBe('7');
  store.bookmark('8');
  store.resync();
  store.delete(new DeletedFinalStateUnknown<Item>('foo', undefined));
  expect(store.listKeys()).toEqual(['bar']);
  expect(store.lastStoreSyncResourceVersion()).toBe('8');
}

describe('stores', () => {
  test('hold the last object of a key (TestCache)', () => checkStore(newStore(idOf)));
  test('hold it also as an Indexer and as an UndeltaStore (TestCache, TestUndeltaStore)', () => {
    checkStore(new Indexer<Item>(idOf));
    checkStore(new UndeltaStore<Item>(() => undefined, idOf));
  });
  test('hold it also as an expiring store without expiry', () => checkStore(newTTLStore(idOf, 0)));

  // TestCacheWithTransformer
  test('with a transformer hold its results, under the original keys', () => {
    const seen: Item[] = [];
    const transformer = (one: Item): Item => {
      seen.push(one);
      return one;
    };
    checkStore(newStore(idOf, { transformer }));
    expect(seen.map(({ val }) => val)).toEqual(['bar', 'baz', 'b', 'd', 'e', 'foo', 'bar']);
    const upper = newStore<Item>(idOf, {
      transformer: ({ id, val }) => item(id.toUpperCase(), val),
    });
    upper.add(item('a', '1'));
    upper.update(item('a', '2'));
    expect(upper.listKeys()).toEqual(['a']);
    expect(upper.list()).toEqual([item('A', '2')]);
    upper.replace([item('b', '3')], '5');
    expect(upper.getByKey('b')).toEqual(item('B', '3'));
    upper.delete(item('b', ''));
    expect(upper.list()).toEqual([]);
  });

  test('do not change if the transformer throws', () => {
    const store = newStore<Item>(idOf, {
      transformer(one) {
        if (one.val === 'bad') throw new Error('refused');
        return one;
      },
    });
    store.add(item('a', 'good'));
    expect(() => store.add(item('a', 'bad'))).toThrow('refused');
    expect(() => store.replace([item('b', 'good'), item('c', 'bad')], '5')).toThrow('refused');
    expect(store.list()).toEqual([item('a', 'good')]);
  });

  test('refuse a key function that does not return strings, and an invalid one', () => {
    const noString = (() => 7) as never;
    for (const store of [
      newStore<Item>(noString, { transformer: (one) => one }),
      newTTLStore<Item>(noString, 1),
    ]) {
      expect(() => store.add(item('a', 'b'))).toThrow(invalid);
      expect(store.list()).toEqual([]);
    }
    expect(() => newStore<Item>(1 as never)).toThrow(invalid);
    expect(() => newStore<Item>(1 as never, { transformer: (one) => one })).toThrow(invalid);
    expect(() => newStore<Item>(idOf, { transformer: 1 as never })).toThrow(invalid);
    expect(() => new UndeltaStore(1 as never)).toThrow(invalid);
    expect(() => newTTLStore(idOf, 'soon' as never)).toThrow(invalid);
    expect(() => new ExpirationCache(idOf, {} as never)).toThrow(invalid);
  });

  test('find objects by the index values of another (TestIndex)', () => {
    const indexer = new Indexer<Item, 'byVal'>(idOf, { byVal: ({ val }) => [val] });
    for (const one of [item('a', 'b'), item('c', 'b'), item('e', 'f'), item('g', 'h')])
      indexer.add(one);
    const ids = (val: string): string[] =>
      indexer.index('byVal', item('', val)).map(({ id }) => id);
    expect(ids('b').sort()).toEqual(['a', 'c']);
    expect(ids('f')).toEqual(['e']);
    expect(ids('h')).toEqual(['g']);
  });

  // TestCacheTransactionShouldIndexErrors
  test('leave out only the failed changes of a transaction', () => {
    const keyFunc = (object: Item | DeletedFinalStateUnknown<Item>): string => {
      if (idOf(object).startsWith('fail')) throw new Error(`no key for ${idOf(object)}`);
      return idOf(object);
    };
    const add = (id: string) => ({ type: 'Add', object: item(id, id) }) as const;
    for (const store of [newStore(keyFunc), newStore(keyFunc, { transformer: (one) => one })]) {
      store.transaction();
      store.transaction(add('a'), add('b'));
      expect(() => store.transaction(add('fail 1'), add('fail 2'))).toThrow(
        expect.objectContaining({
          code: 'TRANSACTION',
          successfulIndices: [],
          totalTransactions: 2,
        }),
      );
      let error: unknown;
      try {
        store.transaction(
          add('c'),
          add('fail 1'),
          { type: 'Update', object: item('a', 'new') },
          { type: 'Delete', object: item('b', '') },
          { type: 'Delete', object: item('fail 2', '') },
        );
      } catch (thrown) {
        error = thrown;
      }
      expect(error).toBeInstanceOf(TransactionError);
      expect(error).toMatchObject({
        name: 'TransactionError',
        successfulIndices: [0, 2, 3],
        totalTransactions: 5,
      });
      expect((error as TransactionError).errors.map(String)).toEqual([
        'Error: no key for fail 1',
        'Error: no key for fail 2',
      ]);
      expect((error as TransactionError).cause).toBe((error as TransactionError).errors[0]);
      expect((error as TransactionError).message).toBe(
        '2 of 5 changes failed: no key for fail 1; no key for fail 2',
      );
      expect(store.list().sort((a, b) => (a.id < b.id ? -1 : 1))).toEqual([
        item('a', 'new'),
        item('c', 'c'),
      ]);
    }
    const unknown = { type: 'Remove', object: item('a', '') } as never;
    expect(() => newStore(idOf).transaction(unknown)).toThrow(/'Add', 'Update' or 'Delete'/);
    expect(() => new ThreadSafeStore<Item>().transaction(unknown)).toThrow(
      /'Add', 'Update' or 'Delete'/,
    );
  });

  // client-go names the object in a KeyError; here the caller gets the error of the key function.
  test('throw the error of a key function unchanged (TestKeyError)', () => {
    const error = new Error('the key');
    const failing = (): never => {
      throw error;
    };
    for (const store of [newStore<Item>(failing), newTTLStore<Item>(failing, 1)]) {
      for (const call of [
        () => store.add(item('', '')),
        () => store.get(item('', '')),
        () => store.delete(item('', '')),
      ])
        expect(call).toThrow(error);
    }
  });
});

describe('a ThreadSafeStore', () => {
  type Text = KubeObject & { readonly text: string };
  const text = (of: string): Text => ({ text: of });
  const versioned = (resourceVersion: string): Text => ({
    text: '',
    metadata: { resourceVersion },
  });

  // Kubernetes 84959: empty sets were kept, so memory grew with every value ever seen.
  // TestThreadSafeStoreDeleteRemovesEmptySetsFromIndex
  test('removes an index value with its last object', () => {
    const store = new ThreadSafeStore<Text, 'byText'>({ byText: 'text' });
    store.add('key', text('value'));
    expect(store.listIndexFuncValues('byText')).toEqual(['value']);
    store.delete('key');
    expect(store.listIndexFuncValues('byText')).toEqual([]);
  });

  // TestThreadSafeStoreAddKeepsNonEmptySetPostDeleteFromIndex
  test('keeps an index value that has another object', () => {
    const store = new ThreadSafeStore<Text, 'all'>({ all: () => ['all'] });
    store.add('retain', text('retain'));
    store.add('delete', text('delete'));
    store.delete('delete');
    expect(store.indexKeys('all', 'all')).toEqual(['retain']);
    expect(store.byIndex('all', 'all')).toEqual([text('retain')]);
  });

  // TestThreadSafeStoreIndexingFunctionsWithMultipleValues
  test('moves objects between the values of an index', () => {
    const store = new ThreadSafeStore<Text, 'parts'>({ parts: ({ text }) => text.split(',') });
    const expectKeys = (foo: string[], bar: string[], baz: string[] = []): void => {
      expect(['foo', 'bar', 'baz'].map((value) => store.indexKeys('parts', value))).toEqual([
        foo,
        bar,
        baz,
      ]);
    };
    store.add('key1', text('foo'));
    store.add('key2', text('bar'));
    expectKeys(['key1'], ['key2']);
    store.update('key2', text('foo,bar'));
    expectKeys(['key1', 'key2'], ['key2']);
    store.update('key1', text('foo,bar'));
    expectKeys(['key1', 'key2'], ['key1', 'key2']);
    store.add('key3', text('foo,bar,baz'));
    expectKeys(['key1', 'key2', 'key3'], ['key1', 'key2', 'key3'], ['key3']);
    store.update('key1', text('foo'));
    expectKeys(['key1', 'key2', 'key3'], ['key2', 'key3'], ['key3']);
    store.update('key2', text('bar'));
    expectKeys(['key1', 'key3'], ['key2', 'key3'], ['key3']);
    store.delete('key1');
    expectKeys(['key3'], ['key2', 'key3'], ['key3']);
    store.delete('key3');
    expectKeys([], ['key2']);
  });

  test('has the version of its last change that had one (TestThreadSafeStoreRV)', () => {
    const store = new ThreadSafeStore<Text>();
    const version = (): string => store.lastStoreSyncResourceVersion();
    expect(version()).toBe('');
    store.add('key1', versioned('10'));
    expect(version()).toBe('10');
    store.add('key4', versioned('20'));
    expect(version()).toBe('20');
    store.deleteWithObject('key4', versioned('30'));
    expect(version()).toBe('30');
    store.add('key5', text('no object of an API server'));
    expect(version()).toBe('30');
    store.add('key6', versioned('40'));
    store.delete('key6');
    expect(version()).toBe('40');
    store.transaction(
      { type: 'Update', key: 'key9', object: versioned('40') },
      { type: 'Add', key: 'key10', object: versioned('30') },
      { type: 'Update', key: 'key11', object: versioned('50') },
      { type: 'Delete', key: 'key1' },
    );
    expect(version()).toBe('50');
    expect(store.get('key1')).toBeUndefined();
    store.transaction({ type: 'Delete', key: 'key9', object: versioned('60') });
    expect(version()).toBe('60');
    store.replace(
      new Map([
        ['key3', versioned('40')],
        ['key2', versioned('30')],
      ]),
      '70',
    );
    expect(version()).toBe('70');
    expect(store.listKeys().sort()).toEqual(['key2', 'key3']);
    store.bookmark('80');
    store.resync();
    expect(version()).toBe('80');
    expect(store.list()).toHaveLength(2);
  });

  test('returns its indices unchanged, and adds more while it holds objects', () => {
    const first = ({ text }: Text): string[] => [text.charAt(0)];
    const store = new ThreadSafeStore<Text>({ first });
    store.add('a', text('xyz'));
    store.addIndexers({ whole: 'text' });
    expect(store.getIndexers()).toEqual({ first, whole: 'text' });
    expect(store.index('whole', text('xyz'))).toEqual([text('xyz')]);
    expect(store.index('first', text('x'))).toEqual([text('xyz')]);
    const code = (expected: string) => expect.objectContaining({ code: expected });
    expect(() => store.addIndexers({ other: 'text', first })).toThrow(code('INDEX_EXISTS'));
    expect(() => store.byIndex('other', 'x')).toThrow(code('UNKNOWN_INDEX'));
    expect(Object.keys(store.getIndexers())).toEqual(['first', 'whole']);
  });
});

describe('an Indexer', () => {
  interface Pod extends KubeObject {
    metadata: {
      name: string;
      labels?: Record<string, string>;
      annotations?: Record<string, string>;
    };
  }
  const users = (name: string, list: string): Pod => ({
    metadata: { name, annotations: { users: list } },
  });

  test('lists each index value once (TestGetIndexFuncValues)', () => {
    const index = new Indexer<Pod>(undefined, { mode: (pod) => [pod.metadata.labels?.foo ?? ''] });
    for (const [name, foo] of [
      ['one', 'bar'],
      ['two', 'bar'],
      ['tre', 'biz'],
    ] as const) {
      index.add({ metadata: { name, labels: { foo } } });
    }
    expect(index.listIndexFuncValues('mode').sort()).toEqual(['bar', 'biz']);
  });

  test('finds an object by each of its values, and not by former ones (TestMultiIndexKeys)', () => {
    const index = new Indexer<Pod>(undefined, {
      byUser: (pod) => pod.metadata.annotations?.users?.split(',') ?? [],
    });
    const names = (user: string): string[] =>
      index.byIndex('byUser', user).map(({ metadata }) => metadata.name);
    const tre = users('tre', 'ernie,elmo');
    for (const pod of [users('one', 'ernie,bert'), users('two', 'bert,oscar'), tre]) index.add(pod);
    expect(names('ernie').sort()).toEqual(['one', 'tre']);
    expect(names('bert').sort()).toEqual(['one', 'two']);
    expect([names('elmo'), names('oscar'), names('elmo1')]).toEqual([['tre'], ['two'], []]);
    index.delete(tre);
    expect([names('ernie'), names('elmo')]).toEqual([['one'], []]);
    index.update(users('two', 'oscar'));
    expect(names('bert')).toEqual(['one']);
  });

  // client-go: rvFromObject. An object without metadata used to clear the store's version.
  test('keeps its version if an object has no metadata', () => {
    const index = new Indexer<Item>(idOf);
    index.replace([item('a', '1')], '10');
    index.add(item('b', '2'));
    index.delete(item('a', '1'));
    expect(index.lastStoreSyncResourceVersion()).toBe('10');
  });
});

describe('an expiring store', () => {
  /** Expires everything except the keys to keep. */
  function setUp(...kept: string[]) {
    const policy = {
      kept: new Set(kept),
      isExpired: ({ object }: { object: Item }) => !policy.kept.has(object.id),
    };
    return { policy, store: new ExpirationCache<Item>(idOf, policy) };
  }

  test('drops an expired object when it is read (TestTTLExpirationBasic)', () => {
    const { store } = setUp();
    store.add(item('foo', 'bar'));
    expect(store.listKeys()).toEqual(['foo']);
    expect(store.get(item('foo', ''))).toBeUndefined();
    expect(store.listKeys()).toEqual([]);
  });

  test('has an object that was added again after it expired (TestReAddExpiredItem)', () => {
    const { store, policy } = setUp();
    store.add(item('foo', 'bar'));
    expect(store.get(item('foo', ''))).toBeUndefined();
    store.add(item('foo', 'different'));
    policy.kept.add('foo');
    expect(store.getByKey('foo')).toEqual(item('foo', 'different'));
  });

  test('lists objects that have not expired and drops the rest (TestTTLList)', () => {
    const { store } = setUp('foo1');
    for (const id of ['foo', 'foo1', 'foo2']) store.add(item(id, id));
    expect(store.list()).toEqual([item('foo1', 'foo1')]);
    expect(store.listKeys()).toEqual(['foo1']);
  });

  // TestTTLPolicy
  test('expires objects older than ttl, and nothing without a ttl', () => {
    const clock = new FakeClock(1_000_000);
    const aged = (ms: number) => ({ object: item('foo', 'bar'), timestamp: clock.now() - ms });
    const policy = new TTLPolicy<Item>(30_000, clock);
    expect([0, 30_000, 30_001].map((ms) => policy.isExpired(aged(ms)))).toEqual([
      false,
      false,
      true,
    ]);
    for (const ttl of [0, -1])
      expect(new TTLPolicy<Item>(ttl, clock).isExpired(aged(30_001))).toBe(false);
  });

  test('counts from the last time that an object was stored', () => {
    const clock = new FakeClock();
    const store = newTTLStore<KubeObject>(deletionHandlingMetaNamespaceKeyFunc, 100, { clock });
    const pod: KubeObject = { metadata: { name: 'a', resourceVersion: '5' } };
    store.add(pod);
    clock.step(100);
    expect(store.getByKey('a')).toBe(pod);
    store.update(pod);
    clock.step(100);
    expect(store.list()).toEqual([pod]);
    store.replace([pod], '9');
    clock.step(101);
    expect([store.lastStoreSyncResourceVersion(), store.list()]).toEqual(['9', []]);
    store.delete(pod);
    expect(store.lastStoreSyncResourceVersion()).toBe('5');
  });
});

describe('an UndeltaStore', () => {
  function setUp() {
    const pushed: Item[][] = [];
    return { pushed, store: new UndeltaStore<Item>((all) => pushed.push(all), idOf) };
  }

  // TestUpdateCallsPush, TestDeleteCallsPush, TestReplaceCallsPush
  test('pushes everything once for each change', () => {
    const { pushed, store } = setUp();
    store.add(item('a', '2'));
    store.update(item('a', '1'));
    store.delete(item('a', ''));
    store.replace([item('b', '1'), item('c', '1')], '0');
    expect(pushed).toEqual([
      [item('a', '2')],
      [item('a', '1')],
      [],
      [item('b', '1'), item('c', '1')],
    ]);
  });

  test('pushes nothing for reads (TestReadsDoNotCallPush)', () => {
    const { pushed, store } = setUp();
    store.list();
    store.get(item('a', ''));
    store.resync();
    store.bookmark('5');
    expect(pushed).toEqual([]);
  });
});
