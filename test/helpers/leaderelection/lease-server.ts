/**
 * A server with one Lease in memory: read, create, compare-and-swap. Tests add the faults between
 * it and a candidate.
 */
import { type Transport, TransportError, type TransportRequest } from 'capstan/cache';

export interface LeaseObject {
  apiVersion: string;
  kind: string;
  metadata: {
    namespace?: string;
    name?: string;
    uid?: string;
    resourceVersion?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
  };
  spec: {
    holderIdentity?: string;
    leaseDurationSeconds?: number;
    leaseTransitions?: number;
    acquireTime?: string;
    renewTime?: string;
  };
}

export interface LeaseAnswer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Record<string, string>;
}

export const failure = (
  status: number,
  reason: string,
  headers: Record<string, string> = {},
): LeaseAnswer => ({
  status,
  headers,
  body: {
    apiVersion: 'v1',
    kind: 'Status',
    status: 'Failure',
    code: status,
    reason,
    message: reason,
  },
});

export class LeaseServer {
  lease: LeaseObject | undefined;
  #version = 0;

  /** Stores a lease as another client's write would. */
  put(spec: LeaseObject['spec'], metadata: LeaseObject['metadata'] = {}): void {
    this.#store({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec });
  }

  answer({ method, body }: TransportRequest): LeaseAnswer {
    const sent = body === undefined ? undefined : (JSON.parse(String(body)) as LeaseObject);
    if (method === 'POST' && sent !== undefined)
      return this.lease === undefined
        ? { status: 201, body: this.#store(sent) }
        : failure(409, 'AlreadyExists');
    if (this.lease === undefined) return failure(404, 'NotFound');
    if (method === 'PUT' && sent !== undefined) {
      if (sent.metadata.resourceVersion !== this.lease.metadata.resourceVersion)
        return failure(409, 'Conflict');
      this.#store(sent);
    }
    return { status: 200, body: this.lease };
  }

  #store(lease: LeaseObject): LeaseObject {
    const metadata = { namespace: 'ns', name: 'lock', uid: 'u1', ...lease.metadata };
    this.lease = { ...lease, metadata: { ...metadata, resourceVersion: String(++this.#version) } };
    return this.lease;
  }
}

/**
 * A transport to the server. `intercept` may replace responses and failures; if it returns
 * `undefined`, the request goes through.
 */
export class LeaseTransport implements Transport {
  /** The methods of the requests, in order. */
  readonly methods: string[] = [];
  readonly requests: TransportRequest[] = [];
  intercept: (
    request: TransportRequest,
    number: number,
  ) => Promise<LeaseAnswer | undefined> | LeaseAnswer | undefined = () => undefined;
  readonly #server: LeaseServer;

  constructor(server: LeaseServer) {
    this.#server = server;
  }

  async request(request: TransportRequest) {
    this.methods.push(request.method);
    this.requests.push(request);
    const instead = await this.intercept(request, this.requests.length);
    if (request.signal?.aborted) throw new TransportError('aborted', 'the request was aborted');
    return response(instead ?? this.#server.answer(request));
  }
}

export function response({ status, body, headers = {} }: LeaseAnswer) {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return {
    status,
    headers: new Headers(headers),
    body: (async function* () {
      yield new TextEncoder().encode(text);
    })(),
  };
}

/** Never responds; rejects when the request is aborted. */
export function silence(request: TransportRequest): Promise<never> {
  return new Promise((_, reject) => {
    request.signal?.addEventListener('abort', () =>
      reject(new TransportError('aborted', 'the request was aborted')),
    );
  });
}
