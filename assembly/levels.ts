// The ready keys of a priority queue: a level for each priority, in which keys stand in line.
//
//   levels, 64 B:  |entries u32|count u32|room u32|heap u32|every f64|closed u32|needed u32|
//   entries:       room × level u32, lowest priority first: found by bisection; behind them room × level u32: the heap
//   level, 64 B:   |priority i32|head u32|tail u32|tree u32|ready u32|waiting u32|place u32|        |oldest f64|rank f64|
//
// The line of a level is a doubly linked list and, for keys that come too late for their place, a
// tree; the next key is the earlier of the two firsts. Nearly every key goes to the end of the
// list. A place further ahead belongs to a key that was added again while it was being processed,
// and to a waiting key that an add makes ready: both keep the number that they got when they were
// added. Such a place is looked for a few steps from both ends of the list; a key that finds none
// goes into the tree, so that no add and no done ever walks a long line. The tree is a treap
// (weights are a hash of the slot) with links upwards: keys are taken out of its middle without
// comparing, so that it stays whole even should numbers wrap around.
//
// The heap holds the levels whose line is not empty; the next key of all is the first of the level
// on top. With a walk over the levels a get took 140 us where keys had 32 000 priorities, and 60
// when all but two of those were history.
//
// Invariants:
// - a key is in the line of its level exactly while it is DIRTY and not PROCESSING; LATE says that it is in the tree;
// - `ready` counts the DIRTY keys of a level, those in processing included; `waiting` its WAITING keys. A level is dropped only when both are
//   0 and it is not that of priority 0, so what waits, comes back by done() or is added without priority finds its level without memory;
// - a level is in the heap exactly while its line is not empty: `place` says where, 0 that it is not;
// - `rank` of a level in the heap is that of the first key of its line.

import { blockAlloc, blockFree, blockSize } from "./memory";
import { K_PARENT, LATE, M_ADDED, M_PREVIOUS, R_LINK, R_META, R_SEQUENCE, keyOf, recordOf, timesOf } from "./record";

const LEVELS_BYTES: u32 = 64;
const N_ENTRIES: usize = 0;
export const N_COUNT: usize = 4;
const N_ROOM: usize = 8;
const N_HEAP: usize = 12; // levels in the heap
// f64 ms of waiting that count as one step of priority; 0: priorities do not age
const N_EVERY: usize = 16;
export const N_CLOSED: usize = 24; // u32, 1: nothing is handed out any more
const N_NEEDED: usize = 28; // levels that may not be dropped

const LEVEL_BYTES: u32 = 64;
export const L_PRIORITY: usize = 0;
const L_HEAD: usize = 4; // slot + 1
const L_TAIL: usize = 8; // slot + 1
const L_TREE: usize = 12; // slot + 1
export const L_READY: usize = 16;
export const L_WAITING: usize = 20;
const L_PLACE: usize = 24; // in the heap, from 1
// f64: of its DIRTY keys the earliest M_ADDED, when it was looked for last
export const L_OLDEST: usize = 32;
const L_RANK: usize = 40; // f64: the smaller, the sooner the level's first key is handed out

const FIRST_ROOM: u32 = 64;
const STEPS: u32 = 8; // how far into a list a place is looked for, from either end

/** Levels with that of priority 0, or 0 when there is no memory. */
export function levelsNew(everyMs: f64): usize {
  const levels = blockAlloc(LEVELS_BYTES);
  if (levels == 0) return 0;
  const entries = blockAlloc(FIRST_ROOM << 3);
  if (entries != 0) {
    memory.fill(levels, 0, LEVELS_BYTES);
    store<u32>(levels, <u32>entries, N_ENTRIES);
    store<u32>(levels, FIRST_ROOM, N_ROOM);
    store<f64>(levels, everyMs, N_EVERY);
    if (levelFor(levels, 0) != 0) return levels;
    blockFree(entries, FIRST_ROOM << 3);
  }
  blockFree(levels, LEVELS_BYTES);
  return 0;
}

