/** Random numbers that a seed repeats, for tests that try many cases. */

/**
 * The seed of this run: CAPSTAN_SEED, or a new one. A random test prints it, so that its failure
 * can be repeated.
 */
export function testSeed(): number {
  const given = process.env.CAPSTAN_SEED;
  if (given === undefined || given === '') return Math.floor(Math.random() * 2 ** 32);
  const seed = Number(given);
  if (!Number.isInteger(seed) || seed < 0 || seed >= 2 ** 32) {
    throw new RangeError(
      `CAPSTAN_SEED expected an integer from 0 to 2^32 - 1, got ${JSON.stringify(given)}`,
    );
  }
  return seed;
}

/** Mulberry32: 32 bits of state, passes the usual tests, and is the same on every engine. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** In [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  /** An integer in [0, limit). */
  int(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(list: readonly T[]): T {
    if (list.length === 0) throw new RangeError('pick from an empty list');
    return list[this.int(list.length)] as T;
  }

  /** A generator of its own, so that one part of a test does not shift the numbers of another. */
  fork(): Random {
    return new Random(this.int(2 ** 32));
  }
}
