/** Checks and errors of batches and slots. */

import { CapstanError, invalid } from '../base/errors.ts';
import { SLOT_LIMIT } from '../wasm/core.ts';

/** A string is iterable too, and never what was meant. */
export function checkItems(items: Iterable<unknown>): void {
  if (typeof items === 'string' || typeof items?.[Symbol.iterator] !== 'function')
    throw invalid('items', 'an iterable of items', items);
}

export function checkSlots(slots: Int32Array, count: number): void {
  if (
    !(slots instanceof Int32Array) &&
    Object.prototype.toString.call(slots) !== '[object Int32Array]'
  )
    throw invalid('slots', 'an Int32Array', slots);
  if (!Number.isInteger(count) || count < 0 || count > slots.length)
    throw invalid('count', `an integer from 0 to the length of the array (${slots.length})`, count);
}

export function stale(slot: number): CapstanError {
  return new CapstanError(
    'STALE_SLOT',
    `slot ${slot} stands for no item of this queue: expected one from pin() that is not unpinned, or one from getSlots() that is not done; pin the item again`,
  );
}

export function tooManySlots(): CapstanError {
  return new CapstanError(
    'TOO_MANY_SLOTS',
    `slots can be told apart in queues of up to ${SLOT_LIMIT} keys at once, this one has had more: use items, or several queues`,
  );
}
