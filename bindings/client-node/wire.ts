/**
 * Headers, errors and retries that HTTP/1.1 and HTTP/2 share. Every failure is a TransportError
 * that names the request and the server. A request is sent a second time only if that is safe.
 */

import { textOfError } from '../base/error-text.ts';
import { CapstanError } from '../base/errors.ts';
import { requireHeaders } from '../base/http-headers.ts';
import {
  TransportError,
  type TransportErrorKind,
  type TransportRequest,
  takesGzip,
} from '../cache/rest/transport.ts';
import type { TlsMaterial } from './tls.ts';

/** The address and credentials of one exchange. They may change between exchanges. */
export interface RequestTarget {
  url: URL;
  tls: TlsMaterial;
  /** Names in lower case. All values of an array are sent. */
  headers: Record<string, string | string[]>;
}

/** Emits 'close' at the end of an exchange. */
export interface Closable {
  once(event: 'close', listener: () => void): unknown;
}

/** `end` ends the exchange at any stage. */
export type Track = (exchange: Closable, end: () => void) => void;

export function requestPath(url: URL, { path, query }: TransportRequest): string {
  const prefix = url.pathname.replace(/\/+$/, '');
  const search = query === undefined ? '' : new URLSearchParams(query).toString();
  return search === '' ? `${prefix}${path}` : `${prefix}${path}?${search}`;
}

/**
 * The headers of a request, names in lower case. The request's own headers replace the transport's.
 */
export function requestHeaders(
  target: RequestTarget,
  { headers, body, compression }: TransportRequest,
): Record<string, string | number | string[]> {
  const merged: Record<string, string | number | string[]> = { ...target.headers };
  Object.assign(merged, requireHeaders('request.headers', headers));
  if (takesGzip(compression, target.url)) merged['accept-encoding'] = 'gzip';
  // For a DELETE with a body node:http sends neither a length nor chunks by itself.
  if (body !== undefined) merged['content-length'] ??= Buffer.byteLength(body);
  return merged;
}

/** A header of an answer of node:http or node:http2. */
export function headerOf(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  name: string,
) {
  const lower = name.toLowerCase();
  const value = Object.hasOwn(headers, lower) ? headers[lower] : undefined;
  return Array.isArray(value) ? value.join(', ') : (value ?? null);
}

/** A connection broke before the first byte of the answer; a second try may succeed. */
export class Repeatable extends Error {
  readonly failure: TransportError;
  /** Whether the server says that it did not process the request. */
  readonly unprocessed: boolean;

  constructor(failure: TransportError, unprocessed: boolean) {
    super(failure.message);
    this.failure = failure;
    this.unprocessed = unprocessed;
  }
}

const HARMLESS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Tries once more on a fresh connection if the first try met a connection that the server had
 * closed: for requests that may safely be sent twice, and for all that the server did not process.
 * Go's net/http: errServerClosedIdle; http2: canRetryError.
 */
export async function withSecondTry<T>(
  request: TransportRequest,
  attempt: (fresh: boolean) => Promise<T>,
): Promise<T> {
  try {
    return await attempt(false);
  } catch (error) {
    if (!(error instanceof Repeatable)) throw error;
    if (!error.unprocessed && !HARMLESS.has(request.method.toUpperCase())) throw error.failure;
  }
  try {
    return await attempt(true);
  } catch (error) {
    throw error instanceof Repeatable ? error.failure : error;
  }
}

/**
 * Node's HTTP modules check the method, the path's characters and the headers when a request is
 * made.
 */
export function notHttp(
  request: TransportRequest,
  target: RequestTarget,
  error: unknown,
): CapstanError {
  return new CapstanError(
    'INVALID_ARGUMENT',
    '"request" expected a method, an escaped path and headers that HTTP ' +
      `allows, got ${describe(request, target)}: ${messageOf(error)}`,
    { cause: error },
  );
}

export function requestAborted(
  request: TransportRequest,
  target: RequestTarget,
  signal: AbortSignal,
): TransportError {
  return failed('aborted', describe(request, target), signal.reason);
}

export function failed(kind: TransportErrorKind, what: string, cause?: unknown): TransportError {
  const reason = cause === undefined ? '' : `: ${messageOf(cause)}`;
  return new TransportError(
    kind,
    `${what} (${kind})${reason}`,
    cause === undefined ? undefined : { cause },
  );
}

/** Has no query, which may contain a continue token of kilobytes. */
export function describe({ method, path }: TransportRequest, { url }: RequestTarget): string {
  return `${method} ${url.origin}${url.pathname.replace(/\/+$/, '')}${path}`;
}

/**
 * For several addresses of one name (localhost), node:net's error is an AggregateError without a
 * message.
 */
export function messageOf(error: unknown): string {
  const text = textOfError(error);
  const { errors } = Object(error) as Partial<AggregateError>;
  return text === '' && Array.isArray(errors) ? errors.map(messageOf).join(', ') : text;
}
