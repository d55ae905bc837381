/** Which paths and methods a resource has. Others are refused before the body is read. */

import { resourceList } from '../discovery.ts';
import type { RequestPath, ResourcePath } from '../paths.ts';
import type { Kind, Kinds } from '../registry/kinds.ts';
import { ofResource } from '../registry/strategy.ts';
import { methodsOf } from '../registry/subresources.ts';
import { methodNotAllowed, noSuchPath, notFound, notSupported } from '../status.ts';
import type { ApiTarget } from './request-target.ts';

/**
 * Whether a path is in the scope of its kind. Only lists and watches of a namespaced kind are in
 * all namespaces; that is decided later for built-in kinds, whose answer is 405.
 */
export function isInScope(kind: Kind, path: ResourcePath, verb: ApiTarget['verb']): boolean {
  if (kind.namespaced === undefined) return true;
  if (!kind.namespaced) return path.namespace === '';
  if (path.namespace !== '') return true;
  return path.name === '' && (kind.builtIn || verb === 'list' || verb === 'watch');
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
