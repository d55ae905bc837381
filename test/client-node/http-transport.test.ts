import { getEventListeners, once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { type Transport, TransportError } from 'capstan/cache';
import { httpTransport } from 'capstan/client-node';
import { afterEach, describe, expect, test } from 'vitest';
import { bodyText, serve, type TestServer } from '../helpers/http-servers.ts';

const open: { close?(): Promise<void>; stop?(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await (one.close?.() ?? one.stop?.());
});

async function start(listener: (request: IncomingMessage, response: ServerResponse) => void) {
  const server: TestServer = await serve(listener);
  const transport = httpTransport(server.url);
  open.push(server, transport);
  return { server, transport };
}

async function kindOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(TransportError);
  expect(error).toMatchObject({ code: 'TRANSPORT' });
  return (error as TransportError).kind;
}

const get = (transport: Transport, path = '/', signal?: AbortSignal) =>
  transport.request({ method: 'GET', path, signal });

async function bodyOf(incoming: IncomingMessage): Promise<string> {
  return bodyText(incoming);
}

describe('a request', () => {
  test('carries all parts of a request and its answer', async () => {
    const { transport } = await start(async (request, response) => {
      const { method, url, headers } = request;
      response.writeHead(201, { 'content-type': 'application/json', 'X-Two': ['a', 'b'] });
      response.end(
        JSON.stringify({ method, url, type: headers['content-type'], body: await bodyOf(request) }),
      );
    });
    const answer = await transport.request({
      method: 'POST',
      path: '/api/v1/namespaces/%C3%A9/pods',
      query: { labelSelector: 'a=b,c in (d e)', limit: '5' },
      headers: { 'Content-Type': 'application/json' },
      body: '{"é":1}',
    });
    expect(answer.status).toBe(201);
    expect(answer.headers.get('Content-Type')).toBe('application/json');
    expect(answer.headers.get('x-two')).toBe('a, b');
    expect(answer.headers.get('missing')).toBeNull();
    expect(answer.headers.get('constructor')).toBeNull();
    expect(JSON.parse(await bodyText(answer.body))).toEqual({
      method: 'POST',
      url: '/api/v1/namespaces/%C3%A9/pods?labelSelector=a%3Db%2Cc+in+%28d+e%29&limit=5',
      type: 'application/json',
      body: '{"é":1}',
    });
  });

  test('with the method DELETE sends its whole body, as bytes or as text', async () => {
    const { transport } = await start(async (request, response) =>
      response.end(await bodyOf(request)),
    );
    for (const body of [
      '{"propagationPolicy":"Background"}',
      Buffer.from('{"propagationPolicy":"Background"}'),
    ]) {
      const answer = await transport.request({ method: 'DELETE', path: '/', body });
      expect(await bodyText(answer.body)).toBe('{"propagationPolicy":"Background"}');
    }
  });

  test('keeps the path prefix of the server; its own headers win in any case', async () => {
    const { server } = await start((request, response) => {
      response.end(`${request.url} ${request.headers.authorization} ${request.headers['x-more']}`);
    });
    const transport = httpTransport(`${server.url}/k8s/clusters/c-1/`, {
      headers: { Authorization: 'Bearer old', 'X-More': 'kept' },
    });
    open.push(transport);
    const answer = await transport.request({
      method: 'GET',
      path: '/version',
      headers: { authorization: 'Bearer new' },
    });
    expect(await bodyText(answer.body)).toBe('/k8s/clusters/c-1/version Bearer new kept');
  });

  test('resolves for every status, also without a body', async () => {
    let status = 200;
    const { transport } = await start((_, response) => response.writeHead(status).end());
    for (status of [204, 304, 404, 410, 429, 500, 503]) {
      const answer = await get(transport);
      expect(answer.status).toBe(status);
      expect(await bodyText(answer.body)).toBe('');
    }
  });

  test('that HTTP does not allow, or to no http(s) URL, is INVALID_ARGUMENT', async () => {
    const transport = httpTransport('http://127.0.0.1:1');
    open.push(transport);
    await expect(get(transport, 'version')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await expect(get(transport, '/a b')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await expect(
      transport.request({ method: 'GET', path: '/', headers: { authorization: 'Bearer a\n' } }),
    ).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await expect(transport.request({ method: 'G T', path: '/' })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
    for (const server of [
      'localhost:8080',
      'ftp://example.org',
      '',
      undefined as unknown as string,
    ]) {
      expect(() => httpTransport(server)).toThrow(/"server" expected an http or https URL/);
    }
    expect(() => httpTransport('http://127.0.0.1:1', { tls: { ca: 'x' } })).toThrow(
      /expected an https URL/,
    );
    expect(() => httpTransport('http://127.0.0.1:1', { tls: { ca: undefined } })).not.toThrow();
  });
});

describe('the pool', () => {
  test('sends many requests in a row over one connection', async () => {
    const { server, transport } = await start((_, response) => response.end('x'.repeat(100)));
    for (let i = 0; i < 50; i++) await bodyText((await get(transport)).body);
    expect(server.sockets).toHaveLength(1);
  });

  test('opens a second connection while the first one has a watch', async () => {
    const { server, transport } = await start((request, response) => {
      if (request.url === '/watch') response.write('first\n');
      else response.end('get');
    });
    const signal = new AbortController();
    const watch = (await get(transport, '/watch', signal.signal)).body[Symbol.asyncIterator]();
    expect(Buffer.from((await watch.next()).value ?? []).toString()).toBe('first\n');
    for (let i = 0; i < 5; i++) await bodyText((await get(transport)).body);
    expect(server.sockets).toHaveLength(2);
    signal.abort();
    expect(await kindOf(watch.next())).toBe('aborted');
  });

  test('leaves no listener on a long-lived signal', async () => {
    const { transport } = await start((_, response) => response.end('done'));
    const { signal } = new AbortController();
    for (let i = 0; i < 20; i++) await bodyText((await get(transport, '/', signal)).body);
    await expect.poll(() => getEventListeners(signal, 'abort').length).toBe(0);
  });

  test('closes idle and open connections, and accepts no more requests', async () => {
    const { server, transport } = await start((request, response) => {
      if (request.url === '/watch') response.write('first\n');
      else response.end();
    });
    const watch = (await get(transport, '/watch')).body[Symbol.asyncIterator]();
    await watch.next();
    await bodyText((await get(transport)).body);
    const ends = server.sockets.map((socket) =>
      socket.destroyed ? undefined : once(socket, 'close'),
    );
    expect(ends).toHaveLength(2);
    const next = kindOf(watch.next());
    await transport.close?.();
    expect(await next).toBe('reset');
    await Promise.all(ends);
    expect(await kindOf(get(transport))).toBe('refused');
    await transport.close?.();
  });

  test('closes although a complete answer was never read', async () => {
    const { transport } = await start((_, response) => response.end('all of it'));
    const answer = await get(transport);
    await transport.close?.();
    // The bytes that have arrived can be read, all or none.
    const read = await bodyText(answer.body).catch((error: TransportError) => error.kind);
    expect(['all of it', 'reset']).toContain(read);
  });

  test('ends a request that waits for its answer when it closes', async () => {
    const waiting = Promise.withResolvers<void>();
    const { transport } = await start(() => waiting.resolve());
    const request = kindOf(get(transport));
    await waiting.promise;
    await transport.close?.();
    expect(await request).toBe('reset');
  });
});

test('a closed transport does not repeat a request that the closing cut', async () => {
  // Story: to Node a connection that close() destroys looks like one that the server closed.
  const waiting = Promise.withResolvers<void>();
  let requests = 0;
  const { transport } = await start((_, response) => {
    if (++requests === 1) response.end('ok');
    else waiting.resolve();
  });
  await bodyText((await get(transport)).body);
  const request = kindOf(get(transport));
  await waiting.promise;
  await transport.close?.();
  expect(await request).toBe('reset');
  expect(requests).toBe(2);
});

describe('a connection that fails', () => {
  test('is refused if no server listens or the name does not resolve', async () => {
    const { server, transport } = await start(() => undefined);
    await server.stop();
    open.splice(0);
    expect(await kindOf(get(transport))).toBe('refused');
    expect(await kindOf(get(httpTransport('http://name.invalid')))).toBe('refused');
  });

  test('is reset if it ends before the answer, by a FIN or by a RST', async () => {
    let end = (socket: Socket): unknown => socket.end();
    const { transport } = await start((request) => end(request.socket));
    expect(await kindOf(get(transport))).toBe('reset');
    end = (socket) => socket.resetAndDestroy();
    expect(await kindOf(get(transport))).toBe('reset');
  });

  test('is unknown if the answer is not HTTP', async () => {
    const server = createServer((socket) =>
      socket.on('error', () => undefined).end('SSH-2.0-OpenSSH_9.9\r\n'),
    );
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const transport = httpTransport(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    open.push(transport);
    expect(await kindOf(get(transport))).toBe('unknown');
    server.close();
  });

  test('in the middle of a body is a reset, by length or by chunks', async () => {
    for (const headers of [{ 'content-length': '100' }, { 'transfer-encoding': 'chunked' }]) {
      for (const end of [
        (socket: Socket) => socket.end(),
        (socket: Socket) => socket.resetAndDestroy(),
      ]) {
        const { server, transport } = await start((_, response) => {
          response.writeHead(200, headers).write('half a');
        });
        const reader = (await get(transport)).body[Symbol.asyncIterator]();
        expect(Buffer.from((await reader.next()).value ?? []).toString()).toBe('half a');
        const rest = kindOf(reader.next());
        end(server.sockets[0]!);
        expect(await rest).toBe('reset');
      }
    }
  });

  test('before the body is read is still reported to a late reader', async () => {
    const cut = Promise.withResolvers<void>();
    const { transport } = await start(async (request, response) => {
      response.writeHead(200, { 'content-length': '1000' }).write('x');
      await cut.promise;
      request.socket.resetAndDestroy();
    });
    const other = await start((_, response) => response.end('y'));
    const answer = await get(transport);
    cut.resolve();
    // real round trips: the cut arrives meanwhile
    for (let i = 0; i < 5; i++) await bodyText((await get(other.transport)).body);
    expect(await kindOf(bodyText(answer.body))).toBe('reset');
  });
});

describe('a re-used connection that the server closed', () => {
  /**
   * Answers the first request on each connection, then resets it at the next one, as after an idle
   * time-out.
   */
  const closesWhenReused = () => {
    const used = new WeakSet<Socket>();
    return (request: IncomingMessage, response: ServerResponse) => {
      if (used.has(request.socket)) request.socket.resetAndDestroy();
      else response.end('ok');
      used.add(request.socket);
    };
  };

  test('costs a GET one more connection and no error', async () => {
    const { server, transport } = await start(closesWhenReused());
    expect(await bodyText((await get(transport)).body)).toBe('ok');
    expect(await bodyText((await get(transport)).body)).toBe('ok');
    expect(server.sockets).toHaveLength(2);
  });

  test('costs one more connection even if every idle one was closed', async () => {
    // Story: a second try on another connection of the pool met the next dead one, and gave up.
    const { server, transport } = await start(closesWhenReused());
    const first = await Promise.all([get(transport), get(transport), get(transport)]);
    for (const { body } of first) await bodyText(body);
    expect(server.sockets).toHaveLength(3);
    expect(await bodyText((await get(transport)).body)).toBe('ok');
    expect(server.sockets).toHaveLength(4);
  });

  test('fails a POST with kind reset, because it may have been processed', async () => {
    const { server, transport } = await start(closesWhenReused());
    const post = () => transport.request({ method: 'POST', path: '/', body: '{}' });
    expect(await bodyText((await post()).body)).toBe('ok');
    expect(await kindOf(post())).toBe('reset');
    expect(server.sockets).toHaveLength(1);
  });

  test('is repeated only once', async () => {
    let requests = 0;
    const { transport } = await start((request, response) => {
      if (++requests === 1) response.end('ok');
      else request.socket.resetAndDestroy();
    });
    await bodyText((await get(transport)).body);
    expect(await kindOf(get(transport))).toBe('reset');
    expect(requests).toBe(3);
  });
});

describe('an abort', () => {
  test('before the request sends nothing', async () => {
    const { server, transport } = await start((_, response) => response.end());
    const reason = new Error('no longer wanted');
    const error = await get(transport, '/', AbortSignal.abort(reason)).catch((e: unknown) => e);
    expect(error).toMatchObject({ kind: 'aborted', cause: reason });
    expect(server.sockets).toHaveLength(0);
  });

  test('while connecting ends the wait', async () => {
    const silent = createServer(); // accepts connections, and never answers the TLS handshake
    silent.listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const transport = httpTransport(`https://127.0.0.1:${(silent.address() as AddressInfo).port}`);
    open.push(transport);
    const controller = new AbortController();
    const request = kindOf(get(transport, '/', controller.signal));
    const [socket] = (await once(silent, 'connection')) as [Socket];
    socket.on('error', () => undefined);
    controller.abort();
    expect(await request).toBe('aborted');
    socket.destroy();
    silent.close();
  });

  test('while waiting for the answer closes the connection', async () => {
    const arrived = Promise.withResolvers<Socket>();
    const { transport } = await start((request) => arrived.resolve(request.socket));
    const controller = new AbortController();
    const request = kindOf(get(transport, '/', controller.signal));
    const socket = await arrived.promise;
    const closed = once(socket, 'close');
    controller.abort();
    expect(await request).toBe('aborted');
    await closed;
  });

  test('in the middle of a body wakes the reader and closes the connection', async () => {
    const { server, transport } = await start((_, response) => response.write('x'));
    const controller = new AbortController();
    const reader = (await get(transport, '/', controller.signal)).body[Symbol.asyncIterator]();
    await reader.next();
    const closed = once(server.sockets[0]!, 'close');
    const next = kindOf(reader.next());
    controller.abort();
    expect(await next).toBe('aborted');
    await closed;
    expect((await reader.next()).done).toBe(true);
  });

  test('after the last byte but before the last read is an abort, not an end', async () => {
    const { transport } = await start((_, response) => response.end('all of it'));
    const controller = new AbortController();
    const answer = await get(transport, '/', controller.signal);
    controller.abort();
    expect(await kindOf(bodyText(answer.body))).toBe('aborted');
  });
});

describe('a body', () => {
  test('whose reader leaves the loop closes its connection', async () => {
    const { server, transport } = await start((_, response) => response.write('x'));
    for await (const chunk of (await get(transport)).body) {
      expect(chunk).toHaveLength(1);
      break;
    }
    const socket = server.sockets[0]!;
    if (!socket.destroyed) await once(socket, 'close');
    expect(server.sockets).toHaveLength(1);
  });

  test('that is left before the first read closes its connection', async () => {
    const { server, transport } = await start((_, response) => response.write('x'));
    const reader = (await get(transport)).body[Symbol.asyncIterator]();
    await reader.return?.();
    const socket = server.sockets[0]!;
    if (!socket.destroyed) await once(socket, 'close');
    expect((await reader.next()).done).toBe(true);
  });

  test('is not read from the server faster than its reader reads', async () => {
    const size = 64 * 1024 * 1024;
    let sent = 0;
    const drained = Promise.withResolvers<void>();
    const { transport } = await start((_, response) => {
      response.writeHead(200, { 'content-length': String(size) });
      const chunk = Buffer.alloc(64 * 1024);
      const write = () => {
        while (sent < size) {
          sent += chunk.length;
          if (!response.write(chunk)) {
            drained.resolve();
            response.once('drain', write);
            return;
          }
        }
        response.end();
      };
      write();
    });
    const answer = await get(transport);
    await drained.promise;
    const small = await start((_, response) => response.end());
    // the server had time to send more
    for (let i = 0; i < 50; i++) await bodyText((await get(small.transport)).body);
    expect(sent).toBeLessThan(size / 2);
    let received = 0;
    for await (const chunk of answer.body) received += chunk.length;
    expect(received).toBe(size);
  });

  test.each([true, false])(
    'keeps its chunks unless the reader set transient: %s',
    async (transient) => {
      const part = 'x'.repeat(50_000);
      const { transport } = await start((_, response) => {
        response.setHeader('content-length', 2 * part.length); // in chunks: socket-tap.test.ts
        response.write(part);
        setImmediate(() => response.end(part));
      });
      const answer = await transport.request({ method: 'GET', path: '/', transient });
      const chunks: Uint8Array[] = [];
      let sum = 0;
      for await (const chunk of answer.body) {
        chunks.push(chunk);
        sum += chunk.length;
      }
      expect(sum).toBe(2 * part.length);
      const left = chunks.reduce((bytes, chunk) => bytes + chunk.length, 0);
      if (transient) expect(left).toBeLessThan(sum);
      else expect(left).toBe(sum);
    },
  );
});
