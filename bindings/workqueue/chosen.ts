/**
 * Handing out by an order of the user's (`QueueOptions.queue`). What that order throws is the
 * caller's to see.
 */
import { NOTHING } from '../core.ts';
import { invalid } from '../errors.ts';
import type { KeyTable } from '../keys.ts';
import type { CoreOfQueue } from './holdings.ts';
import type { QueueOrder } from './options.ts';

/**
 * Hands out the item that the order pops: its slot, or NOTHING when the order is empty. Also when
 * the order or a key function has left none of the gets waiting that it is for: then the order has
 * the item back, as nobody would ever be done with it. Of several items with one key it is the
 * order, told of each by `touch`, that says which is handed out: that one takes the key's place in
 * `items`.
 */
export function takeChosen<T>(
  order: QueueOrder<T>,
  core: CoreOfQueue,
  handle: number,
  keys: KeyTable<T>,
  items: (T | undefined)[],
  now: number,
  waiting?: { readonly size: number },
): number {
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
    taken = slot >= 0 && (waiting?.size === 0 || core.x.queueTake(handle, slot, now) !== 0);
  } catch (cause) {
    throw core.trapped(cause);
  }
  if (!taken) throw invalid('queue.pop()', 'an item that was pushed and not popped since', item);
  if (waiting?.size !== 0) {
    items[slot] = item;
    return slot;
  }
  order.push(item);
  return NOTHING;
}
