// The shape of an arena (arena.ts) and its free blocks, by size.
//
//   segment   |next u32|previous u32|bytes u32|-|  blocks …  |end: a header of size 0, then room that nobody has|
//   block     |size, flags u32|owner u32|  bytes  |
//   free      |size, flags u32|next u32 |previous u32| … |size u32|        next and previous of its list
//
// A free block is in the list of its size, and no other block is. There are 32 lists to each power
// of two, found by two levels of bits (TLSF, Masmano and others 2004): a fit that is a 32nd too
// long at most, in constant time.

export const A_SEGMENTS: usize = 0; // u32 first segment
export const A_SEGMENT_COUNT: usize = 4;
export const A_CURSOR: usize = 8; // u32: where the next slide begins, a block's address or 0
export const A_SPARE: usize = 12; // u32: the empty segment that is kept, or 0
export const A_LIVE: usize = 16; // u32: bytes of live blocks, their headers included
export const A_TOTAL: usize = 20; // u32: bytes of segments
export const A_DIR: usize = 24; // u32 address of u32[dirSize], addresses of chunks
export const A_DIR_SIZE: usize = 28;
export const A_CHUNKS: usize = 32;
export const A_LEVELS: usize = 36; // bit l: a list of level l has a block
export const A_MOVED: usize = 40; // f64: bytes that slides have moved
export const A_LAST: usize = 48; // u32 last segment
export const A_LISTS: usize = 52; // u32[LEVELS], bit l: list l of the level has a block
export const A_HEADS: usize = 148; // u32[LEVELS * 32], first block of the list

// 16 B to 2 GiB: below 256 B one list to each 8 B, above 32 to each power of two
export const LEVELS: u32 = 24;
const LOOKS: u32 = 4; // blocks looked at in the list where only some are long enough

export const S_NEXT: usize = 0;
export const S_PREVIOUS: usize = 4;
export const S_BYTES: usize = 8;
export const SEGMENT_HEAD: u32 = 16;
export const SEGMENT_END: u32 = 72; // its header, and 64 B that may be read

export const BLOCK_HEAD: u32 = 8;
export const SMALLEST_BLOCK: u32 = 16;
export const B_OWNER: usize = 4;
export const B_NEXT: usize = 4;
export const B_PREVIOUS: usize = 8;
export const FREE: u32 = 1;
export const PREVIOUS_FREE: u32 = 2;
export const FIRST: u32 = 4; // of its segment
export const FLAGS: u32 = 7;

export const OWNERS_SHIFT: u32 = 10; // owners to a chunk of the directory

@inline
export function sizeOf(block: usize): u32 {
  return load<u32>(block) & ~FLAGS;
}

/** Level and list in one number: the level's in the upper bits, the list in the lower five. */
@inline
export function listOf(size: u32): u32 {
  if (size < 256) return size >> 3;
  const log = 31 - <u32>clz(size);
  return ((log - 7) << 5) | ((size >> (log - 5)) & 31);
}

export function link(arena: usize, block: usize, size: u32): void {
  const list = listOf(size);
  const head = arena + A_HEADS + (<usize>list << 2);
  const first = load<u32>(head);
  store<u32>(block, first, B_NEXT);
  store<u32>(block, 0, B_PREVIOUS);
  if (first != 0) store<u32>(<usize>first, <u32>block, B_PREVIOUS);
  store<u32>(head, <u32>block);
  const level = list >> 5;
  const lists = arena + A_LISTS + (<usize>level << 2);
  store<u32>(lists, load<u32>(lists) | (<u32>1 << (list & 31)));
  store<u32>(arena, load<u32>(arena, A_LEVELS) | (<u32>1 << level), A_LEVELS);
}

export function unlink(arena: usize, block: usize, size: u32): void {
  const next = load<u32>(block, B_NEXT);
  const previous = load<u32>(block, B_PREVIOUS);
  if (next != 0) store<u32>(<usize>next, previous, B_PREVIOUS);
  if (previous != 0) {
    store<u32>(<usize>previous, next, B_NEXT);
    return;
  }
  const list = listOf(size);
  store<u32>(arena + A_HEADS + (<usize>list << 2), next);
  if (next != 0) return;
  const level = list >> 5;
  const lists = arena + A_LISTS + (<usize>level << 2);
  const left = load<u32>(lists) & ~(<u32>1 << (list & 31));
  store<u32>(lists, left);
  if (left == 0) store<u32>(arena, load<u32>(arena, A_LEVELS) & ~(<u32>1 << level), A_LEVELS);
}

/** A free block of at least `size` bytes, or 0. It stays in its list. */
export function fit(arena: usize, size: u32): usize {
  let list = listOf(size);
  let block = <usize>load<u32>(arena + A_HEADS + (<usize>list << 2));
  for (let looks = LOOKS; block != 0 && looks != 0; looks--) {
    if (sizeOf(block) >= size) return block;
    block = <usize>load<u32>(block, B_NEXT);
  }
  list++;
  let level = list >> 5;
  if (level >= LEVELS) return 0;
  let lists = load<u32>(arena + A_LISTS + (<usize>level << 2)) & (<u32>0xffffffff << (list & 31));
  if (lists == 0) {
    const levels = level == 31 ? 0 : load<u32>(arena, A_LEVELS) & (<u32>0xfffffffe << level);
    if (levels == 0) return 0;
    level = <u32>ctz(levels);
    lists = load<u32>(arena + A_LISTS + (<usize>level << 2));
  }
  return <usize>load<u32>(arena + A_HEADS + (<usize>((level << 5) | <u32>ctz(lists)) << 2));
}

/** Makes these bytes a free block; the blocks on both sides are live. `first`: FIRST or 0. */
export function setFree(arena: usize, block: usize, size: u32, first: u32): void {
  store<u32>(block, size | FREE | first);
  const next = block + size;
  store<u32>(next - 4, size);
  store<u32>(next, load<u32>(next) | PREVIOUS_FREE);
  link(arena, block, size);
}
