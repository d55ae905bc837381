/**
 * What controllers need of a manager, and what a manager runs. The manager itself, with its servers
 * and signals, is in `capstan/manager`; controllers know it by this interface alone, so that they
 * run where there is no `node:` module. controller-runtime: pkg/manager/manager.go.
 */

import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/logger.ts';
import { namesOf } from '../base/names.ts';
import type { SharedInformerFactory } from '../cache/informer/factory.ts';
import type { Transport } from '../cache/rest/transport.ts';
import type { Client } from '../client/types.ts';
import type { MetricsProvider } from '../workqueue/index.ts';
import type { ControllerReport } from './report.ts';

/** Something that a manager starts and ends. */
export interface Runnable {
  /** In messages and reports. */
  readonly name?: string;
  /**
   * Runs until the signal fires, and resolves when it has ended. A rejection ends the manager, with
   * that error.
   */
  start(options: { signal: AbortSignal }): Promise<void>;
  /** Whether it runs only while this process leads. Default true, as in controller-runtime. */
  needLeaderElection?(): boolean;
  /**
   * Called before this process leads, to prepare; resolves when prepared. controller-runtime:
   * manager.warmupRunnable.
   */
  warmup?(options: { signal: AbortSignal }): Promise<void>;
  /**
   * Called in place of `start` where the manager ends before it would have called that, and waited
   * for as that would be: gives back what the runnable holds. Its errors are reported.
   */
  discard?(): void | Promise<void>;
  /** What the manager's page shows of it. */
  report?(options: ReportOptions): ControllerReport;
}

export const RUNNABLE_NAMES = namesOf<Runnable>()({
  name: 1,
  start: 1,
  needLeaderElection: 1,
  warmup: 1,
  discard: 1,
  report: 1,
});

/** How much a report says. */
export interface ReportOptions {
  /** Only keys whose `namespace/name` contains this text. */
  readonly filter?: string | undefined;
  /** How many keys and runs at most. Default 100. */
  readonly limit?: number | undefined;
  /**
   * Among how many keys the most telling are chosen: what runs, what fails, what is ready, what is
   * due soonest. Default `limit`: the first ones.
   */
  readonly among?: number | undefined;
}

export const REPORT_NAMES = namesOf<ReportOptions>()({ filter: 1, limit: 1, among: 1 });

/**
 * A part that has metrics in Prometheus' text format. While one fails, or takes longer than ten
 * seconds, `/metrics` is an error that names it.
 */
export interface Collector {
  /** In messages. */
  readonly name?: string;
  text(): string | Promise<string>;
}

/**
 * Options that hold for all controllers of a manager unless they say otherwise. controller-runtime:
 * pkg/config/controller.go.
 */
export interface ControllerDefaults {
  readonly skipNameValidation?: boolean | undefined;
  /** By kind and group, such as `Deployment.apps`; `Pod` for the core group. */
  readonly groupKindConcurrency?: Readonly<Record<string, number>> | undefined;
  readonly maxConcurrentReconciles?: number | undefined;
  /** Milliseconds. */
  readonly shutdownTimeout?: number | undefined;
  /** Milliseconds. */
  readonly cacheSyncTimeout?: number | undefined;
  readonly recoverPanic?: boolean | undefined;
  readonly needLeaderElection?: boolean | undefined;
  readonly enableWarmup?: boolean | undefined;
  readonly usePriorityQueue?: boolean | undefined;
  /** Milliseconds. */
  readonly reconciliationTimeout?: number | undefined;
}

export const DEFAULT_NAMES = namesOf<ControllerDefaults>()({
  skipNameValidation: 1,
  groupKindConcurrency: 1,
  maxConcurrentReconciles: 1,
  cacheSyncTimeout: 1,
  recoverPanic: 1,
  needLeaderElection: 1,
  enableWarmup: 1,
  usePriorityQueue: 1,
  reconciliationTimeout: 1,
  shutdownTimeout: 1,
});

/** An OpenTelemetry tracer, by the parts that are used, so that nothing depends on it. */
export interface Tracer {
  startActiveSpan<R>(
    name: string,
    options: { attributes?: Record<string, string | number | boolean> | undefined },
    run: (span: Span) => R,
  ): R;
}

/** An OpenTelemetry span, by the parts that are used. */
export interface Span {
  setAttribute(name: string, value: string | number | boolean): unknown;
  recordException(error: Error): void;
  /** 2 is an error, as in @opentelemetry/api. */
  setStatus(status: { code: number; message?: string }): unknown;
  end(): void;
}

/**
 * What controllers need of a manager. The one of `capstan/manager` runs them with servers and
 * signals; another may stand in for it where there is no Node.
 */
export interface Manager {
  readonly transport: Transport;
  /** One informer for each resource, shared by all; started by the manager. */
  readonly cache: SharedInformerFactory;
  /** Reads from `cache`, writes through `transport`. */
  readonly client: Client;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly tracer?: Tracer | undefined;
  readonly controllerDefaults: ControllerDefaults;
  /** Gets the metrics of the queues. */
  readonly queueMetrics?: MetricsProvider | undefined;
  /**
   * Starts with the manager, or at once if that has started. Throws CapstanError STOPPED once the
   * manager is ending.
   */
  add(runnable: Runnable): void;
  /**
   * Adds to what `/metrics` answers; the same collector twice counts once. Of a series that several
   * have, the first one's counts.
   *
   * @example
   * import { register } from 'prom-client';
   *
   * manager.addCollector({ name: 'prom-client', text: () => register.metrics() });
   */
  addCollector(collector: Collector): void;
  /**
   * Resolves when this process leads, at the start where there is no election. Never rejects; stays
   * pending if that never happens.
   */
  elected(): Promise<void>;
  /**
   * Whether this process may begin something that only the leader does, by its own monotonic clock
   * at this moment: true where there is no election. A controller asks before each reconcile.
   */
  holdsLease(): boolean;
}
