/**
 * Replicas that share slots, with faults, in virtual time. A scenario is a list of changes and
 * faults; one that fails is run again without parts of it, until nothing can be left out.
 *
 * Checked after each event: no slot may be run by two processes, also not by one that is stopped
 * and could go on at that moment; work that goes on was told to stop before another process may
 * begin. After all faults: every slot is open in one process, nothing is being moved, and then
 * nothing changes any more.
 */
import type { LeaseView } from '../../bindings/shards/cluster-view.ts';
import type {
  EndReason,
  MachineSettings,
  ReadKind,
  ShardInput,
  ShardMachine,
  ShardOutput,
  ShardWrite,
} from '../../bindings/shards/machine.ts';
import type { ShardMap } from '../../bindings/shards/shard-map.ts';
import {
  SLOTS,
  type SlotRange,
  type WeighedHash,
  weighSlots,
} from '../../bindings/shards/slots.ts';
import { Random } from '../helpers/random.ts';
import {
  type Release,
  ShardNetwork,
  ShardServer,
  type ShardWeather,
  VirtualTime,
} from './simulated-cluster.ts';

/** What can happen. `who` picks a process that lives; times are in leases. */
export type Happening =
  | { readonly at: number; readonly what: 'start' }
  | {
      readonly at: number;
      readonly what: 'terminate' | 'kill' | 'delete-lease';
      readonly who: number;
    }
  | {
      readonly at: number;
      readonly what: 'stop' | 'cut' | 'deafen' | 'blind' | 'slow';
      readonly who: number;
      readonly leases: number;
    }
  | { readonly at: number; readonly what: 'outage'; readonly leases: number }
  | { readonly at: number; readonly what: 'weather'; readonly weather: ShardWeather }
  /** The objects lie in other places, `parts` of them. */
  | { readonly at: number; readonly what: 'names'; readonly parts: number; readonly seed: number }
  | {
      readonly at: number;
      readonly what: 'delete-map' | 'spoil-map' | 'restore-map' | 'delete-leader';
    }
  /** From now on, processes that start are of a later release, with another form of the map. */
  | { readonly at: number; readonly what: 'upgrade' };

export interface Scenario {
  readonly seed: number;
  readonly skew: number;
  readonly happenings: readonly Happening[];
}

export interface ScenarioResult {
  /** Starts, ends, and stops and cuts of at least a lease. */
  readonly changes: number;
  readonly events: number;
  readonly moves: number;
  readonly takeovers: number;
  /** Maps written anew, and of these those with other edges. */
  readonly rewrites: number;
  readonly cuts: number;
  /** Processes that ended as a later release had written the map. */
  readonly outdated: number;
  readonly refused: number;
  readonly works: number;
  /** The longest time that a slot was not run by anybody after the faults had ended. */
  readonly settledMs: number;
  readonly violation: string | undefined;
  readonly trace: readonly string[];
}

/** Makes a machine; mutants have their own. */
export type MakeMachine = (
  settings: MachineSettings,
  weightOf: (slot: number) => number,
) => ShardMachine;

const LEASE = 15_000;
const RETRY = 2000;
const QUIET = 30_000;
const MOVE_TIMEOUT = 30_000;
const MOST_MOVES = 16;
const RECUT_PAUSE = 60_000;
const NAMES = 200;
const ALL = Array.from({ length: SLOTS }, (_, slot) => slot);
const MOST_PROCESSES = 6;
const CHANGES: readonly string[] = ['start', 'terminate', 'kill'];

