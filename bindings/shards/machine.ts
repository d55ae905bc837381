/**
 * The protocol of one replica as a state machine without I/O: `step` takes the time and an input,
 * and returns the requests to send and the actions of the host.
 *
 * It keeps the replica's own Lease, without which it runs no slot; its slots (local-slots.ts); and,
 * in one replica at a time, the leader Lease, which makes it the coordinator. Safety does not
 * depend on the leader Lease: see plan.ts. A machine whose Lease was taken over has ended. The
 * process then makes a new one with another name.
 */
import { ClusterView, type LeaseView, type MapView, type MemberState } from './cluster-view.ts';
import { LocalSlots, type SlotAction } from './local-slots.ts';
import {
  type MoveReason,
  type Plan,
  type PlanMember,
  PlanMemory,
  type PlanSettings,
  plan,
  type ShardEvent,
  slotWeights,
} from './plan.ts';
import { emptyMap, type Move, type ShardMap } from './shard-map.ts';
import { chooseEdges, slotOfHash, type WeighedHash, weighSlots } from './slots.ts';

export interface MachineSettings extends PlanSettings {
  /** The name of the map and of the leader Lease, and the prefix of the replicas' Leases. */
  readonly id: string;
  /** The name of this replica. No other one, before or after, may have it. */
  readonly member: string;
  /** In milliseconds. */
  readonly leaseDuration: number;
  /** The time between two renewals, in milliseconds. */
  readonly retryPeriod: number;
  /** The ratio by which another replica's clock may run faster. */
  readonly maxClockSkewRatio: number;
  /**
   * How long the coordinator of a new map waits for other replicas before it gives out the slots,
   * in milliseconds.
   */
  readonly joinDelay: number;
}

/** The content of a Lease to write. The rest of the object stays. */
export interface LeaseContent {
  readonly holder: string;
  readonly duration: number;
  readonly state: MemberState | undefined;
}

export type ShardWrite =
  | {
      readonly type: 'write';
      readonly id: number;
      readonly kind: 'lease';
      readonly verb: 'create' | 'update' | 'delete';
      readonly name: string;
      /** The version to replace or delete. */
      readonly base: LeaseView | undefined;
      readonly content: LeaseContent;
    }
  | {
      readonly type: 'write';
      readonly id: number;
      readonly kind: 'map';
      readonly verb: 'create' | 'update';
      readonly base: MapView | undefined;
      readonly map: ShardMap;
    };

export type ShardOutput =
  | SlotAction
  | ShardWrite
  | { readonly type: 'read'; readonly what: ReadKind }
  /** Asks the host for the names that exist, to choose edges. */
  | { readonly type: 'survey' }
  | ({ readonly type: 'event' } & ShardEvent)
  | { readonly type: 'ended'; readonly why: EndReason };

/**
 * `left`: it has given up its slots as it was told to leave; `lost`: its Lease was taken over or
 * deleted; `outdated`: it has given up its slots because a later release has written the map.
 */
export type EndReason = 'left' | 'lost' | 'outdated';

/** `leases`: those of all replicas; `leader`: the leader Lease. */
export type ReadKind = 'leases' | 'leader' | 'map';

export type ShardInput =
  | {
      readonly type: 'leases';
      /** The local time at which the list was sent. */
      readonly sentAt: number;
      /** The resourceVersion of the list. */
      readonly version: number;
      readonly leases: readonly LeaseView[];
    }
  | { readonly type: 'leader'; readonly version: number; readonly lease: LeaseView | undefined }
  | { readonly type: 'map'; readonly version: number; readonly object: MapView | undefined }
  | { readonly type: 'read-failed'; readonly what: ReadKind }
  /** From a watch. */
  | { readonly type: 'lease-event'; readonly lease: LeaseView; readonly isDeleted: boolean }
  | {
      readonly type: 'answer';
      readonly id: number;
      /**
       * `refused`: the object has changed, exists already, or is gone. `unknown`: any other
       * failure.
       */
      readonly result: 'done' | 'refused' | 'unknown';
      readonly lease?: LeaseView | undefined;
      readonly object?: MapView | undefined;
    }
  | { readonly type: 'surveyed'; readonly names: readonly WeighedHash[] }
  | { readonly type: 'warmed' | 'drained'; readonly slot: number; readonly token: number }
  /** Hands over all slots and ends. With `isNow` it does not wait for new owners. */
  | { readonly type: 'leave'; readonly isNow: boolean };

