/**
 * The manager: it runs controllers in one process with their informers, HTTP servers and leader
 * election, and stops them in order. controller-runtime: pkg/manager/internal.go.
 *
 * Start: HTTP servers → webhooks → caches → others → warm-up → leader election. Stop: others →
 * leader election → caches → webhooks → HTTP servers → the lease.
 *
 * Invariants:
 * - The leader's runnables never start once the stop has begun.
 * - The lease is released only after they have ended.
 * - If the lease is lost, the process ends without a grace period, because another process may lead
 *   already.
 */

import { type Clock, wallNowOf } from '../base/clock.ts';
import { requireNode } from '../base/environment.ts';
import { textOfError } from '../base/error-text.ts';
import { CapstanError, invalid, isAbort, requireFunction } from '../base/errors.ts';
import { handleError } from '../base/handle-error.ts';
import { omitUndefined } from '../base/json-value.ts';
import type { Logger } from '../base/logger.ts';
import { namesOf, requireNames, requireSignalOptions } from '../base/names.ts';
import { onAbort, whenAborted } from '../base/wait.ts';
import {
  InformerPrometheusProvider,
  type SharedIndexInformer,
  type Transport,
} from '../cache/index.ts';
import {
  type AccessRecord,
  type Client,
  type EventAPI,
  type EventRecorder,
  instrumentTransport,
  newClient,
  RestClientMetrics,
  recordAccess,
} from '../client/index.ts';
import {
  type Collector,
  type ControllerDefaults,
  type Manager,
  MetricsRegistry,
  type ReportOptions,
  type Runnable,
  type Tracer,
} from '../controller/index.ts';
import { REPORT_NAMES } from '../controller/manager.ts';
import { PrometheusProvider } from '../workqueue/index.ts';
import { accessRecord, type WrittenRecord } from './access-file.ts';
import { buildManagerReport } from './build-report.ts';
import { certificateMetrics } from './certificates.ts';
import { type Cluster, type ClusterOptions, Clusters } from './cluster.ts';
import { type Election, electionOf } from './election.ts';
import { EventRecorders } from './event-recorders.ts';
import { type Checker, healthz } from './healthz.ts';
import { leaderTransport } from './leader-transport.ts';
import { ManagedCache } from './managed-cache.ts';
import { clientOf, type ManagerOptions, type ManagerSettings, resolveOptions } from './options.ts';
import { debugPage } from './page/debug-page.ts';
import { ProcessMetrics } from './process-metrics.ts';
import { findObjects, type ManagerReport } from './report.ts';
import type { HTTPHandler } from './router.ts';
import type { GroupMember, GroupName, RunnableGroup } from './runnable-group.ts';
import { type GroupedRunnable, Runnables } from './runnables.ts';
import { Servers, type Service } from './servers.ts';
import { shardClient } from './shard-client.ts';
import { shardMetrics } from './shard-metrics.ts';
import { shardTransport } from './shard-transport.ts';
import { ManagedShards, type ManagerShards } from './shards.ts';
import type { WebhookServer } from './webhook-server.ts';

/** The `name` label of the informers' metrics. */
const INFORMERS = 'manager';

const RECORDER_NAMES = namesOf<{ api: EventAPI }>()({ api: 1 });

