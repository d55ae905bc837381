/**
 * Embedded API servers for suites that run elsewhere: a small HTTP service starts them, injects
 * faults and stops them on request. Processes use a server's own address; a page cannot reach
 * another origin, so it uses a proxy that passes every byte, cut and refusal on.
 */
import { once } from 'node:events';
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { ApiServer } from 'capstan/testing';
import type { ServerCall, ServerOptions, StartedServer } from './cluster-protocol.ts';

const OPEN_TO_PAGES = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'GET, POST, PUT, PATCH, DELETE',
  'access-control-allow-headers': 'content-type, accept, accept-encoding',
  'access-control-expose-headers': 'retry-after, content-encoding',
};

interface Running {
  readonly server: ApiServer;
  readonly faults: (() => void)[];
  /** Watches are compressed, a gzip member for each chunk, whatever was requested. */
  compressed: boolean;
}

export interface Cluster {
  readonly url: string;
  stop(): Promise<void>;
}

export async function startCluster(): Promise<Cluster> {
  const servers = new Map<string, Running>();
  const gateway = createServer((request, response) => {
    response.on('error', () => undefined);
    serve(request, response).catch((error: unknown) =>
      response.writeHead(500, OPEN_TO_PAGES).end(String(error)),
    );
  });
  gateway.listen(0, '127.0.0.1');
  await once(gateway, 'listening');
  const url = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`;

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, id = '', action, ...rest] = (request.url ?? '').split('/');
    if (request.method === 'OPTIONS') {
      response.writeHead(204, OPEN_TO_PAGES).end();
      return;
    }
    if (id === 'start') {
      const { compressed = false, ...options } = JSON.parse(await bodyOf(request)) as ServerOptions;
      const server = await ApiServer.start(options);
      const name = `server-${servers.size}`;
      servers.set(name, { server, faults: [], compressed });
      // The proxy also compresses.
      const started: StartedServer = {
        name,
        direct: compressed ? `${url}/${name}/proxy` : server.url,
        proxied: `${url}/${name}/proxy`,
      };
      response.writeHead(200, OPEN_TO_PAGES).end(JSON.stringify(started));
      return;
    }
    const running = servers.get(id);
    if (running === undefined) response.writeHead(404, OPEN_TO_PAGES).end();
    else if (action === 'proxy') proxy(running, `/${rest.join('/')}`, request, response);
    else {
      await call(running, JSON.parse(await bodyOf(request)) as ServerCall);
      response.writeHead(200, OPEN_TO_PAGES).end();
    }
  }

  return {
    url,
    async stop() {
      await Promise.all([...servers.values()].map(({ server }) => server.stop()));
      gateway.closeAllConnections();
      gateway.close();
      await once(gateway, 'close');
    },
  };
}

async function call({ server, faults }: Running, what: ServerCall): Promise<void> {
  switch (what.do) {
    case 'inject':
      faults.push(server.inject(what.fault));
      return;
    case 'takeBack':
      for (const takeBack of faults.splice(0)) takeBack();
      await listening(server);
      return;
    case 'expireHistory':
      server.expireHistory();
      return;
    case 'dropConnections':
      server.dropConnections();
      return;
    case 'stop':
      await server.stop();
  }
}

/** A closed port is open a turn or two after its fault has ended. */
async function listening(server: ApiServer): Promise<void> {
  while (!(await fetch(`${server.url}/version`).catch(() => undefined)))
    await new Promise(setImmediate);
}

function proxy(
  running: Running,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const { host: _, ...headers } = request.headers;
  const upstream = httpRequest(`${running.server.url}${path}`, {
    method: request.method,
    headers,
    agent: false,
  });
  const cut = (): void => void response.socket?.destroy();
  response.on('close', () => upstream.destroy());
  upstream.on('error', cut);
  upstream.on('response', (answer) => {
    const compressed =
      running.compressed && path.includes('watch=true') && answer.statusCode === 200;
    response.writeHead(answer.statusCode ?? 500, {
      ...answer.headers,
      ...OPEN_TO_PAGES,
      ...(compressed ? { 'content-encoding': 'gzip' } : {}),
    });
    response.flushHeaders();
    answer.on('data', (chunk: Uint8Array) => response.write(compressed ? gzipSync(chunk) : chunk));
    answer.on('end', () => (answer.complete ? response.end() : cut()));
    answer.on('error', cut);
  });
  request.pipe(upstream);
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let body = '';
  request.setEncoding('utf8');
  for await (const part of request) body += part;
  return body;
}
