/**
 * Lists: a consistent page as of one version, and the token that continues it at that same version.
 * Nothing is kept for a client between its pages: the token carries the version and the next key,
 * and the store can show any version that is still in its history. apiserver:
 * pkg/storage/continue.go, etcd3/store.go GetList.
 */
import { jsonError, parseBody } from './body.ts';
import { isObject } from './json.ts';
import { checkListOptions } from './list-options.ts';
import type { ResourcePath } from './paths.ts';
import type { Kind } from './registry/kinds.ts';
import type { Registry } from './registry/registry.ts';
import { type Stored, storeKey } from './registry/store.ts';
import { exactName, type ObjectPredicate, parseSelectors } from './selectors.ts';
import { badRequest, expired, TooLargeVersion } from './status.ts';
import type { ListMetadata, View } from './views.ts';

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

/** What a list selects. Throws for parameters of a list that are none, or contradict each other. */
export const selectorsOf = (kind: Kind, query: URLSearchParams): ObjectPredicate | undefined =>
  parseSelectors(kind, query.get('labelSelector'), query.get('fieldSelector'), () =>
    checkListOptions(query),
  );

/** What a list has. */
export interface ListContents {
  kind: Kind;
  items: readonly Stored[];
  metadata: ListMetadata;
}

/**
 * @param unlimited what no limit stands for: 0, or so many that it counts as one and is not reached
 */
export function listContents(
  registry: Registry,
  path: ResourcePath,
  query: URLSearchParams,
  unlimited = 0,
): ListContents {
  const kind = registry.kinds.get(path.resource);
  const limit = Math.max(integer(query.get('limit')), 0) || unlimited;
  integer(query.get('timeoutSeconds'));
  const matches = selectorsOf(kind, query);
  const { version, from, paged } = choosePage(registry, path, query, limit);
  const inRange = registry.store(path.resource).asOf(version, path.namespace, from);
  // A list of one name is a read of one key on the real server: there is no page after it.
  const name =
    from === '' && onePerName(kind, path) ? exactName(query.get('fieldSelector')) : undefined;
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
  // As on the real server nothing is looked at beyond a full page: what follows need not match, and
  // is not counted then.
  const token = encodeToken(version, relativeKey(path, items.at(-1)!.key));
  const remaining = matches === undefined ? { remaining: all.length - seen } : {};
  return { kind, items, metadata: { version, token, ...remaining } };
}

const onePerName = (kind: Kind, path: ResourcePath): boolean =>
  path.namespace !== '' || kind.namespaced === false;

/** A query parameter that is a number; 0 when it is not there. */
export function integer(text: string | null): number {
  if (text === null || text === '') return 0;
  if (!/^[+-]?\d+$/.test(text))
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
  return Number(text);
}

/**
 * A resourceVersion in a query; 0 when it is not there. Where it is no number, each place fails in
 * its own words.
 */
export function parseVersion(text: string, fail: (why: string) => Error): number {
  const isNumber = /^\d*$/.test(text);
  if (isNumber && BigInt(text) < 2n ** 64n) return Number(text);
  const shown = JSON.stringify(text);
  const why = isNumber ? 'value out of range' : 'invalid syntax';
  throw fail(
    `resourceVersion: Invalid value: ${shown}: strconv.ParseUint: parsing ${shown}: ${why}`,
  );
}

interface Page {
  version: number;
  from: string;
  /** false: the limit does not count. */
  paged: boolean;
}

/** Which version the list shows and where it starts. */
function choosePage(
  registry: Registry,
  path: ResourcePath,
  query: URLSearchParams,
  limit: number,
): Page {
  const token = query.get('continue') ?? '';
  const asked = query.get('resourceVersion') ?? '';
  const match = query.get('resourceVersionMatch') ?? '';
  const current = registry.versions.current;
  if (token !== '') {
    if (asked !== '' && asked !== '0')
      throw badRequest('specifying resource version is not allowed when using continue');
    return { ...continuePage(registry, path, token), paged: asked === '' };
  }
  const version = parseVersion(asked, (why) => badRequest(`invalid resource version: ${why}`));
  if (version > current) throw new TooLargeVersion(version, current, path.resource);
  // Version 0 is answered from the watch cache, which knows no pages; a limit with any other
  // version means exactly that one.
  if (version === 0) return { version: current, from: '', paged: asked === '' };
  const exact = match === 'Exact' || (match === '' && limit > 0);
  if (!exact) return { version: current, from: '', paged: true };
  if (version < registry.store(path.resource).oldest) throw expired(TOO_OLD);
  return { version, from: '', paged: true };
}

const TOO_OLD = 'The resourceVersion for the provided list is too old.';

const TOKEN_TOO_OLD =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without ' +
  'the continue parameter, or use the continue token in this response to retrieve the remainder of the results. ' +
  'Continuing with the provided token results in an inconsistent list - objects that were created, modified, or ' +
  'deleted between the time the first chunk was returned and now may show up in the list.';

/**
 * The wire form of a token: base64 of this. A version of -1 means: go on with what is there now.
 */
interface Token {
  v: 'meta.k8s.io/v1';
  rv: number;
  start: string;
}

/** Keys in tokens begin with a slash and leave out the namespace of the path. */
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
  // A lone last character carries fewer than eight bits.
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
