/**
 * The provisioner on the embedded API server, with real directories and a FakeClock for back-off.
 * The binder replaces kube-controller-manager, in another manager.
 */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadAllYaml } from '@kubernetes/client-node';
import { Indexer, Lister, type Transport, type TransportRequest } from 'capstan/cache';
import { type Client, eventResource, newClient } from 'capstan/client';
import { newManager } from 'capstan/manager';
import { ApiServer } from 'capstan/testing';
import { FakeClock, ItemExponentialFailureRateLimiter, setErrorHandler } from 'capstan/workqueue';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { addBinder } from '../../examples/provisioner/binder.ts';
import { Claims } from '../../examples/provisioner/claims.ts';
import { Directories } from '../../examples/provisioner/directories.ts';
import { Provisioner, type ProvisionerOptions } from '../../examples/provisioner/provisioner.ts';
import {
  type ClaimObject,
  type ClassObject,
  FINALIZER,
  PersistentVolume,
  PersistentVolumeClaim,
  PROVISIONED_BY,
  PROVISIONER,
  StorageClass,
  type VolumeObject,
} from '../../examples/provisioner/resources.ts';

let server: ApiServer;
let client: Client;
let root: string;
const closing: (() => Promise<unknown> | undefined)[] = [];
let previous: ReturnType<typeof setErrorHandler>;

beforeEach(async () => {
  // faults are reported; the tests check the final state
  previous = setErrorHandler(() => undefined);
  root = await mkdtemp(join(tmpdir(), 'capstan-provisioner-'));
  server = await ApiServer.start();
  const transport = server.transport();
  client = newClient({ transport });
  closing.push(
    () => rm(root, { recursive: true, force: true }),
    () => server.stop(),
    () => transport.close?.(),
  );
});

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
  setErrorHandler(previous);
});

/** Starts a provisioner process; returns its clock and the function that ends it. */
function start(options: Partial<ProvisionerOptions> = {}) {
  const clock = new FakeClock();
  const transport = server.transport();
  const manager = newManager({ transport, clock, metrics: { bindAddress: '127.0.0.1:0' } });
  manager.add(new Provisioner(manager, { root, ...options }));
  const stop = new AbortController();
  const running = manager.start({ signal: stop.signal });
  const end = async (): Promise<void> => {
    stop.abort();
    await running;
    await transport.close?.();
  };
  closing.push(end);
  /** The adds of the claim queue, by its metrics. */
  const adds = async (): Promise<number> => {
    const text = await (await fetch(`${manager.url('metrics')}/metrics`)).text();
    return Number(/^workqueue_adds_total\{.*"claims".*\} (\d+)$/m.exec(text)?.[1]);
  };
  return { clock, end, adds };
}

/** Repeats a GET once: the test's own request may meet a connection that was cut. */
async function cutConnections(): Promise<void> {
  server.dropConnections();
  await client.list(StorageClass);
}

function startBinder(): void {
  const transport = server.transport();
  const manager = newManager({ transport });
  addBinder(manager);
  const stop = new AbortController();
  const running = manager.start({ signal: stop.signal });
  closing.push(async () => {
    stop.abort();
    await running;
    await transport.close?.();
  });
}

const namespace = 'default';
const createClass = (name: string, more: Partial<ClassObject> = {}) =>
  client.create(StorageClass, { metadata: { name }, provisioner: PROVISIONER, ...more });
const createClaim = (name: string, storageClassName: string, more: object = {}) =>
  client.create(PersistentVolumeClaim, {
    metadata: { namespace, name },
    spec: {
      storageClassName,
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: '1Gi' } },
      ...more,
    },
  });
