/** The failures of a reflector, by class and next step, and its status. */
import { Indexer, TransportError } from 'capstan/cache';
import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../../bindings/base/clock.ts';
import { answer, Stream } from '../../helpers/cache/live-server.ts';
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
import type { ConfigMap } from '../../helpers/resources.ts';
import { reflect } from './run-reflector.ts';

const reported = collectErrorValues();

const fails =
  (kind: 'refused' | 'reset' | 'unknown'): Reply =>
  () => {
    throw new TransportError(kind, kind);
  };
const refuses =
  (code: number, reason: string, headers: Record<string, string> = {}, more: object = {}): Reply =>
  () =>
    answer(code, JSON.stringify(status(code, reason, more)), headers);
const lists: Reply = () => answer(200, listBody('5', [configMapAt('a', '1')]));
const holds: Reply = ({ signal }) => stream([], 'hold', signal);
const sends =
  (frame: string): Reply =>
  () =>
    stream([frame], 'close');
const error = (code: number, reason: string): string => event('ERROR', status(code, reason));
const tooLarge = { details: { causes: [{ reason: 'ResourceVersionTooLarge' }] } };

const listing = (server: Replies, more: Parameters<typeof reflect>[1] = {}) =>
  reflect(server, { watchList: false, ...more });

describe('every failure reaches the handler, with its class and the next step', () => {
  test.each<[string, Reply, [string, string, number]]>([
    ['401', refuses(401, 'Unauthorized'), ['auth', 'relist', 800]],
    ['403', refuses(403, 'Forbidden'), ['auth', 'relist', 800]],
    // of a namespace; discovery is not read
    ['404', refuses(404, 'NotFound', {}, { details: { name: 'a' } }), ['server', 'relist', 800]],
    ['410', refuses(410, 'Expired'), ['expired', 'relist from newest', 0]],
    [
      'a version that is still to come',
      refuses(504, 'Timeout', {}, tooLarge),
      ['expired', 'relist from newest', 0],
    ],
    ['429', refuses(429, 'TooManyRequests'), ['throttled', 'relist', 800]],
    [
      '429 with Retry-After',
      refuses(429, 'TooManyRequests', { 'retry-after': '3' }),
      ['throttled', 'repeat', 3000],
    ],
    ['500', refuses(500, 'InternalError'), ['server', 'relist', 800]],
    ['503 with Retry-After', refuses(503, '', { 'retry-after': '1' }), ['server', 'repeat', 1000]],
    ['a page of a proxy', () => answer(502, '<html>'), ['server', 'relist', 800]],
    ['a body that is no list', () => answer(200, '<html>'), ['decode', 'relist', 800]],
    ['a refused connection', fails('refused'), ['network', 'relist', 800]],
    ['a connection that was reset', fails('reset'), ['network', 'repeat', 1000]],
    [
      'a transport that throws something else',
      () => {
        throw new TypeError('oh');
      },
      ['network', 'relist', 800],
    ],
    [
      // The informer ended with what the Proxy threw, as a rejection without a receiver.
      'a transport that throws what cannot be read',
      () => {
        const { proxy, revoke } = Proxy.revocable({}, {});
        revoke();
        throw proxy;
      },
      ['network', 'relist', 800],
    ],
  ])('of a list: %s', async (_, reply, [kind, next, afterMs]) => {
    const server = new Replies(reply, lists, holds);
    const { clock, failures, names, stop } = await listing(server);
    expect(failures).toMatchObject([{ class: kind, next, afterMs }]);
    await clock.run(afterMs);
    expect([server.requests.length, names()]).toEqual([3, ['a']]);
    await stop();
  });

  test.each<[string, Reply, [string, string, number]]>([
    ['403', refuses(403, 'Forbidden'), ['auth', 'relist', 800]],
    ['403 without a body', () => answer(403, ''), ['auth', 'relist', 800]],
    ['401', refuses(401, 'Unauthorized'), ['auth', 'relist', 800]],
    ['401 without a body', () => answer(401, ''), ['auth', 'relist', 800]],
    ['410', refuses(410, 'Gone'), ['expired', 'relist', 800]],
    ['429', refuses(429, 'TooManyRequests'), ['throttled', 'rewatch', 800]],
    [
      '429 with Retry-After',
      refuses(429, 'TooManyRequests', { 'retry-after': '2' }),
      ['throttled', 'repeat', 2000],
    ],
    ['500', refuses(500, 'InternalError'), ['server', 'relist', 800]],
    ['a refused connection', fails('refused'), ['network', 'rewatch', 800]],
    ['a failure of no kind', fails('unknown'), ['network', 'rewatch', 800]],
    ['an ERROR event 410', sends(error(410, 'Expired')), ['expired', 'relist', 800]],
    ['an ERROR event 429', sends(error(429, 'TooManyRequests')), ['throttled', 'rewatch', 800]],
    ['an ERROR event 500', sends(error(500, 'InternalError')), ['server', 'relist', 800]],
    ['an ERROR event that is no Status', sends(event('ERROR', {})), ['decode', 'relist', 800]],
    ['garbage', sends('<html>'), ['decode', 'relist', 800]],
    [
      'a connection lost after an event',
      () => stream([bookmark('6')], 'reset'),
      ['network', 'rewatch', 0],
    ],
    ['a connection lost at once', () => stream([], 'reset'), ['network', 'relist', 800]],
    ['a watch that ends at once', () => stream([], 'close'), ['network', 'relist', 800]],
  ])('of a watch: %s', async (_, reply, [kind, next, afterMs]) => {
    const server = new Replies(lists, reply, next === 'relist' ? lists : holds, holds);
    const { clock, failures, stop } = await listing(server);
    expect(failures).toMatchObject([{ class: kind, next, afterMs }]);
    const before = server.asked().length;
    await clock.run(afterMs);
    expect(server.asked()[2]?.startsWith(next === 'relist' ? 'list 5' : 'watch')).toBe(true);
    expect(before).toBe(afterMs === 0 ? 3 : 2);
    await stop();
  });

  // A message that was not a string (from a proxy, for example) made the classification throw,
  // which ended the reflector.
  test.each<[string, unknown]>([
    ['a message that is no text', { message: { text: 'oh' }, details: {} }],
    ['a message that has no text', { message: { toString: 1, valueOf: 1 } }],
    ['details that are none', { details: null }],
    ['a code that is none', { code: '504', message: 5, reason: 5, details: 5 }],
  ])('a Status of %s is an ordinary failure', async (_, more) => {
    for (const reply of [
      refuses(504, 'Timeout', {}, more as object),
      sends(event('ERROR', status(504, 'Timeout', more as object))),
    ]) {
      const server = new Replies(reply, lists, reply, lists, holds);
      const { clock, failures, names, stop } = await listing(server);
      await clock.run(10_000);
      expect(names()).toEqual(['a']);
      expect(failures.length).toBeGreaterThan(0);
      await stop();
    }
  });

  // With one bookmark in each watch, a server that closes each watch at once got five thousand
  // requests a second.
  test.each([
    ['of the version that was asked for', bookmark('5')],
    ['without a version', bookmark('')],
    ['that comes again', event('MODIFIED', configMapAt('a', '5'))],
  ])(
    'a watch that ends at once with an event %s is soon opened again later, without a list',
    async (_, frame) => {
      const server = new Replies(lists, sends(frame));
      const { clock, failures, told, stop } = await listing(server);
      expect(failures).toMatchObject([{ next: 'rewatch', afterMs: 800 }]);
      expect(server.requests.length).toBe(1 + 4); // three times at once, as client-go does for ever
      await clock.run(60_000);
      expect(server.requests.length).toBeLessThan(20);
      expect(server.asked().filter((one) => one.startsWith('list')).length).toBe(1);
      expect(new Set(told())).toEqual(new Set(['network → rewatch']));
      await stop();
    },
  );

  test.each<[string, (clock: FakeClock) => Reply[]]>([
    ['a new version', () => [sends(bookmark('6'))]],
    [
      'a watch that lasted a second',
      (clock) => [
        () => {
          clock.step(1000);
          return stream([], 'close');
        },
      ],
    ],
    ['a list', () => [sends(error(410, 'Expired')), lists]],
  ])(
    'the count of watches that end at once without an event restarts after %s',
    async (_, between) => {
      const clock = new FakeClock();
      const short = Array.from({ length: 3 }, () => sends(bookmark('')));
      const replies = [lists, ...short, ...between(clock), ...short, holds];
      const server = new Replies(...replies);
      const { told, stop } = await listing(server, { clock });
      await clock.run(800);
      expect([server.requests.length, told().filter((one) => one.endsWith('rewatch'))]).toEqual([
        replies.length,
        [],
      ]);
      await stop();
    },
  );

  test('a relist after a lost connection uses the last version', async () => {
    const lost: Reply = () => stream([bookmark('6')], 'reset');
    const server = new Replies(lists, lost, sends(error(410, 'Expired')), lists, holds);
    const { clock, stop } = await listing(server);
    await clock.run(800);
    expect(server.asked()).toEqual(['list 0 limit 500', 'watch 5', 'watch 6', 'list 6', 'watch 5']);
    await stop();
  });

  test('an orderly end is not a failure', async () => {
    const { failures, stop } = await listing(
      new Replies(lists, () => stream([bookmark('6')], 'close'), holds),
    );
    expect(failures).toEqual([]);
    await stop();
  });

  test('an expired continue token leads to one full list', async () => {
    const first: Reply = () => answer(200, listBody('5', [configMapAt('a', '1')], 'token'));
    const server = new Replies(first, refuses(410, 'Expired'), lists, holds);
    const { told, stop } = await listing(server);
    expect([told(), server.asked()]).toEqual([
      ['expired → full list'],
      ['list 0 limit 500', 'list  limit 500', 'list 0', 'watch 5'],
    ]);
    await stop();
  });

  test('throttling causes no list, even for an hour', async () => {
    const server = new Replies(lists, refuses(429, 'TooManyRequests'));
    const { clock, told, stop } = await listing(server);
    await clock.run(3600_000);
    expect(server.asked().filter((one) => one.startsWith('list'))).toEqual(['list 0 limit 500']);
    expect(new Set(told())).toEqual(new Set(['throttled → rewatch']));
    await stop();
  });

  test('a handler that throws is reported, and has no other effect', async () => {
    const server = new Replies(refuses(500, 'InternalError'), lists, holds);
    const watchErrorHandler = () => {
      throw new Error('broken handler');
    };
    const { clock, names, stop } = await listing(server, { watchErrorHandler });
    await clock.run(800);
    expect([names(), reported]).toEqual([
      ['a'],
      [expect.objectContaining({ message: 'broken handler' })],
    ]);
    await stop();
  });

  // `random` is called for each watch and each wait: an error of it ended the reflector, and NaN
  // was sent as timeoutSeconds.
  test.each<[string, () => number]>([
    [
      'throws',
      () => {
        throw new Error('broken random');
      },
    ],
    ['gives NaN', () => Number.NaN],
    ['gives 1', () => 1],
    ['gives -1', () => -1],
    ['gives a text', () => '0.5' as unknown as number],
  ])('a random that %s is reported, and counts as 0.5', async (_, random) => {
    const server = new Replies(refuses(500, 'InternalError'), lists, holds);
    const { clock, failures, names, stop } = await listing(server, { random });
    await clock.run(1200);
    expect([names(), failures.map(({ afterMs }) => afterMs)]).toEqual([['a'], [1200]]);
    expect(server.requests.at(-1)?.query?.timeoutSeconds).toBe('450');
    expect(reported).toHaveLength(2);
    await stop();
  });

  test('a store that refuses a list is a failure, and the list is requested again', async () => {
    const store = new Indexer<ConfigMap>();
    const replace = store.replace.bind(store);
    let full = true;
    store.replace = (...list) => {
      if (full) throw new Error('full');
      replace(...list);
    };
    const { clock, failures, names, stop } = await listing(new Replies(lists, lists, holds), {
      store,
    });
    expect(failures).toMatchObject([
      { class: 'decode', next: 'relist', error: { cause: { message: 'full' } } },
    ]);
    full = false;
    await clock.run(800);
    expect(names()).toEqual(['a']);
    await stop();
  });
});

