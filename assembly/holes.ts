// The shape of an arena (arena.ts) and its free blocks, by size.
//
//   segment   |next u32|previous u32|bytes u32|-|  blocks …  |end: header of size 0|unused bytes|
//   block     |size, flags u32|owner u32|  bytes  |
//   free      |size, flags u32|next u32 |previous u32| … |size u32|   next, previous: in its list
//
// A free block is in the list of its size, and no other block is. There are 32 lists to each power
// of two, found by two levels of bits (TLSF, Masmano and others 2004): a fit that is a 32nd too
// long at most, in constant time.
//
// Raw loads and stores: lists and bits of lists, bare u32, and the last word of a free block.

import { setWord, wordAt } from "./memory";

/**
 * The header of an arena, before its bits and lists of free blocks.
 *
 *   |fields, see below|lists u32[LEVELS]|heads u32[LEVELS * 32]|
 */
@unmanaged
export class Arena {
  segments: usize; // first segment
  segmentCount: u32;
  cursor: usize; // where the next slide begins, a block's address or 0
  spare: usize; // the empty segment that is kept, or 0
  live: u32; // bytes of live blocks, their headers included
  total: u32; // bytes of segments
  directory: usize; // of u32[directorySize], addresses of chunks
  directorySize: u32;
  chunks: u32;
  levels: u32; // bit l: a list of level l has a block
  moved: f64; // bytes that slides have moved
  slideLeft: i64; // bytes that the running slide may still move
  last: usize; // last segment
  lists: u32; // here begin u32[LEVELS], bit l: list l of the level has a block
}

// here begin u32[LEVELS * 32], first block of the list
const HEADS: usize = offsetof<Arena>("lists") + 4 * 24;

/** Of each level, which of its lists have a block. */
@inline
export function listsOf(arena: Arena): usize {
  return changetype<usize>(arena) + offsetof<Arena>("lists");
}

/** The first block of each list. */
@inline
export function headsOf(arena: Arena): usize {
  return changetype<usize>(arena) + HEADS;
}

// 16 B to 2 GiB: below 256 B one list to each 8 B, above 32 to each power of two
export const LEVELS: u32 = 24;
const LOOKS: u32 = 4; // blocks looked at in the list where only some are long enough

/** A segment's header; drawn at the top of the file. */
@unmanaged
export class Segment {
  next: usize;
  previous: usize;
  bytes: u32;
}

export const SEGMENT_HEAD: u32 = 16;
export const SEGMENT_END: u32 = 72; // its header, and 64 B that may be read

export const BLOCK_HEAD: u32 = 8;
export const SMALLEST_BLOCK: u32 = 16;

/** A block's header; drawn at the top of the file. */
@unmanaged
export class Block {
  head: u32; // size and flags
  owner: u32;
}

/** A free block, in the list of its size; drawn at the top of the file. */
@unmanaged
export class Hole {
  head: u32;
  next: usize;
  previous: usize;
}

export const FREE: u32 = 1;
export const PREVIOUS_FREE: u32 = 2;
export const FIRST: u32 = 4; // of its segment
export const FLAGS: u32 = 7;

export const OWNERS_SHIFT: u32 = 10; // owners to a chunk of the directory

/** Size and flags of a block. */
@inline
export function headOf(block: usize): u32 {
  return changetype<Block>(block).head;
}

@inline
export function setHead(block: usize, head: u32): void {
  changetype<Block>(block).head = head;
}

@inline
export function sizeOf(block: usize): u32 {
  return headOf(block) & ~FLAGS;
}

/** Level and list in one number: the level's in the upper bits, the list in the lower five. */
@inline
export function freeListOf(size: u32): u32 {
  if (size < 256) return size >> 3;
  const log = 31 - <u32>clz(size);
  return ((log - 7) << 5) | ((size >> (log - 5)) & 31);
}

export function link(arena: Arena, block: usize, size: u32): void {
  const list = freeListOf(size);
  const head = headsOf(arena) + (<usize>list << 2);
  const first = load<u32>(head);
  changetype<Hole>(block).next = first;
  changetype<Hole>(block).previous = 0;
  if (first != 0) changetype<Hole>(<usize>first).previous = block;
  store<u32>(head, <u32>block);
  const level = list >> 5;
  const lists = listsOf(arena) + (<usize>level << 2);
  store<u32>(lists, load<u32>(lists) | (<u32>1 << (list & 31)));
  arena.levels |= (<u32>1 << level);
}

export function unlink(arena: Arena, block: usize, size: u32): void {
  const next = changetype<Hole>(block).next;
  const previous = changetype<Hole>(block).previous;
  if (next != 0) changetype<Hole>(<usize>next).previous = previous;
  if (previous != 0) {
    changetype<Hole>(<usize>previous).next = next;
    return;
  }
  const list = freeListOf(size);
  setWord(headsOf(arena), list, <u32>next);
  if (next != 0) return;
  const level = list >> 5;
  const lists = listsOf(arena) + (<usize>level << 2);
  const left = load<u32>(lists) & ~(<u32>1 << (list & 31));
  store<u32>(lists, left);
  if (left == 0) arena.levels = arena.levels & ~(<u32>1 << level);
}

/** A free block of at least `size` bytes, or 0. It stays in its list. */
export function fit(arena: Arena, size: u32): usize {
  let list = freeListOf(size);
  let block = <usize>wordAt(headsOf(arena), list);
  for (let looks = LOOKS; block != 0 && looks != 0; looks--) {
    if (sizeOf(block) >= size) return block;
    block = changetype<Hole>(block).next;
  }
  list++;
  let level = list >> 5;
  if (level >= LEVELS) return 0;
  let lists = wordAt(listsOf(arena), level) & (<u32>0xffffffff << (list & 31));
  if (lists == 0) {
    const levels = level == 31 ? 0 : arena.levels & (<u32>0xfffffffe << level);
    if (levels == 0) return 0;
    level = <u32>ctz(levels);
    lists = wordAt(listsOf(arena), level);
  }
  return <usize>wordAt(headsOf(arena), (level << 5) | <u32>ctz(lists));
}

/** Makes these bytes a free block; the blocks on both sides are live. `first`: FIRST or 0. */
export function setFree(arena: Arena, block: usize, size: u32, first: u32): void {
  setHead(block, size | FREE | first);
  const next = block + size;
  store<u32>(next - 4, size);
  setHead(next, headOf(next) | PREVIOUS_FREE);
  link(arena, block, size);
}
