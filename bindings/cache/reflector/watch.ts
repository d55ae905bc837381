/**
 * A single list or watch, for programs that need no cache. For a watch that goes on after errors
 * use a RetryWatcher; for a cache use an informer.
 */

import { leaving } from '../../base/cancellable-generator.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import { isCapstanError, requireInteger, requireString } from '../../base/errors.ts';
import { namesOf, pick, requireNames } from '../../base/names.ts';
import type { FromServer } from '../../base/object.ts';
import type { Resource } from '../../base/resource.ts';
import { onAbort } from '../../base/wait.ts';
import { jsonDecoder } from '../decode/decoder.ts';
import type { Transport } from '../rest/transport.ts';
import { LIST_WATCH_NAMES, ListWatch, type ListWatchOptions } from './list-watch.ts';
import { eachPage, fetchPages, type ListQuery, PAGE_SIZE } from './pager.ts';
import { MIN_WATCH_SECONDS, reportForeign, WatchStream } from './watch-stream.ts';

/**
 * An event of a watch. For a deletion, `object` is the last state and `resourceVersion` is that of
 * the deletion. apimachinery: watch.Event.
 */
export interface WatchEvent<T> {
  type: 'ADDED' | 'MODIFIED' | 'DELETED';
  object: T;
  resourceVersion: string;
}

/** Options of {@link watch}. */
export interface WatchOptions extends ListWatchOptions {
  /**
   * The version after which to begin, such as that of a {@link list}: then no event is missed. "",
   * the default, or "0": the watch begins with all existing objects, as ADDED events in no
   * particular order.
   */
  resourceVersion?: string | undefined;
  /** Ends the iteration without an error. */
  signal?: AbortSignal | undefined;
  /** Seconds after which the server ends the stream. Default 300. */
  timeoutSeconds?: number | undefined;
  /**
   * Called with the version of each bookmark, from which a later watch may begin. Its promise is
   * awaited, and its errors end the iteration.
   */
  onBookmark?: ((resourceVersion: string) => void) | undefined;
  clock?: Clock | undefined;
}

const WATCH_NAMES = namesOf<WatchOptions>()({
  ...LIST_WATCH_NAMES,
  resourceVersion: 1,
  signal: 1,
  timeoutSeconds: 1,
  onBookmark: 1,
  clock: 1,
});

/**
 * One watch as an async iterable, which ends when the server ends the stream. It connects when the
 * iteration begins. Objects of another kind are skipped and reported through handleError.
 *
 * @throws CapstanError INVALID_ARGUMENT; during the iteration StatusError (also for an ERROR event,
 *   such as 410 for an expired version), TransportError for a lost connection, CapstanError DECODE
 * @example
 * const { items, resourceVersion } = await list(transport, Pod, { signal });
 * use(items);
 * const pods = watch(transport, Pod, { resourceVersion, signal });
 * for await (const { type, object } of pods) use([type, object]);
 */
export function watch<T extends object, I extends string>(
  transport: Transport,
  resource: Resource<T, I>,
  options: WatchOptions = {},
): AsyncGenerator<WatchEvent<FromServer<T>>, void, undefined> {
  requireNames('options', options, 'option of watch()', WATCH_NAMES);
  const { timeoutSeconds = MIN_WATCH_SECONDS } = options;
  requireInteger('timeoutSeconds', timeoutSeconds, 1);
  requireString('resourceVersion', options.resourceVersion ?? '');
  const abort = new AbortController();
  const query = { ...options, timeoutSeconds };
  const listWatch = new ListWatch(transport, resource, pick(options, LIST_WATCH_NAMES));
  const events = watchOnce(listWatch, query, abort) as AsyncGenerator<
    WatchEvent<FromServer<T>>,
    void,
    undefined
  >;
  return leaving(events, () => abort.abort());
}

async function* watchOnce<T extends object, I extends string>(
  listWatch: ListWatch<T, I>,
  options: WatchOptions & { timeoutSeconds: number },
  abort: AbortController,
): AsyncGenerator<WatchEvent<T>, void, undefined> {
  const {
    resourceVersion = '',
    timeoutSeconds,
    clock = systemClock,
    onBookmark,
    signal: outer,
  } = options;
  const { signal } = abort;
  if (outer?.aborted) return;
  const unlisten = onAbort(outer, () => abort.abort(outer?.reason));
  let stream: WatchStream<T> | undefined;
  try {
    stream = await WatchStream.open(
      listWatch,
      jsonDecoder<T>(listWatch.expected),
      { resourceVersion, timeoutSeconds },
      { clock, signal },
    );
    while (await stream.more()) {
      for (let frame = stream.take(); frame !== undefined; frame = stream.take()) {
        if (frame.type === 'BOOKMARK') await onBookmark?.(frame.resourceVersion);
        else if (frame.type === 'foreign') reportForeign(listWatch.describe(), frame, 'watch');
        else if (frame.type !== 'OUTSIDE') yield frame;
        if (signal.aborted) return;
      }
    }
    if (stream.lost !== undefined) throw stream.lost;
  } catch (error) {
    // Errors of the caller's callback are thrown even after the signal.
    if (!signal.aborted || !isCapstanError(error)) throw error;
  } finally {
    stream?.close();
    unlisten();
  }
}

