/**
 * The initial objects through a watch: ADDED events, whatever changes meanwhile, and a bookmark
 * that says that this was all. They are collected aside, and nothing of a stream that ends before
 * its bookmark ever reaches a store. client-go: tools/cache/reflector.go watchList and
 * handleAnyWatch; KEP-3157.
 */
import type { Clock } from '../../base/clock.ts';
import { CapstanError } from '../../base/errors.ts';
import { handleError } from '../../base/handle-error.ts';
import { abortable, TimeSlice } from '../../base/wait.ts';
import { metaNamespaceKeyFunc } from '../rest/keys.ts';
import type { WatchFrame, WatchStream } from './watch-stream.ts';

export interface InitialObjects<T> {
  /** In the order of their first event. */
  objects: T[];
  resourceVersion: string;
}

export interface StreamOptions<T> {
  clock: Clock;
  signal: AbortSignal;
  /** `v1 ConfigMap`, for messages. */
  describe: string;
  /**
   * Asked for each frame: whether it is an object of the resource or a bookmark. Otherwise it is
   * left out.
   */
  accepts(frame: WatchFrame<T>): boolean;
  /** Told of an object that has been replaced or deleted before the stream was at its end. */
  forget(object: T): void;
}

/** client-go: reflector.go newInitialEventsEndBookmarkTicker. */
const PERIOD_MS = 10_000;
/**
 * A server that does not know what it was asked sends no end: kube-apiserver before 1.27 sends all
 * objects and then what changes; others only what changes. client-go waits there for ever. So a
 * stream is given up after this many periods in a row with fewer than `FEW_OBJECTS` each
 * (kube-apiserver begins within 3 s and sends thousands in a period; what is created later comes
 * one by one), at the second bookmark that is not the end (kube-apiserver sends none before it),
 * and at a change of an object that was not there.
 */
const QUIET_PERIODS = 2;
const FEW_OBJECTS = 10;
const MAX_BOOKMARKS = 1;

/**
 * Reads up to the bookmark that ends the initial events; the stream then stands behind it. Without
 * one, the number of events before the stream ended. Throws what {@link WatchStream.take} throws,
 * and CapstanError TIMEOUT for a stream without an end.
 */
export async function readInitialObjects<T extends object>(
  stream: WatchStream<T>,
  options: StreamOptions<T>,
): Promise<InitialObjects<T> | number> {
  const { clock, signal } = options;
  const objects = new Map<string, T>();
  const slice = new TimeSlice(clock);
  const patience = new Patience(stream, options);
  let events = 0;
  let bookmarks = 0;
  try {
    while (await stream.more()) {
      slice.start();
      for (let frame = stream.take(); frame !== undefined; frame = stream.take()) {
        if (!options.accepts(frame)) continue;
        events++;
        if (frame.type === 'BOOKMARK') {
          if (frame.initialEventsEnd)
            return { objects: [...objects.values()], resourceVersion: frame.resourceVersion };
          if (++bookmarks > MAX_BOOKMARKS) throw patience.lost('sent bookmarks instead');
        } else if (frame.type !== 'foreign') {
          const key = metaNamespaceKeyFunc(frame.object);
          if (frame.type === 'ADDED') patience.objects++;
          else if (!objects.has(key))
            throw patience.lost(`sent a change of ${key}, which was not among them`);
          const before = objects.get(key);
          if (before !== undefined && before !== frame.object) options.forget(before);
          if (frame.type === 'DELETED') objects.delete(key);
          else objects.set(key, frame.object);
        }
        if (slice.over()) await abortable(slice.yield(), signal).catch(() => undefined);
        if (signal.aborted) return events;
      }
    }
  } finally {
    patience.end();
  }
  if (patience.over !== undefined) throw patience.over;
  return events;
}

/** Warns of each quiet period, and closes the stream after some in a row. */
class Patience {
  /** Why the stream was closed. */
  over: CapstanError | undefined;
  /** How many objects have come in this period. */
  objects = 0;
  readonly #close: () => void;
  readonly #clock: Clock;
  readonly #describe: string;
  #quiet = 0;
  #timer: unknown;

  constructor(stream: { close(): void }, { clock, describe }: { clock: Clock; describe: string }) {
    this.#close = () => stream.close();
    this.#clock = clock;
    this.#describe = describe;
    this.#wait();
  }

  end(): void {
    this.#clock.clearTimer(this.#timer);
  }

  lost(why: string): CapstanError {
    return new CapstanError(
      'TIMEOUT',
      `the server did not end the initial events of ${this.#describe}: it ${why}`,
    );
  }

  #wait(): void {
    this.#timer = this.#clock.setTimer(() => {
      this.#quiet = this.objects < FEW_OBJECTS ? this.#quiet + 1 : 0;
      this.objects = 0;
      if (this.#quiet > 0) {
        const seconds = (this.#quiet * PERIOD_MS) / 1000;
        const lost = this.lost(`sent no object, or only a few, for ${seconds} s`);
        if (this.#quiet >= QUIET_PERIODS) {
          this.over = lost;
          this.#close();
          return;
        }
        handleError(lost, 'reflector');
      }
      this.#wait();
    }, PERIOD_MS);
  }
}
