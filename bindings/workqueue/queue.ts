/**
 * The work queue over the Wasm core (assembly/queue.ts): client-go util/workqueue/queue.go.
 *
 * Invariants:
 * - A key that is added several times before it is handed out is handed out once. Keys come in the
 *   order in which they were added.
 * - A key is never handed out twice at once. Added while it is processed, it becomes ready again
 *   after done().
 * - An add hands the key to the get() that has waited longest, at once. So no wake-up is lost, and
 *   no get() wakes for nothing.
 * - The core has the keys and their states, JS has the items: `items[slot]` is set exactly while
 *   the slot is in use.
 */
/// <reference lib="esnext.disposable" preserve="true" />
import { type Clock, systemClock } from '../base/clock.ts';
import { disposable } from '../base/disposable.ts';
import { aborted, type CapstanError, invalid, requireInteger } from '../base/errors.ts';
import { keepShape } from '../base/keep-shape.ts';
import { requireNames, requireSignalOptions } from '../base/names.ts';
import {
  DONE_KEPT,
  DONE_RELEASED,
  DONE_REQUEUED,
  DONE_UNKNOWN,
  NOTHING,
  ORDER_BY_HOST,
  ORDER_LISTED,
  SLOT_FLAG,
  SLOT_LIMIT,
  SLOT_NUMBER,
  STALE,
  STATE_BUSY,
  STATE_DIRTY,
  STATE_PROCESSING,
  sharedCore,
} from '../wasm/core.ts';
import { type KeyFunction, type KeyTable, keyTable } from '../wasm/keys.ts';
import { Bound } from './bound.ts';
import {
  type CoreOfQueue,
  callWhenPoisoned,
  disposed,
  giveBack,
  type Holding,
  hold,
  makeTable,
} from './core-resources.ts';
import { CustomOrder } from './custom-order.ts';
import { forwardTo } from './inner-queue.ts';
import { type CallingMeter, metricsFor, type QueueMetrics } from './metrics.ts';
import { checkOptions, PLAIN_QUEUE, type QueueKind, type QueueOptions } from './options.ts';
import { checkItems, checkSlots, Slots, stale } from './slots.ts';
import {
  type QueuedKey,
  readKeys,
  SNAPSHOT_NAMES,
  type Snapshot,
  type SnapshotOptions,
} from './snapshot.ts';
import {
  type GetOptions,
  type Got,
  gotten,
  itemsOf,
  requireGetOptions,
  WaitingCalls,
} from './waiting-calls.ts';

/** The number in snapshots from which on a queue that wraps another numbers its own keys. */
const OWN_KEYS = 2 ** 32;

/**
 * A de-duplicating queue for workers that must not process a key twice at once.
 *
 * client-go: `workqueue.TypedInterface`. Items are strings unless `key` is given; any string is a
 * key. Errors (CapstanError): INVALID_ARGUMENT, OUT_OF_MEMORY (nothing was changed), DISPOSED,
 * POISONED, ABORTED (get with a signal), STALE_SLOT, TOO_MANY_SLOTS, QUEUE_FULL (with `maxDepth`).
 *
 * @example
 * const queue = new WorkQueue();
 * queue.add('default/web');
 * for await (const key of queue) {
 *   try {
 *     console.log(key);
 *   } finally {
 *     queue.done(key);
 *     queue.shutDown();
 *   }
 * }
 */
export class WorkQueue<T = string> implements AsyncIterable<T> {
  /** @internal */ readonly clock: Clock;
  /** @internal */ core: CoreOfQueue;
  /** @internal The table of this queue in the core. */
  readonly handle: number;
  /** @internal */ readonly keys: KeyTable<T>;
  /** @internal By slot. */
  readonly items: (T | undefined)[] = [];
  /** @internal Of the options, or of the wrapped queue. */
  readonly keyFunction: KeyFunction<T> | undefined;
  /** @internal */ readonly metrics: QueueMetrics | undefined;
  /** @internal Set when the metrics are called for each operation. */
  readonly meter: CallingMeter | undefined;
  /** @internal Set when the user decides on the order of ready keys. */
  readonly order: CustomOrder<T> | undefined;
  /** @internal */ readonly bound: Bound | undefined;
  /** @internal */ readonly gets: WaitingCalls<T> = new WaitingCalls('get()');
  /** @internal Whether keys have priorities. */
  readonly hasLevels: boolean;
  /** @internal Whether the core keeps the times of each operation. */
  readonly timed: boolean;
  /** @internal */ stopped = false;
  /** @internal The keys that wait for a delay, in queues that have delays. */
  delays: { drop(): void; disarm(): void } | undefined;
  /** @internal The queues that wrap this one and have a timer set. */
  readonly waiters: Set<{ innerStopped(): void }> = new Set();
  /** @internal What an add does to a wait: ADD_ENDS_WAIT, ADD_KEEPS_BACKOFF. */
  readonly rules: number;
  /** @internal Batches and slots. */
  readonly slots: Slots<T>;
  /** @internal The number of its first key in snapshots. */
  readonly ownFrom: number;

