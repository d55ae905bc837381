// The ready keys of a queue in their order: slots in a ring that has room for all slots of the
// table.
//
//   ring:  |slot u32| × capacity, a power of two; head and tail count up and wrap, and are masked
//          to an index
//
// A key is in it at most once, so pushing never needs memory: the ring grows where the table gets
// its slots (keys.ts). Keys lie side by side, so the next ones can be loaded ahead of time; a list
// through the records (tried) has to load each record to find the next.

import { blockAlloc, blockFree, setWord, wordAt } from "./memory";
import { Table } from "./record";

const FIRST_RING: u32 = 256; // the slots of one chunk

/** False when there is no memory. */
export function ringNew(table: Table): bool {
  const ring = blockAlloc(FIRST_RING << 2);
  if (ring == 0) return false;
  table.ring = ring;
  table.ringMask = FIRST_RING - 1;
  return true;
}

export function ringFree(table: Table): void {
  const ring = table.ring;
  if (ring != 0) blockFree(ring, (table.ringMask + 1) << 2);
}

/** Room for so many slots; false when there is no memory. */
export function ringReady(table: Table, slots: u32): bool {
  const old = table.ring;
  const oldMask = table.ringMask;
  if (old == 0 || slots <= oldMask + 1) return true;
  const mask = (oldMask << 1) | 1;
  const ring = blockAlloc((mask + 1) << 2);
  if (ring == 0) return false;
  const tail = table.tail;
  for (let i = table.head; i != tail; i++) {
    setWord(ring, i & mask, wordAt(old, i & oldMask));
  }
  blockFree(old, (oldMask + 1) << 2);
  table.ring = ring;
  table.ringMask = mask;
  return true;
}

/** The slot at an index that counts up; below the tail. */
@inline
export function ringAt(table: Table, index: u32): u32 {
  return wordAt(table.ring, index & table.ringMask);
}

@inline
export function ringPush(table: Table, slot: u32): void {
  const tail = table.tail;
  setWord(table.ring, tail & table.ringMask, slot);
  table.tail = tail + 1;
}
