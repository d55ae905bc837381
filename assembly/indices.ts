// An index: value → dense set of object slots, and for each object the values it is listed under.
//
//   values: a key table (keys.ts) whose records hold the set: block of u32 object slots, how many, room for how many
//   objects: a column of 16 B by object slot, in chunks of 1024:   |count u32|value u32|position u32|room u32|
//            one value (the common case): value and position in its set stand there
//            more: `value` is a block of `room` pairs |value u32|position u32|, the lowest value first
//
// Invariants: for every pair (value, position) of an object, the value's set holds the object's
// slot at that position; a set is never empty: its value is given back with the last object
// (client-go thread_safe_store.go; kubernetes #84959 is the leak that taught it).
//
// The host replaces an object's values in three steps: indexBegin, indexPush per value,
// indexCommit. Until commit nothing is changed but values that were interned; commit reserves all
// memory first and undoes those when there is none. An object that has one value and gets another,
// as nearly all do, takes one step: indexPut.

import { blockAlloc, blockFree, blockSize } from "./memory";
import { internRead, keysFree, keysNew, release } from "./keys";
import { K_SET, K_SET_COUNT, MARKED, NO_MEMORY, NOTHING, R_LINK, R_META, T_SLOTS, keyOf, recordOf } from "./record";
import { readKey } from "./text";

const INDEX_BYTES: u32 = 64;
const I_VALUES: usize = 0; // handle of the key table of values
const I_DIR: usize = 4; // u32 address of u32[dirSize], addresses of chunks
const I_DIR_SIZE: usize = 8;
const I_CHUNKS: usize = 12;

const OBJECT_CHUNK_SHIFT: u32 = 10;
const OBJECT_CHUNK_BYTES: u32 = 16 << 10;
const O_COUNT: usize = 0;
const O_VALUE: usize = 4;
const O_POSITION: usize = 8;
const O_ROOM: usize = 12;

const LISTED: u32 = 1; // state of a value's record: it has a set
const R_SET_ROOM: usize = R_LINK; // u32: a live value's record is in no list
export const GIVEN_BACK: i32 = 0x40000000; // beside a value from indexPut

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

/** An index, or 0 when there is no memory. */
export function indexNew(): usize {
  const index = blockAlloc(INDEX_BYTES);
  if (index == 0) return 0;
  const values = keysNew();
  if (values == 0) {
    blockFree(index, INDEX_BYTES);
    return 0;
  }
  memory.fill(index, 0, INDEX_BYTES);
  store<u32>(index, <u32>values, I_VALUES);
  return index;
}

/** The key table of the index's values, for keysIntern and keysFind. */
export function indexValues(index: usize): usize {
  return <usize>load<u32>(index, I_VALUES);
}

@inline
function objectOf(index: usize, slot: u32): usize {
  return (
    <usize>load<u32>(<usize>load<u32>(index, I_DIR) + ((slot >> OBJECT_CHUNK_SHIFT) << 2)) +
    ((slot & ((1 << OBJECT_CHUNK_SHIFT) - 1)) << 4)
  );
}

@inline
function hasObject(index: usize, slot: u32): bool {
  return slot >> OBJECT_CHUNK_SHIFT < load<u32>(index, I_CHUNKS);
}

function objectReady(index: usize, slot: u32): bool {
  while (!hasObject(index, slot)) {
    const chunks = load<u32>(index, I_CHUNKS);
    const size = load<u32>(index, I_DIR_SIZE);
    if (chunks == size) {
      const larger: u32 = size == 0 ? 16 : size << 1;
      const directory = blockAlloc(larger << 2);
      if (directory == 0) return false;
      if (size != 0) {
        memory.copy(directory, <usize>load<u32>(index, I_DIR), size << 2);
        blockFree(<usize>load<u32>(index, I_DIR), size << 2);
      }
      store<u32>(index, <u32>directory, I_DIR);
      store<u32>(index, larger, I_DIR_SIZE);
    }
    const chunk = blockAlloc(OBJECT_CHUNK_BYTES);
    if (chunk == 0) return false;
    memory.fill(chunk, 0, OBJECT_CHUNK_BYTES);
    store<u32>(<usize>load<u32>(index, I_DIR) + (chunks << 2), <u32>chunk);
    store<u32>(index, chunks + 1, I_CHUNKS);
  }
  return true;
}

