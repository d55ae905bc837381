// The ready keys of a priority queue: a level for each priority, in which keys stand in line.
//
//   levels, 64 B:  |entries u32|count u32|room u32|heap u32|every f64|closed u32|needed u32|
//   entries:       room × level u32, lowest priority first: found by bisection
//                  room × level u32: the heap
//   level, 64 B:   |priority i32|head u32|tail u32|tree u32|ready u32|waiting u32|place u32|-|
//                  |oldest f64|rank f64|
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
// - a key is in the line of its level exactly while it is dirty and not processing; with STATE_LATE
//   it is in the tree;
// - `ready` counts the dirty keys of a level, those in processing included; `waiting` its waiting
//   keys. A level is dropped only when both are 0 and its priority is not 0. So the end of a wait,
//   done() and an add without priority find their level without memory;
// - a level is in the heap exactly while its line is not empty: `place` is its place, or 0;
// - `rank` of a level in the heap is that of the first key of its line.

// Raw loads and stores: arrays of levels.

import { blockAlloc, blockFree, blockSize } from "./memory";
import { STATE_LATE, Table, TreeNode, recordOf, timesOf, waitOf } from "./record";

const LEVELS_BYTES: u32 = 64;
const LEVEL_BYTES: u32 = 64;

/** The header of the levels; drawn at the top of the file. */
@unmanaged
export class Levels {
  entries: usize; // block of the levels and of the heap
  count: u32;
  room: u32;
  heap: u32; // levels in the heap
  every: f64; // ms of waiting that count as one step of priority; 0: priorities do not age
  closed: u32; // 1: nothing is handed out any more
  needed: u32; // levels that may not be dropped
}

/** Drawn at the top of the file. */
@unmanaged
export class Level {
  priority: i32;
  head: u32; // slot + 1
  tail: u32; // slot + 1
  tree: u32; // slot + 1
  ready: u32; // dirty keys, hidden ones included
  waiting: u32;
  place: u32; // in the heap, from 1
  oldest: f64; // of its dirty keys the earliest Times.added, when it was looked for last
  rank: f64; // the smaller, the sooner the level's first key is handed out
}

const FIRST_ROOM: u32 = 64;
const STEPS: u32 = 8; // how far into a list a place is looked for, from either end

/** Levels with that of priority 0, or null when there is no memory. */
export function levelsNew(everyMs: f64): Levels | null {
  const block = blockAlloc(LEVELS_BYTES);
  if (block == 0) return null;
  const entries = blockAlloc(FIRST_ROOM << 3);
  if (entries != 0) {
    memory.fill(block, 0, LEVELS_BYTES);
    const levels = changetype<Levels>(block);
    levels.entries = entries;
    levels.room = FIRST_ROOM;
    levels.every = everyMs;
    if (levelFor(levels, 0) !== null) return levels;
    blockFree(entries, FIRST_ROOM << 3);
  }
  blockFree(block, LEVELS_BYTES);
  return null;
}

export function levelsFree(levels: Levels): void {
  const count = levels.count;
  for (let i: u32 = 0; i < count; i++) {
    blockFree(changetype<usize>(levelAt(levels, i)), LEVEL_BYTES);
  }
  blockFree(levels.entries, levels.room << 3);
  blockFree(changetype<usize>(levels), LEVELS_BYTES);
}

/** The level at an index, lowest priority first. */
@inline
export function levelAt(levels: Levels, index: u32): Level {
  return load<Level>(levels.entries + (<usize>index << 2));
}

