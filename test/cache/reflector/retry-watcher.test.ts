/**
 * RetryWatcher: refused arguments, new events, and its end. The counterparts of client-go's tests
 * are in upstream-retry-watcher.test.ts.
 */
import { getEventListeners } from 'node:events';
import {
  ListWatch,
  RetryWatcher,
  type RetryWatcherOptions,
  TransportError,
  type WatchFailure,
} from 'capstan/cache';
import { describe, expect, onTestFinished, test } from 'vitest';
import { FakeClock } from '../../../bindings/base/clock.ts';
import { setErrorHandler } from '../../../bindings/base/handle-error.ts';
import { Stream } from '../../helpers/cache/live-server.ts';
import {
  configMapAt,
  event,
  Replies,
  type Reply,
  stream,
} from '../../helpers/cache/scripted-server.ts';
import { ConfigMaps } from '../../helpers/resources.ts';

const added = (version: string): string => event('ADDED', configMapAt(`v${version}`, version));
const holding =
  (...frames: string[]): Reply =>
  (request) =>
    stream(frames, 'hold', request.signal);

/** A running watcher, with its events and the reported errors. */
function reading(version: string, replies: Reply[], options: RetryWatcherOptions = {}) {
  const reported: string[] = [];
  const previous = setErrorHandler((error, what) =>
    reported.push(`${what}: ${(error as Error).message}`),
  );
  onTestFinished(() => void setErrorHandler(previous));
  const clock = new FakeClock(10_000);
  const server = new Replies(...replies);
  const watcher = new RetryWatcher(new ListWatch(server, ConfigMaps), version, {
    clock,
    ...options,
  });
  const versions: string[] = [];
  const done = (async () => {
    for await (const { resourceVersion } of watcher) versions.push(resourceVersion);
  })();
  const stop = async (): Promise<void> => {
    watcher.close();
    await done;
  };
  return { clock, server, watcher, versions, reported, done, stop };
}

test.each<[string, unknown[]]>([
  ['no ListWatch', [undefined, '5']],
  ['something else in its place', [{}, '5']],
  ['no version', [new ListWatch(new Replies(), ConfigMaps), undefined]],
  ['a version that is a number', [new ListWatch(new Replies(), ConfigMaps), 5]],
  [
    'a handler that is none',
    [new ListWatch(new Replies(), ConfigMaps), '5', { watchErrorHandler: 'log' }],
  ],
])('%s is refused', (_, args) => {
  expect(() => Reflect.construct(RetryWatcher, args)).toThrow(
    expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
  );
});

describe('an event is new', () => {
  test.each([
    ['where its version is a larger number', ['9', '10', '10', '9', '11'], ['9', '10', '11']],
    [
      'where its version is another one, of versions that are no numbers',
      ['x', 'x', 'y', 'y'],
      ['x', 'y'],
    ],
    ['where only one of the two is a number', ['x', '7', '7', 'x'], ['x', '7', 'x']],
  ])('%s', async (_, sent, given) => {
    const { clock, server, watcher, versions, stop } = reading('5', [
      (request) => stream(sent.map(added), 'close', request.signal),
      holding(),
    ]);
    expect(watcher.lastResourceVersion()).toBe('5');
    await clock.run(1000);
    expect(versions).toEqual(given);
    expect(watcher.lastResourceVersion()).toBe(given.at(-1));
    expect(server.asked()).toEqual(['watch 5', `watch ${given.at(-1)}`]);
    await stop();
  });
});

test('an object of another kind is reported and skipped', async () => {
  const refused = (): never => {
    throw new TransportError('refused', 'refused');
  };
  const secret = event('ADDED', { ...configMapAt('s', '6'), kind: 'Secret' });
  const { clock, versions, reported, stop } = reading('5', [refused, holding(secret, added('7'))]);
  await clock.run(1000);
  expect(versions).toEqual(['7']);
  expect(reported).toEqual(['RetryWatcher: a watch of v1 ConfigMap sent a v1 Secret']);
  await stop();
});

test('a lost connection is passed to the watchErrorHandler, with the next wait', async () => {
  const told: [unknown, WatchFailure][] = [];
  const body = new Stream();
  const first: Reply = ({ signal }) => ({
    status: 200,
    headers: new Headers(),
    body: body.body(signal),
  });
  const watchErrorHandler = (error: unknown, failure: WatchFailure) =>
    void told.push([error, failure]);
  const { clock, server, stop } = reading('5', [first, holding()], { watchErrorHandler });
  await clock.run(300);
  const lost = new TransportError('reset', 'the connection was reset');
  body.close(lost);
  await clock.run(699);
  expect(told).toEqual([[lost, { class: 'network', next: 'rewatch', afterMs: 700 }]]);
  expect(server.requests).toHaveLength(1);
  await clock.run(1);
  expect(server.requests).toHaveLength(2);
  await stop();
  expect(told, 'stopping is no failure').toHaveLength(1);
});

describe('the signal of the options', () => {
  test('that has fired already ends the loop before any request', async () => {
    const { done, server } = reading('5', [holding()], { signal: AbortSignal.abort() });
    await done;
    expect(server.requests).toEqual([]);
  });

  test.each(['the signal', 'close()'])(
    'has no listener after %s has ended the loop',
    async (by) => {
      const abort = new AbortController();
      const { clock, watcher, done } = reading('5', [holding(added('6'))], {
        signal: abort.signal,
      });
      await clock.settle();
      expect(getEventListeners(abort.signal, 'abort')).toHaveLength(1);
      if (by === 'close()') watcher.close();
      else abort.abort();
      await done;
      expect(getEventListeners(abort.signal, 'abort')).toEqual([]);
      expect(clock.timers()).toBe(0);
    },
  );
});

// The event whose loop body called stop() was forgotten: a watcher that went on from there gave it
// again.
test('no event is given after close, although it came with the one before', async () => {
  const server = new Replies(holding(added('6') + added('7') + added('8')));
  const watcher = new RetryWatcher(new ListWatch(server, ConfigMaps), '5', {
    clock: new FakeClock(),
  });
  const versions: string[] = [];
  for await (const { resourceVersion } of watcher) {
    versions.push(resourceVersion);
    if (versions.length === 2) watcher.close();
  }
  expect(versions).toEqual(['6', '7']);
  expect(watcher.lastResourceVersion()).toBe('7');
});
