/**
 * The controller: informers → handlers → one queue of requests → workers → the reconcile function.
 *
 * What it keeps true: no reconcile before every cache is filled and every handler has seen its initial list; a request
 * is never reconciled twice at once; a failing reconcile touches no request but its own; a request leaves the queue for
 * good only by success, by a terminal error or by the end of the controller. controller-runtime:
 * pkg/internal/controller/controller.go.
 */

import type { Registration, ResourceEventHandler } from '../cache/handler.ts';
import { SharedIndexInformer } from '../cache/informer.ts';
import { ListWatch } from '../cache/list-watch.ts';
import type { Resource } from '../cache/resource.ts';
import type { Transport } from '../cache/transport.ts';
import { TimeSlice } from '../cache/wait.ts';
import { waitForCacheSync } from '../cache/wait-for-sync.ts';
import { type Clock, systemClock } from '../clock.ts';
import { CapstanError, invalid, requireFunction, requireInteger } from '../errors.ts';
import { handleError } from '../handle-error.ts';
import { type Request, requestKey } from '../request.ts';
import type { MetricsProvider, RateLimiter } from '../workqueue/index.ts';
import { enqueueRequestForObject, enqueueRequestForOwner } from './handler.ts';
import { type CachedGet, type Outcome, outcomeOf, outcomeOfError, type Reconcile } from './reconcile.ts';
import { type RequestQueue, requestQueue } from './request-queue.ts';

export interface ControllerOptions<T extends object> {
  /** In messages and metrics; by default the kind in lower case. */
  name?: string;
  transport: Transport;
  /** The resource whose objects are reconciled. */
  for: Resource<T, string>;
  /**
   * Resources whose objects belong to one of `for`: a change of such an object is a request for the object that its
   * owner reference with `controller: true` names.
   */
  owns?: Resource<never, string>[];
  /** One namespace; by default all. */
  namespace?: string;
  /** Workers. Default 1. */
  maxConcurrentReconciles?: number;
  /**
   * Delays of failed requests. Default: 5 ms, doubled by each failure of the request, up to 1000 s; without the priority queue also
   * 10 a second with bursts of 100 for all together.
   */
  rateLimiter?: RateLimiter<Request>;
  /**
   * Whether requests have priorities, in a `PriorityQueue`; the default. Then those of the initial list and of updates that changed nothing
   * come last ({@link LowPriority}), a request that comes again keeps its priority, and a result may set another one. `false`: first come,
   * first served, in a `RateLimitingQueue`.
   */
  usePriorityQueue?: boolean;
  /** After so many milliseconds the context's signal fires. The call itself is still waited for. 0, the default: never. */
  reconciliationTimeout?: number;
  /** How long the caches may take to fill, in milliseconds, before `run` rejects. 0, the default: two minutes. */
  cacheSyncTimeout?: number;
  /** Gets the metrics of the controller's queue, under the controller's name. */
  metricsProvider?: MetricsProvider;
  clock?: Clock;
  reconcile: Reconcile<T>;
}

export interface Controller {
  /**
   * Fills the caches, then reconciles, until the signal fires or `stop` is called; resolves when everything has ended.
   *
   * Rejects with CapstanError CACHE_SYNC_TIMEOUT, with ALREADY_STARTED the second time, and with the queue's own error
   * should that fail (code POISONED or OUT_OF_MEMORY); the controller has then ended as after `stop`.
   */
  run(options?: { signal?: AbortSignal }): Promise<void>;
  /**
   * Ends it: the signals of running reconciles fire and these are waited for; what is queued is dropped, because a
   * controller that starts lists everything anew. Legal at any time and any number of times; but a reconcile function that
   * awaits it waits for itself.
   */
  stop(): Promise<void>;
}

/** controller-runtime: pkg/controller/controller.go DefaultTyped, CacheSyncTimeout. */
const CACHE_SYNC_TIMEOUT_MS = 120_000;
/** Where a user's rate limiter throws, its request comes again after this: it must not be lost, nor spin. */
const LIMITER_FAILED_MS = 1000;

