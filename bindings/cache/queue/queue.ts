/**
 * What `RealFIFO` and `DeltaFIFO` share: the interface `Queue`, waiting for a delta, the state of
 * the initial population, and access to the known objects. client-go: tools/cache/fifo.go Queue,
 * QueueWithBatch.
 */
/// <reference lib="esnext.disposable" preserve="true" />

import { aborted, CapstanError, invalid, requireFunction } from '../../base/errors.ts';
import { handleError } from '../../base/handle-error.ts';
import type { DoneChecker, Steps } from '../../base/wait.ts';
import { onAbort } from '../../base/wait.ts';
import type { ReflectorStore } from '../reflector/reflector.ts';
import { DeletedFinalStateUnknown } from '../rest/keys.ts';
import type { Delta, Deltas } from './deltas.ts';

/**
 * Processes popped deltas; with `pop` it may be async. `isInInitialList`: the initial population
 * was not completely processed before this pop. client-go: PopProcessFunc.
 */
export type PopProcess<T> = (deltas: Deltas<T>, isInInitialList: boolean) => void | Promise<void>;

/** A FIFO that a reflector fills and one consumer empties. client-go: Queue. */
export interface Queue<T> extends ReflectorStore<T> {
  delete(object: T | DeletedFinalStateUnknown<T>): void;
  /** Queues the known objects again. */
  resync(): void;
  /**
   * Waits for deltas, removes them and calls `process`; resolves with the deltas. An error of
   * `process` is passed on, and the deltas stay removed.
   *
   * @throws CapstanError FIFO_CLOSED when the queue is closed and empty, ABORTED when the signal
   *   fires first (as rejections)
   */
  pop(process: PopProcess<T>, options?: { signal?: AbortSignal | undefined }): Promise<Deltas<T>>;
  /** The same without waiting; false if the queue is empty. */
  tryPop(process: (deltas: Deltas<T>, isInInitialList: boolean) => void): boolean;
  /**
   * Whether the initial population has been processed: the first list with all deltas queued before
   * it, or nothing if a change came before any list. Stays true.
   */
  hasSynced(): boolean;
  /** The same, to wait for. */
  hasSyncedChecker(): DoneChecker;
  /** How many pops the queued deltas take. */
  len(): number;
  /**
   * Pops reject with FIFO_CLOSED once the queue is empty; waiting ones reject now. Queued deltas
   * can still be popped, and more can be added.
   */
  close(): void;
  isClosed(): boolean;
}

/** The queue of an informer, which a ProcessLoop empties. */
export interface LoopQueue<T> extends Queue<T> {
  /**
   * @internal As `tryPop`, for work in steps: they are returned, and the delta is processed after
   *   the last. `undefined` from `process`: it is processed.
   */
  popInSteps(
    process: (deltas: Deltas<T>, isInInitialList: boolean) => Steps | undefined,
  ): Steps | boolean;
}

/** A queue that can give several deltas of different objects at once. client-go: QueueWithBatch. */
export interface QueueWithBatch<T> extends Queue<T> {
  /**
   * As `pop`, but several deltas go to `processBatch` and a single one to `processSingle`. Both
   * must process a delta in the same way.
   */
  popBatch(
    processBatch: PopProcess<T>,
    processSingle: PopProcess<T>,
    options?: { signal?: AbortSignal | undefined },
  ): Promise<Deltas<T>>;
}

/** The store that the consumer fills, such as an `Indexer`. client-go: KeyListerGetter. */
export interface KeyListerGetter<T> {
  listKeys(): string[];
  getByKey(key: string): T | undefined;
}

/**
 * Changes an object before it is queued, for example to save memory, and returns the object to
 * keep. It should be idempotent. client-go: TransformFunc.
 */
export type TransformFunc<T> = (object: T) => T;

/**
 * Waiting pops: promises that resolve at the next `wakeAll`, or with their signal, and leave no
 * listener behind.
 */
class Waiters {
  readonly #waiting = new Set<() => void>();

