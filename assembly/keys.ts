// The key table: any string, or a pair of strings, to a slot. A slot belongs to its key until
// keysRelease.
//
// Buckets are u32, 0 when empty; of 2^k buckets:
//
//   |hash, bits k to 27 |distance, 4 bits |slot + 1, k bits|
//
// The distance is how far the bucket is behind the home of its key (bits 0 to k - 1 of the hash),
// so the home is known without the record; from FAR on the record has to be asked. Linear probing;
// deletion shifts back, so there are no tombstones and churn costs no memory.

import { blockAlloc, blockFree } from "./memory";
import { ringReady } from "./ring";
import { readObjectKey, readBytes } from "./text-bytes";
import { copyKey, isKey, keyBytes, keyForm, keyHash, keySplit, keyUnits, readKey, readPair } from "./text";
import {
  CHUNK_BYTES, CHUNK_SHIFT, EXTERNAL, GENERATION, GENERATIONS, HEADER_BYTES, ISSUED, KEYED, K_AT, K_EXTERNAL_BLOCK, K_EXTERNAL_SPLIT,
  K_EXTERNAL_UNITS, K_FORM, K_KEY, NO_MEMORY, NOTHING, Q_TIMES, R_HASH, R_LINK, R_META, T_BUCKETS, T_CHUNKS, T_DIR,
  T_DIR_SIZE, T_FREE, T_MASK, T_SECRET, T_SEED, T_SLOTS, T_USED, TIME_CHUNK_BYTES, WIDE, keyOf, recordOf,
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

/** A table, or 0 when there is no memory. */
export function keysNew(): usize {
  const table = blockAlloc(HEADER_BYTES);
  if (table == 0) return 0;
  memory.fill(table, 0, HEADER_BYTES);
  store<u64>(table, instanceSeed, T_SEED);
  store<u64>(table, instanceSecret, T_SECRET);
  return table;
}

export function keysFree(table: usize): void {
  const slots = load<u32>(table, T_SLOTS);
  for (let slot: u32 = 0; slot < slots; slot++) {
    if (load<u32>(recordOf(table, slot), R_META) & EXTERNAL) freeExternal(keyOf(table, slot));
  }
  const directory = <usize>load<u32>(table, T_DIR);
  const times = <usize>load<u32>(table, Q_TIMES);
  const chunks = load<u32>(table, T_CHUNKS);
  for (let chunk: u32 = 0; chunk < chunks; chunk++) {
    blockFree(<usize>load<u32>(directory + (chunk << 2)), CHUNK_BYTES);
    if (times != 0) blockFree(<usize>load<u32>(times + (chunk << 2)), TIME_CHUNK_BYTES);
  }
  const directoryBytes = load<u32>(table, T_DIR_SIZE) << 2;
  if (directory != 0) blockFree(directory, directoryBytes);
  if (times != 0) blockFree(times, directoryBytes);
  const buckets = <usize>load<u32>(table, T_BUCKETS);
  if (buckets != 0) blockFree(buckets, (load<u32>(table, T_MASK) + 1) << 2);
  blockFree(table, HEADER_BYTES);
}

@inline
function bucketAt(buckets: usize, index: u32): usize {
  return buckets + (<usize>index << 2);
}

let freeBucket: u32 = 0; // where findRead ended that found nothing: the first free bucket from the key's home on

/** The slot of the key read last, or NOTHING. */
export function findRead(table: usize): i32 {
  const buckets = <usize>load<u32>(table, T_BUCKETS);
  if (buckets == 0) return NOTHING;
  const mask = load<u32>(table, T_MASK);
  const shift = <u32>popcnt(mask) + 4;
  const tag = (keyHash << 4) >> shift;
  let i = keyHash & mask;
  while (true) {
    const entry = load<u32>(bucketAt(buckets, i));
    if (entry == 0) {
      freeBucket = i;
      return NOTHING;
    }
    if (entry >> shift == tag) {
      const slot = (entry & mask) - 1;
      if (isKey(keyOf(table, slot))) return slot;
    }
    i = (i + 1) & mask;
  }
}

/** Puts a key into the first free bucket from `from` on. `rest`: of the hash, bits k to 27. */
@inline
function putBucket(buckets: usize, mask: u32, home: u32, from: u32, rest: u32, slot: u32): void {
  let i = from;
  while (load<u32>(bucketAt(buckets, i)) != 0) i = (i + 1) & mask;
  const bits = <u32>popcnt(mask);
  store<u32>(bucketAt(buckets, i), (rest << (bits + 4)) | (min((i - home) & mask, FAR) << bits) | (slot + 1));
}

/** How far an entry is behind its home. */
@inline
function distanceOf(table: usize, mask: u32, index: u32, entry: u32): u32 {
  const distance = (entry >> <u32>popcnt(mask)) & FAR;
  return distance < FAR ? distance : (index - load<u32>(recordOf(table, (entry & mask) - 1), R_HASH)) & mask;
}

function growBuckets(table: usize): bool {
  const old = <usize>load<u32>(table, T_BUCKETS);
  const oldMask = load<u32>(table, T_MASK);
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
  store<u32>(table, <u32>buckets, T_BUCKETS);
  store<u32>(table, mask, T_MASK);
  if (old != 0) blockFree(old, oldCount << 2);
  return true;
}

function growDirectory(old: usize, oldSize: u32, size: u32): usize {
  const block = blockAlloc(size << 2);
  if (block != 0 && old != 0) memory.copy(block, old, oldSize << 2);
  return block;
}

function addChunk(table: usize): bool {
  const chunks = load<u32>(table, T_CHUNKS);
  if (!ringReady(table, (chunks + 1) << CHUNK_SHIFT)) return false;
  const size = load<u32>(table, T_DIR_SIZE);
  const timed = load<u32>(table, Q_TIMES) != 0;
  if (chunks == size) {
    const larger = size == 0 ? FIRST_DIRECTORY : size << 1;
    const directory = growDirectory(<usize>load<u32>(table, T_DIR), size, larger);
    if (directory == 0) return false;
    if (timed) {
      const times = growDirectory(<usize>load<u32>(table, Q_TIMES), size, larger);
      if (times == 0) {
        blockFree(directory, larger << 2);
        return false;
      }
      blockFree(<usize>load<u32>(table, Q_TIMES), size << 2);
      store<u32>(table, <u32>times, Q_TIMES);
    }
    if (size != 0) blockFree(<usize>load<u32>(table, T_DIR), size << 2);
    store<u32>(table, <u32>directory, T_DIR);
    store<u32>(table, larger, T_DIR_SIZE);
  }
  const chunk = blockAlloc(CHUNK_BYTES);
  if (chunk == 0) return false;
  if (timed) {
    const times = blockAlloc(TIME_CHUNK_BYTES);
    if (times == 0) {
      blockFree(chunk, CHUNK_BYTES);
      return false;
    }
    store<u32>(<usize>load<u32>(table, Q_TIMES) + (chunks << 2), <u32>times);
  }
  memory.fill(chunk, 0, CHUNK_BYTES);
  store<u32>(<usize>load<u32>(table, T_DIR) + (chunks << 2), <u32>chunk);
  store<u32>(table, chunks + 1, T_CHUNKS);
  // Generations begin at random: zeros, and the slots of another queue, are hardly ever taken for
  // slots of this one.
  const first = ((load<u32>(table, T_SECRET) + <u32>table) * 0x9e3779b1) & GENERATIONS;
  for (let slot = chunks << CHUNK_SHIFT; slot < (chunks + 1) << CHUNK_SHIFT; slot++) store<u32>(recordOf(table, slot), first, R_META);
  return true;
}

/**
 * Gives a table a column of times; only while it has no directory yet. False when there is no
 * memory.
 */
export function timeColumn(table: usize): bool {
  const directory = blockAlloc(FIRST_DIRECTORY << 2);
  if (directory == 0) return false;
  const times = blockAlloc(FIRST_DIRECTORY << 2);
  if (times == 0) {
    blockFree(directory, FIRST_DIRECTORY << 2);
    return false;
  }
  store<u32>(table, <u32>directory, T_DIR);
  store<u32>(table, <u32>times, Q_TIMES);
  store<u32>(table, FIRST_DIRECTORY, T_DIR_SIZE);
  return true;
}

@inline
function slotReady(table: usize): bool {
  return (
    load<u32>(table, T_FREE) != 0 ||
    load<u32>(table, T_SLOTS) < load<u32>(table, T_CHUNKS) << CHUNK_SHIFT ||
    addChunk(table)
  );
}

/**
 * Takes a slot for a key of this form; slotReady has been asked. Of meta only the generation is
 * left by now.
 */
@inline
function takeSlot(table: usize, meta: u32, form: u32): u32 {
  let slot: u32;
  const free = load<u32>(table, T_FREE);
  store<u32>(table, load<u32>(table, T_USED) + 1, T_USED);
  if (free != 0) {
    slot = free - 1;
    store<u32>(table, load<u32>(recordOf(table, slot), R_LINK), T_FREE);
  } else {
    slot = load<u32>(table, T_SLOTS);
    store<u32>(table, slot + 1, T_SLOTS);
  }
  const key = keyOf(table, slot);
  store<u64>(key, 0, K_AT);
  store<u32>(key, form, K_FORM);
  const record = recordOf(table, slot);
  store<u32>(record, load<u32>(record, R_META) | meta, R_META);
  return slot;
}

/** The slot of the key read last; a key that has none gets one. NO_MEMORY: nothing was changed. */
export function internRead(table: usize): i32 {
  const known = findRead(table);
  if (known >= 0) return known;
  const used = load<u32>(table, T_USED);
  const mask = load<u32>(table, T_MASK);
  // At most five eighths full: probes stay within a cache line or two.
  if ((load<u32>(table, T_BUCKETS) == 0 || used >= (mask >> 1) + (mask >> 3)) && !growBuckets(table)) return NO_MEMORY;
  if (!slotReady(table)) return NO_MEMORY;
  const external: usize = keyForm & EXTERNAL ? blockAlloc(keyBytes) : 0;
  if (keyForm & EXTERNAL && external == 0) return NO_MEMORY;

  const slot = takeSlot(table, KEYED | (keyForm & EXTERNAL), keyForm);
  const key = keyOf(table, slot);
  store<u32>(recordOf(table, slot), keyHash, R_HASH);
  let to = key + K_KEY;
  if (external != 0) {
    store<u32>(key, <u32>external, K_EXTERNAL_BLOCK);
    store<u32>(key, keyUnits, K_EXTERNAL_UNITS);
    store<u32>(key, keySplit, K_EXTERNAL_SPLIT);
    to = external;
  }
  copyKey(to);
  const newMask = load<u32>(table, T_MASK);
  const home = keyHash & newMask;
  const rest = (keyHash & 0x0fffffff) >> <u32>popcnt(newMask);
  putBucket(<usize>load<u32>(table, T_BUCKETS), newMask, home, newMask == mask ? freeBucket : home, rest, slot);
  return slot;
}

/** A slot without a key: the host finds it by itself. NO_MEMORY: nothing was changed. */
export function slotNew(table: usize): i32 {
  if (!slotReady(table)) return NO_MEMORY;
  return takeSlot(table, 0, 0);
}

function freeExternal(key: usize): void {
  const units = load<u32>(key, K_EXTERNAL_UNITS);
  blockFree(<usize>load<u32>(key, K_EXTERNAL_BLOCK), load<u32>(key, K_FORM) & WIDE ? units << 1 : units);
}

function removeBucket(table: usize, hash: u32, slot: u32): void {
  const buckets = <usize>load<u32>(table, T_BUCKETS);
  const mask = load<u32>(table, T_MASK);
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
    store<u32>(bucketAt(buckets, hole), (entry & ~(FAR << bits)) | (min(distance - step, FAR) << bits));
    hole = i;
  }
  store<u32>(bucketAt(buckets, hole), 0);
}

