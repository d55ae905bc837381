// The bytes of objects: blocks of any size in segments, owned by dense numbers, that may move.
//
// An address is kept in one place, the directory of addresses by owner: moving a block changes its
// entry and nothing else. Blocks move only inside arenaAlloc, so an address
// that arenaAt answers is good until the next arenaAlloc of the same arena.
//
// Invariants, checked by arenaCheck:
// - every byte between a segment's head and its end belongs to exactly one block;
// - no two free blocks are neighbours: a block that is released joins its neighbours at once (the
//   flag PREVIOUS_FREE and the size in the last word of a free block find the one before it);
// - a live block is where the directory has its owner, and an owner has one block at most;
// - a free block is in the list of its size (holes.ts), and no other block is.
//
// A request takes the free block that fits best (holes.ts). When none fits although a sixteenth of
// the live bytes is free, blocks slide: from a cursor on, live blocks move down over the hole in
// front of them, so that one hole grows until the request fits. At a free share f that moves about
// S (1 - f) / f bytes for a request of S. A call moves 256 KiB and 32 times the request at most,
// never more than 16 MiB, and skips blocks longer than a quarter of that; then it takes a new
// segment. Measured with 100 000 blocks of 3.4 KB, each update 10 % up or down: the arena stays 4 %
// above the live bytes and nothing moves, as an update mostly takes the hole that another one left.
// With blocks of 60 B to 150 KB it stays 7 % above. Letting blocks shrink and grow in their places
// was worse, 9 % above with 3.9 KB moved for each update: the holes left between neighbours fit no
// other block.
//
// Segments are a 32nd of the arena at most, from 64 KiB to 16 MiB, or as long as a request needs.
// Before memory grows, a shorter free block is taken where four of the requests fit: segments of a
// list that came while the arena was small are too short for the lists after it.
// With lists of new objects one after the other memory grew to 3.4 times the live bytes; now to
// 2.3. Empty segments go back to memory.ts, except one that is small beside the live bytes.
// 64 bytes behind each block may be read, so that scanners read words of 16 past its end.
//
// Raw loads and stores: the directory's addresses and the size in the last word of a free block.

