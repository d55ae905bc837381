/**
 * The limits of a cache: length and depth of objects, their total bytes, and what happens beyond.
 */
import {
  InformerPrometheusProvider,
  ListWatch,
  newSharedInformerFactory,
  SharedIndexInformer,
  type SharedIndexInformerOptions,
  type WatchFailure,
} from 'capstan/cache';
import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../../bindings/base/clock.ts';
import { answer, LiveServer, statusBody } from '../../helpers/cache/live-server.ts';
import { setUp, teller } from '../../helpers/cache/recording-handlers.ts';
import {
  bookmark,
  configMapAt,
  event,
  Replies,
  stream,
} from '../../helpers/cache/scripted-server.ts';
import { Random } from '../../helpers/random.ts';
import { collectErrors } from '../../helpers/reported-errors.ts';
import { type ConfigMap, ConfigMaps } from '../../helpers/resources.ts';

const reported = collectErrors();

/** The failures of the watchErrorHandler, as `class code → next`. */
function failures() {
  const heard: string[] = [];
  const watchErrorHandler = (error: unknown, failure: WatchFailure): void =>
    void heard.push(`${failure.class} ${(error as { code?: string }).code} → ${failure.next}`);
  return { heard, watchErrorHandler };
}

const KB = 1000;
const filled = (bytes: number, letter = 'x') => ({ data: { fill: letter.repeat(bytes) } });
const keys = ({ informer }: Pick<ReturnType<typeof setUp>, 'informer'>): string[] =>
  informer
    .getIndexer()
    .listKeys()
    .map((key) => key.slice('default/'.length))
    .sort();

async function running(
  options: SharedIndexInformerOptions<ConfigMap>,
  fill: (server: LiveServer) => void = () => {},
) {
  const all = setUp(options);
  fill(all.server);
  void all.informer.run();
  await all.clock.settle();
  const fillOf = (name: string): string | undefined =>
    all.informer.getIndexer().getByKey(`default/${name}`)?.data?.fill;
  return { ...all, fillOf };
}

/** Waits until the back-off is over. */
const later = (clock: FakeClock): Promise<void> => clock.run(120_000);

describe.each(['bytes', 'objects'] as const)('an event for a cache of %s', (keep) => {
  test('fails the watch if it is longer than maxObjectBytes', async () => {
    const { heard, watchErrorHandler } = failures();
    const limit = 1 * KB;
    const all = await running({ keep, maxObjectBytes: limit, watchErrorHandler });
    const event = (bytes: number): string => {
      const text = (fill: string): string =>
        `{"type":"ADDED","object":{"metadata":{"name":"n${bytes}","namespace":"default"},"data":{"fill":"${fill}"}}}`;
      return text('x'.repeat(bytes - text('').length));
    };
    all.server.send(`${event(limit)}\n`);
    await all.clock.settle();
    expect(keys(all)).toEqual([`n${limit}`]);
    expect(heard).toEqual([]);
    all.server.send(`${event(limit + 1)}\n`);
    await all.clock.settle();
    expect(heard).toEqual(['decode DECODE → relist']);
    expect(all.informer.status().lastFailure?.error).toMatchObject({
      message: expect.stringMatching(/longer than 1000 bytes.*maxObjectBytes/),
    });
    await all.informer.stop();
  });

  test('fails the watch if it nests deeper than maxNesting, but not if it is as deep', async () => {
    const { heard, watchErrorHandler } = failures();
    const all = await running({ keep, maxNesting: 6, watchErrorHandler });
    const event = (levels: number): string =>
      `{"type":"ADDED","object":{"metadata":{"name":"n${levels}","namespace":"default"},"spec":${'['.repeat(levels - 2)}${']'.repeat(levels - 2)}}}\n`;
    all.server.send(event(6));
    await all.clock.settle();
    expect(keys(all)).toEqual(['n6']);
    all.server.send(event(7));
    await all.clock.settle();
    expect(heard).toEqual(['decode DECODE → relist']);
    expect(all.informer.status().lastFailure?.error).toMatchObject({
      message: expect.stringContaining('deeper than 6 levels'),
    });
    await all.informer.stop();
  });
});

