/** The life of HTTP/2 connections: dials, GOAWAY, silence and close. */
import { once } from 'node:events';
import { constants, type Http2ServerResponse } from 'node:http2';
import type { RequestOptions } from 'node:https';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { type HttpTransportOptions, kubeConfigTransport } from 'capstan/client-node';
import { FakeClock } from 'capstan/testing';
import { describe, expect, test } from 'vitest';
import { bodyText } from '../helpers/http-servers.ts';
import { freezingProxy } from './http2-servers.ts';
import {
  ask,
  ca,
  cleanups,
  following,
  getPath,
  http2Transport,
  kindOf,
  openWatch,
  startServer,
  watchOrAnswer,
} from './http2-transports.ts';

describe('a server that sends GOAWAY', () => {
  test('keeps its watches, and new requests use a new connection', async () => {
    const streams: Http2ServerResponse[] = [];
    const { url, sessions } = await startServer((request, response) => {
      if (request.url === '/watch') streams.push(response);
      watchOrAnswer(request, response);
    });
    const transport = http2Transport(url);
    const reader = await openWatch(transport);
    sessions[0]?.goaway(constants.NGHTTP2_NO_ERROR);
    await expect
      .poll(async () => {
        await ask(transport);
        return sessions.length;
      })
      .toBe(2);
    streams[0]?.write('second\n');
    expect(Buffer.from((await reader.next()).value ?? []).toString()).toBe('second\n');
    streams[0]?.end();
    expect((await reader.next()).done).toBe(true);
    for (let i = 0; i < 5; i++) await ask(transport);
    expect(sessions).toHaveLength(2);
  });

  test('gets an unprocessed request again on a new connection', async () => {
    // Story: kube-apiserver's --goaway-chance ends connections at random; a write that crosses the
    // GOAWAY must not fail.
    let seen = 0;
    const { url, sessions } = await startServer((request, response) => {
      const { stream } = request;
      if (++seen === 2) stream.session?.goaway(constants.NGHTTP2_NO_ERROR, Number(stream.id) - 2);
      else response.end(`done ${request.url}`);
    });
    const transport = http2Transport(url);
    expect(await ask(transport)).toBe('done /');
    const post = await transport.request({ method: 'POST', path: '/lost', body: '{}' });
    expect(await bodyText(post.body)).toBe('done /lost');
    expect([seen, sessions.length]).toEqual([3, 2]);
  });

  test('on an idle connection costs a GET one more connection and no error', async () => {
    const { url, sessions } = await startServer(watchOrAnswer);
    const transport = http2Transport(url);
    await ask(transport);
    sessions[0]?.destroy();
    expect(await ask(transport)).toBe('2.0 GET /');
    expect(sessions).toHaveLength(2);
  });

  test('in the middle of a GET gets it again; a POST fails', async () => {
    let cut = 0;
    const { url, sockets } = await startServer((request, response) => {
      if (request.url === '/cut' && cut-- > 0) sockets.at(-1)?.destroy();
      else response.end('answered');
    });
    const transport = http2Transport(url);
    await ask(transport);
    cut = 1;
    expect(await ask(transport, '/cut')).toBe('answered');
    cut = 1;
    expect(await kindOf(transport.request({ method: 'POST', path: '/cut', body: '{}' }))).toBe(
      'reset',
    );
  });
});

