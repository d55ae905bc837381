/**
 * The reflector: list, watch, resume, relist. It keeps a store equal to the server's objects and
 * never gives up; only its signal ends it. A state and one `step` say all of the protocol;
 * client-go: tools/cache/reflector.go ListAndWatchWithContext. Never lists older than what was
 * already seen: a relist asks for at least the last version, and for the newest ("") only after the
 * server said that it is gone or still to come. Events are applied as they come, in their order: a
 * version that was there before, or an older one, is not held back (versions are opaque here). A
 * server that was restored from an older backup sends nothing to a watch from a version that it has
 * not reached: after a silence it is asked whether it has.
 */

import { Backoff, guardRandom, RetryWithDeadline } from '../../base/backoff.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import { CapstanError, hasCode } from '../../base/errors.ts';
import { handleError, tell } from '../../base/handle-error.ts';
import { requireSignalOptions } from '../../base/names.ts';
import { abortable, sleep, TimeSlice } from '../../base/wait.ts';
import { type Decoder, jsonDecoder } from '../decode/decoder.ts';
import { type Caller, goesOn, isConnectionReset, isLongWait } from '../rest/rest.ts';
import {
  isExpired,
  isInternalError,
  isNotFound,
  isStatusError,
  isTooLargeResourceVersion,
  isTooManyRequests,
} from '../rest/status-error.ts';
import { connectionLoss } from '../rest/transport.ts';
import { LIST_IDLE_MS, type ListWatch } from './list-watch.ts';
import { fetchPages, type ListQuery, PAGE_SIZE } from './pager.ts';
import {
  isBusy,
  isWorthReporting,
  VERY_SHORT_WATCH_MS,
  VeryShortWatch,
} from './reflector-errors.ts';
import {
  type ReflectorOptions,
  type ReflectorStore,
  requireReflectorOptions,
  WATCH_LIST_BY_DEFAULT,
} from './reflector-options.ts';
import { ResyncTimer } from './resync-timer.ts';
import {
  classOf,
  FailureLog,
  type NextStep,
  type ReflectorState,
  type ReflectorStatus,
  type WatchErrorHandler,
  type WatchFailure,
} from './status.ts';
import { readInitialObjects } from './watch-list.ts';
import { MIN_WATCH_SECONDS, type WatchFrame, WatchStream, watchSeconds } from './watch-stream.ts';

export type { ReflectorOptions, ReflectorStore } from './reflector-options.ts';

/**
 * Streams of initial objects that end early, and watches that do with nothing new, are asked for
 * again at once, as in client-go; after this many in a row the objects are listed, and watches are
 * opened with back-off.
 */
const MAX_HASTY = 3;

/**
 * Where the connection was lost and the next watch hears nothing for so long, the server is asked
 * whether it has reached the version: one that was restored from an older backup has not, and would
 * send only what happens from that version on.
 */
const DOUBT_MS = 10_000;

/** What to do next, and after how long. */
interface Step {
  do: 'begin' | 'stream' | 'list' | 'watch';
  afterMs: number;
}

/**
 * Mirrors what a ListWatch gives into a store.
 *
 * @example
 * const store = new Indexer<V1Pod>();
 * const reflector = new Reflector(new ListWatch(transport, Pod), store);
 * await reflector.run({ signal }); // resolves when the signal has fired
 */
export class Reflector<T extends object, I extends string = never> {
  readonly #listWatch: ListWatch<T, I>;
  readonly #store: ReflectorStore<T>;
  readonly #decoder: Decoder<T>;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #options: ReflectorOptions<NoInfer<T>>;
  readonly #resync: ResyncTimer;
  readonly #onError: WatchErrorHandler;
  readonly #backoff: Backoff;
  readonly #failures = new FailureLog();
  #internalErrors: RetryWithDeadline | undefined;
  #state: ReflectorState = 'stopped';
  #lastVersion = '';
  /** The last version is gone from the server's window, or the server is not there yet. */
  #versionUnavailable = false;
  /**
   * The first list came in pages, so the server has no watch cache to answer unpaged lists from.
   */
  #paged = false;
  /** A connection was lost or refused since the last list: the server may be another one by now. */
  #wasAway = false;
  /** The store has once been equal to the server's objects. */
  #synced = false;
  /** The server has said that the resource is gone, and the store has been emptied. */
  #parked = false;
  #hasty = 0;
  /** The initial objects are asked for as a stream. */
  #streams: boolean;
  /** The stream of the initial objects, which goes on as the first watch. */
  #stream: WatchStream<T> | undefined;
  #skipped = 0;
  #relists = 0;
  #watches = 0;
  #lastByteAt: number | undefined;

