/**
 * Bringing an object to a state, whether it is there or not. What it keeps true: what was read is
 * never changed (it may be the cache's), what is the same is not written, and the object stays the
 * one that was named. controller-runtime: pkg/controller/controllerutil.
 */

import { CapstanError, requireFunction, requireObject } from '../base/errors.ts';
import { copyOf, sameExactJson } from '../base/exact-json.ts';
import { isObjectLike } from '../base/json-value.ts';
import { namesOf, requireNames } from '../base/names.ts';
import { explaining } from '../base/shared-object.ts';
import { groupVersion, type Resource, resourceId } from '../cache/rest/resource.ts';
import { answeredWritesOf, isServerSet } from './answered-writes.ts';
import { isDoubtful } from './exact-body.ts';
import { mergeFrom } from './merge-from.ts';
import { WRITE_NAMES } from './option-names.ts';
import { objectKeyOf, requireJsonText, requireNamespace } from './paths.ts';
import { isNotFound } from './status-errors.ts';
import type { AnyResource, Client, ObjectKey, ReadOptions, WriteOptions } from './types.ts';
import { markWhole } from './whole.ts';

/**
 * What was done. `updatedStatus`: object and status; `updatedStatusOnly`: the status alone.
 * controller-runtime: OperationResult.
 */
export type OperationResult =
  | 'unchanged'
  | 'created'
  | 'updated'
  | 'updatedStatus'
  | 'updatedStatusOnly';

/** What was done, and the object after it. */
export interface Operation<T> {
  readonly result: OperationResult;
  /** As the server has it now; where nothing was written, as it was read, and then read-only. */
  readonly object: T;
}

/**
 * Changes the draft of an object in place, or gives another. Of an object that is not there it gets
 * one with apiVersion, kind and its names. Another object keeps the status, the version and what
 * else of the metadata the server alone sets, where it does not have these members itself.
 */
export type Mutate<T> = (draft: T) => Promise<T> | Promise<void> | T | void;

/** How to read before the write, and how to write. */
export interface CreateOrUpdateOptions
  extends WriteOptions,
    Pick<ReadOptions, 'live' | 'readYourWrites'> {}

const NAMES = namesOf<CreateOrUpdateOptions>()({
  ...WRITE_NAMES,
  live: 1,
  readYourWrites: 1,
});

/**
 * Reads an object, lets `mutate` change a copy, and creates or updates it, if anything is
 * different. An update carries the version that was read, so that it is a conflict where others
 * were faster (see `retryOnConflict`). What is changed in the status is not written where the kind
 * has a status subresource.
 *
 * **What counts as different.** `mutate` may set a state without the server's defaults, with empty
 * lists that the server leaves out, or with `1000m` for `1`. Such a state is sent once, and what
 * the server made of it is remembered. A draft that says there what was sent before is no change,
 * as long as the server's object is the same one (its uid) and still has, in the member around it
 * (`spec`, `data`, `metadata.labels`, …), what was answered then. All else is sent: a value that is
 * new, what others have changed, an object that was made anew. Labels, annotations, finalizers and
 * owner references that are empty count as none, and so do members that the server alone sets and
 * a draft leaves out (`uid`, `resourceVersion`, `creationTimestamp`, `generation`,
 * `managedFields`).
 *
 * This is remembered with the client, and with all wrappers around it: make it once, not at each
 * reconcile. It takes 32 MiB at most, some 40 000 objects without their defaults; those that were
 * used last are kept. It lasts for an hour, as a webhook or a schema may be another by then. After
 * that, and after a start of the process, such an object is sent once more. That is an update and
 * no dry run, as it costs one request also where there is something to change; where there is
 * nothing, the server stores nothing and the result is `unchanged`.
 *
 * @throws CapstanError INVALID_ARGUMENT, also where `mutate` changed the name; StatusError;
 *   TransportError; ABORTED
 * @example
 * const { result } = await createOrUpdate(client, ConfigMap, { namespace: 'default', name: 'site' }, (map) => {
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
 * As {@link createOrUpdate}, with merge patches of what changed: one of the object, and one of its
 * status, which therefore must be a subresource. They carry no version. A status that `mutate`
 * gives to an object that is not there yet is not written, for it is created without one. A member
 * that `mutate` sets to null is removed.
 *
 * @throws CapstanError INVALID_ARGUMENT, also where `mutate` changed the name; StatusError;
 *   TransportError; ABORTED
 * @example
 * const { result } = await createOrPatch(client, Website, { namespace: 'default', name: 'web' }, (website) => {
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
): Promise<{ existing: T | undefined; draft: T }> {
  requireNames('options', options, 'option of createOrUpdate()', NAMES);
  const { live, readYourWrites, signal } = options;
  requireFunction('mutate', mutate);
  requireObject('key', key);
  const { name } = key;
  const namespace = requireNamespace(resource, key.namespace);
  const read = (options: ReadOptions): Promise<T | undefined> =>
    client.get(resource, key, options).catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
  let existing = await read({ live, readYourWrites, signal, forUpdate: true });
  // A cache has rounded integers beyond 2^53.
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
    const why = `mutate expected to keep the name ${namespace}/${name}, and made it ${now.namespace}/${now.name}`;
    throw new CapstanError('INVALID_ARGUMENT', `${why}: name another object in the call`);
  }
  markWhole(draft);
  return { existing, draft };
}

/**
 * The draft. A new object says nothing of a status that it does not have, and what it lacks of the
 * metadata that the server alone sets is as it was read: without the version it would overwrite
 * what others have changed meanwhile, or be refused.
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
 * Whether a write has made a difference. By all there is, as a dry run gives the version that was
 * there, but for what caches leave out: managers, and what items of a list do not say.
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

/** What the object is in all that is remembered of a client. */
function idOf(resource: AnyResource, object: object): string {
  const { namespace, name } = objectKeyOf(resource, object);
  return `${resourceId(resource)} ${namespace}/${name}`;
}

/**
 * Without the nulls of members that the object before does not have as null: in a merge patch they
 * say that there is no such member.
 */
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

/** Without what no server shows in metadata. */
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
