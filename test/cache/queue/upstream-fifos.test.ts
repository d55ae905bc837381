/**
 * A counterpart for each test of client-go's delta_fifo_test and the_real_fifo_test; the upstream
 * tests' names stand in the titles, those of both queues as `*`. The RealFIFO is the one without
 * atomic events, as there; batches and atomic events are in upstream-fifo-batches.test.ts.
 */
import { DeletedFinalStateUnknown, DeltaFIFO, RealFIFO } from 'capstan/cache';
import { describe, expect, test } from 'vitest';
import { codeOf, type Item, item, knowing, nameOf, popAll, popOne } from './fifo-helpers.ts';

const real = (...known: Item[]): RealFIFO<Item> =>
  new RealFIFO<Item>({ keyFunction: nameOf, atomicEvents: false, knownObjects: knowing(...known) });
const delta = (...known: Item[]): DeltaFIFO<Item> =>
  new DeltaFIFO<Item>({ keyFunction: nameOf, knownObjects: knowing(...known) });
const deltaAlone = (): DeltaFIFO<Item> => new DeltaFIFO<Item>({ keyFunction: nameOf });
const replacing = (...known: Item[]): DeltaFIFO<Item> =>
  new DeltaFIFO<Item>({
    keyFunction: nameOf,
    knownObjects: knowing(...known),
    emitDeltaTypeReplaced: true,
  });

type AnyFIFO = RealFIFO<Item> | DeltaFIFO<Item>;
const both: [string, (...known: Item[]) => AnyFIFO][] = [
  ['RealFIFO', real],
  ['DeltaFIFO', delta],
];
const foo = (val: number): Item => item('foo', val);
const bar = (val: number): Item => item('bar', val);
const baz = (val: number): Item => item('baz', val);
/** The popped deltas, without the mark of the initial population. */
const popped = (queue: AnyFIFO): string[] =>
  popAll(queue).map((one) => one.replace(/ initial$/, ''));

