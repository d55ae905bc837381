/** A transport whose open requests can all be cut at once, as when a load balancer restarts. */
import {
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from 'capstan/cache';

export class CuttingTransport implements Transport {
  readonly #inner: Transport;
  #scissors = new AbortController();

  constructor(inner: Transport) {
    this.#inner = inner;
  }

  cut(): void {
    const open = this.#scissors;
    this.#scissors = new AbortController();
    open.abort();
  }

  async request(request: TransportRequest): Promise<TransportResponse> {
    const cut = this.#scissors.signal;
    const signal = request.signal === undefined ? cut : AbortSignal.any([request.signal, cut]);
    try {
      const response = await this.#inner.request({ ...request, signal });
      return { ...response, body: readUntil(cut, request.signal, response.body) };
    } catch (error) {
      throw wasCut(cut, request.signal)
        ? new TransportError('reset', 'cut by the demo', { cause: error })
        : error;
    }
  }
}

async function* readUntil(
  cut: AbortSignal,
  own: AbortSignal | undefined,
  body: AsyncIterable<Uint8Array>,
) {
  try {
    yield* body;
  } catch (error) {
    throw wasCut(cut, own)
      ? new TransportError('reset', 'cut by the demo', { cause: error })
      : error;
  }
}

function wasCut(cut: AbortSignal, own: AbortSignal | undefined): boolean {
  return cut.aborted && own?.aborted !== true;
}
