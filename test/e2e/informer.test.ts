/**
 * The informer on a real API server, over TLS with a kubeconfig: its cache and its handlers are
 * compared with a fresh list, also after the API server was killed and started again during writes.
 */
import type { KubeConfig } from '@kubernetes/client-node';
import { type Transport, TransportError } from 'capstan/cache';
import { kubeConfigTransport } from 'capstan/client-node';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { ControlPlane } from '../helpers/control-plane/control-plane.ts';
import { testSeed } from '../helpers/random.ts';
import { CheckedInformer, type Scope } from './informer/checked-informer.ts';
import { Churn } from './informer/churn.ts';
import { ClosableTransport } from './informer/closable-transport.ts';
import { configMaps, secrets, widgets } from './same-answers/resources.ts';
import { prepareRealServer, readKubeConfig } from './same-answers/servers.ts';

const TYPES = [configMaps, secrets, widgets];
const NAMESPACES = ['quiet', 'selected', 'killed', 'terminated', 'missed', 'token'];
const seed = testSeed();

let plane: ControlPlane;
let config: KubeConfig;
/** The transport of the writers and lists, on another connection than the informers'. */
let direct: Transport;

beforeAll(async () => {
  console.log(`informer churn: CAPSTAN_SEED=${seed}`);
  plane = await ControlPlane.start();
  config = await readKubeConfig(plane);
  direct = await prepareRealServer(config, NAMESPACES);
});

afterAll(async () => {
  await direct?.close?.();
  await plane?.stop();
});

afterEach(({ task }) => {
  if (task.result?.state === 'fail') plane?.keepLogs();
});

/** Runs `meanwhile` while one writer per type writes, then compares. */
async function underWrites(
  namespace: string,
  operations: number,
  meanwhile: (churns: Churn[], watched: CheckedInformer[]) => Promise<void>,
  scope?: Scope,
): Promise<CheckedInformer[]> {
  const transport = kubeConfigTransport(config);
  const churns = TYPES.map((type, index) => new Churn(direct, type, namespace, seed + index));
  const watched = TYPES.map((type) => new CheckedInformer(transport, type, namespace, scope));
  try {
    await Promise.all(churns.map((churn) => churn.create('there-before')));
    await Promise.all(watched.map((one) => one.start()));
    await Promise.all([
      ...churns.map((churn) => churn.run(operations, 100)),
      meanwhile(churns, watched),
    ]);
    for (const one of watched) await one.expectFresh(direct);
    return watched;
  } finally {
    await Promise.all(watched.map((one) => one.stop()));
    await transport.close?.();
  }
}

test('cache and handlers follow creations, updates and deletions, a late handler too', async () => {
  const watched = await underWrites('quiet', 300, async (churns, watched) => {
    await Promise.all(churns.map((churn) => churn.reached(100)));
    for (const one of watched) one.addJournal();
  });
  for (const { journal, errors } of watched) {
    expect(errors, 'nothing was listed again').toEqual([]);
    expect(journal.repeats).toBe(0);
    expect(journal.tombstones).toEqual([]);
    expect(journal.updates).toBeGreaterThan(50);
    expect(journal.deleted.length).toBeGreaterThan(10);
  }
});

test('a metadata-only informer with a selector follows objects in and out of scope', async () => {
  const scope = { labelSelector: 'shard in (s1,s2)', metadataOnly: true };
  const watched = await underWrites('selected', 300, async () => undefined, scope);
  for (const { journal, errors } of watched) {
    expect(errors, 'nothing was listed again').toEqual([]);
    expect(journal.deleted.length).toBeGreaterThan(20);
  }
});

test('two crashes of the API server during writes lose and repeat nothing', async () => {
  await underWrites('killed', 500, async (churns) => {
    for (const count of [100, 250]) {
      await Promise.all(churns.map((churn) => churn.reached(count)));
      await plane.kill();
      await plane.restart();
    }
  });
});

test('a graceful restart of the API server during writes loses nothing', async () => {
  await underWrites('terminated', 300, async (churns) => {
    await Promise.all(churns.map((churn) => churn.reached(100)));
    await plane.restart('SIGTERM');
  });
});

test('each missed deletion is reported once', async () => {
  const namespace = 'missed';
  const names = Array.from({ length: 120 }, (_, n) => `n${n}`);
  const inner = kubeConfigTransport(config);
  const gate = new ClosableTransport(inner);
  const churn = new Churn(direct, configMaps, namespace, seed);
  const watched = new CheckedInformer(gate, configMaps, namespace);
  try {
    for (const name of names) await churn.create(name);
    await watched.start();
    await watched.expectFresh(direct);
    const before = watched.journal.adds;

    gate.shut();
    await plane.kill(); // cuts the running watch
    await plane.restart();
    const [deleted, recreated, patched] = [
      names.slice(0, 40),
      names.slice(40, 60),
      names.slice(60, 80),
    ];
    for (const name of [...deleted, ...recreated]) await churn.delete(name);
    for (const name of [...recreated, 'new']) await churn.create(name);
    for (const name of patched) await churn.patch(name);
    // so that the watch cannot resume: the informer has to list again
    await plane.expireHistory();
    gate.requests.length = 0;
    gate.open();
    await watched.expectFresh(direct);

    const keys = deleted.map((name) => `${namespace}/${name}`).sort();
    expect([...watched.journal.tombstones].sort(), 'a tombstone each').toEqual(keys);
    expect([...watched.journal.deleted].sort(), 'and no other deletion').toEqual(keys);
    expect(watched.journal.adds - before, 'one object is new').toBe(1);
    expect(watched.journal.updates, 'the others changed once').toBe(
      recreated.length + patched.length,
    );
    const lists = gate.requests.filter(
      (one) => !one.includes('watch=') || one.includes('sendInitialEvents=true'),
    );
    expect(lists.length, 'lists, as pages or as a stream').toBeGreaterThan(0);
  } finally {
    await watched.stop();
    await inner.close?.();
  }
});

test('a bearer token serves as well as a client certificate, and a wrong one is 401', async () => {
  const withToken = await readKubeConfig(plane);
  withToken.setCurrentContext('token');
  const transport = kubeConfigTransport(withToken);
  const watched = new CheckedInformer(transport, secrets, 'token');
  try {
    await watched.start();
    await new Churn(direct, secrets, 'token', seed).create('one');
    await watched.expectFresh(direct);
  } finally {
    await watched.stop();
    await transport.close?.();
  }

  const wrong = await readKubeConfig(plane);
  wrong.setCurrentContext('token');
  const user = wrong.getCurrentUser();
  wrong.users = wrong.users.map((one) =>
    one.name === user?.name ? { ...one, token: 'wrong' } : one,
  );
  const refused = kubeConfigTransport(wrong);
  const { status } = await refused.request({ method: 'GET', path: '/api/v1/namespaces' });
  expect(status).toBe(401);
  await refused.close?.();
});

test('a server whose certificate has another authority gets no request', async () => {
  const other = await readKubeConfig(plane);
  const { serverKeys } = await import('../../bindings/testing/envtest/certificates.ts');
  const caData = Buffer.from((await serverKeys()).ca.cert).toString('base64');
  other.clusters = other.clusters.map((cluster) => ({ ...cluster, caData }));
  const transport = kubeConfigTransport(other);
  const call = transport.request({ method: 'GET', path: '/api/v1/namespaces' });
  await expect(call).rejects.toThrow(TransportError);
  await expect(call).rejects.toMatchObject({ kind: 'refused' });
  await transport.close?.();
});
