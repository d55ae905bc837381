/**
 * A hundred thousand schedules: producers, workers, a batch worker, aborted calls, passing time and
 * one of the ways to end, each a small program whose steps fast-check's scheduler puts in any
 * order. Each call is also made to the model (test/helpers/workqueue/queue-model.ts): each get must
 * return the model's key, in the model's order, and each drain must end when the model's does. The
 * results of the programs are also checked by the promises alone:
 *
 * - no item is handed out twice at once, and none is lost: every add before the shutdown is
 *   followed by a later hand-out;
 * - no wake-up is lost: when no actor can move, nothing is ready, or no get waits;
 * - after a shutdown every call ends.
 *
 * random-waits.test.ts has longer programs on fewer schedules. Seed by CAPSTAN_SEED;
 * CAPSTAN_SCHEDULES sets how many.
 */
import { FakeClock } from 'capstan/workqueue';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { testSeed } from '../helpers/random.ts';
import { type Implementation, implementations } from '../helpers/workqueue/implementations.ts';
import { ModelDelayingQueue } from '../helpers/workqueue/queue-model.ts';

const seed = testSeed();
/** Of each implementation. Some repeat; the distinct ones are counted. */
const RUNS = Number(process.env.CAPSTAN_SCHEDULES ?? 53_000);
const GOAL = 100_000;

const KEYS = ['a', 'b', '', '__proto__'] as const;
const ENDS = ['shutDown', 'drain', 'two drains', 'drain, then shutDown', 'at the end'] as const;

interface Plan {
  /** What each producer adds: keys by number; from 4 on the key is added after a delay. */
  readonly producers: readonly (readonly number[])[];
  readonly workers: number;
  /** Bit n: the n-th item that is processed is added again meanwhile. */
  readonly again: number;
  /** The number of gets that are aborted, sooner or later. */
  readonly aborts: number;
  readonly batches: boolean;
  readonly steps: readonly number[]; // of time, ms
  readonly end: (typeof ENDS)[number];
}

const plans: fc.Arbitrary<Plan> = fc.record({
  producers: fc.array(fc.array(fc.nat(7), { minLength: 1, maxLength: 4 }), {
    minLength: 1,
    maxLength: 3,
  }),
  workers: fc.integer({ min: 1, max: 3 }),
  again: fc.nat(255),
  aborts: fc.nat(2),
  batches: fc.boolean(),
  steps: fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 3 }),
  end: fc.constantFrom(...ENDS),
});

function must(holds: boolean, promise: string): void {
  if (!holds) throw new Error(promise);
}

/** A program of one schedule, and the order in which its actors moved. */
class Run {
  readonly #scheduler: fc.Scheduler;
  readonly #clock = new FakeClock();
  readonly #queue;
  readonly #model = new ModelDelayingQueue();
  readonly #answers: string[] = []; // "call:key" in the order in which gets returned
  readonly #expected: string[] = [];
  readonly #drains: number[] = [];
  readonly #expectedDrains: number[] = [];
  readonly #versions = new Map<string, number>(); // adds before the shutdown, by key
  readonly #seen = new Map<string, number>(); // the version when the key was handed out last
  readonly #running = new Set<string>();
  readonly #abortable: { call: number; abort(): void }[] = [];
  readonly #problems: unknown[] = [];
  #calls = 0;
  #again: number;
  #workersLeft = 0;
  /** A number for the order of moves; equal orders have equal numbers. */
  order = 7;

  constructor(make: Implementation, plan: Plan, scheduler: fc.Scheduler) {
    this.#scheduler = scheduler;
    this.#queue = make.delaying({ clock: this.#clock });
    this.#again = plan.again;
  }

