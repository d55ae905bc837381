// The bytes of objects: blocks of any size in segments, owned by dense numbers, that may move.
//
// An address is kept in one place, the directory of addresses by owner: moving a block changes its
// entry and nothing else. Blocks move only inside arenaAlloc, so whoever reads an address (arenaAt)
// may use it until the next arenaAlloc of the same arena.
//
// Invariants, checked by arenaCheck:
// - every byte between a segment's head and its end belongs to exactly one block;
// - no two free blocks are neighbours: a block that is released joins its neighbours at once (the flag PREVIOUS_FREE and the size in the last
//   word of a free block find the one before it);
// - a live block is where the directory has its owner, and an owner has one block at most;
// - a free block is in the list of its size (holes.ts), and no other block is.
//
// A request takes the free block that fits best (holes.ts). When none fits although a sixteenth of
// the live bytes is free, blocks slide: from a cursor on, live blocks move down over the hole in
// front of them, so that one hole grows until the request fits. At a free share f that moves about
// S (1 - f) / f bytes for a request of S. A call moves 256 KiB and 32 times the request at most,
// never more than 16 MiB, and goes round what is longer than a quarter of that; then it takes a new
// segment. Measured with 100 000 blocks of 3.4 KB, each update 10 % up or down: the arena stays 4 %
// above the live bytes and nothing moves, as an update mostly takes the hole that another one left.
// With blocks of 60 B to 150 KB it stays 7 % above. Letting blocks shrink and grow in their places
// was worse, 9 % above with 3.9 KB moved for each update: what they leave between neighbours fits
// nobody.
//
// Segments are a 32nd of the arena at most, from 64 KiB to 16 MiB, or as long as a request needs.
// Before memory grows, a shorter block that is free is taken where four of the requests fit: what a
// list left behind that came while the arena was small is too short for those that come after it.
// With lists of new objects one after the other memory grew to 3.4 times the live bytes; now to
// 2.3. Empty ones go back to memory.ts, but for one that is small beside the live bytes. 64 bytes
// behind each block may be read, so that scanners read words of 16 past its end.

import { blockAlloc, blockFree, blockSize, largestFree } from "./memory";
import {
  A_CHUNKS, A_CURSOR, A_DIR, A_DIR_SIZE, A_LAST, A_LIVE, A_MOVED, A_SEGMENTS, A_SEGMENT_COUNT, A_SPARE, A_TOTAL, BLOCK_HEAD, B_OWNER,
  FIRST, FLAGS, FREE, OWNERS_SHIFT, PREVIOUS_FREE, SEGMENT_END, SEGMENT_HEAD, SMALLEST_BLOCK, S_BYTES, S_NEXT, S_PREVIOUS, fit, setFree,
  sizeOf, unlink,
} from "./holes";

const ARENA_BYTES: u32 = 4096;
const SMALLEST_SEGMENT: u32 = 64 << 10;
const LARGEST_SEGMENT: u32 = 16 << 20;
const SMALLEST_REST: u32 = 32; // what is left of a hole is a block of its own from here on
const MOST_BYTES: u32 = 0x40000000;
const OWNERS_BYTES: u32 = 4 << 10;
const SLIDE_SHIFT: u32 = 4; // blocks slide when more than the live bytes >> 4 are free
const LEAST_SLIDE: i32 = 256 << 10;
const MOST_SLIDE: u32 = 16 << 20; // bytes that one call moves
const STEP_COST: i32 = 128; // of looking at a block, in bytes moved

/** An arena, or 0 when there is no memory. */
export function arenaNew(): usize {
  const arena = blockAlloc(ARENA_BYTES);
  if (arena != 0) memory.fill(arena, 0, ARENA_BYTES);
  return arena;
}

export function arenaFree(arena: usize): void {
  let segment = <usize>load<u32>(arena, A_SEGMENTS);
  while (segment != 0) {
    const next = <usize>load<u32>(segment, S_NEXT);
    blockFree(segment, load<u32>(segment, S_BYTES));
    segment = next;
  }
  const directory = <usize>load<u32>(arena, A_DIR);
  const chunks = load<u32>(arena, A_CHUNKS);
  for (let chunk: u32 = 0; chunk < chunks; chunk++) blockFree(<usize>load<u32>(directory + (<usize>chunk << 2)), OWNERS_BYTES);
  if (directory != 0) blockFree(directory, load<u32>(arena, A_DIR_SIZE) << 2);
  blockFree(arena, ARENA_BYTES);
}

// ---- the directory

@inline
function entryOf(arena: usize, owner: u32): usize {
  return (
    <usize>load<u32>(<usize>load<u32>(arena, A_DIR) + (<usize>(owner >> OWNERS_SHIFT) << 2)) +
    (<usize>(owner & ((1 << OWNERS_SHIFT) - 1)) << 2)
  );
}