  readonly #inner: WorkQueue<T> | undefined;
  readonly #drains: WaitingCalls<void> = new WaitingCalls('shutDownWithDrain()');
  readonly #readsClock: boolean;
  readonly #plainSlots: boolean; // one slot is a call of the core and nothing else
  readonly #held: Holding;
  #draining = false; // only with priorities: what is ready is still handed out
  #lastItem: T | undefined; // handed out last and not done, at #lastSlot: done() needs no look-up
  #lastSlot = NOTHING;
  declare [Symbol.dispose]: () => void;

  constructor(options: QueueOptions<T> = {}) {
    const { names, levels } = this.kind(options);
    const {
      name = '',
      inner,
      order,
      rules,
      maxDepth,
      whenFull,
      metricsProvider,
    } = checkOptions(options, names);
    if (inner !== undefined && !(inner instanceof WorkQueue))
      throw invalid('inner', 'a WorkQueue', inner);
    this.#inner = inner;
    this.bound = maxDepth === undefined ? undefined : new Bound(maxDepth, whenFull === 'drop');
    this.clock = options.clock ?? inner?.clock ?? systemClock;
    this.order = order && new CustomOrder(order);
    this.keyFunction = options.key ?? inner?.keyFunction;
    this.rules = rules;
    this.ownFrom = inner === undefined ? 0 : inner.ownFrom + OWN_KEYS;
    const metered = inner === undefined && name !== '' && metricsProvider !== undefined;
    this.timed = metered || options.times === true;
    this.hasLevels = levels !== undefined;
    // Where priorities age, the core must know when each key became ready.
    this.#readsClock = this.timed || (levels !== undefined && levels.everyMs > 0);
    const core = sharedCore();
    this.core = core;
    const coreOrder = order === undefined ? ORDER_LISTED : ORDER_BY_HOST;
    this.handle = makeTable(core, this.timed, levels, coreOrder, rules);
    this.keys = keyTable(core, this.handle, this.keyFunction, this.items);
    const { handle, clock, hasLevels } = this;
    this.#held = { core, handle, free: 'queueFree' };
    hold(this, this.#held);
    if (metered) {
      this.metrics = metricsFor(metricsProvider, { name, core, handle, clock, hasLevels });
      this.#held.metrics = this.metrics;
      this.hasWaiting();
    }
    this.meter = this.metrics?.meter;
    this.slots = new Slots(this);
    this.#plainSlots =
      !this.slots.oneByOne && !hasLevels && !this.timed && this.bound === undefined;
    if (inner !== undefined) forwardTo(inner, this, WorkQueue.prototype);
    keepShape(new.target, WorkQueue, () => new WorkQueue());
  }

  /** @internal What the constructor makes: queues with priorities differ. */
  protected kind(_options: QueueOptions<T>): QueueKind {
    return PLAIN_QUEUE;
  }

  /**
   * Adds an item. It has no effect on an item that is ready already (the order's `touch` is
   * called). An item that is being processed is handed out again after done(). After shutDown() the
   * item is dropped silently, as in client-go.
   */
  add(item: T): void {
    if (this.stopped) this.checkAlive();
    else if (!this.bound?.refuses(this, item)) this.admit(item);
  }

  /** @internal add() to a queue that is not shut down and has room. */
  admit(item: T, now: number = this.now()): void {
    let code: number;
    try {
      code = this.keys.add(item, now);
    } catch (cause) {
      throw this.core.trapped(cause);
    }
    if (code >= 0) this.#added(item, code, now);
    else if (code !== NOTHING) throw this.core.outOfMemory();
    else if (
      this.order !== undefined &&
      (this.stateOf(item) & (STATE_DIRTY | STATE_PROCESSING)) === STATE_DIRTY
    )
      this.order.touch(item); // else it is processed, or left to its back-off
  }

  /** Stores an item at the slot that an add answered, and hands it to a get() that waits. */
  #added(item: T, code: number, now: number): void {
    const slot = code & ~SLOT_FLAG;
    this.items[slot] = item;
    this.meter?.added(0);
    if (slot !== code) return;
    if (this.order !== undefined) this.#push(this.order, slot, item, now);
    if (this.gets.size > 0) this.serve();
  }

