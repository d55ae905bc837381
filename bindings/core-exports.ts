/**
 * The one hand-written interface of the core's exports, and how an instance's become what the rest of the package calls.
 *
 * Whatever an export throws goes through `trapped`. Those that are passed on as they are make up the hot path, as the engine compiles such a call into
 * its caller: whoever calls one of them catches what it throws and throws `trapped` of that. All others are guarded here.
 * test/core-traps.test.ts traps in each export, in every call that reaches it.
 */

/** Exports of assembly/index.ts. Handles come first and are never 0; slots are dense numbers from 0; times are milliseconds. */
export interface CoreExports {
  readonly memory: WebAssembly.Memory;
  memoryLimit(pages: number): void;
  /** For tests: so many blocks are granted yet, then none; -1: all. Answers how many were left. */
  memoryGrant(blocks: number): number;
  memoryPages(): number;

  keysSeed(a: number, b: number, c: number, d: number): void;
  keysNew(): number;
  keysFree(table: number): void;
  keysFind(table: number, key: string): number;
  keysFindPair(table: number, first: string, second: string): number;
  keysIntern(table: number, key: string): number;
  keysInternPair(table: number, first: string, second: string): number;
  /** A slot whose key the caller keeps. */
  keysSlotNew(table: number): number;
  keysRelease(table: number, slot: number): void;
  keysUsed(table: number): number;
  /** By the content of a JSON string in memory: valid UTF-8 between its quotes, escapes included. */
  keysFindBytes(table: number, from: number, bytes: number): number;
  keysInternBytes(table: number, from: number, bytes: number): number;
  /** The same for namespace/name; the name alone where the namespace has no bytes. */
  keysFindObject(table: number, namespace: number, namespaceBytes: number, name: number, nameBytes: number): number;
  keysInternObject(table: number, namespace: number, namespaceBytes: number, name: number, nameBytes: number): number;
  /** Where the key's code units are: of two bytes when it is wide, else of one. */
  keysText(table: number, slot: number): number;
  keysTextUnits(table: number, slot: number): number;
  keysTextWide(table: number, slot: number): number;

  queueNew(timed: boolean, hostOrder: boolean): number;
  queueFree(queue: number): void;
  /** NOTHING: dirty already; NO_MEMORY; else the slot to store the item at, with SLOT_FLAG when the key is being processed. */
  queueAdd(queue: number, key: string, now: number): number;
  queueAddPair(queue: number, first: string, second: string, now: number): number;
  queueAddSlot(queue: number, slot: number, now: number): number;
  queueGet(queue: number, now: number): number;
  queueTake(queue: number, slot: number, now: number): number;
  queueDoneSlot(queue: number, slot: number, now: number): number;
  queueRules(queue: number, rules: number): void;
  queueState(queue: number, slot: number): number;
  queueLen(queue: number): number;
  queueProcessing(queue: number): number;
  queueDepth(queue: number): number;
  /** Address of f64 counters: adds, -, then two histograms of 14 (sum, 12 buckets, above). */
  queueStats(queue: number): number;
  queueLastWait(): number;
  queueLastWork(): number;
  queueUnfinished(queue: number, now: number): number;
  queueLongest(queue: number, now: number): number;

  /** NOTHING: the key had a slot with its item; NO_MEMORY; else the new slot to store the item at. */
  delayAdd(queue: number, key: string, at: number, how: number): number;
  delayAddPair(queue: number, first: string, second: string, at: number, how: number): number;
  delayAddSlot(queue: number, slot: number, at: number, how: number): number;
  delayNext(queue: number): number;
  delayAdvance(queue: number, now: number): number;
  /** delayAdvance of a priority queue, one by one: the slot, or NOTHING. */
  delayFire(queue: number, now: number): number;
  delayPop(queue: number, now: number): number;
  delayCancel(queue: number, slot: number): number;
  delayUntil(queue: number, slot: number): number;
  delayWaiting(queue: number): number;

