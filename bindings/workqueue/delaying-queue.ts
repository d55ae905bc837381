/**
 * Delayed adds: client-go util/workqueue/delaying_queue.go over the core's heap
 * (assembly/delay.ts).
 *
 * - Never early, on a monotonic clock; the earliest time of a key wins; equal times keep their
 *   order.
 * - One host timer, for the head of the heap and never further away than the heartbeat; it is set
 *   while something waits (and may fire once for nothing when an add has ended the wait, see
 *   addEndsWait).
 */

import { CapstanError, hasCode, invalid } from '../base/errors.ts';
import { handleError } from '../base/handle-error.ts';
import { keepShape } from '../base/keep-shape.ts';
import { namesOf, requireNames } from '../base/names.ts';
import {
  type CoreExports,
  NO_MEMORY,
  NOTHING,
  SLOT_FLAG,
  STATE_WAITING,
  WAIT_IS_BACKOFF,
  WAIT_MODES,
} from '../wasm/core.ts';
import { retriesCounter } from './metrics.ts';
import type { QueueOptions } from './options.ts';
import { WorkQueue } from './work-queue.ts';

/** What a delayed add does to a delay of the same item that runs already. */
export type DelayMode = keyof typeof WAIT_MODES;

const DELAY_NAMES = namesOf<{ mode: DelayMode }>()({ mode: 1 });

/**
 * client-go's maxWait: however far away the next time is, it is looked at again after this long (a
 * host may sleep, clocks may jump).
 */
const HEARTBEAT_MS = 10_000;
/**
 * Of a timer that fires at once, as its time has passed: the clock has jumped, where the host's
 * timers do not, or the event loop is late.
 */
const OVERDUE = Number.NEGATIVE_INFINITY;
/**
 * How long an item waits again that was due when there was no memory to queue it, or no room in the
 * queue that this one wraps.
 */
const AGAIN_MS = 1000;

/**
 * A work queue with `addAfter`. client-go: `workqueue.TypedDelayingInterface`.
 *
 * @example
 * const queue = new DelayingQueue();
 * queue.addAfter('default/web', 500); // ready in half a second, unless something adds it earlier still
 */
export class DelayingQueue<T = string> extends WorkQueue<T> {
  readonly #retries: { inc(): void } | undefined;
  readonly #addEach: boolean; // what becomes due passes through add(), one by one
  readonly #innerOverrides: boolean; // the queue that this one wraps has an addAfter() of its own
  #timer: unknown;
  #timerAt = Number.POSITIVE_INFINITY;
  /** Items that are due and whose key function threw: it is asked again after AGAIN_MS. */
  #aside: T[] = [];
  /** What was due last found no room in the queue that this one wraps. */
  #isInnerFull = false;

  constructor(options: QueueOptions<T> = {}) {
    super(options);
    this.#retries = retriesCounter(options.metricsProvider, options.name, this.meter);
    this.#innerOverrides =
      this.inner instanceof DelayingQueue &&
      this.inner.addAfter !== DelayingQueue.prototype.addAfter;
    this.#addEach =
      this.inner !== undefined || this.order !== undefined || this.meter?.perOperation === true;
    keepShape(new.target, DelayingQueue, () => new DelayingQueue());
  }

  /**
   * Adds the item after `ms` milliseconds; at once when that is 0 or less. An add() meanwhile does
   * not end the wait: the item comes again (unless the queue has `addEndsWait`). After shutDown():
   * dropped silently.
   *
   * `mode` says what happens when the item waits already: 'earliest' (the default, client-go's)
   * keeps the earlier of the two times, 'latest' the later, 'replace' the new one. With 0 or less,
   * 'earliest' adds at once and leaves the wait, 'latest' leaves the wait, 'replace' ends it and
   * adds at once.
   */
  addAfter(item: T, ms: number, options?: { mode?: DelayMode | undefined }): void {
    if (typeof ms !== 'number' || Number.isNaN(ms))
      throw invalid('ms', 'a number of milliseconds', ms);
    this.delay(item, ms, options === undefined ? WAIT_MODES.earliest : modeOf(options));
  }

