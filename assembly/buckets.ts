// Slots and buckets of a key table: a hash of 32 bits to the slots that may have the key. A slot
// belongs to its key until release().
//
// Buckets are u32, 0 when empty; of 2^k buckets:
//
//   |hash, bits k to 27 |distance, 4 bits |slot + 1, k bits|
//
// The distance is how far the bucket is behind the home of its key (bits 0 to k - 1 of the hash),
// so the home is known without the record; from FAR on the record is read. Linear probing;
// deletion shifts back, so there are no tombstones and churn costs no memory.
//
// keys.ts has the keys of a table that holds their texts, hosted.ts those of a host that has them.
//
// Raw loads and stores: buckets, which are bare u32.

import { NO_MEMORY } from "./abi";
import { blockAlloc, blockFree, setWord, wordAt } from "./memory";
import { ringReady } from "./ring";
import {
  CHUNK_SHIFT, EXTERNAL, GENERATION, GENERATIONS, ISSUED, KEYED, STATES_BYTES, TEXTS_BYTES,
  TIME_CHUNK_BYTES, WAIT_CHUNK_BYTES, WIDE, KeyState, KeyText, Table, keyOf, recordOf,
} from "./record";

const FIRST_BUCKETS: u32 = 512;
const MOST_BUCKETS: u32 = 1 << 27;
const FEW_BUCKETS: u32 = 1 << 14;
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
export function tableNew(hasTexts: bool): Table | null {
  const block = blockAlloc(offsetof<Table>());
  if (block == 0) return null;
  memory.fill(block, 0, offsetof<Table>());
  const table = changetype<Table>(block);
  table.seed = instanceSeed;
  table.secret = instanceSecret;
  table.hasTexts = hasTexts;
  return table;
}

export function keysFree(table: Table): void {
  const hasTexts = table.hasTexts;
  const slots: u32 = hasTexts ? table.slots : 0;
  for (let slot: u32 = 0; slot < slots; slot++) {
    if (recordOf(table, slot).meta & EXTERNAL) freeExternal(keyOf(table, slot));
  }
  freeColumn(table, table.directory, chunkBytes(table));
  freeColumn(table, table.times, TIME_CHUNK_BYTES);
  freeColumn(table, table.waits, WAIT_CHUNK_BYTES);
  const buckets = table.buckets;
  if (buckets != 0) blockFree(buckets, (table.mask + 1) << 2);
  blockFree(changetype<usize>(table), offsetof<Table>());
}

@inline
function chunkBytes(table: Table): u32 {
  return table.hasTexts ? TEXTS_BYTES : STATES_BYTES;
}

function freeColumn(table: Table, directory: usize, bytes: u32): void {
  if (directory == 0) return;
  const chunks = table.chunks;
  for (let chunk: u32 = 0; chunk < chunks; chunk++) {
    blockFree(<usize>wordAt(directory, chunk), bytes);
  }
  blockFree(directory, table.directorySize << 2);
}

