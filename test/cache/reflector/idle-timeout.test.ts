/**
 * The idle timeout of watches: over fetch the only way to detect a dead connection (NAT tables and
 * load balancers drop connections silently, and a kernel that only reads does not notice). It must
 * detect dead watches and never close quiet ones.
 */
import { ListWatch, Reflector, type Transport, TransportError } from 'capstan/cache';
import { FakeClock } from 'capstan/testing';
import { describe, expect, test } from 'vitest';
import { Exchange } from '../../../bindings/cache/rest/exchange.ts';
import { answer, LiveServer, Stream } from '../../helpers/cache/live-server.ts';
import { ConfigMaps } from '../../helpers/resources.ts';

const MINUTE = 60_000;

async function start(options: { idleTimeout?: number } = {}) {
  const clock = new FakeClock();
  const server = new LiveServer();
  server.put('a');
  const stop = new AbortController();
  const seen: string[] = [];
  const errors: unknown[] = [];
  const store = {
    add: ({ metadata }: { metadata: { name: string } }) => void seen.push(`add ${metadata.name}`),
    update: ({ metadata }: { metadata: { name: string } }) =>
      void seen.push(`update ${metadata.name}`),
    delete: ({ metadata }: { metadata: { name: string } }) =>
      void seen.push(`delete ${metadata.name}`),
    replace: (list: readonly unknown[]) => void seen.push(`replace ${list.length}`),
    resync: () => undefined,
  };
  const reflector = new Reflector(new ListWatch(server, ConfigMaps, options), store, {
    clock,
    watchList: false,
    random: () => 0.5,
    watchErrorHandler: (error) => void errors.push(error),
  });
  const running = reflector.run({ signal: stop.signal });
  await clock.settle();
  const requests = () =>
    server.requests.map(({ query = {} }) =>
      query.watch === 'true'
        ? 'watch'
        : query.resourceVersionMatch === 'NotOlderThan'
          ? 'reached?'
          : 'list',
    );
  const end = async () => {
    stop.abort();
    await running;
    expect(clock.timers()).toBe(0);
  };
  return { clock, server, seen, errors, reflector, requests, end };
}

const bookmark = (version: string) =>
  `${JSON.stringify({
    type: 'BOOKMARK',
    object: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { resourceVersion: version } },
  })}\n`;

