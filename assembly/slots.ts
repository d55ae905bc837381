// Slots in the host's hands, and many keys in one crossing.
//
// A slot that the host gets is its number in 22 bits below the 10 bits of its generation, which is
// counted when a slot is given back after the host got it. Every call here compares the two, so a
// slot that outlived its key is STALE and nothing is done: it would be another key's by now. (After
// 1024 such turns of one slot a number comes again.)
//
// Batches are passed in a block that the host reads and writes: no key crosses, so a batch costs
// one call and a copy.

import { blockAlloc, blockFree, blockSize } from "./memory";
import { release } from "./keys";
import { addPlain } from "./priority";
import { DONE_RELEASED, DONE_REQUEUED, NOT_READY, bucketOf, endProcessing, markDirty, markRecord, takeFirst } from "./queue";
import {
  DIRTY, GENERATIONS, ISSUED, M_ADDED, M_STARTED, NOTHING, PINNED, PROCESSING, Q_DIRTY, Q_HEAD, Q_HOST_ORDER, Q_LEVELS, Q_PROCESSING, Q_RING,
  Q_RING_MASK, Q_RULES, Q_STATS,
  Q_TAIL, Q_TOUCHED, R_META, STALE, STATE, T_SLOTS, WAITING, recordOf, timesOf,
} from "./record";

/**
 * Slots from here on have no number for the host: what calls answer instead of a slot must never be
 * one.
 */
export const SLOT_LIMIT: u32 = (1 << 22) - 8;
const NUMBER: u32 = ~GENERATIONS;

let block: usize = 0;
let blockBytes: u32 = 0;

/**
 * The block for batches of `count` slots, or 0 when there is no memory. It stays where it is until
 * a larger one is asked for.
 */
export function slotsBlock(count: u32): usize {
  const bytes = count << 2;
  if (count > 1 << 26) return 0;
  if (bytes > blockBytes) {
    const larger = blockAlloc(max(bytes, 4096));
    if (larger == 0) return 0;
    if (block != 0) blockFree(block, blockBytes);
    block = larger;
    blockBytes = blockSize(max(bytes, 4096));
  }
  return block;
}

/** The record when the host's slot still stands for its key, else 0. */
@inline
function freshRecord(queue: usize, token: u32): usize {
  const slot = token & NUMBER;
  if (slot >= load<u32>(queue, T_SLOTS)) return 0;
  const record = recordOf(queue, slot);
  const meta = load<u32>(record, R_META);
  return (meta & STATE) != 0 && ((meta ^ token) & GENERATIONS) == 0 ? record : 0;
}

/** The host's slot for a number below SLOT_LIMIT; from now on its generation counts. */
@inline
function issue(queue: usize, slot: u32): u32 {
  const record = recordOf(queue, slot);
  const meta = load<u32>(record, R_META) | ISSUED;
  store<u32>(record, meta, R_META);
  return (meta & GENERATIONS) | slot;
}

/** What the host calls a slot that it knows by its number. */
export function slotIssue(queue: usize, slot: u32): u32 {
  return issue(queue, slot);
}

/**
 * Keeps the slot for its key until slotUnpin, and answers what the host calls it. Pinned again: the
 * same.
 */
export function slotPin(queue: usize, slot: u32): u32 {
  const record = recordOf(queue, slot);
  store<u32>(record, load<u32>(record, R_META) | PINNED, R_META);
  return issue(queue, slot);
}

/** What became of an unpin: */
export const UNPIN_KEPT: i32 = 0; // the key is not idle and keeps its slot until it is
export const UNPIN_RELEASED: i32 = 1; // the slot was given back

/** STALE also for a slot that is not pinned. */
export function slotUnpin(queue: usize, token: u32): i32 {
  const record = freshRecord(queue, token);
  if (record == 0) return STALE;
  const meta = load<u32>(record, R_META);
  if ((meta & PINNED) == 0) return STALE;
  store<u32>(record, meta & ~PINNED, R_META);
  if ((meta & STATE) != PINNED) return UNPIN_KEPT;
  release(queue, token & NUMBER);
  return UNPIN_RELEASED;
}

