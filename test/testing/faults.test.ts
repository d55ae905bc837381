import { ApiServer, FakeClock, type Fault } from 'capstan/testing';
import { describe, expect, test } from 'vitest';
import {
  brief,
  CONFIG_MAPS,
  configMapBody,
  startApi,
  WIDGETS,
  widgetBody,
} from '../helpers/server/requests.ts';

/** What became of a request that does not get its answer. */
const failure = async (answer: Promise<unknown>): Promise<unknown> =>
  answer.then(
    () => 'answered',
    (error: unknown) => error,
  );

test('status answers with a Status, a reason and Retry-After, `times` times', async () => {
  const { api, server } = await startApi();
  server.inject({ do: 'status', status: 429, retryAfter: 6_001, times: 2 });
  for (let at = 0; at < 2; at++) {
    const answer = await api.send('POST', CONFIG_MAPS, { body: configMapBody('a') });
    expect(answer).toMatchObject({
      status: 429,
      body: {
        kind: 'Status',
        status: 'Failure',
        reason: 'TooManyRequests',
        code: 429,
        details: { retryAfterSeconds: 7 },
      },
    });
    expect(answer.header('retry-after')).toBe('7');
  }
  expect((await api.get(`${CONFIG_MAPS}/a`)).status).toBe(404);
  server.inject({ do: 'status', status: 410, reason: 'Gone', times: 1 });
  expect(await api.get(CONFIG_MAPS)).toMatchObject({ status: 410, body: { reason: 'Gone' } });
});

test('a fault hits its verb and its path only, and nothing once it is taken back', async () => {
  const { api, server } = await startApi();
  await api.make(CONFIG_MAPS, configMapBody('a'));
  const takeBack = server.inject({ do: 'status', status: 500, verb: 'get', path: '/configmaps/a' });
  expect((await api.get(`${CONFIG_MAPS}/a`)).status).toBe(500);
  expect((await api.get(`${CONFIG_MAPS}/b`)).status).toBe(404);
  expect((await api.get(CONFIG_MAPS)).status).toBe(200);
  expect((await api.patch(`${CONFIG_MAPS}/a`, {})).status).toBe(200);
  takeBack();
  takeBack();
  expect((await api.get(`${CONFIG_MAPS}/a`)).status).toBe(200);
});

test.for<[verb: NonNullable<Fault['verb']>, method: string, path: string]>([
  ['list', 'GET', WIDGETS],
  ['watch', 'GET', `${WIDGETS}?watch=1`],
  ['get', 'GET', `${WIDGETS}/a`],
  ['create', 'POST', WIDGETS],
  ['update', 'PUT', `${WIDGETS}/a`],
  ['update', 'PUT', `${WIDGETS}/a/status`],
  ['patch', 'PATCH', `${WIDGETS}/a`],
  ['delete', 'DELETE', `${WIDGETS}/a`],
  ['delete', 'DELETE', WIDGETS],
])('the verb %s is %s %s', async ([verb, method, path]) => {
  const { server } = await startApi();
  server.inject({ do: 'status', status: 503, verb });
  expect((await fetch(server.url + path, { method })).status).toBe(503);
  expect((await fetch(`${server.url}/version`)).status).toBe(200);
});

test('faults are met in the order in which they were injected, one at a time', async () => {
  const { api, server } = await startApi();
  server.inject({ do: 'status', status: 500, times: 1 });
  server.inject({ do: 'status', status: 503, times: 1 });
  const statuses = [];
  for (let at = 0; at < 3; at++) statuses.push((await api.get(CONFIG_MAPS)).status);
  expect(statuses).toEqual([500, 503, 200]);
});

test('reset ends the connection with a reset, and the request was not carried out', async () => {
  const { api, server } = await startApi();
  server.inject({ do: 'reset', verb: 'create', times: 1 });
  expect(await failure(api.send('POST', CONFIG_MAPS, { body: configMapBody('a') }))).toMatchObject({
    code: 'TRANSPORT',
    kind: 'reset',
  });
  expect((await api.get(CONFIG_MAPS)).body.items).toEqual([]);
});

