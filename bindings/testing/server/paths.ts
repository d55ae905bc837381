/**
 * Parses a URL path: a resource path with scope, name and subresource, a discovery document, or
 * neither. Nothing is looked up: any group, version and resource is a valid path.
 */
import type { ResourceName } from './registry/kinds.ts';

export interface ResourcePath {
  type: 'resource';
  resource: ResourceName;
  /** '' for a cluster-scoped resource and for all namespaces. */
  namespace: string;
  /** '' for the collection. */
  name: string;
  /** '' for the object itself. */
  subresource: string;
  /** The old form of a watch: `/api/v1/watch/pods`. */
  watch: boolean;
}

export type RequestPath =
  | ResourcePath
  | { type: 'core-versions' } // /api
  | { type: 'groups' } // /apis
  | { type: 'group'; group: string } // /apis/apps
  | { type: 'resources'; group: string; version: string } // /api/v1, /apis/apps/v1
  | { type: 'openapi'; path: string } // /openapi/v3/apis/apps/v1: what follows the first part
  | { type: 'health'; endpoint: string; check: string } // /readyz, /livez/ping
  | { type: 'version' | 'root' | 'unknown' };

/** @param pathname still escaped, without the query */
export function parseRequestPath(pathname: string): RequestPath {
  const parts = split(pathname);
  if (parts === undefined) return { type: 'unknown' };
  const [first, second, third] = parts;
  switch (first) {
    case undefined:
      return { type: 'root' };
    case 'version':
      return { type: parts.length === 1 ? 'version' : 'unknown' };
    case 'healthz':
    case 'livez':
    case 'readyz':
      if (pathname.endsWith('/')) return { type: 'unknown' };
      return { type: 'health', endpoint: first, check: parts.slice(1).join('/') };
    case 'api':
      if (second === undefined) return { type: 'core-versions' };
      return inGroup('', second, parts.slice(2));
    case 'apis':
      if (second === undefined) return { type: 'groups' };
      if (third === undefined) return { type: 'group', group: second };
      return inGroup(second, third, parts.slice(3));
    case 'openapi':
      return { type: 'openapi', path: pathname.slice('/openapi/'.length) };
    default:
      return { type: 'unknown' };
  }
}

/** The unescaped segments; a trailing slash is ignored. undefined: an invalid escape. */
function split(pathname: string): string[] | undefined {
  const parts = pathname.split('/').slice(1);
  if (parts.at(-1) === '') parts.pop();
  try {
    return parts.map((part) => decodeURIComponent(part));
  } catch {
    return undefined;
  }
}

function inGroup(group: string, version: string, parts: string[]): RequestPath {
  if (parts.includes('')) return { type: 'unknown' };
  if (parts.length === 0) return { type: 'resources', group, version };
  const watch = parts[0] === 'watch' && parts.length > 1;
  const rest = watch ? parts.slice(1) : parts;
  const make = (namespace: string, plural: string, name = '', sub: string[] = []): RequestPath => ({
    type: 'resource',
    resource: { group, version, plural },
    namespace,
    name,
    subresource: sub.join('/'),
    watch,
  });
  const [first = '', second, third, ...more] = rest;
  if (first !== 'namespaces') return make('', first, second, rest.slice(2));
  // /namespaces/x/status is a subresource of the Namespace, /namespaces/x/pods a resource in it.
  if (
    third === undefined ||
    (group === '' && (third === 'status' || third === 'finalize') && more.length === 0)
  ) {
    return make('', first, second, rest.slice(2));
  }
  return make(second ?? '', third, more[0], more.slice(1));
}
