// The grammar of JSON (RFC 8259) over bytes, checked to the last one: it refuses what JSON.parse
// refuses.
//
// A skip takes the address of what it skips and answers the address behind it, or 0; then the
// report has the reason and the place (report.ts). The end of the bytes is a zero byte, which no
// rule accepts. So a document that ends too early fails at that byte or, in a literal or a
// character, within the SHORT bytes before it.
//
// Raw loads: single bytes, words and SIMD registers of the text.

import { BAD_GRAMMAR, BAD_UTF8, TOO_DEEP } from "./abi";
import { report } from "./report";

export const SHORT: usize = 4;
const DEEPEST: u32 = 10000; // apimachinery: util/json

let lenient: bool = false;
let deepest: u32 = DEEPEST;
// u8 by depth: whether the container around is an object
const stack: usize = memory.data(10240, 16);

const TAB: u32 = 0x09;
const LF: u32 = 0x0a;
const CR: u32 = 0x0d;
const SPACE: u32 = 0x20;
export const QUOTE: u32 = 0x22;
export const COMMA: u32 = 0x2c;
export const COLON: u32 = 0x3a;
export const OPEN_BRACKET: u32 = 0x5b;
export const BACKSLASH: u32 = 0x5c;
export const CLOSE_BRACKET: u32 = 0x5d;
export const OPEN_BRACE: u32 = 0x7b;
export const CLOSE_BRACE: u32 = 0x7d;

/** Limits how deep documents may nest; at most DEEPEST. */
export function jsonDepth(levels: u32): void {
  deepest = min(levels, DEEPEST);
}

/** Whether a value in so many containers may not be a container itself. */
@inline
export function isTooDeep(around: u32): bool {
  return around >= deepest;
}

/**
 * Passes over bytes that are not UTF-8: for text that the host decodes, whose decoder replaces
 * them.
 */
export function setLenient(on: bool): void {
  lenient = on;
}

/** Notes why and where a skip ends; answers 0. */
export function fail(why: u32, at: usize): usize {
  report.failure = why;
  report.failureAt = at;
  return 0;
}

@inline
export function isSpace(c: u32): bool {
  return c == SPACE || c == LF || c == TAB || c == CR;
}

@inline
export function skipSpace(p: usize): usize {
  while (isSpace(load<u8>(p))) p++;
  return p;
}

@inline
function isContinuation(c: u32): bool {
  return (c & 0xc0) == 0x80;
}

/** One character of two to four bytes, by the table of well-formed sequences in Unicode 3.9. */
function skipCharacter(p: usize): usize {
  const a = <u32>load<u8>(p), b = <u32>load<u8>(p, 1);
  if (a < 0xc2) return fail(BAD_UTF8, p);
  if (a < 0xe0) return isContinuation(b) ? p + 2 : fail(BAD_UTF8, p);
  if (!isContinuation(b) || !isContinuation(<u32>load<u8>(p, 2))) return fail(BAD_UTF8, p);
  if (a < 0xf0) {
    return (a == 0xe0 && b < 0xa0) || (a == 0xed && b > 0x9f) ? fail(BAD_UTF8, p) : p + 3;
  }
  if (a > 0xf4 || (a == 0xf0 && b < 0x90) || (a == 0xf4 && b > 0x8f)) return fail(BAD_UTF8, p);
  return isContinuation(<u32>load<u8>(p, 3)) ? p + 4 : fail(BAD_UTF8, p);
}

@inline
function isHex(c: u32): bool {
  return c - 0x30 < 10 || (c | 0x20) - 0x61 < 6;
}

/**
 * Skips an escape or characters beyond ASCII in a string; refuses a control character.
 */
function skipUnusual(p: usize): usize {
  const c = <u32>load<u8>(p);
  if (c >= 0x80) {
    report.beyondAscii = true;
    do {
      const next = skipCharacter(p);
      if (next == 0 && !lenient) return 0;
      p = next == 0 ? p + 1 : next;
    } while (load<u8>(p) >= 0x80);
    return p;
  }
  if (c != BACKSLASH) return fail(BAD_GRAMMAR, p);
  report.escaped = true;
  const e = <u32>load<u8>(p, 1);
  if (e == 0x75) {
    for (let i: usize = 2; i < 6; i++) {
      if (!isHex(<u32>load<u8>(p + i))) return fail(BAD_GRAMMAR, p + i);
    }
    return p + 6;
  }
  // " \ / b f n r t
  if (
    e == QUOTE || e == BACKSLASH || e == 0x2f || e == 0x62 || e == 0x66 || e == 0x6e ||
    e == 0x72 || e == 0x74
  ) return p + 2;
  return fail(BAD_GRAMMAR, p + 1);
}

