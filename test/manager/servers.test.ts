/**
 * The HTTP services of a manager. It has the counterparts of controller-runtime's tests of its
 * servers (manager_test.go).
 */
import { once } from 'node:events';
import { copyFileSync, rmSync } from 'node:fs';
import { Agent, get as httpGet, type IncomingMessage, type ServerResponse } from 'node:http';
import { get as httpsGet } from 'node:https';
import { connect } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { connect as connectTLS, Server as TLSServer } from 'node:tls';
import { certificateFiles, HTTPServer, type ManagerOptions } from 'capstan/manager';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { certificateFolder } from '../helpers/certificate-folder.ts';
import { authority, certificate } from '../helpers/http-servers.ts';
import { parseText } from '../helpers/prometheus-text.ts';
import { collectErrorValues } from '../helpers/reported-errors.ts';
import { managerOf, startManager } from './recording-runnables.ts';

const reported = collectErrorValues();
const LOCAL = '127.0.0.1:0';

async function serving(options: Partial<ManagerOptions>) {
  const { manager, clock } = managerOf(options);
  const started = startManager(manager, clock);
  onTestFinished(async () => {
    started.stop();
    await started.done;
  });
  await manager.serving();
  return started;
}

async function get(url: string | undefined, init?: RequestInit) {
  const response = await fetch(url as string, {
    ...init,
    headers: { connection: 'close', ...init?.headers },
  });
  return { status: response.status, text: await response.text(), headers: response.headers };
}

describe('health probes', () => {
  test('are served, each check at its own path (…readiness, liveness endpoint)', async () => {
    const { manager } = await serving({ healthProbe: { bindAddress: LOCAL } });
    let broken = true;
    manager.addReadyzCheck('check', () => {
      if (broken) throw new Error('broken');
    });
    manager.addHealthzCheck('check', async () => {
      if (broken) throw new Error('broken');
    });
    await manager.elected();
    const url = manager.url('healthProbe');
    for (const endpoint of ['readyz', 'healthz']) {
      broken = true;
      expect(await get(`${url}/${endpoint}`)).toMatchObject({
        status: 500,
        text: expect.stringContaining('[-]check'),
      });
      expect((await get(`${url}/${endpoint}/check`)).text).toBe('internal server error: broken\n');
      broken = false;
      expect(await get(`${url}/${endpoint}`)).toMatchObject({ status: 200, text: 'ok' });
      expect(await get(`${url}/${endpoint}/`)).toMatchObject({ status: 200, text: 'ok' });
      expect(await get(`${url}/${endpoint}/check`)).toMatchObject({ status: 200, text: 'ok' });
      expect(await get(`${url}/${endpoint}/check/`)).toMatchObject({ status: 200, text: 'ok' });
      expect(await get(`${url}/${endpoint}/ping`)).toMatchObject({ status: 200, text: 'ok' });
      expect((await get(`${url}/${endpoint}/unknown`)).status).toBe(404);
    }
    manager.addHealthzCheck('poststarthook/crds', () => undefined);
    expect((await get(`${url}/healthz/poststarthook/crds`)).text).toBe('ok');
    for (const name of ['', '/', 'a/', '/a', 'a//b', 'a b', 'a?b'])
      expect(() => manager.addHealthzCheck(name, () => undefined)).toThrow(
        'without a slash at either end',
      );
    expect((await get(`${url}/`)).status).toBe(404);
    expect((await get(`${url}/healthzcheck`)).status).toBe(404);
  });

  test('may have other names', async () => {
    const { manager } = await serving({
      healthProbe: {
        bindAddress: LOCAL,
        livenessEndpointName: '/livez',
        readinessEndpointName: '/ready',
      },
    });
    const url = manager.url('healthProbe');
    expect((await get(`${url}/livez?verbose`)).text).toBe('[+]ping ok\nhealthz check passed\n');
    expect((await get(`${url}/healthz`)).status).toBe(404);
  });

  test('fail until the informers have synced', async () => {
    const gate = Promise.withResolvers<void>();
    const { manager } = managerOf({ healthProbe: { bindAddress: LOCAL } });
    manager.add({
      group: 'webhooks',
      start: ({ signal }) =>
        new Promise((resolve) => signal.addEventListener('abort', () => resolve())),
      ready: () => gate.promise,
    });
    const started = startManager(manager, managerOf().clock);
    await manager.serving();
    const url = `${manager.url('healthProbe')}/readyz`;
    expect((await get(url)).text).toBe(
      '[-]informer-sync failed: reason withheld\n[+]ping ok\nhealthz check failed\n',
    );
    expect((await get(`${url}/informer-sync`)).text).toContain(
      'not all informers that the start waits for have synced',
    );
    gate.resolve();
    await manager.elected();
    expect((await get(url)).text).toBe('ok');
    started.stop();
    await started.done;
  });

  test('are gone when the manager has ended (…serving health probes…)', async () => {
    const { manager, stop, done } = await serving({ healthProbe: { bindAddress: LOCAL } });
    const url = `${manager.url('healthProbe')}/healthz`;
    expect((await get(url)).status).toBe(200);
    stop();
    await done;
    await expect(get(url)).rejects.toThrow();
  });
});

