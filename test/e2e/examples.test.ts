/**
 * The Website controller and the storage provisioner on a real API server that is killed and
 * started again while a thousand Websites and a thousand claims are created, and some of them
 * deleted. Both run as programs that are restarted when they exit; once they are killed too. The
 * result is read by plain GETs.
 */
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadAllYaml } from '@kubernetes/client-node';
import { ListWatch, SharedIndexInformer, type Transport } from 'capstan/cache';
import { type Client, ignoreAlreadyExists, ignoreNotFound, newClient } from 'capstan/client';
import { kubeConfigTransport } from 'capstan/client-node';
import { newManager } from 'capstan/manager';
import { parallelizeUntil, setErrorHandler } from 'capstan/workqueue';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import type { Program } from '../../bindings/testing/envtest/program.ts';
import { addBinder } from '../../examples/provisioner/binder.ts';
import {
  type ClaimObject,
  PersistentVolume,
  PersistentVolumeClaim,
  type VolumeObject,
} from '../../examples/provisioner/resources.ts';
import {
  type DeploymentObject,
  type ServiceObject,
  Website,
  type WebsiteObject,
} from '../../examples/website/resources.ts';
import { eventually } from '../helpers/control-plane/conditions.ts';
import { ControlPlane } from '../helpers/control-plane/control-plane.ts';
import { textOf } from '../helpers/server/requests.ts';
import { readKubeConfig } from './same-answers/servers.ts';

const OBJECTS = 1000;
const DELETED = 200;
const WRITERS = 8;
const RUN_MS = 280_000;
const namespace = 'default';
const path = (name: string) => fileURLToPath(new URL(`../../examples/${name}`, import.meta.url));

let plane: ControlPlane;
let transport: Transport;
let client: Client;
const ending: (() => Promise<unknown> | undefined)[] = [];
const supervised: Supervised[] = [];

/**
 * A program that is restarted when it exits, as by a Deployment: a leader that loses its lease
 * exits.
 */
class Supervised {
  readonly name: string;
  readonly #args: string[];
  #program: Program;
  #wanted = true;
  starts = 0;

  constructor(name: string, args: string[]) {
    this.name = name;
    this.#args = args;
    this.#program = this.#start();
  }

