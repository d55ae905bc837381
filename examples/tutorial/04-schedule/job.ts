/** The built-in kind Job, with the members that this controller uses and an index by owner. */
import { defineResource, ownerIndex } from 'capstan/cache';
import type { Client, ObjectMeta } from 'capstan/client';
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

/** The Jobs of a ScheduledJob. */
export async function jobsOf(
  client: Client,
  { metadata: { namespace, uid = '' } }: ScheduledJob,
  signal?: AbortSignal,
): Promise<JobObject[]> {
  const index = { name: 'byOwner', value: uid };
  return (await client.list(Job, { namespace, index, signal })).items;
}

export type JobState = 'active' | 'complete' | 'failed';

export function stateOf({ status }: JobObject): JobState {
  const is = (type: string): boolean =>
    status?.conditions?.some((each) => each.type === type && each.status === 'True') ?? false;
  if (is('Complete')) return 'complete';
  return is('Failed') ? 'failed' : 'active';
}