test('an object of a list that is longer than maxObjectBytes fails the list', async () => {
  const { heard, watchErrorHandler } = failures();
  const all = await running(
    { maxObjectBytes: 10 * KB, watchList: false, watchErrorHandler },
    (server) => {
      // together they are longer
      for (const name of ['a', 'b', 'c']) server.put(name, filled(4 * KB));
    },
  );
  expect(keys(all)).toEqual(['a', 'b', 'c']);
  all.server.put('c', filled(11 * KB));
  await all.clock.settle();
  await later(all.clock);
  expect(new Set(heard)).toEqual(new Set(['decode DECODE → relist']));
  expect(all.fillOf('c')).toHaveLength(4 * KB);
  all.server.put('c', filled(3 * KB));
  await later(all.clock);
  expect(all.fillOf('c')).toHaveLength(3 * KB);
  await all.informer.stop();
});

describe.each([
  ['streamed', true],
  ['listed', false],
] as const)('a full cache, whose objects are %s,', (_, watchList) => {
  const limited = { watchList, maxBytes: 50 * KB } as const;
  /** Nine objects: some 46 KB of 50. */
  const nine = (server: LiveServer): void => {
    for (let i = 1; i <= 9; i++) server.put(`o${i}`, filled(5 * KB - 200));
  };

  test('refuses an event that does not fit, and recovers once objects are deleted', async () => {
    const { heard, watchErrorHandler } = failures();
    const told: string[] = [];
    const all = await running({ ...limited, watchErrorHandler }, nine);
    all.informer.addEventHandler(teller(told));
    await all.clock.settle();
    told.length = 0;
    const bytes = all.informer.status().bytes.live;
    all.server.put('more', filled(8 * KB));
    all.server.put('o1', filled(10, 'y')); // behind it: must not be lost either
    await all.clock.settle();
    expect(heard[0]).toBe('full CACHE_FULL → relist');
    expect(keys(all)).not.toContain('more');
    expect(all.informer.status().bytes.live).toBe(bytes);
    await later(all.clock);
    // With o1 small there is room.
    expect(keys(all)).toHaveLength(10);
    all.server.put('huge', filled(20 * KB));
    for (const name of ['o6', 'o7', 'o8', 'o9']) all.server.put(name, filled(5 * KB - 200, 'w'));
    await later(all.clock);
    expect(keys(all)).not.toContain('huge');
    // The objects of the failed list are freed.
    expect(all.informer.status()).toMatchObject({ state: 'waiting' });
    expect(all.informer.status().bytes.live).toBeLessThan(50 * KB);
    expect(all.informer.status()).toMatchObject({ lastFailure: { class: 'full' }, objects: 10 });
    expect(all.informer.status().failures.full).toBeGreaterThan(2);
    const before = told.length;
    for (const name of ['o2', 'o3', 'o4', 'o5']) all.server.remove(name);
    await later(all.clock);
    expect(keys(all)).toEqual(all.server.names().sort());
    expect(told.slice(before).sort()).toEqual(
      [
        '-(default/o2)',
        '-(default/o3)',
        '-(default/o4)',
        '-(default/o5)',
        'huge',
        ...unchanged(all.server),
      ].sort(),
    );
    expect(heard.every((failure) => failure === 'full CACHE_FULL → relist')).toBe(true);
    expect(reported).toEqual([]);
    await all.informer.stop();
  });

  test('reports it without a watchErrorHandler', async () => {
    const all = await running(limited, nine);
    all.server.put('more', filled(8 * KB));
    await later(all.clock);
    expect(reported.length).toBeGreaterThan(0);
    expect(reported[0]).toMatchObject({
      error: { code: 'CACHE_FULL', message: expect.stringContaining('maxBytes') },
    });
    await all.informer.stop();
  });

  test('accepts updates that fit, deletions, and its own content again', async () => {
    const { heard, watchErrorHandler } = failures();
    const all = await running({ ...limited, watchErrorHandler }, nine);
    for (let round = 0; round < 3; round++) {
      for (let i = 1; i <= 9; i++) all.server.put(`o${i}`, filled(5 * KB - 100, String(round)));
      await all.clock.settle();
    }
    expect(heard).toEqual([]);
    // A relist with all objects changed.
    all.server.closeWatches(new Error('lost'));
    for (let i = 1; i <= 9; i++) all.server.put(`o${i}`, filled(5 * KB - 100, 'z'));
    all.server.intercept = expireOnce();
    await later(all.clock);
    expect(all.informer.status().relists).toBe(1);
    expect(heard.filter((failure) => failure.startsWith('full'))).toEqual([]);
    expect(all.fillOf('o9')?.[0]).toBe('z');
    const last = {
      metadata: { name: 'o9', namespace: 'default', resourceVersion: '99' },
      ...filled(9 * KB),
    };
    // does not fit, and need not
    all.server.send(`${JSON.stringify({ type: 'DELETED', object: last })}\n`);
    await all.clock.settle();
    expect(keys(all)).toHaveLength(8);
    for (let i = 2; i <= 8; i++) all.server.remove(`o${i}`);
    await all.clock.settle();
    expect(keys(all)).toEqual(['o1']);
    expect(heard.filter((failure) => failure.startsWith('full'))).toEqual([]);
    await all.informer.stop();
  });

  test('keeps metadata only with that policy, and whole objects once they fit', async () => {
    const { heard, watchErrorHandler } = failures();
    const metrics = new InformerPrometheusProvider();
    const options = {
      ...limited,
      whenFull: 'metadata',
      drop: ['metadata.labels.gone'],
      watchErrorHandler,
    } as const;
    const all = await running({ ...options, name: 'web', metricsProvider: metrics }, nine);
    expect(all.informer.status().metadataOnly).toBe(0);
    all.server.put('more', { ...filled(8 * KB), spec: { n: 1 }, labels: { a: 'b', gone: 'x' } });
    await all.clock.settle();
    const more = all.informer.getIndexer().getByKey('default/more');
    expect(JSON.parse(JSON.stringify(more))).toEqual({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { namespace: 'default', name: 'more', resourceVersion: '10', labels: { a: 'b' } },
    });
    expect(all.informer.status().metadataOnly).toBe(1);
    expect(metrics.text()).toMatch(/^capstan_informer_metadata_only\{name="web",.*\} 1$/m);
    // A list of the same objects changes nothing.
    all.server.intercept = expireOnce();
    all.server.closeWatches();
    await later(all.clock);
    expect(all.informer.status()).toMatchObject({ relists: 1, metadataOnly: 1, objects: 10 });
    for (const name of ['o1', 'o2']) all.server.remove(name);
    await all.clock.settle();
    all.server.put('more', filled(8 * KB));
    await all.clock.settle();
    expect(all.fillOf('more')).toHaveLength(8 * KB);
    expect(all.informer.status().metadataOnly).toBe(0);
    expect(heard.filter((failure) => failure.startsWith('full'))).toEqual([]);
    await all.informer.stop();
  });

  test('keeps metadata only of the objects of a list beyond the limit', async () => {
    const all = await running({ ...limited, whenFull: 'metadata' }, (server) => {
      for (let i = 0; i < 30; i++) server.put(`o${i}`, filled(5 * KB - 200));
    });
    const { metadataOnly, objects, bytes } = all.informer.status();
    expect(objects).toBe(30);
    expect(metadataOnly).toBe(21);
    expect(bytes.live).toBeLessThan(50 * KB + 30 * 300);
    await all.informer.stop();
  });

  // Metadata are not limited: they grew to ten times maxBytes, with only one call of onBytes at 80
  // %.
  test('calls onBytes again when metadata exceed the limit and when they double', async () => {
    const calls: number[] = [];
    const onBytes = { call: (bytes: number) => void calls.push(bytes / (50 * KB)) };
    const noted = { labels: { note: 'x'.repeat(4 * KB) }, ...filled(1 * KB) };
    const all = await running({ ...limited, whenFull: 'metadata', onBytes }, (server) => {
      for (let i = 0; i < 30; i++) server.put(`o${i}`, noted);
    });
    expect(calls.map((part) => Math.floor(part * 5) / 5)).toEqual([0.8, 1, 2]);
    all.server.put('o0', noted);
    for (let i = 30; i < 60; i++) all.server.put(`o${i}`, noted);
    await all.clock.settle();
    expect(calls.slice(3).map(Math.floor)).toEqual([4]);
    expect(all.informer.status().objects).toBe(60);
    for (const name of all.server.names()) all.server.remove(name);
    await all.clock.settle();
    for (let i = 0; i < 13; i++) all.server.put(`o${i}`, noted);
    await all.clock.settle();
    expect(calls.slice(4).map((part) => Math.floor(part * 5) / 5)).toEqual([0.8, 1]);
    await all.informer.stop();
  });

  test('calls onBytes once each time that it grows past the mark', async () => {
    const calls: number[] = [];
    const onBytes = {
      call(bytes: number, maxBytes: number): void {
        expect(this).toBe(onBytes);
        expect(maxBytes).toBe(50 * KB);
        calls.push(bytes);
        throw new Error('mine');
      },
    };
    const all = await running({ ...limited, onBytes }, (server) => {
      for (let i = 1; i <= 7; i++) server.put(`o${i}`, filled(5 * KB - 200));
    });
    expect(calls).toEqual([]);
    all.server.put('o8', filled(5 * KB - 200));
    await all.clock.settle();
    expect(calls).toHaveLength(1);
    expect(calls[0]).toBe(all.informer.status().bytes.live);
    expect(reported).toMatchObject([{ error: { message: 'mine' } }]);
    for (let i = 1; i <= 8; i++) all.server.put(`o${i}`, filled(5 * KB - 200, 'y'));
    await all.clock.settle();
    expect(calls).toHaveLength(1);
    all.server.remove('o1');
    await all.clock.settle();
    all.server.put('o1', filled(5 * KB - 200));
    await all.clock.settle();
    expect(calls).toHaveLength(2);
    await all.informer.stop();
  });
});

