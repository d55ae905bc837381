/// <reference lib="esnext.disposable" preserve="true" />
/**
 * The work queue: client-go util/workqueue/queue.go over the Wasm core (assembly/queue.ts).
 *
 * - Fair: first come, first served. Stingy: a key that is added many times before it is handed out is handed out once.
 * - A key is never handed out twice at once: added while it is processed, it comes back once, after done().
 * - A waiting get() is never woken for nothing and no wake-up is lost: whoever makes a key ready hands it out at once to
 *   the get() that has waited longest.
 * - The core keeps keys and their states, JS keeps the items: `items[slot]` is set exactly while the slot is in use.
 */
import { type Clock, systemClock } from '../clock.ts';
import {
  type Core,
  DONE_RELEASED,
  DONE_REQUEUED,
  DONE_UNKNOWN,
  disposedExports,
  NOTHING,
  type Resident,
  SLOT_FLAG,
  STATE_PROCESSING,
  sharedCore,
} from '../core.ts';
import { CapstanError, invalid } from '../errors.ts';
import { keepShape } from '../keep-shape.ts';
import { type KeyFunction, type KeyTable, keyTable } from '../keys.ts';
import { aborted, signalProblem } from './checks.ts';
import { Drains } from './drains.ts';
import { giveBack, type Holding, hold } from './holdings.ts';
import { meterFor, type QueueMeter } from './metrics.ts';
import { checkOptions, type Got, gotten, type QueueOptions, type QueueOrder } from './options.ts';

export type { Got, QueueOptions, QueueOrder };

interface Waiter<T> {
  /** `undefined`: nothing will come any more. */
  resolve(item: T | undefined): void;
  reject(error: CapstanError): void;
  stopListening(): void;
}

const disposed: Pick<Core, 'x' | 'trapped' | 'outOfMemory'> = {
  x: disposedExports('the queue'),
  trapped: (cause) => cause,
  outOfMemory: () => new CapstanError('DISPOSED', 'the queue was used after dispose()'),
};

