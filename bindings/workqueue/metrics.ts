/**
 * client-go's seven queue metrics. Two ways, one set of figures:
 *
 * - a user's MetricsProvider is called at each operation, as in client-go
 *   util/workqueue/metrics.go;
 * - a provider with the `readsCore` method (PrometheusProvider) gets a source and reads the core's
 *   counters at scrape time.
 *
 * Depth follows client-go: a key counts from the moment it is to be handed out, also while it is
 * still being processed. A priority queue has a depth per priority, as in controller-runtime
 * pkg/controller/priorityqueue/metrics.go.
 */
import type { Clock } from '../base/clock.ts';
import { invalid, requireFunction } from '../base/errors.ts';
import type { Histogram } from '../base/exposition.ts';
import { handleError, tell } from '../base/handle-error.ts';
import { isThenable } from '../base/wait.ts';
import { type Core, STATS_ADDS, STATS_BUCKETS, STATS_WAITS, STATS_WORKS } from '../wasm/core.ts';

/** The methods of client-go's metrics. A metric of `MetricsProvider` has one or two of them. */
export interface Metric {
  inc(): void;
  dec(): void;
  set(value: number): void;
  observe(value: number): void;
}

/** client-go's `workqueue.MetricsProvider`. Durations are in seconds, as the metrics' names say. */
export interface MetricsProvider {
  newDepthMetric(name: string): Pick<Metric, 'inc' | 'dec'>;
  newAddsMetric(name: string): Pick<Metric, 'inc'>;
  newLatencyMetric(name: string): Pick<Metric, 'observe'>;
  newWorkDurationMetric(name: string): Pick<Metric, 'observe'>;
  newUnfinishedWorkSecondsMetric(name: string): Pick<Metric, 'set'>;
  newLongestRunningProcessorSecondsMetric(name: string): Pick<Metric, 'set'>;
  newRetriesMetric(name: string): Pick<Metric, 'inc'>;
  /**
   * The depth of a priority queue, per priority; asked for in place of `newDepthMetric`.
   * controller-runtime: `MetricsProviderWithPriority`. A key whose priority is raised is one `dec`
   * and one `inc`.
   */
  newDepthMetricWithPriority?(name: string): PriorityDepth;
}

/** The depth of a priority queue by priority. */
export interface PriorityDepth {
  inc(priority: number): void;
  dec(priority: number): void;
}

/**
 * Bounds of the buckets that the core counts in seconds: component-base's ten and
 * controller-runtime's twelve share them. Two are a bit below a power of ten because
 * prometheus.ExponentialBuckets(10e-9, 10, …) multiplies in float64, and `le` is compared as
 * text.
 */
export const DURATION_BUCKETS: readonly number[] = [
  1e-8, 1e-7, 1e-6, 9.999999999999999e-6, 9.999999999999999e-5, 1e-3, 1e-2, 1e-1, 1, 10, 100, 1000,
];

/** The ready keys of one priority; in a queue without priorities, all of them. */
export interface LevelFigures {
  readonly priority?: number | undefined;
  readonly depth: number;
  /** How many seconds the key has been ready that has been so the longest; 0 when none is ready. */
  readonly longestWaitSeconds?: number | undefined;
}

/** The figures of one queue at one moment; `undefined` for what that queue does not have. */
export interface QueueFigures {
  depth?: number | undefined;
  adds?: number | undefined;
  retries?: number | undefined;
  queueSeconds?: Histogram | undefined;
  workSeconds?: Histogram | undefined;
  unfinishedSeconds?: number | undefined;
  longestSeconds?: number | undefined;
  /** Per priority, the lowest first; only priority queues have them. */
  levels?: readonly LevelFigures[] | undefined;
}

/** Reads the figures of one queue. Throws when its core is poisoned. */
export interface QueueSource {
  readonly name: string;
  read(): QueueFigures;
}

/** A provider that reads sources instead of being called. The function it returns ends that. */
export const readsCore: unique symbol = Symbol('capstan.readsCore');
export interface ReadingProvider extends MetricsProvider {
  [readsCore](source: QueueSource): () => void;
}

