/** Tests the controller of Gadgets on the API server of capstan/testing, on a FakeClock. */
import { readFileSync } from 'node:fs';
import { loadAllYaml } from '@kubernetes/client-node';
import { newManager } from 'capstan/manager';
import { fakeClient, fakeTransport } from 'capstan/testing';
import { FakeClock } from 'capstan/workqueue';
import { expect, it, onTestFinished } from 'vitest';
import { GadgetController } from '../src/controllers/gadget.ts';
import { Gadget } from '../src/resources/gadget.ts';

const key = { namespace: 'default', name: 'hello' };

it('reports that the object is ready, and once', async () => {
  const clock = new FakeClock(Date.parse('2026-01-05T08:00:00Z'));
  const client = fakeClient({ resources: [Gadget.resource], server: { clock } });
  const current = () => client.get(Gadget.resource, key);
  const reconcileIt = async () =>
    GadgetController.reconcile(await current(), { client, now: () => clock.wallNow() });
  await client.create(Gadget.resource, await Gadget.parse({ metadata: key, spec: {} }));
  await reconcileIt();
  const { metadata, status } = await current();
  expect(status).toMatchObject({
    observedGeneration: 1,
    conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: '2026-01-05T08:00:00Z' }],
  });
  await reconcileIt();
  expect((await current()).metadata.resourceVersion).toBe(metadata.resourceVersion);
});

it('follows the spec under a manager, with the permissions of deploy/ alone', async () => {
  const clock = new FakeClock();
  const rbac = ['rbac.yaml', 'rbac-gadget.yaml'].flatMap((file): object[] =>
    loadAllYaml(readFileSync(new URL(`../deploy/${file}`, import.meta.url), 'utf8')),
  );
  const server = fakeTransport({
    authorization: 'RBAC',
    clock,
    objects: rbac,
    resources: [Gadget.resource],
  });
  const client = fakeClient({ server });
  const manager = newManager({
    transport: server.as('system:serviceaccount:greeting-controller:greeting-controller'),
    clock,
    client: { fieldOwner: 'greeting-controller' },
  });
  GadgetController.setupWithManager(manager);
  const end = new AbortController();
  const running = manager.start({ signal: end.signal });
  onTestFinished(async () => {
    end.abort();
    await running;
  });
  await client.create(Gadget.resource, await Gadget.parse({ metadata: key, spec: {} }));
  await clock.run(1000);
  const ready = async () => (await client.get(Gadget.resource, key)).status?.conditions;
  expect(await ready()).toMatchObject([{ status: 'True' }]);
  const body = { spec: { suspend: true } };
  await client.patch(Gadget.resource, key, { type: 'merge', body });
  await clock.run(1000);
  expect(await ready()).toMatchObject([{ status: 'False', reason: 'Suspended' }]);
});
