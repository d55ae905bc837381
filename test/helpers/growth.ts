/**
 * Compares how long two pieces of work take, on a machine that other programs use too: both run in
 * turn, their shortest times count, and they run again while the ratio is too high.
 */

const ROUNDS = 3;
const MOST_ROUNDS = 30;

/**
 * The ratio of the shortest times of two pieces of work: `expect(await timeRatio(limit, …))
 * .toBeLessThan(limit)`.
 *
 * @param limit while the ratio is not below it, the work is repeated, up to 30 times
 * @param first runs the work once and returns the milliseconds that it took
 */
export async function timeRatio(
  limit: number,
  first: () => number | Promise<number>,
  second: () => number | Promise<number>,
): Promise<number> {
  let [one, other] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let i = 0; i < ROUNDS || (i < MOST_ROUNDS && !(one / other < limit)); i++) {
    one = Math.min(one, await first());
    other = Math.min(other, await second());
  }
  return one / other;
}

/** Less than this is no quadratic growth: see {@link growth}. */
export const STEEP = 7;

const TIMES = 64;

/**
 * How the cost of work grows with its size: the ratio of one run of 64 times the size to 64 runs of
 * the size. It is about 1 for linear work and 64 for quadratic work:
 * `expect(await growth(…)).toBeLessThan(STEEP)`.
 *
 * @param make prepares work of a size, which is not measured; the returned function is measured
 */
export function growth(size: number, make: (size: number) => () => unknown): Promise<number> {
  const took = async (works: readonly (() => unknown)[]): Promise<number> => {
    const start = performance.now();
    for (const work of works) await work();
    return performance.now() - start;
  };
  return timeRatio(
    STEEP,
    () => took([make(TIMES * size)]),
    () => took(Array.from({ length: TIMES }, () => make(size))),
  );
}
