/**
 * What a controller may be told, and what counts where it is not: its own option, else the
 * manager's, else controller-runtime's default. controller-runtime: pkg/controller/controller.go
 * (TypedOptions, DefaultFromConfig), pkg/builder/controller.go (doController).
 */

import { type Clock, requireClock, systemClock } from '../base/clock.ts';
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
import { SHUTDOWN_MS } from '../cache/informer/informer-options.ts';
import type { Resource } from '../cache/rest/resource.ts';
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
import {
  type RequestQueue,
  requestQueue,
  requireLimiterOfRequests,
  wrapQueue,
} from './request-queue.ts';

/**
 * How a controller works, whatever it watches. Where an option is left out, the manager's
 * `controllerDefaults` count.
 */
export interface ControllerSettings {
  /**
   * In messages, logs and metrics; by default the kind in lower case. With a manager it must be the
   * only one in the process.
   */
  name?: string | undefined;
  /** Lets controllers of a manager share a name. Default false. */
  skipNameValidation?: boolean | undefined;
  /** Workers. Default: the manager's for the group and kind, the manager's, 1. */
  maxConcurrentReconciles?: number | undefined;
  /**
   * Delays of failed requests. Default: 5 ms, doubled by each failure of the request, up to 1000 s;
   * without the priority queue also 10 a second with bursts of 100 for all together.
   */
  rateLimiter?: RateLimiter<Request> | undefined;
  /**
   * Whether requests have priorities, in a `PriorityQueue`; the default. Then those of the initial
   * list and of updates that changed nothing come last (`LowPriority`), a request that comes again
   * keeps its priority, and a result may set another one. `false`: first come, first served, in a
   * `RateLimitingQueue`.
   */
  usePriorityQueue?: boolean | undefined;
  /**
   * Makes the queue, when the controller starts; its `key` must be `requestKey`, else the start
   * fails with CapstanError INVALID_ARGUMENT. Given the controller's name and its rate limiter. The
   * controller shuts it down at the end and leaves it to its maker to dispose of it.
   */
  newQueue?:
    | ((name: string, rateLimiter: RateLimiter<Request>) => RateLimitingQueue<Request>)
    | undefined;
  /**
   * After so many milliseconds the context's signal fires. The call itself is still waited for. 0,
   * the default: never.
   */
  reconciliationTimeout?: number | undefined;
  /**
   * How long the sources may take to start and sync, in milliseconds, before the start fails. 0,
   * the default: two minutes.
   */
  cacheSyncTimeout?: number | undefined;
  /**
   * How long `run` and `stop` wait for calls of handlers and map functions that are under way,
   * their promises included, in milliseconds; reconciles are waited for however long they take.
   * Default 10 000: less than the grace of a manager, so that it can still say which source is
   * late. Then that is reported (code TIMEOUT), and the calls go on. 0: not at all; Infinity: as
   * long as they take.
   */
  shutdownTimeout?: number | undefined;
  /**
   * Whether a mistake in the program is a failure of its request like any other; the default.
   * `false`: what an engine throws for one (a TypeError without a cause, a ReferenceError,
   * RangeError or SyntaxError) ends the controller, and with it the manager. Other errors are no
   * panics, thrown or rejected with: they are how a reconcile function says that it failed.
   */
  recoverPanic?: boolean | undefined;
  /**
   * Whether it reconciles only while this process leads; it matters with a manager that elects.
   * Default true.
   */
  needLeaderElection?: boolean | undefined;
  /**
   * Whether sources start before this process leads, so that it works at once when it does. Default
   * false.
   */
  enableWarmup?: boolean | undefined;
  /**
   * A request waits until its sources have been quiet about it for so many milliseconds. Retries
   * keep their own delays, but none begins in that time either. 0, the default: nothing waits.
   * kube-rs: `Config::debounce`.
   */
  debounceMs?: number | undefined;
  /**
   * How long a request whose sources are never quiet waits at most, in milliseconds from the first
   * event after its last reconcile. Default: ten times `debounceMs`. Infinity: for ever, as in
   * kube-rs.
   */
  debounceMaxMs?: number | undefined;
  /**
   * After so many milliseconds a worker that failed goes on; what it had in hand comes again then.
   * Default 1000. client-go: JitterPeriod.
   */
  restartDelay?: number | undefined;
  /**
   * Where the controller says what it does, failures of reconciles and sources included. Default:
   * the manager's; without any, failures go to the hook of `setErrorHandler` and the rest is not
   * said.
   */
  logger?: Logger | undefined;
  /**
   * Makes the logger of a request, or of the controller itself where there is none; in place of
   * `logger`.
   */
  logConstructor?: ((request: Request | undefined) => Logger) | undefined;
  /** Gets a span for each reconcile. Default: the manager's. */
  tracer?: Tracer | undefined;
  /** Counts the controller's reconciles. Default: the manager's. */
  metrics?: ControllerMetrics | undefined;
  /**
   * Gets the metrics of the controller's queue, under the controller's name. Default: the
   * manager's.
   */
  metricsProvider?: MetricsProvider | undefined;
  /** Default: the manager's, else the host's monotonic clock. */
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

/** The settings that a controller runs with. */
export interface ResolvedSettings {
  readonly name: string;
  /** `Website.demo.capstan.dev`; empty without a resource to reconcile. */
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
  /** Undefined: nobody listens. */
  readonly logOf: ((request: Request | undefined) => Logger) | undefined;
  readonly tracer: Tracer | undefined;
  readonly figures: Figures;
  /** To be called once, when the controller has ended. */
  readonly forgetFigures: () => void;
  readonly clock: Clock;
  readonly newQueue: () => RequestQueue;
}

/** controller-runtime: pkg/controller/controller.go, CacheSyncTimeout. */
const CACHE_SYNC_TIMEOUT_MS = 120_000;
/**
 * client-go: wait.Until's period around workers, as controller-runtime's JitterPeriod was by
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
): ResolvedSettings {
  requireSettings(options, 'options');
  const defaults: ControllerDefaults = manager?.controllerDefaults ?? {};
  requireDefaults(defaults);
  const groupKind = resource === undefined ? '' : groupKindOf(resource);
  const name = options.name ?? resource?.kind.toLowerCase();
  if (name === undefined || name === '') {
    throw invalid(
      'options.name',
      'a name; without one, that of the resource which "for" names',
      name,
    );
  }
  const { debounceMs = 0, debounceMaxMs = 10 * debounceMs } = options;
  if (debounceMaxMs < debounceMs)
    throw invalid(
      'options.debounceMaxMs',
      `at least the ${debounceMs} ms of debounceMs`,
      debounceMaxMs,
    );
  const clock = options.clock ?? manager?.clock ?? systemClock;
  const metrics =
    options.metrics ?? (manager === undefined ? undefined : metricsOfManager(manager));
  return {
    name,
    groupKind,
    clock,
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
    logOf: logsOf(options, manager, name, resource),
    tracer: options.tracer ?? manager?.tracer,
    figures: metrics?.figuresOf(name) ?? new Figures(),
    forgetFigures: () => metrics?.ended(name),
    newQueue: queueOf(options, {
      name,
      clock,
      metricsProvider: options.metricsProvider ?? manager?.queueMetrics,
      hasPriorities: options.usePriorityQueue ?? defaults.usePriorityQueue ?? true,
    }),
  };
}

/** As Kubernetes writes it: `Deployment.apps`, and `Pod` for the core group. */
export function groupKindOf({ group, kind }: Pick<Resource<never>, 'group' | 'kind'>): string {
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
 * Those of a manager, which are checked when a controller takes them: a number of workers that is
 * none would be a controller that never does anything.
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
): ResolvedSettings['logOf'] {
  if (logConstructor !== undefined) {
    return (request) => {
      try {
        const made = logConstructor(request);
        if (typeof made?.info !== 'function') throw invalid('logConstructor()', 'a logger', made);
        return guardedLogger(made);
      } catch (error) {
        handleError(error, `controller "${controller}": logConstructor`);
        return { ...silentLogger, error: (message, fields) => handleError(fields?.error, message) };
      }
    };
  }
  const base = logger ?? manager?.logger;
  if (base === undefined || base === silentLogger) return undefined;
  const own = withFields(guardedLogger(base), {
    controller,
    ...(resource === undefined
      ? {}
      : { controllerGroup: resource.group, controllerKind: resource.kind }),
  });
  return (request) =>
    request === undefined
      ? own
      : withFields(own, { namespace: request.namespace, name: request.name });
}

interface QueueSettings {
  readonly name: string;
  readonly clock: Clock;
  readonly metricsProvider: MetricsProvider | undefined;
  readonly hasPriorities: boolean;
}

function queueOf(
  { newQueue, rateLimiter }: ControllerSettings,
  settings: QueueSettings,
): () => RequestQueue {
  const { hasPriorities, ...queue } = settings;
  const { clock, name } = queue;
  return () => {
    if (rateLimiter !== undefined) requireLimiterOfRequests(rateLimiter, name);
    if (newQueue === undefined) return requestQueue(hasPriorities, rateLimiter, queue);
    const limiter =
      rateLimiter ??
      (hasPriorities
        ? new ItemExponentialFailureRateLimiter<Request>(5, 1_000_000, { key: requestKey, clock })
        : defaultControllerRateLimiter<Request>({ key: requestKey, clock }));
    return wrapQueue(newQueue(name, limiter));
  };
}
