/**
 * An HTTP server as a runnable: it listens when it is started and ends in order when it is stopped.
 * controller-runtime: pkg/manager/server.go, pkg/internal/httpserver.
 *
 * Invariant: once `start` has settled, its port is free and none of its connections is left.
 * Requests that are being answered when it is stopped are answered; their connections are closed
 * with that, and all others at once: those that idle, those with half a request, and those whose
 * TLS handshake is not over.
 */
import { createServer, type Server, type ServerResponse } from 'node:http';
import { createServer as createTLSServer } from 'node:https';
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net';
import type { SecureContextOptions } from 'node:tls';
import { type Clock, systemClock } from '../base/clock.ts';
import { textOfError } from '../base/error-text.ts';
import { CapstanError, invalid, requireFunction, requireNumber } from '../base/errors.ts';
import { handleError } from '../base/handle-error.ts';
import { type Logger, silentLogger } from '../base/logger.ts';
import { namesOf, requireNames } from '../base/names.ts';
import { whenAborted } from '../base/wait.ts';
import { type BindAddress, parseBindAddress } from './bind-address.ts';
import { type Certificates, firstCertificates, renewCertificates } from './certificates.ts';
import { type HTTPHandler, sendText } from './router.ts';
import type { GroupedRunnable } from './runnables.ts';

/** Of an {@link HTTPServer}. */
export interface HTTPServerOptions {
  /** In messages and reports. */
  name?: string | undefined;
  /** Where it listens, as in Go: `:8080`, `127.0.0.1:8080`, `[::1]:0`. */
  bindAddress: string;
  /** Answers the requests. */
  handler: HTTPHandler;
  /**
   * Key and certificate, for https; a function that gives them is asked again each ten seconds. See
   * {@link certificateFiles}.
   */
  tls?: Certificates | undefined;
  /**
   * How long requests that are being answered may take once the server is stopped, in milliseconds;
   * then their connections are cut. By default as long as the manager's `gracefulShutdownTimeout`.
   */
  shutdownTimeout?: number | undefined;
  /** Whether it listens only while this process leads. Default false. */
  onlyServeWhenLeader?: boolean | undefined;
  /**
   * For a server of webhooks, which are started before the caches and stopped after them. Default
   * false.
   */
  webhooks?: boolean | undefined;
  logger?: Logger | undefined;
  clock?: Clock | undefined;
}

const NAMES = namesOf<HTTPServerOptions>()({
  name: 1,
  bindAddress: 1,
  handler: 1,
  tls: 1,
  shutdownTimeout: 1,
  onlyServeWhenLeader: 1,
  webhooks: 1,
  logger: 1,
  clock: 1,
});

/**
 * A server that a manager runs.
 *
 * @example
 * const server = new HTTPServer({
 *   name: 'hello',
 *   bindAddress: '127.0.0.1:0',
 *   handler: (_, response) => void response.end('hello'),
 * });
 * const running = server.start({ signal });
 * await server.listening();
 * console.log(server.url); // http://127.0.0.1:40123
 * await running;
 */
export class HTTPServer implements GroupedRunnable {
  readonly name: string;
  readonly #options: HTTPServerOptions;
  readonly #bind: BindAddress;
  /** Being answered. */
  readonly #open = new Set<ServerResponse>();
  /** The TCP connections: node knows of one over TLS only after its handshake. */
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;
  #address: AddressInfo | undefined;
  #listening: PromiseWithResolvers<void> = Promise.withResolvers();
  #started = false;
  readonly #stopping = new AbortController();
  #ended = false;

  /** @throws CapstanError INVALID_ARGUMENT */
  constructor(options: HTTPServerOptions) {
    requireNames('options', options, 'option of an HTTPServer', NAMES);
    requireFunction('options.handler', options.handler);
    const bind = parseBindAddress('options.bindAddress', options.bindAddress);
    if (bind === undefined)
      throw invalid('options.bindAddress', 'an address such as ":8080"', options.bindAddress);
    if (options.shutdownTimeout !== undefined)
      requireNumber('options.shutdownTimeout', options.shutdownTimeout);
    this.name = options.name ?? `server on ${options.bindAddress}`;
    this.#options = options;
    this.#bind = bind;
    this.#listening.promise.catch(() => undefined); // `start` rejects with the same
  }

  needLeaderElection(): boolean {
    return this.#options.onlyServeWhenLeader ?? false;
  }

  get group(): 'HTTP servers' | 'webhooks' {
    return this.#options.webhooks ? 'webhooks' : 'HTTP servers';
  }

  /**
   * Where it listens, or did; `undefined` before. With a bind address of port 0 this is the way to
   * learn the port.
   */
  get address(): AddressInfo | undefined {
    return this.#address;
  }

