/**
 * A signal that fires with another signal or after a time, and leaves no timer or listener behind.
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

  /** Whether the time fired the signal. */
  passed(): boolean {
    return this.#passed;
  }

  /**
   * Releases the timer and the listener; the signal no longer fires. Has no effect on a second
   * call.
   */
  end(): void {
    this.#clock.clearTimer(this.#timer);
    this.#parent?.removeEventListener('abort', this.#onParent);
  }
}
