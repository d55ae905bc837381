/**
 * CacheController, client-go's low-level controller: a reflector that fills a queue, and a loop
 * that empties it, for programs that bring their own queue and have one consumer. client-go:
 * tools/cache/controller.go Config, New, NewInformerWithOptions.
 */
import { type Clock, systemClock } from '../../base/clock.ts';
import {
  CapstanError,
  hasCode,
  requireFunction,
  requireMs,
  requireNumber,
} from '../../base/errors.ts';
import { handleError, tell } from '../../base/handle-error.ts';
import { namesOf, requireNames, requireSignalOptions } from '../../base/names.ts';
import type { IndexSpec } from '../../base/resource.ts';
import type { DoneChecker } from '../../base/wait.ts';
import { TimeSlice, within } from '../../base/wait.ts';
import { LazyChange } from '../bytes/change.ts';
import { type ResourceEventHandler, requireHandler } from '../informer/handler.ts';
import { fifoOf, SHUTDOWN_MS } from '../informer/informer-options.ts';
import {
  type DeltaHandler,
  processDeltas,
  processDeltasInBatch,
} from '../informer/process-deltas.ts';
import { newTransformer } from '../queue/apply-transform.ts';
import { DeltaFIFO } from '../queue/delta-fifo.ts';
import { RealFIFO } from '../queue/fifo.ts';
import type { PopProcess, Queue, QueueWithBatch, TransformFunc } from '../queue/queue.ts';
import type { ListWatch } from '../reflector/list-watch.ts';
import { Reflector } from '../reflector/reflector.ts';
import { REFLECTOR_NAMES, type ReflectorOptions } from '../reflector/reflector-options.ts';
import { CacheIndexer } from '../store/cache-indexer.ts';
import type { Indexer } from '../store/store.ts';

/** The options of the {@link Reflector}, such as clock and watch error handler. */
export type ReflectorSettings<T> = Omit<ReflectorOptions<T>, 'resyncPeriod' | 'shouldResync'>;

/** Options of a {@link CacheController}. client-go: Config. */
export interface CacheControllerConfig<T extends object, I extends string = never>
  extends ReflectorSettings<T> {
  queue: Queue<T> | QueueWithBatch<T>;
  listerWatcher: ListWatch<T, I>;
  /**
   * Called with the deltas of each pop, one after the other. Its errors are reported, and the loop
   * goes on.
   */
  process: PopProcess<T>;
  /**
   * Called with several deltas of different objects, if the queue has batches. Must process a delta
   * as `process` does.
   */
  processBatch?: PopProcess<T> | undefined;
  /** Time between two calls of `shouldResync`, in milliseconds. 0, the default: never. */
  fullResyncPeriod?: number | undefined;
  /** Whether to resync now. Default: always. */
  shouldResync?: (() => boolean) | undefined;
}

const { resyncPeriod: _, shouldResync: __, ...SETTING_NAMES } = REFLECTOR_NAMES;

const CONTROLLER_NAMES = namesOf<CacheControllerConfig<never>>()({
  ...SETTING_NAMES,
  queue: 1,
  listerWatcher: 1,
  process: 1,
  processBatch: 1,
  fullResyncPeriod: 1,
  shouldResync: 1,
});

/**
 * Lists and watches into a queue, and passes popped deltas to a function. client-go: Controller.
 *
 * @example
 * const store = newStore<V1Pod>();
 * const controller = new CacheController<V1Pod>({
 *   queue: new RealFIFO(),
 *   listerWatcher: new ListWatch(transport, Pod),
 *   process: (deltas, isInInitialList) => {
 *     processDeltas({ onAdd: use, onUpdate: use, onDelete: use }, store, deltas, isInInitialList);
 *   },
 * });
 * await controller.run({ signal });
 */
export class CacheController<T extends object, I extends string = never> {
  readonly #config: CacheControllerConfig<T, I>;
  readonly #clock: Clock;
  readonly #reflector: Reflector<T, I>;
  readonly #what: string;
  #started = false;

