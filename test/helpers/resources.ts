/**
 * Resources and objects for the tests of informers and clients: ConfigMaps, Widgets, Namespaces.
 */
import { defineResource } from 'capstan/cache';

export interface Metadata {
  name: string;
  generateName?: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  deletionTimestamp?: string;
  managedFields?: { manager?: string; operation?: string; subresource?: string }[];
}

export interface ConfigMap {
  apiVersion?: string;
  kind?: string;
  metadata: Metadata;
  data?: Record<string, string>;
  spec?: Record<string, unknown>;
}

export interface Widget {
  apiVersion?: string;
  kind?: string;
  metadata: Metadata;
  spec?: { size?: number; color?: string; parts?: string[] };
  status?: { ready?: boolean; size?: number };
}

export const ConfigMaps = defineResource<ConfigMap>()({
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
  indexers: { byPage: 'data.page', byValue: 'data.v' },
});

export const Widgets = defineResource<Widget>()({
  group: 'example.com',
  version: 'v1',
  kind: 'Widget',
  plural: 'widgets',
  namespaced: true,
  indexers: { byColor: 'spec.color' },
});

export const Namespaces = defineResource<{
  apiVersion?: string;
  kind?: string;
  metadata: Metadata;
}>()({
  group: '',
  version: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  namespaced: false,
});

export const at = (name: string, namespace = 'default') => ({ namespace, name });

export const configMap = (
  name: string,
  data?: Record<string, string>,
  metadata: Partial<Metadata> = {},
): ConfigMap => ({
  metadata: { namespace: 'default', name, ...metadata },
  ...(data === undefined ? {} : { data }),
});

export const widget = (
  name: string,
  spec?: Widget['spec'],
  metadata: Partial<Metadata> = {},
): Widget => ({
  metadata: { namespace: 'default', name, ...metadata },
  ...(spec === undefined ? {} : { spec }),
});

/** Metadata of an object whose name the server makes, or that wrongly has none. */
export const unnamed = (metadata: Partial<Metadata>): Metadata => metadata as Metadata;
