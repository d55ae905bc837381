/** Lists that come compressed by gzip: who asks for it, what arrives, what a broken one does. */
import type { IncomingHttpHeaders } from 'node:http';
import { gzipSync } from 'node:zlib';
import {
  fetchTransport,
  ListWatch,
  type ListWatchOptions,
  list,
  SharedIndexInformer,
  type Transport,
  type TransportRequest,
  waitForCacheSync,
} from 'capstan/cache';
import { httpTransport } from 'capstan/client-node';
import { describe, expect, test } from 'vitest';
import { isOnThisMachine } from '../../bindings/base/urls.ts';
import { serve } from '../helpers/http-servers.ts';
import { type ConfigMap, ConfigMaps, configMap } from '../helpers/resources.ts';
import { cleanups, http2Transport, startServer } from './http2-transports.ts';

interface Reply {
  encoding?: 'gzip' | undefined;
  pieces: readonly Uint8Array[];
  /** The body does not end. */
  open?: boolean;
}
interface Asked {
  headers: IncomingHttpHeaders;
  url: string;
}
/** Answers each request. */
type Serve = (asked: Asked) => Reply;

interface Writable {
  write(bytes: Uint8Array): boolean;
  end(): unknown;
  once(event: 'drain', run: () => void): unknown;
}

/** Waits for the reader, so that a body that nobody reads is not held here. */
function send(pieces: readonly Uint8Array[], open: boolean, body: Writable, at = 0): void {
  for (let i = at; i < pieces.length; i++) {
    if (body.write(pieces[i] as Uint8Array)) continue;
    body.once('drain', () => send(pieces, open, body, i + 1));
    return;
  }
  if (!open) body.end();
}

const headersOf = ({ encoding }: Reply): Record<string, string> => ({
  'content-type': 'application/json',
  ...(encoding && { 'content-encoding': encoding }),
});

async function plainServer(answer: Serve): Promise<string> {
  const { url, stop } = await serve((request, response) => {
    const reply = answer({ headers: request.headers, url: request.url ?? '' });
    response.writeHead(200, headersOf(reply));
    send(reply.pieces, reply.open ?? false, response);
  });
  cleanups.push(stop);
  return url;
}

function kept(transport: Transport): Transport {
  cleanups.push(async () => transport.close?.());
  return transport;
}

const transports = {
  'HTTP/1.1': async (answer: Serve) => kept(httpTransport(await plainServer(answer))),
  async 'HTTP/2'(answer: Serve) {
    const server = await startServer((request, response) => {
      const reply = answer({ headers: request.headers, url: request.url });
      response.writeHead(200, headersOf(reply));
      send(reply.pieces, reply.open ?? false, response.stream);
    });
    return http2Transport(server.url);
  },
  fetch: async (answer: Serve) => kept(fetchTransport(await plainServer(answer))),
};

const objects = Array.from({ length: 300 }, (_, i) =>
  configMap(`c${i}`, { v: `${i}` }, { resourceVersion: '1' }),
);
const body = Buffer.from(
  JSON.stringify({
    kind: 'ConfigMapList',
    apiVersion: 'v1',
    metadata: { resourceVersion: '7' },
    items: objects,
  }),
);
const inPieces = (bytes: Uint8Array): Uint8Array[] =>
  [0, 1, 2, 3].map((i) => bytes.subarray((bytes.length * i) >> 2, (bytes.length * (i + 1)) >> 2));
const zipped: Reply = { encoding: 'gzip', pieces: inPieces(gzipSync(body)) };
const plain: Reply = { pieces: [body] };

const names = (items: readonly ConfigMap[]) => items.map(({ metadata }) => metadata.name).sort();

describe.each(Object.entries(transports))('over %s', (name, start) => {
  test('a list is asked for as gzip and a watch is not; the cache has all objects', async () => {
    const asked: Asked[] = [];
    const transport = await start((one) => {
      asked.push(one);
      return one.url.includes('watch=true') ? { pieces: [], open: true } : zipped;
    });
    const informer = new SharedIndexInformer(
      new ListWatch(transport, ConfigMaps, { compression: 'gzip' }),
    );
    const abort = new AbortController();
    const running = informer.run({ signal: abort.signal });
    await waitForCacheSync({ signal: AbortSignal.timeout(10_000) }, informer);
    await expect.poll(() => asked.length).toBe(2);
    expect(names(informer.getIndexer().list())).toEqual(names(objects));
    expect(asked.map(({ headers }) => headers['accept-encoding'])).toEqual([
      name === 'fetch' ? expect.stringContaining('gzip') : 'gzip',
      'identity',
    ]);
    abort.abort();
    await running;
  });

  test('a server that does not compress, or was not asked to, is read as it is', async () => {
    const asked: Asked[] = [];
    const transport = await start((one) => {
      asked.push(one);
      return plain;
    });
    for (const compression of ['gzip', 'identity', 'auto'] as const)
      expect((await list(transport, ConfigMaps, { compression })).items).toHaveLength(300);
    // the server of this test is on loopback
    expect(asked.slice(1).map(({ headers }) => headers['accept-encoding'])).toEqual([
      'identity',
      'identity',
    ]);
  });

  test('a gzip stream that ends early is an error, wherever it ends', async () => {
    const bytes = gzipSync(body);
    // Node's fetch lets the end be missing; what is missing of a list, its decoder finds.
    const last = name === 'fetch' ? [] : [9, 8, 1].map((missing) => bytes.length - missing);
    for (const length of [1, 9, 10, bytes.length >> 1, ...last]) {
      const transport = await start(() => ({
        encoding: 'gzip',
        pieces: [bytes.subarray(0, length)],
      }));
      await expect(list(transport, ConfigMaps, { compression: 'gzip' })).rejects.toMatchObject({
        code: name === 'fetch' ? expect.stringMatching(/^(TRANSPORT|DECODE)$/) : 'DECODE',
      });
    }
  });

  test('what a list is long is counted when it is decompressed', async () => {
    const transport = await start(() => zipped);
    const read = (maxListBytes: number) =>
      list(transport, ConfigMaps, { compression: 'gzip', maxListBytes });
    expect((await read(body.length)).items).toHaveLength(300);
    await expect(read(body.length - 1)).rejects.toMatchObject({ code: 'TOO_LARGE' });
  });
});

