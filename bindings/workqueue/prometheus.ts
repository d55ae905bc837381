/**
 * The queue metrics in Prometheus' text format, with the names, labels, help and buckets of
 * Kubernetes component-base (metrics/prometheus/workqueue) or of controller-runtime. Queues are not
 * slowed down: their counters live in the core and are read when text() is called. Queues of one
 * name are added up.
 */
import { invalid } from '../base/errors.ts';
import {
  addHistogram,
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
import {
  DURATION_BUCKETS,
  type LevelFigures,
  type MetricsProvider,
  type QueueSource,
  type ReadingProvider,
  readsCore,
} from './metrics.ts';

type Flavor = 'client-go' | 'controller-runtime';

/**
 * Figures of a queue name that come from no live queue of this package: those reported through the
 * methods of MetricsProvider, or the counts of disposed queues. A figure that was never requested
 * is undefined.
 */
class Figures implements QueueSource {
  readonly name: string;
  readonly values: {
    depth?: number;
    adds?: number;
    retries?: number;
    unfinished?: number;
    longest?: number;
  } = {};
  #queue: Histogram | undefined;
  #work: Histogram | undefined;

  constructor(name: string) {
    this.name = name;
  }

  depth = (): number | undefined => this.values.depth;
  adds = (): number | undefined => this.values.adds;
  retries = (): number | undefined => this.values.retries;
  queueSeconds = (): Histogram | undefined => this.#queue;
  workSeconds = (): Histogram | undefined => this.#work;
  unfinishedSeconds = (): number | undefined => this.values.unfinished;
  longestSeconds = (): number | undefined => this.values.longest;

  queue(): Histogram {
    this.#queue ??= emptyHistogram(DURATION_BUCKETS);
    return this.#queue;
  }

  work(): Histogram {
    this.#work ??= emptyHistogram(DURATION_BUCKETS);
    return this.#work;
  }

  /** Adds to a figure that begins at 0. */
  counter(figure: 'depth' | 'adds' | 'retries', by: number): () => void {
    this.values[figure] ??= 0;
    return () => {
      this.values[figure] = (this.values[figure] ?? 0) + by;
    };
  }

  setter(figure: 'unfinished' | 'longest'): (value: number) => void {
    this.values[figure] ??= 0;
    return (value) => {
      this.values[figure] = value;
    };
  }

  /** Adds the counts of a queue that is disposed of. Its gauges are dropped. */
  take(source: QueueSource): void {
    this.counter('adds', source.adds() ?? 0)();
    const retries = source.retries();
    if (retries !== undefined) this.counter('retries', retries)();
    addTo(this.queue(), source.queueSeconds());
    addTo(this.work(), source.workSeconds());
  }
}

function addTo(into: Histogram, from: Histogram | undefined): void {
  if (from !== undefined) addHistogram(into, from);
}

/**
 * Collects the metrics of every named queue that it is given to. Of a queue that is disposed of the
 * gauges go at once. Its counts stay while its name is in use. Of names that no queue has, only
 * that of the last queue is kept, so that names that come and go do not pile up.
 *
 * @example
 * const metrics = new PrometheusProvider();
 * const queue = new WorkQueue({ name: 'websites', metricsProvider: metrics });
 * queue.add('default/web');
 * console.log(metrics.text()); // workqueue_depth{name="websites"} 1 …
 */
export class PrometheusProvider implements ReadingProvider, MetricsProvider {
  readonly #flavor: Flavor;
  readonly #sources = new Set<QueueSource>();
  readonly #manual = new Map<string, Figures>();
  /** Kept, as Prometheus takes a counter that decreases for a restart. */
  readonly #ended = new Map<string, Figures>();

  /**
   * `flavor`: 'client-go' (the default) has the label `name` and ten buckets, 'controller-runtime'
   * adds the label `controller`, two buckets, the depth of priority queues by the label `priority`,
   * and beyond controller-runtime `workqueue_longest_wait_seconds` by priority.
   */
  constructor(options: { flavor?: Flavor | undefined } = {}) {
    const flavor = options.flavor ?? 'client-go';
    if (flavor !== 'client-go' && flavor !== 'controller-runtime')
      throw invalid('flavor', "'client-go' or 'controller-runtime'", flavor);
    this.#flavor = flavor;
  }

  /** All metrics of all queues, in the text format (version 0.0.4). */
  text(): string {
    const queues = this.#byName();
    const lines: string[] = [];
    const bounds = this.#flavor === 'client-go' ? DURATION_BUCKETS.slice(0, 10) : DURATION_BUCKETS;
    const metric = <V>(
      type: 'counter' | 'gauge' | 'histogram',
      name: string,
      help: string,
      value: (source: QueueSource) => V | undefined,
      write: (labels: string, values: V[]) => Sample[],
    ): void => {
      const samples = queues.flatMap(([queue, sources]) => {
        const values = sources.map(value).filter((each) => each !== undefined);
        return values.length === 0 ? [] : write(this.#labels(queue), values);
      });
      lines.push(...metricFamily(type, `workqueue_${name}`, help, samples));
    };
    const number = (
      type: 'counter' | 'gauge',
      name: string,
      help: string,
      value: (source: QueueSource) => number | undefined,
      fold = add,
    ): void =>
      metric(type, name, help, value, (labels, values) => [[labels, values.reduce(fold, 0)]]);
    const histogram = (
      name: string,
      help: string,
      value: (source: QueueSource) => Histogram | undefined,
    ): void =>
      metric('histogram', name, help, value, (labels, values) => {
        const all = emptyHistogram(DURATION_BUCKETS);
        for (const each of values) addHistogram(all, each);
        return histogramSamples(labels, bounds, all);
      });

    const perPriority = (
      name: string,
      help: string,
      value: (source: QueueSource) => [label: string, value: number][] | undefined,
      fold: (a: number, b: number) => number,
    ): void =>
      metric('gauge', name, help, value, (labels, values) => {
        const series = new Map<string, number>();
        for (const [label, figure] of values.flat())
          series.set(label, fold(series.get(label) ?? 0, figure));
        return [...series].map(([priority, figure]) => [
          `${labels},${labelPairs({ priority })}`,
          figure,
        ]);
      });

    number('counter', 'adds_total', 'Total number of adds handled by workqueue', (s) => s.adds());
    if (this.#flavor === 'client-go')
      number('gauge', 'depth', 'Current depth of workqueue', (s) => s.depth());
    else {
      const levels = new Map(
        [...this.#sources].filter(isAlive).map((source) => [source, source.levels?.()]),
      );
      const each = (
        source: QueueSource,
        figure: (level: LevelFigures) => number,
      ): [string, number][] | undefined =>
        levels
          .get(source)
          ?.map((level, _, all) => [priorityLabel(level, all.length), figure(level)]);
      perPriority(
        'depth',
        'Current depth of workqueue by workqueue and priority',
        (s) => each(s, (level) => level.depth) ?? depthAlone(s),
        add,
      );
      perPriority(
        'longest_wait_seconds',
        'How many seconds the ready item of workqueue that has been ready the longest ' +
          'has been so, by priority.',
        (s) => each(s, (level) => level.longestWaitSeconds),
        Math.max,
      );
    }
    number(
      'gauge',
      'longest_running_processor_seconds',
      'How many seconds has the longest running processor for workqueue been running.',
      (s) => s.longestSeconds(),
      (a, b) => Math.max(a, b),
    );
    histogram(
      'queue_duration_seconds',
      'How long in seconds an item stays in workqueue before being requested.',
      (s) => s.queueSeconds(),
    );
    number('counter', 'retries_total', 'Total number of retries handled by workqueue', (s) =>
      s.retries(),
    );
    number(
      'gauge',
      'unfinished_work_seconds',
      'How many seconds of work has done that is in progress ' +
        "and hasn't been observed by work_duration. Large values indicate stuck threads. " +
        'One can deduce the number of stuck threads by observing the rate ' +
        'at which this increases.',
      (s) => s.unfinishedSeconds(),
    );
    histogram(
      'work_duration_seconds',
      'How long in seconds processing an item from workqueue takes.',
      (s) => s.workSeconds(),
    );
    return expositionText(lines);
  }

  [readsCore](source: QueueSource): () => void {
    this.#sources.add(source);
    return () => {
      if (!this.#sources.delete(source) || !isAlive(source)) return;
      this.#figures(this.#ended, source.name).take(source);
      this.#forgetEndedBefore(source.name);
    };
  }

  /** Not those of a name that a queue has: a counter would go back while it is read. */
  #forgetEndedBefore(last: string): void {
    const used = new Set([last]);
    for (const source of this.#sources)
      if (source !== this.#ended.get(source.name)) used.add(source.name);
    for (const [name, ended] of this.#ended) {
      if (used.has(name)) continue;
      this.#ended.delete(name);
      this.#sources.delete(ended);
    }
  }

  newDepthMetric(name: string): { inc(): void; dec(): void } {
    const source = this.#of(name);
    return { inc: source.counter('depth', 1), dec: source.counter('depth', -1) };
  }

  newAddsMetric(name: string): { inc(): void } {
    return { inc: this.#of(name).counter('adds', 1) };
  }

  newLatencyMetric(name: string): { observe(value: number): void } {
    const counts = this.#of(name).queue();
    return { observe: (value) => observe(DURATION_BUCKETS, counts, value) };
  }

  newWorkDurationMetric(name: string): { observe(value: number): void } {
    const counts = this.#of(name).work();
    return { observe: (value) => observe(DURATION_BUCKETS, counts, value) };
  }

  newUnfinishedWorkSecondsMetric(name: string): { set(value: number): void } {
    return { set: this.#of(name).setter('unfinished') };
  }

  newLongestRunningProcessorSecondsMetric(name: string): { set(value: number): void } {
    return { set: this.#of(name).setter('longest') };
  }

  newRetriesMetric(name: string): { inc(): void } {
    return { inc: this.#of(name).counter('retries', 1) };
  }

  #of(name: string): Figures {
    return this.#figures(this.#manual, name);
  }

  /** The figures of a name, made when they are first asked for. */
  #figures(known: Map<string, Figures>, name: string): Figures {
    let figures = known.get(name);
    if (figures === undefined) {
      figures = new Figures(name);
      known.set(name, figures);
      this.#sources.add(figures);
    }
    return figures;
  }

  #byName(): [string, QueueSource[]][] {
    const groups = new Map<string, QueueSource[]>();
    for (const source of this.#sources) {
      if (!isAlive(source)) continue;
      const group = groups.get(source.name);
      if (group === undefined) groups.set(source.name, [source]);
      else group.push(source);
    }
    return byName(groups);
  }

  #labels(queue: string): string {
    return labelPairs(
      this.#flavor === 'client-go' ? { name: queue } : { controller: queue, name: queue },
    );
  }
}

/** A queue on a poisoned instance has no figures any more; the others keep theirs. */
function isAlive(source: QueueSource): boolean {
  try {
    source.depth();
    return true;
  } catch {
    return false;
  }
}

const add = (a: number, b: number): number => a + b;

/** A queue without priorities has the label too, empty: a metric has the same labels everywhere. */
function depthAlone(source: QueueSource): [string, number][] | undefined {
  const depth = source.depth();
  return depth === undefined ? undefined : [['', depth]];
}

/**
 * controller-runtime pkg/internal/metrics/workqueue.go: no more series than that; a queue with more
 * priorities shows one for all.
 */
const MOST_PRIORITIES = 25;

function priorityLabel({ priority }: LevelFigures, levels: number): string {
  return levels > MOST_PRIORITIES ? 'exceeded_cardinality_limit' : String(priority);
}
