// The shapes in memory that several files share: the header of a table and the record of a key.
//
// A table's handle is the address of its header. Slots are dense numbers from 0; the record of a
// slot lies in a chunk of 256 records, so that growth never moves a record and never copies (a
// directory of chunks costs one load that stays in the first-level cache: 16 KiB for a million
// keys).
//
//   header, 128 B
//   0        8        16       24       32       40        48       56       64       72       80       88       96
//   |buckets |dir     |used    |free    |seed             |ready   |ring    |dirty   |heap    |size    |times   |stats
//   |    mask|dirSize |slots   |secret…                   |    tail|    proc|        |    cap |    seq |        |
//
//   record, 64 B in two columns of its chunk: the state, 16 B, that getting, finishing and firing touch (256 of them fill one
//   4 KiB page), and the key, 48 B, that only finding a key touches
//   0     4     8     12    16        0           8     12                                              48
//   |hash |meta |link |seq  |         |at         |form |key: 36 bytes                                  |
//                                     |or 2 × u32 |     |or: block u32, units u32, split u32 (EXTERNAL) |

export const HEADER_BYTES: u32 = 128;
export const T_BUCKETS: usize = 0; // u32 address of u32[mask + 1], 0 before the first key
export const T_MASK: usize = 4;
export const T_DIR: usize = 8; // u32 address of u32[dirSize], addresses of chunks
export const T_DIR_SIZE: usize = 12; // chunks the directory has room for
export const T_USED: usize = 16; // records in use
export const T_SLOTS: usize = 20; // slots ever in use at once: all are below it
export const T_FREE: usize = 24; // first free slot + 1
export const T_CHUNKS: usize = 28; // chunks allocated
export const T_SEED: usize = 32; // u64
export const T_SECRET: usize = 40; // u64

// The queue's part. What is ready stands in a ring that has room for every slot, so done() can
// always requeue (ring.ts).
export const Q_HEAD: usize = 48; // u32, counts up
export const Q_TAIL: usize = 52; // u32, counts up: head and so many as are ready
export const Q_RING: usize = 56; // u32 address of u32[mask + 1], slots; 0: the table has no ring
export const Q_PROCESSING: usize = 60; // keys handed out and not done
export const Q_DIRTY: usize = 64; // keys to be handed out: ready, or added while being processed
export const Q_LONGEST: usize = 68; // slot + 1 that has been processed longest (timed queues)
export const Q_HEAP: usize = 72; // u32 block of the delay heap
export const Q_HEAP_CAPACITY: usize = 76; // entries
export const Q_HEAP_SIZE: usize = 80; // entries, stale ones included
export const Q_HEAP_SEQUENCE: usize = 84; // u32, orders entries of equal time
export const Q_WAITING: usize = 88; // keys with WAITING
export const Q_TIMES: usize = 92; // u32 directory of time chunks; 0: the queue is not timed
export const Q_STATS: usize = 96; // u32 block of f64 counters; 0: the queue is not timed
export const Q_NEWEST: usize = 100; // slot + 1 that was handed out last (timed queues)
export const Q_TOUCHED: usize = 112; // u64 that nobody reads, see touchAhead in queue.ts
export const Q_HOST_ORDER: usize = 104; // u32: who keeps the order of what is ready
export const Q_RULES: usize = 108; // u32: what an add does to a wait of the same key, see below
// u32 block of the levels of a priority queue; 0: the queue is none
export const Q_LEVELS: usize = 120;
export const Q_RING_MASK: usize = 124;

// Values of Q_HOST_ORDER. Unless it is LISTED there is no ring.
export const LISTED: u32 = 0; // the queue: one ring
export const BY_HOST: u32 = 1;
export const BY_LEVEL: u32 = 2; // levels.ts

export const CHUNK_SHIFT: u32 = 8; // 256 records
export const STATES_BYTES: u32 = 16 << 8;
export const CHUNK_BYTES: u32 = STATES_BYTES + (48 << 8);
export const TIME_SHIFT: u32 = 5;
export const TIME_CHUNK_BYTES: u32 = 32 << 8;

// The state column
export const R_HASH: usize = 0; // u32
export const R_META: usize = 4; // u32: state, and what giving the slot back has to undo
// u32 slot + 1: next free slot; in priority queues also the next in line
export const R_LINK: usize = 8;
// u32: of the entry in the delay heap that is live while WAITING; in priority queues also the place
// in line while DIRTY
export const R_SEQUENCE: usize = 12;

