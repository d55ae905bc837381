// The key table: any string, or a pair of strings, to a slot. A slot belongs to its key until
// keysRelease.
//
// Buckets are u32, 0 when empty; of 2^k buckets:
//
//   |hash, bits k to 27 |distance, 4 bits |slot + 1, k bits|
//
// The distance is how far the bucket is behind the home of its key (bits 0 to k - 1 of the hash),
// so the home is known without the record; from FAR on the record is read. Linear probing;
// deletion shifts back, so there are no tombstones and churn costs no memory.
//
// Raw loads and stores: buckets, which are bare u32.

import { NOTHING, NO_MEMORY } from "./abi";
import { blockAlloc, blockFree, setWord, wordAt } from "./memory";
import { ringReady } from "./ring";
import { readObjectKey, readBytes } from "./text-bytes";
import { ReadKey, UNREAD, copyKey, isKey, keyBytes, longKey, readKey, readPair } from "./text";
import {
  CHUNK_BYTES, CHUNK_SHIFT, EXTERNAL, GENERATION, GENERATIONS, ISSUED, KEYED, TIME_CHUNK_BYTES,
  WIDE, KeyState, KeyText, Table, inlineKey, keyOf, recordOf,
} from "./record";

const FIRST_BUCKETS: u32 = 256;
const MOST_BUCKETS: u32 = 1 << 27;
const FAR: u32 = 15;
const FIRST_DIRECTORY: u32 = 16;
let instanceSeed: u64 = 0x9e3779b97f4a7c15;
let instanceSecret: u64 = 0xd6e8feb86659fd93;

/** Seeds the tables made from here on; the loader passes random words. */
export function keysSeed(a: u32, b: u32, c: u32, d: u32): void {
  instanceSeed = (<u64>a << 32) | <u64>b;
  instanceSecret = (<u64>c << 32) | <u64>d;
}

/** A table, or null when there is no memory. */
export function keysNew(): Table | null {
  const block = blockAlloc(offsetof<Table>());
  if (block == 0) return null;
  memory.fill(block, 0, offsetof<Table>());
  const table = changetype<Table>(block);
  table.seed = instanceSeed;
  table.secret = instanceSecret;
  return table;
}

export function keysFree(table: Table): void {
  const slots = table.slots;
  for (let slot: u32 = 0; slot < slots; slot++) {
    if (recordOf(table, slot).meta & EXTERNAL) freeExternal(keyOf(table, slot));
  }
  const directory = table.directory;
  const times = table.times;
  const chunks = table.chunks;
  for (let chunk: u32 = 0; chunk < chunks; chunk++) {
    blockFree(<usize>wordAt(directory, chunk), CHUNK_BYTES);
    if (times != 0) blockFree(<usize>wordAt(times, chunk), TIME_CHUNK_BYTES);
  }
  const directoryBytes = table.directorySize << 2;
  if (directory != 0) blockFree(directory, directoryBytes);
  if (times != 0) blockFree(times, directoryBytes);
  const buckets = table.buckets;
  if (buckets != 0) blockFree(buckets, (table.mask + 1) << 2);
  blockFree(changetype<usize>(table), offsetof<Table>());
}

