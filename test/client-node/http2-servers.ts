/**
 * HTTP/2 servers over TLS on loopback, and a TCP proxy that can stop forwarding, like a NAT that
 * forgot a connection.
 */
import { once } from 'node:events';
import {
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type SecureServerOptions,
  type ServerHttp2Session,
} from 'node:http2';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface H2Server {
  server: Http2SecureServer;
  url: string;
  /** All sessions that the server accepted, in order. */
  sessions: ServerHttp2Session[];
  /** Their TCP connections: destroying one looks like a network failure to TLS and HTTP/2. */
  sockets: Socket[];
  stop(): Promise<void>;
}

export async function serveH2(
  options: SecureServerOptions,
  listener: (request: Http2ServerRequest, response: Http2ServerResponse) => void,
): Promise<H2Server> {
  const server = createSecureServer(options, listener);
  const sessions: ServerHttp2Session[] = [];
  const sockets: Socket[] = [];
  server.on('connection', (socket: Socket) => {
    sockets.push(socket);
    socket.on('error', () => undefined);
  });
  server.on('session', (session) => {
    sessions.push(session);
    session.on('error', () => undefined);
  });
  server.on('stream', (stream) => stream.on('error', () => undefined));
  server.on('sessionError', () => undefined);
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    server,
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    sessions,
    sockets,
    async stop() {
      const closed = once(server, 'close');
      server.close();
      for (const session of sessions) session.destroy();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

export interface FreezingProxy {
  port: number;
  /**
   * From now on no byte passes, in either direction, and nothing is closed: on all connections, or
   * only on the existing ones.
   */
  freeze(which?: 'all' | 'present'): void;
  stop(): Promise<void>;
}

export async function freezingProxy(target: string): Promise<FreezingProxy> {
  const pairs: [Socket, Socket][] = [];
  let frozen = 0; // the number of silent pairs, from the first
  const proxy = createServer((client) => {
    const upstream = connect(Number(new URL(target).port), '127.0.0.1');
    const number = pairs.push([client, upstream]);
    const isFrozen = (): boolean => number <= frozen;
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      from.on('data', (bytes) => isFrozen() || to.write(bytes));
      from.on('error', () => undefined);
      from.on('close', () => isFrozen() || to.destroy());
    }
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  return {
    port: (proxy.address() as AddressInfo).port,
    freeze(which = 'all') {
      frozen = which === 'all' ? Number.POSITIVE_INFINITY : pairs.length;
    },
    async stop() {
      const closed = once(proxy, 'close');
      proxy.close();
      for (const pair of pairs) for (const socket of pair) socket.destroy();
      await closed;
    },
  };
}
