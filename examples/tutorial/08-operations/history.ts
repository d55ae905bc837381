/** Deletes the oldest ended Jobs beyond the limits of the spec. */
import type { V1Job } from '@kubernetes/client-node';
import type { Client } from 'capstan/client';
import { deleteJob, stateOf } from './job.ts';
import type { ScheduledJob } from './scheduled-job.ts';

/** @param jobs oldest first */
export async function deleteOld(
  client: Client,
  { spec }: ScheduledJob,
  jobs: V1Job[],
  signal: AbortSignal,
): Promise<void> {
  const complete = jobs.filter((job) => stateOf(job) === 'complete');
  const failed = jobs.filter((job) => stateOf(job) === 'failed');
  const old = [
    ...complete.slice(0, Math.max(0, complete.length - spec.successfulJobsHistoryLimit)),
    ...failed.slice(0, Math.max(0, failed.length - spec.failedJobsHistoryLimit)),
  ];
  for (const job of old) await deleteJob(client, job, signal);
}
