/**
 * examples/browser: the proxy, the program, and the page in Chromium, on an embedded server that
 * only the test changes. Tests of the page are skipped without Chromium (CHROMIUM names one that is
 * not in the PATH). Needs the built package (`npm test` builds it).
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as textIn } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { Transport, TransportRequest } from 'capstan/cache';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { buildView } from '../../examples/browser/build.ts';
import { serveView, type ViewServer } from '../../examples/browser/proxy.ts';
import { Node, Pod, type PodObject } from '../../examples/browser/resources.ts';
import { SimulatedCluster } from '../../examples/browser/simulated-cluster.ts';
import { Chromium, findChromium, type OpenOptions, type Page } from '../helpers/chromium.ts';

const folder = mkdtempSync(join(tmpdir(), 'capstan-view-'));
let cluster: SimulatedCluster;
let view: ViewServer;
let transport: Transport;
/** The requests that have reached the transport. */
let passed: TransportRequest[];

beforeAll(() => buildView(folder));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
beforeEach(async () => {
  cluster = await SimulatedCluster.start();
  transport = cluster.server.transport();
  passed = [];
  const watched: Transport = {
    request(request) {
      passed.push(request);
      return transport.request(request);
    },
  };
  view = await serveView({ transport: watched, resources: [Pod, Node], folder });
});
afterEach(async () => {
  await view.stop();
  await transport.close?.();
  await cluster.stop();
});

