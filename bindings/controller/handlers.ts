/**
 * The standard event handlers. A handler only names the requests that an event concerns; the
 * reconcile function reads the objects from the cache. Events that come late or twice therefore do
 * no harm.
 *
 * Requests of an initial list and of updates without a change (a resync or a relist) get {@link
 * LowPriority}, so that changes are reconciled first while a controller starts or resyncs. A
 * priority that the handler sets takes precedence. controller-runtime: pkg/handler/eventhandler.go,
 * enqueue.go, enqueue_owner.go, enqueue_mapped.go.
 */

import { CapstanError, invalid, requireBoolean, requireFunction, show } from '../base/errors.ts';
import { handleError } from '../base/handle-error.ts';
import { namesOf, requireMembers, requireNames } from '../base/names.ts';
import type { Request } from '../base/request.ts';
import { notResource, type Resource } from '../base/resource.ts';
import { isThenable } from '../base/wait.ts';
import type { AddOptions } from '../workqueue/index.ts';
import { comparedAsBytes, objectMetadata, sameVersion, storedRequest } from './metadata.ts';
import { RequestCarrier, type RequestType, requireRequestType } from './own-requests.ts';
import { RequestMap } from './request-map.ts';
import type {
  CreateEvent,
  DeleteEvent,
  EventHandler,
  GenericEvent,
  HandlerQueue,
  UpdateEvent,
} from './source.ts';

/**
 * The priority of requests that no change has caused. controller-runtime: `handler.LowPriority`.
 */
export const LowPriority = -100;

/**
 * Requests a reconcile of the object of the event. An object without metadata is reported and
 * ignored. controller-runtime: handler.EnqueueRequestForObject.
 *
 * @example
 * const cache = newSharedInformerFactory(transport);
 * const source = kindSource({ cache, resource: Website, handler: enqueueRequestForObject() });
 */
export function enqueueRequestForObject(): EventHandler<object> {
  const add = (object: object | undefined, queue: HandlerQueue): void => {
    const request = requestOf(object);
    if (request !== undefined) queue.add(request);
  };
  return withLowPriorityWhenUnchanged<object>({
    create: ({ object }, queue) => add(object, queue),
    update: ({ objectOld, objectNew }, queue) => add(objectNew ?? objectOld, queue),
    delete: ({ object }, queue) => add(object, queue),
    generic: ({ object }, queue) => add(object, queue),
  });
}

/** The resource of the owners. */
export type OwnerResource = Pick<Resource<never, string>, 'group' | 'kind' | 'namespaced'>;

/** Options of {@link enqueueRequestForOwner}. */
export interface OwnerOptions {
  /**
   * Considers only the owner reference with `controller: true`. Default false: all owner
   * references.
   */
  onlyController?: boolean | undefined;
  /**
   * The accepted versions of the owner's group. A reference to the same group and kind in another
   * version is reported, and the rest of that object's references are skipped. controller-runtime
   * does so with the versions that the server has. Default: any version, so that no owner is missed
   * when its version is no longer served.
   */
  versions?: readonly string[] | undefined;
}

/** A map function. With the option `request` its requests are of the program's own type. */
type MapFunc<T> = (object: T) => Iterable<unknown> | Promise<Iterable<unknown>>;

/** Options of {@link enqueueRequestsFromMapFunc}. */
export interface MapFuncOptions<R> {
  /** The type of the requests: what {@link defineRequest} has made. */
  request: RequestType<R>;
}

const MAP_NAMES = namesOf<MapFuncOptions<never>>()({ request: 1 });
const OWNER_NAMES = namesOf<OwnerOptions>()({ onlyController: 1, versions: 1 });
const HANDLER_NAMES = namesOf<EventHandler<never>>()({
  create: 1,
  update: 1,
  delete: 1,
  generic: 1,
});

/**
 * Requests a reconcile of the owners of the object that have the group and kind of `owner`. For an
 * update it looks at both states, so that an owner that lost the object is reconciled too. Each
 * owner is added once per event. A reference with an invalid apiVersion is reported, and the rest
 * of that object's references are skipped.
 *
 * A tombstone without an object has no owner references: the owner is reconciled at its next change
 * or resync. controller-runtime: handler.EnqueueRequestForOwner.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const cache = newSharedInformerFactory(transport);
 * const handler = enqueueRequestForOwner(Website, { onlyController: true });
 * const source = kindSource({ cache, resource: Deployment, handler });
 */
