// The exports of the queues' module, grouped by structure. scripts/embed-abi.ts writes their
// signatures for the host. Caches have a module of their own (cache.ts), so that a queue loads no
// JSON scanner.
//
// A handle is an address (never 0) and comes first; slots are dense numbers from 0. Only integers,
// f64 and, into the key tables, strings as externref cross. Calls that may need memory answer
// NO_MEMORY or 0 and have changed nothing then. Nothing here reads a clock: times are f64
// milliseconds passed in. An assertion that fails traps: a trap is always a bug of ours.

export { memoryGrant, memoryLimit, memoryPages } from "./memory";
export {
  keysSeed, keysNew, keysFree, keysFind, keysFindPair, keysIntern, keysInternPair,
  slotNew as keysSlotNew, release as keysRelease, keysUsed,
} from "./keys";
export {
  queueNew, queueFree, queueAdd, queueAddPair, queueAddSlot, queueAddNew, queueGet, queueTake,
  queueDoneSlot, queueRules, queueState, queueLen, queueProcessing, queueDepth, queueStats,
  queueUnfinished, queueLongest, priorityNew,
} from "./queue";
export { queueLastWait, queueLastWork } from "./states";
export { delayNext } from "./waiting";
export {
  delayAdd, delayAddPair, delayAddSlot, delayAddNew, delayAdvance, delayFire, delayPop, delayCancel,
  delayUntil, delayWaiting,
} from "./delay";
export {
  priorityAdd, priorityAddPair, priorityAddSlot, priorityClose, priorityTaken, priorityRaisedFrom,
  priorityOf, levelsSurvey, levelPriority, levelDepth, levelLongest,
} from "./priority";
export {
  slotsBlock, slotIssue, slotPin, slotUnpin, slotNumber, slotAdd, slotGet, slotDone, slotsFresh,
  slotsAdd, slotsGet, slotsDone, slotsRequeued, slotsBusy, slotAdded, slotStarted,
} from "./slots";