/**
 * Story: a test asked for one reset of a GET, and the client reported none. The connection was
 * reused, so the transport, like Go's, concluded that the server had closed an idle connection, and
 * sent the request again. The fault was used up by then.
 */
test.for([
  ['get', `${CONFIG_MAPS}/a`],
  ['list', CONFIG_MAPS],
  ['watch', `${CONFIG_MAPS}?watch=1`],
] as const)(
  'each reset of a %s is met over a connection that was used before',
  async ([verb, path]) => {
    const { api, server } = await startApi();
    await api.make(CONFIG_MAPS, configMapBody('a'));
    server.inject({ do: 'delay', ms: 1, times: 1 });
    server.inject({ do: 'reset', verb, times: 2 });
    const reset = { code: 'TRANSPORT', kind: 'reset' };
    for (let at = 0; at < 2; at++) expect(await failure(api.get(path))).toMatchObject(reset);
    expect(server.unmetFaults()).toEqual([]);
    expect((await api.get(CONFIG_MAPS)).status).toBe(200);
  },
);

test('a request that was about to be reset, and was not, ends with its transport', async () => {
  const { api, server } = await startApi();
  server.inject({ do: 'delay', ms: 1, times: 1 });
  const takeBack = server.inject({ do: 'reset', verb: 'watch' });
  const transport = server.transport();
  const opening = transport.request({ method: 'GET', path: CONFIG_MAPS, query: { watch: '1' } });
  takeBack();
  const { status, body } = await opening;
  expect(status).toBe(200);
  await transport.close?.();
  expect(await failure(body[Symbol.asyncIterator]().next())).toMatchObject({ kind: 'reset' });
  server.inject({ do: 'reset' });
  expect(await failure(transport.request({ method: 'GET', path: CONFIG_MAPS }))).toMatchObject({
    kind: 'refused',
  });
  expect(await failure(api.get(CONFIG_MAPS))).toMatchObject({ kind: 'reset' });
});

describe('refuse', () => {
  test('without a filter closes the port and all connections, until it is removed', async () => {
    const { api, server } = await startApi();
    const watch = await api.watch(CONFIG_MAPS);
    const takeBack = server.inject({ do: 'refuse' });
    expect((await watch.rest()).error).toMatchObject({ kind: 'reset' });
    expect(await failure(fetch(server.url))).toMatchObject({ cause: { code: 'ECONNREFUSED' } });
    expect(await failure(api.get(CONFIG_MAPS))).toMatchObject({ kind: 'refused' });
    const second = server.inject({ do: 'refuse' });
    takeBack();
    expect(await failure(fetch(server.url))).toMatchObject({ cause: { code: 'ECONNREFUSED' } });
    second();
    await api.make(CONFIG_MAPS, configMapBody('a'));
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
  });

  test('with a filter refuses the requests of transport() and resets those of others', async () => {
    const { api, server } = await startApi();
    server.inject({ do: 'refuse', verb: 'list', times: 2 });
    expect((await api.get('/version')).status).toBe(200);
    expect(await failure(api.get(CONFIG_MAPS))).toMatchObject({
      code: 'TRANSPORT',
      kind: 'refused',
    });
    expect(await failure(fetch(server.url + CONFIG_MAPS))).toBeInstanceOf(TypeError);
    expect((await api.get(CONFIG_MAPS)).status).toBe(200);
  });

  test('does not keep a server from stopping', async () => {
    const server = await ApiServer.start();
    const takeBack = server.inject({ do: 'refuse' });
    await server.stop();
    takeBack();
    expect(await failure(fetch(server.url))).toMatchObject({ cause: { code: 'ECONNREFUSED' } });
  });
});