/** Where the bytes of an owner are, or 0. Valid until the next arenaAlloc. */
@inline
export function arenaAt(arena: usize, owner: u32): usize {
  return owner >> OWNERS_SHIFT < load<u32>(arena, A_CHUNKS) ? <usize>load<u32>(entryOf(arena, owner)) : 0;
}

function entryReady(arena: usize, owner: u32): bool {
  while (owner >> OWNERS_SHIFT >= load<u32>(arena, A_CHUNKS)) {
    const chunks = load<u32>(arena, A_CHUNKS);
    const size = load<u32>(arena, A_DIR_SIZE);
    if (chunks == size) {
      const larger: u32 = size == 0 ? 16 : size << 1;
      const directory = blockAlloc(larger << 2);
      if (directory == 0) return false;
      if (size != 0) {
        memory.copy(directory, <usize>load<u32>(arena, A_DIR), size << 2);
        blockFree(<usize>load<u32>(arena, A_DIR), size << 2);
      }
      store<u32>(arena, <u32>directory, A_DIR);
      store<u32>(arena, larger, A_DIR_SIZE);
    }
    const chunk = blockAlloc(OWNERS_BYTES);
    if (chunk == 0) return false;
    memory.fill(chunk, 0, OWNERS_BYTES);
    store<u32>(<usize>load<u32>(arena, A_DIR) + (<usize>chunks << 2), <u32>chunk);
    store<u32>(arena, chunks + 1, A_CHUNKS);
  }
  return true;
}

/**
 * Makes the beginning of a hole, which is in no list, a live block of `size` bytes; the rest is
 * free, or its too when it is too short for a block.
 */
function carve(arena: usize, hole: usize, holeSize: u32, first: u32, size: u32): void {
  const rest = holeSize - size;
  let live = size;
  if (rest >= SMALLEST_REST) setFree(arena, hole + size, rest, 0);
  else {
    const next = hole + holeSize;
    store<u32>(next, load<u32>(next) & ~PREVIOUS_FREE);
    live = holeSize;
  }
  store<u32>(hole, live | first);
  store<u32>(arena, load<u32>(arena, A_LIVE) + live, A_LIVE);
}

/** Takes a live block out and joins it with its free neighbours. */
function releaseBlock(arena: usize, block: usize): void {
  const head = load<u32>(block);
  const size = head & ~FLAGS;
  const next = block + size;
  const nextHead = load<u32>(next);
  let hole = block;
  let holeSize = size;
  let first = head & FIRST;
  store<u32>(arena, load<u32>(arena, A_LIVE) - size, A_LIVE);
  if (head & PREVIOUS_FREE) {
    const previousSize = load<u32>(block - 4);
    hole = block - previousSize;
    holeSize += previousSize;
    first = load<u32>(hole) & FIRST;
    unlink(arena, hole, previousSize);
  }
  if (nextHead & FREE) {
    const nextSize = nextHead & ~FLAGS;
    holeSize += nextSize;
    unlink(arena, next, nextSize);
  }
  const cursor = <usize>load<u32>(arena, A_CURSOR);
  if (cursor > hole && cursor < hole + holeSize) store<u32>(arena, <u32>hole, A_CURSOR);
  if (first != 0 && sizeOf(hole + holeSize) == 0 && !keepEmpty(arena, hole - SEGMENT_HEAD)) return;
  setFree(arena, hole, holeSize, first);
}

// ---- segments

/** Adds a segment in which `size` bytes fit. False: no memory. */
function addSegment(arena: usize, size: u32): bool {
  const least = blockSize(max(size + SEGMENT_HEAD + SEGMENT_END, SMALLEST_SEGMENT));
  let bytes = SMALLEST_SEGMENT;
  const share = load<u32>(arena, A_TOTAL) >> 5;
  while (bytes < LARGEST_SEGMENT && bytes << 2 <= share) bytes <<= 2;
  bytes = max(bytes, least);
  const free = largestFree();
  if (free >= least && free >> 2 >= size) bytes = min(bytes, free);
  let segment = blockAlloc(bytes);
  if (segment == 0 && bytes != least) {
    bytes = least;
    segment = blockAlloc(bytes);
  }
  if (segment == 0) return false;
  // The last one: slides come last to what was filled last and has fewest holes.
  const previous = <usize>load<u32>(arena, A_LAST);
  store<u32>(segment, 0, S_NEXT);
  store<u32>(segment, <u32>previous, S_PREVIOUS);
  store<u32>(segment, bytes, S_BYTES);
  store<u32>(previous != 0 ? previous + S_NEXT : arena + A_SEGMENTS, <u32>segment);
  store<u32>(arena, <u32>segment, A_LAST);
  store<u32>(arena, load<u32>(arena, A_SEGMENT_COUNT) + 1, A_SEGMENT_COUNT);
  store<u32>(arena, load<u32>(arena, A_TOTAL) + bytes, A_TOTAL);
  const end = segment + bytes - SEGMENT_END;
  store<u32>(end, 0);
  store<u32>(end, <u32>segment, B_OWNER);
  setFree(arena, segment + SEGMENT_HEAD, bytes - SEGMENT_HEAD - SEGMENT_END, FIRST);
  return true;
}

