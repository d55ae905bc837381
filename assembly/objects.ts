// Objects as bytes: versions, and which version each slot of a store has.
//
// A version is the JSON of one object as it was scanned, less what is cut out, with the spans of
// its members. It never changes; it lies in the arena, where it may move, so all others keep its
// number. It counts its references: a slot, a delta that waits, or a host's list; those of a base
// are the versions packed against it (pack.ts). The release of the last one frees the bytes.
//
// How a version lies in memory is drawn in stored.ts.
//
// Raw loads: SIMD registers of two texts.

import { IS_MARKED, IS_PACKED, NOTHING, NO_MEMORY, SIZE_HEAD } from "./abi";
import {
  arenaAlloc, arenaAt, arenaFree, arenaLive, arenaNew, arenaRelease, arenaSize, arenaTotal,
} from "./arena";
import { forgetIndexed } from "./difference";
import { familiesFree } from "./families";
import { BLOCK_HEAD } from "./holes";
import { headAt, imageForget, imagesFree, objectAt } from "./unpack";
import { keysFindObject, keysInternObject } from "./keys";
import { blockAlloc, blockFree, blockSize, setWord, wordAt } from "./memory";
import { Table } from "./record";
import { NAME, NAMESPACE } from "./shapes";
import {
  ByteSpan, IS_COUNTED, OBJECTS_BYTES, Objects, Packed, jsonOf, metaSpanOf,
} from "./stored";

/** A store of versions, or null when there is no memory. */
export function objectsNew(): Objects | null {
  const block = blockAlloc(OBJECTS_BYTES);
  if (block == 0) return null;
  const arena = arenaNew();
  if (arena === null) {
    blockFree(block, OBJECTS_BYTES);
    return null;
  }
  memory.fill(block, 0, OBJECTS_BYTES);
  const objects = changetype<Objects>(block);
  objects.arena = arena;
  return objects;
}

export function objectsFree(objects: Objects): void {
  arenaFree(objects.arena);
  const free = objects.free;
  if (free != 0) blockFree(free, objects.freeRoom << 2);
  const slots = objects.slots;
  if (slots != 0) blockFree(slots, objects.slotsRoom << 2);
  imagesFree(objects);
  familiesFree(objects);
  blockFree(changetype<usize>(objects), OBJECTS_BYTES);
}

/**
 * A block of u32 with room for `count`, the old one's content in front and zeros behind; 0: no
 * memory, and the old one stands.
 */
function widened(block: usize, room: u32, count: u32): usize {
  const bytes = max(count << 2, room << 3);
  const larger = blockAlloc(max(bytes, 1024));
  if (larger == 0) return 0;
  const size = blockSize(max(bytes, 1024));
  if (room != 0) {
    memory.copy(larger, block, <usize>room << 2);
    blockFree(block, room << 2);
  }
  memory.fill(larger + (<usize>room << 2), 0, size - (room << 2));
  return larger;
}

/** A number for a version, or NO_MEMORY. */
export function takeNumber(objects: Objects): i32 {
  const count = objects.freeCount;
  if (count != 0) {
    objects.freeCount = count - 1;
    return <i32>wordAt(objects.free, count - 1);
  }
  const number = objects.versions;
  const room = objects.freeRoom;
  if (number == room) {
    const larger = widened(objects.free, room, room + 1);
    if (larger == 0) return NO_MEMORY;
    objects.free = larger;
    objects.freeRoom = blockSize(max(room << 3, 1024)) >> 2;
  }
  objects.versions = number + 1;
  return <i32>number;
}

export function giveNumber(objects: Objects, number: u32): void {
  const count = objects.freeCount;
  setWord(objects.free, count, number);
  objects.freeCount = count + 1;
}

@inline
function contentOf(json: usize, span: ByteSpan): usize {
  return json + span.start + 1;
}

@inline
function contentBytes(span: ByteSpan): u32 {
  return span.end - span.start - 2;
}

/**
 * The slot of a version's key, namespace/name or name, in a key table; with `intern` it gets one.
 * NOTHING or NO_MEMORY as from keysFind.
 */
