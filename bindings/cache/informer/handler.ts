/**
 * What a user gives to an informer to be told of changes, and what he gets for it. client-go:
 * tools/cache/controller.go, shared_informer.go.
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
 * Any of the three may be left out, and any may be async: then the next notification comes when its
 * promise has settled. Objects are read-only. What a handler throws or rejects with goes to
 * handleError, is counted (`informer.status()`, metrics) and costs this handler this one
 * notification; who must not miss one adds to a queue and fails there. (client-go waits a second
 * after a panic, and such a handler never counts as synced; here neither.)
 */
export interface ResourceEventHandler<T> {
  /**
   * `isInInitialList`: the object was there before, and this handler hears of it for the first
   * time.
   */
  onAdd?(object: T, isInInitialList: boolean): void;
  /**
   * Also for a resync and for an unchanged object of a new list, where `old` and `now` have one
   * resource version.
   */
  onUpdate?(old: T, now: T, change: Change): void;
  /** A tombstone where the deletion itself was missed. */
  onDelete?(object: T | DeletedFinalStateUnknown<T>): void;
}

/** A mark in the backlog of a handler. */
export interface HighWater {
  /** How many notifications have to wait, at least 1. */
  at: number;
  /**
   * Called when so many wait, with their number, and again only after the backlog has been below
   * half of the mark. What it throws goes to handleError.
   */
  onHighWater(depth: number): void;
}

/** How one handler of an informer is told. */
export interface HandlerOptions {
  /**
   * How often this handler is told of everything again, in milliseconds. Default: the informer's.
   * The shortest is 1 s.
   */
  resyncPeriod?: number | undefined;
  /** In the metrics and in `informer.status()`. Default: `handler-1` for the first, and so on. */
  name?: string | undefined;
  /** Tells that the handler does not keep up. Nothing is dropped, here or there. */
  highWater?: HighWater | undefined;
  /**
   * From so many waiting notifications on, a new one is merged into the last one that waits for the
   * same key, instead of being queued: updates become one from the first old state to the last new
   * one, an addition takes the newest state, an update gives way to a deletion, and an addition and
   * its deletion cancel out where the handler never heard of the object. A deletion and a later
   * addition stay two. The order for each key is kept, and the last state is always told; what lies
   * between may be left out. Without it, the default, every notification is delivered, as in
   * client-go.
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

/** A handler's place at an informer. */
export interface Registration {
  /** In metrics and messages. */
  readonly name: string;
  /** The informer has synced, and this handler has been given every object of its initial list. */
  hasSynced(): boolean;
  /** The same as something to wait for. */
  hasSyncedChecker(): DoneChecker;
  /** How many notifications wait to be delivered. */
  pending(): number;
  /**
   * How many notifications were merged so far, and so are not delivered; see {@link
   * HandlerOptions.coalesceAbove}. Each notification is delivered, or waits, or is one of these.
   */
  coalesced(): number;
}

/**
 * Removes a handler and waits for its call that is under way:
 * `SharedIndexInformer.shutDownEventHandler`, as client-go has it.
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
