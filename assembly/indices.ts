// An index: value → dense set of object slots, and for each object the values it is listed under.
//
//   values:  a key table (keys.ts) whose records hold the set: block of u32 object slots, their
//            count, and the room of the block
//   objects: a column of 16 B by object slot, in chunks of 1024:
//            |count u32|value u32|position u32|room u32|
//            one value (the common case): value and position in its set
//            more: `value` is a block of `room` pairs |value u32|position u32|, lowest value first
//
// Invariants: for every pair (value, position) of an object, the value's set holds the object's
// slot at that position; a set is never empty: its value is given back with the last object
// (client-go thread_safe_store.go; kubernetes #84959 was a leak of empty sets).
//
// The host replaces an object's values in three steps: indexBegin, indexPush per value,
// indexCommit. Until commit nothing is changed but values that were interned; commit reserves all
// memory first and undoes those when there is none. An object that has one value and gets another,
// as nearly all do, takes one step: indexPut.
//
// Raw loads and stores: a pair moved as one u64, and the list of values, bare u32.

import { NOTHING, NO_MEMORY, SLOT_FLAG } from "./abi";
import { blockAlloc, blockFree, blockSize, setWord, wordAt } from "./memory";
import { keysFree, release } from "./buckets";
import { intern, keysNew } from "./keys";
import { STATE_MARKED, KeyText, Table, keyOf, recordOf } from "./record";
import { readKey } from "./text";

const INDEX_BYTES: u32 = 64;

/** The header of an index: |values u32|directory u32|directorySize u32|chunks u32|. */
@unmanaged
export class Index {
  values: Table; // the key table of values
  directory: usize; // of u32[directorySize], addresses of chunks
  directorySize: u32;
  chunks: u32;
}

const OBJECT_CHUNK_SHIFT: u32 = 10;
const OBJECT_CHUNK_BYTES: u32 = 16 << 10;

/** The values of an object; drawn at the top of the file. */
@unmanaged
class Listed {
  count: u32;
  value: u32; // the one value, or where the block of pairs is
  position: u32; // of the object in the set of its one value
  room: u32; // of the block of pairs
}

/** A value of an object, and the object's position in the value's set: |value u32|position u32|. */
@unmanaged
class Pair {
  value: u32;
  position: u32;
}

const LISTED: u32 = 1; // state of a value's record: it has a set

// Slots of values, gathered by indexPush and, after a commit, the values that were given back.
let list: usize = 0;
let listRoom: u32 = 0;
let listCount: u32 = 0;

/** Room for `count` slots in all. */
function listReady(count: u32): bool {
  if (count <= listRoom) return true;
  const bytes = max(count << 2, 256);
  const larger = blockAlloc(bytes);
  if (larger == 0) return false;
  if (list != 0) {
    memory.copy(larger, list, listCount << 2);
    blockFree(list, listRoom << 2);
  }
  list = larger;
  listRoom = blockSize(bytes) >> 2;
  return true;
}

/** An index, or null when there is no memory. */
export function indexNew(): Index | null {
  const block = blockAlloc(INDEX_BYTES);
  if (block == 0) return null;
  const values = keysNew();
  if (values === null) {
    blockFree(block, INDEX_BYTES);
    return null;
  }
  memory.fill(block, 0, INDEX_BYTES);
  const index = changetype<Index>(block);
  index.values = values;
  return index;
}

/** The key table of the index's values, for keysIntern and keysFind. */
export function indexValues(index: Index): Table {
  return index.values;
}

@inline
function objectOf(index: Index, slot: u32): Listed {
  return changetype<Listed>(
    <usize>wordAt(index.directory, slot >> OBJECT_CHUNK_SHIFT) +
    ((slot & ((1 << OBJECT_CHUNK_SHIFT) - 1)) << 4)
  );
}

@inline
function hasObject(index: Index, slot: u32): bool {
  return slot >> OBJECT_CHUNK_SHIFT < index.chunks;
}

