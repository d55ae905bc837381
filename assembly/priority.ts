// The priority queue: controller-runtime pkg/controller/priorityqueue over the work queue's states.
//
// - DIRTY says that a key is ready: it stands in the line of its level (levels.ts) unless it is being processed; then it is hidden, and
//   done() puts it in line at the place that its number gives it. A key is never DIRTY and WAITING at once, unlike in other queues.
// - R_SEQUENCE is the key's number, its place among keys of one priority. A key gets a new number when it is added to a queue that does not
//   have it, when its priority is raised, when its wait is put off, and when its wait ends by itself; not when an add ends it.
// - A heap entry of a waiting key is live when both its number and its time are the key's: an earlier time keeps the number. A later one does
//   not, so that a key has one live entry, however often its times come and go.
//
// Aging: a key of priority p that has been ready for w ms counts as p + w / every. All keys age
// alike, so the order of two keys never changes while they are in line: the next one has the
// smallest M_ADDED - p * every, and that is the first key of some level.
//
// Calls reserve the level and the heap entry before they change anything. done() and the firing of
// delays need no memory.

import { IS_BACKOFF, KEEP_EARLIEST, KEEP_LATEST, MODE, entryReady, pushEntry } from "./delay";
import { internRead, timeColumn } from "./keys";
import { readKey, readPair } from "./text";
import {
  L_OLDEST, L_PRIORITY, L_READY, L_WAITING, N_CLOSED, N_COUNT, countKeys, enterLine, firstOf, leaveLine, levelAt, levelFor, levelOf,
  levelsFree, levelsNew, nextLevel, sweepOften,
} from "./levels";
import { NOT_READY, S_ADDS, endWait, queueFree, queueNew, bucketOf, startProcessing } from "./queue";
import {
  ADD_KEEPS_BACKOFF, BACKOFF, BY_LEVEL, DIRTY, K_AT, M_ADDED, M_PRIORITY, NO_MEMORY, NOTHING, PROCESSING, Q_DIRTY, Q_HEAP_SEQUENCE, Q_LEVELS,
  Q_RULES, Q_STATS, Q_TOUCHED, Q_WAITING, R_META, R_SEQUENCE, T_SLOTS, WAITING, keyOf, recordOf, timesOf,
} from "./record";

/** Added to the slot that an add answers: the key waits. */
export const WAITS: i32 = 0x20000000;
/** Added to the slot that an add answers: the key was ready, and its priority is higher now. */
export const RAISED: i32 = 0x10000000;

let lastPriority: i32 = 0;
let raisedFrom: i32 = 0;

/** A priority queue, or 0 when there is no memory. everyMs: see aging above; 0 for none. */
export function priorityNew(timed: bool, everyMs: f64): usize {
  const queue = queueNew(timed, BY_LEVEL);
  if (queue == 0) return 0;
  const levels = levelsNew(everyMs);
  if (levels != 0 && (timed || timeColumn(queue))) {
    store<u32>(queue, <u32>levels, Q_LEVELS);
    return queue;
  }
  if (levels != 0) levelsFree(levels);
  queueFree(queue);
  return 0;
}

@inline
function levelsOf(queue: usize): usize {
  return <usize>load<u32>(queue, Q_LEVELS);
}

@inline
function nextNumber(queue: usize): u32 {
  const number = load<u32>(queue, Q_HEAP_SEQUENCE) + 1;
  store<u32>(queue, number, Q_HEAP_SEQUENCE);
  return number;
}

/**
 * A key that neither waits nor is ready becomes ready, with the number and the priority that it
 * has.
 */
function becomeReady(queue: usize, slot: u32, level: usize, now: f64): i32 {
  const record = recordOf(queue, slot);
  const meta = load<u32>(record, R_META);
  store<u32>(record, meta | DIRTY, R_META);
  store<f64>(timesOf(queue, slot), now, M_ADDED);
  store<u32>(queue, load<u32>(queue, Q_DIRTY) + 1, Q_DIRTY);
  const levels = levelsOf(queue);
  countKeys(levels, level, L_READY, 1);
  const stats = <usize>load<u32>(queue, Q_STATS);
  if (stats != 0) store<f64>(stats, load<f64>(stats, S_ADDS) + 1, S_ADDS);
  if (meta & PROCESSING) return slot | NOT_READY;
  enterLine(queue, levels, level, slot);
  return slot;
}

/**
 * A ready key of a lower priority goes to the end of a level; where priorities age, to its place in
 * it.
 */
function raise(queue: usize, slot: u32, level: usize): i32 {
  const times = timesOf(queue, slot);
  const record = recordOf(queue, slot);
  raisedFrom = load<i32>(times, M_PRIORITY);
  const levels = levelsOf(queue);
  const old = levelOf(levels, raisedFrom);
  const hidden = load<u32>(record, R_META) & PROCESSING;
  if (!hidden) leaveLine(queue, levels, old, slot);
  countKeys(levels, old, L_READY, -1);
  countKeys(levels, level, L_READY, 1);
  store<i32>(times, load<i32>(level, L_PRIORITY), M_PRIORITY);
  store<u32>(record, nextNumber(queue), R_SEQUENCE);
  if (!hidden) enterLine(queue, levels, level, slot);
  return slot | RAISED;
}

