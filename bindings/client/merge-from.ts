/**
 * Merge patches from two states of an object. Applied to the first state the patch gives the second
 * (RFC 7386); it has no member that is the same in both. controller-runtime: pkg/client/patch.go
 * MergeFrom, RawPatch.
 */

import { CapstanError, invalid, requireObject } from '../base/errors.ts';
import { copyOf, noteText, sameExactJson, sameText, textOfNumber } from '../base/exact-json.ts';
import { isJsonObject } from '../base/json-value.ts';
import { namesOf, requireNames } from '../base/names.ts';
import type { FromServer, KubeObject } from '../base/object.ts';
import { requireJsonText } from './paths.ts';
import type { Patch } from './types.ts';

/** Options of {@link mergeFrom}. */
export interface MergeFromOptions {
  /**
   * The patch has the resourceVersion of the first state, and is a conflict if the object has
   * changed since. Default false.
   */
  readonly optimisticLock?: boolean | undefined;
}

const NAMES = namesOf<MergeFromOptions>()({ optimisticLock: 1 });

/** The first state. */
export interface PatchBase<T extends object> {
  /**
   * The patch to the second state.
   *
   * @throws CapstanError INVALID_ARGUMENT for a null in it that the first state does not have, and
   *   for one in an object of a list that changes: in a merge patch null removes
   */
  to(modified: T): Patch & { readonly type: 'merge' };
}

/**
 * Copies the first state of a JSON merge patch; the object itself may then be changed. Lists are
 * replaced as a whole. controller-runtime: client.MergeFrom.
 *
 * @throws CapstanError INVALID_ARGUMENT, also with `optimisticLock` for an object without a version
 * @example
 * const website = structuredClone(await client.get(Website, key));
 * const base = mergeFrom(website, { optimisticLock: true });
 * website.spec.replicas = 3;
 * await client.patch(Website, key, base.to(website));
 */
export function mergeFrom<T extends object>(
  original: T | FromServer<T>,
  options: MergeFromOptions = {},
): PatchBase<T> {
  requireNames('options', options, 'option of mergeFrom()', NAMES);
  const before = plainState('original', original) as JsonObject;
  const version = lockedVersion(original, options);
  return {
    to(modified) {
      const after = plainState('modified', modified) as JsonObject;
      const body = difference(before, after, '') as { metadata?: object };
      if (version === undefined) return { type: 'merge', body };
      return {
        type: 'merge',
        body: { ...body, metadata: { ...body.metadata, resourceVersion: version } },
      };
    },
  };
}

/**
 * A patch as text that is sent unchanged: for numbers beyond 2^53, or a patch from elsewhere.
 * controller-runtime: client.RawPatch.
 *
 * @param type `'json'`, `'merge'`, `'strategic'`, or a media type
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * await client.patch(Pod, key, rawPatch('merge', '{"metadata":{"labels":{"seen":"true"}}}'));
 */
export function rawPatch(
  type: 'json' | 'merge' | 'strategic' | `application/${string}`,
  data: string,
): Patch {
  if (typeof data !== 'string') throw invalid('data', 'the text of a patch', data);
  const short = {
    json: 'json-patch+json',
    merge: 'merge-patch+json',
    strategic: 'strategic-merge-patch+json',
  } as const;
  const contentType = Object.hasOwn(short, type)
    ? `application/${short[type as keyof typeof short]}`
    : type;
  if (typeof contentType !== 'string' || !contentType.startsWith('application/'))
    throw invalid('type', "'json', 'merge', 'strategic' or a media type", type);
  return { type: 'raw', contentType, data };
}

type Json = null | boolean | number | string | Json[] | { [member: string]: Json };
type JsonObject = { [member: string]: Json };

/**
 * @internal The object as JSON, without members that are undefined, and without kind and
 *   apiVersion: a state may lack them, and a server refuses to remove them.
 */
export function plainState(what: string, object: object): object {
  requireObject(what, object);
  const copy = copyOf(object, requireJsonText(what, object)) as JsonObject;
  delete copy.kind;
  delete copy.apiVersion;
  return copy;
}

/** @internal The version that the patch must have; undefined without `optimisticLock`. */
export function lockedVersion(original: object, options: MergeFromOptions): string | undefined {
  if (!options.optimisticLock) return undefined;
  const version = (original as KubeObject).metadata?.resourceVersion;
  if (version) return version;
  throw invalid('original.metadata.resourceVersion', 'a version, for optimisticLock', version);
}

function difference(before: JsonObject, after: JsonObject, path: string): JsonObject {
  const changes = new Map<string, Json>();
  for (const name of Object.keys(before)) {
    // the server keeps it, and caches leave it out
    if (path === '.metadata' && name === 'managedFields') continue;
    if (!Object.hasOwn(after, name)) changes.set(name, null);
  }
  for (const [name, value] of Object.entries(after)) {
    const old = Object.hasOwn(before, name) ? (before[name] as Json) : undefined;
    if (old !== undefined && sameExactJson(old, value) && sameText(before, after, name)) continue;
    if (isJsonObject(old) && isJsonObject(value)) {
      const inner = difference(old, value, `${path}.${name}`);
      if (Object.keys(inner).length > 0) changes.set(name, inner);
    } else changes.set(name, refuseNulls(value, `${path}.${name}`));
  }
  const patch = Object.fromEntries(changes);
  for (const name of changes.keys()) {
    const text = textOfNumber(after, name);
    if (text !== undefined) noteText(patch, name, text);
  }
  return patch;
}

/**
 * @internal Throws for a null member, which would remove something or be dropped, also in an object
 *   of a list. A null item of a list stays.
 */
export function refuseNulls<V>(value: V, path: string): V {
  if (Array.isArray(value)) {
    for (const [i, item] of value.entries()) if (item !== null) refuseNulls(item, `${path}[${i}]`);
  } else if (value === null) {
    const why =
      `"modified${path}" expected no null, which a merge patch ` +
      'cannot set: leave the member out to remove it';
    throw new CapstanError('INVALID_ARGUMENT', why);
  } else if (isJsonObject(value))
    for (const [name, member] of Object.entries(value)) refuseNulls(member, `${path}.${name}`);
  return value;
}
