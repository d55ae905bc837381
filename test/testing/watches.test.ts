import { FakeClock } from 'capstan/testing';
import { describe, expect, test } from 'vitest';
import {
  type ApiObject,
  ApiRequests,
  type ApiWatchEvent,
  brief,
  CONFIG_MAPS,
  configMapBody,
  POD_SPEC,
  startApi,
  WIDGETS,
  widgetBody,
} from '../helpers/server/requests.ts';

const versionsOf = (events: readonly ApiWatchEvent[]): bigint[] =>
  events.map((event) => BigInt(event.object.metadata.resourceVersion));

test("a watch from a list's version sends the events since, in order, then new ones", async () => {
  const { api } = await startApi();
  await api.make(WIDGETS, widgetBody('before'));
  const resourceVersion = await api.version(WIDGETS);
  await api.make(WIDGETS, widgetBody('a', { spec: { x: 1 } }));
  await api.patch(`${WIDGETS}/a`, { spec: { x: 2 } });
  const watch = await api.watch(WIDGETS, { resourceVersion });
  expect(watch.status).toBe(200);
  await api.make(CONFIG_MAPS, configMapBody('not-a-widget'));
  await api.make('/apis/example.com/v1/namespaces/other/widgets', widgetBody('elsewhere'));
  await api.delete(`${WIDGETS}/a`);
  await api.delete(`${WIDGETS}/before`);
  const events = await watch.take(4);
  expect(events.map(brief)).toEqual(['ADDED a', 'MODIFIED a', 'DELETED a', 'DELETED before']);
  expect(events[1]!.object).toMatchObject({
    apiVersion: 'example.com/v1',
    kind: 'Widget',
    spec: { x: 2 },
  });
  expect(events[2]!.object.spec).toEqual({ x: 2 });
  const versions = versionsOf(events);
  expect(versions).toEqual([...versions].sort((a, b) => (a < b ? -1 : 1)));
  expect(new Set(versions).size).toBe(4); // a DELETED has a version of its own
});

test('a watch from no version or from 0 starts with the existing objects', async () => {
  const { api } = await startApi();
  for (const name of ['b', 'a']) await api.make(CONFIG_MAPS, configMapBody(name));
  for (const query of [{}, { resourceVersion: '0' }] as Record<string, string>[]) {
    const watch = await api.watch(CONFIG_MAPS, query);
    expect((await watch.take(2)).map(brief)).toEqual(['ADDED a', 'ADDED b']);
  }
});

// The server sent a bookmark with the requested resourceVersion each minute. A cache from before a
// restart of the server took the watch for healthy, and kept objects that no longer existed.
test('a watch from a future version sends nothing until the server reaches it', async () => {
  const clock = new FakeClock();
  const { api } = await startApi({ clock });
  await api.make(CONFIG_MAPS, configMapBody('before'));
  const resourceVersion = String(Number(await api.version(CONFIG_MAPS)) + 2);
  const query = { resourceVersion, allowWatchBookmarks: 'true', timeoutSeconds: '600' };
  const watch = await api.watch(CONFIG_MAPS, query);
  expect(watch.status).toBe(200);
  await clock.run(180_000);
  for (const name of ['a', 'b', 'c', 'd']) await api.make(CONFIG_MAPS, configMapBody(name));
  await clock.run(60_000);
  const events = await watch.take(3);
  expect(events.map(({ type }) => type)).toEqual(['ADDED', 'ADDED', 'BOOKMARK']);
  expect(events.slice(0, 2).map(brief)).toEqual(['ADDED c', 'ADDED d']);
});

test('a watch resumes after any version that it sent, without gap or repetition', async () => {
  const { api } = await startApi();
  const whole = await api.watch(WIDGETS);
  for (let at = 0; at < 6; at++) await api.make(WIDGETS, widgetBody(`w${at}`));
  await api.delete(`${WIDGETS}/w2`);
  const events = await whole.take(7);
  for (const [at, event] of events.entries()) {
    const watch = await api.watch(WIDGETS, {
      resourceVersion: event.object.metadata.resourceVersion,
    });
    expect(await watch.take(6 - at)).toEqual(events.slice(at + 1));
  }
});

test('a watch from a future version sends only later events', async () => {
  const { api } = await startApi();
  await api.make(WIDGETS, widgetBody('a'));
  const version = BigInt(await api.version(WIDGETS)) + 2n;
  const watch = await api.watch(WIDGETS, { resourceVersion: String(version) });
  for (const name of ['b', 'c', 'd']) await api.make(WIDGETS, widgetBody(name));
  expect((await watch.take(1)).map(brief)).toEqual(['ADDED d']);
});

