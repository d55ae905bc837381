/** The coordinator's decisions: shares, moves, hysteresis, and what it does not believe. */
import { describe, expect, it } from 'vitest';
import type { MemberState } from '../../bindings/shards/cluster-view.ts';
import {
  type PlanMember,
  PlanMemory,
  type PlanSettings,
  plan,
} from '../../bindings/shards/plan.ts';
import { dataOfMap, emptyMap, mapOfData, type ShardMap } from '../../bindings/shards/shard-map.ts';
import { chooseEdges, SLOTS } from '../../bindings/shards/slots.ts';

const SETTINGS: PlanSettings = {
  moveTimeout: 60_000,
  quiet: 30_000,
  threshold: 0.1,
  mostMoves: 16,
  recutPause: 600_000,
};
const ALL = Array.from({ length: SLOTS }, (_, slot) => slot);
const edges = chooseEdges([]);

function member(name: string, state: Partial<MemberState> = {}, more: Partial<PlanMember> = {}) {
  const whole = { epoch: 0, warm: [], holding: [], leaving: false, weights: [], ...state };
  return { name, isDead: false, isCandidate: !whole.leaving, state: whole, ...more };
}

const named = (...members: PlanMember[]) => new Map(members.map((one) => [one.name, one]));

const mapOf = (slots: readonly string[], more: Partial<ShardMap> = {}): ShardMap => ({
  epoch: 10,
  floor: 0,
  edges,
  slots,
  moving: [],
  ...more,
});

const counts = (slots: readonly string[]) => {
  const all: Record<string, number> = {};
  for (const owner of slots) all[owner] = (all[owner] ?? 0) + 1;
  return all;
};

