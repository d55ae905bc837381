/**
 * Tests the controller on the API server of capstan/testing, in this process: no cluster, no ports,
 * no mocks. Time is a FakeClock: no test waits.
 */
import { readFileSync } from 'node:fs';
import { loadAllYaml } from '@kubernetes/client-node';
import type { Transport } from 'capstan/cache';
import { eventResource, newClient } from 'capstan/client';
import { silentLogger } from 'capstan/controller';
import { ConfigMap } from 'capstan/kinds';
import { newManager } from 'capstan/manager';
import { type FakeClient, fakeClient, fakeTransport } from 'capstan/testing';
import { FakeClock } from 'capstan/workqueue';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { GreetingController } from '../src/controllers/greeting.ts';
import { Greeting } from '../src/resources/greeting.ts';

const key = { namespace: 'default', name: 'hello' };
let clock: FakeClock;
let client: FakeClient;
let failures: unknown[];

beforeEach(() => {
  failures = [];
  clock = new FakeClock(Date.parse('2026-01-05T08:00:00Z'));
  client = fakeClient({ resources: [Greeting.resource], server: { clock } });
});

async function create(spec: Greeting['spec']): Promise<Greeting> {
  return client.create(Greeting.resource, await Greeting.parse({ metadata: key, spec }));
}
const current = () => client.get(Greeting.resource, key);
const change = (spec: object) =>
  client.patch(Greeting.resource, key, { type: 'merge', body: { spec } });
const message = async () => (await client.get(ConfigMap, key)).data?.message;
const reconcileIt = async () =>
  GreetingController.reconcile(await current(), { client, now: () => clock.wallNow() });

describe('reconcile', () => {
  it('writes the message to a ConfigMap that belongs to the object', async () => {
    await create({ message: 'hi' });
    await reconcileIt();
    const { metadata, data } = await client.get(ConfigMap, key);
    expect(data).toEqual({ message: 'hi' });
    expect(metadata?.ownerReferences).toEqual([
      expect.objectContaining({ kind: 'Greeting', name: 'hello', controller: true }),
    ]);
  });

  it('writes the status once', async () => {
    await create({ message: 'hi' });
    await reconcileIt();
    const { metadata, status } = await current();
    expect(status).toMatchObject({
      observedGeneration: 1,
      conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-01-05T08:00:00Z' }],
    });
    await reconcileIt();
    expect((await current()).metadata.resourceVersion).toBe(metadata.resourceVersion);
  });

  it('updates the ConfigMap with the message, and reverts changes of others', async () => {
    await create({ message: 'hi' });
    await reconcileIt();
    await client.patch(ConfigMap, key, { type: 'merge', body: { data: { message: 'graffiti' } } });
    await reconcileIt();
    expect(await message()).toBe('hi');
    await change({ message: 'bye' });
    await reconcileIt();
    expect(await message()).toBe('bye');
  });
});

it('rejects an object without a message', async () => {
  const { issues } = await Greeting.validate({ metadata: key, spec: { message: '' } });
  expect(issues).toEqual([expect.objectContaining({ path: 'spec.message' })]);
});

describe('under a manager', () => {
  /** Starts the controller on the fake clock. It ends with the test. */
  function start(
    transport: Transport = client.transport,
    leaderElection?: { namespace: string },
  ): void {
    const name = 'greeting-controller';
    const manager = newManager({
      transport,
      clock,
      client: { fieldOwner: name },
      logger: { ...silentLogger, error: (_, fields) => failures.push(fields?.error) },
      ...(leaderElection && { leaderElection: { id: name, ...leaderElection } }),
    });
    GreetingController.setupWithManager(manager);
    const end = new AbortController();
    const running = manager.start({ signal: end.signal });
    onTestFinished(async () => {
      end.abort();
      await running;
    });
  }

  it('writes a deleted ConfigMap again', async () => {
    start();
    await create({ message: 'hi' });
    await clock.settle();
    expect(await message()).toBe('hi');
    await client.delete(ConfigMap, key);
    await clock.settle();
    expect(await message()).toBe('hi');
  });

  it('tries again when the API server has failed', async () => {
    client.transport.inject({ do: 'status', status: 500, verb: 'patch', times: 3 });
    start();
    await create({ message: 'hi' });
    await clock.run(1000);
    expect(failures).toMatchObject([{ status: 500 }, { status: 500 }, { status: 500 }]);
    expect(await message()).toBe('hi');
  });

  it('deletes the ConfigMap when its time has ended', async () => {
    start();
    await create({ message: 'hi', ttlSeconds: 3600 });
    await clock.run(3_599_000);
    expect(await message()).toBe('hi');
    await clock.run(1000);
    await expect(client.get(ConfigMap, key)).rejects.toMatchObject({ reason: 'NotFound' });
    expect((await current()).status?.conditions).toMatchObject([
      { status: 'False', reason: 'Expired', lastTransitionTime: '2026-01-05T09:00:00Z' },
    ]);
  });

  it('needs only the permissions of deploy/', async () => {
    const rbac = ['rbac.yaml', 'rbac-greeting.yaml'].flatMap((file): object[] =>
      loadAllYaml(readFileSync(new URL(`../deploy/${file}`, import.meta.url), 'utf8')),
    );
    const server = fakeTransport({
      authorization: 'RBAC',
      clock,
      objects: rbac,
      resources: [Greeting.resource],
    });
    client = fakeClient({ server });
    const transport = server.as('system:serviceaccount:greeting-controller:greeting-controller');
    start(transport, { namespace: 'greeting-controller' });
    await create({ message: 'hi', ttlSeconds: 60 });
    await clock.run(1000);
    expect(await message()).toBe('hi');
    await clock.run(60_000);
    expect((await current()).status?.conditions).toMatchObject([{ reason: 'Expired' }]);
    const { items } = await client.list(eventResource);
    expect(items).toMatchObject([{ reason: 'Expired', regarding: { name: 'hello' } }]);
    const refused = newClient({ transport }).delete(Greeting.resource, key);
    await expect(refused).rejects.toMatchObject({ reason: 'Forbidden' });
  });
});
