/**
 * SharedIndexInformer: one list and watch, one indexed store, any number of handlers.
 *
 *     reflector → queue → Indexer → SharedProcessor → handlers
 *
 * Invariant: the store and its indices change before any handler is notified, and a late handler
 * gets the objects of the store while nothing else is processed. So a handler that is added at any
 * time gets these objects and then every later delta; none is missing, and none comes twice.
 * client-go: tools/cache/shared_informer.go.
 */
/// <reference lib="esnext.disposable" preserve="true" />
import { calls } from '../../base/calls.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import { CapstanError, invalid, requireFunction } from '../../base/errors.ts';
import { handleError } from '../../base/handle-error.ts';
import { requireSignalOptions } from '../../base/names.ts';
import type { FromServer } from '../../base/object.ts';
import type { IndexSpec } from '../../base/resource.ts';
import type { DoneChecker, IsOver, Steps } from '../../base/wait.ts';
import { abortable, deferred, onAbort, within } from '../../base/wait.ts';
import { LazyChange } from '../bytes/change.ts';
import { type Decoder, jsonDecoder } from '../decode/decoder.ts';
import { keptBy } from '../decode/kept.ts';
import { byteOptions, requireBytesFree } from '../decode/limits.ts';
import { newTransformer } from '../queue/apply-transform.ts';
import { DeltaFIFO } from '../queue/delta-fifo.ts';
import {
  type Delta,
  type DeltaOfAll,
  type Deltas,
  hasRepeats,
  isOfAll,
  type RangeDelta,
} from '../queue/deltas.ts';
import { RealFIFO } from '../queue/fifo.ts';
import type { LoopQueue, TransformFunc } from '../queue/queue.ts';
import type { ListWatch } from '../reflector/list-watch.ts';
import { Reflector } from '../reflector/reflector.ts';
import { RelistLoop } from '../reflector/relist-loop.ts';
import type { WatchErrorHandler } from '../reflector/status.ts';
import { type HashRange, HashRanges } from '../rest/hash-ranges.ts';
import { CacheIndexer } from '../store/cache-indexer.ts';
import type { InformerIndexer } from '../store/informer-indexer.ts';
import { Lister } from '../store/lister.ts';
import { MutationDetector } from '../store/mutation-detector.ts';
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
import { type DeltaHandler, processDeltas, processInSteps } from './process-deltas.ts';
import { ProcessLoop } from './process-loop.ts';
import { SharedProcessor } from './processor.ts';
import { ResyncSchedule } from './resync.ts';

