/**
 * Chapter 3: the controller reads a ScheduledJob and its Jobs from the cache. Run it with
 * `node examples/tutorial/03-first-reconcile/main.ts` after a build.
 */
import type { V1Job } from '@kubernetes/client-node';
import { installCRDs, setControllerReference } from 'capstan/client';
import { newManager } from 'capstan/manager';
import { FakeClock, fakeTransport } from 'capstan/testing';
import { addScheduledJobController } from './controller.ts';
import { Job } from './job.ts';
import { ScheduledJob } from './scheduled-job.ts';

const clock = new FakeClock();
await using transport = fakeTransport({ clock });
const manager = newManager({ transport, clock });
const { client } = manager;
await installCRDs(client, [ScheduledJob.crd]);
addScheduledJobController(manager);
const stop = new AbortController();
const ended = manager.start({ signal: stop.signal });

const metadata = { namespace: 'default', name: 'report' };
const report = await client.create(
  ScheduledJob.resource,
  await ScheduledJob.parse({ metadata, spec: { schedule: '*/5 * * * *', image: 'busybox' } }),
);
await clock.settle();

for (const name of ['report-a', 'report-b']) {
  const containers = [{ name: 'job', image: 'busybox' }];
  const job: V1Job = {
    metadata: { namespace: 'default', name },
    spec: { template: { spec: { restartPolicy: 'Never', containers } } },
  };
  await client.create(Job, setControllerReference(report, job, ScheduledJob.resource));
  await clock.settle();
}
const first = { namespace: 'default', name: 'report-a' };
await client.delete(Job, first, { propagationPolicy: 'Background' });
await clock.settle();

stop.abort();
await ended;
