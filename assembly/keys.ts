// The key table: any string, or a pair of strings, to a slot. A slot belongs to its key until keysRelease.
//
// Hash and equality are over UTF-16 code units, so lone surrogates stay apart and no two keys merge; a pair also
// compares where its first part ends, so ('a', 'b/c') is not ('a/b', 'c'). Keys whose units all fit a byte are kept one
// byte a unit, others two; a key has exactly one form.
//
// Buckets are u64: hash in the upper half, slot + 1 in the lower, 0 when empty; linear probing, deletion shifts back, so
// there are no tombstones and churn costs no memory.
//
// The hash folds a 32 × 32 → 64 multiplication whose factors both depend on a secret: tenants choose object names, and a
// difference between two keys spreads in a way that nobody who lacks the seed can predict.

import { blockAlloc, blockFree, blockSize } from "./memory";
import { ringReady } from "./ring";
import {
  CHUNK_BYTES, CHUNK_SHIFT, EXTERNAL, GENERATION, GENERATIONS, HEADER_BYTES, INLINE_BYTES, ISSUED, KEYED, K_AT, K_EXTERNAL_BLOCK, K_EXTERNAL_SPLIT,
  K_EXTERNAL_UNITS, K_FORM, K_KEY, NO_MEMORY, NOTHING, Q_TIMES, R_HASH, R_LINK, R_META, SPLIT_SHIFT, T_BUCKETS, T_CHUNKS, T_DIR,
  T_DIR_SIZE, T_FREE, T_MASK, T_SECRET, T_SEED, T_SLOTS, T_USED, TIME_CHUNK_BYTES, WIDE, keyOf, recordOf,
} from "./record";

@external("wasm:js-string", "length")
declare function stringLength(text: externref): i32;
@external("wasm:js-string", "charCodeAt")
declare function charCodeAt(text: externref, index: i32): i32;

const FIRST_BUCKETS: u32 = 256;
const FIRST_DIRECTORY: u32 = 16;
const LONGEST: u32 = 0x1fffffff; // code units of a part: twice two of them and the padding still fit an address; engines end at about 2^29

// The key that is being looked up: its bytes lie at `scratch`, followed by eight zero bytes at least.
let scratch: usize = memory.data(1024, 64);
let scratchBytes: u32 = 1024;
let keyHash: u32 = 0;
let keyUnits: u32 = 0;
let keySplit: u32 = 0;
let keyBytes: u32 = 0;
let keyForm: u32 = 0;

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
  if (buckets != 0) blockFree(buckets, (load<u32>(table, T_MASK) + 1) << 3);
  blockFree(table, HEADER_BYTES);
}

@inline
function fold(hash: u64, word: u64, secret: u64): u64 {
  const mixed = hash ^ word;
  return ((mixed & 0xffffffff) * (mixed >> 32)) ^ rotl(mixed, 25) ^ secret;
}

let seenUnits: u32 = 0; // all units of the narrow reading, or-ed together

@inline
function fourUnits(text: externref, i: i32): u32 {
  const a = charCodeAt(text, i), b = charCodeAt(text, i + 1), c = charCodeAt(text, i + 2), d = charCodeAt(text, i + 3);
  seenUnits |= a | b | c | d;
  return <u32>(a | (b << 8) | (c << 16) | (d << 24));
}

/** Eight units, one byte a unit, read and kept. */
@inline
function eightUnits(text: externref, i: i32, at: usize): u64 {
  const word = <u64>fourUnits(text, i) | (<u64>fourUnits(text, i + 4) << 32);
  store<u64>(at + i, word);
  return word;
}

/**
 * Reads a part one byte a unit, in words of eight, of which the last one overlaps the one before. Wrong when seenUnits ends above 0xff:
 * then everything is read again.
 *
 * The first words are written out, as a loop costs more than it saves: the engine finds out how a string is stored once for all reads
 * that the first one dominates, but anew in each loop that begins without one.
 */
