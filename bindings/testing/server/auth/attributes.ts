/**
 * The attributes of a request, by which an authorizer decides. apiserver:
 * pkg/endpoints/request/requestinfo.go.
 */
import type { ResourcePath } from '../paths.ts';
import { exactName } from '../reads/selectors.ts';
import { ApiError, forbiddenObject } from '../status.ts';
import type { ServerUser } from './users.ts';

export interface ResourceAttributes {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
}

/** A non-resource path. */
export interface PathAttributes {
  readonly verb: string;
  readonly path: string;
}

export type Attributes = ResourceAttributes | PathAttributes;

export const isPath = (attributes: Attributes): attributes is PathAttributes =>
  'path' in attributes;

const VERBS: Readonly<Record<string, string>> = {
  GET: 'get',
  HEAD: 'get',
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

/** @param watch whether the request is a watch */
export function attributesOf(
  method: string,
  route: ResourcePath,
  query: URLSearchParams,
  watch: boolean,
): ResourceAttributes {
  const { resource, name, namespace } = route;
  const [subresource = ''] = route.subresource.split('/');
  let verb = VERBS[method] ?? '';
  if (name === '' && verb === 'get') verb = watch ? 'watch' : 'list';
  if (name === '' && verb === 'delete') verb = 'deletecollection';
  if (watch && verb === 'get') verb = 'watch';
  const ofOne = verb === 'list' || verb === 'watch' || verb === 'deletecollection';
  const isNamespace = resource.group === '' && resource.plural === 'namespaces';
  return {
    verb,
    group: resource.group,
    resource: resource.plural,
    subresource,
    namespace: isNamespace ? name : namespace,
    name: name === '' && ofOne ? (exactName(query.get('fieldSelector')) ?? '') : name,
  };
}

/**
 * 403 with the real server's message.
 *
 * @param reason the authorizer's reason, '' if there is none
 */
export function forbidden(user: ServerUser, attributes: Attributes, reason = ''): ApiError {
  const who = `User ${JSON.stringify(user.name)} cannot ${attributes.verb}`;
  const more = reason === '' ? '' : `: ${reason}`;
  if (isPath(attributes)) {
    const message = `forbidden: ${who} path ${JSON.stringify(attributes.path)}${more}`;
    return new ApiError(403, message, { reason: 'Forbidden', details: {} });
  }
  const { group, resource, subresource, namespace, name } = attributes;
  const whole = subresource === '' ? resource : `${resource}/${subresource}`;
  const where = namespace === '' ? 'at the cluster scope' : `in the namespace "${namespace}"`;
  const why =
    `${who} resource ${JSON.stringify(whole)} in API group ${JSON.stringify(group)} ` +
    `${where}${more}`;
  return forbiddenObject({ group, what: resource, name }, why);
}
