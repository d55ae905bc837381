/** Iterates over lists page by page; one page is in memory at a time. client-go: tools/pager. */

import { requireInteger } from '../base/errors.ts';
import { namesOf, requireNames } from '../base/names.ts';
import type { FromServer } from '../base/object.ts';
import type { Resource } from '../base/resource.ts';
import { ContinueTokens } from '../cache/reflector/pager.ts';
import type { ListOptions, ObjectList, Reader } from './types.ts';

/** client-go: tools/pager/pager.go defaultPageSize. */
const PAGE_SIZE = 500;

/** Options of `listAll` and `listPages`. */
export interface ListAllOptions extends Omit<ListOptions, 'live' | 'limit' | 'continue' | 'index'> {
  /** Objects per page. Default 500. */
  readonly pageSize?: number | undefined;
}

const NAMES = namesOf<ListAllOptions>()({
  signal: 1,
  readYourWrites: 1,
  resourceVersion: 1,
  forUpdate: 1,
  namespace: 1,
  labelSelector: 1,
  fieldSelector: 1,
  pageSize: 1,
});

/**
 * Iterates over all objects; the server is asked for the next page when the loop needs it. If the
 * continue token expires, the loop ends with a StatusError of reason Expired (see
 * `isResourceExpired`), after a part of the objects.
 *
 * @throws CapstanError INVALID_ARGUMENT; during the iteration whatever `client.list` rejects with,
 *   and DECODE for a continue token that comes again
 * @example
 * for await (const pod of listAll(client, Pod, { namespace: 'default', signal })) use(pod);
 */
export async function* listAll<T extends object>(
  client: Pick<Reader, 'list'>,
  resource: Resource<T, string>,
  options: ListAllOptions = {},
): AsyncGenerator<FromServer<T>, void, undefined> {
  for await (const { items } of listPages(client, resource, options)) yield* items;
}

/**
 * Iterates over the pages, with their resourceVersion and remainingItemCount.
 *
 * @throws CapstanError INVALID_ARGUMENT; during the iteration whatever `client.list` rejects with,
 *   and DECODE for a continue token that comes again
 * @example
 * for await (const { items, metadata } of listPages(client, Pod, { pageSize: 100 }))
 *   use([items.length, metadata.remainingItemCount]);
 */
export async function* listPages<T extends object>(
  client: Pick<Reader, 'list'>,
  resource: Resource<T, string>,
  options: ListAllOptions = {},
): AsyncGenerator<ObjectList<T>, void, undefined> {
  requireNames('options', options, 'option of listAll()', NAMES);
  const { pageSize = PAGE_SIZE, resourceVersion, ...rest } = options;
  requireInteger('pageSize', pageSize, 1);
  const tokens = new ContinueTokens();
  let next: string | undefined;
  do {
    // The version is that of the first page; a continue token brings its own, and the server
    // refuses both.
    const from = next === undefined ? { resourceVersion } : { continue: next };
    const page = await client.list(resource, { ...rest, ...from, live: true, limit: pageSize });
    yield page;
    next = page.metadata.continue && tokens.add(page.metadata.continue);
  } while (next);
}
