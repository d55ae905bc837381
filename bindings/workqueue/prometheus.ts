/**
 * The queue metrics in Prometheus' text format, with the names, labels, help and buckets of
 * Kubernetes component-base (metrics/prometheus/workqueue) or of controller-runtime. Queues are not
 * slowed down: their counters live in the core and are read when text() is called. Queues of one
 * name are added up.
 */
import { hasCode, invalid } from '../base/errors.ts';
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
  type QueueFigures,
  type QueueSource,
  type ReadingProvider,
  readsCore,
} from './metrics.ts';

type Flavor = 'client-go' | 'controller-runtime';
type NumberName = 'depth' | 'adds' | 'retries' | 'unfinishedSeconds' | 'longestSeconds';
type HistogramName = 'queueSeconds' | 'workSeconds';

/**
 * Figures of a queue name that come from no live queue of this package: those reported through the
 * methods of MetricsProvider, or the counts of disposed queues. A figure that was never requested
 * is undefined.
 */
interface Kept extends QueueSource {
  readonly figures: QueueFigures;
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
  readonly #reported = new Map<string, Kept>();
  /** Kept, as Prometheus takes a counter that decreases for a restart. */
  readonly #ended = new Map<string, Kept>();

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
    const ofControllers = this.#flavor === 'controller-runtime';
    const bounds = ofControllers ? DURATION_BUCKETS : DURATION_BUCKETS.slice(0, 10);
    const lines: string[] = [];
    const metric = <V>(
      type: 'counter' | 'gauge' | 'histogram',
      name: string,
      help: string,
      value: (figures: QueueFigures) => V | undefined,
      write: (labels: string, values: V[]) => Sample[],
    ): void => {
      const samples = queues.flatMap(([queue, all]) => {
        const values = all.map(value).filter((each) => each !== undefined);
        const labels = { ...(ofControllers && { controller: queue }), name: queue };
        return values.length === 0 ? [] : write(labelPairs(labels), values);
      });
      lines.push(...metricFamily(type, `workqueue_${name}`, help, samples));
    };
    const number = (
      type: 'counter' | 'gauge',
      name: string,
      help: string,
      figure: NumberName,
      fold = add,
    ): void =>
      metric(
        type,
        name,
        help,
        (figures) => figures[figure],
        (labels, values) => [[labels, values.reduce((a, b) => fold(a, b), 0)]],
      );
    const histogram = (name: string, help: string, figure: HistogramName): void =>
      metric(
        'histogram',
        name,
        help,
        (figures) => figures[figure],
        (labels, values) => {
          const all = emptyHistogram(DURATION_BUCKETS);
          for (const each of values) addHistogram(all, each);
          return histogramSamples(labels, bounds, all);
        },
      );
    const perPriority = (
      name: string,
      help: string,
      figure: Exclude<keyof LevelFigures, 'priority'>,
      fold: (a: number, b: number) => number,
    ): void =>
      metric('gauge', name, help, levelsOf, (labels, queuesOfName) => {
        const series = new Map<string, number>();
        for (const levels of queuesOfName)
          for (const level of levels) {
            const label = priorityLabel(level, levels.length);
            const value = level[figure];
            if (value !== undefined) series.set(label, fold(series.get(label) ?? 0, value));
          }
        return [...series].map(([priority, value]) => [
          `${labels},${labelPairs({ priority })}`,
          value,
        ]);
      });