describe.each(Object.entries(transports).filter(([name]) => name !== 'fetch'))(
  'a body that grows a thousand times, over %s',
  (_, start) => {
    test('ends with TOO_LARGE after 32 MiB', async () => {
      const blanks = gzipSync(Buffer.alloc(4 << 20, ' '));
      const transport = await start(() => ({
        encoding: 'gzip',
        pieces: new Array(1000).fill(blanks), // 4 GB
      }));
      const error = await list(transport, ConfigMaps, { compression: 'gzip' }).catch(
        (thrown: unknown) => thrown,
      );
      expect(error).toMatchObject({
        code: 'TOO_LARGE',
        message: expect.stringMatching(/longer than 335\d{5} bytes: .*less than one part in 250/),
      });
    });
  },
);

test('a shorter body may grow as it likes', async () => {
  const items = [configMap('big', { v: 'x'.repeat(16 << 20) })];
  const text = JSON.stringify({ kind: 'ConfigMapList', apiVersion: 'v1', metadata: {}, items });
  const transport = await transports['HTTP/1.1'](() => ({
    encoding: 'gzip',
    pieces: [gzipSync(text)],
  }));
  expect((await list(transport, ConfigMaps, { compression: 'gzip' })).items).toHaveLength(1);
});

describe('auto', () => {
  /** A transport that notes what it is asked for, and answers lists by turns. */
  function noting(...answers: readonly (() => Reply)[]): {
    transport: Transport;
    asked: TransportRequest['compression'][];
  } {
    const asked: TransportRequest['compression'][] = [];
    const left = [...answers];
    return {
      asked,
      transport: {
        async request({ compression }) {
          asked.push(compression);
          const { pieces } = (left.shift() ?? (() => plain))();
          return {
            status: 200,
            headers: new Headers(),
            body: (async function* () {
              yield* pieces;
            })(),
          };
        },
      },
    };
  }

  const compressionOf = async (options: ListWatchOptions) => {
    const { transport, asked } = noting();
    await list(transport, ConfigMaps, options);
    return asked;
  };

  test('is the default, and the transport decides by the address of the server', async () => {
    expect(await compressionOf({})).toEqual(['auto']);
    expect(await compressionOf({ compression: 'gzip' })).toEqual(['gzip']);
    expect(await compressionOf({ compression: 'identity' })).toEqual([undefined]);
  });

  test.each([
    ['https://10.0.0.1:6443', null],
    ['https://localhost.example.com', null],
    ['http://localhost:8001', 'identity'],
    ['http://127.0.0.2:8001/prefix', 'identity'],
    ['http://[::1]:8001', 'identity'],
  ])('over fetch, %s is asked with accept-encoding %s', async (server, expected) => {
    const sent: Headers[] = [];
    const transport = fetchTransport(server, {
      fetch: async (_, init) => {
        sent.push(new Headers(init?.headers));
        return new Response(body);
      },
    });
    await list(transport, ConfigMaps);
    expect(sent.map((headers) => headers.get('accept-encoding'))).toEqual([expected]);
  });

  test.each([
    ['https://LOCALHOST.:1', true],
    ['https://api.localhost', true],
    ['https://[::ffff:127.1.2.3]', true],
    ['https://127.1', true],
    ['https://[::ffff:10.0.0.1]', false],
    ['https://128.0.0.1', false],
    ['https://notlocalhost', false],
    ['https://127.0.0.1.example.com', false],
  ])('%s is on this machine: %s', (url, expected) => {
    expect(isOnThisMachine(new URL(url))).toBe(expected);
  });

  test('asks for uncompressed lists after one that could not be decoded', async () => {
    const broken = (): Reply => ({ pieces: [Buffer.from('{"kind":')] });
    const listWatch = (compression: 'auto' | 'gzip') => {
      const { transport, asked } = noting(broken);
      const one = new ListWatch<ConfigMap>(transport, ConfigMaps, { compression });
      const query = { resourceVersion: '', limit: 0, continue: '' };
      const caller = {
        clock: { now: () => 0, setTimer: () => undefined, clearTimer: () => undefined },
        signal: new AbortController().signal,
      };
      return { asked, get: () => one.list(query, caller) };
    };
    for (const [compression, then] of [
      ['auto', undefined],
      ['gzip', 'gzip'],
    ] as const) {
      const { asked, get } = listWatch(compression);
      await expect(get()).rejects.toMatchObject({ code: 'DECODE' });
      expect((await get()).items).toHaveLength(300);
      expect(asked).toEqual([compression, then]);
    }
  });

  test('another value is refused', () => {
    expect(
      () => new ListWatch(noting().transport, ConfigMaps, { compression: 'br' as never }),
    ).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        message: expect.stringContaining("'auto', 'gzip' or 'identity'"),
      }),
    );
  });
});
