import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, createServer, type RequestListener } from 'node:http';
import type { ServerOptions } from 'node:https';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { KubeConfig, type User } from '@kubernetes/client-node';
import type { Transport } from 'capstan/cache';
import { httpTransport, kubeConfigTransport } from 'capstan/client-node';
import { setErrorHandler } from 'capstan/workqueue';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import {
  type Authority,
  authority,
  bodyText,
  certificate,
  serve,
} from '../helpers/http-servers.ts';
import { serveH2 } from './http2-servers.ts';

let ca: Authority;
let otherCa: Authority;
let server: Authority;
let alice: Authority;
let bob: Authority;

beforeAll(async () => {
  [ca, otherCa] = await Promise.all([authority(), authority()]);
  [server, alice, bob] = await Promise.all([
    certificate(ca, 'server'),
    certificate(ca, 'alice'),
    certificate(ca, 'bob'),
  ]);
});

const cleanups: (() => Promise<unknown> | undefined)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

async function start(listener: RequestListener, tls?: ServerOptions) {
  const started = await serve(listener, { cert: server.cert, key: server.key, ...tls });
  cleanups.push(() => started.stop());
  return started;
}

function transportOf(config: KubeConfig): Transport {
  const transport = kubeConfigTransport(config);
  cleanups.push(() => transport.close?.());
  return transport;
}

const base64 = (value: string) => Buffer.from(value).toString('base64');

function configFor(url: string, user: Partial<User>, cluster: object = {}): KubeConfig {
  const config = new KubeConfig();
  config.loadFromClusterAndUser(
    { name: 'c', server: url, caData: base64(ca.cert), skipTLSVerify: false, ...cluster },
    { name: 'u', ...user },
  );
  return config;
}

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'capstan-'));
  cleanups.push(() => rm(path, { recursive: true }));
  return path;
}

const ask = async (transport: Transport) =>
  bodyText((await transport.request({ method: 'GET', path: '/' })).body);
const echoAuthorization: RequestListener = (request, response) =>
  response.end(request.headers.authorization ?? 'none');
const echoSubject: RequestListener = (request, response) =>
  response.end((request.socket as TLSSocket).getPeerCertificate().subject.CN);

describe('TLS', () => {
  test('accepts the server of the CA and rejects every other one', async () => {
    const { url } = await start(echoAuthorization);
    expect(await ask(transportOf(configFor(url, {})))).toBe('none');
    const wrong = transportOf(configFor(url, {}, { caData: base64(otherCa.cert) }));
    await expect(ask(wrong)).rejects.toMatchObject({
      kind: 'refused',
      cause: { code: expect.any(String) },
    });
    const none = transportOf(configFor(url, {}, { caData: undefined }));
    await expect(ask(none)).rejects.toMatchObject({ kind: 'refused' });
  });

  test('rejects a certificate for another name, unless configured otherwise', async () => {
    const { url } = await start(echoAuthorization);
    const named = (cluster: object) => ask(transportOf(configFor(url, {}, cluster)));
    await expect(named({ tlsServerName: 'elsewhere.example' })).rejects.toMatchObject({
      kind: 'refused',
    });
    expect(await named({ tlsServerName: 'localhost' })).toBe('none');
    expect(await named({ tlsServerName: 'elsewhere.example', skipTLSVerify: true })).toBe('none');
  });

  test('is mutual with a client certificate, and without one the server refuses', async () => {
    const { url } = await start(echoSubject, { ca: ca.cert, requestCert: true });
    const user = { certData: base64(alice.cert), keyData: base64(alice.key) };
    expect(await ask(transportOf(configFor(url, user)))).toBe('alice');
    await expect(ask(transportOf(configFor(url, {})))).rejects.toMatchObject({ kind: 'refused' });
  });

  test('works the same with a URL and options.tls', async () => {
    const { url, sockets } = await start(echoSubject, { ca: ca.cert, requestCert: true });
    const transport = httpTransport(url, {
      tls: { ca: ca.cert, cert: alice.cert, key: alice.key },
    });
    cleanups.push(() => transport.close?.());
    for (let i = 0; i < 5; i++) expect(await ask(transport)).toBe('alice');
    expect(sockets).toHaveLength(1);
  });

  test('a body without its last chunk is a reset, as over plain HTTP', async () => {
    const { url } = await start((request, response) => {
      response.write('half', () => (request.socket as Socket).destroy());
    });
    await expect(ask(transportOf(configFor(url, {})))).rejects.toMatchObject({ kind: 'reset' });
  });
});

