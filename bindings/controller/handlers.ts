/**
 * From an event to the requests it concerns. A handler only names requests; what they need is found
 * out by the reconcile function from the cache, so that an event that came twice or late does no
 * harm.
 *
 * What no change stands behind comes last: an object of an initial list and an update that changed
 * nothing (a resync or a relist) have {@link LowPriority}, so that a controller that starts or
 * resyncs still answers to what happens meanwhile. Where a handler chose a priority itself, that
 * counts. controller-runtime: pkg/handler/eventhandler.go, enqueue.go, enqueue_owner.go,
 * enqueue_mapped.go.
 */

import { CapstanError, invalid, requireBoolean, requireFunction, show } from '../base/errors.ts';
import { handleError } from '../base/handle-error.ts';
import { namesOf, requireMembers, requireNames } from '../base/names.ts';
import type { Request } from '../base/request.ts';
import { isThenable } from '../base/wait.ts';
import type { Resource } from '../cache/rest/resource.ts';
import type { AddOptions } from '../workqueue/index.ts';
import { comparedAsBytes, objectMetadata, sameVersion, storedRequest } from './metadata.ts';
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
 * The priority of requests behind which there is no change. controller-runtime:
 * `handler.LowPriority`.
 */
export const LowPriority = -100;

/**
 * The request of each object itself: of an update the new one, of a tombstone without its object
 * the key. An object without metadata is reported and leads to nothing. controller-runtime:
 * handler.EnqueueRequestForObject.
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

/** Which owner references count. */
export interface OwnerOptions {
  /**
   * Only the owner reference with `controller: true`, of which there is at most one. Default false:
   * every reference.
   */
  onlyController?: boolean | undefined;
  /**
   * Versions of the owner's group that count. A reference of the right group and kind with another
   * version is reported and ends the search in its object, as in controller-runtime, where the
   * server's versions are these. Default: any version, so that no owner is missed because its
   * version is no longer served.
   */
  versions?: readonly string[] | undefined;
}

const OWNER_NAMES = namesOf<OwnerOptions>()({ onlyController: 1, versions: 1 });
const HANDLER_NAMES = namesOf<EventHandler<never>>()({
  create: 1,
  update: 1,
  delete: 1,
  generic: 1,
});

/**
 * The requests of the owners of each object that are of the group and kind of `owner`: before and
 * after an update, so that an owner that lost the object hears of it too; each once. A reference
 * whose apiVersion cannot be parsed is reported and ends the search in its object. The owner of a
 * tombstone without its object is not known: its resync or next change repairs that.
 * controller-runtime: handler.EnqueueRequestForOwner.
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
    throw invalid('owner', 'what defineResource returns', owner);
  requireNames('options', options, 'option of enqueueRequestForOwner()', OWNER_NAMES);
  const { onlyController = false, versions } = options;
  requireBoolean('options.onlyController', onlyController);
  if (versions !== undefined && !Array.isArray(versions))
    throw invalid('options.versions', 'an array of versions', versions);
  const addOwners = (queue: HandlerQueue, now: object, old?: object): void => {
    const requests = new Requests();
    if (old !== undefined) collectOwners(old, owner, options, requests);
    collectOwners(now, owner, options, requests);
    requests.addTo(queue);
  };
  return withLowPriorityWhenUnchanged<object>({
    create: ({ object }, queue) => addOwners(queue, object),
    update: (event, queue) => {
      // Where bytes have proved that the owners are the same, the old object need not be decoded.
      const same = comparedAsBytes(event) && !event.change.metadata;
      addOwners(queue, event.objectNew, same ? undefined : event.objectOld);
    },
    delete: ({ object }, queue) => addOwners(queue, object),
    generic: ({ object }, queue) => addOwners(queue, object),
  });
}

/**
 * The requests that a function finds for an object, which may be of another kind; of an update for
 * both states, each once. The function may be async: the events of its source then wait for it, one
 * after the other, so that their order is kept. Where it throws, rejects or finds what is no
 * request, that is reported, everything else that it found is added, and the event is told again
 * with back-off: see {@link EventHandler}. controller-runtime: handler.EnqueueRequestsFromMapFunc.
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
): EventHandler<T> {
  requireFunction('map', map);
  const add = ({ object }: { object: T }, queue: HandlerQueue): Promise<void> | undefined => {
    const requests = new Requests();
    const found = requests.collect(map, object);
    return found === undefined ? requests.addTo(queue) : found.then(() => requests.addTo(queue));
  };
  return withLowPriorityWhenUnchanged<T>({
    create: add,
    update: ({ objectOld, objectNew }, queue) => {
      const requests = new Requests();
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
 * A handler of functions, one for each kind of event; those that are left out ignore theirs.
 * Requests of an initial list and of unchanged updates come last, unless the function gives a
 * priority. Sources take an object with such functions as it is; this checks it, and gives a
 * handler to call elsewhere. controller-runtime: handler.Funcs.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const onlyDeletions = handlerFuncs<V1Pod>({
 *   delete: ({ object }, queue) => queue.add({ namespace: '', name: object.spec?.nodeName ?? '' }),
 * });
 */