describe.each(both)('%s', (name, make) => {
  const isReal = name === 'RealFIFO';

  test('keeps the order of each of two producers (*_basic)', async () => {
    const queue = make();
    const produce = async (prefix: string): Promise<void> => {
      for (let i = 1; i <= 500; i++) {
        queue.add(item(`${prefix}${i}`, i));
        if (i % 7 === 0) await Promise.resolve();
      }
    };
    const last = new Map<string, number>();
    const consume = async (): Promise<void> => {
      for (let i = 0; i < 1000; i++) {
        await queue.pop(([first]) => {
          if (first?.type !== 'Added') throw new Error('an addition was expected');
          const { name: key, val } = first.object;
          expect(val).toBe((last.get(key.charAt(0)) ?? 0) + 1);
          last.set(key.charAt(0), val);
        });
      }
    };
    await Promise.all([consume(), produce('a'), produce('b')]);
    expect([...last]).toEqual(
      expect.arrayContaining([
        ['a', 500],
        ['b', 500],
      ]),
    );
    expect(queue.len()).toBe(0);
  });

  // Kubernetes 83810: a queued deletion made the list skip the object, so its creation was missed.
  test('queues an object of a list after its queued deletion (*_replaceWithDeleteDeltaIn)', () => {
    const queue = make(foo(1));
    queue.delete(foo(1));
    queue.replace([foo(2)], '');
    expect(popped(queue).join(', ')).toBe(
      isReal ? 'Deleted foo@1, Replaced foo@2' : 'Deleted foo@1, Sync foo@2',
    );
  });

  test('gives every version, or all of an object at once (*_addUpdate)', () => {
    const queue = make();
    queue.add(foo(10));
    queue.update(foo(12));
    queue.delete(foo(15));
    expect(queue.len()).toBe(isReal ? 3 : 1);
    expect(popped(queue).join(', ')).toBe('Added foo@10, Updated foo@12, Deleted foo@15');
    expect(queue.len()).toBe(0);
  });

  test('gives the list’s object after the queued one (*_addReplace)', () => {
    const queue = make();
    queue.add(foo(10));
    queue.replace([foo(15)], '0');
    expect(popped(queue).join(', ')).toBe(`Added foo@10, ${isReal ? 'Replaced' : 'Sync'} foo@15`);
  });

  test('queues a resync of known objects (*_Resync)', () => {
    const queue = make(foo(5));
    queue.resync();
    expect(popped(queue)).toEqual(['Sync foo@5']);
  });

  test('queues no resync after a queued deletion (*_ResyncNonExisting)', () => {
    const queue = make(foo(5));
    queue.delete(foo(10));
    queue.resync();
    expect(popped(queue)).toEqual(['Deleted foo@10']);
  });

  test('queues no resync with the old state after a queued update (*_UpdateResyncRace)', () => {
    const queue = make(foo(5));
    queue.update(foo(6));
    queue.resync();
    expect(popped(queue)).toEqual(['Updated foo@6']);
  });

  test('gives both an addition and its deletion (*_DeleteExistingNonPropagated)', () => {
    const queue = make();
    queue.add(foo(5));
    queue.delete(foo(6));
    expect(popped(queue).join(', ')).toBe('Added foo@5, Deleted foo@6');
  });

  test('drops, or keeps, the deletion of an unknown object (*_enqueueingNoLister)', () => {
    const queue = make();
    queue.add(foo(10));
    queue.update(bar(15));
    queue.add(item('qux', 17));
    queue.delete(item('qux', 18));
    queue.delete(baz(20));
    expect(popped(queue)).toEqual(
      isReal
        ? ['Added foo@10', 'Updated bar@15', 'Added qux@17', 'Deleted qux@18', 'Deleted baz@20']
        : ['Added foo@10', 'Updated bar@15', 'Added qux@17, Deleted qux@18'],
    );
  });

  test('keeps the deletion of a known object (*_enqueueingWithLister)', () => {
    const queue = make(foo(5), bar(6), baz(7));
    queue.add(foo(10));
    queue.update(bar(15));
    queue.delete(baz(20));
    expect(popped(queue)).toEqual(['Added foo@10', 'Updated bar@15', 'Deleted baz@20']);
  });

  test('gives a key one place in the queue (*_detectLineJumpers)', () => {
    const queue = make();
    queue.add(foo(10));
    queue.add(bar(1));
    queue.add(foo(11));
    queue.add(foo(13));
    queue.add(item('zab', 30));
    const first = popOne(queue);
    queue.add(foo(14));
    expect([first, ...popped(queue)]).toEqual(
      isReal
        ? [
            'Added foo@10',
            'Added bar@1',
            'Added foo@11',
            'Added foo@13',
            'Added zab@30',
            'Added foo@14',
          ]
        : [
            'Added foo@10, Added foo@11, Added foo@13',
            'Added bar@1',
            'Added zab@30',
            'Added foo@14',
          ],
    );
  });

  test('computes the key of an object, a tombstone and deltas (*_KeyOf)', () => {
    const queue = make();
    const gone = (key: string): DeletedFinalStateUnknown<Item> =>
      new DeletedFinalStateUnknown<Item>(key, undefined);
    expect(queue.keyOf(item('A', 1))).toBe('A');
    expect(queue.keyOf(gone('B'))).toBe('B');
    expect(queue.keyOf([{ type: 'Added', object: item('C', 1) }])).toBe('C');
    expect(
      queue.keyOf([
        { type: 'Added', object: item('C', 1) },
        { type: 'Deleted', object: gone('D') },
      ]),
    ).toBe('D');
    expect(() => queue.keyOf([])).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
    expect(() => queue.keyOf([{ type: 'SyncAll' }])).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    );
  });

  test.each<[string, boolean, (queue: AnyFIFO) => void]>([
    ['nothing', false, () => undefined],
    ['an addition', true, (queue) => queue.add(item('a', 1))],
    ['an empty list', true, (queue) => queue.replace([], '0')],
    ['a list', false, (queue) => queue.replace([item('a', 1), item('b', 2)], '0')],
    [
      'a list and a pop',
      false,
      (queue) => [queue.replace([item('a', 1), item('b', 2)], '0'), popOne(queue)],
    ],
    [
      'a list and two pops',
      true,
      (queue) => [queue.replace([item('a', 1), item('b', 2)], '0'), popAll(queue)],
    ],
    [
      'a list with one key twice and its pops',
      true,
      (queue) => [queue.replace([foo(1), foo(2)], '0'), popAll(queue)],
    ],
  ])('after %s: has synced is %s (*_HasSynced)', (_, synced, act) => {
    const queue = make();
    act(queue);
    expect(queue.hasSynced()).toBe(synced);
  });

  // *_HasSyncedCorrectOnDeletion
  test('has synced only after the deletions of its first list', () => {
    const queue = make(foo(5), bar(6), baz(7));
    queue.replace([foo(5)], '0');
    const gone = ['Deleted bar@6 (tombstone) initial', 'Deleted baz@7 (tombstone) initial'];
    for (const expected of isReal
      ? [...gone, 'Replaced foo@5 initial']
      : ['Sync foo@5 initial', ...gone]) {
      expect(queue.hasSynced()).toBe(false);
      expect(popOne(queue)).toBe(expected);
    }
    expect(queue.hasSynced()).toBe(true);
  });

  test('ends waiting pops when it is closed (*_PopShouldUnblockWhenClosed)', async () => {
    const queue = make(foo(5));
    const pops = Array.from({ length: 10 }, () => codeOf(queue.pop(() => undefined)));
    queue.close();
    expect(new Set(await Promise.all(pops))).toEqual(new Set(['FIFO_CLOSED']));
  });

  test('transforms each object once, and neither tombstones nor a resync (*_transformer)', () => {
    const transformed: string[] = [];
    const options = {
      keyFunction: nameOf,
      knownObjects: knowing(item('known', 1)),
      transformer: ({ name: key, val }: Item): Item => {
        transformed.push(`${key}@${val}`);
        return item(key, val + 1000);
      },
    };
    const queue = isReal
      ? new RealFIFO({ ...options, atomicEvents: false })
      : new DeltaFIFO(options);
    queue.add(foo(10));
    queue.add(bar(11));
    queue.update(foo(12));
    queue.delete(foo(15));
    queue.replace([], '');
    queue.add(bar(16));
    queue.replace([baz(17)], '');
    queue.delete(new DeletedFinalStateUnknown<Item>('foo', undefined));
    expect(transformed).toEqual(['foo@10', 'bar@11', 'foo@12', 'foo@15', 'bar@16', 'baz@17']);
    expect(popped(queue)).toEqual(
      isReal
        ? [
            'Added foo@1010',
            'Added bar@1011',
            'Updated foo@1012',
            'Deleted foo@1015',
            'Deleted bar@1011 (tombstone)',
            'Deleted known@1 (tombstone)',
            'Added bar@1016',
            'Deleted bar@1016 (tombstone)',
            'Replaced baz@1017',
            'Deleted foo@? (tombstone)',
          ]
        : [
            'Added foo@1010, Updated foo@1012, Deleted foo@1015',
            'Added bar@1011, Deleted bar@1011 (tombstone), Added bar@1016, Deleted bar@1016 ' +
              '(tombstone)',
            'Deleted known@1 (tombstone)',
            'Sync baz@1017',
          ],
    );
    queue.resync();
    expect(popped(queue)).toEqual(['Sync known@1']);
    expect(transformed).toHaveLength(6);
  });
});

