/**
 * The channel source: events that the program makes itself, such as webhooks and messages of other
 * systems. controller-runtime: pkg/source/source.go Channel.
 *
 * Invariants:
 * - The handler gets the events one at a time and in order.
 * - At most `bufferSize` events are buffered; the iterable is asked for the next one only when
 *   there is room.
 */

import { textOfError } from '../../base/error-text.ts';
import { invalid, requireFunction, requireInteger } from '../../base/errors.ts';
import { namesOf, requireNames } from '../../base/names.ts';
import type { Request } from '../../base/request.ts';
import { abortable, onAbort, TimeSlice } from '../../base/wait.ts';
import type { GenericEvent, Source, SourceStart, SourceStatus } from '../source.ts';
import { BoundedQueue } from './bounded-queue.ts';
import { EventPipe, PIPE_NAMES, type PipeOptions } from './event-pipe.ts';

/** Options of {@link channelSource}. */
export interface ChannelSourceOptions<T, R = Request> extends PipeOptions<NoInfer<T>, R> {
  /**
   * An {@link EventChannel} or any other async iterable. Its iterator is opened when the source
   * starts.
   */
  events: AsyncIterable<GenericEvent<T>>;
  /** The most events that wait for an async handler. Default 1024. */
  bufferSize?: number | undefined;
}

const NAMES = namesOf<ChannelSourceOptions<never>>()({ ...PIPE_NAMES, events: 1, bufferSize: 1 });

/** controller-runtime: source.go, the default buffer size of Channel. */
const BUFFER_SIZE = 1024;

/**
 * Makes a source of generic events from an async iterable. Its default name is `channel`. When the
 * iterable ends, the source adds nothing more. If it throws, the error is reported and shown as
 * `status().problem`. The source has nothing to sync. controller-runtime: source.Channel.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const pushes = new EventChannel<{ metadata: { namespace: string; name: string } }>();
 * const source = channelSource({ events: pushes, handler: enqueueRequestForObject() });
 * pushes.trySend({ metadata: { namespace: 'default', name: 'web' } });
 */
export function channelSource<T, R = Request>(options: ChannelSourceOptions<T, R>): Source<R> {
  requireNames('options', options, 'option of channelSource()', NAMES);
  const { events, bufferSize = BUFFER_SIZE } = options;
  requireFunction('options.events[Symbol.asyncIterator]', events?.[Symbol.asyncIterator]);
  requireInteger('options.bufferSize', bufferSize, 1);
  const pipe = new EventPipe<T>({ ...options, name: options.name ?? 'channel' });
  return new ChannelSource<T>(pipe, events, bufferSize) as Source<never>;
}

class ChannelSource<T> implements Source {
  readonly name: string;
  readonly #pipe: EventPipe<T>;
  readonly #events: AsyncIterable<GenericEvent<T>>;
  readonly #bufferSize: number;
  #problem: string | undefined;

  constructor(pipe: EventPipe<T>, events: AsyncIterable<GenericEvent<T>>, bufferSize: number) {
    this.name = pipe.name;
    this.#pipe = pipe;
    this.#events = events;
    this.#bufferSize = bufferSize;
  }

  async start(start: SourceStart): Promise<void> {
    this.#pipe.open(start);
    if (start.signal.aborted) return;
    const iterator = this.#events[Symbol.asyncIterator]();
    void this.#readAll(iterator, start.signal);
  }

  idle(): Promise<void> {
    return this.#pipe.idle();
  }

  status(): SourceStatus {
    const problem = this.#problem;
    return { synced: true, events: this.#pipe.events(), ...(problem !== undefined && { problem }) };
  }

  /** Never rejects. */
  async #readAll(iterator: AsyncIterator<GenericEvent<T>>, signal: AbortSignal): Promise<void> {
    const buffer = new BoundedQueue<GenericEvent<T>>(this.#bufferSize);
    void this.#handleAll(buffer, signal);
    // Synchronously with the signal, so that the next event goes to another reader.
    const unlisten = onAbort(signal, () => void this.#release(iterator));
    try {
      for (;;) {
        const next = await abortable(iterator.next(), signal);
        if (next.done) break;
        if (this.#isEvent(next.value)) await buffer.put(next.value, signal);
      }
    } catch (error) {
      if (!signal.aborted) {
        this.#problem = `its events ended with an error: ${textOfError(error)}`;
        this.#pipe.report(error, 'its events');
      }
    }
    buffer.close();
    unlisten();
  }

  #isEvent(value: unknown): boolean {
    if (typeof value === 'object' && value !== null) return true;
    this.#pipe.report(invalid('event', 'an object like { object }', value), 'its events');
    return false;
  }

  /** Never rejects. Waits for async handlers. */
  async #handleAll(buffer: BoundedQueue<GenericEvent<T>>, signal: AbortSignal): Promise<void> {
    const slice = new TimeSlice(this.#pipe.clock);
    for (
      let next = await buffer.take();
      next !== undefined && !signal.aborted;
      next = await buffer.take()
    ) {
      await this.#pipe.generic(next);
      // buffered events would otherwise block timers and I/O
      if (slice.over()) await slice.yield();
    }
  }

  /**
   * Never rejects. Not awaited, because a generator that waits for its own next event returns only
   * after it.
   */
  async #release(iterator: AsyncIterator<GenericEvent<T>>): Promise<void> {
    try {
      await iterator.return?.();
    } catch (error) {
      this.#pipe.report(error, 'the end of its events');
    }
  }
}