/**
 * A controller as controller-runtime has it: a level-triggered loop that brings the world to what the objects of one
 * resource say.
 *
 * After each reconcile: an error → again after the rate limiter's delay; `requeueAfter` → failures forgotten, again
 * after that time; `requeue` → again after the rate limiter's delay; success → failures forgotten; {@link TerminalError}
 * → neither again nor forgotten. Errors also go to the hook of `setErrorHandler`.
 *
 * Source: controller-runtime, builder.ControllerManagedBy(mgr).For().Owns().Complete().
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const controller = createController({
 *   transport,
 *   for: Website,
 *   owns: [Deployment],
 *   reconcile: async (request, { get, signal }) => {
 *     const website = get(request);
 *     if (website !== undefined) await apply(deploymentOf(website), signal);
 *   },
 * });
 * await controller.run({ signal });
 */
export function createController<T extends object>(options: ControllerOptions<T>): Controller {
  return new ReconcileLoop(checked(options));
}

type Settings<T extends object> = ControllerOptions<T> &
  Required<Pick<ControllerOptions<T>, 'name' | 'owns' | 'maxConcurrentReconciles' | 'cacheSyncTimeout' | 'clock'>>;

function checked<T extends object>(options: ControllerOptions<T>): Settings<T> {
  if (typeof options !== 'object' || options === null) throw invalid('options', 'an object', options);
  requireFunction('options.reconcile', options.reconcile);
  requireFunction('options.transport.request', options.transport?.request);
  if (typeof options.for?.kind !== 'string') throw invalid('options.for', 'what defineResource returns', options.for);
  const settings = {
    ...options,
    name: options.name ?? options.for.kind.toLowerCase(),
    owns: options.owns ?? [],
    maxConcurrentReconciles: options.maxConcurrentReconciles ?? 1,
    cacheSyncTimeout:
      (options.cacheSyncTimeout ?? 0) === 0 ? CACHE_SYNC_TIMEOUT_MS : (options.cacheSyncTimeout as number),
    clock: options.clock ?? systemClock,
  };
  if (typeof settings.name !== 'string') throw invalid('options.name', 'a string', settings.name);
  if (!Array.isArray(settings.owns)) throw invalid('options.owns', 'an array of resources', settings.owns);
  requireInteger('options.maxConcurrentReconciles', settings.maxConcurrentReconciles, 1);
  for (const name of ['cacheSyncTimeout', 'reconciliationTimeout'] as const) {
    const ms: unknown = settings[name] ?? 0;
    if (typeof ms !== 'number' || !(ms >= 0)) throw invalid(`options.${name}`, 'milliseconds >= 0', ms);
  }
  for (const [i, owned] of settings.owns.entries()) {
    if (typeof owned?.kind !== 'string') throw invalid(`options.owns[${i}]`, 'what defineResource returns', owned);
  }
  for (const method of ['now', 'setTimer', 'clearTimer'] as const) {
    requireFunction(`options.clock.${method}`, settings.clock[method]);
  }
  const { usePriorityQueue } = options;
  if (usePriorityQueue !== undefined && typeof usePriorityQueue !== 'boolean') {
    throw invalid('options.usePriorityQueue', 'a boolean', usePriorityQueue);
  }
  return settings;
}

class ReconcileLoop<T extends object> implements Controller {
  readonly #options: Settings<T>;
  readonly #queue: RequestQueue;
  /** Each watched resource and its cache; `for` comes first. */
  readonly #caches = new Map<Resource<never, string>, SharedIndexInformer<never, string>>();
  readonly #synced: { resource: Resource<never, string>; registration: Registration }[] = [];
  readonly #stop = new AbortController();
  readonly #slice: TimeSlice;
  /** One for each running reconcile. */
  readonly #calls = new Set<AbortController>();
  #running: Promise<void> | undefined;

