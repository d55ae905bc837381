/**
 * The embedded API server: the socket, the faults, and one request at a time handed to api.ts. It holds no object and
 * knows no resource. What it keeps true: `stop` leaves no socket, no timer and no listener behind, and a fault that is
 * taken back no longer hits any request that arrives afterwards.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { type Transport, TransportError } from '../cache/transport.ts';
import { httpTransport } from '../client-node/index.ts';
import { type Clock, systemClock } from '../clock.ts';
import { CapstanError, invalid, requireInteger } from '../errors.ts';
import { handleError } from '../handle-error.ts';
import { Api, type ApiOptions, failure, parseTarget, type Target } from './api.ts';
import { withoutVersion } from './event-stream.ts';
import { type AnswerFault, closesPort, type Fault, Faults, isAnswer, isOfStream, type StreamFault } from './faults.ts';
import type { JsonObject } from './json.ts';
import { Output } from './output.ts';
import type { ResourceName } from './registry/kinds.ts';
import { ApiError, genericStatus } from './status.ts';

/** Key and certificate of the server, as PEM text. */
export interface ServerTls {
  key: string;
  cert: string;
  /** What `transport()` trusts; `cert` itself, when left out. */
  ca?: string;
}

export interface ApiServerOptions {
  /** The port on 127.0.0.1; 0, the default, takes a free one. */
  port?: number;
  /** Milliseconds between the bookmarks of a watch that allows them. 60 000, as the real server's. */
  bookmarkInterval?: number;
  /** How many events are kept for each resource; a watch or a page that needs older ones gets 410. 10 000. */
  historySize?: number;
  /** What bookmarks, timeoutSeconds, delays and timestamps go by. The system's clock. */
  clock?: Clock;
  /**
   * Milliseconds that a request waits for a version that does not exist yet, before it is answered with 504 and "Too
   * large resource version". 3000, as the real server's; 0: not at all.
   */
  freshnessTimeout?: number;
  /**
   * How many events a client may be behind while its connection takes no more bytes; beyond that its watch is ended in
   * order, as the real server does with 10 to 1000. Without end: only the history is the limit.
   */
  watchBuffer?: number;
  /** Watches are compressed for clients that accept gzip, one member for each write, as kube-apiserver 1.37 does. false. */
  compressWatches?: boolean;
  /** https instead of http, with this key and certificate (for 127.0.0.1). */
  tls?: ServerTls;
  /** Who may: a request without one of these as its bearer token is 401. Anybody, when left out; see `setTokens`. */
  tokens?: readonly string[];
}

/**
 * A Kubernetes API server for tests: real HTTP/1.1 on loopback, in this process, without etcd, and with the answers of a
 * real kube-apiserver. Any group, version and resource works without registration; namespaces need not exist. There is
 * no authorization, no defaulting, no admission and no garbage collector, and nothing schedules a Pod.
 *
 * - create (generateName), get, list (limit, continue, selectors), update, merge and JSON patch, delete (finalizers,
 *   preconditions), deletecollection, `/status`, dry run; conflicts by resourceVersion; generation.
 * - watch: from any version in the history, bookmarks, timeoutSeconds, selector transitions, initial events; 410 as an
 *   event once the version is out of the history.
 * - metadata alone (PartialObjectMetadata), lists above 128 KiB compressed with gzip for those who accept it, TLS.
 * - `inject` for faults, `dropConnections`, `expireHistory`, `removeResource` and `setTokens` for the rest of a bad day.
 *
 * Custom resources: the first object tells the kind and the scope, and there is a status subresource; creating their
 * CustomResourceDefinition says all this exactly, and deleting it takes the objects and the resource away. Built-in kinds behave as the real ones do where clients notice
 * (status, generation, updates without a version, Secrets' stringData), and are otherwise taken as they come. Numbers are
 * JavaScript's: an integer beyond 2^53 loses digits.
 *
 * @example
 * const server = await ApiServer.start();
 * const answer = await fetch(`${server.url}/api/v1/namespaces/default/configmaps`);
 * await server.stop();
 */
export class ApiServer {
  /** `http://127.0.0.1:<port>`, or https. */
  readonly url: string;
  readonly #port: number;
  readonly #ca: string | undefined;
  readonly #server: Server;
  readonly #clock: Clock;
  readonly #api: Api;
  readonly #faults = new Faults();
  readonly #sockets: Set<Socket>;
  #stopped: Promise<void> | undefined;

