/** The get() calls that wait, in the order in which they came. */
import type { CapstanError } from '../errors.ts';
import { aborted } from './checks.ts';
import type { Got } from './options.ts';

interface Waiter<T> {
  resolve(got: Got<T>): void;
  reject(error: CapstanError): void;
  stopListening(): void;
}

export class Gets<T> {
  readonly #waiters = new Set<Waiter<T>>(); // not empty only while nothing is ready

  get size(): number {
    return this.#waiters.size;
  }

  wait(signal: AbortSignal | undefined): Promise<Got<T>> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#waiters.delete(waiter);
        reject(aborted('get()', signal as AbortSignal));
      };
      const waiter: Waiter<T> = { resolve, reject, stopListening: () => signal?.removeEventListener('abort', onAbort) };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiters.add(waiter);
    });
  }

  /** Hands out what is ready. */
  serve(queue: { tryGet(): T | undefined }): void {
    for (const waiter of this.#waiters) {
      const item = queue.tryGet();
      if (item === undefined) return;
      this.#waiters.delete(waiter);
      waiter.resolve({ item, shutdown: false });
      waiter.stopListening();
    }
  }

  /** Tells all of them: of the shutdown, or of an error. */
  end(error?: CapstanError): void {
    for (const waiter of this.#waiters) {
      waiter.stopListening();
      if (error === undefined) waiter.resolve({ item: undefined, shutdown: true });
      else waiter.reject(error);
    }
    this.#waiters.clear();
  }
}