describe('a watch without a byte', () => {
  test('is opened again after 150 s from the last version, without a list or error', async () => {
    const { clock, server, seen, errors, requests, end } = await start();
    server.put('b');
    await clock.run(149_000);
    expect(requests()).toEqual(['list', 'watch']);
    server.watches.clear(); // what is put now is lost on the way, as over a dead connection
    server.put('c');
    await clock.run(1_001);
    expect(requests()).toEqual(['list', 'watch', 'reached?', 'watch']);
    expect(server.requests[2]?.query).toMatchObject({ resourceVersion: '2', limit: '1' });
    expect(server.requests[3]?.query?.resourceVersion).toBe('2');
    // told, though it costs nothing
    expect(errors).toEqual([expect.objectContaining({ code: 'TRANSPORT', kind: 'reset' })]);
    expect(seen).toEqual(['replace 1', 'add b']);
    await end();
  });

  // A server that was restored from an older backup sends nothing to a watch from a version that it
  // has not reached: the cache stayed stale for ever.
  test('is followed by a list if the server has not reached the last version', async () => {
    const { clock, server, seen, errors, requests, end } = await start();
    server.intercept = ({ query = {} }) => {
      if (query.resourceVersionMatch === undefined) return undefined;
      const details = {
        causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      };
      const body = {
        kind: 'Status',
        code: 504,
        reason: 'Timeout',
        message: 'Too large resource version: 1',
        details,
      };
      return answer(504, JSON.stringify(body));
    };
    await clock.run(150_001);
    expect(requests()).toEqual(['list', 'watch', 'reached?', 'list', 'watch']);
    expect(server.requests[3]?.query?.resourceVersion).toBeUndefined();
    expect(errors).toMatchObject([{ kind: 'reset' }, { status: 504 }]);
    expect(seen).toEqual(['replace 1', 'replace 1']);
    await end();
  });

  // A restored server may reach the version by new writes before the timeout, and the cache would
  // miss these writes.
  test('is checked after 10 s if the connection before it was lost', async () => {
    const { clock, server, seen, errors, requests, end } = await start();
    server.put('b');
    await clock.settle();
    server.intercept = ({ query = {} }) => {
      if (query.resourceVersionMatch === undefined) return undefined;
      const details = { causes: [{ reason: 'ResourceVersionTooLarge', message: 'too large' }] };
      const body = { kind: 'Status', code: 504, reason: 'Timeout', message: 'too large', details };
      const headers = { get: (name: string) => (name === 'retry-after' ? '1' : null) };
      return { ...answer(504, JSON.stringify(body)), headers };
    };
    server.remove('b');
    server.closeWatches(new TransportError('reset', 'the server was restarted'));
    await clock.run(9999);
    expect(requests()).toEqual(['list', 'watch', 'watch']);
    await clock.run(1);
    expect(requests()).toEqual(['list', 'watch', 'watch', 'reached?', 'list', 'watch']);
    expect(errors).toMatchObject([{ kind: 'reset' }, { status: 504 }]);
    expect(seen.at(-1)).toBe('replace 1');
    // No check after an orderly end, nor if the watch gets an event.
    server.closeWatches();
    await clock.settle();
    server.closeWatches(new TransportError('reset', 'reset'));
    await clock.settle();
    server.put('c');
    await clock.run(60_000);
    expect(requests().filter((request) => request === 'reached?').length).toBe(1);
    await end();
  });

  test.each([
    ['refuses the question', () => answer(403, 'no')],
    ['is not there', () => Promise.reject(new TransportError('refused', 'no'))],
  ])('is opened again if the server %s', async (_, reply) => {
    const { clock, server, requests, end } = await start();
    server.intercept = ({ query = {} }) =>
      query.resourceVersionMatch === undefined ? undefined : reply();
    await clock.run(150_001);
    expect(requests()).toEqual(['list', 'watch', 'reached?', 'watch']);
    await end();
  });

  test('is not closed while bookmarks come each minute', async () => {
    const { clock, server, errors, requests, end } = await start();
    for (let minute = 1; minute <= 7; minute++) {
      await clock.run(MINUTE);
      server.send(bookmark(String(minute)));
      await clock.settle();
    }
    expect(requests()).toEqual(['list', 'watch']);
    expect(errors).toEqual([]);
    await end();
  });

  test('is closed after idleTimeout, and never for 0', async () => {
    const brief = await start({ idleTimeout: 10_000 });
    await brief.clock.run(10_001);
    expect(brief.requests()).toEqual(['list', 'watch', 'reached?', 'watch']);
    await brief.end();
    const patient = await start({ idleTimeout: 0 });
    await patient.clock.run(7 * MINUTE);
    expect(patient.requests()).toEqual(['list', 'watch']);
    await patient.end();
  });

  test('refuses an idleTimeout that is not a number of milliseconds', () => {
    for (const idleTimeout of [-1, Number.NaN, '5' as unknown as number]) {
      expect(() => new ListWatch(new LiveServer(), ConfigMaps, { idleTimeout })).toThrow(
        /"idleTimeout" expected milliseconds >= 0/,
      );
    }
  });
});

describe('an exchange', () => {
  const over = (stream: Stream): Transport => ({
    request: async ({ signal }) => ({
      status: 200,
      headers: new Headers(),
      body: stream.body(signal),
    }),
  });

  test('does not count the time while its reader is busy', async () => {
    const clock = new FakeClock();
    const stream = new Stream();
    const exchange = await Exchange.open(
      over(stream),
      { method: 'GET', path: '/' },
      { clock, signal: new AbortController().signal, idleMs: 1000 },
    );
    stream.send('a');
    await exchange.read();
    await clock.run(5000); // a slow handler
    const next = exchange.read();
    await clock.run(900);
    stream.send('b');
    expect(await next).toEqual(new TextEncoder().encode('b'));
    const dead = expect(exchange.read()).rejects.toMatchObject({
      kind: 'reset',
      message: /silent for 1000 ms/,
    });
    await clock.run(1000);
    await dead;
    exchange.close();
    expect(clock.timers()).toBe(0);
  });

  test('calls onBytes for the headers and each chunk, with the time of its clock', async () => {
    const clock = new FakeClock(100);
    const stream = new Stream();
    const heard: number[] = [];
    const exchange = await Exchange.open(
      over(stream),
      { method: 'GET', path: '/' },
      { clock, signal: new AbortController().signal, onBytes: (now) => void heard.push(now) },
    );
    for (const text of ['a', 'b']) {
      clock.step(50);
      stream.send(text);
      await exchange.read();
    }
    expect(heard).toEqual([100, 150, 200]);
    exchange.close();
  });
});
