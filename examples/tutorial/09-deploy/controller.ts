/** The controller: as before, with a finalizer, Events and a metric. */
import { type Client, type EventSink, finalizer, objectReference } from 'capstan/client';
import {
  asReconciler,
  newControllerManagedBy,
  type ReconcileContext,
  type Result,
  TerminalError,
} from 'capstan/controller';
import type { ControllerManager } from 'capstan/manager';
import { deleteOld } from './history.ts';
import { deleteJob, Job, jobsOf } from './job.ts';
import { OutcomeMetrics } from './metrics.ts';
import { nextTime } from './schedule.ts';
import { ScheduledJob } from './scheduled-job.ts';
import { startDue } from './start-job.ts';
import { PROBLEMS, writeStatus } from './status.ts';

export const FINALIZER = 'tutorial.example.com/jobs';

/** Adds the controller to a manager, which starts it. */
export function addScheduledJobController(manager: ControllerManager): void {
  const { client } = manager;
  const metrics = new OutcomeMetrics();
  manager.addCollector(metrics);
  const events = manager.eventRecorder('tutorial.example.com/scheduled-job');
  const parts: Parts = { client, events, metrics };
  newControllerManagedBy(manager)
    .for(ScheduledJob.resource)
    .owns(Job)
    .withOptions({ maxConcurrentReconciles: 4, reconciliationTimeout: 30_000 })
    .complete(
      asReconciler(client, {
        resource: ScheduledJob.resource,
        reconcile: (scheduledJob, context) => reconcile(parts, scheduledJob, context),
      }),
    );
}

export interface Parts {
  readonly client: Client;
  readonly events: EventSink;
  readonly metrics: OutcomeMetrics;
}

/** The part of the context that a reconcile uses. */
export type Context = Pick<ReconcileContext<ScheduledJob>, 'now' | 'signal'>;

export async function reconcile(
  parts: Parts,
  scheduledJob: ScheduledJob,
  context: Context,
): Promise<Result> {
  const { client } = parts;
  const { signal } = context;
  const handlers = {
    apply: (held: ScheduledJob) => bringUp(parts, held, context),
    cleanup: () => deleteAll(parts, scheduledJob, signal),
  };
  const result = await finalizer(client, ScheduledJob.resource, FINALIZER, scheduledJob, handlers, {
    signal,
  });
  return result ?? {};
}

/** Deletes the Jobs of a ScheduledJob that is being deleted. */
async function deleteAll(
  { client, events }: Parts,
  scheduledJob: ScheduledJob,
  signal: AbortSignal,
): Promise<Result> {
  const jobs = await jobsOf(client, scheduledJob, signal);
  for (const job of jobs) await deleteJob(client, job, signal);
  const note = `deleted ${jobs.length} Jobs`;
  events.event(objectReference(ScheduledJob.resource, scheduledJob), {
    reason: 'CleanedUp',
    action: 'Deleting',
    note,
  });
  return {};
}

/** Starts what is due, deletes old Jobs, and writes the status. */
async function bringUp(
  parts: Parts,
  scheduledJob: ScheduledJob,
  context: Context,
): Promise<Result> {
  const { client, metrics } = parts;
  const { now, signal } = context;
  const { spec } = scheduledJob;
  const jobs = () => jobsOf(client, scheduledJob, signal);
  try {
    const outcome = await startDue(client, scheduledJob, await jobs(), context);
    metrics.count(outcome);
    report(parts, scheduledJob, outcome);
    await deleteOld(client, scheduledJob, await jobs(), signal);
    await writeStatus(client, scheduledJob, await jobs(), outcome, context);
  } catch (error) {
    if (error instanceof TerminalError) {
      report(parts, scheduledJob, 'InvalidSchedule');
      await writeStatus(client, scheduledJob, await jobs(), 'InvalidSchedule', context);
    }
    throw error;
  }
  const next = spec.suspend ? undefined : nextTime(spec.schedule, now());
  return next === undefined ? {} : { requeueAfter: next - now() };
}

/** Writes an Event about a Job that was started, or about one that was not. */
function report(
  { events }: Parts,
  scheduledJob: ScheduledJob,
  reason: keyof typeof PROBLEMS | 'Started' | 'NothingDue',
): void {
  if (reason === 'NothingDue' || reason === 'Suspended') return;
  const isProblem = reason !== 'Started';
  events.event(objectReference(ScheduledJob.resource, scheduledJob), {
    type: isProblem ? 'Warning' : 'Normal',
    reason,
    action: 'Starting',
    note: isProblem ? PROBLEMS[reason] : 'started a Job',
  });
}
