/** Counterparts of client-go's tests of RetryWatcher (tools/watch/retrywatcher_test.go). */
import {
  ListWatch,
  RetryWatcher,
  type StatusError,
  TransportError,
  type WatchEvent,
} from 'capstan/cache';
import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../../bindings/base/clock.ts';
import { answer } from '../../helpers/cache/live-server.ts';
import {
  configMapAt,
  event,
  Replies,
  type Reply,
  status,
  stream,
} from '../../helpers/cache/scripted-server.ts';
import { type ConfigMap, ConfigMaps } from '../../helpers/resources.ts';

const added = (version: number): string =>
  event('ADDED', configMapAt(`v${version}`, String(version)));

/** The events of a history after a version; an ERROR only after an event. */
function history(
  ...all: (number | object)[]
): (request: { query?: Record<string, string> }) => string[] {
  return ({ query }) => {
    const from = Number(query?.resourceVersion);
    const frames: string[] = [];
    for (const one of all) {
      if (typeof one !== 'number') {
        if (frames.length > 0) frames.push(event('ERROR', one));
      } else if (one > from) {
        frames.push(added(one));
      }
    }
    return frames;
  };
}

/** Sends all events, then stays open. */
const from = (...all: (number | object)[]): Reply => {
  const later = history(...all);
  return (request) => stream(later(request), 'hold', request.signal);
};
/** Sends the first events, then closes the stream. */
const closing = (count: number, ...all: number[]): Reply => {
  const later = history(...all);
  return (request) => stream(later(request).slice(0, count), 'close', request.signal);
};

async function run(version: string, ...replies: Reply[]) {
  const clock = new FakeClock();
  const server = new Replies(...replies);
  const watcher = new RetryWatcher(new ListWatch(server, ConfigMaps), version, {
    clock,
    random: () => 0,
  });
  const versions: string[] = [];
  let error: unknown;
  const reading = (async () => {
    try {
      for await (const { resourceVersion } of watcher) versions.push(resourceVersion);
    } catch (caught) {
      error = caught;
    }
  })();
  await clock.run(60_000);
  watcher.close();
  await reading;
  expect(clock.timers()).toBe(0);
  return { versions, error: error as StatusError | undefined, requests: server.requests.length };
}

describe('NewRetryWatcher', () => {
  test.each(['', '0'])('refuses the version %j, from which events have no order', (version) => {
    expect(() => new RetryWatcher(new ListWatch(new Replies(), ConfigMaps), version)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    );
  });
});

const expired = (): ReturnType<Reply> => answer(410, JSON.stringify(status(410, 'Expired')));
const refused = (): never => {
  throw new TransportError('refused', 'refused');
};

describe('TestRetryWatcher', () => {
  const recovered: [string, string, Reply[], number[], number][] = [
    ['recovers if watchClient returns error', '1', [refused, from(2)], [2], 2],
    ['recovers from 410 Gone error on watch establishment', '1', [expired, from(2)], [2], 2],
    ['works with initialRV set', '1', [from(2)], [2], 1],
    ['skips the preceding items but reads those directly following', '1', [from(1, 2)], [2], 1],
    ['skips the preceding items with none following', '3', [from(2)], [], 1],
    ['recovers from timeout error', '5', [from(6, status(504, 'Timeout'), 7)], [6, 7], 2],
    [
      'recovers from internal server error',
      '5',
      [from(6, status(500, 'InternalError'), 7)],
      [6, 7],
      2,
    ],
    ['recovers from unexpected error code', '5', [from(6, status(666, ''), 7)], [6, 7], 2],
    ['recovers from unexpected error type', '5', [from(6, { kind: 'Unexpected' }, 7)], [6, 7], 2],
  ];
  test.each(recovered)('%s', async (_, version, replies, versions, requests) => {
    expect(await run(version, ...replies)).toEqual({
      versions: versions.map(String),
      error: undefined,
      requests,
    });
  });

  const closed: [string, string, number, number[], number[]][] = [
    ['survives 1 closed watch and reads 1 item', '5', 1, [6], [6]],
    ['survives 2 closed watches and reads 2 items', '4', 1, [5, 6], [5, 6]],
    ['survives 2 closed watches and reads 2 items for nonconsecutive RVs', '4', 1, [5, 7], [5, 7]],
    ['survives 2 closed watches starting at much lower RV', '2', 1, [5, 7], [5, 7]],
    [
      'survives 4 closed watches and reads 4 items for spread RVs',
      '2',
      1,
      [5, 6, 7, 11],
      [5, 6, 7, 11],
    ],
    [
      'survives 4 closed watches and skips lower or equal RV',
      '2',
      1,
      [1, 2, 5, 6, 7, 11],
      [5, 6, 7, 11],
    ],
    [
      'survives 2 closed watches and reads 2+2+1 items skipping those with equal RV',
      '1',
      2,
      [1, 2, 5, 6, 7, 11],
      [2, 5, 6, 7, 11],
    ],
  ];
  test.each(closed)('%s', async (_, version, count, all, versions) => {
    const { versions: got, error } = await run(version, closing(count, ...all));
    expect([got, error]).toEqual([versions.map(String), undefined]);
  });

  test('fails on Gone (RV too old error), after the events before it', async () => {
    const { versions, error, requests } = await run('5', from(5, 6, status(410, 'Gone'), 7, 8));
    expect([versions, error?.status, requests]).toEqual([['6'], 410, 1]);
  });

  test.each([
    [403, 'Forbidden'],
    [401, 'Unauthorized'],
  ])('fails on %i %s', async (code, reason) => {
    const { versions, error, requests } = await run('5', () =>
      answer(code, JSON.stringify(status(code, reason))),
    );
    expect([versions, error?.reason, requests]).toEqual([[], reason, 1]);
  });

  test('TestRetryWatcherToFinishWithUnreadEvents: ends with unread events', async () => {
    const clock = new FakeClock();
    const server = new Replies(from(2, 3, 4));
    const watcher = new RetryWatcher(new ListWatch(server, ConfigMaps), '1', { clock });
    const seen: WatchEvent<ConfigMap>[] = [];
    for await (const one of watcher) {
      seen.push(one);
      watcher.close();
      watcher.close(); // a second time changes nothing
    }
    expect(seen).toEqual([{ type: 'ADDED', object: configMapAt('v2', '2'), resourceVersion: '2' }]);
    expect(clock.timers()).toBe(0);
  });
});