@inline
function readNarrow(text: externref, units: i32, at: usize, start: u64, secret: u64): u64 {
  let hash = start;
  let word: u64 = 0;
  if (units >= 8) {
    const last = units - 8;
    word = eightUnits(text, 0, at);
    if (last > 0) {
      hash = fold(hash, word, secret);
      if (last > 8) {
        hash = fold(hash, eightUnits(text, 8, at), secret);
        if (last > 16) {
          hash = fold(hash, eightUnits(text, 16, at), secret);
          for (let i = 24; i < last; i += 8) hash = fold(hash, eightUnits(text, i, at), secret);
        }
      }
      word = eightUnits(text, last, at);
    }
  } else if (units >= 4) {
    const last = units - 4;
    const low = fourUnits(text, 0), high = fourUnits(text, last);
    store<u32>(at, low);
    store<u32>(at + last, high);
    word = <u64>low | (<u64>high << 32);
  } else if (units > 0) {
    const middle = units >> 1, last = units - 1;
    const a = charCodeAt(text, 0), b = charCodeAt(text, middle), c = charCodeAt(text, last);
    seenUnits |= a | b | c;
    store<u8>(at, a);
    store<u8>(at + middle, b);
    store<u8>(at + last, c);
    word = <u64><u32>(a | (b << 8) | (c << 16));
  }
  store<u64>(at + units, 0);
  return fold(hash, word, secret);
}

function readWide(text: externref, units: i32, at: usize, start: u64, secret: u64): u64 {
  let hash = start;
  let i = 0;
  for (; i + 4 <= units; i += 4) {
    const word =
      <u64>charCodeAt(text, i) | (<u64>charCodeAt(text, i + 1) << 16) | (<u64>charCodeAt(text, i + 2) << 32) | (<u64>charCodeAt(text, i + 3) << 48);
    store<u64>(at + (i << 1), word);
    hash = fold(hash, word, secret);
  }
  let tail: u64 = 0;
  const tailAt = at + (i << 1);
  for (let shift: u64 = 0; i < units; i++, shift += 16) tail |= <u64>charCodeAt(text, i) << shift;
  store<u64>(tailAt, tail);
  store<u64>(at + (units << 1), 0);
  return fold(hash, tail, secret);
}

function growScratch(bytes: u32): bool {
  const block = blockAlloc(bytes);
  if (block == 0) return false;
  if (scratchBytes > 1024) blockFree(scratch, scratchBytes); // the first one is static
  scratch = block;
  scratchBytes = blockSize(bytes);
  return true;
}

@inline
function setKey(hash: u64, units: u32, split: u32, wide: bool): void {
  // The bucket index is the low bits: the last words' high bits must reach them.
  const mixed = (hash ^ (hash >> 32)) * 0x9fb21c651e98df25;
  keyHash = <u32>(mixed >> 32);
  keyUnits = units;
  keySplit = split;
  keyBytes = wide ? units << 1 : units;
  const form: u32 = wide ? WIDE : 0;
  keyForm = keyBytes > INLINE_BYTES ? form | EXTERNAL : form | units | (split << SPLIT_SHIFT);
}

/** Reads a string key into the scratch; false when there is no memory for that. */
export function readKey(table: usize, text: externref): bool {
  const units = stringLength(text);
  if (<u32>units > LONGEST) return false;
  if ((<u32>units << 1) + 16 > scratchBytes && !growScratch((<u32>units << 1) + 16)) return false;
  const seed = load<u64>(table, T_SEED) ^ <u64>units;
  const secret = load<u64>(table, T_SECRET);
  seenUnits = 0;
  let hash = readNarrow(text, units, scratch, seed, secret);
  const wide = seenUnits > 0xff;
  if (wide) hash = readWide(text, units, scratch, seed, secret);
  setKey(hash, units, 0, wide);
  return true;
}

/** Reads a pair into the scratch, the second part behind the first; false when there is no memory for that. */
export function readPair(table: usize, first: externref, second: externref): bool {
  const split = stringLength(first);
  const rest = stringLength(second);
  if (<u32>split > LONGEST || <u32>rest > LONGEST) return false;
  const bytes = (<u32>(split + rest) << 1) + 24;
  if (bytes > scratchBytes && !growScratch(bytes)) return false;
  const seed = load<u64>(table, T_SEED) ^ ((<u64>split << 32) | <u64>rest);
  const secret = load<u64>(table, T_SECRET);
  seenUnits = 0;
  let hash = readNarrow(first, split, scratch, seed, secret);
  hash = readNarrow(second, rest, scratch + split, hash, secret);
  const wide = seenUnits > 0xff;
  if (wide) {
    hash = readWide(first, split, scratch, seed, secret);
    hash = readWide(second, rest, scratch + (split << 1), hash, secret);
  }
  setKey(hash, split + rest, split, wide);
  return true;
}

