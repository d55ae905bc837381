// Keys of the host: it has the texts, hashes and compares them; the core has the buckets.
//
// A look-up answers the first slot of the hash, and the host compares; several keys may have one
// hash. A key that would lie too far from its home is refused: then the host hashes in another way
// and gives every key its new hash, or finds the slots by itself from then on (slotNew).
//
// Raw loads: buckets, which are bare u32.

import { CROWDED, NOTHING, NO_MEMORY, SAME_HASH } from "./abi";
import { bucketAt, bucketReady, placeSlot, slotReady, tableNew, takeSlot } from "./buckets";
import { KEYED, Table, recordOf } from "./record";

// The farthest that a key may lie behind its home, in buckets.
const REACH: u32 = 256;

/** A table whose keys the host has, or null when there is no memory. */
export function hostedNew(): Table | null {
  return tableNew(false);
}

/** The first slot of a hash, or the complement (below 0) of the first free bucket. */
@inline
export function searchHash(table: Table, hash: u32): i32 {
  const buckets = table.buckets;
  if (buckets == 0) return ~0;
  const mask = table.mask;
  const shift = <u32>popcnt(mask) + 4;
  const tag = (hash << 4) >> shift;
  let i = hash & mask;
  while (true) {
    const entry = load<u32>(bucketAt(buckets, i));
    if (entry == 0) return ~i;
    if (entry >> shift == tag) {
      const slot = (entry & mask) - 1;
      if (recordOf(table, slot).hash == hash) return slot;
    }
    i = (i + 1) & mask;
  }
}

/** Tells the host that the key of a slot has the hash. `isDone`: the call would change nothing. */
@inline
export function sameHash(slot: u32, isDone: bool): i32 {
  return SAME_HASH - <i32>((slot << 1) | <u32>isDone);
}

/** The first slot of this hash, or NOTHING. */
export function keysFindHash(table: Table, hash: u32): i32 {
  return max(searchHash(table, hash), NOTHING);
}

/** The slot of the next key of this hash behind that of slot `after`, or NOTHING. */
export function keysNextHash(table: Table, hash: u32, after: u32): i32 {
  const mask = table.mask;
  const shift = <u32>popcnt(mask) + 4;
  const tag = (hash << 4) >> shift;
  let isBehind = false;
  let i = hash & mask;
  while (true) {
    const entry = load<u32>(bucketAt(table.buckets, i));
    if (entry == 0) return NOTHING;
    if (entry >> shift == tag) {
      const slot = (entry & mask) - 1;
      if (isBehind && recordOf(table, slot).hash == hash) return slot;
      if (slot == after) isBehind = true;
    }
    i = (i + 1) & mask;
  }
}

/**
 * A slot for a new key, whose first free bucket is `free`. CROWDED: that is too far from its home;
 * NO_MEMORY; nothing was changed.
 */
@inline
export function takeHashed(table: Table, hash: u32, free: u32): i32 {
  const mask = table.mask;
  if (table.buckets != 0 && ((free - hash) & mask) >= REACH) return CROWDED;
  if (!bucketReady(table) || !slotReady(table)) return NO_MEMORY;
  const slot = takeSlot(table, KEYED);
  recordOf(table, slot).hash = hash;
  placeSlot(table, hash, slot, mask, free);
  return slot;
}

@inline
function freeFrom(table: Table, home: u32): u32 {
  const mask = table.mask;
  let free = home & mask;
  while (load<u32>(bucketAt(table.buckets, free)) != 0) free = (free + 1) & mask;
  return free;
}

/** A slot for a new key of this hash, whether or not others have it. See takeHashed. */
export function keysNewHash(table: Table, hash: u32): i32 {
  return takeHashed(table, hash, table.buckets == 0 ? 0 : freeFrom(table, hash));
}

/**
 * A slot for a new key of this hash, unless another key has it: SAME_HASH. Or CROWDED, or
 * NO_MEMORY, see takeHashed; nothing was changed then.
 */
export function keysInternHash(table: Table, hash: u32): i32 {
  const found = searchHash(table, hash);
  return found >= 0 ? sameHash(found, false) : takeHashed(table, hash, ~found);
}

/** Empties all buckets: no key has a hash any more. */
export function keysDropHashes(table: Table): void {
  const slots = table.slots;
  for (let slot: u32 = 0; slot < slots; slot++) recordOf(table, slot).meta &= ~KEYED;
  if (table.buckets != 0) memory.fill(table.buckets, 0, <usize>(table.mask + 1) << 2);
}

/** Gives a key another hash, after keysDropHashes. False: its bucket is too far from its home. */
export function keysSetHash(table: Table, slot: u32, hash: u32): bool {
  const mask = table.mask;
  const free = freeFrom(table, hash);
  if (((free - hash) & mask) >= REACH) return false;
  const record = recordOf(table, slot);
  record.hash = hash;
  record.meta |= KEYED;
  placeSlot(table, hash, slot, mask, free);
  return true;
}
