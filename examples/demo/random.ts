/** A seeded random generator: mulberry32, one 32-bit state. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A number in [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }

  /** An integer in [min, max]. */
  integer(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1));
  }

  pick<T>(list: readonly T[]): T {
    return list[this.integer(0, list.length - 1)] as T;
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /**
   * An independent generator, so that the calls of one consumer do not change the choices of
   * another.
   */
  fork(): Random {
    return new Random(Math.floor(this.next() * 2 ** 32));
  }
}
