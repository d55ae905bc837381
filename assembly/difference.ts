// The difference of a text from another one that is like it, its base: how many bytes to copy from
// the base and which to write, in turn.
//
//   difference   |copied|written|…   until the text is complete; numbers have seven bits to a byte
//   written      number: bit 0: the base is left by another count than was written: the difference
//                of the counts follows, with its sign in the lowest bit; bit 1: an earlier write is
//                repeated; the upper bits: how many writes before, or how many bytes follow
//
// Texts are JSON. Where they differ, both go on behind that value; if they are not equal there, the
// base is searched for what follows a quote in the text. In a long string both go on where they are
// equal again, if that is near, or at its common end.
//
// The host reads this format too: bindings/cache/bytes/packed-copy.ts.
//
// Raw loads and stores: bytes and SIMD registers of the texts, and the tables of the search, u16.

import { equalBytes } from "./match-known";
import { wordAt } from "./memory";

/** Longer texts have no difference: positions in a base are u16. */
export const MOST_TEXT: u32 = 32 << 10;
/** How many bytes behind the end of a text or a difference may be read and written. */
export const BEHIND: u32 = 64;

const WINDOW: u32 = 16; // bytes that a search compares
const MOST_QUOTES: u32 = 2048;
const HEADS: u32 = 1024;
const LOOKS: u32 = 16; // places that a search compares
const MOST_WRITTEN: u32 = 256; // writes that can be repeated
const REPEATS: u32 = 24; // last writes that are compared
const LONG: u32 = 64; // bytes of a value from which on it is searched for where it is equal again
const NEAR: u32 = 16; // bytes that may be more or fewer there
const FURTHEST: u32 = 1024;

const heads: usize = memory.data(1024 << 1, 16); // quote + 1 by hash of its window
const nexts: usize = memory.data(2048 << 1, 16); // quote + 1 behind it with the same hash
const quotes: usize = memory.data(2048 << 1, 16); // offset in the base
let indexed: u32 = 0; // key of the base whose quotes stand there; 0: none

/** A write: |at u32|bytes u32|. */
@unmanaged
class Written {
  at: usize;
  bytes: u32;
}

const written: usize = memory.data(256 << 3, 16);

@inline
function writtenAt(index: u32): Written {
  return changetype<Written>(written + (<usize>index << 3));
}

/** The base of a key was freed. */
export function forgetIndexed(key: u32): void {
  if (indexed == key) indexed = 0;
}

/** Writes a number, and answers where it ends. */
export function putNumber(p: usize, number: u32): usize {
  while (number > 0x7f) {
    store<u8>(p++, number | 0x80);
    number >>= 7;
  }
  store<u8>(p, number);
  return p + 1;
}

/** Where the number ends that restOf read. */
let numberEnd: usize = 0;

/** A number whose first byte, before `p`, says that there are more. */
function restOf(first: u32, p: usize): u32 {
  let number = first & 0x7f;
  for (let shift: u32 = 7; shift < 32; shift += 7) {
    const c = <u32>load<u8>(p++);
    number |= (c & 0x7f) << shift;
    if (c < 0x80) break;
  }
  numberEnd = p;
  return number;
}

@inline
function signed(number: u32): i32 {
  return <i32>(number >> 1) ^ -<i32>(number & 1);
}

@inline
function unsigned(number: i32): u32 {
  return (number << 1) ^ (number >> 31);
}

// ---- words, such as spans: of each, how much more it grows from the one before than in the base

/** Writes the difference of words from as many words of a base, and answers where it ends. */
export function putWords(base: usize, words: usize, count: u32, to: usize): usize {
  let before: u32 = 0, baseBefore: u32 = 0, same: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const word = wordAt(words, i), baseWord = wordAt(base, i);
    const more = <i32>(word - before - (baseWord - baseBefore));
    before = word;
    baseBefore = baseWord;
    if (more == 0) {
      same++;
      continue;
    }
    to = putNumber(putNumber(to, same), unsigned(more));
    same = 0;
  }
  return putNumber(to, same);
}