describe('a plan', () => {
  it('gives out a new map in blocks when all replicas have acknowledged it', () => {
    const map = emptyMap(10, edges);
    const late = named(member('a', { epoch: 10 }), member('b', { epoch: 9 }), member('c'));
    expect(plan(map, late, new PlanMemory(), SETTINGS, 0)).toBeUndefined();
    const seen = named(...['a', 'b', 'c'].map((name) => member(name, { epoch: 10 })));
    const next = plan(map, seen, new PlanMemory(), SETTINGS, 0)?.map;
    expect(counts(next?.slots ?? [])).toEqual({ a: 21, b: 22, c: 21 });
    expect(next?.slots).toEqual([...(next?.slots ?? [])].sort());
    expect(next).toMatchObject({ epoch: 11, floor: 0, moving: [] });
  });

  it('gives the slots of a lost map to the replicas that have their objects', () => {
    const map = emptyMap(10, edges);
    const even = ALL.filter((slot) => slot % 2 === 0);
    const odd = ALL.filter((slot) => slot % 2 === 1);
    const members = named(
      member('a', { epoch: 10, warm: even }),
      member('b', { epoch: 10, warm: odd, holding: [1] }),
    );
    const next = plan(map, members, new PlanMemory(), SETTINGS, 0)?.map;
    expect(next?.slots[0]).toBe('a');
    // It may be given to the replica that still holds it, but to no other one: so not yet.
    expect(next?.slots[1]).toBe('');
    expect(next?.slots[3]).toBe('b');
    expect(next?.floor).toBe(10);
  });

  it('moves nothing below 10 % imbalance, and nothing within the quiet time', () => {
    const memory = new PlanMemory();
    const slots = ALL.map((slot) => (slot < 34 ? 'a' : 'b'));
    const both = named(member('a'), member('b'));
    expect(plan(mapOf(slots), both, memory, SETTINGS, 0)).toBeUndefined();
    const uneven = ALL.map((slot) => (slot < 40 ? 'a' : 'b'));
    memory.quietUntil = 1000;
    expect(plan(mapOf(uneven), both, memory, SETTINGS, 999)).toBeUndefined();
    const next = plan(mapOf(uneven), both, memory, SETTINGS, 1000)?.map;
    expect(next?.moving.length).toBeGreaterThan(5);
    expect(
      next?.moving.every(({ from, to, since }) => from === 'a' && to === 'b' && since === 11),
    ).toBe(true);
  });

  it('moves slots from the fullest replica to a new one, a bounded number at a time', () => {
    const memory = new PlanMemory();
    let map = mapOf(ALL.map((slot) => (slot < 32 ? 'a' : 'b')));
    let most = 0;
    let moves = 0;
    for (let turn = 0; turn < 20; turn++) {
      // Everybody acknowledges at once.
      const state = { epoch: map.epoch, warm: ALL };
      const all = named(member('a', state), member('b', state), member('c', state));
      const next = plan(map, all, memory, SETTINGS, turn);
      if (next === undefined) break;
      map = next.map;
      most = Math.max(most, map.moving.length);
      moves += map.moving.filter(({ since }) => since === map.epoch).length;
    }
    expect(map.moving).toEqual([]);
    expect(Object.values(counts(map.slots)).sort()).toEqual([21, 21, 22]);
    expect(most).toBe(16);
    expect(moves).toBeLessThan(24);
    expect(memory.quietUntil).toBeGreaterThan(30_000 - 1);
  });

  it('moves no slot twice in a rebalance, whatever replicas report', () => {
    const memory = new PlanMemory();
    let map = mapOf(ALL.map(() => 'a'));
    const moved: number[] = [];
    for (let turn = 0; turn < 200; turn++) {
      // Slots seem heavy where they are to go away from, and light where they come to.
      const own = (name: string) => ALL.filter((slot) => map.slots[slot] === name);
      const tilt = moved.length > 20 ? 'b' : 'a';
      const of = (name: string) =>
        member(name, {
          epoch: map.epoch,
          warm: own(name),
          weights: own(name).map(() => (name === tilt ? 100 : 1)),
        });
      const next = plan(map, named(of('a'), of('b')), memory, SETTINGS, turn);
      if (next === undefined) continue;
      map = next.map;
      for (const { slot, since } of map.moving) if (since === map.epoch) moved.push(slot);
    }
    expect(moved.length).toBeGreaterThan(20);
    expect(new Set(moved).size).toBe(moved.length);
    expect(map.moving).toEqual([]);
  });

  it('levels the number of objects, not of slots', () => {
    const slots = ALL.map((slot) => (slot < 32 ? 'a' : 'b'));
    const heavy = ALL.slice(0, 32);
    const light = ALL.slice(32);
    const members = named(
      member('a', { warm: heavy, weights: heavy.map(() => 30) }),
      member('b', { warm: light, weights: light.map(() => 10) }),
    );
    const next = plan(mapOf(slots), members, new PlanMemory(), SETTINGS, 0)?.map;
    expect(next?.moving).toHaveLength(11);
  });

  it('ignores an acknowledgement of an older map', () => {
    const moving = [{ slot: 3, from: 'a', to: 'b', since: 10 }];
    const map = mapOf(
      ALL.map((slot) => (slot % 2 ? 'a' : 'b')),
      { moving },
    );
    const memory = new PlanMemory();
    const at = (epoch: number, holding: number[]) =>
      plan(map, named(member('a', { epoch, holding }), member('b')), memory, SETTINGS, 0);
    expect(at(9, [])).toBeUndefined();
    expect(at(10, [3])).toBeUndefined();
    expect(at(10, [])?.map).toMatchObject({ moving: [] });
    expect(at(10, [])?.map.slots[3]).toBe('b');
  });

  it('abandons a move that takes too long, and does not move the slot again for a while', () => {
    const moving = [{ slot: 3, from: 'a', to: 'b', since: 10 }];
    const slots = ALL.map((slot) => (slot < 60 ? 'a' : 'b'));
    const memory = new PlanMemory();
    memory.quietUntil = 1e9;
    const members = named(member('a', { epoch: 10, holding: [3] }), member('b'));
    expect(plan(mapOf(slots, { moving }), members, memory, SETTINGS, 0)).toBeUndefined();
    const next = plan(mapOf(slots, { moving }), members, memory, SETTINGS, 60_000);
    expect(next?.map.moving).toEqual([]);
    expect(next?.map.slots[3]).toBe('a');
    expect(next?.events).toEqual([
      { reason: 'ShardMoveAbandoned', note: 'slot 3 stays with a: its move to b took too long' },
    ]);
    memory.quietUntil = 0;
    const later = plan(next?.map as ShardMap, members, memory, SETTINGS, 60_001);
    expect(later?.map.moving.some(({ slot }) => slot === 3)).toBe(false);
    expect(later?.map.moving.length).toBeGreaterThan(0);
  });

  it('frees the slots of a dead replica at once, and moves those of one that leaves', () => {
    const slots = ALL.map((slot) => ['a', 'b', 'c'][slot % 3] as string);
    const dead = named(
      member('a', {}, { isDead: true, isCandidate: false }),
      member('b'),
      member('c'),
    );
    const next = plan(mapOf(slots), dead, new PlanMemory(), SETTINGS, 0);
    expect(counts(next?.map.slots ?? [])).toEqual({ b: 32, c: 32 });
    expect(next?.map.moving).toEqual([]);
    const leaving = named(member('a', { leaving: true }), member('b'), member('c'));
    const moved = plan(mapOf(slots), leaving, new PlanMemory(), SETTINGS, 0)?.map;
    expect(moved?.slots).toEqual(slots);
    expect(counts(moved?.moving.map(({ to }) => to) ?? [])).toEqual({ b: 8, c: 8 });
  });
});

describe('the text of a map', () => {
  const map = mapOf(
    ALL.map((slot) => `web-${slot % 3}`),
    { moving: [{ slot: 1, from: 'web-1', to: 'web-2', since: 10 }] },
  );

  it('is read back as the same map', () => {
    expect(mapOfData(dataOfMap(map))).toEqual(map);
  });

  it.each<[string, Record<string, unknown> | undefined]>([
    ['no data', undefined],
    [
      'an owner changed by hand',
      { ...dataOfMap(map), map: dataOfMap(map).map?.replace('web-1', 'web-0') },
    ],
    ['no checksum', { map: dataOfMap(map).map }],
    ['another text', { map: '{}', checksum: '0' }],
  ])('is not followed with %s', (_, data) => {
    expect(mapOfData(data)).toBeUndefined();
  });
});
