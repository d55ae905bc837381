/**
 * A list in pages. The version is that of the first page; an expired continue token turns into one
 * full list at the version first asked for; a continue token that comes again ends the list with an
 * error. client-go: tools/pager/pager.go list, eachListChunkBuffered.
 */
import { CapstanError, show } from '../../base/errors.ts';
import { deferred, onAbort } from '../../base/wait.ts';
import type { ListPage } from '../decode/decoder.ts';
import { isResourceExpired } from '../rest/status-error.ts';

/** client-go: tools/pager/pager.go defaultPageSize. */
export const PAGE_SIZE = 500;

export interface ListQuery {
  resourceVersion: string;
  /** 0: no limit. */
  limit: number;
  continue: string;
}

export interface PagedList<T> {
  items: T[];
  resourceVersion: string;
  /** A second page was asked for. */
  paged: boolean;
}

/**
 * The continue tokens of one list. A server, or something between, that gives a token again would
 * be asked for pages without end.
 */
export class ContinueTokens {
  readonly #seen = new Set<string>();

  /** @throws CapstanError DECODE for a token that has come before */
  take(token: string): string {
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
 * Asks for page after page. Rejects with what `fetchPage` rejects with. `onExpired` is told why a
 * full list is asked for.
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
  let paged = false;
  for (let token = first.continue; token !== ''; ) {
    paged = true;
    tokens.take(token);
    let page: ListPage<T>;
    try {
      page = await fetchPage(following(token, limit));
    } catch (error) {
      if (!isResourceExpired(error)) throw error;
      onExpired?.(error);
      const full = await fetchPage({ resourceVersion, limit: 0, continue: '' });
      return { items: full.items, resourceVersion: full.resourceVersion, paged };
    }
    for (const item of page.items) items.push(item);
    token = page.continue;
  }
  return { items, resourceVersion: first.resourceVersion, paged };
}

/**
 * The items of page after page, of which up to `ahead` wait here to be taken while the next is
 * fetched; with 0, the next page is asked for when the one before has been taken. `signal` ends it
 * with what `fetchPage` rejects with; leaving the iteration fires `abort`, as `signal` does.
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
  let taken = deferred();
  let arrived = deferred();
  let ended = false;
  let left = false;
  let failure: { error: unknown } | undefined;
  const tokens = new ContinueTokens();
  const fetching = (async () => {
    try {
      for (let token: string | undefined = ''; token !== undefined && !left; ) {
        const page = await fetchPage(
          token === '' ? { resourceVersion, limit, continue: '' } : following(token, limit),
        );
        ready.push(page.items);
        arrived.resolve();
        while (ready.length > ahead && !left) await taken.promise;
        token = page.continue === '' ? undefined : tokens.take(page.continue);
      }
    } catch (error) {
      failure = { error };
    } finally {
      ended = true;
      arrived.resolve();
    }
  })();
  try {
    for (;;) {
      const page = ready[0];
      if (page !== undefined) {
        yield page;
        ready.shift();
        taken.resolve();
        taken = deferred();
      } else if (ended) {
        break;
      } else {
        arrived = deferred();
        await arrived.promise;
      }
    }
    if (failure !== undefined) throw failure.error;
  } finally {
    left = true;
    taken.resolve();
    unlisten();
    if (!ended) abort.abort();
    await fetching;
  }
}

/** A version beside a continue token is an error to the server: the token holds it. */
function following(token: string, limit: number): ListQuery {
  return { resourceVersion: '', limit, continue: token };
}
