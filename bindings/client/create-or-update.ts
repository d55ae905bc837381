/**
 * createOrUpdate and createOrPatch: bring an object to a state, whether it exists or not.
 * controller-runtime: pkg/controller/controllerutil.
 *
 * Invariants: the object that was read is never changed (it may be the cache's), an unchanged
 * object is not written, and `mutate` cannot make it another object.
 */

import { CapstanError, requireFunction, requireObject } from '../base/errors.ts';
import { copyOf, sameExactJson } from '../base/exact-json.ts';
import { isObjectLike } from '../base/json-value.ts';
import { namesOf, requireNames } from '../base/names.ts';
import type { FromServer } from '../base/object.ts';
import { groupVersion, type Resource, resourceId } from '../base/resource.ts';
import { explaining } from '../base/shared-object.ts';
import { answeredWritesOf, isServerSet } from './answered-writes.ts';
import { isDoubtful } from './exact-body.ts';
import { mergeFrom } from './merge-from.ts';
import { WRITE_NAMES } from './option-names.ts';
import { objectKeyOf, requireJsonText, requireNamespace } from './paths.ts';
import { isNotFound } from './status-errors.ts';
import type { AnyResource, Client, ObjectKey, ReadOptions, WriteOptions } from './types.ts';
import { markWhole } from './whole.ts';

/**
 * What was done. `updatedStatus`: object and status were written; `updatedStatusOnly`: only the
 * status. controller-runtime: OperationResult.
 */
export type OperationResult =
  | 'unchanged'
  | 'created'
  | 'updated'
  | 'updatedStatus'
  | 'updatedStatusOnly';

/** The result, and the object after it. */
export interface Operation<T> {
  readonly result: OperationResult;
  /** The server's answer. If nothing was written, the object that was read, which is read-only. */
  readonly object: FromServer<T>;
}

/**
 * Changes the draft in place, or returns another object. For a new object the draft has apiVersion,
 * kind, namespace and name. A returned object gets the status, the resourceVersion and the metadata
 * that only the server sets from the draft, unless it has these members itself.
 */
export type Mutate<T> = (draft: T) => Promise<T> | Promise<void> | T | void;

/** Options of the read and of the write. */
export interface CreateOrUpdateOptions
  extends WriteOptions,
    Pick<ReadOptions, 'live' | 'readYourWrites'> {}

const NAMES = namesOf<CreateOrUpdateOptions>()({
  ...WRITE_NAMES,
  live: 1,
  readYourWrites: 1,
});

/**
 * Reads an object, calls `mutate` with a copy, and creates or updates the object if the copy
 * differs. The update has the resourceVersion that was read: it is a conflict if someone else was
 * faster (see `retryOnConflict`). Changes to the status are not written if the kind has a status
 * subresource. controller-runtime: controllerutil.CreateOrUpdate.
 *
 * **What counts as different.** `mutate` may set a state without the server's defaults, with empty
 * lists that the server removes, or with `1000m` for `1`. Such a state is sent once, and the client
 * remembers the answer. The same state is not sent again as long as the server has the same object
 * (its uid) and the member around it (`spec`, `data`, `metadata.labels`, …) is what was answered
 * then. A new value, a change by others and a new object are always sent. Empty labels,
 * annotations, finalizers and owner references count as absent. A draft may leave out the members
 * that only the server sets (`uid`, `resourceVersion`, `creationTimestamp`, `generation`,
 * `managedFields`).
 *
 * The client and all of its wrappers share this memory: make one client, not one per reconcile. It
 * takes at most 32 MiB (about 40 000 objects without their defaults), keeps the most recently used
 * objects, and forgets a state after an hour, because a webhook or a schema may have changed. Then,
 * and after a restart, the object is sent once more. That is an update and not a dry run, which
 * would cost a request also if there is something to change; the server stores nothing if there is
 * not, and the result is `unchanged`.
 *
 * @throws CapstanError INVALID_ARGUMENT, also where `mutate` changed the name; StatusError;
 *   TransportError; ABORTED
 * @example
 * const key = { namespace: 'default', name: 'site' };
 * const { result } = await createOrUpdate(client, ConfigMap, key, (map) => {
 *   map.data = { ...map.data, page: 'hello' };
 * });
 */
