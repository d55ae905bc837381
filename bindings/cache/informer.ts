/**
 * The shared informer: one list and watch, one indexed store, any number of handlers.
 *
 *     reflector → RealFIFO → Indexer → SharedProcessor → handlers
 *
 * Invariant: the store and its indices change before any handler is told; both happen in one turn, so that a handler
 * added at any moment gets the store's content and then every later delta, none missing and none twice.
 * client-go: tools/cache/shared_informer.go, tools/cache/controller.go processDeltas.
 */
import { type Clock, systemClock } from '../clock.ts';
import { CapstanError, invalid, requireFunction, requireNumber } from '../errors.ts';
import { handleError } from '../handle-error.ts';
import { LazyChange } from './change.ts';
import { EventIterator, type InformerEvent } from './events.ts';
import { type Delta, RealFIFO } from './fifo.ts';
import { DeletedFinalStateUnknown, type KubeObject, metaNamespaceKeyFunc } from './keys.ts';
import type { ListWatch } from './list-watch.ts';
import {
  type DoneChecker,
  ProcessorListener,
  type Registration,
  type ResourceEventHandler,
  SharedProcessor,
} from './processor.ts';
import { Reflector } from './reflector.ts';
import type { IndexSpec } from './resource.ts';
import type { WatchErrorHandler } from './status.ts';
import { Indexer, metaNamespaceIndexFunc, namespaceIndex } from './store.ts';
import { deferred, TimeSlice } from './wait.ts';

export interface SharedIndexInformerOptions {
  /**
   * How often handlers are sent the whole cache again as updates, in milliseconds; 0, the default, is never, also for
   * handlers that ask for it. A handler may have a period of its own. The shortest is 1 s.
   */
  resyncPeriod?: number;
  clock?: Clock;
  /** In [0, 1): jitter of back-off and of timeoutSeconds. */
  random?: () => number;
  /** Gets every failure of list and watch; see {@link ReflectorOptions}. */
  watchErrorHandler?: WatchErrorHandler;
  /** Asks for the initial objects through a watch where the server serves that. Default true. */
  watchList?: boolean;
  /** Every delta in order, client-go's RealFIFO: the default. `'delta'` is not part of this version and is refused. */
  queue?: 'real' | 'delta';
}

/** client-go: shared_informer.go minimumResyncPeriod. */
const MINIMUM_RESYNC_MS = 1000;

/**
 * The store of an informer. An index function that throws must not cost the informer an object, so it is reported and the
 * object has no value in that index.
 */