export function objectSlot(objects: Objects, version: u32, keys: Table, intern: bool): i32 {
  const stored = objectAt(objects, version);
  const json = jsonOf(stored);
  const name = changetype<ByteSpan>(metaSpanOf(stored, NAME)); // each version has one
  const namespace = metaSpanOf(stored, NAMESPACE);
  const namespaceAt: usize = namespace === null ? 0 : contentOf(json, namespace);
  const namespaceBytes = namespace === null ? 0 : contentBytes(namespace);
  return intern
    ? keysInternObject(keys, namespaceAt, namespaceBytes, contentOf(json, name), contentBytes(name))
    : keysFindObject(keys, namespaceAt, namespaceBytes, contentOf(json, name), contentBytes(name));
}

/** Gives the block of the spare version back to the arena. */
function dropSpare(objects: Objects): void {
  const spare = objects.spare;
  if (spare == 0) return;
  objects.spare = 0;
  arenaRelease(objects.arena, arenaAt(objects.arena, spare - 1));
  giveNumber(objects, spare - 1);
}

/** A version with room for so many bytes, all of them still to be written; or NO_MEMORY. */
export function newVersion(objects: Objects, exactly: u32): i32 {
  // Rounded, so that a version fits where one of a digit less was.
  const bytes = (exactly + 63) & ~63;
  const spare = objects.spare;
  if (spare != 0) {
    const room = arenaSize(arenaAt(objects.arena, spare - 1));
    if (room >= bytes && room - bytes <= (bytes >> 4) + 32) {
      objects.spare = 0;
      return <i32>(spare - 1);
    }
  }
  return placedVersion(objects, bytes);
}

/** A version with a new block of `bytes` bytes; or NO_MEMORY. */
export function placedVersion(objects: Objects, bytes: u32): i32 {
  const number = takeNumber(objects);
  if (number < 0) return NO_MEMORY;
  if (arenaAlloc(objects.arena, bytes, <u32>number) != 0) return number;
  dropSpare(objects);
  if (arenaAlloc(objects.arena, bytes, <u32>number) != 0) return number;
  giveNumber(objects, <u32>number);
  return NO_MEMORY;
}

@inline
export function sameBytes(a: usize, b: usize, length: u32): bool {
  if (length >= 16) {
    const last: usize = length - 16;
    let i: usize = 0;
    for (; i + 64 <= last; i += 64) {
      const p = a + i, q = b + i;
      const first = v128.or(
        v128.xor(v128.load(p), v128.load(q)),
        v128.xor(v128.load(p, 16), v128.load(q, 16)),
      );
      const second = v128.or(
        v128.xor(v128.load(p, 32), v128.load(q, 32)),
        v128.xor(v128.load(p, 48), v128.load(q, 48)),
      );
      if (v128.any_true(v128.or(first, second))) return false;
    }
    for (; i < last; i += 16) {
      if (v128.any_true(v128.xor(v128.load(a + i), v128.load(b + i)))) return false;
    }
    return !v128.any_true(v128.xor(v128.load(a + last), v128.load(b + last)));
  }
  for (let i: usize = 0; i < length; i++) if (load<u8>(a + i) != load<u8>(b + i)) return false;
  return true;
}

/** One reference more. */
export function objectRetain(objects: Objects, version: u32): void {
  const stored = headAt(objects, version);
  stored.references++;
}

/** Frees a packed version, and its base if no other version has a reference to it. */
function dropPacked(objects: Objects, version: u32): void {
  let number = version;
  while (true) {
    const head = headAt(objects, number);
    const isPacked = (head.flags & IS_PACKED) != 0;
    const base = changetype<Packed>(head).base;
    imageForget(objects, number);
    forgetIndexed(number + 1);
    arenaRelease(objects.arena, changetype<usize>(head));
    giveNumber(objects, number);
    if (!isPacked) return;
    const baseHead = headAt(objects, base);
    if (--baseHead.references != 0) return;
    number = base;
  }
}

/** One reference less. True: it was the last one, and the number is free. */
export function objectRelease(objects: Objects, version: u32): bool {
  const stored = headAt(objects, version);
  const references = stored.references - 1;
  stored.references = references;
  if (references != 0) return false;
  if (stored.flags & IS_PACKED) {
    dropPacked(objects, version);
    return true;
  }
  dropSpare(objects);
  objects.spare = version + 1;
  return true;
}

