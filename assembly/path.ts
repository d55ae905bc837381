// Index values by path, on the bytes of a document that is known to be valid JSON (64 bytes behind
// its end must be readable): the values that bindings/base/json-path.ts finds in the parsed
// document, or FALLBACK when the host has to decode it.
//
//   path      |names u32|, then of each name |bytes u32|UTF-8|, padded so that the next one begins
//             at a multiple of 4 and 16 bytes behind it may be read
//   values    of each |name u32|name bytes u32|content u32|content bytes u32|: spans of the
//             document; no name: 0
//
// A value's content is a string's between its quotes, escapes included, or the text of a number,
// true or false. With a name it is a member of an object at the path's end and stands for
// name=content, as selectors write labels.
//
// Of members with one name the last counts, as in JSON.parse. FALLBACK: an escape in a name that a
// path name may equal; a number that does not look in JSON as String() writes it; members of an
// object at the end beyond MOST_MEMBERS; arrays in arrays beyond DEEPEST.
//
// Raw loads: bytes, words and SIMD registers of the text and of a path's names.

import { FALLBACK, NO_MEMORY } from "./abi";
import { blockAlloc, blockFree, blockSize } from "./memory";
import { skipAny, skipPlainText, skipSpaces, skipText } from "./skip";

export const VALUE_BYTES: u32 = 16;

/** A value that was found; drawn at the top of the file. */
@unmanaged
export class PathValue {
  name: usize; // 0: none
  nameBytes: u32;
  content: usize;
  contentBytes: u32;
}

@inline
function valueAt(index: u32): PathValue {
  return changetype<PathValue>(values + index * VALUE_BYTES);
}

const MOST_MEMBERS: u32 = 64; // each is compared with all before it
const DEEPEST: u32 = 32;
const FIRST_BYTES: u32 = 1024;

let values: usize = memory.data(1024, 16);
let valuesBytes: u32 = FIRST_BYTES;
let count: u32 = 0;

/** Where the values lie that pathValues found last. */
export function pathList(): usize {
  return values;
}

/**
 * A block for a path of so many bytes, for the host to write it into, or 0; pathFree takes it back.
 */
export function pathNew(bytes: u32): usize {
  return blockAlloc(bytes);
}

export function pathFree(path: usize, bytes: u32): void {
  blockFree(path, bytes);
}

function push(name: usize, nameBytes: u32, content: usize, contentBytes: u32): bool {
  if ((count + 1) * VALUE_BYTES > valuesBytes) {
    const bytes = valuesBytes << 1;
    const larger = blockAlloc(bytes);
    if (larger == 0) return false;
    memory.copy(larger, values, valuesBytes);
    if (valuesBytes != FIRST_BYTES) blockFree(values, valuesBytes); // the first one is static
    values = larger;
    valuesBytes = blockSize(bytes);
  }
  const value = valueAt(count++);
  value.name = name;
  value.nameBytes = nameBytes;
  value.content = content;
  value.contentBytes = contentBytes;
  return true;
}

/**
 * Whether a number's text is what String() makes of it: an integer of at most 15 digits. Its
 * grammar is known to be right.
 */
function isPlainNumber(p: usize, bytes: u32): bool {
  let digits = bytes;
  if (load<u8>(p) == 0x2d) {
    if (bytes == 2 && load<u8>(p, 1) == 0x30) return false; // -0 is written 0
    p++;
    digits--;
  }
  if (digits > 15) return false;
  for (let i: u32 = 0; i < digits; i++) if (<u32>load<u8>(p + i) - 0x30 > 9) return false;
  return true;
}

/**
 * Adds a string, number or boolean; nothing for null, an object or an array. `end`: behind the
 * value.
 */
@inline
function pushScalar(name: usize, nameBytes: u32, p: usize, end: usize): i32 {
  const c = <u32>load<u8>(p);
  if (c == 0x22) return push(name, nameBytes, p + 1, <u32>(end - p) - 2) ? 0 : NO_MEMORY;
  if ((c | 0x20) == 0x7b || c == 0x6e) return 0;
  const bytes = <u32>(end - p);
  if (c != 0x74 && c != 0x66 && !isPlainNumber(p, bytes)) return FALLBACK;
  return push(name, nameBytes, p, bytes) ? 0 : NO_MEMORY;
}

