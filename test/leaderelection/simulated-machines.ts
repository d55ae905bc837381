/**
 * Simulated time, machines and network. Events happen one after the other in real time; each
 * machine has a clock with its own rate and origin. On a stalled machine the clock runs and code
 * does not: events that become due happen when it continues, in any order. All promise reactions of
 * an event run before the next event.
 */
import { type Transport, TransportError, type TransportRequest } from 'capstan/cache';
import type { Clock } from 'capstan/workqueue';
import { macrotask } from '../../bindings/base/clock.ts';
import {
  failure,
  type LeaseAnswer,
  type LeaseServer,
  response,
  silence,
} from '../helpers/leaderelection/lease-server.ts';
import type { Random } from '../helpers/random.ts';

interface WorldEvent {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

/**
 * Timers fire late rather than early, as in hosts; otherwise rounding could stop the time of a
 * timer that is set again.
 */
const RESOLUTION_MS = 1e-3;

export class SimulatedWorld {
  readonly random: Random;
  /** Real time. */
  now = 0;
  /** Called after each event and all its promise reactions. */
  afterEach: () => void = () => undefined;
  #order = 0;
  /** A binary heap, by time and then by order. */
  readonly #heap: WorldEvent[] = [];

  constructor(random: Random) {
    this.random = random;
  }

  at(time: number, run: () => void): void {
    const heap = this.#heap;
    const event = { at: Math.max(time, this.now), order: this.#order++, run };
    let i = heap.length;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      const above = heap[parent] as WorldEvent;
      if (!before(event, above)) break;
      heap[i] = above;
      i = parent;
    }
    heap[i] = event;
  }

  after(ms: number, run: () => void): void {
    this.at(this.now + ms, run);
  }

  /** Runs the events until `time`; ends early when `done` returns true after one. */
  async runUntil(time: number, done: () => boolean = () => false): Promise<void> {
    for (let next = this.#heap[0]; next !== undefined && next.at <= time; next = this.#heap[0]) {
      this.#pop();
      this.now = next.at;
      next.run();
      await this.settle();
      if (done()) return;
    }
    this.now = Math.max(this.now, time);
  }

  /** One turn of the event loop: simulated code waits only for promises. */
  async settle(): Promise<void> {
    await macrotask();
    this.afterEach();
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop() as WorldEvent;
    const { length } = heap;
    if (length === 0) return;
    let i = 0;
    for (let child = 1; child < length; child = 2 * i + 1) {
      if (child + 1 < length && before(heap[child + 1] as WorldEvent, heap[child] as WorldEvent))
        child++;
      if (!before(heap[child] as WorldEvent, last)) break;
      heap[i] = heap[child] as WorldEvent;
      i = child;
    }
    heap[i] = last;
  }
}

function before(a: WorldEvent, b: WorldEvent): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}

/** A machine with one process, which is its clock too. */
export class Machine implements Clock {
  readonly #world: SimulatedWorld;
  readonly #rate: number;
  readonly #zero: number;
  readonly #timers = new Set<object>();
  #stalledUntil = 0;
  #backlog: (() => void)[] = [];
  #dead = false;

  /** @param rate milliseconds of its clock in a real one */
  constructor(world: SimulatedWorld, rate: number) {
    this.#world = world;
    this.#rate = rate;
    this.#zero = world.random.next() * 1e7;
  }

  get isDead(): boolean {
    return this.#dead;
  }

  /** Whether its code does not run, or has not caught up yet. */
  get isStalled(): boolean {
    return this.#world.now < this.#stalledUntil || this.#backlog.length > 0;
  }

  now(): number {
    return this.#zero + this.#world.now * this.#rate;
  }

  setTimer(run: () => void, ms: number): unknown {
    const timer = {};
    this.#timers.add(timer);
    this.#world.after(Math.max(ms, 0) / this.#rate + RESOLUTION_MS, () =>
      this.deliver(() => {
        if (this.#timers.delete(timer)) run();
      }),
    );
    return timer;
  }

  clearTimer(timer: unknown): void {
    this.#timers.delete(timer as object);
  }

  timers(): number {
    return this.#timers.size;
  }

