// The waiting heap: client-go util/workqueue/delaying_queue.go on a 4-ary heap.
//
//   heap block:  48 B unused | entry 0 | entries 1-4 | entries 5-8 | …      an entry is 16 B:  |at f64|slot u32|sequence u32|
//
// so that the four children of an entry fill one cache line. Entries of equal time come out in the
// order in which they went in (client-go leaves that to chance).
//
// A key's record says until when it waits and which entry says so: only that one is live. Another
// time for the same key pushes a second entry and leaves the first one stale (a cancelled wait just
// leaves it), to be dropped when it comes up or, once stale entries outnumber live ones, all at
// once. So entries never move in the middle of the heap, and no position has to be written to a
// record at each step of a sift: those writes were random cache misses.

import { blockAlloc, blockFree, blockSize } from "./memory";
import { Entry, before, entryOf, isSecond, moveEntry, sortEntries } from "./entry";
import { internRead, release } from "./keys";
import { readKey, readPair } from "./text";
import { addDue, leaveWaiting } from "./priority";
import { endWait, markDirty } from "./queue";
import {
  BACKOFF, NOTHING, NO_MEMORY, STATE, WAITING, Table, keyOf, peekState, recordOf,
} from "./record";

const FIRST_ENTRIES: u32 = 28; // with the 64 B of the front: one block of 512 B

@inline
function entries(queue: Table): usize {
  return queue.heap + 48;
}

function siftUp(heap: usize, start: u32, at: f64, slot: u32, sequence: u32): void {
  let hole = start;
  while (hole > 0) {
    const parent = (hole - 1) >> 2;
    const p = heap + (<usize>parent << 4);
    if (!before(at, sequence, entryOf(p))) break;
    moveEntry(heap + (<usize>hole << 4), p);
    hole = parent;
  }
  const entry = entryOf(heap + (<usize>hole << 4));
  entry.at = at;
  entry.slot = slot;
  entry.sequence = sequence;
}

@inline
function siftEntry(heap: usize, start: u32, entry: Entry): void {
  siftUp(heap, start, entry.at, entry.slot, entry.sequence);
}

@inline
function earlier(a: usize, b: usize): usize {
  return select<usize>(b, a, isSecond(a, b) != 0);
}

/**
 * Moves the hole at `start` down to a leaf, always to the first child, and returns where it ends.
 * The four children are compared without branches: which of them is first cannot be predicted.
 */
@inline
function sinkHole(heap: usize, start: u32, size: u32): u32 {
  let hole = start;
  while (true) {
    const first = (hole << 2) + 1;
    if (first >= size) return hole;
    let best = heap + (<usize>first << 4);
    if (first + 3 < size) best = earlier(earlier(best, best + 16), earlier(best + 32, best + 48));
    else for (let i = first + 1; i < size; i++) best = earlier(best, heap + (<usize>i << 4));
    moveEntry(heap + (<usize>hole << 4), best);
    hole = <u32>((best - heap) >> 4);
  }
}

/**
 * Removes the first entry: the hole sinks to a leaf, then the last entry rises from there (it
 * nearly always stays low).
 */
function removeFirst(queue: Table): void {
  const heap = entries(queue);
  const size = queue.heapSize - 1;
  queue.heapSize = size;
  if (size == 0) return;
  const last = heap + (<usize>size << 4);
  const hole = sinkHole(heap, 0, size);
  siftEntry(heap, hole, entryOf(last));
}

@inline
function isLive(queue: Table, entry: Entry): bool {
  const record = recordOf(queue, entry.slot);
  return (
    (record.meta & WAITING) != 0 &&
    record.sequence == entry.sequence &&
    (queue.levels == 0 || keyOf(queue, entry.slot).at == entry.at)
  );
}

/** Drops all stale entries and orders the rest again; they keep their times and sequence. */
function compact(queue: Table): void {
  const heap = entries(queue);
  const size = queue.heapSize;
  let kept: u32 = 0;
  for (let i: u32 = 0; i < size; i++) {
    const entry = heap + (<usize>i << 4);
    if (!isLive(queue, entryOf(entry))) continue;
    siftEntry(heap, kept++, entryOf(entry));
  }
  queue.heapSize = kept;
}

