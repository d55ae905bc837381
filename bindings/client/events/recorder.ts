/**
 * The event recorder: writes Events about what a controller did or failed to do. It never blocks
 * and never throws; Events that it cannot write are counted and reported to its logger or through
 * handleError. client-go: tools/events.
 */
/// <reference lib="esnext.disposable" preserve="true" />

import { guardRandom } from '../../base/backoff.ts';
import { type Clock, systemClock, wallNowOf } from '../../base/clock.ts';
import { textOfError } from '../../base/error-text.ts';
import { CapstanError, invalid, requireFunction, requireInteger } from '../../base/errors.ts';
import { handleError } from '../../base/handle-error.ts';
import { qualifiedName } from '../../base/label-rules.ts';
import { guardedLogger, type Logger, requireLogger } from '../../base/logger.ts';
import { namesOf, requireNames, requireSignalOptions } from '../../base/names.ts';
import { abortable } from '../../base/wait.ts';
import type { Writer } from '../types.ts';
import {
  DETAIL_NAMES,
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
import { type EventAPI, FORMS } from './forms.ts';
import { FINISH_MS, SeriesCache } from './series.ts';
import { SpamFilter } from './spam-filter.ts';
import { EventWriter } from './writer.ts';

const SAY_FULL_MS = 60_000;

/** Options of an {@link EventRecorder}. */
export interface EventRecorderOptions {
  /** The client. It needs the permission to create and patch `events` of the group of `api`. */
  readonly client: Pick<Writer, 'create' | 'patch'>;
  /**
   * The API that Events are written to: `'events.k8s.io/v1'`, the default, or `'v1'`, the core
   * group, for tools that read `count` and `lastTimestamp`. A server shows each in both.
   * client-go: tools/events and tools/record.
   */
  readonly api?: EventAPI | undefined;
  /** The reporting controller, a qualified name such as `example.com/website-controller`. */
  readonly reportingController: string;
  /**
   * The reporting instance, such as `website-controller-<host>`; at most 128 bytes of UTF-8.
   * Default: the controller and eight random digits.
   */
  readonly reportingInstance?: string | undefined;
  /** The burst of Events of one source about one object. Default 25. */
  readonly burst?: number | undefined;
  /** Milliseconds until one more is allowed. Default 300 000. */
  readonly refillPeriod?: number | undefined;
  /**
   * The most new Events that wait to be written; more are dropped. Series that continue or end do
   * not count, nor do Events that failed or wait in a namespace whose last write failed, of which
   * 4096 may wait. Default 1000.
   */
  readonly maxQueued?: number | undefined;
  /**
   * Its `error` is called for lost events; for dropped ones at most once a minute. Default: the
   * hook of `setErrorHandler` of `capstan/workqueue`.
   */
  readonly logger?: Logger | undefined;
  readonly clock?: Clock | undefined;
  /** Returns the times of Events, in milliseconds since 1970. Default: the clock's time of day. */
  readonly wallNow?: (() => number) | undefined;
  /** Random numbers in [0, 1). Default Math.random. */
  readonly random?: (() => number) | undefined;
}

const NAMES = namesOf<EventRecorderOptions>()({
  client: 1,
  api: 1,
  reportingController: 1,
  reportingInstance: 1,
  burst: 1,
  refillPeriod: 1,
  maxQueued: 1,
  logger: 1,
  clock: 1,
  wallNow: 1,
  random: 1,
});

/** The counters of a recorder. */
export interface EventCounts {
  /** Calls. */
  readonly recorded: number;
  /** Written, as Events or as new counts of series. */
  readonly written: number;
  /** Counted in a series without a write. */
  readonly aggregated: number;
  /** Suppressed, because their source wrote too much about their object. */
  readonly filtered: number;
  /** Lost: refused, given up, dropped, or invalid. */
  readonly lost: number;
}

/** The recorder interface of controllers. */
export interface EventSink {
  event(regarding: object, details: EventDetails): void;
}

/**
 * Records Events, of events.k8s.io/v1 or core/v1. Its timers keep the process alive: close it.
 * client-go: events.NewEventBroadcaster.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * async function record(client: Client): Promise<void> {
 *   const reportingController = 'example.com/website-controller';
 *   const recorder = new EventRecorder({ client, reportingController });
 *   recorder.event(pod, { reason: 'Deployed', action: 'Deploying', note: 'all are ready' });
 *   await recorder.close({ signal });
 * }
 */
export class EventRecorder implements EventSink, AsyncDisposable {
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
      api = 'events.k8s.io/v1',
      reportingController,
      burst = 25,
      refillPeriod = 300_000,
      maxQueued = 1000,
      logger,
    } = options;
    const { clock = systemClock, wallNow = wallNowOf(clock) } = options;
    const random = guardRandom(options.random ?? Math.random);
    requireFunction('client.create', client?.create);
    requireFunction('client.patch', client?.patch);
    if (!Object.hasOwn(FORMS, api)) throw invalid('options.api', '"events.k8s.io/v1" or "v1"', api);
    requireInteger('burst', burst, 1);
    requireInteger('maxQueued', maxQueued, 1);
    if (typeof refillPeriod !== 'number' || !(refillPeriod > 0))
      throw invalid('refillPeriod', 'milliseconds > 0', refillPeriod);
    if (logger !== undefined) requireLogger('logger', logger);
    // The server refuses other names of controllers, and with them each event.
    if (typeof reportingController !== 'string' || qualifiedName(reportingController).length > 0)
      throw invalid(
        'reportingController',
        'a qualified name such as "example.com/website-controller"',
        reportingController,
      );
    // A controller's name is ASCII.
    const { reportingInstance = `${reportingController}-${digits(random)}`.slice(-WORD_BYTES) } =
      options;
    requireWord('reportingInstance', reportingInstance, 'a name');
    this.#reporter = { reportingController, reportingInstance };
    this.#logger = logger && guardedLogger(logger);
    this.#clock = clock;
    this.#wallNow = wallNow;
    this.#names = new EventNames(wallNow, random);
    this.#filter = new SpamFilter(clock, burst, refillPeriod);
    this.#writer = new EventWriter({
      client,
      form: FORMS[api],
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
   * Records an event of an object.
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
   * Records an event whose note is a format with %s, %d, %v and %q. client-go: Eventf.
   *
   * @example
   * const recordFailure = (recorder: EventRecorder) => {
   *   const note = 'volume %q: %s';
   *   recorder.eventf(pod, undefined, 'Warning', 'FailedMount', 'Mounting', note, 'data', error);
   * };
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
   * Closes the recorder: writes the waiting Events and the last counts of all series, and clears
   * its timers. A failed write is tried once more at once; a request fails after 60 000 ms without
   * an answer. A second call waits for the same end.
   *
   * @throws CapstanError ABORTED when the signal fires first: what is left is given up
   */
  async close(options: { readonly signal?: AbortSignal | undefined } = {}): Promise<void> {
    requireSignalOptions(options, 'close()');
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

  /** The same as `close()`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #record(regarding: object, details: EventDetails): void {
    requireNames('details', details, 'member of the details of an event', DETAIL_NAMES);
    const now = this.#wallNow();
    const reference = referenceTo('regarding', regarding);
    if (this.#stopped) throw new CapstanError('STOPPED', 'the recorder was closed');
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
    // The second occurrence starts a series, which is written. Later ones are counted, and written
    // only after a long time. If the source is suppressed, the end of the series has the count.
    this.#counts.aggregated++;
    if ((entry.count === 2 || entry.gap >= FINISH_MS) && accepted()) this.#writer.add(entry);
  }

  /**
   * Reported once a minute, because with an unreachable server the log would fill instead of the
   * queue.
   */
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

  /** An event without its second object is better than none. */
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
