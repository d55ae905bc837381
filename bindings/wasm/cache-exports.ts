/**
 * The one hand-written interface of the cache core's exports, and how an instance's become what the
 * rest of the package calls: bare on the hot path, else guarded (guard.ts). Written out one by one:
 * an object that is filled in a loop becomes a hash table in V8, and then no call is compiled into
 * its caller (a cycle of 59 ns took 68).
 */
import { guardWith } from './guard.ts';
import type { BaseExports } from './instance.ts';
import type { WasmExports } from './web-assembly.ts';

/**
 * Exports of assembly/cache.ts. Handles come first and are never 0; slots are dense numbers from 0.
 */
export interface CacheExports extends BaseExports {
  keysNew(): number;
  keysFree(table: number): void;
  keysFind(table: number, key: string): number;
  keysIntern(table: number, key: string): number;
  /** A slot whose key the caller keeps. */
  keysSlotNew(table: number): number;
  keysRelease(table: number, slot: number): void;
  keysUsed(table: number): number;
  /**
   * By the content of a JSON string in memory: valid UTF-8 between its quotes, escapes included.
   */
  keysFindBytes(table: number, from: number, bytes: number): number;
  keysInternBytes(table: number, from: number, bytes: number): number;
  /** The same for namespace/name; the name alone where the namespace has no bytes. */
  keysFindObject(
    table: number,
    namespace: number,
    namespaceBytes: number,
    name: number,
    nameBytes: number,
  ): number;
  keysInternObject(
    table: number,
    namespace: number,
    namespaceBytes: number,
    name: number,
    nameBytes: number,
  ): number;
  /** Where the key's code units are: of two bytes when it is wide, else of one. */
  keysText(table: number, slot: number): number;
  keysTextUnits(table: number, slot: number): number;
  keysTextWide(table: number, slot: number): number;

  /** How deep JSON may nest. */
  jsonDepth(levels: number): void;
  scanKeepManaged(keep: boolean): void;
  /** Of which store the objects are that are scanned. */
  scanHint(objects: number, keys: number): void;
  /**
   * Room for the apiVersion (1024 bytes) and the kind (1024) of the objects that are kept, as JSON
   * strings, and how long they are.
   */
  scanExpected(): number;
  scanExpect(apiVersion: number, kind: number): void;
  /**
   * Cuts members out of what was scanned last (assembly/trim.ts): 0 nothing, 1 some; FALLBACK;
   * NO_MEMORY.
   */
  trimScanned(tree: number): number;
  shapeAt(shape: number): number;
  /**
   * The shape of the object at an offset of a version's JSON, or NO_SHAPE, and where the spans of
   * its members then are (assembly/members.ts).
   */
  objectMembers(objects: number, version: number, from: number): number;
  membersSpans(): number;
  /**
   * Bytes from the network and the values in them; what the calls answer is in
   * bindings/cache/bytes/stream.ts.
   */
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
  /** As eventNext, and stages what it can at once. */
  eventStage(stream: number, objects: number): number;
  /** Objects as bytes: versions by number, and the version of each slot (assembly/objects.ts). */
  objectsNew(): number;
  objectsFree(objects: number): void;
  objectAt(objects: number, version: number): number;
  objectStage(objects: number): number;
  objectStageLike(objects: number, slot: number): number;
  objectRetain(objects: number, version: number): void;
  objectRelease(objects: number, version: number): number;
  objectOf(objects: number, slot: number): number;
  /** Room for a version at a slot, so that `objectPut` finds it; false: no memory. */
  objectReady(objects: number, slot: number): number;
  objectPut(objects: number, slot: number, version: number): number;
  objectTake(objects: number, slot: number): number;
  /**
   * The slot of a version's key, and at objectMet what is there: |version|what changes from it, as
   * bits|references|.
   */
  objectMeet(objects: number, version: number, keys: number): number;
  objectMet(): number;
  /** objectPut at a slot that has a version, which is let go. */
  objectReplace(objects: number, slot: number, version: number): void;
  objectsLive(objects: number): number;
  objectsTotal(objects: number): number;
  /** What a version adds to objectsLive. */
  objectSize(objects: number, version: number): number;
  objectMark(objects: number, version: number): void;
  /** How many slots have a version that is marked. */
  objectsMarked(objects: number): number;
  /**
   * The slot of a version's key in a key table, or of the object scanned last: as from keysFind, or
   * keysIntern.
   */
  objectSlot(objects: number, version: number, keys: number, intern: boolean): number;
  scannedSlot(keys: number): number;

