// The states, times and counters of a key when it is handed out, when it is done and when its wait
// ends, for queues of every order.
//
// Raw loads and stores: the buckets of histograms, bare f64.

import {
  STATE_DIRTY, STATE_PINNED, STATE_PROCESSING, STATE_WAITING, STATS_ADDS, STATS_BUCKETS,
  STATS_WAITS, STATS_WORKS,
} from "./abi";
import { peekBucket } from "./buckets";
import { STATE_BACKOFF, KeyState, Table, timesOf } from "./record";

export const STATS_BYTES: u32 = 256;

/**
 * The counters of a timed queue, f64 by the words STATS_* of abi.ts.
 *
 *   |adds|-|waits: sum, 13 buckets|works: sum, 13 buckets|
 */
@unmanaged
export class QueueStats {
  adds: f64;
}

if (offsetof<QueueStats>("adds") != STATS_ADDS << 3) ERROR("the words of QueueStats are others");

/**
 * Secondary results of the last call. The host reads it, by an export for each field, before
 * its next call.
 *
 *   0         8         16            20             24
 *   |wait f64 |work f64 |priority i32 |raisedFrom i32|requeued u32|
 */
@unmanaged
class CallResults {
  wait: f64; // seconds that the key handed out last had been dirty (timed queues)
  work: f64; // seconds that the key done last was processed (timed queues)
  priority: i32; // of the key that a priority queue handed out last
  raisedFrom: i32; // the priority before, of the key whose add answered RAISED_FLAG last
  requeued: u32; // keys that the last slotsDone made ready again
}

export const results: CallResults = changetype<CallResults>(memory.data(32, 8));

function observe(histogram: usize, seconds: f64): void {
  store<f64>(histogram, load<f64>(histogram) + seconds);
  let bucket: u32 = 0;
  for (let bound = 1e-8; bucket < STATS_BUCKETS && seconds > bound; bucket++) bound *= 10;
  const at = histogram + 8 + (<usize>bucket << 3);
  store<f64>(at, load<f64>(at) + 1);
}

/** Ends a wait, for keys that stay in the queue. The heap's entry is stale from here on. */
@inline
export function endWait(queue: Table, record: KeyState): u32 {
  const meta = record.meta & ~(STATE_WAITING | STATE_BACKOFF);
  record.meta = meta;
  queue.waiting--;
  return meta;
}

function startTimes(queue: Table, slot: u32, now: f64): void {
  const times = timesOf(queue, slot);
  const seconds = max(now - times.added, 0) / 1000;
  results.wait = seconds;
  observe(queue.stats + (STATS_WAITS << 3), seconds);
  times.started = now;
  const newest = queue.newest;
  times.before = newest;
  times.after = 0;
  if (newest == 0) queue.longest = slot + 1;
  else timesOf(queue, newest - 1).after = slot + 1;
  queue.newest = slot + 1;
}

export function endTimes(queue: Table, slot: u32, now: f64): void {
  const times = timesOf(queue, slot);
  const seconds = max(now - times.started, 0) / 1000;
  results.work = seconds;
  observe(queue.stats + (STATS_WORKS << 3), seconds);
  const before = times.before;
  const after = times.after;
  if (before == 0) queue.longest = after;
  else timesOf(queue, before - 1).after = after;
  if (after == 0) queue.newest = before;
  else timesOf(queue, after - 1).before = before;
}

@inline
export function startProcessing(queue: Table, slot: u32, record: KeyState, now: f64): void {
  record.meta = (record.meta & ~STATE_DIRTY) | STATE_PROCESSING;
  queue.processing++;
  queue.dirty--;
  if (queue.stats != 0) startTimes(queue, slot, now);
}

/** The bucket that done() of a key empties; nothing for a pinned key, which keeps it. */
@inline
export function bucketOf(queue: Table, record: KeyState): u64 {
  return record.meta & STATE_PINNED ? 0 : peekBucket(queue, record);
}

/**
 * Seconds that the key handed out last had waited, and that the key done last took (timed queues).
 */
export function queueLastWait(): f64 {
  return results.wait;
}

export function queueLastWork(): f64 {
  return results.work;
}
