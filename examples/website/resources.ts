/**
 * The kinds that this controller uses. One schema of Websites gives their type, the
 * CustomResourceDefinition by which a server validates them, and validation in the program.
 */
import { defineResource } from 'capstan/cache';
import { type CustomObject, defineCustomResource, type ObjectMeta } from 'capstan/client';
import * as kinds from 'capstan/kinds';
import * as z from 'zod';

const spec = z.object({
  image: z.string().min(1),
  replicas: z.int32().min(0),
  port: z.int32().min(1).max(65535),
  paused: z.boolean().describe('The Deployment is kept but starts no Pods.').optional(),
});

const condition = z.object({
  type: z.string(),
  status: z.enum(['True', 'False', 'Unknown']),
  reason: z.string(),
  message: z.string(),
  lastTransitionTime: z.iso.datetime(),
  observedGeneration: z.int().optional(),
});

const status = z.object({
  observedGeneration: z
    .int()
    .describe('The generation of the spec that the children match.')
    .optional(),
  address: z.string().optional(),
  conditions: z.array(condition).optional(),
});

export type WebsiteSpec = z.infer<typeof spec>;
export type WebsiteStatus = z.infer<typeof status>;
export type WebsiteObject = CustomObject<WebsiteSpec, WebsiteStatus>;

export const websites = defineCustomResource({
  group: 'demo.capstan.dev',
  version: 'v1',
  kind: 'Website',
  scope: 'Namespaced',
  spec,
  status,
  overrides: {
    'status.conditions': {
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['type'],
    },
  },
  additionalPrinterColumns: [
    { name: 'Address', type: 'string', jsonPath: '.status.address' },
    { name: 'Synced', type: 'string', jsonPath: '.status.conditions[?(@.type=="Synced")].status' },
    {
      name: 'Available',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="Available")].status',
    },
  ],
});

export const Website = websites.resource;
export const websiteCRD = websites.crd;

/** The members that the controller reads and writes. */
export interface DeploymentObject {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
  spec: {
    replicas?: number;
    paused?: boolean;
    selector: { matchLabels: Record<string, string> };
    template: {
      metadata: { labels: Record<string, string> };
      spec: { containers: { name: string; image: string; ports?: { containerPort: number }[] }[] };
    };
  };
  status?: { observedGeneration?: number; availableReplicas?: number };
}

export interface ServiceObject {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
  spec: {
    clusterIP?: string;
    selector: Record<string, string>;
    ports: { name: string; port: number }[];
  };
}

export const Deployment = defineResource<DeploymentObject>()(kinds.Deployment);

export const Service = defineResource<ServiceObject>()(kinds.Service);
