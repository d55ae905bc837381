/**
 * The coordinator's decision: from the map and what the replicas acknowledge, the next map. Safety
 * needs no state of the coordinator. Each change rests on facts that stay true while the map does
 * not change, and the map is written by compare-and-swap, so a late coordinator changes nothing.
 */
import type { MemberState } from './cluster-view.ts';
import type { Move, ShardMap } from './shard-map.ts';
import { SLOTS } from './slots.ts';

export interface PlanMember {
  readonly name: string;
  /** Its Lease was released or taken over: it runs no slot, and never will again. */
  readonly isDead: boolean;
  /** It may get slots: it renews its Lease and does not leave. */
  readonly isCandidate: boolean;
  /** `undefined` if its Lease is absent. */
  readonly state: MemberState | undefined;
}

export interface PlanSettings {
  /** How long a move may take before it is abandoned, in milliseconds. */
  readonly moveTimeout: number;
  /** No rebalance begins for so long after one has ended, in milliseconds. */
  readonly quiet: number;
  /**
   * A rebalance begins when the fullest replica is above the mean by this part of it, such as 0.1.
   */
  readonly threshold: number;
  /** The greatest number of moves at a time. */
  readonly mostMoves: number;
  /** The shortest time between two choices of edges, in milliseconds. */
  readonly recutPause: number;
}

/** A rebalance continues until the fullest replica is above the mean by at most this part of it. */
const GOOD_ENOUGH = 0.02;

export type ShardEventReason =
  | 'ShardMapWritten'
  | 'ShardSlotsCut'
  | 'ShardReplicaLost'
  | 'ShardReplicaLeaving'
  | 'ShardsRebalanced'
  | 'ShardMoveAbandoned';

/**
 * Why a slot got its owner. `assigned`: it had none; `died`: the Lease of the old owner was
 * released or taken over; `leaving`: the old owner hands over in order to end; `rebalance`: the old
 * owner had more objects than others.
 */
export const MOVE_REASONS = ['assigned', 'died', 'leaving', 'rebalance'] as const;
export type MoveReason = (typeof MOVE_REASONS)[number];

export interface ShardEvent {
  readonly reason: ShardEventReason;
  readonly note: string;
}

export interface Plan {
  readonly map: ShardMap;
  readonly events: readonly ShardEvent[];
  /** One reason for each slot that gets another owner. */
  readonly given: readonly MoveReason[];
}

/** What a coordinator remembers between plans. A new coordinator begins with an empty one. */
export class PlanMemory {
  /** When each move was first seen, by slot and epoch. */
  readonly seen = new Map<string, number>();
  /** For each slot whose move was abandoned: until when no rebalance moves it. */
  readonly spared = new Map<number, number>();
  /** Whether a rebalance is under way. */
  isBalancing = false;
  /** The slots that this rebalance has moved. It moves none twice, so it always ends. */
  readonly moved = new Set<number>();
  /** No rebalance begins before this time. */
  quietUntil = Number.NEGATIVE_INFINITY;
  /** The weights of the slots when their edges were chosen; empty if unknown. */
  guessed: readonly number[] = [];
  /** Since when a rebalance is due and no move can level the replicas; otherwise `undefined`. */
  stuckSince: number | undefined;
  /** No other edges are chosen before this time. */
  recutAfter = Number.NEGATIVE_INFINITY;
}

/** The next map with its events; `undefined` if nothing changes. */
export function plan(
  map: ShardMap,
  members: ReadonlyMap<string, PlanMember>,
  memory: PlanMemory,
  settings: PlanSettings,
  now: number,
): Plan | undefined {
  return new Planner(map, members, memory, settings, now).run();
}

class Planner {
  readonly #map: ShardMap;
  readonly #members: ReadonlyMap<string, PlanMember>;
  readonly #memory: PlanMemory;
  readonly #settings: PlanSettings;
  readonly #now: number;
  readonly #slots: string[];
  #moving: Move[];
  readonly #weights: number[];
  readonly #loads = new Map<string, number>();
  readonly #events: ShardEvent[] = [];
  readonly #given: MoveReason[] = [];
  readonly #freed = new Set<number>();
  #floor: number;

  constructor(
    map: ShardMap,
    members: ReadonlyMap<string, PlanMember>,
    memory: PlanMemory,
    settings: PlanSettings,
    now: number,
  ) {
    this.#map = map;
    this.#members = members;
    this.#memory = memory;
    this.#settings = settings;
    this.#now = now;
    this.#slots = [...map.slots];
    this.#moving = [...map.moving];
    this.#floor = map.floor;
    this.#weights = slotWeights(map, members, memory.guessed);
  }

