/**
 * The client that reads from caches and writes to the server. controller-runtime:
 * pkg/client/client.go, pkg/cache/internal/cache_reader.go.
 *
 * Invariants: a cached read returns objects that include this client's earlier writes, and that are
 * read-only. The read asks the server if the cache cannot answer: the resource is not cached or not
 * served, the cache does not have the namespace, or the writes do not arrive in time.
 */

import { CapstanError, hasCode, invalid, requireObject } from '../base/errors.ts';
import type { FromServer, KubeObject } from '../base/object.ts';
import { type Resource, resourceId } from '../base/resource.ts';
import { labelSelectorText } from '../base/selectors.ts';
import type { InformerSelection } from '../cache/informer/factory-options.ts';
import { isNotFound, StatusError } from '../cache/rest/status-error.ts';
import type { Indexer } from '../cache/store/store.ts';
import { joined, requireUnpaged, selectFrom, selectorOf } from './cached-list.ts';
import { CachedWrites } from './cached-writes.ts';
import { LiveClient, type WriteDefaults, type WriteObserver } from './live-client.ts';
import { requireCallOptions } from './option-names.ts';
import { requireNamespace, requireResource } from './paths.ts';
import { isOpaque, type OwnWrite, type WrittenObject } from './read-your-writes.ts';
import { cacheKey, ResourceCache, type ResourceCacheOptions } from './resource-cache.ts';
import type { RestClient } from './rest-client.ts';
import { ignoreNotFound } from './status-errors.ts';
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
  SubResourceClient,
  WriteOptions,
} from './types.ts';

export interface CachedClientOptions extends ResourceCacheOptions {
  readonly readYourWrites: boolean;
  readonly disableFor: readonly AnyResource[];
}

const NONE: ReadOptions = Object.freeze({});

export class CachedClient implements Client {
  readonly #live: LiveClient;
  readonly #writes: CachedWrites;
  readonly #options: CachedClientOptions;
  readonly #disabled: ReadonlySet<string>;
  /** By resource, or by resource and namespace if the cache has several namespaces. */
  readonly #caches = new Map<string, ResourceCache>();
  /**
   * The caches whose informer has the indices of this definition. By namespace if there are
   * several.
   */
  #opened = new WeakMap<AnyResource, ResourceCache | Map<string, ResourceCache>>();

  /** The namespaces of those of `#caches` that `setNamespaces` may remove, by name. */
  readonly #inEach = new Map<string, string>();
  /** The namespaces of the factory when they were last looked at. */
  #namespaces: readonly string[] | undefined;

