// The key that is being looked up: reading it out of the engine's strings, its hash, and comparing
// it with the keys that records hold.
//
// Hash and equality are over UTF-16 code units, so lone surrogates stay apart and no two keys
// merge. Keys whose units all fit a byte are kept one byte a unit, others two; a key has exactly
// one form.
//
// The hash folds a 32 × 32 → 64 multiplication whose factors both depend on a secret: tenants
// choose object names, and how a difference between two keys spreads cannot be predicted without
// the seed.
//
// Raw loads and stores: the units of a key, in words of eight bytes.

import { blockAlloc, blockFree, blockSize } from "./memory";
import {
  EXTERNAL, INLINE_BYTES, WIDE, WIDE_SHIFT, KeyText, Table, inlineKey,
} from "./record";

@external("wasm:js-string", "length")
declare function stringLength(text: externref): i32;
@external("wasm:js-string", "charCodeAt")
declare function charCodeAt(text: externref, index: i32): i32;

// code units of a part: twice two of them and the padding still fit an address; engines end at
// about 2^29
export const LONGEST: u32 = 0x1fffffff;

/** The buffer for the bytes of the key that was read last, and its size. */
export let scratch: usize = memory.data(1024, 64);
export let scratchBytes: u32 = 1024;

/**
 * A key that was read: its hash in the lower half, its form (KeyText.form) in the upper half; or
 * UNREAD. Its bytes lie at `scratch`, followed by at least eight zero bytes. As the value of a call
 * it stays in registers: a record in memory made a queue cycle of a fresh key 3 % slower.
 */
export type ReadKey = u64;
export const UNREAD: ReadKey = ~0; // there was no memory to read the key

/** UTF-16 code units of the key that was read last, if it is EXTERNAL; else its form has them. */
export let longKeyUnits: u32 = 0;

@inline
function fold(hash: u64, word: u64, secret: u64): u64 {
  const mixed = hash ^ word;
  return ((mixed & 0xffffffff) * (mixed >> 32)) ^ rotl(mixed, 25) ^ secret;
}

/**
 * All units of the narrow reading, or-ed together: beside the word that is read, a second result of
 * four inlined calls. In a record each of them takes 6 bytes more (320 in the module of queues).
 */
let seenUnits: u32 = 0;

@inline
function fourUnits(text: externref, i: i32): u32 {
  const a = charCodeAt(text, i), b = charCodeAt(text, i + 1);
  const c = charCodeAt(text, i + 2), d = charCodeAt(text, i + 3);
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
 * Reads a part one byte a unit, in words of eight, of which the last one overlaps the one before.
 * Wrong when seenUnits ends above 0xff: then everything is read again.
 *
 * The first words are written out, as a loop costs more than it saves: the engine finds out how a
 * string is stored once for all reads that the first one dominates, but anew in each loop that
 * begins without one.
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
      <u64>charCodeAt(text, i) | (<u64>charCodeAt(text, i + 1) << 16) |
      (<u64>charCodeAt(text, i + 2) << 32) | (<u64>charCodeAt(text, i + 3) << 48);
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

/** A scratch of so many bytes; what was in it is lost. False: no memory. */
export function growScratch(bytes: u32): bool {
  const block = blockAlloc(bytes);
  if (block == 0) return false;
  if (scratchBytes > 1024) blockFree(scratch, scratchBytes); // the first one is static
  scratch = block;
  scratchBytes = blockSize(bytes);
  return true;
}

@inline
function keyOfHash(hash: u64, units: u32, wide: bool): ReadKey {
  // The bucket index is the low bits: the last words' high bits must reach them.
  const mixed = (hash ^ (hash >> 32)) * 0x9fb21c651e98df25;
  let form = <u32>wide << WIDE_SHIFT;
  if (units << <u32>wide > INLINE_BYTES) {
    longKeyUnits = units;
    form |= EXTERNAL;
  } else form |= units;
  return (<u64>form << 32) | (mixed >> 32);
}

/** Reads a string key into the scratch. */
export function readKey(table: Table, text: externref): ReadKey {
  const units = stringLength(text);
  if (<u32>units > LONGEST) return UNREAD;
  if ((<u32>units << 1) + 16 > scratchBytes && !growScratch((<u32>units << 1) + 16)) return UNREAD;
  const seed = table.seed ^ <u64>units;
  const secret = table.secret;
  seenUnits = 0;
  let hash = readNarrow(text, units, scratch, seed, secret);
  const wide = seenUnits > 0xff;
  if (wide) hash = readWide(text, units, scratch, seed, secret);
  return keyOfHash(hash, units, wide);
}

/**
 * Makes a key of the units that lie at the scratch already, hashed word by word as readKey does.
 */
export function hashKept(table: Table, units: u32, wide: bool): ReadKey {
  const secret = table.secret;
  let hash = table.seed ^ <u64>units;
  if (wide) {
    const words = scratch + (<usize>(units & ~3) << 1);
    for (let at = scratch; at < words; at += 8) hash = fold(hash, load<u64>(at), secret);
    store<u64>(scratch + (<usize>units << 1), 0); // the tail is padded with zeros
    hash = fold(hash, load<u64>(words), secret);
  } else {
    let word: u64;
    if (units >= 8) {
      const last = scratch + units - 8;
      for (let at = scratch; at < last; at += 8) hash = fold(hash, load<u64>(at), secret);
      word = load<u64>(last);
    } else if (units >= 4) {
      word = <u64>load<u32>(scratch) | (<u64>load<u32>(scratch + units - 4) << 32);
    } else if (units > 0) {
      const a = <u32>load<u8>(scratch), b = <u32>load<u8>(scratch + (units >> 1));
      const c = <u32>load<u8>(scratch + units - 1);
      word = <u64>(a | (b << 8) | (c << 16));
    } else word = 0;
    store<u64>(scratch + units, 0);
    hash = fold(hash, word, secret);
  }
  return keyOfHash(hash, units, wide);
}

// Keys of 8 bytes and more are compared and copied in words, the last one overlapping; shorter ones
// are one padded word.
@inline
function bytesEqual(a: usize, b: usize, bytes: u32): bool {
  if (bytes < 8) return load<u64>(a) == load<u64>(b);
  const last = bytes - 8;
  for (let i: u32 = 0; i < last; i += 8) if (load<u64>(a + i) != load<u64>(b + i)) return false;
  return load<u64>(a + last) == load<u64>(b + last);
}

@inline
export function keyBytes(form: u32): u32 {
  return (form & EXTERNAL ? longKeyUnits : form & 0xff) << ((form >> WIDE_SHIFT) & 1);
}

/** Copies the key that was read last, of so many bytes. */
@inline
export function copyKey(to: usize, bytes: u32): void {
  const last: u32 = bytes < 8 ? 0 : bytes - 8;
  for (let i: u32 = 0; i < last; i += 8) store<u64>(to + i, load<u64>(scratch + i));
  store<u64>(to + last, load<u64>(scratch + last));
}

/** Whether a record has the key that was read last, whose form this is. */
@inline
export function isKey(key: KeyText, form: u32): bool {
  if (key.form != form) return false;
  let from = inlineKey(key);
  if (form & EXTERNAL) {
    if (key.units != longKeyUnits) return false;
    from = key.block;
  }
  return bytesEqual(from, scratch, keyBytes(form));
}