/** The pairs of an object, wherever they stand. */
@inline
function pairsOf(object: usize): usize {
  return load<u32>(object, O_COUNT) > 1 ? <usize>load<u32>(object, O_VALUE) : object + O_VALUE;
}

function freePairs(object: usize): void {
  if (load<u32>(object, O_COUNT) > 1) blockFree(<usize>load<u32>(object, O_VALUE), load<u32>(object, O_ROOM) << 3);
}

function freeSet(values: usize, value: u32): void {
  blockFree(<usize>load<u32>(keyOf(values, value), K_SET), load<u32>(recordOf(values, value), R_SET_ROOM) << 2);
}

export function indexFree(index: usize): void {
  const values = indexValues(index);
  const slots = load<u32>(values, T_SLOTS);
  for (let slot: u32 = 0; slot < slots; slot++) {
    if (load<u32>(recordOf(values, slot), R_META) & LISTED) freeSet(values, slot);
  }
  keysFree(values);
  const chunks = load<u32>(index, I_CHUNKS);
  const directory = <usize>load<u32>(index, I_DIR);
  for (let chunk: u32 = 0; chunk < chunks; chunk++) {
    const objects = <usize>load<u32>(directory + (chunk << 2));
    for (let i: u32 = 0; i < 1 << OBJECT_CHUNK_SHIFT; i++) freePairs(objects + (i << 4));
    blockFree(objects, OBJECT_CHUNK_BYTES);
  }
  if (directory != 0) blockFree(directory, load<u32>(index, I_DIR_SIZE) << 2);
  blockFree(index, INDEX_BYTES);
}

/** Begins to gather the values of an object, `count` at most. False: no memory. */
export function indexBegin(count: u32): bool {
  listCount = 0;
  return listReady(count);
}

/** Names a value of the object; naming it again has no effect. */
export function indexPush(index: usize, value: u32): void {
  const record = recordOf(indexValues(index), value);
  const meta = load<u32>(record, R_META);
  if (meta & MARKED) return;
  store<u32>(record, meta | MARKED, R_META);
  store<u32>(list + (listCount++ << 2), value);
}

/**
 * Takes everything back since indexBegin. Answers how many values were given back; they stand in
 * the list.
 */
export function indexAbort(index: usize): u32 {
  const values = indexValues(index);
  let given: u32 = 0;
  for (let i: u32 = 0; i < listCount; i++) {
    const value = load<u32>(list + (i << 2));
    const record = recordOf(values, value);
    const meta = load<u32>(record, R_META) & ~MARKED;
    store<u32>(record, meta, R_META);
    if (meta & LISTED) continue;
    release(values, value);
    store<u32>(list + (given++ << 2), value);
  }
  listCount = 0;
  return given;
}

/** Room for one more object in a value's set. */
function setReady(values: usize, value: u32): bool {
  const record = recordOf(values, value);
  const key = keyOf(values, value);
  const listed = (load<u32>(record, R_META) & LISTED) != 0;
  const room: u32 = listed ? load<u32>(record, R_SET_ROOM) : 0;
  const count: u32 = listed ? load<u32>(key, K_SET_COUNT) : 0;
  if (count < room) return true;
  const bytes = room == 0 ? 64 : room << 3;
  const set = blockAlloc(bytes);
  if (set == 0) return false;
  if (room != 0) {
    memory.copy(set, <usize>load<u32>(key, K_SET), count << 2);
    blockFree(<usize>load<u32>(key, K_SET), room << 2);
  }
  store<u32>(key, <u32>set, K_SET);
  store<u32>(key, count, K_SET_COUNT);
  store<u32>(record, bytes >> 2, R_SET_ROOM);
  store<u32>(record, load<u32>(record, R_META) | LISTED, R_META);
  return true;
}

/**
 * Takes an object out of the set of a value; the set's last object takes its place. True: the set
 * is now empty.
 */
