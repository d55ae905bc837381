/**
 * Compares Backlog with a map of places to items: items are replaced and removed by place while the
 * list shifts.
 */
import { expect, test } from 'vitest';
import { Backlog } from '../../bindings/base/backlog.ts';
import { Random, testSeed } from '../helpers/random.ts';

interface Item {
  n: number;
}

test('returns the remaining items in order and never reuses a place', () => {
  const seed = testSeed();
  console.log(`backlog: CAPSTAN_SEED=${seed}`);
  const random = new Random(seed);
  const backlog = new Backlog<Item>();
  const model = new Map<number, Item>();
  const places = new Set<number>();
  let n = 0;
  let pushed = 0;
  for (let round = 0; round < 30; round++) {
    // Far above and far below the length from which the list is compacted.
    for (let left = random.int(3000); left > 0; left--) {
      const item = { n: n++ };
      pushed++;
      const place = backlog.push(item);
      places.add(place);
      model.set(place, item);
    }
    expect(places.size).toBe(pushed);
    for (const place of [...model.keys()].filter(() => random.chance(0.1))) {
      const item = random.chance(0.5) ? { n: n++ } : undefined;
      backlog.set(place, item);
      if (item === undefined) model.delete(place);
      else model.set(place, item);
    }
    expect([...backlog.entries()]).toEqual([...model]);
    if (random.chance(0.2)) {
      backlog.clear();
      model.clear();
    }
    const taken = [...model].slice(0, random.int(4000));
    const given = taken.map(([place]) => {
      const given = [backlog.first(), backlog.shift()];
      backlog.set(place, { n: -1 }); // taken: no effect
      return given;
    });
    expect(given).toEqual(taken);
    for (const [place] of taken) model.delete(place);
    expect(taken.filter(([place]) => backlog.inPlace(place) !== undefined)).toEqual([]);
    if (model.size === 0) expect(backlog.shift()).toBeUndefined();
    expect(backlog.length).toBe(model.size);
    expect([...model.keys()].map((place) => backlog.inPlace(place))).toEqual([...model.values()]);
  }
});

test('knows the place of the next item while it is empty', () => {
  const backlog = new Backlog<Item>();
  for (const empty of [
    () => backlog.shift(),
    () => backlog.clear(),
    () => backlog.set(backlog.first(), undefined),
  ]) {
    backlog.push({ n: 1 });
    empty();
    const next = backlog.first();
    expect([backlog.length, backlog.push({ n: 2 })]).toEqual([0, next]);
    backlog.shift();
  }
});

test('skips items that were removed by place', () => {
  const backlog = new Backlog<Item>();
  backlog.set(backlog.push({ n: 1 }), undefined);
  backlog.push({ n: 2 });
  expect([backlog.shift(), backlog.shift()]).toEqual([{ n: 2 }, undefined]);
});