import { blockAlloc, blockFree, blockSize, largestFree, setWord, wordAt } from "./memory";
import {
  BLOCK_HEAD, FIRST, FLAGS, FREE, OWNERS_SHIFT, PREVIOUS_FREE, SEGMENT_END, SEGMENT_HEAD,
  SMALLEST_BLOCK, Arena, Block, Segment, fit, headOf, setFree, setHead, sizeOf, unlink,
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

/** An arena, or null when there is no memory. */
export function arenaNew(): Arena | null {
  const block = blockAlloc(ARENA_BYTES);
  if (block == 0) return null;
  memory.fill(block, 0, ARENA_BYTES);
  return changetype<Arena>(block);
}

export function arenaFree(arena: Arena): void {
  let segment = arena.segments;
  while (segment != 0) {
    const next = changetype<Segment>(segment).next;
    blockFree(segment, changetype<Segment>(segment).bytes);
    segment = next;
  }
  const directory = arena.directory;
  const chunks = arena.chunks;
  for (let chunk: u32 = 0; chunk < chunks; chunk++) {
    blockFree(<usize>wordAt(directory, chunk), OWNERS_BYTES);
  }
  if (directory != 0) blockFree(directory, arena.directorySize << 2);
  blockFree(changetype<usize>(arena), ARENA_BYTES);
}

// ---- the directory

@inline
function entryOf(arena: Arena, owner: u32): usize {
  return (
    <usize>wordAt(arena.directory, owner >> OWNERS_SHIFT) +
    (<usize>(owner & ((1 << OWNERS_SHIFT) - 1)) << 2)
  );
}

/** Where the bytes of an owner are, or 0. Valid until the next arenaAlloc. */
@inline
export function arenaAt(arena: Arena, owner: u32): usize {
  return owner >> OWNERS_SHIFT < arena.chunks ? <usize>load<u32>(entryOf(arena, owner)) : 0;
}

function entryReady(arena: Arena, owner: u32): bool {
  while (owner >> OWNERS_SHIFT >= arena.chunks) {
    const chunks = arena.chunks;
    const size = arena.directorySize;
    if (chunks == size) {
      const larger: u32 = size == 0 ? 16 : size << 1;
      const directory = blockAlloc(larger << 2);
      if (directory == 0) return false;
      if (size != 0) {
        memory.copy(directory, arena.directory, size << 2);
        blockFree(arena.directory, size << 2);
      }
      arena.directory = directory;
      arena.directorySize = larger;
    }
    const chunk = blockAlloc(OWNERS_BYTES);
    if (chunk == 0) return false;
    memory.fill(chunk, 0, OWNERS_BYTES);
    setWord(arena.directory, chunks, <u32>chunk);
    arena.chunks = chunks + 1;
  }
  return true;
}

/**
 * Makes the beginning of a hole, which is in no list, a live block of `size` bytes; the rest is
 * free, or its too when it is too short for a block.
 */
function carve(arena: Arena, hole: usize, holeSize: u32, first: u32, size: u32): void {
  const rest = holeSize - size;
  let live = size;
  if (rest >= SMALLEST_REST) setFree(arena, hole + size, rest, 0);
  else {
    const next = hole + holeSize;
    setHead(next, headOf(next) & ~PREVIOUS_FREE);
    live = holeSize;
  }
  setHead(hole, live | first);
  arena.live += live;
}

/** Takes a live block out and joins it with its free neighbours. */
function releaseBlock(arena: Arena, block: usize): void {
  const head = headOf(block);
  const size = head & ~FLAGS;
  const next = block + size;
  const nextHead = headOf(next);
  let hole = block;
  let holeSize = size;
  let first = head & FIRST;
  arena.live -= size;
  if (head & PREVIOUS_FREE) {
    const previousSize = load<u32>(block - 4);
    hole = block - previousSize;
    holeSize += previousSize;
    first = headOf(hole) & FIRST;
    unlink(arena, hole, previousSize);
  }
  if (nextHead & FREE) {
    const nextSize = nextHead & ~FLAGS;
    holeSize += nextSize;
    unlink(arena, next, nextSize);
  }
  const cursor = arena.cursor;
  if (cursor > hole && cursor < hole + holeSize) arena.cursor = hole;
  if (first != 0 && sizeOf(hole + holeSize) == 0 && !keepEmpty(arena, hole - SEGMENT_HEAD)) return;
  setFree(arena, hole, holeSize, first);
}

// ---- segments

/** Adds a segment in which `size` bytes fit. False: no memory. */
function addSegment(arena: Arena, size: u32): bool {
  const least = blockSize(max(size + SEGMENT_HEAD + SEGMENT_END, SMALLEST_SEGMENT));
  let bytes = SMALLEST_SEGMENT;
  const share = arena.total >> 5;
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
  // Appended, as slides reach it last: what was filled last has the fewest holes.
  const previous = arena.last;
  changetype<Segment>(segment).next = 0;
  changetype<Segment>(segment).previous = previous;
  changetype<Segment>(segment).bytes = bytes;
  if (previous != 0) changetype<Segment>(previous).next = segment;
  else arena.segments = segment;
  arena.last = segment;
  arena.segmentCount++;
  arena.total += bytes;
  const end = segment + bytes - SEGMENT_END;
  setHead(end, 0);
  changetype<Block>(end).owner = <u32>segment;
  setFree(arena, segment + SEGMENT_HEAD, bytes - SEGMENT_HEAD - SEGMENT_END, FIRST);
  return true;
}

/** Gives an empty segment back, whose block is in no list. */
function dropSegment(arena: Arena, segment: usize): void {
  const bytes = changetype<Segment>(segment).bytes;
  const cursor = arena.cursor;
  if (cursor >= segment && cursor < segment + bytes) arena.cursor = 0;
  const next = changetype<Segment>(segment).next;
  const previous = changetype<Segment>(segment).previous;
  if (next != 0) changetype<Segment>(next).previous = previous;
  else arena.last = previous;
  if (previous != 0) changetype<Segment>(previous).next = next;
  else arena.segments = next;
  arena.segmentCount--;
  arena.total -= bytes;
  blockFree(segment, bytes);
}

/**
 * A segment is empty now, its block in no list: whether it is kept. One is, the smallest, so that a
 * block that comes and goes costs no segment each time; none that is large beside what lives.
 */
function keepEmpty(arena: Arena, segment: usize): bool {
  const bytes = changetype<Segment>(segment).bytes;
  const spare = arena.spare;
  if (bytes == SMALLEST_SEGMENT || bytes <= arena.live >> 4) {
    if (spare == 0 || bytes < changetype<Segment>(spare).bytes) {
      if (spare != 0) {
        unlink(arena, spare + SEGMENT_HEAD, sizeOf(spare + SEGMENT_HEAD));
        dropSegment(arena, spare);
      }
      arena.spare = segment;
      return true;
    }
  }
  dropSegment(arena, segment);
  return false;
}

// ---- sliding

/** The end of the segment when less than `size` bytes are free from `block` on, else 0. */
function endIfFull(arena: Arena, block: usize, size: u32): usize {
  let free: u32 = 0;
  while (true) {
    const head = headOf(block);
    const bytes = head & ~FLAGS;
    if (bytes == 0) return block;
    if (head & FREE) {
      free += bytes;
      if (free >= size) return 0;
    }
    block += bytes;
    arena.slideLeft -= STEP_COST;
  }
}

/**
 * Moves blocks down from the cursor on until a free block has `size` bytes; 0 when `budget` bytes
 * were moved or all segments seen.
 */
function slide(arena: Arena, size: u32, budget: i64): usize {
  arena.slideLeft = budget;
  let ends = arena.segmentCount + 1;
  let block = arena.cursor;
  if (block == 0) block = arena.segments + SEGMENT_HEAD;
  const longest = budget >> 2;
  let moved: u64 = 0;
  let found: usize = 0;
  // Free bytes are counted first only where a segment may have too few of them for the request.
  let full: usize = size > LARGEST_SEGMENT >> 8 ? endIfFull(arena, block, size) : 0;
  if (full != 0) block = full;
  while (arena.slideLeft > 0) {
    let head = headOf(block);
    let blockBytes = head & ~FLAGS;
    if (blockBytes == 0) {
      if (--ends == 0) break;
      let segment = changetype<Segment>(<usize>changetype<Block>(block).owner).next;
      if (segment == 0) segment = arena.segments;
      block = segment + SEGMENT_HEAD;
      arena.slideLeft -= STEP_COST;
      full = size > changetype<Segment>(segment).bytes >> 8 ? endIfFull(arena, block, size) : 0;
      if (full != 0) block = full;
      continue;
    }
    if ((head & FREE) == 0) {
      block += blockBytes;
      arena.slideLeft -= STEP_COST;
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
        setHead(block, live | first);
        store<u32>(entryOf(arena, changetype<Block>(block).owner), <u32>block + BLOCK_HEAD);
        first = 0;
        block += live;
        moved += live;
        arena.slideLeft -= live + STEP_COST;
        const next = headOf(block + bytes);
        if (next & FREE) {
          const nextBytes = next & ~FLAGS;
          unlink(arena, block + bytes, nextBytes);
          bytes += nextBytes;
        }
      } while (bytes < size && arena.slideLeft > 0);
      setFree(arena, block, bytes, first);
      blockBytes = bytes;
    }
    if (blockBytes >= size) {
      found = block;
      break;
    }
    if (arena.slideLeft > 0) block += blockBytes; // the end, or a block that is too long
  }
  arena.cursor = block;
  arena.moved += <f64>moved;
  return found;
}

