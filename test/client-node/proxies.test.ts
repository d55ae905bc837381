/** The requests to the `proxy-url` of a kubeconfig: for which name, and with which certificate. */
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { inspect } from 'node:util';
import { KubeConfig } from '@kubernetes/client-node';
import { kubeConfigTransport } from 'capstan/client-node';
import { describe, expect, test } from 'vitest';
import { authority, bodyText, certificate, serve } from '../helpers/http-servers.ts';
import { ca, cleanups, getPath, identity, startServer } from './http2-transports.ts';

const keep = (socket: Socket): Socket => {
  cleanups.push(async () => socket.destroy());
  return socket.on('error', () => undefined);
};

async function listen(server: ReturnType<typeof createServer>, host = '127.0.0.1') {
  server.listen(0, host);
  await once(server, 'listening');
  cleanups.push(async () => server.close());
  return (server.address() as AddressInfo).port;
}

/** A CONNECT proxy that leads every tunnel to one port. */
async function tunnelTo(port: string, tls?: { cert: string; key: string }, host?: string) {
  const requested: string[] = [];
  const proxy = tls === undefined ? createHttpServer() : createHttpsServer(tls);
  proxy.on('connect', ({ url, headers }, client: Socket) => {
    requested.push(`${url} ${headers['proxy-authorization'] ?? 'nobody'}`);
    keep(client);
    const further = keep(connect(Number(port), '127.0.0.1'));
    further.on('connect', () => {
      client.write('HTTP/1.1 200 OK\r\n\r\n');
      client.pipe(further).pipe(client);
    });
  });
  proxy.on('tlsClientError', () => undefined);
  return { asked: requested, port: await listen(proxy, host) };
}

/** A SOCKS proxy, versions 4 and 5, that leads everything to one port. */
async function socksTo(port: string, host?: string) {
  const requested: string[] = [];
  const proxy = createServer(async (client) => {
    keep(client);
    let [message] = (await once(client, 'data')) as [Buffer];
    let answer = Uint8Array.of(0, 90, 0, 0, 0, 0, 0, 0);
    if (message[0] === 5) {
      client.write(Uint8Array.of(5, 0));
      [message] = (await once(client, 'data')) as [Buffer];
      const type = message[3];
      if (type === 3) requested.push(`name ${message.subarray(5, 5 + (message[4] as number))}`);
      else requested.push(`address of type ${type}`);
      answer = Uint8Array.of(5, 0, 0, 1, 127, 0, 0, 1, 0, 0);
    } else requested.push(`SOCKS4 ${[...message.subarray(4, 8)].join('.')}`);
    const further = keep(connect(Number(port), '127.0.0.1'));
    further.on('connect', () => {
      client.write(answer);
      client.pipe(further).pipe(client);
    });
  });
  return { asked: requested, port: await listen(proxy, host) };
}

function transportOf(server: string, proxyUrl: string) {
  const config = new KubeConfig();
  const caData = Buffer.from(ca.cert).toString('base64');
  config.loadFromClusterAndUser(
    { name: 'c', server, proxyUrl, caData, skipTLSVerify: false },
    { name: 'u' },
  );
  const transport = kubeConfigTransport(config);
  cleanups.push(() => transport.close?.());
  return transport;
}

async function answerOf(server: string, proxyUrl: string): Promise<string> {
  return getPath(transportOf(server, proxyUrl)).then(
    ({ body }) => bodyText(body),
    (error: Error) => error.message,
  );
}

/** The port of a server at http, or at https as `localhost`. */
async function serverAt(scheme: string): Promise<string> {
  if (scheme === 'https')
    return new URL(
      (await startServer((_, response) => response.end('here'), { allowHTTP1: true })).url,
    ).port;
  const server = await serve((_, response) => response.end('here'));
  cleanups.push(() => server.stop());
  return new URL(server.url).port;
}

// client-node's agent resolves the name itself, which may be known only behind the proxy.
describe('SOCKS', () => {
  test.each(['socks5', 'socks5h', 'socks'])('%s gets the name', async (scheme) => {
    const { asked, port } = await socksTo(await serverAt('http'));
    const proxyUrl = `${scheme}://127.0.0.1:${port}`;
    expect(await answerOf('http://api.cluster.invalid', proxyUrl)).toBe('here');
    expect(asked).toEqual(['name api.cluster.invalid']);
  });

  test('gets an address if the server has one, and in version 4 always', async () => {
    const server = await serverAt('http');
    const { asked, port } = await socksTo(server);
    const at = `127.0.0.1:${port}`;
    expect(await answerOf(`http://127.0.0.1:${server}`, `socks5://${at}`)).toBe('here');
    expect(await answerOf(`http://[::1]:${server}`, `socks5://${at}`)).toBe('here');
    expect(await answerOf(`http://localhost:${server}`, `socks4://${at}`)).toBe('here');
    expect(asked).toEqual(['address of type 1', 'address of type 4', 'SOCKS4 127.0.0.1']);
  });

  test('checks the certificate of an https server by its name', async () => {
    const server = await serverAt('https');
    const { asked, port } = await socksTo(server);
    const proxyUrl = `socks5://127.0.0.1:${port}`;
    expect(await answerOf(`https://localhost:${server}`, proxyUrl)).toBe('here');
    expect(await answerOf('https://other.invalid', proxyUrl)).toMatch(/other.invalid/);
    expect(asked).toEqual(['name localhost', 'name other.invalid']);
  });

  test('may be at an IPv6 address', async () => {
    const { asked, port } = await socksTo(await serverAt('http'), '::1');
    expect(await answerOf('http://a.invalid', `socks5://[::1]:${port}`)).toBe('here');
    expect(asked).toHaveLength(1);
  });
});

