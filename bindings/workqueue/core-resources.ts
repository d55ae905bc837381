/**
 * What a queue or a limiter holds outside of itself: a table in the core, a place in the metrics, a
 * place among those who are told when the instance is poisoned. All of it comes back when its owner
 * gives it back, or when nobody can reach the owner any more. Collection is the safety net and not
 * the way: it needs a turn of the event loop, and memory that grows faster than that waits for
 * dispose().
 */

import { CapstanError } from '../base/errors.ts';
import { type Core, disposedExports, type Resident } from '../wasm/core.ts';

export interface Holding {
  readonly core: Core;
  readonly handle: number;
  readonly free: 'queueFree' | 'keysFree';
  readonly resident?: WeakRef<Resident>;
  metrics?: { dispose(): void };
}

/** What a queue uses of its instance. */
export type CoreOfQueue = Pick<Core, 'exports' | 'ints' | 'trapped' | 'outOfMemory'>;

/** Stands for the instance of a queue that has given everything back. */
export const disposed: CoreOfQueue = {
  exports: disposedExports('the queue'),
  ints: () => new Int32Array(),
  trapped: (cause) => cause,
  outOfMemory: () => new CapstanError('DISPOSED', 'the queue was used after dispose()'),
};

const abandoned = new FinalizationRegistry<Holding>(free);

/** From now on `holding` comes back with its owner. */
export function hold(owner: object, holding: Holding): void {
  if (holding.resident !== undefined) holding.core.residents.add(holding.resident);
  abandoned.register(owner, holding, owner);
}

/** The table of a queue, who is told when its instance is poisoned. */
export function holdQueue(queue: Resident, core: Core, handle: number): Holding {
  const holding: Holding = { core, handle, free: 'queueFree', resident: new WeakRef(queue) };
  hold(queue, holding);
  return holding;
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
