/**
 * ProcessorListener: one handler and its backlog. Notifications are delivered once, in order; if
 * the handler returns a promise, the next one waits until it has settled. client-go:
 * tools/cache/shared_informer.go processorListener, without the pause of a second after a handler
 * that threw.
 */

import { Backlog } from '../../base/backlog.ts';
import { calls } from '../../base/calls.ts';
import type { Clock } from '../../base/clock.ts';
import { invalid } from '../../base/errors.ts';
import { handleError, tell } from '../../base/handle-error.ts';
import type { DoneChecker } from '../../base/wait.ts';
import { deferred, isThenable, TimeSlice } from '../../base/wait.ts';
import type { HandlerOptions, HighWater, Registration, ResourceEventHandler } from './handler.ts';
import { mergeNotifications, type Notification, notificationKey } from './notification.ts';

export class ProcessorListener<T extends object> implements Registration {
  readonly name: string;
  readonly #handler: ResourceEventHandler<T>;
  readonly #backlog = new Backlog<Notification<T>>();
  readonly #slice: TimeSlice;
  readonly #synced = deferred();
  readonly #highWater: HighWater | undefined;
  readonly #coalesceAbove: number;
  readonly #resyncPeriod: number;
  /**
   * The position of the last waiting notification of each key. Created when the backlog first
   * exceeds its limit, and dropped when it is empty, so that it costs nothing below the limit.
   */
  #places: Map<string, number> | undefined;
  #coalesced = 0;
  #failed = 0;
  #aboveHighWater = false;
  #nextResync: number;
  #delivering = false;
  /** A promise of the handler is pending. */
  #awaiting = false;
  #stopped = false;
  #idle: ReturnType<typeof deferred> | undefined;
  #upstreamSynced = false;
  /** Undelivered notifications of the initial list. */
  #initial = 0;
  #hasSynced = false;

  constructor(
    handler: ResourceEventHandler<T>,
    options: HandlerOptions & { name: string; clock: Clock; resync: number },
  ) {
    const { name, clock, resync, highWater, coalesceAbove = Number.POSITIVE_INFINITY } = options;
    this.name = name;
    this.#handler = handler;
    this.#slice = new TimeSlice(clock);
    this.#highWater = highWater;
    this.#coalesceAbove = coalesceAbove;
    this.#resyncPeriod = resync;
    this.#nextResync = clock.now() + resync;
  }

  hasSynced(): boolean {
    return this.#hasSynced;
  }

