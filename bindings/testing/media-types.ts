/**
 * Media types: what a request sends and what it accepts. This server speaks JSON only. A type that the real server does
 * not take either is refused in its words; one that it takes and this server does not (YAML, protobuf, strategic merge
 * and apply patches) is refused with the list of what this server takes.
 */
import type { IncomingMessage } from 'node:http';
import type { Kind } from './registry/kinds.ts';
import { ApiError, unsupportedMediaType } from './status.ts';
import { metadataOnly, type View, wholeObjects } from './views.ts';

export const PATCH_TYPES: readonly string[] = ['application/json-patch+json', 'application/merge-patch+json'];

/** '' when the request does not say. */
export const mediaType = (request: IncomingMessage): string =>
  (request.headers['content-type'] ?? '').split(';')[0]?.trim() ?? '';

/**
 * How the client wants to see objects: the first range of its Accept header that this server can serve. undefined: none.
 * The metadata of objects alone is for reads and watches; a write always answers with the whole object. Tables are not
 * offered: kubectl names plain JSON after them.
 */
export function viewFor(accept: string | undefined): View | undefined {
  if (accept === undefined || accept.trim() === '') return wholeObjects;
  for (const range of accept.split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim());
    if (type !== '*/*' && type !== 'application/*' && type !== 'application/json') continue;
    const as = parameters.find((parameter) => parameter.startsWith('as='))?.slice('as='.length);
    if (as === undefined) return wholeObjects;
    if (as === 'PartialObjectMetadata' || as === 'PartialObjectMetadataList') return metadataOnly;
  }
  return undefined;
}

const REAL_BODIES = ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf'];

export function unsupportedBody(kind: Kind, type: string): ApiError {
  if (REAL_BODIES.includes(type)) return unsupportedMediaType(['application/json']);
  return unsupportedMediaType(kind.builtIn ? REAL_BODIES : REAL_BODIES.slice(0, 2));
}

const APPLY = 'application/apply-patch+yaml';

export function unsupportedPatch(kind: Kind, type: string): ApiError {
  if (type === APPLY || (kind.builtIn && type === 'application/strategic-merge-patch+json')) {
    return unsupportedMediaType(PATCH_TYPES);
  }
  if (!kind.builtIn) return unsupportedMediaType([...PATCH_TYPES, APPLY]);
  return new ApiError(415, '415: Unsupported Media Type', { reason: 'UnsupportedMediaType', details: {} });
}