@inline
export function bucketAt(buckets: usize, index: u32): usize {
  return buckets + (<usize>index << 2);
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

/**
 * Keys go into the new buckets by slot, not by old bucket: which of those are empty cannot be
 * predicted.
 */
function growBuckets(table: Table): bool {
  const old = table.buckets;
  const oldCount: u32 = old == 0 ? 0 : table.mask + 1;
  if (oldCount >= MOST_BUCKETS) return false;
  const count = old == 0 ? FIRST_BUCKETS : oldCount << 1;
  const buckets = blockAlloc(count << 2);
  if (buckets == 0) return false;
  memory.fill(buckets, 0, <usize>count << 2);
  const mask = count - 1;
  const bits = <u32>popcnt(mask);
  const slots = table.slots;
  for (let slot: u32 = 0; slot < slots; slot++) {
    const record = recordOf(table, slot);
    if ((record.meta & KEYED) == 0) continue;
    const hash = record.hash;
    putBucket(buckets, mask, hash & mask, hash & mask, (hash & 0x0fffffff) >> bits, slot);
  }
  table.buckets = buckets;
  table.mask = mask;
  if (old != 0) blockFree(old, oldCount << 2);
  return true;
}

/**
 * Makes room for a key. A small table is filled to a quarter: most keys then lie at their home, and
 * the processor predicts that. A large one is filled to five eighths, as memory counts there; its
 * probes stay within one or two cache lines. False: no memory.
 */
@inline
export function bucketReady(table: Table): bool {
  const mask = table.mask;
  const most = mask < FEW_BUCKETS ? mask >> 2 : (mask >> 1) + (mask >> 3);
  return (table.buckets != 0 && table.used < most) || growBuckets(table);
}

/**
 * Puts a slot into a bucket, after bucketReady. `free`: the first free bucket for the hash, found
 * while the table had `mask` + 1 buckets.
 */
@inline
export function placeSlot(table: Table, hash: u32, slot: u32, mask: u32, free: u32): void {
  const newMask = table.mask;
  const home = hash & newMask;
  const rest = (hash & 0x0fffffff) >> <u32>popcnt(newMask);
  putBucket(table.buckets, newMask, home, newMask == mask ? free : home, rest, slot);
}

/** A larger copy of a directory; 0: no memory, or the table has no such column. */
function largerOf(table: Table, directory: usize, size: u32): usize {
  if (directory == 0) return 0;
  const block = blockAlloc(size << 2);
  if (block != 0) memory.copy(block, directory, table.directorySize << 2);
  return block;
}

function freeDirectory(directory: usize, size: u32): void {
  if (directory != 0) blockFree(directory, size << 2);
}

/** Room for twice as many chunks in each directory. */
function growDirectories(table: Table): bool {
  const size = table.directorySize;
  const larger = size << 1;
  const states = largerOf(table, table.directory, larger);
  const times = largerOf(table, table.times, larger);
  const waits = largerOf(table, table.waits, larger);
  if (states == 0 || (times == 0) != (table.times == 0) || (waits == 0) != (table.waits == 0)) {
    freeDirectory(states, larger);
    freeDirectory(times, larger);
    freeDirectory(waits, larger);
    return false;
  }
  freeDirectory(table.directory, size);
  freeDirectory(table.times, size);
  freeDirectory(table.waits, size);
  table.directory = states;
  table.times = times;
  table.waits = waits;
  table.directorySize = larger;
  return true;
}

/** The table's directories begin with that of the states. False: no memory. */
function directoryReady(table: Table): bool {
  if (table.directorySize != 0) return true;
  const directory = blockAlloc(FIRST_DIRECTORY << 2);
  if (directory == 0) return false;
  table.directory = directory;
  table.directorySize = FIRST_DIRECTORY;
  return true;
}

/** A directory and chunks for all slots that there are, or 0. */
function columnFor(table: Table, bytes: u32): usize {
  if (!directoryReady(table)) return 0;
  const size = table.directorySize;
  const directory = blockAlloc(size << 2);
  if (directory == 0) return 0;
  const chunks = table.chunks;
  for (let chunk: u32 = 0; chunk < chunks; chunk++) {
    const block = blockAlloc(bytes);
    if (block == 0) {
      while (chunk > 0) blockFree(<usize>wordAt(directory, --chunk), bytes);
      blockFree(directory, size << 2);
      return 0;
    }
    setWord(directory, chunk, <u32>block);
  }
  return directory;
}

/** Gives a table a column of times, for the keys to come; false when there is no memory. */
export function timeColumn(table: Table): bool {
  table.times = columnFor(table, TIME_CHUNK_BYTES);
  return table.times != 0;
}

/** A table has a column of waits from here on; false when there is no memory. */
export function waitColumn(table: Table): bool {
  if (table.waits == 0) table.waits = columnFor(table, WAIT_CHUNK_BYTES);
  return table.waits != 0;
}

function addChunk(table: Table): bool {
  const chunks = table.chunks;
  if (!ringReady(table, (chunks + 1) << CHUNK_SHIFT)) return false;
  if (!directoryReady(table)) return false;
  if (chunks == table.directorySize && !growDirectories(table)) return false;
  const states = blockAlloc(chunkBytes(table));
  if (states == 0) return false;
  const times: usize = table.times == 0 ? 0 : blockAlloc(TIME_CHUNK_BYTES);
  const waits: usize = table.waits == 0 ? 0 : blockAlloc(WAIT_CHUNK_BYTES);
  if ((times == 0) != (table.times == 0) || (waits == 0) != (table.waits == 0)) {
    blockFree(states, chunkBytes(table));
    if (times != 0) blockFree(times, TIME_CHUNK_BYTES);
    if (waits != 0) blockFree(waits, WAIT_CHUNK_BYTES);
    return false;
  }
  setWord(table.directory, chunks, <u32>states);
  if (times != 0) setWord(table.times, chunks, <u32>times);
  if (waits != 0) setWord(table.waits, chunks, <u32>waits);
  table.chunks = chunks + 1;
  return true;
}

@inline
export function slotReady(table: Table): bool {
  return (
    table.free != 0 ||
    table.slots < table.chunks << CHUNK_SHIFT ||
    addChunk(table)
  );
}

/** Takes a slot, after slotReady; of its meta only the generation is set. */
@inline
export function takeSlot(table: Table, meta: u32): u32 {
  let slot: u32;
  const free = table.free;
  table.used++;
  if (free != 0) {
    slot = free - 1;
    const record = recordOf(table, slot);
    table.free = record.hash;
    record.meta |= meta;
  } else {
    slot = table.slots;
    table.slots = slot + 1;
    // Generations begin at random, so that zeros and the slots of another queue are hardly ever
    // valid here.
    const first = ((<u32>table.secret + changetype<u32>(table)) * 0x9e3779b1) & GENERATIONS;
    recordOf(table, slot).meta = first | meta;
  }
  return slot;
}

/** A slot without a key: the host maps keys to slots. NO_MEMORY: nothing was changed. */
export function slotNew(table: Table): i32 {
  if (!slotReady(table)) return NO_MEMORY;
  return takeSlot(table, 0);
}

export function freeExternal(key: KeyText): void {
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
  record.hash = table.free;
  table.free = slot + 1;
  table.used--;
}

export function keysUsed(table: Table): u32 {
  return table.used;
}