/** Draws a scenario from its seed. */
export function drawScenario(seed: number, changes: number): Scenario {
  const random = new Random(seed);
  const happenings: Happening[] = [{ at: 0, what: 'start' }];
  if (random.chance(0.7)) happenings.push({ at: 0.1 * random.next(), what: 'start' });
  if (random.chance(0.5)) happenings.push({ at: 0.1 * random.next(), what: 'start' });
  const pace = random.pick([0.2, 0.5, 1, 3]);
  let at = random.next() * 2;
  let handMade = Number.NEGATIVE_INFINITY;
  for (let count = happenings.length; count < changes; ) {
    at += pace * random.next() ** 2;
    const who = random.int(1 << 16);
    const leases = random.pick([0.3, 0.7, 1, 1.3, 2.5]) * (0.7 + 0.6 * random.next());
    const happening = ((): Happening => {
      switch (random.int(20)) {
        case 0:
        case 1:
        case 2:
        case 3:
        case 4:
          return { at, what: 'start' };
        case 5:
        case 6:
        case 7:
          return { at, what: 'terminate', who };
        case 8:
        case 9:
          return { at, what: 'kill', who };
        case 10:
        case 11:
          return { at, what: 'stop', who, leases };
        case 12:
        case 13:
          return { at, what: 'cut', who, leases };
        case 14: {
          const what = random.pick(['deafen', 'blind', 'slow'] as const);
          return { at, what, who, leases };
        }
        case 15:
          return { at, what: 'names', parts: random.pick([1, 3, 20, NAMES]), seed: who };
        case 16:
          return { at, what: 'outage', leases: leases / 2 };
        case 17:
        case 18: {
          const bad = random.chance(0.7) ? 0.3 * random.next() : 0;
          const weather: ShardWeather = {
            lost: bad * random.next(),
            lostAnswer: bad * random.next(),
            repeated: random.chance(0.5) ? random.next() : 0,
            serverError: bad * random.next(),
            lostEvent: random.chance(0.3) ? random.next() : 0,
            delayMs: random.pick([20, 200, RETRY, LEASE]),
          };
          return { at, what: 'weather', weather };
        }
        default: {
          // Both the map and the Lease of a running process, deleted by hand within a lease, take
          // away what says who runs what.
          if (at - handMade < 2) return { at, what: 'delete-leader' };
          handMade = at;
          const what = random.pick([
            'delete-map',
            'spoil-map',
            'restore-map',
            'delete-lease',
          ] as const);
          return what === 'delete-lease' ? { at, what, who } : { at, what };
        }
      }
    })();
    happenings.push(happening);
    if (isChange(happening)) count++;
  }
  const skew = random.pick([1, 1.0001, 1.5]);
  if (random.chance(0.6)) {
    const place = random.int(happenings.length >> 1);
    happenings.splice(place, 0, { at: happenings[place]?.at ?? 0, what: 'upgrade' });
  }
  return { seed, skew, happenings };
}

const isChange = (happening: Happening): boolean =>
  CHANGES.includes(happening.what) ||
  ((happening.what === 'stop' || happening.what === 'cut') && happening.leases >= 1);

/** A process: a machine, its clock, and work on its open slots. */
class SimulatedReplica {
  readonly name: string;
  readonly release: Release;
  readonly machine: ShardMachine;
  readonly #sim: Simulation;
  readonly #rate: number;
  readonly #zero: number;
  isDead = false;
  stoppedUntil = 0;
  cutUntil = 0;
  deafUntil = 0;
  blindUntil = 0;
  slowUntil = 0;
  #backlog: (() => void)[] = [];
  #wake = 0;
  /** The tokens of the slots whose objects it has or is getting. */
  readonly #wanted: (number | undefined)[] = [];
  /** The slots whose objects it has. */
  readonly #stocked = new Set<number>();
  /** What each slot meant when it was warmed. */
  readonly #ranges: SlotRange[] = [];
  #cut = '';
  /** The weights of the slots, for these edges and these names. */
  #weights: readonly number[] = [];
  #weighed: readonly unknown[] = [];
  /** Work under way by slot: whether it was told to stop. */
  readonly working = new Map<number, { isTold: boolean; drainToken: number | undefined }>();