describe('through a selector', () => {
  test('an object that stops matching is DELETED: its old state, the new version', async () => {
    const { api } = await startApi();
    await api.make(WIDGETS, { ...widgetBody('a'), metadata: { name: 'a', labels: { on: 'no' } } });
    const watch = await api.watch(WIDGETS, {
      labelSelector: 'on=yes',
      resourceVersion: await api.version(WIDGETS),
    });
    const label = (on: string, x: number) =>
      api.patch(`${WIDGETS}/a`, { metadata: { labels: { on } }, spec: { x } });
    await label('still no', 0).catch(() => undefined);
    await label('yes', 1);
    await label('yes', 2);
    const left = (await label('no', 3)).body;
    await label('no', 4);
    await label('yes', 5);
    await api.delete(`${WIDGETS}/a`);
    const events = await watch.take(5);
    expect(events.map((event) => [event.type, event.object.spec.x])).toEqual([
      ['ADDED', 1],
      ['MODIFIED', 2],
      ['DELETED', 2],
      ['ADDED', 5],
      ['DELETED', 5],
    ]);
    expect(events[2]!.object.metadata.labels).toEqual({ on: 'yes' });
    expect(events[2]!.object.metadata.resourceVersion).toBe(left.metadata.resourceVersion);
  });

  test('by field one object or one phase is followed', async () => {
    const { api } = await startApi();
    const pods = '/api/v1/namespaces/default/pods';
    const fieldSelector = 'metadata.name=a,status.phase!=Succeeded';
    const watch = await api.watch(pods, { fieldSelector });
    for (const name of ['a', 'b']) await api.make(pods, { metadata: { name }, spec: POD_SPEC });
    for (const name of ['b', 'a'])
      await api.patch(`${pods}/${name}/status`, { status: { phase: 'Succeeded' } });
    expect((await watch.take(2)).map(brief)).toEqual(['ADDED a', 'DELETED a']);
  });
});

describe('410', () => {
  const tooOld = {
    type: 'ERROR',
    object: { kind: 'Status', status: 'Failure', reason: 'Expired', code: 410 },
  };

  test('with an expired version comes as an event after 200, and ends the watch', async () => {
    const { api } = await startApi({ historySize: 2 });
    const first = (await api.make(WIDGETS, widgetBody('a'))).metadata.resourceVersion;
    for (let x = 0; x < 2; x++) await api.patch(`${WIDGETS}/a`, { spec: { x } });
    const last = await api.watch(WIDGETS, { resourceVersion: first });
    expect((await last.take(2)).map(brief)).toEqual(['MODIFIED a', 'MODIFIED a']);
    await api.patch(`${WIDGETS}/a`, { spec: { x: 2 } });
    const watch = await api.watch(WIDGETS, { resourceVersion: first });
    expect(watch.status).toBe(200);
    const { events, error } = await watch.rest();
    expect(error).toBeUndefined();
    expect(events).toMatchObject([tooOld]);
    expect(events[0]!.object.message).toMatch(/^too old resource version: \d+ \(\d+\)$/);
  });

  test('after expireHistory holds for all earlier versions, of all resources', async () => {
    const { api, server } = await startApi();
    await api.make(WIDGETS, widgetBody('a'));
    const running = await api.watch(WIDGETS);
    const resourceVersion = await api.version(WIDGETS);
    server.expireHistory();
    for (const path of [WIDGETS, CONFIG_MAPS]) {
      expect((await (await api.watch(path, { resourceVersion })).rest()).events).toMatchObject([
        tooOld,
      ]);
    }
    const fresh = await api.watch(WIDGETS, { resourceVersion: await api.version(WIDGETS) });
    await api.make(WIDGETS, widgetBody('b'));
    expect((await fresh.take(1)).map(brief)).toEqual(['ADDED b']);
    expect((await running.take(2)).map(brief)).toEqual(['ADDED a', 'ADDED b']);
  });
});

