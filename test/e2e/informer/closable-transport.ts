/** A transport that can be closed and opened again, as a network that is down. */
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

  /** Refuses new requests. Requests in progress continue. */
  shut(): void {
    this.#shut = true;
  }

  open(): void {
    this.#shut = false;
  }
}
