/** Handing out by an order of the user's (`QueueOptions.queue`). What that order throws is the caller's to see. */
import { type CoreExports, NOTHING } from '../core.ts';
import { invalid } from '../errors.ts';
import type { KeyTable } from '../keys.ts';
import type { QueueOrder } from './options.ts';

interface Chosen<T> {
  readonly core: { readonly x: CoreExports; trapped(cause: unknown): unknown };
  readonly handle: number;
  readonly keys: KeyTable<T>;
}

/** Hands out the item that the order pops: its slot, or NOTHING when the order is empty. */
export function takeChosen<T>(order: QueueOrder<T>, { core, handle, keys }: Chosen<T>, now: number): number {
  try {
    core.x.memoryPages(); // throws when disposed of or poisoned, before anything is popped
  } catch (cause) {
    throw core.trapped(cause);
  }
  if (order.len() === 0) return NOTHING;
  const item = order.pop();
  let slot: number;
  let taken: boolean;
  try {
    slot = keys.find(item);
    taken = slot >= 0 && core.x.queueTake(handle, slot, now) !== 0;
  } catch (cause) {
    throw core.trapped(cause);
  }
  if (!taken) throw invalid('queue.pop()', 'an item that was pushed and not popped since', item);
  return slot;
}
