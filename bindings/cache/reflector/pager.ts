/**
 * Lists in pages. The version of the list is that of the first page. If a continue token has
 * expired, the whole list is requested at the version of the first request. A repeated continue
 * token is an error. client-go: tools/pager/pager.go list, eachListChunkBuffered.
 */
import { CapstanError, show } from '../../base/errors.ts';
import { deferred, onAbort } from '../../base/wait.ts';
import type { ListPage } from '../decode/decoder.ts';
import type { HashRanges } from '../rest/hash-ranges.ts';
import { isResourceExpired } from '../rest/status-error.ts';

/** client-go: tools/pager/pager.go defaultPageSize. */
export const PAGE_SIZE = 500;

export interface ListQuery {
  resourceVersion: string;
  /** 0: no limit. */
  limit: number;
  continue: string;
  /** Ask only for objects in these ranges; a server may answer with more. */
  ranges?: HashRanges | undefined;
}

export interface PagedList<T> {
  items: T[];
  resourceVersion: string;
  /** Whether a second page was requested. */
  paged: boolean;
  /** See {@link ListPage}. */
  isSharded?: boolean;
}

/**
 * The continue tokens of one list. Detects a server or proxy that repeats a token, so that the list
 * does not go on without end.
 */
export class ContinueTokens {
  readonly #seen = new Set<string>();

  /** @throws CapstanError DECODE for a token that has come before */
  add(token: string): string {
    if (this.#seen.has(token))
      throw new CapstanError(
        'DECODE',
        `page ${this.#seen.size + 1} of a list has a continue token that an earlier page had, ` +
          `${show(token)}: the list would never end`,
      );
    this.#seen.add(token);
    return token;
  }
}

type FetchPage<T> = (query: ListQuery) => Promise<ListPage<T>>;

/**
 * Requests all pages. Rejects as `fetchPage` does. `onExpired` is called with the error before a
 * full list.
 */
export async function fetchPages<T>(
  fetchPage: FetchPage<T>,
  resourceVersion: string,
  limit: number,
  onExpired?: (error: unknown) => void,
): Promise<PagedList<T>> {
  const first = await fetchPage({ resourceVersion, limit, continue: '' });
  const items = first.items;
  const tokens = new ContinueTokens();
  const sharded = first.isSharded && { isSharded: true };
  let paged = false;
  for (let token = first.continue; token !== ''; ) {
    paged = true;
    tokens.add(token);
    let page: ListPage<T>;
    try {
      page = await fetchPage(nextPage(token, limit));
    } catch (error) {
      if (!isResourceExpired(error)) throw error;
      onExpired?.(error);
      const full = await fetchPage({ resourceVersion, limit: 0, continue: '' });
      return { items: full.items, resourceVersion: full.resourceVersion, paged, ...sharded };
    }
    for (const item of page.items) items.push(item);
    token = page.continue;
  }
  return { items, resourceVersion: first.resourceVersion, paged, ...sharded };
}

/**
 * Iterates over the items of a list, page by page. Up to `ahead` pages are buffered while the next
 * is fetched; with 0, the next page is requested when the last one has been consumed. When `signal`
 * fires, or the caller leaves the iteration, `abort` is fired. After `signal` the iteration ends
 * with the error of `fetchPage`.
 */
export async function* eachPage<T>(
  fetchPage: FetchPage<T>,
  resourceVersion: string,
  limit: number,
  ahead: number,
  { abort, signal }: { abort: AbortController; signal: AbortSignal | undefined },
): AsyncGenerator<T[], void, undefined> {
  const unlisten = onAbort(signal, () => abort.abort(signal?.reason));
  const ready: T[][] = [];
  let consumed = deferred();
  let fetched = deferred();
  let ended = false;
  let isLeft = false;
  let failure: { error: unknown } | undefined;
  const tokens = new ContinueTokens();
  const fetching = (async () => {
    try {
      for (let token: string | undefined = ''; token !== undefined && !isLeft; ) {
        const page = await fetchPage(
          token === '' ? { resourceVersion, limit, continue: '' } : nextPage(token, limit),
        );
        ready.push(page.items);
        fetched.resolve();
        while (ready.length > ahead && !isLeft) await consumed.promise;
        token = page.continue === '' ? undefined : tokens.add(page.continue);
      }
    } catch (error) {
      failure = { error };
    } finally {
      ended = true;
      fetched.resolve();
    }
  })();
  try {
    for (;;) {
      const page = ready[0];
      if (page !== undefined) {
        yield page;
        ready.shift();
        consumed.resolve();
        consumed = deferred();
      } else if (ended) {
        break;
      } else {
        fetched = deferred();
        await fetched.promise;
      }
    }
    if (failure !== undefined) throw failure.error;
  } finally {
    isLeft = true;
    consumed.resolve();
    unlisten();
    if (!ended) abort.abort();
    await fetching;
  }
}

/**
 * The query without a version: the server refuses one beside a continue token, which contains it.
 */
function nextPage(token: string, limit: number): ListQuery {
  return { resourceVersion: '', limit, continue: token };
}
