/** The errors of lease requests that take too long. */
import { StatusError, type Transport } from 'capstan/cache';
import { FakeClock } from 'capstan/testing';
import { expect, test } from 'vitest';
import { requestJson } from '../../bindings/leaderelection/lease-requests.ts';
import { answer, statusBody } from '../helpers/cache/live-server.ts';

// A write that still waited for its credentials was reported as one that may have taken effect.
test('a write that times out may have taken effect only if it was sent', async () => {
  const clock = new FakeClock();
  const deaf: Transport = { request: () => new Promise(() => undefined) };
  const call = { clock, signal: new AbortController().signal, timeout: 5000 };
  const put = expect(
    requestJson(deaf, { method: 'PUT', path: '/leases/a' }, call),
  ).rejects.toMatchObject({
    code: 'TIMEOUT',
    message: 'PUT /leases/a took longer than 5000 ms; if it was sent, it may have taken effect',
    cause: { code: 'ABORTED' },
  });
  await clock.run(5000);
  await put;
  expect(clock.timers()).toBe(0);
});

// A server that refused each call by flow control was reported as slow, and as one that may have
// applied what it refused.
test('a call that gets Retry-After until its timeout says so', async () => {
  const clock = new FakeClock();
  const call = { clock, signal: new AbortController().signal, timeout: 5000 };
  let refusals = 0;
  const busy: Transport = {
    async request() {
      if (refusals-- <= 0) return new Promise(() => undefined);
      return answer(429, statusBody(429, 'TooManyRequests', 'please try again later'), {
        'retry-after': '2',
      });
    },
  };
  const refused = 'PUT /leases/a: 429 TooManyRequests: please try again later';
  const outcome = async (first: number) => {
    refusals = first;
    const put = requestJson(busy, { method: 'PUT', path: '/leases/a' }, call).catch(
      (error) => error,
    );
    await clock.run(5000);
    return put;
  };
  const { code, message, cause } = await outcome(9);
  expect([code, message]).toEqual([
    'TIMEOUT',
    `PUT /leases/a took longer than 5000 ms; before that: ${refused}`,
  ]);
  expect(cause).toBeInstanceOf(StatusError);
  const sent = await outcome(1);
  expect(sent.message).toBe(
    'PUT /leases/a took longer than 5000 ms; if it was sent, it may ' +
      `have taken effect; before that: ${refused}`,
  );
  expect(sent.cause.status).toBe(429);
  expect(clock.timers()).toBe(0);
});
