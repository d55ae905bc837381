/**
 * A signal that fires with another one or after a while, whichever is first, and leaves neither
 * timer nor listener behind.
 */
import type { Clock } from '../base/clock.ts';
import { CapstanError } from '../base/errors.ts';

export class Deadline {
  readonly #clock: Clock;
  readonly #parent: AbortSignal | undefined;
  readonly #abort = new AbortController();
  readonly #onParent = (): void => this.#abort.abort(this.#parent?.reason);
  readonly #timer: unknown;
  #passed = false;

  constructor(clock: Clock, ms: number, parent?: AbortSignal) {
    this.#clock = clock;
    this.#parent = parent;
    this.#timer = clock.setTimer(() => {
      this.#passed = !this.signal.aborted;
      this.#abort.abort(new CapstanError('TIMEOUT', `not over after ${ms} ms`));
    }, ms);
    if (parent?.aborted) this.#onParent();
    else parent?.addEventListener('abort', this.#onParent, { once: true });
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Whether it was the time that fired the signal. */
  passed(): boolean {
    return this.#passed;
  }

  /** Frees what it holds; the signal no longer fires. Again: no effect. */
  end(): void {
    this.#clock.clearTimer(this.#timer);
    this.#parent?.removeEventListener('abort', this.#onParent);
  }
}
