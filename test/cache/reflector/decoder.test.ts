/** The decoder of a reflector: its readers hold memory, so each must be closed in all cases. */

import { expect, test } from 'vitest';
import { CapstanError } from '../../../bindings/base/errors.ts';
import { type Decoder, jsonDecoder } from '../../../bindings/cache/decode/decoder.ts';
import { answer } from '../../helpers/cache/live-server.ts';
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
import type { ConfigMap } from '../../helpers/resources.ts';
import { reflect } from './run-reflector.ts';

/**
 * A JSON decoder that counts the created and closed readers and records the calls of gather.
 * `refuse` makes every push of frames fail.
 */
function counting(refuse?: Error) {
  const forgotten: string[] = [];
  const json = jsonDecoder<ConfigMap>({ apiVersion: 'v1', kind: 'ConfigMap' });
  const open = new Set<object>();
  const made: string[] = [];
  const counted = <R extends { close(): void }>(what: string, reader: R): R => {
    const close = reader.close.bind(reader);
    made.push(what);
    open.add(reader);
    reader.close = () => {
      open.delete(reader);
      close();
    };
    return reader;
  };
  const decoder: Decoder<ConfigMap> = {
    gather: (on) => made.push(on ? 'gather' : 'done'),
    forget: ({ metadata }) => forgotten.push(`${metadata.name} ${metadata.resourceVersion}`),
    page: () => counted('page', json.page()),
    frames() {
      const reader = counted('frames', json.frames());
      if (refuse !== undefined) {
        reader.push = () => {
          throw refuse;
        };
      }
      return reader;
    },
  };
  return { decoder, open, made, forgotten };
}

const lists: Reply = () => answer(200, listBody('5', [configMapAt('a', '1')]));
const holds: Reply = ({ signal }) => stream([], 'hold', signal);

test.each<[string, Reply[], string[]]>([
  [
    'a list and a watch',
    [() => answer(422, JSON.stringify(status(422, 'Invalid'))), lists, holds],
    ['gather', 'done', 'gather', 'page', 'done', 'frames'],
  ],
  [
    'a stream that goes on as the watch',
    [({ signal }) => stream([bookmark('5', 'true')], 'hold', signal)],
    ['gather', 'frames', 'done'],
  ],
  [
    'a list whose token expires',
    [
      () => answer(422, ''),
      () => answer(200, listBody('5', [configMapAt('a', '1')], 'more')),
      () => answer(410, JSON.stringify(status(410, 'Expired'))),
      lists,
      holds,
    ],
    ['gather', 'done', 'gather', 'page', 'page', 'gather', 'page', 'done', 'frames'],
  ],
  [
    'a stream without an end, an ERROR, garbage, a cut list',
    [
      () => stream([event('ADDED', configMapAt('a', '1'))], 'close'),
      () => stream(['<html>'], 'hold'),
      () => stream(['{"items":['], 'reset'),
      () => stream([event('ERROR', status(410, 'Expired'))], 'hold'),
      () => stream([bookmark('5', 'true'), event('ERROR', status(410, 'Expired'))], 'close'),
      holds,
    ],
    ['frames', 'frames', 'page', 'frames', 'frames']
      .flatMap((reader) => ['gather', reader, 'done'])
      .concat('gather', 'frames'),
  ],
])(
  'closes each reader, and calls gather around the collection of all objects: %s',
  async (_, replies, readers) => {
    const { decoder, open, made } = counting();
    const { clock, stop } = await reflect(new Replies(...replies), { decoder, watchList: true });
    await clock.run(10_000);
    expect([made, open.size <= 1]).toEqual([readers, true]);
    await stop();
    expect(open.size).toBe(0);
  },
);

test('forgets initial objects of a watch list that a later event replaces', async () => {
  const { decoder, forgotten } = counting();
  const frames = [
    'ADDED a 1',
    'ADDED b 2',
    'ADDED c 3',
    'MODIFIED a 4',
    'DELETED b 5',
    'MODIFIED a 6',
  ].map((frame) => {
    const [type = '', name = '', version = ''] = frame.split(' ');
    return event(type, configMapAt(name, version));
  });
  const live: Reply = ({ signal }) => stream([...frames, bookmark('6', 'true')], 'hold', signal);
  const { names, stop } = await reflect(new Replies(live), { decoder, watchList: true });
  expect([names(), forgotten]).toEqual([
    ['a', 'c'],
    ['a 1', 'b 2', 'a 4'],
  ]);
  await stop();
});

test.each([
  ['a watch is followed by a list', false, ['list 0 limit 500', 'watch 5', 'list 5', 'watch 5']],
  // A list would need the same memory.
  ['a stream of the initial objects by a stream', true, ['stream ', 'stream ']],
])(
  'a decoder without memory is a failure of class full, with back-off: %s',
  async (_, watchList, asked) => {
    const full = new CapstanError('OUT_OF_MEMORY', 'the cache is full');
    const { decoder, open } = counting(full);
    const lively: Reply = ({ signal }) => stream([bookmark('6')], 'hold', signal);
    const server = watchList ? new Replies(lively) : new Replies(lists, lively, lists, lively);
    const { clock, failures, stop } = await reflect(server, { decoder, watchList });
    expect(failures).toMatchObject([{ class: 'full', next: 'relist', afterMs: 800, error: full }]);
    await clock.run(800);
    expect([failures.length, server.asked()]).toEqual([2, asked]);
    await stop();
    expect(open.size).toBe(0);
  },
);

test('a decoder that throws for a watch leaves no open connection', async () => {
  const { decoder } = counting();
  decoder.frames = () => {
    throw new CapstanError('OUT_OF_MEMORY', 'no room to read');
  };
  let open = 0;
  const watched: Reply = ({ signal }) => {
    open++;
    signal?.addEventListener('abort', () => open--);
    return stream([], 'hold', signal);
  };
  const { clock, failures, stop } = await reflect(new Replies(lists, watched, lists, watched), {
    decoder,
  });
  await clock.run(800);
  expect([open, failures.map((failure) => failure.class)]).toEqual([0, ['full', 'full']]);
  await stop();
});

test('invalid options are refused', async () => {
  const invalid = expect.objectContaining({ code: 'INVALID_ARGUMENT' });
  const wrong = [
    { backoff: { duration: 0 } },
    { backoff: { factor: Number.NaN } },
    { backoff: { cap: Number.POSITIVE_INFINITY } },
    { watchListPageSize: -1 },
    { minWatchTimeout: Number.POSITIVE_INFINITY },
    { resyncPeriod: Number.NaN },
    { maxInternalErrorRetryDuration: 'x' as never },
    { watchErrorHandler: 'x' as never },
    { watchList: 'x' as never },
    { parkWhenGone: 1 as never },
  ];
  for (const options of wrong)
    await expect(reflect(new Replies(lists), options)).rejects.toEqual(invalid);
});