describe('metrics', () => {
  test('are one text, with those of all collectors (…in its registry)', async () => {
    const { manager } = await serving({ metrics: { bindAddress: LOCAL } });
    const mine = (shard: number) =>
      '# HELP shards_total Shards.\n# TYPE shards_total ' +
      `counter\nshards_total{shard="${shard}"} ${shard}\n`;
    manager.addCollector({ text: () => mine(1) });
    manager.addCollector({ text: () => mine(2) });
    const twice = { text: () => '# HELP a_total A.\n# TYPE a_total counter\na_total 1\n' };
    manager.addCollector(twice);
    manager.addCollector(twice);
    const { status, text, headers } = await get(`${manager.url('metrics')}/metrics`);
    expect([status, headers.get('content-type')]).toEqual([
      200,
      'text/plain; version=0.0.4; charset=utf-8',
    ]);
    const families = parseText(text);
    expect(families.get('shards_total')?.samples.map(({ value }) => value)).toEqual([1, 2]);
    expect(families.get('a_total')?.samples).toHaveLength(1);
    expect(families.get('process_resident_memory_bytes')?.samples[0]?.value).toBeGreaterThan(1e6);
  });

  test('are all that is served there (…other than metrics endpoint…)', async () => {
    const { manager } = await serving({ metrics: { bindAddress: LOCAL }, debugPage: false });
    const url = manager.url('metrics');
    for (const path of ['/', '/healthz', '/debug/capstan', '/debug/pprof/', '/metrics/more'])
      expect((await get(`${url}${path}`)).status).toBe(404);
  });

  test('may have other paths beside them (should serve extra endpoints)', async () => {
    const { manager } = await serving({
      metrics: {
        bindAddress: LOCAL,
        extraHandlers: { '/first': (_, response) => void response.end('one') },
      },
    });
    const second = (_: unknown, response: { end(text: string): unknown }): void =>
      void response.end('two');
    manager.addMetricsServerExtraHandler('/second', second);
    expect(() => manager.addMetricsServerExtraHandler('/second', second)).toThrow(
      'already has a handler',
    );
    expect(() => manager.addMetricsServerExtraHandler('/metrics', second)).toThrow(
      'already has a handler',
    );
    const url = manager.url('metrics');
    expect((await get(`${url}/first`)).text).toBe('one');
    expect((await get(`${url}/second`)).text).toBe('two');
    expect((await get(`${url}/metrics`)).status).toBe(200);
  });

  test('are compressed for clients that accept it', async () => {
    const { manager } = await serving({ metrics: { bindAddress: LOCAL } });
    const coding = async (accepted: string) => {
      const { headers, text } = await get(`${manager.url('metrics')}/metrics`, {
        headers: { 'accept-encoding': accepted },
      });
      expect(parseText(text).size).toBeGreaterThan(0);
      return headers.get('content-encoding');
    };
    for (const accepted of ['gzip', 'deflate, gzip;q=0.5', 'GZIP; q=1.0'])
      expect(await coding(accepted)).toBe('gzip');
    for (const accepted of ['identity', 'gzip;q=0', 'gzip;q=0.0, br', 'xgzip'])
      expect(await coding(accepted)).toBeNull();
  });

  // The pattern that looked for a weight other than 0 had exponential backtracking: a header of 3
  // KB took 18 s, and one of node's maximum length an hour, and any client could send it.
  test('are compressed or not quickly, whatever the header says', async () => {
    const { manager } = await serving({ metrics: { bindAddress: LOCAL } });
    const accepted = `gzip;q=.${'1'.repeat(1000)}${'0'.repeat(2000)}x`;
    const before = process.cpuUsage();
    const { headers } = await get(`${manager.url('metrics')}/metrics`, {
      headers: { 'accept-encoding': accepted },
    });
    expect(headers.get('content-encoding')).toBeNull();
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(9000);
  });

  test('call the filter first, as do extra handlers', async () => {
    const { manager } = await serving({
      metrics: {
        bindAddress: LOCAL,
        filter: async (request, response) => {
          if (request.headers.authorization === 'Bearer good') return true;
          response.writeHead(401).end();
          return false;
        },
      },
    });
    manager.addMetricsServerExtraHandler('/more', (_, response) => void response.end('more'));
    const url = manager.url('metrics');
    for (const path of ['/metrics', '/more']) {
      expect((await get(`${url}${path}`)).status).toBe(401);
      expect(
        (await get(`${url}${path}`, { headers: { authorization: 'Bearer good' } })).status,
      ).toBe(200);
    }
  });

  test('are an error when a collector fails, which is reported', async () => {
    const { manager } = await serving({ metrics: { bindAddress: LOCAL } });
    const failure = new Error('no figures');
    manager.addCollector({
      text() {
        throw failure;
      },
    });
    expect(await get(`${manager.url('metrics')}/metrics`)).toMatchObject({
      status: 500,
      text: 'An error has occurred while serving metrics:\n\ncollector 7, an object: no figures\n',
    });
    expect(reported).toEqual([failure]);
  });

  test('are off without an address; extra handlers then get a warning', async () => {
    const logged: unknown[] = [];
    const nothing = (): void => undefined;
    const logger = {
      debug: nothing,
      info: nothing,
      error: nothing,
      warn: (...line: unknown[]) => void logged.push(line),
    };
    const { manager } = await serving({ logger, metrics: { bindAddress: '0' } });
    manager.addMetricsServerExtraHandler('/more', nothing);
    expect(manager.url('metrics')).toBeUndefined();
    expect(logged).toEqual([
      ['metrics are not served: the extra handler is ignored', { path: '/more' }],
    ]);
  });

  test('may be served by https (… secure serving is enabled)', async () => {
    const ca = await authority();
    const tls = await certificate(ca, 'metrics');
    const { manager } = await serving({ metrics: { bindAddress: LOCAL, tls } });
    const url = `${manager.url('metrics')}`;
    expect(url).toMatch(/^https:/);
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      httpsGet(`${url}/metrics`, { ca: ca.cert, agent: false }, resolve).once('error', reject);
    });
    expect(parseText(await textOf(answer)).size).toBeGreaterThan(0);
  });

  test('are gone when the manager has ended (should stop serving metrics…)', async () => {
    const { manager, stop, done } = await serving({ metrics: { bindAddress: LOCAL } });
    const url = `${manager.url('metrics')}/metrics`;
    stop();
    await done;
    await expect(get(url)).rejects.toThrow();
  });

  test('end the manager if their address is in use (…is already in use)', async () => {
    const { manager: first } = await serving({ metrics: { bindAddress: LOCAL } });
    const bindAddress = new URL(first.url('metrics') as string).host;
    const tls = await certificate(await authority(), 'metrics');
    for (const options of [
      { metrics: { bindAddress } },
      { metrics: { bindAddress, tls } },
      { healthProbe: { bindAddress } },
    ]) {
      const { manager, clock } = managerOf(options);
      const { done } = startManager(manager, clock);
      await expect(done).rejects.toMatchObject({
        code: 'LISTEN',
        message: expect.stringContaining(`cannot listen on ${bindAddress}: `),
      });
      expect(manager.url('metrics')).toBeUndefined();
    }
  });
});

