/** The custom resource: one schema gives its type, its definition and its validation. */
import { defineCustomResource, type ObjectOf } from 'capstan/client';
import * as z from 'zod';

const spec = z.object({
  schedule: z.string().min(1).describe('When Jobs start, in UTC: minute hour day month weekday.'),
  image: z.string().min(1).describe('The image of the container.'),
  command: z.array(z.string()).optional().describe('The command of the container.'),
  suspend: z.boolean().default(false).describe('No Job starts while this is true.'),
  concurrencyPolicy: z
    .enum(['Allow', 'Forbid', 'Replace'])
    .default('Allow')
    .describe('Whether a Job may start while an earlier one runs.'),
  startingDeadlineSeconds: z
    .int()
    .min(0)
    .optional()
    .describe('How late a Job may start. Without it there is no deadline.'),
  successfulJobsHistoryLimit: z.int().min(0).default(3),
  failedJobsHistoryLimit: z.int().min(0).default(1),
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
  lastScheduleTime: z.iso.datetime().optional().describe('The newest time that had a Job.'),
  active: z.array(z.string()).optional().describe('The names of the Jobs that run.'),
  conditions: z.array(condition).optional(),
});

export const ScheduledJob = defineCustomResource({
  group: 'tutorial.example.com',
  version: 'v1',
  kind: 'ScheduledJob',
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
    { name: 'Schedule', type: 'string', jsonPath: '.spec.schedule' },
    { name: 'Suspend', type: 'boolean', jsonPath: '.spec.suspend' },
    { name: 'Last', type: 'date', jsonPath: '.status.lastScheduleTime' },
  ],
});

/** A ScheduledJob as the API server stores it. */
export type ScheduledJob = ObjectOf<typeof ScheduledJob>;
