/** Percentiles of durations in constant memory, accurate to five percent. */

const RATIO = Math.log(1.05);
/** A microsecond, in milliseconds. */
const SMALLEST = 0.001;

export class Histogram {
  readonly #counts: number[] = [];
  #total = 0;

  record(ms: number): void {
    const bucket = ms <= SMALLEST ? 0 : Math.ceil(Math.log(ms / SMALLEST) / RATIO);
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#total++;
  }

  count(): number {
    return this.#total;
  }

  /**
   * The duration in milliseconds that the given share (such as 0.99) does not exceed; 0 without
   * durations.
   */
  percentile(share: number): number {
    let left = Math.ceil(this.#total * share);
    for (const [bucket, count = 0] of this.#counts.entries()) {
      left -= count;
      if (left <= 0 && this.#total > 0) return SMALLEST * Math.exp(bucket * RATIO);
    }
    return 0;
  }
}
