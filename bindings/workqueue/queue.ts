/// <reference lib="esnext.disposable" preserve="true" />
/**
 * The work queue, one item at a time: client-go util/workqueue/queue.go over the Wasm core
 * (assembly/queue.ts).
 *
 * - Fair: first come, first served. Stingy: a key that is added many times before it is handed out
 *   is handed out once.
 * - A key is never handed out twice at once: added while it is processed, it comes back once, after
 *   done().
 * - A waiting get() is never woken for nothing and no wake-up is lost: the call that makes a
 *   key ready hands it out at once to the get() that has waited longest.
 * - The core keeps keys and their states, JS keeps the items: `items[slot]` is set exactly while
 *   the slot is in use.
 */
import { type Clock, systemClock } from '../base/clock.ts';
import { disposable } from '../base/disposable.ts';
import { type CapstanError, invalid } from '../base/errors.ts';
import { type Names, SIGNAL } from '../base/names.ts';
import {
  type Core,
  DONE_RELEASED,
  DONE_REQUEUED,
  DONE_UNKNOWN,
  NOTHING,
  ORDER_BY_HOST,
  ORDER_LISTED,
  SLOT_FLAG,
  STATE_BUSY,
  STATE_DIRTY,
  STATE_PROCESSING,
  sharedCore,
} from '../wasm/core.ts';
import { type KeyFunction, type KeyTable, keyTable } from '../wasm/keys.ts';
import { Bound } from './bound.ts';
import { aborted, problemOf } from './checks.ts';
import { type CoreOfQueue, disposed, giveBack, type Holding, holdQueue } from './core-resources.ts';
import { Chosen, type Ordered } from './custom-order.ts';
import { Drains } from './drains.ts';
import { type GetOptions, Gets, itemsOf, problemOfGet, told } from './gets.ts';
import { meterFor, type QueueMeter, tellsOfTaken } from './metrics.ts';
import {
  checkOptions,
  type Got,
  gotten,
  orderOf,
  QUEUE_NAMES,
  type QueueOptions,
  rulesOf,
} from './options.ts';
import type { WorkQueue } from './work-queue.ts';

/**
 * What a queue does with one item at a time; `WorkQueue` adds many at a time, and is what there are
 * instances of.
 */
export abstract class BaseQueue<T = string> implements AsyncIterable<T> {
  /** @internal */
  protected readonly clock: Clock;
  /**
   * @internal The queue that this one wraps; then the handle below only serves what a subclass
   * adds.
   */
  protected readonly inner: WorkQueue<T> | undefined;
  /** @internal */
  protected core: CoreOfQueue;
  /** @internal */
  protected readonly handle: number;
  /** @internal */
  protected readonly keys: KeyTable<T>;
  /** @internal Of the options, or of the queue that this one wraps. */
  protected readonly keyFunction: KeyFunction<T> | undefined;
  /** @internal By slot. */
  protected readonly items: (T | undefined)[] = [];
  /** @internal Set when a user's metrics provider wants to hear of each operation. */
  protected readonly meter: QueueMeter | undefined;
  /** @internal Set when something but the core's own FIFO decides on the order. */
  protected readonly order: Chosen<T> | undefined;
  /** @internal */
  protected stopped = false;
  /** @internal The queues around this one that have a timer set: told of its end. */
  readonly waiters: Set<{ innerStopped(): void }> = new Set();
  /** @internal */
  protected readonly bound: Bound | undefined;
  /** @internal */
  protected readonly gets: Gets<T> = new Gets();
  /** @internal */
  protected readonly drains: Drains = new Drains();
  /** @internal Whether the core keeps the times of each operation. */
  protected readonly timed: boolean;
  /** @internal Of the options. */
  readonly addRules: number;

  #lastItem: T | undefined; // handed out last and not done, at #lastSlot: spares done() the look-up
  #lastSlot = NOTHING;
  readonly #held: Holding;
  declare [Symbol.dispose]: () => void;

