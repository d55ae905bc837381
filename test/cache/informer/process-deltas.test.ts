/**
 * Applying deltas to a store, and the resulting notifications. Counterparts of client-go's
 * controller_test.go name their upstream test.
 */
import { describe, expect, test, vi } from 'vitest';
import type { KubeObject } from '../../../bindings/base/object.ts';
import {
  type DeltaHandler,
  type DeltaStore,
  processDelta,
  processDeltas,
  processDeltasInBatch,
} from '../../../bindings/cache/informer/process-deltas.ts';
import type { Delta } from '../../../bindings/cache/queue/deltas.ts';
import {
  DeletedFinalStateUnknown,
  metaNamespaceKeyFunc,
} from '../../../bindings/cache/rest/keys.ts';
import { Indexer } from '../../../bindings/cache/store/store.ts';
import { TransactionError } from '../../../bindings/cache/store/store-types.ts';

const pod = (name: string, resourceVersion: string): KubeObject => ({
  metadata: { name, resourceVersion },
});
const show = (object: KubeObject): string =>
  `${object.metadata?.name}@${object.metadata?.resourceVersion}`;

/** A store and the log of its handler; `content` beside each call is the store at that moment. */
function setUp(...objects: KubeObject[]) {
  const store = new Indexer<KubeObject>();
  for (const object of objects) store.add(object);
  const calls: string[] = [];
  const contents: string[] = [];
  const log = (line: string): void => {
    calls.push(line);
    contents.push(store.list().map(show).sort().join(' '));
  };
  const handler: DeltaHandler<KubeObject> = {
    onAdd: (object, isInInitialList) =>
      log(`add ${show(object)}${isInInitialList ? ' initial' : ''}`),
    onUpdate: (old, now) => log(`update ${show(old)} ${show(now)}`),
    onDelete: (object) => {
      if (object instanceof DeletedFinalStateUnknown)
        log(`tombstone ${object.key} ${object.obj && show(object.obj)}`);
      else log(`delete ${show(object)}`);
    },
  };
  const apply = (delta: Delta<KubeObject>, isInInitialList = false): string[] => {
    processDelta(handler, store, delta, isInInitialList);
    return calls.splice(0);
  };
  return { store, handler, apply, contents, calls };
}

