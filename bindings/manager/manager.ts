/**
 * Runs controllers, and what they need, in one process: informers, servers for probes and metrics,
 * leader election, and an end in order. controller-runtime: pkg/manager/internal.go.
 *
 * Start: HTTP servers → webhooks → caches → others → warm-up → what the leader runs. Stop: others →
 * leader's → caches → webhooks → HTTP servers → the lease. Invariants: what the leader runs never
 * starts once the end has begun; the lease is given away only after all that has ended; a lost
 * lease ends the process without grace, since another may lead already.
 */

import type { Clock } from '../base/clock.ts';
import { textOfError } from '../base/error-text.ts';
import { CapstanError, invalid, isAbort, requireFunction } from '../base/errors.ts';
import { handleError } from '../base/handle-error.ts';
import type { Logger } from '../base/logger.ts';
import { requireNames, requireSignalOptions } from '../base/names.ts';
import { requireNode } from '../base/node-version.ts';
import { given } from '../base/omit-undefined.ts';
import { whenAborted } from '../base/wait.ts';
import { InformerPrometheusProvider, type Transport } from '../cache/index.ts';
import {
  type Client,
  type EventRecorder,
  instrumentTransport,
  RestClientMetrics,
} from '../client/index.ts';
import type {
  Collector,
  ControllerDefaults,
  Manager,
  ReportOptions,
  Runnable,
  Tracer,
} from '../controller/index.ts';
import { REPORT_NAMES } from '../controller/manager.ts';
import { PrometheusProvider } from '../workqueue/index.ts';
import { buildManagerReport } from './build-report.ts';
import { type Election, electionOf } from './election.ts';
import { EventRecorders } from './event-recorders.ts';
import { type Checker, healthz } from './healthz.ts';
import { leaderTransport } from './leader-transport.ts';
import { ManagedCache } from './managed-cache.ts';
import { type ManagerOptions, type ManagerSettings, resolveOptions } from './options.ts';
import { debugPage } from './page/debug-page.ts';
import { ProcessMetrics } from './process-metrics.ts';
import { findObjects, type ManagerReport } from './report.ts';
import type { HTTPHandler } from './router.ts';
import type { GroupName, Member, RunnableGroup } from './runnable-group.ts';
import { type GroupedRunnable, Runnables } from './runnables.ts';
import { Servers, type Service } from './servers.ts';

/** The informers' name in metrics. */
const INFORMERS = 'manager';

/** A manager with its start and end, its servers and its checks. */
export interface ControllerManager extends Manager {
  /**
   * Adds a runnable to the group it belongs to: see {@link GroupedRunnable}. It starts with that,
   * or at once if that has started.
   *
   * @throws CapstanError INVALID_ARGUMENT; STOPPED once the manager is ending
   */
  add(runnable: Runnable | GroupedRunnable): void;
  /**
   * Starts everything in its order, and resolves when everything has ended after the signal. It is
   * to be called once.
   *
   * Rejects with what a runnable rejected with; with CapstanError LISTEN where a server cannot
   * listen, LEASE_LOST where this process led and does so no more, TIMEOUT where runnables have not
   * ended within `gracefulShutdownTimeout`; with an AggregateError where it is more than one of
   * these; and with ALREADY_STARTED the second time. After a failure the process should exit:
   * another one may lead by now, and what did not end in time goes on. The transport stays open: it
   * is the caller's.
   */
  start(options?: { signal?: AbortSignal | undefined }): Promise<void>;
  /** Resolves when the HTTP servers listen; stays pending if that never happens. */
  serving(): Promise<void>;
  /**
   * Where a service listens, such as `http://127.0.0.1:8081`; `undefined` where it is off, and
   * before it does.
   */
  url(service: Service): string | undefined;
  /**
   * Adds a check to `/healthz`, which says whether the process has to be started anew. It has
   * `ping`, and `leaderElection` where there is one.
   */
  addHealthzCheck(name: string, check: Checker): void;
  /**
   * Adds a check to `/readyz`, which says whether the process does its work. It has `ping`, and
   * `informer-sync` for the informers that were asked for before the start. The sources of
   * controllers, which may wait for a kind that is not served yet or for a webhook of this very
   * process, are not in it: the logger and the live page say what they wait for.
   */
  addReadyzCheck(name: string, check: Checker): void;
  /**
   * Serves a path beside `/metrics`, with the same filter. Without a server for metrics it is
   * ignored, with a warning.
   *
   * @throws CapstanError INVALID_ARGUMENT for a path that is taken
   */
  addMetricsServerExtraHandler(path: string, handler: HTTPHandler): void;
  /**
   * Records events of objects in the name of a controller, such as
   * `example.com/website-controller`; the same recorder for the same name. It is shut down after
   * what the leader runs has ended, so that the last events are written too. controller-runtime:
   * GetEventRecorder.
   *
   * @throws CapstanError INVALID_ARGUMENT; STOPPED once the manager is ending
   */
  eventRecorder(reportingController: string): EventRecorder;
  /** What it is doing, as its live page shows it. */
  report(options?: ReportOptions): ManagerReport;
}