  hasSyncedChecker(): DoneChecker {
    return { name: this.name, done: this.#synced.promise };
  }

  pending(): number {
    return this.#backlog.length;
  }

  /** The backlog, or 0 while a promise of the handler is pending. */
  overdue(): number {
    return this.#awaiting ? 0 : this.#backlog.length;
  }

  coalesced(): number {
    return this.#coalesced;
  }

  /** The number of calls that threw or rejected. */
  failed(): number {
    return this.#failed;
  }

  get isStopped(): boolean {
    return this.#stopped;
  }

  /** Whether notifications may be merged. */
  coalesces(): boolean {
    return this.#coalesceAbove !== Number.POSITIVE_INFINITY;
  }

  add(notification: Notification<T>): void {
    if (
      this.#stopped ||
      (this.#backlog.length >= this.#coalesceAbove && this.#mergeIntoLast(notification))
    )
      return;
    if (isInitial(notification)) this.#initial++;
    const place = this.#backlog.push(notification);
    this.#places?.set(notificationKey(notification), place);
    this.#checkHighWater();
    if (this.#delivering) return;
    this.#delivering = true;
    // Not synchronously: the store may be in the middle of a batch, and handlers may call back.
    queueMicrotask(this.#deliverAll);
  }

  /** The initial list has been added completely. */
  upstreamSynced(): void {
    this.#upstreamSynced = true;
    this.#checkSynced();
  }

  /** Drops the backlog and delivers nothing more. `ended` waits for a running call. */
  stop(): void {
    this.#stopped = true;
    this.#backlog.clear();
    this.#places = undefined;
  }

  /** A call of the handler is running or will begin in this turn. */
  get busy(): boolean {
    return this.#delivering;
  }

  /** Resolves when no call of the handler is running. */
  ended(): Promise<void> {
    if (!this.#delivering) return Promise.resolve();
    this.#idle ??= deferred();
    return this.#idle.promise;
  }

  /** Whether the handler's resync is due; if so, the next one is one period later. */
  isResyncDue(now: number): boolean {
    if (this.#resyncPeriod === 0 || now < this.#nextResync) return false;
    this.#nextResync = now + this.#resyncPeriod;
    return true;
  }

  /**
   * Delivers the backlog. Not an async function, because most calls deliver one notification and
   * await nothing.
   */
  readonly #deliverAll = (): void => {
    this.#slice.start();
    for (let next = this.#take(); next !== undefined; next = this.#take()) {
      let result: unknown;
      try {
        result = this.#deliver(next);
        if (isThenable(result)) {
          void this.#settle(next, result);
          return;
        }
      } catch (error) {
        this.#fail(error);
      }
      if (isInitial(next)) this.#initialDone();
      if (this.#slice.over()) {
        void this.#slice.yield().then(this.#deliverAll);
        return;
      }
    }
    this.#delivering = false;
    this.#idle?.resolve();
    this.#idle = undefined;
  };

  /** Goes on when the handler's promise has settled. Never rejects. */
  async #settle(next: Notification<T>, result: PromiseLike<unknown>): Promise<void> {
    this.#awaiting = true;
    try {
      await result;
    } catch (error) {
      this.#fail(error);
    }
    this.#awaiting = false;
    if (isInitial(next)) this.#initialDone();
    if (this.#slice.over()) await this.#slice.yield();
    this.#deliverAll();
  }

  #fail(error: unknown): void {
    this.#failed++;
    handleError(error, 'informer handler');
  }

  #take(): Notification<T> | undefined {
    const next =
      this.#places === undefined ? this.#backlog.shift() : this.#takePlaced(this.#places);
    if (this.#aboveHighWater && this.#backlog.length * 2 < (this.#highWater?.at ?? 0))
      this.#aboveHighWater = false;
    return next;
  }

  #takePlaced(places: Map<string, number>): Notification<T> | undefined {
    const place = this.#backlog.first();
    const next = this.#backlog.shift();
    if (next !== undefined) {
      const key = notificationKey(next);
      if (places.get(key) === place) places.delete(key);
    }
    if (this.#backlog.length === 0) this.#places = undefined;
    return next;
  }

  #deliver(notification: Notification<T>): unknown {
    calls.push(this);
    try {
      switch (notification.type) {
        case 'add':
          return this.#handler.onAdd?.(notification.object, notification.isInInitialList);
        case 'update':
          return this.#handler.onUpdate?.(
            notification.old,
            notification.object,
            notification.change,
          );
        case 'delete':
          return this.#handler.onDelete?.(notification.object);
      }
    } finally {
      calls.pop();
    }
  }

  /** Merges a notification into the last one of its key; false if it must be queued. */
  #mergeIntoLast(notification: Notification<T>): boolean {
    this.#places ??= new Map(this.#lastPlaces());
    const key = notificationKey(notification);
    const place = this.#places.get(key);
    const last = place === undefined ? undefined : this.#backlog.inPlace(place);
    if (place === undefined || last === undefined) return false;
    const merged = mergeNotifications(last, notification);
    if (merged === undefined) return false;
    if (merged !== 'none') {
      this.#coalesced++;
      this.#backlog.set(place, merged);
      return true;
    }
    this.#coalesced += 2;
    this.#backlog.set(place, undefined);
    this.#places.delete(key);
    if (isInitial(last)) this.#initialDone();
    return true;
  }

  *#lastPlaces(): Generator<[key: string, place: number]> {
    for (const [place, notification] of this.#backlog.entries())
      yield [notificationKey(notification), place];
  }

  #checkHighWater(): void {
    if (
      this.#highWater === undefined ||
      this.#aboveHighWater ||
      this.#backlog.length < this.#highWater.at
    )
      return;
    this.#aboveHighWater = true;
    const mark = this.#highWater;
    const depth = this.#backlog.length;
    queueMicrotask(() => tell(() => mark.onHighWater(depth), 'informer handler'));
  }

  #initialDone(): void {
    this.#initial--;
    this.#checkSynced();
  }

  #checkSynced(): void {
    if (this.#hasSynced || !this.#upstreamSynced || this.#initial > 0 || this.#stopped) return;
    this.#hasSynced = true;
    this.#synced.resolve();
  }
}

function isInitial<T>(notification: Notification<T>): boolean {
  return notification.type === 'add' && notification.isInInitialList;
}

/** Throws CapstanError INVALID_ARGUMENT. */
export function listenerOf<T extends object>(registration: Registration): ProcessorListener<T> {
  if (registration instanceof ProcessorListener) return registration;
  throw invalid('registration', 'what addEventHandler returned', registration);
}
