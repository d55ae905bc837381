/**
 * The event recorder: says in the cluster what a controller did or could not do, in a way that
 * never costs the controller anything. A recorder neither blocks nor throws; what it cannot write
 * is counted, and reported to its logger or through handleError. client-go: tools/events.
 */

import { guardRandom } from '../../base/backoff.ts';
import { type Clock, systemClock, systemWallNow } from '../../base/clock.ts';
import { textOfError } from '../../base/error-text.ts';
import { CapstanError, invalid, requireFunction, requireInteger } from '../../base/errors.ts';
import { handleError } from '../../base/handle-error.ts';
import { qualifiedName } from '../../base/label-rules.ts';
import { guardedLogger, type Logger, requireLogger } from '../../base/logger.ts';
import { namesOf, requireNames, requireSignalOptions } from '../../base/names.ts';
import { abortable } from '../../base/wait.ts';
import type { Writer } from '../types.ts';
import {
  type EventDetails,
  EventNames,
  type EventType,
  formatNote,
  makeEvent,
  type ObjectReference,
  referenceTo,
  requireWord,
  WORD_BYTES,
} from './event.ts';
import { FINISH_MS, SeriesCache } from './series.ts';
import { SpamFilter } from './spam-filter.ts';
import { EventWriter } from './writer.ts';

const SAY_FULL_MS = 60_000;

/** Of {@link newEventRecorder}. */
export interface EventRecorderOptions {
  /** Where Events go. It needs the right to create and patch `events` of `events.k8s.io`. */
  readonly client: Pick<Writer, 'create' | 'patch'>;
  /** Who says so, a qualified name such as `example.com/website-controller`. */
  readonly reportingController: string;
  /**
   * Which one of several, such as `website-controller-<host>`; at most 128 bytes of UTF-8. Default:
   * the controller and eight random digits.
   */
  readonly reportingInstance?: string | undefined;
  /** Events that one source may write about one object at once. Default 25. */
  readonly burst?: number | undefined;
  /** Milliseconds until it may write one more. Default 300 000. */
  readonly refillMs?: number | undefined;
  /**
   * New Events that may wait to be written; one that finds no room is dropped. Series that go on or
   * end need none, nor does what failed or waits in a namespace whose last write failed, of which
   * 4096 may wait. Default 1000.
   */
  readonly maxQueued?: number | undefined;
  /**
   * Its `error` is told of events that are lost, once a minute of those that find no room. Default:
   * the hook of `setErrorHandler` of `capstan/workqueue` is.
   */
  readonly logger?: Logger | undefined;
  readonly clock?: Clock | undefined;
  readonly wallNow?: (() => number) | undefined;
  /** In [0, 1). Default Math.random. */
  readonly random?: (() => number) | undefined;
}

const NAMES = namesOf<EventRecorderOptions>()({
  client: 1,
  reportingController: 1,
  reportingInstance: 1,
  burst: 1,
  refillMs: 1,
  maxQueued: 1,
  logger: 1,
  clock: 1,
  wallNow: 1,
  random: 1,
});
const DETAIL_NAMES = namesOf<EventDetails>()({
  type: 1,
  reason: 1,
  action: 1,
  note: 1,
  related: 1,
  annotations: 1,
});

/** What became of the events so far. */
export interface EventCounts {
  /** Asked for. */
  readonly recorded: number;
  /** Written, as Events or as new counts of series. */
  readonly written: number;
  /** Counted in a series, without a write of their own. */
  readonly aggregated: number;
  /** Left out, as their source says too much about their object. */
  readonly filtered: number;
  /** Not written: refused, given up, without room, or no event at all. */
  readonly lost: number;
}

/** What controllers need of a recorder. */
export interface EventSink {
  event(regarding: object, details: EventDetails): void;
}

/** Made by {@link newEventRecorder}. */
export class EventRecorder implements EventSink {
  readonly #reporter: { readonly reportingController: string; readonly reportingInstance: string };
  readonly #clock: Clock;
  readonly #wallNow: () => number;
  readonly #names: EventNames;
  readonly #filter: SpamFilter;
  readonly #maxQueued: number;
  readonly #writer: EventWriter;
  readonly #series: SeriesCache;
  readonly #logger: Logger | undefined;
  #counts = { recorded: 0, written: 0, aggregated: 0, filtered: 0, lost: 0 };
  #saidFull = Number.NEGATIVE_INFINITY;
  #stopped = false;