  /** A queue with levels. everyMs 0: priorities do not age. 0: no memory. */
  priorityNew(timed: boolean, everyMs: number): number;
  /** NOTHING: ready already; NO_MEMORY; else the slot, with SLOT_FLAG as from queueAdd, WAITS_FLAG or RAISED_FLAG. */
  priorityAdd(queue: number, key: string, priority: number, now: number, after: number, how: number): number;
  priorityAddPair(
    queue: number,
    first: string,
    second: string,
    priority: number,
    now: number,
    after: number,
    how: number,
  ): number;
  priorityAddSlot(queue: number, slot: number, priority: number, now: number, after: number, how: number): number;
  /** Nothing is handed out any more. */
  priorityClose(queue: number): void;
  /** Of the key that a priority queue handed out last; before the raise that was answered last; of a slot. */
  priorityTaken(): number;
  priorityRaisedFrom(): number;
  priorityOf(queue: number, slot: number): number;
  /** How many levels there are, lowest first; levelLongest is as of then. */
  levelsSurvey(queue: number): number;
  levelPriority(queue: number, index: number): number;
  levelDepth(queue: number, index: number): number;
  levelLongest(queue: number, index: number, now: number): number;

  /** The host's slots: int32 with a generation. The address of the block that batches are passed in, or 0. */
  slotsBlock(count: number): number;
  slotIssue(queue: number, slot: number): number;
  slotPin(queue: number, slot: number): number;
  /** 0 kept, 1 the slot was given back, STALE. */
  slotUnpin(queue: number, slot: number): number;
  slotNumber(queue: number, slot: number): number;
  slotAdd(queue: number, slot: number, now: number): number;
  slotGet(queue: number, now: number): number;
  slotDone(queue: number, slot: number, now: number): number;
  slotsFresh(queue: number, count: number): number;
  slotsAdd(queue: number, count: number, now: number): number;
  slotsGet(queue: number, most: number, now: number): number;
  /** `fresh`: slotsFresh has said that all of them are. */
  slotsDone(queue: number, count: number, now: number, fresh: boolean): number;
  slotsRequeued(): number;
  /** From here on slots are plain numbers again. */
  slotsBusy(queue: number, from: number): number;
  slotAdded(queue: number, slot: number): number;
  slotStarted(queue: number, slot: number): number;

  /** How deep JSON may nest. */
  jsonDepth(levels: number): void;
  scanKeepManaged(keep: boolean): void;
  shapeAt(shape: number): number;
  /** Bytes from the network and the values in them; what the calls answer is in bindings/cache/bytes/stream.ts. */
  streamNew(limit: number): number;
  streamFree(stream: number): void;
  streamRoom(stream: number, bytes: number): number;
  streamPushed(stream: number, bytes: number): void;
  streamPending(stream: number): number;
  streamTake(stream: number): void;
  eventNext(stream: number): number;
  listNext(stream: number): number;
  listEnded(stream: number): number;
  /** Address of what the last scan found (assembly/report.ts). */
  scanReport(): number;
  /** Objects as bytes: versions by number, and the version of each slot (assembly/objects.ts). */
  objectsNew(): number;
  objectsFree(objects: number): void;
  objectAt(objects: number, version: number): number;
  objectStage(objects: number): number;
  objectStageLike(objects: number, slot: number): number;
  objectRetain(objects: number, version: number): void;
  objectRelease(objects: number, version: number): number;
  objectOf(objects: number, slot: number): number;
  objectPut(objects: number, slot: number, version: number): number;
  objectTake(objects: number, slot: number): number;
  objectChanges(objects: number, from: number, to: number): number;
  objectsLive(objects: number): number;
  objectsTotal(objects: number): number;
  /** The slot of a version's key in a key table, or of the object scanned last: as from keysFind, or keysIntern. */
  objectSlot(objects: number, version: number, keys: number, intern: boolean): number;
  scannedSlot(keys: number): number;

