/**
 * Edges are chosen from the names that exist, so that short, similar names are shared out evenly.
 */
import { describe, expect, it } from 'vitest';
import {
  chooseEdges,
  rangeOfSlot,
  SLOTS,
  slotOfHash,
  slotsOfText,
  slotsText,
  type WeighedHash,
  weighSlots,
} from '../../bindings/shards/slots.ts';
import { Random, testSeed } from '../helpers/random.ts';

/** Plain FNV-1a with bigints: the judge of the names below. */
function fnv1a(text: string): bigint {
  let hash = 0xcbf29ce484222325n;
  for (const byte of new TextEncoder().encode(text))
    hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * 0x100000001b3n);
  return hash;
}

const teams: WeighedHash[] = Array.from({ length: 200 }, (_, i) => [fnv1a(`team-${i}`), 1]);

describe('edges', () => {
  it('divide team-0 to team-199 evenly, which equal ranges do not', () => {
    const equal = Array.from({ length: 8 }, () => 0);
    for (const [hash] of teams) equal[Number(hash >> 61n)]! += 1;
    expect(equal).toEqual([0, 0, 90, 0, 0, 100, 10, 0]);
    for (const count of [2, 3, 5, 8]) {
      const edges = chooseEdges(teams, count);
      const sums = Array.from({ length: count }, () => 0);
      for (const [hash] of teams) sums[slotOfHash(edges, hash)]! += 1;
      expect(Math.max(...sums) / (200 / count)).toBeLessThanOrEqual(1.03);
    }
    const weights = weighSlots(chooseEdges(teams), teams);
    expect(Math.max(...weights)).toBe(4);
    expect(Math.min(...weights)).toBe(3);
  });

  const seed = testSeed();
  it(`ascend and lose no name (CAPSTAN_SEED=${seed})`, () => {
    const random = new Random(seed);
    for (let round = 0; round < 100; round++) {
      const names: WeighedHash[] = Array.from({ length: random.int(300) }, () => [
        BigInt(random.int(2 ** 32)) << BigInt(random.int(33)),
        random.int(5),
      ]);
      const edges = chooseEdges(names);
      expect(edges).toHaveLength(SLOTS - 1);
      for (let slot = 0; slot < SLOTS; slot++) {
        const { from, to } = rangeOfSlot(edges, slot);
        expect(from < to).toBe(true);
        expect(slotOfHash(edges, from)).toBe(slot);
        expect(slotOfHash(edges, to - 1n)).toBe(slot);
      }
      const sum = names.reduce((all, [, weight]) => all + weight, 0);
      expect(weighSlots(edges, names).reduce((all, weight) => all + weight, 0)).toBe(sum);
    }
  });

  it('give a heavy name a slot of its own', () => {
    const names: WeighedHash[] = teams.map(([hash], i) => [hash, i === 77 ? 1000 : 1]);
    const weights = weighSlots(chooseEdges(names), names);
    expect(weights.filter((weight) => weight >= 1000)).toHaveLength(1);
    expect(Math.max(...weights)).toBeLessThan(1003);
  });
});

describe('slots as text', () => {
  it.each([
    [[], ''],
    [[0, 1, 2, 5, 7, 8], '0-2,5,7-8'],
    [[63], '63'],
  ])('%j is "%s"', (slots, text) => {
    expect(slotsText(slots)).toBe(text);
    expect(slotsOfText(text)).toEqual(slots);
  });

  it.each(['64', '5-3', 'x', '1,,2', '-1'])('rejects "%s"', (text) => {
    expect(slotsOfText(text)).toBeUndefined();
  });
});