describe('the default handler', () => {
  const quietly = async (server: Replies, ms: number): Promise<unknown[]> => {
    const { clock, stop } = await listing(server, { watchErrorHandler: undefined });
    await clock.run(ms);
    await stop();
    return reported;
  };

  test('reports nothing in normal operation', async () => {
    const short: Reply = () => stream([], 'close');
    const lost: Reply = () => stream([bookmark('6')], 'reset');
    const busy = refuses(429, 'TooManyRequests', { 'retry-after': '0' });
    const server = new Replies(
      busy,
      lists,
      short,
      lists,
      lost,
      fails('refused'),
      sends(error(410, 'Expired')),
      lists,
      holds,
    );
    expect(await quietly(server, 30_000)).toEqual([]);
    expect(server.requests.length).toBe(9);
  });

  test('reports failures that lead to a relist, and lasting refusals of a connection', async () => {
    expect(
      await quietly(new Replies(lists, refuses(403, 'Forbidden'), lists, holds), 5000),
    ).toMatchObject([{ status: 403 }]);
    reported.length = 0;
    expect(await quietly(new Replies(lists, fails('refused')), 5000)).toEqual([]);
    expect((await quietly(new Replies(lists, fails('refused')), 60_000)).length).toBeGreaterThan(0);
  });

  // Each change of a CRD ends its watches with 410: after several within two minutes a cache was up
  // to a minute behind, without a report.
  test('reports an expired version only if the next list has to wait', async () => {
    const gone = [lists, sends(error(410, 'Expired'))];
    expect(await quietly(new Replies(...gone, ...gone, ...gone, lists, holds), 60_000)).toEqual([]);
    expect(
      await quietly(new Replies(...gone, ...gone, ...gone, ...gone, lists, holds), 60_000),
    ).toMatchObject([{ status: 410 }]);
  });

  // A proxy without a server resets connections instead of refusing them: 110 requests failed in
  // 100 s without a report, and the state was "watching" throughout.
  test('reports a connection that is reset at every repeat', async () => {
    expect(await quietly(new Replies(fails('reset')), 9999)).toEqual([]);
    expect(await quietly(new Replies(fails('reset')), 10_000)).toMatchObject([{ kind: 'reset' }]);
    reported.length = 0;
    // One check whether the server has reached the version, 11 requests for each of two watches.
    const gone = Array.from({ length: 24 }, () => fails('reset'));
    const { clock, reflector, stop } = await listing(new Replies(lists, holds, ...gone, holds), {
      watchErrorHandler: undefined,
      lists: { idleTimeout: 1000 },
    });
    expect(reflector.status().state).toBe('watching');
    const states = new Set<string>();
    for (let second = 0; second < 21; second++) {
      await clock.run(1000);
      states.add(reflector.status().state);
    }
    expect([...states]).toEqual(['waiting']);
    expect(reported).toMatchObject([{ kind: 'reset' }, { kind: 'reset' }]);
    await clock.run(1000);
    expect(reflector.status().state).toBe('watching');
    await stop();
  });
});

