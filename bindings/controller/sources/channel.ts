/**
 * Events from outside of the cluster, such as webhooks and queues of other systems, as a source.
 *
 * What it keeps true: events reach the handler one at a time and in order. No more of them wait
 * here than a buffer takes: whoever makes them is not asked for the next one before there is room.
 * controller-runtime: pkg/source/source.go Channel.
 */

import { textOfError } from '../../base/error-text.ts';
import { invalid, requireFunction, requireInteger } from '../../base/errors.ts';
import { namesOf, requireNames } from '../../base/names.ts';
import { abortable, TimeSlice } from '../../base/wait.ts';
import type { GenericEvent, Source, SourceStart, SourceStatus } from '../source.ts';
import { BoundedQueue } from './bounded-queue.ts';
import { EventPipe, PIPE_NAMES, type PipeOptions } from './event-pipe.ts';

export interface ChannelSourceOptions<T> extends PipeOptions<NoInfer<T>> {
  /** An {@link EventChannel}, or any other iterable; it is asked for its iterator at the start. */
  events: AsyncIterable<GenericEvent<T>>;
  /** How many events may wait for a handler that is async. Default 1024. */
  bufferSize?: number | undefined;
}

const NAMES = namesOf<ChannelSourceOptions<never>>()({ ...PIPE_NAMES, events: 1, bufferSize: 1 });

/** controller-runtime: source.go Channel, the default buffer size. */
const BUFFER_SIZE = 1024;

/**
 * Events that a program makes itself, one after the other, by default under the name `channel`.
 * They go to the handler as generic events. Where the iterable ends, the source has nothing more to
 * say; where it fails, that is reported, and `status().problem` says so. It has nothing to sync.
 * controller-runtime: source.Channel.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const pushes = new EventChannel<{ metadata: { namespace: string; name: string } }>();
 * const source = channelSource({ events: pushes, handler: enqueueRequestForObject() });
 * pushes.trySend({ metadata: { namespace: 'default', name: 'web' } });
 */
export function channelSource<T>(options: ChannelSourceOptions<T>): Source {
  requireNames('options', options, 'option of channelSource()', NAMES);
  const { events, bufferSize = BUFFER_SIZE } = options;
  requireFunction('options.events[Symbol.asyncIterator]', events?.[Symbol.asyncIterator]);
  requireInteger('options.bufferSize', bufferSize, 1);
  const pipe = new EventPipe<T>({ ...options, name: options.name ?? 'channel' });
  return new ChannelSource<T>(pipe, events, bufferSize);
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
    // In the turn of the signal: an event that comes in the next one is for another reader.
    const letGo = (): void => void this.#release(iterator);
    signal.addEventListener('abort', letGo, { once: true });
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
    signal.removeEventListener('abort', letGo);
  }

  #isEvent(value: unknown): boolean {
    if (typeof value === 'object' && value !== null) return true;
    this.#pipe.report(invalid('event', 'an object like { object }', value), 'its events');
    return false;
  }

  /** Never rejects. An async handler is waited for. */
  async #handleAll(buffer: BoundedQueue<GenericEvent<T>>, signal: AbortSignal): Promise<void> {
    const slice = new TimeSlice(this.#pipe.clock);
    for (
      let next = await buffer.take();
      next !== undefined && !signal.aborted;
      next = await buffer.take()
    ) {
      await this.#pipe.generic(next);
      // events that are all there already would keep timers and I/O waiting
      if (slice.over()) await slice.yield();
    }
  }

  /**
   * Never rejects, and is not waited for: a generator that waits for its own next event ends only
   * after that.
   */
  async #release(iterator: AsyncIterator<GenericEvent<T>>): Promise<void> {
    try {
      await iterator.return?.();
    } catch (error) {
      this.#pipe.report(error, 'the end of its events');
    }
  }
}
