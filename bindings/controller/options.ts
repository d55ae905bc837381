/**
 * The options of a controller, their checks and their defaults. The order is: the controller's
 * option, the manager's `controllerDefaults`, controller-runtime's default. controller-runtime:
 * pkg/controller/controller.go (TypedOptions, DefaultFromConfig), pkg/builder/controller.go
 * (doController).
 */

import { type Clock, requireClock, systemClock, wallNowOf } from '../base/clock.ts';
import { inPlaceOfConsole } from '../base/console-logger.ts';
import {
  invalid,
  requireBoolean,
  requireFunction,
  requireInteger,
  requireMs,
  requireObject,
  requireString,
} from '../base/errors.ts';
import { handleError } from '../base/handle-error.ts';
import {
  guardedLogger,
  type Logger,
  requireLogger,
  silentLogger,
  withFields,
} from '../base/logger.ts';
import { namesOf } from '../base/names.ts';
import { type Request, requestKey } from '../base/request.ts';
import type { Resource } from '../base/resource.ts';
import { SHUTDOWN_MS } from '../cache/informer/informer-options.ts';
import {
  defaultControllerRateLimiter,
  ItemExponentialFailureRateLimiter,
  type MetricsProvider,
  type RateLimiter,
  type RateLimitingQueue,
} from '../workqueue/index.ts';
import { checkLimiter } from '../workqueue/limiters.ts';
import type { ControllerDefaults, Manager, Tracer } from './manager.ts';
import {
  type ControllerMetrics,
  Figures,
  metricsOfManager,
  requireControllerMetrics,
} from './metrics.ts';
import { RequestCarrier, type RequestType, requestFields } from './own-requests.ts';
import {
  type RequestQueue,
  requestQueue,
  requireLimiterOfRequests,
  wrapQueue,
} from './request-queue.ts';

/**
 * Options of a controller that do not depend on what it watches. Defaults come from the manager's
 * `controllerDefaults`, then from controller-runtime. All times are in milliseconds.
 * controller-runtime: controller.TypedOptions.
 */
