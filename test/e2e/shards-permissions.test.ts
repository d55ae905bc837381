/**
 * The Role for shards of docs/guides/rbac.md on a real API server: replicas with this Role, and
 * with permissions for the kind that they reconcile, do everything, and use each verb of it.
 */
import { readFileSync } from 'node:fs';
import { defineResource, type KubeObject } from 'capstan/cache';
import { type Client, newClient } from 'capstan/client';
import { newControllerManagedBy } from 'capstan/controller';
import { ConfigMap, Secret } from 'capstan/kinds';
import { type ControllerManager, newManager } from 'capstan/manager';
import { type Envtest, type EnvtestUser, startEnvtest } from 'capstan/testing';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { parseDocument } from 'yaml';
import { eventually } from '../helpers/control-plane/conditions.ts';
import { root } from '../helpers/repository.ts';

interface Rule {
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}
type RoleObject = KubeObject & { metadata: { namespace: string; name: string }; rules: Rule[] };

type Binding = KubeObject & { subjects: object[]; roleRef: object };

const kindOf = <T extends KubeObject>(kind: string, plural: string, namespaced: boolean) =>
  defineResource<T>()({
    group: 'rbac.authorization.k8s.io',
    version: 'v1',
    kind,
    plural,
    namespaced,
  });
const Role = kindOf<RoleObject>('Role', 'roles', true);
const RoleBinding = kindOf<Binding>('RoleBinding', 'rolebindings', true);
const ClusterRole = kindOf<KubeObject & { rules: object[] }>('ClusterRole', 'clusterroles', false);
const ClusterRoleBinding = kindOf<Binding>('ClusterRoleBinding', 'clusterrolebindings', false);

/** The Role in the text of the page. */
function roleOfPage(): RoleObject {
  const page = readFileSync(`${root}/docs/guides/rbac.md`, 'utf8');
  const blocks = [...page.matchAll(/```yaml\n(.*?)```/gs)].map(([, text = '']) => text);
  const block = blocks.find((text) => text.includes('website-controller-shards')) ?? '';
  return parseDocument(block).toJS();
}

const role = roleOfPage();
const { namespace } = role.metadata;
const ID = 'website-controller';
let envtest: Envtest;
let admin: Client;
let user: EnvtestUser;

beforeAll(async () => {
  envtest = await startEnvtest();
  admin = newClient({ transport: envtest.transport() });
  user = await envtest.addServiceAccount({ namespace, name: ID });
  const subjects = [{ kind: 'ServiceAccount', namespace, name: ID }];
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: role.metadata.name };
  await admin.create(Role, role);
  await admin.create(RoleBinding, { metadata: { namespace, name: ID }, subjects, roleRef });
  const rules = [{ apiGroups: [''], resources: ['secrets'], verbs: ['list', 'watch'] }];
  await admin.create(ClusterRole, { metadata: { name: ID }, rules });
  const clusterRef = { ...roleRef, kind: 'ClusterRole', name: ID };
  await admin.create(ClusterRoleBinding, { metadata: { name: ID }, subjects, roleRef: clusterRef });
  for (const name of ['one', 'two'])
    await admin.create(Secret, { metadata: { namespace: 'default', name } });
});

afterAll(() => envtest?.stop());

const reconciled = new Set<string>();

function start(replica: string): { manager: ControllerManager; stop(): Promise<void> } {
  const transport = user.transport();
  const manager = newManager({
    transport,
    shards: {
      id: ID,
      namespace,
      replica,
      leaseDuration: 4000,
      renewDeadline: 3000,
      retryPeriod: 500,
    },
    logger: { debug() {}, info() {}, warn() {}, error() {} },
  });
  newControllerManagedBy(manager)
    .for(Secret)
    .named(replica)
    .complete(async ({ name }) => void reconciled.add(name));
  const end = new AbortController();
  const running = manager.start({ signal: end.signal });
  const stop = async (): Promise<void> => {
    end.abort();
    await running;
    await transport.close?.();
  };
  onTestFinished(stop);
  return { manager, stop };
}

test('the Role of the page is enough for shards, and no verb of it is too many', async () => {
  const a = start('a');
  await a.manager.shards?.ready();
  const b = start('b');
  const owned = ({ manager }: typeof a): number => manager.shards?.slots.length ?? 0;
  await eventually(
    'both have slots',
    () => owned(a) > 0 && owned(b) > 0 && owned(a) + owned(b) === 64,
  );
  // The coordinator writes the map anew, by create.
  await admin.delete(ConfigMap, { namespace, name: ID });
  await eventually('the map is there again', async () => {
    await admin.get(ConfigMap, { namespace, name: ID });
    return owned(a) + owned(b) === 64;
  });
  await a.stop();
  await eventually('one has all slots', () => owned(b) === 64);
  await eventually('the Lease of the other one is deleted', () =>
    b.manager.accessRecord.entries().some(({ verb }) => verb === 'delete'),
  );
  expect([...reconciled]).toEqual(expect.arrayContaining(['one', 'two']));
  const entries = [a, b].flatMap(({ manager }) => manager.accessRecord.entries());
  const refused = entries.filter((entry) => entry.refused > 0);
  // Shards also count the Namespaces and write Events if this is allowed; they need neither.
  expect(new Set(refused.map(({ resource }) => resource))).toEqual(
    new Set(['namespaces', 'events']),
  );
  for (const plural of ['leases', 'configmaps']) {
    const used = entries.filter((entry) => entry.resource === plural).map(({ verb }) => verb);
    const allowed = role.rules.filter(({ resources }) => resources.includes(plural));
    expect(new Set(used)).toEqual(new Set(allowed.flatMap(({ verbs }) => verbs)));
  }
});
