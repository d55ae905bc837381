// Objects as bytes: versions, and which version each slot of a store has.
//
// A version is the JSON of one object as it was scanned, less what is cut out, with the spans of
// its members. It never changes; it lies in the arena, where it may move, so only its number stands
// anywhere else. It counts who refers to it: a slot, a delta that waits, or a host's list; the last
// one to let go gives the bytes back.
//
//   |length u32|top shape u16, metadata shape u16|references u32|flags u32|spans: of each member of the object, then of its metadata, |start u32|end u32|
//   from the first byte of the JSON on|JSON|

import { arenaAlloc, arenaAt, arenaFree, arenaLive, arenaNew, arenaRelease, arenaSize, arenaTotal } from "./arena";
import { BLOCK_HEAD } from "./holes";
import { keysFindObject, keysInternObject } from "./keys";
import { blockAlloc, blockFree, blockSize } from "./memory";
import { NO_MEMORY, NOTHING } from "./record";
import { META, TOP, cutEnd, cutStart, isAscii, isNamed, metaCount, metaShape, metaValue, objectEnd, objectStart, topCount, topShape, topValue } from "./scan";
import {
  API_VERSION, KIND, METADATA, M_VALUE, M_VALUE_END, NAME, NAMESPACE, NO_SHAPE, hasName, indexIn, memberAt, shapeCount,
} from "./shapes";

const OBJECTS_BYTES: u32 = 64;
const O_ARENA: usize = 0;
const O_FREE: usize = 4; // u32 block of version numbers to be used again
// numbers it has room for: all that were ever made, so that letting go needs no memory
const O_FREE_ROOM: usize = 8;
const O_FREE_COUNT: usize = 12;
const O_VERSIONS: usize = 16; // numbers ever made: all are below it
const O_SLOTS: usize = 20; // u32 block: version + 1 by slot
const O_SLOTS_ROOM: usize = 24;
// version + 1 that nobody refers to any more, whose block the next one takes if it fits: it is
// still in the cache; 0: none
const O_SPARE: usize = 28;

const V_LENGTH: usize = 0;
export const V_TOP: usize = 4;
export const V_META: usize = 6;
export const V_REFERENCES: usize = 8;
const V_FLAGS: usize = 12;
const IS_ASCII: u32 = 1;
const IS_MARKED: u32 = 2; // the host has cut away more than it does of every object
export const V_SPANS: usize = 16;

/** A store of versions, or 0 when there is no memory. */
export function objectsNew(): usize {
  const objects = blockAlloc(OBJECTS_BYTES);
  if (objects == 0) return 0;
  const arena = arenaNew();
  if (arena == 0) {
    blockFree(objects, OBJECTS_BYTES);
    return 0;
  }
  memory.fill(objects, 0, OBJECTS_BYTES);
  store<u32>(objects, <u32>arena, O_ARENA);
  return objects;
}

export function objectsFree(objects: usize): void {
  arenaFree(arenaOf(objects));
  const free = <usize>load<u32>(objects, O_FREE);
  if (free != 0) blockFree(free, load<u32>(objects, O_FREE_ROOM) << 2);
  const slots = <usize>load<u32>(objects, O_SLOTS);
  if (slots != 0) blockFree(slots, load<u32>(objects, O_SLOTS_ROOM) << 2);
  blockFree(objects, OBJECTS_BYTES);
}

