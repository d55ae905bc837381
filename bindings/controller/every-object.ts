/**
 * Turns what a source says into requests for every object that is known. kube-rs:
 * `Controller::reconcile_all_on`.
 *
 * A source that speaks again while the objects of before are being added leads to one more round
 * after it, however often it does, so that each object is added at least once after each time it
 * spoke. Long rounds let the event loop turn in between.
 */
import { splitMetaNamespaceKey } from '../cache/keys.ts';
import { TimeSlice } from '../cache/wait.ts';
import type { Clock } from '../clock.ts';
import { handleError } from '../handle-error.ts';
import type { Request } from '../request.ts';
import type { AddOptions } from '../workqueue/index.ts';
import type { Cause, SourceQueue } from './source.ts';

export class EveryObject implements SourceQueue {
  readonly #queue: SourceQueue;
  readonly #keys: () => readonly string[];
  readonly #signal: AbortSignal;
  readonly #slice: TimeSlice;
  #next: { options: AddOptions; cause: Cause } | undefined;
  #isRunning = false;

  /** `keys` are those of the objects at the moment of the call. */
  constructor(
    queue: SourceQueue,
    keys: () => readonly string[],
    clock: Clock,
    signal: AbortSignal,
  ) {
    this.#queue = queue;
    this.#keys = keys;
    this.#signal = signal;
    this.#slice = new TimeSlice(clock);
  }

  addWithCause(options: AddOptions, _request: Request, cause: Cause): void {
    this.#next = { options, cause };
    if (!this.#isRunning)
      this.#run().catch((error) => handleError(error, `the source "${cause.source}"`));
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    try {
      this.#slice.start();
      for (let round = this.#next; round !== undefined; round = this.#next) {
        this.#next = undefined;
        for (const key of this.#keys()) {
          if (this.#signal.aborted) return;
          this.#queue.addWithCause(round.options, splitMetaNamespaceKey(key), round.cause);
          if (this.#slice.over()) await this.#slice.yield();
        }
      }
    } finally {
      this.#isRunning = false;
    }
  }
}
