/** The requests to the `proxy-url` of a kubeconfig: for which name, and with which certificate. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { inspect } from 'node:util';
import { KubeConfig } from '@kubernetes/client-node';
import { kubeConfigTransport } from 'capstan/client-node';
import { describe, expect, test } from 'vitest';
import { connectProxy } from '../helpers/connect-proxy.ts';
import { authority, bodyText, certificate, serve } from '../helpers/http-servers.ts';
import {
  ask,
  ca,
  cleanups,
  following,
  getPath,
  identity,
  openWatch,
  startServer,
} from './http2-transports.ts';

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

/** A CONNECT proxy that leads every tunnel to one port, until the test ends. */
async function tunnelTo(to: string, tls?: { cert: string; key: string }, host?: string) {
  const proxy = await connectProxy({ to, tls, host });
  cleanups.push(() => proxy.stop());
  return proxy;
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

function transportOf(server: string, proxyUrl: string, http2: 'auto' | false = 'auto') {
  const config = new KubeConfig();
  const caData = Buffer.from(ca.cert).toString('base64');
  config.loadFromClusterAndUser(
    { name: 'c', server, proxyUrl, caData, skipTLSVerify: false },
    { name: 'u' },
  );
  const transport = kubeConfigTransport(config, { http2 });
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
  const proxy = await tunnelTo('1');
  proxy.refusal = '407 Proxy Authentication Required';
  const { port } = proxy;
  const asked = getPath(transportOf('http://a.invalid', `http://jane:secret@127.0.0.1:${port}`));
  const error = await asked.catch((e: unknown) => e);
  expect(error).toMatchObject({
    kind: 'refused',
    message: expect.stringMatching(/the proxy at 127.0.0.1:\d+ answered CONNECT with 407/),
  });
  expect(inspect(error, { depth: 9 })).not.toContain('secret');
});

describe.each(['http2', 'http/1.1'] as const)('a tunnel over %s', (protocol) => {
  /** A server of watches and answers, behind a proxy, as `localhost`. */
  async function behind() {
    const watches: { end(): void }[] = [];
    const server = await startServer(
      (request, response) => {
        if (request.url !== '/watch') {
          response.end(`${request.httpVersion} ${request.url}`);
          return;
        }
        response.write('first\n');
        watches.push(response);
      },
      { allowHTTP1: true },
    );
    const { port } = new URL(server.url);
    const proxy = await tunnelTo(port);
    const transport = transportOf(
      `https://localhost:${port}`,
      `http://127.0.0.1:${proxy.port}`,
      protocol === 'http2' ? 'auto' : false,
    );
    return { proxy, transport, watches };
  }
  const version = protocol === 'http2' ? '2.0' : '1.1';

  test('carries all requests, and a watch to its end', async () => {
    const { proxy, transport, watches } = await behind();
    const watch = await openWatch(transport);
    for (const path of ['/a', '/b', '/c'])
      expect(await ask(transport, path)).toBe(`${version} ${path}`);
    // With HTTP/1.1 a watch has a connection of its own, and the others share a second one.
    expect(proxy.tunnels).toHaveLength(protocol === 'http2' ? 1 : 2);
    watches[0]?.end();
    expect(await watch.next()).toEqual({ done: true, value: undefined });
  });

  test('that is cut in a watch is an error of it, and the next request opens another', async () => {
    const { proxy, transport } = await behind();
    const watch = following(await openWatch(transport));
    proxy.tunnels[0]?.client.resetAndDestroy();
    expect(await watch.end).toBe('reset');
    expect(await ask(transport, '/after')).toBe(`${version} /after`);
    expect(proxy.tunnels).toHaveLength(2);
    proxy.refusal = '503 Service Unavailable';
    proxy.tunnels[1]?.client.destroy();
    await once(proxy.tunnels[1]?.server as Socket, 'close');
    await expect(getPath(transport, '/refused')).rejects.toMatchObject({
      kind: 'refused',
      message: expect.stringMatching(/answered CONNECT with 503/),
    });
    proxy.refusal = undefined;
    expect(await ask(transport, '/again')).toBe(`${version} /again`);
  });

  // Such a second try has a connection of its own: it must not go past the proxy.
  test('that died while it was idle is replaced by another through the proxy', async () => {
    const { proxy, transport } = await behind();
    expect(await ask(transport, '/a')).toBe(`${version} /a`);
    const tunnel = proxy.tunnels[0] as { client: Socket; server: Socket };
    tunnel.client.pause().unpipe();
    tunnel.client.once('readable', () => tunnel.client.resetAndDestroy()); // at the next request
    expect(await ask(transport, '/b')).toBe(`${version} /b`);
    expect(proxy.tunnels).toHaveLength(2);
  });
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
