/**
 * The life of a controller: sources → one queue of requests → workers, from the first source that
 * starts to the last worker that ends.
 *
 * What it keeps true: no reconcile before every source has synced; a request is never reconciled
 * twice at once; a request leaves the queue for good only by what its reconcile says or by the end
 * of the controller; nothing that only a leader does begins without a valid lease; at the end
 * nothing is left that runs. controller-runtime: pkg/internal/controller/controller.go.
 */

import { CapstanError } from '../base/errors.ts';
import { handleError } from '../base/handle-error.ts';
import { requireNames, requireSignalOptions } from '../base/names.ts';
import type { Request } from '../base/request.ts';
import { sleep, TimeSlice } from '../base/wait.ts';
import type { AddOptions } from '../workqueue/index.ts';
import { buildControllerReport } from './build-report.ts';
import { Causes, NO_CAUSES } from './causes.ts';
import { Debounce } from './debounce.ts';
import { LeaseGate } from './lease-gate.ts';
import { REPORT_NAMES, type ReportOptions, type Runnable } from './manager.ts';
import type { ResolvedSettings } from './options.ts';
import type { CachedGet, Reconcile } from './reconcile.ts';
import type { ControllerReport } from './report.ts';
import type { RequestQueue } from './request-queue.ts';
import { RunHistory } from './run-history.ts';
import { addOrEnd, Fatal, ReconcileRunner } from './runner.ts';
import type { Cause, Source, SourceQueue } from './source.ts';
import { type PlannedSource, SourceSet } from './source-set.ts';

export interface Controller extends Runnable {
  readonly name: string;
  /**
   * Fills the caches, then reconciles, until the signal fires or `stop` is called; resolves when
   * everything has ended, handlers and map functions that were under way included
   * (`shutdownTimeout` at most).
   *
   * Rejects with CapstanError CACHE_SYNC_TIMEOUT or SOURCE_FAILED, with ALREADY_STARTED the second
   * time, with a panic where `recoverPanic` is false, and with the queue's own error should that
   * fail (code POISONED or OUT_OF_MEMORY); the controller has then ended as after `stop`.
   */
  run(options?: { signal?: AbortSignal | undefined }): Promise<void>;
  /** As `run`: what a manager calls. */
  start(options: { signal: AbortSignal }): Promise<void>;
  /**
   * Ends it: the signals of running reconciles fire and these are waited for, as are calls of
   * handlers and map functions; what is queued is dropped, because a controller that starts lists
   * everything anew. Legal at any time and any number of times. Called by a handler or a map
   * function it waits for reconciles alone; but a reconcile function that awaits it waits for
   * itself.
   */
  stop(): Promise<void>;
  /**
   * Adds a source, also while the controller runs: then it starts at once. The function that it
   * returns takes the source away again: its signal fires, and it adds nothing any more. A source
   * that cannot start ends the controller (SOURCE_FAILED).
   *
   * @throws CapstanError INVALID_ARGUMENT
   * @example
   * const remove = controller.watch(kindSource({ cache, resource: Pod, handler: enqueueRequestForObject() }));
   * remove();
   */
  watch(source: Source): () => void;
  /** The option `needLeaderElection`. */
  needLeaderElection(): boolean;
  /**
   * Starts and syncs the sources, where `enableWarmup` is set; else it does nothing. A later start
   * goes on from there.
   */
  warmup(options: { signal: AbortSignal }): Promise<void>;
  /** What it is doing, for people: see {@link ControllerReport}. Made when asked for. */
  report(options?: ReportOptions): ControllerReport;
}

export interface LoopParts<T extends object> {
  readonly settings: ResolvedSettings;
  readonly reconcile: Reconcile<T>;
  readonly get: CachedGet<T>;
  readonly sources: readonly PlannedSource[];
  /** Whether this process may begin what only the leader does; absent: it always may. */
  readonly holdsLease: (() => boolean) | undefined;
  /**
   * What is to be done when everything has ended, such as the end of caches that nobody else has.
   */
  readonly onEnd: () => Promise<void> | void;
}

/**
 * What there is from the start of the sources on: a queue may have timers, and a controller that is
 * never started must have none.
 */
interface Started<T extends object> {
  readonly queue: RequestQueue;
  readonly work: ReconcileRunner<T>;
}