/** The home bucket of a record's key, whatever is in it. */
@inline
export function peekBucket(table: usize, record: usize): u64 {
  return load<u32>(bucketAt(<usize>load<u32>(table, T_BUCKETS), load<u32>(record, R_HASH) & load<u32>(table, T_MASK)));
}

/** Gives the slot back; its key is forgotten. */
export function release(table: usize, slot: u32): void {
  const record = recordOf(table, slot);
  const meta = load<u32>(record, R_META);
  if (meta & KEYED) {
    removeBucket(table, load<u32>(record, R_HASH), slot);
    if (meta & EXTERNAL) freeExternal(keyOf(table, slot));
  }
  store<u32>(record, (meta & ISSUED ? meta + GENERATION : meta) & GENERATIONS, R_META);
  store<u32>(record, load<u32>(table, T_FREE), R_LINK);
  store<u32>(table, slot + 1, T_FREE);
  store<u32>(table, load<u32>(table, T_USED) - 1, T_USED);
}

export function keysUsed(table: usize): u32 {
  return load<u32>(table, T_USED);
}

export function keysFind(table: usize, key: externref): i32 {
  return readKey(table, key) ? findRead(table) : NO_MEMORY;
}

export function keysIntern(table: usize, key: externref): i32 {
  return readKey(table, key) ? internRead(table) : NO_MEMORY;
}

