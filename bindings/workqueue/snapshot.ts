/**
 * What is in a queue, for debug pages: read from the core slot by slot, so that a page of a million
 * keys costs as much as its length.
 */

import { namesOf } from '../base/names.ts';
import { STATE_DIRTY, STATE_PINNED, STATE_PROCESSING, STATE_WAITING } from '../wasm/core.ts';
import type { QueueParts } from './core-resources.ts';

/** Which page of the keys. */
export interface SnapshotOptions {
  /** `next` of the page before. */
  after?: number | undefined;
  /** Keys in a page. Default 1000. */
  limit?: number | undefined;
}

export const SNAPSHOT_NAMES = namesOf<SnapshotOptions>()({ after: 1, limit: 1 });

/** One key of a {@link Snapshot}. */
export interface QueuedKey<T> {
  readonly item: T;
  /** Where the key is: being processed, else ready, else waiting for a delay. */
  readonly state: 'processing' | 'ready' | 'waiting';
  /** It was added while it is processed: ready again after done(). */
  readonly addedAgain: boolean;
  /** It is pinned (`pin()`). */
  readonly pinned: boolean;
  /**
   * Milliseconds until its delay ends, also when it is ready or processed meanwhile; undefined when
   * it does not wait.
   */
  readonly waitingMs: number | undefined;
  /** Milliseconds since it was to be handed out; undefined when it is not, or without times. */
  readonly queuedMs: number | undefined;
  /** Milliseconds since it was handed out; undefined when it is not, or without times. */
  readonly processingMs: number | undefined;
  /** Failures that the queue's limiter has counted; undefined in queues without one. */
  failures: number | undefined;
  /** The priority that it was added with last; undefined in queues without priorities. */
  readonly priority: number | undefined;
}

/** A page of the keys in a queue, as they are at the moment of the call. */
export interface Snapshot<T> {
  readonly keys: readonly QueuedKey<T>[];
  /** For `after` of the next page; undefined: this was the last. */
  readonly next: number | undefined;
}

export function readKeys<T>(
  queue: QueueParts<T>,
  from: number,
  limit: number,
  now: number,
): Snapshot<T> {
  const { handle, items, hasLevels } = queue;
  const { exports } = queue.core;
  const keys: QueuedKey<T>[] = [];
  let slot = exports.slotsBusy(handle, from);
  for (; slot >= 0 && keys.length < limit; slot = exports.slotsBusy(handle, slot + 1)) {
    const state = exports.queueState(handle, slot);
    const processing = (state & STATE_PROCESSING) !== 0;
    const dirty = (state & STATE_DIRTY) !== 0;
    keys.push({
      item: items[slot] as T,
      state: processing ? 'processing' : dirty ? 'ready' : 'waiting',
      addedAgain: processing && dirty,
      pinned: (state & STATE_PINNED) !== 0,
      waitingMs:
        state & STATE_WAITING ? Math.max(exports.delayUntil(handle, slot) - now, 0) : undefined,
      queuedMs: dirty ? since(exports.slotAdded(handle, slot), now) : undefined,
      processingMs: processing ? since(exports.slotStarted(handle, slot), now) : undefined,
      failures: undefined,
      priority: hasLevels ? exports.priorityOf(handle, slot) : undefined,
    });
  }
  return { keys, next: slot < 0 ? undefined : slot };
}

function since(moment: number, now: number): number | undefined {
  return Number.isNaN(moment) ? undefined : Math.max(now - moment, 0);
}
