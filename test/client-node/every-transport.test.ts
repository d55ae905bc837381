/**
 * The common behaviour of all transports to a server: over fetch, HTTP/1.1, HTTP/2 and by
 * kubeconfig.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { inspect } from 'node:util';
import { KubeConfig } from '@kubernetes/client-node';
import {
  defineResource,
  fetchTransport,
  ListWatch,
  resourceOf,
  SharedIndexInformer,
  type Transport,
} from 'capstan/cache';
import { newClient } from 'capstan/client';
import { httpTransport, kubeConfigTransport } from 'capstan/client-node';
import { FakeClock } from 'capstan/testing';
import { afterEach, describe, expect, test } from 'vitest';
import { macrotask, systemClock } from '../../bindings/base/clock.ts';
import { Exchange } from '../../bindings/cache/rest/exchange.ts';
import { bodyText, serve } from '../helpers/http-servers.ts';
import { configMap } from '../helpers/resources.ts';
import { ca, cleanups as fixtureCleanups, startServer as startH2 } from './http2-transports.ts';

type Listener = (request: IncomingMessage, response: ServerResponse) => void;
interface Options {
  headers?: Record<string, string>;
  /** `user:password` of the server's address. */
  user?: string;
}

const open: (() => Promise<unknown> | undefined)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

const withUser = (url: string, user?: string) =>
  user === undefined ? url : url.replace('//', `//${user}@`);

function kept(transport: Transport): Transport {
  open.push(() => transport.close?.());
  return transport;
}

async function plain(listener: Listener): Promise<string> {
  const server = await serve(listener);
  open.push(() => server.stop());
  return server.url;
}

async function byKubeConfig(url: string, { headers = {}, user }: Options): Promise<Transport> {
  const config = new KubeConfig();
  config.loadFromClusterAndUser(
    { name: 'c', server: withUser(url, user), skipTLSVerify: true },
    { name: 'u' },
  );
  const apply = config.applyToHTTPSOptions.bind(config);
  config.applyToHTTPSOptions = async (options) => {
    await apply(options);
    options.headers = { ...options.headers, ...headers };
  };
  return kubeConfigTransport(config);
}

/** A server with this listener, and a transport to it. */
const TRANSPORTS: [string, (listener: Listener, options?: Options) => Promise<Transport>][] = [
  [
    'fetchTransport',
    async (listener, { user, headers } = {}) =>
      kept(fetchTransport(withUser(await plain(listener), user), { headers })),
  ],
  [
    'httpTransport, HTTP/1.1',
    async (listener, { user, headers } = {}) =>
      kept(httpTransport(withUser(await plain(listener), user), { headers })),
  ],
  [
    'httpTransport, HTTP/2',
    async (listener, { user, headers } = {}) => {
      const { url } = await startH2(listener as never);
      open.push(...fixtureCleanups.splice(0));
      return kept(httpTransport(withUser(url, user), { headers, tls: { ca: ca.cert } }));
    },
  ],
  [
    'kubeConfigTransport',
    async (listener, options = {}) => kept(await byKubeConfig(await plain(listener), options)),
  ],
];

const ConfigMap = defineResource<ReturnType<typeof configMap>>()({
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
});
const key = { namespace: 'default', name: 'a' };