/**
 * A manager of controllers. controller-runtime: manager.New.
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
  readonly tracer: Tracer | undefined;
  readonly controllerDefaults: ControllerDefaults;
  readonly queueMetrics = new PrometheusProvider({ flavor: 'controller-runtime' });
  readonly #settings: ManagerSettings;
  readonly #process = new ProcessMetrics();
  readonly #collectors = new Set<Collector>();
  readonly #runnables: Runnables;
  readonly #recorders: EventRecorders;
  readonly #servers: Servers;
  readonly #election: Election | undefined;
  readonly #elected = Promise.withResolvers<void>();
  readonly #serving = Promise.withResolvers<void>();
  /** Fires when the end begins. */
  readonly #halt = new AbortController();
  readonly #halted = whenAborted(this.#halt.signal);
  /** Fires when nothing is waited for any more. */
  readonly #deadline = new AbortController();
  /** Fires when the lease has run out while this process led. */
  readonly #lapsed = new AbortController();
  /** Ends taking part in the election. */
  readonly #candidacy = new AbortController();
  /** Settles when what the leader runs has ended: the lease is not given away before. */
  readonly #leadersWork = Promise.withResolvers<void>();
  readonly #errors: unknown[] = [];
  #electing: Promise<void> = Promise.resolve();
  #startedAt: number | undefined;
  #leads = false;
  #synced = false;

  constructor(settings: ManagerSettings) {
    const { clock, logger, cache } = settings;
    this.#settings = settings;
    this.clock = clock;
    this.logger = logger;
    this.tracer = settings.tracer;
    this.controllerDefaults = settings.controller;
    const requests = new RestClientMetrics();
    const informers = new InformerPrometheusProvider();
    const measured = instrumentTransport(settings.transport, requests, { clock });
    this.#election = this.#elect(measured);
    this.transport =
      this.#election === undefined
        ? measured
        : leaderTransport(measured, this.#election.elector, this.#lapsed.signal);
    const withMetrics = { clock, name: INFORMERS, metricsProvider: informers, ...given(cache) };
    this.cache = new ManagedCache(this.transport, withMetrics, clock, logger);
    this.client = settings.newClient({
      logger,
      clock,
      ...given(settings.client),
      transport: this.transport,
      cache: this.cache,
    });
    this.#runnables = new Runnables((error, member) => this.#failed(error, member));
    this.#recorders = new EventRecorders(this.client, settings, this.#deadline.signal, (runnable) =>
      this.add(runnable),
    );
    for (const collector of [
      this.queueMetrics,
      informers,
      requests,
      this.#election?.metrics,
      this.#process,
    ])
      if (collector !== undefined) this.#collectors.add(collector);
    this.#servers = new Servers(settings, this.#collectors, (access) =>
      debugPage({
        state: (query) => this.report(query),
        find: (text, limit) => findObjects(this.cache.informers(), text, limit),
        ...access,
      }),
    );
    for (const server of this.#servers.all()) this.#runnables.add(server);
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

  addCollector(collector: Collector): void {
    requireFunction('collector.text', (collector as Partial<Collector> | undefined)?.text);
    this.#collectors.add(collector);
  }

  elected(): Promise<void> {
    return this.#elected.promise;
  }

  holdsLease(): boolean {
    return this.#election?.elector.holdsLease() ?? true;
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
    this.logger.warn('metrics are not served, so that an extra handler is ignored', { path });
  }

  eventRecorder(reportingController: string): EventRecorder {
    return this.#recorders.get(reportingController);
  }

  report(options: ReportOptions = {}): ManagerReport {
    requireNames('options', options, 'option of report()', REPORT_NAMES);
    return buildManagerReport(
      {
        now: this.clock.now(),
        startedAt: this.#startedAt,
        stopping: this.#halt.signal.aborted,
        election: this.#election,
        leads: this.#leads,
        informers: this.cache.informers(),
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
    const halt = (): void => this.#halt.abort();
    if (signal?.aborted) halt();
    else signal?.addEventListener('abort', halt, { once: true });
    await this.#begin();
    await this.#halted;
    signal?.removeEventListener('abort', halt);
    await this.#end();
    if (this.#errors.length === 1) throw this.#errors[0];
    if (this.#errors.length > 1)
      throw new AggregateError(this.#errors, this.#errors.map(textOfError).join('; '));
  }

  /** Ends early where the manager is to end. */
  async #begin(): Promise<void> {
    if (this.#servers.has('metrics')) this.#process.start(); // it samples a hundred times a second
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
      onStoppedLeading: () => undefined, // `run` resolves right after
      onNewLeader: (leader) => this.logger.info('new leader', { leader }),
    });
  }

  /** Settles when what the leader runs has ended. */
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
   * Unless it was this manager that ended it: nothing is waited for any longer, as another process
   * may lead.
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
   * Of a runnable. What comes once the end has begun is reported; that it was told to end is no
   * error.
   */
  #failed(error: unknown, member: Member): void {
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
    // none once the lease is lost
    const grace = this.#deadline.signal.aborted ? 0 : this.#settings.gracefulShutdownTimeout;
    this.logger.info('stopping', { gracefulShutdownTimeout: grace });
    // Who does not lead must not begin to now.
    if (!this.#leads) this.#candidacy.abort();
    if (grace === 0) this.#deadline.abort();
    let timedOut = false;
    const expire = (): void => {
      timedOut = true;
      this.#deadline.abort();
    };
    const timer = grace > 0 ? this.clock.setTimer(expire, grace) : undefined;
    const late = await this.#runnables.stopAll(this.#deadline.signal);
    if (timer !== undefined) this.clock.clearTimer(timer);
    if (timedOut) {
      const message = `not ended within the grace period of ${grace} ms: ${late.join(', ')}`;
      this.#errors.push(new CapstanError('TIMEOUT', message));
    }
    await Promise.all(this.#servers.all().map((server) => server.kill()));
    this.#process.stop();
    await this.#leaveElection(this.#runnables.group('leader election'));
    this.logger.info('stopped');
  }

  /**
   * Work that goes on keeps the lease until it has ended or the lease runs out: that is not waited
   * for.
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
      'a path without a slash at its ends, such as "db" or "poststarthook/db"',
      name,
    );
  requireFunction('check', check);
}
