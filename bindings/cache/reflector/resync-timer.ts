/**
 * When to resync: every so often from `start` to `stop`, with a period that is asked for anew each
 * time.
 */
import type { Clock } from '../../base/clock.ts';
import { handleError } from '../../base/handle-error.ts';

export class ResyncTimer {
  readonly #clock: Clock;
  readonly #period: () => number;
  readonly #resync: () => void;
  #timer: unknown;
  #last = 0;

  /** @param period milliseconds; not above 0: never */
  constructor(clock: Clock, period: () => number, resync: () => void) {
    this.#clock = clock;
    this.#period = period;
    this.#resync = resync;
  }

  start(): void {
    this.stop();
    const period = this.#askPeriod();
    if (!(period > 0)) return;
    this.#timer = this.#clock.setTimer(() => {
      try {
        this.#resync();
      } catch (error) {
        handleError(error, 'reflector resync');
      }
      this.start();
    }, period);
  }

  /** One that throws is reported, and the period stays what it was. */
  #askPeriod(): number {
    try {
      this.#last = this.#period();
    } catch (error) {
      handleError(error, 'option resyncPeriod');
    }
    return this.#last;
  }

  stop(): void {
    this.#clock.clearTimer(this.#timer);
    this.#timer = undefined;
  }
}