test.each([true, false])(
  'objects that are packed have more room, watchList: %s',
  async (watchList) => {
    const { heard, watchErrorHandler } = failures();
    const round = (of: string) => ({ data: { fill: 'x'.repeat(5 * KB), round: of } });
    const options = { watchList, maxBytes: 400 * KB, watchErrorHandler };
    const all = await running(options, (server) => {
      for (let i = 0; i < 200; i++) server.put(`o${i}`, round('x'));
    });
    const roundOf = (name: string): string | undefined =>
      all.informer.getIndexer().getByKey(`default/${name}`)?.data?.round;
    const live = (): number => all.informer.status().bytes.live;
    expect(all.informer.status().objects).toBe(200);
    expect(live()).toBeLessThan(400 * KB);
    for (let i = 0; i < 200; i++) all.server.put(`o${i}`, round('y'));
    await all.clock.settle();
    expect(roundOf('o7')).toBe('y');
    all.server.closeWatches(new Error('lost'));
    for (let i = 0; i < 200; i++) all.server.put(`o${i}`, round('z'));
    all.server.intercept = expireOnce();
    await later(all.clock);
    expect(roundOf('o7')).toBe('z');
    expect(live()).toBeLessThan(400 * KB);
    expect(heard.filter((failure) => failure.startsWith('full'))).toEqual([]);
    // What shares nothing has no more room than before.
    for (let i = 0; i < 120; i++) all.server.put(`alien${i}`, { data: { fill: aliens(i) } });
    await all.clock.settle();
    expect(heard).toContain('full CACHE_FULL → relist');
    expect(live()).toBeLessThan(400 * KB);
    await all.informer.stop();
  },
);