describe('a list gives deletions for objects that are only in the queue', () => {
  const steps: [string, (queue: AnyFIFO) => void, string][] = [
    ['an addition', (queue) => queue.add(foo(2)), 'Added foo@2, Deleted foo@2 (tombstone)'],
    [
      'a deletion',
      (queue) => [queue.add(foo(2)), queue.delete(foo(2))],
      'Added foo@2, Deleted foo@2',
    ],
    [
      'two lists',
      (queue) => [queue.add(foo(2)), queue.replace([foo(2)], '0'), queue.replace([foo(2)], '0')],
      'Added foo@2, Sync foo@2, Sync foo@2, Deleted foo@2 (tombstone)',
    ],
    [
      'an empty list',
      (queue) => [queue.add(foo(2)), queue.replace([], '0')],
      'Added foo@2, Deleted foo@2 (tombstone)',
    ],
    [
      'add, delete, add',
      (queue) => [queue.add(foo(2)), queue.delete(foo(2)), queue.add(foo(3))],
      'Added foo@2, Deleted foo@2, Added foo@3, Deleted foo@3 (tombstone)',
    ],
    ['a bookmark', (queue) => queue instanceof RealFIFO && queue.bookmark('123'), ''],
  ];
  test.each(steps)(
    'after %s (*_ReplaceMakesDeletionsForObjectsOnlyInQueue)',
    (_, act, expected) => {
      for (const [queue, listed] of [
        [real(), 'Replaced'],
        [delta(), 'Sync'],
        [deltaAlone(), 'Sync'],
        [replacing(), 'Replaced'],
      ] as const) {
        act(queue);
        queue.replace([], '1');
        expect(popped(queue).join(', ')).toBe(expected.replaceAll('Sync', listed));
      }
    },
  );
});