function objectReady(index: Index, slot: u32): bool {
  while (!hasObject(index, slot)) {
    const chunks = index.chunks;
    const size = index.directorySize;
    if (chunks == size) {
      const larger: u32 = size == 0 ? 16 : size << 1;
      const directory = blockAlloc(larger << 2);
      if (directory == 0) return false;
      if (size != 0) {
        memory.copy(directory, index.directory, size << 2);
        blockFree(index.directory, size << 2);
      }
      index.directory = directory;
      index.directorySize = larger;
    }
    const chunk = blockAlloc(OBJECT_CHUNK_BYTES);
    if (chunk == 0) return false;
    memory.fill(chunk, 0, OBJECT_CHUNK_BYTES);
    setWord(index.directory, chunks, <u32>chunk);
    index.chunks = chunks + 1;
  }
  return true;
}

/** The pair of an object with one value. */
@inline
function singleOf(object: Listed): usize {
  return changetype<usize>(object) + offsetof<Listed>("value");
}

/** The pairs of an object, wherever they stand. */
@inline
function pairsOf(object: Listed): usize {
  return object.count > 1 ? <usize>object.value : singleOf(object);
}

@inline
function pairAt(pairs: usize, index: u32): Pair {
  return changetype<Pair>(pairs + (<usize>index << 3));
}

/** The set of a value is in the record of its key. */
@inline
function setOf(values: Table, value: u32): KeyText {
  return keyOf(values, value);
}

function freePairs(object: Listed): void {
  if (object.count > 1) blockFree(<usize>object.value, object.room << 3);
}

function freeSet(values: Table, value: u32): void {
  const set = setOf(values, value);
  blockFree(set.members, set.room << 2);
}

export function indexFree(index: Index): void {
  const values = indexValues(index);
  const slots = values.slots;
  for (let slot: u32 = 0; slot < slots; slot++) {
    if (recordOf(values, slot).meta & LISTED) freeSet(values, slot);
  }
  keysFree(values);
  const chunks = index.chunks;
  const directory = index.directory;
  for (let chunk: u32 = 0; chunk < chunks; chunk++) {
    const objects = <usize>wordAt(directory, chunk);
    for (let i: u32 = 0; i < 1 << OBJECT_CHUNK_SHIFT; i++) {
      freePairs(changetype<Listed>(objects + (i << 4)));
    }
    blockFree(objects, OBJECT_CHUNK_BYTES);
  }
  if (directory != 0) blockFree(directory, index.directorySize << 2);
  blockFree(changetype<usize>(index), INDEX_BYTES);
}

/** Begins to gather the values of an object, `count` at most. False: no memory. */
export function indexBegin(count: u32): bool {
  listCount = 0;
  return listReady(count);
}

/** Names a value of the object; naming it again has no effect. */
export function indexPush(index: Index, value: u32): void {
  const record = recordOf(indexValues(index), value);
  const meta = record.meta;
  if (meta & STATE_MARKED) return;
  record.meta = meta | STATE_MARKED;
  setWord(list, listCount++, value);
}

/**
 * Takes everything back since indexBegin. Answers how many values were given back; they stand in
 * the list.
 */
export function indexAbort(index: Index): u32 {
  const values = indexValues(index);
  let given: u32 = 0;
  for (let i: u32 = 0; i < listCount; i++) {
    const value = wordAt(list, i);
    const record = recordOf(values, value);
    const meta = record.meta & ~STATE_MARKED;
    record.meta = meta;
    if (meta & LISTED) continue;
    release(values, value);
    setWord(list, given++, value);
  }
  listCount = 0;
  return given;
}

/** Room for one more object in a value's set. */
function setReady(values: Table, value: u32): bool {
  const record = recordOf(values, value);
  const set = setOf(values, value);
  const listed = (record.meta & LISTED) != 0;
  const room: u32 = listed ? set.room : 0;
  const count: u32 = listed ? set.count : 0;
  if (count < room) return true;
  const bytes = room == 0 ? 64 : room << 3;
  const members = blockAlloc(bytes);
  if (members == 0) return false;
  if (room != 0) {
    memory.copy(members, set.members, count << 2);
    blockFree(set.members, room << 2);
  }
  set.members = members;
  set.count = count;
  set.room = bytes >> 2;
  record.meta |= LISTED;
  return true;
}