/** The manager that {@link newManager} returns. */
export interface ControllerManager extends Manager {
  /**
   * Adds a runnable to its group: see {@link GroupedRunnable}. It starts with the group, or at once
   * if the group has started.
   *
   * @throws CapstanError INVALID_ARGUMENT; STOPPED once the manager is ending
   */
  add(runnable: Runnable | GroupedRunnable): void;
  /**
   * Starts all groups in order. Resolves when everything has ended after the signal. May be called
   * once.
   *
   * Rejects with:
   * - the error of a runnable;
   * - CapstanError LISTEN if a server cannot listen;
   * - CapstanError LEASE_LOST if this process no longer leads;
   * - CapstanError TIMEOUT if runnables have not ended within `gracefulShutdownTimeout`;
   * - an AggregateError if there are several of these;
   * - CapstanError ALREADY_STARTED on a second call.
   *
   * After an error the process should exit: another process may lead, and runnables that did not
   * end in time still run. The transport is not closed.
   */
  start(options?: { signal?: AbortSignal | undefined }): Promise<void>;
  /** Resolves when the HTTP servers listen. Stays pending if they never do. */
  serving(): Promise<void>;
  /**
   * The URL of a service, such as `http://127.0.0.1:8081`. `undefined` if the service is off or
   * does not listen yet.
   */
  url(service: Service): string | undefined;
  /**
   * The server of the option `webhook`; `undefined` without it. controller-runtime:
   * GetWebhookServer.
   */
  readonly webhookServer: WebhookServer | undefined;
  /** The shards of the option `shards`; `undefined` without it. */
  readonly shards: (ManagerShards & NonNullable<Manager['shards']>) | undefined;
  /**
   * Counters, gauges and histograms of the program's own, which `/metrics` serves beside the
   * manager's. controller-runtime: metrics.Registry.
   */
  readonly metrics: MetricsRegistry;
  /**
   * Adds another cluster: a cache and a client for its API server. Its informers start and end with
   * the manager's, and controllers start when they have synced. It stands for the manager where a
   * controller is made; its cache may be a source of a controller of this cluster. Its writes end
   * with the lease too. controller-runtime: cluster.New, and Add of the manager.
   *
   * @throws CapstanError INVALID_ARGUMENT, also for a name that another cluster has; STOPPED once
   *   the manager is ending
   * @example
   * const east = manager.addCluster({ name: 'east', transport });
   * newControllerManagedBy(east)
   *   .for(Website)
   *   .named('website-east')
   *   .complete(async () => undefined);
   * // Objects there, requests here:
   * const { cache } = east;
   * newControllerManagedBy(manager)
   *   .for(Website)
   *   .watchesRawSource(kindSource({ cache, resource: Pod, handler: enqueueRequestForObject() }))
   *   .complete(async () => undefined);
   */
  addCluster(options: ClusterOptions): Cluster;
  /**
   * Adds a liveness check to `/healthz`, which tells the kubelet whether to restart the process.
   * There are already `ping` and, with an election, `leaderElection`.
   */
  addHealthzCheck(name: string, check: Checker): void;
  /**
   * Adds a readiness check to `/readyz`. There are already `ping`, with webhooks `webhook`, and
   * `informer-sync`, for the informers that were requested before the start. The sources of
   * controllers have no check, because they may wait for a kind that is not served yet or for a
   * webhook of this process: see the log and the live page.
   */
  addReadyzCheck(name: string, check: Checker): void;
  /**
   * Serves a path next to `/metrics`, with the same filter. If metrics are not served, it logs a
   * warning and has no effect. controller-runtime: AddMetricsServerExtraHandler.
   *
   * @throws CapstanError INVALID_ARGUMENT for a path that is taken
   */
  addMetricsServerExtraHandler(path: string, handler: HTTPHandler): void;
  /**
   * Returns the event recorder of a controller name such as `example.com/website-controller`; the
   * same recorder for the same name. It is closed after the leader's runnables, so that their
   * last events are sent. `{ api: 'v1' }`: Events of core/v1. controller-runtime: GetEventRecorder,
   * and GetEventRecorderFor for core/v1.
   *
   * @throws CapstanError INVALID_ARGUMENT; STOPPED once the manager is ending
   */
  eventRecorder(
    reportingController: string,
    options?: { readonly api?: EventAPI | undefined },
  ): EventRecorder;
  /**
   * What this manager has asked the API server, for `capstan rbac`. `/debug/capstan/access` shows
   * it; see also the option `accessFile`.
   */
  readonly accessRecord: AccessRecord;
  /** The state of the manager as the live page shows it. */
  report(options?: ReportOptions): ManagerReport;
}

