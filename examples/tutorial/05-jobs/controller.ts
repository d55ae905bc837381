/** The controller: it starts the Job that is due. */
import type { Client } from 'capstan/client';
import {
  asReconciler,
  type Manager,
  newControllerManagedBy,
  type ReconcileContext,
  type Result,
} from 'capstan/controller';
import { Job, jobsOf } from './job.ts';
import { nextTime } from './schedule.ts';
import { ScheduledJob } from './scheduled-job.ts';
import { startDue } from './start-job.ts';

/** Adds the controller to a manager, which starts it. */
export function addScheduledJobController(manager: Manager): void {
  const { client } = manager;
  newControllerManagedBy(manager)
    .for(ScheduledJob.resource)
    .owns(Job)
    .complete(
      asReconciler(client, {
        resource: ScheduledJob.resource,
        reconcile: (scheduledJob, context) => reconcile(client, scheduledJob, context),
      }),
    );
}

/** The part of the context that a reconcile uses. */
export type Context = Pick<ReconcileContext<ScheduledJob>, 'now' | 'signal'>;

export async function reconcile(
  client: Client,
  scheduledJob: ScheduledJob,
  context: Context,
): Promise<Result> {
  const { metadata, spec } = scheduledJob;
  const { now, signal } = context;
  if (metadata.deletionTimestamp !== undefined) return {};
  const jobs = await jobsOf(client, scheduledJob, signal);
  await startDue(client, scheduledJob, jobs, context);
  const next = spec.suspend ? undefined : nextTime(spec.schedule, now());
  return next === undefined ? {} : { requeueAfter: next - now() };
}