  constructor(sim: Simulation, name: string, release: Release) {
    const { random } = sim;
    this.#sim = sim;
    this.name = name;
    this.release = release;
    this.#rate = random.pick([1, sim.scenario.skew, 1 + random.next() * (sim.scenario.skew - 1)]);
    this.#zero = random.next() * 1e7;
    const settings: MachineSettings = {
      id: 'web',
      member: name,
      leaseDuration: LEASE,
      retryPeriod: RETRY,
      maxClockSkewRatio: 1.5,
      joinDelay: RETRY,
      moveTimeout: MOVE_TIMEOUT,
      quiet: QUIET,
      threshold: 0.1,
      mostMoves: MOST_MOVES,
      recutPause: RECUT_PAUSE,
    };
    this.machine = sim.make(settings, (slot) => this.#weight(slot));
    this.step();
  }

  get isStopped(): boolean {
    return this.#sim.time.now < this.stoppedUntil || this.#backlog.length > 0;
  }

  #weight(slot: number): number {
    const edges = this.machine.map?.edges;
    const { names } = this.#sim;
    if (edges !== this.#weighed[0] || names !== this.#weighed[1]) {
      this.#weighed = [edges, names];
      this.#weights = weighSlots(edges ?? [], names);
    }
    return this.#weights[slot] ?? 0;
  }

  /** The slots of another process that have hashes in common with one of this process. */
  #alike(slot: number, other: SimulatedReplica): readonly number[] {
    if (this.#cut === other.#cut) return [slot];
    const ours = this.#ranges[slot] as SlotRange;
    return ALL.filter((one) => {
      const theirs = other.#ranges[one];
      return theirs !== undefined && ours.from < theirs.to && theirs.from < ours.to;
    });
  }

  /** What this process and another one may both run now, if anything. */
  conflict(other: SimulatedReplica): string | undefined {
    const isValid = other.machine.isValid(other.now());
    for (let slot = 0; slot < SLOTS; slot++) {
      if (!this.machine.slots.runs(slot)) continue;
      for (const one of this.#alike(slot, other)) {
        if (isValid && other.machine.slots.runs(one))
          return `slot ${slot} is run by ${this.name} and by ${other.name}`;
        if (other.working.get(one)?.isTold === false && !other.isStopped)
          return `slot ${slot} is run by ${this.name}; ${other.name} works on in it`;
      }
    }
    return undefined;
  }

  now(): number {
    return this.#zero + this.#sim.time.now * this.#rate;
  }

  /** Delivers something to the process: now, or in any order when it goes on. */
  deliver(run: () => void): void {
    if (this.isDead) return;
    if (this.isStopped) this.#backlog.push(run);
    else run();
  }

  stop(ms: number): void {
    const { time } = this.#sim;
    if (time.now + ms <= this.stoppedUntil) return;
    this.stoppedUntil = time.now + ms;
    time.after(ms, () => this.#goOn());
  }

  #goOn(): void {
    const { time, random } = this.#sim;
    if (this.isDead || time.now < this.stoppedUntil || this.#backlog.length === 0) return;
    const [run] = this.#backlog.splice(random.int(this.#backlog.length), 1);
    run?.();
    time.after(0, () => this.#goOn());
  }

  step(input?: ShardInput): void {
    if (this.isDead) return;
    const outputs = this.machine.step(this.now(), input);
    for (const output of outputs) this.#carryOut(output);
    this.#sim.stepped(this);
    if (this.machine.ended !== undefined) {
      this.#sim.ended(this, this.machine.ended);
      return;
    }
    const turn = ++this.#wake;
    const ms = (this.machine.wakeAt(this.now()) - this.now()) / this.#rate;
    this.#sim.time.after(ms + 1e-3, () => {
      if (this.#wake === turn) this.deliver(() => this.#wake === turn && this.step());
    });
  }

  #carryOut(output: ShardOutput): void {
    switch (output.type) {
      case 'read':
        this.#read(output.what);
        return;
      case 'write':
        this.#write(output);
        return;
      case 'survey':
        this.#later(50, () => this.step({ type: 'surveyed', names: this.#sim.names }));
        return;
      case 'warm': {
        const { slot, token, range } = output;
        this.#ranges[slot] = range;
        this.#wanted[slot] = token;
        this.#cut = this.#sim.cutOf(this.machine.map?.edges ?? []);
        const isSlow = this.#sim.time.now < this.slowUntil;
        this.#later(isSlow ? LEASE : 200, () => {
          if (this.#wanted[slot] === token) this.#stocked.add(slot);
          this.step({ type: 'warmed', slot, token });
        });
        return;
      }
      case 'open':
        if (!this.#stocked.has(output.slot))
          this.#sim.violate(`slot ${output.slot} is opened by ${this.name} without its objects`);
        this.#work(output.slot);
        return;
      case 'drop':
        this.#stocked.delete(output.slot);
        this.#wanted[output.slot] = undefined;
        if (this.working.get(output.slot)?.isTold === false)
          this.#sim.violate(`slot ${output.slot} is dropped by ${this.name} under its work`);
        return;
      case 'close': {
        const { slot, token, why } = output;
        const work = this.working.get(slot);
        if (work === undefined) {
          this.#later(5, () => this.step({ type: 'drained', slot, token }));
          return;
        }
        work.isTold ||= why === 'lapsed';
        work.drainToken = token;
        return;
      }
      case 'ended':
        for (const work of this.working.values()) work.isTold = true;
    }
  }

