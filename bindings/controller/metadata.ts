/** What sources, handlers and predicates ask of objects' metadata without decoding more of an object than they must. */
import { changesBetween, metadataMember, nameOfVersion, versionOf } from '../cache/bytes/lazy.ts';
import type { Version } from '../cache/bytes/version.ts';
import { sameResourceVersion } from '../cache/change.ts';
import type { Request } from '../request.ts';
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
export function metadataOf(object: unknown): Metadata | undefined {
  if (!isObject(object)) return undefined;
  const { metadata } = object as { metadata?: unknown };
  return isObject(metadata) ? metadata : undefined;
}

/** Whether {@link metadataOf} has an answer. An object that a cache keeps as bytes has a key, and so a name: nothing is decoded to see that. */
export function hasMetadata(object: unknown): object is object {
  if (!isObject(object)) return false;
  return versionOf(object) !== undefined || metadataOf(object) !== undefined;
}

/** Namespace and name of an object that a cache keeps as bytes: the same request each time. `undefined`: of any other. */
export function nameOf(object: unknown): Request | undefined {
  const version = isObject(object) ? versionOf(object) : undefined;
  return version && nameOfVersion(version);
}

/** An object as causes name it; `undefined`: it has no name. Of one that a cache keeps as bytes the metadata are not made for that. */
export function causeObject(ofKind: string | undefined, object: unknown): CauseObject | undefined {
  const version = isObject(object) ? versionOf(object) : undefined;
  const known = version && nameOfVersion(version);
  const metadata = known === undefined ? metadataOf(object) : undefined;
  const { namespace = '', name } = known ?? metadata ?? {};
  if (name === undefined) return undefined;
  const resourceVersion =
    metadata === undefined ? metadataMember(version as Version, 'resourceVersion') : metadata.resourceVersion;
  const kind = ofKind ?? (object as { kind?: string }).kind ?? '';
  return { kind, namespace, name, resourceVersion: resourceVersion as string | undefined };
}

/** Whether bytes were compared when `now` replaced `old` in a store, so that what the change says of them is exact. */
export function comparedAsBytes(old: object | undefined, now: object | undefined): boolean {
  return isObject(old) && isObject(now) && changesBetween(old, now) !== undefined;
}

/** Whether two states have one resource version; none and "" are the same, as in Go. */
export function sameVersion(old: object, now: object): boolean {
  if (sameResourceVersion(old, now)) return true;
  if (comparedAsBytes(old, now)) return false;
  return (metadataOf(old)?.resourceVersion ?? '') === (metadataOf(now)?.resourceVersion ?? '');
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