describe('a half-open connection', () => {
  async function throughProxy(clock: FakeClock, options: HttpTransportOptions = {}) {
    const server = await startServer(watchOrAnswer);
    const proxy = await freezingProxy(server.url);
    cleanups.push(() => proxy.stop());
    const transport = http2Transport(`https://127.0.0.1:${proxy.port}`, { clock, ...options });
    return { server, proxy, transport };
  }

  test('is detected 45 s after the last byte, and all its streams are reset', async () => {
    const clock = new FakeClock();
    const { proxy, transport } = await throughProxy(clock);
    const readers = await Promise.all([openWatch(transport), openWatch(transport)]);
    proxy.freeze();
    const watches = readers.map(following);
    await clock.run(44_999);
    expect(watches.map(({ ended }) => ended)).toEqual([undefined, undefined]);
    await clock.run(1);
    expect(await Promise.all(watches.map(({ end }) => end))).toEqual(['reset', 'reset']);
    expect(clock.timers()).toBe(0);
  });

  test('has an error that says why', async () => {
    const clock = new FakeClock();
    const { proxy, transport } = await throughProxy(clock, {
      readIdleTimeout: 1000,
      pingTimeout: 500,
    });
    const reader = await openWatch(transport);
    proxy.freeze();
    const end = reader.next().catch((error: unknown) => error);
    await clock.run(1500);
    expect(String(await end)).toMatch(/reset.*did not answer a PING within 500 ms/);
  });

  // client-go: TestReconnectBrokenTCP
  test('is replaced by another for the next request, in the same way', async () => {
    const clock = new FakeClock();
    const { server, proxy, transport } = await throughProxy(clock);
    const running = following(await openWatch(transport));
    proxy.freeze('present');
    await clock.run(45_000);
    expect(await running.end).toBe('reset');
    expect(await ask(transport)).toBe('2.0 GET /');
    expect(server.sessions).toHaveLength(2);
  });

  test('that was idle gets a PING at once when it is used again', async () => {
    const clock = new FakeClock();
    const { proxy, transport } = await throughProxy(clock);
    await ask(transport);
    proxy.freeze();
    await clock.run(60_000);
    const request = kindOf(transport.request({ method: 'POST', path: '/', body: '{}' }));
    await clock.run(15_000);
    expect(await request).toBe('reset');
  });

  test('is not a quiet one: its PINGs are answered, and the watch continues', async () => {
    const clock = new FakeClock();
    const { server, transport } = await throughProxy(clock);
    const running = following(await openWatch(transport));
    let pings = 0;
    server.sessions[0]?.on('ping', () => pings++);
    for (let i = 1; i <= 20; i++) {
      const ping = once(server.sessions[0]!, 'ping');
      clock.step(30_000);
      await ping;
      await ask(transport); // answers come in order: that of the PING is there
    }
    expect(pings).toBe(20);
    expect(running.ended).toBeUndefined();
  });

  test('is not looked for without a stream, nor if disabled', async () => {
    const clock = new FakeClock();
    const { transport } = await throughProxy(clock);
    await ask(transport);
    await expect.poll(() => clock.timers()).toBe(0);
    const off = await throughProxy(clock, { readIdleTimeout: 0 });
    await openWatch(off.transport);
    expect(clock.timers()).toBe(0);
  });

  // Story: the deadline of a PING was dropped with the last stream, and the next request, seconds
  // later, began the wait again, for ever.
  test('is detected beneath requests that give up too early to see it themselves', async () => {
    const clock = new FakeClock();
    const { proxy, transport } = await throughProxy(clock);
    await ask(transport);
    proxy.freeze();
    await clock.run(40_000);
    const impatient = async (ms: number): Promise<void> => {
      const controller = new AbortController();
      const request = kindOf(getPath(transport, '/', controller.signal));
      await clock.run(ms);
      controller.abort();
      expect(await request).toBe('aborted');
    };
    await impatient(8000);
    const request = kindOf(transport.request({ method: 'POST', path: '/', body: '{}' }));
    await clock.run(7000);
    expect(await request).toBe('reset'); // 15 s after the PING that went with the first
  });

  test('is not reused after an unanswered PING, although no request waited', async () => {
    const clock = new FakeClock();
    const { proxy, transport } = await throughProxy(clock);
    await ask(transport);
    proxy.freeze();
    await clock.run(40_000);
    const controller = new AbortController();
    const impatient = kindOf(getPath(transport, '/', controller.signal));
    await clock.run(1000);
    controller.abort();
    expect(await impatient).toBe('aborted');
    await clock.run(14_000);
    const request = kindOf(transport.request({ method: 'POST', path: '/', body: '{}' }));
    await clock.run(30_000);
    // a new one was tried, and the proxy completes none
    expect(await request).toBe('refused');
  });

  test('is detected after GOAWAY, for the watches that it keeps', async () => {
    const clock = new FakeClock();
    const { server, proxy, transport } = await throughProxy(clock);
    const running = following(await openWatch(transport));
    const [session] = server.sessions;
    session?.goaway(constants.NGHTTP2_NO_ERROR);
    await expect
      .poll(async () => {
        await ask(transport);
        return server.sessions.length;
      })
      .toBe(2);
    for (let i = 0; i < 3; i++) {
      await clock.run(40_000);
      await ask(transport);
    }
    expect(running.ended).toBeUndefined(); // a quiet watch on it is not cut
    proxy.freeze();
    await clock.run(45_000);
    expect(await running.end).toBe('reset');
  });

  test('is not one whose answer a busy process has not read yet', async () => {
    const clock = new FakeClock();
    const { url, sessions } = await startServer(watchOrAnswer);
    const transport = http2Transport(url, { clock });
    const running = following(await openWatch(transport));
    const late = new Promise<void>((resolve) => {
      sessions[0]?.once('ping', () => {
        clock.step(15_000); // the deadline is over before the answer can be read
        resolve();
      });
    });
    clock.step(30_000);
    await late;
    await ask(transport);
    expect([running.ended, sessions.length]).toEqual([undefined, 1]);
  });

  test('is closed instead of reused after being idle for 90 s', async () => {
    const clock = new FakeClock();
    const { server, transport } = await throughProxy(clock);
    await ask(transport);
    await expect.poll(() => clock.timers()).toBe(0);
    clock.step(90_000);
    await ask(transport);
    expect(server.sessions).toHaveLength(2);
  });
});

