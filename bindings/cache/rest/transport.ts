/// <reference lib="esnext.disposable" preserve="true" />
/**
 * The seam to the network: one HTTP exchange, request → status, headers, bytes. A transport retries
 * nothing and decodes nothing; REST repeats live in rest.ts, framing in frames.ts. Every failure to
 * get an answer, or to get the rest of it, is a TransportError whose `kind` is all the layers above
 * need to choose their reaction.
 */
import { CapstanError, hasCode, requireFunction } from '../../base/errors.ts';
import { requireHeaders, requireUnshown } from '../../base/http-headers.ts';
import { namesOf, requireNames } from '../../base/names.ts';
import { serverURL } from '../../base/urls.ts';
import { abortable, onAbort } from '../../base/wait.ts';

/**
 * One request. `path` is absolute and already escaped (`/api/v1/pods`); `query` is not yet escaped.
 */
export interface TransportRequest {
  method: string;
  path: string;
  query?: Record<string, string> | undefined;
  headers?: Record<string, string> | undefined;
  body?: string | Uint8Array | undefined;
  /**
   * Ends the exchange at any moment, also while the body is read: both then fail with kind
   * 'aborted'.
   */
  signal?: AbortSignal | undefined;
  /**
   * The reader is done with each chunk of the body when it asks for the next one, so that the
   * transport may take its memory back, or read the next bytes into it: so it asks for one at a
   * time, and copies what it keeps. Default false.
   */
  transient?: boolean | undefined;
  /**
   * Called just before the bytes of the request go out, each time that it is sent: after
   * credentials, rate limits and the connection. What it throws is what `request` rejects with, and
   * nothing is sent. A transport that waits for anything before it sends calls it after that wait;
   * it may be called more than once. The manager's transport asks here whether the lease still
   * holds. `fetchTransport` calls it before `fetch`, which connects after that.
   *
   * @example
   * const polite: Transport = {
   *   async request(request) {
   *     await fetch('http://127.0.0.1:8080/may-send');
   *     request.beforeSend?.();
   *     return transport.request(request);
   *   },
   * };
   */
  beforeSend?: (() => void) | undefined;
}

/**
 * The iterator of a body whose chunks can be had without waiting, which spares its reader a promise
 * for each.
 */
export interface ChunkIterator extends AsyncIterator<Uint8Array, undefined> {
  /**
   * What `next` would resolve with at once; `undefined` where that has to wait, or tells of the end
   * or of a failure. Must not throw. Not `take`, which every iterator has where the language's
   * iterator helpers are there.
   */
  arrived?(): Uint8Array | undefined;
}

/**
 * An answer whose status line has arrived. The body is read once; leaving the iteration early frees
 * the connection. Its iterator may be a {@link ChunkIterator}.
 */
export interface TransportResponse {
  status: number;
  headers: { get(name: string): string | null };
  body: AsyncIterable<Uint8Array>;
}

/**
 * One HTTP exchange. It retries nothing; retries and their back-off live above it.
 *
 * An implementation resolves `request` when status and headers are there, for any status, and
 * rejects with a {@link TransportError}. The caller reads `body` to its end, leaves the iteration,
 * or aborts `signal`; otherwise the connection stays open.
 *
 * @example
 * const { status, body } = await transport.request({ method: 'GET', path: '/api/v1/namespaces' });
 */
export interface Transport {
  request(request: TransportRequest): Promise<TransportResponse>;
  /** Closes idle and open connections. */
  close?(): Promise<void>;
  /** Where the last request went to, as `name:port`, for metrics. */
  host?(): string;
  /**
   * What requests wait for that have not been sent yet, such as a program that gives credentials:
   * for the error of a request that ends meanwhile. `undefined` where none waits. Must not throw.
   */
  waitsFor?(): string | undefined;
}

/** How a transport around another one ends: with the other one. */
export function closeWith(transport: Transport): { close(): Promise<void> } & AsyncDisposable {
  const close = async (): Promise<void> => transport.close?.();
  return { close, [Symbol.asyncDispose]: close };
}

/**
 * What happened to the connection:
 * - `refused`: no connection came about (also: the name does not resolve, no route, TLS failed).
 * - `reset`: there was a connection and it ended before the answer was complete.
 * - `aborted`: the request's own signal fired.
 * - `unknown`: the host does not say. It counts as `refused`.
 */
export type TransportErrorKind = 'refused' | 'reset' | 'aborted' | 'unknown';

