/**
 * How often what is resynced: an informer asks all handlers together, at one period, and each
 * handler's own is no shorter than that. client-go: tools/cache/shared_informer.go
 * AddEventHandlerWithOptions, determineResyncPeriod.
 */

/** client-go: shared_informer.go minimumResyncPeriod. */
const MINIMUM_RESYNC_MS = 1000;

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
   * The period of a new handler, 0 for never. Before the informer starts it may make the checks
   * more frequent, so that no other's becomes shorter than theirs.
   */
  periodFor(asked: number | undefined, started: boolean): number {
    const wanted = asked ?? this.#default;
    if (wanted <= 0 || this.#check === 0) return 0;
    const period = Math.max(wanted, MINIMUM_RESYNC_MS);
    if (period >= this.#check) return period;
    if (!started) this.#check = period;
    return this.#check;
  }
}
