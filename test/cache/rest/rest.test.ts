import { getEventListeners } from 'node:events';
import { inspect } from 'node:util';
import { type Transport, TransportError } from 'capstan/cache';
import { describe, expect, test } from 'vitest';
import { FakeClock } from '../../../bindings/base/clock.ts';
import { CapstanError } from '../../../bindings/base/errors.ts';
import { Exchange } from '../../../bindings/cache/rest/exchange.ts';
import { sendWithRepeats } from '../../../bindings/cache/rest/rest.ts';
import { statusErrorFromAnswer } from '../../../bindings/cache/rest/status-error.ts';
import { answer, LiveServer, Stream, statusBody } from '../../helpers/cache/live-server.ts';

const get = { method: 'GET', path: '/api/v1/configmaps' };

function setUp(intercept: LiveServer['intercept']) {
  const clock = new FakeClock();
  const server = new LiveServer();
  const times: number[] = [];
  server.intercept = (request, n) => {
    times.push(clock.now());
    return intercept?.(request, n);
  };
  const stop = new AbortController();
  return { clock, server, times, stop, options: { clock, signal: stop.signal } };
}

const busy = (retryAfter?: string) =>
  answer(
    503,
    statusBody(503, 'ServiceUnavailable'),
    retryAfter === undefined ? {} : { 'Retry-After': retryAfter },
  );

test('an answer that echoes the request shows no credential', () => {
  // Story: the debug page of a proxy had the headers of the request in it, and the error of each
  // request, which is logged, had the token.
  for (const [page, shown] of [
    ['<html>Authorization: Bearer abcd1234efgh</html>', '<html>Authorization: Bearer (hidden)'],
    ['bad Basic dXNlcjpwYXNz, Bearer%20sha256~q_1', 'bad Basic (hidden), Bearer%20(hidden)'],
    ['Basic authentication required', 'Basic authentication required'],
  ] as const) {
    for (const text of [page, statusBody(403, 'Forbidden', page)]) {
      const error = statusErrorFromAnswer(403, text, 'GET /');
      expect(error.message).toContain(shown);
      expect(inspect(error)).not.toMatch(/abcd1234|dXNlcj|sha256/);
    }
  }
});

describe('REST repeats', () => {
  test('wait for exactly the time of Retry-After', async () => {
    const { clock, server, times, options } = setUp((_, n) =>
      n < 4 ? busy(['2', '0', ' 7 '][n - 1]) : undefined,
    );
    const sent = sendWithRepeats(server, get, options);
    await clock.run(60_000);
    expect((await sent).status).toBe(200);
    expect(times).toEqual([0, 2000, 2000, 9000]);
  });

  // Without onRepeat, a throttled answer was neither read nor closed: its connection was not
  // reused, and its idle timer kept the process alive for 90 s.
  test.each([true, false])(
    'close each answer before the repeat, with and without onRepeat: %s',
    async (told) => {
      const { clock, server, options } = setUp((_, n) => (n < 3 ? busy('1') : undefined));
      const notes: number[] = [];
      const onRepeat = told
        ? { onRepeat: (_: unknown, afterMs: number) => notes.push(afterMs) }
        : {};
      const sent = sendWithRepeats(server, get, { ...options, ...onRepeat, idleMs: 90_000 });
      await clock.run(5000);
      (await sent).close();
      expect(notes).toEqual(told ? [1000, 1000] : []);
      expect(clock.timers()).toBe(0);
    },
  );

  test.each([
    ['no Retry-After', busy()],
    ['seconds beyond any number', busy('99999999999999999999')],
    ['a date', busy('Wed, 21 Oct 2026 07:28:00 GMT')],
    [
      'a status that is no 429 or 5xx',
      answer(403, statusBody(403, 'Forbidden'), { 'Retry-After': '1' }),
    ],
  ])('are not made for %s', async (_, given) => {
    const { clock, server, times, options } = setUp(() => given);
    const exchange = await sendWithRepeats(server, get, options);
    expect(exchange.status).toBe(given.status);
    expect(times.length).toBe(1);
    exchange.close();
    expect(clock.timers()).toBe(0);
  });

  test('end after ten, with the last answer or error', async () => {
    const answers = setUp(() => busy('1'));
    const sent = sendWithRepeats(answers.server, get, answers.options);
    await answers.clock.run(60_000);
    expect((await sent).status).toBe(503);
    expect(answers.times).toEqual(Array.from({ length: 11 }, (_, i) => i * 1000));

    const resets = setUp(() => Promise.reject(new TransportError('reset', 'reset')));
    const failed = expect(
      sendWithRepeats(resets.server, get, resets.options),
    ).rejects.toMatchObject({ kind: 'reset' });
    await resets.clock.run(60_000);
    await failed;
    expect(resets.times).toEqual(Array.from({ length: 11 }, (_, i) => i * 1000));
  });

  test.each(['refused', 'unknown', 'aborted'] as const)(
    'are not made for a connection that was %s',
    async (kind) => {
      const { server, times, options } = setUp(() =>
        Promise.reject(new TransportError(kind, kind)),
      );
      await expect(sendWithRepeats(server, get, options)).rejects.toMatchObject({ kind });
      expect(times.length).toBe(1);
    },
  );

  test('end at once with the signal, also in the middle of a long wait', async () => {
    const { clock, server, stop, options } = setUp(() => busy('100000'));
    const ended = expect(sendWithRepeats(server, get, options)).rejects.toMatchObject({
      code: 'ABORTED',
    });
    await clock.settle();
    stop.abort();
    await ended;
    expect(clock.timers()).toBe(0);
  });
});

