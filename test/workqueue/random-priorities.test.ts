/**
 * Hundreds of thousands of random operations on priority queues, each answer compared with the
 * model (test/helpers/workqueue/priority-queue-model.ts), without and with aging, with and without
 * metrics. The seed is printed; `CAPSTAN_SEED=… npx vitest run
 * test/workqueue/random-priorities.test.ts` repeats a run.
 */
import {
  FakeClock,
  type GotWithPriority,
  ItemExponentialFailureRateLimiter,
  type MetricsProvider,
  type PriorityQueue,
  PrometheusProvider,
} from 'capstan/workqueue';
import { describe, expect, test } from 'vitest';
import { parseText } from '../helpers/prometheus-text.ts';
import { Random, testSeed } from '../helpers/random.ts';
import { distinctKeys } from '../helpers/workqueue/hostile-keys.ts';
import { type Implementation, implementations } from '../helpers/workqueue/implementations.ts';
import {
  type DelayMode,
  type ModelGot,
  ModelPriorityQueue,
} from '../helpers/workqueue/priority-queue-model.ts';
import { ModelExponential } from '../helpers/workqueue/queue-model.ts';
import { PriorityProvider } from './recording-priority-metrics.ts';

const seed = testSeed();
console.log(`test/workqueue/random-priorities.test.ts: CAPSTAN_SEED=${seed}`);

interface Plan {
  readonly operations: number;
  readonly keys: number;
  readonly priorities: readonly number[];
  readonly aging: number | undefined;
  readonly metrics: 'none' | 'called' | 'read';
  readonly life: number;
}

/** Weights: add, get, done, delayed add, mode, cancel, forget, batch, time. */
type Regime = readonly [number, number, number, number, number, number, number, number, number];

/**
 * A full queue shows the order of keys, an empty one the merging, many waiting keys the places that
 * adds give back.
 */
const regimes: readonly Regime[] = [
  [45, 10, 8, 15, 3, 1, 2, 2, 5], // fills
  [6, 40, 34, 6, 2, 1, 2, 4, 4], // empties
  [10, 8, 8, 55, 5, 3, 2, 1, 3], // all wait
  [45, 4, 4, 5, 2, 1, 1, 0, 2], // adds end waits
  [25, 25, 20, 10, 3, 1, 2, 3, 6], // in balance
];

class Life {
  readonly #random: Random;
  readonly #plan: Plan;
  readonly #keys: readonly string[];
  readonly #clock = new FakeClock();
  readonly #queue: PriorityQueue;
  readonly #model: ModelPriorityQueue;
  readonly #called = new PriorityProvider();
  readonly #read = new PrometheusProvider({ flavor: 'controller-runtime' });
  #processing: string[] = [];
  #pending = 0; // gets that wait on both sides
  #got: (GotWithPriority<string> | Error)[] = [];
  #expected: ModelGot[] = [];
  #regime = regimes[0] as Regime;
  operations = 0;

