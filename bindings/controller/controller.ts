/**
 * The controller: it starts its sources, reads requests from one queue, and runs the workers that
 * reconcile them, until it is stopped. controller-runtime: pkg/internal/controller/controller.go.
 *
 * Invariants:
 * - No reconcile begins before every source has synced.
 * - Two reconciles of one request never run at the same time.
 * - A request leaves the queue for good only when its reconcile says so or the controller ends.
 * - Work that needs the lease begins only while the lease is valid.
 * - When `run` has settled, no worker, timer or handler of the controller is left running.
 */
/// <reference lib="esnext.disposable" preserve="true" />

import { CapstanError } from '../base/errors.ts';
import { handleError } from '../base/handle-error.ts';
import { requireNames, requireSignalOptions } from '../base/names.ts';
import type { Request } from '../base/request.ts';
import type { Resource } from '../base/resource.ts';
import { onAbort, sleep, TimeSlice } from '../base/wait.ts';
import type { AddOptions } from '../workqueue/index.ts';
import { buildControllerReport } from './build-report.ts';
import { Causes, NO_CAUSES, type RunCauses } from './causes.ts';
import { Debounce } from './debounce.ts';
import { LeaseGate } from './lease-gate.ts';
import { REPORT_NAMES, type ReportOptions, type Runnable } from './manager.ts';
import { FollowedNamespaces, type NamespacePlan } from './namespaces.ts';
import type { ResolvedSettings } from './options.ts';
import type { CachedGet, Reconcile } from './reconcile.ts';
import type { ControllerReport } from './report.ts';
import type { RequestQueue } from './request-queue.ts';
import { RunHistory } from './run-history.ts';
import { addOrEnd, Fatal, ReconcileRunner } from './runner.ts';
import { ownedQueue, type ShardGate, type ShardWorker } from './shards.ts';
import type { Cause, Source, SourceQueue } from './source.ts';
import { type PlannedSource, SourceSet } from './source-set.ts';

/**
 * A controller that {@link createController} or the builder has made. Run it with `run`, or add it
 * to a manager, which starts and stops it. controller-runtime: controller.Controller.
 */
export interface Controller<R = Request> extends Runnable, AsyncDisposable {
  /** The name in metrics, logs and messages. */
  readonly name: string;
  /**
   * Starts the sources, waits until they have synced, then reconciles until the signal fires or
   * `stop` is called. Resolves when all workers have ended. Calls of handlers and map functions
   * that are still running are awaited for at most `shutdownTimeout`.
   *
   * Rejects with CapstanError CACHE_SYNC_TIMEOUT or SOURCE_FAILED; with ALREADY_STARTED on a second
   * call; with the panic itself if `recoverPanic` is false; and with the queue's own error (code
   * POISONED or OUT_OF_MEMORY) if the queue fails. In each case the controller has ended as after
   * `stop`.
   */
  run(options?: { signal?: AbortSignal | undefined }): Promise<void>;
  /** The same as `run`, under the name that a manager calls. */
  start(options: { signal: AbortSignal }): Promise<void>;
  /**
   * Stops the controller: it aborts the signals of running reconciles and waits for these and for
   * running calls of handlers and map functions. Queued requests are dropped, because a controller
   * lists all objects when it starts. May be called at any time and repeatedly.
   *
   * A handler or map function may await it: then only reconciles are awaited. A reconcile function
   * must not await it, because it would wait for itself.
   */
  stop(): Promise<void>;
  /**
   * Adds a source. If the controller is running, the source starts at once. The returned function
   * removes the source: its signal fires, and it can no longer add requests. If the source fails to
   * start, the controller ends with SOURCE_FAILED.
   *
   * @throws CapstanError INVALID_ARGUMENT
   * @example
   * const handler = enqueueRequestForObject();
   * const remove = controller.watch(kindSource({ cache, resource: Pod, handler }));
   * remove();
   */
  watch(source: Source<R>): () => void;
  /** The value of the option `needLeaderElection`. */
  needLeaderElection(): boolean;
  /**
   * With `enableWarmup`, starts the sources and waits until they have synced; a later `start` uses
   * them. Without `enableWarmup` it does nothing. controller-runtime: Warmup.
   */
  warmup(options: { signal: AbortSignal }): Promise<void>;
  /**
   * The state of the controller for logs and pages, computed on each call: see {@link
   * ControllerReport}.
   */
  report(options?: ReportOptions): ControllerReport;
}