const EMPTY: MemberState = { epoch: 0, warm: [], holding: [], leaving: false, weights: [] };

export class ShardMachine {
  readonly view: ClusterView;
  readonly slots: LocalSlots;
  readonly memory = new PlanMemory();
  readonly #settings: MachineSettings;
  readonly #weightOf: (slot: number) => number;
  #requests = 0;
  /** The write under way for each object, by its name; '' for the map. */
  readonly #writes = new Map<string, { id: number; sentAt: number; write: ShardWrite }>();
  /** Why slots get other owners in the map that is being written. */
  #giving: readonly MoveReason[] = [];
  /** How many times this replica, as the coordinator, gave a slot to a replica. */
  readonly moves: Record<MoveReason, number> = { assigned: 0, died: 0, leaving: 0, rebalance: 0 };
  readonly #reads = new Set<ReadKind>();
  readonly #nextRead: Record<ReadKind, number> = { leases: 0, leader: 0, map: 0 };

  /** The uid of this replica's Lease; empty before it exists. */
  #uid = '';
  /** Until when this process may rely on its Lease. */
  #validUntil = Number.NEGATIVE_INFINITY;
  #nextRenewal = Number.NEGATIVE_INFINITY;
  #published = '';
  /** The version of the last renewal, and the time at which it was sent. */
  #renewedVersion = 0;
  #renewedAt = Number.NEGATIVE_INFINITY;
  /** When a write of the own Lease was refused; `undefined` when a later read has come. */
  #refusedAt: number | undefined;
  #leaderUntil = Number.NEGATIVE_INFINITY;
  #nextLeaderTry = Number.NEGATIVE_INFINITY;
  #surveyed: readonly WeighedHash[] | undefined;
  #isSurveying = false;
  #isLeaving = false;
  /** Whether it gives up all slots, for good. */
  #isEnding = false;
  #hasReleased = false;
  #isOutdatedRelease = false;
  #ended: EndReason | undefined;
  /** When the `floor` of the map last changed, and its value. */
  #floorSeenAt = Number.NEGATIVE_INFINITY;
  #floor = 0;
  #joinedUntil = Number.NEGATIVE_INFINITY;
  /** How many times the host has answered `warm` or `close`. */
  #answers = 0;
  /** The inputs of the last call of `follow`. */
  #followed = '';
  /** The revision of the view at the last plan, and when the next plan is due in any case. */
  #planned = -1;
  #nextPlan = Number.NEGATIVE_INFINITY;

  /** @param weightOf returns the number of objects of a slot */
  constructor(settings: MachineSettings, weightOf: (slot: number) => number = () => 0) {
    this.#settings = settings;
    this.#weightOf = weightOf;
    this.view = new ClusterView(3 * settings.retryPeriod);
    this.slots = new LocalSlots(settings.member);
  }

  get map(): ShardMap | undefined {
    return this.view.map;
  }

  get ended(): EndReason | undefined {
    return this.#ended;
  }

  /** Whether the Lease of this replica is valid by the clock at `now`. */
  isValid(now: number): boolean {
    return now < this.#validUntil && this.#ended === undefined;
  }

  /** Whether work of a slot may begin. */
  mayStart(slot: number, now: number): boolean {
    return this.slots.state(slot) === 'open' && this.isValid(now);
  }

  /** Whether objects of a slot may be written: while it is open, and while it drains. */
  mayWrite(slot: number, now: number): boolean {
    return this.slots.runs(slot) && this.isValid(now);
  }

  isLeader(now: number): boolean {
    return now < this.#leaderUntil && this.isValid(now);
  }

