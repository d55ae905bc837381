/**
 * `beforeSend` of a request is called after everything that takes time, because a leader's write
 * left after its lease had lapsed while it waited for credentials or a connection.
 */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type AddressInfo, connect, createServer } from 'node:net';
import { KubeConfig } from '@kubernetes/client-node';
import { FakeClock } from 'capstan';
import { fetchTransport, type Transport } from 'capstan/cache';
import { rateLimitedTransport } from 'capstan/client';
import { httpTransport, kubeConfigTransport } from 'capstan/client-node';
import { ApiServer, fakeTransport } from 'capstan/testing';
import { beforeEach, describe, expect, test } from 'vitest';
import { bodyText, serve } from '../helpers/http-servers.ts';
import { ca, cleanups, identity, startServer as startH2 } from './http2-transports.ts';

const kept = (transport: Transport): Transport => {
  cleanups.push(() => transport.close?.());
  return transport;
};

let sent: string[] = [];
beforeEach(() => {
  sent = [];
});
const listener = (request: IncomingMessage, response: ServerResponse): void => {
  sent.push(`${request.method} ${request.url}`);
  void bodyText(request).then((body) => response.end(`got ${body}`));
};

/** A lease that can be lost. */
function lease() {
  const lost = new Error('the lease is lost');
  const state = {
    lost,
    held: true,
    asked: 0,
    beforeSend(): void {
      state.asked++;
      if (!state.held) throw lost;
    },
  };
  return state;
}

const put = (transport: Transport, beforeSend: () => void, path = '/x') =>
  transport.request({ method: 'PUT', path, body: 'body', beforeSend });

async function plainServer(): Promise<string> {
  const server = await serve(listener);
  cleanups.push(() => server.stop());
  return server.url;
}

/** A TLS server whose connections complete when the test lets them. */
async function heldServer(kind: 'h1' | 'h2') {
  const { port } = new URL(
    kind === 'h2'
      ? (await startH2(listener as never)).url
      : await serve(listener, { cert: identity.cert, key: identity.key }).then((server) => {
          cleanups.push(() => server.stop());
          return server.url;
        }),
  );
  const through = Promise.withResolvers<void>();
  const gate = createServer(async (socket) => {
    socket.on('error', () => undefined);
    cleanups.push(async () => socket.destroy());
    await through.promise;
    const further = connect(Number(port), '127.0.0.1');
    further.on('error', () => socket.destroy());
    cleanups.push(async () => further.destroy());
    socket.pipe(further).pipe(socket);
  }).listen(0, '127.0.0.1');
  await once(gate, 'listening');
  cleanups.push(async () => gate.close());
  return { gate, url: `https://127.0.0.1:${(gate.address() as AddressInfo).port}`, through };
}

const DIRECT: [string, () => Promise<Transport>][] = [
  ['fetchTransport', async () => kept(fetchTransport(await plainServer()))],
  ['HTTP/1.1', async () => kept(httpTransport(await plainServer()))],
  [
    'HTTP/2',
    async () =>
      kept(httpTransport((await startH2(listener as never)).url, { tls: { ca: ca.cert } })),
  ],
];

describe.each(DIRECT)('%s', (_name, make) => {
  test('is called before each request; if it throws, nothing is sent', async () => {
    const transport = await make();
    const own = lease();
    for (const held of [false, true, false, true]) {
      own.held = held;
      if (held)
        expect(await bodyText((await put(transport, own.beforeSend)).body)).toBe('got body');
      else await expect(put(transport, own.beforeSend)).rejects.toBe(own.lost);
    }
    expect([own.asked, sent]).toEqual([4, ['PUT /x', 'PUT /x']]);
  });
});