export class ReconcileLoop<T extends object> implements Controller {
  readonly name: string;
  readonly #parts: LoopParts<T>;
  readonly #settings: ResolvedSettings;
  readonly #sources = new SourceSet();
  readonly #causes = new Causes();
  readonly #history = new RunHistory();
  readonly #stop = new AbortController();
  readonly #slice: TimeSlice;
  readonly #gate: LeaseGate | undefined;
  readonly #debounce: Debounce | undefined;
  #started: Started<T> | undefined;
  #preparing: Promise<boolean> | undefined;
  #isPrepared = false;
  #running: Promise<void> | undefined;
  /** The workers. Never rejects. */
  #working: Promise<unknown> | undefined;
  #closing: Promise<void> | undefined;
  #unlinkWarmup = (): void => undefined;
  /** What the controller ends with. */
  #fatal: Fatal | undefined;

  constructor(parts: LoopParts<T>) {
    const { settings, holdsLease } = parts;
    this.#parts = parts;
    this.#settings = settings;
    this.name = settings.name;
    this.#slice = new TimeSlice(settings.clock);
    if (holdsLease !== undefined && settings.needLeaderElection)
      this.#gate = new LeaseGate(holdsLease, settings.clock, this.#stop.signal);
    if (settings.debounceMs > 0)
      this.#debounce = new Debounce(
        settings.clock,
        settings,
        (request, priority) => this.#started?.queue.addWithOpts({ priority }, request) ?? false,
      );
    for (const source of parts.sources) this.#sources.add(source);
  }

  async run(options: { signal?: AbortSignal | undefined } = {}): Promise<void> {
    requireSignalOptions(options, 'run()');
    if (this.#running !== undefined) {
      throw new CapstanError(
        'ALREADY_STARTED',
        `the controller "${this.name}" runs once: make another one to start again, and add it to one manager only`,
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
    this.#unlinkWarmup(); // of a call before
    // for as long as the controller lives: its sources do
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
    const byHandler = this.#sources.isCalling();
    this.#end();
    if (byHandler) {
      // It waits for what the end would wait for.
      if (this.#running === undefined) void this.#close();
      await this.#working;
      return;
    }
    await this.#running?.catch(() => undefined); // whoever called run is told
    await this.#close();
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
        causes: this.#causes,
        history: this.#history,
        running: this.#started?.work.running() ?? [],
        hotLoops: this.#started?.work.hotLoops,
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

  /** Ends the controller when the signal fires. The function it returns takes that back. */
  #endWith(signal: AbortSignal | undefined): () => void {
    const onAbort = (): void => {
      this.#end();
      if (this.#running === undefined) void this.#close();
    };
    if (signal?.aborted) onAbort();
    else signal?.addEventListener('abort', onAbort, { once: true });
    return () => signal?.removeEventListener('abort', onAbort);
  }

  #end(): void {
    if (this.#stop.signal.aborted) return;
    this.#stop.abort(new CapstanError('STOPPED', `the controller "${this.name}" is being stopped`));
    this.#debounce?.stop();
    try {
      this.#started?.queue.shutDown(); // wakes the workers that wait
    } catch {
      // Poisoned: they have been told. Thrown from here it would reach nobody but the host.
    }
  }

  #endBy(fatal: Fatal): void {
    this.#fatal ??= fatal;
    this.#end();
  }

  /** Lets go of everything, once nothing runs any more. Never rejects. */
  #close(): Promise<void> {
    this.#closing ??= (async () => {
      await this.#preparing?.catch(() => undefined);
      this.#unlinkWarmup();
      await this.#handlersEnded();
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

  /** Waits for what handlers and map functions do yet. Never rejects. */
  async #handlersEnded(): Promise<void> {
    const { clock, shutdownTimeout } = this.#settings;
    if (shutdownTimeout === 0) return;
    const what = `the end of the controller "${this.name}"`;
    try {
      const late = await this.#sources.idle(clock, shutdownTimeout);
      if (late.length === 0) return;
      const message = `the controller "${this.name}" was stopped, and within ${shutdownTimeout} ms calls of the handlers or map functions of these sources have not ended: ${late.join(', ')}. They go on; "shutdownTimeout" is how long they are waited for`;
      handleError(new CapstanError('TIMEOUT', message), what);
    } catch (error) {
      handleError(error, what); // the clock
    }
  }

  async #run(): Promise<void> {
    const { workers, figures } = this.#settings;
    figures.workers += workers;
    try {
      if (await this.#prepare()) {
        this.#info('Starting workers', { workers });
        this.#working = Promise.all(Array.from({ length: workers }, () => this.#work()));
        await this.#working;
      }
    } finally {
      this.#end();
      figures.workers -= workers;
      await this.#close();
      this.#info('All workers finished');
    }
    if (this.#fatal !== undefined) throw this.#fatal.error;
  }

  /** Makes the queue and starts the sources, once. False: the controller ended meanwhile. */
  #prepare(): Promise<boolean> {
    this.#preparing ??= this.#startSources();
    return this.#preparing;
  }

  async #startSources(): Promise<boolean> {
    const { signal } = this.#stop;
    if (signal.aborted) return false;
    const { settings, reconcile, get } = this.#parts;
    this.#info('Starting sources');
    const queue = settings.newQueue();
    const work = new ReconcileRunner({
      settings,
      reconcile,
      get,
      queue,
      causes: this.#causes,
      history: this.#history,
      stop: signal,
    });
    this.#started = { queue, work };
    this.#isPrepared = await this.#sources.start({
      controller: this.name,
      queue: this.#intake(queue),
      signal,
      clock: settings.clock,
      logger: settings.logOf?.(undefined),
      timeoutMs: settings.cacheSyncTimeout,
      onFailure: (error) => this.#endBy(new Fatal(error)),
    });
    return this.#isPrepared;
  }

  /** What sources add to. */
  #intake(queue: RequestQueue): SourceQueue {
    const causes = this.#causes;
    const debounce = this.#debounce;
    const { signal } = this.#stop;
    return {
      addWithCause(options: AddOptions, request: Request, cause: Cause): void {
        if (signal.aborted) return;
        const { after = 0, rateLimited = false, priority = 0 } = options;
        if (debounce !== undefined && after <= 0 && !rateLimited) {
          debounce.add(request, priority);
          causes.add(request, cause);
          return;
        }
        causes.add(request, cause); // first, as the queue may hand the request out at once
        let wasAdded = false;
        try {
          wasAdded = queue.addWithOpts(options, request);
        } finally {
          if (!wasAdded) causes.remove(request, cause);
        }
      },
    };
  }

  /** Never rejects: what no worker can go on after ends the controller. */
  async #work(): Promise<void> {
    const { clock, restartDelay } = this.#settings;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        await this.#takeTurns();
        return;
      } catch (error) {
        const fatal = Fatal.from(error);
        if (fatal !== undefined) return this.#endBy(fatal);
        handleError(
          error,
          `a worker of the controller "${this.name}", which goes on in ${restartDelay} ms`,
        );
      }
      await sleep(clock, restartDelay, signal);
    }
  }

  async #takeTurns(): Promise<void> {
    const { queue, work } = this.#started as Started<T>;
    const { signal } = this.#stop;
    let causes = NO_CAUSES;
    const options = {
      taken: (request: Request): void => {
        causes = this.#causes.take(request);
      },
    };
    for (;;) {
      causes = NO_CAUSES;
      const got = await queue.getWithPriority(options);
      if (got.shutdown) return;
      const { item: request, priority } = got;
      let mayBegin = true;
      try {
        if (signal.aborted) return; // stopping waits for what runs, not for what is queued
        if (this.#debounce?.holds(request, priority)) {
          this.#causes.giveBack(request, causes); // it comes again from there
          continue;
        }
        mayBegin = this.#gate === undefined || this.#gate.isOpen();
        if (mayBegin) await work.serve(request, priority, causes);
        else {
          this.#causes.giveBack(request, causes);
          addOrEnd(queue, { priority }, request);
        }
      } finally {
        queue.done(request);
      }
      if (!mayBegin) await this.#gate?.wait();
      // Reconcile functions that never wait would otherwise keep the event loop from I/O and timers
      // for the whole queue.
      if (this.#slice.over()) await this.#slice.yield();
    }
  }

  #info(message: string, fields?: Readonly<Record<string, unknown>>): void {
    this.#settings.logOf?.(undefined).info(message, fields);
  }
}