/** The metrics of a queue; with a meter if the provider is called for each operation. */
export interface QueueMetrics {
  readonly meter?: CallingMeter;
  /** The counter of retries, which only queues with delays have. */
  newRetries(): Counter;
  dispose(): void;
}

type Counter = Pick<Metric, 'inc'>;

const UNFINISHED_WORK_PERIOD_MS = 500;
const METHODS = [
  'newDepthMetric',
  'newAddsMetric',
  'newLatencyMetric',
  'newWorkDurationMetric',
  'newUnfinishedWorkSecondsMetric',
  'newLongestRunningProcessorSecondsMetric',
  'newRetriesMetric',
] as const;

/** What a meter needs of its queue. */
export interface Metered {
  readonly name: string;
  readonly core: Core;
  readonly handle: number;
  readonly clock: Clock;
  readonly hasLevels: boolean;
}

export function metricsFor(provider: MetricsProvider, queue: Metered): QueueMetrics {
  for (const method of METHODS) requireFunction(`metricsProvider.${method}`, provider[method]);
  if (readsCore in provider) return readBy(provider as ReadingProvider, queue);
  const { newDepthMetricWithPriority: withPriority } = provider;
  if (withPriority !== undefined)
    requireFunction('metricsProvider.newDepthMetricWithPriority', withPriority);
  const meter = new CallingMeter(provider, queue);
  return {
    meter,
    newRetries: () => guarded(madeBy(provider, 'newRetriesMetric', queue.name)),
    dispose: () => meter.stop(),
  };
}

/** The retries of a queue with delays. A queue that wraps another has no other metric. */
export function retriesCounter(
  provider: MetricsProvider | undefined,
  name: string | undefined,
  metrics: QueueMetrics | undefined,
): Counter | undefined {
  if (metrics !== undefined) return metrics.newRetries();
  if (provider === undefined || !name) return undefined;
  requireFunction('metricsProvider.newRetriesMetric', provider.newRetriesMetric);
  return guarded(madeBy(provider, 'newRetriesMetric', name));
}

const nothing = (): void => undefined;
/** In place of a metric that could not be made. */
const NO_METRIC = { inc: nothing, dec: nothing, set: nothing, observe: nothing };

type Made = keyof Omit<MetricsProvider, symbol>;

/** Makes a metric. A provider that throws, or gives none, is reported: the queue works without. */
function madeBy<M extends Made>(
  provider: MetricsProvider,
  method: M,
  name: string,
): ReturnType<NonNullable<MetricsProvider[M]>> {
  type Metrics = ReturnType<NonNullable<MetricsProvider[M]>>;
  try {
    const metric: unknown = provider[method]?.(name);
    if (Object(metric) === metric && !isThenable(metric)) return metric as Metrics;
    throw invalid(`metricsProvider.${method}()`, 'a metric', metric);
  } catch (error) {
    handleError(error, 'metrics provider');
    return NO_METRIC as Metrics;
  }
}

function guarded(metric: Counter): Counter {
  return { inc: () => call(() => metric.inc()) };
}

/**
 * Calls one metric of the user's. What it throws or rejects with is reported, and the operation
 * goes on.
 */
function call(run: () => unknown): void {
  tell(run, 'metrics provider');
}

/** A provider that reads the counters of the core when it is asked for its figures. */
function readBy(provider: ReadingProvider, queue: Metered): QueueMetrics {
  const { name, core, handle, clock, hasLevels } = queue;
  let retries: number | undefined;
  const read = (): QueueFigures => {
    const start = core.exports.queueStats(handle) >>> 3;
    const stats = core.doubles();
    // A histogram is a sum, the buckets, and the count of what is above the last bound.
    const histogram = (first: number): Histogram => {
      const values = stats.slice(start + first, start + first + 1 + STATS_BUCKETS + 1);
      return { sum: values[0] as number, counts: [...values.subarray(1)] };
    };
    // The clock is the user's and may throw: it is read for the figures that need it.
    let levels: LevelFigures[] | undefined;
    return {
      adds: stats[start + STATS_ADDS],
      retries,
      queueSeconds: histogram(STATS_WAITS),
      workSeconds: histogram(STATS_WORKS),
      depth: core.exports.queueDepth(handle),
      get unfinishedSeconds() {
        return core.exports.queueUnfinished(handle, clock.now());
      },
      get longestSeconds() {
        return core.exports.queueLongest(handle, clock.now());
      },
      get levels() {
        if (hasLevels) levels ??= levelsOf(core, handle, clock.now());
        return levels;
      },
    };
  };
  const newRetries = (): Counter => {
    retries = 0;
    return {
      inc() {
        retries = (retries ?? 0) + 1;
      },
    };
  };
  return { newRetries, dispose: provider[readsCore]({ name, read }) };
}

