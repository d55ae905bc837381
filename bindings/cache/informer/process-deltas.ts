/**
 * Applies deltas to a store and calls a handler with the resulting additions, updates and
 * deletions. The store and its indices change before the handler is called, in the same turn.
 * client-go: tools/cache/controller.go processDeltas, processReplacedAllInfo.
 */
import { invalid } from '../../base/errors.ts';
import { type IsOver, NEVER_OVER, runSteps, type Steps } from '../../base/wait.ts';
import { toObject } from '../bytes/lazy.ts';
import type { Delta, DeltaOfAll, Deltas, RangeDelta } from '../queue/deltas.ts';
import type { HashRanges } from '../rest/hash-ranges.ts';
import { DeletedFinalStateUnknown, deletionHandlingMetaNamespaceKeyFunc } from '../rest/keys.ts';
import type { Replacement } from '../store/replacement.ts';
import {
  applyEach,
  type Transaction,
  TransactionError,
  type TransactionStore,
} from '../store/store-types.ts';

/**
 * Called with the changes of a store. Must not throw, because the rest of the delta would not be
 * delivered.
 */
export interface DeltaHandler<T> {
  onAdd(object: T, isInInitialList: boolean): void;
  onUpdate(old: T, now: T): void;
  /**
   * Called instead of `onUpdate` if the store has compared bytes. @param changes the changes as
   * bits (change.ts)
   */
  onCompared?(old: T, now: T, changes: number): void;
  onDelete(object: T | DeletedFinalStateUnknown<T>): void;
  /** Called once a list is in the store, before any other call for it. */
  onReplaced?(): void;
  /** True if there is no handler: then no objects are made for it. */
  isIdle?(): boolean;
}

/** The store of {@link processDeltas}, such as an `Indexer`. */
export interface DeltaStore<T> {
  get(object: T): T | undefined;
  getByKey(key: string): T | undefined;
  list(): T[];
  listKeys(): string[];
  update(object: T): void;
  delete(object: T | DeletedFinalStateUnknown<T>): void;
  /** `noListeners`: as for `exchange`. */
  replace(list: readonly T[], resourceVersion: string, noListeners?: boolean): void;
  bookmark(resourceVersion: string): void;
  /** Removes the objects outside of these ranges, in steps. */
  keepRangesInSteps?(kept: HashRanges, isOver: IsOver): Steps;
  /** `get` and `update` in one. `noListeners`: no handler gets the object or the result. */
  exchange?(object: T, noListeners: boolean): T | undefined;
  /** The changes of the last `exchange`, as bits, if it compared bytes. */
  readonly exchanged?: number | undefined;
  /** The objects, one by one, without a list of all. */
  iterate?(): Iterable<T>;
  /**
   * As `replace`, in steps; returns the replaced objects. Readers may see a part of the list
   * between two steps.
   */
  replaceInSteps?(
    list: readonly T[],
    resourceVersion: string,
    noListeners: boolean,
    isOver: IsOver,
  ): Steps<Replacement<T>>;
}

/**
 * Applies one delta. If the store throws, so does this; then nothing has changed, and the handler
 * was not called.
 *
 * @param isInInitialList passed to `onAdd`
 * @param keyFunc the key function of the store
 */
export function processDelta<T extends object>(
  handler: DeltaHandler<T>,
  store: DeltaStore<T>,
  delta: Delta<T> | RangeDelta<T>,
  isInInitialList: boolean,
  keyFunc: (object: T) => string = deletionHandlingMetaNamespaceKeyFunc,
): void {
  switch (delta.type) {
    case 'Added':
    case 'Updated':
    case 'Replaced':
    case 'Sync':
      processObject(handler, store, delta.object, isInInitialList);
      return;
    case 'Deleted':
      store.delete(delta.object);
      if (handler.isIdle?.() !== true) handler.onDelete(toObject(delta.object));
      return;
    case 'ReplacedAll':
    case 'RangesAdded':
    case 'RangesKept':
    case 'SyncAll':
      runSteps(processInSteps(handler, store, delta, isInInitialList, NEVER_OVER, keyFunc));
      return;
    case 'Bookmark':
      store.bookmark(delta.resourceVersion);
      return;
  }
}

/** The same for an added or updated object. */
export function processObject<T extends object>(
  handler: DeltaHandler<T>,
  store: DeltaStore<T>,
  given: T,
  isInInitialList: boolean,
): void {
  let old: T | undefined;
  if (store.exchange !== undefined) {
    const idle = handler.isIdle?.() ?? false;
    old = store.exchange(given, idle);
    if (idle) return;
  } else {
    old = store.get(given);
    store.update(given);
  }
  const object = toObject(given);
  const { exchanged } = store;
  if (old === undefined) handler.onAdd(object, isInInitialList);
  else if (exchanged !== undefined && handler.onCompared !== undefined)
    handler.onCompared(old, object, exchanged);
  else handler.onUpdate(old, object);
}

/**
 * The same for a delta of all objects, in steps.
 *
 * @param isOver asked after each step
 */
export function processInSteps<T extends object>(
  handler: DeltaHandler<T>,
  store: DeltaStore<T>,
  delta: DeltaOfAll<T>,
  isInInitialList: boolean,
  isOver: IsOver,
  keyFunc?: (object: T) => string,
): Steps {
  switch (delta.type) {
    case 'ReplacedAll':
      return replaceAll(handler, store, delta, isInInitialList, isOver, keyFunc);
    case 'RangesAdded':
      return addRanges(handler, store, delta, isOver);
    case 'RangesKept':
      return store.keepRangesInSteps?.(delta.kept, isOver) ?? nothing();
    case 'SyncAll':
      return syncAll(handler, store, isOver);
  }
}

