/**
 * Applies the events of a watch to a store, in the order in which they come, also repeated or older
 * versions, and keeps the version from which the watch can be resumed. client-go:
 * tools/cache/reflector.go handleAnyWatch.
 */
import type { Clock } from '../../base/clock.ts';
import { handleError } from '../../base/handle-error.ts';
import { abortable, TimeSlice } from '../../base/wait.ts';
import type { Decoder } from '../decode/decoder.ts';
import type { Coverage } from './coverage.ts';
import type { ReflectorStore } from './reflector-options.ts';
import { reportForeign, type WatchFrame, type WatchStream } from './watch-stream.ts';

type AcceptedFrame<T> = Exclude<WatchFrame<T>, { type: 'foreign' }>;

interface StreamEventsOptions<T> {
  clock: Clock;
  decoder: Decoder<T>;
  coverage: Coverage | undefined;
  /** `v1 ConfigMap`, for messages. */
  describe: string;
}

export class StreamEvents<T extends object> {
  readonly #store: ReflectorStore<T>;
  readonly #options: StreamEventsOptions<T>;
  /** Of the last list, event or bookmark; "" before the first. */
  lastVersion = '';
  /** The number of events that were skipped, as they had an object of another kind. */
  skipped = 0;

  constructor(store: ReflectorStore<T>, options: StreamEventsOptions<T>) {
    this.#store = store;
    this.#options = options;
  }

  /**
   * Applies the events of a stream; resolves with their number when it ends. Rejects as {@link
   * WatchStream.take} throws.
   *
   * @param inOrder the stream does not begin with ADDED events in no order of versions
   */
  async follow(stream: WatchStream<T>, inOrder: boolean, signal: AbortSignal): Promise<number> {
    const slice = new TimeSlice(this.#options.clock);
    let isOrdered = inOrder;
    let events = 0;
    do {
      slice.start();
      for (let frame = stream.take(); frame !== undefined; frame = stream.take()) {
        if (this.accepts(frame)) {
          this.#apply(frame);
          events++;
          if (frame.type !== 'ADDED' && frame.type !== 'OUTSIDE') isOrdered = true;
          // For an event without a version (some aggregated servers) the last one stays: events may
          // be repeated, but none is missed.
          if (isOrdered && frame.resourceVersion !== '') this.lastVersion = frame.resourceVersion;
        }
        if (slice.over())
          await abortable(slice.yield(this.#store.behind?.()), signal).catch(() => undefined);
        if (signal.aborted) return events;
      }
      // also after each chunk, because short chunks never use up the slice
      const behind = this.#store.behind?.();
      if (behind !== undefined) await abortable(behind, signal).catch(() => undefined);
    } while (await stream.more());
    return events;
  }

  /** False for an event that is skipped, which is counted and reported. */
  accepts(frame: WatchFrame<T>): frame is AcceptedFrame<T> {
    if (frame.type !== 'foreign') return true;
    this.skipped++;
    reportForeign(this.#options.describe, frame, 'reflector');
    return false;
  }

  #apply(frame: AcceptedFrame<T>): void {
    const { coverage, decoder } = this.#options;
    try {
      if (coverage?.isKnown(frame)) {
        if ('object' in frame) decoder.forget?.(frame.object);
      } else if (frame.type === 'ADDED') this.#store.add(frame.object);
      else if (frame.type === 'MODIFIED') this.#store.update(frame.object);
      else if (frame.type === 'DELETED') this.#store.delete(frame.object);
      else if (frame.type === 'BOOKMARK') this.#store.bookmark?.(frame.resourceVersion);
    } catch (error) {
      handleError(error, 'reflector store');
    }
  }
}
