/**
 * Applies deltas to a store and calls a handler with the resulting additions, updates and
 * deletions. The store and its indices change before the handler is called, in the same turn.
 * client-go: tools/cache/controller.go processDeltas, processReplacedAllInfo.
 */
import { invalid } from '../../base/errors.ts';
import { toObject } from '../bytes/lazy.ts';
import type { Delta, Deltas, RangeDelta } from '../queue/deltas.ts';
import type { HashRanges } from '../rest/hash-ranges.ts';
import { DeletedFinalStateUnknown, deletionHandlingMetaNamespaceKeyFunc } from '../rest/keys.ts';
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
  /** Removes what is outside of these ranges. */
  letGo?(kept: HashRanges): void;
  /** `get` and `update` in one. `noListeners`: no handler gets the object or the result. */
  exchange?(object: T, noListeners: boolean): T | undefined;
  /** The changes of the last `exchange`, as bits, if it compared bytes. */
  readonly exchanged?: number | undefined;
  /** What a replace would do, if the store can tell faster than by key. */
  compare?(objects: readonly T[]): {
    replaced: (T | undefined)[];
    gone: DeletedFinalStateUnknown<T>[];
  };
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
      replaceAll(handler, store, delta.objects, delta.resourceVersion, isInInitialList, keyFunc);
      return;
    case 'Gained':
      gainAll(handler, store, delta.objects, delta.resourceVersion);
      return;
    case 'LetGo':
      store.letGo?.(delta.kept);
      return;
    case 'SyncAll':
      for (const object of store.list()) handler.onUpdate(object, object);
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
 * Adds objects as the initial list of a cache would. One that the store does not take keeps out no
 * other; the first error is thrown at the end.
 */
function gainAll<T extends object>(
  handler: DeltaHandler<T>,
  store: DeltaStore<T>,
  objects: readonly T[],
  resourceVersion: string,
): void {
  let failure: { error: unknown } | undefined;
  for (const object of objects) {
    try {
      processObject(handler, store, object, true);
    } catch (error) {
      failure ??= { error };
    }
  }
  store.bookmark(resourceVersion); // the versions of the objects may be newer than the watch
  if (failure !== undefined) throw failure.error;
}

/**
 * Calls the handler for deletions first, then for additions and updates in the order of the list.
 * The old objects are looked up before the replace, so a new key that the list has twice gives two
 * additions.
 */
function replaceAll<T extends object>(
  handler: DeltaHandler<T>,
  store: DeltaStore<T>,
  objects: readonly T[],
  resourceVersion: string,
  isInInitialList: boolean,
  keyFunc: (object: T) => string,
): void {
  if (handler.isIdle?.() === true) {
    store.replace(objects, resourceVersion, true);
    return;
  }
  const { replaced, gone } = store.compare?.(objects) ?? compare(store, objects, keyFunc);
  store.replace(objects, resourceVersion);
  for (const tombstone of gone) handler.onDelete(tombstone);
  objects.forEach((listed, i) => {
    const object = toObject(listed);
    const old = replaced[i];
    if (old === undefined) handler.onAdd(object, isInInitialList);
    else handler.onUpdate(old === listed ? object : old, object);
  });
}

function compare<T extends object>(
  store: DeltaStore<T>,
  objects: readonly T[],
  keyFunc: (object: T) => string,
) {
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
  return { replaced, gone };
}