  /**
   * The Lease of each replica that is remembered, by the replica's name; `undefined` if it is gone.
   */
  members(): Map<string, LeaseView | undefined> {
    const members = new Map<string, LeaseView | undefined>();
    for (const name of this.view.names())
      if (name !== this.#settings.id) members.set(this.#memberOf(name), this.view.lease(name));
    return members;
  }

  /** Call it with each input, and at the time that `wakeAt` returns. */
  step(now: number, input?: ShardInput): ShardOutput[] {
    const outputs: ShardOutput[] = [];
    if (this.#ended !== undefined) return outputs;
    if (input !== undefined) this.#take(input, now);
    this.#checkOwnLease(now, outputs);
    if (this.#ended !== undefined) return outputs;
    this.#noteMap(now);
    this.#decideEnding(now);
    this.#follow(now, outputs);
    if (!this.#hasReleased) this.#keepOwnLease(now, outputs);
    this.#keepLeaderLease(now, outputs);
    if (this.isLeader(now)) this.#coordinate(now, outputs);
    this.#read(now, outputs);
    const hasResigned = this.view.lease(this.#settings.id)?.holder !== this.#settings.member;
    if (this.#hasReleased && hasResigned) {
      this.#ended = this.#isOutdatedRelease ? 'outdated' : 'left';
      outputs.push({ type: 'ended', why: this.#ended });
    }
    return outputs;
  }

  /** When `step` is due next if there is no input before. */
  wakeAt(now: number): number {
    const { retryPeriod, id } = this.#settings;
    let at = now + retryPeriod;
    const due = (time: number): void => {
      if (time > now && time < at) at = time;
    };
    due(this.#nextRenewal);
    due(this.#nextLeaderTry);
    due(this.#validUntil);
    due(this.#joinedUntil);
    if (this.isLeader(now)) due(this.#nextPlan);
    for (const what of ['leases', 'leader', 'map'] as const) due(this.#nextRead[what]);
    for (const name of this.view.names()) {
      const lease = this.view.lease(name);
      if (lease === undefined || lease.holder === '' || name === this.#ownName) continue;
      if (name === id || this.isLeader(now)) due(now - this.view.age(name, now) + lease.duration);
    }
    return at;
  }

  // Inputs.

  #take(input: ShardInput, now: number): void {
    const { view } = this;
    const { id } = this.#settings;
    switch (input.type) {
      case 'leases':
        this.#reads.delete('leases');
        view.sawLeases(input.leases, input.version, id, input.sentAt, now);
        view.isFresh(input.sentAt, now);
        this.#nextRead.leases = input.sentAt + 1.5 * this.#settings.retryPeriod;
        return;
      case 'leader':
        this.#reads.delete('leader');
        if (input.lease !== undefined) view.sawLease(input.lease, now);
        else view.sawNoLease(id, input.version, now);
        view.expect(id, now);
        return;
      case 'map':
        this.#reads.delete('map');
        view.sawMap(input.object, input.version);
        return;
      case 'read-failed':
        this.#reads.delete(input.what);
        this.#nextRead[input.what] = now + this.#settings.retryPeriod / 2;
        return;
      case 'lease-event':
        if (input.isDeleted) view.sawNoLease(input.lease.name, input.lease.version, now);
        else view.sawLease(input.lease, now);
        // The watch delivers in order: with this replica's last renewal, it is up to date as of it.
        if (input.lease.name === this.#ownName && input.lease.version === this.#renewedVersion) {
          view.isFresh(this.#renewedAt, now);
          this.#nextRead.leases = Math.max(
            this.#nextRead.leases,
            this.#renewedAt + 2 * this.#settings.retryPeriod,
          );
        }
        return;
      case 'answer':
        this.#takeAnswer(input, now);
        return;
      case 'surveyed':
        this.#isSurveying = false;
        this.#surveyed = input.names;
        this.#planned = -1;
        return;
      case 'warmed':
        this.#answers++;
        this.slots.warmed(input.slot, input.token);
        return;
      case 'drained':
        this.#answers++;
        this.slots.drained(input.slot, input.token);
        return;
      case 'leave':
        this.#isLeaving = true;
        this.#isEnding ||= input.isNow;
    }
  }

  #takeAnswer(answer: ShardInput & { type: 'answer' }, now: number): void {
    const entry = [...this.#writes].find(([, { id }]) => id === answer.id);
    if (entry === undefined) return; // given up before
    const [key, { sentAt, write }] = entry;
    this.#writes.delete(key);
    if (answer.lease !== undefined) this.view.sawLease(answer.lease, now);
    if (answer.object !== undefined) this.view.sawMap(answer.object, answer.object.version);
    const { maxClockSkewRatio, retryPeriod, leaseDuration, id, member } = this.#settings;
    const isDone = answer.result === 'done';
    if (write.kind === 'map') {
      this.#nextRead.map = isDone ? now + 2 * retryPeriod : now;
      if (isDone) for (const reason of this.#giving) this.moves[reason]++;
      this.#planned = -1;
      return;
    }
    const until = sentAt + leaseDuration / maxClockSkewRatio;
    if (write.name === this.#ownName) {
      if (isDone && write.content.holder !== '') {
        this.#uid ||= answer.lease?.uid ?? '';
        this.#validUntil = Math.max(this.#validUntil, until);
        this.#renewedVersion = answer.lease?.version ?? 0;
        this.#renewedAt = sentAt;
      } else if (isDone) this.#hasReleased = true;
      else {
        this.#published = '';
        this.#nextRenewal = now + (answer.result === 'refused' ? 0 : retryPeriod / 4);
        if (answer.result === 'refused') {
          this.#refusedAt = now;
          this.#nextRead.leases = now;
        }
      }
    } else if (write.name === id) {
      if (isDone && write.content.holder === member) this.#leaderUntil = until;
      if (isDone && write.content.holder === '') this.#leaderUntil = Number.NEGATIVE_INFINITY;
      if (!isDone) {
        this.#nextRead.leader = now;
        this.#nextLeaderTry = now + retryPeriod / 2;
      }
    } else if (!isDone) this.#nextRead.leases = now;
    else if (write.verb === 'delete') this.view.forget(write.name);
  }

  // The own Lease.

  get #ownName(): string {
    return this.#nameOf(this.#settings.member);
  }

  /** The Lease is lost if it was taken over or deleted. */
  #checkOwnLease(now: number, outputs: ShardOutput[]): void {
    const own = this.view.lease(this.#ownName);
    const isGone = this.view.isAbsent(this.#ownName);
    const isOurs =
      own?.holder === this.#settings.member && (this.#uid === '' || own.uid === this.#uid);
    if (isOurs && own !== undefined) this.#uid = own.uid;
    if (this.#hasReleased || this.#writes.has(this.#ownName)) return;
    if (own === undefined ? !isGone : isOurs) return;
    this.#validUntil = Number.NEGATIVE_INFINITY;
    this.#leaderUntil = Math.min(this.#leaderUntil, now);
    outputs.push(...this.slots.abandon());
    this.#ended = 'lost';
    outputs.push({ type: 'ended', why: 'lost' });
  }

  #noteMap(now: number): void {
    if (this.view.mapObject?.map === 'newer') {
      this.#isOutdatedRelease = true;
      this.#isLeaving = true;
      this.#isEnding = true;
    }
    const floor = this.view.map?.floor ?? 0;
    if (floor === this.#floor) return;
    this.#floor = floor;
    this.#floorSeenAt = now;
    // `#plan` needs a list of Leases that is younger than the new map.
    if (floor > 0) this.#nextRead.leases = now;
  }

  #decideEnding(now: number): void {
    if (!this.#isLeaving || this.#isEnding) return;
    const { member } = this.#settings;
    const map = this.view.map;
    const isNamed =
      map?.slots.includes(member) ||
      map?.moving.some(({ from, to }) => [from, to].includes(member));
    this.#isEnding = !isNamed || !this.#hasHeir(now);
  }

  /** Whether another replica can take the slots. */
  #hasHeir(now: number): boolean {
    for (const other of this.#planMembers(now).values())
      if (other.isCandidate && other.name !== this.#settings.member) return true;
    return false;
  }

  #keepOwnLease(now: number, outputs: ShardOutput[]): void {
    const { member, leaseDuration, retryPeriod } = this.#settings;
    if (this.#writes.has(this.#ownName)) return;
    const own = this.view.lease(this.#ownName);
    if (this.#refusedAt !== undefined && this.view.freshAt < this.#refusedAt) return;
    this.#refusedAt = undefined;
    const isReleasing = this.#isEnding && this.slots.isIdle();
    const state = this.#state();
    const matters = JSON.stringify([state.epoch, state.warm, state.holding, state.leaving]);
    if (now < this.#nextRenewal && matters === this.#published && !isReleasing) return;
    if (isReleasing && own === undefined && this.#uid === '') {
      this.#hasReleased = true; // there is no Lease to release
      return;
    }
    if (now < this.#nextRenewal && this.#published === '') return; // the last attempt failed
    this.#published = matters;
    this.#nextRenewal = now + retryPeriod;
    this.#write(now, outputs, {
      kind: 'lease',
      verb: own === undefined ? 'create' : 'update',
      name: this.#ownName,
      base: own,
      content: { holder: isReleasing ? '' : member, duration: leaseDuration, state },
    });
  }

  #state(): MemberState {
    const warm = this.slots.warm();
    return {
      epoch: this.view.map?.epoch ?? 0,
      warm,
      holding: this.slots.holding(this.view.map),
      leaving: this.#isLeaving,
      weights: warm.map((slot) => this.#weightOf(slot)),
    };
  }

  // The leader Lease.

  #keepLeaderLease(now: number, outputs: ShardOutput[]): void {
    const { id, member, leaseDuration, retryPeriod } = this.#settings;
    if (this.#writes.has(id) || now < this.#nextLeaderTry) return;
    const lease = this.view.lease(id);
    const isKnown = lease !== undefined || this.view.isAbsent(id);
    if (!isKnown) return;
    const isOurs = lease?.holder === member;
    const resigns = this.#isEnding || (this.#isLeaving && this.#hasHeir(now));
    if (resigns ? !isOurs : !this.isValid(now)) return;
    if (!resigns && !isOurs && lease !== undefined && lease.holder !== '') {
      if (this.view.age(id, now) < lease.duration) return;
    }
    const wasLeader = this.isLeader(now);
    this.#nextLeaderTry = now + retryPeriod;
    if (resigns) this.#leaderUntil = Number.NEGATIVE_INFINITY;
    // A new coordinator does not know when the last rebalance ended.
    else if (!wasLeader && this.view.map !== undefined && this.view.map.floor === 0)
      this.memory.quietUntil = now + this.#settings.quiet;
    this.#write(now, outputs, {
      kind: 'lease',
      verb: lease === undefined ? 'create' : 'update',
      name: id,
      base: lease,
      content: { holder: resigns ? '' : member, duration: leaseDuration, state: undefined },
    });
  }

  // The map, as a follower.

  #follow(now: number, outputs: ShardOutput[]): void {
    const isValid = this.isValid(now);
    const basis = `${this.view.revision} ${this.#answers} ${isValid} ${this.#isEnding}`;
    if (basis === this.#followed) return;
    this.#followed = basis;
    const isReady = (move: Move): boolean => this.#isReady(move);
    outputs.push(...this.slots.follow(this.view.map, isValid, this.#isEnding, isReady));
  }

  #isReady({ slot, to, since }: Move): boolean {
    const state = this.view.lease(this.#nameOf(to))?.state;
    return state !== undefined && state.epoch >= since && state.warm.includes(slot);
  }

  // The map, as the coordinator.

  #coordinate(now: number, outputs: ShardOutput[]): void {
    this.#takeOverExpired(now, outputs);
    if (this.#writes.has('') || this.view.mapVersion === 0) return;
    if (this.view.revision === this.#planned && now < this.#nextPlan) return;
    this.#planned = this.view.revision;
    this.#nextPlan = now + this.#settings.retryPeriod / 2;
    const object = this.view.mapObject;
    const { map } = this.view;
    if (object?.map === 'newer') return;
    const isLost =
      object?.map === undefined || object.map.epoch !== map?.epoch || this.#isOutdated(map);
    const next = isLost ? this.#mapAnew(now, outputs) : this.#plan(map, now, outputs);
    if (next === undefined) return;
    this.#write(now, outputs, {
      kind: 'map',
      verb: object === undefined ? 'create' : 'update',
      base: object,
      map: next.map,
    });
    this.#giving = next.given;
    for (const event of next.events) outputs.push({ type: 'event', ...event });
  }

  /** Whether a replica has acknowledged a later map: somebody has put an older one back. */
  #isOutdated(map: ShardMap): boolean {
    for (const lease of this.members().values())
      if ((lease?.state?.epoch ?? 0) > map.epoch) return true;
    return false;
  }

  /**
   * A map without owners, for when there is none, or somebody else has changed it. Its epoch is the
   * resourceVersion that was read last, which is greater than the epoch of any map before.
   */
  #mapAnew(now: number, outputs: ShardOutput[]): Plan | undefined {
    let edges = this.view.map?.edges;
    if (edges === undefined) {
      if (this.#surveyed === undefined) {
        if (!this.#isSurveying) outputs.push({ type: 'survey' });
        this.#isSurveying = true;
        return undefined;
      }
      edges = chooseEdges(this.#surveyed);
      this.memory.guessed = weighSlots(edges, this.#surveyed);
      this.#surveyed = undefined;
    }
    this.#joinedUntil = now + this.#settings.joinDelay;
    const epoch = this.view.mapVersion;
    const note =
      this.view.map === undefined
        ? 'the first map: slots get owners when all replicas have acknowledged it'
        : 'the map was lost or changed by hand: slots get owners when all replicas have ' +
          'acknowledged the new one';
    const events = [{ reason: 'ShardMapWritten', note }] as const;
    return { map: emptyMap(epoch, edges), events, given: [] };
  }

  #plan(map: ShardMap, now: number, outputs: ShardOutput[]): Plan | undefined {
    // A replica whose Lease was not in an older list may still run slots by an older map.
    if (map.floor > 0 && this.view.listedAt < this.#floorSeenAt) return undefined;
    for (const name of new Set(map.slots))
      if (name !== '') this.view.expect(this.#nameOf(name), now);
    const members = this.#planMembers(now);
    if (map.floor > 0 && now < this.#joinedUntil) {
      this.#nextPlan = this.#joinedUntil;
      // If replicas have objects already, it gives out the slots at once.
      const isAnew = [...members.values()].some(({ state }) => state && state.warm.length > 0);
      if (!isAnew) return undefined;
    }
    const next = plan(map, members, this.memory, this.#settings, now);
    return next ?? this.#recut(map, members, now, outputs);
  }

  /**
   * A map with other edges and no owners, for when no move can level the replicas because most
   * objects are in few slots. This happens if the first map was written before most namespaces
   * existed. It closes all slots of all replicas, so it happens at most once in `recutPause`.
   */
  #recut(
    map: ShardMap,
    members: ReadonlyMap<string, PlanMember>,
    now: number,
    outputs: ShardOutput[],
  ): Plan | undefined {
    const { memory } = this;
    const { quiet, recutPause } = this.#settings;
    const { stuckSince } = memory;
    if (stuckSince === undefined || now - stuckSince < quiet || now < memory.recutAfter)
      return undefined;
    const names = this.#surveyed;
    if (names === undefined) {
      if (!this.#isSurveying) outputs.push({ type: 'survey' });
      this.#isSurveying = true;
      return undefined;
    }
    this.#surveyed = undefined;
    memory.recutAfter = now + recutPause;
    const weights = slotWeights(map, members, memory.guessed);
    const parts = weighSlots(
      map.edges,
      names.map(([hash]) => [hash, 1]),
    );
    const weighed = names.map(([hash]): WeighedHash => {
      const slot = slotOfHash(map.edges, hash);
      return [hash, (weights[slot] ?? 0) / (parts[slot] ?? 1)];
    });
    const edges = chooseEdges(weighed);
    const guessed = weighSlots(edges, weighed);
    if (Math.max(...guessed) > Math.max(...weights) / 2) return undefined;
    memory.guessed = guessed;
    memory.stuckSince = undefined;
    const note = 'most objects are in few slots: all slots get other edges and other owners';
    const events = [{ reason: 'ShardSlotsCut', note } as const];
    return { map: emptyMap(this.view.mapVersion, edges), events, given: [] };
  }

  #planMembers(now: number): Map<string, PlanMember> {
    const members = new Map<string, PlanMember>();
    for (const [name, lease] of this.members()) {
      const age = this.view.age(this.#nameOf(name), now);
      members.set(name, {
        name,
        isDead: this.view.isDead(this.#nameOf(name)),
        isCandidate:
          lease !== undefined &&
          lease.holder !== '' &&
          lease.state?.leaving === false &&
          (age < lease.duration / 2 || name === this.#settings.member),
        state: lease?.state,
      });
    }
    return members;
  }

  /**
   * Takes over, by compare-and-swap, each Lease that was not renewed for its duration: its replica
   * then runs nothing, and its slots are free. Deletes Leases without a holder that the map does
   * not name.
   */
  #takeOverExpired(now: number, outputs: ShardOutput[]): void {
    const { id, leaseDuration } = this.#settings;
    const { map } = this.view;
    for (const name of [...this.view.names()]) {
      if (name === id || name === this.#ownName || this.#writes.has(name)) continue;
      const lease = this.view.lease(name);
      const age = this.view.age(name, now);
      const member = this.#memberOf(name);
      const isNamed =
        map?.slots.includes(member) ||
        map?.moving.some(({ from, to }) => from === member || to === member);
      const write = { kind: 'lease', name, base: lease } as const;
      const content = { holder: '', duration: leaseDuration, state: lease?.state ?? EMPTY };
      if (lease === undefined) {
        if (age < leaseDuration) continue;
        if (isNamed) this.#write(now, outputs, { ...write, verb: 'create', content });
        else this.view.forget(name);
      } else if (lease.holder !== '') {
        if (age >= lease.duration) this.#write(now, outputs, { ...write, verb: 'update', content });
      } else if (!isNamed && map !== undefined && age > this.#settings.retryPeriod)
        this.#write(now, outputs, { ...write, verb: 'delete', content });
    }
  }

  // Requests.

  #read(now: number, outputs: ShardOutput[]): void {
    const { retryPeriod } = this.#settings;
    for (const what of ['leases', 'leader', 'map'] as const) {
      if (this.#reads.has(what) || now < this.#nextRead[what]) continue;
      this.#reads.add(what);
      this.#nextRead[what] = now + retryPeriod * (what === 'leases' ? 1.5 : 1);
      outputs.push({ type: 'read', what });
    }
  }

  #write(
    now: number,
    outputs: ShardOutput[],
    write:
      | Omit<ShardWrite & { kind: 'lease' }, 'type' | 'id'>
      | Omit<ShardWrite & { kind: 'map' }, 'type' | 'id'>,
  ): void {
    const id = ++this.#requests;
    const whole = { type: 'write', id, ...write } as ShardWrite;
    this.#writes.set(whole.kind === 'map' ? '' : whole.name, { id, sentAt: now, write: whole });
    outputs.push(whole);
  }

  #nameOf(member: string): string {
    return `${this.#settings.id}-${member}`;
  }

  #memberOf(name: string): string {
    return name.slice(this.#settings.id.length + 1);
  }
}
