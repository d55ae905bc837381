/**
 * One HTTP/2 connection: its streams, its limit of streams, and whether it is alive.
 *
 * Invariants: while a stream is open, a dead connection is detected within `readIdleTimeout` +
 * `pingTimeout`, and a quiet one is never ended; without a stream it keeps no process alive; after
 * GOAWAY running streams go on and no new stream is opened.
 */
import type { ClientHttp2Session, ClientHttp2Stream, OutgoingHttpHeaders } from 'node:http2';
import { type Clock, macrotask } from '../base/clock.ts';

/** When a connection counts as dead, in milliseconds. */
export interface Health {
  clock: Clock;
  /** A PING is sent after this time without a byte. 0: never. */
  readIdleTimeout: number;
  /** How long the answer to the PING may take. */
  pingTimeout: number;
}

/** As IDLE_TIMEOUT in pool.ts: a middlebox may have forgotten a connection that was idle longer. */
const IDLE_TIMEOUT = 90_000;

export class Session {
  readonly #session: ClientHttp2Session;
  readonly #health: Health;
  /** Open streams and reserved places. */
  #open = 0;
  #used = false;
  #accepts = true;
  /** No stream will be opened on it again. */
  #retired = false;
  /** When the last byte of the server arrived. */
  #heardAt: number;
  /**
   * When the PING was sent that is not answered yet. It outlives the stream that it was sent for.
   */
  #askedAt: number | undefined;
  #timer: unknown;

  /** @param session its SETTINGS have arrived, so that its limit is known */
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

  /** Whether it takes new streams, now or when there is room. */
  get usable(): boolean {
    return this.#accepts && !this.#session.closed && !this.#session.destroyed;
  }

  /** Closes it, and returns true, if it was idle too long or did not answer a PING in time. */
  closedAsIdle(): boolean {
    if (this.#open > 0 || !this.usable) return false;
    if (this.#silence() < IDLE_TIMEOUT && this.#patience() > 0) return false;
    this.#close();
    return true;
  }

  /** Reserves a place for one stream; returns false if there is none. */
  reserve(): boolean {
    if (!this.usable || this.#open >= this.limit) return false;
    this.#open++;
    if (this.#open === 1) {
      this.#session.ref();
      this.#watch();
    }
    return true;
  }

  /** Gives back a reserved place for which no stream was opened. */
  release(): void {
    this.#open--;
    if (this.#open > 0) return;
    this.#stopTimer();
    if (!this.#session.destroyed) this.#session.unref();
    if (this.#retired) this.#close();
  }

  /**
   * Opens a stream on the reserved place. If it throws (as node:http2 does), the place is given
   * back.
   */
  request(headers: OutgoingHttpHeaders, body: string | Uint8Array | undefined): ClientHttp2Stream {
    const stream = this.#session.request(headers, { endStream: body === undefined });
    if (body !== undefined) stream.end(body);
    stream.once('close', () => this.release());
    stream.once('response', () => this.#heard());
    return stream;
  }

  /**
   * A stream has got bytes. While a busy reader takes them they may have arrived long ago; they do
   * not answer a PING.
   */
  received(): void {
    if (this.#askedAt === undefined) this.#heard();
  }

  /**
   * Marks it as used. Returns whether it was used before: then the server may have closed it
   * meanwhile.
   */
  markUsed(): boolean {
    const before = this.#used;
    this.#used = true;
    return before;
  }

  /** Closes after the last of its streams, including reserved places. */
  retire(): void {
    this.#retired = true;
    if (this.#open === 0) this.#close();
  }

  /** Destroys it with all of its streams. */
  destroy(reason?: Error): void {
    this.#accepts = false;
    this.#stopTimer();
    this.#session.destroy(reason);
  }

  #heard(): void {
    this.#heardAt = this.#health.clock.now();
    this.#askedAt = undefined;
  }

  /** The server's limit of concurrent streams. */
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

  /** The time that is left for the answer to a PING, in milliseconds. */
  #patience(): number {
    const { clock, pingTimeout } = this.#health;
    return this.#askedAt === undefined ? pingTimeout : this.#askedAt + pingTimeout - clock.now();
  }

  /** One timer for many reads: when it fires it checks the time of the last read. */
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
    // Node sends no PING on a session that is closing, after GOAWAY. SETTINGS must be answered too.
    if (this.#session.closed) this.#session.settings({}, answered);
    else this.#session.ping(answered);
    this.#watch();
  }

  /** The time for the answer is over. */
  async #judge(): Promise<void> {
    // In a process that was busy or asleep the answer may wait in the socket: timers run before
    // I/O.
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

/** For a server without a limit. golang.org/x/net/http2: defaultMaxConcurrentStreams. */
const DEFAULT_STREAMS = 1000;
