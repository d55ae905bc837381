import { getEventListeners, once } from 'node:events';
import { constants, type Http2ServerResponse } from 'node:http2';
import type { Socket } from 'node:net';
import type { TransportRequest } from 'capstan/cache';
import { httpTransport } from 'capstan/client-node';
import { FakeClock } from 'capstan/testing';
import { describe, expect, test } from 'vitest';
import { authority, bodyText, certificate, serve } from '../helpers/http-servers.ts';
import { serveH2 } from './http2-servers.ts';
import {
  ask,
  ca,
  cleanups,
  getPath,
  http2Transport,
  identity,
  kindOf,
  openWatch,
  startServer,
  watchOrAnswer,
} from './http2-transports.ts';

const alice = await certificate(ca, 'alice');

describe('a server that offers HTTP/2', () => {
  test('carries all parts of a request and its answer', async () => {
    const { url } = await startServer(async (request, response) => {
      const { method, url, authority, headers } = request;
      response.writeHead(201, { 'X-Answer': 'yes' });
      const { authorization: auth, connection, 'content-length': length } = headers;
      response.end(
        JSON.stringify({
          method,
          url,
          authority,
          auth,
          connection,
          length,
          body: await bodyText(request),
        }),
      );
    });
    const transport = http2Transport(`${url}/prefix/`, {
      headers: { Authorization: 'Bearer t', connection: 'close' },
    });
    const answer = await transport.request({
      method: 'POST',
      path: '/api/v1/pods',
      query: { labelSelector: 'a in (b,c)' },
      body: '{"é":1}',
    });
    expect(answer.status).toBe(201);
    expect(answer.headers.get('x-ANSWER')).toBe('yes');
    expect(answer.headers.get(':status')).toBeNull();
    expect(answer.headers.get('constructor')).toBeNull();
    expect(JSON.parse(await bodyText(answer.body))).toEqual({
      method: 'POST',
      url: '/prefix/api/v1/pods?labelSelector=a+in+%28b%2Cc%29',
      authority: new URL(url).host,
      auth: 'Bearer t',
      length: '8',
      body: '{"é":1}',
    });
  });

  test('gets all watches and requests of a transport on one connection', async () => {
    const { url, sessions } = await startServer(watchOrAnswer);
    const transport = http2Transport(url);
    await Promise.all(Array.from({ length: 30 }, () => openWatch(transport)));
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, i) => ask(transport, `/${i}`)),
    );
    expect(answers).toEqual(Array.from({ length: 30 }, (_, i) => `2.0 GET /${i}`));
    expect(sessions).toHaveLength(1);
  });

  test('gets another connection only at its limit of streams', async () => {
    const { url, sessions } = await startServer(watchOrAnswer, {
      settings: { maxConcurrentStreams: 3 },
    });
    const transport = http2Transport(url);
    await Promise.all(Array.from({ length: 7 }, () => openWatch(transport)));
    for (let i = 0; i < 5; i++) await ask(transport); // each of these uses the ninth stream
    expect(sessions).toHaveLength(3);
  });

  test('closes additional connections that have been idle for 90 s', async () => {
    const clock = new FakeClock();
    const { url, sessions } = await startServer(watchOrAnswer, {
      settings: { maxConcurrentStreams: 2 },
    });
    const transport = http2Transport(url, { clock });
    const controller = new AbortController();
    const peak = await Promise.all(
      Array.from({ length: 5 }, () => openWatch(transport, '/watch', controller.signal)),
    );
    expect(sessions).toHaveLength(3);
    let closed = 0;
    for (const session of sessions) session.once('close', () => closed++);
    const staying = await openWatch(transport);
    controller.abort();
    expect(await Promise.all(peak.map((reader) => kindOf(reader.next())))).toEqual(
      Array(5).fill('aborted'),
    );
    await ask(transport); // after a round trip the streams have ended
    clock.step(90_000);
    await expect
      .poll(async () => {
        await ask(transport);
        return closed;
      })
      .toBe(2);
    await staying.return?.();
  });

  // Each request left its connection open until the next one after 90 s.
  test('that allows no stream is refused, with one connection a request', async () => {
    const { url, sessions } = await startServer(watchOrAnswer, {
      settings: { maxConcurrentStreams: 0 },
    });
    const transport = http2Transport(url);
    for (let i = 0; i < 3; i++) expect(await kindOf(getPath(transport))).toBe('refused');
    expect(sessions).toHaveLength(3);
    for (const session of sessions) if (!session.destroyed) await once(session, 'close');
  });

  test('gives answers without a body for every status', async () => {
    let status = 200;
    const { url } = await startServer((_, response) => void response.writeHead(status).end());
    const transport = http2Transport(url);
    for (status of [204, 304, 404, 410, 429, 500, 503]) {
      const answer = await getPath(transport);
      expect(answer.status).toBe(status);
      expect(await bodyText(answer.body)).toBe('');
    }
  });

  test('does not get requests that HTTP forbids, and these take no stream', async () => {
    const { url } = await startServer(watchOrAnswer, { settings: { maxConcurrentStreams: 1 } });
    const transport = http2Transport(url);
    const requests: TransportRequest[] = [
      { method: 'GET', path: '/a b' },
      { method: 'G T', path: '/' },
      { method: 'GET', path: '/', headers: { authorization: 'Bearer a\n' } },
      { method: 'GET', path: '/', headers: { 'a b': 'c' } },
    ];
    for (const request of requests) {
      await expect(transport.request(request)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    }
    expect(await ask(transport)).toBe('2.0 GET /');
  });
});

