/**
 * A list in pages. The version is that of the first page; an expired continue token turns into one full list at the
 * version first asked for. client-go: tools/pager/pager.go list.
 */
import type { ListPage } from './decoder.ts';
import { isResourceExpired } from './status-error.ts';

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

/** Asks for page after page. Rejects with what `fetchPage` rejects with. `onExpired` is told why a full list is asked for. */
export async function listPages<T>(
  fetchPage: (query: ListQuery) => Promise<ListPage<T>>,
  resourceVersion: string,
  limit: number,
  onExpired?: (error: unknown) => void,
): Promise<PagedList<T>> {
  const first = await fetchPage({ resourceVersion, limit, continue: '' });
  const items = first.items;
  let paged = false;
  for (let token = first.continue; token !== ''; ) {
    paged = true;
    let page: ListPage<T>;
    try {
      // A version beside a continue token is an error to the server: the token holds it.
      page = await fetchPage({ resourceVersion: '', limit, continue: token });
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
