/**
 * Whether a user may send a request as another one: by the verb `impersonate`, or by those that are
 * good for some users and some requests alone. apiserver:
 * pkg/endpoints/filters/impersonation/mode.go; a service account as the node that it runs on is not
 * known here.
 */
import { ApiError } from '../status.ts';
import { type Attributes, forbidden, type ResourceAttributes } from './attributes.ts';
import type { Authorizer } from './rbac.ts';
import { MASTERS, type ServerUser, serviceAccountOf } from './users.ts';

const NODE = 'system:node:';
const GROUP = 'authentication.k8s.io';

/** @param request what is to be done as the other user. Throws 403. */
export function requireImpersonation(
  authorizer: Authorizer,
  sender: ServerUser,
  asked: ServerUser,
  request: Attributes,
): void {
  const require = (attributes: Attributes): void => {
    const { allowed, reason } = authorizer.decide(sender, attributes);
    if (!allowed) throw forbidden(sender, attributes, reason);
  };
  const mode = modeFor(asked);
  const constrained = (): void => {
    require({ ...request, verb: `impersonate-on:${mode}:${request.verb}` });
    if (asked.groups?.includes(MASTERS)) throw forbidden(sender, ofGroup(asked, mode));
    for (const each of partsOf(asked, `impersonate:${mode}`, GROUP)) require(each);
  };
  // The first refusal is told, where the old verb does not help either.
  let refused: ApiError | undefined;
  if (mode !== undefined) {
    refused = refusalOf(constrained);
    if (refused === undefined) return;
  }
  const old = refusalOf(() => {
    for (const each of partsOf(asked, 'impersonate', '')) require(each);
  });
  if (old !== undefined) throw refused ?? old;
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

/** Nodes and service accounts are asked for by their names alone. */
function modeFor({ name, uid, groups = [], extra }: ServerUser): string | undefined {
  const mode = name.startsWith(NODE)
    ? 'arbitrary-node'
    : serviceAccountOf(name) === undefined
      ? 'user-info'
      : 'serviceaccount';
  const onlyName = uid === undefined && groups.length === 0 && extra === undefined;
  return mode === 'user-info' || onlyName ? mode : undefined;
}

const ofGroup = (asked: ServerUser, mode: string | undefined): ResourceAttributes => ({
  verb: `impersonate:${mode}`,
  group: GROUP,
  resource: 'groups',
  subresource: '',
  namespace: '',
  name: asked.groups?.find((group) => group === MASTERS) ?? '',
});

/** What is asked for each part of the user. @param group that of users, nodes and groups */
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
