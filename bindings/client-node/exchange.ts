/**
 * One HTTP exchange over node:http(s): an answer with raw body chunks under back-pressure, or a TransportError. What
 * this file keeps true: a body that was cut never ends cleanly; an abort is seen at every stage; no listener stays on
 * a long-lived signal after the exchange; no error event is ever unheard.
 */
import {
  type ClientRequest,
  type Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
  type OutgoingHttpHeaders,
} from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import {
  kindOfHostError,
  TransportError,
  type TransportErrorKind,
  type TransportRequest,
  type TransportResponse,
} from '../cache/transport.ts';
import { CapstanError } from '../errors.ts';
import type { TlsMaterial } from './pool.ts';

/** Where an exchange goes and how: all of it may differ from one exchange to the next. */
export interface Route {
  url: URL;
  agent: HttpAgent;
  tls: TlsMaterial;
  /** Names in lower case. */
  headers: Record<string, string>;
}

/** `end` cuts the exchange at whatever stage it is; `client` emits 'close' when it is over, cut or not. */
export type Track = (client: ClientRequest, end: () => void) => void;

/**
 * Sends one request. A request that may be sent twice without harm (GET, HEAD, OPTIONS) and that met a kept-alive
 * connection which the server had closed meanwhile is sent once more; each such failure removes a dead connection from
 * the pool, but a restarted server leaves many, so the second try takes a fresh connection.
 *
 * `track` sees every attempt as it begins, so that a transport can end them all.
 */
export async function exchange(route: Route, request: TransportRequest, track: Track): Promise<TransportResponse> {
  try {
    return await attempt(route, request, track, false);
  } catch (error) {
    if (!(error instanceof StaleConnection)) throw error;
    if (!REPEATABLE.has(request.method.toUpperCase())) throw error.failure;
    return attempt(route, request, track, true);
  }
}

const REPEATABLE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/** A kept-alive connection was reset before any byte of the answer. Go's net/http: errServerClosedIdle. */
class StaleConnection extends Error {
  readonly failure: TransportError;
  constructor(failure: TransportError) {
    super(failure.message);
    this.failure = failure;
  }
}

function attempt(route: Route, request: TransportRequest, track: Track, fresh: boolean): Promise<TransportResponse> {
  return new Promise((resolve, reject) => {
    const { signal } = request;
    if (signal?.aborted) {
      reject(aborted(request, route, signal));
      return;
    }
    const client = open(route, request, fresh);
    let answer: IncomingMessage | undefined;
    let ended = false;
    const end = (): void => {
      ended = true;
      // Both: a request whose answer has arrived whole, but unread, does not close before the answer does.
      answer?.destroy();
      client.destroy();
    };
    track(client, end);

    let connected = false;
    client.once('socket', (socket) => {
      whenConnected(client, socket, () => {
        connected = true;
      });
    });

    signal?.addEventListener('abort', end, { once: true });
    client.once('close', () => signal?.removeEventListener('abort', end));

    client.once('response', (response) => {
      answer = response;
      resolve({
        status: response.statusCode ?? 0,
        headers: { get: (name) => header(response, name) },
        body: readBody(response, `${describe(request, route)}: the answer ended early`, signal),
      });
    });
    // Stays for the life of the request: errors after the answer reach the reader through the response.
    client.on('error', (error) => {
      if (answer !== undefined) return;
      if (signal?.aborted) {
        reject(aborted(request, route, signal));
        return;
      }
      const failure = failed(kindBeforeAnswer(error, connected), `${describe(request, route)}: no answer`, error);
      const stale = client.reusedSocket && !ended && kindOfHostError(error) === 'reset';
      reject(stale ? new StaleConnection(failure) : failure);
    });
    // Destroyed without an error, as a closing transport does: node reports "socket hang up" only while a socket is assigned.
    client.once('close', () => {
      if (answer === undefined)
        reject(signal?.aborted ? aborted(request, route, signal) : failed('reset', describe(request, route)));
    });
    client.end(request.body);
  });
}

function open(route: Route, request: TransportRequest, fresh: boolean): ClientRequest {
  const secure = route.url.protocol === 'https:';
  const options = {
    ...route.tls,
    // false: a connection for this request alone, outside the pool.
    agent: fresh ? (false as const) : route.agent,
    protocol: route.url.protocol,
    hostname: route.url.hostname.replace(/^\[|\]$/g, ''), // IPv6 without the URL's brackets
    port: route.url.port || (secure ? 443 : 80),
    method: request.method,
    path: requestPath(route.url, request),
    headers: requestHeaders(route, request),
    // Takes the agent's idle timeout off a connection while it is in use: a quiet watch is a healthy watch.
    timeout: 0,
  };
  try {
    return secure ? httpsRequest(options) : httpRequest(options);
  } catch (error) {
    // node:http checks the method, the path's characters and the headers when the request is made.
    throw new CapstanError(
      'INVALID_ARGUMENT',
      `"request" expected a method, an escaped path and headers that HTTP allows, got ${describe(request, route)}: ${messageOf(error)}`,
      { cause: error },
    );
  }
}

