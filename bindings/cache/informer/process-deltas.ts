/**
 * The step from queue to store and handlers: applies deltas to a store and says what that was to
 * it, an addition, an update or a deletion. The store, with its indices, has changed before the
 * handler is told, and both happen in one turn. client-go: tools/cache/controller.go processDeltas,
 * processReplacedAllInfo.
 */
import { invalid } from '../../base/errors.ts';
import { toObject } from '../bytes/lazy.ts';
import type { Delta, Deltas } from '../queue/deltas.ts';
import { DeletedFinalStateUnknown, deletionHandlingMetaNamespaceKeyFunc } from '../rest/keys.ts';
import {
  applyEach,
  type Transaction,
  TransactionError,
  type TransactionStore,
} from '../store/store-types.ts';

/**
 * Is told what became of a store. Must not throw: what follows in the same delta would not be told.
 */
export interface DeltaHandler<T> {
  onAdd(object: T, isInInitialList: boolean): void;
  onUpdate(old: T, now: T): void;
  /**
   * In place of `onUpdate` where the store has compared bytes. @param changes bits of what changed
   * (change.ts)
   */
  onCompared?(old: T, now: T, changes: number): void;
  onDelete(object: T | DeletedFinalStateUnknown<T>): void;
  /** True while nobody listens: then nothing is made to be told. */
  isIdle?(): boolean;
}

/** What deltas are applied to. `Indexer` is one. */
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
  /**
   * `get` and `update` in one, where the store has that. `noListeners`: nobody will see the object
   * or what it gives.
   */
  exchange?(object: T, noListeners: boolean): T | undefined;
  /** What the last `exchange` changed, as bits, where it compared bytes. */
  readonly exchanged?: number | undefined;
  /** What a replace would do, where the store knows without asking for every key. */
  compare?(objects: readonly T[]): {
    replaced: (T | undefined)[];
    gone: DeletedFinalStateUnknown<T>[];
  };
}

/**
 * Applies one delta. Where the store refuses it, its error is thrown, nothing has changed and
 * nobody has been told.
 *
 * @param isInInitialList is passed on with additions
 * @param keyFunc the store's
 */
export function processDelta<T extends object>(
  handler: DeltaHandler<T>,
  store: DeltaStore<T>,
  delta: Delta<T>,
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
    case 'SyncAll':
      for (const object of store.list()) handler.onUpdate(object, object);
      return;
    case 'Bookmark':
      store.bookmark(delta.resourceVersion);
      return;
  }
}

/** The same for an object that is added or updated, whichever it turns out to be. */
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

/** Applies deltas from the oldest to the newest; ends with the first that the store refuses. */
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
 * Applies deltas of different objects in one transaction, where the store has any, and tells of
 * them afterwards; of those that fail nobody is told. client-go: tools/cache/controller.go
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
      for (const i of error.successfulIndices) steps[i]?.tell();
    throw error;
  }
  for (const { tell } of steps) tell();
}

function step<T extends object>(
  handler: DeltaHandler<T>,
  store: DeltaStore<T>,
  delta: Delta<T>,
  isInInitialList: boolean,
): { change: Transaction<T>; tell: () => void } {
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
        // Left to the change, which fails alone. A throw here would end the whole batch.
      }
      if (old === undefined)
        return {
          change: { type: 'Add', object },
          tell: () => handler.onAdd(object, isInInitialList),
        };
      return { change: { type: 'Update', object }, tell: () => handler.onUpdate(old, object) };
    }
    case 'Deleted': {
      const { object } = delta;
      return { change: { type: 'Delete', object }, tell: () => handler.onDelete(object) };
    }
    default:
      throw invalid('deltas', 'deltas of one object each', delta.type);
  }
}

/**
 * Deletions first, then additions and updates in the order of the list. What an object was before
 * is looked up before the content is replaced, so that a key that stands twice in a list and was
 * not there before gives two additions.
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