export async function createOrUpdate<T extends object>(
  client: Client,
  resource: Resource<T, string>,
  key: ObjectKey,
  mutate: Mutate<NoInfer<T>>,
  options: CreateOrUpdateOptions = {},
): Promise<Operation<T>> {
  const { existing, draft } = await readAndMutate(client, resource, key, mutate, options);
  const write = writeOptions(options);
  const answered = answeredWritesOf(client);
  const id = idOf(resource, draft);
  const sent = plain(draft);
  if (existing !== undefined && answered.changesNothing(id, plain(existing), sent))
    return { result: 'unchanged', object: existing };
  const object =
    existing === undefined
      ? await client.create(resource, draft, write)
      : await client.update(resource, draft, write);
  if (!options.dryRun && isObjectLike(object)) answered.note(id, sent, plain(object));
  if (existing === undefined) return { result: 'created', object };
  return { result: isChanged(existing, object) ? 'updated' : 'unchanged', object };
}

/**
 * As {@link createOrUpdate}, with merge patches of the changes: one of the object, and one of its
 * status, which must be a subresource. The patches have no resourceVersion. A status of a new
 * object is not written, because it is created without one. A member that `mutate` sets to null is
 * removed. controller-runtime: controllerutil.CreateOrPatch.
 *
 * @throws CapstanError INVALID_ARGUMENT, also where `mutate` changed the name; StatusError;
 *   TransportError; ABORTED
 * @example
 * const key = { namespace: 'default', name: 'web' };
 * const { result } = await createOrPatch(client, Website, key, (website) => {
 *   website.status = { ready: true };
 * });
 */
export async function createOrPatch<T extends object>(
  client: Client,
  resource: Resource<T, string>,
  key: ObjectKey,
  mutate: Mutate<NoInfer<T>>,
  options: CreateOrUpdateOptions = {},
): Promise<Operation<T>> {
  const { existing, draft } = await readAndMutate(client, resource, key, mutate, options);
  const write = writeOptions(options);
  const answered = answeredWritesOf(client);
  const id = idOf(resource, draft);
  const note = (which: string, sent: object, answer: object): void => {
    if (!options.dryRun) answered.note(which, sent, answer);
  };
  if (existing === undefined) {
    const object = await client.create(resource, draft, write);
    if (isObjectLike(object))
      note(id, split(withoutNulls(plain(draft), undefined)).rest, split(object).rest);
    return { result: 'created', object };
  }
  const [before, after] = [split(existing), split(withoutNulls(plain(draft), plain(existing)))];
  let object = existing;
  let result: OperationResult = 'unchanged';
  if (!answered.changesNothing(id, before.rest, after.rest)) {
    object = await client.patch(resource, key, mergeFrom(before.rest).to(after.rest), write);
    if (isObjectLike(object)) note(id, after.rest, split(object).rest);
    if (isChanged(existing, object)) result = 'updated';
  }
  const ofStatus = `${id} status`;
  const { metadata } = before.rest;
  if (
    !answered.changesNothing(
      ofStatus,
      { metadata, ...before.status },
      { metadata, ...after.status },
    )
  ) {
    const patched = await client
      .status()
      .patch(resource, key, mergeFrom(before.status).to(after.status), write);
    if (isObjectLike(patched)) {
      const answer = { metadata, ...split(patched).status };
      note(ofStatus, { metadata, ...after.status }, answer);
    }
    if (isChanged(object, patched))
      result = result === 'updated' ? 'updatedStatus' : 'updatedStatusOnly';
    object = patched;
  }
  return { result, object };
}

