/**
 * What the queues between reflector and store carry: changes, in the order in which they happened.
 * client-go: tools/cache/delta_fifo.go.
 */
import { type DeletedFinalStateUnknown, metaNamespaceKeyFunc } from '../rest/keys.ts';

/**
 * - `Added`, `Updated`, `Deleted`: an event of a watch. A tombstone in place of the object where
 *   the deletion was missed.
 * - `Replaced`: an object of a new list; whether it changed is not known. `Sync`: an object that is
 *   told again, unchanged.
 * - `ReplacedAll`, `SyncAll`: the same for the whole content, in one step. `Bookmark`: the server
 *   has got to this version.
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

/** What a delta says of its object. */
export type DeltaType = Delta<unknown>['type'];

/** One or more deltas, the oldest first. From a `DeltaFIFO` all of one object. */
export type Deltas<T> = readonly Delta<T>[];

/** Whether a list has a key twice. */
export function hasRepeats(delta: Delta<object>): boolean {
  return (
    delta.type === 'ReplacedAll' &&
    new Set(delta.objects.map(metaNamespaceKeyFunc)).size < delta.objects.length
  );
}
