/**
 * Delivery of notifications: one backlog per handler, so that a slow or throwing handler delays and fails nobody else.
 * Each handler gets its notifications one after the other, in order; a handler that returns a promise gets the next one
 * when that has settled. client-go: tools/cache/shared_informer.go sharedProcessor and processorListener, without the
 * pause of a second after a handler that threw.
 */
import type { Clock } from '../clock.ts';
import { handleError } from '../handle-error.ts';
import { Backlog } from './backlog.ts';
import type { Change } from './change.ts';
import type { DeletedFinalStateUnknown } from './keys.ts';
import { deferred, TimeSlice } from './wait.ts';

/**
 * Any of the three may be left out, and any may be async: then the next notification comes when its promise has settled.
 * Objects are read-only. What a handler throws or rejects with goes to handleError and costs this handler this one
 * notification. (client-go waits a second after a panic, and such a handler never counts as synced; here neither.)
 */
export interface ResourceEventHandler<T> {
  /** `isInInitialList`: the object was there before, and this handler hears of it for the first time. */
  onAdd?(object: T, isInInitialList: boolean): void;
  /** Also for a resync and for an unchanged object of a new list, where `old` and `now` have one resource version. */
  onUpdate?(old: T, now: T, change: Change): void;
  /** A tombstone where the deletion itself was missed. */
  onDelete?(object: T | DeletedFinalStateUnknown<T>): void;
}

/** client-go: tools/cache/wait.go DoneChecker. */
export interface DoneChecker {
  readonly name: string;
  /** Resolves when it is done; never, if that never happens. */
  readonly done: Promise<void>;
}

/** A handler's place at an informer. */
export interface Registration {
  /** The informer has synced, and this handler has been given every object of its initial list. */
  hasSynced(): boolean;
  /** The same as something to wait for. */
  hasSyncedChecker(): DoneChecker;
}

export type Notification<T> =
  | { readonly type: 'add'; readonly object: T; readonly isInInitialList: boolean }
  | { readonly type: 'update'; readonly old: T; readonly object: T; readonly change: Change }
  | { readonly type: 'delete'; readonly object: T | DeletedFinalStateUnknown<T> };

/** One handler and what it is still to be told. */
export class ProcessorListener<T> implements Registration {
  readonly #handler: ResourceEventHandler<T>;
  readonly #backlog = new Backlog<Notification<T>>();
  readonly #slice: TimeSlice;
  readonly #synced = deferred();
  readonly requestedResyncPeriod: number;
  #resyncPeriod: number;
  #nextResync: number;
  #delivering = false;
  #stopped = false;
  #upstreamSynced = false;
  /** Notifications of the initial list that have not been delivered yet. */
  #initial = 0;
  #hasSynced = false;

  constructor(handler: ResourceEventHandler<T>, clock: Clock, requestedResyncPeriod: number, resyncPeriod: number) {
    this.#handler = handler;
    this.#slice = new TimeSlice(clock);
    this.requestedResyncPeriod = requestedResyncPeriod;
    this.#resyncPeriod = resyncPeriod;
    this.#nextResync = clock.now() + resyncPeriod;
  }

  hasSynced(): boolean {
    return this.#hasSynced;
  }

  hasSyncedChecker(): DoneChecker {
    return { name: 'informer handler', done: this.#synced.promise };
  }

  /** Notifications that wait. */
  pending(): number {
    return this.#backlog.length;
  }

  add(notification: Notification<T>): void {
    if (this.#stopped) return;
    if (notification.type === 'add' && notification.isInInitialList) this.#initial++;
    this.#backlog.push(notification);
    if (this.#delivering) return;
    this.#delivering = true;
    // Not here: the store may be in the middle of a batch of notifications, and handlers may call back.
    queueMicrotask(() => void this.#deliverAll());
  }

  /** Everything of the initial list has been added. */
  upstreamSynced(): void {
    this.#upstreamSynced = true;
    this.#checkSynced();
  }

  /** Drops what waits; nothing is delivered from now on. A handler's promise that is under way is not waited for. */
  stop(): void {
    this.#stopped = true;
    this.#backlog.clear();
  }

  setResyncPeriod(resyncPeriod: number): void {
    this.#resyncPeriod = resyncPeriod;
  }

  /** Whether it is this handler's turn; if so, the next turn is one period later. */
  takeResync(now: number): boolean {
    if (this.#resyncPeriod === 0 || now < this.#nextResync) return false;
    this.#nextResync = now + this.#resyncPeriod;
    return true;
  }

  /** Never rejects. */
  async #deliverAll(): Promise<void> {
    this.#slice.start();
    for (let next = this.#backlog.shift(); next !== undefined; next = this.#backlog.shift()) {
      try {
        const result: unknown = this.#deliver(next);
        if (isThenable(result)) await result;
      } catch (error) {
        handleError(error, 'informer handler');
      }
      if (next.type === 'add' && next.isInInitialList) {
        this.#initial--;
        this.#checkSynced();
      }
      if (this.#slice.over()) await this.#slice.yield();
    }
    this.#delivering = false;
  }

  #deliver(notification: Notification<T>): unknown {
    switch (notification.type) {
      case 'add':
        return this.#handler.onAdd?.(notification.object, notification.isInInitialList);
      case 'update':
        return this.#handler.onUpdate?.(notification.old, notification.object, notification.change);
      case 'delete':
        return this.#handler.onDelete?.(notification.object);
    }
  }

  #checkSynced(): void {
    if (this.#hasSynced || !this.#upstreamSynced || this.#initial > 0 || this.#stopped) return;
    this.#hasSynced = true;
    this.#synced.resolve();
  }
}

/** All handlers of an informer. */
export class SharedProcessor<T> {
  /** With each handler, whether it takes part in the resync that was decided last; until the first one all do. */
  readonly #listeners = new Map<ProcessorListener<T>, boolean>();

  add(listener: ProcessorListener<T>): void {
    this.#listeners.set(listener, true);
  }

  remove(listener: ProcessorListener<T>): void {
    if (this.#listeners.delete(listener)) listener.stop();
  }

  /** `sync`: nothing changed, so only those who take part in the resync are told. */
  distribute(notification: Notification<T>, sync: boolean): void {
    for (const [listener, syncing] of this.#listeners) if (!sync || syncing) listener.add(notification);
  }

  /** Decides for each handler whether it takes part in a resync now; true if any does. */
  shouldResync(now: number): boolean {
    let needed = false;
    for (const listener of this.#listeners.keys()) {
      const syncing = listener.takeResync(now);
      this.#listeners.set(listener, syncing);
      if (syncing) needed = true;
    }
    return needed;
  }

  /** Gives every handler its period anew after the period of the checks has changed. */
  resyncPeriods(periodOf: (requested: number) => number): void {
    for (const listener of this.#listeners.keys()) listener.setResyncPeriod(periodOf(listener.requestedResyncPeriod));
  }

  upstreamSynced(): void {
    for (const listener of this.#listeners.keys()) listener.upstreamSynced();
  }

  stop(): void {
    for (const listener of this.#listeners.keys()) listener.stop();
    this.#listeners.clear();
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}