function requestPath(url: URL, { path, query }: TransportRequest): string {
  const prefix = url.pathname.replace(/\/+$/, '');
  const search = query === undefined ? '' : new URLSearchParams(query).toString();
  return search === '' ? `${prefix}${path}` : `${prefix}${path}?${search}`;
}

/** The request's own headers win over the transport's, whatever their case. */
function requestHeaders(route: Route, { headers, body }: TransportRequest): OutgoingHttpHeaders {
  const merged: OutgoingHttpHeaders = { ...route.headers };
  for (const [name, value] of Object.entries(headers ?? {})) merged[name.toLowerCase()] = value;
  // node:http sends neither a length nor chunks for a DELETE with a body unless it is told the length.
  if (body !== undefined) merged['content-length'] ??= Buffer.byteLength(body);
  return merged;
}

function whenConnected(client: ClientRequest, socket: Socket, run: () => void): void {
  if (client.reusedSocket) run();
  else socket.once('encrypted' in socket ? 'secureConnect' : 'connect', run);
}

function header(response: IncomingMessage, name: string): string | null {
  const lower = name.toLowerCase();
  const value = Object.hasOwn(response.headers, lower) ? response.headers[lower] : undefined;
  return Array.isArray(value) ? value.join(', ') : (value ?? null);
}

/**
 * The chunks as they come. Nothing is read from the socket while the consumer is busy and the stream's buffer (64 KiB)
 * is full, so the server feels the back-pressure.
 */
function readBody(response: IncomingMessage, what: string, signal: AbortSignal | undefined): AsyncIterable<Uint8Array> {
  let failure: Error | undefined;
  let ended = false;
  let closed = false;
  let wake = (): void => undefined;
  // From now on and not from the first read: a connection may be lost before anybody reads.
  response.on('error', (error) => {
    failure = error;
    wake();
  });
  response.once('end', () => {
    ended = true;
    wake();
  });
  response.once('close', () => {
    closed = true;
    wake();
  });
  response.on('readable', () => wake());

  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (;;) {
      if (signal?.aborted) throw failed('aborted', what, signal.reason);
      const chunk: Uint8Array | null = response.read();
      if (chunk !== null) {
        yield chunk;
        continue;
      }
      // `complete` is node's own check of Content-Length and of the last chunk: an 'end' without it is a cut.
      if (ended && response.complete) return;
      if (failure !== undefined || ended || closed) throw failed('reset', what, failure);
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }

  const reader = chunks();
  const leave = async (): Promise<IteratorResult<Uint8Array>> => {
    // Before the generator is asked: one that waits for bytes would not hear it. A finished one keeps its connection.
    if (!(ended && response.complete)) response.destroy();
    return reader.return(undefined);
  };
  return { [Symbol.asyncIterator]: () => ({ next: () => reader.next(), return: leave }) };
}

/** By the stage first: ETIMEDOUT means "refused" while connecting, and a lost connection after that. */
function kindBeforeAnswer(error: Error, connected: boolean): TransportErrorKind {
  if (!connected) return kindOfHostError(error) ?? 'refused'; // among the rest: a certificate that did not pass
  const code = String((error as NodeJS.ErrnoException).code);
  if (/^(ERR_SSL|ERR_TLS|EPROTO)/.test(code)) return 'refused'; // TLS 1.3 rejects a client certificate after the handshake
  if (code.startsWith('HPE_')) return 'unknown'; // somebody answered, but not in HTTP
  return 'reset';
}

function aborted(request: TransportRequest, route: Route, signal: AbortSignal): TransportError {
  return failed('aborted', describe(request, route), signal.reason);
}

export function failed(kind: TransportErrorKind, what: string, cause?: unknown): TransportError {
  const reason = cause === undefined ? '' : `: ${messageOf(cause)}`;
  return new TransportError(kind, `${what} (${kind})${reason}`, cause === undefined ? undefined : { cause });
}

/** Without the query: it may hold a continue token of kilobytes. */
function describe({ method, path }: TransportRequest, { url }: Route): string {
  return `${method} ${url.origin}${url.pathname.replace(/\/+$/, '')}${path}`;
}

/** node:net's error for several addresses of one name (localhost) is an AggregateError without a message. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(messageOf).join(', ');
  return error instanceof Error ? error.message : String(error);
}
