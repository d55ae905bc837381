/**
 * The slots of this process: what it does to follow a map. A slot goes idle → warming → warm →
 * open, and back by draining: its gate is closed, and the work under way ends.
 */
import { type Move, moveOf, type ShardMap } from './shard-map.ts';
import { rangeOfSlot, SLOTS, type SlotRange } from './slots.ts';

export type SlotState = 'idle' | 'warming' | 'warm' | 'open' | 'draining';

/**
 * Why a gate closes: the slot goes to another replica, or the Lease of this process is not valid.
 */
export type CloseReason = 'moved' | 'lapsed';

/** What the process has to do. `token` names the action in its answer. */
export type SlotAction =
  | {
      readonly type: 'warm';
      readonly slot: number;
      readonly token: number;
      readonly range: SlotRange;
    }
  | { readonly type: 'open'; readonly slot: number }
  | {
      readonly type: 'close';
      readonly slot: number;
      readonly token: number;
      readonly why: CloseReason;
    }
  | { readonly type: 'drop'; readonly slot: number };

export class LocalSlots {
  readonly #me: string;
  readonly #states = new Array<SlotState>(SLOTS).fill('idle');
  readonly #tokens = new Array<number>(SLOTS).fill(0);
  /**
   * The `since` of the move for which a slot's gate was closed for good; 0 for none. As long as the
   * map has that move, the gate stays closed: others may have been told that it is.
   */
  readonly #letting = new Array<number>(SLOTS).fill(0);
  /** Whether the work of a slot that drains was told to stop. */
  readonly #hurried = new Array<boolean>(SLOTS).fill(false);
  #edges: readonly bigint[] = [];
  #token = 0;

  constructor(me: string) {
    this.#me = me;
  }

  /** The edges of the slots that are here; empty before a map was seen. */
  get edges(): readonly bigint[] {
    return this.#edges;
  }

  state(slot: number): SlotState {
    return this.#states[slot] as SlotState;
  }

  /** Whether work of the slot may be under way. */
  runs(slot: number): boolean {
    const state = this.#states[slot];
    return state === 'open' || state === 'draining';
  }

  /** Sorted. */
  warm(): number[] {
    return this.#where((slot) => this.state(slot) !== 'idle' && this.state(slot) !== 'warming');
  }

  /** The slots that may be run although the map does not leave them here. Sorted. */
  holding(map: ShardMap | undefined): number[] {
    const running = this.#where((slot) => this.runs(slot));
    if (map === undefined || running.length === 0) return running;
    // The slots of other edges overlap any of this map's.
    if (!sameEdges(this.#edges, map.edges)) return this.#where(() => true);
    return running.filter(
      (slot) => map.slots[slot] !== this.#me || moveOf(map, slot)?.from === this.#me,
    );
  }

  isIdle(): boolean {
    return this.#states.every((state) => state === 'idle');
  }

  warmed(slot: number, token: number): void {
    if (this.#states[slot] === 'warming' && this.#tokens[slot] === token)
      this.#states[slot] = 'warm';
  }

  drained(slot: number, token: number): void {
    if (this.#states[slot] === 'draining' && this.#tokens[slot] === token)
      this.#states[slot] = 'warm';
  }

  /**
   * What there is to do now. Call it after each change.
   *
   * @param isValid whether the Lease of this process is valid
   * @param isEnding whether this process gives up everything
   * @param isTargetReady whether the other replica of a move has acknowledged that it is warm
   */
  follow(
    map: ShardMap | undefined,
    isValid: boolean,
    isEnding: boolean,
    isTargetReady: (move: Move) => boolean,
  ): SlotAction[] {
    const actions: SlotAction[] = [];
    if (map === undefined) return actions;
    const isSameCut = this.#edges === map.edges || sameEdges(this.#edges, map.edges);
    const moves = new Map(map.moving.map((move) => [move.slot, move]));
    for (let slot = 0; slot < SLOTS; slot++) {
      const role = isEnding ? 'none' : this.#role(map, slot, moves.get(slot), isTargetReady);
      // Other edges make another slot of it: what is here belongs to the old one.
      this.#go(map, slot, isSameCut ? role : 'none', isValid, actions);
    }
    if (isSameCut || this.isIdle()) {
      const isNew = !isSameCut;
      this.#edges = map.edges;
      if (isNew) actions.push(...this.follow(map, isValid, isEnding, isTargetReady));
    }
    return actions;
  }

  /** Gives up everything at once, because the Lease is lost. */
  abandon(): SlotAction[] {
    const actions: SlotAction[] = [];
    for (let slot = 0; slot < SLOTS; slot++) {
      if (this.runs(slot)) actions.push(this.#close(slot, 'lapsed'));
      if (this.#states[slot] !== 'idle') actions.push(this.#drop(slot));
    }
    return actions;
  }

  /** `keep`: the objects stay and the gate is closed. */
  #role(
    map: ShardMap,
    slot: number,
    move: Move | undefined,
    isTargetReady: (move: Move) => boolean,
  ): 'own' | 'keep' | 'prepare' | 'none' {
    const owner = map.slots[slot];
    if (owner !== this.#me || move?.from !== this.#me) {
      this.#letting[slot] = 0;
      if (owner === this.#me) return 'own';
      if (move?.to === this.#me) return 'prepare';
      return owner === '' && map.floor > 0 ? 'keep' : 'none';
    }
    const isLetting = this.#letting[slot] === move.since;
    if (isLetting || !this.runs(slot) || isTargetReady(move)) {
      this.#letting[slot] = move.since;
      return 'keep';
    }
    this.#letting[slot] = 0;
    return 'own';
  }

  #go(
    map: ShardMap,
    slot: number,
    role: 'own' | 'keep' | 'prepare' | 'none',
    isValid: boolean,
    actions: SlotAction[],
  ): void {
    switch (this.#states[slot]) {
      case 'idle':
        if (role !== 'own' && role !== 'prepare') return;
        this.#states[slot] = 'warming';
        this.#tokens[slot] = ++this.#token;
        actions.push({
          type: 'warm',
          slot,
          token: this.#token,
          range: rangeOfSlot(map.edges, slot),
        });
        return;
      case 'warming':
        if (role === 'none') actions.push(this.#drop(slot));
        return;
      case 'warm':
        if (role === 'none') actions.push(this.#drop(slot));
        else if (role === 'own' && isValid) actions.push(this.#open(slot));
        return;
      case 'open':
        if (role !== 'own' || !isValid)
          actions.push(this.#close(slot, isValid ? 'moved' : 'lapsed'));
        return;
      case 'draining':
        if (role === 'own' && isValid) actions.push(this.#open(slot));
        else if (!isValid && !this.#hurried[slot]) actions.push(this.#close(slot, 'lapsed'));
    }
  }

  #open(slot: number): SlotAction {
    this.#states[slot] = 'open';
    return { type: 'open', slot };
  }

  #close(slot: number, why: CloseReason): SlotAction {
    this.#states[slot] = 'draining';
    this.#hurried[slot] = why === 'lapsed';
    this.#tokens[slot] = ++this.#token;
    return { type: 'close', slot, token: this.#token, why };
  }

  #drop(slot: number): SlotAction {
    this.#states[slot] = 'idle';
    return { type: 'drop', slot };
  }

  #where(holds: (slot: number) => boolean): number[] {
    const slots: number[] = [];
    for (let slot = 0; slot < SLOTS; slot++) if (holds(slot)) slots.push(slot);
    return slots;
  }
}

function sameEdges(a: readonly bigint[], b: readonly bigint[]): boolean {
  return a.length === b.length && a.every((edge, i) => edge === b[i]);
}
