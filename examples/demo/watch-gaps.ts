/**
 * A transport that measures for how long the controller has no watch on a kind: from the end of a
 * watch to the answer of the next one. It explains the latencies under faults.
 */
import type { Transport, TransportRequest, TransportResponse } from 'capstan/cache';

export class WatchGaps implements Transport {
  readonly #inner: Transport;
  /** When the last watch on a path ended, in milliseconds. */
  readonly #endedAt = new Map<string, number>();
  #longest = { ms: 0, plural: '' };

  constructor(inner: Transport) {
    this.#inner = inner;
  }

  /** The longest gap in milliseconds, with the plural of the kind; those that last are included. */
  get longest(): { readonly ms: number; readonly plural: string } {
    const now = performance.now();
    for (const [path, endedAt] of this.#endedAt) this.#gap(path, now - endedAt);
    return this.#longest;
  }

  async request(request: TransportRequest): Promise<TransportResponse> {
    const { path } = request;
    const response = await this.#inner.request(request);
    if (request.query?.watch === undefined || response.status !== 200) return response;
    const endedAt = this.#endedAt.get(path);
    if (endedAt !== undefined) this.#gap(path, performance.now() - endedAt);
    this.#endedAt.delete(path);
    return { ...response, body: this.#untilEnd(path, response.body) };
  }

  async *#untilEnd(path: string, body: AsyncIterable<Uint8Array>) {
    try {
      yield* body;
    } finally {
      this.#endedAt.set(path, performance.now());
    }
  }

  #gap(path: string, ms: number): void {
    if (ms > this.#longest.ms) this.#longest = { ms, plural: path.split('/').at(-1) ?? '' };
  }
}