  async play(plan: Plan): Promise<void> {
    const queue = this.#queue;
    for (let i = 0; i < plan.workers; i++) this.#start(this.#work(i, i < plan.aborts));
    for (const [i, keys] of plan.producers.entries()) this.#start(this.#produce(8 + i, keys));
    if (plan.aborts > 0) this.#start(this.#abort(16));
    if (plan.batches) this.#start(this.#workInBatches(17));
    if (plan.steps.length > 0) this.#start(this.#passTime(18, plan.steps));
    if (plan.end !== 'at the end') this.#start(this.#end(19, plan.end));
    await this.#scheduler.waitIdle();
    await rest();
    this.#agree();
    must(this.#running.size === 0, 'everybody who works gets to the end of it');
    must(
      queue.len() === 0 || this.#workersLeft === 0,
      'no wake-up is lost: what is ready has been taken',
    );
    if (plan.end === 'at the end') {
      queue.shutDown();
      this.#model.shutDown();
      await rest();
      this.#agree();
    }
    must(this.#workersLeft === 0, 'after a shutdown every worker ends');
    for (const [key, version] of this.#versions) {
      must(
        this.#seen.get(key) === version || this.#model.isQueued(key),
        `every add of ${JSON.stringify(key)} is followed by a hand-out`,
      );
    }
    queue.add('late');
    must(queue.len() === this.#model.len(), 'an add after the shutdown is dropped');
    queue.dispose();
  }

  /** An actor's error ends the run. */
  #start(actor: Promise<void>): void {
    actor.catch((error: unknown) => this.#problems.push(error));
  }

  /** Waits until the scheduler lets this actor move. */
  async #move(actor: number): Promise<void> {
    await this.#scheduler.schedule(nothing);
    this.order = (Math.imul(this.order, 0x01000193) ^ actor) >>> 0;
  }

  #agree(): void {
    if (this.#problems.length > 0) throw this.#problems[0];
    must(this.#queue.len() === this.#model.len(), 'as many keys are ready as in the model');
    same(this.#answers, this.#expected, 'gets return what the model says, in its order');
    same(this.#drains, this.#expectedDrains, 'drains end when the model says, in its order');
  }

  #add(key: string): void {
    if (!this.#queue.shuttingDown()) this.#versions.set(key, (this.#versions.get(key) ?? 0) + 1);
    this.#queue.add(key);
    this.#model.add(key);
  }

  async #produce(actor: number, keys: readonly number[]): Promise<void> {
    for (const number of keys) {
      await this.#move(actor);
      const key = KEYS[number % KEYS.length] as string;
      if (number < KEYS.length) this.#add(key);
      else {
        this.#queue.addAfter(key, number - KEYS.length);
        this.#model.addAfter(key, number - KEYS.length);
      }
    }
  }

  async #work(actor: number, abortable: boolean): Promise<void> {
    this.#workersLeft++;
    for (let first = true; ; first = false) {
      await this.#move(actor);
      const call = this.#calls++;
      const controller = first && abortable ? new AbortController() : undefined;
      const answer = (key: string | undefined): void => void this.#expected.push(`${call}:${key}`);
      this.#model.get(answer);
      const get = this.#queue.get(controller && { signal: controller.signal });
      if (controller) {
        const abort = (): void => {
          this.#model.cancelGet(answer);
          controller.abort();
        };
        this.#abortable.push({ call, abort });
      }
      const got = await get.catch(() => undefined);
      if (got === undefined) continue; // aborted, which takes no item
      this.#answers.push(`${call}:${got.item}`);
      if (got.shutdown) break;
      await this.#process(actor, [got.item]);
      this.#queue.done(got.item);
      this.#model.done(got.item);
    }
    this.#workersLeft--;
  }

  async #workInBatches(actor: number): Promise<void> {
    for (let turn = 0; turn < 3; turn++) {
      await this.#move(actor);
      const batch = this.#queue.getBatch(2);
      same(
        batch,
        [this.#model.tryGet(), this.#model.tryGet()].slice(0, batch.length),
        'a batch is what the model gives',
      );
      if (batch.length === 0) continue;
      await this.#process(actor, batch);
      this.#queue.doneAll(batch);
      for (const key of batch) this.#model.done(key);
    }
  }

  async #process(actor: number, items: readonly string[]): Promise<void> {
    for (const item of items) {
      must(!this.#running.has(item), 'no item is handed out twice at once');
      this.#running.add(item);
      this.#seen.set(item, this.#versions.get(item) ?? 0);
    }
    await this.#move(actor);
    let added = false;
    for (const item of items) {
      if (this.#again & 1) {
        this.#add(item);
        added = true;
      }
      this.#again >>= 1;
    }
    // others may move while it is both processing and dirty
    if (added) await this.#move(actor);
    for (const item of items) this.#running.delete(item);
  }

  async #abort(actor: number): Promise<void> {
    for (let turn = 0; turn < 3; turn++) {
      await this.#move(actor);
      this.#abortable.shift()?.abort();
    }
  }

  async #passTime(actor: number, steps: readonly number[]): Promise<void> {
    for (const ms of steps) {
      await this.#move(actor);
      this.#clock.step(ms);
      this.#model.advance(ms);
    }
  }

  async #end(actor: number, how: Plan['end']): Promise<void> {
    await this.#move(actor);
    if (how === 'shutDown') {
      this.#shutDown();
      return;
    }
    this.#drain(0);
    if (how === 'drain') return;
    await this.#move(actor);
    if (how === 'two drains') this.#drain(1);
    else this.#shutDown();
  }

  #shutDown(): void {
    this.#queue.shutDown();
    this.#model.shutDown();
  }

  #drain(id: number): void {
    this.#model.shutDownWithDrain(() => void this.#expectedDrains.push(id));
    this.#start(this.#queue.shutDownWithDrain().then(() => void this.#drains.push(id)));
  }
}

const nothing = Promise.resolve();

/** Long enough for all pending steps without the scheduler. */
async function rest(): Promise<void> {
  for (let turn = 0; turn < 12; turn++) await undefined;
}

function same(real: readonly unknown[], expected: readonly unknown[], promise: string): void {
  const equal = real.length === expected.length && real.every((one, i) => one === expected[i]);
  if (!equal)
    throw new Error(`${promise}: ${JSON.stringify(real)}, expected ${JSON.stringify(expected)}`);
}

const schedules = new Set<string>();
let runs = 0;

describe.each(implementations)('any order of moves, $name', (make) => {
  test('keeps every promise', { timeout: 300_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(plans, fc.scheduler(), async (plan, scheduler) => {
        const run = new Run(make, plan, scheduler);
        await run.play(plan);
        runs++;
        schedules.add(`${make.name} ${JSON.stringify(plan)} ${run.order}`);
      }),
      { seed: seed | 0, numRuns: RUNS, endOnFailure: false },
    );
  });
});

test('at least a hundred thousand schedules ran', () => {
  console.log(
    `test/workqueue/random-schedules.test.ts: CAPSTAN_SEED=${seed}: ${runs} ` +
      `schedules, ${schedules.size} of them distinct`,
  );
  expect(schedules.size).toBeGreaterThanOrEqual(Math.min(GOAL, RUNS));
});