/** `b` may be read for 16 bytes behind its end, as all of a document may. */
@inline
export function sameName(a: usize, b: usize, bytes: u32): bool {
  let left = bytes;
  while (left > 16) {
    if (i8x16.bitmask(i8x16.eq(v128.load(a), v128.load(b))) != 0xffff) return false;
    a += 16;
    b += 16;
    left -= 16;
  }
  const differ = ~<u32>i8x16.bitmask(i8x16.eq(v128.load(a), v128.load(b)));
  return (differ & (((<u32>1 << left) - 1) & 0xffff)) == 0;
}

/**
 * The value of the last member of this name, in the object that begins at `p`: where it begins in
 * the lower half, where it ends in the upper half; 0: there is none; 1: an escape in a name.
 */
function findMember(p: usize, name: usize, nameBytes: u32): u64 {
  let found: u64 = 0;
  p = skipSpaces(p + 1);
  while (load<u8>(p) != 0x7d) {
    const from = p + 1;
    const to = skipPlainText(from);
    if (to == 0) return 1;
    p = skipSpaces(skipSpaces(to + 1) + 1);
    const value = p;
    p = skipAny(p);
    if (<u32>(to - from) == nameBytes && sameName(from, name, nameBytes)) {
      found = <u64>value | (<u64>p << 32);
    }
    p = skipSpaces(p);
    if (load<u8>(p) == 0x2c) p = skipSpaces(p + 1);
  }
  return found;
}

/** Adds name=value for each member of the object at `p` that is a string, number or boolean. */
function pushMembers(p: usize): i32 {
  const first = count;
  let members: u32 = 0;
  // Members of every type are added, so that a later one of the same name replaces an earlier one;
  // those that are no scalar are dropped at the end.
  p = skipSpaces(p + 1);
  while (load<u8>(p) != 0x7d) {
    if (++members > MOST_MEMBERS) return FALLBACK;
    const from = p + 1;
    const to = skipPlainText(from);
    if (to == 0) return FALLBACK;
    const bytes = <u32>(to - from);
    p = skipSpaces(skipSpaces(to + 1) + 1);
    const value = p;
    p = skipAny(p);
    let at = first;
    while (at < count) {
      const one = valueAt(at);
      if (one.nameBytes == bytes && sameName(one.name, from, bytes)) break;
      at++;
    }
    if (at == count && !push(from, bytes, 0, 0)) return NO_MEMORY;
    valueAt(at).content = value;
    valueAt(at).contentBytes = <u32>(p - value);
    p = skipSpaces(p);
    if (load<u8>(p) == 0x2c) p = skipSpaces(p + 1);
  }
  const last = count;
  count = first;
  for (let at = first; at < last; at++) {
    const one = valueAt(at);
    const value = one.content;
    const answer = pushScalar(one.name, one.nameBytes, value, value + one.contentBytes);
    if (answer != 0) return answer;
  }
  return 0;
}

/** From one name of a path to the next. */
@inline
export function nextName(name: usize): usize {
  return name + ((4 + load<u32>(name) + 3) & ~3);
}

/**
 * Adds the values under the value at `p`, which ends at `end`. `name`: the next one of the path, of
 * which `left` are to come.
 */
function collect(p: usize, end: usize, name: usize, left: u32, depth: u32): i32 {
  while (true) {
    const c = <u32>load<u8>(p);
    if (c == 0x5b) break;
    if (left == 0) return c == 0x7b ? pushMembers(p) : pushScalar(0, 0, p, end);
    if (c != 0x7b) return 0;
    const found = findMember(p, name + 4, load<u32>(name));
    if (found <= 1) return found == 0 ? 0 : FALLBACK;
    p = <usize>found;
    end = <usize>(found >> 32);
    name = nextName(name);
    left--;
  }
  if (depth == DEEPEST) return FALLBACK;
  p = skipSpaces(p + 1);
  while (load<u8>(p) != 0x5d) {
    const value = p;
    p = skipAny(p);
    const answer = collect(value, p, name, left, depth + 1);
    if (answer != 0) return answer;
    p = skipSpaces(p);
    if (load<u8>(p) == 0x2c) p = skipSpaces(p + 1);
  }
  return 0;
}

/**
 * How many values are under a path from the value at `from`, which ends at `end`; the first
 * `skipped` names of the path led there. They stand in pathList() until the next call. FALLBACK:
 * the host decodes the value. NO_MEMORY.
 */
export function pathValues(path: usize, skipped: u32, from: usize, end: usize): i32 {
  count = 0;
  let name = path + 4;
  for (let i: u32 = 0; i < skipped; i++) name = nextName(name);
  const answer = collect(from, end, name, load<u32>(path) - skipped, 0);
  return answer != 0 ? answer : <i32>count;
}
