/**
 * Metrics that a program defines: counters, gauges and histograms. A manager serves them with its
 * own metrics. Go: prometheus.NewCounterVec and others, with controller-runtime's metrics.Registry.
 */
import { CapstanError, invalid, requireFunction, requireString, show } from '../base/errors.ts';
import {
  byName,
  emptyHistogram,
  expositionText,
  type Histogram,
  histogramSamples,
  labelPairs,
  metricFamily,
  observe,
  type Sample,
} from '../base/exposition.ts';
import { handleError, reportRejection } from '../base/handle-error.ts';
import { namesOf, requireNames } from '../base/names.ts';
import type { Collector } from './manager.ts';

/** The labels of one series. */
export type MetricLabels<L extends string> = Readonly<Record<L, string>>;

/** Options of each metric. */
export interface MetricOptions<L extends string = never> {
  /** Such as `websites_deployed_total`; a counter's should end in `_total`. */
  readonly name: string;
  /** The HELP text: one sentence. */
  readonly help: string;
  /** The label names. Each combination of values is a series, which stays until it is removed. */
  readonly labels?: readonly L[] | undefined;
}

/** Options of a gauge. */
export interface GaugeOptions<L extends string = never> extends MetricOptions<L> {
  /**
   * Returns the value at each scrape: a number, or a number for each series. Without it, `set`,
   * `inc` and `dec` change the value. If it throws, the error is reported, and the scrape lacks the
   * gauge.
   */
  readonly read?: (() => number | Iterable<readonly [MetricLabels<L>, number]>) | undefined;
}

/** Options of a histogram. */
export interface HistogramOptions<L extends string = never> extends MetricOptions<L> {
  /**
   * Upper bounds in ascending order; `+Inf` is added. Default: prometheus.DefBuckets, 0.005 to 10
   * seconds.
   */
  readonly buckets?: readonly number[] | undefined;
}

/** One series of a counter. */
export interface CounterSeries {
  /** Adds `by`, which must not be negative. Default 1. */
  inc(by?: number): void;
}

/** One series of a gauge. */
export interface GaugeSeries {
  set(value: number): void;
  inc(by?: number): void;
  dec(by?: number): void;
}

/** One series of a histogram. */
export interface HistogramSeries {
  observe(value: number): void;
}

/** A metric with labels. A metric without labels is itself a series. */
export interface LabelledMetric<L extends string, S> {
  /**
   * The series of these labels. A new series begins at 0.
   *
   * @throws CapstanError INVALID_ARGUMENT for other labels than those of the metric
   */
  with(labels: MetricLabels<L>): S;
  /** Removes a series, such as that of a deleted object. Returns whether it existed. */
  remove(labels: MetricLabels<L>): boolean;
}

type Metric<L extends string, S> = [L] extends [never] ? S : LabelledMetric<L, S>;

const NAMES = namesOf<MetricOptions<string>>()({ name: 1, help: 1, labels: 1 });
const GAUGE_NAMES = namesOf<GaugeOptions<string>>()({ ...NAMES, read: 1 });
const HISTOGRAM_NAMES = namesOf<HistogramOptions<string>>()({ ...NAMES, buckets: 1 });

/** Prometheus: DefBuckets. */
const SECONDS: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const METRIC_NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
const LABEL_NAME = /^(?!__)[a-zA-Z_][a-zA-Z0-9_]*$/;

/**
 * A registry of metrics. A manager has one, `manager.metrics`, and serves it at `/metrics`.
 * `manager.addCollector(registry)` adds another registry, also one of prom-client or OpenTelemetry:
 * see the guide to metrics.
 *
 * A second call with the same name and the same options returns the same metric.
 *
 * @throws CapstanError INVALID_ARGUMENT, also from the calls of its metrics
 * @example
 * const metrics = new MetricsRegistry();
 * const deployed = metrics.counter({
 *   name: 'websites_deployed_total',
 *   help: 'Websites that were deployed.',
 *   labels: ['namespace'],
 * });
 * deployed.with({ namespace: 'default' }).inc();
 * const took = metrics.histogram({ name: 'deploy_seconds', help: 'How long a deployment took.' });
 * took.observe(1.2);
 * metrics.gauge({ name: 'websites', help: 'Websites now.', read: () => 3 });
 * console.log(metrics.text());
 */
export class MetricsRegistry implements Collector {
  readonly name = 'metrics of the program';
  readonly #families = new Map<string, Family<Series>>();

