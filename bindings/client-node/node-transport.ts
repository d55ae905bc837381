/**
 * The transport of this folder: gets address and credentials for each request from its source, and
 * owns the connections.
 */
/// <reference lib="esnext.disposable" preserve="true" />

import type { Agent as HttpAgent } from 'node:http';
import { type Clock, systemClock } from '../base/clock.ts';
import { requireNode } from '../base/environment.ts';
import { invalid, requireFunction } from '../base/errors.ts';
import { namesOf } from '../base/names.ts';
import { onAbort } from '../base/wait.ts';
import {
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from '../cache/rest/transport.ts';
import { DialError } from './dial.ts';
import { exchange } from './exchange.ts';
import { ConnectionPool, type Connections } from './pool.ts';
import type { Tunnel } from './proxy.ts';
import { IS_NODE } from './socket.ts';
import { streamExchange } from './stream-exchange.ts';
import {
  type Closable,
  describe,
  failed,
  type RequestTarget,
  requestAborted,
  type Track,
  withSecondTry,
} from './wire.ts';

/**
 * Milliseconds after which a request that waits for credentials asks again: the pending read may
 * hang (an exec plugin) and a new one may not.
 */
const ASK_AGAIN = 10_000;

/** Options of a transport's connections. Times are milliseconds. */
export interface ConnectionOptions {
  /**
   * `'auto'`, the default: HTTP/2 if an https server offers it by ALPN, and then all requests and
   * watches share a connection; else HTTP/1.1, also over plain http or SOCKS. `false`: always
   * HTTP/1.1. Deno's and Bun's node:http2 are not used.
   */
  http2?: 'auto' | false | undefined;
  /**
   * HTTP/2: a PING is sent after this time without a byte while a request or watch is open. Default
   * 30 000; 0: never. Go: http2.Transport.ReadIdleTimeout.
   */
  readIdleTimeout?: number | undefined;
  /**
   * HTTP/2: the connection counts as lost (kind 'reset') if a PING is not answered within this
   * time. Default 15 000. Go: http2.Transport.PingTimeout.
   */
  pingTimeout?: number | undefined;
  /** The clock of these times, and of the 30 000 ms limit for connecting. Default: the system's. */
  clock?: Clock | undefined;
}

export const CONNECTION_NAMES = namesOf<ConnectionOptions>()({
  http2: 1,
  readIdleTimeout: 1,
  pingTimeout: 1,
  clock: 1,
});

/** The address and credentials of one request. */
export interface Destination extends RequestTarget {
  /** Used instead of the transport's pool, as for SOCKS. The transport does not close it. */
  agent?: HttpAgent | undefined;
  /** The way through a proxy of http or https. */
  tunnel?: Tunnel | undefined;
  /** Called if the server answers 401. A returned error replaces that answer. */
  refused?: () => TransportError | undefined;
}

/**
 * Reads the destination. A caller that waits for a pending read passes it as `before`; a new read
 * may then settle it sooner.
 */
export type DestinationSource = (
  before?: Promise<Destination>,
) => Promise<Destination> | Destination;

export class NodeTransport implements Transport, AsyncDisposable {
  readonly #destination: DestinationSource;
  readonly #waitsFor: () => string | undefined;
  readonly #clock: Clock;
  readonly #mayShare: boolean;
  readonly #pool: ConnectionPool;
  /** The open exchanges, with the function that ends each. */
  readonly #open = new Map<Closable, () => void>();
  readonly #track: Track = (running, end) => {
    this.#open.set(running, end);
    running.once('close', () => this.#open.delete(running));
  };
  /** Ends each request that waits for credentials. */
  readonly #waiting = new Set<() => void>();
  #closed = false;
  #host = 'none';

  /**
   * `destination` is called for every request and may throw a TransportError. `waitsFor` names what
   * it waits for.
   */
  constructor(
    destination: DestinationSource,
    options: ConnectionOptions = {},
    waitsFor: () => string | undefined = () => undefined,
  ) {
    requireNode('capstan/client-node');
    requireFunction('destination', destination);
    const {
      http2 = 'auto',
      readIdleTimeout = 30_000,
      pingTimeout = 15_000,
      clock = systemClock,
    } = options;
    if (http2 !== 'auto' && http2 !== false)
      throw invalid('options.http2', '"auto" or false', http2);
    requireTime('options.readIdleTimeout', readIdleTimeout, readIdleTimeout >= 0);
    requireTime('options.pingTimeout', pingTimeout, pingTimeout > 0);
    this.#destination = destination;
    this.#waitsFor = waitsFor;
    this.#mayShare = http2 === 'auto' && IS_NODE;
    this.#clock = clock;
    this.#pool = new ConnectionPool({ clock, readIdleTimeout, pingTimeout });
  }

  async request(request: TransportRequest): Promise<TransportResponse> {
    requireRequest(request);
    const { signal } = request;
    if (signal?.aborted)
      throw failed('aborted', `${request.method} ${request.path}`, signal.reason);
    this.#requireOpen(request);
    const destination = await this.#whereTo(request);
    this.#host = destination.url.host;
    this.#requireOpen(request);
    const response = await this.#exchange(destination, request);
    const refusal = response.status === 401 ? destination.refused?.() : undefined;
    if (refusal === undefined) return response;
    void response.body[Symbol.asyncIterator]().return?.();
    throw refusal;
  }

  async #exchange(destination: Destination, request: TransportRequest): Promise<TransportResponse> {
    const { agent } = destination;
    if (agent !== undefined) {
      // Never without the agent: a request that bypasses the proxy would send the credentials
      // elsewhere.
      return withSecondTry(request, () =>
        exchange({ ...destination, agent, clock: this.#clock }, request, this.#track),
      );
    }
    // One destination for both tries: another request may bring other credentials in between.
    const connections = this.#pool.for(destination);
    try {
      return await withSecondTry(request, (fresh) =>
        this.#send(connections, destination, request, fresh),
      );
    } catch (error) {
      if (error instanceof TransportError && error.kind !== 'aborted') connections.forgetProtocol();
      throw error;
    }
  }

  async #send(
    connections: Connections,
    destination: Destination,
    request: TransportRequest,
    fresh: boolean,
  ): Promise<TransportResponse> {
    this.#requireOpen(request);
    if (this.#mayShare && destination.url.protocol === 'https:') {
      const session = await connections.session(request.signal, fresh).catch((error: unknown) => {
        if (!(error instanceof DialError)) throw error;
        throw failed(
          error.kind,
          `${describe(request, destination)}: no answer`,
          error.cause ?? error,
        );
      });
      if (request.signal?.aborted) {
        session?.release();
        throw requestAborted(request, destination, request.signal);
      }
      if (this.#closed) session?.release();
      this.#requireOpen(request);
      if (session !== undefined) return streamExchange(session, destination, request, this.#track);
    }
    const agent = fresh ? connections.freshAgent() : connections.agent;
    return exchange({ ...destination, agent, clock: this.#clock }, request, this.#track);
  }

  waitsFor(): string | undefined {
    return this.#waiting.size === 0 ? undefined : this.#waitsFor();
  }

  /** The server's host; `none` before the first request, which reads it. */
  host(): string {
    return this.#host;
  }

  /**
   * Ends every open exchange (its reader gets kind 'reset') and the pool. Requests that wait for
   * credentials, and later ones, reject with kind 'refused'.
   */
  async close(): Promise<void> {
    this.#closed = true;
    for (const leave of this.#waiting) leave();
    const ending = [...this.#open].map(([running, end]) => {
      const ended = new Promise<void>((resolve) => running.once('close', resolve));
      end();
      return ended;
    });
    this.#pool.close();
    await Promise.all(ending);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #requireOpen(request: TransportRequest): void {
    if (this.#closed) throw closed(request);
  }

  /**
   * An exec plugin may hang: a request that is aborted, or whose transport is closed, does not wait
   * for it.
   */
  #whereTo(request: TransportRequest): Promise<Destination> | Destination {
    const work = this.#destination();
    if (!(work instanceof Promise)) return work;
    const { signal, method, path } = request;
    let unlisten = (): void => undefined;
    let onClose = (): void => undefined;
    let timer: unknown;
    const done = new Promise<Destination>((resolve, reject) => {
      unlisten = onAbort(signal, () => {
        const waits = this.#waitsFor();
        const what = `${method} ${path}${waits === undefined ? '' : `, which waited for ${waits}`}`;
        reject(failed('aborted', what, signal?.reason));
      });
      onClose = () => reject(closed(request));
      work.then(resolve, reject);
      const askLater = (): void => {
        timer = this.#clock.setTimer(() => {
          askLater();
          // A failure here does not matter to callers that wait for `work`.
          (async () => this.#destination(work))().catch(() => undefined);
        }, ASK_AGAIN);
      };
      askLater();
    });
    this.#waiting.add(onClose);
    return done.finally(() => {
      unlisten();
      this.#waiting.delete(onClose);
      this.#clock.clearTimer(timer);
    });
  }
}

function closed({ method, path }: TransportRequest): TransportError {
  return failed('refused', `${method} ${path}: the transport is closed`);
}

function requireTime(name: string, ms: unknown, inRange: boolean): void {
  if (typeof ms !== 'number' || !inRange) throw invalid(name, 'a number of milliseconds', ms);
}

function requireRequest(request: TransportRequest): void {
  if (typeof request !== 'object' || request === null)
    throw invalid('request', 'an object { method, path }', request);
  if (typeof request.method !== 'string')
    throw invalid('request.method', 'a string such as "GET"', request.method);
  if (typeof request.path !== 'string' || !request.path.startsWith('/')) {
    throw invalid('request.path', 'a path that starts with "/"', request.path);
  }
}
