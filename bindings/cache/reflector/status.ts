/**
 * What a reflector says of itself: where it is, how fresh its view of the server is, and what went
 * wrong, by class and with what happens next. All of it is plain data, made when asked for; ages
 * are milliseconds at that moment.
 */
import { CapstanError } from '../../base/errors.ts';
import {
  isDenied,
  isExpired,
  isStatusError,
  isTooLargeResourceVersion,
  isTooManyRequests,
} from '../rest/status-error.ts';
import type { TransportError } from '../rest/transport.ts';

/**
 * What kind of failure it was:
 * - `auth`: 401 or 403; it ends when credentials or permissions do.
 * - `expired`: the version asked for is no longer known to the server, or not yet (410, "too large
 *   resource version").
 * - `throttled`: 429; the server asks for patience.
 * - `network`: no answer, or not all of it ({@link TransportError}); also a watch that ended at
 *   once, as dead proxies end them.
 * - `decode`: bytes that are not what the protocol promises, or that the cache cannot take.
 * - `full`: the cache has no room for an object, by its option `maxBytes` or in its memory; it ends
 *   when objects go away.
 * - `server`: any other answer that reports a failure, and a stream of initial objects without an
 *   end.
 */
export type FailureClass =
  | 'auth'
  | 'expired'
  | 'throttled'
  | 'network'
  | 'decode'
  | 'full'
  | 'server';

/**
 * What happens after a failure:
 * - `relist`: everything is asked for again, no older than the last version.
 * - `relist from newest`: everything is asked for again, without a version, as the server does not
 *   know the last one.
 * - `rewatch`: the watch is opened again from the last version.
 * - `list`: the initial objects are listed, as they could not be streamed.
 * - `full list`: the list is asked for again in one piece, as its continue token has expired.
 * - `repeat`: the same request is sent again.
 * - `park`: the resource is gone; the cache has been emptied, and the server is asked from time to
 *   time.
 */
export type NextStep =
  | 'relist'
  | 'relist from newest'
  | 'rewatch'
  | 'list'
  | 'full list'
  | 'repeat'
  | 'park';

/** What a watch error handler is told: what failed, and what happens next. */
export interface WatchFailure {
  class: FailureClass;
  next: NextStep;
  /** Milliseconds until then. */
  afterMs: number;
}

/**
 * Gets every failure of list and watch, also those that cost nothing; called synchronously, so it
 * should return soon.
 */
export type WatchErrorHandler = (error: unknown, failure: WatchFailure) => void;

/**
 * `listing`, `streaming` (the initial objects, through a watch), `watching`, `waiting` (before any
 * of them is tried again, and while a watch that failed is), `parked`.
 */
export type ReflectorState =
  | 'stopped'
  | 'listing'
  | 'streaming'
  | 'watching'
  | 'waiting'
  | 'parked';

/** How a reflector is doing, for people, metrics and health checks. */
export interface ReflectorStatus {
  state: ReflectorState;
  /** The version of the last list, event or bookmark that was taken over; "" before the first. */
  lastSyncResourceVersion: string;
  /**
   * Freshness: milliseconds since the server last sent a byte of a list or a watch; `undefined`
   * before the first. What the cache holds was true then, but for a server that was restored from
   * an older backup: it is noticed by the silence of its watches. Failures do not count as life.
   */
  lastSignOfLife: number | undefined;
  /** How often everything was asked for again after it had been there once, in vain or not. */
  relists: number;
  /** How many watches were opened, streams of initial objects among them. */
  watches: number;
  failures: Record<FailureClass, number>;
  /** Events that carried an object of another kind and were left out. */
  skippedEvents: number;
  /** The latest failure, `agoMs` milliseconds ago. */
  lastFailure: (WatchFailure & { error: unknown; agoMs: number }) | undefined;
}

export function classOf(error: unknown): FailureClass {
  if (isStatusError(error)) {
    if (isDenied(error)) return 'auth';
    if (isExpired(error) || isTooLargeResourceVersion(error)) return 'expired';
    return isTooManyRequests(error) ? 'throttled' : 'server';
  }
  if (!(error instanceof CapstanError) || error.code === 'TRANSPORT' || error.code === 'ABORTED')
    return 'network';
  if (error.code === 'CACHE_FULL' || error.code === 'OUT_OF_MEMORY') return 'full';
  return error.code === 'TIMEOUT' ? 'server' : 'decode';
}

/** Collects what {@link ReflectorStatus} counts. */
export class FailureLog {
  readonly #counts: Record<FailureClass, number> = {
    auth: 0,
    expired: 0,
    throttled: 0,
    network: 0,
    decode: 0,
    full: 0,
    server: 0,
  };
  #last: { failure: WatchFailure; error: unknown; at: number } | undefined;

  add(error: unknown, failure: WatchFailure, now: number): void {
    this.#counts[failure.class]++;
    this.#last = { failure, error, at: now };
  }

  /** A request that failed is not sent again yet. */
  repeatsLater(now: number): boolean {
    const last = this.#last;
    return last?.failure.next === 'repeat' && now - last.at < last.failure.afterMs;
  }

  report(now: number): Pick<ReflectorStatus, 'failures' | 'lastFailure'> {
    const last = this.#last;
    return {
      failures: { ...this.#counts },
      lastFailure: last && { ...last.failure, error: last.error, agoMs: now - last.at },
    };
  }
}
