/**
 * What is shown of shards: the map, the replicas and their Leases, as plain JSON. `capstan shards`
 * makes it of the objects that it reads, and the live page of what its replica knows.
 */
import { systemClock, systemWallNow } from '../base/clock.ts';
import { requireString } from '../base/errors.ts';
import { namesOf, requireNames } from '../base/names.ts';
import { requireTransport, type Transport } from '../cache/rest/transport.ts';
import type { LeaseView, MapView } from './cluster-view.ts';
import type { SlotState } from './local-slots.ts';
import type { ShardObject } from './objects.ts';
import type { MoveReason } from './plan.ts';
import { ShardRequests } from './requests.ts';
import type { ShardMap } from './shard-map.ts';
import { rangeOfSlot } from './slots.ts';

/** The shards of one map. */
export interface ShardOverview {
  /** The name of the map, and of the coordinator's Lease. */
  readonly id: string;
  readonly namespace: string;
  /**
   * `good`; `missing`; `changed`: by somebody else, so that nobody follows it; `newer`: of a later
   * release, in a form that is not known here.
   */
  readonly map: 'good' | 'missing' | 'changed' | 'newer';
  /** Grows with each change of the map; 0 without a map. */
  readonly epoch: number;
  /** The map was written anew, and slots wait for acknowledgements of all replicas. */
  readonly isNew: boolean;
  /** The replica that writes the map; empty for none. */
  readonly coordinator: string;
  /** All slots; empty without a map. */
  readonly slots: readonly ShardSlot[];
  /** The replicas that have a Lease or own a slot, sorted by name. */
  readonly replicas: readonly ShardReplicaOverview[];
}

/** The shards as one of their replicas knows them. */
export interface ShardReport extends ShardOverview {
  /** The name of this replica. */
  readonly replica: string;
  /** Whether its Lease is valid now: without, it works on nothing. */
  readonly isValid: boolean;
  /** Whether each slot that the map gives to it is open. */
  readonly isReady: boolean;
  /** What this process does with each slot. */
  readonly states: readonly SlotState[];
  /** For how long the slot without an owner for the longest time has had none, in milliseconds. */
  readonly unownedMs: number;
  /** How many slots this process gave to replicas, as the coordinator. */
  readonly moves: Readonly<Record<MoveReason, number>>;
}

/** A slot of the map: a range of hashes, and who owns it. */
export interface ShardSlot {
  readonly slot: number;
  /** The first hash, and the first after the last, as hexadecimal numbers. */
  readonly from: string;
  readonly to: string;
  /** Empty: nobody. */
  readonly owner: string;
  /** Where it is being moved. */
  readonly movesTo?: string;
  /** What the owner, or the replica that gets it, last said of it. */
  readonly step?: 'warming' | 'warm' | 'let go';
  /** How many objects its owner last counted. */
  readonly objects?: number;
}

/** A replica of a program with shards, as its Lease and the map tell of it. */
export interface ShardReplicaOverview {
  readonly name: string;
  /**
   * `live`; `leaving`: it hands over; `expired`: it has not renewed for the duration of its Lease;
   * `ended`: its Lease was released or taken over; `gone`: it has no Lease.
   */
  readonly state: 'live' | 'leaving' | 'expired' | 'ended' | 'gone';
  /** The slots that it owns. */
  readonly slots: readonly number[];
  /** How many slots are on their way to it, and away from it. */
  readonly incoming: number;
  readonly outgoing: number;
  /** How many objects it last counted in its slots. */
  readonly objects: number;
  /** The time since its last renewal, in milliseconds; -1 without a Lease. */
  readonly renewedMs: number;
  /** In milliseconds. */
  readonly leaseDuration: number;
  /** The epoch of the map that it follows. */
  readonly epoch: number;
}

export interface OverviewSource {
  readonly id: string;
  readonly namespace: string;
  readonly map: MapView | undefined;
  /** Of replicas. */
  readonly leases: readonly LeaseView[];
  readonly coordinator: string;
  /** The time since the last renewal of a Lease, in milliseconds. */
  age(lease: LeaseView): number;
}

export function overviewOf(source: OverviewSource): ShardOverview {
  const { id, namespace, coordinator } = source;
  const found = source.map?.map;
  const map = found === 'newer' ? undefined : found;
  const leases = new Map(
    source.leases.map((lease) => [lease.name.slice(id.length + 1), lease] as const),
  );
  const names = new Set([...leases.keys(), ...(map?.slots ?? [])]);
  names.delete('');
  const isMissing = source.map === undefined;
  return {
    id,
    namespace,
    map:
      found === 'newer' ? 'newer' : map !== undefined ? 'good' : isMissing ? 'missing' : 'changed',
    epoch: map?.epoch ?? 0,
    isNew: map !== undefined && map.floor > 0,
    coordinator,
    slots: map === undefined ? [] : map.slots.map((_, slot) => slotOf(map, slot, leases)),
    replicas: [...names].sort().map((name) => replicaOf(name, leases.get(name), map, source)),
  };
}

