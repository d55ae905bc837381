/// <reference lib="esnext.disposable" preserve="true" />
/**
 * The shared informer: one list and watch, one indexed store, any number of handlers.
 *
 *     reflector → queue → Indexer → SharedProcessor → handlers
 *
 * Invariant: the store and its indices change before any handler is told; both happen in one turn,
 * so that a handler added at any moment gets the store's content and then every later delta, none
 * missing and none twice. client-go: tools/cache/shared_informer.go.
 */
import { calls } from '../../base/calls.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import { CapstanError, invalid, requireFunction } from '../../base/errors.ts';
import { handleError } from '../../base/handle-error.ts';
import { requireSignalOptions } from '../../base/names.ts';
import type { DoneChecker } from '../../base/wait.ts';
import { abortable, deferred, onAbort, within } from '../../base/wait.ts';
import { LazyChange } from '../bytes/change.ts';
import { type Decoder, jsonDecoder } from '../decode/decoder.ts';
import { keptBy } from '../decode/kept.ts';
import { byteOptions, requireBytesFree } from '../decode/limits.ts';
import { newTransformer } from '../queue/apply-transform.ts';
import { DeltaFIFO } from '../queue/delta-fifo.ts';
import { type Deltas, hasRepeats } from '../queue/deltas.ts';
import { RealFIFO } from '../queue/fifo.ts';
import type { Queue, TransformFunc } from '../queue/queue.ts';
import type { ListWatch } from '../reflector/list-watch.ts';
import { Reflector } from '../reflector/reflector.ts';
import { Rounds } from '../reflector/relist-loop.ts';
import type { WatchErrorHandler } from '../reflector/status.ts';
import type { IndexSpec } from '../rest/resource.ts';
import { CacheIndexer } from '../store/cache-indexer.ts';
import { Lister } from '../store/lister.ts';
import { MutationDetector } from '../store/mutation-detector.ts';
import type { Indexer } from '../store/store.ts';
import { UnseenWrites } from '../store/unseen-writes.ts';
import { EventIterators, type InformerEvent } from './events.ts';
import {
  type HandlerOptions,
  type Registration,
  type ResourceEventHandler,
  requireHandler,
  requireHandlerOptions,
} from './handler.ts';
import { InformerMeter, identityOf } from './informer-metrics.ts';
import {
  fifoOf,
  guardsOf,
  type InformerStatus,
  reflectorOptions,
  requireInformerOptions,
  SHUTDOWN_MS,
  type SharedIndexInformerOptions,
} from './informer-options.ts';
import { listenerOf, ProcessorListener } from './listener.ts';
import { Updated } from './notification.ts';
import { type DeltaHandler, processDeltas } from './process-deltas.ts';
import { ProcessLoop } from './process-loop.ts';
import { SharedProcessor } from './processor.ts';
import { ResyncSchedule } from './resync.ts';

/**
 * A cache of one resource that follows the server, and tells handlers what changed.
 *
 * @example
 * const informer = new SharedIndexInformer(new ListWatch(transport, Pod));
 * informer.addEventHandler({ onAdd: (pod) => queue.add(metaNamespaceKeyFunc(pod)) });
 * const running = informer.run({ signal });
 * await waitForCacheSync({ signal }, informer);
 * informer.getIndexer().byIndex('namespace', 'default');
 */
