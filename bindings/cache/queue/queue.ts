/**
 * What `RealFIFO` and `DeltaFIFO` have in common: their interface, waiting for a delta, whether the
 * initial population is through, and the look into the store behind them. client-go:
 * tools/cache/fifo.go Queue, QueueWithBatch.
 */

import { aborted, CapstanError, invalid, requireFunction } from '../../base/errors.ts';
import { handleError } from '../../base/handle-error.ts';
import type { DoneChecker } from '../../base/wait.ts';
import { onAbort } from '../../base/wait.ts';
import type { ReflectorStore } from '../reflector/reflector.ts';
import { DeletedFinalStateUnknown } from '../rest/keys.ts';
import type { Delta, Deltas } from './deltas.ts';

/**
 * Takes over what was popped. May be async where the pop is. `isInInitialList`: it belongs to the
 * first list, or came before that was through.
 */
export type PopProcess<T> = (deltas: Deltas<T>, isInInitialList: boolean) => void | Promise<void>;

/** What a reflector fills and a controller empties. Meant for one consumer at a time. */
export interface Queue<T> extends ReflectorStore<T> {
  delete(object: T | DeletedFinalStateUnknown<T>): void;
  /** Queues what is known once more. */
  resync(): void;
  /**
   * Waits for something to process and processes it; resolves with what that was. What `process`
   * throws is passed on, and the deltas are off the queue nevertheless.
   *
   * @throws CapstanError FIFO_CLOSED when the queue is closed and empty, ABORTED when the signal
   *   fires first (as rejections)
   */
  pop(process: PopProcess<T>, options?: { signal?: AbortSignal | undefined }): Promise<Deltas<T>>;
  /** The same without waiting; false when there is nothing now. */
  tryPop(process: (deltas: Deltas<T>, isInInitialList: boolean) => void): boolean;
  /**
   * The initial population, which is the first list unless something else came before it, is
   * through. Stays true.
   */
  hasSynced(): boolean;
  /** The same as something to wait for. */
  hasSyncedChecker(): DoneChecker;
  /** How many pops are left. */
  len(): number;
  /**
   * Pops end when nothing is left; those that wait end now. What is queued can still be popped, and
   * more can be added.
   */
  close(): void;
  isClosed(): boolean;
}

/** A queue that gives several deltas of different objects at once. */
export interface QueueWithBatch<T> extends Queue<T> {
  /**
   * As `pop`: several deltas go to `processBatch`, one alone to `processSingle`. Both must do the
   * same to a delta.
   */
  popBatch(
    processBatch: PopProcess<T>,
    processSingle: PopProcess<T>,
    options?: { signal?: AbortSignal | undefined },
  ): Promise<Deltas<T>>;
}

/** The store that a queue's consumer fills. `Indexer` is one. */
export interface KeyListerGetter<T> {
  listKeys(): string[];
  getByKey(key: string): T | undefined;
}

/**
 * Changes an object before anyone sees it, such as to save memory. Gives the object to keep; should
 * be idempotent.
 */
export type TransformFunc<T> = (object: T) => T;

/**
 * Promises that all resolve at the next `wakeAll`, and leave nothing behind when their signal comes
 * first.
 */
export class Waiters {
  readonly #waiting = new Set<() => void>();

  /**
   * Resolves on the next `wakeAll`, and when the signal fires: the caller looks for itself what it
   * was.
   */
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
 * Counts the initial population down. It is the first replace with all that was queued then; an
 * addition, update or deletion that comes before any replace means that there is none.
 */
export class InitialPopulation {
  #state: 'none' | 'listed' | 'failed' = 'none';
  /** Of the population: what is in the queue, and what has not been processed. */
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

  /** Something came that is not a list. */
  changed(): void {
    if (this.#state !== 'none') return;
    this.#state = 'listed';
    this.#check();
  }

  /** A list came. @param count how many pops are in the way, itself included */
  listed(count: number): void {
    if (this.#state === 'listed') return;
    this.#state = 'listed';
    this.#queued = count;
    this.#left = count;
    this.#check();
  }

  /**
   * So many are taken off the queue; returns how many of them are of the population, for {@link
   * through}.
   */
  taken(count: number): number {
    const initial = Math.min(count, this.#queued);
    this.#queued -= initial;
    return initial;
  }

  /**
   * So many of the population are through. @param lost a whole list among them could not be taken
   * over: the next takes its place
   */
  through(initial: number, lost: boolean): void {
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

/** The known object, or undefined; that it should be there and is not is reported. */
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
 * Whether there is something to pop; to be asked again after each wait, as another consumer may
 * have been faster.
 *
 * @throws CapstanError ABORTED, FIFO_CLOSED
 */
export function ready(
  queue: { len(): number; isClosed(): boolean },
  name: string,
  signal: AbortSignal | undefined,
): boolean {
  if (signal?.aborted) throw aborted(`waiting for ${name}`, signal.reason);
  if (queue.len() > 0) return true;
  if (queue.isClosed())
    throw new CapstanError('FIFO_CLOSED', `${name} has been closed and is empty`);
  return false;
}

/**
 * Processes what was popped, and says afterwards whether that went well. What is not async is over
 * when this returns.
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

/**
 * The key of an object, of a tombstone, or of the newest of several deltas.
 *
 * @throws what the key function throws, and CapstanError INVALID_ARGUMENT for no deltas and for one
 *   that has no object
 */
export function keyOf<T extends object>(
  of: T | DeletedFinalStateUnknown<T> | Deltas<T>,
  keyFunction: (object: T) => string,
): string {
  if (of instanceof DeletedFinalStateUnknown) return of.key;
  if (!isDeltas(of)) return keyFunction(of);
  const newest = of.at(-1);
  if (newest === undefined) throw invalid('of', 'at least one delta', of);
  return keyOfDelta(newest, keyFunction);
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
