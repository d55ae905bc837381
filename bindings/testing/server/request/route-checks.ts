/** Which paths and methods a resource has. Others are refused before the body is read. */

import { resourceList } from '../discovery.ts';
import type { RequestPath, ResourcePath } from '../paths.ts';
import type { Kind, Kinds } from '../registry/kinds.ts';
import { ofResource } from '../registry/strategy.ts';
import { methodsOf } from '../registry/subresources.ts';
import { methodNotAllowed, noSuchPath, notFound, notSupported } from '../status.ts';
import type { ApiTarget } from './request-target.ts';

/** Throws 404 for a path in the wrong scope. */
export function checkScope(kind: Kind, path: ResourcePath): void {
  if (kind.namespaced === undefined) return;
  if (!kind.namespaced && path.namespace !== '') throw noSuchPath();
  if (kind.namespaced && path.namespace === '' && path.name !== '') throw noSuchPath();
}

export function checkSubresource(kind: Kind, path: ResourcePath, method: string): void {
  const methods = methodsOf(kind, path.subresource);
  if (methods === undefined)
    throw kind.builtIn ? noSuchPath() : notFound(ofResource(kind, path.name));
  if (methods.includes(method)) return;
  if (kind.builtIn) throw methodNotAllowed();
  throw notSupported(method === 'POST' ? 'create' : 'delete', ofResource(kind, path.name));
}

/** Throws for verbs that the kind does not have. */
export function checkVerbs(
  kind: Kind,
  path: ResourcePath,
  method: string,
  verb: ApiTarget['verb'],
): void {
  const verbs = kind.verbs ?? [];
  if (path.name !== '' && !verbs.includes('get')) throw noSuchPath();
  const wanted = method === 'DELETE' && path.name === '' ? 'deletecollection' : verb;
  if (wanted === undefined || !verbs.includes(wanted)) throw methodNotAllowed();
}

/**
 * Throws 405 for documents that support GET only. Other paths accept any method, or do not exist.
 */
export function checkDocumentMethod(route: Exclude<RequestPath, ResourcePath>, kinds: Kinds): void {
  const { type } = route;
  const isDocument =
    type === 'core-versions' ||
    type === 'version' ||
    (type === 'resources' && resourceList(kinds, route) !== undefined) ||
    // The aggregator serves all other groups, whatever the method.
    (type === 'group' && route.group === 'apiregistration.k8s.io');
  if (isDocument) throw methodNotAllowed();
}
