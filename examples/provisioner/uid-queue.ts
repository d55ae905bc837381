/**
 * A rate-limited queue of uids, and its workers. Invariants: a uid is processed by one worker at a
 * time and only while this process leads; a failed uid is retried with back-off; after too many
 * failures it is given up until its object changes.
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
  runUntil,
} from 'capstan/workqueue';
import { pause, withDeadline } from './time.ts';

/** The result of a try. */
export interface Failure {
  readonly error: unknown;
  /** The number of failures in a row, including this one. */
  readonly failures: number;
  readonly givenUp: boolean;
}

export interface UidQueueOptions {
  /** The name in logs and metrics. */
  readonly name: string;
  readonly workers: number;
  /** The time limit of one try, in milliseconds. */
  readonly timeout: number;
  /** After this many failures in a row the uid is given up. A TerminalError gives it up at once. */
  readonly maxFailures: number;
  readonly rateLimiter?: RateLimiter | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metricsProvider?: MetricsProvider | undefined;
  /** Whether this process still leads. Called before each try. */
  readonly mayWork: () => boolean;
  readonly work: (uid: string, signal: AbortSignal) => Promise<void>;
  readonly onFailure: (uid: string, failure: Failure) => void;
}

/**
 * While the server is unreachable, a worker keeps its item and retries it: put back, all items of
 * the queue would fail within a second and be in back-off.
 */
const SERVER_AWAY_MS = 1000;
const LEASE_AWAY_MS = 1000;
const RESTART_MS = 1000;

/**
 * Per uid 15 s after the first failure, doubled up to 1000 s; in total 10 a second after a burst of
 * 100.
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

  /** Queues a uid, unless it was given up. A uid in back-off stays in back-off. */
  add(uid: string): void {
    if (!this.#givenUp.has(uid)) this.#queue.add(uid);
  }

  /** Queues a uid whose object has changed, also if it was given up. */
  changed(uid: string): void {
    this.#givenUp.delete(uid);
    this.add(uid);
  }

  /** Queues a uid whose object was deleted, and forgets its failures. */
  gone(uid: string): void {
    this.#queue.forget(uid);
    this.#queue.cancel(uid);
    this.changed(uid);
  }

  /** Runs the workers until the signal fires; resolves when the last one has finished its item. */
  async run(signal: AbortSignal): Promise<void> {
    const { workers, clock } = this.#options;
    const pool = Array.from({ length: workers }, () =>
      runUntil(() => this.#work(signal), RESTART_MS, { signal, clock }),
    );
    await Promise.all(pool);
    this.#queue.shutDown(); // later adds of handlers are ignored
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
      if (signal.aborted) return; // stopped: the next leader continues
      this.#failed(uid, error);
    }
  }

  /** Retries while there is no connection. */
  async #withServer(uid: string, signal: AbortSignal): Promise<void> {
    const { clock, work } = this.#options;
    for (;;) {
      try {
        return await work(uid, signal);
      } catch (error) {
        // more informative than the error of the aborted request
        if (signal.aborted) throw signal.reason;
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