describe.each([
  ['h1', false],
  ['h1', 'auto'],
  ['h2', 'auto'],
] as const)('a slow connection (%s, http2: %s)', (kind, http2) => {
  test('is established when it is called', async () => {
    const { gate, url, through } = await heldServer(kind);
    const transport = kept(httpTransport(url, { http2, tls: { ca: ca.cert } }));
    const own = lease();
    const met = once(gate, 'connection');
    const answer = put(transport, own.beforeSend);
    answer.catch(() => undefined);
    await met;
    expect(own.asked).toBe(0);
    own.held = false;
    through.resolve();
    await expect(answer).rejects.toBe(own.lost);
    own.held = true;
    expect(await bodyText((await put(transport, own.beforeSend)).body)).toBe('got body');
    expect([own.asked, sent]).toEqual([2, ['PUT /x']]);
  });

  test('ends with the signal before it is called', async () => {
    const { gate, url } = await heldServer(kind);
    const transport = kept(httpTransport(url, { http2, tls: { ca: ca.cert } }));
    const own = lease();
    const stop = new AbortController();
    const met = once(gate, 'connection');
    const { beforeSend } = own;
    const answer = transport.request({ method: 'PUT', path: '/', beforeSend, signal: stop.signal });
    await met;
    stop.abort();
    await expect(answer).rejects.toMatchObject({ kind: 'aborted' });
    expect([own.asked, sent]).toEqual([0, []]);
  });
});

test('credentials are read when it is called', async () => {
  const config = new KubeConfig();
  config.loadFromClusterAndUser(
    { name: 'c', server: await plainServer(), skipTLSVerify: true },
    { name: 'u' },
  );
  const slow = Promise.withResolvers<void>();
  config.applyToHTTPSOptions = () => slow.promise;
  const transport = kept(kubeConfigTransport(config));
  const own = lease();
  const answer = put(transport, own.beforeSend);
  answer.catch(() => undefined);
  own.held = false;
  expect(own.asked).toBe(0);
  slow.resolve();
  await expect(answer).rejects.toBe(own.lost);
  expect(sent).toEqual([]);
});

test('it is called again for a repeated request', async () => {
  let requests = 0;
  const server = await serve((request, response) => {
    if (++requests === 2) request.socket.destroy();
    else response.end('here');
  });
  cleanups.push(() => server.stop());
  const transport = kept(httpTransport(server.url));
  const own = lease();
  const { beforeSend } = own;
  const get = async () =>
    bodyText((await transport.request({ method: 'GET', path: '/', beforeSend })).body);
  expect(await get()).toBe('here');
  expect(await get()).toBe('here');
  expect([own.asked, requests]).toEqual([3, 3]);
});

test('a transport with a rate limit calls it after the wait', async () => {
  const clock = new FakeClock();
  const inner: Transport = {
    async request({ path }) {
      sent.push(path);
      return { status: 200, headers: new Headers(), body: (async function* () {})() };
    },
  };
  const transport = rateLimitedTransport(inner, { qps: 1, burst: 1, clock });
  const own = lease();
  await put(transport, own.beforeSend);
  const waiting = put(transport, own.beforeSend);
  waiting.catch(() => undefined);
  await clock.settle();
  own.held = false;
  clock.step(1000);
  await expect(waiting).rejects.toBe(own.lost);
  expect(sent).toEqual(['/x']);
});

test.each(['fakeTransport', 'ApiServer'])('%s calls it too', async (which) => {
  const path = '/api/v1/namespaces/default/configmaps';
  const body = JSON.stringify({ metadata: { name: 'a' } });
  const transport =
    which === 'fakeTransport'
      ? fakeTransport()
      : await ApiServer.start().then((server) => {
          cleanups.push(() => server.stop());
          return kept(server.transport());
        });
  const own = lease();
  own.held = false;
  const { beforeSend } = own;
  const asked = transport.request({ method: 'POST', path, body, beforeSend });
  await expect(asked).rejects.toBe(own.lost);
  const { body: list } = await transport.request({ method: 'GET', path });
  expect(JSON.parse(await bodyText(list)).items).toEqual([]);
});