    number('counter', 'adds_total', 'Total number of adds handled by workqueue', 'adds');
    if (!ofControllers) number('gauge', 'depth', 'Current depth of workqueue', 'depth');
    else {
      const depthHelp = 'Current depth of workqueue by workqueue and priority';
      perPriority('depth', depthHelp, 'depth', add);
      perPriority(
        'longest_wait_seconds',
        'How many seconds the ready item of workqueue that has been ready the longest ' +
          'has been so, by priority.',
        'longestWaitSeconds',
        Math.max,
      );
    }
    number(
      'gauge',
      'longest_running_processor_seconds',
      'How many seconds has the longest running processor for workqueue been running.',
      'longestSeconds',
      Math.max,
    );
    histogram(
      'queue_duration_seconds',
      'How long in seconds an item stays in workqueue before being requested.',
      'queueSeconds',
    );
    number('counter', 'retries_total', 'Total number of retries handled by workqueue', 'retries');
    number(
      'gauge',
      'unfinished_work_seconds',
      'How many seconds of work has done that is in progress ' +
        "and hasn't been observed by work_duration. Large values indicate stuck threads. " +
        'One can deduce the number of stuck threads by observing the rate ' +
        'at which this increases.',
      'unfinishedSeconds',
    );
    histogram(
      'work_duration_seconds',
      'How long in seconds processing an item from workqueue takes.',
      'workSeconds',
    );
    return expositionText(lines);
  }

  [readsCore](source: QueueSource): () => void {
    this.#sources.add(source);
    return () => {
      const last = this.#sources.delete(source) ? readIfAlive(source) : undefined;
      if (last === undefined) return;
      const { figures } = this.#kept(this.#ended, source.name);
      for (const counter of ['adds', 'retries'] as const)
        if (last[counter] !== undefined) figures[counter] = (figures[counter] ?? 0) + last[counter];
      for (const name of ['queueSeconds', 'workSeconds'] as const)
        if (last[name] !== undefined) addHistogram(histogramOf(figures, name), last[name]);
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
    return { inc: this.#counter(name, 'depth', 1), dec: this.#counter(name, 'depth', -1) };
  }

  newAddsMetric(name: string): { inc(): void } {
    return { inc: this.#counter(name, 'adds', 1) };
  }

  newLatencyMetric(name: string): { observe(value: number): void } {
    return this.#observer(name, 'queueSeconds');
  }

  newWorkDurationMetric(name: string): { observe(value: number): void } {
    return this.#observer(name, 'workSeconds');
  }

  newUnfinishedWorkSecondsMetric(name: string): { set(value: number): void } {
    return this.#setter(name, 'unfinishedSeconds');
  }

  newLongestRunningProcessorSecondsMetric(name: string): { set(value: number): void } {
    return this.#setter(name, 'longestSeconds');
  }

  newRetriesMetric(name: string): { inc(): void } {
    return { inc: this.#counter(name, 'retries', 1) };
  }

  /** Adds to a figure that begins at 0. */
  #counter(name: string, figure: NumberName, by: number): () => void {
    const { figures } = this.#kept(this.#reported, name);
    figures[figure] ??= 0;
    return () => {
      figures[figure] = (figures[figure] ?? 0) + by;
    };
  }

  #setter(name: string, figure: NumberName): { set(value: number): void } {
    const { figures } = this.#kept(this.#reported, name);
    figures[figure] ??= 0;
    return {
      set: (value) => {
        figures[figure] = value;
      },
    };
  }

  #observer(name: string, figure: HistogramName): { observe(value: number): void } {
    const counts = histogramOf(this.#kept(this.#reported, name).figures, figure);
    return { observe: (value) => observe(DURATION_BUCKETS, counts, value) };
  }

  /** The figures of a name, made when they are first asked for. */
  #kept(known: Map<string, Kept>, name: string): Kept {
    let kept = known.get(name);
    if (kept === undefined) {
      const figures: QueueFigures = {};
      kept = { name, figures, read: () => figures };
      known.set(name, kept);
      this.#sources.add(kept);
    }
    return kept;
  }

  #byName(): [string, QueueFigures[]][] {
    const groups = new Map<string, QueueFigures[]>();
    for (const source of this.#sources) {
      const figures = readIfAlive(source);
      const group = groups.get(source.name);
      if (figures === undefined) continue;
      if (group === undefined) groups.set(source.name, [figures]);
      else group.push(figures);
    }
    return byName(groups);
  }
}

/** A queue on a poisoned instance has no figures any more; the others keep theirs. */
function readIfAlive(source: QueueSource): QueueFigures | undefined {
  try {
    return source.read();
  } catch (error) {
    if (hasCode(error, 'POISONED')) return undefined;
    throw error;
  }
}

const add = (a: number, b: number): number => a + b;

function histogramOf(figures: QueueFigures, name: HistogramName): Histogram {
  figures[name] ??= emptyHistogram(DURATION_BUCKETS);
  return figures[name];
}

/**
 * controller-runtime pkg/internal/metrics/workqueue.go: no more series than that; a queue with more
 * priorities shows one for all.
 */
const MOST_PRIORITIES = 25;

/** A queue without priorities has the label too, empty: a metric has the same labels everywhere. */
function levelsOf({ levels, depth }: QueueFigures): readonly LevelFigures[] | undefined {
  return levels ?? (depth === undefined ? undefined : [{ priority: undefined, depth }]);
}

function priorityLabel({ priority }: LevelFigures, levels: number): string {
  return levels > MOST_PRIORITIES ? 'exceeded_cardinality_limit' : String(priority ?? '');
}
