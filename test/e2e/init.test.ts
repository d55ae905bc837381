/**
 * What `capstan init` writes, on a real API server with RBAC: all manifests are accepted under
 * strict validation, Pods of the Deployment meet the restricted Pod Security Standard, and the
 * program, as the one file of `npm run bundle`, does all of its work with the permissions of its
 * own ServiceAccount, which are those of deploy/ and no others.
 */
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadAllYaml, loadYaml } from '@kubernetes/client-node';
import { defineResource, type Transport } from 'capstan/cache';
import {
  type Client,
  Discovery,
  eventResource,
  isForbidden,
  isInvalid,
  isNotFound,
  newClient,
  type ObjectMeta,
} from 'capstan/client';
import { kubeConfigTransport } from 'capstan/client-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { initProject } from '../../bin/init.ts';
import type { PackageFacts } from '../../bin/project-manifest.ts';
import type { Program } from '../../bindings/testing/envtest/program.ts';
import { eventually } from '../helpers/control-plane/conditions.ts';
import { ControlPlane } from '../helpers/control-plane/control-plane.ts';
import { linkPackages } from '../helpers/project-packages.ts';
import { root } from '../helpers/repository.ts';
import { kubeconfigWith, tokenOf, transportWith } from './accounts.ts';
import { readKubeConfig } from './same-answers/servers.ts';

interface Anything {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta & { name: string };
}
type Fox = Anything & {
  spec: { message: string; suspend?: boolean };
  status?: { observedGeneration?: number; conditions?: { type: string; status: string }[] };
};

const named = { group: '', version: 'v1', namespaced: true };
const ConfigMap = defineResource<Anything & { data?: Record<string, string> }>()({
  ...named,
  kind: 'ConfigMap',
  plural: 'configmaps',
});
interface PodSpec {
  securityContext?: object;
}
const Pod = defineResource<Anything & { spec: PodSpec }>()({
  ...named,
  kind: 'Pod',
  plural: 'pods',
});
const Secret = defineResource<Anything>()({ ...named, kind: 'Secret', plural: 'secrets' });
const RoleBinding = defineResource<Anything>()({
  ...named,
  group: 'rbac.authorization.k8s.io',
  kind: 'RoleBinding',
  plural: 'rolebindings',
});
const Foxes = defineResource<Fox>()({
  group: 'den.acme.io',
  version: 'v1alpha1',
  kind: 'ArcticFox',
  plural: 'arcticfoxes',
  namespaced: true,
});

const Bears = defineResource<Fox>()({
  group: 'den.acme.io',
  version: 'v1alpha1',
  kind: 'Bear',
  plural: 'bears',
  namespaced: true,
});
const Lynxes = defineResource<Fox>()({
  group: 'den.acme.io',
  version: 'v1alpha1',
  kind: 'Lynx',
  plural: 'lynxes',
  namespaced: false,
});

const project = mkdtempSync(join(tmpdir(), 'capstan-init-e2e-'));
const textOf = (path: string): string => readFileSync(join(project, path), 'utf8');
const hello = { namespace: 'default', name: 'hello' };
let plane: ControlPlane;
let transport: Transport;
let admin: Client;
let program: Program;
/** What the API server has warned of. */
const warnings: string[] = [];
/** What the ServiceAccount of the project may. */
let account: { transport: Transport; client: Client };

beforeAll(async () => {
  const facts = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as PackageFacts;
  await initProject(project, { kind: 'ArcticFox', group: 'den.acme.io', name: 'fox-den' }, facts);
  linkPackages(project);
  plane = await ControlPlane.start({ rbac: true });
  transport = kubeConfigTransport(await readKubeConfig(plane));
  admin = newClient({
    transport,
    fieldOwner: 'admin',
    fieldValidation: 'Strict',
    onWarning: ({ text }) => void warnings.push(text),
  });
});

afterAll(async () => {
  await program?.stop('SIGKILL');
  await account?.transport.close?.();
  await transport?.close?.();
  await plane?.stop();
  rmSync(project, { recursive: true, force: true });
});

/**
 * Applies a manifest as `kubectl apply --server-side` does: the server reads the file itself,
 * object by object.
 */
