/**
 * The client that asks the server each time. What it keeps true: each call is one request (with its
 * repeats), checked before it is sent, and each write that was carried out is told to the observer
 * with what the server answered.
 */
import type { KubeObject } from '../cache/keys.ts';
import { groupVersion, type Resource } from '../cache/resource.ts';
import { CapstanError, invalid, requireInteger, requireObject, requireString } from '../errors.ts';
import { labelSelectorText } from '../selectors.ts';
import {
  bodyOf,
  collectionPath,
  keyOf,
  metadataOf,
  objectPath,
  requireNamespace,
  toJson,
} from './paths.ts';
import type { RestClient } from './rest-client.ts';
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

/** Is told of writes that the server carried out; never of dry runs. */
export interface WriteObserver {
  /** @param answer the object as it is now, or what the subresource answered */
  wrote(resource: AnyResource, answer: object): void;
  /**
   * A subresource was written, and the server said no more than that it was: a binding, an
   * eviction.
   */
  touched(resource: AnyResource, key: ObjectKey): void;
  /** @param answer the object, or a Status */
  deleted(resource: AnyResource, key: ObjectKey, answer: object): void;
  /** @param answer the list of what was deleted, as it was before, or a Status */
  deletedAll(resource: AnyResource, answer: object): void;
}

/** What counts where a call does not say otherwise. */
export interface WriteDefaults {
  readonly fieldOwner?: string | undefined;
  readonly fieldValidation?: WriteOptions['fieldValidation'] | undefined;
}

const MEDIA_TYPES = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
} as const;
/** JSON is YAML, and the server knows this name on all versions. */
const APPLY = 'application/apply-patch+yaml';

export class LiveClient implements Client {
  readonly #rest: RestClient;
  readonly #defaults: WriteDefaults;
  readonly #observer: WriteObserver | undefined;

  constructor(rest: RestClient, defaults: WriteDefaults, observer?: WriteObserver) {
    this.#rest = rest;
    this.#defaults = defaults;
    this.#observer = observer;
  }

  async get<T extends object>(
    resource: Resource<T, string>,
    key: ObjectKey,
    options: ReadOptions = {},
  ): Promise<T> {
    return this.#read<T>(objectPath(resource, key), options);
  }

  async list<T extends object>(
    resource: Resource<T, string>,
    options: ListOptions = {},
  ): Promise<ObjectList<T>> {
    const { index, limit, continue: token, signal } = options;
    if (index !== undefined)
      throw invalid(
        'options.index',
        'nothing in a live list: indices are those of a cache',
        index.name,
      );
    if (limit !== undefined) requireInteger('options.limit', limit, 0);
    const query = {
      ...selectorsOf(options),
      limit: limit ? String(limit) : undefined,
      continue: token || undefined,
      resourceVersion: options.resourceVersion || undefined,
    };
    const path = collectionPath(resource, options.namespace);
    return listFrom<T>(
      resource,
      await this.#rest.send({ method: 'GET', path, query, signal }),
      `GET ${path}`,
    );
  }

  async create<T extends object>(
    resource: Resource<T, string>,
    object: T,
    options: WriteOptions = {},
  ): Promise<T> {
    const body = bodyOf(resource, object);
    const { name, namespace, generateName } = metadataOf(object) as KubeObject['metadata'] & {
      generateName?: string;
    };
    if (!name && !generateName)
      throw invalid('object.metadata', 'a name or generateName', metadataOf(object));
    const path = collectionPath(resource, requireNamespace(resource, namespace));
    return this.#write<T>(resource, { method: 'POST', path, body }, options);
  }