  indexNew(): number;
  indexFree(index: number): void;
  indexValues(index: number): number;
  indexBegin(count: number): number;
  indexPush(index: number, value: number): void;
  indexAbort(index: number): number;
  indexCommit(index: number, slot: number): number;
  /** The value's slot, with SLOT_FLAG when a value was given back; NOTHING: the object has several; NO_MEMORY. */
  indexPut(index: number, slot: number, text: string): number;
  indexPutSlot(index: number, slot: number, value: number): number;
  indexList(): number;
  indexSet(index: number, value: number): number;
  indexSetCount(index: number, value: number): number;

  /** Blocks of bytes by owner, a dense number (assembly/arena.ts). An address is valid until the next arenaAlloc. */
  arenaNew(): number;
  arenaFree(arena: number): void;
  /** The address, or 0: no memory. A block that the owner has is given back for it. */
  arenaAlloc(arena: number, bytes: number, owner: number): number;
  arenaRelease(arena: number, address: number): void;
  arenaAt(arena: number, owner: number): number;
  arenaSize(address: number): number;
  arenaFits(address: number, bytes: number): number;
  arenaOwner(address: number): number;
  arenaSetOwner(arena: number, address: number, owner: number): number;
  /** Bytes as int32: `>>> 0` above 2 GiB. */
  arenaLive(arena: number): number;
  arenaTotal(arena: number): number;
  arenaMoved(arena: number): number;
  /** For tests: 0, or the number of the invariant that does not hold. */
  arenaCheck(arena: number): number;
}

/** None of the guarded ones takes more than five arguments; Wasm ignores what is too much. */
type Export = (a?: unknown, b?: unknown, c?: unknown, d?: unknown, e?: unknown) => unknown;

/**
 * The exports of an instance. Written out one by one: an object that is filled in a loop becomes a hash table in V8, and then no call is
 * compiled into its caller (a cycle of 59 ns took 68).
 */
