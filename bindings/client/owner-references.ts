/**
 * Owner references. The garbage collector deletes an object with its owners, and a controller
 * watches the objects whose one controller reference names its owner. Two references name the same
 * owner if group, kind and name are equal: version and uid may differ, for an owner that was
 * created again. controller-runtime: pkg/controller/controllerutil. The objects that are passed in
 * are never changed; see metadata.ts.
 */

import { CapstanError, invalid, requireBoolean, requireObject } from '../base/errors.ts';
import { namesOf, requireNames } from '../base/names.ts';
import { groupVersion } from '../base/resource.ts';
import {
  checkedMetadata,
  describeObject,
  listOf,
  type OwnerReference,
  withMetadata,
} from './metadata.ts';
import type { AnyResource } from './types.ts';

/** The object already has another controller, `owner`. Code `ALREADY_OWNED`. */
export class AlreadyOwnedError extends CapstanError {
  readonly owner: OwnerReference;

  constructor(object: object, owner: OwnerReference) {
    const what = describeObject(object);
    super(
      'ALREADY_OWNED',
      `${what} is already owned by another controller, ${owner.kind} ` +
        `${owner.name}: remove that reference first`,
    );
    this.owner = owner;
  }

  override get name(): string {
    return 'AlreadyOwnedError';
  }
}

/** Options of a reference. */
export interface OwnerReferenceOptions {
  /**
   * Whether a foreground deletion of the owner waits for this object. Default: true for a
   * controller; for another owner not set, which the server takes for false. Setting it may need
   * the permission to update the owner's finalizers.
   */
  readonly blockOwnerDeletion?: boolean | undefined;
}

const NAMES = namesOf<OwnerReferenceOptions>()({ blockOwnerDeletion: 1 });

/**
 * Sets `owner` as the controller. An older reference to that owner is replaced in its place.
 * controller-runtime: SetControllerReference.
 *
 * @param ownerResource what `owner` is: objects do not always say
 * @returns a new object; the same one if it has exactly this reference
 * @throws AlreadyOwnedError for an object with another controller
 * @throws CapstanError INVALID_OWNER where the owner is in another namespace, or in one while the
 *   object is in none
 * @throws CapstanError INVALID_ARGUMENT for an owner without name or uid: it has to exist first
 * @example
 * const owned = setControllerReference(pod, deploymentOf(pod), Pod);
 */
export function setControllerReference<T extends object>(
  owner: object,
  object: T,
  ownerResource: AnyResource,
  options: OwnerReferenceOptions = {},
): T {
  requireNames('options', options, 'option of setControllerReference()', NAMES);
  const { blockOwnerDeletion = true } = options;
  requireBoolean('blockOwnerDeletion', blockOwnerDeletion);
  const reference = {
    ...referenceTo(owner, object, ownerResource),
    blockOwnerDeletion,
    controller: true,
  };
  const existing = getControllerOf(object);
  if (existing !== undefined && !sameOwner(existing, reference))
    throw new AlreadyOwnedError(object, existing);
  return upsert(object, reference);
}

/**
 * Adds `owner` as an owner that is not the controller. An older reference to that owner is replaced
 * in its place, also if it was the controller. controller-runtime: SetOwnerReference.
 *
 * @returns a new object; the same one if it has exactly this reference
 * @throws CapstanError INVALID_OWNER, INVALID_ARGUMENT as {@link setControllerReference}
 * @example
 * const held = setOwnerReference(pod, deploymentOf(pod), Pod, { blockOwnerDeletion: true });
 */
export function setOwnerReference<T extends object>(
  owner: object,
  object: T,
  ownerResource: AnyResource,
  options: OwnerReferenceOptions = {},
): T {
  requireNames('options', options, 'option of setOwnerReference()', NAMES);
  const { blockOwnerDeletion } = options;
  requireBoolean('blockOwnerDeletion', blockOwnerDeletion);
  const reference = referenceTo(owner, object, ownerResource);
  return upsert(
    object,
    blockOwnerDeletion === undefined ? reference : { ...reference, blockOwnerDeletion },
  );
}

/**
 * Removes the reference to `owner`, controller or not. controller-runtime: RemoveOwnerReference.
 *
 * @throws CapstanError NOT_OWNED if there is none
 */
export function removeOwnerReference<T extends object>(
  owner: object,
  object: T,
  ownerResource: AnyResource,
): T {
  const owners = ownersOf(object);
  const at = indexOf(owners, owner, ownerResource);
  if (at < 0)
    throw notOwned(
      object,
      `has no owner reference to ${ownerResource.kind} ${checkedMetadata(owner).name}`,
    );
  return without(object, owners, at);
}

/**
 * Removes the reference to `owner`, which must be the controller. controller-runtime:
 * RemoveControllerReference.
 *
 * @throws CapstanError NOT_OWNED if it is not
 */