  /**
   * Listens on loopback. Rejects with what the system says when the port is taken.
   */
  static async start(options: ApiServerOptions = {}): Promise<ApiServer> {
    const { port = 0, bookmarkInterval = 60_000, historySize = 10_000, clock = systemClock, tls } = options;
    const { freshnessTimeout = 3000, watchBuffer = Number.POSITIVE_INFINITY, compressWatches = false } = options;
    requireInteger('port', port, 0);
    if (port > 65_535) throw invalid('port', 'a port number', port);
    if (!(bookmarkInterval > 0)) throw invalid('bookmarkInterval', 'a number > 0', bookmarkInterval);
    requireInteger('historySize', historySize, 0);
    if (!(freshnessTimeout >= 0)) throw invalid('freshnessTimeout', 'a number >= 0', freshnessTimeout);
    if (!(watchBuffer >= 0)) throw invalid('watchBuffer', 'a number >= 0', watchBuffer);
    if (tls !== undefined && (typeof tls?.key !== 'string' || typeof tls.cert !== 'string'))
      throw invalid('tls', 'an object with key and cert as PEM text', tls);
    // A watch is silent for as long as it likes, and a pooled connection idles for as long as its client likes.
    const patient = { requestTimeout: 0, headersTimeout: 0, keepAliveTimeout: 0 };
    const server = tls === undefined ? createServer(patient) : createTlsServer({ ...patient, ...tls });
    const sockets = new Set<Socket>();
    server.on('connection', (socket: Socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    });
    await listen(server, port);
    const apiServer = new ApiServer(server, sockets, tls, {
      ...{ bookmarkInterval, historySize, clock, freshnessTimeout, watchBuffer, compressWatches },
    });
    apiServer.setTokens(options.tokens);
    return apiServer;
  }

  private constructor(
    server: Server,
    sockets: Set<Socket>,
    tls: ServerTls | undefined,
    options: Omit<ApiOptions, 'wallTime'>,
  ) {
    this.#server = server;
    this.#sockets = sockets;
    this.#clock = options.clock;
    this.#port = (server.address() as AddressInfo).port;
    this.#ca = tls === undefined ? undefined : (tls.ca ?? tls.cert);
    this.url = `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${this.#port}`;
    const start = Date.now() - options.clock.now();
    this.#api = new Api({ ...options, wallTime: () => start + options.clock.now() });
    server.on('request', (request, response) => {
      this.#serve(request, response).catch((error: unknown) => handleError(error, 'embedded API server'));
    });
    server.on('error', (error) => handleError(error, 'embedded API server'));
  }

