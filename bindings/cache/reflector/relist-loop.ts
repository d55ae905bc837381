/**
 * The rounds of an informer's reflector. One round is enough, unless a change could not be taken
 * over into the cache (its memory ended, for example): then the cache is behind the server, and
 * everything is asked for again after a while, as after a failure of the server.
 */

import { Backoff, guardRandom } from '../../base/backoff.ts';
import type { Clock } from '../../base/clock.ts';
import { onAbort, sleep } from '../../base/wait.ts';

export class Rounds {
  readonly #clock: Clock;
  readonly #backoff: Backoff;
  readonly #refused: (error: unknown, afterMs: number) => void;
  #round: AbortController | undefined;
  #error: unknown;
  /** One round has ended, and the next has not begun. */
  isWaiting = false;

  /** @param refused is told why there is another round, and after what time */
  constructor(
    clock: Clock,
    random: () => number,
    refused: (error: unknown, afterMs: number) => void,
  ) {
    this.#clock = clock;
    this.#refused = refused;
    this.#backoff = new Backoff(clock, guardRandom(random));
  }

  /** Round after round until the signal fires. A round ends with its own signal. */
  async run(round: (signal: AbortSignal) => Promise<void>, stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      const current = new AbortController();
      this.#round = current;
      const unlisten = onAbort(stop, () => current.abort(stop.reason));
      try {
        await round(current.signal);
      } finally {
        unlisten();
      }
      if (stop.aborted) return;
      const afterMs = this.#backoff.next();
      this.#refused(this.#error, afterMs);
      this.isWaiting = true;
      await sleep(this.#clock, afterMs, stop);
      this.isWaiting = false;
    }
  }

  /** Ends the round that is under way, for what was refused. */
  again(error: unknown): void {
    this.#error = error;
    this.#round?.abort();
  }
}
