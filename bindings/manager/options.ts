/**
 * The options of a manager, their checks and their defaults. controller-runtime:
 * pkg/manager/manager.go Options.
 *
 * To add an option: its interface, its list of names, its default and check in `resolveOptions`,
 * and, if it has a default, `ManagerSettings`.
 */

import { type Clock, requireClock, systemClock } from '../base/clock.ts';
import { inPlaceOfConsole } from '../base/console-logger.ts';
import { invalid, requireFunction, requireNumber, requireObject } from '../base/errors.ts';
import { guardedLogger, type Logger, requireLogger, silentLogger } from '../base/logger.ts';
import { namesOf, requireNames } from '../base/names.ts';
import { isThenable } from '../base/wait.ts';
import type { FactoryOptions, Transport } from '../cache/index.ts';
import { FACTORY_NAMES } from '../cache/informer/factory-options.ts';
import { requireTransport } from '../cache/rest/transport.ts';
import { OWN_CLIENT_NAMES } from '../client/client.ts';
import { type Client, type ClientOptions, newClient } from '../client/index.ts';
import type { ControllerDefaults, Tracer } from '../controller/index.ts';
import { DEFAULT_NAMES } from '../controller/manager.ts';
import type { LeaderElectorOptions, ResourceLock } from '../leaderelection/index.ts';
import type { ShardReplicaOptions } from '../shards/replica.ts';
import { isLoopback, parseBindAddress } from './bind-address.ts';
import type { Certificates } from './certificates.ts';
import type { HTTPHandler } from './router.ts';
import {
  requireWebhookOptions,
  type SelfManagedCertificates,
  type WebhookClientConfig,
  type WebhookOptions,
} from './webhook-server.ts';

/** In milliseconds. controller-runtime: pkg/manager/internal.go defaultGracefulShutdownPeriod. */
const GRACEFUL_SHUTDOWN_MS = 30_000;

/**
 * Options of leader election by a Lease. Times are in milliseconds; {@link LeaderElectorOptions}
 * describes their conditions. controller-runtime: manager.Options LeaderElection….
 */
export interface LeaderElectionOptions
  extends Pick<LeaderElectorOptions, 'maxClockSkewRatio' | 'recorder' | 'random' | 'wallNow'> {
  /** The name of the Lease. Each program needs its own. */
  id: string;
  /** The namespace of the Lease. Default: the namespace of the pod. */
  namespace?: string | undefined;
  /** How long other candidates wait before they take the lease. Default 15 000. */
  leaseDuration?: number | undefined;
  /** How long the leader tries to renew before it stops leading. Default 10 000. */
  renewDeadline?: number | undefined;
  /** The time between two attempts. Default 2000. */
  retryPeriod?: number | undefined;
  /**
   * Releases the lease when the manager has ended, so that the next leader does not wait until it
   * expires. It is released only after everything that the leader runs has ended. Default false.
   */
  releaseOnCancel?: boolean | undefined;
  /**
   * When leading ends. `'lapse'`, the default: as soon as the lease may have expired. `'deadline'`,
   * as in client-go: when the lease was not renewed for `renewDeadline`, even if another candidate
   * has taken it.
   *
   * With `'lapse'` a process whose lease has expired sends only GET and HEAD requests through the
   * manager's transport and client. Other requests reject with CapstanError ABORTED, also those of
   * runnables without leader election, because the manager is stopping.
   */
  stepDown?: LeaderElectorOptions['stepDown'] | undefined;
  /**
   * The identity of this candidate. Default: the host name, if it can be read, and a random UUID.
   */
  identity?: string | undefined;
  /** Labels of the Lease. */
  labels?: Readonly<Record<string, string>> | undefined;
  /** Used instead of a Lease. `id` is then only a name in messages and metrics. */
  lock?: ResourceLock | undefined;
}

/**
 * Options of shards: the replicas divide the objects by the hash of their namespaces, or of their
 * names if the kind is cluster-scoped. Times are in milliseconds. They mean the same as in leader
 * election, for the Lease of each replica.
 */