describe('a delta', () => {
  test('is an addition of an unknown object and an update of a known one', () => {
    for (const type of ['Added', 'Updated', 'Replaced', 'Sync'] as const) {
      const { apply, store } = setUp();
      expect(apply({ type, object: pod('a', '1') }, true)).toEqual(['add a@1 initial']);
      expect(apply({ type, object: pod('a', '2') }, true)).toEqual(['update a@1 a@2']);
      expect(store.lastStoreSyncResourceVersion()).toBe('2');
    }
  });

  test('of a deletion notifies also for an unknown object', () => {
    const { apply, store } = setUp(pod('a', '1'));
    expect(apply({ type: 'Deleted', object: pod('a', '2') })).toEqual(['delete a@2']);
    expect(apply({ type: 'Deleted', object: pod('b', '3') })).toEqual(['delete b@3']);
    expect(
      apply({ type: 'Deleted', object: new DeletedFinalStateUnknown<KubeObject>('c', undefined) }),
    ).toEqual(['tombstone c undefined']);
    expect(store.list()).toEqual([]);
    expect(store.lastStoreSyncResourceVersion()).toBe('3');
  });

  test('of a list gives tombstones first, then additions and updates in its order', () => {
    const { apply, store } = setUp(pod('gone', '1'), pod('kept', '2'));
    const objects = [pod('new', '4'), pod('kept', '3'), pod('new', '5'), pod('kept', '2')];
    expect(apply({ type: 'ReplacedAll', objects, resourceVersion: '9' }, true)).toEqual([
      'tombstone gone gone@1',
      'add new@4 initial',
      'update kept@2 kept@3',
      'add new@5 initial',
      'update kept@2 kept@2',
    ]);
    expect(store.list().map(show).sort()).toEqual(['kept@2', 'new@5']);
    expect(store.lastStoreSyncResourceVersion()).toBe('9');
  });

  test('of a resync gives updates of all objects; a bookmark only sets the version', () => {
    const { apply, store } = setUp(pod('a', '1'), pod('b', '2'));
    expect(apply({ type: 'SyncAll' }).sort()).toEqual(['update a@1 a@1', 'update b@2 b@2']);
    expect(apply({ type: 'Bookmark', resourceVersion: '7' })).toEqual([]);
    expect(store.lastStoreSyncResourceVersion()).toBe('7');
  });

  // TestReplaceEvents: "store already updated when handler runs".
  test('changes the store before the handler is called: a whole list before the first call', () => {
    const { apply, contents } = setUp(pod('a', '1'), pod('b', '1'));
    apply({ type: 'Updated', object: pod('a', '2') });
    expect(contents.splice(0)).toEqual(['a@2 b@1']);
    apply({ type: 'Deleted', object: pod('b', '3') });
    expect(contents.splice(0)).toEqual(['a@2']);
    apply({ type: 'ReplacedAll', objects: [pod('c', '4'), pod('d', '5')], resourceVersion: '6' });
    expect(contents.splice(0)).toEqual(['c@4 d@5', 'c@4 d@5', 'c@4 d@5']);
  });

  // TestReplaceEvents: a list in one delta gives the same notifications as its deletions and
  // replacements.
  test('of a new list gives the same notifications as the equivalent single deltas', () => {
    const before = [pod('a', '1'), pod('b', '1'), pod('c', '1')];
    const list = [pod('d', '2'), pod('b', '2'), pod('c', '1')];
    const atomic = setUp(...before);
    const single = setUp(...before);
    const told = atomic.apply({ type: 'ReplacedAll', objects: list, resourceVersion: '3' });
    const deltas: Delta<KubeObject>[] = [
      { type: 'Deleted', object: new DeletedFinalStateUnknown('a', pod('a', '1')) },
      ...list.map((object): Delta<KubeObject> => ({ type: 'Replaced', object })),
    ];
    expect(deltas.flatMap((delta) => single.apply(delta))).toEqual(told);
    expect(single.store.list().map(show).sort()).toEqual(atomic.store.list().map(show).sort());
  });

  test('that the store refuses changes nothing and gives no notification', () => {
    const { apply, store } = setUp(pod('a', '1'));
    const nameless: KubeObject = { metadata: {} };
    const refused: Delta<KubeObject>[] = [
      { type: 'Added', object: nameless },
      { type: 'Deleted', object: nameless },
      { type: 'ReplacedAll', objects: [pod('b', '2'), nameless], resourceVersion: '5' },
    ];
    for (const delta of refused) expect(() => apply(delta)).toThrow('metadata.name');
    expect(apply({ type: 'Bookmark', resourceVersion: '1' })).toEqual([]);
    expect(store.list().map(show)).toEqual(['a@1']);
  });
});