/** The index of the first level that is not below a priority. */
function placeOf(levels: Levels, priority: i32): u32 {
  let low: u32 = 0;
  let high = levels.count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (levelAt(levels, middle).priority < priority) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The level of a priority that has keys. */
export function levelOf(levels: Levels, priority: i32): Level {
  return levelAt(levels, placeOf(levels, priority));
}

/** The level of a priority, made if there is none; 0 when there is no memory. */
export function levelFor(levels: Levels, priority: i32): Level | null {
  const place = placeOf(levels, priority);
  if (place < levels.count) {
    const level = levelAt(levels, place);
    if (level.priority == priority) return level;
  }
  return addLevel(levels, priority);
}

function addLevel(levels: Levels, priority: i32): Level | null {
  if (levels.count == levels.room && !sweep(levels)) return null;
  const block = blockAlloc(LEVEL_BYTES);
  if (block == 0) return null;
  memory.fill(block, 0, LEVEL_BYTES);
  const level = changetype<Level>(block);
  level.priority = priority;
  const place = placeOf(levels, priority);
  const count = levels.count;
  const entry = levels.entries + (<usize>place << 2);
  memory.copy(entry + 4, entry, <usize>(count - place) << 2);
  store<Level>(entry, level);
  levels.count = count + 1;
  levels.needed += <u32>isNeeded(level);
  return level;
}

@inline
function isNeeded(level: Level): bool {
  return (level.ready | level.waiting | <u32>(level.priority == 0)) != 0;
}

/** Counts ready keys of a level. */
export function countReady(levels: Levels, level: Level, by: i32): void {
  const before = <u32>isNeeded(level);
  level.ready += by;
  levels.needed = levels.needed + <u32>isNeeded(level) - before;
}

export function countWaiting(levels: Levels, level: Level, by: i32): void {
  const before = <u32>isNeeded(level);
  level.waiting += by;
  levels.needed = levels.needed + <u32>isNeeded(level) - before;
}

/** Drops unneeded levels once they are more than half. No caller may hold a level across it. */
@inline
export function sweepOften(levels: Levels): void {
  const count = levels.count;
  if (count > FIRST_ROOM && levels.needed < count >> 1) sweep(levels);
}

/**
 * Drops unneeded levels and leaves room for as many as are kept, so that it is rarely done again.
 * False: no memory, and all are needed.
 */
function sweep(levels: Levels): bool {
  const room = levels.room;
  const needed = levels.needed;
  const fit = max(blockSize(needed << 4) >> 3, FIRST_ROOM);
  const old = levels.entries;
  const other: usize = fit == room ? 0 : blockAlloc(fit << 3);
  if (other == 0 && needed == room) return false;
  const to = other == 0 ? old : other;
  const count = levels.count;
  let kept: u32 = 0;
  for (let i: u32 = 0; i < count; i++) {
    const level = load<Level>(old + (<usize>i << 2));
    if (!isNeeded(level)) {
      blockFree(changetype<usize>(level), LEVEL_BYTES);
      continue;
    }
    store<Level>(to + (<usize>kept << 2), level);
    kept++;
  }
  levels.count = kept;
  if (other == 0) return true;
  memory.copy(other + (<usize>fit << 2), old + (<usize>room << 2), <usize>levels.heap << 2);
  blockFree(old, room << 3);
  levels.entries = other;
  levels.room = fit;
  return true;
}

// The heap of levels.

@inline
function heapAt(levels: Levels, place: u32): usize {
  return levels.entries + (<usize>(levels.room + place - 1) << 2);
}

/** The level whose first key is next; null: none is ready. */
@inline
export function nextLevel(levels: Levels): Level | null {
  return levels.heap == 0 ? null : load<Level>(heapAt(levels, 1));
}

/**
 * The rank of a level while this key (slot + 1) is the first of its line.
 * See aging in priority.ts.
 */
@inline
function rankOf(queue: Table, levels: Levels, level: Level, first: u32): f64 {
  const priority = <f64>level.priority;
  const every = levels.every;
  return every == 0 ? -priority : timesOf(queue, first - 1).added - priority * every;
}

@inline
function isSooner(level: Level, other: Level): bool {
  const rank = level.rank;
  const otherRank = other.rank;
  return rank < otherRank || (rank == otherRank && level.priority > other.priority);
}

@inline
function putAt(levels: Levels, level: Level, at: u32): void {
  store<Level>(heapAt(levels, at), level);
  level.place = at;
}

/** Sifts a level up or down from a free place of the heap. */
function settle(levels: Levels, level: Level, at: u32): void {
  for (; at > 1; at >>= 1) {
    const above = load<Level>(heapAt(levels, at >> 1));
    if (!isSooner(level, above)) break;
    putAt(levels, above, at);
  }
  const size = levels.heap;
  for (let below = at << 1; below <= size; below = at << 1) {
    let child = load<Level>(heapAt(levels, below));
    if (below < size) {
      const other = load<Level>(heapAt(levels, below + 1));
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

/** Sets the rank of a level after the first key of its line may have changed. */
function ranked(levels: Levels, level: Level, rank: f64): void {
  let at = level.place;
  if (at == 0) {
    at = levels.heap + 1;
    levels.heap = at;
  } else if (rank == level.rank) return;
  level.rank = rank;
  settle(levels, level, at);
}

/** Takes a level whose line is empty out of the heap. */
function leaveHeap(levels: Levels, level: Level): void {
  const size = levels.heap;
  const last = load<Level>(heapAt(levels, size));
  levels.heap = size - 1;
  if (last != level) settle(levels, last, level.place);
  level.place = 0;
}

/**
 * Whether a key comes before another of its level: by its number; where priorities age, by when it
 * became ready, then by its number.
 */
function comesFirst(queue: Table, levels: Levels, slot: u32, other: u32): bool {
  if (levels.every != 0) {
    const at = timesOf(queue, slot).added;
    const otherAt = timesOf(queue, other).added;
    if (at != otherAt) return at < otherAt;
  }
  return <i32>(waitOf(queue, slot).sequence - waitOf(queue, other).sequence) < 0;
}

/** Puts a key into the line of its level. */
export function enterLine(queue: Table, levels: Levels, level: Level, slot: u32): void {
  const rank = rankOf(queue, levels, level, slot + 1);
  // By rank, not by its place in line, which is not known yet: where priorities age, the first key
  // has the smaller rank.
  if (level.place == 0 || rank < level.rank) ranked(levels, level, rank);
  let before = level.tail;
  for (let i: u32 = 0; before != 0 && comesFirst(queue, levels, slot, before - 1); i++) {
    if (i == STEPS) {
      enterFromHead(queue, levels, level, slot);
      return;
    }
    before = timesOf(queue, before - 1).previous;
  }
  linkAfter(queue, level, slot, before);
}

function enterFromHead(queue: Table, levels: Levels, level: Level, slot: u32): void {
  let after = level.head;
  for (let i: u32 = 0; i <= STEPS; i++) {
    if (comesFirst(queue, levels, slot, after - 1)) {
      linkAfter(queue, level, slot, timesOf(queue, after - 1).previous);
      return;
    }
    // not 0: the list was longer than that, seen from its end
    after = waitOf(queue, after - 1).link;
  }
  enterTree(queue, levels, level, slot);
}

/** `before` is a slot + 1, 0 for the front. */
function linkAfter(queue: Table, level: Level, slot: u32, before: u32): void {
  const after = before == 0 ? level.head : waitOf(queue, before - 1).link;
  waitOf(queue, slot).link = after;
  timesOf(queue, slot).previous = before;
  if (before == 0) level.head = slot + 1;
  else waitOf(queue, before - 1).link = slot + 1;
  if (after == 0) level.tail = slot + 1;
  else timesOf(queue, after - 1).previous = slot + 1;
}

/**
 * Takes a key out of the line of its level, wherever in it. Answers the line's first key, slot + 1;
 * 0: it is empty.
 */
export function leaveLine(queue: Table, levels: Levels, level: Level, slot: u32): u32 {
  const record = recordOf(queue, slot);
  if (record.meta & STATE_LATE) leaveTree(queue, level, slot);
  else {
    const after = waitOf(queue, slot).link;
    const before = timesOf(queue, slot).previous;
    if (before == 0) level.head = after;
    else waitOf(queue, before - 1).link = after;
    if (after == 0) level.tail = before;
    else timesOf(queue, after - 1).previous = before;
  }
  const first = firstOf(queue, levels, level);
  if (first == 0) leaveHeap(levels, level);
  else ranked(levels, level, rankOf(queue, levels, level, first));
  return first;
}

/** The next key of a level, slot + 1; 0: its line is empty. */
export function firstOf(queue: Table, levels: Levels, level: Level): u32 {
  const head = level.head;
  return level.tree == 0 ? head : earlierOf(queue, levels, level, head);
}

function earlierOf(queue: Table, levels: Levels, level: Level, head: u32): u32 {
  let first = level.tree;
  for (let left = leftOf(queue, first); left != 0; left = leftOf(queue, left)) first = left;
  return head != 0 && comesFirst(queue, levels, head - 1, first - 1) ? head : first;
}

// The tree. Its links are slot + 1: left is Wait.link, right is Times.previous, above is
// TreeNode.above.

@inline
function nodeOf(queue: Table, node: u32): TreeNode {
  return changetype<TreeNode>(waitOf(queue, node - 1));
}

@inline
function leftOf(queue: Table, node: u32): u32 {
  return waitOf(queue, node - 1).link;
}

@inline
function rightOf(queue: Table, node: u32): u32 {
  return timesOf(queue, node - 1).previous;
}

@inline
function aboveOf(queue: Table, node: u32): u32 {
  return nodeOf(queue, node).above;
}

function setLeft(queue: Table, node: u32, child: u32): void {
  waitOf(queue, node - 1).link = child;
  if (child != 0) nodeOf(queue, child).above = node;
}

function setRight(queue: Table, node: u32, child: u32): void {
  timesOf(queue, node - 1).previous = child;
  if (child != 0) nodeOf(queue, child).above = node;
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
function replaceBelow(queue: Table, level: Level, above: u32, old: u32, node: u32): void {
  if (above == 0) {
    level.tree = node;
    if (node != 0) nodeOf(queue, node).above = 0;
  } else if (leftOf(queue, above) == old) setLeft(queue, above, node);
  else setRight(queue, above, node);
}

/** A node changes places with the one above it. */
function rise(queue: Table, level: Level, node: u32): void {
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

function enterTree(queue: Table, levels: Levels, level: Level, slot: u32): void {
  const node = slot + 1;
  const record = recordOf(queue, slot);
  record.meta |= STATE_LATE;
  setLeft(queue, node, 0);
  setRight(queue, node, 0);
  let above = level.tree;
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

function leaveTree(queue: Table, level: Level, slot: u32): void {
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
  record.meta &= ~STATE_LATE;
}
