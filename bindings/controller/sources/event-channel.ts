/**
 * A channel from a program's own callbacks (webhooks, sockets, timers) to a channel source: what Go
 * authors use a chan for.
 */
import { requireInteger } from '../../base/errors.ts';
import { namesOf, requireNames, requireSignalOptions } from '../../base/names.ts';
import type { GenericEvent } from '../source.ts';
import { BoundedQueue } from './bounded-queue.ts';

/** Of an {@link EventChannel}. */
export interface EventChannelOptions {
  /** How many events may wait until a source takes them. Default 1024. */
  capacity?: number | undefined;
}

const NAMES = namesOf<EventChannelOptions>()({ capacity: 1 });

/**
 * Objects that are sent in, as generic events that come out, for {@link channelSource}. Each event
 * is given to one reader, in order. It may be sent to before a source has started. When it is full,
 * `trySend` says so (a webhook then answers 503, and its caller tries again) and `send` waits.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const channel = new EventChannel<{ metadata: { namespace: string; name: string } }>();
 * const source = channelSource({ events: channel, handler: enqueueRequestForObject() });
 * const status = channel.trySend({ metadata: { namespace: 'default', name: 'web' } }) ? 202 : 503;
 */
export class EventChannel<T> implements AsyncIterable<GenericEvent<T>> {
  readonly #queue: BoundedQueue<GenericEvent<T>>;

  constructor(options: EventChannelOptions = {}) {
    requireNames('options', options, 'option of an EventChannel', NAMES);
    const { capacity = 1024 } = options;
    requireInteger('options.capacity', capacity, 1);
    this.#queue = new BoundedQueue(capacity);
  }

  /** How many events wait. */
  get length(): number {
    return this.#queue.length;
  }

  /** False where there is no room, or the channel is closed; nothing has been sent then. */
  trySend(object: T): boolean {
    return this.#queue.tryPut({ object });
  }

  /**
   * Resolves when the event has room. @throws CapstanError (as a rejection) ABORTED when the signal
   * fires before, STOPPED once it is closed
   */
  async send(object: T, options: { signal?: AbortSignal | undefined } = {}): Promise<void> {
    requireSignalOptions(options, 'send()');
    return this.#queue.put({ object }, options.signal);
  }

  /** Ends the channel: what waits in it is still read. Legal any number of times. */
  close(): void {
    this.#queue.close();
  }

  /**
   * A reader that lets go (`break`, `return`) takes nothing with it: what comes then is for another
   * one.
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
