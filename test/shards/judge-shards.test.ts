/** The judge of the processes that share objects finds what it is to find. */
import { expect, it } from 'vitest';
import {
  gapsOf,
  judgeShards,
  type ShardLogEntry,
  type ShardProcessLog,
} from '../helpers/shards/judge-shards.ts';

const never = Number.POSITIVE_INFINITY;
const log = (
  identity: string,
  entries: readonly ShardLogEntry[],
  more: Partial<ShardProcessLog> = {},
): ShardProcessLog => ({ identity, entries, stops: [], killedAt: never, ...more });

/** A run from 10 to 20, with a write at its end. */
const run = (key: string, number = 1, from = 10, to = 20): ShardLogEntry[] => [
  { kind: 'begin', at: from, key, run: number },
  { kind: 'wrote', at: to - 1, sentAt: to - 3, run: number },
  { kind: 'end', at: to, run: number },
];

const overlaps = (...logs: readonly ShardProcessLog[]): number => judgeShards(logs).overlaps.length;

it('finds two runs of one object at once', () => {
  expect(overlaps(log('a', run('x')), log('b', run('x', 1, 20, 30)))).toBe(0);
  expect(overlaps(log('a', run('x')), log('b', run('x', 1, 19, 30)))).toBe(1);
  expect(overlaps(log('a', run('x')), log('b', run('y', 1, 19, 30)))).toBe(0);
  expect(
    overlaps(log('a', [...run('x'), ...run('x', 2, 30, 40)]), log('b', run('x', 1, 22, 31))),
  ).toBe(1);
  const hangs = log('a', run('x').slice(0, 1));
  expect(overlaps(hangs, log('b', run('x', 1, 500, 510)))).toBe(1);
  expect(overlaps({ ...hangs, killedAt: 40 }, log('b', run('x', 1, 500, 510)))).toBe(0);
});

it('counts a run that was stopped as an overlap only if it writes afterwards', () => {
  const stops = [{ from: 12, to: 100 }];
  const b = log('b', run('x', 1, 50, 110));
  const quiet: ShardLogEntry[] = [
    { kind: 'begin', at: 10, key: 'x', run: 1 },
    { kind: 'refused', at: 101, run: 1, message: 'it was not sent' },
    { kind: 'end', at: 102, run: 1 },
  ];
  expect(judgeShards([log('a', quiet, { stops }), b])).toMatchObject({ overlaps: [], refused: 1 });
  const loud = quiet.with(1, { kind: 'wrote', at: 103, sentAt: 101, run: 1 });
  expect(overlaps(log('a', loud, { stops }), b)).toBe(1);
});

it('lists the deletions that handlers were told', () => {
  const told = log('a', [{ kind: 'deleted', at: 5, key: 'x' }]);
  expect(judgeShards([told]).deletions).toEqual(['a: x']);
});

it('measures for how long no process had a slot open', () => {
  const opens = (at: number, slot = 3): ShardLogEntry => ({ kind: 'opens', at, slot });
  const closes = (at: number, slot = 3): ShardLogEntry => ({ kind: 'closes', at, slot });
  expect(gapsOf([log('a', [opens(1), closes(10)]), log('b', [opens(14)])], 0)).toEqual([4]);
  expect(gapsOf([log('a', [opens(1), closes(10)]), log('b', [opens(14)])], 15)).toEqual([]);
  const killed = log('a', [opens(1)], { killedAt: 20 });
  expect(gapsOf([killed, log('b', [opens(50)])], 0)).toEqual([30]);
  const stopped = log('a', [opens(1), closes(90)], { stops: [{ from: 40, to: 80 }] });
  expect(gapsOf([stopped, log('b', [opens(70)])], 0)).toEqual([30]);
});
