/**
 * A controller of a manager on a real API server: its applied objects, status, finalizer, events
 * and definition agree with a raw GET; the metrics have controller-runtime's names and change with
 * its work; and its live page shows no value of a Secret.
 */
import type { Transport } from 'capstan/cache';
import {
  type Client,
  type CustomResourceDefinition,
  installCRDs,
  type KubeEvent,
  newClient,
} from 'capstan/client';
import { kubeConfigTransport } from 'capstan/client-node';
import type { Logger } from 'capstan/controller';
import { type ControllerManager, type LivePageState, newManager } from 'capstan/manager';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../helpers/control-plane/conditions.ts';
import { ControlPlane } from '../helpers/control-plane/control-plane.ts';
import { type Family, parseText } from '../helpers/prometheus-text.ts';
import { textOf } from '../helpers/server/requests.ts';
import {
  addShelfController,
  FINALIZER,
  LedgerConfigMap,
  ledgerOf,
  OWNER,
  REPORTER,
  Secret,
  Shelf,
  type ShelfInput,
  shelves,
  TOO_MANY,
} from './managed/shelves.ts';
import { readKubeConfig } from './same-answers/servers.ts';

let plane: ControlPlane;
let transport: Transport;
/** A client besides the manager. */
let client: Client;
let managed: Transport;
let manager: ControllerManager;
let running: Promise<void>;
const stopper = new AbortController();
const LEASE = 'shelves';
/** Many failures here are intended. */
const QUIET: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

beforeAll(async () => {
  plane = await ControlPlane.start();
  transport = kubeConfigTransport(await readKubeConfig(plane));
  client = newClient({ transport });
  managed = kubeConfigTransport(await readKubeConfig(plane));
  manager = newManager({
    transport: managed,
    client: { fieldOwner: OWNER },
    logger: QUIET,
    leaderElection: {
      id: LEASE,
      namespace: 'default',
      leaseDuration: 60_000,
      renewDeadline: 40_000,
      retryPeriod: 500,
    },
    metrics: { bindAddress: '127.0.0.1:0' },
  });
  await installCRDs(manager.client, [shelves.crd], { timeout: 30_000 });
  addShelfController(manager);
  running = manager.start({ signal: stopper.signal });
  running.catch(() => undefined);
  await manager.elected();
});

afterAll(async () => {
  stopper.abort();
  await running;
  await managed?.close?.();
  await transport?.close?.();
  await plane?.stop();
});

afterEach(({ task }) => {
  if (task.result?.state === 'fail') plane?.keepLogs();
});

async function raw<T = Record<string, unknown>>(path: string): Promise<T> {
  const { body } = await transport.request({ method: 'GET', path });
  return JSON.parse(await textOf(body)) as T;
}

async function create(name: string, spec: ShelfInput = {}): Promise<void> {
  await client.create(
    Shelf,
    await shelves.parse({ metadata: { namespace: 'default', name }, spec }),
  );
}

const SHELVES = '/apis/managed.capstan.dev/v1/namespaces/default/shelves';
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';

interface Seen {
  metadata: {
    uid: string;
    generation: number;
    finalizers?: string[];
    ownerReferences?: object[];
    deletionTimestamp?: string;
    managedFields: { manager: string; operation: string; subresource?: string; fieldsV1: object }[];
  };
  data?: object;
  status?: { conditions: { type: string }[] };
  code?: number;
}

