// Slots in the host's hands, and many keys in one crossing.
//
// A slot that the host gets is its number in 22 bits below the 10 bits of its generation, which is counted when a slot is given
// back after the host got it. Every call here compares the two, so a slot that outlived its key is STALE and nothing is done: it
// would be another key's by now. (After 1024 such turns of one slot a number comes again.)
//
// Batches are passed in a block that the host reads and writes: no key crosses, so a batch costs one call and a copy.

import { blockAlloc, blockFree, blockSize } from "./memory";
import { release } from "./keys";
import { DONE_RELEASED, DONE_REQUEUED, NOT_READY, endProcessing, markDirty, takeFirst } from "./queue";
import {
  GENERATIONS, ISSUED, M_ADDED, M_STARTED, NOTHING, PINNED, Q_TIMES, R_META, STALE, STATE, T_SLOTS, WAITING, DIRTY, PROCESSING, recordOf, timesOf,
} from "./record";

/** Slots from here on have no number for the host: what calls answer instead of a slot must never be one. */
export const SLOT_LIMIT: u32 = (1 << 22) - 8;
const NUMBER: u32 = ~GENERATIONS;

let block: usize = 0;
let blockBytes: u32 = 0;

/** The block for batches of `count` slots, or 0 when there is no memory. It stays where it is until a larger one is asked for. */
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

/** The slot's number when the host's slot still stands for its key, else STALE. */
@inline
function numberOf(queue: usize, token: u32): i32 {
  const slot = token & NUMBER;
  if (slot >= load<u32>(queue, T_SLOTS)) return STALE;
  const meta = load<u32>(recordOf(queue, slot), R_META);
  return (meta & STATE) != 0 && ((meta ^ token) & GENERATIONS) == 0 ? slot : STALE;
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

/** Keeps the slot for its key until slotUnpin, and answers what the host calls it. Pinned again: the same. */
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
  const slot = numberOf(queue, token);
  if (slot < 0) return STALE;
  const record = recordOf(queue, slot);
  const meta = load<u32>(record, R_META);
  if ((meta & PINNED) == 0) return STALE;
  store<u32>(record, meta & ~PINNED, R_META);
  if ((meta & STATE) != PINNED) return UNPIN_KEPT;
  release(queue, slot);
  return UNPIN_RELEASED;
}

/** The number of the host's slot, or STALE. */
export function slotNumber(queue: usize, token: u32): i32 {
  return numberOf(queue, token);
}

/** As queueAdd, for one slot of the host. */
export function slotAdd(queue: usize, token: u32, now: f64): i32 {
  const slot = numberOf(queue, token);
  return slot < 0 ? STALE : markDirty(queue, slot, now);
}

/** As queueGet, for one slot of the host. */
export function slotGet(queue: usize, now: f64): i32 {
  const slot = takeFirst(queue, now);
  return slot < 0 ? NOTHING : issue(queue, slot);
}

/** As queueDoneSlot, for one slot of the host; STALE. */
export function slotDone(queue: usize, token: u32, now: f64): i32 {
  const slot = numberOf(queue, token);
  return slot < 0 ? STALE : endProcessing(queue, slot, now);
}

/** How many of the first slots in the block stand for their keys: all, or the index of the first that is stale. */
export function slotsFresh(queue: usize, count: u32): u32 {
  for (let i: u32 = 0; i < count; i++) if (numberOf(queue, load<u32>(block + (<usize>i << 2))) < 0) return i;
  return count;
}

/** Adds the slots in the block, which are fresh, and says how many keys became ready by that. */
export function slotsAdd(queue: usize, count: u32, now: f64): u32 {
  let ready: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const code = markDirty(queue, load<u32>(block + (<usize>i << 2)) & NUMBER, now);
    ready += <u32>(code >= 0 && (code & NOT_READY) == 0);
  }
  return ready;
}

/** Hands out up to `most` ready keys: their slots, as the host calls them, are in the block then. How many there were. */
export function slotsGet(queue: usize, most: u32, now: f64): u32 {
  let count: u32 = 0;
  while (count < most) {
    const slot = takeFirst(queue, now);
    if (slot < 0) break;
    store<u32>(block + (<usize>count << 2), issue(queue, slot));
    count++;
  }
  return count;
}

let requeued: u32 = 0;

/**
 * Ends the processing of the slots in the block; a stale one and one that is not being processed are passed over. The numbers of the
 * slots that were given back are in the block then; says how many. See slotsRequeued.
 */
export function slotsDone(queue: usize, count: u32, now: f64): u32 {
  let released: u32 = 0;
  requeued = 0;
  for (let i: u32 = 0; i < count; i++) {
    const slot = numberOf(queue, load<u32>(block + (<usize>i << 2)));
    if (slot < 0) continue;
    const outcome = endProcessing(queue, slot, now);
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

/** How many slots there are: those in use and free ones among them. */
export function slotsEver(queue: usize): u32 {
  return load<u32>(queue, T_SLOTS);
}

/** The first slot from `from` on whose key has something of it in the queue, pinned keys aside; NOTHING at the end. */
export function slotsBusy(queue: usize, from: u32): i32 {
  const slots = load<u32>(queue, T_SLOTS);
  for (let slot = from; slot < slots; slot++) {
    if (load<u32>(recordOf(queue, slot), R_META) & (DIRTY | PROCESSING | WAITING)) return slot;
  }
  return NOTHING;
}

/** When a slot's key became dirty, and when it was handed out; for queues that keep times, else NaN. */
export function slotAdded(queue: usize, slot: u32): f64 {
  return load<u32>(queue, Q_TIMES) == 0 ? NaN : load<f64>(timesOf(queue, slot), M_ADDED);
}

export function slotStarted(queue: usize, slot: u32): f64 {
  return load<u32>(queue, Q_TIMES) == 0 ? NaN : load<f64>(timesOf(queue, slot), M_STARTED);
}
