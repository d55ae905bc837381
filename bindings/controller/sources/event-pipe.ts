/**
 * The event pipe of a source: it passes each event through the predicates to the handler, and adds
 * the handler's requests to the controller's queue with their cause. controller-runtime:
 * pkg/internal/source/event_handler.go.
 *
 * - No event is lost by an error in user code: if a predicate throws, the event passes; if the
 *   handler fails, the event is retried with back-off (event-retries.ts). Both are reported.
 * - After the end of the source nothing is added.
 * - The source waits for the promise of an async handler before its next event.
 * - Of an object only what a cause needs is read, and only when the handler adds a request.
 */

import { calls } from '../../base/calls.ts';
import { type Clock, requireClock, systemClock } from '../../base/clock.ts';
import { CapstanError, invalid } from '../../base/errors.ts';
import { handleError, Seldom } from '../../base/handle-error.ts';
import type { Logger } from '../../base/logger.ts';
import { namesOf } from '../../base/names.ts';
import type { Request } from '../../base/request.ts';
import { deferred, isThenable } from '../../base/wait.ts';
import type { Change } from '../../cache/bytes/change.ts';
import type { ResourceEventHandler } from '../../cache/informer/handler.ts';
import {
  type DeletedFinalStateUnknown,
  isTombstone,
  splitMetaNamespaceKey,
} from '../../cache/rest/keys.ts';
import type { AddOptions } from '../../workqueue/index.ts';
import { withLowPriorityWhenUnchanged } from '../handlers.ts';
import { causeObject, hasMetadata, objectMetadata } from '../metadata.ts';
import {
  type EventKind,
  type EventTest,
  predicateName,
  requirePredicate,
  testOf,
} from '../predicates.ts';
import { PLAIN_ADD } from '../request-queue.ts';
import type {
  Cause,
  CreateEvent,
  DeleteEvent,
  EventHandler,
  GenericEvent,
  HandlerQueue,
  Predicate,
  SourceQueue,
  SourceStart,
  UpdateEvent,
} from '../source.ts';
import { EventRetries, retryDelay } from './event-retries.ts';

/** Options of all sources with a handler. */
export interface PipeOptions<T, R = Request> {
  /** Maps an event to requests. */
  handler: EventHandler<T, R>;
  /** The handler gets only events that all predicates pass. Default: none. */
  predicates?: readonly Predicate<T>[] | undefined;
  /** Shown in causes, reports and messages. */
  name?: string | undefined;
  /** For the time of causes and the waits of the source. Default: the system's monotonic clock. */
  clock?: Clock | undefined;
}

export const PIPE_NAMES = namesOf<PipeOptions<never>>()({
  handler: 1,
  predicates: 1,
  name: 1,
  clock: 1,
});

/** The predicates and the handler's method for one kind of event. */
interface EventRoute {
  readonly kind: EventKind;
  readonly tests: readonly EventTest[];
  /** The names of the predicates, for causes. */
  readonly predicate: string | undefined;
  /** `undefined` if the handler ignores this kind of event. */
  readonly handle: ((event: unknown, queue: HandlerQueue) => unknown) | undefined;
}

/** The promise of an async handler, for sources that wait for it. Never rejects. */
type HandlerResult = Promise<void> | undefined;

export class EventPipe<T> {
  readonly name: string;
  readonly clock: Clock;
  /** The controller's logger, set at the start. */
  logger: Logger | undefined;
  readonly #kind: string | undefined;
  readonly #create: EventRoute;
  readonly #update: EventRoute;
  readonly #delete: EventRoute;
  readonly #generic: EventRoute;
  /** Retries only the newest event of the source; it replaces earlier ones. */
  readonly #latestOnly: boolean;
  #queue: SourceQueue | undefined;
  /** The controller's queue. It identifies the source in the list of running calls. */
  #owner: object = this;
  #running = 0;
  #idle: ReturnType<typeof deferred> | undefined;
  readonly #seldom: Seldom;
  /** Made when a handler fails for the first time. */
  #retries: EventRetries<EventRoute> | undefined;
  #handled = 0;
  #filtered = 0;
  #failed = 0;

