/**
 * The resources that a queue or a limiter must release: a table in the core, a place in the
 * metrics, and an entry among the residents of the instance, which are called when it is poisoned.
 * All of it is freed by dispose(), or when the owner is garbage collected. Garbage collection alone
 * is not enough: it needs a turn of the event loop, and memory may grow faster than that.
 */

import { CapstanError } from '../base/errors.ts';
import { type Core, disposedExports, type Resident } from '../wasm/core.ts';
import type { KeyTable } from '../wasm/keys.ts';

export interface Holding {
  readonly core: Core;
  readonly handle: number;
  readonly free: 'queueFree' | 'keysFree';
  resident?: WeakRef<Resident>;
  metrics?: { dispose(): void };
}

/** What a queue uses of its instance. */
export type CoreOfQueue = Pick<Core, 'exports' | 'ints' | 'trapped' | 'outOfMemory' | 'timed'>;

/** What the parts of a queue use of it. */
export interface QueueParts<T> {
  readonly core: CoreOfQueue;
  readonly handle: number;
  readonly keys: KeyTable<T>;
  /** By slot. */
  readonly items: (T | undefined)[];
  readonly hasLevels: boolean;
}

/** Stands for the instance of a queue that has given everything back. */
export const disposed: CoreOfQueue = {
  exports: disposedExports('the queue'),
  ints: () => new Int32Array(),
  timed: new Set(),
  trapped: (cause) => cause,
  outOfMemory: () => new CapstanError('DISPOSED', 'the queue was used after dispose()'),
};

const abandoned = new FinalizationRegistry<Holding>(free);

/** From now on `holding` is freed when its owner is garbage collected. */
export function hold(owner: object, holding: Holding): void {
  abandoned.register(owner, holding, owner);
}

/**
 * A table for a queue. `order` is the core's; priorities have one of their own, which ages by
 * `everyMs`. Throws OUT_OF_MEMORY.
 */
export function makeTable(
  core: Core,
  timed: boolean,
  levels: { readonly everyMs: number } | undefined,
  order: number,
  rules: number,
): number {
  const { exports } = core;
  const handle =
    levels === undefined
      ? exports.queueNew(timed, order)
      : exports.priorityNew(timed, levels.everyMs);
  if (handle === 0) throw core.outOfMemory();
  if (rules !== 0) exports.queueRules(handle, rules);
  return handle;
}

/**
 * The queue is called when its instance is poisoned. Only queues for which something waits need
 * that: the weak reference takes V8 2 to 3 µs, and a queue is made in 1.
 */
export function callWhenPoisoned(queue: Resident, holding: Holding): void {
  if (holding.resident !== undefined) return;
  holding.resident = new WeakRef(queue);
  holding.core.residents.add(holding.resident);
}

/** Gives it back at once. */
export function giveBack(owner: object, holding: Holding): void {
  abandoned.unregister(owner);
  free(holding);
}

function free({ core, handle, free, resident, metrics }: Holding): void {
  metrics?.dispose();
  if (resident !== undefined) core.residents.delete(resident);
  try {
    core.exports[free](handle);
  } catch {
    // A poisoned instance is never used again: there is nothing to give back.
  }
}
