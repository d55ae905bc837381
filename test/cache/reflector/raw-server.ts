/** A server of one resource that sends exactly the bytes and chunks of a test. */
import type { Transport, TransportRequest } from 'capstan/cache';

export class RawServer implements Transport {
  readonly #list: Uint8Array;
  readonly #parts: Uint8Array[] = [];
  #wake: () => void = () => undefined;

  /** @param list the body of every list */
  constructor(list: Uint8Array) {
    this.#list = list;
  }

  /** The next bytes of the watch. */
  send(part: Uint8Array): void {
    this.#parts.push(part);
    this.#wake();
  }

  async request({ query, signal }: TransportRequest) {
    const body = query?.watch === 'true' ? this.#watch(signal) : once(this.#list);
    return { status: 200, headers: new Headers(), body };
  }

  async *#watch(signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
    signal?.addEventListener('abort', () => this.#wake());
    while (!signal?.aborted) {
      const part = this.#parts.shift();
      if (part !== undefined) {
        const bytes = part.slice();
        yield bytes;
        bytes.fill(0x21); // what a reader that keeps the buffer instead of a copy finds
      } else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  const parts = bytes.slice();
  yield parts;
  parts.fill(0x21);
}