  constructor(random: Random, plan: Plan, make: Implementation) {
    this.#random = random;
    this.#plan = plan;
    this.#keys = Array.from(
      { length: plan.keys },
      (_, i) => distinctKeys[i] ?? `team-${i % 20}/web-frontend-${i}`,
    );
    const limiter = make.within(() => new ItemExponentialFailureRateLimiter(5, 160));
    const metricsProvider: MetricsProvider | undefined =
      plan.metrics === 'none' ? undefined : plan.metrics === 'called' ? this.#called : this.#read;
    const aging = plan.aging === undefined ? undefined : { everyMs: plan.aging };
    this.#queue = make.priority(limiter, {
      clock: this.#clock,
      name: 'q',
      ...(metricsProvider && { metricsProvider }),
      ...(aging && { aging }),
    });
    this.#model = new ModelPriorityQueue(new ModelExponential(5, 160), plan.aging);
  }

  async run(operations: number): Promise<void> {
    while (this.operations < operations) await this.#step();
    await this.#end();
    this.#queue.dispose();
  }

  #must(got: unknown, want: unknown, what: string): void {
    this.operations++;
    if (!Object.is(got, want))
      expect.fail(
        `${what}: expected ${want}, got ${got} (operation ${this.operations}, seed ${seed})`,
      );
  }

  async #step(): Promise<void> {
    const random = this.#random;
    if (random.chance(1 / 250)) this.#regime = random.pick(regimes);
    let roll = random.int(this.#regime.reduce((sum, weight) => sum + weight));
    const acts = [
      () => this.#add(),
      () => this.#get(),
      () => this.#done(),
      () => this.#addDelayed(),
      () => this.#addAfter(),
      () => this.#cancel(),
      () => this.#forget(),
      () => this.#batch(),
      () => this.#advance(),
    ];
    let chosen = 0;
    for (const [i, weight] of this.#regime.entries()) {
      chosen = i;
      roll -= weight;
      if (roll < 0) break;
    }
    (acts[chosen] as () => void)();
    await this.#compare(`operation ${chosen}`);
  }

  /** Compares deliveries and the length, and now and then all figures. */
  async #compare(what: string): Promise<void> {
    if (this.#pending > 0) for (let turn = 0; turn < 4; turn++) await undefined;
    this.#must(this.#got.length, this.#expected.length, `gets answered after ${what}`);
    for (const [i, want] of this.#expected.entries()) {
      const got = this.#got[i];
      if (got === undefined || got instanceof Error) throw got;
      this.#must(got.item, want?.key, `item after ${what}`);
      this.#must(got.priority, want?.priority ?? 0, `priority after ${what}`);
      if (want !== undefined) this.#processing.push(want.key);
      this.#pending--;
    }
    this.#got = [];
    this.#expected = [];
    this.#must(this.#queue.len(), this.#model.len(), `len after ${what}`);
    if (this.#plan.metrics !== 'none' && this.#random.chance(0.02)) this.#compareFigures();
  }

  #compareFigures(): void {
    const want = this.#model.depth();
    if (this.#plan.metrics === 'called') {
      this.#must(this.#called.values.retries, this.#model.retries, 'retries');
      this.#must(show(this.#called.depth), show(want), 'depth told');
      this.#must(this.#called.lowest, 0, 'lowest depth');
      return;
    }
    const families = parseText(this.#read.text());
    const samples = (name: string) =>
      new Map(
        families.get(name)?.samples.map(({ labels, value }) => [Number(labels.priority), value]),
      );
    this.#must(show(samples('workqueue_depth')), show(want), 'depth read');
    const longest = new Map(
      [...this.#model.longestWait()].map(([priority, ms]) => [priority, ms / 1000]),
    );
    this.#must(show(samples('workqueue_longest_wait_seconds')), show(longest), 'longest wait');
  }

  #key(): string {
    const key = this.#random.pick(this.#keys);
    return key.slice(0, 1) + key.slice(1); // a new string
  }

  #priority(): number {
    return this.#random.pick(this.#plan.priorities);
  }

  #add(): void {
    const keys = [this.#key()];
    while (this.#random.chance(0.2)) keys.push(this.#key());
    const priority = this.#random.chance(0.6) ? this.#priority() : undefined;
    const options = {
      ...(priority !== undefined && { priority }),
      ...(this.#random.chance(0.05) && { after: -3 }),
    };
    if (keys.length === 1 && priority === undefined && this.#random.chance(0.5))
      this.#queue.add(keys[0] as string);
    else this.#queue.addWithOpts(options, ...keys);
    this.#model.addWithOpts(options, ...keys);
  }

  #addDelayed(): void {
    const key = this.#key();
    const roll = this.#random.int(4);
    const options = {
      priority: this.#priority(),
      ...(roll !== 0 && { after: this.#ms() }),
      ...(roll <= 1 && { rateLimited: true }),
    };
    this.#queue.addWithOpts(options, key);
    this.#model.addWithOpts(options, key);
    this.#must(this.#queue.numRequeues(key), this.#model.numRequeues(key), 'numRequeues');
  }

  #addAfter(): void {
    const key = this.#key();
    const mode = this.#random.pick<DelayMode>(['earliest', 'latest', 'replace']);
    const ms = this.#random.chance(0.2) ? 0 : this.#ms();
    this.#queue.addAfter(key, ms, { mode });
    this.#model.addAfter(key, ms, mode);
  }

  /** Multiples of 10: many times are equal. */
  #ms(): number {
    return this.#random.chance(0.1) ? this.#random.next() * 500 : 10 * (1 + this.#random.int(30));
  }

  #cancel(): void {
    const key = this.#key();
    this.#must(this.#queue.cancel(key), this.#model.cancel(key), 'cancel');
  }

  #forget(): void {
    const key = this.#key();
    this.#queue.forget(key);
    this.#model.forget(key);
  }

  #get(): void {
    if (this.#pending >= 3) return;
    this.#pending++;
    this.#queue.getWithPriority().then(
      (got) => this.#got.push(got),
      (error: Error) => this.#got.push(error),
    );
    this.#model.get((got) => this.#expected.push(got));
  }

  #done(): void {
    if (this.#processing.length === 0) return;
    const at = this.#random.int(this.#processing.length);
    const key = this.#processing[at] as string;
    this.#processing[at] = this.#processing[this.#processing.length - 1] as string;
    this.#processing.pop();
    this.#queue.done(key);
    this.#model.done(key);
  }

  /** A batch out, another in: only while no get waits, as waiting ones come first. */
  #batch(): void {
    const most = 1 + this.#random.int(6);
    const batch = this.#queue.getBatch(most);
    const want: string[] = [];
    while (want.length < most && this.#model.next() !== undefined)
      this.#model.get((got) => want.push(got?.key as string));
    this.#must(batch.join('\n'), want.join('\n'), 'getBatch');
    if (this.#random.chance(0.3)) {
      this.#processing.push(...batch);
      return;
    }
    this.#queue.doneAll(batch);
    for (const key of want) this.#model.done(key);
  }

  #advance(): void {
    const ms = this.#random.chance(0.02) ? 15_000 : this.#random.pick([0, 1, 10, 10, 20, 50, 100]);
    this.#clock.step(ms);
    this.#model.advance(ms);
  }

  /** Half of the lives end in a drain, some of those are cut short. */
  async #end(): Promise<void> {
    const drained = { done: false };
    if (this.#random.chance(0.5)) {
      void this.#queue.shutDownWithDrain().then(() => {
        drained.done = true;
      });
      this.#model.drain();
      const cut = this.#random.chance(0.3);
      for (let i = 0; i < this.#plan.keys * 6 && !(cut && i > 10); i++) {
        await this.#compare('drain');
        for (let turn = 0; turn < 4; turn++) await undefined;
        this.#must(drained.done, this.#model.isDrained(), 'the drain has ended');
        this.#random.pick([
          () => this.#add(),
          () => this.#done(),
          () => this.#done(),
          () => this.#get(),
          () => this.#advance(),
        ])();
      }
      await this.#compare('drain');
    }
    this.#queue.shutDown();
    this.#model.shutDown();
    await this.#compare('shutDown');
    for (let i = 0; i < 20; i++) {
      this.#random.pick([
        () => this.#add(),
        () => this.#done(),
        () => this.#get(),
        () => this.#advance(),
        () => this.#batch(),
      ])();
      await this.#compare('an operation after shutDown');
    }
    this.#must(this.#clock.timers(), 0, 'timers after shutDown');
  }
}

