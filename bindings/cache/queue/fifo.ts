/**
 * RealFIFO: the queue between reflector and store, which keeps every delta in order and merges
 * none. client-go: tools/cache/the_real_fifo.go.
 *
 * With atomic events (the default, and what informers use) a list is one delta, so that the store
 * changes in one step. Without them, a list becomes a tombstone for each object that it lacks and
 * then a `Replaced` for each of its objects.
 *
 * Invariant: `hasSynced` becomes true once the initial population has been popped *and* processed;
 * it is false while the last of its deltas is being processed.
 */

import { Backlog } from '../../base/backlog.ts';
import { invalid, requireFunction } from '../../base/errors.ts';
import { namesOf, requireNames, requireSignalOptions } from '../../base/names.ts';
import type { Steps } from '../../base/wait.ts';
import { storedObjectOf } from '../bytes/lazy.ts';
import type { HashRanges } from '../rest/hash-ranges.ts';
import { DeletedFinalStateUnknown, metaNamespaceKeyFunc } from '../rest/keys.ts';
import type { Delta, Deltas, DeltaType, RangeDelta } from './deltas.ts';
import {
  BaseFIFO,
  finish,
  type KeyListerGetter,
  keyOfDelta,
  type LoopQueue,
  lookUp,
  type PopProcess,
  type QueueWithBatch,
  requireKnownObjects,
  type TransformFunc,
} from './queue.ts';

/** Options of a {@link RealFIFO}. */
export interface RealFIFOOptions<T> {
  /** Default {@link metaNamespaceKeyFunc}. An object for which it throws is not queued. */
  keyFunction?: ((object: T) => string) | undefined;
  /** The store that the consumer fills. Required without atomic events, refused with them. */
  knownObjects?: KeyListerGetter<T> | undefined;
  /** Called once for each object before it is queued; not for tombstones and resyncs. */
  transformer?: TransformFunc<T> | undefined;
  /** A list, and a resync, is one delta. Default true. client-go: AtomicFIFO. */
  atomicEvents?: boolean | undefined;
  /** Queue bookmarks too. Default: the value of `atomicEvents`; refused without atomic events. */
  emitDeltaTypeBookmark?: boolean | undefined;
  /** For messages. Default `RealFIFO`. */
  name?: string | undefined;
  /**
   * Called after each delta and each list, for a consumer that uses `tryPop`. Must not pop, as it
   * is called in the middle of an operation.
   */
  onDelta?: (() => void) | undefined;
}

const NAMES = namesOf<RealFIFOOptions<never>>()({
  keyFunction: 1,
  knownObjects: 1,
  transformer: 1,
  atomicEvents: 1,
  emitDeltaTypeBookmark: 1,
  name: 1,
  onDelta: 1,
});

/** A class rather than a literal, because there are many: see bytes/copy.ts. */
class ObjectDelta<T> {
  readonly type: 'Added' | 'Updated';
  readonly object: T;

  constructor(type: 'Added' | 'Updated', object: T) {
    this.type = type;
    this.object = object;
  }
}

/** client-go: the_real_fifo.go defaultBatchSize. */
const MAX_BATCH = 1000;
const BATCHABLE: ReadonlySet<DeltaType> = new Set([
  'Added',
  'Updated',
  'Deleted',
  'Replaced',
  'Sync',
]);

/**
 * Keeps every delta, in order. client-go: RealFIFO.
 *
 * @throws CapstanError INVALID_ARGUMENT for options that contradict each other
 * @example
 * const fifo = new RealFIFO<V1Pod>();
 * fifo.replace([pod], '100');
 * await fifo.pop((deltas, isInInitialList) => use(deltas), { signal });
 */