/** Writes the words by their difference from those of a base; answers where it ends. */
export function takeWords(base: usize, words: usize, count: u32, p: usize): usize {
  let word: u32 = 0, baseBefore: u32 = 0, i: u32 = 0;
  while (true) {
    let same = <u32>load<u8>(p++);
    if (same > 0x7f) {
      same = restOf(same, p);
      p = numberEnd;
    }
    for (; same != 0 && i < count; same--, i++) {
      const baseWord = wordAt(base, i);
      word += baseWord - baseBefore;
      baseBefore = baseWord;
      store<u32>(words + (<usize>i << 2), word);
    }
    if (i >= count) return p;
    const baseWord = wordAt(base, i);
    let more = <u32>load<u8>(p++);
    if (more > 0x7f) {
      more = restOf(more, p);
      p = numberEnd;
    }
    word += baseWord - baseBefore + signed(more);
    baseBefore = baseWord;
    store<u32>(words + (<usize>i << 2), word);
    i++;
  }
}

// ---- the search

@inline
function hashAt(p: usize): u32 {
  const a = load<u64>(p) * 0x9e3779b97f4a7c15;
  const b = load<u64>(p, 8) * 0xc2b2ae3d27d4eb4f;
  return <u32>((a ^ ((b >> 32) | (b << 32))) >> 54);
}

@inline
function quotesIn(p: usize): i32 {
  return i8x16.bitmask(i8x16.eq(v128.load(p), i8x16.splat(0x22)));
}

function indexBase(base: usize, bytes: u32, key: u32): void {
  indexed = key;
  let count: u32 = 0;
  for (let at: u32 = 0; at + 2 * WINDOW <= bytes; at += 16) {
    let found = quotesIn(base + at);
    while (found != 0 && count < MOST_QUOTES) {
      store<u16>(quotes + (<usize>(count++) << 1), at + ctz(found));
      found &= found - 1;
    }
  }
  memory.fill(heads, 0, HEADS << 1);
  while (count != 0) {
    const offset = <usize>load<u16>(quotes + (<usize>(count - 1) << 1));
    const head = heads + (<usize>hashAt(base + offset) << 1);
    store<u16>(nexts + (<usize>(count - 1) << 1), load<u16>(head));
    store<u16>(head, count--);
  }
}

/** The first place in the base from `from` on with the window at `p`, else one before; or 0. */
@inline
function find(base: usize, bytes: u32, from: usize, p: usize): usize {
  let found: usize = 0;
  let quote = <u32>load<u16>(heads + (<usize>hashAt(p) << 1));
  for (let looks = LOOKS; quote != 0 && looks != 0; looks--) {
    const offset = <u32>load<u16>(quotes + (<usize>(quote - 1) << 1));
    const at = base + offset;
    if (
      offset + WINDOW <= bytes && !v128.any_true(v128.xor(v128.load(at), v128.load(p)))
    ) {
      found = at;
      if (at >= from) break;
    }
    quote = <u32>load<u16>(nexts + (<usize>(quote - 1) << 1));
  }
  return found;
}

/** The first quote, comma or closing bracket from `p` on, at `end` at most. */
@inline
function valueEnd(p: usize, end: usize): usize {
  while (p < end) {
    const v = v128.load(p);
    const folded = v128.or(v, i8x16.splat(0x20)); // ] becomes }
    const found = i8x16.bitmask(
      v128.or(
        v128.or(i8x16.eq(v, i8x16.splat(0x22)), i8x16.eq(v, i8x16.splat(0x2c))),
        i8x16.eq(folded, i8x16.splat(0x7d)),
      ),
    );
    if (found != 0) return min(p + ctz(found), end);
    p += 16;
  }
  return end;
}

/** Where in the text the place is that near answers. */
let nearText: usize = 0;

/**
 * Where the base goes on as the text does behind a difference in a long value: at a window that is
 * 32, 128 or 512 bytes behind it in the text, and up to NEAR bytes before or behind that in the
 * base. 0: nowhere.
 */
