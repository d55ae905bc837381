/**
 * A reply in memory: its body is an async iterable, and a slow reader makes the writer wait, as a
 * socket does. It ends in order, or with an error when the connection is cut.
 */
import { TransportError } from '../../../cache/rest/transport.ts';
import type { Headers, Reply } from './output.ts';

/** About as much as a socket and its kernel buffers hold. */
const HIGH_WATER = 64 * 1024;

export class MemoryReply implements Reply {
  readonly head: Promise<{ status: number; headers: { get(name: string): string | null } }>;
  #begin: (head: { status: number; headers: { get(name: string): string | null } }) => void =
    () => {};
  #fail: (error: TransportError) => void = () => {};
  #chunks: Buffer[] = [];
  #length = 0;
  #needsDrain = false;
  #ended = false;
  #error: TransportError | undefined;
  #closed = false;
  #read = false;
  #onRead: () => void = () => {};
  #wake: () => void = () => {};
  readonly #drains = new Set<() => void>();
  readonly #closes = new Set<() => void>();

  constructor() {
    this.head = new Promise((resolve, reject) => {
      this.#begin = resolve;
      this.#fail = reject;
    });
    // If the request was aborted before, nothing awaits this promise.
    this.head.catch(() => undefined);
  }

  get socket(): Reply['socket'] {
    if (this.#closed) return null;
    const cut = (): void =>
      this.cut(new TransportError('reset', 'the answer ended early (in process)'));
    return { destroy: cut, destroySoon: cut, resetAndDestroy: cut };
  }

  get writableNeedDrain(): boolean {
    return this.#needsDrain;
  }

  get closed(): boolean {
    return this.#closed;
  }

  get destroyed(): boolean {
    return this.#closed;
  }

  writeHead(code: number, headers: Headers): void {
    const named = new Map(
      Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
    );
    const get = (name: string): string | null => {
      const value = named.get(name.toLowerCase());
      if (value === undefined) return null;
      return Array.isArray(value) ? value.join(', ') : String(value);
    };
    this.#begin({ status: code, headers: { get } });
  }

  /** Nothing to do: headers are not buffered. */
  flushHeaders(): void {}

  write(bytes: Buffer): boolean {
    if (this.#closed) return true;
    this.#chunks.push(bytes);
    this.#length += bytes.length;
    this.#needsDrain = this.#length >= HIGH_WATER;
    this.#wake();
    return !this.#needsDrain;
  }

  end(bytes?: Buffer): void {
    if (bytes !== undefined) this.write(bytes);
    this.#ended = true;
    this.#wake();
    this.#close();
  }

  destroy(): void {
    this.cut(new TransportError('reset', 'the connection was cut (in process)'));
  }

  /** Ends the body with the error, after what was written. */
  cut(error: TransportError): void {
    if (this.#closed) return;
    this.#error = error;
    this.#fail(error);
    this.#wake();
    this.#close();
  }

  /** Ends the body with the error at once, even if the answer is complete. */
  abort(error: TransportError): void {
    if (this.#read) return;
    this.#chunks = [];
    this.#error = error;
    this.#fail(error);
    this.#wake();
    this.#close();
  }

  /** Called when the body was read to its end, or the reader has left. */
  onRead(run: () => void): void {
    this.#onRead = run;
  }

  on(_event: 'drain', run: () => void): void {
    this.#drains.add(run);
  }

  once(_event: 'close', run: () => void): void {
    if (this.#closed) run();
    else this.#closes.add(run);
  }

  /** The body, to be read once. */
  async *read(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        const chunk = this.#chunks.shift();
        if (chunk !== undefined) {
          this.#consumed(chunk.length);
          yield chunk;
        } else if (this.#error !== undefined) throw this.#error;
        else if (this.#ended) return;
        else await this.#nextWrite();
      }
    } finally {
      this.#read = true;
      this.#onRead();
      // For the server, a reader that leaves early closes the connection.
      this.#close();
    }
  }

  #nextWrite(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #consumed(bytes: number): void {
    this.#length -= bytes;
    if (!this.#needsDrain || this.#length > 0) return;
    this.#needsDrain = false;
    for (const run of this.#drains) run();
  }

  #close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const run of this.#closes) run();
    this.#closes.clear();
  }
}
