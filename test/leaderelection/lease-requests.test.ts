/** What a call about a lease says when it has taken too long. */
import { StatusError, type Transport } from 'capstan/cache';
import { FakeClock } from 'capstan/testing';
import { expect, test } from 'vitest';
import { requestJson } from '../../bindings/leaderelection/lease-requests.ts';
import { answer, statusBody } from '../cache/reflector/live-server.ts';

// Of a write that still waited for its credentials it was said that nobody knows whether it was
// carried out.
test('a write that comes to its deadline may have been carried out only where it was sent', async () => {
  const clock = new FakeClock();
  const deaf: Transport = { request: () => new Promise(() => undefined) };
  const call = { clock, signal: new AbortController().signal, timeout: 5000 };
  const put = expect(
    requestJson(deaf, { method: 'PUT', path: '/leases/a' }, call),
  ).rejects.toMatchObject({
    code: 'TIMEOUT',
    message: 'PUT /leases/a took longer than 5000 ms; if it was sent, it may have been carried out',
    cause: { code: 'ABORTED' },
  });
  await clock.run(5000);
  await put;
  expect(clock.timers()).toBe(0);
});

// A server that refused each call by its flow control was reported as one that is slow, and as one
// that may have done what it refused.
test('a call that is asked for patience until its deadline says so, and that it may have been carried out only of one under way', async () => {
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
    `PUT /leases/a took longer than 5000 ms; if it was sent, it may have been carried out; before that: ${refused}`,
  );
  expect(sent.cause.status).toBe(429);
  expect(clock.timers()).toBe(0);
});