describe('in time', () => {
  test('a watch ends cleanly after timeoutSeconds', async () => {
    const clock = new FakeClock();
    const { api } = await startApi({ clock });
    const watch = await api.watch(WIDGETS, { timeoutSeconds: '10' });
    clock.step(9_999);
    await api.make(WIDGETS, widgetBody('a'));
    clock.step(1);
    const { events, error } = await watch.rest();
    expect(error).toBeUndefined();
    expect(events.map(brief)).toEqual(['ADDED a']);
    expect(clock.timers()).toBe(0);
  });

  test('a watch without timeoutSeconds ends between half an hour and an hour', async () => {
    const clock = new FakeClock();
    const { api } = await startApi({ clock });
    const watch = await api.watch(WIDGETS);
    clock.step(1_800_000 - 1);
    await api.make(WIDGETS, widgetBody('a'));
    await watch.take(1);
    clock.step(1_800_000);
    expect(await watch.rest()).toEqual({ events: [], error: undefined });
  });

  test('bookmarks come each interval and two seconds before the end, if requested', async () => {
    const clock = new FakeClock();
    const { api } = await startApi({ clock, bookmarkInterval: 20_000 });
    const resourceVersion = await api.version(WIDGETS);
    const asked = await api.watch(WIDGETS, {
      resourceVersion,
      allowWatchBookmarks: 'true',
      timeoutSeconds: '50',
    });
    const silent = await api.watch(WIDGETS, { timeoutSeconds: '50' });
    const versions: string[] = [];
    for (const ms of [20_000, 20_000, 8_000]) {
      versions.push(
        (await api.make(CONFIG_MAPS, configMapBody(`at-${versions.length}`))).metadata
          .resourceVersion,
      );
      clock.step(ms);
    }
    clock.step(2_000);
    const { events } = await asked.rest();
    expect(events).toEqual(
      versions.map((resourceVersion) => ({
        type: 'BOOKMARK',
        object: { kind: 'Widget', apiVersion: 'example.com/v1', metadata: { resourceVersion } },
      })),
    );
    expect((await silent.rest()).events).toEqual([]);
    const resumed = await api.watch(WIDGETS, { resourceVersion: versions[2]! });
    await api.make(WIDGETS, widgetBody('a'));
    expect((await resumed.take(1)).map(brief)).toEqual(['ADDED a']);
  });

  test('a client that leaves takes its watch and its timers along', async () => {
    const clock = new FakeClock();
    const { api } = await startApi({ clock });
    const watch = await api.watch(WIDGETS, { allowWatchBookmarks: 'true' });
    expect(clock.timers()).toBeGreaterThan(0);
    watch.close();
    while (clock.timers() > 0) await clock.settle();
  });
});

test('requested initial events end with an annotated bookmark', async () => {
  const { api } = await startApi();
  await api.make(WIDGETS, widgetBody('a'));
  const query = {
    sendInitialEvents: 'true',
    resourceVersionMatch: 'NotOlderThan',
    allowWatchBookmarks: 'true',
  };
  const [added, end] = await (await api.watch(WIDGETS, query)).take(2);
  expect(brief(added!)).toBe('ADDED a');
  expect(end).toMatchObject({
    type: 'BOOKMARK',
    object: { metadata: { annotations: { 'k8s.io/initial-events-end': 'true' } } },
  });
  expect((await api.get(WIDGETS, { watch: 'true', sendInitialEvents: 'true' })).status).toBe(422);
});

describe('initial events', () => {
  // apiserver: RunWatchSemantics
  test.for<[version: 'none' | '0' | 'current', initial: boolean | undefined, bookmarks: boolean]>(
    (['none', '0', 'current'] as const).flatMap((version) =>
      [true, false, undefined].flatMap((initial) =>
        [true, false].map(
          (bookmarks) => [version, initial, bookmarks] as [typeof version, typeof initial, boolean],
        ),
      ),
    ),
  )(
    'a watch begins as of kube-apiserver: version %s, sendInitialEvents %s, bookmarks %s',
    async ([version, initial, bookmarks]) => {
      const { api } = await startApi();
      for (const name of ['a', 'b']) await api.make(WIDGETS, widgetBody(name));
      const query: Record<string, string> = {};
      if (version !== 'none')
        query.resourceVersion = version === '0' ? '0' : await api.version(WIDGETS);
      if (bookmarks) query.allowWatchBookmarks = 'true';
      if (initial !== undefined)
        Object.assign(query, {
          sendInitialEvents: String(initial),
          resourceVersionMatch: 'NotOlderThan',
        });
      const watch = await api.watch(WIDGETS, query);
      await api.make(WIDGETS, widgetBody('c'));
      const told = initial ?? version !== 'current';
      const expected = [
        ...(told ? ['ADDED a', 'ADDED b'] : []),
        ...(told && bookmarks ? ['BOOKMARK undefined'] : []),
        'ADDED c',
      ];
      expect((await watch.take(expected.length)).map(brief)).toEqual(expected);
    },
  );

  // apiserver: RunWatchSemanticInitialEventsExtended
  test('the bookmark that ends the initial events has the newest version', async () => {
    const { api } = await startApi();
    await api.make(WIDGETS, widgetBody('a'));
    const elsewhere = await api.make(
      '/apis/example.com/v1/namespaces/other/widgets',
      widgetBody('a'),
    );
    const watch = await api.watch(WIDGETS, {
      sendInitialEvents: 'true',
      resourceVersionMatch: 'NotOlderThan',
      allowWatchBookmarks: 'true',
    });
    const [added, end] = await watch.take(2);
    expect(brief(added!)).toBe('ADDED a');
    expect(end!.object.metadata.resourceVersion).toBe(elsewhere.metadata.resourceVersion);
  });
});