export class RealFIFO<T extends object>
  extends BaseFIFO<T>
  implements QueueWithBatch<T>, LoopQueue<T>
{
  readonly #known: KeyListerGetter<T> | undefined;
  readonly #transformer: TransformFunc<T> | undefined;
  readonly #emitBookmarks: boolean;
  readonly #onDelta: (() => void) | undefined;
  readonly #deltas = new Backlog<Delta<T>>();

  constructor(options: RealFIFOOptions<T> = {}) {
    requireNames('options', options, 'option of a RealFIFO', NAMES);
    const {
      keyFunction = metaNamespaceKeyFunc,
      knownObjects,
      transformer,
      atomicEvents = true,
      onDelta,
    } = options;
    const { emitDeltaTypeBookmark = atomicEvents, name = 'RealFIFO' } = options;
    super(keyFunction, name);
    if (transformer !== undefined) requireFunction('options.transformer', transformer);
    if (onDelta !== undefined) requireFunction('options.onDelta', onDelta);
    if (!atomicEvents) {
      requireKnownObjects(knownObjects);
      if (emitDeltaTypeBookmark)
        throw invalid(
          'options.emitDeltaTypeBookmark',
          'false without atomic events, as the order would not hold',
          true,
        );
    } else if (knownObjects !== undefined) {
      throw invalid(
        'options.knownObjects',
        'none with atomic events, as the consumer looks into its store',
        knownObjects,
      );
    }
    this.#known = knownObjects;
    this.#transformer = transformer;
    this.#emitBookmarks = emitDeltaTypeBookmark;
    this.#onDelta = onDelta;
  }

  add(object: T): void {
    this.#change(new ObjectDelta('Added', this.#checked(object)));
  }

  update(object: T): void {
    this.#change(new ObjectDelta('Updated', this.#checked(object)));
  }

  /** Queues a deletion, also of an unknown object. */
  delete(object: T | DeletedFinalStateUnknown<T>): void {
    this.#change({
      type: 'Deleted',
      object: object instanceof DeletedFinalStateUnknown ? object : this.#checked(object),
    });
  }

  /**
   * Queues a new list. With atomic events the array itself is queued, so do not change it later. If
   * the key function or the transformer throws, nothing is queued.
   */
  replace(objects: readonly T[], resourceVersion: string): void {
    const known = this.#known;
    if (known === undefined) {
      const transformed = this.#transformed(objects);
      this.initial.listed(this.len() + 1);
      this.#push({ type: 'ReplacedAll', objects: transformed, resourceVersion });
      return;
    }
    const keys = new Set(objects.map((object) => this.keyOf(object)));
    const transformed = this.#transformed(objects);
    const deltas: Delta<T>[] = this.#missing(keys, known).map((object) => ({
      type: 'Deleted',
      object,
    }));
    for (const object of transformed) deltas.push({ type: 'Replaced', object });
    this.initial.listed(this.len() + deltas.length);
    for (const delta of deltas) this.#push(delta);
    if (deltas.length === 0) this.#onDelta?.(); // nothing to pop, but the FIFO may have synced
  }

  /**
   * @internal Queues the objects of ranges that the consumer did not have; with atomic events only.
   */
  addRanges(objects: readonly T[], resourceVersion: string): void {
    this.#pushRange({ type: 'RangesAdded', objects: this.#transformed(objects), resourceVersion });
  }

  /** @internal Queues that the consumer keeps only these ranges; with atomic events only. */
  keepRanges(kept: HashRanges): void {
    this.#pushRange({ type: 'RangesKept', kept });
  }

  /**
   * Queues a resync: with atomic events one `SyncAll`, otherwise a `Sync` for each known object
   * without a queued delta.
   */
  resync(): void {
    const known = this.#known;
    if (known === undefined) {
      this.#push({ type: 'SyncAll' });
      return;
    }
    // A `Sync` with the old state must not follow a queued change.
    const queued = this.#lastByKey();
    for (const key of known.listKeys()) {
      if (queued.has(key)) continue;
      const object = lookUp(known, key, this.name);
      if (object !== undefined) this.#push({ type: 'Sync', object });
    }
  }

  /** Queues a bookmark if `emitDeltaTypeBookmark` is true. */
  bookmark(resourceVersion: string): void {
    if (this.#emitBookmarks) this.#push({ type: 'Bookmark', resourceVersion });
  }

  /** How many deltas are queued. */
  len(): number {
    return this.#deltas.length;
  }

  /**
   * As {@link Queue.pop}. If `process` fails on the first list, the queue is synced only after
   * another list.
   */
  async pop(
    process: PopProcess<T>,
    options: { signal?: AbortSignal | undefined } = {},
  ): Promise<Deltas<T>> {
    requireSignalOptions(options, 'pop()');
    while (!this.isReady(options.signal)) await this.waiters.wait(options.signal);
    return this.#process(1, process);
  }

  tryPop(process: (deltas: Deltas<T>, isInInitialList: boolean) => void): boolean {
    const atOnce = (deltas: Deltas<T>, isInInitialList: boolean): undefined => {
      process(deltas, isInInitialList);
    };
    return this.popInSteps(atOnce) !== false;
  }

  /** @internal */
  popInSteps(
    process: (deltas: Deltas<T>, isInInitialList: boolean) => Steps | undefined,
  ): Steps | boolean {
    if (this.len() === 0) return false;
    const isInInitialList = !this.hasSynced();
    const deltas = [this.#deltas.shift() as Delta<T>];
    const initial = this.initial.taken(1);
    let steps: Steps | undefined;
    let done = false;
    try {
      steps = process(deltas, isInInitialList);
      done = true;
    } finally {
      if (steps === undefined) this.#through(deltas, initial, done);
    }
    return steps === undefined ? true : this.#toTheEnd(steps, deltas, initial);
  }

  *#toTheEnd(steps: Steps, deltas: Deltas<T>, initial: number): Steps {
    let done = false;
    try {
      yield* steps;
      done = true;
    } finally {
      this.#through(deltas, initial, done);
    }
  }

  /**
   * Removes at most 1000 deltas of different objects, all of the initial population or all after
   * it. A list, a resync or a bookmark comes alone.
   */
  async popBatch(
    processBatch: PopProcess<T>,
    processSingle: PopProcess<T>,
    options: { signal?: AbortSignal | undefined } = {},
  ): Promise<Deltas<T>> {
    requireSignalOptions(options, 'pop()');
    while (!this.isReady(options.signal)) await this.waiters.wait(options.signal);
    const count = this.#batchSize();
    return this.#process(count, count === 1 ? processSingle : processBatch);
  }

  #process(count: number, process: PopProcess<T>): Promise<Deltas<T>> {
    const isInInitialList = !this.hasSynced();
    const deltas = this.#take(count);
    const initial = this.initial.taken(deltas.length);
    return finish(deltas, process, isInInitialList, (done) => this.#through(deltas, initial, done));
  }

  #take(count: number): Delta<T>[] {
    const deltas: Delta<T>[] = [];
    for (let delta = this.#deltas.shift(); delta !== undefined; delta = this.#deltas.shift()) {
      deltas.push(delta);
      if (deltas.length === count) break;
    }
    return deltas;
  }

  #through(deltas: Deltas<T>, initial: number, done: boolean): void {
    this.initial.processed(initial, !done && deltas[0]?.type === 'ReplacedAll');
  }

  /** The number of deltas in the next batch. */
  #batchSize(): number {
    const initial = this.initial.queued;
    const most = Math.min(MAX_BATCH, this.len(), initial > 0 ? initial : MAX_BATCH);
    const keys = new Set<string>();
    for (let i = 0; i < most; i++) {
      const delta = this.#deltas.at(i);
      if (delta === undefined || !BATCHABLE.has(delta.type)) return Math.max(i, 1);
      let key: string;
      try {
        key = keyOfDelta(delta, this.keyFunction);
      } catch {
        return i + 1; // it will fail when it is processed
      }
      if (keys.has(key)) return i;
      keys.add(key);
    }
    return most;
  }

  /** A tombstone, with the newest object, for each queued or known key that is not in a list. */
  #missing(keys: ReadonlySet<string>, known: KeyListerGetter<T>): DeletedFinalStateUnknown<T>[] {
    const missing: DeletedFinalStateUnknown<T>[] = [];
    const queued = this.#lastByKey();
    for (const [key, delta] of queued) {
      if (keys.has(key) || !('object' in delta) || delta.object instanceof DeletedFinalStateUnknown)
        continue;
      if (delta.type !== 'Deleted') missing.push(new DeletedFinalStateUnknown(key, delta.object));
    }
    for (const key of known.listKeys()) {
      if (keys.has(key) || queued.has(key)) continue;
      missing.push(new DeletedFinalStateUnknown(key, lookUp(known, key, this.name)));
    }
    return missing;
  }

  #lastByKey(): Map<string, Delta<T>> {
    const last = new Map<string, Delta<T>>();
    for (let i = 0; i < this.len(); i++) {
      const delta = this.#deltas.at(i);
      if (delta !== undefined) last.set(keyOfDelta(delta, this.keyFunction), delta);
    }
    return last;
  }

  #checked(object: T): T {
    // A stored object has a name, as the decoder checked it; computing the key would decode it.
    if (this.keyFunction !== metaNamespaceKeyFunc || storedObjectOf(object) === undefined)
      this.keyFunction(object);
    return this.#transformer === undefined ? object : this.#transformer(object);
  }

  #transformed(objects: readonly T[]): readonly T[] {
    const transformer = this.#transformer;
    return transformer === undefined ? objects : objects.map((object) => transformer(object));
  }

  #change(delta: Delta<T>): void {
    this.initial.changed();
    this.#push(delta);
  }

  /** Queues a delta that only informers use, so that it is not part of the public type. */
  #pushRange(delta: RangeDelta<T>): void {
    this.#push(delta as unknown as Delta<T>);
  }

  #push(delta: Delta<T>): void {
    this.#deltas.push(delta);
    this.waiters.wakeAll();
    this.#onDelta?.();
  }
}
