import { getEventListeners } from 'node:events';
import { ListWatch, listItems, RetryWatcher, type WatchEvent, watch } from 'capstan/cache';
import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../../bindings/base/clock.ts';
import { answer, LiveServer } from '../../helpers/cache/live-server.ts';
import {
  bookmark,
  configMapAt,
  event,
  Replies,
  status,
  stream,
} from '../../helpers/cache/scripted-server.ts';
import { collectErrorValues } from '../../helpers/reported-errors.ts';
import { type ConfigMap, ConfigMaps } from '../../helpers/resources.ts';

const reported = collectErrorValues();

async function read(events: AsyncIterable<WatchEvent<ConfigMap>>) {
  const seen: string[] = [];
  let error: unknown;
  try {
    for await (const { type, object, resourceVersion } of events)
      seen.push(`${type} ${object.metadata.name} ${resourceVersion}`);
  } catch (caught) {
    error = caught;
  }
  return { seen, error };
}

const a = event('ADDED', configMapAt('a', '6'));
const b = event('DELETED', configMapAt('b', '7'));

describe('a watch without a cache', () => {
  test('gives event after event and ends with the stream; bookmarks go to onBookmark', async () => {
    const server = new Replies(() => stream([a, bookmark('6'), b, bookmark('9')], 'close'));
    const marks: string[] = [];
    const options = {
      resourceVersion: '5',
      namespace: 'ns',
      labelSelector: 'x=y',
      timeoutSeconds: 60,
    };
    const { seen, error } = await read(
      watch(server, ConfigMaps, { ...options, onBookmark: (at) => marks.push(at) }),
    );
    expect([seen, error, marks]).toEqual([['ADDED a 6', 'DELETED b 7'], undefined, ['6', '9']]);
    expect(server.requests).toMatchObject([
      {
        path: '/api/v1/namespaces/ns/configmaps',
        query: {
          watch: 'true',
          allowWatchBookmarks: 'true',
          resourceVersion: '5',
          labelSelector: 'x=y',
          timeoutSeconds: '60',
        },
      },
    ]);
  });

  test('sends no request before the iteration begins', () => {
    const server = new Replies(() => stream([], 'close'));
    watch(server, ConfigMaps);
    expect(server.requests).toEqual([]);
  });

  test('ends with a typed error after an ERROR event or any other failure', async () => {
    const gone = event('ERROR', status(410, 'Expired'));
    const cases = [
      [() => stream([a, gone], 'hold'), ['ADDED a 6'], { code: 'STATUS', status: 410 }],
      [
        () => answer(403, JSON.stringify(status(403, 'Forbidden'))),
        [],
        { code: 'STATUS', status: 403 },
      ],
      [() => stream([a], 'reset'), ['ADDED a 6'], { code: 'TRANSPORT', kind: 'reset' }],
      [() => stream([a, '<html>'], 'hold'), ['ADDED a 6'], { code: 'DECODE' }],
    ] as const;
    for (const [reply, events, failure] of cases) {
      const { seen, error } = await read(watch(new Replies(reply), ConfigMaps));
      expect(seen).toEqual(events);
      expect(error).toMatchObject(failure);
    }
  });

  test('ends without an error when its signal fires, also before the answer', async () => {
    for (const early of [false, true]) {
      const server = new LiveServer();
      if (early) server.intercept = () => new Promise(() => undefined);
      const stop = new AbortController();
      const clock = new FakeClock();
      const reading = read(watch(server, ConfigMaps, { signal: stop.signal, clock }));
      await clock.settle();
      stop.abort();
      expect(await reading).toEqual({ seen: [], error: undefined });
      expect(clock.timers()).toBe(0);
    }
  });

  test('closes the connection when the loop is left', async () => {
    let aborted = false;
    const server = new Replies((request) => {
      request.signal?.addEventListener('abort', () => {
        aborted = true;
      });
      return stream([a], 'hold', request.signal);
    });
    for await (const _ of watch(server, ConfigMaps)) break;
    expect(aborted).toBe(true);
  });

  // return() and throw() of a generator wait for a pending next(): a program that raced the two
  // hung until the next event.
  test('ends a pending next() when it is left, as listItems and a RetryWatcher', async () => {
    for (const open of [
      (server: LiveServer) => watch(server, ConfigMaps),
      (server: LiveServer) => listItems(server, ConfigMaps),
      (server: LiveServer) =>
        new RetryWatcher(new ListWatch(server, ConfigMaps), '5')[Symbol.asyncIterator](),
    ]) {
      const server = new LiveServer();
      let aborted = 0;
      server.intercept = (request) => {
        request.signal?.addEventListener('abort', () => aborted++);
        return new Promise(() => undefined);
      };
      const end = { done: true, value: undefined };
      const mine = new Error('mine');
      for (const [left, leave] of [
        [end, (items) => items.return()],
        [mine, (items) => items.throw(mine).catch((error: unknown) => error)],
      ] satisfies [
        unknown,
        (items: AsyncGenerator<unknown, void, undefined>) => Promise<unknown>,
      ][]) {
        aborted = 0;
        const items: AsyncGenerator<unknown, void, undefined> = open(server);
        const waiting = items.next();
        await new FakeClock().settle();
        expect(await Promise.all([leave(items), waiting])).toEqual([left, end]);
        expect([aborted, await items.next()]).toEqual([1, end]);
      }
    }
  });

  // client-go: TestDecoder_SourceClose, apimachinery: TestEmptyDecoder
  test('ends a pending next() when the server ends the stream, which may be empty', async () => {
    const server = new LiveServer();
    const events = watch(server, ConfigMaps);
    const waiting = events.next();
    await new FakeClock().settle();
    expect(server.watches.size).toBe(1);
    server.closeWatches();
    expect(await waiting).toEqual({ done: true, value: undefined });
    const empty = watch(new Replies(() => stream([], 'close')), ConfigMaps);
    expect(await read(empty)).toEqual({ seen: [], error: undefined });
  });

  // apimachinery: TestStreamWatcherRace
  test('that is stopped gives no buffered events and no error', async () => {
    const all = a + b + event('ERROR', status(500, 'InternalError')); // in one read
    for (const leave of ['signal', 'return']) {
      const stop = new AbortController();
      const server = new Replies(({ signal }) => stream([all], 'hold', signal));
      const events = watch(server, ConfigMaps, { signal: stop.signal });
      expect((await events.next()).value).toMatchObject({ type: 'ADDED' });
      if (leave === 'signal') stop.abort();
      else await events.return();
      expect(await events.next()).toEqual({ done: true, value: undefined });
    }
  });

  test('throws an error of onBookmark in the loop, also after the end', async () => {
    const stop = new AbortController();
    const mine = new Error('mine');
    const onBookmark = () => {
      stop.abort();
      throw mine;
    };
    const server = new Replies(() => stream([bookmark('6')], 'hold', stop.signal));
    expect(await read(watch(server, ConfigMaps, { signal: stop.signal, onBookmark }))).toEqual({
      seen: [],
      error: mine,
    });
  });

  // Its rejected promise (a version that could not be saved, for example) was not handled, which
  // ended the process.
  test('awaits an async onBookmark, and throws its rejection in the loop', async () => {
    const mine = new Error('mine');
    const saved: string[] = [];
    const onBookmark = async (version: string) => {
      await new FakeClock().settle();
      if (version === '9') throw mine;
      saved.push(version);
    };
    const server = new Replies(() => stream([bookmark('6'), a, bookmark('9'), b], 'close'));
    expect(await read(watch(server, ConfigMaps, { onBookmark }))).toEqual({
      seen: ['ADDED a 6'],
      error: mine,
    });
    expect(saved).toEqual(['6']);
  });

  test('leaves no listener on the signal of the watch', async () => {
    const { signal } = new AbortController();
    await read(watch(new Replies(() => stream([a], 'close')), ConfigMaps, { signal }));
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  test('skips and reports an object of another kind', async () => {
    const secret = event('ADDED', { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' } });
    const { seen } = await read(watch(new Replies(() => stream([secret, a], 'close')), ConfigMaps));
    expect(seen).toEqual(['ADDED a 6']);
    expect(reported).toEqual([expect.objectContaining({ code: 'DECODE' })]);
  });

  test('refuses an invalid number of seconds and an invalid transport at once', () => {
    const invalid = expect.objectContaining({ code: 'INVALID_ARGUMENT' });
    expect(() => watch(new Replies(), ConfigMaps, { timeoutSeconds: 0 })).toThrow(invalid);
    expect(() => watch({} as LiveServer, ConfigMaps)).toThrow(invalid);
  });
});

// It was sent as a text, such as "[object Object]", and an empty array as a watch from now on.
test.each([5, {}, [], Symbol('5')])('a resourceVersion that is no text is refused', (wrong) => {
  const options = { resourceVersion: wrong as never };
  expect(() => watch(new LiveServer(), ConfigMaps, options)).toThrow(
    expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
  );
});