/** 5 KB that share nothing with those of another number. */
function aliens(number: number): string {
  const random = new Random(number + 1);
  return Array.from({ length: 500 }, () => random.next().toString(36).slice(2, 12)).join('');
}

test('a repeated list counts once, however far the first attempt had come', async () => {
  const { heard, watchErrorHandler } = failures();
  const all = setUp({ watchList: false, maxBytes: 50 * KB, watchErrorHandler });
  for (let i = 1; i <= 9; i++) all.server.put(`o${i}`, filled(5 * KB - 200));
  all.server.intercept = ({ query }) => {
    if (query?.continue === 'more') return answer(410, statusBody(410, 'Expired'));
    if (query?.limit !== '500') return undefined;
    const { items } = JSON.parse(all.server.listBody()) as { items: ConfigMap[] };
    const page = { metadata: { resourceVersion: '9', continue: 'more' }, items: items.slice(0, 5) };
    return answer(200, JSON.stringify(page));
  };
  void all.informer.run();
  await all.clock.settle();
  expect(heard).toEqual(['expired STATUS → full list']);
  expect(keys(all)).toHaveLength(9);
  await all.informer.stop();
});

test('the mark of a limit is where the option sets it', async () => {
  const calls: number[] = [];
  const onBytes = { at: 0.5, call: (bytes: number) => void calls.push(bytes) };
  const all = await running({ maxBytes: 50 * KB, onBytes }, (server) =>
    server.put('a', filled(24 * KB)),
  );
  expect(calls).toEqual([]);
  all.server.put('b', filled(1 * KB));
  await all.clock.settle();
  expect(calls).toHaveLength(1);
  expect(calls[0]).toBeGreaterThan(25 * KB);
  await all.informer.stop();
});

