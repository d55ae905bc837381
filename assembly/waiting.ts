// The waiting heap: client-go util/workqueue/delaying_queue.go on a 4-ary heap.
//
//   heap block:  |48 B unused|entry 0|entries 1-4|entries 5-8| …      an entry has 16 B (entry.ts)
//
// so that the four children of an entry fill one cache line. Entries of equal time come out in the
// order in which they went in (client-go leaves that to chance).
//
// A key's wait says until when it waits and which entry says so: only that one is live. Another
// time for the same key pushes a second entry and leaves the first one stale (a cancelled wait just
// leaves it), to be dropped when it comes up or, once stale entries outnumber live ones, all at
// once. So entries never move in the middle of the heap, and no position has to be written to a
// record at each step of a sift: those writes were random cache misses.

import { STATE_WAITING } from "./abi";
import { blockAlloc, blockFree, blockSize } from "./memory";
import { Entry, before, entryOf, isSecond, moveEntry } from "./entry";
import { waitColumn } from "./buckets";
import { Table, recordOf, waitOf } from "./record";

const FIRST_ENTRIES: u32 = 28; // with the 64 B of the front: one block of 512 B

@inline
export function entries(queue: Table): usize {
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
export function siftEntry(heap: usize, start: u32, entry: Entry): void {
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
export function removeFirst(queue: Table): void {
  const heap = entries(queue);
  const size = queue.heapSize - 1;
  queue.heapSize = size;
  if (size == 0) return;
  const last = heap + (<usize>size << 4);
  const hole = sinkHole(heap, 0, size);
  siftEntry(heap, hole, entryOf(last));
}

@inline
export function isLive(queue: Table, entry: Entry): bool {
  const wait = waitOf(queue, entry.slot);
  return (
    (recordOf(queue, entry.slot).meta & STATE_WAITING) != 0 &&
    wait.sequence == entry.sequence &&
    (queue.levels == 0 || wait.at == entry.at)
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

/** Room for one more entry, and for the wait of any key. */
export function entryReady(queue: Table): bool {
  let size = queue.heapSize;
  const capacity = queue.heapCapacity;
  if (size < capacity) return true;
  if (size > queue.waiting << 1) {
    compact(queue);
    size = queue.heapSize;
    if (size < capacity) return true;
  }
  if (!waitColumn(queue)) return false;
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

/** The entry that says from now on until when a key waits. There is room for it. */
@inline
export function pushEntry(queue: Table, slot: u32, at: f64, sequence: u32): void {
  const wait = waitOf(queue, slot);
  wait.at = at;
  wait.sequence = sequence;
  const size = queue.heapSize;
  queue.heapSize = size + 1;
  siftUp(entries(queue), size, at, slot, sequence);
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
