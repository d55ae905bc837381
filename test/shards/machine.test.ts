/** What a replica does with single answers that the simulation seldom draws. */
import { describe, expect, it } from 'vitest';
import { hashText } from '../../bindings/base/json-value.ts';
import type { LeaseView, MapView, MemberState } from '../../bindings/shards/cluster-view.ts';
import {
  type MachineSettings,
  type ShardInput,
  ShardMachine,
  type ShardOutput,
} from '../../bindings/shards/machine.ts';
import { dataOfMap, emptyMap, mapOfData } from '../../bindings/shards/shard-map.ts';
import { chooseEdges, SLOTS, weighSlots } from '../../bindings/shards/slots.ts';
import { ShardServer } from './simulated-cluster.ts';

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
        if (output.what === 'map') this.step({ type: 'map', version, object: server.map });
        else if (output.what === 'leader')
          this.step({ type: 'leader', version, lease: server.leases.get('web') });
        else if (this.areListsLost) this.step({ type: 'read-failed', what: 'leases' });
        else this.step({ type: 'leases', sentAt: this.now, version, leases: this.#memberLeases() });
        return;
      }
      case 'write':
        this.log.push(output.kind === 'map' ? 'map' : `${output.verb} ${output.name}`);
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
    // Alone, it has nothing to share.
    expect(rig.machine.map?.edges).toBe(first);
    // Another one, that has only light slots.
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
    const object = { ...(rig.server.map as MapView), version: ++rig.server.version };
    rig.server.map = { ...object, map: 'newer' };
    rig.log.length = 0;
    rig.run(5000);
    expect(rig.log.at(-1)).toBe('outdated');
    expect(rig.log).not.toContain('map');
    expect(rig.server.leases.get('web-a')?.holder).toBe('');
    expect(rig.server.leases.get('web')?.holder).toBe('');
  });
});

describe('the text of a map', () => {
  it('of a later release is not taken for one that was changed by hand', () => {
    const data = dataOfMap(emptyMap(7, chooseEdges([])));
    expect(mapOfData(data)).toMatchObject({ epoch: 7 });
    const later = JSON.stringify({ ...JSON.parse(data.map as string), version: 2 });
    expect(mapOfData({ ...data, map: later })).toBeUndefined();
    expect(mapOfData({ map: later, checksum: dataOfLater(later) })).toBe('newer');
  });
});

/** The checksum that any release writes. */
const dataOfLater = (text: string): string => hashText(text, 1).toString(16);