function near(a: usize, aEnd: usize, b: usize, bEnd: usize): usize {
  for (let behind: usize = 2 * NEAR; behind <= FURTHEST; behind <<= 2) {
    const p = b + behind, middle = a + behind;
    if (p + WINDOW > bEnd || middle + NEAR + WINDOW > aEnd) break;
    const window = v128.load(p);
    for (let i: usize = 0; i <= NEAR; i++) {
      const after = !v128.any_true(v128.xor(v128.load(middle + i), window));
      if (after || !v128.any_true(v128.xor(v128.load(middle - i), window))) {
        nearText = p;
        return after ? middle + i : middle - i;
      }
    }
  }
  return 0;
}

/** Which of the last writes has the same bytes, counted back from the last; -1: none. */
@inline
function repeated(p: usize, bytes: u32, count: u32): i32 {
  const last = <i32>count - 1;
  const first = max(last - <i32>REPEATS, -1);
  for (let i = last; i > first; i--) {
    const one = writtenAt(i);
    if (one.bytes != bytes) continue;
    let at: u32 = 0;
    while (at < bytes && load<u8>(one.at + at) == load<u8>(p + at)) at++;
    if (at == bytes) return last - i;
  }
  return -1;
}

/**
 * Writes the difference of a text from a base, and answers where it ends; 0: it has more than
 * `most` bytes. BEHIND the end of each text may be read.
 *
 * @param key of the base, for its index; not 0
 */
export function differ(
  base: usize, baseBytes: u32, key: u32, text: usize, bytes: u32, to: usize, most: u32,
): usize {
  const baseEnd = base + baseBytes, end = text + bytes, last = to + most;
  let a = base, b = text;
  let count: u32 = 0;
  while (true) {
    const equal = equalBytes(a, b, min(baseEnd - a, end - b));
    a += equal;
    b += equal;
    if (to + 16 > last) return 0;
    to = putNumber(to, <u32>equal);
    if (b == end) return to;
    let nextB = valueEnd(b, min(end, b + LONG));
    let nextA: usize = 0;
    let isSearched = false;
    if (nextB == b + LONG) {
      nextA = near(a, baseEnd, b, end);
      nextB = nextA != 0 ? nearText : valueEnd(nextB, end);
    }
    if (nextA == 0) nextA = valueEnd(a, baseEnd);
    if (
      nextA + 8 > baseEnd || nextB + 8 > end || load<u64>(nextA) != load<u64>(nextB)
    ) {
      if (indexed != key) indexBase(base, baseBytes, key);
      nextA = a;
      nextB = end;
      const furthest = min(end - WINDOW, b + (last - to));
      for (let p = b; p <= furthest; p += 16) {
        let found = quotesIn(p);
        let at: usize = 0;
        while (found != 0) {
          const quote = p + ctz(found);
          if (quote <= furthest) at = find(base, baseBytes, a, quote);
          if (at != 0) {
            nextA = at;
            nextB = quote;
            break;
          }
          found &= found - 1;
        }
        if (at != 0) break;
      }
      isSearched = nextB != end;
    }
    if (isSearched || nextB - b >= 2 * NEAR) {
      const first = isSearched ? base : a;
      while (nextB > b && nextA > first && load<u8>(nextB - 1) == load<u8>(nextA - 1)) {
        nextA--;
        nextB--;
      }
    }
    const wrote = <u32>(nextB - b);
    if (to + wrote + 16 > last) return 0;
    const skip = <i32>(nextA - a) - <i32>wrote;
    const again = wrote < 3 ? -1 : repeated(b, wrote, count);
    const number = (<u32>(again < 0 ? wrote : again) << 2) | (<u32>(again >= 0) << 1);
    to = putNumber(to, number | <u32>(skip != 0));
    if (skip != 0) to = putNumber(to, unsigned(skip));
    if (again < 0) {
      memory.copy(to, b, wrote);
      to += wrote;
      if (count < MOST_WRITTEN) {
        const one = writtenAt(count++);
        one.at = b;
        one.bytes = wrote;
      }
    }
    a = nextA;
    b = nextB;
    if (b == end) return to;
  }
}