/** A claim that no Pod uses: removes the protection finalizer, as kube-controller-manager does. */
async function deleteClaim(name: string): Promise<void> {
  const patch = { type: 'merge', body: { metadata: { finalizers: null } } } as const;
  await client.patch(PersistentVolumeClaim, { namespace, name }, patch);
  await client.delete(PersistentVolumeClaim, { namespace, name });
}
const volumes = async (): Promise<VolumeObject[]> => (await client.list(PersistentVolume)).items;
const claims = async (): Promise<ClaimObject[]> => (await client.list(PersistentVolumeClaim)).items;
const claimed = async () => (await volumes()).map(({ spec }) => spec.claimRef?.name).sort();
const directories = async () =>
  (await readdir(root)).filter((name) => !name.startsWith('.')).sort();
const notes = () => readdir(join(root, '.unfinished')).catch(() => []);
const reasons = async (name: string) =>
  (await client.list(eventResource, { namespace })).items
    .filter(({ regarding }) => regarding?.name === name)
    .map(({ reason }) => reason)
    .sort();

/**
 * Checks that there are as many volumes and directories as claims, each with the name of its claim.
 */
async function expectOneEach(): Promise<void> {
  const expected = (await claims()).map(({ metadata }) => `pvc-${metadata.uid}`).sort();
  const found = await volumes();
  expect(found.map(({ metadata }) => metadata.name).sort()).toEqual(expected);
  expect(found.map(({ spec }) => `pvc-${spec.claimRef?.uid}`).sort()).toEqual(expected);
  expect(await directories()).toEqual(expected);
  await expect.poll(notes).toEqual([]);
}

test('a claim of its class gets a directory and a volume that names it', async () => {
  const { end, adds } = start();
  await createClass('ours');
  await createClass('theirs', { provisioner: 'example.com/other' });
  for (let i = 0; i < 5; i++) await createClaim(`other-${i}`, 'theirs');
  await createClaim('by-hand', '');
  const { metadata } = await createClaim('a', 'ours');
  await expect.poll(claimed).toEqual(['a']);
  const [volume] = await volumes();
  const path = join(root, `pvc-${metadata.uid}`);
  expect(volume).toMatchObject({
    metadata: {
      name: `pvc-${metadata.uid}`,
      annotations: { [PROVISIONED_BY]: PROVISIONER },
      finalizers: [FINALIZER, 'kubernetes.io/pv-protection'],
    },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      persistentVolumeReclaimPolicy: 'Delete',
      storageClassName: 'ours',
      hostPath: { path, type: 'Directory' },
      claimRef: {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        namespace,
        name: 'a',
        uid: metadata.uid,
      },
    },
  });
  expect(await directories()).toEqual([`pvc-${metadata.uid}`]);
  await expect.poll(notes).toEqual([]);
  expect(await adds(), 'by its own event, and by that of its class').toBeLessThanOrEqual(2);
  await end(); // writes the last events
  expect(await reasons('a')).toEqual(['ProvisioningSucceeded']);
});

test('a class may be created after its claims', async () => {
  start();
  await createClaim('a', 'late');
  await createClaim('b', 'late');
  await createClass('late');
  await expect.poll(claimed).toEqual(['a', 'b']);
});

test('a deleted claim loses its volume with Delete, and keeps it with Retain', async () => {
  startBinder();
  const { end } = start();
  await createClass('deleting');
  await createClass('retaining', { reclaimPolicy: 'Retain' });
  await createClaim('a', 'deleting');
  const kept = await createClaim('b', 'retaining');
  const name = `pvc-${kept.metadata.uid}`;
  await expect
    .poll(async () => (await claims()).map(({ status }) => status?.phase))
    .toEqual(['Bound', 'Bound']);
  await writeFile(join(root, name, 'file'), 'precious');
  await deleteClaim('a');
  await deleteClaim('b');
  await expect.poll(claimed).toEqual(['b']);
  await expect.poll(async () => (await volumes())[0]?.status?.phase).toBe('Released');
  await expect.poll(directories).toEqual([name]);

  // A user has saved the data and deletes the volume; not even a new process removes the directory
  // as an orphan.
  await client.delete(PersistentVolume, { name });
  await expect.poll(volumes).toEqual([]);
  await end();
  start();
  await createClaim('c', 'deleting');
  await expect.poll(claimed).toEqual(['c']);
  expect(await readdir(join(root, name))).toEqual(['file']);
});

