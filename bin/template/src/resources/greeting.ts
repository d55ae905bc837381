/**
 * The custom resource. The schemas give the type of its objects, the CustomResourceDefinition by
 * which the API server validates them (`npm run crd` writes it to deploy/crd.yaml), and validation
 * in the program: `Greeting.parse`.
 */
import { defineCustomResource, type ObjectOf } from 'capstan/client';
import * as z from 'zod';

const condition = z.object({
  type: z.string(),
  status: z.enum(['True', 'False', 'Unknown']),
  reason: z.string(),
  message: z.string(),
  lastTransitionTime: z.string().meta({ format: 'date-time' }),
  observedGeneration: z.int().optional(),
});

export const Greeting = defineCustomResource({
  group: 'example.com',
  version: 'v1alpha1',
  kind: 'Greeting',
  plural: 'greetings',
  scope: 'Namespaced',
  description: 'A ConfigMap of the same name, which says the message.',
  spec: z.object({
    message: z.string().min(1).max(1024).describe('What the ConfigMap says.'),
    ttlSeconds: z
      .int()
      .min(1)
      .max(31_536_000)
      .optional()
      .describe('Seconds until the ConfigMap is deleted. Without it, never.'),
  }),
  status: z.object({
    observedGeneration: z
      .int()
      .optional()
      .describe('The generation of the spec that the conditions are about.'),
    conditions: z.array(condition).optional(),
  }),
  overrides: {
    'status.conditions': {
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['type'],
    },
  },
  additionalPrinterColumns: [
    { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
});

/** A Greeting as the API server stores it. */
export type Greeting = ObjectOf<typeof Greeting>;
