/**
 * Faults within the stream of a watch: each acts at its place, once, and leaves the rest of the
 * stream alone.
 */
import type { Fault } from 'capstan/testing';
import { FakeClock } from 'capstan/testing';
import { describe, expect, test } from 'vitest';
import {
  type ApiRequests,
  brief,
  startApi,
  textOf,
  WIDGETS,
  widgetBody,
} from '../helpers/server/requests.ts';

const event = (name: string): string =>
  `${JSON.stringify({
    type: 'ADDED',
    object: { ...widgetBody(name), metadata: { name, resourceVersion: '7' } },
  })}\n`;

/** A watch from the present on, under a fault, and then the widgets a, b and c. */
async function watchUnder(fault: Fault, query: Record<string, string> = {}) {
  const clock = new FakeClock();
  const { api, server } = await startApi({ clock });
  await api.make(WIDGETS, widgetBody('before'));
  const resourceVersion = await api.version(WIDGETS);
  server.inject({ verb: 'watch', times: 1, ...fault });
  const watch = await api.watch(WIDGETS, { resourceVersion, ...query });
  await makeThree(api);
  return { api, server, clock, watch, resourceVersion };
}

async function makeThree(api: ApiRequests): Promise<void> {
  for (const name of ['a', 'b', 'c']) await api.make(WIDGETS, widgetBody(name));
}

describe('insert', () => {
  test.for([
    [0, ['ADDED x', 'ADDED a', 'ADDED b', 'ADDED c']],
    [2, ['ADDED a', 'ADDED b', 'ADDED x', 'ADDED c']],
  ] as const)(
    'puts its bytes after %i events, once, and the watch goes on',
    async ([afterEvents, expected]) => {
      const { watch } = await watchUnder({ do: 'insert', afterEvents, bytes: event('x') });
      expect((await watch.take(4)).map(brief)).toEqual(expected);
    },
  );
});

test('an error is an ERROR event that ends the watch', async () => {
  const { watch } = await watchUnder({
    do: 'error',
    status: 429,
    retryAfter: 1500,
    afterEvents: 1,
  });
  const { events, error } = await watch.rest();
  expect(error).toBeUndefined();
  expect(events).toMatchObject([
    { type: 'ADDED' },
    {
      type: 'ERROR',
      object: {
        kind: 'Status',
        code: 429,
        reason: 'TooManyRequests',
        details: { retryAfterSeconds: 2 },
      },
    },
  ]);
});

describe('end', () => {
  test('ends the watch in order after so many events', async () => {
    for (const afterEvents of [0, 2]) {
      const { watch } = await watchUnder({ do: 'end', afterEvents });
      const { events, error } = await watch.rest();
      expect(error).toBeUndefined();
      expect(events.length).toBe(afterEvents);
    }
  });

  test('in the middle of a frame leaves it incomplete, and the stream ends normally', async () => {
    const { server, api } = await startApi();
    await makeThree(api);
    server.inject({ do: 'end', afterEvents: 1, frameBytes: 10, verb: 'watch' });
    const { body } = await server
      .transport()
      .request({ method: 'GET', path: WIDGETS, query: { watch: 'true' } });
    const [first, half, ...more] = (await textOf(body)).split('\n');
    expect(JSON.parse(first!)).toMatchObject({
      type: 'ADDED',
      object: { metadata: { name: 'a' } },
    });
    expect([half, ...more]).toEqual(['{"type":"A']);
  });
});

describe('hang', () => {
  test.for([undefined, 10])(
    'is silent from there on, bookmarks and end included (frameBytes %o)',
    async (frameBytes) => {
      const fault: Fault = {
        do: 'hang',
        afterEvents: 1,
        ...(frameBytes === undefined ? {} : { frameBytes }),
      };
      const { watch, clock, server } = await watchUnder(fault, {
        allowWatchBookmarks: 'true',
        timeoutSeconds: '300',
      });
      expect((await watch.take(1)).map(brief)).toEqual(['ADDED a']);
      clock.step(400_000);
      await clock.settle();
      server.dropConnections();
      expect(await watch.rest()).toMatchObject({ events: [], error: { kind: 'reset' } });
    },
  );
});

