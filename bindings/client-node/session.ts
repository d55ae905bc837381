/**
 * One HTTP/2 connection: how many streams it carries and may carry, and whether it is alive. What
 * this file keeps true: while a stream is open, a connection from which nothing came is found
 * within `readIdleTimeout` + `pingTimeout`, and a quiet one is never ended; without a stream it
 * keeps no process alive; streams that run when the server says GOAWAY go on, and no new one is
 * opened.
 */
import type { ClientHttp2Session, ClientHttp2Stream, OutgoingHttpHeaders } from 'node:http2';
import { type Clock, macrotask } from '../base/clock.ts';

/** When a connection counts as dead. Milliseconds. */
export interface Health {
  clock: Clock;
  /** Without a byte for this long, a PING is sent; 0: never. */
  readIdleTimeout: number;
  /** How long its answer may take. */
  pingTimeout: number;
}

/**
 * As IDLE_TIMEOUT in pool.ts: what idled for longer may have been forgotten by something on the
 * way.
 */
const IDLE_TIMEOUT = 90_000;

export class Session {
  readonly #session: ClientHttp2Session;
  readonly #health: Health;
  /** Streams, and places taken for streams to come. */
  #open = 0;
  #used = false;
  #accepts = true;
  /** Nobody will open a stream on it again. */
  #retired = false;
  /** When something was last heard of the server. */
  #heardAt: number;
  /**
   * When a PING was sent, as long as nothing was heard since. Outlives the stream for which it was
   * sent.
   */
  #askedAt: number | undefined;
  #timer: unknown;

  /** @param session whose SETTINGS have arrived, so that its limit is known */
  constructor(session: ClientHttp2Session, health: Health) {
    this.#session = session;
    this.#health = health;
    this.#heardAt = health.clock.now();
    session.on('goaway', () => {
      this.#accepts = false;
      this.#heard();
    });
    session.once('close', () => {
      this.#accepts = false;
      this.#stopTimer();
    });
    session.on('error', () => undefined); // every stream of it is told
    session.unref();
  }

  /** It takes new streams, be there room for them now or not. */
  get usable(): boolean {
    return this.#accepts && !this.#session.closed && !this.#session.destroyed;
  }

  /**
   * Without a stream for so long, or on a PING that so long ago was not answered, that it is better
   * closed than used. Closes it then.
   */
  closedAsIdle(): boolean {
    if (this.#open > 0 || !this.usable) return false;
    if (this.#silence() < IDLE_TIMEOUT && this.#patience() > 0) return false;
    this.#close();
    return true;
  }

  /** Takes a place for one stream, or says that there is none. */
  reserve(): boolean {
    if (!this.usable || this.#open >= this.limit) return false;
    this.#open++;
    if (this.#open === 1) {
      this.#session.ref();
      this.#watch();
    }
    return true;
  }

  /** Gives a reserved place back that no stream was opened for. */
  release(): void {
    this.#open--;
    if (this.#open > 0) return;
    this.#stopTimer();
    if (!this.#session.destroyed) this.#session.unref();
    if (this.#retired) this.#close();
  }

  /**
   * Opens a stream on the place that was reserved; with it the place is given back. Throws what
   * node:http2 throws.
   */
  request(headers: OutgoingHttpHeaders, body: string | Uint8Array | undefined): ClientHttp2Stream {
    const stream = this.#session.request(headers, { endStream: body === undefined });
    if (body !== undefined) stream.end(body);
    stream.once('close', () => this.release());
    stream.once('response', () => {
      this.#heard();
      // Not before: it sets the stream going, and whoever reads it begins in this turn. What a
      // reader that was busy takes now may have come long ago: it is no answer to a PING.
      stream.on('data', () => {
        if (this.#askedAt === undefined) this.#heard();
      });
    });
    return stream;
  }

  /**
   * Counts as used from now on. Whether it did before: then the server may have closed it
   * meanwhile.
   */
  markUsed(): boolean {
    const before = this.#used;
    this.#used = true;
    return before;
  }

  /** Closes when its streams have ended, those on reserved places too. */
  retire(): void {
    this.#retired = true;
    if (this.#open === 0) this.#close();
  }

  /** Ends it now, and all its streams with it. */
  destroy(reason?: Error): void {
    this.#accepts = false;
    this.#stopTimer();
    this.#session.destroy(reason);
  }

  #heard(): void {
    this.#heardAt = this.#health.clock.now();
    this.#askedAt = undefined;
  }

  /** How many streams the server allows at a time. */
  get limit(): number {
    return this.#session.remoteSettings?.maxConcurrentStreams ?? DEFAULT_STREAMS;
  }

  #close(): void {
    this.#accepts = false;
    if (!this.#session.closed && !this.#session.destroyed) this.#session.close();
  }

  #silence(): number {
    return this.#health.clock.now() - this.#heardAt;
  }

  /** How long the answer to a PING may still take. */
  #patience(): number {
    const { clock, pingTimeout } = this.#health;
    return this.#askedAt === undefined ? pingTimeout : this.#askedAt + pingTimeout - clock.now();
  }

  /** One timer for many reads: when it fires it looks how long ago the last one was. */
  #watch(): void {
    const { clock, readIdleTimeout } = this.#health;
    this.#stopTimer();
    if (readIdleTimeout === 0 || this.#open === 0 || this.#session.destroyed) return;
    const left = readIdleTimeout - this.#silence();
    if (this.#askedAt !== undefined)
      this.#timer = clock.setTimer(() => void this.#judge(), this.#patience());
    else if (left > 0) this.#timer = clock.setTimer(() => this.#watch(), left);
    else this.#ping();
  }

  #ping(): void {
    this.#askedAt = this.#health.clock.now();
    const answered = (error: Error | null): void => {
      if (error === null) this.#heard();
    };
    // node sends no PING on a session that is closing, after GOAWAY; SETTINGS must be answered as
    // well.
    if (this.#session.closed) this.#session.settings({}, answered);
    else this.#session.ping(answered);
    this.#watch();
  }

  /** The time for an answer is over. */
  async #judge(): Promise<void> {
    // A process that was busy or asleep has the answer in its socket: timers come before I/O.
    await macrotask();
    await macrotask();
    if (this.#session.destroyed) return;
    if (this.#askedAt === undefined) this.#watch();
    else
      this.destroy(
        new Error(`the server did not answer a PING within ${this.#health.pingTimeout} ms`),
      );
  }

  #stopTimer(): void {
    this.#health.clock.clearTimer(this.#timer);
    this.#timer = undefined;
  }
}

/** Of a server that names no limit. golang.org/x/net/http2: defaultMaxConcurrentStreams. */
const DEFAULT_STREAMS = 1000;
