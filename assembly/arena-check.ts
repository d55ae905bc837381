// Checks the invariants of arena.ts, for tests, which call it between random operations.
//
// Raw loads: the size in the last word of a free block.

import { wordAt } from "./memory";
import { arenaAt } from "./arena";
import {
  BLOCK_HEAD, FIRST, FLAGS, FREE, LEVELS, OWNERS_SHIFT, PREVIOUS_FREE, SEGMENT_END, SEGMENT_HEAD,
  SMALLEST_BLOCK, Arena, Block, Hole, Segment, headOf, headsOf, freeListOf, listsOf,
} from "./holes";

/**
 * What the walk over the segments has counted.
 *
 *   |blocks u32|holes u32|live u32|cursorSeen u32|
 */
@unmanaged
class Counts {
  blocks: u32; // live blocks
  holes: u32; // free blocks
  live: u32; // bytes of live blocks
  cursorSeen: u32; // 1: a block begins at the cursor
}

const counts: Counts = changetype<Counts>(memory.data(16, 16));

/** Walks a segment. Answers 0, or the number of the check that failed. */
function checkSegment(arena: Arena, segment: usize): i32 {
  const end = segment + changetype<Segment>(segment).bytes - SEGMENT_END;
  const cursor = arena.cursor;
  let block = segment + SEGMENT_HEAD;
  let before: u32 = FIRST; // the head of the block before, FIRST where there is none
  let beforeSize: u32 = 0;
  while (block < end) {
    const head = headOf(block);
    const size = head & ~FLAGS;
    if (block == cursor) counts.cursorSeen = 1;
    if (size < SMALLEST_BLOCK || block + size > end) return 1;
    if (((head & FIRST) != 0) != (block == segment + SEGMENT_HEAD)) return 2;
    if (((head & PREVIOUS_FREE) != 0) != ((before & FREE) != 0)) return 3;
    if (before & FREE && load<u32>(block - 4) != beforeSize) return 4;
    if (head & FREE) {
      if (before & FREE) return 5;
      counts.holes++;
    } else {
      if (arenaAt(arena, changetype<Block>(block).owner) != block + BLOCK_HEAD) return 6;
      counts.blocks++;
      counts.live += size;
    }
    before = head;
    beforeSize = size;
    block += size;
  }
  if (block != end) return 7;
  if (block == cursor) counts.cursorSeen = 1;
  const head = headOf(end);
  if ((head & ~PREVIOUS_FREE) != 0 || <usize>changetype<Block>(end).owner != segment) return 8;
  if (((head & PREVIOUS_FREE) != 0) != ((before & FREE) != 0)) return 9;
  if (before & FREE && load<u32>(block - 4) != beforeSize) return 10;
  const inside = changetype<Segment>(segment).bytes - SEGMENT_HEAD - SEGMENT_END;
  const empty = (before & FREE) != 0 && beforeSize == inside;
  return empty == (arena.spare == segment) ? 0 : 11;
}

/** Walks the lists of free blocks. Answers 0, or the number of the check that failed. */
function checkLists(arena: Arena): i32 {
  let listed: u32 = 0;
  for (let level: u32 = 0; level < LEVELS; level++) {
    const bits = wordAt(listsOf(arena), level);
    if ((bits != 0) != ((arena.levels & (<u32>1 << level)) != 0)) return 20;
    for (let i: u32 = 0; i < 32; i++) {
      const list = (level << 5) | i;
      let block = <usize>wordAt(headsOf(arena), list);
      if ((block != 0) != ((bits & (<u32>1 << i)) != 0)) return 21;
      let previous: usize = 0;
      while (block != 0) {
        const head = headOf(block);
        if ((head & FREE) == 0 || freeListOf(head & ~FLAGS) != list) return 22;
        if (changetype<Hole>(block).previous != previous) return 23;
        if (++listed > counts.holes) return 24;
        previous = block;
        block = changetype<Hole>(block).next;
      }
    }
  }
  return listed == counts.holes ? 0 : 25;
}

/** 0, or the number of the first check that failed. */
export function arenaCheck(arena: Arena): i32 {
  counts.blocks = 0;
  counts.holes = 0;
  counts.live = 0;
  counts.cursorSeen = <u32>(arena.cursor == 0);
  let segments: u32 = 0;
  let total: u32 = 0;
  let previous: usize = 0;
  for (let segment = arena.segments; segment != 0; segment = changetype<Segment>(segment).next) {
    if (changetype<Segment>(segment).previous != previous) return 30;
    const wrong = checkSegment(arena, segment);
    if (wrong != 0) return wrong;
    segments++;
    total += changetype<Segment>(segment).bytes;
    previous = segment;
  }
  if (segments != arena.segmentCount || total != arena.total) return 31;
  if (counts.live != arena.live) return 32;
  if (counts.cursorSeen == 0) return 33;
  let owners: u32 = 0;
  const entries = arena.chunks << OWNERS_SHIFT;
  for (let owner: u32 = 0; owner < entries; owner++) if (arenaAt(arena, owner) != 0) owners++;
  if (owners != counts.blocks) return 34;
  return checkLists(arena);
}
