/**
 * A manager on a real API server: its Lease, its controller across a crash of the server, the
 * authorization of its metrics endpoint, and its clean-up.
 */
import { defineResource, type Transport } from 'capstan/cache';
import { type Client, ignoreAlreadyExists, newClient } from 'capstan/client';
import { kubeConfigTransport } from 'capstan/client-node';
import { newControllerManagedBy } from 'capstan/controller';
import { newManager, withAuthenticationAndAuthorization } from 'capstan/manager';
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from 'vitest';
import { eventually } from '../helpers/control-plane/conditions.ts';
import { ControlPlane, TOKEN } from '../helpers/control-plane/control-plane.ts';
import { parseText } from '../helpers/prometheus-text.ts';
import { textOf } from '../helpers/server/requests.ts';
import { readKubeConfig } from './same-answers/servers.ts';

interface Thing {
  metadata: { name: string; namespace: string; resourceVersion?: string };
  data?: Record<string, string>;
}

const core = { group: '', version: 'v1', namespaced: true } as const;
const ConfigMap = defineResource<Thing>()({ ...core, kind: 'ConfigMap', plural: 'configmaps' });
const Secret = defineResource<Thing>()({ ...core, kind: 'Secret', plural: 'secrets' });

let plane: ControlPlane;
let transport: Transport;
let client: Client;

beforeAll(async () => {
  plane = await ControlPlane.start();
  transport = kubeConfigTransport(await readKubeConfig(plane));
  client = newClient({ transport });
});

afterAll(async () => {
  await transport?.close?.();
  await plane?.stop();
});

afterEach(({ task }) => {
  if (task.result?.state === 'fail') plane?.keepLogs();
});

async function raw(
  path: string,
): Promise<{ spec: Record<string, unknown>; metadata: { labels?: object } }> {
  const { body } = await transport.request({ method: 'GET', path });
  return JSON.parse(await textOf(body));
}

const LEASE = '/apis/coordination.k8s.io/v1/namespaces/default/leases/copies';

test('leads by a Lease, reconciles across a server crash, authorizes metrics access', async () => {
  const managed = kubeConfigTransport(await readKubeConfig(plane));
  onTestFinished(() => managed.close?.());
  const manager = newManager({
    transport: managed,
    cache: { namespace: 'default' },
    leaderElection: {
      id: 'copies',
      namespace: 'default',
      labels: { tier: 'tests' },
      leaseDuration: 90_000,
      renewDeadline: 60_000,
      releaseOnCancel: true,
    },
    metrics: { bindAddress: '127.0.0.1:0', filter: withAuthenticationAndAuthorization(transport) },
  });
  newControllerManagedBy(manager)
    .for(ConfigMap)
    .named('copies')
    .complete(async (request, { signal }) => {
      const { metadata, data = {} } = await manager.client.get(ConfigMap, request, { signal });
      const copy = {
        metadata: { name: metadata.name, namespace: metadata.namespace },
        stringData: data,
      };
      await manager.client.create(Secret, copy, { signal }).catch(ignoreAlreadyExists);
    });
  const stopper = new AbortController();
  const done = manager.start({ signal: stopper.signal });
  done.catch(() => undefined);
  await manager.elected();

  const lease = await raw(LEASE);
  expect(lease.spec).toMatchObject({
    leaseDurationSeconds: 90,
    holderIdentity: manager.report().leader?.identity,
  });
  expect(lease.metadata.labels).toEqual({ tier: 'tests' });

  const copied = (name: string) => async (): Promise<boolean> =>
    (await client.get(Secret, { namespace: 'default', name })).metadata.name === name;
  const create = (name: string) =>
    client.create(ConfigMap, { metadata: { namespace: 'default', name } });
  await create('before');
  await eventually('a copy', copied('before'));
  await plane.restart('SIGKILL');
  await create('after');
  await eventually('a copy after the crash', copied('after'));
  expect(manager.holdsLease()).toBe(true);

  const scrape = async (token: string) => {
    const headers = { authorization: `Bearer ${token}`, connection: 'close' };
    const response = await fetch(`${manager.url('metrics')}/metrics`, { headers });
    return { status: response.status, text: await response.text() };
  };
  expect((await scrape('wrong')).status).toBe(401);
  const { status, text } = await scrape(TOKEN);
  expect(status).toBe(200);
  const families = parseText(text);
  const { host } = new URL(plane.url);
  for (const [name, labels] of [
    ['controller_runtime_reconcile_total', { controller: 'copies', result: 'success' }],
    ['workqueue_adds_total', { controller: 'copies', name: 'copies' }],
    ['rest_client_requests_total', { code: '201', host, method: 'POST' }],
    ['leader_election_master_status', { name: 'copies' }],
  ] as const) {
    const sample = families
      .get(name)
      ?.samples.find(({ labels: all }) =>
        Object.entries(labels).every(([key, value]) => all[key] === value),
      );
    expect([name, sample?.value]).toEqual([name, expect.any(Number)]);
  }

  stopper.abort();
  await done;
  expect((await raw(LEASE)).spec.holderIdentity ?? '').toBe('');
});
