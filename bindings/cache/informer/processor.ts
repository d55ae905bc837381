/**
 * All handlers of an informer. Each has a backlog of its own, so that a slow or throwing one delays
 * and fails nobody else. client-go: tools/cache/shared_informer.go sharedProcessor.
 *
 * There the handlers run beside the reader; here all share a thread, and where they need more of it
 * than the reader, as much of a flood waits as the server has sent (31 000 of 50 000 notifications,
 * and 296 MB, of a handler that read each spec while the engine had not compiled it yet: what waits
 * grows old, and the collector made 22 µs of CPU an event 52). So the reader asks `behind`, and
 * lets those catch up who wait for nothing but the thread. Nobody can stop it by that: it goes on
 * after some turns of theirs.
 */
import { calls } from '../../base/calls.ts';
import { macrotask } from '../../base/clock.ts';
import type { ProcessorListener } from './listener.ts';
import type { Notification } from './notification.ts';

/**
 * With more than this before a handler the reader waits, until half of it is left. Small, as each
 * notification keeps up to 5 KB: what is told soon never grows old.
 */
const MOST_OVERDUE = 1000;
/**
 * For how many turns of the event loop it waits at most. In each of them every handler has a slice
 * of time.
 */
const TURNS = 8;
/**
 * How many notifications it brings at least before it waits again: 2 to 3 ms of reading after 32
 * for each handler at most.
 */
const STEADY = 256;

export class SharedProcessor<T extends object> {
  /**
   * With each handler, whether it takes part in the resync that was decided last; until the first
   * one all do.
   */
  readonly #listeners = new Map<ProcessorListener<T>, boolean>();
  /** The same, to go through for each notification: replaced as a whole, never changed. */
  #all: readonly ProcessorListener<T>[] = [];

  /** Those that were taken away with a call under way. */
  readonly #leaving = new Set<ProcessorListener<T>>();

  /** How many of them may be told less than everything; asked for at each delta. */
  #coalescing = 0;

  /** How many were distributed since the reader was last held up. */
  #distributed = 0;

  add(listener: ProcessorListener<T>): void {
    this.#listeners.set(listener, true);
    this.#all = this.listeners();
    if (listener.coalesces()) this.#coalescing++;
  }

  remove(listener: ProcessorListener<T>): void {
    if (!this.#listeners.delete(listener)) return;
    this.#all = this.listeners();
    if (listener.coalesces()) this.#coalescing--;
    this.#stop(listener);
  }

  isEmpty(): boolean {
    return this.#listeners.size === 0;
  }

  listeners(): ProcessorListener<T>[] {
    return [...this.#listeners.keys()];
  }

  /** How many notifications wait, by the handlers' names; of those that share one all together. */
  backlogs(): { handler: string; depth: number }[] {
    return this.#byName((listener) => listener.pending()).map(([handler, depth]) => ({
      handler,
      depth,
    }));
  }

  /** How many calls have failed, by the handlers' names. */
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

  /** Whether any handler may be told less than everything. */
  coalesces(): boolean {
    return this.#coalescing > 0;
  }

  /** `sync`: nothing changed, so only those who take part in the resync are told. */
  distribute(notification: Notification<T>, sync: boolean): void {
    this.#distributed++;
    for (const listener of this.#all)
      if (!sync || this.#listeners.get(listener) === true) listener.add(notification);
  }

  /**
   * Where so much waits for its turn that no more should come: resolves when there is less, or
   * after some turns. Never rejects.
   */
  behind(): Promise<void> | undefined {
    return this.#distributed < STEADY || this.#mostOverdue() <= MOST_OVERDUE
      ? undefined
      : this.#catchUp();
  }

  async #catchUp(): Promise<void> {
    for (let turn = 0; turn < TURNS && this.#mostOverdue() > MOST_OVERDUE / 2; turn++)
      await macrotask();
    this.#distributed = 0;
  }

  #mostOverdue(): number {
    let most = 0;
    for (const listener of this.#all) most = Math.max(most, listener.overdue());
    return most;
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

  upstreamSynced(): void {
    for (const listener of this.#listeners.keys()) listener.upstreamSynced();
  }

  stop(): void {
    for (const listener of this.#listeners.keys()) this.#stop(listener);
    this.#listeners.clear();
    this.#all = [];
  }

  /** The handler that is being called at this moment, where it is one of these. */
  calling(): ProcessorListener<T> | undefined {
    return [...this.#listeners.keys(), ...this.#leaving].find((one) => calls.includes(one));
  }

  /** After `stop`: those whose calls have not ended. */
  leaving(except?: ProcessorListener<T>): ProcessorListener<T>[] {
    return [...this.#leaving].filter((listener) => listener !== except);
  }

  #stop(listener: ProcessorListener<T>): void {
    listener.stop();
    if (!listener.busy) return;
    this.#leaving.add(listener);
    void listener.ended().then(() => this.#leaving.delete(listener));
  }
}