/** Room for one more entry. */
export function entryReady(queue: Table): bool {
  let size = queue.heapSize;
  const capacity = queue.heapCapacity;
  if (size < capacity) return true;
  if (size > queue.waiting << 1) {
    compact(queue);
    size = queue.heapSize;
    if (size < capacity) return true;
  }
  const old = queue.heap;
  if (capacity > 1 << 26) return false;
  const bytes = blockSize(old == 0 ? (FIRST_ENTRIES << 4) + 64 : (capacity << 5) + 64);
  const heap = blockAlloc(bytes);
  if (heap == 0) return false;
  if (old != 0) {
    memory.copy(heap + 48, old + 48, <usize>size << 4);
    blockFree(old, (capacity << 4) + 64);
  }
  queue.heap = heap;
  queue.heapCapacity = (bytes - 64) >> 4;
  return true;
}

// What a second time for a waiting key does, and beside it: the wait is a back-off.
export const KEEP_EARLIEST: u32 = 0; // client-go's way
export const KEEP_LATEST: u32 = 1; // else the new time replaces the old one
export const MODE: u32 = 3;
export const IS_BACKOFF: u32 = 4;

/** The entry that says from now on until when a key waits. There is room for it. */
@inline
export function pushEntry(queue: Table, slot: u32, at: f64, sequence: u32): void {
  keyOf(queue, slot).at = at;
  recordOf(queue, slot).sequence = sequence;
  const size = queue.heapSize;
  queue.heapSize = size + 1;
  siftUp(entries(queue), size, at, slot, sequence);
}

/** The slot when the key was idle (the host stores its item), NOTHING otherwise, NO_MEMORY. */
@inline
function wait(queue: Table, slot: u32, at: f64, how: u32): i32 {
  const record = recordOf(queue, slot);
  const key = keyOf(queue, slot);
  const meta = record.meta;
  const backoff = how & IS_BACKOFF ? BACKOFF : 0;
  if (meta & WAITING) {
    const old = key.at;
    if (backoff) record.meta = meta | BACKOFF;
    const mode = how & MODE;
    if (at == old || (mode == KEEP_EARLIEST && at > old) || (mode == KEEP_LATEST && at < old)) return NOTHING;
  } else {
    record.meta = meta | WAITING | backoff;
    queue.waiting++;
  }
  const sequence = queue.heapSequence + 1;
  queue.heapSequence = sequence;
  pushEntry(queue, slot, at, sequence);
  return meta & STATE ? NOTHING : slot;
}

@inline
function addRead(queue: Table, at: f64, how: u32): i32 {
  if (!entryReady(queue)) return NO_MEMORY;
  const slot = internRead(queue);
  return slot < 0 ? slot : wait(queue, slot, at, how);
}

export function delayAdd(queue: Table, key: externref, at: f64, how: u32): i32 {
  return readKey(queue, key) ? addRead(queue, at, how) : NO_MEMORY;
}

export function delayAddPair(queue: Table, first: externref, second: externref, at: f64, how: u32): i32 {
  return readPair(queue, first, second) ? addRead(queue, at, how) : NO_MEMORY;
}

/** For a slot that the host found by itself. */
export function delayAddSlot(queue: Table, slot: u32, at: f64, how: u32): i32 {
  return entryReady(queue) ? wait(queue, slot, at, how) : NO_MEMORY;
}

/** When the first wait ends, +Infinity when nothing waits. */
export function delayNext(queue: Table): f64 {
  while (queue.heapSize != 0) {
    const first = entryOf(entries(queue));
    if (isLive(queue, first)) return first.at;
    removeFirst(queue);
  }
  return Infinity;
}

/** Ends a wait that is due and adds the key to the queue. */
@inline
function fire(queue: Table, slot: u32, now: f64): void {
  endWait(queue, recordOf(queue, slot));
  if (queue.levels != 0) addDue(queue, slot, now);
  else markDirty(queue, slot, now);
}

// so many due keys are taken off the heap one by one before the rest is looked at
const FEW: u32 = 64;

/**
 * Takes all that is due out of the heap at once, sorts it and adds it. Worth it when that is a good
 * part of the heap: taking entries off the heap one by one walks all its levels for each, merging
 * them reads memory forward. Answers how many keys were added; 0 also when there is no memory for
 * the merge, or too little is due: then the heap is as it was.
 */
