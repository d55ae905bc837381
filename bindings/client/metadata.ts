/**
 * The metadata that helpers read and change. One rule for all of them: objects of a cache are
 * read-only and shared, so a helper takes an object and returns one. What comes back is the very
 * same object where nothing had to change, and otherwise a new one that shares every part that did
 * not change with the old; `next !== object` therefore says whether there is anything to write.
 */
import { invalid, requireObject } from '../base/errors.ts';

/** A reference to what an object belongs to, in its own namespace or cluster-scoped. */
export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  /** At most one owner is the controller. */
  controller?: boolean | undefined;
  /** The owner, deleted in the foreground, waits until this object is gone. */
  blockOwnerDeletion?: boolean | undefined;
}

/**
 * What the API server keeps about every object. Times are RFC 3339 strings, as they are on the
 * wire.
 */
export interface ObjectMeta {
  name?: string | undefined;
  generateName?: string | undefined;
  namespace?: string | undefined;
  uid?: string | undefined;
  resourceVersion?: string | undefined;
  generation?: number | undefined;
  creationTimestamp?: string | undefined;
  deletionTimestamp?: string | undefined;
  deletionGracePeriodSeconds?: number | undefined;
  labels?: Record<string, string> | undefined;
  annotations?: Record<string, string> | undefined;
  finalizers?: string[] | undefined;
  ownerReferences?: OwnerReference[] | undefined;
  managedFields?: object[] | undefined;
}

/**
 * The metadata of an object, of whatever type its user gave it. Throws CapstanError
 * INVALID_ARGUMENT for what is no object.
 */
export function checkedMetadata(object: object, name = 'object'): Readonly<ObjectMeta> {
  requireObject(name, object);
  const { metadata } = object as { metadata?: unknown };
  if (metadata === undefined || metadata === null) return {};
  if (typeof metadata !== 'object' || Array.isArray(metadata))
    throw invalid(`${name}.metadata`, 'an object', metadata);
  return metadata as ObjectMeta;
}

/** A new object with these members of its metadata; one that is undefined is left out. */
export function withMetadata<T extends object>(object: T, changed: Partial<ObjectMeta>): T {
  const metadata: Record<string, unknown> = { ...checkedMetadata(object), ...changed };
  for (const [member, value] of Object.entries(changed))
    if (value === undefined) delete metadata[member];
  return { ...object, metadata };
}

/**
 * A list of an object, which has what its kind allows: a list that is not there is empty, and its
 * elements may be null. Throws CapstanError INVALID_ARGUMENT for what is no list.
 */
export function listOf<E>(
  path: string,
  list: readonly E[] | null | undefined,
): readonly (E | null | undefined)[] {
  if (list === undefined || list === null) return [];
  if (!Array.isArray(list)) throw invalid(path, 'a list', list);
  return list;
}

/** `kind namespace/name` for messages. */
export function describeObject(object: object): string {
  const { kind } = object as { kind?: unknown };
  const { namespace, name } = checkedMetadata(object);
  const key = namespace ? `${namespace}/${name}` : `${name}`;
  return typeof kind === 'string' && kind !== '' ? `${kind} ${key}` : key;
}
