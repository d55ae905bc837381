/** The bound of a queue with `maxDepth`: it refuses what a full queue does not know yet, by an error or silently, and counts that. */
import { CapstanError } from '../errors.ts';
import type { QueueOptions } from './options.ts';

export class Bound {
  readonly #most: number;
  readonly #drops: boolean;
  #refused = 0;

  constructor(most: number, whenFull: QueueOptions<unknown>['whenFull']) {
    this.#most = most;
    this.#drops = whenFull === 'drop';
  }

  isFull(depth: number): boolean {
    return depth >= this.#most;
  }

  refuse(depth: number): void {
    this.#refused++;
    if (this.#drops) return;
    throw new CapstanError(
      'QUEUE_FULL',
      `the queue holds ${depth} keys, "maxDepth" is ${this.#most}: the item was not added; add it again when some are done, or take "whenFull: 'drop'"`,
    );
  }

  refused(): number {
    return this.#refused;
  }
}
