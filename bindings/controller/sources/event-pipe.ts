/**
 * The way of one source's events: predicates, then the handler, whose requests go on to the
 * controller with what led to them.
 *
 * No event is lost by a user's function: where a predicate throws the event passes, and an event
 * whose handler fails is told again with back-off (told-again.ts); both are reported. After the end
 * nothing is added. Events whose handler is async come one after the other, as their givers wait
 * for the promise. Of an object no more is read than a cause needs, and that only once a handler
 * has added a request. controller-runtime: pkg/internal/source/event_handler.go.
 */

import { calls } from '../../base/calls.ts';
import { type Clock, requireClock, systemClock } from '../../base/clock.ts';
import { CapstanError, invalid } from '../../base/errors.ts';
import { handleError } from '../../base/handle-error.ts';
import type { Logger } from '../../base/logger.ts';
import { namesOf } from '../../base/names.ts';
import type { Request } from '../../base/request.ts';
import { Seldom } from '../../base/seldom.ts';
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

/** What all sources with a handler are given. */
export interface PipeOptions<T> {
  /** Names the requests that an event concerns. */
  handler: EventHandler<T>;
  /** Events that one of them turns away never reach the handler. Default: none. */
  predicates?: readonly Predicate<T>[] | undefined;
  /** In causes, reports and messages. */
  name?: string | undefined;
  /** For the time of causes, and for what a source waits for. Default: the system's. */
  clock?: Clock | undefined;
}

export const PIPE_NAMES = namesOf<PipeOptions<never>>()({
  handler: 1,
  predicates: 1,
  name: 1,
  clock: 1,
});

/** How events of one kind go. */
interface Lane {
  readonly kind: EventKind;
  readonly tests: readonly EventTest[];
  /** The names of the predicates that an event has passed. */
  readonly predicate: string | undefined;
  /** `undefined`: the handler ignores such events. */
  readonly tell: ((event: unknown, queue: HandlerQueue) => unknown) | undefined;
}

/**
 * The handler's promise, where it gives one, for whoever has more events to wait for. It never
 * rejects.
 */
type Told = Promise<void> | undefined;

export class EventPipe<T> {
  readonly name: string;
  readonly clock: Clock;
  /** The controller's, from the start on. */
  logger: Logger | undefined;
  readonly #kind: string | undefined;
  readonly #create: Lane;
  readonly #update: Lane;
  readonly #delete: Lane;
  readonly #generic: Lane;
  /** One event waits for all of the source: those before it say nothing that it does not. */
  readonly #latestOnly: boolean;
  #queue: SourceQueue | undefined;
  /** The queue that the controller gave: says whose calls are under way. */
  #owner: object = this;
  #underWay = 0;
  #idle: ReturnType<typeof deferred> | undefined;
  readonly #seldom: Seldom;
  /** Made when the first handler fails. */
  #again: EventRetries<Lane> | undefined;
  #handled = 0;
  #filtered = 0;
  #failed = 0;

  /**
   * @param kind of the objects, in causes; where it is not given, what they say themselves
   * @param latestOnly of the events whose handler failed the newest alone is told again
   * @throws CapstanError INVALID_ARGUMENT
   */
  constructor(
    options: PipeOptions<T> & { name: string; kind?: string | undefined; latestOnly?: boolean },
  ) {
    const { name, kind, predicates = [], clock = systemClock, latestOnly = false } = options;
    requireSourceName('options.name', name);
    requireClock('options.clock', clock);
    if (!Array.isArray(predicates))
      throw invalid('options.predicates', 'an array of predicates', predicates);
    for (const [i, predicate] of predicates.entries())
      requirePredicate(`options.predicates[${i}]`, predicate);
    const handler = withLowPriorityWhenUnchanged(options.handler);
    this.name = name;
    this.clock = clock;
    this.#kind = kind;
    this.#seldom = new Seldom(clock);
    this.#latestOnly = latestOnly;
    this.#create = lane('create', predicates, handler);
    this.#update = lane('update', predicates, handler);
    this.#delete = lane('delete', predicates, handler);
    this.#generic = lane('generic', predicates, handler);
  }

  /**
   * From now on events are handed on, until the signal fires. @throws CapstanError ALREADY_STARTED
   * the second time
   */
  open({ queue, signal, logger }: SourceStart): void {
    if (this.#queue !== undefined) {
      const advice = 'it belongs to one controller: make another one';
      throw new CapstanError(
        'ALREADY_STARTED',
        `the source "${this.name}" has been started: ${advice}`,
      );
    }
    this.#queue = signal.aborted ? CLOSED : queue;
    this.#owner = queue;
    this.logger = logger;
    const close = (): void => {
      this.#queue = CLOSED;
      this.#again?.stop();
    };
    signal.addEventListener('abort', close, { once: true });
  }

