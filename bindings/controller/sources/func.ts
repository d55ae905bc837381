/** A function as a source. controller-runtime: pkg/source/source.go Func. */
import { type Clock, systemClock } from '../../base/clock.ts';
import { requireFunction } from '../../base/errors.ts';
import { namesOf, requireNames } from '../../base/names.ts';
import type { Request } from '../../base/request.ts';
import type { AddOptions } from '../../workqueue/index.ts';
import type { HandlerQueue, Source, SourceQueue, SourceStart, SourceStatus } from '../source.ts';
import { EventPipe, requireSourceName } from './event-pipe.ts';

/** The argument of the function. */
export interface FuncStart<R = Request> {
  /**
   * Takes requests like a handler's queue, with a cause of the kind `generic` or with a cause that
   * the function makes. Ignores requests after the end of the source.
   */
  readonly queue: HandlerQueue<R> & SourceQueue<R>;
  /**
   * Fires when the controller ends or the source is removed. The function then releases its
   * resources.
   */
  readonly signal: AbortSignal;
}

const NAMES = namesOf<{ clock: Clock }>()({ clock: 1 });

/**
 * Makes a source from a function that starts it and then adds requests whenever it wants. The
 * controller waits until the function has returned or its promise has resolved. If it throws or
 * rejects, the controller ends. controller-runtime: source.Func.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const source = funcSource('pushes', ({ queue, signal }) => {
 *   const socket = new WebSocket('wss://pushes.example.com');
 *   socket.addEventListener('message', ({ data }) => {
 *     queue.add({ namespace: 'default', name: String(data) });
 *   });
 *   signal.addEventListener('abort', () => socket.close(), { once: true });
 * });
 */
export function funcSource<R = Request>(
  name: string,
  start: (start: FuncStart<R>) => void | Promise<void>,
  options: { clock?: Clock | undefined } = {},
): Source<R> {
  requireNames('options', options, 'option of funcSource()', NAMES);
  requireSourceName('name', name);
  requireFunction('start', start);
  const ofAny = start as (start: FuncStart<never>) => void | Promise<void>;
  return new FuncSource(name, ofAny, options.clock ?? systemClock) as Source<never>;
}

class FuncSource implements Source {
  readonly name: string;
  readonly #start: (start: FuncStart) => void | Promise<void>;
  readonly #pipe: EventPipe<undefined>;
  #added = 0;

  constructor(name: string, start: (start: FuncStart) => void | Promise<void>, clock: Clock) {
    this.name = name;
    this.#start = start;
    this.#pipe = new EventPipe({ name, clock, handler: {} });
  }

  async start(start: SourceStart): Promise<void> {
    this.#pipe.open(start);
    const add = (
      options: AddOptions,
      request: Request,
      cause = this.#pipe.causeOf('generic'),
    ): void => {
      if (start.signal.aborted) return;
      this.#added++;
      start.queue.addWithCause(options, request, cause);
    };
    const queue: FuncStart['queue'] = {
      add: (request) => add({}, request),
      addAfter: (request, ms) => add({ after: ms }, request),
      addRateLimited: (request) => add({ rateLimited: true }, request),
      addWithOpts: (opts, ...requests) => {
        for (const request of requests) add(opts, request);
      },
      addWithCause: add,
    };
    await this.#start({ queue, signal: start.signal });
  }

  /** Each request counts as an event. */
  status(): SourceStatus {
    return { synced: true, events: { handled: this.#added, filtered: 0, failed: 0 } };
  }
}
