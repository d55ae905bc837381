/** The transport itself: asks its source for address and credentials on every request, and owns the connections. */
import type { ClientRequest, Agent as HttpAgent } from 'node:http';
import type { Transport, TransportRequest, TransportResponse } from '../cache/transport.ts';
import { invalid, requireFunction } from '../errors.ts';
import { exchange, failed } from './exchange.ts';
import { ConnectionPool, type TlsMaterial } from './pool.ts';

/** Address and credentials of one request. */
export interface Destination {
  url: URL;
  tls: TlsMaterial;
  /** Names in lower case. */
  headers: Record<string, string>;
  /** Instead of the transport's own pool, such as an agent that goes through a proxy. It is not closed by the transport. */
  agent?: HttpAgent;
}

export class NodeTransport implements Transport {
  readonly #destination: () => Promise<Destination> | Destination;
  readonly #pool = new ConnectionPool();
  /** Each open exchange, and how to end it. */
  readonly #open = new Map<ClientRequest, () => void>();
  #closed = false;

  /** `destination` may throw a TransportError; it is asked for every request. */
  constructor(destination: () => Promise<Destination> | Destination) {
    requireFunction('destination', destination);
    this.#destination = destination;
  }

  async request(request: TransportRequest): Promise<TransportResponse> {
    requireRequest(request);
    const { signal } = request;
    if (signal?.aborted) throw failed('aborted', `${request.method} ${request.path}`, signal.reason);
    const { url, tls, headers, agent } = await unlessAborted(this.#destination(), request);
    if (this.#closed) throw failed('refused', `${request.method} ${request.path}: the transport is closed`);
    const route = { url, tls, headers, agent: agent ?? this.#pool.agent(url.protocol === 'https:', tls) };
    return exchange(route, request, (client, end) => {
      this.#open.set(client, end);
      client.once('close', () => this.#open.delete(client));
    });
  }

  /** Ends every open exchange (its reader gets kind 'reset') and the pool; later requests fail with kind 'refused'. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#pool.close();
    const ending = [...this.#open].map(([client, end]) => {
      const closed = new Promise((resolve) => client.once('close', resolve));
      end();
      return closed;
    });
    await Promise.all(ending);
  }
}

function requireRequest(request: TransportRequest): void {
  if (typeof request !== 'object' || request === null) throw invalid('request', 'an object { method, path }', request);
  if (typeof request.method !== 'string') throw invalid('request.method', 'a string such as "GET"', request.method);
  if (typeof request.path !== 'string' || !request.path.startsWith('/')) {
    throw invalid('request.path', 'a path that starts with "/"', request.path);
  }
}

/** An exec plugin may take its time; whoever aborts does not wait for it. */
function unlessAborted<T>(work: Promise<T> | T, { signal, method, path }: TransportRequest): Promise<T> | T {
  if (signal === undefined || !(work instanceof Promise)) return work;
  return new Promise<T>((resolve, reject) => {
    const onAbort = (): void => reject(failed('aborted', `${method} ${path}`, signal.reason));
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/** @throws CapstanError INVALID_ARGUMENT for anything but an http(s) URL */
export function serverURL(name: string, server: unknown): URL {
  const url = typeof server === 'string' && URL.canParse(server) ? new URL(server) : undefined;
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw invalid(name, 'an http or https URL such as "https://10.0.0.1:6443"', server);
  }
  return url;
}
