/**
 * Reads the metadata of objects for sources, handlers and predicates, and decodes as little as
 * possible.
 */

import { isObjectLike } from '../base/json-value.ts';
import type { Request } from '../base/request.ts';
import { type Change, LazyChange, sameResourceVersion } from '../cache/bytes/change.ts';
import { nameOfStored, storedObjectOf } from '../cache/bytes/lazy.ts';
import type { StoredObject } from '../cache/bytes/stored-object.ts';
import type { CauseObject } from './source.ts';

export interface Metadata {
  readonly namespace?: string;
  readonly name?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly labels?: Readonly<Record<string, string>> | null;
  readonly annotations?: Readonly<Record<string, string>> | null;
}

/** `undefined` if the value is not an object with metadata. */
export function objectMetadata(object: unknown): Metadata | undefined {
  if (!isObjectLike(object)) return undefined;
  const { metadata } = object as { metadata?: unknown };
  return isObjectLike(metadata) ? metadata : undefined;
}

/**
 * Whether {@link objectMetadata} returns something. An object that a cache keeps as bytes has
 * metadata, and is not decoded for this.
 */
export function hasMetadata(object: unknown): object is object {
  if (!isObjectLike(object)) return false;
  return storedObjectOf(object) !== undefined || objectMetadata(object) !== undefined;
}

/**
 * The request of an object that a cache keeps as bytes; the same request on each call. `undefined`
 * for any other object.
 */
export function storedRequest(object: unknown): Request | undefined {
  const version = isObjectLike(object) ? storedObjectOf(object) : undefined;
  return version && nameOfStored(version);
}

/**
 * The object of a cause; `undefined` if it has no name. The metadata of an object that a cache
 * keeps as bytes is not decoded.
 */
export function causeObject(ofKind: string | undefined, object: unknown): CauseObject | undefined {
  const version = isObjectLike(object) ? storedObjectOf(object) : undefined;
  const known = version && nameOfStored(version);
  const metadata = known === undefined ? objectMetadata(object) : undefined;
  const { namespace = '', name } = known ?? metadata ?? {};
  if (name === undefined) return undefined;
  const resourceVersion =
    metadata === undefined
      ? (version as StoredObject).metadataMember('resourceVersion')
      : metadata.resourceVersion;
  const kind = ofKind ?? (object as { kind?: string }).kind ?? '';
  return { kind, namespace, name, resourceVersion: resourceVersion as string | undefined };
}

/** The two states of an UpdateEvent. */
interface States {
  readonly objectOld: object | null | undefined;
  readonly objectNew: object | null | undefined;
  readonly change?: Change;
}

/**
 * Whether the store compared the bytes of the two states. Both exist then, and the change is exact.
 */
export function comparedAsBytes({ change }: States): boolean {
  return change instanceof LazyChange && change.compared;
}

/** Whether both states have the same resourceVersion. A missing one equals "", as in Go. */
export function sameVersion(states: States): boolean {
  if (comparedAsBytes(states)) return (states.change as LazyChange).sameResourceVersion;
  const { objectOld: old, objectNew: now } = states;
  if (!isObjectLike(old) || !isObjectLike(now)) return false;
  if (sameResourceVersion(old, now)) return true;
  return (
    (objectMetadata(old)?.resourceVersion ?? '') === (objectMetadata(now)?.resourceVersion ?? '')
  );
}
