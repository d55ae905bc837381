/** Who waits in shutDownWithDrain(), and the two ways in which they are woken. Each is told once: of the end, of its signal, or of an error. */
import type { CapstanError } from '../errors.ts';
import { aborted } from './checks.ts';

interface Drain {
  resolve(): void;
  reject(error: CapstanError): void;
  stopListening(): void;
}

export class Drains {
  #waiting: Drain[] = []; // in the order in which client-go's condition variable would wake them

  wait(signal: AbortSignal | undefined): Promise<void> {
    if (signal?.aborted) return Promise.reject(aborted('shutDownWithDrain()', signal));
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#waiting = this.#waiting.filter((other) => other !== drain);
        reject(aborted('shutDownWithDrain()', signal as AbortSignal));
      };
      const drain: Drain = { resolve, reject, stopListening: () => signal?.removeEventListener('abort', onAbort) };
      signal?.addEventListener('abort', onAbort, { once: true });
      // It begins with a broadcast: the drains that waited wake, find keys in processing and wait again, behind this one.
      this.#waiting.unshift(drain);
    });
  }

  /** client-go signals one waiter when a key is queued again or when none is left in processing; a drain that still sees some waits again. */
  signal(requeued: boolean, processing: number): void {
    if (this.#waiting.length === 0 || (!requeued && processing > 0)) return;
    const first = this.#waiting.shift() as Drain;
    if (processing > 0) {
      this.#waiting.push(first);
      return;
    }
    first.stopListening();
    first.resolve();
  }

  /** All of them are through. */
  end(): void {
    const ended = this.#waiting;
    this.#waiting = [];
    for (const drain of ended) {
      drain.stopListening();
      drain.resolve();
    }
  }

  fail(error: CapstanError): void {
    const failed = this.#waiting;
    this.#waiting = [];
    for (const drain of failed) {
      drain.stopListening();
      drain.reject(error);
    }
  }
}
