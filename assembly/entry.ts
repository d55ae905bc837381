// An entry of the delay heap, its order, and the sorting of many.
//
// Raw loads and stores: an entry moved as two words, and the counters of buckets, bare u32.

import { blockAlloc, blockFree } from "./memory";

/** |at f64|slot u32|sequence u32| */
@unmanaged
export class Entry {
  at: f64; // ms
  slot: u32;
  sequence: u32;
}

const ENTRY_SHIFT: usize = 4;

/** The entry at an address. */
@inline
export function entryOf(address: usize): Entry {
  return changetype<Entry>(address);
}

/**
 * Sequence numbers wrap; two of one heap are never 2^31 apart unless one waits while 2^31 others
 * come and go.
 */
@inline
export function before(at: f64, sequence: u32, other: Entry): bool {
  return at < other.at || (at == other.at && <i32>(sequence - other.sequence) < 0);
}

/** The same without a branch, for where it cannot be predicted: whether b comes before a. */
@inline
export function isSecond(a: usize, b: usize): i32 {
  const aAt = entryOf(a).at;
  const bAt = entryOf(b).at;
  const isEarlier = <i32>(<i32>(entryOf(b).sequence - entryOf(a).sequence) < 0);
  return <i32>(bAt < aAt) | (<i32>(bAt == aAt) & isEarlier);
}

@inline
export function moveEntry(to: usize, from: usize): void {
  store<u64>(to, load<u64>(from));
  store<u64>(to, load<u64>(from, 8), 8);
}

const RUN: usize = 8 << ENTRY_SHIFT; // runs that are sorted by insertion before merging starts

function sortRun(from: usize, to: usize): void {
  for (let i = from + 16; i < to; i += 16) {
    const at = entryOf(i).at;
    const slot = entryOf(i).slot;
    const sequence = entryOf(i).sequence;
    let hole = i;
    while (hole > from && before(at, sequence, entryOf(hole - 16))) {
      moveEntry(hole, hole - 16);
      hole -= 16;
    }
    entryOf(hole).at = at;
    entryOf(hole).slot = slot;
    entryOf(hole).sequence = sequence;
  }
}

// Times are mostly spread evenly: then one pass puts each entry into a bucket beside few others,
// and a last pass by insertion sorts what is left. Merging takes a pass for each doubling: 1000
// entries 20 ns each, this way 9.
const FEWEST_SPREAD: u32 = 64;
const MOST_BUCKETS: u32 = 1 << 18; // their counters stay in the second-level cache
const FULLEST: u32 = 32; // entries in a bucket; with more, insertion costs more than merging

@inline
function bucketOf(entry: usize, earliest: f64, scale: f64): usize {
  return <usize>(<u32>((entryOf(entry).at - earliest) * scale)) << 2;
}

/**
 * Sorts into `other`; 0 when there is no memory for the counters, or too much in one place: then
 * nothing has changed.
 */
function spreadEntries(block: usize, other: usize, count: u32): usize {
  const end = block + (<usize>count << ENTRY_SHIFT);
  let earliest = entryOf(block).at;
  let latest = earliest;
  for (let entry = block; entry < end; entry += 16) {
    const at = entryOf(entry).at;
    earliest = min(earliest, at);
    latest = max(latest, at);
  }
  const span = latest - earliest;
  if (!(span > 0 && span < Infinity)) return 0;
  const buckets = min(<u32>1 << (31 - clz(count)), MOST_BUCKETS);
  const scale = <f64>(buckets - 1) / span;
  if (!(scale < Infinity)) return 0;
  const counters = blockAlloc(buckets << 2);
  if (counters == 0) return 0;
  memory.fill(counters, 0, <usize>buckets << 2);
  for (let entry = block; entry < end; entry += 16) {
    const counter = counters + bucketOf(entry, earliest, scale);
    store<u32>(counter, load<u32>(counter) + 1);
  }
  let place: u32 = 0;
  let fullest: u32 = 0;
  for (let i: u32 = 0; i < buckets; i++) {
    const counter = counters + (<usize>i << 2);
    const size = load<u32>(counter);
    store<u32>(counter, place);
    place += size;
    fullest = max(fullest, size);
  }
  if (fullest <= FULLEST) {
    for (let entry = block; entry < end; entry += 16) {
      const counter = counters + bucketOf(entry, earliest, scale);
      const to = load<u32>(counter);
      store<u32>(counter, to + 1);
      moveEntry(other + (<usize>to << ENTRY_SHIFT), entry);
    }
    sortRun(other, other + (<usize>count << ENTRY_SHIFT));
  }
  blockFree(counters, buckets << 2);
  return fullest <= FULLEST ? other : 0;
}

/** Sorts entries. `other` has the same size; the result is in one of the two. */
export function sortEntries(block: usize, other: usize, count: u32): usize {
  if (count >= FEWEST_SPREAD) {
    const sorted = spreadEntries(block, other, count);
    if (sorted != 0) return sorted;
  }
  return mergeEntries(block, other, count);
}

/** Sorts by merging: reads and writes run forward through memory. */
function mergeEntries(block: usize, other: usize, count: u32): usize {
  const bytes = <usize>count << ENTRY_SHIFT;
  for (let i: usize = 0; i < bytes; i += RUN) sortRun(block + i, block + min(i + RUN, bytes));
  let from = block;
  let to = other;
  for (let width = RUN; width < bytes; width <<= 1) {
    for (let i: usize = 0; i < bytes; i += width << 1) {
      let a = from + i;
      const aEnd = from + min(i + width, bytes);
      let b = aEnd;
      const bEnd = from + min(i + (width << 1), bytes);
      let out = to + i;
      while (a < aEnd && b < bEnd) {
        const second = isSecond(a, b);
        moveEntry(out, select<usize>(b, a, second));
        a += <usize>(1 - second) << ENTRY_SHIFT;
        b += <usize>second << ENTRY_SHIFT;
        out += 16;
      }
      memory.copy(out, a, aEnd - a);
      memory.copy(out + (aEnd - a), b, bEnd - b);
    }
    const swap = from;
    from = to;
    to = swap;
  }
  return from;
}
