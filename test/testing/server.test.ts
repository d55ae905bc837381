import { ApiServer, FakeClock } from 'capstan/testing';
import { describe, expect, test } from 'vitest';
import {
  ApiRequests,
  CONFIG_MAPS,
  configMapBody,
  startApi,
  WIDGETS,
  widgetBody,
} from '../helpers/server/requests.ts';

test('starts on a free port of loopback and says its URL', async () => {
  const { server } = await startApi();
  expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  const { server: other } = await startApi();
  expect(other.url).not.toBe(server.url);
});

test('starts on the port it is given, and rejects when that is taken', async () => {
  const { server } = await startApi();
  const port = Number(new URL(server.url).port);
  await expect(ApiServer.start({ port })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  await server.stop();
  const again = await ApiServer.start({ port });
  expect(again.url).toBe(server.url);
  await again.stop();
});

test.for<[options: object, message: RegExp]>([
  [{ port: -1 }, /"port" expected an integer >= 0, got -1/],
  [{ port: 70_000 }, /"port" expected a port number, got 70000/],
  [{ bookmarkInterval: 0 }, /"bookmarkInterval" expected a number > 0, got 0/],
  [{ historySize: 1.5 }, /"historySize" expected an integer >= 0, got 1.5/],
])('refuses the options %o', async ([options, message]) => {
  await expect(ApiServer.start(options)).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: expect.stringMatching(message),
  });
});

describe('stop', () => {
  test('ends every connection and resolves when the port is free; twice is once', async () => {
    const server = await ApiServer.start();
    const api = new ApiRequests(server.transport());
    const watch = await api.watch(CONFIG_MAPS);
    server.inject({ do: 'stall', verb: 'get' });
    const stalled = api.get(`${CONFIG_MAPS}/a`).catch((error: unknown) => error);
    // The stalled request has arrived when a later one on another connection is answered.
    await api.get(CONFIG_MAPS);
    await Promise.all([server.stop(), server.stop()]);
    expect((await watch.rest()).error).toMatchObject({ kind: 'reset' });
    expect(await stalled).toMatchObject({ code: 'TRANSPORT' });
    await expect(api.get(CONFIG_MAPS)).rejects.toMatchObject({ kind: 'refused' });
    expect(() => server.inject({ do: 'reset' })).toThrow(
      expect.objectContaining({ code: 'STOPPED' }),
    );
    await api.close();
  });

  test('leaves no timer behind', async () => {
    const clock = new FakeClock();
    const server = await ApiServer.start({ clock });
    const api = new ApiRequests(server.transport());
    await api.watch(CONFIG_MAPS, { allowWatchBookmarks: 'true' });
    await server.stop();
    await api.close();
    while (clock.timers() > 0) await clock.settle();
  });

  test('comes with the block when the server is declared with await using', async () => {
    let url: string;
    {
      await using server = await ApiServer.start();
      url = server.url;
      expect((await fetch(`${url}/readyz`)).status).toBe(200);
    }
    await expect(fetch(url)).rejects.toThrow();
  });
});

test('answers health checks, its version and unknown paths', async () => {
  const { api } = await startApi();
  for (const path of ['/healthz', '/livez', '/readyz', '/readyz/ping']) {
    expect(await api.get(path)).toMatchObject({ status: 200, body: 'ok' });
  }
  expect((await api.get('/version')).body).toMatchObject({
    major: '1',
    minor: expect.stringMatching(/^\d+$/),
  });
  for (const path of ['/nope', '/livez/', '/apis/example.com/v1//widgets']) {
    expect((await api.get(path)).status).toBe(404);
  }
  const malformed = await api.get('/api/v1/namespaces/%zz');
  expect([malformed.status, malformed.body]).toEqual([400, '400 Bad Request']);
});

test('discovery tells built-in resources and those that were seen', async () => {
  const { api } = await startApi();
  expect((await api.get('/apis/example.com/v1')).status).toBe(404);
  await api.make(WIDGETS, widgetBody('a'));
  expect((await api.get('/api')).body).toMatchObject({ kind: 'APIVersions', versions: ['v1'] });
  const groups = (await api.get('/apis')).body.groups as {
    name: string;
    preferredVersion: { version: string };
  }[];
  expect(groups).toContainEqual(expect.objectContaining({ name: 'apps' }));
  expect(groups.find((group) => group.name === 'autoscaling')?.preferredVersion.version).toBe('v2');
  expect((await api.get('/apis/example.com')).body).toMatchObject({
    name: 'example.com',
    versions: [{ version: 'v1' }],
  });
  const core = (await api.get('/api/v1')).body.resources as object[];
  expect(core).toContainEqual(
    expect.objectContaining({ name: 'pods', kind: 'Pod', namespaced: true, shortNames: ['po'] }),
  );
  expect(core).toContainEqual(expect.objectContaining({ name: 'pods/status' }));
  expect((await api.get('/apis/example.com/v1')).body.resources).toMatchObject([
    { name: 'widgets', singularName: 'widget', kind: 'Widget', namespaced: true },
    { name: 'widgets/status' },
  ]);
});

