/**
 * The types of the client. `newClient`, the client with interceptors and the fake client for tests
 * all have this shape. controller-runtime: pkg/client/interfaces.go.
 *
 * An error that the server answers rejects with StatusError (see `isNotFound`); a request without
 * an answer rejects with TransportError.
 */

import type { FromServer, KubeObject } from '../base/object.ts';
import type { Resource } from '../base/resource.ts';
import type { LabelSelector } from '../base/selectors.ts';

/** Any resource, whatever its objects and indices. */
export type AnyResource = Resource<never, string>;

/** The key of an object. A reconcile request is one, and so is an object's metadata. */
export interface ObjectKey {
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** Options of every call. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

/** Options of `get`, and of every read. */
export interface ReadOptions extends CallOptions {
  /**
   * Asks the server instead of the cache. Default false. Without a cache for the resource every
   * read does so.
   */
  readonly live?: boolean | undefined;
  /**
   * Whether a read from the cache waits until the cache has the writes of this client. Default: the
   * client's option of the same name, which is true by default.
   */
  readonly readYourWrites?: boolean | undefined;
  /**
   * Says that the object will be written back. `get` then asks the server if the cache keeps less
   * than the server has (`drop`, a transform, `metadataOnly`) or if its selectors may exclude the
   * object. Default false. `createOrUpdate` and `createOrPatch` set it.
   */
  readonly forUpdate?: boolean | undefined;
  /** The resourceVersion that a live read sends. It has the API server's semantics. */
  readonly resourceVersion?: string | undefined;
}

/** Options of `list`. An object must meet all of them. */
export interface ListOptions extends ReadOptions {
  readonly namespace?: string | undefined;
  /** `app=web,tier in (front,back)`, or a selector as objects carry it. */
  readonly labelSelector?: string | LabelSelector | undefined;
  /**
   * A cache accepts only `metadata.name`, `metadata.namespace`, indexed paths and names of indices.
   * A server does not know names of indices.
   */
  readonly fieldSelector?: string | undefined;
  /** Selects the objects that a cache has under a value of an index. */
  readonly index?: { readonly name: string; readonly value: string } | undefined;
  /**
   * The most objects in one answer of a live list; pass `continue` to read the next page. A list
   * from a cache ignores `limit` and rejects `continue` with INVALID_ARGUMENT.
   */
  readonly limit?: number | undefined;
  readonly continue?: string | undefined;
}

/** A list: read-only objects, and the metadata of the list. */
export interface ObjectList<T> {
  readonly items: FromServer<T>[];
  readonly metadata: {
    readonly resourceVersion?: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
}

/** Options of every write. */
export interface WriteOptions extends CallOptions {
  readonly dryRun?: boolean | undefined;
  /** Default: the client's. */
  readonly fieldOwner?: string | undefined;
  /**
   * What the server does with unknown fields. Default: the client's, else the server's (`Warn`).
   */
  readonly fieldValidation?: 'Ignore' | 'Warn' | 'Strict' | undefined;
}

/** Options of a server-side apply. */
export interface ApplyOptions extends WriteOptions {
  /** Takes ownership of fields that another manager owns, instead of a conflict. Default false. */
  readonly force?: boolean | undefined;
}

/** Options of `delete`. The server's defaults apply to options that are left out. */
export interface DeleteOptions extends CallOptions {
  readonly dryRun?: boolean | undefined;
  readonly gracePeriodSeconds?: number | undefined;
  readonly propagationPolicy?: 'Orphan' | 'Background' | 'Foreground' | undefined;
  readonly preconditions?:
    | { readonly uid?: string | undefined; readonly resourceVersion?: string | undefined }
    | undefined;
}

/** Options of `deleteAllOf`. Without a selector all objects of the namespace are deleted. */
export interface DeleteAllOfOptions extends DeleteOptions {
  readonly namespace?: string | undefined;
  /** `app=web,tier in (front,back)`, or a selector as objects carry it. */
  readonly labelSelector?: string | LabelSelector | undefined;
  readonly fieldSelector?: string | undefined;
}

/** One JSON Patch operation. RFC 6902. */
export interface JsonPatchOperation {
  readonly op: 'add' | 'remove' | 'replace' | 'move' | 'copy' | 'test';
  readonly path: string;
  readonly from?: string;
  readonly value?: unknown;
}

/** A patch and its type. `raw` is sent as it is; see `rawPatch`. */
export type Patch =
  | { readonly type: 'json'; readonly operations: readonly JsonPatchOperation[] }
  | { readonly type: 'merge'; readonly body: object }
  | { readonly type: 'strategic'; readonly body: object }
  | { readonly type: 'raw'; readonly contentType: string; readonly data: string };

/**
 * All members of `T` optional, at any depth. Lists stay whole, because the server tells their items
 * apart by members that must be there.
 */
type Some<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { readonly [K in keyof T]?: Some<T[K]> }
    : T;

/**
 * The configuration of a server-side apply: any of an object's fields. client-go:
 * applyconfigurations, in which every member is optional.
 */
export type Applied<T> = Some<T> & KubeObject;

/**
 * Reads from a cache if the client has one for the resource, else from the server.
 *
 * What a read returns is read-only, with `live` too: a write to it throws a TypeError. Change a
 * copy (`structuredClone`), or use `createOrUpdate`, which passes you one. controller-runtime:
 * client.Reader.
 */
export interface Reader {
  /** Rejects with a StatusError 404 if there is no such object (`isNotFound`). */
  get<T extends object>(
    resource: Resource<T, string>,
    key: ObjectKey,
    options?: ReadOptions,
  ): Promise<FromServer<T>>;
  list<T extends object>(
    resource: Resource<T, string>,
    options?: ListOptions,
  ): Promise<ObjectList<T>>;
}

/**
 * Writes to the server. A write returns the object that the server answered, which is the caller's
 * to change. The objects that are passed in are never changed. controller-runtime: client.Writer.
 */
export interface Writer {
  /** Creates an object; 409 if it exists (`isAlreadyExists`). */
  create<T extends object>(
    resource: Resource<T, string>,
    object: NoInfer<T>,
    options?: WriteOptions,
  ): Promise<FromServer<T>>;
  /**
   * Replaces an object. With a `metadata.resourceVersion` that is not the newest the server answers
   * a conflict (409).
   *
   * Numbers that were not changed are sent with the digits that the server sent, also integers
   * beyond 2^53. If the digits are not known, the client reads the object first, and rejects the
   * update if that read does not tell them. Pass a BigInt to set such a number. An object from a
   * cache that keeps less than the server (`drop`, a transform) is read first too; the update is
   * rejected if it would delete something. Then read with `forUpdate`, use `createOrUpdate`, or
   * patch.
   */
  update<T extends object>(
    resource: Resource<T, string>,
    object: NoInfer<T>,
    options?: WriteOptions,
  ): Promise<FromServer<T>>;
  patch<T extends object>(
    resource: Resource<T, string>,
    key: ObjectKey,
    patch: Patch,
    options?: WriteOptions,
  ): Promise<FromServer<T>>;
  /**
   * Server-side apply of the fields in `object`. Needs a field owner: the client's or the option's.
   */
  apply<T extends object>(
    resource: Resource<T, string>,
    object: Applied<NoInfer<T>>,
    options?: ApplyOptions,
  ): Promise<FromServer<T>>;
  delete<T extends object>(
    resource: Resource<T, string>,
    key: ObjectKey,
    options?: DeleteOptions,
  ): Promise<void>;
  deleteAllOf<T extends object>(
    resource: Resource<T, string>,
    options?: DeleteAllOfOptions,
  ): Promise<void>;
}

/**
 * Options of a write to a subresource. `body` is sent instead of the object, whose key is still
 * used. controller-runtime: WithSubResourceBody.
 */
export interface SubResourceWriteOptions<B extends object> extends WriteOptions {
  readonly body?: B | undefined;
}

/** As {@link SubResourceWriteOptions}, for a server-side apply. */
export interface SubResourceApplyOptions<B extends object> extends ApplyOptions {
  readonly body?: B | undefined;
}

/**
 * Reads and writes one subresource, such as `status` or `scale`. `B` is the type of its body: the
 * object itself for `status`. controller-runtime: client.SubResourceClient.
 */
export interface SubResourceClient {
  get<T extends object, B extends object = T>(
    resource: Resource<T, string>,
    key: ObjectKey,
    options?: ReadOptions,
  ): Promise<FromServer<B>>;
  create<T extends object, B extends object>(
    resource: Resource<T, string>,
    key: ObjectKey,
    body: B,
    options?: WriteOptions,
  ): Promise<B>;
  update<T extends object, B extends object = T>(
    resource: Resource<T, string>,
    object: NoInfer<T>,
    options?: SubResourceWriteOptions<B>,
  ): Promise<FromServer<B>>;
  patch<T extends object, B extends object = T>(
    resource: Resource<T, string>,
    key: ObjectKey,
    patch: Patch,
    options?: WriteOptions,
  ): Promise<FromServer<B>>;
  apply<T extends object, B extends object = T>(
    resource: Resource<T, string>,
    object: Applied<NoInfer<T>>,
    options?: SubResourceApplyOptions<B>,
  ): Promise<FromServer<B>>;
}

/**
 * Reads and writes objects of any resource. controller-runtime: client.Client.
 *
 * @example
 * const key = { namespace: 'default', name: 'web-0' };
 * const pod = await client.get(Pod, key);
 * const body = { metadata: { labels: { node: pod.spec?.nodeName } } };
 * await client.patch(Pod, key, { type: 'merge', body });
 */
export interface Client extends Reader, Writer {
  /** The client of the status subresource. */
  status(): SubResourceClient;
  /** The client of another subresource, such as `scale`, `eviction` or `token`. */
  subResource(name: string): SubResourceClient;
}
