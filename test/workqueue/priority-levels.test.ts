/** Very many priorities: the cost of a get, the memory that remains afterwards, and the order. */
import { FakeClock, ItemExponentialFailureRateLimiter } from 'capstan/workqueue';
import { describe, expect, test } from 'vitest';
import { sharedCore } from '../../bindings/wasm/core.ts';
import { Random, testSeed } from '../helpers/random.ts';
import { implementations } from '../helpers/workqueue/implementations.ts';
import { ModelPriorityQueue } from '../helpers/workqueue/priority-queue-model.ts';
import { ModelExponential } from '../helpers/workqueue/queue-model.ts';

const seed = testSeed();
console.log(`test/workqueue/priority-levels.test.ts: CAPSTAN_SEED=${seed}`);

const { exports: x } = sharedCore();

/** A queue of the core with a ready key in each of so many priorities, highest first. */
class Wide {
  readonly queue: number;
  #now = 0;

  constructor(priorities: number, everyMs: number) {
    this.queue = x.priorityNew(false, everyMs);
    for (let priority = priorities; priority > 0; priority--) this.add(priority);
  }

  add(priority: number): void {
    const slot = x.keysSlotNew(this.queue);
    expect(x.priorityAddSlot(this.queue, slot, priority, this.#now++, 0, 0)).toBe(slot);
  }

  take(): number {
    const slot = x.queueGet(this.queue, this.#now);
    if (slot < 0) expect.fail('nothing is ready');
    x.queueDoneSlot(this.queue, slot, this.#now);
    return x.priorityTaken();
  }

  /** The shortest time of a get, in nanoseconds. */
  measure(gets: number, before: () => void): number {
    let best = Number.POSITIVE_INFINITY;
    for (let round = 0; round < 5; round++) {
      before();
      const start = performance.now();
      for (let i = 0; i < gets; i++) this.take();
      best = Math.min(best, performance.now() - start);
    }
    return (best * 1e6) / gets;
  }
}

// With aging each get looked at every lower level, and at higher ones that had become empty.
describe.each([0, 1_000])('very many priorities, everyMs %i', (everyMs) => {
  test('a get with 32 000 of them costs little more than with 64', () => {
    const [few, many] = [64, 32_000].map((priorities) => {
      const wide = new Wide(priorities, everyMs);
      const cost = wide.measure(32, () => {
        for (let i = 0; i < 32; i++) wide.add(priorities);
      });
      x.queueFree(wide.queue);
      return cost;
    }) as [number, number];
    expect(many / few).toBeLessThan(40);
  });

  test('when they are gone nothing is slower than before, and few are still listed', () => {
    const wide = new Wide(64, everyMs);
    const two = () => {
      wide.add(100_000);
      wide.add(0);
    };
    const cycle = () => wide.measure(2, two);
    while (x.queueLen(wide.queue) > 0) wide.take();
    for (let i = 0; i < 1_000; i++) cycle();
    const before = Math.min(...Array.from({ length: 100 }, cycle));
    for (let priority = 32_000; priority > 0; priority--) wide.add(priority);
    while (x.queueLen(wide.queue) > 0) wide.take();
    expect(Math.min(...Array.from({ length: 100 }, cycle)) / before).toBeLessThan(20);
    expect(x.levelsSurvey(wide.queue)).toBeLessThan(70);
    x.queueFree(wide.queue);
  });
});

// Levels that lose their last key, get a new one, and are dropped in between.
describe.each(implementations)('priorities that come and go by the thousand, $name', (make) => {
  test.each([undefined, 5])('come in the order of the model (aging %s)', (everyMs) => {
    const random = new Random(seed);
    const clock = new FakeClock();
    const queue = make.priority(
      make.within(() => new ItemExponentialFailureRateLimiter(5, 160)),
      { clock, ...(everyMs && { aging: { everyMs } }) },
    );
    const model = new ModelPriorityQueue(new ModelExponential(5, 160), everyMs);
    const processing: string[] = [];
    for (const [rounds, adds] of [
      [2_000, 0.95],
      [2_500, 0.1],
      [500, 0.5],
      [1_500, 0.9],
      [2_000, 0.05],
    ] as const) {
      for (let i = 0; i < rounds; i++) {
        if (random.chance(adds)) {
          const key = String(random.int(2_500));
          const options = {
            priority: random.int(3_000) - 1_500,
            ...(random.chance(0.2) && { after: 1 + random.int(300) }),
          };
          queue.addWithOpts(options, key);
          model.addWithOpts(options, key);
        } else {
          const key = queue.tryGet();
          let want: string | undefined;
          if (model.next() !== undefined) {
            model.get((got) => {
              want = got?.key;
            });
          }
          if (key !== want) expect.fail(`got ${key}, expected ${want} (seed ${seed})`);
          if (key !== undefined) processing.push(key);
        }
        if (processing.length > 0 && random.chance(0.4)) {
          const key = processing.splice(random.int(processing.length), 1)[0] as string;
          queue.done(key);
          model.done(key);
        }
        if (random.chance(0.1)) {
          clock.step(10);
          model.advance(10);
        }
      }
    }
    expect(queue.len()).toBe(model.len());
    queue.dispose();
  });
});
