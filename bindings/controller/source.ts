/**
 * Where requests come from: the seam between what watches the world and the controller that
 * reconciles. A source turns events into requests by a handler, after its predicates have let them
 * through, and says why. controller-runtime: pkg/source/source.go, pkg/handler/eventhandler.go,
 * pkg/predicate/predicate.go.
 */

import type { Logger } from '../base/logger.ts';
import { namesOf } from '../base/names.ts';
import type { Request } from '../base/request.ts';
import type { Change } from '../cache/bytes/change.ts';
import type { KubeObject } from '../cache/rest/keys.ts';
import type { AddOptions } from '../workqueue/index.ts';

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

/** The object that an event was about. */
export interface CauseObject {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly resourceVersion: string | undefined;
}

/** Why a request is reconciled. Several may have led to one run; they are kept until it begins. */
export interface Cause {
  /**
   * An event of a source, or what became of the run before: `retry` after an error, `requeue` and
   * `requeueAfter` as its result asked for.
   */
  readonly kind: 'create' | 'update' | 'delete' | 'generic' | 'retry' | 'requeue' | 'requeueAfter';
  /**
   * The source that it came from, such as `for Website`, `owns Deployment` or `timer`; for the last
   * three, the controller's name.
   */
  readonly source: string;
  /** The object that the event was about. */
  readonly object?: CauseObject;
  /** The predicates that let the event through, such as `generationChanged`. */
  readonly predicate?: string;
  /** The number of the try that is to come, for `retry` and `requeue`. */
  readonly attempt?: number;
  /** When it happened, in milliseconds of the controller's clock. */
  readonly at: number;
  /** When the run is to come that `requeueAfter` asked for, by the same clock. */
  readonly due?: number;
}

/** What an event handler adds requests to. */
export interface HandlerQueue {
  add(request: Request): void;
  addAfter(request: Request, ms: number): void;
  addRateLimited(request: Request): void;
  /** Priorities count in a priority queue and are otherwise ignored. */
  addWithOpts(options: AddOptions, ...requests: Request[]): void;
}

/** What a source adds requests to, with what led to them. */
export interface SourceQueue {
  addWithCause(options: AddOptions, request: Request, cause: Cause): void;
}

/**
 * Names the requests that an event concerns. A method may be async: the events of its source wait
 * for it. Where it throws or rejects, that is reported and the event is told again: after 100 ms,
 * then after twice as long each time, up to 30 s, until the source ends. What was added before
 * stays added. Of 10 000 events that wait so, further ones are reported as lost; updates of one
 * object that wait count as one. A method that is left out ignores its events.
 */
export interface EventHandler<T = KubeObject> {
  // Not written as methods, whose parameters TypeScript compares in both directions: a handler that
  // wants more than there is would compile.
  create?: (event: CreateEvent<T>, queue: HandlerQueue) => void;
  update?: (event: UpdateEvent<T>, queue: HandlerQueue) => void;
  delete?: (event: DeleteEvent<T>, queue: HandlerQueue) => void;
  generic?: (event: GenericEvent<T>, queue: HandlerQueue) => void;
}

/**
 * Says which events count. A method that is left out lets all of its events through, and so does
 * one that throws or answers anything but true or false: that is reported, once a minute at most.
 */
export interface Predicate<T = KubeObject> {
  /** In the causes of a run. */
  readonly name?: string;
  create?: (event: CreateEvent<T>) => boolean;
  update?: (event: UpdateEvent<T>) => boolean;
  delete?: (event: DeleteEvent<T>) => boolean;
  generic?: (event: GenericEvent<T>) => boolean;
}

/** What a source is told when it is started. */
export interface SourceStart {
  readonly queue: SourceQueue;
  /** Fires when the controller ends or the source is removed from it. */
  readonly signal: AbortSignal;
  /**
   * The controller's, where it has one: else errors that cost no more than an event go to the hook
   * of `setErrorHandler`.
   */
  readonly logger?: Logger | undefined;
}

/**
 * A source belongs to one controller.
 */
export interface Source {
  /** In causes, reports and messages. */
  readonly name: string;
  /**
   * Begins; resolves once it has begun, which is before it has synced. What it rejects with ends
   * the controller.
   */
  start(start: SourceStart): Promise<void>;
  /**
   * Resolves when everything that was there at the start has been handed to the handler; absent:
   * nothing to wait for.
   */
  waitForSync?(options: { signal: AbortSignal }): Promise<void>;
  /**
   * Resolves when no call of its handler is under way, promises included; the end of the controller
   * waits for it (`shutdownTimeout`). Absent: nothing to wait for.
   */
  idle?(): Promise<void>;
  /** What it is waiting for or how far it is, for people; absent: nothing to say. */
  status?(): SourceStatus;
}

export const SOURCE_NAMES = namesOf<Source>()({
  name: 1,
  start: 1,
  waitForSync: 1,
  status: 1,
  idle: 1,
});

/** How far a source is. */
export interface SourceStatus {
  readonly synced: boolean;
  /** What it has told so far, by what became of it. */
  readonly events: { readonly handled: number; readonly filtered: number; readonly failed: number };
  /** The key of the informer in the manager's report, where there is one. */
  readonly informer?: string;
  /** What stands in the way, such as a kind that is not served. */
  readonly problem?: string;
}
