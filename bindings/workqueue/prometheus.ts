/**
 * The queue metrics in Prometheus' text format, with the names, labels, help and buckets of Kubernetes component-base
 * (metrics/prometheus/workqueue) or of controller-runtime. Queues are not slowed down: their counters live in the core and
 * are read when text() is called. Queues of one name are added up.
 */
import { invalid } from '../errors.ts';
import {
  DURATION_BUCKETS,
  type Histogram,
  type MetricsProvider,
  type QueueSource,
  type ReadingProvider,
  readsCore,
} from './metrics.ts';

type Flavor = 'client-go' | 'controller-runtime';

/** Figures that somebody else than our queues reports through the MetricsProvider methods. */
class ManualSource implements QueueSource {
  readonly name: string;
  readonly values = { depth: 0, adds: 0, retries: 0, unfinished: 0, longest: 0 };
  readonly queue = { sum: 0, counts: new Array<number>(DURATION_BUCKETS.length + 1).fill(0) };
  readonly work = { sum: 0, counts: new Array<number>(DURATION_BUCKETS.length + 1).fill(0) };

  constructor(name: string) {
    this.name = name;
  }

  depth = (): number => this.values.depth;
  adds = (): number => this.values.adds;
  retries = (): number => this.values.retries;
  queueSeconds = (): Histogram => this.queue;
  workSeconds = (): Histogram => this.work;
  unfinishedSeconds = (): number => this.values.unfinished;
  longestSeconds = (): number => this.values.longest;
}

function observeIn(histogram: { sum: number; counts: number[] }, value: number): void {
  histogram.sum += value;
  const bucket = DURATION_BUCKETS.findIndex((bound) => value <= bound);
  const at = bucket < 0 ? DURATION_BUCKETS.length : bucket;
  histogram.counts[at] = (histogram.counts[at] as number) + 1;
}

