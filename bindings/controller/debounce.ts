/**
 * Delays requests until no source has added them for `debounceMs`, for at most `debounceMaxMs`.
 * kube-rs: `Config::debounce`, kube-runtime/src/scheduler.rs, which has no such maximum.
 *
 * - Each add starts the delay of its request again. The maximum counts from the first add after the
 *   last reconcile of the request.
 * - The queue may hand out a request that is delayed here (a retry that is due, or an earlier add).
 *   The worker then asks `holds` and skips the request, which comes again from here.
 * - After the maximum, adds go straight to the queue until a worker has taken the request.
 *   Otherwise, while all workers are busy, it could be delayed again each time it is handed out.
 *
 * All delays have one length and all maxima have one length, so each kind ends in the order in
 * which it began: a Set keeps that order, and one timer for the earliest is enough.
 */
import type { Clock } from '../base/clock.ts';
import { invalid, isInt32 } from '../base/errors.ts';
import { handleError } from '../base/handle-error.ts';
import type { Request } from '../base/request.ts';
import { RequestMap } from './request-map.ts';

interface Waiting {
  readonly request: Request;
  /** The time at which the delay ends. */
  until: number;
  /** The time at which the maximum is reached. */
  readonly maximum: number;
  priority: number;
}

export class Debounce {
  readonly #clock: Clock;
  readonly #ms: number;
  readonly #maxMs: number;
  readonly #release: (request: Request, priority: number) => boolean;
  /** Delayed requests, and released ones that no worker has taken yet. */
  readonly #requests = new RequestMap<Waiting>();
  /** Delayed requests, the next to be released first. */
  readonly #byDelay = new Set<Waiting>();
  /** Requests before their maximum, the next to reach it first. */
  readonly #byMaximum = new Set<Waiting>();
  #timer: unknown;
  #timerAt = Number.POSITIVE_INFINITY;

  /** @param release adds the request to the queue and returns whether the queue took it */
  constructor(
    clock: Clock,
    { debounceMs, debounceMaxMs }: { debounceMs: number; debounceMaxMs: number },
    release: (request: Request, priority: number) => boolean,
  ) {
    this.#clock = clock;
    this.#ms = debounceMs;
    this.#maxMs = debounceMaxMs;
    this.#release = release;
  }

  get size(): number {
    return this.#byDelay.size;
  }

  /**
   * Of two priorities the higher one is kept, as in the queue. Invalid requests are refused here,
   * so that the caller gets the error.
   */
  add(request: Request, priority: number): void {
    const { namespace, name } = request;
    if (typeof namespace !== 'string' || typeof name !== 'string')
      throw invalid('request', 'a request { namespace: string, name: string }', request);
    if (!isInt32(priority)) throw invalid('priority', 'an integer of 32 bits', priority);
    const now = this.#clock.now();
    const until = now + this.#ms;
    let waiting = this.#requests.get(request);
    if (waiting === undefined) {
      waiting = { request, until, maximum: now + this.#maxMs, priority };
      this.#requests.set(request, waiting);
      this.#byMaximum.add(waiting);
    } else if (waiting.maximum <= now) {
      this.#release(request, priority); // it is in the queue already
      return;
    } else {
      const waits = this.#byDelay.delete(waiting);
      waiting.until = until;
      waiting.priority = waits ? Math.max(waiting.priority, priority) : priority;
    }
    this.#byDelay.add(waiting);
    this.#wakeAt(Math.min(until, waiting.maximum), now);
  }

  /**
   * Whether the worker must skip a request that the queue has handed out. If not, the request is
   * reconciled now and is no longer delayed here.
   */
  holds(request: Request, priority: number): boolean {
    const waiting = this.#requests.get(request);
    if (waiting === undefined) return false;
    if (this.#byDelay.has(waiting)) {
      waiting.priority = Math.max(waiting.priority, priority);
      return true;
    }
    this.#forget(waiting);
    this.#byDelay.delete(waiting);
    if (this.#byDelay.size === 0) this.#disarm();
    return false;
  }

  /** The delayed requests with the milliseconds that are left. */
  *entries(): Generator<{ request: Request; priority: number; waitingMs: number }> {
    const now = this.#clock.now();
    for (const { request, priority, until, maximum } of this.#byDelay)
      yield { request, priority, waitingMs: Math.max(Math.min(until, maximum) - now, 0) };
  }

  /** Drops all requests. */
  stop(): void {
    this.#disarm();
    this.#requests.clear();
    this.#byDelay.clear();
    this.#byMaximum.clear();
  }

  #wakeAt(at: number, now: number): void {
    if (at >= this.#timerAt) return;
    this.#disarm();
    this.#timerAt = at;
    this.#timer = this.#clock.setTimer(() => this.#fire(), at - now);
  }

  #disarm(): void {
    if (this.#timer !== undefined) this.#clock.clearTimer(this.#timer);
    this.#timer = undefined;
    this.#timerAt = Number.POSITIVE_INFINITY;
  }

  #fire(): void {
    this.#disarm();
    const now = this.#clock.now();
    for (const waiting of this.#byDelay) {
      if (waiting.until > now) break;
      this.#end(waiting, now);
    }
    for (const waiting of this.#byMaximum) {
      if (waiting.maximum > now) break;
      this.#byMaximum.delete(waiting);
      if (this.#byDelay.has(waiting)) this.#end(waiting, now);
    }
    const [quiet] = this.#byDelay;
    const [bound] = this.#byMaximum;
    if (quiet !== undefined)
      this.#wakeAt(Math.min(quiet.until, bound?.maximum ?? Number.POSITIVE_INFINITY), now);
  }

  #end(waiting: Waiting, now: number): void {
    this.#byDelay.delete(waiting);
    try {
      if (!this.#release(waiting.request, waiting.priority)) this.#forget(waiting);
    } catch (error) {
      handleError(error, 'a debounced request that the queue refused: it is added again');
      waiting.until = now + this.#ms;
      this.#byDelay.add(waiting);
    }
  }

  #forget(waiting: Waiting): void {
    this.#requests.take(waiting.request);
    this.#byMaximum.delete(waiting);
  }
}