describe.each(TRANSPORTS)('%s', (_name, transportTo) => {
  // fetch followed redirects: an update with a Secret was sent to another host, and a create that
  // had become a GET was reported as done.
  test.each([301, 302, 303, 304, 307, 308])('follows no redirect: %i is an error', async (code) => {
    let others = 0;
    const other = await plain((_, response) => {
      others++;
      response.end(JSON.stringify(configMap('a')));
    });
    const transport = await transportTo((request, response) => {
      response.writeHead(code, { location: `${other}${request.url}` }).end();
    });
    const client = newClient({ transport });
    const failed = expect.objectContaining({
      code: 'STATUS',
      status: code,
      message: expect.stringContaining(code === 304 ? '304' : 'redirects are not followed'),
    });
    const whole = { ...configMap('a'), metadata: { ...configMap('a').metadata, ...key } };
    await expect(client.get(ConfigMap, key)).rejects.toEqual(failed);
    await expect(client.list(ConfigMap)).rejects.toEqual(failed);
    await expect(client.create(ConfigMap, whole)).rejects.toEqual(failed);
    await expect(client.update(ConfigMap, whole)).rejects.toEqual(failed);
    await expect(client.patch(ConfigMap, key, { type: 'merge', body: {} })).rejects.toEqual(failed);
    await expect(client.delete(ConfigMap, key)).rejects.toEqual(failed);
    await expect(
      resourceOf(transport, { group: '', version: 'v1', plural: 'configmaps' }),
    ).rejects.toEqual(failed);
    const told = Promise.withResolvers<unknown>();
    const stop = new AbortController();
    const informer = new SharedIndexInformer(new ListWatch(transport, ConfigMap), {
      watchErrorHandler: (error) => told.resolve(error),
    });
    const running = informer.run({ signal: stop.signal });
    expect(await told.promise).toEqual(failed);
    stop.abort();
    await running;
    expect(others).toBe(0);
  });

  // A watch whose connection was cut while its events were processed was never opened again.
  test.each(['ends', 'is cut'])('a body that %s while its reader is busy', async (how) => {
    const finish = Promise.withResolvers<void>();
    const closed = Promise.withResolvers<void>();
    const transport = await transportTo((_, response) => {
      response.on('close', () => closed.resolve()).on('error', () => undefined);
      response.write('a');
      // With an error, as HTTP/2 says NO_ERROR without one, which may be an end.
      const cut = () => response.destroy(new Error('cut'));
      void finish.promise.then(() => (how === 'ends' ? response.end() : cut()));
    });
    const request = { method: 'GET', path: '/' };
    const { signal } = new AbortController();
    const exchange = await Exchange.open(transport, request, { clock: systemClock, signal });
    expect(await exchange.ready()).toBe(true);
    expect(exchange.arrived()).toHaveLength(1);
    finish.resolve();
    await closed.promise;
    for (let turn = 0; turn < 20; turn++) await macrotask();
    expect(exchange.arrived()).toBeUndefined();
    expect(await exchange.ready()).toBe(false);
    if (how === 'ends') expect(exchange.failure).toBeUndefined();
    else expect(exchange.failure).toMatchObject({ code: 'TRANSPORT', kind: 'reset' });
    exchange.close();
  });

  test('sends user and password of the address as Basic authorization', async () => {
    const echo: Listener = (request, response) => response.end(request.headers.authorization);
    const get = async (options: Options) => {
      const transport = await transportTo(echo, options);
      return bodyText((await transport.request({ method: 'GET', path: '/' })).body);
    };
    const basic = (of: string) => `Basic ${Buffer.from(of).toString('base64')}`;
    expect(await get({ user: 'jane:p%40ss%C3%A9' })).toBe(basic('jane:p@ssé'));
    expect(await get({ user: 'jane' })).toBe(basic('jane:'));
    expect(await get({ user: 'jane:x', headers: { Authorization: 'Bearer t' } })).toBe('Bearer t');
  });

  // The error of a header that HTTP does not allow is Node's or undici's, which quotes the value.
  test.each(['\n', '\r\n', '\0', '\u007f', '\u2028', '\nand a second line'])(
    'rejects a token with %j, without quoting it',
    async (after) => {
      const secret = `very-secret${after}`;
      let requests = 0;
      const transport = await transportTo((_, response) => {
        requests++;
        response.end('{}');
      });
      const headers = { authorization: `Bearer ${secret}x` };
      const errors = [
        await transport.request({ method: 'GET', path: '/', headers }).catch((e: unknown) => e),
        await transportTo((_, response) => response.end(), { headers })
          .then((own) => own.request({ method: 'GET', path: '/' }))
          .catch((e: unknown) => e),
      ];
      for (const error of errors) {
        if (after === '\u2028' && !(error instanceof Error)) continue; // UTF-8 of a KubeConfig
        expect(error).toMatchObject({ code: expect.stringMatching(/^(INVALID_ARG|TRANSPORT)/) });
        expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('very-secret');
        expect(String((error as Error).message)).toContain('uthorization');
      }
      expect(requests).toBe(0);
    },
  );

  test('waits for the body of an error answer for a limited time', async () => {
    const transport = await transportTo((_, response) => {
      response.writeHead(500, { 'content-type': 'application/json' });
      response.write(JSON.stringify({ kind: 'Status', code: 500, message: 'out of order' }));
    });
    const clock = new FakeClock();
    const arrived = Promise.withResolvers<void>();
    const watched: Transport = {
      async request(request) {
        const answer = await transport.request(request);
        const chunks = answer.body[Symbol.asyncIterator]();
        const first = await chunks.next();
        arrived.resolve();
        const body = (async function* () {
          if (!first.done) yield first.value;
          yield* { [Symbol.asyncIterator]: () => chunks };
        })();
        return { ...answer, body };
      },
    };
    const listing = newClient({ transport: watched, clock }).list(ConfigMap);
    listing.catch(() => undefined);
    await arrived.promise;
    await clock.run(10_000);
    await expect(listing).rejects.toMatchObject({
      status: 500,
      message: expect.stringContaining('out of order'),
    });
  });

  // An endless answer filled the memory until the process ended.
  test('rejects an answer that is too long, and closes its connection', async () => {
    let ended = Promise.withResolvers<void>();
    let chunk = JSON.stringify({
      kind: 'ConfigMapList',
      apiVersion: 'v1',
      metadata: {},
      items: [],
    });
    const transport = await transportTo((_, response) => {
      response.on('close', () => ended.resolve());
      const more = (): void => {
        chunk = ' '.repeat(10_000);
        while (response.write(chunk));
      };
      response.on('drain', more);
      response.write(chunk);
      more();
    });
    const client = newClient({ transport, maxAnswerBytes: 1_000_000 });
    const tooLong = {
      code: 'TOO_LARGE',
      message: expect.stringMatching(
        /^GET \/api\/v1\/configmaps: the answer is longer than 1000000 bytes: .*by pages/,
      ),
    };
    await expect(client.list(ConfigMap)).rejects.toMatchObject(tooLong);
    await ended.promise;
    for (const keep of ['bytes', 'objects'] as const) {
      ended = Promise.withResolvers();
      const told = Promise.withResolvers<unknown>();
      const listWatch = new ListWatch(transport, ConfigMap, { maxListBytes: 1_000_000 });
      const informer = new SharedIndexInformer(listWatch, {
        keep,
        watchErrorHandler: (error) => told.resolve(error),
      });
      const stop = new AbortController();
      const running = informer.run({ signal: stop.signal });
      expect(await told.promise).toMatchObject(tooLong);
      stop.abort();
      await running;
      await ended.promise;
    }
  });

  test('reads nothing of an answer whose Content-Length is too long', async () => {
    const spaces = ' '.repeat(2000);
    const transport = await transportTo((_, response) =>
      response.writeHead(200, { 'content-length': spaces.length }).end(spaces),
    );
    const client = newClient({ transport, maxAnswerBytes: 1999 });
    await expect(client.get(ConfigMap, key)).rejects.toMatchObject({ code: 'TOO_LARGE' });
    const { status, body } = await transport.request({ method: 'GET', path: '/' });
    expect([status, await bodyText(body)]).toEqual([200, spaces]);
  });

  test.each([
    ['a list', [['authorization', 'secret']]],
    ['Headers', new Headers({ authorization: 'secret' })],
    ['text', 'authorization: secret'],
    ['a number as value', { a: 1 }],
    ['undefined as value', { a: undefined }],
    ['a name that is none', { 'authorization: secret': '' }],
    ['an empty name', { '': 'secret' }],
    ['null', null],
  ])('rejects %s as headers of a request', async (_what, headers) => {
    const transport = await transportTo((_, response) => response.end());
    const asked = transport.request({ method: 'GET', path: '/', headers: headers as never });
    const error = await asked.catch((e: unknown) => e);
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect(inspect(error)).not.toContain('secret');
  });
});

