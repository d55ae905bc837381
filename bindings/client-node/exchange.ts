/**
 * One exchange over node:http(s): an answer with raw body chunks, or a TransportError.
 *
 * Invariants: an abort ends the exchange at every stage; no listener stays on a signal after it;
 * every error event has a listener; TCP keep-alive is on; connecting has a time limit.
 */

import {
  type ClientRequest,
  type Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
} from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import type { Clock } from '../base/clock.ts';
import { onAbort } from '../base/wait.ts';
import {
  kindOfHostError,
  type TransportErrorKind,
  type TransportRequest,
  type TransportResponse,
} from '../cache/rest/transport.ts';
import { answerBody, decoded, isTransient } from './body.ts';
import { DIAL_TIMEOUT } from './dial.ts';
import { IS_NODE, isConnected, keepAlive } from './socket.ts';
import { SocketTap } from './socket-tap.ts';
import { connectOptions, hostOf } from './tls.ts';
import {
  describe,
  failed,
  headerOf,
  notHttp,
  Repeatable,
  type RequestTarget,
  requestAborted,
  requestHeaders,
  requestPath,
  type Track,
} from './wire.ts';

/** A target and its pool of connections. */
export interface Route extends RequestTarget {
  /** False: a connection of its own, outside of every pool. */
  agent: HttpAgent | false;
  clock: Clock;
}

/**
 * Sends one request. Rejects with {@link Repeatable} if the server had closed the kept-alive
 * connection that was used. Each such failure removes one dead connection from the pool, but a
 * server that restarted leaves many, so the second try opens one outside of the pool. `track` gets
 * the exchange, so that a transport can end all of them.
 */
export function exchange(
  route: Route,
  request: TransportRequest,
  track: Track,
): Promise<TransportResponse> {
  return new Promise((resolve, reject) => {
    const { signal } = request;
    if (signal?.aborted) {
      reject(requestAborted(request, route, signal));
      return;
    }
    const tunnel = new AbortController();
    let assigned = false;
    let failure: Error | undefined;
    // First, so that a clock that throws leaves nothing behind.
    const dialing = route.clock.setTimer(() => {
      failure = new Error(`no connection within ${DIAL_TIMEOUT} ms`);
      end();
    }, DIAL_TIMEOUT);
    let client: ClientRequest;
    try {
      client = open(route, request, tunnel.signal);
    } catch (error) {
      route.clock.clearTimer(dialing);
      throw error;
    }
    let answer: IncomingMessage | undefined;
    let ended = false;
    const end = (): void => {
      ended = true;
      // Both, because a request whose answer arrived but was not read closes only with the answer.
      answer?.destroy();
      client.destroy();
      if (assigned) return;
      tunnel.abort();
      // Node emits 'close' only once the agent has a socket; a proxy that does not answer can delay
      // that for ever.
      client.emit('close');
    };
    track(client, end);

    let connected = false;
    client.once('socket', (socket) => {
      assigned = true;
      keepAlive(socket);
      SocketTap.of(socket)?.expect();
      whenConnected(socket, () => {
        connected = true;
        route.clock.clearTimer(dialing);
        if (waits && !ended) send();
      });
    });

    const unlisten = onAbort(signal, end);
    client.once('close', () => {
      route.clock.clearTimer(dialing);
      unlisten();
    });

    client.once('response', (response) => {
      answer = response;
      const what = `${describe(request, route)}: the answer ended early`;
      // `complete` is Node's check of Content-Length and of the last chunk: without it an 'end' is
      // a cut.
      const whole = (): boolean => response.complete;
      const encoding = headerOf(response.headers, 'content-encoding');
      const transient = isTransient(request, encoding);
      const tap = SocketTap.of(response.socket);
      const isTapped = transient && isChunked(request, response);
      if (!isTapped) tap?.leave();
      const body = answerBody({
        stream: response,
        tap: isTapped ? tap : undefined,
        whole,
        cut: () => response.destroy(),
        what,
        signal,
        transient,
      });
      try {
        resolve({
          status: response.statusCode ?? 0,
          headers: { get: (name) => headerOf(response.headers, name) },
          body: decoded(body, encoding, describe(request, route)),
        });
      } catch (error) {
        reject(error);
        end();
      }
    });
    // Stays for the life of the request. Errors after the answer reach the reader through the
    // response.
    client.on('error', (error) => {
      if (answer !== undefined) return;
      if (signal?.aborted) {
        reject(requestAborted(request, route, signal));
        return;
      }
      const cause: Error & { options?: unknown } = failure ?? error;
      delete cause.options; // of an error of the package socks: the proxy's password is in it
      const refusal = failed(
        kindBeforeAnswer(cause, connected),
        `${describe(request, route)}: no answer`,
        cause,
      );
      const stale = client.reusedSocket && !ended && kindOfHostError(error) === 'reset';
      reject(stale ? new Repeatable(refusal, false) : refusal);
    });
    // Destroyed without an error, as by a transport that closes: Node reports "socket hang up" only
    // if a socket is assigned.
    client.once('close', () => {
      if (answer !== undefined) return;
      if (signal?.aborted) reject(requestAborted(request, route, signal));
      else
        reject(
          failed(failure === undefined ? 'reset' : 'refused', describe(request, route), failure),
        );
    });
    // Node writes nothing before end(), so end() waits until the connection is there. For Deno's
    // and Bun's sockets that is not known.
    const { beforeSend } = request;
    const waits = beforeSend !== undefined && IS_NODE;
    const send = (): void => {
      try {
        beforeSend?.();
        client.end(request.body);
      } catch (error) {
        reject(error);
        end();
      }
    };
    if (!waits) send();
  });
}

