/**
 * Serves the page and a proxy to an API server on one loopback address. Invariants: the credentials
 * stay in this process; only GETs of the collections that the page shows are passed on, so that no
 * other page or program of this machine can read a Secret through the proxy; requests with another
 * Host (DNS rebinding) and requests of other sites in the same browser are refused. A body that was
 * cut is cut for the page too, so that it never seems complete. No request can end the process.
 */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import type { Resource, Transport } from 'capstan/cache';
import { POLICY } from './build.ts';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': POLICY,
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
};

export interface ViewServerOptions {
  /** A transport to the API server, with credentials. */
  transport: Transport;
  /** The resources that may be listed and watched. */
  resources: readonly Pick<Resource<never>, 'group' | 'version' | 'plural'>[];
  /** The folder of the built page. */
  folder: string;
  /** The port on 127.0.0.1. Default 0: any free port. */
  port?: number;
}

export interface ViewServer {
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts the server. Rejects with the system's error if the port is in use. */
export async function serveView({
  transport,
  resources,
  folder,
  port = 0,
}: ViewServerOptions): Promise<ViewServer> {
  const collections = new Set(resources.map(collectionOf));
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const refusal = refusalOf(request, own());
    if (refusal !== undefined) return refuse(response, 403, refusal);
    if (request.method !== 'GET') return refuse(response, 405, 'only GET passes');
    // Split by hand, because `new URL` throws for some targets.
    const [path = '', search = ''] = (request.url ?? '').split(/\?(.*)/s);
    if (!path.startsWith('/api')) return sendFile(response, folder, path);
    if (!collections.has(path))
      return refuse(response, 403, `only lists and watches pass of ${[...collections].join(', ')}`);
    await pass(transport, path, Object.fromEntries(new URLSearchParams(search)), request, response);
  };
  const server = createServer((request, response) => {
    respond(request, response).catch((error: unknown) => failed(response, 500, error));
  });
  const own = (): number => (server.address() as AddressInfo).port;
  server.requestTimeout = 0;
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${own()}/`,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function collectionOf({ group, version, plural }: ViewServerOptions['resources'][number]): string {
  return `${group === '' ? '/api' : `/apis/${group}`}/${version}/${plural}`;
}

/** Why a request does not come from this page; `undefined` if it does. */
function refusalOf({ headers }: IncomingMessage, port: number): string | undefined {
  const hosts = ['127.0.0.1', 'localhost', '[::1]'].map((name) => `${name}:${port}`);
  if (!hosts.includes(headers.host ?? '')) return `open http://${hosts[0]}/`;
  const site = headers['sec-fetch-site']; // sent by browsers; pages cannot forge it
  const isVisit =
    headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';
  if (site === undefined || site === 'same-origin' || site === 'none' || isVisit) return undefined;
  return 'requests of other sites are refused';
}

function refuse(response: ServerResponse, status: number, why: string): void {
  response
    .writeHead(status, { ...HEADERS, 'content-type': 'text/plain; charset=utf-8' })
    .end(`${why}\n`);
}

/** Destroys an answer that was begun, so that it does not seem complete. */
function failed(response: ServerResponse, status: number, error: unknown): void {
  if (response.headersSent) response.destroy();
  else refuse(response, status, error instanceof Error ? error.message : String(error));
}

async function sendFile(response: ServerResponse, folder: string, path: string): Promise<void> {
  const name = path === '/' ? 'index.html' : path.slice(1);
  const type = TYPES[extname(name)];
  const body =
    type === undefined || !/^[\w.-]+$/.test(name)
      ? undefined
      : await readFile(join(folder, name)).catch(() => undefined);
  if (type === undefined || body === undefined) refuse(response, 404, 'there is no such file');
  else response.writeHead(200, { ...HEADERS, 'content-type': type }).end(body);
}

/**
 * Sends the request to the API server and streams the answer. Each side ends when the other one
 * does.
 */
async function pass(
  transport: Transport,
  path: string,
  query: Record<string, string>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const disconnected = new AbortController();
  response.once('close', () => disconnected.abort());
  const { signal } = disconnected;
  // identity, because browsers stop reading a compressed watch after its first gzip member.
  const headers = {
    accept: request.headers.accept ?? 'application/json',
    'accept-encoding': 'identity',
  };
  try {
    const answer = await transport.request({
      method: 'GET',
      path,
      query,
      headers,
      signal,
      transient: true,
    });
    const type = answer.headers.get('content-type') ?? 'application/json';
    const retryAfter = answer.headers.get('retry-after');
    response.writeHead(answer.status, {
      ...HEADERS,
      'content-type': type,
      ...(retryAfter === null ? {} : { 'retry-after': retryAfter }),
    });
    response.flushHeaders(); // a watch may send nothing for minutes
    for await (const chunk of answer.body) await sent(response, chunk, signal);
    response.end();
  } catch (error) {
    if (!signal.aborted) failed(response, 502, error);
  }
}

/** Copies each chunk: the transport reuses its memory when the next one is read. */
function sent(response: ServerResponse, chunk: Uint8Array, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const ended = (): void => reject(signal.reason);
    signal.addEventListener('abort', ended, { once: true });
    response.write(chunk, (error) => {
      signal.removeEventListener('abort', ended);
      if (error) reject(error);
      else resolve();
    });
  });
}
