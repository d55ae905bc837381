/**
 * More than a million random operations on the queues, each answer compared with the model
 * (test/helpers/workqueue/queue-model.ts). The seed is printed; `CAPSTAN_SEED=… npx vitest run
 * test/workqueue/random-operations.test.ts` repeats a run.
 */
import {
  BucketRateLimiter,
  FakeClock,
  ItemExponentialFailureRateLimiter,
  ItemFastSlowRateLimiter,
  MaxOfRateLimiter,
  type RateLimiter,
  type RateLimitingQueue,
  type Request,
  requestKey,
  WithMaxWaitRateLimiter,
} from 'capstan/workqueue';
import { describe, expect, test } from 'vitest';
import { Random, testSeed } from '../helpers/random.ts';
import { collidingWholes } from '../helpers/workqueue/colliding-keys.ts';
import { distinctKeys, distinctRequests } from '../helpers/workqueue/hostile-keys.ts';
import { type Implementation, implementations } from '../helpers/workqueue/implementations.ts';
import {
  ModelBucket,
  ModelExponential,
  ModelFastSlow,
  type ModelLimiter,
  ModelMaxOf,
  ModelMaxWait,
  ModelRateLimitingQueue,
} from '../helpers/workqueue/queue-model.ts';

const seed = testSeed();
console.log(`test/workqueue/random-operations.test.ts: CAPSTAN_SEED=${seed}`);

/** How items of a kind are made: a new one at each use, and the model's key for it, one to one. */
interface Kind<T> {
  readonly name: string;
  readonly key: ((item: T) => string) | undefined;
  /** The i-th item, made anew. */
  make(i: number): T;
  /** The model's key of an item that was handed out. */
  modelKey(item: T): string;
}

const fresh = (text: string): string => text.slice(0, 1) + text.slice(1);

const stringKind: Kind<string> = {
  name: 'strings',
  key: undefined,
  make: (i) =>
    i < distinctKeys.length ? fresh(distinctKeys[i] as string) : `team-${i % 20}/web-frontend-${i}`,
  modelKey: (item) => item,
};

const requestKind: Kind<Request> = {
  name: 'requests',
  key: requestKey,
  make: (i) =>
    i < distinctRequests.length
      ? { ...(distinctRequests[i] as Request) }
      : { namespace: `team-${i % 20}`, name: `web-${i}` },
  modelKey: ({ namespace, name }) => JSON.stringify([namespace, name]),
};

const colliding = collidingWholes(5);

/**
 * Keys that agree where a table in JS samples them, so that it changes over to a hash of the whole;
 * and, one in six, keys that agree in that hash too, so that it changes over to a Map.
 */
const alikeKind: Kind<string> = {
  name: 'strings that are alike',
  key: undefined,
  make: (i) =>
    i % 6 === 5 && i < 6 * colliding.length
      ? fresh(colliding[(i - 5) / 6] as string)
      : `team-${i}/kube-root-ca.crt`,
  modelKey: (item) => item,
};

const alikeRequests: Kind<Request> = {
  name: 'requests that are alike',
  key: requestKey,
  make: (i) => {
    const [namespace, name] = alikeKind.make(i).split('/');
    return { namespace: namespace ?? '', name: name ?? '' };
  },
  modelKey: requestKind.modelKey,
};

const objectKind: Kind<{ readonly id: number }> = {
  name: 'objects behind a key function',
  key: (item) => `object ${item.id}`,
  make: (id) => ({ id }),
  modelKey: ({ id }) => String(id),
};

interface Plan {
  readonly operations: number;
  readonly keys: number;
  /** The number of operations before the queue is shut down and drained. */
  readonly life: number;
  /**
   * Delays and times are multiples of this many ms (with 0, a few are fractions): the coarser, the
   * more often two delays end together.
   */
  readonly quantum: number;
}

