// The shapes in memory that several files share: the header of a table and the record of a key.
//
// A table's handle is the address of its header. Slots are dense numbers from 0; the record of a
// slot lies in a chunk of 256 records, so that growth never moves a record and never copies (a
// directory of chunks costs one load that stays in the first-level cache: 16 KiB for a million
// keys).
//
//   header, 128 B, in words of 4 B where nothing is said
//   0   |buckets   |mask      |directory |dir.Size  |used      |slots     |free      |chunks    |
//   32  |seed u64             |secret u64           |head      |tail      |ring      |processing|
//   64  |dirty     |longest   |heap      |h.Capacity|heapSize  |h.Sequence|waiting   |times     |
//   96  |stats     |newest    |order     |rules     |touched u64          |levels    |ringMask  |
//
//   record, 64 B in two columns of its chunk: the state, 16 B, which get, done and the end of a
//   wait touch (256 of them fill one 4 KiB page), and the key, 48 B, which only a lookup touches
//   0     4     8     12    16        0           8     12                                    48
//   |hash |meta |link |seq  |         |at         |form |key: 36 bytes                         |
//                                     |or 2 × u32 |     |or |block u32|units u32|split u32| …  |

// Raw load: hash and meta of a state in one word.

import { wordAt } from "./memory";

/** The header of a table; drawn at the top of the file. */
@unmanaged
export class Table {
  buckets: usize; // of u32[mask + 1], 0 before the first key
  mask: u32;
  directory: usize; // of u32[directorySize], addresses of chunks
  directorySize: u32; // chunks the directory has room for
  used: u32; // records in use
  slots: u32; // slots ever in use at once: all are below it
  free: u32; // first free slot + 1
  chunks: u32; // chunks allocated
  seed: u64;
  secret: u64;

  // The queue's part. What is ready stands in a ring that has room for every slot, so done() can
  // always requeue (ring.ts).
  head: u32; // counts up
  tail: u32; // counts up: head and so many as are ready
  ring: usize; // of u32[ringMask + 1], slots; 0: the table has no ring
  processing: u32; // keys handed out and not done
  dirty: u32; // keys to be handed out: ready, or added while being processed
  longest: u32; // slot + 1 of the key in processing the longest (timed queues)
  heap: usize; // block of the delay heap
  heapCapacity: u32; // entries
  heapSize: u32; // entries, stale ones included
  heapSequence: u32; // orders entries of equal time
  waiting: u32; // keys with waiting
  times: usize; // directory of time chunks; 0: the queue is not timed
  stats: usize; // block of f64 counters; 0: the queue is not timed
  newest: u32; // slot + 1 of the key handed out last (timed queues)
  order: u32; // of the ready keys: ORDER_LISTED, ORDER_BY_HOST, ORDER_BY_LEVEL
  rules: u32; // what an add does to a wait of the same key: ADD_ENDS_WAIT, ADD_KEEPS_BACKOFF
  touched: u64; // nothing reads it, see touchAhead in queue.ts
  levels: usize; // the levels of a priority queue; 0: the queue is none
  ringMask: u32;
}

export const CHUNK_SHIFT: u32 = 8; // 256 records
export const STATES_BYTES: u32 = 16 << 8;
export const CHUNK_BYTES: u32 = STATES_BYTES + (48 << 8);
export const TIME_SHIFT: u32 = 5;
export const TIME_CHUNK_BYTES: u32 = 32 << 8;

/** The state column of a record; drawn at the top of the file. */
@unmanaged
export class KeyState {
  hash: u32;
  meta: u32; // state, and what giving the slot back has to undo
  link: u32; // slot + 1: next free slot; in priority queues also the next in line
  // of the entry in the delay heap that is live while waiting; in priority queues also the place in
  // line while dirty
  sequence: u32;
}

// meta, bits 0-7: the state. No bit set: the slot is given back (queues).
// an index value named in the set that is being put together; never set between calls
export const STATE_MARKED: u32 = 8;
// only with waiting: the wait is a back-off, or a back-off has joined it
export const STATE_BACKOFF: u32 = 32;
export const STATE_LATE: u32 = 64; // in the tree of its level, not in its list (levels.ts)
export const STATE_MASK: u32 = 0xff;
// the table holds the key and a bucket points here; else the host maps the key to the slot
export const KEYED: u32 = 1 << 8;
// the key is longer than INLINE_BYTES: in a block of its own (in meta and in form)
export const EXTERNAL: u32 = 1 << 9;
// the host has been given a slot with a generation: count it when the slot is given back
export const ISSUED: u32 = 1 << 10;
// A slot for the host is these upper bits of meta with the slot number below: it is stale when they
// differ.
export const GENERATION: u32 = 1 << 22; // bits 22-31, kept while the slot is free
export const GENERATIONS: u32 = 0xffc00000;

/** The key column of a record, drawn at the top of the file; `at` is 0 when the slot is taken. */
@unmanaged
export class KeyText {
  at: f64; // ms: when waiting ends
  form: u32;
  // An inline key begins here; a longer one is described here and has a block of its own.
  block: usize;
  units: u32;
  split: u32;
}

export const INLINE_BYTES: u32 = 36;

/** The key column of a late key of a priority queue, which never waits: |above u32|form … */
@unmanaged
export class TreeNode {
  above: u32; // slot + 1
}

/** The key column of an index value: |members u32|count u32|form … */
@unmanaged
export class ValueSet {
  members: usize; // block of u32, object slots
  count: u32;
}

// form: how the key is kept. Bits 0-7: length of an inline key in code units; 10-17: length of its
// first part.
export const SPLIT_SHIFT: u32 = 10;
// two bytes a code unit; only when a unit is above 0xff, so that a key has one form
export const WIDE_SHIFT: u32 = 8;
export const WIDE: u32 = 1 << 8;

/**
 * Times of a slot in timed queues, and its level in priority queues: 32 B in a chunk of 256.
 *
 *   |added f64|started f64|before u32|after u32|priority i32|previous u32|
 */
@unmanaged
export class Times {
  added: f64; // when it became dirty
  started: f64; // when it was handed out
  before: u32; // slot + 1: handed out just before this one and still being processed
  after: u32; // slot + 1
  priority: i32; // of the level it was queued in last
  previous: u32; // slot + 1: before it in the list of its level; while late, right below it
}

/** Where the units of an inline key lie. */
@inline
export function inlineKey(key: KeyText): usize {
  return changetype<usize>(key) + offsetof<KeyText>("block");
}

/** The state of a slot. */
@inline
export function recordOf(table: Table, slot: u32): KeyState {
  return changetype<KeyState>(
    <usize>wordAt(table.directory, slot >> CHUNK_SHIFT) +
    ((slot & ((1 << CHUNK_SHIFT) - 1)) << 4)
  );
}

/** The hash and meta of a state in one load, for what loads a record ahead of time. */
@inline
export function peekState(state: KeyState): u64 {
  return load<u64>(changetype<usize>(state));
}

/** The key of a slot. */
@inline
export function keyOf(table: Table, slot: u32): KeyText {
  return changetype<KeyText>(
    <usize>wordAt(table.directory, slot >> CHUNK_SHIFT) +
    STATES_BYTES +
    (slot & ((1 << CHUNK_SHIFT) - 1)) * 48
  );
}

@inline
export function timesOf(table: Table, slot: u32): Times {
  return changetype<Times>(
    <usize>wordAt(table.times, slot >> CHUNK_SHIFT) +
    ((slot & ((1 << CHUNK_SHIFT) - 1)) << TIME_SHIFT)
  );
}