describe('stall', () => {
  test('never answers, until the client or the server cuts the connection', async () => {
    const { api, server } = await startApi();
    server.inject({ do: 'stall', verb: 'get', times: 2 });
    let settled = 0;
    const abort = new AbortController();
    const aborted = failure(api.send('GET', `${CONFIG_MAPS}/a`, { signal: abort.signal })).finally(
      () => settled++,
    );
    const cut = failure(api.get(`${CONFIG_MAPS}/a`)).finally(() => settled++);
    for (let at = 0; at < 3; at++) await api.get(CONFIG_MAPS);
    expect(settled).toBe(0);
    abort.abort();
    expect(await aborted).toMatchObject({ kind: 'aborted' });
    server.dropConnections();
    expect(await cut).toMatchObject({ kind: 'reset' });
  });

  test('gives a watch its headers and then silence, bookmarks and end included', async () => {
    const clock = new FakeClock();
    const { api, server } = await startApi({ clock });
    server.inject({ do: 'stall', verb: 'watch', times: 1 });
    const stalled = await api.watch(CONFIG_MAPS, {
      allowWatchBookmarks: 'true',
      timeoutSeconds: '300',
    });
    const healthy = await api.watch(CONFIG_MAPS);
    expect(stalled.status).toBe(200);
    await api.make(CONFIG_MAPS, configMapBody('a'));
    expect((await healthy.take(1)).map(brief)).toEqual(['ADDED a']);
    clock.step(301_000);
    server.dropConnections();
    expect(await stalled.rest()).toMatchObject({ events: [], error: { kind: 'reset' } });
  });
});

describe('drop', () => {
  test.for([0, 1, 100, 250])('cuts an answer after %i bytes of its body', async (afterBytes) => {
    const { api, server } = await startApi();
    await api.make(CONFIG_MAPS, configMapBody('a', { data: { k: 'v'.repeat(1000) } }));
    server.inject({ do: 'drop', afterBytes, times: 1 });
    const response = await server.transport().request({ method: 'GET', path: `${CONFIG_MAPS}/a` });
    expect(response.status).toBe(200);
    let bytes = 0;
    const read = async (): Promise<void> => {
      for await (const chunk of response.body) bytes += chunk.length;
    };
    expect(await failure(read())).toMatchObject({ code: 'TRANSPORT', kind: 'reset' });
    expect(bytes).toBe(afterBytes);
  });

  test('carries the request out: the answer is lost, the write is not', async () => {
    const { api, server } = await startApi();
    server.inject({ do: 'drop', verb: 'create', afterBytes: 0, times: 1 });
    expect(
      await failure(api.send('POST', CONFIG_MAPS, { body: configMapBody('a') })),
    ).toMatchObject({
      kind: 'reset',
    });
    expect((await api.get(`${CONFIG_MAPS}/a`)).status).toBe(200);
  });

  test('cuts a watch in the middle of an event', async () => {
    const { api, server } = await startApi();
    await api.make(CONFIG_MAPS, configMapBody('a'));
    await api.make(CONFIG_MAPS, configMapBody('b'));
    const first =
      JSON.stringify({ type: 'ADDED', object: (await api.get(`${CONFIG_MAPS}/a`)).body }).length +
      1;
    server.inject({ do: 'drop', verb: 'watch', afterBytes: first + 20, times: 1 });
    const watch = await api.watch(CONFIG_MAPS);
    const { events, error } = await watch.rest();
    expect(events.map(brief)).toEqual(['ADDED a']);
    expect(error).toMatchObject({ kind: 'reset' });
  });
});

test('delay answers after the time, followed by the next fault that matches', async () => {
  const clock = new FakeClock();
  const { api, server } = await startApi({ clock });
  server.inject({ do: 'delay', ms: 5_000, times: 1 });
  server.inject({ do: 'status', status: 503, times: 1 });
  let answered = false;
  const late = api.get(CONFIG_MAPS).finally(() => {
    answered = true;
  });
  while (clock.timers() === 0) await clock.settle();
  clock.step(4_999);
  expect((await api.get(CONFIG_MAPS)).status).toBe(200);
  expect(answered).toBe(false);
  clock.step(1);
  expect((await late).status).toBe(503);
  const abort = new AbortController();
  server.inject({ do: 'delay', ms: 5_000 });
  const left = failure(api.send('GET', CONFIG_MAPS, { signal: abort.signal }));
  while (clock.timers() === 0) await clock.settle();
  abort.abort();
  expect(await left).toMatchObject({ kind: 'aborted' });
  while (clock.timers() > 0) await clock.settle();
});