test('a volume that a user deletes stays, with its data, until its claim is deleted', async () => {
  startBinder();
  start();
  await createClass('ours');
  await createClaim('a', 'ours');
  await expect.poll(async () => (await volumes())[0]?.status?.phase).toBe('Bound');
  const name = (await volumes())[0]?.metadata.name ?? '';
  await client.delete(PersistentVolume, { name });
  await createClaim('b', 'ours');
  await expect.poll(claimed).toEqual(['a', 'b']);
  expect(await directories()).toContain(name);
  await deleteClaim('a');
  await expect.poll(claimed).toEqual(['b']);
  await expect.poll(directories).not.toContain(name);
});

test('a volume with the path of another directory is rejected', async () => {
  const elsewhere = join(root, 'elsewhere');
  await mkdir(elsewhere);
  const { end } = start();
  await client.create(PersistentVolume, {
    metadata: {
      name: 'pvc-1',
      annotations: { [PROVISIONED_BY]: PROVISIONER },
      finalizers: [FINALIZER],
    },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      persistentVolumeReclaimPolicy: 'Delete',
      hostPath: { path: elsewhere },
    },
  });
  await client
    .status()
    .patch(
      PersistentVolume,
      { name: 'pvc-1' },
      { type: 'merge', body: { status: { phase: 'Released' } } },
    );
  await expect.poll(async () => (await volumes())[0]?.metadata.deletionTimestamp).toBeDefined();
  await end();
  expect(await reasons('pvc-1')).toEqual(['VolumeDeletionGivenUp']);
  expect(await directories()).toEqual(['elsewhere']);
  expect(await volumes()).toHaveLength(1);
});

test('failures are counted, and given up after the threshold with an event', async () => {
  const { clock, end } = start({ maxFailures: 3 });
  await createClass('ours');
  const takeBack = server.inject({
    verb: 'create',
    path: '/persistentvolumes',
    do: 'status',
    status: 403,
  });
  await createClaim('a', 'ours');
  await expect.poll(() => reasons('a')).toEqual(['ProvisioningFailed']);
  for (const [ms, events] of [
    [15_000, 2], // the second failure makes the event a series
    [30_000, 3],
  ] as const) {
    clock.step(ms);
    if (events === 3)
      await expect.poll(() => reasons('a')).toEqual(['ProvisioningFailed', 'ProvisioningGivenUp']);
    else
      await expect
        .poll(async () => (await client.list(eventResource, { namespace })).items[0]?.series?.count)
        .toBe(2);
  }
  takeBack();
  clock.step(1_000_000);
  server.expireHistory();
  await cutConnections(); // unchanged objects of a relist do not count as changes
  await createClaim('b', 'ours');
  const claimedLater = () => {
    clock.step(1000); // the informers' back-off
    return claimed();
  };
  await expect.poll(claimedLater).toEqual(['b']);
  await client.patch(
    PersistentVolumeClaim,
    { namespace, name: 'a' },
    { type: 'merge', body: { metadata: { labels: { again: '' } } } },
  );
  await expect.poll(claimedLater).toEqual(['a', 'b']); // its watch may have to be opened again
  await expectOneEach();
  await end();
});

test('a claim that a directory cannot satisfy is given up at once', async () => {
  const { end } = start();
  await createClass('ours');
  await createClass('waiting', { volumeBindingMode: 'WaitForFirstConsumer' });
  await createClaim('selects', 'ours', { selector: { matchLabels: { a: 'b' } } });
  await createClaim('block', 'ours', { volumeMode: 'Block' });
  await createClaim('copies', 'ours', { dataSource: { kind: 'PersistentVolumeClaim', name: 'x' } });
  await createClaim('waits', 'waiting');
  for (const name of ['selects', 'block', 'copies', 'waits'])
    await expect.poll(() => reasons(name), { message: name }).toEqual(['ProvisioningGivenUp']);
  expect([await volumes(), await directories()]).toEqual([[], []]);
  await end();
});

