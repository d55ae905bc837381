/**
 * Bodies that bypass Node's parser: the bytes are the same, however they are chunked and wherever
 * the kernel cuts them, and the connection stays as usable as with the parser.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import {
  type AddressInfo,
  connect,
  createServer,
  type OnReadOpts,
  type Server,
  Socket,
} from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import type { TransportResponse } from 'capstan/cache';
import { httpTransport } from 'capstan/client-node';
import { describe, expect, onTestFinished, test } from 'vitest';
import { macrotask } from '../../bindings/base/clock.ts';
import { SocketTap } from '../../bindings/client-node/socket-tap.ts';
import { authority, certificate } from '../helpers/http-servers.ts';
import { Random, testSeed } from '../helpers/random.ts';

const seed = testSeed();
console.log(`test/client-node/socket-tap.test.ts: CAPSTAN_SEED=${seed}`);

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n';
const END = '0\r\n\r\n';
const chunk = (text: string, size = text.length.toString(16)): string => `${size}\r\n${text}\r\n`;
const latin1 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');

/** An unconnected socket into which the test reads as Node would. */
async function tapped(take: (piece: Uint8Array) => boolean = () => true) {
  let onread = {} as OnReadOpts;
  const socket = SocketTap.on((options) => {
    onread = options.onread as OnReadOpts;
    return new Socket();
  });
  const nextBuffer = onread.buffer as () => Uint8Array;
  const tap = SocketTap.of(socket) as SocketTap;
  let buffer = nextBuffer();
  let node = '';
  let pieces = '';
  let isTaken: boolean | undefined;
  socket.on('error', () => undefined);
  socket.on('data', (bytes: Uint8Array) => {
    node += latin1(bytes);
    if (isTaken !== undefined || !/HTTP\/1.1 200.*\r\n\r\n/s.test(node)) return;
    isTaken = tap.take((piece) => {
      pieces += latin1(piece);
      const more = take(piece);
      tap.giveBack(piece);
      return more;
    });
  });
  tap.expect();
  await macrotask(); // a new stream reports nothing at once
  return {
    socket,
    tap,
    /** The result of Node's callback: whether it continues to read. */
    read(text: string): boolean {
      buffer.set(Buffer.from(text, 'latin1'));
      const goOn = onread.callback(text.length, buffer as Buffer);
      buffer = nextBuffer();
      return goOn !== false;
    },
    node: () => node,
    pieces: () => pieces,
    isTaken: () => isTaken,
  };
}