/** 5 ms doubling, and at least 3 or 300 ms: whole and equal deadlines are frequent. */
function limiters<T>(kind: Kind<T>): { real: RateLimiter<T>; model: ModelLimiter } {
  return {
    real: new MaxOfRateLimiter<T>(
      new ItemExponentialFailureRateLimiter<T>(5, 160, { key: kind.key }),
      new ItemFastSlowRateLimiter<T>(3, 30, 2, { key: kind.key }),
    ),
    model: new ModelMaxOf(new ModelExponential(5, 160), new ModelFastSlow(3, 30, 2)),
  };
}

/**
 * Weights of the operations: add, tryGet, done, addAfter, addRateLimited, forget, done of what is
 * not processed, time.
 */
type Regime = readonly [number, number, number, number, number, number, number, number];

/**
 * The regime of some hundred operations. A queue that is always full hides the order of keys, and
 * one that is always empty hides the merging of keys, so the regimes change.
 */
const regimes: readonly Regime[] = [
  [40, 15, 15, 12, 6, 4, 1, 7], // fills
  [5, 40, 35, 8, 4, 3, 1, 4], // empties
  [4, 32, 28, 22, 4, 2, 1, 7], // delays
  [25, 25, 25, 8, 5, 4, 1, 7], // in balance
];

/** One queue and its model, driven through one life. Every answer must agree. */
class Life<T> {
  readonly #random: Random;
  readonly #kind: Kind<T>;
  readonly #keys: number;
  readonly #quantum: number;
  readonly #clock = new FakeClock();
  readonly #queue: RateLimitingQueue<T>;
  readonly #model: ModelRateLimitingQueue;
  readonly #modelKeys: string[] = [];
  #processing: T[] = [];
  #regime: Regime = regimes[0] as Regime;
  operations = 0;

  constructor(random: Random, kind: Kind<T>, { keys, quantum }: Plan, make: Implementation) {
    this.#random = random;
    this.#kind = kind;
    this.#keys = keys;
    this.#quantum = quantum;
    const { real, model } = make.within(() => limiters(kind));
    this.#queue = make.rateLimiting<T>(real, { clock: this.#clock, key: kind.key });
    this.#model = new ModelRateLimitingQueue(model);
    for (let i = 0; i < keys; i++) this.#modelKeys.push(kind.modelKey(kind.make(i)));
  }

  run(operations: number): void {
    while (this.operations < operations) this.#step();
    this.#queue.shutDown();
    this.#model.shutDown();
    // a queue that is shut down has rules too
    for (let i = 0; i < operations / 20; i++) this.#step();
    while (this.#get() || this.#processing.length > 0) this.#done();
    this.#must(this.#clock.timers(), 0, 'timers after shutdown');
    this.#queue.dispose();
  }

  #step(): void {
    const random = this.#random;
    if (random.chance(1 / 300)) this.#regime = random.pick(regimes);
    let roll = random.int(100);
    const below = (weight: number): boolean => {
      roll -= weight;
      return roll < 0;
    };
    const [add, get, done, addAfter, addRateLimited, forget, doneUnknown] = this.#regime;
    if (below(add)) random.chance(0.03) ? this.#addInOrder() : this.#add();
    else if (below(get)) this.#get();
    else if (below(done)) this.#done();
    else if (below(addAfter)) this.#addAfter();
    else if (below(addRateLimited)) this.#addRateLimited();
    else if (below(forget)) this.#forget();
    else if (below(doneUnknown)) this.#doneUnknown();
    else this.#advance();
  }

