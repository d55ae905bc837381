/**
 * Counterparts of client-go's tests of its pager (tools/pager/pager_test.go), for list, listItems
 * and the pages of a reflector.
 */
import { getEventListeners } from 'node:events';
import { list, listItems, StatusError } from 'capstan/cache';
import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../../bindings/base/clock.ts';
import { eachPage, fetchPages, type ListQuery } from '../../../bindings/cache/reflector/pager.ts';
import { answer } from '../../helpers/cache/live-server.ts';
import {
  configMapAt,
  listBody,
  Replies,
  type Reply,
  status,
  stream,
} from '../../helpers/cache/scripted-server.ts';
import { ConfigMaps } from '../../helpers/resources.ts';

const expired = new StatusError(410, { kind: 'Status', code: 410, reason: 'Expired' }, 'list');

/**
 * `count` objects in pages of `limit`; a page from number `expiresAt` on has expired, unless the
 * list is asked for whole.
 */
function pages(count: number, limit: number, expiresAt = Number.POSITIVE_INFINITY) {
  const queries: ListQuery[] = [];
  const fetch = async (query: ListQuery) => {
    queries.push(query);
    const from = Number(query.continue);
    if (query.limit === 0)
      return { items: numbers(0, count), resourceVersion: 'rv:20', continue: '' };
    if (from / limit + 1 >= expiresAt) throw expired;
    const to = Math.min(from + query.limit, count);
    return {
      items: numbers(from, to),
      resourceVersion: 'rv:20',
      continue: to < count ? String(to) : '',
    };
  };
  return { queries, fetch };
}
const numbers = (from: number, to: number): number[] =>
  Array.from({ length: to - from }, (_, i) => from + i);

describe('TestListPager_List', () => {
  test.each([
    ['empty page', 0, 1, false],
    ['one page', 9, 1, false],
    ['one full page', 10, 1, false],
    ['two pages', 11, 2, true],
    ['three pages', 21, 3, true],
  ])('%s', async (_, count, requests, paged) => {
    const { queries, fetch } = pages(count, 10);
    expect(await fetchPages(fetch, '', 10)).toEqual({
      items: numbers(0, count),
      resourceVersion: 'rv:20',
      paged,
    });
    expect(queries.length).toBe(requests);
  });

  test('expires on second page and then lists', async () => {
    const { queries, fetch } = pages(21, 10, 2);
    const told: unknown[] = [];
    const whole = await fetchPages(fetch, '7', 10, (error) => told.push(error));
    expect(whole).toEqual({ items: numbers(0, 21), resourceVersion: 'rv:20', paged: true });
    expect(queries.at(-1)).toEqual({ resourceVersion: '7', limit: 0, continue: '' });
    expect(told).toEqual([expired]);
  });

  test('expires on second page and then lists, also without onExpired', async () => {
    expect((await fetchPages(pages(21, 10, 2).fetch, '', 10)).items).toEqual(numbers(0, 21));
  });

  test('another failure of the second page fails the list', async () => {
    const { queries, fetch } = pages(21, 10);
    const denied = new StatusError(403, { kind: 'Status', code: 403, reason: 'Forbidden' }, 'list');
    let asked = 0;
    const failing = (query: ListQuery) => (++asked === 2 ? Promise.reject(denied) : fetch(query));
    await expect(fetchPages(failing, '', 10)).rejects.toBe(denied);
    expect(queries.length).toBe(1);
  });

  test('expires on the first page: no full list is tried', async () => {
    await expect(fetchPages(pages(21, 10, 1).fetch, '', 10)).rejects.toBe(expired);
  });

  test('two pages with resourceVersion: the second request has none', async () => {
    const { queries, fetch } = pages(11, 10);
    await fetchPages(fetch, '10', 10);
    expect(queries.map(({ resourceVersion }) => resourceVersion)).toEqual(['10', '']);
  });
});

async function take(
  pagesOf: ReturnType<typeof pages>,
  process: (item: number) => void,
  signal?: AbortSignal,
  ahead = 10,
) {
  const abort = new AbortController();
  const fetch = async (query: ListQuery) => {
    if (abort.signal.aborted) throw new Error('aborted');
    return pagesOf.fetch(query);
  };
  const given: number[] = [];
  for await (const page of eachPage(fetch, '', 10, ahead, { abort, signal })) {
    for (const item of page) {
      process(item);
      given.push(item);
    }
  }
  return given;
}