  async update<T extends object>(
    resource: Resource<T, string>,
    object: T,
    options: WriteOptions = {},
  ): Promise<T> {
    const body = bodyOf(resource, object);
    return this.#write<T>(
      resource,
      { method: 'PUT', path: objectPath(resource, keyOf(resource, object)), body },
      options,
    );
  }

  async patch<T extends object>(
    resource: Resource<T, string>,
    key: ObjectKey,
    patch: Patch,
    options: WriteOptions = {},
  ): Promise<T> {
    return this.#patch<T>(resource, objectPath(resource, key), patch, options);
  }

  async apply<T extends object>(
    resource: Resource<T, string>,
    object: Applied<T>,
    options: ApplyOptions = {},
  ): Promise<T> {
    const body = bodyOf<T>(resource, object);
    return this.#apply<T>(resource, objectPath(resource, keyOf(resource, object)), body, options);
  }

  async delete<T extends object>(
    resource: Resource<T, string>,
    key: ObjectKey,
    options: DeleteOptions = {},
  ): Promise<void> {
    const path = objectPath(resource, key);
    const answer = await this.#rest.send({ method: 'DELETE', path, ...deletion(options) });
    if (!options.dryRun) this.#observer?.deleted(resource, key, answer);
  }

  async deleteAllOf<T extends object>(
    resource: Resource<T, string>,
    options: DeleteAllOfOptions = {},
  ): Promise<void> {
    const { query, ...rest } = deletion(options);
    const path = collectionPath(resource, requireNamespace(resource, options.namespace));
    const answer = await this.#rest.send({
      method: 'DELETE',
      path,
      query: { ...query, ...selectorsOf(options) },
      ...rest,
    });
    if (!options.dryRun) this.#observer?.deletedAll(resource, answer);
  }

  status(): SubResourceClient {
    return this.subResource('status');
  }

  subResource(name: string): SubResourceClient {
    if (typeof name !== 'string' || name === '')
      throw invalid('name', 'the name of a subresource', name);
    return {
      get: async <T extends object, B extends object = T>(
        resource: Resource<T, string>,
        key: ObjectKey,
        options: ReadOptions = {},
      ) => this.#read<B>(objectPath(resource, key, name), options),

      create: async <T extends object, B extends object>(
        resource: Resource<T, string>,
        key: ObjectKey,
        body: B,
        options: WriteOptions = {},
      ) => {
        const path = objectPath(resource, key, name);
        const answer = await this.#write<B>(
          resource,
          { method: 'POST', path, body: toJson('body', body) },
          options,
        );
        // Bindings and evictions are answered with a Status of success. controller-runtime, too,
        // leaves the body as it was sent.
        if ((answer as KubeObject).kind !== 'Status') return answer;
        if (!options.dryRun) this.#observer?.touched(resource, key);
        return body;
      },

      update: async <T extends object, B extends object = T>(
        resource: Resource<T, string>,
        object: T,
        options: SubResourceWriteOptions<B> = {},
      ) => {
        const body =
          options.body === undefined
            ? bodyOf(resource, object)
            : toJson('options.body', options.body);
        const path = objectPath(resource, keyOf(resource, object), name);
        return this.#write<B>(resource, { method: 'PUT', path, body }, options);
      },

      patch: async <T extends object, B extends object = T>(
        resource: Resource<T, string>,
        key: ObjectKey,
        patch: Patch,
        options: WriteOptions = {},
      ) => this.#patch<B>(resource, objectPath(resource, key, name), patch, options),

      apply: async <T extends object, B extends object = T>(
        resource: Resource<T, string>,
        object: Applied<T>,
        options: SubResourceApplyOptions<B> = {},
      ) => {
        const body =
          options.body === undefined
            ? bodyOf<T>(resource, object)
            : toJson('options.body', options.body);
        return this.#apply<B>(
          resource,
          objectPath(resource, keyOf(resource, object), name),
          body,
          options,
        );
      },
    };
  }

  async #read<T>(path: string, { resourceVersion, signal }: ReadOptions): Promise<T> {
    const query = { resourceVersion: resourceVersion || undefined };
    return (await this.#rest.send({ method: 'GET', path, query, signal })) as T;
  }

  async #patch<T>(
    resource: AnyResource,
    path: string,
    patch: Patch,
    options: WriteOptions,
  ): Promise<T> {
    return this.#write<T>(resource, { method: 'PATCH', path, ...patchBody(patch) }, options);
  }

  async #apply<T>(
    resource: AnyResource,
    path: string,
    body: string,
    options: ApplyOptions,
  ): Promise<T> {
    if (!(options.fieldOwner ?? this.#defaults.fieldOwner)) {
      throw new CapstanError(
        'INVALID_ARGUMENT',
        `"fieldOwner" expected a name, as server-side apply keeps who owns which field: give it to newClient or to this call`,
      );
    }
    // Apply is strict on the server by itself; the client's default is for the other writes, as in
    // controller-runtime.
    const sent = { method: 'PATCH', path, body, contentType: APPLY, force: options.force };
    return this.#write<T>(resource, sent, options, {});
  }

  async #write<T>(
    resource: AnyResource,
    sent: {
      method: string;
      path: string;
      body: string;
      contentType?: string;
      force?: boolean | undefined;
    },
    options: WriteOptions,
    { fieldValidation }: WriteDefaults = this.#defaults,
  ): Promise<T> {
    requireObject('options', options);
    const { force, ...request } = sent;
    const query = {
      dryRun: options.dryRun ? 'All' : undefined,
      fieldManager: (options.fieldOwner ?? this.#defaults.fieldOwner) || undefined,
      fieldValidation: options.fieldValidation ?? fieldValidation,
      force: force === undefined ? undefined : String(force),
    };
    const answer = await this.#rest.send({ ...request, query, signal: options.signal });
    if (!options.dryRun) this.#observer?.wrote(resource, answer);
    return answer as T;
  }
}

