// The ready keys of a priority queue: a level for each priority, in which keys stand in line.
//
//   levels, 64 B:  |top u32|entries u32|count u32|room u32|every f64|closed u32|
//   entries:       count × |priority i32|level u32|, lowest priority first: found by bisection
//   level, 64 B:   |priority i32|head u32|tail u32|tree u32|ready u32|waiting u32|lower u32|higher u32|oldest f64|
//
// The line of a level is a doubly linked list and, for keys that come too late for their place, a tree; the next key is the earlier
// of the two firsts. Nearly every key goes to the end of the list. A place further ahead belongs to a key that was added again while it
// was being processed, and to a waiting key that an add makes ready: both keep the number that they got when they were added. Such a
// place is looked for a few steps from both ends of the list; a key that finds none goes into the tree, so that no add and no done
// ever walks a long line. The tree is a treap (weights are a hash of the slot) with links upwards: keys are taken out of its middle
// without comparing, so that it stays whole even should numbers wrap around.
//
// Invariants:
// - a key is in the line of its level exactly while it is DIRTY and not PROCESSING; LATE says that it is in the tree;
// - `ready` counts the DIRTY keys of a level, those in processing included; `waiting` its WAITING keys. A level is dropped only when both are
//   0 and it is not that of priority 0, so what waits, comes back by done() or is added without priority finds its level without memory;
// - every level above `top` has an empty line.

import { blockAlloc, blockFree, blockSize } from "./memory";
import { K_PARENT, LATE, M_ADDED, M_PREVIOUS, R_LINK, R_META, R_SEQUENCE, keyOf, recordOf, timesOf } from "./record";

const LEVELS_BYTES: u32 = 64;
export const N_TOP: usize = 0;
const N_ENTRIES: usize = 4;
export const N_COUNT: usize = 8;
const N_ROOM: usize = 12;
export const N_EVERY: usize = 16; // f64 ms of waiting that count as one step of priority; 0: priorities do not age
export const N_CLOSED: usize = 24; // u32, 1: nothing is handed out any more

const LEVEL_BYTES: u32 = 64;
export const L_PRIORITY: usize = 0;
const L_HEAD: usize = 4; // slot + 1
const L_TAIL: usize = 8; // slot + 1
const L_TREE: usize = 12; // slot + 1
export const L_READY: usize = 16;
export const L_WAITING: usize = 20;
export const L_LOWER: usize = 24; // the level below, 0: none
const L_HIGHER: usize = 28;
export const L_OLDEST: usize = 32; // f64: of its DIRTY keys the earliest M_ADDED, when it was looked for last

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

@inline
function entryAt(levels: usize, index: u32): usize {
  return <usize>load<u32>(levels, N_ENTRIES) + (<usize>index << 3);
}

/** The level at an index, lowest priority first. */
@inline
export function levelAt(levels: usize, index: u32): usize {
  return <usize>load<u32>(entryAt(levels, index), 4);
}

/** The index of the first level that is not below a priority. */
function placeOf(levels: usize, priority: i32): u32 {
  let low: u32 = 0;
  let high = load<u32>(levels, N_COUNT);
  while (low < high) {
    const middle = (low + high) >> 1;
    if (load<i32>(entryAt(levels, middle)) < priority) low = middle + 1;
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
  if (place < load<u32>(levels, N_COUNT) && load<i32>(entryAt(levels, place)) == priority) return levelAt(levels, place);
  return addLevel(levels, priority);
}

function addLevel(levels: usize, priority: i32): usize {
  if (load<u32>(levels, N_COUNT) == load<u32>(levels, N_ROOM) && !makeRoom(levels)) return 0;
  const level = blockAlloc(LEVEL_BYTES);
  if (level == 0) return 0;
  memory.fill(level, 0, LEVEL_BYTES);
  store<i32>(level, priority, L_PRIORITY);
  const place = placeOf(levels, priority);
  const count = load<u32>(levels, N_COUNT);
  const entry = entryAt(levels, place);
  memory.copy(entry + 8, entry, <usize>(count - place) << 3);
  store<i32>(entry, priority);
  store<u32>(entry, <u32>level, 4);
  store<u32>(levels, count + 1, N_COUNT);
  if (place > 0) join(levelAt(levels, place - 1), level);
  if (place < count) join(level, levelAt(levels, place + 1));
  if (count == 0) store<u32>(levels, <u32>level, N_TOP);
  return level;
}

@inline
function join(lower: usize, higher: usize): void {
  store<u32>(lower, <u32>higher, L_HIGHER);
  store<u32>(higher, <u32>lower, L_LOWER);
}

/** Drops the levels that nobody needs; doubles the room when that gives little, so that it is rarely done again. */
function makeRoom(levels: usize): bool {
  const room = load<u32>(levels, N_ROOM);
  let larger: usize = 0;
  let needed: u32 = 0;
  for (let i: u32 = 0; i < room; i++) needed += <u32>isNeeded(levelAt(levels, i));
  if (needed > room >> 1) {
    larger = room >= 1 << 27 ? 0 : blockAlloc(room << 4);
    if (larger == 0 && needed == room) return false;
  }
  const old = <usize>load<u32>(levels, N_ENTRIES);
  const to = larger == 0 ? old : larger;
  let kept: u32 = 0;
  let below: usize = 0;
  for (let i: u32 = 0; i < room; i++) {
    const level = levelAt(levels, i);
    if (!isNeeded(level)) {
      blockFree(level, LEVEL_BYTES);
      continue;
    }
    store<u64>(to + (<usize>kept << 3), load<u64>(old + (<usize>i << 3)));
    kept++;
    store<u32>(level, <u32>below, L_LOWER);
    store<u32>(level, 0, L_HIGHER);
    if (below != 0) store<u32>(below, <u32>level, L_HIGHER);
    below = level;
  }
  if (larger != 0) {
    blockFree(old, room << 3);
    store<u32>(levels, <u32>larger, N_ENTRIES);
    store<u32>(levels, blockSize(room << 4) >> 3, N_ROOM);
  }
  store<u32>(levels, kept, N_COUNT);
  store<u32>(levels, <u32>below, N_TOP);
  return true;
}

@inline
function isNeeded(level: usize): bool {
  return (load<u32>(level, L_READY) | load<u32>(level, L_WAITING) | <u32>(load<i32>(level, L_PRIORITY) == 0)) != 0;
}

/** Whether a key comes before another of its level: by its number; where priorities age, by when it became ready, then by its number. */
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
  const top = <usize>load<u32>(levels, N_TOP);
  if (load<i32>(level, L_PRIORITY) > load<i32>(top, L_PRIORITY)) store<u32>(levels, <u32>level, N_TOP);
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
    after = load<u32>(recordOf(queue, after - 1), R_LINK); // not 0: the list was longer than that, seen from its end
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

/** Takes a key out of the line of its level, wherever in it. */
export function leaveLine(queue: usize, level: usize, slot: u32): void {
  const record = recordOf(queue, slot);
  if (load<u32>(record, R_META) & LATE) {
    leaveTree(queue, level, slot);
    return;
  }
  const after = load<u32>(record, R_LINK);
  const before = load<u32>(timesOf(queue, slot), M_PREVIOUS);
  if (before == 0) store<u32>(level, after, L_HEAD);
  else store<u32>(recordOf(queue, before - 1), after, R_LINK);
  if (after == 0) store<u32>(level, before, L_TAIL);
  else store<u32>(timesOf(queue, after - 1), before, M_PREVIOUS);
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