/**
 * Whether a time takes the place of the one that a key waits for. `how`: see wait() in delay.ts.
 */
function replaces(at: f64, until: f64, how: u32): bool {
  const mode = how & MODE;
  return mode == KEEP_EARLIEST ? at < until : mode == KEEP_LATEST ? at > until : at != until;
}

/** Whether an add without delay leaves the wait of a key; its priority counts all the same. */
function isLeft(queue: usize, meta: u32, how: u32): bool {
  const mode = how & MODE;
  return mode == KEEP_LATEST || (mode == KEEP_EARLIEST && (meta & BACKOFF) != 0 && (load<u32>(queue, Q_RULES) & ADD_KEEPS_BACKOFF) != 0);
}

/** For the level and the heap entry there is room. See priorityAdd for the answer. */
function put(queue: usize, slot: u32, level: usize, now: f64, after: f64, how: u32): i32 {
  const times = timesOf(queue, slot);
  const meta = load<u32>(recordOf(queue, slot), R_META);
  if (meta & DIRTY) return load<i32>(level, L_PRIORITY) > load<i32>(times, M_PRIORITY) ? raise(queue, slot, level) : NOTHING;
  if (meta & WAITING) return putWaiting(queue, slot, level, now, after, how);
  store<i32>(times, load<i32>(level, L_PRIORITY), M_PRIORITY);
  const number = nextNumber(queue);
  const record = recordOf(queue, slot);
  if (!(after > 0)) {
    store<u32>(record, number, R_SEQUENCE);
    return becomeReady(queue, slot, level, now);
  }
  store<u32>(record, meta | WAITING | (how & IS_BACKOFF ? BACKOFF : 0), R_META);
  store<u32>(queue, load<u32>(queue, Q_WAITING) + 1, Q_WAITING);
  countKeys(levelsOf(queue), level, L_WAITING, 1);
  pushEntry(queue, slot, now + after, number);
  return slot | WAITS;
}

function putWaiting(queue: usize, slot: u32, level: usize, now: f64, after: f64, how: u32): i32 {
  const record = recordOf(queue, slot);
  const times = timesOf(queue, slot);
  const meta = load<u32>(record, R_META);
  const levels = levelsOf(queue);
  let own = levelOf(levels, load<i32>(times, M_PRIORITY));
  const raised = load<i32>(level, L_PRIORITY) > load<i32>(own, L_PRIORITY);
  if (raised) {
    countKeys(levels, own, L_WAITING, -1);
    countKeys(levels, level, L_WAITING, 1);
    own = level;
    store<i32>(times, load<i32>(level, L_PRIORITY), M_PRIORITY);
  }
  // For a new number there is no heap entry: the one that the key has stays live.
  if (!(after > 0) && isLeft(queue, meta, how)) return NOTHING;
  let at = load<f64>(keyOf(queue, slot), K_AT);
  const isPutOff = after > 0 && replaces(now + after, at, how) && now + after > at;
  const number = raised || isPutOff ? nextNumber(queue) : load<u32>(record, R_SEQUENCE);
  let isOther = raised; // number or time: the entry in the heap is stale then
  if (after > 0) {
    if (how & IS_BACKOFF) store<u32>(record, meta | BACKOFF, R_META);
    if (replaces(now + after, at, how)) {
      at = now + after;
      isOther = true;
    }
  } else {
    store<u32>(record, number, R_SEQUENCE);
    endWait(queue, record);
    countKeys(levels, own, L_WAITING, -1);
    return becomeReady(queue, slot, own, now);
  }
  if (isOther) pushEntry(queue, slot, at, number);
  return slot | WAITS;
}

/** Level and heap entry of an add; 0 when there is no memory. */
function roomFor(queue: usize, priority: i32, after: f64): usize {
  const level = levelFor(levelsOf(queue), priority);
  return level == 0 || (after > 0 && !entryReady(queue)) ? 0 : level;
}

function addRead(queue: usize, priority: i32, now: f64, after: f64, how: u32): i32 {
  const level = roomFor(queue, priority, after);
  if (level == 0) return NO_MEMORY;
  const slot = internRead(queue);
  return slot < 0 ? slot : put(queue, slot, level, now, after, how);
}

/**
 * Adds a key or changes what is known of it. NO_MEMORY; NOTHING: it was ready, with that priority
 * or a higher one, or is left to its wait; or its slot, alone: ready from now on; with NOT_READY:
 * ready when done; with WAITS; with RAISED.
 */
export function priorityAdd(queue: usize, key: externref, priority: i32, now: f64, after: f64, how: u32): i32 {
  return readKey(queue, key) ? addRead(queue, priority, now, after, how) : NO_MEMORY;
}

export function priorityAddPair(queue: usize, first: externref, second: externref, priority: i32, now: f64, after: f64, how: u32): i32 {
  return readPair(queue, first, second) ? addRead(queue, priority, now, after, how) : NO_MEMORY;
}