/** What a controller is made of, with all options resolved. */
export interface ControllerParts<T extends object> {
  readonly settings: ResolvedSettings;
  readonly reconcile: Reconcile<T>;
  readonly get: CachedGet<T>;
  readonly sources: readonly PlannedSource[];
  /** Whether this process holds the lease. Absent: there is no election. */
  readonly holdsLease: (() => boolean) | undefined;
  /** Absent: this process has all requests. */
  readonly shards?: ShardGate | undefined;
  /** Absent: the namespaces of the cache do not change. */
  readonly namespaces?: NamespacePlan | undefined;
  /** What is reconciled. */
  readonly resource?: Resource<never, string> | undefined;
  /**
   * Called once when everything has ended, for example to stop informers that only this controller
   * uses.
   */
  readonly onEnd: () => Promise<void> | void;
}

/**
 * The parts that are made when the sources start. They are not made earlier, because a queue may
 * have timers and a controller that never starts must have none.
 */
interface Started<T extends object> {
  readonly queue: RequestQueue;
  readonly runner: ReconcileRunner<T>;
}

/** The implementation of {@link Controller}. */
export class ReconcileLoop<T extends object> implements Controller, ShardWorker {
  readonly name: string;
  readonly #parts: ControllerParts<T>;
  readonly #settings: ResolvedSettings;
  readonly #sources = new SourceSet();
  readonly #causes = new Causes();
  readonly #history = new RunHistory();
  readonly #stop = new AbortController();
  readonly #slice: TimeSlice;
  readonly #gate: LeaseGate | undefined;
  readonly #debounce: Debounce | undefined;
  readonly #shards: ShardGate | undefined;
  readonly #namespaces: FollowedNamespaces | undefined;
  #leaveShards = (): void => undefined;
  #started: Started<T> | undefined;
  #preparing: Promise<boolean> | undefined;
  #isPrepared = false;
  #running: Promise<void> | undefined;
  /** All workers. Never rejects. */
  #workersEnded: Promise<unknown> | undefined;
  #closing: Promise<void> | undefined;
  #unlinkWarmup = (): void => undefined;
  /** The error that ended the controller. */
  #fatal: Fatal | undefined;

