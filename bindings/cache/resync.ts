/**
 * How often what is resynced: an informer asks all handlers together, at one period, and each handler's own is no shorter than
 * that. client-go: tools/cache/shared_informer.go AddEventHandlerWithOptions, determineResyncPeriod.
 */

/** client-go: shared_informer.go minimumResyncPeriod. */
const MINIMUM_RESYNC_MS = 1000;

/** Of one handler: what it asked for, and what it has. 0 is never. */
export interface ResyncPeriods {
  requested: number;
  effective: number;
}

export class ResyncSchedule {
  /** The period of handlers that ask for none. */
  readonly #default: number;
  #check: number;

  constructor(period: number) {
    this.#default = Math.max(period, 0);
    this.#check = this.#default;
  }

  /** How often handlers are asked. */
  checkPeriod(): number {
    return this.#check;
  }

  /**
   * The periods of a new handler. Before the informer starts it may make the checks more frequent; then `changed` is called,
   * which has to give all others their {@link effective} period anew.
   */
  periodsFor(asked: number | undefined, started: boolean, changed: () => void): ResyncPeriods {
    const requested = this.#requested(asked ?? this.#default, started, changed);
    return { requested, effective: this.effective(requested) };
  }

  effective(requested: number): number {
    return requested === 0 || this.#check === 0 ? 0 : Math.max(requested, this.#check);
  }

  #requested(asked: number, started: boolean, changed: () => void): number {
    if (asked <= 0) return 0;
    const period = Math.max(asked, MINIMUM_RESYNC_MS);
    if (period >= this.#check) return period;
    if (started) return this.#check;
    this.#check = period;
    changed();
    return period;
  }
}