export interface ShardOptions
  extends Pick<ShardReplicaOptions, 'leaseDuration' | 'renewDeadline' | 'retryPeriod'> {
  /**
   * The name of the map and of the coordinator's Lease, and the prefix of the replicas' Leases: at
   * most 63 of `a-z`, `0-9` and `-`. Each program needs its own.
   */
  id: string;
  /** The namespace of the map and the Leases. Default: the namespace of the pod. */
  namespace?: string | undefined;
  /** The start of this replica's name. A random part follows. Default: the host name. */
  replica?: string | undefined;
  /**
   * What the client does when it reads objects that are not in the cache of this replica: a `get`
   * of such an object, and a `list` that is not of one namespace of this replica. `'live'`, the
   * default: it reads the API server; a list by an index rejects. `'error'`: it rejects with
   * CapstanError SHARD_NOT_OWNED.
   */
  foreignReads?: 'live' | 'error' | undefined;
  /**
   * Whether each write of the manager's client has the uid and resourceVersion that this process
   * knows as preconditions, so that a late write fails with a conflict. The object of an update
   * needs both. Patches, applies and deletes read them first. `deleteAllOf` and raw patches reject
   * with CapstanError INVALID_ARGUMENT. Default false.
   */
  strictWrites?: boolean | undefined;
}

/** Options of the health probes. */
export interface HealthProbeOptions {
  /**
   * The address of `/healthz` and `/readyz`, such as `:8081`; kubelets connect from outside the
   * pod. Default `'0'`: not served.
   */
  bindAddress?: string | undefined;
  /** The path of the readiness probe. Default `/readyz`. */
  readinessEndpointName?: string | undefined;
  /** The path of the liveness probe. Default `/healthz`. */
  livenessEndpointName?: string | undefined;
}

/** Options of the metrics server. */
export interface MetricsOptions {
  /** The address of `/metrics`. Default `'0'`: not served (controller-runtime: `:8080`). */
  bindAddress?: string | undefined;
  /**
   * Key and certificate for HTTPS. A function that returns them is called again every ten seconds;
   * see {@link certificateFiles}.
   */
  tls?: Certificates | undefined;
  /** Further paths of this server, as with `addMetricsServerExtraHandler`. */
  extraHandlers?: Readonly<Record<string, HTTPHandler>> | undefined;
  /**
   * Called before metrics and extra handlers, and before the live page and profiles if they have
   * the same address. Resolves to true to let a request pass; otherwise it responds (401, 403) and
   * resolves to false. See {@link withAuthenticationAndAuthorization}.
   */
  filter?: ((...exchange: Parameters<HTTPHandler>) => boolean | Promise<boolean>) | undefined;
  /**
   * Shows the FlowSchemas and priority levels of `capstan_client_flow_…` by their names instead of
   * their UIDs, which needs the permission to `list` `flowschemas` and
   * `prioritylevelconfigurations` in `flowcontrol.apiserver.k8s.io`. Default false.
   */
  flowNames?: boolean | undefined;
}

/** Options of the profiles. */
export interface ProfilingOptions {
  /** The address of `/debug/pprof/`, such as `127.0.0.1:6060`. Default `'0'`: not served. */
  bindAddress?: string | undefined;
  /**
   * Allows an address that other machines can reach. Profiles contain the memory of the process,
   * secrets included. Default false.
   */
  allowRemote?: boolean | undefined;
}

/** Options of a live page with an address of its own. */
export interface DebugPageOptions {
  /** The address of `/debug/capstan`, such as `127.0.0.1:8082`. */
  bindAddress: string;
  /**
   * Allows an address that other machines can reach. The page has no authentication. Default false.
   */
  allowRemote?: boolean | undefined;
  /**
   * Host names under which the page may be opened besides `localhost` and IP addresses. Default
   * none.
   */
  hosts?: readonly string[] | undefined;
}

/**
 * Options of {@link newManager}. Bind addresses have Go's syntax: `:8080`, `127.0.0.1:0`,
 * `[::1]:8080`, and `'0'` for no server. Services with the same address share a server.
 * controller-runtime: manager.Options.
 */