test('a process that dies between directory and volume is continued once', async () => {
  await createClass('ours');
  const takeBack = server.inject({ verb: 'create', path: '/persistentvolumes', do: 'stall' });
  const { end } = start();
  await createClaim('stays', 'ours');
  await createClaim('goes', 'ours');
  await expect.poll(async () => (await notes()).length).toBe(2);
  await expect.poll(async () => (await directories()).length).toBe(2);
  await end();
  takeBack();
  await deleteClaim('goes');
  expect(await directories()).toHaveLength(2);
  start();
  await expect.poll(claimed).toEqual(['stays']);
  await expect.poll(async () => (await directories()).length).toBe(1);
  await expectOneEach();
});

test('a process that dies between volume and note changes nothing', async () => {
  await createClass('ours');
  const { end } = start();
  const { metadata } = await createClaim('a', 'ours');
  await expect.poll(claimed).toEqual(['a']);
  await end();
  const claim = {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    namespace,
    name: 'a',
    uid: metadata.uid ?? '',
  } as const;
  await new Directories(root).begin(`pvc-${metadata.uid}`, claim);
  await writeFile(join(root, `pvc-${metadata.uid}`, 'file'), 'precious');
  start();
  await expect.poll(notes).toEqual([]);
  await expectOneEach();
  expect(await readdir(join(root, `pvc-${metadata.uid}`))).toEqual(['file']);
});

test('a volume whose answer was lost is not created twice', async () => {
  const { clock } = start();
  await createClass('ours');
  server.inject({
    verb: 'create',
    path: '/persistentvolumes',
    times: 3,
    do: 'drop',
    afterBytes: 0,
  });
  for (const name of ['a', 'b', 'c']) await createClaim(name, 'ours');
  await expect.poll(claimed).toEqual(['a', 'b', 'c']);
  expect(server.unmetFaults()).toEqual([]);
  await expect
    .poll(() => {
      clock.step(1000); // the pause while there is no connection
      return notes();
    })
    .toEqual([]);
  await expectOneEach();
});

test('a hundred claims under errors and cuts get one volume each', async () => {
  startBinder();
  const { clock } = start({ workers: 8, maxFailures: 100 });
  await createClass('ours');
  server.inject({
    verb: 'create',
    path: '/persistentvolumes',
    times: 10,
    do: 'status',
    status: 500,
  });
  server.inject({ verb: 'create', path: '/persistentvolumes', times: 5, do: 'reset' });
  server.inject({ verb: 'get', path: '/persistentvolumes', times: 5, do: 'status', status: 503 });
  for (let i = 0; i < 100; i++) {
    await createClaim(`c${i}`, 'ours');
    if (i % 25 === 24) await cutConnections();
    if (i === 50) server.expireHistory();
  }
  const bound = async () => {
    clock.step(1000);
    return (await claims()).filter(({ status }) => status?.phase === 'Bound').length;
  };
  await expect.poll(bound, { timeout: 25_000 }).toBe(100);
  await expectOneEach();
  for (let i = 0; i < 50; i++) await deleteClaim(`c${i}`);
  await expect
    .poll(
      async () => {
        clock.step(1000);
        return (await directories()).length;
      },
      { timeout: 25_000 },
    )
    .toBe(50);
  await expect.poll(async () => (await volumes()).length).toBe(50);
  await expectOneEach();
});