describe('HTTP/1.1 is used', () => {
  test('with a server that offers nothing else, over the first connection', async () => {
    const { url, server, stop } = await serve(
      (request, response) => response.end(request.httpVersion),
      identity,
    );
    cleanups.push(stop);
    const sockets: Socket[] = [];
    server.on('connection', (socket: Socket) => sockets.push(socket));
    const transport = http2Transport(url);
    for (let i = 0; i < 5; i++) expect(await ask(transport)).toBe('1.1');
    expect(sockets).toHaveLength(1);
  });

  test('if configured', async () => {
    const { url, sessions } = await startServer(watchOrAnswer, { allowHTTP1: true });
    expect(await ask(http2Transport(url, { http2: false }))).toBe('1.1 GET /');
    expect(sessions).toHaveLength(0);
    expect(await ask(http2Transport(url))).toBe('2.0 GET /');
  });

  test('no longer with a server that restarts with HTTP/2', async () => {
    const old = await serve((request, response) => response.end(request.httpVersion), identity);
    const transport = http2Transport(old.url);
    expect(await ask(transport)).toBe('1.1');
    const { port } = new URL(old.url);
    await old.stop();
    expect(await kindOf(getPath(transport))).toBe('refused');
    const now = await serveH2(identity, watchOrAnswer);
    cleanups.push(() => now.stop());
    now.server.close();
    await once(now.server, 'close');
    now.server.listen(Number(port), '127.0.0.1');
    await once(now.server, 'listening');
    expect(await ask(transport)).toBe('2.0 GET /');
  });

  test('and other options are rejected', () => {
    for (const http2 of [true, 'on', null] as unknown as false[]) {
      expect(() => httpTransport('https://127.0.0.1', { http2 })).toThrow(
        /"options.http2" expected "auto" or false/,
      );
    }
    expect(() => httpTransport('https://127.0.0.1', { readIdleTimeout: -1 })).toThrow(
      /"options.readIdleTimeout"/,
    );
    expect(() => httpTransport('https://127.0.0.1', { pingTimeout: 0 })).toThrow(
      /"options.pingTimeout"/,
    );
  });
});

describe('TLS', () => {
  test('is verified: another authority and another name are rejected', async () => {
    const { url, sessions } = await startServer(watchOrAnswer);
    const stranger = await authority();
    expect(await kindOf(getPath(http2Transport(url, { tls: { ca: stranger.cert } })))).toBe(
      'refused',
    );
    expect(
      await kindOf(getPath(http2Transport(url, { tls: { servername: 'elsewhere.example' } }))),
    ).toBe('refused');
    expect(sessions).toHaveLength(0);
    expect(await ask(http2Transport(url, { tls: { servername: 'localhost' } }))).toBe('2.0 GET /');
    expect(
      await ask(http2Transport(url, { tls: { ca: stranger.cert, rejectUnauthorized: false } })),
    ).toBe('2.0 GET /');
  });

  test("sends the server's name", async () => {
    const { url } = await startServer((request, response) =>
      response.end(String((request.socket as Socket & { servername?: string | false }).servername)),
    );
    expect(await ask(http2Transport(url.replace('127.0.0.1', 'localhost')))).toBe('localhost');
    expect(await ask(http2Transport(url))).toBe('false'); // an address is not a name
  });

  test('is mutual with a client certificate, and without one the server refuses', async () => {
    const { url } = await startServer(watchOrAnswer, {
      ca: ca.cert,
      requestCert: true,
      rejectUnauthorized: true,
    });
    expect(await ask(http2Transport(url, { tls: alice }))).toBe('2.0 GET /');
    expect(await kindOf(getPath(http2Transport(url)))).toBe('refused');
  });
});

