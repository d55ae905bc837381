/**
 * Real servers on loopback for the transport tests, and certificates for them: nothing leaves the
 * machine.
 */
import { once } from 'node:events';
import { createServer as createHttpServer, type RequestListener, type Server } from 'node:http';
import { createServer as createHttpsServer, type ServerOptions } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { generate } from 'selfsigned';

export interface TestServer {
  server: Server;
  url: string;
  /** Every connection the server ever accepted, in order. */
  sockets: Socket[];
  stop(): Promise<void>;
}

export async function serve(listener: RequestListener, tls?: ServerOptions): Promise<TestServer> {
  const server = tls === undefined ? createHttpServer(listener) : createHttpsServer(tls, listener);
  server.keepAliveTimeout = 0; // a kept-alive connection stays until a test closes it
  const sockets: Socket[] = [];
  server.on(tls === undefined ? 'connection' : 'secureConnection', (socket: Socket) =>
    sockets.push(socket),
  );
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    server,
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    sockets,
    async stop() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

export interface Authority {
  cert: string;
  key: string;
}

/** A certificate authority of its own; two of the same name are still two. */
export async function authority(): Promise<Authority> {
  const made = await generate([{ name: 'commonName', value: 'test authority' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      {
        name: 'keyUsage',
        keyCertSign: true,
        cRLSign: true,
        digitalSignature: true,
        critical: true,
      },
    ],
  });
  return { cert: made.cert, key: made.private };
}

type AltName = { type: 2; value: string } | { type: 7; ip: string };

export async function certificate(
  ca: Authority,
  name: string,
  altNames: AltName[] = [
    { type: 2, value: 'localhost' },
    { type: 7, ip: '127.0.0.1' },
  ],
): Promise<Authority> {
  const made = await generate([{ name: 'commonName', value: name }], {
    keyType: 'ec',
    algorithm: 'sha256',
    ca,
    extensions: [
      { name: 'basicConstraints', cA: false },
      { name: 'extKeyUsage', serverAuth: true, clientAuth: true },
      { name: 'subjectAltName', altNames },
    ],
  });
  return { cert: made.cert, key: made.private };
}

export async function bodyText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

/** A port of loopback on which nobody listens now. */
export async function freePort(): Promise<number> {
  const { url, stop } = await serve(() => undefined);
  await stop();
  return Number(new URL(url).port);
}
