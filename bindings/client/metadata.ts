/**
 * Reads and changes metadata for the helpers of this folder. Objects of a cache are read-only and
 * shared, so a helper takes an object and returns one: the same object if nothing had to change,
 * else a new one that shares all unchanged parts. `next !== object` says whether there is something
 * to write.
 */
import { invalid, requireObject } from '../base/errors.ts';

/** A reference to an owner in the object's namespace, or cluster-scoped. metav1.OwnerReference. */
export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  /** At most one owner is the controller. */
  controller?: boolean | undefined;
  /** An owner that is deleted in the foreground waits until this object is gone. */
  blockOwnerDeletion?: boolean | undefined;
}

/** The metadata of an object. Times are RFC 3339 strings, as on the wire. metav1.ObjectMeta. */
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
 * The metadata of an object of any type. Throws CapstanError INVALID_ARGUMENT if it is not an
 * object.
 */
export function checkedMetadata(object: object, name = 'object'): Readonly<ObjectMeta> {
  requireObject(name, object);
  const { metadata } = object as { metadata?: unknown };
  if (metadata === undefined || metadata === null) return {};
  if (typeof metadata !== 'object' || Array.isArray(metadata))
    throw invalid(`${name}.metadata`, 'an object', metadata);
  return metadata as ObjectMeta;
}

/** A new object with these members of its metadata. A member that is undefined is removed. */
export function withMetadata<T extends object>(object: T, changed: Partial<ObjectMeta>): T {
  const metadata: Record<string, unknown> = { ...checkedMetadata(object), ...changed };
  for (const [member, value] of Object.entries(changed))
    if (value === undefined) delete metadata[member];
  return { ...object, metadata };
}

/**
 * A list of an object. A missing list is empty, and elements may be null. Throws CapstanError
 * INVALID_ARGUMENT if it is not a list.
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