/**
 * A cache of one resource, kept up to date by list and watch, with event handlers. Objects of the
 * cache are read-only, because all readers share them. It runs once: from `run` until its signal or
 * `stop`. client-go: tools/cache/shared_informer.go SharedIndexInformer.
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
   * Passes changes of the store to all handlers; an unchanged update only to those that take part
   * in the resync.
   */
  readonly #distributor: DeltaHandler<T> = {
    isIdle: () => this.#processor.isEmpty() && this.#detector === undefined,
    onAdd: (object, isInInitialList) => {
      this.#detector?.add(object);
      this.#processor.distribute(
        { type: 'add', object, isInInitialList, repeated: this.#hasRepeatedKeys },
        false,
      );
    },
    onUpdate: (old, object) => {
      if (object !== old) this.#detector?.add(object);
      this.#notifyUpdate(old, object, new LazyChange(old, object));
    },
    onCompared: (old, object, changes) =>
      this.#notifyUpdate(old, object, new LazyChange(old, object, changes)),
    onReplaced: () => this.#unseen.replaced(this.#versionBefore),
    onDelete: (object) => {
      this.#unseen.deleted(object);
      this.#processor.distribute({ type: 'delete', object }, false);
    },
  };
  readonly #relistLoop: RelistLoop;
  readonly #events = new EventIterators<FromServer<T>>();
  readonly #stop = new AbortController();
  readonly #synced = deferred();
  /** Resolves when no further notification will be delivered. */
  readonly #notificationsEnded = deferred();
  #handlersEndedPromise: Promise<void> | undefined;
  #changed: ReturnType<typeof deferred> | undefined;
  readonly #resync: ResyncSchedule;
  readonly #describe: string;
  #ranges: HashRanges | undefined;
  #transform: TransformFunc<T> | undefined;
  #watchErrorHandler: WatchErrorHandler | undefined;
  #handlers = 0;
  /** The store's version before the current list. */
  #versionBefore = '';
  /** The current list has a key twice. */
  #hasRepeatedKeys = false;
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
    this.#ranges =
      options.ranges && HashRanges.of('options.ranges', options.ranges, listWatch.resource);
    this.#relistLoop = new RelistLoop(clock, options.random ?? Math.random, (error, afterMs) =>
      this.#reflector.relisting(error, afterMs),
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
      ranges: () => this.#reflector.coverage?.held,
      describe: this.#describe,
      onDeleted: (tombstone) => this.#distributor.onDelete(tombstone),
    });
    const newQueue = (onDelta: () => void): LoopQueue<T> =>
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
      process: (deltas, isInInitialList, isOver) => this.#process(deltas, isInInitialList, isOver),
      onSynced: () => {
        this.#processor.upstreamSynced();
        this.#synced.resolve();
      },
      onProcessed: () => this.#cacheChanged(),
      handlersBehind: () => this.#processor.behind(),
      areHandlersBehind: () => this.#processor.isBehind(),
      onStoreError: (error) => this.#relistLoop.relist(error),
    });
    this.#watchErrorHandler = watchErrorHandler;
    this.#reflector = this.#newReflector();
  }

  /**
   * Adds a handler, before or while the informer runs. A late handler first gets every cached
   * object, as an addition with `isInInitialList`. client-go: AddEventHandlerWithOptions.
   *
   * @throws CapstanError STOPPED, INVALID_ARGUMENT
   */
  addEventHandler(
    handler: ResourceEventHandler<FromServer<T>>,
    options: HandlerOptions = {},
  ): Registration {
    requireHandler(handler);
    requireHandlerOptions(options);
    if (this.#stopped) throw this.#stoppedError('add handlers');
    const resync = this.#resync.periodFor(options.resyncPeriod, this.#started);
    const name = options.name ?? `handler-${++this.#handlers}`;
    const listener = new ProcessorListener(handler, {
      ...options,
      name,
      clock: this.#clock,
      resync,
    });
    this.#processor.add(listener, this.#started);
    if (this.#started) this.#loop.alone((isOver) => this.#showAll(listener, isOver));
    return listener;
  }

  /** A late handler gets what the store has, and from then on each delta. */
  *#showAll(listener: ProcessorListener<T>, isOver: IsOver): Steps {
    for (const object of this.#indexer.iterate()) {
      if (listener.isStopped) return;
      this.#processor.notify(listener, {
        type: 'add',
        object,
        isInInitialList: true,
        repeated: false,
      });
      if (isOver()) yield;
    }
    this.#processor.joins(listener);
    if (this.hasSynced()) listener.upstreamSynced();
  }

  /**
   * Removes a handler and drops its backlog; a running call goes on. A second call, or a
   * registration of another informer, has no effect. client-go: RemoveEventHandler.
   *
   * @throws CapstanError INVALID_ARGUMENT for a value that is not a registration
   */
  removeEventHandler(registration: Registration): void {
    this.#processor.remove(listenerOf(registration));
  }

  /**
   * Removes a handler and waits until none of its calls is running, so that its resources can be
   * closed. Rejects with ABORTED if the signal fires first. Called by the handler itself, it does
   * not wait for that call; but if the handler calls and awaits it after another `await`, it waits
   * for itself. client-go: ShutDownEventHandler.
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
   * Replaces the option `watchErrorHandler`. client-go: SetWatchErrorHandlerWithContext.
   *
   * @throws CapstanError ALREADY_STARTED once the informer runs
   */
  setWatchErrorHandler(handler: WatchErrorHandler): void {
    requireFunction('handler', handler);
    if (this.#started) throw this.#startedError('set the watch error handler before');
    this.#watchErrorHandler = handler;
    this.#reflector = this.#newReflector();
  }

  /**
   * Replaces the option `transform`. client-go: SetTransform.
   *
   * @throws CapstanError ALREADY_STARTED once the informer runs; INVALID_ARGUMENT if an option
   *   needs objects as bytes
   */
  setTransform(transform: TransformFunc<T>): void {
    requireFunction('transform', transform);
    requireBytesFree(this.#options, 'a transform');
    if (this.#started) throw this.#startedError('set the transform before');
    this.#transform = transform;
    this.#reflector = this.#newReflector();
  }

  /**
   * Adds indices, before or while the informer runs, also over cached objects, in one turn of the
   * event loop. client-go: AddIndexers.
   *
   * @throws CapstanError INDEX_EXISTS, STOPPED, INVALID_ARGUMENT; then none is added
   */
  addIndexers(more: Record<string, IndexSpec<FromServer<T>>>): void {
    if (this.#stopped) throw this.#stoppedError('add indices');
    this.#indexer.addIndexers(more as Record<string, IndexSpec<T>>);
  }

  /**
   * As `addIndexers`, over several turns of the event loop; they are there once it resolves.
   *
   * @throws CapstanError INDEX_EXISTS, STOPPED, INVALID_ARGUMENT, ABORTED (as rejections)
   */
  async addIndexersAsync(
    more: Record<string, IndexSpec<FromServer<T>>>,
    options: { signal?: AbortSignal | undefined } = {},
  ): Promise<void> {
    if (this.#stopped) throw this.#stoppedError('add indices');
    await this.#indexer.addIndexersAsync(more as Record<string, IndexSpec<T>>, options);
  }

  /** Reads the cache by namespace, name and labels. */
  lister(): Lister<FromServer<T>> {
    return new Lister<FromServer<T>>(this.getIndexer());
  }

  /**
   * The cache, with the index `namespace` and those of the resource. Only read it; it stays
   * readable after `stop`. client-go: GetIndexer.
   */
  getIndexer(): InformerIndexer<T, I | 'namespace'> {
    return this.#indexer as unknown as InformerIndexer<T, I | 'namespace'>;
  }

  /** The same. client-go: GetStore. */
  getStore(): InformerIndexer<T, I | 'namespace'> {
    return this.getIndexer();
  }

  /**
   * The first list is in the cache and in the backlogs of the handlers. Stays true. client-go:
   * HasSynced.
   */
  hasSynced(): boolean {
    return this.#loop.queue.hasSynced();
  }

  /** The same, to wait for. client-go: HasSyncedChecker. */
  hasSyncedChecker(): DoneChecker {
    return { name: `informer of ${this.#describe}`, done: this.#synced.promise };
  }

  /**
   * The version of the last list, event or bookmark; the cache may be behind it by the queued
   * deltas. client-go: LastSyncResourceVersion.
   */
  lastSyncResourceVersion(): string {
    return this.#reflector.lastSyncResourceVersion();
  }

  /**
   * Lists and watches until the signal fires or `stop` is called; resolves when everything has
   * ended, including running calls of handlers (for at most `shutdownTimeout`). Failures of the
   * server never end it; they go to the `watchErrorHandler`. After `stop` it resolves at once.
   * client-go: RunWithContext.
   *
   * @throws CapstanError ALREADY_STARTED (as a rejection) the second time
   */
  async run(options: { signal?: AbortSignal | undefined } = {}): Promise<void> {
    requireSignalOptions(options, 'run()');
    if (this.#started) throw this.#startedError('it runs once, make another one to start again');
    this.#started = true;
    if (!this.#stopped) this.#startMonitoring();
    const { signal } = options;
    const unlisten = onAbort(signal, () => this.#stop.abort());
    try {
      await this.#relistLoop.run((signal) => this.#reflector.run({ signal }), this.#stop.signal);
      await this.#loop.idle();
    } finally {
      unlisten();
      this.#end();
      await this.#handlersEnded();
    }
  }

  /**
   * Stops the informer and drops all backlogs; resolves when everything has ended, as `run` does.
   * May be called at any time, and repeatedly. Called by one of its handlers, it does not wait for
   * that call; but if the handler calls and awaits it after another `await`, it waits for itself,
   * until `shutdownTimeout` is over.
   */
  async stop(): Promise<void> {
    const caller = this.#processor.calling();
    this.#stop.abort();
    if (!this.#started) this.#end();
    await this.#notificationsEnded.promise;
    await (caller === undefined ? this.#handlersEnded() : this.#waitForHandlers(caller));
  }

  /**
   * Call this after this process has written an object; a client with this cache does so itself. If
   * the object is deleted in a gap of the watch before the cache has it, no event and no list
   * tells, and handlers get a tombstone with this state, the server's answer. Has no effect before
   * `run`, and with `fifo: 'delta'`.
   *
   * @throws CapstanError INVALID_ARGUMENT for a value without `metadata.name`
   */
  wrote(object: T): void {
    if (this.#started && !this.#stopped && fifoOf(this.#options) !== 'delta')
      this.#unseen.wrote(object);
  }

  /**
   * Changes the option `ranges`. Objects that are no longer in them leave the cache at once; no
   * handler is called for them, as nothing was deleted. New ranges are listed, without the others,
   * and handlers get their objects as additions with `isInInitialList`: see `hasRanges`.
   *
   * @throws CapstanError INVALID_ARGUMENT, also for an informer that was made without `ranges`
   */
  setRanges(ranges: readonly HashRange[]): void {
    const next = HashRanges.of('ranges', ranges, this.#listWatch.resource);
    if (this.#ranges === undefined) throw invalid('ranges', 'none, as the option is off', ranges);
    this.#ranges = next;
    this.#reflector.setRanges(next);
    this.#cacheChanged();
  }

  /** The cache has all objects of its ranges, or has synced if it has no ranges. */
  hasRanges(): boolean {
    if (this.#reflector.coverage?.isComplete === false) return false;
    return this.hasSynced() && this.#loop.hasRanges();
  }

  /** The same as `stop()`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** `run` was called. */
  hasStarted(): boolean {
    return this.#started;
  }

  /** Has been stopped: no further notification is delivered. Stays true. client-go: IsStopped. */
  isStopped(): boolean {
    return this.#stopped;
  }

  /**
   * A function that gives, as a new object, what this cache keeps of an object of the server;
   * `undefined` if that is the whole object (except `managedFields`). Writing back a reduced object
   * would delete the rest.
   */
  keeps(): ((object: T) => T) | undefined {
    const { drop } = this.#options;
    const { metadataOnly } = this.selection();
    return keptBy<T>({ drop, metadataOnly, transform: this.#transform });
  }

  /** The namespace and selectors of its requests, including changes by `tweak`. */
  selection(): ReturnType<ListWatch<T, I>['selection']> {
    const selection = this.#listWatch.selection();
    if (this.#ranges === undefined) return selection;
    return { ...selection, covers: (object) => this.#ranges?.hasObject(object) ?? true };
  }

  /** Resolves at the next change of the cache, or when the informer ends. */
  changed(): Promise<void> {
    this.#changed ??= deferred();
    return this.#stopped ? Promise.resolve() : this.#changed.promise;
  }

  /**
   * State, freshness and failures of the reflector, the size of the cache, and the backlogs of the
   * handlers, as plain data.
   */
  status(): InformerStatus {
    return {
      ...this.#reflector.status(),
      ...(this.#relistLoop.isWaiting ? { state: 'waiting' } : {}),
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
   * The notifications of a handler as an async iterable; each loop begins with the cached objects.
   * It ends with the signal, or when the informer is stopped. Events that the loop does not consume
   * are buffered without limit.
   */
  events(
    options: { signal?: AbortSignal | undefined } = {},
  ): AsyncIterable<InformerEvent<FromServer<T>>> {
    requireSignalOptions(options, 'events()');
    return { [Symbol.asyncIterator]: () => this.#events.iterate(this, options.signal) };
  }

  #newReflector(): Reflector<T, I> {
    return new Reflector(this.#listWatch, this.#loop, {
      ...reflectorOptions(this.#options),
      ranges: this.#ranges,
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

  /** Objects are kept as bytes, unless an option needs decoded ones. */
  #decoder(): Decoder<T> {
    const { expected } = this.#listWatch;
    const options = byteOptions(this.#options);
    const decodes =
      this.#options.keep === 'objects' ||
      this.#transform !== undefined ||
      this.#detector !== undefined;
    if (decodes) return jsonDecoder<T>(expected, options);
    // DeltaFIFO computes the key of each object, which needs decoded objects.
    return this.#indexer.decoder(expected, {
      ...options,
      storedObjects: fifoOf(this.#options) !== 'delta',
    });
  }

  #startMonitoring(): void {
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
        relists: () => this.#reflector.status().relists,
        outsideOfRanges: () => this.#reflector.status().outsideOfRanges,
        handlerBacklogs: () => this.#processor.backlogs(),
        handlerFailures: () => this.#processor.failures(),
      },
    );
  }

  #notifyUpdate(old: T, object: T, change: LazyChange): void {
    this.#processor.distribute(new Updated(old, object, change), change.sameResourceVersion);
  }

  #cacheChanged(): void {
    if (this.#indexer.notIndexed() > 0) this.#indexer.retryIndexing();
    this.#changed?.resolve();
    this.#changed = undefined;
  }

  /** Processes popped deltas, those of all objects in steps. */
  #process(deltas: Deltas<T>, isInInitialList: boolean, isOver: IsOver): Steps | undefined {
    const delta = deltas[0] as Delta<T> | RangeDelta<T> | undefined;
    if (delta !== undefined && isOfAll(delta))
      return this.#processAll(delta, isInInitialList, isOver);
    processDeltas(this.#distributor, this.#indexer, deltas, isInInitialList);
    return undefined;
  }

  *#processAll(delta: DeltaOfAll<T>, isInInitialList: boolean, isOver: IsOver): Steps {
    if (delta.type === 'RangesKept') this.#unseen.keepRanges(delta.kept);
    if (delta.type === 'ReplacedAll') {
      if (this.#processor.coalesces())
        this.#hasRepeatedKeys = yield* hasRepeats(delta.objects, isOver);
      this.#versionBefore = this.#unseen.replacing();
    }
    try {
      yield* processInSteps(this.#distributor, this.#indexer, delta, isInInitialList, isOver);
    } finally {
      this.#hasRepeatedKeys = false;
      this.#unseen.notifyMissed();
    }
  }

  #startedError(advice: string): CapstanError {
    return new CapstanError(
      'ALREADY_STARTED',
      `the informer of ${this.#describe} has been started: ${advice}`,
    );
  }

  #stoppedError(what: string): CapstanError {
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
    this.#notificationsEnded.resolve();
    this.#cacheChanged();
  }

  #handlersEnded(): Promise<void> {
    this.#handlersEndedPromise ??= this.#waitForHandlers();
    return this.#handlersEndedPromise;
  }

  /** Resolves when no call of another handler is running, or after `shutdownTimeout`. */
  async #waitForHandlers(caller?: ProcessorListener<T>): Promise<void> {
    const { shutdownTimeout = SHUTDOWN_MS } = this.#options;
    const ending = this.#processor.ending(caller);
    if (ending.length === 0 || shutdownTimeout === 0) return;
    const all = Promise.all(ending.map((listener) => listener.ended()));
    if ((await within(this.#clock, shutdownTimeout, all)) || caller !== undefined) return;
    const late = this.#processor.ending().map(({ name }) => name);
    const what = `informer of ${this.#describe}`;
    const message =
      `the ${what} was stopped ${shutdownTimeout} ms ago, and calls of these handlers have not ` +
      `ended: ${late.join(', ')}. They go on: give them the signal, or raise "shutdownTimeout"`;
    handleError(new CapstanError('TIMEOUT', message), what);
  }
}