export function levelsFree(levels: usize): void {
  const count = load<u32>(levels, N_COUNT);
  for (let i: u32 = 0; i < count; i++) blockFree(levelAt(levels, i), LEVEL_BYTES);
  blockFree(<usize>load<u32>(levels, N_ENTRIES), load<u32>(levels, N_ROOM) << 3);
  blockFree(levels, LEVELS_BYTES);
}

/** The level at an index, lowest priority first. */
@inline
export function levelAt(levels: usize, index: u32): usize {
  return <usize>load<u32>(<usize>load<u32>(levels, N_ENTRIES) + (<usize>index << 2));
}

/** The index of the first level that is not below a priority. */
function placeOf(levels: usize, priority: i32): u32 {
  let low: u32 = 0;
  let high = load<u32>(levels, N_COUNT);
  while (low < high) {
    const middle = (low + high) >> 1;
    if (load<i32>(levelAt(levels, middle), L_PRIORITY) < priority) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The level of a priority that has keys. */
export function levelOf(levels: usize, priority: i32): usize {
  return levelAt(levels, placeOf(levels, priority));
}

/** The level of a priority, made if there is none; 0 when there is no memory. */
export function levelFor(levels: usize, priority: i32): usize {
  const place = placeOf(levels, priority);
  if (place < load<u32>(levels, N_COUNT)) {
    const level = levelAt(levels, place);
    if (load<i32>(level, L_PRIORITY) == priority) return level;
  }
  return addLevel(levels, priority);
}

function addLevel(levels: usize, priority: i32): usize {
  if (load<u32>(levels, N_COUNT) == load<u32>(levels, N_ROOM) && !sweep(levels)) return 0;
  const level = blockAlloc(LEVEL_BYTES);
  if (level == 0) return 0;
  memory.fill(level, 0, LEVEL_BYTES);
  store<i32>(level, priority, L_PRIORITY);
  const place = placeOf(levels, priority);
  const count = load<u32>(levels, N_COUNT);
  const entry = <usize>load<u32>(levels, N_ENTRIES) + (<usize>place << 2);
  memory.copy(entry + 4, entry, <usize>(count - place) << 2);
  store<u32>(entry, <u32>level);
  store<u32>(levels, count + 1, N_COUNT);
  store<u32>(levels, load<u32>(levels, N_NEEDED) + <u32>isNeeded(level), N_NEEDED);
  return level;
}

@inline
function isNeeded(level: usize): bool {
  return (load<u32>(level, L_READY) | load<u32>(level, L_WAITING) | <u32>(load<i32>(level, L_PRIORITY) == 0)) != 0;
}

/** Counts keys of a level: `field` is L_READY or L_WAITING. */
export function countKeys(levels: usize, level: usize, field: usize, by: i32): void {
  const before = <u32>isNeeded(level);
  store<i32>(level + field, load<i32>(level + field) + by);
  store<u32>(levels, load<u32>(levels, N_NEEDED) + <u32>isNeeded(level) - before, N_NEEDED);
}

/**
 * Drops the levels that nobody needs once they are most of all. For moments when nobody holds on to
 * a level.
 */
@inline
export function sweepOften(levels: usize): void {
  const count = load<u32>(levels, N_COUNT);
  if (count > FIRST_ROOM && load<u32>(levels, N_NEEDED) < count >> 1) sweep(levels);
}

/**
 * Drops the levels that nobody needs and leaves room for as many as are kept, so that it is rarely
 * done again. False: no memory, and all are needed.
 */
function sweep(levels: usize): bool {
  const room = load<u32>(levels, N_ROOM);
  const needed = load<u32>(levels, N_NEEDED);
  const fit = max(blockSize(needed << 4) >> 3, FIRST_ROOM);
  const old = <usize>load<u32>(levels, N_ENTRIES);
  const other: usize = fit == room ? 0 : blockAlloc(fit << 3);
  if (other == 0 && needed == room) return false;
  const to = other == 0 ? old : other;
  const count = load<u32>(levels, N_COUNT);
  let kept: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const level = <usize>load<u32>(old + (<usize>i << 2));
    if (!isNeeded(level)) {
      blockFree(level, LEVEL_BYTES);
      continue;
    }
    store<u32>(to + (<usize>kept << 2), <u32>level);
    kept++;
  }
  store<u32>(levels, kept, N_COUNT);
  if (other == 0) return true;
  memory.copy(other + (<usize>fit << 2), old + (<usize>room << 2), <usize>load<u32>(levels, N_HEAP) << 2);
  blockFree(old, room << 3);
  store<u32>(levels, <u32>other, N_ENTRIES);
  store<u32>(levels, fit, N_ROOM);
  return true;
}

// The heap of levels.

@inline
function heapAt(levels: usize, place: u32): usize {
  return <usize>load<u32>(levels, N_ENTRIES) + (<usize>(load<u32>(levels, N_ROOM) + place - 1) << 2);
}

/** The level whose first key is next; 0: none is ready. */
@inline
export function nextLevel(levels: usize): usize {
  return load<u32>(levels, N_HEAP) == 0 ? 0 : <usize>load<u32>(heapAt(levels, 1));
}

/**
 * What the level's place in the heap goes by while this key (slot + 1) is the first of its line.
 * See aging in priority.ts.
 */
@inline
function rankOf(queue: usize, levels: usize, level: usize, first: u32): f64 {
  const priority = <f64>load<i32>(level, L_PRIORITY);
  const every = load<f64>(levels, N_EVERY);
  return every == 0 ? -priority : load<f64>(timesOf(queue, first - 1), M_ADDED) - priority * every;
}

@inline
function isSooner(level: usize, other: usize): bool {
  const rank = load<f64>(level, L_RANK);
  const otherRank = load<f64>(other, L_RANK);
  return rank < otherRank || (rank == otherRank && load<i32>(level, L_PRIORITY) > load<i32>(other, L_PRIORITY));
}

@inline
function putAt(levels: usize, level: usize, at: u32): void {
  store<u32>(heapAt(levels, at), <u32>level);
  store<u32>(level, at, L_PLACE);
}

/**
 * Puts a level where it belongs, at a place whose own level is elsewhere, or above or below that.
 */
function settle(levels: usize, level: usize, at: u32): void {
  for (; at > 1; at >>= 1) {
    const above = <usize>load<u32>(heapAt(levels, at >> 1));
    if (!isSooner(level, above)) break;
    putAt(levels, above, at);
  }
  const size = load<u32>(levels, N_HEAP);
  for (let below = at << 1; below <= size; below = at << 1) {
    let child = <usize>load<u32>(heapAt(levels, below));
    if (below < size) {
      const other = <usize>load<u32>(heapAt(levels, below + 1));
      if (isSooner(other, child)) {
        child = other;
        below++;
      }
    }
    if (!isSooner(child, level)) break;
    putAt(levels, child, at);
    at = below;
  }
  putAt(levels, level, at);
}

/** The line of a level has a first key, and it may be another one. */
function ranked(levels: usize, level: usize, rank: f64): void {
  let at = load<u32>(level, L_PLACE);
  if (at == 0) {
    at = load<u32>(levels, N_HEAP) + 1;
    store<u32>(levels, at, N_HEAP);
  } else if (rank == load<f64>(level, L_RANK)) return;
  store<f64>(level, rank, L_RANK);
  settle(levels, level, at);
}

/** The line of a level is empty. */
function leaveHeap(levels: usize, level: usize): void {
  const size = load<u32>(levels, N_HEAP);
  const last = <usize>load<u32>(heapAt(levels, size));
  store<u32>(levels, size - 1, N_HEAP);
  if (last != level) settle(levels, last, load<u32>(level, L_PLACE));
  store<u32>(level, 0, L_PLACE);
}

/**
 * Whether a key comes before another of its level: by its number; where priorities age, by when it
 * became ready, then by its number.
 */
function comesFirst(queue: usize, levels: usize, slot: u32, other: u32): bool {
  if (load<f64>(levels, N_EVERY) != 0) {
    const at = load<f64>(timesOf(queue, slot), M_ADDED);
    const otherAt = load<f64>(timesOf(queue, other), M_ADDED);
    if (at != otherAt) return at < otherAt;
  }
  return <i32>(load<u32>(recordOf(queue, slot), R_SEQUENCE) - load<u32>(recordOf(queue, other), R_SEQUENCE)) < 0;
}

/** Puts a key into the line of its level. */
export function enterLine(queue: usize, levels: usize, level: usize, slot: u32): void {
  const rank = rankOf(queue, levels, level, slot + 1);
  // Not known by the place that it gets: where priorities age, whoever comes first has the smaller
  // rank.
  if (load<u32>(level, L_PLACE) == 0 || rank < load<f64>(level, L_RANK)) ranked(levels, level, rank);
  let before = load<u32>(level, L_TAIL);
  for (let i: u32 = 0; before != 0 && comesFirst(queue, levels, slot, before - 1); i++) {
    if (i == STEPS) {
      enterFromHead(queue, levels, level, slot);
      return;
    }
    before = load<u32>(timesOf(queue, before - 1), M_PREVIOUS);
  }
  linkAfter(queue, level, slot, before);
}

function enterFromHead(queue: usize, levels: usize, level: usize, slot: u32): void {
  let after = load<u32>(level, L_HEAD);
  for (let i: u32 = 0; i <= STEPS; i++) {
    if (comesFirst(queue, levels, slot, after - 1)) {
      linkAfter(queue, level, slot, load<u32>(timesOf(queue, after - 1), M_PREVIOUS));
      return;
    }
    // not 0: the list was longer than that, seen from its end
    after = load<u32>(recordOf(queue, after - 1), R_LINK);
  }
  enterTree(queue, levels, level, slot);
}

/** `before` is a slot + 1, 0 for the front. */
function linkAfter(queue: usize, level: usize, slot: u32, before: u32): void {
  const record = recordOf(queue, slot);
  const after = before == 0 ? load<u32>(level, L_HEAD) : load<u32>(recordOf(queue, before - 1), R_LINK);
  store<u32>(record, after, R_LINK);
  store<u32>(timesOf(queue, slot), before, M_PREVIOUS);
  if (before == 0) store<u32>(level, slot + 1, L_HEAD);
  else store<u32>(recordOf(queue, before - 1), slot + 1, R_LINK);
  if (after == 0) store<u32>(level, slot + 1, L_TAIL);
  else store<u32>(timesOf(queue, after - 1), slot + 1, M_PREVIOUS);
}

/**
 * Takes a key out of the line of its level, wherever in it. Answers the line's first key, slot + 1;
 * 0: it is empty.
 */
export function leaveLine(queue: usize, levels: usize, level: usize, slot: u32): u32 {
  const record = recordOf(queue, slot);
  if (load<u32>(record, R_META) & LATE) leaveTree(queue, level, slot);
  else {
    const after = load<u32>(record, R_LINK);
    const before = load<u32>(timesOf(queue, slot), M_PREVIOUS);
    if (before == 0) store<u32>(level, after, L_HEAD);
    else store<u32>(recordOf(queue, before - 1), after, R_LINK);
    if (after == 0) store<u32>(level, before, L_TAIL);
    else store<u32>(timesOf(queue, after - 1), before, M_PREVIOUS);
  }
  const first = firstOf(queue, levels, level);
  if (first == 0) leaveHeap(levels, level);
  else ranked(levels, level, rankOf(queue, levels, level, first));
  return first;
}

/** The next key of a level, slot + 1; 0: its line is empty. */
export function firstOf(queue: usize, levels: usize, level: usize): u32 {
  const head = load<u32>(level, L_HEAD);
  return load<u32>(level, L_TREE) == 0 ? head : earlierOf(queue, levels, level, head);
}

function earlierOf(queue: usize, levels: usize, level: usize, head: u32): u32 {
  let first = load<u32>(level, L_TREE);
  for (let left = leftOf(queue, first); left != 0; left = leftOf(queue, left)) first = left;
  return head != 0 && comesFirst(queue, levels, head - 1, first - 1) ? head : first;
}

// The tree. Its links are slot + 1: left is R_LINK, right is M_PREVIOUS, above is K_PARENT.

@inline
function leftOf(queue: usize, node: u32): u32 {
  return load<u32>(recordOf(queue, node - 1), R_LINK);
}

@inline
function rightOf(queue: usize, node: u32): u32 {
  return load<u32>(timesOf(queue, node - 1), M_PREVIOUS);
}

@inline
function aboveOf(queue: usize, node: u32): u32 {
  return load<u32>(keyOf(queue, node - 1), K_PARENT);
}

function setLeft(queue: usize, node: u32, child: u32): void {
  store<u32>(recordOf(queue, node - 1), child, R_LINK);
  if (child != 0) store<u32>(keyOf(queue, child - 1), node, K_PARENT);
}

function setRight(queue: usize, node: u32, child: u32): void {
  store<u32>(timesOf(queue, node - 1), child, M_PREVIOUS);
  if (child != 0) store<u32>(keyOf(queue, child - 1), node, K_PARENT);
}

/** The lighter a node, the deeper it lies. */
@inline
function weightOf(node: u32): u32 {
  let mixed = node;
  mixed = (mixed ^ (mixed >> 16)) * 0x85ebca6b;
  mixed = (mixed ^ (mixed >> 13)) * 0xc2b2ae35;
  return mixed ^ (mixed >> 16);
}

/** Puts `node`, or nothing, where `old` was below `above`. */
function replaceBelow(queue: usize, level: usize, above: u32, old: u32, node: u32): void {
  if (above == 0) {
    store<u32>(level, node, L_TREE);
    if (node != 0) store<u32>(keyOf(queue, node - 1), 0, K_PARENT);
  } else if (leftOf(queue, above) == old) setLeft(queue, above, node);
  else setRight(queue, above, node);
}

/** A node changes places with the one above it. */
function rise(queue: usize, level: usize, node: u32): void {
  const above = aboveOf(queue, node);
  replaceBelow(queue, level, aboveOf(queue, above), above, node);
  if (leftOf(queue, above) == node) {
    setLeft(queue, above, rightOf(queue, node));
    setRight(queue, node, above);
  } else {
    setRight(queue, above, leftOf(queue, node));
    setLeft(queue, node, above);
  }
}

function enterTree(queue: usize, levels: usize, level: usize, slot: u32): void {
  const node = slot + 1;
  const record = recordOf(queue, slot);
  store<u32>(record, load<u32>(record, R_META) | LATE, R_META);
  setLeft(queue, node, 0);
  setRight(queue, node, 0);
  let above = load<u32>(level, L_TREE);
  if (above == 0) {
    replaceBelow(queue, level, 0, 0, node);
    return;
  }
  while (true) {
    const left = comesFirst(queue, levels, slot, above - 1);
    const next = left ? leftOf(queue, above) : rightOf(queue, above);
    if (next != 0) {
      above = next;
      continue;
    }
    if (left) setLeft(queue, above, node);
    else setRight(queue, above, node);
    break;
  }
  const weight = weightOf(node);
  while (above != 0 && weight > weightOf(above)) {
    rise(queue, level, node);
    above = aboveOf(queue, node);
  }
}

function leaveTree(queue: usize, level: usize, slot: u32): void {
  const node = slot + 1;
  while (true) {
    const left = leftOf(queue, node);
    const right = rightOf(queue, node);
    if (left == 0 || right == 0) {
      replaceBelow(queue, level, aboveOf(queue, node), node, left | right);
      break;
    }
    rise(queue, level, weightOf(left) > weightOf(right) ? left : right);
  }
  const record = recordOf(queue, slot);
  store<u32>(record, load<u32>(record, R_META) & ~LATE, R_META);
}