/** For a slot that the host found by itself. */
export function priorityAddSlot(queue: usize, slot: u32, priority: i32, now: f64, after: f64, how: u32): i32 {
  const level = roomFor(queue, priority, after);
  return level == 0 ? NO_MEMORY : put(queue, slot, level, now, after, how);
}

/**
 * The add of other queues: without delay and of priority 0, whose level always exists. As markDirty
 * in queue.ts.
 */
export function addPlain(queue: usize, slot: u32, now: f64): i32 {
  const code = put(queue, slot, levelOf(levelsOf(queue), 0), now, 0, 0);
  return code >= 0 && (code & RAISED) != 0 ? NOTHING : code;
}

/** A wait has ended by itself (endWait): the key becomes ready, at the end of its level. */
export function addDue(queue: usize, slot: u32, now: f64): void {
  leaveWaiting(queue, slot);
  store<u32>(recordOf(queue, slot), nextNumber(queue), R_SEQUENCE);
  becomeReady(queue, slot, levelOf(levelsOf(queue), load<i32>(timesOf(queue, slot), M_PRIORITY)), now);
}

/** A key that does not wait any more is none of its level's waiting ones. */
export function leaveWaiting(queue: usize, slot: u32): void {
  const levels = levelsOf(queue);
  countKeys(levels, levelOf(levels, load<i32>(timesOf(queue, slot), M_PRIORITY)), L_WAITING, -1);
}

/** done() of a key that has become ready meanwhile. */
export function backInLine(queue: usize, slot: u32): void {
  const levels = levelsOf(queue);
  enterLine(queue, levels, levelOf(levels, load<i32>(timesOf(queue, slot), M_PRIORITY)), slot);
}

/** Hands out the first ready key: its slot, or NOTHING. */
export function takeByLevel(queue: usize, now: f64): i32 {
  const levels = levelsOf(queue);
  sweepOften(levels);
  const level = nextLevel(levels);
  if (level == 0 || load<u32>(levels, N_CLOSED) != 0) return NOTHING;
  const slot = firstOf(queue, levels, level) - 1;
  const next = leaveLine(queue, levels, level, slot);
  countKeys(levels, level, L_READY, -1);
  lastPriority = load<i32>(level, L_PRIORITY);
  const record = recordOf(queue, slot);
  // As touchAhead in queue.ts, but no further than the next key: those behind it are known by
  // loading it.
  store<u64>(queue, bucketOf(queue, record) ^ (next != 0 ? load<u64>(recordOf(queue, next - 1)) : 0), Q_TOUCHED);
  startProcessing(queue, slot, record, now);
  return slot;
}

/** From now on nothing is handed out; what is ready stays counted. */
export function priorityClose(queue: usize): void {
  store<u32>(levelsOf(queue), 1, N_CLOSED);
}

/** The priority of the key that a priority queue handed out last. */
export function priorityTaken(): i32 {
  return lastPriority;
}

/** The priority that the key had whose add answered RAISED last. */
export function priorityRaisedFrom(): i32 {
  return raisedFrom;
}

/** The priority that a key in use was added with last; 0 in other queues. */
export function priorityOf(queue: usize, slot: u32): i32 {
  return load<u32>(queue, Q_LEVELS) == 0 ? 0 : load<i32>(timesOf(queue, slot), M_PRIORITY);
}

/**
 * How many levels there are, lowest first, for the calls below. Looks for the oldest ready key of
 * each: keys whose priority was raised stand behind younger ones, so all are looked at, in the
 * order of memory (8 ms for 10^6).
 */
export function levelsSurvey(queue: usize): u32 {
  const levels = levelsOf(queue);
  const levelCount = load<u32>(levels, N_COUNT);
  for (let i: u32 = 0; i < levelCount; i++) store<f64>(levelAt(levels, i), Infinity, L_OLDEST);
  const slots = load<u32>(queue, T_SLOTS);
  let level = levelAt(levels, 0);
  for (let slot: u32 = 0; slot < slots; slot++) {
    if ((load<u32>(recordOf(queue, slot), R_META) & DIRTY) == 0) continue;
    const times = timesOf(queue, slot);
    const priority = load<i32>(times, M_PRIORITY);
    if (priority != load<i32>(level, L_PRIORITY)) level = levelOf(levels, priority);
    store<f64>(level, min(load<f64>(level, L_OLDEST), load<f64>(times, M_ADDED)), L_OLDEST);
  }
  return levelCount;
}

export function levelPriority(queue: usize, index: u32): i32 {
  return load<i32>(levelAt(levelsOf(queue), index), L_PRIORITY);
}

/** Ready keys, those that are hidden included. */
export function levelDepth(queue: usize, index: u32): u32 {
  return load<u32>(levelAt(levelsOf(queue), index), L_READY);
}

/**
 * Seconds that the key has been ready that has been so the longest, of a timed queue and as of
 * levelsSurvey; 0 when there is none.
 */
export function levelLongest(queue: usize, index: u32, now: f64): f64 {
  const oldest = load<f64>(levelAt(levelsOf(queue), index), L_OLDEST);
  return oldest == Infinity ? 0 : max(now - oldest, 0) / 1000;
}
