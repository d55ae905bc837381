/**
 * The reflector: list, watch, resume, relist. It keeps a store equal to the server's objects and never gives up; only its
 * signal ends it. A state and one `step` say all of the protocol; client-go: tools/cache/reflector.go ListAndWatchWithContext.
 *
 * Never lists older than what was already seen: a relist asks for at least the last version, and for the newest ("") only
 * after the server said that this version is gone or still to come.
 */

import { type Clock, systemClock } from '../clock.ts';
import { CapstanError, requireNumber } from '../errors.ts';
import { handleError } from '../handle-error.ts';
import { Backoff } from './backoff.ts';
import { type Decoder, type Frame, jsonDecoder } from './decoder.ts';
import type { Exchange } from './exchange.ts';
import type { ListWatch } from './list-watch.ts';
import { listPages } from './pager.ts';
import { isReset } from './rest.ts';
import { isExpired, isTooLargeResourceVersion, isTooManyRequests, StatusError } from './status-error.ts';
import { TransportError } from './transport.ts';
import { abortable, sleep, TimeSlice } from './wait.ts';

/** What a reflector fills. {@link Indexer} is one. */
export interface ReflectorStore<T> {
  add(object: T): void;
  update(object: T): void;
  delete(object: T): void;
  replace(list: readonly T[], resourceVersion: string): void;
  resync?(): void;
  bookmark?(resourceVersion: string): void;
}

export interface ReflectorOptions<T = object> {
  clock?: Clock;
  /** In [0, 1): jitter of the back-off and of timeoutSeconds. */
  random?: () => number;
  /** How often `shouldResync` is asked while watching; 0, the default, is never. A function is asked anew each time. */
  resyncPeriod?: number | (() => number);
  /** Whether to call the store's `resync` now. Default: always. */
  shouldResync?: () => boolean;
  /**
   * Gets every error that makes the reflector list again. The default reports them through handleError, except those that
   * are part of a healthy life: an expired version, a connection that was reset, a watch closed at once.
   */
  watchErrorHandler?: (error: unknown) => void;
  /** @internal What turns bytes into objects. Default: JSON.parse. */
  decoder?: Decoder<T>;
}

/** client-go: tools/pager/pager.go defaultPageSize. */
const PAGE_SIZE = 500;
/** client-go: reflector.go minWatchTimeout, maxWatchTimeout. */
const MIN_WATCH_SECONDS = 300;
const MAX_WATCH_SECONDS = 600;
/** A watch without an event that ends sooner is not resumed, lest a broken server be asked without pause. */
const VERY_SHORT_WATCH_MS = 1000;

type State = 'list' | 'watch' | 'wait to list' | 'wait to watch';

/** How a watch ended: `closed` is the normal end, `busy` a server that asks for patience, `failed` all the rest. */
type WatchEnd = 'closed' | 'busy' | 'failed';

