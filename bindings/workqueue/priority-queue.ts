/**
 * The queue of controllers: controller-runtime pkg/controller/priorityqueue over the Wasm core
 * (assembly/priority.ts).
 *
 * - Of the ready items one of the highest priority is handed out, the one that has stood in line
 *   the longest; where priorities age, waiting makes up for a lower priority.
 * - An item is ready or waits, never both. An item that is added while it is processed counts as
 *   ready, and is handed out after done().
 * - Adding an item that the queue has can only bring it forward: the higher priority and the
 *   earlier time win.
 */

import { invalid, isInt32, requireNumber, requireObject } from '../base/errors.ts';
import { handleError } from '../base/handle-error.ts';
import { keepShape } from '../base/keep-shape.ts';
import { namesOf, requireNames } from '../base/names.ts';
import {
  NO_MEMORY,
  NOTHING,
  RAISED_FLAG,
  SLOT_FLAG,
  WAIT_IS_BACKOFF,
  WAIT_MODES,
  WAITS_FLAG,
} from '../wasm/core.ts';
import type { RateLimiter } from './limiters.ts';
import { orderOf, QUEUE_NAMES, type QueueKind, type QueueOptions } from './options.ts';
import { RateLimitingQueue } from './rate-limiting-queue.ts';
import type { GetOptions, Got } from './waiting-calls.ts';

/** The options of a {@link PriorityQueue}. */
export interface PriorityQueueOptions<T> extends QueueOptions<T> {
  /**
   * No level starves: an item of priority p that has been ready for w milliseconds counts as one of
   * priority p + w / everyMs. So no item is overtaken by an item of priority q that became ready
   * more than (q − p) · everyMs after it. With aging, items of one priority are handed out in the
   * order in which they became ready, also those whose priority was raised or whose wait an add has
   * ended. Without it, as in controller-runtime, a raised item goes to the end of its new priority,
   * and one whose wait an add has ended keeps the place that it got when the wait began. Default:
   * no aging.
   */
  aging?: { everyMs: number } | undefined;
}

const PRIORITY_NAMES = namesOf<PriorityQueueOptions<never>>()({
  ...QUEUE_NAMES,
  aging: namesOf<NonNullable<PriorityQueueOptions<never>['aging']>>()({ everyMs: 1 }),
});

/** How items are added. controller-runtime: `priorityqueue.AddOpts`. */
export interface AddOptions {
  /** Ready after so many milliseconds; at once when that is 0 or less. */
  after?: number | undefined;
  /**
   * Ready after the delay of the limiter, which counts this as a failure of the item. If `after` is
   * given too, the shorter of the two delays is taken.
   */
  rateLimited?: boolean | undefined;
  /** The higher, the earlier. Any integer of 32 bits; default 0. */
  priority?: number | undefined;
}

const ADD_NAMES = namesOf<AddOptions>()({ after: 1, rateLimited: 1, priority: 1 });

/** What getWithPriority() gives. The priority is 0 at shutdown. */
export type GotWithPriority<T> = Got<T> & { priority: number };

/**
 * A rate limiting queue with priorities. controller-runtime: `priorityqueue.PriorityQueue`.
 *
 * Where it differs from {@link RateLimitingQueue}: `len()` also counts what is added while it is
 * processed. An add() makes a waiting item ready. A delay for a ready item is ignored. After
 * shutDown() a get reports the shutdown at once, what is queued is dropped, and the limiter is not
 * called any more. shutDownWithDrain() hands out what is ready, also what becomes so again by
 * done(), and resolves when nothing is ready or processed; in controller-runtime it is the same as
 * shutDown(). The limiter defaults to 5 ms, doubled by each failure of an item, up to 1000 s,
 * without an overall limit. `inner` and `order` are refused. There may be many priorities, such as
 * one for each deadline: the time of a get grows with the logarithm of their number, and the first
 * add of a new priority moves the higher ones (5 µs for 100 000).
 *
 * Errors (CapstanError): as {@link RateLimitingQueue}.
 *
 * @example
 * const queue = new PriorityQueue();
 * queue.addWithOpts({ priority: -100 }, 'default/web', 'default/db');
 * // a delay for a ready item is ignored, its priority is not
 * queue.addWithOpts({ priority: 10, after: 500 }, 'default/web');
 * // 'default/web', 10: the higher priority counts at once, and the item stays ready
 * const { item, priority } = await queue.getWithPriority();
 */
export class PriorityQueue<T = string> extends RateLimitingQueue<T> {
  constructor(limiter?: RateLimiter<T>, options: PriorityQueueOptions<T> = {}) {
    checkPriorityOptions(options);
    super(limiter, options);
    keepShape(new.target, PriorityQueue, () => new PriorityQueue());
  }

  /** @internal */
  protected override kind({ aging }: PriorityQueueOptions<T>): QueueKind {
    return { names: PRIORITY_NAMES, levels: { everyMs: aging?.everyMs ?? 0 } };
  }