  /** @throws CapstanError INVALID_ARGUMENT */
  constructor(config: CacheControllerConfig<T, I>) {
    requireNames('config', config, 'option of a CacheController', CONTROLLER_NAMES);
    const {
      queue,
      listerWatcher,
      process,
      processBatch,
      fullResyncPeriod = 0,
      shouldResync,
      ...rest
    } = config;
    requireFunction('queue.pop', (queue as Partial<Queue<T>> | undefined)?.pop);
    requireFunction(
      'listerWatcher.watch',
      (listerWatcher as Partial<ListWatch<T, I>> | undefined)?.watch,
    );
    requireFunction('process', process);
    if (processBatch !== undefined) requireFunction('processBatch', processBatch);
    if (shouldResync !== undefined) requireFunction('shouldResync', shouldResync);
    requireNumber('fullResyncPeriod', fullResyncPeriod);
    this.#config = config;
    this.#clock = config.clock ?? systemClock;
    this.#reflector = new Reflector(listerWatcher, queue, {
      ...rest,
      resyncPeriod: fullResyncPeriod,
      shouldResync,
    });
    this.#what = `controller of ${listerWatcher.describe()}`;
  }

  /** Whether the queue has synced: the first list has been processed. */
  hasSynced(): boolean {
    return this.#config.queue.hasSynced();
  }

  /** The same, to wait for. */
  hasSyncedChecker(): DoneChecker {
    return this.#config.queue.hasSyncedChecker();
  }

  /**
   * The version of the last list, event or bookmark, which may not have been processed yet; ""
   * before the first.
   */
  lastSyncResourceVersion(): string {
    return this.#reflector.lastSyncResourceVersion();
  }

  /**
   * Runs until the signal fires; resolves when everything has ended. The queue is closed then, and
   * queued deltas are not processed. Failures of the server never end it. client-go:
   * RunWithContext.
   *
   * @throws CapstanError ALREADY_STARTED (as a rejection) the second time
   */
  async run(options: { signal?: AbortSignal | undefined } = {}): Promise<void> {
    requireSignalOptions(options, 'run()');
    if (this.#started)
      throw new CapstanError('ALREADY_STARTED', `the ${this.#what} runs once: make another one`);
    this.#started = true;
    const signal = options.signal ?? new AbortController().signal;
    const processing = this.#processAll(signal);
    try {
      await this.#reflector.run({ signal });
    } finally {
      this.#config.queue.close();
      await processing;
    }
  }

  /** Never rejects. Ends with the signal, or when the queue was closed and is empty. */
  async #processAll(signal: AbortSignal): Promise<void> {
    const slice = new TimeSlice(this.#clock);
    for (;;) {
      try {
        await this.#pop(signal);
      } catch (error) {
        if (signal.aborted || isClosed(error)) return;
        handleError(error, this.#what);
      }
      if (slice.over()) await slice.yield();
    }
  }

  #pop(signal: AbortSignal): Promise<unknown> {
    const { queue, process, processBatch } = this.#config;
    if (processBatch !== undefined && 'popBatch' in queue)
      return queue.popBatch(processBatch, process, { signal });
    return queue.pop(process, { signal });
  }
}

/** Options of {@link newInformer}. client-go: InformerOptions. */
export interface NewInformerOptions<T extends object, I extends string, X extends string>
  extends Omit<ReflectorSettings<T>, 'decoder'> {
  listerWatcher: ListWatch<T, I>;
  /**
   * Called with the changes of the store, in order, while a delta is processed, so a slow handler
   * delays the queue. Errors and rejections are reported, and the call is not repeated. Its
   * promises are awaited only at the end.
   */
  handler?: ResourceEventHandler<T> | undefined;
  /**
   * How long `run` waits at its end for promises of the handler, in milliseconds. Default 10 000.
   * After that a TIMEOUT is reported, and the calls go on. 0: do not wait; Infinity: no limit.
   */
  shutdownTimeout?: number | undefined;
  /** Time between resyncs, in milliseconds. 0, the default: never. */
  resyncPeriod?: number | undefined;
  /** Further indices of the store, beside `namespace`: functions or paths by index name. */
  indexers?: Record<X, IndexSpec<T>> | undefined;
  /**
   * Changes each object before it is stored. If it throws, that is reported, and the object is
   * stored as the transform left it, with its original name, namespace and version.
   */
  transform?: TransformFunc<T> | undefined;
  /** `'real'`, the default: a {@link RealFIFO}. `'delta'`: a {@link DeltaFIFO}. */
  fifo?: 'real' | 'delta' | undefined;
}

const { decoder: ___, ...INFORMER_SETTING_NAMES } = SETTING_NAMES;

const INFORMER_NAMES = namesOf<NewInformerOptions<never, never, never>>()({
  ...INFORMER_SETTING_NAMES,
  listerWatcher: 1,
  handler: 1,
  resyncPeriod: 1,
  indexers: 1,
  transform: 1,
  fifo: 1,
  shutdownTimeout: 1,
});

/**
 * A store that is kept up to date by a controller, for a single handler. A {@link
 * SharedIndexInformer} takes any number of handlers, each with its own backlog. client-go:
 * NewInformerWithOptions.
 *
 * @returns the store, which you may only read, and the controller, which you have to run
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const { store, controller } = newInformer({
 *   listerWatcher: new ListWatch(transport, Pod),
 *   handler: { onAdd: (pod) => queue.add(metaNamespaceKeyFunc(pod)) },
 * });
 * const running = controller.run({ signal });
 * await waitForCacheSync({ signal }, controller);
 * store.getByKey('default/web');
 */
