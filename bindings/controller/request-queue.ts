/**
 * The queue of a controller, with priorities or without: what the controller says is the same, and a queue without priorities hears
 * of a request what it understands. controller-runtime: pkg/internal/controller/controller.go, priorityQueueWrapper.
 */
import { type Request, requestKey } from '../request.ts';
import {
  type AddOptions,
  type GotWithPriority,
  PriorityQueue,
  type QueueOptions,
  type RateLimiter,
  RateLimitingQueue,
} from '../workqueue/index.ts';

export interface RequestQueue {
  addWithOpts(options: AddOptions, request: Request): void;
  getWithPriority(): Promise<GotWithPriority<Request>>;
  done(request: Request): void;
  forget(request: Request): void;
  numRequeues(request: Request): number;
  shutDown(): void;
  dispose(): void;
}

/** Without a limiter: the queue's own default, which is what controller-runtime gives to such a queue and goes with it. */
export function requestQueue(
  hasPriorities: boolean,
  limiter: RateLimiter<Request> | undefined,
  options: Omit<QueueOptions<Request>, 'key'>,
): RequestQueue {
  const all = { ...options, key: requestKey };
  return hasPriorities ? new PriorityQueue<Request>(limiter, all) : new WithoutPriorities(limiter, all);
}

class WithoutPriorities implements RequestQueue {
  readonly #queue: RateLimitingQueue<Request>;

  constructor(limiter: RateLimiter<Request> | undefined, options: QueueOptions<Request>) {
    this.#queue = new RateLimitingQueue<Request>(limiter, options);
  }

  addWithOpts({ after = 0, rateLimited = false }: AddOptions, request: Request): void {
    if (rateLimited) this.#queue.addRateLimited(request);
    else if (after > 0) this.#queue.addAfter(request, after);
    else this.#queue.add(request);
  }

  async getWithPriority(): Promise<GotWithPriority<Request>> {
    return { ...(await this.#queue.get()), priority: 0 };
  }

  done(request: Request): void {
    this.#queue.done(request);
  }

  forget(request: Request): void {
    this.#queue.forget(request);
  }

  numRequeues(request: Request): number {
    return this.#queue.numRequeues(request);
  }

  shutDown(): void {
    this.#queue.shutDown();
  }

  dispose(): void {
    this.#queue.dispose();
  }
}
