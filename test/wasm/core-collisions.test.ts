/**
 * Keys that were crafted to collide. Tenants choose object names: with a predictable hash, one
 * tenant's names would make every look-up of all tenants a walk through all of them. The seed of a
 * cache's table is random, so it cannot be predicted; the keys here are crafted against a pinned
 * one (`keysSeed`), collide there in every bit, and are like any others everywhere else. A queue's
 * table has no seed: it changes to a Map, whose seed is the engine's.
 *
 * Probes are counted in the table itself, whose buckets are read from the core's memory.
 * `bench/queue/collisions.ts` has the times.
 */
import { type Request, requestKey, WorkQueue } from 'capstan/workqueue';
import { describe, expect, test } from 'vitest';
import { CacheCore } from '../../bindings/wasm/cache-core.ts';
import { timeRatio } from '../helpers/growth.ts';
import { Random, testSeed } from '../helpers/random.ts';
import {
  collidingKeys,
  collidingWholes,
  randomKeys,
  type Seed,
} from '../helpers/workqueue/colliding-keys.ts';
import { drain } from '../helpers/workqueue/queue-items.ts';

const seed = testSeed();
console.log(`test/wasm/core-collisions.test.ts: CAPSTAN_SEED=${seed}`);

const PINNED: Seed = [0x01234567, 0x89abcdef | 0, 0x0f1e2d3c, 0x4b5a6978];
const LENGTH = 35; // as long as namespace/name in most clusters, and kept in the record

interface Probes {
  /** How many buckets finding a key that is there looks at, on average, and at most. */
  mean: number;
  most: number;
  /** How many different hashes the keys have. */
  hashes: number;
}

/**
 * Interns keys in a table and reads its buckets, u32 each: the slot + 1 in the low bits, 0 when
 * empty; the hash is in the record (assembly/keys.ts).
 */
function probes(core: CacheCore, keys: readonly string[]): Probes {
  const table = core.exports.keysNew();
  for (const key of keys) core.exports.keysIntern(table, key);
  const words = core.words();
  const [buckets, mask] = [
    (words[table >>> 2] as number) >>> 2,
    words[(table >>> 2) + 1] as number,
  ];
  const directory = (words[(table >>> 2) + 2] as number) >>> 2;
  let sum = 0;
  let most = 0;
  const hashes = new Set<number>();
  for (let at = 0; at <= mask; at++) {
    const entry = words[buckets + at] as number;
    if (entry === 0) continue;
    const slot = (entry & mask) - 1;
    const chunk = words[directory + (slot >>> 8)] as number;
    const hash = words[(chunk >>> 2) + 2 * (slot & 255)] as number;
    const looked = ((at - (hash & mask)) & mask) + 1;
    hashes.add(hash);
    sum += looked;
    most = Math.max(most, looked);
  }
  core.exports.keysFree(table);
  return { mean: sum / keys.length, most, hashes: hashes.size };
}

function cycles(queue: WorkQueue, keys: readonly string[]): number {
  const start = performance.now();
  for (const key of keys) queue.add(key);
  expect(drain(queue)).toHaveLength(keys.length);
  return performance.now() - start;
}