  /** When the order throws, it has not taken the item: the add is undone, and throws the same. */
  #push(order: CustomOrder<T>, slot: number, item: T, now: number): void {
    try {
      order.push(item);
    } catch (error) {
      if (!this.isDisposed && this.core.exports.queueTake(this.handle, slot, now)) {
        this.taken()?.();
        this.finished(slot, this.core.exports.queueDoneSlot(this.handle, slot, now));
      }
      throw error;
    }
  }

  /** Adds the items in turn. When one is refused, those before it have been added. */
  addAll(items: Iterable<T>): void {
    checkItems(items);
    for (const item of items) this.add(item);
  }

  /** How many items are ready to be handed out. */
  len(): number {
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
    const taken = options?.taken;
    if (taken === undefined) return this.next(options, gotten);
    return this.next(options, (item) => {
      if (item !== undefined) taken(item);
      return gotten(item);
    });
  }

  /**
   * @internal What get() does. `answer` is called when the item is handed out, before anything else
   * is; undefined means shutdown.
   */
  next<G>(
    options: { signal?: AbortSignal } | undefined,
    answer: (item: T | undefined) => G,
  ): Promise<G> {
    try {
      requireGetOptions(options);
      const signal = options?.signal;
      if (signal?.aborted) throw aborted('get()', signal.reason);
      const item = this.take();
      if (item === undefined && !this.#over()) {
        this.hasWaiting();
        return this.gets.wait(signal, answer);
      }
      const tell = item === undefined ? undefined : this.taken();
      try {
        return Promise.resolve(answer(item)); // before the metrics, which may take another item
      } finally {
        tell?.();
      }
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** The next item, or `undefined` when none is ready now. Hand it back with done(). */
  tryGet(): T | undefined {
    const item = this.take();
    if (item !== undefined) this.taken()?.();
    return item;
  }

  /** @internal tryGet() without a call of the metrics. */
  take(waiting?: WaitingCalls<T>): T | undefined {
    return this.takeSlot(waiting) < 0 ? undefined : this.#lastItem;
  }

  /**
   * @internal The slot of the item that take() answers, or NOTHING. The clock and the order are the
   * user's: where they have ended the `waiting` gets, nothing is taken.
   */
  takeSlot(waiting?: WaitingCalls<T>): number {
    const now = this.now();
    if (waiting?.size === 0) return NOTHING;
    const { order } = this;
    let slot: number;
    if (order !== undefined) slot = order.take(this, now, waiting);
    else {
      try {
        slot = this.core.exports.queueGet(this.handle, now);
      } catch (cause) {
        throw this.core.trapped(cause);
      }
    }
    if (slot < 0) return slot;
    this.#lastItem = this.items[slot];
    this.#lastSlot = slot;
    return slot;
  }

  /**
   * @internal The call of the metrics for the item taken last. Metrics are the user's and may call
   * back, so the item is handed out before.
   */
  taken(): (() => void) | undefined {
    return this.meter?.taken();
  }

  /** @internal Hands out what is ready to the gets that wait. */
  serve(): void {
    this.gets.serve(this);
  }

  /**
   * Ends the processing of an item; if it was added meanwhile it becomes ready again. It has no
   * effect on an item that is not being processed.
   */
  done(item: T): void {
    const now = this.now();
    let slot: number;
    let outcome: number;
    try {
      // `===` reads both strings to see that they are strings: a cache miss for each key
      if (Object.is(item, this.#lastItem) && this.#lastSlot !== NOTHING) slot = this.#lastSlot;
      else {
        slot = this.keys.find(item);
        if (slot === NOTHING) return;
        if (slot < 0) throw this.core.outOfMemory();
      }
      if (slot === this.#lastSlot) this.#forgetLast();
      outcome = this.core.exports.queueDoneSlot(this.handle, slot, now);
    } catch (cause) {
      throw this.core.trapped(cause);
    }
    this.finished(slot, outcome);
  }

  /** @internal After the core's done: frees the slot, or hands the key to a get() that waits. */
  finished(slot: number, outcome: number): void {
    if (outcome === DONE_UNKNOWN) return;
    const worked = this.meter === undefined ? 0 : this.core.exports.queueLastWork();
    if (outcome === DONE_RELEASED) this.released(slot);
    else if (outcome === DONE_REQUEUED) {
      this.order?.pushOrKeep(slot, this.items[slot] as T);
      if (this.gets.size > 0) this.serve();
    }
    this.meter?.done(worked); // last: a user's metrics may call back
    if (this.stopped) this.#wakeDrains(outcome === DONE_REQUEUED);
  }

  /** @internal The core has given the slot back. */
  released(slot: number): void {
    if (slot === this.#lastSlot) this.#forgetLast();
    this.items[slot] = undefined;
    this.keys.released(slot);
  }

  #forgetLast(): void {
    this.#lastItem = undefined;
    this.#lastSlot = NOTHING;
  }

  /**
   * Up to `max` items that are ready, in their order; empty when none is. Hand them back with
   * doneAll() (fastest with this very array) or done().
   *
   * @example
   * const queue = new WorkQueue();
   * queue.addAll(['a', 'b', 'c']);
   * const batch = queue.getBatch(256);
   * queue.doneAll(batch);
   */
  getBatch(max: number): T[] {
    return this.slots.getBatch(max);
  }

  /** Ends the processing of the items, as done() does for each. */
  doneAll(items: Iterable<T>): void {
    checkItems(items);
    if (!this.slots.endBatch(items)) for (const item of items) this.done(item);
  }

  /**
   * Gives a slot, an int32 for addSlots(), that stands for the item until unpin(), whatever becomes
   * of the item. The item stays in the queue's memory as long. An item that is pinned twice has one
   * slot, and one unpin() ends it. Throws TOO_MANY_SLOTS under the same condition as getSlots().
   *
   * @example
   * const queue = new WorkQueue();
   * const slots = Int32Array.of(queue.pin('a'), queue.pin('b'));
   * queue.addSlots(slots, 2);
   * const handed = new Int32Array(256);
   * const count = queue.getSlots(handed);
   * for (let i = 0; i < count; i++) console.log(queue.slotItem(handed[i] as number));
   * queue.doneSlots(handed, count);
   */
  pin(item: T): number {
    return this.slots.pin(item);
  }

  /**
   * Ends what pin() began: the slot becomes stale, at once or when the item is no longer in the
   * queue. Throws STALE_SLOT if the slot is not pinned.
   */
  unpin(slot: number): void {
    this.slots.unpin(slot);
  }

  /** The item that a slot stands for. Throws STALE_SLOT for a stale slot. */
  slotItem(slot: number): T {
    return this.slots.item(slot);
  }

  /**
   * Does what add() does, for the first `count` slots in one call of the core. If one of them is
   * stale, it throws STALE_SLOT and adds nothing.
   */
  addSlots(slots: Int32Array, count: number): void {
    if (count !== 1 || !this.#plainSlots || this.stopped) {
      this.slots.add(slots, count);
      return;
    }
    checkSlots(slots, 1);
    let code: number;
    try {
      code = this.core.exports.slotAdd(this.handle, slots[0] as number, 0);
    } catch (cause) {
      throw this.core.trapped(cause);
    }
    if (code === STALE) throw stale(slots[0] as number);
    if (code >= 0 && code < SLOT_FLAG && this.gets.size > 0) this.serve();
  }

  /**
   * Hands out ready keys, as many as the array has room for, as slots that stand for their items
   * until doneSlots(), and returns how many. Throws TOO_MANY_SLOTS if the queue has ever held more
   * than four million keys at once.
   */
  getSlots(into: Int32Array): number {
    if (!this.#plainSlots || into?.length !== 1 || this.items.length > SLOT_LIMIT)
      return this.slots.get(into);
    checkSlots(into, 1);
    let slot: number;
    try {
      slot = this.core.exports.slotGet(this.handle, 0);
    } catch (cause) {
      throw this.core.trapped(cause);
    }
    if (slot === NOTHING) return 0;
    into[0] = slot;
    return 1;
  }

  /**
   * Does what done() does, for the first `count` slots in one call of the core. If one of them is
   * stale, it throws STALE_SLOT and ends nothing.
   */
  doneSlots(slots: Int32Array, count: number): void {
    if (count !== 1 || !this.#plainSlots || this.stopped) {
      this.slots.done(slots, count);
      return;
    }
    checkSlots(slots, 1);
    const slot = slots[0] as number;
    let outcome: number;
    try {
      outcome = this.core.exports.slotDone(this.handle, slot, 0);
    } catch (cause) {
      throw this.core.trapped(cause);
    }
    if (outcome === DONE_KEPT) return;
    if (outcome === STALE) throw stale(slot);
    this.finished(slot & SLOT_NUMBER, outcome);
  }

  /**
   * Takes no more items; those that are ready are still handed out (a PriorityQueue drops them),
   * then get() reports the shutdown. What waits for a delay is dropped. It ends a
   * shutDownWithDrain() that is under way. A second call has no effect.
   */
  shutDown(): void {
    this.checkAlive();
    if (this.hasLevels) {
      this.#draining = false;
      this.core.exports.priorityClose(this.handle);
    }
    this.#end();
  }

  /**
   * Does what shutDown() does, and resolves when nothing is being processed. As in client-go, it
   * does not wait for items that are ready (a PriorityQueue does), and it may resolve although the
   * item that was done last became ready again. Of two drains that wait, one done() wakes only the
   * later one; a shutDown() ends both. If the signal fires meanwhile, it rejects with ABORTED, and
   * the queue stays shut down.
   */
  shutDownWithDrain(options?: { signal?: AbortSignal | undefined }): Promise<void> {
    try {
      if (options !== undefined) requireSignalOptions(options, 'shutDownWithDrain()');
      this.checkAlive();
      if (this.hasLevels && !this.stopped) this.#draining = true;
      this.#stop();
      if (this.#inner !== undefined) return this.#inner.shutDownWithDrain(options);
      if (this.#idle()) return Promise.resolve();
      this.hasWaiting();
      // A drain begins with a broadcast: the drains that waited wake, find keys in processing and
      // wait again, behind the new one.
      return this.#drains.wait(options?.signal, () => undefined, true);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Takes no more items, and ends the gets. drop() is last: it alone needs the core. */
  #stop(): void {
    if (this.stopped) return;
    this.stopped = true;
    if (this.#over()) this.gets.end();
    this.meter?.stop(); // the clock is a user's
    for (const queue of this.waiters) queue.innerStopped();
    this.delays?.drop();
  }

  /** A shutdown that ends the drains too. */
  #end(): void {
    this.#drains.end();
    this.#stop();
    this.gets.end();
    this.#inner?.shutDown();
  }

  /**
   * After each done() of a queue that is shut down. client-go signals one waiter when a key is
   * queued again or none is left in processing.
   */
  #wakeDrains(requeued: boolean): void {
    if (this.hasLevels) {
      if (this.#over()) this.gets.end();
      if (this.#idle()) this.#drains.end();
    } else if (this.#drains.size > 0) {
      const processing = this.core.exports.queueProcessing(this.handle);
      if (requeued || processing === 0) this.#drains.wake(processing === 0);
    }
  }

  /**
   * Whether no further key can become ready. While a queue with priorities drains, a key
   * that was added while it was processed becomes ready again.
   */
  #over(): boolean {
    return this.stopped && !(this.#draining && this.len() > 0);
  }

  /** Whether a drain is over. */
  #idle(): boolean {
    return (
      this.core.exports.queueProcessing(this.handle) === 0 && !(this.#draining && this.len() > 0)
    );
  }

  shuttingDown(): boolean {
    return this.stopped;
  }

  /** Items as they become ready; ends at shutdown. Never calls done(): the loop's body does. */
  [Symbol.asyncIterator](): AsyncIterator<T> {
    return itemsOf(this);
  }

  /**
   * What is in the queue, a page at a time: `limit` keys (1000), from where the page before ended
   * (`after: page.next`). Keys that come and go between pages may be missed, none is listed twice
   * in one page. Keys that are only pinned are left out. Times need the option `times` or metrics.
   *
   * @example
   * const queue = new WorkQueue({ times: true });
   * for (let page = queue.snapshot(); ; page = queue.snapshot({ after: page.next })) {
   *   for (const { item, state, queuedMs } of page.keys) console.log(item, state, queuedMs);
   *   if (page.next === undefined) break;
   * }
   */
  snapshot(options: SnapshotOptions = {}): Snapshot<T> {
    requireNames('options', options, 'option of snapshot()', SNAPSHOT_NAMES);
    const { after = 0, limit = 1000 } = options;
    requireInteger('after', after, 0);
    requireInteger('limit', limit, 1);
    const { keys, next } = this.page(after, limit);
    for (const key of keys) this.describe(key);
    return { keys, next };
  }

  /** @internal The keys of a snapshot. */
  page(after: number, limit: number): Snapshot<T> {
    const now = this.clock.now(); // a user's, which may end the queue
    const from = Math.min(after - this.ownFrom, OWN_KEYS - 1);
    const { keys, next } = readKeys(this, from, limit, now);
    return { keys, next: next === undefined ? undefined : next + this.ownFrom };
  }

  /** @internal Adds to a key of a snapshot what a subclass knows. */
  protected describe(_key: QueuedKey<T>): void {}

  /** How many adds a queue with `maxDepth` has refused. */
  droppedAdds(): number {
    return this.bound?.refused ?? 0;
  }

  /** @internal Throws QUEUE_FULL where an add would be refused or dropped. */
  requireRoom(item: T): void {
    if (!this.stopped) this.bound?.requireRoom(this, item);
  }

  /**
   * All items that the queue holds, in no order: ready, waiting, being processed, pinned. Also, and
   * above all, when the queue is poisoned and refuses every other call: add them to a new queue,
   * and nothing that was queued is lost.
   */
  recover(): T[] {
    if (this.isDisposed) this.checkAlive();
    return this.items.filter((item) => item !== undefined) as T[];
  }

  /**
   * Shuts down and gives the memory back. Every later call is a CapstanError DISPOSED, except a
   * second dispose().
   */
  dispose(): void {
    if (this.isDisposed) return;
    try {
      this.#end();
    } catch {
      // Poisoned: the calls that waited were rejected, and there is nothing left to drop.
    }
    this.items.length = 0;
    this.#forgetLast();
    this.giveUp();
  }

  /** @internal All that dispose() has to do for a queue whose constructor fails. */
  giveUp(): void {
    this.core = disposed;
    this.keys.closed(disposed);
    giveBack(this, this.#held);
  }

  /** @internal */
  get isDisposed(): boolean {
    return this.core === disposed;
  }

  /** @internal Something waits that must end when the core is poisoned. */
  hasWaiting(): void {
    callWhenPoisoned(this, this.#held);
  }

  /** @internal Nothing will ever be handed out again: the calls that wait reject. */
  poisoned(error: CapstanError): void {
    this.gets.end(error);
    this.#drains.end(error);
    this.meter?.stop();
    this.delays?.disarm();
  }

  /** @internal Throws when the queue was disposed of or its core is poisoned. */
  checkAlive(): void {
    this.core.exports.memoryPages();
  }

  /**
   * @internal Calls the table of keys, or an export without a guard. A trap poisons the instance,
   * and is thrown as POISONED. Hot calls catch by themselves, so that no function is made for them.
   */
  guarded<R>(run: () => R): R {
    try {
      return run();
    } catch (cause) {
      throw this.core.trapped(cause);
    }
  }

  /** @internal The slot of an item, or NOTHING. */
  slotOf(item: T): number {
    const slot = this.guarded(() => this.keys.find(item));
    if (slot < 0 && slot !== NOTHING) throw this.core.outOfMemory();
    return slot;
  }

  /** @internal The state bits of an item; 0 when the queue does not know it. */
  stateOf(item: T): number {
    const slot = this.slotOf(item);
    return slot < 0 ? 0 : this.core.exports.queueState(this.handle, slot);
  }

  /** @internal Whether the item is in the queue or being processed. */
  knows(item: T): boolean {
    return (this.stateOf(item) & STATE_BUSY) !== 0;
  }

  /** @internal How many keys count for `maxDepth`. */
  depth(): number {
    return this.core.exports.queueDepth(this.handle) + this.core.exports.delayWaiting(this.handle);
  }

  /**
   * @internal The time that the core is given. The clock is the user's: it is read where an
   * exception is not taken for a trap.
   */
  now(): number {
    return this.#readsClock ? this.clock.now() : 0;
  }
}

disposable(WorkQueue.prototype);
