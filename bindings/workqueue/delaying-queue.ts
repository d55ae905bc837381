/** The public work queue with delayed adds; what they do is in delays.ts. */
import { invalid } from '../base/errors.ts';
import { keepShape } from '../base/keep-shape.ts';
import { namesOf, requireNames } from '../base/names.ts';
import { STATE_WAITING, WAIT_MODES } from '../wasm/core.ts';
import { type DelayCalls, type DelayMode, Delays } from './delays.ts';
import { innerDelays } from './inner-queue.ts';
import type { QueueOptions } from './options.ts';
import { WorkQueue } from './queue.ts';

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
  readonly #calls: DelayCalls<T>; // `waits`, or the delays of the queue that it wraps

  constructor(options: QueueOptions<T> = {}) {
    super(options);
    const { inner } = options;
    this.waits = new Delays(this, inner, options);
    this.#calls =
      inner instanceof DelayingQueue
        ? innerDelays(this, inner, inner.addAfter !== DelayingQueue.prototype.addAfter)
        : this.waits;
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
    return this.#calls.cancel(item);
  }

  /** How many items wait for a delay, those included that are ready or processed meanwhile. */
  waiting(): number {
    return this.#calls.waiting();
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
    this.#calls.after(item, ms, how);
  }
}

function modeOf(options: { mode?: DelayMode | undefined }): number {
  requireNames('options', options, 'option of addAfter()', DELAY_NAMES);
  const { mode = 'earliest' } = options;
  if (!Object.hasOwn(WAIT_MODES, mode))
    throw invalid('mode', "'earliest', 'latest' or 'replace'", mode);
  return WAIT_MODES[mode];
}
