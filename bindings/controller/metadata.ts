/**
 * What sources, handlers and predicates ask of objects' metadata without decoding more of an object
 * than they must.
 */

import type { Request } from '../base/request.ts';
import { type Change, LazyChange, sameResourceVersion } from '../cache/bytes/change.ts';
import { nameOfVersion, versionOf } from '../cache/bytes/lazy.ts';
import type { Version } from '../cache/bytes/version.ts';
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

/** `undefined` for what is no object with metadata. */
export function objectMetadata(object: unknown): Metadata | undefined {
  if (!isObject(object)) return undefined;
  const { metadata } = object as { metadata?: unknown };
  return isObject(metadata) ? metadata : undefined;
}

/**
 * Whether {@link objectMetadata} has an answer. An object that a cache keeps as bytes has a key, and so
 * a name: nothing is decoded to see that.
 */
export function hasMetadata(object: unknown): object is object {
  if (!isObject(object)) return false;
  return versionOf(object) !== undefined || objectMetadata(object) !== undefined;
}

/**
 * Namespace and name of an object that a cache keeps as bytes: the same request each time.
 * `undefined`: of any other.
 */
export function storedRequest(object: unknown): Request | undefined {
  const version = isObject(object) ? versionOf(object) : undefined;
  return version && nameOfVersion(version);
}

/**
 * An object as causes name it; `undefined`: it has no name. Of one that a cache keeps as bytes the
 * metadata are not made for that.
 */
export function causeObject(ofKind: string | undefined, object: unknown): CauseObject | undefined {
  const version = isObject(object) ? versionOf(object) : undefined;
  const known = version && nameOfVersion(version);
  const metadata = known === undefined ? objectMetadata(object) : undefined;
  const { namespace = '', name } = known ?? metadata ?? {};
  if (name === undefined) return undefined;
  const resourceVersion =
    metadata === undefined
      ? (version as Version).metadataMember('resourceVersion')
      : metadata.resourceVersion;
  const kind = ofKind ?? (object as { kind?: string }).kind ?? '';
  return { kind, namespace, name, resourceVersion: resourceVersion as string | undefined };
}

/** Two states of an object, as an UpdateEvent has them. */
interface States {
  readonly objectOld: object | null | undefined;
  readonly objectNew: object | null | undefined;
  readonly change?: Change;
}

/**
 * Whether bytes were compared when the one state replaced the other in a store: both are there
 * then, and what the change says of them is exact.
 */
export function comparedAsBytes({ change }: States): boolean {
  return change instanceof LazyChange && change.compared;
}

/** Whether there are two states with one resource version; none and "" are the same, as in Go. */
export function sameVersion(states: States): boolean {
  if (comparedAsBytes(states)) return (states.change as LazyChange).sameResourceVersion;
  const { objectOld: old, objectNew: now } = states;
  if (!isObject(old) || !isObject(now)) return false;
  if (sameResourceVersion(old, now)) return true;
  return (
    (objectMetadata(old)?.resourceVersion ?? '') === (objectMetadata(now)?.resourceVersion ?? '')
  );
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
