/**
 * The manager as controllers see it, and the runnables that a manager runs. `capstan/manager` has
 * the implementation with servers and signals. Controllers use only this interface, so that they
 * also run without `node:` modules. controller-runtime: pkg/manager/manager.go.
 */

import type { Clock } from '../base/clock.ts';
import { requireFunction, requireObject } from '../base/errors.ts';
import type { Logger } from '../base/logger.ts';
import { namesOf } from '../base/names.ts';
import type { SharedInformerFactory } from '../cache/informer/factory.ts';
import type { Transport } from '../cache/rest/transport.ts';
import type { Client } from '../client/types.ts';
import type { MetricsProvider } from '../workqueue/index.ts';
import type { ControllerReport } from './report.ts';
import type { ShardGate } from './shards.ts';

/** A component that a manager starts and stops. */
export interface Runnable {
  /** Shown in messages and reports. */
  readonly name?: string;
  /**
   * Runs until the signal fires, and resolves when it has ended. If it rejects, the manager stops
   * and rejects with that error.
   */
  start(options: { signal: AbortSignal }): Promise<void>;
  /** Whether it runs only while this process leads. Default true, as in controller-runtime. */
  needLeaderElection?(): boolean;
  /**
   * Called before this process leads; resolves when the runnable is prepared. controller-runtime:
   * manager.warmupRunnable.
   */
  warmup?(options: { signal: AbortSignal }): Promise<void>;
  /**
   * Called instead of `start` if the manager stops before it has started the runnable. Releases
   * what the runnable holds. The manager waits for it as for `start` and reports its errors.
   */
  discard?(): void | Promise<void>;
  /** The entry of this runnable in the manager's report. */
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

/** Options of a report. */
export interface ReportOptions {
  /** Lists only requests whose `namespace/name` contains this text. */
  readonly filter?: string | undefined;
  /** The most requests and runs that a report lists. Default 100. */
  readonly limit?: number | undefined;
  /**
   * How many requests are ranked to choose the `limit` that are listed: running, then failing, then
   * ready, then the next to become ready. Default `limit`, which lists the first ones.
   */
  readonly among?: number | undefined;
}

export const REPORT_NAMES = namesOf<ReportOptions>()({ filter: 1, limit: 1, among: 1 });

/**
 * A source of metrics in Prometheus' text format. If it throws, rejects or takes longer than ten
 * seconds, `/metrics` responds with an error that names it.
 */
export interface Collector {
  /** Shown in messages. */
  readonly name?: string;
  text(): string | Promise<string>;
}

/**
 * Defaults for all controllers of a manager. An option of a controller takes precedence.
 * controller-runtime: pkg/config/controller.go.
 */
export interface ControllerDefaults {
  readonly skipNameValidation?: boolean | undefined;
  /** Workers by kind and group, such as `Deployment.apps`, or `Pod` for the core group. */
  readonly groupKindConcurrency?: Readonly<Record<string, number>> | undefined;
  readonly maxConcurrentReconciles?: number | undefined;
  /** In milliseconds. */
  readonly shutdownTimeout?: number | undefined;
  /** In milliseconds. */
  readonly cacheSyncTimeout?: number | undefined;
  readonly recoverPanic?: boolean | undefined;
  readonly needLeaderElection?: boolean | undefined;
  readonly enableWarmup?: boolean | undefined;
  readonly usePriorityQueue?: boolean | undefined;
  /** In milliseconds. */
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

/**
 * The part of an OpenTelemetry tracer that is used. The package does not depend on OpenTelemetry.
 */
export interface Tracer {
  startActiveSpan<R>(
    name: string,
    options: { attributes?: Record<string, string | number | boolean> | undefined },
    run: (span: Span) => R,
  ): R;
}

/** The part of an OpenTelemetry span that is used. */
export interface Span {
  setAttribute(name: string, value: string | number | boolean): unknown;
  recordException(error: Error): void;
  /** `code` 2 is an error: SpanStatusCode.ERROR of @opentelemetry/api. */
  setStatus(status: { code: number; message?: string }): unknown;
  end(): void;
}

/**
 * The manager as controllers use it. `newManager` of `capstan/manager` returns one for Node; other
 * hosts may implement the interface themselves.
 */
export interface Manager {
  readonly transport: Transport;
  /** Informers, one for each resource, shared by all controllers. The manager starts them. */
  readonly cache: SharedInformerFactory;
  /** Reads from `cache` and writes through `transport`. */
  readonly client: Client;
  readonly logger: Logger;
  readonly clock: Clock;
  /**
   * Returns the time of day in milliseconds since 1970 for `context.now()`. Default: the clock's.
   */
  readonly wallNow?: (() => number) | undefined;
  readonly tracer?: Tracer | undefined;
  readonly controllerDefaults: ControllerDefaults;
  /** Receives the metrics of the controllers' queues. */
  readonly queueMetrics?: MetricsProvider | undefined;
  /**
   * Adds a runnable. It starts with the manager, or at once if the manager has started.
   *
   * @throws CapstanError INVALID_ARGUMENT; STOPPED if the manager is stopping
   */
  add(runnable: Runnable): void;
  /**
   * Adds a collector to the response of `/metrics`. Adding the same collector again has no effect.
   * If several collectors have the same series, the first one's value is shown.
   *
   * @example
   * import { register } from 'prom-client';
   *
   * manager.addCollector({ name: 'prom-client', text: () => register.metrics() });
   */
  addCollector(collector: Collector): void;
  /**
   * Resolves when this process leads; without an election, when the manager has started. Never
   * rejects, and stays pending if this process never leads.
   */
  elected(): Promise<void>;
  /**
   * Whether this process holds a valid lease now, by its own monotonic clock. Always true without
   * an election. A controller checks it before each reconcile.
   */
  holdsLease(): boolean;
  /**
   * Which objects this process reconciles, if replicas share them: see the option `shards` of
   * `newManager`. Absent: all of them.
   */
  readonly shards?: ShardGate | undefined;
}

/** Throws CapstanError INVALID_ARGUMENT for a value in place of a manager. */
export function requireManager(name: string, manager: unknown): void {
  requireObject(name, manager);
  for (const method of ['add', 'addCollector', 'holdsLease'] as const)
    requireFunction(`${name}.${method}`, (manager as Manager)[method]);
}