export function enqueueRequestForOwner(
  owner: OwnerResource,
  options: OwnerOptions = {},
): EventHandler<object> {
  if (typeof owner?.kind !== 'string' || typeof owner.group !== 'string')
    throw notResource('owner', owner);
  requireNames('options', options, 'option of enqueueRequestForOwner()', OWNER_NAMES);
  const { onlyController = false, versions } = options;
  requireBoolean('options.onlyController', onlyController);
  if (versions !== undefined && !Array.isArray(versions))
    throw invalid('options.versions', 'an array of versions', versions);
  const addOwners = (queue: HandlerQueue, now: object, old?: object): void => {
    const requests = new RequestSet();
    if (old !== undefined) collectOwners(old, owner, options, requests);
    collectOwners(now, owner, options, requests);
    requests.addTo(queue);
  };
  return withLowPriorityWhenUnchanged<object>({
    create: ({ object }, queue) => addOwners(queue, object),
    update: (event, queue) => {
      // If the bytes show that the metadata is unchanged, the old object is not decoded.
      const same = comparedAsBytes(event) && !event.change.metadata;
      addOwners(queue, event.objectNew, same ? undefined : event.objectOld);
    },
    delete: ({ object }, queue) => addOwners(queue, object),
    generic: ({ object }, queue) => addOwners(queue, object),
  });
}

/**
 * Requests a reconcile of what the function returns for the object of an event. For an update it is
 * called with both states, and each request is added once.
 *
 * The function may be async: the source handles its next event when the promise has settled, so
 * that the order is kept. If the function throws, rejects or returns something that is not a
 * request, the valid requests are added, the error is reported, and the event is retried as
 * described at {@link EventHandler}. controller-runtime: handler.EnqueueRequestsFromMapFunc.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const handler = enqueueRequestsFromMapFunc((pod: V1Pod) => {
 *   const name = pod.metadata?.labels?.website;
 *   return name === undefined ? [] : [{ namespace: pod.metadata?.namespace ?? '', name }];
 * });
 */
export function enqueueRequestsFromMapFunc<T = object>(
  map: (object: T) => Iterable<Request> | Promise<Iterable<Request>>,
): EventHandler<T>;
/**
 * The same with requests of a type of your own; annotate the parameter of the function.
 * controller-runtime: handler.TypedEnqueueRequestsFromMapFunc.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const Tenant = defineRequest({ key: (tenant: { id: number }) => String(tenant.id) });
 * const handler = enqueueRequestsFromMapFunc(
 *   ({ metadata }: V1Pod) => [{ id: Number(metadata?.labels?.tenant) }],
 *   { request: Tenant },
 * );
 */
export function enqueueRequestsFromMapFunc<T, R>(
  map: (object: T) => Iterable<NoInfer<R>> | Promise<Iterable<NoInfer<R>>>,
  options: MapFuncOptions<R>,
): EventHandler<T, R>;
export function enqueueRequestsFromMapFunc<T>(
  map: (object: T) => Iterable<unknown> | Promise<Iterable<unknown>>,
  options: Partial<MapFuncOptions<unknown>> = {},
): EventHandler<T> {
  requireFunction('map', map);
  requireNames('options', options, 'option of enqueueRequestsFromMapFunc()', MAP_NAMES);
  const { request } = options;
  if (request !== undefined) requireRequestType('options.request', request);
  const carrier = request && new RequestCarrier(request);
  const add = ({ object }: { object: T }, queue: HandlerQueue): Promise<void> | undefined => {
    const requests = new RequestSet(carrier);
    const found = requests.collect(map, object);
    return found === undefined ? requests.addTo(queue) : found.then(() => requests.addTo(queue));
  };
  return withLowPriorityWhenUnchanged<T>({
    create: add,
    update: ({ objectOld, objectNew }, queue) => {
      const requests = new RequestSet(carrier);
      const old = requests.collect(map, objectOld);
      const now = requests.collect(map, objectNew);
      return old === undefined && now === undefined
        ? requests.addTo(queue)
        : Promise.all([old, now]).then(() => requests.addTo(queue));
    },
    delete: add,
    generic: add,
  });
}

/**
 * Makes a handler from functions, one for each kind of event; a missing function ignores its
 * events. Requests of an initial list and of unchanged updates get {@link LowPriority} unless the
 * function sets a priority. Sources also accept the plain object; use this to check it early or to
 * call the handler yourself. controller-runtime: handler.Funcs.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const onlyDeletions = handlerFuncs<V1Pod>({
 *   delete: ({ object }, queue) => queue.add({ namespace: '', name: object.spec?.nodeName ?? '' }),
 * });
 */