describe("the parser's bytes and the reader's bytes", () => {
  const body = `${chunk('one')}${chunk('0123456789abcdef')}${chunk('x'.repeat(171), 'Ab')}${chunk('\r\n0\r\n\r\n', '0007')}`;
  const expected = `one0123456789abcdef${'x'.repeat(171)}\r\n0\r\n\r\n`;
  const answer = HEAD + body + END;

  test('wherever the bytes are cut in two', async () => {
    for (let cut = 1; cut < answer.length; cut++) {
      const { read, node, pieces, isTaken } = await tapped();
      read(answer.slice(0, cut));
      read(answer.slice(cut));
      expect([cut, isTaken(), pieces(), node()]).toEqual([cut, true, expected, HEAD + END]);
    }
  });

  test('byte by byte', async () => {
    const { read, node, pieces } = await tapped();
    for (const byte of answer) read(byte);
    expect([pieces(), node()]).toEqual([expected, HEAD + END]);
  });

  test('after an informational response, 103', async () => {
    const early = 'HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n';
    for (let cut = 1; cut < early.length + 40; cut++) {
      const { read, node, pieces } = await tapped();
      const all = early + answer;
      read(all.slice(0, cut));
      read(all.slice(cut));
      expect([cut, pieces(), node()]).toEqual([cut, expected, early + HEAD + END]);
    }
  });

  test.each([
    ['trailers', `${chunk('one')}0\r\nDigest: abc\r\n\r\n`, 'one', '0\r\nDigest: abc\r\n\r\n'],
    ['an extension', `${chunk('one')}3;a="b"\r\ntwo\r\n${END}`, 'one', `3;a="b"\r\ntwo\r\n${END}`],
    ['a size of no digits', `${chunk('one')}\r\ntwo\r\n`, 'one', '\r\ntwo\r\n'],
    ['a size that is none', `${chunk('one')}fg\r\ntwo\r\n`, 'one', 'fg\r\ntwo\r\n'],
    ['a size that is not ended', `${chunk('one')}3\rxtwo\r\n`, 'one', '3\rxtwo\r\n'],
    ['a size of many digits', `${chunk('one')}123456789a\r\n`, 'one', '123456789a\r\n'],
    [
      'what follows the end',
      `${chunk('one')}${END}HTTP/1.1 200 OK\r\n`,
      'one',
      `${END}HTTP/1.1 200 OK\r\n`,
    ],
  ])('continue with the parser from %s on', async (_, text, first, rest) => {
    for (let cut = 1; cut < text.length; cut++) {
      const { read, node, pieces } = await tapped();
      read(HEAD + text.slice(0, cut));
      read(text.slice(cut));
      expect([cut, pieces(), node()]).toEqual([cut, first, HEAD + rest]);
    }
  });

  test("data beyond the chunk's size end the connection", async () => {
    for (const text of ['3\r\nonetwo\r\n', '3\r\none\rtwo', '3\r\nonex\n']) {
      const { read, node, pieces, socket } = await tapped();
      expect(read(HEAD + text)).toBe(false);
      expect([pieces(), node(), socket.destroyed]).toEqual(['one', HEAD, true]);
      expect(socket.errored?.message).toMatch(/longer than its size/);
      expect(read(`${chunk('more')}${END}`)).toBe(false);
      expect(node()).toBe(HEAD);
    }
  });

  test('a head whose lines end in LF alone is left to the parser', async () => {
    const head = HEAD.replaceAll('\r\n', '\n');
    const { read, node, pieces, isTaken } = await tapped();
    read(head + chunk('\r\n\r\n') + chunk('HTTP/1.1 200 \r\n\r\n'));
    expect([isTaken() ?? false, pieces(), node()]).toEqual([
      false,
      '',
      head + chunk('\r\n\r\n') + chunk('HTTP/1.1 200 \r\n\r\n'),
    ]);
  });

  test('after a head with another CR before its end', async () => {
    const head = HEAD.replace('chunked', 'chunked\r');
    const { read, node, pieces } = await tapped();
    read(head + chunk('one') + END);
    expect([pieces(), node()]).toEqual(['one', head + END]);
  });

  test('a short piece does not block its buffer', async () => {
    const lengths: number[] = [];
    const { read } = await tapped(({ buffer }) => lengths.push(buffer.byteLength) > 0);
    read(HEAD);
    read(chunk('x'.repeat(4095)));
    read(chunk('x'.repeat(4096)));
    expect([lengths[0] === 65_536, lengths[1]]).toEqual([false, 65_536]);
  });

  test('a full reader pauses the socket', async () => {
    let more = false;
    const { read } = await tapped(() => more);
    expect(read(HEAD)).toBe(true);
    expect(read(chunk('one'))).toBe(false);
    more = true;
    expect(read(chunk('two'))).toBe(true);
  });

  test('a body that is left to the parser is not touched', async () => {
    const { read, node, pieces, socket, tap } = await tapped();
    socket.removeAllListeners('data');
    let seen = '';
    socket.on('data', (bytes: Uint8Array) => {
      seen += latin1(bytes);
      tap.leave();
    });
    read(answer.slice(0, 100));
    read(answer.slice(100));
    expect([seen, node(), pieces()]).toEqual([answer, '', '']);
  });

  test('a head that the parser has not read yet keeps its body there', async () => {
    const { read, node, isTaken, pieces, socket } = await tapped();
    socket.pause();
    read(HEAD + chunk('one'));
    read(chunk('two'));
    expect(isTaken()).toBeUndefined();
    for (let bytes = socket.read(); bytes !== null; bytes = socket.read());
    expect([isTaken(), node(), pieces()]).toEqual([false, HEAD + chunk('one') + chunk('two'), '']);
  });
});

