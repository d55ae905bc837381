/**
 * Lists: a consistent page at one resourceVersion, and the token that continues it at the same one.
 * No state is kept between pages: the token has the resourceVersion and the next key, and the store
 * can show any state in its history. apiserver: pkg/storage/continue.go, etcd3/store.go GetList.
 */

import type { ListMetadata, View } from '../answers/views.ts';
import { isObject } from '../json.ts';
import type { ResourcePath } from '../paths.ts';
import type { Kind } from '../registry/kinds.ts';
import type { Registry } from '../registry/registry.ts';
import { type Stored, storeKey } from '../registry/store.ts';
import { jsonError, parseBody } from '../request/body.ts';
import { checkListOptions } from '../request/list-options.ts';
import { badRequest, expired, TooLargeVersion } from '../status.ts';
import { exactName, type ObjectPredicate, parseSelectors } from './selectors.ts';

/** Answers `GET` on a collection. */
export function answerList(
  registry: Registry,
  path: ResourcePath,
  query: URLSearchParams,
  view: View,
): string {
  const { kind, items, metadata } = listContents(registry, path, query);
  return view.list(kind, items, metadata);
}

/** The selectors of a list. Throws for invalid or contradicting parameters of a list. */
export const selectorsOf = (kind: Kind, query: URLSearchParams): ObjectPredicate | undefined =>
  parseSelectors(kind, query.get('labelSelector'), query.get('fieldSelector'), () =>
    checkListOptions(query),
  );

/** The items and the metadata of a list. */
export interface ListContents {
  kind: Kind;
  items: readonly Stored[];
  metadata: ListMetadata;
}

/**
 * @param unlimited the limit when the query has none: 0, or a number that is never reached but
 *   makes resourceVersion an exact match
 */
export function listContents(
  registry: Registry,
  path: ResourcePath,
  query: URLSearchParams,
  unlimited = 0,
): ListContents {
  const kind = registry.kinds.get(path.resource);
  const limit = Math.max(queryInteger(query.get('limit')), 0) || unlimited;
  queryInteger(query.get('timeoutSeconds'));
  const matches = selectorsOf(kind, query);
  const { version, from, paged } = choosePage(registry, path, query, limit);
  const inRange = registry.store(path.resource).asOf(version, path.namespace, from);
  // On the real server a list by one name reads one key: there is no page after it.
  const name =
    from === '' && hasUniqueNames(kind, path) ? exactName(query.get('fieldSelector')) : undefined;
  const all =
    name === undefined
      ? inRange
      : inRange.filter(({ key }) => key === storeKey(path.namespace, name));
  if (!paged || limit === 0) {
    const items = matches === undefined ? all : all.filter(({ object }) => matches(object));
    return { kind, items, metadata: { version } };
  }
  const items: Stored[] = [];
  let seen = 0;
  while (seen < all.length && items.length < limit) {
    const stored = all[seen++]!;
    if (matches === undefined || matches(stored.object)) items.push(stored);
  }
  if (seen === all.length) return { kind, items, metadata: { version } };
  // As on the real server, nothing is read beyond a full page: the next page may be empty. With a
  // selector the remaining items are not counted.
  const token = encodeToken(version, relativeKey(path, items.at(-1)!.key));
  const remaining = matches === undefined ? { remaining: all.length - seen } : {};
  return { kind, items, metadata: { version, token, ...remaining } };
}

const hasUniqueNames = (kind: Kind, path: ResourcePath): boolean =>
  path.namespace !== '' || kind.namespaced === false;

/** A numeric query parameter; 0 when it is missing. */
export function queryInteger(text: string | null): number {
  if (text === null || text === '') return 0;
  if (!/^[+-]?\d+$/.test(text))
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
  return Number(text);
}

/**
 * A resourceVersion in a query; 0 when it is missing.
 *
 * @param fail makes the error, which differs from caller to caller
 */
export function parseVersion(text: string, fail: (why: string) => Error): number {
  const isNumber = /^\d*$/.test(text);
  if (isNumber && BigInt(text) < 2n ** 64n) return Number(text);
  const quoted = JSON.stringify(text);
  const why = isNumber ? 'value out of range' : 'invalid syntax';
  throw fail(
    `resourceVersion: Invalid value: ${quoted}: strconv.ParseUint: parsing ${quoted}: ${why}`,
  );
}

