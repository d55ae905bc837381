/**
 * Random operations on batches, slots, modes of delays, rules of adds and bounds, each answer
 * compared with the model (test/helpers/workqueue/queue-model.ts). The seed is printed;
 * `CAPSTAN_SEED=… npx vitest run test/workqueue/random-slots.test.ts` repeats a run.
 */
import {
  CapstanError,
  FakeClock,
  ItemExponentialFailureRateLimiter,
  type RateLimitingQueue,
} from 'capstan/workqueue';
import { describe, expect, test } from 'vitest';
import { Random, testSeed } from '../helpers/random.ts';
import { type Implementation, implementations } from '../helpers/workqueue/implementations.ts';
import { ModelExponential, ModelRateLimitingQueue } from '../helpers/workqueue/queue-model.ts';

const seed = testSeed();
console.log(`test/workqueue/random-slots.test.ts: CAPSTAN_SEED=${seed}`);

interface Plan {
  readonly keys: number;
  readonly addEndsWait: boolean;
  readonly addKeepsBackoff: boolean;
  readonly maxDepth: number | undefined;
}

const MODES = ['earliest', 'latest', 'replace'] as const;

class Life {
  readonly #random: Random;
  readonly #clock = new FakeClock();
  readonly #queue: RateLimitingQueue;
  readonly #model: ModelRateLimitingQueue;
  readonly #plan: Plan;
  readonly #pinned = new Map<string, number>();
  readonly #stale: number[] = [];
  // the processing items, with the slot of each if it has one
  readonly #handed = new Map<string, number>();
  #dropped = 0;
  operations = 0;

