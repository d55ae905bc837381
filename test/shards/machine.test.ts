/** A replica with answers that the simulation seldom generates. */
import { describe, expect, it } from 'vitest';
import { hashText } from '../../bindings/base/json-value.ts';
import type { LeaseView, MemberState } from '../../bindings/shards/cluster-view.ts';
import {
  type MachineSettings,
  type ShardInput,
  ShardMachine,
  type ShardOutput,
} from '../../bindings/shards/machine.ts';
import { leaseViewOf, STATE_ANNOTATION } from '../../bindings/shards/objects.ts';
import { dataOfMap, emptyMap, mapOfData, type ShardMap } from '../../bindings/shards/shard-map.ts';
import { chooseEdges, SLOTS, weighSlots } from '../../bindings/shards/slots.ts';
import { laterDataOf, ShardServer } from './simulated-cluster.ts';

const SETTINGS: MachineSettings = {
  id: 'web',
  member: 'a',
  leaseDuration: 15_000,
  retryPeriod: 2000,
  maxClockSkewRatio: 1.5,
  joinDelay: 0,
  moveTimeout: 30_000,
  quiet: 30_000,
  threshold: 0.1,
  mostMoves: 16,
  recutPause: 600_000,
};

/** A replica on a server whose answers come at once, unless a test holds some back. */
class Rig {
  readonly server = new ShardServer();
  readonly machine: ShardMachine;
  readonly log: string[] = [];
  now = 0;
  /** The names that a survey finds. */
  names: readonly (readonly [bigint, number])[] = [];
  areListsLost = false;
  /** Whether writes of the leader Lease get no answer. */
  isLeaderSlow = false;

  constructor(weightOf: (slot: number) => number = () => 0) {
    this.machine = new ShardMachine(SETTINGS, weightOf);
  }

  run(ms: number): void {
    for (const end = this.now + ms; this.now <= end; this.now += 100) this.step();
  }

  step(input?: ShardInput): void {
    for (const output of this.machine.step(this.now, input)) this.#carryOut(output);
  }

  owners(): readonly string[] {
    const map = this.server.map?.map;
    return map === undefined || map === 'newer' ? [] : map.slots;
  }

  #carryOut(output: ShardOutput): void {
    const { server } = this;
    switch (output.type) {
      case 'read': {
        const { version } = server;
        if (output.what === 'map')
          this.step({ type: 'map', version, object: server.mapFor('this') });
        else if (output.what === 'leader')
          this.step({ type: 'leader', version, lease: server.leases.get('web') });
        else if (this.areListsLost) this.step({ type: 'read-failed', what: 'leases' });
        else this.step({ type: 'leases', sentAt: this.now, version, leases: this.#memberLeases() });
        return;
      }
      case 'write':
        this.log.push(output.kind === 'map' ? 'map' : `${output.verb} ${output.name}`);
        if (this.isLeaderSlow && output.kind === 'lease' && output.name === 'web') return;
        this.step({ type: 'answer', id: output.id, ...server.write(output) });
        return;
      case 'survey':
        this.step({ type: 'surveyed', names: this.names });
        return;
      case 'warm':
        this.step({ type: 'warmed', slot: output.slot, token: output.token });
        return;
      case 'close':
        this.step({ type: 'drained', slot: output.slot, token: output.token });
        return;
      case 'event':
        this.log.push(output.reason);
        return;
      case 'ended':
        this.log.push(output.why);
    }
  }

  #memberLeases(): LeaseView[] {
    return [...this.server.leases.values()].filter(({ name }) => name !== 'web');
  }
}

const state = (more: Partial<MemberState>): MemberState => ({
  epoch: 0,
  warm: [],
  holding: [],
  leaving: false,
  weights: [],
  ...more,
});

