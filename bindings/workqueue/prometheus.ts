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
  type Histogram,
  labelPairs,
  MetricsText,
  observe,
} from '../base/exposition.ts';
import { namesOf, requireNames } from '../base/names.ts';
import {
  DURATION_BUCKETS,
  type LevelFigures,
  type Metric,
  type MetricsProvider,
  type QueueFigures,
  type QueueSource,
  type ReadingProvider,
  readsCore,
} from './metrics.ts';

type Flavor = 'client-go' | 'controller-runtime';
type NumberName = 'depth' | 'adds' | 'retries' | 'unfinishedSeconds' | 'longestSeconds';
type HistogramName = 'queueSeconds' | 'workSeconds';

/** The figures of all queues of one name. */
interface Sums extends QueueFigures {
  /** By the label `priority`. */
  readonly priorities: Map<string, LevelFigures>;
}

const OPTION_NAMES = namesOf<{ flavor?: Flavor | undefined }>()({ flavor: 1 });

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
  // The next two have, by name, figures that are not read from a live queue of this package. A
  // figure that was never reported is undefined.
  /** Figures that came through the methods of MetricsProvider. */
  readonly #reported = new Map<string, QueueSource>();
  /** The counts of disposed queues, as Prometheus takes a counter that decreases for a restart. */
  readonly #ended = new Map<string, QueueSource>();

  /**
   * `flavor`: 'client-go' (the default) has the label `name` and ten buckets, 'controller-runtime'
   * adds the label `controller`, two buckets, the depth of priority queues by the label `priority`,
   * and beyond controller-runtime `workqueue_longest_wait_seconds` by priority.
   */
  constructor(options: { flavor?: Flavor | undefined } = {}) {
    requireNames('options', options, 'option of a PrometheusProvider', OPTION_NAMES);
    const flavor = options.flavor ?? 'client-go';
    if (flavor !== 'client-go' && flavor !== 'controller-runtime')
      throw invalid('flavor', "'client-go' or 'controller-runtime'", flavor);
    this.#flavor = flavor;
  }

  /** All metrics of all queues, in the text format (version 0.0.4). */
  text(): string {
    const ofControllers = this.#flavor === 'controller-runtime';
    const bounds = ofControllers ? DURATION_BUCKETS : DURATION_BUCKETS.slice(0, 10);
    const text = new MetricsText(
      byName(this.#sums(ofControllers)).map(([name, sums]) => [
        labelPairs({ ...(ofControllers && { controller: name }), name }),
        sums,
      ]),
    );
    const number = (type: 'counter' | 'gauge', name: string, help: string, of: NumberName): void =>
      text.number(type, `workqueue_${name}`, help, (sums) => sums[of]);
    const histogram = (name: string, help: string, of: HistogramName): void =>
      text.histogram(`workqueue_${name}`, help, bounds, (sums) => sums[of]);
    const perPriority = (name: string, help: string, of: 'depth' | 'longestWaitSeconds'): void =>
      text.samples('gauge', `workqueue_${name}`, help, ({ priorities }, labels) =>
        [...priorities].flatMap(([priority, { [of]: value }]) =>
          value === undefined ? [] : [[`${labels},${labelPairs({ priority })}`, value]],
        ),
      );

    number('counter', 'adds_total', 'Total number of adds handled by workqueue', 'adds');
    if (!ofControllers) number('gauge', 'depth', 'Current depth of workqueue', 'depth');
    else {
      const depthHelp = 'Current depth of workqueue by workqueue and priority';
      perPriority('depth', depthHelp, 'depth');
      perPriority(
        'longest_wait_seconds',
        'How many seconds the ready item of workqueue that has been ready the longest ' +
          'has been so, by priority.',
        'longestWaitSeconds',
      );
    }
    number(
      'gauge',
      'longest_running_processor_seconds',
      'How many seconds has the longest running processor for workqueue been running.',
      'longestSeconds',
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
    return text.toString();
  }

  [readsCore](source: QueueSource): () => void {
    this.#sources.add(source);
    return () => {
      const last = this.#sources.delete(source) ? readIfAlive(source) : undefined;
      if (last === undefined) return;
      addUp(this.#kept(this.#ended, source.name), last, ['adds', 'retries']);
      this.#forgetEndedBefore(source.name);
    };
  }

  /**
   * Drops the counts of ended queues of other names. Those of a name that a queue still has stay:
   * its counters would decrease.
   */
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

  newDepthMetric(name: string): Pick<Metric, 'inc' | 'dec'> {
    return this.#number(name, 'depth');
  }

  newAddsMetric(name: string): Pick<Metric, 'inc'> {
    return this.#number(name, 'adds');
  }

  newLatencyMetric(name: string): Pick<Metric, 'observe'> {
    return this.#observer(name, 'queueSeconds');
  }

  newWorkDurationMetric(name: string): Pick<Metric, 'observe'> {
    return this.#observer(name, 'workSeconds');
  }

  newUnfinishedWorkSecondsMetric(name: string): Pick<Metric, 'set'> {
    return this.#number(name, 'unfinishedSeconds');
  }

  newLongestRunningProcessorSecondsMetric(name: string): Pick<Metric, 'set'> {
    return this.#number(name, 'longestSeconds');
  }

  newRetriesMetric(name: string): Pick<Metric, 'inc'> {
    return this.#number(name, 'retries');
  }

  /** A figure that begins at 0. */
  #number(name: string, figure: NumberName): Pick<Metric, 'inc' | 'dec' | 'set'> {
    const figures = this.#kept(this.#reported, name);
    const set = (value: number): void => {
      figures[figure] = value;
    };
    set(figures[figure] ?? 0);
    const add = (by: number): void => set((figures[figure] ?? 0) + by);
    return { inc: () => add(1), dec: () => add(-1), set };
  }

  #observer(name: string, figure: HistogramName): Pick<Metric, 'observe'> {
    const counts = histogramOf(this.#kept(this.#reported, name), figure);
    return { observe: (value) => observe(DURATION_BUCKETS, counts, value) };
  }

  /** The figures of a name, made when they are first asked for. */
  #kept(known: Map<string, QueueSource>, name: string): QueueFigures {
    let kept = known.get(name);
    if (kept === undefined) {
      const figures: QueueFigures = {};
      kept = { name, read: () => figures };
      known.set(name, kept);
      this.#sources.add(kept);
    }
    return kept.read();
  }

  #sums(withPriorities: boolean): Map<string, Sums> {
    const names = new Map<string, Sums>();
    for (const source of this.#sources) {
      const figures = readIfAlive(source);
      if (figures === undefined) continue;
      const sums: Sums = names.get(source.name) ?? { priorities: new Map() };
      names.set(source.name, sums);
      addUp(sums, figures, ['adds', 'depth', 'longestSeconds', 'retries', 'unfinishedSeconds']);
      if (withPriorities) addLevels(sums.priorities, figures);
    }
    return names;
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

/** Two figures as one; if a queue lacks its figure, the other one. */
function folded(by: (a: number, b: number) => number, a?: number, b?: number): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : by(a, b);
}

const add = (a: number, b: number): number => a + b;

/** Adds some figures of a queue, and its histograms, to those of its name. */
function addUp(into: QueueFigures, from: QueueFigures, numbers: readonly NumberName[]): void {
  for (const name of numbers)
    into[name] = folded(name === 'longestSeconds' ? Math.max : add, into[name], from[name]);
  for (const name of ['queueSeconds', 'workSeconds'] as const)
    if (from[name] !== undefined) addHistogram(histogramOf(into, name), from[name]);
}

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
function addLevels(into: Map<string, LevelFigures>, { levels, depth }: QueueFigures): void {
  const all: readonly LevelFigures[] = levels ?? (depth === undefined ? [] : [{ depth }]);
  for (const level of all) {
    const label =
      all.length > MOST_PRIORITIES ? 'exceeded_cardinality_limit' : String(level.priority ?? '');
    const sum = into.get(label);
    into.set(label, {
      depth: level.depth + (sum?.depth ?? 0),
      longestWaitSeconds: folded(Math.max, sum?.longestWaitSeconds, level.longestWaitSeconds),
    });
  }
}
