/** Preconditions of writes: uid and resourceVersion. apiserver: pkg/storage Preconditions. */
import { type JsonObject, stringAt } from '../json.ts';
import type { ResourcePath } from '../paths.ts';
import { ApiError, conflict, fieldInvalid, invalidObject, staleVersion } from '../status.ts';
import type { DeletionOptions } from './deletion.ts';
import { isNamespace, type Kind } from './kinds.ts';
import { metadataOf, type Stored } from './store.ts';
import { ofOwnKind, ofResource } from './strategy.ts';

/** Throws 409 if the update names the uid of another object, as after a delete and create. */
export function requireUid(
  kind: Kind,
  path: ResourcePath,
  wanted: JsonObject,
  existing: { key: string; uid: string },
): void {
  const asked = stringAt(metadataOf(wanted), 'uid');
  if (asked === '' || asked === existing.uid) return;
  const key = `/registry/${kind.builtIn ? '' : `${kind.group}/`}${kind.plural}/${existing.key}`;
  const why =
    `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: ` +
    `Precondition failed: UID in precondition: ${asked}, UID in object meta: ${existing.uid}`;
  throw conflict(ofResource(kind, path.name), why);
}

export function requirePreconditions(kind: Kind, existing: Stored, options: DeletionOptions): void {
  const metadata = metadataOf(existing.object);
  const uid = stringAt(metadata, 'uid');
  const name = stringAt(metadata, 'name');
  const subject = isNamespace(kind) ? ofResource(kind, name) : ofOwnKind(kind, name);
  if (options.uid !== undefined && options.uid !== uid) {
    const why =
      `the UID in the precondition (${options.uid}) does not match the UID in record ` +
      `(${uid}). The object might have been deleted and then recreated`;
    throw conflict(subject, why);
  }
  if (
    options.resourceVersion !== undefined &&
    options.resourceVersion !== String(existing.version)
  ) {
    const why =
      `the ResourceVersion in the precondition (${options.resourceVersion}) does not ` +
      `match the ResourceVersion in record (${existing.version}). The object might have ` +
      'been modified';
    throw conflict(subject, why);
  }
}

/** Throws 409 if the update names an old resourceVersion. Most kinds accept updates without one. */
export function requireVersion(
  kind: Kind,
  path: ResourcePath,
  wanted: JsonObject,
  existing: Stored,
): void {
  const version = stringAt(metadataOf(wanted), 'resourceVersion');
  if (version === '' || version === '0') {
    if (kind.unconditional) return;
    const wrong = fieldInvalid('metadata.resourceVersion', 0, 'must be specified for an update');
    throw invalidObject(ofResource(kind, path.name), [wrong]);
  }
  if (!/^\d+$/.test(version))
    throw new ApiError(
      500,
      `strconv.ParseUint: parsing ${JSON.stringify(version)}: invalid syntax`,
    );
  if (Number(version) !== existing.version) throw staleVersion(ofResource(kind, path.name));
}
