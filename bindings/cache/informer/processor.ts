/**
 * SharedProcessor: all handlers of an informer. Each has its own backlog, so that a slow or failing
 * handler does not affect the others. client-go: tools/cache/shared_informer.go sharedProcessor.
 *
 * In client-go handlers run beside the reader; here they share one thread. Without back pressure, a
 * slow handler lets the backlog grow as fast as the server sends: with a handler that read each
 * spec while its code was not compiled yet, 31 000 of 50 000 notifications waited in 296 MB, and
 * garbage collection raised the CPU time of an event from 22 to 52 µs. So the reader awaits
 * `behind`, which lets handlers catch up unless they wait for a promise. A handler cannot stop the
 * reader: it goes on after some turns.
 */
import { calls } from '../../base/calls.ts';
import { macrotask } from '../../base/clock.ts';
import type { ProcessorListener } from './listener.ts';
import type { Notification } from './notification.ts';

/**
 * If the backlog of a handler is longer, the reader waits until it is down to half of this. Small,
 * because each notification holds up to 5 KB, which should be collected before it reaches the old
 * generation.
 */
const MAX_OVERDUE = 1000;
/**
 * The most turns of the event loop that the reader waits. In each turn every handler has a time
 * slice.
 */
const MAX_TURNS = 8;
/**
 * The least notifications between two waits: 2 to 3 ms of reading after at most 32 ms for each
 * handler.
 */
const MIN_BETWEEN_WAITS = 256;

export class SharedProcessor<T extends object> {
  /**
   * Each handler, and whether it takes part in the current resync; before the first resync all do.
   */
  readonly #listeners = new Map<ProcessorListener<T>, boolean>();
  /** Late handlers, which get no changes until they have all objects. */
  readonly #joining = new Set<ProcessorListener<T>>();
  /** All handlers but the late ones, for `distribute`. Replaced as a whole, never changed. */
  #all: readonly ProcessorListener<T>[] = [];

  /** Removed handlers with a running call. */
  readonly #ending = new Set<ProcessorListener<T>>();

  /** The number of handlers that merge notifications; read at each delta. */
  #coalescing = 0;

  /** Notifications since the reader last waited. */
  #distributed = 0;

  /** @param isLate it gets no changes until `joins` */
  add(listener: ProcessorListener<T>, isLate: boolean): void {
    this.#listeners.set(listener, true);
    if (listener.coalesces()) this.#coalescing++;
    if (isLate) this.#joining.add(listener);
    else this.#findAll();
  }

  /** A late handler has got all objects, and gets the changes from now on. */
  joins(listener: ProcessorListener<T>): void {
    this.#joining.delete(listener);
    this.#findAll();
  }

  #findAll(): void {
    this.#all = this.listeners().filter((listener) => !this.#joining.has(listener));
  }

  remove(listener: ProcessorListener<T>): void {
    if (!this.#listeners.delete(listener)) return;
    this.#joining.delete(listener);
    this.#findAll();
    if (listener.coalesces()) this.#coalescing--;
    this.#stop(listener);
  }

  isEmpty(): boolean {
    return this.#listeners.size === 0;
  }

  listeners(): ProcessorListener<T>[] {
    return [...this.#listeners.keys()];
  }

  /** The backlogs by handler name; those with the same name are added up. */
  backlogs(): { handler: string; depth: number }[] {
    return this.#byName((listener) => listener.pending()).map(([handler, depth]) => ({
      handler,
      depth,
    }));
  }

  /** The failed calls by handler name. */
  failures(): { handler: string; failures: number }[] {
    return this.#byName((listener) => listener.failed()).map(([handler, failures]) => ({
      handler,
      failures,
    }));
  }

  #byName(figureOf: (listener: ProcessorListener<T>) => number): [string, number][] {
    const figures = new Map<string, number>();
    for (const listener of this.#listeners.keys())
      figures.set(listener.name, (figures.get(listener.name) ?? 0) + figureOf(listener));
    return [...figures];
  }

  /** Whether any handler merges notifications. */
  coalesces(): boolean {
    return this.#coalescing > 0;
  }

  /** `sync`: nothing changed, so only handlers that take part in the resync get it. */
  distribute(notification: Notification<T>, sync: boolean): void {
    this.#distributed++;
    for (const listener of this.#all)
      if (!sync || this.#listeners.get(listener) === true) listener.add(notification);
  }

  /** Notifies a single handler, which may be a late one. */
  notify(listener: ProcessorListener<T>, notification: Notification<T>): void {
    this.#distributed++;
    listener.add(notification);
  }

  /** Whether a backlog is too long, MIN_BETWEEN_WAITS notifications or more after the last wait. */
  isBehind(): boolean {
    return this.#distributed >= MIN_BETWEEN_WAITS && this.#mostOverdue() > MAX_OVERDUE;
  }

  /**
   * If a backlog is too long: a promise that resolves when it is shorter, or after some turns.
   * Never rejects.
   */
  behind(): Promise<void> | undefined {
    return this.isBehind() ? this.#catchUp() : undefined;
  }

  async #catchUp(): Promise<void> {
    for (let turn = 0; turn < MAX_TURNS && this.#mostOverdue() > MAX_OVERDUE / 2; turn++)
      await macrotask();
    this.#distributed = 0;
  }

  #mostOverdue(): number {
    let most = 0;
    for (const listener of this.#all) most = Math.max(most, listener.overdue());
    for (const listener of this.#joining) most = Math.max(most, listener.overdue());
    return most;
  }

  /** Decides for each handler whether it takes part in a resync now; true if any does. */
  shouldResync(now: number): boolean {
    let needed = false;
    for (const listener of this.#listeners.keys()) {
      const syncing = listener.isResyncDue(now);
      this.#listeners.set(listener, syncing);
      if (syncing) needed = true;
    }
    return needed;
  }

  upstreamSynced(): void {
    for (const listener of this.#all) listener.upstreamSynced();
  }

  stop(): void {
    for (const listener of this.#listeners.keys()) this.#stop(listener);
    this.#listeners.clear();
    this.#joining.clear();
    this.#all = [];
  }

  /** The handler that is being called now, if it is one of these. */
  calling(): ProcessorListener<T> | undefined {
    return [...this.#listeners.keys(), ...this.#ending].find((one) => calls.includes(one));
  }

  /** Removed or stopped handlers with a running call. */
  ending(except?: ProcessorListener<T>): ProcessorListener<T>[] {
    return [...this.#ending].filter((listener) => listener !== except);
  }

  #stop(listener: ProcessorListener<T>): void {
    listener.stop();
    if (!listener.busy) return;
    this.#ending.add(listener);
    void listener.ended().then(() => this.#ending.delete(listener));
  }
}
