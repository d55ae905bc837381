/**
 * Counterparts of client-go's tests of internal errors (tools/cache/reflector_test.go,
 * retry_with_deadline_test.go) and Tables.
 */
import { describe, expect, test } from 'vitest';
import { RetryWithDeadline } from '../../../bindings/base/backoff.ts';
import { FakeClock } from '../../../bindings/base/clock.ts';
import { setErrorHandler } from '../../../bindings/base/handle-error.ts';
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

const lists =
  (version: string): Reply =>
  () =>
    answer(200, listBody(version, []));
const holds: Reply = ({ signal }) => stream([], 'hold', signal);
const sends =
  (...frames: string[]): Reply =>
  () =>
    stream(frames, 'close');
const off = { watchList: false };

describe('TestRetryInternalError', () => {
  test.each([
    ['never, unless asked for', 0, 0, 0],
    ['for as long as asked for', 30_000, 0, 31],
    ['anew after a minute without an internal error', 30_000, 10, 40],
  ])('watches again %s', async (_, maxInternalErrorRetryDuration, quietAt, retries) => {
    const clock = new FakeClock();
    let n = 0;
    const failing: Reply = () => {
      if (++n === quietAt) clock.step(60_000);
      clock.step(1000);
      return stream([event('ERROR', status(500, 'InternalError'))], 'close');
    };
    const watches = Array.from({ length: retries + 1 }, () => failing);
    const server = new Replies(lists('1'), ...watches, lists('2'), holds);
    const options = { ...off, clock, maxInternalErrorRetryDuration };
    const { told, stop } = await reflect(server, options);
    expect(told()).toEqual([...Array(retries).fill('server → rewatch'), 'server → relist']);
    await stop();
  });

  test('relists after any other error, which does not count for the window', async () => {
    const sendsError = (code: number, reason: string): Reply =>
      sends(event('ERROR', status(code, reason)));
    const internal = sendsError(500, 'InternalError');
    const server = new Replies(
      lists('1'),
      internal,
      sendsError(503, 'ServiceUnavailable'),
      lists('2'),
      internal,
      holds,
    );
    const options = { ...off, maxInternalErrorRetryDuration: 2000 };
    const { clock, told, stop } = await reflect(server, options);
    await clock.run(1000);
    expect(told()).toEqual(['server → rewatch', 'server → relist', 'server → rewatch']);
    await stop();
  });
});

describe('TestRetryWithDeadline', () => {
  test.each<[string, number, [number, boolean][]]>([
    [
      'never, where the duration is zero',
      0,
      [
        [0, false],
        [1000, false],
      ],
    ],
    [
      'only within the duration, from the first on',
      1000,
      [
        [1000, true],
        [1000, true],
        [1000, false],
      ],
    ],
    [
      'and anew after the window has closed',
      1000,
      [
        [0, true],
        [2000, false],
        [0, true],
      ],
    ],
    [
      'and anew after a quiet minute',
      1000,
      [
        [0, true],
        [60_000, true],
      ],
    ],
  ])('tries again %s', (_, duration, steps) => {
    const clock = new FakeClock(1000);
    const retry = new RetryWithDeadline(clock, duration);
    const answers = steps.map(([ms]) => {
      clock.step(ms);
      return retry.again();
    });
    expect(answers).toEqual(steps.map(([, want]) => want));
  });
});

describe('TestIsUnsupportedTableObject', () => {
  const table = (apiVersion: string): object => ({
    kind: 'Table',
    apiVersion,
    metadata: {},
    rows: [],
  });

  test.each(['meta.k8s.io/v1', 'meta.k8s.io/v1beta1'])(
    'a Table of %s is not a list',
    async (version) => {
      const server = new Replies(() => answer(200, JSON.stringify(table(version))));
      const { failures, stop } = await reflect(server, off);
      expect(failures).toMatchObject([{ class: 'decode', next: 'relist' }]);
      await stop();
    },
  );

  test('a Table is not an event', async () => {
    const previous = setErrorHandler(() => undefined);
    const frame = event('ADDED', table('meta.k8s.io/v1'));
    const server = new Replies(lists('1'), ({ signal }) => stream([frame], 'hold', signal));
    const { names, reflector, stop } = await reflect(server, off);
    setErrorHandler(previous);
    expect([names(), reflector.skippedEvents()]).toEqual([[], 1]);
    await stop();
  });

  test('a kind named Table of another group is an ordinary kind', async () => {
    const Tables = { ...ConfigMaps, group: 'custom.group', kind: 'Table', plural: 'tables' };
    const one = (name: string, version: string): object =>
      configMapAt(name, version, { apiVersion: 'custom.group/v1', kind: 'Table' });
    const server = new Replies(
      () => answer(200, listBody('1', [one('a', '1')]).replace('ConfigMapList', 'TableList')),
      ({ signal }) => stream([event('ADDED', one('b', '2'))], 'hold', signal),
    );
    const { names, stop } = await reflect(server, { ...off, resource: Tables });
    expect(names()).toEqual(['a', 'b']);
    await stop();
  });
});
