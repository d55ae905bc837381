// Keys out of bytes: the content of a JSON string, in valid UTF-8, read into the scratch of text.ts
// as if the engine's string with the same code units had been read. So a key that came out of a
// document and the same key out of JavaScript are one key.
//
// Most content is ASCII without a backslash, which is copied eight bytes at a time. All other is
// decoded into code units, escapes and lone surrogates included, and kept one byte a unit when
// every unit fits.
//
// Raw loads and stores: bytes of the text and units of the key.

import { Table } from "./record";
import { LONGEST, ReadKey, UNREAD, growScratch, hashKept, scratch, scratchBytes } from "./text";

const ONES: u64 = 0x0101010101010101;
const HIGH: u64 = 0x8080808080808080;
const BACKSLASHES: u64 = 0x5c5c5c5c5c5c5c5c;

@inline
function isPlain(word: u64): bool {
  const backslash = word ^ BACKSLASHES;
  return ((((backslash - ONES) & ~backslash) | word) & HIGH) == 0;
}

/** Copies ASCII without a backslash; false when there is anything else: then write it again. */
@inline
function copyPlain(to: usize, from: usize, bytes: u32): bool {
  if (bytes >= 8) {
    const last = <usize>bytes - 8;
    for (let i: usize = 0; i < last; i += 8) {
      const word = load<u64>(from + i);
      if (!isPlain(word)) return false;
      store<u64>(to + i, word);
    }
    const word = load<u64>(from + last);
    store<u64>(to + last, word);
    return isPlain(word);
  }
  for (let i: u32 = 0; i < bytes; i++) {
    const byte = load<u8>(from + i);
    if (byte >= 0x80 || byte == 0x5c) return false;
    store<u8>(to + i, byte);
  }
  return true;
}

@inline
function hexDigit(c: u32): u32 {
  return (c & 0xf) + (c >> 6) * 9;
}

/** The unit that a backslash and this letter stand for; \u has been seen to. */
@inline
function unescaped(letter: u32): u32 {
  if (letter == 0x6e) return 0x0a;
  if (letter == 0x74) return 0x09;
  if (letter == 0x72) return 0x0d;
  if (letter == 0x62) return 0x08;
  if (letter == 0x66) return 0x0c;
  return letter; // " \ /
}

/** The bits of a continuation byte. */
@inline
function sixBits(from: usize, offset: usize): u32 {
  return <u32>load<u8>(from + offset) & 0x3f;
}

/**
 * Decodes into units of two bytes; answers where they end. There is never more than one unit a
 * byte.
 */
function decode(to: usize, from: usize, bytes: u32): usize {
  const end = from + bytes;
  while (from < end) {
    let unit = <u32>load<u8>(from);
    if (unit == 0x5c) {
      const letter = <u32>load<u8>(from, 1);
      if (letter == 0x75) {
        unit =
          (hexDigit(<u32>load<u8>(from, 2)) << 12) | (hexDigit(<u32>load<u8>(from, 3)) << 8) |
          (hexDigit(<u32>load<u8>(from, 4)) << 4) | hexDigit(<u32>load<u8>(from, 5));
        from += 6;
      } else {
        unit = unescaped(letter);
        from += 2;
      }
    } else if (unit < 0x80) from++;
    else if (unit < 0xe0) {
      unit = ((unit & 0x1f) << 6) | sixBits(from, 1);
      from += 2;
    } else if (unit < 0xf0) {
      unit = ((unit & 0xf) << 12) | (sixBits(from, 1) << 6) | sixBits(from, 2);
      from += 3;
    } else {
      const point =
        ((unit & 7) << 18) | (sixBits(from, 1) << 12) | (sixBits(from, 2) << 6) | sixBits(from, 3);
      store<u16>(to, 0xd7c0 + (point >> 10));
      to += 2;
      unit = 0xdc00 | (point & 0x3ff);
      from += 4;
    }
    store<u16>(to, unit);
    to += 2;
  }
  return to;
}

/**
 * The decoded units from the scratch's begin to `end`, one byte a unit where all of them fit, are
 * the key.
 */
function keepDecoded(table: Table, end: usize): ReadKey {
  const units = <u32>(end - scratch) >> 1;
  let seen: u32 = 0;
  for (let at = scratch; at < end; at += 2) seen |= <u32>load<u16>(at);
  const wide = seen > 0xff;
  if (!wide) {
    for (let i: u32 = 0; i < units; i++) {
      store<u8>(scratch + i, load<u8>(scratch + (<usize>i << 1)));
    }
  }
  return hashKept(table, units, wide);
}

@inline
function scratchReady(bytes: u32): bool {
  const room = (bytes << 1) + 16;
  return bytes <= LONGEST && (room <= scratchBytes || growScratch(room));
}

/** Reads the content of a JSON string, between its quotes, as a key. */
export function readBytes(table: Table, from: usize, bytes: u32): ReadKey {
  if (!scratchReady(bytes)) return UNREAD;
  if (copyPlain(scratch, from, bytes)) return hashKept(table, bytes, false);
  return keepDecoded(table, decode(scratch, from, bytes));
}

/** Reads two contents with an ASCII character between them as one key. */
export function readJoined(
  table: Table, first: usize, firstBytes: u32, between: u32, second: usize, secondBytes: u32,
): ReadKey {
  if (firstBytes > LONGEST || secondBytes > LONGEST) return UNREAD;
  if (!scratchReady(firstBytes + 1 + secondBytes)) return UNREAD;
  if (
    copyPlain(scratch, first, firstBytes) &&
    copyPlain(scratch + firstBytes + 1, second, secondBytes)
  ) {
    store<u8>(scratch + firstBytes, between);
    return hashKept(table, firstBytes + 1 + secondBytes, false);
  }
  const middle = decode(scratch, first, firstBytes);
  store<u16>(middle, between);
  return keepDecoded(table, decode(middle + 2, second, secondBytes));
}

/** Reads the key of an object: namespace/name, or the name alone when it has no namespace. */
export function readObjectKey(
  table: Table, namespace: usize, namespaceBytes: u32, name: usize, nameBytes: u32,
): ReadKey {
  return namespaceBytes == 0
    ? readBytes(table, name, nameBytes)
    : readJoined(table, namespace, namespaceBytes, 0x2f, name, nameBytes);
}
