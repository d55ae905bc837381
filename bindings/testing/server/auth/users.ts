/**
 * Authentication: the user of a request, by its token and its impersonation headers. apiserver:
 * pkg/authentication, pkg/endpoints/filters/impersonation.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { invalid, requireObject } from '../../../base/errors.ts';
import { badRequest, genericStatus } from '../status.ts';

/** A user of the embedded server. */
export interface ServerUser {
  readonly name: string;
  readonly uid?: string | undefined;
  /** In addition to `system:authenticated`, the group of every authenticated user. */
  readonly groups?: readonly string[] | undefined;
  readonly extra?: Readonly<Record<string, readonly string[]>> | undefined;
}

export const MASTERS = 'system:masters';
const AUTHENTICATED = 'system:authenticated';
const UNAUTHENTICATED = 'system:unauthenticated';
const ANONYMOUS = 'system:anonymous';

/** The user of every request, if no users are configured. */
const ADMIN: ServerUser = { name: 'kubernetes-admin', groups: [MASTERS, AUTHENTICATED] };

/**
 * The namespace and name of `system:serviceaccount:<namespace>:<name>`; undefined for other users.
 */
export function serviceAccountOf(
  userName: string,
): { namespace: string; name: string } | undefined {
  const [, namespace, name] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(userName) ?? [];
  return namespace === undefined || name === undefined ? undefined : { namespace, name };
}

export const serviceAccountName = (namespace: string, name: string): string =>
  `system:serviceaccount:${namespace}:${name}`;

export const serviceAccountGroups = (namespace: string): string[] => [
  'system:serviceaccounts',
  `system:serviceaccounts:${namespace}`,
];

/** The user of a ServiceAccount token; undefined: it is not one, or not valid. */
export type TokenLookup = (token: string) => ServerUser | undefined;

export class Users {
  readonly #users: ReadonlyMap<string, ServerUser> | undefined;
  readonly #serviceAccount: TokenLookup;
  readonly #anonymous: boolean;
  #tokens: ReadonlySet<string> | undefined;

  /** @param anonymous if users are configured, a request without a token is `system:anonymous` */
  constructor(
    users: Readonly<Record<string, ServerUser>> | undefined,
    serviceAccount: TokenLookup,
    anonymous: boolean,
  ) {
    this.#users = users && new Map(Object.entries(users));
    this.#serviceAccount = serviceAccount;
    this.#anonymous = anonymous;
  }

  /** Makes these the administrator's tokens; earlier ones become invalid. */
  setTokens(tokens: readonly string[] | undefined): void {
    this.#tokens = tokens === undefined ? undefined : new Set(tokens);
  }

  /** The user of a token; undefined if it is unknown. */
  ofToken(token: string): ServerUser | undefined {
    const known = this.#users?.get(token) ?? this.#serviceAccount(token);
    if (known !== undefined) return withGroup(known, AUTHENTICATED);
    return this.#tokens?.has(token) ? ADMIN : undefined;
  }

  /** Throws 401. */
  authenticate(headers: IncomingHttpHeaders): ServerUser {
    const token = /^Bearer +(.*)$/i.exec(headers.authorization ?? '')?.[1] ?? '';
    const user = token === '' ? undefined : this.ofToken(token);
    if (user !== undefined) return user;
    if (this.#users === undefined && this.#tokens === undefined) return ADMIN;
    if (token !== '' || !this.#anonymous) throw genericStatus(401);
    return { name: ANONYMOUS, groups: [UNAUTHENTICATED] };
  }
}

function withGroup(user: ServerUser, group: string): ServerUser {
  const groups = user.groups ?? [];
  return groups.includes(group) ? user : { ...user, groups: [...groups, group] };
}

/** The impersonation that the headers of a request ask for. */
export interface Impersonation {
  /** The requested user, before default groups are added. */
  readonly requested: ServerUser;
  readonly user: ServerUser;
}

const EXTRA = 'impersonate-extra-';

/** @returns undefined without impersonation. Throws 400. */
export function impersonationOf(headers: IncomingHttpHeaders): Impersonation | undefined {
  const name = textOf(headers['impersonate-user']);
  const uid = textOf(headers['impersonate-uid']);
  const groups = listOf(headers['impersonate-group']);
  const extra = Object.fromEntries(
    Object.entries(headers)
      .filter(([header]) => header.startsWith(EXTRA))
      .map(([header, value]) => [decode(header.slice(EXTRA.length)), listOf(value)]),
  );
  const hasExtra = Object.keys(extra).length > 0;
  if (name === '') {
    if (groups.length === 0 && uid === '' && !hasExtra) return undefined;
    throw badRequest('requested groups, a uid or extras without impersonating a user name');
  }
  const requested: ServerUser = {
    name,
    ...(uid === '' ? {} : { uid }),
    groups,
    ...(hasExtra ? { extra } : {}),
  };
  const account = serviceAccountOf(name);
  const named =
    account !== undefined && groups.length === 0
      ? { ...requested, groups: serviceAccountGroups(account.namespace) }
      : requested;
  if (name === ANONYMOUS) return { requested: requested, user: withGroup(named, UNAUTHENTICATED) };
  const known = !groups.includes(UNAUTHENTICATED);
  return { requested: requested, user: known ? withGroup(named, AUTHENTICATED) : named };
}

const textOf = (value: string | readonly string[] | undefined): string =>
  typeof value === 'string' ? value : (value?.[0] ?? '');

/** The values of a repeated header, which Node joins. */
const listOf = (value: string | readonly string[] | undefined): string[] =>
  (typeof value === 'string' ? value.split(', ') : [...(value ?? [])]).filter(
    (each) => each !== '',
  );

function decode(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}

/** The impersonation headers of a user: a header for each group. */
export function headersAs(user: string | ServerUser): Record<string, string | string[]> {
  const { name, uid, groups = [], extra = {} } = typeof user === 'string' ? { name: user } : user;
  return {
    'Impersonate-User': name,
    ...(uid === undefined ? {} : { 'Impersonate-Uid': uid }),
    ...(groups.length === 0 ? {} : { 'Impersonate-Group': [...groups] }),
    ...Object.fromEntries(
      Object.entries(extra).map(([key, values]) => [
        `Impersonate-Extra-${encodeURIComponent(key)}`,
        [...values],
      ]),
    ),
  };
}

/**
 * Throws CapstanError INVALID_ARGUMENT.
 *
 * @param what names the value in the message
 */
export function requireUser(what: string, user: unknown): void {
  if (typeof user === 'string' && user !== '') return;
  requireObject(what, user);
  const { name, groups = [] } = user as { name?: unknown; groups?: unknown };
  if (typeof name !== 'string' || name === '')
    throw invalid(`${what}.name`, 'the name of a user', name);
  if (!Array.isArray(groups) || groups.some((group) => typeof group !== 'string'))
    throw invalid(`${what}.groups`, 'a list of names of groups', groups);
}
