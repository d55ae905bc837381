/**
 * A channel from the program's callbacks (webhooks, sockets, timers) to a channel source, for what
 * Go programs use a chan.
 */
/// <reference lib="esnext.disposable" preserve="true" />
import { requireInteger } from '../../base/errors.ts';
import { namesOf, requireNames, requireSignalOptions } from '../../base/names.ts';
import type { GenericEvent } from '../source.ts';
import { BoundedQueue } from './bounded-queue.ts';

/** Options of an {@link EventChannel}. */
export interface EventChannelOptions {
  /** The most events that wait for a source. Default 1024. */
  capacity?: number | undefined;
}

const NAMES = namesOf<EventChannelOptions>()({ capacity: 1 });

/**
 * Turns objects that are sent into generic events for {@link channelSource}. Each event goes to one
 * reader, in order. Objects can be sent before a source has started. When the channel is full,
 * `trySend` returns false (a webhook can respond with 503) and `send` waits.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const channel = new EventChannel<{ metadata: { namespace: string; name: string } }>();
 * const source = channelSource({ events: channel, handler: enqueueRequestForObject() });
 * const status = channel.trySend({ metadata: { namespace: 'default', name: 'web' } }) ? 202 : 503;
 */
export class EventChannel<T> implements AsyncIterable<GenericEvent<T>>, Disposable {
  readonly #queue: BoundedQueue<GenericEvent<T>>;

  constructor(options: EventChannelOptions = {}) {
    requireNames('options', options, 'option of an EventChannel', NAMES);
    const { capacity = 1024 } = options;
    requireInteger('options.capacity', capacity, 1);
    this.#queue = new BoundedQueue(capacity);
  }

  /** The number of waiting events. */
  get length(): number {
    return this.#queue.length;
  }

  /** Returns false, and sends nothing, if the channel is full or closed. */
  trySend(object: T): boolean {
    return this.#queue.tryPut({ object });
  }

  /**
   * Resolves when the event has room.
   *
   * @throws CapstanError (as a rejection) ABORTED if the signal fires first, STOPPED if the channel
   * is closed
   */
  async send(object: T, options: { signal?: AbortSignal | undefined } = {}): Promise<void> {
    requireSignalOptions(options, 'send()');
    return this.#queue.put({ object }, options.signal);
  }

  /** Closes the channel. Events that wait in it can still be read. May be called repeatedly. */
  close(): void {
    this.#queue.close();
  }

  /** The same as `close()`. */
  [Symbol.dispose](): void {
    this.close();
  }

  /**
   * A reader that returns early (`break`, `return`) takes no event with it: the next event goes to
   * another reader.
   */
  [Symbol.asyncIterator](): AsyncIterator<GenericEvent<T>, undefined> {
    const end = new AbortController();
    const done = { done: true, value: undefined } as const;
    return {
      next: async () => {
        const value = await this.#queue.take(end.signal);
        return value === undefined ? done : { done: false, value };
      },
      return: async () => {
        end.abort();
        return done;
      },
    };
  }
}