  /**
   * @param kind of the objects, for causes; default: the `kind` member of each object
   * @param latestOnly retries only the newest event whose handler failed
   * @throws CapstanError INVALID_ARGUMENT
   */
  constructor(
    options: PipeOptions<T, unknown> & {
      name: string;
      kind?: string | undefined;
      latestOnly?: boolean;
    },
  ) {
    const { name, kind, predicates = [], clock = systemClock, latestOnly = false } = options;
    requireSourceName('options.name', name);
    requireClock('options.clock', clock);
    if (!Array.isArray(predicates))
      throw invalid('options.predicates', 'an array of predicates', predicates);
    for (const [i, predicate] of predicates.entries())
      requirePredicate(`options.predicates[${i}]`, predicate);
    // of whatever type its requests are, they go to the queue as they come
    const handler = withLowPriorityWhenUnchanged(options.handler as EventHandler<T>);
    this.name = name;
    this.clock = clock;
    this.#kind = kind;
    this.#seldom = new Seldom(clock);
    this.#latestOnly = latestOnly;
    this.#create = routeOf('create', predicates, handler);
    this.#update = routeOf('update', predicates, handler);
    this.#delete = routeOf('delete', predicates, handler);
    this.#generic = routeOf('generic', predicates, handler);
  }

  /**
   * Handles events from now on, until the signal fires.
   *
   * @param owner identifies the source in the list of running calls
   * @throws CapstanError ALREADY_STARTED on a second call
   */
  open({ queue, signal, logger }: SourceStart, owner: object = queue): void {
    if (this.#queue !== undefined) {
      const advice = 'it belongs to one controller: make another one';
      throw new CapstanError(
        'ALREADY_STARTED',
        `the source "${this.name}" has been started: ${advice}`,
      );
    }
    this.#queue = signal.aborted ? CLOSED : queue;
    this.#owner = owner;
    this.logger = logger;
    const close = (): void => {
      this.#queue = CLOSED;
      this.#retries?.stop();
    };
    signal.addEventListener('abort', close, { once: true });
  }

