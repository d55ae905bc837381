/**
 * `capstan rbac` judged by a real API server: a program is recorded as an administrator; with the
 * printed Roles alone it does the same, and without any one of their rules it does not.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defineResource, type KubeObject, type Transport } from 'capstan/cache';
import {
  type AccessEntry,
  addFinalizer,
  type Client,
  createOrUpdate,
  defineCustomResource,
  newClient,
  removeFinalizer,
  setControllerReference,
} from 'capstan/client';
import { asReconciler, newControllerManagedBy } from 'capstan/controller';
import { ConfigMap, Lease, Namespace, Secret } from 'capstan/kinds';
import { newManager } from 'capstan/manager';
import { type Envtest, startEnvtest } from 'capstan/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import * as z from 'zod';
import { capstan } from '../helpers/command-line.ts';
import { eventually } from '../helpers/control-plane/conditions.ts';

const Website = defineCustomResource({
  group: 'example.com',
  version: 'v1',
  kind: 'Website',
  scope: 'Namespaced',
  spec: z.object({ host: z.string() }),
  status: z.object({ seen: z.string() }),
});
const websites = Website.resource;
const FINALIZER = 'example.com/web';

const role = (kind: string, plural: string, namespaced: boolean) =>
  defineResource<KubeObject & { rules: Rule[] }>()({
    group: 'rbac.authorization.k8s.io',
    version: 'v1',
    kind,
    plural,
    namespaced,
  });
interface Rule {
  resources?: string[];
  verbs: string[];
}
const KINDS = {
  ClusterRole: role('ClusterRole', 'clusterroles', false),
  ClusterRoleBinding: role('ClusterRoleBinding', 'clusterrolebindings', false),
  Role: role('Role', 'roles', true),
  RoleBinding: role('RoleBinding', 'rolebindings', true),
};
type RoleDocument = { kind: keyof typeof KINDS; metadata: { name: string; namespace?: string } } & {
  rules: Rule[];
};

let envtest: Envtest;
let admin: Client;
let account: Transport;
const place = mkdtempSync(join(tmpdir(), 'capstan-rbac-'));
beforeAll(async () => {
  // Owner references that block a deletion need a permission too.
  const flags = ['--enable-admission-plugins=OwnerReferencesPermissionEnforcement'];
  envtest = await startEnvtest({ crds: [Website], flags });
  admin = newClient({ transport: envtest.transport() });
  account = (await envtest.addServiceAccount({ namespace: 'prod', name: 'web' })).transport();
  await admin.create(Secret, { metadata: { namespace: 'prod', name: 'token' } });
});
afterAll(async () => {
  rmSync(place, { recursive: true });
  await account?.close?.();
  await envtest?.stop();
});

let runs = 0;
const newWebsite = (namespace: string, name: string) => ({
  metadata: { namespace, name },
  spec: { host: `${name}.example.com` },
});

/**
 * Runs the program on a namespace of its own: a website is made and deleted. Resolves with what the
 * program asked, also if it was refused something that it cannot do without.
 */
