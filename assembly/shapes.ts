// Shapes: the names of an object's members in their order, interned, so that an object keeps a
// number in place of its names.
//
//   shape: |hash u32|count u16, odd u16|known: u8[16], index + 1 of members looked for by name|
//          count × |offset u32|length u32|, then the names with eight bytes of room behind each
//
// A shape is odd when a plain list of its members would not be what JSON.parse gives: a name twice,
// __proto__, an escape in a name. A shape is never given back: an API server writes few. There are
// at most MOST of them, with at most MOST_MEMBERS names in LONGEST bytes; otherwise NO_SHAPE.
//
// Raw loads and stores: bytes of names in words of eight, and tables of bare u16 and u8.

import { NO_SHAPE, SHAPE_COUNT, SHAPE_NAMES } from "./abi";
import { blockAlloc, setWord, wordAt } from "./memory";

export const MOST_MEMBERS: u32 = 64;
const MOST: u32 = 1024;
const LONGEST: u32 = 4096; // bytes of all names

/** The head of a shape; drawn at the top of the file. */
@unmanaged
export class Shape {
  hash: u32;
  count: u16;
  odd: u16;
  known: u8; // here begin u8[16]: index + 1 of members looked for by name
}

/** Where a name lies, from the first byte of its shape: |offset u32|length u32|. */
@unmanaged
class NameAt {
  offset: u32;
  length: u32;
}

// The host reads these by their words in abi.ts.
const NAMES: usize = SHAPE_NAMES << 2;
if (offsetof<Shape>("count") != SHAPE_COUNT << 2) ERROR("the words of Shape in abi.ts are others");

/** Places of Shape.known. */
export const API_VERSION: usize = 0;
export const KIND: usize = 1;
export const METADATA: usize = 2;
export const SPEC: usize = 3;
export const STATUS: usize = 4;
export const NAME: usize = 5;
export const NAMESPACE: usize = 6;
export const RESOURCE_VERSION: usize = 7;
export const METADATA_GENERATION: usize = 8;
export const LABELS: usize = 9;
export const ANNOTATIONS: usize = 10;
export const DELETION_TIMESTAMP: usize = 11;
export const MANAGED_FIELDS: usize = 12;
export const OWNER_REFERENCES: usize = 13;

/** Where a scanned member lies: |name u32|nameEnd u32|value u32|valueEnd u32|, addresses. */
@unmanaged
export class Member {
  name: usize;
  nameEnd: usize;
  value: usize;
  valueEnd: usize;
}

export const MEMBER_SHIFT: u32 = 4;

const shapes: usize = memory.data(4 * 1024, 16); // u32 address by shape
const table: usize = memory.data(2 * 4096, 16); // u16 shape + 1 by hash, linear probing
const TABLE_MASK: u32 = 4095;
let count: u32 = 0;

@inline
export function memberAt(members: usize, index: u32): Member {
  return changetype<Member>(members + (<usize>index << MEMBER_SHIFT));
}

/** Whether two names are equal; `b` may be read for eight bytes wherever it ends. */
@inline
function sameBytes(a: usize, b: usize, length: u32): bool {
  if (length >= 8) {
    const last: usize = length - 8;
    for (let i: usize = 0; i < last; i += 8) if (load<u64>(a + i) != load<u64>(b + i)) return false;
    return load<u64>(a + last) == load<u64>(b + last);
  }
  return length == 0 || ((load<u64>(a) ^ load<u64>(b)) << ((8 - length) << 3)) == 0;
}

/**
 * Whether a shape has this name at a place; the name may be read for eight bytes behind its end.
 */
@inline
function isName(shape: Shape, entry: NameAt, name: usize, length: u32): bool {
  return entry.length == length && sameBytes(name, changetype<usize>(shape) + entry.offset, length);
}

@inline
function nameEntry(shape: Shape, index: u32): NameAt {
  return changetype<NameAt>(changetype<usize>(shape) + NAMES + (<usize>index << 3));
}

function isShape(shape: Shape, members: usize, size: u32): bool {
  if (shape.count != size) return false;
  for (let i: u32 = 0; i < size; i++) {
    const member = memberAt(members, i);
    const name = member.name;
    if (!isName(shape, nameEntry(shape, i), name, <u32>(member.nameEnd - name))) return false;
  }
  return true;
}

/** As isName, by index, as a call: for where speed does not matter. */
function isNameAt(shape: Shape, index: u32, name: usize, length: u32): bool {
  return isName(shape, nameEntry(shape, index), name, length);
}

/** Whether a shape has this name at a place. */
export function hasName(shape: u32, index: u32, name: usize, length: u32): bool {
  const at = shapeAt(shape);
  if (index >= <u32>at.count) return false;
  return isNameAt(at, index, name, length);
}

function hashOf(members: usize, size: u32): u32 {
  let hash: u64 = size;
  for (let i: u32 = 0; i < size; i++) {
    const member = memberAt(members, i);
    const end = member.nameEnd;
    for (let p = member.name; p < end; p++) hash = (hash ^ load<u8>(p)) * 0x100000001b3;
    hash = (hash ^ 0x1f) * 0xff51afd7ed558ccd;
  }
  return <u32>(hash ^ (hash >> 32));
}

/** The shape of these members, or NO_SHAPE. `like` is a guess: the shape of the object before. */
export function shapeOf(members: usize, size: u32, like: u32): u32 {
  return internShape(members, size, like, MOST);
}