  /** {@link Source.idle} */
  idle(): Promise<void> {
    if (this.#running === 0) return Promise.resolve();
    this.#idle ??= deferred();
    return this.#idle.promise;
  }

  events(): { handled: number; filtered: number; failed: number } {
    return { handled: this.#handled, filtered: this.#filtered, failed: this.#failed };
  }

  create(event: CreateEvent<T>): HandlerResult {
    return this.#dispatch(this.#create, event, event.object);
  }

  update(event: UpdateEvent<T>): HandlerResult {
    return this.#dispatch(this.#update, event, event.objectNew);
  }

  delete(event: DeleteEvent<T>): HandlerResult {
    return this.#dispatch(this.#delete, event, event.object);
  }

  /** The object may be of any type. */
  generic(event: GenericEvent<T>): HandlerResult {
    return this.#dispatch(this.#generic, event, event.object);
  }

  /**
   * Turns an informer's notifications into events. Tombstones are unwrapped; objects without
   * metadata are reported and dropped.
   */
  informerHandler(): ResourceEventHandler<T> {
    return {
      onAdd: (object, isInInitialList) =>
        this.#hasMetadata('create', object) ? this.create({ object, isInInitialList }) : undefined,
      onUpdate: (objectOld, objectNew, change: Change) =>
        this.#hasMetadata('update', objectOld) && this.#hasMetadata('update', objectNew)
          ? this.update({ objectOld, objectNew, change })
          : undefined,
      onDelete: (told) => {
        const deleteStateUnknown = isTombstone(told);
        const object = deleteStateUnknown ? this.#lastState(told) : told;
        return this.#hasMetadata('delete', object)
          ? this.delete({ object, deleteStateUnknown })
          : undefined;
      },
    };
  }

  #dispatch(route: EventRoute, event: unknown, object: unknown): HandlerResult {
    if (route.handle === undefined) {
      this.#filtered++;
      return undefined;
    }
    for (const test of route.tests) {
      if (this.#passes(route, test, event, object)) continue;
      this.#filtered++;
      return undefined;
    }
    return this.#handle(route, event, object, 1);
  }

  /**
   * If a predicate throws, the event passes: a needless reconcile does no harm, a lost event does.
   */
  #passes(route: EventRoute, test: EventTest, event: unknown, object: unknown): boolean {
    try {
      return test(event);
    } catch (error) {
      this.#seldom.say(route.kind, (more) => {
        const what = `a predicate failed, ${route.kind} event of ${describe(object)}`;
        this.report(error, `${what}: the event passes${more}`);
      });
      return true;
    }
  }

  /** @param tries the number of times that the event was handled, this time included */
  #handle(route: EventRoute, event: unknown, object: unknown, tries: number): HandlerResult {
    calls.push(this.#owner);
    try {
      const result = route.handle?.(event, new EventQueue(this, route, object));
      if (isThenable(result)) return this.#settle(route, event, object, tries, result);
      this.#handled++;
    } catch (error) {
      this.#fail(route, event, object, tries, error);
    } finally {
      calls.pop();
    }
    return undefined;
  }

  async #settle(
    route: EventRoute,
    event: unknown,
    object: unknown,
    tries: number,
    result: PromiseLike<unknown>,
  ): Promise<void> {
    this.#running++;
    try {
      await result;
      this.#handled++;
    } catch (error) {
      this.#fail(route, event, object, tries, error);
    }
    if (--this.#running > 0) return;
    this.#idle?.resolve();
    this.#idle = undefined;
  }

  #fail(route: EventRoute, event: unknown, object: unknown, tries: number, error: unknown): void {
    this.#failed++;
    const next = this.#retry(route, event, object, tries);
    this.report(error, `the handler failed, ${route.kind} event of ${describe(object)}: ${next}`);
  }

  /** Returns what happens to the event, for the error report. */
  #retry(route: EventRoute, event: unknown, object: unknown, tries: number): string {
    if (this.#queue === CLOSED) return 'its source has ended';
    this.#retries ??= new EventRetries<EventRoute>(this.clock, (failed) => {
      void this.#handle(failed.route, failed.event, failed.object, failed.tries + 1);
    });
    try {
      if (this.#retries.add(this.#keyOf(object), { route, event, object, tries }))
        return `it is retried in ${retryDelay(tries)} ms`;
      return 'it is dropped, because too many events wait for a retry';
    } catch (cause) {
      handleError(cause, `source "${this.name}": the clock`);
      return 'it is dropped, because the clock failed';
    }
  }

  #keyOf(object: unknown): string | undefined {
    if (this.#latestOnly) return '';
    const { namespace = '', name } = objectMetadata(object) ?? {};
    return name === undefined ? undefined : `${namespace}/${name}`;
  }

  /** Logs an error; without a logger, reports it to the error handler. */
  report(error: unknown, what: string): void {
    const where = `source "${this.name}": ${what}`;
    if (this.logger === undefined) handleError(error, where);
    else this.logger.error(where, { error });
  }

  #lastState({ key, obj }: DeletedFinalStateUnknown<T>): T {
    return obj === undefined ? ({ metadata: splitMetaNamespaceKey(key) } as T) : obj;
  }

  #hasMetadata(kind: EventKind, object: unknown): boolean {
    if (hasMetadata(object)) return true;
    this.#failed++;
    this.report(invalid('object', 'an object with metadata', object), `${kind} event`);
    return false;
  }

  /** Called by `EventQueue`. */
  add(options: AddOptions, request: Request, cause: Cause): void {
    this.#queue?.addWithCause(options, request, cause);
  }

  /** The cause of a request: the event, its source, the predicates and the object. */
  causeOf(kind: EventKind, predicate?: string, object?: unknown): Cause {
    const at = this.clock.now();
    return { kind, source: this.name, object: causeObject(this.#kind, object), predicate, at };
  }
}

const CLOSED: SourceQueue = { addWithCause: () => undefined };

/**
 * The queue that a handler gets with one event; an async handler may use it later. The cause is
 * made with the first request.
 */
class EventQueue<T> implements HandlerQueue {
  readonly #pipe: EventPipe<T>;
  readonly #route: EventRoute;
  readonly #object: unknown;
  #cause: Cause | undefined;

  constructor(pipe: EventPipe<T>, route: EventRoute, object: unknown) {
    this.#pipe = pipe;
    this.#route = route;
    this.#object = object;
  }

  add(request: Request): void {
    this.#add(PLAIN_ADD, request);
  }

  addAfter(request: Request, ms: number): void {
    this.#add({ after: ms }, request);
  }

  addRateLimited(request: Request): void {
    this.#add({ rateLimited: true }, request);
  }

  addWithOpts(options: AddOptions, ...requests: Request[]): void {
    for (const request of requests) this.#add(options, request);
  }

  #add(options: AddOptions, request: Request): void {
    this.#cause ??= this.#pipe.causeOf(this.#route.kind, this.#route.predicate, this.#object);
    this.#pipe.add(options, request, this.#cause);
  }
}

function routeOf<T>(
  kind: EventKind,
  predicates: readonly Predicate<T>[],
  handler: EventHandler<T>,
): EventRoute {
  const asked = predicates.filter((predicate) => predicate[kind] !== undefined);
  const tests = asked.flatMap((predicate) => testOf(predicate, kind) ?? []);
  const predicate = asked.length === 0 ? undefined : asked.map(predicateName).join(', ');
  return { kind, tests, predicate, handle: handler[kind]?.bind(handler) as EventRoute['handle'] };
}

function describe(object: unknown): string {
  const { namespace = '', name } = objectMetadata(object) ?? {};
  return name === undefined ? 'an object without a name' : `${namespace}/${name}`;
}

/** Throws CapstanError INVALID_ARGUMENT. */
export function requireSourceName(what: string, name: unknown): void {
  if (typeof name !== 'string' || name === '')
    throw invalid(what, 'a string that is not empty', name);
}
