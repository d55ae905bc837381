/**
 * A single list or watch, for programs that need no cache: one request or one stream, and its
 * errors. For a watch that goes on after errors use a RetryWatcher; to know what is there at any
 * moment use an informer.
 */

import { leaving } from '../../base/cancellable-generator.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import { CapstanError, requireInteger, requireString } from '../../base/errors.ts';
import { handleError } from '../../base/handle-error.ts';
import { namesOf, pick, requireNames } from '../../base/names.ts';
import { onAbort } from '../../base/wait.ts';
import { jsonDecoder } from '../decode/decoder.ts';
import type { Resource } from '../rest/resource.ts';
import type { Transport } from '../rest/transport.ts';
import { LIST_WATCH_NAMES, ListWatch, type ListWatchOptions } from './list-watch.ts';
import { eachPage, fetchPages, type ListQuery, PAGE_SIZE } from './pager.ts';
import { MIN_WATCH_SECONDS, WatchStream } from './watch-stream.ts';

/**
 * What happened to an object. Of a deletion, `object` is its last state and `resourceVersion` that
 * of the deletion.
 */
export interface WatchEvent<T> {
  type: 'ADDED' | 'MODIFIED' | 'DELETED';
  object: T;
  resourceVersion: string;
}

/** Which objects a watch follows, and from where on. */
export interface WatchOptions extends ListWatchOptions {
  /**
   * The version after which to begin, such as that of a {@link list}: then nothing is missed in
   * between. "", the default, or "0": first everything that is there, as ADDED events in no order.
   */
  resourceVersion?: string | undefined;
  /** Ends the iteration without an error. */
  signal?: AbortSignal | undefined;
  /** When the server is to end the stream. Default 300. */
  timeoutSeconds?: number | undefined;
  /**
   * Told of each version up to which nothing happened: a good one to begin from the next time. It
   * is waited for, and its errors are the iteration's.
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
 * One watch as an async iterable that ends when the server ends the stream; it connects when the
 * iteration begins. Objects of another kind are left out and reported through handleError.
 *
 * @throws CapstanError INVALID_ARGUMENT; during the iteration StatusError (also for an ERROR event,
 *   such as 410 for a version that is too old), TransportError for a connection that was lost,
 *   CapstanError DECODE
 * @example
 * const { items, resourceVersion } = await list(transport, Pod, { signal });
 * use(items);
 * for await (const { type, object } of watch(transport, Pod, { resourceVersion, signal })) use([type, object]);
 */
export function watch<T extends object, I extends string>(
  transport: Transport,
  resource: Resource<T, I>,
  options: WatchOptions = {},
): AsyncGenerator<WatchEvent<T>, void, undefined> {
  requireNames('options', options, 'option of watch()', WATCH_NAMES);
  const { timeoutSeconds = MIN_WATCH_SECONDS } = options;
  requireInteger('timeoutSeconds', timeoutSeconds, 1);
  const abort = new AbortController();
  const query = { ...options, timeoutSeconds };
  const listWatch = new ListWatch(transport, resource, pick(options, LIST_WATCH_NAMES));
  return leaving(watchOnce(listWatch, query, abort), () => abort.abort());
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
        else yield frame;
        if (signal.aborted) return;
      }
    }
    if (stream.lost !== undefined) throw stream.lost;
  } catch (error) {
    if (!signal.aborted || !(error instanceof CapstanError)) throw error; // the caller's own callback may throw, too
  } finally {
    stream?.close();
    unlisten();
  }
}

/** An object of another kind is never given to anyone, nor is it kept quiet about. */
export function reportForeign(
  what: string,
  frame: { apiVersion: string | undefined; kind: string | undefined },
  who: string,
): void {
  handleError(
    new CapstanError('DECODE', `a watch of ${what} sent a ${frame.apiVersion} ${frame.kind}`),
    who,
  );
}

/** Which objects a list gives, and how it asks for them. */
export interface PagedListOptions extends ListWatchOptions {
  /**
   * The list is at least as new as this version. "", the default: the newest. "0": any, which the
   * server has at hand.
   */
  resourceVersion?: string | undefined;
  /** Objects a page. Default 500; 0: all in one. */
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
 * Everything that is there, once. Comes in pages; if they expire meanwhile, in one piece. The
 * version is one to {@link watch} from.
 *
 * @throws CapstanError INVALID_ARGUMENT, DECODE, ABORTED; StatusError; TransportError
 * @example
 * const { items } = await list(transport, Pod, { namespace: 'default', labelSelector: 'app=web' });
 */
export async function list<T extends object, I extends string>(
  transport: Transport,
  resource: Resource<T, I>,
  options: PagedListOptions = {},
): Promise<{ items: T[]; resourceVersion: string }> {
  requireNames('options', options, 'option of list()', LIST_NAMES);
  const { page, resourceVersion, pageSize } = pagesOf(transport, resource, options, options.signal);
  const { items, resourceVersion: version } = await fetchPages(page, resourceVersion, pageSize);
  return { items, resourceVersion: version };
}

/**
 * Object by object, without ever holding all of them: pages are fetched ahead, `pageBufferSize` of
 * them (default 10, as in client-go). If they expire meanwhile, the iteration ends with a
 * StatusError of reason Expired: what was given is a part.
 *
 * @throws CapstanError INVALID_ARGUMENT; during the iteration as {@link list}
 * @example
 * for await (const pod of listItems(transport, Pod, { signal })) use(pod);
 */
export function listItems<T extends object, I extends string>(
  transport: Transport,
  resource: Resource<T, I>,
  options: PagedListOptions & { pageBufferSize?: number | undefined } = {},
): AsyncGenerator<T, void, undefined> {
  requireNames('options', options, 'option of listItems()', ITEM_NAMES);
  const { pageBufferSize = 10 } = options;
  requireInteger('pageBufferSize', pageBufferSize, 0);
  const abort = new AbortController();
  const { page, resourceVersion, pageSize } = pagesOf(transport, resource, options, abort.signal);
  const { signal } = options;
  const pages = eachPage(page, resourceVersion, pageSize, pageBufferSize, { abort, signal });
  const left = (): boolean => abort.signal.aborted && !signal?.aborted;
  return leaving(items(pages, left), () => abort.abort());
}

async function* items<T>(
  pages: AsyncIterable<readonly T[]>,
  left: () => boolean,
): AsyncGenerator<T, void, undefined> {
  try {
    for await (const page of pages) yield* page;
  } catch (error) {
    if (!left()) throw error;
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
