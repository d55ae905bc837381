/**
 * One HTTP exchange under a deadline: whatever the transport does, `open` and `read` end when the signal fires or the
 * time is over, and `close` gives the connection back. A transport that ignores its signal cannot hold a reflector.
 */
import type { Clock } from '../clock.ts';
import { type Transport, TransportError, type TransportRequest, type TransportResponse } from './transport.ts';
import { abortable } from './wait.ts';

export interface ExchangeOptions {
  clock: Clock;
  signal: AbortSignal;
  /** Longest silence: without an answer, and then without another byte. */
  idleMs?: number;
  /** Longest duration in all, from the request to the end of the body. */
  totalMs?: number;
}

export class Exchange {
  readonly #options: ExchangeOptions;
  readonly #abort = new AbortController();
  readonly #onSignal = (): void => this.#abort.abort(this.#options.signal.reason);
  #response: TransportResponse | undefined;
  #chunks: AsyncIterator<Uint8Array> | undefined;
  #idleTimer: unknown;
  #totalTimer: unknown;
  #timedOut = '';
  #ended = false;
  #closed = false;

  private constructor(options: ExchangeOptions) {
    this.#options = options;
    if (options.signal.aborted) this.#onSignal();
    else options.signal.addEventListener('abort', this.#onSignal, { once: true });
    const { clock, totalMs } = options;
    if (totalMs !== undefined)
      this.#totalTimer = clock.setTimer(() => this.#expire(`not over after ${totalMs} ms`), totalMs);
  }

  /** Sends the request; resolves with status and headers. Rejects with what the transport says, or with a TransportError. */
  static async open(transport: Transport, request: TransportRequest, options: ExchangeOptions): Promise<Exchange> {
    const exchange = new Exchange(options);
    try {
      const sent = (async () => transport.request({ ...request, signal: exchange.#abort.signal }))();
      exchange.#response = await exchange.#within(sent);
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

  /** The next bytes, or `undefined` at the end of the body. */
  async read(): Promise<Uint8Array | undefined> {
    if (this.#ended || this.#closed || this.#response === undefined) return undefined;
    this.#chunks ??= this.#response.body[Symbol.asyncIterator]();
    const chunks = this.#chunks;
    try {
      const { done, value } = await this.#within((async () => chunks.next())());
      if (!done) return value;
      this.#ended = true;
      return undefined;
    } catch (error) {
      this.#ended = true;
      throw error;
    }
  }

  /** The rest of the body as text. A byte order mark stays, so that JSON.parse refuses it as Go does. */
  async text(): Promise<string> {
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
    let text = '';
    for (let chunk = await this.read(); chunk !== undefined; chunk = await this.read()) {
      text += decoder.decode(chunk, { stream: true });
    }
    return text + decoder.decode();
  }

  /** Reads a short rest to its end, so that the connection can be used again, then closes. Never rejects. */
  async discard(): Promise<void> {
    try {
      let left = DISCARD_BYTES;
      for (let chunk = await this.read(); chunk !== undefined && left > 0; chunk = await this.read())
        left -= chunk.length;
    } catch {
      // The answer has been judged by its status; that its rest was lost changes nothing.
    }
    this.close();
  }

  /** Ends the exchange. Again: no effect. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    const { clock, signal } = this.#options;
    clock.clearTimer(this.#idleTimer);
    clock.clearTimer(this.#totalTimer);
    signal.removeEventListener('abort', this.#onSignal);
    if (this.#ended) return;
    this.#abort.abort();
    const chunks = this.#chunks;
    if (chunks?.return === undefined) return;
    // Not awaited: a generator answers only after its pending read, which a dead connection may never end.
    (async () => chunks.return?.())().catch(() => undefined);
  }

  /** The promise, bounded by the signal and by the deadlines. */
  async #within<T>(promise: Promise<T>): Promise<T> {
    const { clock, idleMs, signal } = this.#options;
    if (idleMs !== undefined) this.#idleTimer = clock.setTimer(() => this.#expire(`silent for ${idleMs} ms`), idleMs);
    try {
      return await abortable(promise, this.#abort.signal);
    } catch (error) {
      if (this.#timedOut !== '' && !signal.aborted) {
        throw new TransportError('reset', `the server was ${this.#timedOut}; the connection was given up`, {
          cause: error,
        });
      }
      throw error;
    } finally {
      if (idleMs !== undefined) clock.clearTimer(this.#idleTimer);
    }
  }

  #expire(how: string): void {
    this.#timedOut = how;
    this.#abort.abort();
  }
}

/** client-go: rest/request.go readAndCloseResponseBody reads on up to 2 KiB; a Status can be a little longer. */
const DISCARD_BYTES = 8192;