/** Gives an empty segment back, whose block is in no list. */
function dropSegment(arena: usize, segment: usize): void {
  const bytes = load<u32>(segment, S_BYTES);
  const cursor = <usize>load<u32>(arena, A_CURSOR);
  if (cursor >= segment && cursor < segment + bytes) store<u32>(arena, 0, A_CURSOR);
  const next = <usize>load<u32>(segment, S_NEXT);
  const previous = <usize>load<u32>(segment, S_PREVIOUS);
  store<u32>(next != 0 ? next + S_PREVIOUS : arena + A_LAST, <u32>previous);
  store<u32>(previous != 0 ? previous + S_NEXT : arena + A_SEGMENTS, <u32>next);
  store<u32>(arena, load<u32>(arena, A_SEGMENT_COUNT) - 1, A_SEGMENT_COUNT);
  store<u32>(arena, load<u32>(arena, A_TOTAL) - bytes, A_TOTAL);
  blockFree(segment, bytes);
}

/**
 * A segment is empty now, its block in no list: whether it is kept. One is, the smallest, so that a
 * block that comes and goes costs no segment each time; none that is large beside what lives.
 */
function keepEmpty(arena: usize, segment: usize): bool {
  const bytes = load<u32>(segment, S_BYTES);
  const spare = <usize>load<u32>(arena, A_SPARE);
  if (bytes == SMALLEST_SEGMENT || bytes <= load<u32>(arena, A_LIVE) >> 4) {
    if (spare == 0 || bytes < load<u32>(spare, S_BYTES)) {
      if (spare != 0) {
        unlink(arena, spare + SEGMENT_HEAD, sizeOf(spare + SEGMENT_HEAD));
        dropSegment(arena, spare);
      }
      store<u32>(arena, <u32>segment, A_SPARE);
      return true;
    }
  }
  dropSegment(arena, segment);
  return false;
}

// ---- sliding

let slideLeft: i64 = 0; // bytes that the running slide may still move

/** The end of the segment when less than `size` bytes are free from `block` on, else 0. */
function endIfFull(block: usize, size: u32): usize {
  let free: u32 = 0;
  while (true) {
    const head = load<u32>(block);
    const bytes = head & ~FLAGS;
    if (bytes == 0) return block;
    if (head & FREE) {
      free += bytes;
      if (free >= size) return 0;
    }
    block += bytes;
    slideLeft -= STEP_COST;
  }
}

/**
 * Moves blocks down from the cursor on until a free block has `size` bytes; 0 when `budget` bytes
 * were moved or all segments seen.
 */
function slide(arena: usize, size: u32, budget: i64): usize {
  slideLeft = budget;
  let ends = load<u32>(arena, A_SEGMENT_COUNT) + 1;
  let block = <usize>load<u32>(arena, A_CURSOR);
  if (block == 0) block = <usize>load<u32>(arena, A_SEGMENTS) + SEGMENT_HEAD;
  const longest = budget >> 2;
  let moved: u64 = 0;
  let found: usize = 0;
  // Only where a segment may have too few free bytes for the request is it worth to count them
  // first.
  let full: usize = size > LARGEST_SEGMENT >> 8 ? endIfFull(block, size) : 0;
  if (full != 0) block = full;
  while (slideLeft > 0) {
    let head = load<u32>(block);
    let blockBytes = head & ~FLAGS;
    if (blockBytes == 0) {
      if (--ends == 0) break;
      let segment = <usize>load<u32>(<usize>load<u32>(block, B_OWNER), S_NEXT);
      if (segment == 0) segment = <usize>load<u32>(arena, A_SEGMENTS);
      block = segment + SEGMENT_HEAD;
      slideLeft -= STEP_COST;
      full = size > load<u32>(segment, S_BYTES) >> 8 ? endIfFull(block, size) : 0;
      if (full != 0) block = full;
      continue;
    }
    if ((head & FREE) == 0) {
      block += blockBytes;
      slideLeft -= STEP_COST;
      continue;
    }
    if (blockBytes < size && sizeOf(block + blockBytes) != 0) {
      let bytes = blockBytes;
      let first = head & FIRST;
      unlink(arena, block, bytes);
      do {
        const from = block + bytes;
        const live = sizeOf(from);
        if (live == 0 || <i64>live > longest) break;
        memory.copy(block, from, live);
        store<u32>(block, live | first);
        store<u32>(entryOf(arena, load<u32>(block, B_OWNER)), <u32>block + BLOCK_HEAD);
        first = 0;
        block += live;
        moved += live;
        slideLeft -= live + STEP_COST;
        const next = load<u32>(block + bytes);
        if (next & FREE) {
          const nextBytes = next & ~FLAGS;
          unlink(arena, block + bytes, nextBytes);
          bytes += nextBytes;
        }
      } while (bytes < size && slideLeft > 0);
      setFree(arena, block, bytes, first);
      blockBytes = bytes;
    }
    if (blockBytes >= size) {
      found = block;
      break;
    }
    if (slideLeft > 0) block += blockBytes; // the end, or a block that is too long
  }
  store<u32>(arena, <u32>block, A_CURSOR);
  store<f64>(arena, load<f64>(arena, A_MOVED) + <f64>moved, A_MOVED);
  return found;
}

