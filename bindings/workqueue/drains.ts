/**
 * The shutDownWithDrain() calls that wait, woken one at a time as client-go's condition variable
 * does.
 */
import type { CapstanError } from '../base/errors.ts';
import { aborted } from './checks.ts';

interface Drain {
  resolve(): void;
  reject(error: CapstanError): void;
  stopListening(): void;
}

export class Drains {
  #drains: Drain[] = []; // the first is woken next

  get size(): number {
    return this.#drains.length;
  }

  wait(signal: AbortSignal | undefined): Promise<void> {
    if (signal?.aborted) return Promise.reject(aborted('shutDownWithDrain()', signal));
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#drains = this.#drains.filter((other) => other !== drain);
        reject(aborted('shutDownWithDrain()', signal as AbortSignal));
      };
      const drain: Drain = {
        resolve,
        reject,
        stopListening: () => signal?.removeEventListener('abort', onAbort),
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      // It begins with a broadcast: the drains that waited wake, find keys in processing and wait
      // again, behind this one.
      this.#drains.unshift(drain);
    });
  }

  /** Wakes one: it ends when nothing is being processed, else it waits again, behind the others. */
  signal(processing: number): void {
    const first = this.#drains.shift();
    if (first === undefined) return;
    if (processing > 0) {
      this.#drains.push(first);
      return;
    }
    first.stopListening();
    first.resolve();
  }

  /** Ends all of them, with an error if there is one. */
  end(error?: CapstanError): void {
    const drains = this.#drains;
    this.#drains = [];
    for (const drain of drains) {
      drain.stopListening();
      if (error === undefined) drain.resolve();
      else drain.reject(error);
    }
  }
}