describe('the proxy', () => {
  const get = (
    path: string,
    headers: Record<string, string> = {},
    method = 'GET',
  ): Promise<[status: number, body: string]> =>
    new Promise((resolve, reject) => {
      const { hostname, port } = new URL(view.url);
      const request = httpRequest(
        { hostname, port, path, headers, method, agent: false },
        (answer) => {
          let body = '';
          answer.setEncoding('utf8').on('data', (text: string) => (body += text));
          answer.on('end', () => resolve([answer.statusCode ?? 0, body]));
          answer.on('error', reject);
        },
      );
      request.on('error', reject).end();
    });

  it("passes lists of the page's resources on, with queries", async () => {
    const [status, body] = await get('/api/v1/pods?limit=2&labelSelector=app%3Dcart');
    const { kind, items } = JSON.parse(body) as { kind: string; items: PodObject[] };
    expect([status, kind, items.map(({ metadata }) => metadata.labels?.app)]).toEqual([
      200,
      'PodList',
      ['cart', 'cart'],
    ]);
  });

  it.each([
    '/api/v1/secrets',
    '/api/v1/pods/cart/log',
    '/api/v1/namespaces/shop/pods',
    '/api/v1/nodes/node-a/proxy/',
    '/api/v1/pods/../secrets',
    '/api/v1/pods%2f..%2fsecrets',
    '/api',
    '/apis/apps/v1/deployments',
  ])('passes nothing else on: %s', async (path) => {
    const [status] = await get(path);
    expect(status).toBe(403);
    expect(passed).toEqual([]);
  });

  // `new URL` throws for `//`, and such a request, from any page, ended the process. Uses a raw
  // client: others normalise targets.
  it.each(['//', '///', '/\\', 'http://', '//evil:99999/'])(
    'survives the target %s',
    async (target) => {
      const { hostname, port, host } = new URL(view.url);
      const statusFor = async (...headers: string[]): Promise<string> => {
        const socket = connect(Number(port), hostname);
        socket.end(
          [`GET ${target} HTTP/1.1`, `host: ${host}`, 'connection: close', ...headers, '', ''].join(
            '\r\n',
          ),
        );
        return (await textIn(socket)).slice(0, 'HTTP/1.1 404'.length);
      };
      expect(await statusFor('sec-fetch-site: cross-site')).toBe('HTTP/1.1 403');
      expect(await statusFor()).toBe('HTTP/1.1 404');
      expect((await get('/'))[0]).toBe(200);
    },
  );

  it('answers 500 if a request fails unexpectedly', async () => {
    await view.stop();
    const broken = { name: 'a folder that is none' } as unknown as string;
    view = await serveView({ transport, resources: [Pod, Node], folder: broken });
    expect((await get('/'))[0]).toBe(500);
  });

  it('passes no other method on', async () => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
      expect((await get('/api/v1/pods', {}, method))[0]).toBe(405);
    expect(passed).toEqual([]);
  });

  it('answers only to loopback host names', async () => {
    const { port } = new URL(view.url);
    const statusFor = async (host: string): Promise<number> =>
      (await get('/api/v1/pods?limit=1', { host }))[0];
    expect(await statusFor(`localhost:${port}`)).toBe(200);
    expect(await statusFor(`rebound.example.com:${port}`)).toBe(403);
    expect(await statusFor('127.0.0.1:1')).toBe(403);
    expect(await statusFor(`127.0.0.1:${port}.example.com`)).toBe(403);
  });

  it('rejects requests of other sites in the browser, but not links to the page', async () => {
    const statusFor = async (site: string, more: Record<string, string> = {}): Promise<number> =>
      (await get('/', { 'sec-fetch-site': site, ...more }))[0];
    expect(await statusFor('same-origin')).toBe(200);
    expect(
      await statusFor('cross-site', { 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'script' }),
    ).toBe(403);
    expect(
      await statusFor('same-site', { 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' }),
    ).toBe(403);
    expect(
      await statusFor('cross-site', { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' }),
    ).toBe(403);
    expect(
      await statusFor('cross-site', { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }),
    ).toBe(200);
  });

  it('serves the files of the page and no others', async () => {
    expect((await get('/'))[1]).toContain('<title>Cluster, live</title>');
    expect((await get('/app.js'))[0]).toBe(200);
    for (const path of ['/missing.js', '/..%2fpackage.json', '/%00.js', '/.html', '/constructor'])
      expect((await get(path))[0], path).toBe(404);
  });

  it("passes the server's answer on, and answers 502 if there is none", async () => {
    cluster.server.inject({ do: 'status', status: 429, retryAfter: 2000, times: 1 });
    const answer = await fetch(`${view.url}api/v1/pods`);
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '2']);
    expect(await answer.json()).toMatchObject({ kind: 'Status', reason: 'TooManyRequests' });
    cluster.server.inject({ do: 'reset', verb: 'list' });
    expect((await fetch(`${view.url}api/v1/pods`)).status).toBe(502);
  });

  it('resets the connection if the body is cut, so that it never seems complete', async () => {
    cluster.server.inject({ do: 'drop', afterBytes: 100, times: 1 });
    const answer = await fetch(`${view.url}api/v1/pods`);
    await expect(answer.text()).rejects.toThrow();
  });

  it('ends a watch whose reader has left', async () => {
    const disconnected = new AbortController();
    const answer = await fetch(`${view.url}api/v1/pods?watch=true&resourceVersion=0`, {
      signal: disconnected.signal,
    });
    const reader = answer.body?.getReader();
    await reader?.read();
    const { signal } = passed[0] ?? {};
    expect(signal?.aborted).toBe(false);
    disconnected.abort();
    await once(signal ?? new EventTarget(), 'abort');
  });
});

describe('the program', () => {
  async function serve(...args: string[]) {
    const place = mkdtempSync(join(tmpdir(), 'capstan-serve-'));
    const script = fileURLToPath(new URL('../../examples/browser/serve.ts', import.meta.url));
    const env = { ...process.env, TMPDIR: place, TEMP: place };
    const child = spawn(process.execPath, [script, ...args], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 20_000,
    });
    child.stdout.once('data', () => child.kill('SIGTERM')); // it serves
    const [stdout, stderr, [code]] = await Promise.all([
      textIn(child.stdout),
      textIn(child.stderr),
      once(child, 'exit'),
    ]);
    const left = readdirSync(place);
    rmSync(place, { recursive: true, force: true });
    return { code, stdout, stderr, left };
  }

  // Both printed a stack trace of Node, and each time left a folder of the page behind.
  it('prints in one line why it cannot serve, and leaves no files', async () => {
    const { port } = new URL(view.url);
    const [taken, tooHigh] = await Promise.all([serve('--port', port), serve('--port', '70000')]);
    const stderr = `listen EADDRINUSE: address already in use 127.0.0.1:${port}\n`;
    expect(taken).toEqual({ code: 1, stdout: '', stderr, left: [] });
    expect(tooHigh).toEqual({
      ...taken,
      stderr: '--port expected a number from 0 to 65535, got 70000\n',
    });
  });

  it.skipIf(process.platform === 'win32')('leaves no files when it is stopped', async () => {
    const ended = await serve('--port', '0', '--drop', '50');
    expect(ended).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^http:.*\n$/),
      stderr: '',
      left: [],
    });
  });
});