describe('a list gives deletions of the objects that it lacks', () => {
  test('RealFIFO: before its objects (TestRealFIFO_ReplaceMakesDeletions, …Replaced)', () => {
    const known = [foo(5), bar(6), baz(7)];
    const told = (act: (queue: RealFIFO<Item>) => void): string[] => {
      const queue = real(...known);
      act(queue);
      queue.replace([foo(5)], '0');
      return popped(queue);
    };
    expect(told((queue) => queue.delete(baz(10)))).toEqual([
      'Deleted baz@10',
      'Deleted bar@6 (tombstone)',
      'Replaced foo@5',
    ]);
    expect(told((queue) => queue.add(baz(10)))).toEqual([
      'Added baz@10',
      'Deleted baz@10 (tombstone)',
      'Deleted bar@6 (tombstone)',
      'Replaced foo@5',
    ]);
    expect(
      told((queue) => {
        queue.delete(bar(6));
        queue.add(bar(100));
      }),
    ).toEqual([
      'Deleted bar@6',
      'Added bar@100',
      'Deleted bar@100 (tombstone)',
      'Deleted baz@7 (tombstone)',
      'Replaced foo@5',
    ]);
    expect(told((queue) => queue.replace([bar(100), foo(6)], '0'))).toEqual([
      'Deleted baz@7 (tombstone)',
      'Replaced bar@100',
      'Replaced foo@6',
      'Deleted bar@100 (tombstone)',
      'Replaced foo@5',
    ]);
    const none = real();
    none.add(baz(10));
    none.replace([foo(5)], '0');
    expect(popped(none)).toEqual(['Added baz@10', 'Deleted baz@10 (tombstone)', 'Replaced foo@5']);
  });

  test('DeltaFIFO: after its objects (TestDeltaFIFO_ReplaceMakesDeletions)', () => {
    const known = [foo(5), bar(6), baz(7)];
    const told = (act: (queue: DeltaFIFO<Item>) => void, queue = delta(...known)): string[] => {
      act(queue);
      queue.replace([foo(5)], '0');
      return popped(queue);
    };
    expect(told((queue) => queue.delete(baz(10)))).toEqual([
      'Deleted baz@10',
      'Sync foo@5',
      'Deleted bar@6 (tombstone)',
    ]);
    expect(told((queue) => queue.add(baz(10)))).toEqual([
      'Added baz@10, Deleted baz@10 (tombstone)',
      'Sync foo@5',
      'Deleted bar@6 (tombstone)',
    ]);
    expect(
      told((queue) => {
        queue.delete(bar(6));
        queue.add(bar(100));
      }),
    ).toEqual([
      'Deleted bar@6, Added bar@100, Deleted bar@100 (tombstone)',
      'Sync foo@5',
      'Deleted baz@7 (tombstone)',
    ]);
    expect(told((queue) => queue.replace([bar(100), foo(5)], '0'))).toEqual([
      'Sync bar@100, Deleted bar@100 (tombstone)',
      'Sync foo@5, Sync foo@5',
      'Deleted baz@7 (tombstone)',
    ]);
    expect(told((queue) => queue.add(baz(10)), deltaAlone())).toEqual([
      'Added baz@10, Deleted baz@10 (tombstone)',
      'Sync foo@5',
    ]);
  });

  // TestDeltaFIFO_ReplaceMakesDeletionsReplaced, TestDeltaFIFO_ReplaceDeltaType
  test('DeltaFIFO: with emitDeltaTypeReplaced', () => {
    const queue = replacing(foo(5), bar(6), baz(7));
    queue.delete(baz(10));
    queue.replace([foo(6)], '0');
    expect(popped(queue)).toEqual([
      'Deleted baz@10',
      'Replaced foo@6',
      'Deleted bar@6 (tombstone)',
    ]);
    const same = replacing(foo(5));
    same.replace([foo(5)], '0');
    expect(popped(same)).toEqual(['Replaced foo@5']);
  });

  test('DeltaFIFO: of two deletions in a row the one with the known state stays', () => {
    const gone = new DeletedFinalStateUnknown<Item>('foo', foo(4));
    const queue = deltaAlone();
    queue.add(foo(1));
    queue.delete(gone);
    queue.delete(foo(5));
    queue.delete(gone);
    queue.delete(foo(6));
    expect(popped(queue)).toEqual(['Added foo@1, Deleted foo@5']);
    queue.add(foo(7));
    queue.delete(gone);
    queue.replace([], '9');
    expect(popped(queue), 'the newest object that was known').toEqual([
      'Added foo@7, Deleted foo@4 (tombstone)',
    ]);
  });
});
