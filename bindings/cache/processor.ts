/**
 * All handlers of an informer. Each has a backlog of its own, so that a slow or throwing one delays and fails nobody else.
 * client-go: tools/cache/shared_informer.go sharedProcessor.
 */
import type { ProcessorListener } from './listener.ts';
import type { Notification } from './notification.ts';

export class SharedProcessor<T extends object> {
  /** With each handler, whether it takes part in the resync that was decided last; until the first one all do. */
  readonly #listeners = new Map<ProcessorListener<T>, boolean>();
  /** The same, to go through for each notification: replaced as a whole, never changed. */
  #all: readonly ProcessorListener<T>[] = [];

  /** How many of them may be told less than everything; asked for at each delta. */
  #coalescing = 0;

  add(listener: ProcessorListener<T>): void {
    this.#listeners.set(listener, true);
    this.#all = this.listeners();
    if (listener.coalesces()) this.#coalescing++;
  }

  remove(listener: ProcessorListener<T>): void {
    if (!this.#listeners.delete(listener)) return;
    this.#all = this.listeners();
    if (listener.coalesces()) this.#coalescing--;
    listener.stop();
  }

  isEmpty(): boolean {
    return this.#listeners.size === 0;
  }

  listeners(): ProcessorListener<T>[] {
    return [...this.#listeners.keys()];
  }

  /** How many notifications wait, by the handlers' names; of those that share one all together. */
  backlogs(): { handler: string; depth: number }[] {
    const depths = new Map<string, number>();
    for (const listener of this.#listeners.keys())
      depths.set(listener.name, (depths.get(listener.name) ?? 0) + listener.pending());
    return [...depths].map(([handler, depth]) => ({ handler, depth }));
  }

  /** Whether any handler may be told less than everything. */
  coalesces(): boolean {
    return this.#coalescing > 0;
  }

  /** `sync`: nothing changed, so only those who take part in the resync are told. */
  distribute(notification: Notification<T>, sync: boolean): void {
    for (const listener of this.#all) if (!sync || this.#listeners.get(listener) === true) listener.add(notification);
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
    for (const listener of this.#listeners.keys()) listener.stop();
    this.#listeners.clear();
    this.#all = [];
  }
}