/**
 * Makes a manager. Add controllers to it, then call `start`. controller-runtime: manager.New.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const manager = newManager({
 *   transport,
 *   leaderElection: { id: 'website-controller', namespace: 'default', releaseOnCancel: true },
 *   healthProbe: { bindAddress: ':8081' },
 *   metrics: { bindAddress: ':8080' },
 *   logger: console,
 * });
 * manager.add({ name: 'clean-up', start: ({ signal }) => work('clean-up', signal) });
 * await manager.start({ signal: setupSignalHandler() });
 */
export function newManager(options: ManagerOptions): ControllerManager {
  requireNode('capstan/manager');
  return new RuntimeManager(resolveOptions(options));
}

class RuntimeManager implements ControllerManager {
  readonly transport: Transport;
  readonly cache: ManagedCache;
  readonly client: Client;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly wallNow: () => number;
  readonly tracer: Tracer | undefined;
  readonly controllerDefaults: ControllerDefaults;
  readonly shards: ManagedShards | undefined;
  readonly accessRecord: WrittenRecord;
  readonly queueMetrics = new PrometheusProvider({ flavor: 'controller-runtime' });
  readonly metrics = new MetricsRegistry();
  readonly #settings: ManagerSettings;
  readonly #informerMetrics = new InformerPrometheusProvider();
  readonly #requestMetrics = new RestClientMetrics();
  readonly #clusters: Clusters;
  readonly #process = new ProcessMetrics();
  readonly #collectors = new Set<Collector>();
  readonly #runnables: Runnables;
  readonly #recorders: EventRecorders;
  readonly #servers: Servers;
  readonly #election: Election | undefined;
  readonly #elected = Promise.withResolvers<void>();
  readonly #serving = Promise.withResolvers<void>();
  /** Fires when the stop begins. */
  readonly #halt = new AbortController();
  readonly #halted = whenAborted(this.#halt.signal);
  /** Fires when the manager no longer waits for anything. */
  readonly #deadline = new AbortController();
  /** Fires when the lease expires while this process leads. */
  readonly #lapsed = new AbortController();
  /** Its signal ends the elector's run. */
  readonly #candidacy = new AbortController();
  /** Resolves when the leader's runnables have ended. The lease is not released before. */
  readonly #leadersWork = Promise.withResolvers<void>();
  readonly #errors: unknown[] = [];
  #electing: Promise<void> = Promise.resolve();
  /** The signals of the hand-over of the shards: begin, and without others. */
  readonly #handOver = new AbortController();
  readonly #hurry = new AbortController();
  #sharing: Promise<void> | undefined;
  #startedAt: number | undefined;
  #leads = false;
  #synced = false;