interface Page {
  version: number;
  from: string;
  /** false: the limit is ignored. */
  paged: boolean;
}

/** Chooses the resourceVersion and the first key of the page. */
function choosePage(
  registry: Registry,
  path: ResourcePath,
  query: URLSearchParams,
  limit: number,
): Page {
  const token = query.get('continue') ?? '';
  const requested = query.get('resourceVersion') ?? '';
  const match = query.get('resourceVersionMatch') ?? '';
  const current = registry.versions.current;
  if (token !== '') {
    if (requested !== '' && requested !== '0')
      throw badRequest('specifying resource version is not allowed when using continue');
    return { ...continuePage(registry, path, token), paged: requested === '' };
  }
  const version = parseVersion(requested, (why) => badRequest(`invalid resource version: ${why}`));
  if (version > current) throw new TooLargeVersion(version, current, path.resource);
  // resourceVersion 0 is answered from the watch cache, which does not page. A limit with any other
  // resourceVersion means an exact match.
  if (version === 0) return { version: current, from: '', paged: requested === '' };
  const exact = match === 'Exact' || (match === '' && limit > 0);
  if (!exact) return { version: current, from: '', paged: true };
  if (version < registry.store(path.resource).oldest) throw expired(TOO_OLD);
  return { version, from: '', paged: true };
}

const TOO_OLD = 'The resourceVersion for the provided list is too old.';

const TOKEN_TOO_OLD =
  'The provided continue parameter is too old to display a consistent list result. You can ' +
  'start a new list without the continue parameter, or use the continue token in this response ' +
  'to retrieve the remainder of the results. Continuing with the provided token results in an ' +
  'inconsistent list - objects that were created, modified, or ' +
  'deleted between the time the first chunk was returned and now may show up in the list.';

/** The wire form of a token: base64 of this. `rv` -1 continues at the current resourceVersion. */
interface Token {
  v: 'meta.k8s.io/v1';
  rv: number;
  start: string;
}

/** Keys in tokens begin with a slash and omit the namespace of the path. */
const relativeKey = (path: ResourcePath, key: string): string =>
  `/${path.namespace === '' ? key : key.slice(path.namespace.length + 1)}`;

/** @param last the last key of the page; the next one starts right after it */
function encodeToken(version: number, last: string): string {
  return encodeRaw({ v: 'meta.k8s.io/v1', rv: version, start: `${last}\0` });
}

const encodeRaw = (token: Token): string =>
  Buffer.from(JSON.stringify(token)).toString('base64url');

function continuePage(registry: Registry, path: ResourcePath, text: string): Page {
  const token = decodeToken(text);
  const prefix = path.namespace === '' ? '' : `${path.namespace}/`;
  const from = prefix + token.start.replace(/^\//, '');
  if (token.rv === -1) return { version: registry.versions.current, from, paged: true };
  if (token.rv > registry.versions.current)
    throw new TooLargeVersion(token.rv, registry.versions.current, path.resource);
  if (token.rv < registry.store(path.resource).oldest) {
    throw expired(TOKEN_TOO_OLD, encodeRaw({ ...token, rv: -1 }));
  }
  return { version: token.rv, from, paged: true };
}

function decodeToken(text: string): Token {
  const refuse = (why: string): Error => badRequest(`invalid continue token: ${why}`);
  const stray = /[^A-Za-z0-9_-]/.exec(text);
  if (stray !== null)
    throw refuse(`continue key is not valid: illegal base64 data at input byte ${stray.index}`);
  // A single last character carries fewer than eight bits.
  if (text.length % 4 === 1)
    throw refuse(`continue key is not valid: illegal base64 data at input byte ${text.length - 1}`);
  const bytes = Buffer.from(text, 'base64url');
  const json = parseBody(bytes.toString(), () =>
    refuse(`continue key is not valid: ${jsonError(bytes.toString('latin1'))}`),
  );
  const token = (isObject(json) ? json : {}) as Partial<Token>;
  if (token.v !== 'meta.k8s.io/v1')
    throw refuse(`server does not recognize this encoded version ${token?.v ?? ''}`);
  if (!Number.isSafeInteger(token.rv) || token.rv === 0)
    throw refuse('incorrect encoded start resourceVersion');
  if (typeof token.start !== 'string' || token.start === '') throw refuse('missing start key');
  return token as Token;
}
