/**
 * Wrong answers to lists and watches: bodies of another kind, null instead of objects, repeated
 * continue tokens, waits of an hour. None of them may change a cache, and each is an error that
 * names what came.
 */
import { list, listItems, watch } from 'capstan/cache';
import { listAll, newClient } from 'capstan/client';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { FakeClock } from '../../../bindings/base/clock.ts';
import { setErrorHandler } from '../../../bindings/base/handle-error.ts';
import { decoders } from '../../helpers/cache/decoders.ts';
import { answer } from '../../helpers/cache/live-server.ts';
import {
  configMapAt,
  event,
  listBody,
  Replies,
  type Reply,
  status,
  stream,
} from '../../helpers/cache/scripted-server.ts';
import { ConfigMaps } from '../../helpers/resources.ts';
import { reflect } from './run-reflector.ts';

let reported: [unknown, string][] = [];
let previous: ReturnType<typeof setErrorHandler>;

beforeEach(() => {
  reported = [];
  previous = setErrorHandler((error, what) => reported.push([error, what]));
});
afterEach(() => {
  setErrorHandler(previous);
});

const says =
  (body: unknown): Reply =>
  () =>
    answer(200, JSON.stringify(body));
const metadata = { resourceVersion: '7' };
const good = says(JSON.parse(listBody('5', [configMapAt('a', '5')])));
const lost: Reply = () => stream([event('ERROR', status(500, 'InternalError'))], 'close');
const holds: Reply = ({ signal }) => stream([], 'hold', signal);

const WRONG: [string, object | null, string][] = [
  [
    'a list of another kind',
    { kind: 'SecretList', apiVersion: 'v1', metadata, items: [] },
    'Secret',
  ],
  [
    'a list of this kind in another group',
    { kind: 'ConfigMapList', apiVersion: 'example.com/v1', metadata, items: [] },
    'example.com',
  ],
  ['a single object', configMapAt('a', '7'), 'ConfigMap'],
  ['a Status', status(200, 'OK'), 'Status'],
  ['a Status with items', { ...status(200, 'OK'), items: [] }, 'Status'],
  ['no items', { kind: 'ConfigMapList', apiVersion: 'v1', metadata }, 'items undefined'],
  ['items that are null, and no kind', { metadata, items: null }, 'items null'],
  ['items that are an object', { kind: 'ConfigMapList', metadata, items: {} }, 'items an object'],
  ['null', null, 'expected a'],
  ['an array', [], ''],
  [
    'null among the items',
    { kind: 'ConfigMapList', metadata, items: [configMapAt('b', '7'), null] },
    'items[1]',
  ],
  [
    'an item of another kind',
    { kind: 'ConfigMapList', metadata, items: [{ ...configMapAt('b', '7'), kind: 'Secret' }] },
    'items[0]',
  ],
];

describe.each(decoders)('a list, to the decoder $name,', ({ make }) => {
  test.each(WRONG)('that is %s is a DECODE error, and the store stays', async (_, body, says_) => {
    const server = new Replies(good, lost, says(body), good, holds);
    const options = { watchList: false, decoder: make() } as never;
    const { clock, names, failures, stop } = await reflect(server, options);
    await clock.run(800);
    expect(names()).toEqual(['a']);
    expect(failures.at(-1)).toMatchObject({
      class: 'decode',
      next: 'relist',
      error: { code: 'DECODE', message: expect.stringContaining(says_) },
    });
    await clock.run(10_000);
    expect(server.asked().at(-1)).toBe('watch 5');
    await stop();
  });

  test.each(WRONG)('whose second page is %s is a DECODE error', async (_, body) => {
    const first = says(JSON.parse(listBody('5', [configMapAt('b', '5')], 'more')));
    const server = new Replies(good, lost, first, says(body));
    const options = { watchList: false, decoder: make(), watchListPageSize: 1 } as never;
    const { clock, names, failures, stop } = await reflect(server, options);
    await clock.run(800);
    expect([names(), failures.at(-1)?.class]).toEqual([['a'], 'decode']);
    await stop();
  });

  test('with null as items is empty if its kind is right, as Go writes an empty list', async () => {
    const empty = { kind: 'ConfigMapList', apiVersion: 'v1', metadata, items: null };
    const server = new Replies(good, lost, says(empty), holds);
    const options = { watchList: false, decoder: make() } as never;
    const { clock, names, stop } = await reflect(server, options);
    await clock.run(800);
    expect(names()).toEqual([]);
    await stop();
  });

  // A CustomResourceDefinition may set any list kind, which is the only difference from another
  // list.
  test('of custom objects may have another kind, once its items have their kind', async () => {
    const resource = { ...ConfigMaps, group: 'example.com' };
    const item = { ...configMapAt('a', '5'), apiVersion: 'example.com/v1' };
    const named = (kind: string, ...items: object[]) =>
      says({ kind, apiVersion: 'example.com/v1', metadata, items });
    const relisted = [lost, named('OtherList'), lost, named('Maps')];
    const first = [named('MapsList'), lost, named('MapsList', item)];
    const server = new Replies(...first, ...relisted);
    const decoder = make({ apiVersion: 'example.com/v1', kind: 'ConfigMap' });
    const options = { watchList: false, decoder, resource } as never;
    const { clock, names, failures, stop } = await reflect(server, options);
    expect(names()).toEqual([]);
    await clock.run(800);
    expect(names()).toEqual(['a']);
    await clock.run(1600);
    expect([names(), failures.at(-1)?.class]).toEqual([['a'], 'decode']);
    await stop();
  });

  test.each(['null', '{"type":"ADDED","object":null}', '{"type":"ADDED"}', '{"type":null}', '[]'])(
    'and a watch event %s is a DECODE error, in a stream of initial objects too',
    async (frame) => {
      for (const watchList of [false, true]) {
        const bad: Reply = ({ signal }) => stream([`${frame}\n`], 'hold', signal);
        const server = watchList
          ? new Replies(bad, good, holds)
          : new Replies(good, bad, good, holds);
        const options = { watchList, decoder: make() } as never;
        const { clock, names, failures, stop } = await reflect(server, options);
        await clock.run(800);
        expect([names(), failures[0]?.class]).toEqual([['a'], 'decode']);
        expect(failures[0]?.error).toMatchObject({ code: 'DECODE' });
        await stop();
      }
    },
  );
});

