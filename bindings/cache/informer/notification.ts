/**
 * Notifications of handlers, and how two are merged if a handler is behind (option
 * `coalesceAbove`). After the merged notification a handler has the same state of the object as
 * after both, and no deletion is lost.
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
  /** The list had the key twice, so that the handler may have got an addition of it before. */
  readonly repeated: boolean;
}
/** A class rather than a literal, because there are many: see bytes/copy.ts. */
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
 * Merges two successive notifications of one key; `'none'` if they cancel out, `undefined` if both
 * must be delivered.
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
