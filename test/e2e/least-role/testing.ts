/**
 * `capstan/testing` for a run of e2e tests as a ServiceAccount: `startEnvtest` gives them its
 * transports and kubeconfig in place of the administrator's, and the audit log says what it asked.
 * The environment has the folder of the logs, and the file of the account's Roles; without one the
 * account may do everything.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineResource, type KubeObject } from 'capstan/cache';
import { type Client, newClient } from 'capstan/client';
import { parseAllDocuments } from 'yaml';
import type { EnvtestOptions } from '../../../bindings/testing/envtest/options.ts';
import { startEnvtest as start } from '../../../bindings/testing/start-envtest.ts';
import { eventually } from '../../helpers/control-plane/conditions.ts';
import { ACCOUNT, FOLDER, ROLES } from './settings.ts';

export * from '../../../bindings/testing/index.ts';

type Envtest = Awaited<ReturnType<typeof start>>;

const GROUP = 'rbac.authorization.k8s.io';
const kind = (name: string, plural: string, namespaced: boolean) =>
  defineResource<KubeObject>()({ group: GROUP, version: 'v1', kind: name, plural, namespaced });
const KINDS: Readonly<Record<string, ReturnType<typeof kind>>> = {
  ClusterRole: kind('ClusterRole', 'clusterroles', false),
  ClusterRoleBinding: kind('ClusterRoleBinding', 'clusterrolebindings', false),
  Role: kind('Role', 'roles', true),
  RoleBinding: kind('RoleBinding', 'rolebindings', true),
};

/** All requests of the account, and the bodies of writes, which have owner references. */
const POLICY = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  omitManagedFields: true,
  rules: [
    { level: 'Request', users: [nameOf(ACCOUNT)], verbs: ['create', 'update', 'patch'] },
    { level: 'Metadata', users: [nameOf(ACCOUNT)] },
    { level: 'None' },
  ],
};

function nameOf({ namespace, name }: { namespace: string; name: string }): string {
  return `system:serviceaccount:${namespace}:${name}`;
}

export async function startEnvtest(options: EnvtestOptions = {}): Promise<Envtest> {
  const folder = process.env[FOLDER] ?? '';
  const policy = join(folder, `${randomUUID()}.policy`);
  writeFileSync(policy, JSON.stringify(POLICY));
  const envtest = await start({
    ...options,
    authorization: 'RBAC',
    flags: [
      '--enable-admission-plugins=OwnerReferencesPermissionEnforcement',
      ...(options.flags ?? []),
      `--audit-policy-file=${policy}`,
      `--audit-log-path=${policy.replace(/policy$/, 'log')}`,
    ],
  });
  const account = await envtest.addServiceAccount(ACCOUNT);
  await using admin = envtest.transport();
  await allow(newClient({ transport: admin }));
  return new Proxy(envtest, {
    get(_, name) {
      if (name === 'kubeconfig') return () => account.kubeconfig();
      if (name === 'transport') return transport;
      const value: unknown = Reflect.get(envtest, name, envtest);
      return typeof value === 'function' ? value.bind(envtest) : value;
    },
  });

  function transport({ as, headers = {} }: Parameters<Envtest['transport']>[0] = {}) {
    const isOther = Object.keys(headers).some((name) => name.toLowerCase() === 'authorization');
    if (as !== undefined || isOther) return envtest.transport({ ...(as && { as }), headers });
    const authorization = `Bearer ${account.token}`;
    return envtest.transport({ headers: { ...headers, authorization } });
  }
}

/** Makes the Roles and their bindings, and waits until the authorizer knows them. */
async function allow(admin: Client): Promise<void> {
  const roles = process.env[ROLES] ?? '';
  const documents =
    roles === ''
      ? [administrator]
      : parseAllDocuments(readFileSync(roles, 'utf8')).map((each) => each.toJS() as Document);
  for (const document of documents)
    await admin.create(KINDS[document.kind] as ReturnType<typeof kind>, document as never);
  const first = documents.find((each) => each.rules?.[0]?.resources !== undefined)?.rules?.[0];
  const [group, resource, verb] = [first?.apiGroups, first?.resources, first?.verbs].map(
    (words) => words?.[0] ?? 'any',
  );
  const review = defineResource<Review>()({
    ...{ group: 'authorization.k8s.io', version: 'v1', namespaced: false },
    ...{ kind: 'SubjectAccessReview', plural: 'subjectaccessreviews' },
  });
  const [plain, subresource] = (resource ?? '').split('/');
  const resourceAttributes = {
    ...{ group, resource: plain, verb },
    ...(subresource === undefined ? {} : { subresource }),
  };
  const spec = { user: nameOf(ACCOUNT), resourceAttributes };
  await eventually('the account has its roles', async () => {
    const { status } = (await admin.create(review, { metadata: {}, spec } as never)) as Review;
    return status?.allowed === true;
  });
}

type Review = KubeObject & { status?: { allowed: boolean } };

interface Document {
  kind: string;
  metadata: { name: string; namespace?: string };
  roleRef?: object;
  subjects?: object[];
  rules?: { apiGroups?: string[]; resources?: string[]; verbs: string[] }[];
}

const administrator: Document = {
  kind: 'ClusterRoleBinding',
  metadata: { name: 'e2e-administrator' },
  roleRef: { apiGroup: GROUP, kind: 'ClusterRole', name: 'cluster-admin' },
  subjects: [{ kind: 'ServiceAccount', ...ACCOUNT }],
};