async function program(transport: Transport, file?: string): Promise<AccessEntry[]> {
  const namespace = `run-${runs++}`;
  await admin.create(Namespace, { metadata: { name: namespace } });
  // A lease that is there is not created.
  await admin.delete(Lease, { namespace: 'prod', name: 'web' }).catch(() => undefined);
  const manager = newManager({
    transport,
    ...(file === undefined ? {} : { accessFile: file }),
    leaderElection: { id: 'web', namespace: 'prod', releaseOnCancel: true },
    logger: { debug() {}, info() {}, warn() {}, error() {} },
  });
  const { client } = manager;
  const events = manager.eventRecorder('example.com/web');
  newControllerManagedBy(manager)
    .named(namespace)
    .for(websites)
    .owns(ConfigMap)
    .complete(
      asReconciler(client, {
        resource: websites,
        reconcile: async (site, { signal }) => {
          const { name, deletionTimestamp } = site.metadata;
          if (site.metadata.namespace !== namespace) return;
          const child = { namespace, name };
          if (deletionTimestamp !== undefined) {
            await client.delete(ConfigMap, child, { signal });
            await client.deleteAllOf(ConfigMap, { namespace, labelSelector: 'of=web', signal });
            await client.update(websites, removeFinalizer(site, FINALIZER), { signal });
            return;
          }
          const held = addFinalizer(site, FINALIZER);
          if (held !== site) await client.update(websites, held, { signal });
          await client.get(Secret, { namespace: 'prod', name: 'token' }, { live: true, signal });
          await createOrUpdate(client, ConfigMap, child, (map) =>
            setControllerReference(site, { ...map, data: { host: site.spec.host } }, websites),
          );
          events.event(site, { reason: 'Written', action: 'Write', note: 'written' });
          const body = { status: { seen: 'yes' } };
          await client.status().patch(websites, child, { type: 'merge', body });
        },
      }),
    );
  const stop = new AbortController();
  const running = manager.start({ signal: stop.signal }).catch(() => undefined);
  const refused = (): boolean => manager.accessRecord.entries().some((entry) => entry.refused > 0);
  const key = { namespace, name: 'site' };
  const made = newWebsite(namespace, 'site');
  await admin.create(websites, await Website.parse(made));
  await eventually('its status', async () => {
    const { status } = await admin.get(websites, key);
    return refused() || status?.seen === 'yes';
  });
  if (!refused()) {
    await admin.delete(websites, key);
    await eventually('its end', async () => {
      const found = await admin.get(websites, key).catch(() => undefined);
      return refused() || found === undefined;
    });
  }
  stop.abort();
  await running;
  const left = await admin.get(websites, key).catch(() => undefined);
  if (left !== undefined) {
    const free = { type: 'merge' as const, body: { metadata: { finalizers: [] } } };
    await admin.patch(websites, key, free);
    await admin.delete(websites, key).catch(() => undefined);
  }
  return manager.accessRecord.entries();
}

async function write(document: RoleDocument): Promise<void> {
  await admin.apply(KINDS[document.kind], document, { fieldOwner: 'test', force: true });
}

test('the printed Roles suffice, and each of their rules is needed', async () => {
  const [recorded, again, roles] = ['recorded', 'again', 'roles'].map((name) => join(place, name));
  await program(envtest.transport(), recorded);
  const printed = await capstan(
    ...['rbac', recorded ?? '', '--name', 'web', '--service-account', 'prod/web'],
  );
  expect([printed.code, printed.stderr]).toEqual([0, '']);
  writeFileSync(roles ?? '', printed.stdout);
  const documents = parseAllDocuments(printed.stdout).map((each) => each.toJS() as RoleDocument);
  for (const document of documents) await write(document);

  const refused = (entries: readonly AccessEntry[]) => entries.filter((each) => each.refused > 0);
  expect(refused(await program(account, again))).toEqual([]);
  for (const record of [recorded, again]) {
    const checked = await capstan('rbac', record ?? '', '--check', roles ?? '');
    expect([checked.code, checked.stdout]).toEqual([0, 'equal\n']);
  }
  expect(readFileSync(again ?? '', 'utf8')).toContain('"count"');

  const withRules = documents.filter(({ rules }) => rules !== undefined);
  for (const document of withRules)
    for (const [at, rule] of document.rules.entries()) {
      const what = `${document.kind} without ${rule.resources} ${rule.verbs}`;
      const less = { ...document, rules: document.rules.toSpliced(at, 1) };
      await write(less);
      const smaller = [...documents.filter((each) => each !== document), less];
      writeFileSync(roles ?? '', JSON.stringify({ kind: 'List', items: smaller }));
      const { code, stdout } = await capstan('rbac', again ?? '', '--check', roles ?? '');
      expect(code, what).toBe(2);
      expect(stdout.match(/too small/g), what).toHaveLength(rule.verbs.length);
      await eventually(`${what} is refused`, async () => {
        const entries = await program(account);
        // The owner's finalizers are asked for when its ConfigMap is created.
        return refused(entries).some(({ resource = '' }) =>
          rule.resources?.some((each) => each.startsWith(resource) || each.endsWith('/finalizers')),
        );
      });
      await write(document);
    }
});
