/**
 * The name for the check of a server's certificate, if it is an address: node:tls rejects one as a
 * name, so each request failed with its TypeError, and behind a proxy-url the process ended; over
 * SOCKS the certificate was checked against "localhost".
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { type Cluster, KubeConfig } from '@kubernetes/client-node';
import { kubeConfigTransport } from 'capstan/client-node';
import { expect, test } from 'vitest';
import { bodyText, certificate } from '../helpers/http-servers.ts';
import { ca, cleanups, getPath, startServer } from './http2-transports.ts';

const identity = await certificate(ca, 'addressed', [{ type: 7, ip: '127.0.0.1' }]);

async function asked(cluster: Partial<Cluster>, http2: 'auto' | false): Promise<string> {
  const { url, sockets } = await startServer(
    (request, response) => response.end(`HTTP ${request.httpVersion}`),
    {
      ...identity,
      allowHTTP1: true,
    },
  );
  const { port } = new URL(url);
  const server = (cluster.server ?? 'https://127.0.0.1').concat(':', port);
  const config = new KubeConfig();
  const caData = Buffer.from(ca.cert).toString('base64');
  config.loadFromClusterAndUser(
    { name: 'c', skipTLSVerify: false, caData, ...cluster, server },
    { name: 'u', token: 't' },
  );
  const transport = kubeConfigTransport(config, { http2 });
  cleanups.push(() => transport.close?.());
  const answer = await getPath(transport).then(
    ({ body }) => bodyText(body),
    (error: Error) => `${error.name}: ${error.message}`,
  );
  expect(sockets.length).toBeLessThan(2);
  return answer;
}

/** Leads every tunnel to 127.0.0.1, whatever host is requested. */
async function proxy(scheme: 'http' | 'socks5'): Promise<string> {
  const sockets: Socket[] = [];
  const through = (socket: Socket, port: number, answer: string | Uint8Array): void => {
    const further = connect(port, '127.0.0.1', () => {
      socket.write(answer);
      socket.pipe(further).pipe(socket);
    });
    sockets.push(further.on('error', () => socket.destroy()));
  };
  const server = createServer(async (socket) => {
    sockets.push(socket.on('error', () => undefined));
    const [head] = (await once(socket, 'data')) as [Buffer];
    if (scheme === 'http') {
      through(socket, Number(/:(\d+) /.exec(head.toString())?.[1]), 'HTTP/1.1 200 OK\r\n\r\n');
      return;
    }
    socket.write(Uint8Array.of(5, 0));
    const [request] = (await once(socket, 'data')) as [Buffer];
    through(
      socket,
      request.readUInt16BE(request.length - 2),
      Uint8Array.of(5, 0, 0, 1, 127, 0, 0, 1, 0, 0),
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanups.push(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test.each([
  ['auto', 'HTTP 2.0'],
  [false, 'HTTP 1.1'],
] as const)('an address as tls-server-name is checked (http2: %s)', async (http2, answer) => {
  const server = 'https://localhost';
  expect(await asked({ server }, http2)).toMatch(
    /^TransportError: .*Hostname.IP does not match .*localhost/,
  );
  expect(await asked({ server, tlsServerName: '127.0.0.1' }, http2)).toBe(answer);
  expect(await asked({ server, tlsServerName: '127.0.0.2' }, http2)).toMatch(
    /^TransportError: .*127\.0\.0\.2 is not in/,
  );
  expect(await asked({}, http2)).toBe(answer);
});

test.each(['http', 'socks5'] as const)(
  'a server at an address is checked by it through a proxy (%s)',
  async (scheme) => {
    expect(await asked({ proxyUrl: await proxy(scheme) }, 'auto')).toBe(
      scheme === 'http' ? 'HTTP 2.0' : 'HTTP 1.1',
    );
    const named = { server: 'https://localhost', proxyUrl: await proxy(scheme) };
    expect(await asked(named, 'auto')).toMatch(/^TransportError: .*Hostname.IP does not match/);
    expect(await asked({ ...named, tlsServerName: '127.0.0.1' }, 'auto')).toMatch(
      scheme === 'http'
        ? /^HTTP 2.0$/
        : new RegExp(
            '^TransportError: .*: expected a name as tls-server-name ' +
              'with a proxy-url of SOCKS, got the address 127\\.0\\.0\\.1$',
          ),
    );
  },
);