  indexNew(): number;
  indexFree(index: number): void;
  indexValues(index: number): number;
  indexBegin(count: number): number;
  indexPush(index: number, value: number): void;
  indexAbort(index: number): number;
  indexCommit(index: number, slot: number): number;
  /**
   * The value's slot, with SLOT_FLAG when a value was given back; NOTHING: the object has several;
   * NO_MEMORY.
   */
  indexPut(index: number, slot: number, text: string): number;
  indexPutSlot(index: number, slot: number, value: number): number;
  indexList(): number;
  indexSet(index: number, value: number): number;
  indexSetCount(index: number, value: number): number;
  /** The first value from a slot on that an object has, or NOTHING. */
  indexNextValue(index: number, from: number): number;

  /**
   * Blocks of bytes by owner, a dense number (assembly/arena.ts). An address is valid until the
   * next arenaAlloc.
   */
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

  /**
   * A block for a path of so many bytes, as assembly/path.ts draws it (bindings/wasm/path-block.ts
   * writes it); 0: no memory.
   */
  pathNew(bytes: number): number;
  pathFree(path: number, bytes: number): void;
  /**
   * How many values are under the path in a document that is valid JSON: spans at pathList;
   * FALLBACK; NO_MEMORY.
   */
  pathValues(path: number, skipped: number, from: number, end: number): number;
  pathList(): number;
  /** Lists an object under those values: as indexCommit, or FALLBACK. */
  indexByPath(
    index: number,
    slot: number,
    path: number,
    skipped: number,
    from: number,
    end: number,
  ): number;
  /** The same for a version; `orEmpty`: an object without a value is listed under the empty one. */
  objectIndex(
    objects: number,
    version: number,
    index: number,
    slot: number,
    path: number,
    orEmpty: boolean,
  ): number;
}

/** The exports of an instance. */
export function cacheExports(
  exports: WasmExports,
  trapped: (cause: unknown) => unknown,
): CacheExports {
  const e = exports as unknown as CacheExports;
  const guard = guardWith(trapped);
  return {
    memory: e.memory,
    memoryLimit: guard(e.memoryLimit),
    memoryGrant: guard(e.memoryGrant),
    memoryPages: guard(e.memoryPages),
    keysSeed: guard(e.keysSeed),
    keysNew: guard(e.keysNew),
    keysFree: guard(e.keysFree),
    keysFind: e.keysFind,
    keysIntern: e.keysIntern,
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
    jsonDepth: guard(e.jsonDepth),
    scanKeepManaged: guard(e.scanKeepManaged),
    scanHint: guard(e.scanHint),
    scanExpected: guard(e.scanExpected),
    scanExpect: guard(e.scanExpect),
    trimScanned: guard(e.trimScanned),
    shapeAt: guard(e.shapeAt),
    objectMembers: guard(e.objectMembers),
    membersSpans: guard(e.membersSpans),
    streamNew: guard(e.streamNew),
    streamFree: guard(e.streamFree),
    streamRoom: guard(e.streamRoom),
    streamPushed: guard(e.streamPushed),
    streamPending: guard(e.streamPending),
    streamTake: guard(e.streamTake),
    eventNext: guard(e.eventNext),
    listNext: guard(e.listNext),
    listEnded: guard(e.listEnded),
    scanReport: guard(e.scanReport),
    eventStage: guard(e.eventStage),
    objectsNew: guard(e.objectsNew),
    objectsFree: guard(e.objectsFree),
    objectAt: guard(e.objectAt),
    objectStage: guard(e.objectStage),
    objectStageLike: guard(e.objectStageLike),
    objectRetain: guard(e.objectRetain),
    objectRelease: guard(e.objectRelease),
    objectOf: guard(e.objectOf),
    objectReady: guard(e.objectReady),
    objectPut: guard(e.objectPut),
    objectTake: guard(e.objectTake),
    objectMeet: guard(e.objectMeet),
    objectMet: guard(e.objectMet),
    objectReplace: guard(e.objectReplace),
    objectsLive: guard(e.objectsLive),
    objectsTotal: guard(e.objectsTotal),
    objectSize: guard(e.objectSize),
    objectMark: guard(e.objectMark),
    objectsMarked: guard(e.objectsMarked),
    objectSlot: guard(e.objectSlot),
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
    indexNextValue: guard(e.indexNextValue),
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
    pathNew: guard(e.pathNew),
    pathFree: guard(e.pathFree),
    pathValues: guard(e.pathValues),
    pathList: guard(e.pathList),
    indexByPath: guard(e.indexByPath),
    objectIndex: e.objectIndex,
  };
}
