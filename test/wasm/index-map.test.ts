/**
 * bindings/wasm/index-map.ts: index values and the slots listed under them, against the model and
 * at the limits of memory.
 */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { CapstanError } from '../../bindings/base/errors.ts';
import { CacheCore } from '../../bindings/wasm/cache-core.ts';
import { IndexMap } from '../../bindings/wasm/index-map.ts';
import { type KeyMode, setKeyMode } from '../../bindings/wasm/key-mode.ts';
import { timeRatio } from '../helpers/growth.ts';
import { Random, testSeed } from '../helpers/random.ts';
import { distinctKeys } from '../helpers/workqueue/hostile-keys.ts';
import { ModelIndexMap } from '../helpers/workqueue/queue-model.ts';

const seed = testSeed();
console.log(`test/wasm/index-map.test.ts: CAPSTAN_SEED=${seed}`);

const modes: readonly KeyMode[] = ['wasm', 'js'];

describe.each(modes)('IndexMap, values in %s', (mode) => {
  beforeEach(() => setKeyMode(mode));
  afterEach(() => setKeyMode(undefined));

  const slots = (index: IndexMap, value: string) => [...index.slots(value)].sort((a, b) => a - b);

  test('a slot is listed under its values and no others, each once', () => {
    const index = new IndexMap(new CacheCore());
    index.set(3, ['a', 'b', 'a']);
    index.set(1, ['b']);
    expect([slots(index, 'a'), slots(index, 'b'), slots(index, 'c')]).toEqual([[3], [1, 3], []]);
    index.set(3, ['c']);
    expect([slots(index, 'a'), slots(index, 'b'), slots(index, 'c')]).toEqual([[], [1], [3]]);
    index.clear(1);
    expect(index.values()).toEqual(['c']);
    index.clear(1);
    index.clear(7_000);
    expect(index.values()).toEqual(['c']);
  });

  test('hostile values stay different', () => {
    const index = new IndexMap(new CacheCore());
    for (const [slot, value] of distinctKeys.entries()) index.set(slot, [value]);
    for (const [slot, value] of distinctKeys.entries()) expect(slots(index, value)).toEqual([slot]);
    expect([...index.values()].sort()).toEqual([...distinctKeys].sort());
  });

  test('values without slots are removed and free their memory', () => {
    const core = new CacheCore();
    const index = new IndexMap(core);
    const churn = (from: number, to: number) => {
      for (let i = from; i < to; i++)
        index.set(i % 100, [`value-${i}`, `other-${i}-${'x'.repeat(i % 90)}`]);
    };
    churn(0, 20_000); // blocks of all sizes
    const pages = core.exports.memoryPages();
    churn(20_000, 100_000);
    expect(core.exports.memoryPages()).toBe(pages);
    expect(index.values()).toHaveLength(200);
    const one = (from: number, to: number) => {
      for (let i = from; i < to; i++) index.setOne(i % 100, `value-${i}-${'x'.repeat(i % 90)}`);
    };
    one(0, 20_000);
    const then = core.exports.memoryPages();
    one(20_000, 100_000);
    expect(core.exports.memoryPages()).toBe(then);
    expect(index.values()).toHaveLength(100);
  });

  test('fifty thousand random changes agree with the model', () => {
    const random = new Random(seed);
    const index = new IndexMap(new CacheCore());
    const model = new ModelIndexMap();
    const pool = [...distinctKeys, ...Array.from({ length: 30 }, (_, i) => `node-${i}`)];
    for (let i = 0; i < 50_000; i++) {
      const slot = random.int(random.chance(0.05) ? 5_000 : 60);
      if (random.chance(0.2)) {
        index.clear(slot);
        model.clear(slot);
      } else {
        const values = Array.from({ length: random.int(random.chance(0.02) ? 40 : 4) }, () =>
          random.pick(pool),
        );
        if (values.length === 1 && random.chance(0.8)) index.setOne(slot, values[0] as string);
        else index.set(slot, values);
        model.set(slot, values);
      }
      if (i % 50 === 0) {
        const value = random.pick(pool);
        expect(slots(index, value), `seed ${seed}, change ${i}`).toEqual(model.slots(value));
      }
      if (i % 5_000 === 0)
        expect([...index.values()].sort(), `seed ${seed}, change ${i}`).toEqual(model.values());
    }
    for (const value of pool)
      expect(slots(index, value), `seed ${seed}`).toEqual(model.slots(value));
  });

  // An object that took a place in the set of a value had all of its values searched for that one:
  // 3 s for 80 000 values in another order.
  test.each<[string, (values: string[]) => string[][]]>([
    ['an object that has them in another order', (values) => [[...values].sort()]],
    [
      'two that have every other one',
      (values) => [0, 1].map((odd) => values.filter((_, i) => i % 2 === odd)),
    ],
  ])(
    'leaving many values that are shared with %s takes time by their number',
    async (_, shared) => {
      const leaving = (count: number) => {
        const index = new IndexMap(new CacheCore());
        const random = new Random(seed);
        const values = Array.from({ length: count }, (_, i) => `${random.int(1_000_000)}-${i}`);
        return (): number => {
          index.set(0, values);
          for (const [i, some] of shared(values).entries()) index.set(1 + i, some);
          const start = performance.now();
          index.clear(0);
          const took = performance.now() - start;
          for (const value of values.slice(0, 100)) expect(slots(index, value)).toHaveLength(1);
          index.clear(1);
          index.clear(2);
          expect(index.values()).toEqual([]);
          return took;
        };
      };
      // sixteen times as many
      expect(await timeRatio(90, leaving(64_000), leaving(4_000))).toBeLessThan(90);
    },
  );

  test('a change that is refused memory changes nothing', () => {
    const random = new Random(seed ^ 0x1dea);
    const core = new CacheCore();
    const index = new IndexMap(core);
    const model = new ModelIndexMap();
    let refused = 0;
    for (let i = 0; i < 4_000; i++) {
      if (i % 100 === 0)
        core.exports.memoryLimit(
          core.exports.memoryPages() + (i > 0 && random.chance(0.3) ? 1 + random.int(2) : 0),
        );
      const slot = random.int(3_000);
      const values = Array.from(
        { length: random.int(5) },
        () => `${random.int(2_000)}-${'v'.repeat(random.int(2_000))}`,
      );
      try {
        if (values.length === 1) index.setOne(slot, values[0] as string);
        else index.set(slot, values);
        model.set(slot, values);
      } catch (error) {
        expect(error).toBeInstanceOf(CapstanError);
        expect((error as CapstanError).code).toBe('OUT_OF_MEMORY');
        refused++;
      }
    }
    core.exports.memoryLimit(65_536);
    expect(refused).toBeGreaterThan(10);
    expect([...index.values()].sort(), `seed ${seed}`).toEqual(model.values());
    for (const value of model.values())
      expect(slots(index, value), `seed ${seed}`).toEqual(model.slots(value));
  });
});
