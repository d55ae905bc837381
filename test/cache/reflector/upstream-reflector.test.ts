/**
 * Counterparts of client-go's tests of its reflector (tools/cache/reflector_test.go). Those of
 * watch lists are in watch-list.test.ts, those of internal errors and Tables in
 * upstream-reflector-errors.test.ts.
 */
import { Indexer, ListWatch, Reflector, TransportError } from 'capstan/cache';
import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../../bindings/base/clock.ts';
import { setErrorHandler } from '../../../bindings/base/handle-error.ts';
import { answer, LiveServer } from '../../helpers/cache/live-server.ts';
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
import { type ConfigMap, ConfigMaps } from '../../helpers/resources.ts';
import { reflect } from './run-reflector.ts';

const lists =
  (version: string, ...names: string[]): Reply =>
  () =>
    answer(
      200,
      listBody(
        version,
        names.map((name, i) => configMapAt(name, String(i + 1))),
      ),
    );
const page =
  (version: string, token: string, name: string): Reply =>
  () =>
    answer(200, listBody(version, [configMapAt(name, '1')], token));
const refuses =
  (code: number, reason: string, more: object = {}): Reply =>
  () =>
    answer(code, JSON.stringify(status(code, reason, more)));
const refused: Reply = () => {
  throw new TransportError('refused', 'refused');
};
const holds: Reply = ({ signal }) => stream([], 'hold', signal);
const sends =
  (...frames: string[]): Reply =>
  () =>
    stream(frames, 'close');
const add = (name: string, version: string): string => event('ADDED', configMapAt(name, version));
const expired = event('ERROR', status(410, 'Expired'));
const off = { watchList: false };

describe('the end of a reflector', () => {
  test('TestReflectorWatchStoppedBefore: no request when it is stopped already', async () => {
    const server = new Replies(lists('1'));
    const reflector = new Reflector(new ListWatch(server, ConfigMaps), new Indexer<ConfigMap>());
    await reflector.run({ signal: AbortSignal.abort() });
    expect(server.requests).toEqual([]);
  });

  // TestReflectorWatchStoppedAfter, TestReflectorHandleWatchStoppedBefore, TestReflectorStopWatch
  test('a watch that opens during the stop is closed, and not read', async () => {
    const stop = new AbortController();
    let aborted = 0;
    const server = new Replies(lists('1'), ({ signal }) => {
      signal?.addEventListener('abort', () => aborted++);
      stop.abort();
      return stream([add('late', '2')], 'hold', signal);
    });
    const store = new Indexer<ConfigMap>();
    const reflector = new Reflector(new ListWatch(server, ConfigMaps), store, {
      ...off,
      clock: new FakeClock(),
    });
    await reflector.run({ signal: stop.signal });
    expect([aborted, store.listKeys(), server.requests.length]).toEqual([1, [], 2]);
  });

  // TestRunUntil, TestReflectorHandleWatchStoppedAfter
  test('the watch is closed once, in the middle of its events', async () => {
    let aborted = 0;
    const server = new Replies(lists('1'), ({ signal }) => {
      signal?.addEventListener('abort', () => aborted++);
      return stream([add('a', '2')], 'hold', signal);
    });
    const { names, stop } = await reflect(server, off);
    expect(names()).toEqual(['a']);
    await stop();
    expect([aborted, server.requests.length]).toEqual([1, 2]);
  });
});

describe('a watch that ends', () => {
  test('TestCloseWatchChannelOnError: an ERROR event closes the stream', async () => {
    let aborted = 0;
    const fails: Reply = ({ signal }) => {
      signal?.addEventListener('abort', () => aborted++);
      return stream([event('ERROR', status(500, 'InternalError'))], 'hold', signal);
    };
    const server = new Replies(lists('1'), fails, lists('2', 'a'), holds);
    const { clock, names, stop } = await reflect(server, off);
    expect(aborted).toBe(1);
    await clock.run(800);
    expect([server.asked().slice(2), names()]).toEqual([['list 1', 'watch 2'], ['a']]);
    await stop();
  });

  test('a stream that ends after an event or a second is opened again at once', async () => {
    const clock = new FakeClock();
    const slow: Reply = () => {
      clock.step(1000);
      return stream([], 'close');
    };
    const server = new Replies(lists('1'), sends(bookmark('2')), slow, holds);
    const { failures, stop } = await reflect(server, { ...off, clock });
    expect([server.asked().slice(1), failures]).toEqual([['watch 1', 'watch 2', 'watch 2'], []]);
    await stop();
  });

  test.each([
    ['ClosedBefore: at once', 0],
    ['ClosedAfter: soon', 10],
  ])(
    'TestReflectorHandleWatchResultChan%s: a stream that ends without an event leads to a list',
    async (_, afterMs) => {
      const clock = new FakeClock();
      const short: Reply = () => {
        clock.step(afterMs);
        return stream([], 'close');
      };
      const server = new Replies(lists('1'), short, lists('2', 'a'), holds);
      const { names, stop } = await reflect(server, { ...off, clock });
      await clock.run(800);
      expect([server.asked().slice(1), names()]).toEqual([['watch 1', 'list 1', 'watch 2'], ['a']]);
      await stop();
    },
  );
});

