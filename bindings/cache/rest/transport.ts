/**
 * The interface to the network, and its implementation over fetch: one HTTP exchange, request →
 * status, headers, bytes. A transport repeats nothing (rest.ts does) and decodes nothing
 * (decode/frames.ts does). If no answer comes, or not all of it, it rejects with a TransportError,
 * whose `kind` decides what the layers above do.
 */
/// <reference lib="esnext.disposable" preserve="true" />
import { CapstanError, hasCode, invalid, requireFunction } from '../../base/errors.ts';
import { requireHeaders, requireUnshown } from '../../base/http-headers.ts';
import { namesOf, requireNames } from '../../base/names.ts';
import { isOnThisMachine, serverURL } from '../../base/urls.ts';
import { abortable, onAbort } from '../../base/wait.ts';

/** Members of other values that are passed in place of a transport. */
interface NoTransport {
  request?: unknown;
  loadFromDefault?: unknown;
  transport?: unknown;
}

/** Throws CapstanError INVALID_ARGUMENT for no transport, and says what to pass instead. */
export function requireTransport(name: string, value: unknown): void {
  const given = value as NoTransport | null | undefined;
  if (typeof given?.request === 'function') return;
  const { message } = invalid(`${name}.request`, 'a function', given?.request);
  let advice = '';
  if (typeof given?.loadFromDefault === 'function')
    advice = ': pass kubeConfigTransport(config) of capstan/client-node';
  else if (given?.transport !== undefined)
    advice = `: pass its transport${typeof given.transport === 'function' ? '()' : ''}`;
  throw new CapstanError('INVALID_ARGUMENT', message + advice);
}

/**
 * A request to a {@link Transport}. `path` is absolute and already escaped (`/api/v1/pods`);
 * `query` is not yet escaped.
 */