  constructor(options: QueueOptions<T> = {}) {
    const {
      name = '',
      clock,
      metricsProvider,
      key,
      inner,
    } = checkOptions(options, this.optionNames);
    const order = orderOf(options);
    if (inner !== undefined && !(inner instanceof BaseQueue))
      throw invalid('inner', 'a WorkQueue', inner);
    this.inner = inner;
    this.bound =
      options.maxDepth === undefined ? undefined : new Bound(options.maxDepth, options.whenFull);
    this.clock = clock ?? inner?.clock ?? systemClock;
    this.order = order && new Chosen(order);
    this.keyFunction = key ?? inner?.keyFunction;
    const core = sharedCore();
    this.core = core;
    const metered = inner === undefined && name !== '' && metricsProvider !== undefined;
    this.timed = metered || options.times === true;
    this.addRules = rulesOf(options);
    try {
      this.handle = this.create(core, options);
      if (this.handle !== 0 && this.addRules !== 0)
        core.exports.queueRules(this.handle, this.addRules);
    } catch (cause) {
      throw core.trapped(cause);
    }
    if (this.handle === 0) throw core.outOfMemory();
    this.keys = keyTable(core, this.handle, this.keyFunction);
    const { handle, hasLevels } = this;
    this.#held = holdQueue(this, core, handle);
    if (metered)
      this.meter = meterFor(metricsProvider, { name, core, handle, clock: this.clock, hasLevels });
    this.#held.meter = this.meter;
  }

  /** @internal What the constructor takes. */
  protected get optionNames(): Names {
    return QUEUE_NAMES;
  }

  /**
   * Adds an item. Already waiting to be handed out: no effect (the order's `touch` is called).
   * Being processed: it is handed out again after done(). After shutDown(): dropped silently, as in
   * client-go.
   */
  add(item: T): void {
    if (this.inner !== undefined) {
      this.checkAlive();
      this.inner.add(item);
      return;
    }
    if (this.stopped) {
      this.checkAlive();
      return;
    }
    if (!this.bound?.refuses(this, item)) this.admit(item);
  }

