/**
 * The option `reconcileAllOn`: turns any request of a source into requests for all objects in the
 * cache. kube-rs: `Controller::reconcile_all_on`.
 *
 * Requests that come while a round is adding the objects lead to one more round, so that each
 * object is added at least once after each request. A round in which the queue refused an object is
 * repeated. Long rounds yield to the event loop.
 */

import type { Clock } from '../base/clock.ts';
import { handleError } from '../base/handle-error.ts';
import type { Request } from '../base/request.ts';
import { sleep, TimeSlice } from '../base/wait.ts';
import { splitMetaNamespaceKey } from '../cache/rest/keys.ts';
import type { AddOptions } from '../workqueue/index.ts';
import type { Cause, SourceQueue } from './source.ts';

/** The delay before a round is repeated, in milliseconds. */
const AGAIN_MS = 1000;

interface Round {
  readonly options: AddOptions;
  readonly cause: Cause;
}

export class ReconcileAllQueue implements SourceQueue {
  readonly #queue: SourceQueue;
  readonly #keys: () => readonly string[];
  readonly #signal: AbortSignal;
  readonly #slice: TimeSlice;
  readonly #clock: Clock;
  #next: Round | undefined;
  #isRunning = false;

  /** `keys` returns the keys of the objects in the cache. */
  constructor(
    queue: SourceQueue,
    keys: () => readonly string[],
    clock: Clock,
    signal: AbortSignal,
  ) {
    this.#queue = queue;
    this.#keys = keys;
    this.#signal = signal;
    this.#clock = clock;
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
        if (await this.#addAll(round)) continue;
        await sleep(this.#clock, AGAIN_MS, this.#signal);
        if (!this.#signal.aborted) this.#next ??= round;
      }
    } finally {
      this.#isRunning = false;
    }
  }

  /** Returns false if the queue refused an object, and reports the first error. */
  async #addAll({ options, cause }: Round): Promise<boolean> {
    let failure: { readonly error: unknown } | undefined;
    for (const key of this.#keys()) {
      if (this.#signal.aborted) break;
      try {
        this.#queue.addWithCause(options, splitMetaNamespaceKey(key), cause);
      } catch (error) {
        failure ??= { error };
      }
      if (this.#slice.over()) await this.#slice.yield();
    }
    if (failure === undefined || this.#signal.aborted) return true;
    handleError(failure.error, `the source "${cause.source}": tried again in ${AGAIN_MS} ms`);
    return false;
  }
}
