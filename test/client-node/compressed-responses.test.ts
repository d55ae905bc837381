/**
 * Compressed answers although identity was requested. kube-apiserver (1.37) ends a gzip member at
 * each flush of a compressed watch, and readers that stop after the first member silently lose
 * every later event.
 */
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { type Transport, TransportError } from 'capstan/cache';
import { httpTransport } from 'capstan/client-node';
import { describe, expect, test } from 'vitest';
import { macrotask } from '../../bindings/base/clock.ts';
import { bodyText, serve } from '../helpers/http-servers.ts';
import { cleanups, http2Transport, startServer } from './http2-transports.ts';

/** What the listeners of both versions have in common. */
interface Answer {
  writeHead(status: number, headers: Record<string, string>): unknown;
  write(bytes: Uint8Array, sent?: () => void): unknown;
  end(): unknown;
}
type Listener = (request: unknown, answer: Answer) => void;

const versions = {
  async 'HTTP/1.1'(listener: Listener): Promise<Transport> {
    const { url, stop } = await serve(listener);
    const transport = httpTransport(url);
    cleanups.push(stop, async () => transport.close?.());
    return transport;
  },
  async 'HTTP/2'(listener: Listener): Promise<Transport> {
    const server = await startServer((request, response) =>
      listener(request, {
        writeHead: (status, headers) => response.writeHead(status, headers),
        write: (bytes, sent) => response.stream.write(bytes, sent),
        end: () => response.stream.end(),
      }),
    );
    return http2Transport(server.url);
  },
};

const LINES = ['{"type":"ADDED"}\n', '{"type":"MODIFIED","é":"…"}\n', '{"type":"DELETED"}\n'];
const members = LINES.map((line) => gzipSync(line));
const get = (transport: Transport, signal?: AbortSignal) =>
  transport.request({ method: 'GET', path: '/', signal });

describe.each(Object.entries(versions))('over %s', (_, start) => {
  test('gzip with several members is read to its end, wherever the network cuts it', async () => {
    const bytes = Buffer.concat(members);
    for (let cut = 1; cut < bytes.length; cut++) {
      const transport = await start((_, answer) => {
        answer.writeHead(200, { 'content-encoding': 'gzip' });
        answer.write(bytes.subarray(0, cut), () => {
          answer.write(bytes.subarray(cut));
          answer.end();
        });
      });
      expect(await bodyText((await get(transport)).body)).toBe(LINES.join(''));
    }
  });

  test('each member of a watch arrives when it is flushed', async () => {
    const flush: ((bytes: Uint8Array) => void)[] = [];
    const transport = await start((_, answer) => {
      answer.writeHead(200, { 'content-encoding': 'gzip' });
      answer.write(members[0]!);
      flush.push((bytes) => answer.write(bytes));
    });
    const controller = new AbortController();
    const reader = (await get(transport, controller.signal)).body[Symbol.asyncIterator]();
    for (const [i, line] of LINES.entries()) {
      if (i > 0) flush[0]?.(members[i]!);
      expect(Buffer.from((await reader.next()).value ?? []).toString()).toBe(line);
    }
    const next = reader.next().catch((error: unknown) => error);
    controller.abort();
    expect(await next).toMatchObject({ kind: 'aborted' });
  });

  test('another encoding than gzip is an error that names it', async () => {
    const transport = await start((_, answer) => {
      answer.writeHead(200, { 'content-encoding': 'br' });
      answer.write(brotliCompressSync('{}'));
      answer.end();
    });
    await expect(get(transport)).rejects.toMatchObject({
      code: 'DECODE',
      message: expect.stringContaining('"br"'),
    });
  });

  test('corrupt or truncated gzip is an error, not an end', async () => {
    for (const bytes of [Buffer.from('{"type":"ADDED"}\n'), members[0]!.subarray(0, -4)]) {
      const transport = await start((_, answer) => {
        answer.writeHead(200, { 'content-encoding': 'gzip' });
        answer.write(bytes);
        answer.end();
      });
      const { body } = await get(transport);
      await expect(bodyText(body)).rejects.toMatchObject({
        code: 'DECODE',
        message: expect.stringContaining('gzip'),
      });
    }
  });

  test('a connection lost between two members is a reset', async () => {
    const closed = Promise.withResolvers<void>();
    const transport = await start((request, answer) => {
      (request as { once(event: 'close', run: () => void): void }).once('close', closed.resolve);
      answer.writeHead(200, { 'content-encoding': 'gzip' });
      answer.write(members[0]!);
    });
    for await (const _ of (await get(transport)).body) break;
    await closed.promise;
    const reader = (await get(transport)).body[Symbol.asyncIterator]();
    await reader.next();
    const next = reader.next().catch((error: unknown) => error);
    await transport.close?.();
    expect(await next).toBeInstanceOf(TransportError);
    expect(await next).toMatchObject({ kind: 'reset' });
  });
});

test('an abort before the first read of a compressed answer ends the exchange', async () => {
  // Story: the error of the body was emitted on a decompressor without a listener, which ended the
  // process.
  const uncaught: unknown[] = [];
  const others = process.listeners('uncaughtException');
  process.removeAllListeners('uncaughtException');
  process.on('uncaughtException', (error) => uncaught.push(error));
  try {
    const transport = await versions['HTTP/1.1']((_, answer) => {
      answer.writeHead(200, { 'content-encoding': 'gzip' });
      answer.write(gzipSync('x'.repeat(100)));
    });
    const abort = new AbortController();
    const { body } = await get(transport, abort.signal);
    abort.abort();
    for (let i = 0; i < 20; i++) await macrotask();
    await expect(body[Symbol.asyncIterator]().next()).rejects.toMatchObject({ kind: 'aborted' });
    expect(uncaught).toEqual([]);
  } finally {
    process.removeAllListeners('uncaughtException');
    for (const listener of others) process.on('uncaughtException', listener);
  }
});
