/** What the children of a Website should be. */
import { type ChildObject, type ObjectMeta, Website, type WebsiteObject } from './resources.ts';

export const MANAGED_BY = 'website-controller';

export function deploymentOf(website: WebsiteObject): ChildObject {
  const { image, replicas, port, paused = false } = website.spec;
  const labels = { 'app.kubernetes.io/name': website.metadata.name };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: childMeta(website),
    spec: {
      replicas,
      paused: paused ? true : null, // null takes a field away: servers leave out what is false
      selector: { matchLabels: labels }, // immutable, so it depends on the name alone
      template: {
        metadata: { labels },
        spec: { containers: [{ name: 'web', image, ports: [{ containerPort: port }] }] },
      },
    },
  };
}

export function serviceOf(website: WebsiteObject): ChildObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: childMeta(website),
    spec: {
      clusterIP: 'None', // headless: takes no address from the cluster's range
      selector: { 'app.kubernetes.io/name': website.metadata.name },
      ports: [{ name: 'http', port: website.spec.port }],
    },
  };
}

function childMeta(website: WebsiteObject): ObjectMeta {
  const { name, namespace, uid = '' } = website.metadata;
  return {
    name,
    namespace,
    labels: { 'app.kubernetes.io/name': name, 'app.kubernetes.io/managed-by': MANAGED_BY },
    ownerReferences: [
      {
        apiVersion: `${Website.group}/${Website.version}`,
        kind: Website.kind,
        name,
        uid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ],
  };
}
