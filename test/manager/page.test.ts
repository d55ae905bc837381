/** The live page over HTTP: which requests are allowed, its headers, and its JSON. */
import { request as httpRequest } from 'node:http';
import { networkInterfaces } from 'node:os';
import { Indexer } from 'capstan/cache';
import { debugPage, findObjects, type LivePageOptions, type LivePageState } from 'capstan/manager';
import { afterEach, describe, expect, it } from 'vitest';
import {
  controllerOf,
  informerOf,
  reportOf,
  runOf,
  sampleCause,
  sampleKey,
} from './page-samples.ts';
import { type PageServer, servePage } from './page-server.ts';

const servers: PageServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop();
});

async function serve(options: Partial<LivePageOptions> = {}, host?: string): Promise<PageServer> {
  const server = await servePage({ state: () => reportOf(), ...options }, host);
  servers.push(server);
  return server;
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** Sends any header; fetch sets Host itself. */
function ask(
  server: PageServer,
  path = '',
  { method = 'GET', headers = {} as Record<string, string> } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(`${server.url}${path}`, { method, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
      );
    });
    request.on('error', reject).end();
  });
}

async function stateOf(server: PageServer, query = ''): Promise<LivePageState> {
  const { status, text } = await ask(server, `/state${query}`);
  expect(status, text).toBe(200);
  return JSON.parse(text) as LivePageState;
}