export function handlerFuncs<T = object, R = Request>(
  funcs: EventHandler<T, R>,
): EventHandler<T, R> {
  return withLowPriorityWhenUnchanged(funcs);
}

/**
 * Wraps a handler so that its requests get {@link LowPriority} if the object is of the initial
 * list, or if an update has the resourceVersion of the previous state. A priority that the handler
 * sets takes precedence. All handlers of this package behave this way, and sources wrap the
 * handlers that they get. controller-runtime: handler.WithLowPriorityWhenUnchanged.
 *
 * @throws CapstanError INVALID_ARGUMENT
 */
export function withLowPriorityWhenUnchanged<T = object, R = Request>(
  handler: EventHandler<T, R>,
): EventHandler<T, R> {
  if (handler instanceof PriorityHandler) return handler;
  return new PriorityHandler(handler as EventHandler<T, never>) as EventHandler<T, never>;
}

/** Throws CapstanError INVALID_ARGUMENT. */
export function requireEventHandler(name: string, handler: unknown): void {
  requireMembers(name, handler, 'member of an event handler', HANDLER_NAMES);
  for (const method of ['create', 'update', 'delete', 'generic'] as const) {
    const given: unknown = (handler as Record<string, unknown>)[method];
    if (given !== undefined) requireFunction(`${name}.${method}`, given);
  }
}

/**
 * Has only the methods that the handler has, so that events that a handler ignores cost nothing.
 */
class PriorityHandler<T> implements EventHandler<T> {
  readonly create: ((event: CreateEvent<T>, queue: HandlerQueue) => void) | undefined;
  readonly update: ((event: UpdateEvent<T>, queue: HandlerQueue) => void) | undefined;
  readonly delete: ((event: DeleteEvent<T>, queue: HandlerQueue) => void) | undefined;
  readonly generic: ((event: GenericEvent<T>, queue: HandlerQueue) => void) | undefined;

  constructor(handler: EventHandler<T>) {
    requireEventHandler('handler', handler);
    this.create =
      handler.create &&
      ((event, queue) => handler.create?.(event, withLowPriority(event.isInInitialList, queue)));
    this.update =
      handler.update &&
      ((event, queue) =>
        handler.update?.(event, withLowPriority(sameVersion(event as UpdateEvent<object>), queue)));
    this.delete = handler.delete && ((event, queue) => handler.delete?.(event, queue));
    this.generic = handler.generic && ((event, queue) => handler.generic?.(event, queue));
  }
}

function withLowPriority(isLow: boolean, queue: HandlerQueue): HandlerQueue {
  return isLow ? new LowPriorityQueue(queue) : queue;
}

/** Adds with {@link LowPriority} unless a priority is given. */
class LowPriorityQueue implements HandlerQueue {
  readonly #queue: HandlerQueue;

  constructor(queue: HandlerQueue) {
    this.#queue = queue;
  }

  add(request: Request): void {
    this.#queue.addWithOpts({ priority: LowPriority }, request);
  }

  addAfter(request: Request, ms: number): void {
    this.#queue.addWithOpts({ priority: LowPriority, after: ms }, request);
  }

  addRateLimited(request: Request): void {
    this.#queue.addWithOpts({ priority: LowPriority, rateLimited: true }, request);
  }

  addWithOpts(options: AddOptions, ...requests: Request[]): void {
    const { priority = LowPriority } = options;
    this.#queue.addWithOpts({ ...options, priority }, ...requests);
  }
}

function requestOf(object: unknown): Request | undefined {
  const known = storedRequest(object);
  if (known !== undefined) return known;
  const { namespace, name } = objectMetadata(object) ?? {};
  if (typeof name === 'string') return { namespace: namespace ?? '', name };
  handleError(
    invalid('object', 'an object with metadata.name', object),
    'handler enqueueRequestForObject',
  );
  return undefined;
}

interface OwnerReference {
  apiVersion?: unknown;
  kind?: string | undefined;
  name?: unknown;
  controller?: boolean | null | undefined;
}