  #must(got: unknown, want: unknown, what: string): void {
    this.operations++;
    if (!Object.is(got, want)) {
      expect.fail(
        `${what}: expected ${String(want)}, got ${String(got)} ` +
          `(operation ${this.operations}, seed ${seed})`,
      );
    }
  }

  #sameLength(what: string): void {
    this.#must(this.#queue.len(), this.#model.len(), `len after ${what}`);
  }

  #any(): { item: T; key: string } {
    const i = this.#random.int(this.#keys);
    return { item: this.#kind.make(i), key: this.#modelKeys[i] as string };
  }

  #add(index = this.#random.int(this.#keys)): void {
    this.#queue.add(this.#kind.make(index));
    this.#model.add(this.#modelKeys[index] as string);
    this.#sameLength('add');
  }

  /** Twice the same keys in a row, or one key many times: a table guesses the next one. */
  #addInOrder(): void {
    const random = this.#random;
    const from = random.int(this.#keys);
    const step = random.int(3) - 1;
    for (let pass = 0; pass < 2; pass++) {
      for (let i = 0; i < 12; i++) {
        this.#add((from + step * i + 12 * this.#keys) % this.#keys);
        if (random.chance(0.1)) this.#get();
        if (random.chance(0.1)) this.#done();
      }
    }
  }

  #get(): boolean {
    const item = this.#queue.tryGet();
    this.#must(
      item === undefined ? undefined : this.#kind.modelKey(item),
      this.#model.tryGet(),
      'tryGet',
    );
    if (item !== undefined) this.#processing.push(item);
    return item !== undefined;
  }

  #done(): void {
    if (this.#processing.length === 0) return;
    const at = this.#random.int(this.#processing.length);
    const item = this.#processing[at] as T;
    this.#processing[at] = this.#processing[this.#processing.length - 1] as T;
    this.#processing.pop();
    this.#queue.done(item);
    this.#model.done(this.#kind.modelKey(item));
    this.#sameLength('done');
  }

  /** Of a key that is queued, waits, or is unknown. */
  #doneUnknown(): void {
    const { item, key } = this.#any();
    if (this.#model.processing().includes(key)) return;
    this.#queue.done(item);
    this.#model.done(key);
    this.#sameLength('done of a key that is not processed');
  }

  #addAfter(): void {
    const { item, key } = this.#any();
    const ms = this.#delay();
    this.#queue.addAfter(item, ms);
    this.#model.addAfter(key, ms);
    this.#sameLength(`addAfter(${ms})`);
  }

  #delay(): number {
    const random = this.#random;
    if (random.chance(0.1)) return -random.int(5);
    if (this.#quantum > 0) return this.#quantum * (1 + random.int(random.chance(0.02) ? 2_000 : 6));
    return random.chance(0.2) ? random.next() * 100 : random.int(random.chance(0.1) ? 50_000 : 40);
  }

  #addRateLimited(): void {
    const { item, key } = this.#any();
    this.#queue.addRateLimited(item);
    this.#model.addRateLimited(key);
    this.#must(
      this.#queue.numRequeues(item),
      this.#model.numRequeues(key),
      'numRequeues after addRateLimited',
    );
  }

  #forget(): void {
    const { item, key } = this.#any();
    this.#queue.forget(item);
    this.#model.forget(key);
    this.#must(
      this.#queue.numRequeues(item),
      this.#model.numRequeues(key),
      'numRequeues after forget',
    );
  }

  #advance(): void {
    const ms = this.#random.chance(0.01)
      ? 20_000
      : this.#quantum > 0
        ? this.#quantum * this.#random.int(3)
        : this.#random.int(30);
    this.#clock.step(ms);
    this.#model.advance(ms);
    this.#sameLength(`step(${ms})`);
  }
}

function play<T>(random: Random, kind: Kind<T>, plan: Plan, make: Implementation): number {
  const { operations, life } = plan;
  let done = 0;
  while (done < operations) {
    const one = new Life(random.fork(), kind, plan, make);
    one.run(Math.min(life, operations - done));
    done += one.operations;
  }
  return done;
}

let total = 0;

const plans: readonly Plan[] = [
  { operations: 30_000, keys: 3, life: 1_500, quantum: 0 },
  { operations: 50_000, keys: 10, life: 10_000, quantum: 10 },
  { operations: 40_000, keys: 60, life: 15_000, quantum: 5 },
  { operations: 80_000, keys: 3_000, life: 80_000, quantum: 0 },
];

