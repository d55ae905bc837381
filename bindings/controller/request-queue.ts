/**
 * The queue of a controller: one interface over a PriorityQueue and a RateLimitingQueue, which
 * ignores priorities. controller-runtime: pkg/internal/controller/controller.go,
 * priorityQueueWrapper.
 */
import { CapstanError, hasCode, invalid } from '../base/errors.ts';
import { handleError } from '../base/handle-error.ts';
import { hasMore, type Request, requestKey } from '../base/request.ts';
import {
  type AddOptions,
  type GotWithPriority,
  PriorityQueue,
  type QueueOptions,
  type RateLimiter,
  RateLimitingQueue,
  type Snapshot,
  type SnapshotOptions,
} from '../workqueue/index.ts';
import type { RequestCarrier } from './own-requests.ts';

/** How a handler adds with neither delay nor priority. */
export const PLAIN_ADD: AddOptions = Object.freeze({});

/** `R`: a program's own requests, in a queue of its own (own-requests.ts). */
export interface RequestQueue<R = Request> {
  readonly hasPriorities: boolean;
  /**
   * Returns whether the queue took the request. A full queue may drop one that it does not have
   * yet.
   */
  addWithOpts(options: AddOptions, request: R): boolean;
  /** `taken` is called when the request is handed out, before anything else can be added. */
  getWithPriority(options: { taken: (request: R) => void }): Promise<GotWithPriority<R>>;
  done(request: R): void;
  forget(request: R): void;
  numRequeues(request: R): number;
  /** Milliseconds until the delay of a request ends, for logs. `undefined`: none, or not known. */
  waitOf(request: R): number | undefined;
  snapshot(options: SnapshotOptions): Snapshot<R>;
  /** `ready`: ready or waiting for `done`. `waiting`: delayed. */
  counts(): { ready: number; waiting: number };
  shutDown(): void;
  dispose(): void;
}

/**
 * A request to test user-supplied queues and rate limiters with at the start, so that one for other
 * items fails there and not at each event.
 */
const PROBE: Request = { namespace: 'default', name: 'any' };

/** Checks a user-supplied rate limiter with the call that each reconcile begins with. */
export function requireLimiterOfRequests(limiter: RateLimiter<Request>, controller: string): void {
  try {
    limiter.numRequeues(PROBE);
  } catch (cause) {
    throw new CapstanError(
      'INVALID_ARGUMENT',
      `options.rateLimiter of the controller "${controller}" expected a limiter of requests, ` +
        'but its numRequeues() threw for one: see the cause',
      { cause },
    );
  }
}

/**
 * Makes the queue of a controller. Without a limiter the queue uses its own default, which is
 * controller-runtime's for that queue.
 */
export function requestQueue(
  hasPriorities: boolean,
  limiter: RateLimiter<Request> | undefined,
  options: Omit<QueueOptions<Request>, 'key'>,
  carrier?: RequestCarrier<Request>,
): RequestQueue {
  const all = { ...options, key: requestKey };
  const forRequests = limiter && (carrier?.limiter(limiter) ?? limiterOfRequests(limiter));
  return hasPriorities
    ? new PriorityQueueAdapter(new PriorityQueue<Request>(forRequests, all), true)
    : new RateLimitingQueueAdapter(new RateLimitingQueue<Request>(forRequests, all), true);
}

/**
 * Passes only namespace and name to the limiter. A handler may add objects with more members, such
 * as metadata, and a limiter without a key function refuses those.
 */
function limiterOfRequests(limiter: RateLimiter<Request>): RateLimiter<Request> {
  const plain = (request: Request): Request =>
    hasMore(request) ? { namespace: request.namespace, name: request.name } : request;
  return {
    when: (request) => limiter.when(plain(request)),
    forget: (request) => limiter.forget(plain(request)),
    numRequeues: (request) => limiter.numRequeues(plain(request)),
  };
}

/**
 * Wraps a user-supplied queue. The controller shuts it down and does not dispose of it, so that the
 * user can still read it.
 */
export function wrapQueue(queue: unknown, carrier?: RequestCarrier<Request>): RequestQueue {
  if (!(queue instanceof RateLimitingQueue))
    throw invalid(
      'options.newQueue()',
      'a RateLimitingQueue or a PriorityQueue of requests',
      queue,
    );
  if (carrier === undefined) requireQueueOfRequests(queue);
  const adapter =
    queue instanceof PriorityQueue
      ? new PriorityQueueAdapter(queue, false)
      : new RateLimitingQueueAdapter(queue, false);
  return carrier === undefined ? adapter : new OwnTypeQueue(carrier, adapter);
}

function requireQueueOfRequests(queue: RateLimitingQueue<Request>): void {
  try {
    queue.knows(PROBE);
  } catch (cause) {
    if (!hasCode(cause, 'INVALID_ARGUMENT')) throw cause;
    throw new CapstanError(
      'INVALID_ARGUMENT',
      'options.newQueue expected a queue of requests: pass { key: requestKey }',
      { cause },
    );
  }
}

