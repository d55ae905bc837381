/** The controller: it waits for the next time of the schedule, and says when it has come. */
import type { Client } from 'capstan/client';
import {
  asReconciler,
  type Manager,
  newControllerManagedBy,
  type ReconcileContext,
  type Result,
} from 'capstan/controller';
import { Job } from './job.ts';
import { lastTime, nextTime } from './schedule.ts';
import { ScheduledJob } from './scheduled-job.ts';

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
  _client: Client,
  { metadata, spec }: ScheduledJob,
  { now }: Context,
): Promise<Result> {
  const created = Date.parse(String(metadata.creationTimestamp));
  const due = lastTime(spec.schedule, created, now());
  const next = nextTime(spec.schedule, now());
  console.log(`${text(now())}: due ${text(due)}, next ${text(next)}`);
  return next === undefined ? {} : { requeueAfter: next - now() };
}

/** `08:05:00`, or `never`. */
const text = (time: number | undefined): string =>
  time === undefined ? 'never' : new Date(time).toISOString().slice(11, 19);
