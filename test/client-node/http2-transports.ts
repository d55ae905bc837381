/**
 * Fixtures of the HTTP/2 tests: servers and transports that end with the test, and watches on them.
 */
import type { Http2ServerRequest, Http2ServerResponse, SecureServerOptions } from 'node:http2';
import { type Transport, TransportError } from 'capstan/cache';
import { type HttpTransportOptions, httpTransport } from 'capstan/client-node';
import { afterEach, expect } from 'vitest';
import { authority, bodyText, certificate } from '../helpers/http-servers.ts';
import { serveH2 } from './http2-servers.ts';

export const ca = await authority();
/** The TLS files of the servers. */
export const identity = await certificate(ca, 'server');

/** Called after the test, in reverse order. */
export const cleanups: (() => Promise<unknown> | undefined)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

type Listener = (request: Http2ServerRequest, response: Http2ServerResponse) => void;

export async function startServer(listener: Listener, tls: SecureServerOptions = {}) {
  const server = await serveH2({ cert: identity.cert, key: identity.key, ...tls }, listener);
  cleanups.push(() => server.stop());
  return server;
}

export function http2Transport(url: string, options: HttpTransportOptions = {}): Transport {
  const transport = httpTransport(url, { ...options, tls: { ca: ca.cert, ...options.tls } });
  cleanups.push(() => transport.close?.());
  return transport;
}

export const getPath = (transport: Transport, path = '/', signal?: AbortSignal) =>
  transport.request({ method: 'GET', path, signal });
export const ask = async (transport: Transport, path?: string) =>
  bodyText((await getPath(transport, path)).body);

export async function kindOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(TransportError);
  return (error as TransportError).kind;
}

/** A watch whose first bytes have arrived. */
export async function openWatch(transport: Transport, path = '/watch', signal?: AbortSignal) {
  const reader = (await getPath(transport, path, signal)).body[Symbol.asyncIterator]();
  expect(Buffer.from((await reader.next()).value ?? []).toString()).toBe('first\n');
  return reader;
}

/** Whether a watch continues: it is read from now on, and `ended` has the reason of its end. */
export function following(reader: AsyncIterator<Uint8Array>) {
  const state: { ended: string | undefined; end: Promise<string> } = {
    ended: undefined,
    end: kindOf(reader.next()),
  };
  void state.end.then((kind) => {
    state.ended = kind;
  });
  return state;
}

/** Watches get a first line and stay open; other requests are answered. */
export const watchOrAnswer: Listener = (request, response) => {
  if (request.url === '/watch') response.write('first\n');
  else response.end(`${request.httpVersion} ${request.method} ${request.url}`);
};
