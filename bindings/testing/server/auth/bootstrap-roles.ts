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
  return ROLES.trim()
    .split('\n')
    .map((line) => {
      const { name, labels, kind, ...rest } = JSON.parse(line) as {
        kind: string;
        name: string;
        labels?: Record<string, string>;
      };
      return {
        kind,
        apiVersion,
        metadata: {
          name,
          labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults', ...labels },
          annotations: { 'rbac.authorization.kubernetes.io/autoupdate': 'true' },
        },
        ...rest,
      };
    });
}
