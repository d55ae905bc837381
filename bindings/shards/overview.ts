/**
 * The state of shards for people, as plain JSON: the map, the replicas and their Leases.
 * `capstan shards` makes it from the objects that it reads, and the live page from what its replica
 * knows.
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
   * `good`; `missing`; `changed`: not written by a coordinator, so no replica follows it; `newer`:
   * written by a later release, and not readable here.
   */
  readonly map: 'good' | 'missing' | 'changed' | 'newer';
  /** The epoch of the map, which grows with each write; 0 without a map. */
  readonly epoch: number;
  /** Whether the map is new, and slots wait until all replicas have acknowledged it. */
  readonly isNew: boolean;
  /** The name of the coordinator, which writes the map; empty for none. */
  readonly coordinator: string;
  /** All slots; empty without a map. */
  readonly slots: readonly ShardSlot[];
  /** The replicas that have a Lease or own a slot, sorted by name. */
  readonly replicas: readonly ShardReplicaOverview[];
}

/** The state of shards as one replica sees it. */
export interface ShardReport extends ShardOverview {
  /** The name of this replica. */
  readonly replica: string;
  /** Whether its Lease is valid now. If not, it runs no slot. */
  readonly isValid: boolean;
  /** Whether its Lease is valid, there is a map, and all slots that it owns are open. */
  readonly isReady: boolean;
  /** The state of each slot in this process. */
  readonly states: readonly SlotState[];
  /** The longest time for which a slot has had no owner, in milliseconds. */
  readonly unownedMs: number;
  /** How many times this process, as the coordinator, gave a slot to a replica, by reason. */
  readonly moves: Readonly<Record<MoveReason, number>>;
}

/** A slot of the map: a range of hashes, and who owns it. */
export interface ShardSlot {
  readonly slot: number;
  /** The first hash, as a hexadecimal number. */
  readonly from: string;
  /** The end of the range (exclusive), as a hexadecimal number. */
  readonly to: string;
  /** The name of a replica; empty for none. */
  readonly owner: string;
  /** The new owner, if the slot is being moved. */
  readonly movesTo?: string;
  /** How far the move is, by what both replicas have acknowledged. */
  readonly step?: 'warming' | 'warm' | 'let go';
  /** The number of objects, as its owner reported last. */
  readonly objects?: number;
}

/** A replica of a program with shards, as its Lease and the map tell of it. */
export interface ShardReplicaOverview {
  readonly name: string;
  /**
   * `live`; `leaving`: it hands over its slots; `expired`: it has not renewed its Lease for the
   * lease duration; `ended`: its Lease was released or taken over; `gone`: it has no Lease.
   */
  readonly state: 'live' | 'leaving' | 'expired' | 'ended' | 'gone';
  /** The slots that it owns. */
  readonly slots: readonly number[];
  /** How many slots are being moved to it. */
  readonly incoming: number;
  /** How many slots are being moved away from it. */
  readonly outgoing: number;
  /** The number of objects in its slots, as it reported last. */
  readonly objects: number;
  /** The time since its last renewal, in milliseconds; -1 without a Lease. */
  readonly renewedMs: number;
  /** How long its Lease lasts after a renewal, in milliseconds; 0 without a Lease. */
  readonly leaseDuration: number;
  /** The epoch of the map that it has acknowledged last. */
  readonly epoch: number;
}

export interface OverviewSource {
  readonly id: string;
  readonly namespace: string;
  readonly map: MapView | undefined;
  /** The Leases of replicas. */
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

/** The timeout of each of the three reads, in milliseconds. */
const READ_TIMEOUT_MS = 10_000;

/** Options of `readShards`: which shards, by the `id` and namespace of the manager's option. */
export interface ReadShardsOptions {
  readonly id: string;
  readonly namespace: string;
  readonly signal?: AbortSignal | undefined;
}

const READ_NAMES = namesOf<ReadShardsOptions>()({ id: 1, namespace: 1, signal: 1 });

/**
 * Reads the map and the Leases of shards, from any process. It computes the ages of Leases by the
 * clock of this machine, so they are wrong by as much as this clock differs from the replicas'.
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