describe('a connection that is not established', () => {
  test('is given up after 30 s, as refused', async () => {
    // never answers the handshake
    const silent = createServer((socket) => socket.on('error', () => undefined));
    silent.listen(0, '127.0.0.1');
    await once(silent, 'listening');
    cleanups.push(async () => silent.close());
    const clock = new FakeClock();
    const transport = http2Transport(
      `https://127.0.0.1:${(silent.address() as AddressInfo).port}`,
      {
        clock,
      },
    );
    const requests = [kindOf(getPath(transport)), kindOf(getPath(transport))];
    await once(silent, 'connection');
    await clock.run(30_000);
    expect(await Promise.all(requests)).toEqual(['refused', 'refused']);
  });

  test('is shared by its waiters, and abandoned when the last one leaves', async () => {
    const silent = createServer((socket) => socket.on('error', () => undefined));
    silent.listen(0, '127.0.0.1');
    await once(silent, 'listening');
    cleanups.push(async () => silent.close());
    const transport = http2Transport(`https://127.0.0.1:${(silent.address() as AddressInfo).port}`);
    const controllers = [new AbortController(), new AbortController()];
    const requests = controllers.map(({ signal }) => kindOf(getPath(transport, '/', signal)));
    const [socket] = (await once(silent, 'connection')) as [Socket];
    socket.resume();
    const closed = once(socket, 'close');
    controllers[0]?.abort();
    expect(await requests[0]).toBe('aborted');
    expect(socket.destroyed).toBe(false);
    controllers[1]?.abort();
    expect(await requests[1]).toBe('aborted');
    await closed;
  });
});

describe('closing the transport', () => {
  test('ends watches, requests and connections, and rejects later requests', async () => {
    const waiting = Promise.withResolvers<void>();
    const { url, sessions } = await startServer((request, response) => {
      if (request.url === '/watch') response.write('first\n');
      else waiting.resolve();
    });
    const transport = http2Transport(url);
    const reader = await openWatch(transport);
    const ends = [kindOf(reader.next()), kindOf(getPath(transport, '/silent'))];
    await waiting.promise;
    const closed = once(sessions[0]!, 'close');
    await transport.close?.();
    expect(await Promise.all(ends)).toEqual(['reset', 'reset']);
    await closed;
    expect(await kindOf(getPath(transport))).toBe('refused');
  });

  test('ends the wait for a connection', async () => {
    const silent = createServer((socket) => socket.on('error', () => undefined));
    silent.listen(0, '127.0.0.1');
    await once(silent, 'listening');
    cleanups.push(async () => silent.close());
    const transport = http2Transport(`https://127.0.0.1:${(silent.address() as AddressInfo).port}`);
    const request = kindOf(getPath(transport));
    await once(silent, 'connection');
    await transport.close?.();
    expect(await request).toBe('refused');
  });

  // A dial for former material was forgotten: its request was sent after close() had resolved, and
  // stayed open.
  test('ends the wait for a connection with former material', async () => {
    const requested: string[] = [];
    const server = await startServer((request, response) => {
      requested.push(request.url);
      watchOrAnswer(request, response);
    });
    const held: Socket[] = [];
    const front = createServer((client) => {
      client.on('error', () => undefined);
      if (held.push(client) === 1) return; // the first handshake waits
      const upstream = connect(Number(new URL(server.url).port), '127.0.0.1').on(
        'error',
        () => undefined,
      );
      client.pipe(upstream).pipe(client);
    }).listen(0, '127.0.0.1');
    await once(front, 'listening');
    cleanups.push(async () => {
      for (const socket of held) socket.destroy();
      front.close();
    });
    let material = ca.cert;
    const transport = kubeConfigTransport({
      getCurrentCluster: () => ({
        server: `https://127.0.0.1:${(front.address() as AddressInfo).port}`,
      }),
      applyToHTTPSOptions: async (options: RequestOptions) => {
        options.ca = material;
      },
    });
    const dialled = once(front, 'connection');
    const former = kindOf(getPath(transport, '/former'));
    await dialled;
    material += '\n';
    expect(await ask(transport, '/present')).toContain('/present');
    await transport.close?.();
    expect(await former).toBe('refused');
    if (!held[0]?.closed) await once((held[0] as Socket).resume(), 'close');
    expect(requested).toEqual(['/present']);
  });
});