test('TestReflectorWatchHandler: an object of another kind is skipped', async () => {
  const previous = setErrorHandler(() => undefined);
  const service = event('ADDED', {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'rejected' },
  });
  const frames = [
    service,
    event('DELETED', configMapAt('foo', '50')),
    event('MODIFIED', configMapAt('bar', '55')),
    add('baz', '32'),
  ];
  const server = new Replies(lists('1', 'foo', 'bar'), ({ signal }) =>
    stream(frames, 'hold', signal),
  );
  const { names, reflector, stop } = await reflect(server, off);
  setErrorHandler(previous);
  expect([names(), reflector.lastSyncResourceVersion()]).toEqual([['bar', 'baz'], '32']);
  expect([reflector.skippedEvents(), reflector.status().skippedEvents]).toEqual([1, 1]);
  await stop();
});

describe('TestReflectorListAndWatch', () => {
  test('without streams: version "0" in pages of 500, then a watch with bookmarks', async () => {
    const frames = [event('MODIFIED', configMapAt('foo', '2')), add('bar', '3'), add('baz', '4')];
    const server = new Replies(lists('1', 'foo'), ({ signal }) => stream(frames, 'hold', signal));
    const { store, stop } = await reflect(server, off);
    expect(server.requests.map(({ query }) => query)).toEqual([
      { resourceVersion: '0', limit: '500' },
      { watch: 'true', allowWatchBookmarks: 'true', resourceVersion: '1', timeoutSeconds: '300' },
    ]);
    expect(
      store.list().map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`),
    ).toEqual(['foo@2', 'bar@3', 'baz@4']);
    await stop();
  });

  test('with errors of lists and watches the store becomes equal to the server', async () => {
    const server = new Replies(
      lists('1'),
      sends(add('foo', '2'), add('bar', '3'), expired),
      lists('3', 'foo', 'bar'),
      sends(event('DELETED', configMapAt('foo', '4')), add('qux', '5'), expired),
      refuses(500, 'InternalError'),
      lists('5', 'bar', 'qux'),
      refuses(500, 'InternalError'),
      lists('5', 'bar', 'qux'),
      sends(add('baz', '6')),
      holds,
    );
    const { clock, names, stop } = await reflect(server, off);
    await clock.run(60_000);
    expect(names()).toEqual(['bar', 'baz', 'qux']);
    expect(server.asked().filter((one) => one.startsWith('list'))).toEqual([
      'list 0 limit 500',
      'list 3',
      'list 5',
      'list 5',
      'list 5',
    ]);
    await stop();
  });
});

describe('the back-off', () => {
  test.each([
    [5, 31, 62],
    [40, 31 + 35 * 50, 40 * 2 * 50],
  ])(
    'TestReflectorListAndWatchInitConnBackoff: %i refused watches take from %i to %i ms',
    async (fails, least, most) => {
      const clock = new FakeClock();
      const server = new Replies(
        lists('1'),
        ...Array.from({ length: fails }, () => refused),
        holds,
      );
      const backoff = { duration: 1, cap: 50 };
      const { failures, stop } = await reflect(server, {
        ...off,
        clock,
        backoff,
        random: () => 0.5,
      });
      await clock.run(9000);
      expect(server.requests.length).toBe(fails + 2);
      const waited = failures.reduce((sum, { afterMs }) => sum + afterMs, 0);
      expect(waited).toSatisfy((ms: number) => ms >= least && ms <= most);
      await stop();
    },
  );

  test('TestNewReflectorWithCustomBackoff: 10, 20, 40, 80, then 100 ms', async () => {
    const backoff = { duration: 10, factor: 2, cap: 100, jitter: 0 };
    const { clock, failures, stop } = await reflect(new Replies(lists('1'), refused), {
      ...off,
      backoff,
    });
    await clock.run(10 + 20 + 40 + 80 + 100);
    expect(failures.map(({ afterMs }) => afterMs)).toEqual([10, 20, 40, 80, 100, 100]);
    await stop();
  });

  // TestBackoffOnTooManyRequests, TestNoRelistOnTooManyRequests
  test('four times 429 are one list and five watches', async () => {
    for (const reply of [
      refuses(429, 'TooManyRequests'),
      sends(event('ERROR', status(429, 'TooManyRequests'))),
    ]) {
      const server = new Replies(lists('1'), reply, reply, reply, reply, holds);
      const { clock, failures, stop } = await reflect(server, off);
      await clock.run(60_000);
      expect(server.asked()).toEqual(['list 0 limit 500', ...Array(5).fill('watch 1')]);
      expect(failures.map(({ afterMs }) => afterMs)).toEqual([800, 1600, 3200, 6400]);
      await stop();
    }
  });
});

// TestReflectorResync, TestReflectorResyncChan
test('the store is resynced each period while watching', async () => {
  const store = new Indexer<ConfigMap>();
  let resyncs = 0;
  store.resync = () => {
    resyncs++;
  };
  const server = new LiveServer();
  let wanted = true;
  const { clock, stop } = await reflect(server, {
    resyncPeriod: 1000,
    shouldResync: () => wanted,
    store,
  });
  await clock.run(3500);
  expect(resyncs).toBe(3);
  wanted = false;
  await clock.run(2000);
  expect(resyncs, 'not while shouldResync says no').toBe(3);
  wanted = true;
  const previous = setErrorHandler(() => undefined);
  store.resync = () => {
    resyncs++;
    throw new Error('no');
  };
  await clock.run(2000);
  setErrorHandler(previous);
  expect(resyncs, 'also after one that failed').toBe(5);
  server.intercept = () => answer(500, JSON.stringify(status(500, 'InternalError')));
  server.closeWatches();
  await clock.run(60_000);
  expect(resyncs, 'not while it waits to list').toBe(5);
  await stop();
});

test('TestReflectorResourceVersionUpdate: every event sets the version', async () => {
  const server = new LiveServer();
  const { clock, reflector, stop } = await reflect(server, { watchList: true });
  const after = async (frame: string): Promise<string> => {
    server.send(frame);
    await clock.settle();
    return reflector.lastSyncResourceVersion();
  };
  expect(await after(add('a', '10'))).toBe('10');
  expect(await after(event('MODIFIED', configMapAt('a', '20')))).toBe('20');
  expect(await after(bookmark('30'))).toBe('30');
  expect(await after(event('DELETED', configMapAt('a', '40')))).toBe('40');
  await stop();
});

describe('pages and versions of lists', () => {
  test('TestReflectorWatchListPageSize: each list has the page size of the option', async () => {
    const server = new Replies(
      page('10', 'next', 'a'),
      page('10', '', 'b'),
      sends(expired),
      page('11', '', 'a'),
      holds,
    );
    const { clock, names, stop } = await reflect(server, { ...off, watchListPageSize: 4 });
    expect(names()).toEqual(['a', 'b']);
    await clock.run(800);
    expect(server.asked().filter((one) => one.startsWith('list'))).toEqual([
      'list 0 limit 4',
      'list  limit 4',
      'list 10 limit 4',
    ]);
    await stop();
  });

  test('TestReflectorNotPaginatingNotConsistentReads: no pages from a version', async () => {
    const server = new Replies(lists('10'), sends(expired), lists('11'), holds);
    const { clock, stop } = await reflect(server, off);
    await clock.run(800);
    expect(server.asked()[2]).toBe('list 10');
    await stop();
  });

  // TestReflectorPaginatingNonConsistentReadsIfWatchCacheDisabled
  test('a list from a version has pages if the first list came in pages', async () => {
    const server = new Replies(
      page('10', 'next', 'a'),
      page('10', '', 'b'),
      sends(expired),
      lists('11'),
      holds,
    );
    const { clock, stop } = await reflect(server, off);
    await clock.run(800);
    expect(server.asked()[3]).toBe('list 10 limit 500');
    await stop();
  });

  test('after a paged list of the newest version the next list has no pages', async () => {
    const server = new Replies(
      lists('10'),
      sends(expired),
      refuses(410, 'Expired'),
      refused,
      page('20', 'next', 'a'),
      page('20', '', 'b'),
      sends(expired),
      holds,
    );
    const { clock, stop } = await reflect(server, off);
    await clock.run(60_000);
    expect(server.asked().slice(3)).toEqual([
      'list ',
      'list  limit 500',
      'list  limit 500',
      'watch 20',
      'list 20',
    ]);
    await stop();
  });

  // TestReflectorResyncWithResourceVersion
  test('a relist is never older than the last version', async () => {
    const server = new Replies(
      lists('10'),
      sends(add('a', '12'), expired),
      lists('12', 'a'),
      holds,
    );
    const { clock, stop } = await reflect(server, off);
    await clock.run(800);
    expect(server.asked()).toEqual(['list 0 limit 500', 'watch 10', 'list 12', 'watch 12']);
    await stop();
  });

  // TestReflectorExpiredExactResourceVersion
  test('a list without a version follows an expired version', async () => {
    const server = new Replies(
      lists('10'),
      sends(expired),
      refuses(410, 'Expired'),
      lists('11', 'a'),
      holds,
    );
    const { clock, names, stop } = await reflect(server, off);
    await clock.run(800);
    expect(server.asked()).toEqual([
      'list 0 limit 500',
      'watch 10',
      'list 10',
      'list ',
      'watch 11',
    ]);
    expect(names()).toEqual(['a']);
    await stop();
  });

  // TestReflectorFullListIfExpired
  test('a full list at the first version follows an expired continue token', async () => {
    const server = new Replies(
      page('10', 'next', 'a'),
      lists('10', 'b'),
      sends(expired),
      page('11', 'next', 'a'),
      refuses(410, 'Expired'),
      refuses(410, 'Expired'),
      lists('12', 'c'),
      holds,
    );
    const { clock, names, stop } = await reflect(server, { ...off, watchListPageSize: 4 });
    await clock.run(800);
    expect(
      server
        .asked()
        .filter((one) => one.startsWith('list'))
        .slice(2),
    ).toEqual(['list 10 limit 4', 'list  limit 4', 'list 10', 'list  limit 4']);
    expect(names()).toEqual(['c']);
    await stop();
  });

  test.each([
    [
      'since 1.19',
      { message: 'Timeout', details: { causes: [{ reason: 'ResourceVersionTooLarge' }] } },
    ],
    [
      'from 1.17 to 1.18.5',
      { message: 'Timeout', details: { causes: [{ message: 'Too large resource version' }] } },
    ],
    [
      'before 1.17',
      { message: 'Timeout: Too large resource version: 20, current: 10', details: {} },
    ],
  ])(
    'TestReflectorFullListIfTooLarge: a list without a version; error of servers %s',
    async (_, more) => {
      const server = new Replies(
        lists('20'),
        sends(expired),
        refuses(504, 'Timeout', more),
        lists('10', 'a'),
        holds,
      );
      const { clock, stop } = await reflect(server, off);
      await clock.run(800);
      expect(server.asked()).toEqual([
        'list 0 limit 500',
        'watch 20',
        'list 20',
        'list ',
        'watch 10',
      ]);
      await stop();
    },
  );
});

test('TestWatchTimeout: from the minimum, at least five minutes, to twice as long', async () => {
  const seconds = async (
    minWatchTimeout: number | undefined,
    random: number,
  ): Promise<string | undefined> => {
    const server = new Replies(lists('1'), holds);
    const { stop } = await reflect(server, { ...off, minWatchTimeout, random: () => random });
    await stop();
    return server.requests[1]?.query?.timeoutSeconds;
  };
  expect(await seconds(undefined, 0)).toBe('300');
  expect(await seconds(60_000, 0.999)).toBe('599');
  expect(await seconds(600_000, 0)).toBe('600');
  expect(await seconds(600_000, 0.5)).toBe('900');
});

// TestReflectorReplacesStoreOnUnsafeDelete
test('an object that became unreadable and was deleted is removed by the next list', async () => {
  const unreadable = status(500, 'StoreReadError', {
    message: 'data from the storage is not transformable',
  });
  const server = new Replies(
    lists('1', 'good', 'corrupt'),
    sends(event('ERROR', unreadable)),
    lists('3', 'good'),
    holds,
  );
  const { clock, names, stop } = await reflect(server, off);
  expect(names()).toEqual(['corrupt', 'good']);
  await clock.run(800);
  expect(names()).toEqual(['good']);
  await stop();
});
