/**
 * A first-in, first-out queue with room for so many, between those who put and those who take.
 * Nobody overtakes: who waits to put is served in order, and what was put is taken in order.
 * Nothing that was put is lost: a closed queue gives what it still has, then says that it has
 * ended.
 */
import { Backlog } from '../../base/backlog.ts';
import { CapstanError } from '../../base/errors.ts';

interface Putter<T> {
  readonly item: T;
  resolve(): void;
  reject(error: unknown): void;
}

export class BoundedQueue<T extends object> {
  readonly #capacity: number;
  readonly #items = new Backlog<T>();
  /** Only where the queue is full. */
  readonly #putters = new Set<Putter<T>>();
  /** Only where the queue is empty. */
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

  /** False where there is no room, or the queue is closed. */
  tryPut(item: T): boolean {
    if (this.#closed || this.#items.length >= this.#capacity) return false;
    const [taker] = this.#takers;
    if (taker === undefined) this.#items.push(item);
    else taker(item);
    return true;
  }

  /**
   * Resolves when there is room. Rejects with ABORTED when the signal fires before, and with
   * STOPPED when the queue is closed.
   */
  put(item: T, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return Promise.reject(aborted(signal));
    if (this.#closed) return Promise.reject(closed());
    if (this.tryPut(item)) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#putters.delete(putter);
        reject(aborted(signal));
      };
      const settled =
        <A extends unknown[]>(settle: (...args: A) => void) =>
        (...args: A): void => {
          signal?.removeEventListener('abort', onAbort);
          settle(...args);
        };
      const putter: Putter<T> = { item, resolve: settled(resolve), reject: settled(reject) };
      this.#putters.add(putter);
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }

  /**
   * The next item, as soon as there is one; `undefined` once the queue is closed and empty, or when
   * the signal fires before: then nothing was taken.
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
      const onAbort = (): void => taker(undefined);
      const taker = (item: T | undefined): void => {
        this.#takers.delete(taker);
        signal?.removeEventListener('abort', onAbort);
        resolve(item);
      };
      this.#takers.add(taker);
      signal?.addEventListener('abort', onAbort, { once: true });
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