describe.each(implementations)('random operations, $name', (make) => {
  const random = new Random(seed);

  test.each(plans)('$operations on $keys keys in steps of $quantum ms: strings', (plan) => {
    total += play(random.fork(), stringKind, plan, make);
  });

  test.each(plans)('$operations on $keys keys in steps of $quantum ms: requests', (plan) => {
    total += play(random.fork(), requestKind, plan, make);
  });

  test.each(plans)('$operations on $keys keys in steps of $quantum ms: objects', (plan) => {
    total += play(random.fork(), objectKind, plan, make);
  });
});

describe.each(implementations)('random operations on keys that are alike, $name', (make) => {
  const random = new Random(seed ^ 0xa11ce);
  const plans: readonly Plan[] = [
    { operations: 20_000, keys: 40, life: 1_000, quantum: 5 },
    { operations: 40_000, keys: 400, life: 20_000, quantum: 0 },
  ];

  test.each(plans)('$operations on $keys keys', (plan) => {
    total += play(random.fork(), alikeKind, plan, make);
    total += play(random.fork(), alikeRequests, plan, make);
  });
});

describe.each(implementations)('random calls of limiters, $name', (make) => {
  test('agree with the model, buckets to within a nanosecond', () => {
    const random = new Random(seed ^ 0x5eed);
    for (let round = 0; round < 40; round++) {
      const clock = new FakeClock(random.int(1_000));
      const [base, max] = [random.int(20) / 2, random.int(5_000)];
      const [fast, slow, attempts] = [random.int(50), random.int(5_000), random.int(5)];
      const [qps, burst] = [random.next() * 50 + 0.1, 1 + random.int(20)];
      const cap = random.int(4_000);
      const pairs: [RateLimiter, ModelLimiter][] = make.within(() => {
        const build = (): RateLimiter[] => [
          new ItemExponentialFailureRateLimiter(base, max),
          new ItemFastSlowRateLimiter(fast, slow, attempts),
          new BucketRateLimiter(qps, burst, { clock }),
        ];
        const model = (): ModelLimiter[] => [
          new ModelExponential(base, max),
          new ModelFastSlow(fast, slow, attempts),
          new ModelBucket(qps, burst, () => clock.now()),
        ];
        const [singles, models] = [build(), model()];
        return [
          ...singles.map((limiter, i): [RateLimiter, ModelLimiter] => [
            limiter,
            models[i] as ModelLimiter,
          ]),
          [new MaxOfRateLimiter(...build()), new ModelMaxOf(...model())],
          [
            new WithMaxWaitRateLimiter(new MaxOfRateLimiter(...build()), cap),
            new ModelMaxWait(new ModelMaxOf(...model()), cap),
          ],
        ];
      });
      for (let i = 0; i < 500; i++) {
        const key = `key-${random.int(6)}`;
        const roll = random.int(10);
        if (roll === 9) clock.step(random.next() * 300);
        for (const [real, model] of pairs) {
          total++;
          if (roll < 7)
            expect(Math.abs(real.when(key) - model.when(key)), `seed ${seed}`).toBeLessThan(1e-6);
          else if (roll < 8) {
            real.forget(key);
            model.forget(key);
          } else expect(real.numRequeues(key), `seed ${seed}`).toBe(model.numRequeues(key));
        }
      }
    }
  });
});

test('a queue that differs from the model is detected', () => {
  // The comparison itself must be able to fail: this model treats two keys as one.
  const merging: Kind<string> = { ...stringKind, modelKey: (item) => (item === 'a' ? '' : item) };
  const plan: Plan = { operations: 20_000, keys: 8, life: 20_000, quantum: 0 };
  for (const make of implementations)
    expect(() => play(new Random(seed), merging, plan, make)).toThrow(/seed/);
});

test('at least a million operations ran', () => {
  expect(total).toBeGreaterThan(1_000_000);
});