// Each state of an object counted, although only the last is kept: a cache whose objects changed
// during the stream never synced.
test('a watch list needs room only for its final objects', async () => {
  const changes = Array.from({ length: 60 }, (_, i) =>
    event('MODIFIED', { ...configMapAt('a0', String(100 + i)), ...filled(1 * KB, 'xy'[i % 2]) }),
  );
  const first = Array.from({ length: 10 }, (_, i) =>
    event('ADDED', { ...configMapAt(`a${i}`, String(i + 1)), ...filled(1 * KB) }),
  );
  const gone = event('DELETED', { ...configMapAt('a9', '200'), ...filled(1 * KB) });
  const frames = [
    ...first,
    ...changes,
    gone,
    event('ADDED', configMapAt('late', '201')),
    bookmark('300', 'true'),
  ];
  const clock = new FakeClock();
  const server = new Replies((request) => stream(frames, 'hold', request.signal));
  const { heard, watchErrorHandler } = failures();
  const options = { clock, watchList: true, maxBytes: 15 * KB, watchErrorHandler };
  const informer = new SharedIndexInformer(new ListWatch(server, ConfigMaps), options);
  void informer.run();
  await clock.settle();
  expect(heard).toEqual([]);
  expect(informer.status()).toMatchObject({ hasSynced: true, objects: 10, metadataOnly: 0 });
  const last = informer.getIndexer().getByKey('default/a0');
  expect([last?.metadata.resourceVersion, last?.data?.fill?.[0]]).toEqual(['159', 'y']);
  await informer.stop();
});