describe('a stream', () => {
  test('that a running server refuses fails as refused, and is not repeated', async () => {
    let requests = 0;
    const { url, sessions } = await startServer((request) => {
      requests++;
      request.stream.close(constants.NGHTTP2_REFUSED_STREAM);
    });
    expect(await kindOf(getPath(http2Transport(url)))).toBe('refused');
    expect([requests, sessions.length]).toEqual([1, 1]);
  });

  test('that is reset before its answer fails as reset', async () => {
    const { url } = await startServer((request) =>
      request.stream.close(constants.NGHTTP2_INTERNAL_ERROR),
    );
    expect(await kindOf(getPath(http2Transport(url)))).toBe('reset');
  });

  test.each([
    ['CANCEL', constants.NGHTTP2_CANCEL, {}],
    ['INTERNAL_ERROR', constants.NGHTTP2_INTERNAL_ERROR, {}],
    [
      'NO_ERROR before its length is reached',
      constants.NGHTTP2_NO_ERROR,
      { 'content-length': '100' },
    ],
  ])(
    'that is reset in the middle of the body with %s is a reset, not an end',
    async (_, code, headers) => {
      const reset = Promise.withResolvers<void>();
      const { url, sessions } = await startServer(async (request, response) => {
        if (request.url !== '/watch') {
          response.end('other');
          return;
        }
        response.writeHead(200, headers).write('first\n');
        await reset.promise;
        request.stream.close(code);
      });
      const transport = http2Transport(url);
      const reader = await openWatch(transport);
      const late = await openWatch(transport);
      const rest = kindOf(reader.next());
      reset.resolve();
      expect(await rest).toBe('reset');
      // the connection is still usable
      for (let i = 0; i < 3; i++) expect(await ask(transport)).toBe('other');
      // also for a reader that was busy at that time
      expect(await kindOf(late.next())).toBe('reset');
      expect(sessions).toHaveLength(1);
    },
  );

  test.each(['destroy', 'resetAndDestroy'] as const)(
    'is reset when its connection is lost: %s',
    async (how) => {
      const { url, sockets } = await startServer(watchOrAnswer);
      const transport = http2Transport(url);
      const readers = await Promise.all([openWatch(transport), openWatch(transport)]);
      const ends = readers.map((reader) => kindOf(reader.next()));
      expect(sockets).toHaveLength(1);
      sockets[0]?.[how]();
      expect(await Promise.all(ends)).toEqual(['reset', 'reset']);
    },
  );

  test('that is aborted is cancelled, at every stage, and no other stream is', async () => {
    const codes: Promise<number>[] = [];
    const { url, sessions } = await startServer((request, response) => {
      const { stream } = request;
      codes.push(new Promise((resolve) => stream.once('close', () => resolve(stream.rstCode))));
      if (request.url === '/watch') response.write('first\n');
      else if (request.url === '/other') response.end('other');
    });
    const transport = http2Transport(url);
    const running = await openWatch(transport);
    const controller = new AbortController();
    const unanswered = kindOf(getPath(transport, '/silent', controller.signal));
    const reader = await openWatch(transport, '/watch', controller.signal);
    const next = kindOf(reader.next());
    controller.abort();
    expect(await Promise.all([unanswered, next])).toEqual(['aborted', 'aborted']);
    expect(await Promise.all(codes.slice(1))).toEqual([
      constants.NGHTTP2_CANCEL,
      constants.NGHTTP2_CANCEL,
    ]);
    expect((await reader.next()).done).toBe(true);
    await running.return?.();
    expect(await codes[0]).toBe(constants.NGHTTP2_CANCEL);
    expect(await ask(transport, '/other')).toBe('other');
    expect(sessions).toHaveLength(1);
  });

  test('leaves no listener on a long-lived signal', async () => {
    const { url } = await startServer(watchOrAnswer);
    const transport = http2Transport(url);
    const { signal } = new AbortController();
    for (let i = 0; i < 20; i++) await bodyText((await getPath(transport, '/', signal)).body);
    await expect.poll(() => getEventListeners(signal, 'abort').length).toBe(0);
  });

  test('of an unread list neither stalls a watch nor fills the memory', async () => {
    const size = 64 * 1024 * 1024;
    const sent = new Map<string, number>();
    const events = Promise.withResolvers<Http2ServerResponse>();
    const { url, sessions } = await startServer((request, response) => {
      if (request.url === '/watch') {
        response.write('first\n');
        events.resolve(response);
      } else if (request.url === '/version') {
        response.end('v1');
      } else {
        response.writeHead(200, { 'content-length': String(size) });
        const chunk = Buffer.alloc(64 * 1024);
        const path = request.url;
        const write = () => {
          for (let n = sent.get(path) ?? 0; n < size; n += chunk.length) {
            sent.set(path, n + chunk.length);
            if (!response.write(chunk)) {
              response.once('drain', write);
              return;
            }
          }
          response.end();
        };
        write();
      }
    });
    const transport = http2Transport(url);
    const reader = await openWatch(transport);
    const lists = await Promise.all(
      Array.from({ length: 20 }, (_, i) => getPath(transport, `/list-${i}`)),
    );
    const stream = await events.promise;
    for (let i = 0; i < 100; i++) {
      stream.write(`${i}\n`);
      expect(Buffer.from((await reader.next()).value ?? []).toString()).toBe(`${i}\n`);
      await ask(transport, '/version'); // the lists had time to send more
    }
    for (const n of sent.values()) expect(n).toBeLessThan(2 * 1024 * 1024);
    let received = 0;
    for await (const chunk of lists[0]!.body) received += chunk.length;
    expect(received).toBe(size);
    expect(sessions).toHaveLength(1);
  });
});
