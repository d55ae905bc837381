/** The resources that the exchanges use, and what a real server must be given before it serves them. */

export interface ResourceType {
  /** `/api/v1` or `/apis/<group>/<version>` */
  prefix: string;
  apiVersion: string;
  kind: string;
  plural: string;
}

export const configMaps: ResourceType = {
  prefix: '/api/v1',
  apiVersion: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
};
export const secrets: ResourceType = { prefix: '/api/v1', apiVersion: 'v1', kind: 'Secret', plural: 'secrets' };
export const leases: ResourceType = {
  prefix: '/apis/coordination.k8s.io/v1',
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  plural: 'leases',
};
/** Pods in all but name: what is in them is typed and merged alike, and no admission changes it. */
export const podTemplates: ResourceType = {
  prefix: '/api/v1',
  apiVersion: 'v1',
  kind: 'PodTemplate',
  plural: 'podtemplates',
};
export const quotas: ResourceType = {
  prefix: '/api/v1',
  apiVersion: 'v1',
  kind: 'ResourceQuota',
  plural: 'resourcequotas',
};
export const pods: ResourceType = { prefix: '/api/v1', apiVersion: 'v1', kind: 'Pod', plural: 'pods' };
export const deployments: ResourceType = {
  prefix: '/apis/apps/v1',
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  plural: 'deployments',
};
/** A custom resource with a status subresource and a schema that keeps every field. */
export const widgets: ResourceType = {
  prefix: '/apis/e2e.capstan.dev/v1',
  apiVersion: 'e2e.capstan.dev/v1',
  kind: 'Widget',
  plural: 'widgets',
};

/** What `kubectl apply` would be given to make `widgets` exist; the embedded server serves any resource unasked. */
export const widgetDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.e2e.capstan.dev' },
  spec: {
    group: 'e2e.capstan.dev',
    scope: 'Namespaced',
    names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
};
