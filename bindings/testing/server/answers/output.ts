/**
 * Writes an answer to a response: compresses it if both sides support that, and applies the faults
 * that cut the connection after some bytes or split the body. Callers need not know of the faults.
 */
import { gzipSync } from 'node:zlib';
import { macrotask } from '../../../base/clock.ts';

export type Headers = Record<string, string | number | string[]>;

/**
 * The part of Node's ServerResponse that is used here; also implemented by the reply in memory.
 */
export interface Reply {
  /** The socket to cut; null afterwards. */
  readonly socket: { destroySoon(): void; resetAndDestroy(): unknown; destroy(): unknown } | null;
  readonly writableNeedDrain: boolean;
  readonly closed: boolean;
  readonly destroyed: boolean;
  writeHead(code: number, headers: Headers): unknown;
  flushHeaders(): void;
  write(bytes: Buffer): boolean;
  end(bytes?: Buffer): unknown;
  destroy(): unknown;
  on(event: 'drain', run: () => void): unknown;
  once(event: 'close', run: () => void): unknown;
}

/** The value of a Warning header. */
export const warningHeader = (why: string): string => `299 - ${JSON.stringify(why)}`;

/** apiserver: endpoints/handlers/responsewriters/writers.go, defaultGzipThresholdBytes. */
const GZIP_ABOVE = 128 * 1024;

export class Output {
  readonly #response: Reply;
  readonly #acceptsGzip: boolean;
  #compressed = false;
  /** Bytes of the body that are still sent before the connection is cut. */
  #left = Number.POSITIVE_INFINITY;
  #cut = false;
  /** Bytes in a chunk of the body. */
  #pieces = Number.POSITIVE_INFINITY;
  /** Chunks and actions for later turns of the event loop; undefined while none wait. */
  #queue: (Buffer | (() => void))[] | undefined;

  /** @param acceptEncoding the request's header */
  constructor(response: Reply, acceptEncoding = '') {
    this.#response = response;
    // apiserver: negotiateContentEncoding compares with exactly `gzip`; `gzip;q=1` does not match.
    this.#acceptsGzip = acceptEncoding.split(',').some((token) => token.trim() === 'gzip');
  }

  /** Cuts the connection after that many bytes of the body. */
  cutAfter(bytes: number): void {
    this.#left = bytes;
  }

  /** Sends the body in chunks of that many bytes, one in a turn of the event loop. */
  splitInto(bytes: number): void {
    this.#pieces = bytes;
  }

  /**
   * Sends status and headers at once. Without a length the body is chunked.
   *
   * @param compress each write is its own gzip member, if the client accepts gzip
   */
  begin(code: number, headers: Headers, compress = false): void {
    this.#compressed = compress && this.#acceptsGzip;
    this.#response.writeHead(code, this.#compressed ? { ...headers, ...GZIPPED } : headers);
    this.#response.flushHeaders();
    if (this.#left === 0) this.#cutConnection();
  }

  /** false: the socket is full; see `onDrain`. */
  write(plain: Buffer): boolean {
    if (this.#cut || plain.length === 0) return true;
    const bytes = this.#compressed ? gzipSync(plain) : plain;
    if (bytes.length < this.#left) {
      this.#left -= bytes.length;
      return this.#writePieces(bytes);
    }
    this.#writePieces(bytes.subarray(0, this.#left));
    this.#cutConnection();
    return true;
  }

  end(): void {
    if (this.#cut) return;
    this.#afterQueue(() => this.#response.end());
  }

  /** Sends a complete answer. */
  send(code: number, headers: Headers, body: string): void {
    const plain = Buffer.from(body);
    const zip = this.#acceptsGzip && plain.length > GZIP_ABOVE;
    const bytes = zip ? gzipSync(plain) : plain;
    const complete = { ...headers, ...(zip ? GZIPPED : {}), 'Content-Length': bytes.length };
    if (bytes.length < this.#left && this.#pieces === Number.POSITIVE_INFINITY) {
      this.#response.writeHead(code, complete);
      this.#response.end(bytes);
      return;
    }
    this.begin(code, complete);
    if (!this.#cut) this.write(bytes);
    this.end();
  }

  get full(): boolean {
    return this.#response.writableNeedDrain;
  }

  get closed(): boolean {
    return this.#response.closed || this.#response.destroyed;
  }

  onDrain(run: () => void): void {
    this.#response.on('drain', run);
  }

  /** Calls back when the response has ended or its connection is closed. */
  onClose(run: () => void): void {
    this.#response.once('close', run);
  }

  /** Cuts the connection now. */
  destroy(): void {
    this.#response.destroy();
  }

  /** Ends the connection with a TCP reset; over TLS without a close_notify. */
  reset(): void {
    const { socket } = this.#response;
    if (socket === null) return;
    if ('encrypted' in socket) socket.destroy();
    else socket.resetAndDestroy();
  }

  #writePieces(bytes: Buffer): boolean {
    if (this.#pieces === Number.POSITIVE_INFINITY) return this.#response.write(bytes);
    const pieces: Buffer[] = [];
    for (let at = 0; at < bytes.length; at += this.#pieces)
      pieces.push(bytes.subarray(at, at + this.#pieces));
    for (const piece of pieces) this.#enqueue(piece);
    return true;
  }

  /** Runs now, or after the last waiting chunk. */
  #afterQueue(run: () => void): void {
    if (this.#queue === undefined) run();
    else this.#enqueue(run);
  }

  #enqueue(next: Buffer | (() => void)): void {
    if (this.#queue !== undefined) {
      this.#queue.push(next);
      return;
    }
    this.#queue = [next];
    void this.#drainQueue(this.#queue);
  }

  async #drainQueue(queue: (Buffer | (() => void))[]): Promise<void> {
    for (let next = queue.shift(); next !== undefined && !this.closed; next = queue.shift()) {
      if (typeof next === 'function') next();
      else this.#response.write(next);
      await macrotask();
    }
    this.#queue = undefined;
  }

  /**
   * Cuts the connection without ending the body. What was written still arrives: the cut comes some
   * turns later, as Node's HTTP client drops unread data when the connection breaks.
   */
  #cutConnection(): void {
    this.#cut = true;
    const { socket } = this.#response;
    this.#afterQueue(
      () =>
        void macrotask()
          .then(macrotask)
          .then(() => socket?.destroySoon()),
    );
  }
}

const GZIPPED = { 'Content-Encoding': 'gzip', Vary: 'Accept-Encoding' };
