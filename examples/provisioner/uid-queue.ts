/**
 * A rate-limited queue of uids, and the workers that empty it. Invariants: a uid is worked
 * on by one worker at a time and only while this process leads; one that fails comes back later and
 * later; one that has failed too often is given up until its object changes.
 */
import { TransportError } from 'capstan/cache';
import { type Logger, TerminalError } from 'capstan/controller';
import {
  BucketRateLimiter,
  type Clock,
  ItemExponentialFailureRateLimiter,
  MaxOfRateLimiter,
  type MetricsProvider,
  type RateLimiter,
  RateLimitingQueue,
  until,
} from 'capstan/workqueue';
import { pause, withDeadline } from './time.ts';

/** What became of a try. */
export interface Failure {
  readonly error: unknown;
  /** How often in a row, this one included. */
  readonly failures: number;
  readonly givenUp: boolean;
}

export interface UidQueueOptions {
  /** In logs and metrics. */
  readonly name: string;
  readonly workers: number;
  /** For one try, in milliseconds. */
  readonly timeout: number;
  /** So many failures in a row, and the uid is given up. A TerminalError counts for all of them. */
  readonly maxFailures: number;
  readonly rateLimiter?: RateLimiter | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metricsProvider?: MetricsProvider | undefined;
  /** Asked before each try: whether this process still leads. */
  readonly mayWork: () => boolean;
  readonly work: (uid: string, signal: AbortSignal) => Promise<void>;
  readonly onFailure: (uid: string, failure: Failure) => void;
}

/**
 * While the server is away an item stays in the worker's hands: thrown back, the whole queue would
 * fail within a second and wait its turn.
 */
const SERVER_AWAY_MS = 1000;
const LEASE_AWAY_MS = 1000;
const RESTART_MS = 1000;

/**
 * 15 s after the first failure of a uid, doubled up to 1000 s; all of them together at 10 a second
 * after a burst of 100.
 */
export function provisionerRateLimiter(clock: Clock): RateLimiter {
  return new MaxOfRateLimiter(
    new ItemExponentialFailureRateLimiter(15_000, 1_000_000, { clock }),
    new BucketRateLimiter(10, 100, { clock }),
  );
}

export class UidQueue {
  readonly #options: UidQueueOptions;
  readonly #queue: RateLimitingQueue;
  readonly #givenUp = new Set<string>();

  constructor(options: UidQueueOptions) {
    const { name, clock, metricsProvider, rateLimiter = provisionerRateLimiter(clock) } = options;
    this.#options = options;
    this.#queue = new RateLimitingQueue(rateLimiter, {
      name,
      clock,
      metricsProvider,
      addKeepsBackoff: true,
    });
  }

  /** To be looked at, unless it was given up; one that waits for its next try goes on waiting. */
  add(uid: string): void {
    if (!this.#givenUp.has(uid)) this.#queue.add(uid);
  }

  /** Its object has changed: what was given up may have become possible. */
  changed(uid: string): void {
    this.#givenUp.delete(uid);
    this.add(uid);
  }

  /** Its object is gone: looked at once more, and nothing is remembered. */
  gone(uid: string): void {
    this.#queue.forget(uid);
    this.#queue.cancel(uid);
    this.changed(uid);
  }

  /**
   * Runs the workers until the signal fires; resolves when the last one has put down what it had in
   * hand.
   */
  async run(signal: AbortSignal): Promise<void> {
    const { workers, clock } = this.#options;
    const pool = Array.from({ length: workers }, () =>
      until(() => this.#work(signal), RESTART_MS, { signal, clock }),
    );
    await Promise.all(pool);
    this.#queue.shutDown(); // what handlers still add is ignored
  }

  async #work(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const { item, shutdown } = await this.#queue.get({ signal });
      if (shutdown) return;
      try {
        if (!this.#options.mayWork()) this.#queue.addAfter(item, LEASE_AWAY_MS);
        else await this.#try(item, signal);
      } finally {
        this.#queue.done(item);
      }
    }
  }

  async #try(uid: string, signal: AbortSignal): Promise<void> {
    const { clock, timeout } = this.#options;
    try {
      await withDeadline(clock, timeout, signal, (deadline) => this.#withServer(uid, deadline));
      this.#queue.forget(uid);
    } catch (error) {
      if (signal.aborted) return; // told to end: the next leader finds it where it is
      this.#failed(uid, error);
    }
  }

  /** Again and again while there is no connection. */
  async #withServer(uid: string, signal: AbortSignal): Promise<void> {
    const { clock, work } = this.#options;
    for (;;) {
      try {
        return await work(uid, signal);
      } catch (error) {
        if (signal.aborted) throw signal.reason; // which says more than a request that was aborted
        if (!(error instanceof TransportError)) throw error;
        await pause(clock, SERVER_AWAY_MS, signal);
        signal.throwIfAborted();
      }
    }
  }

  #failed(uid: string, error: unknown): void {
    const { name, logger, maxFailures, onFailure } = this.#options;
    const failures = this.#queue.numRequeues(uid) + 1;
    const givenUp = error instanceof TerminalError || failures >= maxFailures;
    if (givenUp) {
      this.#givenUp.add(uid);
      this.#queue.forget(uid);
    } else {
      this.#queue.addRateLimited(uid);
    }
    logger.warn(givenUp ? 'given up until it changes' : 'failed, to be tried again', {
      queue: name,
      uid,
      failures,
      error,
    });
    onFailure(uid, { error, failures, givenUp });
  }
}