export interface ControllerSettings<R = Request> {
  /**
   * The name in messages, logs and metrics. Default: the kind in lower case. With a manager it must
   * be unique in the process.
   */
  name?: string | undefined;
  /** Allows controllers of a manager to share a name. Default false. */
  skipNameValidation?: boolean | undefined;
  /**
   * The number of workers. Default: the manager's `groupKindConcurrency`, its
   * `maxConcurrentReconciles`, or 1.
   */
  maxConcurrentReconciles?: number | undefined;
  /**
   * Computes the delays of failed requests. Default: 5 ms, doubled with each failure of the
   * request, at most 1000 s. Without the priority queue the default also allows only 10 retries a
   * second for all requests together, with bursts of 100.
   */
  rateLimiter?: RateLimiter<R> | undefined;
  /**
   * Uses a `PriorityQueue`. Default true: requests of the initial list and of updates without a
   * change get `LowPriority`, a request that comes again keeps its priority, and a result may set
   * one. False: a `RateLimitingQueue`, first in, first out.
   */
  usePriorityQueue?: boolean | undefined;
  /**
   * Makes the queue when the controller starts. It gets the controller's name and rate limiter. The
   * queue's `key` option must be `requestKey`, or the `key` of the option `request`; otherwise the
   * start fails with CapstanError INVALID_ARGUMENT. The controller shuts the queue down when it
   * ends; disposing of it is up to the caller.
   */
  newQueue?: ((name: string, rateLimiter: RateLimiter<R>) => RateLimitingQueue<R>) | undefined;
  /**
   * Fires the signal of a reconcile after this many milliseconds. The worker still waits until the
   * call has settled. Default 0: no limit.
   */
  reconciliationTimeout?: number | undefined;
  /**
   * The time within which all sources must start and sync, in milliseconds. After it the start
   * fails with CACHE_SYNC_TIMEOUT. Default 0: two minutes.
   */
  cacheSyncTimeout?: number | undefined;
  /**
   * How long `run` and `stop` wait for running calls of handlers and map functions, promises
   * included, in milliseconds. Then they report which sources are late (code TIMEOUT) and leave the
   * calls running. Reconciles are awaited without a limit. 0: do not wait; Infinity: no limit.
   * Default 10 000, which is less than the manager's `gracefulShutdownTimeout`, so that the report
   * still comes.
   */
  shutdownTimeout?: number | undefined;
  /**
   * Treats a bug in the reconcile function as a failure of its request. Default true. False: an
   * error that the JavaScript engine throws (a ReferenceError, RangeError, SyntaxError, or a
   * TypeError without a cause) ends the controller, and with it the manager. Other errors are
   * failures of the request in both cases.
   */
  recoverPanic?: boolean | undefined;
  /**
   * Reconciles only while this process leads. It takes effect with a manager that has an election.
   * Default true.
   */
  needLeaderElection?: boolean | undefined;
  /**
   * Starts the sources before this process leads, so that workers begin without waiting for the
   * caches. Default false. controller-runtime: EnableWarmup.
   */
  enableWarmup?: boolean | undefined;
  /**
   * Delays a request until its sources have not added it for this many milliseconds. A retry keeps
   * its own delay, but also waits while the request is delayed. Default 0: no delay. kube-rs:
   * `Config::debounce`.
   */
  debounceMs?: number | undefined;
  /**
   * The longest delay by `debounceMs`, in milliseconds from the first event after the last
   * reconcile of the request. Default: ten times `debounceMs`. Infinity: no limit, as in kube-rs.
   */
  debounceMaxMs?: number | undefined;
  /**
   * The time after which a worker that failed continues, in milliseconds; the request that it had
   * taken is added again with the same delay. Default 1000. client-go: JitterPeriod.
   */
  restartDelay?: number | undefined;
  /**
   * Logs what the controller does, with failures of reconciles and sources. Default: the manager's
   * logger. Without one, failures go to the function set with `setErrorHandler`.
   */
  logger?: Logger | undefined;
  /**
   * Makes the logger of a request. It is called with `undefined` for the logger of the controller
   * itself. Takes precedence over `logger`.
   */
  logConstructor?: ((request: R | undefined) => Logger) | undefined;
  /** Gets a span for each reconcile. Default: the manager's tracer. */
  tracer?: Tracer | undefined;
  /** Counts the reconciles. Default: the manager's metrics. */
  metrics?: ControllerMetrics | undefined;
  /** Receives the metrics of the queue, under the controller's name. Default: the manager's. */
  metricsProvider?: MetricsProvider | undefined;
  /** The clock of delays and of `context.now()`. Default: the manager's, or the host's. */
  clock?: Clock | undefined;
}

export const SETTING_NAMES = namesOf<ControllerSettings>()({
  name: 1,
  skipNameValidation: 1,
  maxConcurrentReconciles: 1,
  rateLimiter: 1,
  usePriorityQueue: 1,
  newQueue: 1,
  reconciliationTimeout: 1,
  cacheSyncTimeout: 1,
  recoverPanic: 1,
  needLeaderElection: 1,
  enableWarmup: 1,
  debounceMs: 1,
  debounceMaxMs: 1,
  restartDelay: 1,
  logger: 1,
  logConstructor: 1,
  tracer: 1,
  metrics: 1,
  metricsProvider: 1,
  clock: 1,
  shutdownTimeout: 1,
});

/** The options of a controller with all defaults filled in. */
export interface ResolvedSettings {
  readonly name: string;
  /** `Website.demo.capstan.dev`; empty without `for`. */
  readonly groupKind: string;
  readonly skipNameValidation: boolean;
  readonly workers: number;
  readonly reconciliationTimeout: number;
  readonly cacheSyncTimeout: number;
  readonly shutdownTimeout: number;
  readonly recoverPanic: boolean;
  readonly needLeaderElection: boolean;
  readonly enableWarmup: boolean;
  readonly debounceMs: number;
  readonly debounceMaxMs: number;
  readonly restartDelay: number;
  /** Undefined: the requests are ordinary ones. */
  readonly carrier: RequestCarrier<Request> | undefined;
  /** Undefined: there is no logger. */
  readonly logOf: ((request: Request | undefined) => Logger) | undefined;
  readonly tracer: Tracer | undefined;
  readonly figures: Figures;
  /** Call once, when the controller has ended. */
  readonly forgetFigures: () => void;
  readonly clock: Clock;
  readonly wallNow: () => number;
  readonly newQueue: () => RequestQueue;
}