/** Copies by 16 bytes: up to 15 more are read and written. */
@inline
function copyOver(to: usize, from: usize, bytes: u32): void {
  for (let i: usize = 0; i < bytes; i += 16) v128.store(to + i, v128.load(from + i));
}

/**
 * Writes a text of `bytes` bytes by its difference from a base. Traps on a malformed difference.
 * Up to BEHIND bytes behind the text may be written.
 */
export function restore(difference: usize, base: usize, to: usize, bytes: u32): void {
  const end = to + bytes;
  let p = difference, a = base;
  let count: u32 = 0;
  while (true) {
    let copied = <u32>load<u8>(p++);
    if (copied > 0x7f) {
      copied = restOf(copied, p);
      p = numberEnd;
    }
    if (copied > <u32>(end - to)) unreachable();
    copyOver(to, a, copied);
    a += copied;
    to += copied;
    if (to == end) return;
    let number = <u32>load<u8>(p++);
    if (number > 0x7f) {
      number = restOf(number, p);
      p = numberEnd;
    }
    let skip: u32 = 0;
    if (number & 1) {
      skip = <u32>load<u8>(p++);
      if (skip > 0x7f) {
        skip = restOf(skip, p);
        p = numberEnd;
      }
    }
    let wrote = number >> 2;
    let from = p;
    if (number & 2) {
      if (wrote >= count) unreachable();
      const one = writtenAt(count - 1 - wrote);
      from = one.at;
      wrote = one.bytes;
    } else p += wrote;
    if (wrote > <u32>(end - to)) unreachable();
    copyOver(to, from, wrote);
    if ((number & 2) == 0 && count < MOST_WRITTEN) {
      const one = writtenAt(count++);
      one.at = to;
      one.bytes = wrote;
    }
    a += wrote + signed(skip);
    to += wrote;
    if (to == end) return;
  }
}

/**
 * A number that two texts of at least 16 bytes share by chance once in 2^32 times: sums, and sums
 * of sums, of the words in 16 columns. Words of 32 bits alone, as the host computes it too.
 */
export function checkOf(p: usize, bytes: u32): u32 {
  const last = p + bytes - 16;
  let a = i32x4.splat(bytes), b = a, c = a, d = a;
  let a2 = a, b2 = a, c2 = a, d2 = a;
  for (; p + 48 <= last; p += 64) {
    a = i32x4.add(a, v128.load(p));
    b = i32x4.add(b, v128.load(p, 16));
    c = i32x4.add(c, v128.load(p, 32));
    d = i32x4.add(d, v128.load(p, 48));
    a2 = i32x4.add(a2, a);
    b2 = i32x4.add(b2, b);
    c2 = i32x4.add(c2, c);
    d2 = i32x4.add(d2, d);
  }
  for (; p < last; p += 16) {
    a = i32x4.add(a, v128.load(p));
    a2 = i32x4.add(a2, a);
  }
  a2 = i32x4.add(i32x4.add(a2, a), v128.load(last));
  const v = mixed(mixed(mixed(mixed(i32x4.splat(0), a, a2), b, b2), c, c2), d, d2);
  return (
    i32x4.extract_lane(v, 0) ^ rotl<u32>(i32x4.extract_lane(v, 1), 8) ^
    rotl<u32>(i32x4.extract_lane(v, 2), 16) ^ rotl<u32>(i32x4.extract_lane(v, 3), 24)
  );
}

@inline
function mixed(before: v128, sum: v128, sums: v128): v128 {
  let v = i32x4.mul(v128.xor(before, sum), i32x4.splat(0x9e3779b1));
  v = v128.xor(v, i32x4.shr_u(v, 15));
  v = i32x4.mul(v128.xor(v, sums), i32x4.splat(0x85ebca77));
  return v128.xor(v, i32x4.shr_u(v, 13));
}
