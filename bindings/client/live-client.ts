/**
 * The client that sends each call to the server.
 *
 * Invariants: a call is checked before it is sent, and is one request (with its repeats). The
 * observer is called for each write that the server carried out, with the server's answer.
 */

import {
  CapstanError,
  invalid,
  invalidText,
  requireObject,
  requireString,
} from '../base/errors.ts';
import { freezeParsed } from '../base/freeze.ts';
import type { FromServer, KubeObject } from '../base/object.ts';
import type { Resource } from '../base/resource.ts';
import { labelSelectorText } from '../base/selectors.ts';
import { hasMetadataAlone, mayBeMetadataOnly } from '../cache/rest/metadata-only.ts';
import { isNotFound, isStatus } from '../cache/rest/status-error.ts';
import {
  listFrom,
  mayBeUnnamed,
  objectFrom,
  requireDeletion,
  requireDeletions,
  type Wanted,
} from './answers.ts';
import { type Body, bodyFor, settled } from './exact-body.ts';
import { requireCallOptions, requirePatch } from './option-names.ts';
import {
  bodyOf,
  collectionPath,
  objectKeyOf,
  objectPath,
  requireJsonText,
  requireMetadata,
  requireNamespace,
  requireResource,
} from './paths.ts';
import type { RestClient } from './rest-client.ts';
import { isForbidden } from './status-errors.ts';
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
import { tellWritten } from './written.ts';

/** Is called for writes that the server carried out, but not for dry runs. */
export interface WriteObserver {
  /** @param answer the object after the write, or the answer of the subresource */
  wrote(resource: AnyResource, answer: object): void;
  /** A subresource was written and the server answered with a Status: a binding, an eviction. */
  touched(resource: AnyResource, key: ObjectKey): void;
  /** @param answer the object, or a Status */
  deleted(resource: AnyResource, key: ObjectKey, answer: object): void;
  /** @param answer the list of the deleted objects before their deletion, or a Status */
  deletedAll(resource: AnyResource, answer: object): void;
}

/** The defaults of writes. */
export interface WriteDefaults {
  readonly fieldOwner?: string | undefined;
  readonly fieldValidation?: WriteOptions['fieldValidation'] | undefined;
}

