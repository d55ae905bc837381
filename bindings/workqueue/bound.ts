/**
 * The bound of a queue with `maxDepth`: a full queue refuses new keys, by an error or silently, and
 * counts them.
 */
import { CapstanError } from '../base/errors.ts';

/** The parts of a queue that its bound needs. */
export interface Bounded<T> {
  depth(): number;
  knows(item: T): boolean;
}

export class Bound {
  readonly #most: number;
  readonly #drops: boolean;
  /** How many adds it has refused. */
  refused = 0;

  constructor(most: number, drops: boolean) {
    this.#most = most;
    this.#drops = drops;
  }

  /**
   * Whether a full queue drops the item; throws QUEUE_FULL unless `whenFull` is 'drop'. A key that
   * the queue has already is never refused.
   */
  refuses<T>(queue: Bounded<T>, item: T): boolean {
    const depth = queue.depth();
    if (!this.#isFull(depth, queue, item)) return false;
    this.refused++;
    if (this.#drops) return true;
    throw this.#error(depth, `add it again when some are done, or take "whenFull: 'drop'"`);
  }

  /**
   * Throws QUEUE_FULL where an add would be refused or dropped, for a caller that must not lose the
   * item. It is not counted.
   */
  requireRoom<T>(queue: Bounded<T>, item: T): void {
    const depth = queue.depth();
    if (this.#isFull(depth, queue, item))
      throw this.#error(depth, 'its delay has ended; it is added when the queue has room');
  }

  #isFull<T>(depth: number, queue: Bounded<T>, item: T): boolean {
    return depth >= this.#most && !queue.knows(item);
  }

  #error(depth: number, advice: string): CapstanError {
    return new CapstanError(
      'QUEUE_FULL',
      `the queue holds ${depth} keys, "maxDepth" is ${this.#most}: ` +
        `the item was not added; ${advice}`,
    );
  }
}
