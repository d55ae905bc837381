import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import {
  defineResource,
  fetchTransport,
  ListWatch,
  SharedIndexInformer,
  TransportError,
  waitForCacheSync,
} from 'capstan/cache';
import { afterEach, describe, expect, test } from 'vitest';
import { kindOfHostError } from '../../../bindings/cache/rest/transport.ts';

const open: { server: Server; sockets: Set<Socket> }[] = [];

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => sockets.add(socket));
  open.push({ server, sockets });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

afterEach(async () => {
  for (const { server, sockets } of open.splice(0)) {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
});

async function read(body: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of body) text += decoder.decode(chunk, { stream: true });
  return text;
}

const failure = (kind: string) =>
  expect.objectContaining({ name: 'TransportError', code: 'TRANSPORT', kind });

describe('fetchTransport', () => {
  test('sends a request, and gives status, headers and bytes', async () => {
    const url = await serve(async (request, response) => {
      const { method, url: path, headers } = request;
      response.writeHead(201, { 'x-answer': 'yes' });
      const body = await read(request);
      response.end(
        JSON.stringify({ method, path, auth: headers.authorization, accept: headers.accept, body }),
      );
    });
    const transport = fetchTransport(`${url}/prefix/`, {
      headers: { authorization: 'Bearer t', Accept: 'a/b' },
    });
    const response = await transport.request({
      method: 'POST',
      path: '/api/v1/pods',
      query: { labelSelector: 'a in (b,c)', x: 'é' },
      headers: { accept: 'application/json' },
      body: '{"é":1}',
    });
    expect(response.status).toBe(201);
    expect(response.headers.get('X-Answer')).toBe('yes');
    expect(JSON.parse(await read(response.body))).toEqual({
      method: 'POST',
      path: '/prefix/api/v1/pods?labelSelector=a+in+%28b%2Cc%29&x=%C3%A9',
      auth: 'Bearer t',
      accept: 'application/json',
      body: '{"é":1}',
    });
  });

  test('gives bytes as they arrive, and closes the connection when the reader leaves', async () => {
    let closed: (() => void) | undefined;
    const gone = new Promise<void>((resolve) => {
      closed = resolve;
    });
    const url = await serve((_, response) => {
      response.on('close', () => closed?.());
      response.write('first');
    });
    const { body } = await fetchTransport(url).request({ method: 'GET', path: '/' });
    for await (const chunk of body) {
      expect(new TextDecoder().decode(chunk)).toBe('first');
      break;
    }
    await gone;
  });

  test('reports a refused connection', async () => {
    const url = await serve(() => undefined);
    await new Promise((resolve) => open.pop()?.server.close(resolve));
    await expect(fetchTransport(url).request({ method: 'GET', path: '/' })).rejects.toEqual(
      failure('refused'),
    );
  });

  test('reports a connection that ends before or during the answer', async () => {
    const url = await serve((request, response) => {
      if (request.url === '/before') {
        request.socket.destroy();
        return;
      }
      response.writeHead(200, { 'content-length': '100' });
      response.write('half', () => request.socket.destroy());
    });
    const transport = fetchTransport(url);
    await expect(transport.request({ method: 'GET', path: '/before' })).rejects.toEqual(
      failure('reset'),
    );
    const { body } = await transport.request({ method: 'GET', path: '/within' });
    await expect(read(body)).rejects.toEqual(failure('reset'));
  });

  test('ends with the signal, before and during the answer', async () => {
    const url = await serve((request, response) => {
      if (request.url === '/within') response.write('first');
    });
    const transport = fetchTransport(url);
    const before = new AbortController();
    const pending = transport.request({ method: 'GET', path: '/before', signal: before.signal });
    before.abort();
    await expect(pending).rejects.toEqual(failure('aborted'));

    const within = new AbortController();
    const { body } = await transport.request({
      method: 'GET',
      path: '/within',
      signal: within.signal,
    });
    const reading = (async () => {
      for await (const _ of body) within.abort();
    })();
    await expect(reading).rejects.toEqual(failure('aborted'));
  });

  /**
   * A wrapper of `fetch` did not pass on the signal: a caller that aborted a request still waited
   * for the server, and a reader of a watch waited for ever.
   */
  test('ends with the signal over a fetch that ignores it', async () => {
    const cancelled: string[] = [];
    let answer = (_response: Response): void => undefined;
    const bodyOf = (name: string) =>
      new ReadableStream<Uint8Array>({
        start: (controller) => controller.enqueue(new Uint8Array(1)),
        cancel: () => void cancelled.push(name),
      });
    const transport = fetchTransport('http://example.test', {
      fetch: (url) =>
        String(url).endsWith('/before')
          ? new Promise<Response>((resolve) => {
              answer = resolve;
            })
          : Promise.resolve(new Response(bodyOf('within'))),
    });
    const before = new AbortController();
    const pending = transport.request({ method: 'GET', path: '/before', signal: before.signal });
    before.abort();
    await expect(pending).rejects.toEqual(failure('aborted'));
    answer(new Response(bodyOf('before')));
    await expect.poll(() => cancelled).toEqual(['before']);

    const within = new AbortController();
    const { body } = await transport.request({
      method: 'GET',
      path: '/within',
      signal: within.signal,
    });
    const reading = read(body);
    setImmediate(() => within.abort());
    await expect(reading).rejects.toEqual(failure('aborted'));
    expect(cancelled).toEqual(['before', 'within']);

    const unread = new AbortController();
    const late = await transport.request({ method: 'GET', path: '/within', signal: unread.signal });
    unread.abort();
    await expect(read(late.body)).rejects.toEqual(failure('aborted'));
  });

  test('reports an unknown error of fetch as kind unknown', async () => {
    const transport = fetchTransport('http://example.test', {
      fetch: () => Promise.reject(new TypeError('Failed to fetch')),
    });
    await expect(transport.request({ method: 'GET', path: '/' })).rejects.toEqual(
      failure('unknown'),
    );
  });

  test.each(['', 'not a url', 'ftp://host', 7 as unknown as string])(
    'refuses the server %j',
    (server) => {
      expect(() => fetchTransport(server)).toThrow(
        expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
      );
    },
  );

  test('carries an informer over a real connection', async () => {
    const pod = (name: string, version: string) => ({
      kind: 'Pod',
      apiVersion: 'v1',
      metadata: { name, namespace: 'ns', resourceVersion: version },
    });
    const url = await serve((request, response) => {
      if (request.url?.includes('watch=true')) {
        response.write(`${JSON.stringify({ type: 'ADDED', object: pod('b', '6') })}\n`);
        return;
      }
      response.end(
        JSON.stringify({
          kind: 'PodList',
          metadata: { resourceVersion: '5' },
          items: [pod('a', '5')],
        }),
      );
    });
    const Pods = defineResource<object>()({
      group: '',
      version: 'v1',
      kind: 'Pod',
      plural: 'pods',
      namespaced: true,
    });
    const informer = new SharedIndexInformer(new ListWatch(fetchTransport(url), Pods), {
      watchList: false,
    });
    const events = informer.events()[Symbol.asyncIterator]();
    const running = informer.run();
    expect(await waitForCacheSync({}, informer)).toBe(true);
    await events.next();
    await events.next();
    expect(informer.getIndexer().listKeys().sort()).toEqual(['ns/a', 'ns/b']);
    await informer.stop();
    await running;
  });
});

describe('the kind of a host error', () => {
  test.each([
    [Object.assign(new TypeError('fetch failed'), { cause: { code: 'ECONNREFUSED' } }), 'refused'],
    [Object.assign(new TypeError('fetch failed'), { cause: { code: 'UND_ERR_SOCKET' } }), 'reset'],
    [Object.assign(new Error('Unable to connect'), { code: 'ConnectionRefused' }), 'refused'],
    [
      new TypeError(
        'error sending request: client error (Connect): tcp connect error: Connection ' +
          'refused (os error 111)',
      ),
      'refused',
    ],
    [new TypeError('Failed to fetch'), undefined],
    ['text', undefined],
  ])('%s is %s', (error, kind) => {
    expect(kindOfHostError(error)).toBe(kind);
  });

  test('is the kind of the TransportError', () => {
    const cause = new Error('socket');
    const error = new TransportError('reset', 'lost', { cause });
    expect(error).toMatchObject({ code: 'TRANSPORT', kind: 'reset', cause });
  });
});
