/**
 * The timer source: requests, or generic events for a handler, at intervals. The pause before a
 * tick begins when the previous tick was handled, so that ticks do not pile up. apimachinery:
 * pkg/util/wait JitterUntil, sliding.
 */
import { guardRandom } from '../../base/backoff.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import { invalid, requireFunction } from '../../base/errors.ts';
import { namesOf, requireNames } from '../../base/names.ts';
import type { Request } from '../../base/request.ts';
import { sleep } from '../../base/wait.ts';
import { enqueueRequestsFromMapFunc } from '../handlers.ts';
import type { EventHandler, Source, SourceStart, SourceStatus } from '../source.ts';
import { EventPipe } from './event-pipe.ts';

/** The object of a timer's events. */
export interface TimerTick {
  /** The number of the tick, from 1. */
  readonly tick: number;
}

interface TimerOptions {
  /** Milliseconds from the start to the first tick, and from the end of a tick to the next. */
  period: number;
  /**
   * The largest random part that is added to each pause, as a fraction of `period`: with 0.1, 10 s
   * become 10 to 11 s. Default 0.
   */
  jitter?: number | undefined;
  /** Shown in causes, reports and messages. Default `timer`. */
  name?: string | undefined;
  clock?: Clock | undefined;
  /** Returns a number in [0, 1) for the jitter. Default `Math.random`. */
  random?: (() => number) | undefined;
}

/** Options of {@link timerSource}: either `requests` or `handler`. */
export type TimerSourceOptions<R = Request> = TimerOptions &
  (
    | {
        /**
         * The requests of each tick, or a function that returns them. If the function throws or
         * rejects, it is retried with back-off like a handler. Requests of a type of your own come
         * from a `handler`.
         */
        requests: readonly Request[] | (() => Iterable<Request> | Promise<Iterable<Request>>);
        handler?: never;
      }
    | {
        /** Gets each tick as a generic event. */
        handler: EventHandler<TimerTick, R>;
        requests?: never;
      }
  );

const NAMES = namesOf<TimerSourceOptions>()({
  period: 1,
  jitter: 1,
  name: 1,
  clock: 1,
  random: 1,
  requests: 1,
  handler: 1,
});

/**
 * Makes a source that ticks at intervals, for example to compare objects with a system that sends
 * no events. It has nothing to sync.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const hourly = timerSource({
 *   period: 3_600_000,
 *   jitter: 0.1,
 *   requests: () => deployments.getIndexer().listKeys().map(splitMetaNamespaceKey),
 * });
 */
export function timerSource<R = Request>(options: TimerSourceOptions<R>): Source<R> {
  requireNames('options', options, 'option of timerSource()', NAMES);
  const { period, jitter = 0, name = 'timer', clock = systemClock, random = Math.random } = options;
  if (typeof period !== 'number' || !(period > 0))
    throw invalid('options.period', 'milliseconds > 0', period);
  if (typeof jitter !== 'number' || !(jitter >= 0))
    throw invalid('options.jitter', 'a number >= 0', jitter);
  requireFunction('options.random', random);
  const handler: EventHandler<TimerTick, unknown> = options.handler ?? handlerOf(options.requests);
  const pipe = new EventPipe<TimerTick>({ handler, name, clock, latestOnly: true });
  const chance = guardRandom(random);
  return new TimerSource(pipe, () => period * (1 + jitter * chance())) as Source<never>;
}

class TimerSource implements Source {
  readonly name: string;
  readonly #pipe: EventPipe<TimerTick>;
  readonly #pause: () => number;

  constructor(pipe: EventPipe<TimerTick>, pause: () => number) {
    this.name = pipe.name;
    this.#pipe = pipe;
    this.#pause = pause;
  }

  async start(start: SourceStart): Promise<void> {
    this.#pipe.open(start);
    void this.#run(start.signal).catch((error) => this.#pipe.report(error, 'its clock'));
  }

  idle(): Promise<void> {
    return this.#pipe.idle();
  }

  status(): SourceStatus {
    return { synced: true, events: this.#pipe.events() };
  }

  /** Rejects only if the clock throws. */
  async #run(signal: AbortSignal): Promise<void> {
    for (let tick = 1; !signal.aborted; tick++) {
      await sleep(this.#pipe.clock, this.#pause(), signal);
      if (!signal.aborted) await this.#pipe.generic({ object: { tick } });
    }
  }
}

function handlerOf(requests: TimerSourceOptions['requests']): EventHandler<TimerTick> {
  if (requests === undefined || (typeof requests !== 'function' && !Array.isArray(requests)))
    throw invalid(
      'options.requests',
      'an array of requests or a function that returns requests',
      requests,
    );
  const find = typeof requests === 'function' ? requests : () => requests;
  return enqueueRequestsFromMapFunc<TimerTick>(() => find());
}
