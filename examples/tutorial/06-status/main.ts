/**
 * Chapter 6: the controller over one virtual hour, with old Jobs deleted and a status. Run it with
 * `node examples/tutorial/06-status/main.ts` after a build.
 */
import { installCRDs } from 'capstan/client';
import { newManager } from 'capstan/manager';
import { FakeClock, fakeTransport } from 'capstan/testing';
import { addScheduledJobController } from './controller.ts';
import { Job, stateOf } from './job.ts';
import { addJobRunner } from './job-runner.ts';
import { ScheduledJob } from './scheduled-job.ts';

const MINUTE = 60_000;
const clock = new FakeClock(Date.parse('2026-01-05T08:00:00Z'));
await using transport = fakeTransport({ clock });
const manager = newManager({ transport, clock });
const { client } = manager;
await installCRDs(client, [ScheduledJob.crd]);
addScheduledJobController(manager);
addJobRunner(manager, 3 * MINUTE);
const stop = new AbortController();
const ended = manager.start({ signal: stop.signal });

const metadata = { namespace: 'default', name: 'report' };
await client.create(
  ScheduledJob.resource,
  await ScheduledJob.parse({ metadata, spec: { schedule: '*/5 * * * *', image: 'busybox' } }),
);
await clock.run(61 * MINUTE);

const { items } = await client.list(Job);
for (const line of items.map((job) => `${job.metadata?.name} ${stateOf(job)}`).sort())
  console.log(line);
console.log((await client.get(ScheduledJob.resource, metadata)).status);
stop.abort();
await ended;