// The socket was full after the first objects, so the bookmark was left out, and the client waited
// for it in vain.
test('initial events that are more than a socket takes end with their bookmark too', async () => {
  const { api } = await startApi();
  for (let n = 0; n < 10; n++)
    await api.make(WIDGETS, widgetBody(`w${n}`, { spec: { filler: 'x'.repeat(500_000) } }));
  const query = {
    sendInitialEvents: 'true',
    resourceVersionMatch: 'NotOlderThan',
    allowWatchBookmarks: 'true',
  };
  const events = await (await api.watch(WIDGETS, query)).take(11);
  expect(events.at(-1)).toMatchObject({
    type: 'BOOKMARK',
    object: { metadata: { annotations: { 'k8s.io/initial-events-end': 'true' } } },
  });
});

test.for<[query: Record<string, string>, status: number]>([
  [{ resourceVersion: 'x' }, 500],
  [{ timeoutSeconds: 'x' }, 400],
  [{ labelSelector: '==' }, 400],
  [{ resourceVersionMatch: 'Exact' }, 422],
])('a watch with %o is refused with %i before it starts', async ([query, status]) => {
  const { api } = await startApi();
  expect(await api.get(WIDGETS, { watch: 'true', ...query })).toMatchObject({
    status,
    body: { kind: 'Status' },
  });
});

test('the old path of a watch, and one whose value is left out, are watches too', async () => {
  const { api } = await startApi();
  await api.make(CONFIG_MAPS, configMapBody('a'));
  const old = await api.watch('/api/v1/watch/namespaces/default/configmaps', { watch: '' });
  expect((await old.take(1)).map(brief)).toEqual(['ADDED a']);
});

describe('a slow reader', () => {
  const big = (x: number): object =>
    widgetBody('big', { spec: { x, filler: 'x'.repeat(1_000_000) } });

  async function behind(historySize: number) {
    const { api, server } = await startApi({ historySize });
    const made = await api.make(WIDGETS, big(0));
    const transport = server.transport();
    const slow = new ApiRequests(transport);
    const watch = await slow.watch(WIDGETS, { resourceVersion: made.metadata.resourceVersion });
    // More than socket buffers on loopback hold, unread.
    for (let x = 1; x <= 40; x++) await api.patch(`${WIDGETS}/big`, { spec: { x } });
    return { watch, slow };
  }

  test('catches up from the history, in order and without a gap', async () => {
    const { watch, slow } = await behind(100);
    const events = await watch.take(40);
    expect(events.map((event) => event.object.spec.x)).toEqual(
      Array.from({ length: 40 }, (_, at) => at + 1),
    );
    await slow.close();
  });

  // apiserver: RunTestWatcherTimeout
  test('keeps no other one waiting', async () => {
    const { api, server } = await startApi();
    const { resourceVersion } = (await api.make(WIDGETS, big(0))).metadata;
    const slow = new ApiRequests(server.transport());
    for (let i = 0; i < 3; i++) await slow.watch(WIDGETS, { resourceVersion });
    const watch = await api.watch(WIDGETS, { resourceVersion });
    for (let x = 1; x <= 22; x++) {
      await api.patch(`${WIDGETS}/big`, { spec: { x } });
      expect((await watch.take(1))[0]!.object.spec.x).toBe(x);
    }
    await slow.close();
  });

  test('that has fallen behind the history is cut off after a gapless beginning', async () => {
    const { watch, slow } = await behind(2);
    const { events, error } = await watch.rest();
    expect(error).toMatchObject({ code: 'TRANSPORT', kind: 'reset' });
    expect(events.length).toBeLessThan(40);
    expect(events.map((event) => event.object.spec.x)).toEqual(
      Array.from({ length: events.length }, (_, at) => at + 1),
    );
    await slow.close();
  });
});

