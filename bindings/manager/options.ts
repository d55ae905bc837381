/**
 * The options of a manager, with their defaults, and their checks. controller-runtime:
 * pkg/manager/manager.go Options.
 */

import { type Clock, requireClock, systemClock } from '../base/clock.ts';
import { invalid, requireFunction, requireNumber, requireObject } from '../base/errors.ts';
import { guardedLogger, type Logger, requireLogger, silentLogger } from '../base/logger.ts';
import { namesOf, requireNames } from '../base/names.ts';
import type { FactoryOptions, Transport } from '../cache/index.ts';
import { FACTORY_NAMES } from '../cache/informer/factory.ts';
import { OWN_CLIENT_NAMES } from '../client/client.ts';
import { type Client, type ClientOptions, newClient } from '../client/index.ts';
import type { ControllerDefaults, Tracer } from '../controller/index.ts';
import { DEFAULT_NAMES } from '../controller/manager.ts';
import type { LeaderElectorOptions, ResourceLock } from '../leaderelection/index.ts';
import { isLoopback, parseBindAddress } from './bind-address.ts';
import type { Certificates } from './certificates.ts';
import type { HTTPHandler } from './router.ts';

/** controller-runtime: pkg/manager/internal.go defaultGracefulShutdownPeriod. */
const GRACEFUL_SHUTDOWN_MS = 30_000;

/** Times are milliseconds. */
export interface LeaderElectionOptions
  extends Pick<LeaderElectorOptions, 'maxClockSkewRatio' | 'recorder' | 'random' | 'wallNow'> {
  /** The name of the Lease; every program needs its own. */
  id: string;
  /** The namespace of the Lease. Default: that of the pod. */
  namespace?: string | undefined;
  /** How long the others wait before they take the lease. Default 15 000. */
  leaseDuration?: number | undefined;
  /** How long a leader tries to renew before it gives up. Default 10 000. */
  renewDeadline?: number | undefined;
  /** How long to wait between two tries. Default 2000. */
  retryPeriod?: number | undefined;
  /**
   * Whether the lease is given away when the manager ends, so that the next leader need not wait
   * for it to run out. It is given away once everything that the leader runs has ended, and else
   * left to run out. Default false.
   */
  releaseOnCancel?: boolean | undefined;
  /**
   * When leading ends: `'lapse'`, the default, as soon as the own lease can no longer be relied
   * upon; `'deadline'`, as client-go does, when it could not be renewed for `renewDeadline`, even
   * if another has taken it. With `'lapse'` a process whose lease has run out sends nothing any
   * more but GET and HEAD through the manager's transport, its client included: such calls reject
   * with CapstanError ABORTED, also those of what needs no election, as the manager is ending.
   */
  stepDown?: LeaderElectorOptions['stepDown'] | undefined;
  /**
   * Which candidate this is; default the name of the host, where it may be read, and something
   * random.
   */
  identity?: string | undefined;
  /** Labels of the Lease. */
  labels?: Readonly<Record<string, string>> | undefined;
  /** In place of a Lease; `id` is then a name for messages and metrics alone. */
  lock?: ResourceLock | undefined;
}

/** Where probes are answered. */
export interface HealthProbeOptions {
  /**
   * Where `/healthz` and `/readyz` are served; default `'0'`, nowhere. Kubelets ask from outside of
   * the pod: `:8081`.
   */
  bindAddress?: string | undefined;
  /** Default `/readyz`. */
  readinessEndpointName?: string | undefined;
  /** Default `/healthz`. */
  livenessEndpointName?: string | undefined;
}

/** Where metrics are served, and to whom. */
export interface MetricsOptions {
  /** Where `/metrics` is served; default `'0'`, nowhere (controller-runtime: `:8080`). */
  bindAddress?: string | undefined;
  /**
   * Key and certificate, for https; a function that gives them is asked again each ten seconds. See
   * {@link certificateFiles}.
   */
  tls?: Certificates | undefined;
  /** Further paths of the server, as by `addMetricsServerExtraHandler`. */
  extraHandlers?: Readonly<Record<string, HTTPHandler>> | undefined;
  /**
   * Asked before metrics and extra handlers, and before the live page and profiles on the same
   * address: resolves with true to let a request pass, or answers
   * it (401, 403) and resolves with false. See {@link withAuthenticationAndAuthorization}.
   */
  filter?: ((...exchange: Parameters<HTTPHandler>) => boolean | Promise<boolean>) | undefined;
}