describe('the live page is answered', () => {
  it('as one document that may not load or send anything elsewhere', async () => {
    const server = await serve();
    const { status, headers, text } = await ask(server);
    expect(status).toBe(200);
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    const policy = String(headers['content-security-policy']);
    expect(policy).toMatch(
      new RegExp(
        "^default-src 'none'; script-src 'sha256-[^']+'; style-src " +
          "'sha256-[^']+'; connect-src 'self';",
      ),
    );
    expect(policy).not.toContain('unsafe');
    expect(text).not.toMatch(/\s(?:on\w+|style)=|(?:src|href)="(?!data:)/);
    expect((await ask(server, '/')).text).toBe(text);
  });

  it('without caching, and with a fixed content type', async () => {
    const server = await serve();
    for (const path of ['', '/state', '/state?limit=0', '/nothing']) {
      const { headers } = await ask(server, path);
      expect(headers, path).toMatchObject({
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'referrer-policy': 'no-referrer',
        'cross-origin-resource-policy': 'same-origin',
      });
      expect(headers['content-security-policy'], path).toContain("default-src 'none'");
    }
  });

  it('for its own paths only', async () => {
    const server = await serve();
    const other = await fetch(new URL('/debug/capstans', server.url));
    expect([other.status, await other.text()]).toEqual([404, 'something else']);
    expect((await ask(server, '/nothing')).text).toBe(
      'There is /debug/capstan and /debug/capstan/state.\n',
    );
  });

  it.each(['POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS'])('to GET, not to %s', async (method) => {
    const { status, headers } = await ask(await serve(), '/state', { method });
    expect([status, headers.allow]).toEqual([405, 'GET']);
  });

  it('to a valid query', async () => {
    const server = await serve();
    for (const query of [
      '?limit=0',
      '?limit=1001',
      '?limit=ten',
      '?limit=-1',
      `?filter=${'x'.repeat(601)}`,
    ]) {
      const { status, text } = await ask(server, `/state${query}`);
      expect(status, query).toBe(400);
      expect(JSON.parse(text), query).toEqual({
        message: expect.stringMatching(/^"(limit|filter)" expected/),
      });
    }
  });

  it('with the error if the report fails', async () => {
    const server = await serve({
      state: () => {
        throw new Error('password=hunter2 <b>');
      },
    });
    const { status, text } = await ask(server, '/state');
    expect(status).toBe(500);
    expect(JSON.parse(text)).toEqual({
      message: "the manager's report failed: Error: password=‹redacted› <b>",
    });
  });
});

describe('access to the live page', () => {
  const statusWith = async (server: PageServer, headers: Record<string, string>): Promise<number> =>
    (await ask(server, '/state', { headers })).status;

  it('requires a Host of this machine, because a foreign name may be rebound to it', async () => {
    const server = await serve({ hosts: ['Debug.Example'] });
    for (const host of [
      'localhost',
      'LOCALHOST:80',
      '127.0.0.1:8080',
      '127.8.8.8',
      '[::1]:80',
      'a.localhost',
      'debug.example',
    ])
      expect(await statusWith(server, { Host: host }), host).toBe(200);
    for (const host of [
      'evil.example',
      'localhost.evil.example',
      '127.0.0.1.evil.example',
      '10.0.0.1',
      '[::2]',
      'a@localhost',
    ])
      expect(await statusWith(server, { Host: host }), host).toBe(403);
  });

  it('is refused to requests that a proxy forwarded', async () => {
    const server = await serve();
    for (const name of [
      'X-Forwarded-For',
      'X-Forwarded-Proto',
      'X-Envoy-Attempt-Count',
      'Forwarded',
      'Via',
      'X-Real-IP',
    ])
      expect(await statusWith(server, { [name]: '10.0.0.9' }), name).toBe(403);
  });

  it('is refused to pages of other sites', async () => {
    const server = await serve();
    expect(
      await statusWith(server, { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'no-cors' }),
    ).toBe(403);
    expect(
      await statusWith(server, { 'Sec-Fetch-Site': 'same-site', 'Sec-Fetch-Mode': 'cors' }),
    ).toBe(403);
    expect(
      await statusWith(server, { 'Sec-Fetch-Site': 'same-origin', 'Sec-Fetch-Mode': 'cors' }),
    ).toBe(200);
    const { status } = await ask(server, '', {
      headers: { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate' },
    });
    expect(status).toBe(200); // a link
  });

  it.skipIf(outside() === '')(
    'is by default nobody on an address that is no loopback address',
    async () => {
      const address = outside();
      const refused = await ask(await serve({}, address));
      expect(refused.status).toBe(403);
      expect(refused.text).toContain('loopback connections only');
      const open = await serve({ allowRemote: true }, address);
      expect((await ask(open)).status).toBe(200);
      expect(await statusWith(open, { Host: 'evil.example' })).toBe(403);
    },
  );
});

describe('the state', () => {
  it('is the report, with the error of an informer as text', async () => {
    const state = await stateOf(await serve());
    const report = reportOf();
    expect(state).toMatchObject({
      version: report.version,
      leader: report.leader,
      filter: '',
      limit: 50,
      verdicts: [],
      matches: [],
      cachedIn: [],
    });
    expect(state.informers[1]?.lastFailure).toEqual({
      class: 'network',
      next: 'rewatch',
      afterMs: 8000,
      agoMs: 3100,
      error: { name: 'Error', message: 'connect ECONNREFUSED 10.96.0.1:443', agoMs: 3100 },
    });
    expect(state.controllers[0]?.keys.map((key) => key.name)).toEqual([
      'docs',
      'shop',
      'blog',
      'news',
    ]);
  });

  it('passes filter and limit to the report', async () => {
    const requested: unknown[] = [];
    const server = await serve({
      state: (options) => {
        requested.push(options);
        return reportOf();
      },
    });
    await stateOf(server, '?filter=%20demo%2Fshop%20&limit=7');
    await stateOf(server, '?limit=700');
    // All kept runs, because a verdict names the last one; the keys are ranked by the controller.
    expect(requested).toEqual([
      { filter: 'demo/shop', limit: 100, among: 5000 },
      { filter: '', limit: 700, among: 5000 },
    ]);
  });

  it('is cut to the limit, running and failing keys first', async () => {
    const keys = [
      sampleKey('later', { state: 'waiting', waitingMs: 9000 }),
      sampleKey('soon', { state: 'waiting', waitingMs: 10 }),
      sampleKey('ready'),
      sampleKey('failing', {
        state: 'waiting',
        waitingMs: 99_000,
        failures: 2,
        causes: [sampleCause('retry', 10)],
      }),
      sampleKey('asked', { state: 'waiting', waitingMs: Number.POSITIVE_INFINITY, failures: 2 }),
      sampleKey('given-up', { state: 'failed' }),
      sampleKey('running', { state: 'processing' }),
    ];
    const server = await serve({
      state: () => reportOf({ controllers: [controllerOf({ keys, recent: [] })] }),
    });
    const names = async (limit: number): Promise<unknown> => {
      const [controller] = (await stateOf(server, `?limit=${limit}`)).controllers;
      return [controller?.keys.map((key) => key.name), controller?.more];
    };
    expect(await names(50)).toEqual([
      ['running', 'given-up', 'failing', 'ready', 'soon', 'later', 'asked'],
      false,
    ]);
    expect(await names(2)).toEqual([['running', 'given-up'], true]);
  });

  it('has the verdict of the object that the filter names, with its runs', async () => {
    const state = await stateOf(await serve(), '?filter=demo/shop');
    expect(state.verdicts).toMatchObject([
      {
        controller: 'website',
        namespace: 'demo',
        name: 'shop',
        text: 'It waits 42 s more, after 7 failures.',
      },
    ]);
    expect(state.controllers[0]?.keys.map((key) => key.name)).toEqual(['shop']);
    expect(state.controllers[0]?.recent.map((run) => run.name)).toEqual(['shop']);
    expect(state.controllers[0]?.queue.waiting).toBe(2); // in all
  });

  it('finds the object although a thousand other names begin with its name', async () => {
    const keys = Array.from({ length: 1000 }, (_, i) =>
      sampleKey(`shop-${i}`, { state: 'processing' }),
    );
    let controllers = [controllerOf({ keys: [...keys, sampleKey('shop')] })];
    const server = await serve({ state: () => reportOf({ controllers }) });
    expect((await stateOf(server, '?filter=demo/shop&limit=1')).verdicts).toMatchObject([
      { name: 'shop', state: 'queued' },
    ]);
    controllers = [
      controllerOf({ keys: [], recent: [runOf('shop-1', { agoMs: 1 }), runOf('shop')] }),
    ];
    expect((await stateOf(server, '?filter=demo/shop&limit=1')).verdicts).toMatchObject([
      { name: 'shop', state: 'done' },
    ]);
  });

  it('has a verdict if a part of a name matches one object, else a list', async () => {
    const server = await serve();
    expect((await stateOf(server, '?filter=sho')).verdicts).toMatchObject([{ name: 'shop' }]);
    const several = await stateOf(server, '?filter=demo/');
    expect(several.verdicts).toEqual([]);
    expect(several.matches).toHaveLength(6);
    const nothing = await stateOf(server, '?filter=xyz');
    expect([nothing.verdicts, nothing.matches]).toEqual([[], []]);
  });

  it('has a verdict for an object of which only the name is known', async () => {
    const state = await stateOf(await serve({ find: () => [] }), '?filter=demo/gone');
    expect(state.verdicts).toMatchObject([
      { name: 'gone', text: expect.stringContaining('It is not in the cache') },
    ]);
  });

  it('knows cluster scoped objects by their name alone', async () => {
    const keys = [
      sampleKey('node-1', { namespace: '', state: 'processing' }),
      sampleKey('node-12', { namespace: '' }),
    ];
    const server = await serve({
      state: () => reportOf({ controllers: [controllerOf({ keys })] }),
    });
    expect((await stateOf(server, '?filter=node-1')).verdicts).toMatchObject([
      { namespace: '', name: 'node-1', state: 'active' },
    ]);
  });

  it('finds objects in the caches', async () => {
    const indexer = new Indexer<{
      metadata: { name: string; namespace?: string; resourceVersion?: string };
    }>();
    for (const name of ['landing', 'lan', 'other'])
      indexer.add({ metadata: { name, namespace: 'demo' } });
    const key = 'websites.demo.capstan.dev/v1';
    const informers = new Map([[key, { getIndexer: () => indexer }]]);
    const server = await serve({
      find: (text, limit) => findObjects(informers, text, limit),
      state: () => reportOf({ controllers: [controllerOf({ keys: [], recent: [] })] }),
    });
    const several = await stateOf(server, '?filter=lan');
    expect(several.matches).toEqual([
      { namespace: 'demo', name: 'landing' },
      { namespace: 'demo', name: 'lan' },
    ]);
    const one = await stateOf(server, '?filter=demo/lan');
    expect(one.cachedIn).toEqual([key]);
    expect(one.verdicts[0]?.text).toMatch(/^It is in the cache of “for Website”/);
    expect(findObjects(informers, 'demo/', 2)).toHaveLength(2);
    indexer.update({ metadata: { name: 'lan', namespace: 'demo', resourceVersion: '7' } });
    expect(findObjects(informers, 'demo/lan', 2)).toMatchObject([
      { informer: key, resourceVersion: '7' },
    ]);
  });

  it('reads all keys of the caches for unknown text, but not every second', async () => {
    const searched: string[] = [];
    let now = 0;
    const server = await serve({
      find: (text) => {
        searched.push(text);
        return text === 'demo/there' ? [{ namespace: 'demo', name: 'there', informer: 'a' }] : [];
      },
      state: () => reportOf({ now }),
    });
    for (now = 0; now < 12_000; now += 1000) {
      for (const text of ['demo/gone', 'demo/there']) await stateOf(server, `?filter=${text}`);
    }
    expect(searched.filter((text) => text === 'demo/gone')).toHaveLength(3);
    expect(searched.filter((text) => text === 'demo/there')).toHaveLength(12);
    // Old searches are dropped.
    for (let i = 0; i < 9; i++) await stateOf(server, `?filter=other-${i}`);
    await stateOf(server, '?filter=demo/gone');
    expect(searched.filter((text) => text === 'demo/gone')).toHaveLength(4);
  });

  it('shows names with markup as text', async () => {
    const names = [
      '<img src=x onerror=alert(1)>',
      '__proto__',
      'constructor',
      'a\u2028b',
      '</script>',
      '\ud800',
    ];
    const hostile = [{ name: '__proto__', message: '<b>\u2029</b>', agoMs: 1 }];
    const keys = names.map((name) => sampleKey(name, { lastError: hostile[0], failures: 1 }));
    const recent = names.map((name) => runOf(name));
    const server = await serve({
      state: () => reportOf({ controllers: [controllerOf({ keys, recent })] }),
    });
    const { text } = await ask(server, '/state');
    expect(text).not.toMatch(/[<>\u2028\u2029]/);
    const state = JSON.parse(text) as LivePageState;
    expect(state.controllers[0]?.keys.map((key) => key.name).sort()).toEqual([...names].sort());
    expect(Object.getPrototypeOf(state.controllers[0])).toBe(Object.prototype);
    for (const name of names.slice(0, 5)) {
      const { verdicts } = await stateOf(server, `?filter=${encodeURIComponent(`demo/${name}`)}`);
      expect(verdicts, name).toMatchObject([{ name, error: { message: '<b>\u2029</b>' } }]);
    }
  });

  it('has no secret in any of its errors', async () => {
    const secret = 'hunter2';
    const message = `login failed: password=${secret}`;
    const error = { name: 'Error', message, agoMs: 5 };
    const about = (text: string): string => `the data "${text}" is too short`;
    const server = await serve({
      state: () =>
        reportOf({
          controllers: [
            controllerOf({
              sources: [
                {
                  name: 'for Website',
                  synced: false,
                  events: { handled: 0, filtered: 0, failed: 0 },
                  problem: message,
                },
              ],
              keys: [sampleKey('shop', { lastError: error, failures: 1 })],
              recent: [runOf('shop', { error, outcome: 'error' })],
            }),
            controllerOf({
              name: 'copies',
              groupKind: 'Secret',
              keys: [
                sampleKey('shop', { lastError: { ...error, message: about(secret) }, failures: 1 }),
              ],
            }),
          ],
          informers: [
            informerOf('a', {
              lastFailure: {
                class: 'server',
                next: 'relist',
                afterMs: 1,
                agoMs: 1,
                error: new Error(message),
              },
            }),
            informerOf('secrets/v1', {
              lastFailure: {
                class: 'decode',
                next: 'relist',
                afterMs: 1,
                agoMs: 1,
                error: new Error(about(secret)),
              },
            }),
            informerOf('c', {
              lastFailure: {
                class: 'decode',
                next: 'relist',
                afterMs: 1,
                agoMs: 1,
                error: { toString: () => message },
              },
            }),
          ],
          runnables: [{ name: 'cleanup', group: 'others', state: 'failed', error }],
        }),
    });
    for (const query of ['', '?filter=demo/shop']) {
      const { status, text } = await ask(server, `/state${query}`);
      expect(status).toBe(200);
      expect(text).not.toContain(secret);
      expect(text.match(/‹redacted›/g)?.length).toBeGreaterThan(5);
    }
  });
});

it('names the expected options', () => {
  const state = (): ReturnType<LivePageOptions['state']> => reportOf();
  const made = (options: unknown) => () => debugPage(options as LivePageOptions);
  expect(made({})).toThrow('"options.state" expected a function, got undefined');
  expect(made({ state, find: 1 })).toThrow('"options.find"');
  expect(made({ state, allowRemote: 'yes' })).toThrow(
    '"options.allowRemote" expected true or false',
  );
  expect(made({ state, hosts: 'a' })).toThrow('"options.hosts" expected an array of host names');
});

/** An address of this machine that is not loopback. */
function outside(): string {
  const all = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  const [first] = all.filter(({ family, internal }) => family === 'IPv4' && !internal);
  return first?.address ?? '';
}
