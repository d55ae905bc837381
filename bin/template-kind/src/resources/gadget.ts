/** The custom resource Gadget: its type, its CustomResourceDefinition, and `Gadget.parse`. */
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

export const Gadget = defineCustomResource({
  group: 'example.com',
  version: 'v1alpha1',
  kind: 'Gadget',
  plural: 'gadgets',
  scope: 'Namespaced',
  description: 'Describe what a Gadget is for.',
  spec: z.object({
    suspend: z.boolean().default(false).describe('Whether the controller leaves the object alone.'),
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

/** A Gadget as the API server stores it. */
export type Gadget = ObjectOf<typeof Gadget>;
