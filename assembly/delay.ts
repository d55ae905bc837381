// Delayed adds: a key waits in the heap of waiting.ts until its time, and is then added to the
// queue.

import {
  NOTHING, NO_MEMORY, SLOT_FLAG, STATE_WAITING, WAIT_EARLIEST, WAIT_IS_BACKOFF, WAIT_LATEST,
  WAIT_MODE,
} from "./abi";
import { blockAlloc, blockFree } from "./memory";
import { release } from "./buckets";
import { sameHash, searchHash, takeHashed } from "./hosted";
import { entryOf, moveEntry, sortEntries } from "./entry";
import { endWait } from "./states";
import {
  delayNext, entries, entryReady, isLive, pushEntry, removeFirst, siftEntry,
} from "./waiting";
import { addDue, leaveWaiting } from "./priority";
import { markDirty } from "./queue";
import { STATE_BACKOFF, STATE_MASK, Table, peekState, recordOf, waitOf } from "./record";

/** The slot when the key was idle (the host stores its item), NOTHING otherwise, NO_MEMORY. */
@inline
function wait(queue: Table, slot: u32, at: f64, how: u32): i32 {
  const record = recordOf(queue, slot);
  const meta = record.meta;
  const backoff = how & WAIT_IS_BACKOFF ? STATE_BACKOFF : 0;
  if (meta & STATE_WAITING) {
    const old = waitOf(queue, slot).at;
    if (backoff) record.meta = meta | STATE_BACKOFF;
    const mode = how & WAIT_MODE;
    if (at == old) return NOTHING;
    if ((mode == WAIT_EARLIEST && at > old) || (mode == WAIT_LATEST && at < old)) return NOTHING;
  } else {
    record.meta = meta | STATE_WAITING | backoff;
    queue.waiting++;
  }
  const sequence = queue.heapSequence + 1;
  queue.heapSequence = sequence;
  pushEntry(queue, slot, at, sequence);
  return meta & STATE_MASK ? NOTHING : slot;
}

/** For a key of the host's by its hash, as queueAddHash. */
export function delayAddHash(queue: Table, hash: u32, at: f64, how: u32): i32 {
  if (!entryReady(queue)) return NO_MEMORY;
  const found = searchHash(queue, hash);
  if (found >= 0) return sameHash(found, false);
  const slot = takeHashed(queue, hash, ~found);
  return slot < 0 ? slot : wait(queue, slot, at, how);
}

/** For a slot that the host found by itself. */
export function delayAddSlot(queue: Table, slot: u32, at: f64, how: u32): i32 {
  return entryReady(queue) ? wait(queue, slot, at, how) : NO_MEMORY;
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
    queue.touched = <u32>peekState(recordOf(queue, entryOf(ahead).slot));
    if (!isLive(queue, entryOf(entry))) continue;
    const slot = entryOf(entry).slot;
    fire(queue, slot, now);
    count++;
  }
  blockFree(taken, bytes);
  blockFree(other, bytes);
  return count;
}

/** Adds every key whose wait has ended, in the order of their times. Answers how many. */
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
 * Ends the first wait that is due, for hosts that add the key themselves: its slot, with SLOT_FLAG
 * when the key was otherwise idle and the slot was given back; or NOTHING. +Infinity ends any wait.
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
  if ((endWait(queue, recordOf(queue, slot)) & STATE_MASK) != 0) return slot;
  release(queue, slot);
  return slot | SLOT_FLAG;
}

/** Cancels a delayed add: the slot, as from delayPop, or NOTHING when its key does not wait. */
export function delayCancel(queue: Table, slot: u32): i32 {
  return (recordOf(queue, slot).meta & STATE_WAITING) == 0 ? NOTHING : forgetWait(queue, slot);
}

/** When the wait of a slot ends; only while it waits. */
export function delayUntil(queue: Table, slot: u32): f64 {
  return waitOf(queue, slot).at;
}

export function delayWaiting(queue: Table): u32 {
  return queue.waiting;
}
