// The priority queue: controller-runtime pkg/controller/priorityqueue over the work queue's states.
//
// - A dirty key is ready: it is in the line of its level (levels.ts) unless it is being processed;
//   then it is hidden, and done() puts it in line at the place that its number gives it. A key is
//   never dirty and waiting at once, unlike in other queues.
// - Wait.sequence is the key's number, its place among keys of one priority. A key gets a new
//   number when it is added to a queue that does not have it, when its priority is raised, when its
//   wait is put off, and when its wait ends by itself; not when an add ends it.
// - A heap entry of a waiting key is live when both its number and its time are the key's: an
//   earlier time keeps the number. A later one does not, so that a key has one live entry, however
//   often its time changes.
//
// Aging: a key of priority p that has been ready for w ms counts as p + w / every. All keys age
// alike, so the order of two keys never changes while they are in line: the next one has the
// smallest Times.added - p * every, and that is the first key of some level.
//
// Calls reserve the level and the heap entry before they change anything. done() and the firing of
// delays need no memory.

import {
  ADD_KEEPS_BACKOFF, NOTHING, NO_MEMORY, RAISED_FLAG, SLOT_FLAG, STATE_DIRTY, STATE_PROCESSING,
  STATE_WAITING, WAITS_FLAG, WAIT_EARLIEST, WAIT_IS_BACKOFF, WAIT_LATEST, WAIT_MODE,
} from "./abi";
import {
  Level, Levels, countReady, countWaiting, enterLine, firstOf, leaveLine, levelAt, levelFor,
  levelOf, nextLevel, sweepOften,
} from "./levels";
import { QueueStats, bucketOf, endWait, results, startProcessing } from "./states";
import { entryReady, pushEntry } from "./waiting";
import { STATE_BACKOFF, Table, peekState, recordOf, timesOf, waitOf } from "./record";

@inline
function levelsOf(queue: Table): Levels {
  return changetype<Levels>(queue.levels);
}

@inline
function nextNumber(queue: Table): u32 {
  const number = queue.heapSequence + 1;
  queue.heapSequence = number;
  return number;
}

/**
 * A key that neither waits nor is ready becomes ready, with the number and the priority that it
 * has.
 */
function becomeReady(queue: Table, slot: u32, level: Level, now: f64): i32 {
  const record = recordOf(queue, slot);
  const meta = record.meta;
  record.meta = meta | STATE_DIRTY;
  timesOf(queue, slot).added = now;
  queue.dirty++;
  const levels = levelsOf(queue);
  countReady(levels, level, 1);
  const stats = queue.stats;
  if (stats != 0) changetype<QueueStats>(stats).adds++;
  if (meta & STATE_PROCESSING) return slot | SLOT_FLAG;
  enterLine(queue, levels, level, slot);
  return slot;
}

/**
 * A ready key of a lower priority goes to the end of a level; where priorities age, to its place in
 * it.
 */
function raise(queue: Table, slot: u32, level: Level): i32 {
  const times = timesOf(queue, slot);
  const record = recordOf(queue, slot);
  const priority = times.priority;
  results.raisedFrom = priority;
  const levels = levelsOf(queue);
  const old = levelOf(levels, priority);
  const hidden = record.meta & STATE_PROCESSING;
  if (!hidden) leaveLine(queue, levels, old, slot);
  countReady(levels, old, -1);
  countReady(levels, level, 1);
  times.priority = level.priority;
  waitOf(queue, slot).sequence = nextNumber(queue);
  if (!hidden) enterLine(queue, levels, level, slot);
  return slot | RAISED_FLAG;
}

/**
 * Whether a time takes the place of the one that a key waits for. `how`: see wait() in delay.ts.
 */
function replaces(at: f64, until: f64, how: u32): bool {
  const mode = how & WAIT_MODE;
  return mode == WAIT_EARLIEST ? at < until : mode == WAIT_LATEST ? at > until : at != until;
}