/**
 * A de-duplicating queue for workers that must not process a key twice at once.
 *
 * client-go: `workqueue.TypedInterface`. Items are strings unless `key` is given; any string is a key.
 * Errors (CapstanError): INVALID_ARGUMENT, OUT_OF_MEMORY (nothing was changed), DISPOSED, POISONED, ABORTED (get with a signal).
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
  /** @internal */
  protected readonly clock: Clock;
  /** @internal The queue that this one wraps; then the handle below only serves what a subclass adds. */
  protected readonly inner: WorkQueue<T> | undefined;
  /** @internal */
  protected core: Pick<Core, 'x' | 'trapped' | 'outOfMemory'>;
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
  protected readonly order: QueueOrder<T> | undefined;
  /** @internal */
  protected stopped = false;
  /** @internal Whether the core wants the time at each operation. */
  protected timed: boolean;
  /** @internal */
  protected readonly drains = new Drains();

  readonly #waiters = new Set<Waiter<T>>(); // not empty only while nothing is ready
  #lastItem: T | undefined; // handed out last and not done, at #lastSlot: spares done() the look-up
  #lastSlot = NOTHING;

  readonly #held: Holding;

  declare [Symbol.dispose]: () => void;

  constructor(options: QueueOptions<T> = {}) {
    const { name = '', clock, metricsProvider, key, queue: order, inner } = checkOptions(options);
    if (inner !== undefined && !(inner instanceof WorkQueue)) throw invalid('inner', 'a WorkQueue', inner);
    this.inner = inner;
    this.clock = clock ?? inner?.clock ?? systemClock;
    this.order = order;
    this.keyFunction = key ?? inner?.keyFunction;
    const core = sharedCore();
    this.core = core;
    const metered = inner === undefined && name !== '' && metricsProvider !== undefined;
    try {
      this.handle = this.create(core, metered, options);
    } catch (cause) {
      throw core.trapped(cause);
    }
    if (this.handle === 0) throw core.outOfMemory();
    this.keys = keyTable(core, this.handle, this.keyFunction);
    this.#held = {
      core,
      handle: this.handle,
      free: 'queueFree',
      resident: new WeakRef<Resident>(this),
      meter: undefined,
    };
    hold(this, this.#held);
    this.timed = metered;
    if (metered)
      this.meter = meterFor(metricsProvider, {
        name,
        core,
        handle: this.handle,
        clock: this.clock,
        hasLevels: this.hasLevels,
      });
    this.#held.meter = this.meter;
    keepShape(new.target, WorkQueue, () => new WorkQueue());
  }

  /**
   * Adds an item. Already waiting to be handed out: no effect (the order's `touch` is called). Being processed: it is
   * handed out again after done(). After shutDown(): dropped silently, as in client-go.
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
    const now = this.#now();
    let code: number;
    try {
      code = this.keys.add(item, now);
    } catch (cause) {
      throw this.core.trapped(cause);
    }
    if (code >= 0) this.added(item, code);
    else if (code !== NOTHING) throw this.core.outOfMemory();
    else if (this.order !== undefined) this.#touch(item);
  }

  /** How many items are ready to be handed out. */
  len(): number {
    if (this.inner !== undefined) {
      this.checkAlive();
      return this.inner.len();
    }
    return this.order === undefined ? this.core.x.queueLen(this.handle) : this.order.len();
  }

  /**
   * The next item, or the news of the shutdown; waits while there is neither. Hand the item back with done().
   * A signal that fires while waiting rejects with ABORTED; no item is lost by that.
   */
  get(options?: { signal?: AbortSignal }): Promise<Got<T>> {
    if (this.inner !== undefined) {
      try {
        this.checkAlive();
      } catch (error) {
        return Promise.reject(error);
      }
      return this.inner.get(options);
    }
    return this.next(options, gotten);
  }

  /** @internal What get() does. `answer` is called at the moment in which the item is handed out; undefined: shutdown. */
  protected next<G>(options: { signal?: AbortSignal } | undefined, answer: (item: T | undefined) => G): Promise<G> {
    const signal = options?.signal;
    const problem = signalProblem(signal);
    if (problem !== undefined) return Promise.reject(problem);
    if (signal?.aborted) return Promise.reject(aborted('get()', signal));
    let item: T | undefined;
    try {
      item = this.tryGet();
    } catch (error) {
      return Promise.reject(error);
    }
    if (item !== undefined || this.over()) return Promise.resolve(answer(item));
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#waiters.delete(waiter);
        reject(aborted('get()', signal as AbortSignal));
      };
      const waiter: Waiter<T> = {
        resolve: (got) => resolve(answer(got)),
        reject,
        stopListening: () => signal?.removeEventListener('abort', onAbort),
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiters.add(waiter);
    });
  }

  /** The next item, or `undefined` when none is ready now. Hand it back with done(). */
  tryGet(): T | undefined {
    if (this.inner !== undefined) {
      this.checkAlive();
      return this.inner.tryGet();
    }
    const now = this.#now();
    const slot = this.order === undefined ? this.#takeFirst(now) : this.#takeNext(this.order, now);
    if (slot < 0) return undefined;
    const item = this.items[slot] as T;
    this.#lastItem = item;
    this.#lastSlot = slot;
    if (this.meter?.perOperation) this.meter.got(this.core.x.queueLastWait(), this.core.x.priorityTaken());
    return item;
  }

  /** Ends the processing of an item; if it was added meanwhile it becomes ready again. An item not being processed: no effect. */
  done(item: T): void {
    if (this.inner !== undefined) {
      this.checkAlive();
      this.inner.done(item);
      return;
    }
    const now = this.#now();
    let slot: number;
    let outcome: number;
    try {
      if (item === this.#lastItem && this.#lastSlot !== NOTHING) slot = this.#lastSlot;
      else {
        if (this.core === disposed) this.checkAlive(); // before the look-up: the table's memory may be another's by now
        slot = this.keys.find(item);
        if (slot === NOTHING) return;
        if (slot < 0) throw this.core.outOfMemory();
      }
      if (slot === this.#lastSlot) {
        this.#lastItem = undefined;
        this.#lastSlot = NOTHING;
      }
      outcome = this.core.x.queueDoneSlot(this.handle, slot, now);
    } catch (cause) {
      throw this.core.trapped(cause);
    }
    if (outcome === DONE_UNKNOWN) return;
    const worked = this.meter === undefined ? 0 : this.core.x.queueLastWork();
    if (outcome === DONE_RELEASED) {
      this.items[slot] = undefined;
      this.keys.released(slot);
    } else if (outcome === DONE_REQUEUED) {
      if (this.order !== undefined) this.order.push(this.items[slot] as T);
      if (this.#waiters.size > 0) this.serve();
    }
    this.meter?.done(worked); // after the books are closed: a user's metrics may call back
    if (this.stopped) this.wakeDrains(outcome === DONE_REQUEUED);
  }

  /**
   * Takes no more items; those that are ready are still handed out, then get() reports the shutdown. What waits for a delay
   * is dropped. Ends a shutDownWithDrain() that is under way. Again: no effect.
   */
  shutDown(): void {
    this.checkAlive();
    this.#end();
  }

  /**
   * Like shutDown(), and resolves when nothing is being processed. As in client-go it does not wait for items that are ready,
   * and may resolve although the last item done became ready again; of two drains one done() wakes only the later, and a
   * shutDown() ends both. A signal that fires meanwhile rejects with ABORTED; the queue stays shut down.
   */
  shutDownWithDrain(options?: { signal?: AbortSignal }): Promise<void> {
    const signal = options?.signal;
    const problem = signalProblem(signal);
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
  async *[Symbol.asyncIterator](): AsyncIterator<T> {
    for (let got = await this.get(); !got.shutdown; got = await this.get()) yield got.item;
  }

  /** Shuts down and gives the memory back. Every later call is a CapstanError DISPOSED, except a second dispose(). */
  dispose(): void {
    if (this.core === disposed) return;
    try {
      this.#end();
    } catch {
      // Poisoned: those who wait have been told, and there is nothing left to drop.
    }
    this.core = disposed;
    this.items.length = 0;
    this.#lastItem = undefined;
    this.#lastSlot = NOTHING;
    giveBack(this, this.#held);
  }

  /** @internal Nothing will ever be handed out again: whoever waits is told. */
  poisoned(error: CapstanError): void {
    for (const waiting of this.#waiters) {
      waiting.stopListening();
      waiting.reject(error);
    }
    this.#waiters.clear();
    this.drains.fail(error);
    this.meter?.stop();
  }

  /** @internal Throws when disposed of or poisoned. */
  protected checkAlive(): void {
    this.core.x.memoryPages();
  }

  /** @internal Stores an item at the slot that an add answered, and hands it to whoever waits. */
  protected added(item: T, code: number): void {
    const slot = code & ~SLOT_FLAG;
    this.items[slot] = item;
    this.meter?.added(0);
    if (slot !== code) return;
    if (this.order !== undefined) this.order.push(item);
    if (this.#waiters.size > 0) this.serve();
  }

  /** @internal Hands out what is ready to the gets that wait. */
  protected serve(): void {
    for (const waiter of this.#waiters) {
      const item = this.tryGet();
      if (item === undefined) return;
      this.#waiters.delete(waiter);
      waiter.resolve(item);
      waiter.stopListening();
    }
  }

  /** @internal The table in the core, and whether it has levels; asked by the constructor. */
  protected create(core: Core, timed: boolean, options: QueueOptions<T>): number {
    return core.x.queueNew(timed, options.queue !== undefined);
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
    return this.core.x.queueProcessing(this.handle) === 0;
  }

  /** @internal Tells the gets that wait that nothing will come any more. */
  protected endGets(): void {
    for (const waiter of this.#waiters) {
      waiter.stopListening();
      waiter.resolve(undefined);
    }
    this.#waiters.clear();
  }

  /** @internal After each done() of a queue that takes no more items. */
  protected wakeDrains(requeued: boolean): void {
    this.drains.signal(requeued, this.core.x.queueProcessing(this.handle));
  }

  /** @internal What a subclass must drop when the queue shuts down. */
  protected drop(): void {}

  /** Takes no more items and tells those who wait; of the core it needs only what drop() does, which comes last. */
  #stop(): void {
    if (this.stopped) return;
    this.stopped = true;
    this.meter?.stop();
    if (this.over()) this.endGets();
    this.drop();
  }

  /** A shutdown that ends the drains too. */
  #end(): void {
    this.drains.end();
    this.#stop();
    this.endGets();
    this.inner?.shutDown();
  }

  /** The clock is the user's: it is read outside of everything that takes an exception for a trap. */
  #now(): number {
    return this.timed ? this.clock.now() : 0;
  }

  #touch(item: T): void {
    const slot = this.keys.find(item);
    if (slot >= 0 && (this.core.x.queueState(this.handle, slot) & STATE_PROCESSING) === 0) this.order?.touch(item);
  }

  #takeFirst(now: number): number {
    try {
      return this.core.x.queueGet(this.handle, now);
    } catch (cause) {
      throw this.core.trapped(cause);
    }
  }

  /** The slot of the item that the user's order has chosen. What the order throws is the caller's to see. */
  #takeNext(order: QueueOrder<T>, now: number): number {
    this.checkAlive();
    if (order.len() === 0) return NOTHING;
    const item = order.pop();
    let slot: number;
    let taken: boolean;
    try {
      slot = this.keys.find(item);
      taken = slot >= 0 && this.core.x.queueTake(this.handle, slot, now) !== 0;
    } catch (cause) {
      throw this.core.trapped(cause);
    }
    if (!taken) throw invalid('queue.pop()', 'an item that was pushed and not popped since', item);
    return slot;
  }
}

if (Symbol.dispose !== undefined) {
  Object.defineProperty(WorkQueue.prototype, Symbol.dispose, {
    value(this: WorkQueue<unknown>) {
      this.dispose();
    },
    writable: true,
    configurable: true,
  });
}