  constructor(random: Random, plan: Plan, make: Implementation) {
    this.#random = random;
    this.#plan = plan;
    const { addEndsWait, addKeepsBackoff, maxDepth } = plan;
    const bound = maxDepth === undefined ? {} : { maxDepth, whenFull: 'drop' as const };
    this.#queue = make.rateLimiting(
      make.within(() => new ItemExponentialFailureRateLimiter(5, 80)),
      { clock: this.#clock, addEndsWait, addKeepsBackoff, ...bound },
    );
    this.#model = new ModelRateLimitingQueue(new ModelExponential(5, 80), {
      addEndsWait,
      addKeepsBackoff,
    });
  }

  run(operations: number): void {
    const steps = [
      this.#add,
      this.#add,
      this.#addAll,
      this.#addSlots,
      this.#addSlots,
      this.#addAfter,
      this.#addAfter,
      this.#addRateLimited,
      this.#cancel,
      this.#pin,
      this.#unpin,
      this.#get,
      this.#getBatch,
      this.#getSlots,
      this.#done,
      this.#doneAll,
      this.#doneSlots,
      this.#advance,
      this.#advance,
      this.#staleSlots,
    ];
    while (this.operations < operations) {
      this.#random.pick(steps).call(this);
      this.#must(this.#queue.len(), this.#model.len(), 'len');
      if (this.#random.chance(0.02)) this.#compareSnapshot();
    }
    this.#must(this.#queue.droppedAdds(), this.#dropped, 'dropped adds');
    this.#queue.dispose();
  }

  #must(got: unknown, want: unknown, what: string): void {
    this.operations++;
    if (!Object.is(got, want))
      expect.fail(
        `${what}: expected ${String(want)}, got ${String(got)} ` +
          `(operation ${this.operations}, seed ${seed})`,
      );
  }

  #key(): string {
    return `team-${this.#random.int(this.#plan.keys)}/web`;
  }

  /** Whether the model's bound accepts the key; counts rejected ones. */
  #admits(key: string): boolean {
    const { maxDepth } = this.#plan;
    if (maxDepth === undefined) return true;
    const model = this.#model;
    const known =
      model.isQueued(key) ||
      model.waitsUntil(key) !== undefined ||
      model.processing().includes(key);
    if (known || model.depth() + model.waiting() < maxDepth) return true;
    this.#dropped++;
    return false;
  }

  #add(): void {
    const key = this.#key();
    this.#queue.add(key);
    if (this.#admits(key)) this.#model.add(key);
  }

  #addAll(): void {
    const keys = Array.from({ length: this.#random.int(6) }, () => this.#key());
    this.#queue.addAll(keys);
    for (const key of keys) if (this.#admits(key)) this.#model.add(key);
  }

  #addSlots(): void {
    const entries = [...this.#pinned].filter(() => this.#random.chance(0.3));
    const slots = Int32Array.from(entries, ([, slot]) => slot);
    this.#addWithStale(slots);
    this.#queue.addSlots(slots, slots.length);
    for (const [key] of entries) if (this.#admits(key)) this.#model.add(key);
  }

  /** A batch with a stale slot among others, some of them twice: nothing of it is added. */
  #addWithStale(slots: Int32Array): void {
    if (this.#stale.length === 0 || this.#random.chance(0.5)) return;
    const batch = [...slots, ...slots.subarray(0, 2), this.#random.pick(this.#stale.slice(-500))];
    const at = this.#random.int(batch.length);
    [batch[at], batch[batch.length - 1]] = [batch[batch.length - 1] as number, batch[at] as number];
    let code: string | undefined;
    try {
      this.#queue.addSlots(Int32Array.from(batch), batch.length);
    } catch (error) {
      if (error instanceof CapstanError) code = error.code;
    }
    this.#must(code, 'STALE_SLOT', 'a batch with a stale slot');
    this.#must(this.#queue.len(), this.#model.len(), 'len after it');
    this.#compareSnapshot();
  }

  #addAfter(): void {
    const [key, mode, ms] = [this.#key(), this.#random.pick(MODES), this.#random.int(12) * 5 - 5];
    this.#queue.addAfter(key, ms, { mode });
    const add = ms > 0 || this.#model.waitsUntil(key) === undefined || mode !== 'latest';
    if (!add || this.#admits(key)) this.#model.addAfter(key, ms, mode);
  }

  #addRateLimited(): void {
    const key = this.#key();
    this.#queue.addRateLimited(key);
    // The limiter counts the failure although the queue is full.
    if (this.#admits(key)) this.#model.addRateLimited(key);
    else this.#model.failWithoutAdd(key);
    this.#must(this.#queue.numRequeues(key), this.#model.numRequeues(key), 'numRequeues');
  }

  #cancel(): void {
    const key = this.#key();
    this.#must(this.#queue.cancel(key), this.#model.cancel(key), 'cancel');
  }

  #pin(): void {
    const key = this.#key();
    const slot = this.#queue.pin(key);
    this.#must(this.#pinned.get(key) ?? slot, slot, 'pin');
    this.#pinned.set(key, slot);
    this.#must(this.#queue.slotItem(slot), key, 'slotItem');
  }

  #unpin(): void {
    if (this.#pinned.size === 0 || this.#random.chance(0.5)) return;
    const [key, slot] = this.#random.pick([...this.#pinned]);
    this.#queue.unpin(slot);
    this.#pinned.delete(key);
    const model = this.#model;
    const idle =
      !model.isQueued(key) &&
      model.waitsUntil(key) === undefined &&
      !model.processing().includes(key);
    if (idle) this.#stale.push(slot);
  }

  #staleSlots(): void {
    if (this.#stale.length === 0) return;
    // a generation comes again after 1024 uses of one slot
    const slot = this.#random.pick(this.#stale.slice(-500));
    for (const call of [
      () => this.#queue.addSlots(Int32Array.of(slot), 1),
      () => this.#queue.doneSlots(Int32Array.of(slot), 1),
      () => this.#queue.unpin(slot),
      () => this.#queue.slotItem(slot),
    ]) {
      let code: string | undefined;
      try {
        call();
      } catch (error) {
        if (error instanceof CapstanError) code = error.code;
      }
      this.#must(code, 'STALE_SLOT', 'a stale slot');
    }
  }

  #got(key: string, slot: number | undefined): void {
    this.#must(key, this.#model.tryGet(), 'get');
    this.#handed.set(key, slot as number);
  }

  #get(): void {
    const key = this.#queue.tryGet();
    if (key === undefined) this.#must(this.#model.len(), 0, 'nothing to get');
    else this.#got(key, undefined);
  }

  #getBatch(): void {
    for (const key of this.#queue.getBatch(1 + this.#random.int(5))) this.#got(key, undefined);
  }

  #getSlots(): void {
    const into = new Int32Array(this.#random.int(5));
    const count = this.#queue.getSlots(into);
    this.#must(count, Math.min(into.length, this.#model.len()), 'getSlots');
    for (const slot of into.subarray(0, count)) this.#got(this.#queue.slotItem(slot), slot);
  }

  #doneKeys(): string[] {
    return [...this.#handed.keys()].filter(() => this.#random.chance(0.4));
  }

  #ended(keys: readonly string[]): void {
    for (const key of keys) {
      this.#model.done(key);
      this.#handed.delete(key);
    }
  }

  #done(): void {
    const keys = this.#doneKeys().slice(0, 1);
    for (const key of keys) this.#queue.done(key);
    this.#ended(keys);
  }

  #doneAll(): void {
    const keys = this.#doneKeys();
    this.#queue.doneAll(keys);
    this.#ended(keys);
  }

  #doneSlots(): void {
    const keys = this.#doneKeys().filter((key) => this.#handed.get(key) !== undefined);
    this.#queue.doneSlots(
      Int32Array.from(keys, (key) => this.#handed.get(key) as number),
      keys.length,
    );
    this.#ended(keys);
  }

  #advance(): void {
    const ms = this.#random.int(5) * 5;
    this.#clock.step(ms);
    this.#model.advance(ms);
  }

  #compareSnapshot(): void {
    const seen = new Map(
      this.#queue.snapshot({ limit: 10_000 }).keys.map((key) => [key.item, key]),
    );
    const model = this.#model;
    for (let i = 0; i < this.#plan.keys; i++) {
      const key = `team-${i}/web`;
      const entry = seen.get(key);
      const until = model.waitsUntil(key);
      const processing = model.processing().includes(key);
      const state = processing
        ? 'processing'
        : model.isQueued(key)
          ? 'ready'
          : until !== undefined
            ? 'waiting'
            : undefined;
      this.#must(entry?.state, state, `state of ${key}`);
      if (entry === undefined) continue;
      this.#must(
        entry.waitingMs,
        until === undefined ? undefined : until - this.#clock.now(),
        `wait of ${key}`,
      );
      this.#must(entry.pinned, this.#pinned.has(key), `pin of ${key}`);
      this.#must(entry.addedAgain, processing && model.isQueued(key), `second add of ${key}`);
      this.#must(entry.failures, model.numRequeues(key), `failures of ${key}`);
    }
  }
}

describe.each(implementations)('random batches, slots and delays, $name', (make) => {
  const rules = [false, true].flatMap((addEndsWait) =>
    [false, true].map((addKeepsBackoff) => ({ addEndsWait, addKeepsBackoff })),
  );
  const plans: Plan[] = rules.flatMap((rule) =>
    [3, 40].flatMap((keys) => [undefined, 2, 20].map((maxDepth) => ({ ...rule, keys, maxDepth }))),
  );

  test.each(plans)(
    'agree with the model: $keys keys, $addEndsWait $addKeepsBackoff $maxDepth',
    (plan) => {
      const random = new Random(seed ^ plan.keys);
      for (let life = 0; life < 5; life++) new Life(random.fork(), plan, make).run(4_000);
    },
  );
});