function levelsOf(core: Core, handle: number, now: number): LevelFigures[] {
  return Array.from({ length: core.exports.levelsSurvey(handle) }, (_, i) => ({
    priority: core.exports.levelPriority(handle, i),
    depth: core.exports.levelDepth(handle, i),
    longestWaitSeconds: core.exports.levelLongest(handle, i, now),
  }));
}

/** In a queue without priorities, or for a provider that knows none, one depth is counted. */
function depthOf(provider: MetricsProvider, { name, hasLevels }: Metered): PriorityDepth {
  if (hasLevels && provider.newDepthMetricWithPriority !== undefined)
    return madeBy(provider, 'newDepthMetricWithPriority', name);
  const depth = madeBy(provider, 'newDepthMetric', name);
  return { inc: () => depth.inc(), dec: () => depth.dec() };
}

/** Calls a user's metrics at each operation, and the clock for their sake. */
export class CallingMeter {
  readonly #metrics;
  readonly #perPriority: boolean;
  readonly #queue: Metered;
  #processing = 0;
  #stopped = false;
  #timer: unknown;

  constructor(provider: MetricsProvider, queue: Metered) {
    const { name } = queue;
    this.#perPriority = queue.hasLevels && provider.newDepthMetricWithPriority !== undefined;
    this.#metrics = {
      depth: depthOf(provider, queue),
      adds: madeBy(provider, 'newAddsMetric', name),
      latency: madeBy(provider, 'newLatencyMetric', name),
      work: madeBy(provider, 'newWorkDurationMetric', name),
      unfinished: madeBy(provider, 'newUnfinishedWorkSecondsMetric', name),
      longest: madeBy(provider, 'newLongestRunningProcessorSecondsMetric', name),
    };
    this.#queue = queue;
  }

  added(priority: number): void {
    call(() => this.#metrics.adds.inc());
    call(() => this.#metrics.depth.inc(priority));
  }

  raised(from: number, to: number): void {
    if (!this.#perPriority) return;
    call(() => this.#metrics.depth.dec(from));
    call(() => this.#metrics.depth.inc(to));
  }

  /**
   * Returns the call that reports the item taken last. The times are read now: the receiver of the
   * item may take another one before that call.
   */
  taken(): () => void {
    const { exports } = this.#queue.core;
    const waitSeconds = exports.queueLastWait();
    const priority = exports.priorityTaken();
    return () => {
      call(() => this.#metrics.depth.dec(priority));
      call(() => this.#metrics.latency.observe(waitSeconds));
      this.#processing++;
      call(() => this.#tickLater());
    };
  }

  done(workSeconds: number): void {
    this.#processing--;
    call(() => this.#metrics.work.observe(workSeconds));
  }

  stop(): void {
    this.#stopped = true;
    const timer = this.#timer;
    this.#timer = undefined;
    if (timer !== undefined) call(() => this.#queue.clock.clearTimer(timer));
  }

  /**
   * Sets the gauges later. client-go does so for ever; here a timer runs only while something is
   * processed, and once more to set the gauges to 0, so that no timer outlives the work.
   */
  #tickLater(): void {
    if (this.#stopped) return;
    const { core, handle, clock } = this.#queue;
    this.#timer ??= clock.setTimer(() => {
      if (this.#stopped) return; // clearTimer threw
      this.#timer = undefined;
      const { unfinished, longest } = this.#metrics;
      call(() => unfinished.set(core.exports.queueUnfinished(handle, clock.now())));
      call(() => longest.set(core.exports.queueLongest(handle, clock.now())));
      if (this.#processing > 0) call(() => this.#tickLater());
    }, UNFINISHED_WORK_PERIOD_MS);
  }
}