export function keysFindPair(table: usize, first: externref, second: externref): i32 {
  return readPair(table, first, second) ? findRead(table) : NO_MEMORY;
}

export function keysInternPair(table: usize, first: externref, second: externref): i32 {
  return readPair(table, first, second) ? internRead(table) : NO_MEMORY;
}

/**
 * keysFind and keysIntern by the content of a JSON string in memory: valid UTF-8 between its
 * quotes, escapes included.
 */
export function keysFindBytes(table: usize, from: usize, bytes: u32): i32 {
  return readBytes(table, from, bytes) ? findRead(table) : NO_MEMORY;
}

export function keysInternBytes(table: usize, from: usize, bytes: u32): i32 {
  return readBytes(table, from, bytes) ? internRead(table) : NO_MEMORY;
}

/**
 * The same by an object's namespace, which may be empty, and its name: as the string namespace/name
 * or name.
 */
export function keysFindObject(table: usize, namespace: usize, namespaceBytes: u32, name: usize, nameBytes: u32): i32 {
  return readObjectKey(table, namespace, namespaceBytes, name, nameBytes) ? findRead(table) : NO_MEMORY;
}

export function keysInternObject(table: usize, namespace: usize, namespaceBytes: u32, name: usize, nameBytes: u32): i32 {
  return readObjectKey(table, namespace, namespaceBytes, name, nameBytes) ? internRead(table) : NO_MEMORY;
}

/**
 * Where the text of a live slot's key is: so many units of one byte, or of two when it is wide.
 * Valid until the slot is given back.
 */
export function keysText(table: usize, slot: u32): usize {
  const key = keyOf(table, slot);
  return load<u32>(key, K_FORM) & EXTERNAL ? <usize>load<u32>(key, K_EXTERNAL_BLOCK) : key + K_KEY;
}

export function keysTextUnits(table: usize, slot: u32): u32 {
  const key = keyOf(table, slot);
  const form = load<u32>(key, K_FORM);
  return form & EXTERNAL ? load<u32>(key, K_EXTERNAL_UNITS) : form & 0xff;
}

export function keysTextWide(table: usize, slot: u32): bool {
  return (load<u32>(keyOf(table, slot), K_FORM) & WIDE) != 0;
}
