/**
 * Delayed adds: client-go util/workqueue/delaying_queue.go over the core's heap
 * (assembly/delay.ts).
 *
 * - Never early, on a monotonic clock; the earliest time of a key wins; equal times keep their
 *   order.
 * - One host timer, for the head of the heap and never further away than the heartbeat. It is set
 *   while something waits (and may fire once for nothing when an add has ended the wait, see
 *   addEndsWait).
 */
import { NOTHING_STARTED } from '../base/clock.ts';
import { hasCode, invalid, isCapstanError } from '../base/errors.ts';
import { handleError, tell } from '../base/handle-error.ts';
import { keepShape } from '../base/keep-shape.ts';
import { namesOf, requireNames } from '../base/names.ts';
import {
  NO_MEMORY,
  NOTHING,
  SLOT_FLAG,
  STATE_WAITING,
  WAIT_IS_BACKOFF,
  WAIT_MODES,
} from '../wasm/core.ts';
import { retriesCounter } from './metrics.ts';
import type { QueueOptions } from './options.ts';
import { WorkQueue } from './queue.ts';

/** What a delayed add does to a delay of the same item that runs already. */
export type DelayMode = keyof typeof WAIT_MODES;

const DELAY_NAMES = namesOf<{ mode: DelayMode }>()({ mode: 1 });

/**
 * A work queue with `addAfter`. client-go: `workqueue.TypedDelayingInterface`.
 *
 * @example
 * const queue = new DelayingQueue();
 * // ready in half a second, unless something adds it earlier still
 * queue.addAfter('default/web', 500);
 */
export class DelayingQueue<T = string> extends WorkQueue<T> {
  /** @internal What waits in this queue. */
  readonly waits: Delays<T>;
  readonly #inner: DelayingQueue<T> | undefined; // everything waits in it