describe('omit', () => {
  const initial = {
    sendInitialEvents: 'true',
    resourceVersionMatch: 'NotOlderThan',
    allowWatchBookmarks: 'true',
  };

  test('initial-events-end leaves that bookmark out, and no other', async () => {
    const fault: Fault = { do: 'omit', what: 'initial-events-end' };
    const { watch, clock } = await watchUnder(fault, { ...initial, resourceVersion: '' });
    await watch.take(4);
    clock.step(60_000);
    const [bookmark] = await watch.take(1);
    expect(bookmark!.type).toBe('BOOKMARK');
    expect(bookmark!.object.metadata.annotations).toBeUndefined();
  });

  test('bookmarks leaves all others out', async () => {
    const fault: Fault = { do: 'omit', what: 'bookmarks' };
    const { watch, clock } = await watchUnder(fault, {
      ...initial,
      resourceVersion: '',
      timeoutSeconds: '300',
    });
    clock.step(300_000);
    const types = (await watch.rest()).events.map(({ type }) => type);
    expect(types.filter((type) => type === 'BOOKMARK').length).toBe(1);
    expect(types.length).toBe(5);
  });

  test('version takes it out of events, and out of lists and their items', async () => {
    const { watch, server, api } = await watchUnder({ do: 'omit', what: 'version' });
    const events = await watch.take(3);
    expect(events.map(brief)).toEqual(['ADDED a', 'ADDED b', 'ADDED c']);
    for (const { object } of events) expect('resourceVersion' in object.metadata).toBe(false);
    server.inject({ do: 'omit', what: 'version', times: 1 });
    const { body } = await api.get(WIDGETS);
    for (const { metadata } of [body, ...body.items])
      expect('resourceVersion' in metadata).toBe(false);
    expect(body.items.map((item) => item.metadata.name)).toEqual(['a', 'b', 'before', 'c']);
  });

  test('newline joins the frames', async () => {
    const { server, api } = await startApi();
    await makeThree(api);
    server.inject({ do: 'omit', what: 'newline' });
    server.inject({ do: 'end', afterEvents: 3 });
    const { body } = await server
      .transport()
      .request({ method: 'GET', path: WIDGETS, query: { watch: 'true' } });
    expect((await textOf(body)).split('}{').length).toBe(3);
  });
});

test('replay begins with events before the requested version', async () => {
  const { api, server } = await startApi();
  await makeThree(api);
  await api.delete(`${WIDGETS}/b`);
  const resourceVersion = await api.version(WIDGETS);
  server.inject({ do: 'replay', lastEvents: 2 });
  const watch = await api.watch(WIDGETS, { resourceVersion });
  await api.make(WIDGETS, widgetBody('d'));
  expect((await watch.take(3)).map(brief)).toEqual(['ADDED c', 'DELETED b', 'ADDED d']);
});

test('swap exchanges the first two events of two objects, and no others', async () => {
  const { api, server } = await startApi();
  const resourceVersion = await api.version(WIDGETS);
  server.inject({ do: 'swap' });
  const watch = await api.watch(WIDGETS, { resourceVersion });
  await api.make(WIDGETS, widgetBody('a'));
  await api.patch(`${WIDGETS}/a`, { spec: { x: 1 } });
  for (const name of ['b', 'c']) await api.make(WIDGETS, widgetBody(name));
  expect((await watch.take(4)).map(brief)).toEqual(['ADDED a', 'ADDED b', 'MODIFIED a', 'ADDED c']);
});

test('faults that alter a stream act together, also with one that alters its bytes', async () => {
  const { api, server } = await startApi();
  await makeThree(api);
  server.inject({ do: 'split', chunkBytes: 1, verb: 'watch' });
  server.inject({ do: 'insert', afterEvents: 1, bytes: event('x') });
  server.inject({ do: 'end', afterEvents: 2 });
  const { body } = await server
    .transport()
    .request({ method: 'GET', path: WIDGETS, query: { watch: 'true' } });
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  const lines = Buffer.concat(chunks).toString().trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line).object.metadata.name)).toEqual(['a', 'x', 'b']);
  // Some arrive together: how many is the kernel's affair.
  expect(chunks.length).toBeGreaterThan(lines.join('\n').length / 20);
});

test('a list comes in pieces too, and is whole', async () => {
  const { api, server } = await startApi();
  await makeThree(api);
  server.inject({ do: 'split', chunkBytes: 7, verb: 'list' });
  expect((await api.get(WIDGETS)).body.items.length).toBe(3);
});

test('a fault can be meant for requests whose query contains a text', async () => {
  const { api, server } = await startApi();
  await makeThree(api);
  server.inject({ do: 'status', status: 410, query: 'continue=' });
  const { status, body } = await api.get(WIDGETS, { limit: '2' });
  expect(status).toBe(200);
  expect((await api.get(WIDGETS, { limit: '2', continue: body.metadata.continue! })).status).toBe(
    410,
  );
});