describe('a replica', () => {
  it('owns and opens all slots when it is alone', () => {
    const rig = new Rig();
    rig.run(5000);
    expect(new Set(rig.owners())).toEqual(new Set(['a']));
    expect(rig.machine.mayStart(0, rig.now)).toBe(true);
  });

  it('gives out a new map only with a list of Leases that is younger than the map', () => {
    const rig = new Rig();
    rig.run(5000);
    rig.areListsLost = true;
    // A replica of which this one has heard nothing runs slots by the map that is lost now.
    const content = { holder: 'b', duration: 15_000, state: state({ epoch: 3, holding: [5] }) };
    const told = rig.server.write({
      type: 'write',
      id: 0,
      kind: 'lease',
      verb: 'create',
      name: 'web-b',
      base: undefined,
      content,
    });
    expect(told.result).toBe('done');
    rig.server.deleteMap();
    rig.run(8000);
    expect(new Set(rig.owners())).toEqual(new Set(['']));
    rig.areListsLost = false;
    rig.run(3000);
    // Now it knows of b, which has not acknowledged the new map.
    expect(new Set(rig.owners())).toEqual(new Set(['']));
    rig.run(20_000);
    expect(new Set(rig.owners())).toEqual(new Set(['a']));
    expect(rig.server.leases.get('web-b')?.holder ?? '').toBe('');
  });

  it('chooses other edges when all objects are in one slot', () => {
    const place = 3n << 59n;
    const names = Array.from({ length: 200 }, (_, i) => [place + (BigInt(i) << 20n), 1] as const);
    let edges: readonly bigint[] | undefined;
    let weights: readonly number[] = [];
    const weigh = (slot: number): number => {
      if (edges !== rig.machine.map?.edges) {
        edges = rig.machine.map?.edges;
        weights = weighSlots(edges ?? [], names);
      }
      return weights[slot] ?? 0;
    };
    const rig: Rig = new Rig(weigh);
    rig.run(5000);
    rig.names = names;
    const first = rig.machine.map?.edges;
    rig.run(100_000);
    // A single replica moves no slots.
    expect(rig.machine.map?.edges).toBe(first);
    // A second replica, which owns only slots with few objects.
    const map = rig.machine.map;
    if (map === undefined) throw new Error('there is no map');
    const heavy = Array.from({ length: SLOTS }, (_, slot) => weigh(slot)).indexOf(200);
    const slots = map.slots.map((_, slot) => (slot === heavy ? 'a' : 'b'));
    rig.server.putMap(dataOfMap({ ...map, epoch: map.epoch + 1, slots }));
    const renew = (): void => {
      const base = rig.server.leases.get('web-b');
      const { epoch = 0 } = rig.machine.map ?? {};
      const held = rig.owners().flatMap((owner, slot) => (owner === 'b' ? [slot] : []));
      rig.server.write({
        type: 'write',
        id: 0,
        kind: 'lease',
        verb: base === undefined ? 'create' : 'update',
        name: 'web-b',
        base,
        content: {
          holder: 'b',
          duration: 15_000,
          state: state({ epoch, warm: held, weights: held.map(weigh) }),
        },
      });
    };
    for (let i = 0; i < 100; i++) {
      renew();
      rig.run(1000);
    }
    expect(rig.log.filter((line) => line === 'ShardSlotsCut')).toHaveLength(1);
    const ours = rig
      .owners()
      .reduce((sum, owner, slot) => sum + (owner === 'a' ? weigh(slot) : 0), 0);
    expect(ours).toBeGreaterThanOrEqual(90);
    expect(ours).toBeLessThanOrEqual(110);
  });

  it('releases its Leases and ends when a later release has written the map', () => {
    const rig = new Rig();
    rig.run(5000);
    rig.server.putMap(laterDataOf(rig.machine.map as ShardMap));
    rig.log.length = 0;
    rig.run(5000);
    expect(rig.log.at(-1)).toBe('outdated');
    expect(rig.log).not.toContain('map');
    expect(rig.server.leases.get('web-a')?.holder).toBe('');
    expect(rig.server.leases.get('web')?.holder).toBe('');
  });

  it('does not overwrite the map of a later release while it waits for an answer', () => {
    const rig = new Rig();
    rig.run(5000);
    rig.isLeaderSlow = true;
    rig.run(3000);
    expect(rig.machine.isLeader(rig.now)).toBe(true);
    rig.log.length = 0;
    const map = rig.machine.map as ShardMap;
    rig.server.putMap(laterDataOf({ ...map, epoch: rig.server.version }));
    rig.step({
      type: 'map',
      version: rig.server.version,
      object: rig.server.mapFor('this'),
    });
    rig.run(3000);
    expect(rig.log).not.toContain('map');
    expect(rig.machine.slots.isIdle()).toBe(true);
    expect(rig.server.leases.get('web-a')?.holder).toBe('');
  });
});