  /** Now and then work begins on an open slot. */
  #work(slot: number): void {
    const { random } = this.#sim;
    if (!random.chance(0.2)) return;
    this.#later(RETRY, () => {
      if (this.working.has(slot) || !this.machine.mayStart(slot, this.now())) return;
      const work: { isTold: boolean; drainToken: number | undefined } = {
        isTold: false,
        drainToken: undefined,
      };
      this.working.set(slot, work);
      this.#sim.works++;
      const isSlow = this.#sim.time.now < this.slowUntil;
      this.#later(isSlow ? 2 * LEASE : RETRY, () => {
        this.working.delete(slot);
        if (work.drainToken !== undefined)
          this.step({ type: 'drained', slot, token: work.drainToken });
        else if (this.machine.mayStart(slot, this.now())) this.#work(slot);
      });
    });
  }

  #later(ms: number, run: () => void): void {
    this.#sim.time.after(ms * this.#sim.random.next(), () => this.deliver(run));
  }

  readonly #isCut = (): boolean => this.isDead || this.#sim.time.now < this.cutUntil;

  readonly isDeaf = (): boolean => this.#isCut() || this.#sim.time.now < this.deafUntil;

  #read(what: ReadKind): void {
    const { server, time } = this.#sim;
    const sentAt = this.now();
    if (time.now < this.blindUntil) {
      this.#later(RETRY, () => this.step({ type: 'read-failed', what }));
      return;
    }
    this.#ask(
      (): ShardInput => {
        const { version } = server;
        if (what === 'map') return { type: 'map', version, object: server.mapFor(this.release) };
        if (what === 'leader') return { type: 'leader', version, lease: server.leases.get('web') };
        return { type: 'leases', sentAt, version, leases: [...server.leases.values()] };
      },
      (answer, isLate) => {
        if (answer !== undefined) this.step(answer);
        else if (!isLate) this.step({ type: 'read-failed', what });
      },
    );
  }

  #write(write: ShardWrite): void {
    const { server } = this.#sim;
    const { id } = write;
    this.#ask(
      () => server.write(write, this.release),
      (answer) => {
        if (answer?.result === 'refused') this.#sim.refused++;
        this.step({ type: 'answer', id, ...(answer ?? { result: 'unknown' }) });
      },
    );
  }

  /** A request under a timeout; an answer may also come after it. */
  #ask<A>(carryOut: () => A, answered: (answer: A | undefined, isLate: boolean) => void): void {
    const { network, time } = this.#sim;
    let isOver = false;
    network.send(this.#isCut, carryOut, (answer) =>
      this.deliver(() => {
        const isLate = isOver;
        isOver = true;
        if (!isLate || answer !== undefined) answered(answer, isLate);
      }),
    );
    time.after(RETRY / this.#rate, () =>
      this.deliver(() => {
        if (isOver) return;
        isOver = true;
        answered(undefined, false);
      }),
    );
  }
}