describe('the certificates of a server', () => {
  /** The certificate that a client sees which trusts nobody. */
  const seen = (url: string): Promise<string | undefined> =>
    new Promise((resolve, reject) => {
      const { hostname, port } = new URL(url);
      const socket = connectTLS(
        { host: hostname, port: Number(port), rejectUnauthorized: false },
        () => {
          resolve(String(socket.getPeerCertificate().subject.CN));
          socket.destroy();
        },
      );
      socket.once('error', reject);
    });

  test('are read again each ten seconds, and the last good pair stays', async () => {
    const ca = await authority();
    const [first, second] = [await certificate(ca, 'first'), await certificate(ca, 'second')];
    let pair: () => Promise<{ cert: string; key: string }> = async () => first;
    const { manager, clock, stop, done } = await serving({
      metrics: { bindAddress: LOCAL, tls: () => pair() },
    });
    const url = manager.url('metrics') as string;
    const set = vi.spyOn(TLSServer.prototype, 'setSecureContext');
    onTestFinished(() => set.mockRestore());
    await clock.run(20_000);
    expect(set).not.toHaveBeenCalled();
    expect(await seen(url)).toBe('first');
    pair = async () => second;
    await clock.run(9999);
    expect(await seen(url)).toBe('first');
    await clock.run(1);
    expect(await seen(url)).toBe('second');
    // A renewal that is read half-way, and one that fails.
    pair = async () => ({ cert: first.cert, key: second.key });
    await clock.run(10_000);
    expect(await seen(url)).toBe('second');
    pair = () => Promise.reject(new Error('no file'));
    await clock.run(10_000);
    expect(await seen(url)).toBe('second');
    expect(reported.map(String)).toEqual([
      expect.stringContaining('key values mismatch'),
      'Error: no file',
    ]);
    pair = async () => first;
    await clock.run(10_000);
    expect(await seen(url)).toBe('first');
    stop();
    await done;
    expect(clock.timers()).toBe(0);
  });

  test('may be read from files', async () => {
    const { path, remove } = await certificateFolder('filed');
    onTestFinished(remove);
    const paths = { cert: `${path}/tls.crt`, key: `${path}/tls.key` };
    const { manager } = await serving({
      metrics: { bindAddress: LOCAL, tls: certificateFiles(paths) },
    });
    expect(await seen(manager.url('metrics') as string)).toBe('filed');
  });

  test('are counted when they are read, and when that fails', async () => {
    const { path, remove } = await certificateFolder('counted');
    onTestFinished(remove);
    const { manager, clock } = await serving({
      metrics: { bindAddress: LOCAL },
      webhook: { bindAddress: 'localhost:0', certDir: path },
    });
    const counted = async (): Promise<(number | undefined)[]> => {
      const families = parseText((await get(`${manager.url('metrics')}/metrics`)).text);
      return ['total', 'errors_total'].map(
        (name) => families.get(`certwatcher_read_certificate_${name}`)?.samples[0]?.value,
      );
    };
    expect(await counted()).toEqual([1, 0]);
    await clock.run(10_000);
    await expect.poll(counted).toEqual([2, 0]);
    await clock.run(10_000);
    await expect.poll(counted).toEqual([3, 0]);
    const other = await certificateFolder('other');
    onTestFinished(other.remove);
    copyFileSync(`${other.path}/tls.key`, `${path}/tls.key`); // of another certificate
    await clock.run(10_000);
    await expect.poll(counted).toEqual([4, 1]);
    rmSync(`${path}/tls.key`);
    await clock.run(10_000);
    await expect.poll(counted).toEqual([5, 2]);
    copyFileSync(`${other.path}/tls.key`, `${path}/tls.key`);
    copyFileSync(`${other.path}/tls.crt`, `${path}/tls.crt`);
    await clock.run(10_000);
    await expect.poll(counted).toEqual([6, 2]);
    expect(await seen(manager.url('webhook') as string)).toBe('other');
  });

  test('that are never read are not counted', async () => {
    const { manager } = await serving({ metrics: { bindAddress: LOCAL } });
    const response = await get(`${manager.url('metrics')}/metrics`);
    expect(response.text).not.toContain('certwatcher');
  });

  test('are required at the start', async () => {
    const { manager, clock } = managerOf({
      metrics: {
        bindAddress: LOCAL,
        tls: certificateFiles({ cert: '/nowhere/tls.crt', key: '/nowhere/tls.key' }),
      },
    });
    await expect(startManager(manager, clock).done).rejects.toMatchObject({
      code: 'LISTEN',
      message: expect.stringMatching(/^the server "metrics, live page" has no certificate: ENOENT/),
    });
  });
});