  constructor(options: Settings<T>) {
    const { clock, namespace, name, metricsProvider, rateLimiter, usePriorityQueue = true } = options;
    this.#options = options;
    this.#slice = new TimeSlice(clock);
    this.#queue = requestQueue(usePriorityQueue, rateLimiter, { name, clock, metricsProvider });
    const enqueue = (request: Request, priority: number): void => this.#queue.addWithOpts({ priority }, request);

    this.#watch(options.for, namespace, enqueueRequestForObject(enqueue));
    const ofOwner = enqueueRequestForOwner(options.for, enqueue, { onlyController: true });
    for (const resource of options.owns) this.#watch(resource, resource.namespaced ? namespace : undefined, ofOwner);
  }

  #watch(
    resource: Resource<never, string>,
    namespace: string | undefined,
    handler: ResourceEventHandler<object>,
  ): void {
    const { transport, clock } = this.#options;
    const shared = this.#caches.get(resource);
    const informer = shared ?? new SharedIndexInformer(new ListWatch(transport, resource, { namespace }), { clock });
    this.#caches.set(resource, informer);
    this.#synced.push({ resource, registration: informer.addEventHandler(handler) });
  }

  async run(options: { signal?: AbortSignal } = {}): Promise<void> {
    if (this.#running !== undefined) {
      throw new CapstanError(
        'ALREADY_STARTED',
        `the controller "${this.#options.name}" runs once: make another one to start again`,
      );
    }
    const { signal } = options;
    const onAbort = (): void => this.#end();
    if (signal?.aborted) onAbort();
    else signal?.addEventListener('abort', onAbort, { once: true });
    this.#running = this.#run().finally(() => signal?.removeEventListener('abort', onAbort));
    return this.#running;
  }

  async stop(): Promise<void> {
    this.#end();
    await this.#running?.catch(() => undefined); // whoever called run is told
  }

  #end(): void {
    if (this.#stop.signal.aborted) return;
    const reason = new CapstanError('STOPPED', `the controller "${this.#options.name}" is being stopped`);
    this.#stop.abort(reason);
    for (const call of this.#calls) call.abort(reason);
    try {
      this.#queue.shutDown(); // wakes the workers that wait
    } catch {
      // Poisoned: they have been told. Thrown from here it would reach nobody but the host.
    }
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    const watching = Promise.all([...this.#caches.values()].map((informer) => informer.run({ signal })));
    watching.catch(() => this.#end()); // a cache that no longer follows its resource must not be reconciled from
    try {
      if (await this.#cachesSynced()) {
        const workers = Array.from({ length: this.#options.maxConcurrentReconciles }, () => this.#work());
        const ends = await Promise.allSettled(workers.map((worker) => worker.finally(() => this.#end())));
        for (const end of ends) if (end.status === 'rejected') throw end.reason;
      }
    } finally {
      this.#end();
      await watching;
      this.#queue.dispose();
    }
  }

  /** False when the controller was stopped meanwhile. */
  async #cachesSynced(): Promise<boolean> {
    const { clock, cacheSyncTimeout, name } = this.#options;
    const expired = new AbortController();
    const timer = clock.setTimer(() => expired.abort(), cacheSyncTimeout);
    const signal = AbortSignal.any([this.#stop.signal, expired.signal]);
    const synced = await waitForCacheSync({ signal, clock }, ...this.#synced.map(({ registration }) => registration));
    clock.clearTimer(timer);
    if (this.#stop.signal.aborted) return false;
    if (synced) return true;
    const missing = this.#synced
      .filter(({ registration }) => !registration.hasSynced())
      .map(({ resource: { plural, group } }) => (group === '' ? plural : `${plural}.${group}`));
    throw new CapstanError(
      'CACHE_SYNC_TIMEOUT',
      `the controller "${name}" waited ${cacheSyncTimeout} ms for its caches, and these did not fill: ${missing.join(', ')}. ` +
        'Is the resource served, and may this user list and watch it? Errors of the watches go to setErrorHandler.',
    );
  }

  /** Ends when the controller stops. Rejects only with an error of the queue itself: everything else belongs to a request. */
  async #work(): Promise<void> {
    for (;;) {
      const got = await this.#queue.getWithPriority();
      if (got.shutdown) return;
      try {
        if (this.#stop.signal.aborted) return; // stopping waits for what runs, not for what is queued
        this.#settle(got.item, await this.#reconcile(got.item), got.priority);
      } finally {
        this.#queue.done(got.item);
      }
      // Reconcile functions that never wait would otherwise keep the event loop from I/O and timers for the whole queue.
      if (this.#slice.over()) await this.#slice.yield();
    }
  }

  async #reconcile(request: Request): Promise<Outcome> {
    const { clock, reconcile, reconciliationTimeout } = this.#options;
    const call = new AbortController();
    this.#calls.add(call);
    const timer =
      reconciliationTimeout === undefined || reconciliationTimeout === 0
        ? undefined
        : clock.setTimer(() => call.abort(this.#timeout(request, reconciliationTimeout)), reconciliationTimeout);
    try {
      const attempt = this.#queue.numRequeues(request) + 1;
      return outcomeOf(await reconcile(request, { signal: call.signal, attempt, get: this.#get as CachedGet<T> }));
    } catch (error) {
      return outcomeOfError(error);
    } finally {
      if (timer !== undefined) clock.clearTimer(timer);
      this.#calls.delete(call);
    }
  }

  /** The outcome rules; a request comes again with the priority that it had. The queue drops what is added after `stop`. */
  #settle(request: Request, outcome: Outcome, had: number): void {
    switch (outcome.kind) {
      case 'success':
        this.#forget(request);
        return;
      case 'requeueAfter':
        this.#forget(request);
        this.#queue.addWithOpts({ after: outcome.ms, priority: outcome.priority ?? had }, request);
        return;
      case 'requeue':
        this.#addRateLimited(request, outcome.priority ?? had);
        return;
      case 'error':
        this.#report(request, outcome.error);
        this.#addRateLimited(request, had);
        return;
      case 'terminal':
        this.#report(request, outcome.error);
        return;
    }
  }

  #forget(request: Request): void {
    try {
      this.#queue.forget(request);
    } catch (error) {
      this.#report(request, error);
    }
  }

  #addRateLimited(request: Request, priority: number): void {
    try {
      this.#queue.addWithOpts({ rateLimited: true, priority }, request);
    } catch (error) {
      this.#report(request, error);
      this.#queue.addWithOpts({ after: LIMITER_FAILED_MS, priority }, request);
    }
  }

  #report(request: Request, error: unknown): void {
    if (this.#stop.signal.aborted && isAbort(error, this.#stop.signal.reason)) return;
    handleError(error, `controller "${this.#options.name}": reconcile of ${requestKey(request)}`);
  }

  #timeout(request: Request, ms: number): CapstanError {
    return new CapstanError('TIMEOUT', `the reconcile of ${requestKey(request)} has not ended within ${ms} ms`);
  }

  readonly #get = <O extends object>(request: Request, resource?: Resource<O, string>): O | undefined => {
    const informer = this.#caches.get(resource ?? this.#options.for);
    if (informer === undefined) throw invalid('resource', `a resource that "${this.#options.name}" watches`, resource);
    const { namespace, name } = request;
    return informer.getIndexer().getByKey(namespace === '' ? name : `${namespace}/${name}`);
  };
}

/** The way a call ends that was told to: nothing to report. */
function isAbort(error: unknown, reason: unknown): boolean {
  for (let current = error, depth = 0; current instanceof Error && depth < 8; current = current.cause, depth++) {
    const { name, code, kind } = current as Error & { code?: unknown; kind?: unknown };
    if (current === reason || name === 'AbortError' || code === 'ABORTED' || kind === 'aborted') return true;
  }
  return false;
}