describe('a watch that ends with an internal error', () => {
  test.each([
    ['is not opened again by default', undefined, 0],
    ['is opened again at once for as long as the option says', 30_000, 31],
  ])('%s', async (_, maxInternalErrorRetryDuration, repeats) => {
    // As client-go's TestRetryInternalError: each watch takes a second.
    const clock = new FakeClock();
    const failing: Reply = () => {
      clock.step(1000);
      return stream([error(500, 'InternalError')], 'close');
    };
    const server = new Replies(lists, ...Array.from({ length: 40 }, () => failing), lists, holds);
    const { told, stop } = await listing(server, { clock, maxInternalErrorRetryDuration });
    expect(told().filter((one) => one === 'server → rewatch').length).toBe(repeats);
    expect(told().at(-1)).toBe('server → relist');
    await stop();
  });
});

describe('status', () => {
  test.each([
    ['list', false],
    ['stream of initial objects', true],
  ])('is waiting before a %s is repeated', async (_, watchList) => {
    const busy = refuses(429, 'TooManyRequests', { 'retry-after': '16' });
    const { clock, reflector, stop } = await listing(new Replies(busy, holds), { watchList });
    await clock.run(15_999);
    expect(reflector.status().state).toBe('waiting');
    await clock.run(1);
    expect(reflector.status().state).toBe(watchList ? 'streaming' : 'listing');
    await stop();
  });

  test('has the state of the reflector', async () => {
    const server = new Replies(refuses(500, 'InternalError'), () => answer(200, '{'), lists, holds);
    const { clock, reflector, stop } = await listing(server);
    expect(reflector.status().state).toBe('waiting');
    await clock.run(800 + 1600);
    expect(reflector.status()).toEqual({
      state: 'watching',
      lastSyncResourceVersion: '5',
      lastSignOfLife: 0,
      relists: 0,
      watches: 1,
      skippedEvents: 0,
      failures: { auth: 0, expired: 0, throttled: 0, network: 0, decode: 1, full: 0, server: 1 },
      lastFailure: {
        class: 'decode',
        next: 'relist',
        afterMs: 1600,
        agoMs: 1600,
        error: expect.anything(),
      },
    });
    await stop();
  });

  test('has the age of the last byte of a successful answer', async () => {
    const body = new Stream();
    const open: Reply = ({ signal }) => ({
      status: 200,
      headers: new Headers(),
      body: body.body(signal),
    });
    const server = new Replies(refuses(500, 'InternalError'), lists, open, refuses(503, ''));
    const { clock, reflector, stop } = await listing(server);
    const age = () => reflector.status().lastSignOfLife;
    expect(age()).toBeUndefined();
    await clock.run(800);
    expect(age()).toBe(0);
    await clock.run(5000);
    expect(age()).toBe(5000);
    body.send('\n');
    await clock.settle();
    expect(age()).toBe(0);
    body.close();
    await clock.run(100_000);
    expect(age()).toBe(100_000);
    await stop();
  });
});