// Keys of 8 bytes and more are compared and copied in words, the last one overlapping; shorter ones are one padded word.
@inline
function bytesEqual(a: usize, b: usize, bytes: u32): bool {
  if (bytes < 8) return load<u64>(a) == load<u64>(b);
  const last = bytes - 8;
  for (let i: u32 = 0; i < last; i += 8) if (load<u64>(a + i) != load<u64>(b + i)) return false;
  return load<u64>(a + last) == load<u64>(b + last);
}

@inline
function copyKey(to: usize): void {
  const last: u32 = keyBytes < 8 ? 0 : keyBytes - 8;
  for (let i: u32 = 0; i < last; i += 8) store<u64>(to + i, load<u64>(scratch + i));
  store<u64>(to + last, load<u64>(scratch + last));
}

@inline
function isKey(key: usize): bool {
  if (load<u32>(key, K_FORM) != keyForm) return false;
  if (keyForm & EXTERNAL) {
    return (
      load<u32>(key, K_EXTERNAL_UNITS) == keyUnits &&
      load<u32>(key, K_EXTERNAL_SPLIT) == keySplit &&
      bytesEqual(<usize>load<u32>(key, K_EXTERNAL_BLOCK), scratch, keyBytes)
    );
  }
  return bytesEqual(key + K_KEY, scratch, keyBytes);
}

/** The slot of the key read last, or NOTHING. */
export function findRead(table: usize): i32 {
  const buckets = <usize>load<u32>(table, T_BUCKETS);
  if (buckets == 0) return NOTHING;
  const mask = load<u32>(table, T_MASK);
  let i = keyHash & mask;
  while (true) {
    const entry = load<u64>(buckets + (<usize>i << 3));
    if (entry == 0) return NOTHING;
    if (<u32>(entry >> 32) == keyHash) {
      const slot = <u32>entry - 1;
      if (isKey(keyOf(table, slot))) return slot;
    }
    i = (i + 1) & mask;
  }
}

function growBuckets(table: usize): bool {
  const old = <usize>load<u32>(table, T_BUCKETS);
  const oldCount: u32 = old == 0 ? 0 : load<u32>(table, T_MASK) + 1;
  if (oldCount >= 1 << 28) return false;
  const count = old == 0 ? FIRST_BUCKETS : oldCount << 1;
  const buckets = blockAlloc(count << 3);
  if (buckets == 0) return false;
  memory.fill(buckets, 0, <usize>count << 3);
  const mask = count - 1;
  for (let i: u32 = 0; i < oldCount; i++) {
    const entry = load<u64>(old + (<usize>i << 3));
    if (entry == 0) continue;
    let j = <u32>(entry >> 32) & mask;
    while (load<u64>(buckets + (<usize>j << 3)) != 0) j = (j + 1) & mask;
    store<u64>(buckets + (<usize>j << 3), entry);
  }
  store<u32>(table, <u32>buckets, T_BUCKETS);
  store<u32>(table, mask, T_MASK);
  if (old != 0) blockFree(old, oldCount << 3);
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
  return true;
}

/** Gives a table a column of times; only while it has no directory yet. False when there is no memory. */
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

/** Takes a slot for a key of this form; slotReady has been asked. Of meta only the generation is left by now. */
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
  const buckets = <usize>load<u32>(table, T_BUCKETS);
  const newMask = load<u32>(table, T_MASK);
  let i = keyHash & newMask;
  while (load<u64>(buckets + (<usize>i << 3)) != 0) i = (i + 1) & newMask;
  store<u64>(buckets + (<usize>i << 3), (<u64>keyHash << 32) | <u64>(slot + 1));
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
  let hole = hash & mask;
  while (<u32>load<u64>(buckets + (<usize>hole << 3)) != slot + 1) hole = (hole + 1) & mask;
  for (let i = (hole + 1) & mask; ; i = (i + 1) & mask) {
    const entry = load<u64>(buckets + (<usize>i << 3));
    if (entry == 0) break;
    // An entry may move back to the hole unless its home lies behind the hole.
    if (((i - (<u32>(entry >> 32) & mask)) & mask) >= ((i - hole) & mask)) {
      store<u64>(buckets + (<usize>hole << 3), entry);
      hole = i;
    }
  }
  store<u64>(buckets + (<usize>hole << 3), 0);
}

/** The home bucket of a record's key, whatever is in it. */
@inline
export function peekBucket(table: usize, record: usize): u64 {
  return load<u64>(<usize>load<u32>(table, T_BUCKETS) + (<usize>(load<u32>(record, R_HASH) & load<u32>(table, T_MASK)) << 3));
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
