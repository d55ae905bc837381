// The ready keys of a queue in their order: slots in a ring that has room for all slots of the
// table.
//
//   ring:  capacity × slot u32, a power of two; head and tail count up and wrap, an index is what the mask leaves of them
//
// A key is in it at most once, so pushing never needs memory: the ring grows where the table gets
// its slots (keys.ts). Keys lie side by side, so those to come can be looked at ahead of time; a
// list through the records (tried) has to load each record to learn of the next.

import { blockAlloc, blockFree } from "./memory";
import { Q_HEAD, Q_RING, Q_RING_MASK, Q_TAIL } from "./record";

const FIRST_RING: u32 = 256; // the slots of one chunk

/** False when there is no memory. */
export function ringNew(table: usize): bool {
  const ring = blockAlloc(FIRST_RING << 2);
  if (ring == 0) return false;
  store<u32>(table, <u32>ring, Q_RING);
  store<u32>(table, FIRST_RING - 1, Q_RING_MASK);
  return true;
}

export function ringFree(table: usize): void {
  const ring = <usize>load<u32>(table, Q_RING);
  if (ring != 0) blockFree(ring, (load<u32>(table, Q_RING_MASK) + 1) << 2);
}

/** Room for so many slots; false when there is no memory. */
export function ringReady(table: usize, slots: u32): bool {
  const old = <usize>load<u32>(table, Q_RING);
  const oldMask = load<u32>(table, Q_RING_MASK);
  if (old == 0 || slots <= oldMask + 1) return true;
  const mask = (oldMask << 1) | 1;
  const ring = blockAlloc((mask + 1) << 2);
  if (ring == 0) return false;
  const tail = load<u32>(table, Q_TAIL);
  for (let i = load<u32>(table, Q_HEAD); i != tail; i++) {
    store<u32>(ring + (<usize>(i & mask) << 2), load<u32>(old + (<usize>(i & oldMask) << 2)));
  }
  blockFree(old, (oldMask + 1) << 2);
  store<u32>(table, <u32>ring, Q_RING);
  store<u32>(table, mask, Q_RING_MASK);
  return true;
}

/** The slot at an index that counts up; below the tail. */
@inline
export function ringAt(table: usize, index: u32): u32 {
  return load<u32>(<usize>load<u32>(table, Q_RING) + (<usize>(index & load<u32>(table, Q_RING_MASK)) << 2));
}

@inline
export function ringPush(table: usize, slot: u32): void {
  const tail = load<u32>(table, Q_TAIL);
  store<u32>(<usize>load<u32>(table, Q_RING) + (<usize>(tail & load<u32>(table, Q_RING_MASK)) << 2), slot);
  store<u32>(table, tail + 1, Q_TAIL);
}
