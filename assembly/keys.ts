// Keys that a table holds itself: a string, or bytes, to a slot.
//
// Raw loads: buckets, which are bare u32.

import { NOTHING, NO_MEMORY } from "./abi";
import { bucketAt, bucketReady, placeSlot, slotReady, tableNew, takeSlot } from "./buckets";
import { blockAlloc } from "./memory";
import { readObjectKey, readBytes } from "./text-bytes";
import { ReadKey, UNREAD, copyKey, isKey, keyBytes, longKeyUnits, readKey } from "./text";
import { EXTERNAL, KEYED, WIDE, Table, inlineKey, keyOf, recordOf } from "./record";

/** A table that holds the texts of its keys, or null when there is no memory. */
export function keysNew(): Table | null {
  return tableNew(true);
}

/**
 * The slot of a key that was read. A key without a slot: the complement (below 0) of the first free
 * bucket from its home on.
 */
function search(table: Table, key: ReadKey): i32 {
  const buckets = table.buckets;
  if (buckets == 0) return ~0;
  const mask = table.mask;
  const shift = <u32>popcnt(mask) + 4;
  const tag = (<u32>key << 4) >> shift;
  let i = <u32>key & mask;
  while (true) {
    const entry = load<u32>(bucketAt(buckets, i));
    if (entry == 0) return ~i;
    if (entry >> shift == tag) {
      const slot = (entry & mask) - 1;
      if (isKey(keyOf(table, slot), <u32>(key >> 32))) return slot;
    }
    i = (i + 1) & mask;
  }
}

/** The slot of a key that was read, NOTHING or, when there was no memory to read it, NO_MEMORY. */
function find(table: Table, key: ReadKey): i32 {
  return key == UNREAD ? NO_MEMORY : max(search(table, key), NOTHING);
}

/**
 * The slot of a key that was read; a key that has none gets one. NO_MEMORY: nothing was changed.
 */
export function intern(table: Table, read: ReadKey): i32 {
  if (read == UNREAD) return NO_MEMORY;
  const known = search(table, read);
  if (known >= 0) return known;
  const mask = table.mask;
  if (!bucketReady(table) || !slotReady(table)) return NO_MEMORY;
  const form = <u32>(read >> 32);
  const bytes = keyBytes(form);
  const external: usize = form & EXTERNAL ? blockAlloc(bytes) : 0;
  if (form & EXTERNAL && external == 0) return NO_MEMORY;

  const slot = takeSlot(table, KEYED | (form & EXTERNAL));
  recordOf(table, slot).hash = <u32>read;
  const key = keyOf(table, slot);
  key.form = form;
  let to = inlineKey(key);
  if (external != 0) {
    key.block = external;
    key.units = longKeyUnits;
    to = external;
  }
  copyKey(to, bytes);
  placeSlot(table, <u32>read, slot, mask, ~known);
  return slot;
}

export function keysFind(table: Table, key: externref): i32 {
  return find(table, readKey(table, key));
}

export function keysIntern(table: Table, key: externref): i32 {
  return intern(table, readKey(table, key));
}

/**
 * keysFind and keysIntern by the content of a JSON string in memory: valid UTF-8 between its
 * quotes, escapes included.
 */
export function keysFindBytes(table: Table, from: usize, bytes: u32): i32 {
  return find(table, readBytes(table, from, bytes));
}

export function keysInternBytes(table: Table, from: usize, bytes: u32): i32 {
  return intern(table, readBytes(table, from, bytes));
}

/**
 * The same by an object's namespace, which may be empty, and its name: as the string namespace/name
 * or name.
 */
export function keysFindObject(
  table: Table, namespace: usize, namespaceBytes: u32, name: usize, nameBytes: u32,
): i32 {
  return find(table, readObjectKey(table, namespace, namespaceBytes, name, nameBytes));
}

export function keysInternObject(
  table: Table, namespace: usize, namespaceBytes: u32, name: usize, nameBytes: u32,
): i32 {
  return intern(table, readObjectKey(table, namespace, namespaceBytes, name, nameBytes));
}

/**
 * Where the text of a live slot's key is: so many units of one byte, or of two when it is wide.
 * Valid until the slot is given back.
 */
export function keysText(table: Table, slot: u32): usize {
  const key = keyOf(table, slot);
  return key.form & EXTERNAL ? key.block : inlineKey(key);
}

export function keysTextUnits(table: Table, slot: u32): u32 {
  const key = keyOf(table, slot);
  const form = key.form;
  return form & EXTERNAL ? key.units : form & 0xff;
}

export function keysTextWide(table: Table, slot: u32): bool {
  return (keyOf(table, slot).form & WIDE) != 0;
}
