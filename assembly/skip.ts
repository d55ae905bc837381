// Skips values of a document that is known to be valid JSON. No grammar is checked here (json.ts
// has done that), so what is skipped must be complete, and 64 bytes behind its end must be
// readable.
//
// Objects and arrays are skipped 64 bytes at a time by bit masks: which bytes are escaped, which
// quotes are left, what lies between them (a prefix sum of exclusive ors), and which brackets lie
// outside, as in simdjson (Langdale and Lemire 2019).
//
// Raw loads: bytes and SIMD registers of the text.

const ODD: u64 = 0xaaaaaaaaaaaaaaaa;

/** From behind the opening quote to the closing one. */
@inline
export function skipText(p: usize): usize {
  while (true) {
    const v = v128.load(p);
    const quotes = i8x16.eq(v, i8x16.splat(0x22)), backslashes = i8x16.eq(v, i8x16.splat(0x5c));
    const m = i8x16.bitmask(v128.or(quotes, backslashes));
    if (m == 0) {
      p += 16;
      continue;
    }
    p += ctz(m);
    if (load<u8>(p) == 0x22) return p;
    p += 2;
  }
}

/** The same, but 0 when there is a backslash. */
@inline
export function skipPlainText(p: usize): usize {
  while (true) {
    const v = v128.load(p);
    const quotes = i8x16.eq(v, i8x16.splat(0x22)), backslashes = i8x16.eq(v, i8x16.splat(0x5c));
    const m = i8x16.bitmask(v128.or(quotes, backslashes));
    if (m == 0) {
      p += 16;
      continue;
    }
    p += ctz(m);
    return load<u8>(p) == 0x22 ? p : 0;
  }
}

@inline
function mask(a: v128, b: v128, c: v128, d: v128, byte: i8): u64 {
  const v = i8x16.splat(byte);
  const low = <u32>i8x16.bitmask(i8x16.eq(a, v)) | (<u32>i8x16.bitmask(i8x16.eq(b, v)) << 16);
  const high = <u32>i8x16.bitmask(i8x16.eq(c, v)) | (<u32>i8x16.bitmask(i8x16.eq(d, v)) << 16);
  return <u64>low | (<u64>high << 32);
}

/** From behind an opening bracket or brace to behind the one that closes it. */
function skipInside(p: usize): usize {
  const letterCase = i8x16.splat(0x20); // makes [ and ] equal { and }
  let depth: u32 = 1;
  let inText: u64 = 0; // all ones while a string began in an earlier block
  let escapes: u64 = 0; // 1: the first byte is escaped by the last one of the block before
  while (true) {
    const a = v128.load(p), b = v128.load(p, 16), c = v128.load(p, 32), d = v128.load(p, 48);
    let quotes = mask(a, b, c, d, 0x22);
    const backslashes = mask(a, b, c, d, 0x5c);
    if ((backslashes | escapes) != 0) {
      // A run of backslashes escapes each second byte from its first on: a sum carries from the
      // starts of runs to their ends, at odd or even places.
      const free = backslashes & ~escapes;
      const follows = (free << 1) | escapes;
      const starts = free & ODD & ~follows;
      const sum = starts + free;
      escapes = <u64>(sum < starts);
      quotes &= ~((0x5555555555555555 ^ (sum << 1)) & follows);
    }
    let text = quotes;
    text ^= text << 1;
    text ^= text << 2;
    text ^= text << 4;
    text ^= text << 8;
    text ^= text << 16;
    text ^= text << 32;
    text ^= inText;
    inText = <u64>(<i64>text >> 63);
    const e = v128.or(a, letterCase), f = v128.or(b, letterCase);
    const g = v128.or(c, letterCase), h = v128.or(d, letterCase);
    const opens = mask(e, f, g, h, 0x7b) & ~text;
    let closes = mask(e, f, g, h, 0x7d) & ~text;
    if (<u32>popcnt(closes) < depth) depth += <u32>popcnt(opens) - <u32>popcnt(closes);
    else {
      for (let closed: u32 = 1; closes != 0; closed++) {
        const at = ctz(closes);
        if (depth + <u32>popcnt(opens & ((<u64>1 << at) - 1)) == closed) return p + <usize>at + 1;
        closes &= closes - 1;
      }
      depth += <u32>popcnt(opens) - <u32>popcnt(mask(e, f, g, h, 0x7d) & ~text);
    }
    p += 64;
  }
}

@inline
export function skipSpaces(p: usize): usize {
  while (load<u8>(p) <= 0x20) p++;
  return p;
}

/** From a value's first byte to behind its last. */
@inline
export function skipAny(p: usize): usize {
  const c = <u32>load<u8>(p);
  if (c == 0x22) return skipText(p + 1) + 1;
  if ((c | 0x20) == 0x7b) return skipInside(p + 1);
  // A number or a word ends in front of what separates values: white space , ] or }
  let d: u32;
  do {
    p++;
    d = <u32>load<u8>(p);
  } while (d > 0x20 && d != 0x2c && (d | 0x20) != 0x7d);
  return p;
}
