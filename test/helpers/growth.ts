/**
 * Measures how the cost of work grows with its size: the ratio of one run of 64 times the size to
 * 64 runs of the size. It is about 1 for linear work and 64 for quadratic work:
 * `expect(await growth(…)).toBeLessThan(STEEP)`.
 */
export const STEEP = 7;

const TIMES = 64;

/**
 * Least of several, as others may use the machine; of more while it looks steep. @param make gets a
 * size ready; what it gives is measured
 */
export async function growth(size: number, make: (size: number) => () => unknown): Promise<number> {
  const took = async (works: readonly (() => unknown)[]): Promise<number> => {
    const start = performance.now();
    for (const work of works) await work();
    return performance.now() - start;
  };
  let [once, often] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let round = 0; round < 3 || (round < 15 && once / often >= STEEP); round++) {
    once = Math.min(once, await took([make(TIMES * size)]));
    often = Math.min(often, await took(Array.from({ length: TIMES }, () => make(size))));
  }
  return once / often;
}