test('garbage sends its bytes as a body that ends cleanly', async () => {
  const { api, server } = await startApi();
  server.inject({ do: 'garbage', verb: 'list', bytes: '<html>', times: 1 });
  const response = await fetch(server.url + CONFIG_MAPS);
  expect([response.status, await response.text()]).toEqual([200, '<html>']);
  const bytes = `${JSON.stringify({ type: 'ADDED', object: widgetBody('made-up') })}\n{"type":"MOD`;
  server.inject({ do: 'garbage', verb: 'watch', bytes });
  expect((await (await api.watch(WIDGETS)).rest()).events.map(brief)).toEqual(['ADDED made-up']);
});

test('dropConnections cuts every connection and keeps all objects', async () => {
  const { api, server } = await startApi();
  await api.make(CONFIG_MAPS, configMapBody('a'));
  const watches = [await api.watch(CONFIG_MAPS), await api.watch(WIDGETS)];
  server.dropConnections();
  for (const watch of watches) expect((await watch.rest()).error).toMatchObject({ kind: 'reset' });
  expect((await api.get(`${CONFIG_MAPS}/a`)).status).toBe(200);
});

test('faults that were hit too few times are reported', async () => {
  const { api, server } = await startApi();
  server.inject({ do: 'status', status: 500 });
  const takeBack = server.inject({ do: 'reset', verb: 'watch', times: 1 });
  server.inject({ do: 'status', status: 503, verb: 'list', times: 2 });
  expect(server.unmetFaults().map((fault) => fault.times)).toEqual([1, 2]);
  takeBack();
  await api.get(CONFIG_MAPS);
  expect(server.unmetFaults()).toEqual([{ do: 'status', status: 503, verb: 'list', times: 2 }]);
});

test.for<[fault: object, message: RegExp]>([
  [
    { do: 'explode' },
    /"fault.do" expected status, refuse, stall, reset, .* replay or swap, got "explode"/,
  ],
  [{ do: 'status', status: 99 }, /"fault.status" expected an integer >= 200, got 99/],
  [{ do: 'status', status: 600 }, /"fault.status" expected an HTTP status/],
  [{ do: 'drop' }, /"fault.afterBytes" expected an integer >= 0, got undefined/],
  [{ do: 'delay', ms: Number.NaN }, /"fault.ms" expected milliseconds >= 0, got NaN/],
  [
    { do: 'status', status: 429, retryAfter: -1 },
    /"fault.retryAfter" expected milliseconds >= 0, got -1/,
  ],
  [{ do: 'garbage' }, /"fault.bytes" expected a string/],
  [
    { do: 'reset', verb: 'put' },
    /"fault.verb" expected list, watch, get, create, update, patch, delete, got "put"/,
  ],
  [{ do: 'reset', times: 0 }, /"fault.times" expected an integer >= 1, got 0/],
  [{ do: 'reset', path: 1 }, /"fault.path" expected a string, got 1/],
  [{ do: 'reset', query: 1 }, /"fault.query" expected a string, got 1/],
  [{ do: 'split', chunkBytes: 0 }, /"fault.chunkBytes" expected an integer >= 1, got 0/],
  [{ do: 'insert', bytes: 1 }, /"fault.bytes" expected a string or bytes, got 1/],
  [
    { do: 'insert', bytes: '', afterEvents: -1 },
    /"fault.afterEvents" expected an integer >= 0, got -1/,
  ],
  [{ do: 'error', status: 0 }, /"fault.status" expected an integer >= 200, got 0/],
  [{ do: 'hang', frameBytes: 0 }, /"fault.frameBytes" expected an integer >= 1, got 0/],
  [
    { do: 'omit', what: 'all' },
    /"fault.what" expected bookmarks, initial-events-end, version, newline, got "all"/,
  ],
  [{ do: 'replay' }, /"fault.lastEvents" expected an integer >= 1, got undefined/],
])('the fault %o is refused', async ([fault, message]) => {
  const { server } = await startApi();
  expect(() => server.inject(fault as Fault)).toThrow(
    expect.objectContaining({ code: 'INVALID_ARGUMENT', message: expect.stringMatching(message) }),
  );
});