/**
 * Takes an object out of the set of a value; the set's last object takes its place. True: the set
 * is now empty.
 */
function leaveSet(index: Index, value: u32, position: u32): bool {
  const set = setOf(index.values, value);
  const members = set.members;
  const last = set.count - 1;
  set.count = last;
  if (position != last) {
    const moved = wordAt(members, last);
    setWord(members, position, moved);
    const object = objectOf(index, moved);
    // By bisection: from one end, two objects that shared 80 000 values in different orders took
    // seconds to part.
    let pairs = pairsOf(object);
    let count = object.count;
    while (count > 1) {
      const half = count >> 1;
      if (pairAt(pairs, half).value <= value) pairs += <usize>half << 3;
      count -= half;
    }
    pairAt(pairs, 0).position = position;
  }
  return last == 0;
}

/** Puts an object into the set of a value, which has room for it, and writes the pair. */
function joinSet(values: Table, value: u32, slot: u32, pair: Pair): void {
  const set = setOf(values, value);
  const position = set.count;
  set.count = position + 1;
  setWord(set.members, position, slot);
  pair.value = value;
  pair.position = position;
}

/** Sorts pairs by value, as a heap: without memory, and fast in whichever order they come. */
function sortPairs(pairs: usize, count: u32): void {
  for (let i = <i32>(count >> 1) - 1; i >= 0; i--) {
    sink(pairs, i, count, load<u64>(pairs + (<usize>i << 3)));
  }
  while (count > 1) {
    count--;
    const end = pairs + (<usize>count << 3);
    const pair = load<u64>(end);
    store<u64>(end, load<u64>(pairs));
    sink(pairs, 0, count, pair);
  }
}

function sink(pairs: usize, at: u32, count: u32, pair: u64): void {
  for (let below: u32 = (at << 1) + 1; below < count; below = (at << 1) + 1) {
    let child = pairs + (<usize>below << 3);
    if (below + 1 < count && pairAt(child, 0).value < pairAt(child, 1).value) {
      child += 8;
      below++;
    }
    if (pairAt(child, 0).value < <u32>pair) break;
    store<u64>(pairs + (<usize>at << 3), load<u64>(child));
    at = below;
  }
  store<u64>(pairs + (<usize>at << 3), pair);
}

/**
 * Makes the values pushed since indexBegin the values of the object, and only those. Answers how
 * many values were given back because no object has them any more (they stand in the list, see
 * indexList), or NO_MEMORY: then indexAbort.
 */
export function indexCommit(index: Index, slot: u32): i32 {
  const values = indexValues(index);
  const wanted = listCount;
  // Reserve: the object's column, its pairs, a place in every set it may join, and room in the list
  // for values given back.
  if (!objectReady(index, slot)) return NO_MEMORY;
  const object = objectOf(index, slot);
  const old = object.count;
  for (let i: u32 = 0; i < wanted; i++) {
    if (!setReady(values, wordAt(list, i))) return undoSets(values);
  }
  const pairsBytes = wanted << 3;
  const pairs: usize = wanted > 1 ? blockAlloc(pairsBytes) : 0;
  if (wanted > 1 && pairs == 0) return undoSets(values);
  if (!listReady(wanted + old)) {
    if (pairs != 0) blockFree(pairs, pairsBytes);
    return undoSets(values);
  }

  // Values that stay keep their position: copy it and unmark them, so that only new ones are still
  // marked.
  const to = pairs != 0 ? pairs : singleOf(object);
  const from = pairsOf(object);
  let single: u32 = 0;
  let given: u32 = 0;
  let kept: u32 = 0;
  for (let i: u32 = 0; i < old; i++) {
    const pair = pairAt(from, i);
    const value = pair.value;
    const record = recordOf(values, value);
    const meta = record.meta;
    if (meta & STATE_MARKED) {
      record.meta = meta & ~STATE_MARKED;
      if (pairs != 0) {
        const copy = pairAt(pairs, kept);
        copy.value = value;
        copy.position = pair.position;
      } else single = pair.position;
      kept++;
    } else if (leaveSet(index, value, pair.position)) {
      freeSet(values, value);
      release(values, value);
      setWord(list, wanted + given++, value);
    }
  }
  freePairs(object);
  if (pairs == 0 && kept == 1) {
    object.value = load<u32>(list);
    object.position = single;
  }
  for (let i: u32 = 0; i < wanted; i++) {
    const value = wordAt(list, i);
    const record = recordOf(values, value);
    const meta = record.meta;
    if ((meta & STATE_MARKED) == 0) continue;
    record.meta = meta & ~STATE_MARKED;
    joinSet(values, value, slot, pairAt(to, kept));
    kept++;
  }
  object.count = wanted;
  if (pairs != 0) {
    sortPairs(pairs, wanted);
    object.value = <u32>pairs;
    object.room = blockSize(pairsBytes) >> 3;
  }
  memory.copy(list, list + (<usize>wanted << 2), given << 2);
  listCount = 0;
  return given;
}

