// The constants that the host knows too. scripts/embed-abi.ts writes them, and the signatures of
// all exports, into bindings/generated/, from where TypeScript imports them.

// What a call answers instead of a slot, a count or an address.
export const NOTHING: i32 = -1;
export const NO_MEMORY: i32 = -2; // nothing was changed
export const STALE: i32 = -3; // the host's slot has been given back since the host got it
export const FALLBACK: i32 = -4; // the host has to decode the object
export const CROWDED: i32 = -5; // the host has to hash in another way; nothing was changed
/**
 * From queueAddHash and delayAddHash, less twice the slot: a key has this hash, and the host
 * compares. Less 1 as well: the add would change nothing.
 */
export const SAME_HASH: i32 = -16;

// Beside the slot that a call answers.
/**
 * From queueAddHash, queueAddSlot and priorityAddSlot: the key is being processed, so it is not
 * ready yet. From delayPop: the slot was given back. From indexPut: a value was given back.
 */
export const SLOT_FLAG: i32 = 0x40000000;
/** From priorityAddSlot: the key waits. */
export const WAITS_FLAG: i32 = 0x20000000;
/** From priorityAddSlot: the key was ready and has a higher priority now. */
export const RAISED_FLAG: i32 = 0x10000000;

// How a queue orders what is ready, for queueNew. Unless it is ORDER_LISTED there is no ring.
export const ORDER_LISTED: u32 = 0; // by one ring
export const ORDER_BY_HOST: u32 = 1; // the host chooses by queueTake
export const ORDER_BY_LEVEL: u32 = 2; // by priority: levels.ts

// Bits of queueState. No bit set: the slot is given back.
export const STATE_DIRTY: u32 = 1; // to be handed out
export const STATE_PROCESSING: u32 = 2; // handed out, not done
export const STATE_WAITING: u32 = 4; // has a live entry in the delay heap
export const STATE_PINNED: u32 = 16; // keeps its slot while idle: the host holds on to the slot

// What queueDoneSlot answers.
export const DONE_UNKNOWN: i32 = 0; // the key was not being processed; nothing happened
export const DONE_KEPT: i32 = 1; // done; the key waits or is pinned, and keeps its slot
export const DONE_REQUEUED: i32 = 2; // done and, as it was dirty, ready again
export const DONE_RELEASED: i32 = 3; // done; the slot was given back

// Rules of a queue, for queueRules. 0 is client-go's way: an add and a wait of one key are
// independent.
export const ADD_ENDS_WAIT: u32 = 1;
export const ADD_KEEPS_BACKOFF: u32 = 2; // an add is left to the back-off that runs

// How delayAddHash, delayAddSlot and priorityAddSlot treat a wait that is there (the last
// parameter), and beside it: the wait is a back-off.
export const WAIT_EARLIEST: u32 = 0; // the earlier time stays: client-go's way
export const WAIT_LATEST: u32 = 1;
export const WAIT_REPLACE: u32 = 2;
export const WAIT_MODE: u32 = 3; // mask
export const WAIT_IS_BACKOFF: u32 = 4;

// The host's slots (slots.ts): a number with a generation above it.
/**
 * From here on slots have no number for the host: what calls answer instead of a slot must never be
 * one.
 */
export const SLOT_LIMIT: u32 = 0x3ffff8;
export const SLOT_NUMBER: u32 = 0x3fffff; // mask
export const UNPIN_KEPT: i32 = 0; // the key is not idle and keeps its slot until it is
export const UNPIN_RELEASED: i32 = 1; // the slot was given back

// The counters at queueStats, as f64. A histogram is a sum, then a count per bucket (not
// cumulative), the last one for all above. The word behind STATS_ADDS is free.
export const STATS_ADDS: u32 = 0;
export const STATS_WAITS: u32 = 2; // histogram of seconds from dirty to handed out
export const STATS_WORKS: u32 = 16; // histogram of seconds from handed out to done
/** 10 ns, 100 ns, … 1000 s: component-base's ten and controller-runtime's twelve. */
export const STATS_BUCKETS: u32 = 12;

