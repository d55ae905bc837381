/**
 * Pieces of Prometheus' text format (version 0.0.4) and the histograms behind it, for all that has
 * metrics.
 */

/** Counts per bucket, not cumulative; the last one counts what is above every bound. */
export interface Counts {
  sum: number;
  counts: number[];
}

export const emptyCounts = (bounds: readonly number[]): Counts => ({
  sum: 0,
  counts: new Array<number>(bounds.length + 1).fill(0),
});

export function observeIn(bounds: readonly number[], histogram: Counts, value: number): void {
  histogram.sum += value;
  const bucket = bounds.findIndex((bound) => value <= bound);
  const at = bucket < 0 ? bounds.length : bucket;
  histogram.counts[at] = (histogram.counts[at] as number) + 1;
}

/** As Go prints floats: two digits of exponent at least, `1e-08`. */
export function showNumber(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  if (value !== 0 && Math.abs(value) < 1e-4)
    return value.toExponential().replace(/e([+-])(\d)$/, 'e$10$2');
  return String(value);
}

export function escapeLabel(label: string): string {
  return label.replace(/[\\"\n]/g, (char) => (char === '\n' ? '\\n' : `\\${char}`));
}