  /** Delivers an event to the process: now, or when it continues. */
  deliver(run: () => void): void {
    if (this.#dead) return;
    if (this.isStalled) this.#backlog.push(run);
    else run();
  }

  stall(ms: number): void {
    const until = this.#world.now + ms;
    if (this.#dead || until <= this.#stalledUntil) return;
    this.#stalledUntil = until;
    this.#world.at(until, () => this.#catchUp());
  }

  crash(): void {
    this.#dead = true;
    this.#backlog = [];
  }

  /**
   * One at a time, each an event of its own at the same time and in any order: a response may be
   * read before a timer that was due long ago.
   */
  #catchUp(): void {
    const world = this.#world;
    if (this.#dead || world.now < this.#stalledUntil || this.#backlog.length === 0) return;
    const [run] = this.#backlog.splice(world.random.int(this.#backlog.length), 1);
    run?.();
    world.at(world.now, () => this.#catchUp());
  }
}

/** The faults on the way to the server, as probabilities for each request. */
export interface Weather {
  readonly lostOnTheWay: number;
  readonly lostAnswer: number;
  readonly serverError: number;
  /** The longest delay of a message; most are much shorter. */
  readonly delayMs: number;
}

const FAIR: Weather = { lostOnTheWay: 0, lostAnswer: 0, serverError: 0, delayMs: 20 };

export class Network {
  weather: Weather = FAIR;
  readonly #world: SimulatedWorld;
  readonly #server: LeaseServer;
  readonly #cut = new Set<Machine>();
  #stuckUntil = 0;

  constructor(world: SimulatedWorld, server: LeaseServer) {
    this.#world = world;
    this.#server = server;
  }

  cut(machine: Machine, ms: number): void {
    this.#cut.add(machine);
    this.#world.after(ms, () => this.#cut.delete(machine));
  }

  /** The server handles nothing for a while, and then everything. */
  stick(ms: number): void {
    this.#stuckUntil = Math.max(this.#stuckUntil, this.#world.now + ms);
  }

  heal(): void {
    this.weather = FAIR;
    this.#cut.clear();
    this.#stuckUntil = 0;
  }

  transport(machine: Machine): Transport {
    return { request: async (request) => response(await this.#send(machine, request)) };
  }

  /** A request that its sender aborts still arrives. */
  #send(machine: Machine, request: TransportRequest): Promise<LeaseAnswer> {
    const { random } = this.#world;
    const aborted = silence(request);
    aborted.catch(() => undefined);
    const sent = new Promise<LeaseAnswer>((resolve, reject) => {
      const fail = (kind: 'reset' | 'refused'): void => {
        if (random.chance(0.3)) return; // no response
        this.#world.after(this.#delay(), () =>
          machine.deliver(() => reject(new TransportError(kind, kind))),
        );
      };
      if (this.#cut.has(machine)) {
        fail('refused');
        return;
      }
      const lost = random.chance(this.weather.lostOnTheWay);
      const arrives = Math.max(this.#world.now + this.#delay(), this.#stuckUntil);
      this.#world.at(arrives, () => {
        if (lost || this.#cut.has(machine)) {
          fail('reset');
          return;
        }
        const answer = this.#answer(request);
        if (random.chance(this.weather.lostAnswer)) {
          fail('reset');
          return;
        }
        this.#world.after(this.#delay(), () => {
          if (this.#cut.has(machine)) fail('reset');
          else machine.deliver(() => resolve(answer));
        });
      });
    });
    return Promise.race([sent, aborted]);
  }

  #answer(request: TransportRequest): LeaseAnswer {
    const { random } = this.#world;
    if (!random.chance(this.weather.serverError)) return this.#server.answer(request);
    const carriedOut = random.chance(0.3); // a 504 does not say whether the write was applied
    if (carriedOut) this.#server.answer(request);
    if (random.chance(0.3))
      return failure(429, 'TooManyRequests', { 'retry-after': String(1 + random.int(3)) });
    return failure(random.pick([500, 503, 504]), 'InternalError');
  }

  #delay(): number {
    const { random } = this.#world;
    return this.weather.delayMs * random.next() ** 4;
  }
}
