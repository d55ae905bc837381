/**
 * Whether a user may impersonate another one: by the verb `impersonate`, or by verbs for certain
 * users and requests only. apiserver: pkg/endpoints/filters/impersonation/mode.go, without the
 * impersonation of a service account by its node.
 */
import { ApiError } from '../status.ts';
import { type Attributes, forbidden, type ResourceAttributes } from './attributes.ts';
import type { Authorizer } from './rbac.ts';
import { MASTERS, type ServerUser, serviceAccountOf } from './users.ts';

const NODE = 'system:node:';
const GROUP = 'authentication.k8s.io';

/**
 * Users who were last allowed by the verb `impersonate`: it is then checked first, and its error
 * returned.
 */
const allowedByImpersonate = new WeakMap<Authorizer, Set<string>>();

/**
 * Throws 403.
 *
 * @param request the request to authorize as the other user
 */
export function requireImpersonation(
  authorizer: Authorizer,
  sender: ServerUser,
  requested: ServerUser,
  request: Attributes,
): void {
  const require = (attributes: Attributes): void => {
    const { allowed, reason } = authorizer.decide(sender, attributes);
    if (!allowed) throw forbidden(sender, attributes, reason);
  };
  const mode = modeFor(requested);
  const constrained = (): void => {
    require({ ...request, verb: `impersonate-on:${mode}:${request.verb}` });
    const isMaster = requested.groups?.includes(MASTERS) ?? false;
    for (const each of partsOf(requested, `impersonate:${mode}`, GROUP)) {
      if (isMaster && each.resource === 'groups')
        throw forbidden(sender, { ...each, name: MASTERS }, 'no user may impersonate it');
      require(each);
    }
  };
  const unconstrained = (): void => {
    for (const each of partsOf(requested, 'impersonate', '')) require(each);
  };
  const remembered = allowedByImpersonate.get(authorizer) ?? new Set<string>();
  allowedByImpersonate.set(authorizer, remembered);
  const key = JSON.stringify(sender);
  const checks = mode === undefined ? [unconstrained] : [constrained, unconstrained];
  if (remembered.has(key)) checks.reverse();
  let first: ApiError | undefined;
  for (const check of checks) {
    const refused = refusalOf(check);
    if (refused === undefined) {
      if (check === unconstrained) remembered.add(key);
      else remembered.delete(key);
      return;
    }
    first ??= refused;
  }
  throw first;
}

function refusalOf(check: () => void): ApiError | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}

/**
 * The mode of constrained impersonation. A node or a service account has one only if the request
 * names no uid, groups or extra; undefined: only the verb `impersonate` is checked.
 */
function modeFor({ name, uid, groups = [], extra }: ServerUser): string | undefined {
  const mode = name.startsWith(NODE)
    ? 'arbitrary-node'
    : serviceAccountOf(name) === undefined
      ? 'user-info'
      : 'serviceaccount';
  const onlyName = uid === undefined && groups.length === 0 && extra === undefined;
  return mode === 'user-info' || onlyName ? mode : undefined;
}

/**
 * The attributes to check for each part of the user.
 *
 * @param group the API group of users, nodes and groups
 */
function partsOf(
  { name, uid, groups = [], extra = {} }: ServerUser,
  verb: string,
  group: string,
): ResourceAttributes[] {
  const of = (resource: string, more: Partial<ResourceAttributes>): ResourceAttributes => ({
    verb,
    group,
    resource,
    subresource: '',
    namespace: '',
    name,
    ...more,
  });
  const account = serviceAccountOf(name);
  const isNode = group === GROUP && name.startsWith(NODE);
  return [
    isNode
      ? of('nodes', { name: name.slice(NODE.length) })
      : account === undefined
        ? of('users', {})
        : of('serviceaccounts', account),
    ...(uid === undefined ? [] : [of('uids', { group: GROUP, name: uid })]),
    ...groups.map((each) => of('groups', { name: each })),
    ...Object.entries(extra).flatMap(([key, values]) =>
      values.map((each) => of('userextras', { group: GROUP, subresource: key, name: each })),
    ),
  ];
}
