/**
 * The step from queue to store and handlers: applies deltas to a store and says what that was to it, an addition, an
 * update or a deletion. The store, with its indices, has changed before the handler is told, and both happen in one turn.
 * client-go: tools/cache/controller.go processDeltas, processReplacedAllInfo.
 */
import type { Delta, Deltas } from './deltas.ts';
import { DeletedFinalStateUnknown, deletionHandlingMetaNamespaceKeyFunc } from './keys.ts';

/** Is told what became of a store. Must not throw: what follows in the same delta would not be told. */
export interface DeltaHandler<T> {
  onAdd(object: T, isInInitialList: boolean): void;
  onUpdate(old: T, now: T): void;
  onDelete(object: T | DeletedFinalStateUnknown<T>): void;
}

/** What deltas are applied to. `Indexer` is one. */
export interface DeltaStore<T> {
  get(object: T): T | undefined;
  getByKey(key: string): T | undefined;
  list(): T[];
  listKeys(): string[];
  update(object: T): void;
  delete(object: T | DeletedFinalStateUnknown<T>): void;
  replace(list: readonly T[], resourceVersion: string): void;
  bookmark(resourceVersion: string): void;
}

/**
 * Applies one delta. Where the store refuses it, its error is thrown, nothing has changed and nobody has been told.
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
    case 'Sync': {
      const { object } = delta;
      const old = store.get(object);
      store.update(object);
      if (old === undefined) handler.onAdd(object, isInInitialList);
      else handler.onUpdate(old, object);
      return;
    }
    case 'Deleted':
      store.delete(delta.object);
      handler.onDelete(delta.object);
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
 * Deletions first, then additions and updates in the order of the list. What an object was before is looked up before the
 * content is replaced, so that a key that stands twice in a list and was not there before gives two additions.
 */
function replaceAll<T extends object>(
  handler: DeltaHandler<T>,
  store: DeltaStore<T>,
  objects: readonly T[],
  resourceVersion: string,
  isInInitialList: boolean,
  keyFunc: (object: T) => string,
): void {
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
  store.replace(objects, resourceVersion);
  for (const tombstone of gone) handler.onDelete(tombstone);
  objects.forEach((object, i) => {
    const old = replaced[i];
    if (old === undefined) handler.onAdd(object, isInInitialList);
    else handler.onUpdate(old, object);
  });
}
