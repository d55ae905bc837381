/**
 * Calls `resync` periodically between `start` and `stop`; the period is computed again each time.
 */
import type { Clock } from '../../base/clock.ts';
import { invalid } from '../../base/errors.ts';
import { handleError } from '../../base/handle-error.ts';
import { isThenable } from '../../base/wait.ts';

export class ResyncTimer {
  readonly #clock: Clock;
  readonly #period: () => number;
  readonly #resync: () => void;
  #timer: unknown;
  #lastPeriod = 0;

  /** @param period in milliseconds; 0 or less: never */
  constructor(clock: Clock, period: () => number, resync: () => void) {
    this.#clock = clock;
    this.#period = period;
    this.#resync = resync;
  }

  start(): void {
    this.stop();
    const period = this.#nextPeriod();
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

  /** The next period. If the function throws, that is reported, and the last period counts. */
  #nextPeriod(): number {
    try {
      const period: unknown = this.#period();
      if (isThenable(period)) throw invalid('resyncPeriod()', 'milliseconds', period);
      this.#lastPeriod = period as number;
    } catch (error) {
      handleError(error, 'option resyncPeriod');
    }
    return this.#lastPeriod;
  }

  stop(): void {
    this.#clock.clearTimer(this.#timer);
    this.#timer = undefined;
  }
}
