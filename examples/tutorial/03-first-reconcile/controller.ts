/** The controller: it counts the Jobs of a ScheduledJob. */
import { asReconciler, type Manager, newControllerManagedBy } from 'capstan/controller';
import { Job, jobsOf, stateOf } from './job.ts';
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
        async reconcile(scheduledJob, { signal }) {
          const jobs = await jobsOf(client, scheduledJob, signal);
          const active = jobs.filter((job) => stateOf(job) === 'active');
          const { name } = scheduledJob.metadata;
          console.log(`${name}: ${jobs.length} Jobs, ${active.length} active`);
        },
      }),
    );
}