describe('a store with only the required methods', () => {
  /** Without `exchange`, `compare` and transactions. */
  const plain = (store: Indexer<KubeObject>): DeltaStore<KubeObject> => ({
    get: (object) => store.get(object),
    getByKey: (key) => store.getByKey(key),
    list: () => store.list(),
    listKeys: () => store.listKeys(),
    update: (object) => store.update(object),
    delete: (object) => store.delete(object),
    replace: (list, resourceVersion) => store.replace(list, resourceVersion),
    bookmark: (resourceVersion) => store.bookmark(resourceVersion),
  });
  const deltas: Delta<KubeObject>[] = [
    { type: 'Added', object: pod('a', '1') },
    { type: 'Replaced', object: pod('a', '2') },
    { type: 'Added', object: pod('gone', '3') },
    {
      type: 'ReplacedAll',
      objects: [pod('b', '4'), pod('a', '2'), pod('b', '5')],
      resourceVersion: '6',
    },
    { type: 'SyncAll' },
    { type: 'Deleted', object: pod('a', '7') },
  ];

  test('gives the same notifications as an Indexer', () => {
    const told = (storeOf: (store: Indexer<KubeObject>) => DeltaStore<KubeObject>) => {
      const { store, handler, calls, contents } = setUp();
      processDeltas(handler, storeOf(store), deltas, false);
      return { calls, contents };
    };
    expect(told(plain)).toEqual(told((store) => store));
  });

  test('that also compares bytes calls onCompared with the changes, if the handler has it', () => {
    const { store, handler, calls } = setUp(pod('a', '1'));
    const old = pod('a', '1');
    const comparing: DeltaStore<KubeObject> = {
      ...plain(store),
      exchange: () => old,
      exchanged: 5,
    };
    const delta: Delta<KubeObject> = { type: 'Updated', object: pod('a', '2') };
    processDelta(handler, comparing, delta, false);
    handler.onCompared = (was, now, changes) =>
      calls.push(`compared ${show(was)} ${show(now)} ${changes}`);
    processDelta(handler, comparing, delta, false);
    expect(calls).toEqual(['update a@1 a@2', 'compared a@1 a@2 5']);
  });
});

test('without handlers there are no notifications, and the store gets noListeners', () => {
  const { store, handler, calls } = setUp(pod('a', '1'));
  const exchange = vi.spyOn(store, 'exchange');
  const replace = vi.spyOn(store, 'replaceInSteps');
  let idle = true;
  const listening = { ...handler, isIdle: () => idle };
  const list = [pod('c', '4')];
  const deltas: Delta<KubeObject>[] = [
    { type: 'Added', object: pod('b', '2') },
    { type: 'Deleted', object: pod('a', '3') },
    { type: 'ReplacedAll', objects: list, resourceVersion: '5' },
  ];
  processDeltas(listening, store, deltas, false);
  expect([calls, store.list()]).toEqual([[], list]);
  expect(exchange.mock.lastCall).toEqual([pod('b', '2'), true]);
  expect(replace.mock.lastCall?.slice(0, 3)).toEqual([list, '5', true]);
  idle = false;
  processDeltas(listening, store, deltas, false);
  expect(calls).toEqual(['add b@2', 'delete a@3', 'tombstone b b@2', 'update c@4 c@4']);
  expect(exchange.mock.lastCall).toEqual([pod('b', '2'), false]);
  expect(replace.mock.lastCall?.slice(0, 3)).toEqual([list, '5', false]);
});

test('several deltas are applied in order, with the key function of the store', () => {
  const byVersion = (object: KubeObject | DeletedFinalStateUnknown<KubeObject>): string =>
    object instanceof DeletedFinalStateUnknown
      ? object.key
      : (object.metadata?.resourceVersion ?? '');
  const store = new Indexer<KubeObject>(byVersion);
  const told: string[] = [];
  const handler: DeltaHandler<KubeObject> = {
    onAdd: (object) => told.push(`add ${metaNamespaceKeyFunc(object)}`),
    onUpdate: (old, now) =>
      told.push(`update ${metaNamespaceKeyFunc(old)} ${metaNamespaceKeyFunc(now)}`),
    onDelete: (object) => told.push(`delete ${byVersion(object)}`),
  };
  const deltas: Delta<KubeObject>[] = [
    { type: 'Added', object: pod('a', '1') },
    { type: 'Added', object: pod('b', '1') },
    { type: 'ReplacedAll', objects: [pod('c', '2')], resourceVersion: '5' },
  ];
  processDeltas(handler, store, deltas, false, byVersion);
  expect(told).toEqual(['add a', 'update a b', 'delete 1', 'add c']);
});

