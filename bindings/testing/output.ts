/**
 * The way out: a response to which bytes are written, which can be told to break off after so many of them. Whoever
 * writes need not know of that fault, and nobody else touches a ServerResponse.
 */
import type { ServerResponse } from 'node:http';
import { macrotask } from '../clock.ts';

export class Output {
  readonly #response: ServerResponse;
  /** How many bytes of the body still go out before the connection is cut. */
  #left = Number.POSITIVE_INFINITY;
  #cut = false;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  /** The connection will be cut after that many bytes of the body. */
  cutAfter(bytes: number): void {
    this.#left = bytes;
  }

  /** Status and headers, on the wire at once. Without a length the body is chunked. */
  begin(code: number, headers: Record<string, string | number>): void {
    this.#response.writeHead(code, headers);
    this.#response.flushHeaders();
    if (this.#left === 0) this.#breakOff();
  }

  /** false: the socket is full; `onDrain` tells when it no longer is. */
  write(bytes: Buffer): boolean {
    if (this.#cut) return true;
    if (bytes.length < this.#left) {
      this.#left -= bytes.length;
      return this.#response.write(bytes);
    }
    this.#response.write(bytes.subarray(0, this.#left));
    this.#breakOff();
    return true;
  }

  end(): void {
    if (!this.#cut) this.#response.end();
  }

  /** A whole answer in one go. */
  send(code: number, headers: Record<string, string | number>, body: string): void {
    const bytes = Buffer.from(body);
    const complete = { ...headers, 'Content-Length': bytes.length };
    if (bytes.length < this.#left) {
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

  /** The response has ended or its connection is gone. */
  onClose(run: () => void): void {
    this.#response.once('close', run);
  }

  /** Cuts the connection now. */
  destroy(): void {
    this.#response.destroy();
  }

  /** Ends the connection with a TCP reset. */
  reset(): void {
    this.#response.socket?.resetAndDestroy();
  }

  /**
   * What was written still arrives; the end that the protocol asks for does not. The cut comes some turns later, as a
   * network's would: node's HTTP client throws away what nobody has read yet when the connection breaks.
   */
  #breakOff(): void {
    this.#cut = true;
    const { socket } = this.#response;
    void macrotask()
      .then(macrotask)
      .then(() => socket?.destroySoon());
  }
}
