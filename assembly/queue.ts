// The work queue: client-go's dirty and processing sets as bits of a key's record, its FIFO as a
// ring of slots.
//
// Invariants, as in client-go util/workqueue/queue.go:
// - a key in the ring is dirty and not processing; a dirty key that is not processing is in the
//   ring, or in the host's order where the host keeps one;
// - a key that is processing is not in it: done() puts it back if it has become dirty meanwhile;
// - a key with no state bit has no slot.
// The ready keys of a priority queue stand in levels instead (priority.ts): it has no ring.
//
// done() and the firing of delays never need memory: the ring has room for every slot.
//
// Timed queues also keep when each key became dirty and when it was handed out, chain the keys
// being processed in the order in which they were handed out (the first is the longest running),
// and count for the metrics.

import {
  ADD_ENDS_WAIT, ADD_KEEPS_BACKOFF, DONE_KEPT, DONE_RELEASED, DONE_REQUEUED, DONE_UNKNOWN, NOTHING,
  NO_MEMORY, ORDER_BY_LEVEL, ORDER_LISTED, SLOT_FLAG, STATE_DIRTY, STATE_PINNED, STATE_PROCESSING,
  STATE_WAITING,
} from "./abi";
import { blockAlloc, blockFree } from "./memory";
import { keysFree, release, tableNew, timeColumn, waitColumn } from "./buckets";
import { sameHash, searchHash, takeHashed } from "./hosted";
import { ringAt, ringFree, ringNew, ringPush } from "./ring";
import { Levels, levelsFree, levelsNew } from "./levels";
import { STATS_BYTES, QueueStats, bucketOf, endTimes, endWait, startProcessing } from "./states";
import { addPlain, backInLine, takeByLevel } from "./priority";
import { STATE_BACKOFF, STATE_MASK, KeyState, Table, peekState, recordOf, timesOf } from "./record";

/**
 * A queue, or null when there is no memory. order: ORDER_LISTED, ORDER_BY_LEVEL, or ORDER_BY_HOST,
 * where the host keeps the ready slots and chooses by queueTake.
 */
export function queueNew(timed: bool, order: u32): Table | null {
  const queue = tableNew(false);
  if (queue === null) return null;
  queue.order = <u8>order;
  if (order == ORDER_LISTED && !ringNew(queue)) {
    keysFree(queue);
    return null;
  }
  if (!timed) return queue;
  const stats = blockAlloc(STATS_BYTES);
  if (stats != 0 && timeColumn(queue)) {
    memory.fill(stats, 0, STATS_BYTES);
    queue.stats = stats;
    return queue;
  }
  if (stats != 0) blockFree(stats, STATS_BYTES);
  ringFree(queue);
  keysFree(queue);
  return null;
}

export function queueFree(queue: Table): void {
  const stats = queue.stats;
  if (stats != 0) blockFree(stats, STATS_BYTES);
  const heap = queue.heap;
  if (heap != 0) blockFree(heap, (queue.heapCapacity << 4) + 64);
  const levels = queue.levels;
  if (levels != 0) levelsFree(changetype<Levels>(levels));
  ringFree(queue);
  keysFree(queue);
}

/** A priority queue, or null when there is no memory. everyMs: aging (priority.ts); 0: none. */
export function priorityNew(timed: bool, everyMs: f64): Table | null {
  const queue = queueNew(timed, ORDER_BY_LEVEL);
  if (queue === null) return null;
  const levels = levelsNew(everyMs);
  if (levels !== null && (timed || timeColumn(queue)) && waitColumn(queue)) {
    queue.levels = changetype<usize>(levels);
    return queue;
  }
  if (levels !== null) levelsFree(levels);
  queueFree(queue);
  return null;
}

@inline
function pushReady(queue: Table, slot: u32): void {
  const order = queue.order;
  if (order != ORDER_LISTED) {
    if (order == ORDER_BY_LEVEL) backInLine(queue, slot);
    return;
  }
  ringPush(queue, slot);
}

/**
 * Makes a slot's key dirty. NOTHING: it was dirty already, or its back-off goes on; else the slot,
 * with SLOT_FLAG when done() will queue it.
 */
@inline
export function markDirty(queue: Table, slot: u32, now: f64): i32 {
  return queue.levels != 0
    ? addPlain(queue, slot, now)
    : markRecord(queue, slot, recordOf(queue, slot), now);
}

/** As above, for a queue without levels. */
@inline
export function markRecord(queue: Table, slot: u32, record: KeyState, now: f64): i32 {
  let meta = record.meta;
  if (meta & STATE_WAITING) {
    const rules = queue.rules;
    if (rules & ADD_KEEPS_BACKOFF && meta & STATE_BACKOFF) return NOTHING;
    if (rules & ADD_ENDS_WAIT) meta = endWait(queue, record);
  }
  if (meta & STATE_DIRTY) return NOTHING;
  record.meta = meta | STATE_DIRTY;
  queue.dirty++;
  const stats = queue.stats;
  if (stats != 0) {
    changetype<QueueStats>(stats).adds++;
    timesOf(queue, slot).added = now;
  }
  if (meta & STATE_PROCESSING) return slot | SLOT_FLAG;
  pushReady(queue, slot);
  return slot;
}

/**
 * For a key of the host's by its hash. It is new: its slot, which is ready, or NO_MEMORY; CROWDED;
 * or SAME_HASH, and nothing was changed.
 */