async function readAndMutate<T extends object>(
  client: Client,
  resource: Resource<T, string>,
  key: ObjectKey,
  mutate: Mutate<T>,
  options: CreateOrUpdateOptions,
): Promise<{ existing: FromServer<T> | undefined; draft: T }> {
  requireNames('options', options, 'option of createOrUpdate()', NAMES);
  const { live, readYourWrites, signal } = options;
  requireFunction('mutate', mutate);
  requireObject('key', key);
  const { name } = key;
  const namespace = requireNamespace(resource, key.namespace);
  const read = (options: ReadOptions): Promise<FromServer<T> | undefined> =>
    client.get(resource, key, options).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
  let existing = await read({ live, readYourWrites, signal, forUpdate: true });
  // A cache rounds integers beyond 2^53.
  if (existing !== undefined && !live && isDoubtful(existing))
    existing = await read({ live: true, signal });
  const start = existing ?? {
    ...{ apiVersion: groupVersion(resource), kind: resource.kind },
    metadata: namespace === '' ? { name } : { namespace, name },
  };
  const copy = plain(start) as T;
  const draft = withOwnParts((await explaining(() => mutate(copy))) ?? copy, copy, existing);
  const now = objectKeyOf(resource, draft);
  if (now.name !== name || now.namespace !== namespace) {
    const why =
      `mutate expected to keep the name ${namespace}/${name}, ` +
      `and made it ${now.namespace}/${now.name}`;
    throw new CapstanError('INVALID_ARGUMENT', `${why}: name another object in the call`);
  }
  markWhole(draft);
  return { existing, draft };
}

/**
 * The draft, with the status and the server's metadata of the object that was read. Without the
 * resourceVersion an update would overwrite changes by others, or be refused.
 */
function withOwnParts<T extends object>(draft: T, copy: T, existing: T | undefined): T {
  if (draft === copy || existing === undefined || !isObjectLike((draft as Plain).metadata))
    return draft;
  const { status, metadata } = plain(existing);
  const own = Object.entries(metadata ?? {}).filter(([name]) => isServerSet(`metadata.${name}`));
  return {
    ...(status !== undefined && { status }),
    ...draft,
    metadata: { ...Object.fromEntries(own), ...(draft as Plain).metadata },
  };
}

function writeOptions({
  dryRun,
  fieldOwner,
  fieldValidation,
  signal,
}: CreateOrUpdateOptions): WriteOptions {
  return { dryRun, fieldOwner, fieldValidation, signal };
}

/**
 * Whether a write changed the object. Compares everything, because a dry run answers with the old
 * resourceVersion, except for what caches leave out: managers, and kind and apiVersion of list
 * items.
 */
function isChanged(before: object, after: object): boolean {
  if (!isObjectLike(after)) return true;
  const shown = (object: object): object => {
    const { apiVersion: _, kind: __, ...rest } = plain(object);
    delete rest.metadata?.managedFields;
    return rest;
  };
  return !sameExactJson(shown(before), shown(after));
}

/** The key of the object in the client's memory. */
function idOf(resource: AnyResource, object: object): string {
  const { namespace, name } = objectKeyOf(resource, object);
  return `${resourceId(resource)} ${namespace}/${name}`;
}

/** Removes nulls that the object did not have before: in a merge patch null removes a member. */
function withoutNulls<T>(value: T, before: unknown): T {
  if (typeof value !== 'object' || value === null) return value;
  for (const [name, member] of Object.entries(value)) {
    const old = (before as Record<string, unknown> | null | undefined)?.[name];
    if (member === null && old !== null && !Array.isArray(value))
      delete (value as Record<string, unknown>)[name];
    else withoutNulls(member, old);
  }
  return value;
}

interface Plain {
  apiVersion?: unknown;
  kind?: unknown;
  metadata?: Record<string, unknown>;
  status?: unknown;
}

/** Removes members that no server returns in metadata. */
function plain(object: object): Plain {
  const copy = copyOf(object, requireJsonText('object', object)) as Plain;
  for (const name of ['labels', 'annotations', 'finalizers', 'ownerReferences']) {
    const member = copy.metadata?.[name];
    if (typeof member === 'object' && Object.keys(member ?? {}).length === 0)
      delete copy.metadata?.[name];
  }
  return copy;
}

function split(object: object): { rest: Plain; status: object } {
  const { status, ...rest } = plain(object);
  return { rest, status: status === undefined ? {} : { status } };
}
