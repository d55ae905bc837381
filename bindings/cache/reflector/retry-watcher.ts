/// <reference lib="esnext.disposable" preserve="true" />
/**
 * A watch that goes on: when the stream ends or fails, it is opened again after the last version
 * that was given. It has no cache and no list, so it ends where only a list could help. client-go:
 * tools/watch/retrywatcher.go.
 */

import { guardRandom } from '../../base/backoff.ts';
import { leaving } from '../../base/cancellable-generator.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import { CapstanError, hasCode, invalid, requireFunction } from '../../base/errors.ts';
import { tell } from '../../base/handle-error.ts';
import { namesOf, requireNames } from '../../base/names.ts';
import { onAbort, sleep } from '../../base/wait.ts';
import { jsonDecoder } from '../decode/decoder.ts';
import { compareResourceVersion, isComparableResourceVersion } from '../rest/resource-version.ts';
import { isDenied, isExpired, isStatusError } from '../rest/status-error.ts';
import type { ListWatch } from './list-watch.ts';
import { classOf, type WatchErrorHandler } from './status.ts';
import { reportForeign, type WatchEvent } from './watch.ts';
import { MIN_WATCH_SECONDS, WatchStream, watchSeconds } from './watch-stream.ts';

/** Of a {@link RetryWatcher}. */
export interface RetryWatcherOptions {
  clock?: Clock | undefined;
  /** Ends the iteration without an error, as `close` does. */
  signal?: AbortSignal | undefined;
  /** In [0, 1): jitter of timeoutSeconds. */
  random?: (() => number) | undefined;
  /**
   * Gets each failure after which the watch is opened again. Default: none is reported, as in
   * client-go.
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
 * A server that refuses a version as gone this often in a row will not take it back; client-go asks
 * for ever. Likewise bytes at one and the same version that never become an event.
 */
const MAX_IN_A_ROW = 5;

/** What ended a stream, and whether that is the end of it all. */
interface End {
  error: unknown;
  final: boolean;
}

/**
 * All events after a version, each once: what the server repeats is left out by comparing versions.
 * Gives them to one `for await` loop; leaving the loop ends the watch. The loop ends with an error
 * where the watch cannot go on: StatusError for a version that is gone (410: list, and begin again
 * from there) and for missing permission (401, 403), CapstanError DECODE for an event without a
 * version and for bytes that stay unreadable.
 *
 * @throws CapstanError INVALID_ARGUMENT, also for the versions "" and "0", from which events come
 *   in no order
 * @example
 * const watcher = new RetryWatcher(new ListWatch(transport, Pod), '42', { signal });
 * for await (const { type, object } of watcher) use([type, object]);
 */
export class RetryWatcher<T extends object, I extends string = never>
  implements AsyncIterable<WatchEvent<T>>, Disposable
{
  readonly #listWatch: ListWatch<T, I>;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #onError: WatchErrorHandler | undefined;
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal | undefined;
  readonly #events: AsyncGenerator<WatchEvent<T>, void, undefined>;
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

  /** The version after which the watch would be opened again. */
  lastResourceVersion(): string {
    return this.#lastVersion;
  }

  /** Ends the loop at once, without an error. Again: no effect. */
  close(): void {
    this.#stop.abort();
  }

  /** The same as `close()`. */
  [Symbol.dispose](): void {
    this.close();
  }

  [Symbol.asyncIterator](): AsyncGenerator<WatchEvent<T>, void, undefined> {
    return this.#events;
  }

  async *#run(): AsyncGenerator<WatchEvent<T>, void, undefined> {
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

  /** One stream to its end; answers what ended it before the server closed it. */
  async *#watch(signal: AbortSignal): AsyncGenerator<WatchEvent<T>, End | undefined, undefined> {
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
          if (frame.type !== 'BOOKMARK') yield frame;
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

  /** Versions that cannot be compared are new unless they are the last one. */
  #isNew(version: string): boolean {
    if (!isComparableResourceVersion(version) || !isComparableResourceVersion(this.#lastVersion))
      return version !== this.#lastVersion;
    return compareResourceVersion(version, this.#lastVersion) > 0;
  }

  /**
   * An ERROR event 410 is final at once, as in client-go; an HTTP answer 410 may come from a server
   * that lags behind.
   */
  #isFinal({ error, final }: End): boolean {
    const stays = isExpired(error) || hasCode(error, 'DECODE');
    this.#inARow = stays ? this.#inARow + 1 : 0;
    return final || this.#inARow >= MAX_IN_A_ROW;
  }

  /** Tells of a failure that is not the end; how long the server asks to wait. */
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