  /**
   * `http://127.0.0.1:8080`; of a server on every interface by loopback. `undefined` before it
   * listens.
   */
  get url(): string | undefined {
    if (this.#address === undefined) return undefined;
    const host = this.#bind.host ?? '127.0.0.1';
    const scheme = this.#options.tls === undefined ? 'http' : 'https';
    return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${this.#address.port}`;
  }

  /** Fires when it is stopped: an answer that waits for something had better come then. */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Resolves when it listens; rejects as `start` where it cannot. */
  listening(): Promise<void> {
    return this.#listening.promise;
  }

  /** As `listening`; of a failure `start` tells. */
  async ready(): Promise<void> {
    await this.#listening.promise.catch(() => undefined);
  }

  /**
   * Listens until the signal fires.
   *
   * Rejects with CapstanError LISTEN where the address is taken or not this machine's, or where
   * there is no certificate, and with ALREADY_STARTED the second time.
   */
  async start({ signal }: { signal: AbortSignal }): Promise<void> {
    if (this.#started)
      throw new CapstanError('ALREADY_STARTED', `the server "${this.name}" runs once`);
    this.#started = true;
    try {
      await this.#run(signal);
    } catch (error) {
      this.#listening.reject(error);
      throw error;
    } finally {
      this.#ended = true;
      this.#listening.reject(new CapstanError('STOPPED', `the server "${this.name}" has ended`));
    }
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { tls, logger = silentLogger, clock = systemClock } = this.#options;
    const pair = tls === undefined ? undefined : await this.#firstPair(tls);
    if (signal.aborted) return;
    const secured = pair === undefined ? undefined : createTLSServer(pair);
    const server = secured ?? createServer();
    this.#server = server;
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    server.on(
      'request',
      (request, response: ServerResponse) => void this.#serve(request, response),
    );
    const closed = new Promise<void>((resolve) => server.once('close', resolve));
    const listening = new Promise<void>((resolve) => server.once('listening', resolve));
    const failed = new Promise<never>((_, reject) =>
      server.on('error', (cause) => reject(this.#listenError(cause))),
    );
    server.listen({
      port: this.#bind.port,
      ...(this.#bind.host === undefined ? {} : { host: this.#bind.host }),
    });
    // Also where the signal fires meanwhile: a server that is closed before it listens would never
    // say so.
    await Promise.race([listening, failed]);
    this.#address = server.address() as AddressInfo;
    logger.info('serving', { server: this.name, url: this.url });
    this.#listening.resolve();
    const renewed =
      secured && pair && tls ? renewCertificates(secured, tls, pair, clock) : undefined;
    try {
      await Promise.race([whenAborted(signal), failed]);
    } finally {
      renewed?.();
      this.#stop(server);
      await closed;
    }
  }

  /**
   * Of a server that was told to stop: cuts all connections, and resolves when it has ended. For
   * whoever can wait no longer.
   */
  async kill(): Promise<void> {
    const server = this.#server;
    if (server === undefined || this.#ended) return;
    this.#cut();
    await new Promise<void>((resolve) => server.once('close', resolve));
  }

  #stop(server: Server): void {
    const { shutdownTimeout, clock = systemClock } = this.#options;
    this.#stopping.abort();
    // Of a connection whose answer is on its way, http's own close() thinks that it idles. Bun's
    // server is none of node:net.
    if (server instanceof NetServer) NetServer.prototype.close.call(server);
    else (server as Server).close();
    server.once('close', () => server.close()); // its timer for requests that take too long
    this.#cut(new Set([...this.#open].map((response) => peerOf(response.req.socket))));
    // An answer that has begun promised to keep its connection, which would idle for Node's
    // keepAliveTimeout of 5 s.
    for (const response of this.#open) this.#closeWith(response);
    if (shutdownTimeout === undefined) return;
    const timer = clock.setTimer(() => this.#cut(), shutdownTimeout);
    server.once('close', () => clock.clearTimer(timer));
  }

  #cut(spared?: ReadonlySet<string>): void {
    for (const socket of this.#sockets) if (!spared?.has(peerOf(socket))) socket.destroy();
  }

  #closeWith(response: ServerResponse): void {
    const { socket } = response; // a finished response has none
    if (!response.headersSent) response.setHeader('connection', 'close');
    else if (response.writableFinished) socket?.destroySoon();
    else response.once('finish', () => socket?.destroySoon());
  }

  async #serve(...[request, response]: Parameters<HTTPHandler>): Promise<void> {
    this.#open.add(response);
    response.once('close', () => this.#open.delete(response));
    if (this.stopping.aborted) this.#closeWith(response);
    try {
      await this.#options.handler(request, response);
    } catch (error) {
      handleError(error, `server "${this.name}": ${request.method} ${request.url}`);
      if (response.headersSent) response.destroy();
      else sendText(response, 500, 'Internal Server Error\n');
    }
  }

  async #firstPair(tls: Certificates): Promise<SecureContextOptions> {
    try {
      return await firstCertificates(tls);
    } catch (cause) {
      throw new CapstanError(
        'LISTEN',
        `the server "${this.name}" has no certificate: ${textOfError(cause)}`,
        {
          cause,
        },
      );
    }
  }

  #listenError(cause: Error): CapstanError {
    const { bindAddress } = this.#options;
    return new CapstanError(
      'LISTEN',
      `the server "${this.name}" cannot listen on ${bindAddress}: ${cause.message}`,
      {
        cause,
      },
    );
  }
}

/** The same for a connection and for the TLS on it. */
function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