function leaveSet(index: usize, value: u32, position: u32): bool {
  const key = keyOf(indexValues(index), value);
  const set = <usize>load<u32>(key, K_SET);
  const last = load<u32>(key, K_SET_COUNT) - 1;
  store<u32>(key, last, K_SET_COUNT);
  if (position != last) {
    const moved = load<u32>(set + (<usize>last << 2));
    store<u32>(set + (<usize>position << 2), moved);
    const object = objectOf(index, moved);
    // By bisection: from one end, two objects that shared 80 000 values in different orders took
    // seconds to part.
    let pair = pairsOf(object);
    let count = load<u32>(object, O_COUNT);
    while (count > 1) {
      const half = count >> 1;
      if (load<u32>(pair + (<usize>half << 3)) <= value) pair += <usize>half << 3;
      count -= half;
    }
    store<u32>(pair, position, 4);
  }
  return last == 0;
}

/** Puts an object into the set of a value, for which there is room, and says so in a pair. */
function joinSet(values: usize, value: u32, slot: u32, pair: usize): void {
  const key = keyOf(values, value);
  const position = load<u32>(key, K_SET_COUNT);
  store<u32>(key, position + 1, K_SET_COUNT);
  store<u32>(<usize>load<u32>(key, K_SET) + (<usize>position << 2), slot);
  store<u32>(pair, value);
  store<u32>(pair, position, 4);
}