async function apply(path: string, options: { dryRun?: boolean } = {}): Promise<void> {
  const discovery = new Discovery(transport);
  for (const data of readFileSync(join(project, path), 'utf8').split('\n---\n')) {
    const { apiVersion, kind, metadata } = loadYaml<Anything>(data);
    const [version = '', group = ''] = apiVersion.split('/').reverse();
    const resource = await discovery.resourceFor<Anything>({ group, version, kind });
    const contentType = 'application/apply-patch+yaml';
    await admin.patch(
      resource,
      metadata,
      { type: 'raw', contentType, data },
      { ...options, fieldValidation: 'Strict' },
    );
  }
}

/** The files that `kubectl apply -f deploy/` reads, in its order. */
const manifests = (): string[] =>
  readdirSync(join(project, 'deploy'), { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => `deploy/${entry.name}`)
    .sort();

test('the manifests are accepted, without a field that the server does not know', async () => {
  for (const path of manifests()) {
    if (path !== 'deploy/workload.yaml') await apply(path);
    // again, and with what the files before it have made
    await apply(path, { dryRun: true });
  }
  await apply('deploy/workload.yaml');
  await apply('deploy/optional/network-policy.yaml');
  await eventually('the definition is served', async () => {
    const { items } = await admin.list(Foxes);
    return items.length === 0;
  });
  const refused = admin.create(Foxes, {
    apiVersion: 'den.acme.io/v1alpha1',
    kind: 'ArcticFox',
    metadata: hello,
    spec: { message: '' },
  });
  await expect(refused).rejects.toSatisfy(isInvalid);
});

// The Deployment would be accepted and its ReplicaSet would make no Pod: the namespace enforces the
// standard for Pods. There is no controller manager here, so this makes the Pod.
test('a Pod of the Deployment meets the restricted Pod Security Standard', async () => {
  expect(warnings).toEqual([]);
  const [deployment] = loadAllYaml(readFileSync(join(project, 'deploy/workload.yaml'), 'utf8'));
  const { spec } = (deployment as { spec: { template: { spec: PodSpec } } }).spec.template;
  const pod = (name: string, own: PodSpec): Anything & { spec: PodSpec } => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'fox-den' },
    spec: own,
  });
  await admin.create(Pod, pod('as-written', spec));
  const { securityContext: _, ...without } = spec;
  await expect(admin.create(Pod, pod('without', without))).rejects.toMatchObject({
    status: 403,
    message: expect.stringContaining('violates PodSecurity "restricted'),
  });
});

test('the kinds that `capstan add` adds are accepted too', async () => {
  const cli = join(root, 'dist/bin/capstan.js');
  execFileSync(process.execPath, [cli, 'add', 'Bear'], { cwd: project });
  execFileSync(process.execPath, [cli, 'add', 'Lynx', '--cluster-scoped'], { cwd: project });
  for (const path of manifests()) await apply(path);
  for (const kind of ['bear', 'lynx'])
    await eventually(`the sample of ${kind} is accepted`, () =>
      apply(`deploy/samples/${kind}.yaml`).then(
        () => true,
        (error: Error) => error.message,
      ),
    );
});

test('the program converges with the permissions of its own account', async () => {
  const token = await tokenOf(admin, { namespace: 'fox-den', name: 'fox-den' });
  const own = transportWith(plane, token);
  account = { transport: own, client: newClient({ transport: own, fieldOwner: 'fox-den' }) };
  await expect(account.client.list(Secret)).rejects.toSatisfy(isForbidden);
  await expect(account.client.delete(Foxes, hello)).rejects.toSatisfy(isForbidden);

  program = start(token);

  await apply('deploy/samples/arcticfox.yaml');
  await says('Hello, world');
  await eventually('the status says so', async () => {
    const { metadata, status } = await admin.get(Foxes, hello);
    const [ready] = status?.conditions ?? [];
    return (
      (ready?.status === 'True' && status?.observedGeneration === metadata.generation) ||
      program.tail(20)
    );
  });
  const { metadata } = await admin.get(ConfigMap, hello);
  expect(metadata.ownerReferences).toEqual([
    expect.objectContaining({ kind: 'ArcticFox', controller: true, blockOwnerDeletion: true }),
  ]);

  await admin.delete(ConfigMap, hello);
  await says('Hello, world');
  await admin.patch(Foxes, hello, { type: 'merge', body: { spec: { message: 'Good night' } } });
  await says('Good night');

  for (const kind of [Bears, Lynxes])
    await eventually(`the ${kind.kind} is ready`, async () => {
      const { items } = await admin.list(kind);
      return items[0]?.status?.conditions?.[0]?.status === 'True' || program.tail(20);
    });
  await admin.patch(Foxes, hello, { type: 'merge', body: { spec: { ttlSeconds: 1 } } });
  await eventually('an Event says that the time has ended', async () => {
    const { items } = await admin.list(eventResource, { namespace: 'default' });
    return items.some(({ reason }) => reason === 'Expired') || program.tail(20);
  });
  await expect(admin.get(ConfigMap, hello)).rejects.toSatisfy(isNotFound);

  expect(await ended()).toEqual(expect.arrayContaining(['Starting workers']));
});

