// Skips a value by comparing it with one that was checked before. Where two values differ only
// within strings, numbers and words, the grammar around these is the same: equal bytes are compared
// and only the rest is checked. Most updates change no more: a time, a counter, the name of a node.
//
// Invariant: an answer other than 0 is where skipValue would have ended, and skipValue would have
// accepted the value.
//
// Raw loads: bytes and SIMD registers of the two texts.

import { BACKSLASH, QUOTE, skipScalar } from "./json";

/** How many of the first `most` bytes are equal. */
@inline
export function equalBytes(a: usize, b: usize, most: usize): usize {
  let n: usize = 0;
  for (; n + 64 <= most; n += 64) {
    const p = a + n, q = b + n;
    const first = v128.or(
      v128.xor(v128.load(p), v128.load(q)),
      v128.xor(v128.load(p, 16), v128.load(q, 16)),
    );
    const second = v128.or(
      v128.xor(v128.load(p, 32), v128.load(q, 32)),
      v128.xor(v128.load(p, 48), v128.load(q, 48)),
    );
    if (v128.any_true(v128.or(first, second))) break;
  }
  for (; n + 16 <= most; n += 16) {
    const same = i8x16.bitmask(i8x16.eq(v128.load(a + n), v128.load(b + n)));
    if (same != 0xffff) return n + ctz(~same);
  }
  while (n < most && load<u8>(a + n) == load<u8>(b + n)) n++;
  return n;
}

/**
 * Whether `to` lies in a string, if what is from `p` to there is JSON and begins in one or not. No
 * escape may reach over `to`.
 */
function endsInText(p: usize, to: usize, inText: bool): bool {
  let quotes: i32 = <i32>inText;
  while (p < to) {
    if (to - p >= 64) {
      const a = v128.load(p), b = v128.load(p, 16), c = v128.load(p, 32), d = v128.load(p, 48);
      const backslash = i8x16.splat(0x5c), quote = i8x16.splat(0x22);
      const escapes = v128.or(
        v128.or(i8x16.eq(a, backslash), i8x16.eq(b, backslash)),
        v128.or(i8x16.eq(c, backslash), i8x16.eq(d, backslash)),
      );
      if (!v128.any_true(escapes)) {
        // Each lane counts down by one for a quote, four at most; only the parity of the sum is
        // used.
        const counts = i8x16.add(
          i8x16.add(i8x16.eq(a, quote), i8x16.eq(b, quote)),
          i8x16.add(i8x16.eq(c, quote), i8x16.eq(d, quote)),
        );
        quotes += popcnt(i8x16.bitmask(i8x16.shl(counts, 7)));
        p += 64;
        continue;
      }
    }
    const v = v128.load(p);
    const within: i32 = to - p >= 16 ? 0xffff : (1 << <i32>(to - p)) - 1;
    if ((i8x16.bitmask(i8x16.eq(v, i8x16.splat(0x5c))) & within) == 0) {
      quotes += popcnt(i8x16.bitmask(i8x16.eq(v, i8x16.splat(0x22))) & within);
      p += 16;
      continue;
    }
    const stop = min(p + 16, to);
    while (p < stop) {
      const c = <u32>load<u8>(p);
      if (c == QUOTE) quotes++;
      p += c == BACKSLASH ? 2 : 1;
    }
  }
  return (quotes & 1) != 0;
}

/** The closing quote of a string of which the rest is ASCII without escapes, or 0. */
@inline
function plainEnd(p: usize): usize {
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
    return load<u8>(p) == QUOTE ? p : 0;
  }
}

/**
 * Whether a place in a string may lie in an escape. In a character it cannot, if what follows is
 * ASCII in a text that is UTF-8.
 */
@inline
function mayBeInEscape(p: usize): bool {
  for (let i: usize = 1; i < 6; i++) if (load<u8>(p - i) == BACKSLASH) return true;
  return false;
}

@inline
function isOfNumber(c: u32): bool {
  return c - 0x30 < 10 || c == 0x2d || c == 0x2b || c == 0x2e || (c | 0x20) == 0x65;
}

/**
 * Where an object or array ends that matches the checked one from `known` to `knownEnd`; 0: it has
 * to be checked. Bytes from `limit` on have not come yet; the first of them is 0.
 */
export function endOfMatching(known: usize, knownEnd: usize, value: usize, limit: usize): usize {
  let a = known, b = value;
  let from = known; // up to here it is known whether one is in a string
  let inText = false;
  while (b < limit) {
    const most = min(knownEnd - a, limit - b);
    const equal = equalBytes(a, b, most);
    a += equal;
    b += equal;
    if (a == knownEnd) return b;
    if (equal == most || a == from) return 0; // not all there, or no further than before
    inText = endsInText(from, a, inText);
    if (inText) {
      if (mayBeInEscape(a)) return 0;
      a = plainEnd(a);
      if (a == 0) return 0;
      b = plainEnd(b);
      if (b == 0) return 0;
    } else {
      // Of words the first letter differs, of numbers any digit may.
      while (isOfNumber(<u32>load<u8>(a - 1))) {
        a--;
        b--;
      }
      a = skipScalar(a);
      if (a == 0) return 0;
      b = skipScalar(b);
      if (b == 0) return 0;
    }
    from = a;
  }
  return 0;
}