/** Sorts pairs by value, as a heap: without memory, and fast in whichever order they come. */
function sortPairs(pairs: usize, count: u32): void {
  for (let i = <i32>(count >> 1) - 1; i >= 0; i--) sink(pairs, i, count, load<u64>(pairs + (<usize>i << 3)));
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
    if (below + 1 < count && load<u32>(child) < load<u32>(child, 8)) {
      child += 8;
      below++;
    }
    if (load<u32>(child) < <u32>pair) break;
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
export function indexCommit(index: usize, slot: u32): i32 {
  const values = indexValues(index);
  const wanted = listCount;
  // Reserve: the object's column, its pairs, a place in every set it may join, and room in the list
  // for values given back.
  if (!objectReady(index, slot)) return NO_MEMORY;
  const object = objectOf(index, slot);
  const old = load<u32>(object, O_COUNT);
  for (let i: u32 = 0; i < wanted; i++) if (!setReady(values, load<u32>(list + (i << 2)))) return undoSets(values);
  const pairsBytes = wanted << 3;
  const pairs: usize = wanted > 1 ? blockAlloc(pairsBytes) : 0;
  if (wanted > 1 && pairs == 0) return undoSets(values);
  if (!listReady(wanted + old)) {
    if (pairs != 0) blockFree(pairs, pairsBytes);
    return undoSets(values);
  }

  // Values that stay keep their position: copy it and unmark them, so that only new ones are still
  // marked.
  const to = pairs != 0 ? pairs : object + O_VALUE;
  const from = pairsOf(object);
  let single: u32 = 0;
  let given: u32 = 0;
  let kept: u32 = 0;
  for (let i: u32 = 0; i < old; i++) {
    const value = load<u32>(from + (i << 3));
    const record = recordOf(values, value);
    const meta = load<u32>(record, R_META);
    if (meta & MARKED) {
      store<u32>(record, meta & ~MARKED, R_META);
      const position = load<u32>(from + (i << 3), 4);
      if (pairs != 0) {
        store<u32>(pairs + (kept << 3), value);
        store<u32>(pairs + (kept << 3), position, 4);
      } else single = position;
      kept++;
    } else if (leaveSet(index, value, load<u32>(from + (i << 3), 4))) {
      freeSet(values, value);
      release(values, value);
      store<u32>(list + ((wanted + given++) << 2), value);
    }
  }
  freePairs(object);
  if (pairs == 0 && kept == 1) {
    store<u32>(object, load<u32>(list), O_VALUE);
    store<u32>(object, single, O_POSITION);
  }
  for (let i: u32 = 0; i < wanted; i++) {
    const value = load<u32>(list + (i << 2));
    const record = recordOf(values, value);
    const meta = load<u32>(record, R_META);
    if ((meta & MARKED) == 0) continue;
    store<u32>(record, meta & ~MARKED, R_META);
    joinSet(values, value, slot, to + (kept << 3));
    kept++;
  }
  store<u32>(object, wanted, O_COUNT);
  if (pairs != 0) {
    sortPairs(pairs, wanted);
    store<u32>(object, <u32>pairs, O_VALUE);
    store<u32>(object, blockSize(pairsBytes) >> 3, O_ROOM);
  }
  memory.copy(list, list + (<usize>wanted << 2), given << 2);
  listCount = 0;
  return given;
}

/**
 * Makes this the one value of the object. Answers the value's slot, with GIVEN_BACK when the one
 * before has no object any more (it stands in the list); NOTHING for an object that has several
 * values, which takes the three steps; or NO_MEMORY. After these two nothing has changed.
 */
export function indexPut(index: usize, slot: u32, text: externref): i32 {
  // Asked first: a value that was interned for nothing would have to be given back.
  if (hasObject(index, slot) && load<u32>(objectOf(index, slot), O_COUNT) > 1) return NOTHING;
  const values = indexValues(index);
  if (!readKey(values, text)) return NO_MEMORY;
  const value = internRead(values);
  return value < 0 ? value : indexPutSlot(index, slot, value);
}

/** The same for a value that has a slot. NO_MEMORY: a slot that no object has is given back. */
export function indexPutSlot(index: usize, slot: u32, value: u32): i32 {
  const values = indexValues(index);
  if (!objectReady(index, slot)) return dropUnlisted(values, value, NO_MEMORY);
  const object = objectOf(index, slot);
  const count = load<u32>(object, O_COUNT);
  if (count > 1) return dropUnlisted(values, value, NOTHING);
  const old = load<u32>(object, O_VALUE);
  if (count == 1 && old == value) return value;
  if (!listReady(1) || !setReady(values, value)) return dropUnlisted(values, value, NO_MEMORY);

  let answer: i32 = value;
  if (count == 1 && leaveSet(index, old, load<u32>(object, O_POSITION))) {
    freeSet(values, old);
    release(values, old);
    store<u32>(list, old);
    answer |= GIVEN_BACK;
  }
  joinSet(values, value, slot, object + O_VALUE);
  store<u32>(object, 1, O_COUNT);
  return answer;
}

/** Gives a value back unless some object has it. */
function dropUnlisted(values: usize, value: u32, answer: i32): i32 {
  if ((load<u32>(recordOf(values, value), R_META) & LISTED) == 0) release(values, value);
  return answer;
}

/**
 * Sets made ready for values that nobody has yet are freed again, so that indexAbort finds the
 * values as they were.
 */
function undoSets(values: usize): i32 {
  for (let i: u32 = 0; i < listCount; i++) {
    const value = load<u32>(list + (i << 2));
    const record = recordOf(values, value);
    const meta = load<u32>(record, R_META);
    if ((meta & LISTED) == 0 || load<u32>(keyOf(values, value), K_SET_COUNT) != 0) continue;
    freeSet(values, value);
    store<u32>(record, meta & ~LISTED, R_META);
  }
  return NO_MEMORY;
}

/** The first value from a slot on that an object has, or NOTHING. */
export function indexNextValue(index: usize, from: u32): i32 {
  const values = indexValues(index);
  const slots = load<u32>(values, T_SLOTS);
  for (let slot = from; slot < slots; slot++) if (load<u32>(recordOf(values, slot), R_META) & LISTED) return slot;
  return NOTHING;
}

/** The address of the u32 list that indexAbort and indexCommit speak of. */
export function indexList(): usize {
  return list;
}

/** The set of a value: its address and its count. */
export function indexSet(index: usize, value: u32): usize {
  return <usize>load<u32>(keyOf(indexValues(index), value), K_SET);
}

export function indexSetCount(index: usize, value: u32): u32 {
  return load<u32>(keyOf(indexValues(index), value), K_SET_COUNT);
}