describe('credentials', () => {
  test('a bearer token is sent with every request over one connection', async () => {
    const { url, sockets } = await start(echoAuthorization);
    const transport = transportOf(configFor(url, { token: 'abc' }));
    for (let i = 0; i < 10; i++) expect(await ask(transport)).toBe('Bearer abc');
    expect(sockets).toHaveLength(1);
  });

  test('a rotated token is used from the next request on', async () => {
    const { url, sockets } = await start(echoAuthorization);
    const config = configFor(url, { token: 'first' });
    const transport = transportOf(config);
    expect(await ask(transport)).toBe('Bearer first');
    config.users = [{ name: 'u', token: 'second' }];
    expect(await ask(transport)).toBe('Bearer second');
    expect(sockets).toHaveLength(1);
  });

  test('a line feed at the end of a token file is not sent', async () => {
    const { url } = await start(echoAuthorization);
    const tokenFile = join(await folder(), 'token');
    writeFileSync(tokenFile, 'from-a-file\n');
    const user = { authProvider: { name: 'tokenFile', config: { tokenFile } } };
    expect(await ask(transportOf(configFor(url, user)))).toBe('Bearer from-a-file');
  });

  test('a renewed client certificate file opens a new connection', async () => {
    const release = Promise.withResolvers<void>();
    const { url, sockets } = await start(
      async (request, response) => {
        const subject = (request.socket as TLSSocket).getPeerCertificate().subject.CN;
        response.write(`${subject} `);
        if (request.url === '/slow') await release.promise;
        response.end('end');
      },
      { ca: ca.cert, requestCert: true },
    );
    const path = await folder();
    const [certFile, keyFile] = [join(path, 'cert.pem'), join(path, 'key.pem')];
    const write = ({ cert, key }: Authority) => {
      writeFileSync(certFile, cert);
      writeFileSync(keyFile, key);
    };
    write(alice);
    const transport = transportOf(configFor(url, { certFile, keyFile }));
    const slow = await transport.request({ method: 'GET', path: '/slow' });
    for (let i = 0; i < 3; i++) expect(await ask(transport)).toBe('alice end');
    expect(sockets).toHaveLength(2);
    write(alice); // the same bytes again: no reason to reconnect
    expect(await ask(transport)).toBe('alice end');
    expect(sockets).toHaveLength(2);

    const idle = sockets[1]!;
    write(bob);
    for (let i = 0; i < 3; i++) expect(await ask(transport)).toBe('bob end');
    expect(sockets).toHaveLength(3);
    if (!idle.destroyed) await once(idle, 'close');

    release.resolve();
    expect(await bodyText(slow.body)).toBe('alice end');
    const old = sockets[0]!;
    if (!old.destroyed) await once(old, 'close');
  });

  test('a renewed client certificate opens a new HTTP/2 connection', async () => {
    const release = Promise.withResolvers<void>();
    const options = { ca: ca.cert, requestCert: true, rejectUnauthorized: true };
    const h2 = await serveH2({ ...server, ...options }, async (request, response) => {
      response.write(`${(request.socket as TLSSocket).getPeerCertificate().subject.CN} `);
      if (request.url === '/slow') await release.promise;
      response.end('end');
    });
    cleanups.push(() => h2.stop());
    const path = await folder();
    const [certFile, keyFile] = [join(path, 'cert.pem'), join(path, 'key.pem')];
    const write = ({ cert, key }: Authority) => {
      writeFileSync(certFile, cert);
      writeFileSync(keyFile, key);
    };
    write(alice);
    const transport = transportOf(configFor(h2.url, { certFile, keyFile }));
    const slow = await transport.request({ method: 'GET', path: '/slow' });
    expect(await ask(transport)).toBe('alice end');
    expect(h2.sessions).toHaveLength(1);
    write(bob);
    for (let i = 0; i < 3; i++) expect(await ask(transport)).toBe('bob end');
    expect(h2.sessions).toHaveLength(2);
    const closed = once(h2.sessions[0]!, 'close');
    release.resolve();
    expect(await bodyText(slow.body)).toBe('alice end');
    await closed;
    expect(await ask(transport)).toBe('bob end');
    expect(h2.sessions).toHaveLength(2);
  });

  test('that change during a dial leave it to its waiters, then it closes', async () => {
    const options = { ca: ca.cert, requestCert: true, rejectUnauthorized: true };
    const h2 = await serveH2({ ...server, ...options }, (request, response) =>
      response.end(String((request.socket as TLSSocket).getPeerCertificate().subject.CN)),
    );
    cleanups.push(() => h2.stop());
    let closed = 0;
    h2.server.on('session', (session) => session.once('close', () => closed++));
    const config = configFor(h2.url, {});
    let user = alice;
    config.applyToHTTPSOptions = async (given) => {
      Object.assign(given, { ca: ca.cert, cert: user.cert, key: user.key });
    };
    const transport = transportOf(config);
    const first = ask(transport);
    // the credentials are read; a dial needs I/O
    for (let i = 0; i < 50; i++) await undefined;
    user = bob;
    expect(await Promise.all([first, ask(transport)])).toEqual(['alice', 'bob']);
    expect(h2.sessions).toHaveLength(2);
    await expect.poll(() => closed).toBe(1);
    expect(await ask(transport)).toBe('bob');
    expect(h2.sessions).toHaveLength(2);
  });

  test('an exec plugin is run again when its credential has expired, and not before', async () => {
    const { url } = await start(echoAuthorization);
    const path = await folder();
    const count = join(path, 'count');
    const plugin = (expires: string) => ({
      apiVersion: 'client.authentication.k8s.io/v1',
      command: process.execPath,
      args: [
        '-e',
        `const fs = require('node:fs'); const file = process.argv[1];
         const n = fs.existsSync(file) ? Number(fs.readFileSync(file, 'utf8')) + 1 : 1;
         fs.writeFileSync(file, String(n));
         const status = { token: 'run-' + n, expirationTimestamp: process.argv[2] };
         console.log(JSON.stringify({ status }));`,
        count,
        expires,
      ],
    });
    const expired = transportOf(configFor(url, { exec: plugin('2001-01-01T00:00:00Z') }));
    expect(await ask(expired)).toBe('Bearer run-1');
    expect(await ask(expired)).toBe('Bearer run-2');
    // Requests that start together share one run.
    expect(await Promise.all([ask(expired), ask(expired), ask(expired)])).toEqual(
      Array(3).fill('Bearer run-3'),
    );
    const valid = transportOf(configFor(url, { exec: plugin('2999-01-01T00:00:00Z') }));
    expect(await ask(valid)).toBe('Bearer run-4');
    expect(await ask(valid)).toBe('Bearer run-4');
  });

  test('a failed exec plugin is a TransportError; the next request runs it again', async () => {
    const { url } = await start(echoAuthorization);
    const config = configFor(url, {});
    let fail = true;
    config.applyToHTTPSOptions = async (options) => {
      if (fail) throw new Error('plugin: no session, log in first');
      options.ca = ca.cert;
      options.headers = { Authorization: 'Bearer late' };
    };
    const transport = transportOf(config);
    const error = await ask(transport).catch((e: unknown) => e);
    expect(error).toMatchObject({
      code: 'TRANSPORT',
      kind: 'unknown',
      cause: { message: /log in first/ },
    });
    expect(String(error)).toMatch(/credentials.*log in first/);
    fail = false;
    expect(await ask(transport)).toBe('Bearer late');
  });

  test('an aborted request does not wait for an exec plugin', async () => {
    const { url } = await start(echoAuthorization);
    const config = configFor(url, {});
    const plugin = Promise.withResolvers<void>();
    config.applyToHTTPSOptions = () => plugin.promise;
    const transport = transportOf(config);
    const controller = new AbortController();
    const request = transport.request({ method: 'GET', path: '/', signal: controller.signal });
    controller.abort();
    await expect(request).rejects.toMatchObject({ kind: 'aborted' });
    plugin.reject(new Error('too late for anybody'));
  });

  test('basic authentication and impersonation reach the server', async () => {
    const { url } = await start((request, response) =>
      response.end(`${request.headers.authorization} ${request.headers['impersonate-user']}`),
    );
    const transport = transportOf(
      configFor(url, { username: 'a', password: 'b:c', impersonateUser: 'eve' }),
    );
    expect(await ask(transport)).toBe(`Basic ${base64('a:b:c')} eve`);
  });

  test('an http server needs insecure-skip-tls-verify, as in client-node', async () => {
    const plain = await serve(echoAuthorization);
    cleanups.push(() => plain.stop());
    // Rejected at once: an informer retried for ever, with an error of client-node that did not
    // help users without a kubeconfig.
    for (const config of [
      configFor(plain.url, { token: 'abc' }),
      configFor('http://localhost:8080', {}),
    ])
      expect(() => transportOf(config)).toThrow(
        expect.objectContaining({
          code: 'INVALID_ARGUMENT',
          message: expect.stringMatching(
            /got http:.*there may be no kubeconfig.*use httpTransport\(url\) for kubectl proxy/,
          ),
        }),
      );
    expect(plain.sockets).toHaveLength(0);
    expect(
      await ask(transportOf(configFor(plain.url, { token: 'abc' }, { skipTLSVerify: true }))),
    ).toBe('Bearer abc');
  });
});

