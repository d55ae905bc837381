/**
 * Elections among simulated machines with faults: clocks of different rates, messages that are
 * late, lost or answered by errors, partitions, a server that is stuck, and processes that are
 * stalled, stopped, or crash and come back with a new identity.
 *
 * Checked after each event: at most one process says that it holds the lease; no work begins while
 * another one says so; and in processes whose term ends with the lease, work that runs while
 * another leads was told to stop. It does not delete a held Lease, which breaks every election of
 * this kind.
 */
import { LeaderElector, LeaseLock } from 'capstan/leaderelection';
import { sleep } from '../../bindings/base/wait.ts';
import { LeaseServer } from '../helpers/leaderelection/lease-server.ts';
import { Random } from '../helpers/random.ts';
import { Machine, Network, SimulatedWorld } from './simulated-machines.ts';

export interface SimulationOptions {
  readonly seed: number;
  readonly terms: number;
  readonly candidates: number;
  readonly leaseDuration: number;
  readonly renewDeadline: number;
  readonly retryPeriod: number;
  /** The option of the electors. Default: their own default. */
  readonly maxClockSkewRatio?: number;
  /** The ratio of the fastest clock to the slowest. */
  readonly actualSkewRatio: number;
}

export interface SimulationResult {
  readonly terms: number;
  readonly events: number;
  readonly reconciles: number;
  /** How often work was about to begin and the lease had expired. */
  readonly refused: number;
  readonly stalls: number;
  readonly crashes: number;
  readonly partitions: number;
  /** Violations as text; empty if there are none. */
  readonly violations: readonly string[];
  /**
   * The least real time between the last moment of one holder and the first of the next, in
   * milliseconds.
   */
  readonly closestMs: number;
  /** The longest time without a leader after all faults had ended. */
  readonly longestRecoveryMs: number;
}

/** The longest duration of one round's faults, in leases. */
const FAULTS_LEASES = 8;

class Candidate {
  readonly machine: Machine;
  readonly elector: LeaderElector;
  readonly identity: string;
  readonly endsWithLease: boolean;
  readonly cancel = new AbortController();
  /** The signal of the running work. */
  working: AbortSignal | undefined;

  constructor(sim: Simulation, machine: Machine, identity: string) {
    const { random } = sim.world;
    this.machine = machine;
    this.identity = identity;
    this.endsWithLease = random.chance(0.5);
    const { leaseDuration, renewDeadline, retryPeriod, maxClockSkewRatio } = sim.options;
    const wallOffset = random.next() * 1e10;
    this.elector = new LeaderElector({
      lock: new LeaseLock(sim.network.transport(machine), {
        namespace: 'ns',
        name: 'lock',
        identity,
      }),
      leaseDuration,
      renewDeadline,
      retryPeriod,
      ...(maxClockSkewRatio === undefined ? {} : { maxClockSkewRatio }),
      releaseOnCancel: random.chance(0.5),
      stepDown: this.endsWithLease ? 'lapse' : 'deadline',
      clock: machine,
      random: () => random.next(),
      wallNow: () => 1e12 + wallOffset + machine.now(),
      callbacks: {
        onStartedLeading: (signal) => {
          sim.terms++;
          return this.#work(sim, signal);
        },
        onStoppedLeading: () => undefined,
      },
    });
  }

  /** Reconciles one after the other, and checks the lease before each. */
  async #work(sim: Simulation, signal: AbortSignal): Promise<void> {
    const { random } = sim.world;
    const { retryPeriod, leaseDuration } = sim.options;
    while (!signal.aborted) {
      if (this.elector.holdsLease()) {
        sim.reconcileBegins(this);
        this.working = signal;
        const longest = random.chance(0.2) ? 3 * leaseDuration : retryPeriod;
        await sleep(this.machine, random.next() * longest, signal);
        this.working = undefined;
      } else {
        sim.refused++;
      }
      await sleep(this.machine, (random.next() * retryPeriod) / 2, signal);
    }
  }
}

class Simulation {
  readonly options: SimulationOptions;
  readonly world: SimulatedWorld;
  readonly network: Network;
  readonly violations: string[] = [];
  readonly candidates: Candidate[] = [];
  terms = 0;
  refused = 0;
  reconciles = 0;
  events = 0;
  stalls = 0;
  crashes = 0;
  partitions = 0;
  closestMs = Number.POSITIVE_INFINITY;
  longestRecoveryMs = 0;
  #born = 0;
  #calm = false;
  #lastHolder: Candidate | undefined;
  #lastHeldAt = Number.NEGATIVE_INFINITY;

  constructor(options: SimulationOptions) {
    this.options = options;
    this.world = new SimulatedWorld(new Random(options.seed));
    this.network = new Network(this.world, new LeaseServer());
    this.world.afterEach = () => this.#check();
    for (let i = 0; i < options.candidates; i++) this.#start(i);
  }

  async run(): Promise<void> {
    const lease = this.options.leaseDuration;
    while (this.terms < this.options.terms && this.violations.length === 0) {
      const end = this.world.now + lease * FAULTS_LEASES * this.world.random.next();
      this.#makeFaults(end);
      await this.world.runUntil(end, () => this.violations.length > 0);
      await this.#recover();
    }
  }

  reconcileBegins(candidate: Candidate): void {
    this.reconciles++;
    const others = this.candidates.filter((other) => other !== candidate && this.#holds(other));
    if (others.length > 0)
      this.#violate(
        `${candidate.identity} begins work while ${others[0]?.identity} holds the lease`,
      );
  }

