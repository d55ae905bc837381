/**
 * One open watch as frames. A connection that is lost ends it like one that was closed, since what
 * was not complete comes again; `lost` says which it was. Frames are taken synchronously, as
 * waiting for each would cost more than most of them.
 */
import { hasCode } from '../../base/errors.ts';
import type { Decoder, Frame, FrameReader } from '../decode/decoder.ts';
import type { Exchange } from '../rest/exchange.ts';
import type { Caller } from '../rest/rest.ts';
import { StatusError } from '../rest/status-error.ts';
import type { ListWatch, WatchQuery } from './list-watch.ts';

/** A frame that is no failure. */
export type WatchFrame<T> = Exclude<Frame<T>, { type: 'ERROR' }>;

/** client-go: reflector.go defaultMinWatchTimeout; the longest is twice the shortest. */
export const MIN_WATCH_SECONDS = 300;

/**
 * A random whole number of seconds in [min, 2 min), so that not all watches of a program end at
 * once.
 */
export function watchSeconds(min: number, random: () => number): number {
  return Math.floor(min + random() * min);
}

export class WatchStream<T> {
  readonly #exchange: Exchange;
  readonly #frames: FrameReader<T>;
  readonly #what: string;
  #lost: unknown;

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
    const exchange = await listWatch.watch(query, caller);
    try {
      return new WatchStream(exchange, decoder.frames(), `watch of ${listWatch.describe()}`);
    } catch (error) {
      exchange.close();
      throw error;
    }
  }

  /** Waits for bytes; false when the stream has ended. */
  async more(): Promise<boolean> {
    let chunk: Uint8Array | undefined;
    try {
      chunk = await this.#exchange.read();
    } catch (error) {
      this.#lost ??= error;
      return false;
    }
    if (chunk === undefined) return false;
    for (; chunk !== undefined; chunk = this.#exchange.arrived()) this.#frames.push(chunk);
    return true;
  }

  /**
   * The next frame that has arrived, if there is one. Throws CapstanError DECODE, and the
   * StatusError of an ERROR event.
   */
  take(): WatchFrame<T> | undefined {
    const frame = this.#frames.next();
    if (frame?.type !== 'ERROR') return frame;
    const { status } = frame;
    throw new StatusError(
      Number.isInteger(status.code) ? Number(status.code) : 500,
      status,
      this.#what,
    );
  }

  /** Why the connection ended before the server closed it; undefined for an orderly end. */
  get lost(): unknown {
    return this.#lost;
  }

  /** Whether the connection was given up, as nothing came of it for too long. */
  get silent(): boolean {
    return hasCode((this.#lost as Error | undefined)?.cause, 'ABORTED');
  }

  /** Ends the stream, as one that was lost for this reason. */
  lose(why: unknown): void {
    this.#lost ??= why;
    this.#exchange.close();
  }

  /** Gives the connection back. Again: no effect. */
  close(): void {
    this.#exchange.close();
    this.#frames.close();
  }
}