/**
 * Collects the metrics of every named queue that it is given to.
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
  readonly #manual = new Map<string, ManualSource>();

  /** `flavor`: 'client-go' (the default) has the label `name` and ten buckets, 'controller-runtime' adds the label `controller` and two buckets. */
  constructor(options: { flavor?: Flavor } = {}) {
    const flavor = options.flavor ?? 'client-go';
    if (flavor !== 'client-go' && flavor !== 'controller-runtime')
      throw invalid('flavor', "'client-go' or 'controller-runtime'", flavor);
    this.#flavor = flavor;
  }

  /** All metrics of all queues, in the text format (version 0.0.4). */
  text(): string {
    const queues = this.#byName();
    const lines: string[] = [];
    const metric = (
      type: string,
      name: string,
      help: string,
      write: (sources: QueueSource[], labels: string) => void,
    ): void => {
      if (queues.length === 0) return;
      lines.push(`# HELP workqueue_${name} ${help}`, `# TYPE workqueue_${name} ${type}`);
      for (const [queue, sources] of queues) write(sources, this.#labels(queue, name));
    };
    const number = (
      type: string,
      name: string,
      help: string,
      value: (source: QueueSource) => number,
      fold = add,
    ): void =>
      metric(type, name, help, (sources, labels) =>
        lines.push(`workqueue_${name}{${labels}} ${show(sources.map(value).reduce(fold, 0))}`),
      );
    const histogram = (name: string, help: string, value: (source: QueueSource) => Histogram): void =>
      metric('histogram', name, help, (sources, labels) =>
        lines.push(...this.#histogram(name, labels, sources.map(value))),
      );

    number('counter', 'adds_total', 'Total number of adds handled by workqueue', (s) => s.adds());
    number('gauge', 'depth', 'Current depth of workqueue', (s) => s.depth());
    number(
      'gauge',
      'longest_running_processor_seconds',
      'How many seconds has the longest running processor for workqueue been running.',
      (s) => s.longestSeconds(),
      (a, b) => Math.max(a, b),
    );
    histogram('queue_duration_seconds', 'How long in seconds an item stays in workqueue before being requested.', (s) =>
      s.queueSeconds(),
    );
    number('counter', 'retries_total', 'Total number of retries handled by workqueue', (s) => s.retries());
    number(
      'gauge',
      'unfinished_work_seconds',
      "How many seconds of work has done that is in progress and hasn't been observed by work_duration. Large values indicate stuck threads. One can deduce the number of stuck threads by observing the rate at which this increases.",
      (s) => s.unfinishedSeconds(),
    );
    histogram('work_duration_seconds', 'How long in seconds processing an item from workqueue takes.', (s) =>
      s.workSeconds(),
    );
    return lines.length === 0 ? '' : `${lines.join('\n')}\n`;
  }

  [readsCore](source: QueueSource): () => void {
    this.#sources.add(source);
    return () => this.#sources.delete(source);
  }

  newDepthMetric(name: string): { inc(): void; dec(): void } {
    const { values } = this.#of(name);
    return {
      inc: () => void values.depth++,
      dec: () => void values.depth--,
    };
  }

  newAddsMetric(name: string): { inc(): void } {
    const { values } = this.#of(name);
    return { inc: () => void values.adds++ };
  }

  newLatencyMetric(name: string): { observe(value: number): void } {
    const { queue } = this.#of(name);
    return { observe: (value) => observeIn(queue, value) };
  }

  newWorkDurationMetric(name: string): { observe(value: number): void } {
    const { work } = this.#of(name);
    return { observe: (value) => observeIn(work, value) };
  }

  newUnfinishedWorkSecondsMetric(name: string): { set(value: number): void } {
    const { values } = this.#of(name);
    return {
      set: (value) => {
        values.unfinished = value;
      },
    };
  }

  newLongestRunningProcessorSecondsMetric(name: string): { set(value: number): void } {
    const { values } = this.#of(name);
    return {
      set: (value) => {
        values.longest = value;
      },
    };
  }

  newRetriesMetric(name: string): { inc(): void } {
    const { values } = this.#of(name);
    return { inc: () => void values.retries++ };
  }

  #of(name: string): ManualSource {
    let source = this.#manual.get(name);
    if (source === undefined) {
      source = new ManualSource(name);
      this.#manual.set(name, source);
      this.#sources.add(source);
    }
    return source;
  }

  #byName(): [string, QueueSource[]][] {
    const groups = new Map<string, QueueSource[]>();
    for (const source of this.#sources) {
      if (!isAlive(source)) continue;
      const group = groups.get(source.name);
      if (group === undefined) groups.set(source.name, [source]);
      else group.push(source);
    }
    return [...groups].sort(([a], [b]) => (a < b ? -1 : 1));
  }

  #labels(queue: string, metric: string): string {
    const value = escapeLabel(queue);
    if (this.#flavor === 'client-go') return `name="${value}"`;
    const priority = metric === 'depth' ? ',priority=""' : ''; // filled by queues that have priorities
    return `controller="${value}",name="${value}"${priority}`;
  }

  #histogram(name: string, labels: string, values: Histogram[]): string[] {
    const bounds = this.#flavor === 'client-go' ? DURATION_BUCKETS.slice(0, 10) : DURATION_BUCKETS;
    const count = (bucket: number): number =>
      values.reduce((total, value) => total + (value.counts[bucket] as number), 0);
    let below = 0;
    const lines = bounds.map((bound, i) => {
      below += count(i);
      return `workqueue_${name}_bucket{${labels},le="${show(bound)}"} ${below}`;
    });
    for (let i = bounds.length; i <= DURATION_BUCKETS.length; i++) below += count(i);
    return [
      ...lines,
      `workqueue_${name}_bucket{${labels},le="+Inf"} ${below}`,
      `workqueue_${name}_sum{${labels}} ${show(values.reduce((total, value) => total + value.sum, 0))}`,
      `workqueue_${name}_count{${labels}} ${below}`,
    ];
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

/** As Go prints floats: two digits of exponent at least, `1e-08`. */
function show(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  if (value !== 0 && Math.abs(value) < 1e-4) return value.toExponential().replace(/e([+-])(\d)$/, 'e$10$2');
  return String(value);
}

function escapeLabel(label: string): string {
  return label.replace(/[\\"\n]/g, (char) => (char === '\n' ? '\\n' : `\\${char}`));
}
