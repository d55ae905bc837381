/** Starts the Job that is due, if the spec allows it. */
import type { V1Job } from '@kubernetes/client-node';
import { type Client, isAlreadyExists, setControllerReference } from 'capstan/client';
import { deleteJob, Job, SCHEDULED_AT, scheduledTimeOf, stateOf } from './job.ts';
import { lastTime } from './schedule.ts';
import { ScheduledJob } from './scheduled-job.ts';

/** What a reconcile did, or why it started nothing. */
export type Outcome = 'Started' | 'NothingDue' | 'Suspended' | 'DeadlineMissed' | 'StillRunning';

export async function startDue(
  client: Client,
  scheduledJob: ScheduledJob,
  jobs: V1Job[],
  { now, signal }: { now: () => number; signal: AbortSignal },
): Promise<Outcome> {
  const { schedule, suspend, startingDeadlineSeconds, concurrencyPolicy } = scheduledJob.spec;
  if (suspend) return 'Suspended';
  const due = lastTime(schedule, lastScheduled(scheduledJob, jobs), now());
  if (due === undefined) return 'NothingDue';
  const lateSeconds = (now() - due) / 1000;
  if (startingDeadlineSeconds !== undefined && lateSeconds > startingDeadlineSeconds)
    return 'DeadlineMissed';
  const active = jobs.filter((job) => stateOf(job) === 'active');
  if (concurrencyPolicy === 'Forbid' && active.length > 0) return 'StillRunning';
  if (concurrencyPolicy === 'Replace')
    for (const job of active) await deleteJob(client, job, signal);
  try {
    await client.create(Job, jobFor(scheduledJob, due), { signal });
  } catch (error) {
    // An earlier try has created the Job of this time.
    if (!isAlreadyExists(error)) throw error;
  }
  return 'Started';
}

/** The newest time that had a Job; at first the time at which the ScheduledJob was created. */
function lastScheduled({ metadata, status }: ScheduledJob, jobs: V1Job[]): number {
  const created = Date.parse(String(metadata.creationTimestamp));
  const written = Date.parse(status?.lastScheduleTime ?? '') || 0;
  return Math.max(created, written, ...jobs.map(scheduledTimeOf));
}

/** The Job of one time. Its name follows from the time, so that no time has two Jobs. */
export function jobFor(scheduledJob: ScheduledJob, due: number): V1Job {
  const { name, namespace } = scheduledJob.metadata;
  const { image, command } = scheduledJob.spec;
  const job: V1Job = {
    metadata: {
      name: `${name}-${due / 1000}`,
      namespace,
      annotations: { [SCHEDULED_AT]: new Date(due).toISOString() },
    },
    spec: {
      template: {
        spec: { restartPolicy: 'Never', containers: [{ name: 'job', image, command }] },
      },
    },
  };
  return setControllerReference(scheduledJob, job, ScheduledJob.resource);
}