/** Whether an add without delay leaves the wait of a key; its priority counts all the same. */
function isLeft(queue: Table, meta: u32, how: u32): bool {
  const mode = how & WAIT_MODE;
  if (mode != WAIT_EARLIEST) return mode == WAIT_LATEST;
  return (meta & STATE_BACKOFF) != 0 && (queue.rules & ADD_KEEPS_BACKOFF) != 0;
}

/** For the level and the heap entry there is room. See priorityAddSlot for the answer. */
function put(queue: Table, slot: u32, level: Level, now: f64, after: f64, how: u32): i32 {
  const times = timesOf(queue, slot);
  const meta = recordOf(queue, slot).meta;
  if (meta & STATE_DIRTY) {
    return level.priority > times.priority ? raise(queue, slot, level) : NOTHING;
  }
  if (meta & STATE_WAITING) return putWaiting(queue, slot, level, now, after, how);
  times.priority = level.priority;
  const number = nextNumber(queue);
  const record = recordOf(queue, slot);
  if (!(after > 0)) {
    waitOf(queue, slot).sequence = number;
    return becomeReady(queue, slot, level, now);
  }
  record.meta = meta | STATE_WAITING | (how & WAIT_IS_BACKOFF ? STATE_BACKOFF : 0);
  queue.waiting++;
  countWaiting(levelsOf(queue), level, 1);
  pushEntry(queue, slot, now + after, number);
  return slot | WAITS_FLAG;
}

function putWaiting(queue: Table, slot: u32, level: Level, now: f64, after: f64, how: u32): i32 {
  const record = recordOf(queue, slot);
  const times = timesOf(queue, slot);
  const meta = record.meta;
  const levels = levelsOf(queue);
  let own = levelOf(levels, times.priority);
  const raised = level.priority > own.priority;
  if (raised) {
    countWaiting(levels, own, -1);
    countWaiting(levels, level, 1);
    own = level;
    times.priority = level.priority;
  }
  // For a new number there is no heap entry: the one that the key has stays live.
  if (!(after > 0) && isLeft(queue, meta, how)) return NOTHING;
  let at = waitOf(queue, slot).at;
  const isPutOff = after > 0 && replaces(now + after, at, how) && now + after > at;
  const number = raised || isPutOff ? nextNumber(queue) : waitOf(queue, slot).sequence;
  let isOther = raised; // number or time: the entry in the heap is stale then
  if (after > 0) {
    if (how & WAIT_IS_BACKOFF) record.meta = meta | STATE_BACKOFF;
    if (replaces(now + after, at, how)) {
      at = now + after;
      isOther = true;
    }
  } else {
    waitOf(queue, slot).sequence = number;
    endWait(queue, record);
    countWaiting(levels, own, -1);
    return becomeReady(queue, slot, own, now);
  }
  if (isOther) pushEntry(queue, slot, at, number);
  return slot | WAITS_FLAG;
}

/** Level and heap entry of an add; null when there is no memory. */
function roomFor(queue: Table, priority: i32, after: f64): Level | null {
  const level = levelFor(levelsOf(queue), priority);
  return level === null || (after > 0 && !entryReady(queue)) ? null : level;
}

/**
 * Adds a key, or raises its priority, or changes its wait. Answers NO_MEMORY; NOTHING: it was
 * ready, with that priority or a higher one, or it goes on waiting; or its slot, alone: it became
 * ready; with SLOT_FLAG: it will be when it is done; with WAITS_FLAG: it waits; with RAISED_FLAG.
 */
export function priorityAddSlot(
  queue: Table, slot: u32, priority: i32, now: f64, after: f64, how: u32,
): i32 {
  const level = roomFor(queue, priority, after);
  return level === null ? NO_MEMORY : put(queue, slot, level, now, after, how);
}

/**
 * The add of other queues: without delay and of priority 0, whose level always exists. As markDirty
 * in queue.ts.
 */
export function addPlain(queue: Table, slot: u32, now: f64): i32 {
  const code = put(queue, slot, levelOf(levelsOf(queue), 0), now, 0, 0);
  return code >= 0 && (code & RAISED_FLAG) != 0 ? NOTHING : code;
}

