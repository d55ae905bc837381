/** What a call about a lease says when it has taken too long. */
import type { Transport } from 'capstan/cache';
import { FakeClock } from 'capstan/testing';
import { expect, test } from 'vitest';
import { requestJson } from '../../bindings/leaderelection/lease-requests.ts';

// Of a write that still waited for its credentials it was said that nobody knows whether it was carried out.
test('a write that comes to its deadline may have been carried out only where it was sent', async () => {
  const clock = new FakeClock();
  const deaf: Transport = { request: () => new Promise(() => undefined) };
  const call = { clock, signal: new AbortController().signal, timeout: 5000 };
  const put = expect(requestJson(deaf, { method: 'PUT', path: '/leases/a' }, call)).rejects.toMatchObject({
    code: 'TIMEOUT',
    message: 'PUT /leases/a took longer than 5000 ms; if it was sent, it may have been carried out',
    cause: { code: 'ABORTED' },
  });
  await clock.run(5000);
  await put;
  expect(clock.timers()).toBe(0);
});