/** The number of the host's slot, or STALE. */
export function slotNumber(queue: usize, token: u32): i32 {
  return freshRecord(queue, token) == 0 ? STALE : token & NUMBER;
}

/** As queueAdd, for one slot of the host. */
export function slotAdd(queue: usize, token: u32, now: f64): i32 {
  const record = freshRecord(queue, token);
  if (record == 0) return STALE;
  return load<u32>(queue, Q_LEVELS) != 0 ? addPlain(queue, token & NUMBER, now) : markRecord(queue, token & NUMBER, record, now);
}

/** As queueGet, for one slot of the host. */
export function slotGet(queue: usize, now: f64): i32 {
  const slot = takeFirst(queue, now);
  return slot < 0 ? NOTHING : issue(queue, slot);
}

/** As queueDoneSlot, for one slot of the host; STALE. */
export function slotDone(queue: usize, token: u32, now: f64): i32 {
  const record = freshRecord(queue, token);
  return record == 0 ? STALE : endProcessing(queue, token & NUMBER, record, now);
}

/**
 * How many of the first slots in the block stand for their keys: all, or the index of the first
 * that is stale.
 */
export function slotsFresh(queue: usize, count: u32): u32 {
  for (let i: u32 = 0; i < count; i++) if (freshRecord(queue, load<u32>(block + (<usize>i << 2))) == 0) return i;
  return count;
}

/**
 * Nothing but the list and the counters changes for a key that is added, handed out or done:
 * batches keep those in registers.
 */
@inline
function isPlain(queue: usize): bool {
  return (load<u32>(queue, Q_STATS) | load<u32>(queue, Q_HOST_ORDER) | load<u32>(queue, Q_RULES)) == 0;
}

/** Adds the slots in the block, which are fresh, and says how many keys became ready by that. */
export function slotsAdd(queue: usize, count: u32, now: f64): u32 {
  let ready: u32 = 0;
  const end = block + (<usize>count << 2);
  if (!isPlain(queue)) {
    for (let at = block; at < end; at += 4) {
      const code = markDirty(queue, load<u32>(at) & NUMBER, now);
      ready += <u32>(code >= 0 && (code & NOT_READY) == 0);
    }
    return ready;
  }
  const ring = <usize>load<u32>(queue, Q_RING);
  const mask = load<u32>(queue, Q_RING_MASK);
  const first = load<u32>(queue, Q_TAIL);
  let dirty: u32 = 0;
  let tail = first;
  for (let at = block; at < end; at += 4) {
    const slot = load<u32>(at) & NUMBER;
    const record = recordOf(queue, slot);
    const meta = load<u32>(record, R_META);
    if (meta & DIRTY) continue;
    store<u32>(record, meta | DIRTY, R_META);
    dirty++;
    if (meta & PROCESSING) continue;
    store<u32>(ring + (<usize>(tail & mask) << 2), slot);
    tail++;
  }
  store<u32>(queue, tail, Q_TAIL);
  store<u32>(queue, load<u32>(queue, Q_DIRTY) + dirty, Q_DIRTY);
  return tail - first;
}

/**
 * Hands out up to `most` ready keys: their slots, as the host calls them, are in the block then.
 * How many there were.
 */
export function slotsGet(queue: usize, most: u32, now: f64): u32 {
  let count: u32 = 0;
  if (!isPlain(queue)) {
    while (count < most) {
      const slot = takeFirst(queue, now);
      if (slot < 0) break;
      store<u32>(block + (<usize>count << 2), issue(queue, slot));
      count++;
    }
    return count;
  }
  const ring = <usize>load<u32>(queue, Q_RING);
  const mask = load<u32>(queue, Q_RING_MASK);
  const head = load<u32>(queue, Q_HEAD);
  count = min(most, load<u32>(queue, Q_TAIL) - head);
  let touched: u64 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const slot = load<u32>(ring + (<usize>((head + i) & mask) << 2));
    const record = recordOf(queue, slot);
    const meta = load<u32>(record, R_META);
    store<u32>(record, (meta & ~DIRTY) | PROCESSING | ISSUED, R_META);
    store<u32>(block + (<usize>i << 2), (meta & GENERATIONS) | slot);
    touched ^= bucketOf(queue, record);
  }
  store<u64>(queue, touched, Q_TOUCHED); // see touchAhead in queue.ts
  store<u32>(queue, head + count, Q_HEAD);
  store<u32>(queue, load<u32>(queue, Q_DIRTY) - count, Q_DIRTY);
  store<u32>(queue, load<u32>(queue, Q_PROCESSING) + count, Q_PROCESSING);
  return count;
}

