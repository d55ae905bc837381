/**
 * Watch lists. The first part has a counterpart for each case of client-go's
 * tools/cache/reflector_watchlist_test.go; the second part is about servers without watch lists.
 */
import {
  type Delta,
  DeltaFIFO,
  Indexer,
  ListWatch,
  RealFIFO,
  Reflector,
  TransportError,
} from 'capstan/cache';
import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../../bindings/base/clock.ts';
import { jsonDecoder } from '../../../bindings/cache/decode/decoder.ts';
import { answer, LiveServer, Stream } from '../../helpers/cache/live-server.ts';
import {
  bookmark,
  configMapAt,
  event,
  listBody,
  Replies,
  type Reply,
  status,
  stream,
} from '../../helpers/cache/scripted-server.ts';
import { collectErrorValues } from '../../helpers/reported-errors.ts';
import { type ConfigMap, ConfigMaps } from '../../helpers/resources.ts';
import { reflect as reflectAny } from './run-reflector.ts';

const reflect: typeof reflectAny = (server, options) =>
  reflectAny(server, { watchList: true, ...options });

type FIFO = RealFIFO<ConfigMap> | DeltaFIFO<ConfigMap>;

const reported = collectErrorValues();

const add = (name: string, version: string): string => event('ADDED', configMapAt(name, version));
const foreign = event('ADDED', { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' } });
const holding =
  (...frames: string[]): Reply =>
  (request) =>
    stream(frames, 'hold', request.signal);
const ending =
  (...frames: string[]): Reply =>
  () =>
    stream(frames, 'close');
const refusing =
  (code: number, reason: string, more: object = {}): Reply =>
  () =>
    answer(code, JSON.stringify(status(code, reason, more)));
const listing =
  (version: string, ...names: string[]): Reply =>
  () =>
    answer(
      200,
      listBody(
        version,
        names.map((name, i) => configMapAt(name, String(i + 1))),
      ),
    );

describe('TestWatchList', () => {
  test('TestWatchListResourceVersion: from the last version, or without one', async () => {
    const server = new Replies(
      ending(add('a', '1'), bookmark('5', 'true'), add('b', '6')),
      holding(),
    );
    const { clock, stop, reflector } = await reflect(server);
    expect(server.requests[0]?.query).toEqual({
      watch: 'true',
      sendInitialEvents: 'true',
      resourceVersionMatch: 'NotOlderThan',
      allowWatchBookmarks: 'true',
      timeoutSeconds: '300',
    });
    await clock.settle();
    expect(server.asked()).toEqual(['stream ', 'watch 6']);
    expect(reflector.status()).toMatchObject({ state: 'watching', watches: 2, relists: 0 });
    await stop();
  });

  test("the reflector won't be synced if the bookmark event has not been received", async () => {
    const { names, reflector, stop } = await reflect(new Replies(holding(add('a', '1'))));
    expect([names(), reflector.lastSyncResourceVersion(), reflector.status().state]).toEqual([
      [],
      '',
      'streaming',
    ]);
    await stop();
  });

  test('lists if watchList is turned off', async () => {
    const server = new Replies(listing('9', 'a'), holding());
    const { names, stop } = await reflect(server, { watchList: false });
    expect([names(), server.asked()]).toEqual([['a'], ['list 0 limit 500', 'watch 9']]);
    await stop();
  });

  test.each<[string, Reply, string]>([
    ['500 forces fallback', refusing(500, 'InternalError'), 'server → list'],
    [
      '422, from a server that does not support streaming, forces fallback',
      refusing(422, 'Invalid'),
      'server → list',
    ],
    ['403 forces fallback', refusing(403, 'Forbidden'), 'auth → list'],
    ['a stream that ends at once forces fallback', ending(), 'network → list'],
    [
      'a stream of another kind alone that ends at once forces fallback',
      ending(foreign),
      'network → list',
    ],
    ['garbage forces fallback', holding('<html>'), 'decode → list'],
    [
      'an ERROR event 500 forces fallback',
      holding(event('ERROR', status(500, 'InternalError'))),
      'server → list',
    ],
  ])('%s, for this round only', async (_, reply, told) => {
    const server = new Replies(
      reply,
      listing('9', 'a'),
      ending(event('ERROR', status(410, 'Expired'))),
      holding(),
    );
    const reflecting = await reflect(server);
    expect(reflecting.names()).toEqual(['a']);
    expect(reflecting.told()[0]).toBe(told);
    await reflecting.clock.run(800);
    expect(server.asked()).toEqual(['stream ', 'list 0 limit 500', 'watch 9', 'stream 9']);
    await reflecting.stop();
  });

  test('is synced after the bookmark event, and goes on on the same stream', async () => {
    const server = new Replies(holding(add('a', '1'), bookmark('5', 'true'), add('b', '6')));
    const { names, reflector, stop } = await reflect(server);
    expect([names(), reflector.lastSyncResourceVersion()]).toEqual([['a', 'b'], '6']);
    expect([reflector.status().state, server.requests.length]).toEqual(['watching', 1]);
    await stop();
  });

  test('check if Updates and Deletes events are propagated during streaming', async () => {
    const frames = [
      add('a', '1'),
      add('b', '2'),
      event('MODIFIED', configMapAt('a', '3', { data: { v: 'new' } })),
      event('DELETED', configMapAt('b', '4')),
      bookmark('5', 'true'),
    ];
    const { store, stop } = await reflect(new Replies(holding(...frames)));
    expect(store.list()).toEqual([configMapAt('a', '3', { data: { v: 'new' } })]);
    await stop();
  });

  test.each<[string, Reply]>([
    ['429', refusing(429, 'TooManyRequests')],
    ['an ERROR event 429', holding(event('ERROR', status(429, 'TooManyRequests')))],
    [
      'a refused connection',
      () => {
        throw new TransportError('refused', 'refused');
      },
    ],
  ])('retries %s with back-off, as a stream', async (_, reply) => {
    const server = new Replies(reply, reply, holding(add('a', '1'), bookmark('5', 'true')));
    const reflecting = await reflect(server);
    await reflecting.clock.run(799);
    expect(server.requests.length).toBe(1);
    await reflecting.clock.run(1 + 1600);
    expect(server.asked()).toEqual(['stream ', 'stream ', 'stream ']);
    expect(reflecting.failures.map(({ next, afterMs }) => [next, afterMs])).toEqual([
      ['relist', 800],
      ['relist', 1600],
    ]);
    expect(reflecting.names()).toEqual(['a']);
    await reflecting.stop();
  });

  test.each<[string, Reply, object]>([
    ['stopping', ending(add('gone', '1')), { message: expect.stringContaining('ended at once') }],
    ['losing', () => stream([add('gone', '1')], 'reset'), { kind: 'reset' }],
  ])(
    '%s a stream before its bookmark results in a new one, and no object of the first is kept',
    async (_, first, error) => {
      const server = new Replies(first, holding(add('a', '2'), bookmark('5', 'true')));
      const { names, failures, stop } = await reflect(server);
      expect([names(), server.asked()]).toEqual([['a'], ['stream ', 'stream ']]);
      expect(failures).toMatchObject([{ class: 'network', next: 'relist', error }]);
      await stop();
    },
  );

  // Only a stream that ends at once means a server without watch lists: a proxy may cut one that
  // waits for its first object.
  test('a stream that ends after a second without an object is opened again', async () => {
    const clock = new FakeClock();
    const late: Reply = () => {
      clock.step(1000);
      return stream([], 'close');
    };
    const server = new Replies(late, holding(add('a', '2'), bookmark('5', 'true')));
    const { names, told, stop } = await reflect(server, { clock });
    expect([names(), server.asked(), told()]).toEqual([
      ['a'],
      ['stream ', 'stream '],
      ['network → relist'],
    ]);
    await stop();
  });

  test('a stream that is reset at every repeat is opened again, without a list', async () => {
    const reset: Reply = () => {
      throw new TransportError('reset', 'reset');
    };
    const tries = Array.from({ length: 11 }, () => reset);
    const server = new Replies(...tries, holding(add('a', '2'), bookmark('5', 'true')));
    const { clock, names, told, stop } = await reflect(server);
    await clock.run(10_000);
    expect([names(), new Set(server.asked())]).toEqual([['a'], new Set(['stream '])]);
    expect(told()).toEqual([...Array(10).fill('network → repeat'), 'network → relist']);
    await stop();
  });

  test('stopping the stream after synchronization results in an ordinary watch', async () => {
    const server = new Replies(
      ending(add('a', '1'), bookmark('5', 'true'), bookmark('7')),
      holding(),
    );
    const { stop } = await reflect(server);
    expect(server.asked()).toEqual(['stream ', 'watch 7']);
    await stop();
  });

  test('expiring an established watch results in a new stream', async () => {
    const gone = event('ERROR', status(410, 'Expired'));
    const first = ending(add('a', '1'), add('b', '2'), bookmark('5', 'true'), gone);
    const server = new Replies(
      first,
      refusing(410, 'Expired'),
      holding(add('a', '1'), bookmark('9', 'true')),
    );
    const { clock, names, told, stop } = await reflect(server);
    await clock.run(800);
    expect(server.asked()).toEqual(['stream ', 'stream 5', 'stream ']);
    expect(told()).toEqual(['expired → relist', 'expired → relist from newest']);
    expect(names()).toEqual(['a']);
    await stop();
  });

  test('checks the value of the initialEventsEnd annotation', async () => {
    const { names, told, stop } = await reflect(
      new Replies(holding(add('a', '1'), bookmark('5', 'false'))),
    );
    expect([names(), told()]).toEqual([[], []]);
    await stop();
  });

  test('TestInitialEventsEndBookmarkTicker: warns each ten seconds without an event', async () => {
    const server = new LiveServer();
    server.intercept = (request, n) =>
      n === 1 ? stream([add('a', '1')], 'hold', request.signal) : undefined;
    const { clock, stop } = await reflect(server);
    await clock.run(9_999);
    expect(reported).toEqual([]);
    await clock.run(1);
    expect(reported.length).toBe(1);
    expect(reported[0]).toMatchObject({
      code: 'TIMEOUT',
      message: expect.stringContaining('for 10 s'),
    });
    await stop();
  });

  test('TestInitialEventsEndBookmarkTicker: warns of nothing after the end', async () => {
    for (const watchList of [true, false]) {
      const reply = watchList ? holding(bookmark('5', 'true')) : listing('5');
      const { clock, stop } = await reflect(new Replies(reply, holding()), { watchList });
      await clock.run(30_000);
      expect(reported).toEqual([]);
      await stop();
    }
  });

  test.each<[string, (transformer: (object: ConfigMap) => ConfigMap) => FIFO]>([
    ['RealFIFO', (transformer) => new RealFIFO({ transformer })],
    ['DeltaFIFO', (transformer) => new DeltaFIFO({ transformer })],
  ])(
    'TestReflectorRespectStoreTransformer: a %s transforms each object of a stream once',
    async (_, make) => {
      let calls = 0;
      const fifo = make((object) => {
        calls++;
        return { ...object, data: { v: `${object.data?.v ?? ''}!` } };
      });
      const server = new Replies(
        holding(add('a', '1'), add('b', '2'), bookmark('3', 'true'), add('c', '4')),
      );
      const clock = new FakeClock();
      const stop = new AbortController();
      const options = { clock, watchList: true };
      const running = new Reflector(new ListWatch(server, ConfigMaps), fifo, options).run({
        signal: stop.signal,
      });
      await clock.settle();
      const objects: ConfigMap[] = [];
      const take = (delta: Delta<ConfigMap>): void => {
        if (delta.type === 'ReplacedAll') objects.push(...delta.objects);
        else if ('object' in delta) objects.push(delta.object as ConfigMap);
      };
      while (fifo.tryPop((deltas) => deltas.forEach(take)));
      expect(objects.map(({ metadata, data }) => `${metadata.name}${data?.v}`)).toEqual([
        'a!',
        'b!',
        'c!',
      ]);
      expect(calls).toBe(3);
      stop.abort();
      await running;
    },
  );
});

describe('a server that never ends its initial events', () => {
  const list = listing('9', 'a');

  test.each<[string, Reply, number, string]>([
    ['sends nothing', holding(), 20_000, 'no object, or only a few, for 20 s'],
    [
      'sends all there is and then nothing',
      holding(add('a', '1')),
      20_000,
      'no object, or only a few, for 20 s',
    ],
    [
      'sends a change of what was not among them',
      holding(event('MODIFIED', configMapAt('b', '7'))),
      0,
      'default/b',
    ],
    [
      'sends a second bookmark instead',
      holding(add('a', '1'), bookmark('5'), bookmark('6')),
      0,
      'sent bookmarks',
    ],
  ])('and %s is listed instead, now and later', async (_, reply, afterMs, why) => {
    const gone = ending(event('ERROR', status(410, 'Expired')));
    const server = new Replies(reply, list, gone, list, holding());
    const { clock, names, told, failures, reflector, stop } = await reflect(server);
    await clock.run(afterMs);
    expect(names()).toEqual(['a']);
    expect(told()[0]).toBe('server → list');
    expect(failures[0]?.error).toMatchObject({
      code: 'TIMEOUT',
      message: expect.stringContaining(why),
    });
    await clock.run(800);
    expect(server.asked()).toEqual(['stream ', 'list 0 limit 500', 'watch 9', 'list 9', 'watch 9']);
    expect(reflector.status().relists).toBe(1);
    await stop();
  });

  const open = (body: Stream): Reply => {
    return ({ signal }) => ({ status: 200, headers: new Headers(), body: body.body(signal) });
  };

  test('is awaited while many objects come, and not reported while they come soon', async () => {
    const body = new Stream();
    const { clock, names, stop } = await reflect(new Replies(open(body)));
    for (let i = 0; i < 100; i++) {
      if (i < 95) expect(reported).toEqual([]);
      await clock.run(i < 95 ? 900 : 1900);
      body.send(add(`a${i}`, String(i)));
      await clock.settle();
    }
    expect([names(), reported.length]).toEqual([[], 1]);
    body.send(bookmark('500', 'true'));
    await clock.settle();
    expect(names().length).toBe(100);
    await stop();
  });

  // kube-apiserver before 1.27 sends later objects on the same stream: waiting as long as objects
  // come meant waiting for ever if one is created every few seconds.
  test('but sends later objects is listed instead', async () => {
    const body = new Stream();
    const server = new Replies(open(body), list, holding());
    const { clock, names, stop } = await reflect(server);
    for (let i = 0; i < 4; i++) {
      body.send(add(`a${i}`, String(i + 1)));
      await clock.run(5000);
    }
    expect([names(), server.asked()[1]]).toEqual([['a'], 'list 0 limit 500']);
    await stop();
  });

  test('and sends many slow objects yields to the event loop', async () => {
    const json = jsonDecoder<ConfigMap>({ apiVersion: 'v1', kind: 'ConfigMap' });
    const clock = new FakeClock();
    const stop = new AbortController();
    let read = 0;
    const frames = () => {
      const reader = json.frames();
      const next = reader.next.bind(reader);
      reader.next = () => {
        clock.step(5);
        if (++read === 2) setImmediate(() => stop.abort());
        return next();
      };
      return reader;
    };
    const names = ['a', 'b', 'c', 'd', 'e'].map((name) => add(name, '1'));
    const server = new Replies(({ signal }) => stream([names.join('')], 'hold', signal));
    const options = { clock, watchList: true, decoder: { ...json, frames } };
    await new Reflector(new ListWatch(server, ConfigMaps), new Indexer<ConfigMap>(), options).run({
      signal: stop.signal,
    });
    expect(read).toBe(2);
  });

  // Streams that end before their bookmark were opened again without end, so the cache never
  // synced.
  test.each<[string, Reply, number]>([
    ['ends each of them early', ending(add('a', '1')), 0],
    ['knows no version', refusing(410, 'Expired'), 60_000],
    [
      'ends each of them by an expired version',
      ending(event('ERROR', status(410, 'Expired'))),
      60_000,
    ],
  ])('and %s is listed after the fourth time, and later', async (_, reply, afterMs) => {
    const expired = ending(event('ERROR', status(410, 'Expired')));
    const server = new Replies(reply, reply, reply, reply, list, expired, list, holding());
    const { clock, names, stop } = await reflect(server);
    await clock.run(afterMs + 800);
    expect(names()).toEqual(['a']);
    const asked = server.asked().map((request) => request.split(' ')[0]);
    expect(asked).toEqual([...Array(4).fill('stream'), 'list', 'watch', 'list', 'watch']);
    await stop();
  });

  test('and loses each connection before its bookmark is listed this time', async () => {
    const reset: Reply = () => stream([add('a', '1')], 'reset');
    const expired = ending(event('ERROR', status(410, 'Expired')));
    const server = new Replies(reset, reset, reset, reset, list, expired, holding());
    const { clock, names, stop } = await reflect(server);
    await clock.run(800);
    expect(names()).toEqual(['a']);
    expect(server.asked().slice(3)).toEqual(['stream ', 'list 0 limit 500', 'watch 9', 'stream 9']);
    await stop();
  });

  // A proxy that buffers whole bodies blocked the reflector for 28 minutes.
  test('and does not begin them is listed after 90 s', async () => {
    const never: Reply = ({ signal }) =>
      new Promise((_, reject) =>
        signal?.addEventListener('abort', () => reject(new TransportError('aborted', 'aborted'))),
      ) as unknown as ReturnType<Reply>;
    const server = new Replies(never, list, holding());
    const { clock, names, failures, stop } = await reflect(server);
    await clock.run(90_000);
    expect(names()).toEqual(['a']);
    expect(failures[0]).toMatchObject({ next: 'list', error: { code: 'TIMEOUT' } });
    await stop();
  });

  test('and accepts no version is retried with back-off', async () => {
    const server = new Replies(refusing(410, 'Expired'));
    const { clock, stop } = await reflect(server);
    await clock.run(60_000);
    expect(server.requests.length).toBeLessThan(20);
    await stop();
  });
});
