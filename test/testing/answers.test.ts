/** Responses: over TLS, compressed, delayed, and 401 for callers without credentials. */
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { ApiServer, FakeClock } from 'capstan/testing';
import { generate } from 'selfsigned';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  ApiRequests,
  brief,
  CONFIG_MAPS,
  configMapBody,
  soon,
  startApi,
  WIDGETS,
  widgetBody,
} from '../helpers/server/requests.ts';

const INITIAL = {
  sendInitialEvents: 'true',
  resourceVersionMatch: 'NotOlderThan',
  allowWatchBookmarks: 'true',
};

/** As they come: the transports decompress. */
async function bytesOf(
  server: ApiServer,
  path: string,
  query: Record<string, string>,
  accept: string,
) {
  const request = get(`${server.url}${path}?${new URLSearchParams(query)}`, {
    headers: { 'accept-encoding': accept },
  });
  const [answer] = (await once(request, 'response')) as [IncomingMessage];
  const chunks: Uint8Array[] = [];
  for await (const chunk of answer) chunks.push(chunk as Uint8Array);
  return { encoding: answer.headers['content-encoding'], bytes: Buffer.concat(chunks) };
}

describe('gzip', () => {
  test('is for large answers to clients that say so', async () => {
    const { api, server } = await startApi();
    await api.make(CONFIG_MAPS, configMapBody('small'));
    expect((await bytesOf(server, CONFIG_MAPS, {}, 'gzip')).encoding).toBeUndefined();
    await api.make(CONFIG_MAPS, configMapBody('large', { data: { k: 'v'.repeat(140_000) } }));
    const { encoding, bytes } = await bytesOf(server, CONFIG_MAPS, {}, 'br, gzip');
    expect(encoding).toBe('gzip');
    expect(bytes.length).toBeLessThan(10_000);
    expect(JSON.parse(gunzipSync(bytes).toString()).items.length).toBe(2);
    for (const accept of ['identity', 'gzip;q=1']) {
      expect((await bytesOf(server, CONFIG_MAPS, {}, accept)).encoding).toBeUndefined();
    }
  });

  test('of a watch is an option, and each event is a member of its own', async () => {
    const { api, server } = await startApi({ compressWatches: true });
    for (const name of ['a', 'b']) await api.make(WIDGETS, widgetBody(name));
    server.inject({ do: 'end', afterEvents: 2 });
    const { encoding, bytes } = await bytesOf(server, WIDGETS, { watch: 'true' }, 'gzip');
    expect(encoding).toBe('gzip');
    expect(bytes.toString('latin1').split('\x1f\x8b\x08').length).toBe(3);
    expect(gunzipSync(bytes).toString().trim().split('\n').length).toBe(2);
    expect(
      (await bytesOf(server, WIDGETS, { watch: 'true' }, 'identity')).encoding,
    ).toBeUndefined();
  });
});

describe('a version that does not exist yet', () => {
  test('is awaited for three seconds, then answered with 504 and Retry-After', async () => {
    const clock = new FakeClock();
    const { api } = await startApi({ clock });
    let answered = 0;
    const paths = [WIDGETS, `${WIDGETS}/a`];
    const late = paths.map((path) =>
      api.get(path, { resourceVersion: '100' }).finally(() => answered++),
    );
    while (clock.timers() < 2) await clock.settle();
    clock.step(2_999);
    await api.get(WIDGETS);
    expect(answered).toBe(0);
    clock.step(1);
    for (const answer of await Promise.all(late)) {
      expect(answer).toMatchObject({
        status: 504,
        body: { reason: 'Timeout', details: { retryAfterSeconds: 1 } },
      });
      expect(answer.header('retry-after')).toBe('1');
    }
    expect(clock.timers()).toBe(0);
  });

  test('is answered as soon as it exists, lists and initial events alike', async () => {
    const clock = new FakeClock();
    const { api } = await startApi({ clock });
    const resourceVersion = String(BigInt(await api.version(WIDGETS)) + 2n);
    const list = api.get(WIDGETS, { resourceVersion });
    const watch = api.watch(WIDGETS, { ...INITIAL, resourceVersion });
    while (clock.timers() < 2) await clock.settle();
    for (const name of ['a', 'b']) await api.make(WIDGETS, widgetBody(name));
    expect((await list).body.items.length).toBe(2);
    const events = await (await watch).take(3);
    expect(events.slice(0, 2).map(brief)).toEqual(['ADDED a', 'ADDED b']);
    expect(events[2]).toMatchObject({
      type: 'BOOKMARK',
      object: { metadata: { resourceVersion } },
    });
  });

  test('is an ERROR event for initial events', async () => {
    const { api } = await startApi({ freshnessTimeout: 0 });
    const { events, error } = await (
      await api.watch(WIDGETS, { ...INITIAL, resourceVersion: '100' })
    ).rest();
    expect(error).toBeUndefined();
    expect(events).toMatchObject([{ type: 'ERROR', object: { code: 504, reason: 'Timeout' } }]);
  });

  test('is dropped when its client disconnects', async () => {
    const clock = new FakeClock();
    const { api } = await startApi({ clock });
    const abort = new AbortController();
    const left = api
      .send('GET', WIDGETS, { query: { resourceVersion: '100' }, signal: abort.signal })
      .catch(String);
    while (clock.timers() === 0) await clock.settle();
    abort.abort();
    expect(await left).toMatch(/aborted/);
    while (clock.timers() > 0) await clock.settle();
  });
});