// The loop did not end if a server, or the cache of a proxy, gave each page the same token.
describe('a continue token that comes again', () => {
  const same = says(JSON.parse(listBody('5', [configMapAt('a', '5')], 'same')));
  const other = says(JSON.parse(listBody('5', [configMapAt('a', '5')], 'other')));
  const wrong = { code: 'DECODE', message: expect.stringContaining('"same"') };
  const all = async (items: AsyncIterable<unknown>): Promise<number> => {
    let count = 0;
    for await (const _ of items) count++;
    return count;
  };

  test.each<[string, (server: Replies) => Promise<unknown>]>([
    ['list', (server) => list(server, ConfigMaps)],
    ['listItems', (server) => all(listItems(server, ConfigMaps))],
    [
      'listItems without a buffer',
      (server) => all(listItems(server, ConfigMaps, { pageBufferSize: 0 })),
    ],
    ['listAll', (server) => all(listAll(newClient({ transport: server }), ConfigMaps))],
  ])('ends %s, also with another token between', async (_, run) => {
    await expect(run(new Replies(same, same))).rejects.toMatchObject(wrong);
    const server = new Replies(same, other, same);
    await expect(run(server)).rejects.toMatchObject(wrong);
    expect(server.requests.length).toBe(3);
  });

  test('fails the list of a reflector, which keeps the store and lists again later', async () => {
    const server = new Replies(good, lost, same, same, good, holds);
    const options = { watchList: false, watchListPageSize: 1 };
    const { clock, names, failures, stop } = await reflect(server, options);
    await clock.run(800);
    expect(failures.at(-1)).toMatchObject({ class: 'decode', next: 'relist', error: wrong });
    await clock.run(10_000);
    expect([names(), server.asked().at(-1)]).toEqual([['a'], 'watch 5']);
    await stop();
  });
});

// A gateway asked for an hour, which was not reported: the cache looked healthy but got no events.
describe('a Retry-After', () => {
  const patience =
    (seconds: number): Reply =>
    () => ({
      status: 503,
      headers: { get: (name) => (name.toLowerCase() === 'retry-after' ? String(seconds) : null) },
      body: (async function* () {
        yield new TextEncoder().encode('maintenance');
      })(),
    });
  const goesOn = /goes on in 3600 s, at \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

  test.each([false, true])(
    'is reported with its end by a reflector, streaming: %s',
    async (watchList) => {
      const server = new Replies(patience(3600), good, holds);
      const options = { watchList, watchErrorHandler: undefined };
      const { clock, reflector, stop } = await reflect(server, options);
      expect(reported).toMatchObject([[{ status: 503 }, expect.stringMatching(goesOn)]]);
      expect(reflector.status()).toMatchObject({
        state: 'waiting',
        lastFailure: { next: 'repeat', afterMs: 3_600_000 },
      });
      await clock.settle();
      await stop();
    },
  );

  test('is not reported if it is short', async () => {
    const server = new Replies(patience(5), good, holds);
    const options = { watchList: false, watchErrorHandler: undefined };
    const { clock, names, stop } = await reflect(server, options);
    await clock.run(5000);
    expect([names(), reported]).toEqual([['a'], []]);
    await stop();
  });

  test('is reported by a client, to its logger if it has one', async () => {
    const clock = new FakeClock();
    const key = { namespace: 'default', name: 'a' };
    const found = says(configMapAt('a', '5'));
    const reading = newClient({ transport: new Replies(patience(3600), found), clock }).get(
      ConfigMaps,
      key,
    );
    await clock.settle();
    expect(reported).toMatchObject([[{ status: 503 }, expect.stringMatching(goesOn)]]);
    const warned: string[] = [];
    const silent = () => undefined;
    const logger = {
      debug: silent,
      info: silent,
      error: silent,
      warn: (text: string) => warned.push(text),
    };
    const client = newClient({ transport: new Replies(patience(3600), found), clock, logger });
    const other = client.list(ConfigMaps);
    other.catch(() => undefined);
    await clock.settle();
    expect([warned, reported.length]).toEqual([
      [expect.stringContaining('goes on in 3600 s, at ')],
      1,
    ]);
    await clock.run(3_600_000);
    expect(await reading).toMatchObject({ metadata: { name: 'a' } });
  });

  test('is reported by a watch without a cache', async () => {
    const clock = new FakeClock();
    const stop = new AbortController();
    const events = watch(new Replies(patience(3600)), ConfigMaps, { clock, signal: stop.signal });
    const next = events.next();
    await clock.settle();
    expect(reported).toMatchObject([[{ status: 503 }, expect.stringMatching(goesOn)]]);
    stop.abort();
    await next;
  });
});