describe('texts of a cache, crafted against a pinned seed', () => {
  test('collide in every bit under that seed (the premise of the other tests)', () => {
    const core = new CacheCore();
    core.exports.keysSeed(...PINNED);
    const keys = collidingKeys(2_000, LENGTH, PINNED, new Random(seed));
    expect(probes(core, keys)).toEqual({ mean: 2_001 / 2, most: 2_000, hashes: 1 });
  });

  test('can be added and removed among other keys while the table grows', () => {
    // A bucket holds its distance from home up to a limit; beyond it the record is read. Both must
    // survive removals and growth.
    const random = new Random(seed);
    const core = new CacheCore();
    core.exports.keysSeed(...PINNED);
    const table = core.exports.keysNew();
    const keys = [
      ...collidingKeys(150, LENGTH, PINNED, random),
      ...randomKeys(3_000, LENGTH, random),
    ];
    const slots = new Map<string, number>();
    for (let i = 0; i < 30_000; i++) {
      const key = random.chance(0.3)
        ? (keys[random.int(150)] as string)
        : random.pick(keys.slice(0, 150 + (i >>> 3)));
      expect(core.exports.keysFind(table, key), `seed ${seed}, operation ${i}`).toBe(
        slots.get(key) ?? -1,
      );
      if (random.chance(0.6)) slots.set(key, core.exports.keysIntern(table, key));
      else if (slots.has(key)) {
        core.exports.keysRelease(table, slots.get(key) as number);
        slots.delete(key);
      }
    }
    for (const key of keys) expect(core.exports.keysFind(table, key)).toBe(slots.get(key) ?? -1);
    expect(core.exports.keysUsed(table)).toBe(slots.size);
  });

  test('are like random keys in tables with seeds of their own: as few probes', () => {
    const random = new Random(seed);
    const n = 20_000; // three fifths of the buckets: as full as a table becomes
    const crafted = collidingKeys(n, LENGTH, PINNED, random);
    const others = randomKeys(n, LENGTH, random);
    for (let round = 0; round < 10; round++) {
      const core = new CacheCore();
      const [ours, theirs] = [probes(core, crafted), probes(core, others)];
      expect(ours.mean / theirs.mean, `mean, round ${round}`).toBeLessThan(1.25);
      expect(ours.most, `most, round ${round}`).toBeLessThan(200);
      expect(ours.hashes, `hashes, round ${round}`).toBeGreaterThan(n - 20);
    }
  });
});

describe('keys of a queue whose hashes of the whole are one', () => {
  const crafted = collidingWholes(12); // 4096

  test('stay different keys and come out in their order', () => {
    const queue = new WorkQueue();
    for (let time = 0; time < 2; time++) for (const key of crafted) queue.add(key);
    expect(drain(queue)).toEqual(crafted);
    const requests = new WorkQueue<Request>({ key: requestKey });
    const items = crafted.map((name) => ({ namespace: 'kube-system', name }));
    for (let time = 0; time < 2; time++) for (const item of items) requests.add(item);
    expect(drain(requests).map(({ name }) => name)).toEqual(crafted);
  });

  test('are handled at least a third as fast as random ones', async () => {
    const others = randomKeys(crafted.length, crafted[0]?.length ?? 0, new Random(seed));
    const queues = [new WorkQueue(), new WorkQueue()] as const;
    const ratio = await timeRatio(
      3,
      () => cycles(queues[0], crafted),
      () => cycles(queues[1], others),
    );
    expect(ratio).toBeLessThan(3);
  });
});

/** Families of keys that weak hashes fold together whatever their seed: `n` keys of each. */
const families: Record<string, (n: number) => string[]> = {
  'numbered names': (n) => Array.from({ length: n }, (_, i) => `default/web-${i}`),
  'numbers of one length': (n) =>
    Array.from({ length: n }, (_, i) => `default/web-${String(i).padStart(20, '0')}`),
  'numbers in front': (n) =>
    Array.from({ length: n }, (_, i) => `${i}-namespace/one-and-the-same-name`),
  'two characters anywhere': (n) =>
    Array.from({ length: n }, (_, i) => {
      const at = i % 29;
      const first = 98 + (Math.floor(i / 29) % 150);
      const second = 98 + (Math.floor(i / 4350) % 150);
      return 'a'.repeat(at) + String.fromCharCode(first, second) + 'a'.repeat(29 - at);
    }),
  'nothing but a length': (n) =>
    Array.from({ length: Math.min(n, 2_000) }, (_, i) => 'a'.repeat(i)),
  'differences that cancel in what is linear': (n) =>
    Array.from({ length: n }, (_, i) => {
      const difference = (BigInt(i) * 0x0001_0203_0507_0b0dn) & MASK64;
      const rotated = ((difference << 25n) | (difference >> 39n)) & MASK64;
      return units(0x6161616161616161n ^ difference) + units(0x6262626262626262n ^ rotated);
    }),
};
const MASK64 = (1n << 64n) - 1n;
const units = (word: bigint): string =>
  String.fromCharCode(
    ...Array.from({ length: 8 }, (_, i) => Number((word >> BigInt(8 * i)) & 0xffn)),
  );

test.each(Object.entries(families))('%s are like random keys, whatever the seed', (_name, make) => {
  const keys = [...new Set(make(20_000))];
  const others = randomKeys(keys.length, LENGTH, new Random(seed));
  for (let round = 0; round < 5; round++) {
    const core = new CacheCore();
    expect(probes(core, keys).mean / probes(core, others).mean).toBeLessThan(1.25);
  }
});