function patchBody(patch: Patch): { body: string; contentType: string } {
  requireObject('patch', patch);
  switch (patch.type) {
    case 'json':
      if (!Array.isArray(patch.operations))
        throw invalid('patch.operations', 'an array', patch.operations);
      return { body: toJson('patch.operations', patch.operations), contentType: MEDIA_TYPES.json };
    case 'merge':
    case 'strategic':
      requireObject('patch.body', patch.body);
      return { body: toJson('patch.body', patch.body), contentType: MEDIA_TYPES[patch.type] };
    case 'raw':
      return { body: patch.data, contentType: patch.contentType };
    default:
      throw invalid(
        'patch.type',
        "'json', 'merge', 'strategic' or 'raw'",
        (patch as { type?: unknown }).type,
      );
  }
}

function selectorsOf({
  labelSelector,
  fieldSelector,
}: Pick<ListOptions, 'labelSelector' | 'fieldSelector'>) {
  requireString('options.fieldSelector', fieldSelector ?? '');
  return {
    labelSelector: labelSelectorText(labelSelector ?? '') || undefined,
    fieldSelector: fieldSelector || undefined,
  };
}

/** The dry run stands in the query too, as there are proxies that drop the body of a DELETE. */
function deletion({
  dryRun,
  gracePeriodSeconds,
  propagationPolicy,
  preconditions,
  signal,
}: DeleteOptions) {
  const body = toJson('options', {
    kind: 'DeleteOptions',
    apiVersion: 'v1',
    ...{ gracePeriodSeconds, propagationPolicy, preconditions },
    dryRun: dryRun ? ['All'] : undefined,
  });
  return { body, query: { dryRun: dryRun ? 'All' : undefined }, signal };
}

/**
 * Items of built-in kinds come without apiVersion and kind; here they have them, as single objects
 * do.
 */
function listFrom<T extends object>(
  resource: Resource<T, string>,
  body: object,
  what: string,
): ObjectList<T> {
  const { items, metadata } = body as { items?: unknown; metadata?: ObjectList<T>['metadata'] };
  if (items !== null && !Array.isArray(items))
    throw new CapstanError(
      'DECODE',
      `${what}: expected a list with items, got a ${(body as KubeObject).kind}`,
    );
  const head = { apiVersion: groupVersion(resource), kind: resource.kind };
  const complete = (item: T & KubeObject): T =>
    item.kind === undefined ? { ...head, ...item } : item;
  return { items: ((items ?? []) as (T & KubeObject)[]).map(complete), metadata: metadata ?? {} };
}