describe('deltas of different objects in a batch', () => {
  /** A store that refuses some names. */
  class Refusing extends Indexer<KubeObject> {
    refused: readonly string[] = [];

    override add(object: KubeObject): void {
      const { name } = object.metadata ?? {};
      if (this.refused.includes(name ?? '')) throw new Error(`no ${name}`);
      super.add(object);
    }

    override update(object: KubeObject): void {
      this.add(object);
    }
  }

  /** The same without transactions. */
  class Simple extends Refusing {
    override transaction = undefined as never;
  }

  const deltas: Delta<KubeObject>[] = [
    { type: 'Added', object: pod('a', '2') },
    { type: 'Updated', object: pod('old', '3') },
    { type: 'Replaced', object: pod('b', '4') },
    { type: 'Deleted', object: pod('c', '5') },
  ];

  function process(store: Refusing, refused: readonly string[], batch = deltas) {
    const { handler, calls } = setUp();
    store.add(pod('old', '1'));
    store.refused = refused;
    let error: unknown;
    try {
      processDeltasInBatch(handler, store, batch, true);
    } catch (thrown) {
      error = thrown;
    }
    return { error, calls, content: store.list().map(show).sort() };
  }

  describe.each([
    ['with transactions', Refusing],
    ['without transactions', Simple],
  ])('of a store %s', (_, Store) => {
    test('are all applied and notified (TestProcessDeltasInBatch)', () => {
      expect(process(new Store(), [])).toEqual({
        error: undefined,
        calls: ['add a@2 initial', 'update old@1 old@3', 'add b@4 initial', 'delete c@5'],
        content: ['a@2', 'b@4', 'old@3'],
      });
    });

    // TestProcessDeltasInBatch
    test('are notified if they succeeded; the rest is an error', () => {
      const { error, calls, content } = process(new Store(), ['old']);
      expect(calls).toEqual(['add a@2 initial', 'add b@4 initial', 'delete c@5']);
      expect(content).toEqual(['a@2', 'b@4', 'old@1']);
      expect(error).toBeInstanceOf(TransactionError);
      expect(error).toMatchObject({ successfulIndices: [0, 2, 3], totalTransactions: 4 });
      const none = process(new Store(), ['a', 'old'], deltas.slice(0, 2));
      expect([none.calls, none.content]).toEqual([[], ['old@1']]);
      expect((none.error as TransactionError).message).toMatch(
        /^2 of 2 changes failed: no a; no old$/,
      );
    });

    // The lookup of the old object was not guarded: one object without a key failed the whole
    // batch.
    test('are applied except those without a key, additions and deletions', () => {
      const nameless: KubeObject = { metadata: {} };
      const batch: Delta<KubeObject>[] = [
        ...deltas.slice(0, 2),
        { type: 'Added', object: nameless },
        { type: 'Deleted', object: nameless },
        ...deltas.slice(2),
      ];
      const { error, calls, content } = process(new Store(), [], batch);
      expect(error).toBeInstanceOf(TransactionError);
      expect(error).toMatchObject({
        code: 'TRANSACTION',
        successfulIndices: [0, 1, 4, 5],
        totalTransactions: 6,
      });
      expect((error as TransactionError).message).toMatch(
        /^2 of 6 changes failed: .*metadata\.name.*; .*metadata\.name/,
      );
      expect(calls).toEqual([
        'add a@2 initial',
        'update old@1 old@3',
        'add b@4 initial',
        'delete c@5',
      ]);
      expect(content).toEqual(['a@2', 'b@4', 'old@3']);
    });
  });

  test.each<[string, Error, string[]]>([
    ['of another kind', new Error('no disk'), []],
    [
      'about more changes than there are',
      new TransactionError([0, 9], 4, [new Error('no')]),
      ['add a@2 initial'],
    ],
  ])('fail with an error %s unchanged, as the store threw it', (_, thrown, told) => {
    class Broken extends Refusing {
      override transaction(): void {
        throw thrown;
      }
    }
    const { error, calls } = process(new Broken(), []);
    expect(error).toBe(thrown);
    expect(calls).toEqual(told);
  });

  test('are refused together with a delta of several objects', () => {
    const { error, calls, content } = process(
      new Refusing(),
      [],
      [deltas[0] as Delta<KubeObject>, { type: 'SyncAll' }],
    );
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect([calls, content]).toEqual([[], ['old@1']]);
  });
});
