// Slots with a generation, by which the host names keys, and batches of them in one call.
//
// A slot that the host gets is its number in 22 bits below the 10 bits of its generation, which is
// counted when a slot is given back after the host got it. Every call here compares the two, so a
// slot that outlived its key is STALE and nothing is done: it would be another key's by now. (After
// 1024 such turns of one slot a number comes again.)
//
// Batches are passed in a block that the host reads and writes: no key crosses, so a batch costs
// one call and a copy.
//
// Raw loads: the slots of a batch, bare u32.

import {
  DONE_RELEASED, DONE_REQUEUED, NOTHING, SLOT_FLAG, SLOT_NUMBER, STALE, STATE_DIRTY, STATE_PINNED,
  STATE_PROCESSING, STATE_WAITING, UNPIN_KEPT, UNPIN_RELEASED,
} from "./abi";
import { blockAlloc, blockFree, blockSize, setWord, wordAt } from "./memory";
import { release } from "./buckets";
import { bucketOf, results } from "./states";
import { addPlain } from "./priority";
import { endProcessing, markDirty, markRecord, takeFirst } from "./queue";
import { GENERATIONS, ISSUED, STATE_MASK, KeyState, Table, recordOf, timesOf } from "./record";

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

/** The record of the host's slot, or null when the slot has been given back since. */
@inline
function freshRecord(queue: Table, token: u32): KeyState | null {
  const slot = token & SLOT_NUMBER;
  if (slot >= queue.slots) return null;
  const record = recordOf(queue, slot);
  const meta = record.meta;
  return (meta & STATE_MASK) != 0 && ((meta ^ token) & GENERATIONS) == 0 ? record : null;
}

/** The host's slot for a number below SLOT_LIMIT; from now on its generation counts. */
@inline
function issue(queue: Table, slot: u32): u32 {
  const record = recordOf(queue, slot);
  const meta = record.meta | ISSUED;
  record.meta = meta;
  return (meta & GENERATIONS) | slot;
}

/** The host's slot for the number of a slot. */
export function slotIssue(queue: Table, slot: u32): u32 {
  return issue(queue, slot);
}

/** Keeps the slot for its key until slotUnpin. Answers the host's slot, also when pinned before. */
export function slotPin(queue: Table, slot: u32): u32 {
  const record = recordOf(queue, slot);
  record.meta |= STATE_PINNED;
  return issue(queue, slot);
}

/** STALE also for a slot that is not pinned. */
export function slotUnpin(queue: Table, token: u32): i32 {
  const record = freshRecord(queue, token);
  if (record === null) return STALE;
  const meta = record.meta;
  if ((meta & STATE_PINNED) == 0) return STALE;
  record.meta = meta & ~STATE_PINNED;
  if ((meta & STATE_MASK) != STATE_PINNED) return UNPIN_KEPT;
  release(queue, token & SLOT_NUMBER);
  return UNPIN_RELEASED;
}

/** The number of the host's slot, or STALE. */
export function slotNumber(queue: Table, token: u32): i32 {
  return freshRecord(queue, token) === null ? STALE : token & SLOT_NUMBER;
}

/** As queueAddSlot, for one slot of the host; STALE. */
export function slotAdd(queue: Table, token: u32, now: f64): i32 {
  const record = freshRecord(queue, token);
  if (record === null) return STALE;
  const slot = token & SLOT_NUMBER;
  return queue.levels != 0 ? addPlain(queue, slot, now) : markRecord(queue, slot, record, now);
}

/** As queueGet, for one slot of the host. */
export function slotGet(queue: Table, now: f64): i32 {
  const slot = takeFirst(queue, now);
  return slot < 0 ? NOTHING : issue(queue, slot);
}

/** As queueDoneSlot, for one slot of the host; STALE. */
export function slotDone(queue: Table, token: u32, now: f64): i32 {
  const record = freshRecord(queue, token);
  return record === null ? STALE : endProcessing(queue, token & SLOT_NUMBER, record, now);
}

/** The index of the first stale slot in the block, or `count`. */
export function slotsFresh(queue: Table, count: u32): u32 {
  for (let i: u32 = 0; i < count; i++) if (freshRecord(queue, wordAt(block, i)) === null) return i;
  return count;
}

/**
 * Whether only the ring and the counters change for a key that is added, handed out or done:
 * batches keep those in registers.
 */
@inline
function isPlain(queue: Table): bool {
  return (queue.stats | queue.order | queue.rules) == 0;
}

