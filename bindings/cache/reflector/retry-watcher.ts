/**
 * RetryWatcher: a watch that is opened again, after the version of the last event, when the stream
 * ends or fails. It never lists, so it ends with an error where only a list could help. client-go:
 * tools/watch/retrywatcher.go.
 */
/// <reference lib="esnext.disposable" preserve="true" />

import { guardRandom } from '../../base/backoff.ts';
import { leaving } from '../../base/cancellable-generator.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import { CapstanError, hasCode, invalid, requireFunction } from '../../base/errors.ts';
import { tell } from '../../base/handle-error.ts';
import { namesOf, requireNames } from '../../base/names.ts';
import type { FromServer } from '../../base/object.ts';
import { onAbort, sleep } from '../../base/wait.ts';
import { jsonDecoder } from '../decode/decoder.ts';
import { compareResourceVersion, isComparableResourceVersion } from '../rest/resource-version.ts';
import { isDenied, isExpired, isStatusError } from '../rest/status-error.ts';
import type { ListWatch } from './list-watch.ts';
import { classOf, type WatchErrorHandler } from './status.ts';
import type { WatchEvent } from './watch.ts';
import { MIN_WATCH_SECONDS, reportForeign, WatchStream, watchSeconds } from './watch-stream.ts';

/** Options of a {@link RetryWatcher}. */
export interface RetryWatcherOptions {
  clock?: Clock | undefined;
  /** Ends the iteration without an error, as `close` does. */
  signal?: AbortSignal | undefined;
  /** A number in [0, 1), for the jitter of timeoutSeconds. Default Math.random. */
  random?: (() => number) | undefined;
  /**
   * Called with each failure after which the watch is opened again. Default: none is reported, as
   * in client-go.
   */
  watchErrorHandler?: WatchErrorHandler | undefined;
}

const NAMES = namesOf<RetryWatcherOptions>()({
  clock: 1,
  signal: 1,
  random: 1,
  watchErrorHandler: 1,
});

/** From one opening of the watch to the next, at least. client-go: minRestartDelay. */
const MIN_RESTART_MS = 1000;

/**
 * After this many 410 answers in a row the version counts as gone (client-go tries for ever), and
 * after as many DECODE errors the bytes count as unreadable.
 */
const MAX_IN_A_ROW = 5;

/** The error that ended a stream, and whether the iteration ends with it. */
interface End {
  error: unknown;
  final: boolean;
}

/**
 * All events after a resourceVersion, each once, for one `for await` loop. Repeated events are
 * skipped by comparing versions. Leaving the loop ends the watch. The loop ends with an error if
 * the watch cannot go on: StatusError for an expired version (410: list, and start from the new
 * version) and for missing permission (401, 403), CapstanError DECODE for an event without a
 * version and for bytes that stay unreadable. client-go: tools/watch RetryWatcher.
 *
 * @throws CapstanError INVALID_ARGUMENT, also for the versions "" and "0", for which events have no
 *   defined order
 * @example
 * const watcher = new RetryWatcher(new ListWatch(transport, Pod), '42', { signal });
 * for await (const { type, object } of watcher) use([type, object]);
 */