// What eventNext, eventStage and listNext answer.
export const MORE: i32 = 0; // nothing complete: push more bytes
export const VALUE: i32 = 1;
export const MEMBER: i32 = 2; // of a list; its name and value are in the report
export const END: i32 = 3; // of a list
export const ITEMS: i32 = 4; // items begin: those before, if any, do not count
// A value that is not UTF-8, whole: the host replaces what is wrong, as decoders do, and sees
// whether it is JSON.
export const RAW: i32 = 5;
export const STAGED: i32 = 6; // eventStage: the object is staged, and the event taken
export const OUTSIDE: i32 = 7; // eventStage: outside of the ranges; the event is taken
export const BAD: i32 = -1; // see FAILURE
export const TOO_LONG: i32 = -2;
export const NOT_AN_OBJECT: i32 = -3;
export const NOT_STAGED: i32 = -4; // there is no memory for it; the event is still there

// Words at scanReport: u32. Those that begin or end something are addresses in the bytes of the
// stream; 0: not there.
export const EVENT_TYPE: u32 = 0;
export const HAS_OBJECT: u32 = 1;
/** The object can be kept as it is: it is regular, and of the expected kind. */
export const PLAIN: u32 = 2;
export const ESCAPED_NAMES: u32 = 3;
export const VALUE_START: u32 = 4;
export const VALUE_END: u32 = 5;
export const NAME_START: u32 = 6;
export const NAME_END: u32 = 7;
export const FAILURE: u32 = 8;
export const FAILURE_AT: u32 = 9;
export const VERSION_START: u32 = 10; // of metadata.resourceVersion
export const VERSION_END: u32 = 11;
export const STAGED_OBJECT: u32 = 12; // by number
export const STAGED_SHAPES: u32 = 13;

// EVENT_TYPE.
export const TYPE_OTHER: u32 = 0; // a bookmark and an error, too: the host decodes those whole
export const TYPE_ADDED: u32 = 1;
export const TYPE_MODIFIED: u32 = 2;
export const TYPE_DELETED: u32 = 3;

// FAILURE.
export const BAD_GRAMMAR: u32 = 1;
export const BAD_UTF8: u32 = 2;
export const TOO_DEEP: u32 = 3;

/** Bytes at scanExpected for the apiVersion, and as many behind them for the kind. */
export const EXPECTED_ROOM: u32 = 1024;

// A stored object (objects.ts), in u32 words.
export const STORED_LENGTH: u32 = 0;
export const STORED_SHAPES: u32 = 1;
export const STORED_REFERENCES: u32 = 2;
export const STORED_FLAGS: u32 = 3;
export const STORED_SPANS: u32 = 4;
// STORED_FLAGS.
export const IS_ASCII: u32 = 1;
export const IS_MARKED: u32 = 2; // the host has cut away more than it does of every object
/** It is packed: kept as its difference from a base (pack.ts). */
export const IS_PACKED: u32 = 4;
/** Of a base: the host has its text. The host alone sets it. */
export const HAS_TEXT: u32 = 32;
// A packed object, in u32 words, and where its difference begins, in bytes.
export const PACKED_BASE: u32 = 4;
export const PACKED_CHECK: u32 = 5;
export const PACKED_DIFFERENCE: u32 = 24;
/** Bytes of objectSize that are in front of an object. */
export const SIZE_HEAD: u32 = 8;

/** A shape's names: |bytes u32|address u32| from this word of a shape on (shapes.ts). */
export const SHAPE_NAMES: u32 = 6;
export const SHAPE_COUNT: u32 = 1; // u16
export const NO_SHAPE: u32 = 0xffff;

// Words at objectMet.
export const MET_OBJECT: u32 = 0; // the number of the stored object that is there, or NOTHING
export const MET_CHANGES: u32 = 1; // what changes from it; all bits: there is none
export const MET_REFERENCES: u32 = 2;

// Bits of what changes.
export const CHANGED_GENERATION: u32 = 1;
export const CHANGED_LABELS: u32 = 2;
export const CHANGED_ANNOTATIONS: u32 = 4;
export const CHANGED_SPEC: u32 = 8;
export const CHANGED_STATUS: u32 = 16;
export const CHANGED_METADATA: u32 = 32; // without resourceVersion and managedFields
export const CHANGED_DELETION: u32 = 64;
export const CHANGED_VERSION: u32 = 128; // resourceVersion

// The fate of a member in a tree of what is cut out (trim.ts); else the offset of a node.
export const FATE_GOES: u32 = 0;
export const FATE_STAYS: u32 = 1;
/** Bytes behind a path (path.ts) or a tree that may be read. */
export const READ_BEHIND: u32 = 16;

// What scannedPlace answers, beside OUTSIDE.
export const INSIDE: i32 = 0;
export const UNHASHED: i32 = 1; // the text has an escape: the host hashes it
/** The most ranges of a cache. */
export const MOST_RANGES: u32 = 64;