describe('a RetryWatcher beyond the tests of client-go', () => {
  test('opens the watch again after a second at least, and after retryAfterSeconds', async () => {
    const clock = new FakeClock();
    const times: number[] = [];
    const next: Reply[] = [
      closing(0),
      from(6, status(500, 'InternalError', { details: { retryAfterSeconds: 7 } })),
      from(6),
    ];
    const server = new Replies(
      ...next.map(
        (reply): Reply =>
          (request) => {
            times.push(clock.now());
            return reply(request);
          },
      ),
    );
    const failures: unknown[] = [];
    const stop = new AbortController();
    const watcher = new RetryWatcher(new ListWatch(server, ConfigMaps), '5', {
      clock,
      signal: stop.signal,
      watchErrorHandler: (_, failure) => failures.push(failure),
    });
    const reading = (async () => {
      for await (const _ of watcher);
    })();
    await clock.run(30_000);
    expect(times).toEqual([0, 1000, 8000]);
    expect(failures).toEqual([{ class: 'server', next: 'rewatch', afterMs: 7000 }]);
    stop.abort();
    await reading;
  });

  // "1s" became NaN, and so a timer of 1 ms: 700 requests a second.
  test.each([
    ['"1s"', '1s'],
    ['{}', {}],
    ['1e300', 1e300],
    ['-5', -5],
    ['null', null],
  ])('ignores retryAfterSeconds of %s', async (_, retryAfterSeconds) => {
    const refused = status(500, 'InternalError', { details: { retryAfterSeconds } });
    const { requests } = await run('5', () => stream([event('ERROR', refused)], 'close'));
    expect(requests).toBe(61);
  });

  test('skips repeated events, by comparing versions as numbers of any length', async () => {
    const far = 12345678901234567890n;
    const frames = [
      added(9),
      added(10),
      added(9),
      event('ADDED', configMapAt('far', String(far))),
      added(11),
    ];
    const { versions } = await run('8', (request) => stream(frames, 'hold', request.signal));
    expect(versions).toEqual(['9', '10', String(far)]);
  });

  test('resumes from a bookmark, which it does not give as an event', async () => {
    const mark = event('BOOKMARK', { metadata: { resourceVersion: '20' } });
    const server: Reply[] = [(request) => stream([mark], 'close', request.signal), from(19, 21)];
    expect((await run('5', ...server)).versions).toEqual(['21']);
  });

  test.each<[string, Reply, string]>([
    ['a version that stays gone', expired, 'STATUS'],
    [
      'bytes that stay unreadable',
      (request) => stream(['<html>'], 'hold', request.signal),
      'DECODE',
    ],
  ])('ends with %s after five times, while client-go goes on for ever', async (_, reply, code) => {
    const { error, requests } = await run('5', reply);
    expect([error?.code, requests]).toEqual([code, 5]);
  });

  test('ends with an event without a version, from which it could not resume', async () => {
    const { error, requests } = await run('5', () =>
      stream([event('ADDED', configMapAt('a', ''))], 'hold'),
    );
    expect([error?.code, requests]).toEqual(['DECODE', 1]);
  });
});
