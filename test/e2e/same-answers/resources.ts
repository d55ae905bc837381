/** The resources of the exchanges, and the definitions that a real server needs for them. */

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
export const secrets: ResourceType = {
  prefix: '/api/v1',
  apiVersion: 'v1',
  kind: 'Secret',
  plural: 'secrets',
};
export const leases: ResourceType = {
  prefix: '/apis/coordination.k8s.io/v1',
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  plural: 'leases',
};
/** Typed and merged like Pods, but without admission. */
export const podTemplates: ResourceType = {
  prefix: '/api/v1',
  apiVersion: 'v1',
  kind: 'PodTemplate',
  plural: 'podtemplates',
};
export const capacities: ResourceType = {
  prefix: '/apis/storage.k8s.io/v1',
  apiVersion: 'storage.k8s.io/v1',
  kind: 'CSIStorageCapacity',
  plural: 'csistoragecapacities',
};
export const quotas: ResourceType = {
  prefix: '/api/v1',
  apiVersion: 'v1',
  kind: 'ResourceQuota',
  plural: 'resourcequotas',
};
export const pods: ResourceType = {
  prefix: '/api/v1',
  apiVersion: 'v1',
  kind: 'Pod',
  plural: 'pods',
};
export const deployments: ResourceType = {
  prefix: '/apis/apps/v1',
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  plural: 'deployments',
};
export const jobs: ResourceType = {
  prefix: '/apis/batch/v1',
  apiVersion: 'batch/v1',
  kind: 'Job',
  plural: 'jobs',
};
export const endpointSlices: ResourceType = {
  prefix: '/apis/discovery.k8s.io/v1',
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  plural: 'endpointslices',
};
export const clusterRoles: ResourceType = {
  prefix: '/apis/rbac.authorization.k8s.io/v1',
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  plural: 'clusterroles',
};
export const coreEvents: ResourceType = {
  prefix: '/api/v1',
  apiVersion: 'v1',
  kind: 'Event',
  plural: 'events',
};
export const events: ResourceType = {
  prefix: '/apis/events.k8s.io/v1',
  apiVersion: 'events.k8s.io/v1',
  kind: 'Event',
  plural: 'events',
};
/** A custom resource with a status subresource and a schema that preserves unknown fields. */
export const widgets: ResourceType = {
  prefix: '/apis/e2e.capstan.dev/v1',
  apiVersion: 'e2e.capstan.dev/v1',
  kind: 'Widget',
  plural: 'widgets',
};

/** The definition of `widgets`. The embedded server would serve the resource without it. */
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
        schema: {
          openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        },
      },
    ],
  },
};

/** A custom resource with a schema that uses many features, and a scale. */
export const sites: ResourceType = {
  prefix: '/apis/e2e.capstan.dev/v1',
  apiVersion: 'e2e.capstan.dev/v1',
  kind: 'Site',
  plural: 'sites',
};

const text = { type: 'string' };
const rule = {
  type: 'object',
  required: ['name'],
  properties: {
    name: text,
    proto: { type: 'string', default: 'TCP' },
    value: { type: 'integer', format: 'int32' },
  },
};
const condition = {
  type: 'object',
  required: ['type', 'status'],
  properties: { type: text, status: text },
};

const siteSpec = {
  type: 'object',
  required: ['host'],
  properties: {
    host: { type: 'string', minLength: 2, maxLength: 5, pattern: '^[a-z]+$' },
    replicas: { type: 'integer', minimum: 1, maximum: 5, default: 2 },
    mode: { type: 'string', enum: ['a', 'b'], default: 'a' },
    ratio: { type: 'number', multipleOf: 0.5, minimum: 0, maximum: 9, exclusiveMaximum: true },
    on: { type: 'boolean' },
    port: { 'x-kubernetes-int-or-string': true },
    tags: { type: 'array', items: text, 'x-kubernetes-list-type': 'set', maxItems: 3 },
    plain: { type: 'array', items: text, minItems: 1 },
    rules: {
      type: 'array',
      items: rule,
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name', 'proto'],
    },
    labels: { type: 'object', additionalProperties: text, maxProperties: 2 },
    whole: { type: 'object', additionalProperties: text, 'x-kubernetes-map-type': 'atomic' },
    free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    nested: { type: 'object', default: {}, properties: { x: { type: 'string', default: 'y' } } },
    maybe: { type: 'string', nullable: true },
    when: { type: 'string', format: 'date-time' },
    day: { type: 'string', format: 'date' },
    bytes: { type: 'string', format: 'byte' },
    link: { type: 'string', format: 'uri' },
    mail: { type: 'string', format: 'email' },
    either: {
      type: 'object',
      properties: { a: text, b: text },
      oneOf: [{ required: ['a'] }, { required: ['b'] }],
    },
  },
};

const siteStatus = {
  type: 'object',
  properties: {
    replicas: { type: 'integer' },
    selector: text,
    conditions: {
      type: 'array',
      items: condition,
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['type'],
    },
  },
};

export const siteDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'sites.e2e.capstan.dev' },
  spec: {
    group: 'e2e.capstan.dev',
    scope: 'Namespaced',
    names: {
      plural: 'sites',
      singular: 'site',
      kind: 'Site',
      listKind: 'SiteList',
      shortNames: ['st'],
      categories: ['all'],
    },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: {
          status: {},
          scale: {
            specReplicasPath: '.spec.replicas',
            statusReplicasPath: '.status.replicas',
            labelSelectorPath: '.status.selector',
          },
        },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            required: ['spec'],
            properties: { spec: siteSpec, status: siteStatus },
          },
        },
      },
    ],
  },
};
