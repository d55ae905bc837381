/**
 * Prometheus' text exposition format (version 0.0.4) and the histograms that are written in it.
 *
 * prom-client is not used: `workqueue` and `cache` have no dependency, and their counters are read
 * when the text is asked for, not counted a second time in a registry.
 */

/** Counts of observed values by bucket. The caller has the bounds of the buckets. */
export interface Histogram {
  sum: number;
  /** One count for each bucket, not cumulative; the last one is for values above every bound. */
  counts: number[];
}

export const emptyHistogram = (bounds: readonly number[]): Histogram => ({
  sum: 0,
  counts: new Array<number>(bounds.length + 1).fill(0),
});

export function observe(bounds: readonly number[], into: Histogram, value: number): void {
  into.sum += value;
  const bucket = bounds.findIndex((bound) => value <= bound);
  const at = bucket < 0 ? bounds.length : bucket;
  into.counts[at] = (into.counts[at] as number) + 1;
}

/** Adds the counts of another histogram with the same buckets. */
export function addHistogram(into: Histogram, { sum, counts }: Histogram): void {
  into.sum += sum;
  for (const [i, count] of counts.entries()) into.counts[i] = (into.counts[i] ?? 0) + count;
}

/** As Go prints floats: an exponent has at least two digits, `1e-08`. */
function formatNumber(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  if (value !== 0 && Math.abs(value) < 1e-4)
    return value.toExponential().replace(/e([+-])(\d)$/, 'e$10$2');
  return String(value);
}

/** `a="1",b="2"`, the values escaped. */
export function labelPairs(labels: Readonly<Record<string, string>>): string {
  const escaped = (value: string): string =>
    value.replace(/[\\"\n]/g, (char) => (char === '\n' ? '\\n' : `\\${char}`));
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${escaped(value)}"`)
    .join(',');
}

/**
 * A value of a metric with its labels, as {@link labelPairs} writes them, and the suffix of its
 * name.
 */
export type Sample = readonly [labels: string, value: number, suffix?: string];

/**
 * The samples of a histogram.
 *
 * @param bounds may be fewer than those of the histogram: the counts above them are in `+Inf` only
 */
export function histogramSamples(
  labels: string,
  bounds: readonly number[],
  { sum, counts }: Histogram,
): Sample[] {
  let total = 0;
  const samples = counts.map((count, i): Sample => {
    total += count;
    const le = formatNumber(bounds[i] ?? Number.POSITIVE_INFINITY);
    return [`${labels},le="${le}"`, total, '_bucket'];
  });
  samples.splice(bounds.length, counts.length - bounds.length - 1);
  samples.push([labels, sum, '_sum'], [labels, total, '_count']);
  return samples;
}

type MetricType = 'counter' | 'gauge' | 'histogram';

/** The lines of a metric, with its header; none for one that has no samples. */
export function metricFamily(
  type: MetricType,
  name: string,
  help: string,
  samples: readonly Sample[],
): string[] {
  if (samples.length === 0) return [];
  const lines = samples.map(
    ([labels, value, suffix = '']) =>
      `${name}${suffix}${labels && `{${labels}}`} ${formatNumber(value)}`,
  );
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines];
}

/** The text of all lines; `''` for none. */
export const expositionText = (lines: readonly string[]): string => [...lines, ''].join('\n');

/** The entries in the order of their names, in which metrics are written. */
export const byName = <V>(entries: Iterable<[string, V]>): [string, V][] =>
  [...entries].sort(([a], [b]) => (a < b ? -1 : 1));

/** Writes the metrics of several queues, controllers or informers, each with labels and figures. */
export class MetricsText<F> {
  readonly #all: readonly (readonly [labels: string, figures: F])[];
  readonly #lines: string[] = [];

  constructor(all: readonly (readonly [labels: string, figures: F])[]) {
    this.#all = all;
  }

  /** A metric with any number of samples for each. */
  samples(
    type: MetricType,
    name: string,
    help: string,
    of: (figures: F, labels: string) => readonly Sample[],
  ): void {
    const samples = this.#all.flatMap(([labels, figures]) => of(figures, labels));
    this.#lines.push(...metricFamily(type, name, help, samples));
  }

  /** A metric with one value for each that has it. */
  number(
    type: 'counter' | 'gauge',
    name: string,
    help: string,
    of: (figures: F) => number | undefined,
  ): void {
    this.samples(type, name, help, (figures, labels) => {
      const value = of(figures);
      return value === undefined ? [] : [[labels, value]];
    });
  }

  /** @param bounds as of histogramSamples */
  histogram(
    name: string,
    help: string,
    bounds: readonly number[],
    of: (figures: F) => Histogram | undefined,
  ): void {
    this.samples('histogram', name, help, (figures, labels) => {
      const histogram = of(figures);
      return histogram === undefined ? [] : histogramSamples(labels, bounds, histogram);
    });
  }

  toString(): string {
    return expositionText(this.#lines);
  }
}