/** Stops at the first invalid reference; owners found before it are kept. */
function collectOwners(
  object: object,
  owner: OwnerResource,
  options: OwnerOptions,
  into: RequestSet,
): void {
  const metadata = objectMetadata(object);
  const references: unknown = (metadata as { ownerReferences?: unknown } | undefined)
    ?.ownerReferences;
  if (references === undefined || references === null) return;
  if (!Array.isArray(references)) {
    reportOwner(object, 'a list', references);
    return;
  }
  for (const reference of references as (OwnerReference | null)[]) {
    const { apiVersion = '', kind, name, controller } = reference ?? {};
    if (reference === null || (options.onlyController && controller !== true)) continue;
    const parsed = parseGroupVersion(apiVersion);
    if (parsed === undefined) {
      reportOwner(object, 'an apiVersion "version" or "group/version"', apiVersion);
      return;
    }
    if (parsed.group === owner.group && kind === owner.kind && typeof name === 'string') {
      if (options.versions !== undefined && !options.versions.includes(parsed.version)) {
        reportOwner(object, `a version of ${options.versions.join(', ')}`, apiVersion);
        return;
      }
      into.add({ namespace: owner.namespaced ? (metadata?.namespace ?? '') : '', name });
    }
    if (options.onlyController) return; // as metav1.GetControllerOf, which returns the first
  }
}

function reportOwner(object: object, expected: string, got: unknown): void {
  const { namespace = '', name } = objectMetadata(object) ?? {};
  const where = `the owner references of ${namespace}/${name}`;
  const error = new CapstanError(
    'INVALID_ARGUMENT',
    `${where}: expected ${expected}, got ${show(got)}`,
  );
  handleError(error, 'handler enqueueRequestForOwner');
}

/** apimachinery: schema.ParseGroupVersion. Returns `undefined` where that fails. */
function parseGroupVersion(apiVersion: unknown): { group: string; version: string } | undefined {
  if (typeof apiVersion !== 'string') return undefined;
  const [first = '', second, ...rest] = apiVersion.split('/');
  if (rest.length > 0) return undefined;
  return second === undefined ? { group: '', version: first } : { group: first, version: second };
}

function isRequest(value: unknown): value is Request {
  const request = value as Partial<Request> | null | undefined;
  return typeof request?.namespace === 'string' && typeof request.name === 'string';
}

/** Up to this many requests are compared one by one; beyond it a map is used. */
const LINEAR_LIMIT = 16;

/**
 * The distinct requests of one event, in the order in which they were found. There are usually few,
 * but a map function may return one for every object in the cluster.
 */
class RequestSet {
  readonly all: Request[] = [];
  /** The requests of `all`, once there are more than {@link LINEAR_LIMIT}. */
  #known: RequestMap<true> | undefined;
  /** Absent: the requests are ordinary ones. */
  readonly #carrier: RequestCarrier<unknown> | undefined;
  /** The first error: what a function threw, or a value that is not a request. */
  #failure: { readonly error: unknown } | undefined;

  constructor(carrier?: RequestCarrier<unknown>) {
    this.#carrier = carrier;
  }

  /**
   * Adds the requests that the function returns for an object. Never throws; the returned promise
   * never rejects. `addTo` throws the error.
   */
  collect<T>(map: MapFunc<T>, object: T): Promise<void> | undefined {
    try {
      const found = map(object);
      if (isThenable(found)) return this.#settle(found);
      this.#addAll(found);
    } catch (error) {
      this.#fail(error);
    }
    return undefined;
  }

  async #settle(found: PromiseLike<Iterable<unknown>>): Promise<void> {
    try {
      this.#addAll(await found);
    } catch (error) {
      this.#fail(error);
    }
  }

  #addAll(found: Iterable<unknown>): void {
    for (const request of found) {
      if (this.#carrier !== undefined) this.#carry(this.#carrier, request);
      else if (isRequest(request)) this.add(request);
      else
        this.#fail(invalid('map(object)', 'requests { namespace: string, name: string }', request));
    }
  }

  #carry(carrier: RequestCarrier<unknown>, request: unknown): void {
    try {
      this.add(carrier.carry(request));
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
  }

  /** Adds all requests, then throws the first error of `collect` or of the queue. */
  addTo(queue: HandlerQueue): undefined {
    for (const request of this.all) {
      try {
        queue.add(this.#carrier === undefined ? request : (this.#carrier.own(request) as Request));
      } catch (error) {
        this.#fail(error);
      }
    }
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  add(request: Request): void {
    if (this.#has(request)) return;
    this.all.push(request);
    this.#known?.set(request, true);
  }

  #has(request: Request): boolean {
    const { all } = this;
    if (all.length < LINEAR_LIMIT) {
      return all.some(
        ({ namespace, name }) => name === request.name && namespace === request.namespace,
      );
    }
    if (this.#known === undefined) {
      this.#known = new RequestMap();
      for (const each of all) this.#known.set(each, true);
    }
    return this.#known.has(request);
  }
}