  constructor(parts: ControllerParts<T>) {
    const { settings, holdsLease } = parts;
    this.#parts = parts;
    this.#settings = settings;
    this.name = settings.name;
    this.#slice = new TimeSlice(settings.clock);
    this.#shards = parts.shards;
    if (holdsLease !== undefined && (settings.needLeaderElection || parts.shards !== undefined))
      this.#gate = new LeaseGate(holdsLease, settings.clock, this.#stop.signal);
    if (settings.debounceMs > 0)
      this.#debounce = new Debounce(
        settings.clock,
        settings,
        (request, priority) => this.#started?.queue.addWithOpts({ priority }, request) ?? false,
      );
    for (const source of parts.sources) this.#sources.add(source);
    if (parts.namespaces !== undefined)
      this.#namespaces = new FollowedNamespaces(parts.namespaces, {
        add: (source) => this.#sources.add(source),
        release: (request, priority) => this.#release(request, priority),
        drop: (request) => this.#drop(request),
        abort: (which, reason) => this.abort(which, reason),
      });
  }

  async run(options: { signal?: AbortSignal | undefined } = {}): Promise<void> {
    requireSignalOptions(options, 'run()');
    if (this.#running !== undefined) {
      throw new CapstanError(
        'ALREADY_STARTED',
        `the controller "${this.name}" runs once: make another one to start again, ` +
          'and add it to one manager only',
      );
    }
    const unlink = this.#endWith(options.signal);
    this.#running = this.#run().finally(unlink);
    return this.#running;
  }

  start(options: { signal: AbortSignal }): Promise<void> {
    return this.run(options);
  }

  async warmup(options: { signal: AbortSignal }): Promise<void> {
    requireSignalOptions(options, 'warmup()');
    const { signal } = options;
    if (!this.#settings.enableWarmup) return;
    this.#unlinkWarmup();
    // The signal stays linked after this call returns, because the sources keep running.
    this.#unlinkWarmup = this.#endWith(signal);
    try {
      await this.#prepare();
    } finally {
      if (this.#stop.signal.aborted && this.#running === undefined) await this.#close();
    }
  }

  needLeaderElection(): boolean {
    return this.#settings.needLeaderElection;
  }

  watch(source: Source): () => void {
    return this.#sources.add({ source });
  }

  discard(): void {
    void this.stop();
  }

  async stop(): Promise<void> {
    const calledByHandler = this.#sources.isCalling();
    this.#end();
    if (calledByHandler) {
      // A handler called this: waiting for handlers would wait for itself.
      if (this.#running === undefined) void this.#close();
      await this.#workersEnded;
      return;
    }
    await this.#running?.catch(() => undefined); // the caller of run gets the error
    await this.#close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  report(options: ReportOptions = {}): ControllerReport {
    requireNames('options', options, 'option of report()', REPORT_NAMES);
    return buildControllerReport(
      {
        settings: this.#settings,
        state: this.#state(),
        sources: this.#sources.report(),
        queue: this.#stop.signal.aborted ? undefined : this.#started?.queue,
        debounce: this.#debounce,
        unlisted: this.#namespaces?.size ?? 0,
        causes: this.#causes,
        history: this.#history,
        running: this.#started?.runner.running() ?? [],
        hotLoops: this.#started?.runner.hotLoops,
      },
      options,
    );
  }

  #state(): ControllerReport['state'] {
    if (this.#stop.signal.aborted) return 'ended';
    const waits = this.#gate !== undefined && !this.#gate.isOpen();
    if (this.#running === undefined) {
      if (this.#preparing !== undefined && !this.#isPrepared) return 'warming up';
      return waits || this.#isPrepared ? 'waiting for leadership' : 'not started';
    }
    if (!this.#isPrepared) return 'waiting for caches';
    return waits ? 'waiting for leadership' : 'running';
  }

  /** Stops the controller when the signal fires. The returned function removes the listener. */
  #endWith(signal: AbortSignal | undefined): () => void {
    return onAbort(signal, () => {
      this.#end();
      if (this.#running === undefined) void this.#close();
    });
  }

  #end(): void {
    if (this.#stop.signal.aborted) return;
    this.#stop.abort(new CapstanError('STOPPED', `the controller "${this.name}" is being stopped`));
    this.#debounce?.stop();
    try {
      this.#started?.queue.shutDown(); // wakes the workers that wait for a request
    } catch {
      // The queue is poisoned, and its workers already got that error. Only the source of the abort
      // signal would see another one.
    }
  }

  #endBy(fatal: Fatal): void {
    this.#fatal ??= fatal;
    this.#end();
  }

  /**
   * Releases the queue, the causes and the caches after the last worker has ended. Never rejects.
   */
  #close(): Promise<void> {
    this.#closing ??= (async () => {
      this.#leaveShards();
      await this.#preparing?.catch(() => undefined);
      this.#unlinkWarmup();
      this.#namespaces?.stop();
      await this.#waitForHandlers();
      this.#causes.clear();
      try {
        this.#started?.queue.dispose();
      } catch (error) {
        handleError(error, `the queue of the controller "${this.name}", at its end`);
      }
      try {
        await this.#parts.onEnd();
      } catch (error) {
        handleError(error, `the end of the controller "${this.name}"`);
      }
    })();
    return this.#closing;
  }

  /** Waits for running calls of handlers and map functions. Never rejects. */
  async #waitForHandlers(): Promise<void> {
    const { clock, shutdownTimeout } = this.#settings;
    if (shutdownTimeout === 0) return;
    const what = `the end of the controller "${this.name}"`;
    try {
      const late = await this.#sources.idle(clock, shutdownTimeout);
      if (late.length === 0) return;
      const message =
        `the controller "${this.name}" was stopped, and within ${shutdownTimeout} ms calls of ` +
        `the handlers or map functions of these sources have not ended: ${late.join(', ')}. ` +
        'They go on; "shutdownTimeout" is how long they are waited for';
      handleError(new CapstanError('TIMEOUT', message), what);
    } catch (error) {
      handleError(error, what); // the clock failed
    }
  }

  async #run(): Promise<void> {
    const { workers, figures } = this.#settings;
    figures.workers += workers;
    try {
      if (await this.#prepare()) {
        this.#info('Starting workers', { workers });
        this.#workersEnded = Promise.all(Array.from({ length: workers }, () => this.#runWorker()));
        await this.#workersEnded;
      }
    } finally {
      this.#end();
      figures.workers -= workers;
      await this.#close();
      this.#info('All workers finished');
    }
    if (this.#fatal !== undefined) throw this.#fatal.error;
  }

  /**
   * Makes the queue and starts the sources; later calls get the same promise. Resolves to false if
   * the controller was stopped meanwhile.
   */
  #prepare(): Promise<boolean> {
    this.#preparing ??= this.#startSources();
    return this.#preparing;
  }

  async #startSources(): Promise<boolean> {
    const { signal } = this.#stop;
    if (signal.aborted) return false;
    const { settings, reconcile, get } = this.#parts;
    this.#info('Starting sources');
    this.#leaveShards = this.#shards?.join(this) ?? this.#leaveShards;
    const queue = settings.newQueue();
    const runner = new ReconcileRunner({
      settings,
      reconcile,
      get,
      queue,
      causes: this.#causes,
      history: this.#history,
      stop: signal,
    });
    this.#started = { queue, runner };
    this.#isPrepared = await this.#sources.start({
      controller: this.name,
      queue: this.#sourceQueue(queue),
      signal,
      clock: settings.clock,
      logger: settings.logOf?.(undefined),
      carrier: settings.carrier,
      timeoutMs: settings.cacheSyncTimeout,
      onFailure: (error) => this.#endBy(new Fatal(error)),
    });
    return this.#isPrepared;
  }

  /**
   * The queue that sources add to: it records the cause and passes the request to the debounce or
   * the work queue.
   */
  #sourceQueue(queue: RequestQueue): SourceQueue {
    const causes = this.#causes;
    const debounce = this.#debounce;
    const { signal } = this.#stop;
    const taking: SourceQueue = {
      addWithCause(options: AddOptions, request: Request, cause: Cause): void {
        if (signal.aborted) return;
        const { after = 0, rateLimited = false, priority = 0 } = options;
        if (debounce !== undefined && after <= 0 && !rateLimited) {
          debounce.add(request, priority);
          causes.add(request, cause);
          return;
        }
        // before the add, because the queue may hand the request out at once
        causes.add(request, cause);
        let wasAdded = false;
        try {
          wasAdded = queue.addWithOpts(options, request);
        } finally {
          if (!wasAdded) causes.remove(request, cause);
        }
      },
    };
    return this.#shards === undefined ? taking : ownedQueue(taking, this.#shards);
  }

  get resource(): Resource<never, string> | undefined {
    return this.#parts.resource;
  }

  isPrepared(): boolean {
    return this.#isPrepared;
  }

  opened(has: (request: Request) => boolean): void {
    this.#sources.opened(has);
  }

  abort(which: (request: Request) => boolean, reason: CapstanError): void {
    this.#started?.runner.abort(which, reason);
  }

  /** Never rejects: an error after which workers cannot continue ends the controller. */
  async #runWorker(): Promise<void> {
    const { clock, restartDelay } = this.#settings;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        await this.#processRequests();
        return;
      } catch (error) {
        const fatal = Fatal.from(error);
        if (fatal !== undefined) return this.#endBy(fatal);
        handleError(
          error,
          `a worker of the controller "${this.name}", which continues in ${restartDelay} ms`,
        );
      }
      await sleep(clock, restartDelay, signal);
    }
  }

  async #processRequests(): Promise<void> {
    const { queue, runner } = this.#started as Started<T>;
    const { signal } = this.#stop;
    let causes = NO_CAUSES;
    let isTaken = false;
    const options = {
      taken: (request: Request): void => {
        causes = this.#causes.take(request);
        isTaken = true;
      },
    };
    for (;;) {
      causes = NO_CAUSES;
      isTaken = false;
      const getting = queue.getWithPriority(options);
      const waits = !isTaken;
      const got = await getting;
      if (got.shutdown) return;
      const { item: request, priority } = got;
      let mayBegin = true;
      try {
        if (signal.aborted) return; // a stop drops queued requests
        if (this.#debounce?.holds(request, priority)) {
          this.#causes.putBack(request, causes); // the debounce adds the request again
          continue;
        }
        const verdict = this.#namespaces?.admit(request, priority) ?? 'run';
        if (verdict !== 'run') {
          if (verdict === 'wait') this.#causes.putBack(request, causes);
          else this.#drop(request);
          continue;
        }
        mayBegin = this.#gate === undefined || this.#gate.isOpen();
        if (mayBegin) {
          const running =
            this.#shards === undefined
              ? runner.reconcile(request, priority, causes)
              : this.#reconcileOwned(this.#shards, request, priority, causes);
          if (running !== undefined) await running;
          // Otherwise the time of waiting would count, and each request would wait for a turn.
          if (waits) this.#slice.start(running === undefined ? runner.startedAt : undefined);
        } else {
          this.#causes.putBack(request, causes);
          addOrEnd(queue, { priority }, request);
        }
      } finally {
        queue.done(request);
      }
      if (!mayBegin) await this.#gate?.wait();
      // Reconcile functions that never await would otherwise block timers and I/O until the queue
      // is empty.
      if (this.#slice.over()) await this.#slice.yield();
    }
  }

  /** A request whose namespace has synced. */
  #release(request: Request, priority: number): void {
    if (this.#stop.signal.aborted || this.#started === undefined) return;
    try {
      addOrEnd(this.#started.queue, { priority }, request);
    } catch (error) {
      this.#endBy(Fatal.from(error) ?? new Fatal(error));
    }
  }

  /** A request whose namespace the cache no longer has. */
  #drop(request: Request): void {
    this.#causes.take(request);
    try {
      this.#started?.queue.forget(request);
    } catch (error) {
      handleError(error, `the controller "${this.name}", which drops a request`);
    }
  }

  /** A request whose slot is not open here is dropped: it comes again when the slot opens. */
  async #reconcileOwned(
    shards: ShardGate,
    request: Request,
    priority: number,
    causes: RunCauses,
  ): Promise<void> {
    const { queue, runner } = this.#started as Started<T>;
    const slot = shards.enter(request);
    if (slot === undefined) return queue.forget(request);
    try {
      await runner.reconcile(request, priority, causes);
    } finally {
      shards.leave(slot);
    }
  }

  #info(message: string, fields?: Readonly<Record<string, unknown>>): void {
    this.#settings.logOf?.(undefined).info(message, fields);
  }
}
