/** A server with only the live page, on a free port of this machine. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { debugPage, type LivePageOptions } from 'capstan/manager';

export interface PageServer {
  /** The URL of the page. */
  readonly url: string;
  readonly port: number;
  /** The requested paths, in order. */
  readonly asked: string[];
  stop(): Promise<void>;
}

export async function servePage(options: LivePageOptions, host = '127.0.0.1'): Promise<PageServer> {
  const page = debugPage(options);
  const requested: string[] = [];
  const server = createServer((request, response) => {
    requested.push(request.url ?? '');
    if (!page(request, response)) response.writeHead(404).end('something else');
  });
  server.listen(0, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${host === '::1' ? '[::1]' : host}:${port}/debug/capstan`,
    port,
    asked: requested,
    async stop() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
