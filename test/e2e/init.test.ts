/**
 * What `capstan init` writes, on a real API server with RBAC: the definition is accepted as it is,
 * the Deployment has no field that the server does not know, and the program does all of its work
 * with the permissions of its own ServiceAccount, which are those of deploy/rbac.yaml and no
 * others.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadYaml } from '@kubernetes/client-node';
import { defineResource, type Transport } from 'capstan/cache';
import {
  type Client,
  Discovery,
  isForbidden,
  isInvalid,
  newClient,
  type ObjectMeta,
} from 'capstan/client';
import { kubeConfigTransport } from 'capstan/client-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { initProject } from '../../bin/init.ts';
import type { PackageFacts } from '../../bin/project-manifest.ts';
import { eventually } from '../helpers/control-plane/conditions.ts';
import { ControlPlane } from '../helpers/control-plane/control-plane.ts';
import type { Program } from '../helpers/control-plane/program.ts';
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
const Secret = defineResource<Anything>()({ ...named, kind: 'Secret', plural: 'secrets' });
const Foxes = defineResource<Fox>()({
  group: 'den.acme.io',
  version: 'v1alpha1',
  kind: 'ArcticFox',
  plural: 'arcticfoxes',
  namespaced: true,
});

const project = mkdtempSync(join(tmpdir(), 'capstan-init-e2e-'));
const hello = { namespace: 'default', name: 'hello' };
let plane: ControlPlane;
let transport: Transport;
let admin: Client;
let program: Program;
/** What the ServiceAccount of the project may. */
let account: { transport: Transport; client: Client };

beforeAll(async () => {
  const facts = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as PackageFacts;
  await initProject(project, { kind: 'ArcticFox', group: 'den.acme.io', name: 'fox-den' }, facts);
  linkPackages(project);
  plane = await ControlPlane.start({ rbac: true });
  transport = kubeConfigTransport(await readKubeConfig(plane));
  admin = newClient({ transport, fieldOwner: 'admin', fieldValidation: 'Strict' });
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

test('the manifests are accepted, without a field that the server does not know', async () => {
  await apply('deploy/crd.yaml');
  await apply('deploy/rbac.yaml');
  await apply('deploy/workload.yaml', { dryRun: true });
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

test('the program converges with the permissions of its own account', async () => {
  const token = await tokenOf(admin, { namespace: 'fox-den', name: 'fox-den' });
  const own = transportWith(plane, token);
  account = { transport: own, client: newClient({ transport: own, fieldOwner: 'fox-den' }) };
  await expect(account.client.list(Secret)).rejects.toSatisfy(isForbidden);
  await expect(account.client.delete(ConfigMap, hello)).rejects.toSatisfy(isForbidden);

  const kubeconfig = join(plane.folder, 'fox-den.kubeconfig');
  writeFileSync(kubeconfig, JSON.stringify(kubeconfigWith(plane, token)), { mode: 0o600 });
  const environment = join(plane.folder, 'fox-den.env');
  const settings = { KUBECONFIG: kubeconfig, POD_NAMESPACE: 'fox-den' };
  const anyPort = ['HEALTH_ADDRESS', 'METRICS_ADDRESS', 'DEBUG_ADDRESS'].map(
    (name) => `${name}=127.0.0.1:0`,
  );
  writeFileSync(
    environment,
    [...Object.entries(settings).map((entry) => entry.join('=')), ...anyPort].join('\n'),
  );
  program = plane.run('fox-den', process.execPath, [
    `--env-file=${environment}`,
    join(project, 'src/main.ts'),
  ]);

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

  program.signal('SIGTERM');
  expect(await program.exited(40_000), program.tail(40)).toBe(0);
  expect(readFileSync(program.log, 'utf8')).not.toMatch(/forbidden|error/i);
});

function says(message: string): Promise<void> {
  return eventually(`the ConfigMap says ${message}`, async () => {
    const data = await admin.get(ConfigMap, hello).then(
      (found) => found.data,
      () => undefined,
    );
    return data?.message === message || `it says ${data?.message}; ${program.tail(20)}`;
  });
}
