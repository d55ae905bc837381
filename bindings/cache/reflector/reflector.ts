/**
 * Reflector: list, watch, resume, relist. It keeps a store equal to the server's objects and never
 * gives up; only its signal ends it. The protocol is a state machine with one `step`. client-go:
 * tools/cache/reflector.go ListAndWatchWithContext.
 *
 * It never lists older than what it has seen: a relist asks for at least the last version, and for
 * the newest ("") only after the server said that this version is expired or too large. Events are
 * applied in the order in which they come, also repeated or older versions (versions are opaque
 * here). A server that was restored from an older backup sends nothing to a watch from a version
 * that it has not reached: after a silence, a list with that version checks whether it has.
 */

import { Backoff, guardRandom, RetryWithDeadline } from '../../base/backoff.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import { CapstanError, hasCode, invalid } from '../../base/errors.ts';
import { requireSignalOptions } from '../../base/names.ts';
import { isThenable, sleep } from '../../base/wait.ts';
import { type Decoder, jsonDecoder, type ListPage } from '../decode/decoder.ts';
import type { HashRanges } from '../rest/hash-ranges.ts';
import { compareResourceVersion, isComparableResourceVersion } from '../rest/resource-version.ts';
import { type Caller, isConnectionReset } from '../rest/rest.ts';
import {
  isExpired,
  isInternalError,
  isNotFound,
  isTooLargeResourceVersion,
  isTooManyRequests,
} from '../rest/status-error.ts';
import { connectionLoss } from '../rest/transport.ts';
import { Coverage } from './coverage.ts';
import type { ListWatch } from './list-watch.ts';
import { fetchPages, type ListQuery, PAGE_SIZE } from './pager.ts';
import {
  isBusy,
  ReflectorFailures,
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
import { classOf, type NextStep, type ReflectorState, type ReflectorStatus } from './status.ts';
import { StreamEvents } from './stream-events.ts';
import { openInTime, readInitialObjects } from './watch-list.ts';
import { MIN_WATCH_SECONDS, WatchStream, watchSeconds } from './watch-stream.ts';

export type { ReflectorOptions, ReflectorStore } from './reflector-options.ts';

/**
 * Watch lists that end early, and watches that end early without an event, are opened again at
 * once, as in client-go. After this many in a row the objects are listed, and watches are opened
 * with back-off.
 */
const MAX_SHORT_STREAMS = 3;

/**
 * If the connection was lost and the next watch is silent for this long, a request checks whether
 * the server has reached the version: a server that was restored from an older backup has not, and
 * would send only events after that version.
 */
const SILENCE_MS = 10_000;

/** The next step, and the wait before it in milliseconds. */
interface Step {
  do: 'begin' | 'stream' | 'list' | 'grow' | 'watch';
  afterMs: number;
}

/**
 * Keeps a store equal to the objects that a {@link ListWatch} selects: lists, watches, and repeats
 * both until its signal fires. Failures go to the `watchErrorHandler`; the back-off doubles from
 * 0.8 s to 30 s. client-go: tools/cache/reflector.go Reflector.
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
  readonly #backoff: Backoff;
  readonly #failures: ReflectorFailures;
  readonly #events: StreamEvents<T>;
  #internalErrors: RetryWithDeadline | undefined;
  #state: ReflectorState = 'stopped';
  /** The last version is expired, or the server has not reached it yet. */
  #versionUnavailable = false;
  /** The first list came in pages, so the server does not answer lists from a watch cache. */
  #paged = false;
  /** A connection was lost or refused since the last list: another server may answer now. */
  #connectionLost = false;
  /** A first list is in the store. */
  #synced = false;
  /** The server does not serve the resource any more, and the store was emptied. */
  #parked = false;
  #shortStreams = 0;
  /** The initial objects are requested as a watch list. */
  #usesWatchList: boolean;
  /** The watch list, which goes on as the first watch. */
  #stream: WatchStream<T> | undefined;
  /** Undefined: the store has all objects. */
  readonly #coverage: Coverage | undefined;
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
      const answer: unknown = options.shouldResync?.() ?? true;
      if (isThenable(answer)) throw invalid('shouldResync()', 'true or false', answer);
      if (answer) store.resync?.();
    });
    this.#failures = new ReflectorFailures(
      clock,
      () => this.#parked,
      listWatch.describe(),
      watchErrorHandler,
    );
    this.#backoff = new Backoff(clock, this.#random, options.backoff);
    this.#usesWatchList = options.watchList ?? WATCH_LIST_BY_DEFAULT;
    if (options.ranges !== undefined) {
      listWatch.requireNoShardSelector();
      this.#coverage = new Coverage(options.ranges, (ranges) => this.#decoder.select?.(ranges));
    }
    this.#events = new StreamEvents(store, {
      ...{ clock, decoder: this.#decoder, coverage: this.#coverage },
      describe: listWatch.describe(),
    });
  }

  /** @internal Changes the ranges of a reflector that was made with some. */
  setRanges(ranges: HashRanges): void {
    const coverage = this.#coverage as Coverage;
    if (coverage.want(ranges)) this.#store.keepRanges?.(coverage.held);
  }

  /** @internal Which ranges the store has, or will have after what is queued. */
  get coverage(): Pick<Coverage, 'held' | 'wanted' | 'isComplete'> | undefined {
    return this.#coverage;
  }

  /** The version of the last list, event or bookmark; "" before the first. */
  lastSyncResourceVersion(): string {
    return this.#events.lastVersion;
  }

  /** The number of skipped watch events, which had an object of another kind. */
  skippedEvents(): number {
    return this.#events.skipped;
  }

  status(): ReflectorStatus {
    const now = this.#clock.now();
    return {
      state:
        this.#state !== 'stopped' && this.#failures.repeatsLater(now) ? 'waiting' : this.#state,
      lastSyncResourceVersion: this.#events.lastVersion,
      lastSignOfLife: this.#lastByteAt === undefined ? undefined : now - this.#lastByteAt,
      relists: this.#relists,
      watches: this.#watches,
      skippedEvents: this.#events.skipped,
      ...(this.#coverage && {
        outsideOfRanges: this.#decoder.outside ?? 0,
        leftOutBy: this.#coverage.leftOutBy(this.#decoder.outside),
      }),
      ...this.#failures.report(now),
    };
  }

  /**
   * Lists and watches until the signal fires, then resolves. Failures of the server never reject
   * it.
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
        const behind = this.#store.behind?.();
        if (behind !== undefined) {
          await behind;
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
    if (this.#coverage?.wanted.isEmpty && what !== 'watch')
      return this.#awaitRanges(this.#coverage, signal);
    switch (what) {
      case 'begin':
        this.#internalErrors = new RetryWithDeadline(
          this.#clock,
          this.#options.maxInternalErrorRetryDuration ?? 0,
        );
        if (this.#synced) this.#relists++;
        return now(this.#usesWatchList && !this.#parked ? 'stream' : 'list');
      case 'stream':
        this.#state = 'streaming';
        this.#coverage?.beginList('all');
        return this.#gather(() => this.#streamInitialObjects(signal));
      case 'list':
        this.#state = 'listing';
        this.#coverage?.beginList('all');
        return this.#gather(() => this.#list(signal));
      case 'grow':
        return this.#gather(() => this.#grow(signal), true);
      case 'watch':
        if (this.#state !== 'waiting') this.#state = 'watching'; // otherwise once it is open
        return this.#watch(signal);
    }
  }

  /** A step that collects all objects, by pages or as a stream. */
  async #gather(run: () => Promise<Step>, isPart = false): Promise<Step> {
    this.#decoder.gather?.(true, isPart);
    try {
      return await run();
    } finally {
      this.#decoder.gather?.(false);
      this.#coverage?.endList();
    }
  }

  /** With an empty set of ranges the cache has no objects and sends no request. */
  async #awaitRanges(coverage: Coverage, signal: AbortSignal): Promise<Step> {
    if (!this.#synced) this.#replaceStore([], '');
    this.#state = 'watching';
    await coverage.changed(signal);
    return now('begin');
  }

  /**
   * Lists the missing ranges, at the version of the watch or a newer one. No watch is open
   * meanwhile. Afterwards the watch goes on from its own version for all ranges; events whose state
   * the list already has are skipped.
   */
  async #grow(signal: AbortSignal): Promise<Step> {
    const coverage = this.#coverage as Coverage;
    const from = this.#events.lastVersion;
    if (from === '0' || !isComparableResourceVersion(from) || !coverage.beginList('missing'))
      return now('begin');
    const page = this.#pages(signal);
    try {
      const version = coverage.newest(from);
      const limit = this.#options.watchListPageSize || (this.#paged ? PAGE_SIZE : 0);
      const list = await fetchPages(page, version, limit);
      const isNewer =
        isComparableResourceVersion(list.resourceVersion) &&
        compareResourceVersion(list.resourceVersion, version) >= 0;
      if (!isNewer) return now('begin');
      coverage.isFiltered = list.isSharded ?? false;
      this.#store.addRanges?.(coverage.listedMissing(list.items, list.resourceVersion), from);
      return now('watch');
    } catch (error) {
      if (signal.aborted) return now('begin');
      if (isExpired(error) || isTooLargeResourceVersion(error))
        return this.#failed(error, 'relist', now('begin'));
      // Meanwhile the held ranges are watched.
      const { afterMs } = this.#later('grow');
      coverage.postpone(this.#clock.now() + afterMs);
      this.#failures.add(error, 'list', afterMs);
      return now('watch');
    }
  }

  /** Requests pages of the ranges of the list that has begun. */
  #pages(signal: AbortSignal): (query: ListQuery) => Promise<ListPage<T>> {
    const caller = this.#caller(signal);
    const ranges = this.#coverage?.asked;
    return (query) => this.#listWatch.list({ ...query, ranges }, caller, this.#decoder.page());
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
      const version = this.#relistVersion('');
      const which = { clock: this.#clock, signal, describe: this.#listWatch.describe() };
      stream = await openInTime(
        (caller) => this.#openWatch(version, caller, true),
        (either) => this.#caller(either),
        which,
      );
      const initial = await readInitialObjects(stream, {
        ...which,
        accepts: (frame) => this.#events.accepts(frame),
        forget: (object) => this.#decoder.forget?.(object),
      });
      if (typeof initial !== 'number') {
        this.#replaceStore(initial.objects, initial.resourceVersion);
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
      if (isConnectionReset(error)) return this.#streamAgain(error); // after all repeats
      if (isBusy(error) || classOf(error) === 'full')
        return this.#failed(error, 'relist', this.#later('stream'));
      if (!isExpired(error) && !isTooLargeResourceVersion(error)) {
        // It took half a minute to detect that this server has no watch lists: do not try again.
        if (hasCode(error, 'TIMEOUT')) return this.#listInstead(error);
        return this.#failed(error, 'list', now('list'));
      }
      // If the server calls even the newest version expired, the next attempt has a back-off
      // (client-go: none).
      const again = this.#versionUnavailable ? this.#later('stream') : now('stream');
      this.#versionUnavailable = true;
      if (++this.#shortStreams > MAX_SHORT_STREAMS) return this.#listInstead(error);
      return this.#failed(error, 'relist from newest', again);
    } finally {
      stream?.close();
    }
  }

  /** After a watch list that ended before its bookmark. */
  #streamAgain(why: unknown): Step {
    return ++this.#shortStreams > MAX_SHORT_STREAMS
      ? this.#listInstead(why)
      : this.#failed(why, 'relist', now('stream'));
  }

  /**
   * Lists after failed watch lists. If the server ended them, or sent no final bookmark, it does
   * not support them, and they are not tried again; a lost connection does not prove that.
   */
  #listInstead(why: unknown): Step {
    if (connectionLoss(why) === undefined) this.#usesWatchList = false;
    return this.#failed(why, 'list', now('list'));
  }

  /** client-go: reflector.go list. */
  async #list(signal: AbortSignal): Promise<Step> {
    const page = this.#pages(signal);
    const version = this.#relistVersion('0');
    // With a version, an unpaged list comes from the watch cache; with a limit it would be read
    // from etcd.
    const limit =
      this.#options.watchListPageSize ||
      (this.#paged || version === '' || version === '0' ? PAGE_SIZE : 0);
    const listAgain = (error: unknown, next: NextStep = 'full list'): void => {
      this.#decoder.gather?.(true);
      this.#failures.add(error, next, 0);
    };
    try {
      let list: Awaited<ReturnType<typeof fetchPages<T>>>;
      try {
        list = await fetchPages(page, version, limit, listAgain);
      } catch (error) {
        if (signal.aborted || (!isExpired(error) && !isTooLargeResourceVersion(error))) throw error;
        listAgain(error, 'relist from newest');
        this.#versionUnavailable = true;
        list = await fetchPages(page, this.#relistVersion('0'), limit, listAgain);
      }
      if (this.#coverage !== undefined) this.#coverage.isFiltered = list.isSharded ?? false;
      if (version === '0' && list.paged) this.#paged = true;
      this.#replaceStore(list.items, list.resourceVersion);
      return now('watch');
    } catch (error) {
      const isGone = await this.#isGone(error, this.#caller(signal));
      if (signal.aborted) return now('begin');
      if (!isGone) return this.#failed(error, 'relist', this.#later('begin'));
      const next = this.#failed(error, 'park', this.#later('begin'));
      this.#park();
      return next;
    }
  }

  /** client-go: reflector.go relistResourceVersion. */
  #relistVersion(first: '0' | ''): string {
    if (this.#versionUnavailable) return '';
    const version = this.#coverage?.newest(this.#events.lastVersion) ?? this.#events.lastVersion;
    return version === '' ? first : version;
  }

  /**
   * Whether the resource is gone. Before the first sync it is waited for instead; once parked, a
   * 404 is enough.
   */
  async #isGone(error: unknown, caller: Caller): Promise<boolean> {
    if (!this.#synced || !(this.#options.parkWhenGone ?? true)) return false;
    return this.#parked ? isNotFound(error) : this.#listWatch.isGone(error, caller);
  }

  /** Keeps the version: later lists must not be older. */
  #park(): void {
    if (!this.#parked) this.#store.replace([], this.#events.lastVersion);
    this.#parked = true;
  }

  #replaceStore(objects: T[], resourceVersion: string): void {
    try {
      this.#store.replace(this.#coverage?.listedAll(objects) ?? objects, resourceVersion);
    } catch (error) {
      const what = `the store did not take a list of ${this.#listWatch.describe()}`;
      throw new CapstanError('DECODE', what, { cause: error });
    }
    this.#events.lastVersion = resourceVersion;
    this.#versionUnavailable = false;
    this.#synced = true;
    this.#connectionLost = false;
    this.#parked = false;
    this.#shortStreams = 0;
    this.#resync.start();
  }

  /** One watch from the last version to its end. client-go: reflector.go watch, handleAnyWatch. */
  async #watch(signal: AbortSignal): Promise<Step> {
    const coverage = this.#coverage;
    const lacks = coverage?.lacks(this.#clock.now());
    if (lacks !== undefined) {
      this.#endRound();
      return now(lacks === 'all' ? 'begin' : 'grow');
    }
    coverage?.beginWatch();
    // Before the request, because some proxies send the headers with the first event.
    const started = this.#clock.now();
    let stream = this.#stream;
    this.#stream = undefined;
    // A watch from "" or "0" begins with ADDED events in no order of versions, from which it cannot
    // be resumed until another event comes.
    const inOrder =
      stream !== undefined || (this.#events.lastVersion !== '' && this.#events.lastVersion !== '0');
    try {
      stream ??= await this.#openWatch(this.#events.lastVersion, this.#caller(signal), false);
    } catch (error) {
      if (signal.aborted) return now('begin');
      if (connectionLoss(error) !== undefined) this.#connectionLost = true;
      // after all repeats
      if (isConnectionReset(error)) return this.#failed(error, 'rewatch', now('watch'));
      if (isBusy(error)) return this.#failed(error, 'rewatch', this.#later('watch'));
      return this.#failed(error, 'relist', this.#later('begin'));
    }
    if (coverage?.isWoken) {
      stream.close();
      return now('watch');
    }
    if (coverage !== undefined) coverage.wake = () => stream.close();
    const growTimer = coverage?.wakeWhenDue(this.#clock);
    const silenceTimer =
      this.#connectionLost && inOrder ? this.#checkWhenSilent(stream, signal) : undefined;
    this.#connectionLost = false;
    try {
      const before = this.#events.lastVersion;
      const events = await this.#events.follow(stream, inOrder, signal).finally(() => {
        this.#clock.clearTimer(silenceTimer);
        this.#clock.clearTimer(growTimer);
      });
      if (signal.aborted) return now('begin');
      if (coverage?.isWoken) return now('watch');
      if (this.#events.lastVersion !== before || this.#clock.now() - started >= VERY_SHORT_WATCH_MS)
        this.#shortStreams = 0;
      else {
        const short = new VeryShortWatch(this.#listWatch.describe(), stream.lost);
        if (events === 0) throw short;
        if (++this.#shortStreams > MAX_SHORT_STREAMS)
          return this.#failed(short, 'rewatch', this.#later('watch'));
      }
      if (stream.lost === undefined) return now('watch');
      if (isTooLargeResourceVersion(stream.lost)) return this.#fromNewest(stream.lost);
      this.#connectionLost = true;
      const again = this.#failed(stream.lost, 'rewatch', now('watch'));
      const behind =
        stream.silent &&
        (await this.#listWatch.behind(this.#events.lastVersion, this.#caller(signal)));
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

  /** Sets a timer that checks a silent watch, see SILENCE_MS. @returns the timer */
  #checkWhenSilent(stream: WatchStream<T>, signal: AbortSignal): unknown {
    const openedAt = this.#lastByteAt;
    const isSilent = (): boolean => this.#lastByteAt === openedAt;
    const ask = async (): Promise<void> => {
      if (!isSilent()) return;
      const behind = await this.#listWatch.behind(this.#events.lastVersion, {
        clock: this.#clock,
        signal,
      });
      if (behind !== undefined && isSilent()) stream.lose(behind);
    };
    return this.#clock.setTimer(() => void ask(), SILENCE_MS);
  }

  #fromNewest(why: unknown): Step {
    this.#versionUnavailable = true;
    return this.#failed(why, 'relist from newest', now('begin'));
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
      ranges: this.#coverage?.asked,
    };
    const stream = await WatchStream.open(this.#listWatch, this.#decoder, query, caller);
    this.#watches++;
    if (!sendInitialEvents) this.#state = 'watching';
    return stream;
  }

  /** Only bytes of successful answers count as a sign of life. */
  #caller(signal: AbortSignal): Caller {
    return {
      clock: this.#clock,
      signal,
      onBytes: (at) => {
        this.#lastByteAt = at;
      },
      onRepeat: (error, afterMs) => {
        if (this.#state === 'watching') this.#state = 'waiting';
        this.#failures.add(error, 'repeat', afterMs);
      },
    };
  }

  #later(what: Step['do']): Step {
    return { do: what, afterMs: this.#backoff.next() };
  }

  /** Called before a relist because the store refused a change, which has been reported. */
  relisting(error: unknown, afterMs: number): void {
    const { watchErrorHandler = () => undefined } = this.#options;
    this.#failures.add(error, 'relist', afterMs, watchErrorHandler);
  }

  /** Reports a failure and returns the next step. Each is reported once. */
  #failed(error: unknown, next: NextStep, step: Step): Step {
    this.#failures.add(error, next, step.afterMs);
    return step;
  }
}

function now(what: Step['do']): Step {
  return { do: what, afterMs: 0 };
}
