/**
 * Chapter 5: the controller starts Jobs, by each concurrency policy. A Job runs for seven minutes,
 * and one is due every five. Run it with `node examples/tutorial/05-jobs/main.ts` after a build.
 */
import { installCRDs } from 'capstan/client';
import { newManager } from 'capstan/manager';
import { FakeClock, fakeTransport } from 'capstan/testing';
import { addScheduledJobController } from './controller.ts';
import { Job, stateOf } from './job.ts';
import { addJobRunner } from './job-runner.ts';
import { ScheduledJob } from './scheduled-job.ts';

const MINUTE = 60_000;
const clock = new FakeClock(Date.parse('2026-01-05T08:02:00Z'));
await using transport = fakeTransport({ clock });
const manager = newManager({ transport, clock });
const { client } = manager;
await installCRDs(client, [ScheduledJob.crd]);
addScheduledJobController(manager);
addJobRunner(manager, 7 * MINUTE);
const stop = new AbortController();
const ended = manager.start({ signal: stop.signal });

for (const concurrencyPolicy of ['Allow', 'Forbid', 'Replace'] as const) {
  const metadata = { namespace: 'default', name: concurrencyPolicy.toLowerCase() };
  const spec = { schedule: '*/5 * * * *', image: 'busybox', concurrencyPolicy };
  await client.create(ScheduledJob.resource, await ScheduledJob.parse({ metadata, spec }));
}
await clock.run(20 * MINUTE);

const { items } = await client.list(Job);
for (const line of items.map((job) => `${job.metadata?.name} ${stateOf(job)}`).sort())
  console.log(line);
stop.abort();
await ended;
