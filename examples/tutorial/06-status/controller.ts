/** The controller: it starts the Job that is due, deletes old Jobs, and writes the status. */
import type { Client } from 'capstan/client';
import {
  asReconciler,
  type Manager,
  newControllerManagedBy,
  type ReconcileContext,
  type Result,
  TerminalError,
} from 'capstan/controller';
import { deleteOld } from './history.ts';
import { Job, jobsOf } from './job.ts';
import { nextTime } from './schedule.ts';
import { ScheduledJob } from './scheduled-job.ts';
import { startDue } from './start-job.ts';
import { writeStatus } from './status.ts';

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
  // Each list has what the line before it has written.
  const jobs = () => jobsOf(client, scheduledJob, signal);
  try {
    const outcome = await startDue(client, scheduledJob, await jobs(), context);
    await deleteOld(client, scheduledJob, await jobs(), signal);
    await writeStatus(client, scheduledJob, await jobs(), outcome, context);
  } catch (error) {
    if (error instanceof TerminalError)
      await writeStatus(client, scheduledJob, await jobs(), 'InvalidSchedule', context);
    throw error;
  }
  const next = spec.suspend ? undefined : nextTime(spec.schedule, now());
  return next === undefined ? {} : { requeueAfter: next - now() };
}
