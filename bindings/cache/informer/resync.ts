/**
 * Resync periods: the informer checks all handlers at one period, and no handler has a shorter one.
 * client-go: tools/cache/shared_informer.go AddEventHandlerWithOptions, determineResyncPeriod.
 */

/** client-go: shared_informer.go minimumResyncPeriod. */
const MINIMUM_RESYNC_MS = 1000;

export class ResyncSchedule {
  /** The period of handlers without their own. */
  readonly #default: number;
  #check: number;

  constructor(period: number) {
    this.#default = Math.max(period, 0);
    this.#check = this.#default;
  }

  /** The period of the checks, in milliseconds; 0: never. */
  checkPeriod(): number {
    return this.#check;
  }

  /**
   * The period of a new handler, in milliseconds; 0: never. Before the informer starts, a shorter
   * period also shortens the period of the checks; later it is raised to it.
   */
  periodFor(requested: number | undefined, started: boolean): number {
    const wanted = requested ?? this.#default;
    if (wanted <= 0 || this.#check === 0) return 0;
    const period = Math.max(wanted, MINIMUM_RESYNC_MS);
    if (period >= this.#check) return period;
    if (!started) this.#check = period;
    return this.#check;
  }
}