@inline
function arenaOf(objects: usize): usize {
  return <usize>load<u32>(objects, O_ARENA);
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
function takeNumber(objects: usize): i32 {
  const count = load<u32>(objects, O_FREE_COUNT);
  if (count != 0) {
    store<u32>(objects, count - 1, O_FREE_COUNT);
    return <i32>load<u32>(<usize>load<u32>(objects, O_FREE) + (<usize>(count - 1) << 2));
  }
  const number = load<u32>(objects, O_VERSIONS);
  const room = load<u32>(objects, O_FREE_ROOM);
  if (number == room) {
    const larger = widened(<usize>load<u32>(objects, O_FREE), room, room + 1);
    if (larger == 0) return NO_MEMORY;
    store<u32>(objects, <u32>larger, O_FREE);
    store<u32>(objects, blockSize(max(room << 3, 1024)) >> 2, O_FREE_ROOM);
  }
  store<u32>(objects, number + 1, O_VERSIONS);
  return <i32>number;
}

function giveNumber(objects: usize, number: u32): void {
  const count = load<u32>(objects, O_FREE_COUNT);
  store<u32>(<usize>load<u32>(objects, O_FREE) + (<usize>count << 2), number);
  store<u32>(objects, count + 1, O_FREE_COUNT);
}

@inline
function contentOf(json: usize, span: usize): usize {
  return json + load<u32>(span) + 1;
}

@inline
function contentBytes(span: usize): u32 {
  return load<u32>(span, 4) - load<u32>(span) - 2;
}

/**
 * The slot of a version's key, namespace/name or name, in a key table; with `intern` it gets one.
 * NOTHING or NO_MEMORY as from keysFind.
 */
export function objectSlot(objects: usize, version: u32, keys: usize, intern: bool): i32 {
  const at = objectAt(objects, version);
  const json = jsonOf(at);
  const name = metaSpanOf(at, NAME);
  const namespace = metaSpanOf(at, NAMESPACE);
  const namespaceAt: usize = namespace == 0 ? 0 : contentOf(json, namespace);
  const namespaceBytes = namespace == 0 ? 0 : contentBytes(namespace);
  return intern
    ? keysInternObject(keys, namespaceAt, namespaceBytes, contentOf(json, name), contentBytes(name))
    : keysFindObject(keys, namespaceAt, namespaceBytes, contentOf(json, name), contentBytes(name));
}

/**
 * Where the stored version of the key that was scanned last lies, or 0. What a scan finds equal to
 * it, byte by byte, it need not check again.
 */
export function storedLike(objects: usize, keys: usize): usize {
  if (metaShape == NO_SHAPE || metaValue(NAME) == 0 || !isNamed()) return 0;
  const slot = scannedSlot(keys);
  const version = slot < 0 ? NOTHING : objectOf(objects, <u32>slot);
  return version < 0 ? 0 : objectAt(objects, <u32>version);
}

/**
 * Where the member of a version at a place begins and ends, if it has the name; 0 in storedEnd if
 * not.
 *
 * @param place counted from that of the metadata, as kind and apiVersion may be absent
 */
export let storedEnd: usize = 0;
export function storedMember(at: usize, place: i32, name: usize, length: u32): usize {
  storedEnd = 0;
  const shape = <u32>load<u16>(at, V_TOP);
  const index = <u32>(indexIn(shape, METADATA) + place);
  if (!hasName(shape, index, name, length)) return 0;
  const json = jsonOf(at);
  const span = at + V_SPANS + (<usize>index << 3);
  storedEnd = json + load<u32>(span, 4);
  return json + load<u32>(span);
}

export function isStoredAscii(at: usize): bool {
  return (load<u32>(at, V_FLAGS) & IS_ASCII) != 0;
}

/** The slot that the object scanned last has in a key table, as from keysFind. */
export function scannedSlot(keys: usize): i32 {
  const name = metaValue(NAME);
  const namespace = metaValue(NAMESPACE);
  const nameAt = <usize>load<u32>(name, M_VALUE) + 1;
  const nameBytes = load<u32>(name, M_VALUE_END) - <u32>nameAt - 1;
  if (namespace == 0) return keysFindObject(keys, 0, 0, nameAt, nameBytes);
  const namespaceAt = <usize>load<u32>(namespace, M_VALUE) + 1;
  return keysFindObject(keys, namespaceAt, load<u32>(namespace, M_VALUE_END) - <u32>namespaceAt - 1, nameAt, nameBytes);
}

/** Where a version lies until the next call that may need memory. */
@inline
export function objectAt(objects: usize, version: u32): usize {
  return arenaAt(arenaOf(objects), version);
}

@inline
export function jsonOf(at: usize): usize {
  return at + V_SPANS + (<usize>(shapeCount(<u32>load<u16>(at, V_TOP)) + shapeCount(<u32>load<u16>(at, V_META))) << 3);
}

@inline
export function spanOf(at: usize, known: usize): usize {
  const index = indexIn(<u32>load<u16>(at, V_TOP), known);
  return index < 0 ? 0 : at + V_SPANS + (<usize>index << 3);
}

@inline
export function metaSpanOf(at: usize, known: usize): usize {
  const index = indexIn(<u32>load<u16>(at, V_META), known);
  return index < 0 ? 0 : at + V_SPANS + (<usize>(shapeCount(<u32>load<u16>(at, V_TOP)) + <u32>index) << 3);
}

/** An address in the scanned bytes as an offset in what is kept of them. */
@inline
function kept(address: u32): u32 {
  const offset = address - <u32>objectStart;
  return address >= <u32>cutEnd ? offset - <u32>(cutEnd - cutStart) : offset;
}

@inline
function storeSpans(to: usize, members: usize, count: u32): void {
  for (let i: u32 = 0; i < count; i++) {
    const member = memberAt(members, i);
    store<u32>(to + (<usize>i << 3), kept(load<u32>(member, M_VALUE)));
    store<u32>(to + (<usize>i << 3), kept(load<u32>(member, M_VALUE_END)), 4);
  }
}

/** What nobody refers to any more goes back to the arena. */
function dropSpare(objects: usize): void {
  const spare = load<u32>(objects, O_SPARE);
  if (spare == 0) return;
  store<u32>(objects, 0, O_SPARE);
  arenaRelease(arenaOf(objects), objectAt(objects, spare - 1));
  giveNumber(objects, spare - 1);
}

/**
 * A version with room for so many bytes, and what else it is to have still to be written; or
 * NO_MEMORY.
 */
function newVersion(objects: usize, exactly: u32): i32 {
  // Rounded, so that a version fits where one of a digit less was.
  const bytes = (exactly + 63) & ~63;
  const spare = load<u32>(objects, O_SPARE);
  if (spare != 0) {
    const room = arenaSize(objectAt(objects, spare - 1));
    if (room >= bytes && room - bytes <= (bytes >> 4) + 32) {
      store<u32>(objects, 0, O_SPARE);
      return <i32>(spare - 1);
    }
  }
  const number = takeNumber(objects);
  if (number < 0) return NO_MEMORY;
  if (arenaAlloc(arenaOf(objects), bytes, <u32>number) != 0) return number;
  dropSpare(objects);
  if (arenaAlloc(arenaOf(objects), bytes, <u32>number) != 0) return number;
  giveNumber(objects, <u32>number);
  return NO_MEMORY;
}

/**
 * Keeps the object scanned last as a version with one reference. It was regular. Answers its number
 * or NO_MEMORY.
 */
export function objectStage(objects: usize): i32 {
  const cut = <u32>(cutEnd - cutStart);
  const length = <u32>(objectEnd - objectStart) - cut;
  const spans = (topCount + metaCount) << 3;
  const number = newVersion(objects, <u32>V_SPANS + spans + length);
  if (number < 0) return NO_MEMORY;
  const at = objectAt(objects, <u32>number);
  store<u32>(at, length, V_LENGTH);
  store<u16>(at, topShape, V_TOP);
  store<u16>(at, metaShape, V_META);
  store<u32>(at, 1, V_REFERENCES);
  store<u32>(at, isAscii ? IS_ASCII : 0, V_FLAGS);
  storeSpans(at + V_SPANS, TOP, topCount);
  storeSpans(at + V_SPANS + (topCount << 3), META, metaCount);
  const json = at + V_SPANS + spans;
  if (cut == 0) memory.copy(json, objectStart, length);
  else {
    const head = cutStart - objectStart;
    memory.copy(json, objectStart, head);
    memory.copy(json + head, cutEnd, objectEnd - cutEnd);
  }
  return number;
}

@inline
export function sameBytes(a: usize, b: usize, length: u32): bool {
  if (length >= 16) {
    const last: usize = length - 16;
    let i: usize = 0;
    for (; i + 64 <= last; i += 64) {
      const first = v128.or(v128.xor(v128.load(a + i), v128.load(b + i)), v128.xor(v128.load(a + i, 16), v128.load(b + i, 16)));
      const second = v128.or(v128.xor(v128.load(a + i, 32), v128.load(b + i, 32)), v128.xor(v128.load(a + i, 48), v128.load(b + i, 48)));
      if (v128.any_true(v128.or(first, second))) return false;
    }
    for (; i < last; i += 16) if (v128.any_true(v128.xor(v128.load(a + i), v128.load(b + i)))) return false;
    return !v128.any_true(v128.xor(v128.load(a + last), v128.load(b + last)));
  }
  for (let i: usize = 0; i < length; i++) if (load<u8>(a + i) != load<u8>(b + i)) return false;
  return true;
}

/**
 * Whether nothing but kind and apiVersion come before the metadata. Of objects of the expected kind
 * that have the same bytes from the metadata on, these then say the same.
 */
function isHeaded(shape: u32): bool {
  // of what is not there the index is -1, which as u32 is larger than any
  const metadata = <u32>indexIn(shape, METADATA);
  return metadata == <u32>(<u32>indexIn(shape, KIND) < metadata) + <u32>(<u32>indexIn(shape, API_VERSION) < metadata);
}

/** Whether a stored version is the same as the object scanned last. */
function isScanned(at: usize): bool {
  const shape = <u32>load<u16>(at, V_TOP);
  let json = jsonOf(at), start = objectStart;
  let left = load<u32>(at, V_LENGTH);
  if (shape != topShape) {
    if (!isHeaded(shape) || !isHeaded(topShape)) return false;
    const skipped = load<u32>(at + V_SPANS + (<usize>indexIn(shape, METADATA) << 3));
    json += skipped;
    left -= skipped;
    start = <usize>load<u32>(memberAt(TOP, <u32>indexIn(topShape, METADATA)), M_VALUE);
  }
  const cut = <u32>(cutEnd - cutStart);
  if (left != <u32>(objectEnd - start) - cut) return false;
  let length: u32 = cut == 0 ? left : <u32>(cutStart - start);
  while (sameBytes(json, start, length)) {
    left -= length;
    if (left == 0) return true;
    json += length;
    start = cutEnd;
    length = left;
  }
  return false;
}

/**
 * The version of a slot once more, if the object scanned last is the same; else it is staged. For
 * lists: of a list that brings nothing new, nothing is kept twice. Events have the kind and
 * apiVersion that lists of built-in kinds leave out, so that what is in front of the metadata does
 * not count.
 */
export function objectStageLike(objects: usize, slot: i32): i32 {
  const current = slot < 0 ? NOTHING : objectOf(objects, <u32>slot);
  if (current < 0 || !isScanned(objectAt(objects, <u32>current))) return objectStage(objects);
  objectRetain(objects, <u32>current);
  return current;
}

/** One reference more. */
export function objectRetain(objects: usize, version: u32): void {
  const at = objectAt(objects, version);
  store<u32>(at, load<u32>(at, V_REFERENCES) + 1, V_REFERENCES);
}

/** One reference less. True: it was the last one, and the number is free. */
export function objectRelease(objects: usize, version: u32): bool {
  const at = objectAt(objects, version);
  const references = load<u32>(at, V_REFERENCES) - 1;
  store<u32>(at, references, V_REFERENCES);
  if (references != 0) return false;
  dropSpare(objects);
  store<u32>(objects, version + 1, O_SPARE);
  return true;
}

/** The version of a slot, or NOTHING. */
export function objectOf(objects: usize, slot: u32): i32 {
  return slot < load<u32>(objects, O_SLOTS_ROOM) ? <i32>load<u32>(<usize>load<u32>(objects, O_SLOTS) + (<usize>slot << 2)) - 1 : NOTHING;
}

/** Room for a version at a slot, so that objectPut finds it; false when there is no memory. */
export function objectReady(objects: usize, slot: u32): bool {
  const room = load<u32>(objects, O_SLOTS_ROOM);
  if (slot < room) return true;
  const larger = widened(<usize>load<u32>(objects, O_SLOTS), room, slot + 1);
  if (larger == 0) return false;
  store<u32>(objects, <u32>larger, O_SLOTS);
  store<u32>(objects, blockSize(max(max((slot + 1) << 2, room << 3), 1024)) >> 2, O_SLOTS_ROOM);
  return true;
}

/**
 * Makes a version a slot's, which takes over the caller's reference. Answers the version before it,
 * whose reference the caller gets, NOTHING or NO_MEMORY.
 */
export function objectPut(objects: usize, slot: u32, version: u32): i32 {
  if (!objectReady(objects, slot)) return NO_MEMORY;
  const at = <usize>load<u32>(objects, O_SLOTS) + (<usize>slot << 2);
  const old = <i32>load<u32>(at) - 1;
  store<u32>(at, version + 1);
  return old;
}

/** objectPut at a slot that has a version, whose reference goes. */
export function objectReplace(objects: usize, slot: u32, version: u32): void {
  const at = <usize>load<u32>(objects, O_SLOTS) + (<usize>slot << 2);
  const old = load<u32>(at) - 1;
  store<u32>(at, version + 1);
  objectRelease(objects, old);
}

/** Takes the version from a slot, with its reference; NOTHING where there is none. */
export function objectTake(objects: usize, slot: u32): i32 {
  const version = objectOf(objects, slot);
  if (version >= 0) store<u32>(<usize>load<u32>(objects, O_SLOTS) + (<usize>slot << 2), 0);
  return version;
}

/** Bytes of live versions with their spans, and of all the memory they lie in. */
export function objectsLive(objects: usize): u32 {
  const spare = load<u32>(objects, O_SPARE);
  return arenaLive(arenaOf(objects)) - (spare == 0 ? 0 : arenaSize(objectAt(objects, spare - 1)) + BLOCK_HEAD);
}

export function objectsTotal(objects: usize): u32 {
  return arenaTotal(arenaOf(objects));
}

/** What a version adds to objectsLive. */
export function objectSize(objects: usize, version: u32): u32 {
  return arenaSize(objectAt(objects, version)) + <u32>BLOCK_HEAD;
}

/** Marks a version; for good, as it never changes. */
export function objectMark(objects: usize, version: u32): void {
  const at = objectAt(objects, version);
  store<u32>(at, load<u32>(at, V_FLAGS) | IS_MARKED, V_FLAGS);
}

/** How many slots have a version that is marked. Looks at all of them. */
export function objectsMarked(objects: usize): u32 {
  let marked: u32 = 0;
  const room = load<u32>(objects, O_SLOTS_ROOM);
  for (let slot: u32 = 0; slot < room; slot++) {
    const version = objectOf(objects, slot);
    if (version >= 0 && (load<u32>(objectAt(objects, <u32>version), V_FLAGS) & IS_MARKED) != 0) marked++;
  }
  return marked;
}