// node:tls rejects an address as a server's name, and hpagent passes one: each request failed with
// a TypeError.
describe.each(['http', 'https'])('a proxy at https, for a server at %s', (scheme) => {
  async function behind(altNames: Parameters<typeof certificate>[2], host?: string) {
    const own = await authority();
    const before = getCACertificates('default');
    setDefaultCACertificates([own.cert]);
    cleanups.push(async () => setDefaultCACertificates(before));
    return tunnelTo(await serverAt(scheme), await certificate(own, 'proxy', altNames), host);
  }
  const server = `${scheme}://localhost`;

  test('is checked by its address', async () => {
    const good = await behind([{ type: 7, ip: '127.0.0.1' }]);
    expect(await answerOf(server, `https://127.0.0.1:${good.port}`)).toBe('here');
    const v6 = await behind([{ type: 7, ip: '::1' }], '::1');
    expect(await answerOf(server, `https://[::1]:${v6.port}`)).toBe('here');
    const bad = await behind([{ type: 2, value: 'localhost' }]);
    expect(await answerOf(server, `https://127.0.0.1:${bad.port}`)).toMatch(
      /no answer \(refused\): the proxy at 127.0.0.1:\d+: .*127\.0\.0\.1/,
    );
    expect(bad.asked).toEqual([]);
  });

  test('is checked by its name', async () => {
    const { port } = await behind([{ type: 2, value: 'localhost' }]);
    expect(await answerOf(server, `https://localhost:${port}`)).toBe('here');
    const other = await behind([{ type: 2, value: 'other.invalid' }]);
    expect(await answerOf(server, `https://localhost:${other.port}`)).toMatch(/refused.*localhost/);
  });

  test('with an untrusted authority is rejected', async () => {
    const { port } = await tunnelTo(await serverAt(scheme), identity);
    expect(await answerOf(server, `https://127.0.0.1:${port}`)).toMatch(/no answer \(refused\)/);
  });
});

test('user and password of a proxy-url are sent to the proxy alone', async () => {
  const server = await serve(({ headers }, response) =>
    response.end(JSON.stringify(headers.authorization ?? headers['proxy-authorization'] ?? 'none')),
  );
  cleanups.push(() => server.stop());
  const { asked, port } = await tunnelTo(new URL(server.url).port);
  const proxyUrl = `http://jane:p%40ss@127.0.0.1:${port}`;
  expect(await answerOf('http://a.invalid', proxyUrl)).toBe('"none"');
  expect(await answerOf('http://[::1]:7', `http://127.0.0.1:${port}`)).toBe('"none"');
  const basic = `Basic ${Buffer.from('jane:p@ss').toString('base64')}`;
  expect(asked).toEqual([`a.invalid:80 ${basic}`, '[::1]:7 nobody']);
});

test('the error of a refused CONNECT has the status and no password', async () => {
  const proxy = createHttpServer().on('connect', (_, client: Socket) =>
    keep(client).end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n'),
  );
  const port = await listen(proxy);
  const asked = getPath(transportOf('http://a.invalid', `http://jane:secret@127.0.0.1:${port}`));
  const error = await asked.catch((e: unknown) => e);
  expect(error).toMatchObject({
    kind: 'refused',
    message: expect.stringMatching(/the proxy at 127.0.0.1:\d+ answered CONNECT with 407/),
  });
  expect(inspect(error, { depth: 9 })).not.toContain('secret');
});

test('an unreachable SOCKS proxy is an error without its password', async () => {
  const asked = getPath(transportOf('http://a.invalid', 'socks5://jane:secret@127.0.0.1:1'));
  const error = await asked.catch((e: unknown) => e);
  expect(error).toMatchObject({ kind: 'refused' });
  expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('secret');
});

test.each([
  'proxy:3128',
  'jane:secret@proxy:3128',
  'ftp://jane:secret@proxy',
  'http://jane:secret@pro xy',
  'http://jane:secret%zz@proxy',
  'socks5://jane:secret%zz@proxy',
  'http://jane:secret@proxy:99999',
  'http://',
])('%s is no proxy-url, and is not quoted', (proxyUrl) => {
  let error: unknown;
  try {
    transportOf('https://a.invalid', proxyUrl);
  } catch (thrown) {
    error = thrown;
  }
  expect(error).toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: expect.stringContaining('proxy-url'),
  });
  expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('secret');
});