  /** Resolves at the next `wakeAll` and when the signal fires; the caller checks which it was. */
  wait(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      let unlisten = (): void => undefined;
      const wake = (): void => {
        this.#waiting.delete(wake);
        unlisten();
        resolve();
      };
      this.#waiting.add(wake);
      unlisten = onAbort(signal, wake);
    });
  }

  wakeAll(): void {
    if (this.#waiting.size === 0) return;
    for (const wake of this.#waiting) wake();
  }
}

/**
 * Counts down the initial population: the first list and all deltas queued before it. The
 * population is empty if an addition, update or deletion comes before any list.
 */
class InitialPopulation {
  #state: 'none' | 'listed' | 'failed' = 'none';
  /** How much of the population is queued, and how much has not been processed. */
  #queued = 0;
  #left = 0;
  #synced = false;
  #resolve = (): void => undefined;
  readonly checker: DoneChecker;

  constructor(name: string) {
    const done = new Promise<void>((resolve) => {
      this.#resolve = resolve;
    });
    this.checker = { name, done };
  }

  get queued(): number {
    return this.#queued;
  }

  get synced(): boolean {
    return this.#synced;
  }

  /** An addition, update or deletion was queued. */
  changed(): void {
    if (this.#state !== 'none') return;
    this.#state = 'listed';
    this.#check();
  }

  /** A list was queued. @param count how many deltas must be processed, its own included */
  listed(count: number): void {
    if (this.#state === 'listed') return;
    this.#state = 'listed';
    this.#queued = count;
    this.#left = count;
    this.#check();
  }

  /**
   * Called when `count` deltas were removed; returns how many are of the population, for {@link
   * processed}.
   */
  taken(count: number): number {
    const initial = Math.min(count, this.#queued);
    this.#queued -= initial;
    return initial;
  }

  /**
   * `initial` deltas of the population were processed. @param lost a list among them failed: the
   * next list becomes the initial one
   */
  processed(initial: number, lost: boolean): void {
    if (initial === 0) return;
    this.#left -= initial;
    if (lost) this.#state = 'failed';
    else this.#check();
  }

  #check(): void {
    if (this.#state !== 'listed' || this.#left > 0 || this.#synced) return;
    this.#synced = true;
    this.#resolve();
  }
}

/** Keys, initial population, waiting pops and the end of `RealFIFO` and `DeltaFIFO`. */
export abstract class BaseFIFO<T extends object> {
  /** @internal */
  protected readonly keyFunction: (object: T) => string;
  /** @internal For messages. */
  protected readonly name: string;
  /** @internal */
  protected readonly waiters: Waiters = new Waiters();
  /** @internal */
  protected readonly initial: InitialPopulation;
  #closed = false;

  /** @internal */
  protected constructor(keyFunction: (object: T) => string, name: string) {
    requireFunction('options.keyFunction', keyFunction);
    this.keyFunction = keyFunction;
    this.name = name;
    this.initial = new InitialPopulation(name);
  }

  abstract len(): number;

  /** See {@link Queue.hasSynced}. */
  hasSynced(): boolean {
    return this.initial.synced;
  }

  /** See {@link Queue.hasSyncedChecker}. */
  hasSyncedChecker(): DoneChecker {
    return this.initial.checker;
  }

  /**
   * The key of an object, of a tombstone, or of the newest of several deltas.
   *
   * @throws what the key function throws, and CapstanError INVALID_ARGUMENT for no deltas and for
   *   one that has no object
   */
  keyOf(of: T | DeletedFinalStateUnknown<T> | Deltas<T>): string {
    if (of instanceof DeletedFinalStateUnknown) return of.key;
    if (!isDeltas(of)) return this.keyFunction(of);
    const newest = of.at(-1);
    if (newest === undefined) throw invalid('of', 'at least one delta', of);
    return keyOfDelta(newest, this.keyFunction);
  }

  /** See {@link Queue.close}. */
  close(): void {
    this.#closed = true;
    this.waiters.wakeAll();
  }

  /** The same as `close()`. */
  [Symbol.dispose](): void {
    this.close();
  }

  isClosed(): boolean {
    return this.#closed;
  }

  /**
   * @internal Whether there is a delta to pop. Call it again after each wait, because another
   *   consumer may have taken the delta.
   *
   * @throws CapstanError ABORTED, FIFO_CLOSED
   */
  protected isReady(signal: AbortSignal | undefined): boolean {
    if (signal?.aborted) throw aborted(`waiting for ${this.name}`, signal.reason);
    if (this.len() > 0) return true;
    if (this.#closed)
      throw new CapstanError('FIFO_CLOSED', `${this.name} has been closed and is empty`);
    return false;
  }
}

/** The known object of a listed key; a missing one is reported, and gives undefined. */
export function lookUp<T>(known: KeyListerGetter<T>, key: string, name: string): T | undefined {
  try {
    const object = known.getByKey(key);
    if (object !== undefined) return object;
    throw new CapstanError(
      'INVALID_ARGUMENT',
      `"knownObjects" lists the key ${JSON.stringify(key)}, but has no object`,
    );
  } catch (error) {
    handleError(error, name);
    return undefined;
  }
}

export function requireKnownObjects(known: unknown): void {
  requireFunction(
    'options.knownObjects.listKeys',
    (known as Partial<KeyListerGetter<unknown>>)?.listKeys,
  );
  requireFunction(
    'options.knownObjects.getByKey',
    (known as Partial<KeyListerGetter<unknown>>)?.getByKey,
  );
}

/**
 * Calls `process` with popped deltas, and then `over` with whether that succeeded. If `process` is
 * synchronous, both calls happen before this function returns.
 */
export async function finish<T>(
  deltas: Deltas<T>,
  process: PopProcess<T>,
  isInInitialList: boolean,
  over: (done: boolean) => void,
): Promise<Deltas<T>> {
  let done = false;
  try {
    const processing = process(deltas, isInInitialList);
    if (processing !== undefined) await processing;
    done = true;
  } finally {
    over(done);
  }
  return deltas;
}

export function keyOfDelta<T extends object>(
  delta: Delta<T>,
  keyFunction: (object: T) => string,
): string {
  if (!('object' in delta)) throw invalid('delta', 'a delta of one object', delta.type);
  return delta.object instanceof DeletedFinalStateUnknown
    ? delta.object.key
    : keyFunction(delta.object);
}

function isDeltas<T extends object>(of: T | Deltas<T>): of is Deltas<T> {
  return Array.isArray(of);
}
