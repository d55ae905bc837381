/**
 * The writes of a client with caches. An object from a cache may be older than the server's, or
 * have less: such a write never deletes what the cache has left out. After a write that the server
 * refuses as a conflict, the next read of the object asks the server.
 */

import { requireObject } from '../base/errors.ts';
import type { FromServer, KubeObject } from '../base/object.ts';
import type { Resource } from '../base/resource.ts';
import type { LiveClient } from './live-client.ts';
import { objectKeyOf, requireResource } from './paths.ts';
import type { ResourceCache } from './resource-cache.ts';
import { ignoreNotFound, isAlreadyExists, isConflict } from './status-errors.ts';
import type {
  AnyResource,
  Applied,
  ApplyOptions,
  DeleteOptions,
  ObjectKey,
  Patch,
  SubResourceClient,
  SubResourceWriteOptions,
  WriteOptions,
} from './types.ts';
import { isWhole, mayReplace, requireNothingLost, withStatusOf } from './whole.ts';

export class CachedWrites {
  readonly #live: LiveClient;
  readonly #cacheOf: (resource: AnyResource, namespace?: string) => ResourceCache | undefined;

  constructor(
    live: LiveClient,
    cacheOf: (resource: AnyResource, namespace?: string) => ResourceCache | undefined,
  ) {
    this.#live = live;
    this.#cacheOf = cacheOf;
  }

  async create<T extends object>(
    resource: Resource<T, string>,
    object: T,
    options?: WriteOptions,
  ): Promise<FromServer<T>> {
    try {
      return await this.#live.create(resource, object, options);
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      const key = objectKeyOf(resource, object);
      const cache = this.#cacheOf(resource, key.namespace);
      cache?.refused(key, undefined);
      const selectors = cache?.selectors();
      if (selectors)
        error.message +=
          `; it may be none of those that the cache of ${resource.plural} is restricted to, ` +
          `by ${selectors}: read it with { forUpdate: true }, or use createOrUpdate`;
      throw error;
    }
  }

  async update<T extends object>(
    resource: Resource<T, string>,
    object: T,
    options?: WriteOptions,
  ): Promise<FromServer<T>> {
    const sent = await this.#checked(resource, object, 'an update', undefined, options);
    return await this.#told(resource, object, this.#live.update(resource, sent, options));
  }

  /**
   * A configuration that the program built itself has no uid, and lists all fields that it owns.
   */
  async apply<T extends object>(
    resource: Resource<T, string>,
    object: Applied<T>,
    options?: ApplyOptions,
  ): Promise<FromServer<T>> {
    const { uid } = (object?.metadata ?? {}) as { uid?: string };
    if (uid) await this.#checked(resource, object, 'an apply', undefined, options);
    return await this.#live.apply(resource, object, options);
  }

  async patch<T extends object>(
    resource: Resource<T, string>,
    key: ObjectKey,
    patch: Patch,
    options?: WriteOptions,
  ): Promise<FromServer<T>> {
    await this.#checkPatch(resource, key, patch, undefined, options);
    const version = versionIn(patch);
    return await this.#told(
      resource,
      { metadata: { ...key, ...version } },
      this.#live.patch(resource, key, patch, options),
    );
  }

  async delete<T extends object>(
    resource: Resource<T, string>,
    key: ObjectKey,
    options?: DeleteOptions,
  ): Promise<void> {
    const { resourceVersion } = options?.preconditions ?? {};
    const object = { metadata: { ...key, resourceVersion } };
    return await this.#told(resource, object, this.#live.delete(resource, key, options));
  }

  subResource(name: string): SubResourceClient {
    const live = this.#live.subResource(name);
    if (name !== 'status') return live;
    return {
      ...live,
      update: async <T extends object, B extends object = T>(
        resource: Resource<T, string>,
        object: T,
        options?: SubResourceWriteOptions<B>,
      ) => {
        const { body = object } = options ?? {};
        await this.#checked(resource, body, 'an update of the status', name, options);
        return await this.#told(resource, object, live.update<T, B>(resource, object, options));
      },
      patch: async <T extends object, B extends object = T>(
        resource: Resource<T, string>,
        key: ObjectKey,
        patch: Patch,
        options?: WriteOptions,
      ) => {
        await this.#checkPatch(resource, key, patch, name, options);
        const version = versionIn(patch);
        return await this.#told(
          resource,
          { metadata: { ...key, ...version } },
          live.patch<T, B>(resource, key, patch, options),
        );
      },
    };
  }

  /**
   * The object to send. Rejects if the update would delete what the cache has left out. The server
   * is asked only if the cache leaves out anything.
   */
  async #checked<T extends object>(
    resource: AnyResource,
    object: T,
    what: string,
    part: string | undefined,
    { signal }: WriteOptions = {},
  ): Promise<T> {
    requireResource(resource);
    requireObject('object', object);
    const { name, namespace, resourceVersion } = (object as KubeObject).metadata ?? {};
    if (name === undefined || isWhole(object)) return object;
    const keep = this.#cacheOf(resource, namespace)?.kept();
    if (keep === undefined) return object;
    const now = await this.#now(resource, { name, namespace }, signal);
    // The server answers a write of an older version with a conflict.
    if (now === undefined || (resourceVersion ?? versionOf(now)) !== versionOf(now)) return object;
    const kept = keep(now);
    const given = part === undefined ? withStatusOf(object, now, kept) : object;
    requireNothingLost(resource, what, { now, kept, given, isPatch: false }, part);
    return given;
  }

  async #checkPatch(
    resource: AnyResource,
    key: ObjectKey,
    patch: Patch,
    part: string | undefined,
    { signal }: WriteOptions = {},
  ): Promise<void> {
    requireResource(resource);
    if (patch?.type !== 'merge' || !mayReplace(patch.body)) return;
    const keep = this.#cacheOf(resource, key?.namespace)?.kept();
    const now = keep && (await this.#now(resource, key, signal));
    if (keep === undefined || now === undefined) return;
    const written = { now, kept: keep(now), given: patch.body, isPatch: true };
    requireNothingLost(resource, 'a patch', written, part);
  }

  #now(
    resource: AnyResource,
    key: ObjectKey,
    signal: AbortSignal | undefined,
  ): Promise<object | undefined> {
    return this.#live
      .get(resource as Resource<object, string>, key, { signal })
      .catch(ignoreNotFound);
  }

  /** Marks the object in the cache after a conflict. */
  async #told<R>(resource: AnyResource, object: object, writing: Promise<R>): Promise<R> {
    try {
      return await writing;
    } catch (error) {
      const { name, namespace, resourceVersion } = (object as KubeObject).metadata ?? {};
      if (isConflict(error) && resourceVersion && name !== undefined)
        this.#cacheOf(resource, namespace)?.refused({ name, namespace }, resourceVersion);
      throw error;
    }
  }
}

const versionOf = (object: object): string | undefined =>
  (object as KubeObject).metadata?.resourceVersion;

/** The resourceVersion of a merge patch with an optimistic lock. */
function versionIn(patch: Patch): { resourceVersion?: string } {
  const body = patch?.type === 'merge' ? (patch.body as KubeObject) : undefined;
  const version = body?.metadata?.resourceVersion;
  return version === undefined ? {} : { resourceVersion: version };
}