/**
 * A string, from behind its opening quote. One signed comparison finds control characters and all
 * beyond ASCII.
 */
@inline
export function skipString(p: usize): usize {
  while (true) {
    const v = v128.load(p);
    const m = i8x16.bitmask(
      v128.or(
        v128.or(i8x16.eq(v, i8x16.splat(0x22)), i8x16.eq(v, i8x16.splat(0x5c))),
        i8x16.lt_s(v, i8x16.splat(0x20)),
      ),
    );
    if (m == 0) {
      p += 16;
      continue;
    }
    p += ctz(m);
    if (load<u8>(p) == QUOTE) return p + 1;
    p = skipUnusual(p);
    if (p == 0) return 0;
  }
}

@inline
function isDigit(c: u32): bool {
  return c - 0x30 < 10;
}

function skipNumber(p: usize): usize {
  if (load<u8>(p) == 0x2d) p++;
  let c = <u32>load<u8>(p);
  if (c == 0x30) p++;
  else {
    if (!isDigit(c)) return fail(BAD_GRAMMAR, p);
    while (isDigit(<u32>load<u8>(p))) p++;
  }
  if (load<u8>(p) == 0x2e) {
    p++;
    if (!isDigit(<u32>load<u8>(p))) return fail(BAD_GRAMMAR, p);
    while (isDigit(<u32>load<u8>(p))) p++;
  }
  c = <u32>load<u8>(p);
  if ((c | 0x20) == 0x65) {
    p++;
    c = <u32>load<u8>(p);
    if (c == 0x2b || c == 0x2d) p++;
    if (!isDigit(<u32>load<u8>(p))) return fail(BAD_GRAMMAR, p);
    while (isDigit(<u32>load<u8>(p))) p++;
  }
  return p;
}

/** A number, true, false or null. */
export function skipScalar(p: usize): usize {
  const word = load<u32>(p);
  if (word == 0x65757274 || word == 0x6c6c756e) return p + 4;
  if (word == 0x736c6166 && load<u8>(p, 4) == 0x65) return p + 5;
  return skipNumber(p);
}

/** A member's name and colon; answers where its value begins. */
@inline
function skipName(p: usize): usize {
  if (load<u8>(p) != QUOTE) return fail(BAD_GRAMMAR, p);
  p = skipString(p + 1);
  if (p == 0) return 0;
  let c = <u32>load<u8>(p);
  if (c != COLON) {
    p = skipSpace(p);
    c = <u32>load<u8>(p);
    if (c != COLON) return fail(BAD_GRAMMAR, p);
  }
  return skipSpace(p + 1);
}

/** Any value, which lies in `around` containers. */
export function skipValue(p: usize, around: u32): usize {
  let depth: u32 = 0;
  let inObject = false;
  while (true) {
    let c = <u32>load<u8>(p);
    if (c == QUOTE) {
      p = skipString(p + 1);
      if (p == 0) return 0;
    } else if (c == OPEN_BRACE || c == OPEN_BRACKET) {
      if (isTooDeep(around + depth)) return fail(TOO_DEEP, p);
      const isObject = c == OPEN_BRACE;
      p = skipSpace(p + 1);
      if (load<u8>(p) == c + 2) p++; // empty: } and ] are two behind { and [
      else {
        store<u8>(stack + depth, <u32>inObject);
        depth++;
        inObject = isObject;
        if (isObject) {
          p = skipName(p);
          if (p == 0) return 0;
        }
        continue;
      }
    } else {
      p = skipScalar(p);
      if (p == 0) return 0;
    }
    while (true) {
      if (depth == 0) return p;
      c = <u32>load<u8>(p);
      if (c <= SPACE) {
        p = skipSpace(p);
        c = <u32>load<u8>(p);
      }
      if (c == COMMA) {
        p = skipSpace(p + 1);
        if (inObject) {
          p = skipName(p);
          if (p == 0) return 0;
        }
        break;
      }
      if (c != (inObject ? CLOSE_BRACE : CLOSE_BRACKET)) return fail(BAD_GRAMMAR, p);
      p++;
      depth--;
      inObject = load<u8>(stack + depth) != 0;
    }
  }
}
