/**
 * The limit on requests: which requests wait, how long, in which order, and that giving up does not
 * delay others.
 */
import { newSharedInformerFactory, type Transport } from 'capstan/cache';
import { newClient, RequestRateLimiter, rateLimitedTransport } from 'capstan/client';
import { ApiServer, FakeClock } from 'capstan/testing';
import { expect, onTestFinished, test } from 'vitest';
import { live, recordedTransport } from '../helpers/client/clients.ts';
import { collectGarbage } from '../helpers/garbage-collection.ts';
import { at, ConfigMaps, configMap } from '../helpers/resources.ts';

const never = new AbortController().signal;

test('allows ten at once and five a second by default, as client-go', async () => {
  const clock = new FakeClock();
  const { client, requests } = await live({ clock, rateLimit: { clock: undefined } });
  await client.create(ConfigMaps, configMap('a'));
  const reading = Promise.all(Array.from({ length: 14 }, () => client.get(ConfigMaps, at('a'))));
  await clock.settle();
  expect(requests).toHaveLength(10);
  await clock.run(199);
  expect(requests).toHaveLength(10);
  await clock.run(1);
  expect(requests).toHaveLength(11);
  await clock.run(800);
  expect(requests).toHaveLength(15);
  await reading;
});

test('can be disabled', async () => {
  const { client, requests } = await live({ clock: new FakeClock() });
  await Promise.all(
    Array.from({ length: 30 }, (_, i) => client.create(ConfigMaps, configMap(`m${i}`))),
  );
  expect(requests).toHaveLength(30);
});

test('counts retries, and no read from a cache', async () => {
  const clock = new FakeClock();
  const { server, transport, requests } = await live();
  const factory = newSharedInformerFactory(transport);
  onTestFinished(() => factory.shutdown());
  const client = newClient({ transport, cache: factory, clock, rateLimit: { qps: 1, burst: 1 } });
  server.inject({ verb: 'create', do: 'status', status: 429, retryAfter: 0, times: 1 });
  const creating = client.create(ConfigMaps, configMap('a'));
  await clock.settle();
  expect(requests).toHaveLength(1);
  await clock.run(1000);
  expect(requests).toHaveLength(2);
  await creating;
  for (let i = 0; i < 20; i++) await client.get(ConfigMaps, at('a'));
});

test('is in the order of arrival; a request that gives up takes no token', async () => {
  const clock = new FakeClock();
  const limiter = new RequestRateLimiter({ qps: 10, burst: 1, clock });
  const order: string[] = [];
  const wait = (name: string, signal = never) =>
    limiter.wait(signal).then(
      () => order.push(`${name} at ${clock.now()}`),
      (error: { code: string }) => order.push(`${name} ${error.code}`),
    );
  const abort = new AbortController();
  const all = [wait('a'), wait('b'), wait('c'), wait('d', abort.signal), wait('e')];
  await clock.settle();
  expect(limiter.waiting()).toBe(4);
  abort.abort();
  await clock.run(1000);
  await Promise.all(all);
  expect(order).toEqual(['a at 0', 'd ABORTED', 'b at 100', 'c at 200', 'e at 300']);
  expect(limiter.waiting()).toBe(0);
  expect(clock.timers()).toBe(0);
});

// A request that gave up while it was the first in line took a token: four of them made the next
// one wait for two and a half seconds.
test('is not used up by requests that give up while they wait', async () => {
  const clock = new FakeClock();
  const limiter = new RequestRateLimiter({ qps: 2, burst: 1, clock });
  await limiter.wait(never);
  for (let i = 0; i < 4; i++) {
    const abort = new AbortController();
    const waiting = limiter.wait(abort.signal, 'GET /api');
    await clock.settle();
    abort.abort();
    await expect(waiting).rejects.toMatchObject({
      code: 'ABORTED',
      message: 'GET /api, which waited for the rate limit, was aborted',
    });
  }
  const went = limiter.wait(never).then(() => clock.now());
  await clock.run(1000);
  expect(await went).toBe(500);
});

// The error said that it had waited for the limit.
test('a request with an aborted signal does not wait', async () => {
  const limiter = new RequestRateLimiter();
  const waiting = limiter.wait(AbortSignal.abort(), 'GET /api');
  expect(limiter.waiting()).toBe(0);
  await expect(waiting).rejects.toMatchObject({ code: 'ABORTED', message: 'GET /api was aborted' });
});

test('a limited transport reports its host', async () => {
  const { transport } = await live();
  const inner: Transport = { ...transport, host: () => 'api.example' };
  expect(rateLimitedTransport(inner).host?.()).toBe('api.example');
});

test('does not hold watches back, and lists wait with the other requests', async () => {
  const clock = new FakeClock();
  const server = await ApiServer.start();
  onTestFinished(() => server.stop());
  const { transport, requests } = recordedTransport(server.transport());
  const limited: Transport = rateLimitedTransport(transport, { qps: 1, burst: 1, clock });
  onTestFinished(async () => limited.close?.());
  const abort = new AbortController();
  const watches = Array.from({ length: 5 }, () =>
    limited.request({
      method: 'GET',
      path: '/api/v1/pods',
      query: { watch: 'true' },
      signal: abort.signal,
    }),
  );
  await Promise.all(watches);
  expect(requests).toHaveLength(5);
  const lists = [1, 2].map(() => limited.request({ method: 'GET', path: '/api/v1/pods' }));
  await clock.settle();
  expect(requests).toHaveLength(6);
  await clock.run(1000);
  for (const response of await Promise.all(lists)) for await (const _ of response.body);
  expect(requests).toHaveLength(7);
  abort.abort();
});

test('may be shared', async () => {
  const clock = new FakeClock();
  const limiter = new RequestRateLimiter({ qps: 1, burst: 2, clock });
  const { transport, requests } = await live();
  const clients = [1, 2].map(() => newClient({ transport, clock, rateLimit: limiter }));
  const listing = Promise.all(
    clients.flatMap((client) => [client.list(ConfigMaps), client.list(ConfigMaps)]),
  );
  await clock.settle();
  expect(requests).toHaveLength(2);
  await clock.run(2000);
  await listing;
});

test('has numbers as options', () => {
  for (const wrong of [{ qps: 0 }, { qps: Number.NaN }, { burst: 0 }, { burst: 1.5 }, null])
    expect(() => new RequestRateLimiter(wrong as never)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
    );
});

// Each turn kept the result of the one before, and so of all before that: 176 bytes a request, for
// as long as the process ran.
test('keeps no memory of finished requests', async () => {
  const limiter = new RequestRateLimiter({ qps: 1e9, burst: 1e9 });
  const heldAfter = async (requests: number): Promise<number> => {
    for (let i = 0; i < requests; i++) await limiter.wait(never);
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  const early = await heldAfter(2000);
  expect((await heldAfter(40_000)) - early).toBeLessThan(2_000_000);
});