/** Whether the body is chunked and has no other encoding. */
function isChunked(
  { method }: TransportRequest,
  { headers, httpVersion, statusCode }: IncomingMessage,
): boolean {
  const hasBody = method === 'GET' && statusCode !== 204 && statusCode !== 304;
  return hasBody && httpVersion === '1.1' && headerOf(headers, 'transfer-encoding') === 'chunked';
}

function open(route: Route, request: TransportRequest, tunnelSignal: AbortSignal): ClientRequest {
  const secure = route.url.protocol === 'https:';
  const hostname = hostOf(route.url);
  const options = {
    ...connectOptions(route.tls, hostname),
    agent: route.agent,
    protocol: route.url.protocol,
    hostname,
    port: route.url.port || (secure ? 443 : 80),
    method: request.method,
    path: requestPath(route.url, request),
    headers: requestHeaders(route, request),
    // Removes the agent's idle timeout while the connection is in use: a quiet watch is healthy.
    timeout: 0,
    // For the agents of pool.ts: ends a tunnel that is not open yet.
    tunnelSignal,
  };
  try {
    return secure ? httpsRequest(options) : httpRequest(options);
  } catch (error) {
    throw notHttp(request, route, error);
  }
}

function whenConnected(socket: Socket, run: () => void): void {
  if (isConnected(socket)) run();
  else socket.once('encrypted' in socket ? 'secureConnect' : 'connect', run);
}

/**
 * The stage decides first: ETIMEDOUT means "refused" while connecting, and a lost connection later.
 */
function kindBeforeAnswer(error: Error, connected: boolean): TransportErrorKind {
  // this includes a certificate that was not accepted
  if (!connected) return kindOfHostError(error) ?? 'refused';
  const code = String((error as NodeJS.ErrnoException).code);
  // TLS 1.3 rejects a client certificate after the handshake
  if (/^(ERR_SSL|ERR_TLS|EPROTO)/.test(code)) return 'refused';
  if (code.startsWith('HPE_')) return 'unknown'; // the peer answered, but not in HTTP
  return 'reset';
}