/** Where profiles are served. */
export interface ProfilingOptions {
  /** Where `/debug/pprof/` is served, such as `127.0.0.1:6060`; default `'0'`, nowhere. */
  bindAddress?: string | undefined;
  /**
   * Allows an address that other machines can reach. Profiles hold what is in memory: secrets too.
   * Default false.
   */
  allowRemote?: boolean | undefined;
}

/** The live page, on an address of its own. */
export interface DebugPageOptions {
  /** Where `/debug/capstan` is served, such as `127.0.0.1:8082`. */
  bindAddress: string;
  /** Allows an address that other machines can reach. There is no authentication. Default false. */
  allowRemote?: boolean | undefined;
  /** Names under which it may be opened besides `localhost` and IP addresses. Default none. */
  hosts?: readonly string[] | undefined;
}

/**
 * Bind addresses are as in Go: `:8080`, `127.0.0.1:0`, `[::1]:8080`, `'0'` for none. What has the
 * same address shares a server.
 */
export interface ManagerOptions {
  /** The way to the API server; see `kubeConfigTransport` of `capstan/client-node`. */
  transport: Transport;
  /** Of all informers: namespace, selections by resource, what is dropped, limits. */
  cache?: FactoryOptions | undefined;
  /**
   * Of the client, which reads from the cache and writes through the transport: field owner, rate
   * limit, what is not cached.
   */
  client?: Omit<ClientOptions, 'transport' | 'cache'> | undefined;
  /** Makes the client in another way, such as one with interceptors. */
  newClient?: ((options: ClientOptions) => Client) | undefined;
  /**
   * Where the manager says what it does, and with it its controllers, their sources, its client
   * (warnings of the server), its event recorders (what is lost) and its informers: what their
   * lists and watches meet, unless `cache.watchErrorHandler` is set. By default nothing is said;
   * all errors then go to the hook of `setErrorHandler` of `capstan/workqueue`, which otherwise
   * gets those of your own functions that know no logger, such as a handler of an informer.
   * `console` will do; for pino see `pinoLogger` of `capstan/controller`.
   */
  logger?: Logger | undefined;
  /**
   * Gets a span for each reconcile: a tracer of @opentelemetry/api, such as
   * `trace.getTracer('website-controller')`.
   */
  tracer?: Tracer | undefined;
  clock?: Clock | undefined;
  /**
   * Milliseconds since 1970, for the times that its event recorders and its lease show. Nothing is
   * measured by it. Default: the system's.
   */
  wallNow?: (() => number) | undefined;
  /** Holds for all controllers that do not say otherwise. */
  controller?: ControllerDefaults | undefined;
  /** Leader election by a Lease; without it this process leads from the start. */
  leaderElection?: LeaderElectionOptions | undefined;
  /**
   * How long runnables may take to end, in milliseconds: 30 000 by default; below 0 as long as they
   * take, 0 not at all. Where the lease is lost they get no time: another process may lead already.
   */
  gracefulShutdownTimeout?: number | undefined;
  healthProbe?: HealthProbeOptions | undefined;
  metrics?: MetricsOptions | undefined;
  profiling?: ProfilingOptions | undefined;
  /**
   * The live page at `/debug/capstan`. By default it is on the server of the metrics where that can
   * be reached from this machine alone; `true`: also elsewhere, where `metrics.filter` is set;
   * `false`: nowhere. On the address of the metrics their filter is asked for it.
   */
  debugPage?: boolean | DebugPageOptions | undefined;
}

const ELECTION_NAMES = namesOf<LeaderElectionOptions>()({
  id: 1,
  namespace: 1,
  leaseDuration: 1,
  renewDeadline: 1,
  retryPeriod: 1,
  releaseOnCancel: 1,
  stepDown: 1,
  identity: 1,
  labels: 1,
  lock: 1,
  maxClockSkewRatio: 1,
  recorder: 1,
  random: 1,
  wallNow: 1,
});

const MANAGER_NAMES = namesOf<ManagerOptions>()({
  transport: 1,
  cache: FACTORY_NAMES,
  client: OWN_CLIENT_NAMES,
  newClient: 1,
  logger: 1,
  tracer: 1,
  clock: 1,
  wallNow: 1,
  controller: DEFAULT_NAMES,
  leaderElection: ELECTION_NAMES,
  gracefulShutdownTimeout: 1,
  healthProbe: namesOf<HealthProbeOptions>()({
    bindAddress: 1,
    readinessEndpointName: 1,
    livenessEndpointName: 1,
  }),
  metrics: namesOf<MetricsOptions>()({ bindAddress: 1, tls: 1, extraHandlers: 1, filter: 1 }),
  profiling: namesOf<ProfilingOptions>()({ bindAddress: 1, allowRemote: 1 }),
  debugPage: namesOf<DebugPageOptions>()({ bindAddress: 1, allowRemote: 1, hosts: 1 }),
});