test('a factory passes the limits to its informers', async () => {
  const server = new LiveServer();
  const onBytes = { call: () => undefined };
  const limits = {
    keepManagedFields: true,
    drop: ['data'],
    maxBytes: 10 * KB,
    onBytes,
    whenFull: 'metadata',
  } as const;
  const factory = newSharedInformerFactory(server, limits);
  const informer = factory.informerFor(ConfigMaps);
  server.put('a', filled(9 * KB));
  server.put('b', { spec: { x: 'x'.repeat(20 * KB) } });
  factory.start();
  await factory.waitForCacheSync();
  expect(
    informer
      .getIndexer()
      .list()
      .map((object) => 'data' in object),
  ).toEqual([false, false]);
  expect(informer.status().metadataOnly).toBe(1);
  await factory.shutdown();
});

test.each([
  [{ keepManagedFields: 1 }, 'options.keepManagedFields'],
  [{ pack: 1 }, 'options.pack'],
  [{ keep: 'text' }, 'options.keep'],
  [{ maxObjectBytes: 0 }, 'options.maxObjectBytes'],
  [{ maxObjectBytes: 2 ** 29 + 1 }, 'options.maxObjectBytes'],
  [{ maxObjectBytes: 1.5 }, 'options.maxObjectBytes'],
  [{ maxNesting: 10_001 }, 'options.maxNesting'],
  [{ maxNesting: 0 }, 'options.maxNesting'],
  [{ maxBytes: -1 }, 'options.maxBytes'],
  [{ maxBytes: '1' }, 'options.maxBytes'],
  [{ whenFull: 'drop' }, 'options.whenFull'],
  [{ onBytes: () => undefined }, 'options.onBytes'],
  [{ onBytes: {} }, 'options.onBytes.call'],
  [{ onBytes: { at: 0, call: () => undefined } }, 'options.onBytes.at'],
  [{ onBytes: { at: 1.1, call: () => undefined } }, 'options.onBytes.at'],
  [{ keep: 'bytes', transform: (object: never) => object }, 'options.keep'],
  [{ keep: 'bytes', mutationDetector: true }, 'options.keep'],
  [{ maxBytes: 1, transform: (object: never) => object }, 'options.maxBytes'],
  [{ maxBytes: 1, mutationDetector: true }, 'options.maxBytes'],
  [{ maxBytes: 1, keep: 'objects' }, 'options.maxBytes'],
])('limits that cannot be are refused: %j', (options, name) => {
  const refused = expect.objectContaining({
    code: 'INVALID_ARGUMENT',
    message: expect.stringContaining(`"${name}"`),
  });
  expect(() => setUp(options as never)).toThrow(refused);
});

test('setTransform is refused if objects have to be kept as bytes', () => {
  const { informer } = setUp({ keep: 'bytes' });
  expect(() => informer.setTransform((object) => object)).toThrow(
    expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
  );
  const transform = (object: object): never => object as never;
  expect(() => newSharedInformerFactory(new LiveServer(), { keep: 'bytes', transform })).toThrow(
    expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
  );
  expect(() => newSharedInformerFactory(new LiveServer(), { maxNesting: 0 })).toThrow(
    expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
  );
});

test('readers get decoded objects with keep: objects', async () => {
  const all = await running({ keep: 'objects', maxObjectBytes: 5 * KB }, (server) =>
    server.put('a', filled(1)),
  );
  expect(all.informer.status()).toMatchObject({ objects: 1, metadataOnly: 0, bytes: { live: 0 } });
  const object = all.informer.getIndexer().getByKey('default/a') as ConfigMap;
  expect(Object.getOwnPropertyDescriptor(object, 'data')).toHaveProperty('value');
  await all.informer.stop();
});

/** The notifications of a relist. */
function unchanged(server: LiveServer): string[] {
  return server
    .names()
    .filter((name) => name !== 'huge')
    .map((name) => `~${name}`);
}

/** The next watch gets an expired version, so that the reflector relists. */
function expireOnce(): NonNullable<LiveServer['intercept']> {
  let done = false;
  return ({ query }) => {
    if (done || query?.watch !== 'true' || query.sendInitialEvents === 'true') return undefined;
    done = true;
    return answer(410, statusBody(410, 'Expired'));
  };
}