  /**
   * Adds items. An item that the queue has already takes the higher of the two priorities, and goes
   * to the end of that priority if it is a new one. If it waits, the earlier time counts, and
   * without a delay it is ready now. If it is ready, a delay is ignored (with `rateLimited` the
   * failure is counted all the same). After shutDown() items are dropped silently.
   *
   * The keys of all items are read before the first one is added. If an item fails after that (its
   * limiter throws, or there is no memory), the others are added all the same; then the first error
   * is thrown, and further ones go to the handler of `setErrorHandler`.
   */
  addWithOpts(options: AddOptions, ...items: T[]): void {
    requireAddOptions(options);
    const { after = 0, rateLimited = false, priority = 0 } = options;
    requireNumber('after', after);
    if (typeof rateLimited !== 'boolean') throw invalid('rateLimited', 'a boolean', rateLimited);
    if (!isInt32(priority)) throw invalid('priority', 'an integer of 32 bits', priority);
    if (this.#isStopped()) return;
    // Of the user's code only key functions run here.
    if (items.length > 1) for (const item of items) this.guarded(() => this.keys.find(item));
    let errors: unknown[] | undefined;
    let ready = false;
    for (const item of items) {
      try {
        const wait = rateLimited ? shorter(after, this.limiter.when(item)) : after;
        if (this.#put(item, priority, wait, rateLimited ? WAIT_IS_BACKOFF : WAIT_MODES.earliest))
          ready = true;
      } catch (error) {
        if (this.#isGone()) throw error;
        errors ??= [];
        errors.push(error);
      }
    }
    if (ready) this.serve();
    if (errors === undefined) return;
    for (const error of errors.slice(1)) handleError(error, 'addWithOpts');
    throw errors[0];
  }

  /** Adds an item with priority 0, without delay. */
  override add(item: T): void {
    if (!this.#isStopped() && this.#put(item, 0, 0, WAIT_MODES.earliest)) this.serve();
  }

  /** Adds an item with priority 0 when the limiter says so. */
  override addRateLimited(item: T): void {
    this.addWithOpts({ rateLimited: true }, item);
  }

  /** Does the same as get(), and also gives the priority with which the item was queued. */
  getWithPriority(options?: GetOptions<T>): Promise<GotWithPriority<T>> {
    return this.next(options, (item) => {
      const priority = item === undefined ? 0 : this.core.exports.priorityTaken();
      if (item === undefined) return { item: undefined, shutdown: true, priority };
      options?.taken?.(item);
      return { item, shutdown: false, priority };
    });
  }

  /**
   * @internal addAfter(): with priority 0. A delay for an item that is ready is ignored, whatever
   * the mode.
   */
  override delay(item: T, ms: number, how: number): void {
    if (!this.#isStopped() && this.#put(item, 0, ms, how)) this.serve();
  }

  /** Throws when disposed of: then it is stopped, too. */
  #isStopped(): boolean {
    if (this.stopped) this.checkAlive();
    return this.stopped;
  }

  /**
   * Nothing more can be added. The limiter's error cannot tell: a limiter may be disposed of before
   * its queue is.
   */
  #isGone(): boolean {
    try {
      this.checkAlive();
      return false;
    } catch {
      return true;
    }
  }

  /**
   * Whether the item is ready to be handed out. Limiter, clock and metrics are the user's, and may
   * have ended the queue when they return.
   */
  #put(item: T, priority: number, wait: number, how: number): boolean {
    const now = wait > 0 ? this.clock.now() : this.now();
    // the heap could not order it
    if (Number.isNaN(now + wait)) throw invalid('clock.now()', 'a number of milliseconds', now);
    if (this.#isStopped()) return false;
    if (this.bound?.refuses(this, item)) return false;
    let code: number;
    try {
      code = this.keys.addAt(item, priority, now, wait, how);
    } catch (cause) {
      throw this.core.trapped(cause);
    }
    if (code === NO_MEMORY) throw this.core.outOfMemory();
    if (code !== NOTHING) this.#added(item, code, priority, now, wait);
    if (wait > 0) this.waits.retries?.inc();
    return code !== NOTHING && (code & (SLOT_FLAG | WAITS_FLAG | RAISED_FLAG)) === 0;
  }

  #added(item: T, code: number, priority: number, now: number, wait: number): void {
    if (code & RAISED_FLAG) {
      this.meter?.raised(this.core.exports.priorityRaisedFrom(), priority);
      return;
    }
    const slot = code & ~(SLOT_FLAG | WAITS_FLAG);
    this.items[slot] = item;
    if (code & WAITS_FLAG) this.waits.wakeAt(now + wait, now);
    else if (this.meter) this.meter.added(this.core.exports.priorityOf(this.handle, slot));
  }
}

/** The names are compared here first: a look into the table is a sixth of what an add costs. */
function requireAddOptions(options: AddOptions): void {
  let known = false;
  for (const name in options) {
    known = name === 'priority' || name === 'after' || name === 'rateLimited';
    if (!known) break;
  }
  if (!known) requireNames('options', options, 'option of addWithOpts()', ADD_NAMES);
}

function checkPriorityOptions<T>(options: PriorityQueueOptions<T>): void {
  requireNames('options', options, 'option of a queue', PRIORITY_NAMES);
  const { inner, aging, addEndsWait } = options;
  const order = orderOf(options);
  if (inner !== undefined)
    throw invalid('inner', 'nothing: a priority queue wraps no other queue', inner);
  if (order !== undefined)
    throw invalid('order', 'nothing: a priority queue has an order of its own', order);
  if (addEndsWait === false)
    throw invalid(
      'addEndsWait',
      'true or nothing: in a priority queue an item is ready or waits, never both',
      addEndsWait,
    );
  if (aging === undefined) return;
  requireObject('aging', aging);
  const { everyMs } = aging;
  if (typeof everyMs !== 'number' || !(everyMs > 0) || everyMs === Number.POSITIVE_INFINITY) {
    throw invalid('aging.everyMs', 'a finite number of milliseconds > 0', everyMs);
  }
}

/** controller-runtime: an `after` of 0 is none. */
function shorter(after: number, limited: number): number {
  requireNumber('limiter.when(item)', limited);
  return after === 0 || limited < after ? limited : after;
}
