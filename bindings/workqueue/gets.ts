/** The get() calls that wait, in the order in which they came. */

import { leaving } from '../base/cancellable-generator.ts';
import type { CapstanError } from '../base/errors.ts';
import { isSignal, namesOf } from '../base/names.ts';
import { aborted, problemOf } from './checks.ts';
import type { Got } from './options.ts';

/** Of `get`. */
export interface GetOptions<T> {
  /** Ends the wait: it rejects with ABORTED then. */
  signal?: AbortSignal | undefined;
  /**
   * Called with the item at the moment at which it is handed out. The promise
   * resolves later, when the same item may have been added again. What it throws rejects the
   * promise; the item is handed out all the same.
   */
  taken?: ((item: T) => void) | undefined;
}

const GET_NAMES = namesOf<GetOptions<never>>()({ signal: 1, taken: 1 });

/**
 * What is wrong with the options of a get(), or undefined. The names are compared here first, as a
 * look into the table costs 15 ns of the 80 that get() and done() take.
 */
export function problemOfGet<T>(options: GetOptions<T> | undefined): unknown {
  if (options === undefined) return undefined;
  const signal = options?.signal; // null is no object
  let known = signal === undefined || isSignal(signal);
  for (const name in options) known &&= name === 'signal' || name === 'taken';
  return known && signal !== undefined ? undefined : problemOf(options, 'get()', GET_NAMES);
}

/** Tells of the item that a get() answers, then answers. */
export function told<T, G>(
  taken: ((item: T) => void) | undefined,
  answer: (item: T | undefined) => G,
): (item: T | undefined) => G {
  if (taken === undefined) return answer;
  return (item) => {
    if (item !== undefined) taken(item);
    return answer(item);
  };
}

/**
 * What a queue hands out, to its shutdown. A loop that is left while it waits is handed
 * nothing that would stay in processing.
 */
export function itemsOf<T>(queue: {
  get(options: GetOptions<T>): Promise<Got<T>>;
}): AsyncIterator<T> {
  const left = new AbortController();
  return leaving(itemsUntil(left.signal, queue), () => left.abort());
}

async function* itemsUntil<T>(
  signal: AbortSignal,
  queue: { get(options: GetOptions<T>): Promise<Got<T>> },
): AsyncGenerator<T, void, undefined> {
  try {
    for (let got = await queue.get({ signal }); !got.shutdown; got = await queue.get({ signal }))
      yield got.item;
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

interface Waiter<T> {
  /** Of the item, or `undefined`: of the shutdown. */
  resolve(item: T | undefined): void;
  reject(error: unknown): void;
  stopListening(): void;
}

export class Gets<T> {
  readonly #waiters = new Set<Waiter<T>>(); // not empty only while nothing is ready

  get size(): number {
    return this.#waiters.size;
  }

  /** `answer` is called at the moment in which the item is handed out. */
  wait<G>(signal: AbortSignal | undefined, answer: (item: T | undefined) => G): Promise<G> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#waiters.delete(waiter);
        reject(aborted('get()', signal as AbortSignal));
      };
      const waiter: Waiter<T> = {
        resolve: (item) => {
          try {
            resolve(answer(item));
          } catch (error) {
            // of this call alone: not of the add, nor of the calls that wait behind
            reject(error);
          }
        },
        reject,
        stopListening: () => signal?.removeEventListener('abort', onAbort),
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiters.add(waiter);
      if (signal?.aborted) onAbort(); // since get() looked: by a clock or an order
    });
  }

  /**
   * Hands out what is ready. What `taken` calls may come back here: the item has its owner by then,
   * and is not handed out again. What `take` calls may serve waiters or send them away: it takes
   * nothing for nobody, and the item is for the first who waits after that. What `take` throws (an
   * order, a clock) rejects the first who waits, as it does a get that finds a key ready: who has
   * made the key ready has nothing to do with it.
   */
  serve(queue: { take(waiting: Gets<T>): T | undefined; taken(): (() => void) | undefined }): void {
    while (this.#waiters.size > 0) {
      let item: T | undefined;
      try {
        item = queue.take(this);
      } catch (error) {
        const waiter = this.#first();
        if (waiter === undefined) throw error;
        waiter.stopListening();
        waiter.reject(error);
        continue;
      }
      if (item === undefined) return;
      const waiter = this.#first() as Waiter<T>;
      const tell = queue.taken();
      waiter.stopListening();
      waiter.resolve(item);
      tell?.();
    }
  }

  #first(): Waiter<T> | undefined {
    const [waiter] = this.#waiters;
    if (waiter !== undefined) this.#waiters.delete(waiter);
    return waiter;
  }

  /** Tells all of them: of the shutdown, or of an error. */
  end(error?: CapstanError): void {
    for (const waiter of this.#waiters) {
      waiter.stopListening();
      if (error === undefined) waiter.resolve(undefined);
      else waiter.reject(error);
    }
    this.#waiters.clear();
  }
}