export function coreExports(exports: WebAssembly.Exports, trapped: (cause: unknown) => unknown): CoreExports {
  const e = exports as unknown as CoreExports;
  const guard = <F>(call: F): F => {
    const run = call as Export;
    const guarded: Export = (a, b, c, d, e) => {
      try {
        return run(a, b, c, d, e);
      } catch (cause) {
        throw trapped(cause);
      }
    };
    return guarded as F;
  };
  return {
    memory: e.memory,
    memoryLimit: guard(e.memoryLimit),
    memoryGrant: guard(e.memoryGrant),
    memoryPages: e.memoryPages,
    keysSeed: guard(e.keysSeed),
    keysNew: guard(e.keysNew),
    keysFree: guard(e.keysFree),
    keysFind: e.keysFind,
    keysFindPair: e.keysFindPair,
    keysIntern: e.keysIntern,
    keysInternPair: e.keysInternPair,
    keysSlotNew: e.keysSlotNew,
    keysRelease: guard(e.keysRelease),
    keysUsed: guard(e.keysUsed),
    keysFindBytes: guard(e.keysFindBytes),
    keysInternBytes: guard(e.keysInternBytes),
    keysFindObject: guard(e.keysFindObject),
    keysInternObject: guard(e.keysInternObject),
    keysText: guard(e.keysText),
    keysTextUnits: guard(e.keysTextUnits),
    keysTextWide: guard(e.keysTextWide),
    queueNew: guard(e.queueNew),
    queueFree: guard(e.queueFree),
    queueAdd: e.queueAdd,
    queueAddPair: e.queueAddPair,
    queueAddSlot: e.queueAddSlot,
    queueGet: e.queueGet,
    queueTake: e.queueTake,
    queueDoneSlot: e.queueDoneSlot,
    queueRules: guard(e.queueRules),
    queueState: guard(e.queueState),
    queueLen: e.queueLen,
    queueProcessing: guard(e.queueProcessing),
    queueDepth: guard(e.queueDepth),
    queueStats: guard(e.queueStats),
    queueLastWait: guard(e.queueLastWait),
    queueLastWork: guard(e.queueLastWork),
    queueUnfinished: guard(e.queueUnfinished),
    queueLongest: guard(e.queueLongest),
    delayAdd: e.delayAdd,
    delayAddPair: e.delayAddPair,
    delayAddSlot: e.delayAddSlot,
    delayNext: guard(e.delayNext),
    delayAdvance: e.delayAdvance,
    delayFire: guard(e.delayFire),
    delayPop: e.delayPop,
    delayCancel: guard(e.delayCancel),
    delayUntil: guard(e.delayUntil),
    delayWaiting: guard(e.delayWaiting),
    priorityNew: guard(e.priorityNew),
    priorityAdd: e.priorityAdd,
    priorityAddPair: e.priorityAddPair,
    priorityAddSlot: e.priorityAddSlot,
    priorityClose: guard(e.priorityClose),
    priorityTaken: guard(e.priorityTaken),
    priorityRaisedFrom: guard(e.priorityRaisedFrom),
    priorityOf: guard(e.priorityOf),
    levelsSurvey: guard(e.levelsSurvey),
    levelPriority: guard(e.levelPriority),
    levelDepth: guard(e.levelDepth),
    levelLongest: guard(e.levelLongest),
    slotsBlock: guard(e.slotsBlock),
    slotIssue: guard(e.slotIssue),
    slotPin: guard(e.slotPin),
    slotUnpin: guard(e.slotUnpin),
    slotNumber: guard(e.slotNumber),
    slotAdd: e.slotAdd,
    slotGet: e.slotGet,
    slotDone: e.slotDone,
    slotsFresh: guard(e.slotsFresh),
    slotsAdd: guard(e.slotsAdd),
    slotsGet: guard(e.slotsGet),
    slotsDone: guard(e.slotsDone),
    slotsRequeued: guard(e.slotsRequeued),
    slotsBusy: guard(e.slotsBusy),
    slotAdded: guard(e.slotAdded),
    slotStarted: guard(e.slotStarted),
    jsonDepth: guard(e.jsonDepth),
    scanKeepManaged: guard(e.scanKeepManaged),
    shapeAt: guard(e.shapeAt),
    streamNew: guard(e.streamNew),
    streamFree: guard(e.streamFree),
    streamRoom: e.streamRoom,
    streamPushed: e.streamPushed,
    streamPending: guard(e.streamPending),
    streamTake: e.streamTake,
    eventNext: e.eventNext,
    listNext: e.listNext,
    listEnded: guard(e.listEnded),
    scanReport: e.scanReport,
    objectsNew: guard(e.objectsNew),
    objectsFree: guard(e.objectsFree),
    objectAt: e.objectAt,
    objectStage: e.objectStage,
    objectStageLike: e.objectStageLike,
    objectRetain: e.objectRetain,
    objectRelease: e.objectRelease,
    objectOf: e.objectOf,
    objectPut: e.objectPut,
    objectTake: e.objectTake,
    objectChanges: e.objectChanges,
    objectsLive: guard(e.objectsLive),
    objectsTotal: guard(e.objectsTotal),
    objectSlot: e.objectSlot,
    scannedSlot: guard(e.scannedSlot),
    indexNew: guard(e.indexNew),
    indexFree: guard(e.indexFree),
    indexValues: guard(e.indexValues),
    indexBegin: guard(e.indexBegin),
    indexPush: guard(e.indexPush),
    indexAbort: guard(e.indexAbort),
    indexCommit: guard(e.indexCommit),
    indexPut: e.indexPut,
    indexPutSlot: e.indexPutSlot,
    indexList: guard(e.indexList),
    indexSet: guard(e.indexSet),
    indexSetCount: guard(e.indexSetCount),
    arenaNew: guard(e.arenaNew),
    arenaFree: guard(e.arenaFree),
    arenaAlloc: guard(e.arenaAlloc),
    arenaRelease: guard(e.arenaRelease),
    arenaAt: guard(e.arenaAt),
    arenaSize: guard(e.arenaSize),
    arenaFits: guard(e.arenaFits),
    arenaOwner: guard(e.arenaOwner),
    arenaSetOwner: guard(e.arenaSetOwner),
    arenaLive: guard(e.arenaLive),
    arenaTotal: guard(e.arenaTotal),
    arenaMoved: guard(e.arenaMoved),
    arenaCheck: guard(e.arenaCheck),
  };
}