const MEDIA_TYPES = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
} as const;
/** The body is JSON, which is YAML too. All versions of the server know this content type. */
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
  ): Promise<FromServer<T>> {
    return await this.#read<T>(objectPath(resource, key), { resource, key }, options);
  }

  /** @param others more query parameters, which a cache sends */
  async list<T extends object>(
    resource: Resource<T, string>,
    options: ListOptions = {},
    others: Readonly<Record<string, string>> = {},
  ): Promise<ObjectList<T>> {
    requireCallOptions('list', options);
    const { index, limit, continue: token, signal } = options;
    if (index !== undefined)
      throw invalid(
        'options.index',
        'no index in a live list, because only caches have indices',
        index.name,
      );
    const query = {
      ...others,
      ...selectorsOf(options),
      limit: limit ? String(limit) : undefined,
      continue: token || undefined,
      resourceVersion: options.resourceVersion || undefined,
    };
    const path = collectionPath(resource, options.namespace);
    return listFrom<T>(
      resource,
      await this.#rest.send({ resource, method: 'GET', path, query, signal }),
      `GET ${path}`,
      options.namespace,
    );
  }

  async create<T extends object>(
    resource: Resource<T, string>,
    object: T,
    options: WriteOptions = {},
  ): Promise<FromServer<T>> {
    requireResource(resource);
    const isReview = mayBeUnnamed(resource);
    const given = isReview ? { metadata: {}, ...object } : object;
    const body = bodyFor('object', bodyOf(resource, given));
    const { name, namespace, generateName } = requireMetadata(given) as KubeObject['metadata'] & {
      generateName?: string;
    };
    if (!name && !generateName && !isReview)
      throw invalid('object.metadata', 'a name or generateName', requireMetadata(given));
    const path = collectionPath(resource, requireNamespace(resource, namespace));
    const key = { ...(name && { name }), namespace };
    return await this.#write<T>(
      { resource, key, generateName },
      { method: 'POST', path, body },
      options,
    );
  }

  async update<T extends object>(
    resource: Resource<T, string>,
    object: T,
    options: WriteOptions = {},
  ): Promise<FromServer<T>> {
    const body = bodyFor('object', bodyOf(resource, object));
    const key = objectKeyOf(resource, object);
    const path = objectPath(resource, key);
    await this.#requireWhole(resource, key, object, options);
    return await this.#write<T>({ resource, key }, { method: 'PUT', path, body }, options);
  }

  async patch<T extends object>(
    resource: Resource<T, string>,
    key: ObjectKey,
    patch: Patch,
    options: WriteOptions = {},
  ): Promise<FromServer<T>> {
    return await this.#patch<T>({ resource, key }, patch, options);
  }

  async apply<T extends object>(
    resource: Resource<T, string>,
    object: Applied<T>,
    options: ApplyOptions = {},
  ): Promise<FromServer<T>> {
    const body = bodyFor('object', bodyOf<T>(resource, object));
    return await this.#apply<T>({ resource, key: objectKeyOf(resource, object) }, body, options);
  }

  async delete<T extends object>(
    resource: Resource<T, string>,
    key: ObjectKey,
    options: DeleteOptions = {},
  ): Promise<void> {
    requireCallOptions('delete', options);
    const path = objectPath(resource, key);
    const answer = await this.#rest.send({
      resource,
      method: 'DELETE',
      path,
      ...deletion(options),
    });
    requireDeletion(answer, `DELETE ${path}`, { resource, key });
    if (!options.dryRun) this.#observer?.deleted(resource, key, answer);
  }

  async deleteAllOf<T extends object>(
    resource: Resource<T, string>,
    options: DeleteAllOfOptions = {},
  ): Promise<void> {
    requireCallOptions('deleteAllOf', options);
    const { query, ...rest } = deletion(options);
    const path = collectionPath(resource, requireNamespace(resource, options.namespace));
    const answer = await this.#rest.send({
      resource,
      method: 'DELETE',
      path,
      query: { ...query, ...selectorsOf(options) },
      ...rest,
    });
    requireDeletions(answer, `DELETE ${path}`, resource, options.namespace);
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
      ) =>
        await this.#read<B>(
          objectPath(resource, key, name),
          { resource, key, subresource: name },
          options,
        ),

      create: async <T extends object, B extends object>(
        resource: Resource<T, string>,
        key: ObjectKey,
        body: B,
        options: WriteOptions = {},
      ) => {
        const path = objectPath(resource, key, name);
        const sentKind = (body as KubeObject).kind;
        // The server answers bindings and evictions with a Status. The body is sent without kind
        // and apiVersion checks, as in controller-runtime.
        const answer = await this.#write<B>(
          { resource, key, subresource: name, sentKind, mayBeStatus: true },
          { method: 'POST', path, body: bodyFor('body', body) },
          options,
        );
        return answer ?? body;
      },

      update: async <T extends object, B extends object = T>(
        resource: Resource<T, string>,
        object: T,
        options: SubResourceWriteOptions<B> = {},
      ) => {
        const body =
          options.body === undefined
            ? bodyFor('object', bodyOf(resource, object))
            : bodyFor('options.body', options.body);
        const key = objectKeyOf(resource, object);
        const path = objectPath(resource, key, name);
        if (options.body === undefined) await this.#requireWhole(resource, key, object, options);
        return await this.#write<B>(
          { resource, key, subresource: name, sentKind: sentKindOf(resource, options) },
          { method: 'PUT', path, body },
          options,
        );
      },

      patch: async <T extends object, B extends object = T>(
        resource: Resource<T, string>,
        key: ObjectKey,
        patch: Patch,
        options: WriteOptions = {},
      ) => await this.#patch<B>({ resource, key, subresource: name }, patch, options),

      apply: async <T extends object, B extends object = T>(
        resource: Resource<T, string>,
        object: Applied<T>,
        options: SubResourceApplyOptions<B> = {},
      ) => {
        const body =
          options.body === undefined
            ? bodyFor('object', bodyOf<T>(resource, object))
            : bodyFor('options.body', options.body);
        const key = objectKeyOf(resource, object);
        const sentKind = sentKindOf(resource, options);
        return await this.#apply<B>({ resource, key, subresource: name, sentKind }, body, options);
      },
    };
  }

  async #read<T extends object>(
    path: string,
    wanted: Wanted,
    options: ReadOptions,
  ): Promise<FromServer<T>> {
    requireCallOptions('get', options);
    const { resourceVersion, signal } = options;
    const query = { resourceVersion: resourceVersion || undefined };
    const { resource } = wanted;
    const answer = await this.#rest.send({ resource, method: 'GET', path, query, signal });
    return freezeParsed(objectFrom<FromServer<T>>(answer, `GET ${path}`, wanted));
  }

  /**
   * Rejects an object that was read as metadata alone, because an update would delete the rest.
   * Some kinds have nothing but metadata; for these the server is asked.
   */
  async #requireWhole(
    resource: AnyResource,
    key: ObjectKey,
    object: object,
    { signal }: WriteOptions,
  ): Promise<void> {
    if (!mayBeMetadataOnly(resource, object)) return;
    const there = await this.get(resource as Resource<object, string>, key, { signal });
    const versionOf = (of: object): unknown => (of as KubeObject).metadata?.resourceVersion;
    const isOlder = versionOf(object) && versionOf(object) !== versionOf(there); // a conflict
    if (isOlder || hasMetadataAlone(there)) return;
    throw new CapstanError(
      'INVALID_ARGUMENT',
      `"object" expected a whole ${resource.kind}, got metadata alone, as ` +
        'a cache with metadataOnly has it: an update would delete the rest; ' +
        'patch it, or read it with { live: true }',
    );
  }

  async #patch<T extends object>(
    wanted: Target,
    patch: Patch,
    options: WriteOptions,
  ): Promise<FromServer<T>> {
    const path = objectPath(wanted.resource, wanted.key, wanted.subresource);
    return await this.#write<T>(wanted, { method: 'PATCH', path, ...patchBody(patch) }, options);
  }

  async #apply<T extends object>(
    wanted: Target,
    body: Body,
    options: ApplyOptions,
  ): Promise<FromServer<T>> {
    requireCallOptions('apply', options, wanted.subresource !== undefined);
    const path = objectPath(wanted.resource, wanted.key, wanted.subresource);
    if (!(options.fieldOwner ?? this.#defaults.fieldOwner)) {
      throw new CapstanError(
        'INVALID_ARGUMENT',
        '"fieldOwner" expected a name, because server-side apply stores the ' +
          'owner of each field: pass it to newClient or to this call',
      );
    }
    // The server validates an apply strictly. The client's default is for the other writes, as in
    // controller-runtime.
    const sent = { method: 'PATCH', path, body, contentType: APPLY, force: options.force };
    return await this.#write<T>(wanted, sent, options, {});
  }

  async #write<T extends object>(
    wanted: Wanted & { mayBeStatus?: false },
    sent: Sent,
    options: WriteOptions,
    defaults?: WriteDefaults,
  ): Promise<FromServer<T>>;
  async #write<T extends object>(
    wanted: Target & { mayBeStatus: true },
    sent: Sent,
    options: WriteOptions,
  ): Promise<FromServer<T> | undefined>;
  async #write<T extends object>(
    wanted: Wanted & { mayBeStatus?: boolean },
    sent: Sent,
    options: WriteOptions,
    { fieldValidation }: WriteDefaults = this.#defaults,
  ): Promise<FromServer<T> | undefined> {
    requireCallOptions(callOf(sent), options, wanted.subresource !== undefined);
    const { force, body: given, ...request } = sent;
    const body = await this.#textOf(given, wanted, sent, options.signal);
    const query = {
      dryRun: options.dryRun ? 'All' : undefined,
      fieldManager: (options.fieldOwner ?? this.#defaults.fieldOwner) || undefined,
      fieldValidation: options.fieldValidation ?? fieldValidation,
      force: force === undefined ? undefined : String(force),
    };
    const { resource, key, mayBeStatus } = wanted;
    const { signal } = options;
    const answer = await this.#rest.send({ ...request, resource, body, query, signal });
    if (mayBeStatus && isStatus(answer)) {
      if (!options.dryRun) this.#observer?.touched(resource, key as ObjectKey);
      return undefined;
    }
    const object = objectFrom<FromServer<T>>(answer, `${sent.method} ${sent.path}`, wanted);
    if (!options.dryRun && (object as KubeObject).metadata?.name !== undefined) {
      this.#observer?.wrote(resource, object);
      const { method, contentType } = sent;
      tellWritten({ resource, method, body, contentType, answer: object });
    }
    return object;
  }

  /** Reads the object from the server only if a number may have been rounded. */
  async #textOf(
    body: Body | string,
    { resource, key, subresource = '' }: Wanted,
    { method, contentType }: { method: string; contentType?: string },
    signal: AbortSignal | undefined,
  ): Promise<string> {
    if (typeof body === 'string') return body;
    if (body.doubts.length === 0) return body.text;
    if (method === 'POST') return settled(body, undefined);
    const part = subresource === 'status' ? '' : subresource;
    const path = objectPath(resource, key as ObjectKey, part);
    try {
      return settled(body, await this.#rest.send({ method: 'GET', path, signal }));
    } catch (error) {
      if (!isForbidden(error) && !(isNotFound(error) && contentType === APPLY)) throw error;
      return settled(body, undefined, error);
    }
  }
}

