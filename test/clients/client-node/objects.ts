/** The objects that the steps write. */
import type {
  V1ConfigMap,
  V1CustomResourceDefinition,
  V1Deployment,
  V1Job,
} from '@kubernetes/client-node';

export const namespace = 'client-node';

export const configMapObject = (name: string): V1ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, labels: { app: 'web' } },
  data: { a: '1' },
});

export const containerObject = { name: 'c', image: 'nginx' };

export const deployment: V1Deployment = {
  metadata: { name: 'web' },
  spec: {
    selector: { matchLabels: { app: 'web' } },
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: '30%', maxUnavailable: 1 } },
    template: { metadata: { labels: { app: 'web' } }, spec: { containers: [containerObject] } },
  },
};

export const job: V1Job = {
  metadata: { name: 'j' },
  spec: { template: { spec: { restartPolicy: 'Never', containers: [containerObject] } } },
};

export const definition: V1CustomResourceDefinition = {
  metadata: { name: 'lamps.node.example.com' },
  spec: {
    group: 'node.example.com',
    scope: 'Namespaced',
    names: { plural: 'lamps', singular: 'lamp', kind: 'Lamp' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: { type: 'object', properties: { watts: { type: 'integer', minimum: 1 } } },
              status: { type: 'object', properties: { lit: { type: 'boolean' } } },
            },
          },
        },
      },
    ],
  },
};

export const lamp = (name: string, watts: number): object => ({
  apiVersion: 'node.example.com/v1',
  kind: 'Lamp',
  metadata: { name },
  spec: { watts },
});
