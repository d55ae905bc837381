// The exports of the caches' module, grouped by structure. scripts/embed-abi.ts writes their
// signatures for the host; the conventions are those of index.ts.

export { memoryGrant, memoryLimit, memoryPages } from "./memory";
export {
  keysSeed, keysFree, slotNew as keysSlotNew, release as keysRelease, keysUsed,
} from "./buckets";
export {
  keysNew, keysFind, keysIntern, keysFindBytes, keysInternBytes, keysFindObject, keysInternObject,
  keysText, keysTextUnits, keysTextWide,
} from "./keys";
export {
  indexNew, indexFree, indexValues, indexBegin, indexPush, indexAbort, indexCommit, indexPut,
  indexPutSlot, indexList, indexSet, indexSetCount, indexNextValue,
} from "./indices";
export {
  arenaNew, arenaFree, arenaAlloc, arenaRelease, arenaAt, arenaSize, arenaFits, arenaOwner,
  arenaSetOwner, arenaLive, arenaTotal, arenaMoved,
} from "./arena";
export { arenaCheck } from "./arena-check";
export { pathNew, pathFree, pathValues, pathList } from "./path";
export { indexByPath, objectIndex } from "./path-index";
export { jsonDepth } from "./json";
export {
  scanExpect, scanExpected, scanHint, scanKeepManaged, scanReport, scannedSlot,
} from "./scan";
export { objectMeet, objectMet } from "./changes";
export { rangesRoom, rangesSet, scannedPlace } from "./ranges";
export { membersSpans, objectMembers } from "./members";
export { trimScanned } from "./trim";
export { shapeAt } from "./shapes";
export {
  streamNew, streamFree, streamRoom, streamPushed, streamPending, streamTake, eventNext, listNext,
  listEnded,
} from "./stream";
export {
  objectsNew, objectsFree, objectRetain, objectRelease, objectOf, objectReady, objectPut,
  objectTake, objectReplace, objectsLive, objectsTotal, objectSize, objectMark, objectsMarked,
  objectSlot, objectCounted, objectsUncount,
} from "./objects";
export { objectAt, objectHead } from "./unpack";
export { objectsPack } from "./pack";
export { eventStage, objectStage, objectStageLike } from "./stage";
