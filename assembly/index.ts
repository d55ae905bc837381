// The ABI: exports only, grouped by structure. The host's side of it is bindings/core.ts.
//
// A handle is an address (never 0) and comes first; slots are dense numbers from 0. Only integers, f64 and, into the key
// tables, strings as externref cross. Calls that may need memory answer NO_MEMORY (-2) or 0 and have changed nothing then.
// Nothing here reads a clock: times are f64 milliseconds passed in.

/** AssemblyScript calls this where an assertion fails; a trap is always a bug of ours. */
export function abortTrap(): void {
  unreachable();
}

export { memoryGrant, memoryLimit, memoryPages } from "./memory";
export {
  keysSeed, keysNew, keysFree, keysFind, keysFindPair, keysIntern, keysInternPair, slotNew as keysSlotNew, release as keysRelease, keysUsed,
  keysFindBytes, keysInternBytes, keysFindObject, keysInternObject, keysText, keysTextUnits, keysTextWide,
} from "./keys";
export {
  queueNew, queueFree, queueAdd, queueAddPair, queueAddSlot, queueGet, queueTake, queueDoneSlot, queueRules,
  queueState, queueLen, queueProcessing, queueDepth, queueStats, queueLastWait, queueLastWork, queueUnfinished, queueLongest,
} from "./queue";
export { delayAdd, delayAddPair, delayAddSlot, delayNext, delayAdvance, delayFire, delayPop, delayCancel, delayUntil, delayWaiting } from "./delay";
export {
  priorityNew, priorityAdd, priorityAddPair, priorityAddSlot, priorityClose, priorityTaken, priorityRaisedFrom, priorityOf,
  levelsSurvey, levelPriority, levelDepth, levelLongest,
} from "./priority";
export {
  slotsBlock, slotIssue, slotPin, slotUnpin, slotNumber, slotAdd, slotGet, slotDone, slotsFresh, slotsAdd, slotsGet, slotsDone, slotsRequeued, slotsBusy,
  slotAdded, slotStarted,
} from "./slots";
export {
  indexNew, indexFree, indexValues, indexBegin, indexPush, indexAbort, indexCommit, indexPut, indexPutSlot, indexList, indexSet, indexSetCount,
} from "./indices";
export {
  arenaNew, arenaFree, arenaAlloc, arenaRelease, arenaAt, arenaSize, arenaFits, arenaOwner, arenaSetOwner, arenaLive, arenaTotal, arenaMoved,
} from "./arena";
export { arenaCheck } from "./arena-check";
export { jsonDepth } from "./json";
export { scanKeepManaged } from "./scan";
export { shapeAt } from "./shapes";
export { streamNew, streamFree, streamRoom, streamPushed, streamPending, streamTake, eventNext, listNext, listEnded } from "./stream";
export { scanReport } from "./report";
export {
  objectsNew, objectsFree, objectAt, objectStage, objectStageLike, objectRetain, objectRelease, objectOf, objectPut, objectTake, objectChanges,
  objectsLive, objectsTotal, objectSlot, scannedSlot,
} from "./objects";