export interface TransportRequest {
  method: string;
  path: string;
  query?: Record<string, string> | undefined;
  headers?: Record<string, string> | undefined;
  body?: string | Uint8Array | undefined;
  /**
   * Ends the exchange at any moment, also while the body is read; the pending promise then rejects
   * with a TransportError of kind 'aborted'.
   */
  signal?: AbortSignal | undefined;
  /**
   * The transport may reuse the memory of a chunk once the next one is requested. So the reader
   * requests one chunk at a time and copies the bytes that it keeps. Default false.
   */
  transient?: boolean | undefined;
  /**
   * The answer may come compressed; the transport decompresses it. It asks for gzip in place of the
   * header `accept-encoding`; `'auto'`: unless the server is on this machine. A transport that does
   * not know this member sends the header as it is.
   */
  compression?: 'auto' | 'gzip' | undefined;
  /**
   * Called just before the request is sent, after the waits for credentials, rate limits and the
   * connection; it may be called more than once. If it throws, nothing is sent and `request`
   * rejects with that error. A transport that waits before it sends calls it after that wait. The
   * manager's transport checks here whether it still holds the lease. `fetchTransport` calls it
   * before `fetch`, which connects after that.
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
 * The iterator of a body that also gives chunks synchronously, which saves its reader a promise for
 * each.
 */
export interface ChunkIterator extends AsyncIterator<Uint8Array, undefined> {
  /**
   * The next chunk if it has arrived; `undefined` if `next` would have to wait, or would give the
   * end or an error. Must not throw. (It is not called `take`, which JavaScript's iterator helpers
   * define on every iterator.)
   */
  arrived?(): Uint8Array | undefined;
  /**
   * Calls `run` once when `arrived` has a chunk, or `next` would give the end or an error; never
   * inside this call, and only after `arrived` has given nothing. It takes the place of the
   * promise of a `next`, so that none is pending meanwhile. Must not throw.
   */
  whenArrived?(run: () => void): void;
}

/**
 * An answer whose status and headers have arrived. The body can be read once; leaving the iteration
 * early closes the connection. Its iterator may be a {@link ChunkIterator}.
 */
export interface TransportResponse {
  status: number;
  headers: { get(name: string): string | null };
  body: AsyncIterable<Uint8Array>;
}

/**
 * Sends HTTP requests to one API server. It repeats nothing; repeats and back-off are above it.
 * client-go: http.RoundTripper.
 *
 * `request` resolves when status and headers have arrived, whatever the status, and rejects with a
 * {@link TransportError}. The caller reads `body` to its end, leaves the iteration, or aborts
 * `signal`; otherwise the connection stays open.
 *
 * @example
 * const { status, body } = await transport.request({ method: 'GET', path: '/api/v1/namespaces' });
 */
export interface Transport {
  request(request: TransportRequest): Promise<TransportResponse>;
  /** Closes idle and open connections. */
  close?(): Promise<void>;
  /** The host of the last request, as `name:port`, for metrics. */
  host?(): string;
  /**
   * What unsent requests wait for, such as a credential plugin; it becomes part of the error of a
   * request that ends meanwhile. `undefined` if no request waits. Must not throw.
   */
  waitsFor?(): string | undefined;
}

/** The `close` and dispose methods of a transport that wraps another one: they close that one. */
export function closeWith(transport: Transport): { close(): Promise<void> } & AsyncDisposable {
  const close = async (): Promise<void> => transport.close?.();
  return { close, [Symbol.asyncDispose]: close };
}

/**
 * What happened to the connection:
 * - `refused`: no connection was made (also: the name does not resolve, no route, TLS failed).
 * - `reset`: the connection ended before the answer was complete.
 * - `aborted`: the request's own signal fired.
 * - `unknown`: the runtime does not say. It counts as `refused`.
 */
export type TransportErrorKind = 'refused' | 'reset' | 'aborted' | 'unknown';

/** No HTTP answer came, or not all of it. `cause` is the error of the runtime. Code `TRANSPORT`. */
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
 * The kind of a TransportError, also of one from another copy of the package; `undefined` for any
 * other error.
 */
export function connectionLoss(error: unknown): TransportErrorKind | undefined {
  return hasCode(error, 'TRANSPORT') ? (error as TransportError).kind : undefined;
}

/** Options of {@link fetchTransport}. */
export interface FetchTransportOptions {
  /**
   * Headers of every request, such as `authorization`. Headers of the request itself override them.
   */
  headers?: Record<string, string> | undefined;
  /** Default: `globalThis.fetch`. */
  fetch?: typeof fetch | undefined;
}

const FETCH_NAMES = namesOf<FetchTransportOptions>()({ headers: 1, fetch: 1 });

/**
 * A transport over `fetch`, for browsers, Deno, Bun and Workers. For Node, `capstan/client-node` is
 * the better choice: fetch takes no client certificates there, and undici ends a body after 300 s
 * without a byte.
 *
 * Browsers open at most six HTTP/1.1 connections to one host, for all tabs together. A watch holds
 * one until it ends, so with six watches every further request waits without an error. Serve the
 * page over HTTP/2 (where watches share a connection), use several host names, or at most five
 * informers a page.
 *
 * A dead connection is detected only because no bytes arrive: see `idleTimeout` of {@link
 * ListWatchOptions}.
 *
 * A list may come compressed (see `compression` of {@link ListWatchOptions}): then the request has
 * no `accept-encoding`, and fetch itself asks for encodings and decodes them, also in Deno. How
 * long the body was on the wire is not known here, so only `maxListBytes` bounds it.
 *
 * Other requests set `accept-encoding: identity`, but browsers ignore that and send gzip. Chromium
 * reads the first gzip member of a body and silently drops the rest, and kube-apiserver (from 1.37)
 * ends a member at each flush of a watch: events then come late, when the watch is opened again.
 * Use a proxy that sends `identity`. Deno gives compressed bytes as they are, which is a DECODE
 * error here; Node, Bun and workerd read all members.
 *
 * Redirects are not followed: the answer is the 3xx itself or, in browsers, which hide it, a
 * TransportError of kind 'unknown'.
 *
 * @param server such as `https://10.0.0.1:6443` or `http://localhost:8001/prefix`; a user and
 *   password in it are sent as Basic authorization, unless `headers` has `authorization`
 * @throws CapstanError INVALID_ARGUMENT for a server that is not an http(s) URL, and for headers
 *   that HTTP does not allow; the message does not contain values of headers
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
    async request({ method, path, query, headers, body, signal, beforeSend, compression }) {
      const url = requestURL(base, path, query);
      const own = requireHeaders('request.headers', headers);
      const sent: Record<string, string> = { ...common, ...own };
      if (takesGzip(compression, address)) delete sent['accept-encoding'];
      const init = {
        method,
        headers: new Headers(sent),
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

/** Whether a request asks a server at this address for gzip. */
export function takesGzip(
  compression: TransportRequest['compression'],
  server: Pick<URL, 'hostname'>,
): boolean {
  return compression === 'gzip' || (compression === 'auto' && !isOnThisMachine(server));
}

function requestURL(base: string, path: string, query: Record<string, string> | undefined): string {
  const search = query === undefined ? '' : new URLSearchParams(query).toString();
  return search === '' ? `${base}${path}` : `${base}${path}?${search}`;
}

/**
 * A browser hides the status of a redirect. A function passed as `fetch` may have followed one:
 * then the answer is another server's, or that of a GET.
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
 * A function passed as `fetch` may ignore its signal: then the body of its late answer is
 * cancelled.
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
  // A reader instead of `for await`: not every runtime's ReadableStream is iterable.
  const reader = response.body.getReader();
  const cancel = (): void => void reader.cancel().catch(() => undefined);
  // For a body that ignores the signal.
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
    // The consumer left early: close the connection, without waiting for the confirmation.
    if (!ended) cancel();
  }
}

/**
 * @param otherwise the kind if the runtime's error does not tell: after the headers a failure can
 *   only be a lost connection
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
 * The kind of {@link TransportError} for an error of the runtime: by the error codes of libuv and
 * undici, and the names that Bun and Deno use. Follows `cause`, because fetch wraps the socket's
 * error. `undefined` for any other error.
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
