/**
 * The client of a manager with shards. A read of objects that are not in the cache of this replica
 * goes to the API server or rejects, so that the cache never answers "not found" for them. With
 * `strictWrites` each write has the uid and resourceVersion that this process knows, so a late
 * write fails with a conflict.
 */
import { CapstanError } from '../base/errors.ts';
import type { Resource } from '../cache/index.ts';
import { isNotFound } from '../cache/rest/status-error.ts';
import { isLiveRead } from '../client/cached-client.ts';
import {
  type Client,
  type ListOptions,
  type ObjectKey,
  type Patch,
  type ReadOptions,
  withInterceptors,
} from '../client/index.ts';
import { notOwned } from '../controller/shards.ts';
import type { ManagedShards } from './shards.ts';

type AnyResource = Resource<never, string>;

export function shardClient(client: Client, shards: ManagedShards): Client {
  const read = withInterceptors(client, {
    get: (inner, resource, key, options) =>
      inner.get(resource, key, readOptions(shards, resource as never, key, options)),
    list: (inner, resource, options = {}) =>
      inner.list(resource, listOptions(shards, resource as never, options)),
  });
  return shards.strictWrites ? strictClient(read) : read;
}

function readOptions(
  shards: ManagedShards,
  resource: AnyResource,
  { namespace = '', name }: ObjectKey,
  options: ReadOptions = {},
): ReadOptions {
  const key = { namespace: resource.namespaced ? namespace : '', name };
  if (isLiveRead(options) || shards.isShared(resource) || shards.hasObjects(key)) return options;
  if (shards.foreignReads === 'live') return { ...options, live: true };
  throw notOwned(`get ${resource.kind} ${key.namespace}/${name}`);
}

function listOptions(
  shards: ManagedShards,
  resource: AnyResource,
  options: ListOptions,
): ListOptions {
  const { namespace = '', index } = options;
  if (isLiveRead(options) || shards.isShared(resource)) return options;
  if (resource.namespaced && namespace !== '' && shards.hasNamespace(namespace)) return options;
  if (shards.foreignReads === 'live' && index === undefined) return { ...options, live: true };
  const where = namespace === '' ? 'in all namespaces' : `in ${namespace}`;
  throw notOwned(`list ${resource.plural} ${where}${index ? ` by index ${index.name}` : ''}`);
}

interface Known {
  readonly uid: string;
  readonly resourceVersion: string;
}

interface Metadata {
  readonly namespace?: string;
  readonly name?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
}

/** Adds the uid and resourceVersion that this process has read to each write. */
function strictClient(client: Client): Client {
  /** `undefined` if there is no such object. */
  const known = async (resource: AnyResource, key: ObjectKey): Promise<Known | undefined> => {
    try {
      const { metadata } = (await client.get(resource, key)) as { metadata?: Metadata };
      const { uid = '', resourceVersion = '' } = metadata ?? {};
      return { uid, resourceVersion };
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  };
  const whole = <T extends object>(resource: AnyResource, object: T): T => {
    const { metadata } = object as { metadata?: Metadata };
    if (metadata?.resourceVersion && metadata.uid) return object;
    throw new CapstanError(
      'INVALID_ARGUMENT',
      `update ${resource.kind} ${metadata?.name}: with strictWrites the object needs ` +
        'metadata.uid and metadata.resourceVersion: change a copy of the object that you have read',
    );
  };
  const withKnown = async (resource: AnyResource, key: ObjectKey, patch: Patch): Promise<Patch> => {
    const now = await known(resource, key);
    return now === undefined ? patch : strictPatch(patch, now);
  };
  const applied = async <T extends object>(resource: AnyResource, object: T): Promise<T> => {
    const { metadata } = object as { metadata?: Metadata };
    const { name = '', namespace } = metadata ?? {};
    const now = await known(resource, { name, namespace });
    return now === undefined ? object : { ...object, metadata: { ...metadata, ...now } };
  };
  return withInterceptors(client, {
    update: async (inner, resource, object, options) =>
      inner.update(resource, whole(resource as never, object), options),
    patch: async (inner, resource, key, patch, options) =>
      inner.patch(resource, key, await withKnown(resource as never, key, patch), options),
    apply: async (inner, resource, object, options) =>
      inner.apply(resource, await applied(resource as never, object), options),
    delete: async (inner, resource, key, options = {}) => {
      const now = await known(resource as never, key);
      const preconditions = { ...now, ...options.preconditions };
      return inner.delete(resource, key, { ...options, preconditions });
    },
    deleteAllOf: async (_, resource) => {
      throw new CapstanError(
        'INVALID_ARGUMENT',
        `deleteAllOf ${resource.plural}: with strictWrites it cannot have preconditions: list ` +
          'the objects and delete each one',
      );
    },
    subResourceUpdate: async (inner, name, resource, object, options) =>
      inner.subResource(name).update(resource, whole(resource as never, object), options),
    subResourcePatch: async (inner, name, resource, key, patch, options) => {
      const strict = await withKnown(resource as never, key, patch);
      return inner.subResource(name).patch(resource, key, strict, options);
    },
    subResourceApply: async (inner, name, resource, object, options) =>
      inner.subResource(name).apply(resource, await applied(resource as never, object), options),
  });
}

function strictPatch(patch: Patch, { uid, resourceVersion }: Known): Patch {
  switch (patch.type) {
    case 'json': {
      const test = (name: string, value: string) =>
        ({ op: 'test', path: `/metadata/${name}`, value }) as const;
      const tests = [test('uid', uid), test('resourceVersion', resourceVersion)];
      return { type: 'json', operations: [...tests, ...patch.operations] };
    }
    case 'merge':
    case 'strategic': {
      const { metadata } = patch.body as { metadata?: Metadata };
      return {
        type: patch.type,
        body: { ...patch.body, metadata: { uid, resourceVersion, ...metadata } },
      };
    }
    case 'raw':
      throw new CapstanError(
        'INVALID_ARGUMENT',
        'patch: with strictWrites expected type "json", "merge" or "strategic", got "raw", which ' +
          'cannot get a resourceVersion',
      );
  }
}
