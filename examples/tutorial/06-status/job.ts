/** The built-in kind Job, with an index by owner. */
import type { V1Job } from '@kubernetes/client-node';
import { defineResource, ownerIndex } from 'capstan/cache';
import { type Client, ignoreNotFound, objectKey } from 'capstan/client';
import { Job as BuiltInJob } from 'capstan/kinds';
import type { ScheduledJob } from './scheduled-job.ts';

export const Job = defineResource<V1Job>()({ ...BuiltInJob, indexers: { byOwner: ownerIndex } });

/** The Jobs of a ScheduledJob, oldest first. */
export async function jobsOf(
  client: Client,
  { metadata: { namespace, uid = '' } }: ScheduledJob,
  signal?: AbortSignal,
): Promise<V1Job[]> {
  const index = { name: 'byOwner', value: uid };
  const { items } = await client.list(Job, { namespace, index, signal });
  return items.sort((a, b) => scheduledTimeOf(a) - scheduledTimeOf(b));
}

/** The annotation with the time that a Job was made for. */
export const SCHEDULED_AT = 'tutorial.example.com/scheduled-at';

/** In milliseconds since 1970; 0 for a Job without the annotation. */
export function scheduledTimeOf({ metadata }: V1Job): number {
  return Date.parse(metadata?.annotations?.[SCHEDULED_AT] ?? '') || 0;
}

export type JobState = 'active' | 'complete' | 'failed';

export function stateOf({ status }: V1Job): JobState {
  const is = (type: string): boolean =>
    status?.conditions?.some((each) => each.type === type && each.status === 'True') ?? false;
  if (is('Complete')) return 'complete';
  return is('Failed') ? 'failed' : 'active';
}

/** Deletes a Job with its Pods. */
export async function deleteJob(client: Client, job: V1Job, signal: AbortSignal): Promise<void> {
  const preconditions = { uid: job.metadata?.uid };
  const options = { propagationPolicy: 'Background', preconditions, signal } as const;
  await client.delete(Job, objectKey(job), options).catch(ignoreNotFound);
}