  /** {@link Source.idle} */
  idle(): Promise<void> {
    if (this.#underWay === 0) return Promise.resolve();
    this.#idle ??= deferred();
    return this.#idle.promise;
  }

  events(): { handled: number; filtered: number; failed: number } {
    return { handled: this.#handled, filtered: this.#filtered, failed: this.#failed };
  }

  create(event: CreateEvent<T>): Told {
    return this.#tell(this.#create, event, event.object);
  }

  update(event: UpdateEvent<T>): Told {
    return this.#tell(this.#update, event, event.objectNew);
  }

  delete(event: DeleteEvent<T>): Told {
    return this.#tell(this.#delete, event, event.object);
  }

  /** Unlike the objects of an informer that of such an event may be anything. */
  generic(event: GenericEvent<T>): Told {
    return this.#tell(this.#generic, event, event.object);
  }

  /**
   * Turns notifications of an informer into events. Tombstones are unwrapped; objects without
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

  #tell(lane: Lane, event: unknown, object: unknown): Told {
    if (lane.tell === undefined) {
      this.#filtered++;
      return undefined;
    }
    for (const test of lane.tests) {
      if (this.#passes(lane, test, event, object)) continue;
      this.#filtered++;
      return undefined;
    }
    return this.#handle(lane, event, object, 1);
  }

  /** An event too many is reconciled once for nothing; one too few would be lost. */
  #passes(lane: Lane, test: EventTest, event: unknown, object: unknown): boolean {
    try {
      return test(event);
    } catch (error) {
      this.#seldom.say(lane.kind, (more) => {
        const what = `a predicate failed, ${lane.kind} event of ${describe(object)}`;
        this.report(error, `${what}: the event passes${more}`);
      });
      return true;
    }
  }

  /** @param tries how often the event has been told, with this time */
  #handle(lane: Lane, event: unknown, object: unknown, tries: number): Told {
    calls.push(this.#owner);
    try {
      const result = lane.tell?.(event, new EventQueue(this, lane, object));
      if (isThenable(result)) return this.#settle(lane, event, object, tries, result);
      this.#handled++;
    } catch (error) {
      this.#fail(lane, event, object, tries, error);
    } finally {
      calls.pop();
    }
    return undefined;
  }

  async #settle(
    lane: Lane,
    event: unknown,
    object: unknown,
    tries: number,
    result: PromiseLike<unknown>,
  ): Promise<void> {
    this.#underWay++;
    try {
      await result;
      this.#handled++;
    } catch (error) {
      this.#fail(lane, event, object, tries, error);
    }
    if (--this.#underWay > 0) return;
    this.#idle?.resolve();
    this.#idle = undefined;
  }

  #fail(lane: Lane, event: unknown, object: unknown, tries: number, error: unknown): void {
    this.#failed++;
    this.report(
      error,
      `the handler failed, ${lane.kind} event of ${describe(object)}: ${this.#tellAgain(lane, event, object, tries)}`,
    );
  }

  /** Gives what becomes of the event, for people. */
  #tellAgain(lane: Lane, event: unknown, object: unknown, tries: number): string {
    if (this.#queue === CLOSED) return 'its source has ended';
    this.#again ??= new EventRetries<Lane>(this.clock, (failed) => {
      void this.#handle(failed.lane, failed.event, failed.object, failed.tries + 1);
    });
    try {
      if (this.#again.add(this.#keyOf(object), { lane, event, object, tries }))
        return `it is told again in ${retryDelay(tries)} ms`;
      return 'it is lost, as too many wait to be told again';
    } catch (cause) {
      handleError(cause, `source "${this.name}": the clock`);
      return 'it is lost, as the clock failed';
    }
  }

  #keyOf(object: unknown): string | undefined {
    if (this.#latestOnly) return '';
    const { namespace = '', name } = objectMetadata(object) ?? {};
    return name === undefined ? undefined : `${namespace}/${name}`;
  }

  /** Tells of an error: the logger, else the hook for what nobody receives. */
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

  /** For `EventQueue`. */
  add(options: AddOptions, request: Request, cause: Cause): void {
    this.#queue?.addWithCause(options, request, cause);
  }

  /** Why a request comes: an event of this source, and what it passed and was about. */
  causeOf(kind: EventKind, predicate?: string, object?: unknown): Cause {
    const at = this.clock.now();
    return { kind, source: this.name, object: causeObject(this.#kind, object), predicate, at };
  }
}

const CLOSED: SourceQueue = { addWithCause: () => undefined };
const AS_IT_IS: AddOptions = Object.freeze({});

/**
 * What a handler adds to while it is told of one event, and later, should it be async. The cause is
 * made when the first request is.
 */
class EventQueue<T> implements HandlerQueue {
  readonly #pipe: EventPipe<T>;
  readonly #lane: Lane;
  readonly #object: unknown;
  #cause: Cause | undefined;

  constructor(pipe: EventPipe<T>, lane: Lane, object: unknown) {
    this.#pipe = pipe;
    this.#lane = lane;
    this.#object = object;
  }

  add(request: Request): void {
    this.#add(AS_IT_IS, request);
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
    this.#cause ??= this.#pipe.causeOf(this.#lane.kind, this.#lane.predicate, this.#object);
    this.#pipe.add(options, request, this.#cause);
  }
}

function lane<T>(
  kind: EventKind,
  predicates: readonly Predicate<T>[],
  handler: EventHandler<T>,
): Lane {
  const asked = predicates.filter((predicate) => predicate[kind] !== undefined);
  const tests = asked.flatMap((predicate) => testOf(predicate, kind) ?? []);
  const predicate = asked.length === 0 ? undefined : asked.map(predicateName).join(', ');
  return { kind, tests, predicate, tell: handler[kind]?.bind(handler) as Lane['tell'] };
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