let requeued: u32 = 0;

@inline
function donePlain(queue: usize, count: u32, fresh: bool): u32 {
  const ring = <usize>load<u32>(queue, Q_RING);
  const mask = load<u32>(queue, Q_RING_MASK);
  const first = load<u32>(queue, Q_TAIL);
  const end = block + (<usize>count << 2);
  let tail = first;
  let released: u32 = 0;
  let done: u32 = 0;
  for (let at = block; at < end; at += 4) {
    const token = load<u32>(at);
    const slot = token & NUMBER;
    const record = fresh ? recordOf(queue, slot) : freshRecord(queue, token);
    if (record == 0) continue;
    const meta = load<u32>(record, R_META);
    if ((meta & PROCESSING) == 0) continue;
    store<u32>(record, meta & ~PROCESSING, R_META);
    done++;
    if (meta & DIRTY) {
      store<u32>(ring + (<usize>(tail & mask) << 2), slot);
      tail++;
    } else if ((meta & (WAITING | PINNED)) == 0) {
      release(queue, slot);
      store<u32>(block + (<usize>released << 2), slot);
      released++;
    }
  }
  store<u32>(queue, tail, Q_TAIL);
  store<u32>(queue, load<u32>(queue, Q_PROCESSING) - done, Q_PROCESSING);
  requeued = tail - first;
  return released;
}

/**
 * Ends the processing of the slots in the block; a stale one and one that is not being processed
 * are passed over. `fresh`: slotsFresh has said that none is stale (one that is there twice is not
 * being processed the second time). The numbers of the slots that were given back are in the block
 * then; says how many. See slotsRequeued.
 */
export function slotsDone(queue: usize, count: u32, now: f64, fresh: bool): u32 {
  let released: u32 = 0;
  requeued = 0;
  if (isPlain(queue)) return fresh ? donePlain(queue, count, true) : donePlain(queue, count, false);
  for (let i: u32 = 0; i < count; i++) {
    const token = load<u32>(block + (<usize>i << 2));
    const record = freshRecord(queue, token);
    if (record == 0) continue;
    const slot = token & NUMBER;
    const outcome = endProcessing(queue, slot, record, now);
    if (outcome == DONE_RELEASED) {
      store<u32>(block + (<usize>released << 2), slot);
      released++;
    } else requeued += <u32>(outcome == DONE_REQUEUED);
  }
  return released;
}

/** How many keys the last slotsDone made ready again. */
export function slotsRequeued(): u32 {
  return requeued;
}

/**
 * The first slot from `from` on whose key has something of it in the queue, pinned keys aside;
 * NOTHING at the end.
 */
export function slotsBusy(queue: usize, from: u32): i32 {
  const slots = load<u32>(queue, T_SLOTS);
  for (let slot = from; slot < slots; slot++) {
    if (load<u32>(recordOf(queue, slot), R_META) & (DIRTY | PROCESSING | WAITING)) return slot;
  }
  return NOTHING;
}

/**
 * When a slot's key became dirty, and when it was handed out; for queues that keep times, else NaN.
 */
export function slotAdded(queue: usize, slot: u32): f64 {
  return load<u32>(queue, Q_STATS) == 0 ? NaN : load<f64>(timesOf(queue, slot), M_ADDED);
}

export function slotStarted(queue: usize, slot: u32): f64 {
  return load<u32>(queue, Q_STATS) == 0 ? NaN : load<f64>(timesOf(queue, slot), M_STARTED);
}
