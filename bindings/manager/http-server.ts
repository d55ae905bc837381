/**
 * An HTTP server as a runnable: it listens when it is started and shuts down gracefully when it is
 * stopped. controller-runtime: pkg/manager/server.go, pkg/internal/httpserver.
 *
 * Invariant: when `start` has settled, the port is free and no connection is open. Requests in
 * progress at the stop are still answered, and their connections are closed afterwards. All other
 * connections are closed at once: idle ones, those with an incomplete request, and those in a TLS
 * handshake.
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
import {
  type CertificateReads,
  type Certificates,
  firstCertificates,
  renewCertificates,
} from './certificates.ts';
import { type HTTPHandler, sendText } from './router.ts';
import type { GroupedRunnable } from './runnables.ts';

/** Options of an {@link HTTPServer}. */
export interface HTTPServerOptions {
  /** Shown in messages and reports. */
  name?: string | undefined;
  /** The address to listen on, with Go's syntax: `:8080`, `127.0.0.1:8080`, `[::1]:0`. */
  bindAddress: string;
  /** Responds to the requests. */
  handler: HTTPHandler;
  /**
   * Key and certificate for HTTPS. A function that returns them is called again every ten seconds;
   * see {@link certificateFiles}.
   */
  tls?: Certificates | undefined;
  /**
   * How long requests in progress may take after the stop, in milliseconds; then their connections
   * are closed. Default: the manager's `gracefulShutdownTimeout`.
   */
  shutdownTimeout?: number | undefined;
  /** Listens only while this process leads. Default false. */
  onlyServeWhenLeader?: boolean | undefined;
  /**
   * Puts the server into the group of webhooks, which start before the caches and stop after them.
   * Default false.
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
 * An HTTP or HTTPS server that a manager starts and stops. controller-runtime: manager.Server.
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
  /** Responses in progress. */
  readonly #responses = new Set<ServerResponse>();
  /** All TCP connections. Node lists a TLS connection only after its handshake. */
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;
  #address: AddressInfo | undefined;
  #listening: PromiseWithResolvers<void> = Promise.withResolvers();
  #started = false;
  readonly #stopping = new AbortController();
  readonly #reads = { total: 0, errors: 0 };
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
    this.#listening.promise.catch(() => undefined); // `start` rejects with the same error
  }

  /** How often the function of the option `tls` was called, and failed; undefined without one. */
  get certificateReads(): CertificateReads | undefined {
    return typeof this.#options.tls === 'function' ? { ...this.#reads } : undefined;
  }

  needLeaderElection(): boolean {
    return this.#options.onlyServeWhenLeader ?? false;
  }

  get group(): 'HTTP servers' | 'webhooks' {
    return this.#options.webhooks ? 'webhooks' : 'HTTP servers';
  }

  /**
   * The address that it listens or listened on; `undefined` before. With port 0 it has the actual
   * port.
   */
  get address(): AddressInfo | undefined {
    return this.#address;
  }

  /**
   * For example `http://127.0.0.1:8080`; a server on every interface has its loopback URL.
   * `undefined` before it listens.
   */
  get url(): string | undefined {
    if (this.#address === undefined) return undefined;
    const host = this.#bind.host ?? '127.0.0.1';
    const scheme = this.#options.tls === undefined ? 'http' : 'https';
    return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${this.#address.port}`;
  }

  /** Fires when the server is stopped. Handlers that wait should respond then. */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Resolves when the server listens. Rejects like `start` if it cannot. */
  listening(): Promise<void> {
    return this.#listening.promise;
  }

  /** Resolves when the server listens or has failed; `start` rejects with the error. */
  async ready(): Promise<void> {
    await this.#listening.promise.catch(() => undefined);
  }

  /**
   * Listens until the signal fires. Resolves when all connections are closed.
   *
   * Rejects with CapstanError LISTEN if the address is in use or not local, or if there is no
   * certificate, and with ALREADY_STARTED on a second call.
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
    // The first pair may be long in coming.
    const pair = tls && (await Promise.race([this.#firstPair(tls), whenAborted(signal)]));
    if (signal.aborted) return;
    const secured = pair ? createTLSServer(pair) : undefined;
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
    // Also if the signal fires meanwhile: a server that is closed before it listens emits no event.
    await Promise.race([listening, failed]);
    this.#address = server.address() as AddressInfo;
    logger.info('serving', { server: this.name, url: this.url });
    this.#listening.resolve();
    const renewed =
      secured && pair && tls
        ? renewCertificates(secured, tls, pair, clock, this.#reads)
        : undefined;
    try {
      await Promise.race([whenAborted(signal), failed]);
    } finally {
      renewed?.();
      this.#stop(server);
      await closed;
    }
  }

  /**
   * Closes all connections of a server that was stopped, and resolves when it has ended.
   *
   * @internal
   */
  async kill(): Promise<void> {
    const server = this.#server;
    if (server === undefined || this.#ended) return;
    this.#destroySockets();
    await new Promise<void>((resolve) => server.once('close', resolve));
  }

  #stop(server: Server): void {
    const { shutdownTimeout, clock = systemClock } = this.#options;
    this.#stopping.abort();
    // http's own close() treats a connection whose response is being sent as idle, so net's is
    // used. Bun's server does not extend that of node:net.
    if (server instanceof NetServer) NetServer.prototype.close.call(server);
    else (server as Server).close();
    server.once('close', () => server.close()); // stops its timer for slow requests
    this.#destroySockets(
      new Set([...this.#responses].map((response) => peerOf(response.req.socket))),
    );
    // A response that was begun has promised keep-alive; its connection would stay open for Node's
    // keepAliveTimeout of 5 s.
    for (const response of this.#responses) this.#closeWith(response);
    if (shutdownTimeout === undefined) return;
    const timer = clock.setTimer(() => this.#destroySockets(), shutdownTimeout);
    server.once('close', () => clock.clearTimer(timer));
  }

  #destroySockets(spared?: ReadonlySet<string>): void {
    for (const socket of this.#sockets) if (!spared?.has(peerOf(socket))) socket.destroy();
  }

  #closeWith(response: ServerResponse): void {
    const { socket } = response; // a finished response has none
    if (!response.headersSent) response.setHeader('connection', 'close');
    else if (response.writableFinished) socket?.destroySoon();
    else response.once('finish', () => socket?.destroySoon());
  }

  async #serve(...[request, response]: Parameters<HTTPHandler>): Promise<void> {
    this.#responses.add(response);
    response.once('close', () => this.#responses.delete(response));
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
      return await firstCertificates(tls, this.#reads);
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

/** Identifies a connection; a TLS socket and the TCP socket below it have the same. */
function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