describe('what the controller of a manager does', () => {
  test('agrees with a raw GET: definition, finalizer, children, status, events, end', async () => {
    const { status: installed } = await raw<CustomResourceDefinition>(
      '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/shelves.managed.capstan.dev',
    );
    expect(installed?.conditions).toContainEqual(
      expect.objectContaining({ type: 'Established', status: 'True' }),
    );

    await create('first', { books: 3 });
    await eventually(
      'its status',
      async () => (await raw<Seen>(`${SHELVES}/first`)).status !== undefined,
    );
    const shelf = await raw<Seen>(`${SHELVES}/first`);
    expect(shelf).toMatchObject({
      metadata: { finalizers: [FINALIZER], generation: 1 },
      status: { books: 3, conditions: [{ type: 'Ready', status: 'True', observedGeneration: 1 }] },
    });
    expect(shelf.metadata.managedFields.filter(({ manager: by }) => by === OWNER)).toEqual([
      expect.objectContaining({ operation: 'Apply', subresource: 'status' }),
      expect.objectContaining({ operation: 'Update' }), // the update of the finalizer
    ]);

    const kept = await raw<Seen>(`${CONFIG_MAPS}/first`);
    const owner = {
      apiVersion: 'managed.capstan.dev/v1',
      kind: 'Shelf',
      name: 'first',
      uid: shelf.metadata.uid,
    };
    expect(kept.data).toEqual({ row: '###' });
    expect(kept.metadata.ownerReferences).toEqual([
      { ...owner, controller: true, blockOwnerDeletion: true },
    ]);
    expect(kept.metadata.managedFields).toEqual([
      expect.objectContaining({
        manager: OWNER,
        operation: 'Apply',
        fieldsV1: {
          'f:data': { 'f:row': {} },
          'f:metadata': { 'f:ownerReferences': { [`k:{"uid":"${shelf.metadata.uid}"}`]: {} } },
        },
      }),
    ]);

    // A deleted child is created again; fields of other owners stay.
    const other = { type: 'merge', body: { data: { row: 'spoilt', note: 'mine' } } } as const;
    await client.patch(LedgerConfigMap, { namespace: 'default', name: 'first' }, other, {
      fieldOwner: 'somebody',
    });
    const corrected = async (): Promise<object | undefined> =>
      (await raw<Seen>(`${CONFIG_MAPS}/first`)).data;
    await eventually(
      'it is corrected',
      async () => JSON.stringify(await corrected()) === '{"note":"mine","row":"###"}',
    );
    await client.delete(LedgerConfigMap, { namespace: 'default', name: 'first' });
    await eventually(
      'it is made again',
      async () => JSON.stringify(await corrected()) === '{"row":"###"}',
    );

    await client.delete(Shelf, { namespace: 'default', name: 'first' });
    await eventually('it is gone', async () => (await raw<Seen>(`${SHELVES}/first`)).code === 404);
    expect(
      (await raw<Seen>(`${CONFIG_MAPS}/${ledgerOf('first')}`)).code,
      'what the finalizer removes',
    ).toBe(404);
    const events = async (): Promise<KubeEvent[]> => {
      const { items } = await raw<{ items: KubeEvent[] }>(
        '/apis/events.k8s.io/v1/namespaces/default/events',
      );
      return items.filter(({ regarding }) => regarding.uid === shelf.metadata.uid);
    };
    await eventually(
      'its events',
      async () => new Set((await events()).map(({ reason }) => reason)).size === 2,
    );
    for (const event of await events()) {
      expect(event).toMatchObject({
        reportingController: REPORTER,
        type: 'Normal',
        action: 'Reconciling',
      });
      expect(event.regarding).toMatchObject(owner);
    }
  });
});

async function scrape(): Promise<Map<string, Family>> {
  const response = await fetch(`${manager.url('metrics')}/metrics`, {
    headers: { connection: 'close' },
  });
  expect(response.status).toBe(200);
  return parseText(await response.text());
}

/** The sum of the samples with these labels; for a histogram, its count. NaN if there are none. */
function figureOf(
  families: Map<string, Family>,
  name: string,
  labels: Record<string, string> = {},
): number {
  const family = families.get(name);
  const sample = family?.type === 'histogram' ? `${name}_count` : name;
  const found = (family?.samples ?? []).filter(
    (one) =>
      one.name === sample &&
      Object.entries(labels).every(([key, value]) => one.labels[key] === value),
  );
  return found.length === 0 ? Number.NaN : found.reduce((sum, { value }) => sum + value, 0);
}

const controller = 'shelf';
const results = (result: string) =>
  ['controller_runtime_reconcile_total', { controller, result }] as const;
const ofQueue = { controller, name: controller };

/** Counters and histograms that the work below changes. */
const MOVING: readonly (readonly [name: string, labels: Record<string, string>])[] = [
  ...['success', 'error', 'requeue', 'requeue_after'].map(results),
  ['controller_runtime_reconcile_errors_total', { controller }],
  ['controller_runtime_reconcile_panics_total', { controller }],
  ['controller_runtime_reconcile_timeouts_total', { controller }],
  ['controller_runtime_terminal_reconcile_errors_total', { controller }],
  ['controller_runtime_reconcile_time_seconds', { controller }],
  ['workqueue_adds_total', ofQueue],
  ['workqueue_retries_total', ofQueue],
  ['workqueue_queue_duration_seconds', ofQueue],
  ['workqueue_work_duration_seconds', ofQueue],
];