/** controller-runtime: pkg/controller/controller.go, CacheSyncTimeout. */
const CACHE_SYNC_TIMEOUT_MS = 120_000;
/**
 * client-go: the period of wait.Until around workers; controller-runtime's JitterPeriod had this
 * default.
 */
const RESTART_MS = 1000;

const FLAGS = [
  'skipNameValidation',
  'usePriorityQueue',
  'recoverPanic',
  'needLeaderElection',
  'enableWarmup',
] as const satisfies (keyof ControllerSettings)[];
const TIMES = [
  'reconciliationTimeout',
  'cacheSyncTimeout',
  'shutdownTimeout',
  'debounceMs',
  'debounceMaxMs',
  'restartDelay',
] as const satisfies (keyof ControllerSettings)[];

/** Throws CapstanError INVALID_ARGUMENT. */
export function resolveSettings(
  options: ControllerSettings,
  resource: Resource<never, string> | undefined,
  manager: Manager | undefined,
  type?: RequestType<Request>,
): ResolvedSettings {
  requireSettings(options, 'options');
  const defaults: ControllerDefaults = manager?.controllerDefaults ?? {};
  requireDefaults(defaults);
  const groupKind = resource === undefined ? '' : groupKindOf(resource);
  const name = options.name ?? resource?.kind.toLowerCase();
  if (name === undefined || name === '') {
    throw invalid('options.name', 'a name, or "for", whose kind is the default', name);
  }
  const { debounceMs = 0, debounceMaxMs = 10 * debounceMs } = options;
  if (debounceMaxMs < debounceMs)
    throw invalid(
      'options.debounceMaxMs',
      `at least the ${debounceMs} ms of debounceMs`,
      debounceMaxMs,
    );
  const clock = options.clock ?? manager?.clock ?? systemClock;
  const carrier = type && new RequestCarrier(type);
  const metrics =
    options.metrics ?? (manager === undefined ? undefined : metricsOfManager(manager));
  return {
    name,
    groupKind,
    clock,
    wallNow: options.clock === undefined ? wallNowOfManager(manager) : wallNowOf(options.clock),
    skipNameValidation: options.skipNameValidation ?? defaults.skipNameValidation ?? false,
    workers:
      options.maxConcurrentReconciles ??
      defaults.groupKindConcurrency?.[groupKind] ??
      defaults.maxConcurrentReconciles ??
      1,
    reconciliationTimeout: options.reconciliationTimeout || defaults.reconciliationTimeout || 0,
    cacheSyncTimeout:
      options.cacheSyncTimeout || defaults.cacheSyncTimeout || CACHE_SYNC_TIMEOUT_MS,
    shutdownTimeout: options.shutdownTimeout ?? defaults.shutdownTimeout ?? SHUTDOWN_MS,
    recoverPanic: options.recoverPanic ?? defaults.recoverPanic ?? true,
    needLeaderElection: options.needLeaderElection ?? defaults.needLeaderElection ?? true,
    enableWarmup: options.enableWarmup ?? defaults.enableWarmup ?? false,
    debounceMs,
    debounceMaxMs,
    restartDelay: options.restartDelay ?? RESTART_MS,
    carrier,
    logOf: logsOf(options, manager, name, resource, carrier),
    tracer: options.tracer ?? manager?.tracer,
    figures: metrics?.figuresOf(name) ?? new Figures(),
    forgetFigures: () => metrics?.ended(name),
    newQueue: queueOf(options, {
      name,
      clock,
      metricsProvider: options.metricsProvider ?? manager?.queueMetrics,
      hasPriorities: options.usePriorityQueue ?? defaults.usePriorityQueue ?? true,
      key: type?.key ?? requestKey,
      carrier,
    }),
  };
}

const wallNowOfManager = (manager: Manager | undefined): (() => number) =>
  manager?.wallNow ?? wallNowOf(manager?.clock);

