/**
 * A signal that fires with another signal or after a time, and leaves no timer or listener behind.
 */

import type { Clock } from '../base/clock.ts';
import { CapstanError } from '../base/errors.ts';
import { onAbort } from '../base/wait.ts';

export class Deadline {
  readonly #clock: Clock;
  readonly #abort = new AbortController();
  readonly #unlisten: () => void;
  readonly #timer: unknown;
  #passed = false;

  constructor(clock: Clock, ms: number, parent?: AbortSignal) {
    this.#clock = clock;
    this.#timer = clock.setTimer(() => {
      this.#passed = !this.signal.aborted;
      this.#abort.abort(new CapstanError('TIMEOUT', `not over after ${ms} ms`));
    }, ms);
    this.#unlisten = onAbort(parent, () => this.#abort.abort(parent?.reason));
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
    this.#unlisten();
  }
}
