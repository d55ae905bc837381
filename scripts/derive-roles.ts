/**
 * Writes bindings/testing/server/auth/roles-table.ts: the ClusterRoles and bindings with which a
 * real kube-apiserver with RBAC (KUBEBUILDER_ASSETS) starts, without those of its controllers and
 * nodes. Run by hand when the server that the embedded one is modelled on changes: `node
 * scripts/derive-roles.ts`, after a build.
 */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { kubeConfigTransport } from 'capstan/client-node';
import { readKubeConfig } from '../test/e2e/same-answers/servers.ts';
import { ControlPlane } from '../test/helpers/control-plane/control-plane.ts';
import { wrapJson } from './wrap-table.ts';

const TARGET = fileURLToPath(
  new URL('../bindings/testing/server/auth/roles-table.ts', import.meta.url),
);
const WANTED =
  /^(cluster-admin|admin|edit|view|system:(aggregate-to-.*|discovery|basic-user|public-info-viewer|auth-delegator|monitoring|service-account-issuer-discovery))$/;

interface Role {
  metadata: { name: string; labels?: Record<string, string> };
  rules?: unknown;
  aggregationRule?: unknown;
  roleRef?: { name: string };
  subjects?: unknown;
}

const plane = await ControlPlane.start({ rbac: true });
try {
  const transport = kubeConfigTransport(await readKubeConfig(plane));
  const list = async (plural: string): Promise<Role[]> => {
    const path = `/apis/rbac.authorization.k8s.io/v1/${plural}`;
    const { body } = await transport.request({ method: 'GET', path });
    const chunks: Uint8Array[] = [];
    for await (const chunk of body) chunks.push(chunk);
    return (JSON.parse(Buffer.concat(chunks).toString()) as { items: Role[] }).items;
  };
  const lines = [
    ...(await list('clusterroles'))
      .filter(({ metadata }) => WANTED.test(metadata.name))
      .map((role) => lineOf('ClusterRole', role)),
    ...(await list('clusterrolebindings'))
      .filter(({ roleRef }) => WANTED.test(roleRef?.name ?? ''))
      .map((binding) => lineOf('ClusterRoleBinding', binding)),
  ];
  await transport.close?.();
  const head = `/**
 * The default ClusterRoles and bindings of kube-apiserver 1.36 with RBAC, as a JSON array;
 * bootstrap-roles.ts reads them. Written by scripts/derive-roles.ts; not to be edited.
 */

`;
  const rows = lines.map(wrapJson).join(',\n');
  writeFileSync(TARGET, `${head}export const ROLES = \`[\n${rows}\n]\`;\n`);
} finally {
  await plane.stop();
}

function lineOf(kind: string, { metadata, ...rest }: Role): string {
  const { 'kubernetes.io/bootstrapping': _, ...labels } = metadata.labels ?? {};
  const named = Object.keys(labels).length > 0 ? { labels } : {};
  return JSON.stringify({ kind, name: metadata.name, ...named, ...rest });
}
