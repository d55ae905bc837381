/**
 * Kinds that may be read by get but not listed or watched: each cached read waited for two minutes,
 * and failed without the reason.
 */
import { newSharedInformerFactory, waitForNamedCacheSync } from 'capstan/cache';
import { newClient } from 'capstan/client';
import { expect, test } from 'vitest';
import { FakeClock } from '../../bindings/base/clock.ts';
import { answer, type FakeResponse } from '../helpers/cache/live-server.ts';
import {
  bookmark,
  configMapAt,
  event,
  listBody,
  type Reply,
  status,
  stream,
} from '../helpers/cache/scripted-server.ts';
import { collectErrorValues } from '../helpers/reported-errors.ts';
import { ConfigMaps } from '../helpers/resources.ts';

const RULE = '{ apiGroups: [""], resources: ["configmaps"], verbs: ["list", "watch"] }';
const forbids: Reply = () => answer(403, JSON.stringify(status(403, 'Forbidden')));
const lists: Reply = () => answer(200, listBody('5', [configMapAt('a', '5')]));
const holds: Reply = ({ signal, query }) => {
  const initial = [event('ADDED', configMapAt('a', '5')), bookmark('5', 'true')];
  return stream(query?.sendInitialEvents === undefined ? [] : initial, 'hold', signal);
};

const reported = collectErrorValues();

/** Answers its lists and watches by the given permissions. */
function setUp(roles: { list: Reply; watch: Reply }, options: { watchList?: boolean } = {}) {
  const clock = new FakeClock();
  const discovery = { kind: 'APIResourceList', resources: [{ name: 'configmaps' }] };
  const transport = {
    async request(request: Parameters<Reply>[0]): Promise<FakeResponse> {
      if (!request.path.endsWith('configmaps')) return answer(200, JSON.stringify(discovery));
      return request.query?.watch === 'true' ? roles.watch(request) : roles.list(request);
    },
  };
  const cache = newSharedInformerFactory(transport, { clock, random: () => 0, ...options });
  return { clock, cache, client: newClient({ transport, cache, clock }) };
}
const key = { namespace: 'default', name: 'a' };
const denied = { status: 403, reason: 'Forbidden', message: expect.stringContaining(RULE) };

test.each([false, true])(
  'a get and a list answer 403 with the missing rule at once, streaming: %s',
  async (watchList) => {
    const roles = { list: forbids, watch: forbids };
    const { clock, cache, client } = setUp(roles, { watchList });
    const reads = [
      client.get(ConfigMaps, key),
      client.list(ConfigMaps),
      client.get(ConfigMaps, key),
    ];
    const settled = Promise.allSettled(reads);
    await clock.run(200);
    for (const { status, reason } of (await settled) as PromiseRejectedResult[])
      expect([status, reason]).toEqual(['rejected', expect.objectContaining(denied)]);
    expect(reported[0]).toMatchObject(denied);
    // The role is added.
    roles.list = lists;
    roles.watch = holds;
    await clock.run(1600);
    expect(await client.get(ConfigMaps, key)).toMatchObject({ metadata: { name: 'a' } });
    await cache.shutdown();
  },
);

test('a read answers 403 while lists are allowed and watches are not', async () => {
  const roles = { list: lists, watch: forbids };
  const { clock, cache, client } = setUp(roles);
  cache.informerFor(ConfigMaps);
  cache.start();
  await clock.settle();
  await expect(client.get(ConfigMaps, key)).rejects.toMatchObject(denied);
  await expect(client.list(ConfigMaps)).rejects.toMatchObject(denied);
  roles.watch = holds;
  await clock.run(1600);
  expect((await client.list(ConfigMaps)).items.length).toBe(1);
  // A permission that is removed later leaves a stale cache, as any other failure.
  expect(await client.get(ConfigMaps, key)).toMatchObject({ metadata: { name: 'a' } });
  await cache.shutdown();
});

test('the rule names the namespace of a restricted cache', async () => {
  const clock = new FakeClock();
  const own = newSharedInformerFactory(
    { request: async (request) => forbids(request) },
    {
      clock,
      namespace: 'team',
      watchErrorHandler: (error) => reported.push(error),
    },
  );
  own.informerFor(ConfigMaps);
  own.start();
  await clock.settle();
  expect(reported[0]).toMatchObject({
    message: expect.stringContaining('in a Role of the namespace "team", by a RoleBinding'),
  });
  await own.shutdown();
});

test('waitForCacheSync reports why caches have not synced', async () => {
  const { clock, cache } = setUp({ list: forbids, watch: forbids });
  const informer = cache.informerFor(ConfigMaps);
  cache.start();
  await clock.settle();
  const over = AbortSignal.abort();
  expect((await cache.waitForCacheSync({ signal: over })).asError()?.message).toContain(RULE);
  reported.length = 0;
  expect(await waitForNamedCacheSync('mine', { signal: over, clock }, informer)).toBe(false);
  expect(reported).toMatchObject([{ message: expect.stringContaining(RULE) }]);
  await cache.shutdown();
});