test('with shards it does so with the permissions of deploy/optional/shards.yaml', async () => {
  const [, shards = ''] = /^(shards: .*)$/m.exec(textOf('README.md')) ?? [];
  const changed = textOf('src/main.ts').replace(/leaderElection: .*/, shards);
  expect(changed).toContain("shards: { id: 'fox-den', namespace },");
  writeFileSync(join(project, 'src/main.ts'), changed);
  await apply('deploy/optional/shards.yaml');
  await admin.delete(RoleBinding, { namespace: 'fox-den', name: 'fox-den-leader' });
  program = start(await tokenOf(admin, { namespace: 'fox-den', name: 'fox-den' }));

  await admin.delete(Foxes, hello);
  await apply('deploy/samples/arcticfox.yaml');
  await says('Hello, world');
  const [, command = ''] = /^npx capstan (shards .*?) +#/m.exec(textOf('README.md')) ?? [];
  const cli = [join(root, 'dist/bin/capstan.js'), ...command.split(' ')];
  const owners = execFileSync(process.execPath, [...cli, '--kubeconfig', plane.kubeconfig]);
  expect(owners.toString()).toMatch(/^shards fox-den\/fox-den, epoch \d+, coordinator /);
  expect(owners.toString()).toMatch(/ live +64 /);
  expect(await ended()).toEqual(expect.arrayContaining(['Starting workers']));
});

/** Starts the program as one file, with that token of its account. */
function start(token: string): Program {
  const kubeconfig = join(plane.folder, 'fox-den.kubeconfig');
  writeFileSync(kubeconfig, JSON.stringify(kubeconfigWith(plane, token)), { mode: 0o600 });
  const environment = join(plane.folder, 'fox-den.env');
  const settings = { KUBECONFIG: kubeconfig };
  const anyPort = ['HEALTH_ADDRESS', 'METRICS_ADDRESS', 'DEBUG_ADDRESS'].map(
    (name) => `${name}=127.0.0.1:0`,
  );
  writeFileSync(
    environment,
    [...Object.entries(settings).map((entry) => entry.join('=')), ...anyPort].join('\n'),
  );
  execFileSync(process.execPath, ['bundle.ts'], { cwd: project });
  const bundle = join(mkdtempSync(join(plane.folder, 'alone-')), 'main.mjs');
  copyFileSync(join(project, 'dist/main.mjs'), bundle); // with no packages beside it
  return plane.run('fox-den', process.execPath, [
    `--env-file=${environment}`,
    '--enable-source-maps',
    bundle,
    ...['--namespace', 'fox-den'],
  ]);
}

/** Ends the program, which has neither failed nor warned. Resolves with the messages of its log. */
async function ended(): Promise<string[]> {
  program.signal('SIGTERM');
  expect(await program.exited(40_000), program.tail(40)).toBe(0);
  const log = readFileSync(program.log, 'utf8').trim().split('\n');
  const lines = log.map((line) => JSON.parse(line) as { level: number; msg: string });
  expect(lines.filter(({ level }) => level > 30)).toEqual([]);
  return lines.map(({ msg }) => msg);
}

function says(message: string): Promise<void> {
  return eventually(`the ConfigMap says ${message}`, async () => {
    const data = await admin.get(ConfigMap, hello).then(
      (found) => found.data,
      () => undefined,
    );
    return data?.message === message || `it says ${data?.message}; ${program.tail(20)}`;
  });
}