/** Applies deltas in order; throws the first error of the store. client-go: processDeltas. */
export function processDeltas<T extends object>(
  handler: DeltaHandler<T>,
  store: DeltaStore<T>,
  deltas: Deltas<T>,
  isInInitialList: boolean,
  keyFunc?: (object: T) => string,
): void {
  for (const delta of deltas) processDelta(handler, store, delta, isInInitialList, keyFunc);
}

/**
 * Applies deltas of different objects in one transaction, if the store has transactions, and calls
 * the handler afterwards, but not for those that failed. client-go: tools/cache/controller.go
 * processDeltasInBatch.
 *
 * @throws TransactionError when the store refused some, INVALID_ARGUMENT for a delta of more than
 *   one object: then nothing has changed
 */
export function processDeltasInBatch<T extends object>(
  handler: DeltaHandler<T>,
  store: DeltaStore<T> & Partial<TransactionStore<T>>,
  deltas: Deltas<T>,
  isInInitialList: boolean,
): void {
  if (store.transaction === undefined) {
    applyEach(deltas, (delta) => processDelta(handler, store, delta, isInInitialList));
    return;
  }
  const steps = deltas.map((delta) => step(handler, store, delta, isInInitialList));
  try {
    store.transaction(...steps.map(({ change }) => change));
  } catch (error) {
    if (error instanceof TransactionError)
      for (const i of error.successfulIndices) steps[i]?.notify();
    throw error;
  }
  for (const { notify } of steps) notify();
}

function step<T extends object>(
  handler: DeltaHandler<T>,
  store: DeltaStore<T>,
  delta: Delta<T>,
  isInInitialList: boolean,
): { change: Transaction<T>; notify: () => void } {
  switch (delta.type) {
    case 'Added':
    case 'Updated':
    case 'Replaced':
    case 'Sync': {
      const { object } = delta;
      let old: T | undefined;
      try {
        old = store.get(object);
      } catch {
        // The change will fail by itself. A throw here would end the whole batch.
      }
      if (old === undefined)
        return {
          change: { type: 'Add', object },
          notify: () => handler.onAdd(object, isInInitialList),
        };
      return { change: { type: 'Update', object }, notify: () => handler.onUpdate(old, object) };
    }
    case 'Deleted': {
      const { object } = delta;
      return { change: { type: 'Delete', object }, notify: () => handler.onDelete(object) };
    }
    default:
      throw invalid('deltas', 'deltas of one object each', delta.type);
  }
}

/**
 * Adds the objects of new ranges as an initial list does. If the store refuses an object, the
 * others are added all the same; the first error is thrown at the end.
 */
function* addRanges<T extends object>(
  handler: DeltaHandler<T>,
  store: DeltaStore<T>,
  { objects, resourceVersion }: { objects: readonly T[]; resourceVersion: string },
  isOver: IsOver,
): Steps {
  let failure: { error: unknown } | undefined;
  for (const object of objects) {
    try {
      processObject(handler, store, object, true);
    } catch (error) {
      failure ??= { error };
    }
    if (isOver()) yield;
  }
  store.bookmark(resourceVersion); // the versions of the objects may be newer than the watch
  if (failure !== undefined) throw failure.error;
}

/**
 * Calls the handler once all objects are in the store: for deletions first, then for additions and
 * updates in the order of the list. The old objects are looked up before the replace, so a new key
 * that the list has twice gives two additions.
 */
function* replaceAll<T extends object>(
  handler: DeltaHandler<T>,
  store: DeltaStore<T>,
  { objects, resourceVersion }: { objects: readonly T[]; resourceVersion: string },
  isInInitialList: boolean,
  isOver: IsOver,
  keyFunc: (object: T) => string = deletionHandlingMetaNamespaceKeyFunc,
): Steps {
  const isIdle = handler.isIdle?.() === true;
  let result: Replacement<T> | undefined;
  if (store.replaceInSteps !== undefined)
    result = yield* store.replaceInSteps(objects, resourceVersion, isIdle, isOver);
  else {
    result = isIdle ? undefined : compare(store, objects, keyFunc);
    store.replace(objects, resourceVersion, isIdle);
  }
  handler.onReplaced?.();
  if (isIdle || result === undefined) {
    if (result !== undefined) yield* result.drop(isOver);
    return;
  }
  for (const tombstone of result.gone) {
    handler.onDelete(tombstone);
    if (isOver()) yield;
  }
  for (let i = 0; i < objects.length; i++) {
    const listed = objects[i] as T;
    const object = toObject(listed);
    const old = result.replaced(i);
    if (old === undefined) handler.onAdd(object, isInInitialList);
    else handler.onUpdate(old === listed ? object : old, object);
    if (isOver()) yield;
  }
}

function* nothing(): Steps {}

function* syncAll<T extends object>(
  handler: DeltaHandler<T>,
  store: DeltaStore<T>,
  isOver: IsOver,
): Steps {
  for (const object of store.iterate?.() ?? store.list()) {
    handler.onUpdate(object, object);
    if (isOver()) yield;
  }
}

function compare<T extends object>(
  store: DeltaStore<T>,
  objects: readonly T[],
  keyFunc: (object: T) => string,
): Replacement<T> {
  const keys = new Set<string>();
  const replaced = objects.map((object) => {
    const key = keyFunc(object);
    keys.add(key);
    return store.getByKey(key);
  });
  const gone: DeletedFinalStateUnknown<T>[] = [];
  for (const key of store.listKeys()) {
    if (!keys.has(key)) gone.push(new DeletedFinalStateUnknown(key, store.getByKey(key)));
  }
  return { gone, replaced: (place) => replaced[place], drop: nothing };
}