/** The version of a slot, or NOTHING. */
export function objectOf(objects: Objects, slot: u32): i32 {
  return slot < objects.slotsRoom ? <i32>wordAt(objects.slots, slot) - 1 : NOTHING;
}

/** Room for a version at a slot, so that objectPut finds it; false when there is no memory. */
export function objectReady(objects: Objects, slot: u32): bool {
  const room = objects.slotsRoom;
  if (slot < room) return true;
  const larger = widened(objects.slots, room, slot + 1);
  if (larger == 0) return false;
  objects.slots = larger;
  objects.slotsRoom = blockSize(max(max((slot + 1) << 2, room << 3), 1024)) >> 2;
  return true;
}

/**
 * Makes a version a slot's, which takes over the caller's reference. Answers the version before it,
 * whose reference the caller gets, NOTHING or NO_MEMORY.
 */
export function objectPut(objects: Objects, slot: u32, version: u32): i32 {
  if (!objectReady(objects, slot)) return NO_MEMORY;
  const old = <i32>wordAt(objects.slots, slot) - 1;
  setWord(objects.slots, slot, version + 1);
  return old;
}

/** objectPut at a slot that has a version, whose reference goes. */
export function objectReplace(objects: Objects, slot: u32, version: u32): void {
  const old = wordAt(objects.slots, slot) - 1;
  setWord(objects.slots, slot, version + 1);
  objectRelease(objects, old);
}

/** Takes the version from a slot, with its reference; NOTHING where there is none. */
export function objectTake(objects: Objects, slot: u32): i32 {
  const version = objectOf(objects, slot);
  if (version >= 0) setWord(objects.slots, slot, 0);
  return version;
}

/** Bytes of live versions with their spans, and of all the memory they lie in. */
export function objectsLive(objects: Objects): u32 {
  const spare = objects.spare;
  const spareBytes: u32 = spare == 0
    ? 0
    : arenaSize(arenaAt(objects.arena, spare - 1)) + BLOCK_HEAD;
  return arenaLive(objects.arena) - spareBytes;
}

export function objectsTotal(objects: Objects): u32 {
  return arenaTotal(objects.arena);
}

if (BLOCK_HEAD != SIZE_HEAD) ERROR("SIZE_HEAD in abi.ts is another");

/** What a version adds to objectsLive, but for its base. */
export function objectSize(objects: Objects, version: u32): u32 {
  return arenaSize(arenaAt(objects.arena, version)) + <u32>BLOCK_HEAD;
}

/**
 * The same with those of its bases that have not been counted since objectsUncount. The sum over
 * versions is what they need.
 */
export function objectCounted(objects: Objects, version: u32): u32 {
  let bytes: u32 = 0;
  let number = version;
  while (true) {
    const head = headAt(objects, number);
    head.flags |= IS_COUNTED;
    bytes += objectSize(objects, number);
    if ((head.flags & IS_PACKED) == 0) return bytes;
    number = changetype<Packed>(head).base;
    if (headAt(objects, number).flags & IS_COUNTED) return bytes;
  }
}

/** From here on objectCounted counts every base again. */
export function objectsUncount(objects: Objects): void {
  const versions = objects.versions;
  for (let number: u32 = 0; number < versions; number++) {
    const head = headAt(objects, number);
    if (changetype<usize>(head) != 0) head.flags &= ~IS_COUNTED;
  }
}

/** Marks a version. There is no way back, as versions never change. */
export function objectMark(objects: Objects, version: u32): void {
  const stored = headAt(objects, version);
  stored.flags |= IS_MARKED;
}

/** How many slots have a version that is marked. Reads all of them. */
export function objectsMarked(objects: Objects): u32 {
  let marked: u32 = 0;
  const room = objects.slotsRoom;
  for (let slot: u32 = 0; slot < room; slot++) {
    const version = objectOf(objects, slot);
    if (version >= 0 && (headAt(objects, <u32>version).flags & IS_MARKED) != 0) marked++;
  }
  return marked;
}
