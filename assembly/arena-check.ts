// Whether an arena is what arena.ts promises: for tests, which call it between random operations.

import { arenaAt } from "./arena";
import {
  A_CHUNKS, A_CURSOR, A_HEADS, A_LEVELS, A_LISTS, A_LIVE, A_SEGMENTS, A_SEGMENT_COUNT, A_SPARE, A_TOTAL, BLOCK_HEAD, B_NEXT, B_OWNER,
  B_PREVIOUS, FIRST, FLAGS, FREE, LEVELS, OWNERS_SHIFT, PREVIOUS_FREE, SEGMENT_END, SEGMENT_HEAD, SMALLEST_BLOCK, S_BYTES, S_NEXT,
  S_PREVIOUS, listOf,
} from "./holes";

let blocks: u32 = 0;
let holes: u32 = 0;
let live: u32 = 0;
let cursorSeen: bool = false;

/** Walks a segment; what is wrong in it, or 0. */
function checkSegment(arena: usize, segment: usize): i32 {
  const end = segment + load<u32>(segment, S_BYTES) - SEGMENT_END;
  const cursor = <usize>load<u32>(arena, A_CURSOR);
  let block = segment + SEGMENT_HEAD;
  let before: u32 = FIRST; // the head of the block before, FIRST where there is none
  let beforeSize: u32 = 0;
  while (block < end) {
    const head = load<u32>(block);
    const size = head & ~FLAGS;
    if (block == cursor) cursorSeen = true;
    if (size < SMALLEST_BLOCK || block + size > end) return 1;
    if (((head & FIRST) != 0) != (block == segment + SEGMENT_HEAD)) return 2;
    if (((head & PREVIOUS_FREE) != 0) != ((before & FREE) != 0)) return 3;
    if (before & FREE && load<u32>(block - 4) != beforeSize) return 4;
    if (head & FREE) {
      if (before & FREE) return 5;
      holes++;
    } else {
      if (arenaAt(arena, load<u32>(block, B_OWNER)) != block + BLOCK_HEAD) return 6;
      blocks++;
      live += size;
    }
    before = head;
    beforeSize = size;
    block += size;
  }
  if (block != end) return 7;
  if (block == cursor) cursorSeen = true;
  const head = load<u32>(end);
  if ((head & ~PREVIOUS_FREE) != 0 || <usize>load<u32>(end, B_OWNER) != segment) return 8;
  if (((head & PREVIOUS_FREE) != 0) != ((before & FREE) != 0)) return 9;
  if (before & FREE && load<u32>(block - 4) != beforeSize) return 10;
  const empty = (before & FREE) != 0 && beforeSize == load<u32>(segment, S_BYTES) - SEGMENT_HEAD - SEGMENT_END;
  return empty == (<usize>load<u32>(arena, A_SPARE) == segment) ? 0 : 11;
}

/** Walks the lists of free blocks; what is wrong in them, or 0. */
function checkLists(arena: usize): i32 {
  let listed: u32 = 0;
  for (let level: u32 = 0; level < LEVELS; level++) {
    const bits = load<u32>(arena + A_LISTS + (<usize>level << 2));
    if ((bits != 0) != ((load<u32>(arena, A_LEVELS) & (<u32>1 << level)) != 0)) return 20;
    for (let i: u32 = 0; i < 32; i++) {
      const list = (level << 5) | i;
      let block = <usize>load<u32>(arena + A_HEADS + (<usize>list << 2));
      if ((block != 0) != ((bits & (<u32>1 << i)) != 0)) return 21;
      let previous: usize = 0;
      while (block != 0) {
        const head = load<u32>(block);
        if ((head & FREE) == 0 || listOf(head & ~FLAGS) != list) return 22;
        if (<usize>load<u32>(block, B_PREVIOUS) != previous) return 23;
        if (++listed > holes) return 24;
        previous = block;
        block = <usize>load<u32>(block, B_NEXT);
      }
    }
  }
  return listed == holes ? 0 : 25;
}

/** 0, or the number of what is wrong first. */
export function arenaCheck(arena: usize): i32 {
  blocks = 0;
  holes = 0;
  live = 0;
  cursorSeen = load<u32>(arena, A_CURSOR) == 0;
  let segments: u32 = 0;
  let total: u32 = 0;
  let previous: usize = 0;
  for (let segment = <usize>load<u32>(arena, A_SEGMENTS); segment != 0; segment = <usize>load<u32>(segment, S_NEXT)) {
    if (<usize>load<u32>(segment, S_PREVIOUS) != previous) return 30;
    const wrong = checkSegment(arena, segment);
    if (wrong != 0) return wrong;
    segments++;
    total += load<u32>(segment, S_BYTES);
    previous = segment;
  }
  if (segments != load<u32>(arena, A_SEGMENT_COUNT) || total != load<u32>(arena, A_TOTAL)) return 31;
  if (live != load<u32>(arena, A_LIVE)) return 32;
  if (!cursorSeen) return 33;
  let owners: u32 = 0;
  const entries = load<u32>(arena, A_CHUNKS) << OWNERS_SHIFT;
  for (let owner: u32 = 0; owner < entries; owner++) if (arenaAt(arena, owner) != 0) owners++;
  if (owners != blocks) return 34;
  return checkLists(arena);
}