  constructor(settings: ManagerSettings) {
    const { clock, logger, cache } = settings;
    this.#settings = settings;
    this.clock = clock;
    this.wallNow = settings.wallNow ?? wallNowOf(clock);
    this.logger = logger;
    this.tracer = settings.tracer;
    this.controllerDefaults = settings.controller;
    this.accessRecord = accessRecord(settings.accessFile);
    const recorded = recordAccess(settings.transport, this.accessRecord);
    const measured = this.#measured(recorded);
    this.#election = this.#elect(measured);
    const { shards } = settings;
    this.shards = shards && new ManagedShards(shards, measured, settings);
    this.transport = this.shards ? shardTransport(measured, this.shards) : this.#leased(measured);
    const withMetrics = {
      clock,
      name: INFORMERS,
      metricsProvider: this.#informerMetrics,
      ...omitUndefined(cache),
      ...(this.shards && { ranges: [] }),
    };
    this.cache = new ManagedCache(this.transport, withMetrics, clock, logger);
    const client = clientOf(settings.newClient, {
      logger,
      clock,
      ...omitUndefined(settings.client),
      transport: this.transport,
      cache: this.cache,
    });
    this.client = this.shards ? shardClient(client, this.shards) : client;
    this.#clusters = new Clusters({
      manager: this,
      managed: (transport) => this.#leased(this.#measured(transport)),
      informerMetrics: this.#informerMetrics,
      newClient: settings.newClient,
    });
    this.#runnables = new Runnables((error, member) => this.#failed(error, member));
    const recordersOf = (client: Client): EventRecorders =>
      new EventRecorders(client, settings, this.#deadline.signal, (runnable) => this.add(runnable));
    this.#recorders = recordersOf(this.client);
    if (this.shards !== undefined) {
      const { replica } = this.shards;
      // The map is in no slot of this process.
      const anywhere = newClient({ transport: measured, clock, logger });
      this.shards.bind(this.cache, recordersOf(anywhere).get('capstan.dev/shards'));
      this.#collectors.add(shardMetrics(() => replica.report()));
    }
    for (const collector of [
      this.queueMetrics,
      this.#informerMetrics,
      this.#requestMetrics,
      this.#election?.metrics,
      this.#process,
      this.metrics,
    ])
      if (collector !== undefined) this.#collectors.add(collector);
    this.#servers = new Servers(settings, this.#collectors, (access) =>
      debugPage({
        state: (query) => this.report(query),
        access: () => this.accessRecord.text(),
        find: (text, limit) => findObjects(this.#informers(), text, limit),
        ...access,
      }),
    );
    for (const server of this.#servers.all()) this.#runnables.add(server);
    const reads = () =>
      this.#servers.all().flatMap(({ certificateReads }) => certificateReads ?? []);
    this.#collectors.add(certificateMetrics(reads));
    if (this.webhookServer !== undefined) this.#collectors.add(this.webhookServer);
    const { cache: own } = this;
    this.#runnables
      .group('caches')
      .add(
        { name: 'informers', start: (options) => own.run(options), discard: () => own.shutdown() },
        async (options) => {
          await own.ready(options);
          this.#synced = true;
        },
      );
    this.#addChecks();
  }

  add(runnable: Runnable): void {
    if (this.#halt.signal.aborted)
      throw new CapstanError('STOPPED', 'nothing can be added: the manager is being stopped');
    this.#runnables.add(runnable);
  }

  addCluster(options: ClusterOptions): Cluster {
    return this.#clusters.add(options);
  }

  /** Of all clusters. */
  #informers(): Map<string, SharedIndexInformer<never, string>> {
    return new Map([...this.cache.informers(), ...this.#clusters.informers()]);
  }

  #measured(transport: Transport): Transport {
    const { flowNames } = this.#settings.metrics;
    return instrumentTransport(transport, this.#requestMetrics, { clock: this.clock, flowNames });
  }

  /** Sends only while this process leads, if there is an election. */
  #leased(transport: Transport): Transport {
    if (this.#election === undefined) return transport;
    return leaderTransport(transport, this.#election.elector, this.#lapsed.signal);
  }

  addCollector(collector: Collector): void {
    requireFunction('collector.text', (collector as Partial<Collector> | undefined)?.text);
    this.#collectors.add(collector);
  }

  elected(): Promise<void> {
    return this.#elected.promise;
  }

  get webhookServer(): WebhookServer | undefined {
    return this.#servers.webhooks;
  }

  holdsLease(): boolean {
    return this.#election?.elector.holdsLease() ?? this.shards?.replica.isValid() ?? true;
  }

  serving(): Promise<void> {
    return this.#serving.promise;
  }

  url(service: Service): string | undefined {
    return this.#servers.url(service);
  }

  addHealthzCheck(name: string, check: Checker): void {
    requireCheck(name, check);
    this.#servers.addHealthzCheck(name, check);
  }

  addReadyzCheck(name: string, check: Checker): void {
    requireCheck(name, check);
    this.#servers.addReadyzCheck(name, check);
  }

  addMetricsServerExtraHandler(path: string, handler: HTTPHandler): void {
    if (this.#servers.addMetricsHandler(path, handler)) return;
    this.logger.warn('metrics are not served: the extra handler is ignored', { path });
  }

  eventRecorder(
    reportingController: string,
    options: { readonly api?: EventAPI | undefined } = {},
  ): EventRecorder {
    requireNames('options', options, 'option of eventRecorder()', RECORDER_NAMES);
    return this.#recorders.get(reportingController, options.api);
  }

  report(options: ReportOptions = {}): ManagerReport {
    requireNames('options', options, 'option of report()', REPORT_NAMES);
    return buildManagerReport(
      {
        now: this.clock.now(),
        startedAt: this.#startedAt,
        stopping: this.#halt.signal.aborted,
        election: this.#election,
        shards: this.shards?.replica,
        leads: this.#leads,
        informers: this.#informers(),
        members: this.#runnables.members(),
      },
      options,
    );
  }

  async start(options: { signal?: AbortSignal | undefined } = {}): Promise<void> {
    requireSignalOptions(options, 'start()');
    const { signal } = options;
    if (this.#startedAt !== undefined)
      throw new CapstanError(
        'ALREADY_STARTED',
        'a manager is started once: make another one to start again',
      );
    this.#startedAt = this.clock.now();
    const unlisten = onAbort(signal, () => this.#halt.abort());
    await this.#begin();
    await this.#halted;
    unlisten();
    await this.#end();
    if (this.#errors.length === 1) throw this.#errors[0];
    if (this.#errors.length > 1)
      throw new AggregateError(this.#errors, this.#errors.map(textOfError).join('; '));
  }

  /** Returns early if the stop begins. */
  async #begin(): Promise<void> {
    // it samples the event loop every 10 ms
    if (this.#servers.has('metrics')) this.#process.start();
    for (const name of ['HTTP servers', 'webhooks', 'caches', 'others', 'warmup'] as const) {
      if (this.#halt.signal.aborted) return;
      await this.#startGroup(name);
      if (name === 'HTTP servers' && !this.#halt.signal.aborted) this.#serving.resolve();
    }
    if (this.#halt.signal.aborted) return;
    if (this.#election === undefined) {
      this.#leads = true;
      await this.#startGroup('leader election');
      this.#elected.resolve();
      this.#sharing = this.shards
        ?.run({
          signal: this.#handOver.signal,
          now: this.#hurry.signal,
          at: this.#deadline.signal,
        })
        .catch((error: unknown) => this.#fail(error, 'shards'));
      return;
    }
    this.#electing = this.#election.elector.run({ signal: this.#candidacy.signal }).then(
      () => this.#electionEnded(),
      (error: unknown) => this.#fail(error, 'leader election'),
    );
  }

  async #startGroup(name: GroupName): Promise<void> {
    this.logger.debug('starting', { group: name });
    await Promise.race([this.#runnables.group(name).start(), this.#halted]);
  }

  #elect(transport: Transport): Election | undefined {
    const { leaderElection } = this.#settings;
    if (leaderElection === undefined) return undefined;
    return electionOf(leaderElection, transport, this.#settings, {
      onStartedLeading: (lost) => this.#lead(lost),
      onStoppedLeading: () => undefined, // `run` resolves immediately afterwards
      onNewLeader: (leader) => this.logger.info('new leader', { leader }),
    });
  }

  /** The returned promise resolves when the leader's runnables have ended. */
  #lead(lost: AbortSignal): Promise<void> | undefined {
    if (this.#halt.signal.aborted) return undefined;
    this.#leads = true;
    lost.addEventListener('abort', () => this.#electionEnded(), { once: true });
    lost.addEventListener(
      'abort',
      () => {
        if (this.#election?.elector.endIfLapsed()) this.#lapsed.abort();
      },
      { once: true },
    );
    void this.#startGroup('leader election').then(() => this.#elected.resolve());
    return this.#leadersWork.promise;
  }

  /**
   * Ends the manager without waiting, because another process may lead; unless the manager itself
   * has ended the election.
   */
  #electionEnded(): void {
    if (this.#candidacy.signal.aborted || this.#deadline.signal.aborted) return;
    const lease = this.#election?.lease;
    const error = new CapstanError(
      'LEASE_LOST',
      `the lease ${lease} was lost: this process must no longer lead`,
    );
    this.logger.error('leader election lost', { lease, error });
    this.#errors.push(error);
    this.#leads = false;
    this.#deadline.abort();
    this.#halt.abort();
  }

  /**
   * Handles the error of a runnable. During the stop errors are only reported, and aborts are
   * expected.
   */
  #failed(error: unknown, member: GroupMember): void {
    member.failedAt = this.clock.now();
    this.#fail(error, `runnable "${member.name}"`);
  }

  #fail(error: unknown, what: string): void {
    if (!this.#halt.signal.aborted) {
      this.logger.error('a part of the manager has failed', { part: what, error });
      this.#errors.push(error);
      this.#halt.abort();
    } else if (!isAbort(error)) {
      handleError(error, `${what}, while the manager was being stopped`);
    }
  }

  async #end(): Promise<void> {
    // no grace period after the lease is lost
    const grace = this.#deadline.signal.aborted ? 0 : this.#settings.gracefulShutdownTimeout;
    this.logger.info('stopping', { gracefulShutdownTimeout: grace });
    // A process that does not lead must not become the leader during its stop.
    if (!this.#leads) this.#candidacy.abort();
    if (grace === 0) this.#deadline.abort();
    let timedOut = false;
    const expire = (): void => {
      timedOut = true;
      this.#deadline.abort();
    };
    const timer = grace > 0 ? this.clock.setTimer(expire, grace) : undefined;
    await this.#handOverShards(grace);
    const late = await this.#runnables.stopAll(this.#deadline.signal);
    // Their work has ended, so that the slots can be given up.
    await Promise.race([this.#sharing, whenAborted(this.#deadline.signal)]);
    if (timer !== undefined) this.clock.clearTimer(timer);
    if (timedOut) {
      const message = `not ended within the grace period of ${grace} ms: ${late.join(', ')}`;
      this.#errors.push(new CapstanError('TIMEOUT', message));
    }
    await Promise.all(this.#servers.all().map((server) => server.kill()));
    this.#process.close();
    await this.#leaveElection(this.#runnables.group('leader election'));
    this.accessRecord.end();
    this.logger.info('stopped');
  }

  /**
   * Hands over while the controllers work. After half of the grace period these are told to end, so
   * that a reconcile that goes on until then does not hold its slot for good.
   */
  async #handOverShards(grace: number): Promise<void> {
    if (this.#sharing === undefined) return;
    const timer = grace > 0 ? this.clock.setTimer(() => this.#hurry.abort(), grace / 2) : undefined;
    this.#handOver.abort();
    const { signal } = this.#deadline;
    await Promise.race([this.#sharing, whenAborted(this.#hurry.signal), whenAborted(signal)]);
    if (timer !== undefined) this.clock.clearTimer(timer);
  }

  /**
   * If runnables of the leader did not end in time, the lease is kept until it expires, and nothing
   * waits for that.
   */
  async #leaveElection(leaders: RunnableGroup): Promise<void> {
    const ended = leaders.ended().then(() => this.#leadersWork.resolve());
    this.#candidacy.abort();
    if (leaders.running() > 0) return;
    await ended;
    await this.#electing;
  }

  #addChecks(): void {
    this.addHealthzCheck('ping', healthz.ping);
    this.addReadyzCheck('ping', healthz.ping);
    if (this.#election !== undefined) this.addHealthzCheck('leaderElection', this.#election.check);
    const { webhookServer, shards } = this;
    if (shards !== undefined)
      this.addReadyzCheck(
        'shards',
        healthz.unless(() => shards.notReady()),
      );
    if (webhookServer !== undefined)
      this.addReadyzCheck(
        'webhook',
        healthz.unless(() =>
          webhookServer.url === undefined ? 'the webhook server does not listen yet' : undefined,
        ),
      );
    this.addReadyzCheck(
      'informer-sync',
      healthz.unless(() =>
        this.#synced ? undefined : 'not all informers that the start waits for have synced',
      ),
    );
  }
}

function requireCheck(name: string, check: Checker): void {
  if (typeof name !== 'string' || !/^[^/?#\s]+(\/[^/?#\s]+)*$/.test(name))
    throw invalid(
      'name',
      'a path without a slash at either end, such as "db" or "poststarthook/db"',
      name,
    );
  requireFunction('check', check);
}