describe('the metrics of a manager', () => {
  test("have controller-runtime's names, and move with what the controller does", async () => {
    const before = await scrape();
    const { host } = new URL(plane.url);
    // Another client writes to the lease, so that a renewal has to read it first.
    const lease = `/apis/coordination.k8s.io/v1/namespaces/default/leases/${LEASE}`;
    const touched = await transport.request({
      method: 'PATCH',
      path: lease,
      headers: { 'content-type': 'application/merge-patch+json' },
      body: JSON.stringify({ metadata: { labels: { touched: 'yes' } } }),
    });
    await textOf(touched.body);

    await create('good');
    await create('again', { again: 'at once' });
    await create('later', { again: 'later' });
    await create('too-full', { books: TOO_MANY });
    await create('a-mistake', { books: -1 });
    await create('lost', { secretName: 'nobody' });
    await create('endless', { endless: true });
    await eventually('a run is under way', async () => {
      const during = await scrape();
      return [
        'controller_runtime_active_workers',
        'workqueue_unfinished_work_seconds',
        'workqueue_longest_running_processor_seconds',
      ].every((name) => figureOf(during, name, { controller }) > 0);
    });
    let after = before;
    await eventually('every one has moved', async () => {
      after = await scrape();
      const still = MOVING.filter(
        ([name, labels]) =>
          !(figureOf(after, name, labels) > (figureOf(before, name, labels) || 0)),
      );
      return (
        still.length === 0 ||
        `not so: ${still.map(([name, labels]) => `${name} ${JSON.stringify(labels)}`).join('; ')}`
      );
    });
    expect(figureOf(after, 'controller_runtime_max_concurrent_reconciles', { controller })).toBe(2);
    expect(figureOf(after, 'workqueue_depth', ofQueue)).toBeGreaterThanOrEqual(0);
    expect(
      after.get('workqueue_depth')?.samples.map(({ labels }) => Object.keys(labels).sort()),
    ).toContainEqual(['controller', 'name', 'priority']);
    for (const [method, code] of [
      ['GET', '200'],
      ['POST', '201'],
      ['PATCH', '200'],
      ['PUT', '200'],
    ] as const)
      expect([
        method,
        figureOf(after, 'rest_client_requests_total', { host, method, code }),
      ]).toEqual([method, expect.toSatisfy((n) => n > 0)]);
    expect(figureOf(after, 'leader_election_master_status', { name: LEASE })).toBe(1);
    await eventually(
      'the lease was read before a renewal',
      async () => figureOf(await scrape(), 'leader_election_slowpath_total', { name: LEASE }) > 0,
    );
  });
});

describe('the live page of a manager', () => {
  const state = async (filter = ''): Promise<{ state: LivePageState; text: string }> => {
    const response = await fetch(
      `${manager.url('debugPage')}/debug/capstan/state?filter=${encodeURIComponent(filter)}`,
    );
    expect(response.status).toBe(200);
    const text = await response.text();
    return { state: JSON.parse(text) as LivePageState, text };
  };

  test('tells why an object is not reconciled, and shows no value of a Secret', async () => {
    const password = 'correct-horse';
    const encoded = Buffer.from(password).toString('base64');
    const secret = {
      metadata: { namespace: 'default', name: 'combination' },
      stringData: { password },
    };
    await client.create(Secret, secret);
    await create('locked', { secretName: 'combination' });
    await eventually('it fails', async () => {
      const [verdict] = (await state('default/locked')).state.verdicts;
      return verdict?.state === 'failing' || `${verdict?.state}: ${verdict?.text}`;
    });
    const { state: told, text } = await state('default/locked');
    expect(told.verdicts[0]).toMatchObject({ controller, namespace: 'default', name: 'locked' });
    expect(told.verdicts[0]?.error?.message).toContain('secret combination: password: ‹redacted›');
    expect(told.cachedIn).toHaveLength(1);
    const all = await state();
    expect(all.state.leader).toMatchObject({ lease: `default/${LEASE}`, holdsLease: true });
    expect(
      all.state.informers
        .map(({ resource }) => resource)
        .sort()
        .join(),
    ).toMatch(/configmaps.*secrets.*shelves/);
    expect(all.state.controllers[0]?.recent.length).toBeGreaterThan(0);
    const metrics = await (
      await fetch(`${manager.url('metrics')}/metrics`, { headers: { connection: 'close' } })
    ).text();
    const page = await (await fetch(`${manager.url('debugPage')}/debug/capstan`)).text();
    for (const [where, shown] of Object.entries({ text, all: all.text, metrics, page })) {
      expect(shown.includes(password), `the password in ${where}`).toBe(false);
      expect(shown.includes(encoded), `its base64 in ${where}`).toBe(false);
    }
  });
});
