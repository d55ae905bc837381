/**
 * WatchStream: the frames of one open watch. A lost connection ends it like a closed one, because
 * the server will send an incomplete frame again; `lost` tells them apart. Frames are read
 * synchronously, because a promise for each would cost more than most frames.
 */
import { CapstanError, hasCode } from '../../base/errors.ts';
import { handleError } from '../../base/handle-error.ts';
import type { Decoder, Frame, FrameReader } from '../decode/decoder.ts';
import type { Exchange } from '../rest/exchange.ts';
import type { Caller } from '../rest/rest.ts';
import { StatusError } from '../rest/status-error.ts';
import type { ListWatch, WatchQuery } from './list-watch.ts';

/** A frame other than an ERROR event. */
export type WatchFrame<T> = Exclude<Frame<T>, { type: 'ERROR' }>;

/** client-go: reflector.go defaultMinWatchTimeout. A watch takes at most twice as long. */
export const MIN_WATCH_SECONDS = 300;

/** A random integer in [min, 2 * min), so that not all watches of a program end at once. */
export function watchSeconds(min: number, random: () => number): number {
  return Math.floor(min + random() * min);
}

export class WatchStream<T> {
  readonly #exchange: Exchange;
  readonly #frames: FrameReader<T>;
  readonly #what: string;
  #lost: unknown;
  /** The frames of the bytes that came have been taken. */
  #isEmpty = true;

  private constructor(exchange: Exchange, frames: FrameReader<T>, what: string) {
    this.#exchange = exchange;
    this.#frames = frames;
    this.#what = what;
  }

  /** Rejects with StatusError or TransportError. */
  static async open<T, I extends string>(
    listWatch: ListWatch<T, I>,
    decoder: Decoder<T>,
    query: WatchQuery,
    caller: Caller,
  ): Promise<WatchStream<T>> {
    const { leavesOutManagedFields } = decoder;
    const exchange = await listWatch.watch({ ...query, leavesOutManagedFields }, caller);
    try {
      return new WatchStream(exchange, decoder.frames(), `watch of ${listWatch.describe()}`);
    } catch (error) {
      exchange.close();
      throw error;
    }
  }

  /** Waits for bytes; false if the stream has ended. Never rejects. */
  more(): Promise<boolean> {
    return this.#exchange.ready();
  }

  /**
   * The next complete frame, or undefined until more bytes come. Throws CapstanError DECODE, and a
   * StatusError for an ERROR event.
   */
  take(): WatchFrame<T> | undefined {
    let frame = this.#isEmpty ? undefined : this.#frames.next();
    while (frame === undefined) {
      const chunk = this.#exchange.arrived();
      this.#isEmpty = chunk === undefined;
      if (chunk === undefined) return undefined;
      this.#frames.push(chunk);
      frame = this.#frames.next();
    }
    if (frame.type !== 'ERROR') return frame;
    const { status } = frame;
    throw new StatusError(
      Number.isInteger(status.code) ? Number(status.code) : 500,
      status,
      this.#what,
    );
  }

  /** The error that ended the connection; undefined if the server closed the stream. */
  get lost(): unknown {
    return this.#lost ?? this.#exchange.failure;
  }

  /** Whether the watch was ended because no byte came for `idleTimeout`. */
  get silent(): boolean {
    return hasCode((this.lost as Error | undefined)?.cause, 'ABORTED');
  }

  /** Ends the stream as lost, with this error. */
  lose(why: unknown): void {
    this.#lost = this.lost ?? why;
    this.#exchange.close();
  }

  /** Closes the connection. A second call has no effect. */
  close(): void {
    this.#exchange.close();
    this.#frames.close();
  }
}

/** Reports an object of another kind, which is skipped. */
export function reportForeign(
  what: string,
  frame: { apiVersion: string | undefined; kind: string | undefined },
  who: string,
): void {
  handleError(
    new CapstanError('DECODE', `a watch of ${what} sent a ${frame.apiVersion} ${frame.kind}`),
    who,
  );
}
