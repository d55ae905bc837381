/**
 * A client over another one that changes keys, objects or options, the same way for every verb and
 * subresource.
 */

import { requireFunction, requireObject } from '../base/errors.ts';
import type { FromServer } from '../base/object.ts';
import type { Resource } from '../base/resource.ts';
import { requireCallOptions } from './option-names.ts';
import type * as api from './types.ts';

/**
 * Changes to calls. What is left out is passed on unchanged. An error that one throws rejects the
 * call before anything is sent.
 */
export interface Changes {
  key?(resource: api.AnyResource, key: api.ObjectKey): api.ObjectKey;
  object?<T extends object>(resource: api.AnyResource, object: T): T;
  list?(resource: api.AnyResource, options: api.ListOptions): api.ListOptions;
  /** For create, update and patch, of subresources too. */
  write?<O extends api.WriteOptions>(options: O): O;
  apply?<O extends api.ApplyOptions>(options: O): O;
  delete?<O extends api.DeleteOptions>(options: O): O;
  deleteAllOf?(resource: api.AnyResource, options: api.DeleteAllOfOptions): api.DeleteAllOfOptions;
}

/** Throws CapstanError INVALID_ARGUMENT if the value is not a client. */
export function requireClient(client: api.Client): void {
  requireObject('client', client);
  for (const name of [
    'get',
    'list',
    'create',
    'update',
    'patch',
    'apply',
    'delete',
    'deleteAllOf',
  ] as const)
    requireFunction(`client.${name}`, client[name]);
  for (const name of ['status', 'subResource'] as const)
    requireFunction(`client.${name}`, client[name]);
}

/** The inner client of each wrapper. */
const wrapped = new WeakMap<api.Client, api.Client>();

export function noteWrapper(wrapper: api.Client, inner: api.Client): void {
  wrapped.set(wrapper, inner);
}

/** The client without its wrappers. */
export function innermost(client: api.Client): api.Client {
  let inner = client;
  for (let next = wrapped.get(inner); next !== undefined; next = wrapped.get(inner)) inner = next;
  return inner;
}

export class WrappedClient implements api.Client {
  readonly #inner: api.Client;
  readonly #changes: Changes;

  constructor(inner: api.Client, changes: Changes) {
    requireClient(inner);
    noteWrapper(this, inner);
    this.#inner = inner;
    this.#changes = changes;
  }

  async get<T extends object>(
    resource: Resource<T, string>,
    key: api.ObjectKey,
    options?: api.ReadOptions,
  ): Promise<FromServer<T>> {
    return await this.#inner.get(resource, this.#key(resource, key), options);
  }

  async list<T extends object>(
    resource: Resource<T, string>,
    options: api.ListOptions = {},
  ): Promise<api.ObjectList<T>> {
    requireCallOptions('list', options);
    return await this.#inner.list(resource, this.#changes.list?.(resource, options) ?? options);
  }

  async create<T extends object>(
    resource: Resource<T, string>,
    object: T,
    options: api.WriteOptions = {},
  ): Promise<FromServer<T>> {
    return await this.#inner.create(resource, this.#object(resource, object), this.#write(options));
  }

  async update<T extends object>(
    resource: Resource<T, string>,
    object: T,
    options: api.WriteOptions = {},
  ): Promise<FromServer<T>> {
    return await this.#inner.update(resource, this.#object(resource, object), this.#write(options));
  }

  async patch<T extends object>(
    resource: Resource<T, string>,
    key: api.ObjectKey,
    patch: api.Patch,
    options: api.WriteOptions = {},
  ): Promise<FromServer<T>> {
    return await this.#inner.patch(resource, this.#key(resource, key), patch, this.#write(options));
  }

  async apply<T extends object>(
    resource: Resource<T, string>,
    object: api.Applied<T>,
    options: api.ApplyOptions = {},
  ): Promise<FromServer<T>> {
    return await this.#inner.apply(resource, this.#object(resource, object), this.#apply(options));
  }

  async delete<T extends object>(
    resource: Resource<T, string>,
    key: api.ObjectKey,
    options: api.DeleteOptions = {},
  ): Promise<void> {
    requireCallOptions('delete', options);
    return await this.#inner.delete(
      resource,
      this.#key(resource, key),
      this.#changes.delete?.(options) ?? options,
    );
  }

  async deleteAllOf<T extends object>(
    resource: Resource<T, string>,
    options: api.DeleteAllOfOptions = {},
  ): Promise<void> {
    requireCallOptions('deleteAllOf', options);
    const scoped = this.#changes.deleteAllOf?.(resource, options) ?? options;
    return await this.#inner.deleteAllOf(resource, this.#changes.delete?.(scoped) ?? scoped);
  }

  status(): api.SubResourceClient {
    return this.#subResource(this.#inner.status());
  }

  subResource(name: string): api.SubResourceClient {
    return this.#subResource(this.#inner.subResource(name));
  }

  #subResource(inner: api.SubResourceClient): api.SubResourceClient {
    return {
      get: async <T extends object, B extends object = T>(
        resource: Resource<T, string>,
        key: api.ObjectKey,
        options?: api.ReadOptions,
      ) => inner.get<T, B>(resource, this.#key(resource, key), options),
      create: async <T extends object, B extends object>(
        resource: Resource<T, string>,
        key: api.ObjectKey,
        body: B,
        options: api.WriteOptions = {},
      ) => inner.create(resource, this.#key(resource, key), body, this.#write(options)),
      update: async <T extends object, B extends object = T>(
        resource: Resource<T, string>,
        object: T,
        options: api.SubResourceWriteOptions<B> = {},
      ) => inner.update<T, B>(resource, this.#object(resource, object), this.#write(options)),
      patch: async <T extends object, B extends object = T>(
        resource: Resource<T, string>,
        key: api.ObjectKey,
        patch: api.Patch,
        options: api.WriteOptions = {},
      ) => inner.patch<T, B>(resource, this.#key(resource, key), patch, this.#write(options)),
      apply: async <T extends object, B extends object = T>(
        resource: Resource<T, string>,
        object: api.Applied<T>,
        options: api.SubResourceApplyOptions<B> = {},
      ) => inner.apply<T, B>(resource, this.#object(resource, object), this.#apply(options)),
    };
  }

  #key(resource: api.AnyResource, key: api.ObjectKey): api.ObjectKey {
    return this.#changes.key?.(resource, key) ?? key;
  }

  #object<T extends object>(resource: api.AnyResource, object: T): T {
    return this.#changes.object?.(resource, object) ?? object;
  }

  #write<O extends api.WriteOptions>(options: O): O {
    requireCallOptions('update', options, true);
    return this.#changes.write?.(options) ?? options;
  }

  #apply<O extends api.ApplyOptions>(options: O): O {
    requireCallOptions('apply', options, true);
    return this.#changes.apply?.(options) ?? options;
  }
}
