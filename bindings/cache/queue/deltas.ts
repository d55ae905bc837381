/**
 * Deltas: the changes that a FIFO carries from the reflector to the store. client-go:
 * tools/cache/delta_fifo.go.
 */
import type { IsOver, Steps } from '../../base/wait.ts';
import type { HashRanges } from '../rest/hash-ranges.ts';
import { type DeletedFinalStateUnknown, metaNamespaceKeyFunc } from '../rest/keys.ts';

/**
 * - `Added`, `Updated`, `Deleted`: an event of a watch. A tombstone stands in place of the object
 *   if the deletion was missed.
 * - `Replaced`: an object of a new list, changed or not. `Sync`: an unchanged object of a resync.
 * - `ReplacedAll`, `SyncAll`: the same for all objects in one delta. `Bookmark`: the server has
 *   reached this version.
 */
export type Delta<T> =
  | { readonly type: 'Added' | 'Updated' | 'Replaced' | 'Sync'; readonly object: T }
  | { readonly type: 'Deleted'; readonly object: T | DeletedFinalStateUnknown<T> }
  | {
      readonly type: 'ReplacedAll';
      readonly objects: readonly T[];
      readonly resourceVersion: string;
    }
  | { readonly type: 'SyncAll' }
  | { readonly type: 'Bookmark'; readonly resourceVersion: string };

/**
 * Deltas of ranges, which only the queue of an informer with ranges has.
 *
 * - `RangesAdded`: the objects of ranges that the cache did not have; `resourceVersion` is that of
 *   the watch, which may be older than they are.
 * - `RangesKept`: the cache keeps only objects in these ranges; handlers are not called for the
 *   others.
 */
export type RangeDelta<T> =
  | {
      readonly type: 'RangesAdded';
      readonly objects: readonly T[];
      readonly resourceVersion: string;
    }
  | { readonly type: 'RangesKept'; readonly kept: HashRanges };

/** A delta that is processed in steps, because it may have all objects. */
export type DeltaOfAll<T> = Extract<Delta<T>, { type: 'ReplacedAll' | 'SyncAll' }> | RangeDelta<T>;

export function isOfAll<T>(delta: Delta<T> | RangeDelta<T>): delta is DeltaOfAll<T> {
  return (
    delta.type === 'ReplacedAll' ||
    delta.type === 'SyncAll' ||
    delta.type === 'RangesAdded' ||
    delta.type === 'RangesKept'
  );
}

/** The type of a delta. client-go: DeltaType. */
export type DeltaType = Delta<unknown>['type'];

/**
 * One or more deltas, the oldest first; from a `DeltaFIFO` all deltas of one object. client-go:
 * Deltas.
 */
export type Deltas<T> = readonly Delta<T>[];

/** Whether a list has two objects with one key. */
export function* hasRepeats(objects: readonly object[], isOver: IsOver): Steps<boolean> {
  const keys = new Set<string>();
  for (const object of objects) {
    keys.add(metaNamespaceKeyFunc(object));
    if (isOver()) yield;
  }
  return keys.size < objects.length;
}
