/**
 * The states of the slots in this process, and the actions that follow a map. A slot goes
 * idle → warming → warm → open → draining → warm → idle. A slot that drains is closed: its work
 * under way ends, and no other work begins.
 */
import { type Move, moveOf, type ShardMap } from './shard-map.ts';
import { rangeOfSlot, SLOTS, type SlotRange } from './slots.ts';

export type SlotState = 'idle' | 'warming' | 'warm' | 'open' | 'draining';

/**
 * Why a slot closes: the map moves it or does not give it to this replica, or the Lease of this
 * replica is not valid.
 */
export type CloseReason = 'moved' | 'lapsed';

/** What the host has to do. The answer repeats the `token`. */
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
   * The `since` of the move for which the slot was closed; 0 for none. While the map has that move,
   * the slot stays closed, as this replica may have acknowledged that it let the slot go.
   */
  readonly #letting = new Array<number>(SLOTS).fill(0);
  /** Whether the work of a draining slot was aborted. */
  readonly #hurried = new Array<boolean>(SLOTS).fill(false);
  #edges: readonly bigint[] = [];
  #token = 0;

  constructor(me: string) {
    this.#me = me;
  }

  /** The edges that the states here belong to; empty before the first map. */
  get edges(): readonly bigint[] {
    return this.#edges;
  }

  state(slot: number): SlotState {
    return this.#states[slot] as SlotState;
  }

  /** Whether work of the slot may be under way: it is open or drains. */
  runs(slot: number): boolean {
    const state = this.#states[slot];
    return state === 'open' || state === 'draining';
  }

  /** The slots whose objects this process has, sorted. */
  warm(): number[] {
    return this.#where((slot) => this.state(slot) !== 'idle' && this.state(slot) !== 'warming');
  }

  /**
   * The slots that this process may still run although the map moves them away or does not give
   * them to this replica. Sorted.
   */
  holding(map: ShardMap | undefined): number[] {
    const running = this.#where((slot) => this.runs(slot));
    if (map === undefined || running.length === 0) return running;
    // A slot between other edges may overlap any slot of this map.
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
   * The actions that are due now. Call it after each change.
   *
   * @param isValid whether the Lease of this process is valid
   * @param isEnding whether this process gives up all slots
   * @param isTargetReady whether the new owner of a move has acknowledged that it has the slot warm
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
      // With other edges, the number of the slot stands for another range.
      this.#go(map, slot, isSameCut ? role : 'none', isValid, actions);
    }
    if (isSameCut || this.isIdle()) {
      const isNew = !isSameCut;
      this.#edges = map.edges;
      if (isNew) actions.push(...this.follow(map, isValid, isEnding, isTargetReady));
    }
    return actions;
  }

  /** Closes and drops all slots at once, because the Lease is lost. */
  abandon(): SlotAction[] {
    const actions: SlotAction[] = [];
    for (let slot = 0; slot < SLOTS; slot++) {
      if (this.runs(slot)) actions.push(this.#close(slot, 'lapsed'));
      if (this.#states[slot] !== 'idle') actions.push(this.#drop(slot));
    }
    return actions;
  }

  /**
   * What this replica is to a slot. `own`: it runs it; `keep`: it keeps the objects and closes the
   * slot; `prepare`: it warms the slot for a move; `none`: it drops the slot.
   */
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