/** Adds the slots in the block, none of them stale. Answers how many keys became ready. */
export function slotsAdd(queue: Table, count: u32, now: f64): u32 {
  let ready: u32 = 0;
  const end = block + (<usize>count << 2);
  if (!isPlain(queue)) {
    for (let at = block; at < end; at += 4) {
      const code = markDirty(queue, load<u32>(at) & SLOT_NUMBER, now);
      ready += <u32>(code >= 0 && (code & SLOT_FLAG) == 0);
    }
    return ready;
  }
  const ring = queue.ring;
  const mask = queue.ringMask;
  const first = queue.tail;
  let dirty: u32 = 0;
  let tail = first;
  for (let at = block; at < end; at += 4) {
    const slot = load<u32>(at) & SLOT_NUMBER;
    const record = recordOf(queue, slot);
    const meta = record.meta;
    if (meta & STATE_DIRTY) continue;
    record.meta = meta | STATE_DIRTY;
    dirty++;
    if (meta & STATE_PROCESSING) continue;
    setWord(ring, tail & mask, slot);
    tail++;
  }
  queue.tail = tail;
  queue.dirty += dirty;
  return tail - first;
}

/**
 * Hands out up to `most` ready keys and writes the host's slots into the block. Answers how many.
 */
export function slotsGet(queue: Table, most: u32, now: f64): u32 {
  let count: u32 = 0;
  if (!isPlain(queue)) {
    while (count < most) {
      const slot = takeFirst(queue, now);
      if (slot < 0) break;
      setWord(block, count, issue(queue, slot));
      count++;
    }
    return count;
  }
  const ring = queue.ring;
  const mask = queue.ringMask;
  const head = queue.head;
  count = min(most, queue.tail - head);
  let touched: u64 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const slot = wordAt(ring, (head + i) & mask);
    const record = recordOf(queue, slot);
    const meta = record.meta;
    record.meta = (meta & ~STATE_DIRTY) | STATE_PROCESSING | ISSUED;
    setWord(block, i, (meta & GENERATIONS) | slot);
    touched ^= bucketOf(queue, record);
  }
  queue.touched = <u32>touched; // see touchAhead in queue.ts
  queue.head = head + count;
  queue.dirty -= count;
  queue.processing += count;
  return count;
}

@inline
function donePlain(queue: Table, count: u32, fresh: bool): u32 {
  const ring = queue.ring;
  const mask = queue.ringMask;
  const first = queue.tail;
  const end = block + (<usize>count << 2);
  let tail = first;
  let released: u32 = 0;
  let done: u32 = 0;
  for (let at = block; at < end; at += 4) {
    const token = load<u32>(at);
    const slot = token & SLOT_NUMBER;
    const record: KeyState | null = fresh ? recordOf(queue, slot) : freshRecord(queue, token);
    if (record === null) continue;
    const meta = record.meta;
    if ((meta & STATE_PROCESSING) == 0) continue;
    record.meta = meta & ~STATE_PROCESSING;
    done++;
    if (meta & STATE_DIRTY) {
      setWord(ring, tail & mask, slot);
      tail++;
    } else if ((meta & (STATE_WAITING | STATE_PINNED)) == 0) {
      release(queue, slot);
      setWord(block, released, slot);
      released++;
    }
  }
  queue.tail = tail;
  queue.processing -= done;
  results.requeued = tail - first;
  return released;
}

/**
 * Ends the processing of the slots in the block; a stale one and one that is not being processed
 * are passed over. `fresh`: none is stale by slotsFresh (one that is there twice is not
 * being processed the second time). Writes the numbers of the slots that were given back into the
 * block and answers how many; slotsRequeued has how many became ready again.
 */
export function slotsDone(queue: Table, count: u32, now: f64, fresh: bool): u32 {
  if (isPlain(queue)) return fresh ? donePlain(queue, count, true) : donePlain(queue, count, false);
  let released: u32 = 0;
  let requeued: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const token = wordAt(block, i);
    const record = freshRecord(queue, token);
    if (record === null) continue;
    const slot = token & SLOT_NUMBER;
    const outcome = endProcessing(queue, slot, record, now);
    if (outcome == DONE_RELEASED) {
      setWord(block, released, slot);
      released++;
    } else requeued += <u32>(outcome == DONE_REQUEUED);
  }
  results.requeued = requeued;
  return released;
}

/** How many keys the last slotsDone made ready again. */
export function slotsRequeued(): u32 {
  return results.requeued;
}

/**
 * The first slot from `from` on whose key is dirty, processing or waiting; NOTHING at the end.
 */
export function slotsBusy(queue: Table, from: u32): i32 {
  const slots = queue.slots;
  for (let slot = from; slot < slots; slot++) {
    if (recordOf(queue, slot).meta & (STATE_DIRTY | STATE_PROCESSING | STATE_WAITING)) return slot;
  }
  return NOTHING;
}

/**
 * When a slot's key became dirty, and when it was handed out; for queues that keep times, else NaN.
 */
export function slotAdded(queue: Table, slot: u32): f64 {
  return queue.stats == 0 ? NaN : timesOf(queue, slot).added;
}

export function slotStarted(queue: Table, slot: u32): f64 {
  return queue.stats == 0 ? NaN : timesOf(queue, slot).started;
}