  /**
   * A transport to this server, with a connection pool of its own; over TLS it trusts the server.
   * @param options `headers` are sent with every request, such as `authorization`
   */
  transport(options: { headers?: Record<string, string> } = {}): Transport {
    const inner = httpTransport(this.url, {
      ...options,
      ...(this.#ca === undefined ? {} : { tls: { ca: this.#ca } }),
    });
    return {
      request: async (request) => {
        const query = new URLSearchParams(request.query ?? {}).toString();
        const target = parseTarget(request.method, query === '' ? request.path : `${request.path}?${query}`);
        // A refusal has to come before there is a connection; see Fault.
        const refused = this.#faults.take(target, 'refuse');
        if (refused.length > 0)
          throw new TransportError('refused', `connect ECONNREFUSED 127.0.0.1:${this.#port} (injected)`);
        return inner.request(request);
      },
      close: async () => inner.close?.(),
      host: () => new URL(this.url).host,
    };
  }

  /**
   * Lets requests fail from now on, as `fault` says; running watches are not touched. Gives the function that takes it
   * back: what has hit already stays (a stalled request is never answered), nothing else is hit.
   */
  inject(fault: Fault): () => void {
    if (this.#stopped !== undefined) throw new CapstanError('STOPPED', 'inject() on a server that was stopped');
    const takeBack = this.#faults.add(fault);
    if (closesPort(fault)) {
      this.#server.close();
      this.dropConnections();
    }
    return () => {
      takeBack();
      if (this.#stopped === undefined && !this.#server.listening && !this.#faults.portClosed()) {
        this.#server.listen(this.#port, '127.0.0.1');
      }
    };
  }

  /**
   * The faults with `times` that have not hit as often yet: a test asks at its end, lest it passed because nothing happened.
   */
  unmetFaults(): Fault[] {
    return this.#faults.unmet();
  }

  /**
   * Drops all history: every version handed out before is from now on too old. A watch from it gets 410 as an event, a
   * continue token 410 with a token to go on with, an exact list 410. Running watches go on.
   */
  expireHistory(): void {
    this.#api.registry.expireHistory();
  }

  /**
   * Takes a resource away, as deleting its CustomResourceDefinition does: its objects are deleted, its watches end, and
   * its paths are 404. Gives the function that brings it back, empty.
   */
  removeResource(resource: { group: string; version: string; plural: string }): () => void {
    const { group, version, plural } = resource;
    const name: ResourceName = { group, version, plural };
    this.#api.registry.removeResource(name);
    return () => this.#api.registry.restoreResource(name);
  }

  /**
   * From now on a request without one of these as its bearer token is 401; undefined: anybody may. Running watches go
   * on, as they were authenticated when they began.
   */
  setTokens(tokens: readonly string[] | undefined): void {
    this.#api.setTokens(tokens);
  }

  /** Cuts all open connections, those of running watches too. The next connect succeeds. */
  dropConnections(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Ends all connections and frees the port; resolves when it is free. Again: the same promise. */
  stop(): Promise<void> {
    this.#stopped ??= new Promise((resolve) => {
      // An error says that the port is closed already, by a fault.
      this.#server.close(() => resolve());
      this.dropConnections();
    });
    return this.#stopped;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const output = new Output(response, request.headers['accept-encoding'] as string | undefined);
    const target = parseTarget(request.method ?? 'GET', request.url ?? '/');
    const ofStream: StreamFault[] = [];
    for (const fault of this.#faults.take(target)) {
      if (isAnswer(fault)) return hit(fault, target, output);
      if (isOfStream(fault)) ofStream.push(fault);
      else if (fault.do === 'delay') await this.#delay(fault.ms, output);
      else if (fault.do === 'drop') output.cutAfter(fault.afterBytes);
      else output.splitInto(fault.bytes);
    }
    if (output.closed) return;
    try {
      const server = { address: `127.0.0.1:${this.#port}`, faults: ofStream };
      const answer = await this.#api.handle(target, request, output, server);
      if (answer === undefined) return;
      // The one fault of a stream that hits a list.
      if (ofStream.length > 0) answer.body = withoutVersion(JSON.parse(answer.body) as JsonObject);
      send(output, answer);
    } catch (error) {
      if (output.closed || request.errored !== null) return;
      if (!(error instanceof ApiError)) handleError(error, 'embedded API server');
      send(output, failure(error instanceof ApiError ? error : genericStatus(500)));
    }
  }

  /** Waits, but no longer than there is somebody to answer to. */
  #delay(ms: number, output: Output): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#clock.setTimer(resolve, ms);
      output.onClose(() => {
        this.#clock.clearTimer(timer);
        resolve();
      });
    });
  }
}

function send(output: Output, answer: ReturnType<typeof failure>): void {
  const headers: Record<string, string | number | string[]> = {
    'Content-Type': answer.type,
    'Cache-Control': 'no-cache, private',
  };
  if (answer.retryAfter !== undefined) headers['Retry-After'] = answer.retryAfter;
  if (answer.warnings !== undefined) headers.Warning = answer.warnings.map((why) => `299 - ${JSON.stringify(why)}`);
  output.send(answer.code, headers, answer.body);
}

/** A fault instead of an answer. */
function hit(fault: AnswerFault, target: Target, output: Output): void {
  switch (fault.do) {
    case 'status':
      send(output, failure(genericStatus(fault.status, fault.reason, seconds(fault.retryAfter))));
      return;
    case 'garbage':
      output.send(200, { 'Content-Type': 'application/json' }, fault.bytes);
      return;
    case 'stall':
      if (target.verb === 'watch') output.begin(200, { 'Content-Type': 'application/json' });
      return;
    case 'refuse':
    case 'reset':
      output.reset();
  }
}

/** The header and the Status know whole seconds only. */
const seconds = (ms: number | undefined): number | undefined => (ms === undefined ? undefined : Math.ceil(ms / 1000));

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      resolve();
    });
  });
}