  counter<const L extends string = never>(options: MetricOptions<L>): Metric<L, CounterSeries> {
    requireNames('options', options, 'option of counter()', NAMES);
    const make = (family: Family<NumberSeries>): NumberSeries => new NumberSeries(family, true);
    return this.#add('counter', options, make, {}) as unknown as Metric<L, CounterSeries>;
  }

  gauge<const L extends string = never>(options: GaugeOptions<L>): Metric<L, GaugeSeries> {
    requireNames('options', options, 'option of gauge()', GAUGE_NAMES);
    const { read } = options;
    if (read !== undefined) requireFunction('options.read', read);
    const make = (family: Family<NumberSeries>): NumberSeries => new NumberSeries(family, false);
    return this.#add('gauge', options, make, { read: read as Read }) as unknown as Metric<
      L,
      GaugeSeries
    >;
  }

  histogram<const L extends string = never>(
    options: HistogramOptions<L>,
  ): Metric<L, HistogramSeries> {
    requireNames('options', options, 'option of histogram()', HISTOGRAM_NAMES);
    const { buckets = SECONDS } = options;
    const ascend =
      Array.isArray(buckets) &&
      buckets.length > 0 &&
      buckets.every((bound, at) => Number.isFinite(bound) && (at === 0 || bound > buckets[at - 1]));
    if (!ascend) throw invalid('options.buckets', 'finite numbers that ascend', buckets);
    const make = (family: Family<ObservedSeries>): ObservedSeries =>
      new ObservedSeries(family, buckets);
    return this.#add('histogram', options, make, { buckets }) as unknown as Metric<
      L,
      HistogramSeries
    >;
  }

  /** In Prometheus' text format 0.0.4, in the order of the names. */
  text(): string {
    return expositionText(byName(this.#families).flatMap(([, family]) => family.lines()));
  }

  #add<S extends Series>(
    type: Type,
    { name, help, labels = [] }: MetricOptions<string>,
    make: (family: Family<S>) => S,
    more: { read?: Read; buckets?: readonly number[] },
  ): Family<S> | S {
    if (typeof name !== 'string' || !METRIC_NAME.test(name))
      throw invalid('options.name', 'a name of letters, digits, _ and :', name);
    requireString('options.help', help);
    const isLabels =
      Array.isArray(labels) &&
      new Set(labels).size === labels.length &&
      labels.every((label) => typeof label === 'string' && LABEL_NAME.test(label)) &&
      !(type === 'histogram' && labels.includes('le'));
    if (!isLabels)
      throw invalid('options.labels', 'different names of letters, digits and _', labels);
    const family = new Family<S>(type, name, help, labels, make, more);
    const known = this.#families.get(name);
    if (known === undefined) this.#families.set(name, family as unknown as Family<Series>);
    else if (known.isAs(family as unknown as Family<Series>))
      return (known as unknown as Family<S>).face();
    else
      throw new CapstanError(
        'INVALID_ARGUMENT',
        `the metric ${show(name)} exists with another type, help, labels, buckets or read: ` +
          'give one of them another name',
      );
    return family.face();
  }
}

type Type = 'counter' | 'gauge' | 'histogram';
type Read = GaugeOptions<string>['read'];

interface Series {
  samples(labels: string): Sample[];
}

/** One metric with its series. */
class Family<S extends Series> implements LabelledMetric<string, S> {
  readonly #type: Type;
  readonly name: string;
  readonly #help: string;
  readonly #labels: readonly string[];
  readonly #make: (family: Family<S>) => S;
  readonly #buckets: readonly number[] | undefined;
  readonly #read: Read;
  /** By the values of the labels. */
  readonly #series = new Map<string, { readonly labels: string; readonly series: S }>();

  constructor(
    type: Type,
    name: string,
    help: string,
    labels: readonly string[],
    make: (family: Family<S>) => S,
    { read, buckets }: { read?: Read; buckets?: readonly number[] },
  ) {
    this.#type = type;
    this.name = name;
    this.#help = help;
    this.#labels = [...labels];
    this.#make = make;
    this.#read = read;
    this.#buckets = buckets;
  }

  get isRead(): boolean {
    return this.#read !== undefined;
  }

