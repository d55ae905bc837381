/** A second cluster in a manager: cache, client and controllers there, one process, one lease. */
import { newClient } from 'capstan/client';
import { enqueueRequestForObject, kindSource, newControllerManagedBy } from 'capstan/controller';
import { ConfigMap, Lease, Secret } from 'capstan/kinds';
import { type ManagerOptions, newManager } from 'capstan/manager';
import { FakeClock, fakeTransport } from 'capstan/testing';
import { expect, onTestFinished, test } from 'vitest';
import { expectError, expectRejection } from '../helpers/expect-error.ts';
import { parseText } from '../helpers/prometheus-text.ts';

const namespace = 'default';
const map = (name: string) => ({ metadata: { namespace, name } });

function start(options: Partial<ManagerOptions> = {}) {
  const clock = new FakeClock(Date.parse('2026-01-01T00:00:00Z'));
  const [home, east] = [fakeTransport({ clock }), fakeTransport({ clock })];
  const manager = newManager({ transport: home, clock, ...options });
  const stop = new AbortController();
  let running: Promise<void> | undefined;
  const end = async () => {
    stop.abort();
    await running;
  };
  onTestFinished(async () => {
    await end();
    expect(clock.timers()).toBe(0);
    for (const transport of [home, east]) await transport.close?.();
  });
  const run = () => {
    running = manager.start({ signal: stop.signal }).catch((error: { code?: string }) => {
      if (error.code !== 'LEASE_LOST') throw error;
    });
    return clock.settle();
  };
  return { clock, home, east, manager, run, end };
}

test('a controller of another cluster watches, reads and writes there', async () => {
  const { clock, home, east, manager, run } = start();
  const cluster = manager.addCluster({ name: 'east', transport: east });
  expect(cluster.name).toBe('east');
  const seen: string[] = [];
  newControllerManagedBy(cluster)
    .for(ConfigMap)
    .named('maps-east')
    .complete(async ({ name }, { get }) => {
      seen.push(`${name} ${get({ namespace, name })?.metadata.name}`);
      if (name === 'a') await cluster.client.create(Secret, map('of-a'));
    });
  newControllerManagedBy(manager)
    .for(ConfigMap)
    .named('maps-home')
    .complete(async ({ name }) => {
      seen.push(`home ${name}`);
    });
  await newClient({ transport: home }).create(ConfigMap, map('h'));
  await newClient({ transport: east }).create(ConfigMap, map('a'));
  await run();
  await clock.run(1000);
  expect(seen.sort()).toEqual(['a a', 'home h']);
  const key = { namespace, name: 'of-a' };
  await newClient({ transport: east }).get(Secret, key);
  await expect(newClient({ transport: home }).get(Secret, key)).rejects.toMatchObject({
    status: 404,
  });
});

test('objects of another cluster are requests of a controller of this one', async () => {
  const { clock, east, manager, run } = start();
  const { cache } = manager.addCluster({ name: 'east', transport: east });
  const seen: string[] = [];
  const handler = enqueueRequestForObject();
  newControllerManagedBy(manager)
    .for(Secret)
    .watchesRawSource(kindSource({ cache, resource: ConfigMap, handler }))
    .complete(async ({ name }) => {
      seen.push(name);
    });
  await run();
  await newClient({ transport: east }).create(ConfigMap, map('a'));
  await clock.settle();
  expect(seen).toEqual(['a']);
});

test('controllers begin when the caches of all clusters have synced', async () => {
  const { clock, east, manager, run } = start();
  const { cache } = manager.addCluster({ name: 'east', transport: east });
  cache.informerFor(ConfigMap);
  const take = east.inject({ do: 'stall', verb: 'list' });
  const takeWatch = east.inject({ do: 'stall', verb: 'watch' });
  let started = false;
  manager.add({
    name: 'after',
    start: async () => {
      started = true;
    },
  });
  await run();
  await clock.run(5000);
  expect(started).toBe(false);
  take();
  takeWatch();
  east.dropConnections();
  await clock.run(60_000);
  expect(started).toBe(true);
});

test('reports and metrics name the cluster', async () => {
  const { clock, east, manager, run } = start();
  const cluster = manager.addCluster({ name: 'east', transport: east });
  manager.cache.informerFor(ConfigMap);
  cluster.cache.informerFor(ConfigMap);
  await run();
  await clock.settle();
  expect(manager.report().informers.map(({ key }) => key)).toEqual([
    'configmaps/v1',
    'east: configmaps/v1',
  ]);
  expect(manager.report().runnables.map(({ name }) => name)).toContain('informers of east');
});

test('writes to another cluster end with the lease too', async () => {
  const { clock, home, east, manager, run } = start({
    leaderElection: { id: 'web', namespace, releaseOnCancel: true },
  });
  const cluster = manager.addCluster({ name: 'east', transport: east });
  await run();
  await clock.run(1000);
  expect(cluster.holdsLease()).toBe(true);
  await cluster.client.create(ConfigMap, map('a'));
  home.inject({ do: 'refuse' });
  await clock.run(60_000);
  expect(cluster.holdsLease()).toBe(false);
  await expectRejection(
    cluster.client.create(ConfigMap, map('b')),
    'ABORTED',
    'its lease has expired',
  );
  expect((await newClient({ transport: east }).list(ConfigMap)).items).toHaveLength(1);
});

test('what is wrong is refused', () => {
  const { east, manager } = start();
  manager.addCluster({ name: 'east', transport: east });
  const refused = (options: unknown, text: string) =>
    expectError(() => manager.addCluster(options as never), 'INVALID_ARGUMENT', text);
  refused({ name: 'east', transport: east }, 'no other cluster');
  refused({ name: '', transport: east }, 'options.name');
  refused({ transport: east }, 'options.name');
  refused({ name: 'west' }, 'options.transport');
  refused({ name: 'west', transport: east, caches: {} }, 'did you mean "cache"');
  refused({ name: 'west', transport: east, cache: { namespacs: [] } }, 'did you mean');
});

test('nothing is added while the manager ends, and a cluster that never ran ends', async () => {
  const { east, manager, run, end } = start();
  const cluster = manager.addCluster({ name: 'east', transport: east });
  await run();
  const informer = cluster.cache.informerFor(Lease);
  await end();
  expect(informer.isStopped()).toBe(true);
  expectError(
    () => manager.addCluster({ name: 'west', transport: east }),
    'STOPPED',
    'being stopped',
  );
});

test('the metrics of its requests and informers are beside those of the manager', async () => {
  await using home = fakeTransport();
  await using east = fakeTransport();
  const manager = newManager({ transport: home, metrics: { bindAddress: '127.0.0.1:0' } });
  const cluster = manager.addCluster({ name: 'east', transport: east });
  const informer = cluster.cache.informerFor(ConfigMap);
  const stop = new AbortController();
  const running = manager.start({ signal: stop.signal });
  await manager.elected();
  expect(informer.hasSynced()).toBe(true);
  const answer = await fetch(`${manager.url('metrics')}/metrics`);
  const families = parseText(await answer.text());
  const names = [...families]
    .filter(([name]) => name.startsWith('capstan_informer_'))
    .flatMap(([, { samples }]) => samples.map(({ labels }) => labels.name));
  expect(names).toContain('east');
  stop.abort();
  await running;
});
