/**
 * A counterpart for each test of client-go's the_real_fifo_test that is about batches or atomic
 * events; the upstream tests' names stand in the titles.
 */
import { RealFIFO } from 'capstan/cache';
import { describe, expect, test } from 'vitest';
import { deltaText, type Item, item, knowing, nameOf, popAll, popBatches } from './fifo-helpers.ts';

const real = (...known: Item[]): RealFIFO<Item> =>
  new RealFIFO<Item>({ keyFunction: nameOf, atomicEvents: false, knownObjects: knowing(...known) });
const atomic = (): RealFIFO<Item> => new RealFIFO<Item>({ keyFunction: nameOf });
const foo = (val: number): Item => item('foo', val);
const bar = (val: number): Item => item('bar', val);
/** The popped deltas, without the mark of the initial population. */
const popped = (queue: RealFIFO<Item>): string[] =>
  popAll(queue).map((one) => one.replace(/ initial$/, ''));

describe('RealFIFO in batches', () => {
  const one = item('foo1', 5);
  const two = item('foo2', 5);
  const three = item('foo3', 5);
  const four = item('foo4', 5);

  test.each<[string, Item[], Item[], string[][]]>([
    ['different objects together', [one, two, three], [], [['R1', 'R2', 'R3']]],
    [
      'the initial ones apart from others',
      [one, two],
      [three, four],
      [
        ['R1', 'R2'],
        ['U3', 'U4'],
      ],
    ],
    ['an object twice in two batches', [one], [one, one], [['R1'], ['U1'], ['U1']]],
    [
      'a repeated object in the next batch, at the end',
      [one, two],
      [two, three],
      [
        ['R1', 'R2'],
        ['U2', 'U3'],
      ],
    ],
    [
      'a repeated object in the next batch, in the middle',
      [one, two, three],
      [two],
      [['R1', 'R2', 'R3'], ['U2']],
    ],
    ['what is not initial together', [], [one, two, three], [['U1', 'U2', 'U3']]],
  ])('gives %s (TestRealFIFO_PopMultipleDeltaInBatch)', async (_, initial, updates, expected) => {
    const queue = real(...initial);
    queue.replace(initial, '123');
    for (const update of updates) queue.update(update);
    const isInitial: boolean[] = [];
    const batches: string[][] = [];
    const take = (
      deltas: readonly Parameters<typeof deltaText>[0][],
      isInInitialList: boolean,
    ): void => {
      batches.push(deltas.map((each) => deltaText(each).replace(/^(.).* foo(\d).*/, '$1$2')));
      isInitial.push(isInInitialList);
    };
    while (queue.len() > 0) await queue.popBatch(take, take);
    expect(batches).toEqual(expected);
    expect(isInitial).toEqual(expected.map((batch) => batch[0]?.startsWith('R') ?? false));
  });

  // client-go's tests set the batch size to 2; here it is fixed.
  // TestRealFIFO_PopMultipleDeltaInBatch, batch size
  test('ends a batch at 1000, initial or not', async () => {
    const many = Array.from({ length: 1001 }, (_, i) => item(`n${i}`, i));
    const queue = real(...many);
    queue.replace(many, '1');
    for (const each of many) queue.update(each);
    expect((await popBatches(queue)).map(({ length }) => length)).toEqual([1000, 1, 1000, 1]);
    expect(queue.hasSynced()).toBe(true);
  });

  test.each<[string, string[], string[][]]>([
    ['the first', ['bad3'], [['bad3']]],
    ['the last', ['foo1', 'foo2', 'bad3'], [['foo1', 'foo2', 'bad3']]],
    ['the last two', ['foo1', 'foo2', 'bad3', 'bad4'], [['foo1', 'foo2', 'bad3'], ['bad4']]],
    ['the first and the last', ['bad3', 'foo1', 'bad4'], [['bad3'], ['foo1', 'bad4']]],
  ])(
    'ends a batch at a delta whose key function throws: %s (TestRealFIFO_PopBrokenItemsInBatch)',
    async (_, names, expected) => {
      let broken = false;
      const keyFunction = ({ name }: Item): string => {
        if (broken && name.startsWith('bad')) throw new Error('no key');
        return name;
      };
      const queue = new RealFIFO<Item>({
        keyFunction,
        atomicEvents: false,
        knownObjects: knowing(),
      });
      for (const name of names) queue.add(item(name, 1));
      broken = true; // only now: what has no key at first is not queued at all
      const batches = await popBatches(queue);
      expect(
        batches.map((batch) => batch.map((each) => each.replace(/Added (.*)@1/, '$1'))),
      ).toEqual(expected);
    },
  );
});

describe('RealFIFO with atomic events', () => {
  // TestRealFIFO_ReplaceAtomic, TestRealFIFO_ReplaceAtomicPop
  test('has one delta for a list, in its place', () => {
    const queue = atomic();
    queue.add(foo(2));
    queue.replace([foo(2)], '10');
    queue.bookmark('11');
    queue.replace([foo(15)], '20');
    queue.replace([], '56');
    expect(popped(queue)).toEqual([
      'Added foo@2',
      'ReplacedAll 10: foo@2',
      'Bookmark 11',
      'ReplacedAll 20: foo@15',
      'ReplacedAll 56: ',
    ]);
  });

  test('has one delta for a resync, in its place (TestRealFIFO_ResyncAtomic)', () => {
    const queue = atomic();
    queue.resync();
    queue.add(foo(2));
    queue.resync();
    expect(popped(queue)).toEqual(['SyncAll', 'Added foo@2', 'SyncAll']);
  });

  test('transforms each object of a list once', () => {
    const transformer = ({ name, val }: Item): Item => item(name, val + 1000);
    const queue = new RealFIFO<Item>({ keyFunction: nameOf, transformer });
    queue.replace([foo(1), bar(2)], '5');
    expect(popped(queue)).toEqual(['ReplacedAll 5: foo@1001 bar@1002']);
  });
});
