/**
 * Requests of a program's own type, such as `{ cluster, namespace, name }`. Queue, causes, debounce
 * and reports of a controller know a namespace and a name; a request of another type is carried in
 * a Request whose name is its key. A source's requests are put into one as soon as they come, and
 * taken out where a function of the program gets them. Ordinary requests pass none of this.
 * controller-runtime: builder.TypedControllerManagedBy, reconcile.TypedReconciler.
 */

import { CapstanError, invalid, requireFunction, show } from '../base/errors.ts';
import { namesOf, requireNames } from '../base/names.ts';
import { type Request, requestKey } from '../base/request.ts';
import type { RateLimiter } from '../workqueue/index.ts';
import { requireSameKeys } from '../workqueue/limiters.ts';

/** A type of requests that {@link defineRequest} has made. */
export interface RequestType<R> {
  /** The text that makes two requests the same. Not empty. */
  readonly key: (request: R) => string;
  /**
   * The namespace of a request. Reports and logs show it, and with shards the replica that has its
   * slot reconciles the request; of an empty one, the slot follows from the key. Requests with the
   * same key have the same namespace. Absent: requests have no namespace, and a manager with shards
   * refuses the controller.
   */
  readonly namespace?: ((request: R) => string) | undefined;
}

const NAMES = namesOf<RequestType<never>>()({ key: 1, namespace: 1 });

/**
 * Defines requests of a type of your own: a controller whose option `request` it is takes them from
 * its handlers and passes them to its reconcile function. What two requests have in common is their
 * key: equal keys are one entry in the queue, and never reconciled at the same time. Choose a key
 * that different requests cannot share: of `{ a: 'x/y', b: 'z' }` and `{ a: 'x', b: 'y/z' }` the
 * parts joined by `/` are the same.
 *
 * If a function throws or returns anything but a string, the add gets CapstanError
 * INVALID_ARGUMENT; a handler's event is then handled again, as after any error of a handler.
 * controller-runtime: the type parameter `request`.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const Replica = defineRequest({
 *   key: (of: { cluster: string; namespace: string; name: string }) =>
 *     `${of.cluster}/${of.namespace}/${of.name}`,
 * });
 * const handler = enqueueRequestsFromMapFunc(
 *   ({ metadata = {} }: V1Pod) => {
 *     const { namespace = '', name = '' } = metadata;
 *     return ['east', 'west'].map((cluster) => ({ cluster, namespace, name }));
 *   },
 *   { request: Replica },
 * );
 * createController({
 *   name: 'replicas',
 *   transport,
 *   request: Replica,
 *   watches: [watching(Pod, handler)],
 *   reconcile: ({ cluster, name }) => console.log(cluster, name),
 * });
 */
export function defineRequest<R>(definition: RequestType<R>): RequestType<R> {
  requireRequestType('definition', definition);
  return Object.freeze({ ...definition });
}

/** Throws CapstanError INVALID_ARGUMENT. */
export function requireRequestType(name: string, type: RequestType<never>): void {
  requireNames(name, type, 'member of a request type', NAMES);
  requireFunction(`${name}.key`, type.key);
  if (type.namespace !== undefined) requireFunction(`${name}.namespace`, type.namespace);
}

/** A request of another type, as queue, causes and reports know it. */
class Carried<R> implements Request {
  readonly namespace: string;
  /** The key. */
  readonly name: string;
  readonly own: R;

  constructor(namespace: string, key: string, own: R) {
    this.namespace = namespace;
    this.name = key;
    this.own = own;
  }
}

/** How messages and spans name a request: an own one by its key. */
export function requestText(request: Request): string {
  return request instanceof Carried ? request.name : requestKey(request);
}

/** The fields of a request's log lines. */
export function requestFields(request: Request): Readonly<Record<string, unknown>> {
  const { namespace, name } = request;
  if (!(request instanceof Carried)) return { namespace, name };
  return namespace === '' ? { request: name } : { namespace, request: name };
}

/** Puts the requests of one type into Requests and takes them out again. */
export class RequestCarrier<R> {
  readonly #type: RequestType<R>;

  constructor(type: RequestType<R>) {
    this.#type = type;
  }

  /** Throws CapstanError INVALID_ARGUMENT. */
  carry(own: R): Request {
    const { key, namespace } = this.#type;
    const name = textOf('key', key, own);
    if (name === '') throw invalid('key(request)', 'a string that is not empty', name);
    return new Carried(
      namespace === undefined ? '' : textOf('namespace', namespace, own),
      name,
      own,
    );
  }

  own(request: Request): R {
    return (request as Carried<R>).own;
  }

  /** Throws CapstanError INVALID_ARGUMENT for a limiter that cannot tell such requests apart. */
  limiter(limiter: RateLimiter<R>): RateLimiter<Request> {
    requireSameKeys(limiter, this.#type.key);
    return {
      when: (request) => limiter.when(this.own(request)),
      forget: (request) => limiter.forget(this.own(request)),
      numRequeues: (request) => limiter.numRequeues(this.own(request)),
    };
  }
}

function textOf<R>(what: string, of: (request: R) => string, request: R): string {
  let text: unknown;
  try {
    text = of(request);
  } catch (cause) {
    throw new CapstanError(
      'INVALID_ARGUMENT',
      `the "${what}" function of the request type threw for ${show(request)}: expected it to ` +
        'return a string. Is this a request of that type?',
      { cause },
    );
  }
  if (typeof text === 'string') return text;
  throw invalid(`${what}(request)`, 'a string', text);
}