  constructor(rest: RestClient, defaults: WriteDefaults, options: CachedClientOptions) {
    this.#options = options;
    this.#disabled = new Set(options.disableFor.map(resourceId));
    this.#live = new LiveClient(rest, defaults, this.#observer());
    this.#writes = new CachedWrites(this.#live, (resource, namespace) =>
      this.#cacheOf(resource, namespace),
    );
  }

  async get<T extends object>(
    resource: Resource<T, string>,
    key: ObjectKey,
    options: ReadOptions = NONE,
  ): Promise<FromServer<T>> {
    if (options !== NONE) requireCallOptions('get', options);
    // The fast path: the cache is open, no write is pending, the object is there. All other cases
    // are in #get.
    const { namespace = '', name } = key ?? {};
    if (
      !isLiveRead(options) &&
      !options.forUpdate &&
      typeof name === 'string' &&
      resource?.namespaced === (namespace !== '')
    ) {
      const opened = this.#opened.get(resource);
      const cache = opened instanceof Map ? opened.get(namespace) : opened;
      const indexer = cache?.ready(key) as Indexer<T, string> | undefined;
      const object = indexer?.getByName(key);
      if (object !== undefined && indexer?.metadataOnly(object) === 0)
        return object as FromServer<T>;
    }
    return await this.#whileNamespacesChange(() => this.#get(resource, key, options));
  }

  async list<T extends object>(
    resource: Resource<T, string>,
    options: ListOptions = {},
  ): Promise<ObjectList<T>> {
    requireResource(resource);
    requireCallOptions('list', options);
    return await this.#whileNamespacesChange(() => this.#list(resource, options));
  }

  /** A read that meets the end of a namespace's cache is repeated. */
  async #whileNamespacesChange<R>(read: () => Promise<R>): Promise<R> {
    const { factory } = this.#options;
    for (;;) {
      const before = factory.namespaces();
      try {
        return await read();
      } catch (error) {
        if (before === factory.namespaces() || !hasCode(error, 'STOPPED')) throw error;
      }
    }
  }

  async #list<T extends object>(
    resource: Resource<T, string>,
    options: ListOptions,
  ): Promise<ObjectList<T>> {
    const namespace = resource.namespaced ? (options.namespace ?? '') : '';
    const isLive = isLiveRead(options) || this.#disabled.has(resourceId(resource));
    const caches = isLive ? [] : this.#cachesIn(resource, namespace);
    const [first, ...more] = caches;
    if (first === undefined && !isLive && namespace === '' && this.#hasNoNamespace(resource))
      return joined([]);
    if (first === undefined) return await this.#live.list(resource, options);
    requireUnpaged(options);
    const whole = { ...options, limit: undefined };
    if (more.length === 0) return await this.#listFrom(first, resource, namespace, whole);
    return joined(
      await Promise.all(caches.map((cache) => this.#listFrom(cache, resource, namespace, whole))),
    );
  }

  create<T extends object>(
    resource: Resource<T, string>,
    object: T,
    options?: WriteOptions,
  ): Promise<FromServer<T>> {
    return this.#writes.create(resource, object, options);
  }

  update<T extends object>(
    resource: Resource<T, string>,
    object: T,
    options?: WriteOptions,
  ): Promise<FromServer<T>> {
    return this.#writes.update(resource, object, options);
  }

  patch<T extends object>(
    resource: Resource<T, string>,
    key: ObjectKey,
    patch: Patch,
    options?: WriteOptions,
  ): Promise<FromServer<T>> {
    return this.#writes.patch(resource, key, patch, options);
  }

  apply<T extends object>(
    resource: Resource<T, string>,
    object: Applied<T>,
    options?: ApplyOptions,
  ): Promise<FromServer<T>> {
    return this.#writes.apply(resource, object, options);
  }

  delete<T extends object>(
    resource: Resource<T, string>,
    key: ObjectKey,
    options?: DeleteOptions,
  ): Promise<void> {
    return this.#writes.delete(resource, key, options);
  }

  deleteAllOf<T extends object>(
    resource: Resource<T, string>,
    options?: DeleteAllOfOptions,
  ): Promise<void> {
    return this.#live.deleteAllOf(resource, options);
  }

  status(): SubResourceClient {
    return this.#writes.subResource('status');
  }

  subResource(name: string): SubResourceClient {
    return this.#writes.subResource(name);
  }

  async #get<T extends object>(
    resource: Resource<T, string>,
    asked: ObjectKey,
    options: ReadOptions,
  ): Promise<FromServer<T>> {
    requireResource(resource);
    const cache = isLiveRead(options) ? undefined : this.#cacheOf(resource, asked?.namespace);
    if (cache === undefined) return await this.#live.get(resource, asked, options);
    requireObject('key', asked);
    const key = { name: asked.name, namespace: requireNamespace(resource, asked.namespace) };
    if (typeof key.name !== 'string' || key.name === '')
      throw invalid('key.name', 'a name', key.name);
    if (!(await cache.isServed(resource, options.signal)))
      return await this.#live.get(resource, key, options);
    const indexer = await this.#open(cache, resource, options.signal);
    if (!cache.holds(key.namespace) || (options.forUpdate && cache.kept() !== undefined))
      return await this.#live.get(resource, key, options);
    if (this.#readsOwnWrites(options)) {
      const ask = this.#asker(resource, cache, options.signal);
      const missing = await cache.catchUp({ key: cacheKey(key) }, ask, options.signal);
      if (missing.length > 0) return await this.#getLive(resource, cache, key, missing, options);
    }
    const object = indexer.getByKey(cacheKey(key));
    if (cache.isStale(cacheKey(key), object))
      return await this.#getLive(resource, cache, key, [], options);
    if (object === undefined) {
      if (options.forUpdate && cache.selectors() !== '')
        return await this.#live.get(resource, key, options);
      throw notFound(resource, key.name);
    }
    return indexer.metadataOnly(object) === 0
      ? (object as FromServer<T>)
      : this.#getLive(resource, cache, key, [], options);
  }

  /** @param namespace "" for all namespaces of the cache */
  async #listFrom<T extends object>(
    cache: ResourceCache,
    resource: Resource<T, string>,
    namespace: string,
    options: ListOptions,
  ): Promise<ObjectList<T>> {
    const { signal } = options;
    if (!(await cache.isServed(resource, signal)))
      await this.#live.list(resource, { namespace, limit: 1, signal });
    // #served throws the server's error. If it did not, the server serves the kind, and the cache
    // soon has it.
    const indexer = await this.#open(cache, resource, signal);
    if (!cache.holds(namespace)) return await this.#live.list(resource, options);
    if (this.#readsOwnWrites(options)) {
      const ask = this.#asker(resource, cache, options.signal);
      const missing = await cache.catchUp(
        { namespace, patient: isOfCache(options) },
        ask,
        options.signal,
      );
      if (missing.length > 0 && !isOfCache(options))
        return await this.#listLive(resource, cache, indexer, namespace, options);
      // The cache may never reach a version that cannot be compared with its own.
      if (!missing.every(isOpaque)) throw this.#behind(resource);
    }
    // An object with its metadata alone has unknown index values.
    if (!isOfCache(options) || indexer.metadataOnly() === 0) {
      const list = await selectFrom(indexer, options, namespace, cache.progress());
      if (list.items.every((object) => indexer.metadataOnly(object) === 0))
        return await this.#refreshed(resource, cache, list, options);
    }
    return await this.#listLive(resource, cache, indexer, namespace, options);
  }

  /**
   * Asks the server, with the cache's selectors: the cache did not arrive in time, or does not have
   * the whole object.
   */
  async #getLive<T extends object>(
    resource: Resource<T, string>,
    cache: ResourceCache,
    key: ObjectKey,
    missing: readonly OwnWrite[],
    options: ReadOptions,
  ): Promise<FromServer<T>> {
    try {
      const object = await this.#live.get(resource, key, options);
      cache.writes.learn(missing, object);
      if (cache.belongs(object) || options.forUpdate) return object;
    } catch (error) {
      if (isNotFound(error)) cache.writes.learn(missing, undefined);
      throw error;
    }
    throw notFound(resource, key.name);
  }

  /** Replaces the objects that the server is known to have in a newer version by that version. */
  async #refreshed<T extends object>(
    resource: Resource<T, string>,
    cache: ResourceCache,
    list: ObjectList<T>,
    { signal }: ListOptions,
  ): Promise<ObjectList<T>> {
    if (!cache.hasRefused()) return list;
    const refresh = async (item: FromServer<T>): Promise<FromServer<T> | undefined> => {
      const key = (item as KubeObject).metadata as ObjectKey;
      if (!cache.isStale(cacheKey(key), item)) return item;
      return this.#getLive(resource, cache, key, [], { signal }).catch(ignoreNotFound);
    };
    const items = await Promise.all(list.items.map(refresh));
    return { ...list, items: items.filter((item) => item !== undefined) };
  }

  async #listLive<T extends object>(
    resource: Resource<T, string>,
    cache: ResourceCache,
    indexer: Indexer<T, string>,
    namespace: string,
    options: ListOptions,
  ): Promise<ObjectList<T>> {
    const { fieldSelector = '', labelSelector = '', signal } = options;
    const select = selectorOf(indexer, options);
    const selection = cache.selection();
    return select(
      await this.#live.list(
        resource,
        {
          namespace: namespace || selection.namespace,
          labelSelector: both(labelSelectorText(labelSelector), selection.labelSelector),
          fieldSelector: both(isOfCache(options) ? '' : fieldSelector, selection.fieldSelector),
          signal,
        },
        selection.others,
      ),
    );
  }

  #behind({ plural }: AnyResource): CapstanError {
    return new CapstanError(
      'TIMEOUT',
      `the cache of ${plural} does not show this client's own writes yet, for ` +
        `which one read waits, ${this.#options.readYourWritesTimeout} ms at most, ` +
        'and those after it do not; the server has no such index to ask instead: try ' +
        'again later, or set readYourWrites to false',
    );
  }

  /**
   * Reads one object by a list with a field selector: a list says its resourceVersion also when the
   * object does not exist. Without a name it asks for the resourceVersion alone.
   */
  #asker<T extends object>(
    resource: Resource<T, string>,
    cache: ResourceCache,
    signal: AbortSignal | undefined,
  ) {
    return async ({ namespace, name }: ObjectKey) => {
      const { labelSelector, fieldSelector, others } = cache.selection();
      const named = `metadata.name=${escapeField(name)}`;
      const [which, more] =
        name === ''
          ? [{ limit: 1 }]
          : [{ labelSelector, fieldSelector: both(named, fieldSelector) }, others];
      const options = { namespace, ...which, signal };
      const { items, metadata } = await this.#live.list(resource, options, more);
      return { object: name === '' ? undefined : items[0], version: metadata.resourceVersion };
    };
  }

  /** The cache of a namespace; undefined if there is none. */
  #cacheOf(resource: AnyResource, namespace = ''): ResourceCache | undefined {
    return this.#cachesIn(resource, namespace, false)[0];
  }

  /** The caches of a list: one for each namespace of the cache if the list names none. */
  #cachesIn(resource: AnyResource, namespace: string, all = namespace === ''): ResourceCache[] {
    const id = resourceId(resource);
    if (this.#disabled.has(id)) return [];
    const { factory } = this.#options;
    const namespaces = factory.namespacesOf(resource as Resource<never, never>);
    if (this.#namespaces !== factory.namespaces()) this.#forgetRemoved();
    const follows = factory.isInEachNamespace(resource);
    if (namespaces.length === 1 && !follows) return [this.#cacheNamed(id, resource, {})];
    const wanted = all ? namespaces : namespaces.filter((each) => each === namespace);
    return wanted.map((each) => {
      const name = `${id} in ${each}`;
      if (follows) this.#inEach.set(name, each);
      return this.#cacheNamed(name, resource, { namespace: each });
    });
  }

  /** Whether a list of all cached namespaces is empty, because there is none now. */
  #hasNoNamespace(resource: AnyResource): boolean {
    const { factory } = this.#options;
    return factory.isInEachNamespace(resource) && factory.namespaces()?.length === 0;
  }

  /** Lets go of the caches of namespaces that the factory no longer has. */
  #forgetRemoved(): void {
    const namespaces = this.#options.factory.namespaces();
    this.#namespaces = namespaces;
    this.#opened = new WeakMap();
    for (const [name, namespace] of this.#inEach) {
      if (namespaces?.includes(namespace)) continue;
      this.#caches.delete(name);
      this.#inEach.delete(name);
    }
  }

  /** The caches that may have a written object, for all definitions of its resource. */
  #written(resource: AnyResource, namespace = ''): ResourceCache[] {
    const id = resourceId(resource);
    this.#cacheOf(resource, namespace); // which makes its own
    const names = namespace === '' ? [id] : [id, `${id} in ${namespace}`];
    const caches = names.flatMap((name) => this.#caches.get(name) ?? []);
    for (const cache of caches) cache.look();
    return caches;
  }

  #cacheNamed(name: string, resource: AnyResource, selection: InformerSelection): ResourceCache {
    let cache = this.#caches.get(name);
    if (cache === undefined) {
      cache = new ResourceCache(resource, selection, this.#options);
      this.#caches.set(name, cache);
    }
    return cache;
  }

  async #open<T extends object>(
    cache: ResourceCache,
    resource: Resource<T, string>,
    signal: AbortSignal | undefined,
  ): Promise<Indexer<T, string>> {
    const indexer = await cache.open(resource, signal);
    const { namespace } = cache.asked;
    if (namespace === undefined) this.#opened.set(resource, cache);
    else {
      const opened = this.#opened.get(resource);
      if (opened instanceof Map) opened.set(namespace, cache);
      else this.#opened.set(resource, new Map([[namespace, cache]]));
    }
    return indexer;
  }

  #readsOwnWrites({ readYourWrites }: ReadOptions): boolean {
    return readYourWrites ?? this.#options.readYourWrites;
  }

  #observer(): WriteObserver {
    return {
      wrote: (resource, answer) => {
        // A Scale has the resourceVersion of the scaled object. Other answers of subresources say
        // nothing of the object.
        const { kind, metadata } = answer as KubeObject;
        if (kind === resource.kind || kind === 'Scale')
          for (const cache of this.#written(resource, metadata?.namespace))
            cache.wrote(answer, kind === resource.kind);
        if (kind !== resource.kind || typeof metadata?.name !== 'string') return;
        this.#options.factory.wrote(resource as Resource<object, never>, answer);
      },
      touched: (resource, key) => {
        const namespace = resource.namespaced ? key.namespace : '';
        for (const cache of this.#written(resource, namespace))
          cache.touched({ namespace, name: key.name });
      },
      deleted: (resource, key, answer) => {
        const { kind, details } = answer as { kind?: string; details?: { uid?: string } };
        const namespace = resource.namespaced ? key.namespace : '';
        for (const cache of this.#written(resource, namespace)) {
          if (kind === 'Status') cache.deleted({ namespace, name: key.name }, 'gone', details?.uid);
          else cache.wroteDeletion(answer);
        }
      },
      deletedAll: (resource, answer) => {
        const { items } = answer as { items?: readonly WrittenObject[] };
        for (const { metadata } of items ?? []) {
          const { name, namespace, uid, resourceVersion } = metadata ?? {};
          if (name === undefined) continue;
          for (const cache of this.#written(resource, namespace))
            cache.deleted({ namespace, name }, 'deleting', uid, resourceVersion);
        }
      },
    };
  }
}

/** Whether a read asks the server. */
export const isLiveRead = ({ live, resourceVersion }: ReadOptions): boolean =>
  live === true || resourceVersion !== undefined;

/**
 * The names of Roles may have characters with a meaning in a selector. apimachinery: pkg/fields
 * EscapeValue.
 */
const escapeField = (value: string): string => value.replace(/[\\,=]/g, '\\$&');

/** Two selectors in one: an object must match both. */
const both = (a: string, b: string): string => (a === '' || b === '' ? a + b : `${a},${b}`);

/** The server's 404. apimachinery: api/errors NewNotFound. */
function notFound({ group, plural }: AnyResource, name: string): StatusError {
  const resource = group === '' ? plural : `${plural}.${group}`;
  const message = `${resource} ${JSON.stringify(name)} not found`;
  const body = {
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    reason: 'NotFound',
    code: 404,
    message,
  };
  const details = group === '' ? { name, kind: plural } : { name, group, kind: plural };
  return new StatusError(404, { ...body, details }, 'the cache');
}

/** Whether a list selects by an index, which the server does not have. */
function isOfCache({ index, fieldSelector = '' }: ListOptions): boolean {
  return index !== undefined || !/^(?:metadata\.name(?:space)?==?[^,=]*,?)*$/.test(fieldSelector);
}
