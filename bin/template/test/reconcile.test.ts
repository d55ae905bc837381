/**
 * Tests the controller on the API server of capstan/testing, in this process: no cluster, no ports,
 * no mocks.
 */
import { readFileSync } from 'node:fs';
import { loadAllYaml } from '@kubernetes/client-node';
import { newClient } from 'capstan/client';
import { newManager } from 'capstan/manager';
import { type FakeClient, fakeClient, fakeTransport } from 'capstan/testing';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { Greeting } from '../src/greeting.ts';
import { ConfigMap, reconcile, setupWithManager } from '../src/reconcile.ts';

const key = { namespace: 'default', name: 'hello' };
let client: FakeClient;

beforeEach(() => {
  client = fakeClient({ resources: [Greeting.resource] });
});

async function create(message: string): Promise<Greeting> {
  return client.create(
    Greeting.resource,
    await Greeting.parse({ metadata: key, spec: { message } }),
  );
}
const current = () => client.get(Greeting.resource, key);
const message = async () => (await client.get(ConfigMap, key)).data?.message;

describe('reconcile', () => {
  it('writes the message to a ConfigMap that belongs to the object', async () => {
    await reconcile(client, await create('hi'));
    const { metadata, data } = await client.get(ConfigMap, key);
    expect(data).toEqual({ message: 'hi' });
    expect(metadata.ownerReferences).toEqual([
      expect.objectContaining({ kind: 'Greeting', name: 'hello', controller: true }),
    ]);
  });

  it('writes the status once', async () => {
    await reconcile(client, await create('hi'));
    const { metadata, status } = await current();
    expect(status).toMatchObject({
      observedGeneration: 1,
      conditions: [{ type: 'Ready', status: 'True' }],
    });
    await reconcile(client, await current());
    expect((await current()).metadata.resourceVersion).toBe(metadata.resourceVersion);
  });

  it('updates the ConfigMap with the message, and reverts changes of others', async () => {
    await reconcile(client, await create('hi'));
    await client.patch(ConfigMap, key, { type: 'merge', body: { data: { message: 'graffiti' } } });
    await reconcile(client, await current());
    expect(await message()).toBe('hi');
    await client.patch(Greeting.resource, key, {
      type: 'merge',
      body: { spec: { message: 'bye' } },
    });
    await reconcile(client, await current());
    expect(await message()).toBe('bye');
  });

  it('leaves the ConfigMap alone while the object is suspended', async () => {
    await reconcile(client, await create('hi'));
    const body = { spec: { message: 'bye', suspend: true } };
    await client.patch(Greeting.resource, key, { type: 'merge', body });
    await reconcile(client, await current());
    expect(await message()).toBe('hi');
    expect((await current()).status?.conditions).toMatchObject([
      { status: 'False', reason: 'Suspended' },
    ]);
  });
});

it('rejects an object without a message', async () => {
  const { issues } = await Greeting.validate({ metadata: key, spec: { message: '' } });
  expect(issues).toEqual([expect.objectContaining({ path: 'spec.message' })]);
});

it('reconciles under a manager', async () => {
  const manager = newManager({
    transport: client.transport,
    client: { fieldOwner: 'greeting-controller' },
  });
  setupWithManager(manager);
  const end = new AbortController();
  const running = manager.start({ signal: end.signal });
  await create('hi');
  await vi.waitFor(async () => expect(await message()).toBe('hi'));
  await client.delete(ConfigMap, key);
  await vi.waitFor(async () => expect(await message()).toBe('hi'));
  end.abort();
  await running;
});

it('needs only the permissions of deploy/rbac.yaml', async () => {
  const rbac = readFileSync(new URL('../deploy/rbac.yaml', import.meta.url), 'utf8');
  const server = fakeTransport({
    authorization: 'RBAC',
    objects: loadAllYaml(rbac) as object[],
    resources: [Greeting.resource],
  });
  client = fakeClient({ server });
  const transport = server.as('system:serviceaccount:greeting-controller:greeting-controller');
  const name = 'greeting-controller';
  const manager = newManager({
    transport,
    client: { fieldOwner: name },
    leaderElection: { id: name, namespace: name, releaseOnCancel: true },
  });
  setupWithManager(manager);
  const end = new AbortController();
  const running = manager.start({ signal: end.signal });
  await create('hi');
  await vi.waitFor(async () => expect((await current()).status?.observedGeneration).toBe(1));
  expect(await message()).toBe('hi');
  const refused = newClient({ transport }).delete(ConfigMap, key);
  await expect(refused).rejects.toMatchObject({ reason: 'Forbidden' });
  end.abort();
  await running;
});
