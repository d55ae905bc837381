// The exports of the queues' module, grouped by structure. scripts/embed-abi.ts writes their
// signatures for the host. Caches have a module of their own (cache.ts), so that a queue loads no
// JSON scanner.
//
// A handle is an address (never 0) and comes first; slots are dense numbers from 0. Only integers
// and f64 cross. Calls that may need memory answer NO_MEMORY or 0 and have changed nothing then.
// Nothing here reads a clock: times are f64 milliseconds passed in. An assertion that fails traps:
// a trap is always a bug of ours.

export { memoryGrant, memoryLimit, memoryPages } from "./memory";
export {
  keysSeed, keysFree, slotNew as keysSlotNew, release as keysRelease, keysUsed,
} from "./buckets";
export {
  hostedNew as keysNew, keysFindHash, keysNextHash, keysInternHash, keysNewHash, keysDropHashes,
  keysSetHash,
} from "./hosted";
export {
  queueNew, queueFree, queueAddHash, queueAddSlot, queueGet, queueTake, queueDoneSlot,
  queueRules, queueState, queueLen, queueProcessing, queueDepth, queueStats, queueUnfinished,
  queueLongest, priorityNew,
} from "./queue";
export { queueLastWait, queueLastWork } from "./states";
export { delayNext } from "./waiting";
export {
  delayAddHash, delayAddSlot, delayAdvance, delayFire, delayPop, delayCancel,
  delayUntil, delayWaiting,
} from "./delay";
export {
  priorityAddSlot, priorityClose, priorityTaken, priorityRaisedFrom,
  priorityOf, levelsSurvey, levelPriority, levelDepth, levelLongest,
} from "./priority";
export {
  slotsBlock, slotIssue, slotPin, slotUnpin, slotNumber, slotAdd, slotGet, slotDone, slotsFresh,
  slotsAdd, slotsGet, slotsDone, slotsRequeued, slotsBusy, slotAdded, slotStarted,
} from "./slots";
