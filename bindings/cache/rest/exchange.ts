/**
 * One HTTP exchange under a deadline. `open` and `read` end when the signal fires or the time is
 * over, even if the transport ignores its signal; `close` releases the connection.
 */
import { type Clock, NOTHING_STARTED } from '../../base/clock.ts';
import { aborted, CapstanError } from '../../base/errors.ts';
import {
  type ChunkIterator,
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from './transport.ts';

export interface ExchangeOptions {
  clock: Clock;
  signal: AbortSignal;
  /**
   * Longest time without an answer, and then without another byte, in milliseconds. 0 or undefined:
   * no limit. Time in which no read is pending does not count.
   */
  idleMs?: number | undefined;
  /** Longest time from the request to the end of the body, in milliseconds. */
  totalMs?: number | undefined;
  /**
   * Called with the clock's time when the headers arrive, and at each chunk after them. Must not
   * throw.
   */
  onBytes?: ((now: number) => void) | undefined;
}

export class Exchange {
  readonly #options: ExchangeOptions;
  readonly #what: string;
  readonly #transport: Transport;
  readonly #abort = new AbortController();
  readonly #onSignal = (): void => this.#abort.abort(this.#options.signal.reason);
  /** Ends the pending wait; there is at most one. */
  #endWait = (): void => undefined;
  #response: TransportResponse | undefined;
  #chunks: (Pick<ChunkIterator, 'arrived' | 'whenArrived'> & AsyncIterator<Uint8Array>) | undefined;
  /** A chunk that `ready` has found, for `arrived`. */
  #found: Uint8Array | undefined;
  /** Resolves the promise of the pending `ready`. */
  #resolveReady: ((more: boolean) => void) | undefined;
  #failure: unknown;
  readonly #idleMs: number;
  #idleTimer: unknown;
  /** When the pending wait began; undefined while there is none. */
  #waitingSince: number | undefined;
  #totalTimer: unknown;
  #timedOut = '';
  #ended = false;
  #closed = false;

  private constructor(options: ExchangeOptions, what: string, transport: Transport) {
    this.#options = options;
    this.#what = what;
    this.#transport = transport;
    this.#idleMs = options.idleMs ?? 0;
    // One listener for all reads: adding and removing one for each read costs more than processing
    // a short chunk.
    this.#abort.signal.addEventListener('abort', () => this.#endWait(), { once: true });
    if (options.signal.aborted) this.#onSignal();
    else options.signal.addEventListener('abort', this.#onSignal, { once: true });
    const { clock, totalMs } = options;
    if (totalMs !== undefined)
      this.#totalTimer = clock.setTimer(
        () => this.#expire(`not over after ${totalMs} ms`),
        totalMs,
      );
  }

  /**
   * Sends the request, unless the signal has fired; resolves when status and headers have arrived.
   * Rejects with the transport's error, with a TransportError for a deadline, or with CapstanError
   * ABORTED.
   */
  static async open(
    transport: Transport,
    request: TransportRequest,
    options: ExchangeOptions,
  ): Promise<Exchange> {
    const what = `${request.method} ${request.path}`;
    if (options.signal.aborted) throw aborted(what, options.signal.reason);
    const exchange = new Exchange(options, what, transport);
    try {
      exchange.#response = await exchange.#within(() =>
        transport.request({ ...request, transient: true, signal: exchange.#abort.signal }),
      );
      return exchange;
    } catch (error) {
      exchange.close();
      throw error;
    }
  }

  get status(): number {
    return this.#response?.status ?? 0;
  }

  header(name: string): string | null {
    return this.#response?.headers.get(name) ?? null;
  }

  /** The next bytes, or `undefined` at the end of the body. Valid until the next call. */
  async read(): Promise<Uint8Array | undefined> {
    if (this.#ended || this.#closed || this.#response === undefined) return undefined;
    this.#chunks ??= this.#response.body[Symbol.asyncIterator]();
    const chunks = this.#chunks;
    try {
      const { done, value } = await this.#within(() => chunks.next());
      if (!done) return value;
      this.#ended = true;
      return undefined;
    } catch (error) {
      this.#ended = true;
      throw error;
    }
  }

  /**
   * Waits for bytes, which `arrived` then gives. Resolves to false at the end of the body, and
   * where `read` would reject, with `failure`. Never rejects. For an event that comes alone it
   * makes one promise; `read` makes four, and four closures.
   */
  ready(): Promise<boolean> {
    if (this.#ended || this.#closed || this.#response === undefined) return Promise.resolve(false);
    this.#chunks ??= this.#response.body[Symbol.asyncIterator]();
    return this.#chunks.whenArrived === undefined
      ? this.#readAhead()
      : new Promise(this.#waitForArrival);
  }

  /** The error with which `ready` ended the body. */
  get failure(): unknown {
    return this.#failure;
  }

  async #readAhead(): Promise<boolean> {
    try {
      this.#found = await this.read();
      return this.#found !== undefined;
    } catch (error) {
      this.#failure = error;
      return false;
    }
  }

  readonly #waitForArrival = (resolve: (more: boolean) => void): void => {
    this.#resolveReady = resolve;
    this.#beginWait();
    this.#endWait = this.#failReady;
    if (this.#abort.signal.aborted) this.#endWait();
    else if (this.#takeArrived()) this.#isReady();
    else this.#chunks?.whenArrived?.(this.#onArrival);
  };

  readonly #onArrival = (): void => {
    if (this.#resolveReady === undefined) return; // a deadline or the signal has ended it
    if (this.#takeArrived()) this.#isReady();
    else void this.#readAhead().then((more) => this.#settleReady(more));
  };

  readonly #failReady = (): void => {
    this.#failure ??= this.#reasonOf(this.#abortedError());
    this.#ended = true;
    this.#settleReady(false);
  };

  #takeArrived(): boolean {
    this.#found = this.#chunks?.arrived?.();
    return this.#found !== undefined;
  }

  #isReady(): void {
    this.#waitingSince = undefined;
    try {
      const { clock, onBytes } = this.#options;
      onBytes?.(clock.now());
      this.#settleReady(true);
    } catch (error) {
      this.#failure = error;
      this.#ended = true;
      this.#settleReady(false);
    }
  }

  #settleReady(more: boolean): void {
    const resolve = this.#resolveReady;
    this.#resolveReady = undefined;
    resolve?.(more);
  }

  /**
   * The next bytes if they have arrived already. The end of the body and its errors come from
   * `read` and `ready`.
   */
  arrived(): Uint8Array | undefined {
    const found = this.#found;
    if (found !== undefined) {
      this.#found = undefined;
      return found;
    }
    if (this.#ended || this.#closed || this.#chunks?.arrived === undefined) return undefined;
    return this.#chunks.arrived();
  }

  /**
   * The rest of the body as text. A byte order mark stays, so that JSON.parse refuses it as Go
   * does. Rejects with CapstanError TOO_LARGE beyond `maxBytes`, before more is read.
   *
   * @param advice what to do about an answer that is too long, for the message
   */
  async text(
    maxBytes: number = MOST_ANSWER_BYTES,
    advice = 'it is no answer to that request',
  ): Promise<string> {
    if (Number(this.header('content-length')) > maxBytes)
      throw tooLargeError(this.#what, maxBytes, advice);
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
    let text = '';
    let bytes = 0;
    for (let chunk = await this.read(); chunk !== undefined; chunk = await this.read()) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw tooLargeError(this.#what, maxBytes, advice);
      text += decoder.decode(chunk, { stream: true });
    }
    return text + decoder.decode();
  }

  /**
   * The body of a failure as text, up to 64 KiB and 10 s; then closes. Never rejects: the status
   * alone decides what kind of failure it is. A body that is read to its end lets the connection be
   * used again.
   */
  async explanation(): Promise<string> {
    const { clock } = this.#options;
    const { maxBytes, totalMs } = EXPLANATION;
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
    let text = '';
    let bytes = 0;
    const timer = clock.setTimer(() => this.#expire(`not over after ${totalMs} ms`), totalMs);
    try {
      for (let chunk = await this.read(); chunk !== undefined; chunk = await this.read()) {
        text += decoder.decode(chunk, { stream: true });
        bytes += chunk.length;
        if (bytes >= maxBytes) break;
      }
    } catch {
      // the text that has arrived so far is returned
    } finally {
      clock.clearTimer(timer);
      this.close();
    }
    return text;
  }

  /** Ends the exchange. A second call has no effect. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#found = undefined;
    const { clock, signal } = this.#options;
    clock.clearTimer(this.#idleTimer);
    clock.clearTimer(this.#totalTimer);
    signal.removeEventListener('abort', this.#onSignal);
    if (this.#ended) return;
    this.#abort.abort();
    const chunks = this.#chunks;
    if (chunks?.return === undefined) return;
    // Not awaited: a generator answers only after its pending read, which a dead connection may
    // never end.
    (async () => chunks.return?.())().catch(() => undefined);
  }

  /** The promise of `start`, which also ends with the signal and at the deadlines. */
  #within<T>(start: () => Promise<T>): Promise<T> {
    const { clock, onBytes } = this.#options;
    this.#beginWait();
    return new Promise((resolve, reject) => {
      const fail = (cause: unknown): void => reject(this.#reasonOf(cause));
      const { signal: abort } = this.#abort;
      this.#endWait = () => fail(this.#abortedError());
      if (abort.aborted) this.#endWait();
      const succeed = (value: T): void => {
        if (abort.aborted) return; // rejected already
        this.#waitingSince = undefined;
        try {
          onBytes?.(clock.now());
          resolve(value);
        } catch (error) {
          fail(error);
        }
      };
      try {
        Promise.resolve(start()).then(succeed, fail);
      } catch (error) {
        fail(error);
      }
    });
  }

  #beginWait(): void {
    this.#waitingSince = this.#options.clock.now();
    if (this.#idleTimer === undefined && this.#idleMs > 0) this.#watchSilence(this.#idleMs);
  }

  #abortedError(): CapstanError {
    return aborted(`${this.#what}${this.#waits()}`, this.#abort.signal.reason);
  }

  /**
   * Ends a wait and returns the error for its caller: that of the deadline, if it ended the wait,
   * else `cause`.
   */
  #reasonOf(cause: unknown): unknown {
    this.#waitingSince = undefined;
    if (this.#timedOut === '' || this.#options.signal.aborted) return cause;
    const waits = this.#waits();
    return new TransportError(
      waits === '' ? 'reset' : 'refused',
      waits === ''
        ? `the server was ${this.#timedOut}; the connection was given up`
        : `${this.#what}${waits} was given up: ${this.#timedOut}`,
      { cause },
    );
  }

  /** What the request waits for before it is sent, as part of a message. */
  #waits(): string {
    const waits = this.#response === undefined ? this.#transport.waitsFor?.() : undefined;
    return waits === undefined ? '' : `, which waited for ${waits},`;
  }

  /**
   * One timer for many reads: when it fires, it checks how old the pending wait is. A timer for
   * each chunk would cost more than the chunk.
   */
  #watchSilence(ms: number): void {
    const { clock } = this.#options;
    this.#idleTimer = clock.setTimer(() => {
      this.#idleTimer = undefined;
      // the next wait sets it again
      if (this.#waitingSince === undefined || this.#idleMs === 0) return NOTHING_STARTED;
      const left = this.#waitingSince + this.#idleMs - clock.now();
      if (left > 0) {
        this.#watchSilence(left);
        return NOTHING_STARTED;
      }
      this.#expire(`silent for ${this.#idleMs} ms`);
      return undefined;
    }, ms);
  }

  #expire(how: string): void {
    this.#timedOut = how;
    this.#abort.abort();
  }
}

/** A Status is a few hundred bytes; a proxy's page some kilobytes. */
const EXPLANATION = { maxBytes: 65_536, totalMs: 10_000 };

/**
 * Default of the longest answer that is read as one text. Parsed, it takes a multiple of that, and
 * V8 gives a process 2 to 4 GiB. An object is 1.5 MiB at most (etcd).
 */
const MOST_ANSWER_BYTES = 256 * 1024 * 1024;

export function tooLargeError(what: string, maxBytes: number, advice: string): CapstanError {
  return new CapstanError(
    'TOO_LARGE',
    `${what}: the answer is longer than ${maxBytes} bytes: ${advice}`,
  );
}