describe('the live page', () => {
  const page = '/debug/capstan';

  test('is on the metrics server if only this machine can reach that', async () => {
    const { manager } = await serving({ metrics: { bindAddress: LOCAL } });
    await manager.elected();
    expect(manager.url('debugPage')).toBe(manager.url('metrics'));
    const response = await get(`${manager.url('debugPage')}${page}`);
    expect([response.status, response.headers.get('content-type')]).toEqual([
      200,
      'text/html; charset=utf-8',
    ]);
    const state = JSON.parse((await get(`${manager.url('debugPage')}${page}/state`)).text);
    expect(state).toMatchObject({ stopping: false, controllers: [] });
  });

  test('is not served elsewhere by default, and can have its own address', async () => {
    const everywhere = await serving({ metrics: { bindAddress: ':0' } });
    expect(everywhere.manager.url('debugPage')).toBeUndefined();
    expect((await get(`${everywhere.manager.url('metrics')}${page}`)).status).toBe(404);
    const wanted = await serving({
      metrics: { bindAddress: ':0', filter: () => true },
      debugPage: true,
    });
    expect((await get(`${wanted.manager.url('metrics')}${page}`)).status).toBe(200);
    const alone = await serving({
      metrics: { bindAddress: ':0' },
      debugPage: { bindAddress: LOCAL },
    });
    expect(alone.manager.url('debugPage')).not.toBe(alone.manager.url('metrics'));
    expect((await get(`${alone.manager.url('debugPage')}${page}`)).status).toBe(200);
    expect((await get(`${alone.manager.url('debugPage')}/metrics`)).status).toBe(404);
    const remote = await serving({ debugPage: { bindAddress: ':0', allowRemote: true } });
    expect((await get(`${remote.manager.url('debugPage')}${page}`)).status).toBe(200);
    const off = await serving({ metrics: { bindAddress: LOCAL }, debugPage: false });
    expect(off.manager.url('debugPage')).toBeUndefined();
  });

  // The filter kept strangers from the metrics but not from the page on the same address.
  test('is behind the metrics filter on the metrics address, as are profiles', async () => {
    const requested: string[] = [];
    const filter = (request: IncomingMessage, response: ServerResponse): boolean => {
      requested.push(String(request.url));
      response.writeHead(401).end();
      return false;
    };
    for (const options of [
      { metrics: { bindAddress: ':0', filter }, debugPage: true },
      { metrics: { bindAddress: LOCAL, filter } },
      {
        metrics: { bindAddress: ':0', filter },
        debugPage: { bindAddress: ':0', allowRemote: true },
        profiling: { bindAddress: ':0', allowRemote: true },
      },
    ]) {
      const { manager } = await serving(options);
      const paths = ['/debug/capstan', '/debug/capstan/', '/debug/capstan/state', '/metrics'];
      if ('profiling' in options) paths.push('/debug/pprof/');
      requested.length = 0;
      for (const path of paths)
        expect((await get(`${manager.url('metrics')}${path}`)).status, path).toBe(401);
      expect(requested).toEqual(paths);
    }
    const apart = await serving({
      metrics: { bindAddress: LOCAL, filter },
      debugPage: { bindAddress: '127.0.0.2:0' },
    });
    expect((await get(`${apart.manager.url('debugPage')}/debug/capstan`)).status).toBe(200);
  });

  test('is refused on a metrics address that others can reach without a filter', () => {
    for (const bindAddress of [':8080', '0.0.0.0:8080', '[::]:8080'])
      expect(() => managerOf({ metrics: { bindAddress }, debugPage: true })).toThrow(
        /"options\.debugPage" expected false; or metrics\.filter/,
      );
    for (const metrics of [{ bindAddress: '127.0.0.1:8080' }, {}])
      managerOf({ metrics, debugPage: true });
  });
});