// meta, bits 0-7: the state. No bit set: the slot is given back (queues).
export const DIRTY: u32 = 1; // to be handed out
export const PROCESSING: u32 = 2; // handed out, not done
export const WAITING: u32 = 4; // has a live entry in the delay heap
// an index value named in the set that is being put together; never set between calls
export const MARKED: u32 = 8;
export const PINNED: u32 = 16; // keeps its slot although it is idle: the host holds on to the slot
// only with WAITING: the wait is a back-off, or a back-off has joined it
export const BACKOFF: u32 = 32;
export const LATE: u32 = 64; // in the tree of its level, not in its list (levels.ts)
export const STATE: u32 = 0xff;
export const KEYED: u32 = 1 << 8; // the table holds the key and a bucket points here; else the key is the host's affair
// the key is longer than INLINE_BYTES: in a block of its own (in meta and in form)
export const EXTERNAL: u32 = 1 << 9;
// the host has been given a slot with a generation: count it when the slot is given back
export const ISSUED: u32 = 1 << 10;
// A slot for the host is these upper bits of meta with the slot number below: it is stale when they
// differ.
export const GENERATION: u32 = 1 << 22; // bits 22-31, kept while the slot is free
export const GENERATIONS: u32 = 0xffc00000;

// Q_RULES. 0 is client-go's way: an add and a wait of one key know nothing of each other.
export const ADD_ENDS_WAIT: u32 = 1;
export const ADD_KEEPS_BACKOFF: u32 = 2; // an add is left to the back-off that runs

// The key column; its first 8 bytes are 0 when the slot is taken
export const K_AT: usize = 0; // f64 ms: when WAITING ends
// u32 slot + 1: above it in the tree, while LATE (a key of a priority queue never is while WAITING)
export const K_PARENT: usize = 0;
export const K_SET: usize = 0; // u32 block of the set of an index value
export const K_SET_COUNT: usize = 4; // u32
export const K_FORM: usize = 8; // u32
export const K_KEY: usize = 12;
export const INLINE_BYTES: u32 = 36;
export const K_EXTERNAL_BLOCK: usize = 12;
export const K_EXTERNAL_UNITS: usize = 16;
export const K_EXTERNAL_SPLIT: usize = 20;

// form: how the key is kept. Bits 0-7: length of an inline key in code units; 10-17: length of its
// first part.
export const SPLIT_SHIFT: u32 = 10;
// two bytes a code unit; only when a unit is above 0xff, so that a key has one form
export const WIDE: u32 = 1 << 8;

// Times of a slot in timed queues, and its level in priority queues, 32 B
export const M_ADDED: usize = 0; // f64: when it became DIRTY
export const M_STARTED: usize = 8; // f64: when it was handed out
// u32 slot + 1: handed out just before this one and still being processed
export const M_BEFORE: usize = 16;
export const M_AFTER: usize = 20; // u32 slot + 1
export const M_PRIORITY: usize = 24; // i32: of the level it was queued in last
// u32 slot + 1: before it in the list of its level; right below it in the tree while LATE
export const M_PREVIOUS: usize = 28;

/** The state of a slot. */
@inline
export function recordOf(table: usize, slot: u32): usize {
  return (
    <usize>load<u32>(<usize>load<u32>(table, T_DIR) + ((slot >> CHUNK_SHIFT) << 2)) +
    ((slot & ((1 << CHUNK_SHIFT) - 1)) << 4)
  );
}

/** The key of a slot. */
@inline
export function keyOf(table: usize, slot: u32): usize {
  return (
    <usize>load<u32>(<usize>load<u32>(table, T_DIR) + ((slot >> CHUNK_SHIFT) << 2)) +
    STATES_BYTES +
    (slot & ((1 << CHUNK_SHIFT) - 1)) * 48
  );
}

@inline
export function timesOf(table: usize, slot: u32): usize {
  return (
    <usize>load<u32>(<usize>load<u32>(table, Q_TIMES) + ((slot >> CHUNK_SHIFT) << 2)) +
    ((slot & ((1 << CHUNK_SHIFT) - 1)) << TIME_SHIFT)
  );
}

// What a call answers instead of a slot.
export const NOTHING: i32 = -1;
export const NO_MEMORY: i32 = -2; // nothing was changed
export const STALE: i32 = -3; // the slot has been given back since the host got it