export function handlerFuncs<T = object>(funcs: EventHandler<T>): EventHandler<T> {
  return withLowPriorityWhenUnchanged(funcs);
}

/**
 * The handler, with {@link LowPriority} for what it adds without a priority of its own when an
 * object is of the initial list or an update has the version that the object had before. All
 * handlers of this package are so, and sources make those that they are given so.
 * controller-runtime: handler.WithLowPriorityWhenUnchanged.
 *
 * @throws CapstanError INVALID_ARGUMENT
 */
export function withLowPriorityWhenUnchanged<T = object>(
  handler: EventHandler<T>,
): EventHandler<T> {
  return handler instanceof PriorityHandler ? handler : new PriorityHandler(handler);
}

/** Throws CapstanError INVALID_ARGUMENT. */
export function requireEventHandler(name: string, handler: unknown): void {
  requireMembers(name, handler, 'member of an event handler', HANDLER_NAMES);
  for (const method of ['create', 'update', 'delete', 'generic'] as const) {
    const given: unknown = (handler as Record<string, unknown>)[method];
    if (given !== undefined) requireFunction(`${name}.${method}`, given);
  }
}

/** Has exactly the methods that the handler has: what a handler ignores costs nothing. */
class PriorityHandler<T> implements EventHandler<T> {
  readonly create: ((event: CreateEvent<T>, queue: HandlerQueue) => void) | undefined;
  readonly update: ((event: UpdateEvent<T>, queue: HandlerQueue) => void) | undefined;
  readonly delete: ((event: DeleteEvent<T>, queue: HandlerQueue) => void) | undefined;
  readonly generic: ((event: GenericEvent<T>, queue: HandlerQueue) => void) | undefined;

  constructor(handler: EventHandler<T>) {
    requireEventHandler('handler', handler);
    this.create =
      handler.create &&
      ((event, queue) => handler.create?.(event, low(event.isInInitialList, queue)));
    this.update =
      handler.update &&
      ((event, queue) =>
        handler.update?.(event, low(sameVersion(event as UpdateEvent<object>), queue)));
    this.delete = handler.delete && ((event, queue) => handler.delete?.(event, queue));
    this.generic = handler.generic && ((event, queue) => handler.generic?.(event, queue));
  }
}

function low(isLow: boolean, queue: HandlerQueue): HandlerQueue {
  return isLow ? new LowPriorityQueue(queue) : queue;
}

/** A queue whose default priority is low. */
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

/** Stops at the first reference that cannot be judged; what was found before it counts. */
function collectOwners(
  object: object,
  owner: OwnerResource,
  options: OwnerOptions,
  into: Requests,
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
    if (options.onlyController) return; // metav1.GetControllerOf: the first one
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

/** apimachinery: schema.ParseGroupVersion; `undefined` where that is an error. */
function parseGroupVersion(apiVersion: unknown): { group: string; version: string } | undefined {
  if (typeof apiVersion !== 'string') return undefined;
  const [first = '', second, ...rest] = apiVersion.split('/');
  if (rest.length > 0) return undefined;
  return second === undefined ? { group: '', version: first } : { group: first, version: second };
}

function isRequest(value: Request | null | undefined): boolean {
  return typeof value?.namespace === 'string' && typeof value.name === 'string';
}

/** Up to so many requests are compared one by one. */
const FEW = 16;

/**
 * The requests of one event, each once, in the order in which they came first. Mostly few; but a
 * function may answer with all that there is.
 */
class Requests {
  readonly all: Request[] = [];
  /** Those of `all`, once they are more than a few. */
  #known: RequestMap<true> | undefined;
  /** What a function threw first, or found that is no request. */
  #failure: { readonly error: unknown } | undefined;

  /**
   * Adds what the function finds for an object; the promise of an async one never rejects. What
   * fails is thrown by `addTo`.
   */
  collect<T>(
    map: (object: T) => Iterable<Request> | Promise<Iterable<Request>>,
    object: T,
  ): Promise<void> | undefined {
    try {
      const found = map(object);
      if (isThenable(found)) return this.#settle(found);
      this.#addAll(found);
    } catch (error) {
      this.#fail(error);
    }
    return undefined;
  }

  async #settle(found: PromiseLike<Iterable<Request>>): Promise<void> {
    try {
      this.#addAll(await found);
    } catch (error) {
      this.#fail(error);
    }
  }

  #addAll(found: Iterable<Request>): void {
    for (const request of found) {
      if (isRequest(request)) this.add(request);
      else
        this.#fail(invalid('map(object)', 'requests { namespace: string, name: string }', request));
    }
  }

  #fail(error: unknown): void {
    this.#failure ??= { error };
  }

  /** Throws the first failure, after all that can be added has been. */
  addTo(queue: HandlerQueue): undefined {
    for (const request of this.all) {
      try {
        queue.add(request);
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
    if (all.length < FEW) {
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
