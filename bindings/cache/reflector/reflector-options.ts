/** The store and the options of a reflector, and the checks of the options. */

import { BACKOFF_NAMES, type BackoffOptions } from '../../base/backoff.ts';
import { type Clock, requireClock } from '../../base/clock.ts';
import {
  invalid,
  requireBoolean,
  requireFunction,
  requireInteger,
  requireNumber,
} from '../../base/errors.ts';
import { namesOf, requireNames } from '../../base/names.ts';
import type { Decoder } from '../decode/decoder.ts';
import type { HashRanges } from '../rest/hash-ranges.ts';
import type { WatchErrorHandler } from './status.ts';

/**
 * The store that a reflector fills, such as an {@link Indexer} or a FIFO. client-go:
 * ReflectorStore.
 */
export interface ReflectorStore<T> {
  add(object: T): void;
  update(object: T): void;
  delete(object: T): void;
  replace(list: readonly T[], resourceVersion: string): void;
  resync?(): void;
  bookmark?(resourceVersion: string): void;
  /**
   * @internal Adds the objects of ranges that the cache did not have, as listed.
   * @param resourceVersion of the watch, which may be older than the objects
   */
  addRanges?(list: readonly T[], resourceVersion: string): void;
  /** @internal Removes all objects outside of the ranges; handlers are not called for them. */
  keepRanges?(kept: HashRanges): void;
  /**
   * @internal Back pressure: if too much is queued, a promise that resolves when the reflector may
   *   go on. Must not reject.
   */
  behind?(): Promise<void> | undefined;
}

/**
 * Default of the option `watchList`. client-go uses watch lists since 1.35. Here they are an
 * option, because a server that ignores the parameter (kube-apiserver before 1.27, most servers for
 * tests) would delay the first sync by half a minute.
 */
export const WATCH_LIST_BY_DEFAULT = false;

/** Options of a {@link Reflector}. client-go: ReflectorOptions, and the fields of Reflector. */
export interface ReflectorOptions<T = object> {
  clock?: Clock | undefined;
  /**
   * A number in [0, 1), for the jitter of the back-off and of timeoutSeconds. Default Math.random.
   * If it throws or returns anything else, that goes to handleError, and 0.5 is used.
   */
  random?: (() => number) | undefined;
  /**
   * Time between two resyncs, in milliseconds: `shouldResync` is called then. 0, the default:
   * never. A function is called again for each period.
   */
  resyncPeriod?: number | (() => number) | undefined;
  /** Whether to call `resync` of the store now. Default: always. */
  shouldResync?: (() => boolean) | undefined;
  /**
   * Called with every failure, its class and the next step. The default reports through
   * handleError: failures that lead to a relist, connections that stay refused, and waits of more
   * than 5 s, with the time of the next attempt. It does not report failures of normal operation:
   * an expired version, a reset connection, a watch that ended at once, a request that is soon
   * repeated as the server asked, a server without watch lists.
   */
  watchErrorHandler?: WatchErrorHandler | undefined;
  /**
   * Get the initial objects through a watch (a watch list), which costs the server less than a list
   * (KEP-3157; on by default in kube-apiserver since 1.32). If the server refuses, they are listed.
   * Default false: they are listed.
   */
  watchList?: boolean | undefined;
  /**
   * Objects per page of a list. 0, the default: 500, or no pages if the server can then answer from
   * its watch cache.
   */
  watchListPageSize?: number | undefined;
  /**
   * Time after which the server ends a watch, in milliseconds: a random time in [m, 2 m). Default
   * and minimum: five minutes.
   */
  minWatchTimeout?: number | undefined;
  /**
   * For how many milliseconds a watch that ends with an internal error (an ERROR event 500) is
   * opened again at once. Default 0: the reflector relists.
   */
  maxInternalErrorRetryDuration?: number | undefined;
  backoff?: BackoffOptions | undefined;
  /**
   * What to do if the server no longer serves the resource, as after the deletion of a
   * CustomResourceDefinition. True, the default: the store is emptied, as if the objects had been
   * deleted, and the list is tried again with back-off until the resource is served again. False,
   * as in client-go: the store keeps its objects meanwhile. The resource counts as gone only if the
   * server's discovery has it in no version of the group; a proxy's 404, the end of one version,
   * and a 404 for a built-in group do not count.
   */
  parkWhenGone?: boolean | undefined;
  /** @internal The store has only objects in these ranges. Default: all. */
  ranges?: HashRanges | undefined;
  /** @internal Decodes objects. Default: by JSON.parse. */
  decoder?: Decoder<T> | undefined;
}

export const REFLECTOR_NAMES = namesOf<ReflectorOptions>()({
  clock: 1,
  random: 1,
  resyncPeriod: 1,
  shouldResync: 1,
  watchErrorHandler: 1,
  watchList: 1,
  watchListPageSize: 1,
  minWatchTimeout: 1,
  maxInternalErrorRetryDuration: 1,
  backoff: BACKOFF_NAMES,
  parkWhenGone: 1,
  ranges: 1,
  decoder: 1,
});

/** Throws CapstanError INVALID_ARGUMENT. The back-off checks its own. */
export function requireReflectorOptions<T>(options: ReflectorOptions<T>): void {
  requireNames('options', options, 'option of a Reflector', REFLECTOR_NAMES);
  const { resyncPeriod, watchErrorHandler, watchList, watchListPageSize, minWatchTimeout } =
    options;
  requireClock('options.clock', options.clock);
  if (resyncPeriod !== undefined && typeof resyncPeriod !== 'function')
    requireNumber('options.resyncPeriod', resyncPeriod);
  if (watchErrorHandler !== undefined)
    requireFunction('options.watchErrorHandler', watchErrorHandler);
  if (watchListPageSize !== undefined)
    requireInteger('options.watchListPageSize', watchListPageSize, 0);
  if (minWatchTimeout !== undefined && !Number.isFinite(minWatchTimeout))
    throw invalid('options.minWatchTimeout', 'a finite number of milliseconds', minWatchTimeout);
  const { maxInternalErrorRetryDuration, parkWhenGone } = options;
  if (maxInternalErrorRetryDuration !== undefined)
    requireNumber('options.maxInternalErrorRetryDuration', maxInternalErrorRetryDuration);
  requireBoolean('options.watchList', watchList);
  requireBoolean('options.parkWhenGone', parkWhenGone);
}