describe('an exchange', () => {
  const deaf: Transport = { request: () => new Promise(() => undefined) };

  test('ends with the signal although the transport ignores it', async () => {
    const { clock, stop, options } = setUp(undefined);
    const ended = expect(Exchange.open(deaf, get, options)).rejects.toMatchObject({
      code: 'ABORTED',
    });
    stop.abort();
    await ended;
    expect(clock.timers()).toBe(0);
  });

  // For a reconcile that timed out the log had only "the call was aborted", without request and
  // reason.
  test('that is aborted names its request, and the reason if it is an error', async () => {
    const { stop, options } = setUp(undefined);
    const aborted = (why: string) => ({
      code: 'ABORTED',
      message: `GET ${get.path} was aborted${why}`,
    });
    const foreign = { ...options, signal: AbortSignal.abort(new Error('hunter2')) };
    await expect(Exchange.open(deaf, get, foreign)).rejects.toMatchObject(aborted(''));
    const reason = new CapstanError('TIMEOUT', 'not over after 10 ms');
    const open = Exchange.open(deaf, get, options);
    stop.abort(reason);
    await expect(open).rejects.toMatchObject({
      ...aborted(': not over after 10 ms'),
      cause: reason,
    });
    await expect(Exchange.open(deaf, get, options)).rejects.toMatchObject(
      aborted(': not over after 10 ms'),
    );
  });

  test('ends when the server is silent for idleMs, before and during the answer', async () => {
    const { clock, options } = setUp(undefined);
    const unanswered = expect(
      Exchange.open(deaf, get, { ...options, idleMs: 90_000 }),
    ).rejects.toMatchObject({
      kind: 'reset',
    });
    await clock.run(90_000);
    await unanswered;

    const stream = new Stream();
    const slow: Transport = {
      request: async () => ({ status: 200, headers: new Headers(), body: stream.body(undefined) }),
    };
    const exchange = await Exchange.open(slow, get, { ...options, idleMs: 90_000 });
    for (let i = 0; i < 3; i++) {
      const read = exchange.read();
      await clock.run(80_000); // slow, but not silent for 90 s
      stream.send('x');
      expect(await read).toEqual(new Uint8Array([120]));
    }
    const silent = expect(exchange.read()).rejects.toMatchObject({ kind: 'reset' });
    await clock.run(90_000);
    await silent;
    exchange.close();
    expect(clock.timers()).toBe(0);
  });

  test('ends after totalMs, although bytes arrive', async () => {
    const { clock, options } = setUp(undefined);
    const stream = new Stream();
    const lively: Transport = {
      request: async () => ({ status: 200, headers: new Headers(), body: stream.body(undefined) }),
    };
    const exchange = await Exchange.open(lively, get, { ...options, totalMs: 1000 });
    stream.send('x');
    await exchange.read();
    const over = expect(exchange.read()).rejects.toMatchObject({ kind: 'reset' });
    await clock.run(1000);
    await over;
    exchange.close();
    expect(clock.timers()).toBe(0);
  });

  test('keeps the status of a failure whose body never ends', async () => {
    const { clock, options } = setUp(undefined);
    const silent: Transport = {
      request: async () => ({
        status: 500,
        headers: new Headers(),
        body: new Stream().body(undefined),
      }),
    };
    const exchange = await Exchange.open(silent, get, options);
    const explanation = exchange.explanation();
    await clock.run(10_000);
    expect(await explanation).toBe('');
    expect(exchange.status).toBe(500);
    expect(clock.timers()).toBe(0);
  });

  test('leaves no listener on a shared signal', async () => {
    const { server, stop, options } = setUp(undefined);
    for (let i = 0; i < 20; i++) {
      const exchange = await Exchange.open(server, get, options);
      if (i % 2 === 0) await exchange.text();
      exchange.close();
    }
    expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
  });

  test('aborts a request that is closed early, and not one that was read to its end', async () => {
    const { options } = setUp(undefined);
    const signals: (AbortSignal | undefined)[] = [];
    const streams = [new Stream(), new Stream()] as const;
    const transport: Transport = {
      request: async ({ signal }) => {
        signals.push(signal);
        return {
          status: 200,
          headers: new Headers(),
          body: streams[signals.length - 1 === 0 ? 0 : 1].body(signal),
        };
      },
    };
    const early = await Exchange.open(transport, get, options);
    streams[0].send('x');
    await early.read();
    early.close();
    expect(signals[0]?.aborted).toBe(true);
    expect(await early.read()).toBeUndefined();

    const whole = await Exchange.open(transport, get, options);
    streams[1].send('x');
    streams[1].close();
    expect(await whole.text()).toBe('x');
    whole.close();
    expect(signals[1]?.aborted).toBe(false);
  });
});