/** A wait has ended by itself (endWait): the key becomes ready, at the end of its level. */
export function addDue(queue: Table, slot: u32, now: f64): void {
  leaveWaiting(queue, slot);
  waitOf(queue, slot).sequence = nextNumber(queue);
  becomeReady(queue, slot, levelOf(levelsOf(queue), timesOf(queue, slot).priority), now);
}

/** Takes a key whose wait has ended out of its level's count of waiting keys. */
export function leaveWaiting(queue: Table, slot: u32): void {
  const levels = levelsOf(queue);
  countWaiting(levels, levelOf(levels, timesOf(queue, slot).priority), -1);
}

/** Puts a key that became dirty while it was processed into the line of its level. */
export function backInLine(queue: Table, slot: u32): void {
  const levels = levelsOf(queue);
  enterLine(queue, levels, levelOf(levels, timesOf(queue, slot).priority), slot);
}

/** Hands out the first ready key: its slot, or NOTHING. */
export function takeByLevel(queue: Table, now: f64): i32 {
  const levels = levelsOf(queue);
  sweepOften(levels);
  const level = nextLevel(levels);
  if (level === null || levels.closed != 0) return NOTHING;
  const slot = firstOf(queue, levels, level) - 1;
  const next = leaveLine(queue, levels, level, slot);
  countReady(levels, level, -1);
  results.priority = level.priority;
  const record = recordOf(queue, slot);
  // As touchAhead in queue.ts, but no further than the next key: the ones behind it are found by
  // loading it.
  queue.touched = <u32>(
    bucketOf(queue, record) ^ (next != 0 ? peekState(recordOf(queue, next - 1)) : 0)
  );
  startProcessing(queue, slot, record, now);
  return slot;
}

/** From now on nothing is handed out; what is ready stays counted. */
export function priorityClose(queue: Table): void {
  levelsOf(queue).closed = 1;
}

/** The priority of the key that a priority queue handed out last. */
export function priorityTaken(): i32 {
  return results.priority;
}

/** The former priority of the key whose add answered RAISED_FLAG last. */
export function priorityRaisedFrom(): i32 {
  return results.raisedFrom;
}

/** The priority that a key in use was added with last; 0 in other queues. */
export function priorityOf(queue: Table, slot: u32): i32 {
  return queue.levels == 0 ? 0 : timesOf(queue, slot).priority;
}

/**
 * How many levels there are, lowest first, for the calls below. Looks for the oldest ready key of
 * each: keys whose priority was raised are behind younger ones, so all are read, in the order of
 * memory (8 ms for 10^6).
 */
export function levelsSurvey(queue: Table): u32 {
  const levels = levelsOf(queue);
  const levelCount = levels.count;
  for (let i: u32 = 0; i < levelCount; i++) levelAt(levels, i).oldest = Infinity;
  const slots = queue.slots;
  let level = levelAt(levels, 0);
  for (let slot: u32 = 0; slot < slots; slot++) {
    if ((recordOf(queue, slot).meta & STATE_DIRTY) == 0) continue;
    const times = timesOf(queue, slot);
    const priority = times.priority;
    if (priority != level.priority) level = levelOf(levels, priority);
    level.oldest = min(level.oldest, times.added);
  }
  return levelCount;
}

export function levelPriority(queue: Table, index: u32): i32 {
  return levelAt(levelsOf(queue), index).priority;
}

/** Ready keys, those that are hidden included. */
export function levelDepth(queue: Table, index: u32): u32 {
  return levelAt(levelsOf(queue), index).ready;
}

/**
 * Seconds that the longest ready key of a level has been ready, in a timed queue and as of
 * levelsSurvey; 0 when there is none.
 */
export function levelLongest(queue: Table, index: u32, now: f64): f64 {
  const oldest = levelAt(levelsOf(queue), index).oldest;
  return oldest == Infinity ? 0 : max(now - oldest, 0) / 1000;
}