export function newInformer<T extends object, I extends string = never, X extends string = never>(
  options: NewInformerOptions<T, I, X>,
): { store: Indexer<T, X | 'namespace'>; controller: CacheController<T, I> } {
  requireNames('options', options, 'option of newInformer()', INFORMER_NAMES);
  const {
    listerWatcher,
    handler = {},
    resyncPeriod,
    indexers,
    transform,
    fifo: _,
    shutdownTimeout = SHUTDOWN_MS,
    ...rest
  } = options;
  requireMs('options.shutdownTimeout', shutdownTimeout);
  requireHandler(handler);
  if (transform !== undefined) requireFunction('options.transform', transform);
  const kind = fifoOf(options);
  const { expected } = listerWatcher;
  const store = new CacheIndexer<T, X>(
    indexers ?? ({} as Record<X, IndexSpec<T>>),
    expected,
    rest.clock,
  );
  const transformer =
    transform &&
    newTransformer<T>({
      describe: listerWatcher.describe(),
      freeze: false,
      transform: () => transform,
    });
  const calls = new Set<Promise<unknown>>();
  const isolatedHandler = isolated(handler, calls);
  const name = `queue of ${listerWatcher.describe()}`;
  const fifo =
    kind === 'delta'
      ? new DeltaFIFO<T>({ name, transformer, knownObjects: store, emitDeltaTypeReplaced: true })
      : new RealFIFO<T>({ name, transformer });
  const into = (process: typeof processDeltas<T>): PopProcess<T> => {
    return (deltas, isInInitialList) => {
      try {
        process(isolatedHandler, store, deltas, isInInitialList);
      } finally {
        store.retryIndexing(deltas[0]?.type === 'SyncAll');
        if (fifo.len() === 0) store.settle();
      }
    };
  };
  const controller = new InformerController<T, I>(calls, shutdownTimeout, {
    ...rest,
    listerWatcher,
    // Objects are kept as bytes, unless there is a transform, which needs decoded ones.
    decoder: transform === undefined ? store.decoder(expected) : undefined,
    queue: fifo,
    fullResyncPeriod: resyncPeriod,
    process: into(processDeltas),
    processBatch: into(processDeltasInBatch),
  });
  return { store, controller };
}

/** A controller whose `run` also waits for promises of the handler. */
class InformerController<T extends object, I extends string> extends CacheController<T, I> {
  readonly #calls: ReadonlySet<Promise<unknown>>;
  readonly #shutdownTimeout: number;
  readonly #clock: Clock;
  readonly #what: string;

  constructor(
    calls: ReadonlySet<Promise<unknown>>,
    shutdownTimeout: number,
    config: CacheControllerConfig<T, I>,
  ) {
    super(config);
    this.#calls = calls;
    this.#shutdownTimeout = shutdownTimeout;
    this.#clock = config.clock ?? systemClock;
    this.#what = `controller of ${config.listerWatcher.describe()}`;
  }

  override async run(options: { signal?: AbortSignal | undefined } = {}): Promise<void> {
    await super.run(options);
    const ms = this.#shutdownTimeout;
    const all = Promise.allSettled(this.#calls);
    if (this.#calls.size === 0 || ms === 0 || (await within(this.#clock, ms, all))) return;
    const late =
      `${this.#calls.size} calls of the handler have not ended ${ms} ms after the end of the ` +
      this.#what;
    handleError(
      new CapstanError('TIMEOUT', `${late}. They go on: end them, or raise "shutdownTimeout"`),
      this.#what,
    );
  }
}

/**
 * Wraps a handler so that it never throws, because the rest of the list must be delivered too.
 *
 * @param calls collects the pending promises of the handler
 */
function isolated<T extends object>(
  handler: ResourceEventHandler<T>,
  calls: Set<Promise<unknown>>,
): DeltaHandler<T> {
  const call = (run: () => unknown): void =>
    tell(() => {
      const answer = run();
      if (typeof answer !== 'object' || answer === null || !('then' in answer)) return undefined;
      const call = Promise.resolve(answer);
      const ended = (): unknown => calls.delete(call);
      calls.add(call);
      call.then(ended, ended);
      return call;
    }, 'informer handler');
  return {
    onAdd: (object, isInInitialList) => call(() => handler.onAdd?.(object, isInInitialList)),
    onUpdate: (old, now) => call(() => handler.onUpdate?.(old, now, new LazyChange(old, now))),
    onDelete: (object) => call(() => handler.onDelete?.(object)),
  };
}

function isClosed(error: unknown): boolean {
  return hasCode(error, 'FIFO_CLOSED');
}
