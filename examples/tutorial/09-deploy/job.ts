/** The built-in kind Job, with the members that this controller uses and an index by owner. */
import { defineResource, ownerIndex } from 'capstan/cache';
import { type Client, ignoreNotFound, type ObjectMeta } from 'capstan/client';
import type { ScheduledJob } from './scheduled-job.ts';

export interface JobObject {
  metadata: ObjectMeta;
  spec: {
    template: {
      spec: {
        restartPolicy: 'Never';
        containers: { name: string; image: string; command?: string[] | undefined }[];
      };
    };
  };
  status?: { conditions?: { type: string; status: string }[] };
}

export const Job = defineResource<JobObject>()({
  group: 'batch',
  version: 'v1',
  kind: 'Job',
  plural: 'jobs',
  namespaced: true,
  indexers: { byOwner: ownerIndex },
});

/** The Jobs of a ScheduledJob, oldest first. */
export async function jobsOf(
  client: Client,
  { metadata: { namespace, uid = '' } }: ScheduledJob,
  signal?: AbortSignal,
): Promise<JobObject[]> {
  const index = { name: 'byOwner', value: uid };
  const { items } = await client.list(Job, { namespace, index, signal });
  return items.sort((a, b) => scheduledTimeOf(a) - scheduledTimeOf(b));
}

/** The annotation with the time that a Job was made for. */
export const SCHEDULED_AT = 'tutorial.example.com/scheduled-at';

/** In milliseconds since 1970; 0 for a Job without the annotation. */
export function scheduledTimeOf({ metadata }: JobObject): number {
  return Date.parse(metadata.annotations?.[SCHEDULED_AT] ?? '') || 0;
}

export type JobState = 'active' | 'complete' | 'failed';

export function stateOf({ status }: JobObject): JobState {
  const is = (type: string): boolean =>
    status?.conditions?.some((each) => each.type === type && each.status === 'True') ?? false;
  if (is('Complete')) return 'complete';
  return is('Failed') ? 'failed' : 'active';
}

/** Deletes a Job with its Pods. */
export async function deleteJob(
  client: Client,
  { metadata: { namespace, name = '', uid } }: JobObject,
  signal: AbortSignal,
): Promise<void> {
  await client
    .delete(
      Job,
      { namespace, name },
      { propagationPolicy: 'Background', preconditions: { uid }, signal },
    )
    .catch(ignoreNotFound);
}
