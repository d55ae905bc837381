/**
 * Time as a source: requests, or events for a handler, every so often. A tick begins only when the
 * one before has been handled, and its pause counts from there, so that ticks never pile up.
 * apimachinery: pkg/util/wait JitterUntil, sliding.
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
  /** 1 for the first. */
  readonly tick: number;
}

interface TimerOptions {
  /** Milliseconds from the end of one tick to the next, and from the start to the first. */
  everyMs: number;
  /**
   * Up to this part of `everyMs` is added to each pause, by chance: 0.1 makes 10 s 10 to 11 s.
   * Default 0.
   */
  jitter?: number | undefined;
  /** In causes, reports and messages. Default `timer`. */
  name?: string | undefined;
  clock?: Clock | undefined;
  /** For the jitter, in [0, 1). */
  random?: (() => number) | undefined;
}

/** Either requests, or a handler. */
export type TimerSourceOptions = TimerOptions &
  (
    | {
        /**
         * What to reconcile at each tick: always the same, or what a function finds then. Where it
         * throws it is asked again with back-off, as a handler is.
         */
        requests: readonly Request[] | (() => Iterable<Request> | Promise<Iterable<Request>>);
        handler?: never;
      }
    | {
        /** Is told of each tick as a generic event. */
        handler: EventHandler<TimerTick>;
        requests?: never;
      }
  );

const NAMES = namesOf<TimerSourceOptions>()({
  everyMs: 1,
  jitter: 1,
  name: 1,
  clock: 1,
  random: 1,
  requests: 1,
  handler: 1,
});

/**
 * Ticks as a source, such as for what has to be compared with a system that tells of nothing by
 * itself. It has nothing to sync.
 *
 * @throws CapstanError INVALID_ARGUMENT
 * @example
 * const hourly = timerSource({
 *   everyMs: 3_600_000,
 *   jitter: 0.1,
 *   requests: () => deployments.getIndexer().listKeys().map(splitMetaNamespaceKey),
 * });
 */
export function timerSource(options: TimerSourceOptions): Source {
  requireNames('options', options, 'option of timerSource()', NAMES);
  const {
    everyMs,
    jitter = 0,
    name = 'timer',
    clock = systemClock,
    random = Math.random,
  } = options;
  if (typeof everyMs !== 'number' || !(everyMs > 0))
    throw invalid('options.everyMs', 'milliseconds > 0', everyMs);
  if (typeof jitter !== 'number' || !(jitter >= 0))
    throw invalid('options.jitter', 'a number >= 0', jitter);
  requireFunction('options.random', random);
  const handler = options.handler ?? handlerOf(options.requests);
  const pipe = new EventPipe<TimerTick>({ handler, name, clock, latestOnly: true });
  const chance = guardRandom(random);
  return new TimerSource(pipe, () => everyMs * (1 + jitter * chance()));
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

  /** Rejects only with what the clock throws. */
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
      'an array of requests or a function that gives some',
      requests,
    );
  const find = typeof requests === 'function' ? requests : () => requests;
  return enqueueRequestsFromMapFunc<TimerTick>(() => find());
}