class CacheIndexer<T extends object, I extends string> extends Indexer<T, I> {
  protected override indexFailed(name: string, error: unknown): readonly string[] {
    handleError(error, `index function ${JSON.stringify(name)}`);
    return [];
  }
}

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
  readonly #clock: Clock;
  readonly #indexer: Indexer<T, I | 'namespace'>;
  readonly #reflector: Reflector<T, I>;
  readonly #fifo = new RealFIFO<T>(() => this.#wake());
  readonly #processor = new SharedProcessor<T>();
  readonly #iterators = new Set<EventIterator<T>>();
  readonly #stop = new AbortController();
  readonly #synced = deferred();
  readonly #ended = deferred();
  readonly #defaultResyncPeriod: number;
  readonly #describe: string;
  #resyncCheckPeriod: number;
  #started = false;
  #stopped = false;
  #processing: Promise<void> | undefined;

  /** @throws CapstanError INVALID_ARGUMENT */
  constructor(listWatch: ListWatch<T, I>, options: SharedIndexInformerOptions = {}) {
    if (typeof listWatch?.watch !== 'function') throw invalid('listWatch', 'a ListWatch', listWatch);
    const { resyncPeriod = 0, clock = systemClock, random, watchErrorHandler } = options;
    requireNumber('options.resyncPeriod', resyncPeriod);
    if (random !== undefined) requireFunction('options.random', random);
    if ((options.queue ?? 'real') !== 'real') {
      throw invalid('options.queue', "'real', because this version has no other queue", options.queue);
    }
    this.#clock = clock;
    this.#describe = listWatch.describe();
    this.#defaultResyncPeriod = Math.max(resyncPeriod, 0);
    this.#resyncCheckPeriod = this.#defaultResyncPeriod;
    const indexers = { [namespaceIndex]: metaNamespaceIndexFunc, ...listWatch.resource.indexers };
    this.#indexer = new CacheIndexer(undefined, indexers as Record<I | 'namespace', IndexSpec<T>>);
    this.#reflector = new Reflector(listWatch, this.#fifo, {
      clock,
      random,
      watchErrorHandler,
      watchList: options.watchList,
      resyncPeriod: () => this.#resyncCheckPeriod,
      shouldResync: () => this.#processor.shouldResync(clock.now()),
    });
  }

  /**
   * Adds a handler, before or while the informer runs. One that comes late is first told of every object that is there,
   * as additions with `isInInitialList`.
   *
   * @throws CapstanError STOPPED, INVALID_ARGUMENT
   */
  addEventHandler(handler: ResourceEventHandler<T>, options: { resyncPeriod?: number } = {}): Registration {
    if (typeof handler !== 'object' || handler === null) throw invalid('handler', 'an object', handler);
    for (const name of ['onAdd', 'onUpdate', 'onDelete'] as const) {
      if (handler[name] !== undefined) requireFunction(`handler.${name}`, handler[name]);
    }
    if (this.#stopped)
      throw new CapstanError('STOPPED', `the informer of ${this.#describe} has been stopped: add handlers before`);
    const requested = this.#requestedResyncPeriod(options.resyncPeriod ?? this.#defaultResyncPeriod);
    const listener = new ProcessorListener(handler, this.#clock, requested, this.#effectiveResyncPeriod(requested));
    this.#processor.add(listener);
    if (this.#started)
      for (const object of this.#indexer.list()) listener.add({ type: 'add', object, isInInitialList: true });
    if (this.hasSynced()) listener.upstreamSynced();
    return listener;
  }

  /** From now on this handler is told nothing, not even what was waiting for it. Again, or of another informer: no effect. */
  removeEventHandler(registration: Registration): void {
    if (!(registration instanceof ProcessorListener)) {
      throw invalid('registration', 'what addEventHandler returned', registration);
    }
    this.#processor.remove(registration);
  }

  /** The cache, with the index `namespace` and those of the resource. To be read only; it stays readable after `stop`. */
  getIndexer(): Indexer<T, I | 'namespace'> {
    return this.#indexer;
  }

  /** The first list is in the cache, and handlers have been queued all of it. Stays true. */
  hasSynced(): boolean {
    return this.#fifo.hasSynced();
  }

  /** The same as something to wait for. */
  hasSyncedChecker(): DoneChecker {
    return { name: `informer of ${this.#describe}`, done: this.#synced.promise };
  }

  /** The version of the last list, event or bookmark; the cache may lag behind it by what is being processed. */
  lastSyncResourceVersion(): string {
    return this.#reflector.lastSyncResourceVersion();
  }

  /**
   * Lists and watches until the signal fires or `stop` is called; resolves when everything has ended. Failures of the
   * server never end it. After `stop` it resolves at once.
   *
   * @throws CapstanError ALREADY_STARTED (as a rejection) the second time
   */
  async run(options: { signal?: AbortSignal } = {}): Promise<void> {
    if (this.#started) {
      throw new CapstanError(
        'ALREADY_STARTED',
        `the informer of ${this.#describe} runs once: make another one to start again`,
      );
    }
    this.#started = true;
    const { signal } = options;
    const onAbort = (): void => this.#stop.abort();
    if (signal?.aborted) onAbort();
    else signal?.addEventListener('abort', onAbort, { once: true });
    try {
      if (!this.#stop.signal.aborted) await this.#reflector.run({ signal: this.#stop.signal });
      await this.#processing;
    } finally {
      signal?.removeEventListener('abort', onAbort);
      this.#end();
    }
  }

  /**
   * Ends the informer; resolves when everything has ended. What handlers have not been told yet they are not told. Legal
   * at any time and any number of times.
   */
  async stop(): Promise<void> {
    this.#stop.abort();
    if (!this.#started) this.#end();
    await this.#ended.promise;
  }

  /** `await using informer = …` stops it at the end of the block, where the runtime has `Symbol.asyncDispose`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** Has been stopped, and has ended. */
  isStopped(): boolean {
    return this.#stopped;
  }

  /**
   * All that handlers are told, for `for await`; each loop begins with the objects that are there. Ends with the signal,
   * or when the informer has been stopped. What the loop does not take waits in memory.
   */
  events(options: { signal?: AbortSignal } = {}): AsyncIterable<InformerEvent<T>> {
    return { [Symbol.asyncIterator]: () => this.#iterate(options.signal) };
  }

  #iterate(signal: AbortSignal | undefined): AsyncIterator<InformerEvent<T>> {
    let registration: Registration | undefined;
    const onAbort = (): void => iterator.end();
    const iterator = new EventIterator<T>(() => {
      signal?.removeEventListener('abort', onAbort);
      this.#iterators.delete(iterator);
      if (registration !== undefined) this.removeEventHandler(registration);
    });
    if (this.#stopped || signal?.aborted) {
      iterator.end();
    } else {
      this.#iterators.add(iterator);
      signal?.addEventListener('abort', onAbort, { once: true });
      registration = this.addEventHandler(iterator.handler);
    }
    return iterator;
  }

  #wake(): void {
    this.#processing ??= Promise.resolve().then(() => this.#processAll());
  }

  /** Never rejects. */
  async #processAll(): Promise<void> {
    const slice = new TimeSlice(this.#clock);
    for (let more = true; more && !this.#stop.signal.aborted; ) {
      const synced = this.hasSynced();
      try {
        more = this.#fifo.pop((delta, isInInitialList) => this.#process(delta, isInInitialList));
      } catch (error) {
        handleError(error, `informer of ${this.#describe}`);
      }
      if (!synced && this.hasSynced()) {
        this.#processor.upstreamSynced();
        this.#synced.resolve();
      }
      // Not after the last one: between an empty queue and the end of this loop nothing may be queued unseen.
      if (more && slice.over()) await slice.yield();
    }
    this.#processing = undefined;
  }

  #process(delta: Delta<T>, isInInitialList: boolean): void {
    switch (delta.type) {
      case 'Added':
      case 'Updated': {
        const old = this.#indexer.get(delta.object);
        this.#indexer.update(delta.object);
        this.#notifyPut(old, delta.object, isInInitialList);
        return;
      }
      case 'Deleted':
        this.#indexer.delete(delta.object);
        this.#processor.distribute({ type: 'delete', object: delta.object }, false);
        return;
      case 'ReplacedAll':
        this.#replaceAll(delta.objects, delta.resourceVersion, isInInitialList);
        return;
      case 'SyncAll':
        for (const object of this.#indexer.list()) this.#notifyPut(object, object, isInInitialList);
        return;
      case 'Bookmark':
        this.#indexer.bookmark(delta.resourceVersion);
        return;
    }
  }

  /** Deletions first, then additions and updates in the order of the list. client-go: controller.go processReplacedAllInfo. */
  #replaceAll(objects: readonly T[], resourceVersion: string, isInInitialList: boolean): void {
    const keys = new Set<string>();
    const replaced = objects.map((object) => {
      const key = metaNamespaceKeyFunc(object);
      keys.add(key);
      return this.#indexer.getByKey(key);
    });
    const gone: DeletedFinalStateUnknown<T>[] = [];
    for (const key of this.#indexer.listKeys()) {
      if (!keys.has(key)) gone.push(new DeletedFinalStateUnknown(key, this.#indexer.getByKey(key)));
    }
    this.#indexer.replace(objects, resourceVersion);
    for (const object of gone) this.#processor.distribute({ type: 'delete', object }, false);
    for (const [i, object] of objects.entries()) this.#notifyPut(replaced[i], object, isInInitialList);
  }

  #notifyPut(old: T | undefined, object: T, isInInitialList: boolean): void {
    if (old === undefined) {
      this.#processor.distribute({ type: 'add', object, isInInitialList }, false);
      return;
    }
    const change = new LazyChange(old, object);
    this.#processor.distribute({ type: 'update', old, object, change }, versionOf(old) === versionOf(object));
  }

  /** client-go: shared_informer.go AddEventHandlerWithOptions. */
  #requestedResyncPeriod(asked: number): number {
    requireNumber('options.resyncPeriod', asked);
    if (asked <= 0) return 0;
    const period = Math.max(asked, MINIMUM_RESYNC_MS);
    if (period >= this.#resyncCheckPeriod) return period;
    if (this.#started) return this.#resyncCheckPeriod;
    this.#resyncCheckPeriod = period;
    this.#processor.resyncPeriods((requested) => this.#effectiveResyncPeriod(requested));
    return period;
  }

  /** client-go: shared_informer.go determineResyncPeriod. */
  #effectiveResyncPeriod(requested: number): number {
    if (requested === 0 || this.#resyncCheckPeriod === 0) return 0;
    return Math.max(requested, this.#resyncCheckPeriod);
  }

  #end(): void {
    this.#stop.abort();
    this.#stopped = true;
    this.#processor.stop();
    for (const iterator of [...this.#iterators]) iterator.end();
    this.#ended.resolve();
  }
}

function versionOf(object: object): string | undefined {
  return (object as KubeObject).metadata?.resourceVersion;
}