  constructor(options: EventRecorderOptions) {
    requireNames('options', options, 'option of an EventRecorder', NAMES);
    const {
      client,
      reportingController,
      burst = 25,
      refillMs = 300_000,
      maxQueued = 1000,
      logger,
    } = options;
    const { clock = systemClock, wallNow = systemWallNow } = options;
    const random = guardRandom(options.random ?? Math.random);
    requireFunction('client.create', client?.create);
    requireFunction('client.patch', client?.patch);
    requireInteger('burst', burst, 1);
    requireInteger('maxQueued', maxQueued, 1);
    if (typeof refillMs !== 'number' || !(refillMs > 0))
      throw invalid('refillMs', 'milliseconds > 0', refillMs);
    if (logger !== undefined) requireLogger('logger', logger);
    // The server refuses other controllers, and with them each event.
    if (typeof reportingController !== 'string' || qualifiedName(reportingController).length > 0)
      throw invalid(
        'reportingController',
        'a qualified name such as "example.com/website-controller"',
        reportingController,
      );
    // A controller's name is in ASCII.
    const { reportingInstance = `${reportingController}-${digits(random)}`.slice(-WORD_BYTES) } =
      options;
    requireWord('reportingInstance', reportingInstance, 'a name');
    this.#reporter = { reportingController, reportingInstance };
    this.#logger = logger && guardedLogger(logger);
    this.#clock = clock;
    this.#wallNow = wallNow;
    this.#names = new EventNames(wallNow, random);
    this.#filter = new SpamFilter(clock, burst, refillMs);
    this.#writer = new EventWriter({
      client,
      clock,
      random,
      onLost: (error) => this.#lost(error),
      onFull: (message, cause) => this.#noRoom(message, cause),
      onWritten: () => {
        this.#counts.written++;
      },
    });
    this.#maxQueued = maxQueued;
    this.#series = new SeriesCache(clock, (entry) => this.#writer.add(entry));
  }

  /**
   * Records that something happened to an object.
   *
   * @param regarding an object with apiVersion and kind, or a reference as {@link objectReference}
   *   makes one
   */
  event(regarding: object, details: EventDetails): void {
    this.#counts.recorded++;
    try {
      this.#record(regarding, details);
    } catch (error) {
      this.#lost(
        new CapstanError('EVENT', `this is no event: ${textOfError(error)}`, { cause: error }),
      );
    }
  }

  /**
   * As client-go's Eventf: the note is a format with %s, %d, %v and %q.
   *
   * @example
   * const tell = (recorder: EventRecorder) =>
   *   recorder.eventf(pod, undefined, 'Warning', 'FailedMount', 'Mounting', 'volume %q: %s', 'data', error);
   */
  eventf(
    regarding: object,
    related: object | undefined,
    type: EventType,
    reason: string,
    action: string,
    note: string,
    ...args: readonly unknown[]
  ): void {
    try {
      const text = typeof note === 'string' ? formatNote(note, args) : note;
      this.event(regarding, {
        type,
        reason,
        action,
        note: text,
        ...(related === undefined ? {} : { related }),
      });
    } catch (error) {
      this.#counts.recorded++;
      this.#lost(new CapstanError('EVENT', 'the note could not be formatted', { cause: error }));
    }
  }

  counts(): EventCounts {
    return { ...this.#counts };
  }

  /**
   * Takes no more events, writes what waits and the last counts of all series, and leaves no timer
   * behind. A write that fails is tried once more, without a pause; a request without an answer has
   * failed after 60 000 ms. Again: no effect but to wait.
   *
   * @throws CapstanError ABORTED when the signal fires first: what is left is given up
   */
  async shutdown(options: { readonly signal?: AbortSignal | undefined } = {}): Promise<void> {
    requireSignalOptions(options, 'shutdown()');
    const { signal } = options;
    if (!this.#stopped) {
      this.#stopped = true;
      this.#series.finishAll();
    }
    const drained = this.#writer.drain();
    if (signal === undefined) return drained;
    try {
      await abortable(drained, signal);
    } catch (error) {
      this.#counts.lost += this.#writer.stop();
      throw error;
    }
  }

  #record(regarding: object, details: EventDetails): void {
    requireNames('details', details, 'member of the details of an event', DETAIL_NAMES);
    const now = this.#wallNow();
    const reference = referenceTo('regarding', regarding);
    if (this.#stopped) throw new CapstanError('STOPPED', 'the recorder was shut down');
    const related = this.#relatedTo(details.related);
    const event = makeEvent(this.#reporter, reference, related, details, now, (name) =>
      this.#names.next(name),
    );
    const { kind, namespace, name, uid, apiVersion } = reference;
    const accepted = () =>
      this.#filter.accept(JSON.stringify([kind, namespace, name, uid, apiVersion, event.type]));
    const entry = this.#series.seenAgain(event, now);
    if (entry === undefined) {
      if (!accepted()) this.#counts.filtered++;
      else if (this.#writer.waitingNew >= this.#maxQueued)
        this.#noRoom(`${this.#maxQueued} events wait to be written: more are dropped`);
      else this.#writer.add(this.#series.add(event, now));
      return;
    }
    // The second one makes it a series, which is written; later ones are only counted, unless the
    // last one is long ago. Where that is too much said, the end of the series tells.
    this.#counts.aggregated++;
    if ((entry.count === 2 || entry.gap >= FINISH_MS) && accepted()) this.#writer.add(entry);
  }

  /** Reported once a minute: a server that is gone would fill the log instead of the queue. */
  #noRoom(message: string, cause?: unknown): void {
    const now = this.#clock.now();
    if (now - this.#saidFull < SAY_FULL_MS) {
      this.#counts.lost++;
      return;
    }
    this.#saidFull = now;
    this.#lost(new CapstanError('EVENT', message, { cause }));
  }

  #lost(error: CapstanError): void {
    this.#counts.lost++;
    this.#report(error);
  }

  #report(error: unknown): void {
    const { reportingController } = this.#reporter;
    if (this.#logger === undefined) handleError(error, 'event recorder');
    else this.#logger.error('event recorder', { reportingController, error });
  }

  /** An event without its second object says more than none. */
  #relatedTo(object: object | undefined): ObjectReference | undefined {
    if (object === undefined) return undefined;
    try {
      return referenceTo('related', object);
    } catch (error) {
      this.#report(error);
      return undefined;
    }
  }
}

function digits(random: () => number): string {
  return Math.floor(random() * 2 ** 32)
    .toString(16)
    .padStart(8, '0');
}

/**
 * A recorder of events (events.k8s.io/v1). Its timers keep a process alive: shut it down.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * async function tell(client: Client): Promise<void> {
 *   const recorder = newEventRecorder({ client, reportingController: 'example.com/website-controller' });
 *   recorder.event(pod, { reason: 'Deployed', action: 'Deploying', note: 'all replicas are ready' });
 *   await recorder.shutdown({ signal });
 * }
 */
export function newEventRecorder(options: EventRecorderOptions): EventRecorder {
  return new EventRecorder(options);
}