class Simulation {
  readonly scenario: Scenario;
  readonly make: MakeMachine;
  readonly random: Random;
  readonly time = new VirtualTime();
  readonly server = new ShardServer();
  readonly network: ShardNetwork;
  replicas: SimulatedReplica[] = [];
  violation: string | undefined;
  trace: string[] = [];
  /** The hashes of the namespaces that exist, with their objects. */
  names: readonly WeighedHash[] = namesIn(NAMES, new Random(1));
  works = 0;
  refused = 0;
  #release: Release = 'this';
  #outdated = 0;
  #events = 0;
  #moves = 0;
  #takeovers = 0;
  #rewrites = 0;
  #cuts = 0;
  readonly #cutTexts = new WeakMap<readonly bigint[], string>();
  #edges: string | undefined;
  #changes = 0;
  #born = 0;
  #oldMap: Record<string, string> | undefined;
  readonly #begun = new Map<string, number>();
  #writes = 0;

  constructor(scenario: Scenario, make: MakeMachine) {
    this.scenario = scenario;
    this.make = make;
    this.random = new Random(scenario.seed ^ 0x5eed);
    this.network = new ShardNetwork(this.time, this.random);
    this.server.onLease = (lease, isDeleted) => this.#leaseChanged(lease, isDeleted);
    this.server.onMap = () => this.#mapChanged();
    this.server.onDowngrade = () => this.violate('the map of a later release is overwritten');
  }

  run(): ScenarioResult {
    const { happenings } = this.scenario;
    for (const happening of happenings)
      this.time.at(happening.at * LEASE, () => this.#happen(happening));
    const end = (happenings.at(-1)?.at ?? 0) * LEASE + 1;
    this.#runUntil(end);
    let settledMs = 0;
    if (this.violation === undefined) settledMs = this.#settle();
    const { violation, works, refused, trace } = this;
    return {
      changes: this.#changes,
      events: this.#events,
      moves: this.#moves,
      takeovers: this.#takeovers,
      rewrites: this.#rewrites,
      cuts: this.#cuts,
      outdated: this.#outdated,
      refused,
      works,
      settledMs,
      violation,
      trace,
    };
  }

  #runUntil(time: number, isDone: () => boolean = () => false): void {
    this.time.runUntil(time, () => {
      this.#events++;
      return this.violation !== undefined || isDone();
    });
  }