  /**
   * Takes a delayed add back. False: the item did not wait. An item that is ready or being
   * processed stays so; what becomes due at this very moment may have been added already.
   *
   * @example
   * const queue = new DelayingQueue();
   * queue.addAfter('default/web', 500);
   * queue.cancel('default/web'); // true
   */
  cancel(item: T): boolean {
    if (this.inner instanceof DelayingQueue) {
      this.checkAlive();
      return this.inner.cancel(item);
    }
    this.checkAlive();
    let code = NOTHING;
    try {
      const slot = this.keys.find(item);
      if (slot >= 0) code = this.core.exports.delayCancel(this.handle, slot);
      else if (slot === NO_MEMORY) throw this.core.outOfMemory();
    } catch (cause) {
      throw this.core.trapped(cause);
    }
    if (code === NOTHING) return false;
    this.#forget(code);
    if (this.core.exports.delayWaiting(this.handle) === 0) this.#disarm();
    return true;
  }

  /** How many items wait for a delay, those included that are ready or processed meanwhile. */
  waiting(): number {
    this.checkAlive();
    return this.inner instanceof DelayingQueue
      ? this.inner.waiting()
      : this.core.exports.delayWaiting(this.handle);
  }

  /** @internal addAfter() with what the core calls the mode, and WAIT_IS_BACKOFF. */
  protected delay(item: T, ms: number, how: number): void {
    if (this.inner instanceof DelayingQueue) {
      this.checkAlive();
      if (this.#innerOverrides) this.inner.addAfter(item, ms, { mode: modeName(how) });
      else this.inner.delay(item, ms, how);
      return;
    }
    if (this.shuttingDown() || ms <= 0) {
      const dropped = this.shuttingDown();
      const waits =
        how !== WAIT_MODES.earliest && how !== WAIT_IS_BACKOFF && !dropped && this.#waits(item);
      if (!waits)
        this.add(item); // which drops it at the end, and says so when the queue is disposed of
      else if (how === WAIT_MODES.replace) {
        this.#replaceNow(item);
      }
      if (!dropped) this.#retries?.inc();
      return;
    }
    if (this.bound?.refuses(this, item)) return;
    const now = this.clock.now();
    const at = now + ms;
    // the heap could not order it
    if (Number.isNaN(at)) throw invalid('clock.now()', 'a number of milliseconds', at);
    let code: number;
    try {
      code = this.keys.wait(item, at, how);
    } catch (cause) {
      throw this.core.trapped(cause);
    }
    if (code >= 0) this.items[code] = item;
    else if (code === NO_MEMORY) throw this.core.outOfMemory();
    this.wakeAt(at, now);
    this.#retries?.inc(); // last: a user's metric may end the queue
  }

  /**
   * The wait ends when nothing can fail any more: a wrapped queue may be full, a clock may throw.
   */
  #replaceNow(item: T): void {
    if (this.inner !== undefined) {
      this.add(item);
      this.cancel(item);
      return;
    }
    const now = this.now();
    this.cancel(item);
    this.admit(item, now); // it was known: a bound does not concern it
  }

  /** @internal Something waits until then. */
  protected wakeAt(at: number, now: number): void {
    if (at < this.#timerAt) this.#arm(at);
    else if (this.#timerAt <= now && this.#timerAt !== OVERDUE) {
      this.#arm(now);
      this.#timerAt = OVERDUE;
    }
  }

  /** @internal An item is added after a delay. */
  protected retried(): void {
    this.#retries?.inc();
  }

  #waits(item: T): boolean {
    try {
      const slot = this.keys.find(item);
      return slot >= 0 && (this.core.exports.queueState(this.handle, slot) & STATE_WAITING) !== 0;
    } catch (cause) {
      throw this.core.trapped(cause);
    }
  }

  /** @internal */
  protected override drop(): void {
    this.#disarm();
    this.#aside.length = 0;
    for (
      let code = this.#pop(Number.POSITIVE_INFINITY);
      code !== NOTHING;
      code = this.#pop(Number.POSITIVE_INFINITY)
    )
      this.#forget(code);
  }

