/**
 * bindings/workqueue/failures.ts: random calls against a model, in orders in
 * which the guesses are right and wrong, and the bounds that the comments state.
 */
import { FakeClock, ItemExponentialFailureRateLimiter, requestKey } from 'capstan/workqueue';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { sharedCore } from '../../bindings/wasm/core.ts';
import { HASHINGS, setHashing } from '../../bindings/wasm/hashes.ts';
import type { KeyFunction } from '../../bindings/wasm/keys.ts';
import { Failures } from '../../bindings/workqueue/failures.ts';
import { expectError } from '../helpers/expect-error.ts';
import { Random, testSeed } from '../helpers/random.ts';

const FORGET_AFTER = 500;

interface Kind {
  readonly name: string;
  readonly key?: KeyFunction<unknown>;
  make(id: number): unknown;
}

const kept: string[] = [];
const keptText = (id: number): string => {
  kept[id] ??= `namespace-${id % 7}/name-of-some-length-${id}`;
  return kept[id] as string;
};

const kinds: readonly Kind[] = [
  { name: 'the same string objects', make: keptText },
  {
    name: 'strings that are joined at each use',
    make: (id) => `namespace-${id % 7}/name-of-some-length-${id}`,
  },
  {
    name: 'requests',
    key: requestKey as KeyFunction<unknown>,
    make: (id) => ({
      namespace: 'n'.repeat(id % 3),
      name: `${'n'.repeat(2 - (id % 3))}${id >> 2}`,
    }), // many are equal when joined
  },
  {
    name: 'requests without a key function',
    make: (id) => ({
      namespace: 'n'.repeat(id % 3),
      name: `${'n'.repeat(2 - (id % 3))}${id >> 2}`,
    }),
  },
  {
    name: 'objects with a key function',
    key: (item) => `object-number-${(item as { id: number }).id}`,
    make: (id) => ({ id }),
  },
];

/** The expected delays of a limiter of 1 ms doubling to 64 ms. */
class Model {
  readonly #counts = new Map<string, { count: number; end: number }>();
  readonly #pruned: boolean;

  constructor(pruned: boolean) {
    this.#pruned = pruned;
  }

  #failures(key: string, now: number): number {
    const known = this.#counts.get(key);
    return known === undefined || (this.#pruned && now >= known.end) ? 0 : known.count;
  }

  when(key: string, now: number): number {
    const failures = this.#failures(key, now);
    const delay = Math.min(2 ** failures, 64);
    this.#counts.set(key, { count: failures + 1, end: now + delay + FORGET_AFTER });
    return delay;
  }

  forget(key: string): void {
    this.#counts.delete(key);
  }

  numRequeues(key: string, now: number): number {
    return this.#failures(key, now);
  }
}