/** Without zeros: a priority that had keys may still be listed. */
function show(figures: Map<number, number>): string {
  const rounded = [...figures].map(
    ([priority, value]) => [priority, Number(value.toFixed(6))] as const,
  );
  return JSON.stringify(rounded.filter(([, value]) => value !== 0).sort(([a], [b]) => a - b));
}

const few = [-100, -1, 0, 0, 1, 2, 10];
const two = [0, -100];
const many = Array.from({ length: 200 }, (_, i) => (i - 100) * 21_474_836);

const plans: readonly Plan[] = [
  { operations: 15_000, keys: 4, priorities: few, aging: undefined, metrics: 'none', life: 600 },
  {
    operations: 25_000,
    keys: 60,
    priorities: few,
    aging: undefined,
    metrics: 'called',
    life: 3_000,
  },
  {
    operations: 25_000,
    keys: 400,
    priorities: two,
    aging: undefined,
    metrics: 'none',
    life: 12_500,
  },
  {
    operations: 12_000,
    keys: 1_500,
    priorities: two,
    aging: undefined,
    metrics: 'read',
    life: 12_000,
  },
  {
    operations: 10_000,
    keys: 300,
    priorities: many,
    aging: undefined,
    metrics: 'none',
    life: 5_000,
  },
  { operations: 15_000, keys: 5, priorities: few, aging: 30, metrics: 'none', life: 800 },
  { operations: 20_000, keys: 80, priorities: few, aging: 7.5, metrics: 'called', life: 5_000 },
  { operations: 20_000, keys: 400, priorities: two, aging: 1, metrics: 'read', life: 10_000 },
  { operations: 10_000, keys: 300, priorities: many, aging: 0.001, metrics: 'none', life: 5_000 },
];

let total = 0;

describe.each(implementations)('random operations on priority queues, $name', (make) => {
  const random = new Random(seed);

  test.each(plans)('$operations on $keys keys, aging $aging, metrics $metrics', async (plan) => {
    for (let done = 0; done < plan.operations; ) {
      const life = new Life(random.fork(), plan, make);
      await life.run(Math.min(plan.life, plan.operations - done));
      done += life.operations;
      total += life.operations;
    }
  });
});

describe.each(implementations)('the bound of aging, $name', (make) => {
  test('no key is overtaken by one that became ready more than (q − p) · everyMs after it', () => {
    const random = new Random(seed ^ 0xa9e);
    for (let round = 0; round < 20; round++) {
      const everyMs = random.pick([1, 10, 33.3]);
      const clock = new FakeClock();
      const queue = make.priority(undefined, { clock, aging: { everyMs } });
      const ready = new Map<string, { priority: number; at: number }>();
      for (let i = 0; i < 1_500; i++) {
        clock.step(random.int(20));
        const [key, priority] = [`key-${random.int(200)}`, random.int(12) - 6];
        const known = ready.get(key);
        if (random.chance(0.2)) queue.addWithOpts({ priority: -6, after: 1e6 }, key);
        if (random.chance(0.6) && !(known === undefined && queue.cancel(key))) {
          queue.addWithOpts({ priority }, key);
          ready.set(key, {
            priority: Math.max(priority, known?.priority ?? priority),
            at: known?.at ?? clock.now(),
          });
        }
        const got = random.chance(0.5) ? queue.tryGet() : undefined;
        if (got === undefined) continue;
        const { priority: q, at } = ready.get(got) as { priority: number; at: number };
        ready.delete(got);
        queue.done(got);
        for (const [other, { priority: p, at: since }] of ready) {
          if (at - since > (q - p) * everyMs + 1e-6)
            expect.fail(`${got} overtook ${other} (seed ${seed})`);
          total++;
        }
      }
      queue.dispose();
    }
  });
});

test('at least a hundred thousand operations ran, with aging and without', () => {
  expect(total).toBeGreaterThan(300_000);
});
