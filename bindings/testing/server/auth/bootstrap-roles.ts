/**
 * The default ClusterRoles and bindings of a server with RBAC: those of kube-apiserver that are for
 * users, not those for its controllers and nodes.
 */
import { apiVersionOf } from '../registry/kinds.ts';
import { RBAC_GROUP } from './rbac.ts';
import { ROLES } from './roles-table.ts';

/** Complete objects, to be stored unchanged. */
export function bootstrapRoles(): object[] {
  const apiVersion = apiVersionOf({ group: RBAC_GROUP, version: 'v1' });
  return (JSON.parse(ROLES) as Row[]).map(({ name, labels, kind, ...rest }) => ({
    kind,
    apiVersion,
    metadata: {
      name,
      labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults', ...labels },
      annotations: { 'rbac.authorization.kubernetes.io/autoupdate': 'true' },
    },
    ...rest,
  }));
}

interface Row {
  kind: string;
  name: string;
  labels?: Record<string, string>;
}