function slotOf(map: ShardMap, slot: number, leases: ReadonlyMap<string, LeaseView>): ShardSlot {
  const { from, to } = rangeOfSlot(map.edges, slot);
  const owner = map.slots[slot] ?? '';
  const move = map.moving.find((one) => one.slot === slot);
  const state = leases.get(owner)?.state;
  const objects = state?.weights[state.warm.indexOf(slot)];
  return {
    slot,
    from: hexOf(from),
    to: hexOf(to),
    owner,
    ...(move !== undefined && { movesTo: move.to, step: stepOf(move, leases) }),
    ...(objects !== undefined && { objects }),
  };
}

function stepOf(
  { slot, from, to, since }: ShardMap['moving'][number],
  leases: ReadonlyMap<string, LeaseView>,
): 'warming' | 'warm' | 'let go' {
  const giver = leases.get(from)?.state;
  const taker = leases.get(to)?.state;
  if (giver !== undefined && giver.epoch >= since && !giver.holding.includes(slot)) return 'let go';
  return taker !== undefined && taker.epoch >= since && taker.warm.includes(slot)
    ? 'warm'
    : 'warming';
}

function replicaOf(
  name: string,
  lease: LeaseView | undefined,
  map: ShardMap | undefined,
  { age }: OverviewSource,
): ShardReplicaOverview {
  const slots = (map?.slots ?? []).flatMap((owner, slot) => (owner === name ? [slot] : []));
  const renewedMs = lease === undefined ? -1 : Math.max(0, Math.round(age(lease)));
  const { state } = lease ?? {};
  const counted = slots.map((slot) => state?.weights[state.warm.indexOf(slot)] ?? 0);
  return {
    name,
    state: stateOf(lease, renewedMs),
    slots,
    incoming: map?.moving.filter(({ to }) => to === name).length ?? 0,
    outgoing: map?.moving.filter(({ from }) => from === name).length ?? 0,
    objects: counted.reduce((sum, count) => sum + count, 0),
    renewedMs,
    leaseDuration: lease?.duration ?? 0,
    epoch: state?.epoch ?? 0,
  };
}

function stateOf(lease: LeaseView | undefined, renewedMs: number): ShardReplicaOverview['state'] {
  if (lease === undefined) return 'gone';
  if (lease.holder === '') return 'ended';
  if (renewedMs >= lease.duration) return 'expired';
  return lease.state?.leaving === true ? 'leaving' : 'live';
}

const hexOf = (hash: bigint): string => `0x${hash.toString(16).padStart(16, '0')}`;

/** The time for each of the three reads, in milliseconds. */
const READ_TIMEOUT_MS = 10_000;

/** Options of `readShards`: which shards, by the `id` and namespace of the manager's option. */
export interface ReadShardsOptions {
  readonly id: string;
  readonly namespace: string;
  readonly signal?: AbortSignal | undefined;
}

const READ_NAMES = namesOf<ReadShardsOptions>()({ id: 1, namespace: 1, signal: 1 });

/**
 * Reads the map and the Leases of shards, from outside of their replicas. The ages of Leases are by
 * the clock of this computer, and wrong by as much as it is.
 *
 * @throws CapstanError TIMEOUT, and what the transport throws; StatusError
 *
 * @example
 * const shards = await readShards(transport, { id: 'websites', namespace: 'operators' });
 * for (const { name, slots } of shards.replicas) console.log(name, slots.length);
 */
export async function readShards(
  transport: Transport,
  options: ReadShardsOptions,
): Promise<ShardOverview> {
  requireTransport('transport', transport);
  requireNames('options', options, 'option of readShards', READ_NAMES);
  requireString('options.id', options.id);
  const { id, namespace, signal = new AbortController().signal } = options;
  const requests = new ShardRequests(transport, {
    id,
    namespace,
    clock: systemClock,
    timeout: READ_TIMEOUT_MS,
    wallNow: systemWallNow,
  });
  const [map, leases, leader] = await Promise.all([
    requests.read('map', 0, signal),
    requests.read('leases', 0, signal),
    requests.read('leader', 0, signal),
  ]);
  const now = systemWallNow();
  return overviewOf({
    id,
    namespace,
    map: map.type === 'map' ? map.object : undefined,
    leases: leases.type === 'leases' ? leases.leases : [],
    coordinator: leader.type === 'leader' ? (leader.lease?.holder ?? '') : '',
    age: ({ raw }) => now - Date.parse((raw as ShardObject).spec?.renewTime ?? ''),
  });
}