/** mulberry32 */
function random(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

const seed = Number(process.env.CAPSTAN_SEED ?? Date.now() % 1_000_000);

// What an informer relies on: a list and the watch from its version together are the history,
// whatever is written meanwhile. Many readers list (in one go or in pages) at random moments while
// writers create, change and delete.
test(`a list and its watch give every concurrent event once (CAPSTAN_SEED=${seed})`, async () => {
  const { api } = await startApi();
  const pick = random(seed);
  const all = await api.watch(WIDGETS);
  let writing = true;
  const label = (): Record<string, string> => ({ even: pick(2) === 0 ? 'yes' : 'no' });

  async function write(): Promise<void> {
    for (let left = 150; left > 0; left--) {
      const name = `w${pick(12)}`;
      const action = pick(4);
      if (action === 0) await api.delete(`${WIDGETS}/${name}`);
      else if (action === 1)
        await api.patch(`${WIDGETS}/${name}`, {
          spec: { x: pick(1000) },
          metadata: { labels: label() },
        });
      else
        await api.send('POST', WIDGETS, {
          body: { ...widgetBody(name), metadata: { name, labels: label() } },
        });
    }
  }

  interface Reader {
    state: Map<string, ApiObject>;
    version: string;
    query: Record<string, string>;
    watch: Awaited<ReturnType<ApiRequests['watch']>>;
  }
  const readers: Reader[] = [];
  async function read(): Promise<void> {
    while (writing) {
      const query: Record<string, string> = pick(2) === 0 ? {} : { labelSelector: 'even=yes' };
      const limit: Record<string, string> = pick(2) === 0 ? {} : { limit: String(1 + pick(4)) };
      let page = (await api.get(WIDGETS, { ...query, ...limit })).body;
      const version = page.metadata.resourceVersion;
      const items = [...page.items];
      while (page.metadata.continue) {
        page = (await api.get(WIDGETS, { ...query, ...limit, continue: page.metadata.continue }))
          .body;
        expect(page.metadata.resourceVersion).toBe(version);
        items.push(...page.items);
      }
      const watch = await api.watch(WIDGETS, { ...query, resourceVersion: version });
      readers.push({
        state: new Map(items.map((item) => [item.metadata.name, item])),
        version,
        query,
        watch,
      });
    }
  }
  await Promise.all([
    Promise.all([write(), write(), write(), write()]).finally(() => (writing = false)),
    read(),
    read(),
  ]);
  // Seen by everybody, whatever the selector: the last event.
  await api.make(WIDGETS, {
    ...widgetBody('last'),
    metadata: { name: 'last', labels: { even: 'yes' } },
  });

  const history: ApiWatchEvent[] = [];
  const untilLast = async (
    watch: Reader['watch'],
    into: ApiWatchEvent[],
  ): Promise<ApiWatchEvent[]> => {
    for (;;) {
      into.push(...(await watch.take(1)));
      if (brief(into.at(-1)!) === 'ADDED last') return into;
    }
  };
  await untilLast(all, history);
  expect(readers.length).toBeGreaterThan(5);
  for (const reader of readers) {
    const events = await untilLast(reader.watch, []);
    if (reader.query.labelSelector === undefined) {
      expect(events).toEqual(
        history.filter(
          (event) => BigInt(event.object.metadata.resourceVersion) > BigInt(reader.version),
        ),
      );
    }
    for (const { type, object } of events) {
      const { name } = object.metadata;
      expect(reader.state.has(name)).toBe(type !== 'ADDED');
      if (type === 'DELETED') reader.state.delete(name);
      else reader.state.set(name, object);
    }
    const versions = versionsOf(events);
    for (const [at, version] of versions.entries())
      expect(version).toBeGreaterThan(at === 0 ? BigInt(reader.version) : versions[at - 1]!);
    const now = (await api.get(WIDGETS, reader.query)).body.items;
    expect(
      [...reader.state.values()].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1)),
    ).toEqual(now);
  }
});
