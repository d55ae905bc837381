/**
 * What a request says on the wire, in HTTP/1.1 and HTTP/2 alike, and how its failures are named.
 * What this file keeps true: every failure is a TransportError that says which request of whom, and
 * a request is sent a second time only where that can do no harm.
 */

import { textOfError } from '../base/error-text.ts';
import { CapstanError } from '../base/errors.ts';
import { requireHeaders } from '../base/http-headers.ts';
import {
  TransportError,
  type TransportErrorKind,
  type TransportRequest,
} from '../cache/rest/transport.ts';
import type { TlsMaterial } from './tls.ts';

/**
 * Where an exchange goes, and with what credentials: all of it may differ from one exchange to the
 * next.
 */
export interface RequestTarget {
  url: URL;
  tls: TlsMaterial;
  /** Names in lower case; each value of several is sent. */
  headers: Record<string, string | string[]>;
}

/** What emits 'close' when an exchange is over, whatever became of it. */
export interface Closable {
  once(event: 'close', listener: () => void): unknown;
}

/** `end` cuts the exchange at whatever stage it is. */
export type Track = (exchange: Closable, end: () => void) => void;

export function requestPath(url: URL, { path, query }: TransportRequest): string {
  const prefix = url.pathname.replace(/\/+$/, '');
  const search = query === undefined ? '' : new URLSearchParams(query).toString();
  return search === '' ? `${prefix}${path}` : `${prefix}${path}?${search}`;
}

/** Names in lower case. The request's own headers win over the transport's, whatever their case. */
export function requestHeaders(
  target: RequestTarget,
  { headers, body }: TransportRequest,
): Record<string, string | number | string[]> {
  const merged: Record<string, string | number | string[]> = { ...target.headers };
  Object.assign(merged, requireHeaders('request.headers', headers));
  // node:http sends neither a length nor chunks for a DELETE with a body unless it is told the
  // length.
  if (body !== undefined) merged['content-length'] ??= Buffer.byteLength(body);
  return merged;
}

/** A header of an answer, from what node:http and node:http2 call headers. */
export function headerOf(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  name: string,
) {
  const lower = name.toLowerCase();
  const value = Object.hasOwn(headers, lower) ? headers[lower] : undefined;
  return Array.isArray(value) ? value.join(', ') : (value ?? null);
}

/** A connection broke before any byte of the answer, in a way that a second request may mend. */
export class Repeatable extends Error {
  readonly failure: TransportError;
  /** The server said that it did not look at the request. */
  readonly unprocessed: boolean;

  constructor(failure: TransportError, unprocessed: boolean) {
    super(failure.message);
    this.failure = failure;
    this.unprocessed = unprocessed;
  }
}

const HARMLESS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * The attempt, and a second one on a fresh connection when the first met a connection that the
 * server had closed meanwhile: for a request that may be sent twice without harm, and for any that
 * the server did not look at. Go's net/http: errServerClosedIdle; http2: canRetryError.
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
 * node's HTTP modules check the method, the path's characters and the headers when the request is
 * made.
 */
export function notHttp(
  request: TransportRequest,
  target: RequestTarget,
  error: unknown,
): CapstanError {
  return new CapstanError(
    'INVALID_ARGUMENT',
    `"request" expected a method, an escaped path and headers that HTTP allows, got ${describe(request, target)}: ${messageOf(error)}`,
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

/** Without the query: it may hold a continue token of kilobytes. */
export function describe({ method, path }: TransportRequest, { url }: RequestTarget): string {
  return `${method} ${url.origin}${url.pathname.replace(/\/+$/, '')}${path}`;
}

/**
 * node:net's error for several addresses of one name (localhost) is an AggregateError without a
 * message.
 */
export function messageOf(error: unknown): string {
  const text = textOfError(error);
  const { errors } = Object(error) as Partial<AggregateError>;
  return text === '' && Array.isArray(errors) ? errors.map(messageOf).join(', ') : text;
}