describe('TestListPager_EachListItem', () => {
  test.each([
    ['empty page', 0],
    ['one page', 9],
    ['one full page', 10],
    ['two pages', 11],
    ['three pages', 21],
  ])('%s', async (_, count) => {
    expect(await take(pages(count, 10), () => undefined)).toEqual(numbers(0, count));
  });

  test('expires on second page: the list is incomplete, which is an error', async () => {
    const given: number[] = [];
    await expect(take(pages(21, 10, 2), (item) => given.push(item))).rejects.toBe(expired);
    expect(given).toEqual(numbers(0, 10));
  });

  test('error processing item: it ends the iteration at once', async () => {
    const given: number[] = [];
    const process = (item: number): void => {
      given.push(item);
      if (item === 3) throw new Error('no more');
    };
    await expect(take(pages(21, 10), process)).rejects.toThrow('no more');
    expect(given).toEqual([0, 1, 2, 3]);
  });

  test('two pages with resourceVersion: the second request has none', async () => {
    const { queries, fetch } = pages(11, 10);
    const abort = new AbortController();
    for await (const _ of eachPage(fetch, '10', 10, 10, { abort, signal: undefined }));
    expect(queries.map(({ resourceVersion }) => resourceVersion)).toEqual(['10', '']);
  });

  test('left before its end: the request is aborted, and the listener removed', async () => {
    const { signal } = new AbortController();
    const abort = new AbortController();
    const { fetch } = pages(21, 10);
    const failing = (query: ListQuery) =>
      query.continue === ''
        ? fetch(query)
        : new Promise<never>((_, reject) =>
            abort.signal.addEventListener('abort', () => reject(new Error('aborted'))),
          );
    for await (const _ of eachPage(failing, '', 10, 10, { abort, signal })) break;
    expect([abort.signal.aborted, getEventListeners(signal, 'abort')]).toEqual([true, []]);
  });

  test('cancel while processing: the whole page is given, then an error', async () => {
    const stop = new AbortController();
    const given: number[] = [];
    const process = (item: number): void => {
      given.push(item);
      if (item === 3) stop.abort();
    };
    await expect(take(pages(51, 10), process, stop.signal, 0)).rejects.toThrow('aborted');
    expect(given).toEqual(numbers(0, 10));
  });

  test('cancelled before: it ends with an error, and gives nothing', async () => {
    const given: number[] = [];
    const taken = take(pages(21, 10), (item) => given.push(item), AbortSignal.abort());
    await expect(taken).rejects.toThrow('aborted');
    expect(given).toEqual([]);
  });
});

describe('TestListPager_eachListPageBuffered', () => {
  test.each([
    // pages, ahead, taken, most requests
    [1, 0, 1, 1],
    [5, 0, 1, 1],
    [5, 0, 2, 2],
    [5, 0, 5, 5],
    [5, 1, 1, 2],
    [5, 1, 5, 5],
    [5, 10, 1, 5],
  ])(
    '%i pages with a buffer of %i, %i consumed: %i are requested',
    async (count, ahead, taken, most) => {
      const { queries, fetch } = pages(count * 10, 10);
      const abort = new AbortController();
      let left = taken;
      for await (const page of eachPage(fetch, '', 10, ahead, { abort, signal: undefined })) {
        expect(page.length).toBe(10);
        for (let turn = 0; turn < 20; turn++) await undefined; // as far as it goes by itself
        if (--left === 0) break;
      }
      expect(queries.length).toBe(most);
    },
  );
});

describe('lists without a cache', () => {
  const twoPages: Reply[] = [
    () => answer(200, listBody('7', [configMapAt('a', '1')], 'more')),
    () => answer(200, listBody('9', [configMapAt('b', '2')])),
  ];

  test('join all pages, at the version of the first page', async () => {
    const server = new Replies(...twoPages);
    const { items, resourceVersion } = await list(server, ConfigMaps, {
      namespace: 'default',
      pageSize: 1,
    });
    expect(items.map(({ metadata }) => metadata.name)).toEqual(['a', 'b']);
    expect(resourceVersion).toBe('7');
    expect(server.requests.map(({ path, query }) => [path, query])).toEqual([
      ['/api/v1/namespaces/default/configmaps', { limit: '1' }],
      ['/api/v1/namespaces/default/configmaps', { limit: '1', continue: 'more' }],
    ]);
  });

  test('iterate object by object, and leaving the loop requests no further page', async () => {
    const server = new Replies(...twoPages);
    const names: string[] = [];
    for await (const { metadata } of listItems(server, ConfigMaps, { pageBufferSize: 0 })) {
      names.push(metadata.name);
      break;
    }
    expect([names, server.asked()]).toEqual([['a'], ['list  limit 500']]);
  });

  test('that are left abort the pending page', async () => {
    let aborted = false;
    const never: Reply = ({ signal }) => {
      signal?.addEventListener('abort', () => {
        aborted = true;
      });
      return stream([], 'hold', signal);
    };
    const server = new Replies(
      () => answer(200, listBody('7', [configMapAt('a', '1')], 'more')),
      never,
    );
    for await (const _ of listItems(server, ConfigMaps)) break;
    expect([aborted, server.requests.length]).toEqual([true, 2]);
  });

  test('end with the error of the server, and with ABORTED when their signal fires', async () => {
    const denied = new Replies(() => answer(403, JSON.stringify(status(403, 'Forbidden'))));
    await expect(list(denied, ConfigMaps)).rejects.toMatchObject({ status: 403 });
    const stop = new AbortController();
    stop.abort();
    const options = { signal: stop.signal };
    await expect(list(new Replies(...twoPages), ConfigMaps, options)).rejects.toMatchObject({
      code: 'ABORTED',
    });
    await expect(
      listItems(new Replies(...twoPages), ConfigMaps, options).next(),
    ).rejects.toMatchObject({
      code: 'ABORTED',
    });
  });

  test('end with ABORTED when their signal fires during a request, which is aborted', async () => {
    const stop = new AbortController();
    let given = 0;
    const server = new Replies(
      () => answer(200, listBody('7', [configMapAt('a', '1')], 'more')),
      ({ signal }) => {
        signal?.addEventListener('abort', () => given++);
        return stream([], 'hold', signal);
      },
    );
    const items = listItems(server, ConfigMaps, { signal: stop.signal });
    expect((await items.next()).value).toMatchObject({ metadata: { name: 'a' } });
    const next = items.next();
    await new FakeClock().settle();
    stop.abort();
    await expect(next).rejects.toMatchObject({ code: 'ABORTED' });
    expect([given, getEventListeners(stop.signal, 'abort')]).toEqual([1, []]);
  });

  test('refuse an invalid page size', () => {
    expect(() => listItems(new Replies(), ConfigMaps, { pageSize: -1 })).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    );
  });
});
