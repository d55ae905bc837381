/**
 * Reads through a cache of a kind that the server does not have. The story: a controller with an
 * optional integration read an object of a kind whose definition was not installed, and each read
 * waited two minutes for a cache that could not sync, blocking all other keys.
 */
import { newSharedInformerFactory, type Transport } from 'capstan/cache';
import { createOrUpdate, installCRDs, isNotFound, newClient, uninstallCRDs } from 'capstan/client';
import { FakeClock } from 'capstan/testing';
import { expect, onTestFinished, test } from 'vitest';
import { answer } from '../helpers/cache/live-server.ts';
import { cached, lines, live } from '../helpers/client/clients.ts';
import { at, ConfigMaps, configMap } from '../helpers/resources.ts';
import { crd, resource } from './website.ts';

const website = { metadata: at('a'), spec: { host: 'a' } };

/**
 * A server without the definition, and a client whose clock stands still: a wait for time never
 * ends.
 */
async function withoutWebsites() {
  const { client: plain, transport, requests } = await live();
  await installCRDs(plain, [crd]);
  await uninstallCRDs(plain, [crd]);
  const clock = new FakeClock();
  const factory = newSharedInformerFactory(transport, { clock });
  onTestFinished(() => factory.shutdown());
  requests.length = 0;
  return {
    plain,
    factory,
    clock,
    requests,
    client: newClient({ transport, cache: factory, clock }),
  };
}

test('are answered by the server at once, each time, and leave no informer', async () => {
  const { client, factory, clock, requests } = await withoutWebsites();
  for (const read of [
    () => client.get(resource, at('a')),
    () => client.list(resource),
    () => client.list(resource, { index: { name: 'byHost', value: 'a' } }),
    () => createOrUpdate(client, resource, at('a'), (draft) => ({ ...draft, spec: { host: 'b' } })),
    () => client.get(resource, at('a')),
  ]) {
    const error = await read().catch((failure: unknown) => failure);
    expect(isNotFound(error), String(error)).toBe(true);
  }
  expect(factory.has(resource)).toBe(false);
  expect(clock.timers()).toBe(0);
  expect(lines(requests).filter((line) => line.includes('watch'))).toEqual([]);
});

test('are answered by the cache once the kind exists', async () => {
  const { plain, client, factory } = await withoutWebsites();
  await expect(client.get(resource, at('a'))).rejects.toSatisfy(isNotFound);
  await installCRDs(plain, [crd]);
  await plain.create(resource, website);
  const got = await client.get(resource, at('a'));
  expect(got).toMatchObject(website);
  expect(factory.lister(resource).get('default/a')).toBe(got);
});

test.each(['has failed', 'has not been asked', 'is asked for'])(
  "do not wait for another program's informer, which has no list and %s",
  async (where) => {
    const { client, factory, clock } = await withoutWebsites();
    const informer = factory.informerFor(resource);
    if (where !== 'is asked for') factory.start();
    while (where === 'has failed' && informer.status().lastFailure === undefined)
      await new Promise(setImmediate);
    const list = client.list(resource).catch((error: unknown) => error);
    await clock.settle();
    for (let looks = 0; looks < 50; looks++) {
      await new Promise(setImmediate);
      await clock.step(10);
    }
    expect(await list).toSatisfy(isNotFound);
    expect(clock.now()).toBeLessThan(1000);
  },
);

// A proxy rejected lists of all namespaces and hid the kind, but served it in one: list and
// question alternated without end.
test('are not repeated without end if the server has the kind after all', async () => {
  const { transport: inner, client: plain } = await live();
  await installCRDs(plain, [crd]);
  await plain.create(resource, website);
  const paths: string[] = [];
  const transport: Transport = {
    request(request) {
      paths.push(request.path);
      if (request.path === '/apis/example.com/v1')
        return Promise.resolve(
          answer(200, JSON.stringify({ kind: 'APIResourceList', resources: [] })),
        );
      return inner.request(
        request.path === '/apis/example.com/v1/websites' ? { ...request, path: '/nope' } : request,
      );
    },
  };
  const clock = new FakeClock();
  const factory = newSharedInformerFactory(transport, { clock });
  onTestFinished(() => factory.shutdown());
  const client = newClient({ transport, cache: factory, clock });
  const list = client.list(resource, { namespace: 'default' }).catch((error: unknown) => error);
  for (let looks = 0; looks < 100; looks++) {
    await new Promise(setImmediate);
    await clock.step(10);
  }
  expect(paths.length).toBeLessThan(20);
  await factory.shutdown();
  expect(await list).toBeInstanceOf(Error);
});

test('cost one more request before the first read of a kind, and none after it', async () => {
  const { client, requests } = await cached();
  await client.list(ConfigMaps);
  const first = lines(requests);
  expect(first.filter((line) => line === 'GET /api/v1')).toHaveLength(1);
  await client.list(ConfigMaps);
  expect(lines(requests)).toEqual(first);
});

/** A server that does not answer discovery, and is a real one otherwise. */
function silentDiscovery(inner: Transport): { transport: Transport; asked(): number } {
  let asked = 0;
  return {
    asked: () => asked,
    transport: {
      request(request) {
        if (request.path !== '/api/v1') return inner.request(request);
        asked++;
        return new Promise(() => undefined);
      },
    },
  };
}

test('are left to the informer if discovery fails', async () => {
  const { transport: inner, client: plain } = await live();
  await plain.create(ConfigMaps, configMap('a'));
  const { transport, asked } = silentDiscovery(inner);
  const clock = new FakeClock();
  const factory = newSharedInformerFactory(transport, { clock });
  onTestFinished(() => factory.shutdown());
  const client = newClient({ transport, cache: factory, clock });
  const over = new AbortController();
  const given = client
    .get(ConfigMaps, at('a'), { signal: over.signal })
    .catch((error: unknown) => error);
  const got = client.get(ConfigMaps, at('a'));
  await clock.settle();
  expect(asked()).toBe(1);
  over.abort();
  expect(await given).toMatchObject({ code: 'ABORTED' });
  expect(factory.has(ConfigMaps)).toBe(true);
  await clock.run(10_000);
  expect(await got).toMatchObject({ metadata: { name: 'a' } });
});