  constructor(options: QueueOptions<T> = {}) {
    super(options);
    const { inner } = options;
    this.waits = new Delays(this, inner, options);
    if (inner instanceof DelayingQueue) this.#inner = inner;
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
    this.checkAlive();
    return (this.#inner ?? this.waits).cancel(item);
  }

  /** How many items wait for a delay, those included that are ready or processed meanwhile. */
  waiting(): number {
    this.checkAlive();
    return (this.#inner ?? this.waits).waiting();
  }

  /** @internal Milliseconds until the item's delay ends; undefined if it does not wait. */
  waitOf(item: T): number | undefined {
    const { handle, core } = this;
    const slot = this.slotOf(item);
    if (slot < 0 || (core.exports.queueState(handle, slot) & STATE_WAITING) === 0) return undefined;
    return Math.max(core.exports.delayUntil(handle, slot) - this.clock.now(), 0);
  }

  /** @internal addAfter() with what the core calls the mode, or WAIT_IS_BACKOFF. */
  delay(item: T, ms: number, how: number): void {
    const inner = this.#inner;
    if (inner === undefined) {
      this.waits.after(item, ms, how);
      return;
    }
    this.checkAlive();
    if (inner.addAfter === DelayingQueue.prototype.addAfter) inner.delay(item, ms, how);
    else inner.addAfter(item, ms, { mode: modeName(how) });
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

/**
 * client-go's maxWait: however far away the next time is, it is looked at again after this long (a
 * host may sleep, clocks may jump).
 */
const HEARTBEAT_MS = 10_000;
/**
 * The time of a timer for keys whose delay is over already: it fires at once. The clock has jumped
 * where the host's timers do not, or the event loop is late.
 */
const OVERDUE = Number.NEGATIVE_INFINITY;
const NEVER = Number.POSITIVE_INFINITY;
/**
 * How long an item waits again that was due when there was no memory to queue it, or no room in the
 * inner queue.
 */
const AGAIN_MS = 1000;

/** The items of a queue that wait for a delay. */
class Delays<T> {
  readonly #queue: WorkQueue<T>;
  readonly #inner: WorkQueue<T> | undefined;
  /** Counts the delayed adds in the metrics. */
  readonly retries: { inc(): void } | undefined;
  readonly #addEach: boolean; // what becomes due is added one by one
  #timer: unknown;
  #timerAt = NEVER;
  /** Counts the timers, so that one whose `clearTimer` threw does nothing when it fires. */
  #timers = 0;
  /** Items that are due and whose key function threw: it is asked again after AGAIN_MS. */
  #aside: T[] = [];
  /** The last item that was due found no room in the inner queue. */
  #isInnerFull = false;

  constructor(queue: WorkQueue<T>, inner: WorkQueue<T> | undefined, options: QueueOptions<T>) {
    this.#queue = queue;
    this.#inner = inner;
    this.retries = retriesCounter(options.metricsProvider, options.name, queue.metrics);
    this.#addEach = inner !== undefined || queue.order !== undefined || queue.meter !== undefined;
    queue.delays = this;
  }

  after(item: T, ms: number, how: number): void {
    const isOver = this.#queue.shuttingDown();
    if (isOver || ms <= 0) {
      const staysInLine = how === WAIT_MODES.earliest || how === WAIT_IS_BACKOFF;
      if (isOver || staysInLine || (this.#queue.stateOf(item) & STATE_WAITING) === 0)
        this.#queue.add(item); // drops it after a shutdown, and throws after dispose()
      else if (how === WAIT_MODES.replace) this.#replaceNow(item);
      if (!isOver) this.retries?.inc();
      return;
    }
    if (this.#queue.bound?.refuses(this.#queue, item)) return;
    const now = this.#queue.clock.now();
    const at = now + ms;
    // the heap could not order it
    if (Number.isNaN(at)) throw invalid('clock.now()', 'a number of milliseconds', at);
    let code: number;
    try {
      code = this.#queue.keys.wait(item, at, how);
    } catch (cause) {
      throw this.#queue.core.trapped(cause);
    }
    if (code >= 0) this.#queue.items[code] = item;
    else if (code === NO_MEMORY) throw this.#queue.core.outOfMemory();
    this.wakeAt(at, now);
    this.retries?.inc(); // last: a user's metric may end the queue
  }

  /** The wait ends last, as an inner queue may be full, and a clock may throw. */
  #replaceNow(item: T): void {
    if (this.#inner !== undefined) {
      this.#queue.add(item);
      this.cancel(item);
      return;
    }
    const now = this.#queue.now();
    this.cancel(item);
    this.#queue.admit(item, now); // it was known: a bound does not concern it
  }

  cancel(item: T): boolean {
    const slot = this.#queue.slotOf(item);
    const code =
      slot < 0 ? NOTHING : this.#queue.core.exports.delayCancel(this.#queue.handle, slot);
    if (code === NOTHING) return false;
    this.#forget(code);
    if (this.waiting() === 0) this.disarm();
    return true;
  }

  waiting(): number {
    return this.#queue.core.exports.delayWaiting(this.#queue.handle);
  }

  /** Something waits until `at`: the timer is set for it. */
  wakeAt(at: number, now: number): void {
    if (at < this.#timerAt) this.#arm(at);
    else if (this.#timerAt <= now && this.#timerAt !== OVERDUE) {
      this.#arm(now);
      this.#timerAt = OVERDUE;
    }
  }

  /** Drops all keys that wait, at the shutdown. */
  drop(): void {
    this.disarm();
    this.#aside.length = 0;
    for (let code = this.#pop(NEVER); code !== NOTHING; code = this.#pop(NEVER)) this.#forget(code);
  }

  #arm(at: number): void {
    const { clock } = this.#queue;
    const ms = Math.min(at - clock.now(), HEARTBEAT_MS);
    this.disarm(); // if the clock throws below, no timer counts as set
    const number = ++this.#timers;
    this.#timer = clock.setTimer(() => (number === this.#timers ? this.#fire() : undefined), ms);
    this.#queue.core.timed.add(this.#queue);
    this.#inner?.waiters.add(this);
    this.#timerAt = clock.now() + ms;
  }

  /** Never throws: an end must end everything, and an add has happened. */
  disarm(): void {
    this.#inner?.waiters.delete(this);
    this.#queue.core.timed.delete(this.#queue);
    const timer = this.#timer;
    this.#timer = undefined;
    this.#timerAt = NEVER;
    this.#timers++;
    if (timer !== undefined)
      tell(() => this.#queue.clock.clearTimer(timer), 'clearTimer() of the clock of a queue');
  }

  /**
   * The inner queue was shut down by another caller: what waits here cannot be added any more, and
   * its timer would keep the process. client-go: waitingLoop ends at its next turn.
   */
  innerStopped(): void {
    try {
      this.drop();
    } catch (error) {
      handleError(error, 'delayed adds, at the end of the inner queue'); // poisoned
    }
  }

  /**
   * Called by the host, so no caller can catch what is thrown here: it is reported, and the timer
   * for the next wait is set all the same.
   *
   * @returns NOTHING_STARTED for a heartbeat at which nothing was due
   */
  #fire(): typeof NOTHING_STARTED | undefined {
    this.#timer = undefined; // it needs no clearing
    this.disarm();
    if (this.#queue.shuttingDown()) {
      this.innerStopped(); // by a subclass that says so, or by the inner queue
      return undefined;
    }
    let reported = false;
    let wasDue = true;
    try {
      const now = this.#queue.clock.now();
      const first = this.#queue.core.exports.delayNext(this.#queue.handle);
      wasDue = this.#aside.length > 0 || first <= now;
      this.#addDue(now);
    } catch (error) {
      reported = true;
      if (!this.#queue.isDisposed) handleError(error, 'delayed adds');
    }
    try {
      const next = this.#queue.core.exports.delayNext(this.#queue.handle);
      if (this.#aside.length > 0) this.#arm(Math.min(next, this.#queue.clock.now() + AGAIN_MS));
      else if (next < NEVER) this.#arm(next);
    } catch (error) {
      // A second error, or one after dispose(), is not reported.
      if (!reported && !this.#queue.isDisposed) handleError(error, 'delayed adds');
    }
    return wasDue ? undefined : NOTHING_STARTED;
  }

  /** Adds everything whose wait has ended. */
  #addDue(now: number): void {
    if (!this.#addEach) {
      if (this.#queue.core.exports.delayAdvance(this.#queue.handle, now) > 0) this.#queue.serve();
    } else if (this.#queue.hasLevels) this.#fireEach(now);
    else {
      for (const item of this.#aside.splice(0)) this.#addOne(item, now);
      for (let code = this.#pop(now); code !== NOTHING; code = this.#pop(now))
        this.#addOne(this.#forget(code), now);
    }
  }

  /**
   * Of a queue with priorities: each key becomes ready with its priority, and the metrics count it.
   */
  #fireEach(now: number): void {
    const { handle } = this.#queue;
    const fire = (): number => this.#queue.core.exports.delayFire(handle, now);
    let isReady = false;
    for (let slot = fire(); slot !== NOTHING; slot = fire()) {
      this.#queue.meter?.added(this.#queue.core.exports.priorityOf(handle, slot));
      isReady = true;
    }
    if (isReady) this.#queue.serve();
  }

  /**
   * An item that cannot be added (there is no memory, no room, its order or its key function threw)
   * waits again, and one whose queue is poisoned waits for recover(): it must not be lost. The
   * bound of this queue does not concern it, as the queue knew it.
   */
  #addOne(item: T, now: number): void {
    const inner = this.#inner;
    try {
      if (inner === undefined) this.#queue.admit(item, now);
      else {
        inner.requireRoom(item);
        inner.add(item);
        this.#isInnerFull = false;
      }
    } catch (error) {
      const code = isCapstanError(error) ? error.code : undefined;
      const ended = code === 'POISONED';
      if (code === 'DISPOSED') throw error;
      const kept = this.#keep(item, ended ? NEVER : now + AGAIN_MS);
      const isKnown = kept && code === 'QUEUE_FULL' && this.#isInnerFull;
      this.#isInnerFull = code === 'QUEUE_FULL';
      if (isKnown) return; // reported for the item before it
      const next = ended ? 'an item is left to recover()' : 'tried again in a second';
      handleError(error, `delayed adds: ${kept ? next : 'an item is lost'}`);
    }
  }

  /** False: there was no memory. */
  #keep(item: T, at: number): boolean {
    let code: number;
    try {
      code = this.#queue.keys.wait(item, at, WAIT_MODES.earliest);
    } catch (error) {
      if (hasCode(error, 'INVALID_ARGUMENT')) return this.#aside.push(item) > 0; // no key for now
      // this queue is poisoned, too: no slot will be given out any more
      return this.#queue.items.push(item) > 0;
    }
    if (code >= 0) this.#queue.items[code] = item;
    return code !== NO_MEMORY;
  }

  #pop(now: number): number {
    return this.#queue.core.exports.delayPop(this.#queue.handle, now);
  }

  /** The item of a wait that has ended; its slot may have been given back. */
  #forget(code: number): T {
    const slot = code & ~SLOT_FLAG;
    const item = this.#queue.items[slot] as T;
    if (slot !== code) this.#queue.released(slot);
    return item;
  }
}