/** The format of Kubernetes: `Deployment.apps`, or `Pod` for the core group. */
function groupKindOf({ group, kind }: Pick<Resource<never>, 'group' | 'kind'>): string {
  return group === '' ? kind : `${kind}.${group}`;
}

function requireSettings(options: ControllerSettings, where: string): void {
  if (options.name !== undefined) requireString(`${where}.name`, options.name);
  if (options.maxConcurrentReconciles !== undefined)
    requireInteger(`${where}.maxConcurrentReconciles`, options.maxConcurrentReconciles, 1);
  for (const flag of FLAGS) requireBoolean(`${where}.${flag}`, options[flag]);
  for (const time of TIMES) requireMs(`${where}.${time}`, options[time] ?? 0);
  requireClock(`${where}.clock`, options.clock);
  if (options.rateLimiter !== undefined) checkLimiter(`${where}.rateLimiter`, options.rateLimiter);
  if (options.newQueue !== undefined) requireFunction(`${where}.newQueue`, options.newQueue);
  if (options.logger !== undefined) requireLogger(`${where}.logger`, options.logger);
  if (options.logConstructor !== undefined)
    requireFunction(`${where}.logConstructor`, options.logConstructor);
  if (options.tracer !== undefined)
    requireFunction(`${where}.tracer.startActiveSpan`, options.tracer?.startActiveSpan);
  if (options.metrics !== undefined) requireControllerMetrics(`${where}.metrics`, options.metrics);
  if (options.metricsProvider !== undefined)
    requireObject(`${where}.metricsProvider`, options.metricsProvider);
}

/**
 * Checks the manager's defaults when a controller uses them: with an invalid number of workers the
 * controller would never reconcile.
 */
function requireDefaults(defaults: ControllerDefaults): void {
  const where = 'manager.controllerDefaults';
  requireSettings(defaults, where);
  for (const [groupKind, workers] of Object.entries(defaults.groupKindConcurrency ?? {})) {
    requireInteger(`${where}.groupKindConcurrency["${groupKind}"]`, workers, 1);
  }
}

function logsOf(
  { logger, logConstructor }: ControllerSettings,
  manager: Manager | undefined,
  controller: string,
  resource: Resource<never, string> | undefined,
  carrier: RequestCarrier<Request> | undefined,
): ResolvedSettings['logOf'] {
  if (logConstructor !== undefined) {
    return (request) => {
      try {
        const made = logConstructor(request && (carrier?.own(request) ?? request));
        if (typeof made?.info !== 'function') throw invalid('logConstructor()', 'a logger', made);
        return guardedLogger(inPlaceOfConsole(made));
      } catch (error) {
        handleError(error, `controller "${controller}": logConstructor`);
        return { ...silentLogger, error: (message, fields) => handleError(fields?.error, message) };
      }
    };
  }
  const base = logger ?? manager?.logger;
  if (base === undefined || base === silentLogger) return undefined;
  const own = withFields(guardedLogger(inPlaceOfConsole(base)), {
    controller,
    ...(resource === undefined
      ? {}
      : { controllerGroup: resource.group, controllerKind: resource.kind }),
  });
  return (request) => (request === undefined ? own : withFields(own, requestFields(request)));
}

interface QueueSettings {
  readonly name: string;
  readonly clock: Clock;
  readonly metricsProvider: MetricsProvider | undefined;
  readonly hasPriorities: boolean;
  readonly key: (request: Request) => string;
  readonly carrier: RequestCarrier<Request> | undefined;
}

function queueOf(
  { newQueue, rateLimiter }: ControllerSettings,
  settings: QueueSettings,
): () => RequestQueue {
  const { hasPriorities, key, carrier, ...queue } = settings;
  const { clock, name } = queue;
  return () => {
    if (rateLimiter !== undefined && carrier === undefined)
      requireLimiterOfRequests(rateLimiter, name);
    if (newQueue === undefined) return requestQueue(hasPriorities, rateLimiter, queue, carrier);
    const limiter =
      rateLimiter ??
      (hasPriorities
        ? new ItemExponentialFailureRateLimiter<Request>(5, 1_000_000, { key, clock })
        : defaultControllerRateLimiter<Request>({ key, clock }));
    return wrapQueue(newQueue(name, limiter), carrier);
  };
}
