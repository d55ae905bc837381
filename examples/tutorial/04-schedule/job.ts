/** The built-in kind Job, with an index by owner. */
import type { V1Job } from '@kubernetes/client-node';
import { defineResource, ownerIndex } from 'capstan/cache';
import type { Client } from 'capstan/client';
import { Job as BuiltInJob } from 'capstan/kinds';
import type { ScheduledJob } from './scheduled-job.ts';

export const Job = defineResource<V1Job>()({ ...BuiltInJob, indexers: { byOwner: ownerIndex } });

/** The Jobs of a ScheduledJob. */
export async function jobsOf(
  client: Client,
  { metadata: { namespace, uid = '' } }: ScheduledJob,
  signal?: AbortSignal,
): Promise<V1Job[]> {
  const index = { name: 'byOwner', value: uid };
  return (await client.list(Job, { namespace, index, signal })).items;
}

export type JobState = 'active' | 'complete' | 'failed';

export function stateOf({ status }: V1Job): JobState {
  const is = (type: string): boolean =>
    status?.conditions?.some((each) => each.type === type && each.status === 'True') ?? false;
  if (is('Complete')) return 'complete';
  return is('Failed') ? 'failed' : 'active';
}
