/**
 * Types of events, predicates, event handlers and sources. A source receives events, filters them
 * with its predicates, and lets its handler add requests, each with its cause. controller-runtime:
 * pkg/event/event.go, pkg/predicate/predicate.go, pkg/handler/eventhandler.go,
 * pkg/source/source.go.
 *
 * Objects in events are read-only and may be decoded only when they are read.
 */

import type { Logger } from '../base/logger.ts';
import { namesOf } from '../base/names.ts';
import type { KubeObject } from '../base/object.ts';
import type { Request } from '../base/request.ts';
import type { Change } from '../cache/bytes/change.ts';
import type { AddOptions } from '../workqueue/index.ts';

/** An object was created, or existed when the source started. */
export interface CreateEvent<T> {
  readonly object: T;
  /** The object existed before this source saw it for the first time. */
  readonly isInInitialList: boolean;
}

/**
 * An object was changed, or a resync repeated it: then both states have the same resourceVersion.
 */
export interface UpdateEvent<T> {
  readonly objectOld: T;
  readonly objectNew: T;
  /**
   * Which parts of the object differ. Computed without decoding the objects where their bytes were
   * compared.
   */
  readonly change: Change;
}

/** An object was deleted. */
export interface DeleteEvent<T> {
  /**
   * The last known state. For a tombstone without an object: an object that has only
   * `metadata.namespace` and `metadata.name`.
   */
  readonly object: T;
  /** The deletion event was missed, and `object` may be out of date. */
  readonly deleteStateUnknown: boolean;
}

/** An event that does not come from a watch: a timer, a webhook, a queue of another system. */
export interface GenericEvent<T> {
  readonly object: T;
}

/** The object of an event. */
export interface CauseObject {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly resourceVersion: string | undefined;
}

/**
 * Why a request was added to the queue. A run may have several causes; they are kept until it
 * begins.
 */
export interface Cause {
  /**
   * The kind of event, or the outcome of the previous run: `retry` after an error, `requeue` and
   * `requeueAfter` as its result asked.
   */
  readonly kind: 'create' | 'update' | 'delete' | 'generic' | 'retry' | 'requeue' | 'requeueAfter';
  /**
   * The name of the source, such as `for Website`, `owns Deployment` or `timer`. For `retry`,
   * `requeue` and `requeueAfter` the name of the controller.
   */
  readonly source: string;
  /** The object of the event. */
  readonly object?: CauseObject;
  /** The predicates that the event passed, such as `generationChanged`. */
  readonly predicate?: string;
  /** The number of the next attempt, for `retry` and `requeue`. */
  readonly attempt?: number;
  /** Time of the event, in milliseconds of the controller's clock. */
  readonly at: number;
  /** Time of the run that `requeueAfter` asked for, in milliseconds of the same clock. */
  readonly due?: number;
}

/**
 * The queue that an event handler adds requests to. controller-runtime:
 * workqueue.TypedRateLimitingInterface, priorityqueue.PriorityQueue.
 */
export interface HandlerQueue<R = Request> {
  // Properties, because a queue of one type of requests is not one of another.
  readonly add: (request: R) => void;
  /** Adds the request after `ms` milliseconds. */
  readonly addAfter: (request: R, ms: number) => void;
  /** Adds the request after the rate limiter's delay for it. */
  readonly addRateLimited: (request: R) => void;
  /** The priority takes effect only in a priority queue. */
  readonly addWithOpts: (options: AddOptions, ...requests: R[]) => void;
}

/** The queue that a source adds requests to, each with its cause. */
export interface SourceQueue<R = Request> {
  readonly addWithCause: (options: AddOptions, request: R, cause: Cause) => void;
}

/**
 * Maps an event to the requests that it concerns. controller-runtime: handler.EventHandler.
 *
 * - A missing method ignores the events of its kind.
 * - A method may return a promise: the source handles its next event when that has settled.
 * - If a method throws or rejects, the error is reported and the event is handled again after 100
 *   ms, then after twice that time, up to 30 s, until the source ends. Requests that it already
 *   added stay in the queue.
 * - At most 10 000 events wait for such a retry; events beyond that are dropped and reported.
 *   Waiting updates of one object are merged into one.
 *
 * `R` is the type of the requests: see {@link defineRequest}.
 */
export interface EventHandler<T = KubeObject, R = Request> {
  // Properties instead of methods, because TypeScript compares the parameters of methods
  // bivariantly: a handler that expects more members than the object has would compile.
  create?: (event: CreateEvent<T>, queue: HandlerQueue<R>) => void;
  update?: (event: UpdateEvent<T>, queue: HandlerQueue<R>) => void;
  delete?: (event: DeleteEvent<T>, queue: HandlerQueue<R>) => void;
  generic?: (event: GenericEvent<T>, queue: HandlerQueue<R>) => void;
}

/**
 * Filters events: a method returns whether the event is handled. A missing method lets all events
 * of its kind pass. If a method throws or returns anything but a boolean, the event passes and the
 * error is reported, at most once a minute. controller-runtime: predicate.Predicate.
 */
export interface Predicate<T = KubeObject> {
  /** Shown in the causes of a run. */
  readonly name?: string;
  create?: (event: CreateEvent<T>) => boolean;
  update?: (event: UpdateEvent<T>) => boolean;
  delete?: (event: DeleteEvent<T>) => boolean;
  generic?: (event: GenericEvent<T>) => boolean;
}

/** The arguments of `Source.start`. */
export interface SourceStart<R = Request> {
  readonly queue: SourceQueue<R>;
  /** Fires when the controller ends or the source is removed. */
  readonly signal: AbortSignal;
  /**
   * The controller's logger. Without one, errors of single events go to the function set with
   * `setErrorHandler`.
   */
  readonly logger?: Logger | undefined;
}

/**
 * Produces requests. A source belongs to one controller and is started once. controller-runtime:
 * source.Source, source.SyncingSource.
 */
export interface Source<R = Request> {
  /** Shown in causes, reports and messages. */
  readonly name: string;
  /**
   * Starts the source and resolves without waiting for it to sync. If it rejects, the controller
   * ends.
   */
  start(start: SourceStart<R>): Promise<void>;
  /**
   * Resolves when the handler has got every object that existed at the start. Absent: the source
   * has nothing to sync.
   */
  waitForSync?(options: { signal: AbortSignal }): Promise<void>;
  /**
   * Resolves when no call of the source's handler is running, promises included. A controller that
   * ends waits for it for at most `shutdownTimeout`. Absent: nothing to wait for.
   */
  idle?(): Promise<void>;
  /**
   * The state of the source for reports. Absent: the report shows only what the controller knows.
   */
  status?(): SourceStatus;
}

export const SOURCE_NAMES = namesOf<Source>()({
  name: 1,
  start: 1,
  waitForSync: 1,
  status: 1,
  idle: 1,
});

/** The state of a source. */
export interface SourceStatus {
  /** Whether the handler has got every object that existed at the start. */
  readonly synced: boolean;
  /** Numbers of events since the start. */
  readonly events: { readonly handled: number; readonly filtered: number; readonly failed: number };
  /** The key of the source's informer in the manager's report. */
  readonly informer?: string;
  /** Why the source does not make progress, for example a kind that is not served. */
  readonly problem?: string;
}
