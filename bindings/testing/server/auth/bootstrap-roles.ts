/**
 * The ClusterRoles and bindings that a server with RBAC begins with, of those of kube-apiserver
 * that are for users: not those of its controllers and nodes.
 */
import { apiVersionOf } from '../registry/kinds.ts';
import { RBAC_GROUP } from './rbac.ts';
import { ROLES } from './roles-table.ts';

/** Whole objects, to be stored as they are. */
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