  run(): Plan | undefined {
    this.#settleMoves();
    this.#freeSlotsOfDead();
    this.#countLoads();
    this.#assignFree();
    this.#moveFromLeaving();
    this.#rebalance();
    const slots = this.#slots;
    const moving = this.#moving;
    const isSame =
      this.#floor === this.#map.floor &&
      slots.every((owner, slot) => owner === this.#map.slots[slot]) &&
      moving.length === this.#map.moving.length &&
      moving.every((move, i) => move === this.#map.moving[i]);
    if (isSame) return undefined;
    const { edges, epoch } = this.#map;
    return {
      map: { epoch: epoch + 1, floor: this.#floor, edges, slots, moving },
      events: this.#events,
      given: this.#given,
    };
  }

  /** Ends moves that are done, that are impossible, and that take too long. */
  #settleMoves(): void {
    const { seen, spared } = this.#memory;
    const keys = new Set(this.#moving.map(keyOf));
    for (const key of seen.keys()) if (!keys.has(key)) seen.delete(key);
    this.#moving = this.#moving.filter((move) => {
      const { slot, from, to, since } = move;
      const key = keyOf(move);
      const begun = seen.get(key) ?? this.#now;
      seen.set(key, begun);
      if (this.#slots[slot] !== from || this.#isDead(from)) return false;
      if (this.#isDead(to)) return false;
      const state = this.#members.get(from)?.state;
      if (state !== undefined && state.epoch >= since && !state.holding.includes(slot)) {
        this.#slots[slot] = to;
        this.#given.push(state.leaving ? 'leaving' : 'rebalance');
        return false;
      }
      if (this.#members.get(to)?.state?.leaving) return false;
      if (this.#now - begun < this.#settings.moveTimeout) return true;
      spared.set(slot, this.#now + this.#settings.quiet);
      this.#event(
        'ShardMoveAbandoned',
        `slot ${slot} stays with ${from}: its move to ${to} took too long`,
      );
      return false;
    });
  }

  #freeSlotsOfDead(): void {
    const lost = new Set<string>();
    this.#slots.forEach((owner, slot) => {
      if (owner === '' || !this.#isDead(owner)) return;
      lost.add(owner);
      this.#slots[slot] = '';
      this.#freed.add(slot);
    });
    for (const name of lost)
      if (!this.#members.get(name)?.state?.leaving)
        this.#event('ShardReplicaLost', `${name} has ended: its slots go to others`);
  }

  #countLoads(): void {
    for (const { name, isCandidate } of this.#members.values())
      if (isCandidate) this.#loads.set(name, 0);
    this.#slots.forEach((owner, slot) => {
      const to = this.#moving.find((move) => move.slot === slot)?.to ?? owner;
      this.#load(to, this.#weight(slot));
    });
  }

  #assignFree(): void {
    const free: number[] = [];
    this.#slots.forEach((owner, slot) => {
      if (owner === '' && this.#isSurelyFree(slot)) free.push(slot);
    });
    if (free.length > 0 && this.#loads.size > 0) {
      const left = free.filter((slot) => !this.#giveToWarm(slot));
      if (left.length === SLOTS) this.#cutIntoBlocks();
      // The heaviest first: light ones can level the rest.
      else
        for (const slot of left.sort((a, b) => this.#weight(b) - this.#weight(a)))
          this.#give(slot, this.#emptiest());
    }
    if (this.#floor > 0 && this.#slots.every((owner) => owner !== '')) this.#floor = 0;
  }

  /**
   * Whether no replica runs a slot without an owner. After a new map (`floor`) each live replica
   * has to acknowledge it first.
   */
  #isSurelyFree(slot: number): boolean {
    if (this.#map.floor === 0) return true;
    for (const { isDead, state } of this.#members.values()) {
      if (isDead) continue;
      if (state === undefined || state.epoch < this.#map.floor || state.holding.includes(slot))
        return false;
    }
    return true;
  }

  /** Gives the slot to a replica that has its objects. Returns whether there is one. */
  #giveToWarm(slot: number): boolean {
    for (const name of this.#loads.keys()) {
      if (!this.#members.get(name)?.state?.warm.includes(slot)) continue;
      this.#give(slot, name);
      return true;
    }
    return false;
  }

  /** Gives each replica adjacent slots, so that the selector for the server has few ranges. */
  #cutIntoBlocks(): void {
    const names = [...this.#loads.keys()].sort();
    let left = this.#weights.reduce((sum, weight) => sum + weight, 0);
    let at = 0;
    let filled = 0;
    for (let slot = 0; slot < SLOTS; slot++) {
      const weight = this.#weight(slot);
      const target = left / (names.length - at);
      if (at < names.length - 1 && filled > 0 && filled + weight / 2 > target) {
        at++;
        left -= filled;
        filled = 0;
      }
      filled += weight;
      this.#give(slot, names[at] as string);
    }
  }

  #moveFromLeaving(): void {
    if (this.#loads.size === 0) return;
    const { mostMoves } = this.#settings;
    const leaving = new Set<string>();
    this.#slots.forEach((owner, slot) => {
      if (!this.#members.get(owner)?.state?.leaving || this.#isDead(owner)) return;
      if (this.#moving.some((move) => move.slot === slot)) return;
      if (this.#moving.length >= mostMoves) return;
      leaving.add(owner);
      this.#move(slot, owner, this.#emptiest());
    });
    for (const name of leaving)
      this.#event('ShardReplicaLeaving', `${name} is leaving: its slots go to others`);
  }

  #rebalance(): void {
    const { mostMoves, threshold, quiet } = this.#settings;
    const { spared } = this.#memory;
    for (const [slot, until] of spared) if (until <= this.#now) spared.delete(slot);
    if (this.#loads.size === 0 || this.#floor > 0) return;
    const excess = this.#excess();
    if (!this.#memory.isBalancing) {
      const { stuckSince, quietUntil } = this.#memory;
      this.#memory.stuckSince = undefined;
      if (excess < threshold || this.#now < quietUntil) return;
      if (this.#bestMove() === undefined) {
        if (this.#moving.length === 0 && spared.size === 0)
          this.#memory.stuckSince = stuckSince ?? this.#now;
        return;
      }
      this.#memory.isBalancing = true;
      this.#event(
        'ShardsRebalanced',
        `a rebalance begins: the fullest replica is ${percent(excess)} above the mean`,
      );
    }
    while (this.#moving.length < mostMoves && this.#excess() > GOOD_ENOUGH) {
      const best = this.#bestMove();
      if (best === undefined) break;
      this.#memory.moved.add(best[0]);
      this.#move(...best);
    }
    if (this.#moving.length > 0) return;
    this.#memory.isBalancing = false;
    this.#memory.moved.clear();
    this.#memory.quietUntil = this.#now + quiet;
  }

  /** The slot whose move from the fullest to the emptiest replica levels them best. */
  #bestMove(): [slot: number, from: string, to: string] | undefined {
    const { spared, moved } = this.#memory;
    const to = this.#emptiest();
    const [from, load] = this.#fullest();
    const difference = load - (this.#loads.get(to) as number);
    let best: number | undefined;
    let least = difference / 2;
    this.#slots.forEach((owner, slot) => {
      if (owner !== from || spared.has(slot) || moved.has(slot)) return;
      if (this.#moving.some((move) => move.slot === slot)) return;
      const miss = Math.abs(difference / 2 - this.#weight(slot));
      if (miss < least) {
        least = miss;
        best = slot;
      }
    });
    return best === undefined ? undefined : [best, from, to];
  }

  /** By which part of the mean the fullest replica is above it. */
  #excess(): number {
    let sum = 0;
    for (const load of this.#loads.values()) sum += load;
    return sum === 0 ? 0 : (this.#fullest()[1] * this.#loads.size) / sum - 1;
  }

  #fullest(): [name: string, load: number] {
    let fullest: [string, number] = ['', Number.NEGATIVE_INFINITY];
    for (const entry of this.#loads) if (entry[1] > fullest[1]) fullest = entry;
    return fullest;
  }

  #emptiest(): string {
    let emptiest: [string, number] = ['', Number.POSITIVE_INFINITY];
    for (const entry of this.#loads) if (entry[1] < emptiest[1]) emptiest = entry;
    return emptiest[0];
  }

  #move(slot: number, from: string, to: string): void {
    this.#moving.push({ slot, from, to, since: this.#map.epoch + 1 });
    this.#load(from, -this.#weight(slot));
    this.#load(to, this.#weight(slot));
  }

  #give(slot: number, to: string): void {
    this.#slots[slot] = to;
    this.#given.push(this.#freed.has(slot) ? 'died' : 'assigned');
    this.#load(to, this.#weight(slot));
  }

  #load(name: string, weight: number): void {
    const load = this.#loads.get(name);
    if (load !== undefined) this.#loads.set(name, load + weight);
  }

  #weight(slot: number): number {
    return this.#weights[slot] as number;
  }

  #isDead(name: string): boolean {
    return this.#members.get(name)?.isDead ?? false;
  }

  #event(reason: ShardEventReason, note: string): void {
    this.#events.push({ reason, note });
  }
}

const keyOf = ({ slot, since }: Move): string => `${slot}@${since}`;

const percent = (part: number): string => `${Math.round(part * 100)} %`;

/**
 * The weight of each slot: the number of objects that its owner reports. For a slot without a
 * report it is an estimate, from `guessed` or the mean. No weight is 0, so that empty slots are
 * divided too.
 */
export function slotWeights(
  map: ShardMap,
  members: ReadonlyMap<string, PlanMember>,
  guessed: readonly number[],
): number[] {
  const weights = new Array<number | undefined>(SLOTS).fill(undefined);
  let sum = 0;
  let known = 0;
  for (const { name, state } of members.values())
    state?.warm.forEach((slot, i) => {
      const weight = state.weights[i];
      if (weight === undefined || (map.slots[slot] !== name && weights[slot] !== undefined)) return;
      if (weights[slot] === undefined) known++;
      sum += weight - (weights[slot] ?? 0);
      weights[slot] = weight;
    });
  const mean = known === 0 ? 1 : sum / known;
  const least = Math.max(mean / 100, 1e-6);
  const guess = guessed.reduce((all, weight) => all + weight, 0) / SLOTS;
  return weights.map((weight, slot) =>
    Math.max(weight ?? (guess > 0 ? ((guessed[slot] ?? 0) / guess) * mean : mean), least),
  );
}
