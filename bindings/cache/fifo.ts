/**
 * The queue between reflector and store: every delta in the order in which it came, none merged. A replace is one delta,
 * so that the content changes in one step. client-go: tools/cache/the_real_fifo.go with AtomicEvents, its default.
 */
import { Backlog } from './backlog.ts';
import type { Delta } from './deltas.ts';
import type { ReflectorStore } from './reflector.ts';

export interface RealFIFOOptions {
  /** Called after each delta that is queued. Must not pop: the caller may be in the middle of its work. */
  onDelta?: () => void;
}

/**
 * Invariant: `hasSynced` is true once the first replace, and whatever was queued before it, has been popped *and*
 * processed; it is false while the last of them is being processed.
 */
export class RealFIFO<T> implements ReflectorStore<T> {
  readonly #onDelta: () => void;
  readonly #deltas = new Backlog<Delta<T>>();
  #populated = false;
  /** How many deltas of the initial population are still to be processed. */
  #initial = 0;

  constructor(options: RealFIFOOptions = {}) {
    this.#onDelta = options.onDelta ?? (() => undefined);
  }

  add(object: T): void {
    this.#push({ type: 'Added', object });
  }

  update(object: T): void {
    this.#push({ type: 'Updated', object });
  }

  delete(object: T): void {
    this.#push({ type: 'Deleted', object });
  }

  replace(objects: readonly T[], resourceVersion: string): void {
    if (!this.#populated) {
      this.#populated = true;
      this.#initial = this.len() + 1;
    }
    this.#push({ type: 'ReplacedAll', objects, resourceVersion });
  }

  resync(): void {
    this.#push({ type: 'SyncAll' });
  }

  bookmark(resourceVersion: string): void {
    this.#push({ type: 'Bookmark', resourceVersion });
  }

  len(): number {
    return this.#deltas.length;
  }

  hasSynced(): boolean {
    return this.#populated && this.#initial === 0;
  }

  /**
   * Processes the oldest delta; false when there is none. An error of `process` is thrown after the delta has been taken
   * off; where the first replace fails, the queue waits for another before it counts as synced.
   */
  tryPop(process: (delta: Delta<T>, isInInitialList: boolean) => void): boolean {
    const delta = this.#deltas.shift();
    if (delta === undefined) return false;
    const initial = this.#initial > 0;
    let done = false;
    try {
      process(delta, !this.hasSynced());
      done = true;
    } finally {
      if (initial) this.#initial--;
      if (initial && !done && delta.type === 'ReplacedAll') this.#populated = false;
    }
    return true;
  }

  #push(delta: Delta<T>): void {
    this.#deltas.push(delta);
    this.#onDelta();
  }
}
