/**
 * One exchange as a stream of an HTTP/2 session: an answer with raw body chunks, or a
 * TransportError.
 *
 * Invariants: a stream that was reset with an error never ends cleanly; an abort resets the stream,
 * not the connection; no listener stays on a signal.
 */

import { validateHeaderName, validateHeaderValue } from 'node:http';
import {
  type ClientHttp2Stream,
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from 'node:http2';
import { onAbort } from '../base/wait.ts';
import type { TransportRequest, TransportResponse } from '../cache/rest/transport.ts';
import { answerBody, decoded, isTransient } from './body.ts';
import type { Session } from './session.ts';
import { IS_NODE } from './socket.ts';
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

/**
 * Sends one request on a reserved place of the session. Rejects with {@link Repeatable} if the
 * connection broke before the answer and a second try may succeed.
 */
export function streamExchange(
  session: Session,
  target: RequestTarget,
  request: TransportRequest,
  track: Track,
): Promise<TransportResponse> {
  return new Promise((resolve, reject) => {
    const { signal } = request;
    const reused = session.markUsed();
    let stream: ClientHttp2Stream;
    try {
      if (signal?.aborted) throw requestAborted(request, target, signal);
      // Node passes the frames to the socket at the end of this turn of the event loop.
      request.beforeSend?.();
      stream = open(session, target, request);
    } catch (error) {
      session.release();
      reject(error);
      return;
    }
    let answered = false;
    let ended = false;
    let failure: Error | undefined;
    const end = (): void => {
      ended = true;
      stream.close(constants.NGHTTP2_CANCEL);
      stream.destroy();
    };
    track(stream, end);
    stream.once('close', onAbort(signal, end));

    stream.once('response', (headers) => {
      answered = true;
      try {
        resolve(response(stream, headers, target, request, session));
      } catch (error) {
        reject(error);
        end();
      }
    });
    // Stays for the life of the stream. Errors after the answer reach the reader through the body.
    stream.on('error', (error) => {
      failure ??= error;
    });
    stream.once('close', () => {
      if (answered) return;
      if (signal?.aborted) {
        reject(requestAborted(request, target, signal));
        return;
      }
      const refused = stream.rstCode === constants.NGHTTP2_REFUSED_STREAM;
      const what = `${describe(request, target)}: no answer`;
      const error = failed(refused ? 'refused' : 'reset', what, failure ?? resetBy(stream));
      // A server that refuses a stream while it takes others is overloaded. One that goes away has
      // processed none of ours.
      const repeatable = !ended && (refused ? !session.usable : reused && !session.usable);
      reject(repeatable ? new Repeatable(error, refused) : error);
    });
  });
}

/** If the session ended after it was chosen, nothing was sent. */
function open(
  session: Session,
  target: RequestTarget,
  request: TransportRequest,
): ClientHttp2Stream {
  const headers = streamHeaders(target, request);
  try {
    return session.request(headers, request.body);
  } catch (error) {
    if (session.usable) throw notHttp(request, target, error);
    throw new Repeatable(failed('refused', `${describe(request, target)}: no answer`, error), true);
  }
}

/** Headers of a connection, which HTTP/2 forbids. RFC 9113, section 8.2.2. */
const OF_CONNECTIONS: ReadonlySet<string> = new Set([
  'connection',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
]);

/** Checks what node:http checks and node:http2 does not. */
function streamHeaders(target: RequestTarget, request: TransportRequest): OutgoingHttpHeaders {
  const path = requestPath(target.url, request);
  const own = requestHeaders(target, request);
  try {
    if (!/^[!#$%&'*+.^_`|~\dA-Za-z-]+$/.test(request.method))
      throw new TypeError('no token of HTTP');
    if (/[^\u0021-\u00ff]/.test(path)) throw new TypeError('the path has unescaped characters');
    for (const [name, value] of Object.entries(own)) {
      validateHeaderName(name);
      validateHeaderValue(name, String(value));
    }
  } catch (error) {
    throw notHttp(request, target, error);
  }
  const headers: OutgoingHttpHeaders = {
    ':method': request.method,
    ':path': path,
    ':scheme': 'https',
    ':authority': String(own.host ?? target.url.host),
  };
  for (const [name, value] of Object.entries(own))
    if (!OF_CONNECTIONS.has(name)) headers[name] = value;
  return headers;
}

function response(
  stream: ClientHttp2Stream,
  headers: IncomingHttpHeaders & { ':status'?: number },
  target: RequestTarget,
  request: TransportRequest,
  session: Session,
): TransportResponse {
  const status = headers[':status'] ?? 0;
  const length =
    request.method === 'HEAD' || status === 204 || status === 304
      ? undefined
      : headers['content-length'];
  let left = length === undefined ? 0 : Number(length);
  const encoding = headerOf(headers, 'content-encoding');
  const body = answerBody({
    stream,
    // Node ends the stream of a lost connection, and of a RST_STREAM, as if it were complete. After
    // NO_ERROR, which a server may also send after END_STREAM, only the length shows that it was
    // cut.
    whole: () => !stream.rstCode && left <= 0,
    cut: () => {
      stream.close(constants.NGHTTP2_CANCEL);
      stream.destroy();
    },
    what: `${describe(request, target)}: the answer ended early`,
    signal: request.signal,
    transient: isTransient(request, encoding),
    tapped: IS_NODE,
    count: (bytes) => {
      left -= bytes;
      session.received();
    },
  });
  return {
    status,
    headers: { get: (name) => (name.startsWith(':') ? null : headerOf(headers, name)) },
    body: decoded(body, encoding, describe(request, target)),
  };
}

function resetBy({ rstCode }: ClientHttp2Stream): Error | undefined {
  return rstCode ? new Error(`the stream was reset with code ${rstCode}`) : undefined;
}
