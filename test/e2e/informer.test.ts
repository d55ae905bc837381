/**
 * The informer on a real API server, over TLS with a kubeconfig: what its cache and its handlers say is compared with a
 * fresh list, also after the API server was killed and started again while objects were written.
 */
import type { KubeConfig } from '@kubernetes/client-node';
import {
  defineResource,
  type KubeObject,
  ListWatch,
  SharedIndexInformer,
  type Transport,
  TransportError,
  waitForCacheSync,
} from 'capstan/cache';
import { kubeConfigTransport } from 'capstan/client-node';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { eventually, within } from './conditions.ts';
import { ControlPlane } from './control-plane.ts';
import { Churn } from './informer/churn.ts';
import { Gate } from './informer/gate.ts';
import { Journal, pictureOf } from './informer/journal.ts';
import { configMaps, type ResourceType, secrets, widgets } from './same-answers/resources.ts';
import { prepareRealServer, readKubeConfig } from './same-answers/servers.ts';

const TYPES = [configMaps, secrets, widgets];
const NAMESPACES = ['quiet', 'killed', 'terminated', 'missed', 'token'];
const SYNC_MS = 30_000;
const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 32));

let plane: ControlPlane;
let config: KubeConfig;
/** What the tests write and list with: another connection than the informers'. */
let direct: Transport;

beforeAll(async () => {
  console.log(`informer churn: SEED=${seed}`);
  plane = await ControlPlane.start();
  config = await readKubeConfig(plane);
  direct = await prepareRealServer(config, NAMESPACES);
});

afterAll(async () => {
  await direct?.close?.();
  await plane?.stop();
});

afterEach(({ task }) => {
  if (task.result?.state === 'fail') plane.keepLogs();
});

function informerOf(
  transport: Transport,
  { prefix, apiVersion, kind, plural }: ResourceType,
  namespace: string,
  watchErrorHandler: (error: unknown) => void,
) {
  const [version = '', group = ''] = apiVersion.split('/').reverse();
  expect(prefix).toBe(group === '' ? `/api/${version}` : `/apis/${group}/${version}`);
  const resource = defineResource<Labelled>()({
    ...{ group, version, kind, plural, namespaced: true },
    indexers: { shard: 'metadata.labels.shard' },
  });
  // No jitter: a back-off that doubles is slow enough.
  return new SharedIndexInformer(new ListWatch(transport, resource, { namespace }), {
    random: () => 0,
    watchErrorHandler,
  });
}

interface Labelled extends KubeObject {
  metadata?: KubeObject['metadata'] & { labels?: Record<string, string> };
}

/** A list of its own from etcd, page by page. */
async function freshList(type: ResourceType, namespace: string): Promise<Labelled[]> {
  const objects: Labelled[] = [];
  let next = '';
  do {
    const query: Record<string, string> = { limit: '100', ...(next === '' ? {} : { continue: next }) };
    const path = `${type.prefix}/namespaces/${namespace}/${type.plural}`;
    const { status, body } = await direct.request({ method: 'GET', path, query });
    const chunks: Uint8Array[] = [];
    for await (const chunk of body) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString('utf8');
    if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
    const list = JSON.parse(text) as { metadata: { continue?: string }; items: Labelled[] };
    objects.push(...list.items);
    next = list.metadata.continue ?? '';
  } while (next !== '');
  return objects;
}

/** Items of a list of built-in objects have no kind, and who owns which field is not the informer's business. */
function comparable(object: Labelled): unknown {
  const { apiVersion: _, kind: __, metadata, ...rest } = object as Labelled & { metadata: object };
  return { ...rest, metadata: { ...metadata, managedFields: undefined } };
}

class Watched {
  readonly journal = new Journal();
  /** What made the informer list again. */
  readonly errors: unknown[] = [];
  readonly #informer: ReturnType<typeof informerOf>;
  readonly #type: ResourceType;
  readonly #namespace: string;
  readonly #abort = new AbortController();
  #running: Promise<void> | undefined;

  constructor(transport: Transport, type: ResourceType, namespace: string) {
    this.#type = type;
    this.#namespace = namespace;
    this.#informer = informerOf(transport, type, namespace, (error) => this.errors.push(error));
    this.#informer.addEventHandler(this.journal);
  }

