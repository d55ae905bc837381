/** The kinds this controller works with, and the CustomResourceDefinition that a real API server needs for Website. */
import { defineResource } from 'capstan/cache';

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

export interface ObjectMeta {
  name: string;
  namespace: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  deletionTimestamp?: string;
  finalizers?: readonly string[];
  labels?: Record<string, string>;
  ownerReferences?: readonly OwnerReference[];
}

export interface WebsiteSpec {
  image: string;
  replicas: number;
  port: number;
  /** The Deployment is kept but starts no Pods. */
  paused?: boolean;
}

export interface WebsiteStatus {
  /** The generation of the spec that everything below the Website matches. */
  observedGeneration?: number;
  address?: string;
}

export interface WebsiteObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec: WebsiteSpec;
  status?: WebsiteStatus;
}

/** A Deployment or a Service, as far as the controller writes them. */
export interface ChildObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec: Record<string, unknown>;
}

export const Website = defineResource<WebsiteObject>()({
  group: 'demo.capstan.dev',
  version: 'v1',
  kind: 'Website',
  plural: 'websites',
  namespaced: true,
});

export const Deployment = defineResource<ChildObject>()({
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  plural: 'deployments',
  namespaced: true,
});

export const Service = defineResource<ChildObject>()({
  group: '',
  version: 'v1',
  kind: 'Service',
  plural: 'services',
  namespaced: true,
});

export const websiteCRD = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${Website.plural}.${Website.group}` },
  spec: {
    group: Website.group,
    scope: 'Namespaced',
    names: { plural: Website.plural, singular: 'website', kind: Website.kind },
    versions: [
      {
        name: Website.version,
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            required: ['spec'],
            properties: {
              spec: {
                type: 'object',
                required: ['image', 'replicas', 'port'],
                properties: {
                  image: { type: 'string' },
                  replicas: { type: 'integer', minimum: 0 },
                  port: { type: 'integer', minimum: 1, maximum: 65535 },
                  paused: { type: 'boolean' },
                },
              },
              status: {
                type: 'object',
                properties: { observedGeneration: { type: 'integer' }, address: { type: 'string' } },
              },
            },
          },
        },
      },
    ],
  },
};
