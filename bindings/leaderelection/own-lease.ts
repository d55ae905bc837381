/**
 * How long this process may rely on its own lease, by its own monotonic clock alone.
 *
 * The others wait a lease duration from the moment at which they last saw the record change. The
 * server carried our renewal out at some moment after we first sent it, so that nobody's wait began
 * before `sentAt`, whenever the answer came. Their clocks may run faster than ours by `skewRatio`
 * at most: what takes them the lease duration takes us no less than `duration / skewRatio`. Until
 * then, and not a moment longer, nobody else can have taken the lease.
 */
export class OwnLease {
  readonly #skewRatio: number;
  #until = Number.NEGATIVE_INFINITY;

  constructor(skewRatio: number) {
    this.#skewRatio = skewRatio;
  }

  /**
   * A write that made the lease ours has succeeded. @param sentAt the clock before any request that
   * wrote this very record was sent
   */
  renewed(sentAt: number, durationMs: number): void {
    this.#until = sentAt + durationMs / this.#skewRatio;
  }

  /** It was given away or seen with another. */
  lost(): void {
    this.#until = Number.NEGATIVE_INFINITY;
  }

  /** The moment from which on it must not be relied upon. */
  until(): number {
    return this.#until;
  }

  holds(now: number): boolean {
    return now < this.#until;
  }
}
