/**
 * The client as its users and its stand-ins know it: the real one, the one with interceptors and
 * the fake one for tests have this shape. controller-runtime: pkg/client/interfaces.go. Failures of
 * the server reject with StatusError (see `isNotFound` and its like), those of the way to it with
 * TransportError.
 */

import type { LabelSelector } from '../base/selectors.ts';
import type { KubeObject } from '../cache/rest/keys.ts';
import type { Resource } from '../cache/rest/resource.ts';

/** Any resource, whatever its objects and indices. */
export type AnyResource = Resource<never, string>;

/** Which object: a reconcile request is one, and an object's metadata too. */
export interface ObjectKey {
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** Of every call. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

/** Where a read looks. */
export interface ReadOptions extends CallOptions {
  /**
   * Asks the server, past the cache. Where there is no cache for the resource, that is done anyway.
   */
  readonly live?: boolean | undefined;
  /**
   * Whether a read from the cache waits until the cache has what this client has written. Default:
   * the client's option of the same name, which is true.
   */
  readonly readYourWrites?: boolean | undefined;
  /**
   * The object is read to be written back: `get` asks the server where the cache has less of it
   * (`drop`, a transform, `metadataOnly`), and for an object that its selectors may leave out.
   * Default false. `createOrUpdate` and `createOrPatch` read so.
   */
  readonly forUpdate?: boolean | undefined;
  /** The version that a live read asks for, as the API server understands it. */
  readonly resourceVersion?: string | undefined;
}

/** Which objects. All conditions have to hold. */
export interface ListOptions extends ReadOptions {
  readonly namespace?: string | undefined;
  /** `app=web,tier in (front,back)`, or a selector as objects carry it. */
  readonly labelSelector?: string | LabelSelector | undefined;
  /**
   * From the cache: only `metadata.name`, `metadata.namespace`, paths that are indexed, and names
   * of indices, which a server does not know.
   */
  readonly fieldSelector?: string | undefined;
  /** From the cache: objects under a value of an index. */
  readonly index?: { readonly name: string; readonly value: string } | undefined;
  /**
   * Of a live list: how many in one answer; go on with `continue`. A list from a cache gives
   * everything at once, whatever the limit, and refuses `continue` with INVALID_ARGUMENT.
   */
  readonly limit?: number | undefined;
  readonly continue?: string | undefined;
}

/** Objects, which are read-only, and what the server said of the list. */
export interface ObjectList<T> {
  readonly items: T[];
  readonly metadata: {
    readonly resourceVersion?: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
}

/** How to write. */
export interface WriteOptions extends CallOptions {
  readonly dryRun?: boolean | undefined;
  /** Default: the client's. */
  readonly fieldOwner?: string | undefined;
  /** Default: the client's, or the server's (`Warn`). */
  readonly fieldValidation?: 'Ignore' | 'Warn' | 'Strict' | undefined;
}

/** Of a server-side apply. */
export interface ApplyOptions extends WriteOptions {
  /** Takes fields over from other owners. */
  readonly force?: boolean | undefined;
}

/** How to delete. The server's defaults count where an option is left out. */
export interface DeleteOptions extends CallOptions {
  readonly dryRun?: boolean | undefined;
  readonly gracePeriodSeconds?: number | undefined;
  readonly propagationPolicy?: 'Orphan' | 'Background' | 'Foreground' | undefined;
  readonly preconditions?:
    | { readonly uid?: string | undefined; readonly resourceVersion?: string | undefined }
    | undefined;
}

/** Which objects to delete, and how; without a selector all of the namespace. */
export interface DeleteAllOfOptions extends DeleteOptions {
  readonly namespace?: string | undefined;
  /** `app=web,tier in (front,back)`, or a selector as objects carry it. */
  readonly labelSelector?: string | LabelSelector | undefined;
  readonly fieldSelector?: string | undefined;
}

/** One JSON Patch operation, RFC 6902. */
export interface JsonPatchOperation {
  readonly op: 'add' | 'remove' | 'replace' | 'move' | 'copy' | 'test';
  readonly path: string;
  readonly from?: string;
  readonly value?: unknown;
}

/** What to change, and in which language; `raw` is sent as it is, see `rawPatch`. */
export type Patch =
  | { readonly type: 'json'; readonly operations: readonly JsonPatchOperation[] }
  | { readonly type: 'merge'; readonly body: object }
  | { readonly type: 'strategic'; readonly body: object }
  | { readonly type: 'raw'; readonly contentType: string; readonly data: string };

/**
 * The members of `T` that somebody wants to own, at any depth; lists whole, as what is in them is
 * told apart by members that must be there.
 */
type Some<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { readonly [K in keyof T]?: Some<T[K]> }
    : T;

/**
 * What is applied: any of an object's fields. Go: the apply configurations, in which every member
 * may be left out.
 */
export type Applied<T> = Some<T> & KubeObject;

/**
 * Reads, from a cache where the client has one, else from the server. What a read gives is
 * read-only, from every client and also with `live`: a write to it throws a TypeError. Change a
 * copy (`structuredClone`), or use `createOrUpdate`, which makes one. What a write gives is the
 * caller's own.
 */
export interface Reader {
  get<T extends object>(
    resource: Resource<T, string>,
    key: ObjectKey,
    options?: ReadOptions,
  ): Promise<T>;
  list<T extends object>(
    resource: Resource<T, string>,
    options?: ListOptions,
  ): Promise<ObjectList<T>>;
}

/**
 * Writes, to the server. What comes back is the object as the server has it then. None of the
 * objects that are given is changed.
 */
export interface Writer {
  create<T extends object>(
    resource: Resource<T, string>,
    object: NoInfer<T>,
    options?: WriteOptions,
  ): Promise<T>;
  /**
   * Replaces the object; a conflict unless its `metadata.resourceVersion` is the newest, where it
   * has one.
   *
   * Numbers that were not touched go back as they came, integers beyond 2^53 among them; one whose
   * origin is not known costs a read of the object, and is refused where that does not tell it. To
   * set one, give a BigInt. An object from a cache that has less of it than the server (`drop`, a
   * transform) is looked up as well, and refused where the update would lose something: read with
   * `forUpdate`, use `createOrUpdate`, or patch.
   */
  update<T extends object>(
    resource: Resource<T, string>,
    object: NoInfer<T>,
    options?: WriteOptions,
  ): Promise<T>;
  patch<T extends object>(
    resource: Resource<T, string>,
    key: ObjectKey,
    patch: Patch,
    options?: WriteOptions,
  ): Promise<T>;
  /** Server-side apply of the fields that `object` has; it needs a field owner. */
  apply<T extends object>(
    resource: Resource<T, string>,
    object: Applied<NoInfer<T>>,
    options?: ApplyOptions,
  ): Promise<T>;
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
 * With a `body`, that is sent instead of the object, which then only says where to.
 * controller-runtime: WithSubResourceBody.
 */
export interface SubResourceWriteOptions<B extends object> extends WriteOptions {
  readonly body?: B | undefined;
}

/** As {@link SubResourceWriteOptions}, for a server-side apply. */
export interface SubResourceApplyOptions<B extends object> extends ApplyOptions {
  readonly body?: B | undefined;
}

/**
 * One subresource, such as `status` or `scale`; `B` is what it sends and takes, the object itself
 * for `status`.
 */
export interface SubResourceClient {
  get<T extends object, B extends object = T>(
    resource: Resource<T, string>,
    key: ObjectKey,
    options?: ReadOptions,
  ): Promise<B>;
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
  ): Promise<B>;
  patch<T extends object, B extends object = T>(
    resource: Resource<T, string>,
    key: ObjectKey,
    patch: Patch,
    options?: WriteOptions,
  ): Promise<B>;
  apply<T extends object, B extends object = T>(
    resource: Resource<T, string>,
    object: Applied<NoInfer<T>>,
    options?: SubResourceApplyOptions<B>,
  ): Promise<B>;
}

/** Reads and writes objects of any resource. controller-runtime: client.Client. */
export interface Client extends Reader, Writer {
  /** The status subresource. */
  status(): SubResourceClient;
  subResource(name: string): SubResourceClient;
}