/** The proxy's address, and the servers that were requested. */
async function startProxy() {
  const targets: string[] = [];
  const proxy = createServer().on('connect', (request, client) => {
    targets.push(request.url ?? '');
    const [host, port] = (request.url ?? '').split(':');
    const upstream = connect(Number(port), host, () => client.write('HTTP/1.1 200 OK\r\n\r\n'));
    upstream.pipe(client).on('error', () => upstream.destroy());
    client.pipe(upstream).on('error', () => client.destroy());
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  cleanups.push(async () => proxy.close());
  return { proxyUrl: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, targets };
}

describe('a cluster', () => {
  test('behind a proxy is reached through CONNECT', async () => {
    const { url } = await start(echoAuthorization);
    const { proxyUrl, targets } = await startProxy();
    expect(await ask(transportOf(configFor(url, { token: 'abc' }, { proxyUrl })))).toBe(
      'Bearer abc',
    );
    expect(targets).toEqual([new URL(url).host]);
  });

  // client-node keeps an agent by the names of cluster and user, and a kubeconfig that is loaded
  // later often has the same: requests bypassed its proxy or used the former one, as the former
  // user, to a server whose certificate nobody checked. A renewed certificate was not used either.
  test('behind a proxy is reached as in the kubeconfig that was loaded last', async () => {
    const { url } = await start(echoSubject, { ca: ca.cert, requestCert: true });
    const [first, second] = [await startProxy(), await startProxy()];
    const config = new KubeConfig();
    const load = ({ cert, key }: Authority, cluster: object) =>
      config.loadFromClusterAndUser(
        { name: 'c', server: url, caData: base64(ca.cert), skipTLSVerify: false, ...cluster },
        { name: 'u', certData: base64(cert), keyData: base64(key) },
      );
    const asked = async () => [await ask(transport), first.targets.length, second.targets.length];
    load(alice, {});
    const transport = transportOf(config);
    expect(await asked()).toEqual(['alice', 0, 0]);
    load(bob, { proxyUrl: first.proxyUrl, skipTLSVerify: true });
    expect(await asked()).toEqual(['bob', 1, 0]);
    load(alice, { proxyUrl: second.proxyUrl, skipTLSVerify: true });
    expect(await asked()).toEqual(['alice', 1, 1]);
    load(alice, { proxyUrl: second.proxyUrl, caData: base64(otherCa.cert) });
    await expect(ask(transport)).rejects.toMatchObject({ kind: 'refused' });
  });

  test('behind a proxy gets a renewed certificate once its key matches', async () => {
    const { url } = await start(echoSubject, { ca: ca.cert, requestCert: true });
    const { proxyUrl } = await startProxy();
    const [certFile, keyFile] = [join(await folder(), 'cert'), join(await folder(), 'key')];
    writeFileSync(certFile, alice.cert);
    writeFileSync(keyFile, alice.key);
    const transport = transportOf(configFor(url, { certFile, keyFile }, { proxyUrl }));
    const before = setErrorHandler(() => undefined);
    cleanups.push(async () => void setErrorHandler(before));
    expect(await ask(transport)).toBe('alice');
    writeFileSync(certFile, bob.cert);
    expect(await ask(transport)).toBe('alice');
    writeFileSync(keyFile, bob.key);
    expect(await ask(transport)).toBe('bob');
  });

  // The second try used a connection outside of the agent, and so bypassed the proxy, with the
  // token.
  test('behind a proxy is never reached directly, also by a repeated request', async () => {
    const direct: string[] = [];
    const server = createServer((request, response) => {
      direct.push(request.url ?? '');
      response.end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    cleanups.push(async () => server.close());
    let requests = 0;
    const proxy = createTcpServer((socket) => {
      let onThis = 0;
      socket
        .on('error', () => undefined)
        .on('data', () => {
          requests++;
          if (++onThis > 1) socket.resetAndDestroy();
          else socket.write('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nproxy');
        });
    }).listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    const { port } = proxy.address() as AddressInfo;
    class ProxyAgent extends Agent {
      override createConnection() {
        return connect(port, '127.0.0.1');
      }
    }
    const agent = new ProxyAgent({ keepAlive: true });
    cleanups.push(async () => {
      agent.destroy();
      proxy.close();
    });
    const transport = kubeConfigTransport({
      getCurrentCluster: () => ({
        server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
        proxyUrl: `http://127.0.0.1:${port}`,
      }),
      applyToHTTPSOptions: async (options: { agent?: Agent }) => {
        options.agent = agent;
      },
    } as unknown as KubeConfig);
    cleanups.push(async () => transport.close?.());
    for (let i = 0; i < 2; i++)
      expect(
        await bodyText((await transport.request({ method: 'GET', path: '/version' })).body),
      ).toBe('proxy');
    expect(requests).toBe(3);
    expect(direct).toEqual([]);
  });

  test('must be named by the current context', () => {
    expect(() => kubeConfigTransport(new KubeConfig())).toThrow(
      /whose current context names a cluster/,
    );
    expect(() => kubeConfigTransport({} as KubeConfig)).toThrow(/"config" expected a KubeConfig/);
    expect(() => kubeConfigTransport(configFor('localhost:6443', {}))).toThrow(
      /expected an http or https URL/,
    );
  });
});