  /**
   * @internal add() without the questions: of a queue that wraps none, is not shut down and has
   * room.
   */
  protected admit(item: T, now: number = this.now()): void {
    let code: number;
    try {
      code = this.keys.add(item, now);
    } catch (cause) {
      throw this.core.trapped(cause);
    }
    if (code >= 0) this.added(item, code, now);
    else if (code !== NOTHING) throw this.core.outOfMemory();
    else if (
      this.order !== undefined &&
      (this.#stateOf(item) & (STATE_DIRTY | STATE_PROCESSING)) === STATE_DIRTY
    )
      this.order.touch(item); // else it is processed, or left to its back-off
  }

  /** How many items are ready to be handed out. */
  len(): number {
    if (this.inner !== undefined) {
      this.checkAlive();
      return this.inner.len();
    }
    if (this.order !== undefined) return this.order.len();
    try {
      return this.core.exports.queueLen(this.handle);
    } catch (cause) {
      throw this.core.trapped(cause);
    }
  }

  /**
   * The next item, or the news of the shutdown; waits while there is neither. Hand the item back
   * with done(). A signal that fires while waiting rejects with ABORTED; no item is lost by that.
   */
  get(options?: GetOptions<T>): Promise<Got<T>> {
    if (this.inner !== undefined) {
      try {
        this.checkAlive();
      } catch (error) {
        return Promise.reject(error);
      }
      return this.inner.get(options);
    }
    return this.next(options, told(options?.taken, gotten));
  }

  /**
   * @internal What get() does. `answer` is called when the item is handed out, before anything else
   * is; undefined: shutdown.
   */
  protected next<G>(
    options: { signal?: AbortSignal } | undefined,
    answer: (item: T | undefined) => G,
  ): Promise<G> {
    const signal = options?.signal;
    const problem =
      problemOfGet(options) ?? (signal?.aborted ? aborted('get()', signal) : undefined);
    if (problem !== undefined) return Promise.reject(problem);
    try {
      const item = this.take();
      if (item === undefined && !this.over()) return this.gets.wait(signal, answer);
      const tell = item === undefined ? undefined : this.taken();
      try {
        return Promise.resolve(answer(item)); // before the metrics are told: they may take another
      } finally {
        tell?.();
      }
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** The next item, or `undefined` when none is ready now. Hand it back with done(). */
  tryGet(): T | undefined {
    if (this.inner !== undefined) {
      this.checkAlive();
      return this.inner.tryGet();
    }
    const item = this.take();
    if (item !== undefined) this.taken()?.();
    return item;
  }

  /**
   * @internal tryGet() up to the metrics. Nothing is taken for gets that have stopped waiting
   * meanwhile: a clock and an order are a user's.
   */
  take(waiting?: Gets<T>): T | undefined {
    return this.takeSlot(waiting) < 0 ? undefined : this.#lastItem;
  }

  /** @internal The slot of the item that take() answers, or NOTHING. */
  protected takeSlot(waiting?: Gets<T>): number {
    const now = this.now();
    if (waiting?.size === 0) return NOTHING;
    const { order } = this;
    const slot =
      order === undefined ? this.#takeFirst(now) : order.take(this.#ordered(), now, waiting);
    if (slot < 0) return slot;
    this.#lastItem = this.items[slot];
    this.#lastSlot = slot;
    return slot;
  }

  /**
   * @internal What tells the metrics of the item taken last. They are a user's and may call back,
   * so the get() that waits for the item must have it by then.
   */
  taken(): (() => void) | undefined {
    return this.meter?.perOperation ? tellsOfTaken(this.meter, this.core.exports) : undefined;
  }

  /**
   * Ends the processing of an item; if it was added meanwhile it becomes ready again. An item not
   * being processed: no effect.
   */
  done(item: T): void {
    if (this.inner !== undefined) {
      this.checkAlive();
      this.inner.done(item);
      return;
    }
    const now = this.now();
    let slot: number;
    let outcome: number;
    try {
      if (item === this.#lastItem && this.#lastSlot !== NOTHING) slot = this.#lastSlot;
      else {
        slot = this.keys.find(item);
        if (slot === NOTHING) return;
        if (slot < 0) throw this.core.outOfMemory();
      }
      if (slot === this.#lastSlot) {
        this.#lastItem = undefined;
        this.#lastSlot = NOTHING;
      }
      outcome = this.core.exports.queueDoneSlot(this.handle, slot, now);
    } catch (cause) {
      throw this.core.trapped(cause);
    }
    this.finished(slot, outcome);
  }

  /**
   * Takes no more items; those that are ready are still handed out, then get() reports the
   * shutdown. What waits for a delay is dropped. Ends a shutDownWithDrain() that is under way.
   * Again: no effect.
   */
  shutDown(): void {
    this.checkAlive();
    this.#end();
  }

  /**
   * Like shutDown(), and resolves when nothing is being processed. As in client-go it does not wait
   * for items that are ready, and may resolve although the last item done became ready again; of
   * two drains one done() wakes only the later, and a shutDown() ends both. A signal that fires
   * meanwhile rejects with ABORTED; the queue stays shut down.
   */
  shutDownWithDrain(options?: { signal?: AbortSignal | undefined }): Promise<void> {
    const signal = options?.signal;
    const problem = problemOf(options, 'shutDownWithDrain()', SIGNAL);
    if (problem !== undefined) return Promise.reject(problem);
    try {
      this.checkAlive();
      this.#stop();
      if (this.inner !== undefined) return this.inner.shutDownWithDrain(options);
      if (this.idle()) return Promise.resolve();
    } catch (error) {
      return Promise.reject(error);
    }
    return this.drains.wait(signal);
  }

  shuttingDown(): boolean {
    if (this.inner !== undefined) return this.inner.shuttingDown();
    return this.stopped;
  }

  /** Items as they become ready; ends at shutdown. Never calls done(): the loop's body does. */
  [Symbol.asyncIterator](): AsyncIterator<T> {
    return itemsOf(this);
  }

  /**
   * Shuts down and gives the memory back. Every later call is a CapstanError DISPOSED, except a
   * second dispose().
   */
  dispose(): void {
    if (this.core === disposed) return;
    try {
      this.#end();
    } catch {
      // Poisoned: those who wait have been told, and there is nothing left to drop.
    }
    this.items.length = 0;
    this.#lastItem = undefined;
    this.#lastSlot = NOTHING;
    this.giveUp();
  }

  /** @internal All that dispose() has to do for a queue whose constructor fails. */
  protected giveUp(): void {
    this.core = disposed;
    this.keys.closed(disposed);
    giveBack(this, this.#held);
  }

  /** @internal Nothing will ever be handed out again: all calls that wait reject. */
  poisoned(error: CapstanError): void {
    this.gets.end(error);
    this.drains.end(error);
    this.meter?.stop();
  }

  /** @internal */
  protected disposed(): boolean {
    return this.core === disposed;
  }

  /** @internal Throws when disposed of or poisoned. */
  protected checkAlive(): void {
    try {
      this.core.exports.memoryPages();
    } catch (cause) {
      throw this.core.trapped(cause);
    }
  }

  /**
   * @internal Stores an item at the slot that an add answered, and hands it to a get() that waits.
   */
  protected added(item: T, code: number, now: number): void {
    const slot = code & ~SLOT_FLAG;
    this.items[slot] = item;
    this.meter?.added(0);
    if (slot !== code) return;
    if (this.order !== undefined) this.#push(this.order, slot, item, now);
    if (this.gets.size > 0) this.serve();
  }

  /**
   * An order that throws has not taken the item: the add has not happened, and its caller is told.
   */
  #push(order: Chosen<T>, slot: number, item: T, now: number): void {
    try {
      order.push(item);
    } catch (error) {
      if (!this.disposed() && this.core.exports.queueTake(this.handle, slot, now)) {
        this.taken()?.();
        this.finished(slot, this.core.exports.queueDoneSlot(this.handle, slot, now));
      }
      throw error;
    }
  }

  /** @internal Draws the consequences of a done. */
  protected finished(slot: number, outcome: number): void {
    if (outcome === DONE_UNKNOWN) return;
    const worked = this.meter === undefined ? 0 : this.core.exports.queueLastWork();
    if (outcome === DONE_RELEASED) this.released(slot);
    else if (outcome === DONE_REQUEUED) {
      this.order?.pushOrKeep(slot, this.items[slot] as T);
      if (this.gets.size > 0) this.serve();
    }
    this.meter?.done(worked); // after the books are closed: a user's metrics may call back
    if (this.stopped) this.wakeDrains(outcome === DONE_REQUEUED);
  }

  /**
   * @internal After each done() of a queue that is shut down. client-go signals one waiter when a
   * key is queued again or none is left in processing.
   */
  protected wakeDrains(requeued: boolean): void {
    if (this.drains.size === 0) return;
    const processing = this.core.exports.queueProcessing(this.handle);
    if (requeued || processing === 0) this.drains.signal(processing);
  }

  /** @internal The table in the core, and whether it has levels: both asked by the constructor. */
  protected create(core: Core, options: QueueOptions<T>): number {
    return core.exports.queueNew(
      this.timed,
      orderOf(options) === undefined ? ORDER_LISTED : ORDER_BY_HOST,
    );
  }

  /** @internal */
  protected get hasLevels(): boolean {
    return false;
  }

  /** @internal Whether what is not ready by now never will be. */
  protected over(): boolean {
    return this.stopped;
  }

  /** @internal What a drain waits for. */
  protected idle(): boolean {
    return this.core.exports.queueProcessing(this.handle) === 0;
  }

  /** @internal The core has given the slot back. */
  protected released(slot: number): void {
    if (slot === this.#lastSlot) {
      this.#lastItem = undefined;
      this.#lastSlot = NOTHING;
    }
    this.items[slot] = undefined;
    this.keys.released(slot);
  }

  /** @internal What counts for the bound. */
  depth(): number {
    return this.core.exports.queueDepth(this.handle) + this.core.exports.delayWaiting(this.handle);
  }

  /** @internal Whether the item is in the queue or being processed. */
  knows(item: T): boolean {
    return (this.#stateOf(item) & STATE_BUSY) !== 0;
  }

  /** 0 of an item that it does not know. */
  #stateOf(item: T): number {
    const slot = this.slotOf(item);
    if (slot < 0 && slot !== NOTHING) throw this.core.outOfMemory();
    return slot < 0 ? 0 : this.core.exports.queueState(this.handle, slot);
  }

  /** @internal Hands out what is ready to the gets that wait. */
  protected serve(): void {
    this.gets.serve(this);
  }

  /** @internal What a subclass must drop when the queue shuts down. */
  protected drop(): void {}

  /**
   * Takes no more items and tells those who wait; of the core it needs only what drop() does, which
   * comes last.
   */
  #stop(): void {
    if (this.stopped) return;
    this.stopped = true;
    if (this.over()) this.gets.end();
    this.meter?.stop(); // the clock is a user's
    for (const queue of this.waiters) queue.innerStopped();
    this.drop();
  }

  /** A shutdown that ends the drains too. */
  #end(): void {
    this.drains.end();
    this.#stop();
    this.gets.end();
    this.inner?.shutDown();
  }

  /**
   * @internal The clock is the user's: it is read outside of everything that takes an exception for
   * a trap.
   */
  protected now(): number {
    return this.timed ? this.clock.now() : 0;
  }

  /** @internal What `KeyTable.find` answers. */
  protected slotOf(item: T): number {
    try {
      return this.keys.find(item);
    } catch (cause) {
      throw this.core.trapped(cause);
    }
  }

  #ordered(): Ordered<T> {
    const { core, handle, keys, items } = this;
    return { core, handle, keys, items };
  }

  #takeFirst(now: number): number {
    try {
      return this.core.exports.queueGet(this.handle, now);
    } catch (cause) {
      throw this.core.trapped(cause);
    }
  }
}

disposable(BaseQueue.prototype);
