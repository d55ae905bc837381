/**
 * Hot loops in a whole program: a controller that reconciles a NetworkPolicy correctly is quiet,
 * and one that writes it by `update` each time appears in `/metrics`, the log and the live page.
 */
import { defineResource } from 'capstan/cache';
import { createOrUpdate, newClient, setControllerReference } from 'capstan/client';
import { createController } from 'capstan/controller';
import { newManager } from 'capstan/manager';
import { ApiServer } from 'capstan/testing';
import { expect, onTestFinished, test } from 'vitest';

interface Thing {
  metadata: { name: string; namespace: string; ownerReferences?: object[] };
  spec?: Record<string, unknown>;
  status?: Record<string, unknown>;
}

const define = (group: string, kind: string, plural: string) =>
  defineResource<Thing>()({ group, version: 'v1', kind, plural, namespaced: true });
const Things = define('example.com', 'Thing', 'things');
const Policies = define('networking.k8s.io', 'NetworkPolicy', 'networkpolicies');
const key = { namespace: 'default', name: 'a' };
const spec = { podSelector: {}, policyTypes: ['Ingress'], ingress: [] };

async function start(name: string, byUpdate: boolean) {
  const server = await ApiServer.start();
  const transport = server.transport();
  const warned: object[] = [];
  const quiet = () => undefined;
  const manager = newManager({
    transport,
    logger: {
      ...{ debug: quiet, info: quiet, error: quiet },
      warn: (_, fields) => void warned.push({ ...fields }),
    },
    metrics: { bindAddress: '127.0.0.1:0' },
  });
  const results: string[] = [];
  createController<Thing>({
    ...{ manager, for: Things, owns: [Policies], name },
    reconcile: async (request, { get }) => {
      const owner = get(request);
      if (owner === undefined) return;
      const mutate = (policy: Thing) => {
        policy.spec = spec;
        return setControllerReference(owner, policy, Things);
      };
      const { result, object } = await createOrUpdate(manager.client, Policies, request, mutate);
      results.push(result);
      if (byUpdate) await manager.client.update(Policies, { ...object, spec });
    },
  });
  const stopper = new AbortController();
  const done = manager.start({ signal: stopper.signal });
  onTestFinished(async () => {
    stopper.abort();
    await done;
    await transport.close?.();
    await server.stop();
  });
  const client = newClient({ transport });
  await client.create(Things, { metadata: { ...key } });
  const text = async (url: string): Promise<string> =>
    (await fetch(url, { headers: { connection: 'close' } })).text();
  return {
    ...{ manager, client, results, warned },
    counted: async () =>
      Number(
        new RegExp(`hot_loop_writes_total\\{controller="${name}"\\} (\\d+)`).exec(
          await text(`${manager.url('metrics')}/metrics`),
        )?.[1],
      ),
    page: async () => JSON.parse(await text(`${manager.url('debugPage')}/debug/capstan/state`)),
  };
}

async function until(ready: () => boolean): Promise<void> {
  while (!ready()) await new Promise(setImmediate);
}

test('an object reconciled by createOrUpdate is written once', async () => {
  const { client, results, warned, counted } = await start('quiet', false);
  for (let i = 0; i < 10; i++) {
    await until(() => results.length > i);
    await client.status().patch(Things, key, { type: 'merge', body: { status: { turn: i } } });
  }
  expect(new Set(results)).toEqual(new Set(['created', 'unchanged']));
  expect(results.filter((result) => result === 'created')).toHaveLength(1);
  expect((await client.get(Policies, key)).metadata).toMatchObject({ generation: 1 });
  expect([warned, await counted()]).toEqual([[], 0]);
});

test('an object that is updated at each reconcile is detected', async () => {
  const { results, warned, counted, page } = await start('loud', true);
  await until(() => results.length > 30);
  expect(warned).toMatchObject([{ object: 'NetworkPolicy default/a', paths: ['spec.ingress'] }]);
  expect(await counted()).toBeGreaterThan(5);
  expect((await page()).controllers[0].hotLoops).toMatchObject([
    { namespace: 'default', name: 'a', object: 'NetworkPolicy default/a', paths: ['spec.ingress'] },
  ]);
});