/** The object or subresource that a call writes. */
type Target = Wanted & { readonly key: ObjectKey };

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly body: Body | string;
  readonly contentType?: string;
  readonly force?: boolean | undefined;
}

/** The kind of the body, else of the object. */
function sentKindOf(resource: AnyResource, { body }: { body?: object | undefined }): unknown {
  return body === undefined ? resource.kind : (body as KubeObject).kind;
}

function callOf({ method, contentType }: Sent): 'create' | 'update' | 'apply' | 'patch' {
  if (method === 'POST') return 'create';
  if (method === 'PUT') return 'update';
  return contentType === APPLY ? 'apply' : 'patch';
}

function patchBody(patch: Patch): { body: Body | string; contentType: string } {
  requirePatch(patch);
  switch (patch.type) {
    case 'json':
      if (!Array.isArray(patch.operations))
        throw invalidText('patch.operations', 'an array', patch.operations);
      return {
        body: bodyFor('patch.operations', patch.operations.filter(keepsKind)),
        contentType: MEDIA_TYPES.json,
      };
    case 'merge':
    case 'strategic':
      requireObject('patch.body', patch.body);
      return {
        body: bodyFor('patch.body', withoutNullKind(patch.body)),
        contentType: MEDIA_TYPES[patch.type],
      };
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

/**
 * Removes null for kind and apiVersion, which no object can lose. A merge patch between two states
 * has it if one of them lacks these members, such as an item of a list that was read without this
 * client.
 */
function withoutNullKind(body: object): object {
  const { kind, apiVersion, ...rest } = body as KubeObject;
  if (kind !== null && apiVersion !== null) return body;
  return { ...rest, ...(kind && { kind }), ...(apiVersion && { apiVersion }) };
}

/** The same for an operation of a JSON patch. */
function keepsKind(operation: unknown): boolean {
  const { op, path, value } = (operation ?? {}) as { op?: string; path?: string; value?: unknown };
  const removes = op === 'remove' || ((op === 'add' || op === 'replace') && value === null);
  return !(removes && (path === '/kind' || path === '/apiVersion'));
}

function selectorsOf({
  labelSelector,
  fieldSelector,
}: Pick<ListOptions, 'labelSelector' | 'fieldSelector'>) {
  if (fieldSelector !== undefined) requireString('options.fieldSelector', fieldSelector);
  return {
    labelSelector: labelSelector === undefined ? undefined : labelSelectorText(labelSelector),
    fieldSelector: fieldSelector || undefined,
  };
}

/** `dryRun` is in the query as well, because some proxies drop the body of a DELETE. */
function deletion({
  dryRun,
  gracePeriodSeconds,
  propagationPolicy,
  preconditions,
  signal,
}: DeleteOptions) {
  const body = requireJsonText('options', {
    kind: 'DeleteOptions',
    apiVersion: 'v1',
    ...{ gracePeriodSeconds, propagationPolicy, preconditions },
    dryRun: dryRun ? ['All'] : undefined,
  });
  return { body, query: { dryRun: dryRun ? 'All' : undefined }, signal };
}
