/**
 * Requests that wait until nothing has asked for them for a while. kube-rs: `Config::debounce`,
 * kube-runtime/src/scheduler.rs.
 *
 * - What a source adds goes on to the queue when its request has been quiet for the whole time;
 *   every add begins that time anew.
 * - While a request waits here it must not be reconciled, though the queue hands it out (a retry
 *   that is due, or an earlier add): the worker asks `holds` and lets it go, as it will come again
 *   from here. Nothing is lost, whatever happens in between.
 *
 * As every wait is as long as any other, the order in which they end is the order in which they
 * began: a Set keeps it, and one timer for the first of them is enough.
 */
import type { Clock } from '../clock.ts';
import { invalid } from '../errors.ts';
import { handleError } from '../handle-error.ts';
import type { Request } from '../request.ts';
import { isPriority } from '../workqueue/index.ts';
import { RequestMap } from './request-map.ts';

interface Waiting {
  readonly request: Request;
  until: number;
  priority: number;
}

export class Debounce {
  readonly #clock: Clock;
  readonly #ms: number;
  readonly #release: (request: Request, priority: number) => void;
  readonly #waiting = new RequestMap<Waiting>();
  /** The one that has been quiet for the longest comes first. */
  readonly #inOrder = new Set<Waiting>();
  #timer: unknown;

  constructor(clock: Clock, ms: number, release: (request: Request, priority: number) => void) {
    this.#clock = clock;
    this.#ms = ms;
    this.#release = release;
  }

  get size(): number {
    return this.#inOrder.size;
  }

  /**
   * As in the queue, the higher of two priorities counts; what the queue would refuse is refused
   * here, while its giver can be told.
   */
  add(request: Request, priority: number): void {
    const { namespace, name } = request;
    if (typeof namespace !== 'string' || typeof name !== 'string')
      throw invalid('request', 'a request { namespace: string, name: string }', request);
    if (!isPriority(priority)) throw invalid('priority', 'an integer of 32 bits', priority);
    const until = this.#clock.now() + this.#ms;
    let waiting = this.#waiting.get(request);
    if (waiting === undefined) {
      waiting = { request, until, priority };
      this.#waiting.set(request, waiting);
    } else {
      this.#inOrder.delete(waiting);
      waiting.until = until;
      waiting.priority = Math.max(waiting.priority, priority);
    }
    this.#inOrder.add(waiting);
    if (this.#timer === undefined) this.#arm(this.#ms);
  }

  /** Whether a request that the queue has handed out, with this priority, is to come later. */
  holds(request: Request, priority: number): boolean {
    const waiting = this.#waiting.get(request);
    if (waiting === undefined) return false;
    waiting.priority = Math.max(waiting.priority, priority);
    return true;
  }

  /** What waits, and for how many milliseconds yet. */
  *entries(): Generator<{ request: Request; priority: number; waitingMs: number }> {
    const now = this.#clock.now();
    for (const { request, priority, until } of this.#inOrder)
      yield { request, priority, waitingMs: Math.max(until - now, 0) };
  }

  /** Drops everything. */
  stop(): void {
    if (this.#timer !== undefined) this.#clock.clearTimer(this.#timer);
    this.#timer = undefined;
    this.#waiting.clear();
    this.#inOrder.clear();
  }

  #arm(ms: number): void {
    this.#timer = this.#clock.setTimer(() => this.#fire(), ms);
  }

  #fire(): void {
    this.#timer = undefined;
    const now = this.#clock.now();
    for (const waiting of this.#inOrder) {
      if (waiting.until > now) {
        this.#arm(waiting.until - now);
        return;
      }
      this.#inOrder.delete(waiting);
      try {
        this.#release(waiting.request, waiting.priority);
        this.#waiting.take(waiting.request);
      } catch (error) {
        handleError(error, 'a debounced request that the queue refused: it is tried again');
        waiting.until = now + this.#ms;
        this.#inOrder.add(waiting);
      }
    }
  }
}