  #arm(at: number): void {
    const ms = Math.min(at - this.clock.now(), HEARTBEAT_MS);
    this.#disarm(); // a clock that throws below leaves no timer that is believed to be set
    this.#timer = this.clock.setTimer(() => this.#fire(), ms);
    this.inner?.waiters.add(this);
    this.#timerAt = this.clock.now() + ms;
  }

  /**
   * @internal The queue that this one wraps was shut down by somebody else: what waits here has
   * nowhere to go, and its timer would keep the process. client-go: waitingLoop ends at its next
   * turn.
   */
  innerStopped(): void {
    try {
      this.drop();
    } catch (error) {
      handleError(error, 'delayed adds, at the end of the queue that they were for'); // poisoned
    }
  }

  #disarm(): void {
    this.inner?.waiters.delete(this);
    if (this.#timer !== undefined) this.clock.clearTimer(this.#timer);
    this.#timer = undefined;
    this.#timerAt = Number.POSITIVE_INFINITY;
  }

  /** @internal */
  override poisoned(error: CapstanError): void {
    super.poisoned(error);
    this.#disarm();
  }

  /**
   * Called by the host, so nobody can catch what is thrown here: it is reported, and the next wait
   * is seen to all the same.
   */
  #fire(): void {
    this.#timer = undefined;
    this.#timerAt = Number.POSITIVE_INFINITY;
    this.inner?.waiters.delete(this);
    if (this.shuttingDown()) {
      this.innerStopped(); // by the class of the inner queue
      return;
    }
    let reported = false;
    try {
      this.addDue(this.clock.now());
    } catch (error) {
      reported = true;
      if (!this.disposed()) handleError(error, 'delayed adds');
    }
    try {
      const next = this.#call((x) => x.delayNext(this.handle));
      if (this.#aside.length > 0) this.#arm(Math.min(next, this.clock.now() + AGAIN_MS));
      else if (next < Number.POSITIVE_INFINITY) this.#arm(next);
    } catch (error) {
      // After the first error, or disposed of by whom it served, this is no news.
      if (!reported && !this.disposed()) handleError(error, 'delayed adds');
    }
  }

  /** @internal Adds everything whose wait has ended. */
  protected addDue(now: number): void {
    if (this.#addEach) {
      for (const item of this.#aside.splice(0)) this.#addOne(item, now);
      for (let code = this.#pop(now); code !== NOTHING; code = this.#pop(now))
        this.#addOne(this.#forget(code), now);
    } else if (this.#call((x) => x.delayAdvance(this.handle, now)) > 0) this.serve();
  }

  /**
   * An item that cannot be added (there is no memory, no room, its order or its key function threw)
   * waits again, and one whose queue is poisoned waits for recover(): it must not be lost. A bound
   * of this queue does not concern it: it was known.
   */
  #addOne(item: T, now: number): void {
    try {
      if (this.inner === undefined) this.admit(item, now);
      else {
        this.inner.requireRoom(item);
        this.inner.add(item);
        this.#isInnerFull = false;
      }
    } catch (error) {
      const code = error instanceof CapstanError ? error.code : undefined;
      const ended = code === 'POISONED';
      if (code === 'DISPOSED') throw error;
      const kept = this.#keep(item, ended ? Number.POSITIVE_INFINITY : now + AGAIN_MS);
      const isKnown = kept && code === 'QUEUE_FULL' && this.#isInnerFull;
      this.#isInnerFull = code === 'QUEUE_FULL';
      if (isKnown) return; // said of the one before it
      const next = ended ? 'an item is left to recover()' : 'tried again in a second';
      handleError(error, `delayed adds: ${kept ? next : 'an item is lost'}`);
    }
  }

  /** False: there was no memory. */
  #keep(item: T, at: number): boolean {
    let code: number;
    try {
      code = this.keys.wait(item, at, WAIT_MODES.earliest);
    } catch (error) {
      if (hasCode(error, 'INVALID_ARGUMENT')) return this.#aside.push(item) > 0; // no key for now
      // this queue is poisoned, too: no slot will be given out any more
      return this.items.push(item) > 0;
    }
    if (code >= 0) this.items[code] = item;
    return code !== NO_MEMORY;
  }

  #pop(now: number): number {
    return this.#call((x) => x.delayPop(this.handle, now));
  }

  #call(run: (x: CoreExports) => number): number {
    try {
      return run(this.core.exports);
    } catch (cause) {
      throw this.core.trapped(cause);
    }
  }

  /** The item of a wait that has ended; its slot may have been given back. */
  #forget(code: number): T {
    const slot = code & ~SLOT_FLAG;
    const item = this.items[slot] as T;
    if (slot !== code) this.released(slot);
    return item;
  }
}

function modeOf(options: { mode?: DelayMode | undefined }): number {
  requireNames('options', options, 'option of addAfter()', DELAY_NAMES);
  const { mode = 'earliest' } = options;
  if (!Object.hasOwn(WAIT_MODES, mode))
    throw invalid('mode', "'earliest', 'latest' or 'replace'", mode);
  return WAIT_MODES[mode];
}

function modeName(how: number): DelayMode {
  return how === WAIT_MODES.latest ? 'latest' : how === WAIT_MODES.replace ? 'replace' : 'earliest';
}
