/**
 * The desired children of a Website, and how an existing object is changed to match. They have no
 * apiVersion and kind, because objects of a list have none: otherwise all would differ.
 */
import type { Request } from 'capstan/workqueue';
import type { DeploymentObject, ServiceObject, WebsiteSpec } from './resources.ts';

export const MANAGED_BY = 'website-controller';

export function deploymentOf({ namespace, name }: Request, spec: WebsiteSpec): DeploymentObject {
  const labels = { 'app.kubernetes.io/name': name };
  return {
    metadata: {
      namespace,
      name,
      labels: { ...labels, 'app.kubernetes.io/managed-by': MANAGED_BY },
    },
    spec: {
      replicas: spec.replicas,
      paused: spec.paused || undefined, // servers omit false
      selector: { matchLabels: labels }, // immutable, so it depends on the name alone
      template: {
        metadata: { labels },
        spec: {
          containers: [{ name: 'web', image: spec.image, ports: [{ containerPort: spec.port }] }],
        },
      },
    },
  };
}

export function serviceOf({ namespace, name }: Request, spec: WebsiteSpec): ServiceObject {
  const labels = { 'app.kubernetes.io/name': name };
  return {
    metadata: {
      namespace,
      name,
      labels: { ...labels, 'app.kubernetes.io/managed-by': MANAGED_BY },
    },
    spec: {
      clusterIP: 'None', // headless: takes no address from the cluster's range
      selector: labels,
      ports: [{ name: 'http', port: spec.port }],
    },
  };
}

/**
 * `actual` with all members of `desired`. Other members (defaults, status, annotations) stay; a
 * member that is `undefined` in `desired` is removed, and lists get the length of `desired`.
 */
export function overlay<T extends object>(actual: T, desired: T): T {
  return merge(actual, desired) as T;
}

function merge(actual: unknown, desired: unknown): unknown {
  if (typeof desired !== 'object' || desired === null) return desired;
  if (Array.isArray(desired)) {
    const items: unknown[] = Array.isArray(actual) ? actual : [];
    return desired.map((item, i) => merge(items[i], item));
  }
  const members: Record<string, unknown> = typeof actual === 'object' ? { ...actual } : {};
  for (const [name, value] of Object.entries(desired)) {
    if (value === undefined) delete members[name];
    else members[name] = merge(members[name], value);
  }
  return members;
}