/**
 * Makes this the one value of the object. Answers the value's slot, with SLOT_FLAG when the one
 * before has no object any more (it stands in the list); NOTHING for an object that has several
 * values, which takes the three steps; or NO_MEMORY. After these two nothing has changed.
 */
export function indexPut(index: Index, slot: u32, text: externref): i32 {
  // Checked first: a value that was interned for nothing would have to be given back.
  if (hasObject(index, slot) && changetype<Listed>(objectOf(index, slot)).count > 1) return NOTHING;
  const values = indexValues(index);
  const value = intern(values, readKey(values, text));
  return value < 0 ? value : indexPutSlot(index, slot, value);
}

/** The same for a value that has a slot. NO_MEMORY: a slot that no object has is given back. */
export function indexPutSlot(index: Index, slot: u32, value: u32): i32 {
  const values = indexValues(index);
  if (!objectReady(index, slot)) return dropUnlisted(values, value, NO_MEMORY);
  const object = objectOf(index, slot);
  const count = object.count;
  if (count > 1) return dropUnlisted(values, value, NOTHING);
  const old = object.value;
  if (count == 1 && old == value) return value;
  if (!listReady(1) || !setReady(values, value)) return dropUnlisted(values, value, NO_MEMORY);

  let answer: i32 = value;
  if (count == 1 && leaveSet(index, old, object.position)) {
    freeSet(values, old);
    release(values, old);
    store<u32>(list, old);
    answer |= SLOT_FLAG;
  }
  joinSet(values, value, slot, pairAt(singleOf(object), 0));
  object.count = 1;
  return answer;
}

/** Gives a value back unless an object has it. */
function dropUnlisted(values: Table, value: u32, answer: i32): i32 {
  if ((recordOf(values, value).meta & LISTED) == 0) release(values, value);
  return answer;
}

/**
 * Frees the sets that were made for values that no object has, so that indexAbort finds the values
 * as they were.
 */
function undoSets(values: Table): i32 {
  for (let i: u32 = 0; i < listCount; i++) {
    const value = wordAt(list, i);
    const record = recordOf(values, value);
    const meta = record.meta;
    if ((meta & LISTED) == 0 || setOf(values, value).count != 0) continue;
    freeSet(values, value);
    record.meta = meta & ~LISTED;
  }
  return NO_MEMORY;
}

/** The first value from a slot on that an object has, or NOTHING. */
export function indexNextValue(index: Index, from: u32): i32 {
  const values = indexValues(index);
  const slots = values.slots;
  for (let slot = from; slot < slots; slot++) if (recordOf(values, slot).meta & LISTED) return slot;
  return NOTHING;
}

/** The address of the u32 list of values that indexAbort and indexCommit gave back. */
export function indexList(): usize {
  return list;
}

/** The set of a value: its address and its count. */
export function indexSet(index: Index, value: u32): usize {
  return setOf(indexValues(index), value).members;
}

export function indexSetCount(index: Index, value: u32): u32 {
  return setOf(indexValues(index), value).count;
}