/** No HTTP answer, or not all of it. `cause` is the host's error. Code `TRANSPORT`. */
export class TransportError extends CapstanError {
  readonly kind: TransportErrorKind;

  constructor(
    kind: TransportErrorKind,
    message: string,
    options?: { cause?: unknown | undefined },
  ) {
    super('TRANSPORT', message, options);
    this.kind = kind;
  }

  override get name(): string {
    return 'TransportError';
  }
}

/**
 * What happened to the connection, where that is the error: also where a transport of another copy
 * of the package tells of it.
 */
export function connectionLoss(error: unknown): TransportErrorKind | undefined {
  return hasCode(error, 'TRANSPORT') ? (error as TransportError).kind : undefined;
}

/** Of {@link fetchTransport}. */
export interface FetchTransportOptions {
  /** Sent with every request, such as `authorization`. A header of the request itself wins. */
  headers?: Record<string, string> | undefined;
  /** The fetch to use, by default the host's. */
  fetch?: typeof fetch | undefined;
}

const FETCH_NAMES = namesOf<FetchTransportOptions>()({ headers: 1, fetch: 1 });

/**
 * A transport over the host's `fetch`: browsers, Deno, Bun, Workers, and Node (where
 * `capstan/client-node` is the better choice for clusters: fetch there offers no client
 * certificates, and undici ends a body that is silent for 300 s).
 *
 * Browsers open at most six HTTP/1.1 connections to one host, for all tabs together. A watch holds
 * one for as long as it lives, so six watches leave none for anything else, and every further
 * request waits without an error. Serve the page over HTTP/2 (where watches share a connection),
 * spread the watches over several host names, or keep informers to five a page.
 *
 * A connection that died without a word is found by its silence alone: see `idleTimeout` of {@link
 * ListWatchOptions}.
 *
 * Requests ask for `identity`; pages may not, and browsers ask for gzip. Chromium reads the first
 * gzip member of a body and drops the rest in silence, and kube-apiserver (from 1.37) ends one at
 * each flush of a watch: events then come late, when the watch is opened again. Put a proxy between
 * that asks for `identity`. Deno hands out compressed bytes as they are, which is a DECODE error
 * here; Node, Bun and workerd read all members.
 *
 * Redirects are not followed: the answer is the 3xx itself, or, in browsers, which hide it, a
 * TransportError of kind 'unknown'.
 *
 * @param server such as `https://10.0.0.1:6443` or `http://localhost:8001/prefix`; a user and
 *   password in it are sent as Basic authorization, unless `headers` say otherwise
 * @throws CapstanError INVALID_ARGUMENT for a server that is not an http(s) URL, and for headers
 *   that HTTP does not allow; no value of a header is shown
 * @example
 * const pods = new ListWatch(fetchTransport('http://localhost:8001'), Pod);
 */
export function fetchTransport(server: string, options: FetchTransportOptions = {}): Transport {
  requireUnshown('options', options);
  requireNames('options', options, 'option of fetchTransport()', FETCH_NAMES);
  const { url: address, authorization } = serverURL('server', server);
  const base = `${address.origin}${address.pathname.replace(/\/+$/, '')}`;
  const fetchFunction = options.fetch ?? globalThis.fetch;
  requireFunction('options.fetch', fetchFunction);
  const common = {
    ...(authorization === undefined ? {} : { authorization }),
    ...requireHeaders('options.headers', options.headers),
  };
  const { host } = address;

  return {
    host: () => host,
    async request({ method, path, query, headers, body, signal, beforeSend }) {
      const url = requestURL(base, path, query);
      const init = {
        method,
        headers: new Headers({ ...common, ...requireHeaders('request.headers', headers) }),
        body: body as BodyInit | undefined,
        signal,
        redirect: 'manual' as const,
      };
      beforeSend?.();
      let response: Response;
      try {
        response = await (signal === undefined
          ? fetchFunction(url, init)
          : untilAborted(async () => fetchFunction(url, init), signal));
      } catch (error) {
        throw transportError(error, signal, `${method} ${url}: no answer`, 'unknown');
      }
      requireOwnAnswer(response, `${method} ${url}`);
      return {
        status: response.status,
        headers: response.headers,
        body: readBody(response, signal, `${method} ${url}: the answer ended early`),
      };
    },
  };
}

function requestURL(base: string, path: string, query: Record<string, string> | undefined): string {
  const search = query === undefined ? '' : new URLSearchParams(query).toString();
  return search === '' ? `${base}${path}` : `${base}${path}?${search}`;
}

