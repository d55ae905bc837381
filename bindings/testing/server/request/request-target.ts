/** Parses the request line: verb, path and query. */
import type { FaultTarget } from '../faults.ts';
import { parseRequestPath, type RequestPath, type ResourcePath } from '../paths.ts';
import { queryBool } from './list-options.ts';

export interface ApiTarget extends FaultTarget {
  method: string;
  route: RequestPath;
  query: URLSearchParams;
}

/** @param url as in the request line */
export function parseTarget(method: string, url: string): ApiTarget {
  const mark = url.indexOf('?');
  const path = mark < 0 ? url : url.slice(0, mark);
  const query = new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1));
  const route = parseRequestPath(path);
  return {
    method,
    path,
    query,
    search: url.slice(path.length + 1),
    route,
    verb: verbOf(method, route, query),
  };
}

function verbOf(method: string, route: RequestPath, query: URLSearchParams): FaultTarget['verb'] {
  if (route.type !== 'resource') return undefined;
  switch (method) {
    case 'GET':
      if (route.name !== '') return route.watch ? 'watch' : 'get';
      return isWatch(route, query) ? 'watch' : 'list';
    case 'POST':
      return 'create';
    case 'PUT':
      return 'update';
    case 'PATCH':
      return 'patch';
    case 'DELETE':
      return 'delete';
    default:
      return undefined;
  }
}

const isWatch = (path: ResourcePath, query: URLSearchParams): boolean =>
  path.watch || queryBool(query.get('watch'));
