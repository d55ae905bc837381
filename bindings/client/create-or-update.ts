/**
 * Bringing an object to a state, whether it is there or not. What it keeps true: what was read is
 * never changed (it may be the cache's), what is the same is not written, and the object stays the
 * one that was named. controller-runtime: pkg/controller/controllerutil.
 */
import { groupVersion, type Resource } from '../cache/resource.ts';
import { CapstanError, requireFunction, requireObject } from '../errors.ts';
import { mergeFrom, sameJson } from './merge-from.ts';
import { keyOf, requireNamespace, toJson } from './paths.ts';
import { isNotFound } from './status-errors.ts';
import type { Client, ObjectKey, ReadOptions, WriteOptions } from './types.ts';

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
 * one with apiVersion, kind and its names.
 */
export type Mutate<T> = (draft: T) => Promise<T> | Promise<void> | T | void;

/** How to read before the write, and how to write. */
export interface CreateOrUpdateOptions
  extends WriteOptions,
    Pick<ReadOptions, 'live' | 'readYourWrites'> {}

/**
 * Reads an object, lets `mutate` change a copy, and creates or updates it, if anything is
 * different. An update carries the version that was read, so that it is a conflict where others
 * were faster (see `retryOnConflict`). What is changed in the status is not written where the kind
 * has a status subresource.
 *
 * What `mutate` sets should be what the server makes of it: a value that the server changes (a
 * default that is removed here, an empty list in a built-in kind, `1000m` for `1`) is sent each
 * time. Where the server then has what it had, the result is `unchanged`. Labels, annotations,
 * finalizers and owner references that are empty count as none.
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
  if (existing === undefined)
    return { result: 'created', object: await client.create(resource, draft, write) };
  if (sameJson(plain(existing), plain(draft))) return { result: 'unchanged', object: existing };
  const object = await client.update(resource, draft, write);
  return { result: isChanged(existing, object) ? 'updated' : 'unchanged', object };
}

/**
 * As {@link createOrUpdate}, with merge patches of what changed: one of the object, and one of its
 * status, which therefore must be a subresource. They carry no version. A status that `mutate`
 * gives to an object that is not there yet is not written, for it is created without one.
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
  if (existing === undefined)
    return { result: 'created', object: await client.create(resource, draft, write) };
  const [before, after] = [split(existing), split(draft)];
  let object = existing;
  let result: OperationResult = 'unchanged';
  if (!sameJson(before.rest, after.rest)) {
    object = await client.patch(resource, key, mergeFrom(before.rest).to(after.rest), write);
    if (isChanged(existing, object)) result = 'updated';
  }
  if (!sameJson(before.status, after.status)) {
    const patched = await client
      .status()
      .patch(resource, key, mergeFrom(before.status).to(after.status), write);
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
  { live, readYourWrites, signal }: CreateOrUpdateOptions,
): Promise<{ existing: T | undefined; draft: T }> {
  requireFunction('mutate', mutate);
  requireObject('key', key);
  const { name } = key;
  const namespace = requireNamespace(resource, key.namespace);
  const existing = await client
    .get(resource, key, { live, readYourWrites, signal })
    .catch((error: unknown) => {
      if (isNotFound(error)) return undefined;
      throw error;
    });
  const start = existing ?? {
    ...{ apiVersion: groupVersion(resource), kind: resource.kind },
    metadata: namespace === '' ? { name } : { namespace, name },
  };
  const copy = plain(start) as T;
  const draft = (await mutate(copy)) ?? copy;
  const now = keyOf(resource, draft);
  if (now.name !== name || now.namespace !== namespace) {
    const why = `mutate expected to keep the name ${namespace}/${name}, and made it ${now.namespace}/${now.name}`;
    throw new CapstanError('INVALID_ARGUMENT', `${why}: name another object in the call`);
  }
  return { existing, draft };
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
  if (typeof after !== 'object' || after === null) return true; // of a client of the user's, which is none
  const shown = (object: object): object => {
    const { apiVersion: _, kind: __, ...rest } = plain(object);
    delete rest.metadata?.managedFields;
    return rest;
  };
  return !sameJson(shown(before), shown(after));
}

interface Plain {
  apiVersion?: unknown;
  kind?: unknown;
  metadata?: Record<string, unknown>;
  status?: unknown;
}

/** Without what no server shows in metadata. */
function plain(object: object): Plain {
  const copy = JSON.parse(toJson('object', object)) as Plain;
  for (const name of ['labels', 'annotations', 'finalizers', 'ownerReferences']) {
    const member = copy.metadata?.[name];
    if (typeof member === 'object' && Object.keys(member ?? {}).length === 0)
      delete copy.metadata?.[name];
  }
  return copy;
}

function split(object: object): { rest: object; status: object } {
  const { status, ...rest } = plain(object);
  return { rest, status: status === undefined ? {} : { status } };
}
