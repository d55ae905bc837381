/**
 * A client whose methods can be replaced, for tests and to observe or change calls. Methods that
 * are not intercepted go to the inner client unchanged. controller-runtime: pkg/client/interceptor.
 */

import { requireFunction } from '../base/errors.ts';
import { namesOf, requireMembers } from '../base/names.ts';
import type { FromServer } from '../base/object.ts';
import type { Resource } from '../base/resource.ts';
import type * as api from './types.ts';
import { noteWrapper, requireClient } from './wrapped-client.ts';

/**
 * Functions that are called instead of a client's methods. `inner` is the client without
 * interceptors. Those that begin with `subResource` get the subresource's name, also `status`; they
 * are not called if `subResource` is set, because its client is used.
 */
export interface Interceptors {
  get?<T extends object>(
    inner: api.Client,
    resource: Resource<T, string>,
    key: api.ObjectKey,
    options?: api.ReadOptions,
  ): Promise<T>;
  list?<T extends object>(
    inner: api.Client,
    resource: Resource<T, string>,
    options?: api.ListOptions,
  ): Promise<api.ObjectList<T>>;
  create?<T extends object>(
    inner: api.Client,
    resource: Resource<T, string>,
    object: T,
    options?: api.WriteOptions,
  ): Promise<T>;
  update?<T extends object>(
    inner: api.Client,
    resource: Resource<T, string>,
    object: T,
    options?: api.WriteOptions,
  ): Promise<T>;
  patch?<T extends object>(
    inner: api.Client,
    resource: Resource<T, string>,
    key: api.ObjectKey,
    patch: api.Patch,
    options?: api.WriteOptions,
  ): Promise<T>;
  apply?<T extends object>(
    inner: api.Client,
    resource: Resource<T, string>,
    object: api.Applied<T>,
    options?: api.ApplyOptions,
  ): Promise<T>;
  delete?<T extends object>(
    inner: api.Client,
    resource: Resource<T, string>,
    key: api.ObjectKey,
    options?: api.DeleteOptions,
  ): Promise<void>;
  deleteAllOf?<T extends object>(
    inner: api.Client,
    resource: Resource<T, string>,
    options?: api.DeleteAllOfOptions,
  ): Promise<void>;
  subResource?(inner: api.Client, name: string): api.SubResourceClient;
  subResourceGet?<T extends object, B extends object = T>(
    inner: api.Client,
    name: string,
    resource: Resource<T, string>,
    key: api.ObjectKey,
    options?: api.ReadOptions,
  ): Promise<B>;
  subResourceCreate?<T extends object, B extends object>(
    inner: api.Client,
    name: string,
    resource: Resource<T, string>,
    key: api.ObjectKey,
    body: B,
    options?: api.WriteOptions,
  ): Promise<B>;
  subResourceUpdate?<T extends object, B extends object = T>(
    inner: api.Client,
    name: string,
    resource: Resource<T, string>,
    object: T,
    options?: api.SubResourceWriteOptions<B>,
  ): Promise<B>;
  subResourcePatch?<T extends object, B extends object = T>(
    inner: api.Client,
    name: string,
    resource: Resource<T, string>,
    key: api.ObjectKey,
    patch: api.Patch,
    options?: api.WriteOptions,
  ): Promise<B>;
  subResourceApply?<T extends object, B extends object = T>(
    inner: api.Client,
    name: string,
    resource: Resource<T, string>,
    object: api.Applied<T>,
    options?: api.SubResourceApplyOptions<B>,
  ): Promise<B>;
}

const NAMES = namesOf<Interceptors>()({
  get: 1,
  list: 1,
  create: 1,
  update: 1,
  patch: 1,
  apply: 1,
  delete: 1,
  deleteAllOf: 1,
  subResource: 1,
  subResourceGet: 1,
  subResourceCreate: 1,
  subResourceUpdate: 1,
  subResourcePatch: 1,
  subResourceApply: 1,
});

/**
 * Wraps a client with interceptors. If the result is wrapped again, the outer interceptors are
 * called first.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * let attempts = 0;
 * const flaky = withInterceptors(client, {
 *   async update(inner, resource, object, options) {
 *     if (attempts++ === 0) throw new Error('the first one is lost');
 *     return inner.update(resource, object, options);
 *   },
 * });
 */
export function withInterceptors(client: api.Client, interceptors: Interceptors): api.Client {
  requireClient(client);
  requireMembers('interceptors', interceptors, 'interceptor', NAMES);
  for (const [name, interceptor] of Object.entries(interceptors))
    if (interceptor !== undefined) requireFunction(`interceptors.${name}`, interceptor);
  const subResourceClient = (name: string): api.SubResourceClient =>
    interceptors.subResource?.(client, name) ?? intercepted(client, interceptors, name);
  // Interceptors are looked up at each call, so a test can change them. An error that one throws
  // rejects the call.
  const wrapper: api.Client = {
    get: async (resource, key, options) =>
      interceptors.get
        ? answer(interceptors.get(client, resource, key, options))
        : client.get(resource, key, options),
    list: async (resource, options) =>
      interceptors.list
        ? interceptors.list(client, resource, options)
        : client.list(resource, options),
    create: async (resource, object, options) =>
      interceptors.create
        ? answer(interceptors.create(client, resource, object, options))
        : client.create(resource, object, options),
    update: async (resource, object, options) =>
      interceptors.update
        ? answer(interceptors.update(client, resource, object, options))
        : client.update(resource, object, options),
    patch: async (resource, key, patch, options) =>
      interceptors.patch
        ? answer(interceptors.patch(client, resource, key, patch, options))
        : client.patch(resource, key, patch, options),
    apply: async (resource, object, options) =>
      interceptors.apply
        ? answer(interceptors.apply(client, resource, object, options))
        : client.apply(resource, object, options),
    delete: async (resource, key, options) =>
      interceptors.delete
        ? interceptors.delete(client, resource, key, options)
        : client.delete(resource, key, options),
    deleteAllOf: async (resource, options) =>
      interceptors.deleteAllOf
        ? interceptors.deleteAllOf(client, resource, options)
        : client.deleteAllOf(resource, options),
    status: () => subResourceClient('status'),
    subResource: subResourceClient,
  };
  noteWrapper(wrapper, client);
  return wrapper;
}

function intercepted(
  client: api.Client,
  interceptors: Interceptors,
  name: string,
): api.SubResourceClient {
  const inner = client.subResource(name);
  return {
    get: async (resource, key, options) =>
      interceptors.subResourceGet
        ? answer(interceptors.subResourceGet(client, name, resource, key, options))
        : inner.get(resource, key, options),
    create: async (resource, key, body, options) =>
      interceptors.subResourceCreate
        ? interceptors.subResourceCreate(client, name, resource, key, body, options)
        : inner.create(resource, key, body, options),
    update: async (resource, object, options) =>
      interceptors.subResourceUpdate
        ? answer(interceptors.subResourceUpdate(client, name, resource, object, options))
        : inner.update(resource, object, options),
    patch: async (resource, key, patch, options) =>
      interceptors.subResourcePatch
        ? answer(interceptors.subResourcePatch(client, name, resource, key, patch, options))
        : inner.patch(resource, key, patch, options),
    apply: async (resource, object, options) =>
      interceptors.subResourceApply
        ? answer(interceptors.subResourceApply(client, name, resource, object, options))
        : inner.apply(resource, object, options),
  };
}

/** An interceptor may answer with any object; callers get it as one of the server. */
function answer<T>(given: Promise<T>): Promise<FromServer<T>> {
  return given as Promise<FromServer<T>>;
}