  async start(): Promise<void> {
    this.#running = this.#informer.run({ signal: this.#abort.signal });
    const signal = AbortSignal.timeout(SYNC_MS);
    expect(await waitForCacheSync({ signal }, this.#informer), `${this.#type.plural} synced`).toBe(true);
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    await within(10_000, `the informer of ${this.#type.plural} stops`, Promise.resolve(this.#running));
  }

  /** Waits for cache and handler to have caught up, then compares them with a fresh list in full. */
  async expectFresh(): Promise<void> {
    const indexer = this.#informer.getIndexer();
    const fresh = await freshList(this.#type, this.#namespace);
    const picture = sorted(pictureOf(fresh));
    await eventually(`the cache of ${this.#type.plural} equals a fresh list`, () =>
      same(pictureOf(indexer.list()), picture),
    );
    await eventually(`the handler of ${this.#type.plural} has been told`, () => same(this.journal.picture(), picture));
    for (const object of fresh) {
      const cached = indexer.getByKey(`${this.#namespace}/${object.metadata?.name}`);
      expect(cached && comparable(cached)).toEqual(comparable(object));
    }
    expect(sorted(pictureOf(indexer.byIndex('namespace', this.#namespace)))).toEqual(picture);
    for (const shard of new Set(fresh.map((object) => object.metadata?.labels?.shard ?? ''))) {
      const expected = fresh.filter((object) => object.metadata?.labels?.shard === shard);
      expect(sorted(pictureOf(indexer.byIndex('shard', shard))), `shard ${shard}`).toEqual(sorted(pictureOf(expected)));
    }
    expect(this.journal.violations).toEqual([]);
  }
}

function sorted(picture: Map<string, string>): [string, string][] {
  return [...picture].sort(([a], [b]) => (a < b ? -1 : 1));
}

function same(picture: Map<string, string>, expected: [string, string][]): boolean | string {
  const missing = expected.filter(([key, version]) => picture.get(key) !== version);
  if (missing.length === 0 && picture.size === expected.length) return true;
  return `${picture.size} of ${expected.length} objects, ${missing.length} missing or of another version`;
}

/** Every type at once, each with a writer: runs `meanwhile` with the churns, then compares. */
async function underWrites(
  namespace: string,
  operations: number,
  meanwhile: (churns: Churn[]) => Promise<void>,
): Promise<Watched[]> {
  const transport = kubeConfigTransport(config);
  const churns = TYPES.map((type, index) => new Churn(direct, type, namespace, seed + index));
  const watched = TYPES.map((type) => new Watched(transport, type, namespace));
  try {
    await Promise.all(churns.map((churn) => churn.create('there-before')));
    await Promise.all(watched.map((one) => one.start()));
    await Promise.all([...churns.map((churn) => churn.run(operations, 100)), meanwhile(churns)]);
    for (const one of watched) await one.expectFresh();
    return watched;
  } finally {
    await Promise.all(watched.map((one) => one.stop()));
    await transport.close?.();
  }
}

test('cache and handlers follow creations, updates and deletions', async () => {
  const watched = await underWrites('quiet', 300, async () => undefined);
  for (const { journal } of watched) {
    expect(journal.repeats, 'nothing was listed again').toBe(0);
    expect(journal.tombstones).toEqual([]);
    expect(journal.updates).toBeGreaterThan(50);
    expect(journal.deleted.length).toBeGreaterThan(10);
  }
});

test('after the API server was killed under writes and started again, twice, nothing is lost and nothing comes twice', async () => {
  await underWrites('killed', 500, async (churns) => {
    for (const count of [100, 250]) {
      await Promise.all(churns.map((churn) => churn.reached(count)));
      await plane.kill();
      await plane.restart();
    }
  });
});

test('after the API server was shut down in order under writes and started again, nothing is lost', async () => {
  await underWrites('terminated', 300, async (churns) => {
    await Promise.all(churns.map((churn) => churn.reached(100)));
    await plane.restart('SIGTERM');
  });
});

test('every deletion that was missed gives one deletion, and nothing else does', async () => {
  const namespace = 'missed';
  const names = Array.from({ length: 120 }, (_, n) => `n${n}`);
  const inner = kubeConfigTransport(config);
  const gate = new Gate(inner);
  const churn = new Churn(direct, configMaps, namespace, seed);
  const watched = new Watched(gate, configMaps, namespace);
  try {
    for (const name of names) await churn.create(name);
    await watched.start();
    await watched.expectFresh();
    const before = watched.journal.adds;

    gate.shut();
    await plane.kill(); // cuts the running watch
    await plane.restart();
    const [deleted, recreated, patched] = [names.slice(0, 40), names.slice(40, 60), names.slice(60, 80)];
    for (const name of [...deleted, ...recreated]) await churn.delete(name);
    for (const name of [...recreated, 'new']) await churn.create(name);
    for (const name of patched) await churn.patch(name);
    await plane.expireHistory(); // so that the watch cannot simply go on: the informer has to list again
    gate.requests.length = 0;
    gate.open();
    await watched.expectFresh();

    const keys = deleted.map((name) => `${namespace}/${name}`).sort();
    expect([...watched.journal.tombstones].sort(), 'a tombstone each').toEqual(keys);
    expect([...watched.journal.deleted].sort(), 'and no other deletion').toEqual(keys);
    expect(watched.journal.adds - before, 'one object is new').toBe(1);
    expect(watched.journal.updates, 'the others changed once').toBe(recreated.length + patched.length);
    expect(gate.requests.filter((request) => !request.includes('watch=')).length, 'lists').toBeGreaterThan(0);
  } finally {
    await watched.stop();
    await inner.close?.();
  }
});

test('a bearer token serves as well as a client certificate, and a wrong one is 401', async () => {
  const withToken = await readKubeConfig(plane);
  withToken.setCurrentContext('token');
  const transport = kubeConfigTransport(withToken);
  const watched = new Watched(transport, secrets, 'token');
  try {
    await watched.start();
    await new Churn(direct, secrets, 'token', seed).create('one');
    await watched.expectFresh();
  } finally {
    await watched.stop();
    await transport.close?.();
  }

  const wrong = await readKubeConfig(plane);
  wrong.setCurrentContext('token');
  const user = wrong.getCurrentUser();
  wrong.users = wrong.users.map((one) => (one.name === user?.name ? { ...one, token: 'wrong' } : one));
  const refused = kubeConfigTransport(wrong);
  const { status } = await refused.request({ method: 'GET', path: '/api/v1/namespaces' });
  expect(status).toBe(401);
  await refused.close?.();
});

test('a server that another authority has signed gets no request', async () => {
  const other = await readKubeConfig(plane);
  const { certificates } = await import('./certificates.ts');
  const caData = Buffer.from((await certificates()).ca.cert).toString('base64');
  other.clusters = other.clusters.map((cluster) => ({ ...cluster, caData }));
  const transport = kubeConfigTransport(other);
  const call = transport.request({ method: 'GET', path: '/api/v1/namespaces' });
  await expect(call).rejects.toThrow(TransportError);
  await expect(call).rejects.toMatchObject({ kind: 'refused' });
  await transport.close?.();
});
