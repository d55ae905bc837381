/**
 * The answers of a queue do not depend on its implementation: with a user's metrics or order it
 * works item by item, without them the core takes whole batches; times add a column; keys are in
 * one of two tables. Here all variants get the same random calls.
 */
import {
  FakeClock,
  ItemExponentialFailureRateLimiter,
  type QueueOptions,
  type QueueOrder,
  RateLimitingQueue,
} from 'capstan/workqueue';
import { describe, expect, test } from 'vitest';
import { Random, testSeed } from '../helpers/random.ts';
import { collectErrorValues } from '../helpers/reported-errors.ts';
import { type Implementation, implementations } from '../helpers/workqueue/implementations.ts';
import { RecordingProvider } from '../helpers/workqueue/recording-metrics.ts';

const seed = testSeed();
console.log(`CAPSTAN_SEED=${seed} repeats the random variants`);

const reported = collectErrorValues();

/** First in, first out; throws for an item that it does not hold. */
class Fifo implements QueueOrder<string> {
  readonly #items = new Set<string>();

  push(item: string): void {
    if (this.#items.has(item)) throw new Error(`${item} pushed twice`);
    this.#items.add(item);
  }

  touch(item: string): void {
    if (!this.#items.has(item)) throw new Error(`${item} touched and never pushed`);
  }

  len(): number {
    return this.#items.size;
  }

  pop(): string {
    const [first] = this.#items as Iterable<string>;
    this.#items.delete(first as string);
    return first as string;
  }
}

const ways: Record<string, () => QueueOptions<string>> = {
  plain: () => ({}),
  'with times': () => ({ times: true }),
  'with metrics': () => ({ name: 'q', metricsProvider: new RecordingProvider() }),
  'with an order': () => ({ queue: new Fifo() }),
};

/**
 * One queue, and its answers to the random calls of a seed. Only the call that got an item ends it.
 */
class Life {
  readonly #random: Random;
  readonly #clock = new FakeClock();
  readonly #queue: RateLimitingQueue;
  readonly #keys: number;
  readonly #held: string[] = [];
  readonly #batches: string[][] = [];
  readonly #slots: number[] = [];
  readonly #pins = new Map<string, number>();

  constructor(life: number, make: Implementation, options: QueueOptions<string>) {
    this.#random = new Random(life);
    this.#keys = 2 + this.#random.int(1 + this.#random.int(600));
    this.#queue = make.within(() => {
      const limiter = new ItemExponentialFailureRateLimiter(5, 80);
      return new RateLimitingQueue(limiter, { clock: this.#clock, ...options });
    });
  }

  run(calls: number): string[] {
    const answers: string[] = [];
    for (let call = 0; call < calls; call++) {
      const which = this.#random.int(this.#calls.length);
      let answer: unknown;
      try {
        answer = this.#calls[which]?.();
      } catch (error) {
        answer = (error as { code?: string }).code ?? error;
      }
      const { length } = this.#queue.recover();
      answers.push(
        `${call}: ${which} ${answer}; ${this.#queue.len()}, ` +
          `${length}, ${this.#queue.droppedAdds()}`,
      );
    }
    answers.push(`${this.#snapshot()}`);
    this.#queue.dispose();
    return answers;
  }

  #key(): string {
    const key = `key-${this.#random.int(this.#keys)}`;
    return key.endsWith('7') ? `${key}${'-long'.repeat(10)}` : key;
  }

  #some(most: number): string[] {
    return Array.from({ length: 1 + this.#random.int(most) }, () => this.#key());
  }

  /** Takes one out of a list. */
  #out<E>(list: E[]): E | undefined {
    return list.splice(this.#random.int(list.length), 1)[0];
  }

  #snapshot(): string[] {
    const seen: string[] = [];
    for (let after: number | undefined = 0; after !== undefined; ) {
      const page = this.#queue.snapshot({ after, limit: 7 });
      for (const { item, state, addedAgain, pinned, waitingMs, failures } of page.keys)
        seen.push([item, state, addedAgain, pinned, waitingMs, failures].join(' '));
      after = page.next;
    }
    return seen.sort();
  }

  readonly #calls: readonly (() => unknown)[] = [
    () => this.#queue.add(this.#key()),
    () => this.#queue.addAll(this.#some(80)),
    () => {
      const item = this.#queue.tryGet();
      if (item !== undefined) this.#held.push(item);
      return item;
    },
    () => {
      const batch = this.#queue.getBatch(1 + this.#random.int(60));
      this.#batches.push(batch);
      return batch;
    },
    () => {
      const batch = this.#out(this.#batches) ?? [];
      this.#queue.doneAll(this.#random.chance(0.3) ? new Set(batch) : batch);
    },
    () => {
      const item = this.#out(this.#held);
      if (item !== undefined) this.#queue.done(item);
    },
    () => {
      const into = new Int32Array(1 + this.#random.int(20));
      const slots = into.subarray(0, this.#queue.getSlots(into));
      this.#slots.push(...slots);
      return Array.from(slots, (slot) => this.#queue.slotItem(slot));
    },
    () => {
      const slots = Int32Array.from(
        this.#slots.splice(0, this.#random.chance(0.5) ? 1 : this.#random.int(30)),
      );
      this.#queue.doneSlots(slots, slots.length);
    },
    () => {
      const key = this.#key();
      this.#pins.set(key, this.#queue.pin(key));
    },
    () => {
      const pin = this.#out([...this.#pins]);
      if (pin === undefined) return;
      this.#pins.delete(pin[0]);
      this.#queue.unpin(pin[1]);
    },
    () => {
      const slots = Int32Array.from([...this.#pins.values()].slice(0, this.#random.int(10)));
      this.#queue.addSlots(slots, slots.length);
    },
    () => {
      const slot = this.#slots[this.#random.int(this.#slots.length)];
      if (slot !== undefined) this.#queue.addSlots(Int32Array.of(slot), 1);
    },
    () => {
      const mode = this.#random.pick(['earliest', 'latest', 'replace'] as const);
      this.#queue.addAfter(this.#key(), this.#random.int(40) - 3, { mode });
    },
    () => {
      for (const key of this.#some(30)) this.#queue.addAfter(key, 3);
    },
    () => this.#queue.addRateLimited(this.#key()),
    () => this.#queue.cancel(this.#key()),
    () => this.#clock.step(this.#random.int(12)),
    () => {
      const key = this.#key();
      if (this.#random.chance(0.5)) this.#queue.forget(key);
      return this.#queue.numRequeues(key);
    },
    () => (this.#random.chance(0.1) ? this.#snapshot() : undefined),
  ];
}

describe('queues with different implementations answer the same', () => {
  const rules: QueueOptions<string>[] = [
    {},
    { addEndsWait: true },
    { addKeepsBackoff: true },
    { maxDepth: 40 },
    { maxDepth: 40, whenFull: 'drop', addEndsWait: true, addKeepsBackoff: true },
  ];

  test.each(rules)('%j', (rule) => {
    const lives = new Random(seed);
    for (let i = 0; i < 8; i++) {
      const life = lives.int(2 ** 32);
      const [first] = implementations as [Implementation];
      const expected = new Life(life, first, rule).run(1_000);
      for (const make of implementations) {
        for (const [way, options] of Object.entries(ways)) {
          const answers = new Life(life, make, { ...rule, ...options() }).run(1_000);
          const at = answers.findIndex((answer, call) => answer !== expected[call]);
          if (at >= 0)
            expect(`${way}, ${make.name}: ${answers[at]}`).toBe(
              `${way}, ${make.name}: ${expected[at]}`,
            );
        }
      }
    }
    expect(reported).toEqual([]);
  });
});
