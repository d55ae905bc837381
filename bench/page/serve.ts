/**
 * A server of static files on loopback. It sends the page's policy, which workers obey only as a
 * header, and isolates the page from other origins, for which browsers give finer clocks.
 */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, normalize } from 'node:path';
import { POLICY } from './build.ts';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

export const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-embedder-policy': 'require-corp',
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
};

export interface PageServer {
  /** The address of the page. */
  url: string;
  stop(): Promise<void>;
}

/**
 * @param path under which the folder is served, with a slash at both ends
 * @param headers of every answer, beside its type
 */
export async function serveFolder(
  folder: string,
  {
    port = 0,
    path = '/',
    headers = HEADERS,
  }: { port?: number; path?: string; headers?: Readonly<Record<string, string>> } = {},
): Promise<PageServer> {
  const server: Server = createServer(async (request, response) => {
    const pathname = URL.parse(request.url ?? '/', 'http://localhost')?.pathname;
    const wanted = pathname?.startsWith(path) ? pathname.slice(path.length) : undefined;
    const file = normalize(wanted || 'index.html');
    const type = TYPES[extname(file)];
    if (wanted === undefined || type === undefined || file.startsWith('..')) {
      response.writeHead(404).end('not found');
      return;
    }
    try {
      const body = await readFile(join(folder, file));
      response.writeHead(200, { ...headers, 'content-type': type }).end(body);
    } catch {
      response.writeHead(404).end('not found');
    }
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
  return {
    url,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