@inline
function bucketAt(buckets: usize, index: u32): usize {
  return buckets + (<usize>index << 2);
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

/** Puts a key into the first free bucket from `from` on. `rest`: of the hash, bits k to 27. */
@inline
function putBucket(buckets: usize, mask: u32, home: u32, from: u32, rest: u32, slot: u32): void {
  let i = from;
  while (load<u32>(bucketAt(buckets, i)) != 0) i = (i + 1) & mask;
  const bits = <u32>popcnt(mask);
  const distance = min((i - home) & mask, FAR);
  store<u32>(bucketAt(buckets, i), (rest << (bits + 4)) | (distance << bits) | (slot + 1));
}

/** How far an entry is behind its home. */
@inline
function distanceOf(table: Table, mask: u32, index: u32, entry: u32): u32 {
  const distance = (entry >> <u32>popcnt(mask)) & FAR;
  return distance < FAR ? distance : (index - recordOf(table, (entry & mask) - 1).hash) & mask;
}

function growBuckets(table: Table): bool {
  const old = table.buckets;
  const oldMask = table.mask;
  const oldCount: u32 = old == 0 ? 0 : oldMask + 1;
  if (oldCount >= MOST_BUCKETS) return false;
  const count = old == 0 ? FIRST_BUCKETS : oldCount << 1;
  const buckets = blockAlloc(count << 2);
  if (buckets == 0) return false;
  memory.fill(buckets, 0, <usize>count << 2);
  const mask = count - 1;
  const bits = <u32>popcnt(oldMask);
  for (let i: u32 = 0; i < oldCount; i++) {
    const entry = load<u32>(bucketAt(old, i));
    if (entry == 0) continue;
    const rest = entry >> (bits + 4);
    const home = ((i - distanceOf(table, oldMask, i, entry)) & oldMask) | ((rest & 1) << bits);
    putBucket(buckets, mask, home, home, rest >> 1, (entry & oldMask) - 1);
  }
  table.buckets = buckets;
  table.mask = mask;
  if (old != 0) blockFree(old, oldCount << 2);
  return true;
}

function growDirectory(old: usize, oldSize: u32, size: u32): usize {
  const block = blockAlloc(size << 2);
  if (block != 0 && old != 0) memory.copy(block, old, oldSize << 2);
  return block;
}

function addChunk(table: Table): bool {
  const chunks = table.chunks;
  if (!ringReady(table, (chunks + 1) << CHUNK_SHIFT)) return false;
  const size = table.directorySize;
  const timed = table.times != 0;
  if (chunks == size) {
    const larger = size == 0 ? FIRST_DIRECTORY : size << 1;
    const directory = growDirectory(table.directory, size, larger);
    if (directory == 0) return false;
    if (timed) {
      const times = growDirectory(table.times, size, larger);
      if (times == 0) {
        blockFree(directory, larger << 2);
        return false;
      }
      blockFree(table.times, size << 2);
      table.times = times;
    }
    if (size != 0) blockFree(table.directory, size << 2);
    table.directory = directory;
    table.directorySize = larger;
  }
  const chunk = blockAlloc(CHUNK_BYTES);
  if (chunk == 0) return false;
  if (timed) {
    const times = blockAlloc(TIME_CHUNK_BYTES);
    if (times == 0) {
      blockFree(chunk, CHUNK_BYTES);
      return false;
    }
    setWord(table.times, chunks, <u32>times);
  }
  memory.fill(chunk, 0, CHUNK_BYTES);
  setWord(table.directory, chunks, <u32>chunk);
  table.chunks = chunks + 1;
  // Generations begin at random, so that zeros and the slots of another queue are hardly ever valid
  // here.
  const first = ((<u32>table.secret + changetype<u32>(table)) * 0x9e3779b1) & GENERATIONS;
  for (let slot = chunks << CHUNK_SHIFT; slot < (chunks + 1) << CHUNK_SHIFT; slot++) {
    recordOf(table, slot).meta = first;
  }
  return true;
}

/**
 * Gives a table a column of times; only while it has no directory yet. False when there is no
 * memory.
 */
export function timeColumn(table: Table): bool {
  const directory = blockAlloc(FIRST_DIRECTORY << 2);
  if (directory == 0) return false;
  const times = blockAlloc(FIRST_DIRECTORY << 2);
  if (times == 0) {
    blockFree(directory, FIRST_DIRECTORY << 2);
    return false;
  }
  table.directory = directory;
  table.times = times;
  table.directorySize = FIRST_DIRECTORY;
  return true;
}

@inline
function slotReady(table: Table): bool {
  return (
    table.free != 0 ||
    table.slots < table.chunks << CHUNK_SHIFT ||
    addChunk(table)
  );
}

/** Takes a slot for a key of this form, after slotReady; of its meta only the generation is set. */
@inline
function takeSlot(table: Table, meta: u32, form: u32): u32 {
  let slot: u32;
  const free = table.free;
  table.used++;
  if (free != 0) {
    slot = free - 1;
    table.free = recordOf(table, slot).link;
  } else {
    slot = table.slots;
    table.slots = slot + 1;
  }
  const key = keyOf(table, slot);
  key.at = 0;
  key.form = form;
  const record = recordOf(table, slot);
  record.meta |= meta;
  return slot;
}

/**
 * The slot of a key that was read; a key that has none gets one. NO_MEMORY: nothing was changed.
 */
export function intern(table: Table, read: ReadKey): i32 {
  if (read == UNREAD) return NO_MEMORY;
  const known = search(table, read);
  if (known >= 0) return known;
  const used = table.used;
  const mask = table.mask;
  // At most five eighths full: probes stay within a cache line or two.
  const isFull = table.buckets == 0 || used >= (mask >> 1) + (mask >> 3);
  if (isFull && !growBuckets(table)) return NO_MEMORY;
  if (!slotReady(table)) return NO_MEMORY;
  const form = <u32>(read >> 32);
  const bytes = keyBytes(form);
  const external: usize = form & EXTERNAL ? blockAlloc(bytes) : 0;
  if (form & EXTERNAL && external == 0) return NO_MEMORY;

  const slot = takeSlot(table, KEYED | (form & EXTERNAL), form);
  const key = keyOf(table, slot);
  recordOf(table, slot).hash = <u32>read;
  let to = inlineKey(key);
  if (external != 0) {
    key.block = external;
    key.units = longKey.units;
    key.split = longKey.split;
    to = external;
  }
  copyKey(to, bytes);
  const newMask = table.mask;
  const home = <u32>read & newMask;
  const rest = (<u32>read & 0x0fffffff) >> <u32>popcnt(newMask);
  putBucket(table.buckets, newMask, home, newMask == mask ? ~known : home, rest, slot);
  return slot;
}

/** A slot without a key: the host maps keys to slots. NO_MEMORY: nothing was changed. */
export function slotNew(table: Table): i32 {
  if (!slotReady(table)) return NO_MEMORY;
  return takeSlot(table, 0, 0);
}

function freeExternal(key: KeyText): void {
  const units = key.units;
  blockFree(key.block, key.form & WIDE ? units << 1 : units);
}

function removeBucket(table: Table, hash: u32, slot: u32): void {
  const buckets = table.buckets;
  const mask = table.mask;
  const bits = <u32>popcnt(mask);
  let hole = hash & mask;
  while ((load<u32>(bucketAt(buckets, hole)) & mask) != slot + 1) hole = (hole + 1) & mask;
  for (let i = (hole + 1) & mask; ; i = (i + 1) & mask) {
    const entry = load<u32>(bucketAt(buckets, i));
    if (entry == 0) break;
    const distance = distanceOf(table, mask, i, entry);
    const step = (i - hole) & mask;
    // An entry may move back to the hole unless its home lies behind the hole.
    if (distance < step) continue;
    const moved = min(distance - step, FAR);
    store<u32>(bucketAt(buckets, hole), (entry & ~(FAR << bits)) | (moved << bits));
    hole = i;
  }
  store<u32>(bucketAt(buckets, hole), 0);
}

/** Loads the home bucket of a record's key ahead of its use. */
@inline
export function peekBucket(table: Table, record: KeyState): u64 {
  return load<u32>(bucketAt(table.buckets, record.hash & table.mask));
}

/** Gives the slot and its key back. */
export function release(table: Table, slot: u32): void {
  const record = recordOf(table, slot);
  const meta = record.meta;
  if (meta & KEYED) {
    removeBucket(table, record.hash, slot);
    if (meta & EXTERNAL) freeExternal(keyOf(table, slot));
  }
  record.meta = (meta & ISSUED ? meta + GENERATION : meta) & GENERATIONS;
  record.link = table.free;
  table.free = slot + 1;
  table.used--;
}

export function keysUsed(table: Table): u32 {
  return table.used;
}

export function keysFind(table: Table, key: externref): i32 {
  return find(table, readKey(table, key));
}

export function keysIntern(table: Table, key: externref): i32 {
  return intern(table, readKey(table, key));
}

export function keysFindPair(table: Table, first: externref, second: externref): i32 {
  return find(table, readPair(table, first, second));
}

export function keysInternPair(table: Table, first: externref, second: externref): i32 {
  return intern(table, readPair(table, first, second));
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