// ---- blocks

/** A free block of at least `size` bytes: found, made by a slide, or new; 0: no memory. */
function findHole(arena: Arena, size: u32): usize {
  const found = fit(arena, size);
  if (found != 0) return found;
  const live = arena.live;
  const free = arena.total - live;
  const canSlide = free >= size && arena.segments != 0;
  if (canSlide && free > live >> SLIDE_SHIFT) {
    const slid = slide(arena, size, min(<i64>LEAST_SLIDE + (<i64>size << 5), <i64>MOST_SLIDE));
    if (slid != 0) return slid;
  }
  if (addSegment(arena, size)) return fit(arena, size);
  return canSlide ? slide(arena, size, i64.MAX_VALUE) : 0;
}

/**
 * Gives the owner a block of at least `bytes` bytes, 8-byte aligned, with arbitrary content, and
 * answers its address. A block that the owner has is released, and its bytes are lost. Other
 * blocks may move. 0 when there is no memory: then every owner has what it had, though perhaps
 * elsewhere.
 */
export function arenaAlloc(arena: Arena, bytes: u32, owner: u32): usize {
  if (bytes > MOST_BYTES || !entryReady(arena, owner)) return 0;
  const size = max((bytes + (BLOCK_HEAD + 7)) & ~7, SMALLEST_BLOCK);
  const block = findHole(arena, size);
  if (block == 0) return 0;
  const head = headOf(block);
  const found = head & ~FLAGS;
  unlink(arena, block, found);
  if (block - SEGMENT_HEAD == arena.spare) arena.spare = 0;
  carve(arena, block, found, head & FIRST, size);
  const old = <usize>load<u32>(entryOf(arena, owner));
  if (old != 0) releaseBlock(arena, old - BLOCK_HEAD);
  changetype<Block>(block).owner = owner;
  store<u32>(entryOf(arena, owner), <u32>block + BLOCK_HEAD);
  return block + BLOCK_HEAD;
}

/** Gives a block back; its owner has none then. */
export function arenaRelease(arena: Arena, address: usize): void {
  const block = address - BLOCK_HEAD;
  store<u32>(entryOf(arena, changetype<Block>(block).owner), 0);
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
  return changetype<Block>(address - BLOCK_HEAD).owner;
}

/** Hands a block on to another owner, which has none. False: no memory, and nothing has changed. */
export function arenaSetOwner(arena: Arena, address: usize, owner: u32): bool {
  if (!entryReady(arena, owner)) return false;
  store<u32>(entryOf(arena, arenaOwner(address)), 0);
  changetype<Block>(address - BLOCK_HEAD).owner = owner;
  store<u32>(entryOf(arena, owner), <u32>address);
  return true;
}

/** Bytes of live blocks, their headers of 8 B included. */
export function arenaLive(arena: Arena): u32 {
  return arena.live;
}

/** Bytes of all segments. */
export function arenaTotal(arena: Arena): u32 {
  return arena.total;
}

/** Bytes that slides have moved so far. */
export function arenaMoved(arena: Arena): f64 {
  return arena.moved;
}