abstract class QueueAdapter<Q extends RateLimitingQueue<Request>> {
  protected readonly queue: Q;
  protected readonly own: boolean;

  constructor(queue: Q, own: boolean) {
    this.queue = queue;
    this.own = own;
  }

  addWithOpts(options: AddOptions, request: Request): boolean {
    if (this.own) {
      this.put(options, request);
      return true;
    }
    const before = this.queue.droppedAdds();
    this.put(options, request);
    return this.queue.droppedAdds() === before;
  }

  protected abstract put(options: AddOptions, request: Request): void;

  done(request: Request): void {
    this.queue.done(request);
  }

  forget(request: Request): void {
    this.queue.forget(request);
  }

  /** 0 if the user's limiter throws: the request is reconciled in any case. */
  numRequeues(request: Request): number {
    try {
      return this.queue.numRequeues(request);
    } catch (error) {
      if (hasCode(error, 'POISONED') || hasCode(error, 'DISPOSED')) throw error;
      handleError(error, 'rate limiter');
      return 0;
    }
  }

  snapshot(options: SnapshotOptions): Snapshot<Request> {
    return this.queue.snapshot(options);
  }

  waitOf(request: Request): number | undefined {
    try {
      return this.queue.waitOf(request);
    } catch {
      return undefined; // the user's clock has thrown, or the next call throws this too
    }
  }

  counts(): { ready: number; waiting: number } {
    return { ready: this.queue.len(), waiting: this.queue.waiting() };
  }

  shutDown(): void {
    this.queue.shutDown();
  }

  dispose(): void {
    if (this.own) this.queue.dispose();
  }
}

class PriorityQueueAdapter extends QueueAdapter<PriorityQueue<Request>> implements RequestQueue {
  readonly hasPriorities = true;

  protected put(options: AddOptions, request: Request): void {
    // A queue of the user's gets every add by addWithOpts(), which its class may override.
    if (this.own && options === PLAIN_ADD) this.queue.add(request);
    else this.queue.addWithOpts(options, request);
  }

  getWithPriority(options: {
    taken: (request: Request) => void;
  }): Promise<GotWithPriority<Request>> {
    return this.queue.getWithPriority(options);
  }
}

class RateLimitingQueueAdapter
  extends QueueAdapter<RateLimitingQueue<Request>>
  implements RequestQueue
{
  readonly hasPriorities = false;

  protected put({ after = 0, rateLimited = false }: AddOptions, request: Request): void {
    if (rateLimited) this.queue.addRateLimited(request);
    else if (after > 0) this.queue.addAfter(request, after);
    else this.queue.add(request);
  }

  async getWithPriority(options: {
    taken: (request: Request) => void;
  }): Promise<GotWithPriority<Request>> {
    return { ...(await this.queue.get(options)), priority: 0 };
  }
}

/** A queue of a program's own requests, as the controller knows queues. */
class OwnTypeQueue<R> implements RequestQueue {
  readonly #carrier: RequestCarrier<R>;
  readonly #queue: RequestQueue<R>;

  constructor(carrier: RequestCarrier<R>, queue: RequestQueue<R>) {
    this.#carrier = carrier;
    this.#queue = queue;
  }

  get hasPriorities(): boolean {
    return this.#queue.hasPriorities;
  }

  addWithOpts(options: AddOptions, request: Request): boolean {
    return this.#queue.addWithOpts(options, this.#carrier.own(request));
  }

  /** An item that has no key now, which no source has added, is reported and dropped. */
  async getWithPriority(options: {
    taken: (request: Request) => void;
  }): Promise<GotWithPriority<Request>> {
    for (;;) {
      let request: Request | undefined;
      const taken = (item: R): void => {
        request = this.#carried(item);
        if (request !== undefined) options.taken(request);
      };
      const got = await this.#queue.getWithPriority({ taken });
      if (got.shutdown) return got;
      if (request !== undefined) return { ...got, item: request };
      this.#queue.done(got.item);
    }
  }

  done(request: Request): void {
    this.#queue.done(this.#carrier.own(request));
  }

  forget(request: Request): void {
    this.#queue.forget(this.#carrier.own(request));
  }

  numRequeues(request: Request): number {
    return this.#queue.numRequeues(this.#carrier.own(request));
  }

  waitOf(request: Request): number | undefined {
    return this.#queue.waitOf(this.#carrier.own(request));
  }

  snapshot(options: SnapshotOptions): Snapshot<Request> {
    const { keys, ...rest } = this.#queue.snapshot(options);
    const carried = keys.flatMap((key) => {
      const item = this.#carried(key.item);
      return item === undefined ? [] : [{ ...key, item }];
    });
    return { ...rest, keys: carried };
  }

  counts(): { ready: number; waiting: number } {
    return this.#queue.counts();
  }

  shutDown(): void {
    this.#queue.shutDown();
  }

  dispose(): void {
    this.#queue.dispose();
  }

  #carried(item: R): Request | undefined {
    try {
      return this.#carrier.carry(item);
    } catch (error) {
      handleError(error, 'an item of the queue that newQueue() has made, which is dropped');
      return undefined;
    }
  }
}