test('the directory of a claim that is only missing from the cache is not removed', async () => {
  const { metadata } = await createClaim('a', 'ours');
  const { uid = '' } = metadata;
  const storage = new Directories(root);
  const claim = {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    namespace,
    name: 'a',
    uid,
  } as const;
  await storage.begin(`pvc-${uid}`, claim);
  const nothing = new Indexer<ClaimObject, 'byUid' | 'byClass'>(
    undefined,
    PersistentVolumeClaim.indexers,
  );
  const classes = new Lister(new Indexer<ClassObject>());
  const events = { event: () => undefined };
  const stale = new Claims({
    provisioner: PROVISIONER,
    client,
    claims: nothing,
    classes,
    directories: storage,
    events,
  });
  const { signal } = new AbortController();
  await stale.provision(uid, signal);
  expect(await directories()).toEqual([`pvc-${uid}`]);
  await deleteClaim('a');
  await createClaim('a', 'ours'); // another claim of that name
  await stale.provision(uid, signal);
  expect([await directories(), await notes()]).toEqual([[], []]);
});

test('the manifest grants exactly the permissions that are used', async () => {
  const used = new Set<string>();
  const inner = server.transport();
  const transport: Transport = {
    request: (request) => {
      used.add(rightFor(request));
      return inner.request(request);
    },
  };
  const clock = new FakeClock();
  const leaderElection = {
    id: 'capstan-provisioner',
    namespace: 'capstan-provisioner',
    releaseOnCancel: true,
  };
  const manager = newManager({ transport, clock, leaderElection });
  manager.add(
    new Provisioner(manager, {
      root,
      maxFailures: 3,
      rateLimiter: () => new ItemExponentialFailureRateLimiter(100, 100),
    }),
  );
  const stop = new AbortController();
  const running = manager.start({ signal: stop.signal });
  startBinder();
  await createClass('ours');
  await createClaim('a', 'ours');
  await expect.poll(async () => (await claims())[0]?.status?.phase).toBe('Bound');
  await deleteClaim('a');
  await expect.poll(volumes).toEqual([]);
  server.inject({ verb: 'create', path: '/persistentvolumes', do: 'status', status: 500 });
  // fails twice, for a series of events, and leaves something unfinished when it ends
  await createClaim('b', 'ours');
  const later = () => {
    clock.step(100); // the back-off; in small steps, so that the lease is renewed
    return reasons('b');
  };
  await expect.poll(later).toEqual(['ProvisioningFailed', 'ProvisioningGivenUp']);
  await deleteClaim('b');
  await expect.poll(directories).toEqual([]);
  stop.abort();
  await running;
  await inner.close?.();

  const manifest = loadAllYaml(
    await readFile(new URL('../../examples/provisioner/manifest.yaml', import.meta.url), 'utf8'),
  );
  const roles = (
    manifest as { rules?: { apiGroups: string[]; resources: string[]; verbs: string[] }[] }[]
  ).flatMap(({ rules = [] }) => rules);
  const granted = roles.flatMap(({ apiGroups, resources, verbs }) =>
    verbs.map((verb) => `${verb} ${resources.join()}.${apiGroups.join()}`),
  );
  expect([...used].sort()).toEqual(granted.sort());
});

/** The name that the API server's authorizer uses: `create leases.coordination.k8s.io`. */
function rightFor({ method, path, query = {} }: TransportRequest): string {
  const [, group = '', resource, name] =
    /^\/(?:api|apis\/([^/]+))\/v1\/(?:namespaces\/[^/]+\/)?([^/]+)(?:\/([^/]+))?$/.exec(path) ?? [];
  const verbs: Record<string, string> = {
    POST: 'create',
    PUT: 'update',
    PATCH: 'patch',
    DELETE: 'delete',
  };
  const reading = name !== undefined ? 'get' : query.watch === undefined ? 'list' : 'watch';
  return `${verbs[method] ?? reading} ${resource}.${group}`;
}

test('volume names that would lead out of the root are rejected', () => {
  const storage = new Directories(root);
  for (const name of ['..', '.', '', 'a/b', '../x', '.unfinished', 'A'])
    expect(() => storage.pathOf(name), name).toThrow('expected the name of a volume');
});