describe.each([
  ['fetchTransport', fetchTransport],
  ['httpTransport', httpTransport],
])('%s', (_name, make) => {
  test.each([
    ['ftp://jane:secret@host', 'http or https URL'],
    ['jane:secret@host:6443', 'http or https URL'],
    ['https://jane:se#cret@host', 'http or https URL'],
    ['https://host/?token=secret', 'without "?" and "#"'],
    ['https://host/#secret', 'without "?" and "#"'],
    ['https://jane:secret%zz@host', '%25'],
    ['https://ja%3Ane:secret@host', 'without ":"'],
  ])('rejects the address %s without quoting its password', (server, why) => {
    let error: unknown;
    try {
      make(server);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining(why),
    });
    expect(inspect(error)).not.toMatch(/secret|se#cret/);
  });

  test.each(['Bearer secret', null, 7])('rejects %j as options, without quoting it', (options) => {
    expect(() => make('http://host', options as never)).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        message: expect.not.stringContaining('secret'),
      }),
    );
  });

  test.each([[['a', 'b']], ['Bearer secret'], [new Map()], [{ a: 1 }], [{ 'a b': 'secret' }]])(
    'rejects %s as headers',
    (headers) => {
      expect(() => make('http://host', { headers: headers as never })).toThrow(
        expect.objectContaining({
          code: 'INVALID_ARGUMENT',
          message: expect.not.stringContaining('secret'),
        }),
      );
    },
  );
});

describe('fetch functions that hide redirects', () => {
  // A browser does not show the status of a redirect that it does not follow.
  test('are an error if the answer is opaque', async () => {
    const opaque = { type: 'opaqueredirect', status: 0, headers: new Headers(), body: null };
    const transport = fetchTransport('http://host', { fetch: async () => opaque as never });
    await expect(transport.request({ method: 'GET', path: '/' })).rejects.toMatchObject({
      code: 'TRANSPORT',
      message: expect.stringContaining('redirects are not followed'),
    });
  });

  test('are an error if they followed one', async () => {
    const other = await plain((_, response) => response.end('{}'));
    const server = await plain((_, response) => response.writeHead(302, { location: other }).end());
    const transport = fetchTransport(server, {
      fetch: (url, init) => fetch(url, { ...init, redirect: 'follow' }),
    });
    await expect(transport.request({ method: 'POST', path: '/' })).rejects.toMatchObject({
      code: 'TRANSPORT',
    });
  });
});
