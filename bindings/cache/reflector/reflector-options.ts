/** What a reflector fills, how it can be told to behave, and what it refuses to be told. */

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
import type { WatchErrorHandler } from './status.ts';

/** What a reflector fills. {@link Indexer} is one. */
export interface ReflectorStore<T> {
  add(object: T): void;
  update(object: T): void;
  delete(object: T): void;
  replace(list: readonly T[], resourceVersion: string): void;
  resync?(): void;
  bookmark?(resourceVersion: string): void;
  /**
   * @internal Where so much waits in it that no more should come: resolves when that has been
   * taken. Must not reject.
   */
  behind?(): Promise<void> | undefined;
}

/**
 * client-go streams since 1.35. Here it is an option: a server that ignores the request, as
 * kube-apiserver before 1.27 and most servers made for tests do, costs half a minute without a
 * cache.
 */
export const WATCH_LIST_BY_DEFAULT = false;

/**
 * How a reflector lists, watches and waits. client-go: ReflectorOptions, and the fields of a
 * Reflector.
 */
export interface ReflectorOptions<T = object> {
  clock?: Clock | undefined;
  /**
   * In [0, 1): jitter of the back-off and of timeoutSeconds. Default Math.random. What it throws,
   * or gives beyond that, is reported through handleError, and 0.5 taken.
   */
  random?: (() => number) | undefined;
  /**
   * Milliseconds between two questions to `shouldResync` while watching; 0, the default, is never.
   * A function is asked anew each time.
   */
  resyncPeriod?: number | (() => number) | undefined;
  /** Whether to call the store's `resync` now. Default: always. */
  shouldResync?: (() => boolean) | undefined;
  /**
   * Gets every failure, with its class and what happens next. The default reports through
   * handleError those after which everything is asked for again, connections that stay refused, and
   * waits of more than 5 s, with the time at which it goes on; it is silent about a healthy life:
   * an expired version, a connection that was reset, a watch closed at once, a request repeated
   * soon as the server asked, a server without streams.
   */
  watchErrorHandler?: WatchErrorHandler | undefined;
  /**
   * Asks for the initial objects through a watch, which costs the server less than a list
   * (KEP-3157; kube-apiserver serves it by default since 1.32); where it says that it does not
   * serve that, they are listed. Default false: they are listed.
   */
  watchList?: boolean | undefined;
  /**
   * Objects a page of each list. 0, the default: 500, or no pages where the server can then answer
   * from its memory.
   */
  watchListPageSize?: number | undefined;
  /**
   * Milliseconds after which the server is to end a watch: random in [m, 2 m). Less than five
   * minutes, the default, is not honoured.
   */
  minWatchTimeout?: number | undefined;
  /**
   * For how many milliseconds a watch that ends with an internal error (an ERROR event 500) is
   * opened again at once. Default 0: then everything is asked for again.
   */
  maxInternalErrorRetryDuration?: number | undefined;
  backoff?: BackoffOptions | undefined;
  /**
   * What to do when the server says that it no longer has the resource, as after the deletion of a
   * CustomResourceDefinition. True, the default: the store is emptied, as with the objects' own
   * deletions, and the reflector goes on asking with back-off until the resource is there again.
   * False, as in client-go: the store keeps what it had until then. Only the server's own word
   * counts: its discovery has the resource in no version of the group. A proxy's page does not, nor
   * the end of one version alone, nor any 404 for a kind of Kubernetes' own groups, which are
   * always served.
   */
  parkWhenGone?: boolean | undefined;
  /** @internal What turns bytes into objects. Default: JSON.parse. */
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