/** A server that sends what the test says, and counts connections. */
async function raw(listener: (socket: Socket, request: number) => void, tls?: object) {
  let connections = 0;
  let requests = 0;
  const onConnection = (socket: Socket): void => {
    connections++;
    socket.setNoDelay(true);
    socket.on('error', () => undefined);
    socket.on('data', () => listener(socket, requests++));
  };
  const server: Server =
    tls === undefined ? createServer(onConnection) : createTlsServer(tls, onConnection);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const url = new URL(`${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`);
  const transport = httpTransport(
    url.origin,
    tls === undefined ? {} : { tls: { rejectUnauthorized: false }, http2: false },
  );
  onTestFinished(async () => {
    await transport.close?.();
    server.close();
  });
  const get = (signal?: AbortSignal) =>
    transport.request({ method: 'GET', path: '/', transient: true, signal });
  return { url, get, connections: () => connections };
}

async function textOf({ body }: TransportResponse): Promise<string> {
  let text = '';
  for await (const piece of body) text += latin1(piece);
  return text;
}

describe('over a connection', () => {
  test('that serves the next request too, whatever its answer', async () => {
    const plain = 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nplain';
    const { get, connections } = await raw((socket, request) => {
      if (request % 2 === 1) socket.write(plain);
      else
        socket.write(
          'HTTP/1.1 103 Early ' +
            `Hints\r\n\r\n${HEAD}${chunk('first')}${chunk('second')}0\r\nTrailer: ` +
            '1\r\n\r\n',
        );
    });
    for (let i = 0; i < 6; i++)
      expect(await textOf(await get())).toBe(i % 2 === 1 ? 'plain' : 'firstsecond');
    expect(connections()).toBe(1);
  });

  test('to the second address of a server that does not listen on its first', async () => {
    // Node then creates the handle again, and asks again for a buffer: without one, the bytes were
    // lost.
    const { url } = await raw((socket) => socket.write(HEAD + chunk('one') + END));
    const addresses = [
      { address: '::1', family: 6 },
      { address: '127.0.0.1', family: 4 },
    ];
    const socket = SocketTap.on((onread) =>
      connect({
        ...onread,
        host: 'two.test',
        port: Number(url.port),
        autoSelectFamily: true,
        lookup: (_, __, callback) => callback(null, addresses),
      }),
    );
    let text = '';
    socket.on('data', (bytes: Uint8Array) => {
      text += latin1(bytes);
      if (text.endsWith(END)) socket.destroy();
    });
    socket.write('GET / HTTP/1.1\r\n\r\n');
    await once(socket, 'close');
    expect(text).toBe(HEAD + chunk('one') + END);
  });

  test.each([
    ['cut in the middle of a chunk', '5\r\nsec', true],
    ['cut between two chunks', '', true],
    ['cut before its last line', '0\r\n', true],
    ['with a size that is none', 'zz\r\nsecond\r\n', false],
    ['with data that are longer than their size', '3\r\nsecond\r\n', false],
  ])('a body %s is reported as lost, after all of its bytes', async (_, rest, cut) => {
    const { get } = await raw((socket) => {
      socket.write(HEAD + chunk('first') + rest);
      if (cut) setImmediate(() => socket.end());
    });
    const { body } = await get();
    let text = '';
    const reading = (async () => {
      for await (const piece of body) text += latin1(piece);
    })();
    await expect(reading).rejects.toMatchObject({ code: 'TRANSPORT', kind: 'reset' });
    expect(text).toMatch(/^first/);
    expect('firstsecond').toContain(text);
  });

  test('an abort ends it', async () => {
    const { get } = await raw((socket) => socket.write(HEAD + chunk('first')));
    const abort = new AbortController();
    const { body } = await get(abort.signal);
    const reader = body[Symbol.asyncIterator]();
    expect(latin1((await reader.next()).value)).toBe('first');
    const next = reader.next();
    abort.abort();
    await expect(next).rejects.toMatchObject({ kind: 'aborted' });
  });

  test('a slow reader pauses the sender, and its chunks stay unchanged', async () => {
    const size = 24 * 1024 * 1024;
    const data = Buffer.alloc(size);
    for (let i = 0; i < size; i++) data[i] = (i * 7 + (i >>> 8)) & 0xff;
    let server: Socket | undefined;
    const { get } = await raw((socket) => {
      server = socket;
      socket.write(HEAD);
      for (let at = 0; at < size; at += 100_000) {
        const part = data.subarray(at, at + 100_000);
        socket.write(`${part.length.toString(16)}\r\n`);
        socket.write(part);
        socket.write('\r\n');
      }
      socket.write(END);
    });
    const { body } = await get();
    let at = 0;
    let reads = 0;
    const buffers = new Set<ArrayBufferLike>();
    for await (const piece of body) {
      // As much as the kernel's buffers hold, and no more: Node's own are at the other end.
      if (reads === 0) for (let i = 0; i < 50; i++) await macrotask();
      if (reads === 0) expect(server?.writableLength).toBeGreaterThan(size / 4);
      if (reads++ % 16 === 0) await macrotask();
      if (piece.length >= 4096) buffers.add(piece.buffer); // shorter ones are copies
      expect(
        Buffer.compare(piece, data.subarray(at, at + piece.length)),
        `bytes from ${at} on`,
      ).toBe(0);
      at += piece.length;
    }
    expect(at).toBe(size);
    expect(reads).toBeGreaterThan(300);
    expect(buffers.size).toBeLessThan(reads / 8);
  });

  test('a body that waits for its reader holds one buffer, not one for each read', async () => {
    const event = 'x'.repeat(5000);
    const clients: Socket[] = [];
    const onClient = (message: unknown) => clients.push((message as { socket: Socket }).socket);
    subscribe('net.client.socket', onClient);
    onTestFinished(() => void unsubscribe('net.client.socket', onClient));
    const bytesRead = (): number => clients[0]?.bytesRead ?? 0;
    const answered = Promise.withResolvers<void>();
    const written = Promise.withResolvers<void>();
    const first = HEAD + chunk(event);
    const { get } = await raw(async (socket) => {
      const write = (text: string) => new Promise((resolve) => socket.write(text, resolve));
      socket.write(HEAD);
      await answered.promise; // in the turn of the head, the stream may read once more
      socket.write(chunk(event));
      while (bytesRead() < first.length) await macrotask();
      for (let i = 1; i < 20; i++) await write(chunk(event));
      await write(END);
      written.resolve();
    });
    const { body } = await get();
    await macrotask();
    answered.resolve();
    await written.promise;
    // After an exchange on another connection, the kernel has delivered the bytes of this one.
    const other = await raw((socket) => socket.write(HEAD + chunk('other') + END));
    expect(await textOf(await other.get())).toBe('other');
    expect(bytesRead()).toBe(first.length);
    expect((await textOf({ body } as TransportResponse)).length).toBe(20 * event.length);
  });

  test('random chunks in random writes arrive unchanged, with and without TLS', async () => {
    const random = new Random(seed);
    const authorityOf = await authority();
    const tls = await certificate(authorityOf, '127.0.0.1');
    for (const secure of [undefined, tls]) {
      let sent = '';
      const { get, connections } = await raw((socket) => {
        let text = HEAD;
        for (let i = random.int(200); i >= 0; i--) {
          const data = String.fromCharCode(33 + random.int(90)).repeat(
            1 + random.int(random.chance(0.05) ? 90_000 : 300),
          );
          sent += data;
          text += chunk(data);
          if (!random.chance(0.005)) continue;
          sent += 'ext!';
          text += chunk('ext!', '4;x=y');
        }
        text += END;
        const write = (): void => {
          const length = 1 + random.int(random.chance(0.5) ? 40 : 80_000);
          socket.write(text.slice(0, length), 'latin1');
          text = text.slice(length);
          if (text !== '') setImmediate(write);
        };
        write();
      }, secure);
      for (let i = 0; i < 40; i++) {
        sent = '';
        const got = await textOf(await get());
        expect(got === sent, `seed ${seed}, body ${i}: ${got.length} of ${sent.length} bytes`).toBe(
          true,
        );
      }
      expect(connections()).toBe(1);
    }
  });
});