  isAs(other: Family<Series>): boolean {
    const of = (family: Family<Series>): string =>
      JSON.stringify([family.#type, family.#help, family.#labels, family.#buckets]);
    return of(this as unknown as Family<Series>) === of(other) && this.#read === other.#read;
  }

  /** What the user gets. */
  face(): Family<S> | S {
    return this.#labels.length === 0 ? this.with({}) : this;
  }

  with(labels: MetricLabels<string>): S {
    const key = this.#keyOf(labels);
    let entry = this.#series.get(key);
    if (entry === undefined) {
      entry = { labels: this.#pairs(labels), series: this.#make(this) };
      this.#series.set(key, entry);
    }
    return entry.series;
  }

  remove(labels: MetricLabels<string>): boolean {
    return this.#series.delete(this.#keyOf(labels));
  }

  lines(): string[] {
    const help = this.#help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
    return metricFamily(this.#type, this.name, help, this.#samples());
  }

  #samples(): Sample[] {
    if (this.#read !== undefined) return this.#readSamples(this.#read);
    return [...this.#series.values()].flatMap(({ labels, series }) => series.samples(labels));
  }

  #readSamples(read: NonNullable<Read>): Sample[] {
    try {
      const found: unknown = read();
      reportRejection(found, `the metric ${this.name}`);
      if (this.#labels.length === 0) {
        requireFinite('read()', found);
        return [['', found]];
      }
      const samples = new Map<string, Sample>();
      for (const [labels, value] of found as Iterable<[MetricLabels<string>, number]>) {
        requireFinite('read()', value);
        samples.set(this.#keyOf(labels), [this.#pairs(labels), value]);
      }
      return [...samples.values()];
    } catch (error) {
      handleError(error, `the metric ${this.name}`);
      return [];
    }
  }

  #keyOf(labels: MetricLabels<string>): string {
    const given = typeof labels === 'object' && labels !== null ? Object.keys(labels) : undefined;
    const values = this.#labels.map((label) => labels?.[label]);
    if (
      given?.length !== this.#labels.length ||
      values.some((value) => typeof value !== 'string')
    ) {
      const expected = this.#labels.length === 0 ? 'none' : `texts for ${this.#labels.join(', ')}`;
      throw invalid(`labels of ${this.name}`, expected, labels);
    }
    return JSON.stringify(values);
  }

  #pairs(labels: MetricLabels<string>): string {
    return labelPairs(
      Object.fromEntries(this.#labels.map((label) => [label, labels[label] ?? ''])),
    );
  }
}

/** A series of a counter or a gauge. */
class NumberSeries implements CounterSeries, GaugeSeries, Series {
  readonly #family: Family<NumberSeries>;
  readonly #grows: boolean;
  #value = 0;

  constructor(family: Family<NumberSeries>, grows: boolean) {
    this.#family = family;
    this.#grows = grows;
  }

  inc(by = 1): void {
    if (this.#family.isRead) throw this.#hasNo('inc', 'gauge with `read`', 'leave `read` out');
    requireFinite(`by of ${this.#family.name}`, by);
    if (this.#grows && by < 0) throw this.#hasNo('inc', 'counter', 'a counter only grows');
    this.#value += by;
  }

  dec(by = 1): void {
    if (this.#grows) throw this.#hasNo('dec', 'counter', 'use a gauge');
    requireFinite(`by of ${this.#family.name}`, by);
    this.inc(-by);
  }

  set(value: number): void {
    if (this.#grows) throw this.#hasNo('set', 'counter', 'use a gauge');
    if (this.#family.isRead) throw this.#hasNo('set', 'gauge with `read`', 'leave `read` out');
    requireFinite(`value of ${this.#family.name}`, value);
    this.#value = value;
  }

  samples(labels: string): Sample[] {
    return [[labels, this.#value]];
  }

  #hasNo(call: string, what: string, advice: string): CapstanError {
    const message = `${this.#family.name} is a ${what}, which takes no such ${call}(): ${advice}`;
    return new CapstanError('INVALID_ARGUMENT', message);
  }
}

class ObservedSeries implements HistogramSeries, Series {
  readonly #family: Family<ObservedSeries>;
  readonly #bounds: readonly number[];
  readonly #observed: Histogram;

  constructor(family: Family<ObservedSeries>, bounds: readonly number[]) {
    this.#family = family;
    this.#bounds = bounds;
    this.#observed = emptyHistogram(bounds);
  }

  observe(value: number): void {
    requireFinite(`value of ${this.#family.name}`, value);
    observe(this.#bounds, this.#observed, value);
  }

  samples(labels: string): Sample[] {
    return histogramSamples(labels, this.#bounds, this.#observed).map(
      ([own, ...rest]): Sample => [
        own.replace(/^,/, ''), // before `le` of a series without labels
        ...rest,
      ],
    );
  }
}

function requireFinite(name: string, value: unknown): asserts value is number {
  if (!Number.isFinite(value)) throw invalid(name, 'a finite number', value);
}
