/**
 * A bounded first-in, first-out queue between producers and consumers. Producers that wait for room
 * are served in order. A closed queue still gives the items that it has, so that no item is lost.
 */

import { Backlog } from '../../base/backlog.ts';
import { CapstanError } from '../../base/errors.ts';
import { onAbort } from '../../base/wait.ts';

interface Putter<T> {
  readonly item: T;
  resolve(): void;
  reject(error: unknown): void;
}

export class BoundedQueue<T extends object> {
  readonly #capacity: number;
  readonly #items = new Backlog<T>();
  /** Waiting producers; only while the queue is full. */
  readonly #putters = new Set<Putter<T>>();
  /** Waiting consumers; only while the queue is empty. */
  readonly #takers = new Set<(item: T | undefined) => void>();
  #closed = false;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get length(): number {
    return this.#items.length;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Returns false if the queue is full or closed. */
  tryPut(item: T): boolean {
    if (this.#closed || this.#items.length >= this.#capacity) return false;
    const [taker] = this.#takers;
    if (taker === undefined) this.#items.push(item);
    else taker(item);
    return true;
  }

  /**
   * Resolves when the item has room. Rejects with ABORTED when the signal fires and with STOPPED
   * when the queue is closed.
   */
  put(item: T, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.reject(aborted(signal));
    if (this.#closed) return Promise.reject(closed());
    if (this.tryPut(item)) return Promise.resolve();
    return new Promise((resolve, reject) => {
      let unlisten = (): void => undefined;
      const settled =
        <A extends unknown[]>(settle: (...args: A) => void) =>
        (...args: A): void => {
          unlisten();
          settle(...args);
        };
      const putter: Putter<T> = { item, resolve: settled(resolve), reject: settled(reject) };
      this.#putters.add(putter);
      unlisten = onAbort(signal, () => {
        this.#putters.delete(putter);
        reject(aborted(signal));
      });
    });
  }

  /**
   * Resolves to the next item; to `undefined` if the queue is closed and empty, or if the signal
   * fires, in which case no item is taken.
   */
  take(signal?: AbortSignal): Promise<T | undefined> {
    if (signal?.aborted) return Promise.resolve(undefined);
    const item = this.#items.shift();
    if (item === undefined) return this.#closed ? Promise.resolve(undefined) : this.#wait(signal);
    for (const putter of this.#putters) {
      this.#putters.delete(putter);
      this.#items.push(putter.item);
      putter.resolve();
      break;
    }
    return Promise.resolve(item);
  }

  #wait(signal: AbortSignal | undefined): Promise<T | undefined> {
    return new Promise((resolve) => {
      let unlisten = (): void => undefined;
      const taker = (item: T | undefined): void => {
        this.#takers.delete(taker);
        unlisten();
        resolve(item);
      };
      this.#takers.add(taker);
      unlisten = onAbort(signal, () => taker(undefined));
    });
  }

  close(): void {
    this.#closed = true;
    for (const taker of this.#takers) taker(undefined);
    for (const putter of this.#putters) putter.reject(closed());
    this.#putters.clear();
  }
}

function aborted(signal: AbortSignal | undefined): CapstanError {
  return new CapstanError('ABORTED', 'the call was aborted while it waited for room', {
    cause: signal?.reason,
  });
}

function closed(): CapstanError {
  return new CapstanError('STOPPED', 'the channel has been closed: nothing can be sent any more');
}
