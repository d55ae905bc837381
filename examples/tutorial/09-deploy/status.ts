/** The status of a ScheduledJob: the Jobs that run, the last time, and a condition. */
import { isDeepStrictEqual } from 'node:util';
import type { V1Job } from '@kubernetes/client-node';
import { type Client, objectKey, setStatusCondition } from 'capstan/client';
import { scheduledTimeOf, stateOf } from './job.ts';
import { ScheduledJob } from './scheduled-job.ts';
import type { Outcome } from './start-job.ts';

/** Why no Job starts. The other outcomes are good. */
export const PROBLEMS = {
  Suspended: 'spec.suspend is true',
  DeadlineMissed: 'it is later than startingDeadlineSeconds allows',
  StillRunning: 'a Job still runs, and spec.concurrencyPolicy is Forbid',
  InvalidSchedule: 'spec.schedule cannot be read',
};

/** Writes the status, if it differs. */
export async function writeStatus(
  client: Client,
  scheduledJob: ScheduledJob,
  jobs: V1Job[],
  outcome: Outcome | 'InvalidSchedule',
  { now, signal }: { now: () => number; signal: AbortSignal },
): Promise<void> {
  const { metadata, status: before } = scheduledJob;
  const problem = outcome in PROBLEMS ? PROBLEMS[outcome as keyof typeof PROBLEMS] : undefined;
  const conditions = setStatusCondition(
    before?.conditions,
    {
      type: 'OnSchedule',
      status: problem === undefined ? 'True' : 'False',
      reason: problem === undefined ? 'AsPlanned' : outcome,
      message: problem ?? '',
      observedGeneration: metadata.generation,
    },
    { wallNow: now },
  );
  const newest = Math.max(0, ...jobs.map(scheduledTimeOf));
  const lastScheduleTime = newest > 0 ? new Date(newest).toISOString() : before?.lastScheduleTime;
  const active = jobs.filter((job) => stateOf(job) === 'active').map((job) => job.metadata?.name);
  const status = { lastScheduleTime, active, conditions };
  if (isDeepStrictEqual({ ...before }, status)) return;
  const key = objectKey(scheduledJob);
  const patch = { type: 'merge', body: { status } } as const;
  await client.status().patch(ScheduledJob.resource, key, patch, { signal });
}
