/**
 * The status of a reflector: its state, the freshness of its data, and its failures, each with its
 * class and the next step. Plain data, computed on request; ages are in milliseconds.
 */
import { isCapstanError } from '../../base/errors.ts';
import {
  isDenied,
  isExpired,
  isStatusError,
  isTooLargeResourceVersion,
  isTooManyRequests,
} from '../rest/status-error.ts';
import type { TransportError } from '../rest/transport.ts';

/**
 * The class of a failure:
 * - `auth`: 401 or 403; credentials or permissions must change.
 * - `expired`: the server does not have the requested version any more, or not yet (410, "too large
 *   resource version").
 * - `throttled`: 429.
 * - `network`: no answer, or an incomplete one ({@link TransportError}); also a watch that ended at
 *   once, without an event.
 * - `decode`: bytes that do not follow the protocol, or that the cache cannot store.
 * - `full`: the cache has no room for an object, because of `maxBytes` or the limit of its memory;
 *   it ends when objects are deleted.
 * - `server`: any other answer that reports a failure, and a watch list without an end.
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
 * What the reflector does after a failure:
 * - `relist`: it lists again, no older than the last version.
 * - `relist from newest`: it lists again without a version, because the server does not have the
 *   last one.
 * - `rewatch`: it opens the watch again from the last version.
 * - `list`: it lists, because the watch list failed.
 * - `full list`: it requests the list without pages, because the continue token has expired.
 * - `repeat`: it sends the same request again.
 * - `park`: the server no longer serves the resource; the cache is emptied, and the list is tried
 *   again with back-off.
 */
export type NextStep =
  | 'relist'
  | 'relist from newest'
  | 'rewatch'
  | 'list'
  | 'full list'
  | 'repeat'
  | 'park';

/** The second argument of a watch error handler. */
export interface WatchFailure {
  class: FailureClass;
  next: NextStep;
  /** Milliseconds until the next step. */
  afterMs: number;
}

/**
 * Called synchronously with every failure of list and watch, so it should return soon. client-go:
 * WatchErrorHandlerWithContext.
 */
export type WatchErrorHandler = (error: unknown, failure: WatchFailure) => void;

/**
 * `stopped`, `listing`, `streaming` (a watch list), `watching`, `waiting` (before the next attempt,
 * and while a failed watch is opened again), `parked` (the server does not serve the resource).
 */
export type ReflectorState =
  | 'stopped'
  | 'listing'
  | 'streaming'
  | 'watching'
  | 'waiting'
  | 'parked';

/** The status of a reflector, for people, metrics and health checks. */
export interface ReflectorStatus {
  state: ReflectorState;
  /** The version of the last list, event or bookmark; "" before the first. */
  lastSyncResourceVersion: string;
  /**
   * Milliseconds since the server last sent a byte of a list or a watch; `undefined` before the
   * first. The cache was up to date then, unless the server was restored from an older backup,
   * which is detected when its watches stay silent. Bytes of failures do not count.
   */
  lastSignOfLife: number | undefined;
  /** The number of relists, including failed ones. */
  relists: number;
  /** The number of opened watches, including watch lists. */
  watches: number;
  failures: Record<FailureClass, number>;
  /** The number of skipped events, which had an object of another kind. */
  skippedEvents: number;
  /** Of a cache with ranges: how many objects outside of the ranges came and were dropped. */
  outsideOfRanges?: number;
  /**
   * Of a cache with ranges: which side leaves out objects outside of the ranges, the server
   * (KEP-5866, ShardedListAndWatch) or this process; undefined if that is not known yet.
   */
  leftOutBy?: 'server' | 'client' | undefined;
  /** The last failure; it happened `agoMs` milliseconds ago. */
  lastFailure: (WatchFailure & { error: unknown; agoMs: number }) | undefined;
}

export function classOf(error: unknown): FailureClass {
  if (isStatusError(error)) {
    if (isDenied(error)) return 'auth';
    if (isExpired(error) || isTooLargeResourceVersion(error)) return 'expired';
    return isTooManyRequests(error) ? 'throttled' : 'server';
  }
  if (!isCapstanError(error) || error.code === 'TRANSPORT' || error.code === 'ABORTED')
    return 'network';
  if (error.code === 'CACHE_FULL' || error.code === 'OUT_OF_MEMORY') return 'full';
  return error.code === 'TIMEOUT' ? 'server' : 'decode';
}