test('an event without a version does not change the last version', async () => {
  const frames = [event('ADDED', configMapAt('b', '6')), event('MODIFIED', configMapAt('b', ''))];
  const server = new Replies(lists, () => stream(frames, 'close'), holds);
  const { names, stop } = await listing(server);
  expect([names(), server.asked().at(-1)]).toEqual([['a', 'b'], 'watch 6']);
  await stop();
});

test('a repeated event, or one with an older version, is applied as it comes', async () => {
  const frames = ['7', '7', '6'].map((version) => event('MODIFIED', configMapAt('a', version)));
  const server = new Replies(lists, ({ signal }) => stream(frames, 'hold', signal));
  const { store, reflector, stop } = await listing(server);
  expect([store.list(), reflector.lastSyncResourceVersion()]).toEqual([
    [configMapAt('a', '6')],
    '6',
  ]);
  await stop();
});

test('the newest version is requested only until a list succeeds', async () => {
  const gone = sends(error(410, 'Expired'));
  const newer: Reply = () => answer(200, listBody('30', []));
  const server = new Replies(
    lists,
    gone,
    refuses(410, 'Expired'),
    refuses(500, 'InternalError'),
    newer,
    gone,
    newer,
    holds,
  );
  const { clock, stop } = await listing(server);
  await clock.run(60_000);
  expect(server.asked()).toEqual([
    'list 0 limit 500',
    'watch 5',
    'list 5',
    'list ',
    'list  limit 500',
    'watch 30',
    'list 30',
    'watch 30',
  ]);
  await stop();
});

test.each(['', '0'])(
  'after a watch from version %j only another event than ADDED sets the version',
  async (version) => {
    const first: Reply = () => answer(200, listBody(version, []));
    const added = event('ADDED', configMapAt('b', '11'));
    const both = [
      added,
      event('MODIFIED', configMapAt('b', '12')),
      event('ADDED', configMapAt('c', '13')),
    ];
    const server = new Replies(first, sends(added), () => stream(both, 'close'), holds);
    const { stop } = await listing(server);
    expect(server.asked().slice(1)).toEqual([`watch ${version}`, `watch ${version}`, 'watch 13']);
    await stop();
  },
);