/** A watch that ended within a second without an event. */
class VeryShortWatch extends CapstanError {}

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
  readonly #resyncPeriod: () => number;
  readonly #shouldResync: () => boolean;
  readonly #onError: (error: unknown) => void;
  readonly #backoff: Backoff;
  #running = false;
  #lastVersion = '';
  /** The last version is gone from the server's window, or the server is not there yet. */
  #versionUnavailable = false;
  /** The first list came in pages, so the server has no watch cache to answer unpaged lists from. */
  #paged = false;
  #skipped = 0;
  #resyncTimer: unknown;

  constructor(
    listWatch: ListWatch<T, I>,
    store: ReflectorStore<NoInfer<T>>,
    options: ReflectorOptions<NoInfer<T>> = {},
  ) {
    const { clock = systemClock, random = Math.random, resyncPeriod = 0, shouldResync = () => true } = options;
    if (typeof resyncPeriod !== 'function') requireNumber('options.resyncPeriod', resyncPeriod);
    this.#listWatch = listWatch;
    this.#store = store;
    this.#decoder = options.decoder ?? jsonDecoder(listWatch.expected);
    this.#clock = clock;
    this.#random = random;
    this.#resyncPeriod = typeof resyncPeriod === 'function' ? resyncPeriod : () => resyncPeriod;
    this.#shouldResync = shouldResync;
    this.#onError = options.watchErrorHandler ?? ((error) => this.#report(error));
    this.#backoff = new Backoff(clock, random);
  }

  /** The version of the last list, event or bookmark that was taken over; "" before the first. */
  lastSyncResourceVersion(): string {
    return this.#lastVersion;
  }

  /** How many watch events carried an object of another kind and were left out. Each was also reported. */
  skippedEvents(): number {
    return this.#skipped;
  }

  /**
   * Lists and watches until the signal fires, then resolves. Never rejects because of the server.
   *
   * @throws CapstanError ALREADY_STARTED while it runs
   */
  async run(options: { signal?: AbortSignal } = {}): Promise<void> {
    if (this.#running) throw new CapstanError('ALREADY_STARTED', 'this reflector is running already');
    this.#running = true;
    const signal = options.signal ?? new AbortController().signal;
    try {
      for (let state: State = 'list'; !signal.aborted; ) state = await this.#step(state, signal);
    } finally {
      this.#stopResync();
      this.#running = false;
    }
  }

  async #step(state: State, signal: AbortSignal): Promise<State> {
    switch (state) {
      case 'list':
        this.#stopResync();
        if (!(await this.#list(signal))) return 'wait to list';
        this.#startResync();
        return 'watch';
      case 'watch': {
        const end = await this.#watch(signal);
        if (end === 'closed') return 'watch';
        if (end === 'busy') return 'wait to watch';
        this.#stopResync();
        return 'wait to list';
      }
      case 'wait to list':
        await sleep(this.#clock, this.#backoff.next(), signal);
        return 'list';
      case 'wait to watch':
        await sleep(this.#clock, this.#backoff.next(), signal);
        return 'watch';
    }
  }

  /** True when the store holds what the server has. client-go: reflector.go list. */
  async #list(signal: AbortSignal): Promise<boolean> {
    const page = (query: Parameters<ListWatch<T, I>['list']>[0]) =>
      this.#listWatch.list(query, { clock: this.#clock, signal }, this.#decoder.page());
    const asked = this.#relistVersion();
    // With a version, an unpaged list comes from the watch cache; a limit would make it an etcd read.
    const limit = this.#paged || asked === '' || asked === '0' ? PAGE_SIZE : 0;
    try {
      let list: Awaited<ReturnType<typeof listPages<T>>>;
      try {
        list = await listPages(page, asked, limit);
      } catch (error) {
        if (!isExpired(error) && !isTooLargeResourceVersion(error)) throw error;
        this.#versionUnavailable = true;
        list = await listPages(page, this.#relistVersion(), limit);
      }
      if (asked === '0' && list.paged) this.#paged = true;
      this.#versionUnavailable = false;
      this.#store.replace(list.items, list.resourceVersion);
      this.#lastVersion = list.resourceVersion;
      return true;
    } catch (error) {
      if (!signal.aborted) this.#fail(error);
      return false;
    }
  }

  /** client-go: reflector.go relistResourceVersion. */
  #relistVersion(): string {
    if (this.#versionUnavailable) return '';
    return this.#lastVersion === '' ? '0' : this.#lastVersion;
  }

  /** One watch from the last version to its end. client-go: reflector.go watch and handleAnyWatch. */
  async #watch(signal: AbortSignal): Promise<WatchEnd> {
    // Before the request: some proxies flush no header until the first event.
    const started = this.#clock.now();
    const resourceVersion = this.#lastVersion;
    const spread = MAX_WATCH_SECONDS - MIN_WATCH_SECONDS;
    const timeoutSeconds = Math.floor(MIN_WATCH_SECONDS + this.#random() * spread);
    let stream: Exchange;
    try {
      stream = await this.#listWatch.watch({ resourceVersion, timeoutSeconds }, { clock: this.#clock, signal });
    } catch (error) {
      if (signal.aborted || isReset(error)) return 'closed'; // reset in spite of all repeats: simply watch again
      if (isTooManyRequests(error) || !(error instanceof CapstanError) || isRefused(error)) return 'busy';
      this.#fail(error);
      return 'failed';
    }
    try {
      const events = await this.#consume(stream, signal, resourceVersion);
      if (events > 0 || signal.aborted || this.#clock.now() - started >= VERY_SHORT_WATCH_MS) return 'closed';
      this.#fail(
        new VeryShortWatch('TRANSPORT', `the watch of ${this.#listWatch.describe()} ended at once, without an event`),
      );
      return 'failed';
    } catch (error) {
      if (isTooManyRequests(error)) return 'busy';
      this.#fail(error);
      return 'failed';
    } finally {
      stream.close();
    }
  }

  /**
   * Takes over event after event; resolves with their number when the stream ends, however the connection ended: what was
   * not complete comes again. Rejects with the error of an ERROR event, or DECODE.
   */
  async #consume(stream: Exchange, signal: AbortSignal, from: string): Promise<number> {
    const frames = this.#decoder.frames();
    try {
      const slice = new TimeSlice(this.#clock);
      // A watch from "" or "0" begins with ADDED events in no order of versions: until another event comes, none is safe to resume from.
      let inOrder = from !== '' && from !== '0';
      let events = 0;
      for (;;) {
        let chunk: Uint8Array | undefined;
        try {
          chunk = await stream.read();
        } catch {
          return events;
        }
        if (chunk === undefined) return events;
        slice.start();
        frames.push(chunk);
        for (let frame = frames.next(); frame !== undefined; frame = frames.next()) {
          if (this.#apply(frame)) {
            events++;
            if (frame.type !== 'ADDED') inOrder = true;
            if (inOrder) this.#lastVersion = frame.resourceVersion;
          }
          if (slice.over()) await abortable(slice.yield(), signal).catch(() => undefined);
          if (signal.aborted) return events;
        }
      }
    } finally {
      frames.close();
    }
  }

  /** False for an event that was left out. Throws for one that ends the watch. */
  #apply(frame: Frame<T>): frame is Extract<Frame<T>, { resourceVersion: string }> {
    if (frame.type === 'ERROR') {
      throw new StatusError(frame.status.code ?? 500, frame.status, `watch of ${this.#listWatch.describe()}`);
    }
    if (frame.type === 'foreign') {
      this.#skipped++;
      const got = `${frame.apiVersion} ${frame.kind}`;
      handleError(new CapstanError('DECODE', `a watch of ${this.#listWatch.describe()} sent a ${got}`), 'reflector');
      return false;
    }
    try {
      if (frame.type === 'ADDED') this.#store.add(frame.object);
      else if (frame.type === 'MODIFIED') this.#store.update(frame.object);
      else if (frame.type === 'DELETED') this.#store.delete(frame.object);
      else this.#store.bookmark?.(frame.resourceVersion);
    } catch (error) {
      handleError(error, 'reflector store');
    }
    return true;
  }

  /** Runs while watching, across resumed watches; a relist starts it anew. client-go: reflector.go watchWithResync. */
  #startResync(): void {
    const period = this.#resyncPeriod();
    if (!(period > 0)) return;
    this.#resyncTimer = this.#clock.setTimer(() => {
      try {
        if (this.#shouldResync()) this.#store.resync?.();
      } catch (error) {
        handleError(error, 'reflector resync');
      }
      this.#startResync();
    }, period);
  }

  #stopResync(): void {
    this.#clock.clearTimer(this.#resyncTimer);
    this.#resyncTimer = undefined;
  }

  #fail(error: unknown): void {
    try {
      this.#onError(error);
    } catch (second) {
      handleError(second, 'watch error handler');
    }
  }

  #report(error: unknown): void {
    if (isExpired(error) || isReset(error) || error instanceof VeryShortWatch) return;
    handleError(error, `reflector of ${this.#listWatch.describe()}`);
  }
}

/** No connection: the server restarts, and the watch can go on where it ended. `unknown` counts as refused. */
function isRefused(error: unknown): boolean {
  return error instanceof TransportError && (error.kind === 'refused' || error.kind === 'unknown');
}
