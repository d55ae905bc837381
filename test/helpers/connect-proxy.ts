/** A real proxy on loopback that opens tunnels by CONNECT, refuses them, and cuts them. */
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';

export interface ConnectProxyOptions {
  /** Every tunnel leads to this port of loopback. Default: where the client asked for. */
  readonly to?: string | number | undefined;
  /** The proxy's own certificate: clients speak TLS with it. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
  /** Default 127.0.0.1. */
  readonly host?: string | undefined;
}

export interface ConnectProxy {
  readonly port: number;
  /** What was asked: the target, and the Proxy-Authorization or `nobody`. */
  readonly asked: string[];
  /** The tunnels that were opened, the newest last. */
  readonly tunnels: Tunneled[];
  /** While set, CONNECT is answered with this status line and these headers. */
  refusal: string | undefined;
  /** The bytes from the servers that it has led on. */
  bytes(): number;
  stop(): Promise<void>;
}

/** Both ends of a tunnel. */
export interface Tunneled {
  readonly client: Socket;
  readonly server: Socket;
}

export async function connectProxy(options: ConnectProxyOptions = {}): Promise<ConnectProxy> {
  const { to, tls, host = '127.0.0.1' } = options;
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): Socket => {
    sockets.add(socket.on('error', () => undefined));
    return socket.once('close', () => sockets.delete(socket));
  };
  const proxy = tls === undefined ? createHttpServer() : createHttpsServer(tls);
  const tunnels: Tunneled[] = [];
  const asked: string[] = [];
  const state = { refusal: undefined as string | undefined, bytes: 0 };
  proxy.on('connection', keep);
  proxy.on('connect', ({ url = '', headers }, client: Socket) => {
    asked.push(`${url} ${headers['proxy-authorization'] ?? 'nobody'}`);
    keep(client);
    if (state.refusal !== undefined) {
      client.end(`HTTP/1.1 ${state.refusal}\r\n\r\n`);
      return;
    }
    const target = new URL(`http://${url}`);
    const server = keep(
      to === undefined
        ? connect(Number(target.port || 80), target.hostname.replace(/^\[|\]$/g, ''))
        : connect(Number(to), '127.0.0.1'),
    );
    server.on('data', ({ length }) => {
      state.bytes += length;
    });
    server.once('connect', () => {
      tunnels.push({ client, server });
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      client.pipe(server).pipe(client);
    });
    server.once('close', () => client.destroy());
    client.once('close', () => server.destroy());
  });
  proxy.on('tlsClientError', () => undefined);
  proxy.listen(0, host);
  await once(proxy, 'listening');
  return {
    port: (proxy.address() as AddressInfo).port,
    asked,
    tunnels,
    get refusal() {
      return state.refusal;
    },
    set refusal(line: string | undefined) {
      state.refusal = line;
    },
    bytes: () => state.bytes,
    async stop() {
      const closed = once(proxy, 'close');
      proxy.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
