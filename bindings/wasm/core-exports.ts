/**
 * The one hand-written interface of the queue core's exports, and how an instance's become what the
 * rest of the package calls: bare on the hot path, else guarded (guard.ts). Written out one by one:
 * an object that is filled in a loop becomes a hash table in V8, and then no call is compiled into
 * its caller (a cycle of 59 ns took 68).
 */
import { guardWith } from './guard.ts';
import type { BaseExports } from './instance.ts';
import type { WasmExports } from './web-assembly.ts';

/**
 * Exports of assembly/index.ts. Handles come first and are never 0; slots are dense numbers from 0;
 * times are milliseconds.
 */
export interface CoreExports extends BaseExports {
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

  queueNew(timed: boolean, hostOrder: boolean): number;
  queueFree(queue: number): void;
  /**
   * NOTHING: dirty already; NO_MEMORY; else the slot to store the item at, with SLOT_FLAG when the
   * key is being processed.
   */
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

  /**
   * NOTHING: the key had a slot with its item; NO_MEMORY; else the new slot to store the item at.
   */
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
  /**
   * NOTHING: ready already; NO_MEMORY; else the slot, with SLOT_FLAG as from queueAdd, WAITS_FLAG
   * or RAISED_FLAG.
   */
  priorityAdd(
    queue: number,
    key: string,
    priority: number,
    now: number,
    after: number,
    how: number,
  ): number;
  priorityAddPair(
    queue: number,
    first: string,
    second: string,
    priority: number,
    now: number,
    after: number,
    how: number,
  ): number;
  priorityAddSlot(
    queue: number,
    slot: number,
    priority: number,
    now: number,
    after: number,
    how: number,
  ): number;
  /** Nothing is handed out any more. */
  priorityClose(queue: number): void;
  /**
   * Of the key that a priority queue handed out last; before the raise that was answered last; of a
   * slot.
   */
  priorityTaken(): number;
  priorityRaisedFrom(): number;
  priorityOf(queue: number, slot: number): number;
  /** How many levels there are, lowest first; levelLongest is as of then. */
  levelsSurvey(queue: number): number;
  levelPriority(queue: number, index: number): number;
  levelDepth(queue: number, index: number): number;
  levelLongest(queue: number, index: number, now: number): number;

  /**
   * The host's slots: int32 with a generation. The address of the block that batches are passed in,
   * or 0.
   */
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
}

/** The exports of an instance. */
export function coreExports(
  exports: WasmExports,
  trapped: (cause: unknown) => unknown,
): CoreExports {
  const e = exports as unknown as CoreExports;
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
    keysFindPair: e.keysFindPair,
    keysIntern: e.keysIntern,
    keysInternPair: e.keysInternPair,
    keysSlotNew: e.keysSlotNew,
    keysRelease: guard(e.keysRelease),
    keysUsed: guard(e.keysUsed),
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
  };
}
