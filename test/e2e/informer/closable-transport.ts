/** A transport that can be shut: then nothing gets through, as behind a network that is down. */
import {
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from 'capstan/cache';

export class ClosableTransport implements Transport {
  readonly #inner: Transport;
  #shut = false;
  readonly requests: string[] = [];

  constructor(inner: Transport) {
    this.#inner = inner;
  }

  async request(request: TransportRequest): Promise<TransportResponse> {
    if (this.#shut) throw new TransportError('refused', 'the gate is shut');
    const search = new URLSearchParams(request.query).toString();
    this.requests.push(`${request.method} ${request.path}?${search}`);
    return this.#inner.request(request);
  }

  /** New requests are refused; those under way are the server's to cut. */
  shut(): void {
    this.#shut = true;
  }

  open(): void {
    this.#shut = false;
  }
}