function internShape(members: usize, size: u32, like: u32, most: u32): u32 {
  if (like < count && isShape(shapeAt(like), members, size)) return like;
  const hash = hashOf(members, size);
  let i = hash & TABLE_MASK;
  while (true) {
    const entry = <u32>load<u16>(table + (i << 1));
    if (entry == 0) break;
    const shape = shapeAt(entry - 1);
    if (shape.hash == hash && isShape(shape, members, size)) return entry - 1;
    i = (i + 1) & TABLE_MASK;
  }
  if (count >= most) return NO_SHAPE;
  const made = makeShape(members, size, hash);
  if (made == 0) return NO_SHAPE;
  setWord(shapes, count, <u32>made);
  store<u16>(table + (i << 1), count + 1);
  return count++;
}

let likeNested: u32 = NO_SHAPE;

/**
 * The same for an object inside of a version. They may take a quarter of the shapes, as no version
 * can be kept without the shapes of the object and its metadata.
 */
export function nestedShapeOf(members: usize, size: u32): u32 {
  likeNested = internShape(members, size, likeNested, MOST >> 2);
  return likeNested;
}

@inline
function is(at: usize, length: u32, name: usize, nameLength: u32): bool {
  return length == nameLength && sameBytes(name, at, length);
}

/** The names of Shape.known in their order, each behind its length. */
const KNOWN: usize = memory.data<u8>([
  10, 97, 112, 105, 86, 101, 114, 115, 105, 111, 110, // apiVersion
  4, 107, 105, 110, 100, // kind
  8, 109, 101, 116, 97, 100, 97, 116, 97, // metadata
  4, 115, 112, 101, 99, // spec
  6, 115, 116, 97, 116, 117, 115, // status
  4, 110, 97, 109, 101, // name
  9, 110, 97, 109, 101, 115, 112, 97, 99, 101, // namespace
  15, 114, 101, 115, 111, 117, 114, 99, 101, 86, 101, 114, 115, 105, 111, 110, // resourceVersion
  10, 103, 101, 110, 101, 114, 97, 116, 105, 111, 110, // generation
  6, 108, 97, 98, 101, 108, 115, // labels
  11, 97, 110, 110, 111, 116, 97, 116, 105, 111, 110, 115, // annotations
  17, 100, 101, 108, 101, 116, 105, 111, 110, 84, 105, 109, 101, 115, 116, 97, 109, 112,
  13, 109, 97, 110, 97, 103, 101, 100, 70, 105, 101, 108, 100, 115, // managedFields
  15, 111, 119, 110, 101, 114, 82, 101, 102, 101, 114, 101, 110, 99, 101, 115, // ownerReferences
  0, 0, 0, 0, 0, 0, 0, 0,
]);
const KNOWN_COUNT: usize = 14;
/** __proto__ */
const PROTO: usize = memory.data<u8>([
  95, 95, 112, 114, 111, 116, 111, 95, 95, 0, 0, 0, 0, 0, 0, 0,
]);

function makeShape(members: usize, size: u32, hash: u32): usize {
  let bytes: u32 = 0;
  for (let i: u32 = 0; i < size; i++) {
    const member = memberAt(members, i);
    bytes += <u32>(member.nameEnd - member.name) + 8;
  }
  if (bytes > LONGEST) return 0;
  const names = <u32>NAMES + (size << 3);
  const block = blockAlloc(names + bytes);
  if (block == 0) return 0;
  memory.fill(block, 0, names);
  const shape = changetype<Shape>(block);
  shape.hash = hash;
  shape.count = <u16>size;
  let at = names;
  let odd = false;
  for (let i: u32 = 0; i < size; i++) {
    const member = memberAt(members, i);
    const name = member.name;
    const length = <u32>(member.nameEnd - name);
    const entry = nameEntry(shape, i);
    entry.offset = at;
    entry.length = length;
    memory.copy(block + at, name, length);
    if (is(block + at, length, PROTO, 9)) odd = true;
    for (let j: u32 = 0; j < length; j++) if (load<u8>(name + j) == 0x5c) odd = true;
    for (let j: u32 = 0; j < i; j++) {
      if (isNameAt(shape, j, name, length)) odd = true;
    }
    let known = KNOWN;
    for (let j: usize = 0; j < KNOWN_COUNT; j++) {
      const knownLength = <u32>load<u8>(known);
      if (is(block + at, length, known + 1, knownLength)) store<u8>(knownOf(shape) + j, i + 1);
      known += knownLength + 1;
    }
    at += length + 8;
  }
  shape.odd = <u16>odd;
  return block;
}

@inline
function knownOf(shape: Shape): usize {
  return changetype<usize>(shape) + offsetof<Shape>("known");
}

@inline
export function shapeAt(shape: u32): Shape {
  return changetype<Shape>(<usize>wordAt(shapes, shape));
}

@inline
export function shapeCount(shape: u32): u32 {
  return <u32>shapeAt(shape).count;
}

@inline
export function isOdd(shape: u32): bool {
  return shapeAt(shape).odd != 0;
}

/** The index of a member looked for by name, or -1. */
@inline
export function indexIn(shape: u32, known: usize): i32 {
  return <i32>load<u8>(knownOf(shapeAt(shape)) + known) - 1;
}

/**
 * The index of a member of any name, or -1; both names may be read for eight bytes wherever they
 * end.
 */
export function namedIn(shape: u32, name: usize, length: u32): i32 {
  const at = shapeAt(shape);
  const size = <u32>at.count;
  for (let i: u32 = 0; i < size; i++) {
    if (isNameAt(at, i, name, length)) return i;
  }
  return -1;
}