  #start(): Program {
    this.starts++;
    const program = plane.run(this.name, process.execPath, this.#args);
    void program.exited(RUN_MS * 2).then(
      () => {
        if (this.#wanted) this.#program = this.#start();
      },
      () => undefined,
    );
    return program;
  }

  kill(): void {
    this.#program.signal('SIGKILL');
  }

  /** The exit code of a graceful stop. */
  async end(): Promise<number | string> {
    this.#wanted = false;
    this.#program.signal('SIGTERM');
    return this.#program.exited(60_000);
  }

  tail(): string {
    return this.#program.tail(40);
  }
}

beforeAll(async () => {
  // Plain Node runs the programs, so `capstan` resolves to the built package.
  if (!existsSync(fileURLToPath(new URL('../../dist/index.js', import.meta.url))))
    throw new Error('dist/ is missing: run "npm run build" first');
  // of the informer and the binder of this test, while the server is down
  setErrorHandler(() => undefined);
  plane = await ControlPlane.start();
  transport = kubeConfigTransport(await readKubeConfig(plane));
  client = newClient({ transport });
});

afterAll(async () => {
  for (const end of ending.reverse()) await end();
  await transport?.close?.();
  await plane?.stop();
  setErrorHandler(undefined);
});

afterEach(({ task }) => {
  if (task.result?.state !== 'fail') return;
  plane?.keepLogs();
  for (const program of supervised)
    console.error(`${program.name}, started ${program.starts} times:\n${program.tail()}`);
});

/** Repeats a write until the server has accepted it: the server may be down or starting. */
async function persist(what: string, write: () => Promise<unknown>): Promise<void> {
  await eventually(what, async () => {
    await write();
    return true;
  });
}

const nameOf = (i: number): string => `e2e-${String(i).padStart(4, '0')}`;

async function createBoth(i: number): Promise<void> {
  const metadata = { namespace, name: nameOf(i) };
  const spec = {
    image: `registry.example/site:${i}`,
    replicas: 1 + (i % 3),
    port: 8000 + i,
    paused: true,
  };
  await persist(`Website ${i} is created`, () =>
    client.create(Website, { metadata, spec }).catch(ignoreAlreadyExists),
  );
  const claim = {
    storageClassName: 'directories',
    accessModes: ['ReadWriteMany'],
    resources: { requests: { storage: '1Gi' } },
  };
  await persist(`claim ${i} is created`, () =>
    client.create(PersistentVolumeClaim, { metadata, spec: claim }).catch(ignoreAlreadyExists),
  );
}

async function deleteBoth(i: number): Promise<void> {
  const key = { namespace, name: nameOf(i) };
  await persist(`Website ${i} is deleted`, () => client.delete(Website, key).catch(ignoreNotFound));
  await persist(`claim ${i} is deleted`, () =>
    client.delete(PersistentVolumeClaim, key).catch(ignoreNotFound),
  );
}

/** A plain GET of all objects. */
async function get<T>(url: string): Promise<T[]> {
  const response = await transport.request({
    method: 'GET',
    path: url,
    headers: { accept: 'application/json' },
  });
  const text = await textOf(response.body);
  if (response.status !== 200)
    throw new Error(`GET ${url}: ${response.status} ${text.slice(0, 200)}`);
  return (JSON.parse(text) as { items: T[] }).items;
}

const paths = {
  websites: `/apis/demo.capstan.dev/v1/namespaces/${namespace}/websites`,
  deployments: `/apis/apps/v1/namespaces/${namespace}/deployments`,
  services: `/api/v1/namespaces/${namespace}/services`,
  claims: `/api/v1/namespaces/${namespace}/persistentvolumeclaims`,
  volumes: '/api/v1/persistentvolumes',
};

const byName = <T extends { metadata: { name?: string } }>(objects: readonly T[]): Map<string, T> =>
  new Map(objects.map((object) => [object.metadata.name ?? '', object]));

/** The number of Websites whose children are as wanted. */
async function convergedWebsites(): Promise<number> {
  const websites = await get<WebsiteObject>(paths.websites);
  const deployments = byName(await get<DeploymentObject>(paths.deployments));
  const services = byName(await get<ServiceObject>(paths.services));
  return websites.filter(({ metadata, spec, status }) => {
    const deployment = deployments.get(metadata.name ?? '');
    const service = services.get(metadata.name ?? '');
    const container = deployment?.spec.template.spec.containers[0];
    return (
      status?.observedGeneration === metadata.generation &&
      status?.conditions?.some(({ type, status: is }) => type === 'Synced' && is === 'True') &&
      deployment?.metadata.ownerReferences?.[0]?.uid === metadata.uid &&
      deployment?.spec.replicas === spec.replicas &&
      container?.image === spec.image &&
      container?.ports?.[0]?.containerPort === spec.port &&
      service?.metadata.ownerReferences?.[0]?.uid === metadata.uid &&
      service?.spec.ports[0]?.port === spec.port
    );
  }).length;
}

/** The number of claims with a retained volume that names them and has its directory. */
async function convergedClaims(root: string): Promise<number> {
  const claims = await get<ClaimObject>(paths.claims);
  const volumes = byName(await get<VolumeObject>(paths.volumes));
  const directories = new Set(await readdir(root));
  return claims.filter(({ metadata }) => {
    const name = `pvc-${metadata.uid}`;
    const volume = volumes.get(name);
    return (
      metadata.uid !== undefined &&
      volume?.spec.claimRef?.uid === metadata.uid &&
      volume?.metadata.deletionTimestamp === undefined &&
      directories.has(name)
    );
  }).length;
}

test('the server accepts the manifest of the provisioner', async () => {
  const objects = loadAllYaml(await readFile(path('provisioner/manifest.yaml'), 'utf8')) as {
    apiVersion: string;
    kind: string;
    metadata: { namespace?: string };
  }[];
  const plurals: Record<string, string> = {
    Namespace: 'namespaces',
    ServiceAccount: 'serviceaccounts',
    ClusterRole: 'clusterroles',
    ClusterRoleBinding: 'clusterrolebindings',
    Role: 'roles',
    RoleBinding: 'rolebindings',
    Deployment: 'deployments',
    StorageClass: 'storageclasses',
  };
  expect(objects.map(({ kind }) => kind).sort()).toEqual([...Object.keys(plurals)].sort());
  for (const object of objects) {
    const { apiVersion, kind, metadata } = object;
    const root = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`;
    const scope = metadata.namespace === undefined ? '' : `/namespaces/${metadata.namespace}`;
    const response = await transport.request({
      method: 'POST',
      path: `${root}${scope}/${plurals[kind]}`,
      query: { fieldValidation: 'Strict' },
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify(object),
    });
    expect(response.status, await textOf(response.body)).toBe(201);
  }
});

test(
  'a thousand Websites and claims converge across server crashes, without duplicates',
  async () => {
    const root = join(plane.folder, 'volumes');
    process.env.HEALTH_ADDRESS = '0';
    process.env.METRICS_ADDRESS = '0';
    const started = performance.now();
    const took = (what: string): void =>
      console.log(`${what} after ${((performance.now() - started) / 1000).toFixed(1)} s`);

    // The binder replaces kube-controller-manager, which does not run here.
    const stop = new AbortController();
    const manager = newManager({ transport });
    addBinder(manager);
    const binding = manager.start({ signal: stop.signal });
    // Every volume that ever existed, by its claim.
    const ever = new Map<string, Set<string>>();
    const watcher = new SharedIndexInformer(new ListWatch(transport, PersistentVolume));
    watcher.addEventHandler({
      onAdd({ metadata, spec }) {
        const { uid = '' } = spec.claimRef ?? {};
        ever.set(uid, (ever.get(uid) ?? new Set()).add(metadata.uid ?? ''));
      },
    });
    const watching = watcher.run();
    const website = new Supervised('website', [path('website/main.ts'), plane.kubeconfig]);
    const provisioner = new Supervised('provisioner', [
      path('provisioner/main.ts'),
      ...['--kubeconfig', plane.kubeconfig, '--root', root, '--workers', '8'],
    ]);
    supervised.push(website, provisioner);
    ending.push(async () => {
      for (const program of supervised) await program.end().catch(() => undefined);
      stop.abort();
      await binding;
      await watcher.stop();
      await watching;
    });
    await eventually('Websites are served', async () => (await get(paths.websites)).length === 0);

    let created = 0;
    const filling = parallelizeUntil(WRITERS, OBJECTS, async (i) => {
      await createBoth(i);
      created++;
    });
    const atLeast = (share: number) =>
      eventually(
        `${share * 100} % are created`,
        () => created >= OBJECTS * share || `${created} are`,
        RUN_MS,
      );
    await atLeast(0.2);
    await plane.restart('SIGKILL');
    took('the first restart');
    await atLeast(0.5);
    for (const program of supervised) program.kill();
    await plane.restart('SIGTERM');
    took('the second restart');
    await filling;
    took(`${OBJECTS} of each are created`);
    await plane.restart('SIGKILL');
    took('the third restart');
    await eventually(
      'all Websites converge',
      async () => {
        const converged = await convergedWebsites();
        return converged === OBJECTS || `${converged} have`;
      },
      RUN_MS,
    );
    await eventually(
      'all claims converge',
      async () => {
        const converged = await convergedClaims(root);
        return converged === OBJECTS || `${converged} have`;
      },
      RUN_MS,
    );
    took('all have converged');

    const deleting = parallelizeUntil(WRITERS, DELETED, (i) => deleteBoth(i));
    await eventually(
      'some are being deleted',
      async () => (await get(paths.websites)).length < OBJECTS - DELETED / 4,
    );
    await plane.restart('SIGKILL');
    await deleting;
    const left = OBJECTS - DELETED;
    const names = Array.from({ length: left }, (_, i) => nameOf(i + DELETED));
    const directories = async () =>
      (await readdir(root)).filter((name) => !name.startsWith('.')).sort();
    await eventually(
      'what was deleted is gone',
      async () => {
        const counts = [
          (await get(paths.websites)).length,
          (await get(paths.deployments)).length,
          (await get<ServiceObject>(paths.services)).filter(({ metadata }) =>
            metadata.name?.startsWith('e2e-'),
          ).length,
          (await get(paths.claims)).length,
          (await get(paths.volumes)).length,
          (await directories()).length,
        ];
        return counts.every((count) => count === left) || counts.join(', ');
      },
      RUN_MS,
    );
    took(`${DELETED} of each are gone`);

    expect([await convergedWebsites(), await convergedClaims(root)]).toEqual([left, left]);
    expect([...byName(await get<WebsiteObject>(paths.websites)).keys()].sort()).toEqual(names);
    const claims = await get<ClaimObject>(paths.claims);
    expect(claims.map(({ metadata }) => metadata.name).sort()).toEqual(names);
    expect(await directories()).toEqual(claims.map(({ metadata }) => `pvc-${metadata.uid}`).sort());
    expect(await readdir(join(root, '.unfinished'))).toEqual([]);
    const twice = [...ever].filter(([, volumes]) => volumes.size !== 1);
    expect(twice, 'claims that ever had more than one volume').toEqual([]);
    expect(ever.size).toBe(OBJECTS);
    const exits = [await website.end(), await provisioner.end()];
    expect(exits, supervised.map((program) => program.tail()).join('\n')).toEqual([0, 0]);
    console.log(
      `website was started ${website.starts} times, provisioner ${provisioner.starts} times`,
    );
  },
  RUN_MS + 60_000,
);
