// A store of versions and a version in it, as they lie in memory.
//
// Raw loads: both shapes in one word.
//
//   |length u32|topShape u16|metaShape u16|references u32|flags u32|spans|JSON|
//   spans: of each member of the object, then of its metadata, |start u32|end u32|, from the first
//   byte of the JSON on
//
// A packed version (pack.ts) has its difference from a base in place of spans and JSON:
//
//   |length u32|topShape u16|metaShape u16|references u32|flags u32|base u32|check u32|difference|

import {
  IS_ASCII, IS_MARKED, PACKED_BASE, PACKED_CHECK, PACKED_DIFFERENCE, STORED_FLAGS, STORED_LENGTH,
  STORED_REFERENCES, STORED_SHAPES, STORED_SPANS,
} from "./abi";
import { Arena } from "./holes";
import { METADATA, hasName, indexIn, shapeCount } from "./shapes";

export const OBJECTS_BYTES: u32 = 512;
/** How many unpacked versions a store keeps: unpack.ts. */
export const IMAGES: u32 = 16;

// Flags of a version beside those of abi.ts.
/** Packed versions differ from it; they alone have references to it. */
export const IS_BASE: u32 = 8;
/** objectCounted has counted its bytes. */
export const IS_COUNTED: u32 = 16;
/** The upper bits are the tag of its family (families.ts); 0: none. */
export const TAG_SHIFT: u32 = 8;
export const KEPT_FLAGS: u32 = IS_ASCII | IS_MARKED;

/**
 * A store of versions.
 *
 *   |arena|free|freeRoom|freeCount|versions|slots|slotsRoom|spare|images|imageRoom|imageUses u64|
 *   |families|familiesRoom|familiesUsed|packsFrom|, each u32 but for one, then
 *   IMAGES × |version + 1 u32|-|used u64|
 */
@unmanaged
export class Objects {
  arena: Arena;
  free: usize; // block of u32, version numbers to be used again
  // numbers it has room for: all that were ever made, so that a release needs no memory
  freeRoom: u32;
  freeCount: u32;
  versions: u32; // numbers ever made: all are below it
  slots: usize; // block of u32, version + 1 by slot
  slotsRoom: u32;
  // version + 1 without references, whose block the next one takes if it fits, as it is still in
  // the cache; 0: none
  spare: u32;
  images: usize; // block of IMAGES times imageRoom bytes (unpack.ts); 0: none
  imageRoom: u32;
  imageUses: u64;
  families: usize; // block of families (families.ts); 0: none
  familiesRoom: u32;
  familiesUsed: u32;
  packsFrom: u32; // the count of versions from which on new ones are packed; 0: never
}

/** A version, before its spans and its JSON; drawn at the top of the file. */
@unmanaged
export class StoredObject {
  length: u32; // of the JSON
  topShape: u16;
  metaShape: u16;
  references: u32;
  flags: u32;
}

/** A version that is packed, before its difference; drawn at the top of the file. */
@unmanaged
export class Packed {
  length: u32;
  topShape: u16;
  metaShape: u16;
  references: u32;
  flags: u32;
  base: u32;
  check: u32; // of its spans and its JSON (difference.ts), xor its flag IS_ASCII
}

/** Which version an image has (unpack.ts); drawn at Objects. */
@unmanaged
export class Image {
  version: u32; // + 1; 0: none
  used: u64; // Objects.imageUses when it was read last
}

/** Where a member's value lies, from the first byte of the JSON on: |start u32|end u32|. */
@unmanaged
export class ByteSpan {
  start: u32;
  end: u32;
}

// The host reads these fields by their words in abi.ts.
if (
  offsetof<StoredObject>("length") != STORED_LENGTH << 2 ||
  offsetof<StoredObject>("topShape") != STORED_SHAPES << 2 ||
  offsetof<StoredObject>("references") != STORED_REFERENCES << 2 ||
  offsetof<StoredObject>("flags") != STORED_FLAGS << 2 ||
  offsetof<StoredObject>() != STORED_SPANS << 2 ||
  offsetof<Packed>("base") != PACKED_BASE << 2 ||
  offsetof<Packed>("check") != PACKED_CHECK << 2 ||
  offsetof<Packed>() != PACKED_DIFFERENCE
) ERROR("the words of StoredObject or Packed in abi.ts are others");

@inline
export function imageAt(objects: Objects, index: u32): Image {
  return changetype<Image>(changetype<usize>(objects) + offsetof<Objects>() + (<usize>index << 4));
}

/** Where the spans of a version begin. */
@inline
export function spansOf(stored: StoredObject): usize {
  return changetype<usize>(stored) + offsetof<StoredObject>();
}

/** Both shapes in one word: topShape in the lower half. */
@inline
export function shapesOf(stored: StoredObject): u32 {
  return load<u32>(changetype<usize>(stored), offsetof<StoredObject>("topShape"));
}

@inline
export function spanAt(spans: usize, index: u32): ByteSpan {
  return changetype<ByteSpan>(spans + (<usize>index << 3));
}

/**
 * The span of the member of a version at a place, if it has the name; else null.
 *
 * @param place counted from that of the metadata, as kind and apiVersion may be absent
 */
export function storedMember(
  stored: StoredObject, place: i32, name: usize, length: u32,
): ByteSpan | null {
  const shape = <u32>stored.topShape;
  const index = <u32>(indexIn(shape, METADATA) + place);
  return hasName(shape, index, name, length) ? spanAt(spansOf(stored), index) : null;
}

export function isStoredAscii(stored: StoredObject): bool {
  return (stored.flags & IS_ASCII) != 0;
}

@inline
export function spanCount(stored: StoredObject): u32 {
  return shapeCount(<u32>stored.topShape) + shapeCount(<u32>stored.metaShape);
}

@inline
export function jsonOf(stored: StoredObject): usize {
  return changetype<usize>(spanAt(spansOf(stored), spanCount(stored)));
}

@inline
export function spanOf(stored: StoredObject, known: usize): ByteSpan | null {
  const index = indexIn(<u32>stored.topShape, known);
  return index < 0 ? null : spanAt(spansOf(stored), index);
}

@inline
export function metaSpanOf(stored: StoredObject, known: usize): ByteSpan | null {
  const index = indexIn(<u32>stored.metaShape, known);
  return index < 0 ? null : spanAt(spansOf(stored), shapeCount(<u32>stored.topShape) + <u32>index);
}

