/**
 * The metrics of controllers, with controller-runtime's names, labels, help texts and buckets. A
 * controller counts in plain fields; the text is made on each scrape. Controllers with the same
 * name add to the same figures. controller-runtime: pkg/internal/controller/metrics/metrics.go.
 *
 * To add a metric: a field in {@link Figures}, its lines in `text`, and the place that counts it
 * (runner.ts). Metrics that controller-runtime does not have begin with `capstan_controller_`.
 */
import { invalid, requireObject } from '../base/errors.ts';
import {
  byName,
  emptyHistogram,
  type Histogram,
  labelPairs,
  MetricsText,
  observe,
} from '../base/exposition.ts';
import type { Collector } from './manager.ts';

/** In seconds. */
const TIME_BUCKETS: readonly number[] = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1,
  1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
];

/** The counters of the controllers with one name. */
export class Figures {
  /** How many running controllers have this name. */
  users = 0;
  success = 0;
  requeue = 0;
  requeueAfter = 0;
  errors = 0;
  terminal = 0;
  hotLoopWrites = 0;
  panics = 0;
  timeouts = 0;
  workers = 0;
  active = 0;
  readonly time: Histogram = emptyHistogram(TIME_BUCKETS);

  observe(ms: number): void {
    observe(TIME_BUCKETS, this.time, ms / 1000);
  }
}

/**
 * Collects the metrics of controllers, such as `controller_runtime_reconcile_total`. Controllers of
 * a manager share one collector, which the manager serves at `/metrics`. Without a manager, make
 * one and pass it as the option `metrics`.
 *
 * The series of a controller that has ended stay until another one ends, so that they can be
 * scraped once more. If its name is used again later, its counters start at 0, which Prometheus'
 * `rate` and `increase` handle as a restart. Reconciles that were aborted by the end of their
 * controller are not counted.
 *
 * @example
 * const metrics = new ControllerMetrics();
 * const controller = createController({ transport, for: Website, metrics, reconcile: () => {} });
 * // controller_runtime_reconcile_total{controller="website",result="success"} 0 …
 * console.log(metrics.text());
 */
export class ControllerMetrics implements Collector {
  readonly #byName = new Map<string, Figures>();

  /** @internal The figures that a controller of this name counts in. */
  figuresOf(name: string): Figures {
    let figures = this.#byName.get(name);
    if (figures === undefined) {
      figures = new Figures();
      this.#byName.set(name, figures);
    }
    figures.users++;
    return figures;
  }

  /** @internal Told once for each `figuresOf`, when that controller has ended. */
  ended(name: string): void {
    const figures = this.#byName.get(name);
    if (figures === undefined || --figures.users > 0) return;
    for (const [other, { users }] of this.#byName)
      if (users === 0 && other !== name) this.#byName.delete(other);
  }

  /** In Prometheus' text format 0.0.4. Empty if there is no controller. */
  text(): string {
    const text = new MetricsText(
      byName(this.#byName).map(([controller, f]) => [labelPairs({ controller }), f]),
    );
    text.number(
      'gauge',
      'controller_runtime_active_workers',
      'Number of currently used workers per controller',
      (f) => f.active,
    );
    text.number(
      'gauge',
      'controller_runtime_max_concurrent_reconciles',
      'Maximum number of concurrent reconciles per controller',
      (f) => f.workers,
    );
    text.number(
      'counter',
      'controller_runtime_reconcile_errors_total',
      'Total number of reconciliation errors per controller',
      (f) => f.errors,
    );
    text.number(
      'counter',
      'controller_runtime_reconcile_panics_total',
      'Total number of reconciliation panics per controller',
      (f) => f.panics,
    );
    text.histogram(
      'controller_runtime_reconcile_time_seconds',
      'Length of time per reconciliation per controller',
      TIME_BUCKETS,
      (f) => f.time,
    );
    text.number(
      'counter',
      'controller_runtime_reconcile_timeouts_total',
      'Total number of reconciliation timeouts per controller',
      (f) => f.timeouts,
    );
    text.samples(
      'counter',
      'controller_runtime_reconcile_total',
      'Total number of reconciliations per controller',
      (f, labels) =>
        Object.entries({
          error: f.errors,
          requeue: f.requeue,
          requeue_after: f.requeueAfter,
          success: f.success,
        }).map(([result, value]) => [`${labels},result="${result}"`, value]),
    );
    text.number(
      'counter',
      'controller_runtime_terminal_reconcile_errors_total',
      'Total number of terminal reconciliation errors per controller',
      (f) => f.terminal,
    );
    text.number(
      'counter',
      'capstan_controller_hot_loop_writes_total',
      'Total number of writes that changed nothing and led to the next one',
      (f) => f.hotLoopWrites,
    );
    return text.toString();
  }
}

const ofManagers = new WeakMap<object, ControllerMetrics>();

/** The collector that all controllers of a manager share, so that each metric has one header. */
export function metricsOfManager(manager: object): ControllerMetrics {
  let metrics = ofManagers.get(manager);
  if (metrics === undefined) {
    metrics = new ControllerMetrics();
    ofManagers.set(manager, metrics);
  }
  return metrics;
}

/** Throws CapstanError INVALID_ARGUMENT. */
export function requireControllerMetrics(name: string, metrics: unknown): void {
  requireObject(name, metrics);
  if (typeof (metrics as Partial<ControllerMetrics>).figuresOf !== 'function')
    throw invalid(name, 'a ControllerMetrics', metrics);
}
