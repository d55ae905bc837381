/**
 * A client over another one that changes keys, objects or options, the same way for every verb and
 * subresource.
 */

import { requireFunction, requireObject } from '../base/errors.ts';
import type { Resource } from '../cache/rest/resource.ts';
import { requireCallOptions } from './option-names.ts';
import type {
  AnyResource,
  Applied,
  ApplyOptions,
  Client,
  DeleteAllOfOptions,
  DeleteOptions,
  ListOptions,
  ObjectKey,
  ObjectList,
  Patch,
  ReadOptions,
  SubResourceApplyOptions,
  SubResourceClient,
  SubResourceWriteOptions,
  WriteOptions,
} from './types.ts';

/**
 * Changes to calls. What is left out is passed on unchanged. An error that one throws rejects the
 * call before anything is sent.
 */
export interface Changes {
  key?(resource: AnyResource, key: ObjectKey): ObjectKey;
  object?<T extends object>(resource: AnyResource, object: T): T;
  list?(resource: AnyResource, options: ListOptions): ListOptions;
  /** For create, update and patch, of subresources too. */
  write?<O extends WriteOptions>(options: O): O;
  apply?<O extends ApplyOptions>(options: O): O;
  delete?<O extends DeleteOptions>(options: O): O;
  deleteAllOf?(resource: AnyResource, options: DeleteAllOfOptions): DeleteAllOfOptions;
}

/** Throws CapstanError INVALID_ARGUMENT if the value is not a client. */
export function requireClient(client: Client): void {
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
const wrapped = new WeakMap<Client, Client>();

export function noteWrapper(wrapper: Client, inner: Client): void {
  wrapped.set(wrapper, inner);
}

/** The client without its wrappers. */
export function innermost(client: Client): Client {
  let inner = client;
  for (let next = wrapped.get(inner); next !== undefined; next = wrapped.get(inner)) inner = next;
  return inner;
}

export class WrappedClient implements Client {
  readonly #inner: Client;
  readonly #changes: Changes;

  constructor(inner: Client, changes: Changes) {
    requireClient(inner);
    noteWrapper(this, inner);
    this.#inner = inner;
    this.#changes = changes;
  }

  async get<T extends object>(
    resource: Resource<T, string>,
    key: ObjectKey,
    options?: ReadOptions,
  ): Promise<T> {
    return this.#inner.get(resource, this.#key(resource, key), options);
  }

  async list<T extends object>(
    resource: Resource<T, string>,
    options: ListOptions = {},
  ): Promise<ObjectList<T>> {
    requireCallOptions('list', options);
    return this.#inner.list(resource, this.#changes.list?.(resource, options) ?? options);
  }

  async create<T extends object>(
    resource: Resource<T, string>,
    object: T,
    options: WriteOptions = {},
  ): Promise<T> {
    return this.#inner.create(resource, this.#object(resource, object), this.#write(options));
  }

  async update<T extends object>(
    resource: Resource<T, string>,
    object: T,
    options: WriteOptions = {},
  ): Promise<T> {
    return this.#inner.update(resource, this.#object(resource, object), this.#write(options));
  }

  async patch<T extends object>(
    resource: Resource<T, string>,
    key: ObjectKey,
    patch: Patch,
    options: WriteOptions = {},
  ): Promise<T> {
    return this.#inner.patch(resource, this.#key(resource, key), patch, this.#write(options));
  }

  async apply<T extends object>(
    resource: Resource<T, string>,
    object: Applied<T>,
    options: ApplyOptions = {},
  ): Promise<T> {
    return this.#inner.apply(resource, this.#object(resource, object), this.#apply(options));
  }

  async delete<T extends object>(
    resource: Resource<T, string>,
    key: ObjectKey,
    options: DeleteOptions = {},
  ): Promise<void> {
    requireCallOptions('delete', options);
    return this.#inner.delete(
      resource,
      this.#key(resource, key),
      this.#changes.delete?.(options) ?? options,
    );
  }

  async deleteAllOf<T extends object>(
    resource: Resource<T, string>,
    options: DeleteAllOfOptions = {},
  ): Promise<void> {
    requireCallOptions('deleteAllOf', options);
    const scoped = this.#changes.deleteAllOf?.(resource, options) ?? options;
    return this.#inner.deleteAllOf(resource, this.#changes.delete?.(scoped) ?? scoped);
  }

  status(): SubResourceClient {
    return this.#subResource(this.#inner.status());
  }

  subResource(name: string): SubResourceClient {
    return this.#subResource(this.#inner.subResource(name));
  }

  #subResource(inner: SubResourceClient): SubResourceClient {
    return {
      get: async <T extends object, B extends object = T>(
        resource: Resource<T, string>,
        key: ObjectKey,
        options?: ReadOptions,
      ) => inner.get<T, B>(resource, this.#key(resource, key), options),
      create: async <T extends object, B extends object>(
        resource: Resource<T, string>,
        key: ObjectKey,
        body: B,
        options: WriteOptions = {},
      ) => inner.create(resource, this.#key(resource, key), body, this.#write(options)),
      update: async <T extends object, B extends object = T>(
        resource: Resource<T, string>,
        object: T,
        options: SubResourceWriteOptions<B> = {},
      ) => inner.update<T, B>(resource, this.#object(resource, object), this.#write(options)),
      patch: async <T extends object, B extends object = T>(
        resource: Resource<T, string>,
        key: ObjectKey,
        patch: Patch,
        options: WriteOptions = {},
      ) => inner.patch<T, B>(resource, this.#key(resource, key), patch, this.#write(options)),
      apply: async <T extends object, B extends object = T>(
        resource: Resource<T, string>,
        object: Applied<T>,
        options: SubResourceApplyOptions<B> = {},
      ) => inner.apply<T, B>(resource, this.#object(resource, object), this.#apply(options)),
    };
  }

  #key(resource: AnyResource, key: ObjectKey): ObjectKey {
    return this.#changes.key?.(resource, key) ?? key;
  }

  #object<T extends object>(resource: AnyResource, object: T): T {
    return this.#changes.object?.(resource, object) ?? object;
  }

  #write<O extends WriteOptions>(options: O): O {
    requireCallOptions('update', options, true);
    return this.#changes.write?.(options) ?? options;
  }

  #apply<O extends ApplyOptions>(options: O): O {
    requireCallOptions('apply', options, true);
    return this.#changes.apply?.(options) ?? options;
  }
}