describe.each(HASHINGS)('keys by %s', (hashing) => {
  beforeEach(() => setHashing(hashing));
  afterEach(() => setHashing(undefined));

  describe.each(kinds)('random calls with $name', ({ name, key, make }) => {
    test.each([false, true])('agree with the model, pruned: %s', (pruned) => {
      const seed = testSeed();
      console.log(`failures of ${name}, ${hashing}, pruned ${pruned}: CAPSTAN_SEED=${seed}`);
      const random = new Random(seed);
      for (let life = 0; life < 4; life++) {
        const clock = new FakeClock();
        const forgetAfter = pruned ? FORGET_AFTER : undefined;
        const limiter = new ItemExponentialFailureRateLimiter<unknown>(1, 64, {
          key,
          clock,
          forgetAfter,
        });
        const model = new Model(pruned);
        const keys = random.pick([3, 60, 3_000]);
        let order = Array.from({ length: keys }, (_, id) => id);
        for (let wave = 0; wave < 30; wave++) {
          // some twice, some not at all
          if (random.chance(0.3)) order = order.map(() => random.int(keys));
          if (random.chance(0.3)) clock.step(random.int(FORGET_AFTER * 2));
          const forgotten = random.pick([0, 0.1, 0.9]);
          for (const id of order.slice(0, 1 + random.int(600))) {
            const [text, item] = madeOf(id, make);
            const now = clock.now();
            const one: [string, unknown] = random.chance(0.9)
              ? [text, item]
              : madeOf(random.int(keys), make);
            expect(limiter.when(item)).toBe(model.when(text, now));
            expect(limiter.numRequeues(one[1])).toBe(model.numRequeues(one[0], now));
            if (!random.chance(forgotten)) continue;
            limiter.forget(one[1]);
            model.forget(one[0]);
            expect(limiter.numRequeues(one[1])).toBe(0);
          }
        }
        limiter.dispose();
      }
    });
  });

  test("a slot that was given back is not its key's, although it would be guessed", () => {
    const clock = new FakeClock();
    const failures = new Failures<string>({ clock, forgetAfter: 10 });
    const failed = (...keys: string[]) =>
      keys.map((key) => {
        const before = failures.add(key);
        failures.waits(0);
        return before;
      });
    for (let wave = 0; wave < 3; wave++) expect(failed('a', 'b')).toEqual([wave, wave]);
    clock.step(10);
    expect(failed('a')).toEqual([0]); // gives both slots back, and takes one
    expect([failures.size, failures.count('b')]).toEqual([1, 0]);
    expect(failed('c', 'b', 'a', 'c', 'b', 'a')).toEqual([0, 0, 1, 1, 1, 2]);
    expect([failures.size, failures.count('b'), failures.count('c')]).toEqual([3, 2, 2]);
    failures.dispose();
  });

  test('forgotten keys free their slots: at most 8/3 of the most live keys', () => {
    const seed = testSeed();
    console.log(`slots of failures, ${hashing}: CAPSTAN_SEED=${seed}`);
    const random = new Random(seed);
    const failures = new Failures<string>({ clock: new FakeClock() });
    const live: string[] = [];
    let most = 0;
    let largest = 0;
    let next = 0;
    for (let round = 0; round < 40; round++) {
      const target = random.pick([0, 10, 1_000, 2_000]);
      for (let i = 0; i < 4_000; i++) {
        if (live.length < target || live.length === 0) {
          live.push(`key-${next++}`);
          failures.add(live.at(-1) as string);
        } else failures.forget(live.splice(random.int(live.length), 1)[0] as string);
        most = Math.max(most, live.length);
        largest = Math.max(largest, failures.size);
      }
      for (const key of live) expect(failures.count(key)).toBe(1);
    }
    expect(largest).toBeGreaterThan(most);
    expect(largest).toBeLessThanOrEqual((8 * most + 4 * 64) / 3 + 1);
    failures.dispose();
  });

  test('with forgetAfter, at most twice the slots of recently failed keys are used', () => {
    const clock = new FakeClock();
    const failures = new Failures<string>({ forgetAfter: 1_000, clock });
    let largest = 0;
    for (let i = 0; i < 20_000; i++) {
      failures.add(`key-${i}`);
      failures.waits(5);
      clock.step(1);
      largest = Math.max(largest, failures.size);
    }
    expect(largest).toBeGreaterThan(1_005);
    expect(largest).toBeLessThanOrEqual(2 * 1_005 + 2);
    expect(failures.count('key-19999')).toBe(1);
    expect(failures.count('key-18000')).toBe(0);
    failures.dispose();
  });

  test('a large table is freed when its last key is forgotten', () => {
    const core = sharedCore();
    const limiters: Failures<string>[] = [];
    const oneMore = (): number => {
      const failures = new Failures<string>({ clock: new FakeClock() });
      for (let i = 0; i < 5_000; i++) failures.add(`key-${i}`);
      for (let i = 0; i < 5_000; i++) failures.forget(`key-${i}`);
      expect(failures.size).toBe(0);
      expect([failures.count('key-17'), failures.add('key-17'), failures.add('key-17')]).toEqual([
        0, 0, 1,
      ]);
      limiters.push(failures);
      return core.exports.memoryPages();
    };
    const pages = oneMore();
    // small tables; large ones take 7 each
    for (let i = 0; i < 5; i++) expect(oneMore()).toBeLessThanOrEqual(pages + 5);
    for (const failures of limiters) failures.dispose();
  });

  test("with forgetAfter, a burst's keys are gone after half as many other calls", () => {
    const clock = new FakeClock();
    const failures = new Failures<string>({ forgetAfter: 100, clock });
    for (let i = 0; i < 5_000; i++) {
      failures.add(`key-${i}`);
      failures.waits(1);
    }
    clock.step(1_000);
    for (let i = 0; i <= 2_500; i++) {
      failures.add('other');
      failures.waits(1);
    }
    expect(failures.size).toBe(1);
    expect([failures.count('key-17'), failures.count('other')]).toEqual([0, 2_501]);
    failures.dispose();
  });

  // A guess needs no call into the core, so a limiter still answered after the instance was
  // poisoned.
  test('a poisoned or disposed limiter answers nothing, not even a guess', () => {
    const [poisoned, disposed] = [1, 2].map(() => new ItemExponentialFailureRateLimiter(1, 64));
    for (const limiter of [poisoned, disposed]) for (let i = 0; i < 4; i++) limiter?.when('a');
    disposed?.dispose();
    sharedCore().trapped(new WebAssembly.RuntimeError('unreachable'));
    for (const [limiter, code] of [
      [poisoned, 'POISONED'],
      [disposed, 'DISPOSED'],
    ] as const) {
      expectError(() => limiter?.when('a'), code);
      expectError(() => limiter?.numRequeues('a'), code);
      expectError(() => limiter?.forget('a'), code);
      expectError(() => limiter?.forget('never failed'), code);
      limiter?.dispose();
    }
  });
});

function madeOf(id: number, make: Kind['make']): [text: string, item: unknown] {
  const item = make(id);
  return [JSON.stringify(item), item];
}