  /** Without faults, everything must find its place, and stay there. */
  #settle(): number {
    this.network.heal();
    for (const replica of this.replicas) {
      replica.cutUntil = 0;
      replica.deafUntil = 0;
      replica.blindUntil = 0;
      replica.slowUntil = 0;
    }
    this.#start(); // the others may all be leaving
    const since = this.time.now;
    const stopped = Math.max(0, ...this.replicas.map((one) => one.stoppedUntil - since));
    const bound = stopped + 4 * LEASE + 2 * MOVE_TIMEOUT + 3 * QUIET;
    let settledAt: number | undefined;
    this.#runUntil(since + bound, () => {
      settledAt ??= this.#unsettled() === undefined ? this.time.now : undefined;
      return settledAt !== undefined;
    });
    if (this.violation !== undefined) return 0;
    const unsettled = this.#unsettled();
    if (unsettled !== undefined) this.violate(`${bound} ms after the faults: ${unsettled}`);
    // A process that was stopped comes back as another one, and gets its share after a while.
    const restless = 1.5 * QUIET + 2 * (RECUT_PAUSE + LEASE);
    this.#runUntil(Math.max(this.time.now, since + stopped + LEASE) + restless);
    const writes = this.#writes;
    this.#runUntil(this.time.now + 1.2 * QUIET);
    if (this.violation === undefined) {
      const later = this.#unsettled();
      if (later !== undefined) this.violate(`long after the faults: ${later}`);
      else if (this.#writes !== writes) this.violate('the map changes although nothing happens');
    }
    return (settledAt ?? since) - since;
  }

  /** What is not at its place; undefined if everything is. */
  #unsettled(): string | undefined {
    const map = this.server.map?.map;
    if (map === undefined || map === 'newer') return 'there is no map';
    if (map.moving.length > 0) return `${map.moving.length} slots are being moved`;
    for (let slot = 0; slot < SLOTS; slot++) {
      const owner = this.replicas.find(({ name }) => name === map.slots[slot]);
      if (owner === undefined) return `slot ${slot} is owned by "${map.slots[slot]}"`;
      if (!owner.machine.mayStart(slot, owner.now())) return `slot ${slot} is not open`;
    }
    return undefined;
  }

  #happen(happening: Happening): void {
    if (isChange(happening)) this.#changes++;
    const living = this.replicas.filter(({ machine }) => machine.ended === undefined);
    const picked = 'who' in happening ? living[happening.who % (living.length || 1)] : undefined;
    this.note(`${happening.what} ${picked?.name ?? ''}`);
    switch (happening.what) {
      case 'start':
        if (living.length < MOST_PROCESSES) this.#start();
        return;
      case 'outage':
        this.network.outage(happening.leases * LEASE);
        return;
      case 'weather':
        this.network.weather = happening.weather;
        return;
      case 'names':
        this.names = namesIn(happening.parts, new Random(happening.seed));
        return;
      case 'delete-map':
        this.server.deleteMap();
        return;
      case 'spoil-map':
        if (this.server.map !== undefined)
          this.server.putMap({ ...(this.server.map.raw as Record<string, string>), map: '{}' });
        return;
      case 'restore-map':
        if (this.#oldMap !== undefined) this.server.putMap(this.#oldMap);
        return;
      case 'delete-leader':
        this.server.deleteLease('web');
        return;
      case 'upgrade':
        this.#release = 'later';
        return;
    }
    if (picked === undefined) return;
    const until = this.time.now + ('leases' in happening ? happening.leases : 0) * LEASE;
    switch (happening.what) {
      case 'kill':
        picked.isDead = true;
        this.replicas = this.replicas.filter((one) => one !== picked);
        return;
      case 'terminate':
        picked.deliver(() => picked.step({ type: 'leave', isNow: false }));
        return;
      case 'delete-lease':
        this.server.deleteLease(`web-${picked.name}`);
        return;
      case 'stop':
        picked.stop(until - this.time.now);
        return;
      case 'cut':
        picked.cutUntil = Math.max(picked.cutUntil, until);
        return;
      case 'deafen':
        picked.deafUntil = Math.max(picked.deafUntil, until);
        return;
      case 'blind':
        picked.blindUntil = Math.max(picked.blindUntil, until);
        return;
      case 'slow':
        picked.slowUntil = Math.max(picked.slowUntil, until);
    }
  }

  #start(release = this.#release): void {
    const name = `r${++this.#born}`;
    this.replicas.push(new SimulatedReplica(this, name, release));
  }

  /** Edges as text, made once for each. */
  cutOf(edges: readonly bigint[]): string {
    const cut = this.#cutTexts.get(edges) ?? edges.join();
    this.#cutTexts.set(edges, cut);
    return cut;
  }

  ended(replica: SimulatedReplica, why: EndReason): void {
    this.note(`${replica.name} ended: ${why}`);
    this.replicas = this.replicas.filter((one) => one !== replica);
    replica.isDead = true;
    const { release } = replica;
    if (why === 'lost') this.time.after(RETRY * this.random.next(), () => this.#start(release));
    if (why !== 'outdated') return;
    this.#outdated++;
    // Its container is started again, or the rollout replaces it.
    const next = this.random.chance(0.5) ? release : this.#release;
    this.time.after(RETRY * this.random.next(), () => this.#start(next));
  }

  /** A replica has stepped: nobody else may run what it may run. */
  stepped(replica: SimulatedReplica): void {
    if (!replica.machine.isValid(replica.now())) return;
    for (const other of this.replicas) {
      if (other === replica || other.isDead) continue;
      const conflict = replica.conflict(other);
      if (conflict !== undefined) this.violate(conflict);
    }
  }

  violate(what: string): void {
    this.violation ??= `at ${this.time.now.toFixed(3)} ms of seed ${this.scenario.seed}: ${what}`;
  }

  note(what: string): void {
    this.trace.push(`${this.time.now.toFixed(1)} ${what}`);
  }

  #leaseChanged(lease: LeaseView, isDeleted: boolean): void {
    const isTaken = lease.holder === '' && !isDeleted && lease.name !== 'web';
    if (isTaken) this.#takeovers++;
    if (isDeleted || isTaken || lease.name === 'web')
      this.note(`lease ${lease.name} ${isDeleted ? 'deleted' : `held by "${lease.holder}"`}`);
    for (const replica of this.replicas)
      this.network.tell(replica.isDeaf, () =>
        replica.deliver(() => replica.step({ type: 'lease-event', lease, isDeleted })),
      );
  }

  #mapChanged(): void {
    const { map: object, version } = this.server;
    this.#writes++;
    const map = object?.map === 'newer' ? undefined : object?.map;
    this.note(
      `map ${map === undefined ? 'lost' : `epoch ${map.epoch}, ${map.moving.length} moving`}`,
    );
    if (map !== undefined && this.random.chance(0.1))
      this.#oldMap = object?.raw as Record<string, string>;
    if (map !== undefined) this.#checkMoves(map);
    const seen = { this: this.server.mapFor('this'), later: object };
    for (const replica of this.replicas)
      this.network.tell(replica.isDeaf, () =>
        replica.deliver(() =>
          replica.step({ type: 'map', version, object: seen[replica.release] }),
        ),
      );
  }

  #checkMoves({ moving, floor, epoch, edges }: ShardMap): void {
    if (floor === epoch) this.#rewrites++;
    const text = this.cutOf(edges);
    if (this.#edges !== undefined && text !== this.#edges) this.#cuts++;
    this.#edges = text;
    // A rebalance moves a slot once, and each change of the membership once more.
    const most = SLOTS * (2 + this.#changes + this.time.now / QUIET);
    if (this.#moves > most) this.violate(`${this.#moves} moves`);
    if (moving.length > MOST_MOVES) this.violate(`${moving.length} moves at once`);
    const slots = new Set(moving.map(({ slot }) => slot));
    if (slots.size < moving.length) this.violate('two moves of one slot');
    for (const { slot, since } of moving) {
      const key = `${slot}@${since}`;
      if (!this.#begun.has(key)) {
        this.#begun.set(key, this.time.now);
        this.#moves++;
      }
    }
  }
}

/** Names whose hashes lie together in `parts` places, as those of short, similar names do. */
function namesIn(parts: number, random: Random): WeighedHash[] {
  const places = Array.from({ length: parts }, () => BigInt(random.int(2 ** 16)) << 48n);
  return Array.from({ length: NAMES }, (_, i) => [
    (places[i % parts] as bigint) + (BigInt(random.int(2 ** 16)) << 16n),
    1 + random.int(9),
  ]);
}

export function runScenario(scenario: Scenario, make: MakeMachine): ScenarioResult {
  return new Simulation(scenario, make).run();
}

/** The same failure with as few happenings as possible. */
export function shrinkScenario(scenario: Scenario, make: MakeMachine): Scenario {
  let best = scenario;
  for (let part = best.happenings.length >> 1; part > 0; part >>= 1) {
    for (let from = 0; from < best.happenings.length; ) {
      const happenings = best.happenings.filter((_, i) => i < from || i >= from + part);
      const smaller = { ...best, happenings };
      if (happenings.length > 0 && runScenario(smaller, make).violation !== undefined)
        best = smaller;
      else from += part;
    }
  }
  return best;
}
