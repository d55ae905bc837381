/**
 * What handlers are told, and how two notifications become one where a handler does not keep up. A
 * handler that gets the one ends with the same state of the object as after the two, and never
 * misses a deletion.
 */
import { type Change, LazyChange } from '../bytes/change.ts';
import {
  type DeletedFinalStateUnknown,
  deletionHandlingMetaNamespaceKeyFunc,
} from '../rest/keys.ts';

export interface Added<T> {
  readonly type: 'add';
  readonly object: T;
  readonly isInInitialList: boolean;
  /**
   * The key stood twice in a list, so that the handler may know the object from an addition before.
   */
  readonly repeated: boolean;
}
/** A class and no literal, as there are many: see bytes/copy.ts. */
export class Updated<T> {
  readonly type = 'update';
  readonly old: T;
  readonly object: T;
  readonly change: Change;

  constructor(old: T, object: T, change: Change) {
    this.old = old;
    this.object = object;
    this.change = change;
  }
}
export interface Deleted<T> {
  readonly type: 'delete';
  readonly object: T | DeletedFinalStateUnknown<T>;
}
export type Notification<T> = Added<T> | Updated<T> | Deleted<T>;

export function notificationKey<T extends object>(notification: Notification<T>): string {
  return deletionHandlingMetaNamespaceKeyFunc(notification.object);
}

/**
 * One notification for two of a key that follow each other; `'none'` where they cancel out,
 * `undefined` where both have to be told.
 */
export function mergeNotifications<T extends object>(
  first: Notification<T>,
  next: Notification<T>,
): Notification<T> | 'none' | undefined {
  if (first.type === 'delete' || next.type === 'add') return undefined;
  if (next.type === 'delete') {
    if (first.type === 'update') return next;
    return first.repeated ? undefined : 'none';
  }
  if (first.type === 'add') return { ...first, object: next.object };
  return new Updated(first.old, next.object, new LazyChange(first.old, next.object));
}