export function queueAddHash(queue: Table, hash: u32, now: f64): i32 {
  const found = searchHash(queue, hash);
  return found >= 0 ? knownHash(queue, found) : addHash(queue, hash, ~found, now);
}

@inline
function knownHash(queue: Table, slot: u32): i32 {
  const meta = recordOf(queue, slot).meta;
  return sameHash(
    slot, (meta & (STATE_DIRTY | STATE_WAITING)) == STATE_DIRTY && queue.levels == 0,
  );
}

function addHash(queue: Table, hash: u32, free: u32, now: f64): i32 {
  const slot = takeHashed(queue, hash, free);
  return slot < 0 ? slot : markDirty(queue, slot, now);
}

/**
 * For a slot of a key that the host has found. NOTHING: the key was dirty already; else the slot
 * whose item the host stores, see markDirty.
 */
export function queueAddSlot(queue: Table, slot: u32, now: f64): i32 {
  return markDirty(queue, slot, now);
}

// So many keys at a time; a power of two.
const AHEAD: u32 = 16;

/**
 * Loads what the calls to come will need, long before they do: the states of keys to come, and the
 * buckets, which done() empties, of those before them. Where keys come out in another order than
 * they went in, each is a cache miss. So many at once overlap with each other; one by one, each
 * held up the processor until it came. WebAssembly has no prefetch, so the loads end in a word that
 * is never read.
 */
function touchAhead(queue: Table, head: u32): void {
  let touched: u64 = 0;
  for (let i = head; i != head + AHEAD; i++) {
    touched ^= peekState(recordOf(queue, ringAt(queue, i + AHEAD)));
    touched ^= bucketOf(queue, recordOf(queue, ringAt(queue, i)));
  }
  queue.touched = <u32>touched;
}

/** Hands out the first ready key: its slot, or NOTHING. */
@inline
export function takeFirst(queue: Table, now: f64): i32 {
  const head = queue.head;
  const ready = queue.tail - head;
  if (ready == 0) return queue.levels == 0 ? NOTHING : takeByLevel(queue, now);
  const slot = ringAt(queue, head);
  const record = recordOf(queue, slot);
  queue.head = head + 1;
  if ((head & (AHEAD - 1)) == 0 && ready >= 2 * AHEAD) touchAhead(queue, head);
  startProcessing(queue, slot, record, now);
  return slot;
}

export function queueGet(queue: Table, now: f64): i32 {
  return takeFirst(queue, now);
}

/** Hands out the key that the host has chosen. False: that key is not ready. */
export function queueTake(queue: Table, slot: u32, now: f64): bool {
  const record = recordOf(queue, slot);
  if ((record.meta & (STATE_DIRTY | STATE_PROCESSING)) != STATE_DIRTY) return false;
  startProcessing(queue, slot, record, now);
  return true;
}

/** Ends the processing of a slot. */
@inline
export function endProcessing(queue: Table, slot: u32, record: KeyState, now: f64): i32 {
  const meta = record.meta;
  if ((meta & STATE_PROCESSING) == 0) return DONE_UNKNOWN;
  record.meta = meta & ~STATE_PROCESSING;
  queue.processing--;
  if (queue.stats != 0) endTimes(queue, slot, now);
  if (meta & STATE_DIRTY) {
    pushReady(queue, slot);
    return DONE_REQUEUED;
  }
  if (meta & (STATE_WAITING | STATE_PINNED)) return DONE_KEPT;
  release(queue, slot);
  return DONE_RELEASED;
}

export function queueDoneSlot(queue: Table, slot: u32, now: f64): i32 {
  return endProcessing(queue, slot, recordOf(queue, slot), now);
}

/** Sets what an add does to a wait of the same key: ADD_ENDS_WAIT, ADD_KEEPS_BACKOFF. */
export function queueRules(queue: Table, rules: u32): void {
  queue.rules = <u8>rules;
}

/** The state bits of a slot, 0 when it is free. */
export function queueState(queue: Table, slot: u32): u32 {
  return recordOf(queue, slot).meta & STATE_MASK;
}

/**
 * How many keys are ready; in a priority queue, as in controller-runtime, also those that will be
 * when they are done.
 */
export function queueLen(queue: Table): u32 {
  return queue.levels == 0 ? queue.tail - queue.head : queue.dirty;
}

export function queueProcessing(queue: Table): u32 {
  return queue.processing;
}

/**
 * client-go's depth metric: it counts a key from the moment it is dirty, also while it is still
 * being processed.
 */
export function queueDepth(queue: Table): u32 {
  return queue.dirty;
}

/** The address of the counters of a timed queue. */
export function queueStats(queue: Table): usize {
  return queue.stats;
}

/** Seconds that all keys in processing have taken so far, added up. */
export function queueUnfinished(queue: Table, now: f64): f64 {
  let sum: f64 = 0;
  for (let at = queue.longest; at != 0; ) {
    const times = timesOf(queue, at - 1);
    sum += max(now - times.started, 0);
    at = times.after;
  }
  return sum / 1000;
}

/** Seconds that the longest running key has taken so far; 0 when none is running. */
export function queueLongest(queue: Table, now: f64): f64 {
  const longest = queue.longest;
  return longest == 0 ? 0 : max(now - timesOf(queue, longest - 1).started, 0) / 1000;
}