export class RetryWatcher<T extends object, I extends string = never>
  implements AsyncIterable<WatchEvent<FromServer<T>>>, Disposable
{
  readonly #listWatch: ListWatch<T, I>;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #onError: WatchErrorHandler | undefined;
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal | undefined;
  readonly #events: AsyncGenerator<WatchEvent<FromServer<T>>, void, undefined>;
  #lastVersion: string;
  #inARow = 0;

  constructor(
    listWatch: ListWatch<T, I>,
    resourceVersion: string,
    options: RetryWatcherOptions = {},
  ) {
    if (typeof listWatch?.watch !== 'function')
      throw invalid('listWatch', 'a ListWatch', listWatch);
    if (typeof resourceVersion !== 'string' || resourceVersion === '' || resourceVersion === '0')
      throw invalid(
        'resourceVersion',
        'a version to begin after, such as that of a list',
        resourceVersion,
      );
    requireNames('options', options, 'option of a RetryWatcher', NAMES);
    const { clock = systemClock, random = Math.random, watchErrorHandler } = options;
    if (watchErrorHandler !== undefined) requireFunction('watchErrorHandler', watchErrorHandler);
    this.#listWatch = listWatch;
    this.#lastVersion = resourceVersion;
    this.#clock = clock;
    this.#random = guardRandom(random);
    this.#onError = watchErrorHandler;
    this.#signal = options.signal;
    this.#events = leaving(this.#run(), () => this.close());
  }

  /** The version after which the watch will be opened again. */
  lastResourceVersion(): string {
    return this.#lastVersion;
  }

  /** Ends the loop at once, without an error. A second call has no effect. */
  close(): void {
    this.#stop.abort();
  }

  /** The same as `close()`. */
  [Symbol.dispose](): void {
    this.close();
  }

  [Symbol.asyncIterator](): AsyncGenerator<WatchEvent<FromServer<T>>, void, undefined> {
    return this.#events;
  }

  async *#run(): AsyncGenerator<WatchEvent<FromServer<T>>, void, undefined> {
    const outer = this.#signal;
    const signal = this.#stop.signal;
    const unlisten = onAbort(outer, () => this.close());
    try {
      while (!signal.aborted) {
        const started = this.#clock.now();
        const end = yield* this.#watch(signal);
        if (signal.aborted) return;
        if (end !== undefined && this.#isFinal(end)) throw end.error;
        const pauseMs = end === undefined ? 0 : this.#failed(end.error, started);
        const untilMs = Math.max(this.#clock.now() + pauseMs, started + MIN_RESTART_MS);
        await sleep(this.#clock, untilMs - this.#clock.now(), signal);
      }
    } finally {
      unlisten();
    }
  }

  /**
   * Runs one stream to its end; returns the error that ended it, or undefined if the server closed
   * it.
   */
  async *#watch(
    signal: AbortSignal,
  ): AsyncGenerator<WatchEvent<FromServer<T>>, End | undefined, undefined> {
    const query = {
      resourceVersion: this.#lastVersion,
      timeoutSeconds: watchSeconds(MIN_WATCH_SECONDS, this.#random),
    };
    const decoder = jsonDecoder<T>(this.#listWatch.expected);
    let stream: WatchStream<T>;
    try {
      stream = await WatchStream.open(this.#listWatch, decoder, query, {
        clock: this.#clock,
        signal,
      });
    } catch (error) {
      return { error, final: isDenied(error) };
    }
    try {
      while (await stream.more()) {
        for (;;) {
          let frame: ReturnType<typeof stream.take>;
          try {
            frame = stream.take();
          } catch (error) {
            return { error, final: isStatusError(error) && error.status === 410 };
          }
          if (frame === undefined) break;
          if (frame.type === 'foreign') {
            reportForeign(this.#listWatch.describe(), frame, 'RetryWatcher');
            continue;
          }
          if (frame.resourceVersion === '') {
            const what = `a watch of ${this.#listWatch.describe()} sent an event without a version`;
            return { error: new CapstanError('DECODE', what), final: true };
          }
          if (!this.#isNew(frame.resourceVersion)) continue;
          if (frame.type !== 'BOOKMARK') yield frame as WatchEvent<FromServer<T>>;
          this.#lastVersion = frame.resourceVersion;
          if (signal.aborted) return undefined;
          this.#inARow = 0;
        }
      }
      return stream.lost === undefined ? undefined : { error: stream.lost, final: false };
    } finally {
      stream.close();
    }
  }

  /** If the versions are not comparable, any version but the last one is new. */
  #isNew(version: string): boolean {
    if (!isComparableResourceVersion(version) || !isComparableResourceVersion(this.#lastVersion))
      return version !== this.#lastVersion;
    return compareResourceVersion(version, this.#lastVersion) > 0;
  }

  /**
   * An ERROR event 410 is final at once, as in client-go; an HTTP answer 410 may come from an API
   * server that lags behind.
   */
  #isFinal({ error, final }: End): boolean {
    const stays = isExpired(error) || hasCode(error, 'DECODE');
    this.#inARow = stays ? this.#inARow + 1 : 0;
    return final || this.#inARow >= MAX_IN_A_ROW;
  }

  /** Calls the error handler; returns the wait that the server asks for, in milliseconds. */
  #failed(error: unknown, started: number): number {
    const asked = isStatusError(error) ? (error.body.details?.retryAfterSeconds ?? 0) * 1000 : 0;
    const afterMs = Math.max(asked, started + MIN_RESTART_MS - this.#clock.now(), 0);
    tell(
      () => this.#onError?.(error, { class: classOf(error), next: 'rewatch', afterMs }),
      'watch error handler',
    );
    return asked;
  }
}
