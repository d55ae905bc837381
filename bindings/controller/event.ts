/**
 * What happened to an object, as predicates and event handlers are told. Objects are read-only, and
 * may be decoded when read: whoever needs less reads less. controller-runtime: pkg/event/event.go.
 */
import type { Change } from '../cache/bytes/change.ts';

/** An object came, or was there at the start. */
export interface CreateEvent<T> {
  readonly object: T;
  /** The object was there before, and this source hears of it for the first time. */
  readonly isInInitialList: boolean;
}

/** An object has changed, or a resync told of it again: then both states have the same version. */
export interface UpdateEvent<T> {
  readonly objectOld: T;
  readonly objectNew: T;
  /** What differs between the two, told without decoding them. */
  readonly change: Change;
}

/** An object is gone. */
export interface DeleteEvent<T> {
  /**
   * The last state that is known; for a tombstone without its object, an object with nothing but
   * its namespace and name.
   */
  readonly object: T;
  /** The deletion itself was missed, and `object` may be out of date. */
  readonly deleteStateUnknown: boolean;
}

/** Anything that did not come from a watch: a timer, a webhook, a queue of another system. */
export interface GenericEvent<T> {
  readonly object: T;
}