export interface ManagerOptions {
  /** The connection to the API server; see `kubeConfigTransport` of `capstan/client-node`. */
  transport: Transport;
  /** Options of all informers: namespaces, selections by resource, transforms, limits. */
  cache?: FactoryOptions | undefined;
  /**
   * Options of the client, which reads from the cache and writes through the transport: field
   * owner, rate limit, resources that are not cached.
   */
  client?: Omit<ClientOptions, 'transport' | 'cache'> | undefined;
  /**
   * Makes the client, for example one with interceptors. Default: `newClient` of `capstan/client`.
   */
  newClient?: ((options: ClientOptions) => Client) | undefined;
  /**
   * The logger of the manager, its controllers and sources, its client (warnings of the API
   * server), its event recorders (lost events) and its informers (failed lists and watches, unless
   * `cache.watchErrorHandler` is set). `console` stands for `consoleLogger()` of
   * `capstan/controller`; for pino see `pinoLogger` there.
   *
   * Default: nothing is logged, and all errors go to the function set with `setErrorHandler` of
   * `capstan/workqueue`. Errors of functions without a logger, such as an informer's handler,
   * always go there.
   */
  logger?: Logger | undefined;
  /**
   * Gets a span for each reconcile: a tracer of @opentelemetry/api, such as
   * `trace.getTracer('website-controller')`.
   */
  tracer?: Tracer | undefined;
  /**
   * The clock of the manager and everything that it makes: controllers, informers, client, event
   * recorders, election. Default: the system's. In tests a `FakeClock`, best the server's too.
   */
  clock?: Clock | undefined;
  /**
   * Returns milliseconds since 1970 for `context.now()` and the times that events and the lease
   * show. Nothing is measured with it. Default: the clock's time of day.
   */
  wallNow?: (() => number) | undefined;
  /**
   * The file to which the manager appends what it asks the API server, as lines of JSON, from which
   * `capstan rbac` makes Roles. Default: that of the environment variable CAPSTAN_RECORD_ACCESS,
   * else none. Many managers and processes may share it.
   */
  accessFile?: string | undefined;
  /** Defaults for all controllers. */
  controller?: ControllerDefaults | undefined;
  /** Leader election by a Lease. Without it this process leads from the start. */
  leaderElection?: LeaderElectionOptions | undefined;
  /**
   * Replicas share the objects, in place of leader election: every replica works, on its part.
   * Their caches have that part alone; `cache.perResource` with `shared` keeps all objects of a
   * kind.
   */
  shards?: ShardOptions | undefined;
  /**
   * How long runnables may take to end, in milliseconds. Negative: no limit; 0: do not wait. If the
   * lease is lost, the manager does not wait, because another process may lead already. Default
   * 30 000.
   */
  gracefulShutdownTimeout?: number | undefined;
  /** The health probes. Default: not served. */
  healthProbe?: HealthProbeOptions | undefined;
  /** The metrics server. Default: no server; the metrics are counted anyway. */
  metrics?: MetricsOptions | undefined;
  /** CPU profiles and heap snapshots of V8. Default: not served. */
  profiling?: ProfilingOptions | undefined;
  /**
   * The live page at `/debug/capstan`. Default: on the metrics server if only this machine can
   * reach that. `true`: on the metrics server in any case, which then needs `metrics.filter`.
   * `false`: not served. On the metrics server, `metrics.filter` applies to the page too.
   */
  debugPage?: boolean | DebugPageOptions | undefined;
  /**
   * The HTTPS server of webhooks; `newWebhookManagedBy` of `capstan/webhook` registers them.
   * Default: no server. On the address of another service, that is served over HTTPS too.
   */
  webhook?: WebhookOptions | undefined;
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

const SHARD_NAMES = namesOf<ShardOptions>()({
  id: 1,
  namespace: 1,
  replica: 1,
  leaseDuration: 1,
  renewDeadline: 1,
  retryPeriod: 1,
  foreignReads: 1,
  strictWrites: 1,
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
  accessFile: 1,
  controller: DEFAULT_NAMES,
  leaderElection: ELECTION_NAMES,
  shards: SHARD_NAMES,
  gracefulShutdownTimeout: 1,
  healthProbe: namesOf<HealthProbeOptions>()({
    bindAddress: 1,
    readinessEndpointName: 1,
    livenessEndpointName: 1,
  }),
  metrics: namesOf<MetricsOptions>()({
    bindAddress: 1,
    tls: 1,
    extraHandlers: 1,
    filter: 1,
    flowNames: 1,
  }),
  profiling: namesOf<ProfilingOptions>()({ bindAddress: 1, allowRemote: 1 }),
  debugPage: namesOf<DebugPageOptions>()({ bindAddress: 1, allowRemote: 1, hosts: 1 }),
  webhook: namesOf<WebhookOptions>()({
    bindAddress: 1,
    certDir: 1,
    selfManaged: namesOf<SelfManagedCertificates>()({
      namespace: 1,
      secretName: 1,
      dnsNames: 1,
      install: 1,
    }),
    clientConfig: namesOf<WebhookClientConfig>()({
      service: namesOf<NonNullable<WebhookClientConfig['service']>>()({
        namespace: 1,
        name: 1,
        port: 1,
      }),
      url: 1,
    }),
    configurationName: 1,
    install: 1,
    maxBodyBytes: 1,
  }),
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
  requireTransport('options.transport', options.transport);
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
  for (const name of ['leaderElection', 'shards'] as const)
    if (settings[name] !== undefined) requireObject(`options.${name}`, settings[name]);
  if (settings.shards !== undefined && settings.leaderElection !== undefined)
    throw invalid(
      'options.shards',
      'nothing beside leaderElection: with shards every replica works',
      settings.shards,
    );
  settings.logger = guardedLogger(inPlaceOfConsole(settings.logger));
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
  if (options.webhook !== undefined) {
    requireObject('options.webhook', options.webhook);
    requireWebhookOptions('options.webhook', options.webhook);
    const { bindAddress = ':9443' } = options.webhook;
    if (settings.metrics.tls !== undefined && bindAddress === settings.metrics.bindAddress)
      throw invalid('options.metrics.tls', 'none on the address of the webhooks', options.metrics);
  }
  requireLocal(
    'options.profiling',
    settings.profiling,
    'profiles contain the memory of the process, secrets included',
  );
  const { debugPage } = options;
  const { metrics } = settings;
  if (debugPage === true) requireFilter(metrics);
  else if (typeof debugPage === 'object' && debugPage !== null)
    requireLocal('options.debugPage', debugPage, 'the page names all objects');
  else if (debugPage !== undefined && typeof debugPage !== 'boolean')
    throw invalid('options.debugPage', 'true, false or { bindAddress }', debugPage);
  return settings;
}

/** On the metrics server the live page has no authentication of its own. */
function requireFilter({ bindAddress, filter }: MetricsOptions): void {
  const bind = parseBindAddress('options.metrics.bindAddress', bindAddress);
  if (bind === undefined || filter !== undefined || isLoopback(bind.host)) return;
  throw invalid(
    'options.debugPage',
    'false; or metrics.filter, which then applies to the page too; or ' +
      `{ bindAddress: "127.0.0.1:${bind.port + 1}" } for this machine only; or ` +
      '{ bindAddress, allowRemote: true }: other machines reach the metrics at ' +
      `"${bindAddress}", and the page names all objects`,
    true,
  );
}

/** An address that other machines can reach needs `allowRemote`. */
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
    `a loopback address, such as "127.0.0.1:${bind.port}", or allowRemote: true (${why})`,
    bindAddress,
  );
}

/** Calls the option `newClient`, which may not be async. */
export function clientOf(make: (options: ClientOptions) => Client, options: ClientOptions): Client {
  const client: unknown = make(options);
  if (typeof client !== 'object' || client === null || isThenable(client))
    throw invalid('options.newClient()', 'a client', client);
  return client as Client;
}