describe('the servers of a manager', () => {
  test('are one server for equal addresses', async () => {
    const { manager } = await serving({
      metrics: { bindAddress: LOCAL },
      healthProbe: { bindAddress: LOCAL },
      profiling: { bindAddress: LOCAL },
    });
    const url = manager.url('metrics');
    expect([manager.url('healthProbe'), manager.url('profiling')]).toEqual([url, url]);
    expect(manager.report().runnables[0]).toMatchObject({
      name: 'health probes, metrics, profiles, live page',
      state: 'running',
    });
  });

  test('listen on IPv6 too', async () => {
    const { manager } = await serving({ metrics: { bindAddress: '[::1]:0' } });
    expect(manager.url('metrics')).toMatch(/^http:\/\/\[::1\]:\d+$/);
    expect((await get(`${manager.url('metrics')}/metrics`)).status).toBe(200);
  });

  test('treat an invalid request target as a path that does not exist', async () => {
    const { manager } = await serving({ metrics: { bindAddress: LOCAL } });
    const { port } = new URL(manager.url('metrics') as string);
    const socket = connect(Number(port), '127.0.0.1');
    socket.end('OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    let answer = '';
    socket.setEncoding('utf8').on('data', (text) => {
      answer += text;
    });
    await once(socket, 'close');
    expect(answer).toMatch(/^HTTP\/1.1 404 /);
  });
});

describe('a server as a runnable', () => {
  const run = (options: Partial<ConstructorParameters<typeof HTTPServer>[0]>) => {
    const server = new HTTPServer({
      name: 'mine',
      bindAddress: LOCAL,
      handler: (_, response) => void response.end('hi'),
      ...options,
    });
    const stopper = new AbortController();
    const done = server.start({ signal: stopper.signal });
    done.catch(() => undefined);
    onTestFinished(() => stopper.abort());
    return { server, stop: () => stopper.abort(), done };
  };

  test('closes idle connections at once, and finishes responses in progress', async () => {
    const arrived = { begun: Promise.withResolvers<void>(), waits: Promise.withResolvers<void>() };
    const finish = Promise.withResolvers<void>();
    const { server, stop, done } = run({
      handler: async (request, response) => {
        if (request.url === '/quick') return void response.end('quick');
        if (request.url === '/begun') response.write('be');
        arrived[request.url === '/begun' ? 'begun' : 'waits'].resolve();
        await finish.promise;
        response.end('gun');
      },
    });
    await server.listening();
    // A client that never closes a connection: if the server did not either, it would not end.
    const agent = new Agent({ keepAlive: true });
    onTestFinished(() => agent.destroy());
    const ask = (path: string) =>
      new Promise<string>((resolve, reject) => {
        httpGet(`${server.url}${path}`, { agent }, (response) => resolve(textOf(response))).once(
          'error',
          reject,
        );
      });
    expect(await ask('/quick')).toBe('quick'); // its connection is kept
    const answers = ['/begun', '/waits'].map(ask);
    await Promise.all([arrived.begun.promise, arrived.waits.promise]);
    stop();
    await expect(get(`${server.url}/quick`)).rejects.toThrow();
    finish.resolve();
    expect(await Promise.all(answers)).toEqual(['begun', 'gun']);
    await done;
  });

  test('closes connections without a response after its shutdownTimeout', async () => {
    const arrived = Promise.withResolvers<void>();
    const { clock } = managerOf();
    const { server, stop, done } = run({
      shutdownTimeout: 1000,
      clock,
      handler: () => {
        arrived.resolve();
      },
    });
    await server.listening();
    const answer = fetch(`${server.url}/`).catch((error: unknown) => error);
    await arrived.promise;
    stop();
    await clock.run(1000);
    expect(await answer).toBeInstanceOf(Error);
    await done;
    expect(clock.timers()).toBe(0);
  });

  test('answers 500 when its handler throws or rejects, and reports it', async () => {
    const failure = new Error('handler');
    const { server } = run({ handler: () => Promise.reject(failure) });
    await server.listening();
    expect(await get(server.url)).toMatchObject({ status: 500, text: 'Internal Server Error\n' });
    expect(reported).toEqual([failure]);
  });

  test('does not listen if it is stopped before', async () => {
    const { server, stop, done } = run({ bindAddress: 'localhost:0' });
    stop();
    await done;
    await expect(get(server.url)).rejects.toThrow();
  });

  test('runs once, and not at all after the signal', async () => {
    const { server, stop, done } = run({});
    await server.listening();
    await expect(server.start({ signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'ALREADY_STARTED',
    });
    stop();
    await done;
    const late = new HTTPServer({ bindAddress: LOCAL, handler: () => undefined });
    await late.start({ signal: AbortSignal.abort() });
    await expect(late.listening()).rejects.toMatchObject({ code: 'STOPPED' });
    expect(late.url).toBeUndefined();
  });

  test('listens only while leading with onlyServeWhenLeader', async () => {
    const leader = new HTTPServer({
      bindAddress: LOCAL,
      handler: () => undefined,
      onlyServeWhenLeader: true,
    });
    const webhooks = new HTTPServer({
      bindAddress: LOCAL,
      handler: () => undefined,
      webhooks: true,
    });
    const { manager } = managerOf();
    manager.add(leader);
    manager.add(webhooks);
    expect(manager.report().runnables.map(({ group }) => group)).toEqual([
      'webhooks',
      'caches',
      'leader election',
    ]);
  });

  test('does not delay a manager whose grace period is over', async () => {
    const arrived = Promise.withResolvers<void>();
    const { manager, clock } = managerOf({
      gracefulShutdownTimeout: 1000,
      metrics: { bindAddress: LOCAL, extraHandlers: { '/hangs': () => arrived.resolve() } },
    });
    const { stop, done } = startManager(manager, clock);
    await manager.serving();
    const answer = fetch(`${manager.url('metrics')}/hangs`).catch((error: unknown) => error);
    await arrived.promise;
    stop();
    await clock.run(1000);
    await expect(done).rejects.toMatchObject({
      code: 'TIMEOUT',
      message: expect.stringContaining('metrics, live page (HTTP servers)'),
    });
    expect(await answer).toBeInstanceOf(Error);
  });
});