describe('the text of a map', () => {
  it('of a later release is not taken for one that was changed by hand', () => {
    const data = dataOfMap(emptyMap(7, chooseEdges([])));
    expect(mapOfData(data)).toMatchObject({ epoch: 7 });
    const later = laterDataOf(emptyMap(7, chooseEdges([])));
    expect(mapOfData(later)).toBe('newer');
    expect(mapOfData({ ...data, map: later.map })).toBeUndefined();
  });

  it('may have fields of a later release', () => {
    const map = { ...emptyMap(7, chooseEdges([])), floor: 0 };
    const move = { slot: 3, from: 'a', to: 'b', since: 7 };
    const parts = { ...partsOf({ ...map, moving: [move] }), more: { anything: [1] } };
    const moving = [{ ...move, more: 1 }];
    expect(mapOfData(checked({ ...parts, moving }))).toMatchObject({ ...map, moving: [move] });
  });

  it.each<[string, object]>([
    ['without slots', { slots: undefined }],
    ['with too few slots', { slots: ['a'] }],
    ['with an owner that is no name', { slots: new Array(SLOTS).fill(1) }],
    ['with an edge that is no number', { edges: new Array(SLOTS - 1).fill('x'.repeat(16)) }],
    ['with edges out of order', { edges: edgesText(chooseEdges([])).reverse() }],
    ['with a move of no slot', { moving: [{ slot: SLOTS, from: 'a', to: 'b', since: 1 }] }],
    ['with a move that is no object', { moving: [null] }],
    ['without an epoch', { epoch: null }],
    ['of no release', { version: 0 }],
  ])('counts as changed by hand: %s', (_, change) => {
    const parts = partsOf(emptyMap(7, chooseEdges([])));
    expect(mapOfData(checked(parts))).toBeDefined();
    expect(mapOfData(checked({ ...parts, ...change }))).toBeUndefined();
  });
});

describe('the Lease of a replica', () => {
  const lease = (annotation: object) =>
    leaseViewOf({
      metadata: { name: 'web-b', annotations: { [STATE_ANNOTATION]: JSON.stringify(annotation) } },
      spec: { holderIdentity: 'b', leaseDurationSeconds: 15 },
    }).state;
  const written = { epoch: 4, warm: '0-2', holding: '1', leaving: false, weights: [1, 2, 3] };
  const known = state({ epoch: 4, warm: [0, 1, 2], holding: [1], weights: [1, 2, 3] });

  it('may have fields of a later release', () => {
    expect(lease(written)).toEqual(known);
    expect(lease({ ...written, reads: 2, more: { anything: [] } })).toEqual(known);
  });

  it('with another format acknowledges nothing, so its replica keeps its slots', () => {
    expect(lease({ ...written, holding: [1] })).toBeUndefined();
    const rig = new Rig();
    const content = { holder: 'b', duration: 15_000, state: undefined };
    const renew = (): void => {
      const name = 'web-b';
      const base = rig.server.leases.get(name);
      const verb = base === undefined ? 'create' : 'update';
      rig.server.write({ type: 'write', id: 0, kind: 'lease', verb, name, base, content });
    };
    renew();
    for (let i = 0; i < 30; i++) {
      rig.run(1000);
      renew();
    }
    expect(new Set(rig.owners())).toEqual(new Set(['']));
    // It no longer renews its Lease.
    rig.run(20_000);
    expect(new Set(rig.owners())).toEqual(new Set(['a']));
  });
});

const checked = (parts: object): Record<string, string> => {
  const map = JSON.stringify(parts);
  return { map, checksum: hashText(map, 1).toString(16) };
};

const partsOf = (map: ShardMap): object => JSON.parse(dataOfMap(map).map as string);

function edgesText(edges: readonly bigint[]): string[] {
  return edges.map((edge) => edge.toString(16).padStart(16, '0'));
}