// ---- blocks

/** A free block of at least `size` bytes, by whatever it takes; 0: no memory. */
function findHole(arena: usize, size: u32): usize {
  const found = fit(arena, size);
  if (found != 0) return found;
  const live = load<u32>(arena, A_LIVE);
  const free = load<u32>(arena, A_TOTAL) - live;
  const canSlide = free >= size && load<u32>(arena, A_SEGMENTS) != 0;
  if (canSlide && free > live >> SLIDE_SHIFT) {
    const slid = slide(arena, size, min(<i64>LEAST_SLIDE + (<i64>size << 5), <i64>MOST_SLIDE));
    if (slid != 0) return slid;
  }
  if (addSegment(arena, size)) return fit(arena, size);
  return canSlide ? slide(arena, size, i64.MAX_VALUE) : 0;
}

/**
 * Gives the owner a block of at least `bytes` bytes, 8-byte aligned, with arbitrary content, and
 * answers its address. A block that the owner has is released for it: its bytes are gone. Other
 * blocks may move. 0 when there is no memory: then every owner has what it had, though perhaps
 * elsewhere.
 */
export function arenaAlloc(arena: usize, bytes: u32, owner: u32): usize {
  if (bytes > MOST_BYTES || !entryReady(arena, owner)) return 0;
  const size = max((bytes + (BLOCK_HEAD + 7)) & ~7, SMALLEST_BLOCK);
  const block = findHole(arena, size);
  if (block == 0) return 0;
  const head = load<u32>(block);
  const found = head & ~FLAGS;
  unlink(arena, block, found);
  if (<u32>block - SEGMENT_HEAD == load<u32>(arena, A_SPARE)) store<u32>(arena, 0, A_SPARE);
  carve(arena, block, found, head & FIRST, size);
  const old = <usize>load<u32>(entryOf(arena, owner));
  if (old != 0) releaseBlock(arena, old - BLOCK_HEAD);
  store<u32>(block, owner, B_OWNER);
  store<u32>(entryOf(arena, owner), <u32>block + BLOCK_HEAD);
  return block + BLOCK_HEAD;
}

/** Gives a block back; its owner has none then. */
export function arenaRelease(arena: usize, address: usize): void {
  const block = address - BLOCK_HEAD;
  store<u32>(entryOf(arena, load<u32>(block, B_OWNER)), 0);
  releaseBlock(arena, block);
}

/** The bytes that a block has room for: what was asked for, or a little more. */
@inline
export function arenaSize(address: usize): u32 {
  return sizeOf(address - BLOCK_HEAD) - BLOCK_HEAD;
}

/**
 * Whether so many bytes may take the place of what a block holds, wasting little: at most 56 bytes
 * or an eighth.
 */
@inline
export function arenaFits(address: usize, bytes: u32): bool {
  const size = arenaSize(address);
  return bytes <= size && size - bytes <= max(size >> 3, 56);
}

@inline
export function arenaOwner(address: usize): u32 {
  return load<u32>(address - BLOCK_HEAD, B_OWNER);
}

/** Hands a block on to another owner, which has none. False: no memory, and nothing has changed. */
export function arenaSetOwner(arena: usize, address: usize, owner: u32): bool {
  if (!entryReady(arena, owner)) return false;
  store<u32>(entryOf(arena, arenaOwner(address)), 0);
  store<u32>(address - BLOCK_HEAD, owner, B_OWNER);
  store<u32>(entryOf(arena, owner), <u32>address);
  return true;
}

/** Bytes of live blocks, their headers of 8 B included. */
export function arenaLive(arena: usize): u32 {
  return load<u32>(arena, A_LIVE);
}

/** Bytes of all segments. */
export function arenaTotal(arena: usize): u32 {
  return load<u32>(arena, A_TOTAL);
}

/** Bytes that slides have moved so far. */
export function arenaMoved(arena: usize): f64 {
  return load<f64>(arena, A_MOVED);
}