/** Options of {@link list} and {@link listItems}. */
export interface PagedListOptions extends ListWatchOptions {
  /**
   * The list is at least as new as this version. "", the default: the newest. "0": any version,
   * from the watch cache of the server.
   */
  resourceVersion?: string | undefined;
  /** Objects per page. Default 500; 0: one page. */
  pageSize?: number | undefined;
  signal?: AbortSignal | undefined;
  clock?: Clock | undefined;
}

const LIST_NAMES = namesOf<PagedListOptions>()({
  ...LIST_WATCH_NAMES,
  resourceVersion: 1,
  pageSize: 1,
  signal: 1,
  clock: 1,
});
const ITEM_NAMES = namesOf<ListItemsOptions>()({ ...LIST_NAMES, pageBufferSize: 1 });

type ListItemsOptions = PagedListOptions & { pageBufferSize?: number | undefined };

/**
 * Lists all objects, in pages; if the continue token expires, in one request. A {@link watch} can
 * begin from the returned version. client-go: tools/pager List.
 *
 * @throws CapstanError INVALID_ARGUMENT, DECODE, ABORTED; StatusError; TransportError
 * @example
 * const { items } = await list(transport, Pod, { namespace: 'default', labelSelector: 'app=web' });
 */
export async function list<T extends object, I extends string>(
  transport: Transport,
  resource: Resource<T, I>,
  options: PagedListOptions = {},
): Promise<{ items: FromServer<T>[]; resourceVersion: string }> {
  requireNames('options', options, 'option of list()', LIST_NAMES);
  const { page, resourceVersion, pageSize } = pagesOf(transport, resource, options, options.signal);
  const { items, resourceVersion: version } = await fetchPages(page, resourceVersion, pageSize);
  return { items: items as FromServer<T>[], resourceVersion: version };
}

/**
 * Iterates over all objects without holding all of them: up to `pageBufferSize` pages are fetched
 * ahead (default 10, as in client-go). If the continue token expires, the iteration ends with a
 * StatusError of reason Expired; the objects so far are then a part of the list. client-go:
 * tools/pager EachListItem.
 *
 * @throws CapstanError INVALID_ARGUMENT; during the iteration as {@link list}
 * @example
 * for await (const pod of listItems(transport, Pod, { signal })) use(pod);
 */
export function listItems<T extends object, I extends string>(
  transport: Transport,
  resource: Resource<T, I>,
  options: PagedListOptions & { pageBufferSize?: number | undefined } = {},
): AsyncGenerator<FromServer<T>, void, undefined> {
  requireNames('options', options, 'option of listItems()', ITEM_NAMES);
  const { pageBufferSize = 10 } = options;
  requireInteger('pageBufferSize', pageBufferSize, 0);
  const abort = new AbortController();
  const { page, resourceVersion, pageSize } = pagesOf(transport, resource, options, abort.signal);
  const { signal } = options;
  const pages = eachPage(page, resourceVersion, pageSize, pageBufferSize, {
    abort,
    signal,
  });
  const isLeft = (): boolean => abort.signal.aborted && !signal?.aborted;
  const all = items(pages, isLeft) as AsyncGenerator<FromServer<T>, void, undefined>;
  return leaving(all, () => abort.abort());
}

async function* items<T>(
  pages: AsyncIterable<readonly T[]>,
  isLeft: () => boolean,
): AsyncGenerator<T, void, undefined> {
  try {
    for await (const page of pages) yield* page;
  } catch (error) {
    if (!isLeft()) throw error;
  }
}

function pagesOf<T extends object, I extends string>(
  transport: Transport,
  resource: Resource<T, I>,
  options: PagedListOptions,
  signal = new AbortController().signal,
) {
  const { resourceVersion = '', pageSize = PAGE_SIZE, clock = systemClock } = options;
  requireInteger('pageSize', pageSize, 0);
  requireString('resourceVersion', resourceVersion);
  const listWatch = new ListWatch(transport, resource, pick(options, LIST_WATCH_NAMES));
  return {
    page: (query: ListQuery) => listWatch.list(query, { clock, signal }),
    resourceVersion,
    pageSize,
  };
}
