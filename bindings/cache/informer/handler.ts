/**
 * Event handlers, their options and registrations. client-go: tools/cache/controller.go,
 * shared_informer.go.
 */

import {
  requireFunction,
  requireInteger,
  requireNumber,
  requireObject,
  requireString,
} from '../../base/errors.ts';
import { namesOf, requireMembers, requireNames } from '../../base/names.ts';
import type { DoneChecker } from '../../base/wait.ts';
import type { Change } from '../bytes/change.ts';
import type { DeletedFinalStateUnknown } from '../rest/keys.ts';

/**
 * A handler for the events of an informer. All three methods are optional and may be async: then
 * the next call waits until the promise has settled. Objects are read-only. An error or rejection
 * goes to handleError and is counted (`informer.status()`, metrics); the call is not repeated. To
 * retry, add the key to a work queue. (In client-go a panic pauses the handler for a second, and it
 * never counts as synced; here neither.) client-go: ResourceEventHandler.
 */
export interface ResourceEventHandler<T> {
  /** `isInInitialList`: the object existed when the informer or, if later, the handler started. */
  onAdd?(object: T, isInInitialList: boolean): void;
  /**
   * Also called for a resync and for an unchanged object of a relist; then `old` and `now` have the
   * same resourceVersion.
   */
  onUpdate?(old: T, now: T, change: Change): void;
  /** A tombstone if the DELETED event was missed. */
  onDelete?(object: T | DeletedFinalStateUnknown<T>): void;
}

/** A mark in the backlog of a handler. */
export interface HighWater {
  /** The number of waiting notifications; at least 1. */
  at: number;
  /**
   * Called with the length of the backlog when it reaches `at`, and again only after it has been
   * below half of that. Errors go to handleError.
   */
  onHighWater(depth: number): void;
}

/** Options of {@link SharedIndexInformer.addEventHandler}. client-go: HandlerOptions. */
export interface HandlerOptions {
  /**
   * Time between resyncs of this handler, in milliseconds. Default: that of the informer. Minimum
   * 1000.
   */
  resyncPeriod?: number | undefined;
  /**
   * The name in metrics and in `informer.status()`. Default: `handler-1` for the first, and so on.
   */
  name?: string | undefined;
  /** Reports that the handler is behind. Nothing is dropped. */
  highWater?: HighWater | undefined;
  /**
   * From this length of the backlog on, a new notification is merged into the last waiting one of
   * the same key: updates become one, from the first old state to the last new one; an addition
   * takes the newest state; a deletion replaces an update; and an addition and its deletion cancel
   * out if the handler never got the object. A deletion and a later addition stay two. The order
   * for each key is kept, and the last state is always delivered; states between may be left out.
   * Default: every notification is delivered, as in client-go.
   */
  coalesceAbove?: number | undefined;
}

const HANDLER_NAMES = namesOf<ResourceEventHandler<never>>()({
  onAdd: 1,
  onUpdate: 1,
  onDelete: 1,
});

const HANDLER_OPTION_NAMES = namesOf<HandlerOptions>()({
  resyncPeriod: 1,
  name: 1,
  highWater: namesOf<HighWater>()({ at: 1, onHighWater: 1 }),
  coalesceAbove: 1,
});

/**
 * The registration of a handler, from {@link SharedIndexInformer.addEventHandler}. client-go:
 * ResourceEventHandlerRegistration.
 */
export interface Registration {
  /** The name of the handler in metrics and messages. */
  readonly name: string;
  /** The informer has synced, and this handler has got every object of its initial list. */
  hasSynced(): boolean;
  /** The same, to wait for. */
  hasSyncedChecker(): DoneChecker;
  /** The backlog: how many notifications wait to be delivered. */
  pending(): number;
  /**
   * How many notifications were merged, and so are not delivered; see {@link
   * HandlerOptions.coalesceAbove}. Every other notification was delivered or waits.
   */
  coalesced(): number;
}

/**
 * Removes a handler and waits for its running call: see {@link
 * SharedIndexInformer.shutDownEventHandler}. client-go: ShutDownEventHandler.
 */
export function shutDownEventHandler(
  informer: {
    shutDownEventHandler(
      registration: Registration,
      options?: { signal?: AbortSignal | undefined },
    ): Promise<void>;
  },
  registration: Registration,
  options: { signal?: AbortSignal | undefined } = {},
): Promise<void> {
  return informer.shutDownEventHandler(registration, options);
}

/** Throws CapstanError INVALID_ARGUMENT. */
export function requireHandler<T>(handler: ResourceEventHandler<T>): void {
  requireMembers('handler', handler, 'member of a ResourceEventHandler', HANDLER_NAMES);
  for (const name of ['onAdd', 'onUpdate', 'onDelete'] as const) {
    if (handler[name] !== undefined) requireFunction(`handler.${name}`, handler[name]);
  }
}

/** Throws CapstanError INVALID_ARGUMENT. */
export function requireHandlerOptions(options: HandlerOptions): void {
  requireNames('options', options, 'option of addEventHandler()', HANDLER_OPTION_NAMES);
  const { resyncPeriod, name, highWater, coalesceAbove } = options;
  if (resyncPeriod !== undefined) requireNumber('options.resyncPeriod', resyncPeriod);
  if (name !== undefined) requireString('options.name', name);
  if (coalesceAbove !== undefined) requireInteger('options.coalesceAbove', coalesceAbove, 0);
  if (highWater !== undefined) {
    requireObject('options.highWater', highWater);
    requireInteger('options.highWater.at', highWater.at, 1);
    requireFunction('options.highWater.onHighWater', highWater.onHighWater);
  }
}