function advanceMany(queue: Table, now: f64): u32 {
  const size = queue.heapSize;
  const heap = entries(queue);
  let due: u32 = 0;
  for (let i: u32 = 0; i < size; i++) due += <u32>(entryOf(heap + (<usize>i << 4)).at <= now);
  if (due < size >> 2) return 0;
  const bytes = due << 4;
  const taken = blockAlloc(bytes);
  if (taken == 0) return 0;
  const other = blockAlloc(bytes);
  if (other == 0) {
    blockFree(taken, bytes);
    return 0;
  }
  let kept: u32 = 0;
  let to = taken;
  for (let i: u32 = 0; i < size; i++) {
    const entry = heap + (<usize>i << 4);
    if (entryOf(entry).at <= now) {
      moveEntry(to, entry);
      to += 16;
    } else {
      siftEntry(heap, kept++, entryOf(entry));
    }
  }
  queue.heapSize = kept;
  const sorted = sortEntries(taken, other, due);
  let count: u32 = 0;
  const end = sorted + bytes;
  for (let entry = sorted; entry < end; entry += 16) {
    // A record some entries ahead is loaded already, so that the cache misses overlap (see
    // touchAhead in queue.ts).
    const ahead = min(entry + 8 * 16, end - 16);
    queue.touched = peekState(recordOf(queue, entryOf(ahead).slot));
    if (!isLive(queue, entryOf(entry))) continue;
    const slot = entryOf(entry).slot;
    fire(queue, slot, now);
    count++;
  }
  blockFree(taken, bytes);
  blockFree(other, bytes);
  return count;
}

/**
 * Adds every key whose wait has ended to the queue, in the order of their times, and says how many
 * that were.
 */
export function delayAdvance(queue: Table, now: f64): u32 {
  let count: u32 = 0;
  while (delayNext(queue) <= now) {
    if (count == FEW) count += advanceMany(queue, now);
    if (queue.heapSize == 0 || delayNext(queue) > now) break;
    const slot = entryOf(entries(queue)).slot;
    removeFirst(queue);
    fire(queue, slot, now);
    count++;
  }
  return count;
}

/**
 * delayAdvance of a priority queue, one by one: adds the first key whose wait has ended and answers
 * its slot, or NOTHING.
 */
export function delayFire(queue: Table, now: f64): i32 {
  if (!(delayNext(queue) <= now) || queue.heapSize == 0) return NOTHING;
  const slot = entryOf(entries(queue)).slot;
  removeFirst(queue);
  endWait(queue, recordOf(queue, slot));
  addDue(queue, slot, now);
  return slot;
}

/**
 * Added to the slot that delayPop and delayCancel answer: the key is otherwise idle, and its slot
 * has been given back.
 */
export const POP_RELEASED: i32 = 0x40000000;

/**
 * Ends the first wait that is due, for hosts that add the key themselves: its slot, or NOTHING.
 * +Infinity ends any wait.
 */
export function delayPop(queue: Table, now: f64): i32 {
  if (queue.heapSize == 0 || !(delayNext(queue) <= now) || queue.heapSize == 0) return NOTHING;
  const slot = entryOf(entries(queue)).slot;
  removeFirst(queue);
  return forgetWait(queue, slot);
}

@inline
function forgetWait(queue: Table, slot: u32): i32 {
  if (queue.levels != 0) leaveWaiting(queue, slot);
  if ((endWait(queue, recordOf(queue, slot)) & STATE) != 0) return slot;
  release(queue, slot);
  return slot | POP_RELEASED;
}

/** Takes a delayed add back: the slot, or NOTHING when its key does not wait. */
export function delayCancel(queue: Table, slot: u32): i32 {
  return (recordOf(queue, slot).meta & WAITING) == 0 ? NOTHING : forgetWait(queue, slot);
}

/** When the wait of a slot ends; only while it waits. */
export function delayUntil(queue: Table, slot: u32): f64 {
  return keyOf(queue, slot).at;
}

export function delayWaiting(queue: Table): u32 {
  return queue.waiting;
}
