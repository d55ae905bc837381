/**
 * Requests that wait until nothing has asked for them for a while, but no longer than a bound.
 * kube-rs: `Config::debounce`, kube-runtime/src/scheduler.rs; the bound is ours.
 *
 * - What a source adds goes on to the queue when its request has been quiet for the whole time;
 *   every add begins that time anew. The bound counts from the first add after its last reconcile.
 * - While a request waits here it must not be reconciled, though the queue hands it out (a retry
 *   that is due, or an earlier add): the worker asks `holds` and lets it go, as it will come again
 *   from here. Nothing is lost, whatever happens in between. Once the bound is reached an add goes
 *   to the queue at once, until a worker has taken the request: where all workers are busy it could
 *   be held again each time it is handed out.
 *
 * All quiet times are of one length and so are all bounds, so that each of them end in the order in
 * which they began: a Set keeps it, and one timer for the first of all is enough.
 */
import type { Clock } from '../base/clock.ts';
import { invalid } from '../base/errors.ts';
import { handleError } from '../base/handle-error.ts';
import type { Request } from '../base/request.ts';
import { isPriority } from '../workqueue/index.ts';
import { RequestMap } from './request-map.ts';

interface Waiting {
  readonly request: Request;
  /** When it has been quiet. */
  until: number;
  /** When it goes on whatever comes. */
  readonly latest: number;
  priority: number;
}

export class Debounce {
  readonly #clock: Clock;
  readonly #ms: number;
  readonly #maxMs: number;
  readonly #release: (request: Request, priority: number) => boolean;
  /** Also those that were released and that no worker has taken yet. */
  readonly #known = new RequestMap<Waiting>();
  /** Those that wait, the one that has been quiet for the longest first. */
  readonly #byQuiet = new Set<Waiting>();
  /** All that are known and have not reached their bound, the next to reach it first. */
  readonly #byBound = new Set<Waiting>();
  #timer: unknown;
  #timerAt = Number.POSITIVE_INFINITY;

  /** @param release whether the queue has taken it; `holds` is asked about it then */
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
    return this.#byQuiet.size;
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
    const now = this.#clock.now();
    const until = now + this.#ms;
    let waiting = this.#known.get(request);
    if (waiting === undefined) {
      waiting = { request, until, latest: now + this.#maxMs, priority };
      this.#known.set(request, waiting);
      this.#byBound.add(waiting);
    } else if (waiting.latest <= now) {
      this.#release(request, priority); // the queue has it already
      return;
    } else {
      const waits = this.#byQuiet.delete(waiting);
      waiting.until = until;
      waiting.priority = waits ? Math.max(waiting.priority, priority) : priority;
    }
    this.#byQuiet.add(waiting);
    this.#wakeAt(Math.min(until, waiting.latest), now);
  }

  /**
   * Whether a request that the queue has handed out, with this priority, is to come later. Where it
   * is not, it is reconciled now, and nothing of it waits here.
   */
  holds(request: Request, priority: number): boolean {
    const waiting = this.#known.get(request);
    if (waiting === undefined) return false;
    if (this.#byQuiet.has(waiting)) {
      waiting.priority = Math.max(waiting.priority, priority);
      return true;
    }
    this.#forget(waiting);
    this.#byQuiet.delete(waiting);
    if (this.#byQuiet.size === 0) this.#disarm();
    return false;
  }

  /** What waits, and for how many milliseconds yet. */
  *entries(): Generator<{ request: Request; priority: number; waitingMs: number }> {
    const now = this.#clock.now();
    for (const { request, priority, until, latest } of this.#byQuiet)
      yield { request, priority, waitingMs: Math.max(Math.min(until, latest) - now, 0) };
  }

  /** Drops everything. */
  stop(): void {
    this.#disarm();
    this.#known.clear();
    this.#byQuiet.clear();
    this.#byBound.clear();
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
    for (const waiting of this.#byQuiet) {
      if (waiting.until > now) break;
      this.#end(waiting, now);
    }
    for (const waiting of this.#byBound) {
      if (waiting.latest > now) break;
      this.#byBound.delete(waiting);
      if (this.#byQuiet.has(waiting)) this.#end(waiting, now);
    }
    const [quiet] = this.#byQuiet;
    const [bound] = this.#byBound;
    if (quiet !== undefined)
      this.#wakeAt(Math.min(quiet.until, bound?.latest ?? Number.POSITIVE_INFINITY), now);
  }

  #end(waiting: Waiting, now: number): void {
    this.#byQuiet.delete(waiting);
    try {
      if (!this.#release(waiting.request, waiting.priority)) this.#forget(waiting);
    } catch (error) {
      handleError(error, 'a debounced request that the queue refused: it is tried again');
      waiting.until = now + this.#ms;
      this.#byQuiet.add(waiting);
    }
  }

  #forget(waiting: Waiting): void {
    this.#known.take(waiting.request);
    this.#byBound.delete(waiting);
  }
}
