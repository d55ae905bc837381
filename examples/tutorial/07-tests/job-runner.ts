/**
 * Plays the part of Kubernetes' Job controller, which the embedded server does not have: a Job ends
 * some time after it was created. It fails if its image is `fails`.
 */
import { type Manager, newControllerManagedBy } from 'capstan/controller';
import { Job, stateOf } from './job.ts';

/** @param duration how long a Job runs, in milliseconds */
export function addJobRunner(manager: Manager, duration: number): void {
  newControllerManagedBy(manager)
    .for(Job)
    .named('job-runner')
    .complete(async (request, { get, now, signal }) => {
      const job = get(request);
      if (job === undefined || stateOf(job) !== 'active') return {};
      const startTime = String(job.metadata?.creationTimestamp);
      const left = Date.parse(startTime) + duration - now();
      if (left > 0) return { requeueAfter: left };
      const time = new Date(now()).toISOString();
      const isFailure = job.spec?.template.spec?.containers[0]?.image === 'fails';
      const types = isFailure ? ['FailureTarget', 'Failed'] : ['SuccessCriteriaMet', 'Complete'];
      const conditions = types.map((type) => ({ type, status: 'True', lastTransitionTime: time }));
      const status = { startTime, conditions, ...(isFailure ? {} : { completionTime: time }) };
      await manager.client
        .status()
        .patch(Job, request, { type: 'merge', body: { status } }, { signal });
      return {};
    });
}