/**
 * A page of a browser gets no status of a redirect, and a function that is given as `fetch` may
 * have followed one all the same: what it brings is another server's answer, or that of a GET.
 */
function requireOwnAnswer({ type, redirected, body }: Response, what: string): void {
  if (type !== 'opaqueredirect' && redirected !== true) return;
  void body?.cancel().catch(() => undefined);
  throw new TransportError(
    'unknown',
    `${what}: the server redirects; redirects are not followed: give the address they lead to`,
  );
}

/**
 * Not every function that is given as `fetch` heeds its signal: what it answers later is let go.
 */
async function untilAborted(send: () => Promise<Response>, signal: AbortSignal): Promise<Response> {
  const answer = send();
  try {
    return await abortable(answer, signal);
  } catch (error) {
    if (signal.aborted) void answer.then((late) => late.body?.cancel()).catch(() => undefined);
    throw error;
  }
}

async function* readBody(
  response: Response,
  signal: AbortSignal | undefined,
  what: string,
): AsyncGenerator<Uint8Array> {
  if (response.body === null) return;
  // A reader instead of `for await` over the stream: not every host's ReadableStream is iterable.
  const reader = response.body.getReader();
  const cancel = (): void => void reader.cancel().catch(() => undefined);
  // For a body that does not heed the signal itself: it ends then.
  const unlisten = onAbort(signal, cancel);
  let ended = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      signal?.throwIfAborted();
      if (done) break;
      yield value;
    }
    ended = true;
  } catch (error) {
    ended = true;
    throw transportError(error, signal, what, 'reset');
  } finally {
    unlisten();
    // The consumer left: give the connection back, and do not wait for the host to confirm it.
    if (!ended) cancel();
  }
}

/**
 * `otherwise` is the kind when the host's error says nothing: after the headers a failure can only
 * be a lost connection.
 */
function transportError(
  error: unknown,
  signal: AbortSignal | undefined,
  what: string,
  otherwise: TransportErrorKind,
): TransportError {
  const kind = signal?.aborted ? 'aborted' : (kindOfHostError(error) ?? otherwise);
  return new TransportError(kind, `${what} (${kind}): ${innermostMessage(error)}`, {
    cause: error,
  });
}

/**
 * Error codes of libuv and of undici, and the names Bun and Deno use, to the kinds of {@link
 * TransportError}. `undefined` for an error that carries none of them. Follows `cause`, because
 * fetch wraps the socket's error.
 */
export function kindOfHostError(error: unknown): TransportErrorKind | undefined {
  for (
    let current = error, depth = 0;
    isErrorLike(current) && depth < 8;
    current = current.cause, depth++
  ) {
    const known = KINDS.get(String(current.code)) ?? KINDS.get(String(current.name));
    if (known !== undefined) return known;
    const message = String(current.message);
    if (/connection refused|dns error|failed to lookup/i.test(message)) return 'refused';
    if (/connection reset|connection closed|socket hang up|other side closed/i.test(message))
      return 'reset';
  }
  return undefined;
}

const KINDS: ReadonlyMap<string, TransportErrorKind> = new Map<string, TransportErrorKind>([
  ['ECONNREFUSED', 'refused'],
  ['ENOTFOUND', 'refused'],
  ['EAI_AGAIN', 'refused'],
  ['EHOSTUNREACH', 'refused'],
  ['ENETUNREACH', 'refused'],
  ['ETIMEDOUT', 'refused'],
  ['UND_ERR_CONNECT_TIMEOUT', 'refused'],
  ['ConnectionRefused', 'refused'],
  ['ECONNRESET', 'reset'],
  ['EPIPE', 'reset'],
  ['ECONNABORTED', 'reset'],
  ['UND_ERR_SOCKET', 'reset'],
  ['UND_ERR_BODY_TIMEOUT', 'reset'],
  ['ConnectionClosed', 'reset'],
  ['ConnectionReset', 'reset'],
]);

interface ErrorLike {
  code?: unknown;
  name?: unknown;
  message?: unknown;
  cause?: unknown;
}

function isErrorLike(value: unknown): value is ErrorLike {
  return typeof value === 'object' && value !== null;
}

function innermostMessage(error: unknown): string {
  let message = String(error);
  for (
    let current = error, depth = 0;
    isErrorLike(current) && depth < 8;
    current = current.cause, depth++
  ) {
    if (typeof current.message === 'string' && current.message !== '') message = current.message;
  }
  return message;
}