export class SharedIndexInformer<T extends object, I extends string = never> {
  readonly #listWatch: ListWatch<T, I>;
  readonly #options: SharedIndexInformerOptions<T>;
  readonly #clock: Clock;
  readonly #indexer: CacheIndexer<T, I>;
  #reflector: Reflector<T, I>;
  readonly #loop: ProcessLoop<T>;
  readonly #unseen: UnseenWrites<T>;
  readonly #processor = new SharedProcessor<T>();
  readonly #detector: MutationDetector | undefined;
  /**
   * What the store became, to all handlers. An update that changed nothing goes to those who take
   * part in the resync.
   */
  readonly #distributor: DeltaHandler<T> = {
    isIdle: () => this.#processor.isEmpty() && this.#detector === undefined,
    onAdd: (object, isInInitialList) => {
      this.#detector?.add(object);
      this.#processor.distribute(
        { type: 'add', object, isInInitialList, repeated: this.#repeats },
        false,
      );
    },
    onUpdate: (old, object) => {
      if (object !== old) this.#detector?.add(object);
      this.#tellUpdate(old, object, new LazyChange(old, object));
    },
    onCompared: (old, object, changes) =>
      this.#tellUpdate(old, object, new LazyChange(old, object, changes)),
    onDelete: (object) => {
      this.#unseen.deleted(object);
      this.#processor.distribute({ type: 'delete', object }, false);
    },
  };
  readonly #rounds: Rounds;
  readonly #events = new EventIterators<T>();
  readonly #stop = new AbortController();
  readonly #synced = deferred();
  /** Resolves when no handler is told anything more. */
  readonly #quiet = deferred();
  #handlersEnding: Promise<void> | undefined;
  #changed: ReturnType<typeof deferred> | undefined;
  readonly #resync: ResyncSchedule;
  readonly #describe: string;
  #transform: TransformFunc<T> | undefined;
  #watchErrorHandler: WatchErrorHandler | undefined;
  #handlers = 0;
  /** The list that is being processed has a key twice. */
  #repeats = false;
  #started = false;
  #stopped = false;

  /** @throws CapstanError INVALID_ARGUMENT */
  constructor(listWatch: ListWatch<T, I>, options: SharedIndexInformerOptions<NoInfer<T>> = {}) {
    if (typeof listWatch?.watch !== 'function')
      throw invalid('listWatch', 'a ListWatch', listWatch);
    requireInformerOptions(options);
    const { resyncPeriod = 0, clock = systemClock, watchErrorHandler, transform } = options;
    this.#listWatch = listWatch;
    this.#options = options;
    this.#clock = clock;
    this.#describe = listWatch.describe();
    this.#rounds = new Rounds(clock, options.random ?? Math.random, (error, afterMs) =>
      this.#reflector.refused(error, afterMs),
    );
    this.#resync = new ResyncSchedule(resyncPeriod);
    this.#transform = transform;
    this.#indexer = new CacheIndexer<T, I>(listWatch.resource.indexers, listWatch.expected, clock);
    const { freeze, detect } = guardsOf(options);
    this.#detector = detect ? new MutationDetector(clock, this.#describe) : undefined;
    const transformer = newTransformer<T>({
      describe: this.#describe,
      freeze,
      transform: () => this.#transform,
    });
    const { expected } = listWatch;
    this.#unseen = new UnseenWrites(this.#indexer, {
      expected,
      ...{ transformer, limits: options, selection: () => listWatch.selection() },
      describe: this.#describe,
      onDeleted: (tombstone) => this.#distributor.onDelete(tombstone),
    });
    const newQueue = (onDelta: () => void): Queue<T> =>
      fifoOf(options) === 'real'
        ? new RealFIFO<T>({ onDelta, transformer })
        : new DeltaFIFO<T>({
            onDelta,
            transformer,
            knownObjects: this.#indexer,
            emitDeltaTypeReplaced: true,
          });
    this.#loop = new ProcessLoop<T>(newQueue, {
      clock,
      signal: this.#stop.signal,
      what: `informer of ${this.#describe}`,
      store: this.#indexer,
      handler: this.#distributor,
      process: (deltas, isInInitialList) => this.#process(deltas, isInInitialList),
      onSynced: () => {
        this.#processor.upstreamSynced();
        this.#synced.resolve();
      },
      onTaken: () => this.#tellWaiting(),
      toldBehind: () => this.#processor.behind(),
      onRefused: (error) => this.#rounds.again(error),
    });
    this.#watchErrorHandler = watchErrorHandler;
    this.#reflector = this.#newReflector();
  }

  /**
   * Adds a handler, before or while the informer runs. One that comes late is first told of every
   * object that is there, as additions with `isInInitialList`.
   *
   * @throws CapstanError STOPPED, INVALID_ARGUMENT
   */
  addEventHandler(handler: ResourceEventHandler<T>, options: HandlerOptions = {}): Registration {
    requireHandler(handler);
    requireHandlerOptions(options);
    if (this.#stopped) throw this.#isStopped('add handlers');
    const resync = this.#resync.periodFor(options.resyncPeriod, this.#started);
    const name = options.name ?? `handler-${++this.#handlers}`;
    const listener = new ProcessorListener(handler, {
      ...options,
      name,
      clock: this.#clock,
      resync,
    });
    this.#processor.add(listener);
    if (this.#started) {
      for (const object of this.#indexer.list())
        listener.add({ type: 'add', object, isInInitialList: true, repeated: false });
    }
    if (this.hasSynced()) listener.upstreamSynced();
    return listener;
  }

  /**
   * From now on this handler is told nothing, not even what was waiting for it; a call that is
   * under way goes on. Again, or of another informer: no effect.
   *
   * @throws CapstanError INVALID_ARGUMENT for what is no registration
   */
  removeEventHandler(registration: Registration): void {
    this.#processor.remove(listenerOf(registration));
  }

  /**
   * Removes a handler and waits until none of its calls is under way, so that what it uses can be
   * closed. Rejects with ABORTED when the signal fires before. Called by the handler itself, it
   * does not wait for that call; but a handler that awaits it after another `await` would wait for
   * itself.
   */
  async shutDownEventHandler(
    registration: Registration,
    options: { signal?: AbortSignal | undefined } = {},
  ): Promise<void> {
    requireSignalOptions(options, 'shutDownEventHandler()');
    const listener = listenerOf<T>(registration);
    this.#processor.remove(listener);
    if (calls.includes(listener)) return;
    const ended = listener.ended();
    await (options.signal === undefined ? ended : abortable(ended, options.signal));
  }

  /**
   * Replaces the option `watchErrorHandler`.
   *
   * @throws CapstanError ALREADY_STARTED once the informer runs
   */
  setWatchErrorHandler(handler: WatchErrorHandler): void {
    requireFunction('handler', handler);
    if (this.#started) throw this.#alreadyStarted('set the watch error handler before');
    this.#watchErrorHandler = handler;
    this.#reflector = this.#newReflector();
  }

  /**
   * Replaces the option `transform`.
   *
   * @throws CapstanError ALREADY_STARTED once the informer runs; INVALID_ARGUMENT where an option
   *   needs objects kept as bytes
   */
  setTransform(transform: TransformFunc<T>): void {
    requireFunction('transform', transform);
    requireBytesFree(this.#options, 'a transform');
    if (this.#started) throw this.#alreadyStarted('set the transform before');
    this.#transform = transform;
    this.#reflector = this.#newReflector();
  }

  /**
   * Adds indices, before or while the informer runs, also over what is cached already. A shorthand
   * for the indexer's, which knows of no end.
   *
   * @throws CapstanError INDEX_EXISTS, STOPPED, INVALID_ARGUMENT; then none is added
   */
  addIndexers(more: Record<string, IndexSpec<T>>): void {
    if (this.#stopped) throw this.#isStopped('add indices');
    this.#indexer.addIndexers(more);
  }

  /** Reads the cache by namespace, name and labels. */
  lister(): Lister<T> {
    return new Lister<T>(this.#indexer);
  }

  /**
   * The cache, with the index `namespace` and those of the resource. To be read only; it stays
   * readable after `stop`.
   */
  getIndexer(): Indexer<T, I | 'namespace'> {
    return this.#indexer;
  }

  /** The same cache, by its other name in client-go. */
  getStore(): Indexer<T, I | 'namespace'> {
    return this.#indexer;
  }

  /** The first list is in the cache, and handlers have been queued all of it. Stays true. */
  hasSynced(): boolean {
    return this.#loop.queue.hasSynced();
  }

  /** The same as something to wait for. */
  hasSyncedChecker(): DoneChecker {
    return { name: `informer of ${this.#describe}`, done: this.#synced.promise };
  }

  /**
   * The version of the last list, event or bookmark; the cache may lag behind it by what is being
   * processed.
   */
  lastSyncResourceVersion(): string {
    return this.#reflector.lastSyncResourceVersion();
  }

  /**
   * Lists and watches until the signal fires or `stop` is called; resolves when everything has
   * ended, calls of handlers that were under way included (`shutdownTimeout` at most). Failures of
   * the server never end it. After `stop` it resolves at once.
   *
   * @throws CapstanError ALREADY_STARTED (as a rejection) the second time
   */
  async run(options: { signal?: AbortSignal | undefined } = {}): Promise<void> {
    requireSignalOptions(options, 'run()');
    if (this.#started) throw this.#alreadyStarted('it runs once, make another one to start again');
    this.#started = true;
    if (!this.#stopped) this.#startGuards();
    const { signal } = options;
    const unlisten = onAbort(signal, () => this.#stop.abort());
    try {
      await this.#rounds.run((signal) => this.#reflector.run({ signal }), this.#stop.signal);
      await this.#loop.idle();
    } finally {
      unlisten();
      this.#end();
      await this.#handlersEnded();
    }
  }

  /**
   * Ends the informer; resolves when everything has ended, as `run` does. What handlers have not
   * been told yet they are not told. Legal at any time and any number of times; called by one of
   * its handlers, it does not wait for that call. But a handler that awaits it after another
   * `await` waits for itself, until `shutdownTimeout` is over.
   */
  async stop(): Promise<void> {
    const caller = this.#processor.calling();
    this.#stop.abort();
    if (!this.#started) this.#end();
    await this.#quiet.promise;
    await (caller === undefined ? this.#handlersEnded() : this.#leave(caller));
  }

  /**
   * Says that this process has written an object, as a client with this cache does by itself.
   * Should others delete it before the cache has shown it, where no event and no list can tell,
   * handlers get a tombstone with this state, what the server answered. Once it runs, and not with
   * `fifo: 'delta'`.
   *
   * @throws CapstanError INVALID_ARGUMENT for a value without `metadata.name`
   */
  wrote(object: T): void {
    if (this.#started && !this.#stopped && fifoOf(this.#options) !== 'delta')
      this.#unseen.wrote(object);
  }

  /**
   * `await using informer = …` stops it at the end of the block, where the runtime has
   * `Symbol.asyncDispose`.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** `run` was called. Stays true. */
  hasStarted(): boolean {
    return this.#started;
  }

  /** Has been stopped: no handler is told anything more. */
  isStopped(): boolean {
    return this.#stopped;
  }

  /**
   * What its cache makes of an object of the server, as a new object; `undefined` where that is all
   * of it (but for `managedFields`). Writing back what a cache has less of would delete the rest.
   */
  keeps(): ((object: T) => T) | undefined {
    const { drop } = this.#options;
    const { metadataOnly } = this.selection();
    return keptBy<T>({ drop, metadataOnly, transform: this.#transform });
  }

  /** What it is restricted to, as the server is asked. */
  selection(): ReturnType<ListWatch<T, I>['selection']> {
    return this.#listWatch.selection();
  }

  /**
   * Resolves when the cache has next taken something over, be it an event, a list or a bookmark, or
   * when the informer ends.
   */
  changed(): Promise<void> {
    this.#changed ??= deferred();
    return this.#stopped ? Promise.resolve() : this.#changed.promise;
  }

  /**
   * Where it is, how fresh, what failed, and how its handlers keep up: plain data, made for this
   * call.
   */
  status(): InformerStatus {
    return {
      ...this.#reflector.status(),
      ...(this.#rounds.isWaiting ? { state: 'waiting' } : {}),
      hasSynced: this.hasSynced(),
      isStopped: this.#stopped,
      objects: this.#indexer.size(),
      bytes: this.#indexer.bytes(),
      metadataOnly: this.#indexer.metadataOnly(),
      notIndexed: this.#indexer.notIndexed(),
      queued: this.#loop.queue.len(),
      handlers: this.#processor.listeners().map((listener) => ({
        name: listener.name,
        hasSynced: listener.hasSynced(),
        pending: listener.pending(),
        coalesced: listener.coalesced(),
        failed: listener.failed(),
      })),
    };
  }

  /**
   * All that handlers are told, for `for await`; each loop begins with the objects that are there.
   * Ends with the signal, or when the informer has been stopped. What the loop does not take waits
   * in memory.
   */
  events(options: { signal?: AbortSignal | undefined } = {}): AsyncIterable<InformerEvent<T>> {
    requireSignalOptions(options, 'events()');
    return { [Symbol.asyncIterator]: () => this.#events.iterate(this, options.signal) };
  }

  #newReflector(): Reflector<T, I> {
    return new Reflector(this.#listWatch, this.#loop, {
      ...reflectorOptions(this.#options),
      decoder: this.#decoder(),
      clock: this.#clock,
      watchErrorHandler: this.#watchErrorHandler,
      resyncPeriod: () => this.#resync.checkPeriod(),
      shouldResync: () => {
        this.#indexer.retryIndexing(true);
        return this.#processor.shouldResync(this.#clock.now());
      },
    });
  }

  /** Objects stay bytes unless something of the user's changes them or watches them. */
  #decoder(): Decoder<T> {
    const { expected } = this.#listWatch;
    const options = byteOptions(this.#options);
    const decodes =
      this.#options.keep === 'objects' ||
      this.#transform !== undefined ||
      this.#detector !== undefined;
    if (decodes) return jsonDecoder<T>(expected, options);
    // A queue that gathers by key has to look at the objects.
    return this.#indexer.decoder(expected, {
      ...options,
      storedObjects: fifoOf(this.#options) !== 'delta',
    });
  }

  #startGuards(): void {
    this.#detector?.start();
    const { name, metricsProvider } = this.#options;
    if (name === undefined || metricsProvider === undefined) return;
    this.#loop.meter = InformerMeter.start(
      metricsProvider,
      identityOf(name, this.#listWatch.resource),
      this.#clock,
      {
        lastSignOfLifeSeconds: () => {
          const { lastSignOfLife } = this.#reflector.status();
          return lastSignOfLife === undefined ? undefined : lastSignOfLife / 1000;
        },
        bytes: () => this.#indexer.bytes().live || undefined,
        metadataOnly: () =>
          this.#options.whenFull === 'metadata' ? this.#indexer.metadataOnly() : undefined,
        notIndexed: () =>
          this.#indexer.hasIndexFunctions() ? this.#indexer.notIndexed() : undefined,
        handlerBacklogs: () => this.#processor.backlogs(),
        handlerFailures: () => this.#processor.failures(),
      },
    );
  }

  #tellUpdate(old: T, object: T, change: LazyChange): void {
    this.#processor.distribute(new Updated(old, object, change), change.sameResourceVersion);
  }

  #tellWaiting(): void {
    if (this.#indexer.notIndexed() > 0) this.#indexer.retryIndexing();
    this.#changed?.resolve();
    this.#changed = undefined;
  }

  /** What came off the queue. */
  #process(deltas: Deltas<T>, isInInitialList: boolean): void {
    this.#repeats = this.#processor.coalesces() && deltas.some(hasRepeats);
    const before = deltas[0]?.type === 'ReplacedAll' ? this.#unseen.replacing() : undefined;
    try {
      processDeltas(this.#distributor, this.#indexer, deltas, isInInitialList);
    } finally {
      this.#repeats = false;
    }
    if (before !== undefined) this.#unseen.replaced(before);
  }

  #alreadyStarted(advice: string): CapstanError {
    return new CapstanError(
      'ALREADY_STARTED',
      `the informer of ${this.#describe} has been started: ${advice}`,
    );
  }

  #isStopped(what: string): CapstanError {
    return new CapstanError(
      'STOPPED',
      `the informer of ${this.#describe} has been stopped: ${what} before`,
    );
  }

  #end(): void {
    if (this.#stopped) return;
    this.#stop.abort();
    this.#stopped = true;
    this.#processor.stop();
    this.#events.end();
    this.#detector?.stop();
    this.#loop.meter?.stop();
    this.#quiet.resolve();
    this.#tellWaiting();
  }

  #handlersEnded(): Promise<void> {
    this.#handlersEnding ??= this.#leave();
    return this.#handlersEnding;
  }

  /** Resolves when no call of another handler is under way, or the time is over. */
  async #leave(caller?: ProcessorListener<T>): Promise<void> {
    const { shutdownTimeout = SHUTDOWN_MS } = this.#options;
    const leaving = this.#processor.leaving(caller);
    if (leaving.length === 0 || shutdownTimeout === 0) return;
    const all = Promise.all(leaving.map((listener) => listener.ended()));
    if ((await within(this.#clock, shutdownTimeout, all)) || caller !== undefined) return;
    const late = this.#processor.leaving().map(({ name }) => name);
    const what = `informer of ${this.#describe}`;
    handleError(
      new CapstanError(
        'TIMEOUT',
        `the ${what} was stopped ${shutdownTimeout} ms ago, and calls of these handlers have not ended: ${late.join(', ')}. They go on: give them the signal, or raise "shutdownTimeout"`,
      ),
      what,
    );
  }
}