  /** Replaces the candidate of that number, if there is one, by a new one on a new machine. */
  #start(place: number): void {
    const { random } = this.world;
    const { actualSkewRatio } = this.options;
    // The extremes find more than the middle.
    const rate = random.pick([1, actualSkewRatio, 1 + random.next() * (actualSkewRatio - 1)]);
    const candidate = new Candidate(this, new Machine(this.world, rate), `c${this.#born++}`);
    this.candidates[place] = candidate;
    void this.#runForever(candidate);
  }

  async #runForever({ elector, machine, cancel }: Candidate): Promise<void> {
    for (;;) {
      await elector.run({ signal: cancel.signal });
      if (cancel.signal.aborted) return;
      await sleep(machine, this.world.random.next() * this.options.retryPeriod, cancel.signal);
    }
  }

  #makeFaults(end: number): void {
    const { random } = this.world;
    this.#calm = false;
    const { leaseDuration } = this.options;
    const bad = random.chance(0.7) ? 0.3 * random.next() : 0;
    this.network.weather = {
      lostOnTheWay: bad * random.next(),
      lostAnswer: bad * random.next(),
      serverError: bad * random.next(),
      delayMs: random.chance(0.3) ? leaseDuration : 100,
    };
    for (let at = this.world.now; at < end; at += random.next() * leaseDuration)
      this.world.at(at, () => this.#fault());
  }

  #fault(): void {
    if (this.#calm) return;
    const { random } = this.world;
    const ms = 2 * this.options.leaseDuration * random.next();
    const holder = this.candidates.findIndex((one) => this.#holds(one));
    const place = holder >= 0 && random.chance(0.7) ? holder : random.int(this.candidates.length);
    const candidate = this.candidates[place] as Candidate;
    switch (random.int(5)) {
      case 0:
        this.stalls++;
        candidate.machine.stall(ms);
        break;
      case 1:
        this.partitions++;
        this.network.cut(candidate.machine, ms);
        break;
      case 2:
        this.crashes++;
        candidate.machine.crash();
        this.#start(place);
        break;
      case 3: // is stopped gracefully and replaced
        candidate.machine.deliver(() => candidate.cancel.abort());
        if (!candidate.machine.isStalled) this.#replaceOnceEnded(candidate, place);
        break;
      default:
        this.network.stick(ms / 4);
    }
  }

  /** A stopped candidate is checked until it has ended. */
  #replaceOnceEnded(candidate: Candidate, place: number): void {
    const { renewDeadline } = this.options;
    this.world.after(2 * renewDeadline, () => {
      if (this.candidates[place] !== candidate) return;
      candidate.machine.crash();
      this.#start(place);
    });
  }

  /** Without faults and with all machines running, a leader must be found soon. */
  async #recover(): Promise<void> {
    const { leaseDuration, renewDeadline, retryPeriod } = this.options;
    this.#calm = true;
    this.network.heal();
    const runs = this.candidates.map(
      ({ machine, cancel }) => !machine.isDead && !machine.isStalled && !cancel.signal.aborted,
    );
    runs.forEach((does, place) => {
      if (does) return;
      this.candidates[place]?.machine.crash();
      this.#start(place);
    });
    // A leader that cannot renew gives up, its lease expires (by the slowest clock, which has rate
    // 1), and the next attempt finds that.
    const bound = renewDeadline + leaseDuration + 3 * retryPeriod * 2.2 + 1000;
    const since = this.world.now;
    const led = (): boolean => this.candidates.some((one) => this.#holds(one));
    if (!led()) await this.world.runUntil(since + bound, () => led() || this.violations.length > 0);
    if (!led()) this.#violate(`nobody leads ${bound} ms after all faults have ended`);
    this.longestRecoveryMs = Math.max(this.longestRecoveryMs, this.world.now - since);
  }

  #holds({ machine, elector }: Candidate): boolean {
    return !machine.isDead && elector.holdsLease();
  }

  #check(): void {
    this.events++;
    const holders = this.candidates.filter((one) => this.#holds(one));
    const [first, second] = holders;
    if (first === undefined) return;
    if (second !== undefined) {
      this.#violate(`${first.identity} and ${second.identity} hold the lease`);
      return;
    }
    if (this.#lastHolder !== first && this.#lastHolder !== undefined)
      this.closestMs = Math.min(this.closestMs, this.world.now - this.#lastHeldAt);
    this.#lastHolder = first;
    this.#lastHeldAt = this.world.now;
    for (const other of this.candidates) {
      const { machine, working, endsWithLease } = other;
      if (
        other === first ||
        !endsWithLease ||
        machine.isDead ||
        machine.isStalled ||
        working === undefined
      )
        continue;
      if (!working.aborted)
        this.#violate(`${other.identity} works on while ${first.identity} holds the lease`);
    }
  }

  #violate(what: string): void {
    this.violations.push(
      `at ${this.world.now.toFixed(3)} ms of seed ${this.options.seed}: ${what}`,
    );
  }
}

export async function simulate(options: SimulationOptions): Promise<SimulationResult> {
  const simulation = new Simulation(options);
  await simulation.run();
  for (const { machine } of simulation.candidates) machine.crash();
  const { terms, events, reconciles, refused, stalls, crashes, partitions, violations } =
    simulation;
  const { closestMs, longestRecoveryMs } = simulation;
  return {
    terms,
    events,
    reconciles,
    refused,
    stalls,
    crashes,
    partitions,
    violations,
    closestMs,
    longestRecoveryMs,
  };
}