test('speaks JSON and YAML and says so', async () => {
  const { api } = await startApi();
  const accept = (value: string) => api.send('GET', CONFIG_MAPS, { headers: { accept: value } });
  expect((await accept('application/json')).header('content-type')).toBe('application/json');
  expect((await accept('application/vnd.kubernetes.protobuf, application/json;q=0.9')).status).toBe(
    200,
  );
  expect((await accept('*/*')).status).toBe(200);
  expect((await accept('application/vnd.kubernetes.protobuf')).status).toBe(406);
  const yaml = await api.send('POST', CONFIG_MAPS, {
    body: 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: first\ndata:\n  k: "1"\n',
    type: 'application/yaml',
  });
  expect(yaml).toMatchObject({ status: 201, body: { data: { k: '1' } } });
  const shown = await api.send('GET', `${CONFIG_MAPS}/first`, {
    headers: { accept: 'application/yaml' },
  });
  expect(shown.header('content-type')).toBe('application/yaml');
  expect(String(shown.body)).toMatch(/^apiVersion: v1\ndata:\n {2}k: "1"\nkind: ConfigMap\n/);
  const broken = await api.send('POST', CONFIG_MAPS, { body: 'a: [', type: 'application/yaml' });
  expect(broken.status).toBe(400);
  // The real server takes no application/*, and what is wanted most comes first.
  expect((await accept('application/*')).status).toBe(406);
  const preferred = await accept('application/json;q=0.1,application/yaml');
  expect(preferred.header('content-type')).toBe('application/yaml');
  const parameters = await api.send('POST', CONFIG_MAPS, {
    body: configMapBody('a'),
    type: 'application/json; charset=utf-8',
  });
  expect(parameters.status).toBe(201);
});

test('tells that it is ready, in words where it is asked to', async () => {
  const { api } = await startApi();
  const get = async (path: string, query = {}) => {
    const { status, body } = await api.get(path, query);
    return [status, String(body as unknown)];
  };
  expect(await get('/readyz')).toEqual([200, 'ok']);
  expect(await get('/livez/ping')).toEqual([200, 'ok']);
  const [, words] = await get('/readyz', { verbose: '' });
  expect(words).toMatch(/^\[\+\]ping ok\n.*readyz check passed\n$/s);
  expect((await get('/readyz/nothing'))[0]).toBe(404);
});

test('an empty dryRun is one that there is not', async () => {
  const { api } = await startApi();
  const made = await api.send('POST', CONFIG_MAPS, {
    body: configMapBody('a'),
    query: { dryRun: '' },
  });
  expect(made).toMatchObject({
    status: 422,
    body: { details: { kind: 'CreateOptions', causes: [{ field: 'dryRun' }] } },
  });
});

test('one object is watched by its name, by the old path', async () => {
  const { api } = await startApi();
  await api.make(CONFIG_MAPS, configMapBody('a'));
  await api.make(CONFIG_MAPS, configMapBody('b'));
  const watch = await api.watch(`${CONFIG_MAPS.replace('/v1/', '/v1/watch/')}/b`);
  expect((await watch.next())?.object.metadata.name).toBe('b');
});

test('creation times go by the clock it is given', async () => {
  const clock = new FakeClock();
  const { api } = await startApi({ clock });
  const first = await api.make(CONFIG_MAPS, configMapBody('a'));
  clock.step(3_600_000);
  const second = await api.make(CONFIG_MAPS, configMapBody('b'));
  expect(
    Date.parse(second.metadata.creationTimestamp) - Date.parse(first.metadata.creationTimestamp),
  ).toBe(3_600_000);
});

test('versions are one counter over all resources', async () => {
  const { api } = await startApi();
  const versions: bigint[] = [];
  for (const path of [CONFIG_MAPS, WIDGETS, '/api/v1/namespaces/x/secrets', CONFIG_MAPS]) {
    const body = path === WIDGETS ? widgetBody('a') : { metadata: { name: `n${versions.length}` } };
    versions.push(BigInt((await api.make(path, body)).metadata.resourceVersion));
  }
  for (const [at, version] of versions.entries())
    if (at > 0) expect(version).toBeGreaterThan(versions[at - 1]!);
});
