/**
 * RelistLoop: restarts the reflector of an informer, with back-off, if the cache could not store a
 * change (for example, memory ran out), because the cache is then behind the server.
 */

import { Backoff, guardRandom } from '../../base/backoff.ts';
import type { Clock } from '../../base/clock.ts';
import { onAbort, sleep } from '../../base/wait.ts';

export class RelistLoop {
  readonly #clock: Clock;
  readonly #backoff: Backoff;
  readonly #onRelist: (error: unknown, afterMs: number) => void;
  #current: AbortController | undefined;
  #error: unknown;
  /** A run of the reflector has ended, and the next has not begun. */
  isWaiting = false;

  /** @param onRelist called with the reason for another run, and the wait in milliseconds */
  constructor(
    clock: Clock,
    random: () => number,
    onRelist: (error: unknown, afterMs: number) => void,
  ) {
    this.#clock = clock;
    this.#onRelist = onRelist;
    this.#backoff = new Backoff(clock, guardRandom(random));
  }

  /** Calls `run` until the signal fires. Each run ends with its own signal. */
  async run(runOnce: (signal: AbortSignal) => Promise<void>, stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      const current = new AbortController();
      this.#current = current;
      const unlisten = onAbort(stop, () => current.abort(stop.reason));
      try {
        await runOnce(current.signal);
      } finally {
        unlisten();
      }
      if (stop.aborted) return;
      const afterMs = this.#backoff.next();
      this.#onRelist(this.#error, afterMs);
      this.isWaiting = true;
      await sleep(this.#clock, afterMs, stop);
      this.isWaiting = false;
    }
  }

  /** Ends the current run, so that another one follows. */
  relist(error: unknown): void {
    this.#error = error;
    this.#current?.abort();
  }
}