export type ManagerSettings = ManagerOptions &
  Required<
    Pick<
      ManagerOptions,
      | 'cache'
      | 'client'
      | 'newClient'
      | 'logger'
      | 'clock'
      | 'controller'
      | 'gracefulShutdownTimeout'
      | 'healthProbe'
      | 'metrics'
      | 'profiling'
    >
  >;

/** Throws CapstanError INVALID_ARGUMENT. */
export function resolveOptions(options: ManagerOptions): ManagerSettings {
  requireNames('options', options, 'option of newManager()', MANAGER_NAMES);
  requireFunction(
    'options.transport.request',
    (options.transport as Partial<Transport> | undefined)?.request,
  );
  const settings = {
    ...options,
    cache: options.cache ?? {},
    client: options.client ?? {},
    newClient: options.newClient ?? newClient,
    logger: options.logger ?? silentLogger,
    clock: options.clock ?? systemClock,
    controller: options.controller ?? {},
    gracefulShutdownTimeout: options.gracefulShutdownTimeout ?? GRACEFUL_SHUTDOWN_MS,
    healthProbe: options.healthProbe ?? {},
    metrics: options.metrics ?? {},
    profiling: options.profiling ?? {},
  };
  for (const name of [
    'cache',
    'client',
    'controller',
    'healthProbe',
    'metrics',
    'profiling',
  ] as const)
    requireObject(`options.${name}`, settings[name]);
  requireLogger('options.logger', settings.logger);
  settings.logger = guardedLogger(settings.logger);
  requireClock('options.clock', settings.clock);
  if (options.wallNow !== undefined) requireFunction('options.wallNow', options.wallNow);
  requireNumber('options.gracefulShutdownTimeout', settings.gracefulShutdownTimeout);
  requireFunction('options.newClient', settings.newClient);
  if (options.tracer !== undefined)
    requireFunction('options.tracer.startActiveSpan', options.tracer?.startActiveSpan);
  if (settings.metrics.filter !== undefined)
    requireFunction('options.metrics.filter', settings.metrics.filter);
  parseBindAddress('options.healthProbe.bindAddress', settings.healthProbe.bindAddress);
  parseBindAddress('options.metrics.bindAddress', settings.metrics.bindAddress);
  requireLocal(
    'options.profiling',
    settings.profiling,
    'profiles hold what is in memory, secrets too',
  );
  const { debugPage } = options;
  const { metrics } = settings;
  if (debugPage === true) requireGuarded(metrics);
  else if (typeof debugPage === 'object' && debugPage !== null)
    requireLocal('options.debugPage', debugPage, 'the page names all objects');
  else if (debugPage !== undefined && typeof debugPage !== 'boolean')
    throw invalid('options.debugPage', 'true, false or { bindAddress }', debugPage);
  return settings;
}

/** The live page on the metrics' address has no authentication of its own. */
function requireGuarded({ bindAddress, filter }: MetricsOptions): void {
  const bind = parseBindAddress('options.metrics.bindAddress', bindAddress);
  if (bind === undefined || filter !== undefined || isLoopback(bind.host)) return;
  throw invalid(
    'options.debugPage',
    `false, or metrics.filter to be set, which is asked for the page too, or { bindAddress: "127.0.0.1:${bind.port + 1}" } for this machine alone, or { bindAddress, allowRemote: true }: other machines reach the metrics at "${bindAddress}", and the page names all objects`,
    true,
  );
}

/** An address that other machines can reach has to be asked for by name. */
function requireLocal(
  name: string,
  { bindAddress, allowRemote }: ProfilingOptions,
  why: string,
): void {
  if (allowRemote !== undefined && typeof allowRemote !== 'boolean')
    throw invalid(`${name}.allowRemote`, 'true or false', allowRemote);
  const bind = parseBindAddress(`${name}.bindAddress`, bindAddress);
  if (bind === undefined || allowRemote || isLoopback(bind.host)) return;
  throw invalid(
    `${name}.bindAddress`,
    `an address of this machine alone, such as "127.0.0.1:${bind.port}", or allowRemote: true beside it (${why})`,
    bindAddress,
  );
}