export function removeControllerReference<T extends object>(
  owner: object,
  object: T,
  ownerResource: AnyResource,
): T {
  const owners = ownersOf(object);
  if (!hasControllerReference(object)) throw notOwned(object, 'has no controller');
  const what = `${ownerResource.kind} ${checkedMetadata(owner, 'owner').name}`;
  const at = indexOf(owners, owner, ownerResource);
  if (at < 0) throw notOwned(object, `has no owner reference to ${what}`);
  if (owners[at]?.controller !== true)
    throw notOwned(object, `has ${what} as an owner, but not as its controller`);
  return without(object, owners, at);
}

/** Whether an object has a controller. */
export function hasControllerReference(object: object): boolean {
  return getControllerOf(object) !== undefined;
}

/** The reference to the object's controller. apimachinery: metav1.GetControllerOf. */
export function getControllerOf(object: object): Readonly<OwnerReference> | undefined {
  return ownersOf(object).find((each) => each?.controller === true) ?? undefined;
}

/** Whether `owner` is among the object's owners, as controller or not. */
export function hasOwnerReference(
  owner: object,
  object: object,
  ownerResource: AnyResource,
): boolean {
  return indexOf(ownersOf(object), owner, ownerResource) >= 0;
}

/** The references as they are on the object. A null refers to nothing, and stays. */
type Owners = readonly (OwnerReference | null | undefined)[];

function ownersOf(object: object): Owners {
  return listOf('object.metadata.ownerReferences', checkedMetadata(object).ownerReferences);
}

function referenceTo(owner: object, object: object, ownerResource: AnyResource): OwnerReference {
  requireObject('ownerResource', ownerResource);
  const { name, uid, namespace } = checkedMetadata(owner, 'owner');
  if (typeof name !== 'string' || name === '')
    throw invalid('owner.metadata.name', 'the name of the owner', name);
  if (typeof uid !== 'string' || uid === '')
    throw invalid(
      'owner.metadata.uid',
      'the uid that the server gave the owner when it was created',
      uid,
    );
  checkNamespaces(namespace ?? '', object, ownerResource);
  return { apiVersion: groupVersion(ownerResource), kind: ownerResource.kind, name, uid };
}

/**
 * The garbage collector looks for an owner in the object's namespace and among cluster-scoped
 * objects; an owner elsewhere counts as gone.
 */
function checkNamespaces(ownerNamespace: string, object: object, ownerResource: AnyResource): void {
  if (ownerNamespace === '') return;
  const { namespace } = checkedMetadata(object);
  if (namespace === ownerNamespace) return;
  const why = !namespace
    ? 'a cluster-scoped object cannot have an owner in a namespace'
    : 'an owner has to be in the namespace of what it owns, or cluster-scoped';
  throw new CapstanError(
    'INVALID_OWNER',
    `${describeObject(object)} cannot be owned by a ` +
      `${ownerResource.kind} in namespace ${ownerNamespace}: ${why}`,
  );
}

function groupOf(apiVersion: unknown): string {
  if (typeof apiVersion !== 'string') return '';
  const slash = apiVersion.indexOf('/');
  return slash < 0 ? '' : apiVersion.slice(0, slash);
}

function sameOwner(a: OwnerReference | null | undefined, b: Omit<OwnerReference, 'uid'>): boolean {
  if (a === undefined || a === null) return false;
  return groupOf(a.apiVersion) === groupOf(b.apiVersion) && a.kind === b.kind && a.name === b.name;
}

function indexOf(owners: Owners, owner: object, ownerResource: AnyResource): number {
  requireObject('ownerResource', ownerResource);
  const { name } = checkedMetadata(owner, 'owner');
  if (typeof name !== 'string') throw invalid('owner.metadata.name', 'the name of the owner', name);
  const wanted = { apiVersion: groupVersion(ownerResource), kind: ownerResource.kind, name };
  return owners.findIndex((each) => sameOwner(each, wanted));
}

const MEMBERS = ['apiVersion', 'kind', 'name', 'uid', 'controller', 'blockOwnerDeletion'] as const;

function upsert<T extends object>(object: T, reference: OwnerReference): T {
  const owners = ownersOf(object);
  const at = owners.findIndex((each) => sameOwner(each, reference));
  const existing = owners[at];
  if (existing === undefined || existing === null)
    return withOwners(object, [...owners, reference]);
  if (MEMBERS.every((member) => existing[member] === reference[member])) return object;
  return withOwners(object, owners.with(at, reference));
}

function without<T extends object>(object: T, owners: Owners, at: number): T {
  return withOwners(object, owners.toSpliced(at, 1));
}

function withOwners<T extends object>(object: T, owners: Owners): T {
  return withMetadata(object, { ownerReferences: owners as OwnerReference[] });
}

function notOwned(object: object, why: string): CapstanError {
  return new CapstanError('NOT_OWNED', `${describeObject(object)} ${why}`);
}