const program = findChromium();

describe.skipIf(program === undefined)('the page in Chromium', { timeout: 60_000 }, () => {
  let browser: Chromium;
  let page: Page;
  beforeAll(async () => {
    browser = await Chromium.start(program ?? '');
  });
  afterAll(() => browser?.stop());
  afterEach(async () => {
    await page.close();
  });

  async function open(options: OpenOptions = {}): Promise<void> {
    page = await browser.open(view.url, options);
    await page.until(`document.documentElement.dataset.state === 'synced'`);
  }
  const tile = ({ metadata: { namespace, name } }: PodObject): string =>
    `.pod[data-key="${namespace}/${name}"]:not(.left)`;
  const text = (selector: string): Promise<string> =>
    page.evaluate(`document.querySelector('${selector}').textContent`);
  /** The shown Pods: `node-a default/web running`, and so on. */
  const shown = (): Promise<string[]> =>
    page.evaluate(`[...document.querySelectorAll('.pod:not(.left)')]
      .map((tile) => [tile.closest('.card').dataset.node, tile.dataset.key, tile.dataset.state])
      .map((words) => words.join(' ')).sort()`);
  async function firstRunning(): Promise<PodObject> {
    const pod = (await cluster.pods()).find(({ status }) => status?.phase === 'Running');
    if (pod === undefined) throw new Error('expected a Pod that runs');
    return pod;
  }
  async function filter(selector: string): Promise<void> {
    await page.evaluate(`(() => {
      const input = document.querySelector('#selector');
      input.value = ${JSON.stringify(selector)};
      input.dispatchEvent(new Event('input'));
    })()`);
  }

  it('shows the objects of the server', async () => {
    await open();
    const pods = await cluster.pods();
    const expected = pods.map(({ metadata: { namespace, name }, spec, status }) => {
      const state =
        status?.phase === 'Running' ? 'running' : spec?.nodeName ? 'starting' : 'waiting';
      return `${spec?.nodeName ?? ''} ${namespace}/${name} ${state}`;
    });
    expect(await shown()).toEqual(expected.sort());
    expect(await text('#totals')).toBe(`${pods.length} Pods on 12 nodes`);
    expect(await text('.card[data-node="node-a"] .card-note')).toBe('north');
    expect(page.complaints).toEqual([]);
  });

  it('shows the changes of a Pod on one element', async () => {
    await open();
    const pod = await firstRunning();
    await page.evaluate(`window.kept = document.querySelector(${JSON.stringify(tile(pod))})`);
    await page.click(tile(pod));
    await cluster.setStatus(pod, { phase: 'Failed', reason: 'Evicted' });
    await page.until(
      `kept.dataset.state === 'failed' && kept.classList.contains('changed') && kept.isConnected`,
    );
    expect(await text('#log li')).toContain(
      `${pod.metadata.name} Evicted on ${pod.spec?.nodeName}`,
    );
    await page.until(`document.querySelector('#details').textContent.includes('failed (Evicted)')`);
    await cluster.client.delete(Pod, pod.metadata);
    await page.until(`!document.querySelector(${JSON.stringify(tile(pod))}) && !kept.isConnected`);
    await page.until(`document.querySelector('#details').textContent.includes('gone')`);
    expect(await text('#totals')).toBe(`${(await cluster.pods()).length} Pods on 12 nodes`);
    expect(page.complaints).toEqual([]);
  });

  it('shows a new Pod on no node, then on its node; and a node that is not ready', async () => {
    await open();
    const before = new Set((await cluster.pods()).map(({ metadata }) => metadata.name));
    await cluster.createPod('shop/cart');
    const pods = await cluster.pods();
    const pod = pods.find(({ metadata }) => !before.has(metadata.name));
    if (pod === undefined) throw new Error('expected a new Pod');
    await page.until(`document.querySelector('.card[data-node=""] ${tile(pod)}.came')`);
    await cluster.bind(pod, 'node-c');
    await page.until(`document.querySelector('.card[data-node="node-c"] ${tile(pod)}')`);
    await cluster.setReady('node-c', false);
    await page.until(
      `document.querySelector('.card[data-node="node-c"]').dataset.ready === 'away'`,
    );
    expect(await text('#totals')).toMatch(/on 12 nodes, 1 not ready$/);
    expect(page.complaints).toEqual([]);
  });

  // A Pod whose node is lost was shown as starting, and one that was being deleted as "Running".
  it('shows a Pod on a lost node as unknown, and a deleted one as terminating', async () => {
    await open();
    const pod = await firstRunning();
    const { name } = pod.metadata;
    await page.evaluate(`window.kept = document.querySelector(${JSON.stringify(tile(pod))})`);
    await cluster.client.patch(Pod, pod.metadata, {
      type: 'merge',
      body: { metadata: { finalizers: ['example.com/stay'] } },
    });
    await cluster.setStatus(pod, { phase: 'Unknown', reason: 'NodeLost' });
    await page.until(`!['running', 'starting'].includes(kept.dataset.state)`);
    expect(await page.evaluate('kept.dataset.state')).toBe('unknown');
    expect(await text('#log li')).toContain(`${name} NodeLost on ${pod.spec?.nodeName}`);
    await cluster.client.delete(Pod, pod.metadata);
    await page.until(`kept.dataset.state === 'leaving'`);
    expect(await text('#log li')).toContain(`${name} is leaving ${pod.spec?.nodeName}`);
    expect(page.complaints).toEqual([]);
  });

  it('filters by labels, and reports an invalid selector', async () => {
    await open();
    const pods = await cluster.pods();
    const media = pods.filter(({ metadata }) => metadata.labels?.tier === 'media').length;
    await filter('tier in (media)');
    await page.until(
      "document.querySelector('#totals').textContent === " +
        `'${media} of ${pods.length} Pods on 12 nodes'`,
    );
    await filter('tier in (media');
    await page.until(`document.querySelector('#filter-note').textContent !== ''`);
    expect(await text('#totals')).toBe(`${media} of ${pods.length} Pods on 12 nodes`);
    await filter('');
    await page.until(
      `document.querySelector('#totals').textContent === '${pods.length} Pods on 12 nodes'`,
    );
    expect(page.complaints).toEqual([]);
  });

  it('continues after its watches are cut, and reports the cuts', async () => {
    await open();
    for (let round = 0; round < 3; round++) {
      const watches = (): number => passed.filter(({ query }) => query?.watch === 'true').length;
      const before = watches();
      cluster.server.dropConnections();
      // on its own connection: those of the cluster's client were cut, too
      const pod = await firstRunning();
      await cluster.setStatus(pod, { phase: 'Succeeded' });
      await page.until(
        `document.querySelector(${JSON.stringify(tile(pod))})?.dataset.state === 'done'`,
      );
      // A list may show the Pod before its watch has begun.
      await expect
        .poll(watches, { message: `round ${round}`, timeout: 10_000 })
        .toBeGreaterThan(before);
    }
    await page.until(
      '/network failure .* ago, ' +
        "re(watch|list)/.test(document.querySelector('#informers').textContent)",
    );
    expect(await shown()).toHaveLength((await cluster.pods()).length);
    // The browser reports each lost connection; the page itself reports nothing.
    expect(
      page.complaints.filter(
        (said) => !/ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_CONNECTION/.test(said),
      ),
    ).toEqual([]);
  });

  it('shows the right Pods after a minute of churn and cuts', async () => {
    await open();
    for (let i = 0; i < 300; i++) {
      if (i % 60 === 59) cluster.server.dropConnections();
      await cluster.step();
    }
    const last = (await cluster.pods())
      .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
      .sort();
    await page.until(
      "[...document.querySelectorAll('.pod:not(.left)')].map(({ dataset }) => " +
        `dataset.key).sort().join() === ${JSON.stringify(last.join())}`,
    );
    expect((await shown()).length).toBe(last.length);
  });

  it.each([1440, 900, 420])('fits a window of %i pixels', async (width) => {
    await open({ width });
    const [content, window] = await page.evaluate<[number, number]>(
      '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
    );
    expect(content).toBeLessThanOrEqual(window);
  });
});
