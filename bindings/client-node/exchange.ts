/**
 * One exchange over node:http(s): an answer with raw body chunks, or a TransportError. What this
 * file keeps true: an abort is seen at every stage; no listener stays on a long-lived signal after
 * the exchange; no error event is ever unheard; every connection is probed by the kernel, and comes
 * about within a time.
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

/** A target, and the pool for it. */
export interface Route extends RequestTarget {
  agent: HttpAgent;
  clock: Clock;
}

/**
 * Sends one request. Rejects with {@link Repeatable} where the connection was a kept-alive one that
 * the server had closed meanwhile: each such failure removes a dead connection from the pool, but a
 * restarted server leaves many, so `fresh` takes a connection outside of it.
 *
 * `track` sees the exchange as it begins, so that a transport can end them all.
 */
export function exchange(
  route: Route,
  request: TransportRequest,
  track: Track,
  fresh: boolean,
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
    // First: a clock that throws leaves nothing behind.
    const dialing = route.clock.setTimer(() => {
      failure = new Error(`no connection within ${DIAL_TIMEOUT} ms`);
      end();
    }, DIAL_TIMEOUT);
    let client: ClientRequest;
    try {
      client = open(route, request, fresh, tunnel.signal);
    } catch (error) {
      route.clock.clearTimer(dialing);
      throw error;
    }
    let answer: IncomingMessage | undefined;
    let ended = false;
    const end = (): void => {
      ended = true;
      // Both: a request whose answer has arrived whole, but unread, does not close before the
      // answer does.
      answer?.destroy();
      client.destroy();
      if (assigned) return;
      tunnel.abort();
      // node says so only once the agent has a socket for it, which a proxy that does not answer
      // can put off for good.
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
      // `complete` is node's own check of Content-Length and of the last chunk: an 'end' without it
      // is a cut.
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
    // Stays for the life of the request: errors after the answer reach the reader through the
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
    // Destroyed without an error, as a closing transport does: node reports "socket hang up" only
    // while a socket is assigned.
    client.once('close', () => {
      if (answer !== undefined) return;
      if (signal?.aborted) reject(requestAborted(request, route, signal));
      else
        reject(
          failed(failure === undefined ? 'reset' : 'refused', describe(request, route), failure),
        );
    });
    // node writes nothing before end(): to wait with it is what leaves the question until the
    // connection is there. Of Deno's and Bun's sockets that is not known.
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

/**
 * Whether the bytes that follow the head are those of chunks, and nothing is done to them but that.
 */
function isChunked(
  { method }: TransportRequest,
  { headers, httpVersion, statusCode }: IncomingMessage,
): boolean {
  const hasBody = method === 'GET' && statusCode !== 204 && statusCode !== 304;
  return hasBody && httpVersion === '1.1' && headerOf(headers, 'transfer-encoding') === 'chunked';
}

function open(
  route: Route,
  request: TransportRequest,
  fresh: boolean,
  tunnelSignal: AbortSignal,
): ClientRequest {
  const secure = route.url.protocol === 'https:';
  const hostname = hostOf(route.url);
  const options = {
    ...connectOptions(route.tls, hostname),
    // false: a connection for this request alone, outside the pool.
    agent: fresh ? (false as const) : route.agent,
    protocol: route.url.protocol,
    hostname,
    port: route.url.port || (secure ? 443 : 80),
    method: request.method,
    path: requestPath(route.url, request),
    headers: requestHeaders(route, request),
    // Takes the agent's idle timeout off a connection while it is in use: a quiet watch is a
    // healthy watch.
    timeout: 0,
    // For the agents of proxy.ts: ends a tunnel that has not come about.
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
 * By the stage first: ETIMEDOUT means "refused" while connecting, and a lost connection after that.
 */
function kindBeforeAnswer(error: Error, connected: boolean): TransportErrorKind {
  // among the rest: a certificate that did not pass
  if (!connected) return kindOfHostError(error) ?? 'refused';
  const code = String((error as NodeJS.ErrnoException).code);
  // TLS 1.3 rejects a client certificate after the handshake
  if (/^(ERR_SSL|ERR_TLS|EPROTO)/.test(code)) return 'refused';
  if (code.startsWith('HPE_')) return 'unknown'; // somebody answered, but not in HTTP
  return 'reset';
}