  /** @throws CapstanError INVALID_ARGUMENT */
  constructor(
    listWatch: ListWatch<T, I>,
    store: ReflectorStore<NoInfer<T>>,
    options: ReflectorOptions<NoInfer<T>> = {},
  ) {
    requireReflectorOptions(options);
    const {
      clock = systemClock,
      random = Math.random,
      resyncPeriod = 0,
      watchErrorHandler,
    } = options;
    this.#listWatch = listWatch;
    this.#store = store;
    this.#decoder = options.decoder ?? jsonDecoder(listWatch.expected);
    this.#clock = clock;
    this.#random = guardRandom(random);
    this.#options = options;
    const period = typeof resyncPeriod === 'function' ? resyncPeriod : () => resyncPeriod;
    this.#resync = new ResyncTimer(clock, period, () => {
      if (options.shouldResync?.() ?? true) store.resync?.();
    });
    this.#onError = watchErrorHandler ?? ((error, failure) => this.#report(error, failure));
    this.#backoff = new Backoff(clock, this.#random, options.backoff);
    this.#streams = options.watchList ?? WATCH_LIST_BY_DEFAULT;
  }

  /** The version of the last list, event or bookmark that was taken over; "" before the first. */
  lastSyncResourceVersion(): string {
    return this.#lastVersion;
  }

  /**
   * How many watch events carried an object of another kind and were left out. Each was also
   * reported.
   */
  skippedEvents(): number {
    return this.#skipped;
  }

  status(): ReflectorStatus {
    const now = this.#clock.now();
    return {
      state:
        this.#state !== 'stopped' && this.#failures.repeatsLater(now) ? 'waiting' : this.#state,
      lastSyncResourceVersion: this.#lastVersion,
      lastSignOfLife: this.#lastByteAt === undefined ? undefined : now - this.#lastByteAt,
      relists: this.#relists,
      watches: this.#watches,
      skippedEvents: this.#skipped,
      ...this.#failures.report(now),
    };
  }

  /**
   * Lists and watches until the signal fires, then resolves. Never rejects because of the server.
   *
   * @throws CapstanError ALREADY_STARTED while it runs
   */
  async run(options: { signal?: AbortSignal | undefined } = {}): Promise<void> {
    requireSignalOptions(options, 'run()');
    if (this.#state !== 'stopped')
      throw new CapstanError('ALREADY_STARTED', 'this reflector is running already');
    this.#state = 'waiting';
    const signal = options.signal ?? new AbortController().signal;
    try {
      for (let step: Step = now('begin'); !signal.aborted; ) {
        if (step.do === 'begin') this.#endRound();
        if (step.afterMs > 0) {
          this.#state = this.#parked ? 'parked' : 'waiting';
          await sleep(this.#clock, step.afterMs, signal);
          if (signal.aborted) return;
        }
        step = await this.#step(step.do, signal);
      }
    } finally {
      this.#endRound();
      this.#state = 'stopped';
    }
  }

  #step(what: Step['do'], signal: AbortSignal): Promise<Step> | Step {
    switch (what) {
      case 'begin':
        this.#internalErrors = new RetryWithDeadline(
          this.#clock,
          this.#options.maxInternalErrorRetryDuration ?? 0,
        );
        if (this.#synced) this.#relists++;
        return now(this.#streams && !this.#parked ? 'stream' : 'list');
      case 'stream':
        this.#state = 'streaming';
        return this.#gather(() => this.#streamInitialObjects(signal));
      case 'list':
        this.#state = 'listing';
        return this.#gather(() => this.#list(signal));
      case 'watch':
        if (this.#state !== 'waiting') this.#state = 'watching'; // else when it is open
        return this.#watch(signal);
    }
  }

  /** All objects are being collected, which may take many answers and fail at any of them. */
  async #gather(run: () => Promise<Step>): Promise<Step> {
    this.#decoder.gather?.(true);
    try {
      return await run();
    } finally {
      this.#decoder.gather?.(false);
    }
  }

  #endRound(): void {
    this.#resync.stop();
    this.#stream?.close();
    this.#stream = undefined;
  }

  /** client-go: reflector.go watchList. */
  async #streamInitialObjects(signal: AbortSignal): Promise<Step> {
    const started = this.#clock.now();
    let stream: WatchStream<T> | undefined;
    try {
      stream = await this.#openStream(signal);
      const initial = await readInitialObjects(stream, {
        clock: this.#clock,
        signal,
        describe: this.#listWatch.describe(),
        accepts: (frame) => this.#accepts(frame),
        forget: (object) => this.#decoder.forget?.(object),
      });
      if (typeof initial !== 'number') {
        this.#takeOver(initial.objects, initial.resourceVersion);
        this.#stream = stream;
        stream = undefined;
        return now('watch');
      }
      if (signal.aborted) return now('begin');
      if (initial === 0 && this.#clock.now() - started < VERY_SHORT_WATCH_MS)
        throw new VeryShortWatch(this.#listWatch.describe(), stream.lost);
      return this.#streamAgain(
        stream.lost ?? new VeryShortWatch(this.#listWatch.describe(), undefined),
      );
    } catch (error) {
      if (signal.aborted) return now('begin');
      if (isConnectionReset(error)) return this.#streamAgain(error); // in spite of all repeats
      if (isBusy(error) || classOf(error) === 'full')
        return this.#failed(error, 'relist', this.#later('stream'));
      if (!isExpired(error) && !isTooLargeResourceVersion(error)) {
        // It took a while to find out that this server does not end its streams: not again.
        if (hasCode(error, 'TIMEOUT')) return this.#listInstead(error);
        return this.#failed(error, 'list', now('list'));
      }
      // A server to which even the newest is expired is asked with back-off (client-go: at once,
      // without end).
      const again = this.#versionUnavailable ? this.#later('stream') : now('stream');
      this.#versionUnavailable = true;
      if (++this.#hasty > MAX_HASTY) return this.#listInstead(error);
      return this.#failed(error, 'relist from newest', again);
    } finally {
      stream?.close();
    }
  }

  /** After a stream that ended before its bookmark, however far it had come. */
  #streamAgain(why: unknown): Step {
    return ++this.#hasty > MAX_HASTY
      ? this.#listInstead(why)
      : this.#failed(why, 'relist', now('stream'));
  }

  /**
   * After streams that came to nothing. Where the server itself ended them, or sent no end, it has
   * none to give, and is not asked for one again; a connection that was lost proves nothing of it.
   */
  #listInstead(why: unknown): Step {
    if (connectionLoss(why) === undefined) this.#streams = false;
    return this.#failed(why, 'list', now('list'));
  }

  /**
   * Rejects with TIMEOUT where nothing is answered for as long as a list may take: a proxy that
   * passes a body on when it is complete would never pass one on.
   */
  async #openStream(signal: AbortSignal): Promise<WatchStream<T>> {
    const late = new AbortController();
    const caller = this.#caller(AbortSignal.any([signal, late.signal]));
    let timer: unknown;
    const wait = (ms: number): void => {
      this.#clock.clearTimer(timer);
      timer = this.#clock.setTimer(() => late.abort(), ms + LIST_IDLE_MS);
    };
    wait(0);
    const { onRepeat } = caller;
    caller.onRepeat = (error, afterMs) => {
      if (isStatusError(error)) wait(afterMs); // an answer
      onRepeat?.(error, afterMs);
    };
    try {
      const version = this.#versionUnavailable ? '' : this.#lastVersion;
      return await this.#openWatch(version, caller, true);
    } catch (cause) {
      if (!late.signal.aborted || signal.aborted) throw cause;
      const what = `the server did not begin the initial events of ${this.#listWatch.describe()}`;
      throw new CapstanError('TIMEOUT', `${what} within ${LIST_IDLE_MS / 1000} s`, { cause });
    } finally {
      this.#clock.clearTimer(timer);
    }
  }

  /** client-go: reflector.go list. */
  async #list(signal: AbortSignal): Promise<Step> {
    const caller = this.#caller(signal);
    const page = (query: ListQuery) => this.#listWatch.list(query, caller, this.#decoder.page());
    const asked = this.#relistVersion();
    // With a version, an unpaged list comes from the watch cache; a limit would make it an etcd
    // read.
    const limit =
      this.#options.watchListPageSize ||
      (this.#paged || asked === '' || asked === '0' ? PAGE_SIZE : 0);
    const listAgain = (error: unknown, next: NextStep = 'full list'): void => {
      this.#decoder.gather?.(true);
      this.#tell(error, next, 0);
    };
    try {
      let list: Awaited<ReturnType<typeof fetchPages<T>>>;
      try {
        list = await fetchPages(page, asked, limit, listAgain);
      } catch (error) {
        if (signal.aborted || (!isExpired(error) && !isTooLargeResourceVersion(error))) throw error;
        listAgain(error, 'relist from newest');
        this.#versionUnavailable = true;
        list = await fetchPages(page, this.#relistVersion(), limit, listAgain);
      }
      if (asked === '0' && list.paged) this.#paged = true;
      this.#takeOver(list.items, list.resourceVersion);
      return now('watch');
    } catch (error) {
      const gone = await this.#isGone(error, caller);
      if (signal.aborted) return now('begin');
      if (!gone) return this.#failed(error, 'relist', this.#later('begin'));
      const step = this.#failed(error, 'park', this.#later('begin'));
      this.#park();
      return step;
    }
  }

  /** client-go: reflector.go relistResourceVersion. */
  #relistVersion(): string {
    if (this.#versionUnavailable) return '';
    return this.#lastVersion === '' ? '0' : this.#lastVersion;
  }

  /**
   * Who never saw the resource waits for it like for any other; who is parked needs no second
   * proof.
   */
  async #isGone(error: unknown, caller: Caller): Promise<boolean> {
    if (!this.#synced || !(this.#options.parkWhenGone ?? true)) return false;
    return this.#parked ? isNotFound(error) : this.#listWatch.isGone(error, caller);
  }

  /** The version is kept: what comes back must not be older than what was seen. */
  #park(): void {
    if (!this.#parked) this.#store.replace([], this.#lastVersion);
    this.#parked = true;
  }

  #takeOver(objects: T[], resourceVersion: string): void {
    try {
      this.#store.replace(objects, resourceVersion);
    } catch (error) {
      const what = `the store did not take a list of ${this.#listWatch.describe()}`;
      throw new CapstanError('DECODE', what, { cause: error });
    }
    this.#lastVersion = resourceVersion;
    this.#versionUnavailable = false;
    this.#synced = true;
    this.#wasAway = false;
    this.#parked = false;
    this.#hasty = 0;
    this.#resync.start();
  }

  /**
   * One watch from the last version to its end. client-go: reflector.go watch and handleAnyWatch.
   */
  async #watch(signal: AbortSignal): Promise<Step> {
    // Before the request: some proxies flush no header until the first event.
    const started = this.#clock.now();
    let stream = this.#stream;
    this.#stream = undefined;
    // A watch from "" or "0" begins with ADDED events in no order of versions: until another event
    // comes, none is safe to resume from.
    const inOrder = stream !== undefined || (this.#lastVersion !== '' && this.#lastVersion !== '0');
    try {
      stream ??= await this.#openWatch(this.#lastVersion, this.#caller(signal), false);
    } catch (error) {
      if (signal.aborted) return now('begin');
      if (connectionLoss(error) !== undefined) this.#wasAway = true;
      // in spite of all repeats
      if (isConnectionReset(error)) return this.#failed(error, 'rewatch', now('watch'));
      if (isBusy(error)) return this.#failed(error, 'rewatch', this.#later('watch'));
      return this.#failed(error, 'relist', this.#later('begin'));
    }
    const doubt = this.#wasAway && inOrder ? this.#askWhenQuiet(stream, signal) : undefined;
    this.#wasAway = false;
    try {
      const before = this.#lastVersion;
      const events = await this.#follow(stream, inOrder, signal).finally(() =>
        this.#clock.clearTimer(doubt),
      );
      if (signal.aborted) return now('begin');
      if (this.#lastVersion !== before || this.#clock.now() - started >= VERY_SHORT_WATCH_MS)
        this.#hasty = 0;
      else {
        const short = new VeryShortWatch(this.#listWatch.describe(), stream.lost);
        if (events === 0) throw short;
        if (++this.#hasty > MAX_HASTY) return this.#failed(short, 'rewatch', this.#later('watch'));
      }
      if (stream.lost === undefined) return now('watch');
      if (isTooLargeResourceVersion(stream.lost)) return this.#fromNewest(stream.lost);
      this.#wasAway = true;
      const again = this.#failed(stream.lost, 'rewatch', now('watch'));
      const behind =
        stream.silent && (await this.#listWatch.behind(this.#lastVersion, this.#caller(signal)));
      return behind ? this.#fromNewest(behind) : again;
    } catch (error) {
      if (isTooManyRequests(error)) return this.#failed(error, 'rewatch', this.#later('watch'));
      if (isInternalError(error) && this.#internalErrors?.again())
        return this.#failed(error, 'rewatch', now('watch'));
      return this.#failed(error, 'relist', this.#later('begin'));
    } finally {
      stream.close();
    }
  }

  /** @returns the timer */
  #askWhenQuiet(stream: WatchStream<T>, signal: AbortSignal): unknown {
    const openedAt = this.#lastByteAt;
    const isQuiet = (): boolean => this.#lastByteAt === openedAt;
    const ask = async (): Promise<void> => {
      if (!isQuiet()) return;
      const behind = await this.#listWatch.behind(this.#lastVersion, {
        clock: this.#clock,
        signal,
      });
      if (behind !== undefined && isQuiet()) stream.lose(behind);
    };
    return this.#clock.setTimer(() => void ask(), DOUBT_MS);
  }

  #fromNewest(why: unknown): Step {
    this.#versionUnavailable = true;
    return this.#failed(why, 'relist from newest', now('begin'));
  }

  /**
   * Takes over event after event; resolves with their number when the stream ends. Rejects as
   * {@link WatchStream.take} does.
   */
  async #follow(stream: WatchStream<T>, inOrder: boolean, signal: AbortSignal): Promise<number> {
    const slice = new TimeSlice(this.#clock);
    let events = 0;
    do {
      slice.start();
      for (let frame = stream.take(); frame !== undefined; frame = stream.take()) {
        if (this.#accepts(frame)) {
          this.#apply(frame);
          events++;
          if (frame.type !== 'ADDED') inOrder = true;
          // Without a version (some aggregated servers) the last one stays good: from there events
          // come again, but none is missed.
          if (inOrder && frame.resourceVersion !== '') this.#lastVersion = frame.resourceVersion;
        }
        if (slice.over())
          await abortable(slice.yield(this.#store.behind?.()), signal).catch(() => undefined);
        if (signal.aborted) return events;
      }
      const behind = this.#store.behind?.(); // chunks may be too short for the slice to be over
      if (behind !== undefined) await abortable(behind, signal).catch(() => undefined);
    } while (await stream.more());
    return events;
  }

  /** False for an event that is left out. */
  #accepts(frame: WatchFrame<T>): frame is Exclude<WatchFrame<T>, { type: 'foreign' }> {
    if (frame.type !== 'foreign') return true;
    this.#skipped++;
    const what = `a watch of ${this.#listWatch.describe()} sent a ${frame.apiVersion} ${frame.kind}`;
    handleError(new CapstanError('DECODE', what), 'reflector');
    return false;
  }

  #apply(frame: Exclude<WatchFrame<T>, { type: 'foreign' }>): void {
    try {
      if (frame.type === 'ADDED') this.#store.add(frame.object);
      else if (frame.type === 'MODIFIED') this.#store.update(frame.object);
      else if (frame.type === 'DELETED') this.#store.delete(frame.object);
      else this.#store.bookmark?.(frame.resourceVersion);
    } catch (error) {
      handleError(error, 'reflector store');
    }
  }

  async #openWatch(
    resourceVersion: string,
    caller: Caller,
    sendInitialEvents: boolean,
  ): Promise<WatchStream<T>> {
    const seconds = Math.max(MIN_WATCH_SECONDS, (this.#options.minWatchTimeout ?? 0) / 1000);
    const query = {
      resourceVersion,
      timeoutSeconds: watchSeconds(seconds, this.#random),
      sendInitialEvents,
    };
    const stream = await WatchStream.open(this.#listWatch, this.#decoder, query, caller);
    this.#watches++;
    if (!sendInitialEvents) this.#state = 'watching';
    return stream;
  }

  /** A failure is no sign of life: what it says is not what the store holds. */
  #caller(signal: AbortSignal): Caller {
    return {
      clock: this.#clock,
      signal,
      onBytes: (at) => {
        this.#lastByteAt = at;
      },
      onRepeat: (error, afterMs) => {
        if (this.#state === 'watching') this.#state = 'waiting';
        this.#tell(error, 'repeat', afterMs);
      },
    };
  }

  #later(what: Step['do']): Step {
    return { do: what, afterMs: this.#backoff.next() };
  }

  /** What it brought was refused, which has been reported: all of it is asked for again. */
  refused(error: unknown, afterMs: number): void {
    this.#tell(error, 'relist', afterMs, this.#options.watchErrorHandler ?? (() => undefined));
  }

  /** Every failure comes through here or `#tell`, once. */
  #failed(error: unknown, next: NextStep, step: Step): Step {
    this.#tell(error, next, step.afterMs);
    return step;
  }

  #tell(error: unknown, next: NextStep, afterMs: number, onError = this.#onError): void {
    const failure: WatchFailure = { class: classOf(error), next, afterMs };
    this.#failures.add(error, failure, this.#clock.now());
    tell(() => onError(error, failure), 'watch error handler');
  }

  #report(error: unknown, failure: WatchFailure): void {
    if (failure.next === 'park' && this.#parked) return; // once
    if (!isWorthReporting(error, failure)) return;
    const { afterMs } = failure;
    const when = isLongWait(afterMs) ? goesOn(afterMs) : '';
    handleError(error, `reflector of ${this.#listWatch.describe()}${when}`);
  }
}

function now(what: Step['do']): Step {
  return { do: what, afterMs: 0 };
}
