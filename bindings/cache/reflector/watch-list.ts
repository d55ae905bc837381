/**
 * Watch lists: the initial objects through a watch, as ADDED events and changes of them, ended by a
 * bookmark. The objects are collected first, so that a stream that ends before its bookmark never
 * changes the store. client-go: tools/cache/reflector.go watchList and handleAnyWatch; KEP-3157.
 */
import type { Clock } from '../../base/clock.ts';
import { CapstanError } from '../../base/errors.ts';
import { handleError } from '../../base/handle-error.ts';
import { abortable, TimeSlice } from '../../base/wait.ts';
import { metaNamespaceKeyFunc } from '../rest/keys.ts';
import type { Caller } from '../rest/rest.ts';
import { isStatusError } from '../rest/status-error.ts';
import { LIST_IDLE_MS } from './list-watch.ts';
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
  /** Called for each frame; frames for which it returns false are skipped. */
  accepts(frame: WatchFrame<T>): boolean;
  /** Called with each object that a later event replaced or deleted. */
  forget(object: T): void;
}

/** client-go: reflector.go newInitialEventsEndBookmarkTicker. */
const PERIOD_MS = 10_000;
/**
 * A server without watch lists never sends the final bookmark: kube-apiserver before 1.27 sends all
 * objects and then changes; others send changes only. client-go waits for ever. Here the stream is
 * closed after this many periods in a row with fewer than `FEW_OBJECTS` objects each
 * (kube-apiserver starts within 3 s and sends thousands in a period), at the second bookmark that
 * is not the final one (kube-apiserver sends none before it), and at a change of an unknown object.
 */
const QUIET_PERIODS = 2;
const FEW_OBJECTS = 10;
const MAX_BOOKMARKS = 1;

/**
 * Reads up to and including the bookmark that ends the initial events. If the stream ends before
 * it, resolves with the number of events. Rejects as {@link WatchStream.take} throws, and with
 * CapstanError TIMEOUT for a stream without that bookmark.
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
        } else if (frame.type === 'OUTSIDE') {
          patience.objects++;
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

/**
 * Opens a watch list. Rejects with TIMEOUT if no answer comes in the time that a list may take: a
 * proxy that buffers whole bodies would never send one.
 */
export async function openInTime<T>(
  open: (caller: Caller) => Promise<T>,
  callerOf: (signal: AbortSignal) => Caller,
  { clock, signal, describe }: Omit<StreamOptions<T>, 'accepts' | 'forget'>,
): Promise<T> {
  const late = new AbortController();
  const caller = callerOf(AbortSignal.any([signal, late.signal]));
  let timer: unknown;
  const wait = (ms: number): void => {
    clock.clearTimer(timer);
    timer = clock.setTimer(() => late.abort(), ms + LIST_IDLE_MS);
  };
  wait(0);
  const { onRepeat } = caller;
  caller.onRepeat = (error, afterMs) => {
    if (isStatusError(error)) wait(afterMs); // the server has answered
    onRepeat?.(error, afterMs);
  };
  try {
    return await open(caller);
  } catch (cause) {
    if (!late.signal.aborted || signal.aborted) throw cause;
    const what = `the server did not begin the initial events of ${describe}`;
    throw new CapstanError('TIMEOUT', `${what} within ${LIST_IDLE_MS / 1000} s`, { cause });
  } finally {
    clock.clearTimer(timer);
  }
}

/** Reports each quiet period, and closes the stream after several in a row. */
class Patience {
  /** The error with which the stream was closed. */
  over: CapstanError | undefined;
  /** The number of objects in this period. */
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
