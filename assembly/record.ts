// The shapes in memory that several files share: the header of a table and the record of a key.
//
// A table's handle is the address of its header. Slots are dense numbers from 0; the record of a
// slot lies in a chunk of 256 records, so that growth never moves a record and never copies (a
// directory of chunks costs one load that stays in the first-level cache: 16 KiB for a million
// keys).
//
//   header, 128 B, in words of 4 B where nothing is said (o., r., t.: order, rules, hasTexts)
//   0   |buckets   |mask      |directory |dir.Size  |used      |slots     |free      |chunks    |
//   32  |seed u64             |secret u64           |head      |tail      |ring      |processing|
//   64  |dirty     |longest   |heap      |h.Capacity|heapSize  |h.Sequence|waiting   |times     |
//   96  |stats     |newest    |o., r., t.|touched   |levels    |ringMask  |waits     |-         |
//
//   record, in columns of its own by what a table needs
//   state, 8 B, each table: |hash |meta |
//   wait, 16 B, queues with delays or priorities: |at f64 or above u32|link |sequence |
//   times, 32 B, timed queues and those with priorities
//   key, 56 B, tables that hold texts, behind the states of its chunk:
//
//   0        4      8     12    16                                     56
//   |members |count |room |form |key: 40 bytes                         |
//                               |or |block u32|units u32| …            |

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
  free: u32; // first free slot + 1; the next one is in the state's hash
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
  order: u8; // of the ready keys: ORDER_LISTED, ORDER_BY_HOST, ORDER_BY_LEVEL
  rules: u8; // what an add does to a wait of the same key: ADD_ENDS_WAIT, ADD_KEEPS_BACKOFF
  hasTexts: bool; // a chunk holds the texts of its keys behind their states (keys.ts)
  touched: u32; // nothing reads it, see touchAhead in queue.ts
  levels: usize; // the levels of a priority queue; 0: the queue is none
  ringMask: u32;
  waits: usize; // directory of chunks of waits; 0: no key has waited yet
}

export const CHUNK_SHIFT: u32 = 8; // 256 records
const STATE_SHIFT: u32 = 3;
const WAIT_SHIFT: u32 = 4;
const TIME_SHIFT: u32 = 5;
const KEY_BYTES: u32 = 56;
export const STATES_BYTES: u32 = 1 << (CHUNK_SHIFT + STATE_SHIFT);
export const WAIT_CHUNK_BYTES: u32 = 1 << (CHUNK_SHIFT + WAIT_SHIFT);
export const TIME_CHUNK_BYTES: u32 = 1 << (CHUNK_SHIFT + TIME_SHIFT);
/** States and keys. */
export const TEXTS_BYTES: u32 = STATES_BYTES + (KEY_BYTES << CHUNK_SHIFT);

/** The state of a record; drawn at the top of the file. */
@unmanaged
export class KeyState {
  hash: u32; // of the key; of a free slot: the next one + 1
  meta: u32; // state, and what giving the slot back has to undo
}

/** The wait of a record; drawn at the top of the file. */
@unmanaged
export class Wait {
  at: f64; // ms: when waiting ends
  link: u32; // slot + 1 in priority queues: the next in line
  // of the entry in the delay heap that is live while waiting; in priority queues also the place in
  // line while dirty
  sequence: u32;
}

/** The wait of a late key of a priority queue, which never waits: |above u32|-|link|sequence|. */
@unmanaged
export class TreeNode {
  above: u32; // slot + 1
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
// bits 11-21 are free
// A slot for the host is these upper bits of meta with the slot number below: it is stale when they
// differ.
export const GENERATION: u32 = 1 << 22; // bits 22-31, kept while the slot is free
export const GENERATIONS: u32 = 0xffc00000;

/** The key of a record; drawn at the top of the file. */
@unmanaged
export class KeyText {
  // of an index value: its set (indices.ts)
  members: usize; // block of u32, object slots
  count: u32;
  room: u32; // of the block
  form: u32;
  // An inline key begins here; a longer one is described here and has a block of its own.
  block: usize;
  units: u32;
}

export const INLINE_BYTES: u32 = 40;

// form: how the key is kept. Bits 0-7: length of an inline key in code units.
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
    ((slot & ((1 << CHUNK_SHIFT) - 1)) << STATE_SHIFT)
  );
}

/** The hash and meta of a state in one load, for what loads a record ahead of time. */
@inline
export function peekState(state: KeyState): u64 {
  return load<u64>(changetype<usize>(state));
}

/** The key of a slot, in a table that holds texts. */
@inline
export function keyOf(table: Table, slot: u32): KeyText {
  return changetype<KeyText>(
    <usize>wordAt(table.directory, slot >> CHUNK_SHIFT) +
    STATES_BYTES +
    (slot & ((1 << CHUNK_SHIFT) - 1)) * KEY_BYTES
  );
}

/** The wait of a slot, in a table that has them. */
@inline
export function waitOf(table: Table, slot: u32): Wait {
  return changetype<Wait>(
    <usize>wordAt(table.waits, slot >> CHUNK_SHIFT) +
    ((slot & ((1 << CHUNK_SHIFT) - 1)) << WAIT_SHIFT)
  );
}

@inline
export function timesOf(table: Table, slot: u32): Times {
  return changetype<Times>(
    <usize>wordAt(table.times, slot >> CHUNK_SHIFT) +
    ((slot & ((1 << CHUNK_SHIFT) - 1)) << TIME_SHIFT)
  );
}
