/** The resources and objects of the controller tests. */
import { defineResource } from 'capstan/cache';
import type { TestObject } from './fake-cluster.ts';

export const TestWidget = defineResource<TestObject>()({
  group: 'example.com',
  version: 'v1',
  kind: 'Widget',
  plural: 'widgets',
  namespaced: true,
});
export const Part = defineResource<TestObject>()({
  group: 'apps',
  version: 'v1',
  kind: 'Part',
  plural: 'parts',
  namespaced: true,
});
export const Disc = defineResource<TestObject>()({
  group: '',
  version: 'v1',
  kind: 'Disc',
  plural: 'discs',
  namespaced: false,
});

export const testWidget = (
  name: string,
  namespace = 'default',
  spec: Record<string, unknown> = {},
): TestObject => ({
  metadata: { name, namespace },
  spec,
});

export const part = (name: string, owners: object[], namespace = 'default'): TestObject => ({
  metadata: { name, namespace, ownerReferences: owners },
});

export const ownedBy = (name: string, more: object = {}): object => ({
  apiVersion: 'example.com/v1',
  kind: 'Widget',
  name,
  uid: 'u',
  controller: true,
  ...more,
});