describe('tokens', () => {
  test('are required of every request but running watches, and can be changed', async () => {
    const server = await ApiServer.start({ tokens: ['first'] });
    onTestFinished(() => server.stop());
    const withToken = (token: string): ApiRequests => {
      const client = new ApiRequests(
        server.transport({ headers: { authorization: `Bearer ${token}` } }),
      );
      onTestFinished(() => client.close());
      return client;
    };
    const first = withToken('first');
    const nobody = await new ApiRequests(server.transport()).get(WIDGETS);
    expect(nobody).toMatchObject({ status: 401, body: { reason: 'Unauthorized', code: 401 } });
    const watch = await first.watch(WIDGETS);
    server.setTokens(['second']);
    expect((await first.get(WIDGETS)).status).toBe(401);
    await withToken('second').make(WIDGETS, widgetBody('a'));
    expect((await watch.take(1)).map(brief)).toEqual(['ADDED a']);
    server.setTokens(undefined);
    expect((await first.get(WIDGETS)).status).toBe(200);
  });
});

test('over TLS only its own transport trusts it', async () => {
  const pems = await generate([{ name: 'commonName', value: 'capstan' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] }],
  });
  const server = await ApiServer.start({ tls: { key: pems.private, cert: pems.cert } });
  onTestFinished(() => server.stop());
  expect(server.url).toMatch(/^https:/);
  const api = new ApiRequests(server.transport());
  const watch = await api.watch(WIDGETS);
  await api.make(WIDGETS, widgetBody('a'));
  expect((await watch.take(1)).map(brief)).toEqual(['ADDED a']);
  server.inject({ do: 'reset', verb: 'get' });
  await expect(api.get(`${WIDGETS}/a`)).rejects.toMatchObject({ kind: 'reset' });
  server.dropConnections();
  expect((await watch.rest()).error).toMatchObject({ kind: 'reset' });
  await expect(fetch(server.url)).rejects.toThrow();
  await api.close();
  await expect(ApiServer.start({ tls: {} as { key: string; cert: string } })).rejects.toMatchObject(
    {
      code: 'INVALID_ARGUMENT',
    },
  );
});

describe('a resource that is removed', () => {
  const WIDGET = { group: 'example.com', version: 'v1', plural: 'widgets' };

  test('deletes its objects, ends its watches, and is 404 until it is created again', async () => {
    const { api, server } = await startApi();
    const made = await api.make(WIDGETS, widgetBody('a'));
    const watch = await api.watch(WIDGETS, { resourceVersion: made.metadata.resourceVersion });
    const bringBack = server.removeResource(WIDGET);
    const { events, error } = await watch.rest();
    expect(error).toBeUndefined();
    expect(events.map(brief)).toEqual(['DELETED a']);
    for (const path of [WIDGETS, `${WIDGETS}/a`]) {
      expect(await api.get(path)).toMatchObject({ status: 404, body: '404 page not found\n' });
    }
    expect((await api.get('/apis/example.com/v1')).status).toBe(404);
    bringBack();
    bringBack();
    expect((await api.get(WIDGETS)).body.items).toEqual([]);
    const old = await api.watch(WIDGETS, { resourceVersion: made.metadata.resourceVersion });
    expect((await old.rest()).events).toMatchObject([{ type: 'ERROR', object: { code: 410 } }]);
  });

  test('is a Status where the group is built in', async () => {
    const { api, server } = await startApi();
    server.removeResource({ group: '', version: 'v1', plural: 'configmaps' });
    expect(await api.get(CONFIG_MAPS)).toMatchObject({
      status: 404,
      body: { kind: 'Status', reason: 'NotFound' },
    });
  });

  test('goes and comes with its definition', async () => {
    const { api } = await startApi();
    const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    const schema = { openAPIV3Schema: { type: 'object' } };
    const versions = [{ name: 'v1', served: true, storage: true, schema }];
    const names = { plural: 'widgets', kind: 'Widget' };
    const crd = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'widgets.example.com' },
      spec: { group: 'example.com', scope: 'Namespaced', names, versions },
    };
    await api.make(crds, crd);
    await api.make(WIDGETS, widgetBody('a'));
    const { body } = await api.delete(`${crds}/widgets.example.com`);
    expect(body.metadata.finalizers).toEqual(['customresourcecleanup.apiextensions.k8s.io']);
    await soon(async () => (await api.get(`${crds}/widgets.example.com`)).status).toBe(404);
    await soon(async () => (await api.get(WIDGETS)).status).toBe(404);
    await api.make(crds, crd);
    expect((await api.get(WIDGETS)).body.items).toEqual([]);
  });
});

test('a client that is too far behind has its watch ended in order', async () => {
  const { api, server } = await startApi({ watchBuffer: 5 });
  const big = (x: number): object =>
    widgetBody('big', { spec: { x, filler: 'x'.repeat(1_000_000) } });
  const made = await api.make(WIDGETS, big(0));
  const slow = new ApiRequests(server.transport());
  const watch = await slow.watch(WIDGETS, { resourceVersion: made.metadata.resourceVersion });
  // More than socket buffers on loopback hold, unread.
  for (let x = 1; x <= 40; x++) await api.patch(`${WIDGETS}/big`, { spec: { x } });
  const { events, error } = await watch.rest();
  expect(error).toBeUndefined();
  expect(events.length).toBeLessThan(40);
  expect(events.map((event) => event.object.spec.x)).toEqual(
    Array.from({ length: events.length }, (_, at) => at + 1),
  );
  await slow.close();
});

test('a bookmark has the members that an empty object of its kind has', async () => {
  const { api } = await startApi();
  const [bookmark] = await (await api.watch('/api/v1/namespaces/default/pods', INITIAL)).take(1);
  expect(bookmark!.object).toMatchObject({ kind: 'Pod', spec: { containers: null }, status: {} });
});
